"""Measures of a metric over its steps beside the mean, and its series: against numpy, and in a policy's rules."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare.compare.aggregates import aggregated
from rlcompare.compare.records import RunSeries
from rlcompare.compare.series import ALL_POINTS, MOST_POINTS, kept, thinned_series
from rlcompare.gate.rules import judge
from rlcompare.model.diff import Delta, Diff
from rlcompare.model.verdict import Policy, Rule, Verdict
from rlcompare.model.words import EvidenceMode, Polarity, Status
from tests.sql.rollup_stores import RollupStore, compared, found, side

TIME, ESS = "timing_s/step", "mismatch/rollout_is_eff_sample_size"


def values_of(name: str, steps: int) -> list[float]:
    rng = random.Random(name)
    return [30 + rng.expovariate(1 / 5) for _ in range(steps)]


def logged(path: Path, steps: int = 57) -> Path:
    """Step times with a long tail, after a first step that does not count; an effective sample size that falls."""
    store = RollupStore(path)
    times = [99.0, *values_of(path.stem, steps)]
    rows = [(step, TIME, value) for step, value in enumerate(times, 1)]
    rows += [(step, ESS, 0.9 if step <= 50 else 0.3) for step in range(1, steps + 2)]
    store.add_many("metric", [{"step": step, "name": name, "value": value, "source": "file", "profiled": False}
                              for step, name, value in rows])  # fmt: skip
    return store.done()


@pytest.fixture(scope="module")
def diff(tmp_path_factory: pytest.TempPathFactory) -> Diff:
    """Two runs against one."""
    folder = tmp_path_factory.mktemp("runs")
    old, new = logged(folder / "old.duckdb"), [logged(folder / f"{name}.duckdb") for name in ("new", "again")]
    return compared(side("old", old), side("new", *new))


def samples(diff: Diff, name: str) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    (delta,) = aggregated(diff, name)
    return delta.samples["baseline"], delta.samples["new"]


@pytest.mark.parametrize("measure", ["median", "trimmed", "p5", "p95", "worst10", "above36.5", "below31", "steps11-20"])
def test_measures_of_each_run(diff: Diff, measure: str) -> None:
    def expected(name: str) -> float:
        values = np.array(values_of(name, 57))
        every = np.array([99.0, *values])
        windows = np.convolve(values, np.ones(10) / 10, "valid")
        return float({
            "median": np.median(values),
            "trimmed": np.sort(values)[5:-5].mean(),
            "p5": np.quantile(values, 0.05, method="inverted_cdf"),
            "p95": np.quantile(values, 0.95, method="inverted_cdf"),
            "worst10": windows.max(),
            "above36.5": (values > 36.5).mean(),
            "below31": (values < 31).mean(),
            "steps11-20": every[10:20].mean(),
        }[measure])  # fmt: skip

    baseline, new = samples(diff, f"{TIME}@{measure}")
    assert baseline == (pytest.approx(expected("old"), rel=1e-5),)
    assert new == (pytest.approx(expected("new"), rel=1e-5), pytest.approx(expected("again"), rel=1e-5))


def test_what_a_measure_is_of(diff: Diff) -> None:
    (time,) = aggregated(diff, f"{TIME}@above40")
    assert (time.metric, time.unit, time.polarity) == (f"{TIME}@above40", "ratio", "lower")
    (low,) = aggregated(diff, f"{ESS}@below0.5")
    assert (low.unit, low.polarity, low.new, low.delta) == ("ratio", "lower", pytest.approx(8 / 58), 0.0)
    (worst,) = aggregated(diff, f"{ESS}@worst10")
    assert worst.new == pytest.approx((2 * 0.9 + 8 * 0.3) / 10)
    assert "runs_overlap" in worst.evidence
    assert [delta.metric for delta in aggregated(diff, "timing_s/*@p95")] == [f"{TIME}@p95"]
    for unknown in (f"{TIME}@p50", f"{TIME}@", "no/such@p95", f"{TIME}@above", f"{TIME}@steps500-600"):
        assert aggregated(diff, unknown) == ()


def test_shares_and_windows_are_of_steps_that_both_sides_logged(tmp_path: Path) -> None:
    """Later steps of the longer side do not count, nor does the first step, unless a window names it."""
    diff = compared(logged(tmp_path / "old.duckdb", 57), logged(tmp_path / "new.duckdb", 27))
    old, new = values_of("old", 57)[:27], values_of("new", 27)
    expected = {
        "above40": [float(np.mean(np.array(values) > 40)) for values in (old, new)],
        "steps21-58": [float(np.mean(values[19:])) for values in (old, new)],
        "steps1-1": [99.0, 99.0],
    }
    for measure, means in expected.items():
        assert samples(diff, f"{TIME}@{measure}") == tuple((pytest.approx(mean, rel=1e-5),) for mean in means)
    (later,) = aggregated(diff, f"{TIME}@steps30-58")
    assert later.samples == {"baseline": (pytest.approx(np.mean(values_of("old", 57)[28:]), rel=1e-5),), "new": (None,)}
    rule = Rule(f"{TIME}@above40", max_absolute=0.05)
    (share,) = (one for one in judge(diff, Policy("t", (rule,))).verdicts if one.rule == rule)
    assert "the sampling error of a share over 27 steps" in share.text


def test_rules_name_measures(diff: Diff) -> None:
    """A rule on the worst window fails where one on the mean passes; an unknown measure is a missing metric."""
    rules = (Rule(ESS, min_value=0.5), Rule(f"{ESS}@worst10", min_value=0.5), Rule(f"{TIME}@p50", max_relative=0.1))
    verdicts = judge(diff, Policy("test", rules)).verdicts
    statuses = [verdict.status for verdict in verdicts if verdict.rule in rules]
    assert statuses == [Status.PASS, Status.REGRESSED, Status.MISSING]


@pytest.mark.parametrize("named", ["", "glob"])
@pytest.mark.parametrize("measure", ["median", "trimmed", "p5", "p95", "worst10", "above36.5", "below31", "steps11-20"])
def test_limits_of_all_kinds_on_all_measures(diff: Diff, measure: str, named: str) -> None:
    """By name and by glob, each limit just on either side of what is measured."""
    name = f"{TIME}@{measure}"
    (delta,) = aggregated(diff, name)
    assert delta.baseline is not None and delta.new is not None and delta.delta is not None
    new = float(np.median([run for run in delta.samples["new"] if run is not None]))
    worse = delta.baseline - new if delta.polarity == "higher" else new - delta.baseline
    metric = f"timing_s/*@{measure}" if named else name
    cases = [
        (Rule(metric, min_value=new - 1e-6), "pass"), (Rule(metric, min_value=new + 1e-6), "regressed"),
        (Rule(metric, max_value=new + 1e-6), "pass"), (Rule(metric, max_value=new - 1e-6), "regressed"),
        (Rule(metric, max_absolute=abs(worse) + 0.01), "pass"), (Rule(metric, max_relative=5.0), "pass"),
    ]  # fmt: skip
    for rule, expected in cases:
        verdict = verdict_of(diff, rule)
        assert (verdict.metric, verdict.status) == (name, expected), verdict


def verdict_of(diff: Diff, rule: Rule) -> Verdict:
    """By the means alone."""
    verdicts = judge(diff, Policy("t", (rule,), EvidenceMode.LIMITS)).verdicts
    return next(verdict for verdict in verdicts if verdict.rule == rule)


def test_other_names_of_measures(diff: Diff) -> None:
    """The headline's, those over ranks, names that are logged with an @, and measures that do not exist."""
    own = Delta("time.step@max", "ms", Polarity.LOWER, 10.0, 20.0, 10.0, 2.0, {"baseline": (10.0,), "new": (20.0,)})
    other = replace(own, metric="val-core/gsm8k/reward/mean@8", unit="", polarity=Polarity.HIGHER)
    found = replace(diff, overall=(*diff.overall, own, replace(own, metric="time.step"), other))
    table = {
        "headline@p95": (TIME + "@p95", "pass"),
        "time.step@max": ("time.step@max", "regressed"),
        "time.*@max": ("time.step@max", "regressed"),
        "time.*": ("time.step", "regressed"),
        "val-core/*": ("val-core/gsm8k/reward/mean@8", "pass"),
        "timing_s/*@p96": ("timing_s/*@p96", f"{TIME} has no measure p96: choose from median"),
        "time.step@p95": ("time.step@p95", "time.step has no measure p95: choose from max, spread"),
    }
    for metric, (judged, expected) in table.items():
        verdict = verdict_of(found, Rule(metric, max_relative=0.5))
        assert verdict.metric == judged
        assert verdict.status == expected or expected in verdict.text, verdict


