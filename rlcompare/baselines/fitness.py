"""Whether runs are fit for a baseline: what they measured, and what speaks against keeping them.

A baseline is what everything is compared with for months, so one bad run in it costs more than one on the other side.
Each run is compared with the first: runs that may not be compared with each other are no repetitions of one setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rlcompare import db
from rlcompare.baselines.run_file import content_of
from rlcompare.compare import RunStore, SideInput, compare_runs
from rlcompare.model.diff import Diff, Finding
from rlcompare.model.words import Severity

THROTTLED = 0.9
"""A device whose AI Core clock averages less than this part of the usual one ran throttled."""

_SPOILED = (
    "run_failed",
    "run_incomplete",
    "damaged_run",
    "damaged_database",
    "unreadable_capture",
    "unreadable_metrics",
    "missing_capture",
    "missing_profile",
)
"""Findings about a run that was not made, or not read, as a whole (table ``finding``)."""

_CERTAIN = ("health.non_finite", "health.ends_early")
"""Symptoms of one run that need no comparison."""

_ENVIRONMENT = (
    "chip",
    "device",
    "device_name",
    "world_size",
    "cann",
    "cuda",
    "hip",
    "torch",
    "torch_npu",
    "mindspore",
    "verl",
    "vllm",
    "vllm_ascend",
    "python",
    "commit",
    "profiler.level",
    "actor_rollout_ref.model.path",
)
"""Keys of the environment that the manifest repeats. The files of the runs hold all."""

CHIP = ("chip", "device_name")
"""Keys of the environment that name the device."""


@dataclass(frozen=True)
class Measured:
    """What the runs of a baseline measured.

    Attributes:
        headline, unit: the metric by which speed is judged; None: nothing was measured.
        values: of it, by run; None: not measured.
        environment: versions and the like.
        contents: hashes of what the runs were read from; None: unknown.
        clocks_mhz: the highest mean AI Core frequency of each run's devices; None: not recorded.
        problems: what speaks against these runs, one sentence each.
    """

    headline: str | None
    unit: str
    values: tuple[float | None, ...]
    environment: Mapping[str, str]
    contents: tuple[str | None, ...]
    clocks_mhz: tuple[float | None, ...]
    problems: tuple[str, ...]


def measure(runs: Sequence[RunStore], usual_mhz: float | None = None) -> Measured:
    """What runs measured, and what speaks against them as a baseline.

    Args:
        runs: at least one.
        usual_mhz: the AI Core frequency of earlier runs on such devices; None: unknown.

    Raises:
        InputError: a store cannot be read.
    """
    side = SideInput("baseline", tuple(runs))
    together = compare_runs(side, side)
    pairs = [_pair(runs[0], run) for run in runs] if len(runs) > 1 else [together]
    headline = together.metric(together.headline)
    values = headline.samples["baseline"] if headline else (None,) * len(runs)
    clocks = [_clocks(run.store) for run in runs]
    best = max([usual_mhz or 0.0, *(most for found in clocks for _, most in found)])
    problems: list[str] = []
    for run, pair, value, found in zip(runs, pairs, values, clocks, strict=True):
        problems += [*_spoiled(run), *_unlike(runs[0], run, pair), *_unhealthy(run, pair), *_slowed(run, found, best)]
        problems += [f"{run.name}: no time of a step was measured"] if value is None else []
    return Measured(
        headline=headline.metric if headline and any(value is not None for value in values) else None,
        unit=headline.unit if headline else "",
        values=tuple(values),
        environment={key: together.baseline.env[key] for key in _ENVIRONMENT if key in together.baseline.env},
        contents=tuple(content_of(run.store) for run in runs),
        clocks_mhz=tuple(max((mean for mean, _ in found), default=None) for found in clocks),
        problems=tuple(dict.fromkeys(problems)),
    )


def _pair(first: RunStore, run: RunStore) -> Diff:
    return compare_runs(SideInput(first.name, (first,)), SideInput(run.name, (run,)))


def _spoiled(run: RunStore) -> Iterator[str]:
    """Failed and incomplete runs, and captures that could not be read."""
    with db.open_read_only(run.store) as con, db.reading(run.store):
        rows = con.execute(
            "SELECT message FROM finding WHERE list_contains(?, key) ORDER BY capture, key, message", [list(_SPOILED)]
        ).fetchall()
    yield from (f"{run.name}: {message}" for (message,) in rows)


def _unlike(first: RunStore, run: RunStore, pair: Diff) -> Iterator[str]:
    """Differences from the first run that forbid a comparison, or call for caution."""
    for finding in pair.comparability.findings:
        if finding.severity in (Severity.SEVERE, Severity.CAUTION):
            yield f"{run.name} is not like {first.name}: {_difference(finding)}"


def _difference(finding: Finding) -> str:
    if finding.baseline is None or finding.new is None:
        return finding.message.rstrip(".")
    return f"{finding.key} is {finding.new}, not {finding.baseline}"


def _unhealthy(run: RunStore, pair: Diff) -> Iterator[str]:
    for symptom in pair.symptoms:
        if symptom.side != "new" or symptom.key not in _CERTAIN:
            continue
        if symptom.key == "health.non_finite":
            yield f"{run.name}: {symptom.metric} is not a finite number, first in step {symptom.since_step}"
        else:
            yield f"{run.name}: the log ends early, at step {symptom.since_step}"


def _clocks(store: Path) -> list[tuple[float, float]]:
    """Mean and highest AI Core frequency of each device and capture of a run."""
    with db.open_read_only(store) as con, db.reading(store):
        return con.execute(
            "SELECT mean, max FROM r_counter WHERE name = 'aicore_freq_mhz' AND mean > 0 AND max >= mean ORDER BY ALL"
        ).fetchall()


def _slowed(run: RunStore, clocks: Sequence[tuple[float, float]], best: float) -> Iterator[str]:
    slow = [mean for mean, _ in clocks if mean < THROTTLED * best]
    if slow:
        devices = "1 device" if len(slow) == 1 else f"{len(slow)} devices"
        yield (
            f"{run.name}: {devices} ran throttled: the AI Core clock averaged {min(slow):,.0f} MHz, "
            f"usual are {best:,.0f} MHz"
        )
