"""docs/stability.md and docs/public.txt: the public names are those of the code, and each format says its number."""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path

import pytest

import rlcompare
from rlcompare.cli.main import run
from rlcompare.db import SCHEMA_VERSION
from tools.public_surface import TARGET, text

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "stability.md"


def test_public_names_are_those_that_are_listed() -> None:
    listed = TARGET.read_text(encoding="utf-8").splitlines()
    changes = [line for line in difflib.ndiff(listed, text().splitlines()) if line[0] in "+-"]
    assert not changes, (
        "what is public changed (-: gone, breaks users; +: new, a promise). If that is meant: "
        "python -m tools.public_surface --write, and CHANGELOG.md\n" + "\n".join(changes)
    )


def test_the_list_has_what_users_rely_on() -> None:
    """A list that is made by a tool could be made empty by it. These lines were written by hand."""
    listed = set((ROOT / "docs" / "public.txt").read_text(encoding="utf-8").splitlines())
    assert listed >= {
        "rlcompare diff -d --new --profiling_path --profiling-path",
        "rlcompare gate --on-inconclusive pass|warn|fail",
        "exit code 5 NOT_COMPARABLE",
        "rlcompare.Run.sql(self, query: str) -> Table",
        "class rlcompare.errors.InputError(RlcompareError)",
        "format rlcompare.diff/1",
        "diff.json overall[].metric",
        "gate.json verdicts[].status",
        "policy rule[].max_increase",
        "query longest_kernels",
    }
    assert [line for line in listed if re.match(r"table kernel \(.*\bstart_ns, end_ns\b", line)]


def test_every_format_has_its_number_on_the_page() -> None:
    listed = (ROOT / "docs" / "public.txt").read_text(encoding="utf-8").splitlines()
    numbers = {line.removeprefix("format ") for line in listed if line.startswith("format ")}
    assert set(re.findall(r"rlcompare\.[a-z]+/\d+", PAGE.read_text(encoding="utf-8"))) == numbers


def test_every_schema_in_the_code_is_listed() -> None:
    """Whatever is written as ``rlcompare.NAME/N`` in any module is one of the formats."""
    package = Path(rlcompare.__file__).parent
    found = {
        number
        for path in package.rglob("*.py")
        for number in re.findall(r'"(rlcompare\.[a-z_-]+/\d+)"', path.read_text(encoding="utf-8"))
    }
    listed = (ROOT / "docs" / "public.txt").read_text(encoding="utf-8")
    assert found and not {number for number in found if f"format {number}\n" not in listed}


@pytest.mark.slow
def test_a_store_has_its_number(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "run.duckdb"
    profile = ROOT / "golden" / "inputs" / "text_level1_new"
    assert run(["ingest", str(profile), "-o", str(store), "-q"]) == 0
    capfd.readouterr()
    query = "select value from meta where key = 'schema_version'"
    assert run(["sql", str(store), query, "--format", "json"]) == 0
    assert json.loads(capfd.readouterr().out) == [{"value": str(SCHEMA_VERSION)}]
