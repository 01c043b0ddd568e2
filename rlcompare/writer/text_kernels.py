"""The CSV files of device tasks: kernel_details, op_statistic, step_trace_time, l2_cache."""

from __future__ import annotations

from collections.abc import Iterator

from rlcompare.writer.csv_file import Cells, CsvFile
from rlcompare.writer.model import UINT32_MAX, Capture, CollectiveTask, KernelTask
from rlcompare.writer.pmu import counters, cube_utilization
from rlcompare.writer.reported import StepRange, step_of, step_ranges, step_times
from rlcompare.writer.spec import SampleRun
from rlcompare.writer.texts import NOT_AVAILABLE, dtypes, formats, shapes, time_us

_PMU_COLUMNS = {
    "aicore_time(us)": "aic_total_time",
    "aic_total_cycles": "aic_total_cycles",
    **{f"aic_{pipe}_{kind}": f"aic_{pipe}_{kind.removesuffix('(us)')}"
       for pipe in ("mac", "scalar", "mte1", "mte2", "fixpipe") for kind in ("time(us)", "ratio")},
    "aic_icache_miss_rate": "aic_icache_miss_rate",
    "aiv_time(us)": "aiv_total_time",
    "aiv_total_cycles": "aiv_total_cycles",
    **{f"aiv_{pipe}_{kind}": f"aiv_{pipe}_{kind.removesuffix('(us)')}"
       for pipe in ("vec", "scalar", "mte2", "mte3") for kind in ("time(us)", "ratio")},
    "aiv_icache_miss_rate": "aiv_icache_miss_rate",
}  # fmt: skip
"""Column of kernel_details.csv: counter."""

DeviceTask = KernelTask | CollectiveTask


def kernel_details(run: SampleRun, capture: Capture) -> CsvFile:
    """One row per kernel and per collective; at Level0 names and times only."""
    rows = [row for device in capture.devices for row in _Kernels(run, capture, device).rows()]
    return CsvFile("kernel_details.csv", _kernel_header(run, capture), rows, crlf=not run.newer)


def _kernel_header(run: SampleRun, capture: Capture) -> list[str]:
    block = "Block Num" if run.newer else "Block Dim"
    head = ["Step Id"] if capture.steps else []
    head += ["Device_id"] if run.names_devices else []
    times = ["Start Time(us)", "Duration(us)", "Wait Time(us)", block]
    if not run.has_types:
        return [*head, "Name", "Type", "Accelerator Core", *times]
    return [
        *head, "Model ID", "Task ID", "Stream ID", "Name", "Type", "OP State", "Accelerator Core", *times,
        f"Mix {block}", "HF32 Eligible", "Input Shapes", "Input Data Types", "Input Formats", "Output Shapes",
        "Output Data Types", "Output Formats", "Context ID", *_PMU_COLUMNS, "cube_utilization(%)",
    ]  # fmt: skip


