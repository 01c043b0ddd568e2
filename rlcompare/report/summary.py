"""The summary of a diff: the lines that a terminal shows first, and that the other reports open with (DESIGN §6).

In this order: the sides and what differs between them, the headline with its workload, the most likely cause, the
phases (or compute, communication and free) that sum to the headline, importance-sampling health, ranks, data quality,
the unexplained rest, the next command to type. The rest is the one number made here: the headline's change less the
changes of the parts shown beside it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from rlcompare.model.diff import Delta, Diff, Finding, Row, Side, Value
from rlcompare.report import quantity
from rlcompare.report.text import ELLIPSIS, safe_text
from rlcompare.report.tone import NOISE_RELATIVE, tone_of

OUTSIDE = "(outside)"
COMMAND_LIMIT = 88
"""Longest command that is suggested, so that it fits on one line of the terminal summary."""

_PARTS_SHOWN = 6
_PATH_LIMIT = 40
_VALUE_LIMIT = 20
_TEXT_LIMIT = 400
_SEVERITIES = ("severe", "caution", "warning", "info")
_STATUS = {"comparable": "comparable", "caution": "with caution", "not_comparable": "NOT COMPARABLE"}
_DEVICE_PARTS = (
    ("time.preparing", "preparing"),
    ("time.compute", "compute"),
    ("time.exposed_comm", "exposed communication"),
    ("time.free", "free"),
    ("time.tail", "tail"),
)
_HEALTH = (
    (("rollout_is_eff_sample_size",), "ESS"),
    (("rollout_is_mean",), "mean"),
    (("rollout_is_veto_fraction",), "vetoed"),
    (("mismatch_kl", "kl"), "KL"),
)
_HEALTH_PREFIXES = ("mismatch", "rollout_corr")


@dataclass(frozen=True)
class SummaryItem:
    """One entry of the summary.

    Attributes:
        key: ``baseline``, ``new``, ``differs``, ``headline``, ``workload``, ``cause``, ``phases``, ``sampling``,
            ``ranks``, ``quality``, ``rest``, ``next``.
        label: the word in front.
        parts: texts that belong together; a line may be broken between them.
        lines: most lines that it takes on a terminal if there are none to spare.
    """

    key: str
    label: str
    parts: tuple[str, ...]
    tone: str = ""
    lines: int = 1

    def first(self, number: int) -> tuple[str, ...]:
        """The first so many parts; where there are more, the last says how many."""
        more = len(self.parts) - number
        return (*self.parts[:number], f"+{more} more") if more > 0 else self.parts


def summary_items(diff: Diff, document: str) -> tuple[SummaryItem, ...]:
    """The summary of a diff; ``document`` is the path of the diff.json that goes with it."""
    headline = diff.metric(diff.headline)
    return (
        SummaryItem("baseline", "baseline", _side_parts(diff.baseline)),
        SummaryItem("new", "new", _side_parts(diff.new)),
        _differs(diff),
        _headline(diff.headline, headline),
        _workload(diff),
        _cause(diff, headline),
        _phases(diff, headline),
        _sampling(diff),
        _ranks(diff),
        _quality(diff),
        _rest(diff, headline),
        SummaryItem("next", "next", (next_command(diff, document),)),
    )


def label_text(side: Side) -> str:
    """The name of a side."""
    return _end_of(side.label) or "(no label)"


def runs_text(side: Side) -> str:
    """How much a side holds: ``2 runs × 8 ranks, 4 steps``."""
    if not side.runs:
        return "nothing was read"
    ranks = sorted({run.ranks for run in side.runs})
    counted = _count(ranks[0], "rank") if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]} ranks"
    steps = len(side.steps) or max(run.steps for run in side.runs)
    return f"{_count(len(side.runs), 'run')} × {counted}, {_count(steps, 'step')}"


def next_command(diff: Diff, document: str) -> str:
    """What to type next: declare what differs, look at one rank, or judge the diff."""
    severe = [finding.key for finding in diff.comparability.findings if finding.severity == "severe"]
    sides = _side_options(diff)
    candidates = []
    if diff.comparability.status == "not_comparable" and severe:
        candidates.append(f"rlcompare diff {sides} --varied {shlex.quote(','.join(dict.fromkeys(severe)))}")
        candidates.append(f"rlcompare diff -d NEW -bp BASELINE --varied {shlex.quote(','.join(dict.fromkeys(severe)))}")
    rank = _cause_rank(diff)
    if rank is not None:
        candidates.append(f"rlcompare diff {sides} --rank {rank}")
    candidates.append(f"rlcompare gate {shlex.quote(document)}")
    usable = (command for command in candidates if len(command) <= COMMAND_LIMIT and safe_text(command) == command)
    return next(usable, "rlcompare gate DIFF.json")


def _side_options(diff: Diff) -> str:
    sides = (("-d", diff.new), ("-bp", diff.baseline))
    return " ".join(f"{flag} {shlex.quote(run.path)}" for flag, side in sides for run in side.runs)


def _cause_rank(diff: Diff) -> str | None:
    if not diff.causes or diff.causes[0].section != "ranks":
        return None
    number = diff.causes[0].row.removeprefix("rank ")
    return number if number.isascii() and number.isdigit() else None


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _side_parts(side: Side) -> tuple[str, ...]:
    label = label_text(side)
    paths = [_end_of(run.path) for run in side.runs[:1]]
    return (label, runs_text(side), *(path for path in paths if path != label))


def _end_of(path: str) -> str:
    """The end of a path, which tells more than its beginning."""
    return safe_text(path if len(path) <= _PATH_LIMIT else ELLIPSIS + path[1 - _PATH_LIMIT :], _PATH_LIMIT)


def _differs(diff: Diff) -> SummaryItem:
    status = diff.comparability.status
    findings = sorted(diff.comparability.findings, key=_severity)
    parts = [_STATUS[status], *map(_difference, findings)]
    known = {finding.key for finding in findings}
    environment = _rows(diff, "env")
    parts += [
        f"{safe_text(row.get('name'), 40)} {_sides(row.get('baseline'), row.get('new'))}"
        for row in environment
        if row.get("name") not in known and row.get("baseline") != row.get("new")
    ]
    if len(parts) == 1:
        recorded = diff.baseline.env and diff.new.env
        parts.append("nothing recorded differs" if recorded else "what they were made with was not recorded")
    mood = {"not_comparable": "worse", "caution": "caution"}.get(status, "")
    return SummaryItem("differs", "differs", tuple(parts), mood)


def _difference(finding: Finding) -> str:
    if finding.baseline is None and finding.new is None:
        return safe_text(finding.message, 120)
    return f"{safe_text(finding.key, 40)} {_sides(finding.baseline, finding.new)}"


def _sides(baseline: Value, new: Value) -> str:
    return " → ".join(quantity.ABSENT if value is None else safe_text(value, _VALUE_LIMIT) for value in (baseline, new))


def _severity(finding: Finding) -> int:
    return _SEVERITIES.index(finding.severity) if finding.severity in _SEVERITIES else len(_SEVERITIES)


def _headline(metric: str, delta: Delta | None) -> SummaryItem:
    label = "step" if metric == "time.step" else "headline"
    if delta is None or (delta.baseline is None and delta.new is None):
        return SummaryItem("headline", label, (f"{safe_text(metric, 40)} was not measured",), "caution")
    if delta.delta is None:
        missing = "baseline" if delta.baseline is None else "new side"
        parts = [f"{metric} {quantity.pair(delta.baseline, delta.new, delta.unit)}", f"not measured on the {missing}"]
        return SummaryItem("headline", label, tuple(parts), "caution")
    mood = tone_of(delta)
    word = {"worse": "WORSE", "better": "better", "noise": f"within {quantity.share(NOISE_RELATIVE)}"}.get(mood, "")
    samples = [len(delta.samples.get(side, ())) for side in ("baseline", "new")]
    number = f"{samples[0]} runs against {samples[1]}" if max(samples) > 1 else "one run a side"
    values = f"{safe_text(metric, 40)} {quantity.pair(delta.baseline, delta.new, delta.unit)}"
    difference = quantity.signed_quantity(delta.delta, delta.unit, headline_decimals(delta))
    moved = f"{difference} ({quantity.change_of(delta.delta, delta.ratio)})"
    return SummaryItem("headline", label, tuple(part for part in (values, moved, word, number) if part), mood)


def _workload(diff: Diff) -> SummaryItem:
    rows = _rows(diff, "workload")
    if not rows:
        return SummaryItem("workload", "workload", ("not recorded: a longer step may simply have had more to do",))
    known = [row for row in rows if row.get("baseline") is not None and row.get("new") is not None]
    changed = [row for row in known if row.get("baseline") != row.get("new")]
    if changed:
        return SummaryItem("workload", "workload", ("differs", *map(_measured, changed)), "caution")
    if not known:
        return SummaryItem("workload", "workload", ("each side recorded another measure of it",))
    same = (f"{_workload_name(row)} {quantity.quantity(row.get('new'), _unit(row))}" for row in known)
    return SummaryItem("workload", "workload", ("the same", *same))


def _workload_name(row: Row) -> str:
    return safe_text(row.get("name"), 40).removeprefix("workload.")


def _unit(row: Row) -> str:
    unit = row.get("unit")
    return unit if isinstance(unit, str) else ""


def _measured(row: Row) -> str:
    text = f"{_workload_name(row)} {quantity.pair(row.get('baseline'), row.get('new'), _unit(row))}"
    ratio = row.get("ratio")
    return f"{text} ({quantity.change(ratio)})" if quantity.is_number(ratio) else text


def _cause(diff: Diff, headline: Delta | None) -> SummaryItem:
    if diff.causes:
        cause = diff.causes[0]
        share = "" if cause.share is None else f"{quantity.share(cause.share)} of the change: "
        return SummaryItem("cause", "cause", (share + safe_text(cause.text, _TEXT_LIMIT),), lines=2)
    still = headline is not None and tone_of(headline) == "noise"
    return SummaryItem("cause", "cause", ("none to look for" if still else "none found",))


def _parts(diff: Diff) -> tuple[str, Sequence[Row]]:
    """The rows whose changes sum to the headline's, and the word for them."""
    phases = _rows(diff, "phases")
    if len([row for row in phases if row.get("name") != OUTSIDE]) > 1:
        return "phases", phases
    rows: list[Row] = []
    for metric, name in _DEVICE_PARTS:
        delta = diff.metric(metric)
        if delta is not None and (delta.baseline is not None or delta.new is not None):
            rows.append({"name": name, "presence": "both", "delta": delta.delta, "ratio": delta.ratio})
    if diff.headline != "time.step":
        rows = [row for row in rows if row["name"] not in ("preparing", "tail")]
    return "parts", rows


