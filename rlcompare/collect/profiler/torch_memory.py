"""Memory snapshots as JSON: when memory was allocated, by which operator, and for how long.

On a GPU the data is the history of torch's caching allocator, on the host ``torch.profiler``'s allocation events.
torch's own snapshot files are pickles, which are unsafe to open. Ours (``memory_step….json.gz``) hold one object:

    {"schema": "rlcompare.memory/1",
     "tool": "torch.cuda.memory" | "torch.profiler",
     "device": "cuda:0" | "cpu",
     "rank": 0, "world_size": 1, "step": 3,
     "role": "actor", "phase": "update_actor",          where it is of one
     "granularity": "micro_batch", "sampled": [1],      where a schedule chose the window
     "start_ns": 1,                                     of the first event
     "is_complete": true,                               false: over trace_alloc_max_entries, the oldest are lost
     "timeline": [{"ts_ns": 1, "allocated_bytes": 40, "reserved_bytes": 64 | null}, …],    after each event, in order
     "allocations": [{"name": "aten::mm", "size_bytes": 40, "alloc_ns": 1, "release_ns": 2 | null, "stack": ["…"]}, …],
     "segments": [{"size_bytes": 64, "allocated_bytes": 40, "stream": 0,                   at its end; empty on the host
                   "blocks": [{"size_bytes": 40, "state": "active_allocated"}, …]}, …]}

Times are nanoseconds since the epoch. ``name`` is the innermost operator around an allocation, on a GPU the innermost
Python function; ``stack`` goes on from there outwards, at most ``stack_depth`` entries. ``release_ns`` is null for what
outlived the window. On the host ``allocated_bytes`` counts from the window's start.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.profiler import profile

from rlcompare.collect.profiler.host_memory import history
from rlcompare.collect.profiler.plan import Options
from rlcompare.collect.profiler.record import Capture, Target, Written
from rlcompare.collect.profiler.torch import TorchCapture, synchronize, whole_trace
from rlcompare.collect.profiler.windows import Windows
from rlcompare.errors import OutputError, UsageError

SCHEMA = "rlcompare.memory/1"


def opener(device: str) -> Callable[[Target, Options], Capture]:
    """The function that starts a capture on ``cpu`` or ``cuda``.

    Raises:
        UsageError: the device has no allocation history.
    """
    if device == "cuda":
        return _of_gpu
    if device == "cpu":
        return _HostCapture
    raise UsageError(
        f"tool torch_memory works on cuda and cpu, but this run is on {device}: set global_profiler.tool={device} and "
        f"tool_config.{device}.contents=[{device},cpu,memory]"
    )


class _HostCapture(TorchCapture):
    """A run of torch.profiler that keeps only the allocations."""

    def __init__(self, target: Target, options: Options) -> None:
        self._limits = options.torch_memory
        host = replace(options, cpu=True, device=False, memory=True, shapes=False, stack=False, modules=False)
        super().__init__(target, host)

    def _save(self, ready: profile, sampled: tuple[int, ...] | None) -> Path:
        path = self._target.file("memory", ".json.gz")
        with whole_trace(ready, path) as raw:
            trace = json.loads(raw.read_bytes(), parse_float=str)
        found = history(trace, self._limits.trace_alloc_max_entries, self._limits.stack_depth)
        return _write(
            path, _document("torch.profiler", "cpu", self._target.description(sampled), found | {"segments": []})
        )


def _of_gpu(target: Target, options: Options) -> Capture:
    limits = options.torch_memory
    memory: Any = torch.cuda.memory

    def start() -> None:
        synchronize()
        memory._record_memory_history(max_entries=limits.trace_alloc_max_entries, stacks="python")

    def stop(sampled: tuple[int, ...] | None) -> list[Written]:
        synchronize()
        device = torch.cuda.current_device()
        levels = memory.memory_allocated(device), memory.memory_reserved(device)
        snapshot = memory._snapshot(device)
        memory._record_memory_history(enabled=None)
        found = _gpu_history(snapshot, device, levels, limits.trace_alloc_max_entries, limits.stack_depth)
        document = _document("torch.cuda.memory", f"cuda:{device}", target.description(sampled), found)
        return [Written(_write(target.file("memory", ".json.gz"), document), sampled)]

    def discard() -> None:
        memory._record_memory_history(enabled=None)

    return Windows(target, start, stop, discard)


def _gpu_history(
    snapshot: Mapping[str, Any], device: int, levels: tuple[int, int], limit: int, depth: int
) -> dict[str, Any]:
    """The parts of our document that come from a snapshot of torch's allocator.

    Args:
        levels: allocated and reserved bytes when the snapshot was made. The timeline is computed backwards from them,
            because the oldest events may be missing.
    """
    events = snapshot["device_traces"][device]
    segments = [segment for segment in snapshot["segments"] if segment["device"] == device]
    return {
        "is_complete": len(events) < limit,
        "timeline": _gpu_timeline(events, *levels),
        "allocations": _gpu_allocations(events, depth),
        "segments": [
            {
                "size_bytes": segment["total_size"],
                "allocated_bytes": segment["allocated_size"],
                "stream": segment["stream"],
                "blocks": [{"size_bytes": block["size"], "state": block["state"]} for block in segment["blocks"]],
            }
            for segment in segments
        ],
    }


_ALLOCATED = {"alloc": 1, "free_requested": -1}
_RESERVED = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}


def _gpu_timeline(events: Iterable[Mapping[str, Any]], allocated: int, reserved: int) -> list[dict[str, int]]:
    rows = []
    for event in reversed(list(events)):
        action = event["action"]
        if action in _ALLOCATED or action in _RESERVED:
            rows.append({"ts_ns": event["time_us"] * 1_000, "allocated_bytes": allocated, "reserved_bytes": reserved})
            allocated -= _ALLOCATED.get(action, 0) * event["size"]
            reserved -= _RESERVED.get(action, 0) * event["size"]
    return rows[::-1]


def _gpu_allocations(events: Iterable[Mapping[str, Any]], depth: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    live: dict[int, dict[str, Any]] = {}
    for event in events:
        if event["action"] == "alloc":
            stack = [f"{frame['name']} ({Path(frame['filename']).name}:{frame['line']})" for frame in event["frames"]]
            row = {
                "name": event["frames"][0]["name"] if stack else None,
                "size_bytes": event["size"],
                "alloc_ns": event["time_us"] * 1_000,
                "release_ns": None,
                "stack": stack[:depth],
            }
            rows.append(row)
            live[event["addr"]] = row
        elif event["action"] == "free_requested" and event["addr"] in live:
            live.pop(event["addr"])["release_ns"] = event["time_us"] * 1_000
    return rows


def _document(tool: str, device: str, description: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """The document, with short members first, so that readers can identify it before the long lists."""
    start = found["timeline"][0]["ts_ns"] if found["timeline"] else None
    return {"schema": SCHEMA, "tool": tool, "device": device, **json.loads(description), "start_ns": start, **found}


def _write(path: Path, document: Mapping[str, Any]) -> Path:
    """Writes the document to a temporary file and renames it.

    Raises:
        OutputError: it could not be written.
    """
    partial = path.with_name(f".{path.name}.part")
    try:
        with gzip.open(partial, "wt", encoding="utf-8", compresslevel=6) as file:
            json.dump(document, file)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OutputError(path, str(error), "free some disk space or choose another save_path") from error
    return path
