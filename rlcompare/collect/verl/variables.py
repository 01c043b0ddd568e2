"""The environment variables that a job's workers need, and how they get there.

The workers of a Ray cluster that is already running inherit no environment: verl passes on what ``ray_kwargs`` of its
configuration holds. Ray refuses a variable there that the runtime environment of a submitted job holds too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from rlcompare.collect.run_directory import LOG
from rlcompare.collect.verl.ask import Installed
from rlcompare.collect.verl.command import VerlCommand, override
from rlcompare.collect.verl.keys import (
    FILE_LOGGER,
    LAST_WITH_STRUCT_RUNTIME_ENV,
    ROLLOUT,
    TORCH_CONTENTS,
    profiles_agent_loop,
)
from rlcompare.collect.verl.planned import VerlPlan
from rlcompare.model.run import METRICS

FILE_LOGGER_PATH = "VERL_FILE_LOGGER_PATH"
_RUNTIME_ENV = "ray_kwargs.ray_init.runtime_env.env_vars"
_ENGINE_FOLDER = "rollout_generate"
_VLLM_WITH_OPTIONS = (0, 13)
"""From this version on verl passes its options to vLLM as JSON. The variables are read too, and take precedence."""
_VLLM_WITHOUT_VARIABLES = (0, 16)
"""From this version on vLLM reads no variable."""
_OF_VLLM = re.compile(r"VLLM_TORCH_PROFILER_[A-Z_]+|VLLM_PROFILER_(?:DELAY|MAX)_ITERS")


def choose_variables(
    plan: VerlPlan, command: VerlCommand, installed: Installed, folder: Path, environment: Mapping[str, str]
) -> None:
    """Adds the variables to a plan that is complete otherwise.

    Args:
        folder: of the run; absolute.
        environment: the environment that the job's command will run in.
    """
    added = plan.environment
    if installed.version >= FILE_LOGGER:
        theirs = installed.value(f"{_RUNTIME_ENV}.{FILE_LOGGER_PATH}") or environment.get(FILE_LOGGER_PATH)
        plan.metrics = Path(theirs).absolute() if theirs else folder / METRICS
        added[FILE_LOGGER_PATH] = str(plan.metrics)
    else:
        plan.notes.append(f"{installed.verl} logs no metrics to a file: they are read from {LOG}")
    if not plan.probes:
        added |= _of_vllm(plan, installed, environment)
    missing = {name: value for name, value in added.items() if name not in installed.variables}
    # Up to this version, a job with a transfer queue adds to what ray_kwargs holds, and fails if there is anything.
    has_queue = installed.value("transfer_queue.enable") is True and installed.version <= LAST_WITH_STRUCT_RUNTIME_ENV
    if installed.has("ray_kwargs.ray_init") and not has_queue:
        for name, value in missing.items():
            if not command.names(f"{_RUNTIME_ENV}.{name}"):
                plan.overrides.append(override(f"++{_RUNTIME_ENV}.{name}", value))
    elif missing and command.submission:
        _put_into_runtime_env(plan, command.submission.runtime_env_file, missing)


def _put_into_runtime_env(plan: VerlPlan, file: str | None, missing: dict[str, str]) -> None:
    if file is None:
        plan.runtime_env = missing
    else:
        shown = ", ".join(f"{name}: {value}" for name, value in missing.items())
        plan.notes.append(f"rlcompare cannot pass on what the workers need: add to env_vars of {file} {shown}")


def _of_vllm(plan: VerlPlan, installed: Installed, environment: Mapping[str, str]) -> dict[str, str]:
    """The settings of vLLM's profiler that it reads from its environment: the user's own, and those of verl's contents.

    SGLang gets its settings from verl.
    """
    if not profiles_agent_loop(installed) or installed.value("actor_rollout_ref.rollout.name") != "vllm":
        return {}
    theirs = {name: value for name, value in environment.items() if _OF_VLLM.fullmatch(name)}
    version = _version(installed)
    if theirs and version is not None and version >= _VLLM_WITHOUT_VARIABLES:
        plan.notes.append(
            f"vLLM {installed.versions['vllm']} does not read {', '.join(sorted(theirs))}: it gets its profiler's "
            f"settings from verl ({ROLLOUT}.tool_config.{plan.tool}.contents), which has no others"
        )
        return {}
    if version is not None and version >= _VLLM_WITH_OPTIONS:
        return theirs
    chosen = installed.value(f"{ROLLOUT}.tool_config.{plan.tool}.contents")
    contents = set(chosen or (TORCH_CONTENTS if plan.tool == "torch" else ()))
    wanted = {
        "DIR": str(plan.profile / _ENGINE_FOLDER),
        "WITH_STACK": "1" if {"stack", "module"} & contents else "0",
        "RECORD_SHAPES": "1" if "shapes" in contents else "0",
        "WITH_PROFILE_MEMORY": "1" if "memory" in contents else "0",
    }
    return {f"VLLM_TORCH_PROFILER_{name}": value for name, value in wanted.items()} | theirs


def _version(installed: Installed) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", installed.versions.get("vllm", ""))
    return (int(found[1]), int(found[2])) if found else None
