"""Databases of torch_npu (``ascend_pytorch_profiler_<rank>.db``, ``analysis.db``)."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.kind import Kind
from tests.fuzz.kinds.samples import diff_with_store, write_sample
from tests.fuzz.mutators import files


def _write(home: Path) -> None:
    write_sample(home, "--export", "db")


SAMPLE = Kind("ascend_db", _write, [*files.mutators("*.db")], commands=diff_with_store)
