"""The databases of sample profiles: their tables, their links, and their own summary, checked without the writer."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from rlcompare.writer import SampleRun, write_sample
from rlcompare.writer.info import SECRETS
from tests.unit.writer_readers import Database, union_length

_DEVICE_TABLES = {
    "TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "COMMUNICATION_TASK_INFO", "CANN_API", "AICORE_FREQ", "HBM", "LLC",
    "NPU_MEM", "NPU_MODULE_MEM", "MEMORY_RECORD", "OP_MEMORY", "PYTORCH_API", "CONNECTION_IDS",
}  # fmt: skip
_ALWAYS = {"NPU_INFO", "SESSION_TIME_INFO", "HOST_INFO", "META_DATA", "STRING_IDS", "RANK_DEVICE_MAP", "MSTX_EVENTS"}


def _plain_tables(database: Database) -> set[str]:
    return {name for name in database.tables() if not name.startswith("ENUM_")}


@pytest.fixture(scope="module")
def stepped(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """Rank 1 of two, steps 2 and 3, Level1."""
    run = SampleRun(steps=(2, 3), layers=2, decode_steps=2, gc=True)
    return Database(write_sample(run, tmp_path_factory.mktemp("stepped") / "run")[1])


def _check_step_times(database: Database) -> None:
    """analysis.db against a union made from TASK rows by the documented definition."""
    launches = {row["connectionId"]: row["startNs"] for row in database.rows("CANN_API") if row["type"] == 10000}
    steps = database.rows("STEP_TIME") if "STEP_TIME" in database.tables() else []
    kernels, collectives = database.kernels(), database.collectives()
    reported = database.analysis("StepTraceTime")
    devices = {row["deviceId"] for row in kernels}
    assert len(reported) == len(devices) * max(1, len(steps))
    for row in reported:
        device = row.get("deviceId", next(iter(devices)))
        own = [task for task in (*kernels, *collectives) if task["deviceId"] == device]
        first, last, host_start = 0, 1 << 62, 0
        for step in steps:
            if str(step["id"]) == row["step"]:
                inside = [t for t in own if step["startNs"] <= launches[t["connectionId"]] <= step["endNs"]]
                first, host_start = min(t["startNs"] for t in inside), step["startNs"]
                last = max(step["endNs"], *(t["endNs"] for t in inside))
        compute = [(t["startNs"], t["endNs"]) for t in kernels if t in own and first <= t["startNs"] < last]
        comm = [(t["startNs"], t["endNs"]) for t in collectives if t in own and first <= t["startNs"] < last]
        both = union_length([*compute, *comm])
        span = max(end for _, end in [*compute, *comm]) - min(start for start, _ in [*compute, *comm])
        expected = {
            "computing": union_length(compute),
            "communication": union_length(comm),
            "communication_not_overlapped": both - union_length(compute),
            "overlapped": union_length(compute) + union_length(comm) - both,
            "free": span - both,
            "stage": span,
            "bubble": 0,
            "preparing": first - host_start,
        }
        assert {name: round(row[name] * 1000) for name in expected} == expected


def test_a_stepped_level1_database_has_all_tables(stepped: Database) -> None:
    assert _plain_tables(stepped) == _ALWAYS | _DEVICE_TABLES | {"TASK_PMU_INFO", "STEP_TIME", "GC_RECORD"}
    assert stepped.con.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_step_times_equal_the_union_of_the_tasks(stepped: Database) -> None:
    _check_step_times(stepped)


def test_without_steps_the_whole_capture_is_one_row(tmp_path: Path) -> None:
    database = Database(write_sample(SampleRun(ranks=(0,), layers=1, decode_steps=1), tmp_path / "run")[0])
    assert "STEP_TIME" not in database.tables()
    assert [row["step"] for row in database.analysis("StepTraceTime")] == [None]
    _check_step_times(database)


def test_ids_are_unique_and_every_string_is_known(stepped: Database) -> None:
    for table, column in (("TASK", "globalTaskId"), ("CANN_API", "connectionId"), ("COMMUNICATION_OP", "opId")):
        values = [row[column] for row in stepped.rows(table)]
        assert len(values) == len(set(values)), table
    for table, column in (("TASK", "taskType"), ("PYTORCH_API", "name"), ("OP_MEMORY", "name"), ("CANN_API", "name")):
        assert {row[column] for row in stepped.rows(table)} <= set(stepped.strings), (table, column)


def test_strings_of_torch_and_memory_stand_in_their_own_ranges(stepped: Database) -> None:
    assert min(row["name"] for row in stepped.rows("PYTORCH_API")) >= 1 << 28
    assert min(row["name"] for row in stepped.rows("OP_MEMORY")) >= 2 << 28
    assert len(set(stepped.strings.values())) < len(stepped.strings)


def test_tasks_of_a_stream_follow_each_other(stepped: Database) -> None:
    """A stream is first in, first out: kernels, copies and events of one do not overlap."""
    streams: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row in stepped.rows("TASK"):
        if row["streamId"] in (2, 3):
            streams.setdefault((row["deviceId"], row["streamId"]), []).append((row["startNs"], row["endNs"]))
    assert len(streams) == 2
    for spans in streams.values():
        spans.sort()
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


def test_every_kernel_hangs_on_an_operator_of_its_phase(stepped: Database) -> None:
    operators = {link: op for op in stepped.operators() if op["type"] == 50001 for link in op["links"]}
    phases = stepped.ranges()
    assert [name for name, _, _ in phases] == 2 * [
        "generate_sequences", "compute_log_prob", "compute_ref_log_prob", "update_actor",
    ]  # fmt: skip
    for kernel in stepped.kernels():
        start = operators[kernel["connectionId"]]["startNs"]
        assert sum(begin <= start < end for _, begin, end in phases) == 1


def test_launches_run_on_the_queue_thread_and_backward_on_autograds(stepped: Database) -> None:
    launchers = {row["globalTid"] for row in stepped.rows("CANN_API") if row["type"] == 10000}
    dequeuers = {row["globalTid"] for row in stepped.operators() if row["name"].startswith("Dequeue@")}
    backward = {row["globalTid"] for row in stepped.operators() if row["name"].endswith("Backward0")}
    forward = {row["globalTid"] for row in stepped.operators() if row["name"] == "npu::npu_fusion_attention"}
    assert launchers == dequeuers
    assert len(launchers) == len(backward) == len(forward) == 1
    assert len(launchers | backward | forward) == 3


def test_forward_and_backward_operators_share_a_link_and_a_sequence_number(stepped: Database) -> None:
    shared: dict[int, list[tuple[int, str]]] = {}
    for op in stepped.operators():
        for link in op["links"]:
            if op["type"] == 50001:
                shared.setdefault(link, []).append((op["sequenceNumber"], op["name"]))
    pairs = [ops for ops in shared.values() if len(ops) == 2]
    assert pairs
    for forward, backward in pairs:
        assert forward[0] == backward[0] >= 0
        assert "Backward0" in backward[1]


def test_plane_tasks_lie_within_their_collective(stepped: Database) -> None:
    tasks = {row["globalTaskId"]: row for row in stepped.rows("TASK")}
    ops = {row["opId"]: row for row in stepped.rows("COMMUNICATION_OP")}
    seen = set()
    for row in stepped.rows("COMMUNICATION_TASK_INFO"):
        op, task = ops[row["opId"]], tasks[row["globalTaskId"]]
        assert op["startNs"] <= task["startNs"] <= task["endNs"] <= op["endNs"]
        seen.add((row["opId"], stepped.strings[row["taskType"]]))
    assert {name for _, name in seen} == {"Memcpy", "Notify_Record", "Notify_Wait", "Reduce_Inline"}
    assert {op for op, _ in seen} == set(ops)


def test_memory_levels_follow_from_the_allocations(stepped: Database) -> None:
    levels = [row for row in stepped.rows("MEMORY_RECORD") if stepped.strings[row["component"]] == "PTA"]
    assert [row["timestamp"] for row in levels] == sorted({row["timestamp"] for row in levels})
    assert all(row["totalReserved"] >= row["totalAllocated"] for row in levels)
    changes = {}
    for row in stepped.rows("OP_MEMORY"):
        changes[row["allocationTime"]] = row["size"]
        if row["releaseTime"] is not None:
            changes[row["releaseTime"]] = -row["size"]
            assert row["duration"] == row["releaseTime"] - row["allocationTime"]
    for before, after in itertools.pairwise(levels):
        assert after["totalAllocated"] - before["totalAllocated"] == changes[after["timestamp"]]


def test_the_environment_dump_holds_secrets_that_must_not_spread(stepped: Database) -> None:
    metadata = {row["name"]: row["value"] for row in stepped.rows("META_DATA")}
    assert metadata["SCHEMA_VERSION"] == "1.0.0"
    assert json.loads(metadata["ENV_VARIABLES"])["WANDB_API_KEY"] == SECRETS[0]


def test_level0_leaves_only_names(tmp_path: Path) -> None:
    run = SampleRun(level="level0", layout="verl", layers=1, decode_steps=1)
    folder = write_sample(run, tmp_path / "run")[0]
    assert folder.parent == tmp_path / "run" / "e2e"
    database = Database(folder)
    assert _plain_tables(database) == _ALWAYS | _DEVICE_TABLES
    types = {(kernel["opType"], kernel["inputShapes"]) for kernel in database.kernels()}
    assert types == {("N/A", "N/A")}
    assert {database.strings[row["opType"]] for row in database.rows("COMMUNICATION_OP")} == {"N/A"}
    assert {database.strings[row["taskType"]] for row in database.rows("COMMUNICATION_TASK_INFO")} == {"N/A"}
    _check_step_times(database)


def test_level_none_leaves_only_ranges(tmp_path: Path) -> None:
    run = SampleRun(level="level_none", layers=1, decode_steps=1)
    database = Database(write_sample(run, tmp_path / "run")[0])
    assert _plain_tables(database) == _ALWAYS
    assert not (database.output / "analysis.db").exists()
    assert database.rows("NPU_INFO") == [{"id": -1, "name": ""}]
    marks = [name for name, _, _ in database.ranges() if name.startswith("comm:")]
    kinds = {mark.split(",")[0] for mark in marks}
    assert kinds == {"comm:HcclAllGather", "comm:HcclReduceScatter", "comm:HcclAllreduce"}


def test_level2_adds_runtime_calls(tmp_path: Path) -> None:
    run = SampleRun(ranks=(0,), level="level2", layers=1, decode_steps=1)
    database = Database(write_sample(run, tmp_path / "run")[0])
    types = [row["type"] for row in database.rows("CANN_API")]
    assert types.count(5000) == len(database.kernels())


def test_schema_1_2_renames_and_adds(tmp_path: Path) -> None:
    run = SampleRun(ranks=(0,), schema="1.2", steps=(1,), layers=1, decode_steps=1)
    database = Database(write_sample(run, tmp_path / "run")[0])
    added = {"MEMCPY_INFO", "OVERLAP_ANALYSIS", "COMMUNICATION_SCHEDULE_TASK_INFO"}
    assert added < _plain_tables(database)
    kernel = database.kernels()[-1]
    assert kernel["blockNum"] > 0
    assert database.strings[kernel["blockDim"]] == "N/A"
    names = dict(database.con.execute("SELECT id, name FROM ENUM_API_TYPE"))
    assert names[5500] == "communication"
    assert {row["deviceId"] for row in database.rows("COMMUNICATION_OP")} == {0}
    scheduled = {row["globalTaskId"] for row in database.rows("COMMUNICATION_SCHEDULE_TASK_INFO")}
    assert not scheduled & {row["globalTaskId"] for row in database.rows("COMPUTE_TASK_INFO")}
    native = dict.fromkeys(range(4), 0)
    for row in database.rows("OVERLAP_ANALYSIS"):
        native[row["type"]] += row["endNs"] - row["startNs"]
    step = database.analysis("StepTraceTime")[0]
    reported = ("computing", "communication", "communication_not_overlapped", "free")
    assert list(native.values()) == [round(step[name] * 1000) for name in reported]
    _check_step_times(database)


def test_one_process_can_drive_several_devices(tmp_path: Path) -> None:
    run = SampleRun(ranks=(2, 3), devices=((4, 5), (6, 7)), steps=(1,), layers=1, decode_steps=1)
    database = Database(write_sample(run, tmp_path / "run")[1])
    assert database.path.name == "ascend_pytorch_profiler_3.db"
    assert [(row["rankId"], row["deviceId"]) for row in database.rows("RANK_DEVICE_MAP")] == [(3, 6), (3, 7)]
    counts = {6: 0, 7: 0}
    for kernel in database.kernels():
        counts[kernel["deviceId"]] += 1
    assert counts[6] == counts[7] > 0
    assert {row["deviceId"] for row in database.collectives()} == {6, 7}
    _check_step_times(database)


def test_discrete_mode_leaves_a_capture_per_role_and_step(tmp_path: Path) -> None:
    run = SampleRun(ranks=(0,), mode="discrete", steps=(1, 2), layers=1, decode_steps=1)
    folders = write_sample(run, tmp_path / "run")
    roles = ["rollout_generate", "actor_compute_log_prob", "ref_compute_log_prob", "actor_update"]
    assert [folder.parent.relative_to(tmp_path / "run") for folder in folders] == [Path(r) for r in 2 * roles]
    sessions = [Database(folder).rows("SESSION_TIME_INFO")[0] for folder in folders]
    assert all(a["endTimeNs"] < b["startTimeNs"] for a, b in itertools.pairwise(sessions))
    names = [[name for name, _, _ in Database(folder).ranges()] for folder in folders]
    assert names[:4] == [["generate_sequences"], ["compute_log_prob"], ["compute_ref_log_prob"], ["update_actor"]]


def test_verls_layout_has_a_folder_per_step(tmp_path: Path) -> None:
    run = SampleRun(ranks=(0,), layout="verl", steps=(1, 5), layers=1, decode_steps=1)
    folders = write_sample(run, tmp_path / "run")
    assert [str(folder.parent.relative_to(tmp_path / "run")) for folder in folders] == ["1/e2e", "5/e2e"]
    assert "STEP_TIME" not in Database(folders[0]).tables()


def test_columns_are_those_of_a_real_database(stepped: Database, ascend_910b: Path) -> None:
    real = Database(ascend_910b / "db" / "level1" / "rank0_ascend_pt")
    shared = (stepped.tables() & real.tables()) - {"sqlite_sequence"}
    assert len(shared) > 25
    for table in shared:
        ours, theirs = (
            [tuple(row[1:3]) for row in database.con.execute(f'PRAGMA table_info("{table}")')]
            for database in (stepped, real)
        )
        assert ours == theirs, table


def test_enumerations_are_those_of_a_real_database(stepped: Database, ascend_910b: Path) -> None:
    real = Database(ascend_910b / "db" / "level1" / "rank0_ascend_pt")
    tables = [name for name in stepped.tables() if name.startswith("ENUM_")]
    assert len(tables) >= 5
    for table in tables:
        ours, theirs = (set(database.con.execute(f"SELECT * FROM {table}")) for database in (stepped, real))
        assert ours <= theirs if table == "ENUM_MODULE" else ours == theirs, table
