"""The answer of a report in one sentence: how much slower or faster, and how sure that is.

How sure is what the gate's method makes of the runs (``gate.decision``), without a limit: whether its interval excludes
no change. Runs that are not repetitions do not count.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import NamedTuple

from rlcompare.compare.estimate import BY_STEPS, Spread
from rlcompare.compare.odd_steps import odd_steps
from rlcompare.compare.overall import PATH, PERIOD, SPEED
from rlcompare.compare.replicates import of_repetitions
from rlcompare.compare.runs import known
from rlcompare.errors import ExitCode
from rlcompare.gate.decision import Decision, Limits, decide, not_below_steps
from rlcompare.language import mark, tr, trn
from rlcompare.model.diff import RUNS_OVERLAP, Delta, Diff
from rlcompare.model.digits import grouped
from rlcompare.model.verdict import GateResult, Policy, Verdict
from rlcompare.model.words import SIDES, Comparable, EvidenceMode, Polarity, RuleSeverity, Status
from rlcompare.report import quantity
from rlcompare.report.findings import MESSAGE_LIMIT
from rlcompare.report.sentences import said
from rlcompare.report.tone import NOISE_RELATIVE, PROFILED_STEPS, tone_of
from rlcompare.text import safe_text

_STEPS = (SPEED, PATH, "time.step", PERIOD)
"""Headlines that are the time of a step, which is slower or faster."""

_NAMES = {
    "time.device_span": mark("the device, from its first task to its last,"),
    "time.comm": mark("communication"),
    "time.phases": mark("the sum of the phases"),
}
"""Headlines that are not the time of a step."""

_HIDES = 2 * NOISE_RELATIVE
"""The largest change that runs may hide for them to show that there is none, as for a gate with this limit."""

_ANYTHING = 100.0
"""An interval up to so many times the baseline tells nothing."""

_DECIDED = (Status.REGRESSED, Status.IMPROVED)
_NO_LIMIT = Limits(0.0, None)
_TIMES_FROM = 2.0
_APART = 0.01
"""A difference between the change of the means and the estimate from which both are shown."""

_ODD = {
    "baseline": mark("step {step} of the baseline ({time}, its others {others})"),
    "new": mark("step {step} of the new side ({time}, its others {others})"),
}
"""A step that makes the mean of its side."""

_MARKS = {"worse": "✗", "better": "✓", "caution": "!", "noise": "≈"}


class Answer(NamedTuple):
    """The answer.

    Attributes:
        text: the change in a few words, a sentence without its full stop.
        rest: how sure that is, and on what it rests, with the comma or colon that joins them; may be empty.
        tone: ``worse``, ``better``, ``caution``, ``noise`` or none.
        mark: a sign that says the same as the colour.
    """

    text: str
    rest: str
    tone: str
    mark: str


def answer_of(diff: Diff, absent: str, gate: GateResult | None = None) -> Answer:
    """The answer of a diff.

    Args:
        absent: what to say if no headline was measured.
        gate: what a gate made of it: nothing is called better if it failed, its policy says how much runs are assumed
            to differ, and where it decided on the headline, so does the answer.
    """
    headline = diff.metric(diff.headline)
    if headline is None or (headline.baseline is None and headline.new is None):
        return _answer(absent, "", "caution")
    if headline.delta is None or headline.baseline is None or headline.new is None:
        missing = headline.baseline is None
        return _answer(
            tr("Not measured on the baseline") if missing else tr("Not measured on the new side"), "", "caution"
        )
    mood, change = tone_of(headline, diff), _change(headline)
    if diff.comparability.status == Comparable.NOT_COMPARABLE:
        rest = tr(": the measured change, {change}, means nothing", change=change)
        return _answer(tr("Not comparable"), rest, "worse")
    if mood == "noise":
        text, rest = _without_change(headline, of_repetitions(diff).metric(diff.headline) or headline, gate)
    else:
        text, rest, decided = _with_change(diff, headline, change, gate)
        if not decided and mood in ("worse", "better"):
            mood = "caution"
    if gate is not None and gate.exit_code != ExitCode.OK and mood == "better":
        mood = "caution"
    return _answer(
        f"{text}{_stability(diff, headline)}", rest + _odd_steps(diff), "worse" if _is_broken(diff) else mood
    )


def _odd_steps(diff: Diff) -> str:
    """A clause about profiled steps without which the change would be another one; empty if there are none."""
    if diff.headline not in PROFILED_STEPS or "steps" not in diff.sections:
        return ""
    runs = {"baseline": diff.baseline.runs, "new": diff.new.runs}
    odd = odd_steps(diff.sections["steps"], [side for side in SIDES if len(runs[side]) == 1])
    if odd is None or not odd.baseline:
        return ""
    steps = tr(" and ").join(
        tr(_ODD[one.side], step=safe_text(one.step, 40), time=_ms(one.value), others=_ms(one.others))
        for one in odd.found
    )
    change = quantity.change(odd.new / odd.baseline)
    if diff.headline == PATH:  # the steps are those of a rank
        return tr("; without {steps}: {change} as a mean over ranks", steps=steps, change=change)
    return tr("; without {steps}: {change}", steps=steps, change=change)


def _ms(value: float) -> str:
    return quantity.quantity(value, "ms", quantity.lone_decimals(value))


def _answer(text: str, rest: str, tone: str) -> Answer:
    return Answer(text[:1].upper() + text[1:], rest, tone, _MARKS.get(tone, ""))


def _with_change(diff: Diff, headline: Delta, change: str, gate: GateResult | None) -> tuple[str, str, bool]:
    """The change, how sure it is, and whether the runs, or an assumption where they are few, rule chance out."""
    runs = of_repetitions(diff).metric(diff.headline) or headline
    decision = decision_of(runs, None if gate is None else gate.policy)
    if decision is None:
        return change, "", True
    # One run far from the others may move the mean one way while the pairs of runs moved the other way.
    decided = decision.status in _DECIDED and decision.interval.change * (headline.delta or 0.0) > 0
    judged = None if gate is None or decided else _judged(headline, gate)
    if judged is not None:  # by what a history tells of the noise
        return change, _by_gate(judged, runs), True
    return change, _sure(runs, decision, headline, decided=decided, unstable=diff.unstable), decided


def _without_change(headline: Delta, counted: Delta, gate: GateResult | None) -> tuple[str, str]:
    """``counted``: the headline of the runs that count. If a change may hide in them, they show no absence of one."""
    moved = quantity.change_of(headline.delta, headline.ratio, headline.baseline)
    runs = _runs(counted)
    if counted.evidence.get(RUNS_OVERLAP):
        return tr("No certain change"), tr(
            ": {moved}, but the runs of both sides overlap ({runs})", moved=moved, runs=runs
        )
    decision = decision_of(counted, None if gate is None else gate.policy)
    ends = (decision.interval.low, decision.interval.high) if decision and decision.relative else (0.0,)
    hidden = max(map(abs, ends))
    if hidden > _HIDES:
        hides = tr(": {moved}, but {runs} could hide up to {most}", moved=moved, runs=runs, most=quantity.share(hidden))
        if hidden > _ANYTHING:
            hides = tr(": {moved}, but {runs} could hide any change", moved=moved, runs=runs)
        return tr("No change seen"), hides
    limit = quantity.share(NOISE_RELATIVE)
    return tr("No change worth naming"), tr(": {moved}, within {limit} ({runs})", moved=moved, limit=limit, runs=runs)


def _change(delta: Delta) -> str:
    """``27.1 % slower``; of what is not a step, ``communication takes 27.1 % longer``."""
    metric, ratio = delta.metric, delta.ratio
    if ratio is None:
        return f"{safe_text(metric, 40)} {quantity.moved(delta.delta, delta.unit, (delta.baseline, delta.new))}"
    size = f"{abs(ratio - 1) * 100:.1f} %"
    name = tr(_NAMES[metric]) if metric in _NAMES else safe_text(metric.removeprefix("time."), 40)
    if delta.polarity != Polarity.LOWER:
        return f"{safe_text(metric, 40)} {quantity.change(ratio)}"
    if metric in _STEPS:
        if ratio >= _TIMES_FROM:
            return tr("{times} times as long per step", times=grouped(ratio, 1))
        return tr("{size} slower", size=size) if ratio > 1 else tr("{size} less time per step", size=size)
    if ratio >= _TIMES_FROM:
        return tr("{name} takes {times} times as long", name=name, times=grouped(ratio, 1))
    return (
        tr("{name} takes {size} longer", name=name, size=size)
        if ratio > 1
        else tr("{name} takes {size} less time", name=name, size=size)
    )


def _is_broken(diff: Diff) -> bool:
    return any(found.side == "new" and found.severity == RuleSeverity.ERROR for found in diff.symptoms)


def _stability(diff: Diff, headline: Delta) -> str:
    """A clause about signs of unstable training, which stand below the sentence."""
    if not diff.unstable:
        return ""
    worse = tone_of(headline, diff) == "worse"
    if _is_broken(diff):
        return tr(", and training is not stable") if worse else tr(", but training is not stable")
    return tr(", and training may not be stable") if worse else tr(", but training may not be stable")


def _judged(headline: Delta, gate: GateResult) -> Verdict | None:
    """The verdict by which a gate decided on the headline, if it asked how runs differ."""
    if gate.policy.evidence == EvidenceMode.LIMITS:
        return None
    return next((one for one in gate.verdicts if one.metric == headline.metric and one.status in _DECIDED), None)


def _by_gate(verdict: Verdict, runs: Delta) -> str:
    found = tr(", by the gate: {verdict}", verdict=safe_text(said(verdict.text), MESSAGE_LIMIT))
    if verdict.verified:
        return found
    return tr("{found}; chance is not ruled out: {runs}", found=found, runs=_runs(runs))


def decision_of(delta: Delta, policy: Policy | None) -> Decision | None:
    """What the runs tell; None if no run measured the headline on a side.

    The question is whether the headline moved, whichever way: less time is judged as more time is.

    Args:
        policy: what the gate assumes where runs are too few; None: its defaults.
    """
    baseline, new = (known(delta.samples.get(side, ())) for side in SIDES)
    if not baseline or not new:
        return None
    spread = not_below_steps(Spread((policy or Policy("", ())).noise), delta)
    slower, faster = (decide(baseline, new, worse, _NO_LIMIT, spread) for worse in (Polarity.LOWER, Polarity.HIGHER))
    return slower if slower.interval.change >= 0 else replace(faster, interval=slower.interval)  # that of a gate


def tells_nothing(decision: Decision) -> bool:
    """Whether runs are so few, and differ so much, that the interval reaches far beyond any change."""
    found = decision.interval
    return decision.relative and not (found.low_measured and found.high_measured) and found.high > _ANYTHING


def _sure(runs: Delta, decision: Decision, shown: Delta, *, decided: bool, unstable: bool) -> str:
    """``unstable``: whether a clause on training stands between the change and this."""
    if decided and decision.measured:
        sure = tr("; the change is certain") if unstable else tr(", certain")
    elif decided:
        likely = tr("; the change is likely, but chance is not ruled out")
        sure = likely if unstable else tr(", likely, but chance is not ruled out")
    else:
        sure = tr("; the change is not certain") if unstable else tr(", not certain")
    text = tr("{sure}: {runs}, {interval}", sure=sure, runs=_runs(runs), interval=_interval(decision))
    if not decided and decision.runs_needed is not None:
        text += tr("; about {number} runs a side would settle it", number=decision.runs_needed)
    return text + _estimate(decision, shown)


def _estimate(decision: Decision, shown: Delta) -> str:
    """The estimate of the runs, if it is clearly another one than the change of the means."""
    change = decision.interval.change
    if not decision.relative or shown.ratio is None or abs(change - (shown.ratio - 1)) <= _APART:
        return ""
    return tr("; the median of all pairs of runs is {change}", change=_percent(change))


def _interval(decision: Decision) -> str:
    found = decision.interval
    if not decision.relative or not (isfinite(found.low) and isfinite(found.high)):
        return tr("no interval")
    between = tr("interval {low} … {high}", low=_percent(found.low).removesuffix(" %"), high=_percent(found.high))
    measured = decision.spread is None or (found.low_measured and found.high_measured)
    if not measured and tells_nothing(decision):
        return tr("no usable interval, as runs differ by {size}", size=spread_text(decision))
    return with_source(decision, between)


def spread_text(decision: Decision) -> str:
    """How far runs differ, in percent, small ones to two digits."""
    if decision.spread is None:
        return quantity.ABSENT
    value = decision.spread.value
    return f"{value * 100:.2g} %" if value < 1 else quantity.share(value)


def with_source(decision: Decision, between: str) -> str:
    """The text of an interval, with how far runs differ and what says so if the runs alone do not give it."""
    spread, size = decision.spread, spread_text(decision)
    if spread is None or (decision.interval.low_measured and decision.interval.high_measured):
        return between
    if spread.source == BY_STEPS:
        return tr("{interval} if runs differ by {size}, estimated from their steps", interval=between, size=size)
    if spread.freedom is None:
        return tr("{interval} if runs differ by {size} (assumed)", interval=between, size=size)
    return tr("{interval} if runs differ by {size}, measured on these runs", interval=between, size=size)


def _percent(change: float) -> str:
    return f"{grouped(round(change * 100, 1) + 0.0, 1, '+')} %"


def _runs(delta: Delta) -> str:
    few, many = (len(known(delta.samples.get(side, ()))) for side in SIDES)
    if few == many:
        return trn("one run a side", "{n} runs a side", few)
    return tr("{runs} against {others}", runs=trn("{n} run", "{n} runs", many), others=few)
