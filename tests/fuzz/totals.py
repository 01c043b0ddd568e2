"""What must hold between the tables of a ``diff.json``, and between a table and the metrics of the whole step.

Both are made from the same rows, but by different queries (sql/compare/). ``contradictions`` in invariants.py calls
this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.fuzz.numbers import SIDES, Contradiction, Document, close, is_partly_measured

TOTALS = (
    ("kernels", "calls", "workload.kernels"),
    ("kernel_types", "calls", "workload.kernels"),
    ("categories", "calls", "workload.kernels"),
    ("kernels", "busy_ms", "time.compute"),
    ("collectives", "calls", "workload.collectives"),
    ("groups", "calls", "workload.collectives"),
    ("collectives", "bytes", "workload.collective_bytes"),
    ("groups", "bytes", "workload.collective_bytes"),
    ("collectives", "exposed_ms", "time.exposed_comm"),
    ("groups", "exposed_ms", "time.exposed_comm"),
    ("copies", "exposed_ms", "time.exposed_copy"),
    ("path", "", "time.path"),
)
"""A section, one of its columns (``""``: the value itself), and the metric that its rows sum to."""

UNIONS = (("kernels", "time.compute"), ("collectives", "time.comm"))
"""A section, and the union of the intervals whose lengths its rows sum: never longer."""

_ROUNDED = 1e-5
"""Pictures have six digits."""

ALIKE = (
    ("kernels", "kernel_types", ("", "calls")),
    ("kernels", "categories", ("", "calls")),
    ("collectives", "groups", ("", "calls", "wait_ms", "transit_ms", "exposed_ms", "bytes")),
)
"""Sections of the same rows, and the columns whose sums are equal."""


def contradictions(document: Document) -> Iterator[Contradiction]:
    """Each contradiction."""
    for side in SIDES:
        yield from _of_metrics(document, side)
        yield from _of_unions(document, side)
        yield from _of_sections(document, side)
        yield from _of_phases(document, side)
        yield from _of_one_capture(document, side)
        yield from _of_sizes(document, side)


def _of_metrics(document: Document, side: str) -> Iterator[Contradiction]:
    for section, column, metric in TOTALS:
        total, value = _total(document, section, side, column), _mean(document, metric, side)
        if total is not None and value is not None and not close(total, value, value):
            yield f"sections.{section}.{side}_{column}", f"{total} in all, and {value} of {metric}"


def _of_unions(document: Document, side: str) -> Iterator[Contradiction]:
    for section, metric in UNIONS:
        total, value = _total(document, section, side, ""), _mean(document, metric, side)
        if total is not None and value is not None and total < value and not close(total, value, value):
            yield f"sections.{section}.{side}", f"{total} ms in all, less than the {value} ms of {metric}"


def _of_sections(document: Document, side: str) -> Iterator[Contradiction]:
    for one, other, columns in ALIKE:
        for column in columns:
            total, same = (_total(document, section, side, column) for section in (one, other))
            if total is not None and same is not None and not close(total, same, total):
                yield f"sections.{one}.{side}_{column}", f"{total} in all, and {same} in {other}"


def _total(document: Document, section: str, side: str, column: str) -> float | None:
    """The sum of a column over a section; None if it has no rows, or if not all of them are here and known."""
    rows = [row for row in document["sections"].get(section, ()) if row.get("task") is None]
    values = [_value(row, side, column) for row in rows]
    rest = document["section_info"][section].get("rest", ()) if section in document["section_info"] else ()
    if rest and column:
        return None
    values += [part[side] for part in rest]
    return None if not values or None in values else sum(values)


def _value(row: Mapping[str, Any], side: str, column: str) -> Any:
    return row.get(f"{side}_{column}" if column else side)


def _mean(document: Document, metric: str, side: str) -> float | None:
    """The value of a metric of the whole step; None if it may be a mean over other ranks or runs than those of tables.

    A finding says so of ranks. Operators on the host may stand for kernels: then computation is no sum of kernels.
    """
    row = next((row for row in document["overall"] if row["metric"] == metric), None)
    if row is None:
        return None
    if metric.startswith(("time.", "phase.")) and is_partly_measured(document, side):
        return None
    if metric == "time.compute" and any(capture["executor"] == "host" for capture in document[side]["captures"]):
        return None
    value: float | None = row[side]
    return value


def _of_phases(document: Document, side: str) -> Iterator[Contradiction]:
    """A phase's wall time, and its parts, are those of the metrics of the whole step."""
    for row in document["sections"].get("phases", ()):
        parts = {"wall": side} if row["kind"] == "wall" else {}
        parts |= {part: f"{side}_{part}" for part in ("compute", "exposed_comm", "free")}
        for part, column in parts.items():
            value, metric = row.get(column), f"phase.{row['name']}.{part}"
            whole = _mean(document, metric, side)
            if value is not None and whole is not None and not close(value, whole, whole):
                yield f"sections.phases[{row['name']}].{column}", f"{value} ms, and {whole} ms of {metric}"


def _of_one_capture(document: Document, side: str) -> Iterator[Contradiction]:
    """Of one capture, the mean of the steps is that of the rank, and that of the whole step."""
    if len(document[side]["captures"]) != 1:
        return
    for part in ("compute", "comm", "exposed_comm", "free"):
        value = _mean(document, f"time.{part}", side)
        for section in ("steps", "ranks"):
            numbers = [row.get(f"{side}_{part}") for row in document["sections"].get(section, ())]
            known = [number for number in numbers if number is not None]
            if known and value is not None and not close(sum(known) / len(known), value, value):
                yield f"sections.{section}.{side}_{part}", f"{known} ms, and {value} ms of time.{part}"


def _of_sizes(document: Document, side: str) -> Iterator[Contradiction]:
    """Collectives by size are those of the section. The picture leaves out a size whose time is unknown."""
    found = [row for row in document["pictures"]["collectives"] if row["side"] == side]
    if not found:
        return
    for column, name in (("", "ms"), ("calls", "calls"), ("bytes", "bytes")):
        total, known = _total(document, "collectives", side, column), [row[name] for row in found]
        if total is not None and None not in known and abs(total - sum(known)) > _ROUNDED * total + 1e-6:
            yield "pictures.collectives", f"{side}: {sum(known)} {name} in all, and {total} in the section"
