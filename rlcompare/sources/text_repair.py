"""Private copies of damaged text files that DuckDB can read.

Only damaged files come here, so this is the only place in the text source that processes rows one by one.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from rlcompare.db import interruption

CELL_LENGTH = 10_001
"""Longer cells are cut in a repaired table. Names are cut to 10,000 characters anyway; one more shows the cut."""

_CHUNK = 1 << 20
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
