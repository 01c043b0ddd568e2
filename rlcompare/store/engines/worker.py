"""A process that makes parts for ``LocalEngine``: batches in on standard input, results out on standard output.

It ends when its input is closed, also in the middle of a job. So it never outlives the process that started it.
Incomplete files are removed before it ends.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from queue import SimpleQueue
from typing import BinaryIO

from rlcompare import db
from rlcompare.store.capture_stage import make_batch
from rlcompare.store.new_file import Cancelled
from rlcompare.store.parts import Batch, Part

AGAIN_SECONDS = 0.05
PATIENCE_SECONDS = 5.0

Job = tuple[Batch, int]
"""A batch, and the number of DuckDB's threads."""


def main() -> None:
    """Serve until the input is closed."""
    jobs: SimpleQueue[Job | None] = SimpleQueue()
    # Output that a library prints must not mix with messages.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    threading.Thread(target=_receive, args=(sys.stdin.buffer, jobs), daemon=True).start()
    try:
        while (job := jobs.get()) is not None:
            _serve(job, out)
    finally:
        # Skip the regular shutdown: it has nothing left to do, and the receiving thread may be blocked.
        os._exit(0)


def _receive(source: BinaryIO, jobs: SimpleQueue[Job | None]) -> None:
    """Queues jobs. When the input ends, interrupts the queries of the current job, then ends the process."""
    try:
        while True:
            jobs.put(pickle.load(source))
    except (EOFError, OSError, pickle.UnpicklingError):
        jobs.put(None)
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        db.interrupt_all()
        time.sleep(AGAIN_SECONDS)
    os._exit(1)


def _serve(job: Job, out: BinaryIO) -> None:
    batch, threads = job

    def done(part: Part) -> None:
        _send(out, ("done", part.capture.path.name))

    try:
        for result in make_batch(batch, threads=threads, done=done):
            _send(out, ("result", result))
        _send(out, ("end", None))
    except Exception as error:
        _send(out, ("error", _portable(error)))


def _send(out: BinaryIO, message: tuple[str, object]) -> None:
    try:
        pickle.dump(message, out)
        out.flush()
    except OSError as error:  # the reader is gone
        raise Cancelled from error


def _portable(error: Exception) -> Exception:
    """The error itself if it can be pickled, else a ``RuntimeError`` with its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
