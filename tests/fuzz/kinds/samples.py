"""Small written profiles as sound inputs, with a store of them as the baseline, so that only the mutant is read."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.fuzz.forked import run_forked
from tests.fuzz.kind import Places

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


def write_store(home: Path) -> None:
    """The store of the sound input."""
    run_or_fail(home, "ingest", "-q", home / "input", "-o", home / STORE)


def diff_with_store(places: Places, random: Random) -> list[list[str]]:
    """``diff`` of the mutant with the store of the sound input."""
    options = ["-q", "-d", str(places.mutant), "-bp", str(places.home / STORE), "-o", str(places.out), "--no-cache"]
    return [["diff", *options]]
