"""What `make demo` shows: no line of its terminal output, Markdown and page contradicts another."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from rlcompare.report.shares import BEYOND
from tests.agreement import (
    NUMBER,
    Page,
    bar_contradictions,
    bare,
    differing_rows,
    markdown_rows,
    profile_contradictions,
    row_contradictions,
    sentence_contradictions,
    share_contradictions,
    terminal_rows,
)
from tests.collect.test_run import FAST

pytestmark = pytest.mark.slow

MAKEFILE = Path(__file__).parents[2] / "Makefile"
TITLES = {"Overall": "overall", "Framework operators": "operators", "Phases of the step": "phases"}


def commands() -> list[list[str]]:
    """The commands of `make demo`, with fewer steps for its runs, and Markdown beside its report."""
    text = MAKEFILE.read_text(encoding="utf-8")
    recipe = text[text.index("\ndemo:") :].split("\n\n")[0]
    found = []
    for line in re.findall(r"@\$\(BIN\)/(rlcompare [^;\n]*)", recipe):
        words = shlex.split(line.replace("$(DEMO)", "demo"))[1:]
        found.append([*words, *{"run": FAST, "diff": ("--format", "md")}.get(words[0], ())])
    return found


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, Page, dict[str, Any]]:
    """The terminal output of `rlcompare diff`, the Markdown, the page and the document."""
    folder = tmp_path_factory.mktemp("demo")
    told = {}
    for words in commands():
        command = [sys.executable, "-c", "from rlcompare.cli.main import main; main()", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode in ((0, 1, 3) if words[0] == "gate" else (0,)), done.stderr
        told[words[0]] = done.stdout
    report = folder / "demo" / "report"
    page = Page((report / "report.html").read_text(encoding="utf-8"))
    document = json.loads((report / "diff.json").read_text(encoding="utf-8"))
    return told["diff"], (report / "report.md").read_text(encoding="utf-8"), page, document


Demo = tuple[str, str, Page, dict[str, Any]]


def test_the_makefile_has_the_commands_of_the_demo() -> None:
    assert [words[0] for words in commands()] == ["run", "run", "diff", "gate"]


def test_rows_agree_with_themselves_and_with_each_other(demo: Demo) -> None:
    terminal, markdown, page, _ = demo
    shown, written = list(terminal_rows(terminal)), list(markdown_rows(markdown))
    assert len(shown) > 5 and written and len(page.rows) > 100
    for rows in (shown, written, page.rows):
        assert not list(row_contradictions(rows))
    assert not list(differing_rows(shown, page.rows, TITLES))
    assert not list(differing_rows(written, page.rows, TITLES))


def test_the_headline_is_the_same_everywhere(demo: Demo) -> None:
    terminal, markdown, page, _ = demo
    line = next(line for line in terminal.splitlines() if line.startswith("headline"))
    values = re.search(rf"(\S+) ({NUMBER}) → ({NUMBER}) \w+ · ({NUMBER}) \w+ \(([^)]+)\)", line)
    assert values
    metric, baseline, new, delta, change = values.groups()
    row = next(row for row in page.rows if row.section == "overall" and row.name == metric)
    assert row.cells[:4] == (baseline, new, delta, bare(change))
    verdict = row.tone.removeprefix("noise")
    answer, title = terminal.splitlines()[0].removeprefix("answer").strip(), markdown.splitlines()[0].partition(": ")[2]
    assert answer.startswith(title) and bool(verdict) == bool(re.search("slower|longer|as long|less time", title))
    assert any(all(part in text for part in (metric, delta, change)) for text in page.texts)
    assert line.partition("headline")[2].strip() in " ".join(markdown.split())


def test_shares_sum_to_the_whole_change(demo: Demo) -> None:
    terminal, markdown, page, document = demo
    assert not list(share_contradictions(terminal.split("\n\n")[0]))
    assert not list(share_contradictions(markdown))
    chips = [int(found) for text in page.texts for found in re.findall(r"(-?\d+) % of the change", text)]
    told_by_times = any(cause["share"] > BEYOND for cause in document["causes"])
    assert abs(sum(chips) - 100) <= len(chips) or told_by_times or not document["causes"]


def test_causes_agree_with_phases(demo: Demo) -> None:
    terminal, markdown, page, document = demo
    phases = {
        row["name"]: row["delta"] for row in document["sections"]["phases"]
        if row["delta"] is not None and row["kind"] == "wall"
    }  # fmt: skip
    sentences = [(cause["text"], cause["delta_ms"]) for cause in document["causes"]]
    assert not list(sentence_contradictions(sentences, phases))
    said = "".join(" ".join(page.texts).split())
    for text, _ in sentences:
        assert "".join(text.split()) in said
    first = "".join(document["causes"][0]["text"].split()) if document["causes"] else ""
    assert first in "".join(terminal.split()) and first in "".join(markdown.split())
    for name, change in re.findall(r"(\w+) ([-+]\d[\d.,]*) ms \(", terminal):
        assert name not in phases or float(change.replace(",", "")) * phases[name] >= 0


def test_bars_are_as_long_as_their_numbers(demo: Demo) -> None:
    page = demo[2]
    assert len(page.bars) >= 2
    assert not list(bar_contradictions(page))


def test_what_the_profile_saw_otherwise_is_not_judged(demo: Demo) -> None:
    assert not list(profile_contradictions(demo[2]))
