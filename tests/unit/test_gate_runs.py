"""Verdicts that rest on runs: what they tell, what is assumed, what they do not decide."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlcompare.compare.estimate import FALSE_ALARM, MISS, Spread, allowed
from rlcompare.errors import UsageError
from rlcompare.gate import judge
from rlcompare.gate.decision import Decision, Limits, about_allowed, decide
from rlcompare.model.diff import OF_WORK, Diff, RunInfo, Series
from rlcompare.model.verdict import Rule, Verdict
from rlcompare.model.words import SIDES, Polarity, RuleSeverity, Status
from tests.unit.test_gate_rules import delta, diff, policy

FIVE_PERCENT = Rule("time.step", max_relative=0.05)
BASE = [99.0, 100.0, 101.0, 99.5, 100.5]


def times(values: list[float], factor: float) -> list[float]:
    return [value * factor for value in values]


def judged(baseline: list[float], new: list[float], rule: Rule = FIVE_PERCENT, **settings: str) -> Verdict:
    found = delta(rule.metric, sum(baseline) / len(baseline), sum(new) / len(new), runs=(baseline, new))
    return judge(diff(found), policy(rule, **{"evidence": "auto", **settings})).verdicts[0]


@pytest.mark.parametrize(
    ("baseline", "new", "status", "verified"),
    [
        # one against one: +5 % becomes about +12 % at a noise of 3 %
        ([100.0], [110.0], "inconclusive", False),
        ([100.0], [111.4], "inconclusive", False),
        ([100.0], [111.7], "regressed", False),
        ([100.0], [100.0], "pass", False),
        ([100.0], [101.0], "inconclusive", False),
        ([100.0], [88.0], "improved", False),
        # measured, from five per side
        (BASE, times(BASE, 1.07), "regressed", True),
        (BASE, times(BASE, 1.03), "pass", True),
        (BASE, BASE, "pass", True),
        (BASE, times(BASE, 0.93), "improved", True),
        (BASE, times(BASE, 1.051), "regressed", True),
        # one run of the baseline is slow: the means differ by less than the limit, the runs do not
        ([*BASE, 98.0, 120.0, 100.2], times([*BASE, 98.0, 100.2, 99.9, 100.1], 1.08), "regressed", True),
        ([*BASE, 130.0], times([*BASE, 100.2], 1.08), "inconclusive", True),
        # two are late: the estimate is within the limit, but the interval reaches beyond twice the limit
        (BASE, [100.0, 99.0, 101.0, 125.0, 126.0], "inconclusive", True),
        # one run of the baseline takes longer than twice the others, or runs differ by half: the order still tells
        ([*BASE[:4], 240.0], times(BASE, 3.0), "regressed", True),
        ([50.0, 100.0, 200.0, 100.0, 70.0], [500.0, 1000.0, 2000.0, 1000.0, 700.0], "regressed", True),
        # with four runs it does not, and an assumed spread of 3 % is plainly wrong here
        ([*BASE[:3], 240.0], times(BASE[:4], 3.0), "inconclusive", False),
        # one run of the baseline takes longer than twice the others, or runs differ by half: the order still tells
        ([*BASE[:4], 240.0], times(BASE, 3.0), "regressed", True),
        ([50.0, 100.0, 200.0, 100.0, 70.0], [500.0, 1000.0, 2000.0, 1000.0, 700.0], "regressed", True),
        # of four runs it does not, and what is assumed is plainly wrong for them
        ([*BASE[:3], 240.0], times(BASE[:4], 3.0), "inconclusive", False),
        # three per side: the order must agree, and the change must exceed what is assumed
        ([99.0, 100.0, 101.0], [107.0, 108.0, 109.0], "regressed", False),
        ([99.0, 100.0, 109.5], [107.0, 108.0, 109.0], "inconclusive", False),
        ([99.0, 100.0, 101.0], [105.0, 105.5, 106.0], "inconclusive", False),
        ([99.0, 100.0, 101.0], [99.0, 100.0, 101.0], "pass", False),
    ],
)
def test_runs_decide(baseline: list[float], new: list[float], status: str, verified: bool) -> None:
    verdict = judged(baseline, new)
    assert (verdict.status, verdict.verified) == (status, verified)


@pytest.mark.parametrize(
    ("baseline", "new", "said"),
    [
        ([100.0], [101.0],
         "found +1.0 % (100 → 101 ms; interval -9.4 … +11.1 % if runs differ by 3 %, the policy's noise);"
         " about 2 runs per side would decide"),
        (BASE, times(BASE, 1.07), "found +7.0 % (100 → 107 ms; interval +4.9 … +8.6 %; runs 99, 100, 101, 99.5, 100."),
        (BASE, [100.0, 99.0, 101.0, 125.0, 126.0], " runs per side would decide"),
    ],
)  # fmt: skip
def test_the_text_says_how_sure_it_is(baseline: list[float], new: list[float], said: str) -> None:
    assert said in judged(baseline, new).text


def test_an_end_that_nothing_tells_is_not_shown() -> None:
    """4 against 5 is 1 of 126: too often for a failure, rare enough for a pass."""
    text = judged(BASE[1:], times(BASE, 1.2), evidence="runs").text
    assert "(100.25 → 120 ms; interval up to +21.8 %; " in text  # 121.2 / 99.5
    assert text.endswith("; about 5 runs per side would decide")
    assert "interval" not in judged(BASE[1:], times(BASE[1:], 1.2), evidence="runs").text


def test_what_no_number_of_runs_decides_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact tests of a hundred runs per side take seconds: the normal distribution tells about as much."""
    for runs, tail in ((21, FALSE_ALARM), (30, FALSE_ALARM / 10), (40, MISS)):
        assert about_allowed(runs, tail) == pytest.approx(allowed(runs, runs, tail), rel=0.03)

    def of_few(few: int, many: int, tail: float) -> int | None:
        assert many <= 20
        return allowed(few, many, tail)

    monkeypatch.setattr("rlcompare.gate.decision.allowed", of_few)
    found = decide(BASE, [100.1, 99.2, 101.0, 99.4, 100.6], Polarity.LOWER, Limits(1e-4, None), Spread(0.03))
    assert (found.status, found.runs_needed) == (Status.INCONCLUSIVE, None)


