"""A section of a diff as a table of texts: its columns, their order, and the format of their values.

Sections have their own columns beside the common ones (``model.diff.Section``). A column's name determines its
format: ``baseline_…`` and ``new_…`` are sides, ``…_ms``, ``…_bytes`` and ``…_share`` units, ``…calls`` counts. Columns
that are empty in all rows are omitted. A value that is missing in one row is shown as absent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from rlcompare.language import tr, trn
from rlcompare.model.diff import RUNS_OVERLAP, Delta, Row, Section, Value
from rlcompare.model.words import Polarity, Presence
from rlcompare.report import quantity
from rlcompare.report.sums import SUMMED, Sum, largest_change, shares_of, sum_of, whole_of
from rlcompare.report.tone import floor_in, phase_of, tone
from rlcompare.text import safe_text

ROW_LIMIT = 500
"""Maximum number of rows of a table in a report. ``diff.json`` holds all rows."""

_TITLES = {
    "account": "Where the step goes",
    "apis": "Framework and CANN calls",
    "categories": "Kernel categories",
    "collectives": "Collectives",
    "copies": "Copies",
    "counters": "Device counters",
    "efficiency": "What kernels achieve",
    "env": "Environment",
    "groups": "Communication groups",
    "kernel_types": "Kernel types",
    "kernels": "Kernels",
    "links": "Links between ranks",
    "memory": "Memory",
    "memory_categories": "Memory by category of tensor",
    "metrics": "Training and importance-sampling metrics",
    "modules": "Modules",
    "msprof": "As counted by msprof-analyze compare",
    "operators": "Framework operators",
    "path": "Where the step of the job goes (critical path)",
    "phases": "Phases of the step",
    "ranks": "Ranks",
    "stacks": "Call stacks",
    "steps": "Steps",
    "workload": "Workload",
}
OF_PROFILE = "time.…: profiled steps, including profiler overhead"
"""Note for tables that show the profile's times beside those that training measured."""

_DETAIL_LIMIT = 120
_MEASURE = ("baseline", "new", "delta", "ratio")
_SHARE = "change_share"
_LABELS = {
    "change": "share of change",
    "cube": "cube unit",
    "delta": "Δ",
    "delta_calls": "Δ by calls",
    "delta_per_call": "Δ by time per call",
    "gb_per_s": "GB/s",
    "l2_hit": "L2 hits",
    "load": "loading (MTE2)",
    "peak": "share of peak",
    "polarity": "better is",
    "ratio": "change",
    "tflops": "TFLOP/s",
}
_NEUTRAL = ("workload", "metrics", "env")
_TIMES = ("bubble", "comm", "compute", "exposed_comm", "exposed_copy", "free", "idle", "overlapped_comm", "preparing")
_COUNTS = ("calls", "count", "captures", "ranks", "steps", "kernels", "collectives")
_SUFFIXES = ("ms", "bytes", "share")
_ONE_SIDED: dict[str, tuple[str, str]] = {
    Presence.BASELINE_ONLY: ("only baseline", "gone"),
    Presence.NEW_ONLY: ("only new", "added"),
}


@dataclass(frozen=True)
class Column:
    """A column; ``coloured`` if its cells show the row's tone. ``unit`` is empty if cells contain their own unit."""

    key: str
    label: str
    numeric: bool
    coloured: bool = False
    unit: str = ""


@dataclass(frozen=True)
class Cell:
    """A value as text, and its sort value if that differs from the text (empty: sorts last)."""

    text: str
    sort: str | None = None


@dataclass(frozen=True)
class TableRow:
    """A row.

    Attributes:
        tone: see ``tone.tone``; ``differs`` if two texts differ.
        depth: indentation of the row if rows form a tree.
        detail: the keys that, with the name, identify the row.
        same: whether nothing changed, or too little to matter; also where rows are neither better nor worse.
        causes: the numbers of the causes that consist of it, or whose evidence it is.
        unit: of its sort values, where rows have different ones.
    """

    cells: tuple[Cell, ...]
    tone: str
    depth: int = 0
    detail: str = ""
    same: bool = False
    causes: tuple[int, ...] = ()
    unit: str = ""


