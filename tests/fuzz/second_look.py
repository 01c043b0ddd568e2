"""One run of a comparison, read again by other commands: they must tell the same, and its store must make sense.

``show`` has queries of its own (sql/show/), and no ``diff.json`` holds the steps of a capture.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from tests.fuzz.forked import run_forked
from tests.fuzz.kind import Places
from tests.fuzz.numbers import Document, close

STEPS = """
SELECT a.capture, a.step, b.step AS other, a.start_ns, a.end_ns, b.start_ns AS other_start_ns, b.end_ns AS other_end_ns
FROM step AS a JOIN step AS b ON b.capture = a.capture AND b.rowid > a.rowid
WHERE b.step = a.step OR (a.start_ns + 1000 < b.end_ns AND b.start_ns + 1000 < a.end_ns)
"""
"""Steps of one capture that have one number, or overlap by more than rounding may cause."""

TIMES = ("device_span", "compute", "exposed_comm", "overlapped_comm", "free", "exposed_copy", "bubble", "stage", "p2p")
"""Times of the device: 0 in a step in which nothing ran, which ``show`` leaves out."""

HOST_TIMES = ("step", "preparing")

_SHOWN = 3
_CHOOSE = "choose one"
"""Both commands say so of several runs."""


def differences(document: Document, mutant: Path, places: Places, scratch: Path) -> Iterator[str]:
    """What does not hold, in sentences. Nothing if the input is not exactly one run of the new side.

    Args:
        document: a ``diff.json`` whose new side holds the run.
        mutant: the input of the run.
        scratch: a folder for what the commands write.
    """
    runs = [number for number, run in enumerate(document["new"]["runs"]) if _is_of(run["path"], mutant)]
    if len(runs) != 1:
        return
    (run,) = runs
    store = _store(mutant, scratch) or _store(Path(document["new"]["runs"][run]["path"]), scratch) or mutant
    for arguments in (["sql", "-q", str(store), STEPS, "--format", "json"], ["show", "-q", str(mutant), "--json"]):
        outcome = run_forked(arguments, places, scratch)
        if outcome.code == 2 and _CHOOSE in outcome.err:
            return  # a diff takes copies of a run for one
        if outcome.code != 0:
            yield f"diff read it, but {arguments[0]} ended with {outcome.code}: {outcome.err.strip()[-300:]}"
        elif arguments[0] == "sql":
            yield from (f"steps overlap, or have one number: {step}" for step in json.loads(outcome.out)[:_SHOWN])
        else:
            yield from of_times(json.loads(outcome.out)["steps"], document, run)


def _store(run: Path, scratch: Path) -> Path | None:
    """The store that the diff has put into the cache; ``sql`` would make another one for a profile, with its events."""
    found = list((scratch / "cache").glob(f"{escape(run.name)}-{'[0-9a-f]' * 32}.duckdb"))
    return found[0] if len(found) == 1 else None


def _is_of(path: str, mutant: Path) -> bool:
    return mutant in (Path(path), *Path(path).parents)


def of_times(steps: Sequence[Mapping[str, Any]], document: Document, run: int) -> Iterator[str]:
    """The means of the steps that ``show`` prints are the times of ``diff``, if each capture has each step.

    Where several steps were counted in order of time, the captures of phases may have different ones. ``show`` also has
    the steps that the other side lacks, which are not compared.
    """
    info = document["new"]["runs"][run]
    said = {finding["key"] for finding in document["quality"]}
    if said & {"unmarked_rank", "lone_steps"} or ("steps_by_order" in said and info["steps"] > 1):
        return
    if info["replicas"] or not steps or any(step["ranks"] != max(info["ranks"], 1) for step in steps):
        return
    overall = {row["metric"]: row["samples"]["new"][run] for row in document["overall"]}
    for time in (*TIMES, *HOST_TIMES):
        value = overall.get(f"time.{time}")
        numbers = [step[f"{time}_ms"] for step in steps]
        if value is None or None in numbers or (time in HOST_TIMES and len(steps) != info["steps"]):
            continue
        mean = sum(numbers) / info["steps"]
        if not close(mean, value, value):
            yield f"show has {mean} ms of {time} ({info['steps']} steps: {numbers}), and diff {value} ms"
