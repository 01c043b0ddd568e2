"""Long tables: diff.json has their most important rows, the Parquet file beside it has all of them."""

from __future__ import annotations

import json
import math
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest
from pyarrow import parquet

from rlcompare.app.documents import read_whole
from rlcompare.errors import InputError
from rlcompare.gate import judge, load_preset
from rlcompare.model.diff import METRICS_LEFT_OUT, Cause, Diff, Rest, Row, Section
from rlcompare.report import data_files
from rlcompare.report.data_files import FEW, completed, cut, missing_files
from rlcompare.report.document import from_document, read_document, to_document, to_json
from rlcompare.report.explain import explain
from rlcompare.report.step_parts import parts_of_step
from rlcompare.report.view import build_view
from rlcompare.report.write import write_report
from tests.unit import diff_examples

MANY = 20_000
SMALLEST = f"kernel_{MANY - 1:05}"
"""The row of the smallest change, which a cause names."""


def _rows(number: int, **further: Any) -> tuple[Row, ...]:
    """Rows whose changes become smaller, with values that no float sum gets right by luck."""
    draw = random.Random(number)
    found = []
    for place in range(number):
        baseline = draw.uniform(1, 2)
        row = diff_examples.row(f"kernel_{place:05}", baseline, baseline + (number - place) * 1e-4)
        found.append({**row, "phase": ("update_actor", "reward")[place % 2], **further})
    return tuple(found)


def _long() -> Diff:
    """A diff with two long tables; the headline is the critical path, and its only cause is the last row of it."""
    path = Section("path", "ms", ("kind", "phase"), 1.0, "", _rows(MANY, kind="compute"))
    kernels = Section("kernels", "ms", ("input_shapes",), 1.0, "Matched by name.", _rows(MANY, input_shapes="8,8"))
    named: Row = {"kind": "compute", "phase": path.rows[-1]["phase"], "name": SMALLEST, "delta_ms": 1.0}
    cause = Cause("operator_slower", 1.0, 1.0, "One kernel.", "kernels", SMALLEST, (named,))
    diff = diff_examples.regression()
    overall = (diff_examples.metric("time.path", 30_000.0, 50_000.0), *diff.overall)
    sections = {**diff.sections, "path": path, "kernels": kernels}
    return replace(diff, headline="time.path", overall=overall, causes=(cause,), sections=sections)


@pytest.fixture(scope="module")
def long() -> Diff:
    return _long()


