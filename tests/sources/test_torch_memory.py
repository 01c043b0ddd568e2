"""Memory snapshots of `rlcompare run`, read into memory and allocation."""

from __future__ import annotations

import gzip
import json
import pickle
import shlex
import subprocess
import sys
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


def test_members_may_stand_in_any_order(tmp_path: Path) -> None:
    """As tools that sort them, or write "segments" first, leave them."""
    (plain,) = find_runs(write(tmp_path / "plain.json.gz", snapshot()))[0].captures
    (turned,) = find_runs(write(tmp_path / "turned.json.gz", dict(reversed(snapshot().items()))))[0].captures
    assert (turned.rank, turned.step_hint, turned.info) == (plain.rank, plain.step_hint, plain.info)
    assert plain.info["schema"] == "rlcompare.memory/1"


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


SPACES = b" " * (260 << 20)
"""More than a snapshot may have whose end does not show that it is complete."""


@pytest.mark.slow
def test_a_large_snapshot_is_read(tmp_path: Path) -> None:
    large = tmp_path / "memory.json"
    large.write_bytes(json.dumps(snapshot()).encode()[:-1] + SPACES + b"}\n")
    assert rows(store_of(large, tmp_path / "run.duckdb"), "SELECT count(*) FROM memory") == [(2,)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cut.json", "bomb.json.gz"])
def test_a_file_that_only_seems_large_takes_little_memory(tmp_path: Path, name: str) -> None:
    document = json.dumps(snapshot()).encode()[:-1] + SPACES
    path = tmp_path / name
    path.write_bytes(gzip.compress(document + b"}", 1) if path.suffix == ".gz" else document)
    with pytest.raises(InputError, match=r"it is cut or damaged, or its JSON is larger than 256 MiB"):
        store_of(path, tmp_path / "run.duckdb")


def torchs_own() -> dict[str, Any]:
    """What torch.cuda.memory._snapshot() gives: device 1 reserves 4096 bytes, gives 2 kB away and takes them back."""

    def event(action: str, addr: int, size: int, time_us: int, *frames: str) -> dict[str, Any]:
        places = [{"name": name, "filename": "/home/me/model.py", "line": 3} for name in frames]
        return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": time_us, "frames": places}

    events = [
        event("segment_alloc", 0x7F00_0000_0000, 4096, 1_795_274_604_000_000),
        event("alloc", 0x7F00_0000_0000, 1024, 1_795_274_604_000_001, "forward", "step"),
        event("alloc", 0x7F00_0000_0400, 2048, 1_795_274_604_000_002, "matmul"),
        event("free_requested", 0x7F00_0000_0400, 2048, 1_795_274_604_000_005),
        event("free_completed", 0x7F00_0000_0400, 2048, 1_795_274_604_000_006),
        event("alloc", 0x7F00_0000_0400, 512, 1_795_274_604_000_009),
    ]
    blocks = [{"address": 0x7F00_0000_0000, "size": 1024, "state": "active_allocated", "frames": []}]
    # Before the history began, 256 bytes were allocated in a segment of 1024.
    segments = [
        {"device": 1, "address": 1, "total_size": 1024, "stream": 0, "allocated_size": 256, "blocks": []},
        {"device": 1, "address": 2, "total_size": 4096, "stream": 0, "allocated_size": 1536, "blocks": blocks},
    ]
    return {"segments": segments, "device_traces": [[], events], "allocator_settings": {"expandable_segments": False}}


def test_torchs_own_snapshot_as_json(tmp_path: Path) -> None:
    path = write(tmp_path / "SP" / "step3" / "torch_memory_rank5_pid77.pickle.json.gz", torchs_own())
    store = store_of(tmp_path / "SP", tmp_path / "run.duckdb")
    base = 1_795_274_604_000_000_000
    assert rows(
        store, "SELECT device_id, component, ts_ns, allocated_bytes, reserved_bytes FROM memory ORDER BY ts_ns"
    ) == [
        (1, "PTA", base, 256, 5120),
        (1, "PTA", base + 1000, 1280, 5120),
        (1, "PTA", base + 2000, 3328, 5120),
        (1, "PTA", base + 5000, 1280, 5120),
        (1, "PTA", base + 9000, 1792, 5120),
    ]
    columns = "name, size_bytes, alloc_ns, release_ns, duration_ns"
    assert rows(store, f"SELECT {columns} FROM allocation ORDER BY alloc_ns") == [
        ("forward", 1024, base + 1000, None, None),
        ("matmul", 2048, base + 2000, base + 5000, 3000),
        (None, 512, base + 9000, None, None),
    ]
    assert rows(store, "SELECT rank, step_hint, role, phase, path FROM capture") == [
        (5, 3, None, None, str(path.relative_to(tmp_path / "SP")))
    ]


def test_pickles_are_named_and_never_opened(tmp_path: Path) -> None:
    # GIVEN a snapshot that would leave a trace of its opening, and traces beside it
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "opened",))

    for rank in (0, 1):
        path = tmp_path / "SP" / "step2" / f"torch_memory_rank{rank}_pid7.pickle"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(Trap()))

    # WHEN nothing else is there
    with pytest.raises(InputError) as alone:
        find_runs(tmp_path / "SP")
    with pytest.raises(InputError, match="can run code when it is opened"):
        find_runs(tmp_path / "SP" / "step2" / "torch_memory_rank0_pid7.pickle")

    # THEN it is an error that shows the way out
    assert alone.value.path.name == "torch_memory_rank0_pid7.pickle"
    assert "(and 1 more)" in str(alone.value)
    assert "json.dump(pickle.load(" in str(alone.value)

    # WHEN something else is there
    write(tmp_path / "SP" / "step3" / "torch_memory_rank0_pid7.pickle.json.gz", torchs_own())
    (run,) = find_runs(tmp_path / "SP")

    # THEN it is read, and the pickles are a finding
    assert [(capture.rank, capture.step_hint) for capture in run.captures] == [(0, 3)]
    (said,) = [finding.message for finding in run.findings if finding.key == "pickle"]
    assert said.startswith("step2/torch_memory_rank0_pid7.pickle was left out: ")
    assert not (tmp_path / "opened").exists()


def test_the_command_that_is_shown_makes_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "SP" / "step2" / "torch_memory_rank1_pid7.pickle"
    path.parent.mkdir(parents=True)
    path.write_bytes(pickle.dumps(torchs_own()))
    with pytest.raises(InputError) as refused:
        find_runs(tmp_path / "SP")
    shown = str(refused.value).partition("if you trust it, convert it to JSON with ")[2].partition(". Then pass")[0]
    command = shown.replace("python3", shlex.quote(sys.executable), 1)

    subprocess.run(["/bin/sh", "-c", command], check=True)

    (run,) = find_runs(tmp_path / "SP")
    assert [(capture.source, capture.rank, capture.step_hint) for capture in run.captures] == [("torch_memory", 1, 2)]
