"""Signs of unstable training: which ones a log shows, what the gate makes of them, and what reports do not say then."""

from __future__ import annotations

import io
import json
import math
import random
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from rlcompare import resources
from rlcompare.cli.main import run
from rlcompare.compare.records import HealthLevel, RunFact, Training
from rlcompare.compare.stability import symptoms_of
from rlcompare.errors import UsageError
from rlcompare.gate import built_in_policy, judge, load_policy
from rlcompare.gate.health import health_verdicts
from rlcompare.language import speaking
from rlcompare.model.diff import SYMPTOMS, Diff, Symptom
from rlcompare.model.words import SIDES, RuleSeverity, SideName
from rlcompare.report.document import from_document, read_document, to_document
from rlcompare.report.gate_text import print_gate
from rlcompare.report.html import render_html
from rlcompare.report.markdown import render_markdown
from rlcompare.report.notebook import render_comparison
from rlcompare.report.sentences import said
from rlcompare.report.terminal import SUMMARY_LINES, print_summary, summary_lines
from rlcompare.report.view import build_view
from tests.unit import diff_examples

Log = Mapping[int, Mapping[str, float]]
Change = Callable[[int, float], float]
"""The new value of a metric, by step and usual value."""

IS = "rollout_corr/rollout_is_"
ESS, SCORE, STALE = f"{IS}eff_sample_size", "critic/score/mean", "training/off_policy/trajectory_staleness/mean"
CLIP = "response_length/clip_ratio"
STALE_COUNT = "fully_async/count/stale_trajectory_processed"
TOTAL = "trainer.total_training_steps"
STEPS = 60


def job(seed: int, steps: int = STEPS, changes: Mapping[str, Change] | None = None, *, faster: float = 1.0) -> Log:
    """A healthy job, with the changes. Each metric has noise of its own: a change does not shift that of the others."""
    usual: dict[str, tuple[Callable[[int], float], float]] = {
        "actor/entropy": (lambda step: 0.4 * math.exp(-step / 200), 0.01),
        "actor/pg_loss": (lambda step: 0.0, 0.003),
        "actor/grad_norm": (lambda step: 0.3, 0.04),
        "actor/ppo_kl": (lambda step: 0.001, 0.0003),
        "actor/kl_loss": (lambda step: 0.002 * step, 0.004),
        SCORE: (lambda step: 0.3 + 0.005 * step, 0.02),
        "val-core/openai/gsm8k/acc/mean@1": (lambda step: 0.3 + 0.005 * step, 0.01),
        CLIP: (lambda step: 0.02, 0.004),
        ESS: (lambda step: 0.97, 0.004),
        f"{IS}mean": (lambda step: 1.0, 0.003),
        f"{IS}std": (lambda step: 0.1, 0.01),
        f"{IS}veto_fraction": (lambda step: 0.001, 0.0),
        f"{IS}catastrophic_token_fraction": (lambda step: 0.001, 0.0),
        "rollout_corr/kl": (lambda step: 0.001, 0.0002),
        "rollout_corr/chi2_token": (lambda step: 0.02, 0.002),
        "rollout_corr/chi2_seq": (lambda step: 2.0, 0.5),
        STALE: (lambda step: 1.0, 0.05),
        STALE_COUNT: (lambda step: 6.0 * step, 0.0),
        "training/off_policy/evicted_samples": (lambda step: 0.0, 0.0),
        "timing_s/gen": (lambda step: 20.0 * faster, 0.3),
        "timing_s/update_actor": (lambda step: 15.0, 0.2),
        "perf/total_num_tokens": (lambda step: 102400.0, 0.0),
    }
    noise = {name: random.Random(f"{seed} {name}") for name in usual}
    made: dict[int, dict[str, float]] = {}
    for step in range(1, steps + 1):
        made[step] = {name: level(step) + noise[name].gauss(0, spread) for name, (level, spread) in usual.items()}
        for name, change in (changes or {}).items():
            made[step][name] = change(step, made[step].get(name, 0.0))
        made[step]["timing_s/step"] = made[step]["timing_s/gen"] + made[step]["timing_s/update_actor"] + 0.5
    return made


def levels(sides: Mapping[str, Log]) -> list[HealthLevel]:
    """The rows of ``health_level.sql`` on two logs."""
    rows = [
        (side, 0, step, name, value if math.isfinite(value) else None)
        for side, log in sides.items()
        for step, data in log.items()
        for name, value in data.items()
    ]
    names = ("side", "run", "step", "given", "value")
    table = pa.table(dict(zip(names, map(pa.array, zip(*rows, strict=True)), strict=True)))
    with duckdb.connect(config={"threads": 1}) as con:
        con.register("logged", table)
        con.execute(
            "CREATE TABLE c_metric_name AS"
            " SELECT row_number() OVER (ORDER BY given) AS id,"
            " replace(given, 'rollout_corr/roll', 'mismatch/roll') AS name, given"
            " FROM (SELECT DISTINCT given FROM logged);"
            " CREATE TABLE c_metric_value AS"
            " SELECT side, run, step, id AS metric, value, FALSE AS profiled, FALSE AS warmup"
            " FROM logged JOIN c_metric_name USING (given)"
        )
        con.execute(resources.sql("compare/macro"))
        con.execute(resources.sql("compare/metric"))
        con.execute(resources.sql("compare/watched"))
        return [HealthLevel(*row) for row in con.execute(resources.sql("compare/health_level")).fetchall()]


