#!/usr/bin/env python3
"""Checks the claims about `rlcompare run`: its speed, that its diff finds the phase that grew, and the cost of
importance sampling.

    python benchmarks/reference_step.py

Runs the reference step twice, the second time with two epochs of updates, and compares the medians over the plain
steps. Then it times importance sampling over the batch of one step. Ends with 1 if a limit is missed. Run it on an idle
machine: PyTorch's threads wait for each other.
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
LIMIT_SHARE_OF_MEMORY = 0.02
MEMORY = "actor_rollout_ref.actor.profiler.tool_config.torch.contents=[cpu,memory]"
RISE = """
    SELECT max(m.allocated_bytes) - arg_min(m.allocated_bytes, m.ts_ns) AS rise,
           (SELECT max(allocated_bytes) FROM memory) AS peak
    FROM memory AS m JOIN phase AS p ON p.name = 'adv' AND m.ts_ns BETWEEN p.start_ns AND p.end_ns
"""


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


def seconds_of_importance_sampling() -> float:
    """Time for as many tokens as a step has by default, on one thread as in that step."""
    import torch

    from rlcompare.rollout_is import compute_rollout_is

    torch.set_num_threads(1)
    old = -torch.rand(32, 32)
    rollout = old + 0.01 * torch.randn(32, 32)
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        compute_rollout_is(old, rollout, torch.ones(32, 32), level="token", mode="truncate", threshold=2.0)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def share_of_memory(rlcompare: str, folder: Path) -> float:
    """How far memory rises in the phase of importance sampling and advantages, as a fraction of the step's peak."""
    run(rlcompare, folder, "trainer.total_training_steps=3", MEMORY)
    query = [rlcompare, "sql", str(folder), RISE, "--format", "json"]
    (row,) = json.loads(subprocess.run(query, check=True, capture_output=True, text=True).stdout)
    return float(row["rise"] / row["peak"])


def median(steps: list[dict[str, Any]], key: str) -> float:
    return float(statistics.median(step[key] for step in steps))


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
        memory_share = share_of_memory(options.rlcompare, work / "memory")
    limits.check("seconds of a whole run", base_seconds, 0, LIMIT_RUN_SECONDS)
    limits.check("seconds of a whole run, two epochs", new_seconds, 0, LIMIT_RUN_SECONDS)
    key = "timing_s/update_actor"
    limits.check("update_actor, two epochs against one", median(new, key) / median(base, key), RATIO_LOW, RATIO_HIGH)
    phases = [row for row in document["sections"]["phases"] if row["name"] != "(outside)"]
    grown = max(phases, key=lambda row: row["delta"])["name"]
    limits.check(f"update_actor is the phase that grew ({grown})", grown == "update_actor", 1, 1)
    share = seconds_of_importance_sampling() / median(base, "timing_s/step")
    limits.check("importance sampling, share of a step's time", share, 0, LIMIT_SHARE_OF_TIME)
    limits.check("phase adv, share of a step's peak memory", memory_share, 0, LIMIT_SHARE_OF_MEMORY)
    return 1 if limits.missed else 0


if __name__ == "__main__":
    sys.exit(main())
