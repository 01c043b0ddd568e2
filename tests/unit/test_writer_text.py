"""The text files of sample profiles: the same numbers as the database of the same run, in the real files' spelling."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from rlcompare.writer import Change, SampleRun, write_sample
from tests.unit.writer_readers import Database, Text, to_ns

Pair = tuple[Database, Text]

_RUNS = {
    "level1": SampleRun(steps=(2, 3), layers=2, decode_steps=2, export="both"),
    "level2, schema 1.2": SampleRun(steps=(7,), level="level2", schema="1.2", layers=1, decode_steps=1, export="both"),
    "level1, no steps": SampleRun(layers=1, decode_steps=1, export="both", changes=(Change.late(0, 2_000_000),)),
    "two devices": SampleRun(
        ranks=(0,), devices=((0, 1),), world_size=2, steps=(1,), layers=1, decode_steps=1, export="both"
    ),
}


@pytest.fixture(scope="module", params=list(_RUNS))
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Database and text of the last rank of a run from Level1 on."""
    folder = write_sample(_RUNS[request.param], tmp_path_factory.mktemp("pair") / "run")[-1]
    return Database(folder), Text(folder)


@pytest.fixture(scope="module")
def level0(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """A step-less Level0 capture."""
    run = SampleRun(level="level0", layers=1, decode_steps=1, export="both")
    folder = write_sample(run, tmp_path_factory.mktemp("level0") / "run")[0]
    return Database(folder), Text(folder)


def _sorted(rows: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return sorted(rows, key=repr)


def _check_kernel_details(pair: Pair) -> None:
    database, text = pair
    rows = text.csv("kernel_details")
    printed = _sorted(
        (row["Name"], to_ns(row["Start Time(us)"]), to_ns(row["Duration(us)"]), int(row.get("Device_id") or -1))
        for row in rows
    )
    with_device = "Device_id" in rows[0]
    stored = _sorted(
        (task["name"], task["startNs"], task["endNs"] - task["startNs"], task["deviceId"] if with_device else -1)
        for task in (*database.kernels(), *database.collectives())
    )
    assert printed == stored
    assert all(row["Start Time(us)"].endswith("\t") for row in rows)


def test_kernel_details_hold_the_kernels_and_collectives_of_the_database(pair: Pair) -> None:
    _check_kernel_details(pair)


def test_level0_too(level0: Pair) -> None:
    _check_kernel_details(level0)
    rows = level0[1].csv("kernel_details")
    times = ["Start Time(us)", "Duration(us)", "Wait Time(us)"]
    assert list(rows[0]) == ["Name", "Type", "Accelerator Core", *times, "Block Dim"]
    assert {(row["Type"], row["Accelerator Core"]) for row in rows} == {("N/A", "N/A"), ("N/A", "HCCL")}


def test_types_shapes_and_cores_agree(pair: Pair) -> None:
    database, text = pair
    block = "Block Num" if "Block Num" in text.csv("kernel_details")[0] else "Block Dim"
    column = "blockNum" if block == "Block Num" else "blockDim"
    printed = Counter(
        (row["Type"], row["Accelerator Core"], row["Input Shapes"], row[block])
        for row in text.csv("kernel_details")
        if row["Accelerator Core"] not in ("HCCL", "COMMUNICATION")
    )
    stored = Counter((k["opType"], k["taskType"], k["inputShapes"], str(k[column])) for k in database.kernels())
    assert printed == stored


def test_counters_agree_within_the_printed_digits(pair: Pair) -> None:
    database, text = pair
    stored: dict[int, dict[str, float]] = {}
    for row in database.rows("TASK_PMU_INFO"):
        stored.setdefault(row["globalTaskId"], {})[database.strings[row["name"]]] = row["value"]
    kernels = {(k["startNs"], k["deviceId"], k["name"]): k["globalTaskId"] for k in database.kernels()}
    devices = {k["deviceId"] for k in database.kernels()}
    checked = 0
    for row in text.csv("kernel_details"):
        if row["Accelerator Core"] in ("HCCL", "COMMUNICATION"):
            continue
        device = int(row.get("Device_id") or min(devices))
        values = stored.get(kernels[to_ns(row["Start Time(us)"]), device, row["Name"]])
        if values is None:
            assert row["Accelerator Core"] == "DSA_SQE"
            assert row["aicore_time(us)"] == row["aiv_vec_time(us)"] == "N/A"
            continue
        checked += 1
        for name in ("aic_mac_time", "aiv_vec_time", "aiv_scalar_time"):
            assert float(row[f"{name}(us)"]) == pytest.approx(values[name] / 1000, abs=0.0005001)
        assert float(row["aic_mac_ratio"]) == pytest.approx(values["aic_mac_ratio"], abs=0.0005001)
        assert int(row["aiv_total_cycles"]) == values["aiv_total_cycles"]
    assert checked > 50


def test_step_ids_follow_the_launches(pair: Pair) -> None:
    database, text = pair
    if "STEP_TIME" not in database.tables():
        assert "Step Id" not in text.csv("kernel_details")[0]
        return
    steps = database.rows("STEP_TIME")
    launches = {row["connectionId"]: row["startNs"] for row in database.rows("CANN_API") if row["type"] == 10000}
    expected = Counter(
        next(str(step["id"]) for step in steps if step["startNs"] <= launches[task["connectionId"]] <= step["endNs"])
        for task in (*database.kernels(), *database.collectives())
    )
    assert Counter(row["Step Id"] for row in text.csv("kernel_details")) == expected


def test_step_trace_time_equals_analysis_db(pair: Pair, level0: Pair) -> None:
    for database, text in (pair, level0):
        printed = [
            {key: "" if key == "Step" else float(value) for key, value in row.items() if key != "Device_id"}
            for row in text.csv("step_trace_time")
        ]
        stored = database.analysis("StepTraceTime")
        assert [row["Computing"] for row in printed] == [row["computing"] for row in stored]
        assert [row["Free"] for row in printed] == [row["free"] for row in stored]
        assert [row["Preparing"] for row in printed] == [row["preparing"] for row in stored]
        assert [row["Step"] for row in text.csv("step_trace_time")] == [row["step"] or "" for row in stored]


def test_op_statistic_sums_the_kernels(pair: Pair) -> None:
    database, text = pair
    for row in text.csv("op_statistic"):
        device = int(row["Device_id"]) if "Device_id" in row else database.kernels()[0]["deviceId"]
        times = [
            k["endNs"] - k["startNs"]
            for k in database.kernels()
            if (k["opType"], k["taskType"], k["deviceId"]) == (row["OP Type"], row["Core Type"], device)
        ]
        assert (int(row["Count"]), to_ns(row["Total Time(us)"])) == (len(times), sum(times))
        assert (to_ns(row["Min Time(us)"]), to_ns(row["Max Time(us)"])) == (min(times), max(times))
    assert sum(int(row["Count"]) for row in text.csv("op_statistic")) == len(database.kernels())


def test_the_trace_holds_the_operators_queue_and_modules_of_the_database(pair: Pair) -> None:
    database, text = pair
    kinds = {50001: ("cpu_op",), 50002: ("enqueue", "dequeue"), 50003: ("python_function",)}
    for kind, categories in kinds.items():
        stored = _sorted(
            (op["name"], op["startNs"], op["endNs"], op["tid"]) for op in database.operators() if op["type"] == kind
        )
        spans = [span for category in categories for span in text.spans("Python", category)]
        assert stored == _sorted((span["name"], span["start"], span["end"], span["tid"]) for span in spans)
        assert stored


def test_the_trace_holds_the_calls_of_the_database_and_level0s_does_not(pair: Pair, level0: Pair) -> None:
    database, text = pair
    stored = _sorted(
        (database.strings[row["name"]], row["startNs"], row["endNs"], row["connectionId"])
        for row in database.rows("CANN_API")
    )
    spans = text.spans("CANN")
    assert stored == _sorted(
        (span["name"].split("@")[1], span["start"], span["end"], span["args"]["connection_id"]) for span in spans
    )
    assert "CANN" not in level0[1].processes.values()


def test_the_trace_holds_the_tasks_of_the_database(pair: Pair) -> None:
    """All but the FFTS tasks around plane tasks, and the kernels that schedule collectives."""
    database, text = pair
    hidden = {"AI_CORE", "FFTS_PLUS", "KERNEL_AICPU"}
    stored = _sorted(
        (row["startNs"], row["endNs"], row["streamId"], row["taskId"], row["connectionId"])
        for row in database.rows("TASK")
        if database.strings[row["taskType"]] not in hidden
    )
    assert stored == _sorted(
        (span["start"], span["end"], span["tid"], span["args"]["Task Id"], span["args"]["connection_id"])
        for span in text.spans("Ascend Hardware")
    )


def test_flows_lead_from_operators_to_their_kernels(pair: Pair) -> None:
    database, text = pair
    operators = {(op["startNs"], op["tid"]): op for op in database.operators() if op["type"] == 50001 and op["links"]}
    ends = {event["id"]: event for event in text.trace if event["ph"] == "f" and event.get("cat") == "async_npu"}
    linked: Counter[Any] = Counter()
    for event in text.trace:
        if event["ph"] == "s" and event.get("cat") == "async_npu":
            op = operators[to_ns(event["ts"]), event["tid"]]
            assert to_ns(ends[event["id"]]["ts"]) == event["id"]
            linked[op["startNs"], op["tid"]] += 1
    launched = {row["connectionId"] for row in database.rows("TASK")}
    expected: Counter[Any] = Counter()
    for key, op in operators.items():
        if count := len(launched & set(op["links"])):
            expected[key] = count
    assert linked == expected


def test_overlap_analysis_sums_to_the_step_times(pair: Pair) -> None:
    database, text = pair
    sums: Counter[str] = Counter()
    for span in text.spans("Overlap Analysis"):
        sums[span["name"]] += span["end"] - span["start"]
    reported = database.analysis("StepTraceTime")
    assert sums["Computing"] == sum(round(row["computing"] * 1000) for row in reported)
    assert sums["Communication"] == sum(round(row["communication"] * 1000) for row in reported)
    uncovered = sum(round(row["communication_not_overlapped"] * 1000) for row in reported)
    assert sums["Communication(Not Overlapped)"] == uncovered


def test_collectives_and_links_agree_with_analysis_db(pair: Pair) -> None:
    database, text = pair
    keys = {
        "Elapse Time(ms)": "elapse_time",
        "Transit Time(ms)": "transit_time",
        "Wait Time(ms)": "wait_time",
        "Idle Time(ms)": "idle_time",
    }
    printed = {}
    for step, kinds in text.json("communication").items():
        for name, entry in kinds["collective"].items():
            if name != "Total Op Info":
                times = entry["Communication Time Info"]
                printed[step, name.split("@")[0]] = [times[key] for key in keys]
    stored = {
        (row["step"], row["hccl_op_name"]): [row[column] for column in keys.values()]
        for row in database.analysis("CommAnalyzerTime")
    }
    assert printed == stored
    assert len(stored) == len(database.collectives())
    links = {
        (step, name.split("@")[0], ranks, link["Transit Size(MB)"], link["Transit Time(ms)"], link.get("Op Name", ""))
        for step, kinds in text.json("communication_matrix").items()
        for name, pairs in kinds["collective"].items()
        for ranks, link in pairs.items()
    }
    assert links == {
        (row["step"], row["hccl_op_name"], f"{row['src_rank']}-{row['dst_rank']}", row["transit_size"],
         row["transit_time"], row["op_name"])
        for row in database.analysis("CommAnalyzerMatrix")
    }  # fmt: skip


def test_memory_agrees_within_the_printed_digits(pair: Pair) -> None:
    database, text = pair
    stored = [
        (database.strings[row["name"]], row["size"], row["allocationTime"], row["releaseTime"], row["duration"])
        for row in database.rows("OP_MEMORY")
    ]
    printed = [
        (row["Name"], float(row["Size(KB)"]) * 1024, to_ns(row["Allocation Time(us)"]),
         to_ns(row["Release Time(us)"]) if row["Release Time(us)"] else None,
         to_ns(row["Duration(us)"]) if row["Duration(us)"] else None)
        for row in text.csv("operator_memory")
    ]  # fmt: skip
    assert printed == stored
    levels = [
        (database.strings[row["component"]], row["timestamp"], row["totalAllocated"], row["totalReserved"])
        for row in database.rows("MEMORY_RECORD")
    ]
    rows = [row for row in text.csv("memory_record") if row["Component"] != "APP"]
    mib = 1 << 20
    assert levels == [
        (row["Component"], to_ns(row["Timestamp(us)"]), float(row["Total Allocated(MB)"]) * mib,
         float(row["Total Reserved(MB)"]) * mib)
        for row in rows
    ]  # fmt: skip


def test_api_statistic_sums_the_calls(pair: Pair) -> None:
    database, text = pair
    layers = dict(database.con.execute("SELECT id, name FROM ENUM_API_TYPE"))
    sums: dict[tuple[str, str], list[int]] = {}
    for row in database.rows("CANN_API"):
        key = (layers[row["type"]], database.strings[row["name"]])
        sums.setdefault(key, []).append(row["endNs"] - row["startNs"])
    printed = {
        (row["Level"], row["API Name"]): (int(row["Count"]), to_ns(row["Time(us)"]))
        for row in text.csv("api_statistic")
    }
    assert printed == {key: (len(times), sum(times)) for key, times in sums.items()}


def test_operator_details_sum_the_device_time_inside(pair: Pair) -> None:
    database, text = pair
    copies = [row for row in database.rows("TASK") if database.strings[row["taskType"]] == "MEMCPY_ASYNC"]
    tasks = (*database.kernels(), *database.collectives(), *copies)
    times = {task["connectionId"]: task["endNs"] - task["startNs"] for task in tasks}
    operators = [op for op in database.operators() if op["type"] == 50001 and not op["name"].startswith("ProfilerStep")]
    stored: Counter[Any] = Counter()
    for op in operators:
        inside = [
            o for o in operators
            if o["tid"] == op["tid"] and op["startNs"] <= o["startNs"] and o["endNs"] <= op["endNs"]
        ]  # fmt: skip
        total = sum(times.get(link, 0) for o in inside for link in o["links"])
        stored[op["name"], op["endNs"] - op["startNs"], total] += 1
    printed = Counter(
        (row["Name"], to_ns(row["Host Total Duration(us)"]), to_ns(row["Device Total Duration(us)"]))
        for row in text.csv("operator_details")
    )
    assert printed == stored


def test_phases_are_marked_in_both(pair: Pair, level0: Pair) -> None:
    for database, text in (pair, level0):
        marked = [span for span in text.spans("python3") if span["args"]["event_type"] == "start/end"]
        assert database.ranges() == [(span["name"], span["start"], span["end"]) for span in marked]
        assert {span["args"]["domain"] for span in marked} == {"default"}


def test_level_none_leaves_a_trace_of_ranges(tmp_path: Path) -> None:
    run = SampleRun(ranks=(0,), level="level_none", layers=1, decode_steps=1, export="both")
    folder = write_sample(run, tmp_path / "run")[0]
    database, text = Database(folder), Text(folder)
    files = {path.name for path in text.output.iterdir()}
    assert files == {"trace_view.json", "ascend_pytorch_profiler_0.db"}
    assert set(text.processes.values()) == {"python3"}
    marks = [(span["name"], span["start"], span["end"]) for span in text.spans("python3")]
    assert _sorted(marks) == _sorted(database.ranges())


def test_jitter_is_the_same_in_both_exports(tmp_path: Path) -> None:
    small: dict[str, Any] = {"ranks": (0,), "layers": 1, "decode_steps": 1, "jitter": 0.1}
    (db,) = write_sample(SampleRun(**small, level="level1"), tmp_path / "db")
    (text,) = write_sample(SampleRun(**small, level="level0", export="text", schema="1.2"), tmp_path / "text")
    kernels = [(k["startNs"], k["endNs"]) for k in Database(db).kernels()]
    rows = [r for r in Text(text).csv("kernel_details") if r["Accelerator Core"] != "COMMUNICATION"]
    printed = [(to_ns(r["Start Time(us)"]), to_ns(r["Start Time(us)"]) + to_ns(r["Duration(us)"])) for r in rows]
    assert printed == kernels


def test_headers_and_line_ends_are_those_of_real_files(tmp_path: Path, ascend_910b: Path) -> None:
    for level in ("level0", "level1"):
        run = SampleRun(ranks=(0,), level=level, steps=(1,), layers=1, decode_steps=1, export="text")
        ours = Text(write_sample(run, tmp_path / level)[0])
        real = ascend_910b / "text" / level / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        assert {path.name for path in ours.output.iterdir()} == {path.name for path in real.iterdir()}
        for path in real.glob("*.csv"):
            mine = (ours.output / path.name).read_bytes()
            assert mine.split(b"\n")[0] == path.read_bytes().split(b"\n")[0], path.name


def test_headers_of_schema_1_2_are_those_of_a_newer_real_rank(tmp_path: Path, profiles: Path) -> None:
    run = SampleRun(ranks=(0,), schema="1.2", level="level2", steps=(1,), layers=1, decode_steps=1, export="text")
    ours = write_sample(run, tmp_path / "run")[0] / "ASCEND_PROFILER_OUTPUT"
    real = profiles / "ascend-qwen3-pp2-2025q4" / "rank_0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    for path in real.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as theirs, (ours / path.name).open(newline="") as mine:
            expected = [name.replace("Block Dim", "Block Num") for name in next(csv.reader(theirs))]
            assert next(csv.reader(mine)) == expected, path.name
