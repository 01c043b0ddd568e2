"""Critical path sampling: records a few of the many decode steps, mini batches or micro batches of a phase.

A schedule counts ticks. The first ``skip_first`` are skipped. Then ``repeat`` cycles follow, each of ``wait`` ticks
without a profiler, ``warmup`` ticks whose events are discarded, and ``active`` ticks that are recorded, as
in ``torch.profiler.schedule``. In total it needs skip_first + (wait + warmup + active) * repeat ticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlcompare.collect.reference.config.schema import Config, ProfilerConfig
from rlcompare.errors import UsageError

_PLURALS = {
    "step": "training steps",
    "decode_step": "decode steps",
    "mini_batch": "mini batches",
    "micro_batch": "micro batches",
}

ROLE_KEYS = {
    "actor": "actor_rollout_ref.actor",
    "rollout": "actor_rollout_ref.rollout",
    "ref": "actor_rollout_ref.ref",
    "critic": "critic",
}
"""The configuration key of each role."""

PHASES = {
    "actor": ("old_log_prob", "update_actor"),
    "rollout": ("generate_sequences",),
    "ref": ("ref_log_prob",),
    "critic": ("values", "update_critic"),
}
"""The phases of each role in a step."""
_UPDATES = ("update_actor", "update_critic")


@dataclass(frozen=True)
class Schedule:
    """Which ticks are recorded. With ``repeat`` 0 it continues to the end."""

    granularity: str
    skip_first: int = 0
    wait: int = 0
    warmup: int = 1
    active: int = 1
    repeat: int = 1

    @property
    def cycle(self) -> int:
        """Ticks of one cycle."""
        return self.wait + self.warmup + self.active

    @property
    def needs(self) -> int:
        """Number of ticks after which the last window is complete; with ``repeat`` 0, the first one."""
        return self.skip_first + self.cycle * max(self.repeat, 1)

    def records(self, tick: int) -> bool:
        """Whether the tick of this number, from 0, is recorded."""
        return self.works(tick) and (tick - self.skip_first) % self.cycle >= self.wait + self.warmup

    def closes(self, tick: int) -> bool:
        """Whether a window ends with the tick of this number."""
        return self.records(tick) and (tick - self.skip_first + 1) % self.cycle == 0

    def works(self, tick: int) -> bool:
        """Whether the profiler is active in the tick of this number: it warms up or records."""
        place = tick - self.skip_first
        if place < 0 or (self.repeat and place >= self.cycle * self.repeat):
            return False
        return place % self.cycle >= self.wait

    @property
    def formula(self) -> str:
        """The formula for the number of ticks that it needs, with its numbers."""
        return (
            f"skip_first + (wait + warmup + active) * repeat = {self.skip_first} + "
            f"({self.wait} + {self.warmup} + {self.active}) * {max(self.repeat, 1)} = {self.needs}"
        )


class Sampler:
    """Counts ticks, and returns which of them were recorded."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._tick = 0
        self._recorded: list[int] = []

    def advance(self) -> tuple[int, ...]:
        """A tick has ended. Returns the numbers of the ticks in the current window, including this one."""
        if self._schedule.records(self._tick):
            self._recorded.append(self._tick)
        self._tick += 1
        return tuple(self._recorded)

    def take(self) -> tuple[int, ...]:
        """The ticks since the last call: those of a window that has closed."""
        taken, self._recorded = tuple(self._recorded), []
        return taken

    @property
    def ticks(self) -> int:
        """The number of ticks that have ended."""
        return self._tick


