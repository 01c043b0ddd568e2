"""Reads sample profiles with nothing but sqlite3, csv and json, so that tests do not trust the code under test."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

Interval = tuple[int, int]
Event = tuple[Any, ...]


def to_ns(text: str) -> int:
    """Nanoseconds of a printed time in microseconds, TAB and all."""
    return int(Decimal(text.strip()) * 1000)


def union_length(intervals: Iterable[Interval]) -> int:
    """Length of a union of intervals, by sweeping over their ends."""
    ends = sorted([(start, 1) for start, _ in intervals] + [(end, -1) for _, end in intervals])
    total = depth = 0
    previous = 0
    for time, change in ends:
        if depth > 0:
            total += time - previous
        depth += change
        previous = time
    return total


class Database:
    """The two databases of a capture."""

    def __init__(self, capture: Path) -> None:
        self.output = capture / "ASCEND_PROFILER_OUTPUT"
        self.path = next(self.output.glob("ascend_pytorch_profiler*.db"))
        self.con = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        self.strings = dict(self.con.execute("SELECT id, value FROM STRING_IDS"))

    def rows(self, table: str) -> list[dict[str, Any]]:
        cursor = self.con.execute(f'SELECT * FROM "{table}"')
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def tables(self) -> set[str]:
        return {name for (name,) in self.con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def analysis(self, table: str) -> list[dict[str, Any]]:
        con = sqlite3.connect(f"file:{self.output / 'analysis.db'}?mode=ro", uri=True)
        cursor = con.execute(f'SELECT * FROM "{table}"')
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
        con.close()
        return rows

    def kernels(self) -> list[dict[str, Any]]:
        """Kernels with their tasks, strings resolved."""
        tasks = {row["globalTaskId"]: row for row in self.rows("TASK")}
        found = []
        for row in self.rows("COMPUTE_TASK_INFO"):
            texts = {key: self.strings[row[key]] for key in ("name", "opType", "taskType", "inputShapes")}
            found.append({**row, **tasks[row["globalTaskId"]], **texts})
        return sorted(found, key=lambda row: (row["startNs"], row["deviceId"]))

    def collectives(self) -> list[dict[str, Any]]:
        """Collectives, each on the device of the tasks that share its connection."""
        devices = {row["connectionId"]: row["deviceId"] for row in self.rows("TASK")}
        return [
            {**row, "name": self.strings[row["opName"]], "deviceId": devices[row["connectionId"]]}
            for row in self.rows("COMMUNICATION_OP")
        ]

    def operators(self) -> list[dict[str, Any]]:
        """Framework operators with their thread, and with the connections of what they launched."""
        links: dict[int, list[int]] = {}
        for row in self.rows("CONNECTION_IDS"):
            links.setdefault(row["id"], []).append(row["connectionId"])
        return [
            {
                **row,
                "name": self.strings[row["name"]],
                "startNs": int(row["startNs"]),
                "endNs": int(row["endNs"]),
                "tid": row["globalTid"] & 0xFFFFFFFF,
                "links": links.get(row["connectionId"], []),
            }
            for row in self.rows("PYTORCH_API")
        ]

    def ranges(self) -> list[tuple[str, int, int]]:
        return [(self.strings[row["message"]], row["startNs"], row["endNs"]) for row in self.rows("MSTX_EVENTS")]


class Text:
    """The text files of a capture."""

    def __init__(self, capture: Path) -> None:
        self.output = capture / "ASCEND_PROFILER_OUTPUT"
        self.trace: list[dict[str, Any]] = json.loads((self.output / "trace_view.json").read_text("utf-8"))
        self.processes = {e["pid"]: e["args"]["name"] for e in self.trace if e["name"] == "process_name"}

    def csv(self, name: str) -> list[dict[str, str]]:
        with (self.output / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def json(self, name: str) -> Any:
        return json.loads((self.output / f"{name}.json").read_text("utf-8"))

    def spans(self, process: str, category: str | None = None) -> list[dict[str, Any]]:
        """Complete events of a process, with their times in nanoseconds."""
        return [
            {**event, "start": to_ns(event["ts"]), "end": to_ns(event["ts"]) + to_ns(str(event["dur"]))}
            for event in self.trace
            if event["ph"] == "X" and self.processes[event["pid"]] == process and event.get("cat") == category
        ]
