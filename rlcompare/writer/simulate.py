"""Runs the program of a ``SampleRun`` on all its ranks in lockstep, and cuts it into captures.

All streams are first in, first out, so an instruction depends only on earlier ones. The ranks can be advanced
one instruction at a time, and a collective is completed as soon as every rank has reached it.
"""

from __future__ import annotations

from rlcompare.errors import UsageError
from rlcompare.sources.ascend.communication_group import group_hash
from rlcompare.writer.collective import arrive, complete, hccl_call
from rlcompare.writer.model import Capture, CollectiveTask, EventTask, Group, Mark, StepMark
from rlcompare.writer.noise import Noise
from rlcompare.writer.process import COMPUTE, NOMINAL_MHZ, Process
from rlcompare.writer.program import Backward, Collective, Idle, Instruction, Module, Op, Release, Wait
from rlcompare.writer.spec import ChangeKind, SampleRun
from rlcompare.writer.workload import phase_program

EPOCH_NS = 1_755_226_800_000_000_000
_SECOND_NS = 1_000_000_000
_WORKERS = "verl/workers/fsdp_workers.py"
_STACKS = {
    "generate_sequences": ("vllm/worker/model_runner.py(812): execute_model", f"{_WORKERS}(533): generate_sequences"),
    "compute_log_prob": ("verl/workers/actor/dp_actor.py(301): compute_log_prob", f"{_WORKERS}(702)"),
    "compute_ref_log_prob": ("verl/workers/actor/dp_actor.py(301): compute_log_prob", f"{_WORKERS}(744)"),
    "update_actor": ("verl/workers/actor/dp_actor.py(372): update_policy", f"{_WORKERS}(610): update_actor"),
}


def simulate(run: SampleRun) -> list[Capture]:
    """All captures of the profiled ranks, ordered by time, then by rank.

    Raises:
        UsageError: a change slows down a kernel type that the run does not launch.
    """
    captures = _Simulation(run).captures()
    types = {kernel.spec.op_type for capture in captures for kernel in capture.kernels}
    for change in run.changes:
        if change.kind is ChangeKind.SLOWER and change.op_type not in types:
            raise UsageError(f"change slower: no {change.op_type} in the model; choose from {', '.join(sorted(types))}")
    return captures


