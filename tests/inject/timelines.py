"""Real profiles as timelines that can be stretched and added to: torch traces, and databases of Ascend NPUs.

All times are in ns. Timelines are not changed: every edit gives a new one.
"""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

Event = dict[str, Any]

DEVICE = frozenset({"kernel", "comm", "copy", "task"})
"""Kinds of spans that a device runs; ``task`` is all that is none of the others."""


class NoPlace(Exception):
    """The profile has nothing that an edit could change."""


@dataclass(frozen=True)
class Span:
    """Something with a start and an end.

    Attributes:
        kind: ``kernel``, ``comm``, ``copy``, ``task``, ``op`` (of the framework), ``call`` (into the runtime),
            ``range`` (of the user), ``python`` or ``step``.
        lane: the thread, or the device and stream.
        place: its index among the events, or its rowid.
        link: what a launch and the device's span have in common; empty if unknown.
        asked: for the device's spans, when the host began to launch it.
    """

    kind: str
    name: str
    start: int
    end: int
    lane: str
    place: int
    link: str = ""
    shapes: str = ""
    asked: int | None = None

    @property
    def ns(self) -> int:
        return self.end - self.start

    def holds(self, at: int) -> bool:
        """Whether an instant is inside of it, and not at an end."""
        return self.start < at < self.end


@dataclass(frozen=True)
class Stretch:
    """A longer time: what starts at or after an instant moves, what spans it grows."""

    at: int
    by: int


