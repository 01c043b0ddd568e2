"""What training itself measured, beside the profile: its timers as phases, the time per token, and the metrics' health.

Timers of steps without a profiler say how long a phase takes; the profile says what it does in that time. Where
responses got longer, time per token tells whether anything got slower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlcompare.compare.inputs import SIDES
from rlcompare.compare.names import WORKLOAD
from rlcompare.compare.rows import NS_PER_MS, ratio
from rlcompare.model.diff import Value
from rlcompare.model.health import HealthRange, health_ranges, in_range

Records = Sequence[Mapping[str, Any]]

GENERATION = ("generate_sequences", "generate_baseline")
"""Phases whose time per token counts the tokens of responses; the others count prompts too."""

BESIDE_TOKENS = ("save_checkpoint", "testing")
"""Phases that take as long whatever the step's tokens were."""

TOTAL, RESPONSE = "workload.total_tokens", "workload.response_tokens"

_PREFIXES = ("mismatch/", "rollout_corr/")
# Where verl's configuration holds the bounds of the weights: up to 0.6.0, and since.
_THRESHOLDS = (
    ("algorithm.rollout_is_threshold", "algorithm.rollout_correction.rollout_is_threshold"),
    ("algorithm.rollout_is_threshold_lower",),
)
_PROFILE_COLUMNS = ("compute_ns", "exposed_comm_ns", "free_ns")


def have_phases(rows: Records) -> bool:
    """Whether training's timers tell the phases of both sides.

    Args:
        rows: of ``training_phase``.
    """
    return {row["side"] for row in rows} == set(SIDES)


def phase_records(
    rows: Records, profiled: Records, timed: Records, tokens: Mapping[str, Mapping[str, float]]
) -> list[dict[str, Any]]:
    """Records of the section ``phases``: wall times of training's timers, and inside them what the profile saw.

    A side's value is the mean over its runs, and a run without such a phase counts 0. What of a phase lies outside of
    the profile is told by the timers of the steps that were profiled.

    Args:
        rows: of ``training_phase``.
        profiled: rows of ``phase``.
        timed: rows of ``profiled_timer``.
        tokens: by side, the tokens of a step (``TOTAL``, ``RESPONSE``), as far as they are known.
    """
    runs = {side: len({row["run"] for row in rows if row["side"] == side}) for side in SIDES}
    inside = {row["name"]: row for row in profiled}
    records = []
    for name in dict.fromkeys(row["phase"] for row in rows):
        record: dict[str, Any] = {"name": name, "role": next(row["role"] for row in rows if row["phase"] == name)}
        for side in SIDES:
            found = [row["ns"] for row in rows if row["side"] == side and row["phase"] == name]
            wall = sum(found) / runs[side]
            record |= {f"in_{side}": bool(found), f"{side}_wall_ns": wall}
            asked = tokens.get(side, {}).get(RESPONSE if name in GENERATION else TOTAL)
            asked = None if name in BESIDE_TOKENS else asked
            record[f"{side}_ms_per_token"] = ratio(asked, wall / NS_PER_MS) if found else None
        seen = inside.get(name, {})
        for column in _PROFILE_COLUMNS:
            record |= {f"{side}_{column}": seen.get(f"{side}_{column}") for side in SIDES}
        for side in SIDES:
            whole = _mean_of_runs(timed, side, name)
            if not any(row[f"in_{side}"] for row in profiled):
                whole = None
            inside_ns = seen.get(f"{side}_device_ns") or 0.0
            record[f"{side}_outside_profile_ns"] = None if whole is None else whole - inside_ns
        records.append(record)
    return records


def rare_phases(rows: Records) -> dict[str, str]:
    """By phase that not every step has, in how many it was: ``in 4 of 19 steps, before in 0 of 19``.

    Args:
        rows: of ``training_phase``.
    """
    steps = {side: sum({row["run"]: row["of_steps"] for row in rows if row["side"] == side}.values()) for side in SIDES}
    texts = {}
    for name in dict.fromkeys(row["phase"] for row in rows):
        had = {
            side: sum(row["steps"] for row in rows if row["side"] == side and row["phase"] == name) for side in SIDES
        }
        if had != steps:
            before, after = (f"{had[side]} of {steps[side]}" for side in SIDES)
            texts[name] = f"in {after} steps" if before == after else f"in {after} steps, before in {before}"
    return texts


