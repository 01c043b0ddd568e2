"""Which parts are in the cache, and in which file.

A part is in a pack until the store of its run is made, and in that store afterwards. For each pack and store, a text
file in the subfolder ``parts`` lists the keys of its parts, one line ``KEY NUMBER`` per part. Both files are written
atomically, the list after the DuckDB file. Either may be deleted at any time.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from rlcompare import temporary

FOLDER = "parts"
LIST = ".keys"
"""Suffix of the list of a file's parts."""
_LINE = re.compile(r"([0-9a-f]{32}(?:-events)?) (\d{1,9})")
_PACK = re.compile(rf"(pack-({temporary.OWNER})-[0-9a-f]{{32}})[0-9.-]*\.duckdb")
_building: set[str] = set()
"""How the names of packs begin that this process is making or using."""

Places = Mapping[str, tuple[Path, int]]
"""By the key of a part: its file, and the number of its capture in the file."""


class PartIndex:
    """The parts in one cache folder."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.folder = directory / FOLDER

    def find(self, keys: Iterable[str]) -> dict[str, tuple[Path, int]]:
        """The places of parts; missing parts are left out."""
        wanted = set(keys)
        found: dict[str, tuple[Path, int]] = {}
        for path in self._lists():
            if wanted <= found.keys():
                break
            file = self._file_of(path)
            if file is not None and not is_of_running(file):
                listed = self._listed(path)
                found = {key: (file, listed[key]) for key in wanted & listed.keys()} | found
        return found

    def add(self, file: Path, numbers: Mapping[str, int]) -> None:
        """List the parts of a file that is complete.

        Raises:
            OSError: the list cannot be written.
        """
        self.folder.mkdir(mode=0o700, exist_ok=True)
        target = self.folder / f"{file.name}{LIST}"
        with temporary.replacing(target) as partial:
            partial.write_text("".join(f"{key} {number}\n" for key, number in numbers.items()))

    def remove(self, pack: Path) -> None:
        """Delete a pack and its list."""
        for path in (self.folder / f"{pack.name}{LIST}", pack):
            with suppress(OSError):  # another process uses it, where that forbids removing it
                path.unlink(missing_ok=True)

    def forget(self, file: Path) -> None:
        """Forget the parts of a file that cannot be read. A pack is deleted; a store is kept for the user."""
        if file.parent == self.folder:
            self.remove(file)
        else:
            (self.folder / f"{file.name}{LIST}").unlink(missing_ok=True)

    def packs(self) -> list[Path]:
        """Packs whose store is not made yet."""
        return [path for path in _entries(self.folder) if _PACK.fullmatch(path.name)]

    def remove_used(self, keys: Iterable[str]) -> None:
        """Delete packs that killed processes left, if their parts are in stores, or if it is not known what they hold.

        Lists of packs that no longer exist are deleted too.

        Args:
            keys: further parts that are in stores.
        """
        lists = self._lists()
        of_packs = {path for path in lists if _PACK.fullmatch(path.name.removesuffix(LIST))}
        self._remove_without_file(of_packs)  # a pack may become its run's store; its list is removed after that
        packs = [pack for pack in self.packs() if not is_of_running(pack)]
        if not packs:
            return
        stored = set(keys)
        for path in lists:
            if path not in of_packs and self._file_of(path) is not None:
                stored |= self._listed(path).keys()
        for pack in packs:
            if self._listed(self.folder / f"{pack.name}{LIST}").keys() <= stored:
                self.remove(pack)

    def clean(self) -> None:
        """Delete lists whose file no longer exists."""
        self._remove_without_file(self._lists())

    def _remove_without_file(self, lists: Iterable[Path]) -> None:
        for path in lists:
            if self._file_of(path) is None:
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    def _lists(self) -> list[Path]:
        return [path for path in _entries(self.folder) if path.name.endswith(f".duckdb{LIST}")]

    def _file_of(self, path: Path) -> Path | None:
        name = path.name.removesuffix(LIST)
        return next((file for file in (self.directory / name, self.folder / name) if file.is_file()), None)

    @staticmethod
    def _listed(path: Path) -> dict[str, int]:
        try:
            return keys_in(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeError):  # another process removed it, or it is damaged
            return {}


@contextmanager
def pack_names() -> Iterator[str]:
    """How the names of a builder's packs begin. Until the context ends, nobody else uses or removes them."""
    name = f"pack-{temporary.owner()}-{uuid.uuid4().hex}"
    _building.add(name)
    try:
        yield name
    finally:
        _building.discard(name)


def is_of_running(path: Path) -> bool:
    """Whether a file is a pack whose builder may still run."""
    match = _PACK.fullmatch(path.name)
    if match is None:
        return False
    if match[2] == temporary.owner():
        return match[1] in _building
    with suppress(OSError):
        return not temporary.is_left(path.name, path.lstat().st_mtime)
    return False


def keys_in(text: str) -> dict[str, int]:
    """The parts in a list, by key; lines that are damaged are left out."""
    return {match[1]: int(match[2]) for match in map(_LINE.fullmatch, text.splitlines()) if match}


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(Path(entry.path) for entry in os.scandir(folder))
    except OSError:  # not there
        return []
