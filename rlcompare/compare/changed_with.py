"""What changed with an operator that became slower or faster: formats, alignment, blocks, the clock, AI Core counters.

A fact is given only if it changed and fits the change: what a kernel does longer must have grown with its time. It does
not say that the one made the other so. The names of counters are those of ``sql/schema/rollup/r_kernel.sql``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import fsum, isfinite, prod
from typing import NamedTuple

from rlcompare.compare.evidence import Evidence
from rlcompare.compare.operator_changes import OperatorChange
from rlcompare.compare.parts import Part
from rlcompare.compare.phrases import count, short
from rlcompare.compare.records import KernelFact
from rlcompare.model.diff import Row, Value
from rlcompare.model.digits import grouped
from rlcompare.model.words import SIDES, SideName

MOST_OF = 0.8
"""Part of an operator's time that must be alike for it to be told as one."""

COVERED = 0.5
"""Part of an operator's time that must be of inputs that both sides counted."""

LEAST_SHARE, LEAST_HITS = 0.1, 0.05
"""Change of the part of a kernel's time in which a unit works, and of the part of hits, from which it is told."""

LEAST_FIT = 0.5
"""Part of the change of a kernel's time by which the time of the unit that is told must have changed, too."""

STEADY_UNIT = 0.1
"""Change of the time in which a unit computes, as a part of it, below which it computes as long as before."""

LEAST_BLOCKS = 0.2
"""Relative change of the number of blocks from which it is told."""

LEAST_CLOCK = 0.02
"""Relative change of the clock from which it is told."""

_MOST_DIGITS = 15
"""Longer numbers are no length of an axis."""

ALIGNED_BYTES = 512
"""The matrix units of Ascend read rows at full speed whose length is a multiple of this."""

SAME_CALLS = 0.01
"""Part of the calls by which they may differ for kernels with inputs in another format to be the same work."""

SAME_SIZE = 0.1
"""Part of the input elements by which they may differ then: FRACTAL_NZ fills matrices up to blocks of 16."""

IN_SENTENCE = 2
"""The most facts in one sentence; ``Cause.facts`` has all."""

_PLAIN = frozenset({"ND", "NCL", "NCHW", "NHWC", "NCDHW", "NDHWC"})
"""Formats that store a tensor in the order of its dimensions."""

_TYPE_BYTES = {"FLOAT": 4, "FLOAT32": 4, "DT_FLOAT": 4, "FLOAT16": 2, "BFLOAT16": 2, "DT_BF16": 2, "INT8": 1}


class Fact(NamedTuple):
    """Something that changed with an operator.

    Attributes:
        name: ``input_formats``, ``last_axis_bytes``, ``blocks``, ``aicore_mhz``, ``load_share``, ``cube_share``
            or ``l2_hit_share``.
        baseline, new: its value on each side.
        text: a clause on it.
    """

    name: str
    baseline: Value
    new: Value
    text: str

    @property
    def row(self) -> Row:
        return {"name": self.name, "baseline": self.baseline, "new": self.new}


class _Kernels(NamedTuple):
    """The kernels of an operator that are compared, and how their time changed.

    Attributes:
        sides: their records.
        slower: whether they take longer per call or element now.
        factor: their time per call or element, as a multiple of that before.
    """

    sides: Mapping[SideName, Sequence[KernelFact]]
    slower: bool
    factor: float


def changed_with(evidence: Evidence, change: OperatorChange, shapes: str | None = None) -> tuple[Fact, ...]:
    """What changed with an operator and fits its change, what is known to matter most first.

    Args:
        shapes: the input shapes that ``change`` is limited to.
    """
    sides = _sides(evidence, change.name, shapes)
    if not all(sides.values()) or not change.slower:
        return _of_clock(evidence, change)
    kernels = _Kernels(sides, change.slower > 0, change.factor)
    found = [*_formats(kernels), *_alignment(kernels), *_blocks(kernels)]
    return (*found, *_of_clock(evidence, change), *_counters(kernels))


