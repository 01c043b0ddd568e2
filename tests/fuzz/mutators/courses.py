"""Mutators of whole courses: what a metric was in all steps of a run, of a side, or of both sides."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.kind import Mutator, NotApplicableError, files

Run = dict[int, dict[str, Any]]
Change = Callable[[Sequence[Run], str, Random], str]
"""Changes a metric in runs."""

EXTREMES: tuple[Any, ...] = (
    0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-320, 2.2e-308, 1e-300, 1e-160, 1e-16, 31_622_400.0, 31_622_399.5, 1e15,
    1e16, 1e50, 9.9e99, 1e100, -1e100, 1e101, 1e308, math.nan, math.inf, -math.inf, None, "x", True,
)  # fmt: skip
FACTORS = (0.0, -1.0, 1e-320, 1e-160, 1e-12, 0.5, 0.999999999, 1.0000001, 1.3, 2.0, 1e6, 1e15, 1e96)


def mutators(pattern: str) -> list[Mutator]:
    """Mutators for the files of JSON lines that match a pattern: sides of runs, told by what stands before a ``-``."""

    def of(change: Change) -> Callable[[Path, Random], str]:
        def apply(folder: Path, random: Random) -> str:
            paths = _some(files(folder, pattern), random)
            runs = [read(path) for path in paths]
            names = sorted({name for run in runs for data in run.values() for name in data})
            name = random.choice(names) if names else "timing_s/step"
            done = change(runs, name, random)
            for path, run in zip(paths, runs, strict=True):
                write(path, run)
            return f"{', '.join(path.name for path in paths)}: {name}: {done}"

        return apply

    return [Mutator(f"course.{name}", of(change)) for name, change in _CHANGES.items()]


def write(path: Path, run: Run) -> None:
    """Write a run as verl's file logger does."""
    path.write_text("".join(json.dumps({"step": step, "data": data}) + "\n" for step, data in run.items()), "utf-8")


def read(path: Path) -> Run:
    """The steps of a file that ``write`` wrote.

    Raises:
        NotApplicableError: another mutator damaged it.
    """
    try:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return {line["step"]: dict(line["data"]) for line in lines}
    except (ValueError, TypeError, KeyError, RecursionError, OSError) as error:
        raise NotApplicableError from error


def _some(paths: list[Path], random: Random) -> list[Path]:
    """One run, a side, or all."""
    one = random.choice(paths)
    side = [path for path in paths if path.name.partition("-")[0] == one.name.partition("-")[0]]
    return random.choice(([one], side, side, paths))


def _values(runs: Sequence[Run], change: Callable[[int, float], Any], name: str) -> None:
    """Changes the numbers of a metric, by their place in the run."""
    for run in runs:
        for place, data in enumerate(run.values()):
            if isinstance(data.get(name), float):
                data[name] = change(place, data[name])


def _constant(runs: Sequence[Run], name: str, random: Random) -> str:
    value = random.choice(EXTREMES)
    for run in runs:
        for data in run.values():
            data[name] = value
    return f"always {value!r}"


def _mixed(runs: Sequence[Run], name: str, random: Random) -> str:
    some = random.sample(EXTREMES, 3)
    _values(runs, lambda place, value: random.choice((value, value, *some)), name)
    return f"{some!r} in some steps"


def _absent(runs: Sequence[Run], name: str, random: Random) -> str:
    every = random.choice((1, 1, 2, 10))
    for run in runs:
        for data in run.values():
            if not random.randrange(every):
                data.pop(name, None)
    return f"absent in one of {every} steps"


def _scaled(runs: Sequence[Run], name: str, random: Random) -> str:
    factor = random.choice(FACTORS)
    _values(runs, lambda place, value: value * factor, name)
    return f"times {factor}"


def _stepped(runs: Sequence[Run], name: str, random: Random) -> str:
    factor, start = random.choice(FACTORS), random.randrange(40)
    _values(runs, lambda place, value: value * factor if place >= start else value, name)
    return f"times {factor} from place {start} on"


def _periodic(runs: Sequence[Run], name: str, random: Random) -> str:
    factor, period = random.choice(FACTORS), random.choice((2, 5, 7, 39))
    _values(runs, lambda place, value: value if (place + 1) % period else value * factor, name)
    return f"times {factor} in one of {period} steps"


def _drifting(runs: Sequence[Run], name: str, random: Random) -> str:
    rise = random.choice((-0.02, 0.001, 0.05, 1e90))
    _values(runs, lambda place, value: value * (1 + rise * place), name)
    return f"rises by {rise} per step"


def _noisy(runs: Sequence[Run], name: str, random: Random) -> str:
    spread = random.choice((1e-9, 0.01, 0.3, 3.0))
    _values(runs, lambda place, value: value * random.gauss(1, spread), name)
    return f"varies by {spread}"


def _following(runs: Sequence[Run], name: str, random: Random) -> str:
    names = sorted({key for run in runs for data in run.values() for key in data})
    if not names:
        raise NotApplicableError
    other, factor = random.choice(names), random.choice(FACTORS)
    for run in runs:
        for data in run.values():
            if isinstance(data.get(other), float):
                data[name] = data[other] * factor
    return f"{factor} times {other}"


def _fewer(runs: Sequence[Run], name: str, random: Random) -> str:
    kept = random.choice((0, 1, 2, 3, 5, 23, 24))
    for run in runs:
        for step in list(run)[kept:]:
            del run[step]
    return f"{kept} steps"


def _numbered(runs: Sequence[Run], name: str, random: Random) -> str:
    first, stride = (
        random.choice((0, -3, 10**12, 10**15 - 100, 10**15 - 10, -(10**15), 2**62)),
        random.choice((1, 1, 5, 10**6)),
    )
    for run in runs:
        steps = list(run.values())
        run.clear()
        run.update({first + stride * place: data for place, data in enumerate(steps)})
    return f"steps from {first}, every {stride}"


_CHANGES: dict[str, Change] = {
    "constant": _constant, "mixed": _mixed, "absent": _absent, "scaled": _scaled, "stepped": _stepped,
    "periodic": _periodic, "drifting": _drifting, "noisy": _noisy, "following": _following, "fewer": _fewer,
    "numbered": _numbered,
}  # fmt: skip
