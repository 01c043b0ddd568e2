"""Combinations of values that cannot be, with their numbers."""

from __future__ import annotations

from collections.abc import Iterator

from rlcompare.collect.config.schema import Config


def impossible(config: Config) -> Iterator[str]:
    """What is wrong with a configuration whose values each have the right type."""
    yield from ()
