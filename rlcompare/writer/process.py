"""One simulated process: its host threads, its devices' streams, and the capture that it is recording into.

The main thread (autograd's, during backward) runs operators and puts launches into the task queue. The queue's thread
takes them out and calls CANN. A kernel starts once it is launched and its stream is free. Streams: 0 control,
2 compute, 3 side, 4 communication. Host times are multiples of 10 ns, as in the real profiler.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rlcompare.writer.memory import Allocator
from rlcompare.writer.model import (
    CannCall,
    Capture,
    Collection,
    CopyTask,
    EventTask,
    HostOp,
    KernelSpec,
    KernelTask,
    PythonCall,
    QueueCall,
)
from rlcompare.writer.noise import Noise
from rlcompare.writer.program import Copy, Launch, Module, Op
from rlcompare.writer.spec import ChangeKind, SampleRun

COMPUTE, SIDE, COMMUNICATION = 2, 3, 4
NOMINAL_MHZ = 1800

_COPY_BYTES_PER_NS = {"host_to_device": 22, "device_to_host": 20, "device_to_device": 600}
_LAUNCH_LATENCY_NS = 9_000
_EVENTS = {
    "record_event": ("EVENT_RECORD", "aclrtRecordEvent"),
    "wait_event": ("EVENT_WAIT", "aclrtStreamWaitEvent"),
}


@dataclass
class Device:
    """One device of the process: when each stream is free, and the next task number of each."""

    id: int
    index: int
    memory: Allocator
    free: dict[int, int] = field(default_factory=lambda: {COMPUTE: 0, SIDE: 0, COMMUNICATION: 0})
    tasks: dict[int, int] = field(default_factory=lambda: {0: 8, COMPUTE: 11_000, SIDE: 300, COMMUNICATION: 800})

    def task_id(self, stream: int) -> int:
        self.tasks[stream] += 1
        return self.tasks[stream]


class Process:
    """The process of one rank. ``capture`` is replaced at the start of each profiler window.

    A rank that is not profiled behaves like its ``twin``, the first profiled rank, except for its delay. So a late
    rank that is not profiled adds its delay and nothing else.
    """

    def __init__(self, run: SampleRun, noise: Noise, rank: int, devices: tuple[int, ...], capture: Capture) -> None:
        self.run = run
        self.rank = rank
        self.twin = rank if rank in run.ranks else run.ranks[0]
        self.noise = noise
        self.capture = capture
        memory = run.factor(ChangeKind.MEMORY)
        self.devices = [Device(device, index, Allocator(device, memory)) for index, device in enumerate(devices)]
        self.clock = {"main": 0, "autograd": 0}
        self.scope = ""
        self.stack: tuple[str, ...] = ()
        self._queue_free = 0
        self._connection = 0
        self._correlation = 0
        self._sequence = 0
        self._range = 0
        self._pairs: dict[str, tuple[int, int]] = {}
        self._apis: set[str] = set()
        self._modules: list[tuple[str, int, int]] = []
        self._module_count = 0
        self.open(capture)

    def open(self, capture: Capture) -> None:
        """A profiler window begins. All numbering restarts."""
        self.capture = capture
        self._connection, self._correlation, self._range, self._module_count = 900, 8_000, 0, 0
        self._apis.clear()
        for device in self.devices:
            device.memory.open()

    def idle_at(self) -> int:
        """The time at which host and devices have no work left."""
        return max(self.clock["main"], *(max(device.free.values()) for device in self.devices))

    # numbers

    def connection(self) -> int:
        self._connection += 1
        return self._connection

    def range_id(self) -> int:
        self._range += 1
        return self._range

    def host_ns(self, key: str, cost_ns: int, spread: float = 0.15) -> int:
        """Host time of a piece of work on this rank, in this step."""
        return round(cost_ns * self.noise.scale(f"{self.twin}/{self.scope}/{key}", spread) / 10) * 10

    def thread_id(self, thread: str) -> int:
        return self.capture.main_thread if thread == "main" else self.capture.autograd_thread

    # operators

    def run_op(self, op: Op, device: Device) -> None:
        """Runs an operator, including its inner work, on one device."""
        start = self.clock[op.thread]
        slot = len(self.capture.ops)
        sequence, pair = self._autograd(op)
        self.clock[op.thread] += self.host_ns(f"{op.key}.{op.name}", 5_000)
        for part in op.inside:
            if isinstance(part, Op):
                self.run_op(part, device)
            elif isinstance(part, Launch):
                for spec in part.kernels:
                    if spec.outputs:
                        size = sum(tensor.size_bytes for tensor in spec.outputs)
                        device.memory.allocate(op.name, size, self.clock[op.thread], op.saved)
                self._launch(part, op, device)
            else:
                self._copy(part, op, device)
        self.clock[op.thread] += self.host_ns(f"{op.key}.{op.name}.end", 1_200)
        self.record_op(slot, op.name, op.thread, start, op.inputs, sequence, int(op.backward is not None), (), pair)

    def _autograd(self, op: Op) -> tuple[int, int | None]:
        """Sequence number and pair of a forward operator, or of the backward operator that belongs to it."""
        if op.forward is not None:
            self._sequence += 1
            self._pairs[op.forward] = (1_300 + self._sequence, self._sequence)
            return self._pairs[op.forward]
        if op.backward is not None:
            return self._pairs[op.backward]
        return -1, None

    def record_op(
        self,
        slot: int,
        name: str,
        thread: str,
        start: int,
        inputs: tuple[tuple[tuple[int, ...], str], ...] = (),
        sequence: int = -1,
        forward_thread: int = 0,
        connections: tuple[int, ...] = (),
        pair: int | None = None,
    ) -> None:
        stack = self.stack if thread == "main" else ()
        ident, end = self.thread_id(thread), self.clock[thread]
        op = HostOp(name, ident, start, end, inputs, sequence, forward_thread, connections, pair, stack)
        self.capture.ops.insert(slot, op)

    def enqueue(self, thread: str, key: str) -> tuple[int, int]:
        """Puts a call into the task queue; returns the start of its turn on the queue's thread, and its correlation."""
        self._correlation += 1
        self.clock[thread] += self.host_ns(f"{key}.prepare", 6_000)
        start = self.clock[thread]
        self.clock[thread] += self.host_ns(f"{key}.enqueue", 2_400)
        self.capture.queue.append(
            QueueCall("Enqueue", self.thread_id(thread), start, self.clock[thread], self._correlation)
        )
        self.clock[thread] += 600
        return max(self._queue_free + 900, self.clock[thread] + 700), self._correlation

    def dequeued(self, name: str, start: int, end: int, correlation: int) -> None:
        """The queue's thread has finished a call."""
        thread = self.capture.queue_thread
        self.capture.queue.append(QueueCall(f"Dequeue@{name}", thread, start, end, correlation))
        self._queue_free = end

    def call(self, layer: str, name: str, thread: int, start: int, end: int, mode: str = "", item: str = "0") -> int:
        """Records a CANN call; returns its connection."""
        connection = self.connection()
        self.capture.calls.append(CannCall(layer, name, thread, start, end, connection, mode, item))
        return connection

    # device work

    def _launch(self, launch: Launch, op: Op, device: Device) -> None:
        slot, start, key = len(self.capture.ops), self.clock[op.thread], f"{op.key}.{launch.api}.{device.index}"
        if launch.api not in self._apis:
            self._apis.add(launch.api)
            begin = self.clock[op.thread] + 500
            self.clock[op.thread] = begin + self.host_ns(f"{key}.workspace", 18_000)
            thread = self.thread_id(op.thread)
            self.call("acl", f"{launch.api}GetWorkspaceSize", thread, begin, self.clock[op.thread], "ACL_NN")
        turn, correlation = self.enqueue(op.thread, key)
        queue = self.capture.queue_thread
        now, starts = turn + 900, []
        for ordinal, spec in enumerate(launch.kernels):
            cost = self.host_ns(f"{key}.launch{ordinal}", 5_000)
            starts.append((now, now + cost, spec))
            now += cost + 1_300
        self.call("acl", launch.api, queue, turn + 400, now, "ACL_NN")
        connections = tuple(
            self._start_kernel(spec, device, SIDE if launch.side else COMPUTE, begin, end, f"{key}.{ordinal}")
            for ordinal, (begin, end, spec) in enumerate(starts)
        )
        self.dequeued(launch.api, turn, now + 1_500, correlation)
        self.record_op(slot, launch.api, op.thread, start, connections=connections)

    def _start_kernel(self, spec: KernelSpec, device: Device, stream: int, begin: int, end: int, key: str) -> int:
        """The node-level launch of one kernel, and the kernel."""
        queue = self.capture.queue_thread
        connection = self.call("node", "launch", queue, begin, end, "launch", spec.name)
        self.call("runtime", "KernelLaunchWithHandleV2", queue, begin + 600, end - 600, "runtime")
        gap = round(1_150 * self.noise.scale(f"{self.twin}/{self.scope}/{key}.gap", 0.3))
        duration = self.kernel_ns(spec, key)
        start = max(begin + _LAUNCH_LATENCY_NS, device.free[stream] + gap)
        if stream == SIDE:
            device.free[COMPUTE] = max(device.free[COMPUTE], start + duration)
        device.free[stream] = start + duration
        task = KernelTask(spec, device.id, stream, device.task_id(stream), connection, start, start + duration)
        self.capture.kernels.append(task)
        return connection

    def kernel_ns(self, spec: KernelSpec, key: str) -> int:
        """Duration of a kernel, with the changes that affect it."""
        scale = self.run.factor(ChangeKind.SLOWER, spec.op_type) / self.run.factor(ChangeKind.FREQUENCY)
        return max(600, round(spec.cost_ns * scale * self.noise.scale(f"{self.twin}/{self.scope}/{key}", 0.02)))

    def _copy(self, copy: Copy, op: Op, device: Device) -> None:
        slot, start = len(self.capture.ops), self.clock[op.thread]
        name, key = f"acl_memcpy_{copy.kind}", f"{op.key}.{copy.kind}.{device.index}"
        turn, correlation = self.enqueue(op.thread, key)
        end = turn + self.host_ns(f"{key}.call", 12_000)
        connection = self.call("acl", "aclrtMemcpyAsync", self.capture.queue_thread, turn + 500, end, "ACL_RTS")
        self.dequeued(name, turn, end + 700, correlation)
        begin = max(turn + 500 + _LAUNCH_LATENCY_NS, device.free[COMPUTE] + 1_000)
        duration = 1_500 + copy.size_bytes // _COPY_BYTES_PER_NS[copy.kind]
        device.free[COMPUTE] = begin + duration
        self.capture.copies.append(
            CopyTask(copy.kind, copy.size_bytes, device.id, COMPUTE, device.task_id(COMPUTE), connection, begin,
                     begin + duration)
        )  # fmt: skip
        self.record_op(slot, name, op.thread, start, connections=(connection,))
        if copy.blocking:
            wait = self.clock[op.thread] + 800
            done = max(wait + 2_000, -(-device.free[COMPUTE] // 10) * 10 + 6_000)
            thread = self.thread_id(op.thread)
            self.call("acl", "aclrtSynchronizeStreamWithTimeout", thread, wait, done, "ACL_RTS")
            self.clock[op.thread] = done + 500

    def put_event(self, call: str, device: Device, stream: int, key: str, thread: str, until: int = 0) -> None:
        """``record_event`` or ``wait_event`` on a stream; a wait holds the stream until the given time."""
        slot, start = len(self.capture.ops), self.clock[thread]
        turn, correlation = self.enqueue(thread, key)
        name, api = _EVENTS[call]
        end = turn + self.host_ns(f"{key}.call", 6_000)
        connection = self.call("acl", api, self.capture.queue_thread, turn + 400, end, "ACL_RTS")
        self.dequeued(call, turn, end + 600, correlation)
        begin = max(turn + 4_000, device.free[stream] + 40)
        device.free[stream] = finish = max(begin + 20, until + 400)
        self.capture.events.append(
            EventTask(name, device.id, stream, device.task_id(stream), connection, begin, finish)
        )
        self.record_op(slot, call, thread, start)

    def collect_garbage(self) -> None:
        """The interpreter stops for a garbage collection."""
        start = self.clock["main"] + 2_000
        self.clock["main"] = start + self.host_ns("gc", 1_600_000)
        self.capture.collections.append(Collection(self.capture.main_thread, start, self.clock["main"]))

    # modules

    def module(self, module: Module) -> None:
        """An ``nn.Module`` call begins or ends."""
        if not module.end:
            self._modules.append((module.name, self.clock["main"], self._module_count))
            self._module_count += 1
            self.clock["main"] += 800
            return
        name, start, ident = self._modules.pop()
        self.clock["main"] += 800
        parent = self._modules[-1][2] if self._modules else ident
        thread = self.capture.main_thread
        self.capture.python.append(PythonCall(f"nn.Module: {name}", thread, start, self.clock["main"], ident, parent))
