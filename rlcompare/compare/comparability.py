"""Whether the two sides may be compared: checks their settings and environments for differences.

Each difference is a finding. Severe ones forbid a comparison unless they were declared (``--varied``); cautions are
shown above the numbers; the rest is information.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from rlcompare.compare.captures import captures_found
from rlcompare.compare.lone_settings import SAMPLED, lone_settings
from rlcompare.compare.records import (
    SEVERAL_PROCESSES,
    Capture,
    GroupOfCaptures,
    KernelMatchSummary,
    LoneMark,
    Lost,
    Measured,
    MetricApart,
    Training,
)
from rlcompare.compare.telling import place_of
from rlcompare.model.diff import Comparability, Finding, Side
from rlcompare.model.words import SIDES, Comparable, Severity, SideName

INFO, CAUTION, SEVERE = Severity.INFO, Severity.CAUTION, Severity.SEVERE

UNBOUNDED = 999
"""Upper end of a range in ``c_release`` that has no known last verl release."""

MATCHED_ENOUGH = 0.8
"""If less than this fraction of the kernels' time has a match on the other side, the sides did different work."""

KERNELS_UNLIKE = "shapes"
"""The key of the finding that they did: the change under test itself may be why."""

DECLARED = "Declared to differ. "
"""How findings begin whose difference was declared."""

_MARKED = "steps.marked"
_SEVERE = ("chip", "world_size", "executor", "device", "device_name")
_INFO = (
    "profiler.export_type",
    "profiler.schedule",
    "profiler.mstx*",
    "profiler.gc_detect_threshold",
    "*.profiler.*",
    "data.seed",
)
_CAUTION = (
    "cann",
    "torch",
    "torch_npu",
    "mindspore",
    "profiler.*",
    "parallel.*",
    "tool",
    "model*",
    "batch*",
    "length*",
    "data.*",
    "actor_rollout_ref.*",
    "critic.*",
    "algorithm.*",
    "trainer.device",
    "trainer.n*",
)
_SCORES = (
    "algorithm.adv_estimator",
    "custom_reward_function.*",
    "data.custom_cls.*",
    "data.datagen.*",
    "data.train_files",
    "data.val_files",
    "data.*_key",
    "reward*.custom_reward_function.*",
    "reward*.enable",
    "reward*.model.path",
    "reward*.reward_kwargs*",
    "reward*.reward_manager*",
)
"""Settings without which scores mean the same: the data, the reward and the algorithm."""
_MODEL = "actor_rollout_ref.model.path"
_CONSEQUENCES = {
    "chip": "times on different chips do not show the effect of a software change",
    "world_size": "the work per rank and the cost of communication differ",
    "device": "times on different devices do not show the effect of a software change",
    "device_name": "times on different devices do not show the effect of a software change",
    "executor": "one side was recorded on the host only",
    "cann": "kernels and their names may differ between CANN releases",
    "torch_npu": "operators may map to different kernels",
    "torch": "operators may be dispatched differently",
    "profiler.with_stack": "recording call stacks slows the host",
    "profiler.record_shapes": "recording shapes slows the host",
    "profiler.profile_memory": "recording memory slows the host",
    "profiler.with_modules": "recording modules slows the host",
    "profiler.aic_metrics": "sampling AI Core counters slows kernels",
    "tool": "the profilers measure differently",
    "data.train_batch_size": "the work per step differs",
    "data.max_prompt_length": "the work per step may differ",
    "data.max_response_length": "the work per step may differ",
    "actor_rollout_ref.rollout.n": "the work per step differs",
    _MODEL: "the models differ",
}

_OF_HOST = frozenset({"cann", "driver", "executor", "host", "python", "tool", "torch", "torch_npu"})
_OF_HOST_BEGIN = ("env.", "profiler.")
"""Findings on what may change the host's time for the same calls, and how others of them begin."""


