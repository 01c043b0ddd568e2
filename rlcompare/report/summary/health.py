"""Importance sampling, ranks, and the quality of the data."""

from __future__ import annotations

from collections.abc import Sequence

from rlcompare.compare.overall import PATH
from rlcompare.model.diff import NOT_COMPARED, Diff, Row
from rlcompare.model.words import Health
from rlcompare.report import quantity
from rlcompare.report.findings import count, is_serious, quality_counts, quality_texts
from rlcompare.report.step_parts import rows_of
from rlcompare.report.summary.item import SummaryItem
from rlcompare.report.tone import PROFILED_RANKS
from rlcompare.text import safe_text

_ADVICE_LIMIT = 330
_HEALTH = (
    (("rollout_is_eff_sample_size",), "ESS"),
    (("rollout_is_mean",), "mean"),
    (("rollout_is_veto_fraction",), "vetoed"),
    (("mismatch_kl", "kl"), "KL"),
)
_HEALTH_PREFIXES = ("mismatch", "rollout_corr", "actor/rollout_corr")


def sampling_item(diff: Diff) -> SummaryItem:
    """The importance-sampling metrics, and those outside of their healthy range."""
    values: dict[str, Row] = {}
    for row in rows_of(diff, "metrics"):
        prefix, _, stem = str(row.get("name")).rpartition("/")
        if stem.startswith("rollout_is_") or prefix in _HEALTH_PREFIXES:
            values.setdefault(stem, row)
    found = [(label, [values[stem] for stem in stems if stem in values][:1]) for stems, label in _HEALTH]
    parts = [f"{label} {_before_and_after(row)}" for label, rows in found for row in rows]
    outside = [(stem, row) for stem, row in values.items() if row.get("new_health") == Health.OUTSIDE]
    if not parts and not outside:
        text = "not measured: no importance-sampling metric was recorded"
        return SummaryItem("sampling", "rollout IS", (text,), spare=True)
    if not outside:
        return SummaryItem("sampling", "rollout IS", tuple(parts))
    named = [f"{stem.removeprefix('rollout_is_')} (ideal {row.get('ideal')})" for stem, row in outside]
    left = [safe_text(f"outside: {named[0]}", 80), *(safe_text(name, 80) for name in named[1:])]
    advice = next((safe_text(row.get("advice"), _ADVICE_LIMIT) for _, row in outside if row.get("advice")), "")
    texts = (*parts, *left, *((advice,) if advice else ()))
    shorter = ((*parts, *left, *filter(None, (advice.partition(";")[0],))), (*parts, *left), tuple(left))
    return SummaryItem("sampling", "rollout IS", texts, "caution", lines=4, shorter=shorter)


def _before_and_after(row: Row) -> str:
    """Both values; without an arrow if their meanings differ."""
    baseline, new = quantity.brief(row.get("baseline")), quantity.brief(row.get("new"))
    return f"{baseline} and {new} (not compared)" if row.get(NOT_COMPARED) else f"{baseline} → {new}"


def ranks_item(diff: Diff) -> SummaryItem:
    """How many ranks there are, and which are late."""
    rows = [row for row in rows_of(diff, "ranks") if row.get("name") is not None]
    sides = (diff.baseline, diff.new)
    ranks = [max((run.ranks for run in side.runs), default=0) for side in sides]
    replicas = [max((run.replicas for run in side.runs), default=0) for side in sides]
    number = " + ".join(filter(None, (_change(ranks, "rank"), _change(replicas, "replica"))))
    if not number:
        return SummaryItem("ranks", "ranks", ("unknown: there is no profile",), spare=True)
    if max(*ranks, *replicas) < 2:
        return SummaryItem("ranks", "ranks", (number, "a straggler needs at least two"))
    found = {side: [row for row in rows if row.get(f"{side}_straggler") is True] for side in ("new", "baseline")}
    if not any(found.values()):
        return SummaryItem("ranks", "ranks", (number, "no straggler", *_slowest(diff)), lines=2)
    if found["baseline"] == found["new"]:
        late = [quantity.pair(row.get("baseline_late_ms"), row.get("new_late_ms"), "ms") for row in found["new"]]
        names = [safe_text(row.get("name"), 40) for row in found["new"]]
        parts = [f"{name}, on average {text} late" for name, text in zip(names, late, strict=True)]
    else:
        parts = [_straggler(side, row) for side, rows in found.items() for row in rows]
    return SummaryItem(
        "ranks", "ranks", (number, f"straggler {parts[0]}", *parts[1:], *_slowest(diff)), "caution", lines=2
    )


def _slowest(diff: Diff) -> tuple[str, ...]:
    """The mean step of the ranks, and that of the slowest one, beside the step of the whole job."""
    metric = next((name for name in PROFILED_RANKS if diff.metric(f"{name}@max") is not None), "")
    mean, slowest = diff.metric(metric), diff.metric(f"{metric}@max")
    if diff.headline != PATH or mean is None or slowest is None:
        return ()
    pairs = [quantity.pair(delta.baseline, delta.new, delta.unit) for delta in (mean, slowest)]
    return (f"step: mean {pairs[0]}, slowest {pairs[1]}",)


def _change(counts: Sequence[int], noun: str) -> str:
    """``8 ranks``, ``4 → 8 ranks``, or nothing."""
    if not max(counts):
        return ""
    return count(counts[0], noun) if counts[0] == counts[1] else f"{counts[0]} → {count(counts[1], noun)}"


def _straggler(side: str, row: Row) -> str:
    late = row.get(f"{side}_late_ms")
    text = safe_text(row.get("name"), 40)
    if not quantity.is_number(late):
        return f"{text} ({side})"
    return f"{text}, on average {quantity.quantity(late, 'ms')} late ({side})"


def quality_item(diff: Diff) -> SummaryItem:
    """Missing, damaged or omitted data."""
    if not diff.quality:
        return SummaryItem("quality", "quality", ("no data missing or left out",))
    serious = any(map(is_serious, diff.quality))
    # Warnings are not cut. Those that do not fit are listed in full below the summary, notes in the report.
    where = "warnings below, full list in report.html" if serious else "in report.html"
    shorter = ((f"{quality_counts(diff.quality)}: {where}",),)
    mood = "caution" if serious else ""
    return SummaryItem("quality", "quality", tuple(quality_texts(diff.quality)), mood, shorter=shorter)