@dataclass(frozen=True)
class SumRow:
    """Rows added up.

    Attributes:
        part: ``changed``, ``same`` (no notable change), ``beyond`` (not in the table) or ``all``.
        cells: one per column of the table; empty where there is nothing to add up.
    """

    part: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A table of a report.

    Attributes:
        matched: the share of the measure in rows that both sides have; empty if it is not meaningful.
        total: the number of all rows; ``rows`` are the first of them.
        sums: rows added up, as lines below the table: first those in it, then those that it leaves out, then all.
        beyond: a sentence on the rows that it leaves out.
    """

    name: str
    title: str
    note: str
    matched: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    total: int
    sums: tuple[SumRow, ...] = ()
    beyond: str = ""

    @property
    def hidden(self) -> int:
        """Rows that the report does not show."""
        return self.total - len(self.rows)


def title_of(name: str) -> str:
    """The heading of a section."""
    return _TITLES.get(name, name.replace("_", " ").capitalize())


_DISAGREES = "The profiled steps changed in the other direction than the headline: no row of the profile is judged."
_APART = "The profile saw another change than the timers in {}: its times there are not judged."
_PROFILED = ("time.", "role.")
_NOT_OF_PROFILE = frozenset({"phases", "metrics", "workload", "env", "memory", "memory_categories"})


def section_table(
    section: Section,
    floor: float,
    limit: int,
    *,
    judged: bool = True,
    causes: Mapping[int, tuple[int, ...]] | None = None,
) -> Table:
    """The table of a section.

    Args:
        floor: changes of a time below this are noise, in ms.
        limit: maximum number of rows to show.
        judged: whether times of the profile are better or worse (``tone.profile_disagrees``).
        causes: the numbers of the causes that a row belongs to, by its place (``cause_rows.marks_of``).
    """
    judged = judged or section.name in _NOT_OF_PROFILE
    tones = [_tone(row, section, floor) for row in section.rows[:limit]]
    sums = _sums(section, [tone == "noise" for tone in tones])
    rows = _with_shares(section.rows[:limit], sums, floor)
    units = {key: _unit(key, section) for key in _columns(section, rows)}
    # All times of a table have the same number of decimals, so that a reader can add and subtract.
    times = [row.get(key) for key, unit in units.items() if unit == "ms" for row in rows]
    shown = quantity.shown_unit("ms", times)
    decimals = quantity.decimals_for(times)
    return Table(
        name=section.name,
        title=title_of(section.name),
        note=safe_text(section.note if judged else f"{section.note} {_DISAGREES}".strip(), 600),
        matched="" if section.matched_share is None else quantity.share(section.matched_share),
        columns=tuple(_column(key, shown if unit == "ms" else unit, rows) for key, unit in units.items()),
        rows=tuple(
            TableRow(
                _cells(row, units, shown, decimals),
                tone if judged else "",
                _depth(row),
                _detail(row, section.keys),
                same=tone == "noise" or _is_same_text(row),
                causes=(causes or {}).get(place, ()),
            )
            for place, (row, tone) in enumerate(zip(rows, tones, strict=True))
        ),
        total=len(section.rows),
        sums=tuple(_sum_row(part, found, units, shown, decimals) for part, found in sums.items()),
        beyond=_beyond(section, limit),
    )


def _sums(section: Section, same: Sequence[bool]) -> dict[str, Sum]:
    """The lines below a table of disjoint times; none where they would tell nothing new."""
    if section.name not in SUMMED or len(section.rows) < 2:
        return {}
    shown = section.rows[: len(same)]
    parts = {
        "changed": sum_of([row for row, noise in zip(shown, same, strict=True) if not noise]),
        "same": sum_of([row for row, noise in zip(shown, same, strict=True) if noise]),
        "beyond": sum_of(section.rows[len(same) :]),
    }
    parts = {part: found for part, found in parts.items() if found.rows}
    whole = whole_of(list(parts.values()))
    if whole.baseline is None and whole.new is None:
        return {}
    return {**(parts if len(parts) > 1 else {}), "all": whole}


def _with_shares(rows: tuple[Row, ...], sums: Mapping[str, Sum], floor: float) -> tuple[Row, ...]:
    """The rows with their part of the table's change, where that says something."""
    shares = shares_of(rows, sums["all"], floor) if "all" in sums else ()
    return tuple({**row, _SHARE: share} for row, share in zip(rows, shares, strict=True)) if shares else rows


