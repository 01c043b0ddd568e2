"""Run directories and metrics files, as ``rlcompare run`` and verl's file logger write them, with chosen numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

WARMUP, PROFILED, STEPS = 1, 12, 12


def step_data(
    *, gen: float = 0.1, old_log_prob: float = 0.05, update_actor: float = 0.1, outside: float = 0.01,
    prompt_tokens: int = 100, response_tokens: int = 400, decode_steps: int = 20, **further: float,
) -> dict[str, float]:  # fmt: skip
    """What a step of training logs: seconds by phase, and the workload; ``further``: keys with ``__`` for ``/``."""
    seconds = {"gen": gen, "old_log_prob": old_log_prob, "update_actor": update_actor}
    return {
        **{f"timing_s/{name}": value for name, value in seconds.items()},
        "timing_s/step": sum(seconds.values()) + outside,
        "perf/total_num_tokens": prompt_tokens + response_tokens,
        "response_length/mean": response_tokens / 32,
        "workload.prompt_tokens": prompt_tokens,
        "workload.response_tokens": response_tokens,
        "workload.total_tokens": prompt_tokens + response_tokens,
        "workload.response_length_mean": response_tokens / 32,
        "workload.decode_steps": decode_steps,
        **{name.replace("__", "/"): value for name, value in further.items()},
    }


def lines(steps: int = STEPS, **values: Any) -> list[str]:
    """Lines of metrics: of ``values``, lists and functions of the step give one for each step.

    The warm-up step takes ten times as long and the profiled one three times, so that they show where they count.
    """
    made = []
    for step in range(1, steps + 1):
        chosen = {name: value(step) if callable(value) else value for name, value in values.items()}
        data = step_data(**chosen)
        slow = {WARMUP: 10.0, PROFILED: 3.0}.get(step, 1.0)
        data = {name: value * slow if name.startswith("timing_s/") else value for name, value in data.items()}
        made.append(json.dumps({"step": step, "data": data}))
    return made


def write_metrics(path: Path, **values: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines(**values)))
    return path


def description(
    status: str = "complete",
    captures: Sequence[Mapping[str, object]] = (),
    config: Mapping[str, object] | None = None,
    **further: object,
) -> dict[str, object]:
    """A run.json of ``STEPS`` steps, the first one warm-up and the last one profiled."""
    default = {"data": {"train_batch_size": 8}, "algorithm": {"rollout_is_threshold": 2.0}}
    return {
        "schema": "rlcompare.run/1",
        "status": status,
        "config": default if config is None else config,
        "versions": {"torch": "2.13.0", "torch_npu": None, "cann": None, "python": "3.11.4"},
        "git": {"commit": "0123456789abcdef0123456789abcdef01234567", "dirty": False},
        "seed": 1,
        "world_size": 1,
        "device": "cpu",
        "device_name": "a processor",
        "steps": {"warmup": [WARMUP], "plain": list(range(2, STEPS)), "profiled": [PROFILED]},
        "captures": list(captures),
        **further,
    }


def write_run(folder: Path, run: Mapping[str, object] | None = None, **values: Any) -> Path:
    """A run directory without a profile."""
    write_metrics(folder / "metrics.jsonl", **values)
    (folder / "run.json").write_text(json.dumps(description() if run is None else run))
    return folder
