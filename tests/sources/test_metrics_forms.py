"""Every format of verl's loggers: all numbers are read exactly; unreadable values are counted and reported."""

from __future__ import annotations

import json
import math
import os
import shutil
import sqlite3
import struct
import tracemalloc
from contextlib import closing
from pathlib import Path
from random import Random
from typing import ClassVar

import pytest

from rlcompare.errors import InputError
from rlcompare.model.run import RunInput
from rlcompare.sources.detect import find_runs
from rlcompare.sources.metrics import console, file_logger, form, tensorboard
from rlcompare.sources.metrics.read import read_metrics
from rlcompare.sources.metrics.values import LINE_BYTES, Metrics
from rlcompare.sources.peek import file_kind
from tests.run_directories import write_metrics
from tests.sources.profile_folders import make_profile
from tests.stores import rows, store_of
from tests.verl_logs import (
    BAR,
    COLOURED,
    RAY,
    console_log,
    event_file,
    mlflow_database,
    step_line,
    summary_record,
    training_step,
)

NAME = "host_{}_20250318093015001_ascend_pt"
KEYS = {"val-core/openai/gsm8k - hard/acc/mean@16": 0.5, "val-aux/hf:data/x-y/best@3/std": 0.25}


def logged(tmp_path: Path, text: str | bytes) -> Metrics:
    """What the console reader makes of a log."""
    path = tmp_path / "job"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    assert file_kind(path).kind == form.CONSOLE
    return console.read(path)


def values(metrics: Metrics) -> dict[tuple[int, str], float | None]:
    return {(step, name): value for _, step, name, value in metrics.rows()}


def findings(store: Path) -> dict[str, str]:
    return dict(rows(store, "SELECT key, message FROM finding"))


