"""Results of rules: statuses, texts and exit codes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare.errors import UsageError
from rlcompare.gate import built_in_policy, judge, load_policy
from rlcompare.model.diff import METRICS_LEFT_OUT, Comparability, Delta, Diff, Finding, RunInfo, Samples, Series, Side
from rlcompare.model.verdict import GateResult, Policy, Rule, Verdict
from rlcompare.model.words import Comparable, Polarity, RuleSeverity, Severity, Status


def delta(
    metric: str, baseline: float | None, new: float | None, polarity: str = "lower", unit: str = "ms",
    runs: tuple[Sequence[float | None], Sequence[float | None]] | None = None,
) -> Delta:  # fmt: skip
    change = None if baseline is None or new is None else new - baseline
    ratio = None if change is None or not baseline or new is None else new / baseline
    samples: Samples = (
        {"baseline": tuple(runs[0]), "new": tuple(runs[1])} if runs else {"baseline": (baseline,), "new": (new,)}
    )
    return Delta(metric, unit, Polarity(polarity), baseline, new, change, ratio, samples)


def diff(*overall: Delta, findings: Sequence[Finding] = (), headline: str = "time.step") -> Diff:
    side = Side("side", (), (), (), {})
    severe = any(finding.severity == "severe" for finding in findings)
    comparability = Comparability(Comparable.NOT_COMPARABLE if severe else Comparable.COMPARABLE, tuple(findings))
    return Diff(side, side, comparability, headline, overall, (), (), {})


def policy(*rules: Rule, **settings: str | tuple[str, ...]) -> Policy:
    """Judges by limits alone unless it says otherwise: ``test_gate_runs.py`` is about runs."""
    return Policy("rlcompare.toml", rules, **{"evidence": "limits", **settings})  # type: ignore[arg-type]


def gate(found: Delta, rule: Rule, **settings: str) -> GateResult:
    return judge(diff(found), policy(rule, **settings))


FIVE_PERCENT = Rule("time.step", max_relative=0.05)


@pytest.mark.parametrize(
    ("baseline", "new", "status", "code"),
    [
        (100.0, 100.0, "pass", 0),
        (100.0, 105.0, "pass", 0),
        (10.0, 10.5, "pass", 0),
        (100.0, 105.1, "regressed", 1),
        (100.0, 95.0, "pass", 0),
        (100.0, 94.0, "improved", 0),
        (0.0, 0.0, "pass", 0),
        (0.0, 0.1, "inconclusive", 3),
        (100.0, None, "missing", 1),
        (None, 100.0, "missing", 1),
        (100.0, math.nan, "missing", 1),
        (math.nan, 100.0, "missing", 1),
        (100.0, math.inf, "missing", 1),
    ],
)
def test_a_limit_on_the_relative_change(baseline: float | None, new: float | None, status: str, code: int) -> None:
    result = gate(delta("time.step", baseline, new), FIVE_PERCENT)
    assert (result.verdicts[0].status, result.exit_code) == (status, code)


@pytest.mark.parametrize(
    ("baseline", "new", "status"),
    [(1.0, 1.5, "pass"), (1000.0, 1001.5, "pass"), (10.0, 11.5, "regressed"), (10.0, 8.5, "improved")],
)
def test_where_both_limits_are_given_both_must_be_passed(baseline: float, new: float, status: str) -> None:
    """5 % and 1 ms: half a millisecond may be 50 %, and 1.5 ms may be 0.15 %."""
    rule = Rule("time.step", max_relative=0.05, max_absolute=1.0)
    assert gate(delta("time.step", baseline, new), rule).verdicts[0].status == status


def test_no_part_of_nothing_is_a_limit() -> None:
    """With an absolute limit beside it, or where no change at all is tolerated, a baseline of 0 can be judged."""
    from_nothing = delta("time.exposed_comm", 0.0, 0.1)
    verdict = gate(from_nothing, Rule("time.exposed_comm", max_relative=0.05)).verdicts[0]
    assert verdict.status == "inconclusive"
    assert 'because the baseline is 0: add an absolute one (max_increase_abs = "1ms")' in verdict.text
    for relative, absolute, status in ((0.05, 0.2, "pass"), (0.05, 0.05, "regressed"), (0.0, None, "regressed")):
        rule = Rule("time.exposed_comm", max_relative=relative, max_absolute=absolute)
        assert gate(from_nothing, rule).verdicts[0].status == status


def test_no_part_of_noise_is_a_limit() -> None:
    """Runs of 0.01 and 0.05: their mean is 0.03, and they differ by 0.04."""
    found = delta("time.exposed_comm", 0.03, 0.06, runs=((0.01, 0.05), (0.06,)))
    assert gate(found, Rule("time.exposed_comm", max_relative=0.05)).verdicts[0].status == "inconclusive"


@pytest.mark.parametrize(
    ("new", "absolute", "status"), [(5.0, 1.0, "regressed"), (0.5, 1.0, "pass"), (5.0, None, "inconclusive")]
)
def test_a_phase_that_only_the_new_side_has_is_all_increase(new: float, absolute: float | None, status: str) -> None:
    found = diff(delta("phase.update_actor.wall", 100, 100), delta("phase.values.wall", None, new))
    result = judge(found, policy(Rule("phase.*.wall", max_relative=0.1, max_absolute=absolute)))
    assert [verdict.status for verdict in result.verdicts] == ["pass", status]


def test_without_any_phase_on_the_baseline_they_are_missing() -> None:
    found = diff(delta("phase.update_actor.compute", 100, 100), delta("phase.values.wall", None, 5))
    result = judge(found, policy(Rule("phase.*.wall", max_relative=0.1, max_absolute=1.0)))
    assert [verdict.status for verdict in result.verdicts] == ["missing"]


def test_a_side_that_does_not_know_all_of_its_step_lacks_no_phase() -> None:
    """What lies outside of its phases is unknown where a log has no time for the whole step."""
    known = (delta("phase.update_actor.wall", 100, 100), delta("phase.values.wall", None, 5))
    rule = Rule("phase.values.wall", max_relative=0.1, max_absolute=1.0)
    for outside, status in (
        (delta("phase.(outside).wall", None, 3), "missing"),
        (delta("phase.(outside).wall", 1, 3), "regressed"),
    ):
        assert judge(diff(*known, outside), policy(rule)).verdicts[0].status == status


@pytest.mark.parametrize(
    ("outside", "said"),
    [
        (3, "found no such phase on the new side (5 ms → none)"),
        (None, "found no value on the new side (5 ms → not measured)"),
    ],
)
def test_a_phase_that_is_gone_is_not_one_that_is_not_measured(outside: float | None, said: str) -> None:
    found = diff(delta("phase.values.wall", 5, None), delta("phase.(outside).wall", 3, outside))
    (verdict,) = judge(found, policy(Rule("phase.values.wall", max_relative=0.1))).verdicts
    assert verdict.status == "missing"
    assert said in verdict.text


def test_polarity_turns_the_limit_round() -> None:
    rule = Rule("perf/throughput", max_relative=0.05)
    statuses = [
        gate(delta("perf/throughput", 100, new, "higher", ""), rule).verdicts[0].status for new in (90, 97, 110)
    ]
    assert statuses == ["regressed", "pass", "improved"]


def test_a_neutral_metric_that_is_named_counts_either_way() -> None:
    rule = Rule("actor/grad_norm", max_relative=0.1)
    statuses = [
        gate(delta("actor/grad_norm", 1.0, new, "neutral", ""), rule).verdicts[0].status for new in (0.8, 1.05, 1.2)
    ]
    assert statuses == ["regressed", "pass", "regressed"]


def test_globs_judge_each_metric_and_leave_neutral_ones_and_suffixes_alone() -> None:
    found = diff(
        delta("time.step", 10, 20), delta("time.free", 1, 1), delta("time.overlapped_comm", 5, 1, "neutral"),
        delta("time.step@spread", 1, 9), delta("workload.kernels", 5, 6, "neutral", "count"),
    )  # fmt: skip
    result = judge(found, policy(Rule("time.*", max_relative=0.05), Rule("workload.*", max_relative=0.0)))
    assert [(verdict.metric, verdict.status) for verdict in result.verdicts] == [
        ("time.step", "regressed"), ("time.free", "pass"), ("workload.kernels", "regressed"),
    ]  # fmt: skip
    spread = judge(found, policy(Rule("time.*@spread", max_relative=0.05)))
    assert [verdict.metric for verdict in spread.verdicts] == ["time.step@spread"]


@pytest.mark.parametrize(
    ("new", "status", "code"), [(0.85, "pass", 0), (0.8, "pass", 0), (0.79, "regressed", 1), (None, "missing", 1)]
)
def test_a_limit_on_the_value_needs_no_baseline(new: float | None, status: str, code: int) -> None:
    rule = Rule("mismatch/rollout_is_eff_sample_size", min_value=0.8)
    result = gate(delta("mismatch/rollout_is_eff_sample_size", None, new, "higher", "ratio"), rule)
    assert (result.verdicts[0].status, result.exit_code) == (status, code)


def test_warnings_speak_and_do_not_fail() -> None:
    result = gate(delta("time.step", 10, 20), Rule("time.step", max_relative=0.05, severity=RuleSeverity.WARN))
    assert (result.verdicts[0].status, result.exit_code) == ("regressed", 0)
    assert "1 warning: time.step" in result.summary


def test_a_rule_of_the_user_whose_metric_was_not_measured_fails() -> None:
    result = gate(delta("time.step", 10, 10), Rule("time.stepp", max_relative=0.05))
    assert (result.verdicts[0].status, result.exit_code) == ("missing", 1)
    assert "did you mean time.step?" in result.verdicts[0].text


@pytest.mark.parametrize("name", ["custom/quiet", "custom/qu*", "custom/quiet@p95"])
def test_an_optional_rule_does_not_excuse_what_diff_json_leaves_out(name: str) -> None:
    left_out = Finding(METRICS_LEFT_OUT, None, None, Severity.CAUTION, "diff.json holds 100 of 20,000 metrics")
    short = replace(diff(delta("time.step", 100, 100)), quality=(left_out,))
    rules = (Rule("time.step", max_relative=0.05), Rule(name, max_value=1.0, optional=True))
    result = judge(short, policy(*rules))
    assert [verdict.status for verdict in result.verdicts] == ["pass", "missing"] and result.exit_code == 1
    assert "leaves out many metrics" in result.verdicts[1].text
    assert judge(short, built_in_policy()).exit_code == 0, "known metrics are never left out for others"


def test_the_built_in_rules_skip_what_is_not_there() -> None:
    result = judge(
        diff(delta("time.step", 100, 100), delta("memory.peak_allocated", None, 5, "lower", "bytes")), built_in_policy()
    )
    assert [(verdict.metric, verdict.status) for verdict in result.verdicts] == [("time.step", "pass")]
    assert result.exit_code == 0


def test_the_built_in_rules_do_not_pass_what_has_no_headline() -> None:
    result = judge(diff(headline="time.device_span"), built_in_policy())
    assert [(verdict.metric, verdict.status) for verdict in result.verdicts] == [("time.device_span", "missing")]
    assert result.exit_code == 1


def test_memory_alone_can_pass_the_built_in_rules() -> None:
    """As from two folders of torch_memory's snapshots, of which none tells a time."""
    for new, exit_code, status in ((2.0**30, 0, "pass"), (2.0**31, 0, "regressed")):
        found = diff(delta("memory.peak_allocated", 2.0**30, new, unit="bytes"), headline="time.device_span")
        result = judge(found, built_in_policy())
        assert [(verdict.metric, verdict.status) for verdict in result.verdicts] == [("memory.peak_allocated", status)]
        assert result.exit_code == exit_code
        assert "The step was not judged: neither side has a step time." in result.summary
        assert result.skipped == ("headline", "perf/throughput", "phase.*.wall", "*perf/max_memory_*")


