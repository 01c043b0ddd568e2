"""What the numbers of a ``diff.json`` must not contradict, whatever was read. They need no other source of truth.

docs/design.md §4 and §5 say what must hold: parts of a time sum to it, the account sums to the step, causes sum to the
change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rlcompare.compare.replicates import SIDE_NAMES

Document = dict[str, Any]
Contradiction = tuple[str, str]
"""Where it is, and what it is."""

LONGEST_MS = 8 * 24 * 3600 * 1000
"""No profile lasts longer than a week (``sql/sources/macro/longest_profile_ns.sql``), so no time of it does."""

SIDES = ("baseline", "new")
NEGATIVE = frozenset({"time.tail", "time.preparing", "time.step_free", "time.outside_profile"})
"""May be negative: the device may end after the host's step, and start before it (docs/design.md §4); a profiled step
may be shorter than training's timer says."""

SUMS = {
    "time.device_span": ("time.compute", "time.exposed_comm", "time.free"),
    "time.comm": ("time.exposed_comm", "time.overlapped_comm"),
    "time.free": ("time.exposed_copy", "time.idle"),
    "time.step": ("time.preparing", "time.device_span", "time.tail"),
}
"""A time and its parts."""

PARTLY = ("partly_measured", "unmarked_step")
"""Findings that some ranks or steps lack a time."""

_COUNTS = ("calls", "pieces", "bytes", "samples", "steps", "ranks")
_NO_TIMES = ("delta", "ratio", "share", "tflops", "gb_per_s", "bytes", "per_s")


def contradictions(document: Document) -> Iterator[Contradiction]:
    """Each contradiction."""
    yield from _overall(document)
    yield from _rows(document)
    yield from _causes(document)
    yield from _account(document)
    yield from _timeline(document.get("timeline") or {})


def _close(a: float, b: float, size: float) -> bool:
    """Whether two sums agree, but for what floats lose; ``size``: the largest of their parts."""
    return abs(a - b) <= 1e-6 + 1e-9 * abs(size)


def _overall(document: Document) -> Iterator[Contradiction]:
    rows: Sequence[Mapping[str, Any]] = document["overall"]
    partly = " ".join(finding["message"] for finding in document["quality"] if finding["key"] in PARTLY)
    for row in rows:
        for side in SIDES:
            value, place = row[side], f"overall.{row['metric']}.{side}"
            if value is None:
                continue
            is_time = row["metric"].startswith(("time.", "phase.", "role.", "timing_s/"))
            if is_time and value < 0 and not row["metric"].endswith(tuple(NEGATIVE)):
                yield place, f"{value} {row['unit']} is negative"
            if row["unit"] == "ms" and abs(value) > LONGEST_MS:
                yield place, f"{value} ms is beyond any sense"
        yield from _change(row, f"overall.{row['metric']}")
    for side in SIDES:
        if SIDE_NAMES[side] in partly:
            continue  # the whole and its parts are means over different ranks or steps
        values = {row["metric"]: row for row in rows if row[side] is not None}
        for whole, parts in SUMS.items():
            names = [name for name in (whole, *parts) if name in values]
            if len(names) < 1 + len(parts):
                continue
            for run, (total, *numbers) in enumerate(
                zip(*(values[name]["samples"][side] for name in names), strict=True)
            ):
                if None in (total, *numbers):
                    continue
                if not _close(total, sum(numbers), max(map(abs, numbers))):
                    yield f"overall.{whole}.{side}", f"run {run}: {total} is not the sum of {parts}: {numbers}"


def _change(row: Mapping[str, Any], place: str) -> Iterator[Contradiction]:
    old, new, delta = row["baseline"], row["new"], row["delta"]
    if not isinstance(old, int | float) or not isinstance(new, int | float) or delta is None:
        return
    if not _close(new - old, delta, max(abs(old), abs(new))):
        yield place, f"delta {delta} is not {new} - {old}"
    ratio = row["ratio"]
    if ratio is not None and old and abs(ratio - new / old) > 1e-6 * abs(new / old):
        yield place, f"ratio {ratio} is not {new} / {old}"


