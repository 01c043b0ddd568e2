"""A signal ends the process at once, with the exit code that shells give it, and leaves nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ENDLESS = "SELECT count(*) FROM range(100000000000) a, range(1000000) b"
MAIN = "from rlcompare.cli.main import main; main()"
SLOW_MAIN = """
from rlcompare import db, resources
run, first = db.run, resources.sql(resources.sql_order("rollup")[0])
def endless(con, sql, *parameters, **options):
    if getattr(sql, "query", sql).strip() in first:
        run(con, "CREATE TABLE memory.main.filler AS SELECT * FROM range(1000)")
        open("under-way", "w").close()
        run(con, "SELECT count(*) FROM range(100000000000) a, range(1000000) b")
    return run(con, sql, *parameters, **options)
db.run = endless
"""
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a command line in an empty working folder, with a folder of its own for temporary files."""
    (tmp_path / "cwd").mkdir()
    (tmp_path / "tmp").mkdir()

    def call(code: str, *arguments: object) -> subprocess.Popen[str]:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path),
            "TMPDIR": str(tmp_path / "tmp"),
            "RLCOMPARE_CACHE_DIR": str(tmp_path / "cache"),
        }
        # Under nohup and in the background of a shell these are ignored, and would be so in the process too.
        heeding = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        heeding += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        command = [sys.executable, "-X", "faulthandler", "-c", heeding + code, *map(str, arguments), "-q"]
        return subprocess.Popen(
            command, cwd=tmp_path / "cwd", env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    return call


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    for _ in range(2400):
        if path.exists():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.kill()
    raise AssertionError(f"{path} never appeared")


def end(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """Sends a signal; the exit code and standard error. Fails if that takes long, even on a busy machine."""
    process.send_signal(number)
    try:
        _, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # faulthandler says where it hangs
        _, err = process.communicate()
        raise AssertionError(err) from None
    return process.returncode, err.strip()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("command", ["ingest", "diff", "no-cache"])
def test_while_a_profile_is_read(
    start: Start, samples: Path, tmp_path: Path, number: signal.Signals, command: str
) -> None:
    both = ("diff", "-d", samples / "new", "-bp", samples / "base")
    arguments = {
        "ingest": ("ingest", samples / "new", "-o", "run.duckdb"),
        "diff": both,
        "no-cache": (*both, "--no-cache"),
    }
    process = start(SLOW_MAIN + MAIN, *arguments[command])
    wait_for(tmp_path / "cwd" / "under-way", process)

    assert end(process, number) == (128 + number, "")

    assert [path.name for path in (tmp_path / "cwd").iterdir()] == ["under-way"]
    assert list((tmp_path / "tmp").iterdir()) == []
    cache = tmp_path / "cache"
    assert [path.name for path in cache.rglob("*") if path.is_file()] in ([], [".rlcompare-cache"])


@pytest.mark.parametrize("number", SIGNALS)
def test_while_a_query_runs(start: Start, samples: Path, tmp_path: Path, number: signal.Signals) -> None:
    process = start(MAIN, "sql", samples / "new", ENDLESS, "-o", "result.csv")
    (tmp_path / "cache").mkdir()
    for _ in range(2400):
        if list((tmp_path / "cache").glob("*.duckdb")):
            break
        time.sleep(0.05)
    time.sleep(0.5)

    assert end(process, number) == (128 + number, "")
    assert list((tmp_path / "cwd").iterdir()) == []


def test_an_ignored_signal_stays_ignored(start: Start, samples: Path, tmp_path: Path) -> None:
    """As under nohup."""
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    process = start(ignoring + SLOW_MAIN + MAIN, "show", samples / "new")
    wait_for(tmp_path / "cwd" / "under-way", process)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert process.poll() is None
    assert end(process, signal.SIGTERM)[0] == 143
