"""Runs the job's command: copies its output to ours and into a log, forwards signals, and reports how it ended.

The job is a separate session, so that it and all its processes receive Ctrl-C only once, through us. It inherits the
open log, on which there is a lock: so the run directory stays locked as long as the job runs, even if we are killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO

from rlcompare.errors import UsageError
from rlcompare.locking import try_lock

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_PATIENCE = 3
"""This many signals kill the job at once."""
_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 16
_REST_SECONDS = 2


@dataclass(frozen=True)
class Ended:
    """How a job ended.

    Attributes:
        code: its exit code; 128 + N if signal N killed it.
        received: the first signal that we forwarded; None: there was none.
        last_error: the last line that it wrote to standard error, if any.
    """

    code: int
    received: int | None
    last_error: str


def run_job(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Ended:
    """Runs a command to its end.

    Args:
        log: receives standard output and standard error, line by line; replaced if it exists. Only its owner can read
            it.

    Raises:
        UsageError: the command cannot be started, or the log cannot be written.
    """
    try:
        sink = _private(log)
    except OSError as error:
        raise UsageError(
            f"{log} cannot be written ({error.strerror or error}): choose another folder with -o"
        ) from error
    with _closed(sink), _passing_on() as (watch, received):
        try_lock(sink.fileno())
        try:
            job = subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=(sink.fileno(),) if os.name == "posix" else (),
            )
        except OSError as error:
            raise UsageError(
                f"{command[0]} cannot be started ({error.strerror or error}): check that it is installed"
            ) from error
        watch(job)
        assert job.stdout is not None
        assert job.stderr is not None
        lock = threading.Lock()
        copies = [
            _Copy(job.stdout, sys.stdout.fileno(), sink, lock),
            _Copy(job.stderr, sys.stderr.fileno(), sink, lock),
        ]
        for copy in copies:
            copy.start()
        code = job.wait()
        for copy in copies:
            copy.finish()
    return Ended(128 - code if code < 0 else code, received[0] if received else None, copies[1].last_line)


def _private(log: Path) -> IO[bytes]:
    """Opens a log that only the user can read: a job prints its whole configuration, with any secrets in it."""
    log.unlink(missing_ok=True)  # neither an older file's permissions nor a link are taken over
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=0)


@contextmanager
def _closed(log: IO[bytes]) -> Iterator[None]:
    """Closes a log at the end. A file system may report only then that it is full."""
    try:
        yield
    finally:
        with suppress(OSError):
            log.close()


class _Copy(threading.Thread):
    """Copies one stream of a job to one of ours immediately, and into the log by whole lines."""

    def __init__(self, stream: IO[bytes], target: int, log: IO[bytes], lock: threading.Lock) -> None:
        super().__init__(name="copy", daemon=True)
        self._stream, self._target, self._log, self._lock = stream, target, log, lock
        self._is_shown = True
        self._rest = b""
        self.last_line = ""

    def run(self) -> None:
        with self._stream:
            self._copy()

    def _copy(self) -> None:
        while chunk := os.read(self._stream.fileno(), _CHUNK):
            self._show(chunk)
            self._rest += chunk
            # A progress bar may only use carriage returns for hours.
            end = max(self._rest.rfind(b"\n"), self._rest.rfind(b"\r")) + 1
            end = end or (len(self._rest) if len(self._rest) > _LONGEST_LINE else 0)
            if end:
                self._keep(self._rest[:end])
                self._rest = self._rest[end:]
        if self._rest:
            self._keep(self._rest + b"\n")

    def finish(self) -> None:
        """Waits for the rest, with a time limit: a process that the job left behind may keep the stream open."""
        self.join(_REST_SECONDS)

    def _show(self, chunk: bytes) -> None:
        try:
            while self._is_shown and chunk:
                chunk = chunk[os.write(self._target, chunk) :]
        except OSError:  # the reader of our output closed it: the job and its log continue
            self._is_shown = False

    def _keep(self, text: bytes) -> None:
        lines = text.strip().splitlines()
        if lines:
            self.last_line = lines[-1].decode("utf-8", "replace").strip()
        with self._lock, suppress(OSError, ValueError):  # a full disk does not end the job
            while text:
                text = text[self._log.write(text) :]


@contextmanager
def _passing_on() -> Iterator[tuple[Callable[[subprocess.Popen[bytes]], None], list[int]]]:
    """Forwards signals to all processes of a job, including those received while it was being started.

    Yields:
        A function to call with the started job, and the list of received signals.
    """
    received: list[int] = []
    jobs: list[subprocess.Popen[bytes]] = []

    def send(number: int) -> None:
        for job in jobs:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(job.pid, number if len(received) < _PATIENCE else signal.SIGKILL)

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        send(number)

    def watch(job: subprocess.Popen[bytes]) -> None:
        jobs.append(job)
        if received:
            send(received[0])

    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    handlers = {number: signal.getsignal(number) for number in numbers}
    for number, handler in handlers.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, handle)
    try:
        yield watch, received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
