"""Reads ``catalogue.csv``: one line per metric or timer. Python and SQL (``c_catalogue``) use the same lines.

A name may be a pattern, in which ``*`` stands for any text. An exact name wins over a pattern, a longer pattern over a
shorter one. Lines of the same name differ in their trainers: a line that lists the run's trainer wins over one that
lists none. A name without a line is unknown: it is shown as it is and judged by nothing.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from rlcompare.model.words import Polarity, Word

FILE = Path(__file__).with_name("catalogue.csv")


EXPLAINS = {
    "aborted": "samples that were cut off, failed, or are continued with other weights",
    "acceptance": "speculative decoding: how many drafted tokens are accepted",
    "checkpoint": "writing checkpoints",
    "decode_steps": "how long responses are decoded",
    "efficiency": "the share of the chip's peak that an update reaches",
    "imbalance": "how unevenly work is spread over ranks or experts",
    "memory": "how full a device is",
    "mismatch": "how far the rollout's probabilities are from the trainer's",
    "preemption": "requests that the rollout engine interrupted for want of memory",
    "profiling": "starting and stopping a profiler",
    "progress": "the number of the step or epoch",
    "refill": "samples that were generated and thrown away, so that more had to be generated",
    "reward": "computing rewards",
    "staleness": "how many updates older the weights are with which samples were generated",
    "switch": "moving devices between training and rollout",
    "tail": "the slowest samples of a batch",
    "tokens": "how much work a step has",
    "tools": "calls of tools",
    "turns": "turns of a conversation",
    "validation": "tests during training",
    "waiting": "one part of the job waits for another",
    "weight_sync": "sending new weights to the rollout",
}
"""What an entry can tell of a phase."""

UNITS = ("s", "ms/token", "tokens/s", "TFLOP/s", "count", "versions", "tokens", "ratio", "GiB", "MiB", "")

_STEP = "timing_s/step"

ELSEWHERE = ("recipe", "vllm", "sglang", "slime", "nemo_rl", "roll", "openrlhf", "mindspeed_rl")
"""Who writes metrics that verl's wheels do not: recipes, rollout engines, other trainers."""


class Kind(Word):
    """How the time of a timer relates to the timer around it."""

    PART = "part"
    """A part of it: the times of parts sum."""
    STATISTIC = "statistic"
    """A minimum, maximum or mean over samples or ranks, or the time of one sample: these overlap and do not sum."""
    OVERLAPPED = "overlapped"
    """Runs beside the step, as the generation of an asynchronous trainer does."""
    WAIT = "wait"
    """A part in which the trainer waits for another one."""


@dataclass(frozen=True)
class Entry:
    """What is known of a metric or timer.

    Attributes:
        name: the name or pattern.
        same_as: the name under which this metric is compared, if releases or loggers name it differently; the fields
            from ``unit`` on are then those of that name.
        trainers: the trainers (main, v1, one_step_off, fully_async, …), loggers or recipes that write it; empty: any.
        since, until: the first and last release of verl with it, as minor * 10 + patch (0.6.1 is 61); None: no limit.
        unit: one of ``UNITS``; empty: none.
        polarity: which direction is better.
        phase: the phase that the timer is; ``sql/compare/timer.sql`` reads it from here.
        role: the role that does the work of the phase.
        inside: the timer that contains this one.
        kind: how its time relates to that timer; None if it is no timer.
        explains: what it tells of a phase; one of ``EXPLAINS``.
        unknown: the number that is logged where the value is unknown.
    """

    name: str
    same_as: str | None = None
    trainers: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    unit: str = ""
    polarity: Polarity = Polarity.NEUTRAL
    phase: str | None = None
    role: str | None = None
    inside: str | None = None
    kind: Kind | None = None
    explains: str | None = None
    unknown: float | None = None

    @property
    def canonical(self) -> str:
        """The name under which the metric is compared."""
        return self.same_as or self.name

    @property
    def is_never_negative(self) -> bool:
        """Whether it is a time, a count, a size or a rate. A lag in versions of the weights may be negative."""
        return self.unit not in ("", "ratio", "versions") or self.explains == "efficiency"

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other names of this metric."""
        return tuple(dict.fromkeys(other.name for other in entries() if other.same_as == self.name))


@cache
def rows() -> tuple[Mapping[str, str], ...]:
    """The lines of the file as texts, by column; an empty text: no value. Lines that begin with # are comments."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(csv.DictReader(line for line in lines if line.strip() and not line.startswith("#")))


