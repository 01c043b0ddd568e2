"""Keeps the stores of raw inputs in the user's cache folder, so that a second diff of the same inputs reuses them.

Stores are named by their run's key (``fingerprint``). They are written atomically (``new_store`` renames them into
place), and may be deleted at any time: at worst, two processes do the same work twice. If the folder exceeds its limit,
the least recently used stores are deleted. The subfolder ``parts`` lists which captures are in which store, and holds
what an interrupted command had read (``part_index``).

Only files that are named like stores are ever deleted, and only in a folder that holds ``MARKER``. The marker is
written to folders that were created here or were empty. Stores in any other folder are used but never deleted.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rlcompare import db, temporary
from rlcompare.db import SCHEMA_VERSION, store_schema_version
from rlcompare.errors import InputError, UsageError
from rlcompare.model.run import RunInput
from rlcompare.secret import redacted
from rlcompare.store.engines import Engine
from rlcompare.store.fingerprint import Fingerprint, fingerprint
from rlcompare.store.part_index import FOLDER, PartIndex, is_of_running
from rlcompare.store.shared_cache import SharedCache
from rlcompare.store.writing import TEMPORARY

DEFAULT_MAX_BYTES = 10 * 2**30
"""Maximum size of the cache folder."""

ENVIRONMENT_VARIABLE = "RLCOMPARE_CACHE_DIR"

MARKER = ".rlcompare-cache"
"""File that marks a folder whose stores may be deleted: it was new or empty when rlcompare first used it."""

_STORE = re.compile(r".+-[0-9a-f]{32}(?:-events)?(?:-incomplete)?\.duckdb")

_AGAIN_SECONDS = 0.05

Progress = Callable[[int, int, str], None]
"""Called with the number of captures done, their total, and the current capture; from several threads."""


@dataclass(frozen=True)
class Entry:
    """One store in the cache."""

    path: Path
    size_bytes: int
    used_ns: int


def cache_directory(chosen: Path | None = None) -> Path:
    """The folder for stores: the user's choice, else $RLCOMPARE_CACHE_DIR, else the platform's cache folder.

    Raises:
        UsageError: there is none of these, because the user has no home folder.
    """
    if chosen is not None:
        return chosen
    if named := os.environ.get(ENVIRONMENT_VARIABLE):
        return Path(named)
    import platformdirs

    try:
        return platformdirs.user_cache_path("rlcompare", appauthor=False)
    except RuntimeError as error:
        raise UsageError(
            "cannot determine a folder for the cache: set one with --cache-dir, or use --no-cache"
        ) from error


def is_our_folder(directory: Path) -> bool:
    """Whether a folder holds our marker, so that its stores may be deleted."""
    return (directory / MARKER).is_file()


def cache_entries(directory: Path) -> list[Entry]:
    """The stores in a cache folder, and packs whose store is not made yet, most recently used first.

    Empty if the folder is not ours or does not exist.
    """
    entries = []
    for path in [*_files(directory, _STORE), *(PartIndex(directory).packs() if is_our_folder(directory) else ())]:
        with suppress(OSError):  # another process removed it
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                entries.append(Entry(path, status.st_size, status.st_mtime_ns))
    return sorted(entries, key=lambda entry: (-entry.used_ns, entry.path.name))


def is_cached(path: Path, directory: Path) -> bool:
    """Whether a path is that of a store in a cache folder of ours."""
    return path.parent == directory and _STORE.fullmatch(path.name) is not None and is_our_folder(directory)


def _files(directory: Path, name: re.Pattern[str]) -> list[Path]:
    """The files of one of our folders whose names match a pattern.

    Raises:
        UsageError: the folder cannot be listed.
    """
    if not is_our_folder(directory):
        return []
    try:
        return [path for path in directory.iterdir() if name.fullmatch(path.name)]
    except OSError as error:
        raise UsageError(f"the cache folder {directory} cannot be listed ({error.strerror})") from error


def prune_cache(directory: Path, max_bytes: int, keep: Sequence[Path] = ()) -> list[Entry]:
    """Removes the least recently used stores until the rest fits, and what killed processes left.

    What a running process has not finished stays.

    Args:
        directory: the cache folder; need not exist. A folder that is not ours is not changed.
        max_bytes: maximum size of the rest.
        keep: stores in use, which are not removed.

    Returns:
        The removed entries.
    """
    removed = []
    total = 0
    for entry in cache_entries(directory):
        total += entry.size_bytes
        if total > max_bytes and entry.path not in keep and not is_of_running(entry.path):
            with suppress(OSError):  # another process uses it, and the system forbids removing it
                entry.path.unlink(missing_ok=True)
                total -= entry.size_bytes
                removed.append(entry)
    if is_our_folder(directory):
        PartIndex(directory).clean()
        _sweep(directory)
    return removed


def _sweep(directory: Path) -> None:
    """Removes incomplete files and temporary folders of killed processes."""
    temporary.sweep_system()
    temporary.sweep(directory)
    temporary.sweep(directory / FOLDER)


@contextmanager
def open_stores(
    runs: Sequence[RunInput],
    *,
    directory: Path | None,
    keep_events: bool = False,
    progress: Progress | None = None,
    engine: Engine | None = None,
    shared: SharedCache | None = None,
) -> Iterator[list[Path]]:
    """The stores of runs, in the order of the runs. They exist until the context ends; missing ones are built.

    Args:
        runs: what detection found. A run that is already a store is used as it is.
        directory: the cache folder; None: a temporary folder, removed at the end.
        keep_events: whether the event tables are needed.
        progress: called for each capture that is read.
        engine: makes the parts of captures; default: this machine.
        shared: a cache shared with other machines, used in addition to ``directory``.

    Raises:
        InputError: a run cannot be read.
        UsageError: the cache folder cannot be written.
    """
    if directory is not None:
        yield cached_stores(
            runs, directory=directory, keep_events=keep_events, progress=progress, engine=engine, shared=shared
        )
    else:
        with temporary.folder() as folder:
            yield cached_stores(
                runs,
                directory=Path(folder),
                keep_events=keep_events,
                progress=progress,
                remedy=TEMPORARY,
                engine=engine,
            )


def cached_stores(
    runs: Sequence[RunInput],
    *,
    directory: Path,
    keep_events: bool = False,
    progress: Progress | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
    remedy: str = "free some space, or use --cache-dir or --no-cache",
    engine: Engine | None = None,
    shared: SharedCache | None = None,
) -> list[Path]:
    """The stores of runs, in the order of the runs, from the cache folder or built there; see ``open_stores``."""
    prepare(directory)
    _sweep(directory)
    stores: list[Path] = []
    missing: dict[Path, RunInput] = {}
    prints: dict[Path, Fingerprint] = {}
    of_runs = [None if run.is_store else fingerprint(run) for run in runs]
    if shared is not None:
        _fetch(shared, directory, runs, of_runs, keep_events)
    for run, print_of_run in zip(runs, of_runs, strict=True):
        if print_of_run is None:
            stores.append(_given_store(run))
            continue
        target = _target(run, print_of_run, directory)
        store = _present(target, keep_events)
        if store is None:
            store = _with_events(target) if keep_events else target
            missing[store] = run
            prints[store] = print_of_run
        stores.append(store)
    if missing:
        made = build_stores(
            missing,
            prints=prints,
            keep_events=keep_events,
            progress=progress,
            remedy=remedy,
            index=PartIndex(directory),
            engine=engine,
        )
        if shared is not None:
            shared.send(directory, [target for target, store in made.items() if store == target])
        stores = [made.get(store, store) for store in stores]
        prune_cache(directory, max_bytes, keep=stores)
    suffix = "-events" if keep_events else ""
    PartIndex(directory).remove_used(key + suffix for found in of_runs if found for key in found.captures)
    return stores


def _fetch(
    shared: SharedCache,
    directory: Path,
    runs: Sequence[RunInput],
    prints: Sequence[Fingerprint | None],
    keep_events: bool,
) -> None:
    """Fetch the stores and parts that other machines made of these runs, unless they are in the cache folder."""
    absent = [
        (target, print_of_run)
        for run, print_of_run in zip(runs, prints, strict=True)
        if print_of_run is not None and not _present(target := _target(run, print_of_run, directory), keep_events)
    ]
    if absent:
        suffix = "-events" if keep_events else ""
        stores = [_with_events(target) if keep_events else target for target, _ in absent]
        keys = [key + suffix for _, print_of_run in absent for key in print_of_run.captures]
        shared.fetch(directory, stores, keys)


def prepare(directory: Path) -> None:
    """Creates the cache folder and marks it if it is empty. Only the user can read it: profiles may be confidential.

    Raises:
        UsageError: it cannot be written, or other users can: what they put there would be read as the user's profiles.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "it is not writable")
        _refuse_foreign(directory)
        if not any(directory.iterdir()):
            (directory / MARKER).write_text("Stores cached by rlcompare. Everything here can be deleted safely.\n")
    except OSError as error:
        raise UsageError(
            f"the cache folder {directory} cannot be written ({error.strerror}): use --cache-dir or --no-cache"
        ) from error


