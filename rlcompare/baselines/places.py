"""Where baselines are kept: a folder, of a git repository or shared, or a URL.

Both hold a folder per baseline, with its manifest and the files of its runs. Files of runs are named after their
content and never changed; a manifest is replaced atomically, under a lock (``changing``).

Folders may come from a clone or another user: links in them are not followed.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from rlcompare import remote, temporary
from rlcompare.baselines.manifest import FILE, LARGEST_BYTES
from rlcompare.errors import InputError, OutputError, UsageError
from rlcompare.locking import try_lock

_LOCK = ".lock"
_AGAIN_SECONDS = 0.05
_PATIENCE_SECONDS = 60.0
_REMEDY = "choose another folder with --baselines, or check its permissions"


class Place(Protocol):
    """Files of baselines, by the baseline's name; names were checked."""

    @property
    def shown(self) -> str:
        """The folder or URL, for messages."""

    @property
    def is_remote(self) -> bool:
        """Whether it is a URL."""

    @property
    def is_locked(self) -> bool:
        """Whether ``changing`` keeps other processes out for sure. Some places have no locks."""

    def path_of(self, name: str, file: str = "") -> str:
        """The path or URL of a baseline, or of a file of it, for messages."""

    def names(self) -> list[str]:
        """The folders that have a manifest."""

    def manifest(self, name: str) -> bytes | None:
        """The content of a manifest; None: there is none."""

    def run(self, name: str, file: str, size_bytes: int) -> bytes | None:
        """The content of a run's file; None: it is missing, or not of this size."""

    def changing(self) -> AbstractContextManager[None]:
        """Keeps other processes from changing this place, as far as it can be done."""

    def add_run(self, name: str, file: str, local: Path) -> None:
        """Copies the file of a run here."""

    def set_manifest(self, name: str, data: bytes) -> None:
        """Replaces a manifest, atomically."""

    def files(self, name: str) -> set[str]:
        """The names of all files of a baseline."""

    def remove_run(self, name: str, file: str) -> None:
        """Removes the file of a run."""


def place_at(text: str) -> Place:
    """The place in a folder or URL."""
    url = remote.url_of(Path(text))
    return Folder(Path(text)) if url is None else Url(url)


