"""Rows of sections: the differences in calls and in time per call, and the share of both sides that was matched.

Queries return times in nanoseconds (columns that end in ``_ns``), so that differences of integers are exact. Rows
contain milliseconds.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, TypeVar

from rlcompare.compare.pairs import Pair
from rlcompare.compare.records import Measured
from rlcompare.model.diff import Row, Section, Value
from rlcompare.model.words import SIDES, Presence, SideName

P = TypeVar("P", bound=Pair)


class OfSide(Protocol):
    @property
    def side(self) -> SideName: ...


K = TypeVar("K", bound=Hashable)
S = TypeVar("S", bound=OfSide)

NS_PER_MS = 1_000_000

LEAST_REMAINDER = 0.001
"""Time outside all phases has no ratio below this fraction of the step: it may be rounding error only."""

OTHERS = "(others)"
"""The names with the least time, added up, where there are very many (sql/compare/setup)."""

_UNSUFFIXED = frozenset({"compute", "comm", "exposed_comm", "free"})
"""Times whose columns have no ``_ms`` suffix: the parts of a step, of a phase and of a rank."""


def to_ms(ns: float | None) -> float | None:
    """Nanoseconds as milliseconds; None stays None."""
    return None if ns is None else ns / NS_PER_MS


LARGEST_RATIO = 1e100
"""A larger ratio says nothing but that the baseline is next to 0."""


def ratio(baseline: float | None, new: float | None) -> float | None:
    """``new / baseline``; None if it says nothing: either is absent or negative, or the baseline is 0 or next to it."""
    if baseline is None or new is None or baseline <= 0 or new < 0:
        return None
    found = new / baseline
    return found if found <= LARGEST_RATIO else None


def is_remainder(baseline: float | None, parts: Iterable[float]) -> bool:
    """Whether a baseline is a remainder too close to zero, relative to the parts of the step, to have a ratio."""
    return baseline is not None and baseline < LEAST_REMAINDER * sum(parts)


def difference(baseline: float | None, new: float | None) -> float | None:
    """``new − baseline``; None if either is absent."""
    return None if baseline is None or new is None else new - baseline


def decompose(
    baseline: float, new: float, baseline_calls: float, new_calls: float
) -> tuple[float | None, float | None]:
    """Splits a change into the part due to the number of calls and the part due to the time per call (design.md §6).

    Δ = Δcalls × old time per call + new calls × Δ(time per call). The change of a new or vanished row is due to its
    calls alone. The two parts sum to ``new − baseline``; both are None if time was spent outside of any call.
    """
    delta = new - baseline
    if baseline_calls == 0:
        by_calls = delta if new_calls and not baseline else None
    else:
        by_calls = (new_calls - baseline_calls) * (baseline / baseline_calls)
    return by_calls, None if by_calls is None else delta - by_calls


class SectionMaker:
    """Makes sections from the records of queries (``pairs``).

    A row that a side lacks counts as 0 if that side measured this domain, else as unknown.

    Args:
        measured: the domains that each side measured (column ``domain`` of sql/compare/divisor.sql).
    """

    def __init__(self, measured: Collection[Measured]) -> None:
        self._measured = frozenset(measured)

    def measures(self, side: SideName, domain: str) -> bool:
        """Whether any rank of the side measured this domain."""
        return Measured(side, domain) in self._measured

    def timed(
        self,
        name: str,
        records: Iterable[P],
        domain: str | Callable[[P], str],
        *,
        keys: tuple[str, ...] = (),
        measure: str = "ns",
        note: str = "",
        same: Mapping[str, Value] | None = None,
    ) -> Section:
        """A section of times, largest change first.

        Args:
            domain: what a side must have measured for an absent row to count as 0; may depend on the record.
            keys: the columns that, with ``name``, identify a row.
            measure: the stem of the two columns that become ``baseline`` and ``new``.
            same: further columns, with the same value in all rows.
        """
        domain_of = domain if callable(domain) else lambda record: domain
        rows = [self.timed_row(record, domain_of(record), keys, measure, same) for record in records]
        return Section(name, "ms", keys, matched_share(rows), note, ordered(rows, keys))

    def timed_row(
        self,
        record: Pair,
        domain: str,
        keys: tuple[str, ...] = (),
        measure: str = "ns",
        same: Mapping[str, Value] | None = None,
    ) -> Row:
        """One row of times; see ``timed``."""
        sides = self.completed(record, domain)
        baseline, new = sides.pop(f"baseline_{measure}"), sides.pop(f"new_{measure}")
        row: dict[str, Value] = {"name": record.name, **{key: getattr(record, key) for key in keys}}
        row["presence"] = presence_of(record.in_baseline, record.in_new)
        row |= {"baseline": to_ms(baseline), "new": to_ms(new), "delta": to_ms(difference(baseline, new))}
        row["ratio"] = ratio(baseline, new)
        if "baseline_calls" in sides:
            row |= _calls(baseline, new, sides.pop("baseline_calls"), sides.pop("new_calls"), record.name == OTHERS)
        row |= {key: getattr(record, key) for key in _split(record._fields)[1] if key not in row}
        row |= same or {}
        return row | {
            display_name(key): to_ms(value) if key.endswith("_ns") else _tidy(value) for key, value in sides.items()
        }

    def completed(self, record: Pair, domain: str) -> dict[str, Any]:
        """The paired columns of a record, with 0 for values absent on a side that measured the domain."""
        sides = {key: getattr(record, key) for key in _split(record._fields)[0]}
        found = {"baseline": record.in_baseline, "new": record.in_new}
        for here, there in zip(SIDES, reversed(SIDES), strict=True):
            if found[here] or not self.measures(here, domain):
                continue
            for key in [key for key in sides if key.startswith(f"{here}_") and not key.endswith(_NOT_SUMS)]:
                if sides[f"{there}_{key.removeprefix(f'{here}_')}"] is not None:
                    sides[key] = 0
        return sides


_PREFIXES = ("baseline_", "new_")
_RESERVED = frozenset({"in_baseline", "in_new", "domain"})
_NOT_SUMS = ("max_ns", "max_bytes", "gb_per_s", "ns_per_element")


@cache
def _split(fields: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields of a record that are paired, and the others that are shown."""
    paired = tuple(key for key in fields if key.startswith(_PREFIXES))
    return paired, tuple(key for key in fields if key not in (*paired, *_RESERVED))