def _sum_row(part: str, found: Sum, units: dict[str, str], shown: str, decimals: int) -> SumRow:
    label = {
        "changed": trn("{n} row that changed", "{n} rows that changed", found.rows),
        "same": trn("{n} row of no notable change", "{n} rows of no notable change", found.rows),
        "beyond": trn("{n} row that is not on this page", "{n} rows that are not on this page", found.rows),
        "all": trn("{n} row in all", "{n} rows in all", found.rows),
    }[part]
    row: Row = {
        "name": label,
        "baseline": found.baseline,
        "new": found.new,
        "delta": found.delta,
        "ratio": found.ratio,
    }
    cells = _cells(row, units, shown, decimals)
    return SumRow(part, tuple(cell if key in row else Cell("") for key, cell in zip(units, cells, strict=True)))


def _beyond(section: Section, limit: int) -> str:
    """A sentence on the rows that the table leaves out; empty if it has all."""
    rows = section.rows[limit:]
    if not rows:
        return ""
    text = trn("{n} more row is in diff.json", "{n} more rows are in diff.json", len(rows))
    largest = largest_change(rows) if section.unit == "ms" else None
    if largest is None:
        return f"{text}."
    most = quantity.quantity(largest, section.unit)
    return tr("{text}; none of them changed by more than {most}.", text=text, most=most)


def overall_table(
    overall: tuple[Delta, ...],
    floor: float,
    headline: str,
    *,
    judged: bool = True,
    apart: Collection[str] = (),
) -> Table:
    """The table of overall metrics. Values of runs and evidence are shown only if there are several runs.

    Args:
        floor: changes of a time below this are noise, in ms.
        judged: whether times of the profile are better or worse (``tone.profile_disagrees``).
        apart: the phases whose times in the profile are neither better nor worse (``tone.phases_apart``).
    """

    def is_judged(metric: str) -> bool:
        phase, part = phase_of(metric)
        if phase:
            return part == "wall" or (judged and phase not in apart)
        return judged or not metric.startswith(_PROFILED)

    columns = [
        Column("metric", "metric", False),
        Column("baseline", "baseline", True),
        Column("new", "new", True),
        Column("delta", "Δ", True, coloured=True),
        Column("ratio", "change", True, coloured=True),
        Column("polarity", "better is", False),
    ]
    several = any(len(values) > 1 for delta in overall for values in delta.samples.values())
    if several:
        columns += [Column("samples", "values of the runs", False), Column("evidence", "evidence", False)]
    times = [value for delta in overall if delta.unit == "ms" for value in (delta.baseline, delta.new)]
    decimals = quantity.decimals_for(value for value in times if quantity.shown_unit("ms", (value,)) == "ms")
    rows = tuple(
        TableRow(
            (
                *_overall_cells(delta, decimals),
                *((Cell(samples_text(delta)), Cell(_evidence(delta))) if several else ()),
            ),
            tone(delta.delta, delta.ratio, delta.polarity, floor_in(delta.unit, floor), delta.baseline)
            if is_judged(delta.metric)
            else "",
            unit=delta.unit,
        )
        for delta in overall
    )
    note = "Means over runs of the mean over ranks of the mean over steps."
    if not headline.startswith("time.") and any(delta.metric.startswith("time.") for delta in overall):
        note += f" {OF_PROFILE}; {headline}: unprofiled steps where available."
    if not judged:
        note += f" {_DISAGREES}"
    elif apart:
        note += f" {_APART.format(', '.join(safe_text(name, 60) for name in sorted(apart)))}"
    tails = [value for delta in overall if delta.metric == "time.tail" for value in (delta.baseline, delta.new)]
    if any(value < 0 for value in tails if value is not None):
        note += " A negative tail: the device finished after the host's step."
    return Table("overall", "Overall", note, "", tuple(columns), rows, len(rows))


