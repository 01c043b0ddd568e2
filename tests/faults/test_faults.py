"""Faults around a command (``tests/faults/checks.py``), and signals to loops in Python."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from rlcompare import db
from rlcompare.sources import text_repair
from rlcompare.sources.blocks import Blocks
from tests.faults.checks import CHECKS
from tests.faults.processes import IS_LINUX

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.one_in(3)
@pytest.mark.skipif(not IS_LINUX, reason="needs inotify, mounts and /proc")
@pytest.mark.parametrize("check", CHECKS)
def test_faults_around_a_command(tmp_path: Path, check: str) -> None:
    """Checks that need a right which this user lacks are skipped, which their output says."""
    command = [sys.executable, "-m", "tests.faults.checks", check]
    path = os.pathsep.join(entry or "." for entry in sys.path)
    environment = os.environ | {"PYTHONPATH": path, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not IS_LINUX, reason="needs a file that never ends")
@pytest.mark.parametrize(
    "loop",
    [
        lambda endless, scratch: text_repair.mended_table(endless, scratch, multiline=False),
        lambda endless, scratch: sum(map(len, Blocks(endless))),
    ],
    ids=["a damaged table is mended", "blocks are read"],
)
def test_a_signal_ends_loops_in_python(tmp_path: Path, loop: Callable[[Path, Path], object]) -> None:
    """A signal interrupts the queries of all threads; a loop in Python must notice it too, within a second."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            loop(Path("/dev/zero"), tmp_path)
        except duckdb.InterruptException as error:
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True)  # if it fails, the suite ends in spite of it
    thread.start()
    time.sleep(0.1)
    begin = time.monotonic()
    while thread.is_alive() and time.monotonic() < begin + 60:
        db.interrupt_all()
        thread.join(0.05)
    assert failed
