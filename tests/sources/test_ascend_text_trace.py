"""What trace_view.json and the communication files tell, in small files written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rlcompare.sources.ascend.communication_group import group_hash, group_members
from tests.sources.text_files import (
    CANN,
    COMMUNICATION,
    HARDWARE,
    OVERLAP,
    PYTHON,
    flow,
    names,
    read,
    span,
    table,
    trace,
)

KERNELS = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim"
SOUND = "1,Add,Add,AI_VECTOR_CORE,1.000,1.000,0,1"


# --- trace_view.json: what it tells ---------------------------------------------------------------------------------


def task(name: str, start: str, length: float, kind: str, stream: int = 2, **args: Any) -> dict[str, Any]:
    return span(HARDWARE, stream, name, start, length, args={"Task Type": kind, "Physic Stream Id": stream, **args})


def test_a_kernel_is_linked_to_the_innermost_operator_and_its_launch(tmp_path: Path) -> None:
    events: list[Any] = [
        span(PYTHON, 1, "ProfilerStep#7", "10.000", 100, "cpu_op"),
        span(
            PYTHON,
            1,
            "aten::linear",
            "20.000",
            30,
            "cpu_op",
            args={"Sequence number": 5, "Input Dims": "2,3;\r\n3,4", "Input type": "float;\r\nfloat"},
        ),
        span(PYTHON, 1, "aten::addmm", "25.000", 20, "cpu_op", args={"Sequence number": -1}),
        span(PYTHON, 1, "nn.Module: Linear_0", "19.000", 33, "python_function"),
        span(PYTHON, 1, "train.py(3): step", "18.000", 40, "python_function"),
        span(PYTHON, 1, "Enqueue", "26.000", 1, "enqueue"),
        span(
            CANN,
            2,
            "Node@launch",
            "40.000",
            6,
            args={"level": "node", "id": "0", "item_id": "MatMul", "connection_id": 77},
        ),
        task("MatMul", "60.000", 8.5, "AI_CORE", connection_id=77),
        flow("async_npu", 60000, (PYTHON, 1, "25.000"), (HARDWARE, 2, "60.000")),
        flow("HostToDevice", "330712481791", (CANN, 2, "42.000"), (HARDWARE, 2, "60.000")),
    ]
    reading = read(tmp_path, {"trace_view": trace(names(), *events)})
    assert reading.rows(
        "SELECT name, thread, sequence_number, input_shapes, input_dtypes FROM stage_host_op ORDER BY start_ns LIMIT 1"
    ) == [
        (
            "aten::linear",
            1,
            5,
            "2,3;3,4",
            "float;float",
        )
    ]
    (kernel,) = reading.rows(
        "SELECT k.name, k.stream, k.start_ns, k.end_ns, k.launch_ns, k.host_op_ns, o.name, o.sequence_number,"
        " k.device_id, k.cube FROM stage_kernel AS k JOIN stage_host_op AS o ON o.id = k.host_op_id"
    )
    assert kernel == ("MatMul", 2, 60000, 68500, 40000, 25000, "aten::addmm", None, 0, None)
    assert reading.rows("SELECT step, start_ns, end_ns FROM stage_step") == [(7, 10000, 110000)]
    assert reading.rows("SELECT name, end_ns - start_ns FROM module") == [("Linear_0", 33000)]
    assert reading.rows("SELECT thread, layer, name, connection_id FROM host_api") == [(2, "node", "launch", 77)]


def test_links_survive_framework_times_that_are_floats(tmp_path: Path) -> None:
    # GIVEN a torch_npu that prints framework times as floats: a quarter of a microsecond coarse
    start, operator = "1736408883700059.821", 1736408883694699.510
    assert str(float(start)) != start
    events: list[Any] = [
        span(PYTHON, 1, "aten::copy_", operator, 50, "cpu_op"),
        task("Cast", start, 8, "AI_VECTOR_CORE"),
        task("Cast", "1736408883700070.000", 8, "AI_VECTOR_CORE"),
        flow("async_npu", 1, (PYTHON, 1, operator), (HARDWARE, 2, float(start))),
    ]
    reading = read(tmp_path, {"trace_view": trace(names(), *events)})
    assert reading.rows("SELECT start_ns, host_op_id IS NOT NULL FROM stage_kernel ORDER BY start_ns") == [
        (1736408883700059821, True),
        (1736408883700070000, False),
    ]


def test_without_a_trace_of_cann_the_flow_tells_the_launch(tmp_path: Path) -> None:
    events: list[Any] = [
        task("Add", "60.000", 8, "AI_VECTOR_CORE"),
        flow("HostToDevice", "9", (CANN, 2, "42.000"), (HARDWARE, 2, "60.000")),
    ]
    reading = read(tmp_path, {"trace_view": trace(names(), *events)})
    assert reading.rows("SELECT launch_ns, host_op_id FROM stage_kernel") == [(42000, None)]


def test_events_and_copies_are_no_kernels(tmp_path: Path) -> None:
    sized: dict[str, Any] = {"size(B)": 4096}
    events: list[Any] = [
        task("Add", "10.000", 1, "AI_VECTOR_CORE"),
        task("aclnnMul_Mul", "20.000", 1, "Other"),
        flow("HostToDevice", "1", (CANN, 2, "1.000"), (HARDWARE, 2, "20.000")),
        task("EVENT_RECORD", "30.000", 1, "EVENT_RECORD_SQE"),
        flow("HostToDevice", "2", (CANN, 2, "2.000"), (HARDWARE, 2, "30.000")),
        task("MEMCPY_ASYNC", "40.000", 2, "PCIE_DMA_SQE", args=None),
        task("MEMCPY_ASYNC", "50.000", 2, "SDMA_SQE", operation="host to device", **sized),
        flow("HostToDevice", "3", (CANN, 2, "3.000"), (HARDWARE, 2, "50.000")),
        task("Notify Wait", "60.000", 1, "Notify Wait"),
    ]
    reading = read(tmp_path, {"trace_view": trace(names(), *events)})
    assert reading.rows("SELECT name, core_type FROM stage_kernel ORDER BY start_ns") == [
        ("Add", "AI_VECTOR_CORE"),
        ("aclnnMul_Mul", None),
    ]
    assert reading.rows("SELECT kind, size_bytes, start_ns, end_ns, launch_ns FROM stage_copy ORDER BY start_ns") == [
        ("memcpy_async", None, 40000, 42000, None),
        ("host_to_device", 4096, 50000, 52000, 3000),
    ]


def test_two_devices_of_one_process_are_told_apart(tmp_path: Path) -> None:
    # GIVEN one process that drives two devices, which the pids and labels tell
    other = HARDWARE | 1
    meta = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "Ascend Hardware"}}
        for pid in (HARDWARE, other)
    ] + [
        {"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": f"NPU {device}"}}
        for pid, device in ((HARDWARE, 0), (other, 1))
    ]
    events = [task("Add", "10.000", 1, "AI_CORE"), {**task("Mul", "10.000", 1, "AI_CORE"), "pid": other}]
    kernels = "Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us)"
    alone = read(tmp_path, {"trace_view": trace(meta, *events)})
    assert alone.rows("SELECT device_id, name FROM stage_kernel ORDER BY 1") == [(0, "Add"), (1, "Mul")]
    # THEN kernel_details.csv agrees, and each kernel finds its own task
    both = read(
        tmp_path,
        {
            "trace_view": trace(meta, *events),
            "kernel_details": table(kernels, "0,Add,A,C,10.000,1", "1,Mul,M,C,10.000,1"),
        },
    )
    assert both.rows("SELECT device_id, name, stream FROM stage_kernel ORDER BY 1") == [(0, "Add", 2), (1, "Mul", 2)]


def test_mstx_ranges_and_marks_on_host_and_device(tmp_path: Path) -> None:
    host = (100 << 10) | (6 << 5)
    events: list[Any] = [
        span(host, 5, "update_actor", "10.000", 90, args={"event_type": "start/end", "domain": "default"}),
        span(host, 5, "saved", "20.000", 0, args={"event_type": "marker_ex", "domain": "io"}),
        flow("MsTx", "1", (host, 5, "10.000"), (HARDWARE, 2, "15.000")),
        span(HARDWARE, 2, "update_actor", "15.000", 60, args={"Physic Stream Id": 2, "Task Id": 4}),
        span(HARDWARE, 3, "turn", "16.000", 60, args={"Physic Stream Id": 2, "Task Id": 4}),
        span(PYTHON, 5, "mstx_range_start_op", "9.000", 1, "cpu_op"),
    ]
    reading = read(tmp_path, {"trace_view": trace(names(), *events)})
    assert reading.rows(
        'SELECT domain, name, kind, side, thread, stream, start_ns, end_ns FROM "range" ORDER BY start_ns'
    ) == [
        ("default", "update_actor", "range", "host", 5, None, 10000, 100000),
        (None, "update_actor", "range", "device", None, 2, 15000, 75000),
        ("io", "saved", "mark", "host", 5, None, 20000, 20000),
    ]
    assert reading.rows("SELECT name, start_ns, end_ns FROM stage_phase") == [("update_actor", 10000, 100000)]
    assert reading.rows("SELECT count(*) FROM stage_host_op") == [(0,)]


def test_garbage_collections_and_counters(tmp_path: Path) -> None:
    counters = [
        {"ph": "C", "name": "AI Core Freq", "pid": HARDWARE, "tid": 0, "ts": "5.000", "args": {"MHz": 1800}},
        {"ph": "C", "name": "HBM 0/Read", "pid": HARDWARE, "tid": 0, "ts": "6.000", "args": {"Read(MB/s)": 2.5}},
        {
            "ph": "C",
            "name": "LLC 0 Read/Hit Rate",
            "pid": HARDWARE,
            "tid": 0,
            "ts": "7.000",
            "args": {"Hit Rate(%)": 0.875},
        },
        {"ph": "C", "name": "QoS OTHERS", "pid": HARDWARE, "tid": 0, "ts": "8.000", "args": {"value": 3}},
    ]
    reading = read(tmp_path, {"trace_view": trace(names(), span(PYTHON, 3, "GC", "4.000", 2, "GC"), counters)})
    assert reading.rows("SELECT thread, start_ns, end_ns FROM gc") == [(3, 4000, 6000)]
    assert reading.rows("SELECT device_id, name, ts_ns, value FROM counter ORDER BY ts_ns") == [
        (0, "aicore_freq_mhz", 5000, 1800),
        (0, "hbm_read_bytes_per_s", 6000, 2.5e6),
        (0, "llc_hit_percent", 7000, 87.5),
    ]


def test_overlap_analysis_and_copies_as_msprof_analyze_counts_them(tmp_path: Path) -> None:
    events: list[Any] = [
        span(OVERLAP, 0, "Computing", "10.000", 5.5),
        span(OVERLAP, 2, "Communication(Not Overlapped)", "20.000", 2),
        span(OVERLAP, 3, "Free", "22.000", 8),
        span(HARDWARE, 2, "Add", "10.000", 5, args={"Task Type": "AI_CORE", "Stream Id": 2}),
        span(HARDWARE, 2, "MEMCPY_ASYNC", "16.000", 1.5, args={"Task Type": "SDMA_SQE", "Stream Id": 2}),
        span(HARDWARE, 3, "MEMCPY_ASYNC", "16.000", 1.5, args={"Task Type": "SDMA_SQE", "Stream Id": 3}),
    ]
    reading = read(tmp_path, {"trace_view": trace(names(), *events)})
    assert reading.rows("SELECT * EXCLUDE (capture) FROM device_window") == [(0, 10000, 30000, 1500, 1, 5500, 2000)]


# --- collectives ----------------------------------------------------------------------------------------------------

THREADS = {
    (COMMUNICATION, 0): "Group 0 Communication",
    (COMMUNICATION, 1): "Plane 0",
    (COMMUNICATION, 2): "Plane 1",
    (COMMUNICATION, 3): "Group 1 Communication",
    (COMMUNICATION, 4): "Plane 0",
}


def comm_task(tid: int, name: str, start: str, length: float) -> dict[str, Any]:
    args = {
        "notify_id": "0",
        "stream id": 9,
        "task id": 1,
        "task type": name,
        "src rank": 1,
        "dst rank": 4294967295,
        "transport type": "SDMA",
        "size(Byte)": 256,
        "link type": "HCCS",
    }
    return span(COMMUNICATION, tid, name, start, length, args=args)


def test_transit_is_the_union_of_what_is_no_notification(tmp_path: Path) -> None:
    whole = {"connection_id": 1, "data_type": "BFP16", "alg_type": "RING", "count": 1000}
    events: list[Any] = [
        span(COMMUNICATION, 0, "hcom_allGather__081_0_1", "100.000", 50, args=whole),
        comm_task(1, "Notify_Wait", "100.000", 30),
        comm_task(2, "Notify_Record", "128.000", 4),  # no transfer, and takes nothing off the one that it overlaps
        comm_task(1, "Memcpy", "130.000", 10),
        comm_task(2, "Reduce_Inline", "135.000", 10),
        comm_task(2, "Notify_Record", "145.000", 5),
        span(COMMUNICATION, 3, "hcom_send__777_0_1", "100.000", 10, args={"count": 3, "data_type": "unheard of"}),
        comm_task(4, "RDMASend", "101.000", 4),
        # the copy engine's part of the collective is no copy of its own
        task("MEMCPY_ASYNC", "130.000", 10, "SDMA_SQE", stream=9),
    ]
    reading = read(tmp_path, {"trace_view": trace(names(THREADS), *events)})
    assert reading.rows(
        "SELECT name, group_name, end_ns - start_ns, wait_ns, transit_ns, size_bytes, dtype, algorithm"
        " FROM stage_collective ORDER BY name"
    ) == [
        ("hcom_allGather__081_0_1", "Group 0 Communication", 50000, 35000, 15000, 2000, "BFP16", "RING"),
        # over RDMA, a task only posts the transfer
        ("hcom_send__777_0_1", "Group 1 Communication", 10000, None, None, None, "unheard of", None),
    ]
    assert reading.rows(
        "SELECT name, plane, size_bytes, src_rank, dst_rank, transport, link_type"
        " FROM collective_task WHERE name = 'Memcpy'"
    ) == [("Memcpy", 0, 256, 1, None, "SDMA", "HCCS")]
    assert reading.rows("SELECT count(*), count(DISTINCT collective_id) FROM collective_task") == [(6, 2)]
    assert reading.rows("SELECT count(*) FROM stage_copy") == [(0,)]


def test_the_same_collective_on_two_devices(tmp_path: Path) -> None:
    # GIVEN one process that drives two devices, on which an operator of the same name starts a nanosecond apart
    other = COMMUNICATION | 1
    meta = [
        {"ph": "M", "name": name, "pid": pid, "tid": 0, "args": args}
        for pid, device in ((COMMUNICATION, 0), (other, 1))
        for name, args in (
            ("process_name", {"name": "Communication"}),
            ("process_labels", {"labels": f"NPU {device}"}),
            ("thread_name", {"name": "Group 0 Communication"}),
        )
    ]
    whole = {"count": 8, "data_type": "FP16"}
    events: list[Any] = [
        span(COMMUNICATION, 0, "hcom_allReduce__081_0_1", "100.000", 50, args=whole),
        span(other, 0, "hcom_allReduce__081_0_1", "100.001", 40, args=whole),
    ]
    reading = read(tmp_path, {"trace_view": trace(meta, *events)})
    assert reading.rows("SELECT device_id, start_ns, end_ns FROM stage_collective ORDER BY 1") == [
        (0, 100000, 150000),
        (1, 100001, 140001),
    ]


def test_a_collective_without_a_time_is_kept(tmp_path: Path) -> None:
    lines = (
        "1,hcom_allReduce__081_0_1,hcom_allReduce_,HCCL,1.69512E+15,5.000,0,0",
        "1,hcom_allReduce__081_1_1,hcom_allReduce_,HCCL,20.000,5.000,0,0",
    )
    reading = read(tmp_path, {"kernel_details": table(KERNELS, *lines)})
    assert reading.rows("SELECT name, start_ns, end_ns, reported_step FROM stage_collective ORDER BY name") == [
        ("hcom_allReduce__081_0_1", None, None, 1),
        ("hcom_allReduce__081_1_1", 20000, 25000, 1),
    ]


def operator(start: float, elapsed: float, transit: float, wait: float, mb: float) -> dict[str, Any]:
    return {
        "Communication Time Info": {
            "Start Timestamp(us)": start,
            "Elapse Time(ms)": elapsed,
            "Transit Time(ms)": transit,
            "Wait Time(ms)": wait,
        },
        "Communication Bandwidth Info": {
            "SDMA": {"Transit Size(MB)": mb},
            "HCCS": {"Transit Size(MB)": mb},
            "RDMA": {"Transit Size(MB)": 0},
        },
    }


def test_communication_json_alone_gives_collectives_with_steps(tmp_path: Path) -> None:
    group = group_hash("group_name_19")
    document = {
        "step13": {
            "p2p": {f"hcom_batchSendRecv__128_3_1@{group}": operator(1764246877147674.5, 0.43614, 0, 0, 0)},
            "collective": {
                f"hcom_allReduce__128_4_1@{group}": operator(1764246877228630.0, 2.5, 1.25, 0.75, 8.5),
                "Total Op Info": operator(0, 9, 9, 9, 9),
            },
        }
    }
    metadata = {"parallel_group_info": {"group_name_19": {"group_name": "pp", "global_ranks": [0, 2]}, "broken": 3}}
    reading = read(tmp_path, {"communication": json.dumps(document)}, metadata)
    assert reading.rows(
        "SELECT name, group_name, group_ranks, start_ns, end_ns, wait_ns, transit_ns, size_bytes, reported_step"
        " FROM stage_collective ORDER BY start_ns"
    ) == [
        ("hcom_batchSendRecv__128_3_1", group, "0,2", 1764246877147674500, 1764246877148110640, None, None, None, 13),
        (
            "hcom_allReduce__128_4_1",
            group,
            "0,2",
            1764246877228630000,
            1764246877231130000,
            750000,
            1250000,
            None,  # what moved over links is not the size of the data
            13,
        ),
    ]
    assert reading.rows("SELECT step FROM stage_step") == [(13,)]


@pytest.mark.parametrize(
    ("transit", "wait", "told"),
    [
        (1.25, 0.75, (1_250_000, 750_000)),
        (1.25, 1.2509, (1_250_000, 1_250_000)),  # rounded
        (2.5009, 0, (2_500_000, 0)),
        (1.25, 1.2521, (None, None)),  # of another time than the operator
        (2.6, 0, (None, None)),
        (0, 2.5, (None, 2_500_000)),
        (0, 2.6, (None, None)),
    ],
)
def test_reported_transit_and_wait_fit_into_the_operator(
    tmp_path: Path, transit: float, wait: float, told: tuple[int | None, int | None]
) -> None:
    document = {"step1": {"collective": {"hcom_allReduce__128_4_1": operator(100.0, 2.5, transit, wait, 8.5)}}}
    reading = read(tmp_path, {"communication": json.dumps(document)})
    assert reading.rows("SELECT transit_ns, wait_ns FROM stage_collective") == [told]


def test_the_hash_of_a_group_is_that_of_real_profiles(profiles: Path) -> None:
    # GIVEN the hashes that the operators of four ranks carry, and the groups that their metadata list
    for rank in range(4):
        folder = profiles / "ascend-qwen3-pp2-2025q4" / f"rank_{rank}_ascend_pt"
        document = json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "communication.json").read_text())
        used = {
            key.partition("@")[2] for step in document.values() for kind in step.values() for key in kind if "@" in key
        }
        members = group_members(json.loads((folder / "profiler_metadata.json").read_text()))
        assert used <= {group_hash(name) for name in members}
        assert all(rank in ranks for ranks in members.values())


@pytest.mark.parametrize(
    "metadata", [{}, {"parallel_group_info": []}, {"parallel_group_info": {"a": {"global_ranks": "0,1"}}}]
)
def test_metadata_without_groups(metadata: dict[str, object]) -> None:
    assert group_members(metadata) == {}


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"step1": [1, 2]}', '{"step1": {"collective": {"a@b": 7}}}', "null", "\xff\xfe"]
)
def test_damaged_communication_files_stop_nothing(tmp_path: Path, content: str) -> None:
    files = {"communication": content, "communication_matrix": content, "kernel_details": table(KERNELS, SOUND)}
    reading = read(tmp_path, files)
    assert reading.rows("SELECT count(*) FROM stage_kernel") == [(1,)]
    assert reading.rows("SELECT count(*) FROM link") == [(0,)]
    assert set(reading.warnings) <= {"unreadable_file"}


def test_links_sum_totals_only(tmp_path: Path) -> None:
    def pair(mb: float, ms: float, name: str | None = None) -> dict[str, Any]:
        return {
            "1-0": {"Transport Type": "HCCS", "Transit Size(MB)": mb, "Transit Time(ms)": ms}
            | ({"Op Name": name} if name else {})
        }

    document = {
        "step": {
            "p2p": {},
            "collective": {
                "reduce-top1@5": pair(1, 1, "hcom_reduceScatter__005_1_1"),
                "reduce-total@5": pair(3.5, 0.25),
                "allreduce-total@5": pair(2, 1),
            },
        }
    }
    reading = read(tmp_path, {"communication_matrix": json.dumps(document)})
    assert reading.rows(
        "SELECT step, kind, group_name, src_rank, dst_rank, transport, size_bytes, transit_ns FROM link ORDER BY kind"
    ) == [
        (None, "all_reduce", "5", 1, 0, "HCCS", 2000000, 1000000),
        (None, "reduce_scatter", "5", 1, 0, "HCCS", 3500000, 250000),
    ]
