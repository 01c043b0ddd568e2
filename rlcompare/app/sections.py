"""The sections of one run, as ``rlcompare show`` prints them and ``rlcompare.load`` returns them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from duckdb import DuckDBPyConnection

from rlcompare.db import set_variable
from rlcompare.language import mark
from rlcompare.metrics import training_timers
from rlcompare.resources import sql, sql_order

SECTIONS = {
    "overview": mark("Run"),
    "steps": mark("Steps, mean over ranks of a role, ms"),
    "path": mark("Where the job's step goes: its critical path over the ranks"),
    "account": mark("Where the step goes, per rank and step"),
    "ranks": mark("Ranks, mean over steps, ms"),
    "phases": mark("Phases, per rank and step, ms"),
    "kernels": mark("Kernels, per rank and step"),
    "efficiency": mark("Kernel efficiency, per rank and step; peak: of the chip"),
    "operators": mark("Framework operators, per rank and step"),
    "collectives": mark("Collectives, per rank and step"),
    "memory": mark("Peak memory over all ranks"),
    "memory_categories": mark("Memory by category of tensor"),
    "stacks": mark("Call stacks, own time per rank and step"),
    "metrics": mark("Training metrics, mean over steps"),
    "quality": mark("Data quality"),
    "env": mark("Made with"),
}
"""The files of sql/show that are sections, and their titles."""


def sections_of(con: DuckDBPyConnection) -> Iterator[tuple[str, list[str], list[tuple[Any, ...]]]]:
    """Each section of a store's run: its name, its columns and its rows."""
    set_variable(con, "training_timers", sorted(training_timers()))
    for name in ("compare/late_of", "compare/peak_of", *sql_order("show")):
        con.execute(sql(name))
    for name in SECTIONS:
        result = con.execute(sql(f"show/{name}"))
        yield name, [column[0] for column in result.description or ()], result.fetchall()
