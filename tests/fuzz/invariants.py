"""What the numbers of a ``diff.json`` must not contradict, whatever was read. They need no other source of truth.

docs/design.md §4 to §6 say what must hold: parts of a time sum to it, the account sums to the step, causes sum to the
change. What must hold between a table and the metrics of the whole step is in ``totals.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rlcompare.sources.metrics.values import LONGEST_SECONDS
from tests.fuzz import totals
from tests.fuzz.numbers import SIDES, Contradiction, Document, close, is_partly_measured

LONGEST_MS = 8 * 24 * 3600 * 1000
"""No profile lasts longer than a week (``sql/sources/macro/longest_profile_ns.sql``), so no time of it does."""

LONGEST_TIMER_MS = LONGEST_SECONDS * 1000
"""Times of training's own timers may be longer."""

OF_TIMERS = ("phase.", "time.profiled_step", "time.outside_profile")
"""What may be timed by training alone."""

NEGATIVE = frozenset({"time.tail", "time.preparing", "time.step_free", "time.outside_profile"})
"""May be negative: the device may end after the host's step, and start before it (docs/design.md §4); a profiled step
may be shorter than training's timer says."""

SUMS = {
    "time.device_span": ("time.compute", "time.exposed_comm", "time.free"),
    "time.comm": ("time.exposed_comm", "time.overlapped_comm"),
    "time.free": ("time.exposed_copy", "time.idle"),
    "time.step": ("time.preparing", "time.device_span", "time.tail"),
    "time.step_free": ("time.preparing", "time.free", "time.tail"),
    "time.profiled_step": ("time.device_span", "time.outside_profile"),
}
"""A time and its parts."""

PARTS_OF_PHASES = ("compute", "exposed_comm", "free")
"""Times that are divided among the phases and ``(outside)``."""

BOUNDS = (
    ("time.comm", "time.device_span"),
    ("time.compute", "time.device_span"),
    ("time.bubble", "time.device_span"),
    ("time.exposed_copy", "time.free"),
    ("time.stage", "time.device_span"),
    ("time.p2p", "time.comm"),
    ("time.step", "time.step@max"),
    ("time.device_span", "time.device_span@max"),
    ("time.step@spread", "time.step@max"),
    ("time.device_span@spread", "time.device_span@max"),
)
"""A time that is at most another one."""

Samples = Mapping[str, Sequence[Any]]
"""By metric, the value of each run of a side; None: unknown."""

MOST_OF_PEAK = 1.05
"""The peak follows from the recorded clock and blocks, and what is achieved from recorded times: both are rounded."""

MOST_BYTES, MOST_GB_PER_S = 2**46, 1e6
"""No memory has more, and nothing moves more (``sql/normalize/odd_value.sql``)."""

_SELF_AND_TOTAL = (("host_self_ms", "host_total_ms"), ("device_self_ms", "device_total_ms"))

_COUNTS = ("calls", "pieces", "bytes", "samples", "steps", "ranks")
_NO_TIMES = ("delta", "ratio", "share", "tflops", "gb_per_s", "bytes", "per_s")


def contradictions(document: Document) -> Iterator[Contradiction]:
    """Each contradiction."""
    yield from _overall(document)
    yield from _rows(document)
    yield from totals.contradictions(document)
    yield from _causes(document)
    yield from _account(document)
    yield from _timeline(document.get("timeline") or {})


def _overall(document: Document) -> Iterator[Contradiction]:
    rows: Sequence[Mapping[str, Any]] = document["overall"]
    for row in rows:
        for side in SIDES:
            value, place = row[side], f"overall.{row['metric']}.{side}"
            if value is None:
                continue
            is_time = row["metric"].startswith(("time.", "phase.", "role.", "timing_s/"))
            if is_time and value < 0 and not row["metric"].endswith(tuple(NEGATIVE)):
                yield place, f"{value} {row['unit']} is negative"
            if row["unit"] == "ms" and abs(value) > (
                LONGEST_TIMER_MS if row["metric"].startswith(OF_TIMERS) else LONGEST_MS
            ):
                yield place, f"{value} ms is beyond any sense"
        yield from _change(row, f"overall.{row['metric']}")
    for side in SIDES:
        samples = {row["metric"]: row["samples"][side] for row in rows if row[side] is not None}
        yield from _roles(samples, side)
        if is_partly_measured(document, side):
            continue  # the whole and its parts are means over different ranks or steps
        yield from _sums(samples, side)
        yield from _bounds(samples, side)
        yield from _phases(document, samples, side)


def _sums(samples: Samples, side: str) -> Iterator[Contradiction]:
    for whole, parts in SUMS.items():
        names = [name for name in (whole, *parts) if name in samples]
        if len(names) < 1 + len(parts):
            continue
        for run, (total, *numbers) in enumerate(zip(*(samples[name] for name in names), strict=True)):
            if None not in (total, *numbers):
                yield from _sum(f"overall.{whole}.{side}", run, total, dict(zip(parts, numbers, strict=True)))


def _sum(place: str, run: int, total: float, parts: Mapping[str, float]) -> Iterator[Contradiction]:
    if not close(total, sum(parts.values()), max(map(abs, parts.values()))):
        yield place, f"run {run}: {total} is not the sum of {dict(parts)}"


def _bounds(samples: Samples, side: str) -> Iterator[Contradiction]:
    for part, whole in BOUNDS:
        if part not in samples or whole not in samples:
            continue
        for run, (value, most) in enumerate(zip(samples[part], samples[whole], strict=True)):
            if None not in (value, most) and value > most and not close(value, most, most):
                yield f"overall.{part}.{side}", f"run {run}: {value} is more than the {most} of {whole}"


