"""Small written profiles as sound inputs, with a store of them as the baseline, so that only the mutant is read."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from tests.conftest import shared_folder
from tests.fuzz.forked import run_forked
from tests.fuzz.kind import Kind, Mutator, Places

SMALL = ("--steps", "2,3", "--layers", "1", "--decode-steps", "1", "--ranks", "1",
         "--phases", "generate_sequences,update_actor")  # fmt: skip
STORE = "sound.duckdb"


def run_or_fail(home: Path, *arguments: object) -> None:
    """Run a command line that prepares a sound input."""
    scratch = home / "preparing"
    scratch.mkdir(exist_ok=True)
    words = [str(argument) for argument in arguments]
    outcome = run_forked(words, Places(home, home / "input", scratch / "out"), scratch)
    assert outcome.code == 0, outcome.err


def write_sample(home: Path, *options: str) -> None:
    """A small sample of one rank as the input, and its store."""
    run_or_fail(home, "sample", "-q", "-o", home / "input", *SMALL, *options)
    write_store(home)


def copy_real(home: Path, name: str, *, cut: Callable[[Path], None] | None = None, rename: str | None = None) -> None:
    """A real profile as the input, and its store.

    Args:
        name: the file or folder, below the real profiles.
        cut: makes the copied input smaller.
        rename: the name of the copied file; None: its own.
    """
    shared = shared_folder()
    assert shared is not None
    source = shared / "profiles" / name
    if source.is_dir():
        shutil.copytree(source, home / "input" / source.name)
    else:
        (home / "input").mkdir()
        shutil.copyfile(source, home / "input" / (rename or source.name))
    for path in (home / "input").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    if cut:
        cut(home / "input")
    write_store(home)


def write_store(home: Path) -> None:
    """The store of the sound input."""
    run_or_fail(home, "ingest", "-q", home / "input", "-o", home / STORE)


def profile_kind(name: str, write: Callable[[Path], None], mutators: Sequence[Mutator], *needs: str) -> Kind:
    """A kind of profile: each mutant is compared with the store of the sound input."""
    return Kind(name, write, mutators, _diff, batch=_diff_of_runs, needs=frozenset(needs), is_profile=True)


def _diff(places: Places, random: Random) -> list[list[str]]:
    options = ["-q", "-d", str(places.mutant), "-bp", str(places.home / STORE), "-o", str(places.out)]
    return [["diff", *options]]


def _diff_of_runs(places: Places) -> list[str]:
    return [*_diff(places, Random(0))[0], "--layout", "runs"]
