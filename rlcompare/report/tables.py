"""A section of a diff as a table of texts: its columns, their order, and the format of their values.

Sections have their own columns beside the common ones (``model.diff.Section``). A column's name determines its
format: ``baseline_…`` and ``new_…`` are sides, ``…_ms``, ``…_bytes`` and ``…_share`` units, ``…calls`` counts. Columns
that are empty in all rows are omitted. A value that is missing in one row is shown as absent.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from rlcompare.language import mark, tr
from rlcompare.model.diff import RUNS_OVERLAP, Delta, Row, Section, Value
from rlcompare.model.words import Polarity, Presence
from rlcompare.report import quantity
from rlcompare.report.sentences import datum, said
from rlcompare.report.tone import floor_in, phase_of, tone
from rlcompare.text import safe_text

ROW_LIMIT = 500
"""Maximum number of rows of a table in a report. ``diff.json``, or a file beside it, holds all rows."""

_TITLES = {
    "account": mark("Where the step goes"),
    "apis": mark("Framework and CANN calls"),
    "categories": mark("Kernel categories"),
    "collectives": mark("Collectives"),
    "copies": mark("Copies"),
    "counters": mark("Device counters"),
    "efficiency": mark("What kernels achieve"),
    "env": mark("Environment"),
    "groups": mark("Communication groups"),
    "kernel_types": mark("Kernel types"),
    "kernels": mark("Kernels"),
    "links": mark("Links between ranks"),
    "memory": mark("Memory"),
    "memory_categories": mark("Memory by category of tensor"),
    "metrics": mark("Training and importance-sampling metrics"),
    "modules": mark("Modules"),
    "msprof": mark("As counted by msprof-analyze compare"),
    "operators": mark("Framework operators"),
    "path": mark("Where the step of the job goes (critical path)"),
    "phases": mark("Phases of the step"),
    "ranks": mark("Ranks"),
    "stacks": mark("Call stacks"),
    "steps": mark("Steps"),
    "workload": mark("Workload"),
}
OF_PROFILE = mark("time.…: profiled steps, including profiler overhead")
"""Note for tables that show the profile's times beside those that training measured."""