def _sides(evidence: Evidence, name: str, shapes: str | None = None) -> dict[SideName, list[KernelFact]]:
    """The records of an operator's kernels that have a time, by side; of these input shapes if they are given."""
    records = [one for one in evidence.facts_by_name.get(name, ()) if shapes in (None, one.input_shapes) and one.ns]
    return {side: [record for record in records if record.side == side] for side in SIDES}


def clauses(facts: Iterable[Fact]) -> str:
    """The first of the facts, as they end a sentence: ``; it runs in 12 blocks, 24 before``."""
    return "".join(f"; {fact.text}" for fact in [*facts][:IN_SENTENCE])


def otherwise(
    evidence: Evidence, change: OperatorChange, parts: Mapping[int, Part], slower: float
) -> tuple[str, tuple[Row, ...]] | None:
    """What the operator runs on, or works on, now, in words and as facts; None if that is the same.

    Inputs in another format have other shapes, and so count as other calls.

    Args:
        slower: the part of the operator's change that is due to the time per call for the same inputs.
    """
    formats = _reformatted(evidence, change.name)
    if formats and change.baseline_calls and abs(change.new_calls / change.baseline_calls - 1) <= SAME_CALLS:
        return f"now {formats.text.removeprefix('it ')}", (formats.row,)
    if slower < MOST_OF:
        return None
    row = max(parts.values(), key=lambda part: abs(part.delta)).row
    for column, verb in (("core_type", "runs on"), ("input_dtypes", "works on")):
        before, after = (_types(row.get(f"{side}_{column}")) for side in SIDES)
        if before and after and {*before} != {*after}:
            return f"now {verb} {_listed(after)} instead of {_listed(before)}", ()
    return None


def of_shapes(evidence: Evidence, name: str, shapes: str) -> str:
    """The clause for inputs of these shapes that have other data types than before; empty if they are not known to."""
    row = evidence.other_types.get((name, shapes))
    if row is None or not row.baseline_types or not row.new_types:
        return ""
    return f"now works on {short(row.new_types)} instead of {short(row.baseline_types)}"


def _types(value: Value) -> list[str]:
    """The types of all inputs, each once: ``FLOAT16`` for ``FLOAT16;FLOAT16``."""
    return [kind for kind in dict.fromkeys(str(value or "").split(";")) if kind]


def _listed(types: Iterable[str]) -> str:
    return short(";".join(types))


def _reformatted(evidence: Evidence, name: str) -> Fact | None:
    """The format of an input that is another one in nearly all kernels; None if the inputs' sizes differ."""
    sides = _sides(evidence, name)
    if not all(sides.values()):
        return None
    before, after = (_elements(sides[side]) for side in SIDES)
    if not before or not after or abs(after / before - 1) > SAME_SIZE:
        return None
    return next(_formats(_Kernels(sides, slower=True, factor=1.0)), None)


def _elements(records: Iterable[KernelFact]) -> float | None:
    """Input elements of all calls; None if one is unknown."""
    found = 0.0
    for record in records:
        shapes = [shape for shape in (record.input_shapes or "").split(";") if shape]
        sizes = [[_size(text) for text in shape.split(",")] for shape in shapes]
        if not sizes or any(size is None for shape in sizes for size in shape):
            return None
        found += record.calls * fsum(prod(size or 0.0 for size in shape) for shape in sizes)
    return found if isfinite(found) else None


