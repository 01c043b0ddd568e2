"""Finds ``sql/`` and ``report_templates/`` in an installed wheel or a checkout.

A wheel contains them as ``rlcompare/_resources/…``. An editable install does not (hatch's force-include applies to
built wheels only); there they are in the parent folder of the package, the checkout.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from rlcompare.errors import InstallationError
from rlcompare.sql_header import read_header
from rlcompare.sql_order import filled, in_order, last_uses, predecessors

_PACKAGE = Path(__file__).resolve().parent


@cache
def resource_root(kind: str) -> Path:
    """The folder of one kind of resource.

    Args:
        kind: ``"sql"`` or ``"report_templates"``.

    Raises:
        InstallationError: the installation is broken: there is neither the wheel's copy nor a checkout.
    """
    for candidate in (_PACKAGE / "_resources" / kind, _PACKAGE.parent / kind):
        if candidate.is_dir():
            return candidate
    raise InstallationError(f"{kind}/ is missing beside {_PACKAGE}: reinstall rlcompare")


@cache
def sql(name: str) -> str:
    """The text of one SQL file, by its path below ``sql/`` without the suffix, as in ``"rollup/r_kernel"``.

    Raises:
        InstallationError: the file is missing, or cannot be read.
    """
    path = resource_root("sql") / f"{name}.sql"
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InstallationError(f"{path}: {error.strerror or error}: reinstall rlcompare") from error


@cache
def sql_names(folder: str) -> tuple[str, ...]:
    """The names of all SQL files directly in one folder below ``sql/``, in alphabetical order."""
    root = resource_root("sql")
    return tuple(sorted(f"{folder}/{path.stem}" for path in (root / folder).glob("*.sql")))


@cache
def sql_order(folder: str) -> tuple[str, ...]:
    """The names of the SQL files of one folder, in the order in which they run.

    The order follows from the files' headers; see ``sql_order``. Queries and files that are run by name are left out.

    Raises:
        ValueError: the headers do not allow any order.
    """
    try:
        return tuple(in_order(sql_predecessors(folder)))
    except ValueError as error:
        raise ValueError(f"sql/{folder}: {error}") from error


@cache
def sql_predecessors(folder: str) -> dict[str, set[str]]:
    """The same files, each with those that must run before it. Files that wait for none may run in parallel."""
    texts = {name.rpartition("/")[2]: sql(name) for name in sql_names(folder)}
    return {
        f"{folder}/{name}": {f"{folder}/{first}" for first in before} for name, before in predecessors(texts).items()
    }


class EmptyTables:
    """The tables that are known to have no rows, while SQL files make and fill tables."""

    def __init__(self, found: Iterable[str] = ()) -> None:
        """``found``: tables without rows."""
        self._empty = set(found)
        self._filled: set[str] = set()

    def found(self, tables: Iterable[str]) -> None:
        """These tables have no rows now."""
        self._empty.update(tables)

    def forget(self, tables: Iterable[str]) -> None:
        """Nothing is known about these tables any more."""
        self._empty.difference_update(tables)

    def skips(self, name: str) -> bool:
        """Whether the queries of an SQL file make no rows, because tables that they need have none."""
        return any(self._empty.issuperset(tables) for tables in read_header(sql(name)).nothing_without)

    def ran(self, name: str, with_rows: Iterable[str]) -> None:
        """An SQL file has run, and added rows to these tables, if any."""
        created, _ = filled(sql(name))
        self._filled.update(with_rows)
        self._empty |= created
        self._empty -= self._filled


@cache
def sql_last_uses(names: tuple[str, ...], tables: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """For each of these SQL files, run in this order, the tables that may be dropped behind it; see ``last_uses``."""
    return last_uses({name: sql(name) for name in names}, tables)