def schedule_of(role: str, profiler: ProfilerConfig, tool: str) -> Schedule | None:
    """The schedule of a role from its ``profiler`` configuration; None if it has none.

    ``tool_config.torch.step_start`` and ``step_end``, verl's way to choose mini batches, become a schedule as well.

    Raises:
        UsageError: the granularity does not exist for the role, or two settings contradict each other.
    """
    key = f"{ROLE_KEYS[role]}.profiler"
    given = profiler.schedule
    start, end = profiler.tool_config.torch.step_start, profiler.tool_config.torch.step_end
    if tool != "torch" and (start or end is not None):
        raise UsageError(
            f"{key}.tool_config.torch.step_start, step_end choose mini batches for the tool torch, and this role has "
            f"{tool}: set {key}.schedule.granularity=mini_batch with skip_first and active instead"
        )
    if start or end is not None:
        if given.granularity is not None:
            raise UsageError(
                f"{key}.schedule and {key}.tool_config.torch.step_start, step_end both choose what is recorded: "
                "keep one of the two"
            )
        return _mini_batches(key, start, end)
    if given.granularity is None:
        return None
    valid = tuple(name for name in _PLURALS if any(_has(phase, name) for phase in PHASES[role]))
    if given.granularity not in valid:
        raise UsageError(
            f"{key}.schedule.granularity={given.granularity} is not available for this role; "
            f"choose from {', '.join(valid)}, or null"
        )
    return Schedule(given.granularity, given.skip_first, given.wait, given.warmup, given.active, given.repeat)


def _mini_batches(key: str, start: int, end: int | None) -> Schedule:
    if end is None or start >= end:
        raise UsageError(
            f"{key}.tool_config.torch.step_start={start}, step_end={end}: step_end must be greater than step_start; "
            "step_start is the first recorded mini batch of a step, step_end the first that is not recorded"
        )
    warmup = min(start, 1)
    return Schedule("mini_batch", start - warmup, 0, warmup, end - start, 1)


def _has(phase: str, granularity: str) -> bool:
    """Whether a phase has ticks of this kind."""
    if granularity == "step":
        return True
    if phase == "generate_sequences":
        return granularity == "decode_step"
    return granularity == "micro_batch" or (granularity == "mini_batch" and phase in _UPDATES)


def ticks_of(config: Config, phase: str, granularity: str, world_size: int) -> int:
    """The maximum number of ticks of a phase on one rank: 0 for a granularity that it does not have."""
    if not _has(phase, granularity):
        return 0
    if granularity == "step":
        return config.trainer.total_training_steps
    if granularity == "decode_step":
        return config.data.max_response_length - 1  # the prefill gives the first token
    if phase in _UPDATES:
        return _update_ticks(config, phase, granularity, world_size)
    rows = config.data.train_batch_size * config.actor_rollout_ref.rollout.n // world_size
    size = {
        "old_log_prob": config.actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu,
        "ref_log_prob": config.actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu,
        "values": config.critic.ppo_micro_batch_size_per_gpu,
    }[phase]
    return _parts(rows, size)


def _update_ticks(config: Config, phase: str, granularity: str, world_size: int) -> int:
    role = config.critic if phase == "update_critic" else config.actor_rollout_ref.actor
    mini_batches = role.ppo_epochs * _parts(config.data.train_batch_size, role.ppo_mini_batch_size)
    if granularity == "mini_batch":
        return mini_batches
    rows = role.ppo_mini_batch_size * config.actor_rollout_ref.rollout.n // world_size
    return mini_batches * _parts(rows, role.ppo_micro_batch_size_per_gpu)


def _parts(whole: int, size: int) -> int:
    """The number of parts of at most ``size`` in the whole."""
    return -(-whole // size)


def check_schedule(schedule: Schedule, ticks: int, key: str) -> None:
    """Refuses a schedule that cannot finish.

    Args:
        ticks: maximum number of ticks.
        key: of the schedule, as in ``actor_rollout_ref.rollout.profiler.schedule``.

    Raises:
        UsageError: with the formula and its numbers.
    """
    if ticks < schedule.needs:
        plural = _PLURALS.get(schedule.granularity, "ticks")
        raise UsageError(
            f"{key} would never record: it needs {schedule.formula} {plural}, but there are at most {ticks}; "
            "lower skip_first, wait, warmup, active or repeat"
        )


def phases_with_schedule(role: str, schedule: Schedule, config: Config, world_size: int) -> Sequence[str]:
    """The role's phases that have enough ticks for the schedule.

    Raises:
        UsageError: there is none.
    """
    ticks = {phase: ticks_of(config, phase, schedule.granularity, world_size) for phase in PHASES[role]}
    check_schedule(schedule, max(ticks.values()), f"{ROLE_KEYS[role]}.profiler.schedule")
    return tuple(phase for phase, count in ticks.items() if count >= schedule.needs)
