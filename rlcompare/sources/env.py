"""The metadata of a profile that may be stored (table ``env``): an allowlist, because real traces hold access tokens.

Kept are the profiler's switches, versions, parallel sizes, a fixed list of documented environment variables, and the
keys that users attached with ``add_metadata``. Values that look like secrets are always left out. An
environment dump is never kept as such.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from rlcompare.secret import looks_secret, names_secret
from rlcompare.sources.described import METADATA, sampled_environment

VALUE_LENGTH = 200
"""Longer user values are cut."""

ENV_VARIABLES = frozenset(
    {
        "ACLNN_CACHE_LIMIT",
        "ASCEND_ENHANCE_ENABLE",
        "ASCEND_GLOBAL_LOG_LEVEL",
        "ASCEND_LAUNCH_BLOCKING",
        "ASCEND_MAX_OP_CACHE_SIZE",
        "COMBINED_ENABLE",
        "CPU_AFFINITY_CONF",
        "HCCL_ALGO",
        "HCCL_BUFFSIZE",
        "HCCL_CONNECT_TIMEOUT",
        "HCCL_DETERMINISTIC",
        "HCCL_ENTRY_LOG_ENABLE",
        "HCCL_EXEC_TIMEOUT",
        "HCCL_INTRA_PCIE_ENABLE",
        "HCCL_INTRA_ROCE_ENABLE",
        "HCCL_MULTI_QP_THRESHOLD",
        "HCCL_OP_EXPANSION_MODE",
        "HCCL_RDMA_QPS_PER_CONNECTION",
        "HCCL_RDMA_RETRY_CNT",
        "HCCL_RDMA_SL",
        "HCCL_RDMA_TC",
        "HCCL_RDMA_TIMEOUT",
        "HOST_CACHE_CAPACITY",
        "INF_NAN_MODE_ENABLE",
        "MULTI_STREAM_MEMORY_REUSE",
        "OMP_NUM_THREADS",
        "PYTORCH_NPU_ALLOC_CONF",
        "STREAMS_PER_DEVICE",
        "TASK_QUEUE_ENABLE",
    }
)
"""The environment variables that are kept, as ``env.NAME``."""

_SWITCHES: Mapping[str, tuple[str, ...]] = {
    "profiler.with_stack": ("with_stack",),
    "profiler.record_shapes": ("record_shapes",),
    "profiler.profile_memory": ("profile_memory",),
    "profiler.with_modules": ("with_modules",),
    "profiler.with_flops": ("with_flops",),
    "profiler.aic_metrics": ("_aic_metrics",),
    "profiler.l2_cache": ("_l2_cache",),
    "profiler.op_attr": ("_op_attr",),
    "profiler.record_op_args": ("record_op_args", "_record_op_args"),
    "profiler.gc_detect_threshold": ("_gc_detect_threshold",),
    "profiler.export_type": ("_export_type",),
    "profiler.host_sys": ("_host_sys",),
    "profiler.sys_io": ("_sys_io",),
    "profiler.sys_interconnection": ("_sys_interconnection",),
    "profiler.mstx_domain_include": ("_mstx_domain_include",),
    "profiler.mstx_domain_exclude": ("_mstx_domain_exclude",),
}
_SHOWN_BY_EVENTS = ("record_shapes", "with_stack", "profile_memory")
_TRACE_SWITCHES = (*_SHOWN_BY_EVENTS, "with_flops", "with_modules")
_VERSIONS = {
    "cann_version": "cann",
    "torch_npu_version": "torch_npu",
    "torch_version": "torch",
    "ms_version": "mindspore",
}
_PARALLEL = {
    "tensor_model_parallel_size": "parallel.tensor",
    "pipeline_model_parallel_size": "parallel.pipeline",
    "data_parallel_size": "parallel.data",
    "context_parallel_size": "parallel.context",
    "expert_model_parallel_size": "parallel.expert",
    "sequence_parallel": "parallel.sequence",
    "world_size": "world_size",
}
_NOT_THE_USERS = frozenset({"ENV_VARIABLES", "distributed_args", "parallel_group_info", METADATA})
_DUMP_MARKS = frozenset(
    {"PATH", "HOME", "PWD", "USER", "SHELL", "HOSTNAME", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH", "TERM"}
)

_CONFIGURATION = (
    "data.*",
    "actor_rollout_ref.*",
    "critic.*",
    "algorithm.*",
    "async_training.*",
    "reward.num_workers",
    "reward_model.enable",
    "reward_model.launch_reward_fn_async",
    "reward_model.micro_batch_size_per_gpu",
    "reward_model.num_workers",
    "reward_model.reward_manager",
    "trainer.balance_batch",
    "trainer.device",
    "trainer.n_gpus_per_node",
    "trainer.nnodes",
    "trainer.save_freq",
    "trainer.test_freq",
    "trainer.total_epochs",
    "trainer.total_training_steps",
    "trainer.use_v1",
    "trainer.v1.*",
    "trainer.warmup_steps",
    "global_profiler.profile_continuous_steps",
    "global_profiler.steps",
    "global_profiler.tool",
)
_NOT_CONFIGURATION = ("*save_path", "*_dir", "*_dirs", "*_files", "*_file")
_OF_TOOLS = ("contents", "level", "discrete")
"""Keys of a profiler's ``tool_config`` that are kept. The profile has the others, with their actual values."""
_MOST_LEVELS = 12
_NUMBER = re.compile(r"[-+]?[0-9]{1,15}(?:\.[0-9]{1,15})?(?:[eE][-+]?[0-9]{1,3})?", re.ASCII)


