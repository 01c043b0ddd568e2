"""How often a gate fails where nothing changed, and how often it finds a step that takes 10 % longer.

    python benchmarks/gate_trust.py               # simulated runs; half a minute
    python benchmarks/gate_trust.py --runs DIR    # real ones, resampled: rlcompare run --against … -n 16 -o DIR

Each cell is 600 gates by one rule of 5 % on `timing_s/step`. Runs differ by a log-normal noise; in half of the table
one in ten takes 20 % longer. With fewer than five runs per side the gate uses the noise that the policy assumes. Cells
in which that is less than the real one are marked and promise nothing: they show what a wrong assumption costs.

Promised in all other cells: at most 1 % false alarms, at most 2 % passes of +10 %. Where no run is slow, at least 95 %
of +10 % are found with 5 runs per side up to 2 % of noise, and 80 % with 8 up to 3 %. Of real runs, at most 2 % false
alarms; 60 % found with 5 per side and 85 % with 8, none passed: of a change of 15 % that needs runs that differ by no
more than 5 %. On a noisy machine that takes longer runs (trainer.total_training_steps). Exits with 1 if a promise is
broken.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from rlcompare.gate import judge
from rlcompare.model.diff import Comparability, Delta, Diff, Side
from rlcompare.model.verdict import Policy, Rule
from rlcompare.model.words import Comparable, Polarity, Status

GATES = 600
NOISES = (0.005, 0.01, 0.02, 0.03, 0.05)
RUNS = (1, 3, 4, 5, 8)
ASSUMED = (0.03, 0.05, 0.08)
SLOW_PART, SLOW_BY = 0.1, 1.2
RULE = Rule("timing_s/step", max_relative=0.05)
MEASURED = 5
"""Runs per side from which nothing is assumed."""


def gate(baseline: Sequence[float], new: Sequence[float], noise: float) -> Status:
    """The verdict of the rule on two sides with these step times."""
    before, after = fmean(baseline), fmean(new)
    step = Delta(
        "timing_s/step", "s", Polarity.LOWER, before, after, after - before, after / before,
        {"baseline": tuple(baseline), "new": tuple(new)},
    )  # fmt: skip
    side = Side("side", (), (), (), {})
    diff = Diff(side, side, Comparability(Comparable.COMPARABLE, ()), step.metric, (step,), (), (), {})
    return judge(diff, Policy("benchmark", (RULE,), noise=noise)).verdicts[0].status


def real_noise(noise: float, slow: bool) -> float:
    """One standard deviation of the logarithm of a run's time."""
    return math.hypot(noise, math.log(SLOW_BY) * math.sqrt(SLOW_PART * (1 - SLOW_PART))) if slow else noise


def simulated(rng: random.Random, runs: int, factor: float, noise: float, slow: bool) -> list[float]:
    return [
        factor * math.exp(rng.gauss(0, noise)) * (SLOW_BY if slow and rng.random() < SLOW_PART else 1)
        for _ in range(runs)
    ]


def shares(found: Iterable[Status]) -> tuple[Counter[Status], str]:
    counted = Counter(found)
    order = (Status.REGRESSED, Status.INCONCLUSIVE, Status.PASS, Status.IMPROVED)
    return counted, "".join(f"{counted[status] / counted.total() * 100:7.1f}" for status in order)