_DETAIL_LIMIT = 120
_MEASURE = ("baseline", "new", "delta", "ratio")
_LABELS = {
    "cube": mark("cube unit"),
    "delta": "Δ",
    "delta_calls": mark("Δ by calls"),
    "delta_per_call": mark("Δ by time per call"),
    "gb_per_s": "GB/s",
    "l2_hit": mark("L2 hits"),
    "load": mark("loading (MTE2)"),
    "peak": mark("share of peak"),
    "polarity": mark("better is"),
    "ratio": mark("change"),
    "tflops": "TFLOP/s",
}
_NEUTRAL = ("workload", "metrics", "env")
_TIMES = ("bubble", "comm", "compute", "exposed_comm", "exposed_copy", "free", "idle", "overlapped_comm", "preparing")
_COUNTS = ("calls", "count", "captures", "ranks", "steps", "kernels", "collectives")
_SUFFIXES = ("ms", "bytes", "share")
_ONE_SIDED: dict[str, tuple[str, str]] = {
    Presence.BASELINE_ONLY: (mark("only baseline"), mark("gone")),
    Presence.NEW_ONLY: (mark("only new"), mark("added")),
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
    """

    cells: tuple[Cell, ...]
    tone: str
    depth: int = 0
    detail: str = ""


@dataclass(frozen=True)
class Table:
    """A table of a report.

    Attributes:
        matched: the share of the measure in rows that both sides have; empty if it is not meaningful.
        total: the number of all rows; ``rows`` are the first of them.
        file: the file that holds all rows, beside ``diff.json``; empty: ``diff.json`` itself.
    """

    name: str
    title: str
    note: str
    matched: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    total: int
    file: str = ""

    @property
    def hidden(self) -> int:
        """Rows that the report does not show."""
        return self.total - len(self.rows)


def title_of(name: str) -> str:
    """The heading of a section."""
    return tr(_TITLES.get(name, name.replace("_", " ").capitalize()))


_DISAGREES = mark(
    "The profiled steps changed in the other direction than the headline: no row of the profile is judged."
)
_APART = mark("The profile saw another change than the timers in {phases}: its times there are not judged.")
_PROFILED = ("time.", "role.")
_NOT_OF_PROFILE = frozenset({"phases", "metrics", "workload", "env", "memory", "memory_categories"})


def section_table(section: Section, floor: float, limit: int, *, judged: bool = True) -> Table:
    """The table of a section.

    Args:
        floor: changes of a time below this are noise, in ms.
        limit: maximum number of rows to show.
        judged: whether times of the profile are better or worse (``tone.profile_disagrees``).
    """
    judged = judged or section.name in _NOT_OF_PROFILE
    rows = section.rows[:limit]
    units = {key: _unit(key, section) for key in _columns(section, rows)}
    # All times of a table have the same number of decimals, so that a reader can add and subtract.
    times = [row.get(key) for key, unit in units.items() if unit == "ms" for row in rows]
    shown = quantity.shown_unit("ms", times)
    decimals = quantity.decimals_for(times)
    return Table(
        name=section.name,
        title=title_of(section.name),
        note=safe_text(said(section.note) if judged else f"{said(section.note)} {tr(_DISAGREES)}".strip(), 600),
        matched="" if section.matched_share is None else quantity.share(section.matched_share),
        columns=tuple(_column(key, shown if unit == "ms" else unit, rows) for key, unit in units.items()),
        rows=tuple(
            TableRow(
                _cells(row, units, shown, decimals),
                _tone(row, section, floor) if judged else "",
                _depth(row),
                _detail(row, section.keys),
            )
            for row in rows
        ),
        total=section.total,
        file=section.file,
    )


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
        Column("metric", tr("metric"), False),
        Column("baseline", tr("baseline"), True),
        Column("new", tr("new"), True),
        Column("delta", "Δ", True, coloured=True),
        Column("ratio", tr("change"), True, coloured=True),
        Column("polarity", tr("better is"), False),
    ]
    several = any(len(values) > 1 for delta in overall for values in delta.samples.values())
    if several:
        columns += [Column("samples", tr("values of the runs"), False), Column("evidence", tr("evidence"), False)]
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
        )
        for delta in overall
    )
    notes = [tr("Means over runs of the mean over ranks of the mean over steps.")]
    if not headline.startswith("time.") and any(delta.metric.startswith("time.") for delta in overall):
        notes.append(f"{tr(OF_PROFILE)}; {tr('{metric}: unprofiled steps where available.', metric=headline)}")
    if not judged:
        notes.append(tr(_DISAGREES))
    elif apart:
        notes.append(tr(_APART, phases=", ".join(safe_text(name, 60) for name in sorted(apart))))
    tails = [value for delta in overall if delta.metric == "time.tail" for value in (delta.baseline, delta.new)]
    if any(value < 0 for value in tails if value is not None):
        notes.append(tr("A negative tail: the device finished after the host's step."))
    return Table("overall", tr("Overall"), " ".join(notes), "", tuple(columns), rows, len(rows))


def without_praise(table: Table) -> Table:
    """The table without rows shown as better."""
    return replace(table, rows=tuple(replace(row, tone="") if row.tone == "better" else row for row in table.rows))


def samples_text(delta: Delta) -> str:
    """The values of the runs of both sides, or a note that there is one run per side."""
    sides = [delta.samples.get(side, ()) for side in ("baseline", "new")]
    if max(map(len, sides)) < 2:
        return tr("one run per side")
    texts = [", ".join(quantity.amount(value, delta.unit) for value in values[:10]) for values in sides]
    old, new = (text or quantity.ABSENT for text in texts)
    return tr("{old} against {new}", old=old, new=new)


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
        Cell(_better(delta.polarity)),
    )


def _better(polarity: Polarity) -> str:
    return {Polarity.LOWER: tr("lower"), Polarity.HIGHER: tr("higher")}.get(polarity, "")


def _evidence(delta: Delta) -> str:
    if RUNS_OVERLAP in delta.evidence:
        return tr("runs overlap") if delta.evidence[RUNS_OVERLAP] else tr("runs do not overlap")
    return ", ".join(f"{safe_text(key, 40)} {quantity.amount(value, '')}" for key, value in delta.evidence.items())


def _columns(section: Section, rows: tuple[Row, ...]) -> list[str]:
    seen = {key: None for row in rows for key, value in row.items() if value is not None and value != ""}
    measured = any(quantity.is_number(row.get(key)) for row in rows for key in ("baseline", "new"))
    always = {"name", *(_MEASURE if measured else ())}
    fixed = [key for key in ("name", *_MEASURE, "baseline_calls", "new_calls") if key in seen or key in always]
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
    name = tr(_LABELS.get(plain, safe_text(plain.replace("_", " "), 60)))
    if side:
        name = tr("{what} baseline", what=name) if side == "baseline" else tr("{what} new", what=name)
    words = safe_text(name, 60)
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
    elif _stem(key)[0] in ("health", "polarity") and isinstance(value, str):
        text = datum(value)
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
        return tr(unknown if delta is None else known)
    numbers = (value if quantity.is_number(value) else None for value in (delta, ratio, row.get("baseline")))
    return quantity.change_of(*numbers)


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
