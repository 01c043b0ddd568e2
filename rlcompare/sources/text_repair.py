"""Private copies of damaged text files that DuckDB can read.

Only damaged files come here, so this is the one place of the text source that looks at rows one by one.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

CELL_LENGTH = 10_001
"""Longer cells are cut in a mended table. Names are cut to 10,000 characters anyway; one more shows that they were."""

_CHUNK = 1 << 20
_LONGEST_CELL = 1 << 26


def is_clean(path: Path) -> bool:
    """Whether a file is UTF-8 without NUL bytes, so that it can be read as it is.

    Raises:
        OSError: it cannot be read.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
                if b"\0" in chunk:
                    return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def encoding_of(path: Path) -> str:
    """The encoding that a byte order mark tells, else UTF-8.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        mark = file.read(2)
    return "utf-16" if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def mended_text(path: Path, scratch: Path) -> Path:
    """A copy in UTF-8; invalid bytes become U+FFFD.

    Raises:
        OSError: it cannot be read.
    """
    copy = scratch / f"mended-{path.name}"
    with (
        path.open(encoding=encoding_of(path), errors="replace", newline="") as file,
        copy.open("w", encoding="utf-8", newline="") as out,
    ):
        while chunk := file.read(_CHUNK):
            out.write(chunk.replace("\0", ""))
    return copy


def mended_table(path: Path, scratch: Path, *, multiline: bool) -> tuple[Path, int]:
    """A copy of a CSV file that holds only its sound rows: as many cells as the header has, quoted as they should be.

    Args:
        path: the damaged file.
        scratch: where the copy goes.
        multiline: cells may hold line breaks. Where they may not, a quote that is never closed spoils only its line.

    Returns:
        The copy, and how many rows were left out.

    Raises:
        OSError: it cannot be read.
    """
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    text = mended_text(path, scratch)
    copy = scratch / f"sound-{path.name}"
    left_out = width = 0
    with text.open(encoding="utf-8", newline="") as file, copy.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        for row in _rows(file, multiline):
            width = width or len(row)
            if len(row) == width:
                writer.writerow(cell[:CELL_LENGTH] for cell in row)
            elif row:
                left_out += 1
    return copy, left_out


def _rows(lines: Iterable[str], multiline: bool) -> Iterator[list[str]]:
    """Rows as Python's csv module reads them, with or without line breaks in cells."""
    for piece in [lines] if multiline else ([line] for line in lines):
        with suppress(csv.Error):
            yield from csv.reader(piece)