class TestConsole:
    @pytest.mark.parametrize(
        "before",
        [
            "", RAY, COLOURED, "(main_task pid=5487) ", "(TaskRunnerV1 pid=1, ip=10.0.0.7) ", "\x1b[32m",
            "\x1b[1;36m(TaskRunner pid=1)\x1b[0m ", "2025-08-02T00:35:34.123Z ", "[default0]:", "0: ",
            BAR.format(step=3), BAR.format(step=3) + "\r", f"{BAR.format(step=2)}\r{BAR.format(step=3)}\r{COLOURED}",
            "\x1b[A\x1b[2K", "\ufeff",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("after", ["\n", "\r\n", "\x1b[0m\n", " \n", f"\r{BAR.format(step=4)}\n"])
    def test_whatever_stands_around_it(self, tmp_path: Path, before: str, after: str) -> None:
        metrics = logged(tmp_path, f"Loading\n{before}step:3 - actor/lr:1e-06 - timing_s/step:48.7025266494602{after}")

        assert values(metrics) == {(3, "actor/lr"): 1e-06, (3, "timing_s/step"): 48.7025266494602}
        assert (metrics.unreadable, metrics.cut, metrics.odd["text"]) == ([], None, 0)

    @pytest.mark.parametrize(
        ("written", "number"),
        [
            ("0.38", 0.38), ("1e-06", 1e-06), ("-0.0036091046008680547", -0.0036091046008680547), ("159906", 159906.0),
            ("np.float64(0.23)", 0.23), ("np.float32(0.2351)", 0.2351), ("np.int64(-3)", -3.0),
            ("np.float64(1e-06)", 1e-06), ("1.5E+3", 1500.0), ("True", 1.0), ("False", 0.0), ("1.", 1.0),
            ("inf", math.inf), ("-inf", -math.inf), ("np.float64(inf)", math.inf), ("-0.0", 0.0),
            ("4.9406564584124654e-324", 5e-324), ("1.7976931348623157e+99", 1.7976931348623157e99),
        ],
    )  # fmt: skip
    def test_numbers_are_exact(self, tmp_path: Path, written: str, number: float) -> None:
        metrics = logged(tmp_path, f"step:1 - a/x:{written} - a/y:2.5\nstep:2 - a/y:1.0 - a/x:{written}\n")

        found = values(metrics)
        assert (found[1, "a/x"], found[2, "a/x"], found[1, "a/y"]) == (number, number, 2.5)

    @pytest.mark.parametrize("written", ["nan", "np.float64(nan)", "-nan"])
    def test_nan(self, tmp_path: Path, written: str) -> None:
        metrics = logged(tmp_path, f"step:1 - a/x:{written} - a/y:2.5\n")

        assert math.isnan(values(metrics)[1, "a/x"] or 0)
        assert metrics.odd["NaN"] == 1

    def test_names_with_all_their_characters(self, tmp_path: Path) -> None:
        metrics = logged(tmp_path, f"{RAY}{step_line(20, {'actor/lr': 1e-6, **KEYS, 'val/a b/x': 3})}\n")

        expected = {"actor/lr": 1e-6, **KEYS, "val/a b/x": 3.0}
        assert values(metrics) == {(20, name): value for name, value in expected.items()}

    def test_a_whole_log(self, tmp_path: Path) -> None:
        # GIVEN a job of three steps, with its configuration, bars and other processes' lines between
        steps = {step: training_step(step) for step in (1, 2, 3)}

        metrics = logged(tmp_path, console_log(steps, {"actor_rollout_ref": {"actor": {"strategy": "fsdp"}}, "x": 1}))

        # THEN the very numbers that were logged, and nothing else
        expected = {(step, name): float(value) for step, data in steps.items() for name, value in data.items()}
        assert values(metrics) == {(0, "val-core/openai/gsm8k/acc/mean@1"): 0.508, **expected}
        assert (metrics.unreadable, metrics.cut, metrics.odd["text"]) == ([], None, 0)

    def test_several_lines_of_a_step(self, tmp_path: Path) -> None:
        text = "step:5 - timing_s/step:1.5\nstep:5 - val-core/x/acc/mean@1:0.5\nstep:6 - timing_s/step:1.75\n"

        store = store_of(_write(tmp_path / "job.log", text), tmp_path / "s.duckdb")

        assert rows(store, "SELECT step, name, value FROM metric ORDER BY step, name") == [
            (5, "timing_s/step", 1.5), (5, "val-core/x/acc/mean@1", 0.5), (6, "timing_s/step", 1.75),
        ]  # fmt: skip
        assert findings(store) == {}

    def test_what_ray_says_about_repeated_lines(self, tmp_path: Path) -> None:
        note = "\x1b[32m [repeated 2x across cluster] (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0)\x1b[0m"

        assert values(logged(tmp_path, f"{COLOURED}step:1 - a/x:0.5 - a/y:2.25{note}\n")) == {
            (1, "a/x"): 0.5,
            (1, "a/y"): 2.25,
        }

    def test_lines_that_are_no_metrics(self, tmp_path: Path) -> None:
        text = (
            "Let us go on. step:1 - add 3 and 4: 7\nglobal_step:4 - a/x:1.0\nstep:2 - done\n"
            "(TaskRunner pid=1) \"step:9 - a\"\nstep:3 - a/x:0.5\n"
        )  # fmt: skip
        metrics = logged(tmp_path, text)

        assert values(metrics) == {(3, "a/x"): 0.5}
        assert metrics.unreadable == []

    def test_damage_is_counted_with_its_first_line(self, tmp_path: Path) -> None:
        # GIVEN another process that wrote into a line, a value that is none, a line without any, and a cut end
        text = (
            "step:1 - a/x:0.5(WorkerDict pid=7) hello: world - a/y:0.25\n"
            "step:2 - a/x:oops - a/y:0.75\n"
            "nothing\n"
            "step:3 - a/x:oops\n"
            "step:4 - a/x:1.5 - a/y:1.75\n"
            "step:5 - a/x:2.5 - a/y:2.7"
        )
        path = _write(tmp_path / "job.log", text)
        store = store_of(path, tmp_path / "s.duckdb")

        assert rows(store, "SELECT step, name, value FROM metric ORDER BY step, name") == [
            (1, "a/x", 0.5), (1, "a/y", 0.25), (2, "a/y", 0.75), (4, "a/x", 1.5), (4, "a/y", 1.75),
            (5, "a/x", 2.5),
        ]  # fmt: skip
        said = findings(store)
        assert "no line end after its last value, which was left out" in said["open_end"]
        assert said["unreadable_metrics"] == "1 line of job.log cannot be read and were left out: 4"
        assert "1 value in job.log" in said["no_numbers"] and "line 2" in said["no_numbers"]

    @pytest.mark.parametrize(
        ("written", "found", "left"),
        [
            ("a/x:1,234.5", {}, 1), ("a/x:50%", {}, 1), ("a/x:3.5GiB", {}, 1), ("a/x:1.2.3", {}, 1),
            ("a/x:2.5 some tail a/z:7", {"a/x": 2.5}, 1), ("a/x:2.5(WorkerDict pid=7) hello: 3", {"a/x": 2.5}, 0),
            (f"a/x:3.5{BAR.format(step=3)}", {"a/x": 3.5}, 0), ("a/x:1e-06Validation Progress: 3", {"a/x": 1e-6}, 0),
            ("val/hf:7b/x y/acc/mean@1:np.float64(0.5)", {"val/hf:7b/x y/acc/mean@1": 0.5}, 0),
            ("val/hf:2/x:0.5", {"val/hf:2/x": 0.5}, 0),
        ],
    )  # fmt: skip
    def test_what_stands_behind_a_value(self, tmp_path: Path, written: str, found: dict[str, float], left: int) -> None:
        metrics = logged(tmp_path, f"step:1 - a/y:0.25 - {written} - b/y:0.75\n")

        expected = {"a/y": 0.25, **found, "b/y": 0.75}
        assert values(metrics) == {(1, name): value for name, value in expected.items()}
        assert metrics.odd["text"] == left

    @pytest.mark.parametrize(
        ("cut", "kept"),
        [
            ("a/x:1.5 - a/y:0.123", {"a/x": 1.5}), ("a/x:1.5 - a/y:np.float64(0.1", {"a/x": 1.5}),
            ("a/x:1.5 - a/y:", {"a/x": 1.5}), ("a/x:1.5 - a/", {"a/x": 1.5}), ("a/x:1.5 - a/gen", {"a/x": 1.5}),
            ("a/x:1.5 - ", {"a/x": 1.5}), ("a/x:0.12", {}),
        ],
    )  # fmt: skip
    def test_the_next_jobs_line_behind_a_cut_one(self, tmp_path: Path, cut: str, kept: dict[str, float]) -> None:
        text = f"step:5 - {cut}step:6 - a/x:0.5 - a/y:1.0 - a/z:2.0\nstep:7 - a/x:0.75 - a/y:1.0 - a/z:2.0\n"
        path = _write(tmp_path / "job.log", text)

        store = store_of(path, tmp_path / "s.duckdb")

        assert dict(rows(store, "SELECT name, value FROM metric WHERE step = 5")) == kept
        assert rows(store, "SELECT name, value FROM metric WHERE step = 6 ORDER BY name") == [
            ("a/x", 0.5), ("a/y", 1.0), ("a/z", 2.0),
        ]  # fmt: skip
        assert "1 step in job.log cut" in findings(store)["cut_step"] and "line 1" in findings(store)["cut_step"]

    def test_what_cannot_be_negative_is_not_measured(self, tmp_path: Path) -> None:
        impossible = {"timing_s/step": -10.0, "timing_per_token_ms/gen": -0.5, "perf/throughput": -3.0,
                      "perf/max_memory_allocated_gb": -2.0, "response_length/mean": -93.0,
                      "workload.total_tokens": -4.0}  # fmt: skip
        sound = {"critic/rewards/mean": -0.5, "actor/ppo_kl": -0.01, "rollout_corr/kl": -0.002, "actor/entropy": -0.1,
                 "training/rollout_probs_diff_mean": -0.1, "timing_s/agent_loop/slowest/num_preempted": -1.0,
                 "rollout_corr/log_ppl_diff": -0.3, "timing_s/gen": 4.0}  # fmt: skip
        line = step_line(3, impossible | sound)

        store = store_of(_write(tmp_path / "job.log", f"{line}\n"), tmp_path / "s.duckdb")

        assert dict(rows(store, "SELECT name, value FROM metric")) == dict.fromkeys(impossible) | sound
        said = findings(store)["negative_metric"]
        assert said.startswith("job.log has negative values")
        assert "timing_s/step is -10 in step 3, timing_per_token_ms/gen is -0.5 in step 3" in said
        assert said.endswith("and 1 more")

    def test_what_is_beyond_any_sense_is_not_measured(self, tmp_path: Path) -> None:
        beyond = {"timing_s/gen": 1e9, "timing_s/of_nobody": 1.7e9, "perf/total_num_tokens": 1e30, "timing_s/step": 0.0}
        sound = {"timing_s/reward": 0.0, "timing_s/testing": 8e4, "timing_s/elapsed": 1e7, "actor/grad_norm": 1e30,
                 "actor/entropy": -0.0, "perf/total_num_tokens": 1e12}  # fmt: skip
        # Numbers beyond any float count as infinite.
        infinite = {"timing_s/old_log_prob": "9" * 5000, "timing_s/ref": "1e999999", "actor/ppo_kl": "-1e200"}
        lines = [step_line(3, beyond | infinite), step_line(4, sound | {"timing_s/step": 1e-320}), step_line(5, sound)]

        store = store_of(_write(tmp_path / "job.log", "\n".join([*lines, ""])), tmp_path / "s.duckdb")

        of_step = "SELECT name, value FROM metric WHERE step = {} AND (value IS NULL OR abs(value) <= 1e100)"
        assert dict(rows(store, of_step.format(3))) == dict.fromkeys(beyond)
        assert dict(rows(store, of_step.format(4))) == sound | {"timing_s/step": None}
        assert dict(rows(store, of_step.format(5))) == sound
        said = findings(store)
        assert said["implausible_metric"].startswith("job.log has implausible values")
        assert "timing_s/gen is 1e+09 in step 3" in said["implausible_metric"]
        assert "3 infinite or beyond 1e100" in said["not_finite"]

    def test_nor_is_it_after_sound_values(self, tmp_path: Path) -> None:
        sound = {"timing_s/gen": 5.5, "timing_s/step": 10.5, "perf/total_num_tokens": 1e6}
        beyond = {"timing_s/gen": 1e9, "timing_s/step": 0.0, "perf/total_num_tokens": 1e30}
        steps = [{"step": step, "data": data} for step, data in enumerate([sound, sound, beyond], 1)]
        path = _write(tmp_path / "job.jsonl", "".join(f"{json.dumps(step)}\n" for step in steps))

        metrics = file_logger.read(path)

        assert {name: value for (step, name), value in values(metrics).items() if step == 3} == dict.fromkeys(beyond)
        assert {(name, step) for name, step, _ in metrics.implausible} == {(name, 3) for name in beyond}

    def test_a_metric_called_step_is_no_step(self, tmp_path: Path) -> None:
        line = "step:5 - training/global_step:5 - timing_s/step:48 - perf/timestep:3 - val/x-step:4 - a/y:1.0"

        metrics = logged(tmp_path, f"{line}\n")

        assert values(metrics) == {
            (5, "training/global_step"): 5, (5, "timing_s/step"): 48, (5, "perf/timestep"): 3, (5, "val/x-step"): 4,
            (5, "a/y"): 1.0,
        }  # fmt: skip
        assert metrics.odd["cut"] == 0

    @pytest.mark.parametrize("end", ["step:2 - a/x:2.5 - a/", "step:2 - a/x:2.5 - a/y", "step:2 - a/x:2.5 - a/y:"])
    def test_a_cut_line_gives_what_stands_before_the_cut(self, tmp_path: Path, end: str) -> None:
        store = store_of(_write(tmp_path / "job.log", f"step:1 - a/x:1.5 - a/y:1.0\n{end}"), tmp_path / "s.duckdb")

        assert rows(store, "SELECT name, value FROM metric WHERE step = 2") == [("a/x", 2.5)]
        assert findings(store)["cut_metrics"].startswith("job.log ends in a truncated line (2)")

    def test_a_cut_number_is_not_taken(self, tmp_path: Path) -> None:
        metrics = logged(tmp_path, "step:1 - a/x:1.5 - a/y:1.25 - a/z:3.5\nstep:2 - a/x:2.5 - a/y:1.2")

        assert {name: value for (step, name), value in values(metrics).items() if step == 2} == {"a/x": 2.5}
        assert metrics.cut == 2

    def test_three_decimals_are_said(self, tmp_path: Path) -> None:
        line = step_line(1, dict.fromkeys(("a/v", "a/w", "a/x", "a/y", "actor/lr"), "0.001"))

        store = store_of(_write(tmp_path / "old.log", f"{line}\n"), tmp_path / "s.duckdb")

        assert "three decimals" in findings(store)["rounded_metrics"]

    def test_a_line_too_long_is_left_out_without_being_taken_apart(self, tmp_path: Path) -> None:
        long = "step:2 - a/x:0.5" + " - a/y:0.25" * (3 * LINE_BYTES // 22) + " - step:9 - a/x:0.5"
        path = _write(tmp_path / "job.log", f"step:1 - a/x:0.5\n{long}\nstep:3 - a/x:0.75\n")
        tracemalloc.start()

        metrics = console.read(path)

        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert values(metrics) == {(1, "a/x"): 0.5, (3, "a/x"): 0.75}
        assert (metrics.unreadable, list(metrics.lines)) == ([2], [1, 3])
        assert peak < 4 * LINE_BYTES

    @pytest.mark.parametrize("end", ["}}\n", ""])
    def test_such_a_line_of_the_file_logger(self, tmp_path: Path, end: str) -> None:
        long = '{"step": 2, "data": {"a/x": 1' + "0" * 2 * LINE_BYTES + end
        path = _write(tmp_path / "job.jsonl", '{"step": 1, "data": {"a/x": 0.5}}\n' + long)

        metrics = file_logger.read(path)

        assert values(metrics) == {(1, "a/x"): 0.5}
        assert (metrics.unreadable, metrics.cut) == (([2], None) if end else ([], 2))

    def test_a_log_larger_than_any_head(self, tmp_path: Path) -> None:
        noise = "(WorkerDict pid=1) INFO 08-02 00:36:03 loading weights\n" * 40_000

        metrics = logged(tmp_path, noise + "step:1 - a/x:0.5\n" + noise + "step:2 - a/x:0.75\n")

        assert list(zip(metrics.lines, metrics.values, strict=True)) == [(40_001, 0.5), (80_002, 0.75)]

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        metrics = logged(tmp_path, b"\xff\xfe garbage\nstep:1 - a/x:0.5 - a/\xe4:1.5\n")

        assert values(metrics) == {(1, "a/x"): 0.5, (1, "a/\ufffd"): 1.5}

    def test_other_texts_are_no_logs(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="has no line `step:N - key:value` with metrics"):
            find_runs(_write(tmp_path / "notes.txt", "step:1 - think\nglobal_step:3 - a/x:1.0\n"))


class TestConfiguration:
    CONFIG: ClassVar = {
        "actor_rollout_ref": {
            "actor": {"strategy": "fsdp", "ppo_epochs": 2, "profiler": {"enable": True}},
            "model": {"path": "/home/somebody/models/Qwen3-8B-with-a-name-so-long-that-pprint-has-to-break-it-in-two"},
            "rollout": {"profiler": {"enable": False}, "stop": "it's [a] \"text\" {"},
        },
        "algorithm": {"adv_estimator": "grpo", "rollout_correction": {"rollout_is_threshold": 2.0}},
        "data": {"train_batch_size": 1024, "train_files": "/home/somebody/train.parquet"},
        "global_profiler": {"steps": [2], "tool": "npu", "save_path": "outputs/profile"},
        "trainer": {"logger": ["console"], "wandb_token": "hf_abcdefghijkl"},
    }  # fmt: skip

    @pytest.mark.parametrize("prefix", ["", RAY, COLOURED])
    def test_is_read_as_the_file_knows_it(self, tmp_path: Path, prefix: str) -> None:
        steps = {step: training_step(step) for step in range(1, 4)}
        log = _write(tmp_path / "job.log", console_log(steps, self.CONFIG, prefix=prefix))

        store = store_of(log, tmp_path / "s.duckdb")

        env = dict(rows(store, "SELECT key, value FROM env"))
        assert env["actor_rollout_ref.actor.ppo_epochs"] == "2"
        assert env["algorithm.rollout_correction.rollout_is_threshold"] == "2"
        assert env["actor_rollout_ref.model.path"].startswith("Qwen3-8B-with")
        assert not any("somebody" in value or "hf_" in value for value in env.values())
        assert rows(store, "SELECT DISTINCT step FROM metric WHERE profiled") == [(2,)]

    @pytest.mark.parametrize(
        ("change", "profiled"),
        [
            ({"global_profiler": {"steps": None, "tool": "npu"}}, []),
            ({"global_profiler": {"steps": [2], "tool": None}}, []),
            ({"global_profiler": {}, "trainer": {"profile_steps": [1, 3]}}, [1, 3]),
            ({"actor_rollout_ref": {"actor": {"profiler": {"enable": False}}}}, []),
        ],
    )
    def test_the_steps_that_were_profiled(self, tmp_path: Path, change: dict[str, object], profiled: list[int]) -> None:
        config = {**self.CONFIG, **change}
        log = _write(tmp_path / "j.log", console_log({step: training_step(step) for step in range(1, 4)}, config))

        store = store_of(log, tmp_path / "s.duckdb")

        assert rows(store, "SELECT DISTINCT step FROM metric WHERE profiled ORDER BY step") == [
            (step,) for step in profiled
        ]

    @pytest.mark.parametrize(
        "printed",
        [
            "{'actor_rollout_ref': {'actor': __import__('os').system('touch pwned')}}",
            "{'actor_rollout_ref': {'actor': " + "[" * 500 + "]" * 500 + "}}",
            "{'actor_rollout_ref': {'actor': 1}",
            "{'actor_rollout_ref': {'actor': <object at 0x7f>}}",
        ],
    )
    def test_one_that_is_no_plain_data_is_left_alone(self, tmp_path: Path, printed: str) -> None:
        log = _write(tmp_path / "job.log", f"{printed}\nstep:1 - a/x:0.5\n")

        store = store_of(log, tmp_path / "s.duckdb")

        assert rows(store, "SELECT count(*) FROM env") == [(0,)]
        assert not Path("pwned").exists()


class TestTensorBoard:
    def test_scalars(self, tmp_path: Path) -> None:
        folder = tmp_path / "tensorboard_log" / "project" / "exp"
        event_file(folder / "events.out.tfevents.1.host.7.0", [(1, "timing_s/step", 1.5), (2, "a/lr", 1e-06)])

        (run,) = find_runs(tmp_path)

        metrics = _read(run)
        assert values(metrics) == {
            (1, "timing_s/step"): 1.5,
            (2, "a/lr"): struct.unpack("f", struct.pack("f", 1e-6))[0],
        }

    def test_files_of_restarts_are_one_run_and_the_last_wins(self, tmp_path: Path) -> None:
        # GIVEN a job that was killed after step 3 and went on from its checkpoint of step 2; names do not tell order
        event_file(tmp_path / "events.9", [(step, "timing_s/step", float(step)) for step in (1, 2, 3)], began=100.0)
        event_file(tmp_path / "events.1", [(step, "timing_s/step", step + 0.5) for step in (3, 4, 5)], began=200.0)

        store = store_of(tmp_path, tmp_path / "s.duckdb")

        assert rows(store, "SELECT step, value, warmup FROM metric ORDER BY step") == [
            (1, 1.0, None), (2, 2.0, None), (3, 3.5, True), (4, 4.5, None), (5, 5.5, None),
        ]  # fmt: skip
        assert {"repeated_steps", "restarted"} <= set(findings(store))

    def test_a_job_that_began_again_is_another_one(self, tmp_path: Path) -> None:
        """That another metric goes back to an earlier step does not tell it."""
        first = [(step, "timing_s/step", 10.0) for step in range(1, 6)]
        event_file(tmp_path / "events.1", [*first, (2, "eval/x", 0.5)], began=100.0)
        event_file(tmp_path / "events.2", [(step, "timing_s/step", 20.0) for step in (1, 2)], began=200.0)

        store = store_of(tmp_path, tmp_path / "s.duckdb")

        assert rows(store, "SELECT step, name, value FROM metric ORDER BY step") == [
            (1, "timing_s/step", 20.0), (2, "timing_s/step", 20.0),
        ]  # fmt: skip
        assert "contains 2 jobs: only the last one is used" in findings(store)["earlier_job"]

    def test_steps_in_another_order_are_of_one_job(self, tmp_path: Path) -> None:
        event_file(tmp_path / "events.1", [(step, "timing_s/step", float(step)) for step in (3, 2, 1)])
        store = store_of(tmp_path, tmp_path / "s.duckdb")
        assert rows(store, "SELECT step, value FROM metric ORDER BY step") == [(1, 1.0), (2, 2.0), (3, 3.0)]
        assert "earlier_job" not in findings(store)

    def test_a_cut_record_and_a_damaged_one(self, tmp_path: Path) -> None:
        path = event_file(tmp_path / "events", [(step, "a/x", float(step)) for step in (1, 2, 3, 4)])
        data = bytearray(path.read_bytes())
        size = (len(data) - 40) // 4
        data[40 + size + size // 2] ^= 0xFF  # within the record of step 2
        path.write_bytes(bytes(data[:-6]))

        metrics = tensorboard.read([path])

        assert values(metrics) == {(1, "a/x"): 1.0, (3, "a/x"): 3.0}
        assert (metrics.unreadable, metrics.cut) == ([3], 5)

    def test_values_that_are_no_floats_and_steps_that_are_none(self, tmp_path: Path) -> None:
        # GIVEN a simple_value as text (also one of four bytes), as whole number and of eight bytes; no tag; a far step
        path = event_file(tmp_path / "events", [(1, "a/x", 0.5), (2, "", 0.5), (10**15 + 1, "a/x", 0.5)])
        wrong = (b"\x12\x03abc", b"\x12\x04abcd", b"\x10\x05", b"\x11" + b"\0" * 8)
        path.write_bytes(path.read_bytes() + b"".join(map(summary_record, wrong)))

        metrics = tensorboard.read([path])

        assert values(metrics) == {(1, "a/x"): 0.5}
        assert (metrics.odd["text"], metrics.odd["unnamed"], metrics.unreadable) == (4, 1, [4])

    @pytest.mark.parametrize(
        ("data", "crc"),
        [(b"123456789", 0xE3069283), (b"\0" * 32, 0x8A9136AA), (bytes(range(32)), 0x46DD794E)],
    )
    def test_checksum(self, data: bytes, crc: int) -> None:
        """Test vectors of RFC 3720, B.4, and the check value of CRC-32C."""
        assert tensorboard.masked_crc(data) == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


class TestMlflow:
    ROWS = ((1, "timing_s/step", 1.5, False), (1, "val-core/x/acc/mean_at_16", 0.25, False),
            (2, "timing_s/step", 1.75, False), (2, "a/pass_at_1", 3.0, False), (2, "a/nan", 0.0, True),
            (2, "a/inf", 1.7976931348623157e308, False))  # fmt: skip

    def test_database(self, tmp_path: Path) -> None:
        path = mlflow_database(tmp_path / "mlflow.db", {"grpo": self.ROWS})
        before = sorted(tmp_path.iterdir())

        store = store_of(path, tmp_path / "s.duckdb")

        found = rows(store, "SELECT step, name, value, profiled FROM metric WHERE isfinite(value) ORDER BY step, name")
        assert found == [
            (1, "timing_s/step", 1.5, False), (1, "val-core/x/acc/mean@16", 0.25, False),
            (2, "a/pass_at_1", 3.0, True), (2, "timing_s/step", 1.75, True),
        ]  # fmt: skip
        assert rows(store, "SELECT name FROM metric WHERE NOT isfinite(value) ORDER BY name") == [
            ("a/inf",),
            ("a/nan",),
        ]
        assert ("algorithm.adv_estimator", "grpo") in rows(store, "SELECT key, value FROM env")
        assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "s.duckdb"])

    @pytest.mark.parametrize("damaged", [False, True])
    def test_a_log_that_cannot_be_used_is_said(self, tmp_path: Path, damaged: bool) -> None:
        # GIVEN a copy of a database whose last values stand in its write-ahead log alone
        path = mlflow_database(tmp_path / "live.db", {"grpo": self.ROWS[:1]})
        copy, log = tmp_path / "mlflow.db", tmp_path / "mlflow.db-wal"
        with closing(sqlite3.connect(path)) as con:
            con.execute("PRAGMA journal_mode = wal")
            con.execute("INSERT INTO metrics SELECT key, 2.5, 2000, run_uuid, 2, FALSE FROM metrics")
            con.commit()
            copy.write_bytes(path.read_bytes())
            log.write_bytes(bytes(4 if damaged else 0) + (tmp_path / "live.db-wal").read_bytes()[4 if damaged else 0 :])
        before = {file: file.read_bytes() for file in (copy, log)}

        store = store_of(copy, tmp_path / "s.duckdb")

        assert rows(store, "SELECT max(step) FROM metric") == [(1 if damaged else 2,)]
        said = [text for (text,) in rows(store, "SELECT message FROM finding") if "-wal is damaged" in text]
        assert len(said) == damaged
        assert {file: file.read_bytes() for file in (copy, log)} == before
        assert not (tmp_path / "mlflow.db-shm").exists()

    def test_the_log_of_a_linked_database_is_beside_its_target(self, tmp_path: Path) -> None:
        # GIVEN a link to a database whose last values stand in its write-ahead log
        path = mlflow_database(tmp_path / "live.db", {"grpo": self.ROWS[:1]})
        link = tmp_path / "job" / "mlflow.db"
        link.parent.mkdir()
        link.symlink_to(path)
        with closing(sqlite3.connect(path)) as con:
            con.execute("PRAGMA journal_mode = wal")
            con.execute("INSERT INTO metrics SELECT key, 2.5, 2000, run_uuid, 2, FALSE FROM metrics")
            con.commit()
            before = sorted(tmp_path.rglob("*"))
            # WHEN it is read
            store = store_of(link, tmp_path / "s.duckdb")
            # THEN they are, and nothing is written beside it
            assert rows(store, "SELECT max(step) FROM metric") == [(2,)]
            assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "s.duckdb"])
        assert len(rows(store, "FROM input")) == 2  # if the log changes, so does the run

    def test_a_log_that_is_a_link_too_is_beside_the_link(self, tmp_path: Path) -> None:
        path = mlflow_database(tmp_path / "live.db", {"grpo": self.ROWS[:1]})
        (tmp_path / "job").mkdir()
        with closing(sqlite3.connect(path)) as con:
            con.execute("PRAGMA journal_mode = wal")
            con.execute("INSERT INTO metrics SELECT key, 2.5, 2000, run_uuid, 2, FALSE FROM metrics")
            con.commit()
            for number, end in enumerate(("", "-wal")):  # as git-annex does
                stored = tmp_path / f"annex{number}" / f"digest{number}.db{end}"
                stored.parent.mkdir()
                stored.write_bytes((tmp_path / f"live.db{end}").read_bytes())
                (tmp_path / "job" / f"mlflow.db{end}").symlink_to(stored)

        store = store_of(tmp_path / "job" / "mlflow.db", tmp_path / "s.duckdb")

        assert rows(store, "SELECT max(step) FROM metric") == [(2,)]

    def test_one_of_several_runs(self, tmp_path: Path) -> None:
        path = mlflow_database(
            tmp_path / "mlruns.db", {"base": self.ROWS[:1], "new": [(1, "timing_s/step", 2.5, False)]}
        )

        (run,) = find_runs(path / "new")

        assert run.name == "new"
        assert values(_read(run)) == {(1, "timing_s/step"): 2.5}
        assert [found.name for found in find_runs(path / f"{0:032x}")] == ["base"]
        with pytest.raises(InputError, match="it holds 2 runs: base, new") as raised:
            find_runs(path)
        assert f"{path}/base" in raised.value.remedy
        with pytest.raises(InputError, match="it holds no run other"):
            find_runs(path / "other")

    def test_file_store(self, tmp_path: Path) -> None:
        folder = tmp_path / "mlruns" / "12" / "abcdef"
        for name, lines in {"metrics/timing_s/step": "1000 1.5 1\n2000 1.75 2\n", "metrics/a/nan": "1000 nan 1\n",
                            "metrics/val-core/x/mean_at_8": "1000 0.5 1\n", "params/data/seed": "7",
                            "metrics/a/bad": "1000 x\n"}.items():  # fmt: skip
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            _write(folder / name, lines)
        _write(folder / "meta.yaml", "artifact_uri: x\nrun_id: abcdef\nrun_name: 'dapo'\n")
        (tmp_path / "mlruns" / "0").mkdir()

        (run,) = find_runs(tmp_path)

        metrics = _read(run)
        assert run.training is not None and run.training.metrics[0].name == "dapo"
        found = {key: value for key, value in values(metrics).items() if not math.isnan(value or 0)}
        assert found == {(1, "timing_s/step"): 1.5, (2, "timing_s/step"): 1.75, (1, "val-core/x/mean@8"): 0.5}
        assert len(metrics.unreadable) == 1


