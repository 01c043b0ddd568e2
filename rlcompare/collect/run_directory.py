"""Writes a run directory (docs/design.md §9).

``run.json`` describes the run; ``metrics.jsonl`` has a line per training step.

``run.json`` is written at the start with the status ``incomplete`` and again at the end, each time to a temporary file
that is then renamed. A line of ``metrics.jsonl`` is flushed as soon as its step has ended. So a killed run keeps its
finished steps and the status ``incomplete``.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import rlcompare
from rlcompare import temporary
from rlcompare.collect.verl.asked import commit_of, git_state
from rlcompare.errors import OutputError, UsageError
from rlcompare.locking import try_lock
from rlcompare.model.run import METRICS, RUN_JSON

SCHEMA = "rlcompare.run/1"
PROFILE = "profile"
LOG = "job.log"
"""Output of a launched job."""

STATUSES = ("incomplete", "complete", "failed")


def prepare_all(folder: Path, repeat: int, force: bool) -> list[Path]:
    """Creates the folders of one run, or of several: ``run1`` and so on, all samples of one side.

    Raises:
        UsageError: as in ``prepare``; also if the folder holds another number of runs, or a single one.
    """
    if repeat == 1:
        prepare(folder, force)
        return [folder]
    targets = [folder / f"run{number + 1}" for number in range(repeat)]
    others = [path.parent for path in (folder / RUN_JSON, *sorted(folder.glob(f"run*/{RUN_JSON}")))
              if path.is_file() and path.parent not in targets]  # fmt: skip
    if others:
        raise UsageError(
            f"{others[0]} already contains a run, which would count as a sample of the same side; "
            "choose another folder with -o"
        )
    for target in targets:
        prepare(target, force)
    return targets


def prepare(folder: Path, force: bool) -> None:
    """Creates the folder of a run.

    Args:
        force: replace an existing run; nothing else is ever removed.

    Raises:
        UsageError: the folder holds other files, or cannot be created.
    """
    temporary.sweep(folder)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            _replace(folder, force)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"{folder} cannot be made ({reason}); choose another folder with -o") from error


def _replace(folder: Path, force: bool) -> None:
    ours = (PROFILE, METRICS, LOG, "run.duckdb", RUN_JSON)  # run.json, which marks a run, is removed last
    if not folder.is_dir() or not (folder / RUN_JSON).is_file():
        raise UsageError(f"{folder} contains other files than one run; choose an empty or new folder with -o")
    if not force:
        raise UsageError(f"{folder} already contains a run; choose another folder with -o, or replace it with --force")
    if _is_written(folder / LOG):
        raise UsageError(
            f"{folder} is in use: the job that an earlier launch started still runs. End it (fuser shows the processes "
            f"that have {LOG} open), or choose another folder with -o"
        )
    for name in ours:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _is_written(log: Path) -> bool:
    """Whether a job still has its log open, which it does even if the command that launched it was killed."""
    try:
        handle = os.open(log, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        return try_lock(handle) is False
    finally:
        os.close(handle)


class RunDirectory:
    """The files of a run that the process of rank 0 writes."""

    def __init__(self, folder: Path, facts: Mapping[str, Any]) -> None:
        """Starts the run's files.

        Args:
            folder: of the run; exists.
            facts: entries of run.json that are known before the first step: configuration, versions, seed, ….

        Raises:
            UsageError: the disk is full; ``step`` and ``end`` raise this too.
        """
        self._folder = folder
        self._run: dict[str, Any] = {
            "schema": SCHEMA,
            "status": "incomplete",
            "started": now(),
            "ended": None,
            **facts,
        }
        self._write()
        with _written(folder / METRICS):
            self._metrics = (folder / METRICS).open("w", encoding="utf-8")

    def step(self, step: int, data: Mapping[str, float], captures: Sequence[Mapping[str, Any]]) -> None:
        """Adds the metrics of a finished step, and the list of captures so far."""
        line = {"step": step, "data": {key: _number(value) for key, value in data.items()}}
        with _written(self._folder / METRICS):
            self._metrics.write(json.dumps(line, allow_nan=False) + "\n")
            self._metrics.flush()
        if len(captures) != len(self._run.get("captures", ())):
            self._run["captures"] = list(captures)
            self._write()

    def end(self, status: str, captures: Sequence[Mapping[str, Any]] | None = None, error: str | None = None) -> None:
        """Closes the run with its status."""
        assert status in STATUSES
        with suppress(OSError):  # a full disk may lose the last metrics, but the status must still be written
            self._metrics.close()
        self._run |= {"status": status, "ended": now()}
        if captures is not None:
            self._run["captures"] = list(captures)
        if error is not None:
            self._run["error"] = error
        self._write()

    def _write(self) -> None:
        write_run(self._folder, self._run)


def blame(folder: Path, error: str) -> None:
    """Marks a run as failed for a reason that its own processes do not know: the rank that failed first."""
    with suppress(OSError, ValueError, UsageError):  # it may have failed before the files existed
        run = json.loads((folder / RUN_JSON).read_text(encoding="utf-8"))
        write_run(folder, {**run, "status": "failed", "error": error, "ended": run.get("ended") or now()})


def write_run(folder: Path, run: Mapping[str, Any]) -> None:
    """Writes run.json atomically."""
    target = folder / RUN_JSON
    text = json.dumps(run, indent=1, allow_nan=False) + "\n"
    with _written(target), temporary.replacing(target) as partial, partial.open("x", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """Adds the file's name to errors: on a full disk the system's error names none."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        remedy = "free some disk space, or choose another folder with -o; finished files are kept"
        raise OutputError(path, reason, remedy) from error


def software(versions: Mapping[str, str], commits: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of run.json about the software of a run.

    Args:
        versions, commits: those of the run's interpreter (``verl.asked``).
    """
    mine = commit_of("rlcompare")
    return {
        "versions": {**versions, "rlcompare": rlcompare.__version__},
        "commits": {**commits, **({} if mine is None else {"rlcompare": mine})},
        "git": git_state(Path.cwd()),
    }


def _number(value: float) -> float | None:
    """Converts NaN and infinity, which JSON does not have, to null, as newer verl does."""
    return value if isinstance(value, int) or math.isfinite(value) else None


def now() -> str:
    """The current time in run.json's format."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
