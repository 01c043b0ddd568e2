"""Which runs may be compared over time: those on the same hardware with the same configuration.

Versions and commits do not divide runs: they are what changes while the history is watched, and what a change names.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from hashlib import md5

_DIVIDES = (
    "chip", "device", "device_name", "executor", "tool", "world_size",
    "profiler.*", "parallel.*", "env.*", "model*", "batch*", "length*",
    "data.*", "actor_rollout_ref.*", "critic.*", "algorithm.*", "async_training.*", "reward.*", "reward_model.*",
    "trainer.device", "trainer.n*", "trainer.use_v1", "trainer.v1.*", "trainer.balance_batch",
)  # fmt: skip
_VARIES = (
    "profiler.export_type", "profiler.schedule", "profiler.mstx*", "profiler.gc_detect_threshold", "*.profiler.*",
    "*seed", "*seed_*",
)  # fmt: skip
"""Of these, keys by which runs that may be compared differ."""


def divides(key: str) -> bool:
    """Whether runs with different values of a setting are not compared."""
    return any(fnmatchcase(key, pattern) for pattern in _DIVIDES) and not any(
        fnmatchcase(key, pattern) for pattern in _VARIES
    )


def environment_of(settings: Mapping[str, str]) -> str:
    """The environment of runs with these versions and settings, as ``sql/history/run_environment.sql`` names it.

    Args:
        settings: by key, as in ``Diff.baseline.env``.
    """
    lines = [f"{key}={settings[key]}" for key in sorted(settings) if divides(key)]
    return md5("\n".join(lines).encode(), usedforsecurity=False).hexdigest()[:8]
