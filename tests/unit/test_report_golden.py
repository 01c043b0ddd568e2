"""One expected file per output format, rendered from one example diff (golden/README.md)."""

from __future__ import annotations

import json
import re

import pytest

from rlcompare.model.diff import Diff
from rlcompare.report.code_quality import render_code_quality
from rlcompare.report.csv_files import csv_texts
from rlcompare.report.document import from_document, to_document, to_json
from rlcompare.report.gate_text import gate_document
from rlcompare.report.html import render_html
from rlcompare.report.junit import render_junit
from rlcompare.report.markdown import render_markdown
from rlcompare.report.pull_request import render_pull_request
from rlcompare.report.sarif import render_sarif
from rlcompare.report.terminal import summary_lines, table_lines, warning_lines
from rlcompare.report.view import ReportView, build_view
from tests.golden import EXPECTED, assert_golden
from tests.unit import diff_examples


@pytest.fixture
def diff() -> Diff:
    return diff_examples.regression()


@pytest.fixture
def view(diff: Diff) -> ReportView:
    return build_view(diff, diff_examples.verdicts(), version="0.0")


def test_terminal(view: ReportView) -> None:
    assert_golden("summary.txt", "\n".join(summary_lines(view) + warning_lines(view) + table_lines(view)) + "\n")


def test_html(view: ReportView) -> None:
    page = re.sub("<(style|script)>.*?</\\1>|<meta http-equiv.*?>", "", render_html(view), flags=re.DOTALL)
    assert_golden("report.html", page)


def test_markdown(view: ReportView) -> None:
    assert_golden("report.md", render_markdown(view))


def test_document(diff: Diff) -> None:
    assert_golden("diff.json", to_json(to_document(diff)))


def test_csv(diff: Diff) -> None:
    assert_golden("kernels.csv", csv_texts(diff)["kernels.csv"])


def test_gate(diff: Diff) -> None:
    assert_golden("gate.txt", "\n".join(diff_examples.gate_lines(diff_examples.verdicts(), diff)) + "\n")
    assert_golden("gate.json", json.dumps(gate_document(diff_examples.verdicts(), diff), indent=1) + "\n")


def test_ci(view: ReportView) -> None:
    verdicts = diff_examples.verdicts()
    assert_golden("pull-request.md", render_pull_request(view, verdicts))
    assert_golden("junit.xml", render_junit(verdicts))
    assert_golden("code-quality.json", render_code_quality(verdicts, "rlcompare.toml"))
    assert_golden("report.sarif", render_sarif(verdicts, "rlcompare.toml", version="0.0"))


def test_kept_document_can_still_be_read(diff: Diff) -> None:
    """A document of an earlier version of the program stays readable."""
    assert from_document(json.loads((EXPECTED / "diff.json").read_text(encoding="utf-8"))) == diff
