"""The target of a capture, the location of its files, and the record of it."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rlcompare.collect.profiler.schedule import Schedule
from rlcompare.errors import OutputError

END_TO_END = "e2e"
FOLDERS = {
    ("rollout", "generate_sequences"): "rollout_generate",
    ("actor", "old_log_prob"): "actor_compute_log_prob",
    ("ref", "ref_log_prob"): "ref_compute_log_prob",
    ("critic", "values"): "compute_values",
    ("critic", "update_critic"): "critic_update",
    ("actor", "update_actor"): "actor_update",
}
"""verl's folder of each role call in discrete mode."""

MARKS = {
    "generate_sequences": "generate_sequences",
    "reward": "compute_reward",
    "old_log_prob": "compute_log_prob",
    "ref_log_prob": "compute_ref_log_prob",
    "values": "compute_values",
    "adv": "compute_advantage",
    "update_critic": "update_critic",
    "update_actor": "update_actor",
}
"""The range that marks each phase: the name of verl's function (sql/normalize/phase_vocabulary.sql)."""


@dataclass(frozen=True)
class CaptureRecord:
    """One capture on disk.

    Attributes:
        path: its file or folder, relative to the run directory if it is below it.
        role, phase: of a role call; empty for a capture of whole steps.
        step: the training step, the first of several.
        tool: the tool that wrote it.
        sampled: numbers, from 0, of the ticks that a schedule recorded; None if everything was recorded.
        steps: all training steps that it covers.
    """

    path: str
    role: str
    phase: str
    step: int
    rank: int
    tool: str
    sampled: tuple[int, ...] | None
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Target:
    """The target of a capture: a whole training step, or one call of a role in it.

    Attributes:
        folder: folder for its files.
        schedule: which ticks of the call are recorded; None: the whole call.
    """

    folder: Path
    step: int
    rank: int
    world_size: int
    role: str = ""
    phase: str = ""
    schedule: Schedule | None = None

    def file(self, prefix: str, suffix: str) -> Path:
        """A new file, with its folder created: ``{prefix}_step3_rank0-of-2_pid77_20261121150102003{suffix}``.

        Raises:
            OutputError: the folder cannot be created.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise OutputError(self.folder, reason, "choose another save_path") from error
        stem = f"{prefix}_step{self.step}_rank{self.rank}-of-{self.world_size}_pid{os.getpid()}"
        while True:
            seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1_000)
            now = f"{time.strftime('%Y%m%d%H%M%S', time.localtime(seconds))}{milliseconds:03}"
            path = self.folder / f"{stem}_{now}{suffix}"
            if not path.exists():
                return path
            time.sleep(0.001)

    def description(self, sampled: tuple[int, ...] | None) -> str:
        """Its description as JSON, to be stored in the profile itself."""
        found: dict[str, object] = {"step": self.step, "rank": self.rank, "world_size": self.world_size}
        if self.phase:
            found |= ({"role": self.role} if self.role else {}) | {"phase": self.phase}
        if self.schedule is not None:
            found |= {"granularity": self.schedule.granularity, "sampled": list(sampled or ())}
        return json.dumps(found | self.details())

    def details(self) -> dict[str, object]:
        """Further facts for the description."""
        return {}


@dataclass(frozen=True)
class Written:
    """A file or folder of a capture, with the numbers of the ticks in it if a schedule chose them.

    The path is None if only the tool knows it.
    """

    path: Path | None
    sampled: tuple[int, ...] | None


class Capture(Protocol):
    """A started profiler of some tool."""

    def tick(self) -> None:
        """A tick of the schedule's granularity has ended."""

    def stop(self) -> list[Written]:
        """Stops it, writes the remaining files, and checks them.

        Returns:
            Everything that it wrote; empty if the schedule's window was not reached.

        Raises:
            InputError: expected files are missing.
        """

    def abort(self) -> None:
        """Stops it after an error. Writes nothing and raises nothing."""
