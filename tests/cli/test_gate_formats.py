"""What ``rlcompare gate`` leaves for a CI system: files, one format on standard output, annotations and a summary."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from .conftest import Command

POLICY = '[gate]\nevidence = "limits"\n[[rule]]\nmetric = "time.path"\nmax_increase = "5%"\n'
FORMATS = "pr,junit,code-quality,sarif"
FILES = {"pull-request.md", "junit.xml", "code-quality.json", "report.sarif"}


@pytest.fixture
def document(rlcompare: Command, compared: Path) -> Path:
    """The diff.json of the slower run, beside a policy that it fails."""
    Path("rlcompare.toml").write_text(POLICY)
    return Path(shutil.copytree(compared, "made")) / "diff.json"


def test_files_and_the_same_on_standard_output(rlcompare: Command, document: Path) -> None:
    assert rlcompare("gate", document, "-o", "out", "--format", FORMATS).code == 1
    assert {path.name for path in Path("out").iterdir()} >= FILES
    printed = rlcompare("gate", document, "--print", "junit")
    assert (printed.code, printed.err) == (1, "")
    assert printed.out == Path("out/junit.xml").read_text(encoding="utf-8")
    failures = ElementTree.fromstring(printed.out).findall(".//failure")
    assert failures and "time.path" in str(failures[0].get("message"))
    assert Path("out/pull-request.md").read_text(encoding="utf-8").startswith("### 🔴 rlcompare: failed")

    assert rlcompare("gate", document, "-o", "out").code == 1
    assert not {path.name for path in Path("out").iterdir()} & FILES, "those of an earlier report are removed"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["gate", "made/diff.json", "--format", "junit"], "-o DIR"),
        (["gate", "made/diff.json", "--json", "--print", "junit"], "--print"),
        (["gate", "made/diff.json", "--format", "pdf", "-o", "out"], "pdf"),
        (["diff", "-d", "a", "-bp", "b", "--format", "md,junit"], "only rlcompare gate has verdicts"),
    ],
)
def test_what_cannot_be_written_is_wrong_usage(rlcompare: Command, arguments: list[str], named: str) -> None:
    result = rlcompare(*arguments)
    assert (result.code, named in result.error) == (2, True)


def test_standard_output_is_utf_8_whatever_its_encoding(
    rlcompare: Command, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", errors="backslashreplace"))
    rlcompare("gate", document, "--print", "pr")
    assert raw.getvalue().decode("utf-8").startswith("### 🔴 rlcompare: failed")


def test_github(rlcompare: Command, document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = Path("summary.md")
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    result = rlcompare("gate", document, "--github")
    lines = result.out.splitlines()
    errors = [number for number, line in enumerate(lines) if line.startswith("::error title=rlcompare%3A time.path")]
    assert (result.code, len(errors)) == (1, 1)
    token = lines[0].removeprefix("::stop-commands::")
    assert lines.index(f"::{token}::") < errors[0]
    assert summary.read_text(encoding="utf-8").startswith("before\n### 🔴 rlcompare: failed")

    as_json = rlcompare("gate", document, "--github", "--json")
    assert json.loads(as_json.out)["exit_code"] == 1
    assert as_json.err.startswith("::error ")


@pytest.mark.parametrize("path", ["", "no/such/folder/summary.md"])
def test_a_summary_that_cannot_be_written_leaves_the_exit_code(
    rlcompare: Command, document: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", path)
    result = rlcompare("gate", document, "--github")
    assert (result.code, "no summary was written" in result.err) == (1, True)
    assert "::error" in result.out


def test_nothing_is_said_to_github_unasked(rlcompare: Command, document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    assert "::" not in rlcompare("gate", document).out
    assert not Path("summary.md").exists()
