"""Damaged input: readable data is used, omitted data is reported, and nothing else happens.

Each case damages a profile in one way and compares it with a sound one. Either the diff is made, or the command ends
with 4 and one line that names the file and a way out; never a traceback, nothing half-written, nothing beside the
input.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from .conftest import Command, Outcome, ranks_of, snapshot

pytestmark = pytest.mark.slow

Damaged = Callable[[str], Path]

HOSTILE = {
    "script": "</script><script>alert(1)</script>",
    "formula": '=cmd|"/c calc"!A1',
    "newlines": "a\nb\r\nc\u2028d",
    "escapes": "\x1b[31mred\x1b]0;title\x07",
    "quotes": "'; DROP TABLE kernel; --",
    "markup": "[bold]x[/bold] {{ 7 * 7 }} {% raw %}",
    "long": "M" * 1_000_000,
    "bidi": "\u202egnp.exe",
    "path": "../../../etc/passwd",
}


@pytest.fixture
def compare(rlcompare: Command, samples: Path) -> Callable[[Path], Outcome]:
    """Compares a damaged rank 0 with the sound one, and checks what holds for every input."""

    def call(path: Path) -> Outcome:
        before = snapshot(path.parent) if path.exists() else {}
        result = rlcompare("diff", "-d", path, "-bp", ranks_of(samples / "base")[0], "--format", "md,csv")
        assert (snapshot(path.parent) if path.exists() else {}) == before
        assert "Traceback" not in result.err
        if result.code == 0:
            assert "\x1b" not in result.out
            document = json.loads(Path("rlcompare-out/diff.json").read_text())
            assert document["schema"] == "rlcompare.diff/1"
        else:
            assert result.code == 4
            assert result.error
            assert result.out == ""
            assert not Path("rlcompare-out").exists()
        return result

    return call


def said(text: str) -> bool:
    """Whether the data-quality notes of the diff that was just made speak of something."""
    document = json.loads(Path("rlcompare-out/diff.json").read_text())
    return any(text in finding["message"] or text in finding["key"] for finding in document["quality"])


def compute(side: str = "new") -> float | None:
    document = json.loads(Path("rlcompare-out/diff.json").read_text())
    value = next(row for row in document["overall"] if row["metric"] == "time.compute")[side]
    assert value is None or isinstance(value, float | int)
    return value


@contextmanager
def edited(output: Path) -> Iterator[sqlite3.Connection]:
    """The database of a copied profile, to be damaged."""
    with closing(sqlite3.connect(next(output.glob("ascend_pytorch_profiler_*.db")))) as con:
        yield con
        con.commit()


class TestPaths:
    def test_missing_path(self, compare: Callable[[Path], Outcome], tmp_path: Path) -> None:
        result = compare(tmp_path / "nowhere")
        assert (result.code, "nowhere: there is no such file or folder" in result.error) == (4, True)

    def test_empty_folder(self, compare: Callable[[Path], Outcome], tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        result = compare(tmp_path / "empty")
        assert (result.code, "empty: it contains no files" in result.error) == (4, True)

    def test_a_folder_that_was_never_parsed(self, compare: Callable[[Path], Outcome], tmp_path: Path) -> None:
        (tmp_path / "h_1_20250318093015001_ascend_pt" / "FRAMEWORK").mkdir(parents=True)
        result = compare(tmp_path / "h_1_20250318093015001_ascend_pt")
        assert result.code == 4
        assert f"rlcompare analyse {tmp_path}" in result.error

    def test_a_name_with_a_line_break(self, compare: Callable[[Path], Outcome], tmp_path: Path) -> None:
        result = compare(tmp_path / "a\nb\x1b[31m")
        assert result.code == 4
        assert "\x1b" not in result.error


class TestDatabases:
    def test_truncated(self, compare: Callable[[Path], Outcome], damaged: Damaged) -> None:
        output = damaged("db")
        path = next(output.glob("ascend_pytorch_profiler_*.db"))
        os.truncate(path, path.stat().st_size // 2)

        result = compare(output)

        assert result.code == 4
        assert f"{path.name}: the database is truncated" in result.error

    def test_half_overwritten(self, compare: Callable[[Path], Outcome], damaged: Damaged) -> None:
        output = damaged("db")
        path = next(output.glob("ascend_pytorch_profiler_*.db"))
        content = bytearray(path.read_bytes())
        content[len(content) // 2 :] = b"\xa5" * (len(content) - len(content) // 2)
        path.write_bytes(content)
        compare(output)

    def test_locked(self, compare: Callable[[Path], Outcome], damaged: Damaged) -> None:
        output = damaged("db")
        path = next(output.glob("ascend_pytorch_profiler_*.db"))
        with closing(sqlite3.connect(path, isolation_level=None)) as con:
            con.execute("BEGIN EXCLUSIVE")
            result = compare(output)
        if result.code == 4:
            assert "locked" in result.error
        else:
            assert compute() is not None

    def test_without_usable_tables(self, compare: Callable[[Path], Outcome], damaged: Damaged) -> None:
        output = damaged("db")
        with edited(output) as con:
            for (table,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                con.execute(f'DROP TABLE "{table}"')
            con.execute("CREATE TABLE customers (name TEXT)")

        result = compare(output)

        assert result.code == 4
        assert "none of the tables of an Ascend profile" in result.error

    def test_all_tables_empty(self, compare: Callable[[Path], Outcome], damaged: Damaged) -> None:
        output = damaged("db")
        (output / "analysis.db").unlink(missing_ok=True)
        with edited(output) as con:
            for (table,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                con.execute(f'DELETE FROM "{table}"')
        assert compare(output).code == 4

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize("table", ["COMMUNICATION_OP", "PYTORCH_API", "CANN_API", "MEMORY_RECORD", "STEP_TIME"])
    @pytest.mark.parametrize("how", ["DELETE FROM", "DROP TABLE"])
    def test_one_table_is_empty_or_missing(
        self, compare: Callable[[Path], Outcome], damaged: Damaged, table: str, how: str
    ) -> None:
        output = damaged("db")
        with edited(output) as con:
            con.execute(f"{how} {table}")
        assert compare(output).code == 0
        assert compute() is not None

    def test_without_kernels(self, compare: Callable[[Path], Outcome], damaged: Damaged) -> None:
        output = damaged("db")
        with edited(output) as con:
            con.execute("DELETE FROM COMPUTE_TASK_INFO")
            types = "SELECT id FROM STRING_IDS WHERE value LIKE 'KERNEL%' OR value LIKE 'MIX%'"
            con.execute(f"DELETE FROM TASK WHERE taskType IN ({types})")
        assert compare(output).code == 0
        assert compute() is None

    def test_unknown_string_ids(self, compare: Callable[[Path], Outcome], damaged: Damaged) -> None:
        output = damaged("db")
        with edited(output) as con:
            con.execute("UPDATE COMPUTE_TASK_INFO SET name = 987654321 WHERE rowid % 7 = 0")
            con.execute("UPDATE COMMUNICATION_OP SET opName = 987654321 WHERE rowid % 3 = 0")
        assert compare(output).code == 0
        assert said("string")
        assert compute() is not None

    def test_impossible_times(self, compare: Callable[[Path], Outcome], damaged: Damaged) -> None:
        output = damaged("db")
        with edited(output) as con:
            con.execute("UPDATE TASK SET endNs = startNs - 5 WHERE rowid % 11 = 0")
            con.execute("UPDATE TASK SET startNs = -1 WHERE rowid % 13 = 0")
            con.execute("UPDATE TASK SET startNs = 'NaN' WHERE rowid % 17 = 0")
            con.execute("UPDATE PYTORCH_API SET startNs = '1.69512E+15' WHERE rowid % 5 = 0")
        assert compare(output).code == 0
        assert said("time")

    @pytest.mark.one_in(2)
    @pytest.mark.parametrize("name", sorted(HOSTILE))
    def test_hostile_names(self, compare: Callable[[Path], Outcome], damaged: Damaged, name: str) -> None:
        output = damaged("db")
        with edited(output) as con:
            con.execute("UPDATE STRING_IDS SET value = ? WHERE value = 'MatMulV2'", [HOSTILE[name]])
            con.execute("UPDATE STRING_IDS SET value = ? || value WHERE value LIKE 'aten::%'", [HOSTILE[name]])

        result = compare(output)

        assert result.code == 0
        assert "\u202e" not in result.out
        assert max(map(len, result.out.splitlines())) < 300
        page = Path("rlcompare-out/report.html").read_text(encoding="utf-8")
        assert "<script>alert(1)" not in page
        assert len(page) < 5_000_000


class TestText:
    @pytest.mark.one_in(2)
    @pytest.mark.parametrize(
        "damage",
        [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"not json", lambda b: b"{}", lambda b: b"[]"],
        ids=["cut", "empty", "invalid", "object", "list"],
    )
    def test_json(self, compare: Callable[[Path], Outcome], damaged: Damaged, damage: Callable[[bytes], bytes]) -> None:
        output = damaged("text")
        paths = [output / name for name in ("trace_view.json", "communication.json")]
        for path in paths:
            path.write_bytes(damage(path.read_bytes()))
        assert compare(output).code == 0
        assert compute() is not None  # from kernel_details.csv
        assert all(said(path.name) for path in paths) or damage(b"x") in (b"{}", b"[]")

    @pytest.mark.one_in(5)
    @pytest.mark.parametrize("names", [["kernel_details.csv"], ["operator_memory.csv", "step_trace_time.csv"]])
    @pytest.mark.parametrize(
        "damage",
        [
            lambda text: text[: len(text) * 2 // 3],
            lambda text: text.replace("\n", ",surplus\n", 7),
            lambda text: "\n".join(
                line.rsplit(",", 3)[0] if i % 5 == 4 else line for i, line in enumerate(text.split("\n"))
            ),
            lambda text: text.split("\n")[0] + "\n",
            lambda text: "",
            lambda text: text.replace('"', "", 3),
            lambda text: "\ufeff" + text.replace("\n", "\r\n"),
        ],
        ids=["cut", "longer rows", "shorter rows", "header only", "empty", "quotes lost", "saved by a spreadsheet"],
    )
    def test_csv(
        self, compare: Callable[[Path], Outcome], damaged: Damaged, names: list[str], damage: Callable[[str], str]
    ) -> None:
        output = damaged("text")
        for path in (output / name for name in names):
            with path.open(encoding="utf-8", newline="") as handle:
                text = handle.read()
            path.write_text(damage(text), encoding="utf-8", newline="")
        assert compare(output).code == 0
        assert compute("baseline") is not None

    def test_times_that_a_spreadsheet_rounded(self, compare: Callable[[Path], Outcome], damaged: Damaged) -> None:
        output = damaged("text")
        path = output / "kernel_details.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        column = lines[0].split(",").index("Start Time(us)")
        for number in range(1, len(lines), 9):
            cells = lines[number].split(",")
            cells[column] = "1.69512E+15\t"
            lines[number] = ",".join(cells)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        (output / "trace_view.json").unlink()

        assert compare(output).code == 0
        assert said("time")

    def test_not_a_number(self, compare: Callable[[Path], Outcome], damaged: Damaged) -> None:
        output = damaged("text")
        path = output / "kernel_details.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        column = lines[0].split(",").index("Duration(us)")
        for number, value in ((1, "NaN"), (2, "N/A"), (3, ""), (4, "inf"), (5, "-3"), (6, "1e400")):
            cells = lines[number].split(",")
            cells[column] = value
            lines[number] = ",".join(cells)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

        assert compare(output).code == 0

        def refuse(constant: str) -> None:
            pytest.fail(f"{constant} is a number in diff.json")

        json.loads(Path("rlcompare-out/diff.json").read_text(), parse_constant=refuse)

    def test_hostile_names(self, compare: Callable[[Path], Outcome], damaged: Damaged) -> None:
        output = damaged("text")
        trace, kernels = output / "trace_view.json", output / "kernel_details.csv"
        events, rows = trace.read_text(), kernels.read_text()
        for name in HOSTILE.values():  # three of each
            cell = '"' + name.replace('"', '""') + '"'
            assert events.count("aten::mm") > 3 and rows.count(",MatMulV2,") > 3
            events = events.replace("aten::mm", json.dumps(name)[1:-1], 3)
            rows = rows.replace(",MatMulV2,", f",{cell},", 3)
        trace.write_text(events, encoding="utf-8")
        kernels.write_text(rows, encoding="utf-8")

        result = compare(output)

        assert result.code == 0
        assert max(map(len, result.out.splitlines())) < 300
        assert "<script>alert(1)" not in Path("rlcompare-out/report.html").read_text(encoding="utf-8")

    def test_every_single_file_is_enough_for_what_it_tells(
        self, rlcompare: Command, damaged: Damaged, samples: Path
    ) -> None:
        output = damaged("text")
        for path in sorted(output.iterdir()):
            result = rlcompare("diff", "-d", path, "-bp", path, "--json")
            assert result.code in (0, 4), path.name
            if result.code == 4:
                assert path.name in result.error
            if path.name in ("trace_view.json", "kernel_details.csv"):
                document = json.loads(result.out)
                value = next(row for row in document["overall"] if row["metric"] == "time.compute")["new"]
                assert value is not None, path.name

    def test_trace_of_gpu(self, compare: Callable[[Path], Outcome], tmp_path: Path) -> None:
        path = tmp_path / "w.pt.trace.json"
        path.write_text('{"schemaVersion": 1, "traceEvents": []}')
        assert "contains nothing to compare" in compare(path).error


def test_a_metric_beyond_what_can_be_squared_leaves_the_others(rlcompare: Command, tmp_path: Path) -> None:
    # GIVEN a gradient norm that grew to 1e155, in a run that is otherwise as the other
    for name, norm in (("base", 1.0), ("new", 1e155)):
        lines = [{"step": step, "data": {"timing_s/step": 2.0, "actor/grad_norm": norm}} for step in range(1, 7)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    # WHEN they are compared, and shown, THEN the norm is said to be no number, and the times are there
    result = rlcompare("diff", "-d", tmp_path / "new.jsonl", "-bp", tmp_path / "base.jsonl")
    assert result.code == 0
    assert said("infinite")
    shown = rlcompare("show", tmp_path / "new.jsonl")
    assert shown.code == 0
    assert "timing_s/step" in shown.out
