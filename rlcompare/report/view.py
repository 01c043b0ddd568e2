"""The content of a report as plain data: texts, their order and their tones, shared by all renderers.

``build_view`` turns a ``Diff`` into a ``ReportView``. Texts are safe to show (``text.safe_text``) but not yet escaped
for a format. Tones: ``worse``, ``better``, ``noise`` (a change too small to matter), ``caution``, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from rlcompare import __version__
from rlcompare.compare.short_names import shortened
from rlcompare.errors import ExitCode
from rlcompare.language import listed, mark, tr
from rlcompare.model.diff import Delta, Diff, Section, Side
from rlcompare.model.verdict import GateResult
from rlcompare.report import findings, quantity
from rlcompare.report.answer import Answer, answer_of
from rlcompare.report.cause_rows import Evidence, Marks, anchors_of, evidence_of, explain_command, marks_of
from rlcompare.report.charts import charts_of
from rlcompare.report.charts.chart import Chart
from rlcompare.report.charts.levels import component_text
from rlcompare.report.charts.waterfall import ends_of
from rlcompare.report.findings import MESSAGE_LIMIT, FindingView
from rlcompare.report.gate_view import GateView, gate_view
from rlcompare.report.notable import chosen, notable
from rlcompare.report.part_lines import PartLines, part_lines
from rlcompare.report.run_events import EventView, event_views
from rlcompare.report.sentences import said
from rlcompare.report.shares import are_times, both, parts_of, parts_text, percent_text
from rlcompare.report.status import status_of
from rlcompare.report.summary import (
    SummaryItem,
    command_of,
    extent_text,
    label_text,
    next_command,
    summary_items,
)
from rlcompare.report.symptoms import symptoms_tone, training_texts
from rlcompare.report.tables import (
    Table,
    overall_table,
    row_limit,
    section_table,
    title_of,
    without_praise,
)
from rlcompare.report.tone import (
    NOISE_OF_HEADLINE,
    NOISE_RELATIVE,
    floor_of,
    phases_apart,
    profile_disagrees,
    tone_of,
    word_of,
)
from rlcompare.text import safe_text

METRICS_LIMIT = 1_000
"""Most rows of the table of metrics of the whole step."""

CAUSES_SHOWN = 2
"""Causes that the first screen names; the others follow on request."""

_ROW_LENGTH = 80
"""Characters of the name of a cause's row in its link."""

_FAILED: dict[int, str] = {
    ExitCode.INCONCLUSIVE: mark("not decided"),
    ExitCode.NOT_COMPARABLE: mark("not comparable"),
}


class CauseView(NamedTuple):
    """A cause. ``section`` is empty if no table holds the evidence, ``share`` if the time tells more.

    Attributes:
        number: its place in the list, and in the picture.
        anchors: of the rows on the page that it consists of, those of its evidence's table first.
    """

    number: int
    text: str
    share: str
    delta: str
    section: str
    section_title: str
    row: str
    anchors: tuple[str, ...] = ()


class SideView(NamedTuple):
    """One side: its label, how much was read, and from where.

    Attributes:
        started: when its runs started; empty if unknown.
        commits: of what ran, as far as recorded.
    """

    label: str
    extent: str
    started: str
    commits: tuple[str, ...]
    runs: tuple[str, ...]
    steps: str
    captures: Table


class Headline(NamedTuple):
    """The headline; ``absent`` is the text to show if there is no headline metric; ``measured``: on both sides."""

    metric: str
    baseline: str
    new: str
    delta: str
    change: str
    tone: str
    word: str = ""
    absent: str = ""
    measured: bool = False


class ReportView(NamedTuple):
    """The content of a report, in order.

    Attributes:
        status: comparability; also ``caution`` if the workload differs much.
        symptoms: the signs of unstable training, errors first.
        unstable: whether the new side has some: then nothing is shown as better.
        training: entropy, reward and the like on both sides; empty if training logged none of them.
        more_causes: the part of the causes beyond ``CAUSES_SHOWN``; empty if there are none.
        command: what makes this report again; empty if it would be too long to paste.
    """

    title: str
    version: str
    baseline: SideView
    new: SideView
    status: str
    status_text: str
    comparability: tuple[FindingView, ...]
    answer: Answer
    headline: Headline
    summary: tuple[SummaryItem, ...]
    gate: GateView | None
    causes: tuple[CauseView, ...]
    evidence: tuple[Evidence, ...]
    more_causes: str
    unexplained: str
    events: tuple[EventView, ...]
    charts: tuple[Chart, ...]
    overall: Table
    tables: tuple[Table, ...]
    quality: tuple[FindingView, ...]
    quality_counts: str
    symptoms: tuple[str, ...]
    symptoms_tone: str
    parts: PartLines | None
    training: tuple[str, ...]
    unstable: bool
    thresholds: str
    command: str
    next_command: str