def _refuse_foreign(directory: Path) -> None:
    """Refuses a folder that belongs to another user than this one or root, or that everybody can write to.

    Some file systems give all files to one user, whoever makes them (NFS with ``all_squash``, CIFS): there the owner
    tells nothing.
    """
    if not hasattr(os, "geteuid"):
        return
    status = directory.stat()
    remedy = f"choose your own with --cache-dir, such as {directory / 'NAME'}, or use --no-cache"
    if status.st_uid not in (os.geteuid(), 0) and status.st_uid != _owner_of_new(directory):
        problem = f"belongs to another user (uid {status.st_uid}), who could change what is read from it"
        raise UsageError(f"the cache folder {directory} {problem}: {remedy}")
    if status.st_mode & stat.S_IWOTH:
        raise UsageError(f"the cache folder {directory} can be changed by every user: chmod o-w it, {remedy}")


def _owner_of_new(directory: Path) -> int:
    """To whom a file belongs that this process makes in a folder."""
    with tempfile.TemporaryFile(dir=directory) as file:
        return os.fstat(file.fileno()).st_uid


def _given_store(run: RunInput) -> Path:
    """The file of a run that is a store, after a check of its version."""
    path = run.captures[0].path
    version = store_schema_version(path)
    if version != SCHEMA_VERSION:
        problem = "it is a database, but not an rlcompare store" if version is None else f"its schema is {version}"
        newer = "upgrade rlcompare, or " if version is not None and version > SCHEMA_VERSION else ""
        remedy = f"{newer}rebuild it with rlcompare ingest (this version reads schema {SCHEMA_VERSION})"
        raise InputError(path, problem, remedy[0].upper() + remedy[1:])
    return path


