"""Sums and shares of tables, and the rows that causes mark."""

from __future__ import annotations

import math
from dataclasses import replace

from rlcompare.model.diff import Cause, Rest, Row, Section
from rlcompare.report.cause_rows import anchors_of, marks_of
from rlcompare.report.tables import Table, section_table
from tests.unit import diff_examples
from tests.unit.diff_examples import row


def table_of(section: Section, limit: int = 500, floor: float = 0.0) -> Table:
    return section_table(section, floor, limit)


def sums(table: Table) -> dict[str, tuple[str, ...]]:
    return {found.part: tuple(cell.text for cell in found.cells[:4]) for found in table.sums}


KERNELS = Section(
    "kernels", "ms", (), 1.0, "", (row("a", 10.0, 16.0), row("b", 5.0, 3.0), row("c", 2.0, 2.001), row("d", 1.0, 1.0))
)


def test_lines_below_a_table_add_up() -> None:
    assert sums(table_of(KERNELS, limit=3)) == {
        "changed": ("2 rows that changed", "15.000", "19.000", "+4.000"),
        "same": ("1 row without notable change", "2.000", "2.001", "+0.001"),
        "beyond": ("1 row that is not on this page", "1.000", "1.000", "0.000"),
        "all": ("4 rows in all", "18.000", "22.001", "+4.001"),
    }


def test_rows_that_a_document_leaves_out_are_in_the_sum() -> None:
    found = table_of(replace(KERNELS, rest=(Rest(7, 1.5, 2.5, 1.0), Rest(2, 0.5, 0.5, 0.0))))
    assert sums(found)["beyond"] == ("9 rows that are not on this page", "2.000", "3.000", "+1.000")
    assert sums(found)["all"] == ("13 rows in all", "20.000", "25.001", "+5.001")
    assert found.beyond == "9 more rows are in data/kernels.parquet."


def test_what_is_unknown_in_one_row_is_unknown_in_the_sum() -> None:
    found = table_of(replace(KERNELS, rows=(*KERNELS.rows, row("e", 4.0, None))))
    assert sums(found)["all"] == ("5 rows in all", "22.000", "—", "—")
    assert "change_share" not in [column.key for column in found.columns]


def test_times_within_each_other_have_no_sum() -> None:
    assert not table_of(replace(KERNELS, name="modules")).sums
    assert not table_of(replace(KERNELS, name="ranks")).sums


def shares(section: Section, floor: float = 0.0) -> list[str]:
    found = table_of(section, floor=floor)
    places = [place for place, column in enumerate(found.columns) if column.key == "change_share"]
    return [line.cells[places[0]].text for line in found.rows] if places else []


def test_shares_are_of_the_change_of_the_whole_table() -> None:
    one_way = replace(KERNELS, rows=(row("a", 10.0, 16.0), row("b", 5.0, 8.0), row("c", 3.0, 4.0)))
    assert shares(one_way) == ["60 %", "30 %", "10 %"]
    found = table_of(one_way)
    place = [column.key for column in found.columns].index("change_share")
    assert math.isclose(sum(float(line.cells[place].sort or 0) for line in found.rows), 1.0)


def test_no_shares_of_a_change_that_others_made_up_for() -> None:
    assert shares(KERNELS) == []  # 6 ms of 4 ms
    assert shares(replace(KERNELS, rows=(row("a", 10.0, 10.4), row("b", 5.0, 5.1))), floor=0.5) == []


def test_the_largest_change_left_out_is_told() -> None:
    assert (
        table_of(KERNELS, limit=2).beyond
        == "2 more rows are in diff.json; none of them changed by more than 0.00100 ms."
    )
    assert table_of(KERNELS).beyond == ""


def test_causes_mark_their_rows() -> None:
    rows = (
        row("MatMul", 10.0, 20.0, kind="compute", phase="update_actor"),
        row("MatMul", 10.0, 12.0, kind="compute", phase="adv"),
        row("idle", 1.0, 3.0, kind="python", phase="adv"),
    )
    parts: tuple[Row, ...] = (
        {"kind": "compute", "phase": "adv", "name": "MatMul", "delta_ms": 2.0},
        {"kind": "python", "phase": "adv", "name": "idle", "delta_ms": 2.0},
        {"kind": "compute", "phase": "adv", "name": None, "delta_ms": 0.1},
    )
    timer: tuple[Row, ...] = ({"kind": "timer", "phase": None, "name": "adv"},)
    base = diff_examples.regression()
    diff = replace(
        base,
        causes=(
            Cause("operator_time", 0.9, 4.1, "", "kernels", "MatMulV2", parts),
            Cause("python", 0.1, 2.0, "", "account", "idle"),
            Cause("unknown", 0.0, 0.0, "", "", "nowhere", timer),
        ),
        sections={**base.sections, "account": Section("account", "ms", ("kind", "phase"), 1.0, "", rows)},
    )
    marks = marks_of(diff)
    assert marks == {"kernels": {1: (1,)}, "account": {1: (1,), 2: (1, 2)}, "phases": {6: (3,)}}
    assert anchors_of(marks, 1, rows=500) == ("s-kernels:2", "s-account:2", "s-account:3")
    assert anchors_of(marks, 2, rows=500) == ("s-account:3",)
    assert anchors_of(marks, 3, rows=5) == ()
