"""The npu tool under the unmodified torch_npu wheel, on a stand-in for CANN: whether calls are accepted, which files.

    RLCOMPARE_NPU_PYTHON=venv/bin/python pytest tests/npu

The interpreter has torch, torch_npu of the same version, and omegaconf. Device times there are invented.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

_CHECKOUT = Path(__file__).resolve().parents[2]
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


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> dict[str, str]:
    """The environment in which the wheel runs."""
    python = os.environ.get("RLCOMPARE_NPU_PYTHON")
    if not python:
        pytest.skip("no interpreter with torch_npu (set RLCOMPARE_NPU_PYTHON to one)")
    stand_in = shared / "nullnpu"
    libraries = tmp_path_factory.mktemp("nulldev")
    query = "import importlib.util as u; print(u.find_spec('torch_npu').submodule_search_locations[0])"
    found = subprocess.run([python, "-c", query], capture_output=True, text=True, check=True)
    site = Path(found.stdout.strip()).parent
    subprocess.run(["bash", stand_in / "build.sh", site, libraries], check=True, capture_output=True)
    tools = tmp_path_factory.mktemp("cann")
    shutil.copytree(stand_in / "cann", tools, dirs_exist_ok=True)
    slow_down(tools / "tools" / "profiler" / "bin" / "msprof")
    return os.environ | {
        "PYTHON": python,
        "PYTHONPATH": str(_CHECKOUT),
        "LD_LIBRARY_PATH": str(libraries),
        "PATH": f"{tools / 'tools/profiler/bin'}{os.pathsep}{os.environ['PATH']}",
        **{"FAKE_NPU_COUNT": "1", "FAKE_CANN_PROF": "1", "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"},
    }


def slow_down(msprof: Path) -> None:
    """Has the stand-in for msprof take its time.

    torch_npu's analysis gives up where msprof ends within 0.1 s of having written its last file, which CANN's does not.
    """
    quick = msprof.rename(msprof.with_name("quick_msprof"))
    msprof.write_text(f'#!/bin/sh\n"{quick}" "$@"\ncode=$?\nsleep 0.5\nexit $code\n')
    msprof.chmod(0o755)


def captures(wheel: dict[str, str], out: Path, *overrides: str) -> list[dict[str, Any]]:
    command = [wheel["PYTHON"], "-c", _LOOP, str(out), *overrides]
    done = subprocess.run(command, env=wheel, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    found = json.loads((out / "captures.json").read_text())
    assert isinstance(found, list)
    return found


def steps(capture: Path) -> list[int]:
    (path,) = capture.glob("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler*.db")
    with closing(sqlite3.connect(path)) as connection:
        return [step for (step,) in connection.execute("SELECT id FROM STEP_TIME ORDER BY id")]


def test_the_step_is_marked_and_the_configuration_is_in_the_capture(wheel: dict[str, str], tmp_path: Path) -> None:
    (capture,) = captures(wheel, tmp_path)
    folder = tmp_path / capture["path"]
    assert folder.parent == tmp_path / "profile" / "e2e"
    assert steps(folder) == [2]
    metadata = json.loads((folder / "profiler_metadata.json").read_text())
    assert metadata["rlcompare"] == {"step": 2, "rank": 0, "world_size": 1}
    assert metadata["rlcompare.config.trainer"]["total_training_steps"] == 2
    info = json.loads((folder / "profiler_info_0.json").read_text())
    assert info["config"]["experimental_config"]["_profiler_level"] == "Level1"
    assert info["config"]["experimental_config"]["_export_type"] == ["db"]
    assert info["config"]["experimental_config"]["_mstx"] is True


def test_windows_of_a_schedule_are_folders_with_their_ticks(wheel: dict[str, str], tmp_path: Path) -> None:
    parts = ["granularity=decode_step", "skip_first=1", "active=2", "repeat=2"]
    schedule = [f"{ROLLOUT}.schedule.{part}" for part in parts]
    found = captures(wheel, tmp_path, f"{ACTOR}.enable=false", f"{ROLLOUT}.enable=true", *schedule)
    assert [capture["sampled"] for capture in found] == [[2, 3], [5, 6]]
    assert [steps(tmp_path / capture["path"]) for capture in found] == [[2, 3], [5, 6]]
    assert sorted(tmp_path.glob("profile/*/*")) == sorted(tmp_path / capture["path"] for capture in found)


def test_all_settings_are_accepted(wheel: dict[str, str], tmp_path: Path) -> None:
    settings = [
        "contents=[npu,cpu,memory,shapes,module,stack]", "level=level2", "export_type=[db,text]", "aic_metrics=L2Cache",
        "l2_cache=true", "op_attr=true", "record_op_args=false", "gc_detect_threshold=1.0", "host_sys=[cpu,mem]",
        "mstx_domain_exclude=[communication]", "sys_io=true", "sys_interconnection=true", "discrete=true",
    ]  # fmt: skip
    found = captures(wheel, tmp_path, *(f"{ACTOR}.tool_config.npu.{setting}" for setting in settings))
    assert [Path(capture["path"]).parts[1] for capture in found] == ["rollout_generate", "actor_update"]
    info = json.loads((tmp_path / found[0]["path"] / "profiler_info_0.json").read_text())["config"]
    assert info["common_config"]["record_shapes"] is True
    assert info["common_config"]["with_modules"] is True
    assert info["experimental_config"]["_aic_metrics"] == "ACL_AICORE_L2_CACHE"
    assert sorted(info["experimental_config"]["_host_sys"]) == ["cpu", "mem"]
    assert info["experimental_config"]["_sys_io"] is True
    assert (tmp_path / found[0]["path"] / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").is_file()
