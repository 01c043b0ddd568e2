"""How much the runs of a history differ, for the metrics of a diff: what the gate assumes where runs are few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rlcompare.app import messages

if TYPE_CHECKING:
    from pathlib import Path

    from rlcompare.compare.estimate import Spread
    from rlcompare.history.records import Series
    from rlcompare.model.diff import Diff


def spreads_of(
    diff: Diff, chosen: str | None, policy_file: Path | None = None, *, quiet: bool = False
) -> Mapping[str, Spread]:
    """By metric, the spread between earlier runs of the baseline's environment; empty without a history.

    Unless ``quiet``, a line on standard error says that there is a history, and whether it is used.

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

    from rlcompare.history.spread import series_of, spread_of

    metrics = [delta.metric for delta in diff.overall]
    series = series_of(place, metrics, diff.baseline.env)
    found = {one.metric: spread for one in series if (spread := spread_of(one)) is not None}
    if not quiet:
        messages.note(_note(series, found, place.shown))
    return found


def _note(series: Sequence[Series], found: Mapping[str, Spread], shown: str) -> str:
    """Whether a history is used, and for what not."""
    from rlcompare.history.changes import headline_of
    from rlcompare.history.spread import LEAST_RUNS

    runs = max((len(one.numbers) for one in series), default=0)
    if runs < LEAST_RUNS:
        count = "1 run" if runs == 1 else f"{runs or 'no'} runs"
        return f"the history {shown} has {count} like the baseline, of {LEAST_RUNS} needed to estimate the noise"
    headline = headline_of(series)
    but = "" if headline in found else f", but not for {headline}, which may have changed in its latest runs"
    return f"noise is taken from the history {shown}: {runs} runs like the baseline{but}"