class TestWandb:
    def test_history_lines(self, tmp_path: Path) -> None:
        entries = [
            {"timing_s/step": 1.5, "a/x": "NaN", "_timestamp": 1.7e9, "_runtime": 60, "_step": 1},
            {"_step": 2, "timing_s/step": 1.75, "val/generations": {"_type": "table-file", "nrows": 2}},
        ]
        path = _write(
            tmp_path / "wandb-history.jsonl", "".join(f"{json.dumps(entry)}\n" for entry in entries) + '{"_st'
        )

        (run,) = find_runs(path)

        metrics = _read(run)
        found = values(metrics)
        assert (found[1, "timing_s/step"], found[2, "timing_s/step"]) == (1.5, 1.75)
        assert math.isnan(found[1, "a/x"] or 0) and len(found) == 3
        assert (metrics.cut, metrics.odd["text"]) == (3, 1)

    def test_history_as_csv(self, tmp_path: Path) -> None:
        header = ',_step,_runtime,timing_s/step,"val/a,b",actor/lr\n'
        text = f"{header}0,1,60,1.5,,1e-06\n1,2,61.5,NaN,0.25,2e-06\n2,x,1,1,1,1\n"

        (run,) = find_runs(_write(tmp_path / "export.csv", text))

        metrics = _read(run)
        found = values(metrics)
        assert math.isnan(found.pop((2, "timing_s/step")) or 0)
        assert found == {(1, "timing_s/step"): 1.5, (1, "actor/lr"): 1e-6, (2, "val/a,b"): 0.25, (2, "actor/lr"): 2e-6}
        assert metrics.unreadable == [4]

    @pytest.mark.parametrize("after", ["", "\n", "\n5,6.0,7\n6,7.0,8\n"])
    def test_a_quote_that_is_never_closed_is_said_as_a_cut(self, tmp_path: Path, after: str) -> None:
        text = f'_step,timing_s/step,a/note\n1,1.5,"two\nlines"\n2,"1.75",""\n4,1.5,"unterminated{after}'

        metrics = _read(find_runs(_write(tmp_path / "export.csv", text))[0])

        assert values(metrics) == {(1, "timing_s/step"): 1.5, (2, "timing_s/step"): 1.75}
        assert (metrics.cut, metrics.unreadable) == (5, [])

    @pytest.mark.parametrize(
        ("header", "last", "is_cut"),
        [
            ("step,timing_s/step,timing_s/gen", "2,10", True),
            ("step,timing_s/step,timing_s/gen", "2,10\n", False),  # a row that is short, as its line ends
            ("step,timing_s/step,timing_s/gen", "2,10.5,3.5", False),
            ("step,timing_s/step,timing_s/gen,", "2,10.5,3.5", False),  # the header alone is wider
        ],
    )
    def test_a_last_row_with_fewer_cells_is_cut(self, tmp_path: Path, header: str, last: str, is_cut: bool) -> None:
        path = _write(tmp_path / "export.csv", f"{header}\n1,101.2,30.1\n{last}")

        metrics = _read(find_runs(path)[0])

        assert metrics.cut == (3 if is_cut else None)
        assert ((2, "timing_s/step") in values(metrics)) is not is_cut

    def test_a_chart_of_two_runs(self, tmp_path: Path) -> None:
        text = (
            '"Step","base - timing_s/step","base - timing_s/step__MIN","base - timing_s/step__MAX",'
            '"new - x - timing_s/step","new - x - timing_s/step__MIN","new - x - timing_s/step__MAX"\n'
            '"1","1.5","1.5","1.5","2.5","2.5","2.5"\n"2","1.75","1.75","1.75","","",""\n'
        )
        path = _write(tmp_path / "chart.csv", text)

        assert values(_read(find_runs(path / "base")[0])) == {(1, "timing_s/step"): 1.5, (2, "timing_s/step"): 1.75}
        assert values(_read(find_runs(path / "new - x")[0])) == {(1, "timing_s/step"): 2.5}
        with pytest.raises(InputError, match="2 runs: base, new - x"):
            find_runs(path)

    def test_each_file_of_a_folder_is_read_once(self, tmp_path: Path) -> None:
        for number in (1, 2):
            _write(tmp_path / f"run{number}.csv", f"_step,timing_s/step\n1,{number}.25\n2,{number}.5\n")
        (tmp_path / "latest.csv").symlink_to("run2.csv")
        _write(tmp_path / "two.csv", "step,run,name,value\n1,a,timing_s/step,3\n1,b,timing_s/step,4\n")

        runs = find_runs(tmp_path)

        assert [values(_read(run)) for run in runs] == [
            {(1, "timing_s/step"): 1.25, (2, "timing_s/step"): 1.5},
            {(1, "timing_s/step"): 2.25, (2, "timing_s/step"): 2.5},
        ]
        assert [run.name for run in runs] == ["run1.csv", "run2.csv"]
        (left_out,) = [finding.message for run in runs for finding in run.findings]
        assert left_out == "two.csv was left out: it holds 2 runs: a, b"

    def test_one_file_alone_in_a_folder(self, tmp_path: Path) -> None:
        _write(tmp_path / "run.csv", "_step,timing_s/step\n1,1.25\n")

        (run,) = find_runs(tmp_path)

        assert values(_read(run)) == {(1, "timing_s/step"): 1.25}

    def test_a_copy_is_reported(self, tmp_path: Path) -> None:
        for name in ("a", "copy of a", "b"):
            _write(tmp_path / f"{name}.csv", f"_step,timing_s/step\n1,{1.5 if name == 'b' else 1.25}\n")

        runs = find_runs(tmp_path)

        assert [[finding.key for finding in run.findings] for run in runs] == [[], [], ["same_metrics"]]
        assert "exactly the same times as a.csv" in runs[2].findings[0].message

    def test_a_row_per_value(self, tmp_path: Path) -> None:
        text = "step,name,value\n1,timing_s/step,1.5\n2,timing_s/step,np.float64(1.75)\n"

        assert values(_read(find_runs(_write(tmp_path / "m.csv", text))[0])) == {
            (1, "timing_s/step"): 1.5,
            (2, "timing_s/step"): 1.75,
        }