def test_the_table_of_metrics_has_median_and_percentile(diff: Diff) -> None:
    row = found(diff, "metrics", TIME)
    assert row["baseline_median"] == pytest.approx(np.median(values_of("old", 57)))
    high = [np.quantile(values_of(name, 57), 0.95, method="inverted_cdf") for name in ("new", "again")]
    assert row["new_p95"] == pytest.approx(np.mean(high))


def test_few_steps(tmp_path: Path) -> None:
    diff = compared(logged(tmp_path / "a.duckdb", 1), logged(tmp_path / "b.duckdb", 3))
    assert aggregated(diff, f"{TIME}@worst10") == ()  # the mean of all is no worst of ten
    (high,) = aggregated(diff, f"{TIME}@p95")
    assert high.samples == {"baseline": (pytest.approx(values_of("a", 1)[0]),), "new": (values_of("b", 3)[0],)}


@given(values=st.lists(st.floats(-1e6, 1e6), max_size=400), most=st.integers(2, 120))
def test_a_thinned_series_keeps_the_extremes_of_each_part(values: list[float], most: int) -> None:
    places = kept(values, most)
    assert len(places) <= max(most, 2) and places == sorted(set(places))
    if len(values) <= most:
        assert places == list(range(len(values)))
    else:
        edges = [len(values) * part // (most // 2) for part in range(most // 2 + 1)]
        for start, stop in pairwise(edges):
            own = [values[place] for place in places if start <= place < stop]
            assert (min(own), max(own)) == (min(values[start:stop]), max(values[start:stop]))


def test_all_series_together_are_small(diff: Diff) -> None:
    long = [RunSeries("new", 0, f"timing_s/{number}", None, list(range(2000)), [1 / 3] * 1999 + [7.0], [])
            for number in range(200)]  # fmt: skip
    made = thinned_series(long)
    assert sum(len(one.steps) for one in made) <= ALL_POINTS
    assert {(one.logged, one.steps[-1], one.values[0], one.values[-1]) for one in made} == {(2000, 1999, 0.333333, 7.0)}
    assert len(thinned_series(long[:1])[0].steps) <= MOST_POINTS
    (own,) = (one for one in diff.series if one.metric == TIME and one.side == "baseline")
    assert own.logged == len(own.steps) == 58
    assert own.values[:3] == (99.0, *(pytest.approx(value, rel=1e-5) for value in values_of("old", 57)[:2]))
