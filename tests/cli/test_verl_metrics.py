"""What training logged as sides of ``diff``, ``gate`` and ``show``: logs of verl jobs with known differences."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.run_directories import write_metrics
from tests.verl_logs import console_log, event_file, mlflow_database, training_step

from .conftest import Command, ranks_of

ESS = "mismatch/rollout_is_eff_sample_size"
CONFIG: dict[str, Any] = {
    "actor_rollout_ref": {"actor": {"ppo_epochs": 1, "profiler": {"enable": True}}, "rollout": {"n": 8}},
    "algorithm": {"adv_estimator": "grpo", "rollout_correction": {"rollout_is_threshold": 2.0}},
    "global_profiler": {"steps": [4], "tool": "npu"},
}
CHANGED = {
    **CONFIG,
    "actor_rollout_ref": {"actor": {"ppo_epochs": 2, "profiler": {"enable": True}}, "rollout": {"n": 8}},
}


def log(path: Path, config: dict[str, Any] | None = None, *, steps: int = 8, **values: Any) -> Path:
    """A console log; the profiled step 4 takes three times as long, so that it shows where it counts."""
    made = {step: training_step(step, **values) for step in range(1, steps + 1)}
    for name in made.get(4, {}):
        if name.startswith("timing_s/") and name.count("/") == 1:
            made[4][name] *= 3
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(console_log(made, config))
    return path


def compared(rlcompare: Command, new: Path, baseline: Path, *options: object) -> dict[str, Any]:
    outcome = rlcompare("diff", "-d", new, "-bp", baseline, "--json", *options)
    assert (outcome.code, outcome.err) == (0, "")
    return dict(json.loads(outcome.out))


def row(document: dict[str, Any], section: str, name: str) -> dict[str, Any]:
    (found,) = [row for row in document["sections"][section] if row["name"] == name]
    return dict(found)


def overall(document: dict[str, Any], metric: str) -> dict[str, Any]:
    (found,) = [delta for delta in document["overall"] if delta["metric"] == metric]
    return dict(found)


class TestTwoLogs:
    """Show 6: two verl logs with known differences."""

    @pytest.fixture
    def sides(self, tmp_path: Path) -> tuple[Path, Path]:
        # GIVEN the same job but that the actor's update takes half as long again, of which importance sampling suffers
        base = log(tmp_path / "base.log", CONFIG)
        worse: dict[str, Any] = {
            "slower": 1.5,
            "rollout_corr__rollout_is_eff_sample_size": 0.55,
            "rollout_corr__k3_kl": 0.02,
        }
        return log(tmp_path / "new.log", CHANGED, **worse), base

    def test_diff_and_gate_name_them(self, rlcompare: Command, sides: tuple[Path, Path], tmp_path: Path) -> None:
        outcome = rlcompare("diff", "-d", sides[0], "-bp", sides[1], "-o", tmp_path / "out")

        # Of eight steps the first is warm-up and the fourth profiled.
        document = json.loads((tmp_path / "out" / "diff.json").read_text())
        update = 21.5 * (1 + 0.003 * sum(step % 4 for step in (2, 3, 5, 6, 7, 8)) / 6)
        phase = row(document, "phases", "update_actor")
        assert (phase["baseline"], phase["new"]) == (pytest.approx(1e3 * update), pytest.approx(1.5e3 * update))
        assert document["headline"] == "timing_s/step"
        assert overall(document, "timing_s/step")["delta"] == pytest.approx(0.5 * update)
        first = document["causes"][0]
        assert (first["row"], first["share"]) == ("update_actor", pytest.approx(1))
        (setting,) = [f for f in document["comparability"]["findings"] if f["severity"] == "caution"]
        assert (setting["key"], setting["baseline"], setting["new"]) == ("actor_rollout_ref.actor.ppo_epochs", "1", "2")
        ess = row(document, "metrics", ESS)
        assert (ess["baseline_health"], ess["new_health"], ess["ideal"]) == ("healthy", "outside", "> 0.8")
        assert ess["new"] == pytest.approx(0.55)
        kl = row(document, "metrics", "mismatch/mismatch_k3_kl")
        assert (kl["baseline"], kl["new"]) == (pytest.approx(0.0011), pytest.approx(0.02))
        assert document["new"]["runs"][0]["steps"] == 8  # step 0 was validation
        # AND the terminal says it
        text = " ".join(outcome.out.split())
        assert "update_actor grew by" in text
        assert "ESS 0.97 → 0.55" in text
        assert "outside: eff_sample_size (ideal > 0.8)" in text
        assert "ppo_epochs 1 → 2" in text
        # AND so does the gate
        gate = rlcompare("gate", tmp_path / "out" / "diff.json")
        assert gate.code == 1
        failed = [line for line in gate.out.splitlines() if line.startswith(("regressed", "unhealthy"))]
        assert {line.split()[1].rstrip(":") for line in failed} >= {"timing_s/step", "perf/throughput", "health.ess"}

    def test_importance_sampling_alone_fails_the_gate(self, rlcompare: Command, tmp_path: Path) -> None:
        base, new = log(tmp_path / "a.log"), log(tmp_path / "b.log", rollout_corr__rollout_is_eff_sample_size=0.79)

        result = rlcompare("gate", "-d", new, "-bp", base)

        assert result.code == 1
        assert ": health.ess unhealthy." in result.out

    def test_show_and_sql(self, rlcompare: Command, sides: tuple[Path, Path]) -> None:
        query = "select value from metric where name = 'timing_s/step' and profiled"

        assert "timing_s/update_actor" in rlcompare("show", sides[0]).out
        (found,) = json.loads(rlcompare("sql", sides[1], query, "--format", "json").out)
        assert found["value"] == pytest.approx(3 * (16.2 + 10.3 + 21.5 + 0.8))


class TestMeaning:
    """Releases of verl meet by meaning, and not where that changed."""

    @pytest.mark.slow
    def test_all_names_of_the_oracle_meet(self, rlcompare: Command, shared: Path, tmp_path: Path) -> None:
        known = json.loads((shared / "oracle" / "metric_aliases.json").read_text())["canonical_to_names"]
        pairs = [(names[0], name) for names in known.values() for name in names[1:]]
        assert len(pairs) > 60
        for number in range(max(len(names) for names in known.values())):
            # GIVEN the first name of each on one side, and one of the others on the other
            others = {names[0]: names[number % len(names)] for names in known.values()}
            base = {name.replace("/", "__"): float(place) for place, name in enumerate(others)}
            new = {name.replace("/", "__"): float(place) for place, name in enumerate(others.values())}

            document = compared(
                rlcompare,
                write_metrics(tmp_path / "b.jsonl", steps=1, **new),
                write_metrics(tmp_path / "a.jsonl", steps=1, **base),
            )

            for place, names in enumerate(known.values()):
                (met,) = [entry for entry in document["sections"]["metrics"] if entry["name"] in names]
                assert (met["presence"], met["baseline"], met["new"]) == ("both", place, place), names

    def test_told_by_names_and_settings(self, rlcompare: Command, tmp_path: Path) -> None:
        # GIVEN logs of 0.6.0 and of 0.8 or later, which do not say so
        later: dict[str, Any] = {
            "timing_s__agent_loop__compute_score__mean": 0.5,
            "timing_s__agent_loop__num_preempted__mean": -1.0,
        }
        base, new = log(tmp_path / "a.log", prefix="mismatch"), log(tmp_path / "b.log", **later)

        outcome = rlcompare("diff", "-d", new, "-bp", base, "-o", tmp_path / "out")

        document = json.loads((tmp_path / "out" / "diff.json").read_text())
        ess = row(document, "metrics", ESS)
        assert (ess["baseline"], ess["new"], ess["delta"]) == (pytest.approx(0.97), pytest.approx(0.97), None)
        assert "as they are applied" in ess["not_compared"]
        said = [f for f in document["comparability"]["findings"] if f["key"] == "metrics.meaning"]
        assert {(f["baseline"], f["new"]) for f in said} == {("verl 0.6.0", "verl 0.8.0 or later")}
        assert any("pg_loss" in f["message"] for f in said)
        assert row(document, "metrics", "mismatch/mismatch_k3_kl")["delta"] == 0
        assert "ESS 0.97 and 0.97 (not compared)" in " ".join(outcome.out.split())

    def test_a_gate_does_not_judge_their_change(self, rlcompare: Command, tmp_path: Path) -> None:
        base = log(tmp_path / "a.log", prefix="mismatch")
        new = log(tmp_path / "b.log", timing_s__agent_loop__compute_score__mean=0.5)
        policy = f'[[rule]]\nmetric = "{ESS}"\nmax_decrease = "5%"\n[[rule]]\nmetric = "{ESS}"\nmin = 0.8\n'
        Path("rlcompare.toml").write_text(policy)

        result = rlcompare("gate", "-d", new, "-bp", base)

        assert result.code == 3
        assert "verl changed what it means" in " ".join(result.out.split())
        assert f"1 not comparable: {ESS}" in " ".join(result.out.split())
        assert rlcompare("gate", "-d", new, "-bp", base, "--on-inconclusive", "warn").code == 0

    def test_counts_among_the_times_are_no_seconds(self, rlcompare: Command, tmp_path: Path) -> None:
        counts: dict[str, Any] = {
            "timing_s__agent_loop__num_preempted__mean": -1.0, "timing_s__generation_timing__topk_ratio": 0.5,
            "timing_s__generation_timing__max": -1.0, "timing_s__agent_loop__tool_calls__max": 2.5,
        }  # fmt: skip
        document = compared(rlcompare, log(tmp_path / "b.log", **counts), log(tmp_path / "a.log", **counts))

        units = {entry["name"]: entry["unit"] for entry in document["sections"]["metrics"]}
        assert units["timing_s/agent_loop/slowest/prompt_length"] == "tokens"
        assert units["timing_s/agent_loop/slowest/response_length"] == "tokens"
        assert units["timing_s/generation_timing/topk_ratio"] == "ratio"
        assert units["timing_s/agent_loop/tool_calls/max"] == "s"
        # -1 stands for what was not measured.
        assert not {"timing_s/agent_loop/num_preempted/mean", "timing_s/generation_timing/max"} & units.keys()


class TestOtherLoggers:
    def test_one_side_of_each(self, rlcompare: Command, tmp_path: Path) -> None:
        steps = {step: training_step(step) for step in range(1, 9)}
        scalars = [(step, name, float(value)) for step, data in steps.items() for name, value in data.items()]
        board = event_file(tmp_path / "tensorboard_log" / "p" / "e" / "events.out.tfevents.1", scalars).parent
        stored = [(step, name.replace("@", "_at_"), value, False) for step, name, value in scalars]
        database = mlflow_database(tmp_path / "mlruns.db", {"grpo": stored, "other": stored[:3]})

        document = compared(rlcompare, board, database / "grpo")

        assert [run["name"] for side in ("baseline", "new") for run in document[side]["runs"]] == ["grpo", "e"]
        for entry in document["sections"]["metrics"]:
            assert entry["new"] == pytest.approx(entry["baseline"], rel=1e-6), entry["name"]
        several = rlcompare("diff", "-d", board, "-bp", database)
        assert several.code == 4
        assert "it holds 2 runs: grpo, other" in several.error


class TestBesideAProfile:
    @pytest.mark.slow
    def test_of_verl_with_a_log(self, rlcompare: Command, samples: Path, tmp_path: Path) -> None:
        # GIVEN two jobs: verl's folder with a profile of step 4, and the log in another folder
        for name, config in (("base", CONFIG), ("new", CHANGED)):
            for profile in ranks_of(samples / name):
                shutil.copytree(profile, tmp_path / name / "outputs" / "profile" / "4" / "e2e" / profile.name)
            log(tmp_path / name / "logs" / "train.log", config)

        outcome = rlcompare("diff", "-d", tmp_path / "new", "-bp", tmp_path / "base", "-o", tmp_path / "out")

        # THEN the plain steps tell the speed, and the profiled one what lies outside of its profile
        document = json.loads((tmp_path / "out" / "diff.json").read_text())
        assert document["headline"] == "timing_s/step"
        profiled, outside = overall(document, "time.profiled_step"), overall(document, "time.outside_profile")
        span = overall(document, "time.device_span")
        assert profiled["baseline"] == pytest.approx(3e3 * (16.2 + 10.3 + 21.5 + 0.8))
        assert outside["baseline"] == pytest.approx(profiled["baseline"] - span["baseline"])
        assert overall(document, "timing_s/step")["baseline"] < 50
        update = row(document, "phases", "update_actor")
        inside = update["baseline_compute"] + update["baseline_exposed_comm"] + update["baseline_free"]
        assert update["baseline_outside_profile_ms"] == pytest.approx(3e3 * 21.5 - inside)
        assert not {"profiled_unknown", "profile_longer"} & {finding["key"] for finding in document["quality"]}
        assert "not in the profile" in " ".join(outcome.out.split())

    @pytest.mark.slow
    def test_a_profile_that_holds_more_than_the_step(self, rlcompare: Command, samples: Path, tmp_path: Path) -> None:
        profile = ranks_of(samples / "base")[0]
        shutil.copytree(profile, tmp_path / "job" / "4" / "e2e" / profile.name)
        write_metrics(tmp_path / "job" / "exp.jsonl", steps=5, gen=1e-4, old_log_prob=1e-4, update_actor=1e-4)

        document = compared(rlcompare, tmp_path / "job", tmp_path / "job")

        assert {"profile_longer"} <= {finding["key"] for finding in document["quality"]}


def test_a_negative_time_is_no_improvement(rlcompare: Command, tmp_path: Path) -> None:
    base = write_metrics(tmp_path / "base.jsonl")
    new = write_metrics(tmp_path / "new.jsonl", gen=-10.0)  # then timing_s/step is below 0 too

    result = rlcompare("diff", "-d", new, "-bp", base)
    gate = rlcompare("gate", "-d", new, "-bp", base)

    assert result.code == 0
    assert "better" not in result.out
    assert "timing_s/step is -" in result.out
    assert "in step 1" in result.out
    assert gate.code == 1
    assert "improved" not in gate.out


def test_a_time_whose_sum_no_float_holds_is_unknown(rlcompare: Command, tmp_path: Path) -> None:
    for side in ("old", "new"):
        lines = [{"step": step, "data": {"timing_s/step": 1e308, "actor/kl": 0.5}} for step in (1, 2, 3)]
        (tmp_path / side).write_text("".join(json.dumps(line) + "\n" for line in lines))
    document = compared(rlcompare, tmp_path / "new", tmp_path / "old")
    assert "timing_s/step" not in [delta["metric"] for delta in document["overall"]]
    outcome = rlcompare("gate", "-d", tmp_path / "new", "-bp", tmp_path / "old")
    assert outcome.code == 1 and "missing" in outcome.out
    assert "inf" not in outcome.out and "nan" not in outcome.out
