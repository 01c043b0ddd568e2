"""Run directories and metrics alone as sides of ``diff``, ``gate``, ``show``, ``sql`` and ``ingest``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.run_directories import description, lines, step_data, write_metrics, write_run
from tests.sources.profile_folders import make_profile

from .conftest import Command, ranks_of

ESS = "mismatch/rollout_is_eff_sample_size"
CONFIG: dict[str, Any] = {
    "data": {"train_batch_size": 8, "max_response_length": 32},
    "actor_rollout_ref": {"actor": {"ppo_epochs": 1}},
    "algorithm": {"rollout_is_threshold": 2.0, "rollout_is_mode": "truncate"},
}


def compared(rlcompare: Command, new: Path, baseline: Path, *options: object) -> dict[str, Any]:
    outcome = rlcompare("diff", "-d", new, "-bp", baseline, "--json", *options)
    assert (outcome.code, outcome.err) == (0, "")
    return dict(json.loads(outcome.out))


def overall(document: dict[str, Any], metric: str) -> tuple[float | None, float | None]:
    (found,) = [delta for delta in document["overall"] if delta["metric"] == metric]
    return found["baseline"], found["new"]


def row(document: dict[str, Any], section: str, name: str) -> dict[str, Any]:
    (found,) = [row for row in document["sections"][section] if row["name"] == name]
    return dict(found)


def keys(findings: list[dict[str, Any]]) -> set[str]:
    return {finding["key"] for finding in findings}


class TestSpeed:
    def test_the_phase_that_grew_is_named(self, rlcompare: Command, tmp_path: Path) -> None:
        # GIVEN the same runs, but that updating the actor takes twice as long; warm-up and profiled steps are slower
        changed = {**CONFIG, "actor_rollout_ref": {"actor": {"ppo_epochs": 2}}}
        base = write_run(tmp_path / "a", description(config=CONFIG), **{"workload.micro_batches": 8})
        new = write_run(tmp_path / "b", description(config=changed), **{"workload.micro_batches": 16}, update_actor=0.2)

        document = compared(rlcompare, new, base)

        # THEN only plain steps speak for speed
        assert document["headline"] == "timing_s/step"
        assert overall(document, "timing_s/step") == (pytest.approx(0.26), pytest.approx(0.36))
        assert overall(document, "phase.update_actor.wall") == (pytest.approx(100), pytest.approx(200))
        # AND phases and (outside) sum to the step
        for side, step in (("baseline", 260.0), ("new", 360.0)):
            assert sum(row[side] for row in document["sections"]["phases"]) == pytest.approx(step)
        assert row(document, "phases", "(outside)")["new"] == pytest.approx(10)
        first = document["causes"][0]
        assert (first["what"], first["row"], first["share"]) == ("phase", "update_actor", pytest.approx(1))
        batches = " per step, which has 16 micro batches instead of 8 (actor_rollout_ref.actor.ppo_epochs 1 → 2)."
        assert first["text"].endswith(batches)
        (finding,) = document["comparability"]["findings"]
        assert (finding["key"], finding["severity"]) == ("actor_rollout_ref.actor.ppo_epochs", "caution")

    def test_the_summary_says_it(self, rlcompare: Command, tmp_path: Path) -> None:
        base, new = write_run(tmp_path / "a"), write_run(tmp_path / "b", update_actor=0.2)

        lines = rlcompare("diff", "-d", new, "-bp", base).out.splitlines()

        text = "\n".join(lines[: lines.index("")])
        assert "1 run without a profile, 12 steps" in text
        assert text.startswith("answer      38.5 % slower, likely")
        assert "timing_s/step 0.260 → 0.360 s · +0.100 s (+38.5 %)" in text
        assert "100 % of the change: Phase update_actor grew by 100.00 ms per step." in text
        assert "is not in any phase" not in text  # all of the change is in them

    def test_a_declared_change_is_no_caution(self, rlcompare: Command, tmp_path: Path) -> None:
        changed = {**CONFIG, "actor_rollout_ref": {"actor": {"ppo_epochs": 2}}}
        base = write_run(tmp_path / "a", description(config=CONFIG))
        new = write_run(tmp_path / "b", description(config=changed))

        document = compared(rlcompare, new, base, "--varied", "actor_rollout_ref.actor.ppo_epochs")

        assert document["comparability"]["status"] == "comparable"

    def test_longer_responses_are_work_and_not_slower(self, rlcompare: Command, tmp_path: Path) -> None:
        # GIVEN responses of twice the length; generation by decode step and the rest by token are as fast as before
        base = write_run(tmp_path / "a")
        longer: dict[str, Any] = {
            "response_tokens": 800,
            "decode_steps": 40,
            "gen": 0.2,
            "old_log_prob": 0.09,
            "update_actor": 0.18,
        }
        new = write_run(tmp_path / "b", **longer)

        document = compared(rlcompare, new, base)

        first = document["causes"][0]
        assert (first["what"], first["section"], first["row"]) == ("workload", "workload", "workload.total_tokens")
        assert first["text"].endswith("the work changed, not its speed; per token nothing is slower.")
        before, after = overall(document, "timing_per_token_ms/step")
        assert before is not None and after is not None and after < before * 1.03
        assert row(document, "phases", "generate_sequences")["baseline_ms_per_token"] == pytest.approx(0.25)
        assert row(document, "phases", "update_actor")["new_ms_per_token"] == pytest.approx(0.2)
        text = rlcompare("diff", "-d", new, "-bp", base).out
        assert "comparable settings, but the workload differs" in text
        assert "differs · total_tokens 500 → 900 (+80.0 %) · per token 0.52 → 0.533 ms" in " ".join(text.split())

    def test_longer_responses_do_not_hide_a_slower_phase(self, rlcompare: Command, tmp_path: Path) -> None:
        base = write_run(tmp_path / "a")
        longer: dict[str, Any] = {
            "response_tokens": 800,
            "decode_steps": 40,
            "gen": 0.2,
            "old_log_prob": 0.09,
            "update_actor": 0.4,
        }

        document = compared(rlcompare, write_run(tmp_path / "b", **longer), base)

        work = next(cause for cause in document["causes"] if cause["what"] == "workload")
        assert "but per token update_actor takes 2.2 times as long" in work["text"]
        assert "nothing is slower" not in work["text"]

    @pytest.mark.slow
    def test_runs_of_a_side_are_its_samples(self, rlcompare: Command, tmp_path: Path) -> None:
        for side, gen in (("a", 0.1), ("b", 0.2)):
            for number in range(1, 6):
                write_run(tmp_path / side / f"run{number}", gen=gen + number / 1000)

        document = compared(rlcompare, tmp_path / "b", tmp_path / "a")

        assert [run["name"] for run in document["new"]["runs"]] == ["run1", "run2", "run3", "run4", "run5"]
        samples = next(delta for delta in document["overall"] if delta["metric"] == "phase.generate_sequences.wall")
        assert samples["samples"]["new"] == pytest.approx([201, 202, 203, 204, 205])
        assert samples["evidence"] == {"runs_overlap": False, "step_noise": 0.0, "step_freedom": 90}
        assert {delta["evidence"]["runs_overlap"] for delta in document["overall"]} == {True, False}
        policy = Path("rlcompare.toml")
        policy.write_text('[gate]\nevidence = "runs"\n[[rule]]\nmetric = "timing_s/step"\nmax_increase = "5%"\n')
        gate = rlcompare("gate", "-d", tmp_path / "b", "-bp", tmp_path / "a")
        assert gate.code == 1

    @pytest.mark.slow
    def test_a_profile_beside_the_metrics_explains(self, rlcompare: Command, samples: Path, tmp_path: Path) -> None:
        # GIVEN run directories whose profile is a real one: two ranks
        for name in ("base", "new"):
            folder = tmp_path / name
            entries = []
            for rank, profile in enumerate(ranks_of(samples / name)):
                shutil.copytree(profile, folder / "profile" / "e2e" / profile.name)
                entries.append({"path": f"profile/e2e/{profile.name}", "role": "", "phase": "", "rank": rank})
            write_run(folder, description(captures=entries), update_actor=0.1 if name == "base" else 0.15)

        document = compared(rlcompare, tmp_path / "new", tmp_path / "base")

        # THEN training's timers are the phases, and the profile tells what a phase does inside
        assert document["headline"] == "timing_s/step"
        update = row(document, "phases", "update_actor")
        assert (update["baseline"], update["new"]) == (pytest.approx(100), pytest.approx(150))
        assert update["new_compute"] > update["baseline_compute"] > 0
        assert [run["ranks"] for run in document["new"]["runs"]] == [2]
        assert overall(document, "time.compute")[0] is not None
        assert {"kernels", "collectives"} <= {name for name, rows in document["sections"].items() if rows}


class TestHealth:
    def test_of_importance_sampling(self, rlcompare: Command, tmp_path: Path) -> None:
        values: dict[str, Any] = {
            "mismatch__rollout_is_eff_sample_size": 0.95, "mismatch__rollout_is_mean": 1.02,
            "mismatch__rollout_is_veto_fraction": 0.0, "mismatch__rollout_is_max": 1.9,
        }  # fmt: skip
        bad: dict[str, Any] = {**values, "mismatch__rollout_is_eff_sample_size": 0.6, "mismatch__rollout_is_max": 7.0}

        document = compared(rlcompare, write_run(tmp_path / "b", **bad), write_run(tmp_path / "a", **values))

        ess = row(document, "metrics", ESS)
        assert (ess["ideal"], ess["baseline_health"], ess["new_health"]) == ("> 0.8", "healthy", "outside")
        assert "rollout_is_mode=clip" in ess["advice"]
        assert "rollout_is_level=sequence" in ess["advice"]
        # The largest weight is held against the run's own threshold.
        largest = row(document, "metrics", "mismatch/rollout_is_max")
        assert (largest["ideal"], largest["new_health"]) == ("<= 2 (the threshold)", "outside")
        assert row(document, "metrics", "mismatch/rollout_is_mean")["new_health"] == "healthy"
        first = [entry["name"] for entry in document["sections"]["metrics"][:2]]
        assert sorted(first) == [ESS, "mismatch/rollout_is_max"]
        text = rlcompare("diff", "-d", tmp_path / "b", "-bp", tmp_path / "a").out
        assert "outside: " in text and "eff_sample_size (ideal > 0.8)" in text
        assert "raise algorithm.rollout_is_threshold" in " ".join(text.split())

    def test_first_divergence_and_spread(self, rlcompare: Command, tmp_path: Path) -> None:
        base = write_run(tmp_path / "a", actor__entropy=lambda step: 2.0)
        new = write_run(tmp_path / "b", actor__entropy=lambda step: 2.0 if step < 5 else 3.0)

        entropy = row(compared(rlcompare, new, base), "metrics", "actor/entropy")

        # Step 12 was profiled: 11 are left, 4 of them equal.
        assert entropy["first_divergence"] == 5
        assert entropy["new"] == pytest.approx((4 * 2 + 7 * 3) / 11)
        assert (entropy["baseline_spread"], entropy["baseline_steps"]) == (0.0, 11)


class TestNames:
    def test_later_names_of_the_same_meet(self, rlcompare: Command, tmp_path: Path) -> None:
        base = write_metrics(tmp_path / "old.jsonl", mismatch__mismatch_k3_kl=0.01)
        new = write_metrics(tmp_path / "new.jsonl", rollout_corr__k3_kl=0.02)

        document = compared(rlcompare, new, base)

        kl = row(document, "metrics", "mismatch/mismatch_k3_kl")
        assert (kl["presence"], kl["baseline"], kl["new"]) == ("both", pytest.approx(0.01), pytest.approx(0.02))
        assert kl["new_logged_as"] == "rollout_corr/k3_kl"
        assert "metrics.meaning" not in keys(document["comparability"]["findings"])

    def test_what_changed_its_meaning_is_not_compared(self, rlcompare: Command, tmp_path: Path) -> None:
        base = write_metrics(tmp_path / "old.jsonl", **{ESS.replace("/", "__"): 0.95})
        new = write_metrics(tmp_path / "new.jsonl", rollout_corr__rollout_is_eff_sample_size=0.99)

        document = compared(rlcompare, new, base)

        ess = row(document, "metrics", ESS)
        assert (ess["baseline"], ess["new"]) == (pytest.approx(0.95), pytest.approx(0.99))
        assert (ess["delta"], ess["ratio"]) == (None, None)
        assert "as they are applied" in ess["not_compared"]
        (finding,) = [
            finding for finding in document["comparability"]["findings"] if finding["key"] == "metrics.meaning"
        ]
        assert "rollout_is_eff_sample_size" in finding["message"]
        assert (finding["baseline"], finding["new"]) == ("verl 0.6.0", "verl 0.7.1 or later")

    def test_a_veto_fraction_tells_that_the_meaning_is_the_earlier_one(
        self, rlcompare: Command, tmp_path: Path
    ) -> None:
        base = write_metrics(tmp_path / "old.jsonl", **{ESS.replace("/", "__"): 0.95})
        later = {"rollout_corr__rollout_is_eff_sample_size": 0.9, "rollout_corr__rollout_is_veto_fraction": 0.0}

        document = compared(rlcompare, write_metrics(tmp_path / "new.jsonl", **later), base)

        assert row(document, "metrics", ESS)["presence"] == "both"

    def test_all_aliases_of_the_oracle_meet(self, rlcompare: Command, shared: Path, tmp_path: Path) -> None:
        # GIVEN, by meaning, every name that a release of verl uses; those whose meaning changed are not in question
        known = json.loads((shared / "oracle" / "metric_aliases.json").read_text())["canonical_to_names"]
        drifts = (
            "rollout_is_mean",
            "rollout_is_max",
            "rollout_is_min",
            "rollout_is_std",
            "rollout_is_eff",
            "rollout_is_seq",
        )
        steady = {name: names for name, names in known.items() if not name.startswith(drifts)}
        assert len(steady) > 20
        base = {names[0].replace("/", "__"): float(number) for number, names in enumerate(steady.values())}
        new = {names[-1].replace("/", "__"): float(number) for number, names in enumerate(steady.values())}

        document = compared(
            rlcompare,
            write_metrics(tmp_path / "b.jsonl", steps=1, **new),
            write_metrics(tmp_path / "a.jsonl", steps=1, **base),
        )

        for number, names in enumerate(steady.values()):
            meets = [
                entry for entry in document["sections"]["metrics"]
                if entry["presence"] == "both" and entry["name"] in names and entry["new"] == number
            ]  # fmt: skip
            assert meets, names


class TestSides:
    def test_verls_file_logger_alone(self, rlcompare: Command, tmp_path: Path) -> None:
        # GIVEN no run.json: nobody says which steps were profiled or warm-up
        base, new = (
            write_metrics(tmp_path / "old.jsonl", steps=6),
            write_metrics(tmp_path / "new.jsonl", steps=6, gen=0.2),
        )

        document = compared(rlcompare, new, base)

        # THEN the first step is taken for warm-up
        assert overall(document, "timing_s/step") == (pytest.approx(0.26), pytest.approx(0.36))
        assert document["causes"][0]["row"] == "generate_sequences"

    def test_runs_of_different_length_share_their_steps(self, rlcompare: Command, tmp_path: Path) -> None:
        base = write_run(tmp_path / "a", critic__rewards__mean=lambda step: float(step))
        new = write_run(
            tmp_path / "b", description("incomplete"), steps=5, critic__rewards__mean=lambda step: float(step)
        )

        document = compared(rlcompare, new, base)

        assert row(document, "metrics", "critic/rewards/mean")["delta"] == 0
        finding = next(f for f in document["comparability"]["findings"] if f["key"] == "training_steps")
        assert (finding["baseline"], finding["new"]) == ("12", "5")
        (said,) = [finding for finding in document["quality"] if finding["key"] == "run_incomplete"]
        assert (
            said["message"]
            == "New side: the run did not finish: it ended after step 5 of 12; means cover the finished steps only"
        )

    def test_a_failed_run_is_said_on_the_terminal(self, rlcompare: Command, tmp_path: Path) -> None:
        new = write_run(tmp_path / "b", description("failed", error="OutOfMemoryError"), steps=5)

        out = rlcompare("diff", "-d", new, "-bp", write_run(tmp_path / "a")).out

        assert "New side: the run failed after step 5 of 12: OutOfMemoryError" in out.replace("\n            ", " ")

    def test_damage_is_said_and_the_rest_is_compared(self, rlcompare: Command, tmp_path: Path) -> None:
        base = write_run(tmp_path / "a")
        made = lines()
        (write_run(tmp_path / "b") / "metrics.jsonl").write_text("\n".join([*made[:8], made[8][:30]]))

        document = compared(rlcompare, tmp_path / "b", base)

        assert "cut_metrics" in keys(document["quality"])
        assert overall(document, "timing_s/step")[1] == pytest.approx(0.26)

    def test_a_profile_against_metrics_alone(self, rlcompare: Command, samples: Path, tmp_path: Path) -> None:
        document = compared(rlcompare, write_run(tmp_path / "b"), samples / "base")

        (finding,) = (one for one in document["comparability"]["findings"] if one["key"] in ("profile", "metrics"))
        assert (finding["key"], finding["severity"]) == ("profile", "severe"), "nothing was measured on both sides"
        assert not {"ranks", "steps", "captures", "kernels"} & keys(document["comparability"]["findings"])

    def test_another_device_is_not_comparable(self, rlcompare: Command, tmp_path: Path) -> None:
        base = write_run(tmp_path / "a")
        new = write_run(tmp_path / "b", description(device="npu", device_name="Ascend910B3"))

        document = compared(rlcompare, new, base)

        assert document["comparability"]["status"] == "not_comparable"
        assert rlcompare("gate", "-d", new, "-bp", base).code == 5

    def test_all_steps_profiled_is_said(self, rlcompare: Command, tmp_path: Path) -> None:
        steps = {"warmup": [], "plain": [], "profiled": list(range(1, 13))}
        new = write_run(tmp_path / "b", description(steps=steps))

        document = compared(rlcompare, new, write_run(tmp_path / "a"))

        assert "no_plain_step" in keys(document["quality"])

    def test_uneven_times_are_said(self, rlcompare: Command, tmp_path: Path) -> None:
        new = write_run(tmp_path / "b", gen=lambda step: 0.1 if step % 4 else 5.0)

        document = compared(rlcompare, new, write_run(tmp_path / "a"))

        (finding,) = [finding for finding in document["quality"] if finding["key"] == "uneven_times"]
        assert finding["message"].startswith("New side: timing_s/step varies by 1")

    def test_steps_of_metrics_alone_cannot_be_chosen(self, rlcompare: Command, tmp_path: Path) -> None:
        result = rlcompare("diff", "-d", write_run(tmp_path / "b"), "-bp", write_run(tmp_path / "a"), "--step", 3)

        assert result.code == 2
        assert "contains no profile" in result.error

    def test_no_metrics_at_all(self, rlcompare: Command, tmp_path: Path) -> None:
        (tmp_path / "b").mkdir()
        (tmp_path / "b" / "run.json").write_text(json.dumps(description("failed")))

        result = rlcompare("diff", "-d", tmp_path / "b", "-bp", write_run(tmp_path / "a"))

        assert result.code == 4
        assert "neither metrics nor a profile" in result.error

    def test_the_input_is_left_as_it_was(self, rlcompare: Command, tmp_path: Path) -> None:
        base, new = write_run(tmp_path / "a"), write_run(tmp_path / "b")

        compared(rlcompare, new, base)

        assert sorted(path.name for path in new.iterdir()) == ["metrics.jsonl", "run.json"]


class TestGate:
    RULES = (
        f'[[rule]]\nmetric = "{ESS}"\nmin = 0.8\n'
        '[[rule]]\nmetric = "mismatch/rollout_is_veto_fraction"\nmax = 0.05\n'
        '[[rule]]\nmetric = "mismatch/rollout_is_mean"\nmin = 0.9\nmax = 1.1\n'
    )
    HEALTHY: ClassVar[dict[str, Any]] = {
        "mismatch__rollout_is_eff_sample_size": 0.95, "mismatch__rollout_is_mean": 1.0,
        "mismatch__rollout_is_veto_fraction": 0.01,
    }  # fmt: skip

    @pytest.mark.parametrize(
        ("left", "value", "code"),
        [
            ("rollout_is_eff_sample_size", 0.95, 0),
            ("rollout_is_eff_sample_size", 0.7, 1),
            ("rollout_is_veto_fraction", 0.2, 1),
            ("rollout_is_mean", 1.4, 1),
        ],
    )
    def test_values_of_metrics_alone(
        self, rlcompare: Command, tmp_path: Path, left: str, value: float, code: int
    ) -> None:
        base = write_metrics(tmp_path / "a.jsonl", **self.HEALTHY)
        new = write_metrics(tmp_path / "b.jsonl", **{**self.HEALTHY, f"mismatch__{left}": value})
        Path("rlcompare.toml").write_text(self.RULES)

        result = rlcompare("gate", "-d", new, "-bp", base)

        assert result.code == code
        if code:
            assert f"mismatch/{left}" in result.out

    def test_a_missing_metric_fails(self, rlcompare: Command, tmp_path: Path) -> None:
        new = write_metrics(tmp_path / "b.jsonl")
        Path("rlcompare.toml").write_text(self.RULES)

        assert rlcompare("gate", "-d", new, "-bp", write_metrics(tmp_path / "a.jsonl", **self.HEALTHY)).code == 1

    @pytest.mark.slow
    def test_built_in(self, rlcompare: Command, tmp_path: Path) -> None:
        base = write_run(tmp_path / "a", **self.HEALTHY)

        assert rlcompare("gate", "-d", write_run(tmp_path / "b", **self.HEALTHY), "-bp", base).code == 0
        assert rlcompare("gate", "-d", write_run(tmp_path / "c", gen=0.2), "-bp", base).code == 1


class TestOneRun:
    def test_show(self, rlcompare: Command, tmp_path: Path) -> None:
        result = rlcompare("show", write_run(tmp_path / "a", actor__entropy=2.5))

        assert result.code == 0
        assert "actor/entropy" in result.out
        assert "Training metrics" in result.out

    def test_sql(self, rlcompare: Command, tmp_path: Path) -> None:
        query = "select count(*) as n from metric where profiled"
        result = rlcompare("sql", write_run(tmp_path / "a"), query, "--format", "json")

        assert json.loads(result.out) == [{"n": len(step_data())}]

    def test_ingest_and_compare_the_store(self, rlcompare: Command, tmp_path: Path) -> None:
        base = write_run(tmp_path / "a")
        assert rlcompare("ingest", write_run(tmp_path / "b", gen=0.2), "-o", "b.duckdb").code == 0

        document = compared(rlcompare, Path("b.duckdb"), base)

        assert overall(document, "timing_s/step") == (pytest.approx(0.26), pytest.approx(0.36))

    def test_a_run_directory_of_an_unparsed_profile_says_so(self, rlcompare: Command, tmp_path: Path) -> None:
        folder = write_run(tmp_path / "b")
        make_profile(folder / "profile" / "e2e" / "host_1_20250318093015001_ascend_pt", 0, db=False)

        document = compared(rlcompare, folder, write_run(tmp_path / "a"))

        assert "empty_folder" in keys(document["quality"])
