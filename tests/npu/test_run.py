"""``rlcompare run`` with tool npu, end to end under the unmodified torch_npu wheel: its files, and what diff reads."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.npu.conftest import SMALL, Machine

pytest.importorskip("torch")

pytestmark = pytest.mark.slow

NPU = "actor_rollout_ref.actor.profiler.tool_config.npu"
_EXACT = ("critic/", "mismatch/", "actor/", "response_length/", "workload.")


@pytest.fixture(scope="module")
def base(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with the default profile: one rank, end to end, level1, db."""
    folder = tmp_path_factory.mktemp("base") / "run"
    machine.rlcompare("run", "-q", "-o", str(folder), *SMALL)
    return folder


def captures(run: Path) -> list[dict[str, Any]]:
    found = json.loads((run / "run.json").read_text())["captures"]
    assert isinstance(found, list)
    return found


def metrics(run: Path) -> dict[str, float]:
    (line,) = (run / "metrics.jsonl").read_text().splitlines()
    data = json.loads(line)["data"]
    assert isinstance(data, dict)
    return {name: value for name, value in data.items() if name.startswith(_EXACT)}


def query(capture: Path, sql: str) -> list[Any]:
    (path,) = capture.glob("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler*.db")
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def on_cpu(out: Path, *more: str) -> dict[str, float]:
    """The metrics of the same run on this machine's CPU."""
    command = "from rlcompare.cli.main import main; main()"
    arguments = ["run", "-q", "-o", str(out), *SMALL, "trainer.device=cpu", *more]
    subprocess.run([sys.executable, "-c", command, *arguments], check=True, capture_output=True)
    return metrics(out)


def test_the_numbers_on_the_npu_are_those_of_a_cpu(base: Path, tmp_path: Path) -> None:
    assert metrics(base) == pytest.approx(on_cpu(tmp_path / "cpu"), rel=1e-3, abs=1e-5)


def test_the_default_profile_has_steps_phases_kernels_and_what_launched_them(base: Path) -> None:
    (capture,) = captures(base)
    folder = base / capture["path"]
    assert folder.parent == base / "profile" / "e2e"
    info = json.loads((folder / "profiler_info.json").read_text())
    assert info["cann_version"] == "8.3.RC1"
    assert [id for (id,) in query(folder, "SELECT id FROM STEP_TIME")] == [1]
    marks = "SELECT value FROM MSTX_EVENTS JOIN STRING_IDS ON id = message ORDER BY startNs"
    phases = ["generate_sequences", "compute_reward", "compute_log_prob", "compute_advantage", "update_actor"]
    assert [name for (name,) in query(folder, marks)] == phases
    ((kernels, described),) = query(
        folder,
        "SELECT count(*), sum(value LIKE '%,%') FROM COMPUTE_TASK_INFO JOIN TASK USING (globalTaskId) "
        "JOIN STRING_IDS ON id = inputShapes",
    )
    assert kernels > 500
    assert described > kernels / 2
    ((linked,),) = query(
        folder, "SELECT count(*) FROM TASK WHERE connectionId IN (SELECT connectionId FROM CONNECTION_IDS)"
    )
    assert linked > kernels / 2


def test_diff_reads_two_of_them(machine: Machine, base: Path, tmp_path: Path) -> None:
    new, out = tmp_path / "new", tmp_path / "report"
    machine.rlcompare("run", "-q", "-o", str(new), *SMALL, "actor_rollout_ref.actor.ppo_epochs=2")
    machine.rlcompare("diff", "-d", str(new), "-bp", str(base), "-o", str(out))
    document = json.loads((out / "diff.json").read_text())
    rows = {row["metric"]: row for row in document["overall"]}
    assert rows["time.compute"]["new"] > rows["time.compute"]["baseline"] > 0
    phases = {row["name"]: row for row in document["sections"]["phases"]}
    assert {"generate_sequences", "update_actor"} <= set(phases)
    kernels = {row["name"] for row in document["sections"]["kernel_types"]}
    assert {"Addmm", "Softmax", "Rsqrt"} <= kernels


def test_two_ranks_train_over_hccl(machine: Machine, tmp_path: Path) -> None:
    run = tmp_path / "run"
    machine.rlcompare("run", "-q", "-o", str(run), *SMALL, "trainer.n_gpus_per_node=2", devices=2)
    found = captures(run)
    assert sorted(capture["rank"] for capture in found) == [0, 1]
    groups = set()
    for capture in found:
        folder = run / capture["path"]
        ((device,),) = query(folder, "SELECT DISTINCT deviceId FROM TASK")
        assert device == capture["rank"]
        kinds = "SELECT DISTINCT value FROM COMMUNICATION_OP JOIN STRING_IDS ON id = opType"
        assert {"hcom_allGather_", "hcom_reduceScatter_", "hcom_allReduce_"} <= {
            kind for (kind,) in query(folder, kinds)
        }
        metadata = json.loads((folder / "profiler_metadata.json").read_text())
        groups |= {name for name, group in metadata["parallel_group_info"].items() if group["global_ranks"] == [0, 1]}
    assert len(groups) == 1
    # AND what the ranks said to each other was right
    assert metrics(run) == pytest.approx(on_cpu(tmp_path / "cpu", "trainer.n_gpus_per_node=2"), rel=1e-3, abs=1e-5)
