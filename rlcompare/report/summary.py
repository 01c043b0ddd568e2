"""The summary of a diff: the first part of the terminal output and of every report (docs/design.md §7).

In this order: the sides and their differences, the headline with signs of unstable training and its workload, the
most likely cause, changes within a run if there are any, the phases (or compute, communication and free) that sum to
the headline, importance-sampling health, ranks, data quality, the unexplained rest, the next command to type. The rest
is the one number computed here: the headline's change minus the changes of the parts shown beside it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from rlcompare.compare.evidence import RUN_NOISE
from rlcompare.compare.overall import OUTSIDE, PATH, SPEED
from rlcompare.compare.runs import known
from rlcompare.language import mark, tr
from rlcompare.model.diff import NOT_COMPARED, Delta, Diff, Row, Side
from rlcompare.model.words import SIDES, Comparable, Health, Presence, Severity
from rlcompare.report import quantity
from rlcompare.report.findings import change_of_text, count, differences, is_serious, quality_counts, quality_texts
from rlcompare.report.run_events import event_parts
from rlcompare.report.sentences import said
from rlcompare.report.shares import part, part_of_change
from rlcompare.report.step_parts import number_of, parts_of_step, rows_of
from rlcompare.report.symptoms import symptom_parts
from rlcompare.report.tone import PROFILED_RANKS, tone_of, word_of
from rlcompare.report.workload import large_differences, workload_texts
from rlcompare.text import ELLIPSIS, safe_text

COMMAND_LIMIT = 400
"""Longest command to suggest. It may exceed the line width: a shortened command could not be pasted."""

_PARTS_SHOWN = 6
_PATH_LIMIT = 40
_CAUSE_LIMIT = 330
_STATUS = {
    Comparable.COMPARABLE: mark("comparable"),
    Comparable.CAUTION: mark("with caution"),
    Comparable.NOT_COMPARABLE: mark("NOT COMPARABLE"),
}
_HEALTH = (
    (("rollout_is_eff_sample_size",), "ESS"),
    (("rollout_is_mean",), mark("mean")),
    (("rollout_is_veto_fraction",), mark("vetoed")),
    (("mismatch_kl", "kl"), "KL"),
)
_HEALTH_PREFIXES = ("mismatch", "rollout_corr", "actor/rollout_corr")


@dataclass(frozen=True)
class SummaryItem:
    """One entry of the summary.

    Attributes:
        key: ``baseline``, ``new``, ``differs``, ``headline``, ``stability`` (only if there is a symptom), ``workload``,
            ``cause``, ``events``, ``phases``, ``sampling``, ``ranks``, ``quality``, ``rest``, ``next``.
        label: the word in front.
        parts: texts of one entry; a line may be broken between them.
        lines: maximum number of lines on a terminal if space is short; ``None``: as many as it needs.
        spare: whether it only says that nothing is known, so that it may be left out on a terminal if space is short.
        shorter: alternatives to ``parts`` with the same content in fewer words, the longest first, if space is short.
    """

    key: str
    label: str
    parts: tuple[str, ...]
    tone: str = ""
    lines: int | None = 1
    shorter: tuple[tuple[str, ...], ...] = ()
    spare: bool = False

    def first(self, number: int) -> tuple[str, ...]:
        """The first ``number`` parts. If there are more, the last one says how many."""
        more = len(self.parts) - number
        return (*self.parts[:number], tr("+{n} more", n=more)) if more > 0 else self.parts


def summary_items(diff: Diff, document: str) -> tuple[SummaryItem, ...]:
    """The summary of a diff; ``document`` is the path of the diff.json that goes with it."""
    headline = diff.metric(diff.headline)
    return (
        _side("baseline", diff.baseline, extent_text(diff, "baseline")),
        _side("new", diff.new, extent_text(diff, "new")),
        _differs(diff),
        _headline(diff, headline),
        *_stability(diff),
        _workload(diff),
        _cause(diff, headline),
        *_within_run(diff),
        _phases(diff, headline),
        _sampling(diff),
        _ranks(diff),
        _quality(diff),
        _rest(diff, headline),
        SummaryItem("next", tr("next"), (next_command(diff, document),)),
    )


def label_text(side: Side) -> str:
    """The name of a side."""
    return _end_of(side.label) or tr("(no label)")


def extent_text(diff: Diff, name: str) -> str:
    """The size of a side: profiled and timed steps, and sampled ticks."""
    side = diff.baseline if name == "baseline" else diff.new
    row = next((row for row in rows_of(diff, "metrics") if row.get("name") == diff.headline), {})
    timed = row.get(f"{name}_steps")
    parts = [runs_text(side)]
    if quantity.is_number(timed) and any(run.ranks or run.replicas for run in side.runs):
        steps = f"{timed:,.0f}"
        in_all = tr("{n} timed in all runs", n=steps) if len(side.runs) > 1 else tr("{n} timed", n=steps)
        parts = [tr("{runs} profiled", runs=parts[0]), in_all]
    for key, value in side.env.items():
        # Sampled ticks count as steps of the profile, but each is only a part of a training step.
        word, _, phase = key.partition(".")
        if word == "sampled":
            only = tr("{what} only", what=value)
            parts.append(safe_text(f"{phase}: {only}" if phase else only, 60))
    return tr(", ").join(parts)


def runs_text(side: Side) -> str:
    """The size of a side: ``2 runs × 8 ranks, 4 steps``."""
    if not side.runs:
        return tr("no runs")
    steps = len(side.steps) or max(run.steps for run in side.runs)
    counted = _spread([run.ranks for run in side.runs], "rank"), _spread([run.replicas for run in side.runs], "replica")
    if not any(counted):
        numbers = {"runs": count(len(side.runs), "run"), "steps": count(steps, "step")}
        return tr("{runs} without a profile, {steps}", **numbers)
    size = f"{count(len(side.runs), 'run')} × {' + '.join(filter(None, counted))}"
    return tr(", ").join((size, count(steps, "step")))


def _spread(numbers: Sequence[int], noun: str) -> str:
    """``8 ranks``, or ``6 to 8 ranks`` if runs differ; empty if there are none."""
    least, most = min(numbers), max(numbers)
    if not most or least == most:
        return count(least, noun) if most else ""
    return tr("{least} to {most}", least=least, most=count(most, noun))


def next_command(diff: Diff, document: str) -> str:
    """The suggested next command: declare differences, look at one rank, or judge the diff."""
    severe = [finding.key for finding in diff.comparability.findings if finding.severity == Severity.SEVERE]
    sides = _side_options(diff)
    candidates = []
    if diff.comparability.status == Comparable.NOT_COMPARABLE and severe:
        candidates.append(f"rlcompare diff {sides} --varied {shlex.quote(','.join(dict.fromkeys(severe)))}")
        candidates.append(f"rlcompare diff -d NEW -bp BASELINE --varied {shlex.quote(','.join(dict.fromkeys(severe)))}")
    rank = _cause_rank(diff)
    if rank is not None:
        candidates.append(f"rlcompare diff {sides} --rank {rank}")
    candidates.append(f"rlcompare gate {shlex.quote(document)}")
    usable = (
        command
        for command in candidates
        if len(command) <= COMMAND_LIMIT and safe_text(command, COMMAND_LIMIT) == command
    )
    return next(usable, "rlcompare gate DIFF.json")


def _side_options(diff: Diff) -> str:
    sides = (("-d", diff.new), ("-bp", diff.baseline))
    return " ".join(f"{flag} {shlex.quote(run.path)}" for flag, side in sides for run in side.runs)


def _cause_rank(diff: Diff) -> str | None:
    if not diff.causes:
        return None
    first = diff.causes[0]
    number = (first.row if first.section == "ranks" else first.member or "").removeprefix("rank ")
    return number if number.isascii() and number.isdigit() else None


def _side(key: str, side: Side, extent: str) -> SummaryItem:
    label = label_text(side)
    paths = [_end_of(path) for path in _paths(side)]
    short = (label, extent)
    return SummaryItem(key, label_of(key), (*short, *(path for path in paths if path != label)), shorter=(short,))


def label_of(side: str) -> str:
    """The word for a side: ``baseline`` or ``new``."""
    return {"baseline": tr("baseline"), "new": tr("new")}.get(side, side)


def _paths(side: Side) -> tuple[str, ...]:
    """The path of a side's run, or the folder of all its runs; if there is none, no path is that of the side."""
    paths = {run.path for run in side.runs}
    found = paths if len(paths) == 1 else {path.rpartition("/")[0] for path in paths}
    return tuple(found) if len(found) == 1 and all(found) else ()


