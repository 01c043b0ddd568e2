"""How rows of the two sides meet, and what they say: kernels, phases, collectives, ranks, memory, metrics, calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sql.rollup_stores import MS, RollupStore, compared, found, values

SECTIONS = [
    "categories", "steps", "ranks", "phases", "account", "path", "kernels", "kernel_types", "efficiency", "operators",
    "modules", "collectives", "groups", "links", "counters", "copies", "memory", "memory_categories", "stacks", "apis",
    "metrics", "workload", "env", "msprof",
]  # fmt: skip


def store(folder: Path, name: str, compute: int = 10 * MS) -> RollupStore:
    """A store with rank 0 and step 1."""
    return RollupStore(folder / f"{name}.duckdb").capture().step(1).time(1, compute, exposed=MS, comm=MS, free=MS)


def test_every_section_is_there_even_if_nothing_was_measured(tmp_path: Path) -> None:
    path = RollupStore(tmp_path / "none.duckdb").done()
    diff = compared(path, path)
    assert list(diff.sections) == SECTIONS
    assert all(section.rows == () for section in diff.sections.values())
    assert diff.overall == ()
    assert diff.headline == "time.device_span"


def test_an_operator_of_one_side_is_told_as_such_and_counts_nought_on_the_other(tmp_path: Path) -> None:
    old = store(tmp_path, "old").kernel(1, "MatMul", 2, 6 * MS).kernel(1, "Cast", 4, 2 * MS).done()
    new = store(tmp_path, "new").kernel(1, "MatMul", 2, 6 * MS).kernel(1, "Sort", 1, 3 * MS).done()
    diff = compared(old, new)
    cast, sort = found(diff, "kernels", "Cast"), found(diff, "kernels", "Sort")
    assert (cast["presence"], cast["baseline"], cast["new"], cast["delta"], cast["new_calls"]) == (
        "baseline_only",
        2.0,
        0.0,
        -2.0,
        0,
    )
    assert (sort["presence"], sort["baseline"], sort["delta"], sort["ratio"]) == ("new_only", 0.0, 3.0, None)
    assert diff.sections["kernels"].matched_share == pytest.approx(12 / 17)
    assert [row["name"] for row in diff.sections["kernels"].rows] == ["Sort", "Cast", "MatMul"]


def test_more_calls_are_told_from_slower_calls(tmp_path: Path) -> None:
    """10 calls of 1 ms against 12 of 1.5: 2 more old calls are 2 ms, and 12 × 0.5 ms are 6."""
    old = store(tmp_path, "old").kernel(1, "MatMul", 10, 10 * MS).done()
    new = store(tmp_path, "new").kernel(1, "MatMul", 12, 18 * MS).done()
    row = found(compared(old, new), "kernels", "MatMul")
    assert (row["delta"], row["delta_calls_ms"], row["delta_per_call_ms"]) == (8.0, 2.0, 6.0)
    assert (row["baseline_per_call_ms"], row["new_per_call_ms"]) == (1.0, 1.5)


def test_what_a_side_did_not_measure_is_unknown_and_not_nought(tmp_path: Path) -> None:
    old = (
        store(tmp_path, "old")
        .add("r_operator", capture=0, step=1, name="aten::mm", calls=2, host_self_ns=4 * MS)
        .done()
    )
    new = store(tmp_path, "new").done()
    row = found(compared(old, new), "operators", "aten::mm")
    assert (row["baseline"], row["new"], row["delta"], row["new_calls"]) == (4.0, None, None, None)


def test_without_types_on_one_side_kernels_meet_by_name(tmp_path: Path) -> None:
    """Level0 knows names alone; the same names on the other side are joined over all their shapes."""
    old = store(tmp_path, "old").kernel(1, None, 5, 6 * MS, name="aclnnMm_MatMulV2", shapes=None, core_type=None).done()
    new = store(tmp_path, "new")
    new.kernel(1, "MatMulV2", 3, 4 * MS, name="aclnnMm_MatMulV2", shapes="8,8").kernel(
        1, "MatMulV2", 2, 3 * MS, name="aclnnMm_MatMulV2", shapes="9,9"
    )
    diff = compared(old, new.done())
    row = found(diff, "kernels", "aclnnMm_MatMulV2")
    assert (row["presence"], row["baseline"], row["new"], row["new_calls"], row["input_shapes"]) == (
        "both",
        6.0,
        7.0,
        5,
        None,
    )
    assert "by name" in diff.sections["kernels"].note
    assert found(diff, "kernel_types", "aclnnMm_MatMulV2")["core_type"] is None


def test_varying_shapes_meet_by_place_with_time_per_element(tmp_path: Path) -> None:
    """Packed sequences of 100 and 300 against 200 and 400 tokens: the dimension that varies is a star."""
    sides = []
    for name, lengths in (("old", (100, 300)), ("new", (200, 400))):
        made = store(tmp_path, name)
        for tokens in lengths:
            shapes = f"{tokens},64;64,32"
            made.kernel(
                1,
                "MatMul",
                1,
                tokens * 1000,
                shapes=shapes,
                phase="update_actor",
                host_op="aten::mm",
                elements=float(tokens * 64 + 2048),
            )
        made.kernel(1, "Cast", 1, 500_000, shapes="7")
        sides.append(made.done())
    diff = compared(*sides)
    row = found(diff, "kernels", "MatMul")
    assert row["input_shapes"] == "*,64;64,32"
    assert (row["phase"], row["host_op"], row["input_dtypes"]) == ("update_actor", "aten::mm", "FLOAT16")
    assert (row["presence"], row["baseline"], row["new"], row["baseline_calls"]) == ("both", 0.4, 0.6, 2)
    assert (row["baseline_elements"], row["new_elements"]) == (29696, 42496)
    assert row["baseline_ns_per_element"] == pytest.approx(400_000 / 29696)
    assert found(diff, "kernels", "Cast")["input_shapes"] == "7"
    assert diff.sections["kernels"].matched_share == 1.0
    assert "MatMul" in diff.sections["kernels"].note
    assert [finding.key for finding in diff.comparability.findings] == ["shapes"]


def test_loose_keys_keep_different_numbers_of_dimensions_apart(tmp_path: Path) -> None:
    sides = []
    for name, first in (("old", 10), ("new", 20)):
        made = store(tmp_path, name)
        made.kernel(1, "Add", 1, 1000, shapes=f"{first},4").kernel(1, "Add", 1, 3000, shapes=f"{first},4,2;")
        sides.append(made.done())
    rows = compared(*sides).sections["kernels"].rows
    assert {row["input_shapes"]: row["baseline"] for row in rows} == {"*,4": 0.001, "*,4,2;": 0.003}


def test_a_number_of_elements_beyond_all_reason_is_unknown(tmp_path: Path) -> None:
    path = store(tmp_path, "hostile").kernel(1, "Add", 1, MS, shapes="9" * 300, elements=1e300).done()
    assert found(compared(path, path), "kernels", "Add")["baseline"] == 1.0


def test_a_rank_without_kernels_shows_the_sums_that_the_profiler_wrote(tmp_path: Path) -> None:
    made = RollupStore(tmp_path / "sums.duckdb").capture().step(1).step(2)
    path = made.kernel(None, "MatMul", 4, 8 * MS, shapes=None, busy_ns=None, gap_ns=None).done()  # type: ignore[arg-type]
    diff = compared(path, path)
    assert found(diff, "kernel_types", "MatMul")["baseline"] == 4.0
    assert diff.metric("time.compute") is None


def test_phases_sum_to_the_step(tmp_path: Path) -> None:
    sides = []
    for name, update in (("old", 10), ("new", 16)):
        made = store(tmp_path, name)
        made.phase(1, "update_actor", update * MS, role="actor", wall_ns=2 * update * MS, calls=1, exposed_comm_ns=MS)
        made.phase(1, "reward", 3 * MS, role="reward", wall_ns=4 * MS, calls=2).phase(
            1, "(outside)", MS, wall_ns=6 * MS
        )
        sides.append(made.done())
    diff = compared(*sides)
    rows = diff.sections["phases"].rows
    assert [(row["name"], row["role"], row["baseline"], row["new"], row["kind"]) for row in rows] == [
        ("update_actor", "actor", 20.0, 32.0, "wall"),
        ("(outside)", None, 6.0, 6.0, "wall"),
        ("reward", "reward", 4.0, 4.0, "wall"),
    ]
    assert (rows[0]["baseline_compute"], rows[0]["new_compute"], rows[0]["new_exposed_comm"]) == (10.0, 16.0, 1.0)
    assert rows[2]["baseline_calls"] == 2
    assert values(diff, "phase.update_actor.wall") == (20.0, 32.0)
    assert values(diff, "phase.reward.compute") == (3.0, 3.0)


def test_phases_without_host_time_are_compared_by_device_time(tmp_path: Path) -> None:
    made = (
        store(tmp_path, "steps")
        .phase(1, "update_actor", 8 * MS, free_ns=2 * MS, exposed_comm_ns=MS)
        .phase(1, "(outside)", MS)
    )
    path = made.done()
    row = found(compared(path, path), "phases", "update_actor")
    assert (row["baseline"], row["kind"]) == (11.0, "device")


def test_collectives_meet_by_kind_and_group_and_carry_their_tasks(tmp_path: Path) -> None:
    sides = []
    for name, longer in (("old", 0), ("new", MS)):
        made = store(tmp_path, name)
        made.collective(1, "all_reduce", 0, 0, 2 * MS, wait_ns=MS, transit_ns=MS, size_bytes=100)
        made.collective(1, "all_reduce", 1, 0, 2 * MS + longer, wait_ns=MS + longer, transit_ns=MS, size_bytes=100)
        made.collective(1, "all_gather", 0, 0, MS, group="0,2", size_bytes=7)
        made.add("r_collective_task", capture=0, step=1, kind="all_reduce", name="Notify_Wait", calls=4, sum_ns=MS)
        sides.append(made.done())
    diff = compared(*sides)
    row = found(diff, "collectives", "all_reduce", group_key="0,1", task=None)
    assert (row["baseline"], row["new"], row["baseline_calls"]) == (4.0, 5.0, 2)
    assert (row["baseline_wait_ms"], row["new_wait_ms"], row["baseline_bytes"]) == (2.0, 3.0, 200)
    assert found(diff, "collectives", "all_reduce / Notify_Wait")["task"] == "Notify_Wait"
    assert diff.sections["collectives"].keys == ("group_key",)  # the task stands in the name
    assert found(diff, "groups", "0,2")["baseline"] == 1.0
    assert diff.sections["collectives"].matched_share == 1.0
    assert values(diff, "workload.collective_bytes") == (207.0, 207.0)


def test_collectives_of_sides_without_a_common_group_meet_by_kind(tmp_path: Path) -> None:
    old = store(tmp_path, "old").collective(1, "all_reduce", 0, 0, MS, group="0,1").done()
    new = store(tmp_path, "new").collective(1, "all_reduce", 0, 0, MS, group="group 0").done()
    diff = compared(old, new)
    assert found(diff, "collectives", "all_reduce")["presence"] == "both"
    assert "share no communication group" in diff.sections["collectives"].note


def three_ranks(path: Path, starts: list[tuple[int, int, int]], group_key: str = "0,1,2") -> Path:
    """Ranks 0 to 2; one all_reduce per entry, which starts at these times and ends at 100 on all."""
    made = RollupStore(path)
    for rank in range(3):
        made.capture(rank, rank).step(1, rank).time(1, 10 * MS, rank, exposed=MS, comm=MS)
        for ordinal, start in enumerate(starts):
            made.collective(
                1, "all_reduce", ordinal, start[rank] * MS, 100 * MS, rank, group=group_key, group_name="tp"
            )
    return made.done()


def test_the_straggler_is_who_starts_last_most_often(tmp_path: Path) -> None:
    """Rank 2 is last twice by little, rank 1 once by much: 2 it is. Late by 0, (0+40+0)/3 and (6+1+5)/3 ms."""
    path = three_ranks(tmp_path / "late.duckdb", [(10, 10, 16), (20, 60, 21), (30, 30, 35)])
    rows = compared(path, path).sections["ranks"].rows
    assert [row["name"] for row in rows] == ["rank 0", "rank 1", "rank 2"]
    assert [row["new_straggler"] for row in rows] == [False, False, True]
    assert [row["new_late_ms"] for row in rows] == pytest.approx([0.0, 40 / 3, 4.0])


def test_who_is_last_by_trifles_is_no_straggler_and_hides_none(tmp_path: Path) -> None:
    """Steps of 100 ms. Rank 2 is last five times by 0.3 ms, 1.5 ms a step, which is little; rank 1 twice by 1.2."""
    starts = [(1000, 1000, 1300)] * 5 + [(4000, 5200, 4000)] * 2
    made = RollupStore(tmp_path / "late.duckdb")
    for rank in range(3):
        made.capture(rank, rank).step(1, rank).time(1, 98 * MS, rank, exposed=MS, comm=MS, free=MS)
        for ordinal, start in enumerate(starts):
            made.collective(1, "all_reduce", ordinal, start[rank] * 1000, 9 * MS, rank, group="0,1,2")
    path = made.done()
    rows = compared(path, path).sections["ranks"].rows
    assert [row["new_straggler"] for row in rows] == [False, True, False]


def test_collectives_of_discrete_captures_meet_within_their_role_and_call(tmp_path: Path) -> None:
    """Ordinals begin anew in each capture. Rank 1 is late by 2 and 4 ms in one phase, by 6 in another."""
    made = RollupStore(tmp_path / "discrete.duckdb")
    calls = [("old_log_prob", 0, 100, 2), ("old_log_prob", 1, 300, 4), ("update_actor", 0, 500, 6)]
    for rank in (0, 1):
        for place, (phase, ordinal, start, late) in enumerate(calls):
            number = 3 * rank + place
            made.capture(number, rank, role="actor", phase=phase, ordinal=ordinal).step(1, number).time(1, MS, number)
            made.collective(1, "all_reduce", 0, (start + rank * late) * MS, 900 * MS, number)
    path = made.done()
    rows = compared(path, path).sections["ranks"].rows
    assert [row["new_late_ms"] for row in rows] == [0.0, 4.0]
    assert [row["new_straggler"] for row in rows] == [False, True]


def test_ranks_of_groups_whose_members_are_unknown_meet_by_the_group_name(tmp_path: Path) -> None:
    path = three_ranks(tmp_path / "late.duckdb", [(10, 10, 16)], group_key="group 0")
    assert found(compared(path, path), "ranks", "rank 2")["new_late_ms"] == 6.0


def test_single_ranks_with_different_numbers_are_paired_and_that_is_said(tmp_path: Path) -> None:
    old = RollupStore(tmp_path / "old.duckdb").capture(0, 0).step(1).time(1, 10 * MS).done()
    new = RollupStore(tmp_path / "new.duckdb").capture(0, 3).step(1).time(1, 12 * MS).done()
    diff = compared(old, new)
    row = found(diff, "ranks", "rank 0 ↔ rank 3")
    assert (row["presence"], row["delta"]) == ("both", 2.0)
    assert [(finding.key, finding.severity) for finding in diff.comparability.findings] == [("ranks", "info")]
    assert diff.comparability.status == "comparable"


def test_steps_pair_by_position(tmp_path: Path) -> None:
    old = RollupStore(tmp_path / "old.duckdb").capture()
    new = RollupStore(tmp_path / "new.duckdb").capture()
    for made, first in ((old, 3), (new, 7)):
        for place in range(2):
            made.step(first + place).time(first + place, (10 + first + place) * MS)
    rows = compared(old.done(), new.step(9).time(9, MS).done()).sections["steps"].rows
    assert [(row["name"], row["baseline"], row["new"]) for row in rows] == [
        ("3 ↔ 7", 13.0, 17.0),
        ("4 ↔ 8", 14.0, 18.0),
        ("9", None, 1.0),
    ]


def test_memory_is_that_of_the_fullest_rank(tmp_path: Path) -> None:
    made = RollupStore(tmp_path / "memory.duckdb")
    for rank, peak in ((0, 500), (1, 900)):
        made.capture(rank, rank).step(1, rank).step(2, rank).time(1, MS, rank)
        for component, level in (("PTA", peak), ("GE", 2000), ("PTA+GE", 2900)):
            made.add(
                "r_memory",
                capture=rank,
                device_id=0,
                component=component,
                peak_allocated_bytes=level,
                peak_reserved_bytes=level + 1,
            )
        made.add(
            "r_allocation",
            capture=rank,
            device_id=0,
            name="aten::empty",
            calls=4,
            size_bytes=1000,
            max_bytes=400,
            unreleased_bytes=0,
        )
    path = made.done()
    diff = compared(path, path)
    assert values(diff, "memory.peak_allocated") == (900.0, 900.0)
    assert values(diff, "memory.peak_reserved") == (901.0, 901.0)
    assert found(diff, "memory", "PTA+GE", what="peak_allocated")["new"] == 2900.0
    allocated = found(diff, "memory", "aten::empty", what="allocated")
    assert (allocated["baseline"], allocated["baseline_calls"], allocated["new_max_bytes"]) == (500.0, 2, 400)


def test_memory_by_category_is_the_peak_of_the_fullest_rank_and_the_mean_over_ranks(tmp_path: Path) -> None:
    """A category of one byte is shown, one that stays empty on all ranks is not."""
    made = RollupStore(tmp_path / "memory.duckdb")
    for rank, levels in enumerate(({"activation": 500, "input": 0, "gradient": 0}, {"activation": 900, "input": 1})):
        made.capture(rank, rank).step(1, rank).time(1, MS, rank)
        for category, level in levels.items():
            made.add("memory_category", capture=rank, category=category, peak_bytes=level, mean_bytes=level)
    path = made.done()
    shown = compared(path, path).sections["memory_categories"].rows
    assert {row["name"]: (row["new"], row["new_mean_bytes"]) for row in shown} == {
        "activation": (900, 700.0),
        "input": (1, 0.5),
    }


def with_memory(path: Path, **peaks: int) -> Path:
    made = RollupStore(path).capture().step(1).time(1, MS)
    for component, peak in peaks.items():
        made.add("r_memory", capture=0, device_id=0, component=component, peak_allocated_bytes=peak)
    return made.done()


def test_peaks_of_one_component_are_compared(tmp_path: Path) -> None:
    """The baseline did not record PTA, whose 900 must not meet the 5000 of the process; 4000 and 5000 are alike."""
    old = with_memory(tmp_path / "old.duckdb", APP=5000, GE=10)
    new = with_memory(tmp_path / "new.duckdb", APP=4000, PTA=900)
    diff = compared(old, new)
    assert values(diff, "memory.peak_allocated") == (5000.0, 4000.0)
    assert [finding.key for finding in diff.quality] == []


def test_peaks_of_different_components_are_not_compared(tmp_path: Path) -> None:
    diff = compared(with_memory(tmp_path / "old.duckdb", APP=5000), with_memory(tmp_path / "new.duckdb", PTA=900))
    assert diff.metric("memory.peak_allocated") is None
    (finding,) = diff.quality
    assert (finding.key, finding.baseline, finding.new, finding.severity) == (
        "memory.component",
        "APP",
        "PTA",
        "caution",
    )
    assert found(diff, "memory", "PTA", what="peak_allocated")["delta"] is None


def test_a_side_without_memory_leaves_the_peak_of_the_other(tmp_path: Path) -> None:
    diff = compared(with_memory(tmp_path / "old.duckdb"), with_memory(tmp_path / "new.duckdb", PTA=900, APP=5000))
    assert values(diff, "memory.peak_allocated") == (None, 900.0)
    assert diff.quality == ()


def test_speed_is_judged_on_unprofiled_steps(tmp_path: Path) -> None:
    """Warm-up (step 1) is dropped, step 5 was profiled: 10, 12, 14 s are left against 20, 22, 24."""
    sides = []
    for name, first in (("old", 10), ("new", 20)):
        made = store(tmp_path, name)
        for step, value, profiled in (
            (1, 99, False),
            (2, first, False),
            (3, first + 2, False),
            (4, first + 4, False),
            (5, 500, True),
        ):
            made.add("metric", step=step, name="timing_s/step", value=float(value), source="file", profiled=profiled)
            made.add(
                "metric",
                step=step,
                name="mismatch/rollout_is_eff_sample_size",
                value=0.9 if step < 4 else first / 25,
                source="file",
                profiled=profiled,
            )
        sides.append(made.done())
    diff = compared(*sides)
    assert diff.headline == "timing_s/step"
    assert diff.overall[0].metric == "timing_s/step"
    assert values(diff, "timing_s/step") == (12.0, 22.0)
    assert (diff.overall[0].unit, diff.overall[0].polarity) == ("s", "lower")
    row = found(diff, "metrics", "mismatch/rollout_is_eff_sample_size")
    assert (row["polarity"], row["first_divergence"]) == ("higher", 4)
    assert row["baseline"] == pytest.approx((0.9 * 3 + 0.4) / 4)
    assert found(diff, "metrics", "timing_s/step")["baseline_spread"] == 2.0


def test_a_metric_that_is_no_number_is_missing_and_that_is_said(tmp_path: Path) -> None:
    old = (
        store(tmp_path, "old")
        .add("metric", step=1, name="actor/kl_loss", value=0.5, source="file", profiled=False)
        .done()
    )
    new = (
        store(tmp_path, "new")
        .add("metric", step=1, name="actor/kl_loss", value=float("nan"), source="file", profiled=False)
        .done()
    )
    diff = compared(old, new)
    assert values(diff, "actor/kl_loss") == (0.5, None)
    assert any(finding.key == "not_a_number" and "actor/kl_loss" in finding.message for finding in diff.quality)


def test_tokens_become_workload(tmp_path: Path) -> None:
    path = (
        store(tmp_path, "tokens")
        .add("metric", step=1, name="perf/total_num_tokens", value=4096.0, source="file", profiled=False)
        .done()
    )
    diff = compared(path, path)
    assert values(diff, "workload.total_tokens") == (4096.0, 4096.0)
    assert found(diff, "workload", "workload.total_tokens")["unit"] == "count"


def test_msprof_rows_are_totals_in_the_order_of_the_sheets(tmp_path: Path) -> None:
    made = RollupStore(tmp_path / "msprof.duckdb")
    for rank, total in ((0, 10), (1, 30)):
        made.capture(rank, rank)
        for step in (1, 2):
            made.step(step, rank).time(step, MS, rank)
        for order, depth, name, sheet, calls in (
            (300, 0, "E2E Time", "OverallMetrics", None), (1, 0, "Computing Time", "OverallMetrics", 4),
            (2, 1, "Cube", "OverallMetrics", 4), (1000, 0, "MatMul", "KernelCompare", 4),
            (2000, 0, "aten::mm", "ApiCompare", 2),
        ):  # fmt: skip
            made.add(
                "r_msprof",
                capture=rank,
                sheet=sheet,
                ord=order,
                depth=depth,
                name=name,
                total_ns=total * MS,
                calls=calls,
            )
    path = made.done()
    rows = compared(path, path).sections["msprof"].rows
    assert [(row["name"], row["depth"], row["baseline"], row["baseline_calls"]) for row in rows] == [
        ("Computing Time", 0, 20.0, 4), ("Cube", 1, 20.0, 4), ("E2E Time", 0, 20.0, None), ("MatMul", 0, 20.0, 4),
        ("aten::mm", 0, 20.0, 2),
    ]  # fmt: skip


def with_group(path: Path, label: str, key: str) -> Path:
    made = store(path.parent, path.stem)
    made.add("r_msprof", capture=0, sheet="OverallMetrics", ord=110, depth=1, name=label, group_key=key, total_ns=MS)
    return made.done()


@pytest.mark.parametrize(
    ("label", "key", "expected"),
    [
        ("10.0.0.1%eth0_60000_0_1736", "0,1", [("10.0.0.1%eth0_60000_0_1736", "both")]),
        ("10.0.0.2%eth0_60000_0_1812", "0,1", [("0,1", "both")]),
        ("10.0.0.1%eth0_60000_0_1736", "0,2", [("0,1", "baseline_only"), ("0,2", "new_only")]),
    ],
)
def test_msprof_groups_meet_by_their_members(
    tmp_path: Path, label: str, key: str, expected: list[tuple[str, str]]
) -> None:
    old = with_group(tmp_path / "old.duckdb", "10.0.0.1%eth0_60000_0_1736", "0,1")
    rows = compared(old, with_group(tmp_path / "new.duckdb", label, key)).sections["msprof"].rows
    assert [(row["name"], row["presence"]) for row in rows] == expected


def test_operators_are_compared_by_device_time_where_both_sides_know_it(tmp_path: Path) -> None:
    made = store(tmp_path, "ops")
    for phase, calls, host, device in (("adv", 2, (1, 4), (6, 9)), (None, 1, (1, 1), (1, 3))):
        times = {
            "host_self_ns": host[0],
            "host_total_ns": host[1],
            "device_self_ns": device[0],
            "device_total_ns": device[1],
        }
        made.add(
            "r_operator",
            capture=0,
            step=1,
            phase=phase,
            name="aten::mm",
            calls=calls,
            **{column: value * MS for column, value in times.items()},
        )
    path = made.done()
    row = found(compared(path, path), "operators", "aten::mm")
    assert (row["baseline"], row["baseline_device_total_ms"], row["baseline_calls"]) == (7.0, 12.0, 3)
    assert (row["baseline_host_self_ms"], row["new_host_total_ms"]) == (2.0, 5.0)


def test_operators_are_compared_by_their_own_time_on_the_host_where_one_side_has_no_device(tmp_path: Path) -> None:
    old = store(tmp_path, "old").add(
        "r_operator",
        capture=0,
        step=1,
        name="aten::mm",
        calls=1,
        host_self_ns=2 * MS,
        host_total_ns=3 * MS,
        device_self_ns=MS,
    )
    new = store(tmp_path, "new").add(
        "r_operator", capture=0, step=1, name="aten::mm", calls=1, host_self_ns=5 * MS, host_total_ns=7 * MS
    )
    row = found(compared(old.done(), new.done()), "operators", "aten::mm")
    assert (row["baseline"], row["new"], row["delta"], row["delta_per_call_ms"]) == (2.0, 5.0, 3.0, 3.0)
    assert (row["baseline_host_total_ms"], row["new_host_total_ms"]) == (3.0, 7.0)


def test_links_and_copies_have_bandwidths(tmp_path: Path) -> None:
    made = store(tmp_path, "links")
    for kind, size in (("total", 3_000_000), ("all_reduce", 3_000_000)):
        made.add(
            "r_link",
            capture=0,
            step=1,
            kind=kind,
            src_rank=0,
            dst_rank=1,
            transport="HCCS",
            size_bytes=size,
            transit_ns=MS,
        )
    path = made.add(
        "r_copy", capture=0, device_id=0, step=1, kind="host_to_device", calls=2, sum_ns=MS, size_bytes=8_000_000
    ).done()
    diff = compared(path, path)
    link, copy = found(diff, "links", "0→1", transport="HCCS"), found(diff, "copies", "host_to_device")
    assert (link["baseline"], link["new_bytes"], link["new_gb_per_s"]) == (1.0, 3_000_000, 3.0)
    assert (copy["new_gb_per_s"], copy["new_calls"]) == (8.0, 2)