def test_what_is_said_where_nothing_is_judged(tmp_path: Path) -> None:
    """A gate that judged nothing fails, unless exceptions turn off all that there is."""
    found, policies = diff(delta("time.step", 100, 100)), {
        "optional": '[[rule]]\nmetric = "actor/entropy"\nmax = 1\noptional = true\n',
        "warn": '[[rule]]\nmetric = "a"\nmax = 1\noptional = true\nseverity = "warn"\n'
                '[[rule]]\nmetric = "b"\nmax = 1\noptional = true\n',
        "exception": '[[rule]]\nmetric = "headline"\nmax = 1\n[[rule]]\nmetric = "headline"\nseverity = "off"\n'
                     'expires = 2999-12-31\nreason = "r"\n',
        "signs": '[[rule]]\nmetric = "health.*"\nseverity = "error"\n',
        "off": '[[rule]]\nmetric = "headline"\nseverity = "off"\n[[rule]]\nmetric = "time.*"\nmax = 200\n',
    }  # fmt: skip
    said = {}
    for name, text in policies.items():
        (tmp_path / "p.toml").write_text(text)
        result = judge(found, load_policy(tmp_path / "p.toml"))
        why = (verdict.text.partition(":")[0] for verdict in result.verdicts)
        said[name] = (result.exit_code, result.summary, *why)
    skipped = "nothing was judged, so a skipped rule fails"
    assert said == {
        "optional": (1, "1 of 1 rule failed: actor/entropy missing.", skipped),
        "warn": (1, "1 of 1 rule failed: b missing.", skipped),
        "exception": (0, "Nothing was judged: exceptions turn off what the rules judge."),
        "signs": (1, "1 of 1 rule failed: health.* missing.",
                  "expected metrics of training on the new side, found none to judge"),
        "off": (1, "1 of 1 rule failed: time.* missing.", skipped),
    }  # fmt: skip