def test_a_baseline_near_zero_does_not_make_the_other_side_exact() -> None:
    """3 % of 0.5: one against one differs by 2.6 * 0.03 * sqrt(2) of that."""
    found = decide([-0.001], [0.5], Polarity.LOWER, Limits(None, 0.1), Spread(0.03))
    assert (found.status, found.interval.low) == (Status.REGRESSED, pytest.approx(0.501 - 0.0546, abs=1e-3))


def test_a_value_whose_square_is_too_large_is_judged() -> None:
    """A gradient that exploded in one run, beside one of 0: on the scale of the values, which is not logarithmic."""
    found = decide([0.0, 1.0, 1.0], [1.0, 1e200, 1.0], Polarity.LOWER, Limits(0.1, None), Spread(0.03))
    assert found.status == Status.INCONCLUSIVE


def test_means_of_equal_values_are_equal() -> None:
    """The mean of three times 1.334 is not exactly that of four times."""
    tokens = delta("workload.total_tokens", 1.334, 1.334, "neutral", "count", runs=([1.334] * 3, [1.334] * 4))
    (verdict,) = judge(diff(tokens), policy(Rule(tokens.metric, max_relative=0.0), evidence="auto")).verdicts
    assert verdict.status == Status.PASS


def test_a_rule_and_history_say_how_much_runs_differ() -> None:
    one = delta("time.step", 100.0, 108.0)
    quiet = Rule("time.step", max_relative=0.05, noise=0.01)
    assert judged([100.0], [108.0]).status == "inconclusive"
    assert judged([100.0], [108.0], quiet).status == "regressed"
    spreads = {"time.step": Spread(0.01, 30, "the history of 31 runs")}
    (verdict,) = judge(diff(one), policy(FIVE_PERCENT, evidence="auto"), spreads).verdicts
    assert (verdict.status, "if runs differ by 1 %, the history of 31 runs" in verdict.text) == ("regressed", True)
    few = {"time.step": Spread(0.01, 2, "the history of 3 runs")}  # an estimate from three runs may be far off
    assert judge(diff(one), policy(FIVE_PERCENT, evidence="auto"), few).verdicts[0].status == "inconclusive"