def _end_of(path: str) -> str:
    """The end of a path, which is more specific than its start."""
    return safe_text(path if len(path) <= _PATH_LIMIT else ELLIPSIS + path[1 - _PATH_LIMIT :], _PATH_LIMIT)


def _differs(diff: Diff) -> SummaryItem:
    status = diff.comparability.status
    findings = diff.comparability.findings
    other_work = status == Comparable.COMPARABLE and large_differences(diff)
    parts = [tr("comparable settings, but the workload differs") if other_work else tr(_STATUS[status])]
    parts += differences(findings)
    known = {finding.key for finding in findings}
    environment = rows_of(diff, "env")
    parts += [
        f"{safe_text(row.get('name'), 40)} {change_of_text(row.get('baseline'), row.get('new'))}"
        for row in environment
        if row.get("name") not in known and row.get("baseline") != row.get("new")
    ]
    if len(parts) == 1:
        recorded = diff.baseline.env and diff.new.env
        parts.append(tr("no recorded setting differs") if recorded else tr("no settings were recorded"))
    mood = "caution" if status == Comparable.CAUTION or other_work else ""
    mood = "worse" if status == Comparable.NOT_COMPARABLE else mood
    return SummaryItem("differs", tr("differs"), tuple(parts), mood)


def _headline(diff: Diff, delta: Delta | None) -> SummaryItem:
    metric = diff.headline
    label = tr("step") if metric in ("time.step", PATH) else tr("headline")
    if delta is None or (delta.baseline is None and delta.new is None):
        return SummaryItem("headline", label, (tr("no time was measured on either side"), *_memory(diff)), "caution")
    if delta.delta is None:
        missing = tr("not measured on the baseline") if delta.baseline is None else tr("not measured on the new side")
        parts = [f"{metric} {quantity.pair(delta.baseline, delta.new, delta.unit)}", missing]
        return SummaryItem("headline", label, tuple(parts), "caution")
    mood = tone_of(delta, diff)
    word = word_of(delta, diff)
    samples = [len(known(delta.samples.get(side, ()))) for side in SIDES]
    against = {"runs": count(samples[0], "run"), "others": samples[1]}
    number = tr("{runs} against {others}", **against) if max(samples) > 1 else tr("one run per side")
    values = f"{safe_text(metric, 40)} {quantity.pair(delta.baseline, delta.new, delta.unit)}"
    difference = quantity.moved(delta.delta, delta.unit, (delta.baseline, delta.new))
    moved = f"{difference} ({quantity.change_of(delta.delta, delta.ratio, delta.baseline)})"
    return SummaryItem("headline", label, tuple(part for part in (values, moved, word, number) if part), mood)