class _Simulation:
    def __init__(self, run: SampleRun) -> None:
        self.run = run
        self.noise = Noise(run)
        late = {change.rank for change in run.changes if change.kind is ChangeKind.LATE}
        self.ranks = [*run.ranks, *sorted(late - set(run.ranks))]
        self.late_phase = "update_actor" if "update_actor" in run.phases else run.phases[-1]
        self.done: list[Capture] = []
        self.pids: dict[int, int] = {}
        self.used_pids: set[int] = set()
        self.settled: dict[str, list[CollectiveTask]] = {}
        start = run.start_ns or EPOCH_NS + self.noise.integer("epoch", 0, 86_400) * _SECOND_NS
        self.processes = [self._process(rank, start) for rank in self.ranks]

    def _process(self, rank: int, start: int) -> Process:
        devices = self.run.devices_of(rank) if rank in self.run.ranks else (rank,)
        process = Process(self.run, self.noise, rank, devices, self._capture(rank, devices, start))
        process.clock["main"] = start + 5_000_000
        return process

    def _capture(self, rank: int, devices: tuple[int, ...], start: int) -> Capture:
        pid = self._pid(rank)
        address = f"192.0.2.{10 + self.noise.integer('address', 0, 200)}%enp189s0f0_60000_0"
        opened = EPOCH_NS // 1_000 + self.noise.integer("group", 0, 10**9)
        name = "group_name_0" if self.run.newer else f"{address}_{opened}"
        group = Group(
            name,
            group_hash(name) if self.run.newer else str(self.noise.integer("digest", 10**18, 18 * 10**18)),
            self.run.world * len(devices),
            tuple(range(self.run.world)),
        )
        mhz = round(NOMINAL_MHZ * self.run.factor(ChangeKind.FREQUENCY))
        return Capture(rank, len(self.done), devices, pid, pid + 3_553, pid + 9_859, group, mhz, start)

    def _pid(self, rank: int) -> int:
        """A number of its own for the process of each rank: folders are named after it."""
        if rank not in self.pids:
            draw, pid = 0, self.noise.integer(f"pid{rank}", 200_000, 900_000)
            while pid in self.used_pids:
                draw += 1
                pid = self.noise.integer(f"pid{rank}.{draw}", 200_000, 900_000)
            self.used_pids.add(pid)
            self.pids[rank] = pid
        return self.pids[rank]

    # windows

    def captures(self) -> list[Capture]:
        steps: tuple[int | None, ...] = self.run.steps or (None,)
        discrete = self.run.mode == "discrete"
        window_per_step = not discrete and not self.run.marks_steps
        if not discrete and not window_per_step:
            self._open(None, None)
        for index, step in enumerate(steps):
            if window_per_step:
                self._open(step, None)
            begins = [process.clock["main"] for process in self.processes]
            for phase in self.run.phases:
                if discrete:
                    self._open(step, phase)
                self._phase(index, phase)
                if discrete:
                    self._close()
            if self.run.marks_steps and step is not None:
                for process, begin in zip(self.processes, begins, strict=True):
                    process.clock["main"] += process.host_ns("step_end", 40_000)
                    process.capture.steps.append(StepMark(step, begin, process.clock["main"]))
            if window_per_step:
                self._close()
        if not discrete and not window_per_step:
            self._close()
        return [capture for capture in self.done if capture.rank in self.run.ranks]

    def _open(self, step: int | None, phase: str | None) -> None:
        """Starts a profiler window on all ranks, some seconds after the last one."""
        start = max(process.idle_at() for process in self.processes)
        if self.done:
            start += 3 * _SECOND_NS
        start = -(-start // 10) * 10
        for process in self.processes:
            devices = tuple(device.id for device in process.devices)
            capture = self._capture(process.rank, devices, start)
            capture.step, capture.phase = step, phase
            process.open(capture)
            process.clock["main"] = start + 5_000_000
            for device in process.devices:
                device.free = dict.fromkeys(device.free, start + 1_000_000)
                self._switch(process, device.id, device.task_id(0), "PROFILING_ENABLE", start + 800_000)

    def _close(self) -> None:
        for process in self.processes:
            capture = process.capture
            last = process.idle_at()
            capture.end_ns = -(-last // 10) * 10 + 4_000_000
            for device in process.devices:
                self._switch(process, device.id, device.task_id(0), "PROFILING_DISABLE", last + 2_000_000)
                capture.allocations += device.memory.allocations
                capture.memory += device.memory.levels
            capture.calls.sort(key=lambda call: (call.start_ns, call.connection))
            self.done.append(capture)

    @staticmethod
    def _switch(process: Process, device: int, task_id: int, name: str, time_ns: int) -> None:
        connection = process.connection()
        process.capture.events.append(EventTask(name, device, 0, task_id, connection, time_ns, time_ns + 20))

    # work

    def _phase(self, index: int, phase: str) -> None:
        """Runs one phase on all ranks. They start it together, as a controller would call them."""
        begin = max(process.clock["main"] for process in self.processes)
        starts = []
        for process in self.processes:
            process.scope = f"{index}/{phase}"
            process.stack = _STACKS[phase]
            process.clock["main"] = begin + process.host_ns("dispatch", 300_000, 0.3)
            starts.append(process.clock["main"])
        self.settled.clear()
        for item in phase_program(self.run, phase, late=phase == self.late_phase):
            self._execute(item)
        for process, start in zip(self.processes, starts, strict=True):
            if self.run.gc:
                process.collect_garbage()
            process.clock["main"] += process.host_ns("return", 30_000)
            end, thread = process.clock["main"], process.capture.main_thread
            process.capture.marks.append(Mark(phase, "default", thread, start, end, process.range_id()))

    def _execute(self, item: Instruction) -> None:
        if isinstance(item, Collective):
            self._collective(item)
            return
        for process in self.processes:
            clock = process.clock
            if isinstance(item, Op):
                for device in process.devices:
                    process.run_op(item, device)
            elif isinstance(item, Wait):
                self._wait(process, item)
            elif isinstance(item, Module):
                process.module(item)
            elif isinstance(item, Backward):
                source, target = ("autograd", "main") if item.end else ("main", "autograd")
                clock[target] = clock[source] + process.host_ns(f"handover{item.end}", 20_000)
            elif isinstance(item, Release):
                for device in process.devices:
                    device.memory.release(item.label, clock["main"])
            elif isinstance(item, Idle):
                clock["main"] += process.host_ns(item.key, item.cost_ns)
            else:
                clock["main"] += self.run.delay_ns(process.rank)

    def _collective(self, item: Collective) -> None:
        after_compute = item.kind != "allGather" or self.run.has(ChangeKind.LOST_OVERLAP)
        begins = [process.clock[item.thread] for process in self.processes]
        arrivals = [
            arrive(process, device, item, after_compute) for process in self.processes for device in process.devices
        ]
        self.settled[item.key] = complete(item, arrivals)
        if not self.run.has_comm_marks:
            return
        for process, begin in zip(self.processes, begins, strict=True):
            own = [arrival.connection for arrival in arrivals if arrival.process is process]
            capture = process.capture
            dtype = {"BFP16": "bfp16", "FP32": "fp32"}[item.dtype]
            message = f"comm:{hccl_call(item.kind)},{capture.group.name},{dtype},{item.count}"
            thread, end = process.thread_id(item.thread), process.clock[item.thread]
            capture.marks.append(Mark(message, "communication", thread, begin, end, process.range_id(), own[0]))

    def _wait(self, process: Process, item: Wait) -> None:
        """Each device's compute stream waits for its own part of the collective."""
        offset = 0
        for other in self.processes:
            if other is process:
                break
            offset += len(other.devices)
        for device in process.devices:
            task = self.settled[item.key][offset + device.index]
            process.put_event("wait_event", device, COMPUTE, f"{item.key}.join.{device.index}", "main", task.end_ns)
