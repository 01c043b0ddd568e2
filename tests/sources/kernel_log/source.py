"""Kernel logs: a CSV whose first line says ``# kernel log, rank 3, steps 1 2``, with a row per kernel."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import duckdb

from rlcompare import db
from rlcompare.errors import InputError
from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.content import Content
from rlcompare.sources.source import Found, Report, Source
from rlcompare.sql_order import in_order, predecessors

_FIRST_LINE = re.compile(r"# kernel log, rank (\d+), steps ([\d ]+)")
_SQL = Path(__file__).with_name("sql")
"""A source of rlcompare has ``resource_root("sql") / "sources" / "kernel_log"`` here. This one is not shipped."""


def _recognise(content: Content) -> str | None:
    return "kernel_log" if content.text.startswith(b"# kernel log,") else None


def _captures(path: Path, kind: str) -> Found:
    with path.open(encoding="utf-8") as file:
        said = _FIRST_LINE.match(file.readline())
    info = {"steps": [int(step) for step in said[2].split()]} if said else {}
    return Found([CaptureInput("kernel_log", path, {"log": path}, rank=int(said[1]) if said else None, info=info)])


def _steps(capture: CaptureInput) -> frozenset[int] | None:
    steps = capture.info.get("steps")
    return frozenset(steps) if isinstance(steps, list) else None


def _fill(con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, report: Report) -> None:
    path = capture.files["log"]
    con.execute("SET VARIABLE kernel_log_path = ?", [db.pattern_of(path)])
    texts = _sql_texts()
    try:
        for name in in_order(predecessors(texts)):  # in rlcompare: resources.sql_order("sources/kernel_log")
            con.execute(texts[name])
        ((left_out,),) = db.run(con, texts["left_out"])
    except duckdb.Error as error:
        raise InputError(path, f"it cannot be read ({str(error).splitlines()[0]})", "Log the kernels again") from error
    if left_out:
        message = f"{path.name}: {left_out} kernels without a time were left out"
        report(Finding("warning", "kernels_without_time", message, capture_id))


@cache
def _sql_texts() -> dict[str, str]:
    """In rlcompare, ``resources.sql("sources/kernel_log/left_out")`` gives the text of one file."""
    return {path.stem: path.read_text(encoding="utf-8") for path in _SQL.glob("*.sql")}


def _viewer(paths: Sequence[Path]) -> list[str]:
    return [f"Kernel viewer: kernel-viewer {shlex.quote(str(path))}" for path in paths]


SOURCE = Source(
    name="kernel_log",
    tool="kernel_logger",
    sql=_SQL,
    recognise=_recognise,
    captures=_captures,
    fill=_fill,
    suffixes=(".csv",),
    steps=_steps,
    viewer=_viewer,
)
