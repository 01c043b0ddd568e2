"""What the npu tool leaves on disk under the unmodified torch_npu wheel, and what it asks of CANN."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.npu.conftest import Machine

_LOOP = """
import json, sys
from dataclasses import asdict
from pathlib import Path
import torch, torch_npu
from rlcompare.collect.config.load import load_config
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


def test_all_settings_are_accepted(machine: Machine, tmp_path: Path) -> None:
    settings = [
        "contents=[npu,cpu,memory,shapes,module,stack]", "level=level2", "export_type=[db,text]", "aic_metrics=L2Cache",
        "l2_cache=true", "op_attr=true", "record_op_args=false", "gc_detect_threshold=1.0", "host_sys=[cpu,mem]",
        "mstx_domain_exclude=[communication]", "sys_io=true", "sys_interconnection=true", "discrete=true",
    ]  # fmt: skip
    found = captures(machine, tmp_path, *(f"{ACTOR}.tool_config.npu.{setting}" for setting in settings))
    assert [Path(capture["path"]).parts[1] for capture in found] == ["rollout_generate", "actor_update"]
    info = json.loads((tmp_path / found[0]["path"] / "profiler_info.json").read_text())["config"]
    assert info["common_config"]["record_shapes"] is True
    assert info["common_config"]["with_modules"] is True
    assert info["experimental_config"]["_aic_metrics"] == "ACL_AICORE_L2_CACHE"
    assert sorted(info["experimental_config"]["_host_sys"]) == ["cpu", "mem"]
    assert info["experimental_config"]["_sys_io"] is True
    assert (tmp_path / found[0]["path"] / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").is_file()
