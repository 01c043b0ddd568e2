"""What a report shows, as plain data: texts, their order and their tone are made once, and every renderer shares them.

``build_view`` turns a ``Diff`` into a ``ReportView``. Texts are safe to show (``text.safe_text``) but not yet escaped
for a format. Tones: ``worse``, ``better``, ``noise`` (a change too small to speak of), ``caution``, or none.
"""

from __future__ import annotations

from dataclasses import dataclass

from rlcompare import __version__
from rlcompare.model.diff import Delta, Diff, Finding, Section, Side
from rlcompare.model.verdict import GateResult, Verdict
from rlcompare.report import quantity
from rlcompare.report.summary import SummaryItem, headline_decimals, label_text, next_command, runs_text, summary_items
from rlcompare.report.tables import ROW_LIMIT, Table, overall_table, samples_text, section_table, title_of
from rlcompare.report.text import safe_text
from rlcompare.report.tone import NOISE_OF_HEADLINE, NOISE_RELATIVE, floor_of, tone_of

MESSAGE_LIMIT = 600
FAILING = ("regressed", "missing", "not_comparable", "inconclusive")

_SEVERITY_ORDER = {"severe": 0, "caution": 1, "warning": 1}
_SEVERITY_TONE = {"severe": "worse", "caution": "caution", "warning": "caution"}
_VERDICT_TONE = {
    "regressed": "worse",
    "missing": "worse",
    "not_comparable": "worse",
    "inconclusive": "caution",
    "improved": "better",
}
_STATUS_TEXT = {
    "comparable": "The two sides may be compared: nothing that was recorded speaks against it.",
    "caution": "The two sides may be compared with caution: something besides the change under test differs.",
    "not_comparable": "The two sides must not be compared: do not trust the numbers below.",
}


@dataclass(frozen=True)
class FindingView:
    """Something that differs, or is wrong with the data."""

    severity: str
    tone: str
    key: str
    sides: str
    message: str


@dataclass(frozen=True)
class CauseView:
    """A candidate cause. ``section`` is empty where no table holds the evidence."""

    text: str
    share: str
    delta: str
    section: str
    section_title: str
    row: str


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
    """The number that speaks for the step."""

    metric: str
    baseline: str
    new: str
    delta: str
    change: str
    tone: str
    samples: str


@dataclass(frozen=True)
class Segment:
    """A part of a bar, placed in thousandths of the longest bar."""

    kind: str
    start: int
    length: int
    text: str


@dataclass(frozen=True)
class Bar:
    """How one phase spends its time on one side."""

    name: str
    side: str
    total: str
    length: int
    segments: tuple[Segment, ...]


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
    """What the gate said."""

    summary: str
    policy: str
    exit_code: int
    verdicts: tuple[VerdictView, ...]


@dataclass(frozen=True)
class ReportView:
    """Everything that a report shows, in its order."""

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
    bars: tuple[Bar, ...]
    bars_note: str
    overall: Table
    tables: tuple[Table, ...]
    quality: tuple[FindingView, ...]
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
        document: path of the diff.json that goes with it, for the next command to type.
        rows: most rows that a table holds; ``Table.total`` says how many there are.
    """
    headline = diff.metric(diff.headline)
    floor = floor_of(headline)
    return ReportView(
        title=f"{label_text(diff.new)} against {label_text(diff.baseline)}",
        version=version,
        baseline=_side(diff.baseline, rows),
        new=_side(diff.new, rows),
        status=diff.comparability.status,
        status_text=_STATUS_TEXT[diff.comparability.status],
        comparability=_findings(diff.comparability.findings),
        headline=_headline(diff.headline, headline),
        summary=summary_items(diff, document),
        gate=None if gate is None else gate_view(gate),
        causes=_causes(diff),
        bars=_bars(diff),
        bars_note=_bars_note(diff),
        overall=overall_table(diff.overall, floor),
        tables=tuple(section_table(section, floor, rows) for section in diff.sections.values()),
        quality=_findings(diff.quality),
        thresholds=_thresholds(floor),
        next_command=next_command(diff, document),
    )


def gate_view(gate: GateResult) -> GateView:
    """The view of a gate's result: failing verdicts first, in the order of the policy."""
    verdicts = sorted(gate.verdicts, key=lambda verdict: verdict.status not in FAILING)
    return GateView(
        summary=safe_text(gate.summary, MESSAGE_LIMIT),
        policy=safe_text(gate.policy.source),
        exit_code=gate.exit_code,
        verdicts=tuple(map(_verdict, verdicts)),
    )


