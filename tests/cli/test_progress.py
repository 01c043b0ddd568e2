"""Progress: nothing for what is fast, one line or a bar for what is slow, and standard error only."""

from __future__ import annotations

import io
import time

import pytest

from rlcompare.app import progress as module
from rlcompare.app.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_AFTER_SECONDS", 0.05)
    monkeypatch.setattr(module, "BAR_AFTER_SECONDS", 0.05)


def wait_for(stream: io.StringIO) -> None:
    for _ in range(6000):
        if stream.getvalue():
            return
        time.sleep(0.01)


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_fast_work_is_silent(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    # However slow this machine is, the work is done sooner.
    monkeypatch.setattr(module, "LINE_AFTER_SECONDS", 600)
    monkeypatch.setattr(module, "BAR_AFTER_SECONDS", 600)
    with progress("Reading", stream=stream) as report:
        report(0, 2, "rank0")
    assert stream.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_quiet(stream: io.StringIO) -> None:
    with progress("Reading", quiet=True, stream=stream) as report:
        report(0, 2, "rank0")
        time.sleep(0.15)
    assert stream.getvalue() == ""


def test_one_plain_line_in_a_log() -> None:
    stream = io.StringIO()
    with progress("Reading", stream=stream) as report:
        report(0, 3, "rank0\x1b[31m")
        wait_for(stream)
        report(1, 3, "rank1")
    assert stream.getvalue() == "rlcompare: reading 3 captures ...\n"


def test_a_lone_capture_is_named_safely() -> None:
    stream = io.StringIO()
    with progress("Reading", stream=stream) as report:
        report(0, 1, "rank0\x1b[31m")
        wait_for(stream)
    assert stream.getvalue().startswith("rlcompare: reading rank0")
    assert "\x1b" not in stream.getvalue()


def test_a_bar_on_a_terminal() -> None:
    stream = Terminal()
    with progress("Reading", stream=stream) as report:
        report(1, 3, "[bold]rank1")
        wait_for(stream)
        assert "[bold]rank1" in stream.getvalue(), "names are no markup"
        report(2, 3, "rank2")
    assert "Reading" in stream.getvalue() and "rank2" in stream.getvalue()
