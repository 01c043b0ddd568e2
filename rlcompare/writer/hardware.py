"""All device tasks of a capture in one list: the rows of TASK, and the trace's Ascend Hardware."""

from __future__ import annotations

from dataclasses import dataclass

from rlcompare.writer.model import (
    UINT32_MAX,
    Capture,
    CollectiveTask,
    CopyTask,
    EventTask,
    KernelTask,
    PlaneTask,
)

_SCHEDULE_STREAM = 5
_CONTAINER_LEAD_NS, _CONTAINER_TRAIL_NS = 1_220, 1_480

_KERNEL_TYPES_1_0 = {
    "AI_CORE": "KERNEL_AICORE",
    "AI_VECTOR_CORE": "KERNEL_AIVEC",
    "MIX_AIC": "KERNEL_AICORE",
    "MIX_AIV": "KERNEL_AICORE",
    "DSA_SQE": "STARS_COMMON",
}
_KERNEL_TYPES_1_2 = _KERNEL_TYPES_1_0 | {"MIX_AIC": "KERNEL_MIX_AIC", "MIX_AIV": "KERNEL_MIX_AIV"}
_PLANE_TYPES = {"Memcpy": "SDMA", "Reduce_Inline": "SDMA", "Notify_Record": "Write Value", "Notify_Wait": "Notify Wait"}
_COPY_TYPES = {"host_to_device": "PCIE_DMA_SQE", "device_to_host": "PCIE_DMA_SQE", "device_to_device": "SDMA_SQE"}


@dataclass(frozen=True)
class ScheduleTask:
    """The kernel on an AI CPU that schedules a collective: neither kernel nor operator."""

    collective: CollectiveTask


@dataclass(frozen=True)
class HardwareTask:
    """A task of a stream.

    Attributes:
        context: number inside an FFTS task, UINT32_MAX elsewhere.
        record: the task itself. A whole collective stands for the FFTS task that contains its plane tasks.
        collective: the collective of a plane task.
    """

    start_ns: int
    end_ns: int
    device: int
    stream: int
    task_id: int
    context: int
    connection: int
    record: KernelTask | CopyTask | EventTask | PlaneTask | CollectiveTask | ScheduleTask
    collective: CollectiveTask | None = None


def hardware_tasks(capture: Capture, *, scheduled: bool = False) -> list[HardwareTask]:
    """All tasks in the order of their starts; ``scheduled`` adds the kernels that schedule collectives."""
    tasks = [_collective_container(task) for task in capture.collectives]
    tasks += [_plain(kernel, _kernel_context(kernel)) for kernel in capture.kernels]
    tasks += [_plain(copy, UINT32_MAX) for copy in capture.copies]
    tasks += [_plain(event, UINT32_MAX) for event in capture.events]
    for collective in capture.collectives:
        tasks += [_plane(collective, part, context) for context, part in enumerate(collective.tasks)]
    if scheduled:
        tasks += [_schedule(collective) for collective in capture.collectives]
    return sorted(tasks, key=lambda task: (task.start_ns, task.end_ns, task.device, task.context))


def _kernel_context(kernel: KernelTask) -> int:
    return 0 if kernel.spec.core_type.startswith("MIX") else UINT32_MAX


def _plain(record: KernelTask | CopyTask | EventTask, context: int) -> HardwareTask:
    return HardwareTask(
        record.start_ns, record.end_ns, record.device, record.stream, record.task_id, context, record.connection, record
    )


def _plane(collective: CollectiveTask, part: PlaneTask, context: int) -> HardwareTask:
    return HardwareTask(
        part.start_ns, part.end_ns, collective.device, collective.stream, collective.task_id, context,
        collective.connection, part, collective,
    )  # fmt: skip


def _collective_container(collective: CollectiveTask) -> HardwareTask:
    """The FFTS task around the plane tasks: a little longer than the operator, and neither kernel nor operator."""
    return HardwareTask(
        collective.start_ns - _CONTAINER_LEAD_NS, collective.end_ns + _CONTAINER_TRAIL_NS, collective.device,
        collective.stream, collective.task_id, UINT32_MAX, collective.connection, collective,
    )  # fmt: skip


def _schedule(collective: CollectiveTask) -> HardwareTask:
    return HardwareTask(
        collective.start_ns - _CONTAINER_LEAD_NS, collective.end_ns, collective.device, _SCHEDULE_STREAM,
        collective.task_id, UINT32_MAX, UINT32_MAX, ScheduleTask(collective),
    )  # fmt: skip


def db_type(task: HardwareTask, newer: bool) -> str:
    """TASK.taskType: the runtime's names, which do not distinguish the directions of copies."""
    record = task.record
    if isinstance(record, KernelTask):
        return (_KERNEL_TYPES_1_2 if newer else _KERNEL_TYPES_1_0)[record.spec.core_type]
    if isinstance(record, CollectiveTask):
        return "FFTS_PLUS" if newer else "AI_CORE"
    if isinstance(record, ScheduleTask):
        return "KERNEL_AICPU"
    if isinstance(record, PlaneTask):
        return _PLANE_TYPES[record.name]
    return "MEMCPY_ASYNC" if isinstance(record, CopyTask) else record.name


def trace_type(task: HardwareTask) -> str:
    """``Task Type`` in the trace."""
    record = task.record
    if isinstance(record, KernelTask):
        core = record.spec.core_type
        return "AI_CORE" if core == "AI_VECTOR_CORE" else core
    if isinstance(record, PlaneTask):
        return _PLANE_TYPES[record.name]
    if isinstance(record, CopyTask):
        return _COPY_TYPES[record.kind]
    if isinstance(record, EventTask):
        return f"{record.name}_SQE" if record.stream else "PLACE_HOLDER_SQE"
    return "AI_CORE"


def trace_name(task: HardwareTask) -> str:
    """Name of the task in the trace."""
    record = task.record
    if isinstance(record, KernelTask):
        return record.spec.name
    if isinstance(record, CopyTask):
        return "MEMCPY_ASYNC"
    return record.name if isinstance(record, EventTask) else trace_type(task)


def launch_flows(capture: Capture) -> dict[int, str]:
    """Id of the flow HostToDevice by connection: for a kernel its position on the device, else the connection."""
    flows = {copy.connection: str(copy.connection) for copy in capture.copies}
    for task in capture.collectives:
        flows[task.connection] = str((task.connection << 32) - 1)
    for kernel in capture.kernels:
        context = _kernel_context(kernel)
        flows[kernel.connection] = str(kernel.stream << 64 | kernel.task_id << 48 | context)
    return flows
