"""The two sources of torch: traces of torch.profiler, and memory snapshots as JSON."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.model.run import CaptureInput, Finding
from rlcompare.resources import resource_root
from rlcompare.sources.content import Content
from rlcompare.sources.env import environment_of_profile, environment_of_trace
from rlcompare.sources.exports import with_exports
from rlcompare.sources.peek import FileKind, file_kind
from rlcompare.sources.source import Found, Listing, Notes, Problem, Source
from rlcompare.sources.torch import memory, trace
from rlcompare.sources.torch.capture import capture_of_trace
from rlcompare.sources.torch.file import steps_of_trace
from rlcompare.sources.torch.memory import capture_of_snapshot
from rlcompare.sources.trace_slice import names_in_trace
from rlcompare.sources.verl.names import FRONT_END
from rlcompare.sources.viewing import first_of

_TRACE_KEYS = (b'"traceEvents"', b'"deviceProperties"', b'"distributedInfo"')


def _recognise_snapshot(content: Content) -> str | None:
    return "torch_memory" if memory.is_snapshot(content.text) else None


_PACKED = re.compile(r"\.(zst|xz|lz4|bz2|zip)")
"""How the names of traces end that were compressed by another program than the profiler."""

_TRACE_NAME = re.compile(r"(trace|rank|worker).*\.json\.\w+$", re.IGNORECASE)
"""What the names of traces have in common; other files are no business of ours."""


def _recognise_trace(content: Content) -> str | None:
    is_trace = content.text[:1] == b"{" and any(key in content.text for key in _TRACE_KEYS)
    return "torch_trace" if is_trace else None


def _snapshot(path: Path, kind: str) -> Found:
    return Found([capture_of_snapshot(path)])


def _trace(path: Path, kind: str) -> Found:
    return Found([capture_of_trace(path)])


def _loose_captures(listing: Listing) -> Found:
    """The traces and snapshots in a folder, by content, whatever their names.

    Exports belong to a trace only if it is the only one: with several traces, their owner is unknown.
    """
    captures: list[CaptureInput] = []
    notes: Notes = []
    problems: list[Problem] = []
    for path in (listing.path / name for name in listing.files if ".json" in name.lower()):
        if (packed := _PACKED.fullmatch(path.suffix.lower())) and _TRACE_NAME.search(path.name):
            problems.append(
                Problem(path, f"it is compressed ({packed[1]}), which is not read", "Unpack it, or use gzip")
            )
            continue
        if not path.name.lower().endswith((".json", ".json.gz")):
            continue
        if FRONT_END.fullmatch(path.name):
            message = "traces of vLLM's front end (*.async_llm.*) were left out, as it uses no device"
            notes.append((path, Finding("info", "front_end", message)))
            continue
        try:
            kind = file_kind(path)
            if kind.kind == "torch_trace":
                captures.append(capture_of_trace(path))
                continue
        except OSError as error:
            kind = FileKind("unknown", error.strerror or "it cannot be opened")
        except InputError as error:
            problems.append(Problem(error.path, error.problem, error.remedy))
            continue
        if kind.kind == "torch_memory":
            captures.append(capture_of_snapshot(path))
        elif kind.problem and ".trace.json" in path.name and os.path.lexists(path):
            problems.append(Problem(path, kind.problem, "Copy it again, or export the trace again"))
    if len(captures) == 1 and "trace" in captures[0].files:
        captures = [with_exports(captures[0], [listing.path], notes)]
    return Found(captures, notes, problems)


def _steps(capture: CaptureInput) -> frozenset[int] | None:
    steps = steps_of_trace(capture.files["trace"])
    if capture.step is not None and capture.step_hint not in (steps or ()):
        return None  # its marks are parts of the one step given by its name or path
    return steps


def _ranges(capture: CaptureInput, names: Collection[str]) -> frozenset[str]:
    return names_in_trace(capture.files["trace"], names)


def _environment_of_snapshot(capture: CaptureInput) -> Mapping[str, str]:
    return environment_of_profile(capture.info, capture.metadata)


def _environment_of_trace(capture: CaptureInput) -> Mapping[str, str]:
    return environment_of_trace(capture.info)


def _perfetto(paths: Sequence[Path]) -> list[str]:
    return [f"Perfetto (ui.perfetto.dev) or chrome://tracing: open {first_of(paths)}"]


MEMORY = Source(
    name="torch_memory",
    tool="torch_memory",
    sql=resource_root("sql") / "sources" / "torch_memory",
    recognise=_recognise_snapshot,
    captures=_snapshot,
    fill=memory.fill,
    environment=_environment_of_snapshot,
)

# Inspects folders for both sources, because exports belong to a trace only if it is the only capture.
TRACE = Source(
    name="torch_trace",
    tool="torch",
    sql=resource_root("sql") / "sources" / "torch_trace",
    recognise=_recognise_trace,
    captures=_trace,
    fill=trace.fill,
    loose_files=_loose_captures,
    steps=_steps,
    ranges=_ranges,
    environment=_environment_of_trace,
    viewer=_perfetto,
)
