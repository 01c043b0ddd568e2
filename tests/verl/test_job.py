"""A job's output goes on as it comes and into its log by lines; its end is reported, whatever it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rlcompare.collect.verl import launch
from rlcompare.collect.verl.job import Ended, run_job
from rlcompare.collect.verl.launch import _status
from rlcompare.collect.verl.planned import VerlPlan
from rlcompare.errors import OutputError, UsageError


def ran(code: str, folder: Path, **environment: str) -> tuple[Ended, str]:
    """How a Python job ended, and its log."""
    log = folder / "job.log"
    ended = run_job([sys.executable, "-u", "-c", code], environment, log)
    return ended, log.read_bytes().decode()


def test_both_streams(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = "import sys, os; print('to out', os.environ['A']); print('to err', file=sys.stderr); sys.exit(3)"
    ended, log = ran(code, tmp_path, A="b")
    assert ended == Ended(3, None, "to err")
    assert sorted(log.splitlines()) == ["to err", "to out b"]
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("to out b\n", "to err\n")


def test_a_progress_bar_that_never_ends_its_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = "import sys\nfor n in range(200_000): sys.stderr.write(f'Progress {n:08d} of many, and so on\\r')"
    ended, log = ran(code, tmp_path)
    assert ended.last_error == "Progress 00199999 of many, and so on"
    assert log.count("\r") == capfd.readouterr().err.count("\r") == 200_000


def test_lines_are_not_torn(tmp_path: Path) -> None:
    code = """
import sys, threading
def write(stream, letter):
    for _ in range(300):
        stream.write(letter * 40); stream.flush(); stream.write(letter * 40 + "\\n"); stream.flush()
threads = [threading.Thread(target=write, args=pair) for pair in ((sys.stdout, "o"), (sys.stderr, "e"))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    _, log = ran(code, tmp_path)
    assert sorted(log.splitlines()) == ["e" * 80] * 300 + ["o" * 80] * 300


def test_one_line_without_an_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _, log = ran("import sys; sys.stdout.write('x' * 300_000)", tmp_path)
    assert (len(log.strip()), set(log.strip())) == (300_000, {"x"})
    assert len(capfd.readouterr().out) == 300_000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_does_not_end_the_job(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN a log on a full disk
    plain = os.open

    def on_full(path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
        is_log = str(path).endswith("job.log")
        return plain("/dev/full", os.O_WRONLY) if is_log else plain(path, flags, mode, **options)

    monkeypatch.setattr("rlcompare.collect.verl.job.os.open", on_full)

    # THEN the job ends as it would, and its output is passed on
    ended = run_job([sys.executable, "-c", "print('done')"], {}, tmp_path / "job.log")
    assert ended == Ended(0, None, "")
    assert capfd.readouterr().out == "done\n"


def test_a_full_disk_at_the_end_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a disk that is full when the job has ended
    written: list[dict[str, Any]] = []

    def write_run(folder: Path, record: dict[str, Any]) -> None:
        if written:
            raise OutputError(folder / "run.json", "No space left on device", "free some disk space")
        written.append(record)

    monkeypatch.setattr(launch, "write_run", write_run)
    monkeypatch.setattr(launch, "_record", lambda job: {})
    monkeypatch.setattr(launch, "_notes", lambda *given: [])
    plan = VerlPlan(steps=[3], profile=tmp_path / "profile")
    job: Any = SimpleNamespace(folder=tmp_path, plan=plan, process=[sys.executable, "-c", ""])

    # THEN the exit code is that of the job
    result = launch.run(job, os.environ)
    assert result.code == 0
    assert [note for note in result.notes if "run.json cannot be written (No space left on device)" in note]


def test_what_a_signal_killed(tmp_path: Path) -> None:
    ended, _ = ran("import os; os.kill(os.getpid(), 9)", tmp_path)
    assert (ended.code, ended.received) == (137, None)


def test_a_process_left_behind_does_not_hold_us(tmp_path: Path) -> None:
    sleeper = "[sys.executable, '-c', 'import time; time.sleep(900)']"
    begin = time.monotonic()
    ended, log = ran(f"import subprocess, sys; print(subprocess.Popen({sleeper}).pid)", tmp_path)
    os.kill(int(log), signal.SIGKILL)  # it lives
    assert ended.code == 0
    assert time.monotonic() - begin < 600, "it waited for what the job left behind"


def test_what_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="/nowhere/python cannot be started \\(No such file"):
        run_job(["/nowhere/python"], {}, tmp_path / "job.log")
    with pytest.raises(UsageError, match=r"job\.log cannot be written"):
        run_job([sys.executable], {}, tmp_path / "absent" / "job.log")


def test_a_signal_that_comes_while_the_job_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is passed on, and no job is left behind."""
    start = subprocess.Popen

    def signalled(*arguments: Any, **options: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return start(*arguments, **options)

    monkeypatch.setattr("rlcompare.collect.verl.job.subprocess.Popen", signalled)
    ended, _ = ran("import time; time.sleep(900)", tmp_path)
    assert (ended.code, ended.received) == (143, signal.SIGTERM)


def test_the_words_of_a_job_that_failed_are_kept_without_its_escapes() -> None:
    status, error = _status(Ended(code=1, received=None, last_error="\x1b[31mout of memory\x07"))
    assert (status, error) == ("failed", "the job ended with exit code 1: \\x1b[31mout of memory\\x07")


@pytest.mark.parametrize(
    ("code", "received", "expected"),
    [(0, signal.SIGTERM, ("complete", None)),
     (143, signal.SIGTERM, ("incomplete", "it was killed by signal 15"))],
)  # fmt: skip
def test_the_exit_code_comes_before_a_signal(code: int, received: int, expected: tuple[str, str | None]) -> None:
    """A signal may come after the job has ended, or the job may end well on it."""
    assert _status(Ended(code, received, "")) == expected
