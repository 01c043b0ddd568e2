"""Detection: every layout that a user may name, and every way in which it may be broken."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlcompare.errors import InputError, UsageError
from rlcompare.model.run import RunInput
from rlcompare.sources.ascend.peek import steps_of_database, steps_of_step_trace_time
from rlcompare.sources.detect import find_runs

from .profile_folders import CSV_HEADER, make_database, make_profile, make_unparsed

NAME = "host_17_20250318093015{:03}_ascend_pt"


def ranks(run: RunInput) -> list[int | None]:
    return [capture.rank for capture in run.captures]


def keys(run: RunInput) -> set[str]:
    return {finding.key for finding in run.findings}


class TestOneCapture:
    def test_ascend_pt_folder(self, tmp_path: Path) -> None:
        folder = make_profile(tmp_path / NAME.format(1), 3)

        (run,) = find_runs(folder)

        (capture,) = run.captures
        assert (capture.source, capture.rank, capture.path) == ("ascend_db", 3, folder)
        assert {key: path.name for key, path in capture.files.items()} == {
            "db": "ascend_pytorch_profiler_3.db",
            "analysis_db": "analysis.db",
        }
        assert run.name == folder.name
        assert run.findings == ()

    def test_ascend_ms_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "rank-0_1_20250318093015001_ascend_ms"
        make_database(folder / "ASCEND_PROFILER_OUTPUT" / "ascend_mindspore_profiler_5.db")
        make_database(folder / "ASCEND_PROFILER_OUTPUT" / "communication_analyzer.db", "CommAnalyzerTime")

        (run,) = find_runs(folder)

        assert ranks(run) == [5]
        assert set(run.captures[0].files) == {"db", "analysis_db"}

    @pytest.mark.parametrize(
        "inside", ["ASCEND_PROFILER_OUTPUT", "ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_2.db"]
    )
    def test_its_output_folder_or_database_alone(self, tmp_path: Path, inside: str) -> None:
        folder = make_profile(tmp_path / NAME.format(1), "2", started_ns=1_742_290_215_000_000_000)

        (run,) = find_runs(folder / inside)

        assert ranks(run) == [2]
        assert set(run.captures[0].files) == {"db", "analysis_db"}
        assert run.captures[0].started_ns == 1_742_290_215_000_000_000

    def test_database_of_any_name_is_told_by_its_tables(self, tmp_path: Path) -> None:
        database = make_database(tmp_path / "copied from the cluster.db", ranks=(6, 6))

        (run,) = find_runs(database)

        assert (run.captures[0].source, ranks(run)) == ("ascend_db", [6])

    @pytest.mark.parametrize(
        ("name", "rank"),
        [
            ("ascend_pytorch_profiler_12.db", 12),
            ("ascend_pytorch_profiler.db", None),
            ("msmonitor_4711_20250318093015001_7.db", 7),
            ("msmonitor_4711_20250318093015001_-1.db", None),
            ("msprof_20250318093015.db", None),
        ],
    )
    def test_rank_from_the_databases_name(self, tmp_path: Path, name: str, rank: int | None) -> None:
        make_database(tmp_path / "x" / name)

        (run,) = find_runs(tmp_path / "x")

        assert ranks(run) == [rank]

    def test_several_ranks_in_the_map_are_no_rank_of_the_process(self, tmp_path: Path) -> None:
        (run,) = find_runs(make_database(tmp_path / "p.db", ranks=(0, 1)))
        assert ranks(run) == [None]

    def test_the_profiler_info_of_another_rank_is_not_its_own(self, tmp_path: Path) -> None:
        for rank in (0, 1):
            make_database(tmp_path / f"ascend_pytorch_profiler_{rank}.db")
        (tmp_path / "profiler_info_0.json").write_text('{"rank_id": 0}')

        (run,) = find_runs(tmp_path)

        assert ranks(run) == [0, 1]
        assert ranks(*find_runs(tmp_path / "ascend_pytorch_profiler_1.db")) == [1]

    def test_one_text_file_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "from last week.csv"
        path.write_text("\ufeff" + CSV_HEADER, encoding="utf-8")

        (run,) = find_runs(path)

        assert run.captures[0].source == "ascend_text"
        assert run.captures[0].files == {"kernel_details": path}

    def test_trace_alone_is_told_by_content(self, tmp_path: Path) -> None:
        path = tmp_path / "whatever.json"
        path.write_text('\n [{"ph": "X", "ts": "1.0"}')

        (run,) = find_runs(path)

        assert run.captures[0].files == {"trace_view": path}

    def test_analysis_db_beside_text_is_read_with_it(self, profiles: Path) -> None:
        (run,) = find_runs(profiles / "ascend-qwen3-pp2-2025q4")

        assert ranks(run) == [0, 1, 2, 3]
        assert {capture.source for capture in run.captures} == {"ascend_text"}
        assert all("analysis_db" in capture.files for capture in run.captures)
        assert [set(c.files) >= {"kernel_details"} for c in run.captures] == [True, False, True, False]

    def test_start_from_the_folders_name(self, tmp_path: Path) -> None:
        (run,) = find_runs(make_profile(tmp_path / NAME.format(250), 0))
        assert run.captures[0].started_ns == 1_742_290_215_250_000_000  # 2025-03-18 09:30:15.250


class TestDatabaseAndText:
    def test_database_wins_and_the_user_is_told(self, tmp_path: Path) -> None:
        folder = make_profile(tmp_path / NAME.format(1), 0, text=True)

        (run,) = find_runs(folder)

        assert run.captures[0].source == "ascend_db"
        assert keys(run) == {"db_preferred"}

    def test_prefer_text(self, tmp_path: Path) -> None:
        folder = make_profile(tmp_path / NAME.format(1), 0, text=True)

        (run,) = find_runs(folder, prefer="text")

        assert run.captures[0].source == "ascend_text"
        assert set(run.captures[0].files) == {"kernel_details", "trace_view", "analysis_db"}

    def test_text_is_read_where_the_database_is_truncated(self, tmp_path: Path) -> None:
        folder = make_profile(tmp_path / NAME.format(1), 0, text=True)
        database = folder / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db"
        os.truncate(database, 5000)

        (run,) = find_runs(folder)

        assert run.captures[0].source == "ascend_text"
        (finding,) = run.findings
        assert finding.key == "damaged_db"
        assert "ascend_pytorch_profiler_0.db" in finding.message
        assert "truncated" in finding.message


class TestManyRanks:
    def test_different_ranks_are_one_run(self, tmp_path: Path) -> None:
        for rank in range(8):
            make_profile(tmp_path / "new" / NAME.format(rank), rank)

        (run,) = find_runs(tmp_path / "new")

        assert ranks(run) == list(range(8))
        assert run.name == "new"
        assert "8 ranks × 1 run" in run.findings[0].message

    def test_subfolders_with_the_same_ranks_are_runs(self, tmp_path: Path) -> None:
        for attempt in ("first", "second", "third"):
            for rank in (0, 1):
                make_profile(tmp_path / "new" / attempt / NAME.format(rank), rank)

        runs = find_runs(tmp_path / "new")

        assert [(run.name, ranks(run)) for run in runs] == [("first", [0, 1]), ("second", [0, 1]), ("third", [0, 1])]
        assert "2 ranks × 3 runs" in runs[0].findings[0].message

    def test_one_folder_per_rank_is_one_run(self, tmp_path: Path) -> None:
        for rank in (0, 1):
            make_profile(tmp_path / "new" / f"worker{rank}" / NAME.format(rank), rank)

        (run,) = find_runs(tmp_path / "new")

        assert ranks(run) == [0, 1]

    def test_repeated_captures_in_one_folder_are_runs_in_time(self, tmp_path: Path) -> None:
        for rank in (0, 1):
            for start in (2_000, 1_000):
                make_profile(tmp_path / f"h_{rank}_{start}_ascend_pt", rank, started_ns=start * 10**9)

        runs = find_runs(tmp_path)

        assert [ranks(run) for run in runs] == [[0, 1], [0, 1]]
        starts = sorted(tuple(capture.started_ns for capture in run.captures) for run in runs)
        assert starts == [(1_000 * 10**9, 1_000 * 10**9), (2_000 * 10**9, 2_000 * 10**9)]

    def test_launches_are_not_mixed_where_one_lacks_a_rank(self, tmp_path: Path) -> None:
        """Each launch starts its ranks within seconds; of the first, rank 2 is missing."""
        launches = {0: (1_000, 1_003, None), 1: (2_001, 2_002, 2_000), 2: (3_000, 3_001, 3_002)}
        for starts in launches.values():
            for rank, start in enumerate(starts):
                if start is not None:
                    make_profile(tmp_path / f"h_{rank}_{start}_ascend_pt", rank, started_ns=start * 10**9)

        runs = find_runs(tmp_path)

        found = sorted([capture.started_ns // 10**9 for capture in run.captures] for run in runs)  # type: ignore[operator]
        assert found == [[1_000, 1_003], [2_001, 2_002, 2_000], [3_000, 3_001, 3_002]]

    @pytest.mark.parametrize(
        ("of_ranks", "runs"),
        [
            # As many of each rank, but not of the same launches.
            ([(1_000, 2_000), (2_001, 3_001)], [[1_000], [2_000, 2_001], [3_001]]),
            # The clocks of two hosts differ by more than the pause between launches.
            ([(0, 60, 120), (301, 361)], [[0, 301], [60, 361], [120]]),
            ([(0, 60, 120), (100, 160, 220)], [[0, 100], [60, 160], [120, 220]]),
            # They differ by less, or one rank began late.
            ([(0, 60), (40, 100)], [[0, 40], [60, 100]]),
            ([(0, 60), (2, 105)], [[0, 2], [60, 105]]),
            # The ranks were profiled one after the other.
            ([(0, 10), (20, 30)], [[0, 20], [10, 30]]),
        ],
    )
    def test_launches_by_time_or_by_number(
        self, tmp_path: Path, of_ranks: list[tuple[int, ...]], runs: list[list[int]]
    ) -> None:
        for rank, starts in enumerate(of_ranks):
            for start in starts:
                make_profile(tmp_path / f"h_{rank}_{start}_ascend_pt", rank, started_ns=(10**6 + start) * 10**9)

        found = [
            [(capture.started_ns or 0) // 10**9 - 10**6 for capture in run.captures] for run in find_runs(tmp_path)
        ]
        assert sorted(found) == runs

    def test_captures_without_a_rank_are_runs(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            make_database(tmp_path / name / "ascend_pytorch_profiler.db")

        assert [run.name for run in find_runs(tmp_path)] == ["a", "b"]

    def test_layout_ranks_overrides(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            make_database(tmp_path / name / "ascend_pytorch_profiler.db")

        (run,) = find_runs(tmp_path, layout="ranks")

        assert ranks(run) == [0, 1]
        assert "--layout" not in run.findings[0].message

    def test_layout_runs_overrides(self, tmp_path: Path) -> None:
        for rank in (0, 1):
            make_profile(tmp_path / NAME.format(rank), rank)

        assert [ranks(run) for run in find_runs(tmp_path, layout="runs")] == [[0], [1]]

    def test_the_real_set_is_four_runs_of_two_ranks(self, profiles: Path) -> None:
        runs = find_runs(profiles / "ascend-910b-2025-level01")
        assert [(run.name, ranks(run)) for run in runs] == [
            ("db/level0", [0, 1]),
            ("db/level1", [0, 1]),
            ("text/level0", [0, 1]),
            ("text/level1", [0, 1]),
        ]

    def test_ranks_are_chosen_before_anything_is_read(self, tmp_path: Path) -> None:
        for rank in range(4):
            make_profile(tmp_path / NAME.format(rank), rank)

        (run,) = find_runs(tmp_path, ranks=frozenset({1, 3}))

        assert ranks(run) == [1, 3]

    def test_a_rank_that_is_not_there(self, tmp_path: Path) -> None:
        for rank in (0, 1, 2, 63):
            make_profile(tmp_path / NAME.format(rank), rank)

        with pytest.raises(UsageError, match=r"--rank 5-6: .* has rank 0-2,63"):
            find_runs(tmp_path, ranks=frozenset({0, 5, 6}))

    def test_a_run_directory_is_one_run(self, tmp_path: Path) -> None:
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "run.json").write_text('{"schema": "rlcompare.run/1"}')
        for number in (1, 2):
            make_profile(tmp_path / "new" / "profile" / NAME.format(number), 0)
        (tmp_path / "new" / "run.duckdb").write_bytes(b"12345678DUCK")

        (run,) = find_runs(tmp_path / "new")

        assert run.name == "new"
        assert [(capture.source, capture.rank, capture.ordinal) for capture in run.captures] == [
            ("ascend_db", 0, 0),
            ("ascend_db", 0, 1),
        ]


class TestVerl:
    def test_end_to_end_with_step_folders(self, tmp_path: Path) -> None:
        for step in (2, 10):
            for rank in (0, 1):
                make_profile(tmp_path / "SP" / str(step) / "e2e" / NAME.format(step * 10 + rank), rank)

        (run,) = find_runs(tmp_path / "SP")

        assert [(c.rank, c.step_hint, c.ordinal, c.role) for c in run.captures] == [
            (0, 2, 0, None),
            (0, 10, 1, None),
            (1, 2, 0, None),
            (1, 10, 1, None),
        ]
        assert "2 ranks × 1 run, 4 captures" in run.findings[0].message

    @pytest.mark.parametrize("folder", ["e2e", "train"])
    def test_end_to_end_without_step_folders(self, tmp_path: Path, folder: str) -> None:
        for number in (2, 1):
            make_profile(tmp_path / "SP" / folder / NAME.format(number), 0)

        (run,) = find_runs(tmp_path / "SP")

        assert [(c.path.name, c.ordinal, c.step_hint) for c in run.captures] == [
            (NAME.format(1), 0, None),
            (NAME.format(2), 1, None),
        ]

    @pytest.mark.parametrize(
        ("folder", "role", "phase"),
        [
            ("rollout_generate", "rollout", "generate_sequences"),
            ("actor_compute_log_prob", "actor", "old_log_prob"),
            ("ref_compute_log_prob", "ref", "ref_log_prob"),
            ("actor_update", "actor", "update_actor"),
            ("compute_values", "critic", "values"),
            ("critic_update", "critic", "update_critic"),
        ],
    )
    def test_discrete_roles(self, tmp_path: Path, folder: str, role: str, phase: str) -> None:
        capture_folder = make_profile(tmp_path / "SP" / folder / NAME.format(1), 0)

        for path in (tmp_path / "SP", tmp_path / "SP" / folder, capture_folder):
            (run,) = find_runs(path)
            assert (run.captures[0].role, run.captures[0].phase) == (role, phase)

    def test_discrete_captures_of_one_rank_are_one_run(self, tmp_path: Path) -> None:
        for number, folder in enumerate(("rollout_generate", "actor_compute_log_prob", "actor_update", "actor_update")):
            make_profile(tmp_path / "SP" / folder / NAME.format(number), 0)

        (run,) = find_runs(tmp_path / "SP")

        assert [(c.role, c.phase, c.ordinal) for c in run.captures] == [
            ("actor", "old_log_prob", 0),
            ("actor", "update_actor", 0),
            ("actor", "update_actor", 1),
            ("rollout", "generate_sequences", 0),
        ]

    def test_rollout_replicas_are_no_ranks(self, tmp_path: Path) -> None:
        for replica in (0, 1):
            make_profile(tmp_path / "SP" / f"agent_loop_rollout_replica_{replica}" / NAME.format(replica), 0)
        make_profile(tmp_path / "SP" / "actor_update" / NAME.format(7), 0)

        (run,) = find_runs(tmp_path / "SP")

        assert [(c.role, c.replica, c.rank, c.ordinal) for c in run.captures] == [
            ("actor", None, 0, 0),
            ("rollout", 0, 0, 0),
            ("rollout", 1, 0, 0),
        ]

    def test_two_save_paths_are_two_runs(self, tmp_path: Path) -> None:
        for save_path in ("cann82", "cann83"):
            for folder in ("rollout_generate", "actor_update"):
                make_profile(tmp_path / save_path / folder / NAME.format(1), 0)

        assert [run.name for run in find_runs(tmp_path)] == ["cann82", "cann83"]

    def test_number_folders_are_steps_where_verl_wrote_them(self, tmp_path: Path) -> None:
        config: dict[str, object] = {"common_config": {}, "experimental_config": {"_msprof_tx": True}}
        for step in (1, 2):
            make_profile(tmp_path / "SP" / str(step) / NAME.format(step), 0, config=config)

        (run,) = find_runs(tmp_path / "SP")

        assert [capture.step_hint for capture in run.captures] == [1, 2]

    def test_number_folders_are_runs_elsewhere(self, tmp_path: Path) -> None:
        config: dict[str, object] = {
            "common_config": {"schedule": {"active": 1}},
            "experimental_config": {"_msprof_tx": True},
        }
        for number in (1, 2):
            make_profile(tmp_path / "runs" / str(number) / NAME.format(number), 0, config=config)

        runs = find_runs(tmp_path / "runs")

        assert [(run.name, run.captures[0].step_hint) for run in runs] == [("1", None), ("2", None)]

    def test_op_args_folders_are_no_profiles(self, tmp_path: Path) -> None:
        folder = make_profile(tmp_path / "SP" / "e2e" / NAME.format(1), 0)
        make_database(tmp_path / "SP" / "e2e" / "host_17_20250318093015001_op_args" / "ascend_pytorch_profiler_1.db")

        (run,) = find_runs(tmp_path / "SP")
        assert [capture.path for capture in run.captures] == [folder]

        with pytest.raises(InputError, match="operator arguments"):
            find_runs(tmp_path / "SP" / "e2e" / "host_17_20250318093015001_op_args")


class TestNothingUsable:
    def test_missing_path(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"nowhere: there is no such file"):
            find_runs(tmp_path / "nowhere")

    def test_empty_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="it contains no files"):
            find_runs(tmp_path)

    def test_folder_of_other_things(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("nothing")
        (tmp_path / "sub").mkdir()
        with pytest.raises(InputError, match="it contains no profile"):
            find_runs(tmp_path)

    def test_never_parsed(self, tmp_path: Path) -> None:
        folder = make_unparsed(tmp_path / "it's new" / "h_1_20250318093015001_ascend_pt")

        with pytest.raises(InputError, match="never parsed") as caught:
            find_runs(tmp_path / "it's new")

        assert caught.value.path == folder
        command = caught.value.remedy.removeprefix("Parse it: ")
        assert shlex.split(command) == ["rlcompare", "analyse", str(folder.parent)]

    def test_never_parsed_by_mindspore(self, tmp_path: Path) -> None:
        folder = make_unparsed(tmp_path / "it's new" / "h_1_20250318093015001_ascend_ms")

        with pytest.raises(InputError, match="never parsed") as caught:
            find_runs(tmp_path / "it's new")

        assert caught.value.path == folder
        program, option, code = shlex.split(caught.value.remedy.removeprefix("Parse it: "))
        assert (program, option) == ("python3", "-c")
        compile(code, "remedy", "exec")
        assert code.startswith("from mindspore.profiler.profiler import analyse; analyse(profiler_path=")
        assert eval(code.split("profiler_path=")[1].rstrip(")")) == str(folder.parent)

    def test_the_command_that_parses_is_plain_where_the_path_is(self, tmp_path: Path) -> None:
        folder = make_unparsed(tmp_path / "h_1_20250318093015001_ascend_ms")
        with pytest.raises(InputError) as caught:
            find_runs(folder)
        assert caught.value.remedy == (
            'Parse it: python3 -c "from mindspore.profiler.profiler import analyse; '
            f"analyse(profiler_path='{tmp_path}')\""
        )

    def test_unparsed_beside_parsed_is_a_finding(self, tmp_path: Path) -> None:
        make_profile(tmp_path / NAME.format(1), 0)
        make_unparsed(tmp_path / NAME.format(2))

        (run,) = find_runs(tmp_path)

        assert keys(run) == {"not_parsed"}
        assert NAME.format(2) in run.findings[0].message

    def test_truncated_database(self, tmp_path: Path) -> None:
        database = make_database(tmp_path / "ascend_pytorch_profiler_0.db")
        os.truncate(database, 5000)
        for path in (database, tmp_path):
            with pytest.raises(InputError, match=r"ascend_pytorch_profiler_0\.db: the database is truncated: 5000 of"):
                find_runs(path)

    def test_damaged_database(self, tmp_path: Path) -> None:
        database = make_database(tmp_path / "ascend_pytorch_profiler_0.db")
        content = bytearray(database.read_bytes())
        content[100:3000] = b"\xff" * 2900
        database.write_bytes(content)
        with pytest.raises(InputError, match="the database is damaged"):
            find_runs(database)

    def test_no_database_at_all(self, tmp_path: Path) -> None:
        path = tmp_path / "ascend_pytorch_profiler_0.db"
        path.write_text("this is text")
        with pytest.raises(InputError, match="is not an SQLite database"):
            find_runs(path)

    def test_database_without_usable_tables(self, tmp_path: Path) -> None:
        path = make_database(tmp_path / "ascend_pytorch_profiler_0.db", "customers")
        for named in (path, tmp_path):
            with pytest.raises(InputError, match="none of the tables of an Ascend profile"):
                find_runs(named)

    def test_empty_database_file(self, tmp_path: Path) -> None:
        path = tmp_path / "ascend_pytorch_profiler_0.db"
        path.touch()
        with pytest.raises(InputError, match="the file is empty"):
            find_runs(path)

    def test_torch_traces_are_told_by_content(self, profiles: Path) -> None:
        folder = profiles / "gpu-dlrm-8rank"
        (run,) = find_runs(folder)
        assert [capture.rank for capture in run.captures] == list(range(8))
        (alone,) = find_runs(next(folder.glob("worker3_*.json")))
        assert [(capture.source, capture.rank) for capture in alone.captures] == [("torch_trace", 3)]

    def test_folder_that_may_not_be_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        make_profile(tmp_path / "open" / NAME.format(1), 0)
        (tmp_path / "locked").mkdir()
        scandir = os.scandir

        def refuse(path: Path) -> object:  # root may read everything, so file modes prove nothing here
            if Path(path).name == "locked":
                raise PermissionError(13, "Permission denied")
            return scandir(path)

        monkeypatch.setattr(os, "scandir", refuse)

        with pytest.raises(InputError, match="locked: Permission denied"):
            find_runs(tmp_path / "locked")
        (run,) = find_runs(tmp_path)
        assert keys(run) == {"unreadable"}
        assert "locked was left out: Permission denied" in run.findings[0].message

    def test_one_output_folder_that_may_not_be_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for rank in (0, 1):
            make_profile(tmp_path / NAME.format(rank), rank)
        locked = tmp_path / NAME.format(1) / "ASCEND_PROFILER_OUTPUT"
        iterdir = Path.iterdir

        def refuse(path: Path) -> Iterator[Path]:
            if path == locked:
                raise PermissionError(13, "Permission denied", str(path))
            return iterdir(path)

        monkeypatch.setattr(Path, "iterdir", refuse)

        (run,) = find_runs(tmp_path)

        assert ranks(run) == [0]
        assert "ASCEND_PROFILER_OUTPUT was left out: Permission denied" in run.findings[0].message

    def test_a_log_that_may_not_be_read_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        make_profile(tmp_path / NAME.format(0), 0)
        for name in ("job.log", "id_rsa"):
            (tmp_path / name).write_text("step:1 - timing_s/step:10.0\n")
        before = Path.open

        def refuse(path: Path, *arguments: Any, **named: Any) -> Any:
            if path.parent == tmp_path:
                raise PermissionError(13, "Permission denied", str(path))
            return before(path, *arguments, **named)

        monkeypatch.setattr(Path, "open", refuse)

        (run,) = find_runs(tmp_path)
        assert [finding.message for finding in run.findings if finding.key == "unreadable"] == [
            "job.log was left out: Permission denied"
        ]

    def test_absurd_paths(self, tmp_path: Path) -> None:
        for path in (tmp_path / ("x" * 5000), Path("a\0b")):
            with pytest.raises(InputError):
                find_runs(path)


class TestSturdiness:
    def test_symbolic_links_that_loop(self, tmp_path: Path) -> None:
        make_profile(tmp_path / "a" / NAME.format(1), 0)
        (tmp_path / "a" / "again").symlink_to(tmp_path, target_is_directory=True)
        (tmp_path / "a" / "self").symlink_to(tmp_path / "a" / "self")

        (run,) = find_runs(tmp_path)

        assert ranks(run) == [0]

    def test_links_out_of_the_folder_are_not_followed(self, tmp_path: Path) -> None:
        make_profile(tmp_path / "elsewhere" / NAME.format(1), 1)
        make_profile(tmp_path / "mine" / NAME.format(2), 0)
        (tmp_path / "mine" / "away").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "mine" / "root").symlink_to("/")

        (run,) = find_runs(tmp_path / "mine")

        assert ranks(run) == [0]
        assert [finding.message.split(":")[0] for finding in run.findings] == [
            "away was left out",
            "root was left out",
        ]

    def test_a_folder_of_links_out_of_it_says_so(self, tmp_path: Path) -> None:
        profile = make_profile(tmp_path / "elsewhere" / NAME.format(1), 1)
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / profile.name).symlink_to(profile)
        with pytest.raises(InputError, match=r"to a place outside the given folder.*Pass the target of the link"):
            find_runs(tmp_path / "mine")
        assert ranks(find_runs(tmp_path / "mine" / profile.name)[0]) == [1]

    def test_some_other_database_beside_a_capture(self, tmp_path: Path) -> None:
        make_profile(tmp_path / NAME.format(1), 0)
        with duckdb.connect(tmp_path / "mine.duckdb") as con:
            con.execute("CREATE TABLE mine (x INTEGER)")
        (tmp_path / "cut.duckdb").write_bytes((tmp_path / "mine.duckdb").read_bytes()[:4096])

        (run,) = find_runs(tmp_path)

        assert ranks(run) == [0]
        assert [finding.severity for finding in run.findings] == ["warning", "warning"]
        assert "mine.duckdb was left out: it is a database, but not an rlcompare store" in run.findings[1].message

    @pytest.mark.parametrize(
        ("kind", "says"), [("folder", "it is a folder"), ("loop", "it cannot be opened"), ("pipe", "it is a pipe")]
    )
    @pytest.mark.parametrize("name", ["kernel_details.csv", "ascend_pytorch_profiler_0.db", "extra.duckdb"])
    def test_what_is_no_file(self, tmp_path: Path, kind: str, says: str, name: str) -> None:
        folder = tmp_path / "x_ascend_pt" / "ASCEND_PROFILER_OUTPUT" if name != "extra.duckdb" else tmp_path / "x"
        folder.mkdir(parents=True)
        if kind == "folder":
            (folder / name).mkdir()
        elif kind == "loop":
            (folder / name).symlink_to(name)
        else:
            os.mkfifo(folder / name)
        with pytest.raises(InputError) as caught:
            find_runs(tmp_path)
        if kind != "folder" or name != "extra.duckdb":
            assert says in caught.value.problem

    def test_raw_folders_are_not_entered(self, tmp_path: Path) -> None:
        folder = make_profile(tmp_path / NAME.format(1), 0)
        make_database(folder / "PROF_000001" / "msprof_20250318093015.db")

        (run,) = find_runs(tmp_path)

        assert len(run.captures) == 1

    def test_msprof_folder_counts_its_newest_export(self, tmp_path: Path) -> None:
        for moment in ("20250318093015", "20250318093016"):
            make_database(tmp_path / "PROF_000001" / f"msprof_{moment}.db")

        (run,) = find_runs(tmp_path)

        assert run.captures[0].files["db"].name == "msprof_20250318093016.db"

    def test_write_ahead_log_is_neither_needed_nor_made(self, tmp_path: Path) -> None:
        database = make_database(tmp_path / "ascend_pytorch_profiler_0.db")
        with closing(sqlite3.connect(database)) as con:
            con.execute("PRAGMA journal_mode = wal")
        before = sorted(path.name for path in tmp_path.iterdir())

        find_runs(tmp_path)

        assert sorted(path.name for path in tmp_path.iterdir()) == before

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"[1, 2]", b"\xff\xfe", b"[" * 100_000, b'{"rank_id": 1e999}', b"null"]
    )
    def test_hostile_profiler_info(self, tmp_path: Path, content: bytes) -> None:
        folder = make_profile(tmp_path / NAME.format(1), 4)
        (folder / "profiler_info_4.json").write_bytes(content)

        (run,) = find_runs(folder)

        assert ranks(run) == [4]  # from the database's name
        assert keys(run) <= {"damaged_json"}

    @pytest.mark.slow
    @settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(
        info=st.dictionaries(
            st.sampled_from(["rank_id", "start_info", "end_info", "config", "x"]),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(
                        st.sampled_from(["start_monotonic", "collectionTimeEnd", "MonotonicTimeEnd", "common_config"]),
                        inner,
                    )
                ),
                max_leaves=8,
            ),
        )
    )
    def test_any_json_in_profiler_info(self, tmp_path: Path, info: dict[str, object]) -> None:
        folder = tmp_path / NAME.format(1)
        if not folder.exists():
            make_profile(folder, 0)
        (folder / "profiler_info_0.json").write_text(json.dumps(info))

        (run,) = find_runs(folder)

        (rank,) = ranks(run)
        assert rank is None or (isinstance(rank, int) and rank >= 0)
        assert run.captures[0].started_ns is None or isinstance(run.captures[0].started_ns, int)

    def test_nothing_is_written(self, profiles: Path) -> None:
        folder = profiles / "ascend-910b-2025-level01" / "db" / "level1"
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}

        find_runs(folder)

        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


class TestSteps:
    def test_of_a_database(self, profiles: Path, tmp_path: Path) -> None:
        (run, *_) = find_runs(profiles / "ascend-910b-2025-level01" / "db")
        assert steps_of_database(run.captures[0].files["db"]) == {50}
        assert steps_of_database(make_database(tmp_path / "stepless.db")) is None

    def test_of_text(self, profiles: Path) -> None:
        (run,) = find_runs(profiles / "ascend-qwen3-pp2-2025q4")
        assert {steps_of_step_trace_time(capture.files["step_trace_time"]) for capture in run.captures} == {
            frozenset({13})
        }