def test_a_log_without_a_sign_of_trouble_passes() -> None:
    logged = replace(diff(), series=(Series("actor/entropy", "new", 0, 2, (1, 2), (0.5, 0.5)),))
    result = judge(logged, policy(Rule("health.*")))
    assert (result.exit_code, result.summary) == (
        0,
        "No metric was judged: the policy has rules for signs of unstable training only, and there is no such sign.",
    )


def test_a_step_that_another_rule_judges_has_a_time() -> None:
    """The rule of an exception, or one that turns the step off."""
    rules = (Rule("headline", max_relative=0.05, except_for=("time.step",)), Rule("time.step", max_relative=0.5))
    off = replace(rules[1], severity=RuleSeverity.OFF, max_relative=None)
    for other, code in ((rules[1], 0), (off, 1)):
        result = judge(diff(delta("time.step", 100.0, 110.0)), policy(rules[0], other))
        assert (result.exit_code, "neither side" in result.summary) == (code, False)


def test_a_headline_in_bytes_is_no_matter_of_the_rule_for_the_step() -> None:
    found = diff(delta("memory.peak_allocated", 1.0, 2.0, unit="bytes"), headline="memory.peak_allocated")
    assert [verdict.rule.metric for verdict in judge(found, built_in_policy()).verdicts] == ["memory.peak_*"]


