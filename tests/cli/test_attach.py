"""``rlcompare attach``: a running job's profile, or within the time limit the reason why there is none."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rlcompare.collect.attach.request import read_config
from rlcompare.errors import InputError
from tests.cli.conftest import Command, Outcome

pytestmark = pytest.mark.slow

_BEHAVIOUR = {
    "ranks": 1,
    "step_seconds": 0.05,
    "polls": True,
    "deaf": False,
    "refuses": False,
    "counts": True,
    "waits": False,
    "knows_now": True,
    "leaves": "all",
    "ends_at": -1,
    "dies_at": -1,
}


class Job:
    """A running job, and how to ask it."""

    def __init__(self, rlcompare: Command, folder: Path, sample: Path, output: Path, **behaviour: object) -> None:
        self._rlcompare, self.folder, self.results = rlcompare, folder, folder.with_name("result")
        folder.mkdir(exist_ok=True)
        command = [sys.executable, str(Path(__file__).with_name("dynamic_job.py")), str(folder), str(sample)]
        self.errors = output.with_suffix(".err")
        with output.open("w") as said, self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [*command, json.dumps(_BEHAVIOUR | behaviour)],
                stdout=said,
                stderr=errors,
                start_new_session=True,
                **_environment(),
            )
        ranks = int(str(behaviour.get("ranks", 1)))
        _until(lambda: sum(path.read_text().count("\n") >= 2 for path in folder.glob("log/dp_*.log")) == ranks)
        _until(lambda: not behaviour.get("polls", True) or list(folder.glob("log/monitor_*.log")))

    def ask(self, *options: object, timeout: float = 8) -> Outcome:
        return self._rlcompare("attach", self.folder, "-o", self.results, "--timeout", timeout, *options)

    def end(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def config(self) -> dict[str, Any]:
        return json.loads((self.folder / "profiler_config.json").read_text())


def _environment() -> dict[str, Any]:
    return {"env": {"PATH": os.environ["PATH"], **_extra}}


_extra: dict[str, str] = {}


def _until(condition: Callable[[], object], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


Start = Callable[..., Job]


@pytest.fixture
def start(rlcompare: Command, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a job that behaves as said, and ends it after the test. What is late by minutes is late by tenths here."""
    monkeypatch.setattr("rlcompare.collect.attach.follow._LOOK_SECONDS", 0.05)
    monkeypatch.setattr("rlcompare.collect.attach.follow._LATE_SECONDS", -1.5)
    monkeypatch.setattr("rlcompare.collect.attach.follow._APPEARING_SECONDS", 0.3)
    sample = tmp_path / "sample"
    for rank, folder in enumerate(sorted((samples / "base").glob("*_ascend_pt"))):
        shutil.copytree(folder, sample / f"rank{rank}_ascend_pt")
    jobs: list[Job] = []

    def call(**behaviour: object) -> Job:
        jobs.append(Job(rlcompare, tmp_path / "polled", sample, tmp_path / f"job{len(jobs)}.out", **behaviour))
        return jobs[-1]

    yield call
    for job in jobs:
        job.end()
    assert [job.errors.read_text() for job in jobs] == [""] * len(jobs), "the job itself failed"


def test_where_there_is_no_room_nothing_is_asked(
    rlcompare: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    total, used, _ = usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: type(usage)(total, used, 2 << 30))
    asked = rlcompare("attach", tmp_path, "-o", tmp_path / "out", "--rank", "0-1")
    assert asked.code == 2
    assert "out has 2,048 MiB free, but a profile of 2 ranks may need 2,112 MiB" in asked.error
    assert not (tmp_path / "profiler_config.json").exists() and not (tmp_path / "out").exists()


class TestForStart:
    def test_a_configuration_of_its_own_for_the_jobs_code(self, rlcompare: Command, tmp_path: Path) -> None:
        """As torch_npu reads it: all keys, and no request to whoever polls the folder."""
        asked = rlcompare(
            "attach", tmp_path, "--for-start", "-o", tmp_path / "out", "--active", 2, "--contents", "cpu,npu,stack",
            "--with-flops", "--no-analysis",
        )  # fmt: skip
        assert asked.code == 0, asked.err
        file = tmp_path / "start_config.json"
        assert asked.out.splitlines()[0] == (
            f"call        dynamic_profile.start('{file}'), and dynamic_profile.step() after it"
        )
        assert "rlcompare analyse" in asked.out
        config = json.loads(file.read_text())
        wanted = {"active": 2, "warmup": 1, "with_stack": True, "with_flops": True, "analyse": False, "is_rank": False}
        assert config.items() >= wanted.items()
        assert config["experimental_config"]["msprof_tx"] is True
        assert config["prof_dir"] == str(tmp_path / "out")
        assert not (tmp_path / "profiler_config.json").exists()

    @pytest.mark.parametrize("option", [("--rank", "0"), ("--start-step", "5")])
    def test_what_its_call_decides(self, rlcompare: Command, tmp_path: Path, option: tuple[str, str]) -> None:
        asked = rlcompare("attach", tmp_path, "--for-start", "-o", tmp_path / "out", *option)
        assert asked.code == 2
        assert "dynamic_profile.start() records from its call on" in asked.error


