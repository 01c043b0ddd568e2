"""A recorded profile: what was asked of the profiler, and launches as the device tasks that they would have been.

The device is made up: tasks of a stream follow each other, each at the earliest 2 µs after its launch, and take a time
that depends on their name, or for collectives and copies on their bytes.
"""

from __future__ import annotations

import ast
import csv
from dataclasses import dataclass
from pathlib import Path

STAMP = "20260101000000"
"""msprof puts the time into names of files; ours needs none."""

ACL_API, TASK_TIME, METRICS, L2_CACHE, MSTX, TASK_TIME_LIGHT = 0x1, 0x2, 0x4, 0x10, 0x80, 0x800
"""Of acl_prof.h's data types."""
SYS_IO, SYS_INTERCONNECTION = 5, 6
"""Of acl_prof.h's aclprofConfigType."""

_BYTES = {0: 1, 1: 2, 2: 4, 3: 2, 4: 4, 5: 8, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 2}
DATA_TYPES = {
    "0": "FLOAT", "1": "FLOAT16", "2": "INT8", "3": "INT32", "4": "UINT8", "9": "INT64", "11": "DOUBLE", "12": "BOOL",
    "27": "DT_BF16",
}  # fmt: skip
_BYTES_PER_NS = 20
_COLLECTIVES = {
    "HcclAllReduce": "allReduce", "HcclAllGather": "allGather", "HcclReduceScatter": "reduceScatter",
    "HcclBroadcast": "broadcast", "HcclReduce": "reduce",
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """Work of the device; times in nanoseconds since the epoch.

    Attributes:
        kind: ``op``, ``comm`` or ``copy``.
        api: the call that launched it.
        number: its ordinal among all, which links it to its launch.
        shapes, types: of an operator's tensors, the last of them being its output.
    """

    kind: str
    name: str
    api: str
    number: int
    stream: int
    thread: int
    launch_start: int
    launch_end: int
    start: int
    end: int
    shapes: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    group: str = ""
    count: int = 0
    data_type: int = 0
    ranks: int = 0
    size: int = 0
    copy_kind: int = 0

    @property
    def op_type(self) -> str:
        return self.name if self.kind != "op" else self.api.removeprefix("aclnn")

    @property
    def task_type(self) -> str:
        if self.kind == "op":
            return "AI_CORE" if "Matmul" in self.name or self.name.endswith("Mm") else "AI_VECTOR_CORE"
        return "COMMUNICATION" if self.kind == "comm" else "SDMA_SQE"


@dataclass(frozen=True)
class Mark:
    """An mstx mark (start = end) or range."""

    message: str
    domain: str
    range_id: int
    thread: int
    start: int
    end: int


class Recording:
    """The content of a PROF_ folder.

    Attributes:
        data_types: the mask of what was asked for.
        metrics: the number of the AI Core metrics that were asked for.
        settings: further settings that were asked for, by their number.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.device = int(next(folder.glob("device_*")).name.removeprefix("device_"))
        asked = list(csv.reader((folder / "host" / "asked.tsv").open(), delimiter="\t", quoting=csv.QUOTE_NONE))
        self.data_types = int(next(row[1] for row in asked if row[0] == "data_types"), 16)
        self.metrics = int(next(row[1] for row in asked if row[0] == "aicore_metrics"))
        self.process = int(next(row[1] for row in asked if row[0] == "process"))
        self.settings = {int(row[1]): row[2] for row in asked if row[0] == "config"}
        clocks = ast.literal_eval((folder / "host" / "start_info").read_text())
        microseconds, _, fraction = clocks["collectionTimeBegin"].partition(".")
        self._offset = int(microseconds) * 1_000 + int(fraction) - int(clocks["clockMonotonicRaw"])
        self.tasks: list[Task] = []
        self.marks: list[Mark] = []
        self._busy_until: dict[int, int] = {}
        path = folder / "host" / "launches.tsv"
        for row in csv.reader(path.open(), delimiter="\t", quoting=csv.QUOTE_NONE) if path.is_file() else ():
            self._add(*row)

    def asks(self, data_type: int) -> bool:
        """Whether this data type was asked for."""
        return bool(self.data_types & data_type)

    def _add(self, kind: str, name: str, thread: str, start: str, end: str, stream: str, *rest: str) -> None:
        begun, ended = int(start) + self._offset, int(end) + self._offset
        if kind in ("mark", "range"):
            domain, range_id = rest
            if self.asks(MSTX):
                is_mark = kind == "mark"
                self.marks.append(Mark(name, domain, int(range_id), int(thread), begun, begun if is_mark else ended))
            return
        if not self.asks(TASK_TIME | TASK_TIME_LIGHT):
            return
        number = len(self.tasks) + 1
        details, duration = _details(kind, name, number, rest)
        first = max(self._busy_until.get(int(stream), 0), ended + 2_000)
        self._busy_until[int(stream)] = first + duration
        named = {"name": name, "api": name} | details
        self.tasks.append(
            Task(
                kind=kind,
                number=number,
                stream=int(stream),
                thread=int(thread),
                launch_start=begun,
                launch_end=ended,
                start=first,
                end=first + duration,
                **named,
            )
        )


def _details(kind: str, name: str, number: int, rest: tuple[str, ...]) -> tuple[dict, int]:
    """What is known of a task of this kind, and how long it takes in nanoseconds."""
    if kind == "op":
        shapes, types = (tuple(text.split(";")) if text else () for text in rest)
        op = name.removeprefix("aclnn")
        duration = 2_000 + 100 * (sum(map(ord, name)) % 64)
        return {"name": f"{name}_{op}AiCore_{op}", "shapes": shapes, "types": types}, duration
    if kind == "comm":
        group, count, data_type, ranks = rest
        details = {"group": group, "count": int(count), "data_type": int(data_type), "ranks": int(ranks)}
        details["size"] = int(count) * _BYTES[int(data_type)]
        operator = f"hcom_{_COLLECTIVES[name]}_"
        return details | {"name": f"{operator}_{abs(hash(group)) % 1000:03d}_{number}_1"}, (
            10_000 + details["size"] // _BYTES_PER_NS
        )
    size, copy_kind = map(int, rest)
    return {"name": "MEMCPY_ASYNC", "size": size, "copy_kind": copy_kind}, 1_000 + size // _BYTES_PER_NS
