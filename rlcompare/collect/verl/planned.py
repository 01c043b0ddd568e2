"""What is added to a verl job."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class VerlPlan:
    """The additions to a verl job.

    Attributes:
        tool: verl's name of the profiler.
        steps: the training steps to profile.
        overrides: added to the command's.
        environment: variables added to the environment of the workers.
        runtime_env: those of them that verl does not pass on: for the runtime environment of a submitted job.
        metrics: the file to which the job logs its metrics; None: this verl has no such logger.
        profile: the folder for the profiles.
        elsewhere: the user's own profile folders outside of the run directory.
        probes: probes that replace profiled steps.
        notes: effects that the user might not expect.
    """

    tool: str = ""
    steps: list[int] = field(default_factory=list)
    overrides: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    runtime_env: dict[str, str] = field(default_factory=dict)
    metrics: Path | None = None
    profile: Path = Path()
    elsewhere: list[Path] = field(default_factory=list)
    probes: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