def test_a_headline_of_one_side_alone_does_not_pass() -> None:
    for old, new in ((None, 10.0), (10.0, None)):
        found = diff(delta("time.step", old, new), delta("memory.peak_allocated", 1, 1, unit="bytes"))
        result = judge(found, built_in_policy())
        assert (result.verdicts[0].metric, result.verdicts[0].status, result.exit_code) == ("time.step", "missing", 1)


def test_the_built_in_rules_guard_speed_and_memory() -> None:
    found = diff(
        delta("timing_s/step", 10, 12, unit="s"),
        delta("perf/throughput", 100, 80, "higher", ""),
        delta("phase.update_actor.wall", 100, 130),
        delta("memory.peak_allocated", 100, 125, unit="bytes"),
        delta("perf/max_memory_allocated_gb", 40, 50, unit=""),
        delta("actor/perf/max_memory_reserved_gb", 40, 50, unit=""),
        headline="timing_s/step",
    )
    failing = [
        (verdict.metric, verdict.rule.severity)
        for verdict in judge(found, built_in_policy()).verdicts
        if verdict.status == "regressed"
    ]
    # each once, the headline too: it is timing_s/step here
    assert failing == [
        ("timing_s/step", "error"), ("perf/throughput", "error"), ("phase.update_actor.wall", "warn"),
        ("memory.peak_allocated", "warn"), ("perf/max_memory_allocated_gb", "warn"),
        ("actor/perf/max_memory_reserved_gb", "warn"),
    ]  # fmt: skip


def test_the_word_headline_stands_for_the_headline() -> None:
    result = judge(
        diff(delta("time.device_span", 10, 12), headline="time.device_span"),
        policy(Rule("headline", max_relative=0.05)),
    )
    assert (result.verdicts[0].metric, result.verdicts[0].status) == ("time.device_span", "regressed")


CHIP = Finding("chip", "Ascend910B", "Ascend910C", Severity.SEVERE, "chip differs.")


def test_sides_that_must_not_be_compared_are_not_judged() -> None:
    found = diff(delta("time.step", 10, 10), delta("ess", 1, 0.5, "higher", "ratio"), findings=(CHIP,))
    result = judge(found, policy(FIVE_PERCENT, Rule("ess", min_value=0.8)))
    assert [verdict.status for verdict in result.verdicts] == ["not_comparable", "regressed"]
    assert result.exit_code == 5
    assert "--varied chip" in result.summary


def test_the_policy_can_declare_what_differs() -> None:
    result = judge(diff(delta("time.step", 10, 10), findings=(CHIP,)), policy(FIVE_PERCENT, varied=("chip",)))
    assert (result.verdicts[0].status, result.exit_code) == ("pass", 0)


def test_exact_metrics_decide_from_one_run() -> None:
    verdict = gate(
        delta("workload.total_tokens", 10, 12, "neutral", "count"),
        Rule("workload.total_tokens", max_relative=0.0),
        evidence="runs",
    ).verdicts[0]
    assert (verdict.status, verdict.verified) == ("regressed", True)


def test_lengths_of_responses_vary_by_chance_where_a_rule_allows_a_change() -> None:
    tokens = delta("workload.total_tokens", 787.0, 816.3, "neutral", "count")
    (verdict,) = gate(tokens, Rule(tokens.metric, max_relative=0.03), evidence="auto").verdicts
    assert (verdict.status, verdict.verified) == ("inconclusive", False)
    kernels = delta("workload.kernels", 787.0, 816.3, "neutral", "count")
    (verdict,) = gate(kernels, Rule(kernels.metric, max_relative=0.03), evidence="auto").verdicts
    assert (verdict.status, verdict.verified) == ("regressed", True)


def test_limits_alone_are_not_verified() -> None:
    assert not gate(delta("time.step", 10, 20), FIVE_PERCENT).verdicts[0].verified


def test_the_text_says_what_was_expected_what_was_found_and_all_values() -> None:
    found = delta("time.step", 4752.5, 5017.5, runs=([4750.0, 4755.0], [5017.5]))
    text = gate(found, Rule("time.step", max_relative=0.05, max_absolute=1)).verdicts[0].text
    assert text == (
        "expected at most the larger of +5.0 % and +1 ms, found +5.6 %"
        " (4,752.5 → 5,017.5 ms; runs 4,750, 4,755 against 5,017.5)"
    )


def test_the_text_gives_the_change_of_the_means_where_it_is_another() -> None:
    """Else the values, which are means, contradict the change, which is a median."""
    # the ratios of the pairs are 1.18, 1.46, 2.86 and 3.54: their median is (1.46 * 2.86) ** 0.5 = 2.042
    apart = delta("phase.adv.wall", 12.0, 22.4, runs=([7.0, 17.0], [20.0, 24.8]))
    work = delta("workload.total_tokens", 100, 105, "neutral", "count")
    rule = Rule("phase.adv.wall", max_relative=0.05)
    by_runs = policy(rule, evidence="auto")
    plain, at_work = (judge(found, by_runs).verdicts[0].text for found in (diff(apart), diff(apart, work)))
    assert "found +104.2 %, the median of all pairs of runs (12 → 22.4 ms; the means: +86.7 %;" in plain
    assert "found +94.4 % per token, the median of all pairs of runs (12 → 22.4 ms; the means: +77.8 % per" in at_work
    alike = delta("phase.adv.wall", 12.0, 22.4, runs=([11.9, 12.1], [22.3, 22.5]))
    assert "the means" not in judge(diff(alike), by_runs).verdicts[0].text


