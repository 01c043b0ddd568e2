#!/usr/bin/env python3
"""Checks the claim that rlcompare-probe.pth adds less than a millisecond to each start of an interpreter.

    python benchmarks/hook_cost.py

Starts two environments in turn, with the file and without it, and compares the medians of the processor time, which
other work on the machine changes less than the time on the clock. Ends with 1 if the limit is missed.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import venv
from pathlib import Path

HOOK = Path(__file__).resolve().parents[1] / "rlcompare-probe.pth"
STARTS = 50
LIMIT_MS = 1.0


def environment(folder: Path, has_hook: bool) -> Path:
    venv.create(folder, with_pip=False, symlinks=True)
    if has_hook:
        (site,) = (folder / "lib").glob("python*/site-packages")
        (site / HOOK.name).write_bytes(HOOK.read_bytes())
    return folder / "bin" / "python"


def seconds(python: Path, value: str | None) -> float:
    variables = {key: text for key, text in os.environ.items() if key not in ("RLCOMPARE_PROBE", "PYTHONPATH")}
    variables |= {} if value is None else {"RLCOMPARE_PROBE": value}
    identity = os.spawnve(os.P_NOWAIT, str(python), [str(python), "-c", "pass"], variables)
    _, status, used = os.wait4(identity, 0)
    assert status == 0
    return used.ru_utime + used.ru_stime


def main() -> int:
    is_missed = False
    with tempfile.TemporaryDirectory() as folder:
        pythons = {has_hook: environment(Path(folder, str(has_hook)), has_hook) for has_hook in (False, True)}
        for name, value in (("unset", None), ("empty", ""), ("blank", " ")):
            times: dict[bool, list[float]] = {False: [], True: []}
            for number in range(2 * STARTS):
                has_hook = number % 2 == 1
                times[has_hook].append(seconds(pythons[has_hook], value))
            without, with_hook = (1000 * statistics.median(times[has_hook]) for has_hook in (False, True))
            is_missed |= with_hook - without > LIMIT_MS
            print(f"{name}: {with_hook:.2f} ms of CPU time, {without:.2f} ms without the hook")
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main())
