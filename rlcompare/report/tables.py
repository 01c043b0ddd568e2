"""A section of a diff as a table of texts: its columns, their order, and the format of their values.

Sections have their own columns beside the common ones (``model.diff.Section``); ``report/cells.py`` formats them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from rlcompare.language import listed, mark, sentences, tr, trn
from rlcompare.model.diff import RUNS_OVERLAP, STEP_FREEDOM, STEP_NOISE, Delta, Row, Section
from rlcompare.model.words import Polarity
from rlcompare.report import quantity
from rlcompare.report.cells import Cell, Column, cells_of, column_of, columns_of, sort_key, unit_of
from rlcompare.report.sentences import said
from rlcompare.report.sums import SumRow, largest_change, sum_rows, sums_of, with_shares
from rlcompare.report.tone import floor_in, phase_of, tone
from rlcompare.text import safe_text

ROW_LIMIT = 500
"""Maximum number of rows of a table in a report. ``diff.json``, or a file beside it, holds all rows."""

_LIMITS = (ROW_LIMIT, 300, 200, 100)
_ROWS_OF_PAGE = 3000
"""Rows of all tables together, so that a page stays below 2 MB."""

_TITLES = {
    "account": mark("Where the step goes"),
    "apis": mark("Calls of the framework and the runtime"),
    "categories": mark("Kernel categories"),
    "collectives": mark("Collectives"),
    "copies": mark("Copies"),
    "counters": mark("Device counters"),
    "efficiency": mark("Kernel efficiency"),
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
    "path": mark("Where the job's step goes (critical path)"),
    "phases": mark("Phases of the step"),
    "ranks": mark("Ranks"),
    "stacks": mark("Call stacks"),
    "steps": mark("Steps"),
    "workload": mark("Workload"),
}
OF_PROFILE = mark("time.…: profiled steps, including profiler overhead")
"""Note for tables that show the profile's times beside those that training measured."""

_DETAIL_LIMIT = 120
_NEUTRAL = ("workload", "metrics", "env")


class TableRow(NamedTuple):
    """A row.

    Attributes:
        tone: see ``tone.tone``; ``differs`` if two texts differ.
        depth: indentation of the row if rows form a tree.
        detail: the keys that, with the name, identify the row.
        same: whether nothing changed, or too little to matter; also where rows are neither better nor worse.
        causes: the numbers of the causes that consist of it, or whose evidence it is.
        unit: of its sort values, where rows have different ones.
        command: what explains it on a terminal; may be empty.
    """

    cells: tuple[Cell, ...]
    tone: str
    depth: int = 0
    detail: str = ""
    same: bool = False
    causes: tuple[int, ...] = ()
    unit: str = ""
    command: str = ""


