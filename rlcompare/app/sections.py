"""The sections of one run, as ``rlcompare show`` prints them and ``rlcompare.load`` returns them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from duckdb import DuckDBPyConnection

from rlcompare.resources import sql, sql_order

SECTIONS = {
    "overview": "Run",
    "steps": "Steps, mean over ranks of a role, ms",
    "path": "Where the step of the job goes: its critical path over the ranks",
    "account": "Where the step goes, per rank and step",
    "ranks": "Ranks, mean over steps, ms",
    "phases": "Phases, per rank and step, ms",
    "kernels": "Kernels, per rank and step",
    "efficiency": "What kernels achieve, per rank and step; peak: of the chip",
    "operators": "Framework operators, per rank and step",
    "collectives": "Collectives, per rank and step",
    "memory": "Peak memory over all ranks",
    "memory_categories": "Memory by category of tensor",
    "stacks": "Call stacks, own time per rank and step",
    "metrics": "Training metrics, mean over steps",
    "quality": "Data quality",
    "env": "Made with",
}
"""The files of sql/show that are sections, and their titles."""


def sections_of(con: DuckDBPyConnection) -> Iterator[tuple[str, list[str], list[tuple[Any, ...]]]]:
    """Each section of a store's run: its name, its columns and its rows."""
    for name in ("compare/late_of", "compare/peak_of", *sql_order("show")):
        con.execute(sql(name))
    for name in SECTIONS:
        result = con.execute(sql(f"show/{name}"))
        yield name, [column[0] for column in result.description or ()], result.fetchall()
