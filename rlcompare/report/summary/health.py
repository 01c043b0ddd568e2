"""Importance sampling, ranks, and the quality of the data."""

from __future__ import annotations

from collections.abc import Sequence

from rlcompare.compare.overall import PATH
from rlcompare.language import mark, tr
from rlcompare.model.diff import NOT_COMPARED, Diff, Row
from rlcompare.model.words import SIDES, Health, SideName
from rlcompare.report import quantity
from rlcompare.report.findings import count, is_serious, quality_counts, quality_texts
from rlcompare.report.sentences import said
from rlcompare.report.sides import side_label
from rlcompare.report.step_parts import rows_of
from rlcompare.report.summary.item import SummaryItem
from rlcompare.report.tone import PROFILED_RANKS
from rlcompare.text import safe_text

_ADVICE_LIMIT = 330
_HEALTH = (
    (("rollout_is_eff_sample_size",), "ESS"),
    (("rollout_is_mean",), mark("mean")),
    (("rollout_is_veto_fraction",), mark("vetoed")),
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
    parts = [f"{tr(label)} {_before_and_after(row)}" for label, rows in found for row in rows]
    outside = [(stem, row) for stem, row in values.items() if row.get("new_health") == Health.OUTSIDE]
    if not parts:  # such as rollout_is_std alone
        others = list(values.items())[: len(_HEALTH)]
        parts = [safe_text(f"{stem.removeprefix('rollout_is_')} {_before_and_after(row)}", 80) for stem, row in others]
    if not parts:
        text = tr("not measured: no importance-sampling metric was recorded")
        return SummaryItem("sampling", tr("rollout IS"), (text,), spare=True)
    if not outside:
        return SummaryItem("sampling", tr("rollout IS"), tuple(parts))
    named = [
        tr("{metric} (ideal {range})", metric=stem.removeprefix("rollout_is_"), range=said(str(row.get("ideal"))))
        for stem, row in outside
    ]
    left = [safe_text(tr("outside: {metric}", metric=named[0]), 80), *(safe_text(name, 80) for name in named[1:])]
    advice = next((str(row.get("advice")) for _, row in outside if row.get("advice")), "")
    full, brief = (safe_text(said(text), _ADVICE_LIMIT) for text in (advice, advice.partition(";")[0]))
    texts = (*parts, *left, *((full,) if full else ()))
    shorter = ((*parts, *left, *filter(None, (brief,))), (*parts, *left), tuple(left))
    return SummaryItem("sampling", tr("rollout IS"), texts, "caution", lines=4, shorter=shorter)


def _before_and_after(row: Row) -> str:
    """Both values; without an arrow if their meanings differ."""
    baseline, new = quantity.brief(row.get("baseline")), quantity.brief(row.get("new"))
    apart = tr("{old} and {new} (not compared)", old=baseline, new=new)
    return apart if row.get(NOT_COMPARED) else f"{baseline} → {new}"


def ranks_item(diff: Diff) -> SummaryItem:
    """How many ranks there are, and which are late."""
    rows = [row for row in rows_of(diff, "ranks") if row.get("name") is not None]
    sides = (diff.baseline, diff.new)
    ranks = [max((run.ranks for run in side.runs), default=0) for side in sides]
    replicas = [max((run.replicas for run in side.runs), default=0) for side in sides]
    number = " + ".join(filter(None, (_change(ranks, "rank"), _change(replicas, "replica"))))
    if not number:
        return SummaryItem("ranks", tr("ranks"), (tr("unknown: there is no profile"),), spare=True)
    if max(*ranks, *replicas) < 2:
        return SummaryItem("ranks", tr("ranks"), (number, tr("a straggler needs at least two")))
    found = {side: [row for row in rows if row.get(f"{side}_straggler") is True] for side in reversed(SIDES)}
    if not any(found.values()):
        return SummaryItem("ranks", tr("ranks"), (number, tr("no straggler"), *_slowest(diff)), lines=2)
    if found["baseline"] == found["new"]:
        late = [quantity.pair(row.get("baseline_late_ms"), row.get("new_late_ms"), "ms") for row in found["new"]]
        names = [safe_text(row.get("name"), 40) for row in found["new"]]
        parts = [
            tr("{rank}, on average {time} late", rank=name, time=text) for name, text in zip(names, late, strict=True)
        ]
    else:
        parts = [_straggler(side, row) for side, rows in found.items() for row in rows]
    first = tr("straggler {rank}", rank=parts[0])
    return SummaryItem("ranks", tr("ranks"), (number, first, *parts[1:], *_slowest(diff)), "caution", lines=2)


def _slowest(diff: Diff) -> tuple[str, ...]:
    """The mean step of the ranks, and that of the slowest one, beside the step of the whole job."""
    metric = next((name for name in PROFILED_RANKS if diff.metric(f"{name}@max") is not None), "")
    mean, slowest = diff.metric(metric), diff.metric(f"{metric}@max")
    if diff.headline != PATH or mean is None or slowest is None:
        return ()
    pairs = [quantity.pair(delta.baseline, delta.new, delta.unit) for delta in (mean, slowest)]
    return (tr("step: mean {mean}, slowest {slowest}", mean=pairs[0], slowest=pairs[1]),)


def _change(counts: Sequence[int], noun: str) -> str:
    """``8 ranks``, ``4 → 8 ranks``, or nothing."""
    if not max(counts):
        return ""
    return count(counts[0], noun) if counts[0] == counts[1] else f"{counts[0]} → {count(counts[1], noun)}"


def _straggler(side: SideName, row: Row) -> str:
    late = row.get(f"{side}_late_ms")
    text = safe_text(row.get("name"), 40)
    if not quantity.is_number(late):
        return f"{text} ({side_label(side)})"
    shown = {"rank": text, "time": quantity.quantity(late, "ms"), "side": side_label(side)}
    return tr("{rank}, on average {time} late ({side})", **shown)


def quality_item(diff: Diff) -> SummaryItem:
    """Missing, damaged or omitted data."""
    if not diff.quality:
        return SummaryItem("quality", tr("quality"), (tr("no data missing or left out"),))
    serious = any(map(is_serious, diff.quality))
    # Warnings are not cut. Those that do not fit are listed in full below the summary, notes in the report.
    where = tr("warnings below, full list in report.html") if serious else tr("in report.html")
    shorter = ((tr("{counts}: {first}", counts=quality_counts(diff.quality), first=where),),)
    mood = "caution" if serious else ""
    return SummaryItem("quality", tr("quality"), tuple(quality_texts(diff.quality)), mood, shorter=shorter)
