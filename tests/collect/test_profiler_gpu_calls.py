"""What is called of torch for a GPU, where there is none: the calls are torch's own, and take no device."""

from __future__ import annotations

import gzip
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from rlcompare.collect.profiler import StepProfiler, make_profilers  # noqa: E402
from rlcompare.collect.reference.config.load import load_config  # noqa: E402
from rlcompare.errors import UsageError  # noqa: E402
from tests.collect.profiled_loop import PROFILER, ROLLOUT, run  # noqa: E402

ROLLOUT_ALONE = [f"{PROFILER}.enable=false", f"{ROLLOUT}.enable=true"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Replaces what needs a GPU; the calls, in order."""
    made: list[tuple[str, Any]] = []

    def noted(owner: Any, name: str, answer: Any = None) -> None:
        signature = inspect.signature(getattr(owner, name))

        def call(*arguments: Any, **named: Any) -> Any:
            signature.bind(*arguments, **named)  # as torch's own would refuse what it does not take
            made.append((name, named or (arguments[0] if arguments else None)))
            return answer

        monkeypatch.setattr(owner, name, call)

    noted(torch.cuda.profiler, "start")
    noted(torch.cuda.profiler, "stop")
    noted(torch.cuda.nvtx, "range_push")
    noted(torch.cuda.nvtx, "range_pop")
    noted(torch.cuda.memory, "_record_memory_history")
    noted(torch.cuda.memory, "_snapshot", {"device_traces": [[]], "segments": []})
    monkeypatch.setattr(torch.cuda.memory, "memory_allocated", lambda device: 0)
    monkeypatch.setattr(torch.cuda.memory, "memory_reserved", lambda device: 0)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    return made


def profiler(out: Path, *overrides: str) -> StepProfiler:
    return make_profilers(load_config(["trainer.total_training_steps=2", *overrides]), out, 0, 1, "cuda:0")


def test_nsys_records_the_step_with_its_phases_as_nvtx_ranges(
    calls: list[tuple[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"must be started by Nsight Systems, as in `nsys profile .*cudaProfilerApi"):
        profiler(tmp_path, "global_profiler.tool=nsys")
    monkeypatch.setenv("NSYS_PROFILING_SESSION_ID", "1")
    assert run(profiler(tmp_path, "global_profiler.tool=nsys")) == []
    marks = ["generate_sequences", "compute_reward", "compute_log_prob", "compute_advantage", "update_actor"]
    ranges = [call for mark in marks for call in (("range_push", mark), ("range_pop", None))]
    step = [("range_push", "ProfilerStep#2"), *ranges, ("range_pop", None)]
    assert calls == [("start", None), *step, ("stop", None)]


def test_nsys_records_each_role_call_or_the_ticks_of_a_schedule(
    calls: list[tuple[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NSYS_PROFILING_SESSION_ID", "1")
    run(profiler(tmp_path, "global_profiler.tool=nsys", f"{PROFILER}.tool_config.nsys.discrete=true"))
    assert [name for name, _ in calls] == ["start", "range_push", "range_pop", "stop"] * 3
    calls.clear()
    schedule = [f"{ROLLOUT}.schedule.{part}" for part in ("granularity=decode_step", "active=2", "repeat=2")]
    made = profiler(tmp_path, "global_profiler.tool=nsys", *ROLLOUT_ALONE, *schedule)
    run(made)
    assert [name for name, _ in calls] == ["start", "stop", "start", "stop"]
    assert made.notes == []


def test_the_gpus_memory_history_is_on_for_the_step_alone(calls: list[tuple[str, Any]], tmp_path: Path) -> None:
    limit = f"{PROFILER}.tool_config.torch_memory.trace_alloc_max_entries=7"
    (capture,) = run(profiler(tmp_path, "global_profiler.tool=torch_memory", limit))
    assert [call for call in calls if call[0].startswith("_")] == [
        ("_record_memory_history", {"max_entries": 7, "stacks": "python"}),
        ("_snapshot", 0),
        ("_record_memory_history", {"enabled": None}),
    ]
    with gzip.open(tmp_path / capture.path, "rt", encoding="utf-8") as file:
        found = json.load(file)
    assert (found["device"], found["tool"], found["is_complete"]) == ("cuda:0", "torch.cuda.memory", True)


def test_an_interrupted_window_is_closed(
    calls: list[tuple[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NSYS_PROFILING_SESSION_ID", "1")
    for tool, last in (("nsys", ("stop", None)), ("torch_memory", ("_record_memory_history", {"enabled": None}))):
        made = profiler(tmp_path, f"global_profiler.tool={tool}")
        with pytest.raises(KeyboardInterrupt), made.step(2):
            raise KeyboardInterrupt
        assert calls[-1] == last
    assert not list(tmp_path.rglob("*.gz"))


def test_an_unreached_window_of_memory_leaves_nothing(calls: list[tuple[str, Any]], tmp_path: Path) -> None:
    schedule = [f"{ROLLOUT}.schedule.granularity=decode_step", "global_profiler.tool=torch_memory"]
    made = profiler(tmp_path, *ROLLOUT_ALONE, *schedule)
    assert run(made, decode_steps=11) == []
    assert not list(tmp_path.rglob("*.gz"))
    assert "it had 11 ticks" in made.notes[0]
    assert [capture.sampled for capture in run(profiler(tmp_path, *ROLLOUT_ALONE, *schedule))] == [(11,)]
