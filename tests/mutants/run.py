"""Puts the faults of ``mutants.toml`` into a copy of the project, one at a time, and asks whether the tests notice.

``mutmut`` does this for functions in Python (``make mutants``). It knows neither SQL nor constants, so those faults are
listed by hand: a file, a text that occurs in it exactly once, and what stands there instead. The checkout itself is
never changed.

    python -m tests.mutants.run                  all of them
    python -m tests.mutants.run --only rollup    those whose file or text contains "rollup"

Ends with 1 if a mutant survives, and with 2 if one no longer applies because its file has changed: mend the list then.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHECKOUT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("mutants.toml")
COPIED = ("rlcompare", "sql", "report_templates", "tests", "golden", "pyproject.toml")
LONGEST_S = 600
"""Tests that take longer than this have noticed: the mutant made something endless."""


@dataclass(frozen=True)
class Mutant:
    """A fault: in ``file``, ``new`` instead of ``old``; ``tests`` are asked whether they notice."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {' '.join(self.old.split())} → {' '.join(self.new.split())}"


def listed(text: str) -> list[Mutant]:
    """The mutants of a list; their tests are those of the longest entry of ``[tests]`` that their file begins with."""
    document = tomllib.loads(text)
    tests: dict[str, list[str]] = document["tests"]
    mutants = []
    for entry in document["mutant"]:
        place = max((prefix for prefix in tests if entry["file"].startswith(prefix)), key=len)
        mutants.append(Mutant(entry["file"], entry["old"], entry["new"], tuple(tests[place])))
    return mutants


def applies(mutant: Mutant, root: Path) -> bool:
    """Whether its text occurs exactly once in its file."""
    path = root / mutant.file
    return path.is_file() and path.read_text(encoding="utf-8").count(mutant.old) == 1


def survives(mutant: Mutant, copy: Path) -> bool:
    """Whether the tests pass with the mutant in a copy of the project, which is put right again."""
    path = copy / mutant.file
    original = path.read_text(encoding="utf-8")
    path.write_text(original.replace(mutant.old, mutant.new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *mutant.tests]
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LONGEST_S,
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_text(original, encoding="utf-8")
    if done.returncode not in (0, 1, 2):  # passed; failed; an import or a query that no test could start with
        raise SystemExit(f"pytest ended with {done.returncode} for {mutant}: are its tests named rightly?")
    return done.returncode == 0


def copied(folder: Path) -> Path:
    """A copy of what the tests need."""
    for name in COPIED:
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description="Put the listed faults into a copy of the project; do tests notice?")
    parser.add_argument("--only", default="", help="mutants whose file or text contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time")
    chosen = parser.parse_args()
    mutants = [mutant for mutant in listed(LIST.read_text(encoding="utf-8")) if chosen.only in str(mutant)]
    stale = [mutant for mutant in mutants if not applies(mutant, CHECKOUT)]
    for mutant in stale:
        print(f"no longer applies  {mutant}")
    alive: list[Mutant] = []
    with tempfile.TemporaryDirectory() as scratch:
        copies: Queue[Path] = Queue()
        for number in range(chosen.jobs):
            copies.put(copied(Path(scratch) / str(number)))

        def judged(mutant: Mutant) -> tuple[Mutant, bool]:
            copy = copies.get()
            try:
                return mutant, survives(mutant, copy)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(chosen.jobs) as pool:
            for mutant, lives in pool.map(judged, (mutant for mutant in mutants if mutant not in stale)):
                print(f"{'SURVIVED' if lives else 'killed  '}  {mutant}", flush=True)
                if lives:
                    alive.append(mutant)
    judged_count = len(mutants) - len(stale)
    print(f"{judged_count - len(alive)} of {judged_count} mutants were killed.")
    return 2 if stale else 1 if alive else 0


if __name__ == "__main__":
    raise SystemExit(main())
