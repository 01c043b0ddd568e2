"""Writes the text files of one capture. Which files exist depends on the level and on the contents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from rlcompare.writer.csv_file import CsvFile
from rlcompare.writer.model import Capture
from rlcompare.writer.spec import SampleRun
from rlcompare.writer.text_communication import communication, communication_matrix
from rlcompare.writer.text_host import (
    api_statistic,
    memory_record,
    npu_module_mem,
    operator_details,
    operator_memory,
)
from rlcompare.writer.text_kernels import kernel_details, l2_cache, op_statistic, step_trace_time
from rlcompare.writer.trace import trace_view


def write_text(run: SampleRun, capture: Capture, folder: Path) -> None:
    """Fills ASCEND_PROFILER_OUTPUT with trace_view.json and the CSV and JSON files."""
    contents: dict[str, object] = {"trace_view.json": trace_view(run, capture)}
    if run.has_types and capture.collectives:
        contents["communication.json"] = communication(capture)
        contents["communication_matrix.json"] = communication_matrix(capture)
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    for file in _csv_files(run, capture):
        file.write(folder)


def _csv_files(run: SampleRun, capture: Capture) -> Iterator[CsvFile]:
    if not run.has_device_data:
        return
    yield kernel_details(run, capture)
    yield step_trace_time(run, capture)
    yield l2_cache(capture)
    if "cpu" in run.contents:
        yield operator_details(run, capture)
    if run.has_types:
        yield op_statistic(run, capture)
        yield api_statistic(run, capture)
    if "memory" in run.contents:
        yield operator_memory(run, capture)
        yield memory_record(run, capture)
        yield npu_module_mem(run, capture)