class TestOneRunInSeveralFiles:
    STEPS: ClassVar = {step: training_step(step) for step in range(1, 6)}

    def test_loggers_of_one_job_are_one_run(self, tmp_path: Path) -> None:
        # GIVEN a job with trainer.logger=['console','file','tensorboard']
        _write(tmp_path / "train.log", console_log(self.STEPS, TestConfiguration.CONFIG))
        lines = [json.dumps({"step": step, "data": data}) for step, data in self.STEPS.items()]
        _write(tmp_path / "project" / "exp.jsonl", "\n".join(lines) + "\n")
        scalars = [(step, name, float(value)) for step, data in self.STEPS.items() for name, value in data.items()]
        event_file(tmp_path / "tensorboard_log" / "project" / "exp" / "events.out.tfevents.1", scalars)

        (run,) = find_runs(tmp_path)

        # THEN the exactest counts, and the log tells what the others do not
        assert run.training is not None
        assert [source.form for source in run.training.metrics] == [form.FILE_LOGGER, form.CONSOLE, form.TENSORBOARD]
        store = store_of(tmp_path, tmp_path / "s.duckdb")
        assert rows(store, "SELECT DISTINCT source FROM metric WHERE step > 0") == [("exp.jsonl",)]
        assert rows(store, "SELECT source FROM metric WHERE step = 0") == [("train.log",)]
        assert rows(store, "SELECT DISTINCT step FROM metric WHERE profiled") == [(2,)]
        assert findings(store)["metrics_merged"].startswith("exp.jsonl, train.log and exp belong to one run")

    def test_other_runs_are_other_runs(self, tmp_path: Path) -> None:
        _write(tmp_path / "a.log", console_log(self.STEPS))
        _write(tmp_path / "b.log", console_log({step: training_step(step, slower=1.01) for step in range(1, 6)}))

        assert [run.name for run in find_runs(tmp_path)] == ["a.log", "b.log"]

    @pytest.mark.parametrize("reward", [None, 0.5])
    def test_small_values_do_not_make_two_runs_one(self, tmp_path: Path, reward: float | None) -> None:
        lines, cells = [], []
        for step in range(1, 6):
            more = {} if reward is None else {"critic/rewards/mean": reward * step}
            lines.append(json.dumps({"_step": step, "actor/lr": 1e-6, "actor/kl_loss": 1e-4 * step, **more}) + "\n")
            cells.append([step, 2e-6, 1.5e-4 * step] + ([] if reward is None else [1.1 * reward * step]))
        header = "_step,actor/lr,actor/kl_loss" + ("" if reward is None else ",critic/rewards/mean")
        _write(tmp_path / "history.jsonl", "".join(lines))
        _write(tmp_path / "other.csv", "\n".join([header, *(",".join(map(str, row)) for row in cells)]) + "\n")

        assert [run.name for run in find_runs(tmp_path)] == ["history.jsonl", "other.csv"]

    def test_a_log_that_goes_on_is_the_same_run(self, tmp_path: Path) -> None:
        later = {step: training_step(step, slower=2.0) for step in range(5, 9)}
        _write(tmp_path / "1.log", console_log(self.STEPS))
        _write(tmp_path / "2.log", console_log(later, validation=False))

        store = store_of(tmp_path, tmp_path / "s.duckdb")

        seen = rows(store, "SELECT step, source, warmup FROM metric WHERE name = 'timing_s/step' ORDER BY step")
        assert seen == [
            *((step, "1.log", None) for step in range(1, 5)), (5, "2.log", True),
            *((step, "2.log", None) for step in range(6, 9)),
        ]  # fmt: skip
        assert findings(store)["resumed"].startswith(
            "2.log restarts 1.log, which ends at step 5, at step 5: read as one run"
        )

    def test_a_file_that_spans_a_restart_joins_the_logs_of_both_attempts(self, tmp_path: Path) -> None:
        first = {step: training_step(step) for step in range(1, 20)}
        second = {step: training_step(step, slower=2.0) for step in range(16, 25)}
        _write(tmp_path / "1.log", console_log(first))
        _write(tmp_path / "2.log", console_log(second, validation=False))
        of_both = [json.dumps({"step": step, "data": data}) for part in (first, second) for step, data in part.items()]
        _write(tmp_path / "exp.jsonl", "\n".join(of_both) + "\n")

        (run,) = find_runs(tmp_path)

        assert run.training is not None
        assert [source.name for source in run.training.metrics] == ["exp.jsonl", "2.log", "1.log"]

    @pytest.mark.parametrize("name", ["a.log", "a.jsonl"])
    def test_what_was_measured_again_counts(self, tmp_path: Path, name: str) -> None:
        """GIVEN the file of a first attempt beside the log of both, steps are those of the second attempt."""
        first = {step: training_step(step) for step in range(1, 8)}
        second = {step: training_step(step, slower=2.0) for step in range(5, 13)}
        lines = [json.dumps({"step": step, "data": data}) for step, data in first.items()]
        _write(tmp_path / name, console_log(first) if name == "a.log" else "\n".join(lines) + "\n")
        _write(tmp_path / "c.log", console_log(first) + console_log(second, validation=False))

        (run,) = find_runs(tmp_path)

        assert run.training is not None
        assert [source.name for source in run.training.metrics] == ["c.log", name]

    def test_processes_that_print_their_steps_in_turn_do_not_make_two_jobs_one(self, tmp_path: Path) -> None:
        """Any two of their many short steps may be alike."""
        for seed in (1, 2):
            random = Random(seed)
            lines = [
                f"(pid={process}) step:{step} - timing_s/step:{random.gauss(0.05, 0.004):.6f}\n"
                for step in range(1, 30)
                for process in range(8)
            ]
            _write(tmp_path / f"{seed}.log", "".join(lines))

        assert len(find_runs(tmp_path)) == 2

    @pytest.mark.parametrize(
        ("saved", "begun", "end", "is_one"),
        [  # the last steps that log a checkpoint, and the steps of another log in the folder of one with 20 steps
            ([8, 16], 17, 30, True),
            ([8, 16], 17, 18, True),
            ([8, 16], 21, 30, True),
            ([8], 12, 30, True),  # a checkpoint that was saved as the job was killed
            ([8, 16], 9, 30, False),
            ([8], 12, 20, False),
            ([], 21, 30, True),
            ([], 16, 30, True),
            ([], 15, 30, False),
            ([], 16, 20, False),
        ],
    )
    def test_a_log_that_begins_inside_another_one(
        self, tmp_path: Path, saved: list[int], begun: int, end: int, is_one: bool
    ) -> None:
        """It goes on after the last checkpoint; one that begins at an earlier one or has nothing new is another run."""
        first = {step: training_step(step) for step in range(1, 21)}
        for step in saved:
            first[step]["timing_s/save_checkpoint"] = 1.0
        _write(tmp_path / "1.log", console_log(first))
        later = {step: training_step(step, slower=2.0) for step in range(begun, end + 1)}
        _write(tmp_path / "2.log", console_log(later, validation=False))

        found = find_runs(tmp_path)
        assert [run.name for run in found] == (["2.log"] if is_one else ["1.log", "2.log"])
        assert [finding.key for run in found for finding in run.findings] == ["resumed"] * is_one

    def test_validation_in_a_file_of_its_own(self, tmp_path: Path) -> None:
        """Nothing was restarted; also of a job that was."""
        lines = [f"step:{step} - val-core/gsm8k/reward/mean@1:0.5\n" for step in (4, 8)]
        _write(tmp_path / "val.log", "".join(lines))
        _write(tmp_path / "train.log", console_log(self.STEPS, validation=False))

        (run,) = find_runs(tmp_path)
        assert (run.name, [finding.key for finding in run.findings]) == ("train.log", ["metrics_merged"])

        _write(
            tmp_path / "train2.log", console_log({step: training_step(step) for step in (6, 7, 8)}, validation=False)
        )
        (run,) = find_runs(tmp_path)
        assert [finding.key for finding in run.findings] == ["resumed", "metrics_merged"]

        _write(tmp_path / "other.log", console_log({step: training_step(step, slower=3.0) for step in range(1, 5)}))
        assert {run.name for run in find_runs(tmp_path)} == {"other.log", "train.log", "val.log"}

    def test_a_job_that_was_started_again(self, tmp_path: Path) -> None:
        later = {step: training_step(step, slower=2.0) for step in range(4, 8)}
        text = console_log(self.STEPS) + console_log(later, validation=False)

        store = store_of(_write(tmp_path / "job.log", text), tmp_path / "s.duckdb")

        assert rows(store, "SELECT step FROM metric WHERE name = 'timing_s/step' AND warmup") == [(4,)]
        assert "2 steps (4, 5)" in findings(store)["repeated_steps"]
        assert "(4 in job.log)" in findings(store)["restarted"]

    def test_another_job_in_the_same_log_is_not_mixed_with_the_first(self, tmp_path: Path) -> None:
        # GIVEN a job of ten steps, and the same command once more: five steps, appended to the log
        first = console_log({step: training_step(step, only__first=1.0) for step in range(1, 11)})
        later = console_log({step: training_step(step, slower=2.0) for step in range(1, 6)})
        store = store_of(_write(tmp_path / "job.log", first + later), tmp_path / "s.duckdb")

        # THEN the run is the second job alone, its validation with it, and the reader is told
        alone = store_of(_write(tmp_path / "two" / "job.log", later), tmp_path / "t.duckdb")
        query = "SELECT step, name, value, warmup FROM metric ORDER BY step, name"
        assert rows(store, query) == rows(alone, query)
        said = findings(store)
        assert "contains 2 jobs: only the last one is used, from line 32 on" in said["earlier_job"]
        assert "pass job.log/1 (steps 0 to 10, lines 1 to 30)" in said["earlier_job"]
        assert not {"repeated_steps", "restarted"} & set(said)

    def test_another_job_in_a_file_of_the_file_logger(self, tmp_path: Path) -> None:
        steps = (*range(1, 5), 4, 5, 1, 2)  # killed, resumed in its middle, and begun anew
        lines = [json.dumps({"step": step, "data": {"timing_s/step": 1.5 + place}}) for place, step in enumerate(steps)]
        path = _write(tmp_path / "exp.jsonl", "\n".join(lines) + "\n")

        metrics = _read(find_runs(path)[0])

        assert values(metrics) == {(1, "timing_s/step"): 7.5, (2, "timing_s/step"): 8.5}
        assert [(job.first_line, job.last_line) for job in metrics.jobs] == [(1, 6), (7, 8)]

    def test_a_log_beside_verls_profiles(self, tmp_path: Path) -> None:
        # GIVEN two jobs as verl leaves them, and the folder of both
        for name, slower in (("one", 1.0), ("two", 1.1)):
            steps = {step: training_step(step, slower=slower) for step in range(1, 6)}
            make_profile(tmp_path / name / "outputs" / "profile" / "2" / "e2e" / NAME.format(1), 0)
            _write(tmp_path / name / "logs" / "train.log", console_log(steps))

        runs = find_runs(tmp_path)

        assert [run.training.path.parent.parent.name for run in runs if run.training] == ["one", "two"]
        assert {finding.key for run in runs for finding in run.findings} >= {"metrics_joined"}

    def test_logs_of_several_jobs_beside_one_profile_are_left_out(self, tmp_path: Path) -> None:
        make_profile(tmp_path / "outputs" / "profile" / "2" / "e2e" / NAME.format(1), 0)
        _write(tmp_path / "a.log", console_log(self.STEPS))
        _write(tmp_path / "b.log", console_log({step: training_step(step, slower=1.2) for step in range(1, 6)}))

        (run,) = find_runs(tmp_path)

        assert run.training is None
        said = [finding.message for finding in run.findings if finding.key == "metrics_of_no_run"]
        assert len(said) == 2 and "several runs have metrics next to the same profile" in said[0]

    def test_the_folder_of_the_step_says_what_was_profiled(self, tmp_path: Path) -> None:
        make_profile(tmp_path / "profile" / "2" / "e2e" / NAME.format(1), 0)
        write_metrics(tmp_path / "exp.jsonl", steps=4)

        (run,) = find_runs(tmp_path)

        assert [capture.step_hint for capture in run.captures] == [2]

    @pytest.mark.slow
    def test_where_nothing_says_it_the_reader_is_told(self, tmp_path: Path, ascend_910b: Path) -> None:
        profile = next(path for path in sorted(ascend_910b.rglob("*_ascend_pt")) if path.is_dir())
        shutil.copytree(profile, tmp_path / "job" / "train" / profile.name)
        write_metrics(tmp_path / "job" / "exp.jsonl", steps=4)

        store = store_of(tmp_path / "job", tmp_path / "s.duckdb", keep_events=False)

        assert "console log" in findings(store)["profiled_unknown"]


