"""Critical path sampling with the torch tool: a few ticks of a phase on disk, and their ordinals on record."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from rlcompare.errors import UsageError  # noqa: E402
from tests.collect.profiled_loop import PROFILER, ROLLOUT, names, operators, profiler, run, trace  # noqa: E402

DECODE = f"{ROLLOUT}.schedule.granularity=decode_step"
MICRO = f"{PROFILER}.schedule.granularity=micro_batch"
ALONE = f"{PROFILER}.enable=false"
"""So that only the rollout, enabled again, is captured."""
ON = f"{ROLLOUT}.enable=true"


def test_a_rollout_yields_one_decode_step_after_ten_and_a_warm_up(tmp_path: Path) -> None:
    (capture,) = run(profiler(tmp_path, ALONE, ON, DECODE))
    assert capture.path.startswith("profile/rollout_generate/prof_step2_rank0-of-1_")
    assert (capture.role, capture.phase, capture.sampled) == ("rollout", "generate_sequences", (11,))
    found = trace(tmp_path, capture)
    assert names(found, "user_annotation") == ["ProfilerStep#11"]
    assert names(found, "cpu_op").count("aten::mm") == 1
    assert found["rlcompare"] | {"granularity": "decode_step", "sampled": [11], "step": 2} == found["rlcompare"]


def test_cycles_leave_a_file_each(tmp_path: Path) -> None:
    cycles = ["skip_first=1", "wait=2", "warmup=0", "active=3", "repeat=3"]
    captures = run(profiler(tmp_path, ALONE, ON, DECODE, *(f"{ROLLOUT}.schedule.{part}" for part in cycles)))
    assert [capture.sampled for capture in captures] == [(3, 4, 5), (8, 9, 10), (13, 14, 15)]
    for capture in captures:
        found = trace(tmp_path, capture)
        assert names(found, "cpu_op").count("aten::mm") == 3
        assert found["rlcompare"]["sampled"] == list(capture.sampled or ())


def test_micro_batches_are_sampled_in_both_phases_of_the_actor(tmp_path: Path) -> None:
    captures = run(profiler(tmp_path, MICRO, f"{ROLLOUT}.enable=false"))
    assert [(capture.phase, capture.sampled) for capture in captures] == [
        ("old_log_prob", (1,)),
        ("update_actor", (1,)),
    ]
    assert [names(trace(tmp_path, capture), "cpu_op").count("aten::exp") for capture in captures] == [1, 0]
    assert [names(trace(tmp_path, capture), "cpu_op").count("aten::tanh") for capture in captures] == [0, 1]


def test_mini_batches_are_sampled_where_there_are_any(tmp_path: Path) -> None:
    choice = f"{PROFILER}.schedule.granularity=mini_batch"
    (capture,) = run(profiler(tmp_path, choice, f"{ROLLOUT}.enable=false"))
    assert (capture.phase, capture.sampled) == ("update_actor", (1,))
    # a mini batch is two of the loop's micro batches
    assert names(trace(tmp_path, capture), "cpu_op").count("aten::tanh") == 2


def test_steps_are_sampled_in_place_of_the_global_choice(tmp_path: Path) -> None:
    choice = [f"{ROLLOUT}.schedule.{part}" for part in ("granularity=step", "skip_first=1", "active=2")]
    made = profiler(tmp_path, *choice, f"{PROFILER}.enable=false", ON, "global_profiler.steps=[1]", steps=5)
    captures = run(made, steps=5)
    assert [(capture.step, capture.sampled) for capture in captures] == [(3, (2,)), (4, (3,))]
    assert [step for step in range(1, 6) if made.is_profiled(step)] == [3, 4]
    assert all(operators(trace(tmp_path, capture)) == {"aten::mm"} for capture in captures)


def test_with_one_role_sampled_the_others_get_captures_of_their_own(tmp_path: Path) -> None:
    # GIVEN an actor that asks for a capture of the whole step, which would hold the rollout's as well
    made = profiler(tmp_path, DECODE)
    captures = run(made)
    assert [(capture.phase, capture.sampled) for capture in captures] == [
        ("generate_sequences", (11,)),
        ("old_log_prob", None),
        ("update_actor", None),
    ]
    assert any("rollout is captured on its own" in note and "actor also" in note for note in made.notes)


def test_a_rollout_that_ends_early_is_told_or_leaves_what_there_was(tmp_path: Path) -> None:
    # GIVEN a schedule of ticks 11 and 12 of up to 31, and responses that end before, amid and right after them
    choice = [ALONE, ON, DECODE, f"{ROLLOUT}.schedule.active=2"]
    early = profiler(tmp_path, *choice)
    assert run(early, decode_steps=11) == []
    assert "it had 11 ticks" in early.notes[-1]
    assert "= 10 + (0 + 1 + 2) * 1 = 13" in early.notes[-1]
    amid, after = profiler(tmp_path, *choice), profiler(tmp_path, *choice)
    assert [capture.sampled for capture in run(amid, decode_steps=12)] == [(11,)]
    assert [capture.sampled for capture in run(after, decode_steps=13)] == [(11, 12)]
    assert after.notes == []


def test_what_can_never_fire_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"rollout\.profiler\.schedule would never record: .* = 12 decode steps.*at most 7"
    ):
        profiler(tmp_path, DECODE, "data.max_response_length=8")
    with pytest.raises(
        UsageError, match=r"actor\.profiler\.schedule would never record: .* = 9 micro batches.*at most 4"
    ):
        profiler(tmp_path, MICRO, f"{PROFILER}.schedule.active=8")
    with pytest.raises(UsageError, match=r"= 3 training steps.*at most 2"):
        profiler(tmp_path, f"{PROFILER}.schedule.granularity=step", f"{PROFILER}.schedule.active=2")