class Warp:
    """Where instants move to."""

    def __init__(
        self, stretches: Iterable[Stretch] = (), *, factor: float = 1.0, origin: int = 0, unit: int = 1
    ) -> None:
        ordered = sorted(stretches, key=lambda stretch: stretch.at)
        self._at = [stretch.at for stretch in ordered]
        self._by = [0, *accumulate(stretch.by for stretch in ordered)]
        self._factor, self._origin, self._unit = factor, origin, unit

    def start(self, at: int) -> int:
        """The new time of what starts, or happens, at an instant."""
        return self._scaled(at) + self._by[bisect_right(self._at, at)]

    def end(self, at: int) -> int:
        """The new time of what ends at an instant."""
        return self._scaled(at) + self._by[bisect_left(self._at, at)]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The new start and end."""
        moved = self.start(start)
        return moved, max(moved, self.end(end))

    def _scaled(self, at: int) -> int:
        if self._factor == 1.0:
            return at
        return self._origin + round((at - self._origin) * self._factor / self._unit) * self._unit


@dataclass(frozen=True)
class Launch:
    """A kernel to add, with its launch and operator; without a device, the operator alone.

    Attributes:
        host, call, device: when the operator, its launch and the kernel start and end.
        shapes: of the inputs, as ``Span.shapes`` has them.
        apart: whether the kernel runs on a stream of its own.
    """

    op: str
    kernel: str
    host: tuple[int, int]
    call: tuple[int, int] = (0, 0)
    device: tuple[int, int] = (0, 0)
    shapes: str = ""
    apart: bool = False


class Timeline(ABC):
    """One rank's profile."""

    unit = 1
    """The resolution of its times."""

    malloc = "cudaMalloc"
    """The call that asks the device for memory."""

    synchronise = "cudaDeviceSynchronize"
    """The call that waits for the device."""

    @property
    @abstractmethod
    def spans(self) -> Sequence[Span]:
        """All spans, by start, the outer ones first."""

    @abstractmethod
    def warped(self, warp: Warp) -> Timeline:
        """With all its times moved."""

    @abstractmethod
    def divided(self, places: Collection[int], names: tuple[str, str]) -> Timeline:
        """With two kernels of these names in the place of each of these, launched by the same operator."""

    @abstractmethod
    def with_launches(self, launches: Sequence[Launch]) -> Timeline:
        """With more kernels."""

    @abstractmethod
    def with_larger_inputs(self, places: Collection[int], factor: int) -> Timeline:
        """With the first dimension of all inputs of these kernels a multiple."""

    @abstractmethod
    def with_call(self, name: str, start: int, end: int) -> Timeline:
        """With a call into the runtime, on the thread that runs the steps."""

    @abstractmethod
    def write(self, folder: Path, rank: int = 0) -> Path:
        """Writes it; returns the path to read."""

    def repeated(self, start: int, end: int) -> Timeline:
        """With all that begins on the host in this time once more, right after it, and its tasks of the device."""
        raise NoPlace("only traces are repeated")

    def with_collection(self, start: int, end: int) -> Timeline:
        """With a garbage collection on the thread that runs the steps."""
        raise NoPlace("the profiler does not record collections")

    def with_clock(self, factor: float) -> Timeline:
        """With another clock of the AI Cores."""
        raise NoPlace("the profiler does not record clocks")

    def with_core(self, places: Collection[int], core: str) -> Timeline:
        """With these kernels on another kind of core."""
        raise NoPlace("there is but one kind of core")

    def with_data_types(self, places: Collection[int], data_types: str) -> Timeline:
        """With other data types of these kernels' inputs."""
        raise NoPlace("the profiler does not record data types of kernels")

    def with_more_bytes(self, factor: int) -> Timeline:
        """With a multiple of the bytes in all collectives."""
        raise NoPlace("the profiler does not record bytes")

    def transfers(self) -> Sequence[tuple[Span, int, int]]:
        """The transfers of collectives, with the two ends of the link by their index in the group."""
        raise NoPlace("the profiler does not record links")

    @abstractmethod
    def renamed(self) -> Timeline:
        """With another name of the host, and other paths."""

    @abstractmethod
    def with_other_streams(self) -> Timeline:
        """With other numbers of streams."""

    @abstractmethod
    def with_other_threads(self) -> Timeline:
        """With other numbers of processes and threads."""

    @abstractmethod
    def with_other_links(self) -> Timeline:
        """With other numbers of what links launches and kernels."""

    @abstractmethod
    def reordered(self) -> Timeline:
        """With its rows the other way round."""

    def stretched(self, stretches: Iterable[Stretch]) -> Timeline:
        return self.warped(Warp(stretches))

    def of_kind(self, *kinds: str) -> list[Span]:
        return [span for span in self.spans if span.kind in kinds]

    @property
    def steps(self) -> list[Span]:
        return self.of_kind("step")

    @property
    def step_ns(self) -> int:
        """The sum of all steps."""
        return sum(step.ns for step in self.steps)

    @property
    def main(self) -> str:
        """The thread that runs the steps."""
        return self.steps[0].lane

    def in_steps(self, *kinds: str) -> list[Span]:
        """The spans of these kinds that lie in a step."""
        return [
            span for span in self.of_kind(*kinds)
            if any(step.start <= span.start and span.end <= step.end for step in self.steps)
        ]  # fmt: skip

    def rounded(self, ns: float) -> int:
        return round(ns / self.unit) * self.unit


def key_of(name: str) -> str:
    """What names of the same operator have in common: all but numbers."""
    return re.sub(r"_+$", "", re.sub(r"\d+", "", name))


def cover(spans: Iterable[Span]) -> Callable[[int], bool]:
    """A function that tells whether an instant is inside any of the spans."""
    starts: list[int] = []
    ends: list[int] = []
    for span in sorted(spans, key=lambda span: span.start):
        if starts and span.start < ends[-1]:
            ends[-1] = max(ends[-1], span.end)
        elif span.ns:
            starts.append(span.start)
            ends.append(span.end)

    def covers(at: int) -> bool:
        found = bisect_left(starts, at) - 1
        return found >= 0 and at < ends[found]

    return covers


_KINDS = {"kernel": "kernel", "memcpy": "copy", "memset": "copy", "operator": "op", "cpu_op": "op", "runtime": "call",
          "cuda_runtime": "call", "cuda_driver": "call", "user_annotation": "range",
          "python_function": "python"}  # fmt: skip
_LINKS = ("correlation", "External id", "external id")
_COLLECTIVE = re.compile(r"nccl|gloo:|rccl", re.IGNORECASE)