def symptoms(
    baseline: Log, new: Log, asked: tuple[int | None, int | None] = (None, None), logged: Sequence[str] = ()
) -> tuple[Symptom, ...]:
    sides = {"baseline": baseline, "new": new}
    training = [Training(side, 0, len(sides[side]), min(sides[side]), max(sides[side]), 0) for side in SIDES]
    env = {side: {} if total is None else {TOTAL: str(total)} for side, total in zip(SIDES, asked, strict=True)}
    return symptoms_of((), levels(sides), training, env, (), logged)


BASELINE = job(1)


def after(step: int, change: Callable[[float], float]) -> Change:
    return lambda now, value: change(value) if now > step else value


def at(step: int, made: float) -> Change:
    return lambda now, value: made if now == step else value


def lasting(made: Callable[[float], float]) -> Change:
    return lambda _, value: made(value)


CASES: tuple[tuple[str, Mapping[str, Change], str, str, str], ...] = (
    # what happens, to which metrics, the symptom, its severity, what its sentence says
    ("a loss is NaN", {"actor/pg_loss": after(40, lambda _: math.nan)}, "non_finite", "error", "first in step 41"),
    ("one gradient norm is infinite", {"actor/grad_norm": at(30, math.inf)}, "non_finite", "error", "1 of 60 steps"),
    ("the score is NaN", {SCORE: after(50, lambda _: math.nan)}, "non_finite", "error", SCORE),
    ("entropy collapses", {"actor/entropy": after(40, lambda v: v / 50)}, "entropy_collapse", "error", "since step 41"),
    ("entropy halves", {"actor/entropy": after(20, lambda v: v * 0.3)},
     "entropy_collapse", "warn", "at the same steps"),
    ("entropy is gone for a while", {"actor/entropy": lambda s, v: v / 90 if 20 < s < 30 else v},
     "entropy_collapse", "warn", "5 steps"),
    ("entropy explodes", {"actor/entropy": after(30, lambda v: v + 9)}, "entropy_explosion", "warn", "rose from"),
    ("gradients explode", {"actor/grad_norm": after(45, lambda v: v * 100)},
     "gradient_explosion", "error", "usual value is 0.28"),
    ("gradients explode for five steps", {"actor/grad_norm": lambda s, v: v * 100 if 20 < s < 26 else v},
     "gradient_explosion", "error", " from step 21 to 25; its usual value is 0.28"),
    ("a gradient jumps, later they explode", {"actor/grad_norm": lambda s, v: v * 100 if s == 10 or s > 45 else v},
     "gradient_explosion", "error", "since step 46"),
    ("a gradient jumps", {"actor/grad_norm": at(33, 40.0)}, "gradient_explosion", "warn", "in step 33"),
    ("gradients have another scale", {"actor/grad_norm": lasting(lambda v: v * 50)},
     "gradient_explosion", "warn", "median"),
    ("nothing is learned", {"actor/grad_norm": after(40, lambda _: 0.0)},
     "no_gradient", "warn", "is 0 in most of the last"),
    ("reward -30 %", {SCORE: lasting(lambda v: v * 0.7)}, "reward_fall", "error", "(-28.8 %)"),
    ("reward falls at the end", {SCORE: after(50, lambda v: v * 0.5)}, "reward_fall", "error", "(-49.1 %)"),
    ("reward -9 %", {SCORE: lasting(lambda v: v * 0.91)}, "reward_fall", "warn", SCORE),
    ("validation -30 %", {"val-core/openai/gsm8k/acc/mean@1": lasting(lambda v: v * 0.7)},
     "reward_fall", "error", "val-core"),
    ("responses no longer end", {CLIP: after(30, lambda _: 0.97)}, "clipped_responses", "warn", "ends at 0.97, the"),
    ("the policy leaves", {"actor/ppo_kl": after(40, lambda _: 1.5)}, "kl", "error", ", higher since step 41"),
    ("KL grows", {"actor/ppo_kl": after(40, lambda _: 0.1)}, "kl", "warn", "actor/ppo_kl"),
    ("KL to the reference grows", {"actor/kl_loss": lasting(lambda v: v * 5)}, "kl", "warn", "actor/kl_loss"),
    ("rollout KL", {"rollout_corr/kl": after(40, lambda _: -0.3)}, "kl", "error", ", lower since step 41"),
    ("chi2 of tokens", {"rollout_corr/chi2_token": after(40, lambda _: 3.0)}, "chi2", "error", "ideal range is < 1"),
    ("chi2 of sequences", {"rollout_corr/chi2_seq": lasting(lambda v: v * 100)}, "chi2", "warn", "in the median"),
    ("ESS 0.4", {ESS: lasting(lambda v: v - 0.57)}, "ess", "error", "rollout_corr/rollout_is_eff_sample_size is 0.39"),
    ("ESS falls for a while", {ESS: lambda s, v: v - 0.5 if 20 < s < 27 else v}, "ess", "error",
     ", lower from step 21 to 26; the ideal range is > 0.8"),
    ("ESS falls in one step", {ESS: at(30, 0.05)}, "ess", "error", ", lower in step 30; the ideal"),
    ("ESS falls now and then", {ESS: lambda s, v: v - 0.5 if s > 20 and s % 3 else v}, "ess", "error",
     ", lower in 26 steps from 22 to 59; the ideal"),
    ("ESS 0.85", {ESS: lasting(lambda v: v - 0.12)}, "ess", "warn", "0.8"),
    ("the weights' mean", {f"{IS}mean": lasting(lambda v: v + 1.4)}, "weights", "error", "ideal range is 0.5 to 2.0"),
    ("the weights' mean drifts", {f"{IS}mean": lasting(lambda v: v + 0.4)}, "weights", "warn", "rollout_is_mean"),
    ("the weights' deviation", {f"{IS}std": lasting(lambda v: v + 1.4)}, "weights", "error", "rollout_is_std"),
    ("rows are vetoed", {f"{IS}veto_fraction": lasting(lambda v: v + 0.1)}, "weights", "error", "veto"),
    ("catastrophic tokens", {f"{IS}catastrophic_token_fraction": lasting(lambda v: v + 0.1)},
     "weights", "warn", "catastr"),
    ("staleness x 5", {STALE: lasting(lambda v: v * 5)}, "staleness", "warn", "the baseline has 1.0"),
    ("five times as many stale samples", {STALE_COUNT: lasting(lambda v: v * 5)},
     "staleness", "warn", "is 30 at worst"),
    ("samples are evicted", {"training/off_policy/evicted_samples": after(20, lambda _: 8.0)},
     "evictions", "warn", "is 8"),
)  # fmt: skip


