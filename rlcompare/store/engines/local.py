"""Makes parts on this machine: in threads of this process if there is little to do, else in processes.

With many small captures, threads of one process spend much time waiting for each other. Workers are plain processes of
``rlcompare.store.engines.worker``, not forks and not ``multiprocessing``: a fork would copy locks of DuckDB's threads,
and ``multiprocessing`` would run the user's own script again.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from rlcompare import capacity, temporary
from rlcompare.store.capture_stage import make_batch
from rlcompare.store.engines import Cancelled as IsCancelled
from rlcompare.store.engines import Report
from rlcompare.store.new_file import LEAST_MEMORY_BYTES, Cancelled
from rlcompare.store.parts import Batch, BatchResult, Failure, Part, memory_weight

WORTH_PROCESSES = 3
"""Minimum number of batches for which processes are started."""

_PROCESS_BYTES = 150 * 2**20
_MEMORY_SHARE = 0.5
_AGAIN_SECONDS = 0.1
_ENDING_SECONDS = 6.0
_START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from rlcompare.store.engines.worker import main; main()"
)


class LocalEngine:
    """Threads and processes of this machine."""

    def __init__(self, workers: int | None = None, threads: int | None = None) -> None:
        """``workers`` batches at once, by default one per core; ``threads`` of DuckDB for each."""
        self.workers = workers or capacity.cores()
        self._threads = threads or max(1, capacity.cores() // self.workers)
        self._in_process = workers == 1

    def make_parts(self, batches: Sequence[Batch], *, report: Report, cancelled: IsCancelled) -> Iterator[BatchResult]:
        """See ``Engine``."""
        workers = min(self.workers, len(batches), _fitting(batches))
        threads = max(self._threads, capacity.cores() // workers if not self._in_process else 1)
        alone = self._in_process or len(batches) < WORTH_PROCESSES or not sys.executable
        kind: type[_Crew] = _Threads if alone else _Processes
        return _collect(kind(batches, workers, threads, report, cancelled), cancelled)


def _fitting(batches: Sequence[Batch]) -> int:
    """How many batches fit into memory at once."""
    largest = max(max(map(memory_weight, batch.parts)) for batch in batches)
    return max(1, int(capacity.memory_bytes() * _MEMORY_SHARE) // (max(LEAST_MEMORY_BYTES, largest) + _PROCESS_BYTES))


def _collect(crew: _Crew, cancelled: IsCancelled) -> Iterator[BatchResult]:
    """The results of a crew, as they are made. The crew has ended when this returns or raises."""
    try:
        crew.start()
        working = crew.size
        while working:
            try:
                item = crew.results.get(timeout=_AGAIN_SECONDS)
            except Empty:
                if cancelled():
                    raise Cancelled from None
                continue
            if isinstance(item, BaseException):
                raise item
            if item is None:
                working -= 1
            else:
                yield item
    finally:
        crew.stop()


class _Crew:
    """Threads that take batches from one queue and put the results into another."""

    def __init__(
        self, batches: Sequence[Batch], workers: int, threads: int, report: Report, cancelled: IsCancelled
    ) -> None:
        self.results: SimpleQueue[BatchResult | BaseException | None] = SimpleQueue()
        self._batches: SimpleQueue[Batch] = SimpleQueue()
        for batch in batches:
            self._batches.put(batch)
        self._threads_each = threads
        self._report = report
        self._cancelled = cancelled
        self._stopped = threading.Event()
        self._crew = [
            threading.Thread(target=self._run, args=(number,), name=f"parts-{number}", daemon=True)
            for number in range(workers)
        ]

    def start(self) -> None:
        for thread in self._crew:
            thread.start()

    @property
    def size(self) -> int:
        """Number of threads; each puts a last None into ``results`` when it ends."""
        return len(self._crew)

    @property
    def has_to_end(self) -> bool:
        return self._stopped.is_set() or self._cancelled()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._crew:
            if thread.ident is not None:
                thread.join()

    def next_batch(self) -> Batch | None:
        try:
            return None if self.has_to_end else self._batches.get_nowait()
        except Empty:
            return None

    def _run(self, number: int) -> None:
        try:
            self.work(number)
        except BaseException as error:
            self.results.put(error)
        finally:
            self.results.put(None)

    def work(self, number: int) -> None:
        raise NotImplementedError


class _Threads(_Crew):
    """Makes batches in this process."""

    def work(self, number: int) -> None:
        def done(part: Part) -> None:
            if self.has_to_end:
                raise Cancelled
            self._report(part.capture.path.name)

        while batch := self.next_batch():
            for result in make_batch(batch, threads=self._threads_each, done=done):
                self.results.put(result)


class _Processes(_Crew):
    """Makes batches in processes. Each thread of this crew has one process, and waits for its messages."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._scratch = temporary.folder()
        self._lock = threading.Lock()
        self._processes: list[subprocess.Popen[bytes]] = []

    def stop(self) -> None:
        self._stopped.set()
        with self._lock:
            processes = list(self._processes)
        for process in processes:
            _close(process)
        for process in processes:
            try:
                process.wait(_ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        super().stop()
        for process in processes:
            if process.stdout is not None:
                process.stdout.close()
        self._scratch.cleanup()

    def work(self, number: int) -> None:
        process: subprocess.Popen[bytes] | None = None
        while batch := self.next_batch():
            process = process or self._start()
            if process is not None and not self._serve(process, batch):
                process = None
        if process is not None:
            _close(process)
            process.wait()

    def _start(self) -> subprocess.Popen[bytes] | None:
        """A process with its own folder for temporary files, detached from the terminal and its signals."""
        with self._lock:
            if self.has_to_end:
                return None
            scratch = Path(self._scratch.name) / str(len(self._processes))
            scratch.mkdir()
            process = subprocess.Popen(
                [sys.executable, "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "TMPDIR": str(scratch)},
                start_new_session=True,
            )
            self._processes.append(process)
        with suppress(OSError):  # it died at once; the reader will notice
            _send(process, sys.path)
        return process

    def _serve(self, process: subprocess.Popen[bytes], batch: Batch) -> bool:
        """Let a process make a batch; False if the process died."""
        finished: set[int] = set()
        try:
            _send(process, (batch, self._threads_each))
            while (message := pickle.load(process.stdout))[0] != "end":  # type: ignore[arg-type]
                kind, content = message
                if kind == "done":
                    self._report(content)
                elif kind == "error":
                    raise content
                else:
                    finished |= {part.number for part in content.batch.parts}
                    self.results.put(content)
            return True
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            pass
        _close(process)
        process.wait()
        temporary.sweep(batch.target.parent)
        if not self.has_to_end:
            self._retry(batch, finished, process.returncode)
        return False

    def _retry(self, batch: Batch, finished: set[int], code: int) -> None:
        """Queue the captures of a process that died one by one, to find the one that killed it."""
        left = [part for part in batch.parts if part.number not in finished]
        if len(batch.parts) == 1:
            for part in left:
                self._report(part.capture.path.name)
                self.results.put(BatchResult(batch, (_killed(part, code),)))
        else:
            for part in left:
                target = batch.target.with_name(f"{batch.target.stem}.{part.number}{batch.target.suffix}")
                self._batches.put(Batch((part,), target, batch.keep_events))


def _send(process: subprocess.Popen[bytes], message: object) -> None:
    assert process.stdin is not None
    pickle.dump(message, process.stdin)
    process.stdin.flush()


def _close(process: subprocess.Popen[bytes]) -> None:
    """Close the input of a process, at which it ends."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()


def _killed(part: Part, code: int) -> Failure:
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    why = ", as the system does when memory runs out" if code == -9 else ""
    problem = f"the process that read it {how}{why}"
    return Failure(part, part.capture.path, problem, "Free some memory and try again", may_pass=True)