def have_other_scores(env: Mapping[SideName, Mapping[str, str]]) -> bool:
    """Whether data, reward or algorithm are known to differ, so that levels of scores cannot be compared."""
    old, new = (env[side] for side in SIDES)
    return any(_is_of_scores(key) and _name(old[key]) != _name(new[key]) for key in old.keys() & new.keys())


def _is_of_scores(key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in _SCORES)


def _name(value: str) -> str:
    """A setting without the folder of a file: copies of a file lie in different places."""
    return value.rpartition("/")[2]


def is_declared(key: str, varied: Sequence[str]) -> bool:
    """Whether a difference was declared: ``varied`` holds its key, a glob over it, or the word before its dot."""
    return any(fnmatchcase(key, pattern) or key.startswith(f"{pattern}.") for pattern in varied)


def assess(
    sides: Mapping[SideName, Side],
    captures: Sequence[Capture],
    groups: Sequence[GroupOfCaptures],
    kernels: KernelMatchSummary,
    kernel_matched: float | None,
    measured: Sequence[Measured],
    training: Sequence[Training],
    apart: Sequence[MetricApart],
    lone_marks: Sequence[LoneMark],
    varied: Sequence[str],
    lost: Sequence[Lost] = (),
) -> Comparability:
    """The differences between the sides, and whether the sides may be compared.

    Args:
        kernel_matched: share of the kernels' time that was matched at all.
        varied: declared differences.
        lost: what is missing in the tables of the profiles.
    """
    held = {side: [capture for capture in captures if capture.side == side] for side in SIDES}
    findings = _environment(sides, held, _have_metrics(training), varied)
    if bool(held["baseline"]) != bool(held["new"]):
        findings += [*_lone_profile(held, training), *_other_meanings(apart)]
    else:
        findings += [*_training(training), *_other_meanings(apart)]
        findings += [
            *_extent(sides, held),
            *(_lone_marks(mark, _have_metrics(training)) for mark in lone_marks if not mark.counted),
            *captures_found(groups),
            *_measured(measured),
            *(_lost(lost) if lost else _kernels(kernels, kernel_matched, measured)),
        ]
    judged = tuple(_declared(finding) if is_declared(finding.key, varied) else finding for finding in findings)
    severities = {finding.severity for finding in judged}
    status = (
        Comparable.NOT_COMPARABLE
        if SEVERE in severities
        else Comparable.CAUTION
        if CAUTION in severities
        else Comparable.COMPARABLE
    )
    return Comparability(status, tuple(sorted(judged, key=_rank)))


def is_host_alike(comparability: Comparability) -> bool:
    """Whether nothing is known to differ that changes the host's time for the same calls, but for its CPU."""
    keys = [finding.key for finding in comparability.findings]
    return not any(key in _OF_HOST or key.startswith(_OF_HOST_BEGIN) for key in keys)


def are_steps_known(comparability: Comparability) -> bool:
    """Whether times per step have a meaning on both sides."""
    return all(finding.key != _MARKED or finding.severity != SEVERE for finding in comparability.findings)


def _rank(finding: Finding) -> tuple[int, int, str]:
    """Sort key: most severe first; then findings that tell more."""
    return (SEVERE, CAUTION, INFO).index(finding.severity), place_of(finding.key), finding.key


def _declared(finding: Finding) -> Finding:
    return Finding(finding.key, finding.baseline, finding.new, INFO, f"{DECLARED}{finding.message}")


def _have_metrics(training: Sequence[Training]) -> bool:
    """Whether both sides have training's own measurements, so that these and not the profiles decide about speed."""
    return all(any(logged.side == side for logged in training) for side in SIDES)