@pytest.fixture(scope="module")
def faster(tmp_path_factory: pytest.TempPathFactory) -> Diff:
    """A comparison in which the new side is a fifth faster and healthy."""
    folder = tmp_path_factory.mktemp("faster")
    base, new = (file_of(folder / f"{name}.jsonl", log) for name, log in (("a", BASELINE), ("b", job(2, faster=0.6))))
    assert run(["diff", "-d", str(new), "-bp", str(base), "-o", str(folder / "out")]) == 0
    return read_document(folder / "out" / "diff.json", "")


def file_of(path: Path, log: Log) -> Path:
    """verl's file logger."""
    path.write_text("".join(json.dumps({"step": step, "data": data}) + "\n" for step, data in log.items()))
    return path


def texts_of(diff: Diff) -> dict[str, str]:
    """What each report and the gate say."""
    result = judge(diff, built_in_policy())
    view = build_view(diff, result)
    terminal, gate = io.StringIO(), io.StringIO()
    print_summary(view, terminal)
    print_gate(result, gate, diff)
    page = re.sub(r"<(style|script).*?</\1>", "", render_html(view), flags=re.DOTALL)
    shown = {"page": page, "notebook": re.sub(r"<style>.*?</style>", "", render_comparison(view), flags=re.DOTALL)}
    shown = {name: text.replace("better is", "") for name, text in shown.items()}  # the heading of the polarity
    return {"terminal": terminal.getvalue(), "gate": gate.getvalue(), "markdown": render_markdown(view), **shown}


def test_a_healthy_change_is_better(faster: Diff) -> None:
    assert faster.symptoms == ()
    texts = texts_of(faster)
    assert "improved" in texts["gate"]
    for name in ("markdown", "page"):
        assert "better" in texts[name], name
    assert texts["terminal"].startswith("answer      22.5 % less time per step, ")