class TestServed:
    def test_two_ranks_and_a_diff_of_what_they_leave(self, start: Start, rlcompare: Command) -> None:
        # GIVEN a job of two ranks whose configuration has a setting of its own
        job = start(ranks=2)
        # WHEN it is asked
        outcome = job.ask("--active", "3", "--level", "level1", "--contents", "npu,cpu,shapes,stack")
        # THEN each rank's profile is there, parsed, from the step after one of warm-up
        assert outcome.code == 0, outcome.err
        *profiles, following = outcome.out.splitlines()
        assert [line.split(" · ")[1:2] for line in profiles] == [["rank 0"], ["rank 1"]]
        assert all(line.endswith(" · parsed") for line in profiles)
        assert following.split()[1:4] == ["rlcompare", "diff", "-d"]
        # AND the request is what was asked, beside what was there
        config = job.config
        wanted = {
            "active": 3,
            "warmup": 1,
            "start_step": -1,
            "with_stack": True,
            "record_shapes": True,
            "analyse": True,
        }
        assert config.items() >= (wanted | {"profile_memory": False, "with_modules": False, "with_flops": True}).items()
        assert config["experimental_config"] == {"l2_cache": True, "profiler_level": "Level1"}
        assert config["prof_dir"] == str(job.results)
        # AND the command that it names works
        assert rlcompare("diff", "-d", job.results, "-bp", job.results, "-o", "report").code == 0

    def test_progress_is_said_and_quiet_says_nothing(self, start: Start) -> None:
        job = start()
        said = job.ask().err.splitlines()
        assert said[0].startswith("rlcompare: request written to ")
        assert said[-1].endswith("of the job on 1 rank, 1 done")
        shutil.rmtree(job.results)
        assert job.ask("--quiet").err == ""

    def test_a_step_of_its_choice(self, start: Start) -> None:
        outcome = start(waits=True).ask("--start-step", "5", "--warmup", "2", "--active", "1")
        assert " · from step 7 · parsed" in outcome.out, outcome.err

    def test_the_same_second_twice(self, start: Start) -> None:
        """torch_npu compares whole seconds, and would overlook the second request."""
        job = start()
        for _ in range(3):
            assert job.ask("--active", "1", "--warmup", "0").code == 0
            shutil.rmtree(job.results)

    def test_raw_data_name_the_command_that_parses_them(self, start: Start) -> None:
        outcome = start().ask("--no-analysis")
        assert outcome.code == 0
        assert outcome.out.splitlines()[0].endswith(" · raw")
        assert "next        rlcompare analyse " in outcome.out

    def test_ranks_of_its_choice_are_left_raw(self, start: Start) -> None:
        outcome = start(ranks=2).ask("--rank", "1")
        assert outcome.code == 0
        (profile,) = [line for line in outcome.out.splitlines() if line.startswith("profile")]
        assert " · rank 1 · " in profile and profile.endswith(" · raw")

    def test_after_a_killed_attach(self, start: Start, tmp_path: Path) -> None:
        """The job serves the request all the same, and then the next one. Nothing else stays in the job's folder."""
        job = start()
        command = [sys.executable, "-c", "from rlcompare.cli.main import main; main()", "attach", str(job.folder)]
        attach = subprocess.Popen([*command, "-o", "first"], cwd=tmp_path, stderr=subprocess.DEVNULL)
        _until(lambda: job.config["prof_dir"] == str(tmp_path / "first"))
        attach.kill()
        attach.wait()
        _until(lambda: list((tmp_path / "first").glob("*_ascend_pt/profiler_info_*.json")))
        outcome = job.ask()
        assert outcome.code == 0, outcome.err
        assert {path.name for path in job.folder.iterdir()} == {"log", "profiler_config.json"}

    def test_a_process_that_makes_no_steps_is_not_waited_for(self, start: Start, tmp_path: Path) -> None:
        job = start(ranks=2)
        (waiting,) = (path for path in job.folder.glob("log/dp_*_rank_1.log"))
        number = int(waiting.name.split("_rank_")[0].rpartition("_")[2])
        os.kill(number, signal.SIGSTOP)
        outcome = job.ask(timeout=6)
        assert outcome.code == 0
        assert outcome.out.count("profile     ") == 1