class Trace(Timeline):
    """A torch trace: its events, and the other keys of its file."""

    def __init__(self, events: Sequence[Event], document: Mapping[str, Any]) -> None:
        self.events = events
        self.document = document
        whole = all(isinstance(event.get(key, 0), int) for event in events for key in ("ts", "dur"))
        self.unit = 1000 if whole else 1
        self._spans = sorted(self._found(), key=lambda span: (span.start, -span.end))

    @classmethod
    def read(cls, path: Path) -> Trace:
        data = path.read_bytes()
        document = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
        return cls(document.pop("traceEvents"), document)

    @property
    def spans(self) -> Sequence[Span]:
        return self._spans

    def cut(self, *steps: int) -> Trace:
        """Only what starts in these neighbouring steps, without what was launched outside of them."""
        names = {f"ProfilerStep#{step}" for step in steps}
        marks = [span for span in self.steps if span.name in names]
        first, last = marks[0].start, marks[-1].end
        inside = [event for event in self.events if "ts" not in event or first <= _ns(event["ts"]) < last]
        links = {_link(event) for event in inside if _kind(event) == "call"}
        kept = [
            event for event in inside
            if event["ph"] in "MX" and (_kind(event) not in DEVICE or _link(event) in links)
            and (_kind(event) != "step" or event["name"] in names)
        ]  # fmt: skip
        return type(self)(kept, self.document)

    def warped(self, warp: Warp) -> Trace:
        return type(self)([self._moved(event, warp) for event in self.events], self.document)

    def divided(self, places: Collection[int], names: tuple[str, str]) -> Trace:
        links = {_link(self.events[place]) for place in places}
        events = []
        for place, event in enumerate(self.events):
            is_call = _kind(event) == "call" and _link(event) in links
            if place not in places and not is_call:
                events.append(event)
                continue
            start, end = _ns(event["ts"]), _ns(event["ts"]) + _ns(event["dur"])
            middle = start + self.rounded((end - start) * 0.6)
            first, second = (event["name"], event["name"]) if is_call else names
            other = event["args"] | {"correlation": int(_link(event)) + (1 << 28)}
            events.append(event | {"name": first} | self._at(start, middle))
            events.append(event | {"name": second, "args": other} | self._at(middle, end))
        return type(self)(events, self.document)

    def repeated(self, start: int, end: int) -> Trace:
        by = self.rounded(end - start)
        warp = Warp([Stretch(end, by)])
        asked = {span.place: span.start if span.asked is None else span.asked for span in self.spans}
        events = []
        for place, old in enumerate(self.events):
            event = self._moved(old, warp)
            at = asked.get(place)
            if at is None or _kind(old) not in DEVICE:
                events.append(event)
            else:  # a task is as long after its launch as before
                moved = _ns(old["ts"]) + (by if at >= end else 0)
                events.append(old | self._at(moved, moved + _ns(old["dur"])))
            if at is None or not start <= at < end:
                continue
            again = _ns(old["ts"]) + by
            if _kind(old) in DEVICE or again + _ns(old["dur"]) <= end + by:
                links = {key: (1 << 28) + old["args"][key] for key in _LINKS if key in old.get("args", {})}
                args = {"args": old["args"] | links} if links else {}
                events.append(old | args | self._at(again, again + _ns(old["dur"])))
        return type(self)(events, self.document)

    def edited(self, edit: Callable[[int, Event], Event]) -> Trace:
        """With each event as a function of its index and itself gives it."""
        return type(self)([edit(place, event) for place, event in enumerate(self.events)], self.document)

    def with_launches(self, launches: Sequence[Launch]) -> Trace:
        step = self.events[self.steps[0].place]
        on_host = {"ph": "X", "pid": step["pid"], "tid": step["tid"]}
        old = any(event.get("cat") == "Kernel" for event in self.events)
        kernels = self.of_kind("kernel")
        device = self.events[kernels[0].place] if kernels else None
        added: list[Event] = []
        for number, launch in enumerate(launches, 1 << 28):
            args = {"External id": number, **({"Input Dims": json.loads(launch.shapes)} if launch.shapes else {})}
            cat = "Operator" if old else "cpu_op"
            added.append(on_host | {"cat": cat, "name": launch.op, "args": args} | self._at(*launch.host))
            if device is None:
                continue
            call = {"cat": "Runtime" if old else "cuda_runtime", "name": "cudaLaunchKernel"}
            args = {"correlation": number, "external id" if old else "External id": number}
            added.append(on_host | call | {"args": args} | self._at(*launch.call))
            kernel = device | {"name": launch.kernel, "args": device["args"] | args}
            if launch.apart:
                kernel |= {"tid": "stream 77" if old else 77, "args": kernel["args"] | {"stream": 77}}
            added.append(kernel | self._at(*launch.device))
        return type(self)([*self.events, *added], self.document)

    def with_larger_inputs(self, places: Collection[int], factor: int) -> Trace:
        launched = {self._external_id(self.events[place]) for place in places}

        def larger(place: int, event: Event) -> Event:
            args = event.get("args", {})
            if _kind(event) != "op" or self._external_id(event) not in launched:
                return event
            dims = [[one[0] * factor, *one[1:]] if one else one for one in args.get("Input Dims", [])]
            return event | {"args": args | {"Input Dims": dims}}

        return self.edited(larger)

    @staticmethod
    def _external_id(event: Event) -> object:
        args = event.get("args", {})
        return args.get("External id", args.get("external id"))

    def with_call(self, name: str, start: int, end: int) -> Trace:
        step = self.events[self.steps[0].place]
        old = any(event.get("cat") == "Kernel" for event in self.events)
        call = {"ph": "X", "cat": "Runtime" if old else "cuda_runtime", "name": name, "pid": step["pid"],
                "tid": step["tid"], "args": {"correlation": 1 << 29}}  # fmt: skip
        return type(self)([*self.events, call | self._at(start, end)], self.document)

    def renamed(self) -> Trace:
        document = {**self.document, "host_name": "elsewhere", "traceName": "/opt/elsewhere/trace.json"}
        return type(self)(self.events, document)

    def with_other_streams(self) -> Trace:
        def other(place: int, event: Event) -> Event:
            args = event.get("args")
            if not isinstance(args, dict) or "stream" not in args:
                return event
            tid = f"stream {args['stream'] + 100}" if "stream" in str(event["tid"]) else args["stream"] + 100
            return event | {"tid": tid, "args": args | {"stream": args["stream"] + 100}}

        return self.edited(other)

    def with_other_threads(self) -> Trace:
        def other(place: int, event: Event) -> Event:
            found: Event = {}
            for key in ("pid", "tid"):
                value = event.get(key)
                if isinstance(value, int) and value > 1000:
                    found[key] = value + 1000
                elif isinstance(value, str) and value.isdigit() and int(value) > 1000:
                    found[key] = str(int(value) + 1000)
            return event | found

        return self.edited(other)

    def with_other_links(self) -> Trace:
        def other(place: int, event: Event) -> Event:
            args = event.get("args")
            found: Event = {}
            if isinstance(args, dict):
                keys = [key for key in ("correlation", "External id", "external id") if isinstance(args.get(key), int)]
                found["args"] = args | {key: args[key] + 10_000_000 for key in keys}
            if event.get("ph") in ("s", "f") and event.get("cat") in ("async", "ac2g") and isinstance(event["id"], int):
                found["id"] = event["id"] + 10_000_000
            return event | found

        return self.edited(other)

    def reordered(self) -> Trace:
        return type(self)(list(reversed(self.events)), self.document)

    def write(self, folder: Path, rank: int = 0) -> Path:
        path = folder / f"rank{rank}.1700000000000.pt.trace.json"
        path.write_text(json.dumps({**self.document, "traceEvents": self.events}))
        return path

    def _moved(self, event: Event, warp: Warp) -> Event:
        if "ts" not in event or event["ph"] == "M":
            return event
        start = _ns(event["ts"])
        if "dur" not in event:
            return event | {"ts": self._us(warp.start(start))}
        return event | self._at(*warp.span(start, start + _ns(event["dur"])))

    def _at(self, start: int, end: int) -> Event:
        return {"ts": self._us(start), "dur": self._us(end - start)}

    def _us(self, ns: int) -> float:
        return ns // 1000 if self.unit == 1000 else ns / 1000

    def _found(self) -> Iterable[Span]:
        calls = {_link(event): _ns(event["ts"]) for event in self.events if _kind(event) == "call"}
        shapes = {
            event["args"].get("External id"): json.dumps(event["args"].get("Input Dims", []))
            for event in self.events if _kind(event) == "op"
        }  # fmt: skip
        for place, event in enumerate(self.events):
            kind = _kind(event)
            if kind is None:
                continue
            args = event.get("args", {})
            link = _link(event)
            start = _ns(event["ts"])
            yield Span(
                kind, event["name"], start, start + _ns(event["dur"]), f"{event['pid']}/{event['tid']}", place, link,
                shapes.get(args.get("External id", args.get("external id")), ""),
                calls.get(link) if kind in DEVICE else None,
            )  # fmt: skip


