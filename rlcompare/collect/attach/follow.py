"""Waits for a running job to serve a request: one folder per participating process, or the reason for the failure."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rlcompare.collect.attach.logs import Line, Log, answer, find_logs, is_bystander, poll_interval, steps_done
from rlcompare.collect.attach.processes import Life, Output, life_of, silencers
from rlcompare.collect.attach.reasons import Reason, hopeless, out_of_time, unservable
from rlcompare.collect.attach.request import CONFIG, Request, read_config, settings, write_config
from rlcompare.collect.attach.view import View, Worker
from rlcompare.collect.profiler.ascend_pt import missing, unparsed
from rlcompare.errors import InputError

_LOOK_SECONDS = 0.5
_LATE_SECONDS = 15
"""Time that other processes get after the first ones finish, in addition to the poll interval."""
_APPEARING_SECONDS = 5
"""Time until a finished process's folder must be visible: shared storage may show it late."""
_MOST_QUOTED = 8
_FOLDER = re.compile(r"(.+)_(\d{1,10})_\d+_ascend_pt")


@dataclass(frozen=True)
class Capture:
    """One process's profile. ``first_step`` counts from 0, as in torch_npu."""

    folder: Path
    rank: int
    first_step: int
    is_parsed: bool


@dataclass(frozen=True)
class Outcome:
    """The result of a request. If ``reason`` is set, something is missing, and ``quoted`` has the job's messages."""

    captures: tuple[Capture, ...]
    reason: Reason | None = None
    quoted: tuple[str, ...] = ()


class Job:
    """The processes that poll one folder."""

    def __init__(self, folder: Path) -> None:
        """Reads the existing logs.

        Raises:
            InputError: no job has used the folder, or its logs cannot be read.
        """
        self._folder = folder / "log"
        self._logs: dict[str, Log] = {}
        self._outputs: dict[int, Output] = {}
        self._lives: dict[Path, Life] = {}
        if not self._folder.is_dir():
            raise InputError(
                folder,
                "no job under torch_npu.profiler.dynamic_profile has used this folder: it has no log/dp_*.log",
                f"Start the job with PROF_CONFIG_PATH={folder} or dynamic_profile.init(…). If you did, "
                "see the beginning of the job's output for why torch_npu refused",
            )
        try:
            self.look()
        except PermissionError as error:
            raise InputError(self._folder, "it cannot be read", "Run this as the user of the job") from error

    def look(self) -> None:
        """Reads new log lines and the state of the processes."""
        find_logs(self._folder, self._logs)
        for log in self._logs.values():
            log.read()
            self._lives[log.path] = life_of(log)
            if self._lives[log.path] is Life.ALIVE and not log.is_monitor:
                self._outputs.setdefault(log.pid, Output(log.pid)).read()

    def mark(self) -> int:
        """Called before a request; returns the last second in which the job is known to have been active."""
        for log in self._logs.values():
            log.mark()
        for output in self._outputs.values():
            output.said.clear()
        return max((int(log.modified) for log in self._logs.values()), default=0)

    def view(self, request: Request, written: bytes | None, waited: float) -> View:
        """The current state.

        Args:
            written: the content of the request; None: it is not written yet.
            waited: seconds since then.
        """
        folders = _folders(request.output)
        logs = [log for log in self._logs.values() if not log.is_monitor]
        workers = [self._worker(log, folders.get((log.host, log.pid))) for log in logs]
        monitors = [log for log in self._logs.values() if log.is_monitor]
        polling = [log.host for log in monitors if self._lives[log.path] is not Life.GONE]
        return View(
            request=request,
            is_changed=written is not None and _content(request.folder / CONFIG) != written,
            waited=waited,
            interval=max((poll_interval(log.earlier + log.lines) for log in self._logs.values()), default=2),
            monitor=tuple(line for log in monitors for line in log.lines),
            polling_hosts=frozenset(polling),
            workers=tuple(worker for worker in workers if worker is not None),
        )

    def quoted(self) -> Iterator[str]:
        """Relevant output of the job: warnings and errors, else each log's last line; the latest last."""
        logs = sorted(self._logs.values(), key=lambda log: log.modified)
        lines = [(log.path.name, line) for log in logs for line in log.lines]
        bad = [(name, line) for name, line in lines if line.level in ("WARNING", "ERROR")]
        last = [(log.path.name, log.lines[-1]) for log in logs if log.lines]
        chosen = [f"log/{name}: {_shown(line)}" for name, line in (bad or last)]
        said = [f"output of process {output.pid}: {text}" for output in self._outputs.values() for text in output.said]
        yield from [*chosen, *said][-_MOST_QUOTED:]

    def _worker(self, log: Log, folder: Path | None) -> Worker | None:
        life, given = self._lives[log.path], answer(log.lines)
        if is_bystander(log.earlier + log.lines) and given.asked is None:
            return None
        output = self._outputs.get(log.pid) if life is Life.ALIVE else None
        return Worker(
            pid=log.pid,
            rank=log.rank,
            life=life,
            answer=given,
            has_begun=bool(log.earlier or log.lines),
            has_ended=life is Life.GONE or _has_ended(log),
            steps_done=steps_done(log.earlier + log.lines),
            folder=folder,
            problem=_problem(folder) if folder else "",
            said=tuple(output.said) if output else (),
            silencers=tuple(silencers(log.pid)) if output else (),
        )