def as_text() -> str:
    """The lines without the header, with a tab between columns: what ``sql/compare/load/catalogue.sql`` reads.

    DuckDB splits texts six times as fast as it parses JSON.
    """
    return "\n".join("\t".join(row.values()) for row in rows())


@cache
def entries() -> tuple[Entry, ...]:
    """All entries, in the order of the file. Those that are ``same_as`` another have its fields."""
    own = [_entry(row) for row in rows()]
    named = {entry.name: entry for entry in reversed(own)}
    return tuple(entry if entry.same_as is None else _inherited(entry, named[entry.same_as]) for entry in own)


@cache
def step_timers() -> frozenset[str]:
    """The names under which loggers write the time of a step."""
    return frozenset(one.name for one in entries() if one.canonical == _STEP)


@cache
def training_timers() -> frozenset[str]:
    """The names of timers that only a step of training has; with them, step 0 is no validation before training."""
    return frozenset(one.name for one in entries() if one.canonical in (_STEP, "timing_s/update_actor"))


@cache
def waits() -> frozenset[str | None]:
    """The phases in which the trainer waits for another one."""
    return frozenset(one.phase for one in entries() if one.kind == Kind.WAIT)


@lru_cache(maxsize=131_072)  # names come from logs
def entry(name: str, trainer: str = "main") -> Entry | None:
    """The entry of a logged name, in runs of this trainer; None if the name is unknown.

    Without an entry for this trainer, that of another trainer counts.
    """
    exact, pattern, of_pattern = _index()
    found = exact.get(name)
    if found is None and (match := pattern.fullmatch(name)) is not None:
        found = of_pattern[(match.lastindex or 0) - 1]
    return None if found is None else _of_trainer(found, trainer)


def _of_trainer(found: Iterable[Entry], trainer: str) -> Entry:
    return min(found, key=lambda entry: 0 if trainer in entry.trainers else 2 if entry.trainers else 1)


@cache
def _index() -> tuple[dict[str, list[Entry]], re.Pattern[str], list[list[Entry]]]:
    """The entries by exact name, and those by pattern: one pattern with a group for each, the longest first."""
    by_name: dict[str, list[Entry]] = {}
    for one in entries():
        by_name.setdefault(one.name, []).append(one)
    patterns = sorted((name for name in by_name if "*" in name), key=lambda name: (-len(name), name))
    groups = "|".join("(" + ".*".join(map(re.escape, name.split("*"))) + ")" for name in patterns)
    exact = {name: found for name, found in by_name.items() if "*" not in name}
    return exact, re.compile(groups, re.DOTALL), [by_name[name] for name in patterns]


def _entry(row: Mapping[str, str]) -> Entry:
    return Entry(
        name=row["name"],
        same_as=row["same_as"] or None,
        trainers=tuple(row["trainer"].split()),
        since=int(row["since"]) if row["since"] else None,
        until=int(row["until"]) if row["until"] else None,
        unit=row["unit"],
        polarity=Polarity(row["polarity"] or "neutral"),
        phase=row["phase"] or None,
        role=row["role"] or None,
        inside=row["inside"] or None,
        kind=Kind(row["kind"]) if row["kind"] else None,
        explains=row["explains"] or None,
        unknown=float(row["unknown"]) if row["unknown"] else None,
    )


def _inherited(given: Entry, other: Entry) -> Entry:
    return replace(
        other,
        name=given.name,
        same_as=given.same_as,
        trainers=given.trainers,
        since=given.since,
        until=given.until,
    )
