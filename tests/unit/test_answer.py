"""The answer of a report: how much slower, and how sure that is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rlcompare.gate import judge, load_preset
from rlcompare.model.diff import Delta, Diff, Symptom
from rlcompare.model.verdict import GateResult, Policy, Rule, Verdict
from rlcompare.model.words import Comparable, EvidenceMode, Polarity, RuleSeverity, Status
from rlcompare.report.answer import Answer, answer_of
from tests.unit import diff_examples

QUIET = (1.00, 1.01, 0.99, 1.02, 0.98)


def of_runs(baseline: Sequence[float], new: Sequence[float], metric: str = "timing_s/step", **evidence: bool) -> Diff:
    old, fresh = (sum(values) / len(values) for values in (baseline, new))
    samples = {"baseline": tuple(baseline), "new": tuple(new)}
    delta = Delta(metric, "s", Polarity.LOWER, old, fresh, fresh - old, fresh / old, dict(samples), evidence)  # type: ignore[arg-type]
    return replace(diff_examples.identical(), headline=metric, overall=(delta,))


def answer(diff: Diff, gate: GateResult | None = None) -> Answer:
    return answer_of(diff, "no time was measured", gate)


def test_several_runs_make_it_certain() -> None:
    found = answer(of_runs(QUIET, [1.27 * value for value in QUIET]))
    assert (found.text, found.tone) == ("27.0 % slower", "worse")
    # All 25 ratios, by hand: the lowest is 1.27 × 0.98 / 1.02, the highest 1.27 × 1.02 / 0.98.
    assert found.rest.startswith(", certain: 5 runs a side, interval +22.0 … ")
    faster = answer(of_runs([1.27 * value for value in QUIET], QUIET))
    assert (faster.text, faster.tone, faster.mark) == ("21.3 % less time per step", "better", "✓")
    assert faster.rest.startswith(", certain: 5 runs a side, interval -") and faster.rest.endswith("-18.0 %")


def test_one_run_a_side_never_makes_it_certain() -> None:
    large, small = answer(of_runs([1.0], [1.27])), answer(of_runs([1.0], [1.05]))
    assert large.rest.startswith(", likely, but chance is not ruled out: one run a side, interval +")
    assert large.rest.endswith("if runs differ by 3 % (assumed)") and large.tone == "worse"
    assert small.rest.startswith(", not certain: one run a side, interval -") and small.tone == "caution"
    assert "runs a side would settle it" in small.rest


def test_an_interval_that_holds_any_change_is_not_told() -> None:
    """Two models in one folder."""
    found = answer(of_runs([4.4, 47.1], [8.0, 85.0]))
    assert "as runs differ by 167 %" in found.rest and ", interval " not in found.rest


@pytest.mark.parametrize("times", [1.005, 1.03, 1.1, 1.106, 1.108, 1.2])
@pytest.mark.parametrize("runs", [(1.0,), QUIET, (1.0, 1.4, 0.9)])
def test_less_time_is_judged_as_more_time_is(times: float, runs: Sequence[float]) -> None:
    """Found by hand: 10 % less time was not certain though its interval ended at -0.6 %, and was "no change"."""
    diff = of_runs(runs, [value * times for value in runs])
    slower, faster = answer(diff), answer(of_runs([value * times for value in runs], runs))
    assert (faster.tone, slower.tone) in {("better", "worse"), ("caution", "caution"), ("noise", "noise")}
    assert faster.rest.partition(":")[0] == slower.rest.partition(":")[0]
    settle = [found.rest.partition("; about ")[2] for found in (slower, faster)]
    assert settle[0] == settle[1]
    excludes = ["interval +" in slower.rest, " … -" in faster.rest]
    assert excludes == [slower.tone == "worse"] * 2


@pytest.mark.parametrize("times", [0.6, 0.8, 0.88, 0.9, 0.93, 0.97, 0.99, 1.02, 1.04, 1.1, 1.3])
@pytest.mark.parametrize("runs", [(1.0,), (1.0, 1.03), QUIET, (1.0, 1.4, 0.9)])
@pytest.mark.parametrize("preset", ["default", "strict"])
def test_a_gate_shows_the_same_interval(times: float, runs: Sequence[float], preset: str) -> None:
    """Of a change for the better, one of them made the end surer that the other did not."""
    diff = of_runs(runs, [value * times for value in runs])
    (verdict,) = (found for found in judge(diff, load_preset(preset)).verdicts if found.metric == diff.headline)
    shown = [re.findall(r"interval (.+? … .+?) %", text) for text in (answer(diff).rest, verdict.text)]
    assert len(shown[1]) == 1
    assert shown[0] in ([], shown[1])


def test_a_gate_says_that_other_metrics_make_its_interval_wider() -> None:
    diff = of_runs((1.0,), (1.1,))
    free, comm = (replace(diff.overall[0], metric=metric) for metric in ("time.free", "time.comm"))
    diff = replace(diff, overall=(*diff.overall, free, comm))
    rules = tuple(Rule(metric, max_relative=0.05) for metric in ("time.free", "time.comm", "headline"))
    first, *others = (verdict.text for verdict in judge(diff, Policy("", rules)).verdicts)
    assert "share the odds" not in first + others[0]
    assert ", with the false-alarm rate shared by 2 metrics" in others[1]


def test_noisy_runs_are_not_certain() -> None:
    found = answer(of_runs([1.0, 1.4, 0.9, 1.3, 1.1], [1.2, 1.5, 1.0, 1.3, 1.25]))
    assert found.rest.startswith(", not certain: 5 runs a side, interval -") and found.tone == "caution"


def test_it_is_not_certain_where_the_pairs_of_runs_moved_the_other_way() -> None:
    """One run that hung makes the mean slower; the others are certainly faster."""
    found = answer(of_runs([1.0 + 0.001 * run for run in range(12)], [*(0.9 + 0.001 * run for run in range(11)), 3.0]))
    assert found.text.endswith("slower") and found.tone == "caution"
    assert ", not certain: 12 runs a side, interval -1" in found.rest
    assert found.rest.endswith("the median of all pairs of runs is -9.9 %")


def test_runs_that_overlap_and_changes_of_nothing() -> None:
    overlap = answer(of_runs([1.0, 1.2], [1.1, 1.25], runs_overlap=True))
    assert overlap.text == "No certain change" and "the runs of both sides overlap (2 runs a side)" in overlap.rest
    quiet = [1 + 0.01 * (value - 1) for value in QUIET]
    same = answer(of_runs(quiet, [1.004 * value for value in quiet]))
    assert (same.text, same.rest, same.mark) == ("No change worth naming", ": +0.4 %, within 1 % (5 runs a side)", "≈")


@pytest.mark.parametrize(
    ("runs", "hidden"),
    [([1.0], "one run a side could hide up to 10 %"), ([1.0, 1.2, 0.9, 1.1, 0.8], "5 runs a side could hide up to 3")],
)
def test_no_change_is_not_shown_by_runs_that_may_hide_one(runs: Sequence[float], hidden: str) -> None:
    same = answer(of_runs(runs, [1.004 * value for value in runs]))
    assert (same.text, same.mark) == ("No change seen", "≈") and same.rest.startswith(f": +0.4 %, but {hidden}")
    found = answer(of_runs([1.0], [1.004]), GateResult(Policy("", (), noise=0.002), (), 0, ""))
    assert found.text == "No change worth naming", "by the policy, runs hardly differ"


def with_an_odd_run(diff: Diff) -> Diff:
    """The sixth run of the baseline does not count."""
    run = diff.baseline.runs[0]
    runs = (*(replace(run, name=str(n)) for n in range(5)), replace(run, name="odd", left_out="it has 3 of 60 steps"))
    return replace(diff, baseline=replace(diff.baseline, runs=runs), new=replace(diff.new, runs=runs[:5]))


def test_runs_that_do_not_count_are_left_out() -> None:
    found = answer(with_an_odd_run(of_runs([*QUIET, 9.0], [1.27 * value for value in QUIET])))
    assert "5 runs a side" in found.rest and "the median of all pairs of runs is +27.0 %" in found.rest


def test_a_run_that_does_not_count_overlaps_with_none() -> None:
    found = answer(with_an_odd_run(of_runs([*QUIET, 1.3], [1.27 * value for value in QUIET], runs_overlap=True)))
    assert found.tone == "worse" and ", certain: 5 runs a side" in found.rest
    found = answer(with_an_odd_run(of_runs([*QUIET, 1.3], [1.02 * value for value in QUIET], runs_overlap=True)))
    assert found.rest.endswith("but the runs of both sides overlap (5 runs a side)")


@pytest.mark.parametrize(
    ("severity", "words", "tone"), [("error", "is not", "worse"), ("warn", "may not be", "caution")]
)
def test_nothing_is_praised_where_training_is_not_stable(severity: str, words: str, tone: str) -> None:
    symptom = Symptom("health.kl", "actor/kl", "new", RuleSeverity(severity), None, None, None, "The KL is high.")
    faster = replace(of_runs([1.27 * value for value in QUIET], QUIET), symptoms=(symptom,))
    assert (answer(faster).text, answer(faster).tone) == (
        f"21.3 % less time per step, but training {words} stable",
        tone,
    )


def test_a_failed_gate_and_sides_that_must_not_be_compared() -> None:
    faster = of_runs([1.27 * value for value in QUIET], QUIET)
    assert answer(faster, GateResult(Policy("", ()), (), 1, "")).tone == "caution"
    barred = replace(faster, comparability=replace(faster.comparability, status=Comparable.NOT_COMPARABLE))
    assert (answer(barred).text, answer(barred).tone) == ("Not comparable", "worse")


def test_the_gate_and_the_page_say_the_same() -> None:
    """The policy's noise counts, and what the gate decided by its history."""
    diff, quiet = of_runs([1.0], [1.06]), Policy("", (), noise=0.01)
    assert answer(diff).rest.startswith(", not certain")
    found = answer(diff, GateResult(quiet, (), 0, ""))
    assert found.rest.startswith(", likely") and "if runs differ by 1 % (assumed)" in found.rest
    verdict = Verdict(Rule("headline"), "timing_s/step", Status.REGRESSED, "expected x, found y", 1.0, 1.06, "s", False)
    by_history = answer(diff, GateResult(Policy("", ()), (verdict,), 1, ""))
    assert (by_history.rest, by_history.tone) == (
        ", by the gate: expected x, found y; chance is not ruled out: one run a side",
        "worse",
    )
    by_limits = answer(diff, GateResult(Policy("", (), EvidenceMode.LIMITS), (verdict,), 1, ""))
    assert by_limits.rest.startswith(", not certain")


def test_other_headlines_and_none() -> None:
    assert answer(of_runs([1.0], [2.5], "time.comm")).text == "Communication takes 2.5 times as long"
    assert answer(of_runs([1.0], [2.5])).text == "2.5 times as long per step"
    span = "The device, from its first task to its last, takes 50.0 % less time"  # idle time is in it: it is no work
    assert answer(of_runs([1.0], [0.5], "time.device_span")).text == span
    assert answer(diff_examples.empty()).text == "No time was measured"
    only_new = replace(of_runs([1.0], [1.0]).overall[0], baseline=None, delta=None, ratio=None)
    assert answer(replace(of_runs([1.0], [1.0]), overall=(only_new,))).text == "Not measured on the baseline"
