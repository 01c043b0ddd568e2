"""Allocations of the host, from a Chrome trace that ``torch.profiler`` made with ``profile_memory``."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

_CPU = 0
"""``Device Type`` of the host."""


def history(trace: Mapping[str, Any], limit: int, depth: int) -> dict[str, Any]:
    """``is_complete``, ``timeline`` and ``allocations`` of a memory document (see ``torch_memory``).

    Args:
        trace: with its decimal numbers as text, so that nanoseconds stay exact.
        limit: number of events to keep, the latest.
        depth: number of operators around an allocation to keep, from the innermost outwards.
    """
    base = int(trace.get("baseTimeNanoseconds", 0))
    events = sorted(
        (base + _nanoseconds(event["ts"]), index, event)
        for index, event in enumerate(trace["traceEvents"])
        if event.get("name") == "[memory]" and event["args"]["Device Type"] == _CPU
    )
    kept = events[-limit:]
    operators = _Operators(trace["traceEvents"], base)
    return {
        "is_complete": len(kept) == len(events),
        "timeline": [
            {"ts_ns": ts, "allocated_bytes": int(event["args"]["Total Allocated"]), "reserved_bytes": None}
            for ts, _, event in kept
        ],
        "allocations": _allocations(((ts, event) for ts, _, event in kept), operators, depth),
    }


def _allocations(
    events: Iterable[tuple[int, Mapping[str, Any]]], operators: _Operators, depth: int
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    live: dict[int, dict[str, Any]] = {}
    for ts, event in events:
        size, address = int(event["args"]["Bytes"]), int(event["args"]["Addr"])
        if size > 0:
            stack = operators.around(event["tid"], ts)
            row = {
                "name": stack[0] if stack else None,
                "size_bytes": size,
                "alloc_ns": ts,
                "release_ns": None,
                "stack": stack[:depth],
            }
            rows.append(row)
            live[address] = row
        elif address in live:
            live.pop(address)["release_ns"] = ts
    return rows


class _Operators:
    """Operators and ranges of each thread, as a tree."""

    def __init__(self, events: Iterable[Mapping[str, Any]], base: int) -> None:
        spans: dict[object, list[tuple[int, int, str]]] = defaultdict(list)
        for event in events:
            if event.get("ph") == "X" and event.get("cat") in ("cpu_op", "user_annotation"):
                start = base + _nanoseconds(event["ts"])
                spans[event["tid"]].append((start, start + _nanoseconds(event["dur"]), event["name"]))
        self._threads = {
            thread: _Thread(sorted(found, key=lambda span: (span[0], -span[1]))) for thread, found in spans.items()
        }

    def around(self, thread: object, ts: int) -> list[str]:
        """Names of the spans that are active on a thread at a given time, the innermost first."""
        found = self._threads.get(thread)
        return found.around(ts) if found else []


class _Thread:
    """Properly nested spans in the order of their starts, each with its parent."""

    def __init__(self, spans: list[tuple[int, int, str]]) -> None:
        self._spans = spans
        self._starts = [start for start, _, _ in spans]
        self._parents: list[int] = []
        around: list[int] = []
        for index, (start, _, _) in enumerate(spans):
            while around and spans[around[-1]][1] <= start:
                around.pop()
            self._parents.append(around[-1] if around else -1)
            around.append(index)

    def around(self, ts: int) -> list[str]:
        names = []
        index = bisect_right(self._starts, ts) - 1
        while index >= 0:
            if self._spans[index][1] > ts:
                names.append(self._spans[index][2])
            index = self._parents[index]
        return names


def _nanoseconds(microseconds: str | int) -> int:
    """Microseconds, as the trace spells them, in whole nanoseconds."""
    return int(Decimal(microseconds) * 1_000)