def headline_decimals(headline: Delta | None) -> int:
    """Decimals of all changes of the summary: those of the headline's values."""
    sizes = [] if headline is None else [_number(headline.baseline), _number(headline.new)]
    return quantity.lone_decimals(max(map(abs, sizes), default=0.0))


def _phases(diff: Diff, headline: Delta | None) -> SummaryItem:
    label, rows = _parts(diff)
    if not rows:
        return SummaryItem("phases", label, ("no device time was recorded",))
    ordered = sorted(rows, key=lambda row: -abs(_number(row.get("delta"))))
    shown, others = ordered[:_PARTS_SHOWN], ordered[_PARTS_SHOWN:]
    decimals = headline_decimals(headline)
    parts = [_part(row, decimals) for row in shown]
    if others:
        total = sum(_number(row.get("delta")) for row in others)
        parts.append(f"{len(others)} more {quantity.signed_quantity(total, 'ms', decimals)}")
    return SummaryItem("phases", label, tuple(parts), lines=3)


def _part(row: Row, decimals: int) -> str:
    name, delta, ratio = safe_text(row.get("name"), 40), row.get("delta"), row.get("ratio")
    if not quantity.is_number(delta):
        return f"{name} {quantity.ABSENT}"
    moved = f"{name} {quantity.signed_quantity(delta, 'ms', decimals)}"
    word = {"new_only": "added", "baseline_only": "gone"}.get(str(row.get("presence")))
    if word is None and quantity.is_number(ratio):
        word = quantity.change(ratio)
    return f"{moved} ({word})" if word else moved


