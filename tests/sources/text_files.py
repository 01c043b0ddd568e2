"""Small text profiles, written by hand in a test, and what the source makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.ascend.text import FILES, fill
from tests.stores import to_fill

PYTHON, HARDWARE, COMMUNICATION, CANN, OVERLAP = (
    100,
    (100 << 10) | (13 << 5),
    (100 << 10) | (15 << 5),
    (100 << 10) | (7 << 5),
    9,
)
PROCESSES = {
    PYTHON: "Python",
    HARDWARE: "Ascend Hardware",
    COMMUNICATION: "Communication",
    CANN: "CANN",
    OVERLAP: "Overlap Analysis",
}

Event = dict[str, Any]


@dataclass(frozen=True)
class Reading:
    """The tables that the source filled, and what it said."""

    con: duckdb.DuckDBPyConnection
    findings: Sequence[Finding]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query says about the tables."""
        return self.con.execute(query).fetchall()

    def said(self, key: str) -> list[str]:
        """The messages of findings of one key."""
        return [finding.message for finding in self.findings if finding.key == key]

    @property
    def warnings(self) -> list[str]:
        """The keys of all warnings."""
        return [finding.key for finding in self.findings if finding.severity == "warning"]


def read(
    folder: Path,
    files: Mapping[str, str | bytes],
    metadata: Mapping[str, object] | None = None,
    *,
    keep_events: bool = True,
) -> Reading:
    """Write files, by the names of the parts that they play, and read them as one capture."""
    for part, content in files.items():
        name = FILES[part].name
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    paths = {part: folder / FILES[part].name for part in files}
    return read_capture(CaptureInput("ascend_text", folder, paths, metadata=metadata or {}), keep_events=keep_events)


def read_capture(capture: CaptureInput, *, keep_events: bool = True) -> Reading:
    """Fill the tables of a fresh connection from one capture."""
    con = to_fill(keep_events=keep_events)
    findings: list[Finding] = []
    fill(con, capture, 0, findings.append)
    return Reading(con, findings)


def table(header: str, *lines: str, end: str = "\n") -> str:
    """A CSV file."""
    return end.join((header, *lines)) + end


def names(threads: Mapping[tuple[int, int], str] | None = None, labels: Mapping[int, str] | None = None) -> list[Event]:
    """The events that name processes and threads."""
    labels = labels or {pid: "CPU" if pid in (PYTHON, CANN) else "NPU" for pid in PROCESSES}
    events = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        for pid, name in PROCESSES.items()
    ]
    events += [
        {"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": label}}
        for pid, label in labels.items()
    ]
    return events + [
        {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
        for (pid, tid), name in (threads or {}).items()
    ]


def span(
    pid: int, tid: int, name: str, start: str | float, length: float, cat: str | None = None, **args: Any
) -> Event:
    """A complete event; arguments whose names are no Python names come as ``args={…}``."""
    event: Event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": start, "dur": length}
    if cat:
        event["cat"] = cat
    return event | {"args": args.get("args", args)}


def flow(
    cat: str, number: int | str, origin: tuple[int, int, str | float], target: tuple[int, int, str | float]
) -> list[Event]:
    """A flow from one event's start to another's."""
    return [
        {"ph": ph, "cat": cat, "name": cat, "id": number, "pid": pid, "tid": tid, "ts": ts}
        for ph, (pid, tid, ts) in (("s", origin), ("f", target))
    ]


def trace(*events: Event | Iterable[Event]) -> str:
    """A trace_view.json."""
    return json.dumps([one for event in events for one in ([event] if isinstance(event, dict) else event)])