def with_runs(found: Diff, old: int, new: int) -> Diff:
    sides = [
        replace(found.baseline, runs=tuple(RunInfo(str(place), "", 1, 1, 1) for place in range(count)))
        for count in (old, new)
    ]
    return replace(found, baseline=sides[0], new=sides[1])


def test_a_document_may_lack_the_values_of_a_side() -> None:
    found = with_runs(diff(replace(delta("time.step", 100.0, 100.0), samples={"new": (100.0, 101.0)})), 1, 2)
    left = replace(found.new.runs[1], left_out="it failed")
    found = replace(found, new=replace(found.new, runs=(found.new.runs[0], left)))
    (verdict,) = judge(found, policy(FIVE_PERCENT)).verdicts
    assert verdict.status == Status.PASS


@pytest.mark.parametrize(("old", "new", "refused"), [(1, 1, True), (4, 4, True), (3, 9, False), (5, 5, False)])
def test_evidence_by_runs_alone_is_refused_where_it_cannot_fail(old: int, new: int, refused: bool) -> None:
    runs = ([100.0 + place for place in range(old)], [120.0 + place for place in range(new)])
    found = with_runs(diff(delta("time.step", 100.0, 120.0, runs=runs)), old, new)
    asked = policy(FIVE_PERCENT, evidence="runs")
    if refused:
        with pytest.raises(UsageError, match=f"{old} against {new} runs cannot decide.* Make 5 runs per side"):
            judge(found, asked)
    else:
        assert judge(found, asked).verdicts[0].status == "regressed"


def test_what_comes_after_the_first_rule_shares_the_odds() -> None:
    """One metric that rose by 8 % beside none or nine that did not: luck reaches 7 % in 1 of 190, 9 % in 1 of 2,000."""
    spread = 0.0185
    rose = delta("phase.a.wall", 100.0, 108.0)
    flat = [delta(f"phase.{name}.wall", 100.0, 100.0) for name in "bcdefghij"]
    rules = (
        Rule("time.step", max_relative=0.05, noise=spread), Rule("phase.*.wall", max_relative=0.05, noise=spread)
    )  # fmt: skip
    step = delta("time.step", 100.0, 100.0)
    alone = judge(diff(step, rose), policy(*rules, evidence="auto")).verdicts
    beside = judge(diff(step, rose, *flat), policy(*rules, evidence="auto")).verdicts
    assert [verdict.status for verdict in (alone[1], beside[1])] == ["regressed", "inconclusive"]
    # One that is plain leaves its share to the others, and the first rule shares nothing.
    plain = judge(diff(delta("time.step", 100.0, 108.0), rose, *flat[:1]), policy(*rules, evidence="auto")).verdicts
    assert plain[0].status == "regressed"
    warn = Rule("phase.*.wall", max_relative=0.05, noise=spread, severity=RuleSeverity.WARN)
    apart = judge(diff(step, rose, *flat), policy(rules[0], warn, Rule("phase.a.wall", max_relative=0.05, noise=spread),
                                                  evidence="auto")).verdicts  # fmt: skip
    assert apart[-1].status == "regressed", "errors and warnings share their odds apart"


