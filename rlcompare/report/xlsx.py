"""Writes a workbook (``.xlsx``) with the standard library, row by row.

DuckDB's excel extension was tried (1.5.5): it writes one sheet per file, control characters as they are (then no XML
parser reads the file), texts longer than Excel takes, and no fixed headings, filters or formats.

Texts stay texts, even if they begin as a formula.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import escape

from rlcompare.model.diff import Value
from rlcompare.text import ELLIPSIS, safe_text

MOST_ROWS = 1_048_576
MOST_COLUMNS = 16_384
MOST_CHARACTERS = 32_767
"""What Excel holds in a sheet, and in a cell in UTF-16 code units."""

LONGEST_NAME = 31
"""Most characters in the name of a sheet."""

_LONGEST_NUMBER = 10**15
"""Excel keeps 15 digits: longer whole numbers are written as texts."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_ESCAPE_OF_EXCEL = re.compile("_(?=x[0-9A-Fa-f]{4}_)")

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


class Style(IntEnum):
    """How a cell looks; the number is the place of its format in the workbook."""

    PLAIN = 0
    HEADING = 1
    TIME = 2
    COUNT = 3
    SHARE = 4
    TITLE = 5
    LINK = 6
    QUOTED = 7


_LOOKS = {
    Style.PLAIN: ("General", ""),
    Style.HEADING: ("General", "<b/>"),
    Style.TIME: ("#,##0.000", ""),
    Style.COUNT: ("#,##0.###", ""),
    Style.SHARE: ("0.0%", ""),
    Style.TITLE: ("General", "<b/>"),
    Style.LINK: ("General", "<u/>"),
    Style.QUOTED: ("@", ""),
}
"""For each style the format of numbers, and what its font has."""

_OF_NUMBERS = (Style.TIME, Style.COUNT, Style.SHARE)

Cell = tuple[Value, Style]


@dataclass(frozen=True)
class Sheet:
    """A sheet.

    Attributes:
        name: see ``free_name``.
        widths: of the columns, in characters.
        rows: its cells; a value of None is an empty cell.
        is_table: whether the first row and column stay in sight, and the first row has filters; then ``size`` is the
            number of all its rows.
        links: names of other sheets, by the cell that links to them.
    """

    name: str
    widths: Sequence[int]
    rows: Iterable[Sequence[Cell]]
    is_table: bool = False
    size: int = 0
    links: Mapping[str, str] = field(default_factory=dict)


def write_xlsx(sheets: Sequence[Sheet], path: Path | BinaryIO) -> None:
    """Writes a workbook. The same sheets give the same bytes."""
    with zipfile.ZipFile(path, "w") as book:
        for name, text in _frame([sheet.name for sheet in sheets]).items():
            book.writestr(_entry(name), text)
        for number, sheet in enumerate(sheets, 1):
            with book.open(_entry(_file_of(number)), "w", force_zip64=True) as stream:
                stream.writelines(part.encode("utf-8", "replace") for part in _xml_of(sheet))


def free_name(name: str, taken: Iterable[str]) -> str:
    """A name for a sheet. Excel refuses long names, two that differ only in case, and "History".

    Args:
        name: of letters, digits and underscores.
    """
    used = {"history", *(other.lower() for other in taken)}
    free, number = name[:LONGEST_NAME], 2
    while free.lower() in used:
        free = f"{name[: LONGEST_NAME - 1 - len(str(number))]}_{number}"
        number += 1
    return free


def is_too_long(text: str) -> bool:
    """Whether a text does not fit into a cell."""
    if len(text) > MOST_CHARACTERS:
        return True
    return not text.isascii() and len(text.encode("utf-16-le", "surrogatepass")) > 2 * MOST_CHARACTERS


@lru_cache(maxsize=MOST_COLUMNS)
def letters(place: int) -> str:
    """The letters of a column: A for 0, AA for 26."""
    rest, last = divmod(place, 26)
    return (letters(rest - 1) if rest else "") + chr(ord("A") + last)