def _environment(
    sides: Mapping[SideName, Side],
    captures: Mapping[SideName, Sequence[Capture]],
    have_metrics: bool,
    varied: Sequence[str],
) -> list[Finding]:
    known = {side: {**sides[side].env, **_facts(captures[side])} for side in SIDES}
    findings, keys = [], known["baseline"].keys() | known["new"].keys()
    for key in sorted(keys):
        baseline, new = known["baseline"].get(key), known["new"].get(key)
        if baseline == new:
            continue
        if key.partition(".")[0] == SAMPLED:
            findings.extend(_sampled(key, baseline, new, captures, CAUTION if have_metrics else SEVERE))
        elif baseline is not None and new is not None:
            findings.append(_difference(key, baseline, new))
    declared = {
        key for key in keys if is_declared(key, varied) and not is_declared(f"{key.rpartition('.')[0]}.*", varied)
    }
    return [*findings, *lone_settings(known["baseline"], known["new"], declared)]


def _facts(captures: Sequence[Capture]) -> dict[str, str]:
    """Facts from the captures that the environment does not contain."""
    told = {
        "tool": {capture.tool for capture in captures if capture.tool is not None},
        "executor": {capture.executor for capture in captures if capture.executor is not None},
    }
    return {key: ", ".join(sorted(values)) for key, values in told.items() if values}


def _difference(key: str, baseline: str, new: str) -> Finding:
    if key == "profiler.level":
        return _level(baseline, new)
    severity, consequence = severity_of(key), _CONSEQUENCES.get(key)
    if _is_of_scores(key):
        consequence = "scores may not be comparable"
    if key == _MODEL and _name(baseline) == _name(new):
        severity, consequence = INFO, "the models have the same name, but different paths"
    message = f"{key} differs: {baseline} against {new}" + (f"; {consequence}." if consequence else ".")
    return Finding(key, baseline, new, severity, message)


def severity_of(key: str) -> Severity:
    """How much a difference in a version or setting matters."""
    if key in _SEVERE:
        return SEVERE
    if any(fnmatchcase(key, pattern) for pattern in _INFO):
        return INFO
    return CAUTION if any(fnmatchcase(key, pattern) for pattern in (*_CAUTION, *_SCORES)) else INFO


def _sampled(
    key: str,
    baseline: str | None,
    new: str | None,
    captures: Mapping[SideName, Sequence[Capture]],
    severity: Severity,
) -> list[Finding]:
    """Reports sides that sampled different ticks. Their work differs: a decode step depends on the context length."""
    phase = key.partition(".")[2]
    what = phase or "the profile"
    if baseline is not None and new is not None:
        message = f"Different parts of {what} were sampled: {baseline} against {new}; the work in them differs."
        return [Finding(key, baseline, new, severity, message)]
    where, other = ("new side", "baseline") if baseline is None else ("baseline", "new side")
    if phase and not any(capture.phase == phase for capture in captures["new" if new is None else "baseline"]):
        return []  # that side has no captures of this phase, which another finding reports
    message = f"The {where} holds only a sample of {what} ({baseline or new}), the {other} all of it."
    return [Finding(key, baseline, new, severity, message)]


def _level(baseline: str, new: str) -> Finding:
    if "level_none" in (baseline.lower(), new.lower()):
        message = "One side was profiled without device data (level_none): only host ranges can be compared."
        return Finding("profiler.level", baseline, new, SEVERE, message)
    message = (
        f"The profiler levels differ ({baseline} against {new}): higher levels slow the step,"
        " lower levels record less detail about kernels."
    )
    return Finding("profiler.level", baseline, new, CAUTION, message)


def _extent(sides: Mapping[SideName, Side], captures: Mapping[SideName, Sequence[Capture]]) -> list[Finding]:
    findings = []
    names = [sorted({capture.member for capture in captures[side]}) for side in SIDES]
    ranks = [max((run.ranks for run in sides[side].runs), default=0) for side in SIDES]
    replicas = [max((run.replicas for run in sides[side].runs), default=0) for side in SIDES]
    for noun, (baseline, new) in (("rank", ranks), ("replica", replicas)):
        if baseline != new:
            message = f"{_count(baseline, noun)} against {new}: means over different {noun}s are compared."
            findings.append(Finding(f"{noun}s", str(baseline), str(new), CAUTION, message))
    if not findings and names[0] != names[1]:
        message = "The sides have different ranks" + (
            ", and were paired because each has only one." if ranks[0] + replicas[0] == 1 else "."
        )
        findings.append(Finding("ranks", _some(names[0]), _some(names[1]), INFO, message))
    steps = [len(sides[side].steps) for side in SIDES]
    if steps[0] != steps[1]:
        message = f"{_count(steps[0], 'step')} against {steps[1]}: means over different steps are compared."
        findings.append(Finding("steps", str(steps[0]), str(steps[1]), CAUTION, message))
    return findings


