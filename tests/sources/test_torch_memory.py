"""Memory snapshots of `rlcompare run`, read into memory and allocation."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rlcompare.errors import InputError
from rlcompare.sources.detect import find_runs
from tests.stores import rows, store_of


def snapshot(**changed: Any) -> dict[str, Any]:
    """A snapshot of a GPU's memory, in the form that collect/profiler/torch_memory.py documents."""
    return {
        "schema": "rlcompare.memory/1",
        "tool": "torch.cuda.memory",
        "device": "cuda:1",
        "step": 4,
        "rank": 3,
        "world_size": 8,
        "role": "actor",
        "phase": "update_actor",
        "start_ns": 1795274604000000001,
        "is_complete": True,
        "timeline": [
            {"ts_ns": 1795274604000000001, "allocated_bytes": 512, "reserved_bytes": 2048},
            {"ts_ns": 1795274604000000501, "allocated_bytes": 1536, "reserved_bytes": 2048},
        ],
        "allocations": [
            {"name": "forward", "size_bytes": 512, "alloc_ns": 1795274604000000001, "release_ns": None, "stack": ["a"]},
            {
                "name": None,
                "size_bytes": 1024,
                "alloc_ns": 1795274604000000501,
                "release_ns": 1795274604000000701,
                "stack": [],
            },
        ],
        "segments": [],
    } | changed


def write(path: Path, document: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    return path


def test_a_snapshot_fills_memory_and_allocation_to_the_nanosecond(tmp_path: Path) -> None:
    store = store_of(write(tmp_path / "memory.json.gz", snapshot()), tmp_path / "run.duckdb")
    assert rows(
        store, "SELECT device_id, component, ts_ns, allocated_bytes, reserved_bytes FROM memory ORDER BY ts_ns"
    ) == [
        (1, "PTA", 1795274604000000001, 512, 2048),
        (1, "PTA", 1795274604000000501, 1536, 2048),
    ]
    columns = "name, size_bytes, alloc_ns, release_ns, duration_ns"
    assert rows(store, f"SELECT {columns} FROM allocation ORDER BY alloc_ns") == [
        ("forward", 512, 1795274604000000001, None, None),
        (None, 1024, 1795274604000000501, 1795274604000000701, 200),
    ]
    assert rows(store, "SELECT role, phase, rank, step_hint, tool, source FROM capture") == [
        ("actor", "update_actor", 3, 4, "torch_memory", "torch_memory")
    ]


def test_the_hosts_memory_has_no_device(tmp_path: Path) -> None:
    level = {"ts_ns": 5, "allocated_bytes": 8, "reserved_bytes": None}
    document = snapshot(device="cpu", tool="torch.profiler", timeline=[level], allocations=[])
    store = store_of(write(tmp_path / "memory.json.gz", document), tmp_path / "run.duckdb")
    assert rows(store, "SELECT device_id, component, allocated_bytes, reserved_bytes FROM memory") == [
        (None, "CPU", 8, None)
    ]


def test_snapshots_are_found_among_the_files_of_a_folder(tmp_path: Path) -> None:
    for rank in (0, 1):
        write(tmp_path / "profile" / "e2e" / f"memory_{rank}.json.gz", snapshot(rank=rank))
    (run,) = find_runs(tmp_path)
    assert [(capture.source, capture.rank) for capture in run.captures] == [("torch_memory", 0), ("torch_memory", 1)]


def test_dropped_events_are_told(tmp_path: Path) -> None:
    store = store_of(write(tmp_path / "memory.json.gz", snapshot(is_complete=False)), tmp_path / "run.duckdb")
    ((severity, message),) = rows(store, "SELECT severity, message FROM finding WHERE key = 'memory_cut'")
    assert severity == "warning"
    assert "trace_alloc_max_entries" in message


def test_a_later_schema_and_a_cut_file_are_told(tmp_path: Path) -> None:
    later = write(tmp_path / "later.json.gz", snapshot(schema="rlcompare.memory/2"))
    with pytest.raises(InputError, match=r"its schema is rlcompare\.memory/2, and this version reads"):
        store_of(later, tmp_path / "later.duckdb")
    cut = write(tmp_path / "cut.json.gz", snapshot(timeline=snapshot()["timeline"] * 2000))
    cut.write_bytes(cut.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"cut\.json\.gz"):
        store_of(cut, tmp_path / "cut.duckdb")