UNSERVED = [
    # The poller hangs, and others that never come.
    ({"deaf": True}, (), "no process read the request within ", "no log/monitor_dp_*.log changed"),
    (
        {"counts": False},
        (),
        "the job read the request, but reached no step within 2 s",
        "only the steps of torch.optim.Optimizer",
    ),
    (
        {},
        ("--start-step", "5000"),
        "did not start at step 5000 within 2 s",
        "The request stays in profiler_config.json",
    ),
    ({}, ("--active", "5000"), "its profile ends after step ", "Increase --timeout"),
    # What is certain earlier.
    ({"refuses": True}, (), "torch_npu refused profiler_config.json", "Failed to read the file"),
    ({"knows_now": False}, (), "cannot start immediately", "--start-step"),
    ({"leaves": "nothing"}, (), "left no *_ascend_pt folder", "Failed to make directory"),
    ({"leaves": "unfinished"}, (), "profiler_info is missing", "reports its errors only there"),
    ({"waits": True, "ends_at": 5}, ("--start-step", "5000"), "the job has ended", "Start it again"),
    ({"waits": True, "dies_at": 5}, ("--start-step", "5000"), "the job has ended", "Start it again"),
    (
        {"waits": True, "dies_at": 5},
        ("--active", "200"),
        "ended while it was profiled, from step ",
        "request fewer steps",
    ),
]


class TestUnserved:
    @pytest.mark.parametrize(("behaviour", "options", "problem", "remedy"), UNSERVED)
    def test_it_ends_with_the_reason_in_time(
        self, start: Start, behaviour: dict[str, object], options: tuple[str, ...], problem: str, remedy: str
    ) -> None:
        job = start(**behaviour)
        limit = 2 if not {"ends_at", "dies_at", "leaves"} & set(behaviour) else 15
        began = time.monotonic()
        outcome = job.ask(*options, timeout=limit)
        assert time.monotonic() - began < limit + 300, "it waited for what never comes"
        assert outcome.code == 4
        error = outcome.err.splitlines()[-1]
        assert error.startswith(f"rlcompare: error: {job.folder}: ")
        assert problem in error
        assert remedy in error

    @pytest.mark.parametrize("is_there", [False, True])
    def test_an_empty_folder_is_left_only_where_it_was(self, start: Start, is_there: bool) -> None:
        job = start(counts=False)
        if is_there:
            job.results.mkdir()
        assert job.ask(timeout=1).code == 4
        assert job.results.exists() == is_there

    def test_what_the_job_said_is_quoted_safely(self, start: Start) -> None:
        job = start(counts=False)
        (log,) = job.folder.glob("log/dp_*.log")
        waiting = subprocess.Popen(
            [
                "/bin/sh",
                "-c",
                "sleep 0.5; printf '2026-01-01 00:00:00,000 [ERROR] [1] x.py: a\\033]0;b\\n' >> \"$0\"",
                log,
            ]
        )
        outcome = job.ask(timeout=1.5)
        waiting.wait()
        assert f"rlcompare: log/{log.name}: [ERROR] a\\x1b]0;b" in outcome.err
        assert "\033" not in outcome.err

    def test_the_step_was_past_when_it_was_read(self, start: Start) -> None:
        """Only the job's own output says so, which can be read where it is a file."""
        job = start()
        time.sleep(0.5)
        outcome = job.ask("--start-step", "1")
        assert outcome.code == 4
        assert "the job had passed step 1 when it read the request" in outcome.err

    def test_the_step_is_known_to_be_past(self, start: Start) -> None:
        job = start()
        assert job.ask().code == 0
        before = job.config
        shutil.rmtree(job.results)
        outcome = job.ask("--start-step", "2")
        assert outcome.code == 4
        assert "step 2 is past" in outcome.error
        assert job.config == before

    def test_somebody_else_asks(self, start: Start) -> None:
        job = start(counts=False)
        waiting = subprocess.Popen(["/bin/sh", "-c", f"sleep 0.5; echo '{{}}' > {job.folder}/profiler_config.json"])
        outcome = job.ask()
        waiting.wait()
        assert outcome.code == 4
        assert "profiler_config.json was changed or removed after the request" in outcome.err


