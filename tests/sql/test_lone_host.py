"""What a side did not record, or recorded without times, is no change of the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlcompare.compare.inputs import SideInput
from rlcompare.writer import SampleRun, write_sample
from rlcompare.writer.spec import parse_change
from tests.sql.rollup_stores import compared, side
from tests.stores import store_of

HOST = ("operator_details.csv", "api_statistic.csv")


@pytest.mark.slow
@pytest.mark.parametrize("also", [(), HOST], ids=["sums", "nothing"])
def test_a_side_without_a_trace(tmp_path: Path, also: tuple[str, ...]) -> None:
    """Its profiler's sums of operators and calls have no times, so nothing tells what its device waits for."""
    # GIVEN text profiles, and a slower kernel where trace_view.json is missing
    sides: list[SideInput] = []
    for name, changes in (("old", ()), ("new", (parse_change("slower:MatMulV2:1.3"),))):
        run = SampleRun(ranks=(0, 1), steps=(), layers=2, decode_steps=2, export="text", changes=changes)
        write_sample(run, tmp_path / name)
        for file in ("trace_view.json", *also) if name == "new" else ():
            for found in (tmp_path / name).rglob(file):
                found.unlink()
        sides.append(side(name, store_of(tmp_path / name, tmp_path / f"{name}.duckdb", keep_events=False)))

    diff = compared(*sides)

    # THEN the kernel is the cause, and idle time is one row
    assert "MatMulV2 takes 30 % longer per call" in diff.causes[0].text
    assert all("MatMulV2" in cause.text or "runs nothing" in cause.text for cause in diff.causes)
    idle = [row for row in diff.sections["account"].rows if row["kind"] not in ("compute", "wait", "comm")]
    assert [(row["name"], row["presence"]) for row in idle] == [("free", "both")]
    # AND copies are not gone, but unknown, and sizes of collectives are not what moved over links
    assert all(row["delta"] is None for row in diff.sections["copies"].rows)
    assert diff.sections["copies"].rows, "the old side has some"
    assert all(row["new_bytes"] is None for row in diff.sections["collectives"].rows)
