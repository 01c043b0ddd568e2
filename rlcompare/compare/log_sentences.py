"""The clauses of a sentence that say why the work of a step changed (``log_work``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rlcompare.compare.log_tells import BATCHES, CALLS, SLOWEST, TURNS, amount_text
from rlcompare.compare.log_work import is_more_than_luck
from rlcompare.compare.phrases import percent
from rlcompare.compare.timers import TrainingLog
from rlcompare.compare.training import TOTAL
from rlcompare.model.digits import grouped


def _work_text(log: TrainingLog, delta: float) -> tuple[str, str, str]:
    """By the first of these metrics that changed in the direction of the time, and not by far less than the other."""
    names = ("perf/total_num_tokens", "response_length/mean")
    along = {name: log.changes[name] for name in names if name in log.changes and log.changes[name].delta * delta > 0}
    most = max((abs(change.relative) for change in along.values()), default=0.0)
    name = next((name for name, change in along.items() if abs(change.relative) >= 0.5 * most), None)
    if name is None:
        return "as the work changed", "workload", ""
    change = log.changes[name]
    text = f"as responses are {'longer' if delta > 0 else 'shorter'}"
    if name == names[0] and change.baseline:
        text = f"as a step has {percent(change.new / change.baseline)} {'more' if delta > 0 else 'fewer'} tokens"
    for word in ("response", "prompt"):
        lengths = log.changes.get(f"{word}_length/mean")
        if lengths is not None and is_more_than_luck(lengths) and lengths.delta * delta > 0:
            text += f" (mean {word} {amount_text(lengths.baseline)} → {amount_text(lengths.new)})"
    return (text, "workload", TOTAL) if name == names[0] else (text, "metrics", name)


def _ranks_text(log: TrainingLog, delta: float) -> tuple[str, str, str]:
    mean = log.changes["global_seqlen/mean"]
    word = "more" if mean.delta > 0 else "fewer"
    ranks = "more" if mean.delta < 0 else "fewer"
    text = f"as {ranks} ranks share a batch: each has {percent(mean.new / mean.baseline)} {word} tokens"
    return text, "metrics", "global_seqlen/mean"


def _tail_text(log: TrainingLog, delta: float) -> tuple[str, str, str]:
    found = log.change("response_length/max", f"{SLOWEST}response_length")
    if found is None:
        return "as the longest response changed", "metrics", ""
    change = found[1]
    text = f"as the longest response has {amount_text(change.new)} tokens instead of {amount_text(change.baseline)}"
    mean = log.changes.get("response_length/mean")
    if mean is not None:
        means = f"{amount_text(mean.baseline)} to {amount_text(mean.new)}"
        text += f", while the mean went from {means}: the tail of the batch"
    return text, "metrics", found[0]


def _imbalance_text(log: TrainingLog, delta: float) -> tuple[str, str, str]:
    busiest, mean = log.change("global_seqlen/balanced_max", "global_seqlen/max"), log.changes["global_seqlen/mean"]
    if busiest is None:
        return "by the imbalance between ranks", "metrics", "global_seqlen/mean"
    before, after = busiest[1].baseline / mean.baseline, busiest[1].new / mean.new
    text = (
        f"by imbalance: the busiest rank has {grouped(after, 2)} times the mean tokens instead of {grouped(before, 2)}"
    )
    return text, "metrics", busiest[0]


def _batches_text(log: TrainingLog, delta: float) -> tuple[str, str, str]:
    change = log.changes[BATCHES]
    text = f"as a step takes {amount_text(change.new)} generated batches instead of {amount_text(change.baseline)}"
    return text, "metrics", BATCHES


def _turns_text(log: TrainingLog, delta: float) -> tuple[str, str, str]:
    found = log.change(*TURNS.metrics)
    if found is None:
        return "as the number of turns per sample changed", "metrics", ""
    text = f"as a sample takes {amount_text(found[1].new)} turns instead of {amount_text(found[1].baseline)}"
    calls = log.change(*CALLS.metrics)
    if calls and calls[1].is_telling:
        text += f", and {amount_text(calls[1].new)} tool calls instead of {amount_text(calls[1].baseline)}"
    return text, "metrics", found[0]


WHY: Mapping[str, Callable[[TrainingLog, float], tuple[str, str, str]]] = {
    "batches": _batches_text,
    "imbalance": _imbalance_text,
    "ranks": _ranks_text,
    "tail": _tail_text,
    "turns": _turns_text,
    "work": _work_text,
}
"""For each reason (``Reason.reason``), and the ms that it explains, its clause, and section and row of its evidence."""
