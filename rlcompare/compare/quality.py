"""What a reader should know about the data of each side (``Diff.quality``): missing, damaged, inferred or left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlcompare.compare.inputs import SIDES, SideInput
from rlcompare.compare.overall import SPEED
from rlcompare.compare.runs import known
from rlcompare.model.diff import Delta, Finding

Records = Sequence[Mapping[str, Any]]

_SEVERITY = {"info": "info", "warning": "caution"}
_SIDE_NAMES = {"baseline": "Baseline", "new": "New side"}
_SHOWN = 4

VARIES = 0.5
"""A step time whose standard deviation over steps is more than this part of its mean is called uneven."""

FAR_APART = 1.5
"""Runs of a side of which one takes so many times as long as another are hardly runs of the same."""

LONGER = 0.02
"""A profile that exceeds training's own timer of its steps by more than this part holds more than the steps; the marks
and the timer are set a little apart."""

_TIMES_SKIPPED = {"compute": "computation", "comm": "communication", "step": "the step's wall time"}


def quality_findings(
    given: Mapping[str, SideInput],
    findings: Records,
    times: Records,
    gaps: Records,
    invalid: Records,
    memory: Records,
    idle: Records,
    uneven: Records,
    profiled: Sequence[tuple[str, int, float, float | None]],
    left_out: Records,
    headline: Sequence[Delta],
) -> tuple[Finding, ...]:
    """All findings; cautions first, then by side.

    Args:
        given: the inputs by side.
        findings: rows of ``finding``: what the sources had to say.
        times: rows of ``time_sample``.
        gaps: rows of ``reported_gap``.
        invalid: rows of ``metric_sample``.
        memory: rows of ``memory_peak``.
        idle: rows of ``idle_step``.
        uneven: rows of ``uneven_steps``.
        profiled: what ``training.profiled_steps`` gives.
        left_out: rows of ``left_out``.
        headline: what tells whether the runs of a side do the same work: the headline, and the number of kernels.
    """
    made = [_of_source(row, given) for row in findings]
    made += [_skipped(row, given) for row in times if row["metric"] in _TIMES_SKIPPED and row["missing"]]
    made += [_gap(row) for row in gaps]
    made += [_invalid(row, given) for row in invalid if row["invalid"]]
    made += [_uneven_times(row, given) for row in invalid if row["name"] == SPEED and _varies(row)]
    made += [_slow(row, given) for row in invalid if row["name"] == SPEED and row["grade"]]
    made += [_left_out(row, given) for row in left_out]
    made += [finding for side in SIDES for finding in _apart(side, headline)]
    made += _memory(memory)
    made += [_idle(row, given) for row in idle]
    made += [_uneven(row, given) for row in uneven]
    made += [
        _longer(side, outside)
        for side, _, step, outside in profiled
        if outside is not None and outside < -LONGER * step
    ]
    return tuple(sorted(dict.fromkeys(made), key=lambda finding: finding.severity != "caution"))


def _finding(key: str, side: str, severity: str, message: str) -> Finding:
    return Finding(key, None, None, severity, f"{_SIDE_NAMES[side]}: {message}")


def _where(row: Mapping[str, Any], given: Mapping[str, SideInput]) -> str:
    """The run, where its side has several."""
    stores = given[row["side"]].stores
    return f"{stores[row['run']].name}: " if len(stores) > 1 else ""


def _of_source(row: Mapping[str, Any], given: Mapping[str, SideInput]) -> Finding:
    times = f" ({row['times']} times)" if row["times"] > 1 else ""
    severity = _SEVERITY.get(row["severity"], "caution")
    return _finding(row["key"], row["side"], severity, f"{_where(row, given)}{row['message']}{times}")


def _skipped(row: Mapping[str, Any], given: Mapping[str, SideInput]) -> Finding:
    what = _TIMES_SKIPPED[row["metric"]]
    text = f"{what} is unknown on {row['missing']} of {row['members']} ranks, and its mean skips them."
    return _finding("partly_measured", row["side"], "caution", _where(row, given) + text)


def _gap(row: Mapping[str, Any]) -> Finding:
    reported, ours = (f"{row[name] / 1e6:,.3f} ms" for name in ("reported_ns", "ours_ns"))
    text = (
        f"the profiler itself reported {reported} of {row['what']} in step {row['step']}, and its events give {ours}"
        f" ({row['times']} such {'case' if row['times'] == 1 else 'cases'}); the events were used."
    )
    return _finding("reported_differs", row["side"], "caution", text)


def _invalid(row: Mapping[str, Any], given: Mapping[str, SideInput]) -> Finding:
    steps = f"{row['invalid']} {'step' if row['invalid'] == 1 else 'steps'}"
    text = f"{row['name']} has no usable value in {steps}, which its mean leaves out."
    return _finding("not_a_number", row["side"], "caution", _where(row, given) + text)


def _varies(row: Mapping[str, Any]) -> bool:
    return (row["value"] or 0.0) > 0 and (row["deviation"] or 0.0) > VARIES * row["value"]


def _uneven_times(row: Mapping[str, Any], given: Mapping[str, SideInput]) -> Finding:
    part = f"{row['deviation'] / row['value']:.0%}".replace("%", " %")
    text = (
        f"{SPEED} varies by {part} (standard deviation over {row['steps']} steps), so that its mean says little:"
        " was the machine busy with something else?"
    )
    return _finding("uneven_times", row["side"], "caution", _where(row, given) + text)


def _slow(row: Mapping[str, Any], given: Mapping[str, SideInput]) -> Finding:
    what = "every step ran under a profiler or was warm-up" if row["grade"] == 1 else "every step was warm-up"
    text = f"{what}, so that its times are larger than those of plain steps."
    return _finding("no_plain_step", row["side"], "caution", _where(row, given) + text)


def _left_out(row: Mapping[str, Any], given: Mapping[str, SideInput]) -> Finding:
    reasons = [
        f"{row[key]} {words}"
        for key, words in (
            ("warmup", "of warm-up"),
            ("profiled", "under a profiler"),
            ("unshared", "that the other side does not have or count"),
        )
        if row[key]
    ]
    text = (
        f"the times of training are means over {row['counted']} of {row['steps']} steps: without {', '.join(reasons)}."
    )
    return _finding("steps_left_out", row["side"], "info", _where(row, given) + text)


def _apart(side: str, deltas: Sequence[Delta]) -> list[Finding]:
    """Runs of a side of which one takes, or does, far more than another: the first measure that tells."""
    for delta in deltas:
        values = known(delta.samples[side])
        if len(values) > 1 and 0 < FAR_APART * min(values) < max(values):
            low, high = (f"{value:,.4g} {delta.unit}".rstrip() for value in (min(values), max(values)))
            text = (
                f"its {len(values)} runs are far apart, {delta.metric} from {low} to {high}, so that their mean says"
                " little: do they do the same work?"
            )
            return [_finding("runs_apart", side, "caution", text)]
    return []


def _memory(peaks: Records) -> list[Finding]:
    """Sides whose memory was recorded by different components only."""
    if not peaks or any(row["main"] for row in peaks):
        return []
    components = [", ".join(dict.fromkeys(row["component"] for row in peaks if row["side"] == side)) for side in SIDES]
    message = (
        f"The runs have no component of memory in common (baseline: {components[0]}; new side: {components[1]}),"
        " so their peaks are not compared."
    )
    return [Finding("memory.component", components[0], components[1], "caution", message)]


def _idle(row: Mapping[str, Any], given: Mapping[str, SideInput]) -> Finding:
    members = row["members"]
    shown = ", ".join(members[:_SHOWN]) + (f" and {len(members) - _SHOWN} more" if len(members) > _SHOWN else "")
    text = f"nothing ran on the device in step {row['step']} of {shown}: all of that step counts as preparing."
    return _finding("idle_step", row["side"], "caution", _where(row, given) + text)


def _uneven(row: Mapping[str, Any], given: Mapping[str, SideInput]) -> Finding:
    most, fewest = (f"{row[which]} holds {_numbers(row[f'{which}_steps'])}" for which in ("most", "fewest"))
    text = f"the ranks hold different steps ({most}, {fewest}); each is averaged over its own."
    return _finding("uneven_steps", row["side"], "caution", _where(row, given) + text)


def _longer(side: str, outside_ns: float) -> Finding:
    text = (
        f"the profile is {-outside_ns / 1e6:,.1f} ms longer than timing_s/step of the steps that it is of: it also"
        " holds what comes after a step, such as testing or a checkpoint."
    )
    return _finding("profile_longer", side, "caution", text)


def _numbers(steps: Sequence[int]) -> str:
    shown = ", ".join(map(str, steps[:_SHOWN])) + (f", … ({len(steps)})" if len(steps) > _SHOWN else "")
    return f"{'step' if len(steps) == 1 else 'steps'} {shown}" if steps else "no step"
