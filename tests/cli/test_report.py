"""``rlcompare report``: a page, Markdown or a workbook from a diff.json alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rlcompare.model.diff import Diff, Section
from rlcompare.report.write import write_report
from tests.unit import diff_examples

from .conftest import Command


@pytest.fixture
def document() -> Path:
    """A diff.json of hand-made values in the folder ``made``, with its page."""
    write_report(diff_examples.regression(), Path("made"), {"md"})
    return Path("made/diff.json")


def _long() -> Diff:
    rows = tuple(diff_examples.row(f"k{place}", 1.0, 2.0 + 1 / (place + 1)) for place in range(6_000))
    return replace(diff_examples.regression(), sections={"kernels": Section("kernels", "ms", (), 1.0, "", rows)})


def _texts(page: str) -> list[str]:
    """What a page shows, without the values by which its tables are sorted."""
    body = page[page.index("<body>") : page.index("<script>")]
    return [text.strip() for text in re.split("<[^>]*>", body) if text.strip()]


def test_the_page_shows_what_that_of_diff_shows(rlcompare: Command, document: Path) -> None:
    assert rlcompare("report", document, "-o", "page.html").code == 0
    assert _texts(Path("page.html").read_text()) == _texts(Path("made/report.html").read_text())


def test_markdown_on_standard_output(rlcompare: Command, document: Path) -> None:
    result = rlcompare("report", document, "-o", "-", "--format", "md")
    assert (result.code, result.err) == (0, "")
    with_picture = Path("made/report.md").read_text()
    picture = re.search(r"!\[.*?\]\(report.svg\)\n\n", with_picture)
    assert picture and result.out == with_picture.replace(picture[0], ""), "it is one file"
    rlcompare("report", document, "-o", "page.md")
    rlcompare("report", document, "-o", "upper.MD")
    assert Path("upper.MD").read_text() == Path("page.md").read_text()
    assert Path("page.md").read_text() == result.out, "the ending of the file is the format"


def test_without_an_ending_it_is_a_page(rlcompare: Command, document: Path) -> None:
    for arguments in (["-o", "page"], ["-o", "page.htm"], ["-o", "page.csv", "--format", "html"]):
        assert rlcompare("report", document, *arguments).code == 0
        assert Path(arguments[1]).read_text()[:9].lower() == "<!doctype"


def test_a_workbook_has_all_rows(rlcompare: Command) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    write_report(_long(), Path("made"), set())
    assert rlcompare("report", "made/diff.json", "-o", "t.xlsx").code == 0
    assert openpyxl.load_workbook("t.xlsx", read_only=True)["kernels"].max_row == 6_001
    assert rlcompare("report", "made/diff.json", "-o", "-", "--format", "xlsx").code == 2


@pytest.mark.parametrize("output", ["page.html", "page.md"])
def test_a_document_without_its_files_says_so(rlcompare: Command, output: str) -> None:
    write_report(_long(), Path("made"), set())
    assert rlcompare("report", "made/diff.json", "-o", output).err == ""
    Path("made/diff.json").rename("alone.json")
    result = rlcompare("report", "alone.json", "-o", output)
    assert (result.code, result.err) == (
        0,
        "rlcompare: warning: data/kernels.parquet is not beside alone.json: only 5,000 of 6,000 rows of kernels are"
        " known\n",
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["made/diff.json", "-o", "made"], 2, "made is a folder"),
        (
            ["made/diff.json", "-o", "tables.csv"],
            2,
            "no format of this command ends in .csv: use .html, .md, .xlsx, or --format",
        ),
        (["made/diff.json", "-o", "made/diff.json"], 2, "exists, and only files named"),
        (["made/diff.json", "-o", "no/such/page.html"], 2, "cannot be written (No such file or directory)"),
        (["made/report.html", "-o", "page.html"], 4, "not valid JSON"),
        (["-o", "page.html"], 4, "rlcompare-out/diff.json"),
    ],
)
def test_what_cannot_be_done(rlcompare: Command, document: Path, arguments: list[str], code: int, message: str) -> None:
    before = document.read_bytes()
    result = rlcompare("report", *arguments)
    assert (result.code, message in result.error) == (code, True), result.err
    assert document.read_bytes() == before
    assert not Path("page.html").exists()