@pytest.mark.parametrize(
    ("new", "tokens", "status", "text"),
    [
        # 19.3 % longer for 36.7 % more tokens: 1.193 / 1.367 = 0.8727; a fixed cost may be all that got cheaper
        (119.3, 136.7, "pass", "found -12.7 % per token (100 → 119.3 ms; workload.total_tokens +36.7 %)"),
        (90.0, 136.7, "improved", "found -34.2 % per token (100 → 90 ms; workload.total_tokens +36.7 %)"),
        (140.0, 136.7, "pass", "found +2.4 % per token (100 → 140 ms; workload.total_tokens +36.7 %)"),
        (150.0, 136.7, "regressed", "found +9.7 % per token (100 → 150 ms; workload.total_tokens +36.7 %)"),
        (120.0, 92.0, "regressed", "found +30.4 % per token (100 → 120 ms; workload.total_tokens -8.0 %)"),
        (120.0, 100.3, "regressed", "found +20.0 % (100 → 120 ms)"),  # as good as the same work
        (80.0, 80.0, "pass", "found +0.0 % per token (100 → 80 ms; workload.total_tokens -20.0 %)"),  # no speed-up
        (104.0, 80.0, "inconclusive", "it is unknown how much of the time depends on it"),
        (60.0, 80.0, "improved", "found -25.0 % per token (100 → 60 ms; workload.total_tokens -20.0 %)"),
    ],
)
def test_more_tokens_is_not_slower(new: float, tokens: float, status: str, text: str) -> None:
    found = diff(
        delta("time.step", 100, new),
        delta("workload.kernels", 9, 18, "neutral", "count"),
        delta("workload.total_tokens", 100, tokens, "neutral", "count"),
    )
    result = judge(found, policy(FIVE_PERCENT))
    assert result.verdicts[0].status == status
    assert result.verdicts[0].text.endswith(text)
    note = f"The workload differs (workload.total_tokens {tokens - 100:+.1f} %): times are judged at equal work."
    open_or_failed = status in ("regressed", "inconclusive")
    assert (note in result.summary) == (open_or_failed and abs(tokens - 100) >= 1)


def test_tokens_of_other_steps_excuse_no_profile() -> None:
    """20 % more tokens in the steps that training times say nothing about those under the profiler."""
    found = diff(
        delta("timing_s/step", 10.0, 12.0, unit="s"),
        delta("time.compute", 100.0, 115.0),
        delta("phase.update_actor.compute", 100.0, 115.0),
        delta("phase.update_actor.wall", 100.0, 120.0),
        delta("workload.total_tokens", 100.0, 120.0, "neutral", "count"),
        headline="timing_s/step",
    )
    rules = [Rule(name, max_relative=0.05) for name in ("headline", "time.compute", "phase.*.compute", "phase.*.wall")]
    verdicts = {verdict.metric: verdict.status for verdict in judge(found, policy(*rules)).verdicts}
    assert verdicts == {
        "timing_s/step": "pass",
        "time.compute": "regressed",
        "phase.update_actor.compute": "regressed",
        "phase.update_actor.wall": "pass",
    }
    # WHEN all steps were profiled, the tokens are theirs
    profiled = replace(found, quality=(Finding("no_plain_step", None, None, Severity.CAUTION, "text"),))
    assert {verdict.status for verdict in judge(profiled, policy(*rules)).verdicts} == {"pass"}


GIB = 2.0**30


@pytest.mark.parametrize(
    ("found", "rule", "text"),
    [
        (
            delta(
                "memory.peak_allocated",
                1.02 * GIB,
                1.1 * GIB,
                unit="bytes",
                runs=([1.95 * GIB, 0.09 * GIB], [1.1 * GIB]),
            ),
            Rule("memory.peak_allocated", max_relative=0.05),
            "expected at most +5.0 %, found +7.8 % (1.02 GiB → 1.10 GiB; runs 1.95 GiB, 92.16 MiB against 1.10 GiB);"
            " a relative limit is not usable here, because its runs differ by 1.86 GiB, more than the baseline itself:"
            ' add an absolute one (max_increase_abs = "64MiB")',
        ),
        (
            delta("memory.peak_allocated", GIB, GIB + 2**20, unit="bytes"),
            Rule("memory.peak_allocated", max_absolute=512.0, absolute_unit="KiB"),
            "expected at most +512 KiB, found +0.1 % (1.00 GiB → 1.00 GiB)",
        ),
        (
            delta("memory.peak_allocated", 0.0, 100.0, unit="bytes"),
            Rule("memory.peak_allocated", max_absolute=2048.0),
            "expected at most +2.00 KiB, found +100 B (0 B → 100 B)",
        ),
        (
            delta("timing_s/step", 0.345622, None, unit="s"),
            Rule("timing_s/step", max_relative=0.05),
            "expected at most +5.0 %, found no value on the new side (0.345622 s → not measured)",
        ),
        (
            delta("timing_s/step", 39.05, 44.8, unit="s", runs=([None, 39.05], [None, 44.8])),
            Rule("timing_s/step", max_relative=0.05),
            "expected at most +5.0 %, found +14.7 % (39.05 → 44.8 s)",
        ),
        (
            delta("phase.(outside).wall", 1.1967e-11, 6248.88),
            Rule("phase.*.wall", max_relative=0.1, max_absolute=1.0, absolute_unit="ms"),
            "expected at most the larger of +10.0 % and +1 ms, found +6,248.88 ms (1.1967e-11 → 6,248.88 ms)",
        ),
        (
            delta("a", 0.5, 1e308, unit=""),
            Rule("a", max_relative=0.05),
            "expected at most +5.0 %, found +1e+308 (0.5 → 1e+308)",
        ),
        (
            delta("a", -1.7e308, 1.7e308, unit=""),
            Rule("a", max_relative=0.05),
            "expected at most +5.0 %, found -200.0 % (-1.7e+308 → 1.7e+308)",
        ),
        (
            delta("a", 1e308, 0.0, unit=""),
            Rule("a", max_relative=0.05),
            "expected at most +5.0 %, found -100.0 % (1e+308 → 0)",
        ),
    ],
)
def test_texts_are_read_by_people(found: Delta, rule: Rule, text: str) -> None:
    assert gate(found, rule).verdicts[0].text == text