def build_view(
    diff: Diff,
    gate: GateResult | None = None,
    *,
    document: str = "rlcompare-out/diff.json",
    rows: int | None = None,
    pictures: bool = True,
    version: str = __version__,
) -> ReportView:
    """The view of a diff.

    Args:
        document: path of the diff.json that goes with it, for the suggested next command.
        rows: maximum number of rows in a table; ``Table.total`` is the number of all rows. By default what a page can
            hold.
        pictures: whether to make the charts, and the evidence beside the causes. A terminal shows neither.
    """
    rows = row_limit(diff.sections.values()) if rows is None else rows
    headline = diff.metric(diff.headline)
    floor, judged = floor_of(headline), not profile_disagrees(diff)
    status, status_text = status_of(diff, diff.comparability.status)
    summary = summary_items(diff, document)
    measured = _without_praise(_headline(diff, headline, summary), gate)
    shown = diff.overall
    if len(shown) > METRICS_LIMIT:
        shown = chosen(shown, notable(shown, diff.headline)[:METRICS_LIMIT])
    overall = overall_table(shown, floor, diff.headline, judged=judged, apart=phases_apart(diff))
    explained = (explain_command(delta.metric, document) for delta in shown)
    overall = overall._replace(
        total=len(diff.overall),
        rows=tuple(row._replace(command=text) for row, text in zip(overall.rows, explained, strict=True)),
    )
    marks = marks_of(diff)
    tables = tuple(
        section_table(_named(diff, section), floor, rows, judged=judged, causes=marks.get(section.name))
        for section in diff.sections.values()
    )
    return ReportView(
        title=tr("{new} against {baseline}", new=label_text(diff.new), baseline=label_text(diff.baseline)),
        version=version,
        baseline=_side(diff.baseline, extent_text(diff, "baseline"), rows),
        new=_side(diff.new, extent_text(diff, "new"), rows),
        status=status,
        status_text=status_text,
        comparability=findings.views(diff.comparability.findings),
        answer=answer_of(diff, measured.absent, gate),
        headline=measured,
        summary=summary,
        gate=None if gate is None else gate_view(gate, diff),
        causes=_causes(diff, marks, rows),
        evidence=evidence_of(diff, document, rows) if pictures else (),
        more_causes=_more_causes(diff),
        unexplained=_unexplained(diff),
        events=event_views(diff),
        charts=charts_of(diff, None if gate is None else gate.policy) if pictures else (),
        overall=without_praise(overall) if diff.unstable else overall,
        tables=tuple(map(without_praise, tables)) if diff.unstable else tables,
        quality=findings.views(diff.quality),
        quality_counts=findings.quality_counts(diff.quality) if diff.quality else "",
        symptoms_tone=symptoms_tone(diff),
        training=training_texts(diff),
        symptoms=tuple(safe_text(said(symptom.text), MESSAGE_LIMIT) for symptom in diff.symptoms),
        parts=part_lines(diff),
        unstable=diff.unstable,
        thresholds=_thresholds(floor),
        command=command_of(diff),
        next_command=next_command(diff, document),
    )


def _side(side: Side, extent: str, rows: int) -> SideView:
    captures = Section("captures", "", (), None, "", tuple(side.captures))
    return SideView(
        label=label_text(side),
        extent=extent,
        started=_started(side),
        commits=tuple(safe_text(value, 60) for key, value in side.env.items() if key.split(".")[0] == "commit"),
        runs=tuple(safe_text(run.path) for run in side.runs),
        steps=_steps_text(side.steps),
        captures=section_table(captures, 0.0, rows),
    )


def _named(diff: Diff, section: Section) -> Section:
    """A section whose rows have the names that a reader knows."""
    if section.name != "memory":
        return section
    pool = component_text(diff, "PTA")
    return replace(
        section, rows=tuple({**row, "name": pool} if row.get("name") == "PTA" else row for row in section.rows)
    )


