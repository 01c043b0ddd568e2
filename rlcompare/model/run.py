"""What detection found under a path, before any of it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

RUN_JSON = "run.json"
METRICS = "metrics.jsonl"
"""The files of a run directory (docs/design.md §9)."""


@dataclass(frozen=True)
class CaptureInput:
    """One profiler window of one process, as files.

    Attributes:
        source: which source reads it: a name of ``rlcompare.sources.registry``, as ``ascend_db``.
        path: the ``*_ascend_pt`` folder, else the folder or file of the capture.
        files: which file plays which part, for example ``{"db": …, "analysis_db": …}`` or ``{"kernel_details": …}``.
        role, phase: from a discrete folder's name (``actor_update`` is role ``actor``, phase ``update_actor``).
        replica: number of a rollout replica; never a rank.
        rank: global rank, within a replica that of its process; None where nothing tells it.
        step_hint: training step that verl's folder or file names, else None.
        step_place: where no name tells the step, the one that the order of captures in time gives: the number of a step
            that others of the run name, else a position, from 0. None where ``step_hint`` is known, and outside of
            verl's trees.
        started_ns: host time by which captures are put in order; None where nothing tells it.
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
        """The step that the whole capture is of, as far as names and order tell it."""
        return self.step_place if self.step_hint is None else self.step_hint


@dataclass(frozen=True)
class Finding:
    """A sentence about the quality of the data (table ``finding``)."""

    severity: str
    key: str
    message: str
    capture: int | None = None


@dataclass(frozen=True)
class MetricsInput:
    """Metrics of one run in one form.

    Attributes:
        form: one of ``rlcompare.sources.metrics.form``.
        files: one, except TensorBoard's files of a run that was started again, and a run in MLflow's file store.
        name: what it is called in messages.
        part: which of several runs in the file; empty where there is one.
    """

    form: str
    files: tuple[Path, ...]
    name: str
    part: str = ""


Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class RunCapture:
    """A profile that run.json lists; ``path`` is relative to the run directory. Empty or None: not said."""

    path: str
    role: str | None = None
    phase: str | None = None
    step: int | None = None
    rank: int | None = None
    steps: tuple[int, ...] | None = None


@dataclass(frozen=True)
class RunCommit:
    """The commit that was run, and whether files differed from it."""

    commit: str | None = None
    dirty: bool | None = None


@dataclass(frozen=True)
class RunFile:
    """What is read of run.json (docs/design.md §9).

    Attributes:
        steps: step numbers by kind: ``warmup``, ``plain``, ``profiled``.
        config: the configuration, in verl's tree.
        misfits: what in the file was left out because it is not what its key takes, one clause each.
    """

    schema: str | None = None
    status: str | None = None
    captures: tuple[RunCapture, ...] = ()
    steps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    versions: Mapping[str, Scalar] = field(default_factory=dict)
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
    """What training itself wrote about a run: a run directory's files (docs/design.md §9), or metrics alone.

    Attributes:
        path: the run directory, else the file or folder of the metrics; of one run among several in a file, the run's
            name below the file.
        metrics: where its metrics stand; of several that have a value, the first counts. Empty where there are none.
        description: run.json; None if there is none.
        run: run.json; None where it is absent or damaged.
    """

    path: Path
    metrics: tuple[MetricsInput, ...] = ()
    description: Path | None = None
    run: RunFile | None = None


@dataclass(frozen=True)
class RunInput:
    """One execution under one configuration: its captures, or what training wrote, or both.

    Attributes:
        name: the shortest path that tells it from its siblings.
        root: the path that the user named, to which all stored paths are relative.
        captures: ordered by role, replica, rank and time; none where only training's metrics are known.
        findings: what detection has to say (database preferred over text, folders left out, ranks inferred).
        steps: the only steps of the captures to read; None: all.
        training: what training wrote about it.
    """

    name: str
    root: Path
    captures: tuple[CaptureInput, ...]
    findings: tuple[Finding, ...] = ()
    steps: frozenset[int] | None = None
    training: TrainingInput | None = None

    @property
    def is_store(self) -> bool:
        """Whether it was read already: its only capture is a store."""
        return bool(self.captures) and self.captures[0].source == "store"

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files and folders that it is made of."""
        training = () if self.training is None else (self.training.path,)
        return (*(capture.path for capture in self.captures), *training)