def test_other_measures_of_the_work_are_no_tokens() -> None:
    """An implementation that launches more kernels, on more elements, is not asked for more."""
    for measure in ("workload.kernels", "workload.input_elements", "workload.micro_batches"):
        found = diff(delta("time.step", 100, 150), delta(measure, 100, 200, "neutral", "count"))
        result = judge(found, policy(FIVE_PERCENT))
        assert (result.verdicts[0].status, "per token" in result.verdicts[0].text) == ("regressed", False)
        assert "work" not in result.summary


def test_generation_goes_with_the_tokens_of_responses() -> None:
    found = diff(
        delta("phase.generate_sequences.wall", 100, 148), delta("phase.update_actor.wall", 100, 148),
        delta("workload.total_tokens", 100, 120, "neutral", "count"),
        delta("workload.response_tokens", 60, 90, "neutral", "count"),
    )  # fmt: skip
    verdicts = judge(found, policy(Rule("phase.*.wall", max_relative=0.05))).verdicts
    assert [verdict.status for verdict in verdicts] == ["pass", "regressed"]
    assert "found -1.3 % per response token" in verdicts[0].text
    assert "found +23.3 % per token" in verdicts[1].text


@pytest.mark.parametrize("prompt", [(100.0, 100.0), None])
def test_tokens_of_responses_follow_from_lengths(prompt: tuple[float, float] | None) -> None:
    """As in the diff: 50 % more generation for 50 % longer responses is not slower, though all tokens are 25 % more."""
    found = diff(
        delta("phase.generate_sequences.wall", 100, 150),
        delta("workload.total_tokens", 2000, 2500, "neutral", "count"),
        delta("workload.response_length_mean", 100, 150, "neutral", "count"),
        *([delta("workload.prompt_length_mean", *prompt, "neutral", "count")] if prompt else []),
    )
    verdict = judge(found, policy(Rule("phase.*.wall", max_relative=0.05))).verdicts[0]
    if prompt:
        assert verdict.status == "pass"
        assert "found +0.0 % per response token" in verdict.text and "response tokens +50.0 %" in verdict.text
    else:  # without lengths of prompts, tokens of responses are unknown
        assert (verdict.status, "found +20.0 % per token" in verdict.text) == ("regressed", True)


def test_the_time_per_token_is_the_one_that_the_diff_shows() -> None:
    found = diff(
        delta("timing_s/step", 0.414, 0.494, unit="s"), delta("timing_per_token_ms/step", 0.3238, 0.2829, unit=""),
        delta("workload.total_tokens", 1277.3, 1746.5, "neutral", "count"), headline="timing_s/step",
    )  # fmt: skip
    verdict = judge(found, policy(Rule("headline", max_relative=0.05))).verdicts[0]
    assert (verdict.status, "found -12.6 % per token" in verdict.text) == ("pass", True)


number = st.none() | st.floats(allow_nan=True, allow_infinity=True)


@given(number, number, st.sampled_from(["lower", "higher", "neutral"]), st.sampled_from(["limits", "runs"]),
       st.none() | st.floats(0, 1), st.none() | st.floats(0, 1e9), st.none() | st.floats(-1e9, 1e9))  # fmt: skip
def test_what_is_no_number_never_passes(
    baseline: float | None, new: float | None, polarity: str, evidence: str, relative: float | None,
    absolute: float | None, least: float | None,
) -> None:  # fmt: skip
    rule = Rule("m", max_relative=relative, max_absolute=absolute, min_value=least)
    made = Delta("m", "ms", Polarity(polarity), baseline, new, None, None, {"baseline": (baseline,), "new": (new,)})
    result = judge(diff(made), policy(rule, evidence=evidence))
    (verdict,) = result.verdicts
    assert verdict.status in list(Status)
    if new is None or not math.isfinite(new):
        assert (verdict.status, result.exit_code) == ("missing", 1)
    elif (relative, absolute) != (None, None) and (baseline is None or not math.isfinite(baseline)):
        assert verdict.status in ("missing", "regressed")