def without_praise(table: Table) -> Table:
    """The table without rows shown as better."""
    return replace(table, rows=tuple(replace(row, tone="") if row.tone == "better" else row for row in table.rows))


def samples_text(delta: Delta) -> str:
    """The values of the runs of both sides, or a note that there is one run per side."""
    sides = [delta.samples.get(side, ()) for side in ("baseline", "new")]
    if max(map(len, sides)) < 2:
        return "one run per side"
    texts = [", ".join(quantity.amount(value, delta.unit) for value in values[:10]) for values in sides]
    return " against ".join(text or quantity.ABSENT for text in texts)


def _overall_cells(delta: Delta, decimals: int) -> tuple[Cell, ...]:
    # Here each row has its own unit, so that short times stay readable beside times of minutes.
    unit = quantity.shown_unit(delta.unit, (delta.baseline, delta.new))
    shown = decimals if unit == "ms" else 3 if delta.unit == "ms" else None
    baseline, new, moved = (
        quantity.in_unit(value, delta.unit, unit) for value in (delta.baseline, delta.new, delta.delta)
    )
    return (
        Cell(safe_text(delta.metric)),
        Cell(quantity.quantity(baseline, unit, shown), _sort_key(delta.baseline)),
        Cell(quantity.quantity(new, unit, shown), _sort_key(delta.new)),
        Cell(quantity.signed_quantity(moved, unit, shown), _sort_key(delta.delta)),
        Cell(quantity.change_of(delta.delta, delta.ratio, delta.baseline), _sort_key(delta.ratio)),
        Cell("" if delta.polarity == Polarity.NEUTRAL else delta.polarity),
    )


def _evidence(delta: Delta) -> str:
    if RUNS_OVERLAP in delta.evidence:
        return "runs overlap" if delta.evidence[RUNS_OVERLAP] else "runs do not overlap"
    return ", ".join(f"{safe_text(key, 40)} {quantity.amount(value, '')}" for key, value in delta.evidence.items())


def _columns(section: Section, rows: tuple[Row, ...]) -> list[str]:
    seen = {key: None for row in rows for key, value in row.items() if value is not None and value != ""}
    measured = any(quantity.is_number(row.get(key)) for row in rows for key in ("baseline", "new"))
    always = {"name", *(_MEASURE if measured else ())}
    fixed = [key for key in ("name", *_MEASURE, _SHARE, "baseline_calls", "new_calls") if key in seen or key in always]
    # String keys are shown beside the name, where a reader looks for them.
    texts = {key for key in section.keys if not any(quantity.is_number(row.get(key)) for row in rows)}
    return fixed + [key for key in seen if key not in (*fixed, *texts, "presence", "depth")]


def _stem(key: str) -> tuple[str, str]:
    for side in ("baseline", "new"):
        if key.startswith(f"{side}_"):
            return key.removeprefix(f"{side}_"), side
    return key, ""


def _unit(key: str, section: Section) -> str:
    if key in ("baseline", "new", "delta"):
        return section.unit
    stem, _ = _stem(key)
    if stem in _COUNTS or stem.endswith("_calls"):
        return "count"
    for suffix in _SUFFIXES:
        if f"_{stem}".endswith(f"_{suffix}"):
            return suffix
    return "ms" if stem in _TIMES and section.unit == "ms" else ""


