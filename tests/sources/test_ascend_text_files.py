"""What the tables among the text files tell, in small files written by hand: column generations and units."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.text_files import (
    HARDWARE,
    read,
    table,
    trace,
)

KERNELS = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim"
SOUND = "1,Add,Add,AI_VECTOR_CORE,1.000,1.000,0,1"


# --- kernel_details.csv ---------------------------------------------------------------------------------------------


def test_columns_of_the_newest_kernel_details(tmp_path: Path) -> None:
    header = (
        "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),"
        "Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,"
        "Output Data Types,Output Formats,Context ID,aicore_time(us),aic_mac_time(us),"
        "aiv_time(us),aiv_vec_time(us),aic_ub_read_bw(GB/s),"
        "cube_utilization(%),a column of next year"
    )
    line = (
        '3,4,4294967295,7,2,MatMul_1,MatMulV3,dynamic,AI_CORE,1764246877073569.640\t,10.500,0.250,24,0,NO,"""2,3;3,4""",'
        'DT_BF16;DT_BF16,ND;ND,"""2,4""",DT_BF16,ND,N/A,9.5,4.2,0.0,0.0,12.5,40.0,x'
    )
    reading = read(tmp_path, {"kernel_details": table(header, line)})
    query = "SELECT * EXCLUDE (capture, launch_ns, host_op_id, host_op_ns, task_type) FROM stage_kernel"
    assert reading.rows(query) == [
        (
            1,
            4,
            2,
            "MatMul_1",
            "MatMulV3",
            "AI_CORE",
            1764246877073569640,
            1764246877073580140,
            250,
            "2,3;3,4",
            "DT_BF16;DT_BF16",
            "ND;ND",
            "2,4",
            "DT_BF16",
            "ND",
            24,
            3,
            True,
        )
    ]
    assert dict(reading.rows("SELECT name, value FROM pmu WHERE kernel_id = 1")) == {
        "aic_total_time": 9500,
        "aic_mac_time": 4200,
        "aiv_total_time": 0,
        "aiv_vec_time": 0,
        "aic_ub_read_bw(GB/s)": 12.5,
        "cube_utilization": 0.4,
    }
    assert reading.warnings == []


def test_level0_has_neither_types_nor_cores(tmp_path: Path) -> None:
    # GIVEN Level0: CRLF, N/A, and communication told by its core alone
    lines = (
        "50,Conv2D1,N/A,N/A,1736405443881410.320\t,50.621,0,0",
        "50,hcom_allReduce__868_0_1,N/A,HCCL,1736405443909176.934\t,72994.438,320.026,0",
        ",Add_1,N/A,N/A,1736405443999999.000\t,1.000,0,0",
    )
    reading = read(tmp_path, {"kernel_details": table(KERNELS, *lines, end="\r\n")})
    assert reading.rows("SELECT name, op_type, core_type, reported_step, cube FROM stage_kernel ORDER BY start_ns") == [
        ("Conv2D1", None, None, 50, None),
        ("Add_1", None, None, None, None),
    ]
    # THEN the group is at least told apart by the digits of its hash
    assert reading.rows("SELECT name, op_type, group_name, wait_ns, transit_ns, size_bytes FROM stage_collective") == [
        ("hcom_allReduce__868_0_1", None, "868", None, None, None)
    ]


def test_without_steps_there_is_no_step(tmp_path: Path) -> None:
    reading = read(
        tmp_path,
        {
            "kernel_details": table(
                "Name,Type,Accelerator Core,Start Time(us),Duration(us)", "Add,Add,AI_VECTOR_CORE,5.000,1"
            )
        },
    )
    assert reading.rows("SELECT count(*) FROM stage_step") == [(0,)]
    assert reading.rows("SELECT start_ns, end_ns, reported_step FROM stage_kernel") == [(5000, 6000, None)]


def test_unprefixed_counters_of_910a_tell_the_cube(tmp_path: Path) -> None:
    header = f"{KERNELS},aicore_time(us),total_cycles,vec_time(us),vec_ratio,mac_time(us),mac_ratio"
    reading = read(
        tmp_path,
        {
            "kernel_details": table(
                header,
                "1,MatMul,MatMulV2,AI_CORE,1.000,1,0,2,1.0,100,0.1,0.1,0.8,0.8",
                "1,Host,Host,AI_CPU,3.000,1,0,2,N/A,N/A,N/A,N/A,N/A,N/A",
            )
        },
    )
    assert reading.rows("SELECT name, cube FROM stage_kernel ORDER BY id") == [("MatMul", True), ("Host", None)]
    assert reading.rows("SELECT value FROM pmu WHERE name = 'mac_time'") == [(800,)]


def test_spreadsheet_damage_loses_the_time_only(tmp_path: Path) -> None:
    lines = (
        "1,Add,Add,AI_VECTOR_CORE,1.69512E+15,1.000,0,1",
        "1,Add,Add,AI_VECTOR_CORE,1695120000000000.500,1.000,NaN,1",
    )
    reading = read(tmp_path, {"kernel_details": table(KERNELS, *lines)})
    assert reading.rows("SELECT start_ns, end_ns, wait_ns FROM stage_kernel ORDER BY id") == [
        (None, None, 0),
        (1695120000000000500, 1695120000000001500, None),
    ]
    (message,) = reading.said("damaged_time")
    assert message.startswith("kernel_details.csv: 1 of its 2 rows")


# --- sums and memory ------------------------------------------------------------------------------------------------


def test_step_times_of_nine_ten_and_eleven_columns(tmp_path: Path) -> None:
    nine = (
        "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
        "Communication(Not Overlapped and Exclude Receive)"
    )
    values = "8873.756000000001,101963.203,4028.6750000000175,105991.87800000001,25744.05,136581.0,0,101963.203"
    expected = (8873756, 101963203, 4028675, 105991878, 25744050, 136581000, 0)
    for header, line, device, step, preparing in (
        (nine, f"1,{values}", None, 1, None),
        (f"{nine},Preparing", f",{values},17902.5", None, None, 17902500),
        (f"Device_id,{nine},Preparing", f"4,13,{values},206.25", 4, 13, 206250),
    ):
        reading = read(tmp_path, {"step_trace_time": table(header, line, end="\r\n")})
        assert reading.rows("SELECT * EXCLUDE (capture) FROM reported_step_time") == [
            (device, step, *expected, preparing)
        ]


def test_memory_in_bytes_and_nanoseconds(tmp_path: Path) -> None:
    record = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type"
    operators = (
        "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),"
        "Device Type"
    )
    reading = read(
        tmp_path,
        {
            "memory_record": table(record, "APP,5.000\t,,1.5,,,NPU:3", "PTA,6.000\t,0.5,1,nan,8,NPU:3", end="\r\n"),
            "npu_module_mem": table(
                "Device_id,Component,Timestamp(us),Total Reserved(MB),Device", "3,HCCL,7.000\t,2.0,NPU:3"
            ),
            "operator_memory": table(
                operators,
                "aten::empty,0.5,8.000\t,9.500\t,9.500\t,1.500\t,1.500\t,NPU:3",
                "aten::mm,2,8.000\t,,,,,NPU:3",
            ),
        },
    )
    assert reading.rows("SELECT * EXCLUDE (capture) FROM memory ORDER BY ts_ns") == [
        (3, "APP", 5000, None, 1572864, None),
        (3, "PTA", 6000, 524288, 1048576, None),
        (3, "module HCCL", 7000, None, 2097152, None),
    ]
    assert reading.rows("SELECT * EXCLUDE (capture) FROM allocation ORDER BY name") == [
        (3, "aten::empty", 512, 8000, 9500, 1500),
        (3, "aten::mm", 2048, 8000, None, None),
    ]


def test_sums_of_the_profiler_without_a_device_get_the_only_one(tmp_path: Path) -> None:
    reading = read(
        tmp_path,
        {
            "op_statistic": table(
                "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)",
                "Add,AI_CORE,2,3.5,1,1.75,2.5,100",
                "Mul,AI_CORE,-3,3.5,1,1.75,2.5,100",
                "Sub,AI_CORE,9223372036854775807,3.5,1,1.75,2.5,100",
            ),
            "kernel_details": table("Device_id,Name,Start Time(us),Duration(us)", "6,Add,1.000,1"),
        },
    )
    assert reading.rows("SELECT * EXCLUDE (capture) FROM reported_kernel_type") == [
        (6, "Add", "AI_CORE", 2, 3500, 1000, 2500),
        (6, "Mul", "AI_CORE", None, 3500, 1000, 2500),
        (6, "Sub", "AI_CORE", None, 3500, 1000, 2500),
    ]


def test_counters_of_cache_and_ai_cpu_find_their_kernel(tmp_path: Path) -> None:
    reading = read(
        tmp_path,
        {
            "kernel_details": table(
                "Task ID,Stream ID,Name,Start Time(us),Duration(us)",
                "7,2,Add,1.000,1",
                "8,2,Host,3.000,1",
                "8,2,Host,9.000,1",
            ),
            "l2_cache": table("Stream Id,Task Id,Hit Rate,Victim Rate,Op Name", "2,7,N/A,0.25,Add", "2,8,0.5,0.5,Host"),
            "data_preprocess": table(
                "Timestamp(us),Node,Compute_time(ms),Memcpy_time(us),Stream ID,Task ID", "1,Add,0.5,2,2,7"
            ),
        },
    )
    assert reading.rows("SELECT kernel_id, name, value FROM pmu ORDER BY name") == [
        (1, "aicpu_compute_time", 500000),
        (1, "aicpu_memcpy_time", 2000),
        (1, "l2_victim_rate", 0.25),
    ]


@pytest.mark.slow
def test_units_that_worked_are_told_by_any_set_of_counters(tmp_path: Path) -> None:
    """PipeUtilization; ArithmeticUtilization, whose types of number add up; L2Cache; 910A, without prefixes."""
    at = "Task ID,Stream ID,Name,Start Time(us),Duration(us)"
    sets = {
        "pipe": (
            f"{at},aic_mac_ratio,aic_mte2_ratio,aiv_mte2_ratio",
            "7,2,Mm,1.000,1,0.25,0.75,0.9",
            (0.25, 0.75, None),
        ),
        "arithmetic": (f"{at},aic_mac_fp16_ratio,aic_mac_int8_ratio", "7,2,Mm,1.000,1,0.25,0.5", (0.75, None, None)),
        "cache": (
            f"{at},aic_write_cache_hit,aic_write_cache_miss_allocate,aic_r0_read_cache_hit",
            "7,2,Mm,1.000,1,10,10,60",
            (None, None, 0.875),
        ),
        "910A": (f"{at},mac_ratio,mte2_ratio", "7,2,Mm,1.000,1,0.25,0.75", (0.25, 0.75, None)),
        "none": (at, "7,2,Mm,1.000,1", None),
        "unavailable": (f"{at},aic_mac_ratio,aic_mte2_ratio", "7,2,Mm,1.000,1,N/A,N/A", None),
    }
    for name, (header, line, expected) in sets.items():
        folder = tmp_path / name
        folder.mkdir()
        reading = read(folder, {"kernel_details": table(header, line)}, keep_events=False)
        found = reading.rows("SELECT cube, load, l2_hit FROM stage_unit WHERE kernel_id = 1")
        assert found == ([] if expected is None else [expected]), name


def test_hits_of_the_second_level_cache_are_those_of_its_own_file(tmp_path: Path) -> None:
    files = {
        "kernel_details": table(
            "Task ID,Stream ID,Name,Start Time(us),Duration(us)", "7,2,Add,1.000,1", "8,2,Mul,3.000,1"
        ),
        "l2_cache": table("Stream Id,Task Id,Hit Rate,Victim Rate,Op Name", "2,7,0.75,0.25,Add", "2,8,N/A,0.5,Mul"),
    }
    assert read(tmp_path, files, keep_events=False).rows("SELECT * EXCLUDE (capture) FROM stage_unit") == [
        (1, None, None, 0.75)
    ]


def test_details_that_only_event_tables_keep_are_left_out_of_a_diff(tmp_path: Path) -> None:
    files = {
        "kernel_details": table(f"{KERNELS},aiv_vec_time(us)", f"{SOUND},0.5"),
        "trace_view": trace(
            {"ph": "C", "name": "HBM 0/Read", "pid": HARDWARE, "tid": 0, "ts": "6.000", "args": {"Read(MB/s)": 2.5}},
            {"ph": "C", "name": "AI Core Freq", "pid": HARDWARE, "tid": 0, "ts": "6.000", "args": {"MHz": 1650}},
        ),
    }
    reading = read(tmp_path, files, keep_events=False)
    assert reading.rows("SELECT count(*) FROM pmu") == [(0,)]
    assert reading.rows("SELECT name, value FROM counter") == [("aicore_freq_mhz", 1650)]
    assert reading.rows("SELECT cube FROM stage_kernel") == [(False,)]