@given(st.floats(0.001, 1e9), st.floats(0, 3), st.floats(0.001, 1))
def test_a_worse_new_value_never_has_a_better_verdict(baseline: float, growth: float, limit: float) -> None:
    order = ["improved", "pass", "regressed"]
    places = [
        order.index(
            gate(delta("time.step", baseline, baseline * factor), Rule("time.step", max_relative=limit))
            .verdicts[0]
            .status
        )
        for factor in (growth, growth + 0.01, growth + 1)
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("unit", "baseline", "new", "limit", "status"),
    [
        ("s", 0.193, 0.288, (1.0, "ms"), "regressed"),  # 95 ms more
        ("ms", 193.0, 288.0, (1.0, "ms"), "regressed"),
        ("s", 0.193, 0.288, (0.1, "s"), "pass"),
        ("ms", 193.0, 288.0, (0.1, "s"), "pass"),
        ("ms", 193.0, 288.0, (94_000.0, "us"), "regressed"),
        ("s", 0.193, 0.288, (1.0, ""), "pass"),  # a bare number is in seconds here
        ("bytes", 2.0**30, 2.0**30 + 65 * 2**20, (64.0, "MiB"), "regressed"),
        ("bytes", 2.0**30, 2.0**30 + 63 * 2**20, (64.0, "MiB"), "pass"),
        ("bytes", 2.0**30, 2.0**31, (1.5, "GiB"), "pass"),
    ],
)
def test_an_absolute_limit_has_its_own_unit(
    unit: str, baseline: float, new: float, limit: tuple[float, str], status: str
) -> None:
    found = delta("m", baseline, new, unit=unit)
    assert gate(found, Rule("m", max_absolute=limit[0], absolute_unit=limit[1])).verdicts[0].status == status


def test_the_headline_has_one_limit_in_ms_and_in_s() -> None:
    rule = Rule("headline", max_relative=0.05, max_absolute=1.0, absolute_unit="ms")
    for metric, unit, scale in (("time.step", "ms", 1.0), ("timing_s/step", "s", 1e-3)):
        for new, status in ((193.9, "pass"), (203.0, "regressed"), (202.0, "pass")):
            found = diff(delta(metric, 193.0 * scale, new * scale, unit=unit), headline=metric)
            verdict = judge(found, policy(rule)).verdicts[0]
            assert (verdict.status, "the larger of +5.0 % and +1 ms" in verdict.text) == (status, True)