@pytest.mark.parametrize(
    ("changes", "key", "severity", "says"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_faster_but_not_stable(faster: Diff, changes: Mapping[str, Change], key: str, severity: str, says: str) -> None:
    """Each instability fails the gate or warns, is said everywhere, and nothing is called better."""
    found = symptoms(BASELINE, job(2, changes=changes))
    assert [(symptom.key, symptom.severity, symptom.side) for symptom in found] == [(f"health.{key}", severity, "new")]
    assert says in found[0].text

    diff = replace(faster, symptoms=found)
    assert judge(diff, built_in_policy()).exit_code == (1 if severity == "error" else 0)
    named = found[0].metric.rpartition("/")[2].rpartition("rollout_is_")[2]
    for name, text in texts_of(diff).items():
        assert named in re.sub(r"&#95;(&#8203;)?", "_", text).replace("@&#8203;", "@"), name
        assert not re.search("better|improved", text), name
    answer, stability = " ".join(summary_lines(build_view(diff))).split(" stability   ")
    assert ("training is not stable" if severity == "error" else "training may not be stable") in answer
    assert stability.startswith(f"1 {'error' if severity == 'error' else 'warning'}: ")
    crowded = replace(diff, events=(diff_examples.ONSET,), causes=(replace(diff.causes[0], text="Long. " * 40),))
    for shown in (diff, crowded):
        assert len(summary_lines(build_view(shown))) <= SUMMARY_LINES
    assert from_document(json.loads(json.dumps(to_document(diff)))) == diff


@pytest.mark.parametrize(
    ("steps", "asked", "expected"),
    [
        ((60, 25), (60, 60), ("error", "new", "The log ends at step 25 of 60")),
        ((60, 25), (None, 60), ("error", "new", "step 25 of 60")),
        ((60, 25), (None, None), ("warn", "new", "ends at step 25, the baseline's at step 60")),
        ((25, 25), (60, 60), ("warn", "new", "step 25 of 60")),
        ((25, 60), (60, 60), ("warn", "baseline", "Baseline: the log ends at step 25 of 60")),
        ((60, 25), (60, 25), None),
        ((25, 60), (None, None), None),
        ((60, 59), (60, 60), None),
        ((60, 58), (None, None), None),
    ],
)
def test_a_log_that_ends_early(
    steps: tuple[int, int], asked: tuple[int | None, int | None], expected: tuple[str, str, str] | None
) -> None:
    logs = [job(seed, length) for seed, length in zip((1, 2), steps, strict=True)]
    found = [symptom for symptom in symptoms(logs[0], logs[1], asked) if symptom.key == "health.ends_early"]
    assert len(found) == (expected is not None)
    if expected is not None:
        assert (found[0].severity, found[0].side) == expected[:2]
        assert expected[2] in found[0].text
        # Jobs that were stopped alike may be compared in speed.
        assert found[0].is_stopped_alike == (steps == (25, 25))


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            None,
            "The shortest of 3 logs ends at step 25, the baseline's shortest at step 60; it is unknown how many were",
        ),
        ("60", f"The shortest of 3 logs ends at step 25 of 60 ({TOTAL}); the baseline's shortest ends at step 60."),
    ],
)
def test_of_several_logs_one_may_end_early(asked: str | None, says: str) -> None:
    lengths: Mapping[SideName, tuple[int, ...]] = {"baseline": (60, 60), "new": (60, 25, 60)}
    training = [Training(side, run, end, 1, end, 0) for side, ends in lengths.items() for run, end in enumerate(ends)]
    env = {side: {} if asked is None else {TOTAL: asked} for side in SIDES}
    (found,) = symptoms_of((), (), training, env, (), ())
    assert found.text.startswith(says)


@pytest.mark.parametrize("metric", ["fully_async/count/x", "train/num_gen_batches", "training/filter_groups/x"])
def test_trainers_that_count_steps_otherwise(metric: str) -> None:
    found = symptoms(job(1), job(2, 25), (60, 60), [metric])
    assert [(symptom.key, symptom.severity) for symptom in found] == [("health.ends_early", "warn")]
    assert "it is unknown" in found[0].text


def test_what_both_sides_show_alike_only_warns() -> None:
    """ESS 0.62 on both sides (issue 11, Shows 4), and both logs without a collapse of their own."""
    low = {ESS: lasting(lambda value: value - 0.35)}
    found = symptoms(job(1, changes=low), job(2, changes=low))
    assert [(symptom.key, symptom.severity) for symptom in found] == [("health.ess", "warn")]
    assert "about the same" in found[0].text and found[0].since_step is None
    both = {
        "actor/entropy": after(40, lambda v: v / 50),
        "actor/grad_norm": after(45, lambda v: v * 100),
        SCORE: lasting(lambda v: v / 2),
    }
    assert symptoms(job(1, changes=both), job(2, changes=both)) == ()


@pytest.mark.parametrize(
    ("metric", "before", "now", "worst"),
    [
        (ESS, 0.5, 0.65, min),
        (f"{IS}std", 1.9, 1.3, max),
        (f"{IS}mean", 2.8, 2.3, max),
        (f"{IS}mean", 0.2, 0.4, min),
        ("rollout_corr/kl", 0.3, 0.15, max),
    ],
)
def test_what_came_nearer_to_its_range_only_warns(
    metric: str, before: float, now: float, worst: Callable[[Sequence[float]], float]
) -> None:
    old = job(1, changes={metric: lasting(lambda value: before + value / 100)})
    new = job(2, changes={metric: lasting(lambda value: now + value / 100)})
    (found,) = symptoms(old, new)
    assert (found.severity, found.since_step) == ("warn", None)
    assert metric in found.text and "which is worse" in found.text
    values = [data[metric] for data in new.values()]
    assert found.new == pytest.approx(worst([sum(values[place : place + 5]) / 5 for place in range(STEPS - 4)]))