def _target(run: RunInput, print_of_run: Fingerprint, directory: Path) -> Path:
    """Path of the run's store without events. Of the user's folder name, only harmless characters are used."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", redacted(run.name)).strip("-.")[:40] or "run"
    return directory / f"{slug}-{print_of_run.run}.duckdb"


def _with_events(target: Path) -> Path:
    return target.with_name(f"{target.stem}-events.duckdb")


def _present(target: Path, keep_events: bool) -> Path | None:
    """A store in the cache, marked as used now. A store with events also serves if none are needed.

    It is not opened, which would take longer than reading it: the key in its name covers the version of its schema, and
    damage is found when it is read (``app.stores.with_sound``).
    """
    for path in (_with_events(target),) if keep_events else (target, _with_events(target)):
        with suppress(OSError):  # another process removed it
            if path.is_file():
                os.utime(path)
                return path
    return None


def build_stores(
    missing: Mapping[Path, RunInput],
    *,
    keep_events: bool,
    progress: Progress | None,
    remedy: str,
    prints: Mapping[Path, Fingerprint] | None = None,
    index: PartIndex | None = None,
    engine: Engine | None = None,
) -> dict[Path, Path]:
    """Build stores. The first failure stops all work at the next capture.

    Stores are built in another thread. Python raises ``KeyboardInterrupt`` in the main thread, at any statement. There
    it could keep a builder from removing its incomplete files.

    Args:
        missing: the runs, by target file.
        remedy: a clause for messages: what to do if these cannot be written.
        prints: fingerprints of the runs, if already computed.
        index: where parts are kept; None: parts are not kept.
        engine: makes the parts; default: this machine.

    Returns:
        The stores by target file, as ``build.build_stores`` returns them.

    Raises:
        InputError: a run cannot be read.
        UsageError: a store cannot be written.
    """
    # Imported here: with all that they need, they take longer to import than a store in the cache to open.
    from rlcompare.store import build
    from rlcompare.store.engines.local import LocalEngine

    cancelled = threading.Event()
    job = partial(
        build.build_stores,
        missing,
        prints=prints,
        keep_events=keep_events,
        engine=engine or LocalEngine(),
        index=index,
        progress=progress,
        cancelled=cancelled.is_set,
        remedy=remedy,
    )
    with ThreadPoolExecutor(1, thread_name_prefix="store") as pool:
        future = pool.submit(job)
        try:
            return future.result()
        except BaseException as error:
            cancelled.set()
            if isinstance(error, KeyboardInterrupt):
                _end_queries(future)
            raise


def _end_queries(future: Future[dict[Path, Path]]) -> None:
    """Interrupts the queries of builders until they stop. In a notebook, no other thread does this."""
    while future.running():
        db.interrupt_all()
        time.sleep(_AGAIN_SECONDS)