def _started(side: Side) -> str:
    """When the first run of a side started, and the last one if that was on another day."""
    days = sorted({safe_text(run.started, 40).replace("T", " ")[:16] for run in side.runs if run.started})
    if not days:
        return ""
    return f"{days[0]} UTC" if days[0][:10] == days[-1][:10] else f"{days[0][:10]} – {days[-1][:10]} UTC"


def _steps_text(steps: tuple[int, ...]) -> str:
    if not steps:
        return tr("no steps are marked")
    listed = ", ".join(map(str, steps[:12]))
    if len(steps) > 12:
        return tr("steps {steps} and {n} more", steps=listed, n=len(steps) - 12)
    return tr("step {step}", step=listed) if len(steps) == 1 else tr("steps {steps}", steps=listed)


def _headline(diff: Diff, delta: Delta | None, summary: Sequence[SummaryItem]) -> Headline:
    metric = diff.headline
    if delta is None:
        absent = quantity.ABSENT
        text = " · ".join(next(item.parts for item in summary if item.key == "headline"))
        return Headline(safe_text(metric), absent, absent, absent, absent, tone="caution", absent=text)
    ends = (delta.baseline, delta.new)
    return Headline(
        metric=safe_text(metric),
        baseline=quantity.beside(delta.baseline, delta.unit, ends),
        new=quantity.beside(delta.new, delta.unit, ends),
        delta=quantity.moved(delta.delta, delta.unit, ends),
        change=quantity.change_of(delta.delta, delta.ratio, delta.baseline),
        tone=tone_of(delta, diff),
        word=word_of(delta, diff),
        measured=delta.delta is not None,
    )


def _without_praise(headline: Headline, gate: GateResult | None) -> Headline:
    """The headline; not better if the gate fails."""
    if gate is None or gate.exit_code == ExitCode.OK or headline.tone != "better":
        return headline
    return headline._replace(tone="caution", word=tr(_FAILED.get(gate.exit_code, mark("gate failed"))))


def _causes(diff: Diff, marks: Marks, rows: int) -> tuple[CauseView, ...]:
    shown = {name for name, section in diff.sections.items() if section.rows}
    ends = ends_of(diff)
    return tuple(
        CauseView(
            number=number,
            text=safe_text(said(cause.text), MESSAGE_LIMIT),
            share="" if are_times(diff) else percent_text(part),
            delta=_moved(ends, cause.delta_ms),
            section=cause.section if cause.section in shown else "",
            section_title=title_of(cause.section) if cause.section in shown else "",
            row=safe_text(shortened(cause.row, _ROW_LENGTH)),
            anchors=anchors_of(marks, number, rows),
        )
        for number, (cause, part) in enumerate(zip(diff.causes, parts_of(diff).causes, strict=True), 1)
    )


def _moved(ends: tuple[float, float] | None, delta_ms: float) -> str:
    """A part of the change, with the unit and decimals that it has in the waterfall between these ends."""
    return quantity.signed_quantity(delta_ms, "ms") if ends is None else quantity.moved(delta_ms, "ms", ends)


def _more_causes(diff: Diff) -> str:
    """What the causes that are not shown first make up together."""
    if len(diff.causes) <= CAUSES_SHOWN:
        return ""
    others, ends = parts_of(diff).others(CAUSES_SHOWN), ends_of(diff)
    moved = both(_moved(ends, part.delta_ms) for part in others)
    return moved if are_times(diff) else listed((moved, parts_text(diff, others)))


def _unexplained(diff: Diff) -> str:
    """What the causes leave, as time and as a share of the change; empty if there is no change to explain."""
    part = parts_of(diff).unexplained
    if part is None:
        return ""
    left = _moved(ends_of(diff), part.delta_ms)
    return left if are_times(diff) else tr("{time}, {part} of the change", time=left, part=percent_text(part))


def _thresholds(floor: float) -> str:
    relative = quantity.share(NOISE_RELATIVE)
    if not floor:
        return tr("Changes below {part} are grey.", part=relative)
    limits = {"part": relative, "time": quantity.quantity(floor, "ms"), "of_headline": f"{NOISE_OF_HEADLINE * 100:g} %"}
    return tr("Changes below {part}, or below {time} ({of_headline} of the headline), are grey.", **limits)
