"""Traces as torch.profiler writes them, event by event, and what the source makes of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.torch.trace import fill
from tests.sources.text_files import Reading
from tests.stores import to_fill

Event = dict[str, Any]

BASE_NS = 1_790_857_026_000_000_000
MAIN, BACKWARD = 100, 101


def span(cat: str, name: str, start: float | str, length: float | str, tid: int | str = MAIN, **args: Any) -> Event:
    """A complete event on a thread of the host; times in microseconds."""
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": start, "dur": length, "args": args}


def op(name: str, start: float, length: float, tid: Any = MAIN, **args: Any) -> Event:
    """A framework operator."""
    return span("cpu_op", name, start, length, tid, **args)


def mark(name: str, start: float, length: float, tid: Any = MAIN, **args: Any) -> Event:
    """An annotation."""
    return span("user_annotation", name, start, length, tid, **args)


def launch(correlation: int, start: float, tid: int = MAIN, name: str = "cudaLaunchKernel") -> Event:
    """A call of the runtime of one microsecond."""
    return span("cuda_runtime", name, start, 1, tid, correlation=correlation)


def kernel(correlation: int, start: float | str, length: float | str, name: Any = "gemm", **args: Any) -> Event:
    """A kernel on stream 7 of device 0."""
    event = span("kernel", name, start, length, 7, device=0, stream=7, correlation=correlation)
    event["args"] |= args
    return event


def trace(*events: Event, after: dict[str, Any] | None = None, **before: Any) -> dict[str, Any]:
    """A whole trace, with keys before and after its events."""
    return {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, **before, "traceEvents": list(events), **(after or {})}


def write(path: Path, content: dict[str, Any] | str | bytes) -> Path:
    """Write a trace, compressed where the name says so."""
    text = json.dumps(content) if isinstance(content, dict) else content
    data = text.encode() if isinstance(text, str) else text
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" and isinstance(content, dict) else data)
    return path


def read(path: Path, *, step_hint: int | None = None) -> Reading:
    """Fill the tables of a fresh connection from one trace."""
    con = to_fill()
    con.execute(
        "INSERT INTO capture BY NAME SELECT 0 AS capture, 0 AS ordinal, ?::BIGINT AS step_hint, 'torch' AS tool,"
        " 'torch_trace' AS source, 'x' AS path, 'device' AS executor",
        [step_hint],
    )
    findings: list[Finding] = []
    fill(con, CaptureInput("torch_trace", path, {"trace": path}), 0, findings.append)
    return Reading(con, findings)
