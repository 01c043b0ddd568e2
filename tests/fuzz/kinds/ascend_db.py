"""Databases of torch_npu (``ascend_pytorch_profiler_<rank>.db``, ``analysis.db``) and the JSON files beside them."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.kinds.samples import copy_real, profile_kind, write_sample
from tests.fuzz.mutators import files, json_text, sqlite

_MUTATORS = [
    *sqlite.mutators("*.db"),
    *json_text.mutators("profiler_*.json"),
    *files.mutators("*.db"),
    *files.mutators("*", "any"),
]


def _write(home: Path) -> None:
    write_sample(home, "--export", "db")


def _write_ranks(home: Path) -> None:
    write_sample(home, "--export", "db", "--ranks", "2", "--steps", "2", "--schema", "1.2")


def _write_real(home: Path) -> None:
    copy_real(home, "ascend-910b-2025-level01/db/level1/rank0_ascend_pt")


SAMPLE = profile_kind("ascend_db", _write, _MUTATORS)
RANKS = profile_kind("ascend_db_ranks", _write_ranks, _MUTATORS)
REAL = profile_kind("ascend_db_real", _write_real, _MUTATORS, "shared")
