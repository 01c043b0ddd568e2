"""Refuses, before the start, jobs that would collect nothing or that verl cannot run; each message has a remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rlcompare.collect.verl.ask import Installed
from rlcompare.collect.verl.keys import (
    AGENT_LOOP,
    ROLLOUT,
    TORCH,
    keys_of,
    number,
    numbers,
    profiled_steps,
    profiles_agent_loop,
    roles_of,
    world_size_of,
)
from rlcompare.collect.verl.planned import VerlPlan
from rlcompare.collect.verl.sampling import refuse_probes
from rlcompare.errors import UsageError

_SILENCERS = ("PROFILING_MODE", "PROFILER_SAMPLECONFIG")
"""If one of these is set, torch_npu's profiler silently does nothing."""
_NO_TRAINERS = ("main_generation", "main_generation_server", "main_eval")
_TOOLS = ("nsys", "npu", "torch", "torch_memory")
_WITH_RANKS = ("nsys", "npu")


def refuse_trainer(installed: Installed) -> None:
    """Refuses entry points that never start verl's profiler, whatever the configuration says.

    Raises:
        UsageError: this is one.
    """
    if installed.profiles is None and installed.entry.rpartition(".")[2] in _NO_TRAINERS:
        raise UsageError(f"{installed.entry} trains nothing: use one that does, such as verl.trainer.main_ppo")
    if installed.profiles is False:
        raise UsageError(
            f"the trainer of {installed.entry} never starts verl's profiler in {installed.verl}, so nothing would be "
            "recorded: use a release whose trainer does, or --probe, which records a few steps of its workers' loops"
        )


def refuse(installed: Installed, plan: VerlPlan, environment: Mapping[str, str]) -> None:
    """Checks the configuration with which the job would start.

    Args:
        installed: the answer with our overrides.
        environment: the environment that the job will inherit.

    Raises:
        UsageError: it would collect nothing, or fail.
    """
    refuse_probes(installed, plan.probes, plan.tool)
    for problems in () if plan.probes else (_of_tool, _of_steps, _of_roles, _of_rollout):
        for problem in problems(installed, plan):
            raise UsageError(problem)
    for name in _SILENCERS:
        if plan.tool == "npu" and environment.get(name):
            raise UsageError(f"{name} is set, which disables torch_npu's profiler: unset it")


def _of_tool(installed: Installed, plan: VerlPlan) -> Iterator[str]:
    if plan.tool not in _TOOLS:
        yield f"{plan.tool!r} is not a profiling tool of verl: choose one of {', '.join(_TOOLS)}"
    if keys_of(installed).tool is None and plan.tool not in ("npu", "nsys"):
        yield f"{installed.verl} profiles with npu or nsys, not with {plan.tool}: choose --tool, or use verl 0.7.1"
    if plan.tool == "torch" and installed.version < TORCH:
        yield (
            f"{installed.verl} cannot record a step with torch.profiler: choose --tool npu or --tool nsys, "
            "or use verl 0.7.1 or later"
        )


def _of_steps(installed: Installed, plan: VerlPlan) -> Iterator[str]:
    key, example = keys_of(installed).steps, "[3,3]" if keys_of(installed).is_interval else "[3]"
    steps = profiled_steps(installed)
    last = number(installed.value("trainer.total_training_steps"))
    if not steps:
        yield f"{key} names no step, so nothing would be profiled: remove it, or set a step, {key}={example}"
    elif min(steps) < 1:
        yield f"{key} names step {min(steps)}: training begins with step 1"
    elif last is not None and min(steps) > last:
        yield (
            f"{key} begins with step {min(steps)}, but trainer.total_training_steps={last} ends the job before: "
            "name an earlier step"
        )
    discrete = installed.value(f"{keys_of(installed).first_role}.tool_config.{plan.tool}.discrete")
    if installed.value("global_profiler.profile_continuous_steps") is True and discrete is True:
        yield (
            "global_profiler.profile_continuous_steps=True joins steps into one profile, which is not possible "
            f"with tool_config.{plan.tool}.discrete=True: remove one of them"
        )


def _of_roles(installed: Installed, plan: VerlPlan) -> Iterator[str]:
    branches = roles_of(installed)
    if not branches and not installed.has(ROLLOUT):
        yield "this trainer has no role that rlcompare can profile: use one such as verl.trainer.main_ppo"
    if keys_of(installed).can_enable:
        branches = {role: branch for role, branch in branches.items() if _get(installed, branch, "enable") is True}
        rollout = _get(installed, ROLLOUT, "enable") is True and profiles_agent_loop(installed)
        if not branches and not rollout:
            yield (
                "no role is profiled: enable one, as actor_rollout_ref.actor.profiler.enable=True, "
                "or remove the settings that disable them"
            )
    size = world_size_of(installed)
    for branch in branches.values():
        ranks = numbers(_get(installed, branch, "ranks"))
        if _get(installed, branch, "all_ranks") is True:
            continue
        if not ranks and installed.version < AGENT_LOOP and plan.tool in _WITH_RANKS:
            yield (
                f"{branch}.ranks=[] collects nothing with {installed.verl}: set ranks, {branch}.ranks=[0], "
                f"or all of them, {branch}.all_ranks=True"
            )
        if ranks and size is not None and min(ranks) >= size:
            yield (
                f"{branch}.ranks={ranks} are not among the job's {size} ranks, so it collects nothing: "
                "choose a smaller one"
            )


def _of_rollout(installed: Installed, plan: VerlPlan) -> Iterator[str]:
    """Problems of an agent loop's engine, which is profiled only during generation and has no end-to-end mode."""
    if not profiles_agent_loop(installed) or _get(installed, ROLLOUT, "enable") is not True:
        return
    key = f"{ROLLOUT}.tool_config.{plan.tool}.discrete"
    if plan.tool in ("npu", "torch") and installed.value(key) is not True:
        yield f"{key}=False collects nothing of an agent loop's rollout: set it to True, or {ROLLOUT}.enable=False"


def _get(installed: Installed, branch: str, name: str) -> Any:
    return installed.value(f"{branch}.{name}")
