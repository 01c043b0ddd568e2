"""Communication operators: their start and end on all ranks, and their plane tasks.

A rank's operator starts once it is launched, its stream is free and its inputs are ready. It waits for the last
rank, then transfers. So the rank that comes last has the shortest span, and all others wait.
"""

from __future__ import annotations

from dataclasses import dataclass

from rlcompare.writer.model import CollectiveTask, PlaneTask
from rlcompare.writer.process import COMMUNICATION, COMPUTE, Device, Process
from rlcompare.writer.program import Collective

LINK_BYTES_PER_NS = 30
_LATENCY_NS = 45_000
_OVERHEAD_NS = 26_000
_MAX_PEERS = 7
_DTYPE_BYTES = {"BFP16": 2, "FP32": 4}
_CALLS = {
    "allGather": ("c10d::_allgather_base_", "HcclAllGather"),
    "reduceScatter": ("c10d::_reduce_scatter_base_", "HcclReduceScatter"),
    "allReduce": ("c10d::allreduce_", "HcclAllreduce"),
}


def hccl_call(kind: str) -> str:
    """Name of the call that a ``comm:…`` mark carries, such as HcclAllreduce."""
    return _CALLS[kind][1]


@dataclass(frozen=True)
class Arrival:
    """A device's part in a collective, up to its start."""

    process: Process
    device: Device
    connection: int
    start_ns: int


def arrive(process: Process, device: Device, item: Collective, after_compute: bool) -> Arrival:
    """The host's side on one device: operators, queue, CANN calls. The end of the collective is not known yet."""
    outer, inner = _CALLS[item.kind]
    key = f"{item.key}.{device.index}"
    slot, start = len(process.capture.ops), process.clock[item.thread]
    process.clock[item.thread] += process.host_ns(f"{key}.prepare", 9_000)
    ready = device.free[COMPUTE] if after_compute else 0
    process.put_event("record_event", device, COMPUTE, f"{key}.record", item.thread)
    process.put_event("wait_event", device, COMMUNICATION, f"{key}.wait", item.thread, until=ready)
    inner_slot, inner_start = len(process.capture.ops), process.clock[item.thread]
    turn, correlation = process.enqueue(item.thread, key)
    queue = process.capture.queue_thread
    end = turn + process.host_ns(f"{key}.call", 52_000)
    begin = turn + 1_000
    process.call("acl", f"hcom_{item.kind}_", queue, begin, end, "ACL_OP")
    connection = process.call("node", "launch", queue, begin, end, "launch", f"hcom_{item.kind}_")
    process.call("communication", "Launch_Ffts", queue, begin + 20_000, end - 4_000, "HOST_HCCL", "master")
    process.dequeued(inner, turn, end + 900, correlation)
    process.record_op(inner_slot, inner, item.thread, inner_start, connections=(connection,))
    process.clock[item.thread] += process.host_ns(f"{key}.end", 3_000)
    shape = ((item.count,), {"BFP16": "c10::BFloat16", "FP32": "float"}[item.dtype])
    process.record_op(slot, outer, item.thread, start, (shape,))
    return Arrival(process, device, connection, max(begin + _LATENCY_NS, device.free[COMMUNICATION] + 2_000))


def complete(item: Collective, arrivals: list[Arrival]) -> list[CollectiveTask]:
    """Once all have arrived: the operator of each arrival, in the same order. The streams are free again."""
    first = arrivals[0].process
    arrived = max(arrival.start_ns for arrival in arrivals)
    size = item.count * _DTYPE_BYTES[item.dtype]
    scale = first.noise.scale(f"{first.scope}/{item.key}.transit", 0.03)
    transit = round((_OVERHEAD_NS + _transfer_ns(item.kind, size, first.capture.group.size)) * scale)
    tasks = []
    for arrival in arrivals:
        process, device = arrival.process, arrival.device
        skew = process.noise.integer(f"{process.rank}.{device.index}/{process.scope}/{item.key}.skew", 0, 900)
        tasks.append(_task(item, arrival, arrived, arrived + transit + skew, size))
        device.free[COMMUNICATION] = arrived + transit + skew
    return tasks


def _transfer_ns(kind: str, size_bytes: int, group_size: int) -> int:
    """Time on the link to one peer: a whole shard, or a part of it in both directions."""
    traffic = 2 * size_bytes // group_size if kind == "allReduce" else size_bytes
    return traffic // LINK_BYTES_PER_NS


def _task(item: Collective, arrival: Arrival, arrived: int, end: int, size: int) -> CollectiveTask:
    process, device = arrival.process, arrival.device
    capture = process.capture
    name = f"hcom_{item.kind}__{capture.group.digest[-3:]}_{len(capture.collectives)}_1"
    own = process.rank * len(process.devices) + device.index
    planes = _planes(item.kind, arrival.start_ns, arrived, end, own, capture.group.size, size)
    task = CollectiveTask(
        item.kind, name, device.id, COMMUNICATION, device.task_id(COMMUNICATION), arrival.connection,
        arrival.start_ns, end, item.count, item.dtype, tuple(planes),
    )  # fmt: skip
    capture.collectives.append(task)
    return task


def _planes(kind: str, start: int, arrived: int, end: int, own: int, group: int, size: int) -> list[PlaneTask]:
    """Plane 0 copies locally. Each other plane serves one peer: notify, wait, transfer, notify and wait again."""
    tasks = [PlaneTask("Memcpy", 0, start, start + 3_400, own, own, size, None, "ON_CHIP")]
    for plane in range(1, min(group - 1, _MAX_PEERS) + 1):
        peer = (own + plane) % group
        told = start + 4_000 + 280 * plane
        notify = (plane << 32) + 64 + 4 * plane
        tasks.append(PlaneTask("Notify_Record", plane, told, told + 720, own, peer, 0, notify, None))
        waiting = start + 7_000 + 720 * plane
        met = max(waiting + 20, arrived + 900 + 280 * plane)
        tasks.append(PlaneTask("Notify_Wait", plane, waiting, met, own, peer, 0, 60 + 8 * plane, None))
        tasks += _transfers(kind, plane, met + 1_060, end - 9_000 + 200 * plane, own, peer, size, group)
    tasks.append(PlaneTask("Memcpy", 0, end - 3_700, end, own, own, size, None, "ON_CHIP"))
    return tasks


_TRANSFERS = {"allGather": ("Memcpy",), "reduceScatter": ("Reduce_Inline",), "allReduce": ("Reduce_Inline", "Memcpy")}


def _transfers(
    kind: str, plane: int, start: int, end: int, own: int, peer: int, size: int, group: int
) -> list[PlaneTask]:
    """The transfer over one link, and the handshake after it. An all-reduce sends a part of the data each way."""
    names = _TRANSFERS[kind]
    part = size // group if kind == "allReduce" else size
    slot = (end - start) // len(names)
    tasks = [
        PlaneTask(name, plane, start + i * slot, start + (i + 1) * slot - 1_000, own, peer, part, None, "HCCS")
        for i, name in enumerate(names)
    ]
    tasks.append(PlaneTask("Notify_Record", plane, end - 900, end - 200, own, peer, 0, (plane << 32) + 60, None))
    tasks.append(PlaneTask("Notify_Wait", plane, end - 100, end - 80, own, peer, 0, 56 + 8 * plane, None))
    return tasks
