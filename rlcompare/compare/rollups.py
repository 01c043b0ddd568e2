"""One in-memory database that holds the rollups of all runs of both sides (docs/design.md §3), and the queries over it.

Each store is attached read-only. Its rollups are copied under the keys (side, run); this selects steps and ranks, and
sums steps. Then the store is detached. Raw events are never read.

The tables are small, so most of the time goes into planning statements. Independent statements therefore run in
parallel, each on one thread, and all queries start as soon as the tables are ready. Statements that make no rows, since
tables that they need are empty, are not run.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from graphlib import TopologicalSorter
from itertools import starmap
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar, cast

import duckdb

from rlcompare import capacity, db, metrics, resources
from rlcompare.compare import pairs, records
from rlcompare.compare.inputs import CompareOptions, RunStore, SideInput
from rlcompare.compare.measured import Measured, measured
from rlcompare.errors import DamagedStoreError, InputError, UsageError
from rlcompare.model.words import SIDES, SideName

R = TypeVar("R", bound=NamedTuple)
"""A row of the query after which its class is named (``records``, ``pairs``)."""

WORKERS = min(4, capacity.cores())
"""Number of statements that run in parallel. Each uses one thread, since the rollups are small."""


_FETCHED_AT_ONCE = 2_000
_LISTS_AT_ONCE = 20
_STEPS = "BIGINT[]"
"""The type of lists of steps, which may be long."""

_LONG_TABLE = 50_000
MOST_NAMES = 10_000
"""If a store has more names of one kind, half as many keep rows of their own, and the others are added up."""

MOST_VALUES = 250_000
"""If training logged more values, metrics are compared in parts of about as many: they do not depend on each other."""

VALUES_PER_NAME = 50
"""A part has so many times as many values as there are names: each part goes through all names."""

_LARGE_BYTES = 3 * 2**20
"""Smaller stores are not searched for very many names."""

_KNOWN_SHORT = ("sources/macro/bare_name", "sources/macro/short_name", "compare/setup/known_short")
_DIVISOR, _METRIC = "compare/divisor", "compare/metric"
_PLAIN = {"compare/setup/any_order": "compare/setup/plain_mean", "compare/setup/few_runs": "compare/setup/plain_sums"}
"""Sums that need no order, with the macros that are quicker then."""

_IN_PARTS = ("compare/judged", "compare/watched")
_ROWS_IN_PARTS = (
    records.Divergence,
    records.LongStep,
    records.MetricAggregate,
    records.MetricSample,
    records.StepNoise,
    records.TimerNoise,
)
"""What is computed for each metric on its own: files that fill a table, and records in the order of the names."""

_OF_STEPS = ("c_metric", "c_judged", "c_watched")
"""Tables of training's metrics: long ones have short results."""


