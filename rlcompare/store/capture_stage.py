"""The capture stage: reads the captures of a batch, normalises and reduces them, and writes their pack.

It depends on nothing but the captures' own files, so it runs in any thread, process or machine. Whatever goes wrong
with one capture is that capture's failure, and the others are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import duckdb

from rlcompare import db, resources
from rlcompare.errors import NO_ROOM, InputError, OutputError
from rlcompare.model.run import Finding
from rlcompare.sources import exports
from rlcompare.sources.described import is_sample, sampled_finding
from rlcompare.sources.registry import find
from rlcompare.store.new_file import LEAST_MEMORY_BYTES, new_store, run_all
from rlcompare.store.parts import Batch, BatchResult, Failure, Part, memory_weight

Done = Callable[[Part], None]
"""Called when a capture was read; may raise ``Cancelled``."""

class EmptyCaptureError(InputError):
    """Its files were read, and there is nothing in them."""


class _NothingMadeError(Exception):
    """Not one capture of the batch could be read, so there is no pack."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        super().__init__()
        self.failures = tuple(failures)


class _BatchError(Exception):
    """A statement over all captures failed, and it is not known which capture is at fault."""


def make_batch(batch: Batch, *, threads: int, done: Done) -> Iterator[BatchResult]:
    """Read captures into their pack; several packs where the batch had to be split to find the capture at fault.

    Args:
        batch: what to read.
        threads: worker threads of DuckDB.
        done: called after each capture.

    Raises:
        OSError, duckdb.Error: the pack, or a temporary file, cannot be written.
    """
    memory = max(LEAST_MEMORY_BYTES, max(map(memory_weight, batch.parts)))
    try:
        with new_store(batch.target, keep_events=batch.keep_events, threads=threads, memory_bytes=memory) as con:
            failures = fill(con, batch.parts, done)
            if len(failures) == len(batch.parts):
                raise _NothingMadeError(failures)
        yield BatchResult(batch, tuple(failures))
    except _NothingMadeError as error:
        yield BatchResult(batch, error.failures)
    except _BatchError as error:
        if len(batch.parts) == 1:
            yield BatchResult(batch, (failure_of(batch.parts[0], error.__cause__ or error),))
        else:
            for piece in batch.split():
                yield from make_batch(piece, threads=threads, done=done)


def fill(con: duckdb.DuckDBPyConnection, parts: Sequence[Part], done: Done) -> list[Failure]:
    """Read captures into the attached store; those that cannot be read leave no rows."""
    failures = []
    for part in parts:
        said: list[Finding] = []
        try:
            _fill_part(con, part, said)
        except Exception as error:
            if not _is_of_capture(error):
                raise
            _forget(con, part.number)
            failures.append(failure_of(part, error, said))
        done(part)
    if len(failures) < len(parts):
        try:
            run_all(con, resources.sql_order("rollup"))
        except Exception as error:
            if not _is_of_capture(error):
                raise
            raise _BatchError from error
    return failures


def failure_of(part: Part, error: BaseException, said: Sequence[Finding] = ()) -> Failure:
    """What to report where a capture could not be read: the one place where any error becomes that."""
    if isinstance(error, InputError):
        return Failure(part, error.path, error.problem, error.remedy, tuple(said), isinstance(error, EmptyCaptureError))
    lines = str(error).strip().splitlines() or [""]
    problem = f"it cannot be read ({type(error).__name__}: {lines[0][:200]})"
    return Failure(part, part.capture.path, problem, "Copy it again, or parse or collect it again", tuple(said))


def _is_of_capture(error: Exception) -> bool:
    """Whether an error is the fault of what was read, not of the user or of where is written to."""
    if isinstance(error, OSError):
        return error.errno not in NO_ROOM
    elsewhere = duckdb.InterruptException | duckdb.OutOfMemoryException | duckdb.FatalException
    return not isinstance(error, elsewhere | db.WriteError | OutputError)


def _forget(con: duckdb.DuckDBPyConnection, number: int) -> None:
    """Remove the rows of a capture that could not be read to its end."""
    con.execute(resources.sql("normalize/clear"))
    for (table,) in con.execute(resources.sql("normalize/tables_of_captures")).fetchall():
        # Only names of our own schema.
        con.execute(f'DELETE FROM "{table}" WHERE capture = ?', [number])  # noqa: S608


def _fill_part(con: duckdb.DuckDBPyConnection, part: Part, said: list[Finding]) -> None:
    number, capture = part.number, part.capture

    def report(finding: Finding) -> None:
        finding = replace(finding, capture=number)
        said.append(finding)
        insert_finding(con, finding)

    con.execute("SET VARIABLE capture = ?", [number])
    con.execute("SET VARIABLE steps = CAST(? AS BIGINT[])", [None if part.steps is None else sorted(part.steps)])
    con.execute("SET VARIABLE is_sample = CAST(? AS BOOLEAN)", [is_sample(capture)])
    _insert_capture(con, part)
    find(capture.source).fill(con, capture, number, report)
    ((usable,),) = db.run(con, resources.sql("normalize/is_usable"))
    if not usable:
        raise EmptyCaptureError(
            capture.path,
            "contains nothing to compare: no kernels, collectives, operators, calls or ranges",
            "Parse or collect it again, or pass another folder",
        )
    sample = sampled_finding(capture)
    if sample is not None:
        report(sample)
    exports.fill(con, capture, number, report)
    run_all(con, (*resources.sql_order("normalize"), "normalize/account"))
    for severity, key, message in db.run(con, resources.sql("normalize/findings")):
        report(Finding(severity, key, f"{capture.path.name}: {message}"))
    con.execute(resources.sql("normalize/clear"))


def _insert_capture(con: duckdb.DuckDBPyConnection, part: Part) -> None:
    capture = part.capture
    source = find(capture.source)
    env = source.environment(capture)
    world_size = env.get("world_size", "")
    con.execute(
        "INSERT INTO capture BY NAME SELECT ? AS capture, ? AS role, ? AS phase, ? AS replica, ? AS rank, ? AS ordinal,"
        " ? AS step_hint, ? AS step_place, ? AS world_size, ? AS tool, ? AS level, ? AS source, ? AS path,"
        " ? AS host_start_ns, 'device' AS executor",
        [
            part.number, capture.role, capture.phase, capture.replica, capture.rank, capture.ordinal, capture.step_hint,
            capture.step_place,
            int(world_size) if world_size.isdecimal() else None,
            source.tool, env.get("profiler.level"), capture.source,
            part.path, capture.started_ns,
        ],
    )  # fmt: skip
    for key, value in env.items():
        con.execute("INSERT INTO env VALUES (?, ?, ?)", [part.number, key, value])


def insert_finding(con: duckdb.DuckDBPyConnection, finding: Finding) -> None:
    """Add a row to table ``finding``."""
    con.execute(
        "INSERT INTO finding VALUES (?, ?, ?, ?)", [finding.capture, finding.severity, finding.key, finding.message]
    )
