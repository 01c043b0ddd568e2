"""Metrics of two sides, of several runs each, whose courses a mutator changes as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.fuzz.kind import Kind, Mutator, Outcome, Places
from tests.fuzz.mutators import courses
from tests.verl_logs import training_step

STEPS = 40
RUNS = 3
FURTHER = {
    "actor/grad_norm": 0.3, "actor/ppo_kl": 0.001, "critic/score/mean": 0.5, "critic/rewards/mean": 0.5,
    "response_length/max": 2000.0, "response_length/clip_ratio": 0.02, "prompt_length/max": 128.0,
    "num_turns/mean": 2.0,
    "global_seqlen/balanced_max": 170000.0, "perf/mfu/actor": 0.4, "perf/max_memory_allocated_gb": 40.0,
    "timing_s/generate_sequences": 14.0, "timing_s/agent_loop/slowest/generate_sequences": 13.0,
    "timing_s/agent_loop/slowest/tool_calls": 2.0, "timing_s/agent_loop/num_preempted/mean": 0.1, "timing_s/ref": 3.0,
    "timing_s/reward": 1.0, "timing_s/save_checkpoint": 2.0, "timing_s/testing": 5.0, "timing_per_token_ms/gen": 0.2,
    "training/rollout_probs_diff_mean": 0.01, "val-core/openai/gsm8k/acc/mean@1": 0.5, "perf/time_per_step": 48.0,
}  # fmt: skip
"""Metrics beside those of ``training_step``, with their usual values."""


def _write(home: Path) -> None:
    (home / "input").mkdir()
    for side in ("base", "new"):
        for number in range(RUNS):
            chance = Random(f"{side} {number}")
            run: courses.Run = {}
            for step in range(1, STEPS + 1):
                data = training_step(step) | FURTHER
                run[step] = {name: float(value) * chance.gauss(1, 0.02) for name, value in data.items()}
            courses.write(home / "input" / f"{side}-{number}.jsonl", run)


def _commands(places: Places, random: Random) -> list[list[str]]:
    runs = random.choice((1, 1, 2, RUNS))
    sides = {
        side: [str(places.mutant / f"{side}-{number}.jsonl") for number in range(runs)] for side in ("base", "new")
    }
    out, history = str(places.out), str(places.out / "history.duckdb")
    words = [
        word for option, side in (("-bp", "base"), ("-d", "new")) for path in sides[side] for word in (option, path)
    ]
    one = random.choice(sides["new"])
    document = str(places.out / "diff.json")
    more = [
        [["gate", "-q", document]], [["show", "-q", one]],
        [["show", "-q", one, "--html", str(places.out / "show.html")]],
        [["gate", "-q", document, "--preset", "strict"]],
        [["history", "add", "-q", *sides["base"], *sides["new"], "--history", history],
         ["history", "plot", "timing_s/step", "--history", history]],
    ]  # fmt: skip
    return [["diff", "-q", *words, "-o", out], *random.choice(more)]


def _check(outcome: Outcome) -> Iterator[str]:
    found = re.search(r".{0,40}(?:×|[+-])(?:inf|nan)\b.{0,40}", " ".join(outcome.out.split()))
    if found and " is -inf" not in found.group():
        yield f"{outcome.arguments[0]} prints {found.group()!r}"


def _several(number: int) -> Mutator:
    """Many changes: few do harm alone."""

    def apply(folder: Path, random: Random) -> str:
        return "; ".join(random.choice(_COURSES).apply(folder, random) for _ in range(number))

    return Mutator(f"course.{number}_changes", apply)


_COURSES = courses.mutators("*.jsonl")

RUNS_OF_METRICS = Kind(
    "metric_runs",
    _write,
    [*_COURSES, *map(_several, (4, 8, 12, 16, 24, 32, 48))],
    _commands,
    check=_check,
)