def query_of(record: type[NamedTuple]) -> str:
    """The query whose rows a class holds: ``TimeSample`` is a row of ``sql/compare/time_sample.sql``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", record.__name__).lower()


_NOT_ALWAYS = (
    records.KnownSelection,
    records.RankPhase,
    records.SequenceText,
    records.TimelineBusy,
    records.TimelineShown,
    records.TimelineTask,
    records.UnselectedStep,
)
"""The records of queries that only some comparisons need, or that need variables."""


def _queried() -> list[Any]:
    """The records of the queries over the finished tables that every comparison needs."""
    found = [kind for kind in (vars(records) | vars(pairs)).values() if isinstance(kind, type)]
    names = resources.sql_names("compare")
    return [kind for kind in found if f"compare/{query_of(kind)}" in names and kind not in _NOT_ALWAYS]


def _makes_rows(record: type[NamedTuple]) -> bool:
    """Whether the records become rows of a section."""
    return record in vars(pairs).values()


def _is_large(run: RunStore) -> bool:
    """Whether a store may have very many names; False if it cannot be read, which opening it reports."""
    with suppress(OSError):
        return run.store.stat().st_size >= _LARGE_BYTES
    return False


class Copy(NamedTuple):
    """A run with the content of another one of its side, or of a part of it: the folder of a rank was copied, say."""

    side: SideName
    run: RunStore
    of: RunStore
    is_part: bool


class Shared(NamedTuple):
    """A run of the new side with the content of one of the baseline."""

    new: RunStore
    baseline: RunStore


class Rollups:
    """The rollups of both sides. ``rows`` returns the result of a record's query. Use it as a context manager."""

    def __init__(self, baseline: SideInput, new: SideInput, options: CompareOptions, *, at_once: bool = True) -> None:
        """Load all runs. ``at_once``: start all queries; else each one when its rows are asked for.

        Raises:
            UsageError: a selected step or rank does not exist; the message says which do.
            InputError: a store cannot be read.
        """
        self._con = db.connect_to_stores(1, [run.store for given in (baseline, new) for run in given.stores])
        self._cursors = [db.interruptible(self._con.cursor()) for _ in range(WORKERS)]
        self._free: SimpleQueue[duckdb.DuckDBPyConnection] = SimpleQueue()
        for cursor in self._cursors:
            self._free.put(cursor)
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="compare")
        self._rows: dict[type[NamedTuple], Future[list[Any]]] = {}
        self._known: dict[Hashable, Any] = {}
        """Texts and lists of steps in long results, each in memory once: many rows have the same ones."""
        self._empty = resources.EmptyTables()
        self._macros: list[str] = []
        """Files with temporary macros, which go before those of the same name, as soon as it is known that they may."""
        self._replaced: dict[duckdb.DuckDBPyConnection, int] = dict.fromkeys(self._cursors, 0)
        """How many of them a cursor has. A temporary macro belongs to one."""
        self._has_many_values = False
        self._parts: list[tuple[str, str]] = []
        """The parts in which metrics are compared, as their first and last names; empty: all at once."""
        self.most_names: int | None = None
        """The most names of one kind, if those with the least time are added up; else None."""
        self.given: dict[SideName, SideInput] = {}
        """The sides without runs whose content another run of the side has; these are in ``copies``."""
        self.copies: list[Copy] = []
        self.shared_steps: list[int] | None = None
        """The steps that are compared, where one side has others, too, and no steps were chosen; else None."""
        self.shared: list[Shared] = []
        """Runs that both sides have, unless other steps of them are compared."""
        self._measured: dict[RunStore, Measured] = {}
        try:
            for name in ("macro", "named_of", "noise_of", "paired_of"):
                self._con.execute(resources.sql(f"compare/{name}"))
            for cursor in self._cursors:
                for name in ("late_of", "peak_of"):  # temporary, as rlcompare show uses them on a store
                    cursor.execute(resources.sql(f"compare/{name}"))
                db.set_variable(cursor, "catalogue", metrics.as_text())
            contents = self._load_sides((baseline, new), options)
            short = self._asked("compare/setup/has_short_names")  # of one capture, perhaps: both sides need them
            if options.base_steps is None and options.new_steps is None:
                self.shared_steps = self._asked("compare/setup/shared_steps")
            if short or self.shared_steps:
                self._forget()
                self._macros += _KNOWN_SHORT if short else ()
                contents = self._load_sides((baseline, new), options)
            if options.base_steps == options.new_steps:
                self.shared = self._shared(*contents)
            self._run_folder("compare")
            self._compress()
            self._empty.found(db.empty_tables(self._con, "memory"))
            # Results of long tables take much memory: each is queried when it is used.
            queried = _queried() if at_once else []
            if self._is_long():
                queried = [kind for kind in queried if not _makes_rows(kind)]
            self._rows = {record: self._pool.submit(self._query, record) for record in queried}
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Rollups:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the queries whose results nobody requested, and drops all tables."""
        self._pool.shutdown(cancel_futures=True)
        for cursor in self._cursors:
            cursor.close()
        db.close(self._con)

    def rows(self, record: type[R]) -> list[R]:
        """The rows of a record's query. Each query runs once."""
        if record not in self._rows:
            self._rows[record] = self._pool.submit(self._query, record)
        return cast("list[R]", self._rows[record].result())

    def taken(self, record: type[R]) -> list[R]:
        """The rows of a record's query, which are not kept here: for the only user of them."""
        rows = self.rows(record)
        del self._rows[record]
        return rows

    def _is_long(self) -> bool:
        query = (
            "SELECT coalesce(max(estimated_size), 0) FROM duckdb_tables()"  # noqa: S608
            f" WHERE database_name = 'memory' AND NOT list_contains({db.literal(_OF_STEPS)}, table_name)"
        )
        ((rows,),) = self._con.execute(query).fetchall()
        return bool(rows > _LONG_TABLE)

    def rows_with(self, record: type[R], variables: Mapping[str, db.Value]) -> list[R]:
        """The rows of a record's query that reads these variables, and perhaps the store that is ``opened``."""
        for name, value in variables.items():
            db.set_variable(self._con, name, value)
        return self._fetched(self._con, record)

    @contextmanager
    def opened(self, side: SideName, run: int) -> Iterator[None]:
        """Attaches the store of a run again, as ``store``."""
        with self._attached(self.given[side].stores[run], again=True):
            yield

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        cursor = self._free.get()
        try:
            for name in self._macros[self._replaced[cursor] :]:
                cursor.execute(resources.sql(name))
                self._replaced[cursor] += 1
            yield cursor
        finally:
            self._free.put(cursor)

    def _query(self, record: type[R]) -> list[R]:
        name = query_of(record)
        if self._empty.skips(f"compare/{name}"):
            return []
        with self._cursor() as cursor:
            if record not in _ROWS_IN_PARTS:
                return self._fetched(cursor, record)
            return [row for _ in self._parts_on(cursor) for row in self._fetched(cursor, record)]

    def _fetched(self, con: duckdb.DuckDBPyConnection, record: type[R]) -> list[R]:
        name = query_of(record)
        result = con.execute(resources.sql(f"compare/{name}"))
        described = result.description or ()
        columns = tuple(column[0] for column in described)
        assert columns == record._fields, f"sql/compare/{name}.sql gives {columns}, not the fields of {record.__name__}"
        kinds = [str(column[1]) for column in described]
        at_once = _LISTS_AT_ONCE if _STEPS in kinds else _FETCHED_AT_ONCE
        rows = list(starmap(record, result.fetchmany(at_once)))
        if len(rows) == at_once:
            known = [place for place, kind in enumerate(kinds) if kind in ("VARCHAR", _STEPS)]
            while found := result.fetchmany(at_once):
                rows += [record(*self._with_known(values, known)) for values in found]
        return rows

    def _with_known(self, values: tuple[Any, ...], places: Sequence[int]) -> list[Any]:
        """A row whose texts and lists of steps are those of earlier rows, where they are equal."""
        row = list(values)
        for place in places:
            if (value := row[place]) is not None:
                row[place] = self._known.setdefault(tuple(value) if isinstance(value, list) else value, value)
        return row

    def _run_file(self, name: str, *, skipped: bool) -> set[str]:
        """Runs a file; returns the tables to which it added rows."""
        with_rows: set[str] = set()
        with self._cursor() as cursor:
            if skipped:
                db.run_without_rows(cursor, resources.sql(name))
                return with_rows
            for _ in self._parts_on(cursor) if name in _IN_PARTS else [None]:
                db.run(cursor, resources.sql(name), with_rows=with_rows)
        return with_rows

    def _parts_on(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Goes through the parts of the metrics: statements on this connection compute one after the other."""
        if not self._parts:
            yield
        for first, last in self._parts:
            db.set_variable(cursor, "first_name", first)
            db.set_variable(cursor, "last_name", last)
            yield

    def _run_folder(self, folder: str) -> None:
        """Runs the files of a folder, each one as soon as its dependencies have run."""
        order = TopologicalSorter(resources.sql_predecessors(folder))
        order.prepare()
        running: dict[Future[set[str]], tuple[str, bool]] = {}
        try:
            while order.is_active():
                for name in order.get_ready():
                    skipped = self._empty.skips(name)
                    running[self._pool.submit(self._run_file, name, skipped=skipped)] = name, skipped
                for finished in wait(running, return_when=FIRST_COMPLETED).done:
                    name, skipped = running.pop(finished)
                    self._empty.ran(name, finished.result())
                    if name == _DIVISOR and not skipped:
                        self._macros += [plain for found, plain in _PLAIN.items() if self._asked(found)]
                    if name == _METRIC and not skipped:
                        self._divide_metrics()
                        self._compress(running)
                    order.done(name)
        finally:
            wait(running)

    def _asked(self, name: str) -> Any:
        """The one value that a file returns."""
        ((value,),) = self._con.execute(resources.sql(name)).fetchall()
        return value

    def _compress(self, running: Iterable[Future[set[str]]] = ()) -> None:
        """Compresses the tables if there are very many values. Nothing may write meanwhile: waits for what runs."""
        if self._has_many_values:
            wait(running)
            self._con.execute("CHECKPOINT")

    def _divide_metrics(self) -> None:
        ((values, names),) = self._con.execute("SELECT count(*), count(DISTINCT name) FROM c_metric").fetchall()
        self._has_many_values = bool(values > MOST_VALUES)
        most = max(MOST_VALUES, VALUES_PER_NAME * names)
        if values > most:
            db.set_variable(self._con, "most_values", most)
            self._parts = self._con.execute(resources.sql("compare/setup/metric_parts")).fetchall()
            self._macros.append("compare/setup/part_of")

    def _load_sides(self, sides: Sequence[SideInput], options: CompareOptions) -> list[dict[str, list[RunStore]]]:
        self._weigh_names([run for given in sides for run in given.stores])
        return [
            self._load_side(side, given, steps, options.ranks)
            for side, given, steps in zip(SIDES, sides, (options.base_steps, options.new_steps), strict=True)
        ]

    def _forget(self) -> None:
        """Drops what was loaded."""
        for (table,) in self._con.execute(resources.sql("compare/setup/loaded")).fetchall():
            self._con.execute(f'DROP TABLE "{table}"')
        self._empty = resources.EmptyTables()
        self._macros.clear()
        self._replaced = dict.fromkeys(self._cursors, 0)
        self.copies.clear()

    def _weigh_names(self, runs: Sequence[RunStore]) -> None:
        """Finds the names that keep rows of their own, if a store has very many."""
        db.set_variable(self._con, "most_names", MOST_NAMES)
        for run in filter(_is_large, runs):
            with self._attached(run):
                if self._asked("compare/setup/many_names"):
                    break
        else:
            return
        for name in self._macros:
            self._con.execute(resources.sql(name))
        for run in runs:
            with self._attached(run):
                self._con.execute(resources.sql("compare/setup/weight"))
        self.most_names = self._asked("compare/setup/head")
        self._macros.append("compare/setup/head_name")

    def _load_side(
        self, side: SideName, given: SideInput, steps: Sequence[int] | None, ranks: Sequence[int] | None
    ) -> dict[str, list[RunStore]]:
        """Loads the runs of a side, each content once: a copy of a run is not a repetition of it.

        Returns:
            The runs by their content, as far as it is known.
        """
        used: list[RunStore] = []
        by_content: dict[str, list[RunStore]] = {}
        wholes = self._wholes(given.stores)
        for run in given.stores:
            if run in wholes:
                self.copies.append(Copy(side, run, wholes[run], is_part=True))
                continue
            with self._attached(run):
                content = self._content()
                alike = [] if content is None else by_content.setdefault(content, [])
                if not alike:
                    self._load(side, len(used), run, steps, ranks)
            original = self._same(run, alike)
            if original is not None:
                self.copies.append(Copy(side, run, original, is_part=False))
                continue
            if alike:
                with self._attached(run, again=True):
                    self._load(side, len(used), run, steps, ranks)
            used.append(run)
            alike.append(run)
        self.given[side] = given._replace(stores=tuple(used))
        return by_content

    def _wholes(self, runs: Sequence[RunStore]) -> dict[RunStore, RunStore]:
        """Runs of profiles alone whose files and steps are some of those of another run, with that run."""
        held: dict[RunStore, tuple[int, frozenset[Any], frozenset[Any]]] = {}
        for run in runs if len(runs) > 1 else ():
            with self._attached(run):
                (values,) = self._con.execute("SELECT count(*) FROM store.metric").fetchall()[0]
                files = frozenset(self._con.execute("SELECT size_bytes, digest FROM store.input").fetchall())
                held[run] = values, files, frozenset(self._con.execute("SELECT step FROM store.step").fetchall())
        return {
            run: other
            for run, (values, files, steps) in held.items()
            for other, (_, other_files, other_steps) in held.items()
            if not values and steps and files < other_files and steps <= other_steps
            if self._what_measured(run).of_captures <= self._what_measured(other).of_captures
        }

    def _content(self) -> str | None:
        """Runs with the same one are probably copies: it says nothing about the middle of large files."""
        found = self._con.execute("SELECT value FROM store.meta WHERE key = 'content'").fetchone()
        return None if found is None else found[0]

    def _shared(self, baseline: Mapping[str, list[RunStore]], new: Mapping[str, list[RunStore]]) -> list[Shared]:
        pairs = [(run, self._same(run, baseline.get(content, ()))) for content, runs in new.items() for run in runs]
        return [Shared(run, other) for run, other in pairs if other is not None]

    def _same(self, run: RunStore, alike: Iterable[RunStore]) -> RunStore | None:
        """The first of the runs with the same content that has the same measurements too."""
        return next((other for other in alike if self._what_measured(other) == self._what_measured(run)), None)

    def _what_measured(self, run: RunStore) -> Measured:
        if run not in self._measured:
            with self._attached(run, again=True):
                self._measured[run] = measured(self._con)
        return self._measured[run]

    @contextmanager
    def _attached(self, run: RunStore, *, again: bool = False) -> Iterator[None]:
        """Attaches the store of a run as ``store``."""
        try:
            db.attach(self._con, run.store, read_only=True, again=again)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            if db.is_damage(error):
                raise DamagedStoreError(run.store, db.first_line(error)) from error
            raise InputError(
                run.store, f"the store of {run.name} cannot be opened ({reason})", "Recreate it with rlcompare ingest"
            ) from error
        try:
            yield
        except duckdb.Error as error:
            if db.is_damage(error):
                raise DamagedStoreError(run.store, db.first_line(error)) from error
            raise InputError(
                run.store,
                f"the store of {run.name} is damaged or of another version ({str(error).splitlines()[0]})",
                "Delete it, or recreate it with rlcompare ingest",
            ) from error
        finally:
            db.detach(self._con)

    def _load(
        self, side: SideName, number: int, run: RunStore, steps: Sequence[int] | None, ranks: Sequence[int] | None
    ) -> None:
        for cursor in self._cursors:
            db.set_variable(cursor, "side", side)
            db.set_variable(cursor, "run", number, "INTEGER")
            db.set_variable(cursor, "steps", list(steps or self.shared_steps or ()), "BIGINT[]")
            db.set_variable(cursor, "ranks", list(ranks or ()), "INTEGER[]")
        absent = db.empty_tables(self._con, "store")
        self._empty.found(absent)
        self._run_folder("compare/load")
        self._empty.forget(absent)
        if steps is not None or ranks is not None:
            self._check_selection(run, steps, ranks)

    def _check_selection(self, run: RunStore, steps: Sequence[int] | None, ranks: Sequence[int] | None) -> None:
        (known,) = self._query(records.KnownSelection)
        if ranks is not None and (missing := sorted(set(ranks) - set(known.ranks or ()))):
            raise UsageError(
                f"--rank: {run.name} has no rank {_listed(missing)}; it has {_listed(known.all_ranks) or 'none'}"
            )
        if steps is not None and (missing := sorted(set(steps) - set(known.steps or ()))):
            raise UsageError(
                f"--step: {run.name} has no step {_listed(missing)}; it has {_listed(known.steps) or 'none'}"
            )


def _listed(numbers: Sequence[int] | None) -> str:
    """Numbers for a message; the first twenty only."""
    shown = ", ".join(str(number) for number in (numbers or ())[:20])
    return f"{shown} and {len(numbers) - 20} more" if numbers and len(numbers) > 20 else shown