def test_what_follows_from_the_step_is_as_sure_as_the_step() -> None:
    """Throughput is the same measure as the step's time: other rules that may fail leave both alone."""
    step = delta("timing_s/step", 100.0, 112.5, unit="s")
    rate = delta("perf/throughput", 1000.0, 1000 / 1.14, "higher", "")
    walls = [delta(f"phase.{name}.wall", 100.0, 100.0) for name in "abcdefgh"]
    strict, default = (
        (
            Rule("timing_s/step", max_relative=part),
            Rule("perf/throughput", max_relative=part),
            Rule("phase.*.wall", max_relative=2 * part, severity=severity),
        )
        for part, severity in ((0.02, RuleSeverity.ERROR), (0.05, RuleSeverity.WARN))
    )
    texts = []
    for rules in (strict, default):
        verdict = judge(diff(step, rate, *walls), policy(*rules, evidence="auto")).verdicts[1]
        assert (verdict.metric, verdict.status) == ("perf/throughput", "regressed")
        texts.append(verdict.text.partition("found")[2])
    assert texts[0] == texts[1], "a stricter policy is no less sure"
    # Where the step is not decided, neither is its rate, at whatever limit of the step.
    open_step = delta("timing_s/step", 100.0, 111.0, unit="s")
    for part, status in ((0.05, "inconclusive"), (0.2, "pass")):
        of_step = Rule("timing_s/step", max_relative=part)
        found = judge(diff(open_step, rate), policy(of_step, default[1], evidence="auto")).verdicts
        assert [one.status for one in found] == [status, "inconclusive"]
        assert found[1].text.endswith("; timing_s/step, from which it follows, is not decided")
    assert judge(diff(open_step, rate), policy(default[1], evidence="auto")).verdicts[0].status == "regressed"


@pytest.mark.parametrize(
    ("name", "polarity", "value"), [("perf/throughput", "higher", 600.0), ("timing_per_token_ms/step", "lower", 1700.0)]
)
@pytest.mark.parametrize("tokens", [None, 600.0])
def test_a_rate_that_fewer_tokens_change_does_not_follow_from_the_step(
    name: str, polarity: str, value: float, tokens: float | None
) -> None:
    """The step's time hardly changed, so that its luck cannot be what changed the rate."""
    step = delta("timing_s/step", 100.0, 102.0, unit="s")
    work = [] if tokens is None else [delta("workload.total_tokens", 1000.0, tokens, "neutral", "count")]
    rules = Rule("timing_s/step", max_relative=0.05), Rule(name, max_relative=0.05)
    for new, status in ((value, "regressed"), (1000.0 * (0.93 if polarity == "higher" else 1.075), "inconclusive")):
        given = diff(step, delta(name, 1000.0, new, polarity, ""), *(work if status == "regressed" else []))
        found = judge(given, policy(*rules, evidence="auto")).verdicts
        assert [one.status for one in found] == ["inconclusive", status]


def test_work_that_the_log_separates_is_taken_out() -> None:
    """Tokens +20 %, of which the log explains 5 of 100 s. Per token it would be an improvement."""
    tokens = delta("workload.total_tokens", 1000.0, 1200.0, "neutral", "count")
    rule = Rule("timing_s/step", max_relative=0.05)
    for new, status, said in ((104.0, "pass", "-1.0 % at equal work"), (125.0, "regressed", "+20.0 % at equal work")):
        step = replace(delta("timing_s/step", 100.0, new, unit="s"), evidence={OF_WORK: 5.0})
        verdict = judge(diff(step, tokens), policy(rule)).verdicts[0]
        assert (verdict.status, said in verdict.text) == (status, True)


def decision(baseline: list[float], new: list[float]) -> Decision:
    return decide(baseline, new, Polarity.LOWER, Limits(0.05, None), Spread(0.03))


runs_of = st.lists(st.floats(96, 104), min_size=1, max_size=6)


@settings(max_examples=300)
@given(runs_of, runs_of, st.floats(0.85, 1.2), st.floats(0, 1), st.booleans())
def test_a_run_that_agrees_never_weakens_a_verdict(
    baseline: list[float], new: list[float], factor: float, place: float, on_new: bool
) -> None:
    """It agrees if it is like the others of its side, and each of its changes to the other side is as the estimate is.

    Or farther from the limit. With five runs of each side it need not be like the others.
    """
    new = [value * factor for value in new]
    found = decision(baseline, new)
    if found.status == Status.INCONCLUSIVE:
        return
    estimate, own, alone = 1 + found.interval.change, new if on_new else baseline, len(baseline) > 4 and len(new) > 4
    high = (found.status == Status.REGRESSED) == on_new
    bounds = [value * estimate for value in baseline] if on_new else [value / estimate for value in new]
    bound, end = (max(bounds), max(own)) if high else (min(bounds), min(own))
    if alone:
        end = bound * (1.5 if high else 1 / 1.5)
    if (end < bound) if high else (end > bound):
        return
    run = bound + place * (end - bound)
    again = decision(baseline, [*new, run]) if on_new else decision([*baseline, run], new)
    better = {Status.PASS: (Status.PASS, Status.IMPROVED)}.get(found.status, (found.status,))
    assert again.status in better


