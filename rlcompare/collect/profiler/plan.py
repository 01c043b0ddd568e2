"""The configuration's plan for one rank: which role calls of which training steps are captured, by which tool.

A process holds one profiler at a time. So a rank records end to end only if every profiled role on it asks for that. If
one role is discrete, or has a schedule, each role gets its own captures.

A schedule of training steps replaces ``global_profiler.steps`` for its role. Its warm-up steps record nothing, since
the steps themselves warm up.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rlcompare.collect.profiler.record import END_TO_END, FOLDERS, Target
from rlcompare.collect.profiler.schedule import ROLE_KEYS, Schedule, phases_with_schedule, schedule_of
from rlcompare.collect.reference.config.schema import Config, NPUToolConfig, ProfilerConfig, TorchMemoryToolConfig
from rlcompare.errors import UsageError

_ACCELERATORS = {"torch": "cuda", "npu": "npu"}


@dataclass(frozen=True)
class Options:
    """What a tool records.

    Attributes:
        cpu, device: activities of the host, and of the GPU or NPU.
        npu: settings of torch_npu only.
        torch_memory: settings of memory snapshots only.
    """

    cpu: bool
    device: bool
    shapes: bool
    memory: bool
    modules: bool
    stack: bool
    npu: NPUToolConfig
    torch_memory: TorchMemoryToolConfig


@dataclass(frozen=True)
class RolePlan:
    """How one role is profiled on this rank.

    Attributes:
        schedule, phases: which parts of which phases are recorded; without a schedule, everything.
    """

    role: str
    tool: str
    discrete: bool
    options: Options
    save_path: Path
    schedule: Schedule | None
    phases: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The captures of one rank.

    Attributes:
        roles: the profiled roles on this rank.
        steps: training steps of ``global_profiler.steps``; for roles with a schedule of steps, ``own_steps``.
        profiled: training steps that any rank profiles.
        notes: settings with an unexpected effect.
    """

    rank: int
    world_size: int
    device: str
    roles: Mapping[str, RolePlan]
    steps: frozenset[int]
    own_steps: Mapping[str, frozenset[int]]
    profiled: frozenset[int]
    continuous: bool
    notes: list[str] = field(default_factory=list)

    @property
    def end_to_end(self) -> RolePlan | None:
        """The role whose tool records whole steps, with the contents of all; None if captures are discrete."""
        if not self.roles or any(role.discrete or role.schedule for role in self.roles.values()):
            return None
        first, *others = self.roles.values()
        options = first.options
        for other in others:
            options = _united(options, other.options)
        return replace(first, options=options)

    def call(self, role: str, phase: str, step: int) -> tuple[RolePlan, Target] | None:
        """How a role's call is captured on its own; None: not captured."""
        plan = self.roles.get(role)
        if plan is None or step not in self.own_steps.get(role, self.steps):
            return None
        if plan.schedule is not None and phase not in plan.phases:
            return None
        ticks = plan.schedule if plan.schedule is not None and plan.schedule.granularity != "step" else None
        folder = plan.save_path / FOLDERS[role, phase]
        return plan, Target(folder, step, self.rank, self.world_size, role, phase, ticks)

    def whole_step(self, plan: RolePlan, step: int) -> Target:
        """The capture of a whole training step."""
        return Target(plan.save_path / END_TO_END, step, self.rank, self.world_size)


def make_plan(config: Config, out: Path, rank: int, world_size: int, device: str) -> Plan:
    """The plan of one rank.

    Args:
        out: the run directory; profiles go below its ``profile`` unless a ``save_path`` says otherwise.
        device: ``cpu``, ``cuda`` or ``npu``.

    Raises:
        UsageError: the configuration is impossible.
    """
    enabled = {
        role: profiler
        for role, profiler in config.profilers.items()
        if profiler.enable and config.global_profiler.steps is not None and _takes_part(role, config)
    }
    plans = {role: _role_plan(config, role, profiler, out, world_size, device) for role, profiler in enabled.items()}
    own_steps = {role: _scheduled_steps(config, plan) for role, plan in plans.items() if _counts_steps(plan)}
    steps = frozenset(config.global_profiler.steps or ())
    profiled = frozenset().union(*(own_steps.get(role, steps) for role in plans))
    plan = Plan(
        rank, world_size, device,
        {role: plan for role, plan in plans.items() if enabled[role].includes(rank)},
        steps, own_steps, profiled, config.global_profiler.profile_continuous_steps,
    )  # fmt: skip
    _check_tools(plan)
    plan.notes.extend(_notes(plan))
    return plan