def _mean_of_runs(timed: Records, side: str, phase: str) -> float | None:
    """A phase's time in profiled steps; None where there are none."""
    runs = {row["run"] for row in timed if row["side"] == side}
    found = [row["ns"] for row in timed if row["side"] == side and row["phase"] == phase]
    return sum(found) / len(runs) if found else None


def profiled_steps(timed: Records, times: Records) -> list[tuple[str, int, float, float | None]]:
    """By side and run, training's time of a profiled step and what of it lies outside of the profile, in ns.

    That is what the device's span leaves: what the host did before and after, ranks and phases that were not profiled,
    and time between captures. It is negative where a profile holds more than the step.

    Args:
        timed: rows of ``profiled_timer``.
        times: rows of ``time_sample``.
    """
    spans = {(row["side"], row["run"]): row["mean_ns"] for row in times if row["metric"] == "device_span"}
    found = []
    for row in timed:
        if row["phase"] is None:
            span = spans.get((row["side"], row["run"]))
            found.append((row["side"], row["run"], row["ns"], None if span is None else row["ns"] - span))
    return found


def workload_of(rows: Records) -> dict[tuple[str, int], dict[str, float]]:
    """What training says each run was asked for, by side and run: its own ``workload.*``, else what verl's names tell.

    Args:
        rows: of ``metric_sample``.
    """
    found: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        own = row["name"].startswith("workload.")
        name = row["name"] if own else WORKLOAD.get(row["name"])
        if name is not None and row["value"] is not None:
            asked = found.setdefault((row["side"], row["run"]), {})
            if own or name not in asked:
                asked[name] = row["value"]
    return found


def tokens_of(rows: Records) -> dict[str, dict[str, float]]:
    """By side, the mean over runs of the tokens of a step, as far as all of its runs know them.

    Args:
        rows: of ``metric_sample``.
    """
    asked = workload_of(rows)
    tokens: dict[str, dict[str, float]] = {side: {} for side in SIDES}
    for side in SIDES:
        runs = [values for (of, _), values in sorted(asked.items()) if of == side]
        for name in (TOTAL, RESPONSE):
            if runs and all(values.get(name) for values in runs):
                tokens[side][name] = sum(values[name] for values in runs) / len(runs)
    return tokens


def health_columns(
    name: str, values: Mapping[str, float | None], env: Mapping[str, Mapping[str, str]]
) -> dict[str, Value]:
    """What the ideal ranges say about a metric: the range, ``healthy`` or ``outside`` by side, and what to try.

    Empty where the metric has no ideal range, or one that depends on a threshold that is not known.

    Args:
        values: by side.
        env: what each side was made with.
    """
    columns: dict[str, Value] = {}
    for side in SIDES:
        found = _range(name, env[side])
        value = values[side]
        if found is None or value is None:
            continue
        columns["ideal"] = found.ideal
        healthy = in_range(value, found)
        columns[f"{side}_health"] = "healthy" if healthy else "outside"
        if side == "new" and not healthy:
            columns["advice"] = found.advice
    return columns


def _range(name: str, env: Mapping[str, str]) -> HealthRange | None:
    stem = next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)
    threshold, lower = (
        next((found for key in keys if (found := _number(env.get(key))) is not None), None) for keys in _THRESHOLDS
    )
    ranges = health_ranges(threshold, lower, env.get("algorithm.rollout_is_mode", "truncate"))
    return next((entry for entry in ranges if entry.metric == f"mismatch/{stem}"), None)


def _number(text: str | None) -> float | None:
    """The one number that a setting is; None where it is off, unknown, or differs between the runs of a side."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
