"""Run directories and metrics alone: what is found, which steps count, what is stored of run.json, and damage."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from rlcompare.errors import InputError, UsageError
from rlcompare.sources.detect import find_runs
from rlcompare.sources.metrics.file_logger import read as read_metrics
from tests.run_directories import description, lines, write_metrics, write_run
from tests.sources.profile_folders import make_profile
from tests.stores import rows, store_of

NAME = "host_{}_20250318093015001_ascend_pt"


def findings(store: Path) -> dict[str, str]:
    return dict(rows(store, "SELECT key, message FROM finding"))


class TestDetection:
    def test_metrics_without_a_profile_are_a_run(self, tmp_path: Path) -> None:
        (run,) = find_runs(write_run(tmp_path / "new"))

        assert (run.name, run.captures) == ("new", ())
        assert run.training is not None
        assert run.training.metrics[0].files == (tmp_path / "new" / "metrics.jsonl",)

    def test_run_json_stands_for_its_folder(self, tmp_path: Path) -> None:
        (run,) = find_runs(write_run(tmp_path / "new") / "run.json")

        assert run.name == "new"

    def test_a_metrics_file_of_a_run_directory_brings_its_run_json(self, tmp_path: Path) -> None:
        (run,) = find_runs(write_run(tmp_path / "new") / "metrics.jsonl")

        assert run.training is not None
        assert run.training.run is not None
        assert run.training.run.seed == 1

    def test_verls_file_logger_writes_a_run_by_experiment(self, tmp_path: Path) -> None:
        for name in ("grpo", "dapo"):
            write_metrics(tmp_path / "project" / f"{name}.jsonl")

        assert [run.name for run in find_runs(tmp_path)] == ["dapo.jsonl", "grpo.jsonl"]
        assert [run.name for run in find_runs(tmp_path / "project" / "grpo.jsonl")] == ["grpo.jsonl"]

    def test_other_files_of_lines_are_no_metrics(self, tmp_path: Path) -> None:
        (tmp_path / "1.jsonl").write_text('{"input": "a", "output": "b", "score": 1.0, "step": 1}\n')

        with pytest.raises(InputError, match="it contains no profile and no metrics"):
            find_runs(tmp_path)

    def test_repeated_runs_are_runs_of_one_side(self, tmp_path: Path) -> None:
        for number in range(1, 4):
            write_run(tmp_path / "side" / f"run{number}")
        make_profile(tmp_path / "side" / "run2" / "profile" / "e2e" / NAME.format(2), 0)

        runs = find_runs(tmp_path / "side")

        assert [(run.name, len(run.captures)) for run in runs] == [("run1", 0), ("run2", 1), ("run3", 0)]

    def test_one_that_left_nothing_is_said(self, tmp_path: Path) -> None:
        write_run(tmp_path / "side" / "run1")
        (tmp_path / "side" / "run2").mkdir()
        (tmp_path / "side" / "run2" / "run.json").write_text(json.dumps(description("failed")))

        (run,) = find_runs(tmp_path / "side")

        assert [finding.key for finding in run.findings] == ["empty_run"]
        with pytest.raises(InputError, match="neither metrics nor a profile"):
            find_runs(tmp_path / "side" / "run2")

    def test_run_json_tells_what_captures_are(self, tmp_path: Path) -> None:
        # GIVEN folders whose names tell nothing, two of one rank
        folder = tmp_path / "new"
        entries = []
        for number, (role, phase, step) in enumerate([("actor", "update_actor", 3), ("", "", 5)]):
            make_profile(folder / "profile" / "x" / NAME.format(number))
            path = f"profile/x/{NAME.format(number)}"
            entries.append({"path": path, "role": role, "phase": phase, "step": step, "rank": 4, "tool": "npu"})
        write_run(folder, description(captures=entries))

        (run,) = find_runs(folder)

        assert [(c.role, c.phase, c.step_hint, c.rank) for c in run.captures] == [
            (None, None, 5, 4),
            ("actor", "update_actor", 3, 4),
        ]

    def test_a_layout_that_was_asked_for(self, tmp_path: Path) -> None:
        for number in (1, 2):
            folder = write_run(tmp_path / "side" / f"run{number}")
            make_profile(folder / "profile" / NAME.format(number), 0)

        runs = find_runs(tmp_path / "side", layout="runs")
        (one,) = find_runs(tmp_path / "side", layout="ranks")

        assert [run.training and run.training.path.name for run in runs] == ["run1", "run2"]
        assert one.training is None
        assert "metrics_of_no_run" in {finding.key for finding in one.findings}

    def test_a_capture_of_several_steps_is_of_no_single_one(self, tmp_path: Path) -> None:
        make_profile(tmp_path / "new" / "profile" / NAME.format(1))
        entry = {"path": f"profile/{NAME.format(1)}", "role": "", "phase": "", "step": 3, "steps": [3, 4], "rank": 0}
        write_run(tmp_path / "new", description(captures=[entry]))

        (run,) = find_runs(tmp_path / "new")

        assert [(capture.step_hint, capture.rank) for capture in run.captures] == [(None, 0)]

    def test_metrics_beside_one_profile_are_its_own(self, tmp_path: Path) -> None:
        make_profile(tmp_path / "job" / NAME.format(1), 0)
        write_metrics(tmp_path / "job" / "exp.jsonl")

        (run,) = find_runs(tmp_path / "job")

        assert run.training is not None
        assert [finding.key for finding in run.findings] == ["metrics_joined"]

    def test_metrics_beside_several_profiles_are_left_out(self, tmp_path: Path) -> None:
        for number in (1, 2):
            make_profile(tmp_path / "job" / NAME.format(number), 0)
        write_metrics(tmp_path / "job" / "exp.jsonl")

        runs = find_runs(tmp_path / "job")

        assert [run.training for run in runs] == [None, None]
        assert "metrics_of_no_run" in {finding.key for run in runs for finding in run.findings}

    def test_a_rank_of_metrics_alone(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="states no rank"):
            find_runs(write_run(tmp_path / "new"), ranks=frozenset({0}))


class TestStore:
    def test_steps_are_told_apart(self, tmp_path: Path) -> None:
        store = store_of(write_run(tmp_path / "new"), tmp_path / "s.duckdb")

        seen = rows(
            store, "SELECT step, profiled, warmup, source FROM metric WHERE name = 'timing_s/gen' ORDER BY step"
        )
        assert seen[0] == (1, False, True, "metrics.jsonl")
        assert seen[1] == (2, False, False, "metrics.jsonl")
        assert seen[11] == (12, True, False, "metrics.jsonl")
        assert rows(store, "SELECT count(*) FROM finding") == [(0,)]

    def test_without_run_json_no_step_is_known_to_be_profiled(self, tmp_path: Path) -> None:
        store = store_of(write_metrics(tmp_path / "exp.jsonl"), tmp_path / "s.duckdb")

        assert rows(store, "SELECT DISTINCT profiled, warmup FROM metric") == [(False, None)]
        assert rows(store, "SELECT count(*) FROM env") == [(0,)]

    def test_the_environment_is_an_allowlist(self, tmp_path: Path) -> None:
        config = {
            "data": {"train_batch_size": 8, "train_files": "/home/somebody/data.parquet"},
            "actor_rollout_ref": {
                "model": {"path": "/home/somebody/models/Qwen3-0.6B"},
                "actor": {
                    "strategy": "fsdp2",
                    "loss_agg_mode": "token-mean",
                    "profiler": {"enable": True, "tool_config": {"npu": {"level": "level1", "l2_cache": None}}},
                },
                "rollout": {"dtype": "bfloat16", "stop": [], "server_token": "hf_abcdefghijkl"},
            },
            "algorithm": {"rollout_is_threshold": None, "rollout_is": True, "adv_estimator": "grpo"},
            "critic": {"ppo_epochs": 2},
            "trainer": {"nnodes": 1, "experiment_name": "x"},
            "global_profiler": {"steps": [3, 4], "save_path": "/home/somebody/out"},
            "secrets": {"wandb": "0123"},
        }
        store = store_of(write_run(tmp_path / "new", description(config=config)), tmp_path / "s.duckdb")

        assert dict(rows(store, "SELECT key, value FROM env WHERE capture IS NULL")) == {
            "torch": "2.13.0",
            "python": "3.11.4",
            "device": "cpu",
            "device_name": "a processor",
            "world_size": "1",
            "seed": "1",
            "commit": "0123456789ab",
            "data.train_batch_size": "8",
            "actor_rollout_ref.model.path": "Qwen3-0.6B",
            "actor_rollout_ref.actor.strategy": "fsdp2",
            "actor_rollout_ref.actor.loss_agg_mode": "token-mean",
            "actor_rollout_ref.rollout.dtype": "bfloat16",
            "actor_rollout_ref.rollout.stop": "[]",
            "algorithm.rollout_is_threshold": "null",
            "algorithm.rollout_is": "true",
            "algorithm.adv_estimator": "grpo",
            "actor_rollout_ref.actor.profiler.enable": "true",
            "actor_rollout_ref.actor.profiler.tool_config.npu.level": "level1",
            "trainer.nnodes": "1",
            "global_profiler.steps": "3,4",
        }

    @pytest.mark.parametrize(
        ("status", "says"), [("incomplete", "ended after step 12 of 12"), ("failed", "failed after")]
    )
    def test_a_run_that_did_not_finish(self, tmp_path: Path, status: str, says: str) -> None:
        store = store_of(write_run(tmp_path / "new", description(status)), tmp_path / "s.duckdb")

        assert says in findings(store)[f"run_{status}"]

    def test_profiles_that_are_not_there(self, tmp_path: Path) -> None:
        captures = [{"path": "/elsewhere/a.json.gz"}, {"path": "profile/e2e/gone.json.gz"}]
        store = store_of(write_run(tmp_path / "new", description(captures=captures)), tmp_path / "s.duckdb")

        assert findings(store)["profile_elsewhere"].startswith("1 of 2 profiles")
        assert findings(store)["missing_profile"].endswith("gone.json.gz")

    def test_what_does_not_fit_in_run_json_is_left_out_and_said(self, tmp_path: Path) -> None:
        folder = tmp_path / "new"
        make_profile(folder / "profile" / NAME.format(1))
        entry = {"path": f"profile/{NAME.format(1)}", "role": "actor", "phase": "update_actor", "rank": True, "step": 3}
        run = description(captures=[entry, {"role": "no path"}], world_size={"a": 1})
        write_run(folder, {**run, "steps": {"warmup": [1], "plain": 7, "profiled": [12]}})

        (found,) = find_runs(folder)
        store = store_of(folder, tmp_path / "s.duckdb")

        assert [(c.role, c.step_hint, c.rank) for c in found.captures] == [
            ("actor", 3, 0)
        ]  # a profile that names no rank is rank 0
        assert "world_size" not in dict(rows(store, "SELECT key, value FROM env WHERE capture IS NULL"))
        assert findings(store)["odd_run"] == (
            "invalid fields of run.json were ignored: world_size should be a string, a finite number or true or"
            " false, and 3 more"
        )

    def test_a_cut_run_json(self, tmp_path: Path) -> None:
        write_run(tmp_path / "new")
        path = tmp_path / "new" / "run.json"
        path.write_text(path.read_text()[:50])

        store = store_of(tmp_path / "new", tmp_path / "s.duckdb")

        assert "cannot be read" in findings(store)["damaged_run"]
        assert rows(store, "SELECT count(DISTINCT step) FROM metric") == [(12,)]

    def test_a_profile_whose_metrics_are_damaged_stays_readable(self, tmp_path: Path) -> None:
        write_run(tmp_path / "new")
        (tmp_path / "new" / "metrics.jsonl").write_text('{"step": 1, "data"')

        with pytest.raises(InputError, match="its only line is truncated"):
            store_of(tmp_path / "new", tmp_path / "s.duckdb")


class TestDamage:
    def test_a_cut_end_and_lines_that_cannot_be_read(self, tmp_path: Path) -> None:
        made = lines(6)
        path = tmp_path / "m.jsonl"
        path.write_text("\n".join([made[0], "\0\0\0", made[1], '{"step": "three"}', made[4], made[5][:40]]))

        metrics = read_metrics(path)

        assert sorted(set(metrics.steps)) == [1, 2, 5]
        assert (metrics.unreadable, metrics.cut) == ([2, 4], 6)
        store = store_of(path, tmp_path / "s.duckdb")
        assert set(findings(store)) == {"cut_metrics", "unreadable_metrics"}
        assert "2 lines" in findings(store)["unreadable_metrics"]

    def test_a_last_line_without_its_newline_is_whole(self, tmp_path: Path) -> None:
        path = tmp_path / "m.jsonl"
        path.write_text(lines(1)[0])

        metrics = read_metrics(path)

        assert (set(metrics.steps), metrics.unreadable, metrics.cut) == ({1}, [], None)

    def test_values_that_are_no_finite_numbers(self, tmp_path: Path) -> None:
        path = tmp_path / "m.jsonl"
        path.write_text(
            '{"step": 1, "data": {"a": NaN, "b": -Infinity, "c": null, "d": 1e999, "e": 0.5, "f": "abc", "g": [1],'
            ' "h": 1e155}}\n'
        )

        metrics = read_metrics(path)

        found = {name: value for _, _, name, value in metrics.rows()}
        assert math.isnan(found["a"] or 0)
        assert found == {
            "a": pytest.approx(math.nan, nan_ok=True),
            "b": -math.inf,
            "c": None,
            "d": math.inf,
            "e": 0.5,
            "h": 1e155,
        }
        store = store_of(path, tmp_path / "s.duckdb")
        assert "1 NaN, 3 infinite or beyond 1e100, 1 null" in findings(store)["not_finite"]
        assert findings(store)["no_numbers"].startswith("2 values")
        # Nothing is lost: what was no number has its row.
        assert rows(store, "SELECT count(*), count(value) FROM metric") == [(6, 5)]

    @pytest.mark.parametrize(
        ("steps", "why", "warmup"),
        [
            ([1, 1, 2, 2, 3, 3, 4, 4], "where several processes print their steps", []),
            ([1, 1, 2, 3, 2, 3, 4, 4], "where several processes print their steps", []),
            ([1, 2, 3, 3, 4], "after a restart", [3]),
            ([1, 2, 3, 4, 2, 3, 4], "after a restart", [2]),
        ],
    )
    def test_steps_that_several_processes_print_are_no_restart(
        self, tmp_path: Path, steps: Sequence[int], why: str, warmup: Sequence[int]
    ) -> None:
        lines = [json.dumps({"step": step, "data": {"timing_s/step": 30 + at}}) for at, step in enumerate(steps)]
        path = tmp_path / "m.jsonl"
        path.write_text("\n".join(lines) + "\n")

        store = store_of(path, tmp_path / "s.duckdb")

        assert [step for (step,) in rows(store, "SELECT step FROM metric WHERE warmup ORDER BY step")] == warmup
        assert f"more than once, as {why}: the last" in findings(store)["repeated_steps"]
        assert ("restarted" in findings(store)) == bool(warmup)

    def test_numbers_of_numpy(self, tmp_path: Path) -> None:
        path = tmp_path / "m.jsonl"
        path.write_text(
            '{"step": 1, "data": {"a": np.float64(0.25), "b": np.float32(nan), '
            '"c": np.int64(-3), "d": np.float64(1.)}}\n'
            '{"step": 2, "data": {"a": "np.float64(0.5)", "b": "0.75", "c": 1}}\n'
        )

        metrics = read_metrics(path)

        assert metrics.values[0] == 0.25
        assert math.isnan(metrics.values[1] or 0)
        assert list(metrics.values[2:]) == [-3.0, 1.0, 0.5, 0.75, 1.0]
        assert (metrics.odd["numpy"], metrics.odd["quoted"], metrics.odd["NaN"]) == (5, 1, 1)

    def test_of_a_step_that_was_repeated_the_last_counts(self, tmp_path: Path) -> None:
        path = tmp_path / "m.jsonl"
        path.write_text(
            "".join(f'{{"step": {step}, "data": {{"a": {value}}}}}\n' for step, value in [(1, 1), (2, 2), (2, 3)])
        )

        store = store_of(path, tmp_path / "s.duckdb")

        assert rows(store, "SELECT step, value FROM metric ORDER BY step") == [(1, 1.0), (2, 3.0)]
        assert "1 step (2)" in findings(store)["repeated_steps"]

    def test_what_is_only_printed_again_is_no_restart(self, tmp_path: Path) -> None:
        path = tmp_path / "m.jsonl"
        lines = (f'{{"step": {step}, "data": {{"timing_s/step": {30 + step}}}}}\n' for step in (1, 2, 3))
        path.write_text("".join(line * 2 for line in lines))

        store = store_of(path, tmp_path / "s.duckdb")

        assert rows(store, "SELECT step, value, warmup FROM metric ORDER BY step") == [
            (1, 31.0, None), (2, 32.0, None), (3, 33.0, None),
        ]  # fmt: skip
        assert not {"repeated_steps", "restarted"} & set(findings(store))