def _read(run: RunInput) -> Metrics:
    assert run.training is not None
    return read_metrics(run.training.metrics[0])


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


class TestHostile:
    @pytest.mark.parametrize(
        ("data", "said"),
        [
            ("step:1 - timing_s/step:1.5\n".encode("utf-16"), "it is text in UTF-16: convert it to UTF-8"),
            (b"\0" * 100 + b"nothing\n", "it begins with NUL bytes"),
            (b"_step;timing_s/step\n1;1,5\n", "separated by semicolons"),
            (b"_step\ttiming_s/step\n1\t1.5\n", "separated by tabs"),
        ],
    )
    def test_what_keeps_it_from_being_read_is_said(self, tmp_path: Path, data: bytes, said: str) -> None:
        path = tmp_path / "job"
        path.write_bytes(data)

        with pytest.raises(InputError, match=said):
            find_runs(path)

    def test_a_log_that_was_emptied_while_the_job_wrote(self, tmp_path: Path) -> None:
        metrics = logged(tmp_path, b"\0" * 100_000 + b"\x01step:1 - a/x:0.5\nstep:2 - a/x:0.75\n")

        assert values(metrics) == {(1, "a/x"): 0.5, (2, "a/x"): 0.75}

    def test_nul_bytes_cost_nothing_but_a_value_around_them(self, tmp_path: Path) -> None:
        text = b"NCCL comm \0\nstep:1 - a/x:0.5 - a/y:0.1\0" + b"23 - a/z:1.0\nstep:2 - a/x:0.75 - a/y:0.3 - a/z:1.0\n"
        metrics = logged(tmp_path, text)

        assert values(metrics) == {
            (1, "a/x"): 0.5,
            (1, "a/z"): 1.0,
            (2, "a/x"): 0.75,
            (2, "a/y"): 0.3,
            (2, "a/z"): 1.0,
        }

    def test_a_real_log_with_nul_bytes(self, shared: Path, tmp_path: Path) -> None:
        store = store_of(shared / "logs" / "ppo-verl0.1-nul-bytes.log", tmp_path / "s.duckdb")

        assert rows(store, "SELECT count(DISTINCT step) FROM metric WHERE name = 'timing/gen'") == [(435,)]
        ((said,),) = rows(store, "SELECT message FROM finding WHERE key = 'nul_bytes'")
        assert said.startswith("2 NUL bytes in ppo-verl0.1-nul-bytes.log")

    def test_names_of_runs_lead_nowhere(self, tmp_path: Path) -> None:
        rows_of = [(1, "timing_s/step", 1.5, False)]
        path = mlflow_database(tmp_path / "mlflow.db", {"/etc/passwd": rows_of, "../../x": rows_of, "\x1b[2J": rows_of})

        with pytest.raises(InputError, match="it holds 3 runs"):
            find_runs(path)
        (run,) = find_runs(path / f"{1:032x}")
        assert run.training is not None
        assert run.training.path.parent == path and run.name == "_.._x"

    def test_wandbs_own_record(self, tmp_path: Path) -> None:
        path = tmp_path / "run-abc.wandb"
        path.write_bytes(b":W&B\xe1\xbe\x00\x00\x00")

        for place in (path, tmp_path):
            with pytest.raises(InputError) as caught:
                find_runs(place)
            assert caught.value.path == path
            assert "wandb.Api().run('ENTITY/PROJECT/abc').scan_history()" in caught.value.remedy
            assert "> abc.jsonl" in caught.value.remedy
            assert "wandb sync" not in caught.value.remedy

    def test_wandbs_record_of_a_run_without_a_network(self, tmp_path: Path) -> None:
        folder = tmp_path / "wandb" / "offline-run-20250211_064246-oxz"
        folder.mkdir(parents=True)
        (folder / "run-oxz.wandb").write_bytes(b":W&B\xe1\xbe\x00\x00\x00")

        with pytest.raises(InputError, match=f"wandb sync {folder}; then python3 -c"):
            find_runs(tmp_path)

        write_metrics(tmp_path / "exp.jsonl")  # beside what can be read, it is left out
        (run,) = find_runs(tmp_path)
        assert [finding.key for finding in run.findings] == ["metrics_of_no_run"]

    def test_a_name_that_is_no_text(self, tmp_path: Path) -> None:
        bad = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.log"))
        bad.write_text("step:1 - timing_s/step:1.5\n")
        _write(tmp_path / "good.log", "step:1 - timing_s/step:2.5\n")

        (run,) = find_runs(tmp_path)

        assert run.training is not None and run.training.path.name == "good.log"
        assert [finding.key for finding in run.findings] == ["unreadable"]

    def test_a_configuration_that_python_cannot_hash(self, tmp_path: Path) -> None:
        metrics = logged(tmp_path, "{'actor_rollout_ref': {'a': {[1], 2}}}\nstep:1 - a/x:0.5\n")

        assert metrics.config == {}

    def test_a_key_that_python_cannot_print(self, tmp_path: Path) -> None:
        config = f"{{'actor_rollout_ref': {{0x{'f' * 4000}: 1, 'a': 2}}}}"
        path = _write(tmp_path / "job.log", f"{config}\nstep:1 - timing_s/step:0.5\n")

        store = store_of(path, tmp_path / "s.duckdb")

        assert rows(store, "SELECT value FROM env WHERE key = 'actor_rollout_ref.a'") == [("2",)]


