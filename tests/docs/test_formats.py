"""docs/formats.md: the table of what each input fills is what real profiles of these kinds fill."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.cli.conftest import Command, rlcompare

from .places import ROOT

__all__ = ["rlcompare"]

_ASCEND = "ascend-910b-2025-level01"
PROFILES = {
    "database Level0": f"{_ASCEND}/db/level0",
    "database Level1": f"{_ASCEND}/db/level1",
    "text Level0": f"{_ASCEND}/text/level0",
    "text Level1": f"{_ASCEND}/text/level1",
    "GPU trace": "gpu-dlrm-8rank/worker0_step_12.1694128201545.pt.trace.json",
    "CPU trace": "cpu-torch213-2rank/base",
}


def _documented() -> dict[str, dict[str, bool]]:
    """By kind of input and table, whether it is said to be filled."""
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    section = text.partition("\n## What each input fills\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    head, _, *body = rows
    return {
        kind: {row[0].strip("`"): {"●": True, "–": False}[row[place]] for row in body}
        for place, kind in enumerate(head[1:], 1)
    }


def test_the_table_is_of_these_profiles() -> None:
    assert list(_documented()) == list(PROFILES)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROFILES)
def test_what_an_input_fills(rlcompare: Command, profiles: Path, kind: str) -> None:
    assert rlcompare("ingest", profiles / PROFILES[kind], "-o", "run.duckdb", "-q", "--layout", "ranks").code == 0
    documented = _documented()[kind]
    with duckdb.connect("run.duckdb", read_only=True) as con:
        filled = {}
        for table in documented:
            ((count,),) = con.execute(f'SELECT count(*) FROM "{table}"').fetchall()
            filled[table] = count > 0
    assert filled == documented
