"""Copies inputs that are not paths to a temporary folder: URLs, such as ``s3://bucket/runs/new``, and baselines.

Inputs are copied completely, and the copies are removed when the command ends. Messages and documents name the URLs and
the baselines, as in ``@main/run1``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rlcompare import temporary
from rlcompare.app.baselines import referred
from rlcompare.app.progress import progress
from rlcompare.errors import InputError, UsageError
from rlcompare.remote import copy, url_of

if TYPE_CHECKING:
    from rlcompare.baselines.library import Library
    from rlcompare.baselines.names import Reference


@dataclass(frozen=True)
class Mirrors:
    """The local copies of inputs.

    Attributes:
        folders: by URL or reference to a baseline.
        names: the keys of ``folders``, by the paths that the user gave.
    """

    folders: Mapping[str, Path]
    names: Mapping[Path, str] = field(default_factory=dict)

    def local(self, path: Path) -> Path:
        """The local path for a path, URL or baseline that the user gave."""
        return self.folders[self.names[path]] if path in self.names else path

    def shown(self, path: Path) -> str:
        """The name of a file or folder in messages and documents: a URL or a baseline if it is a copy."""
        for name, folder in self.folders.items():
            if path.is_relative_to(folder):
                below = path.relative_to(folder).as_posix()
                text = name if below == "." else f"{name}/{below}"
                return text.removesuffix(".duckdb") if name.startswith("@") else text
        return str(path)

    def reworded(self, text: str) -> str:
        """A message in which the copies are named as the user named them."""
        for name, folder in self.folders.items():
            if name.startswith("@"):
                text = re.sub(rf"({re.escape(str(folder))}/[\w.-]+)\.duckdb\b", r"\1", text)
            text = text.replace(str(folder), name)
        return text


@contextmanager
def mirrored(paths: Sequence[Path], quiet: bool, baselines: str | None = None) -> Iterator[Mirrors]:
    """Copies the inputs that are URLs or baselines, and removes the copies at the end.

    Args:
        paths: what the user gave; local paths are not copied.
        quiet: show no progress.
        baselines: the value of ``--baselines``.

    Raises:
        UsageError: there is no package for the storage, or no such baseline.
        InputError: a URL or a baseline cannot be read. Errors raised in the context name it, not the copy.
    """
    urls = {path: url for path in paths if (url := url_of(path)) is not None}
    kept = {path: found for path in dict.fromkeys(paths) if (found := referred(path, baselines)) is not None}
    if not urls and not kept:
        yield Mirrors({})
        return
    with temporary.folder() as scratch:
        names = urls | {path: str(reference) for path, (_, reference) in kept.items()}
        distinct = dict.fromkeys(names.values())
        folders = {name: _folder_of(name, Path(scratch) / str(number)) for number, name in enumerate(distinct)}
        with progress("Copying", quiet) as report:
            for url in dict.fromkeys(urls.values()):
                copy(url, folders[url], report)
        for name, (library, reference) in {str(found[1]): found for found in kept.values()}.items():
            folders[name] = unpacked(library, reference, folders[name])
        mirrors = Mirrors(folders, names)
        try:
            yield mirrors
        except InputError as error:
            shown = mirrors.shown(error.path)
            if shown == str(error.path):
                raise
            raise InputError(shown, error.problem, error.remedy) from error
        except UsageError as error:
            if mirrors.reworded(str(error)) == str(error):
                raise
            raise UsageError(mirrors.reworded(error.message), list(map(mirrors.reworded, error.reasons))) from error


def unpacked(library: Library, reference: Reference, folder: Path) -> Path:
    """Unpacks a baseline into a new folder; the result is the file of its run if the reference names one."""
    runs = library.unpack(reference, folder)
    return folder / f"{runs[0].name}.duckdb" if reference.run is not None else folder


def _folder_of(url: str, scratch: Path) -> Path:
    """A folder whose path ends like the URL, because labels of sides come from the ends of their paths."""
    if url.startswith("@"):
        return scratch / url.partition("/")[0]
    names = [name for name in url.partition("://")[2].split("/") if name not in ("", ".", "..")]
    return scratch.joinpath(*names) if names else scratch / "root"
