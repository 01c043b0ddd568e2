"""Files of torch.profiler: traces, memory snapshots, and exports beside a trace."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from rlcompare.writer.simulate import simulate
from rlcompare.writer.spec import SampleRun
from tests.fuzz.kinds.samples import copy_real, profile_kind, write_store
from tests.fuzz.mutators import files, json_text, lines
from tests.torch_trace_file import write_torch_trace

_MUTATORS = [*json_text.mutators("*trace*", events=True), *files.mutators("*")]


def _write(home: Path) -> None:
    (capture,) = simulate(SampleRun(ranks=(0,), layers=1, decode_steps=1, steps=(2, 3), world_size=2))
    write_torch_trace(capture, 2, home / "input" / "rank0.pt.trace.json")
    write_store(home)


def _write_cpu(home: Path) -> None:
    copy_real(home, "cpu-torch213-2rank/base/rank0.1795188212545523414.pt.trace.json.gz")


def _write_gpu(home: Path) -> None:
    copy_real(home, "gpu-small-oddities-dev/mi250_minitoy_train_ROCm6_2_kineto.json.gz", rename="mi250.trace.json.gz")


def _write_memory(home: Path) -> None:
    start = 1795274604000000001
    points = [
        {"ts_ns": start + 500 * n, "allocated_bytes": 512 * (1 + n % 5), "reserved_bytes": 4096} for n in range(50)
    ]
    allocations = [
        {"name": f"op{n % 7}", "size_bytes": 512 * n, "alloc_ns": start + 500 * n,
         "release_ns": start + 500 * n + 1000 if n % 3 else None, "stack": ["forward", "loss"]}
        for n in range(50)
    ]  # fmt: skip
    document = {
        "schema": "rlcompare.memory/1", "tool": "torch.cuda.memory", "device": "cuda:1", "step": 4, "rank": 3,
        "world_size": 8, "role": "actor", "phase": "update_actor", "start_ns": start, "is_complete": True,
        "timeline": points, "allocations": allocations, "segments": [],
    }  # fmt: skip
    (home / "input").mkdir()
    (home / "input" / "memory.json.gz").write_bytes(gzip.compress(json.dumps(document).encode(), mtime=0))
    write_store(home)


def _write_exports(home: Path) -> None:
    (capture,) = simulate(SampleRun(ranks=(0,), layers=1, decode_steps=1, steps=(2,), world_size=2))
    write_torch_trace(capture, 2, home / "input" / "rank0.pt.trace.json")
    sizes = [[0, 100 * n, 50, 25, 0, 7, 0, 0, 3] for n in range(20)]
    timeline = json.dumps([[1000 * n for n in range(20)], sizes])
    (home / "input" / "memory_timeline.json").write_text(timeline, encoding="utf-8")
    stacks = "".join(f"train.py(10):_step;model.py({n}):_forward;aten::mm {100 + n}\n" for n in range(30))
    (home / "input" / "stacks.txt").write_text(stacks, encoding="utf-8")
    write_store(home)


_EXPORTS = [*json_text.mutators("memory_timeline.json"), *lines.mutators("stacks.txt"), *files.mutators("*")]

TRACE = profile_kind("torch_trace", _write, _MUTATORS)
CPU = profile_kind("torch_trace_cpu", _write_cpu, _MUTATORS, "shared")
GPU = profile_kind("torch_trace_gpu", _write_gpu, _MUTATORS, "shared")
MEMORY = profile_kind(
    "torch_memory",
    _write_memory,
    [*json_text.mutators("*.json.gz"), *files.mutators("*")],
)
EXPORTS = profile_kind("torch_exports", _write_exports, _EXPORTS)