def attach(request: Request, timeout: float, say: Callable[[str], None]) -> Outcome:
    """Requests a profile from a running job, and waits for it.

    Args:
        timeout: seconds.
        say: called with the state of the job whenever it changes.

    Raises:
        InputError: the job cannot serve the request; nothing was written.
        UsageError: the request cannot be written.
    """
    job = Job(request.folder)
    present = read_config(request.folder / CONFIG)
    config = settings(request, present)
    if reason := unservable(job.view(request, None, 0)):
        raise InputError(request.folder, reason.problem, reason.remedy)
    newest = job.mark()
    is_ours = not request.output.exists()
    request.output.mkdir(parents=True, exist_ok=True)
    try:
        written = write_config(request.folder / CONFIG, config, newest)
        say(f"request written to {request.folder / CONFIG}")
        return _wait(job, request, written, timeout, say)
    finally:
        if is_ours:
            with suppress(OSError):  # not empty; if it is removed, a job that reads the request later creates it
                request.output.rmdir()


def _wait(job: Job, request: Request, written: bytes, timeout: float, say: Callable[[str], None]) -> Outcome:
    begin = changed = time.monotonic()
    shown = ""
    while True:
        now = time.monotonic()
        job.look()
        view = job.view(request, written, now - begin)
        if (state := view.state()) != shown:
            shown, changed = state, now
            say(state)
        quiet = now - changed
        reason = None
        if view.is_done and (not view.others or quiet > _LATE_SECONDS + view.interval):
            return Outcome(_captures(view))
        if quiet > _APPEARING_SECONDS or not view.is_over:
            reason = hopeless(view)
        if reason is None and now - begin >= timeout:
            reason = out_of_time(view, timeout)
        if reason is not None:
            return Outcome(_captures(view), reason, tuple(job.quoted()))
        time.sleep(max(0.0, min(_LOOK_SECONDS, begin + timeout - now)))


def _captures(view: View) -> tuple[Capture, ...]:
    whole = (worker for worker in view.workers if worker.is_done)
    found = [
        Capture(worker.folder, worker.rank, worker.answer.started + view.request.warmup, not unparsed(worker.folder))
        for worker in whole
        if worker.folder is not None and worker.answer.started is not None
    ]
    return tuple(sorted(found, key=lambda capture: (capture.rank, capture.folder.name)))


def _folders(output: Path) -> dict[tuple[str, int], Path]:
    """Each process's folder for the request, by host and process id. The output was empty before."""
    try:
        found = sorted(path for path in output.iterdir() if path.is_dir())
    except OSError:
        return {}
    named = ((_FOLDER.fullmatch(path.name), path) for path in found)
    return {(match[1], int(match[2])): path for match, path in named if match}


def _problem(folder: Path) -> str:
    """Why a folder is incomplete or unreadable. torch_npu's permissions allow only its user and group."""
    if not os.access(folder, os.R_OK | os.X_OK):
        return "only the user of the job can read it"
    return missing(folder, False, ())


def _has_ended(log: Log) -> bool:
    return any("unlink shm" in line.text for line in (log.earlier + log.lines)[-3:])


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None


def _shown(line: Line) -> str:
    return f"[{line.level}] {line.text}" if line.level else line.text