class Table(NamedTuple):
    """A table of a report.

    Attributes:
        matched: the share of the measure in rows that both sides have; empty if it is not meaningful.
        total: the number of all rows; ``rows`` are the first of them.
        file: the file that holds all rows, beside ``diff.json``; empty: ``diff.json`` itself.
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
    file: str = ""
    sums: tuple[SumRow, ...] = ()
    beyond: str = ""

    @property
    def hidden(self) -> int:
        """Rows that the report does not show."""
        return self.total - len(self.rows)


def title_of(name: str) -> str:
    """The heading of a section."""
    return tr(_TITLES.get(name, name.replace("_", " ").capitalize()))


_DISAGREES = mark(
    "The profiled steps and the headline changed in opposite directions: no row of the profile is judged."
)
_APART = mark("In {phases}, the profile and the timers disagree: the profile's times there are not judged.")
_PROFILED = ("time.", "role.")
_MOST_VALUES = 10
_NOT_OF_PROFILE = frozenset({"phases", "metrics", "workload", "env", "memory", "memory_categories"})


def row_limit(sections: Iterable[Section]) -> int:
    """The maximum number of rows of a table, lower where many tables are long."""
    lengths = [len(section.rows) for section in sections]
    fitting = (limit for limit in _LIMITS if sum(min(length, limit) for length in lengths) <= _ROWS_OF_PAGE)
    return next(fitting, _LIMITS[-1])


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
    sums = sums_of(section, [tone == "noise" for tone in tones])
    rows = with_shares(section.rows[:limit], sums, floor)
    units = {key: unit_of(key, section) for key in columns_of(section, rows)}
    # All times of a table have the same number of decimals, so that a reader can add and subtract.
    times = [row.get(key) for key, unit in units.items() if unit == "ms" for row in rows]
    shown = quantity.shown_unit("ms", times)
    decimals = quantity.decimals_for(times)
    return Table(
        name=section.name,
        title=title_of(section.name),
        note=safe_text(said(section.note) if judged else f"{said(section.note)} {tr(_DISAGREES)}".strip(), 600),
        matched="" if section.matched_share is None else quantity.share(section.matched_share),
        columns=tuple(column_of(key, shown if unit == "ms" else unit, rows) for key, unit in units.items()),
        rows=tuple(
            TableRow(
                cells_of(row, units, shown, decimals),
                tone if judged else "",
                _depth(row),
                _detail(row, section.keys),
                same=tone == "noise" or _is_same_text(row),
                causes=(causes or {}).get(place, ()),
            )
            for place, (row, tone) in enumerate(zip(rows, tones, strict=True))
        ),
        total=section.total,
        file=section.file,
        sums=sum_rows(sums, units, shown, decimals),
        beyond=_beyond(section, limit),
    )


def _beyond(section: Section, limit: int) -> str:
    """A sentence on the rows that the table leaves out; empty if it has all."""
    rows = section.rows[limit:]
    left_out = section.total - len(section.rows) + len(rows)
    if left_out <= 0:
        return ""
    file = section.file or "diff.json"
    text = trn("{n} more row is in {file}", "{n} more rows are in {file}", left_out, file=file)
    # A diff.json that leaves rows out holds their sum only.
    largest = largest_change(rows) if section.unit == "ms" and not section.rest else None
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
            unit=delta.unit,
        )
        for delta in overall
    )
    notes = [tr("Means over runs of the mean over ranks of the mean over steps.")]
    if not headline.startswith("time.") and any(delta.metric.startswith("time.") for delta in overall):
        notes.append(
            tr("; ").join((tr(OF_PROFILE), tr("{metric}: unprofiled steps where available.", metric=headline)))
        )
    if not judged:
        notes.append(tr(_DISAGREES))
    elif apart:
        notes.append(tr(_APART, phases=listed(safe_text(name, 60) for name in sorted(apart))))
    tails = [value for delta in overall if delta.metric == "time.tail" for value in (delta.baseline, delta.new)]
    if any(value < 0 for value in tails if value is not None):
        notes.append(tr("A negative tail: the device finished after the host's step."))
    return Table("overall", tr("Overall"), sentences(notes), "", tuple(columns), rows, len(rows))


def without_praise(table: Table) -> Table:
    """The table without rows shown as better."""
    return table._replace(rows=tuple(row._replace(tone="") if row.tone == "better" else row for row in table.rows))


def samples_text(delta: Delta) -> str:
    """The values of the runs of both sides, or a note that there is one run per side."""
    sides = [delta.samples.get(side, ()) for side in ("baseline", "new")]
    if max(map(len, sides)) < 2:
        return tr("one run per side")
    shown = quantity.shown_unit(delta.unit, [value for values in sides for value in values])
    old, new = (_values_text(values, delta.unit, shown) for values in sides)
    return tr("{old} against {new}", old=old, new=new)


def _values_text(values: Sequence[float | None], unit: str, shown: str) -> str:
    """The first values with their unit, and how many more there are."""
    if not values:
        return quantity.ABSENT
    text = ", ".join(quantity.amount(quantity.in_unit(value, unit, shown), shown) for value in values[:_MOST_VALUES])
    text += f" {shown}" if shown in ("ms", "s") else ""
    more = len(values) - _MOST_VALUES
    return tr("{names} and {n} more", names=text, n=more) if more > 0 else text


def _overall_cells(delta: Delta, decimals: int) -> tuple[Cell, ...]:
    # Here each row has its own unit, so that short times stay readable beside times of minutes.
    ends = (delta.baseline, delta.new)
    unit = quantity.shown_unit(delta.unit, ends)
    shown = decimals if unit == "ms" else 3 if delta.unit == "ms" else quantity.decimals_beside(ends, unit, unit)
    baseline, new, moved = (
        quantity.in_unit(value, delta.unit, unit) for value in (delta.baseline, delta.new, delta.delta)
    )
    return (
        Cell(safe_text(delta.metric)),
        Cell(quantity.quantity(baseline, unit, shown), sort_key(delta.baseline)),
        Cell(quantity.quantity(new, unit, shown), sort_key(delta.new)),
        Cell(quantity.signed_quantity(moved, unit, shown), sort_key(delta.delta)),
        Cell(quantity.change_of(delta.delta, delta.ratio, delta.baseline), sort_key(delta.ratio)),
        Cell(_better(delta.polarity)),
    )


def _better(polarity: Polarity) -> str:
    return {Polarity.LOWER: tr("lower"), Polarity.HIGHER: tr("higher")}.get(polarity, "")


def _evidence(delta: Delta) -> str:
    if RUNS_OVERLAP in delta.evidence:
        return tr("runs overlap") if delta.evidence[RUNS_OVERLAP] else tr("runs do not overlap")
    shown = {key: value for key, value in delta.evidence.items() if key not in (STEP_NOISE, STEP_FREEDOM)}
    return ", ".join(f"{safe_text(key, 40)} {quantity.amount(value, '')}" for key, value in shown.items())


def _detail(row: Row, keys: tuple[str, ...]) -> str:
    name = f" {row.get('name')} "
    texts = dict.fromkeys(text for text in (row.get(key) for key in keys) if isinstance(text, str) and text)
    # Skip details that the name already contains.
    return " · ".join(safe_text(text, _DETAIL_LIMIT) for text in texts if f" {text} " not in name)


def _depth(row: Row) -> int:
    depth = row.get("depth")
    return depth if isinstance(depth, int) else 0


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
