"""Whether runs are fit for a baseline: what they measured, and why they should not be kept.

A baseline is what everything is compared with for months, so one bad run in it costs more than one on the other side.
Each run is compared with the first: runs that must not be compared are not repetitions of one setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rlcompare import db, resources
from rlcompare.compare import RunStore, SideInput, compare_runs
from rlcompare.model.diff import Diff, Finding
from rlcompare.model.digits import grouped
from rlcompare.model.words import Severity

THROTTLED = 0.9
"""An AI Core clock that averages less than this part of that in other runs is reported."""

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

Clocks = Mapping[str, float]
"""Mean frequencies in MHz, by the member and position of a capture."""


@dataclass(frozen=True)
class Measured:
    """What the runs of a baseline measured.

    Attributes:
        headline, unit: the metric by which speed is judged; None: nothing was measured.
        values: of it, by run; None: not measured.
        environment: versions and the like, of the first run.
        problems: what speaks against these runs, one sentence each.
    """

    headline: str | None
    unit: str
    values: tuple[float | None, ...]
    environment: Mapping[str, str]
    problems: tuple[str, ...]


def measure(runs: Sequence[RunStore], earlier: Sequence[Path] = ()) -> Measured:
    """What runs measured, and what speaks against them as a baseline.

    Args:
        runs: at least one, no two of the same content.
        earlier: stores of the runs that they replace.

    Raises:
        InputError: a store cannot be read.
    """
    pairs = [_pair(runs[0], run) for run in runs]
    headline, env = pairs[0].metric(pairs[0].headline), pairs[0].baseline.env
    values = [_value(pair, pairs[0].headline) for pair in pairs]
    clocks = [_clocks(run.store) for run in runs]
    usual: dict[str, float] = {}
    for known in (*clocks, *map(_clocks, earlier)):
        usual |= {member: max(mhz, usual.get(member, 0.0)) for member, mhz in known.items()}
    problems: list[str] = []
    for run, pair, value, found in zip(runs, pairs, values, clocks, strict=True):
        problems += [*_spoiled(run), *_unlike(runs[0], run, pair), *_unhealthy(run, pair), *_slowed(run, found, usual)]
        problems += [f"{run.name}: no time of a step was measured"] if value is None else []
    return Measured(
        headline=headline.metric if headline and any(value is not None for value in values) else None,
        unit=headline.unit if headline else "",
        values=tuple(values),
        environment={key: env[key] for key in _ENVIRONMENT if key in env},
        problems=tuple(dict.fromkeys(problems + _left_out(runs, problems))),
    )


def _pair(first: RunStore, run: RunStore) -> Diff:
    return compare_runs(SideInput(first.name, (first,)), SideInput(run.name, (run,)))


def _left_out(runs: Sequence[RunStore], known: Sequence[str]) -> list[str]:
    """The runs that a gate would not count as repetitions of the others, if nothing else is known of them."""
    sound = [run for run in runs if not any(text.startswith(f"{run.name}:") for text in known)]
    if len(sound) < 2:
        return []
    together = compare_runs(SideInput("baseline", tuple(sound)), SideInput("new", (sound[0],)))
    return [f"{run.name}: {run.left_out}" for run in together.baseline.runs if run.left_out]


def _value(pair: Diff, headline: str) -> float | None:
    """The value of the headline metric in the second run of a pair."""
    delta = pair.metric(headline)
    return None if delta is None else delta.samples["new"][0]


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
            yield f"{run.name}: unlike {first.name}, {_difference(finding)}"


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


def _clocks(store: Path) -> Clocks:
    """Mean AI Core frequency by capture, where it was recorded; of several devices, the lowest."""
    with db.open_read_only(store) as con, db.reading(store):
        rows = con.execute(resources.sql("baselines/clock")).fetchall()
    return dict(rows)


def _slowed(run: RunStore, clocks: Clocks, usual: Clocks) -> Iterator[str]:
    """Devices that ran at a lower clock than the same ones in other runs. An idle device may lower it as well, so that
    different devices are not compared."""
    slow = {member: mhz for member, mhz in clocks.items() if mhz < THROTTLED * usual[member]}
    if slow:
        member = min(slow, key=lambda key: (slow[key], key))
        more = f" (likewise {len(slow) - 1} more)" if len(slow) > 1 else ""
        yield (
            f"{run.name}: the AI Core clock of {member} averaged {grouped(slow[member])} MHz{more}, "
            f"{grouped(usual[member])} MHz in another run: was the device throttled?"
        )
