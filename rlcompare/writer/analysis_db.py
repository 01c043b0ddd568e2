"""Writes ``analysis.db``: step times in microseconds, and from Level1 on times, bandwidths and links of collectives."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from rlcompare.writer.db import insert_table
from rlcompare.writer.db_strings import Row
from rlcompare.writer.model import Capture, CollectiveTask
from rlcompare.writer.reported import (
    by_step,
    collective_times,
    matrix,
    package_sizes,
    step_key,
    step_times,
)
from rlcompare.writer.spec import SampleRun
from rlcompare.writer.tables import analysis_columns


def write_analysis_db(run: SampleRun, capture: Capture, path: Path) -> None:
    """Makes the analysis.db of one capture."""
    tables = {"StepTraceTime": list(_step_rows(run, capture))}
    if run.has_types:
        tables |= _communication(capture)
    con = sqlite3.connect(path)
    for name, definition in analysis_columns(run.names_devices).items():
        if rows := tables.get(name):
            insert_table(con, name, definition, rows)
    con.commit()
    con.close()


def _step_rows(run: SampleRun, capture: Capture) -> Iterator[Row]:
    for row in step_times(capture):
        times = (
            row.computing, row.uncovered, row.overlapped, row.communication, row.free, row.stage, row.bubble,
            row.uncovered, row.preparing,
        )  # fmt: skip
        device: Row = (row.device,) if run.names_devices else ()
        yield (*device, None if row.step is None else str(row.step), *(time / 1_000 for time in times))


def _communication(capture: Capture) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {"CommAnalyzerBandwidth": [], "CommAnalyzerMatrix": [], "CommAnalyzerTime": []}
    digest = capture.group.digest
    for number, tasks in by_step(capture).items():
        step = step_key(number)
        for task in tasks:
            times = collective_times(task)
            values = (times.elapsed, times.transit, times.wait, times.synchronization, times.idle)
            tables["CommAnalyzerTime"].append(
                (task.name, digest, task.start_ns / 1_000, *(value / 1e6 for value in values), step, "collective")
            )
            tables["CommAnalyzerBandwidth"] += _bandwidth_rows(task, digest, step)
        for kind in dict.fromkeys(task.kind for task in tasks):
            same = [task for task in tasks if task.kind == kind]
            tables["CommAnalyzerMatrix"] += _matrix_rows(kind.lower(), same, digest, step)
    return tables


def _bandwidth_rows(task: CollectiveTask, digest: str, step: str) -> list[Row]:
    """One row per package size, then the SDMA row that repeats HCCS."""
    sizes = package_sizes(task.tasks)
    size = sum(package * count for package, (count, _) in sizes.items())
    duration = sum(total for _, total in sizes.values())
    bandwidth = round(size / duration, 4) if duration else 0
    head = (size / 1e6, duration / 1e6, bandwidth, 0)
    rows: list[Row] = [
        (task.name, digest, "HCCS", *head, package / 1e6, count, total / 1e6, step, "collective")
        for package, (count, total) in sizes.items()
    ]
    return [*rows, (task.name, digest, "SDMA", *head, 0, 0, 0, step, "collective")] if rows else []


def _matrix_rows(kind: str, tasks: list[CollectiveTask], digest: str, step: str) -> Iterator[Row]:
    for place, links in matrix(tasks).items():
        for (source, target), (transfer, name) in links.items():
            yield (
                f"{kind}-{place}", digest, str(source), str(target), "LOCAL" if source == target else "HCCS",
                transfer.size_bytes / 1e6, transfer.duration_ns / 1e6, transfer.bandwidth, step, "collective", name,
            )  # fmt: skip