def _ns(us: float) -> int:
    return round(us * 1000)


def _link(event: Event) -> str:
    return str(event.get("args", {}).get("correlation", ""))


def _kind(event: Event) -> str | None:
    if event.get("ph") != "X":
        return None
    kind = _KINDS.get(str(event.get("cat")).lower().removeprefix("gpu_"))
    if str(event["cat"]).startswith("gpu_user"):
        return None
    if event["name"].startswith("ProfilerStep#"):
        return "step"
    if kind in ("kernel", "range") and _COLLECTIVE.search(event["name"]):
        return "comm" if kind == "kernel" or event["name"].startswith("gloo:") else "op"
    return kind


_SPANS = {"TASK": "startNs endNs", "CANN_API": "startNs endNs", "PYTORCH_API": "startNs endNs",
          "COMMUNICATION_OP": "startNs endNs", "STEP_TIME": "startNs endNs", "GC_RECORD": "startNs endNs",
          "SESSION_TIME_INFO": "startTimeNs endTimeNs"}  # fmt: skip
_INSTANTS = {"NPU_MEM": "timestampNs", "HBM": "timestampNs", "LLC": "timestampNs", "ACC_PMU": "timestampNs",
             "SOC_BANDWIDTH_LEVEL": "timestampNs", "AICORE_FREQ": "timestampNs", "NPU_MODULE_MEM": "timestampNs",
             "NPU_OP_MEM": "timestampNs", "MEMORY_RECORD": "timestamp",
             "OP_MEMORY": "allocationTime releaseTime activeReleaseTime"}  # fmt: skip

