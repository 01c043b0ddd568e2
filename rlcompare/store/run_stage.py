"""The run stage: makes the store of a run from the parts of its captures and from its metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import duckdb

import rlcompare
from rlcompare import db, resources, temporary
from rlcompare.errors import InputError, may_pass
from rlcompare.model.run import Finding, RunInput
from rlcompare.secret import redacted
from rlcompare.sources.run_directory import fill_training
from rlcompare.store.capture_stage import insert_finding
from rlcompare.store.fingerprint import InputFile, content_of
from rlcompare.store.new_file import finish, new_store, remove, run_file
from rlcompare.store.parts import Failure
from rlcompare.store.redaction import OF_TRAINING, redact

_STATUSES = ("incomplete", "complete", "failed")

RUN_STAGE = (
    "store/job",
    "store/job_collective",
    "store/clock",
    "store/aligned",
    "store/waiting",
    "store/path_piece",
    "store/r_path",
)
"""The SQL files that need all captures of a run, in their order."""


class UnusablePackError(Exception):
    """A pack is damaged or missing: its parts must be made again."""

    def __init__(self, pack: Path) -> None:
        super().__init__(str(pack))
        self.pack = pack


@dataclass(frozen=True)
class RunParts:
    """A run whose captures were read.

    Attributes:
        run: what detection found.
        files: rows of table ``input``.
        paths: path of each capture, for table ``capture``.
        places: pack of each capture that was read, and its number there, by its number in the run.
        failures: failures of the other captures, by their numbers in the run.
    """

    run: RunInput
    files: tuple[InputFile, ...]
    paths: tuple[str, ...]
    places: Mapping[int, tuple[Path, int]]
    failures: Mapping[int, Failure]

    @property
    def packs(self) -> dict[Path, dict[int, int]]:
        """For each pack, a map from numbers in the pack to numbers in the run; in the order of the run."""
        packs: dict[Path, dict[int, int]] = {}
        for number, (pack, place) in self.places.items():
            packs.setdefault(pack, {})[place] = number
        return packs


def make_store(
    parts: RunParts, target: Path, lacking: Path, *, keep_events: bool, threads: int, own: frozenset[Path]
) -> Path:
    """Write the store of a run.

    Args:
        parts: what it is made of.
        target: the file to make; an existing one is replaced when the new one is complete.
        lacking: the file to make instead if the system refused a file of the metrics or of the settings, so that
            reading it again may succeed.
        keep_events: keep the event tables.
        threads: worker threads of DuckDB.
        own: packs that hold nothing else. If one of them holds all captures of the run, it becomes the store.

    Returns:
        The file that was made.

    Raises:
        InputError: neither a capture nor the metrics of the run could be read. Otherwise findings list what was
            left out.
        UnusablePackError: a pack cannot be read.
    """
    whole = _whole_pack(parts, own)
    made = target

    def choose() -> Path:
        return made

    if whole:
        opened = _taken_over(whole, target, choose)
    else:
        opened = new_store(target, keep_events=keep_events, threads=threads, choose=choose)
    with opened as con:
        for finding in parts.run.findings:
            insert_finding(con, finding)
        started, is_whole = _fill_training(con, parts)
        made = target if is_whole else lacking
        redact(con, OF_TRAINING)
        for pack, numbers in {} if whole else parts.packs.items():
            _copy(con, pack, numbers, parts.paths)
        empty = resources.EmptyTables(db.empty_tables(con, "store"))
        for name in RUN_STAGE:
            run_file(con, name, empty)
        for number in sorted(parts.failures):
            _report(con, parts.run, number, parts.failures[number])
        _write_meta(con, parts, keep_events, started)
    return made


def check_usable(run: RunInput, failures: Mapping[int, Failure]) -> None:
    """Raise the first failure if no capture could be read and there are no metrics."""
    if failures and len(failures) == len(run.captures) and not (run.training and run.training.metrics):
        raise _error_of(run, failures[min(failures)])


def _whole_pack(parts: RunParts, own: frozenset[Path]) -> Path | None:
    packs = parts.packs
    if len(packs) != 1:
        return None
    ((pack, numbers),) = packs.items()
    same = all(place == number for place, number in numbers.items())
    return pack if pack in own and same else None


@contextmanager
def _taken_over(pack: Path, target: Path, choose: Callable[[], Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the pack attached as ``store``. If nothing fails, the pack becomes the store.

    Args:
        target, choose: as for ``new_store``.
    """
    partial = temporary.partial_of(target)
    try:
        pack.replace(partial)
    except FileNotFoundError as error:
        raise UnusablePackError(pack) from error
    con = db.connect(1)
    try:
        try:
            db.attach(con, partial, read_only=False)
        except duckdb.Error as error:
            raise UnusablePackError(pack) from error
        con.execute("USE store")
        con.execute("SET search_path = 'memory.main,store.main'")
        yield con
        finish(con, partial)
        partial.replace(choose())
    finally:
        db.close(con)
        remove(partial)


