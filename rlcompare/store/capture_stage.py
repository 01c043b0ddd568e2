"""The capture stage: reads the captures of a batch, normalises and reduces them, and writes their pack.

It depends only on the captures' own files, so it can run in any thread or process, and on any machine. An error in one
capture is a failure of that capture only; the others are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import duckdb

from rlcompare import db, resources
from rlcompare.errors import NO_ROOM, InputError, InstallationError, OutputError, may_pass
from rlcompare.model.run import Finding
from rlcompare.secret import redacted
from rlcompare.sources import exports
from rlcompare.sources.described import is_sample, sampled_finding
from rlcompare.sources.registry import find
from rlcompare.store.new_file import LEAST_MEMORY_BYTES, new_store, run_file
from rlcompare.store.parts import Batch, BatchResult, Failure, Part, memory_weight
from rlcompare.store.redaction import redact

BYTES_PER_THREAD = 64 * 2**20
"""Size of a batch for which one more thread of DuckDB is worth what it costs: its threads wait for each other."""

SMALL_BYTES = 8 * 2**20
"""A batch of fewer bytes is small: to free memory takes longer than it saves."""

_FINDINGS = "normalize/findings"
_NOTHING = "contains nothing to compare: no kernels, collectives, operators, calls or ranges"

Done = Callable[[Part], None]
"""Called after a capture was read; may raise ``Cancelled``."""


class EmptyCaptureError(InputError):
    """The files of the capture were read, and they are empty."""


class _NothingMadeError(Exception):
    """No capture of the batch could be read, so there is no pack."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        super().__init__()
        self.failures = tuple(failures)


class _BatchError(Exception):
    """A statement over all captures failed, and it is not known which capture caused it."""


