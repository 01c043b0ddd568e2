"""Text profiles of Ascend NPUs (``trace_view.json``, ``kernel_details.csv``, …) as timelines."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from tests.inject.timelines import DEVICE, Event, Launch, Span, Timeline, Warp

Row = Mapping[str, str]

_START, _LENGTH = "Start Time(us)", "Duration(us)"
_COLLECTIVES = ("HCCL", "COMMUNICATION")
_COPIES = ("MEMCPY_ASYNC", "MEMCPY", "PCIE_DMA_SQE", "SDMA_SQE")
_KEPT = ("profiler_metadata.json", "profiler_info_*.json", "ASCEND_PROFILER_OUTPUT/communication_matrix.json")
_OUTPUT = "ASCEND_PROFILER_OUTPUT"


class AscendText(Timeline):
    """A folder ``*_ascend_pt`` of text files.

    Files that only repeat or sum up what the others hold are left out: they would contradict the edited ones.
    """

    malloc = "aclrtMalloc"
    synchronise = "aclrtSynchronizeDevice"

    def __init__(
        self,
        events: Sequence[Event],
        kernels: Sequence[Row],
        files: Mapping[str, bytes],
        communication: Mapping[str, object] | None,
    ) -> None:
        """``events``: those of the trace; ``kernels``: rows of kernel_details.csv; ``files``: others, by their path."""
        self.events = events
        self.kernels = kernels
        self.files = files
        self.communication = communication
        self._names = {
            event["pid"]: event["args"]["name"] for event in events if event.get("name") == "process_name"
        }  # fmt: skip
        self._threads = {
            (event["pid"], event["tid"]): event["args"]["name"]
            for event in events if event.get("name") == "thread_name"
        }  # fmt: skip
        self._rows = {_ns(row[_START]): place for place, row in enumerate(kernels) if not _is_collective(row)}
        self._spans = sorted(self._found(), key=lambda span: (span.start, -span.end))

    @classmethod
    def read(cls, folder: Path) -> AscendText:
        output = folder / _OUTPUT
        with (output / "kernel_details.csv").open(newline="", encoding="utf-8") as file:
            kernels = list(csv.DictReader(file))
        files = {
            str(path.relative_to(folder)): path.read_bytes() for pattern in _KEPT for path in folder.glob(pattern)
        }  # fmt: skip
        trace, communication = output / "trace_view.json", output / "communication.json"
        events = json.loads(trace.read_bytes()) if trace.exists() else []
        return cls(events, kernels, files, json.loads(communication.read_bytes()) if communication.exists() else None)

    @property
    def spans(self) -> Sequence[Span]:
        return self._spans

    def warped(self, warp: Warp) -> AscendText:
        kernels = []
        for row in self.kernels:
            start = _ns(row[_START])
            moved = warp.span(start, start + _ns(row[_LENGTH]))
            kernels.append({**row, _START: _us(moved[0]) + "\t", _LENGTH: _us(moved[1] - moved[0])})
        communication = None
        if self.communication is not None:
            communication = json.loads(json.dumps(self.communication), parse_float=Decimal)
            for step in communication.values():
                for operators in step.values():
                    for name, found in operators.items():
                        _move_report(found["Communication Time Info"], warp, is_sum=name.startswith("Total"))
            communication = json.loads(json.dumps(communication, default=float))
        return AscendText([_moved(event, warp) for event in self.events], kernels, self.files, communication)

    def divided(self, places: Collection[int], names: tuple[str, str]) -> AscendText:
        events, kernels = list(self.events), list(self.kernels)
        for number, place in enumerate(places, 1 << 28):
            event, row = self.events[place], kernels[self._row(place)]
            start, end = _span(event)
            middle = start + (end - start) * 3 // 5
            other = event["args"] | {"Task Id": number % (1 << 16)}
            events[place] = event | {"name": names[0]} | _at(start, middle)
            events.append(event | {"name": names[1], "args": other} | _at(middle, end))
            where = (event["pid"], event["tid"], start)
            events += [
                flow | {"ts": _us(middle)} for flow in self.events
                if flow["ph"] == "f" and (flow["pid"], flow["tid"], _ns(flow["ts"])) == where
            ]  # fmt: skip
            kernels[self._row(place)] = _kernel(row, names[0], start, middle)
            kernels.append(_kernel(row, names[1], middle, end) | {"Task ID": str(number % (1 << 16))})
        return self._with(events, kernels)

    def with_launches(self, launches: Sequence[Launch]) -> AscendText:
        events, kernels = list(self.events), list(self.kernels)
        host, cann = self._pid("Python"), self._pid("CANN")
        longest: dict[str, Span] = {}
        for span in self.of_kind("kernel"):
            if span.name not in longest or span.ns > longest[span.name].ns:
                longest[span.name] = span
        default = self.of_kind("kernel")[0]
        for number, launch in enumerate(launches, 1 << 28):
            like = longest.get(launch.kernel, default)
            thread = int(self.main)
            device = self.events[like.place]
            tid = 777 if launch.apart else device["tid"]
            args = device["args"] | {"Task Id": number, "connection_id": number}
            args |= {"Physic Stream Id": tid} if launch.apart else {}
            flow = {"name": f"HostToDevice{number}", "cat": "HostToDevice", "id": str(number)}
            here = {"pid": device["pid"], "tid": tid, "ts": _us(launch.device[0])}
            events += [
                {"ph": "X", "name": launch.op, "pid": host, "tid": thread, "cat": "cpu_op",
                 "args": {"Sequence number": -1, "Fwd thread id": 0}} | _at(*launch.host),
                {"ph": "X", "name": "Node@launch", "pid": cann, "tid": thread, "args": {
                    "Thread Id": thread, "Mode": "launch", "level": "node", "id": "launch", "item_id": "0",
                    "connection_id": number}} | _at(*launch.call),
                device | {"name": launch.kernel, "tid": tid, "args": args} | _at(*launch.device),
                flow | {"ph": "s", "pid": cann, "tid": thread, "ts": _us(launch.call[0])},
                flow | {"ph": "f", "bp": "e"} | here,
                {"ph": "s", "name": "torch_to_npu", "cat": "async_npu", "id": number, "bp": "e", "pid": host,
                 "tid": thread, "ts": _us(launch.host[0])},
                {"ph": "f", "name": "torch_to_npu", "cat": "async_npu", "id": number, "bp": "e"} | here,
            ]  # fmt: skip
            row = _kernel(self.kernels[self._row(like.place)], launch.kernel, *launch.device)
            row |= {"Task ID": str(number), "Stream ID": str(tid)}
            if launch.shapes and not launch.shapes.startswith("["):
                row |= {"Input Shapes": launch.shapes}
            kernels.append(row)
        return self._with(events, kernels)

    def with_larger_inputs(self, places: Collection[int], factor: int) -> AscendText:
        def larger(row: Row) -> Row:
            inputs = [one.split(",") for one in row["Input Shapes"].strip('"').split(";")]
            for one in inputs:
                one[0] = str(int(one[0]) * factor) if one[0].isdigit() else one[0]
            return {**row, "Input Shapes": '"' + ";".join(",".join(one) for one in inputs) + '"'}

        return self._with_kernels(places, larger)

    def with_call(self, name: str, start: int, end: int) -> AscendText:
        args = {"Thread Id": int(self.main), "Mode": "ACL_RTS", "level": "acl", "id": name, "item_id": "0",
                "connection_id": 1 << 29}  # fmt: skip
        call = {"ph": "X", "name": f"AscendCL@{name}", "pid": self._pid("CANN"), "tid": int(self.main), "args": args}
        return self._with([*self.events, call | _at(start, end)], self.kernels)

    def with_collection(self, start: int, end: int) -> AscendText:
        gc = {"ph": "X", "name": "GC", "cat": "GC", "pid": self._pid("Python"), "tid": int(self.main), "args": {}}
        return self._with([*self.events, gc | _at(start, end)], self.kernels)

    def with_clock(self, factor: float) -> AscendText:
        def other(event: Event) -> Event:
            if event["ph"] != "C" or not event["name"].startswith("AI Core Freq"):
                return event
            return event | {"args": {"MHz": round(event["args"]["MHz"] * factor)}}

        return self._with_events(other)

    def with_more_bytes(self, factor: int) -> AscendText:
        def other(event: Event) -> Event:
            args = event.get("args", {})
            found = {key: args[key] * factor for key in ("count", "size(Byte)") if isinstance(args.get(key), int)}
            return event | ({"args": args | found} if found else {})

        return self._with_events(other)

    def transfers(self) -> Sequence[tuple[Span, int, int]]:
        found = []
        for span in self.of_kind("task"):
            args = self.events[span.place].get("args", {})
            ends = args.get("src rank"), args.get("dst rank")
            if args.get("size(Byte)") and None not in ends and ends[0] != ends[1] and max(ends) < 4294967295:
                found.append((span, *ends))
        return found

    def with_core(self, places: Collection[int], core: str) -> AscendText:
        return self._with_kernels(places, lambda row: {**row, "Accelerator Core": core})

    def with_data_types(self, places: Collection[int], data_types: str) -> AscendText:
        return self._with_kernels(places, lambda row: {**row, "Input Data Types": data_types})

    def renamed(self) -> AscendText:
        def other(event: Event) -> Event:
            args = event.get("args")
            if not isinstance(args, dict) or "Call stack" not in args:
                return event
            return event | {"args": args | {"Call stack": args["Call stack"].replace("/home/", "/opt/elsewhere/")}}

        return self._with_events(other)

    def with_other_streams(self) -> AscendText:
        streams = ("Physic Stream Id", "Stream Id", "stream id")

        def other(event: Event) -> Event:
            args = event.get("args", {})
            found = {key: args[key] + 100 for key in streams if key in args}
            tid = {"tid": event["tid"] + 100} if self._names.get(event["pid"]) == "Ascend Hardware" else {}
            return event | tid | ({"args": args | found} if found else {})

        kernels = [
            {**row, "Stream ID": str(int(row["Stream ID"]) + 100)} if row["Stream ID"].isdigit() else row
            for row in self.kernels
        ]
        return self._with([other(event) for event in self.events], kernels)

    def with_other_threads(self) -> AscendText:
        on_host = {pid for pid, name in self._names.items() if name in ("Python", "CANN", "python3")}

        def other(event: Event) -> Event:
            if event["pid"] not in on_host or not event["tid"]:
                return event
            args = event.get("args", {})
            thread = {"Thread Id": args["Thread Id"] + 4096} if "Thread Id" in args else {}
            return event | {"tid": event["tid"] + 4096} | ({"args": args | thread} if thread else {})

        return self._with_events(other)

    def with_other_links(self) -> AscendText:
        def other(event: Event) -> Event:
            args = event.get("args", {})
            found: Event = {}
            if isinstance(args.get("connection_id"), int):
                found["args"] = args | {"connection_id": args["connection_id"] + 1_000_000}
            if event.get("cat") == "HostToDevice":
                found["id"] = str(int(event["id"]) + 10_000_000)
            return event | found

        return self._with_events(other)

    def reordered(self) -> AscendText:
        return self._with(list(reversed(self.events)), list(reversed(self.kernels)))

    def write(self, folder: Path, rank: int = 0) -> Path:
        profile = folder / f"rank{rank}_ascend_pt"
        output = profile / _OUTPUT
        output.mkdir(parents=True)
        for path, data in self.files.items():
            (profile / path).write_bytes(data)
        if self.events:
            (output / "trace_view.json").write_text(json.dumps(self.events))
        if self.communication is not None:
            (output / "communication.json").write_text(json.dumps(self.communication))
        with (output / "kernel_details.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(self.kernels[0]))
            writer.writeheader()
            writer.writerows(self.kernels)
        return profile

    def _with(self, events: Sequence[Event], kernels: Sequence[Row]) -> AscendText:
        return AscendText(events, kernels, self.files, self.communication)

    def _with_events(self, edit: Callable[[Event], Event]) -> AscendText:
        return self._with([edit(event) for event in self.events], self.kernels)

    def _with_kernels(self, places: Iterable[int], edit: Callable[[Row], Row]) -> AscendText:
        kernels = list(self.kernels)
        for place in places:
            kernels[self._row(place)] = edit(kernels[self._row(place)])
        return self._with(self.events, kernels)

    def _pid(self, name: str) -> int:
        return next(pid for pid, found in self._names.items() if found == name)

    def _row(self, place: int) -> int:
        """The row of kernel_details.csv of an event; places are those of rows if there is no trace."""
        if not self.events:
            return place
        return self._rows[_ns(self.events[place]["ts"])]

    def _found(self) -> Iterator[Span]:
        if not self.events:
            yield from self._found_rows()
            return
        asked: dict[str, int] = {}
        flows: dict[tuple[str, object], int] = {}
        for event in self.events:
            if event["ph"] == "X" and self._names.get(event["pid"]) == "CANN":
                link = str(event["args"].get("connection_id"))
                asked[link] = min(asked.get(link, _ns(event["ts"])), _ns(event["ts"]))
            if event["ph"] == "s":
                flows[event["cat"], event["id"]] = _ns(event["ts"])
        arrived: dict[tuple[int, int, int], int] = {}
        for event in self.events:
            if event["ph"] == "f" and (event["cat"], event["id"]) in flows:
                key = (event["pid"], event["tid"], _ns(event["ts"]))
                at = flows[event["cat"], event["id"]]
                arrived[key] = min(arrived.get(key, at), at)
        for place, event in enumerate(self.events):
            kind, name = self._kind(event)
            if not kind:
                continue
            start, end = _span(event)
            link = str(event["args"].get("connection_id", "")) if "args" in event else ""
            known = [
                at for at in (asked.get(link), arrived.get((event["pid"], event["tid"], start))) if at is not None
            ]  # fmt: skip
            on_device = kind in DEVICE
            launched = min(known, default=None) if on_device else None
            shapes = self.kernels[self._rows[start]]["Input Shapes"] if kind == "kernel" else ""
            lane = f"{event['pid']}/{event['tid']}" if on_device else str(event["tid"])
            yield Span(kind, name, start, end, lane, place, link, shapes, launched)

    def _found_rows(self) -> Iterator[Span]:
        """The kernels and collectives of kernel_details.csv."""
        for place, row in enumerate(self.kernels):
            start = _ns(row[_START])
            kind, name = ("comm", row["Name"]) if _is_collective(row) else ("kernel", row["Type"])
            yield Span(kind, name, start, start + _ns(row[_LENGTH]), kind, place, "", row["Input Shapes"])

    def _kind(self, event: Event) -> tuple[str, str]:
        """The kind of an event, and its name; of others, nothing."""
        if event["ph"] != "X":
            return "", ""
        name, process = event["name"], self._names.get(event["pid"])
        if process == "Python":
            if event["cat"] == "cpu_op":
                return "step" if name.startswith("ProfilerStep#") else "op", name
            return {"python_function": "python", "enqueue": "call", "dequeue": "call"}.get(event["cat"], ""), name
        if process == "CANN":
            return "call", name.partition("@")[2] or name
        if process in ("HCCL", "Communication"):
            thread = self._threads.get((event["pid"], event["tid"]), "")
            if thread.endswith("Communication"):
                return "comm", name
            return "task", "Notify Wait" if name.startswith("Notify") else "SDMA"
        if process == "Ascend Hardware" and "Task Type" in event.get("args", {}):
            row = self._rows.get(_ns(event["ts"]))
            task = event["args"]["Task Type"]
            if row is not None and self.kernels[row]["Name"] == name:
                return "kernel", self.kernels[row]["Type"]
            return ("copy" if name in _COPIES or task in _COPIES else "task"), task
        return ("range", name) if "event_type" in event.get("args", {}) else ("", "")


def _is_collective(row: Row) -> bool:
    return row["Accelerator Core"] in _COLLECTIVES


def _ns(us: object) -> int:
    return round(Decimal(str(us).strip()) * 1000)


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03}"


def _span(event: Event) -> tuple[int, int]:
    start = _ns(event["ts"])
    return start, start + _ns(event["dur"])


def _at(start: int, end: int) -> Event:
    return {"ts": _us(start), "dur": (end - start) / 1000}


def _moved(event: Event, warp: Warp) -> Event:
    if "ts" not in event:
        return event
    if event["ph"] != "X":
        return event | {"ts": _us(warp.start(_ns(event["ts"])))}
    return event | _at(*warp.span(*_span(event)))


def _move_report(found: dict[str, Decimal], warp: Warp, *, is_sum: bool) -> None:
    """Moves what communication.json says of an operator: its start, and its length with that of the transfer."""
    if is_sum or "Start Timestamp(us)" not in found:
        return
    start = _ns(found["Start Timestamp(us)"])
    length = round(found["Elapse Time(ms)"] * 1_000_000)
    moved = warp.span(start, start + length)
    found["Start Timestamp(us)"] = Decimal(moved[0]) / 1000
    found["Elapse Time(ms)"] = Decimal(moved[1] - moved[0]) / 1_000_000


def _kernel(row: Row, name: str, start: int, end: int) -> dict[str, str]:
    times = {_START: _us(start) + "\t", _LENGTH: _us(end - start)}
    return {**row, "Name": name, "Type": name, **times}
