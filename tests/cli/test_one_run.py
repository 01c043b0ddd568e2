"""``ingest``, ``show`` and ``sql``: the commands that look at one run."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from rlcompare.resources import sql, sql_names

from .conftest import Command, Outcome, ranks_of, snapshot

_TITLES = (
    *("Run", "Steps", "Ranks", "Phases", "Kernels", "Framework operators", "Collectives"),
    *("Peak memory", "Data quality", "Made with"),
)


@pytest.fixture(scope="session")
def store(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from rlcompare.cli.main import run

    path = tmp_path_factory.mktemp("store") / "new.duckdb"
    assert run(["ingest", str(samples / "new"), "-o", str(path), "-q"]) == 0
    return path


def rows(result: Outcome) -> list[dict[str, object]]:
    assert result.code == 0, result.err
    value = json.loads(result.out)
    assert isinstance(value, list)
    return value


class TestIngest:
    @pytest.mark.slow
    def test_keeps_every_kernel(self, store: Path, samples: Path) -> None:
        expected = 0
        for folder in ranks_of(samples / "new"):
            (database,) = (folder / "ASCEND_PROFILER_OUTPUT").glob("ascend_pytorch_profiler_*.db")
            with closing(sqlite3.connect(database)) as con:
                expected += con.execute("SELECT count(*) FROM COMPUTE_TASK_INFO").fetchone()[0]
        with duckdb.connect(str(store), read_only=True) as con:
            assert con.execute("SELECT count(*) FROM kernel").fetchall() == [(expected,)]

    def test_paths_are_relative_and_no_environment_is_kept(self, store: Path, tmp_path: Path) -> None:
        with duckdb.connect(str(store), read_only=True) as con:
            texts = [
                str(value)
                for (table,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()
                for row in con.table(f'"{table}"').fetchall()
                for value in row
                if isinstance(value, str)
            ]
        assert not [text for text in texts if str(tmp_path.parent.parent) in text]

    @pytest.mark.slow
    def test_replaces_a_store(self, rlcompare: Command, samples: Path) -> None:
        for _ in range(2):
            assert rlcompare("ingest", samples / "new", "-o", "run.duckdb").code == 0
        assert [path.name for path in Path().iterdir()] == ["run.duckdb"]

    def test_replaces_nothing_else(self, rlcompare: Command, samples: Path) -> None:
        Path("thesis.duckdb").write_text("42")
        result = rlcompare("ingest", samples / "new", "-o", "thesis.duckdb")
        assert (result.code, "is not a store" in result.error) == (2, True)
        assert Path("thesis.duckdb").read_text() == "42"

    @pytest.mark.slow
    def test_replaces_anything_by_force(self, rlcompare: Command, samples: Path) -> None:
        Path("thesis.duckdb").write_text("42")
        assert rlcompare("ingest", samples / "new", "-o", "thesis.duckdb", "--force").code == 0
        assert rlcompare("show", "thesis.duckdb").code == 0

    @pytest.mark.slow
    def test_one_rank_and_step(self, rlcompare: Command, samples: Path) -> None:
        assert rlcompare("ingest", samples / "new", "-o", "part.duckdb", "--rank", "1", "--step", "3").code == 0
        query = "SELECT DISTINCT rank, step FROM kernel JOIN capture USING (capture) WHERE step IS NOT NULL"
        assert rows(rlcompare("sql", "part.duckdb", query, "--format", "json")) == [{"rank": 1, "step": 3}]
        assert "remove --step" in rlcompare("show", "part.duckdb", "--rank", "1").error

    def test_leaves_nothing_behind_when_it_fails(self, rlcompare: Command, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        assert rlcompare("ingest", tmp_path / "empty", "-o", "run.duckdb").code == 4
        assert list(Path().iterdir()) == []

    def test_not_into_the_input(self, rlcompare: Command, samples: Path) -> None:
        before = snapshot(samples)
        assert rlcompare("ingest", samples / "new", "-o", samples / "new" / "run.duckdb").code == 2
        assert snapshot(samples) == before

    def test_a_folder_of_two_runs(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("ingest", samples, "-o", "run.duckdb")
        assert result.code == 2
        assert "2 runs (base, new)" in result.error

    def test_an_output_that_cannot_be(self, rlcompare: Command, samples: Path) -> None:
        Path("file").touch()
        result = rlcompare("ingest", samples / "new", "-o", "file/run.duckdb")
        assert (result.code, "-o" in result.error) == (2, True)


class TestShow:
    def test_sections(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("show", samples / "new")
        assert (result.code, result.err) == (0, "")
        for title in ("Steps", "Ranks", "Phases", "Kernels", "Collectives", "Peak memory", "Made with"):
            assert any(line.startswith(title) for line in result.out.splitlines()), title
        assert "MatMulV2" in result.out
        assert "free_ms is the device's" in result.out  # and may exceed wall_ms, the host's

    def test_times_come_first_and_what_it_was_made_with_last(self, rlcompare: Command, samples: Path) -> None:
        """A run of verl has hundreds of configuration keys."""
        titles = [line for line in rlcompare("show", samples / "new").out.splitlines() if line.startswith(_TITLES)]
        assert [title.split(",")[0].split(" over")[0] for title in titles] == list(_TITLES)

    @pytest.mark.slow
    def test_the_rank_that_comes_late(self, rlcompare: Command) -> None:
        assert rlcompare("sample", "-o", "run", "--change", "late:1:4ms", "-q").code == 0
        ranks = json.loads(rlcompare("show", "run", "--json").out)["ranks"]
        assert ranks[1]["most_late_ms"] == pytest.approx(4.0, abs=0.2)
        assert ranks[1]["late_ms"] > 10 * ranks[0]["late_ms"]
        assert (ranks[0]["starts_last"], ranks[1]["starts_last"]) == (0, 1)
        assert "behind the first rank of its group" in rlcompare("show", "run").out

    @pytest.mark.slow
    def test_ranks_without_kernels_do_not_halve_those_of_others(self, rlcompare: Command, profiles: Path) -> None:
        """Two of the four ranks have no kernel_details.csv: means are over the two that have one."""
        root = profiles / "ascend-qwen3-pp2-2025q4"
        times = []
        for path in root.glob("*/ASCEND_PROFILER_OUTPUT/kernel_details.csv"):
            with path.open(newline="") as stream:
                times += [
                    float(row["Duration(us)"]) / 1e3
                    for row in csv.DictReader(stream)
                    if row["Type"] == "FlashAttentionScoreGrad"
                ]
        shown = json.loads(rlcompare("show", root, "--json").out)
        (row,) = [row for row in shown["kernels"] if row["kernel"] == "FlashAttentionScoreGrad"]
        assert row["calls"] == len(times) / 2
        assert row["total_ms"] == pytest.approx(sum(times) / 2, abs=1e-6)
        assert [step["ranks"] for step in shown["steps"]] == [2]
        assert max(row["p2p_ms"] for row in shown["ranks"]) > 300
        assert {row["size_bytes"] for row in shown["collectives"]} == {None}, "only a trace has the sizes of the data"

    @pytest.mark.slow
    def test_long_names_are_cut_to_the_width(self, rlcompare: Command, profiles: Path) -> None:
        out = rlcompare("show", profiles / "gpu-dlrm-8rank").out
        kernels = out.split("Kernels")[1].split("\n\n")[0].splitlines()[1:]
        assert max(map(len, kernels)) == 140
        assert {line.split()[-5] for line in kernels[1:]} >= {"7", "16", "11"}, "calls are whole"

    @pytest.mark.slow
    def test_a_run_of_the_host_alone_shows_its_operators(self, rlcompare: Command, profiles: Path) -> None:
        shown = json.loads(rlcompare("show", profiles / "cpu-torch213-2rank" / "base", "--json").out)
        assert shown["kernels"] == []
        assert len(shown["operators"]) == 20 and shown["operators"][0]["host_self_ms"] > 0

    @pytest.mark.slow
    def test_one_rank_and_step(self, rlcompare: Command, samples: Path) -> None:
        shown = json.loads(rlcompare("show", samples / "new", "--rank", "1", "--step", "3", "--json").out)
        assert [row["rank"] for row in shown["ranks"]] == ["rank 1"]
        assert [row["step"] for row in shown["steps"]] == [3]
        assert "has rank 0-1" in rlcompare("show", samples / "new", "--rank", "7").error
        assert "has steps 2-3" in rlcompare("show", samples / "new", "--step", "7").error

    def test_parts_sum_to_the_device_span(self, rlcompare: Command, store: Path) -> None:
        document = json.loads(rlcompare("show", store, "--json").out)
        for row in (*document["steps"], *document["ranks"]):
            parts = row["compute_ms"] + row["exposed_comm_ms"] + row["free_ms"]
            assert parts == pytest.approx(row["device_span_ms"], abs=1e-9)

    def test_agrees_with_diff(self, rlcompare: Command, samples: Path, compared: Path) -> None:
        shown = json.loads(rlcompare("show", samples / "new", "--json").out)
        diff = json.loads((compared / "diff.json").read_bytes())
        overall, sections = diff["overall"], diff["sections"]
        late = {row["name"]: row["new_late_ms"] for row in sections["ranks"]}
        assert {row["rank"]: row["late_ms"] for row in shown["ranks"]} == pytest.approx(late, abs=1e-9)
        for metric in ("step", "compute", "exposed_comm", "free"):
            expected = next(row["new"] for row in overall if row["metric"] == f"time.{metric}")
            mean = sum(row[f"{metric}_ms"] for row in shown["ranks"]) / len(shown["ranks"])
            assert mean == pytest.approx(expected, abs=1e-9)

    def test_operators_agree_with_diff(self, rlcompare: Command, samples: Path, compared: Path) -> None:
        shown = json.loads(rlcompare("show", samples / "new", "--json").out)["operators"]
        diff = json.loads((compared / "diff.json").read_bytes())
        expected = {row["name"]: (row["new"], row["new_calls"]) for row in diff["sections"]["operators"]}
        for row in shown:
            assert (row["device_self_ms"], row["calls"]) == pytest.approx(expected[row["operator"]])

    @pytest.mark.slow
    def test_real_rank(self, rlcompare: Command, ascend_910b: Path) -> None:
        document = json.loads(rlcompare("show", ascend_910b / "db" / "level1" / "rank0_ascend_pt", "--json").out)
        (step,) = document["steps"]
        assert (step["step"], step["compute_ms"]) == (50, 8.903431)

    def test_missing_run(self, rlcompare: Command) -> None:
        result = rlcompare("show", "nowhere")
        assert (result.code, "nowhere" in result.error) == (4, True)


class TestSql:
    def test_list_and_table_need_no_run(self, rlcompare: Command) -> None:
        listing = rlcompare("sql", "--list").out
        for folder in ("schema/run", "schema/rollup", "schema/events", "schema/views", "named"):
            for path in sql_names(folder):
                (line,) = [line for line in listing.splitlines() if line.split()[:1] == [path.rsplit("/", 1)[1]]]
                assert len(line.split()) > 3, f"{path} has no header comment"
        assert "Depends on" not in listing
        assert "start_ns BIGINT" in rlcompare("sql", "--table", "kernel").out

    def test_every_table_and_view_of_a_store_is_documented(self, rlcompare: Command, store: Path) -> None:
        con = duckdb.connect(str(store), read_only=True)
        query = "SELECT table_name, list(column_name) FROM information_schema.columns GROUP BY 1"
        tables = dict(con.execute(query).fetchall())
        con.close()
        assert {"busy", "kernel", "r_time", "metric"} <= tables.keys()
        for table, columns in tables.items():
            page = rlcompare("sql", "--table", table).out
            assert [name for name in columns if not re.search(rf"\b{name}\b[^\n]*  -- \w", page)] == [], table

    @pytest.mark.parametrize("name", [path.removeprefix("named/") for path in sql_names("named")])
    def test_named_queries_run(self, rlcompare: Command, store: Path, name: str) -> None:
        assert rlcompare("sql", store, "--name", name).code == 0

    def test_formats_hold_the_same(self, rlcompare: Command, store: Path) -> None:
        query = "SELECT name, start_ns, end_ns - start_ns AS ns, wait_ns FROM kernel ORDER BY capture, id LIMIT 5"
        expected = rows(rlcompare("sql", store, query, "--format", "json"))
        assert isinstance(expected[0]["start_ns"], int)

        read = list(csv.DictReader(io.StringIO(rlcompare("sql", store, query, "--format", "csv").out)))
        assert [{k: "" if v is None else str(v) for k, v in row.items()} for row in expected] == read

        assert rlcompare("sql", store, query, "--format", "parquet", "-o", "out.parquet").code == 0
        with duckdb.connect() as con:
            result = con.execute("FROM 'out.parquet'")
            columns = [column[0] for column in result.description or ()]
            assert [dict(zip(columns, row, strict=True)) for row in result.fetchall()] == expected

        table = rlcompare("sql", store, query).out.splitlines()
        assert table[0].split() == list(expected[0])
        assert len(table) == 6

    def test_no_text_of_a_csv_is_a_formula(self, rlcompare: Command, store: Path) -> None:
        values = "'=1+2', '+SUM(A1)', '-x', '@x', chr(9) || '=1', 'a=b', '-1.5e3', -2, -2.5::DECIMAL(4,1), ['=1'], NULL"
        names = "a, b, c, d, e, f, g, h, i, j, k"
        query = f'SELECT *, 1 AS "=cmd" FROM (VALUES ({values})) AS t({names})'
        head, row = csv.reader(io.StringIO(rlcompare("sql", store, query, "--format", "csv").out))
        assert head == [*names.split(", "), "'=cmd"]
        assert row[:5] == ["'=1+2", "'+SUM(A1)", "'-x", "'@x", "'\t=1"]
        assert row[5:] == ["a=b", "-1.5e3", "-2", "-2.5", "['=1']", "", "1"]
        (same,) = rows(rlcompare("sql", store, query, "--format", "json"))
        assert list(same.values())[:4] == ["=1+2", "+SUM(A1)", "-x", "@x"]

    @pytest.mark.slow
    def test_raw_profile(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("sql", samples / "new", "SELECT count(*) AS n FROM host_op", "--format", "json")
        assert rows(result)[0]["n"]

    def test_query_from_standard_input(self, rlcompare: Command, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO("SELECT 42 AS answer"))
        assert rows(rlcompare("sql", store, "-", "--format", "json")) == [{"answer": 42}]

    def test_columns_of_one_name_are_numbered_in_json(self, rlcompare: Command, store: Path) -> None:
        result = rlcompare("sql", store, "SELECT 1 AS n, 2 AS n, 3 AS n_1, 4 AS n", "--format", "json")
        assert rows(result) == [{"n": 1, "n_2": 2, "n_1": 3, "n_3": 4}]

    def test_a_file_is_replaced_by_force_only(self, rlcompare: Command, store: Path) -> None:
        Path("mine.csv").write_text("mine")
        result = rlcompare("sql", store, "SELECT 1 AS a", "--format", "csv", "-o", "mine.csv")
        assert (result.code, "--force" in result.error) == (2, True)
        assert Path("mine.csv").read_text() == "mine"
        assert rlcompare("sql", store, "SELECT 1 AS a", "--format", "csv", "-o", "mine.csv", "--force").code == 0
        assert Path("mine.csv").read_text() == "a\n1\n"
        assert rlcompare("sql", store, "SELECT 1", "-o", store, "--force").code == 2

    def test_what_is_no_file_is_never_replaced(self, rlcompare: Command, store: Path, samples: Path) -> None:
        os.mkfifo("pipe")  # for a root user, /dev/null would be the next
        for arguments in (("sql", store, "SELECT 1 AS a"), ("ingest", samples / "new")):
            result = rlcompare(*arguments, "-o", "pipe", "--force")
            assert (result.code, "is not a regular file" in result.error) == (2, True), result.err
        assert Path("pipe").is_fifo()

    def test_values_that_json_lacks(self, rlcompare: Command, store: Path) -> None:
        query = "SELECT 'nan'::DOUBLE AS a, 1.5::DECIMAL(4,1) AS b, [1, NULL] AS c, {'x': 'inf'::DOUBLE} AS d"
        assert rows(rlcompare("sql", store, query, "--format", "json")) == [
            {"a": None, "b": 1.5, "c": [1, None], "d": {"x": None}}
        ]

    def test_one_statement_at_a_time(self, rlcompare: Command, store: Path) -> None:
        result = rlcompare("sql", store, "SELECT 1 AS a; SELECT 2 AS b")
        assert (result.code, result.out, "one at a time" in result.error) == (2, "", True)
        assert rlcompare("sql", store, "SELECT 1 AS a; -- the only one").code == 0

    @pytest.mark.slow
    def test_without_a_device_it_says_why_there_is_no_kernel(
        self, rlcompare: Command, store: Path, profiles: Path
    ) -> None:
        host = profiles / "cpu-torch213-2rank" / "base"
        result = rlcompare("sql", host, "--name", "longest_kernels", "-q")
        assert (result.code, "host_compute" in result.err) == (0, True)
        assert rlcompare("sql", host, "SELECT count(*) FROM host_compute", "-q").err == ""
        assert rlcompare("sql", store, "--name", "longest_kernels").err == ""

    def test_what_is_shown_names_nothing_that_users_lack(self) -> None:
        for folder in ("schema/run", "schema/rollup", "schema/events", "named"):
            for path in sql_names(folder):
                assert not [word for word in ("DESIGN", "sources/") if word in sql(path)], path

    def test_empty_result(self, rlcompare: Command, store: Path) -> None:
        query = "SELECT name FROM kernel WHERE false"
        assert rows(rlcompare("sql", store, query, "--format", "json")) == []
        assert rlcompare("sql", store, query, "--format", "csv").out == "name\n"
        assert rlcompare("sql", store, query).out == "name\n"

    def test_terminal_escapes_are_shown_not_sent(self, rlcompare: Command, store: Path) -> None:
        result = rlcompare("sql", store, "SELECT chr(27) || '[31m' AS name, 'a' || chr(10) || 'b' AS other")
        assert "\x1b" not in result.out
        assert len(result.out.splitlines()) == 2

    @pytest.mark.parametrize(
        "query",
        [
            "SELECT * FROM read_text('/etc/hostname')",
            "SELECT * FROM 'other.csv'",
            "COPY (SELECT 1) TO 'stolen.csv'",
            "ATTACH 'other.db' AS other",
            "SET enable_external_access = true",
            "INSTALL httpfs",
            "LOAD httpfs",
            "DELETE FROM kernel",
            "CREATE TABLE mine (x INTEGER)",
            "UPDATE meta SET value = 'x'",
            "EXPORT DATABASE 'folder'",
        ],
    )
    def test_reaches_nothing_but_the_run(self, rlcompare: Command, store: Path, query: str) -> None:
        before = store.read_bytes()
        Path("other.csv").write_text("a\n1\n")
        result = rlcompare("sql", store, query)
        assert result.code == 2
        assert "the query failed" in result.error
        assert [path.name for path in Path().iterdir()] == ["other.csv"]
        assert store.read_bytes() == before
        assert [path.name for path in store.parent.iterdir()] == [store.name]

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["SELEC 1"], "the query failed"),
            ([" "], "contains no query"),
            (["/* nothing */"], "returns no rows"),
            (["SELECT * FROM kernl"], "kernl"),
            ([], "QUERY"),
            (["SELECT 1", "--name", "gaps"], "one of"),
            (["--name", "nothing"], "longest_kernels"),
            (["--table", "nothing"], "--list"),
            (["SELECT 1", "--format", "xml"], "xml"),
            (["SELECT 1", "-o", "no/such/folder/out.csv"], "cannot be written"),
        ],
    )
    def test_wrong_usage(self, rlcompare: Command, store: Path, arguments: list[str], says: str) -> None:
        result = rlcompare("sql", store, *arguments)
        assert result.code == 2
        assert says in result.error

    def test_without_a_run(self, rlcompare: Command) -> None:
        assert (rlcompare("sql").code, "RUN" in rlcompare("sql").error) == (2, True)

    @pytest.mark.slow
    def test_a_store_without_events_says_so(self, rlcompare: Command, samples: Path, tmp_path: Path) -> None:
        rlcompare("show", samples / "new", "--cache-dir", tmp_path / "cache")
        (path,) = (tmp_path / "cache").glob("*.duckdb")
        result = rlcompare("sql", path, "SELECT * FROM kernel")
        assert (result.code, "rlcompare ingest" in result.error) == (2, True)


@pytest.mark.slow
def test_a_run_goes_by_the_name_that_a_message_gives_it(rlcompare: Command, tmp_path: Path) -> None:
    # GIVEN a job that was started twice with one save path
    for number, side in enumerate(("base", "new")):
        options = ("--seed", number, "--layers", 1, "--decode-steps", 1)
        assert rlcompare("sample", "-o", tmp_path / side, *options).code == 0
        for folder in ranks_of(tmp_path / side):
            shutil.copytree(folder, tmp_path / "save" / "e2e" / folder.name)
    several = rlcompare("show", tmp_path / "save")
    assert several.code == 2
    first = tmp_path / "save" / "e2e#1"
    assert f"contains 2 runs (e2e#1, e2e#2): choose one, such as {first}, or use --layout" in several.error
    # THEN each name leads to its own run, also as a side
    for name, side in (("e2e#1", "base"), ("e2e#2", "new")):
        found, expected = (rlcompare("sql", path, "SELECT sum(end_ns - start_ns) AS t FROM kernel", "--format", "json")
                           for path in (tmp_path / "save" / name, tmp_path / side))  # fmt: skip
        assert rows(found) == rows(expected)
    compared = rlcompare("diff", "-d", tmp_path / "save/e2e#2", "-bp", tmp_path / "save/e2e#1", "--json")
    runs = [json.loads(compared.out)[side]["runs"] for side in ("baseline", "new")]
    assert [[run["path"] for run in side] for side in runs] == [[str(tmp_path / f"save/e2e#{n}")] for n in (1, 2)]
    missing = rlcompare("show", tmp_path / "save" / "e2e#3")
    assert (missing.code, "contains no run e2e#3; it has e2e#1, e2e#2" in missing.error) == (2, True)


def test_runs_of_metrics_are_no_ranks(rlcompare: Command, tmp_path: Path) -> None:
    for name in ("base", "new"):
        (tmp_path / name / "logs").mkdir(parents=True)
        line = json.dumps({"step": 1, "data": {"timing_s/step": len(name)}})
        (tmp_path / name / "logs" / "metrics.jsonl").write_text(line + "\n", encoding="utf-8")
    several = rlcompare("show", tmp_path)
    assert (several.code, "choose one, such as" in several.error, "--layout" in several.error) == (2, True, False)
    named = several.error.rpartition("choose one, such as ")[2].strip()
    assert rlcompare("show", named).code == 0
