"""``rlcompare attach`` and ``analyse`` on jobs in which the unmodified torch_npu polls, profiles and parses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.npu.conftest import Machine

pytestmark = pytest.mark.slow

_CLI = "from rlcompare.cli.main import main; main()"
_CALLS_STEP = """
import sys, time
import torch, torch_npu
from torch_npu.profiler import dynamic_profile
dynamic_profile.init(sys.argv[1])
state = torch.ones(8, 8, device="npu")
while True:
    state @ state
    dynamic_profile.step()
    time.sleep(0.1)
"""
_HAS_AN_OPTIMIZER = """
import os, time
import torch, torch_npu
device = f"npu:{os.environ['LOCAL_RANK']}"
torch.npu.set_device(device)
weight = torch.ones(8, 8, device=device, requires_grad=True)
optimizer = torch.optim.SGD([weight])
while True:
    (weight @ weight).sum().backward()
    optimizer.step()
    time.sleep(0.1)
"""
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(machine: Machine) -> Iterator[Start]:
    """Starts a job and waits for it to poll, or at least to have begun; ends it and what it left after the test.

    torch_npu has one shared memory per hour of local time and machine: a time zone keeps ours apart from others'.
    """
    jobs: list[subprocess.Popen[str]] = []
    folders: list[Path] = []

    def call(folder: Path, *command: str, ranks: int = 1, **more: str) -> subprocess.Popen[str]:
        folder.mkdir()
        folders.append(folder)
        zone = f"AAA-{os.getpid() % 20 + 2}"
        jobs.append(machine.start(*command, devices=2, computes=False, TZ=zone, **more))
        # The log of a process begins when it has found the shared memory.
        wait_for(lambda: sum(path.stat().st_size > 0 for path in folder.glob("log/dp_*_rank_*.log")) >= ranks)
        time.sleep(1)
        return jobs[-1]

    yield call
    for job in jobs:
        job.terminate()
    # The pollers too: one outlives a job that is killed, and keeps its pipes open.
    for log in (log for folder in folders for log in folder.glob("log/*dp_*.log")):
        end(int(log.name.split("_rank_")[0].rpartition("_")[2]))
    for job in jobs:
        job.communicate(timeout=300)


def wait_for(condition: Callable[[], object], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def end(process: int) -> None:
    """Ends a process, if it is there still."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def ask(folder: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """``rlcompare attach`` in an environment without torch_npu."""
    command = [sys.executable, "-c", _CLI, "attach", str(folder), "-o", str(out), "--timeout", "90", *options]
    return subprocess.run(command, text=True, capture_output=True, check=False)


@pytest.mark.thorough
def test_two_ranks_whose_optimizer_torch_npu_hooks(machine: Machine, start: Start, tmp_path: Path) -> None:
    # GIVEN a job of two ranks that knows nothing of profiling, under PROF_CONFIG_PATH
    script, folder, out = tmp_path / "job.py", tmp_path / "polled", tmp_path / "out"
    script.write_text(_HAS_AN_OPTIMIZER)
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", str(script))
    start(folder, *launcher, ranks=3, PROF_CONFIG_PATH=str(folder))  # the launcher has a log too
    # WHEN another process asks for two steps, raw
    asked = ask(folder, out, "--active", "2", "--contents", "npu,cpu,shapes", "--no-analysis")
    # THEN both ranks leave theirs
    assert asked.returncode == 0, asked.stderr
    assert [line.split(" · ")[1] for line in asked.stdout.splitlines()[:2]] == ["rank 0", "rank 1"]
    assert asked.stdout.count(" · raw\n") == 2
    # AND torch_npu parses them offline, in processes of their own
    parsed = machine.rlcompare("analyse", str(out), "--jobs", "2")
    assert [line.split()[0] for line in parsed.splitlines()] == ["parsed", "parsed"]
    assert all(line.startswith("already parsed") for line in machine.rlcompare("analyse", str(out)).splitlines())
    query = "select count(distinct capture) as captures, count(*) as steps from step"
    assert json.loads(machine.rlcompare("sql", str(out), query, "--format", "json")) == [{"captures": 2, "steps": 4}]


def test_a_job_is_profiled_then_killed_and_is_in_the_way_of_the_next(start: Start, tmp_path: Path) -> None:
    folder, out = tmp_path / "polled", tmp_path / "out"
    job = start(folder, "-c", _CALLS_STEP, str(folder))
    # WHEN it is asked, THEN its parsed profile is there
    asked = ask(folder, out, "--active", "2", "--warmup", "0")
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.splitlines()[0].endswith(" · parsed")
    # WHEN a step is asked for that it had made, THEN that is said
    past = ask(folder, tmp_path / "past", "--start-step", "1")
    assert past.returncode == 4
    assert "step 1 is past" in past.stderr
    # WHEN it is killed, THEN the poller that it leaves is named
    job.kill()
    job.wait()
    dead = ask(folder, tmp_path / "dead")
    assert dead.returncode == 4
    assert "the job has ended" in dead.stderr
    (monitor,) = folder.glob("log/monitor_dp_*.log")
    poller = monitor.name.split("_rank_")[0].rpartition("_")[2]
    advice = f"process {poller}, left over from a killed job, polls {folder} for it; kill {poller} stops it"
    assert advice in dead.stderr
    # AND the next job of the hour cannot be asked, because of it
    following = start(tmp_path / "next", "-c", _CALLS_STEP, str(tmp_path / "next"))
    unserved = ask(tmp_path / "next", tmp_path / "none")
    assert unserved.returncode == 4
    assert f"process {following.pid} is running but does not poll this folder" in unserved.stderr
    assert advice in unserved.stderr


@pytest.mark.thorough
def test_a_job_that_counts_no_steps(start: Start, tmp_path: Path) -> None:
    """GIVEN a job under PROF_CONFIG_PATH whose optimizer is not torch's."""
    folder = tmp_path / "polled"
    code = "import time, torch, torch_npu\nwhile True: time.sleep(0.1)"
    start(folder, "-c", code, PROF_CONFIG_PATH=str(folder))
    asked = ask(folder, tmp_path / "out", "--timeout", "6")
    assert asked.returncode == 4
    assert "the job read the request, but reached no step within 6 s" in asked.stderr
    assert "Dynamic profiler process load json success" in asked.stderr  # its own words