_SPAN_QUERY = """
WITH asked AS (
    SELECT connectionId, min(ns) AS ns FROM (
        SELECT connectionId, startNs AS ns FROM CANN_API
        UNION ALL
        SELECT c.connectionId, CAST(a.startNs AS INTEGER)
        FROM PYTORCH_API AS a JOIN CONNECTION_IDS AS c ON c.id = a.connectionId
        WHERE a.type = 50001
    ) GROUP BY connectionId
)
SELECT CASE WHEN k.globalTaskId IS NOT NULL THEN 'kernel' WHEN n.value = 'MEMCPY_ASYNC' THEN 'copy' ELSE 'task' END,
       coalesce(s.value, n.value), t.startNs, t.endNs, 'stream ' || t.streamId, t.rowid, CAST(t.connectionId AS TEXT),
       coalesce(i.value, ''), a.ns
FROM TASK AS t JOIN STRING_IDS AS n ON n.id = t.taskType
LEFT JOIN COMPUTE_TASK_INFO AS k ON k.globalTaskId = t.globalTaskId LEFT JOIN STRING_IDS AS s ON s.id = k.opType
LEFT JOIN STRING_IDS AS i ON i.id = k.inputShapes LEFT JOIN asked AS a ON a.connectionId = t.connectionId
UNION ALL
SELECT 'comm', s.value, startNs, endNs, 'comm', o.rowid, CAST(connectionId AS TEXT), '', NULL
FROM COMMUNICATION_OP AS o JOIN STRING_IDS AS s ON s.id = o.opName
UNION ALL
SELECT CASE WHEN s.value LIKE 'ProfilerStep#%' THEN 'step' WHEN a.type = 50001 THEN 'op'
            WHEN a.type = 50003 THEN 'python' ELSE 'call' END,
       s.value, CAST(a.startNs AS INTEGER), CAST(a.endNs AS INTEGER), CAST(globalTid AS TEXT), a.rowid, '', '', NULL
FROM PYTORCH_API AS a JOIN STRING_IDS AS s ON s.id = a.name
UNION ALL
SELECT 'call', s.value, startNs, endNs, CAST(globalTid AS TEXT), a.rowid, CAST(connectionId AS TEXT), '', NULL
FROM CANN_API AS a JOIN STRING_IDS AS s ON s.id = a.name
"""