def _entry(name: str) -> zipfile.ZipInfo:
    """A file of the workbook, without the time at which it was written."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _file_of(number: int) -> str:
    return f"xl/worksheets/sheet{number}.xml"


def _xml_of(sheet: Sheet) -> Iterator[str]:
    yield f'{_XML}<worksheet xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
    area = f"A1:{letters(len(sheet.widths) - 1)}{sheet.size}" if sheet.is_table and sheet.widths else ""
    if area:
        yield f'<dimension ref="{area}"/>'
        yield '<sheetViews><sheetView workbookViewId="0"><pane xSplit="1" ySplit="1" topLeftCell="B2" '
        yield 'activePane="bottomRight" state="frozen"/></sheetView></sheetViews>'
    if sheet.widths:
        yield "<cols>"
        for number, width in enumerate(sheet.widths, 1):
            yield f'<col min="{number}" max="{number}" width="{width}" customWidth="1"/>'
        yield "</cols>"
    yield "<sheetData>"
    yield from (_row(number, cells) for number, cells in enumerate(sheet.rows, 1))
    yield "</sheetData>"
    if area:
        yield f'<autoFilter ref="{area}"/>'
    if sheet.links:
        links = (f'<hyperlink ref="{at}" location="\'{name}\'!A1"/>' for at, name in sheet.links.items())
        yield from chain(("<hyperlinks>",), links, ("</hyperlinks>",))
    yield "</worksheet>"


def _row(number: int, cells: Sequence[Cell]) -> str:
    found = "".join(_cell(f"{letters(place)}{number}", *cell) for place, cell in enumerate(cells))
    return f'<row r="{number}">{found}</row>'


def _cell(at: str, value: Value, style: Style) -> str:
    if isinstance(value, float) and isfinite(value):
        return f'<c r="{at}" s="{style:d}"><v>{value!r}</v></c>'
    if isinstance(value, str):
        if style in _OF_NUMBERS or style == Style.PLAIN:
            style = Style.QUOTED if value.startswith(_FORMULA) else Style.PLAIN
        return f'<c r="{at}" s="{style:d}" t="inlineStr"><is><t xml:space="preserve">{_text(value)}</t></is></c>'
    if isinstance(value, bool):
        return f'<c r="{at}" t="b"><v>{value:d}</v></c>'
    if isinstance(value, int):
        if abs(value) >= _LONGEST_NUMBER:
            return _cell(at, str(value), Style.PLAIN)
        return f'<c r="{at}" s="{style:d}"><v>{value}</v></c>'
    return ""  # absent, NaN or infinite


@lru_cache(maxsize=4096)
def _text(value: str) -> str:
    """A text of a cell: visible characters that XML allows, of which none is read as an escape, cut to fit."""
    shown = _NOT_XML.sub("\ufffd", safe_text(value, MOST_CHARACTERS))
    if is_too_long(shown):
        shown = shown[: MOST_CHARACTERS // 2] + ELLIPSIS
    return escape(_ESCAPE_OF_EXCEL.sub("_x005F_", shown))


def _frame(names: Sequence[str]) -> dict[str, str]:
    """The files of a workbook that name its sheets."""
    numbered = list(enumerate(names, 1))
    types = "".join(
        f'<Override PartName="/{_file_of(number)}" ContentType="{_SHEETS}.worksheet+xml"/>' for number, _ in numbered
    )
    sheets = "".join(f'<sheet name="{escape(name)}" sheetId="{at}" r:id="rId{at}"/>' for at, name in numbered)
    links = "".join(_link(number, "worksheet", f"worksheets/sheet{number}.xml") for number, _ in numbered)
    opened = f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">'
    return {
        "[Content_Types].xml": f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEETS}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_SHEETS}.styles+xml"/>{types}</Types>',
        "_rels/.rels": f"{opened}{_link(1, 'officeDocument', 'xl/workbook.xml')}</Relationships>",
        "xl/workbook.xml": f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{sheets}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f"{opened}{links}{_link(len(names) + 1, 'styles', 'styles.xml')}</Relationships>",
        "xl/styles.xml": _styles(),
    }


def _link(number: int, kind: str, target: str) -> str:
    return f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'


def _styles() -> str:
    formats = {text: number for number, text in enumerate(dict.fromkeys(text for text, _ in _LOOKS.values()), 164)}
    shown = "".join(f'<numFmt numFmtId="{number}" formatCode="{text}"/>' for text, number in formats.items())
    fonts = "".join(
        f'<font>{of_font}<sz val="{14 if style == Style.TITLE else 11}"/><name val="Calibri"/></font>'
        for style, (_, of_font) in _LOOKS.items()
    )
    looks = "".join(
        f'<xf numFmtId="{formats[text]}" fontId="{style:d}" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" '
        f'applyFont="1"{quoted if style == Style.QUOTED else ""}/>'
        for quoted in (' quotePrefix="1"',)
        for style, (text, _) in _LOOKS.items()
    )
    return (
        f'{_XML}<styleSheet xmlns="{_MAIN}"><numFmts count="{len(formats)}">{shown}</numFmts>'
        f'<fonts count="{len(_LOOKS)}">{fonts}</fonts>'
        '<fills count="2"><fill><patternFill patternType="none"/></fill>'
        '<fill><patternFill patternType="gray125"/></fill></fills>'
        '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
        '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
        f'<cellXfs count="{len(_LOOKS)}">{looks}</cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
    )
