"""Private copies of damaged text files that DuckDB can read.

Only damaged files come here, so this is the only place in the text source that processes rows one by one.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

from rlcompare.db import interruption

CELL_LENGTH = 10_001
"""Longer cells are cut in a repaired table. Names are cut to 10,000 characters anyway; one more shows the cut."""

MOST_COLUMNS = 1000
"""Tables with more columns are not read: profilers write up to about a hundred."""

_CHUNK = 1 << 20
_LINE = 1 << 16
_PLACES, _LINES = 64, 32
"""A table is looked at in so many places, and of each at so many lines."""
_MOST_RAGGED = 0.05
_WINDOW, _MOST_CELLS = 1 << 10, 300
"""A line with more separators in so many bytes has very many cells."""
_NUL_BYTES = bytes(_CHUNK)
_LONGEST_CELL = 1 << 26


def is_clean(path: Path) -> bool:
    """Whether a file is UTF-8 without NUL bytes, so that it can be read as it is.

    Raises:
        OSError: it cannot be read.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    check = interruption()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                check()
                decoder.decode(chunk)
                if b"\0" in chunk:
                    return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def columns_of(path: Path) -> int:
    """The number of columns of a CSV file, by its first line.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return len(next(_cells(file, 1, multiline=False), []))


def is_even(path: Path, *, multiline: bool) -> bool:
    """Whether nearly all rows of a CSV file have as many cells as its header, and none has very many more.

    DuckDB takes long over other files, and much memory: each cell too many or too few is an error with the whole line.

    Raises:
        OSError: it cannot be read.
    """
    if _has_many_cells(path):
        return False
    width = columns_of(path)
    seen = ragged = 0
    with path.open("rb") as file:
        size = file.seek(0, 2)
        for place in range(1 if multiline else _PLACES):
            file.seek(size * place // _PLACES)
            file.readline(_LINE)
            for cells in _cells(file, _LINES * (_PLACES if multiline else 1), multiline=multiline):
                seen += 1
                ragged += len(cells) not in (0, width)
    return ragged <= _MOST_RAGGED * seen


def _has_many_cells(path: Path) -> bool:
    check = interruption()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            check()
            for begin in range(0, len(chunk), _WINDOW):
                end = begin + _WINDOW
                if chunk.find(b"\n", begin, end) < 0 and chunk.count(b",", begin, end) > _MOST_CELLS:
                    return True
    return False


def _cells(file: BinaryIO, most: int, *, multiline: bool) -> Iterator[list[str]]:
    """The next rows of a table in UTF-8."""
    lines = (file.readline(_LINE).decode("utf-8-sig", "replace") for _ in range(most))
    yield from _rows(takewhile(bool, lines), multiline)


def encoding_of(path: Path) -> str:
    """The encoding given by a byte order mark, else UTF-8.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        mark = file.read(2)
    return "utf-16" if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def mended_text(path: Path, scratch: Path) -> Path:
    """A copy in UTF-8 without NUL bytes; invalid bytes become U+FFFD.

    Raises:
        OSError: it cannot be read.
    """
    copy = scratch / f"mended-{path.name}"
    check = interruption()
    decoder = codecs.getincrementaldecoder(encoding_of(path))("replace")
    with path.open("rb") as file, copy.open("wb") as out:
        while chunk := file.read(_CHUNK):
            check()
            if chunk != _NUL_BYTES[: len(chunk)]:  # a file system that failed may leave gigabytes of them
                out.write(decoder.decode(chunk).encode().translate(None, b"\0"))
        out.write(decoder.decode(b"", final=True).encode())
    return copy


def mended_table(path: Path, scratch: Path, *, multiline: bool) -> tuple[Path, int]:
    """A copy of a CSV file with only its valid rows: as many cells as the header has, correctly quoted.

    Args:
        path: the damaged file.
        scratch: folder for the copy.
        multiline: cells may contain line breaks. If not, an unclosed quote damages only its own line.

    Returns:
        The copy, and the number of dropped rows.

    Raises:
        OSError: it cannot be read.
    """
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    text = mended_text(path, scratch)
    copy = scratch / f"sound-{path.name}"
    left_out = width = 0
    check = interruption()
    with text.open(encoding="utf-8", newline="") as file, copy.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        for row in _rows(file, multiline):
            check()
            width = width or len(row)
            if len(row) == width:
                writer.writerow(cell[:CELL_LENGTH] for cell in row)
            elif row:
                left_out += 1
    return copy, left_out


def _rows(lines: Iterable[str], multiline: bool) -> Iterator[list[str]]:
    """Rows from Python's csv module, with or without line breaks in cells."""
    for piece in [lines] if multiline else ([line] for line in lines):
        with suppress(csv.Error):
            yield from csv.reader(piece)