def _sampling(diff: Diff) -> SummaryItem:
    values: dict[str, Row] = {}
    for row in _rows(diff, "metrics"):
        prefix, _, stem = str(row.get("name")).rpartition("/")
        if stem.startswith("rollout_is_") or prefix in _HEALTH_PREFIXES:
            values.setdefault(stem, row)
    found = [(label, [values[stem] for stem in stems if stem in values][:1]) for stems, label in _HEALTH]
    parts = [
        f"{label} {quantity.brief(row.get('baseline'))} → {quantity.brief(row.get('new'))}"
        for label, rows in found
        for row in rows
    ]
    if not parts:
        parts = ["not measured: no importance-sampling metric was recorded"]
    return SummaryItem("sampling", "rollout IS", tuple(parts))


def _ranks(diff: Diff) -> SummaryItem:
    rows = [row for row in _rows(diff, "ranks") if row.get("name") is not None]
    counts = [max((run.ranks for run in side.runs), default=0) for side in (diff.baseline, diff.new)]
    number = _count(counts[0], "rank") if counts[0] == counts[1] else f"{counts[0]} → {counts[1]} ranks"
    if max(counts) < 2:
        return SummaryItem("ranks", "ranks", (number, "no straggler to find among one"))
    found = {side: [row for row in rows if row.get(f"{side}_straggler") is True] for side in ("new", "baseline")}
    if not any(found.values()):
        return SummaryItem("ranks", "ranks", (number, "no straggler"))
    if found["baseline"] == found["new"]:
        late = [quantity.pair(row.get("baseline_late_ms"), row.get("new_late_ms"), "ms") for row in found["new"]]
        names = [safe_text(row.get("name"), 40) for row in found["new"]]
        parts = [f"{name}, {text} late" for name, text in zip(names, late, strict=True)]
    else:
        parts = [_straggler(side, row) for side, rows in found.items() for row in rows]
    return SummaryItem("ranks", "ranks", (number, f"straggler {parts[0]}", *parts[1:]), "caution")


