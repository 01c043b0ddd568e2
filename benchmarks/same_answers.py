#!/usr/bin/env python3
"""Checks that this checkout gives the same answers as another one, on every available pair of profiles and logs.

    git worktree add ../before v0.1.0
    python benchmarks/same_answers.py ../before

Runs `rlcompare diff --json` of both checkouts on each pair in golden/inputs and in the shared folder, and prints every
value of diff.json that differs. Ends with 1 if any does. Run it before and after a change that should change nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SHOWN = 8
"""Maximum number of differing values printed per pair."""


def pairs(shared: Path) -> Iterator[tuple[Path, Path]]:
    """Pairs of a baseline and a new side: siblings of one folder, and each set with itself."""
    inputs = ROOT / "golden" / "inputs"
    for name in sorted(path.name.removesuffix("_baseline") for path in inputs.glob("*_baseline")):
        yield inputs / f"{name}_baseline", inputs / f"{name}_new"
    ascend = shared / "profiles" / "ascend-910b-2025-level01"
    forms = [ascend / form / level for form in ("db", "text") for level in ("level0", "level1")]
    yield from pairwise(forms)
    for form in forms:
        ranks = sorted(form.glob("rank*"))
        yield from pairwise(ranks)
    for folder in sorted(path for path in (shared / "profiles").iterdir() if path.is_dir()):
        if folder == ascend:
            continue
        sides = sorted(path for path in folder.iterdir() if path.suffix != ".md")
        if all(path.is_dir() and not path.name.endswith("_ascend_pt") for path in sides):
            yield from pairwise(sides)
        else:
            yield folder, folder
            yield from pairwise(sides)
    yield from pairwise(sorted((shared / "logs").glob("*.log")))


def diff(checkout: Path, baseline: Path, new: Path) -> tuple[int, Any]:
    """The exit code, and the document or the output on standard error."""
    result = subprocess.run(
        [sys.executable, "-m", "rlcompare", "diff", "-q", "--no-cache", "--json", "-bp", str(baseline), "-d", str(new)],
        env={**os.environ, "PYTHONPATH": str(checkout)},
        cwd=checkout,
        capture_output=True,
        text=True,
    )
    if result.returncode:
        return result.returncode, result.stderr
    document = json.loads(result.stdout)
    document.pop("rlcompare_version", None)
    return 0, document


def differences(before: Any, after: Any, at: str = "") -> Iterator[str]:
    """The places at which two JSON values differ, with both values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from differences(before.get(key), after.get(key), f"{at}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{at}[{index}]")
    elif before != after or type(before) is not type(after):
        yield f"{at}: {json.dumps(before)[:200]} -> {json.dumps(after)[:200]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="another checkout of rlcompare")
    parser.add_argument("--shared", type=Path, default=os.environ.get("RLCOMPARE_SHARED", ROOT.parent / "shared"))
    parser.add_argument("--only", default="", help="only pairs whose paths contain this")
    arguments = parser.parse_args()
    changed = 0
    for baseline, new in pairs(Path(arguments.shared).resolve()):
        if arguments.only not in f"{baseline} {new}":
            continue
        old, now = (diff(checkout.resolve(), baseline, new) for checkout in (arguments.before, ROOT))
        found = [f"exit code {old[0]} -> {now[0]}"] if old[0] != now[0] else list(differences(old[1], now[1]))
        changed += bool(found)
        names = " ".join(str(path.relative_to(path.parents[2])) for path in (baseline, new))
        print(f"{'DIFFERS' if found else 'same   '}  exit {now[0]}  {names}", flush=True)
        for line in found[:SHOWN]:
            print(f"         {line}", flush=True)
        if len(found) > SHOWN:
            print(f"         and {len(found) - SHOWN} more", flush=True)
    print(f"{changed} pairs differ" if changed else "All answers are the same.")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