@cache
def display_name(key: str) -> str:
    """Converts a query's column name to a row's: ``baseline_wait_ns`` is shown in ms as ``baseline_wait_ms``."""
    if not key.endswith("_ns"):
        return key
    stem = key.removesuffix("_ns")
    part = stem.split("_", 1)[-1] if stem.startswith(_PREFIXES) else stem
    return stem if part in _UNSUFFIXED else f"{stem}_ms"


def presence_of(in_baseline: bool, in_new: bool) -> Presence:
    """The sides on which something was found; at least one must be true."""
    if in_baseline and in_new:
        return Presence.BOTH
    return Presence.BASELINE_ONLY if in_baseline else Presence.NEW_ONLY


def _calls(
    baseline: float | None, new: float | None, before: float | None, after: float | None, mixed: bool
) -> dict[str, Value]:
    """Calls of both sides, and the change by their number and per call: none if they are ``mixed``."""
    row: dict[str, Value] = {"baseline_calls": counted(before), "new_calls": counted(after)}
    if mixed or baseline is None or new is None or before is None or after is None:
        return row
    by_calls, per_call = decompose(baseline, new, before, after)
    row |= {"delta_calls_ms": to_ms(by_calls), "delta_per_call_ms": to_ms(per_call)}
    row["baseline_per_call_ms"] = to_ms(ratio(before, baseline))
    row["new_per_call_ms"] = to_ms(ratio(after, new))
    return row


def _tidy(value: Value) -> Value:
    return counted(value) if isinstance(value, float) else value


def counted(value: float | None) -> float | int | None:
    """A mean count, as an integer if it is one."""
    return int(value) if value is not None and float(value).is_integer() else value


def matched_share(rows: Iterable[Row]) -> float | None:
    """Share of the measure (both sides together) in rows that exist on both sides; None if the measure is 0.

    Rows with a ``task`` are parts of other rows and are not counted again.
    """
    counted_rows = [row for row in rows if row.get("task") is None]
    total = math.fsum(map(_size, counted_rows))
    matched = math.fsum(_size(row) for row in counted_rows if row["presence"] == Presence.BOTH)
    return matched / total if total else None


def _size(row: Row) -> float:
    return math.fsum(abs(value) for side in SIDES if isinstance(value := row[side], (int, float)))


def ordered(rows: Sequence[Row], keys: Sequence[str]) -> tuple[Row, ...]:
    """Rows by absolute change, largest first; ties by size, name and keys, so that the order is deterministic."""

    def place(row: Row) -> tuple[float, float, tuple[str, ...]]:
        delta, size = row["delta"], row["new"] if row["new"] is not None else row["baseline"]
        return (
            -abs(delta) if isinstance(delta, (int, float)) else 0.0,
            -abs(size) if isinstance(size, (int, float)) else 0.0,
            tuple("" if row[key] is None else str(row[key]) for key in ("name", *keys)),
        )

    return tuple(sorted(rows, key=place))


def empty(name: str, unit: str = "ms", keys: tuple[str, ...] = ()) -> Section:
    """A section without rows."""
    return Section(name, unit, keys, None, "", ())


def grouped(key: Callable[[S], K], records: Iterable[S]) -> dict[K, dict[SideName, list[S]]]:
    """Records by key and side, in the order of their first appearance."""
    found: dict[K, dict[SideName, list[S]]] = {}
    for record in records:
        found.setdefault(key(record), {side: [] for side in SIDES})[record.side].append(record)
    return found


def number(value: Value) -> float | None:
    """A number of a row; None where it is absent."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def change_of(row: Row, part: str) -> float | None:
    """The change of a paired column, such as ``gap_ms``; None if either side is unknown."""
    before, after = number(row.get(f"baseline_{part}")), number(row.get(f"new_{part}"))
    return None if before is None or after is None else after - before


def by_name(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by name."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[str(row["name"])].append(row)
    return found
