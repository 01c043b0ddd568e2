"""tables.xlsx, read back with openpyxl: its sheets, texts that look like formulas, and the limits of Excel."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rlcompare.model.diff import Diff, Section
from rlcompare.report import xlsx
from rlcompare.report.columns import tables_of
from rlcompare.report.data_files import cut
from rlcompare.report.tables import title_of
from rlcompare.report.view import build_view
from rlcompare.report.workbook import write_workbook
from rlcompare.report.write import write_report
from tests.unit import diff_examples

openpyxl = pytest.importorskip("openpyxl")


def _book(diff: Diff, folder: Path) -> Any:
    path = folder / "tables.xlsx"
    write_workbook(diff, build_view(diff), path)
    return openpyxl.load_workbook(path)


def _readme(book: Any) -> list[list[Any]]:
    return [[value for value in row if value is not None] for row in book["README"].iter_rows(values_only=True)]


def test_a_sheet_per_table_with_the_rows_and_names_of_the_diff(tmp_path: Path) -> None:
    diff = diff_examples.regression()
    (path,) = [path for path in write_report(diff, tmp_path / "out", {"xlsx"}) if path.suffix == ".xlsx"]
    assert path.name == "tables.xlsx"
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["README", "overall", *(name for name, found in diff.sections.items() if found.rows)]
    for name in book.sheetnames[2:]:
        section = diff.sections[name]
        heading, *rows = book[name].iter_rows(values_only=True)
        columns = [str(text).removesuffix(f" ({section.unit})") for text in heading]
        found = [dict(zip(columns, row, strict=True)) for row in rows]
        assert found == [{column: row.get(column) for column in columns} for row in section.rows], name
        assert {column for row in section.rows for column in row} == set(columns)
    assert "baseline (ms)" in [cell.value for cell in book["kernels"][1]]
    assert book["kernels"].freeze_panes == "B2"
    assert book["kernels"].auto_filter.ref == f"A1:{book['kernels'].dimensions.partition(':')[2]}"


def test_the_first_sheet_has_the_answer_and_leads_to_the_others(tmp_path: Path) -> None:
    diff = diff_examples.regression()
    view = build_view(diff)
    book = _book(diff, tmp_path)
    lines = _readme(book)
    assert lines[0] == ["cann83 against cann82"]
    assert lines[1:3] == [[f"{view.answer.text}{view.answer.rest}."], [view.status_text]]
    values = f"{view.headline.baseline} → {view.headline.new}  {view.headline.delta}  {view.headline.change}"
    assert lines[5] == ["time.step", values]
    assert lines[6][1].startswith(diff.causes[0].text)
    kernels = diff.sections["kernels"]
    (number,) = [number for number, line in enumerate(lines, 1) if line[:1] == ["kernels"]]
    assert lines[number - 1] == ["kernels", title_of("kernels"), len(kernels.rows), *filter(None, [kernels.note])]
    assert book["README"][f"A{number}"].hyperlink.location == "'kernels'!A1"


def test_any_name_is_a_text_of_its_cell(tmp_path: Path) -> None:
    hostile = diff_examples.hostile()
    book = _book(hostile, tmp_path)
    cells = [row[0] for row in book["kernels"].iter_rows(min_row=2)]
    assert len(cells) == len(diff_examples.HOSTILE_NAMES)
    assert {cell.data_type for cell in cells} <= {"s", "inlineStr"}
    shown = [cell.value for cell in cells]
    assert "=cmd|' /C calc'!A0" in shown and "宽字符的核函数名称" in shown and r"\tTAB first" in shown
    assert len(shown[-1]) == 32_767
    formulas = [cell for cell in cells if cell.value.startswith(("=", "+", "-", "@"))]
    assert len(formulas) >= 4 and all(cell.quotePrefix for cell in formulas), (
        "Excel keeps them texts when they are edited"
    )
    texts = [text for table in tables_of(hostile).values() for row in table.rows for text in row.values()]
    long = [text for text in texts if isinstance(text, str) and len(text) > 32_767]
    assert [f"{len(long)} texts are cut to the 32,767 characters of a cell."] in _readme(book)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("_x0041_", "_x005F_x0041_"),  # Excel shows the first as A, and the second as it was
        ("a\x00\ufffe", "a\\x00\ufffd"),
        (" two  blanks ", " two  blanks "),
        (10**15, "1000000000000000"),
        (10**15 - 1, 10**15 - 1),
        (-1e-300, -1e-300),
        (float("nan"), None),
        (True, True),
    ],
)
def test_a_cell(tmp_path: Path, value: Any, shown: Any) -> None:
    diff = diff_examples.regression()
    section = Section("kernels", "ms", (), None, "", ({"name": "x", "value": value},))
    book = _book(replace(diff, sections={"kernels": section}), tmp_path)
    assert book["kernels"]["B2"].value == shown


def test_a_wide_character_takes_two_places_of_a_cell(tmp_path: Path) -> None:
    diff = diff_examples.regression()
    section = Section("kernels", "ms", (), None, "", ({"name": "😀" * 20_000},))
    book = _book(replace(diff, sections={"kernels": section}), tmp_path)
    assert len(book["kernels"]["A2"].value.encode("utf-16-le")) // 2 <= 32_767


def test_what_does_not_fit_into_a_sheet_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    diff = diff_examples.regression()
    monkeypatch.setattr(xlsx, "MOST_ROWS", 4)
    book = _book(diff, tmp_path)
    assert book["kernels"].max_row == 4
    (line,) = [line for line in _readme(book) if line[:1] == ["kernels"]]
    assert line[2] == len(diff.sections["kernels"].rows)
    assert line[-1].endswith(f"{line[2] - 3} rows do not fit into a sheet.")


def test_a_document_without_its_files_is_a_part(tmp_path: Path) -> None:
    rows = tuple(diff_examples.row(f"k{place}", 1.0, 2.0) for place in range(6_000))
    diff = cut(replace(diff_examples.regression(), sections={"kernels": Section("kernels", "ms", (), 1.0, "", rows)}))
    lines = _readme(_book(diff, tmp_path))
    assert [line[2:] for line in lines if line[:1] == ["kernels"]] == [[6_000, "Only the rows that diff.json holds."]]


def test_names_of_sheets() -> None:
    long = "a" * 40
    assert xlsx.free_name("kernels", ["README"]) == "kernels"
    assert xlsx.free_name("readme", ["README"]) == "readme_2"
    assert xlsx.free_name("history", []) == "history_2"
    assert xlsx.free_name(long, []) == "a" * 31
    second = xlsx.free_name(long, ["a" * 31])
    assert len(second) == 31 and second != xlsx.free_name(long, ["a" * 31, second])
    assert [xlsx.letters(place) for place in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]


def test_the_same_diff_gives_the_same_bytes_of_well_formed_xml(tmp_path: Path) -> None:
    diff = diff_examples.hostile()
    first, second = tmp_path / "a.xlsx", tmp_path / "b.xlsx"
    for path in (first, second):
        write_workbook(diff, build_view(diff), path)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as book:
        for name in book.namelist():
            ElementTree.fromstring(book.read(name))
