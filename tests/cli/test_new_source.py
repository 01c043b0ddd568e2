"""A new format needs one module, its SQL and one line in the registry: then every command supports it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rlcompare.sources import registry
from rlcompare.sources.registry import SOURCES

from .conftest import Command

LINE = "tests.sources.kernel_log.source:SOURCE"
ROOT = Path(__file__).resolve().parents[2]


def write_logs(folder: Path, matmul_ns: int) -> Path:
    """Logs of two ranks, each with two steps of two kernels; a softmax takes 1 ms."""
    folder.mkdir()
    for rank in (0, 1):
        rows = [f"# kernel log, rank {rank}, steps 1 2", "step,device,kernel,kind,start_ns,duration_ns"]
        for step in (1, 2):
            start = 1_700_000_000_000_000_000 + step * 100_000_000
            rows += [f"{step},0,matmul_{step},MatMul,{start},{matmul_ns}"]
            rows += [f"{step},0,softmax_{step},Softmax,{start + 50_000_000},1000000"]
        (folder / f"node{rank}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Path, Path]:
    """Baseline and new: a matmul takes 4 ms, then 6 ms."""
    return write_logs(tmp_path / "base", 4_000_000), write_logs(tmp_path / "new", 6_000_000)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry with one more line."""
    monkeypatch.setattr(registry, "SOURCES", (*SOURCES, LINE))


def kernels(document: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Milliseconds of the baseline and of the new side, by type of kernel."""
    rows = document["sections"]["kernels"]
    return {row["name"]: (round(row["baseline"], 6), round(row["new"], 6)) for row in rows}


def test_without_its_line_it_is_no_profile(rlcompare: Command, logs: tuple[Path, Path]) -> None:
    outcome = rlcompare("show", logs[1])
    assert outcome.code == 4
    assert "it is not a profile file" in outcome.error


@pytest.mark.usefixtures("registered")
class TestWithItsLine:
    @pytest.mark.slow
    def test_diff(self, rlcompare: Command, logs: tuple[Path, Path]) -> None:
        base, new = logs
        outcome = rlcompare("diff", "-d", new, "-bp", base, "--json")
        assert (outcome.code, outcome.err) == (0, "")
        document = json.loads(outcome.out)
        # THEN ranks, source and tool are what the source says
        captures = [(each["rank"], each["source"], each["tool"]) for each in document["new"]["captures"]]
        assert captures == [(0, "kernel_log", "kernel_logger"), (1, "kernel_log", "kernel_logger")]
        assert document["new"]["steps"] == [1, 2]
        # THEN kernels are compared, per rank and step
        assert kernels(document) == {"MatMul": (4.0, 6.0), "Softmax": (1.0, 1.0)}

    @pytest.mark.slow
    def test_the_summary_names_the_slower_kernel(self, rlcompare: Command, logs: tuple[Path, Path]) -> None:
        outcome = rlcompare("diff", "-d", logs[1], "-bp", logs[0])
        assert outcome.code == 0
        assert "MatMul" in outcome.out

    def test_show(self, rlcompare: Command, logs: tuple[Path, Path]) -> None:
        outcome = rlcompare("show", logs[1])
        assert (outcome.code, outcome.err) == (0, "")
        assert any(line.split()[:1] == ["MatMul"] for line in outcome.out.splitlines())
        assert outcome.out.splitlines()[-2:] == [
            f"Kernel viewer: kernel-viewer {logs[1] / 'node0.csv'}",
            f"Kernel viewer: kernel-viewer {logs[1] / 'node1.csv'}",
        ]

    def test_one_file(self, rlcompare: Command, logs: tuple[Path, Path]) -> None:
        outcome = rlcompare("show", logs[1] / "node1.csv", "--json")
        assert [row["rank"] for row in json.loads(outcome.out)["ranks"]] == ["rank 1"]

    def test_a_step_that_is_not_there_is_refused_before_reading(
        self, rlcompare: Command, logs: tuple[Path, Path]
    ) -> None:
        outcome = rlcompare("show", logs[1], "--step", "3")
        assert (outcome.code, outcome.error.endswith("has steps 1-2")) == (2, True)

    @pytest.mark.slow
    def test_one_step(self, rlcompare: Command, logs: tuple[Path, Path]) -> None:
        outcome = rlcompare("diff", "-d", logs[1], "-bp", logs[0], "--step", "2", "--json")
        assert json.loads(outcome.out)["new"]["steps"] == [2]

    def test_what_it_reports(self, rlcompare: Command, logs: tuple[Path, Path]) -> None:
        with (logs[1] / "node1.csv").open("a", encoding="utf-8") as log:
            log.write("2,0,copy_2,Copy,1700000000290000000,\n")
        outcome = rlcompare("show", logs[1])
        assert "node1.csv: 1 kernels without a time were left out" in outcome.out

    def test_a_damaged_file_beside_a_sound_one(self, rlcompare: Command, logs: tuple[Path, Path]) -> None:
        (logs[1] / "node1.csv").write_text("# kernel log, rank 1, steps 1\nstep,device\n1,x\n", encoding="utf-8")
        outcome = rlcompare("show", logs[1])
        assert outcome.code == 0
        assert "node1.csv: it cannot be read" in outcome.out
        # THEN alone it is an error that says what to do
        outcome = rlcompare("show", logs[1] / "node1.csv")
        assert outcome.code == 4
        assert outcome.error.endswith("Log the kernels again.")


def test_another_process_finds_it_by_its_reference() -> None:
    """A worker process has the registry's own lines only; the batch that it gets says where the source stands."""
    code = "import sys; from rlcompare.sources.registry import load; print(load(sys.argv[1]).tool)"
    result = subprocess.run([sys.executable, "-c", code, LINE], cwd=ROOT, capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("kernel_logger\n", "")
