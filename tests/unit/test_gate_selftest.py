"""``rlcompare gate --selftest``: it passes on every preset, and finds each kind of rule that is of no use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rlcompare.gate import built_in_policy, load_policy, load_preset
from rlcompare.gate.selftest import Trial, try_policy
from rlcompare.model.diff import Diff
from rlcompare.model.verdict import PRESETS
from tests.unit.test_gate_policy_files import rule
from tests.unit.test_gate_rules import delta, diff


def tried(folder: Path, text: str, found: Diff | None = None) -> tuple[Trial, ...]:
    path = folder / "p.toml"
    path.write_text(text)
    return try_policy(load_policy(path), found)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_pass(name: str) -> None:
    policy = load_preset(name)
    trials = try_policy(policy)
    assert [trial for trial in trials if trial.problem] == []
    assert {trial.rule.metric for trial in trials} == {one.metric for one in policy.rules}
    for trial in trials:
        if trial.rule.max_relative is not None:
            assert (trial.equal, trial.within, trial.beyond) == ("pass", "pass", "regressed"), trial


def test_the_change_that_fires_lies_beyond_the_limit_by_the_numbers() -> None:
    """Of 2 % and 1 ms, as the preset says."""
    (first, *_) = try_policy(load_preset("strict"))
    assert 2 < float(first.fires_at.split()[0].lstrip("+")) <= 4


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (rule("perf/throughput", limit='max_decrease = "100%"'), "it cannot fire"),
        (rule("mismatch/rollout_is_eff_sample_size", limit="min = 1.5"), "every possible value"),
        (rule("mismatch/rollout_is_eff_sample_size", limit="max = 1"), "no possible value"),
        (rule("timing_s/step@above40", limit="max = 2"), "no possible value"),
        (rule("timing_s/step", limit="min = 0"), "no possible value"),
        (rule("timing_s/step", limit="max = -1"), "every possible value"),
        (rule("perf/troughput", "optional = true", limit='max_decrease = "5%"'), "did you mean perf/throughput?"),
        (rule("my_timers/*"), "one direction is better"),
        (rule("time.step", limit='max_increase_abs = "1MiB"'), "a size, but time.step is measured in ms"),
        (rule("x") + '[[rule]]\nmetric = "health.*"\nseverity = "warn"\n[[rule]]\nmetric = "health.kl"\n',
         "another rule decides about this symptom"),
    ],
)  # fmt: skip
def test_what_cannot_fire_or_hold(tmp_path: Path, text: str, problem: str) -> None:
    problems = [trial.problem for trial in tried(tmp_path, text) if trial.problem]
    assert len(problems) == 1
    assert problem in problems[0]


def test_each_limit_of_a_rule_is_tried_alone(tmp_path: Path) -> None:
    text = rule("timing_s/step", "min = 5", "max = 20")
    assert [(trial.limit, trial.fires_at, trial.problem) for trial in tried(tmp_path, text)] == [
        ("at most +5.0 %", "+7.5 %", ""), ("at least 5 s", "1.25 s", ""), ("no more than 20 s", "35 s", ""),
    ]  # fmt: skip


RUNS = ((100.0, 101.0, 99.0, 100.5, 99.5), (300.0,) * 5)


def test_the_baseline_of_a_diff_is_both_sides(tmp_path: Path) -> None:
    """Its new side, three times as slow, does not matter; what the diff has not is said."""
    memory = delta("memory.peak_allocated", 2.0**30, None, unit="bytes")
    found = diff(delta("time.step", 100.0, 300.0, runs=RUNS), memory)
    trials = tried(tmp_path, rule("time.step") + rule("nowhere") + rule("memory.peak_*", "optional = true"), found)
    assert [(trial.metric, trial.equal, trial.within) for trial in trials[:1]] == [("time.step", "pass", "pass")]
    assert (trials[0].problem, trials[1].problem[:16]) == ("", "expected a value")
    assert (trials[2].metric, trials[2].problem) == ("memory.peak_allocated", "")


def test_an_optional_rule_that_nothing_matches_is_told(tmp_path: Path) -> None:
    text = rule("time.step") + rule("memory.peak_*", "optional = true")
    trials = tried(tmp_path, text, diff(delta("time.step", 100.0, 100.0)))
    assert [(trial.metric, trial.skipped != "", trial.problem) for trial in trials] == [
        ("time.step", False, ""), ("memory.peak_*", True, ""),
    ]  # fmt: skip


def test_a_limit_that_real_runs_cannot_exceed(tmp_path: Path) -> None:
    found = diff(delta("memory.peak_allocated", 2.0**30, 2.0**30, unit="bytes"))
    (trial,) = tried(tmp_path, rule("memory.peak_*", 'max_increase_abs = "1TiB"'), found)
    assert trial.problem == "a change of 1,024 times the baseline is within the limits"


def test_metrics_of_a_glob_may_be_too_small_unless_all_are(tmp_path: Path) -> None:
    """10 % and 1 ms, of phases of 0.01 ms and 100 ms."""
    small, large = delta("phase.a.wall", 0.01, 0.01), delta("phase.b.wall", 100.0, 100.0)
    text = rule("phase.*.wall", 'max_increase_abs = "1ms"')
    for data, problems in (((small, large), [False, False]), ((small,), [True])):
        assert [trial.problem != "" for trial in tried(tmp_path, text, diff(*data))] == problems


def test_rules_that_are_off_are_not_tried() -> None:
    policy = built_in_policy()
    off = replace(policy, rules=tuple(replace(one, severity="off") for one in policy.rules))  # type: ignore[arg-type]
    assert try_policy(off) == ()


def test_a_value_at_which_another_metric_is_the_headline(tmp_path: Path) -> None:
    """A step that is shorter than what its device computes is not judged."""
    times = (delta("time.step", 4752, 5017), delta("time.compute", 4000, 4100), delta("time.device_span", 4700, 4950))
    trials = tried(tmp_path, '[[rule]]\nmetric = "headline"\nmin = 0.01\n', diff(*times, headline="time.step"))
    assert [trial.problem for trial in trials] == [
        "at a value within the limit the rule judges another metric than time.step"
    ]
