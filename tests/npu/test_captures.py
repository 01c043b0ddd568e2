"""What the npu tool leaves on disk under the unmodified torch_npu wheel, and what it asks of CANN."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.npu.conftest import Machine

pytestmark = pytest.mark.slow

_LOOP = """
import json, sys
from dataclasses import asdict
from pathlib import Path
import torch, torch_npu
from rlcompare.collect.reference.config.load import load_config
from rlcompare.collect.profiler import make_profilers
out, *overrides = sys.argv[1:]
config = load_config(["trainer.total_training_steps=2", "trainer.device=npu", *overrides])
profiler = make_profilers(config, Path(out), 0, 1, "npu")
state = torch.ones(16, 16, device="npu")
for step in (1, 2):
    with profiler.step(step):
        with profiler.phase("rollout", "generate_sequences"):
            for _ in range(8):
                state @ state
                profiler.tick("decode_step")
        with profiler.phase("actor", "update_actor"):
            state + state
profiler.close()
Path(out, "captures.json").write_text(json.dumps([asdict(capture) for capture in profiler.captures]))
"""
ACTOR, ROLLOUT = "actor_rollout_ref.actor.profiler", "actor_rollout_ref.rollout.profiler"


def captures(machine: Machine, out: Path, *overrides: str) -> list[dict[str, Any]]:
    machine.python_runs("-c", _LOOP, str(out), *overrides, computes=False)
    found = json.loads((out / "captures.json").read_text())
    assert isinstance(found, list)
    return found


def steps(capture: Path) -> list[int]:
    (path,) = capture.glob("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler*.db")
    with closing(sqlite3.connect(path)) as connection:
        return [step for (step,) in connection.execute("SELECT id FROM STEP_TIME ORDER BY id")]


def test_the_step_is_marked_and_the_configuration_is_in_the_capture(machine: Machine, tmp_path: Path) -> None:
    (capture,) = captures(machine, tmp_path)
    folder = tmp_path / capture["path"]
    assert folder.parent == tmp_path / "profile" / "e2e"
    assert steps(folder) == [2]
    metadata = json.loads((folder / "profiler_metadata.json").read_text())
    assert metadata["rlcompare"] == {"step": 2, "rank": 0, "world_size": 1}
    assert metadata["rlcompare.config.trainer"]["total_training_steps"] == 2
    info = json.loads((folder / "profiler_info.json").read_text())
    assert info["config"]["experimental_config"]["_profiler_level"] == "Level1"
    assert info["config"]["experimental_config"]["_export_type"] == ["db"]
    assert info["config"]["experimental_config"]["_mstx"] is True


def test_windows_of_a_schedule_are_folders_with_their_ticks(machine: Machine, tmp_path: Path) -> None:
    parts = ["granularity=decode_step", "skip_first=1", "active=2", "repeat=2"]
    schedule = [f"{ROLLOUT}.schedule.{part}" for part in parts]
    found = captures(machine, tmp_path, f"{ACTOR}.enable=false", f"{ROLLOUT}.enable=true", *schedule)
    assert [capture["sampled"] for capture in found] == [[2, 3], [5, 6]]
    assert [steps(tmp_path / capture["path"]) for capture in found] == [[2, 3], [5, 6]]
    assert sorted(tmp_path.glob("profile/*/*")) == sorted(tmp_path / capture["path"] for capture in found)


@pytest.mark.thorough
def test_everything_at_once_is_written(machine: Machine, tmp_path: Path) -> None:
    settings = [
        "contents=[npu,cpu,memory,shapes,module,stack]", "level=level2", "export_type=[db,text]", "aic_metrics=L2Cache",
        "l2_cache=true", "op_attr=true", "record_op_args=false", "gc_detect_threshold=0.0", "host_sys=[cpu,mem]",
        "mstx_domain_exclude=[communication]", "sys_io=true", "sys_interconnection=true", "discrete=true",
        "export_stacks=self_npu_time_total", "export_memory_timeline=true",
    ]  # fmt: skip
    found = captures(machine, tmp_path, *(f"{ACTOR}.tool_config.npu.{setting}" for setting in settings))
    assert [Path(capture["path"]).parts[1] for capture in found] == ["rollout_generate", "actor_update"]
    folder = tmp_path / found[0]["path"]
    info = json.loads((folder / "profiler_info.json").read_text())["config"]
    assert info["common_config"]["record_shapes"] is True
    assert info["common_config"]["with_modules"] is True
    assert info["experimental_config"]["_aic_metrics"] == "ACL_AICORE_L2_CACHE"
    names = {path.name for path in (folder / "ASCEND_PROFILER_OUTPUT").iterdir()}
    text = {"trace_view", "kernel_details", "step_trace_time", "operator_details", "memory_record", "operator_memory"}
    switches = {"l2_cache", "nic", "roce", "pcie", "hccs"}
    assert {path.partition(".")[0] for path in names} >= text | switches | {"ascend_pytorch_profiler", "analysis"}
    frames, microseconds = (folder / "stacks.log").read_text().splitlines()[0].rsplit(" ", 1)
    assert "_LOOP" not in frames and "<string>" in frames and int(microseconds) >= 0
    times, sizes = json.loads((folder / "memory_timeline.json").read_text())
    assert len(times) == len(sizes) > 0
    # AND what was written besides does not disturb the reading
    counted = machine.rlcompare("sql", str(folder), "select count(*) as kernels from kernel", "--format", "json")
    assert json.loads(counted)[0]["kernels"] == 8
    # AND it is read too
    query = (
        "select (select count(*) from exported_stack) as stacks, (select max(peak_bytes) from memory_category) as peak"
    )
    exported = json.loads(machine.rlcompare("sql", str(folder), query, "--format", "json"))[0]
    assert exported["stacks"] > 0
    assert exported["peak"] == max(size for point in sizes for size in point)


def asked(capture: Path) -> dict[str, list[str]]:
    """What the capture asked of CANN's profiler."""
    lines = next(capture.glob("PROF_*/host/asked.tsv")).read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    found: dict[str, list[str]] = {}
    for key, *values in rows:
        found.setdefault(key, []).append(" ".join(values))
    return found