def _memory(diff: Diff) -> tuple[str, ...]:
    """Changes of the memory peaks: the main result if no time was measured, as in memory snapshots."""
    peaks = [delta for delta in diff.overall if delta.metric.startswith("memory.") and delta.delta is not None]
    return tuple(
        f"{delta.metric} {quantity.pair(delta.baseline, delta.new, delta.unit)}"
        f" ({quantity.change_of(delta.delta, delta.ratio, delta.baseline)})"
        for delta in peaks
    )


def _stability(diff: Diff) -> tuple[SummaryItem, ...]:
    if not diff.symptoms:
        return ()
    full, shorter, mood = symptom_parts(diff)
    return (SummaryItem("stability", tr("stability"), full, mood, lines=3, shorter=shorter),)


def _workload(diff: Diff) -> SummaryItem:
    texts, differs = workload_texts(diff)
    return SummaryItem("workload", tr("workload"), texts, "caution" if differs else "")


def _may_be_luck(headline: Delta | None) -> str:
    """A clause for a step time of one run a side that changed by no more than runs of one setting may differ."""
    if headline is None or headline.metric != SPEED or headline.ratio is None or abs(headline.ratio - 1) >= RUN_NOISE:
        return ""
    if any(len(known(values)) > 1 for values in headline.samples.values()):
        return ""
    return tr("; two runs of one setting may differ by {part}", part=f"{RUN_NOISE:.0%}".replace("%", " %"))