def environment_of_profile(info: Mapping[str, object], metadata: Mapping[str, object]) -> dict[str, str]:
    """Storable values of profiler_info.json and profiler_metadata.json, by key of table ``env``."""
    return _versions_and_switches(info) | _from_metadata(metadata)


def environment_from_metadata(rows: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The same from the rows (name, value) of a database's META_DATA table, whose structured values are JSON texts."""
    metadata: dict[str, object] = {}
    for name, value in rows:
        if not isinstance(name, str) or name.startswith("SCHEMA_VERSION"):
            continue
        metadata[name] = _parsed(value) if name in _NOT_THE_USERS else value
    return _from_metadata(metadata)


def environment_from_configuration(config: object) -> dict[str, str]:
    """A run's configuration under the paths of its keys (``algorithm.rollout_is_threshold``), by allowlist.

    Paths on disk are reduced to their last name, and numbers are written in one way: ``1.0`` and ``1`` are one setting.
    The critic's keys are dropped if the algorithm has no critic.
    """
    found: dict[str, str] = {}
    leaves = dict(_leaves(config, "", 0))
    has_critic = leaves.get("algorithm.adv_estimator", "gae") == "gae"
    for key, value in leaves.items():
        if not _is_wanted(key) or (key.startswith("critic.") and not has_critic):
            continue
        value = _as_number(value)
        if isinstance(value, str):
            put(found, key, re.split(r"[/\\]", value.rstrip("/\\"))[-1] if _is_path(value) else value)
        elif len(key) <= VALUE_LENGTH:  # only strings can be secrets
            text = "null" if value is None else "[]" if value == [] else _text(value)
            found |= {} if text is None else {key: text[:VALUE_LENGTH]}
    return found


def _is_wanted(key: str) -> bool:
    if ".tool_config." in key and key.rpartition(".")[2] not in _OF_TOOLS:
        return False
    wanted = any(fnmatchcase(key, pattern) for pattern in _CONFIGURATION)
    return wanted and not any(fnmatchcase(key, pattern) for pattern in _NOT_CONFIGURATION)


def _leaves(value: object, key: str, depth: int) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict) and depth < _MOST_LEVELS:
        for name, inner in value.items():
            if not isinstance(name, str) and not _is_scalar(name):
                continue  # no path, and a number of thousands of digits cannot be printed
            yield from _leaves(inner, f"{key}.{name}" if key else str(name), depth + 1)
    else:
        yield key, value


