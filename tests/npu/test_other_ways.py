"""Profiles that torch_npu makes for others than rlcompare run: dynamic_profile, _KinetoProfile. diff reads them too."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.npu.conftest import Machine

pytestmark = pytest.mark.slow

_DYNAMIC = """
import sys, time
import torch, torch_npu
from torch_npu.profiler import dynamic_profile as dp
dp.init(sys.argv[1])
print("ready", flush=True)
state = torch.ones(8, 8, device="npu")
for step in range(400):
    state @ state
    dp.step()
    time.sleep(0.05)
    if len(list(__import__("pathlib").Path(sys.argv[2]).glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/analyse.done"))):
        break
"""
_KINETO = """
import sys
import torch, torch_npu
state = torch.ones(64, 64, device="npu")
profile = torch_npu.profiler._KinetoProfile(record_shapes=True)
profile.start()
for _ in range(int(sys.argv[2])):
    state @ state
profile.stop()
profile.export_chrome_trace(sys.argv[1])
"""


@pytest.mark.thorough
def test_dynamic_profile_serves_a_request_to_a_running_job(machine: Machine, tmp_path: Path) -> None:
    # GIVEN a job that is watched
    config, out = tmp_path / "config", tmp_path / "out"
    config.mkdir()
    # torch_npu has one shared memory per hour of local time and machine: a time zone keeps ours apart from others'
    zone = f"AAA{os.getpid() % 10 + 1}"
    job = machine.start("-c", _DYNAMIC, str(config), str(out), computes=False, RANK="0", TZ=zone)
    try:
        assert job.stdout is not None and job.stdout.readline() == "ready\n"
        request = config / "profiler_config.json"
        wait_for(request)
        template = json.loads(request.read_text())
        # WHEN its template is filled in, in another second than that in which it was made
        time.sleep(1.1)
        wish = {"prof_dir": str(out), "analyse": True, "active": 3, "start_step": -1}
        wish["experimental_config"] = template["experimental_config"] | {"export_type": ["db"]}
        request.write_text(json.dumps(template | wish))
        # THEN three steps are there
        _, err = job.communicate(timeout=120)
        assert job.returncode == 0, err[-3000:]
    finally:
        job.kill()
    (capture,) = out.glob("*_ascend_pt")
    assert next(capture.glob("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler*.db")).stat().st_size > 0
    shown = machine.rlcompare("sql", str(capture), "select count(*) as steps from step", "--format", "json")
    assert json.loads(shown) == [{"steps": 3}]


def wait_for(path: Path, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not come"
        time.sleep(0.1)


@pytest.mark.thorough
def test_a_kineto_profile_has_any_name(machine: Machine, tmp_path: Path) -> None:
    for name, operators in (("before.json", 20), ("after.json", 40)):
        machine.python_runs("-c", _KINETO, str(tmp_path / name), str(operators), computes=False)
    out = tmp_path / "report"
    machine.rlcompare("diff", "-d", str(tmp_path / "after.json"), "-bp", str(tmp_path / "before.json"), "-o", str(out))
    rows = json.loads((out / "diff.json").read_text())["sections"]["kernel_types"]
    print([(row["name"], row["baseline_calls"], row["new_calls"]) for row in rows])
    calls = {row["name"]: (row["baseline_calls"], row["new_calls"]) for row in rows}
    assert (20, 40) in calls.values()
