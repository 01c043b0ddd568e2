"""Puts faults into the Python of compare/, gate/ and rollout_is.py with mutmut, and reports how many the tests detect.

All faults would take hours, so functions are sampled by a seed: the same seed gives the same functions. mutmut works in
``mutants/``, a copy; the checkout is never changed. ``[tool.mutmut]`` of pyproject.toml configures it and selects the
tests. Faults in SQL and in constants, which mutmut does not make, are covered by tests/mutants.

    python tools/mutation_score.py --functions 10 --seed 1
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
PLACES = ("rlcompare/compare", "rlcompare/gate", "rlcompare/rollout_is.py")
KILLED = {1: "killed", 3: "killed", 36: "timeout", -24: "timeout", 24: "timeout", 152: "timeout", 255: "timeout"}
"""mutmut's exit codes for detected faults; a test that no longer ends has detected the fault too."""
SURVIVED, UNTESTED = 0, (5, 33)


def functions() -> list[str]:
    """mutmut's names of all functions and methods, as patterns for their mutants."""
    files = [path for place in PLACES for path in sorted((CHECKOUT / place).rglob("*.py")) or [CHECKOUT / place]]
    return [f"{_module(path)}.{name}__mutmut_*" for path in files for name in _names(path)]


def _module(path: Path) -> str:
    parts = path.relative_to(CHECKOUT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _names(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield f"x_{node.name}"
        elif isinstance(node, ast.ClassDef):
            yield from (f"xǁ{node.name}ǁ{part.name}" for part in node.body if isinstance(part, ast.FunctionDef))


def verdicts(patterns: list[str]) -> dict[str, int]:
    """The result of each mutant that ran: mutmut's exit code."""
    stems = tuple(pattern.removesuffix("*") for pattern in patterns)
    found: dict[str, int] = {}
    for path in (CHECKOUT / "mutants").rglob("*.meta"):
        codes = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
        found |= {name: code for name, code in codes.items() if code is not None and name.startswith(stems)}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="How many faults in Python do the tests notice?")
    parser.add_argument("--functions", type=int, default=10, help="how many functions to draw; 0 for all of them")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time")
    chosen = parser.parse_args()
    patterns = functions()
    if chosen.functions:
        patterns = sorted(random.Random(chosen.seed).sample(patterns, min(chosen.functions, len(patterns))))
    shutil.rmtree(CHECKOUT / "mutants", ignore_errors=True)
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT / "mutants")}  # before an editable install of the checkout
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(chosen.jobs), *patterns]
    with (CHECKOUT / "build" / "mutmut.log").open("w") as log:
        subprocess.run(command, cwd=CHECKOUT, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
    found = verdicts(patterns)
    for name, code in sorted(found.items()):
        if code not in KILLED:
            print("survived" if code == SURVIVED else "untested" if code in UNTESTED else f"ended with {code}", name)
    counts = Counter(KILLED.get(code, "not killed") for code in found.values())
    noticed = counts["killed"] + counts["timeout"]
    if not found:
        print("no mutant ran: build/mutmut.log says why", file=sys.stderr)
        return 1
    print(f"{noticed} of {len(found)} mutants of {len(patterns)} functions were noticed ({noticed / len(found):.0%}).")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
