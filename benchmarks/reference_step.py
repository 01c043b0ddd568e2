#!/usr/bin/env python3
"""What is claimed about `rlcompare run`: that it is quick, that its diff finds the phase that grew, and what importance
sampling costs.

    python benchmarks/reference_step.py

Runs the reference step twice, the second time with two epochs of updates, and compares the medians over the plain
steps; then times importance sampling over the batch of one step. Ends with 1 if a limit is missed. Run it on a machine
that does nothing else: PyTorch's threads wait for each other.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LIMIT_RUN_SECONDS = 60.0
RATIO_LOW, RATIO_HIGH = 1.6, 2.4
LIMIT_SHARE_OF_TIME = 0.01


class Limits:
    def __init__(self) -> None:
        self.missed = 0

    def check(self, what: str, value: float, low: float, high: float) -> None:
        kept = low <= value <= high
        self.missed += not kept
        print(f"  {'ok    ' if kept else 'MISSED'}  {what:<52}{value:>10.4f}   ({low:g} to {high:g})", flush=True)


def run(rlcompare: str, folder: Path, *overrides: str) -> tuple[float, list[dict[str, Any]]]:
    """Seconds of the whole command, and the metrics of the plain steps."""
    start = time.perf_counter()
    subprocess.run([rlcompare, "run", "-q", "-o", str(folder), *overrides], check=True, stderr=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    plain = json.loads((folder / "run.json").read_text())["steps"]["plain"]
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return seconds, [line["data"] for line in lines if line["step"] in plain]


def median(steps: list[dict[str, Any]], key: str) -> float:
    return statistics.median(step[key] for step in steps)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = Path(sys.executable).with_name("rlcompare")
    parser.add_argument("--rlcompare", default=str(beside) if beside.exists() else shutil.which("rlcompare"))
    options = parser.parse_args()
    limits = Limits()
    with tempfile.TemporaryDirectory(prefix="rlcompare-bench-") as name:
        work = Path(name)
        base_seconds, base = run(options.rlcompare, work / "base")
        new_seconds, new = run(options.rlcompare, work / "new", "actor_rollout_ref.actor.ppo_epochs=2")
        diff = [options.rlcompare, "diff", "-d", str(work / "new"), "-bp", str(work / "base"), "--json"]
        document = json.loads(subprocess.run(diff, check=True, capture_output=True, text=True).stdout)
    limits.check("seconds of a whole run", base_seconds, 0, LIMIT_RUN_SECONDS)
    limits.check("seconds of a whole run, two epochs", new_seconds, 0, LIMIT_RUN_SECONDS)
    key = "timing_s/update_actor"
    limits.check("update_actor, two epochs against one", median(new, key) / median(base, key), RATIO_LOW, RATIO_HIGH)
    phases = [row for row in document["sections"]["phases"] if row["name"] != "(outside)"]
    grown = max(phases, key=lambda row: row["delta"])["name"]
    limits.check(f"update_actor is the phase that grew ({grown})", grown == "update_actor", 1, 1)
    share = median(base, "timing_s/adv") / median(base, "timing_s/step")
    limits.check("importance sampling and advantages, share of a step", share, 0, LIMIT_SHARE_OF_TIME)
    return 1 if limits.missed else 0


if __name__ == "__main__":
    sys.exit(main())
