"""The content of a report as plain data: texts, their order and their tones, shared by all renderers.

``build_view`` turns a ``Diff`` into a ``ReportView``. Texts are safe to show (``text.safe_text``) but not yet escaped
for a format. Tones: ``worse``, ``better``, ``noise`` (a change too small to matter), ``caution``, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rlcompare import __version__
from rlcompare.errors import ExitCode
from rlcompare.model.diff import Delta, Diff, Finding, Section, Side
from rlcompare.model.verdict import GateResult, Verdict
from rlcompare.model.words import Comparable, EvidenceMode, Severity, Status
from rlcompare.report import findings, quantity
from rlcompare.report.bars import Bar, bars_of
from rlcompare.report.cause_rows import Marks, anchors_of, marks_of
from rlcompare.report.charts import charts_of
from rlcompare.report.charts.chart import Chart
from rlcompare.report.findings import MESSAGE_LIMIT, FindingView
from rlcompare.report.run_events import EventView, event_views
from rlcompare.report.shares import are_times
from rlcompare.report.summary import (
    SummaryItem,
    extent_text,
    label_text,
    next_command,
    summary_items,
)
from rlcompare.report.tables import (
    ROW_LIMIT,
    Table,
    overall_table,
    samples_text,
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
from rlcompare.report.workload import large_differences
from rlcompare.text import safe_text

UNVERIFIED = "unverified"
_FEW_RUNS = "too few runs to rule out chance: the verdict also rests on the spread that its interval names."
_AS_ASKED = 'only the limits were checked, as the policy asks (evidence = "limits"): chance was not ruled out.'
_ODD_RUN = "too few runs to tell a sign of unstable training from a single odd run."
_DECIDED = (Status.IMPROVED, Status.REGRESSED, Status.UNHEALTHY)
"""Statuses for which verification matters. The others mean that nothing changed or was decided."""

FAILING = (Status.REGRESSED, Status.MISSING, Status.UNHEALTHY, Status.NOT_COMPARABLE, Status.INCONCLUSIVE)

_VERDICT_TONE = {
    Status.REGRESSED: "worse",
    Status.MISSING: "worse",
    Status.UNHEALTHY: "worse",
    Status.NOT_COMPARABLE: "worse",
    Status.INCONCLUSIVE: "caution",
    Status.IMPROVED: "better",
}
_FAILED: dict[int, str] = {ExitCode.INCONCLUSIVE: "not decided", ExitCode.NOT_COMPARABLE: "not comparable"}
_STATUS_TEXT = {
    Comparable.COMPARABLE: "The two sides are comparable.",
    Comparable.CAUTION: "The two sides may be compared with caution: something besides the change under test differs.",
    Comparable.NOT_COMPARABLE: "The two sides must not be compared: do not trust the numbers below.",
}


@dataclass(frozen=True)
class CauseView:
    """A cause. ``section`` is empty if no table holds the evidence, ``share`` if the time tells more.

    Attributes:
        anchors: of the rows on the page that it consists of, those of its evidence's table first.
    """

    text: str
    share: str
    delta: str
    section: str
    section_title: str
    row: str
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True)
class SideView:
    """One side: its label, how much was read, and from where."""

    label: str
    extent: str
    runs: tuple[str, ...]
    steps: str
    captures: Table


@dataclass(frozen=True)
class Headline:
    """The headline; ``absent`` is the text to show if there is no headline metric."""

    metric: str
    baseline: str
    new: str
    delta: str
    change: str
    tone: str
    samples: str
    word: str = ""
    absent: str = ""


@dataclass(frozen=True)
class VerdictView:
    """A verdict of the gate; ``failing`` if its status is not pass or improved."""

    status: str
    tone: str
    failing: bool
    severity: str
    metric: str
    text: str
    message: str
    verified: bool


@dataclass(frozen=True)
class GateView:
    """The result of the gate.

    Attributes:
        status: whether the sides may be compared; empty if the diff is unknown, as are the next three.
        findings: differences that must be shown before the verdicts, and those that the policy declares.
        quality: warnings about the data in one line.
        steps: which steps the means cover, if a side logged others; empty where ``findings`` say so.
        unverified: why some failed verdicts are marked unverified; empty if none is.
        reasons: the statuses that lead to the exit code, as ``regressed and missing``; empty if it is 0.
        notes: exceptions of the policy that end soon or have ended.
        skipped: metrics of rules that had nothing to judge.
    """

    summary: str
    policy: str
    exit_code: int
    verdicts: tuple[VerdictView, ...]
    status: str = ""
    status_tone: str = ""
    findings: tuple[FindingView, ...] = ()
    quality: str = ""
    steps: str = ""
    unverified: str = ""
    reasons: str = ""
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportView:
    """The content of a report, in order.

    Attributes:
        status: comparability; also ``caution`` if the workload differs much.
        symptoms: the signs of unstable training, errors first.
        unstable: whether the new side has some: then nothing is shown as better.
    """

    title: str
    version: str
    baseline: SideView
    new: SideView
    status: str
    status_text: str
    comparability: tuple[FindingView, ...]
    headline: Headline
    summary: tuple[SummaryItem, ...]
    gate: GateView | None
    causes: tuple[CauseView, ...]
    unexplained: str
    events: tuple[EventView, ...]
    bars: tuple[Bar, ...]
    bars_note: str
    charts: tuple[Chart, ...]
    overall: Table
    tables: tuple[Table, ...]
    quality: tuple[FindingView, ...]
    symptoms: tuple[str, ...]
    unstable: bool
    thresholds: str
    next_command: str


def build_view(
    diff: Diff,
    gate: GateResult | None = None,
    *,
    document: str = "rlcompare-out/diff.json",
    rows: int = ROW_LIMIT,
    version: str = __version__,
) -> ReportView:
    """The view of a diff.

    Args:
        document: path of the diff.json that goes with it, for the suggested next command.
        rows: maximum number of rows in a table; ``Table.total`` is the number of all rows.
    """
    headline = diff.metric(diff.headline)
    floor, judged = floor_of(headline), not profile_disagrees(diff)
    status, status_text = _status(diff, diff.comparability.status)
    bars, bars_note = bars_of(diff)
    summary = summary_items(diff, document)
    overall = overall_table(diff.overall, floor, diff.headline, judged=judged, apart=phases_apart(diff))
    marks = marks_of(diff)
    tables = tuple(
        section_table(section, floor, rows, judged=judged, causes=marks.get(section.name))
        for section in diff.sections.values()
    )
    return ReportView(
        title=f"{label_text(diff.new)} against {label_text(diff.baseline)}",
        version=version,
        baseline=_side(diff.baseline, extent_text(diff, "baseline"), rows),
        new=_side(diff.new, extent_text(diff, "new"), rows),
        status=status,
        status_text=status_text,
        comparability=findings.views(diff.comparability.findings),
        headline=_without_praise(_headline(diff, headline, summary), gate),
        summary=summary,
        gate=None if gate is None else gate_view(gate, diff),
        causes=_causes(diff, marks, rows),
        unexplained=_unexplained(diff),
        events=event_views(diff),
        bars=bars,
        bars_note=bars_note,
        charts=charts_of(diff),
        overall=without_praise(overall) if diff.unstable else overall,
        tables=tuple(map(without_praise, tables)) if diff.unstable else tables,
        quality=findings.views(diff.quality),
        symptoms=tuple(safe_text(symptom.text, MESSAGE_LIMIT) for symptom in diff.symptoms),
        unstable=diff.unstable,
        thresholds=_thresholds(floor),
        next_command=next_command(diff, document),
    )


def gate_view(gate: GateResult, diff: Diff | None = None) -> GateView:
    """The view of a gate's result: failing verdicts first, in the order of the policy.

    Args:
        diff: the diff that was judged; with it, the view includes comparability.
    """
    verdicts = sorted(gate.verdicts, key=lambda verdict: verdict.status not in FAILING)
    shown = tuple(map(_verdict, verdicts))
    from rlcompare.gate.summary import reasons  # like comparability below: only if there is a gate

    view = GateView(
        summary=safe_text(gate.summary, MESSAGE_LIMIT),
        policy=safe_text(gate.policy.source),
        exit_code=gate.exit_code,
        verdicts=shown,
        unverified=_unverified(shown, gate.policy.evidence),
        reasons=" and ".join(status.replace("_", " ") for status in reasons(gate)),
        notes=tuple(safe_text(note, MESSAGE_LIMIT) for note in gate.policy.notes),
        skipped=tuple(map(safe_text, gate.skipped)),
    )
    if diff is None:
        return view
    judged = gate_findings(diff, gate)
    left, text = _status(diff, gate_status(judged))
    warnings = [finding for finding in diff.quality if findings.is_serious(finding)]
    return replace(
        view,
        status=text,
        status_tone={Comparable.CAUTION: "caution", Comparable.NOT_COMPARABLE: "worse"}.get(left, ""),
        findings=findings.merged_views(judged),
        quality=_one_line(findings.quality_texts(warnings)) if warnings else "",
        steps=" ".join(
            safe_text(finding.message, MESSAGE_LIMIT)
            for finding in diff.comparability.findings
            if finding.key == "training_steps" and not findings.is_serious(finding)
        ),
    )


def _unverified(verdicts: Sequence[VerdictView], evidence: EvidenceMode) -> str:
    """Why failing verdicts are marked as unverified."""
    marked = {verdict.status == Status.UNHEALTHY for verdict in verdicts if verdict.failing and not verdict.verified}
    of_changes = _AS_ASKED if evidence == EvidenceMode.LIMITS else _FEW_RUNS
    return " ".join(text for text, of_health in ((of_changes, False), (_ODD_RUN, True)) if of_health in marked)


def gate_findings(diff: Diff, gate: GateResult) -> tuple[Finding, ...]:
    """Differences of severity caution or worse; those that the policy declares are ``Severity.DECLARED``."""
    # Imported only if there is a gate: this needs the comparison package, which a report alone does not.
    from rlcompare.compare.comparability import is_declared

    return tuple(
        replace(finding, severity=Severity.DECLARED) if is_declared(finding.key, gate.policy.varied) else finding
        for finding in diff.comparability.findings
        if findings.is_serious(finding)
    )


def gate_status(judged: Sequence[Finding]) -> Comparable:
    """The comparability status that remains without the declared differences."""
    worst = {finding.severity for finding in judged}
    if Severity.SEVERE in worst:
        return Comparable.NOT_COMPARABLE
    return Comparable.CAUTION if worst - {Severity.DECLARED} else Comparable.COMPARABLE


def _one_line(texts: Sequence[str]) -> str:
    return f"{texts[0]} +{len(texts) - 1} more" if len(texts) > 1 else texts[0]


def _status(diff: Diff, status: Comparable) -> tuple[Comparable, str]:
    """The status and its sentence, which also takes differences of the workload into account."""
    workload = ", ".join(large_differences(diff))
    if not workload or status == Comparable.NOT_COMPARABLE:
        return status, _STATUS_TEXT[status]
    if status == Comparable.COMPARABLE:
        return Comparable.CAUTION, f"Comparable settings, but the workload differs: {workload}."
    return status, f"{_STATUS_TEXT[status]} The workload differs too: {workload}."


def _verdict(verdict: Verdict) -> VerdictView:
    return VerdictView(
        status=verdict.status,
        tone=_VERDICT_TONE.get(verdict.status, ""),
        failing=verdict.status in FAILING,
        severity=safe_text(verdict.rule.severity, 20),
        metric=safe_text(verdict.metric),
        text=safe_text(verdict.text, MESSAGE_LIMIT),
        message=safe_text(verdict.rule.message, MESSAGE_LIMIT),
        verified=shown_as_verified(verdict),
    )


def shown_as_verified(verdict: Verdict) -> bool:
    """Whether a verdict needs no mark: it is verified, or says only that nothing changed or was decided."""
    return verdict.verified or verdict.status not in _DECIDED


def _side(side: Side, extent: str, rows: int) -> SideView:
    captures = Section("captures", "", (), None, "", tuple(side.captures))
    return SideView(
        label=label_text(side),
        extent=extent,
        runs=tuple(safe_text(run.path) for run in side.runs),
        steps=_steps_text(side.steps),
        captures=section_table(captures, 0.0, rows),
    )


def _steps_text(steps: tuple[int, ...]) -> str:
    if not steps:
        return "no steps are marked"
    shown = f"{'step' if len(steps) == 1 else 'steps'} {', '.join(map(str, steps[:12]))}"
    return f"{shown} and {len(steps) - 12} more" if len(steps) > 12 else shown


def _headline(diff: Diff, delta: Delta | None, summary: Sequence[SummaryItem]) -> Headline:
    metric = diff.headline
    if delta is None:
        absent = quantity.ABSENT
        text = " · ".join(next(item.parts for item in summary if item.key == "headline"))
        return Headline(safe_text(metric), absent, absent, absent, absent, tone="caution", samples="", absent=text)
    return Headline(
        metric=safe_text(metric),
        baseline=quantity.quantity(delta.baseline, delta.unit),
        new=quantity.quantity(delta.new, delta.unit),
        delta=quantity.moved(delta.delta, delta.unit, (delta.baseline, delta.new)),
        change=quantity.change_of(delta.delta, delta.ratio, delta.baseline),
        tone=tone_of(delta, diff),
        samples=samples_text(delta),
        word=word_of(delta, diff),
    )


def _without_praise(headline: Headline, gate: GateResult | None) -> Headline:
    """The headline; not better if the gate fails."""
    if gate is None or gate.exit_code == ExitCode.OK or headline.tone != "better":
        return headline
    return replace(headline, tone="caution", word=_FAILED.get(gate.exit_code, "gate failed"))


def _causes(diff: Diff, marks: Marks, rows: int) -> tuple[CauseView, ...]:
    shown = {name for name, section in diff.sections.items() if section.rows}
    return tuple(
        CauseView(
            text=safe_text(cause.text, MESSAGE_LIMIT),
            share="" if are_times(diff) else quantity.share(cause.share),
            delta=quantity.signed_quantity(cause.delta_ms, "ms"),
            section=cause.section if cause.section in shown else "",
            section_title=title_of(cause.section) if cause.section in shown else "",
            row=safe_text(cause.row),
            anchors=anchors_of(marks, number, rows),
        )
        for number, cause in enumerate(diff.causes, 1)
    )


def _unexplained(diff: Diff) -> str:
    """What the causes leave, as time and as a share of the change; empty if there is no change to explain."""
    if diff.unexplained is None:
        return ""
    left = quantity.signed_quantity(diff.unexplained.delta_ms, "ms")
    return left if are_times(diff) else f"{left}, {quantity.share(diff.unexplained.share)} of the change"


def _thresholds(floor: float) -> str:
    relative = quantity.share(NOISE_RELATIVE)
    if not floor:
        return f"Changes below {relative} are grey."
    part = f"{NOISE_OF_HEADLINE * 100:g} % of the headline"
    return f"Changes below {relative}, or below {quantity.quantity(floor, 'ms')} ({part}), are grey."
