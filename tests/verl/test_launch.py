"""A whole job, as processes: launched, ended in every way, gathered, compared. A stand-in takes verl's place."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rlcompare.cli.main import run

from .conftest import VerlOf

pytestmark = pytest.mark.slow

MAIN = "from rlcompare.cli.main import main; main()"
JOB = (sys.executable, "-m", "verl.trainer.main_ppo", "trainer.total_training_steps=5", "trainer.n_gpus_per_node=2")
LAUNCH = ("launch", "--tool", "npu", "-o", "out")


def start(
    environment: dict[str, str], folder: Path, does: str = "", *overrides: str, options: tuple[str, ...] = ()
) -> subprocess.Popen[str]:
    """Starts a job in a folder of its own; it leaves its run in ``out``."""
    folder.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, *LAUNCH, *options, "--", *JOB, *overrides],
        cwd=folder,
        env=environment | {"STAND_IN": does},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    assert "Traceback" not in err.replace('Traceback (most recent call last):\n  File "<frozen', "")
    return process.returncode, out, err


def run_json(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "run.json").read_text(encoding="utf-8"))
    return found


def test_a_job_is_a_side_of_a_diff(installed_verl: VerlOf, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    environment = installed_verl("0.7.1")
    processes = {
        name: start(environment | {"STAND_IN_SLOWER": slower}, tmp_path / name)
        for name, slower in (("base", "1"), ("new", "1.5"))
    }
    for process in processes.values():
        code, out, err = finished(process)
        assert code == 0, err
        assert "step:5 - timing_s/step" in out
        assert "verl 0.7.1 · npu · step 3" in err
        assert "Training Progress: 5/9" in err

    recorded = run_json(tmp_path / "new")
    assert (recorded["status"], recorded["versions"]["verl"], recorded["exit_code"]) == ("complete", "0.7.1", 0)
    assert recorded["steps"] == {"warmup": [1], "profiled": [3], "plain": [2, 4, 5]}
    assert recorded["world_size"] == 2
    assert "trainer.logger=[console,wandb,file]" in recorded["overrides"]
    assert recorded["config"]["actor_rollout_ref"]["actor"]["profiler"]["enable"] is True
    log = (tmp_path / "new" / "out" / "job.log").read_text(encoding="utf-8")
    assert "(TaskRunner pid=7) step:5 - timing_s/step:3.05" in log
    assert "Training Progress" in log

    sides = ("-d", str(tmp_path / "new" / "out"), "-bp", str(tmp_path / "base" / "out"))
    assert run(["diff", *sides, "--json", "-q"]) == 0
    document = json.loads(capfd.readouterr().out)
    overall = {row["metric"]: row for row in document["overall"]}
    # The profiled step is no measure of speed, nor is the first.
    assert overall["timing_s/step"]["baseline"] == pytest.approx(2 + (0.02 + 0.04 + 0.05) / 3)
    assert overall["timing_s/step"]["new"] == pytest.approx(3 + (0.02 + 0.04 + 0.05) / 3)
    assert overall["time.compute"]["ratio"] > 1.2
    assert document["new"]["env"]["verl"] == "0.7.1"


@pytest.mark.parametrize(
    ("version", "does", "place"), [("0.6.1", "", "profile/3/e2e"), ("0.9.1", "unparsed", "profile/train")]
)
def test_captures_where_a_version_leaves_them(
    installed_verl: VerlOf, tmp_path: Path, version: str, does: str, place: str
) -> None:
    elsewhere = tmp_path / "mine.jsonl"
    environment = installed_verl(version) | {"VERL_FILE_LOGGER_PATH": str(elsewhere)}
    code, _, err = finished(start(environment, tmp_path, does))
    assert code == 0, err
    (capture,) = run_json(tmp_path)["captures"]
    assert (capture["path"].rpartition("/")[0], capture["step"]) == (place, 3)
    assert ("1 of 1 profiles were not parsed" in err) == (does == "unparsed")
    # The user's own variable stays; the metrics are copied.
    assert elsewhere.read_bytes() == (tmp_path / "out" / "metrics.jsonl").read_bytes() != b""


def test_profiles_that_the_user_sends_elsewhere_are_in_the_run_directory_too(
    installed_verl: VerlOf, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # GIVEN a save path of the user's own, in which an earlier job left a profile
    mine = tmp_path / "mine"
    environment = installed_verl("0.7.1")
    for folder in ("first", "second"):
        code, _, err = finished(start(environment, tmp_path / folder, "", f"global_profiler.save_path={mine}"))
        assert code == 0, err
        assert f"the profiles go to {mine}; when the job has ended" in err
        for capture in list(mine.rglob("sample-host_*_ascend_pt")):
            capture.rename(capture.with_name(f"{folder}-{capture.name}"))  # that another process would have had
    assert len(list(mine.rglob("*_ascend_pt"))) == 2

    # THEN each run directory alone is one run with its own profile and metrics
    for folder in ("first", "second"):
        (capture,) = run_json(tmp_path / folder)["captures"]
        assert (tmp_path / folder / "out" / capture["path"]).is_dir()
    assert run(["diff", "-d", str(tmp_path / "second/out"), "-bp", str(tmp_path / "first/out"), "--json", "-q"]) == 0
    document = json.loads(capfd.readouterr().out)
    for side in ("baseline", "new"):
        assert [(found["captures"], found["ranks"]) for found in document[side]["runs"]] == [(1, 1)]
    measured = {row["metric"]: row["new"] for row in document["overall"]}
    assert measured["timing_s/step"] and measured["time.compute"]


def test_a_version_without_a_file_logger(installed_verl: VerlOf, tmp_path: Path) -> None:
    code, _, err = finished(start(installed_verl("0.5.0"), tmp_path))
    assert code == 0, err
    assert not (tmp_path / "out" / "metrics.jsonl").exists()
    assert "step:5 - timing_s/step:2.05" in (tmp_path / "out" / "job.log").read_text(encoding="utf-8")
    (capture,) = run_json(tmp_path)["captures"]
    assert capture["path"].startswith("profile/3/e2e/")


def test_a_job_that_fails(installed_verl: VerlOf, tmp_path: Path) -> None:
    process = start(installed_verl("0.7.1"), tmp_path, "fail")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1, "the job's own exit code"
    assert "RuntimeError: out of memory on rank 0" in err, "the job's own words"
    assert "it ended after step 1, and the first step to profile is 3" in err
    recorded = run_json(tmp_path)
    assert recorded["status"] == "failed"
    assert recorded["exit_code"] == 1
    assert recorded["captures"] == []
    assert "the job ended with exit code 1: " in recorded["error"]
    assert len((tmp_path / "out" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 7)], ids=["a signal it dies of", "one it handles"]
)
def test_a_signal_reaches_the_job(installed_verl: VerlOf, tmp_path: Path, number: signal.Signals, code: int) -> None:
    overrides = ("hydra.run.dir=hydra",)
    process = start(installed_verl("0.7.1"), tmp_path, "hang", *overrides)
    assert process.stdout is not None
    while "hangs" not in process.stdout.readline():
        assert process.poll() is None
    time.sleep(0.2)
    process.send_signal(number)
    process.communicate(timeout=300)
    recorded = run_json(tmp_path)
    assert process.returncode == recorded["exit_code"]
    assert process.returncode == code
    assert recorded["status"] == "incomplete"
    assert recorded["error"] == f"it was killed by signal {int(number)}"


def test_a_job_that_leaves_no_profile(installed_verl: VerlOf, tmp_path: Path) -> None:
    code, _, err = finished(start(installed_verl("0.7.1"), tmp_path, "no-profile"))
    assert code == 0
    assert "the job wrote no profile, possible causes:" in err
    assert "torch_npu logs its errors and continues" in err
    assert "another user or on another file system" in err
    assert run_json(tmp_path)["captures"] == []
    assert not (tmp_path / "out" / "profile").exists()


def test_a_dry_run_prints_what_would_run(installed_verl: VerlOf, tmp_path: Path) -> None:
    options = ("--dry-run", "--repeat", "2", "--seed", "5")
    code, out, err = finished(start(installed_verl("0.7.1"), tmp_path, options=options))
    assert code == 0
    assert not (tmp_path / "out").exists()
    first, second = out.split("\n\n")
    assert "  ++data.seed=5 \\\n" in first
    assert "  ++data.seed=6 \\\n" in second
    # Each override has a line, and ours come last: no option of Hydra follows the user's.
    count = int(err.partition(" overrides that are indented furthest")[0].split()[-1])
    added = [line.strip(" \\") for line in second.splitlines()[-count:]]
    assert added[0] == "global_profiler.tool=npu"
    assert all(line.lstrip("'+").split(".")[0] in ("global_profiler", "actor_rollout_ref", "critic", "reward_model",
                                                  "trainer", "ray_kwargs") for line in added)  # fmt: skip
    assert "trainer.n_gpus_per_node=2" not in added
    assert f"VERL_FILE_LOGGER_PATH={tmp_path}/out/run2/metrics.jsonl" in second

    # Without a seed of the command line, they count up from the job's own, else from verl's first.
    for given, seeds in (((), (1, 2)), (("data.seed=7",), (7, 8))):
        process = start(installed_verl("0.7.1"), tmp_path, "", *given, options=("--dry-run", "--repeat", "2"))
        lines = finished(process)[1].splitlines()
        assert [line.strip(" \\") for line in lines if "++data.seed" in line] == [f"++data.seed={n}" for n in seeds]

    # The line is a shell's: it runs the job.
    (tmp_path / "out" / "run2").mkdir(parents=True)
    done = subprocess.run(
        ["bash", "-c", second], cwd=tmp_path, env=installed_verl("0.7.1"), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out" / "run2" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()) == 5
    assert list((tmp_path / "out" / "run2" / "profile" / "e2e").iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_job_that_outlives_its_launcher_keeps_its_folder(installed_verl: VerlOf, tmp_path: Path) -> None:
    environment = installed_verl("0.7.1")
    process = start(environment, tmp_path, "hang", "hydra.run.dir=hydra")
    assert process.stdout is not None
    while "hangs" not in process.stdout.readline():
        assert process.poll() is None
    process.kill()
    process.communicate(timeout=300)
    assert run_json(tmp_path)["status"] == "incomplete"
    (job,) = jobs_in(tmp_path)
    code, _, err = finished(start(environment, tmp_path, options=("--force",)))
    assert code == 2
    assert "out is in use: the job that an earlier launch started still runs" in err
    os.killpg(job, signal.SIGKILL)
    while jobs_in(tmp_path):
        time.sleep(0.05)
    code, _, err = finished(start(environment, tmp_path, options=("--force",)))
    assert code == 0, err
    assert run_json(tmp_path)["status"] == "complete"


def jobs_in(folder: Path) -> list[int]:
    """The processes of jobs in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"verl.trainer.main_ppo" in words and (process / "cwd").readlink() == folder:
                found.append(int(process.name))
    return found
