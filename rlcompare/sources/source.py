"""What a source is: everything that rlcompare asks about one input format.

A format is added by writing one module with a ``Source`` and naming it in ``sources.registry``. Detection, the choice
of steps, the store and the hints at viewers ask the registry, and know no format by name.
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
"""What to do about a damaged database."""

Notes = list[tuple[Path, Finding]]
"""Findings, each with the path that it is about."""

Report = Callable[[Finding], None]

Together = Callable[["duckdb.DuckDBPyConnection", Mapping[int, CaptureInput], Callable[[int, Finding], None]], set[int]]


@dataclass(frozen=True)
class Problem:
    """Something below a path that cannot be used: an error if nothing else can be used, else a finding (``key``)."""

    path: Path
    problem: str
    remedy: str
    key: str = "unreadable"


class Found(NamedTuple):
    """What a source found in a file or a folder."""

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

    Functions that detection calls read the first bytes of files and the schema of databases, never all of the data, and
    may raise ``OSError``. Nothing is ever written beside an input.

    Attributes:
        name: ``CaptureInput.source``, and column ``source`` of table ``capture``.
        tool: the profiler that writes this format; column ``tool`` of table ``capture``.
        sql: the folder of its SQL. Stores are made again when a file in it changes.
        recognise: what kind of file of this format a file is, by its content; None: it is another format's. The kind is
            a word of the source's own, passed to ``captures``. Sources are asked in the order of the registry.
        captures: the captures in one recognised file: its path and its kind.
        fill: reads one capture into the stage tables (``sql/schema/stage``), and into the event tables that need no
            step or phase. It gets the connection, the capture, its number (also the variable ``capture``), and a
            function that takes findings. Raises ``InputError`` where the capture cannot be read.

        suffixes: endings of the names of files that are recognised in folders.
        names: names of files that are this format's whatever they hold; no other source looks at them in folders.
        loose_files: the captures among the files of a folder; None: each file that ends in ``suffixes`` and is
            recognised.
        whole_folder: the captures of a folder that the profiler writes as a whole, whose subfolders are then not looked
            at; None: it is not such a folder.
        complaint: why a file that no source recognises cannot be used, as a clause, where it resembles this format.
        steps: the step numbers that a capture marks, told without reading it; None: it marks none, or it is not known.
        ranges: which of some names the ranges in a capture have, where that can be told quickly.
        fill_together: reads several small captures into the same tables by one pass of all statements, by their
            numbers, and returns the numbers of those that it read. Whatever is odd, it may leave to ``fill`` by raising
            or by leaving the number out. None: each capture is read by ``fill``.
        environment: what may be stored of what a capture says of itself (table ``env``), by key.
        viewer: lines that say which tool opens captures on a timeline, of which the paths are given; empty: none does.
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
