"""A cache that several machines share by URL, such as ``s3://bucket/rlcompare-cache``.

Each machine also has its own cache folder. The shared cache holds stores and their lists of parts, with the same names
as in a cache folder. A command fetches the stores that it needs and does not have before it reads anything, and sends
the stores that it made afterwards. Nothing is ever deleted in the shared cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.remote import copy, names_in, read_text, send
from rlcompare.store.part_index import FOLDER, LIST, PartIndex, keys_in


class SharedCache:
    """A folder of an object store."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._damaged: set[str] = set()
        """Names of stores that are made and sent again instead of being fetched."""

    def distrust(self, store: Path) -> None:
        """Do not fetch a store that turned out to be damaged in the cache folder: it may be damaged here, too."""
        self._damaged.add(store.name)

    def fetch(self, directory: Path, stores: Sequence[Path], keys: Iterable[str]) -> None:
        """Fetch the available stores and parts of some runs.

        Args:
            directory: the cache folder of this machine.
            stores: the wanted stores, as paths in that folder; existing ones are not fetched.
            keys: the keys of all parts of these runs; stores of other runs that contain some are fetched too.

        Raises:
            InputError: the URL cannot be read.
            UsageError: there is no package for the storage.
        """
        present = set(names_in(self.url)) - self._damaged
        index = PartIndex(directory)
        for store in stores:
            if store.name in present and not store.exists():
                self._fetch_store(index, store.name, self._list_of(store.name))
        wanted = set(keys)
        missing = wanted - index.find(wanted).keys()
        for name in sorted(names_in(f"{self.url}/{FOLDER}")) if missing else ():
            store_name = name.removesuffix(LIST)
            if not name.endswith(LIST) or store_name not in present:
                continue
            listed = self._list_of(store_name)
            if missing & listed.keys():
                self._fetch_store(index, store_name, listed)
                missing -= listed.keys()

    def send(self, directory: Path, stores: Sequence[Path]) -> None:
        """Send stores, and after each its list of parts.

        Raises:
            InputError: the URL cannot be written.
        """
        for store in stores:
            send(store, f"{self.url}/{store.name}")
            listed = directory / FOLDER / f"{store.name}{LIST}"
            if listed.exists():
                send(listed, f"{self.url}/{FOLDER}/{listed.name}")

    def _list_of(self, name: str) -> dict[str, int]:
        with suppress(InputError):  # a run without captures has none
            return keys_in(read_text(f"{self.url}/{FOLDER}/{name}{LIST}"))
        return {}

    def _fetch_store(self, index: PartIndex, name: str, listed: dict[str, int]) -> None:
        copy(f"{self.url}/{name}", index.directory / name)
        if listed:
            index.add(index.directory / name, listed)
