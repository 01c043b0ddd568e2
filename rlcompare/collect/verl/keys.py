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
        roles: by role, the branch with ``ranks`` and ``all_ranks``. The others follow the first one's ranks.
        can_enable: whether these branches have ``enable``.
        default_tool: the default of ``tool``.
        is_interval: whether ``steps`` holds the first and the last step.
    """

    steps: str
    tool: str | None
    save_path: str
    default_save_path: str
    roles: Mapping[str, str]
    can_enable: bool
    default_tool: str | None = None
    is_interval: bool = False

    @property
    def first_role(self) -> str:
        """The branch of the first role."""
        return next(iter(self.roles.values()))


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
_FINE_TUNING = Keys(
    steps="trainer.profile_interval",
    tool="profiler.tool",
    save_path="profiler.save_path",
    default_save_path="outputs/profile",
    roles={"sft": "profiler"},
    can_enable=True,
    default_tool="torch",
    is_interval=True,
)
"""Supervised fine-tuning, which has one role."""

ROLLOUT = "actor_rollout_ref.rollout.profiler"


def keys_of(installed: Installed) -> Keys:
    """The keys of the installed version and trainer."""
    if installed.has(_FINE_TUNING.steps) and not installed.has("actor_rollout_ref"):
        return _FINE_TUNING
    return _NEW if installed.version >= _GLOBAL_PROFILER else _OLD


def profiled_steps(installed: Installed) -> list[int]:
    """The training steps that the configuration profiles."""
    found = numbers(installed.value(keys_of(installed).steps))
    if not keys_of(installed).is_interval:
        return found
    return list(range(found[0], found[1] + 1)) if len(found) == 2 and found[0] > 0 else []


def world_size_of(installed: Installed) -> int | None:
    """The number of ranks; None: torchrun decides, not the configuration."""
    if keys_of(installed).is_interval:
        return None
    nodes, per_node = (number(installed.value(f"trainer.{name}")) or 1 for name in ("nnodes", "n_gpus_per_node"))
    return nodes * per_node


def roles_of(installed: Installed) -> dict[str, str]:
    """The roles of this job that verl can profile, with their branches. The rollout follows the actor."""
    takes_part = {
        "actor": True,
        "ref": installed.value("actor_rollout_ref.actor.use_kl_loss") is True
        or installed.value("algorithm.use_kl_in_reward") is True,
        "critic": _has_critic(installed),
        "reward": installed.value("reward_model.enable") is True,
        "sft": True,
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