_EVERY = """
import json, sys
from pathlib import Path
import torch, torch_npu
from rlcompare.collect.reference.config.load import load_config
from rlcompare.collect.profiler import make_profilers
out, cases = Path(sys.argv[1]), json.loads(sys.argv[2])
state = torch.ones(4, 4, device="npu")
for number, case in enumerate(cases):
    settings = [f"actor_rollout_ref.actor.profiler.tool_config.npu.{setting}" for setting in [*case, "analysis=false"]]
    config = load_config(["trainer.total_training_steps=1", "trainer.device=npu", *settings])
    profiler = make_profilers(config, out / str(number), 0, 1, "npu")
    with profiler.step(1), profiler.phase("actor", "update_actor"):
        state + state
    profiler.close()
"""
# Of CANN's acl_prof.h, which the wheel brings.
_DATA_TYPES = {
    0x1: "ACL_API", 0x2: "TASK_TIME", 0x4: "AICORE_METRICS", 0x8: "AICPU", 0x10: "L2CACHE", 0x20: "HCCL_TRACE",
    0x80: "MSPROFTX", 0x100: "RUNTIME_API", 0x800: "TASK_TIME_L0", 0x4000: "OP_ATTR",
}  # fmt: skip
_LEVEL1 = {"ACL_API", "TASK_TIME", "AICORE_METRICS", "HCCL_TRACE", "MSPROFTX"}
_LEVELS = {
    "level_none": {"MSPROFTX"},
    "level0": {"ACL_API", "TASK_TIME_L0", "MSPROFTX"},
    "level1": _LEVEL1,
    "level2": _LEVEL1 | {"AICPU", "RUNTIME_API"},
}
_METRICS = {
    "ArithmeticUtilization": 0, "PipeUtilization": 1, "Memory": 2, "MemoryL0": 3, "ResourceConflictRatio": 4,
    "MemoryUB": 5, "L2Cache": 6, "MemoryAccess": 8, "AiCoreNone": 255,
}  # fmt: skip
_SYS_IO, _SYS_INTERCONNECTION, _HOST_SYS = 5, 6, 8


def test_every_level_metric_and_switch_reaches_cann(machine: Machine, tmp_path: Path) -> None:
    switches = ["l2_cache=true", "op_attr=true", "host_sys=[cpu,mem]", "sys_io=true", "sys_interconnection=true"]
    cases = [f"level={level}" for level in _LEVELS] + [f"aic_metrics={name}" for name in _METRICS] + switches
    machine.python_runs("-c", _EVERY, str(tmp_path), json.dumps([[case] for case in cases]), computes=False)
    found = {
        case: asked(next((tmp_path / str(number)).glob("profile/e2e/*_ascend_pt"))) for number, case in enumerate(cases)
    }
    types = {
        case: {name for bit, name in _DATA_TYPES.items() if int(requests["data_types"][0], 16) & bit}
        for case, requests in found.items()
    }
    for level, expected in _LEVELS.items():
        assert types[f"level={level}"] == expected
    metrics = {name: int(found[f"aic_metrics={name}"]["aicore_metrics"][0]) for name in _METRICS}
    assert metrics == _METRICS
    assert found["level=level0"]["aicore_metrics"] == [str(_METRICS["AiCoreNone"])]
    assert types["l2_cache=true"] - _LEVEL1 == {"L2CACHE"}
    assert types["op_attr=true"] - _LEVEL1 == {"OP_ATTR"}
    settings = {case: {int(value.split()[0]) for value in found[case].get("config", [])} for case in cases}
    assert settings["level=level1"] == set()
    assert settings["host_sys=[cpu,mem]"] == {_HOST_SYS}
    assert sorted(found["host_sys=[cpu,mem]"]["config"][0].split()[1].split(",")) == ["cpu", "mem"]
    assert settings["sys_io=true"] == {_SYS_IO}
    assert settings["sys_interconnection=true"] == {_SYS_INTERCONNECTION}
