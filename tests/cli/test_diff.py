"""``rlcompare diff`` as a user types it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from .conftest import Command, ranks_of, snapshot


def metric(document: dict[str, object], name: str) -> dict[str, float]:
    overall = document["overall"]
    assert isinstance(overall, list)
    return next(row for row in overall if row["metric"] == name)


class TestOutput:
    @pytest.mark.slow
    def test_report_and_summary(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("diff", "-d", samples / "new", "-bp", samples / "base")

        assert result.code == 0
        assert result.err == ""
        assert "MatMulV2" in "".join(result.out.splitlines(keepends=True)[:15])
        assert result.out.splitlines()[-1].split() == ["report", "rlcompare-out/report.html"]
        assert sorted(path.name for path in Path("rlcompare-out").iterdir() if path.suffix) == [
            "diff.json",
            "report.html",
        ]

    def test_json_is_alone_on_standard_output(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", "--json")

        document = json.loads(result.out)
        assert (result.code, result.err) == (0, "")
        assert document["schema"] == "rlcompare.diff/1"
        assert metric(document, "time.compute")["delta"] > 0
        assert not Path("rlcompare-out").exists()

    @pytest.mark.slow
    def test_json_and_a_folder(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", "--json", "-o", "here")

        assert json.loads(result.out) == json.loads(Path("here/diff.json").read_text())

    @pytest.mark.slow
    def test_further_formats(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare(
            "diff", "-d", samples / "new", "-bp", samples / "base", "--format", "md,csv", "--output_path", "out"
        )

        assert result.code == 0
        assert {"report.md", "csv", "report.html", "diff.json"} <= {path.name for path in Path("out").iterdir()}

    @pytest.mark.slow
    def test_the_spellings_of_msprof_analyze(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare(
            *("diff", "--profiling_path", samples / "new", "--benchmark_profiling_path", samples / "base"),
            *("--output_path", "out", "--base_step", 2, "--comparison_step", 3, "--json"),
        )

        document = json.loads(result.out)
        assert (document["baseline"]["steps"], document["new"]["steps"]) == ([2], [3])

    @pytest.mark.slow
    def test_labels(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("diff", "-d", f"cann83={samples / 'new'}", "-bp", f"cann82={samples / 'base'}", "--json")

        document = json.loads(result.out)
        assert (document["baseline"]["label"], document["new"]["label"]) == ("cann82", "cann83")

    @pytest.mark.slow
    def test_sides_of_the_same_name_are_told_apart(self, rlcompare: Command, samples: Path, tmp_path: Path) -> None:
        for side in ("a", "b"):
            (tmp_path / side).mkdir()
            (tmp_path / side / "profile").symlink_to(samples / "base")

        result = rlcompare("diff", "-d", tmp_path / "b/profile", "-bp", tmp_path / "a/profile", "--json")

        document = json.loads(result.out)
        assert (document["baseline"]["label"], document["new"]["label"]) == ("a/profile", "b/profile")

    def test_the_same_folder_twice(self, rlcompare: Command, samples: Path) -> None:
        document = json.loads(rlcompare("diff", "-d", samples / "new", "-bp", f"{samples / 'new'}/", "--json").out)
        assert [document[side]["label"] for side in ("baseline", "new")] == ["new (baseline)", "new (new)"]

    @pytest.mark.slow
    def test_several_runs_a_side(self, rlcompare: Command, samples: Path) -> None:
        copy = Path("copy") / "base"  # another run of the same name
        shutil.copytree(samples / "new", copy)
        new = ("-d", samples / "new", "-d", samples / "base")
        result = rlcompare("diff", *new, "-bp", samples / "base", "-bp", copy, "--json")

        document = json.loads(result.out)
        assert [run["name"] for run in document["new"]["runs"]] == ["new", "base"]
        assert len({run["name"] for run in document["baseline"]["runs"]}) == 2
        assert len(metric(document, "time.compute")["samples"]["new"]) == 2  # type: ignore[index]

    def test_a_run_that_is_given_twice_is_used_once(self, rlcompare: Command, samples: Path) -> None:
        again = Path("link")
        again.symlink_to(samples / "new")
        result = rlcompare("diff", "-d", samples / "new", "-d", again, "-bp", samples / "base", "--json")
        assert len(json.loads(result.out)["new"]["runs"]) == 1
        assert result.err == f"rlcompare: warning: {again}: run link was given twice and is used once\n"

    def test_a_folder_that_is_not_ours_is_left_alone(
        self, rlcompare: Command, samples: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("mine").mkdir()
        Path("mine/thesis.txt").write_text("42")
        monkeypatch.setattr("rlcompare.store.cache.build_stores", None)  # it is refused before anything is read

        result = rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", "-o", "mine")

        assert result.code == 2
        assert "mine" in result.error
        assert [path.name for path in Path("mine").iterdir()] == ["thesis.txt"]

    @pytest.mark.parametrize("inside", ["", "sub/folder"])
    def test_never_into_an_input(self, rlcompare: Command, samples: Path, inside: str) -> None:
        result = rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", "-o", samples / "base" / inside)

        assert result.code == 2
        assert "-o" in result.error

    @pytest.mark.slow
    def test_nothing_is_written_beside_the_inputs(self, rlcompare: Command, samples: Path) -> None:
        before = snapshot(samples)
        for prefer in ("db", "text"):
            assert rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", "--prefer", prefer).code == 0
        assert snapshot(samples) == before


class TestSelection:
    def test_a_profile_against_itself(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("diff", "-d", samples / "base", "-bp", samples / "base", "--json")

        document = json.loads(result.out)
        assert result.code == 0
        assert {row["delta"] for row in document["overall"] if row["delta"] is not None} == {0}

    @pytest.mark.slow
    def test_database_and_text_give_the_same_times(self, rlcompare: Command, samples: Path) -> None:
        documents = [
            json.loads(
                rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", "--prefer", prefer, "--json").out
            )
            for prefer in ("db", "text")
        ]
        for name in ("time.compute", "time.exposed_comm", "time.free", "time.step"):
            assert metric(documents[0], name)["new"] == metric(documents[1], name)["new"]

    @pytest.mark.slow
    def test_steps(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", "--step", 3, "--json")
        assert json.loads(result.out)["new"]["steps"] == [3]

    @pytest.mark.parametrize("prefer", ["db", "text"])
    @pytest.mark.parametrize("option", ["--step", "--base-step", "--new-step"])
    def test_a_step_that_does_not_exist(self, rlcompare: Command, samples: Path, option: str, prefer: str) -> None:
        result = rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", option, "2,7", "--prefer", prefer)

        assert result.code == 2
        assert "step 7" in result.error.replace("--step 7", "step 7")
        assert "2-3" in result.error

    @pytest.mark.slow
    def test_a_step_of_verls_folders(self, rlcompare: Command) -> None:
        assert rlcompare("sample", "-o", "verl", "--layout", "verl", "--layers", 1, "--decode-steps", 1).code == 0
        assert "verl only has step 2" in rlcompare("diff", "-d", "verl", "-bp", "verl", "--step", 1).error
        for option in ("--base-step", "--new-step"):
            said = rlcompare("diff", "-d", "verl", "-bp", "verl", option, 1).error
            assert f"{option} 1: verl only has step 2" in said
        assert rlcompare("diff", "-d", "verl", "-bp", "verl", "--step", 2).code == 0

    def test_a_step_that_one_of_several_runs_lacks(self, rlcompare: Command) -> None:
        for name, steps in (("first", "2,3"), ("second", "5")):
            rlcompare("sample", "-o", f"runs/{name}", "--steps", steps, "--layers", 1, "--decode-steps", 1)
        said = {step: rlcompare("diff", "-d", "runs", "-bp", "runs", "--step", step).error for step in (3, 5)}
        assert "--step 3: run second in runs only has step 5" in said[3]
        assert "--step 5: run first in runs only has steps 2-3" in said[5]

    def test_a_key_that_nothing_has(self, rlcompare: Command, samples: Path) -> None:
        sides = ("-d", samples / "new", "-bp", samples / "base")
        result = rlcompare("diff", *sides, "--varied", "cann,profiler.*,torch_nup,qqq")
        assert result.code == 0
        typo, unknown = result.err.splitlines()
        assert "--varied torch_nup: neither side has it; did you mean torch_npu?" in typo
        assert "--varied qqq: neither side has it; the env section of a report" in unknown

    def test_many_keys_that_nothing_has(self, rlcompare: Command, samples: Path) -> None:
        sides = ("-d", samples / "new", "-bp", samples / "base")
        result = rlcompare("diff", *sides, "--varied", ",".join(f"qq{number}" for number in range(300)))
        assert result.code == 0
        *first, last = result.err.splitlines()
        assert [line.split()[3] for line in first] == [f"qq{number}:" for number in range(5)]
        assert last.endswith("--varied: neither side has 295 more of these keys")

    @pytest.mark.slow
    def test_ranks(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", "--rank", "1", "--json")
        assert [capture["rank"] for capture in json.loads(result.out)["new"]["captures"]] == [1]

    def test_a_rank_that_does_not_exist(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", "--rank", "0-7")
        assert result.code == 2
        assert "--rank 2-7" in result.error
        assert "has rank 0-1" in result.error

    @pytest.mark.parametrize(
        "arguments",
        [
            ["--step", "x"],
            ["--rank", "3-1"],
            ["--rank", "0-99999999999"],
            ["--step", "2", "--base-step", "2"],
            ["--layout", "both"],
            ["--prefer", "csv"],
            ["--format", "pdf"],
            ["--no-such-option"],
        ],
    )
    def test_wrong_usage(self, rlcompare: Command, samples: Path, arguments: list[str]) -> None:
        result = rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", *arguments)
        assert result.code == 2
        assert result.error
        assert result.out == ""

    @pytest.mark.parametrize("given", ["-d", "-bp"])
    def test_one_side_is_missing(self, rlcompare: Command, samples: Path, given: str) -> None:
        result = rlcompare("diff", given, samples / "new")
        assert result.code == 2
        assert {"-d": "-bp", "-bp": "-d"}[given] in result.error

    def test_two_labels_for_one_side(self, rlcompare: Command, samples: Path) -> None:
        new = samples / "new"
        result = rlcompare("diff", "-d", f"a={new}", "-d", f"b={new}", "-bp", new)
        assert (result.code, "one label" in result.error) == (2, True)


class TestStores:
    @pytest.mark.slow
    def test_a_store_stands_for_its_profile(self, rlcompare: Command, samples: Path) -> None:
        for side in ("new", "base"):
            assert rlcompare("ingest", samples / side, "-o", f"{side}.duckdb").code == 0

        raw = json.loads(rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", "--json").out)
        stored = json.loads(rlcompare("diff", "-d", "new.duckdb", "-bp", "base.duckdb", "--json").out)

        assert stored["overall"] == raw["overall"]
        assert stored["sections"] == raw["sections"]

    @pytest.mark.slow
    def test_the_second_diff_starts_from_the_cache(
        self, rlcompare: Command, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        arguments = (
            "diff",
            "-d",
            samples / "new",
            "-bp",
            samples / "base",
            "--json",
            "--cache-dir",
            tmp_path / "cache",
        )
        first = rlcompare(*arguments)

        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("a store was built again")

        monkeypatch.setattr("rlcompare.store.cache.build_stores", refuse)

        assert rlcompare(*arguments) == first
        assert len(list((tmp_path / "cache").glob("*.duckdb"))) == 2

    @pytest.mark.slow
    def test_no_cache(self, rlcompare: Command, samples: Path, tmp_path: Path) -> None:
        result = rlcompare(
            "diff", "-d", samples / "new", "-bp", samples / "base", "--no-cache", "--cache-dir", tmp_path / "cache"
        )
        assert result.code == 0
        assert not (tmp_path / "cache").exists()

    @pytest.mark.slow
    def test_a_store_of_another_schema(self, rlcompare: Command, samples: Path) -> None:
        import duckdb

        rlcompare("ingest", samples / "new", "-o", "new.duckdb")
        with duckdb.connect("new.duckdb") as con:
            con.execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'")

        result = rlcompare("diff", "-d", "new.duckdb", "-bp", samples / "base")

        assert result.code == 4
        assert "999" in result.error
        assert "rlcompare ingest" in result.error

    def test_some_other_duckdb_file(self, rlcompare: Command, samples: Path) -> None:
        import duckdb

        with duckdb.connect("other.duckdb") as con:
            con.execute("CREATE TABLE customers (name VARCHAR)")

        result = rlcompare("diff", "-d", "other.duckdb", "-bp", samples / "base")

        assert (result.code, "not an rlcompare store" in result.error) == (4, True)


@pytest.mark.slow
def test_ranks_alone_pair_anyway(rlcompare: Command, samples: Path) -> None:
    first, second = ranks_of(samples / "base")
    result = rlcompare("diff", "-d", second, "-bp", first, "--json")
    document = json.loads(result.out)
    assert result.code == 0
    assert metric(document, "time.compute")["new"] is not None