class AscendDb(Timeline):
    """An open copy of ``ascend_pytorch_profiler_*.db``."""

    malloc = "aclrtMalloc"
    synchronise = "aclrtSynchronizeDevice"

    def __init__(self, con: sqlite3.Connection) -> None:
        self.con = con
        found = [Span(*row) for row in con.execute(_SPAN_QUERY)]
        self._spans = sorted(found, key=lambda span: (span.start, -span.end))

    @classmethod
    def read(cls, path: Path) -> AscendDb:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as con:
            return cls(_copied(con))

    @property
    def spans(self) -> Sequence[Span]:
        return self._spans

    def edited(self, *statements: str) -> AscendDb:
        """After some statements of SQL."""
        con = _copied(self.con)
        for statement in statements:
            con.execute(statement)
        return AscendDb(con)

    def warped(self, warp: Warp) -> AscendDb:
        con = _copied(self.con)
        con.create_function("warp_start", 1, lambda at: None if at is None else warp.start(int(at)))
        con.create_function(
            "warp_end", 2, lambda start, end: None if end is None else warp.span(int(start), int(end))[1]
        )
        tables = {name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table, columns in _SPANS.items():
            if table in tables:
                start, end = columns.split()
                con.execute(f"UPDATE {table} SET {start} = warp_start({start}), {end} = warp_end({start}, {end})")
        for table, columns in _INSTANTS.items():
            for column in columns.split() if table in tables else ():
                con.execute(f"UPDATE {table} SET {column} = warp_start({column})")
        return AscendDb(con)

    def divided(self, places: Collection[int], names: tuple[str, str]) -> AscendDb:
        con = _copied(self.con)
        first, second = (_text(con, name) for name in names)
        for number, place in enumerate(places, 1 << 28):
            task, start, end = con.execute(
                "SELECT globalTaskId, startNs, endNs FROM TASK WHERE rowid = ?", (place,)
            ).fetchone()
            middle = start + (end - start) * 3 // 5
            con.execute("UPDATE TASK SET endNs = ? WHERE rowid = ?", (middle, place))
            con.execute(
                "INSERT INTO TASK SELECT ?, ?, deviceId, connectionId, ?, globalPid, taskType, contextId, streamId,"
                " ?, modelId FROM TASK WHERE rowid = ?",
                (middle, end, number, number % (1 << 28), place),
            )
            con.execute(
                "INSERT INTO COMPUTE_TASK_INFO SELECT ?, ?, blockDim, mixBlockDim, taskType, ?, inputFormats,"
                " inputDataTypes, inputShapes, outputFormats, outputDataTypes, outputShapes, attrInfo"
                " FROM COMPUTE_TASK_INFO WHERE globalTaskId = ?",
                (second, number, second, task),
            )
            con.execute(
                "UPDATE COMPUTE_TASK_INFO SET name = ?, opType = ? WHERE globalTaskId = ?", (first, first, task)
            )
        return AscendDb(con)

    def with_launches(self, launches: Sequence[Launch]) -> AscendDb:
        con = _copied(self.con)
        for number, launch in enumerate(launches, 1 << 28):
            like = max(
                (span for span in self.of_kind("kernel") if key_of(span.name) == key_of(launch.kernel)),
                key=lambda span: span.ns, default=self.of_kind("kernel")[0],
            )  # fmt: skip
            stream = "777" if launch.apart else "streamId"
            con.execute(
                f"INSERT INTO TASK SELECT ?, ?, deviceId, ?, ?, globalPid, taskType, contextId, {stream}, ?, modelId"
                " FROM TASK WHERE rowid = ?",
                (*launch.device, number, number, number % (1 << 28), like.place),
            )
            name = _text(con, launch.kernel)
            con.execute(
                "INSERT INTO COMPUTE_TASK_INFO SELECT ?, ?, blockDim, mixBlockDim, taskType, ?, inputFormats,"
                " inputDataTypes, coalesce((SELECT id FROM STRING_IDS WHERE value = ?), inputShapes), outputFormats,"
                " outputDataTypes, outputShapes, attrInfo FROM COMPUTE_TASK_INFO WHERE globalTaskId ="
                " (SELECT globalTaskId FROM TASK WHERE rowid = ?)",
                (name, number, name, launch.shapes, like.place),
            )
            con.execute(
                "INSERT INTO CANN_API VALUES (?, ?, 10000, ?, ?, ?)",
                (*launch.call, int(self.main), number, _text(con, "launch")),
            )
            con.execute(
                "INSERT INTO PYTORCH_API (startNs, endNs, globalTid, connectionId, name, type)"
                " VALUES (?, ?, ?, ?, ?, 50001)",
                (*(str(at) for at in launch.host), int(self.main), number, _text(con, launch.op)),
            )
            con.execute("INSERT INTO CONNECTION_IDS VALUES (?, ?)", (number, number))
        return AscendDb(con)

    def with_larger_inputs(self, places: Collection[int], factor: int) -> AscendDb:
        con = _copied(self.con)
        for place in places:
            task, shapes = con.execute(
                "SELECT globalTaskId, value FROM TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId)"
                " JOIN STRING_IDS ON id = inputShapes WHERE TASK.rowid = ?",
                (place,),
            ).fetchone()
            larger = re.sub(r"(^\W*|;)(\d+)", lambda found: f"{found[1]}{int(found[2]) * factor}", shapes)
            con.execute(
                "UPDATE COMPUTE_TASK_INFO SET inputShapes = ? WHERE globalTaskId = ?", (_text(con, larger), task)
            )
        return AscendDb(con)

    def with_core(self, places: Collection[int], core: str) -> AscendDb:
        return self._with_text(places, "taskType", core)

    def with_data_types(self, places: Collection[int], data_types: str) -> AscendDb:
        return self._with_text(places, "inputDataTypes", data_types)

    def _with_text(self, places: Collection[int], column: str, text: str) -> AscendDb:
        """With another text in a column of COMPUTE_TASK_INFO."""
        con = _copied(self.con)
        rows = ", ".join(str(place) for place in places)
        con.execute(
            f"UPDATE COMPUTE_TASK_INFO SET {column} = ? WHERE globalTaskId IN"
            f" (SELECT globalTaskId FROM TASK WHERE rowid IN ({rows}))",
            (_text(con, text),),
        )
        return AscendDb(con)

    def with_more_bytes(self, factor: int) -> AscendDb:
        return self.edited(
            f"UPDATE COMMUNICATION_TASK_INFO SET size = size * {factor}",
            f"UPDATE COMMUNICATION_OP SET count = count * {factor}",
        )

    def transfers(self) -> Sequence[tuple[Span, int, int]]:
        found = self.con.execute(
            "SELECT TASK.rowid, srcRank, dstRank FROM COMMUNICATION_TASK_INFO JOIN TASK USING (globalTaskId)"
            " WHERE size > 0 AND srcRank <> dstRank AND dstRank < 4294967295"
        )
        of_place = {span.place: span for span in self.of_kind("task", "copy", "kernel")}
        return [(of_place[place], source, target) for place, source, target in found if place in of_place]

    def with_clock(self, factor: float) -> AscendDb:
        return self.edited(f"UPDATE AICORE_FREQ SET freq = CAST(round(freq * {factor}) AS INTEGER)")

    def renamed(self) -> AscendDb:
        return self.edited(
            "UPDATE HOST_INFO SET hostName = 'elsewhere', hostUid = '1'",
            "UPDATE STRING_IDS SET value = '/opt/elsewhere/' || value WHERE value LIKE '/%'",
        )

    def with_other_streams(self) -> AscendDb:
        return self.edited("UPDATE TASK SET streamId = streamId + 100")

    def with_other_threads(self) -> AscendDb:
        moved = [f"UPDATE {table} SET globalTid = globalTid + (4096 << 32)" for table in ("CANN_API", "PYTORCH_API")]
        moved.append("UPDATE PYTORCH_API SET fwdThreadId = fwdThreadId + (4096 << 32)")
        return self.edited(*moved, "UPDATE TASK SET globalPid = globalPid + 4096")

    def with_other_links(self) -> AscendDb:
        tables = ("CANN_API", "TASK", "COMMUNICATION_OP", "CONNECTION_IDS")
        return self.edited(*(f"UPDATE {table} SET connectionId = connectionId + 1000000" for table in tables))

    def reordered(self) -> AscendDb:
        statements = []
        for table in ("TASK", "PYTORCH_API", "CANN_API", "COMMUNICATION_OP", "COMPUTE_TASK_INFO", "CONNECTION_IDS"):
            statements += [
                f"CREATE TEMP TABLE kept AS SELECT * FROM {table} ORDER BY rowid DESC",
                f"DELETE FROM {table}",
                f"INSERT INTO {table} SELECT * FROM kept",
                "DROP TABLE kept",
            ]
        return self.edited(*statements)

    def with_call(self, name: str, start: int, end: int) -> AscendDb:
        con = _copied(self.con)
        con.execute(
            "INSERT INTO CANN_API SELECT ?, ?, 20000, ?, max(connectionId) + 1, ? FROM CANN_API",
            (start, end, int(self.main), _text(con, name)),
        )
        return AscendDb(con)

    def with_collection(self, start: int, end: int) -> AscendDb:
        con = _copied(self.con)
        con.execute("CREATE TABLE IF NOT EXISTS GC_RECORD (startNs INTEGER, endNs INTEGER, globalTid INTEGER)")
        con.execute("INSERT INTO GC_RECORD VALUES (?, ?, ?)", (start, end, int(self.main)))
        return AscendDb(con)

    def write(self, folder: Path, rank: int = 0) -> Path:
        output = folder / f"rank{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        output.mkdir(parents=True)
        self.con.commit()
        with sqlite3.connect(output / f"ascend_pytorch_profiler_{rank}.db") as target:
            self.con.backup(target)
        info = {"config": {"experimental_config": {"_profiler_level": "Level1"}}, "rank_id": rank}
        (output.parent / f"profiler_info_{rank}.json").write_text(json.dumps(info))
        return output.parent


def _copied(con: sqlite3.Connection) -> sqlite3.Connection:
    con.commit()
    copy = sqlite3.connect(":memory:")
    con.backup(copy)
    return copy


def _text(con: sqlite3.Connection, text: str) -> int:
    """The id of a text, which is added if it is new."""
    found = con.execute("SELECT id FROM STRING_IDS WHERE value = ?", (text,)).fetchone()
    if found is None:
        found = con.execute("SELECT max(id) + 1 FROM STRING_IDS").fetchone()
        con.execute("INSERT INTO STRING_IDS VALUES (?, ?)", (found[0], text))
    return int(found[0])
