"""Where a rule of the gate begins to hold: the last case on one side of each limit, and the first on the other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlcompare.gate import judge
from rlcompare.gate.text import expected
from rlcompare.model.diff import NOT_COMPARED, Diff, Finding
from rlcompare.model.verdict import Rule
from rlcompare.model.words import Severity
from tests.unit.test_gate_rules import delta, diff, gate, policy

FIVE_PERCENT = Rule("time.step", max_relative=0.05)


@pytest.mark.parametrize(
    ("new", "low", "high", "status"),
    [
        (0.5, 0.5, None, "pass"),
        (0.49999, 0.5, None, "regressed"),
        (0.5, None, 0.5, "pass"),
        (0.50001, None, 0.5, "regressed"),
        (0.5, 0.5, 0.5, "pass"),
    ],
)
def test_a_value_at_its_limit_passes(new: float, low: float | None, high: float | None, status: str) -> None:
    rule = Rule("actor/entropy", min_value=low, max_value=high)
    found = delta("actor/entropy", None, new, "neutral", "")
    assert gate(found, rule).verdicts[0].status == status


def test_a_change_at_its_limit_passes_although_binary_fractions_are_not_exact() -> None:
    """0.735 - 0.7 is 0.03500000000000003 in binary, and 5 % of 0.7 are 0.035."""
    assert 0.735 - 0.7 > 0.05 * 0.7
    assert gate(delta("time.step", 0.7, 0.735), FIVE_PERCENT).verdicts[0].status == "pass"
    assert gate(delta("time.step", 0.7, 0.7350001), FIVE_PERCENT).verdicts[0].status == "regressed"


def work(new: float, old_tokens: float, new_tokens: float) -> Diff:
    """A step of 100 ms that takes ``new`` ms, with so many tokens before and after."""
    return diff(
        delta("time.step", 100.0, new), delta("workload.total_tokens", old_tokens, new_tokens, "neutral", "count")
    )


@pytest.mark.parametrize(
    ("new", "tokens", "status", "said"),
    [
        (110.0, 1009.0, "regressed", False),  # less than 1 % more is the same work
        (110.0, 1010.0, "regressed", True),
        (110.0, 1100.0, "pass", True),  # as fast per token
        (106.0, 990.0, "regressed", True),  # fewer tokens excuse nothing
        (106.0, 991.0, "regressed", False),
    ],
)
def test_work_that_differs_by_a_hundredth_is_other_work(new: float, tokens: float, status: str, said: bool) -> None:
    (verdict,) = judge(work(new, 1000.0, tokens), policy(FIVE_PERCENT)).verdicts
    assert (verdict.status, "per token" in verdict.text) == (status, said)


@pytest.mark.parametrize(
    ("new", "noise", "said"),
    [
        # 2 % fewer tokens: +1 % per token would pass with more runs, whatever part of the time depends on the tokens
        (99.0, 0.03, "about 2 runs per side would decide"),
        (103.0, 0.001, "there is less work, and it is unknown how much of the time depends on it"),
        # beyond the limit also for as many tokens: again only a matter of runs
        (111.4, 0.03, "the time itself, +11.4 %, is not decided: about 2 runs per side would decide"),
    ],
)
def test_fewer_tokens_are_the_reason_only_where_runs_would_not_help(new: float, noise: float, said: str) -> None:
    rule = Rule("time.step", max_relative=0.05)
    (verdict,) = judge(work(new, 1000.0, 980.0), replace(policy(rule, evidence="auto"), noise=noise)).verdicts
    assert (verdict.status, verdict.text.partition("); ")[2]) == ("inconclusive", said)


def test_a_rate_that_one_side_logged_is_not_used() -> None:
    """As fast per token with half as many tokens more, and no rate of the new side."""
    found = diff(
        delta("timing_s/step", 1.0, 1.45, unit="s"),
        delta("timing_per_token_ms/step", 1.0, None),
        delta("workload.total_tokens", 1000.0, 1500.0, "neutral", "count"),
    )
    (verdict,) = judge(found, policy(Rule("timing_s/step", max_relative=0.05))).verdicts
    assert (verdict.status, "-3.3 % per token" in verdict.text) == ("pass", True)


def test_less_work_in_more_time_is_no_matter_of_limits_per_token() -> None:
    """10 % longer for half the tokens, where the rate that training logged says 4 %, within the limit: still slower."""
    found = diff(
        delta("timing_s/step", 1.0, 1.1, unit="s"),
        delta("timing_per_token_ms/step", 0.100, 0.104, unit=""),
        delta("workload.total_tokens", 1000.0, 500.0, "neutral", "count"),
        headline="timing_s/step",
    )
    (verdict,) = judge(found, policy(Rule("timing_s/step", max_relative=0.05))).verdicts
    assert (verdict.status, "+4.0 % per token" in verdict.text) == ("regressed", True)


@pytest.mark.parametrize(("tokens", "said"), [(0.9e9, True), (1.1e9, False)])
def test_a_million_times_the_tokens_were_none_before(tokens: float, said: bool) -> None:
    (verdict,) = judge(work(200.0, 1000.0, tokens), policy(FIVE_PERCENT)).verdicts
    assert (verdict.status, "per token" in verdict.text) == ("pass" if said else "regressed", said)


@pytest.mark.parametrize(
    ("limit", "unit", "metric_unit", "at", "beyond"),
    [
        (3.0, "ns", "ms", 3e-6, 4e-6),
        (3.0, "us", "ms", 3e-3, 4e-3),
        (3.0, "ms", "s", 3e-3, 4e-3),
        (3.0, "s", "ms", 3000.0, 3001.0),
        (3.0, "B", "bytes", 3.0, 4.0),
        (3.0, "KiB", "bytes", 3072.0, 3073.0),
        (3.0, "MiB", "bytes", 3145728.0, 3145729.0),
        (3.0, "GiB", "bytes", 3221225472.0, 3221225480.0),
        (3.0, "TiB", "bytes", 3298534883328.0, 3298534900000.0),
    ],
)
def test_an_absolute_limit_in_each_unit(limit: float, unit: str, metric_unit: str, at: float, beyond: float) -> None:
    rule = Rule("x", max_absolute=limit, absolute_unit=unit)
    statuses = [gate(delta("x", 0.0, new, unit=metric_unit), rule).verdicts[0].status for new in (at, beyond)]
    assert statuses == ["pass", "regressed"]


@pytest.mark.parametrize(("wanted", "code"), [("fail", 3), ("warn", 0), ("pass", 0)])
def test_what_must_not_be_compared_decides_nothing(wanted: str, code: int) -> None:
    changed = replace(delta("actor/entropy", 1.0, 2.0), evidence={NOT_COMPARED: "another meaning"})
    result = judge(diff(changed), policy(Rule("actor/entropy", max_relative=0.05), on_inconclusive=wanted))
    assert (result.verdicts[0].status, result.exit_code) == ("not_comparable", code)


def test_severe_differences_end_with_5_unless_they_are_declared() -> None:
    finding = Finding("chip", "910B", "910C", Severity.SEVERE, "another chip")
    found = diff(delta("time.step", 100.0, 100.0), findings=[finding])
    assert judge(found, policy(FIVE_PERCENT)).exit_code == 5
    assert judge(found, policy(FIVE_PERCENT, varied=("chip",))).exit_code == 0


@pytest.mark.parametrize(
    ("rule", "polarity", "unit", "said"),
    [
        (Rule("x", max_relative=0.05), "lower", "ms", "at most +5.0 %"),
        (Rule("x", max_relative=0.05), "higher", "ms", "at most -5.0 %"),
        (Rule("x", max_relative=0.05), "neutral", "ms", "at most ±5.0 %"),
        (Rule("x", max_relative=0.05, max_absolute=1.5), "lower", "ms", "at most the larger of +5.0 % and +1.5 ms"),
        (Rule("x", max_absolute=64.0, absolute_unit="MiB"), "lower", "bytes", "at most +64 MiB"),
        (Rule("x", min_value=10.5), "lower", "ms", "at least 10.5 ms"),
        (Rule("x", max_value=20.5), "lower", "ms", "no more than 20.5 ms"),
        (Rule("x", max_relative=0.05, min_value=10.5, max_value=20.5), "lower", "ms",
         "at most +5.0 % and at least 10.5 ms and no more than 20.5 ms"),
    ],
)  # fmt: skip
def test_what_a_rule_expects_is_said(rule: Rule, polarity: str, unit: str, said: str) -> None:
    assert expected(rule, delta("x", 15.0, 15.0, polarity, unit)) == said
