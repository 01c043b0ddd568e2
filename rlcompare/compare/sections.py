"""The tables of the answer (``Diff.sections``), from the rollups; in the order of the report."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rlcompare.compare.comparability import changed_meaning
from rlcompare.compare.inputs import SIDES
from rlcompare.compare.names import kind_of, polarity_of, unit_of
from rlcompare.compare.overall import OUTSIDE, mean
from rlcompare.compare.rollups import Rollups
from rlcompare.compare.rows import (
    SectionMaker,
    difference,
    empty,
    is_remainder,
    matched_share,
    ordered,
    presence_of,
    ratio,
)
from rlcompare.compare.sides import differing_levels
from rlcompare.compare.training import have_phases, health_columns, phase_records, tokens_of
from rlcompare.model.diff import NOT_COMPARED, Delta, Row, Section, Value

Records = Sequence[Mapping[str, Any]]

LATE_ENOUGH = 0.02
"""A rank whose delays sum to less than this part of the step is no straggler: somebody is always last."""

_STACKS = (
    "Operators' own time by the three innermost frames of their call stacks. export_stacks leaves out what took less"
    " than a microsecond, and does not say whether its time is the host's or the device's: ask for the same on both"
    " sides."
)


def make_sections(
    rollups: Rollups, overall: Sequence[Delta], env: Mapping[str, Mapping[str, str]], headline: str
) -> dict[str, Section]:
    """All sections by name.

    Args:
        env: what each side was made with.
        headline: the profile's time that speaks for the step, as a metric id.
    """
    maker = SectionMaker([(row["side"], row["domain"]) for row in rollups.rows("measured")])
    # Steps and ranks have no sum of phases; where that is the headline, nothing of the device is known either.
    column = "device_span_ns" if headline == "time.phases" else f"{headline.removeprefix('time.')}_ns"
    made = [
        maker.timed("categories", rollups.rows("category"), "kernel", note=_categories_note(env)),
        _steps(maker, rollups.rows("step"), column),
        _ranks(maker, rollups.rows("rank"), column),
        _phases(maker, rollups),
        _kernels(maker, rollups),
        maker.timed("kernel_types", rollups.rows("kernel_type"), "kernel", keys=("core_type",)),
        _host_or_device(maker, "operators", rollups.rows("operator"), "operator"),
        _host_or_device(maker, "modules", rollups.rows("module"), "module"),
        _collectives(maker, rollups),
        maker.timed("groups", rollups.rows("group"), "device"),
        maker.timed("links", rollups.rows("link"), lambda record: record["domain"], keys=("transport", "group_key")),
        maker.timed("copies", rollups.rows("copy"), "device"),
        _memory(maker, rollups),
        _memory_categories(rollups.rows("memory_category")),
        maker.timed("stacks", rollups.rows("stack"), "stack", keys=("callers",), note=_STACKS),
        maker.timed("apis", rollups.rows("api"), lambda record: f"api {record['layer']}", keys=("layer",)),
        _metrics(rollups, env),
        _workload(overall),
        _env(env),
        _msprof(maker, rollups.rows("msprof")),
    ]
    return {section.name: section for section in made}


def _categories_note(env: Mapping[str, Mapping[str, str]]) -> str:
    levels = differing_levels(env)
    if levels is None:
        return "Time of kernels by kind of work."
    return (
        f"Time of kernels by kind of work, which {levels[0]} and {levels[1]} tell by different signs: the same kernels"
        " may stand in different rows."
    )


def _paired(records: Records, key: str) -> dict[Any, dict[str, Mapping[str, Any]]]:
    """Records of one side each, by key and side, in the order of their first appearance."""
    pairs: dict[Any, dict[str, Mapping[str, Any]]] = {}
    for record in records:
        pairs.setdefault(record[key], {})[record["side"]] = record
    return pairs


def _beside(pair: Mapping[str, Mapping[str, Any]], columns: Sequence[str]) -> dict[str, Any]:
    """Columns of two records as the paired columns of one."""
    merged: dict[str, Any] = {f"in_{side}": side in pair for side in SIDES}
    for column in columns:
        merged |= {f"{side}_{column}": pair[side][column] if side in pair else None for side in SIDES}
    return merged


def _steps(maker: SectionMaker, records: Records, measure: str) -> Section:
    parts = [part for part in ("compute_ns", "exposed_comm_ns", "free_ns") if part != measure]
    rows = []
    for position, pair in _paired(records, "position").items():
        numbers = [str(pair[side]["step"]) for side in SIDES if side in pair]
        name = " ↔ ".join(dict.fromkeys(numbers))
        record = {"name": name, "position": position, **_beside(pair, ["step", measure, *parts])}
        rows.append(maker.timed_row(record, "", ("position",), measure))
    return Section("steps", "ms", ("position",), matched_share(rows), "Steps are paired by position.", tuple(rows))


def _ranks(maker: SectionMaker, records: Records, measure: str) -> Section:
    members = [[record["member"] for record in records if record["side"] == side] for side in SIDES]
    note = "Late: how much later a rank starts collectives than the earliest of its group, on average."
    if [len(names) for names in members] == [1, 1] and members[0] != members[1]:
        records = [{**record, "member": f"{members[0][0]} ↔ {members[1][0]}"} for record in records]
        note = "Each side has one rank: they are paired although their numbers differ."
    late = [_straggler([record for record in records if record["side"] == side], measure) for side in SIDES]
    records = [{**record, "straggler": record in late} for record in records]
    parts = [part for part in ("compute_ns", "comm_ns", "exposed_comm_ns", "free_ns") if part != measure]
    columns = [measure, *parts, "late_ns", "most_late_ns", "straggler"]
    pairs = _paired(records, "member")
    rows = [
        maker.timed_row({"name": name, **_beside(pairs[name], columns)}, "", (), measure)
        for name in sorted(pairs, key=_natural)
    ]
    return Section("ranks", "ms", (), matched_share(rows), note, tuple(rows))


def _straggler(members: Records, measure: str) -> Mapping[str, Any] | None:
    """The rank of a side that most often starts collectives last, of those late enough to matter (docs/design.md §4).

    Enough: all its delays in a step together, against the step. The one with the most delay if equal.
    """
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for record in members:
        kinds.setdefault(kind_of(record["member"]), []).append(record)
    late = []
    for alike in kinds.values():
        step = mean(record[measure] for record in alike) or 0.0
        late += [r for r in alike if r["times_last"] and r["late_per_step_ns"] >= LATE_ENOUGH * step]
    return max(late, key=lambda record: (record["times_last"], record["late_ns"]), default=None)


def _natural(name: str) -> tuple[tuple[str, int], ...]:
    """A key under which ``rank 10`` comes after ``rank 9``."""
    return tuple((text, int(number or 0)) for text, number in re.findall(r"(\D+)(\d*)", name))


def _phases(maker: SectionMaker, rollups: Rollups) -> Section:
    records, training = rollups.rows("phase"), rollups.rows("training_phase")
    if have_phases(training):
        return _training_phases(
            training, records, rollups.rows("profiled_timer"), tokens_of(rollups.rows("metric_sample"))
        )
    named = [record for record in records if record["name"] != OUTSIDE]
    if not named:
        return empty("phases")
    walls = all(any(record[f"{side}_wall_ns"] is not None for record in named) for side in SIDES)
    kind = "wall" if walls else "device"
    section = maker.timed(
        "phases",
        [{**record, "kind": kind} for record in records],
        "phase",
        measure=f"{kind}_ns",
        note="Wall time on the host." if walls else "Computation, exposed communication and the gaps before them.",
    )
    return _with_remainder(section)


def _with_remainder(section: Section) -> Section:
    """What lies in no phase is what the others leave: where that is next to nothing, it has no ratio."""
    baselines = {row["name"]: value for row in section.rows if isinstance(value := row["baseline"], (int, float))}
    little = is_remainder(baselines.get(OUTSIDE), baselines.values())
    rows = ({**row, "ratio": None} if little and row["name"] == OUTSIDE else row for row in section.rows)
    return replace(section, rows=tuple(rows))


def _training_phases(
    rows: Records, profiled: Records, timed: Records, tokens: Mapping[str, Mapping[str, float]]
) -> Section:
    # Both sides timed their phases: one that a side does not know took no time there.
    maker = SectionMaker([(side, "timers") for side in SIDES])
    records = [{**record, "kind": "wall"} for record in phase_records(rows, profiled, timed, tokens)]
    note = "Wall time by training's own timers, in steps without a profiler where there are any."
    if profiled:
        note += (
            " Computation, communication and free time: from the profile, whose steps are slower. Outside profile: what"
            " they leave of the timer in profiled steps."
        )
    return _with_remainder(maker.timed("phases", records, "timers", measure="wall_ns", note=note))


def _kernels(maker: SectionMaker, rollups: Rollups) -> Section:
    records = []
    for record in rollups.rows("kernel"):
        elements = {f"{side}_elements": record[f"{side}_elements"] for side in SIDES}
        per_element = {
            f"{side}_ns_per_element": ratio(elements[f"{side}_elements"], record[f"{side}_ns"]) for side in SIDES
        }
        records.append({**record, **per_element})
    (match,) = rollups.rows("kernel_match_summary")
    if match["by_name"]:
        note = "Matched by name: one side was recorded without operator types (Level0)."
    elif match["loose"]:
        note = (
            "Matched by operator type and input shapes; by phase, host operator, number of dimensions and dtypes"
            f" where shapes vary: {', '.join(match['loose'][:8])}{' …' if len(match['loose']) > 8 else ''}."
        )
    else:
        note = "Matched by operator type and input shapes."
    return maker.timed(
        "kernels", records, "kernel", keys=("input_shapes", "input_dtypes", "phase", "host_op"), note=note
    )


def _host_or_device(maker: SectionMaker, name: str, records: Records, domain: str) -> Section:
    """Operators or modules: device time where both sides know it, else host time; nested ones are counted in both."""
    device = all(any(record[f"{side}_device_ns"] is not None for record in records) for side in SIDES)
    measure, note = ("device_ns", "Time of the kernels launched inside.") if device else ("host_ns", "Host time.")
    return maker.timed(name, records, domain, measure=measure, note=note)


def _collectives(maker: SectionMaker, rollups: Rollups) -> Section:
    keys = ("group_key",)
    whole = [maker.timed_row(record, "device", keys) for record in rollups.rows("collective")]
    tasks = [maker.timed_row(record, "task", keys) for record in rollups.rows("collective_task")]
    rows = ordered(whole, keys) + ordered(tasks, keys)
    collapsed = any(row["group_key"] is None for row in whole)
    note = "Matched by kind: the sides share no communication group." if collapsed else "Matched by kind and group."
    return Section("collectives", "ms", keys, matched_share(rows), note, rows)


def _memory(maker: SectionMaker, rollups: Rollups) -> Section:
    peaks: list[Row] = []
    for component, pair in _paired_runs(rollups.rows("memory_peak"), "component").items():
        for what in ("allocated", "reserved", "active"):
            levels = {side: mean(row[f"{what}_bytes"] for row in pair.get(side, ())) for side in SIDES}
            if any(level is not None for level in levels.values()):
                found = {f"in_{side}": levels[side] is not None for side in SIDES}
                peaks.append(_plain(component, found, levels["baseline"], levels["new"], what=f"peak_{what}"))
    made: list[Row] = []
    for record in rollups.rows("allocation"):
        sides = maker.completed(record, "allocation")
        baseline, new = sides.pop("baseline_amount"), sides.pop("new_amount")
        made.append({**_plain(record["name"], record, baseline, new, what="allocated"), **sides})
    rows = ordered(peaks, ("what",)) + ordered(made, ("what",))
    note = "Peaks: the fullest rank. Allocated: bytes per rank and step, by the operator that asked."
    return Section("memory", "bytes", ("what",), matched_share(rows), note, rows)


def _memory_categories(records: Records) -> Section:
    rows: list[Row] = []
    for category, pair in _paired_runs(records, "category").items():
        sides = {side: pair.get(side, ()) for side in SIDES}
        peaks = {side: mean(row["peak_bytes"] for row in sides[side]) for side in SIDES}
        found = {f"in_{side}": peaks[side] is not None for side in SIDES}
        row = _plain(category, found, peaks["baseline"], peaks["new"])
        rows.append(row | {f"{side}_mean_bytes": mean(row["mean_bytes"] for row in sides[side]) for side in SIDES})
    note = (
        "Peaks by category of tensor, each at its own fullest moment, of the fullest rank; means over time and ranks."
    )
    return Section("memory_categories", "bytes", (), matched_share(rows), note if rows else "", ordered(rows, ()))


def _paired_runs(records: Records, key: str) -> dict[Any, dict[str, list[Mapping[str, Any]]]]:
    """Records of one run each, by key and side."""
    pairs: dict[Any, dict[str, list[Mapping[str, Any]]]] = {}
    for record in records:
        pairs.setdefault(record[key], {}).setdefault(record["side"], []).append(record)
    return pairs


def _plain(
    name: Value, found: Mapping[str, Any], baseline: float | None, new: float | None, **further: Value
) -> dict[str, Value]:
    """A row of two numbers in the unit of its section."""
    row: dict[str, Value] = {"name": name, **further, **presence_of(found), "baseline": baseline, "new": new}
    return row | {"delta": difference(baseline, new), "ratio": ratio(baseline, new)}


def _metrics(rollups: Rollups, env: Mapping[str, Mapping[str, str]]) -> Section:
    diverged = {row["name"]: row["first_divergence"] for row in rollups.rows("divergence")}
    apart = {row["name"]: changed_meaning(row) for row in rollups.rows("metric_apart")}
    rows: list[Row] = []
    for name, pair in _paired_runs(rollups.rows("metric_sample"), "name").items():
        values = {side: mean(row["value"] for row in pair.get(side, ())) for side in SIDES}
        found = {f"in_{side}": side in pair for side in SIDES}
        row = _plain(name, found, values["baseline"], values["new"], unit=unit_of(name), polarity=polarity_of(name))
        for side in SIDES:
            row[f"{side}_spread"] = mean(run["deviation"] for run in pair.get(side, ()))
            row[f"{side}_steps"] = sum(run["steps"] or 0 for run in pair.get(side, ())) or None
            logged_as = {run["given"] for run in pair.get(side, ())} - {name}
            row[f"{side}_logged_as"] = ", ".join(sorted(logged_as)) or None
        row["first_divergence"] = diverged.get(name)
        if name in apart:
            row |= {"delta": None, "ratio": None, "first_divergence": None, NOT_COMPARED: apart[name]}
        rows.append(row | health_columns(name, values, env))
    rows.sort(key=lambda row: (row.get("new_health") != "outside", -_relative(row), str(row["name"])))
    note = (
        "Means over unprofiled steps that both sides have, where there are any. What has left its ideal range first,"
        " then the largest relative change. Spread: standard deviation over steps. First divergence: the first step"
        " more than 1 % apart."
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
            found = {"in_baseline": delta.baseline is not None, "in_new": delta.new is not None}
            rows.append(_plain(delta.metric, found, delta.baseline, delta.new, unit=delta.unit, polarity="neutral"))
    rows.sort(key=lambda row: (-_relative(row), str(row["name"])))
    return Section("workload", "", (), None, "Per rank and step, where counted from the profile.", tuple(rows))


def _env(env: Mapping[str, Mapping[str, str]]) -> Section:
    rows: list[Row] = []
    for key in sorted(set(env["baseline"]) | set(env["new"])):
        values: dict[str, Value] = {side: env[side].get(key) for side in SIDES}
        found = {f"in_{side}": key in env[side] for side in SIDES}
        rows.append({"name": key, **presence_of(found), **values, "delta": None, "ratio": None})
    return Section("env", "", (), None, "", tuple(rows))


def _msprof(maker: SectionMaker, records: Records) -> Section:
    keys = ("sheet", "input_shapes")
    made = (maker.timed_row(record, "msprof", keys) for record in records)
    rows: list[Row] = [
        {key: value for key, value in row.items() if "_calls_" not in key and "per_call" not in key} for row in made
    ]
    note = "In msprof-analyze's own definitions: totals of a capture, not divided by steps."
    return Section("msprof", "ms", keys, None, note if rows else "", tuple(rows))
