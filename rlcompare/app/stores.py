"""Chooses and checks the folder for the stores of a command."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rlcompare.app import messages
from rlcompare.errors import InputError, UsageError
from rlcompare.interrupt import aside
from rlcompare.model.run import RunInput
from rlcompare.remote import url_of
from rlcompare.text import safe_text

if TYPE_CHECKING:
    from rlcompare.store.shared_cache import SharedCache

Result = TypeVar("Result")

_MOST_MISSING = 10
"""How often a store in the cache may be missing after it was found or made."""


def stores_folder(chosen: Path | None, no_cache: bool, inputs: Sequence[Path]) -> Path | None:
    """The cache folder, created if necessary; None: nothing is kept.

    If the user named no folder and the default one cannot be written, this prints a warning on standard error, and the
    command runs without a cache.

    Args:
        chosen: the value of ``--cache-dir``.
        no_cache: whether the user wants no cache.
        inputs: the paths that are read; nothing is ever written into them.

    Raises:
        UsageError: the folder that the user named cannot be written, or is inside an input.
    """
    from rlcompare.store.cache import ENVIRONMENT_VARIABLE, cache_directory, prepare

    if no_cache:
        return None
    if chosen is not None and url_of(chosen) is not None:
        chosen = None
    named = chosen is not None or bool(os.environ.get(ENVIRONMENT_VARIABLE))
    try:
        directory = cache_directory(chosen)
        refuse_within(directory, inputs, "stores", "--cache-dir")
        prepare(directory)
    except UsageError as error:
        if named:
            raise
        messages.warn(f"{error}; nothing is cached")
        return None
    return directory


def shared_cache(chosen: Path | None, no_cache: bool) -> SharedCache | None:
    """The shared cache if ``--cache-dir`` is a URL; stores are then kept on this machine as well."""
    from rlcompare.store.shared_cache import SharedCache

    url = None if chosen is None or no_cache else url_of(chosen)
    return None if url is None else SharedCache(url)


def with_sound(
    runs: Sequence[RunInput], directory: Path | None, read: Callable[[], Result], shared: SharedCache | None = None
) -> Result:
    """The result of ``read``. If a store in the cache cannot be read, it is removed, and ``read`` is called again.

    A store may also be missing: another process removed it, as ``rlcompare cache prune`` does.

    Args:
        runs: the runs that are read. Their files are never removed.
        directory: the cache folder; None: nothing is cached.
        read: opens the stores of the runs and reads them.
        shared: the cache from which ``read`` fetches stores.

    Raises:
        InputError: an input, or a store that the user named, cannot be read; or a store that was just created again.
    """
    from rlcompare.store.cache import is_cached

    kept = {path for run in runs for capture in run.captures for path in (capture.path, *capture.files.values())}
    missing = 0
    while True:
        try:
            return read()
        except InputError as error:
            if directory is None or not is_cached(error.path, directory) or error.path in kept:
                raise
            if error.path.exists():
                messages.warn(f"{error.path} in the cache is damaged and is created again")
                error.path.unlink(missing_ok=True)
                if shared is not None:
                    shared.distrust(error.path)
                kept.add(error.path)
            elif missing == _MOST_MISSING:
                raise
            else:
                missing += 1


@contextmanager
def blamed(stores: Sequence[Path]) -> Iterator[None]:
    """Turns DuckDB errors about values into errors of the stores that the user named.

    Stores of our own hold no such values: without others, the errors are faults of rlcompare, and pass.

    Raises:
        InputError: the stores hold values that cannot be compared.
    """
    import duckdb

    from rlcompare.db import OF_CONTENT, first_line

    for store in stores:
        aside(partial(_refuse_repeated, store))
    try:
        yield
    except duckdb.Error as error:
        if not stores or not isinstance(error, OF_CONTENT):
            raise
        others = "".join(f" or {store}" for store in stores[1:3])
        problem = (
            f"the store{others} was modified outside rlcompare: its values cannot be compared ({first_line(error)})"
        )
        raise InputError(stores[0], problem, "Make it again with rlcompare ingest") from error


def _refuse_repeated(store: Path) -> None:
    """Refuses a store with several values of a metric in one step: sources write one, and joins by step count on it."""
    from rlcompare.db import open_read_only, reading

    query = (
        "SELECT name, step, count(*) AS found FROM metric WHERE step IS NOT NULL"
        " GROUP BY ALL HAVING found > 1 ORDER BY found DESC, name, step LIMIT 1"
    )
    with closing(open_read_only(store)) as con, reading(store):
        found = con.execute(query).fetchone()
    if found is not None:
        name, step, values = found
        problem = f"it holds {values:,} values of {safe_text(name, 100)} in step {step}"
        raise InputError(store, problem, "Make it again with rlcompare ingest")


def refuse_within(target: Path, inputs: Sequence[Path], what: str, option: str) -> None:
    """Refuses to write into an input.

    Args:
        what: what would be written there, in the plural.
        option: the option with which the user can choose another place.

    Raises:
        UsageError: the target is one of the inputs, or is inside one.
    """
    real = real_path(target)
    for path in inputs:
        source = real_path(path)
        if real == source or (source.is_dir() and real.is_relative_to(source)):
            raise UsageError(f"{what} would be written into the input {path}: choose another path with {option}")


def refuse_special(target: Path) -> None:
    """Refuses to overwrite anything that is not a regular file: a folder, or a device such as ``/dev/null``.

    Raises:
        UsageError: the target exists and is not a regular file.
    """
    if os.path.lexists(target) and not target.is_symlink() and not target.is_file():
        raise UsageError(f"{target} exists and is not a regular file: choose another name with -o")


def real_path(path: Path) -> Path:
    """The path with symbolic links resolved as far as possible. ``Path.resolve`` would fail on loops."""
    return Path(os.path.realpath(path))
