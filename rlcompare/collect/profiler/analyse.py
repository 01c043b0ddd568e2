"""Offline parsing of raw ``*_ascend_pt`` folders by torch_npu's own ``analyse``, each in a separate process.

torch_npu deletes and writes files in the folder, changes how processes are started, and swallows its errors. So the
files are checked afterwards, and torch_npu's error messages are passed on.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from rlcompare import temporary
from rlcompare.collect.profiler.ascend_pt import NO_INFO, missing, profiler_info, unparsed
from rlcompare.errors import InputError, UsageError

_NOT_INSTALLED = 3
_PARSE = f"""
import sys
try:
    from torch_npu.profiler.profiler import analyse
except BaseException as error:
    print(f"{{type(error).__name__}}: {{error}}", file=sys.stderr)
    sys.exit({_NOT_INSTALLED})
analyse(profiler_path=sys.argv[1], max_process_number=1)
"""
_ERROR = re.compile(r"\[ERROR\][^\n]{0,80}profiler\.py: ([^\n]*)")
_MOST_OUTPUT = 1024 * 1024
_RAW = re.compile(r"FRAMEWORK|PROF_\d+_\d+_[0-9a-zA-Z]+")


class State(Enum):
    """The state of a folder after parsing."""

    PARSED = "parsed"
    ALREADY = "already parsed"
    INCOMPLETE = "incomplete"
    FAILED = "failed"


@dataclass(frozen=True)
class Parsed:
    """A folder, its state, the reason if it is incomplete, and whether torch_npu was run on it."""

    folder: Path
    state: State
    reason: str = ""
    was_tried: bool = True


def find_folders(path: Path) -> list[Path]:
    """The ``*_ascend_pt`` folders at or below a path, in order; links are not followed.

    Raises:
        InputError: there is none.
    """
    if not path.is_dir():
        raise InputError(path, "it is not a folder", "Pass an *_ascend_pt folder, or one that contains several")
    found = []
    for folder, inner, _ in os.walk(path):
        if folder.endswith("_ascend_ms"):  # MindSpore's folder, which has the same structure
            inner.clear()
        elif folder.endswith("_ascend_pt") or any(_RAW.fullmatch(name) for name in inner):
            found.append(Path(folder))
            inner.clear()
    if not found:
        raise InputError(path, "it contains no *_ascend_pt folder", "Pass a folder that torch_npu's profiler wrote")
    return sorted(found)


def analyse(folders: Sequence[Path], jobs: int) -> Iterator[Parsed]:
    """Parses raw folders, several at a time. Yields each result as soon as it is known.

    Raises:
        UsageError: torch_npu cannot be used here.
    """
    raw = []
    for folder in folders:
        if not unparsed(folder):
            yield Parsed(folder, State.ALREADY, was_tried=False)
        elif problem := _unusable(folder):
            yield Parsed(folder, State.FAILED, problem, was_tried=False)
        else:
            raw.append(folder)
    running: set[subprocess.Popen[bytes]] = set()
    pool = ThreadPoolExecutor(jobs)
    try:
        for done in as_completed([pool.submit(_parse, folder.resolve(), running) for folder in raw]):
            yield done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in list(running):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        pool.shutdown()


def _unusable(folder: Path) -> str:
    """Why torch_npu cannot parse a raw folder."""
    if missing(folder, False, ()):
        return f"{NO_INFO}, or is still running"
    if not any(_RAW.fullmatch(entry.name) for entry in folder.iterdir()):
        return "it contains no raw data to parse (FRAMEWORK, PROF_*)"
    if not os.access(folder, os.W_OK):
        return "it is read-only, and torch_npu parses a folder in place"
    return ""


def _parse(folder: Path, running: set[subprocess.Popen[bytes]]) -> Parsed:
    """Runs torch_npu on one folder, in an empty working folder, so that nothing is imported from where profiles are."""
    with temporary.folder() as empty, tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-c", _PARSE, str(folder)],
            cwd=empty,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that torch_npu's child processes end with it
        )
        running.add(process)
        code = process.wait()
        running.discard(process)
        output.seek(max(0, output.seek(0, os.SEEK_END) - _MOST_OUTPUT))
        said = output.read().decode(errors="replace")
    if code == _NOT_INSTALLED:
        raise UsageError(_without_torch_npu(folder, said))
    errors = _ERROR.findall(said)
    words = errors[0] if errors else ""
    if problem := unparsed(folder):
        ended = f"; its process ended with exit code {code}" if code else ""
        return Parsed(folder, State.FAILED, f"{problem}{ended}{': ' + words if words else ''}")
    return Parsed(folder, State.INCOMPLETE, words) if errors else Parsed(folder, State.PARSED)


def _without_torch_npu(folder: Path, said: str) -> str:
    reason = said.strip().splitlines()[-1] if said.strip() else "no reason given"
    version = profiler_info(folder).get("torch_npu_version")
    which = f" {version}" if isinstance(version, str) and re.fullmatch(r"[\w.+-]{1,40}", version) else ""
    return (
        f"torch_npu cannot be imported by {sys.executable} ({reason}), and only it can parse raw data (these are of "
        f"torch_npu{which}). Install torch_npu with CANN and its msprof for this Python, or copy the folders to a "
        "machine that has them and run rlcompare analyse there; the parsed folders can then be read anywhere"
    )