@pytest.fixture(scope="module")
def folder(long: Diff, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("long") / "out"
    write_report(long, out, set())
    return out


def test_a_short_diff_is_left_as_it_is() -> None:
    for make in (diff_examples.regression, diff_examples.empty, diff_examples.hostile):
        diff = make()
        assert cut(diff) is diff
        assert [info["file"] for info in to_document(diff)["section_info"].values()] == [None] * len(diff.sections)


def test_the_rows_of_the_largest_changes_are_kept_and_those_of_causes(long: Diff) -> None:
    for name in ("kernels", "path"):
        whole, short = long.sections[name], cut(long).sections[name]
        assert len(short.rows) == data_files.ROWS and short.total == MANY
        assert short.rows[:-1] == whole.rows[: data_files.ROWS - 1], "their changes become smaller"
        assert short.rows[-1]["name"] == SMALLEST


def test_what_is_left_out_is_added_up(long: Diff) -> None:
    """Kept rows and sums together are the sums of all rows, for the critical path by phase."""
    for name in ("kernels", "path"):
        whole, short = long.sections[name], cut(long).sections[name]
        assert [rest.phase for rest in short.rest] == ([None] if name == "kernels" else ["reward", "update_actor"])
        for rest in short.rest:
            kept = {row["name"] for row in short.rows}
            out = [row for row in whole.rows if row["name"] not in kept and rest.phase in (None, row["phase"])]
            assert rest.rows == len(out)
            assert rest.delta == math.fsum(row["delta"] for row in out)  # type: ignore[misc]
            assert rest.new == math.fsum(row["new"] for row in out)  # type: ignore[misc]
    before, after = (parts_of_step(diff)[1] for diff in (long, cut(long)))
    assert [row["name"] for row in after] == [row["name"] for row in before]
    assert [row["delta"] for row in after] == pytest.approx([row["delta"] for row in before], rel=1e-9)


def test_rows_that_do_not_add_up_are_only_counted() -> None:
    diff = diff_examples.regression()
    modules = Section("modules", "ms", (), None, "", _rows(MANY))
    (rest,) = cut(replace(diff, sections={**diff.sections, "modules": modules})).sections["modules"].rest
    assert rest == Rest(MANY - data_files.ROWS, None, None, None)


def test_a_part_of_a_row_is_not_added_to_it() -> None:
    """Tasks of collectives are parts of these: the sum of what is left out counts the collectives alone."""
    diff = diff_examples.regression()
    whole, tasks = _rows(MANY), _rows(MANY, task="Notify_Wait")
    section = Section("collectives", "ms", (), None, "", (*whole, *tasks))
    short = cut(replace(diff, sections={"collectives": section})).sections["collectives"]
    (rest,) = short.rest
    kept = {row["name"] for row in short.rows if "task" not in row}
    assert rest.rows == 2 * MANY - len(short.rows)
    assert rest.delta == math.fsum(row["delta"] for row in whole if row["name"] not in kept)  # type: ignore[misc]


def test_long_names_fill_a_table_too() -> None:
    diff = diff_examples.regression()
    rows = tuple({**row, "name": f"{row['name']}<{'x' * 20_000}>"} for row in _rows(1_000))
    short = cut(replace(diff, sections={"kernels": Section("kernels", "ms", (), None, "", rows)}))
    assert data_files.FEW <= len(short.sections["kernels"].rows) < 1_000
    assert len(to_json(to_document(short))) < data_files.SIZE_BYTES + 100_000


def test_the_top_of_a_tree_is_kept() -> None:
    diff = diff_examples.regression()
    top: Row = {"name": "Computing Time", "depth": 0, "delta": 0.0}
    rows = (*_rows(MANY), top)
    section = Section("msprof", "ms", (), None, "", rows)
    assert cut(replace(diff, sections={"msprof": section})).sections["msprof"].rows[-1] == rows[-1]


def test_the_file_beside_the_document_holds_all_rows(long: Diff, folder: Path) -> None:
    """DuckDB reads the Parquet, and the document says where it is and how many rows it has."""
    document = json.loads((folder / "diff.json").read_text())
    info = document["section_info"]["kernels"]
    assert (info["file"], info["rows"]) == ("data/kernels.parquet", MANY)
    assert len(document["sections"]["kernels"]) == MANY - sum(rest["rows"] for rest in info["rest"])
    columns = "name, presence, baseline, new, delta, ratio, phase, input_shapes"
    found = duckdb.execute(f"SELECT {columns} FROM read_parquet(?)", [str(folder / info["file"])]).fetchall()
    expected = [tuple(row[key] for key in columns.split(", ")) for row in long.sections["kernels"].rows]
    assert found == expected
    assert sorted(path.name for path in (folder / "data").iterdir()) == ["kernels.parquet", "path.parquet"]


def test_the_document_and_its_files_are_the_whole_diff(long: Diff, folder: Path) -> None:
    diff = read_document(folder / "diff.json", "")
    assert diff == cut(long) != long
    assert missing_files(diff, folder) == []
    whole = completed(diff, folder)
    for name, section in long.sections.items():
        assert [dict(row) for row in whole.sections[name].rows] == [dict(row) for row in section.rows]
        assert not whole.sections[name].rest


def test_gate_and_explain_answer_as_for_the_whole_diff(long: Diff, folder: Path) -> None:
    diff = read_document(folder / "diff.json", "")
    policy = load_preset("default")
    assert judge(diff, policy) == judge(long, policy)
    for what in ("1", "unexplained", "time.path"):
        assert explain(diff, what) == explain(long, what)
    baseline = long.sections["path"].rows[-1]["baseline"]
    assert any(SMALLEST in line and f" {baseline:.3f} " in line for line in explain(diff, "1") or [])


def test_the_page_says_where_the_rows_are(long: Diff, folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert "19,500 more rows are in data/kernels.parquet." in page
    assert "every row of long tables in the folder data" in page
    read = build_view(read_document(folder / "diff.json", ""), document=str(folder / "diff.json"))
    assert read.tables == build_view(cut(long)).tables


def test_a_document_without_its_files_says_so(folder: Path, tmp_path: Path) -> None:
    diff = read_document(folder / "diff.json", "")
    assert missing_files(diff, tmp_path) == ["data/kernels.parquet", "data/path.parquet"]
    with pytest.raises(InputError, match=r"kernels.parquet.*it is missing; diff.json has 5,000 of 20,000 rows of kern"):
        completed(diff, tmp_path)
    (tmp_path / "data").mkdir()
    for content, problem in ((b"PAR1", "cannot be read"), ((folder / "data/path.parquet").read_bytes()[:-9], "cannot")):
        (tmp_path / "data" / "kernels.parquet").write_bytes(content)
        with pytest.raises(InputError, match=problem):
            completed(diff, tmp_path)
    for query in ("SELECT 'a' AS name", f"SELECT {{'a': range}} AS name FROM range({MANY})"):
        duckdb.execute(f"COPY ({query}) TO '{tmp_path / 'data' / 'kernels.parquet'}'")
        with pytest.raises(InputError, match=r"does not hold the 20,000 rows|neither numbers nor texts"):
            completed(diff, tmp_path)


def test_all_tables_as_parquet_with_any_name(tmp_path: Path) -> None:
    diff, out = diff_examples.hostile(), tmp_path / "out"
    files = write_report(diff, out, {"parquet"})
    assert out / "data" / "overall.parquet" in files
    query = "SELECT name FROM read_parquet(?)"
    found = duckdb.execute(query, [str(out / "data" / "kernels.parquet")]).fetchall()
    assert [name for (name,) in found] == [name.replace("\ud800", "?") for name in diff_examples.HOSTILE_NAMES]
    write_report(diff_examples.regression(), out, set())
    assert not (out / "data").exists(), "a report that needs no files leaves none of the last one"


def test_a_negative_number_of_rows_is_refused(long: Diff) -> None:
    document = to_document(cut(long))
    document["section_info"]["kernels"]["rest"][0]["rows"] = -1
    with pytest.raises(ValueError, match=r"section_info.kernels.rest counts no rows"):
        from_document(document)


def test_a_report_of_a_document_has_all_rows_again(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_report(read_whole(folder / "diff.json", ""), tmp_path / "again", set())
    assert capsys.readouterr().err == ""
    first, again = (json.loads((place / "diff.json").read_text()) for place in (folder, tmp_path / "again"))
    assert again == first
    assert (tmp_path / "again/data/path.parquet").read_bytes() == (folder / "data/path.parquet").read_bytes()
    (tmp_path / "alone.json").write_bytes((folder / "diff.json").read_bytes())
    assert read_whole(tmp_path / "alone.json", "") == read_document(folder / "diff.json", "")
    assert "kernels.parquet is not beside" in capsys.readouterr().err


def test_a_file_of_rows_is_a_plain_file_of_bounded_size(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """diff.json and the files beside it may come from anybody."""
    for linked in ("data", "data/kernels.parquet"):
        copy = tmp_path / linked.replace("/", "-")
        shutil.copytree(folder, copy)
        (copy / linked).rename(copy / "elsewhere")
        (copy / linked).symlink_to(copy / "elsewhere")
        with pytest.raises(InputError, match="it is a link"):
            read_whole(copy / "diff.json", "…")
    for limit, most in (("MOST_ROWS", MANY - 1), ("MOST_COLUMNS", 3), ("MOST_BYTES", 2**10)):
        with monkeypatch.context() as patch:
            patch.setattr(data_files, limit, most)
            with pytest.raises(InputError, match="which is never read"):
                read_whole(folder / "diff.json", "…")


def test_a_text_of_many_rows_is_read_once(tmp_path: Path) -> None:
    """A Parquet file holds a text once however often it occurs: 1 MB would become 20 GB."""
    first = pyarrow.array([0] * MANY, pyarrow.int32())
    data = pyarrow.table(
        {
            "name": pyarrow.DictionaryArray.from_arrays(first, ["a"]),
            "shapes": pyarrow.DictionaryArray.from_arrays(first, ["8" * 2**20]),
        }
    )
    (tmp_path / "data").mkdir()
    parquet.write_table(data, tmp_path / "data" / "kernels.parquet", store_schema=False)
    assert (tmp_path / "data" / "kernels.parquet").stat().st_size < 2**20
    short = Section("kernels", "ms", (), None, "", _rows(1), (Rest(MANY - 1, None, None, None),))
    diff = replace(diff_examples.regression(), sections={"kernels": short})
    rows = completed(diff, tmp_path).sections["kernels"].rows
    assert len(rows) == MANY and len({id(row["shapes"]) for row in rows}) == 1


def test_of_very_many_metrics_the_known_ones_and_the_largest_changes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "METRICS_BYTES", 2**18)
    base = diff_examples.regression()
    many = tuple(diff_examples.metric(f"custom/{place}", 1000.0, 1000.0 + place) for place in range(5_000))
    known = diff_examples.metric("actor/grad_norm", 1.0, 1.0)
    diff = replace(base, overall=(*base.overall, *many, known))
    short = cut(diff)
    names = [delta.metric for delta in short.overall]
    assert FEW < len(names) < 1_000
    assert [delta for delta in diff.overall if delta.metric in set(names)] == list(short.overall), "in their own order"
    assert {*(delta.metric for delta in base.overall), "actor/grad_norm"} <= set(names)
    custom = [int(name.removeprefix("custom/")) for name in names if name.startswith("custom/")]
    assert custom == list(range(5_000 - len(custom), 5_000))
    assert f"{len(names):,} of {len(diff.overall):,} metrics" in short.quality[0].message
    assert short.quality[0].key == METRICS_LEFT_OUT, "a gate looks for it"
    assert {one.metric for one in short.aggregates} <= set(names)
    assert cut(short) == short
    view = build_view(diff)
    assert len(view.overall.rows) == 1_000 and view.overall.total == len(diff.overall)
