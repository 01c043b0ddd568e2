"""Folders laid out as the profilers lay them out, with just enough in the files to tell what they are."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

CSV_HEADER = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"


def make_database(path: Path, *tables: str, ranks: tuple[int, ...] = (), steps: tuple[int, ...] = ()) -> Path:
    """A SQLite file with the named tables, by default the ones of any profile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as con:
        for table in tables or ("TASK", "COMPUTE_TASK_INFO"):
            con.execute(f'CREATE TABLE "{table}" (startNs INTEGER)')
        con.execute("CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER)")
        con.executemany("INSERT INTO RANK_DEVICE_MAP VALUES (?, 0)", [(rank,) for rank in ranks])
        if steps:
            con.execute("CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER)")
            con.executemany("INSERT INTO STEP_TIME VALUES (?, 0, 1)", [(step,) for step in steps])
        con.commit()
    return path


def make_profile(
    folder: Path,
    rank: int | str | None = None,
    *,
    db: bool = True,
    text: bool = False,
    started_ns: int | None = None,
    config: dict[str, object] | None = None,
) -> Path:
    """An ``*_ascend_pt`` folder."""
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    info: dict[str, object] = {"config": config or {}}
    if rank is not None:
        info["rank_id"] = rank
    if started_ns is not None:
        info["start_info"] = {"start_monotonic": 1_000}
        info["end_info"] = {"collectionTimeEnd": started_ns + 500, "MonotonicTimeEnd": 1_500}
    (folder / f"profiler_info_{rank or 0}.json").write_text(json.dumps(info))
    if db:
        make_database(output / f"ascend_pytorch_profiler_{rank or 0}.db")
        make_database(output / "analysis.db", "StepTraceTime")
    if text:
        (output / "kernel_details.csv").write_text(CSV_HEADER)
        (output / "trace_view.json").write_text('[{"ph": "X", "name": "aten::add"}]')
    return folder


def make_unparsed(folder: Path) -> Path:
    """An ``*_ascend_pt`` folder that was collected but never parsed."""
    (folder / "FRAMEWORK").mkdir(parents=True)
    (folder / "PROF_000001_20250101" / "device_0").mkdir(parents=True)
    (folder / "FRAMEWORK" / "torch.op_range").write_bytes(b"\0" * 64)
    return folder