def _rows(document: Document) -> Iterator[Contradiction]:
    for section, rows in document["sections"].items():
        info = document["section_info"][section]
        for row in rows:
            place = f"sections.{section}[{str(row['name'])[:40]}]"
            yield from _change(row, place)
            for key, value in row.items():
                if isinstance(value, bool) or not isinstance(value, int | float):
                    continue
                yield from _value(section, key, value, info["unit"], place)
            for side in SIDES:
                yield from _collective(section, row, side, place)
        share = info["matched_share"]
        if share is not None and not -1e-9 <= share <= 1 + 1e-9:
            yield f"section_info.{section}.matched_share", f"{share} is not within 0 and 1"


def _value(section: str, key: str, value: float, unit: str, place: str) -> Iterator[Contradiction]:
    word = key.removeprefix("baseline_").removeprefix("new_")
    if word.startswith(("delta", "outside_profile")) or section in ("metrics", "env", "counters", "steps"):
        return
    if word.endswith(_COUNTS) and value < 0:
        yield place, f"{key} is {value}"
    if word.endswith("_share") and not -1e-9 <= value <= 1 + 1e-9 and "peak" not in word:
        yield place, f"{key} {value} is not within 0 and 1"
    is_time = (key in SIDES and unit == "ms") or word.endswith("_ms")
    if is_time and section not in ("msprof", "memory", "workload"):
        if value < -1e-6:
            yield place, f"{key} is {value} ms"
        if value > LONGEST_MS:
            yield place, f"{key} {value} ms is beyond any sense"


def _collective(section: str, row: Mapping[str, Any], side: str, place: str) -> Iterator[Contradiction]:
    if section not in ("collectives", "groups") or row.get("task") is not None:
        return
    parts = [row.get(f"{side}_{part}_ms") for part in ("wait", "transit")]
    whole = row[side]
    for part in parts:
        if part is not None and whole is not None and part > whole + 1e-6 + 1e-9 * whole:
            yield place, f"{side}: a part of {part} ms of {whole} ms of communication"


def _causes(document: Document) -> Iterator[Contradiction]:
    rest = document["unexplained"]
    if not document["causes"] or rest is None:
        return
    shares = [cause["share"] for cause in document["causes"]] + [rest["share"]]
    if abs(sum(shares) - 1) > 1e-6 * max(1, *map(abs, shares)):
        yield "causes", f"shares sum to {sum(shares)}: {shares}"
    deltas = [cause["delta_ms"] for cause in document["causes"]] + [rest["delta_ms"]]
    headline = next((row for row in document["overall"] if row["metric"] == document["headline"]), None)
    if headline is None or headline["delta"] is None or headline["unit"] not in ("ms", "s"):
        return
    change = headline["delta"] * (1000 if headline["unit"] == "s" else 1)
    if not _close(change, sum(deltas), max(map(abs, deltas))):
        yield "causes", f"{sum(deltas)} ms of causes, and the headline changed by {change} ms"


def _account(document: Document) -> Iterator[Contradiction]:
    """The rows of the account sum to the step, or to the device span where steps are not marked."""
    info = document["section_info"].get("account")
    if info is None:
        return
    overall = {row["metric"]: row for row in document["overall"]}
    for side in SIDES:
        rows = [row[side] for row in document["sections"]["account"] if row[side] is not None]
        rest = [part[side] for part in info.get("rest", ()) if part[side] is not None]
        wholes = [overall[name] for name in ("time.step", "time.device_span") if name in overall]
        wholes = [row for row in wholes if None not in (row["baseline"], row["new"])] or wholes
        values = [row[side] for row in wholes if row[side] is not None]
        if not rows or not values or any(len(row["samples"][side]) != 1 for row in wholes):
            continue  # of several runs, some may have no account
        total = sum(rows) + sum(rest)
        if not any(_close(total, value, value) for value in values[:1]):
            yield "sections.account", f"{side}: {total} ms of reasons in {values[0]} ms"


def _timeline(timeline: Mapping[str, Any]) -> Iterator[Contradiction]:
    for side in SIDES:
        of_side = timeline.get(side)
        if of_side is None:
            continue
        for what, buckets in of_side["busy_ns"].items():
            if buckets and (min(buckets) < 0 or max(buckets) > of_side["bucket_ns"] or len(buckets) > 201):
                yield (
                    f"timeline.{side}.{what}",
                    f"buckets of {of_side['bucket_ns']} ns: {min(buckets)} to {max(buckets)}",
                )
