"""Copies files from and to URLs, such as ``s3://bucket/runs/new``, from any storage that fsspec knows.

The package for a storage (``s3fs`` for S3) must be installed. A copy keeps the size and the modification time of its
file, so that parts in the cache are found again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from rlcompare import temporary
from rlcompare.errors import InputError, UsageError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

Report = Callable[[int, int, str], None]
"""Takes the number of files done, their total, and the name of the current file."""

# pathlib merges slashes into one: "s3://bucket" is Path("s3:/bucket"). A single letter is a Windows drive.
_URL = re.compile(r"([a-z][a-z0-9+.-]+):/+(.+)", re.DOTALL)
_NOT_READ = frozenset({"FRAMEWORK", "__pycache__", ".git"})
"""Folders of raw data, which rlcompare does not read."""
_WITHOUT_HOST = frozenset({"file", "local"})
"""Schemes whose URLs have three slashes."""
_WITH_BUCKETS = frozenset({
    "s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "wasb", "wasbs", "oss", "obs", "cos", "cosn", "tos", "oci",
    "r2", "b2",
})  # fmt: skip
"""Storages in which a file needs no folder, and where making one may make a bucket."""
_TRANSFERS = 8
_SQLITE = b"SQLite format 3\0"
_REMEDY = "Check the URL and its credentials"


def url_of(path: Path) -> str | None:
    """The URL given as a path on the command line; None for a local path."""
    match = _URL.fullmatch(path.as_posix())
    if match is None or os.path.lexists(path):
        return None
    return f"{match[1]}://{'/' if match[1] in _WITHOUT_HOST else ''}{match[2]}"


def copy(url: str, target: Path, report: Report | None = None) -> None:
    """Copy a file, or all files below a folder. A database is copied with its log.

    Args:
        url: what to copy.
        target: where to copy; it is a file if ``url`` is one. Files are written atomically.
        report: called for each file.

    Raises:
        UsageError: the package for the storage is not installed.
        InputError: the URL cannot be read, or does not exist.
    """
    with _reaching(url) as (storage, root):
        found = _files(storage, root)
        if not found:
            raise InputError(url, "there is no such file or folder", _REMEDY)
        files = {target if not below.parts else target / below: info for below, info in found.items()}
        for local in files:
            local.parent.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(_TRANSFERS) as pool:
            for done, local in enumerate(pool.map(lambda item: _fetch(storage, *item), files.items())):
                if report:
                    report(done + 1, len(files), local.name)
        if files.keys() == {target}:  # below a folder, logs are files like others
            _fetch_logs(storage, root, target)


def names_in(url: str) -> list[str]:
    """The names of the files in a folder; empty if the folder does not exist.

    Raises:
        UsageError, InputError: as for ``copy``.
    """
    with _reaching(url) as (storage, root):
        storage.invalidate_cache()
        return [name.rsplit("/", 1)[1] for name in storage.ls(root, detail=False)] if storage.exists(root) else []


def read_text(url: str) -> str:
    """The text of a small file.

    Raises:
        UsageError, InputError: as for ``copy``.
    """
    return read_bytes(url).decode("utf-8", "replace")


def read_bytes(url: str) -> bytes:
    """The content of a small file.

    Raises:
        UsageError, InputError: as for ``copy``.
    """
    with _reaching(url) as (storage, root):
        return bytes(storage.cat_file(root))


def remove(url: str) -> None:
    """Remove a file.

    Raises:
        UsageError, InputError: as for ``copy``.
    """
    with _reaching(url) as (storage, root):
        storage.rm_file(root)


def send(local: Path, url: str) -> None:
    """Copy a file of this machine to a URL. Folders are made, a bucket is not.

    Raises:
        UsageError, InputError: as for ``copy``; a bucket that does not exist is an ``InputError``.
    """
    with _reaching(url) as (storage, root):
        protocol = storage.protocol
        if _WITH_BUCKETS.isdisjoint([protocol] if isinstance(protocol, str) else protocol):
            storage.makedirs(root.rsplit("/", 1)[0], exist_ok=True)
        storage.put_file(str(local), root)


@contextmanager
def _reaching(url: str) -> Iterator[tuple[AbstractFileSystem, str]]:
    """The storage of a URL and the path there; errors of any storage become ``InputError``."""
    storage, root = _storage(url)
    try:
        yield storage, root
    except (InputError, UsageError):
        raise
    except Exception as error:  # each storage has its own errors
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(url, lines[0][:200], _REMEDY) from error


def _storage(url: str) -> tuple[AbstractFileSystem, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise UsageError(f"{url}: reading a URL needs fsspec: pip install 'rlcompare[s3]'") from error
    try:
        storage, root = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{url}: {str(error).splitlines()[0]}") from error
    return storage, root.rstrip("/")


def _files(storage: AbstractFileSystem, root: str) -> dict[PurePosixPath, Mapping[str, Any]]:
    """The files below a folder, by their paths in it. For a file: the file itself, with an empty path."""
    if storage.isfile(root):
        return {PurePosixPath(): storage.info(root)}
    found = {}
    for name, info in storage.find(root, detail=True).items():
        below = PurePosixPath(name[len(root) :].lstrip("/"))
        # An object store allows any name, but no name may lead out of the target folder.
        if info.get("type", "file") == "file" and below.parts and _is_read(below.parts):
            found[below] = info
    return found


def _is_read(parts: Sequence[str]) -> bool:
    if any(part in ("", ".", "..") or "\0" in part or "\\" in part or part in _NOT_READ for part in parts):
        return False
    # In msprof's folders, only the exports directly inside are read.
    raw = next((place for place, part in enumerate(parts) if part.startswith("PROF_")), len(parts))
    return len(parts) <= raw + 2


def _fetch_logs(storage: AbstractFileSystem, root: str, target: Path) -> None:
    """Copies the logs that SQLite keeps beside a database: they have its last changes. Other files have none."""
    with target.open("rb") as file:
        if file.read(len(_SQLITE)) != _SQLITE:
            return
    for suffix in ("-wal", "-journal"):
        if storage.isfile(root + suffix):
            _fetch(storage, target.with_name(target.name + suffix), storage.info(root + suffix))


def _fetch(storage: AbstractFileSystem, local: Path, info: Mapping[str, Any]) -> Path:
    with temporary.replacing(local) as partial:
        storage.get_file(info["name"], str(partial))
    changed = info.get("LastModified") or info.get("mtime") or info.get("last_modified")
    seconds = changed.timestamp() if isinstance(changed, datetime) else changed
    if isinstance(seconds, int | float):
        os.utime(local, (seconds, seconds))
    return local