def _roles(samples: Samples, side: str) -> Iterator[Contradiction]:
    """Times of roles sum to that of the step: both leave out the same ranks."""
    for time in ("device_span", *PARTS_OF_PHASES):
        parts = {name: values for name, values in samples.items() if name.startswith("role.")}
        parts = {name: values for name, values in parts.items() if name.split(".")[-1] == time}
        for run, total in enumerate(samples.get(f"time.{time}", ())):
            numbers = {name: values[run] for name, values in parts.items() if values[run] is not None}
            if numbers and total is not None:
                yield from _sum(f"overall.time.{time}.{side}", run, total, numbers)


def _phases(document: Document, samples: Samples, side: str) -> Iterator[Contradiction]:
    """The phases and what is outside of them hold all that the device does. A rank without phases has no part in it,
    so only runs of one capture are sure to have the same ranks."""
    for time in PARTS_OF_PHASES:
        parts = {
            name: values
            for name, values in samples.items()
            if name.startswith("phase.") and name.split(".")[-1] == time
        }
        for run, total in enumerate(samples.get(f"time.{time}", ())):
            numbers = {name: values[run] for name, values in parts.items() if values[run] is not None}
            if numbers and total is not None and document[side]["runs"][run]["captures"] == 1:
                yield from _sum(f"overall.time.{time}.{side}", run, total, numbers)


def _change(row: Mapping[str, Any], place: str) -> Iterator[Contradiction]:
    old, new, delta = row["baseline"], row["new"], row["delta"]
    if not isinstance(old, int | float) or not isinstance(new, int | float) or delta is None:
        return
    if not close(new - old, delta, max(abs(old), abs(new))):
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
                yield from _value(section, key, value, info["unit"], place, row.get(f"{_side(key)}_calls"))
            yield from _calls(row, place)
            for side in SIDES:
                yield from _collective(section, row, side, place)
                yield from _self(section, row, side, place)
        share = info["matched_share"]
        if share is not None and not -1e-9 <= share <= 1 + 1e-9:
            yield f"section_info.{section}.matched_share", f"{share} is not within 0 and 1"


def _side(key: str) -> str:
    return "new" if key.startswith("new") else "baseline"


def _value(section: str, key: str, value: float, unit: str, place: str, calls: float | None) -> Iterator[Contradiction]:
    word = key.removeprefix("baseline_").removeprefix("new_")
    if section == "counters" and key in SIDES and value < 0:
        yield place, f"{key} is {value}"
    if word.startswith(("delta", "outside_profile")) or section in ("metrics", "env", "counters", "steps"):
        return
    if section == "memory" and (key in SIDES or word == "max_bytes") and not 0 <= value <= MOST_BYTES:
        yield place, f"{key} is {value} bytes"
    if word.endswith("gb_per_s") and not 0 <= value <= MOST_GB_PER_S:
        yield place, f"{key} is {value} GB/s"
    if word.endswith(_COUNTS) and value < 0:
        yield place, f"{key} is {value}"
    if word.endswith("_share") and not -1e-9 <= value <= (MOST_OF_PEAK if word == "peak_share" else 1) + 1e-9:
        yield place, f"{key} {value} is not within 0 and 1"
    is_time = (key in SIDES and unit == "ms") or word.endswith("_ms")
    if is_time and section not in ("msprof", "memory", "workload"):
        if value < -1e-6:
            yield place, f"{key} is {value} ms"
        longest = LONGEST_TIMER_MS if section == "phases" else LONGEST_MS
        if value > longest * max(calls or 1, 1):  # calls may overlap
            yield place, f"{key} {value} ms is beyond any sense"


def _calls(row: Mapping[str, Any], place: str) -> Iterator[Contradiction]:
    """A change is that of the calls and that of the time per call."""
    delta, calls, per_call = (row.get(key) for key in ("delta", "delta_calls_ms", "delta_per_call_ms"))
    if delta is None or calls is None or per_call is None:
        return
    if not close(delta, calls + per_call, max(abs(calls), abs(per_call))):
        yield place, f"delta {delta} is not {calls} by calls and {per_call} per call"


def _self(section: str, row: Mapping[str, Any], side: str, place: str) -> Iterator[Contradiction]:
    """What an operator does itself is part of what it does with those that it calls."""
    for names in _SELF_AND_TOTAL if section == "operators" else ():
        own, total = (row.get(f"{side}_{name}") for name in names)
        if own is not None and total is not None and own > total and not close(own, total, total):
            yield place, f"{side}: {names[0]} {own} of {names[1]} {total}"


def _collective(section: str, row: Mapping[str, Any], side: str, place: str) -> Iterator[Contradiction]:
    """Waiting and transfer are at most the communication (of some calls, neither may be known), and so is the exposed
    part."""
    if section not in ("collectives", "groups") or row.get("task") is not None or row[side] is None:
        return
    for names in (("wait", "transit"), ("exposed",)):
        parts = [row.get(f"{side}_{name}_ms") or 0 for name in names]
        if sum(parts) > row[side] and not close(sum(parts), row[side], row[side]):
            yield place, f"{side}: {parts} ms of {' and '.join(names)} in {row[side]} ms of communication"


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
    if not close(change, sum(deltas), max(map(abs, deltas))):
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
        if not any(close(total, value, value) for value in values[:1]):
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