def _copy(con: duckdb.DuckDBPyConnection, pack: Path, numbers: Mapping[int, int], paths: Sequence[str]) -> None:
    """Copy the rows of some captures from a pack, with their numbers in the run."""
    try:
        db.attach(con, pack, read_only=True, name="pack")
    except duckdb.Error as error:
        raise UnusablePackError(pack) from error
    try:
        taken = [
            {"place": place, "number": number, "path": redacted(paths[number])} for place, number in numbers.items()
        ]
        con.execute(resources.sql("store/taken"), db.as_parameter(taken))
        found = db.run(con, "SELECT count(*) FROM pack.main.capture JOIN taken ON taken.place = capture.capture")
        if found != [(len(taken),)]:
            raise UnusablePackError(pack)
        for (table,) in con.execute(resources.sql("store/copied_tables")).fetchall():
            # The table's name comes from our own schema.
            db.run(
                con,
                f'INSERT INTO store.main."{table}" SELECT row.* REPLACE (taken.number AS capture)'  # noqa: S608
                f' FROM pack.main."{table}" AS row JOIN taken ON taken.place = row.capture',
            )
        con.execute(resources.sql("store/capture_path"))
    except duckdb.Error as error:
        if isinstance(error, duckdb.InterruptException):
            raise
        raise UnusablePackError(pack) from error
    finally:
        db.detach(con, "pack")


def _fill_training(con: duckdb.DuckDBPyConnection, parts: RunParts) -> tuple[int | None, bool]:
    """Fills what training wrote. Returns when the run started, as far as that tells it, and whether the system
    refused none of its files."""
    run = parts.run
    said: list[Finding] = []
    started = None

    def report(finding: Finding) -> None:
        said.append(finding)
        insert_finding(con, finding)

    try:
        if run.training is not None:
            started = fill_training(con, run, run.training, report)
    except InputError as error:
        if not run.captures or len(parts.failures) == len(run.captures):
            raise
        report(Finding("warning", "unreadable_metrics", str(error), may_pass=may_pass(error)))
    return started, not any(finding.may_pass for finding in said)


def _report(con: duckdb.DuckDBPyConnection, run: RunInput, number: int, failure: Failure) -> None:
    for finding in failure.findings:
        insert_finding(con, replace(finding, capture=number))
    insert_finding(con, Finding("warning", "unreadable_capture", str(_error_of(run, failure))))


def _error_of(run: RunInput, failure: Failure) -> InputError:
    left_out = "".join(
        f"; {finding.message}" for finding in (*run.findings, *failure.findings) if finding.severity == "warning"
    )
    return InputError(failure.path, failure.problem + (left_out if failure.is_empty else ""), failure.remedy)


def _write_meta(con: duckdb.DuckDBPyConnection, parts: RunParts, keep_events: bool, started: int | None) -> None:
    described = parts.run.training.run if parts.run.training is not None else None
    values = {
        "schema_version": str(db.SCHEMA_VERSION),
        "rlcompare_version": rlcompare.__version__,
        "name": redacted(parts.run.name),
        "events": "kept" if keep_events else "dropped",
        "content": content_of(parts.run, parts.files),
        "started_ns": None if started is None else str(started),
        "status": None if described is None or described.status not in _STATUSES else described.status,
    }
    meta = [{"key": key, "value": value} for key, value in values.items() if value is not None]
    con.execute(resources.sql("store/meta"), db.as_parameter(meta))
    con.execute(
        resources.sql("store/input"),
        db.as_parameter([{**asdict(file), "path": redacted(file.path)} for file in parts.files]),
    )
