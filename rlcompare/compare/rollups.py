"""One in-memory database that holds the rollups of all runs of both sides (docs/design.md §3), and the queries over it.

Each store is attached read-only, its rollups are copied under the keys (side, run) while its steps and ranks are
selected and its steps are summed, and it is detached. Raw events are never read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import starmap
from typing import Any, NamedTuple, TypeVar, cast

import duckdb

from rlcompare import db, resources
from rlcompare.compare import records
from rlcompare.compare.inputs import CompareOptions, RunStore, SideInput
from rlcompare.errors import DamagedStoreError, InputError, UsageError
from rlcompare.model.words import SIDES

R = TypeVar("R", bound=NamedTuple)
"""A row of the query after which its class is named (``records``, ``pairs``)."""

THREADS = 1
"""The rollups are small: a second thread costs more than it saves."""


def query_of(record: type[NamedTuple]) -> str:
    """The query whose rows a class holds: ``TimeSample`` is a row of ``sql/compare/time_sample.sql``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", record.__name__).lower()


class Rollups:
    """The rollups of both sides. ``rows`` runs the query of a record; use as a context manager."""

    def __init__(self, baseline: SideInput, new: SideInput, options: CompareOptions) -> None:
        """Load all runs.

        Raises:
            UsageError: a selected step or rank does not exist; the message says which do.
            InputError: a store cannot be read.
        """
        self._con = db.connect_to_stores(THREADS, [run.store for given in (baseline, new) for run in given.stores])
        self._rows: dict[type[NamedTuple], list[Any]] = {}
        try:
            for side, given, steps in zip(SIDES, (baseline, new), (options.base_steps, options.new_steps), strict=True):
                for number, run in enumerate(given.stores):
                    self._load(side, number, run, steps, options.ranks)
            for name in resources.sql_order("compare"):
                self._con.execute(resources.sql(name))
        except BaseException:
            self._con.close()
            raise

    def __enter__(self) -> Rollups:
        return self

    def __exit__(self, *_: object) -> None:
        self._con.close()

    def rows(self, record: type[R]) -> list[R]:
        """The rows of the query of a record; each query runs once."""
        if record not in self._rows:
            self._rows[record] = self._query(record)
        return cast("list[R]", self._rows[record])

    def _query(self, record: type[R]) -> list[R]:
        name = query_of(record)
        result = self._con.execute(resources.sql(f"compare/{name}"))
        columns = tuple(column[0] for column in result.description or ())
        assert columns == record._fields, f"sql/compare/{name}.sql gives {columns}, {record.__name__} has other fields"
        return list(starmap(record, result.fetchall()))

    def _load(
        self, side: str, number: int, run: RunStore, steps: Sequence[int] | None, ranks: Sequence[int] | None
    ) -> None:
        try:
            db.attach(self._con, run.store, read_only=True)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            if db.is_damage(error):
                raise DamagedStoreError(run.store, db.first_line(error)) from error
            raise InputError(
                run.store, f"the store of {run.name} cannot be opened ({reason})", "Recreate it with rlcompare ingest"
            ) from error
        try:
            self._con.execute("SET VARIABLE side = ?", [side])
            self._con.execute("SET VARIABLE run = CAST(? AS INTEGER)", [number])
            self._con.execute("SET VARIABLE steps = CAST(? AS BIGINT[])", [list(steps or ())])
            self._con.execute("SET VARIABLE ranks = CAST(? AS INTEGER[])", [list(ranks or ())])
            for name in resources.sql_order("compare/load"):
                self._con.execute(resources.sql(name))
            if steps is not None or ranks is not None:
                self._check_selection(run, steps, ranks)
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
    """Numbers for a message, the first twenty."""
    shown = ", ".join(str(number) for number in (numbers or ())[:20])
    return f"{shown} and {len(numbers) - 20} more" if numbers and len(numbers) > 20 else shown