def _size(text: str) -> float | None:
    """The length of an axis; None if it is none."""
    return float(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _time(records: Iterable[KernelFact]) -> float:
    return sum(record.ns or 0.0 for record in records)


def _of_most(records: Sequence[KernelFact], key: Callable[[KernelFact], Value]) -> Value:
    """The value that most of the time has; None if there is none, or it is unknown."""
    times: dict[Value, float] = {}
    for record in records:
        times[key(record)] = times.get(key(record), 0.0) + (record.ns or 0.0)
    value = max(times, key=lambda one: (times[one], str(one)))
    return value if times[value] >= MOST_OF * _time(records) else None


def _formats(kernels: _Kernels) -> Iterator[Fact]:
    """An input that is stored in another order than before, such as FRACTAL_NZ instead of ND."""
    before, after = (_of_most(kernels.sides[side], lambda record: record.input_formats) for side in SIDES)
    if not isinstance(before, str) or not isinstance(after, str):
        return
    old, new = ([_format(text) for text in formats.split(";")] for formats in (before, after))
    if len(old) != len(new):
        return
    for place, (was, now) in enumerate(zip(old, new, strict=True), 1):
        if was and now and was != now:
            text = f"it has input {place} in format {short(now, 20)} instead of {short(was, 20)}"
            yield Fact("input_formats", before, after, text)
            return


def _format(text: str) -> str:
    """A format without its prefix; those that keep the order of dimensions are one; empty if unknown."""
    known = text.strip().upper().removeprefix("FORMAT_")
    if known in ("", "N/A", "NULL"):
        return ""
    return "ND" if known in _PLAIN else "FRACTAL_NZ" if known == "NZ" else known


def _alignment(kernels: _Kernels) -> Iterator[Fact]:
    """Matrices whose rows are no multiple of 512 bytes any more, or are one now."""
    if not all(record.gemm for records in kernels.sides.values() for record in records):
        return
    before, after = (_of_most(kernels.sides[side], _is_aligned) for side in SIDES)
    if before is None or after is None or before == after or after == kernels.slower:
        return
    odd: SideName = "new" if kernels.slower else "baseline"
    largest = {side: max(kernels.sides[side], key=lambda record: record.ns or 0.0) for side in SIDES}
    for place, (old, new) in enumerate(zip(*(_row_bytes(largest[side]) for side in SIDES), strict=False), 1):
        size = new if odd == "new" else old
        if old and new and size and size % ALIGNED_BYTES:
            word = "is not a multiple" if odd == "new" else "was not a multiple"
            text = f"the last axis of input {place} {word} of {ALIGNED_BYTES} bytes ({count(old)} → {count(new)})"
            yield Fact("last_axis_bytes", old, new, text)
            return


def _is_aligned(record: KernelFact) -> bool | None:
    rows = [size for size in _row_bytes(record) if size is not None]
    return all(size % ALIGNED_BYTES == 0 for size in rows) if rows else None


def _row_bytes(record: KernelFact) -> list[int | None]:
    """Bytes of the last axis of both matrices; None where one is unknown, or not stored row by row."""
    texts = (record.input_shapes, record.input_dtypes, record.input_formats)
    shapes, types, formats = (text.split(";")[:2] if text else [] for text in texts)
    found: list[int | None] = []
    for shape, kind, stored in zip(shapes, types, formats, strict=False):
        last, size = shape.rpartition(",")[2], _TYPE_BYTES.get(kind.strip().upper())
        length = _size(last) if "," in shape and _format(stored) == "ND" else None
        found.append(None if length is None or size is None else int(length) * size)
    return found


def _blocks(kernels: _Kernels) -> Iterator[Fact]:
    """Fewer blocks for the same inputs where it is slower, more where it is faster."""
    pairs = [(old, new) for old, new in _paired(kernels) if old.blocks and new.blocks]
    if not _covers(kernels, pairs):
        return
    before, after = max(pairs, key=lambda pair: pair[1].ns or 0.0)
    old, new = before.blocks or 0, after.blocks or 0
    if old and abs(new / old - 1) >= LEAST_BLOCKS and (new < old) == kernels.slower:
        yield Fact("blocks", old, new, f"it runs in {new} blocks, {old} before")


def _of_clock(evidence: Evidence, change: OperatorChange) -> tuple[Fact, ...]:
    """The AI Core clock, if it changed by about the factor of the operator's time."""
    before, after = evidence.frequency.get("baseline"), evidence.frequency.get("new")
    if not before or not after or abs(after / before - 1) <= LEAST_CLOCK or change.factor == 1:
        return ()
    if not LEAST_FIT <= (before / after - 1) / (change.factor - 1) <= 1 / LEAST_FIT:
        return ()
    text = f"the AI Core clock {'fell' if after < before else 'rose'} from {grouped(before)} to {grouped(after)} MHz"
    return (Fact("aicore_mhz", before, after, text),)


def _paired(kernels: _Kernels) -> list[tuple[KernelFact, KernelFact]]:
    """The records of both sides with the same inputs."""
    groups = [
        {(record.input_shapes, record.input_dtypes, record.input_formats): record for record in kernels.sides[side]}
        for side in SIDES
    ]
    return [(record, groups[1][key]) for key, record in groups[0].items() if key in groups[1]]


def _covers(kernels: _Kernels, pairs: Sequence[tuple[KernelFact, KernelFact]]) -> bool:
    return all(
        _time(pair[place] for pair in pairs) > COVERED * _time(kernels.sides[side]) for place, side in enumerate(SIDES)
    )


def _counters(kernels: _Kernels) -> Iterator[Fact]:
    """Which unit works in more of the time, else computes in less of it; and the hits of the second-level cache."""
    counted = [
        pair for pair in _paired(kernels) if all((record.counted_ns or 0.0) > 0 and record.calls for record in pair)
    ]
    if _covers(kernels, counted):
        units = {unit: _of_unit(counted, f"{unit}_ns") for unit in ("load", "cube")}
        grown = {unit: found for unit, found in units.items() if _fits(*found, kernels.slower)}
        if grown:
            unit = max(grown, key=lambda one: abs(grown[one][1] - grown[one][0]))
            before, after, _ = grown[unit]
            yield _share(unit, before, after)
        else:
            before, after, time = units["cube"]
            if before and abs(after * time / before - 1) <= STEADY_UNIT and abs(after - before) >= LEAST_SHARE:
                yield _share("cube", before, after)
    cached = [pair for pair in _paired(kernels) if all((record.l2_counted_ns or 0.0) > 0 for record in pair)]
    if _covers(kernels, cached):
        before, after = (
            sum(pair[place].l2_hit_ns or 0.0 for pair in cached)
            / sum(pair[place].l2_counted_ns or 0.0 for pair in cached)
            for place in (0, 1)
        )
        if abs(after - before) >= LEAST_HITS and (after < before) == kernels.slower:
            text = f"{after:.0%} of its accesses hit the second-level cache, {before:.0%} before"
            yield Fact("l2_hit_share", before, after, text.replace("%", " %"))


def _of_unit(pairs: Sequence[tuple[KernelFact, KernelFact]], column: str) -> tuple[float, float, float]:
    """The share of a unit before and now, and the new time as a multiple of the old, for the old numbers of calls."""
    times, parts = [0.0, 0.0], [0.0, 0.0]
    for pair in pairs:
        for place, record in enumerate(pair):
            time = pair[0].calls * (record.ns or 0.0) / record.calls if record.calls else 0.0
            times[place] += time
            parts[place] += time * (getattr(record, column) or 0.0) / (record.counted_ns or 1.0)
    return parts[0] / times[0], parts[1] / times[1], times[1] / times[0]


def _fits(before: float, after: float, time: float, slower: bool) -> bool:
    """Whether a unit works in more of a longer time, or in less of a shorter one, and so that this accounts for it."""
    if (time > 1) != slower or time == 1:
        return False
    in_direction = after - before if slower else before - after
    return in_direction >= LEAST_SHARE and (after * time - before) / (time - 1) >= LEAST_FIT


_WORKS = {
    "load": "loading from memory (MTE2) takes",
    "cube": "its cube unit computes in",
}


def _share(unit: str, before: float, after: float) -> Fact:
    text = f"{_WORKS[unit]} {after:.0%} of its time, {before:.0%} before".replace("%", " %")
    return Fact(f"{unit}_share", before, after, text)