class TestNobodyThere:
    """What is certain before anything is written."""

    @pytest.fixture(autouse=True)
    def nothing_is_written(self, start: Start, tmp_path: Path) -> Iterator[None]:
        yield
        assert not (tmp_path / "result").exists()

    def test_the_job_was_killed(self, start: Start) -> None:
        job = start()
        job.end()
        error = job.ask().error
        assert f"the job has ended: the processes that polled here are gone ({job.process.pid})" in error

    def test_nobody_polls_because_the_memory_is_of_another_job(self, start: Start) -> None:
        job = start(polls=False)
        assert f"process {job.process.pid} is running but does not poll this folder" in job.ask().error

    def test_a_number_that_another_process_has_now(self, start: Start) -> None:
        job = start()
        job.end()
        (log,) = job.folder.glob("log/dp_*.log")
        log.rename(str(log).replace(f"_{job.process.pid}_", f"_{os.getpid()}_"))
        assert "the job has ended" in job.ask().error

    def test_the_profiler_is_switched_off(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(_extra, "PROFILING_MODE", "dynamic")
        assert "PROFILING_MODE is set in process " in start().ask().error

    def test_the_rank_is_not_here(self, start: Start) -> None:
        assert (
            "none of the requested ranks is in this job: its ranks are 0, 1"
            in start(ranks=2).ask("--rank", "7-9").error
        )

    def test_no_job_was_ever_there(self, rlcompare: Command, tmp_path: Path) -> None:
        (tmp_path / "polled").mkdir()
        outcome = rlcompare("attach", tmp_path / "polled", "-o", tmp_path / "result")
        assert outcome.code == 4
        assert "it has no log/dp_*.log" in outcome.error
        assert not list((tmp_path / "polled").iterdir())

    @pytest.mark.parametrize("content", ["{", "[]", "[" * 100_000, '{"experimental_config": {"aic_metrics": 3}}'])
    def test_a_file_that_is_damaged(self, start: Start, content: str) -> None:
        job = start()
        file = job.folder / "profiler_config.json"
        file.write_text(content)
        outcome = job.ask()
        assert outcome.code == 4
        assert str(file) in outcome.error
        assert file.read_text() == content

    def test_what_cannot_be_written_as_it_is(self, start: Start) -> None:
        job = start(counts=False)
        (job.folder / "profiler_config.json").write_text('{"metadata": {"a": "\\ud800", "名": "\u540d"}}')
        assert job.ask(timeout=1).code == 4
        assert job.config["metadata"] == {"a": "\ud800", "名": "名"}

    def test_a_link_in_place_of_the_file(self, start: Start, tmp_path: Path) -> None:
        job = start()
        file = job.folder / "profiler_config.json"
        file.rename(tmp_path / "elsewhere.json")
        file.symlink_to(tmp_path / "elsewhere.json")
        assert "it is a link, which torch_npu does not accept" in job.ask().error


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_something_else_in_place_of_the_file(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "profiler_config.json")
    with pytest.raises(InputError, match=r"it is not a file\. Move it away: rlcompare then writes a new one"):
        read_config(tmp_path / "profiler_config.json")


class TestWrongUsage:
    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            (("--start-step", "0"), "the first possible step is 1"),
            (("--contents", "cuda"), "choose from npu, cpu"),
            (("--timeout", "nan"), "nan is not a number of seconds"),
            (("--timeout", "inf"), "inf is not a number of seconds"),
            (("--active", "2147483648"), "'--active': 2147483648 is not in the range"),
            (("--start-step", "2147483648"), "'--start-step': 2147483648 is not in the range"),
            (("trainer.device=npu",), "unexpected extra argument"),
            (("-o", "taken"), "is not empty"),
            (("-o", "a:b"), "torch_npu only accepts paths of letters"),
        ],
    )
    def test_refused(self, rlcompare: Command, options: tuple[str, ...], problem: str) -> None:
        Path("polled", "log").mkdir(parents=True)
        Path("taken").mkdir()
        Path("taken", "file").touch()
        outcome = rlcompare("attach", "polled", *options)
        assert outcome.code == 2
        assert problem in outcome.error
        assert not Path("polled/profiler_config.json").exists()
