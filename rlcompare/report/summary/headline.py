"""The headline of the summary, with its workload and with signs of unstable training."""

from __future__ import annotations

from rlcompare.compare.overall import PATH, PERIOD
from rlcompare.compare.steps_and_ranks import few_steps
from rlcompare.language import listed, tr
from rlcompare.model.diff import Delta, Diff
from rlcompare.report import quantity
from rlcompare.report.summary.item import SummaryItem
from rlcompare.report.symptoms import symptom_parts
from rlcompare.report.tone import PROFILED_STEPS
from rlcompare.report.workload import workload_texts
from rlcompare.text import safe_text


def headline_item(diff: Diff, delta: Delta | None) -> SummaryItem:
    """The headline: both values and the change. What it is worth is in the answer."""
    metric = diff.headline
    label = tr("step") if metric in ("time.step", PATH, PERIOD) else tr("headline")
    if delta is None or (delta.baseline is None and delta.new is None):
        return SummaryItem("headline", label, (_absent(diff), *_memory(diff)), "caution")
    if delta.delta is None:
        missing = tr("not measured on the baseline") if delta.baseline is None else tr("not measured on the new side")
        parts = [f"{metric} {quantity.pair(delta.baseline, delta.new, delta.unit)}", missing]
        return SummaryItem("headline", label, tuple(parts), "caution")
    values = f"{safe_text(metric, 40)} {quantity.pair(delta.baseline, delta.new, delta.unit)}"
    difference = quantity.moved(delta.delta, delta.unit, (delta.baseline, delta.new))
    change = f"{difference} ({quantity.change_of(delta.delta, delta.ratio, delta.baseline)})"
    return SummaryItem("headline", label, (values, change, *_in_few_steps(diff)), shorter=((values, change),))


def _absent(diff: Diff) -> str:
    """What to say where no headline was measured; parts of the step may have been."""
    metrics = diff.sections["metrics"].rows if "metrics" in diff.sections else ()
    if any(str(row["name"]).startswith("timing_s/") for row in metrics):
        return tr("the time of the whole step was not measured on both sides")
    return tr("no time was measured on either side")


def _in_few_steps(diff: Diff) -> tuple[str, ...]:
    """The steps of a profile that hold most of its change, if they are few."""
    if not diff.causes or diff.headline not in PROFILED_STEPS or "steps" not in diff.sections:
        return ()
    steps = diff.sections["steps"]
    names = [safe_text(name, 40) for name in few_steps(steps)]
    if not names:
        return ()
    return (tr("mostly in {n} of {all} steps: {names}", n=len(names), all=len(steps.rows), names=listed(names)),)


def _memory(diff: Diff) -> tuple[str, ...]:
    """Changes of the memory peaks: the main result if no time was measured, as in memory snapshots."""
    peaks = [delta for delta in diff.overall if delta.metric.startswith("memory.") and delta.delta is not None]
    return tuple(
        f"{delta.metric} {quantity.pair(delta.baseline, delta.new, delta.unit)}"
        f" ({quantity.change_of(delta.delta, delta.ratio, delta.baseline)})"
        for delta in peaks
    )


def stability_items(diff: Diff) -> tuple[SummaryItem, ...]:
    """Signs of unstable training, if there are any."""
    if not diff.symptoms:
        return ()
    full, shorter, mood = symptom_parts(diff)
    return (SummaryItem("stability", tr("stability"), full, mood, lines=3, shorter=shorter),)


def workload_item(diff: Diff) -> SummaryItem:
    """How much work both sides did."""
    texts, differs = workload_texts(diff)
    return SummaryItem("workload", tr("workload"), texts, "caution" if differs else "")
