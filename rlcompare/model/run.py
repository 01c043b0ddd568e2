"""The result of detection: the runs and captures under a path, before any of them is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

RUN_JSON = "run.json"
METRICS = "metrics.jsonl"
"""The files of a run directory (docs/design.md §9)."""


@dataclass(frozen=True)
class CaptureInput:
    """The files of one profiler window of one process.

    Attributes:
        source: the source that reads it: a name of ``rlcompare.sources.registry``, such as ``ascend_db``.
        path: the ``*_ascend_pt`` folder, else the folder or file of the capture.
        files: its files by purpose, for example ``{"db": …, "analysis_db": …}`` or ``{"kernel_details": …}``.
        role, phase: from a discrete folder's name (``actor_update`` is role ``actor``, phase ``update_actor``).
        replica: number of a rollout replica; never a rank.
        rank: global rank, or the rank of the process within its replica; None if unknown.
        step_hint: training step in the name of verl's folder or file, else None.
        step_place: the step inferred from the order of captures in time, if no name contains it: a step number that
            other captures of the run have in their names, else a position, from 0. None if ``step_hint`` is known, and
            outside of verl's trees.
        started_ns: host time by which captures are ordered; None if unknown.
        info: profiler_info.json, parsed; empty where absent.
        metadata: profiler_metadata.json, parsed; empty where absent. Holds an environment dump: see sources/env.py.
    """

    source: str
    path: Path
    files: Mapping[str, Path]
    role: str | None = None
    phase: str | None = None
    replica: int | None = None
    rank: int | None = None
    ordinal: int = 0
    step_hint: int | None = None
    step_place: int | None = None
    started_ns: int | None = None
    info: Mapping[str, object] = field(default_factory=dict)
    metadata: Mapping[str, object] = field(default_factory=dict)

    @property
    def step(self) -> int | None:
        """The step of the whole capture, as far as names and order tell it."""
        return self.step_place if self.step_hint is None else self.step_hint


@dataclass(frozen=True)
class Finding:
    """A sentence about the quality of the data (table ``finding``).

    Attributes:
        may_pass: the system refused a file, so that the next command may read what this one could not. Not stored.
    """

    severity: str
    key: str
    message: str
    capture: int | None = None
    may_pass: bool = False


@dataclass(frozen=True)
class MetricsInput:
    """Metrics of one run in one form.

    Attributes:
        form: one of ``rlcompare.sources.metrics.form``.
        files: one, except for the TensorBoard files of a restarted run, and a run in MLflow's file store.
        name: its name in messages.
        part: which of several runs in the file; empty if there is only one.
    """

    form: str
    files: tuple[Path, ...]
    name: str
    part: str = ""


Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class RunCapture:
    """A profile listed in run.json; ``path`` is relative to the run directory. Empty or None: not recorded."""

    path: str
    role: str | None = None
    phase: str | None = None
    step: int | None = None
    rank: int | None = None
    steps: tuple[int, ...] | None = None


@dataclass(frozen=True)
class RunCommit:
    """The commit of the run, and whether the working tree differed from it."""

    commit: str | None = None
    dirty: bool | None = None


@dataclass(frozen=True)
class RunFile:
    """The keys of run.json that are read (docs/design.md §9).

    Attributes:
        steps: step numbers by kind: ``warmup``, ``plain``, ``profiled``.
        started: when it started, in ISO 8601.
        commits: of packages that were installed from a repository, or used from a checkout.
        git: of the working folder.
        config: the configuration, in verl's tree.
        misfits: parts of the file that were ignored because their type or value is wrong, one clause each.
    """

    schema: str | None = None
    status: str | None = None
    started: str | None = None
    captures: tuple[RunCapture, ...] = ()
    steps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    versions: Mapping[str, Scalar] = field(default_factory=dict)
    commits: Mapping[str, RunCommit] = field(default_factory=dict)
    git: RunCommit | None = None
    device: Scalar = None
    device_name: Scalar = None
    world_size: Scalar = None
    seed: Scalar = None
    error: str | None = None
    config: object = None
    misfits: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainingInput:
    """Data that training itself wrote about a run: a run directory's files (docs/design.md §9), or metrics alone.

    Attributes:
        path: the run directory, else the file or folder of the metrics. For one of several runs in a file, the file's
            path and the run's name below it.
        metrics: all sources of its metrics; if several have a value, the first one counts. Empty if there are none.
        description: path of run.json; None if there is none.
        run: content of run.json; None if it is absent or damaged.
        settings: the files of the job's configuration that Hydra wrote; empty if there are none.
    """

    path: Path
    metrics: tuple[MetricsInput, ...] = ()
    description: Path | None = None
    run: RunFile | None = None
    settings: tuple[Path, ...] = ()


@dataclass(frozen=True)
class RunInput:
    """One execution under one configuration: its captures, or data that training wrote, or both.

    Attributes:
        name: the shortest path that differs from those of its siblings.
        root: the path that the user named, to which all stored paths are relative.
        captures: ordered by role, replica, rank and time; empty if only training's metrics are known.
        findings: notes of detection (database preferred over text, folders left out, ranks inferred).
        steps: the only steps of the captures to read; None: all.
        training: data that training wrote about it.
    """

    name: str
    root: Path
    captures: tuple[CaptureInput, ...]
    findings: tuple[Finding, ...] = ()
    steps: frozenset[int] | None = None
    training: TrainingInput | None = None

    @property
    def is_store(self) -> bool:
        """Whether it is already a store: its only capture is one."""
        return bool(self.captures) and self.captures[0].source == "store"

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its files and folders."""
        training = () if self.training is None else (self.training.path,)
        return (*(capture.path for capture in self.captures), *training)
