"""A ``save_path`` of verl: many captures in folders by role and step, of which files are lost, renamed or damaged."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.kinds.samples import profile_kind, write_store
from tests.fuzz.mutators import files, json_text, sqlite
from tests.verl_profiles import VerlJob, write_verl


def _write(home: Path) -> None:
    write_verl(VerlJob("0.7.1", mode="discrete", steps=(2,), ranks=(0,)), home / "input")
    write_store(home)


_MUTATORS = [*files.mutators("*", "any"), *json_text.mutators("profiler_*.json"), *sqlite.mutators("*.db")]

FOLDERS = profile_kind("verl_folders", _write, _MUTATORS)
