"""profiler_info_N.json, profiler_metadata.json and META_DATA: settings and environment of the capture.

The environment dump holds invented secrets. A reader that stores them fails the tests that look for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone

from rlcompare.writer.model import Capture
from rlcompare.writer.spec import SampleRun

SECRETS = ("wandb-not-a-real-key-0123456789abcdef", "hf_not_a_real_token")
"""Values that no store, report or terminal may ever show."""

_ENVIRONMENT = {
    "ASCEND_GLOBAL_LOG_LEVEL": "3",
    "HCCL_RDMA_TC": "",
    "HCCL_RDMA_SL": "",
    "ACLNN_CACHE_LIMIT": "100000",
    "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
    "ASCEND_LAUNCH_BLOCKING": "",
    "HCCL_ALGO": "",
    "HCCL_BUFFSIZE": "200",
    "TASK_QUEUE_ENABLE": "1",
    "WANDB_API_KEY": SECRETS[0],
    "HF_TOKEN": SECRETS[1],
}
_LEVELS = {"level_none": "Level_none", "level0": "Level0", "level1": "Level1", "level2": "Level2"}


def host_name() -> str:
    return "sample-host"


def host_uid(capture: Capture) -> str:
    """An id above 2^53, as real ones are."""
    return str(3_538_958_389_648_580_163 + capture.rank // 8)


def folder_name(capture: Capture) -> str:
    """``{host}_{pid}_{YYYYmmddHHMMSSmmm}_ascend_pt``."""
    time = datetime.fromtimestamp(capture.start_ns // 1_000_000_000, timezone.utc)
    millisecond = capture.start_ns // 1_000_000 % 1_000
    return f"{host_name()}_{capture.pid}_{time:%Y%m%d%H%M%S}{millisecond:03d}_ascend_pt"


def profiler_info(run: SampleRun, capture: Capture) -> dict[str, object]:
    """The content of profiler_info_N.json."""
    info: dict[str, object] = {
        "config": {"common_config": _common(run), "experimental_config": _experimental(run)},
        "start_info": {
            "syscnt_enable": True,
            "freq": 100,
            "start_cnt": capture.start_ns // 10 % 10**15,
            "start_monotonic": capture.start_ns % 10**15,
        },
        "end_info": {
            "collectionTimeEnd": capture.end_ns,
            "MonotonicTimeEnd": capture.end_ns % 10**15,
        },
    }
    if run.newer:
        info |= {"torch_npu_version": "2.9.0", "cann_version": "8.5.0"}
    return info | {"rank_id": str(capture.rank) if run.newer else capture.rank}


def _common(run: SampleRun) -> dict[str, object]:
    activities = [f"ProfilerActivity.{word.upper()}" for word in ("cpu", "npu") if word in run.contents]
    schedule = None
    if run.marks_steps:
        schedule = {"wait": 0, "active": len(run.steps), "warmup": 0, "repeat": 1, "skip_first": run.steps[0]}
    return {
        "activities": activities,
        "schedule": schedule,
        "record_shapes": "shapes" in run.contents,
        "profile_memory": "memory" in run.contents,
        "with_stack": "stack" in run.contents,
        "with_flops": False,
        "with_modules": "module" in run.contents,
    }


def _experimental(run: SampleRun) -> dict[str, object]:
    exports = ["text", "db"] if run.export == "both" else [run.export]
    return {
        "_profiler_level": _LEVELS[run.level],
        "_aic_metrics": "ACL_AICORE_PIPE_UTILIZATION" if run.has_types else "ACL_AICORE_NONE",
        "_l2_cache": run.has_device_data,
        "_msprof_tx": True,
        "_data_simplification": True,
        "record_op_args": False,
        "_export_type": exports if run.newer or len(exports) > 1 else exports[0],
        "_op_attr": False,
        "_gc_detect_threshold": 1.0 if run.gc else None,
    }


def profiler_metadata(run: SampleRun, capture: Capture) -> dict[str, object]:
    """The content of profiler_metadata.json: the environment, and in the newer generation the groups' members."""
    data: dict[str, object] = {"sample_seed": str(run.seed)}
    if run.export != "db":
        data["ENV_VARIABLES"] = _ENVIRONMENT
    if run.newer:
        data["parallel_group_info"] = _groups(capture)
    return data


def metadata_rows(run: SampleRun, capture: Capture) -> Iterator[tuple[str, str]]:
    """The rows of META_DATA."""
    major, minor = run.schema.split(".")
    yield from (("SCHEMA_VERSION_MICRO", "0"), ("SCHEMA_VERSION_MINOR", minor), ("SCHEMA_VERSION_MAJOR", major))
    yield "SCHEMA_VERSION", f"{run.schema}.0"
    yield "ENV_VARIABLES", json.dumps(_ENVIRONMENT)
    yield "sample_seed", str(run.seed)
    if run.newer:
        yield "parallel_group_info", json.dumps(_groups(capture))


def _groups(capture: Capture) -> dict[str, object]:
    group = capture.group
    return {
        group.name: {
            "group_name": "default_group",
            "group_rank": capture.rank,
            "global_ranks": list(group.ranks),
        }
    }