@pytest.mark.parametrize(
    ("unit", "limit", "message"),
    [
        ("bytes", "ms", "rule for m has the limit 1ms, a time, but m is measured in bytes"),
        ("ms", "GiB", "rule for m has the limit 1GiB, a size, but m is measured in ms"),
        ("", "s", "rule for m has the limit 1s, a time, but m has no unit"),
        ("count", "B", "rule for m has the limit 1B, a size, but m is measured in count"),
    ],
)
def test_a_limit_of_another_kind_is_refused_by_name(unit: str, limit: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        gate(delta("m", 1.0, 2.0, unit=unit), Rule("m", max_absolute=1.0, absolute_unit=limit))


class TestWhoJudges:
    """Each metric is judged by some rule: what takes it from the others judges it, or says that it is turned off."""

    EXCEPTION = Rule("timing_s/*", max_relative=5.0, expires="2099-12-31", reason="r", optional=True)

    @pytest.mark.parametrize(
        "rules",
        [
            (replace(EXCEPTION, except_for=("timing_s/gen",)), Rule("timing_s/gen", max_relative=0.05)),
            (
                Rule("timing_s/*", severity=RuleSeverity.OFF, except_for=("timing_s/gen",)),
                Rule("timing_s/gen", max_relative=0.05),
            ),
        ],
    )
    def test_what_an_exception_leaves_out_others_judge(self, rules: tuple[Rule, ...]) -> None:
        found = diff(delta("timing_s/gen", 10.0, 20.0, unit="s"), headline="timing_s/step")
        assert judge(found, policy(*rules)).exit_code == 1

    def test_what_an_exception_cannot_judge_others_do(self) -> None:
        rules = (Rule("actor/grad_norm", max_relative=0.2), replace(self.EXCEPTION, metric="actor/*"))
        assert judge(diff(delta("actor/grad_norm", 1.0, 3.0, "neutral", "")), policy(*rules)).exit_code == 1
        of_step = (Rule("time.step@max", max_relative=0.05), replace(self.EXCEPTION, metric="time.*"))
        found = diff(delta("time.step", 10.0, 10.0), delta("time.step@max", 10.0, 20.0))
        assert judge(found, policy(*of_step)).exit_code == 1

    def test_an_exception_that_is_skipped_takes_nothing(self) -> None:
        rules = (Rule("timing_s/gen", max_value=1.0), replace(self.EXCEPTION, metric="timing_s/gen"))
        assert judge(diff(delta("timing_s/gen", None, 5.0, unit="s")), policy(*rules)).exit_code == 1

    def test_what_it_judges_others_do_not(self) -> None:
        rules = (Rule("timing_s/gen", max_relative=0.05), self.EXCEPTION)
        result = judge(diff(delta("timing_s/gen", 10.0, 20.0, unit="s")), policy(*rules))
        assert [verdict.rule.metric for verdict in result.verdicts] == ["timing_s/*"]
        assert (result.exit_code, result.skipped) == (0, ())

    def test_what_is_turned_off_nobody_judges(self) -> None:
        rules = (
            Rule("timing_s/*", max_relative=0.05),
            Rule("timing_s/gen", severity=RuleSeverity.OFF),
            Rule("time.step", max_relative=0.05),
        )
        found = diff(delta("timing_s/gen", 10.0, 20.0, unit="s"), delta("time.step", 1.0, 1.0))
        assert [verdict.metric for verdict in judge(found, policy(*rules)).verdicts] == ["time.step"]


def test_an_optional_rule_without_a_baseline_judges_the_value() -> None:
    rule = Rule("perf/max_memory_reserved_gb", max_relative=0.05, max_value=70.0, optional=True)
    for new, code in ((79.0, 1), (60.0, 0)):
        result = gate(delta("perf/max_memory_reserved_gb", None, new, unit=""), rule)
        assert (len(result.verdicts), result.exit_code, result.skipped) == (1, code, ())
        assert result.verdicts[0].rule == rule


def test_limits_of_another_unit_do_not_judge_the_headline() -> None:
    rule = Rule("headline", max_absolute=1.0, absolute_unit="s", max_value=40.0, optional=True)
    found = diff(delta("perf/throughput", 1000.0, 1000.0, "higher", "tokens/s"), headline="perf/throughput")
    assert [verdict.status for verdict in judge(found, policy(rule)).verdicts] == ["missing"]


MOST_LACK = ((1.0, None, None), (1.0, None))
MOST_HAVE = ((1.0, 1.0, None), (1.0,))


def judged_of_runs(metric: str, rule: str, runs: tuple[float | None, ...], left_out: Sequence[int] = ()) -> Verdict:
    """The verdict on a value of these new runs, of which some do not count."""
    found = diff(delta(metric, 1.0, 1.0, "higher", "", ((1.0,) * 3, runs)))
    new = tuple(
        RunInfo("r", "r", 0, 0, 1, left_out="runs.failed" if number in left_out else "") for number in range(len(runs))
    )
    found = replace(found, new=replace(found.new, runs=new))
    (verdict,) = judge(found, policy(Rule(rule, min_value=0.9))).verdicts
    return verdict


@pytest.mark.parametrize("metric", ["my/score", "perf/throughput", "phase.generate_sequences.wall"])
@pytest.mark.parametrize("runs", [*MOST_LACK, *MOST_HAVE])
def test_a_value_that_most_runs_lack_does_not_pass(metric: str, runs: tuple[float | None, ...]) -> None:
    verdict = judged_of_runs(metric, metric, runs)
    assert verdict.status == ("inconclusive" if runs in MOST_LACK else "pass")
    assert ("only 1 of" in verdict.text) == (runs in MOST_LACK)


@pytest.mark.parametrize("runs", MOST_LACK)
def test_what_a_profile_measures_few_runs_have(runs: tuple[float | None, ...]) -> None:
    for metric in ("time.step", "phase.update_actor.compute", "memory.peak_allocated"):
        assert judged_of_runs(metric, metric, runs).status == "pass"


def test_runs_that_do_not_count_lack_nothing() -> None:
    assert judged_of_runs("my/score", "my/score", (1.0, 1.0), left_out=[1]).status == "pass"
    assert judged_of_runs("my/score", "my/score", (1.0, None, None), left_out=[2]).status == "inconclusive"


@pytest.mark.parametrize(
    "metric",
    [
        "timing_s/update_weights",
        "timing_s/save_checkpoint",
        "timing_s/reshard",
        "perf/update_weights_time",
        "timing/train/prepare_for_generation/total",
        "phase.resharding_to_infer.wall",
    ],
)
def test_what_does_not_follow_tokens_is_not_judged_per_token(metric: str) -> None:
    tokens = delta("workload.total_tokens", 100.0, 200.0, "neutral", "")
    (verdict,) = judge(
        diff(delta(metric, 5.0, 9.8, unit="s"), tokens), policy(Rule(metric, max_relative=0.05))
    ).verdicts
    assert verdict.status == "regressed"


@pytest.mark.parametrize(
    ("limit", "new", "text"),
    [
        (0.0025, 100.26, "at most +0.25 %, found +0.3 %"),
        (0.05, 105.04, "at most +5.0 %, found +5.04 %"),
        (0.05, 112.0, "at most +5.0 %, found +12.0 %"),
    ],
)
def test_a_change_beyond_its_limit_does_not_look_like_it(limit: float, new: float, text: str) -> None:
    (verdict,) = gate(delta("time.step", 100.0, new), Rule("time.step", max_relative=limit)).verdicts
    assert text in verdict.text
