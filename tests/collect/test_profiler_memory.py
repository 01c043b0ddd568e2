"""Memory snapshots: the documents of the host's and the GPU's allocations."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from rlcompare.collect.profiler.host_memory import history  # noqa: E402
from rlcompare.collect.profiler.torch_memory import _gpu_history  # noqa: E402
from rlcompare.errors import UsageError  # noqa: E402
from tests.collect.profiled_loop import PROFILER, ROLLOUT, profiler, run  # noqa: E402

MEMORY = "global_profiler.tool=torch_memory"
MEBIBYTE = 1 << 20


def document(path: Path) -> dict[str, Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = json.load(file)
    assert isinstance(found, dict)
    return found


def test_the_host_is_followed_allocation_by_allocation(tmp_path: Path) -> None:
    made = profiler(tmp_path, MEMORY)
    before = time.time_ns()
    with made.step(2), made.phase("actor", "update_actor"):
        kept = torch.empty(MEBIBYTE, dtype=torch.uint8)
        passing = torch.ones(2 * MEBIBYTE, dtype=torch.uint8)
        del passing
    after = time.time_ns()
    (capture,) = made.captures
    assert capture.path.startswith("profile/e2e/memory_step2_rank0-of-1_")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / capture.path]
    found = document(tmp_path / capture.path)
    assert (found["schema"], found["device"], found["step"], found["rank"]) == ("rlcompare.memory/1", "cpu", 2, 0)
    large = {row["size_bytes"]: row for row in found["allocations"] if row["size_bytes"] >= MEBIBYTE}
    assert sorted(large) == [MEBIBYTE, 2 * MEBIBYTE]
    assert large[MEBIBYTE]["release_ns"] is None
    assert large[MEBIBYTE]["name"] == "aten::empty"
    assert large[2 * MEBIBYTE]["stack"] == ["aten::empty", "aten::ones", "update_actor", "ProfilerStep#2"]
    assert (
        before
        < large[MEBIBYTE]["alloc_ns"]
        < large[2 * MEBIBYTE]["alloc_ns"]
        < large[2 * MEBIBYTE]["release_ns"]
        < after
    )
    levels = [row["allocated_bytes"] for row in found["timeline"]]
    assert max(levels) == 3 * MEBIBYTE
    assert levels[-1] == MEBIBYTE
    assert found["is_complete"]
    assert kept.numel() == MEBIBYTE


def test_entries_and_stack_depth_are_limited(tmp_path: Path) -> None:
    limits = [
        f"{PROFILER}.tool_config.torch_memory.{limit}" for limit in ("trace_alloc_max_entries=3", "stack_depth=1")
    ]
    (capture,) = run(profiler(tmp_path, MEMORY, *limits))
    found = document(tmp_path / capture.path)
    assert not found["is_complete"]
    assert len(found["timeline"]) == 3
    assert {len(row["stack"]) for row in found["allocations"]} <= {0, 1}
    times = [row["ts_ns"] for row in found["timeline"]]
    assert times == sorted(times)


def test_a_sampled_phase_has_its_ticks_alone(tmp_path: Path) -> None:
    (capture,) = run(
        profiler(
            tmp_path,
            MEMORY,
            f"{ROLLOUT}.schedule.granularity=decode_step",
            f"{PROFILER}.enable=false",
            f"{ROLLOUT}.enable=true",
        )
    )
    found = document(tmp_path / capture.path)
    assert (found["role"], found["granularity"], found["sampled"]) == ("rollout", "decode_step", [11])
    assert capture.sampled == (11,)
    # one product of two 8 x 8 matrices, whose result lives on beyond it or not
    assert [row["size_bytes"] for row in found["allocations"] if row["name"] == "aten::mm"] == [256]


def test_another_device_and_mixed_tools_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="torch and torch_memory in one capture of the step"):
        profiler(tmp_path, f"{ROLLOUT}.tool=torch_memory", f"{PROFILER}.tool=torch")
    with pytest.raises(UsageError, match="nsys records GPUs, but this run is on cpu"):
        profiler(tmp_path, "global_profiler.tool=nsys")


def test_times_of_a_trace_stay_exact() -> None:
    # GIVEN a time that a float of microseconds would round
    args = {"Device Type": 0, "Bytes": 8, "Addr": 1, "Total Allocated": 8}
    event = {"name": "[memory]", "tid": 1, "ts": "4417043748056.587", "args": args}
    found = history({"baseTimeNanoseconds": 1790857026000000000, "traceEvents": [event]}, 10, 10)
    assert found["timeline"][0]["ts_ns"] == 1790857026000000000 + 4417043748056587
    assert found["allocations"][0]["name"] is None


def test_the_gpus_history_is_counted_back_from_its_end() -> None:
    # GIVEN the history of a GPU whose oldest events are missing: 100 bytes were there before
    frame = {"name": "forward", "filename": "/home/somebody/model.py", "line": 7}
    events = [
        {"action": "segment_alloc", "addr": 0, "size": 1024, "stream": 0, "time_us": 10, "frames": []},
        {"action": "alloc", "addr": 0, "size": 512, "stream": 0, "time_us": 11, "frames": [frame, frame]},
        {"action": "free_requested", "addr": 0, "size": 512, "stream": 0, "time_us": 12, "frames": []},
        {"action": "free_completed", "addr": 0, "size": 512, "stream": 0, "time_us": 13, "frames": []},
        {"action": "alloc", "addr": 0, "size": 256, "stream": 0, "time_us": 14, "frames": []},
    ]
    block = {"size": 256, "state": "active_allocated", "address": 0, "frames": []}
    segment = {"device": 0, "address": 0, "total_size": 1024, "allocated_size": 256, "stream": 0, "blocks": [block]}
    found = _gpu_history({"device_traces": [events], "segments": [segment]}, 0, (356, 3072), 5, 1)
    assert [(row["ts_ns"], row["allocated_bytes"], row["reserved_bytes"]) for row in found["timeline"]] == [
        (10_000, 100, 3072),
        (11_000, 612, 3072),
        (12_000, 100, 3072),
        (14_000, 356, 3072),
    ]
    assert found["allocations"] == [
        {
            "name": "forward",
            "size_bytes": 512,
            "alloc_ns": 11_000,
            "release_ns": 12_000,
            "stack": ["forward (model.py:7)"],
        },
        {"name": None, "size_bytes": 256, "alloc_ns": 14_000, "release_ns": None, "stack": []},
    ]
    assert not found["is_complete"]
    assert found["segments"][0]["blocks"] == [{"size_bytes": 256, "state": "active_allocated"}]
