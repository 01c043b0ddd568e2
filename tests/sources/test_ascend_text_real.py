"""Real text profiles against what others computed from them: FACTS.json, the profiler's own sums, msprof-analyze."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rlcompare.model.run import CaptureInput
from rlcompare.sources.ascend.text import FILES
from rlcompare.sources.detect import find_runs
from tests.sources.text_files import Reading, read_capture
from tests.stores import rows, store_of

HALF_A_MICROSECOND = 500
CASES = [(level, rank) for level in ("level0", "level1") for rank in (0, 1)]


class Case:
    """One real text profile: its folder, its store, and the facts of its files."""

    def __init__(self, profiles: Path, name: str, folder: Path) -> None:
        facts = json.loads((profiles / "FACTS.json").read_text())
        prefix = f"{name}/ASCEND_PROFILER_OUTPUT/"
        self.facts: dict[str, Any] = {
            key.removeprefix(prefix): value for key, value in facts.items() if key.startswith(prefix)
        }
        self.store = store_of(profiles / name, folder / "run.duckdb", prefer="text")

    def one(self, query: str) -> tuple[Any, ...]:
        (row,) = rows(self.store, query)
        return row


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-rank{case[1]}")
def case(request: pytest.FixtureRequest, profiles: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """The four text sets of the 910B job."""
    level, rank = request.param
    return Case(
        profiles, f"ascend-910b-2025-level01/text/{level}/rank{rank}_ascend_pt", tmp_path_factory.mktemp("store")
    )


@pytest.fixture(scope="module")
def level1(profiles: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Rank 0 at Level1, the richest set."""
    return Case(profiles, "ascend-910b-2025-level01/text/level1/rank0_ascend_pt", tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def pipeline(profiles: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Case]:
    """The four ranks of the Qwen3 job: no trace_view.json, and ranks 1 and 3 have no kernels either."""
    return {
        rank: Case(profiles, f"ascend-qwen3-pp2-2025q4/rank_{rank}_ascend_pt", tmp_path_factory.mktemp("store"))
        for rank in range(4)
    }


def fragment(profiles: Path, part: str, name: str) -> Reading:
    """One of the old files, read alone."""
    folder = profiles / "ascend-2023-advisor-fragments"
    return read_capture(CaptureInput("ascend_text", folder, {part: folder / name}))


def assert_step_time_as_reported(case: Case) -> None:
    reported = [float(value) for value in case.facts["step_trace_time.csv"]["data"][0]]
    compute, exposed, overlapped, comm, free, stage, bubble = reported[-9:-2]
    computed = case.one(
        "SELECT compute_ns, exposed_comm_ns, overlapped_comm_ns, comm_ns, free_ns, stage_ns, bubble_ns FROM r_time"
    )
    assert computed == pytest.approx(
        [value * 1000 for value in (compute, exposed, overlapped, comm, free, stage, bubble)], abs=HALF_A_MICROSECOND
    )


def test_step_times_equal_step_trace_time(case: Case) -> None:
    assert_step_time_as_reported(case)


@pytest.mark.slow
def test_step_times_come_from_kernel_details_alone(pipeline: dict[int, Case]) -> None:
    # GIVEN ranks 0 and 2 without trace_view.json
    # THEN the step times still are the profiler's
    assert_step_time_as_reported(pipeline[0])
    assert_step_time_as_reported(pipeline[2])


def test_ranks_with_communication_only_have_no_compute(pipeline: dict[int, Case]) -> None:
    for rank in (1, 3):
        reported = float(pipeline[rank].facts["step_trace_time.csv"]["data"][0][5])
        comm, *rest = pipeline[rank].one("SELECT comm_ns, compute_ns, exposed_comm_ns, free_ns FROM r_time")
        assert comm == pytest.approx(reported * 1000, abs=HALF_A_MICROSECOND)
        assert rest == [None, None, None]
        assert pipeline[rank].one("SELECT step, device_id FROM r_time") == (13, rank if rank == 1 else 5)


def test_counts_equal_the_facts(case: Case) -> None:
    kernels, trace = case.facts["kernel_details.csv"], case.facts["trace_view.json"]
    assert case.one("SELECT count(*) FROM kernel") == (kernels["rows"] - kernels["n_comm"],)
    assert case.one("SELECT count(*) FROM collective") == (kernels["n_comm"],)
    assert case.one("SELECT count(*) FROM host_op") == (trace["cat_X"]["cpu_op"] - len(trace["steps"]),)
    assert case.one("SELECT count(*) FROM host_api") == (trace["tracks"].get("CANN", 0),)
    assert case.one("SELECT count(*) FROM collective_task") == (trace["tracks"]["HCCL"] - kernels["n_comm"],)
    assert case.one("SELECT count(*) FROM module") == (26,)
    assert case.one("SELECT count(*) FROM copy") == (24,)
    assert case.one("SELECT any_value(step), sum(end_ns - start_ns) FROM step") == (50, trace["steps"][0][2])


def test_kernel_times_equal_the_facts(case: Case) -> None:
    kernels = case.facts["kernel_details.csv"]
    comm = case.facts["trace_view.json"]["overlap"]["Communication"][1]
    ((sum_ns,),) = rows(case.store, "SELECT sum(end_ns - start_ns) FROM kernel")
    assert sum_ns + case.one("SELECT sum(end_ns - start_ns) FROM collective")[0] == pytest.approx(
        kernels["sum_ns"], abs=10
    )
    assert case.one("SELECT sum(end_ns - start_ns) FROM collective")[0] == pytest.approx(comm, abs=4)


def test_every_kernel_is_linked_to_an_operator_and_a_launch(case: Case) -> None:
    assert case.one("SELECT count(*) - count(host_op_id), count(*) - count(step) FROM kernel") == (0, 0)
    # the operator that launched a kernel ran on the host before the kernel ended on the device
    assert case.one(
        "SELECT count(*) FROM kernel AS k JOIN host_op AS o ON o.id = k.host_op_id WHERE o.start_ns > k.end_ns"
    ) == (0,)


def test_overlap_analysis_is_kept_for_parity(case: Case) -> None:
    overlap = case.facts["trace_view.json"]["overlap"]
    compute, exposed = case.one("SELECT overlap_compute_ns, overlap_exposed_comm_ns FROM device_window")
    assert compute == pytest.approx(overlap["Computing"][1], abs=200)
    assert exposed == pytest.approx(overlap["Communication(Not Overlapped)"][1], abs=200)


def test_level0_knows_neither_types_nor_transfer_times(case: Case) -> None:
    types, waits, cube = case.one(
        "SELECT (SELECT count(op_type) FROM kernel), (SELECT count(wait_ns) FROM collective),"
        " (SELECT count(*) FROM kernel WHERE msprof_category <> 'other')"
    )
    if "op_statistic.csv" in case.facts:
        assert (types, waits, cube) == (187, 4, 185)  # DSA_SQE kernels have no PMU values
    else:
        assert (types, waits, cube) == (0, 0, 0)


def test_memory_equals_the_facts(case: Case) -> None:
    record, operators = case.facts["memory_record.csv"], case.facts["operator_memory.csv"]
    peaks = dict(
        rows(case.store, "SELECT component, peak_reserved_bytes FROM r_memory WHERE component NOT LIKE 'module %'")
    )
    assert peaks == {name: int(peak * 2**20) for name, peak in record["peak_reserved_mb"].items()}
    assert case.one("SELECT count(*) FROM memory") == (record["rows"] + case.facts["npu_module_mem.csv"]["rows"],)
    assert case.one("SELECT count(*), max(size_bytes), count(*) FILTER (release_ns IS NULL) FROM allocation") == (
        operators["rows"],
        int(operators["max_size_kb"] * 1024),
        operators["unreleased"],
    )


def test_multiline_operator_details_are_summed(case: Case) -> None:
    details = case.facts["operator_details.csv"]
    calls, self_ns, device_ns = case.one(
        "SELECT sum(calls), sum(host_self_ns), sum(device_self_ns) FROM reported_operator"
    )
    assert calls == details["rows"]
    assert self_ns == pytest.approx(details["host_self_ns"], abs=details["rows"])
    assert device_ns == pytest.approx(details["device_self_ns"], abs=details["rows"])


def test_the_profilers_sums_are_kept(level1: Case) -> None:
    statistic, apis = level1.facts["op_statistic.csv"], level1.facts["api_statistic.csv"]
    assert level1.one("SELECT count(*), sum(calls), sum(total_ns) FROM reported_kernel_type") == (
        statistic["rows"],
        statistic["count"],
        statistic["total_ns"],
    )
    assert level1.one("SELECT count(*), sum(total_ns) FROM reported_api") == (apis["rows"], apis["total_ns"])
    assert level1.one("SELECT count(DISTINCT layer) FROM reported_api WHERE layer = 'communication'") == (1,)


def test_collectives_are_told_by_all_files_together(level1: Case) -> None:
    # the type from kernel_details.csv; thread, elements and tasks from the trace
    assert rows(level1.store, "SELECT DISTINCT kind, group_name, dtype, algorithm FROM collective") == [
        ("all_reduce", "Group 0 Communication", "FP32", "MESH-RING")
    ]
    assert level1.one("SELECT size_bytes FROM collective ORDER BY start_ns LIMIT 1") == (4 * 4097000,)
    # waiting and transmission fill the time exactly
    assert level1.one("SELECT count(*) FROM collective WHERE wait_ns + transit_ns <> end_ns - start_ns") == (0,)
    assert level1.one("SELECT count(*), count(DISTINCT collective_id), count(DISTINCT plane) FROM collective_task") == (
        296,
        4,
        8,
    )


def test_counters_of_kernels_have_the_database_names(level1: Case) -> None:
    names = {name for (name,) in rows(level1.store, "SELECT DISTINCT name FROM pmu")}
    assert {"aic_total_time", "aiv_total_time", "aic_mac_time", "aiv_vec_ratio", "l2_victim_rate"} <= names
    assert not [name for name in names if "(" in name]
    # the first kernel: aiv_time 50.522 us, aiv_vec_time 9.406 us, aiv_vec_ratio 0.186
    first = dict(
        rows(level1.store, "SELECT name, value FROM pmu WHERE kernel_id = (SELECT arg_min(id, start_ns) FROM kernel)")
    )
    assert (first["aiv_total_time"], first["aiv_vec_time"], first["aiv_vec_ratio"]) == pytest.approx(
        (50522, 9406, 0.186)
    )


def test_frequency_is_read(case: Case) -> None:
    assert case.one("SELECT min(value), max(value) FROM counter WHERE name = 'aicore_freq_mhz'") == (1800, 1800)


def test_shapes_are_printed_as_in_a_database(level1: Case, ascend_910b: Path, tmp_path: Path) -> None:
    # GIVEN a database of another execution of the same job
    database = store_of(ascend_910b / "db" / "level1" / "rank0_ascend_pt", tmp_path / "db.duckdb")
    # THEN what its kernels are is spelled in the same way
    query = (
        "SELECT op_type, input_shapes, input_dtypes, input_formats, output_shapes, output_dtypes, output_formats,"
        " count(*) FROM kernel GROUP BY ALL ORDER BY ALL"
    )
    assert rows(level1.store, query) == rows(database, query)


@pytest.mark.parametrize("level", ["level0", "level1"])
def test_msprof_section_equals_the_oracle(shared: Path, profiles: Path, tmp_path: Path, level: str) -> None:
    oracle = json.loads((shared / "oracle" / "msprof_compare.json").read_text())[
        f"text/{level}: baseline rank0, new rank1"
    ]
    for rank, column, api_column in ((0, 1, 2), (1, 4, 6)):
        store = store_of(
            profiles / f"ascend-910b-2025-level01/text/{level}/rank{rank}_ascend_pt",
            tmp_path / f"{rank}.duckdb",
            prefer="text",
        )
        ours = {
            (sheet, name): (ms, calls)
            for sheet, name, ms, calls in rows(store, "SELECT sheet, name, total_ns / 1e6, calls FROM r_msprof")
        }
        for row in oracle["OverallMetrics"]["rows"]:
            name = row[0].strip()
            if name not in ("Wait", "Transmit"):  # which msprof-analyze gets wrong
                ms, calls = ours["OverallMetrics", name]
                assert ms == pytest.approx(row[column], abs=0.001), name
                assert row[column + 2] in ("/", calls), name
        for row in oracle["ApiCompare"]["rows"]:
            ms, calls = ours["ApiCompare", row[1]]
            assert calls == row[api_column + 3]
            assert ms == pytest.approx(row[api_column], abs=0.0051)


def test_groups_are_known_by_their_members(pipeline: dict[int, Case]) -> None:
    # GIVEN profiler_metadata.json, which lists default_group 0-3, dp_cp 2-3 and pp 0-2 for rank 2
    members = {
        (kind, ranks) for kind, ranks in rows(pipeline[2].store, "SELECT DISTINCT kind, group_ranks FROM collective")
    }
    # THEN the hashes in communication.json lead to them
    assert {
        ("batch_send_recv", "0,2"),
        ("reduce_scatter", "2,3"),
        ("all_gather", "0,1,2,3"),
        ("all_reduce", "2"),
    } <= members
    assert not [kind for kind, ranks in members if ranks is None]


def test_links_are_typed_by_the_operators_that_they_sum(pipeline: dict[int, Case]) -> None:
    # the matrix calls reduce-scatter "reduce"
    for case in pipeline.values():
        kinds = {kind for (kind,) in rows(case.store, "SELECT DISTINCT kind FROM link")}
        assert "reduce_scatter" in kinds
        assert "reduce" not in kinds


def test_a_rank_is_not_a_device(pipeline: dict[int, Case]) -> None:
    for table in ("kernel", "collective", "memory", "reported_kernel_type", "reported_step_time"):
        assert rows(pipeline[2].store, f"SELECT DISTINCT device_id FROM {table}") == [(4,)]


def test_kernel_details_of_2023(profiles: Path) -> None:
    reading = fragment(profiles, "kernel_details", "kernel_details_arith_2023.csv")
    kernel_ns, collective_ns, kernels, collectives = reading.rows(
        "SELECT (SELECT sum(end_ns - start_ns) FROM stage_kernel),"
        " (SELECT sum(end_ns - start_ns) FROM stage_collective),"
        " (SELECT count(*) FROM stage_kernel), (SELECT count(*) FROM stage_collective)"
    )[0]
    assert (kernels, collectives, kernel_ns + collective_ns) == (591 - 19, 19, 396807040)
    assert reading.rows("SELECT count(*), sum(end_ns - start_ns) FROM stage_kernel WHERE op_type = 'MatMul'") == [
        (9, 14070560)
    ]
    # ArithmeticUtilization has no PMU time of cube or vector, so nothing tells them apart
    assert reading.rows("SELECT count(cube) FROM stage_kernel") == [(0,)]
    assert reading.rows("SELECT max(value) > 0 FROM pmu WHERE name = 'aic_cube_fops'") == [(True,)]
    assert reading.rows("SELECT step, start_ns FROM stage_step") == [(1, None)]
    assert reading.warnings == []


def test_kernel_details_of_2025(profiles: Path) -> None:
    reading = fragment(profiles, "kernel_details", "kernel_details_pipe_2025.csv")
    assert reading.rows("SELECT count(*), sum(end_ns - start_ns), count(cube) FROM stage_kernel") == [
        (29, 10061159, 29)
    ]
    assert reading.rows("SELECT DISTINCT op_type FROM stage_kernel WHERE NOT cube") == [("Add",)]


def test_trace_of_2024_alone(profiles: Path) -> None:
    # GIVEN a trace in which every task's type is "Other", and no other file
    reading = fragment(profiles, "trace_view", "trace_view_2024.json")
    # THEN the kernels are those of its own overlap analysis (274, 1788.266 us), each with its operator
    assert reading.rows("SELECT count(*), count(host_op_id), count(launch_ns) FROM stage_kernel") == [(274, 274, 274)]
    assert reading.rows("SELECT sum(end_ns - start_ns) FROM stage_kernel")[0][0] == pytest.approx(1788266, abs=2)
    assert reading.rows("SELECT count(*) FROM stage_host_op") == [(711 - 1,)]
    assert reading.rows("SELECT count(*) FROM host_api") == [(382,)]
    assert reading.rows("SELECT step, end_ns - start_ns FROM stage_step") == [(1, 14091970)]


def test_kernels_of_the_trace_are_those_of_kernel_details(ascend_910b: Path) -> None:
    # GIVEN the same capture with and without kernel_details.csv
    folder = ascend_910b / "text" / "level1" / "rank0_ascend_pt"
    ((capture,),) = [run.captures for run in find_runs(folder, prefer="text")]
    both = read_capture(capture)
    files = {part: path for part, path in capture.files.items() if part != "kernel_details"}
    alone = read_capture(CaptureInput("ascend_text", folder, files))
    # THEN kernels, their times, streams and launches are the same (the CSV rounds halves to even)
    query = "SELECT name, stream, start_ns, launch_ns, host_op_ns, device_id FROM stage_kernel ORDER BY start_ns"
    assert alone.rows(query) == both.rows(query)
    query = "SELECT end_ns FROM stage_kernel ORDER BY start_ns"
    assert [end for (end,) in alone.rows(query)] == pytest.approx([end for (end,) in both.rows(query)], rel=0, abs=1)
    query = "SELECT name, start_ns, end_ns, wait_ns, size_bytes, launch_ns FROM stage_collective ORDER BY start_ns"
    assert alone.rows(query) == both.rows(query)


@pytest.mark.parametrize("part", sorted(set(FILES) - {"data_preprocess"}))
def test_each_file_is_enough_for_what_it_tells(ascend_910b: Path, part: str) -> None:
    path = ascend_910b / "text" / "level1" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / FILES[part].name
    reading = read_capture(CaptureInput("ascend_text", path.parent, {part: path}))
    table = {
        "trace_view": "stage_host_op",
        "kernel_details": "stage_kernel",
        "communication": "stage_collective",
        "communication_matrix": "link",
        "step_trace_time": "reported_step_time",
        "op_statistic": "reported_kernel_type",
        "api_statistic": "reported_api",
        "operator_details": "reported_operator",
        "memory_record": "memory",
        "npu_module_mem": "memory",
        "operator_memory": "allocation",
        "l2_cache": None,
    }[part]
    assert reading.warnings == []
    assert table is None or reading.rows(f"SELECT count(*) > 0 FROM {table}") == [(True,)]


def test_analysis_db_stands_in_for_the_files_that_are_missing(profiles: Path) -> None:
    # GIVEN nothing but analysis.db
    path = profiles / "ascend-qwen3-pp2-2025q4" / "rank_2_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "analysis.db"
    reading = read_capture(CaptureInput("ascend_text", path.parent, {"analysis_db": path}))
    assert reading.rows("SELECT device_id, step, compute_ns FROM reported_step_time") == [(4, 13, 400448260)]
    # THEN it is not read twice where the text files are there
    files = {name: path.with_name(FILES[name].name) for name in ("step_trace_time", "communication_matrix")}
    both = read_capture(CaptureInput("ascend_text", path.parent, {"analysis_db": path, **files}))
    assert both.rows("SELECT count(*) FROM reported_step_time") == [(1,)]
