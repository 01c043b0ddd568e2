"""Data passed from the simulation to the exporters: everything that happened in one capture, in plain records.

Times are integer nanoseconds since the epoch, sizes bytes. The records hold everything that the highest level records;
the exporters omit what the profile's level does not record.
"""

from __future__ import annotations

from dataclasses import dataclass, field

UINT32_MAX = 4294967295
"""CANN's value for an unset 32-bit id."""


@dataclass(frozen=True)
class Tensor:
    """Shape, device dtype (``DT_BF16``) and format of a kernel's input or output."""

    shape: tuple[int, ...]
    dtype: str = "DT_BF16"
    format: str = "ND"

    @property
    def elements(self) -> int:
        product = 1
        for size in self.shape:
            product *= size
        return product

    @property
    def size_bytes(self) -> int:
        return self.elements * {"DT_BF16": 2, "FLOAT": 4, "INT64": 8, "INT32": 4, "BOOL": 1, "UINT8": 1}[self.dtype]


@dataclass(frozen=True)
class KernelSpec:
    """A kernel to launch.

    Attributes:
        core_type: AI_CORE, AI_VECTOR_CORE, MIX_AIC, MIX_AIV or DSA_SQE.
        cost_ns: its duration at full frequency, without noise.
    """

    name: str
    op_type: str
    core_type: str
    cost_ns: int
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    block_num: int = 0
    mix_block_num: int = 0


@dataclass(frozen=True)
class KernelTask:
    """A kernel that ran. ``connection`` is the id of its node-level launch."""

    spec: KernelSpec
    device: int
    stream: int
    task_id: int
    connection: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class CopyTask:
    """A copy that ran: ``host_to_device``, ``device_to_host`` or ``device_to_device``."""

    kind: str
    size_bytes: int
    device: int
    stream: int
    task_id: int
    connection: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class EventTask:
    """EVENT_RECORD, EVENT_WAIT, PROFILING_ENABLE or PROFILING_DISABLE."""

    name: str
    device: int
    stream: int
    task_id: int
    connection: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class PlaneTask:
    """A task of a collective on one plane. Ranks are indices inside the group; None: not a transfer between ranks."""

    name: str
    plane: int
    start_ns: int
    end_ns: int
    source: int
    target: int | None
    size_bytes: int
    notify_id: int | None
    link: str | None


@dataclass(frozen=True)
class CollectiveTask:
    """A communication operator on one device.

    Attributes:
        kind: allReduce, allGather, reduceScatter, broadcast (HCCL's spelling).
        count: elements.
    """

    kind: str
    name: str
    device: int
    stream: int
    task_id: int
    connection: int
    start_ns: int
    end_ns: int
    count: int
    dtype: str
    tasks: tuple[PlaneTask, ...]

    @property
    def op_type(self) -> str:
        return f"hcom_{self.kind}_"


@dataclass(frozen=True)
class HostOp:
    """A framework operator.

    Attributes:
        sequence: autograd's sequence number, -1 if there is none.
        forward_thread: 1 on a backward operator, else 0.
        connections: node-level launches (and copies) made by the operator itself.
        pair: number that a forward operator shares with its backward operator; None if it has none.
        stack: call stack, innermost frame first; empty on autograd's thread.
    """

    name: str
    thread: int
    start_ns: int
    end_ns: int
    inputs: tuple[tuple[tuple[int, ...], str], ...]
    sequence: int
    forward_thread: int
    connections: tuple[int, ...]
    pair: int | None
    stack: tuple[str, ...]


@dataclass(frozen=True)
class QueueCall:
    """An ``Enqueue`` or a ``Dequeue@…`` of the task queue; both ends share the correlation."""

    name: str
    thread: int
    start_ns: int
    end_ns: int
    correlation: int


@dataclass(frozen=True)
class PythonCall:
    """A Python function or an ``nn.Module: …`` span."""

    name: str
    thread: int
    start_ns: int
    end_ns: int
    ident: int
    parent: int


@dataclass(frozen=True)
class CannCall:
    """A call of CANN's interface.

    Attributes:
        layer: acl, node, runtime or communication.
        mode: the value of ``Mode`` in the trace (ACL_RTS, ACL_NN, launch, …).
        item: name of the kernel that a node-level launch starts.
    """

    layer: str
    name: str
    thread: int
    start_ns: int
    end_ns: int
    connection: int
    mode: str = ""
    item: str = "0"


@dataclass(frozen=True)
class Mark:
    """An mstx range, or a mark if start equals end. ``connection`` is None if it is on no stream."""

    message: str
    domain: str
    thread: int
    start_ns: int
    end_ns: int
    range_id: int
    connection: int | None = None


@dataclass(frozen=True)
class Allocation:
    """A tensor's memory.

    The totals are those of its device right after the event. The release fields are None while it lives.
    """

    name: str
    device: int
    size_bytes: int
    alloc_ns: int
    alloc_allocated: int
    alloc_reserved: int
    release_ns: int | None = None
    release_allocated: int | None = None
    release_reserved: int | None = None


@dataclass(frozen=True)
class MemoryLevel:
    """Memory of one device after an event."""

    device: int
    time_ns: int
    allocated: int
    reserved: int


@dataclass(frozen=True)
class Collection:
    """A garbage collection of the interpreter."""

    thread: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class StepMark:
    """A ``ProfilerStep#number`` on the host."""

    number: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Group:
    """The communicator of all ranks.

    Attributes:
        name: as in COMMUNICATION_OP: address, port and time, or ``group_name_N``.
        digest: as in communication.json.
        size: devices in it.
    """

    name: str
    digest: str
    size: int
    ranks: tuple[int, ...]


@dataclass
class Capture:
    """One profiler window of one process. The simulation fills it, and the exporters read it."""

    rank: int
    index: int
    devices: tuple[int, ...]
    pid: int
    queue_thread: int
    autograd_thread: int
    group: Group
    frequency_mhz: int
    start_ns: int
    end_ns: int = 0
    step: int | None = None
    phase: str | None = None
    steps: list[StepMark] = field(default_factory=list)
    ops: list[HostOp] = field(default_factory=list)
    queue: list[QueueCall] = field(default_factory=list)
    python: list[PythonCall] = field(default_factory=list)
    calls: list[CannCall] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    collections: list[Collection] = field(default_factory=list)
    kernels: list[KernelTask] = field(default_factory=list)
    copies: list[CopyTask] = field(default_factory=list)
    events: list[EventTask] = field(default_factory=list)
    collectives: list[CollectiveTask] = field(default_factory=list)
    allocations: list[Allocation] = field(default_factory=list)
    memory: list[MemoryLevel] = field(default_factory=list)

    @property
    def main_thread(self) -> int:
        return self.pid
