"""Critical path sampling: which ticks a schedule records, and which schedules are refused."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("omegaconf")

from rlcompare.collect.profiler.schedule import Sampler, Schedule, check_schedule, schedule_of, ticks_of
from rlcompare.collect.reference.config.load import load_config
from rlcompare.errors import UsageError

schedules = st.builds(
    Schedule,
    st.just("decode_step"),
    skip_first=st.integers(0, 6),
    wait=st.integers(0, 3),
    warmup=st.integers(0, 3),
    active=st.integers(1, 4),
    repeat=st.integers(0, 3),
)
ROLLOUT = "actor_rollout_ref.rollout.profiler"
ACTOR = "actor_rollout_ref.actor.profiler"


def schedule(role: str, *overrides: str, tool: str = "torch") -> Schedule | None:
    return schedule_of(role, load_config(overrides).profilers[role], tool)


@settings(deadline=None)  # the first example imports torch
@given(schedules)
def test_it_records_what_torch_records(chosen: Schedule) -> None:
    profiler = pytest.importorskip("torch.profiler")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = profiler.schedule(
            skip_first=chosen.skip_first,
            wait=chosen.wait,
            warmup=chosen.warmup,
            active=chosen.active,
            repeat=chosen.repeat,
        )
    actions = [theirs(tick) for tick in range(60)]
    recording = (profiler.ProfilerAction.RECORD, profiler.ProfilerAction.RECORD_AND_SAVE)
    assert [chosen.records(tick) for tick in range(60)] == [action in recording for action in actions]
    closing = [action is profiler.ProfilerAction.RECORD_AND_SAVE for action in actions]
    assert [chosen.closes(tick) for tick in range(60)] == closing


@given(schedules)
def test_what_it_needs_is_just_enough(chosen: Schedule) -> None:
    # THEN with that many ticks every window has closed, and the last tick is the one that closes it
    closed = [tick for tick in range(chosen.needs) if chosen.closes(tick)]
    assert len(closed) == max(chosen.repeat, 1)
    assert closed[-1] == chosen.needs - 1


def test_the_sampler_gives_each_window_its_ordinals() -> None:
    # GIVEN the windows (2, 3) and (5, 6), taken where each one closes
    sampler = Sampler(chosen := Schedule("micro_batch", skip_first=1, warmup=1, active=2, repeat=2))
    windows = []
    for tick in range(9):
        sampler.advance()
        if chosen.closes(tick):
            windows.append(sampler.take())
    assert windows == [(2, 3), (5, 6)]
    assert sampler.take() == ()


def test_defaults_leave_out_ten_decode_steps_and_no_micro_batch() -> None:
    assert schedule("rollout") is None
    assert schedule("rollout", f"{ROLLOUT}.schedule.granularity=decode_step") == Schedule("decode_step", 10, 0, 1, 1, 1)
    assert schedule("actor", f"{ACTOR}.schedule.granularity=micro_batch") == Schedule("micro_batch", 0, 0, 1, 1, 1)


def test_each_role_has_its_own_granularities() -> None:
    with pytest.raises(
        UsageError, match=r"rollout.*micro_batch is not available for this role; choose from step, decode_step, or null"
    ):
        schedule("rollout", f"{ROLLOUT}.schedule.granularity=micro_batch")
    with pytest.raises(
        UsageError, match="decode_step is not available for this role; choose from step, mini_batch, micro_batch"
    ):
        schedule("actor", f"{ACTOR}.schedule.granularity=decode_step")


def test_step_start_and_end_choose_mini_batches_as_in_verl() -> None:
    chosen = schedule("actor", f"{ACTOR}.tool_config.torch.step_start=2", f"{ACTOR}.tool_config.torch.step_end=4")
    assert chosen is not None
    assert chosen.granularity == "mini_batch"
    assert [tick for tick in range(10) if chosen.records(tick)] == [2, 3]
    # the first mini batch has nothing before it to warm up with
    first = schedule("actor", f"{ACTOR}.tool_config.torch.step_end=1")
    assert first is not None
    assert [tick for tick in range(10) if first.records(tick)] == [0]
    with pytest.raises(UsageError, match="choose mini batches for the tool torch, and this role has npu"):
        schedule("actor", f"{ACTOR}.tool_config.torch.step_end=1", tool="npu")


def test_contradictory_choices_are_refused() -> None:
    with pytest.raises(UsageError, match="step_end must be greater"):
        schedule("actor", f"{ACTOR}.tool_config.torch.step_start=2", f"{ACTOR}.tool_config.torch.step_end=2")
    with pytest.raises(UsageError, match="keep one"):
        schedule("actor", f"{ACTOR}.tool_config.torch.step_end=2", f"{ACTOR}.schedule.granularity=micro_batch")


def test_a_schedule_that_can_never_fire_is_refused_with_the_formula() -> None:
    chosen = Schedule("decode_step", skip_first=10, wait=1, warmup=2, active=3, repeat=4)
    check_schedule(chosen, 34, "KEY")
    message = (
        r"KEY would never record: it needs skip_first \+ \(wait \+ warmup \+ active\) \* repeat = "
        r"10 \+ \(1 \+ 2 \+ 3\) \* 4 = 34 decode steps, but there are at most 33"
    )
    with pytest.raises(UsageError, match=message):
        check_schedule(chosen, 33, "KEY")


def test_the_ticks_of_each_phase_follow_from_the_batch() -> None:
    # GIVEN 8 prompts x 4 responses on 2 ranks: 16 rows a rank, two mini batches of 8 rows, twice
    config = load_config(
        [
            "data.max_response_length=20",
            "actor_rollout_ref.actor.ppo_epochs=2",
            "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=3",
            "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=5",
            "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=16",
            "trainer.n_gpus_per_node=2",
        ]
    )
    assert ticks_of(config, "generate_sequences", "decode_step", 2) == 19  # the prefill gives the first token
    assert ticks_of(config, "old_log_prob", "micro_batch", 2) == 4
    assert ticks_of(config, "old_log_prob", "mini_batch", 2) == 0
    assert ticks_of(config, "ref_log_prob", "micro_batch", 2) == 1
    assert ticks_of(config, "update_actor", "mini_batch", 2) == 4
    assert ticks_of(config, "update_actor", "micro_batch", 2) == 12
    assert ticks_of(config, "update_critic", "micro_batch", 2) == 4  # epochs follow the actor's
    assert ticks_of(config, "update_actor", "step", 2) == 12
