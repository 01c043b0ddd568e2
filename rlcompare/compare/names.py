"""Unit and polarity of every metric, by name: those of docs/design.md §4 and §7. Training's are in the catalogue."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import cache, lru_cache
from typing import TypeVar

from rlcompare.metrics import Entry, entry
from rlcompare.model.words import Polarity

T = TypeVar("T")

_KEPT_NAMES = 2**17
"""Number of names whose unit and polarity are kept: each is looked up for several tables."""

LOWER, HIGHER, NEUTRAL = Polarity.LOWER, Polarity.HIGHER, Polarity.NEUTRAL

TIMES = {
    "path": LOWER,
    "step": LOWER,
    "period": LOWER,
    "step_free": LOWER,
    "device_span": LOWER,
    "compute": LOWER,
    "comm": LOWER,
    "exposed_comm": LOWER,
    "overlapped_comm": NEUTRAL,
    "free": LOWER,
    "exposed_copy": LOWER,
    "idle": LOWER,
    "stage": LOWER,
    "bubble": LOWER,
    "p2p": LOWER,
    "preparing": LOWER,
    "tail": LOWER,
    "unprofiled": NEUTRAL,
    "profiled_step": NEUTRAL,
    "outside_profile": NEUTRAL,
    "phases": LOWER,
}
"""Every ``time.<name>`` in ms per step, with its polarity, in the order of the report; defined in docs/design.md §4."""

_SAMPLED = frozenset(
    f"workload.{name}" for name in ("total_tokens", "response_tokens", "response_length_mean", "decode_steps")
)
"""Amounts of work that the sampled responses decide."""

PHASE_TIMES = ("wall", "compute", "exposed_comm", "free")
"""Every ``phase.<phase>.<name>``: in ms per step, lower is better."""

_TIME_POLARITIES = {f"time.{name}{of}": polarity for name, polarity in TIMES.items() for of in ("", "@max", "@spread")}
_POLARITIES = (
    *((f"role.*.{name}", polarity) for name, polarity in TIMES.items()),
    *((f"phase.*.{name}", LOWER) for name in PHASE_TIMES),
    ("memory.peak_allocated", LOWER),
    ("memory.peak_reserved", LOWER),
    ("workload.*", NEUTRAL),
)
_UNITS = (
    *((f"role.*.{name}", "ms") for name in TIMES),
    *((f"phase.*.{name}", "ms") for name in PHASE_TIMES),
    ("memory.peak_allocated", "bytes"),
    ("memory.peak_reserved", "bytes"),
    ("workload.*_bytes", "bytes"),
    ("workload.*", "count"),
    ("timing_s/*", "s"),  # timers of the user's own; no direction of them is better
)

_STARTS = tuple({pattern.split("*")[0] for pattern, _ in (*_POLARITIES, *_UNITS)})
"""How the names begin that a pattern matches."""

_OURS = ("time.", "workload.", "memory.", "role.", "phase.")
"""How the names begin that the catalogue does not have: those of metrics that rlcompare computes."""

WORKLOAD = {
    "perf/total_num_tokens": "workload.total_tokens",
    "response_length/mean": "workload.response_length_mean",
    "prompt_length/mean": "workload.prompt_length_mean",
}
"""Training metrics of the workload, each with the workload metric that it replaces if training has no such metric."""

TOKEN_RATE = "timing_per_token_ms/step"
"""The step's time per token (prompt and response tokens): the measure of speed if responses got longer."""

FOLLOW_STEP = ("timing_s/step", "perf/time_per_step", TOKEN_RATE, "perf/throughput")
"""Training's time of the step, and what follows from it: luck that moves the one moves the others."""


def _logged(metric: str) -> Entry | None:
    """The entry of a metric that training logs."""
    return None if metric.startswith(_OURS) else entry(metric)


@lru_cache(_KEPT_NAMES)
def polarity_of(metric: str) -> Polarity:
    """Which direction of a metric is better; neutral if unknown."""
    if metric in _TIME_POLARITIES:
        return _TIME_POLARITIES[metric]
    if (known := _logged(metric)) is not None:
        return known.polarity
    return _of_first(metric, _POLARITIES, NEUTRAL)


@lru_cache(_KEPT_NAMES)
def unit_of(metric: str) -> str:
    """The unit of a metric; empty if it has none or if unknown."""
    if metric in _TIME_POLARITIES:
        return "ms"
    if (known := _logged(metric)) is not None:
        return known.unit
    return _of_first(metric, _UNITS, "")


def _of_first(metric: str, patterns: Sequence[tuple[str, T]], default: T) -> T:
    """What stands beside the first pattern that a metric matches."""
    if not metric.startswith(_STARTS):  # most names are training's
        return default
    match = _one_of(tuple(pattern for pattern, _ in patterns)).match(metric)
    return default if match is None else patterns[(match.lastindex or 0) - 1][1]


@cache
def _one_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern with a group for each of these, which matches the first of them that does."""
    return re.compile("|".join(f"({translate(pattern)})" for pattern in patterns))


def kind_of(member: str) -> str:
    """The kind of a member: ``rank``, ``replica``, ``critic``. Different kinds are never averaged together."""
    return member.partition(" ")[0]


def is_workload(metric: str) -> bool:
    """Whether a metric is an amount of work."""
    return metric.startswith("workload.")


def is_exact(metric: str) -> bool:
    """Whether one run tells all of a metric: an amount of work, unless chance decides it, as how responses end."""
    return is_workload(metric) and metric not in _SAMPLED
