"""Causes name what explains a change, and not what merely moved beside it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rlcompare.compare.log_tells import settings
from rlcompare.model.diff import Diff, Row, Section
from tests.sql.rollup_stores import MS, RollupStore, compared
from tests.sql.test_compare_limits import logged
from tests.unit.test_causes import evidence_of

OPERATORS = {"MatMulV2": 40, "FlashAttentionScore": 25, "Add": 15, "Cast": 10, "RmsNorm": 10}
"""Operators of a step, and their times in ms."""


def texts(diff: Diff) -> str:
    return "\n".join(cause.text for cause in diff.causes)


def sides(tmp_path: Path, make: Callable[[RollupStore, bool], object]) -> Diff:
    """A diff of two stores; ``make`` fills one, and is told whether it is the new one."""
    made = []
    for name in ("old", "new"):
        store = RollupStore(tmp_path / f"{name}.duckdb")
        make(store, name == "new")
        made.append(store.done())
    return compared(*made)


class TestClock:
    """The AI Core clock is that of the devices whose kernels slowed."""

    @pytest.mark.parametrize(
        ("slow", "throttled", "text"),
        [
            (
                {3},
                {3},
                "Computation on rank 3 takes 67 % longer, as its AI Core clock fell from 1,800 to 1,080 MHz: most",
            ),
            ({5}, {3}, "Computation on rank 5 takes 67 % longer: most"),
            (set(range(8)), set(range(8)), "The AI Core clock fell from 1,800 to 1,080 MHz, and most kernels"),
        ],
    )
    def test_of_ranks(self, tmp_path: Path, slow: set[int], throttled: set[int], text: str) -> None:
        def make(store: RollupStore, is_new: bool) -> None:
            for rank in range(8):
                times = {op: int(ms * MS / (0.6 if is_new and rank in slow else 1.0)) for op, ms in OPERATORS.items()}
                mhz = 1800.0 * (0.6 if is_new and rank in throttled else 1.0)
                store.capture(rank, rank).step(1, rank).time(1, sum(times.values()), rank)
                for op, time in times.items():
                    store.kernel(1, op, 20, time, rank)
                counter = {"name": "aicore_freq_mhz", "mean": mhz, "min": mhz, "max": mhz}
                store.add("r_counter", capture=rank, device_id=0, **counter)

        said = texts(sides(tmp_path, make))
        assert said.startswith(text)
        assert said.count("AI Core clock") == text.count("AI Core clock")

    def test_of_one_device_in_two_captures(self, tmp_path: Path) -> None:
        """Its captures ran at clocks 6 % apart, and both fell."""

        def make(store: RollupStore, is_new: bool) -> None:
            for capture, mhz in enumerate((1400.0, 1390.0) if is_new else (1800.0, 1700.0)):
                times = {op: int(ms * MS * (1.25 if is_new else 1.0)) for op, ms in OPERATORS.items()}
                store.capture(capture, 0, role="actor", phase="update_actor", ordinal=capture)
                store.step(capture + 1, capture).time(capture + 1, sum(times.values()), capture)
                for op, time in times.items():
                    store.kernel(capture + 1, op, 20, time, capture)
                counter = {"name": "aicore_freq_mhz", "mean": mhz, "min": mhz, "max": mhz}
                store.add("r_counter", capture=capture, device_id=0, **counter)

        assert texts(sides(tmp_path, make)).startswith("The AI Core clock fell from 1,750 to 1,395 MHz")


@pytest.mark.parametrize(
    ("key", "values", "cpu"),
    [
        ("env.TASK_QUEUE_ENABLE", ("2", "0"), False),
        ("env.ASCEND_GLOBAL_LOG_LEVEL", ("3", "0"), False),
        ("cann", ("8.0", "8.3"), False),
        ("profiler.level", ("Level0", "Level2"), False),
        ("commit", ("a" * 12, "b" * 12), True),
    ],
)
def test_a_busy_cpu_where_no_setting_of_the_host_differs(
    tmp_path: Path, key: str, values: tuple[str, str], cpu: bool
) -> None:
    def make(store: RollupStore, is_new: bool) -> None:
        wait, own = (80, 12) if is_new else (60, 10)
        store.capture().step(1).time(1, 40 * MS, free=wait * MS).add("env", key=key, value=values[is_new])
        for name in ("Add", "Cast", "Mul", "Sort", "Sum"):
            store.kernel(1, name, 1, 8 * MS, gap_ns=wait * MS // 5)
        for name in "abcde":
            store.add("r_operator", capture=0, step=1, name=f"aten::{name}", calls=8, host_self_ns=own * MS)

    said = texts(sides(tmp_path, make))
    assert "The host takes 20 % longer for the same calls" in said
    assert ("as on a busier CPU" in said) is cpu


@pytest.mark.parametrize("host_op", ["aten::mm", "CompiledFunction"])
def test_slower_kernels_of_another_launcher_are_no_other_mix(tmp_path: Path, host_op: str) -> None:
    """Their shapes vary, as is usual; torch.compile on one side, say."""

    def make(store: RollupStore, is_new: bool) -> None:
        factor, launcher, offset = (2, host_op, 1000) if is_new else (1, "aten::mm", 0)
        store.capture().step(1).time(1, (20 + 80 * factor) * MS)
        store.kernel(1, "Add", 10, 20 * MS, host_op="aten::add", phase="update_actor", shapes="8,8")
        for number in range(40):
            store.kernel(
                1, "MatMulV2", 2, 2 * MS * factor, host_op=launcher, phase="update_actor",
                shapes=f"{128 + number * 8 + offset},4096;4096,4096", elements=2.0 * ((628 + number) * 4096 + 4096**2),
            )  # fmt: skip
        store.phase(1, "update_actor", (20 + 80 * factor) * MS, role="actor")

    assert texts(sides(tmp_path, make)).startswith("MatMulV2 in update_actor takes 2.0 times as long per call")


def test_a_slower_operator_is_not_replaced_for_a_few_calls(tmp_path: Path) -> None:
    def make(store: RollupStore, is_new: bool) -> None:
        calls, each = (486, 0.15) if is_new else (490, 0.1)
        store.capture().step(1).time(1, int(calls * each * MS) + 30 * MS + (MS // 10 if is_new else 0))
        store.kernel(1, "Add", 100, 30 * MS).kernel(1, "MatMulV2", calls, int(calls * each * MS))
        if is_new:
            store.kernel(1, "PadV3", 4, MS // 10)

    said = texts(sides(tmp_path, make))
    assert "MatMulV2 takes 23.85 ms more" in said or "MatMulV2 takes 50 % longer per call" in said
    assert "→ PadV3" not in said


def fewer_captures(count: int) -> Callable[[RollupStore, bool], object]:
    def make(store: RollupStore, is_new: bool) -> None:
        for number in range(count if is_new else 4):
            given = {"role": "actor", "phase": "update_actor", "ordinal": number, "step_hint": 1}
            store.capture(number, 0, **given).step(1, number).time(1, 25 * MS, number)
            store.kernel(1, "MatMulV2", 100, 25 * MS, number, phase="update_actor")

    return make


def test_fewer_captures_of_a_step_may_be_lost(tmp_path: Path) -> None:
    diff = sides(tmp_path, fewer_captures(3))
    (finding,) = (found for found in diff.comparability.findings if found.key == "captures")
    assert finding.severity == "caution"
    assert "captures that are missing on one side count as less work" in finding.message


def test_captures_of_several_steps_lack_nothing(tmp_path: Path) -> None:
    def make(store: RollupStore, is_new: bool) -> None:
        for capture, steps in enumerate(([1], [2]) if is_new else ([1, 2],)):
            store.capture(capture, 0, role="actor", phase="update_actor", ordinal=capture)
            for step in steps:
                store.step(step, capture).time(step, 10 * MS, capture)

    found = [found.severity for found in sides(tmp_path, make).comparability.findings if found.key == "captures"]
    assert found == ["info"]


def steps(seed: int, given: Mapping[str, Callable[[random.Random], float]]) -> list[dict[str, float]]:
    """What 40 steps logged."""
    rng = random.Random(seed)
    return [{name: value(rng) for name, value in given.items()} for _ in range(40)]


def about(value: float, part: float = 0.005) -> Callable[[random.Random], float]:
    return lambda rng: value * (1 + rng.gauss(0, part))


def of_logs(tmp_path: Path, *of_sides: list[dict[str, float]]) -> Diff:
    return compared(*(logged(tmp_path / f"{n}.duckdb", *found) for n, found in enumerate(of_sides)))


def with_step(found: list[dict[str, float]], *parts: str) -> list[dict[str, float]]:
    return [{**one, "timing_s/step": sum(one[part] for part in parts) + 1} for one in found]


PHASES = ("timing_s/gen", "timing_s/update_actor", "timing_s/old_log_prob")


def test_what_follows_from_a_time_is_no_reason_for_it(tmp_path: Path) -> None:
    def made(seed: int, update: float) -> list[dict[str, float]]:
        given = dict(zip(PHASES, (about(60), about(update), about(15)), strict=True))
        found = with_step(steps(seed, given), *PHASES)
        return [{**one, "perf/mfu/actor": 8 / one["timing_s/update_actor"]} for one in found]

    small = of_logs(tmp_path, made(1, 20.0), made(2, 22.0))
    assert small.causes == (), "two runs of one setting may differ by so much"
    (tmp_path / "large").mkdir()
    assert "at an MFU of" in texts(of_logs(tmp_path / "large", made(1, 20.0), made(2, 40.0)))


@pytest.mark.parametrize(("count", "named"), [(33.0, False), (48.0, True)])
def test_micro_batches_must_be_as_many_more(tmp_path: Path, count: float, named: bool) -> None:
    def made(seed: int, update: float, batches: float) -> list[dict[str, float]]:
        given = dict(zip(PHASES, (about(40), about(update), about(5)), strict=True))
        return [{**one, "workload.micro_batches": batches} for one in with_step(steps(seed, given), *PHASES)]

    said = texts(of_logs(tmp_path, made(1, 30.0, 32.0), made(2, 45.0, count)))
    assert said.startswith("Phase update_actor grew by 15.")
    assert ("micro batches" in said) is named


@pytest.mark.parametrize("batch", [256])
def test_generation_follows_the_longest_response(tmp_path: Path, batch: int) -> None:
    """Generation follows the longest response in each step, however many samples there are."""

    def made(seed: int, samples: int, longest: float) -> list[dict[str, float]]:
        rng = random.Random(seed)
        found = []
        for _ in range(40):
            most, mean = longest * (1 + rng.gauss(0, 0.08)), 500 * (1 + rng.gauss(0, 0.005))
            one = {"timing_s/gen": 4 + 56 * most / 1000, "timing_s/update_actor": 20 * (1 + rng.gauss(0, 0.01))}
            work = {"response_length/max": most, "response_length/mean": mean, "prompt_length/mean": 100.0}
            found.append({**one, **work, "perf/total_num_tokens": samples * (mean + 100)})
        return with_step(found, "timing_s/gen", "timing_s/update_actor")

    said = texts(of_logs(tmp_path, made(1, 256, 1000), made(2, batch, 1500)))
    assert said.startswith("Phase generate_sequences grew by")
    assert "the tail of the batch" in said
    assert "more tokens" not in said


def test_a_wait_that_holds_the_whole_rollout_hides_nothing(tmp_path: Path) -> None:
    """As in slime where the rollout does not run beside training."""

    def made(seed: int, rollout: float, update: float) -> list[dict[str, float]]:
        rng = random.Random(seed)
        found: list[dict[str, float]] = []
        for _ in range(40):
            times = [value * (1 + rng.gauss(0, 0.01)) for value in (rollout, update, 10.0)]
            train = times[1] + times[2] + 1
            found.append({
                "perf/rollout_time": times[0], "perf/train_wait_time": times[0] + 2, "perf/update_weights_time": 2.0,
                "perf/actor_train_time": times[1], "perf/log_probs_time": times[2], "perf/train_time": train,
                "perf/step_time": times[0] + 2 + train,
            })  # fmt: skip
        return found

    said = texts(of_logs(tmp_path, made(1, 58.0, 30.0), made(2, 48.0, 45.0)))
    assert "Phase update_actor grew by 15." in said
    assert "not counting" not in said


def test_one_timer_has_one_name_on_both_sides(tmp_path: Path) -> None:
    def made(seed: int, stale: float) -> list[dict[str, float]]:
        given: Mapping[str, Callable[[random.Random], float]] = {
            **dict(zip(PHASES, (about(60), about(20), about(15)), strict=True)),
            "training/off_policy/trajectory_staleness/max": lambda rng: float(rng.random() < stale),
        }
        return with_step(steps(seed, given), *PHASES)

    diff = of_logs(tmp_path, made(1, 0.42), made(2, 0.62))
    rows = {row["name"]: (row["baseline"], row["new"]) for row in diff.sections["phases"].rows}
    assert "generate_sequences" not in rows
    assert all(rows["wait_for_samples"])


def test_turns_explain_no_more_than_their_part_of_the_tool_calls(tmp_path: Path) -> None:
    """A quarter more calls, each of which takes longer, in the slowest sample: 20 s, then 30 s."""
    tools, decode = (f"timing_s/agent_loop/slowest/{name}" for name in ("tool_calls", "generate_sequences"))

    def made(seed: int, calls: float, seconds: float) -> list[dict[str, float]]:
        counts = {"tool_call_counts/mean": about(calls), "num_turns/mean": about(calls + 4)}
        found = steps(seed, {tools: about(seconds), decode: about(40), PHASES[1]: about(20), **counts})
        found = [{**one, "timing_s/gen": one[tools] + one[decode]} for one in found]
        return with_step(found, "timing_s/gen", PHASES[1])

    diff = of_logs(tmp_path, made(1, 2.0, 20.0), made(2, 2.5, 30.0))
    turns, rest = diff.causes
    assert (turns.what, turns.delta_ms) == ("turns", pytest.approx(5_000, rel=0.1))
    assert rest.text.endswith("in the tool calls of the slowest sample.")


@pytest.mark.parametrize("devices", [4, 8])
def test_ranks_that_share_a_batch_are_devices(tmp_path: Path, devices: int) -> None:
    """Each rank of data parallelism has twice the tokens: half the devices, or two that share them at a cost."""

    def made(seed: int, ranks: int, number: int, rate: float) -> list[dict[str, float]]:
        found = steps(seed, {PHASES[0]: about(60), "perf/total_num_tokens": about(800_000, 0.03)})
        for one in found:
            one["global_seqlen/mean"] = one["perf/total_num_tokens"] / ranks
            one["global_seqlen/balanced_max"] = 1.02 * one["global_seqlen/mean"]
            one[PHASES[1]] = one["global_seqlen/mean"] / rate
        found = with_step(found, *PHASES[:2])
        for one in found:
            one["perf/time_per_step"] = one["timing_s/step"]
            one["perf/throughput"] = one["perf/total_num_tokens"] / one["timing_s/step"] / number
        return found

    said = texts(of_logs(tmp_path, made(1, 8, 8, 5000.0), made(2, 4, devices, 5000.0 if devices == 4 else 7500.0)))
    assert ("as fewer ranks share a batch" in said) == (devices == 4)
    assert ("Phase update_actor grew by 6." in said) == (devices == 8)


@pytest.mark.parametrize(("prompt", "named"), [(230.0, True), (300.0, False)])
def test_what_moved_far_more_than_the_phase_is_not_told(tmp_path: Path, prompt: float, named: bool) -> None:
    def made(seed: int, seconds: float, length: float) -> list[dict[str, float]]:
        given = {PHASES[0]: about(seconds), PHASES[1]: about(20), "prompt_length/mean": about(length)}
        return with_step(steps(seed, given), *PHASES[:2])

    said = texts(of_logs(tmp_path, made(1, 60.0, 200.0), made(2, 69.0, prompt)))
    assert "Phase generate_sequences grew by 8.98 s per step" in said
    assert ("with prompts of" in said) == named


@pytest.mark.parametrize(
    ("name", "values", "named"),
    [
        ("actor_rollout_ref.actor.fsdp_config.param_offload", ("false", "true"), True),
        ("actor_rollout_ref.actor.fsdp_config.param_offload", ("True", "False"), False),
        ("actor_rollout_ref.actor.use_torch_compile", ("true", "false"), True),
        ("actor_rollout_ref.actor.use_torch_compile", ("false", "true"), False),
        ("actor_rollout_ref.actor.strategy", ("fsdp", "fsdp2"), True),
    ],
)
def test_a_switch_that_makes_a_phase_faster_is_not_told_where_it_slowed(
    name: str, values: tuple[str, str], named: bool
) -> None:
    row: Row = {"name": name, "baseline": values[0], "new": values[1]}
    evidence = replace(
        evidence_of({("comm", None, "x"): (10.0, 20.0)}), sections={"env": Section("env", "", (), None, "", (row,))}
    )
    assert (name in settings(evidence, ("actor_rollout_ref.actor.",), 5_000.0)) == named