def _cause(diff: Diff, headline: Delta | None) -> SummaryItem:
    if not diff.causes:
        still = headline is not None and tone_of(headline, diff) == "noise"
        if still:
            return SummaryItem("cause", tr("cause"), (tr("no change to explain"),))
        none = tr("none found: unexplained{why}", why=_may_be_luck(headline))
        return SummaryItem("cause", tr("cause"), (none,))
    parts = [tr("{part}: ", part=part_of_change(diff, diff.causes[0].share, diff.causes[0].delta_ms))]
    parts += [tr("And {part}: ", part=part(diff, cause.share, cause.delta_ms)) for cause in diff.causes[1:2]]
    first, *second = (
        start + safe_text(said(cause.text), _CAUSE_LIMIT) for cause, start in zip(diff.causes, parts, strict=False)
    )
    left = [_left_after(diff, shown) for shown in (2, 1)]
    return SummaryItem(
        "cause", tr("cause"), (first, *second, *left[0]), lines=None, shorter=((first, *left[1]), (first,))
    )


def _within_run(diff: Diff) -> tuple[SummaryItem, ...]:
    """Since when a run is slower or less healthy; nothing if no run changes."""
    parts, tone = event_parts(diff)
    return (SummaryItem("events", tr("within run"), parts, tone, lines=2),) if parts else ()


def _left_after(diff: Diff, shown: int) -> tuple[str, ...]:
    """The parts of all causes but the first ``shown``, and of what none explains: with theirs, the whole change."""
    others, left = diff.causes[shown:], diff.unexplained
    sums = sum(cause.share for cause in others), sum(cause.delta_ms for cause in others)
    more, rest = part(diff, *sums), part(diff, left.share, left.delta_ms) if left else ""
    if not others:
        return (tr("Unexplained {rest}.", rest=rest),) if left else ()
    if not left:
        return (tr("Other causes {more}.", more=more),)
    return (tr("Other causes {more}, unexplained {rest}.", more=more, rest=rest),)


def _size(headline: Delta | None) -> tuple[float, ...]:
    """The values of the headline in ms. The parts of its change are formatted like them."""
    if headline is None:
        return ()
    factor = 1e3 if headline.unit == "s" else 1.0
    return tuple(abs(number_of(value)) * factor for value in (headline.baseline, headline.new))


def _phases(diff: Diff, headline: Delta | None) -> SummaryItem:
    label, rows = parts_of_step(diff)
    if not rows:
        return SummaryItem("phases", tr(label), (tr("no device time was recorded"),))
    ordered = sorted(rows, key=lambda row: -abs(number_of(row.get("delta"))))
    size = _size(headline)
    full, *shorter = (_summed(ordered, shown, size) for shown in range(min(len(ordered), _PARTS_SHOWN), 0, -1))
    return SummaryItem("phases", tr(label), full, lines=3, shorter=tuple(shorter))


def _summed(rows: Sequence[Row], shown: int, size: Sequence[float]) -> tuple[str, ...]:
    """The first ``shown`` rows, and the sum of the others."""
    parts = [_part(row, size) for row in rows[:shown]]
    if len(rows) > shown:
        total = sum(number_of(row.get("delta")) for row in rows[shown:])
        parts.append(tr("{n} more {moved}", n=len(rows) - shown, moved=quantity.moved(total, "ms", size)))
    return tuple(parts)


def _part(row: Row, size: Sequence[float]) -> str:
    name, delta, ratio = tr(safe_text(row.get("name"), 40)), row.get("delta"), row.get("ratio")
    if not quantity.is_number(delta):
        return f"{name} {quantity.ABSENT}"
    moved = f"{name} {quantity.moved(delta, 'ms', size)}"
    words: dict[str, str] = {Presence.NEW_ONLY: tr("added"), Presence.BASELINE_ONLY: tr("gone")}
    word = words.get(str(row.get("presence")))
    if word is None and quantity.is_number(ratio):
        word = quantity.change(ratio)
    return f"{moved} ({word})" if word else moved