def _straggler(side: str, row: Row) -> str:
    late = row.get(f"{side}_late_ms")
    text = safe_text(row.get("name"), 40)
    return f"{text}, {quantity.quantity(late, 'ms')} late ({side})" if quantity.is_number(late) else f"{text} ({side})"


def _quality(diff: Diff) -> SummaryItem:
    if not diff.quality:
        return SummaryItem("quality", "quality", ("nothing missing, nothing left out",))
    ordered: Sequence[Finding] = sorted(diff.quality, key=_severity)
    serious = sum(_severity(finding) < _SEVERITIES.index("info") for finding in ordered)
    counts = [_count(serious, "warning")] if serious else []
    counts += [_count(len(ordered) - serious, "note")] if len(ordered) > serious else []
    text = f"{', '.join(counts)}: {safe_text(ordered[0].message, 200)}"
    return SummaryItem("quality", "quality", (text,), "caution" if serious else "")


def _rest(diff: Diff, headline: Delta | None) -> SummaryItem:
    label, rows = _parts(diff)
    deltas = [row.get("delta") for row in rows if row.get("name") != OUTSIDE]
    if headline is None or headline.delta is None or not any(map(quantity.is_number, deltas)):
        return SummaryItem("rest", "rest", ("unknown: there is nothing to subtract from",))
    rest = headline.delta - sum(map(_number, deltas))
    where = "in no phase" if label == "phases" else "in none of the parts above"
    moved, left = (
        quantity.signed_quantity(value, headline.unit, headline_decimals(headline)) for value in (headline.delta, rest)
    )
    return SummaryItem("rest", "rest", (f"{left} of {moved} lies {where}",))


def _number(value: Value) -> float:
    return value if quantity.is_number(value) else 0.0


def _rows(diff: Diff, name: str) -> tuple[Row, ...]:
    section = diff.sections.get(name)
    return () if section is None else section.rows
