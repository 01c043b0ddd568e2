"""Lists the captures in Nsight Systems exports without reading their events: one per process that runs kernels.

An export has no ranks, unless MPI was traced. Several processes of one file are then numbered by GPU and process id;
so are the files that nsys writes for Ray's workers (``worker_process_<pid>.<n>`` is verl's name for them). A file of
one process may carry its rank in its name. Such numbering is reported as a finding.

A CUDA graph that was recorded as a whole counts as a kernel. What other processes recorded is left out (launchers,
servers): each process numbers its calls from 1, so that theirs look like the launches of kernels. But if only one
process runs kernels and has no ranges, those of the others count: a driver may mark the steps of its worker. Where no
process runs kernels, those that copy have a capture each.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.content import quietly
from rlcompare.sources.peek import file_kind, quiet_file_kind
from rlcompare.sources.source import RECOVER, Found, Listing, Notes, Problem

EXPORTS = (".sqlite", ".sqlite3", ".db")
REPORTS = (".nsys-rep", ".qdrep")

_CONTEXTS = ("SELECT DISTINCT processId, deviceId FROM TARGET_INFO_CUDA_CONTEXT_INFO",)
_PHYSICAL = "SELECT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE"
_COMPUTING = (
    "SELECT DISTINCT (globalPid >> 24) & 16777215, deviceId FROM CUPTI_ACTIVITY_KIND_KERNEL",
    "SELECT DISTINCT (globalPid >> 24) & 16777215, deviceId FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
)
_COPYING = (
    "SELECT DISTINCT (globalPid >> 24) & 16777215, deviceId FROM CUPTI_ACTIVITY_KIND_MEMCPY",
    "SELECT DISTINCT (globalPid >> 24) & 16777215, deviceId FROM CUPTI_ACTIVITY_KIND_MEMSET",
)
_MARKING = "SELECT DISTINCT (globalTid >> 24) & 16777215, domainId FROM NVTX_EVENTS WHERE eventType IN (59, 60)"
_RANKS = "SELECT DISTINCT (globalTid >> 24) & 16777215, rank FROM MPI_RANKS"
_EPOCH = "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"
_STEPS = (
    "SELECT DISTINCT text FROM NVTX_EVENTS WHERE text LIKE 'ProfilerStep#%'",
    "SELECT value FROM StringIds WHERE value LIKE 'ProfilerStep#%'",
)
_RANK_IN_NAME = re.compile(r"(?:^|[^A-Za-z])rank[-_.]?(\d{1,6})(?!\d)", re.IGNORECASE)
_RAY_WORKER = re.compile(r"worker_process_(\d+)(?:\.\d+)?\.\w+")


def export_command(report: Path) -> str:
    """The command that makes the database of a report."""
    target = report.with_suffix(".sqlite")
    return f"nsys export --type sqlite -o {shlex.quote(str(target))} {shlex.quote(str(report))}"


def unexported(report: Path) -> Problem:
    """The problem of a report that was not exported: only nsys can read NVIDIA's own format."""
    export = report.with_suffix(".sqlite")
    remedy = f"Export it on a machine with nsys: {export_command(report)}"
    if export.is_file() and file_kind(export).kind == "nsys":
        remedy = f"Pass its export: {export}"
    return Problem(report, "it is an Nsight Systems report, which only nsys can read", remedy, "not_exported")


def captures_of_file(path: Path, kind: str) -> Found:
    """The captures of one export; for a report that was not exported, the problem and its remedy."""
    return captures_of_export(path) if kind == "nsys" else Found(problems=[unexported(path)])


def captures_of_export(path: Path) -> Found:
    """The captures of one export, ordered by rank, and findings about them."""
    epochs = [value for (value,) in quietly(path, _EPOCH) if isinstance(value, int) and value > 0]
    started = min(epochs, default=None)
    processes = _processes(path)
    ranks = _ranks(path, [pid for _, pid in processes])
    if not processes:
        return Found([CaptureInput("nsys", path, {"nsys": path}, rank=ranks[0], started_ns=started)])
    is_numbered = len(processes) > 1 and None in ranks
    ranks = list(range(len(processes))) if is_numbered else ranks
    marking = {(pid, domain) for pid, domain in quietly(path, _MARKING) if pid is not None}
    pids = {pid for _, pid in processes}
    is_alone = len(processes) == 1
    # Ranges outside of the default domain, 0, may be a library's (NCCL).
    has_all_ranges = is_alone and not any((pid, domain) in marking for pid in pids for domain in (0, None))
    shared = {"alone": is_alone, "all_ranges": has_all_ranges}
    captures = [
        CaptureInput(
            "nsys", path, {"nsys": path}, rank=rank, started_ns=started, info={"pid": pid, "device": device, **shared}
        )
        for rank, (device, pid) in zip(ranks, processes, strict=True)
    ]
    notes = [(path, _numbered(captures))] if is_numbered else []
    left_out: dict[str, set[int]] = {
        "ranges": set() if has_all_ranges else {pid for pid, _ in marking} - pids,
        "copies": _copying_beside(path, pids),
    }
    if others := set().union(*left_out.values()):
        what = " and ".join(name for name, found in left_out.items() if found)
        message = f"{path.name}: {what} of {len(others)} processes without kernels were left out"
        notes.append((path, Finding("warning", "other_processes", message)))
    return Found(sorted(captures, key=lambda capture: capture.rank or 0), notes)


