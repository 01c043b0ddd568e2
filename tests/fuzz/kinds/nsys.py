"""Exports of Nsight Systems (SQLite), of an old and a new generation."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.kinds.samples import profile_kind, write_store
from tests.fuzz.mutators import files, sqlite
from tests.sources.nsys_exports import training_step

_MUTATORS = [*sqlite.mutators("*.sqlite"), *files.mutators("*")]


def _write(home: Path) -> None:
    export = training_step("2025", pids=(100, 200))
    export.copy(1, 2_000_000, 100_000, 1 << 20)
    export.write(home / "input" / "report.sqlite")
    write_store(home)


def _write_old(home: Path) -> None:
    training_step("2020").write(home / "input" / "report.sqlite")
    write_store(home)


EXPORT = profile_kind("nsys", _write, _MUTATORS)
OLD = profile_kind("nsys_2020", _write_old, _MUTATORS)
