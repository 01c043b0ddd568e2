"""torch_npu's logs of ``dynamic_profile``: followed while they grow and are turned over, and read as an answer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rlcompare.collect.attach.logs import Answer, Line, Log, answer, find_logs, is_bystander, poll_interval, steps_done

LINE = "2026-11-21 17:33:38,280 [{level}] [32380] _dynamic_profiler_utils.py: {text}\n"
NAME = "dp_a_host_12_rank_-1.log"


def line(text: str, level: str = "INFO") -> str:
    return LINE.format(level=level, text=text)


def lines(*texts: str) -> list[Line]:
    return [Line("INFO", text) for text in texts]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    (tmp_path / NAME).write_text(line("one"))
    known: dict[str, Log] = {}
    find_logs(tmp_path, known)
    return known[NAME]


def texts(log: Log) -> list[str]:
    return [found.text for found in log.lines]


def append(path: Path, text: str) -> None:
    with path.open("a") as opened:
        opened.write(text)


class TestFollowing:
    def test_what_the_name_says(self, log: Log) -> None:
        assert (log.host, log.pid, log.rank, log.is_monitor) == ("a_host", 12, -1, False)

    def test_it_grows_in_pieces(self, log: Log) -> None:
        log.read()
        log.mark()
        whole = line("two", "ERROR")
        append(log.path, whole[:40])
        log.read()
        assert texts(log) == []
        append(log.path, whole[40:])
        log.read()
        log.read()
        assert log.lines == [Line("ERROR", "two")]
        assert log.earlier == [Line("INFO", "one")]

    def test_it_is_turned_over(self, log: Log) -> None:
        """Python's RotatingFileHandler renames it to .log.1 and begins anew."""
        log.read()
        append(log.path, line("two"))
        log.path.rename(log.older)
        log.path.write_text(line("three"))
        log.read()
        assert texts(log) == ["one", "two", "three"]

    def test_it_was_turned_over_before(self, tmp_path: Path) -> None:
        (tmp_path / f"{NAME}.1").write_text(line("one"))
        (tmp_path / NAME).write_text(line("two"))
        known: dict[str, Log] = {}
        find_logs(tmp_path, known)
        known[NAME].read()
        assert list(known) == [NAME]
        assert texts(known[NAME]) == ["one", "two"]

    def test_other_text_and_bytes_stay_lines(self, log: Log) -> None:
        log.path.write_bytes(b"Traceback\n\xff\xfe\n")
        log.read()
        assert log.lines == [Line("", "Traceback"), Line("", "\ufffd\ufffd")]

    def test_links_and_pipes_are_left_alone(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "dp_h_1_rank_0.log")
        (tmp_path / "dp_h_2_rank_0.log").symlink_to("/etc/passwd")
        (tmp_path / "dp_h_3_rank_0.log").mkdir()
        (tmp_path / "dp_h_4_rank_0.txt").touch()
        known: dict[str, Log] = {}
        find_logs(tmp_path, known)
        assert known == {}

    def test_it_becomes_a_link(self, log: Log, tmp_path: Path) -> None:
        log.read()
        (tmp_path / "other").write_text(line("secret"))
        log.path.unlink()
        log.path.symlink_to(tmp_path / "other")
        log.read()
        assert texts(log) == ["one"]


ASKED, STARTED, STOPPED = (
    "Start step will be set to -1.",
    "Start Dynamic Profiler at 9 step.",
    "Stop Dynamic Profiler at 13 step.",
)


class TestAnswer:
    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ((), Answer()),
            ((ASKED,), Answer(asked=-1)),
            ((ASKED, STARTED), Answer(asked=-1, started=9)),
            ((ASKED, STARTED, STOPPED), Answer(asked=-1, started=9, stopped=13)),
            # The end of a profile that another request began, before ours begins and after it was read.
            ((STOPPED, ASKED), Answer(asked=-1)),
            ((ASKED, STOPPED), Answer(asked=-1)),
            ((ASKED, STOPPED, STARTED), Answer(asked=-1, started=9)),
            (
                ("Start step is not valid, will be reset to 0.", "Start step will be set to 0."),
                Answer(asked=0, is_reset=True),
            ),
            ((ASKED, "Rank 3 not in valid rank_list {1, 2}!"), Answer(asked=-1, left_out=True)),
        ],
    )
    def test_what_a_process_says(self, said: tuple[str, ...], expected: Answer) -> None:
        assert answer(lines(*said)) == expected

    def test_the_interval_follows_the_steps(self) -> None:
        assert poll_interval([]) == 2
        text = "Dynamic profiling monitor process poll interval time change to 37s"
        assert poll_interval(lines("x", text)) == 37
        assert steps_done(lines(text)) == 11

    def test_the_steps_that_are_past(self) -> None:
        assert steps_done([]) == 0
        assert steps_done(lines(STARTED, STOPPED, "x")) == 13

    def test_a_launcher_takes_no_part(self) -> None:
        alone = "Rank -1 no need to create process."
        assert is_bystander(lines(alone))
        assert not is_bystander(lines("Rank 1 shared memory is connected.", alone))