def _as_number(value: object) -> object:
    """A number, also one that was written as text (YAML reads ``1e-6`` as a string); a whole one as an integer."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _is_path(text: str) -> bool:
    return text.startswith(("/", "~", ".", "\\")) or text[1:3] in (":\\", ":/")


def _versions_and_switches(info: Mapping[str, object]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, key in _VERSIONS.items():
        put(found, key, info.get(name))
    config = _mapping(info.get("config"))
    common, experimental = _mapping(config.get("common_config")), _mapping(config.get("experimental_config"))
    switches = {**common, **experimental}
    level = switches.get("_profiler_level")
    if isinstance(level, str):
        put(found, "profiler.level", level.removeprefix("ProfilerLevel."))
    for key, names in _SWITCHES.items():
        put(found, key, next((switches[name] for name in names if name in switches), None))
    if "_msprof_tx" in switches or "_mstx" in switches:
        put(found, "profiler.mstx", switches.get("_msprof_tx") is True or switches.get("_mstx") is True)
    activities = common.get("activities")
    if isinstance(activities, list):
        put(found, "profiler.activities", [str(value).removeprefix("ProfilerActivity.") for value in activities])
    put(found, "profiler.schedule", _schedule(common.get("schedule")))
    return found


def environment_of_trace(header: Mapping[str, object]) -> dict[str, str]:
    """Storable values of a torch.profiler trace's own metadata: devices, versions, world size and switches."""
    found: dict[str, str] = {}
    distributed = _mapping(header.get("distributedInfo"))
    put(found, "chip", header.get("devices"))
    for name, key in (("world_size", "world_size"), ("backend", "backend"), ("nccl_version", "nccl")):
        put(found, key, distributed.get(name))
    for name, key in (("cuda_runtime_version", "cuda"), ("hip_runtime_version", "hip")):
        version = header.get(name)
        if isinstance(version, int) and version > 0:
            major, minor = (version // 1000, version % 1000 // 10) if key == "cuda" else divmod(version // 100_000, 100)
            put(found, key, f"{major}.{minor}")
    for name in _TRACE_SWITCHES:
        if isinstance(header.get(name), int):
            put(found, f"profiler.{name}", bool(header[name]))
    return found | sampled_environment(header)


def unset_switches(header: Mapping[str, object]) -> list[str]:
    """The switches that a torch.profiler trace does not name, if its torch names those that are on.

    Torch does so since 1.10, which is known if one is named. If none is, as after torch.autograd.profiler, only those
    that events would show are told, in torch's own header from ``baseTimeNanoseconds`` on.
    """
    unset = [name for name in _TRACE_SWITCHES if name not in header]
    if len(unset) < len(_TRACE_SWITCHES):
        return unset
    is_recent = "devices" in header and isinstance(header.get("baseTimeNanoseconds"), int)
    return list(_SHOWN_BY_EVENTS) if is_recent else []


def _schedule(value: object) -> str | None:
    """The schedule in one line. In 2023 its keys began with an underscore."""
    steps = {str(name).lstrip("_"): number for name, number in _mapping(value).items()}
    names = ("skip_first", "skip_first_wait", "wait", "warmup", "active", "repeat")
    return " ".join(f"{name}={steps[name]}" for name in names if isinstance(steps.get(name), int)) or None


def _from_metadata(metadata: Mapping[str, object]) -> dict[str, str]:
    found: dict[str, str] = {}
    variables = _mapping(metadata.get("ENV_VARIABLES"))
    for name in sorted(ENV_VARIABLES & variables.keys()):
        put(found, f"env.{name}", variables[name])
    parallel = _mapping(metadata.get("distributed_args"))
    for name, key in _PARALLEL.items():
        put(found, key, parallel.get(name))
    if "world_size" not in found:
        put(found, "world_size", _world_size(metadata.get("parallel_group_info")))
    for key, value in metadata.items():
        if key not in _NOT_THE_USERS:
            _put_users(found, key, value)
    return found | sampled_environment(metadata)


def _world_size(groups: object) -> int | None:
    """The number of ranks in the default group."""
    for group in _mapping(groups).values():
        ranks = _mapping(group).get("global_ranks")
        if _mapping(group).get("group_name") == "default_group" and isinstance(ranks, list) and ranks:
            return len(ranks)
    return None


def _put_users(found: dict[str, str], key: str, value: object) -> None:
    """Adds a user's key, with its JSON object one level deep. Nested structures and environment dumps are dropped."""
    value = _parsed(value) if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") else value
    if isinstance(value, dict):
        if len(_DUMP_MARKS & value.keys()) < 2 and not names_secret(key):
            for name, inner in value.items():
                put(found, f"user.{key}.{name}", inner)
    else:
        put(found, f"user.{key}", value)


def put(found: dict[str, str], key: str, value: object) -> None:
    """Adds a scalar, or a list of scalars, unless it is empty or looks like a secret."""
    text = _text(value)
    if text and len(key) <= VALUE_LENGTH and not looks_secret(key, text):
        found[key] = text[:VALUE_LENGTH]


def _text(value: object) -> str | None:
    """A scalar, or a list of scalars, as text; None for anything else and for empty values."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if _is_scalar(value):
        return str(value)
    if isinstance(value, list) and all(map(_is_scalar, value)):
        return ",".join(map(str, value)) or None
    return None


def _is_scalar(value: object) -> bool:
    """Whether it is a text or a number. Python does not print integers of thousands of digits."""
    return isinstance(value, float | str) or (isinstance(value, int) and abs(value) < 2**64)


def _parsed(value: object) -> object:
    if not isinstance(value, str):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