def _verdict(verdict: Verdict) -> VerdictView:
    return VerdictView(
        status=verdict.status,
        tone=_VERDICT_TONE.get(verdict.status, ""),
        failing=verdict.status in FAILING,
        severity=safe_text(verdict.rule.severity, 20),
        metric=safe_text(verdict.metric),
        text=safe_text(verdict.text, MESSAGE_LIMIT),
        message=safe_text(verdict.rule.message, MESSAGE_LIMIT),
        verified=verdict.verified,
    )


def _findings(findings: tuple[Finding, ...]) -> tuple[FindingView, ...]:
    ordered = sorted(findings, key=lambda finding: _SEVERITY_ORDER.get(finding.severity, 2))
    return tuple(
        FindingView(
            severity=safe_text(finding.severity, 20),
            tone=_SEVERITY_TONE.get(finding.severity, ""),
            key=safe_text(finding.key, 80),
            sides=_sides(finding),
            message=safe_text(finding.message, MESSAGE_LIMIT),
        )
        for finding in ordered
    )


def _sides(finding: Finding) -> str:
    if finding.baseline is None and finding.new is None:
        return ""
    if finding.baseline is None or finding.new is None:
        side, text = ("new", finding.new) if finding.baseline is None else ("baseline", finding.baseline)
        return f"{side}: {safe_text(text)}"
    return f"{safe_text(finding.baseline)} → {safe_text(finding.new)}"


def _side(side: Side, rows: int) -> SideView:
    captures = Section("captures", "", (), None, "", tuple(side.captures))
    return SideView(
        label=label_text(side),
        extent=runs_text(side),
        runs=tuple(safe_text(run.path) for run in side.runs),
        steps=_steps_text(side.steps),
        captures=section_table(captures, 0.0, rows),
    )


def _steps_text(steps: tuple[int, ...]) -> str:
    if not steps:
        return "no step is marked"
    shown = ", ".join(map(str, steps[:12]))
    return f"{shown} and {len(steps) - 12} more" if len(steps) > 12 else shown


def _headline(metric: str, delta: Delta | None) -> Headline:
    if delta is None:
        absent = quantity.ABSENT
        return Headline(safe_text(metric), absent, absent, absent, absent, tone="", samples="")
    return Headline(
        metric=safe_text(metric),
        baseline=quantity.quantity(delta.baseline, delta.unit),
        new=quantity.quantity(delta.new, delta.unit),
        delta=quantity.signed_quantity(delta.delta, delta.unit, headline_decimals(delta)),
        change=quantity.change_of(delta.delta, delta.ratio),
        tone=tone_of(delta),
        samples=samples_text(delta),
    )


def _causes(diff: Diff) -> tuple[CauseView, ...]:
    shown = {name for name, section in diff.sections.items() if section.rows}
    return tuple(
        CauseView(
            text=safe_text(cause.text, MESSAGE_LIMIT),
            share="" if cause.share is None else quantity.share(cause.share),
            delta=quantity.signed_quantity(cause.delta_ms, "ms"),
            section=cause.section if cause.section in shown else "",
            section_title=title_of(cause.section) if cause.section in shown else "",
            row=safe_text(cause.row),
        )
        for cause in diff.causes
    )


_PARTS = (("compute", "compute"), ("exposed_comm", "exposed communication"), ("free", "free"))


def _bars(diff: Diff) -> tuple[Bar, ...]:
    """Two bars a phase, all on one scale, with the device's time inside; the rest of a bar is host time alone."""
    section = diff.sections.get("phases")
    if section is None:
        return ()
    totals = [row.get(side) for row in section.rows for side in ("baseline", "new")]
    longest = max((total for total in totals if quantity.is_number(total)), default=0.0)
    if longest <= 0:
        return ()
    bars = []
    for row in section.rows[:12]:
        for side in ("baseline", "new"):
            total = row.get(side)
            segments, start = [], 0
            for part, label in _PARTS:
                value = row.get(f"{side}_{part}")
                length = round(1000 * value / longest) if quantity.is_number(value) and value > 0 else 0
                segments.append(Segment(part, start, length, f"{label} {quantity.quantity(value, 'ms')}"))
                start += length
            length = round(1000 * total / longest) if quantity.is_number(total) else 0
            bars.append(
                Bar(safe_text(row.get("name"), 60), side, quantity.quantity(total, "ms"), length, tuple(segments))
            )
    return tuple(bars)


def _bars_note(diff: Diff) -> str:
    kinds = {row.get("kind") for row in diff.sections["phases"].rows} if "phases" in diff.sections else set()
    return "wall time on the host, and the device's time within it" if "wall" in kinds else "time on the device"


def _thresholds(floor: float) -> str:
    relative = quantity.share(NOISE_RELATIVE)
    if not floor:
        return f"Changes below {relative} are grey."
    part = f"{NOISE_OF_HEADLINE * 100:g} % of the headline"
    return f"Changes below {relative}, or below {quantity.quantity(floor, 'ms')} ({part}), are grey."