class _Kernels:
    """The rows of one device."""

    def __init__(self, run: SampleRun, capture: Capture, device: int) -> None:
        self.run = run
        self.capture = capture
        self.device = device
        self.ranges: list[StepRange] = step_ranges(capture, device)
        self.width = len(_kernel_header(run, capture))

    def rows(self) -> Iterator[Cells]:
        tasks: list[DeviceTask] = [*self.capture.kernels, *self.capture.collectives]
        own = sorted((task for task in tasks if task.device == self.device), key=lambda task: task.start_ns)
        last = None
        for task in own:
            wait = 0 if last is None else max(0, task.start_ns - last)
            last = task.end_ns
            yield self._row(task, wait)

    def _row(self, task: DeviceTask, wait_ns: int) -> Cells:
        head: Cells = []
        if self.capture.steps:
            step = step_of(self.ranges, task.start_ns)
            head.append("" if step is None else step)
        if self.run.names_devices:
            head.append(self.device)
        waited = f"{time_us(wait_ns)}000" if self.run.newer else wait_ns / 1_000
        times: Cells = [f"{time_us(task.start_ns)}\t", self._number(task.end_ns - task.start_ns), waited]
        if isinstance(task, CollectiveTask):
            cells = [*head, *self._collective(task, times)]
            return [*cells, *[NOT_AVAILABLE] * (self.width - len(cells))]
        if not self.run.has_types:
            return [*head, task.spec.name, NOT_AVAILABLE, NOT_AVAILABLE, *times, 0]
        return [*head, *self._kernel(task, times)]

    def _collective(self, task: CollectiveTask, times: Cells) -> Cells:
        core = "COMMUNICATION" if self.run.newer else "HCCL"
        if not self.run.has_types:
            return [task.name, NOT_AVAILABLE, core, *times, 0]
        return [UINT32_MAX, NOT_AVAILABLE, NOT_AVAILABLE, task.name, task.op_type, NOT_AVAILABLE, core, *times, 0]

    def _kernel(self, task: KernelTask, times: Cells) -> Cells:
        spec = task.spec
        context = 0 if spec.core_type.startswith("MIX") else NOT_AVAILABLE
        return [
            UINT32_MAX, task.task_id, task.stream, spec.name, spec.op_type, "dynamic", spec.core_type, *times,
            spec.block_num, spec.mix_block_num, "YES" if spec.core_type == "AI_CORE" else "NO",
            shapes(spec.inputs), dtypes(spec.inputs), formats(spec.inputs, self.run.newer),
            shapes(spec.outputs), dtypes(spec.outputs), formats(spec.outputs, self.run.newer), context,
            *self._counters(task),
        ]  # fmt: skip

    def _counters(self, task: KernelTask) -> Cells:
        """Counters with three decimals; times in microseconds."""
        values = counters(task, self.capture.frequency_mhz)
        if values is None:
            return [NOT_AVAILABLE] * (len(_PMU_COLUMNS) + 1)
        cells: Cells = []
        for column, name in _PMU_COLUMNS.items():
            if name.endswith("cycles"):
                cells.append(round(values[name]))
            else:
                cells.append(round(values[name] / (1_000 if column.endswith("(us)") else 1), 3))
        used = cube_utilization(values, task.end_ns - task.start_ns, self.capture.frequency_mhz)
        return [*cells, round(used, 3) if used else 0]

    def _number(self, ns: int) -> str | float:
        return time_us(ns) if self.run.newer else ns / 1_000


def op_statistic(run: SampleRun, capture: Capture) -> CsvFile:
    """Kernels by type and core, longest first."""
    header = ["OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)", "Max Time(us)",
              "Ratio(%)"]  # fmt: skip
    rows: list[Cells] = []
    for device in capture.devices:
        found: dict[tuple[str, str], list[int]] = {}
        for task in capture.kernels:
            if task.device == device:
                key = (task.spec.op_type, task.spec.core_type)
                found.setdefault(key, []).append(task.end_ns - task.start_ns)
        everything = sum(sum(times) for times in found.values())
        for (op_type, core), times in sorted(found.items(), key=lambda item: -sum(item[1])):
            total = sum(times)
            cells: Cells = [
                op_type, core, len(times), total / 1_000, min(times) / 1_000, round(total / len(times) / 1_000, 3),
                max(times) / 1_000, round(100 * total / everything, 3),
            ]  # fmt: skip
            rows.append([device, *cells] if run.names_devices else cells)
    return CsvFile("op_statistic.csv", ["Device_id", *header] if run.names_devices else header, rows)


def step_trace_time(run: SampleRun, capture: Capture) -> CsvFile:
    """Step times in microseconds."""
    header = [
        "Step", "Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Stage", "Bubble",
        "Communication(Not Overlapped and Exclude Receive)", "Preparing",
    ]  # fmt: skip
    rows: list[Cells] = []
    for row in step_times(capture):
        times = (row.computing, row.uncovered, row.overlapped, row.communication, row.free, row.stage, row.bubble,
                 row.uncovered, row.preparing)  # fmt: skip
        cells: Cells = ["" if row.step is None else row.step, *(time / 1_000 for time in times)]
        rows.append([row.device, *cells] if run.names_devices else cells)
    header = ["Device_id", *header] if run.names_devices else header
    return CsvFile("step_trace_time.csv", header, rows, crlf=not run.newer)


def l2_cache(capture: Capture) -> CsvFile:
    """Hit rates, which this chip does not report, and victim rates of all kernels on AI Cores."""
    rows: list[Cells] = []
    for task in capture.kernels:
        if task.spec.core_type != "DSA_SQE":
            victims = round(sum(tensor.size_bytes for tensor in task.spec.inputs) % 997 / 4_000, 6)
            rows.append([task.stream, task.task_id, NOT_AVAILABLE, victims, task.spec.name])
    return CsvFile("l2_cache.csv", ["Stream Id", "Task Id", "Hit Rate", "Victim Rate", "Op Name"], rows)
