"""What a capture is of, where its files go, and what is remembered of it."""

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
    """One capture that is on disk.

    Attributes:
        path: its file or folder, relative to the run directory where it is below it.
        role, phase: of a role call; empty for a capture of whole steps.
        step: the training step, the first of several.
        tool: what wrote it.
        sampled: ordinals, from 0, of the ticks that a schedule recorded; None where all was recorded.
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
    """What a capture is of: a whole training step, or one call of a role in it.

    Attributes:
        folder: where its files go.
        schedule: which ticks of the call are recorded; None: all of it.
    """

    folder: Path
    step: int
    rank: int
    world_size: int
    role: str = ""
    phase: str = ""
    schedule: Schedule | None = None

    def file(self, prefix: str, suffix: str) -> Path:
        """A new file, its folder made: ``{prefix}_step3_rank0-of-2_pid77_20261121150102003{suffix}``.

        Raises:
            OutputError: the folder cannot be made.
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
        """What it is of, as JSON to be put into the profile itself."""
        found: dict[str, object] = {"step": self.step, "rank": self.rank, "world_size": self.world_size}
        if self.phase:
            found |= ({"role": self.role} if self.role else {}) | {"phase": self.phase}
        if self.schedule is not None:
            found |= {"granularity": self.schedule.granularity, "sampled": list(sampled or ())}
        return json.dumps(found | self.details())

    def details(self) -> dict[str, object]:
        """What else there is to say of it."""
        return {}


@dataclass(frozen=True)
class Written:
    """A file or folder that a capture left, with the ordinals of the ticks in it where a schedule chose them.

    The path is None where the tool alone knows it.
    """

    path: Path | None
    sampled: tuple[int, ...] | None


class Capture(Protocol):
    """A profiler of some tool that has been started."""

    def tick(self) -> None:
        """A tick of the schedule's kind has ended."""

    def stop(self) -> list[Written]:
        """Ends it, writes what is not written yet, and checks it.

        Returns:
            All that it wrote; nothing where the schedule's window was not reached.

        Raises:
            InputError: the files that were to come are not there.
        """

    def abort(self) -> None:
        """Ends it after an error, without writing anything and without an error of its own."""
