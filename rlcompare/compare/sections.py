"""The tables of the result (``Diff.sections``), from the rollups; in the order of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from rlcompare.compare import pairs
from rlcompare.compare.comparability import changed_meaning
from rlcompare.compare.names import polarity_of, unit_of
from rlcompare.compare.overall import OUTSIDE, mean
from rlcompare.compare.phrases import short
from rlcompare.compare.places_of_calls import text_of
from rlcompare.compare.records import (
    SEVERAL_PROCESSES,
    DeviceCounter,
    Divergence,
    KernelMatchSummary,
    Lost,
    Measured,
    MemoryCategory,
    MemoryPeak,
    MetricAggregate,
    MetricApart,
    MetricSample,
    ProfiledTimer,
    Rank,
    Step,
    TrainingPhase,
)
from rlcompare.compare.rollups import Rollups
from rlcompare.compare.rows import (
    SectionMaker,
    change_of,
    difference,
    empty,
    grouped,
    is_remainder,
    matched_share,
    ordered,
    presence_of,
    ratio,
)
from rlcompare.compare.sequences import Edits
from rlcompare.compare.sides import differing_levels
from rlcompare.compare.steps_and_ranks import ranks_section, steps_section
from rlcompare.compare.training import have_phases, health_columns, sides_of_whole_steps, timer_pairs, tokens_of
from rlcompare.model.diff import NOT_COMPARED, Delta, Row, Section, Value
from rlcompare.model.words import SIDES, Health, Polarity, Presence, SideName

_ACCOUNT = (
    "Where each nanosecond of a step went: its rows sum to the step, or to the device span where steps are not marked."
)
_PATH = (
    "Where each nanosecond of the job's step went: on each rank while the others waited for it. Its rows sum to the"
    " time from the first start of the step on any rank to its last end."
)
_EFFICIENCY = (
    "Kernels whose work follows from their shapes, or that have AI Core counters. Each input and output"
    " counts once. At most: operations that a mask or the sizes of groups leave out are counted too. Peak: of dense"
    " matrices on this chip (docs/metrics.md). Cube unit, loading, L2 hits: by AI Core counters."
)
_KERNEL_KEYS = ("input_shapes", "input_dtypes", "phase", "host_op")
_TOTAL = " Total: with the operators that they call; calls of an operator by itself count once."
_STACKS = (
    "Self time of operators by the three innermost frames of their call stacks. export_stacks drops times below a"
    " microsecond and does not say whether they are host or device times: export the same metric on both sides."
)


def make_sections(
    rollups: Rollups,
    overall: Sequence[Delta],
    env: Mapping[SideName, Mapping[str, str]],
    headline: str,
    edits: Edits,
) -> dict[str, Section]:
    """All sections by name.

    Args:
        env: the environment of each side.
        headline: the headline time of a rank, as a metric id.
        edits: where operators came or went.
    """
    maker = SectionMaker(rollups.rows(Measured))
    made = [
        maker.timed("categories", rollups.taken(pairs.Category), "kernel", note=_categories_note(env)),
        steps_section(maker, rollups.rows(Step), headline),
        ranks_section(maker, rollups.rows(Rank), headline),
        _phases(maker, rollups),
        maker.timed("account", rollups.taken(pairs.Account), "account", keys=("kind", "phase"), note=_ACCOUNT),
        maker.timed("path", rollups.taken(pairs.CriticalPath), "account", keys=("kind", "phase"), note=_PATH),
        _kernels(maker, rollups),
        maker.timed("kernel_types", rollups.taken(pairs.KernelType), "kernel", keys=("core_type",)),
        _efficiency(maker, rollups.taken(pairs.Efficiency)),
        _operators(maker, rollups.taken(pairs.Operator), edits),
        _modules(maker, rollups.taken(pairs.Module)),
        _collectives(maker, rollups),
        maker.timed("groups", rollups.taken(pairs.Group), "device"),
        maker.timed("links", rollups.taken(pairs.Link), lambda link: link.domain, keys=("transport", "group_key")),
        _counters(rollups.rows(DeviceCounter)),
        maker.timed("copies", rollups.taken(pairs.Copy), "copy"),
        _memory(maker, rollups),
        _memory_categories(rollups.rows(MemoryCategory)),
        maker.timed("stacks", rollups.taken(pairs.Stack), "stack", keys=("callers",), note=_STACKS),
        maker.timed("apis", rollups.taken(pairs.Api), lambda api: f"api {api.layer}", keys=("layer",)),
        _metrics(rollups, env),
        _workload(overall),
        _env(env),
        _msprof(maker, rollups.taken(pairs.Msprof)),
    ]
    return {section.name: section for section in made}


_CATEGORIES = (
    "The words are those of msprof-analyze: cube kernels compute matrix products, vector kernels anything else; trans"
    " are casts and transpositions."
)


def _categories_note(env: Mapping[SideName, Mapping[str, str]]) -> str:
    levels = differing_levels(env)
    if levels is None:
        return f"Kernel time by kind of work. {_CATEGORIES}"
    return (
        f"Kernel time by kind of work. {_CATEGORIES} {levels[0]} and {levels[1]} record different hints for the kind:"
        " the same kernel may be in different rows."
    )


def _phases(maker: SectionMaker, rollups: Rollups) -> Section:
    phases, training = rollups.taken(pairs.Phase), rollups.rows(TrainingPhase)
    if have_phases(training):
        return _training_phases(training, phases, rollups.rows(ProfiledTimer), tokens_of(rollups.rows(MetricSample)))
    named = [phase for phase in phases if phase.name != OUTSIDE]
    if not named:
        return empty("phases")
    walls = _is_known(phase.baseline_wall_ns for phase in named) and _is_known(phase.new_wall_ns for phase in named)
    kind = "wall" if walls else "device"
    section = maker.timed(
        "phases",
        phases,
        lambda phase: "phase" if phase.name != OUTSIDE else "marked step",  # who marks none cannot tell
        measure=f"{kind}_ns",
        note="Wall time on the host." if walls else "Computation, exposed communication and the gaps before them.",
        same={"kind": kind},
    )
    return _with_remainder(section)


def _is_known(values: Iterable[float | None]) -> bool:
    return any(value is not None for value in values)


def _with_remainder(section: Section) -> Section:
    """Removes the ratio of the time outside all phases if that remainder is close to 0."""
    baselines = {row["name"]: value for row in section.rows if isinstance(value := row["baseline"], (int, float))}
    little = is_remainder(baselines.get(OUTSIDE), baselines.values())
    rows = ({**row, "ratio": None} if little and row["name"] == OUTSIDE else row for row in section.rows)
    return replace(section, rows=tuple(rows))


def _training_phases(
    training: Sequence[TrainingPhase],
    profiled: Sequence[pairs.Phase],
    timed: Sequence[ProfiledTimer],
    tokens: Mapping[SideName, Mapping[str, float]],
) -> Section:
    maker = SectionMaker([Measured(side, "timers") for side in sides_of_whole_steps(training)])
    note = "Wall time from training's timers, in unprofiled steps where available."
    if profiled:
        note += (
            " Computation, communication and free time come from the profile, whose steps are slower. Outside profile:"
            " the rest of the timer in profiled steps."
        )
    timers = timer_pairs(training, profiled, timed, tokens)
    return _with_remainder(maker.timed("phases", timers, "timers", measure="wall_ns", note=note, same={"kind": "wall"}))


def _kernels(maker: SectionMaker, rollups: Rollups) -> Section:
    (match,) = rollups.rows(KernelMatchSummary)
    if match.by_name:
        note = "Matched by name: one side was recorded without operator types (Level0)."
    elif match.by_type:
        note = "Matched by operator type: one side was recorded without input shapes."
    elif match.loose:
        note = (
            "Matched by operator type and input shapes; by phase, host operator, number of dimensions and dtypes"
            f" where shapes vary: {', '.join(match.loose[:8])}{' …' if len(match.loose) > 8 else ''}."
        )
    else:
        note = "Matched by operator type and input shapes."
    if any(lost.what != SEVERAL_PROCESSES for lost in rollups.rows(Lost)):
        note = "Rows were lost: kernels shown as gone or called less often may be among them."
    return maker.timed("kernels", rollups.taken(pairs.Kernel), "kernel", keys=_KERNEL_KEYS, note=note)


def kernel_places(rollups: Rollups) -> tuple[Row, ...]:
    """Rows like those of the section ``kernels``, of operators that several places in the code launch, by place."""
    maker = SectionMaker(rollups.rows(Measured))
    return maker.timed("kernels", rollups.taken(pairs.KernelPlace), "kernel", keys=_KERNEL_KEYS).rows


def _efficiency(maker: SectionMaker, records: Sequence[pairs.Efficiency]) -> Section:
    """Kernels whose work is known. A row that a side lacks is unknown there: it may have had no shapes."""
    keys = ("work", "input_shapes", "input_dtypes")
    section = maker.timed("efficiency", records, "efficiency", keys=keys, note=_EFFICIENCY if records else "")
    return replace(section, rows=tuple(map(_without_calls, section.rows)))


def _operators(maker: SectionMaker, records: Sequence[pairs.Operator], edits: Edits) -> Section:
    """Operators by self time, on the device if both sides know it, else on the host.

    Self times sum to the time of all operators; total times do not, because operators call each other.
    """
    on_baseline = _is_known(record.baseline_device_self_ns for record in records)
    device = on_baseline and _is_known(record.new_device_self_ns for record in records)
    measure = "device_self_ns" if device else "host_self_ns"
    note = (
        "Time of the kernels that the operators launched themselves."
        if device
        else "Self time on the host: without the operators that they call."
    )
    section = maker.timed("operators", records, "operator", measure=measure, note=note + _TOTAL)
    if not edits.all:
        return section
    return replace(section, rows=tuple({**row, "place": _place(edits, row)} for row in section.rows))


def _place(edits: Edits, row: Row) -> str | None:
    """Where the calls that an operator has more or fewer came or went; None if that is not known."""
    calls = change_of(row, "calls")
    place = edits.place(str(row["name"]), calls) if calls else None
    if place is None:
        return None
    return text_of(place) if place.name == row["name"] else f"in {short(place.name)}, {text_of(place)}"


def _modules(maker: SectionMaker, records: Sequence[pairs.Module]) -> Section:
    """Modules by device time if both sides know it, else by host time. A module counts in those around it, too."""
    on_baseline = _is_known(record.baseline_device_ns for record in records)
    device = on_baseline and _is_known(record.new_device_ns for record in records)
    measure, note = ("device_ns", "Time of the kernels launched inside.") if device else ("host_ns", "Host time.")
    return maker.timed("modules", records, "module", measure=measure, note=note)


def _collectives(maker: SectionMaker, rollups: Rollups) -> Section:
    keys = ("group_key",)
    collectives = rollups.taken(pairs.Collective)
    whole = [maker.timed_row(record, "device", keys) for record in collectives]
    tasks = [maker.timed_row(record, "task", keys) for record in rollups.taken(pairs.CollectiveTask)]
    rows = ordered(whole, keys) + ordered(tasks, keys)
    collapsed = any(record.group_key is None for record in collectives)
    note = "Matched by kind: the sides share no communication group." if collapsed else "Matched by kind and group."
    return Section("collectives", "ms", keys, matched_share(rows), note, rows)


def _memory(maker: SectionMaker, rollups: Rollups) -> Section:
    peaks: list[Row] = []
    for component, found in grouped(lambda peak: peak.component, rollups.rows(MemoryPeak)).items():
        for what, level in _LEVELS:
            baseline, new = (mean(map(level, found[side])) for side in SIDES)
            if baseline is not None or new is not None:
                presence = presence_of(baseline is not None, new is not None)
                peaks.append(_plain(component, presence, baseline, new, what=f"peak_{what}"))
    made: list[Row] = []
    for record in rollups.taken(pairs.Allocation):
        sides = maker.completed(record, "allocation")
        baseline, new = sides.pop("baseline_amount"), sides.pop("new_amount")
        presence = presence_of(record.in_baseline, record.in_new)
        made.append({**_plain(record.name, presence, baseline, new, what=record.what), **sides})
    rows = ordered(peaks, ("what",)) + ordered(made, ("what",))
    note = "Peaks of the rank that uses most. Allocated: bytes per rank and step, by allocating operator."
    return Section("memory", "bytes", ("what",), matched_share(rows), note, rows)


_LEVELS: tuple[tuple[str, Callable[[MemoryPeak], int | None]], ...] = (
    ("allocated", lambda peak: peak.allocated_bytes),
    ("reserved", lambda peak: peak.reserved_bytes),
    ("active", lambda peak: peak.active_bytes),
)


_COUNTED = {"_bytes_per_s": ("GB/s", 1e-9), "_mhz": ("MHz", 1.0), "_percent": ("%", 1.0), "_packets": ("packets", 1.0)}
"""How names of counters end, the units in which they are shown, and the factors to these."""


def _counters(records: Sequence[DeviceCounter]) -> Section:
    """Sampled counters of devices; none of them is better or worse by itself."""
    rows: list[Row] = []
    for record in records:
        ending = next((ending for ending in _COUNTED if record.name.endswith(ending)), "")
        unit, factor = _COUNTED.get(ending, ("", 1.0))
        values = [None if value is None else value * factor for value in record[2:]]
        presence = presence_of(values[0] is not None, values[1] is not None)
        name = record.name.removesuffix(ending) + ("_packets" if unit == "packets" else "")
        row = _plain(name, presence, values[0], values[1], member=record.member, unit=unit)
        rows.append(row | {"baseline_max": values[2], "new_max": values[3], "polarity": Polarity.NEUTRAL})
    rows.sort(key=lambda row: (-_relative(row), str(row["name"]), str(row["member"])))
    note = "Means of samples, and the largest one. Packets: during the capture. Transmitted: tx; received: rx."
    return Section("counters", "", ("member",), None, note if rows else "", tuple(rows))


def _memory_categories(records: Sequence[MemoryCategory]) -> Section:
    rows: list[Row] = []
    for category, found in grouped(lambda record: record.category, records).items():
        baseline, new = (mean(record.peak_bytes for record in found[side]) for side in SIDES)
        row = _plain(category, presence_of(baseline is not None, new is not None), baseline, new)
        rows.append(row | {f"{side}_mean_bytes": mean(row.mean_bytes for row in found[side]) for side in SIDES})
    note = "Peaks by tensor category, each at its own maximum over time and ranks; means over time and ranks."
    return Section("memory_categories", "bytes", (), matched_share(rows), note if rows else "", ordered(rows, ()))


def _plain(
    name: str | None, presence: Presence, baseline: float | None, new: float | None, **further: Value
) -> dict[str, Value]:
    """A row of two numbers in the unit of its section."""
    row: dict[str, Value] = {"name": name, **further, "presence": presence, "baseline": baseline, "new": new}
    return row | {"delta": difference(baseline, new), "ratio": ratio(baseline, new)}


def _metrics(rollups: Rollups, env: Mapping[SideName, Mapping[str, str]]) -> Section:
    diverged = {row.name: row.first_divergence for row in rollups.rows(Divergence)}
    apart = {row.name: changed_meaning(row) for row in rollups.rows(MetricApart)}
    robust: dict[str, list[MetricAggregate]] = {}
    for aggregate in rollups.rows(MetricAggregate):
        robust.setdefault(aggregate.name, []).append(aggregate)
    rows: list[Row] = []
    for name, samples in groupby(rollups.rows(MetricSample), key=lambda sample: sample.name):
        found: dict[SideName, list[MetricSample]] = {side: [] for side in SIDES}
        for sample in samples:
            found[sample.side].append(sample)
        values = {side: mean([run.value for run in found[side]]) for side in SIDES}
        presence = presence_of(bool(found["baseline"]), bool(found["new"]))
        row = _plain(name, presence, values["baseline"], values["new"], unit=unit_of(name), polarity=polarity_of(name))
        logged: dict[SideName, str] = {}
        for side in SIDES:
            row[f"{side}_spread"] = mean([run.deviation for run in found[side]])
            of_runs = [run for run in robust.get(name, ()) if run.side == side]
            row[f"{side}_median"] = mean([run.median for run in of_runs])
            row[f"{side}_p95"] = mean([run.p95 for run in of_runs])
            row[f"{side}_steps"] = sum(run.steps or 0 for run in found[side]) or None
            logged_as = sorted({run.given for run in found[side]} - {name})
            row[f"{side}_logged_as"] = ", ".join(logged_as) or None
            logged[side] = logged_as[0] if logged_as else name
        row["first_divergence"] = diverged.get(name)
        if name in apart:
            row |= {"delta": None, "ratio": None, "first_divergence": None, NOT_COMPARED: apart[name]}
        rows.append(row | health_columns(name, values, env, logged))
    rows.sort(key=lambda row: (row.get("new_health") != Health.OUTSIDE, -_relative(row), str(row["name"])))
    note = (
        "Means over unprofiled steps that both sides have, where available. Metrics outside their ideal range come"
        " first, then the largest relative change. Spread: standard deviation over steps; p95: 95th"
        " percentile. First divergence: the first"
        " step from which the sides stay more than 1 % apart."
    )
    return Section("metrics", "", (), None, note if rows else "", tuple(rows))


def _relative(row: Row) -> float:
    change = row["delta"]
    sizes = [abs(value) for side in SIDES if isinstance(value := row[side], (int, float))]
    return abs(change) / max(sizes) if isinstance(change, (int, float)) and sizes and max(sizes) else 0.0


def _workload(overall: Sequence[Delta]) -> Section:
    rows: list[Row] = []
    for delta in overall:
        if delta.metric.startswith("workload."):
            presence = presence_of(delta.baseline is not None, delta.new is not None)
            rows.append(
                _plain(delta.metric, presence, delta.baseline, delta.new, unit=delta.unit, polarity=Polarity.NEUTRAL)
            )
    rows.sort(key=lambda row: (-_relative(row), str(row["name"])))
    return Section("workload", "", (), None, "Per rank and step, where counted from the profile.", tuple(rows))


def _env(env: Mapping[SideName, Mapping[str, str]]) -> Section:
    rows: list[Row] = []
    for key in sorted(set(env["baseline"]) | set(env["new"])):
        values: dict[str, Value] = {side: env[side].get(key) for side in SIDES}
        presence = presence_of(key in env["baseline"], key in env["new"])
        rows.append({"name": key, "presence": presence, **values, "delta": None, "ratio": None})
    return Section("env", "", (), None, "", tuple(rows))


def _msprof(maker: SectionMaker, records: Sequence[pairs.Msprof]) -> Section:
    keys = ("sheet", "input_shapes")
    made = (maker.timed_row(record, "msprof", keys) for record in records)
    rows = list(map(_without_calls, made))
    note = "As msprof-analyze defines them: totals per capture, not divided by steps."
    return Section("msprof", "ms", keys, None, note if rows else "", tuple(rows))


def _without_calls(row: Row) -> Row:
    """A row without the change by calls and per call."""
    return {key: value for key, value in row.items() if "_calls_" not in key and "per_call" not in key}
