"""What a history holds, as read: runs, series of values, settings and acknowledgements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

OK, FAILED, INCOMPLETE, UNSTABLE = "ok", "failed", "incomplete", "unstable"
"""States of a run. Only those that are ok are searched for changes, or used for the noise."""


class Run(NamedTuple):
    """A row of ``sql/history/runs.sql``; the columns are those of table history_run, and the run's environment."""

    run: str
    number: int
    name: str
    started_ns: int
    start_known: bool
    label: str | None
    commit_id: str | None
    author: str | None
    dirty: bool | None
    status: str
    reason: str | None
    headline: str
    environment: str


class Series(NamedTuple):
    """A row of ``sql/history/series.sql``: a metric over the usable runs of an environment, in order of start."""

    environment: str
    metric: str
    unit: str
    numbers: list[int]
    values: list[float]


class Value(NamedTuple):
    """A row of ``sql/history/values.sql``."""

    number: int
    metric: str
    unit: str
    value: float


class Setting(NamedTuple):
    """A row of ``sql/history/settings.sql``."""

    number: int
    key: str
    value: str
    divides: bool


class Acknowledged(NamedTuple):
    """A row of ``sql/history/acknowledged.sql``: the change that begins with a run is accepted."""

    number: int
    reason: str
    author: str | None
    expires: str
    made_ns: int = 0


@dataclass(frozen=True)
class NewRun:
    """A run to be added.

    Attributes:
        content: identifies what it measured.
        started_ns: None: unknown.
        metrics: name, unit and value.
        settings: versions and settings, by key.
    """

    content: str
    name: str
    started_ns: int | None
    label: str | None
    commit_id: str | None
    author: str | None
    dirty: bool | None
    status: str
    reason: str | None
    headline: str
    metrics: tuple[tuple[str, str, float], ...]
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Added:
    """What became of a run.

    Attributes:
        number: of the run in the history.
        known_since_ns: when it had been added before; None: it is new.
    """

    run: NewRun
    number: int
    known_since_ns: int | None
