"""The interface of a source: everything that rlcompare needs to know about one input format.

To add a format, write one module with a ``Source`` and name it in ``sources.registry``. Detection, the choice
of steps, the store and the viewer hints use the registry, and know no format by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rlcompare.model.run import CaptureInput, Finding

if TYPE_CHECKING:
    import duckdb

    from rlcompare.sources.content import Content

RECOVER = "Copy it again from where it was made, or parse the profile again"
"""Remedy for a damaged database."""

Notes = list[tuple[Path, Finding]]
"""Findings, each with its path."""

Report = Callable[[Finding], None]

Together = Callable[["duckdb.DuckDBPyConnection", Mapping[int, CaptureInput], Callable[[int, Finding], None]], set[int]]


@dataclass(frozen=True)
class Problem:
    """An unusable file or folder below a path: an error if nothing else can be used, else a finding (``key``)."""

    path: Path
    problem: str
    remedy: str
    key: str = "unreadable"


class Found(NamedTuple):
    """The captures, notes and problems that a source found in a file or a folder."""

    captures: Sequence[CaptureInput] = ()
    notes: Sequence[tuple[Path, Finding]] = ()
    problems: Sequence[Problem] = ()


@dataclass(frozen=True)
class Listing:
    """One folder of the input.

    Attributes:
        path: the folder.
        files, folders: the names in it, sorted.
        prefer: ``"db"`` or ``"text"``: which to read where a capture has both.
    """

    path: Path
    files: Sequence[str]
    folders: Sequence[str]
    prefer: str


def _no_complaint(content: Content) -> str | None:
    return None


def _never_whole(listing: Listing) -> Found | None:
    return None


def _no_steps(capture: CaptureInput) -> frozenset[int] | None:
    return None


def _no_ranges(capture: CaptureInput, names: Collection[str]) -> frozenset[str]:
    return frozenset()


def _no_environment(capture: CaptureInput) -> Mapping[str, str]:
    return {}


def _no_viewer(paths: Sequence[Path]) -> list[str]:
    return []


@dataclass(frozen=True)
class Source:
    """One input format. The first group of fields is required.

    Functions called by detection read only the first bytes of files and the schema of databases, and may raise
    ``OSError``. Nothing is ever written beside an input.

    Attributes:
        name: ``CaptureInput.source``, and column ``source`` of table ``capture``.
        tool: the profiler that writes this format; column ``tool`` of table ``capture``.
        sql: the folder of its SQL. Stores are rebuilt if a file in it changes.
        recognise: the kind of a file of this format, by its content; None: another format. The kind is
            a word of the source's own, passed to ``captures``. Sources are asked in the order of the registry.
        captures: the captures in one recognised file, given its path and its kind.
        fill: reads one capture into the stage tables (``sql/schema/stage``), and into the event tables that need no
            step or phase. It gets the connection, the capture, its number (also the variable ``capture``), and a
            function that takes findings. Raises ``InputError`` if the capture cannot be read.

        suffixes: file name endings of files that are recognised in folders.
        names: file names that always belong to this format; in folders, no other source inspects them.
        loose_files: the captures among the files of a folder; None: each file that ends in ``suffixes`` and is
            recognised.
        whole_folder: the captures of a folder that the profiler writes as a unit, whose subfolders are not searched;
            None: it is not such a folder.
        complaint: for a file that resembles this format but is not recognised, why it cannot be used, as a clause.
        steps: the step numbers that a capture marks, without reading it in full; None: there are none, or unknown.
        ranges: which of the given names occur as ranges in a capture, if that can be found quickly.
        fill_together: reads several small captures into the same tables by one pass of all statements, by their
            numbers, and returns the numbers of those that it read. It may leave captures with problems to ``fill`` by
            raising or by omitting the number. None: each capture is read by ``fill``.
        environment: the storable values of a capture's own metadata (table ``env``), by key.
        viewer: lines on the tool that opens the captures with the given paths on a timeline; empty: there is none.
            Sources that share the function share the lines.
    """

    name: str
    tool: str
    sql: Path
    recognise: Callable[[Content], str | None]
    captures: Callable[[Path, str], Found]
    fill: Callable[[duckdb.DuckDBPyConnection, CaptureInput, int, Report], None]

    fill_together: Together | None = None
    suffixes: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    loose_files: Callable[[Listing], Found] | None = None
    whole_folder: Callable[[Listing], Found | None] = _never_whole
    complaint: Callable[[Content], str | None] = _no_complaint
    steps: Callable[[CaptureInput], frozenset[int] | None] = _no_steps
    ranges: Callable[[CaptureInput, Collection[str]], frozenset[str]] = _no_ranges
    environment: Callable[[CaptureInput], Mapping[str, str]] = _no_environment
    viewer: Callable[[Sequence[Path]], list[str]] = _no_viewer
