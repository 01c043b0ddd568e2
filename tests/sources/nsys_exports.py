"""Exports of Nsight Systems in the documented schema, of two generations, event by event.

``2020``: texts of NVTX stand in their row, nothing may be NULL (an absent time is -1), nothing tells when the session
began. ``2025``: texts stand behind an id, and tables of contexts, devices and the session are there. In both, a table
appears only when it has rows. Times are nanoseconds since the session began.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.nsys.fill import fill
from tests.sources.text_files import Reading
from tests.stores import to_fill

EPOCH_NS = 1_790_857_026_000_000_000
MACHINE = 0x01AB
HTOD, DTOH = 1, 2
MARK, PUSH_POP, START_END, DOMAIN = 34, 59, 60, 75

_DEVICE = "start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL"
_NEW_NVTX = "jsonTextId INT, binaryData TEXT"
_SCHEMA = {
    "StringIds": "id INTEGER PRIMARY KEY, value TEXT NOT NULL",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_DEVICE}, correlationId INT, globalPid INT, demangledName INT NOT NULL,"
    " shortName INT NOT NULL, gridX INT NOT NULL",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_DEVICE}, correlationId INT, globalPid INT, graphId INT NOT NULL",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_DEVICE}, correlationId INT, globalPid INT, bytes INT NOT NULL,"
    " copyKind INT NOT NULL",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_DEVICE}, correlationId INT, globalPid INT, bytes INT NOT NULL",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INT NOT NULL, end INT NOT NULL, eventClass INT NOT NULL, globalTid INT,"
    " correlationId INT, nameId INT NOT NULL, returnValue INT NOT NULL",
    "NVTX_EVENTS": "start INT NOT NULL, end INT, eventType INT NOT NULL, rangeId INT, text TEXT, globalTid INT,"
    " textId INT, domainId INT, jsonText TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INT, utcTime TEXT, localTime TEXT",
    "TARGET_INFO_SYSTEM_ENV": "globalVid INT, devStateName TEXT, name TEXT, nameEnum INT, value TEXT",
    "TARGET_INFO_GPU": "vmId INT, id INT, name TEXT",
    "TARGET_INFO_CUDA_CONTEXT_INFO": "nullStreamId INT, hwId INT, vmId INT, processId INT, deviceId INT, contextId INT",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INT, cudaId INT, pid INT, uuid TEXT",
    "MPI_RANKS": "globalTid INT, rank INT",
}


def global_id(pid: int, tid: int = 0) -> int:
    """A globalPid, or a globalTid."""
    return (MACHINE << 48) | (pid << 24) | tid


@dataclass
class Export:
    """What one export holds; ``write`` writes it."""

    generation: str = "2025"
    rows: dict[str, list[tuple[object, ...]]] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)
    calls: int = 0

    def _add(self, table: str, *row: object) -> None:
        self.rows.setdefault(table, []).append(row)

    def text(self, value: str) -> int:
        """The id of a text."""
        return self.texts.setdefault(value, len(self.texts) + 1)

    def call(self, start: int, *, pid: int = 100, tid: int = 100, name: str = "cudaLaunchKernel_v7000") -> int:
        """A call of the runtime of one microsecond; returns what its kernels refer to."""
        self.calls += 1
        where = global_id(pid, tid)
        self._add("CUPTI_ACTIVITY_KIND_RUNTIME", start, start + 1000, 0, where, self.calls, self.text(name), 0)
        return self.calls

    def _device(
        self, start: int, length: int, device: int, pid: int, launch: int | None, stream: int
    ) -> tuple[int, ...]:
        correlation = self.call(start - 5000 if launch is None else launch, pid=pid, tid=pid)
        return (start, start + length, device, 1, stream, correlation, global_id(pid))

    def kernel(
        self, name: str, start: int, length: int, *, device: int = 0, pid: int = 100, launch: int | None = None
    ) -> None:
        """A kernel, with its launch (5 µs before, if not told)."""
        place = self._device(start, length, device, pid, launch, 7)
        self._add("CUPTI_ACTIVITY_KIND_KERNEL", *place, self.text(name), self.text(name.split("<")[0]), 1)

    def graph(self, start: int, length: int, *, pid: int = 100) -> None:
        """The replay of a graph, as a whole."""
        self._add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", *self._device(start, length, 0, pid, None, 7), 1)

    def copy(self, kind: int, start: int, length: int, size: int, *, pid: int = 100) -> None:
        """A copy."""
        self._add("CUPTI_ACTIVITY_KIND_MEMCPY", *self._device(start, length, 0, pid, None, 9), size, kind)

    def memset(self, start: int, length: int, size: int) -> None:
        """A memory set."""
        self._add("CUPTI_ACTIVITY_KIND_MEMSET", *self._device(start, length, 0, 100, None, 9), size)

    def nvtx(
        self,
        name: str,
        start: int,
        end: int | None,
        *,
        kind: int = PUSH_POP,
        pid: int = 100,
        tid: int = 0,
        domain: int = 0,
        payload: str | None = None,
    ) -> None:
        """A range, a mark, or the name of a domain, with what `nsys export --include-json` adds to newer exports."""
        old = self.generation == "2020"
        text, text_id = (name, 0) if old else (None, self.text(name))
        end = -1 if old and end is None else end
        self._add("NVTX_EVENTS", start, end, kind, 0, text, global_id(pid, tid or pid), text_id, domain, payload)

    def process(self, pid: int, *, device: int = 0, gpu: int | None = None) -> None:
        """A process with a context on a device; told by newer exports only."""
        if self.generation != "2020":
            self._add("TARGET_INFO_CUDA_CONTEXT_INFO", 7, 0, 0, pid, device, 1)
            self._add("TARGET_INFO_CUDA_DEVICE", device if gpu is None else gpu, device, pid, "GPU-0")

    def mpi_rank(self, pid: int, rank: int) -> None:
        """What MPI says about a process."""
        self._add("MPI_RANKS", global_id(pid, pid), rank)

    def write(self, path: Path, *, without: Sequence[str] = ()) -> Path:
        """Write the database, without some tables."""
        rows: dict[str, list[Any]] = {**self.rows, "StringIds": [(number, text) for text, number in self.texts.items()]}
        if self.generation != "2020":
            rows["TARGET_INFO_SESSION_START_TIME"] = [(EPOCH_NS, "2026-10-01 10:57:06", "2026-10-01 12:57:06")]
        rows["TARGET_INFO_SYSTEM_ENV"] = [
            (0, "Ready", "Hostname", 1, "gpu-node"),
            (0, "Ready", "EnvironmentVariables", 2, "HF_TOKEN=hf_abcdefgh"),
        ]
        rows["TARGET_INFO_GPU"] = [(0, 0, "NVIDIA H100"), (0, 1, "NVIDIA H100")]
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as con:
            for table in (table for table in rows if table not in without):
                columns = _SCHEMA[table]
                if self.generation == "2020":
                    columns = columns.replace("jsonText TEXT", "int32Value INT")
                con.execute(f"CREATE TABLE {table} ({columns})")
                con.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * (columns.count(',') + 1))})", rows[table])
            if self.generation != "2020" and "NVTX_EVENTS" in rows and "NVTX_EVENTS" not in without:
                for column in _NEW_NVTX.split(", "):
                    con.execute(f"ALTER TABLE NVTX_EVENTS ADD COLUMN {column}")
            con.commit()
        return path


def read(path: Path, *, pid: int | None = None) -> Reading:
    """Fill the tables of a fresh connection from one process of an export."""
    con = to_fill()
    con.execute(
        "INSERT INTO capture BY NAME SELECT 0 AS capture, 0 AS ordinal, 'nsys' AS tool, 'nsys' AS source, 'x' AS path,"
        " 'device' AS executor"
    )
    findings: list[Finding] = []
    info: dict[str, object] = {} if pid is None else {"pid": pid}
    fill(con, CaptureInput("nsys", path, {"nsys": path}, info=info), 0, findings.append)
    return Reading(con, findings)


def training_step(generation: str = "2025", *, slower: float = 1.0, pids: Sequence[int] = (100,)) -> Export:
    """Two steps of 10 ms on each process: a rollout of graphs and kernels, an update with an all-reduce of 1 ms."""
    export = Export(generation)
    ms = 1_000_000
    for rank, pid in enumerate(pids):
        export.process(pid, device=rank)
        for step in range(2):
            at = (10 * step + 1) * ms
            export.nvtx(f"ProfilerStep#{step}", at, at + 9 * ms, pid=pid)
            export.nvtx("rollout_generate", at, at + 4 * ms, pid=pid, kind=START_END)
            export.nvtx("actor_update", at + 4 * ms, at + 9 * ms, pid=pid, kind=START_END)
            export.kernel("void attention<bf16>", at + ms, int(2 * ms * slower), device=rank, pid=pid)
            export.kernel("void gemm<bf16>", at + 5 * ms, ms, device=rank, pid=pid)
            nccl = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
            export.kernel(nccl, at + 6 * ms, ms, device=rank, pid=pid)
    return export
