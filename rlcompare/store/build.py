"""Makes the stores of runs in two stages: first parts of all captures in parallel, then one store per run from them.

A store holds the run tables and the rollups. ``ingest`` and ``sql`` also keep the event tables (one row per kernel,
operator or call). ``diff`` keeps them in memory only, until the rollups are made.

Parts are reused: the next command takes them from packs that an interrupted command left, and from the stores of other
runs.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rlcompare import capacity, temporary
from rlcompare.errors import OutputError
from rlcompare.model.run import RunInput
from rlcompare.store.engines import Engine
from rlcompare.store.fingerprint import Fingerprint, fingerprint
from rlcompare.store.new_file import Cancelled
from rlcompare.store.part_index import PartIndex, pack_names
from rlcompare.store.parts import BatchResult, Failure, Part, batches_of
from rlcompare.store.run_stage import RunParts, UnusablePackError, check_usable, make_store
from rlcompare.store.writing import writing

Progress = Callable[[int, int, str], None]
"""Called with the number of captures done, their total, and the last capture read; from several threads."""

_MOST_LOST = 10
"""Number of packs that may turn out to be unusable. Their parts are made again each time."""


@dataclass
class _Job:
    """A run whose store is to be made."""

    target: Path
    run: RunInput
    print: Fingerprint
    keys: tuple[str, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(os.path.relpath(capture.path, self.run.root) for capture in self.run.captures)


def build_store(run: RunInput, target: Path, *, keep_events: bool, threads: int = 2) -> None:
    """Read a whole run into one DuckDB file, in this process. An existing file is replaced when the new one is done.

    Raises:
        InputError: neither a capture nor the metrics of the run could be read. Otherwise the readable part is used, and
            findings list what was left out.
    """
    from rlcompare.store.engines.local import LocalEngine

    build_stores({target: run}, keep_events=keep_events, engine=LocalEngine(workers=1, threads=threads))


def build_stores(
    runs: Mapping[Path, RunInput],
    *,
    keep_events: bool,
    engine: Engine,
    prints: Mapping[Path, Fingerprint] | None = None,
    index: PartIndex | None = None,
    remedy: str = "free some space, or choose another location",
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> dict[Path, Path]:
    """Make the stores of runs.

    Args:
        runs: by target file. Existing files are replaced when the new ones are complete.
        keep_events: keep the event tables.
        engine: makes the parts.
        prints: fingerprints of the runs, if already computed.
        index: where parts are kept; None: parts are not kept.
        remedy: a clause for messages: what to do if something cannot be written.
        progress: called for each capture.
        cancelled: returns True to stop, because the result is no longer needed.

    Returns:
        The stores by target file: the file itself, or with an index another one beside it (``incomplete``) if captures
        may be read by the next call that could not be read by this one.

    Raises:
        InputError: neither a capture nor the metrics of a run could be read.
        Cancelled: ``cancelled`` returned True.
    """
    prints = prints or {target: fingerprint(run) for target, run in runs.items()}
    suffix = "-events" if keep_events else ""
    jobs = [
        _Job(target, run, prints[target], tuple(key + suffix for key in prints[target].captures))
        for target, run in runs.items()
    ]
    builder = _Builder(jobs, keep_events, engine, index, remedy, progress, cancelled)
    with builder.packs():
        builder.build()
    return builder.stores


def incomplete(target: Path) -> Path:
    """The name of a store in a cache that the next call does not find, because it lacks captures by accident."""
    return target.with_name(f"{target.stem}-incomplete{target.suffix}")


class _Builder:
    """Makes the stores of several runs that may have captures in common."""

    def __init__(
        self,
        jobs: list[_Job],
        keep_events: bool,
        engine: Engine,
        index: PartIndex | None,
        remedy: str,
        progress: Progress | None,
        cancelled: Callable[[], bool],
    ) -> None:
        self._jobs = jobs
        self._keep_events = keep_events
        self._engine = engine
        self._index = index
        self._remedy = remedy
        self._cancelled = cancelled
        self._tally = _Tally({key for job in jobs for key in job.keys}, progress)
        self.stores: dict[Path, Path] = {}
        """The stores by target file."""
        self._folder = Path()
        self._made: set[Path] = set()
        """Packs that are deleted once their stores are made."""
        self._held: dict[Path, int] = {}
        """The number of parts in each pack that this call made."""
        self._name = ""
        self._rounds = 0
        self._lost = 0
        """How often a pack was unusable."""
        self._lacking: set[str] = set()
        """Keys of parts that serve this call only, as they lack a file (``BatchResult.lacking``)."""

    @contextmanager
    def packs(self) -> Iterator[None]:
        """Provides the folder of packs: the folder of the index, else a temporary one beside the first store."""
        if self._index is not None:
            self._folder = self._index.folder
            with writing(self._index.directory, self._remedy):
                self._folder.mkdir(mode=0o700, exist_ok=True)
            with pack_names() as self._name:
                yield
            return
        target = self._jobs[0].target
        with writing(target, self._remedy):
            target.parent.mkdir(parents=True, exist_ok=True)
            scratch = temporary.folder(temporary.hidden(target), target.parent)
        with scratch as folder:
            self._folder = Path(folder)
            with pack_names() as self._name:
                yield

    def build(self) -> None:
        """Make the parts that are missing, then all stores."""
        places = self._known()
        failures: dict[str, Failure] = {}
        waiting = list(self._jobs)
        while waiting:
            with writing(self._index.directory if self._index else self._jobs[0].target, self._remedy):
                self._make_missing(waiting, places, failures)
            waiting = self._finish(waiting, places, failures)
        for pack in self._made:
            if self._index is not None:
                self._index.remove(pack)

    def _known(self) -> dict[str, tuple[Path, int]]:
        if self._index is None:
            return {}
        known = self._index.find(key for job in self._jobs for key in job.keys)
        self._made |= {file for file, _ in known.values()} & set(self._index.packs())
        return known

    def _make_missing(
        self, jobs: list[_Job], places: dict[str, tuple[Path, int]], failures: dict[str, Failure]
    ) -> None:
        missing = _missing_parts(jobs, places, failures)
        if not missing:
            return
        self._tally.start(missing)
        self._rounds += 1
        name = f"{self._name}.{self._rounds}"
        batches = batches_of(missing, self._folder, name, self._keep_events, self._engine.workers)
        results = self._engine.make_parts(batches, report=self._tally.report, cancelled=self._cancelled)
        try:
            for result in results:
                self._take(result, places)
                failures |= {failure.part.key: failure for failure in result.failures}
                for job in jobs if result.failures else ():
                    check_usable(job.run, _of_job(job, failures))
        finally:
            if isinstance(results, Generator):
                results.close()
            # Packs that were completed after the loop stopped are in no list.
            for pack in set(self._folder.glob(f"{name}-*.duckdb")) - self._made:
                pack.unlink(missing_ok=True)

    def _take(self, result: BatchResult, places: dict[str, tuple[Path, int]]) -> None:
        made = {part.key: part.number for part in result.made}
        if not made:
            return
        pack = result.batch.target
        self._made.add(pack)
        self._held[pack] = len(made)
        self._lacking -= made.keys()
        self._lacking |= {key for key, number in made.items() if number in result.lacking}
        if self._index is not None:
            self._index.add(pack, self._kept(made))
        places |= {key: (pack, number) for key, number in made.items()}

    def _finish(
        self, jobs: list[_Job], places: dict[str, tuple[Path, int]], failures: dict[str, Failure]
    ) -> list[_Job]:
        """Make the stores of runs, in parallel. Returns the runs of which a pack turned out to be unusable."""
        of_jobs = [{number: places[key] for number, key in enumerate(job.keys) if key in places} for job in jobs]
        own = self._own(of_jobs)
        again = []
        pool = ThreadPoolExecutor(capacity.cores(), thread_name_prefix="store")
        try:
            made = []
            for job, of_job in zip(jobs, of_jobs, strict=True):
                parts = RunParts(job.run, job.print.files, job.paths, of_job, _of_job(job, failures))
                made.append(pool.submit(self._make_one, job, parts, own))
            for job, result in zip(jobs, made, strict=True):
                try:
                    result.result()
                except UnusablePackError as error:
                    self._lost += 1
                    if self._lost > _MOST_LOST:
                        problem = "it was damaged or removed while it was in use"
                        raise OutputError(error.pack, problem, self._remedy) from error
                    for key in [key for key, (file, _) in places.items() if file == error.pack]:
                        del places[key]
                    self._made.discard(error.pack)
                    if self._index is not None:
                        self._index.forget(error.pack)
                    again.append(job)
        finally:
            pool.shutdown(cancel_futures=True)
        return again

    def _own(self, of_jobs: Iterable[Mapping[int, tuple[Path, int]]]) -> frozenset[Path]:
        """The packs that hold parts of one of these runs and nothing else."""
        of_one = [Counter(pack for pack, _ in of_job.values()) for of_job in of_jobs]
        users = Counter(pack for packs in of_one for pack in packs)
        return frozenset(
            pack for packs in of_one for pack in packs if users[pack] == 1 and packs[pack] == self._held.get(pack)
        )

    def _make_one(self, job: _Job, parts: RunParts, own: frozenset[Path]) -> None:
        if self._cancelled():
            raise Cancelled
        lacking = job.target if self._index is None else incomplete(job.target)
        may_pass = any(failure.may_pass for failure in parts.failures.values())
        target = job.target if self._lacking.isdisjoint(job.keys) and not may_pass else lacking
        with writing(target, self._remedy):
            target = make_store(parts, target, lacking, keep_events=self._keep_events, threads=1, own=own)
        if self._index is not None:
            self._index.add(target, self._kept({job.keys[number]: number for number in parts.places}))
        self.stores[job.target] = target

    def _kept(self, made: Mapping[str, int]) -> dict[str, int]:
        """The parts that later calls may use."""
        return {key: number for key, number in made.items() if key not in self._lacking}


def _of_job(job: _Job, failures: Mapping[str, Failure]) -> dict[int, Failure]:
    return {number: failures[key] for number, key in enumerate(job.keys) if key in failures}


def _missing_parts(
    jobs: list[_Job], places: Mapping[str, tuple[Path, int]], failures: Mapping[str, Failure]
) -> list[Part]:
    """Parts that are neither made nor known to fail, each once, in the order of the runs."""
    missing: dict[str, Part] = {}
    for job in jobs:
        for number, (key, path) in enumerate(zip(job.keys, job.paths, strict=True)):
            if key not in places and key not in failures and key not in missing:
                capture = job.run.captures[number]
                missing[key] = Part(key, number, capture, path, job.run.steps, job.print.sizes[number])
    return list(missing.values())


class _Tally:
    """Counts the captures that are done, over all runs."""

    def __init__(self, keys: set[str], progress: Progress | None) -> None:
        self._total = len(keys)
        self._done = 0
        self._progress = progress
        self._lock = threading.Lock()

    def start(self, missing: list[Part]) -> None:
        """Starts counting; all captures except these are done."""
        with self._lock:
            self._done = self._total - len(missing)
            self._tell(missing[0].capture.path.name)

    def report(self, name: str) -> None:
        """Counts one more capture as done."""
        with self._lock:
            self._done += 1
            self._tell(name)

    def _tell(self, name: str) -> None:
        if self._progress:
            self._progress(self._done, self._total, name)