def _lone_marks(mark: LoneMark, have_metrics: bool) -> Finding:
    marked, other = ("baseline", "new side") if mark.side == "baseline" else ("new side", "baseline")
    message = (
        f"Only the {marked} marks its steps. The number of steps on the {other} is unknown, and so are its times per"
        " step. If it has one step, declare this with --varied steps.marked."
    )
    baseline, new = ("yes" if side == mark.side else "no" for side in SIDES)
    return Finding(_MARKED, baseline, new, CAUTION if have_metrics else SEVERE, message)


def _lone_profile(held: Mapping[SideName, Sequence[object]], training: Sequence[Training]) -> list[Finding]:
    """That one side alone has a profile. If the other alone has metrics, nothing was measured on both."""
    has = ["yes" if held[side] else "no" for side in SIDES]
    where, other = ("baseline", "new side") if held["baseline"] else ("new side", "baseline")
    logged = {run.side for run in training}
    if logged and not any(held[side] for side in logged):
        message = (
            f"Only the {where} has a profile, and only the {other} has training metrics: the sides measured different"
            " things."
        )
        return [Finding("profile", has[0], has[1], SEVERE, message)]
    message = f"Only the {where} has a profile: only the metrics logged by training are compared."
    return [*_training(training), Finding("profile", has[0], has[1], CAUTION, message)]


def _training(training: Sequence[Training]) -> list[Finding]:
    """Whether both sides logged metrics, and whether they did so for the same steps."""
    runs = {side: [run for run in training if run.side == side] for side in SIDES}
    has = ["yes" if runs[side] else "no" for side in SIDES]
    if has == ["no", "no"]:
        return []
    if "no" in has:
        where = "baseline" if has[0] == "yes" else "new side"
        missing = ", and a gate counts them as missing" if has[0] == "yes" else ""
        message = f"Only the {where} has training metrics: speed is compared by the profile only{missing}."
        return [Finding("metrics", has[0], has[1], CAUTION, message)]
    steps = [max(run.steps for run in runs[side]) for side in SIDES]
    shared = max(run.shared for run in training)
    if steps[0] == steps[1] == shared:
        return []
    spans = [_span(min(run.first for run in runs[side]), max(run.last for run in runs[side])) for side in SIDES]
    sizes = f"{_count(steps[0], 'training step')} against {steps[1]}"
    if not shared:
        message = f"{sizes}, no number in common ({spans[0]}, {spans[1]}): means over different steps are compared."
        return [Finding("training_steps", spans[0], spans[1], CAUTION, message)]
    message = f"{sizes}: means cover at most the {shared} that both sides have."
    shown = spans if steps[0] == steps[1] else [str(number) for number in steps]
    return [Finding("training_steps", shown[0], shown[1], INFO, message)]


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


def _other_meanings(apart: Sequence[MetricApart]) -> list[Finding]:
    """Metrics that are not compared because verl changed their meaning; one finding per change."""
    changes: dict[str, list[MetricApart]] = {}
    for row in apart:
        changes.setdefault(changed_meaning(row), []).append(row)
    findings = []
    for change, rows in changes.items():
        names = _some([row.name.rpartition("/")[2] for row in rows])
        message = f"Not compared, because verl changed what they mean ({change}): {names}."
        baseline = _releases(rows[0].baseline_low, rows[0].baseline_high)
        new = _releases(rows[0].new_low, rows[0].new_high)
        findings.append(Finding("metrics.meaning", baseline, new, CAUTION, message))
    return findings


