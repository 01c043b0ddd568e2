"""Copies inputs that are named by URL, such as ``s3://bucket/runs/new``, to a temporary folder.

Inputs are copied completely, and the copies are removed when the command ends. Messages and documents name the URLs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rlcompare.app.progress import progress
from rlcompare.errors import InputError
from rlcompare.remote import copy, url_of


@dataclass(frozen=True)
class Mirrors:
    """The local copies of inputs, by URL."""

    folders: Mapping[str, Path]

    def local(self, path: Path) -> Path:
        """The local path for a path or URL that the user gave."""
        url = url_of(path)
        return path if url is None else self.folders[url]

    def shown(self, path: Path) -> str:
        """The name of a file or folder in messages and documents: a URL if it is a copy."""
        for url, folder in self.folders.items():
            if path.is_relative_to(folder):
                below = path.relative_to(folder).as_posix()
                return url if below == "." else f"{url}/{below}"
        return str(path)


@contextmanager
def mirrored(paths: Sequence[Path], quiet: bool) -> Iterator[Mirrors]:
    """Copies the inputs that are named by URL, and removes the copies at the end.

    Args:
        paths: the paths and URLs that the user gave; local paths are not copied.
        quiet: show no progress.

    Raises:
        UsageError: there is no package for the storage.
        InputError: a URL cannot be read. Errors raised in the context name the URL, not the copy.
    """
    urls = list(dict.fromkeys(url for url in map(url_of, paths) if url is not None))
    if not urls:
        yield Mirrors({})
        return
    with tempfile.TemporaryDirectory(prefix="rlcompare-", ignore_cleanup_errors=True) as scratch:
        folders = {url: _folder_of(url, Path(scratch) / str(number)) for number, url in enumerate(urls)}
        mirrors = Mirrors(folders)
        with progress("Copying", quiet) as report:
            for url, folder in folders.items():
                copy(url, folder, report)
        try:
            yield mirrors
        except InputError as error:
            shown = mirrors.shown(error.path)
            if shown == str(error.path):
                raise
            raise InputError(shown, error.problem, error.remedy) from error


def _folder_of(url: str, scratch: Path) -> Path:
    """A folder whose path ends like the URL, because labels of sides come from the ends of their paths."""
    names = [name for name in url.partition("://")[2].split("/") if name not in ("", ".", "..")]
    return scratch.joinpath(*names) if names else scratch / "root"
