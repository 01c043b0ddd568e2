"""A trace of both sides for Perfetto and MindStudio Insight: a step of each, aligned at its start (docs/trace.md).

Processes are ranks; lanes are steps, phases, streams, communication, copies and the threads that launch work. Spans of
one lane never overlap: what does gets lanes of its own. Everything up to the text of an event is made by SQL.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import duckdb

from rlcompare import __version__, capacity, db, resources
from rlcompare.model.words import SideName

MOST_SPANS = 300_000
"""Spans of a side. Two sides of that many make a file of about 25 MB, which viewers open in seconds."""

MOST_MEMBERS = 16
"""Ranks of a side."""

_LINES = 20_000
"""Events that are written at once."""

_TABLES = "trace_event"
_LANES = ("trace_span", "trace_link")


class Shown(NamedTuple):
    """A step of a rank (a row of ``sql/trace/choice.sql``)."""

    step: int
    member: str
    captures: list[int]
    tasks: int


@dataclass(frozen=True)
class Plan:
    """What is drawn of one side.

    Attributes:
        run: its name.
        step, steps: the step, and how many there are.
        members: the ranks, and how many more there are.
        captures: their captures' numbers.
    """

    run: str
    step: int
    steps: int
    members: tuple[str, ...]
    more: int
    captures: tuple[int, ...]


@dataclass(frozen=True)
class Source:
    """A side of a trace: what to draw, its label, and a store with events that holds it under these capture numbers."""

    label: str
    plan: Plan
    store: Path
    captures: tuple[int, ...]


def plan_of(store: Path, run: str, step: int | None, member: str | None) -> Plan | None:
    """What to draw of a run: a step that is typical for it, the given rank, and then the slowest ones.

    Args:
        store: with or without events.
        run: its name.
        step, member: what to prefer.

    Returns:
        None if there is nothing to draw.
    """
    con = db.connect_to_stores(1, [store])
    try:
        db.attach(con, store, read_only=True)
        found = [Shown(*row) for row in con.execute(resources.sql("trace/choice")).fetchall()]
    finally:
        db.close(con)
    if not found:
        return None
    steps = {row.step for row in found}
    chosen = step if step in steps else found[0].step
    ranks = sorted((row for row in found if row.step == chosen), key=lambda row: row.member != member)
    shown: list[Shown] = []
    for row in ranks[:MOST_MEMBERS]:
        if not shown or sum(other.tasks for other in (*shown, row)) * 2 <= MOST_SPANS:
            shown.append(row)
    captures = tuple(sorted(number for row in shown for number in row.captures))
    return Plan(run, chosen, len(steps), tuple(row.member for row in shown), len(ranks) - len(shown), captures)


def has_events(store: Path) -> bool:
    """Whether a store keeps events."""
    con = db.connect_to_stores(1, [store])
    try:
        db.attach(con, store, read_only=True)
        return con.execute("SELECT value FROM store.meta WHERE key = 'events'").fetchone() == ("kept",)
    finally:
        db.close(con)


def write_trace(sides: Mapping[SideName, Source], target: Path) -> list[str]:
    """Writes the trace.

    Returns:
        What was left out, one sentence each.
    """
    con = db.connect_to_stores(capacity.cores(), [source.store for source in sides.values()])
    try:
        for name in (_TABLES, "trace_args"):
            con.execute(resources.sql(f"trace/{name}"))
        for side, source in sides.items():
            _fill(con, side, source)
        left_out = _lanes(con, sides)
        _write(con, target, _header(sides, left_out))
    finally:
        db.close(con)
    return left_out


def _fill(con: duckdb.DuckDBPyConnection, side: SideName, source: Source) -> None:
    db.set_variable(con, "side", side)
    db.set_variable(con, "step", source.plan.step, "BIGINT")
    db.set_variable(con, "captures", list(source.captures), "INTEGER[]")
    db.attach(con, source.store, read_only=True)
    try:
        con.execute(resources.sql("trace/fill"))
    finally:
        db.detach(con)


def _lanes(con: duckdb.DuckDBPyConnection, sides: Mapping[SideName, Source]) -> list[str]:
    """Gives each span its lane. Returns what is left out."""
    db.set_variable(con, "most", MOST_SPANS)
    for name in _LANES:
        con.execute(resources.sql(f"trace/{name}"))
    while con.execute(resources.sql("trace/trace_hop")).fetchall() != [(0,)]:
        pass
    con.execute(resources.sql("trace/trace_lane"))
    left_out = []
    for side, source in sides.items():
        if source.plan.more:
            more, ranks = source.plan.more, len(source.plan.members) + source.plan.more
            left_out.append(f"{side}: {more} of {ranks} ranks, all but the slowest; choose others with --rank")
    spans = dict(con.execute("SELECT side, count(*) FROM trace_event GROUP BY side").fetchall())
    too_many = ((side, spans[side]) for side in sides if spans.get(side, 0) > MOST_SPANS)
    left_out += [f"{side}: {number - MOST_SPANS:,} of {number:,} spans: the shortest" for side, number in too_many]
    return left_out


def _header(sides: Mapping[SideName, Source], left_out: Sequence[str]) -> str:
    """The members of the document before its events."""
    other: dict[str, object] = {
        "made by": f"rlcompare {__version__}",
        "aligned at": "the start of the step",
        "left out": list(left_out),
    }
    for side, source in sides.items():
        plan = source.plan
        why = "" if plan.steps == 1 else f", the typical one of {plan.steps}"
        other[side] = {
            "label": source.label,
            "run": plan.run,
            "step": f"{plan.step}{why}",
            "ranks": f"{len(plan.members)} of {len(plan.members) + plan.more}",
        }
    return f'{{"displayTimeUnit":"ms","otherData":{json.dumps(other)},"traceEvents":[\n'


def _write(con: duckdb.DuckDBPyConnection, target: Path, header: str) -> None:
    with target.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as out:
        out.write(header.encode())
        first = True
        for lines in _chunks(con):
            out.write(("" if first else ",\n").encode() + ",\n".join(lines).encode())
            first = False
        out.write(b"\n]}\n")


def _chunks(con: duckdb.DuckDBPyConnection) -> Iterator[list[str]]:
    for query in ("names", "lines"):
        result = con.execute(resources.sql(f"trace/{query}"))
        while rows := result.fetchmany(_LINES):
            yield [line for (line,) in rows]