def steps_of_export(path: Path) -> frozenset[int] | None:
    """The step numbers that an export marks; None if there are none."""
    names = {str(name).removeprefix("ProfilerStep#") for query in _STEPS for (name,) in quietly(path, query)}
    return frozenset(int(name) for name in names if name.isascii() and name.isdecimal() and len(name) <= 12) or None


def captures_in(listing: Listing) -> Found:
    """The captures of all exports in one folder, and the reports that were not exported."""
    folder, names = listing.path, listing.files
    captures: list[CaptureInput] = []
    notes: Notes = []
    problems: list[Problem] = []
    exported = set()
    for name in (name for name in names if name.endswith(EXPORTS)):
        kind = quiet_file_kind(folder / name)
        if kind.kind == "nsys":
            found = captures_of_export(folder / name)
            captures += found.captures
            notes += found.notes
            exported.add(Path(name).stem)
        elif kind.kind == "unknown" and kind.problem and not name.endswith(".db"):
            problems.append(Problem(folder / name, kind.problem, RECOVER, "damaged_db"))
    reports = [Path(name) for name in names if name.endswith(REPORTS)]
    problems += [unexported(folder / report) for report in reports if report.stem not in exported]
    return Found(_of_ray(folder, captures, notes), notes, problems)


def _ranks(path: Path, pids: Sequence[int]) -> list[int | None]:
    """The rank of each process as MPI states it, of one process also as the file's name does; None: unknown.

    Without processes, that of the file.
    """
    stated = {pid: rank for pid, rank in quietly(path, _RANKS) if isinstance(pid, int) and isinstance(rank, int)}
    if len(pids) > 1:
        return [stated.get(pid) for pid in pids]
    ranks = {stated[pid] for pid in pids if pid in stated} or set(stated.values())
    match = _RANK_IN_NAME.search(path.name)
    return [ranks.pop() if len(ranks) == 1 else int(match[1]) if match else None]


def _processes(path: Path) -> list[tuple[int, int]]:
    """GPU and id of each process that runs kernels, in order; without kernels, of those that copy, else that use a GPU.

    Empty if the export does not identify any. Tables are only scanned if their first rows do not name all processes.
    """
    physical = {(pid, device): gpu for pid, device, gpu in quietly(path, _PHYSICAL)}
    listed = _devices(path, _CONTEXTS)
    used = _devices(path, [f"{query} LIMIT 1" for query in _COMPUTING])
    if not used or dict(used).keys() != dict(listed).keys():
        used = _devices(path, _COMPUTING) or _devices(path, _COPYING) or (listed if len(dict(listed)) == 1 else [])
    found: dict[int, int] = {}
    for pid, device in used:
        gpu = physical.get((pid, device))
        number = gpu if isinstance(gpu, int) else device
        found[pid] = min(found.get(pid, number), number)
    return sorted((device, pid) for pid, device in found.items())


def _copying_beside(path: Path, pids: set[int]) -> set[int]:
    """Other processes that copy or set memory. Nothing is scanned if no other process has a context."""
    if pids == dict(_devices(path, _CONTEXTS)).keys():
        return set()
    return dict(_devices(path, _COPYING)).keys() - pids


def _devices(path: Path, queries: Iterable[str]) -> list[tuple[int, int]]:
    """Processes and their devices."""
    rows = [row for query in queries for row in quietly(path, query)]
    return [(pid, device) for pid, device in rows if isinstance(pid, int) and isinstance(device, int)]


def _of_ray(folder: Path, captures: list[CaptureInput], notes: Notes) -> list[CaptureInput]:
    """Numbers Ray's workers. Each worker may have written several files, which then have the same rank."""
    pids = [int(match[1]) for capture in captures if (match := _RAY_WORKER.fullmatch(capture.path.name))]
    if len(set(pids)) < 2 or len(pids) < len(captures) or any(capture.rank is not None for capture in captures):
        return captures
    device = {pid: str(capture.info.get("device", "")).zfill(9) for pid, capture in zip(pids, captures, strict=True)}
    workers = sorted(set(pids), key=lambda pid: (device[pid], pid))
    numbered = [replace(capture, rank=workers.index(pid)) for pid, capture in zip(pids, captures, strict=True)]
    notes.append((folder, _numbered(numbered)))
    return numbered


def _numbered(captures: Sequence[CaptureInput]) -> Finding:
    count = len({capture.rank for capture in captures})
    message = f"Nsight Systems exports do not record ranks: the {count} processes were numbered by GPU and process id"
    return Finding("info", "ranks_numbered", message)
