"""Which runs may be compared over time: those on the same hardware with the same configuration.

Versions and commits do not divide runs: they are what changes while the history is watched, and what a change names.
Nor does a setting of the trainer that a release does not have: each release of verl adds some, and the runs after an
upgrade would never be compared with those before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import md5
from typing import NamedTuple

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
_OF_TRAINER = (
    "data.*", "actor_rollout_ref.*", "critic.*", "algorithm.*", "async_training.*", "reward.*", "reward_model.*",
    "trainer.*",
)  # fmt: skip
"""The trainer's configuration, which it writes as a whole: a key that a release knows is in all of its runs."""
RELEASE = ("verl", "commit.verl")
"""The settings that tell the release of the trainer."""


class Configuration(NamedTuple):
    """Runs with the same dividing settings: a row of ``sql/history/configurations.sql``.

    Attributes:
        digest: what ``environment_of`` makes of the settings.
        releases: of the trainer; empty if none of the runs says.
        settings: those that divide runs, by key.
    """

    digest: str
    releases: frozenset[str]
    settings: Mapping[str, str]


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
    lines = [f"{key}={value}" for key, value in sorted(_dividing(settings).items())]
    return md5("\n".join(lines).encode(), usedforsecurity=False).hexdigest()[:8]


def configuration_of(settings: Mapping[str, str]) -> Configuration:
    """The configuration of one run with these versions and settings."""
    release = " ".join(f"{key}={settings[key]}" for key in sorted(RELEASE) if key in settings)
    releases = frozenset({release} if release else ())
    return Configuration(environment_of(settings), releases, _dividing(settings))


def environments(configurations: Sequence[Configuration]) -> dict[str, str]:
    """The environment of each configuration: the digest of the first one that it continues, or its own.

    Args:
        configurations: in the order of their first runs. A later one does not change the environments of earlier ones.
    """
    found: dict[str, list[Configuration]] = {}
    of_digest: dict[str, str] = {}
    keys = _Keys(configurations)
    for one in configurations:
        continued = (first for first, others in found.items() if all(_continues(one, other, keys) for other in others))
        first = next(continued, one.digest)
        found.setdefault(first, []).append(one)
        of_digest[one.digest] = first
    return of_digest


def environment_in(configurations: Sequence[Configuration], settings: Mapping[str, str]) -> str:
    """The environment that a run with these settings has, or would have, in a history of these configurations."""
    own = configuration_of(settings)
    are_known = any(one.digest == own.digest for one in configurations)
    return environments(configurations if are_known else [*configurations, own])[own.digest]


class _Keys:
    """The settings that each release of the trainer has: in some of its configurations, and in all of them."""

    def __init__(self, configurations: Sequence[Configuration]) -> None:
        self._some: dict[str, set[str]] = {}
        self._all: dict[str, set[str]] = {}
        for one in configurations:
            for release in one.releases:
                self._some.setdefault(release, set()).update(one.settings)
                self._all.setdefault(release, set(one.settings)).intersection_update(one.settings)

    def is_of_release(self, key: str, one: Configuration, other: Configuration) -> bool:
        """Whether only the first configuration has a setting because no release of the other has it."""
        return (
            any(fnmatchcase(key, pattern) for pattern in _OF_TRAINER)
            and min(len(one.releases), len(other.releases)) > 0
            and all(key in self._all[release] for release in one.releases)
            and not any(key in self._some[release] for release in other.releases)
        )


def _continues(one: Configuration, other: Configuration, keys: _Keys) -> bool:
    """Whether two configurations differ only in settings that a release of the trainer does not have."""
    if any(other.settings.get(key, value) != value for key, value in one.settings.items()):
        return False
    return all(
        keys.is_of_release(key, mine, others)
        for mine, others in ((one, other), (other, one))
        for key in mine.settings.keys() - others.settings.keys()
    )


def _dividing(settings: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in settings.items() if divides(key)}