@pytest.mark.slow
def test_by_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """From logs to the exit code: ESS 0.62 on both sides, and a gradient norm that is NaN."""
    low: dict[str, Change] = {ESS: lasting(lambda value: value - 0.35)}
    changes: dict[str, Mapping[str, Change]] = {
        "base": low, "alike": low, "broken": {**low, "actor/grad_norm": after(40, lambda _: math.nan)},
    }  # fmt: skip
    logs = {
        name: file_of(tmp_path / f"{name}.jsonl", job(0 if name == "alike" else seed, changes=change))
        for seed, (name, change) in enumerate(changes.items())
    }  # of one run a side, a step that is longer by a little would be inconclusive
    said = {}
    for name, code in (("alike", 0), ("broken", 1)):
        assert run(["gate", "-d", str(logs[name]), "-bp", str(logs["base"])]) == code
        said[name] = capfd.readouterr().out
    assert "1 warning: health.ess unhealthy." in said["alike"]
    assert "1 of " in said["broken"] and "health.non_finite unhealthy." in said["broken"]
    assert "actor/grad_norm is not a finite number in 20 of 60 steps, first in step 41" in said["broken"]


@pytest.mark.slow
def test_of_several_runs_the_worst_counts_and_levels_must_not_overlap() -> None:
    def side(name: str, *logs: Log) -> list[HealthLevel]:
        rows = [levels({"baseline": log, "new": log}) for log in logs]
        return [row._replace(run=run) for run, found in enumerate(rows) for row in found if row.side == name]

    def found(*new: Mapping[str, Change]) -> list[tuple[str, str]]:
        rows = side("baseline", job(1), job(2)) + side(
            "new", *(job(seed, changes=of) for seed, of in enumerate(new, 3))
        )
        none: dict[SideName, dict[str, str]] = {"baseline": {}, "new": {}}
        return [(symptom.key, symptom.severity) for symptom in symptoms_of((), rows, (), none, (), ())]

    assert found({}, {}) == []
    assert found({}, {ESS: lasting(lambda v: v - 0.57)}) == [("health.ess", "error")]
    # One of two ends where the baseline's do.
    assert found({}, {SCORE: lasting(lambda v: v * 0.4)}) == [("health.reward_fall", "warn")]
    assert found(*[{SCORE: lasting(lambda v: v * 0.6)}] * 2) == [("health.reward_fall", "error")]
    # One of two has no number at all.
    unknown = {CLIP: lasting(lambda _: math.nan)}
    assert found(unknown, {}) == []
    assert found(unknown, {CLIP: after(30, lambda _: 0.97)}) == [("health.clipped_responses", "warn")]


@pytest.mark.slow
def test_alike_jobs_have_no_symptoms() -> None:
    for seed in range(0, 40, 2):
        steps = (12, 20, 60, 150)[seed % 4]
        assert symptoms(job(seed, steps), job(seed + 1, steps)) == (), seed


def test_without_a_baseline_only_what_is_certain_fails() -> None:
    def alone(name: str, change: Change) -> list[tuple[str, str]]:
        without = {
            step: {other: value for other, value in data.items() if other != name} for step, data in BASELINE.items()
        }
        return [(found.key, found.severity) for found in symptoms(without, job(2, changes={name: change}))]

    assert alone("actor/pg_loss", at(3, math.nan)) == [("health.non_finite", "error")]
    assert alone(ESS, lasting(lambda value: value - 0.35)) == [("health.ess", "warn")]
    assert alone(ESS, lasting(lambda value: value - 0.8)) == [("health.ess", "error")]
    assert alone("actor/grad_norm", after(40, lambda value: value * 100)) == [("health.gradient_explosion", "warn")]
    assert alone(SCORE, lasting(lambda value: value * 0.7)) == []


def test_weights_of_sequences_have_no_alarming_deviation() -> None:
    wide = job(2, changes={f"{IS}std": lasting(lambda v: v + 1.4)})
    for level, severities in (("token", ["error"]), ("sequence", ["warn"])):
        env = {side: {"algorithm.rollout_correction.rollout_is": level} for side in SIDES}
        found = symptoms_of((), levels({"baseline": BASELINE, "new": wide}), (), env, (), ())
        assert [symptom.severity for symptom in found] == severities


def test_the_baseline_is_judged_too_but_never_fails() -> None:
    broken = job(1, changes={"actor/pg_loss": after(40, lambda _: math.nan)})
    (found,) = symptoms(broken, job(2))
    assert (found.side, found.severity) == ("baseline", "warn")
    assert found.text.startswith("Baseline: actor/pg_loss is not a finite number in 20 of 60 steps")


