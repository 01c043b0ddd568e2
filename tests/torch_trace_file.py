"""Writes a simulated capture as the Chrome trace that torch.profiler would export of it on a GPU."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from rlcompare.writer.model import Capture

_BASE_NS = 1_700_000_000_000_000_000
_LAUNCH_NS = 5_000


def write_torch_trace(capture: Capture, world_size: int, path: Path) -> None:
    """Phases as annotations, kernels with their launches, and who the process was; compressed if the name says so."""
    document = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": capture.devices[0], "name": "Sample GPU"}],
        "distributedInfo": {"backend": "nccl", "rank": capture.rank, "world_size": world_size},
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": _BASE_NS,
        "traceEvents": list(_events(capture)),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps(document).encode()
    path.write_bytes(gzip.compress(content, 1, mtime=0) if path.suffix == ".gz" else content)


def _events(capture: Capture) -> Iterator[dict[str, object]]:
    for mark in capture.marks:
        yield _event(capture, "user_annotation", mark.message, mark.thread, mark.start_ns, mark.end_ns)
    launches = {call.connection: call for call in capture.calls if call.layer == "node"}
    for number, kernel in enumerate(capture.kernels, 1):
        launch = launches[kernel.connection]
        end = min(launch.end_ns, launch.start_ns + _LAUNCH_NS)
        event = _event(capture, "cuda_runtime", "cudaLaunchKernel", launch.thread, launch.start_ns, end)
        yield event | {"args": {"correlation": number}}
        event = _event(capture, "kernel", kernel.spec.name, kernel.stream, kernel.start_ns, kernel.end_ns)
        yield event | {
            "pid": kernel.device,
            "args": {"device": kernel.device, "stream": kernel.stream, "correlation": number},
        }


def _event(capture: Capture, category: str, name: str, thread: int, start_ns: int, end_ns: int) -> dict[str, object]:
    """A complete event; its times are microseconds, from the trace's own base."""
    times = {"ts": (start_ns - _BASE_NS) / 1e3, "dur": (end_ns - start_ns) / 1e3}
    return {"ph": "X", "cat": category, "name": name, "pid": capture.pid, "tid": thread, **times}