def table(assumed: float, slow: bool) -> list[str]:
    """Prints the cells of one assumption; returns the promises that were broken."""
    print(f"\nassumed noise {assumed:.0%}{', one run in ten 20 % slower' if slow else ''}")
    print(f"{'noise':>7}{'runs':>6}  equal: {'fail  open  pass better':>26}   +10 %: {'fail  open  pass better':>26}")
    broken = []
    for noise in NOISES:
        for runs in RUNS:
            rng = random.Random(f"{slow} {noise} {runs}")  # the same runs for each assumption
            sides = [
                [
                    gate(simulated(rng, runs, 1, noise, slow), simulated(rng, runs, factor, noise, slow), assumed)
                    for _ in range(GATES)
                ]
                for factor in (1.0, 1.1)
            ]
            (equal, equal_text), (slower, slower_text) = (shares(side) for side in sides)
            promised = runs >= MEASURED or assumed >= real_noise(noise, slow)
            print(f"{noise:7.1%}{runs:6}         {equal_text}          {slower_text}{'' if promised else '   *'}")
            least = (
                0.0 if slow else 0.95 if runs == 5 and noise <= 0.02 else 0.8 if runs == 8 and noise <= 0.03 else 0.0
            )
            kept = (
                equal[Status.REGRESSED] <= 0.01 * GATES
                and slower[Status.PASS] + slower[Status.IMPROVED] <= 0.02 * GATES
                and slower[Status.REGRESSED] >= least * GATES
            )
            if promised and not kept:
                broken.append(f"assumed {assumed:.0%}, noise {noise:.1%}, {runs} runs{', slow runs' if slow else ''}")
    return broken


def step_time(run: Path) -> float | None:
    """The mean of `timing_s/step` over the plain steps of a run directory; None if it did not finish."""
    described = json.loads((run / "run.json").read_text())
    plain = set(described["steps"].get("plain", ()))
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    values = [line["data"]["timing_s/step"] for line in lines if line["step"] in plain]
    return fmean(values) if values and described.get("status") != "failed" else None


def resampled(folder: Path) -> list[str]:
    """Gates on some of the real runs in a folder: of one side in ABBA order, and of both sides."""
    pairs: list[tuple[float, float]] = []
    for run in sorted((folder / "baseline").iterdir(), key=lambda path: int(re.sub(r"\D", "", path.name))):
        before, after = step_time(run), step_time(folder / "new" / run.name)
        if before is not None and after is not None:
            pairs.append((before, after))
    baseline, new = ([pair[side] for pair in pairs] for side in (0, 1))
    spread = [math.sqrt(fmean([(math.log(v) - fmean(map(math.log, vs))) ** 2 for v in vs])) for vs in (baseline, new)]
    print(
        f"{len(pairs)} runs per side; noise {spread[0]:.1%} and {spread[1]:.1%}; {fmean(new) / fmean(baseline):.3f} ×"
    )
    rng = random.Random(5)
    broken = []
    for runs, least in ((5, 0.6), (8, 0.85)):
        if len(pairs) < 2 * runs:
            print(f"{runs} runs per side need {2 * runs} pairs")
            continue
        equal, slower = [], []
        for _ in range(GATES):
            some = [baseline[place] for place in sorted(rng.sample(range(len(pairs)), 2 * runs))]
            first = [place % 4 in (0, 3) for place in range(2 * runs)]
            equal.append(
                gate(
                    [time for time, is_first in zip(some, first, strict=True) if is_first],
                    [time for time, is_first in zip(some, first, strict=True) if not is_first],
                    0.03,
                )
            )
            chosen = rng.sample(range(len(pairs)), runs)
            slower.append(gate([baseline[place] for place in chosen], [new[place] for place in chosen], 0.03))
        (alike, alike_text), (apart, apart_text) = shares(equal), shares(slower)
        print(f"{runs} per side, fail open pass better: baseline against itself{alike_text}; new{apart_text}")
        if alike[Status.REGRESSED] > 0.02 * GATES or apart[Status.REGRESSED] < least * GATES or apart[Status.PASS]:
            broken.append(f"{runs} real runs per side")
    return broken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, metavar="DIR", help="real runs: DIR/baseline/runN and DIR/new/runN")
    chosen = parser.parse_args()
    if chosen.runs:
        broken = resampled(chosen.runs)
    else:
        print(f"{GATES} gates a cell, in %; * what is assumed is less than the real noise, nothing is promised")
        broken = [line for slow in (False, True) for assumed in ASSUMED for line in table(assumed, slow)]
    print("\nall promises kept" if not broken else "\npromises broken: " + "; ".join(broken))
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