def test_the_worst_steps_are_those_of_the_value() -> None:
    """Of the steps that both logs have, and at the end that is further from the centre."""
    kl = {step: 0.5 if 30 <= step < 35 else 0.9 if step > 80 else 0.01 for step in range(1, 101)}
    new = job(2, 100, {"actor/kl_loss": lambda step, value: kl[step]})
    (found,) = (one for one in symptoms(BASELINE, new) if one.metric == "actor/kl_loss")
    assert found.text.startswith("actor/kl_loss is 0.5 at worst (mean of 5 steps from step 30 on); the baseline")
    assert found.since_step is None

    weights = {step: 0.8 if 40 <= step < 45 else 1.03 if step < 6 else 1.0 for step in range(1, 61)}
    new = job(2, 60, {f"{IS}mean": lambda step, value: weights[step]})
    (found,) = (one for one in symptoms(BASELINE, new) if one.metric.endswith("rollout_is_mean"))
    assert "deviates from 1 by 0.2 at worst (mean of 5 steps from step 40 on), lower" in found.text
    assert found.since_step == 40


class TestPolicy:
    """Each symptom can be turned off, or to a warning, or to an error."""

    @pytest.fixture
    def diff(self, faster: Diff) -> Diff:
        changes = {ESS: lasting(lambda v: v - 0.57), STALE: lasting(lambda v: v * 5)}
        return replace(faster, symptoms=symptoms(BASELINE, job(2, changes=changes)))

    @pytest.mark.parametrize(
        ("rules", "severities", "code"),
        [
            ([], {"health.ess": "error", "health.staleness": "warn"}, 1),
            ([("health.ess", "warn")], {"health.ess": "warn", "health.staleness": "warn"}, 0),
            ([("health.ess", "off")], {"health.staleness": "warn"}, 0),
            ([("health.staleness", "error"), ("health.ess", "off")], {"health.staleness": "error"}, 1),
            ([("health.*", "off")], {}, 0),
            ([("health.ess", "warn"), ("health.*", "off")], {"health.ess": "warn"}, 0),
        ],
    )
    def test_severities(
        self, diff: Diff, tmp_path: Path, rules: Sequence[tuple[str, str]], severities: dict[str, str], code: int
    ) -> None:
        path = tmp_path / "rlcompare.toml"
        tables = [f'[[rule]]\nmetric = "{key}"\nseverity = "{severity}"\nmessage = "ask"\n' for key, severity in rules]
        path.write_text('[[rule]]\nmetric = "timing_s/step"\nmax_increase = "5%"\n' + "".join(tables))
        result = judge(diff, load_policy(path))
        found = {verdict.metric: verdict.rule.severity for verdict in result.verdicts if verdict.status == "unhealthy"}
        assert (found, result.exit_code) == (severities, code)
        speed = next(verdict for verdict in result.verdicts if verdict.metric == "timing_s/step")
        assert speed.status == ("pass" if severities else "improved")

    def test_any_rule_can_be_turned_off(self, faster: Diff, tmp_path: Path) -> None:
        rule = '[[rule]]\nmetric = "{}"\nmax_increase = "1%"\nseverity = "{}"\n'
        (tmp_path / "p.toml").write_text(rule.format("timing_s/step", "off") + rule.format("timing_s/gen", "error"))
        result = judge(faster, load_policy(tmp_path / "p.toml"))
        assert [verdict.metric for verdict in result.verdicts] == ["timing_s/gen"]

    def test_a_rule_of_the_policy_cannot_fail_the_baseline(self, faster: Diff) -> None:
        of_baseline = Symptom("health.kl", "kl", "baseline", RuleSeverity.WARN, 1, 0, None, "Baseline: …")
        policy = built_in_policy()
        strict = replace(
            policy, rules=tuple(replace(rule, metric="health.*", max_relative=None) for rule in policy.rules[1:2])
        )
        (verdict,) = health_verdicts(replace(faster, symptoms=(of_baseline,)), strict)
        assert verdict.rule.severity == RuleSeverity.WARN

    @pytest.mark.parametrize(
        ("symptom", "code"),
        [
            (Symptom("health.not_finite", "actor/pg_loss", "baseline", RuleSeverity.WARN, 1, 0, None, "…"), 0),
            (Symptom("health.ends_early", "", "new", RuleSeverity.ERROR, 25, 25, None, "…"), 1),  # both logs do
        ],
    )
    def test_signs_that_make_no_change_worse_are_verdicts_too(self, faster: Diff, symptom: Symptom, code: int) -> None:
        result = judge(replace(faster, symptoms=(symptom,)), built_in_policy())
        found = {verdict.metric: verdict.status for verdict in result.verdicts}
        assert (found[symptom.key], found["timing_s/step"]) == ("unhealthy", "improved")
        assert result.exit_code == code

    @pytest.mark.parametrize(
        ("rule", "says"),
        [
            (
                'metric = "health.entropy"\nseverity = "off"',
                ':2: .*must be a symptom, not "health.entropy": did you mean',
            ),
            ('metric = "health.kl"\nmax = 1', "has a limit, but health.kl takes only severity and message"),
        ],
    )
    def test_what_a_rule_cannot_say(self, tmp_path: Path, rule: str, says: str) -> None:
        (tmp_path / "p.toml").write_text(f"[[rule]]\n{rule}\n")
        with pytest.raises(UsageError, match=says):
            load_policy(tmp_path / "p.toml")


