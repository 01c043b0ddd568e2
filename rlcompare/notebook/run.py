"""``rlcompare.load``: one run, with its tables."""

from __future__ import annotations

import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from rlcompare import db, temporary
from rlcompare.app.baselines import referred
from rlcompare.app.one_run import find_one_run
from rlcompare.app.progress import progress
from rlcompare.app.sections import SECTIONS, sections_of
from rlcompare.app.stores import stores_folder, with_sound
from rlcompare.errors import UsageError
from rlcompare.notebook.arguments import Numbers, PathLike, choice_of, numbers_of, path_of
from rlcompare.notebook.table import Table, table_of_rows
from rlcompare.store.read import is_of_host_alone, one_result

if TYPE_CHECKING:
    from rlcompare.baselines.library import Library
    from rlcompare.baselines.names import Reference


def load(
    path: PathLike,
    *,
    steps: Numbers = None,
    ranks: Numbers = None,
    layout: str | None = None,
    prefer: str = "db",
    events: bool = True,
    cache_dir: PathLike | None = None,
    cache: bool = True,
    quiet: bool = False,
) -> Run:
    """Reads one run, or loads it from the cache.

    Args:
        path: a profile of any kind that ``rlcompare diff`` takes, a run directory, metrics, a store, or a run of a
            baseline (``"@main/run1"``).
        steps, ranks: only these, such as ``3`` or ``range(8)``; all if omitted.
        layout: ``"ranks"`` or ``"runs"``: the meaning of the captures in a folder; inferred if omitted.
        prefer: ``"db"`` or ``"text"``, if a profile has both.
        events: also keep every kernel, operator and call; reading is faster without.
        cache_dir: where to keep stores; the command line's default if omitted.
        cache: whether to keep stores.
        quiet: show no progress on standard error.

    Raises:
        InputError: the path cannot be read.
        UsageError: the path holds several runs, or a step or rank does not exist.
    """
    from rlcompare.store.cache import cached_stores

    place = path_of(path, "path")
    kept = referred(place, None)
    if kept is not None:
        return _of_baseline(place, *kept, steps, ranks)
    choice_of(layout, "layout", (None, "ranks", "runs"))
    choice_of(prefer, "prefer", ("db", "text"))
    chosen = {"steps": numbers_of(steps, "steps"), "ranks": numbers_of(ranks, "ranks")}
    run = find_one_run(place, prefer, layout, **chosen)
    folder = stores_folder(None if cache_dir is None else path_of(cache_dir, "cache_dir"), not cache, [place])
    scratch = temporary.folder() if folder is None else None

    def read() -> Run:
        with progress("Reading", quiet) as report:
            (store,) = cached_stores(
                [run], directory=folder or Path(scratch.name if scratch else ""), keep_events=events, progress=report
            )
        with db.reading(store):
            return Run(run.name, place, store, scratch)

    return with_sound([run], folder, read)


def _of_baseline(place: Path, library: Library, reference: Reference, steps: Numbers, ranks: Numbers) -> Run:
    """The run of a baseline, in a temporary folder for as long as it is open."""
    scratch = temporary.folder()
    runs = library.unpack(reference, Path(scratch.name) / "runs")
    names = [f"@{reference.name}/{run.name}" for run in runs]
    if len(runs) > 1:
        raise UsageError(f"{reference} has {len(runs)} runs: choose one of {', '.join(names)}")
    if steps is not None or ranks is not None:
        raise UsageError(f"{reference} is a baseline, whose steps and ranks are fixed: leave out steps and ranks")
    store = Path(scratch.name) / "runs" / f"{runs[0].name}.duckdb"
    with db.reading(store):
        return Run(runs[0].name, place, store, scratch)


class Run(Mapping[str, Table]):
    """One run: its sections by name (those of ``rlcompare show``), and its tables by ``table`` and ``sql``.

    It may be used from several threads. Close it only to free the file at once.
    """

    def __init__(
        self, name: str, path: Path, store: Path, scratch: tempfile.TemporaryDirectory[str] | None = None
    ) -> None:
        """Opens a store. ``scratch`` is its temporary folder, if the store is not kept."""
        self.name = name
        self.path = path
        self._scratch = scratch
        self._store = store
        self._lock = threading.RLock()
        self._closed = False
        self._con = db.connect_to_stores(2, [store])  # a query may be untrusted
        db.attach(self._con, store, read_only=True)
        db.check_store(self._con, store, macros=True)
        self._con.execute("USE store")
        self._sections: dict[str, Table] = {
            key: table_of_rows(key, SECTIONS[key], [dict(zip(columns, row, strict=True)) for row in rows])
            for key, columns, rows in sections_of(self._con)
        }
        self._host_alone = is_of_host_alone(self._con)

    @cached_property
    def tables(self) -> list[str]:
        """Names of all tables and views of the store; ``rlcompare sql --table NAME`` documents their columns."""
        query = "SELECT table_name FROM information_schema.tables WHERE table_catalog = 'store' ORDER BY 1"
        return [row["table_name"] for row in self.sql(query)]

    def table(self, name: str) -> Table:
        """A table of the store, such as ``kernel``, ``collective``, ``phase`` or ``metric``.

        Raises:
            UsageError: there is no such table.
        """
        if name not in self.tables:
            hint = "" if "kernel" in self.tables else " (it was read without events)"
            raise UsageError(f"no table {name!r}{hint}; choose from {', '.join(self.tables)}")
        return self._table(name, 'FROM store.main."' + name.replace('"', '""') + '"')

    def sql(self, query: str) -> Table:
        """The result of a query in DuckDB's dialect. It can only read this run.

        Raises:
            UsageError: the query is wrong, or has no result table.
            DamagedStoreError: the required part of the store cannot be read.
        """
        return self._table("query", query)

    def _table(self, name: str, query: str) -> Table:
        with self._lock:
            if self._closed:
                raise UsageError(f"the run {self.name!r} was closed: load it again")
            with db.reading(self._store):
                result = one_result(self._con, query)
            return Table(name, f"{self.name}: {name}", result.to_arrow_table())

    def __getitem__(self, section: str) -> Table:
        if section not in self._sections:
            raise KeyError(f"{section}: no such section; choose from {', '.join(self._sections)}")
        if section == "kernels" and not len(self._sections[section]) and self._host_alone:
            warnings.warn("no device was recorded, so there are no kernels: see the section operators", stacklevel=2)
        return self._sections[section]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections)

    def __len__(self) -> int:
        return len(self._sections)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<rlcompare.Run {self.name!r} of {str(self.path)!r}>"

    def _repr_html_(self) -> str:
        from rlcompare.report.notebook import render_tables

        return render_tables([table.shown() for table in self._sections.values() if len(table)], title=self.name)

    def close(self) -> None:
        """Closes the store; the run cannot be used afterwards."""
        with self._lock:
            if not self._closed:
                self._closed = True
                db.close(self._con)
            if self._scratch is not None:
                self._scratch.cleanup()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_con"):
            self.close()