def _sampling(diff: Diff) -> SummaryItem:
    values: dict[str, Row] = {}
    for row in rows_of(diff, "metrics"):
        prefix, _, stem = str(row.get("name")).rpartition("/")
        if stem.startswith("rollout_is_") or prefix in _HEALTH_PREFIXES:
            values.setdefault(stem, row)
    found = [(label, [values[stem] for stem in stems if stem in values][:1]) for stems, label in _HEALTH]
    parts = [f"{tr(label)} {_before_and_after(row)}" for label, rows in found for row in rows]
    outside = [(stem, row) for stem, row in values.items() if row.get("new_health") == Health.OUTSIDE]
    if not parts and not outside:
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
    full, brief = (safe_text(said(text), _CAUSE_LIMIT) for text in (advice, advice.partition(";")[0]))
    texts = (*parts, *left, *((full,) if full else ()))
    shorter = ((*parts, *left, *filter(None, (brief,))), (*parts, *left), tuple(left))
    return SummaryItem("sampling", tr("rollout IS"), texts, "caution", lines=4, shorter=shorter)


def _before_and_after(row: Row) -> str:
    """Both values; without an arrow if their meanings differ."""
    baseline, new = quantity.brief(row.get("baseline")), quantity.brief(row.get("new"))
    apart = tr("{old} and {new} (not compared)", old=baseline, new=new)
    return apart if row.get(NOT_COMPARED) else f"{baseline} → {new}"


def _ranks(diff: Diff) -> SummaryItem:
    rows = [row for row in rows_of(diff, "ranks") if row.get("name") is not None]
    sides = (diff.baseline, diff.new)
    ranks = [max((run.ranks for run in side.runs), default=0) for side in sides]
    replicas = [max((run.replicas for run in side.runs), default=0) for side in sides]
    number = " + ".join(filter(None, (_change(ranks, "rank"), _change(replicas, "replica"))))
    if not number:
        return SummaryItem("ranks", tr("ranks"), (tr("unknown: there is no profile"),), spare=True)
    if max(*ranks, *replicas) < 2:
        return SummaryItem("ranks", tr("ranks"), (number, tr("a straggler needs at least two")))
    found = {side: [row for row in rows if row.get(f"{side}_straggler") is True] for side in ("new", "baseline")}
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


def _straggler(side: str, row: Row) -> str:
    late = row.get(f"{side}_late_ms")
    text = safe_text(row.get("name"), 40)
    if not quantity.is_number(late):
        return f"{text} ({label_of(side)})"
    shown = {"rank": text, "time": quantity.quantity(late, "ms"), "side": label_of(side)}
    return tr("{rank}, on average {time} late ({side})", **shown)


def _quality(diff: Diff) -> SummaryItem:
    if not diff.quality:
        return SummaryItem("quality", tr("quality"), (tr("no data missing or left out"),))
    serious = any(map(is_serious, diff.quality))
    # Warnings are not cut. Those that do not fit are listed in full below the summary, notes in the report.
    where = tr("warnings below, full list in report.html") if serious else tr("in report.html")
    shorter = ((tr("{counts}: {first}", counts=quality_counts(diff.quality), first=where),),)
    mood = "caution" if serious else ""
    return SummaryItem("quality", tr("quality"), tuple(quality_texts(diff.quality)), mood, shorter=shorter)


def _rest(diff: Diff, headline: Delta | None) -> SummaryItem:
    label, rows = parts_of_step(diff)
    deltas = [row.get("delta") for row in rows if row.get("name") != OUTSIDE]
    if headline is None or headline.delta is None or not any(map(quantity.is_number, deltas)):
        return SummaryItem("rest", tr("rest"), (tr("unknown: there is no change to break down"),), spare=True)
    change = headline.delta * (1e3 if headline.unit == "s" else 1)
    rest = change - sum(map(number_of, deltas))
    moved, left = (quantity.moved(value, "ms", _size(headline)) for value in (change, rest))
    text = (
        tr("{left} of {moved} is not in any phase", left=left, moved=moved)
        if label == "phases"
        else tr("{left} of {moved} is not in any part above", left=left, moved=moved)
    )
    outside = _outside_profile(diff)
    return SummaryItem("rest", tr("rest"), (text, *outside), lines=1 + len(outside))


def _outside_profile(diff: Diff) -> tuple[str, ...]:
    """The part of a profiled step that its profile does not cover, if training timed the step."""
    outside, step = diff.metric("time.outside_profile"), diff.metric("time.profiled_step")
    if outside is None or step is None or max(number_of(outside.baseline), number_of(outside.new)) <= 0:
        return ()
    parts = [quantity.pair(delta.baseline, delta.new, "ms") for delta in (outside, step)]
    return (tr("not in the profile: {part} of the profiled step's {whole}", part=parts[0], whole=parts[1]),)