def _takes_part(role: str, config: Config) -> bool:
    """Whether the role does anything in this algorithm."""
    if role == "critic":
        return config.algorithm.adv_estimator == "gae"
    return role != "ref" or config.actor_rollout_ref.actor.use_kl_loss or config.algorithm.use_kl_in_reward


def _role_plan(
    config: Config, role: str, profiler: ProfilerConfig, out: Path, world_size: int, device: str
) -> RolePlan:
    tool = profiler.tool or config.global_profiler.tool or ("npu" if device == "npu" else "torch")
    path = Path(profiler.save_path or config.global_profiler.save_path or out / "profile")
    _check_writable(path, ROLE_KEYS[role])
    schedule = schedule_of(role, profiler, tool)
    phases = phases_with_schedule(role, schedule, config, world_size) if schedule is not None else ()
    return RolePlan(
        role=role,
        tool=tool,
        discrete={
            "torch": profiler.tool_config.torch.discrete,
            "npu": profiler.tool_config.npu.discrete,
            "nsys": profiler.tool_config.nsys.discrete,
        }.get(tool, False),
        options=options_of(role, profiler, tool, device),
        save_path=path,
        schedule=schedule,
        phases=tuple(phases),
    )


def _check_writable(path: Path, key: str) -> None:
    """Refuses a folder that cannot be created, before a long run."""
    folder = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(
            f"{key}.profiler.save_path: {path} cannot be created, because {folder} is not a writable folder"
        )


def options_of(role: str, profiler: ProfilerConfig, tool: str, device: str) -> Options:
    """The options of a role's tool on a device.

    Raises:
        UsageError: the device does not support them.
    """
    contents = profiler.tool_config.npu.contents if tool == "npu" else profiler.tool_config.torch.contents
    accelerator = _ACCELERATORS.get(tool, "cuda")
    both = "cpu" not in contents and accelerator not in contents
    cpu, on_device = both or "cpu" in contents, both or accelerator in contents
    if tool == "torch" and device != "cuda":
        if not cpu:
            raise UsageError(
                f"{ROLE_KEYS[role]}.profiler.tool_config.torch.contents asks for cuda only, "
                f"but this run is on {device}: add cpu"
            )
        on_device = False
    return Options(
        cpu=cpu,
        device=on_device,
        shapes="shapes" in contents,
        memory="memory" in contents,
        modules="module" in contents,
        stack="stack" in contents,
        npu=profiler.tool_config.npu,
        torch_memory=profiler.tool_config.torch_memory,
    )


def _counts_steps(plan: RolePlan) -> bool:
    return plan.schedule is not None and plan.schedule.granularity == "step"


def _scheduled_steps(config: Config, plan: RolePlan) -> frozenset[int]:
    assert plan.schedule is not None
    return frozenset(
        step for step in range(1, config.trainer.total_training_steps + 1) if plan.schedule.records(step - 1)
    )


def _united(one: Options, other: Options) -> Options:
    """Options that record what either records."""
    return replace(
        one,
        **{
            name: getattr(one, name) or getattr(other, name)
            for name in ("cpu", "device", "shapes", "memory", "modules", "stack")
        },
    )


def _check_tools(plan: Plan) -> None:
    """Refuses a capture of a whole step with two tools or two sets of options: one process cannot do that."""
    shared = plan.end_to_end
    if shared is None:
        return
    for role in plan.roles.values():
        pair = f"{ROLE_KEYS[shared.role]}.profiler and {ROLE_KEYS[role.role]}.profiler"
        way_out = "make them equal, or set tool_config.*.discrete=true for a capture of each"
        if role.tool != shared.tool:
            raise UsageError(f"{pair} request {shared.tool} and {role.tool} in one capture of the step: {way_out}")
        if role.save_path != shared.save_path:
            raise UsageError(f"{pair} have two values of save_path for one capture of the step: {way_out}")
        ours, theirs = (vars(one.options.npu) | {"contents": (), "discrete": False} for one in (shared, role))
        if role.tool == "npu" and (differing := [key for key in ours if ours[key] != theirs[key]]):
            raise UsageError(f"{pair} differ in tool_config.npu.{differing[0]} for one capture of the step: {way_out}")


def _notes(plan: Plan) -> list[str]:
    notes = []
    own = [role for role in plan.roles.values() if role.discrete or role.schedule]
    if own and len(own) < len(plan.roles):
        others = ", ".join(role.role for role in plan.roles.values() if role not in own)
        notes.append(
            f"{own[0].role} is captured on its own, and a process has one profiler at a time: "
            f"{others} also get one capture per call instead of one per step"
        )
    return notes
