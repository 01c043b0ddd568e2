"""Runs command lines of rlcompare in forked processes, with limits of time and memory.

The parent has imported everything, so an input costs no start of an interpreter. It never opens DuckDB itself: threads
do not survive a fork.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from tests.fuzz.kind import Outcome, Places

LIMIT_SECONDS = 30.0
"""Of CPU time; of any time if the process hardly computes in it, nor could. So a busy machine makes no findings."""
LIMIT_BYTES = 1 << 30
"""Resident memory."""

_ADDRESS_SPACE = 8 << 30
"""Protects the machine; far above what an input may take, because DuckDB reserves more than it uses."""
_LARGEST_FILE = 4 << 30
_POLL_SECONDS = 0.01
_WAITS = 0.05
"""A process that computes, or is ready to, for a smaller share of its time waits for something."""
_MOST_SECONDS = 300.0
_TICKS = os.sysconf("SC_CLK_TCK")


def import_all() -> None:
    """Imports what commands import, so that forked processes need not."""
    for name in (
        "duckdb", "jinja2", "pyarrow", "msgspec", "omegaconf", "rich.console", "duckdb_extension_sqlite_scanner",
        "rlcompare.cli.main", "rlcompare.cli.diff", "rlcompare.cli.gate", "rlcompare.cli.show", "rlcompare.cli.ingest",
        "rlcompare.cli.explain", "rlcompare.cli.report", "rlcompare.cli.sql", "rlcompare.app.comparison",
        "rlcompare.report.write", "rlcompare.report.html", "rlcompare.report.terminal", "rlcompare.store.cache",
    ):  # fmt: skip
        import_module(name)
    from rlcompare.sources.registry import sources

    sources()


def run_forked(arguments: Sequence[str], places: Places, scratch: Path) -> Outcome:
    """Run one command line, stopped at the limit of time.

    Args:
        scratch: a folder for its output and for its ``cwd``, ``tmp`` (TMPDIR) and ``cache``, which are made if missing.
    """
    for name in ("cwd", "tmp", "cache"):
        (scratch / name).mkdir(exist_ok=True)
    streams = scratch / "stdout", scratch / "stderr"
    sys.stdout.flush()
    sys.stderr.flush()
    start = time.monotonic()
    child = os.fork()
    if not child:
        _be_the_command(arguments, scratch)
    try:
        status, usage = _wait(child, start)
    except BaseException:  # the run was interrupted: no command may outlive it
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    out, err = (path.read_text(encoding="utf-8", errors="replace") for path in streams)
    code = None if status is None else os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - start
    return Outcome(tuple(arguments), code, out, err, seconds, usage.ru_maxrss * 1024, places)


def _wait(child: int, start: float) -> tuple[int | None, resource.struct_rusage]:
    while True:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            return status, usage
        if _is_over(child, time.monotonic() - start):
            break
        time.sleep(_POLL_SECONDS)
    os.killpg(child, signal.SIGKILL)
    _, _, usage = os.wait4(child, 0)
    return None, usage


def _is_over(child: int, seconds: float) -> bool:
    if seconds < LIMIT_SECONDS:
        return False
    state, *numbers = _stat(Path(f"/proc/{child}"))
    computed = (int(numbers[10]) + int(numbers[11])) / _TICKS
    return computed > LIMIT_SECONDS or seconds > _MOST_SECONDS or (state != "Z" and _waits(child, computed, seconds))


def _waits(child: int, computed: float, seconds: float) -> bool:
    """Whether a process did next to nothing, though it had a core: no thread is ready to run, and none was for long."""
    queued = 0
    for thread in Path(f"/proc/{child}/task").iterdir():
        with suppress(OSError):  # the thread has ended
            if _stat(thread)[0] in "RD":
                return False
            queued += int((thread / "schedstat").read_text().split()[1])
    return computed + queued / 1e9 < _WAITS * seconds


def _stat(place: Path) -> list[str]:
    """The state of a process or thread, and the numbers after it (proc_pid_stat(5))."""
    return (place / "stat").read_text(errors="replace").rpartition(")")[2].split()


def _be_the_command(arguments: Sequence[str], scratch: Path) -> None:
    """Never returns."""
    code = 71
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            path = os.devnull if number == 0 else str(scratch / name)
            opened = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(opened, number)
            os.close(opened)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="strict", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        os.chdir(scratch / "cwd")
        os.environ |= {
            "TMPDIR": str(scratch / "tmp"),
            "RLCOMPARE_CACHE_DIR": str(scratch / "cache"),
            "RLCOMPARE_LANG": "en",
            "HOME": str(scratch / "cwd"),
        }
        import tempfile

        tempfile.tempdir = None
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        from rlcompare.cli.main import run

        code = run(list(arguments))
        sys.stdout.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