class Folder:
    """A folder of baselines. It need not exist until something is added."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._is_locked = False

    @property
    def shown(self) -> str:
        return self.path_of("")

    @property
    def is_remote(self) -> bool:
        return False

    @property
    def is_locked(self) -> bool:
        return self._is_locked

    def path_of(self, name: str, file: str = "") -> str:
        path = self._root / name / file
        with suppress(ValueError):  # relative to another folder, or another drive
            return str(path.absolute().relative_to(Path.cwd()))
        return str(path)

    def names(self) -> list[str]:
        try:
            with os.scandir(self._root) as entries:
                folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(self.shown, error.strerror or str(error), "Check its permissions") from error
        return sorted(name for name in folders if os.path.lexists(self._root / name / FILE))

    def manifest(self, name: str) -> bytes | None:
        return self._read(name, FILE, LARGEST_BYTES)

    def run(self, name: str, file: str, size_bytes: int) -> bytes | None:
        data = self._read(name, file, size_bytes)
        return data if data is not None and len(data) == size_bytes else None

    def _read(self, name: str, file: str, most: int) -> bytes | None:
        """The content of a file; of one that is longer than ``most``, one byte more."""
        path = self._root / name / file
        try:
            if (self._root / name).is_symlink() or not stat.S_ISREG(path.lstat().st_mode):
                problem = "it is a symbolic link, or not a regular file, and is not read"
                raise InputError(self.path_of(name, file), problem, "Replace it with the file itself")
            with path.open("rb") as handle:
                return handle.read(most + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            problem = error.strerror or str(error)
            raise InputError(self.path_of(name, file), problem, "Check its permissions") from error

    @contextmanager
    def changing(self) -> Iterator[None]:
        with self._written(self._root):
            self._root.mkdir(parents=True, exist_ok=True)
            handle = self._locked()
        try:
            for name in self.names():
                temporary.sweep(self._root / name)
            yield
        finally:
            self._is_locked = False
            with suppress(OSError):
                (self._root / _LOCK).unlink()
            os.close(handle)

    def _locked(self) -> int:
        """A handle of the lock file, locked. The system unlocks it if the process dies."""
        until = time.monotonic() + _PATIENCE_SECONDS
        path = self._root / _LOCK
        while True:
            handle = _opened_lock(path)
            try:
                lock = try_lock(handle)
                if lock is not False and _is_at(handle, path):  # else its last holder has removed it
                    self._is_locked = lock is True
                    return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)
            if time.monotonic() > until:
                raise UsageError(f"another process is changing the baselines in {self.shown}: try again later")
            time.sleep(_AGAIN_SECONDS)

    def add_run(self, name: str, file: str, local: Path) -> None:
        self._write(name, file, local.read_bytes())

    def set_manifest(self, name: str, data: bytes) -> None:
        self._write(name, FILE, data)

    def _write(self, name: str, file: str, data: bytes) -> None:
        folder = self._root / name
        with self._written(folder / file):
            folder.mkdir(exist_ok=True)
            temporary.sweep(folder)  # it may have no manifest yet
            if folder.is_symlink():
                raise OSError(errno.ELOOP, "it is a symbolic link")
            with temporary.replacing(folder / file) as partial, partial.open("xb") as handle:
                handle.write(data)
                handle.flush()
                os.fsync(handle.fileno())

    def files(self, name: str) -> set[str]:
        with suppress(OSError):
            return {path.name for path in (self._root / name).iterdir()}
        return set()

    def remove_run(self, name: str, file: str) -> None:
        with self._written(self._root / name / file):
            (self._root / name / file).unlink(missing_ok=True)

    @contextmanager
    def _written(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(path, error.strerror or str(error), _REMEDY) from error


def _opened_lock(path: Path) -> int:
    flags = os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(path, flags | os.O_RDWR, 0o666)  # NFS locks only what can be written
    except PermissionError:  # another user's, who was killed
        return os.open(path, flags | os.O_RDONLY, 0o666)


def _is_at(handle: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.lstat())
    return False


class Url:
    """An object store. It has no locks: if two processes change a baseline within the same second, one version may be
    lost; the files of its runs stay."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    @property
    def shown(self) -> str:
        return self._url

    @property
    def is_remote(self) -> bool:
        return True

    @property
    def is_locked(self) -> bool:
        return False

    def path_of(self, name: str, file: str = "") -> str:
        return "/".join(filter(None, (self._url, name, file)))

    def names(self) -> list[str]:
        return sorted(name for name in remote.names_in(self._url) if FILE in remote.names_in(self.path_of(name)))

    def manifest(self, name: str) -> bytes | None:
        return self._read(name, FILE)

    def run(self, name: str, file: str, size_bytes: int) -> bytes | None:
        data = self._read(name, file)
        return data if data is not None and len(data) == size_bytes else None

    def _read(self, name: str, file: str) -> bytes | None:
        if file not in remote.names_in(self.path_of(name)):
            return None
        return remote.read_bytes(self.path_of(name, file))

    @contextmanager
    def changing(self) -> Iterator[None]:
        yield

    def add_run(self, name: str, file: str, local: Path) -> None:
        remote.send(local, self.path_of(name, file))

    def set_manifest(self, name: str, data: bytes) -> None:
        with temporary.folder() as folder:
            local = Path(folder) / FILE
            local.write_bytes(data)
            remote.send(local, self.path_of(name, FILE))

    def files(self, name: str) -> set[str]:
        return set(remote.names_in(self.path_of(name)))

    def remove_run(self, name: str, file: str) -> None:
        remote.remove(self.path_of(name, file))
