"""The guard of the disk: captures end before it is full, the run does not."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from rlcompare.collect.profiler.disk import DiskGuard  # noqa: E402
from tests.collect.profiled_loop import PROFILER, profiler, run  # noqa: E402

_MIB = 1 << 20
_Usage = namedtuple("_Usage", "total used free")


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """MiB that are free, one after the other, the last for ever; set by the test."""
    values: list[int] = []

    def usage(path: object) -> _Usage:
        value = values.pop(0) if len(values) > 1 else values[0]
        return _Usage(0, 0, value * _MIB)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    return values


def test_with_room_nothing_is_said(free: list[int], tmp_path: Path) -> None:
    free[:] = [100]
    made = profiler(tmp_path, "global_profiler.steps=[1,2]")
    assert [capture.step for capture in run(made)] == [1, 2]
    assert made.notes == []


def test_without_room_nothing_is_captured_and_the_run_goes_on(free: list[int], tmp_path: Path) -> None:
    free[:] = [63]
    made = profiler(tmp_path, "global_profiler.steps=[1,2]")
    assert run(made) == []
    (note,) = made.notes
    assert note.startswith(
        f"step 1 is not captured: {tmp_path / 'profile' / 'e2e'} has 63 MiB free, but a "
        "capture of 1 rank may need 64 MiB. "
    )
    assert "Capturing is off from now on; the run continues" in note
    assert not list(tmp_path.rglob("*.json*"))


@pytest.mark.parametrize("discrete", ["false", "true"])
def test_a_disk_that_runs_full_ends_the_capture_only(free: list[int], tmp_path: Path, discrete: str) -> None:
    # GIVEN room for a start, and for a few ticks
    free[:] = [100, 100, 100, 10]
    made = profiler(tmp_path, "global_profiler.steps=[1,2]", f"{PROFILER}.tool_config.torch.discrete={discrete}")
    # WHEN the first phase goes on, THEN it is dropped, and said once
    assert run(made) == []
    (note,) = made.notes
    what = "generate_sequences of step 1" if discrete == "true" else "step 1"
    assert note.startswith(f"the capture of {what} was stopped and dropped: ")
    assert not list(tmp_path.rglob("*.json*"))


def test_the_next_is_estimated_by_the_largest_before_it(free: list[int], tmp_path: Path) -> None:
    guard = DiskGuard()
    free[:] = [1100]
    assert guard.allows("npu", tmp_path, "step 1")
    capture = tmp_path / "host_1_ascend_pt" / "PROF_1"
    capture.mkdir(parents=True)
    with (capture / "data").open("wb") as file:
        file.truncate(400 * _MIB)
    guard.learn("npu", capture.parent)
    free[:] = [664]
    assert guard.allows("npu", tmp_path, "step 2")
    free[:] = [663]
    assert not guard.allows("npu", tmp_path, "step 3")
    assert "but a capture of 1 rank may need 664 MiB, as the largest so far had 400 MiB per rank" in guard.problem
    free[:] = [9999]
    assert not guard.allows("npu", tmp_path, "step 4")  # once stopped, it stays so: what was told holds


def test_all_ranks_of_the_machine_share_it(free: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    free[:] = [8 * 1024]
    assert not DiskGuard().allows("npu", tmp_path, "step 1")
    free[:] = [8 * 1024 + 64]
    assert DiskGuard().allows("npu", tmp_path, "step 1")
