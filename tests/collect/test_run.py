"""``rlcompare run`` as a user calls it: whole processes, and what they leave behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from rlcompare.cli import main as command_line
from rlcompare.errors import ExitCode
from tests.collect.stepping import SMALL, is_time

pytestmark = pytest.mark.slow

RLCOMPARE = (sys.executable, "-c", "from rlcompare.cli.main import main; main()")
FAST = (*SMALL, "trainer.total_training_steps=4", "trainer.warmup_steps=1")


def rlcompare(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RLCOMPARE, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def ran(folder: Path, name: str, *overrides: str) -> Path:
    done = rlcompare("run", "-o", name, *FAST, *overrides, folder=folder)
    assert done.returncode == 0, done.stderr
    return folder / name


def ranks_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The ranks that have been started, also those that do not listen to signals yet."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.Error):  # it has ended
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
    return found


def read(run: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return json.loads((run / "run.json").read_text()), [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def one(work: Path) -> Path:
    return ran(work, "one")


@pytest.fixture(scope="module")
def two_ranks(work: Path) -> Path:
    return ran(work, "two_ranks", "trainer.n_gpus_per_node=2")


def test_run_directory(one: Path) -> None:
    run, metrics = read(one)
    assert (run["schema"], run["status"], run["world_size"], run["device"]) == ("rlcompare.run/1", "complete", 1, "cpu")
    assert run["steps"] == {"warmup": [1], "plain": [2, 3], "profiled": [4]}
    assert run["config"]["data"]["train_batch_size"] == 4
    assert "data.train_batch_size=4" in run["config_overrides"]
    assert run["ended"] >= run["started"]
    assert run["versions"]["torch"]
    assert [line["step"] for line in metrics] == [1, 2, 3, 4]
    (capture,) = run["captures"]
    assert (one / capture["path"]).is_file()
    assert (capture["step"], capture["rank"], capture["tool"]) == (4, 0, "torch")


def test_a_line_per_step_and_the_next_command(work: Path) -> None:
    done = rlcompare("run", "-o", "printed/first", *FAST, folder=work)
    *steps, run, following = done.stdout.splitlines()
    assert (run, following) == ("run         printed/first", "next        rlcompare show printed/first")
    _, metrics = read(work / "printed/first")
    for number, (line, logged) in enumerate(zip(steps, metrics, strict=True), 1):
        data = logged["data"]
        kind = {1: "   warm-up", 4: "   profiled"}.get(number, "")
        start = f"step {number} of 4   {data['timing_s/step']:.3f} s   "
        found = re.match(rf"{start}(\w+) ([0-9.]+) s \(\d+ %\)   ", line)
        assert found, line
        phase, seconds = found.groups()
        longest = max(value for key, value in data.items() if key.startswith("timing_s/") and key != "timing_s/step")
        assert float(seconds) == pytest.approx(data[f"timing_s/{phase}"], abs=6e-4) == pytest.approx(longest, abs=6e-4)
        assert line.endswith(f"   reward {data['critic/rewards/mean']:.4g}{kind}")
    # AND two ranks print one line a step; the earlier run is what the new one is compared with
    again = rlcompare(
        "run", "-o", "printed/second", *FAST, "global_profiler.steps=null", "trainer.n_gpus_per_node=2", folder=work
    ).stdout.splitlines()
    assert (len(again), again[-1]) == (6, "next        rlcompare diff -d printed/second -bp printed/first")
    quiet = rlcompare("run", "-q", "-o", "quiet", *FAST, "global_profiler.steps=null", folder=work)
    assert quiet.stdout == ""


def test_diff_of_two_runs(work: Path, one: Path) -> None:
    more = ran(work, "more", "actor_rollout_ref.actor.ppo_epochs=2")
    done = rlcompare("diff", "-d", more, "-bp", one, "-o", "report", "--json", folder=work)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    phases = {row["name"]: row for row in document["sections"]["phases"]}
    assert {"generate_sequences", "old_log_prob", "adv", "update_actor", "(outside)"} <= phases.keys()
    step = next(row for row in document["overall"] if row["metric"] == document["headline"])
    assert (step["metric"], step["unit"]) == ("timing_s/step", "s")
    assert sum(row["new"] for row in phases.values()) == pytest.approx(step["new"] * 1e3, rel=1e-6)
    workload = {row["name"]: row for row in document["sections"]["workload"]}
    assert workload["workload.mini_batches"]["ratio"] == 2


def test_two_ranks_share_the_work_and_speak(two_ranks: Path, work: Path) -> None:
    run, metrics = read(two_ranks)
    assert run["world_size"] == 2
    assert sorted(capture["rank"] for capture in run["captures"]) == [0, 1]
    assert metrics[-1]["data"]["workload.sequences"] == 16
    done = rlcompare(
        "sql", two_ranks, "SELECT kind, count(*) AS n FROM collective GROUP BY kind", "--format", "json", folder=work
    )
    assert done.returncode == 0, done.stderr
    kinds = {row["kind"] for row in json.loads(done.stdout)}
    assert "all_gather" in kinds, kinds


def test_the_batch_of_all_ranks_is_filtered(work: Path) -> None:
    run, metrics = read(
        ran(work, "dapo", "algorithm.adv_estimator=dapo", "trainer.n_gpus_per_node=2", "global_profiler.steps=null",
            "algorithm.filter_groups.max_num_gen_batches=0", "trainer.total_training_steps=2")
    )  # fmt: skip
    assert run["status"] == "complete"
    for line in metrics:
        data = line["data"]
        assert data["workload.sequences"] == 16
        assert data["workload.generated_response_tokens"] >= data["workload.response_tokens"]


def test_a_rank_that_dies_is_named(work: Path) -> None:
    endless = ("trainer.total_training_steps=100000", "global_profiler.steps=null", "trainer.n_gpus_per_node=2")
    command = [*RLCOMPARE, "run", "-o", "bereft", *SMALL, *endless]
    with subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 120
        metrics = work / "bereft" / "metrics.jsonl"
        while time.monotonic() < deadline and not (metrics.is_file() and metrics.read_text().count("\n") >= 2):
            time.sleep(0.05)
        ranks = ranks_of(process)
        for rank in ranks[-1:]:
            rank.kill()
        try:
            _, stderr = process.communicate(timeout=60)
        finally:
            process.kill()
    said = stderr.decode()
    assert len(ranks) == 2
    assert process.returncode == 70, said
    assert "ended with -9" in said and "Traceback" not in said
    run, lines = read(work / "bereft")
    assert run["status"] == "failed" and "rank" in run["error"]
    assert len(lines) >= 2
    assert not any(rank.is_running() and rank.status() != psutil.STATUS_ZOMBIE for rank in ranks)


def test_repeats_are_runs_of_one_side(work: Path) -> None:
    done = rlcompare("run", "-o", "often", "--repeat", "2", *FAST, "global_profiler.steps=null", folder=work)
    assert done.returncode == 0, done.stderr
    runs = [read(work / "often" / name) for name in ("run1", "run2")]
    assert [run["seed"] for run, _ in runs] == [1, 2]
    assert runs[0][1][0]["data"]["critic/score/mean"] != runs[1][1][0]["data"]["critic/score/mean"]
    (work / "often" / "run2").rename(work / "often" / "run3")
    mixed = rlcompare("run", "-o", "often", "--force", "--repeat", "2", *FAST, folder=work)
    assert mixed.returncode == 2 and "run3 already contains a run" in mixed.stderr, "of another configuration, perhaps"


def test_identical_seeds_give_identical_metrics_but_for_times(work: Path, one: Path) -> None:
    again = ran(work, "again")
    first, second = (
        [{key: value for key, value in line["data"].items() if not is_time(key)} for line in read(run)[1]]
        for run in (one, again)
    )
    assert first == second


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("number", "ranks"), [(signal.SIGKILL, 1), (signal.SIGINT, 1), (signal.SIGTERM, 2)])
def test_what_was_finished_stays_readable(work: Path, one: Path, number: signal.Signals, ranks: int) -> None:
    name = f"stopped_{number.name}"
    endless = (
        "trainer.total_training_steps=100000", "global_profiler.steps=null", f"trainer.n_gpus_per_node={ranks}",
    )  # fmt: skip
    with subprocess.Popen(
        [*RLCOMPARE, "run", "-o", name, *SMALL, *endless], cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + 120
        metrics = work / name / "metrics.jsonl"
        while time.monotonic() < deadline and not (metrics.is_file() and metrics.read_text().count("\n") >= 3):
            time.sleep(0.05)
        os.kill(process.pid, number)
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number), said
    assert "Traceback" not in said
    run, lines = read(work / name)
    assert run["status"] == "incomplete"
    assert len(lines) >= 3
    done = rlcompare("diff", "-d", work / name, "-bp", one, "-o", f"report_{name}", folder=work)
    assert done.returncode == 0, done.stderr
    assert "the run did not finish" in done.stdout


@pytest.mark.parametrize("started", [1, 2])
def test_ctrl_c_while_the_ranks_are_starting_is_quiet(work: Path, started: int) -> None:
    command = [*RLCOMPARE, "run", "-o", f"early{started}", *SMALL, "trainer.n_gpus_per_node=2"]
    with subprocess.Popen(
        command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and len(ranks_of(process)) < started:
            time.sleep(0.001)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said.decode().strip()) == (130, "")


@pytest.mark.thorough
def test_a_reader_that_goes_away_ends_ranks_and_leaves_nothing(work: Path, tmp_path: Path) -> None:
    command = [*RLCOMPARE, "run", "-o", "unread", *FAST, "trainer.n_gpus_per_node=2"]
    with subprocess.Popen(
        command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"TMPDIR": str(tmp_path)}
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read().decode()
    assert process.returncode == 141, said
    left = [path.name for path in tmp_path.iterdir() if not path.name.startswith("torchinductor_")]  # torch's own cache
    assert left == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("kilobytes", "file"), [(4, "run.json"), (12, "metrics.jsonl"), (100, ".json.gz")])
def test_a_disk_that_takes_no_more_is_blamed_on_the_file(work: Path, kilobytes: int, file: str) -> None:
    # GIVEN a limit on the size of files, in place of a full disk
    command = [*RLCOMPARE, "run", "-q", "-o", f"full{kilobytes}", *FAST, "trainer.total_training_steps=8"]
    limited = ["bash", "-c", f'ulimit -f {kilobytes}; exec "$@"', "-", *command]
    done = subprocess.run(limited, cwd=work, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == ExitCode.USAGE, done.stderr
    (line,) = done.stderr.splitlines()
    assert file in line and "standard output" not in line
    # THEN nothing half-written is left
    left = [path.name for path in (work / f"full{kilobytes}").rglob("*") if path.is_file()]
    assert not [name for name in left if name.startswith(".") or name.endswith((".tmp", ".gz"))], left


@pytest.mark.thorough
def test_no_room_for_a_trace_is_no_fault_of_ours(work: Path) -> None:
    limited = 'ulimit -f 100; exec "$@"'
    command = ["bash", "-c", limited, "bash", *RLCOMPARE, "run", "-o", "narrow", *FAST, "trainer.n_gpus_per_node=2"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == ExitCode.USAGE, done.stderr
    message = r"rank \d ended with 1: narrow/profile/e2e/\S+ cannot be written .*: free some disk space"
    assert re.search(message, done.stderr)


class TestRefusals:
    @pytest.fixture
    def refused(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
        """The error of ``rlcompare run`` in a folder. In this process: no rank is started, and torch is imported."""

        def call(folder: Path, *arguments: object) -> str:
            monkeypatch.chdir(folder)
            assert command_line.run(["run", *map(str, arguments)]) == ExitCode.USAGE
            return capfd.readouterr().err

        return call

    def test_an_experiment_whose_name_leads_out_of_runs(self, refused: Callable[..., str], tmp_path: Path) -> None:
        for name in ("../../x", "/tmp/x", "..", "a/b"):
            said = refused(tmp_path, *FAST, f"trainer.experiment_name={name}")
            assert f"trainer.experiment_name={name} cannot name a folder below runs/" in said
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_holds_something_else(self, refused: Callable[..., str], tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "thesis.txt").write_text("years of work")
        assert "mine contains other files than one run" in refused(tmp_path, "-o", "mine", "--force", *FAST)
        assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"

    def test_a_run_that_is_there_already(self, refused: Callable[..., str], work: Path, one: Path) -> None:
        before = (one / "run.json").read_bytes()
        assert "--force" in refused(work, "-o", one, *FAST)
        assert (one / "run.json").read_bytes() == before

    def test_a_process_that_fails_is_named_in_one_line(self, work: Path) -> None:
        done = rlcompare(
            "run",
            "-o",
            "failed",
            *FAST,
            "trainer.n_gpus_per_node=2",
            "data.max_response_length=1000000000000000",
            folder=work,
        )
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        (line,) = [line for line in done.stderr.splitlines() if "error:" in line]
        assert "rank" in line and "out of memory" in line and "data.train_batch_size" in line

    @pytest.mark.parametrize(
        ("override", "says"),
        [
            ("actor_rollout_ref.model.path=/nowhere", "/nowhere: neither a preset"),
            ("actor_rollout_ref.rollout.profiler.schedule.granularity=micro_batch", "is not available for this role"),
            ("global_profiler.save_path=/dev/null/profile", "save_path"),
        ],
    )
    def test_what_cannot_be_is_refused_before_an_earlier_run_is_replaced(
        self, refused: Callable[..., str], work: Path, one: Path, override: str, says: str
    ) -> None:
        before = (one / "run.json").read_bytes()
        assert says in refused(work, "-o", one, "--force", *FAST, override)
        assert (one / "run.json").read_bytes() == before

    def test_an_unknown_key(self, refused: Callable[..., str], tmp_path: Path) -> None:
        assert "train_batch_size" in refused(tmp_path, "-o", "unknown", "data.train_batchsize=4")
        assert not (tmp_path / "unknown").exists()


def test_the_configuration_is_printed_and_can_be_given_again(work: Path) -> None:
    printed = rlcompare(
        "run", "--print-config", "data.train_batch_size=6", "actor_rollout_ref.actor.ppo_mini_batch_size=3", folder=work
    )
    assert printed.returncode == 0
    (work / "given.yaml").write_text(printed.stdout)
    again = rlcompare("run", "--print-config", "-c", "given.yaml", folder=work)
    assert again.stdout == printed.stdout
