"""The keys of each verl version that rlcompare sets and reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rlcompare.collect.verl.ask import Installed

FILE_LOGGER = (0, 6, 0)
"""From this version on verl can log metrics to a file, and its configuration has variables for Ray's workers."""
AGENT_LOOP = (0, 7, 1)
"""From this version on the rollout of an agent loop is profiled, and an empty list of ranks means rank 0."""
TORCH = (0, 7, 1)
"""From this version on torch.profiler records whole steps. Before, it fails over keys that its configuration lacks."""
TORCH_CONTENTS = ("cpu", "cuda", "shapes")
"""Contents that torch records. Operators are matched by their shapes, which verl omits by default."""
RELOCATES = (0, 9, 1)
"""From this version on reports of Nsight Systems can be moved to ``save_path``."""
_GLOBAL_PROFILER = (0, 6, 0)

LAST_WITH_STRUCT_RUNTIME_ENV = (0, 9, 0)
"""Up to this version a job with a transfer queue adds a key to the ``runtime_env`` that it is given, and then fails."""


@dataclass(frozen=True)
class Keys:
    """Names of keys.

    Attributes:
        tool: None if the version chooses the tool by the device.
        default_save_path: the default of ``save_path``.
        roles: by role, the branch with ``ranks`` and ``all_ranks``.
        can_enable: whether these branches have ``enable``.
    """

    steps: str
    tool: str | None
    save_path: str
    default_save_path: str
    roles: Mapping[str, str]
    can_enable: bool


_NEW = Keys(
    steps="global_profiler.steps",
    tool="global_profiler.tool",
    save_path="global_profiler.save_path",
    default_save_path="outputs/profile",
    roles={
        "actor": "actor_rollout_ref.actor.profiler",
        "ref": "actor_rollout_ref.ref.profiler",
        "critic": "critic.profiler",
        "reward": "reward_model.profiler",
    },
    can_enable=True,
)
_OLD = Keys(
    steps="trainer.profile_steps",
    tool=None,
    save_path="trainer.npu_profile.options.save_path",
    default_save_path="./profiler_data",
    roles={"actor": "actor_rollout_ref.profiler", "critic": "critic.profiler", "reward": "reward_model.profiler"},
    can_enable=False,
)

ROLLOUT = "actor_rollout_ref.rollout.profiler"


def keys_of(installed: Installed) -> Keys:
    """The keys of the installed version."""
    return _NEW if installed.version >= _GLOBAL_PROFILER else _OLD


def roles_of(installed: Installed) -> dict[str, str]:
    """The roles of this job that verl can profile, with their branches. The rollout follows the actor."""
    takes_part = {
        "actor": True,
        "ref": installed.value("actor_rollout_ref.actor.use_kl_loss") is True
        or installed.value("algorithm.use_kl_in_reward") is True,
        "critic": _has_critic(installed),
        "reward": installed.value("reward_model.enable") is True,
    }
    roles = keys_of(installed).roles
    return {role: branch for role, branch in roles.items() if takes_part[role] and installed.has(branch)}


def _has_critic(installed: Installed) -> bool:
    enabled = installed.value("critic.enable")
    return bool(installed.value("algorithm.adv_estimator") == "gae" if enabled is None else enabled)


def is_agent_loop(installed: Installed) -> bool:
    """Whether the rollout runs in separate servers, each of them a replica."""
    return bool(installed.value("actor_rollout_ref.rollout.mode") == "async")


def profiles_agent_loop(installed: Installed) -> bool:
    """Whether the rollout is profiled by the inference engine."""
    return is_agent_loop(installed) and installed.version >= AGENT_LOOP


def number(value: object) -> int | None:
    """A value of the configuration as an integer; None if it is not one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def numbers(value: object) -> list[int]:
    """A value of the configuration as a list of integers; empty if it is not one."""
    return [item for item in value if number(item) is not None] if isinstance(value, list) else []
