"""How much the runs of a history differ, for the metrics of a diff: what the gate assumes where runs are few."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rlcompare.compare.estimate import Spread
    from rlcompare.model.diff import Diff


def spreads_of(diff: Diff, chosen: str | None, policy_file: Path | None) -> Mapping[str, Spread]:
    """By metric, the spread between earlier runs of the baseline's environment; empty without a history.

    Args:
        chosen: a file or ``postgresql://`` URL; None: the place of the policy, or the default one if it exists.
        policy_file: the policy; None: the repository's.

    Raises:
        UsageError: the place is not valid.
        InputError: the history that was asked for cannot be read.
    """
    from rlcompare.history.place import history_of_policy, is_asked_for, place_of

    policy = history_of_policy(policy_file)
    place = place_of(chosen, policy)
    if not is_asked_for(chosen, policy) and not (place.file and place.file.exists()):
        return {}

    from rlcompare.history.environment import environment_of
    from rlcompare.history.spread import spread_of
    from rlcompare.history.store import load

    environment = environment_of(diff.baseline.env)
    series = load(place, metrics=[delta.metric for delta in diff.overall]).series
    found = {one.metric: spread_of(one) for one in series if one.environment == environment}
    return {metric: spread for metric, spread in found.items() if spread is not None}