def make_batch(batch: Batch, *, threads: int, done: Done) -> Iterator[BatchResult]:
    """Read captures into their pack. If one causes an error, the batch is split into several packs to find it.

    Args:
        batch: what to read.
        threads: worker threads of DuckDB for a large batch.
        done: called after each capture.

    Raises:
        OSError, duckdb.Error: the pack, or a temporary file, cannot be written.
    """
    weights = [memory_weight(part) for part in batch.parts]
    memory = max(LEAST_MEMORY_BYTES, *weights)
    worth = max(1, min(threads, sum(weights) // BYTES_PER_THREAD))
    try:
        with new_store(batch.target, keep_events=batch.keep_events, threads=worth, memory_bytes=memory) as con:
            failures, lacking = fill(con, batch.parts, done)
            if len(failures) == len(batch.parts):
                raise _NothingMadeError(failures)
        yield BatchResult(batch, tuple(failures), lacking)
    except _NothingMadeError as error:
        yield BatchResult(batch, error.failures)
    except _BatchError as error:
        if len(batch.parts) == 1:
            yield BatchResult(batch, (failure_of(batch.parts[0], error.__cause__ or error),))
        else:
            for piece in batch.split():
                yield from make_batch(piece, threads=threads, done=done)


def fill(con: duckdb.DuckDBPyConnection, parts: Sequence[Part], done: Done) -> tuple[list[Failure], frozenset[int]]:
    """Read captures into the attached store; those that cannot be read leave no rows.

    Returns:
        The failures, and ``BatchResult.lacking``.
    """
    reader = _Reader(con, parts, done)
    reader.read()
    if reader.readable:
        try:
            reader.reduce()
        except Exception as error:
            if not _is_of_capture(error):
                raise
            raise _BatchError from error
    return reader.failures, reader.lacking


class _Reader:
    """Reads the captures of one batch."""

    def __init__(self, con: duckdb.DuckDBPyConnection, parts: Sequence[Part], done: Done) -> None:
        self._con = con
        self._done = done
        self._is_small = sum(map(memory_weight, parts)) < SMALL_BYTES
        self._said: dict[int, list[Finding]] = {part.number: [] for part in parts}
        self.readable = {part.number: part for part in parts}
        self.failures: list[Failure] = []

    @property
    def lacking(self) -> frozenset[int]:
        """The captures of which the system refused a file."""
        return frozenset(n for n in self.readable if any(finding.may_pass for finding in self._said[n]))

    def read(self) -> None:
        """Fill the stage and event tables."""
        parts = list(self.readable.values())
        insert_captures(self._con, parts)
        together = self._fill_together(parts)
        for part in parts:
            try:
                if part.number not in together:
                    self._fill(part)
                self._fill_exports(part)
            except Exception as error:
                if not _is_of_capture(error):
                    raise
                self._fail(part, error)
            self._done(part)
        self._remove_strays()
        redact(self._con)
        self._shorten_names()
        for (number,) in db.run(self._con, resources.sql("normalize/is_usable")):
            path = self.readable[number].capture.path
            remedy = "Parse or collect it again, or pass another folder"
            self._fail(self.readable[number], EmptyCaptureError(path, _NOTHING, remedy))

    def _remove_strays(self) -> None:
        """Remove what lies so far from the rest of a capture that its time must be damaged."""
        far_apart = [number for (number,) in db.run(self._con, resources.sql("normalize/far_apart"))]
        if not far_apart:
            return
        db.set_variable(self._con, "far_apart", far_apart)
        for number, count, are_many in db.run(self._con, resources.sql("normalize/stray")):
            message = f"tasks, operators and marks that are more than a week from the others were left out ({count})"
            name = self.readable[number].capture.path.name
            self._report(number, Finding("warning", "damaged_time", f"{name}: {message}"))
            if are_many:
                message = "many kernels or collectives are more than a week from the others, so no causes are named"
                self._report(number, Finding("warning", "lost_kernels", f"{name}: {message}"))

    def _shorten_names(self) -> None:
        """Shorten the long names of captures that have very many of them. After ``redact``, which needs whole names."""
        found = dict(db.run(self._con, resources.sql("normalize/long_names")))
        if not found:
            return
        db.set_variable(self._con, "long_names", list(found))
        db.run(self._con, resources.sql("normalize/shorten"))
        for number, count in found.items():
            name = self.readable[number].capture.path.name
            message = f"names of more than 128 characters were cut ({count}), as all of them together are very long"
            self._report(number, Finding("info", "short_names", f"{name}: {message}"))

    def reduce(self) -> None:
        """Normalise the rows of all captures, and make the rollups."""
        (steps,) = {part.steps for part in self.readable.values()}
        db.set_variable(self._con, "steps", None if steps is None else sorted(steps), "BIGINT[]")
        if steps is not None:
            self._leave_out_levels()
        ((keep_events,),) = db.run(self._con, "SELECT getvariable('keep_events')")
        empty = resources.EmptyTables(db.empty_tables(self._con, "memory", "temp", "store"))
        # The rollups leave the memory, which the account needs, and so do tables that are not used any more.
        written_before = resources.sql_order("account")[0]
        for name, unused in _plan(keep_events):
            if name == written_before and not self._is_small:
                db.run(self._con, "CHECKPOINT store")
            rows = run_file(self._con, name, empty)
            if name == _FINDINGS:
                self._report_all(rows)
            if not self._is_small:  # only names of our own schema
                db.run(self._con, "".join(f'DROP TABLE IF EXISTS "{table}";' for table in unused))

    def _leave_out_levels(self) -> None:
        """Remove memory levels and the like from outside the chosen steps."""
        of_all = db.run(self._con, resources.sql("normalize/chosen_levels"))
        message = "its steps have no times, so memory and counters are those of the whole capture"
        self._report_all((number, "warning", "levels_of_all_steps", message) for (number,) in of_all)

    def _report_all(self, findings: Iterable[tuple[int, str, str, str]]) -> None:
        for number, severity, key, message in findings:
            self._report(number, Finding(severity, key, f"{self.readable[number].capture.path.name}: {message}"))

    def _fill_together(self, parts: Sequence[Part]) -> set[int]:
        """Let the source read several captures at once; returns the numbers of those that it read."""
        fill_together = find(parts[0].capture.source).fill_together
        captures = {part.number: part.capture for part in parts if part.steps is None and not is_sample(part.capture)}
        if fill_together is None or len(captures) < 2:
            return set()
        try:
            done = fill_together(self._con, captures, self._report)
        except Exception as error:
            if not _is_of_capture(error):
                raise
            done = set()
        left = [part for part in parts if part.number not in done]
        self._forget([part.number for part in left])
        insert_captures(self._con, left)
        return done

    def _fill(self, part: Part) -> None:
        con, number, capture = self._con, part.number, part.capture
        db.set_variable(con, "capture", number)
        db.set_variable(con, "steps", None if part.steps is None else sorted(part.steps), "BIGINT[]")
        db.set_variable(con, "is_sample", is_sample(capture), "BOOLEAN")
        find(capture.source).fill(con, capture, number, partial(self._report, number))

    def _fill_exports(self, part: Part) -> None:
        report = partial(self._report, part.number)
        sample = sampled_finding(part.capture)
        if sample is not None:
            report(sample)
        db.set_variable(self._con, "capture", part.number)
        exports.fill(self._con, part.capture, part.number, report)

    def _report(self, number: int, finding: Finding) -> None:
        finding = replace(finding, capture=number)
        self._said[number].append(finding)
        insert_finding(self._con, finding)

    def _fail(self, part: Part, error: Exception) -> None:
        self.failures.append(failure_of(part, error, self._said[part.number]))
        self._forget([part.number])
        del self.readable[part.number]

    def _forget(self, numbers: Sequence[int]) -> None:
        """Remove the rows of captures that could not be read completely."""
        for number in numbers:
            self._said[number] = []
        for (table,) in self._con.execute(resources.sql("normalize/tables_of_captures")).fetchall() if numbers else ():
            # Only names of our own schema.
            self._con.execute(f'DELETE FROM "{table}" WHERE list_contains(?, capture)', [list(numbers)])  # noqa: S608


@cache
def _plan(keep_events: bool) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The SQL files of the stage in their order, each with the tables that no later one uses: they are dropped."""
    normalize, rollup, account = map(resources.sql_order, ("normalize", "rollup", "account"))
    names = (*normalize, "normalize/account", _FINDINGS, *rollup, *account)
    held = resources.sql_names("schema/stage") + (() if keep_events else resources.sql_names("schema/events"))
    return tuple(resources.sql_last_uses(names, tuple(name.rpartition("/")[2] for name in held)).items())


def failure_of(part: Part, error: BaseException, said: Sequence[Finding] = ()) -> Failure:
    """The failure to report for a capture; all errors become failures here."""
    if isinstance(error, InputError):
        is_empty = isinstance(error, EmptyCaptureError)
        return Failure(part, error.path, error.problem, error.remedy, tuple(said), is_empty, may_pass(error))
    if isinstance(error, MemoryError):
        problem, remedy = "there was not enough memory to read it", "Free some memory and try again"
        return Failure(part, part.capture.path, problem, remedy, tuple(said), may_pass=True)
    lines = str(error).strip().splitlines() or [""]
    problem = f"it cannot be read ({type(error).__name__}: {lines[0][:200]})"
    remedy = "Copy it again, or parse or collect it again"
    return Failure(part, part.capture.path, problem, remedy, tuple(said), may_pass=may_pass(error))


def _is_of_capture(error: Exception) -> bool:
    """Whether the input caused an error, and not the user, the place that is written to, or rlcompare itself."""
    if isinstance(error, OSError):
        return error.errno not in NO_ROOM
    elsewhere = duckdb.InterruptException | duckdb.OutOfMemoryException | duckdb.FatalException
    return not isinstance(error, elsewhere | db.WriteError | OutputError | InstallationError)


def insert_captures(con: duckdb.DuckDBPyConnection, parts: Sequence[Part]) -> None:
    """Add what detection found about captures to the tables ``capture`` and ``env``."""
    rows, env = [], []
    for part in parts:
        known = find(part.capture.source).environment(part.capture)
        env += [{"capture": part.number, "key": key, "value": value} for key, value in known.items()]
        rows.append(_capture_row(part, known))
    for name, values in (("store/capture", rows), ("store/env", env)):
        con.execute(resources.sql(name), db.as_parameter(values))


def _capture_row(part: Part, env: Mapping[str, str]) -> dict[str, object]:
    capture = part.capture
    world_size = env.get("world_size", "")
    return {
        "capture": part.number,
        "role": capture.role,
        "phase": capture.phase,
        "replica": capture.replica,
        "rank": capture.rank,
        "ordinal": capture.ordinal,
        "step_hint": capture.step_hint,
        "step_place": capture.step_place,
        "world_size": int(world_size) if world_size.isdecimal() else None,
        "tool": find(capture.source).tool,
        "level": env.get("profiler.level"),
        "source": capture.source,
        "path": part.path,
        "host_start_ns": capture.started_ns,
    }


def insert_finding(con: duckdb.DuckDBPyConnection, finding: Finding) -> None:
    """Add a row to table ``finding``."""
    con.execute(
        "INSERT INTO finding VALUES (?, ?, ?, ?)",
        [finding.capture, finding.severity, finding.key, redacted(finding.message)],
    )