def _column(key: str, unit: str, rows: tuple[Row, ...]) -> Column:
    stem, side = _stem(key)
    plain = stem.rsplit("_", 1)[0] if stem.endswith(tuple(f"_{suffix}" for suffix in _SUFFIXES)) else stem
    words = safe_text(f"{_LABELS.get(plain, plain.replace('_', ' '))} {side}".strip(), 60)
    values = [row.get(key) for row in rows]
    numeric = key in _MEASURE or any(map(quantity.is_number, values))
    strings = any(isinstance(value, str) for value in values)
    return Column(key, words, numeric and not strings, key in ("delta", "ratio"), unit if unit in ("ms", "s") else "")


def _cells(row: Row, units: dict[str, str], shown: str, decimals: int) -> tuple[Cell, ...]:
    own_unit = row.get("unit")
    if isinstance(own_unit, str):
        units = units | {key: own_unit for key in ("baseline", "new", "delta") if key in units}
    return tuple(_cell(row, key, unit, shown, decimals) for key, unit in units.items())


def _detail(row: Row, keys: tuple[str, ...]) -> str:
    name = f" {row.get('name')} "
    texts = dict.fromkeys(text for text in (row.get(key) for key in keys) if isinstance(text, str) and text)
    # Skip details that the name already contains.
    return " · ".join(safe_text(text, _DETAIL_LIMIT) for text in texts if f" {text} " not in name)


def _depth(row: Row) -> int:
    depth = row.get("depth")
    return depth if isinstance(depth, int) else 0


def _cell(row: Row, key: str, unit: str, time_unit: str, decimals: int) -> Cell:
    value = row.get(key)
    shown = decimals if unit == "ms" else None
    if unit == "ms":
        value, unit = quantity.in_unit(value, unit, time_unit), time_unit
    if key == "ratio":
        return Cell(_change(row), repr(value) if quantity.is_number(value) else "")
    if _stem(key)[0].startswith("delta") and quantity.is_number(value):
        text = quantity.signed(value, unit, shown)
    elif unit == "share" and quantity.is_number(value):
        text = quantity.share(value)
    else:
        text = quantity.amount(value, unit, shown)
    plain = unit not in ("bytes", "share")
    return Cell(text) if plain and value is not None else Cell(text, _sort_key(value))


def _sort_key(value: Value) -> str:
    return repr(value) if quantity.is_number(value) else ""


def _change(row: Row) -> str:
    presence, ratio, delta = row.get("presence"), row.get("ratio"), row.get("delta")
    if isinstance(presence, str) and presence in _ONE_SIDED:
        # "gone" and "added" need a side that measured and found nothing; else it may not have been measured there.
        unknown, known = _ONE_SIDED[presence]
        return unknown if delta is None else known
    numbers = (value if quantity.is_number(value) else None for value in (delta, ratio, row.get("baseline")))
    return quantity.change_of(*numbers)


def _is_same_text(row: Row) -> bool:
    """Whether both sides have the same text."""
    return isinstance(row.get("baseline"), str) and row.get("baseline") == row.get("new")


def _tone(row: Row, section: Section, floor: float) -> str:
    if isinstance(row.get("baseline"), str) or isinstance(row.get("new"), str):
        return "differs" if row.get("baseline") != row.get("new") else ""
    delta, ratio, polarity, baseline = (row.get(key) for key in ("delta", "ratio", "polarity", "baseline"))
    if not isinstance(polarity, str):
        judged = section.unit == "ms" or section.name in ("memory", "memory_categories")
        polarity = Polarity.LOWER if judged and section.name not in _NEUTRAL else Polarity.NEUTRAL
    return tone(
        delta if quantity.is_number(delta) else None,
        ratio if quantity.is_number(ratio) else None,
        polarity,
        floor_in(row.get("unit") or section.unit, floor),
        baseline if quantity.is_number(baseline) else None,
    )
