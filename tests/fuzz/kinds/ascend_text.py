"""Text files of torch_npu: tables, ``communication.json``, ``trace_view.json``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fuzz.kinds.samples import copy_real, profile_kind, write_sample
from tests.fuzz.mutators import files, json_text, table

_MUTATORS = [
    *table.mutators("*.csv"),
    *json_text.mutators("communication*.json"),
    *json_text.mutators("trace_view.json", events=True, prefix="trace"),
    *files.mutators("*.csv"),
    *files.mutators("*", "any"),
]
_CUT_EVENTS = 3000


def _write(home: Path) -> None:
    write_sample(home, "--export", "text")


def _write_real(home: Path) -> None:
    copy_real(home, "ascend-910b-2025-level01/text/level1/rank0_ascend_pt", cut=_cut_trace)


def _cut_trace(folder: Path) -> None:
    """Only some events of the trace: reading all of them takes most of the time of an input."""
    path = next(folder.rglob("trace_view.json"))
    events = json.loads(path.read_bytes())
    named = [event for event in events if event.get("ph") == "M"]
    others = [event for event in events if event.get("ph") != "M"]
    path.write_text(json.dumps(named + others[:_CUT_EVENTS]), encoding="utf-8")


SAMPLE = profile_kind("ascend_text", _write, _MUTATORS)
REAL = profile_kind("ascend_text_real", _write_real, _MUTATORS, "shared")