def test_files_of_gigabytes_are_refused_before_they_are_read(tmp_path: Path) -> None:
    event_file(tmp_path / "events.out.tfevents.1.host.1.0", [(1, "a/x", 1.0)])
    _write(tmp_path / "job.log", step_line(1, {"timing_s/step": 2.0}) + "\n")
    (tmp_path / "run-abc.wandb").write_bytes(b":W&B\x24\xe1\x01" + b"x" * 10)
    rows_ = "".join(f"{step},1.5,2.5\n" for step in range(10_000))
    _write(tmp_path / "table.csv", f"step,a/x,timing_s/step\n{rows_}")
    scalars = '{"timing_s": {"step": {"x": [1], "y": [2.5]}}}'
    _write(tmp_path / "scalars.json", scalars)
    for path in sorted(tmp_path.iterdir()):
        with path.open("r+b") as file:
            file.truncate(5 * 2**30)
        with pytest.raises(InputError, match=r"larger than (128|256|768) MiB"):
            store_of(path, tmp_path / "s.duckdb")


def test_of_several_jobs_times_and_oddities_are_those_of_the_one_that_is_read(tmp_path: Path) -> None:
    jobs = {20: ("timing_s/step:1e12 - a/x:nan", "timing_s/step:-5"), 24: ("timing_s/step:10.0 - a/x:0.5", "a/x:1.0")}
    lines = (
        f"2026-11-{day}T10:0{step}:00Z step:{step} - {line}\n"
        for day, of_job in jobs.items()
        for step, line in enumerate(of_job, 1)
    )
    store = store_of(_write(tmp_path / "job.log", "".join(lines)), tmp_path / "s.duckdb")
    ((started,),) = rows(store, "SELECT value FROM meta WHERE key = 'started_ns'")
    assert int(started) // 10**9 >= 1_795_500_000, "it is that of 24 November"
    assert findings(store).keys() == {"earlier_job"}


def test_traces_by_their_names(tmp_path: Path) -> None:
    kernel = {"ph": "X", "cat": "kernel", "name": "mm", "pid": 0, "tid": 7, "ts": 1, "dur": 2}
    for name, rank in (("rank0.json", 0), ("rank2.JSON", 2)):
        trace = {"distributedInfo": {"rank": rank}, "traceEvents": [kernel | {"args": {"stream": 7, "device": 0}}]}
        _write(tmp_path / "p" / name, json.dumps(trace))
    (tmp_path / "p" / "rank1.json.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    store = store_of(tmp_path / "p", tmp_path / "s.duckdb")
    assert rows(store, "SELECT rank FROM capture ORDER BY rank") == [(0,), (2,)]
    assert any("rank1.json.zst was left out: it is compressed (zst)" in text for text in findings(store).values())