def changed_meaning(metric: MetricApart) -> str:
    """A clause on the meaning of a metric on each side."""
    return f"baseline: {' or '.join(metric.baseline)}; new side: {' or '.join(metric.new)}"


def _releases(low: int, high: int) -> str:
    """The releases of verl between two numbers of ``c_release``."""
    first, last = (f"{number // 1000}.{number // 10 % 100}.{number % 10}" for number in (low, high))
    if high == UNBOUNDED:
        return f"verl {first} or later"
    return f"verl {first}" if low == high else f"verl {first} to {last}" if low else f"verl up to {last}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f", … ({len(names)})" if len(names) > 4 else "")


def _measured(measured: Sequence[Measured]) -> list[Finding]:
    """Host data that only one side recorded."""
    findings = []
    domains = {(row.side, row.domain) for row in measured}
    of_runtime = [row for row in measured if row.domain.startswith("api ") and row.domain != "api framework"]
    domains |= {(row.side, "api") for row in of_runtime}
    idle = ", and it is unknown what the device waits for"
    for domain, what in (("phase", "phases"), ("operator", "framework operators"), ("api", "calls of the runtime")):
        baseline, new = ("yes" if (side, domain) in domains else "no" for side in SIDES)
        if baseline != new:
            where = "baseline" if baseline == "yes" else "new side"
            message = f"Only the {where} has {what}: they cannot be compared{'' if domain == 'phase' else idle}."
            findings.append(Finding(what, baseline, new, CAUTION, message))
    return findings


def _lost(lost: Sequence[Lost]) -> list[Finding]:
    """Profiles that lost rows, so that what they lack looks like other work; and traces whose processes are one."""
    merged = [row for row in lost if row.what == SEVERAL_PROCESSES]
    findings = []
    if sides := _sides_of([row for row in lost if row not in merged]):
        message = f"Kernels or collectives are lost on {_on(sides)}: the change is not explained."
        has = [("some lost" if side in sides else "all") for side in SIDES]
        findings.append(Finding("rows", has[0], has[1], CAUTION, message))
    if sides := _sides_of(merged):
        message = (
            f"A trace of {_on(sides)} holds several processes, whose launches cannot be told apart: the change is not"
            " explained."
        )
        has = [("several in a trace" if side in sides else "one per trace") for side in SIDES]
        findings.append(Finding("processes", has[0], has[1], CAUTION, message))
    return findings


def _sides_of(lost: Sequence[Lost]) -> list[SideName]:
    return [side for side in SIDES if any(row.side == side for row in lost)]


def _on(sides: Sequence[SideName]) -> str:
    return "both sides" if len(sides) > 1 else "the baseline" if sides[0] == "baseline" else "the new side"


def _kernels(kernels: KernelMatchSummary, matched: float | None, measured: Sequence[Measured]) -> list[Finding]:
    has = [("yes" if Measured(side, "kernel") in measured else "no") for side in SIDES]
    if has[0] != has[1]:
        where = "baseline" if has[0] == "yes" else "new side"
        message = f"Only the {where} has kernels: computation cannot be compared."
        return [Finding("kernels", has[0], has[1], CAUTION, message)]
    share = kernels.exact_share
    if matched is None or share is None or share >= MATCHED_ENOUGH:
        return []
    if matched >= MATCHED_ENOUGH:
        message = f"{_part(share)} of the kernels' time has the same input shapes on both sides: shapes vary."
        return [Finding(KERNELS_UNLIKE, None, None, INFO, message)]
    others = (
        "the remaining kernels are different, or have different inputs" if matched else "kernels or their inputs differ"
    )
    message = f"{_part(matched)} of the kernels' time has a match on the other side: {others}."
    return [Finding(KERNELS_UNLIKE, None, None, CAUTION, message)]


def _part(share: float) -> str:
    """The subject of a sentence on a part that is too small."""
    if not share:
        return "None"
    return f"Only {share * 100:.0f} %" if share >= 0.005 else "Less than 1 %"
