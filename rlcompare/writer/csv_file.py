"""A CSV file to write: comma, quotes if needed, LF or CRLF, no byte order mark."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

Cells = list[str | int | float]


@dataclass(frozen=True)
class CsvFile:
    """Name, header and rows."""

    name: str
    header: Sequence[str]
    rows: Iterable[Cells]
    crlf: bool = False

    def write(self, folder: Path) -> None:
        """Writes it into the folder."""
        with (folder / self.name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\r\n" if self.crlf else "\n")
            writer.writerow(self.header)
            writer.writerows(self.rows)