def test_levels_are_what_a_plain_evaluation_gives() -> None:
    """Against Python's own statistics, on a series with gaps, trend and jumps."""
    rng = random.Random(5)
    series = {step: step / 50 + rng.gauss(0, 1) ** 3 for step in range(1, 84) if step % 7}
    other = {step: rng.random() for step in range(20, 70)}
    series |= {3: math.nan, 30: math.nan}
    sides = {"baseline": series, "new": other}
    name = "actor/grad_norm"
    rows = levels({side: {step: {name: value} for step, value in log.items()} for side, log in sides.items()})
    for side, log in sides.items():
        (row,) = [row for row in rows if row.side == side]
        known = [(step, value) for step, value in sorted(log.items()) if math.isfinite(value)]
        values = [value for _, value in known]
        tenth, third = max(3, len(values) // 10), max(6, len(values) // 3)
        windows = [
            (known[i][0], values[i : i + 5], [step for step, _ in known[i : i + 5]]) for i in range(len(known) - 4)
        ]
        means = [(statistics.fmean(window), step) for step, window, _ in windows]
        shared = [value for step, value in known if step in sides["new" if side == "baseline" else "baseline"]]
        alike = [
            (statistics.fmean(window), first)
            for first, window, steps in windows
            if all(step in series and step in other for step in steps)
        ]
        assert (row.steps, row.invalid, row.invalid_step) == ((70, 2, 3) if side == "baseline" else (50, 0, None))
        expected: dict[str, Any] = {
            "median": statistics.median(values),
            "start": statistics.median(values[:tenth]),
            "finish": statistics.median(values[-tenth:]),
            "shared_finish": statistics.median(shared[-max(3, len(shared) // 10) :]),
            "spread": statistics.stdev(values[-third:])
            * math.sqrt(1 - statistics.correlation(values[-third:], list(map(float, range(third)))) ** 2),
            "low": min(means)[0], "low_step": min(means)[1], "high": max(means)[0], "high_step": max(means)[1],
            "shared_low": min(alike)[0], "shared_low_step": min(alike)[1],
            "shared_high": max(alike)[0], "shared_high_step": max(alike)[1],
            "high_middle": max(statistics.median(window) for _, window, _ in windows),
            "peak": max(values), "peak_step": max(known, key=lambda pair: pair[1])[0],
        }  # fmt: skip
        assert {key: getattr(row, key) for key in expected} == pytest.approx(expected)


@pytest.mark.slow
def test_real_logs_show_nothing(shared: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Real noise: two jobs that are alike but for the reward's code, and PPO with its first steps against itself."""
    logs = shared / "logs"
    if not logs.is_dir():
        pytest.skip("needs shared/logs")
    pairs = (("grpo-300steps-a.log", "grpo-300steps-b.log"), ("ppo-verl0.1-nul-bytes.log",) * 2)
    for base, new in pairs:
        assert run(["diff", "-d", str(logs / new), "-bp", str(logs / base), "-o", str(tmp_path / new)]) == 0
        assert read_document(tmp_path / new / "diff.json", "").symptoms == ()


def test_every_symptom_is_documented() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert [key for key in SYMPTOMS if f"| `{key}` |" not in documented] == []
    assert {f"health.{case[2]}" for case in CASES} | {"health.failed", "health.ends_early"} == set(SYMPTOMS)


@pytest.mark.parametrize(
    ("baseline", "new", "severity"),
    [("complete", "failed", "error"), ("failed", "failed", "warn"), ("complete", "failed complete", "warn")],
)
def test_runs_that_failed(baseline: str, new: str, severity: str) -> None:
    facts = [
        RunFact(side, number, None, status)
        for side, ends in zip(SIDES, (baseline, new), strict=True)
        for number, status in enumerate(ends.split())
    ]
    none: dict[SideName, dict[str, str]] = {"baseline": {}, "new": {}}
    found = [one for one in symptoms_of(facts, (), (), none, (), ()) if one.side == "new"]
    assert [(one.key, one.severity) for one in found] == [("health.failed", severity)]
    assert symptoms_of([fact for fact in facts if fact.status != "failed"], (), (), none, (), ()) == ()


def test_a_reward_that_recovers_after_the_baselines_end_only_warns() -> None:
    dip: dict[str, Change] = {SCORE: lambda step, value: 0.2 if 40 < step <= 70 else value}
    (found,) = symptoms(job(1, 60), job(2, 120, dip))
    assert (found.key, found.severity) == ("health.reward_fall", "warn")
    assert "is 0.2 in the last steps that both logged, the baseline's" in found.text
    assert "; the new side ends at 0.871" in found.text


@pytest.mark.parametrize(
    ("metric", "change", "lengths", "says"),
    [  # the change of the new side; the steps of baseline and new side; how the sentence goes on
        ("actor/entropy", after(60, lambda v: v / 90), (60, 120), "since step 61; the baseline ends at 0.293."),
        ("actor/entropy", after(30, lambda v: v / 90), (120, 60), "at the same steps."),
        ("actor/entropy", lambda s, v: v / 90 if 20 < s < 30 else v, (60, 60), "; the baseline's is at least 0.291."),
        (SCORE, lasting(lambda v: v * 0.7), (120, 60), "ends at 0.413, where the baseline has 0.58 "),
        (
            CLIP,
            lambda s, v: 0.97 if 30 < s < 80 else v,
            (60, 120),
            "in the last steps that both logged, the baseline's 0.02;",
        ),
        (CLIP, after(30, lambda _: 0.97), (120, 60), "ends at 0.97, where the baseline has 0.02"),
    ],
)
def test_a_level_is_said_to_be_at_the_end_or_at_the_same_steps_only_where_it_is(
    metric: str, change: Change, lengths: tuple[int, int], says: str
) -> None:
    before, now = lengths
    found = symptoms(job(1, before), job(2, now, {metric: change}), (before, now))
    (text,) = (one.text for one in found if one.metric == metric)
    assert says in text
    with speaking("zh-CN"):
        assert said(text) != text


@pytest.mark.parametrize(
    ("key", "old", "new", "judged"),
    [
        ("algorithm.adv_estimator", "gae", "grpo", False),
        ("custom_reward_function.name", "compute_score", "of_our_own", False),
        ("reward_model.reward_manager", "naive", "dapo", False),
        ("data.train_files", "/data/gsm8k.parquet", "/data/math.parquet", False),
        ("data.train_files", "/data/gsm8k.parquet", "/copy/gsm8k.parquet", True),
        ("data.train_files", "/data/gsm8k.parquet", "", True),
        ("data.train_batch_size", "256", "512", True),
        ("reward_model.launch_reward_fn_async", "false", "true", True),
        ("actor_rollout_ref.rollout.gpu_memory_utilization", "0.5", "0.8", True),
    ],
)
def test_other_data_rewards_or_algorithms_have_other_scores(key: str, old: str, new: str, judged: bool) -> None:
    changes: dict[str, Change] = {
        SCORE: lasting(lambda v: v * 0.2),
        "actor/grad_norm": lasting(lambda v: v * 50),
        "actor/entropy": after(30, lambda v: v / 90),
    }
    env: dict[SideName, dict[str, str]] = {"baseline": {key: old}, "new": {key: new} if new else {}}
    rows = levels({"baseline": BASELINE, "new": job(2, changes=changes)})
    found = {symptom.key for symptom in symptoms_of((), rows, (), env, (), ())}
    always = {"health.entropy_collapse"}
    assert found == (always | {"health.reward_fall", "health.gradient_explosion"} if judged else always)


def test_a_baseline_that_goes_on_does_not_end_where_the_new_side_does() -> None:
    """Both are level from step 40 on. They share the steps 51 to 100: five of them are a tenth, of the new side ten."""
    level: Change = lambda step, value: min(value, 0.5)  # noqa: E731
    base = {step: of for step, of in job(1, 150, {SCORE: level}).items() if step > 50}
    (found,) = (one for one in symptoms(base, job(2, 100, {SCORE: lambda s, v: 0.002 * s})) if one.metric == SCORE)
    assert found.text.startswith(f"{SCORE} is 0.196 in the last steps that both logged, the baseline's 0.5 (-60.8 %);")
    assert "; the new side ends at 0.191; " in found.text


@pytest.mark.parametrize(("decimals", "found"), [(17, ["health.no_gradient"]), (3, [])])
def test_a_small_gradient_norm_becomes_zero(tmp_path: Path, decimals: int, found: list[str]) -> None:
    """In a log of three decimals it may have been rounded."""
    gone: dict[str, Change] = {"actor/grad_norm": lambda step, value: 0.0 if step > 50 else value / 100}
    base = file_of(tmp_path / "a.jsonl", job(1, 60, {"actor/grad_norm": lasting(lambda v: v / 100)}))
    new = tmp_path / "b.log"
    lines = [
        " - ".join([f"step:{step}", *(f"{name}:{value:.{decimals}f}" for name, value in data.items())])
        for step, data in job(2, 60, gone).items()
    ]
    new.write_text("\n".join(lines) + "\n")
    assert run(["diff", "-d", str(new), "-bp", str(base), "-o", str(tmp_path / "out")]) == 0
    assert [one.key for one in read_document(tmp_path / "out" / "diff.json", "").symptoms] == found
