"""README.md in both languages; the policy of docs/gate.md does what it says. ``test_commands`` runs what they show."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rlcompare.cli.diff import FORMATS
from tests.cli.conftest import Command, rlcompare

from .places import ROOT

__all__ = ["rlcompare"]

README, CHINESE, GATE = ROOT / "README.md", ROOT / "README.zh-CN.md", ROOT / "docs" / "gate.md"
ELIDED = "…"


def blocks(document: Path) -> list[list[str]]:
    """The lines of each block of code."""
    found = re.findall(r"^```\w*\n(.*?)^```", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [block.splitlines() for block in found]


def printed(document: Path, command: str) -> list[str]:
    """The lines that a document shows below a command."""
    return next(lines[1:] for lines in blocks(document) if lines[0] == f"$ {command}")


def commands(document: Path) -> list[str]:
    """The commands that a document shows, without comments."""
    lines = [line.removeprefix("$ ") for block in blocks(document) for line in block]
    return [line.partition("#")[0].strip() for line in lines if line.startswith(("rlcompare ", "pip "))]


def test_both_languages_have_the_same_commands_links_and_output() -> None:
    assert commands(CHINESE) == commands(README)
    for document, other in ((README, CHINESE), (CHINESE, README)):
        assert f"]({other.name})" in document.read_text(encoding="utf-8")
    rows = [re.findall(r"^\| \[.*?\]\((.*?)\)", page.read_text(encoding="utf-8"), re.M) for page in (README, CHINESE)]
    assert rows[0] == rows[1] and len(rows[0]) >= 8, "the table of documents"
    for lines in blocks(CHINESE):
        if lines[0].startswith("$ ") and len(lines) > 1 and not lines[1].startswith("$ "):
            shown = printed(README, lines[0].removeprefix("$ "))
            assert [line for line in lines[1:] if line not in (*shown, ELIDED)] == []


@pytest.mark.parametrize("document", [README, CHINESE, ROOT / "docs" / "design.md"], ids=lambda path: path.name)
def test_every_format_is_listed(document: Path) -> None:
    lists = re.findall(r"`--format ([\w,]+,[\w,]+)`", document.read_text(encoding="utf-8"))
    assert [sorted(found.split(",")) for found in lists] == [sorted(set(FORMATS) - {"html", "json"})]


def test_the_user_guide_says_what_each_format_is_for() -> None:
    page = (ROOT / "docs" / "user-guide.md").read_text(encoding="utf-8")
    table = page.partition("| format | file | for |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == sorted(set(FORMATS) - {"html", "json"})


def test_the_picture_of_the_report_is_small() -> None:
    picture = ROOT / "docs" / "report.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 250_000


@pytest.mark.slow
def test_the_policy_lets_no_step_pass_that_takes_half_as_long_again(rlcompare: Command) -> None:
    """Training's own times are in seconds, those of a profile in ms."""
    block = re.search(r"```toml\n(.*?)```", GATE.read_text(encoding="utf-8"), re.DOTALL)
    assert block
    Path("rlcompare.toml").write_text(block[1])
    for name, step in (("base", 0.193), ("slow", 0.288), ("same", 0.1935)):
        timers = {"timing_s/step": step, "timing_s/update_actor": step / 2}
        lines = [json.dumps({"step": number, "data": timers}) for number in range(1, 6)]
        Path(f"{name}.jsonl").write_text("\n".join(lines))

    slow = rlcompare("gate", "-d", "slow.jsonl", "-bp", "base.jsonl")
    found = "timing_s/step: expected at most the larger of +5.0 % and +1 ms, found +49.2 %"
    assert (slow.code, found in slow.out) == (1, True)
    assert rlcompare("gate", "-d", "same.jsonl", "-bp", "base.jsonl").code == 0