@pytest.mark.parametrize(
    ("baseline", "new", "status"),
    [
        ([100.0, 101.0], [112.0, 113.0], "regressed"),
        ([100.0, 117.0], [130.0, 151.0], "inconclusive"),  # twice as far apart, and runs of one side differ by 15 %
        ([100.0, 117.0, 104.0], [100.5, 116.0, 104.0], "inconclusive"),
    ],
)
def test_runs_may_contradict_what_is_assumed(baseline: list[float], new: list[float], status: str) -> None:
    """Runs that differ by far more than the noise that is assumed count as what they are: too few, and noisy."""
    verdict = judged(baseline, new)
    assert (verdict.status, verdict.verified) == (status, False)
    assert ("%, measured on these runs" in verdict.text) == (status == "inconclusive")


@pytest.mark.parametrize("noise", [0.01, 0.03])
def test_the_proposed_number_of_runs_mostly_decides(noise: float) -> None:
    """Of inconclusive gates, most are decided by as many new runs as were proposed."""
    rng = random.Random(7)
    decided = tried = 0
    for _ in range(300):
        sides = [[100 * factor * math.exp(rng.gauss(0, noise)) for _ in range(2)] for factor in (1.0, 1.08)]
        found = decision(*sides)
        if found.status != Status.INCONCLUSIVE or found.runs_needed is None:
            continue
        for side, factor in zip(sides, (1.0, 1.08), strict=True):
            side += [100 * factor * math.exp(rng.gauss(0, noise)) for _ in range(found.runs_needed - 2)]
        tried += 1
        decided += decision(*sides).status != Status.INCONCLUSIVE
    assert tried > 20
    assert decided > 0.6 * tried


def test_equal_runs_fail_as_rarely_as_promised() -> None:
    """Where nothing is assumed, 1 of 190; the noise of these runs is far from normal."""
    rng = random.Random(11)
    failed = 0
    for _ in range(4000):
        baseline, new = ([rng.paretovariate(3) for _ in range(6)] for _ in range(2))
        failed += decide(baseline, new, Polarity.LOWER, Limits(0.0, None), None).status == Status.REGRESSED
    few = allowed(6, 6, FALSE_ALARM)
    assert few is not None
    assert 0 < failed <= 4000 * FALSE_ALARM * 1.6


def test_a_share_of_few_steps_is_not_taken_for_exact() -> None:
    """A tenth of 100 steps: two equal runs differ by 30 % each. With 100,000 steps it is as sure as the noise says."""
    found = delta("timing_s/step@above40", 0.1, 0.13, unit="ratio")
    rule = Rule(found.metric, max_relative=0.05)
    for steps, status in ((100, "inconclusive"), (100_000, "regressed")):
        series = tuple(
            Series("timing_s/step", side, 0, steps, tuple(range(steps)), (1.0,) * steps) for side in SIDES
        )  # fmt: skip
        verdict = judge(replace(diff(found), series=series), policy(rule, evidence="auto")).verdicts[0]
        assert (verdict.status, f"the sampling error of a share over {steps} steps" in verdict.text) == (status, True)


@pytest.mark.slow
def test_thousands_of_runs_are_judged() -> None:
    many = [100.0 + number % 7 for number in range(2000)]
    assert judged(many, times(many, 1.06)).status == "regressed"
    counted, normal = allowed(100, 100, FALSE_ALARM), allowed(100, 101, FALSE_ALARM)
    assert counted is not None and normal is not None
    assert normal / 10_100 == pytest.approx(counted / 10_000, rel=0.005)
