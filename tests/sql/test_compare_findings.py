"""Whether two sides may be compared, and problems with their data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rlcompare.compare.comparability import DECLARED, _kernels
from rlcompare.compare.records import KernelMatchSummary
from rlcompare.errors import ExitCode
from rlcompare.gate.policy import built_in_policy
from rlcompare.gate.rules import judge
from rlcompare.model.diff import Finding
from rlcompare.report.summary.sides import differs_item
from rlcompare.report.view import build_view
from tests.sql.rollup_stores import MS, RollupStore, compared, side, values


def made_with(folder: Path, name: str, **env: str) -> Path:
    """A store whose run was made with these; dots are written as two underscores."""
    made = RollupStore(folder / f"{name}.duckdb").capture().step(1).time(1, 10 * MS)
    for key, value in env.items():
        made.add("env", capture=0, key=key.replace("__", "."), value=value)
    return made.done()


def differing(
    folder: Path, baseline: dict[str, str], new: dict[str, str], **options: object
) -> tuple[str, dict[str, Finding]]:
    diff = compared(made_with(folder, "old", **baseline), made_with(folder, "new", **new), **options)
    return diff.comparability.status, {finding.key: finding for finding in diff.comparability.findings}


@pytest.mark.parametrize(
    ("key", "old", "new", "severity", "status"),
    [
        ("chip", "Ascend910B", "Ascend910C", "severe", "not_comparable"),
        ("world_size", "8", "16", "severe", "not_comparable"),
        ("cann", "8.2.RC1", "8.3.RC1", "caution", "caution"),
        ("torch_npu", "2.5.1", "2.7.1", "caution", "caution"),
        ("profiler__with_stack", "false", "true", "caution", "caution"),
        ("profiler__level", "Level0", "Level1", "caution", "caution"),
        ("profiler__level", "Level_none", "Level1", "severe", "not_comparable"),
        ("parallel__tensor", "2", "4", "caution", "caution"),
        ("profiler__schedule", "active=1", "active=4", "info", "comparable"),
        ("user__experiment", "a", "b", "info", "comparable"),
    ],
)
def test_how_grave_a_difference_is(tmp_path: Path, key: str, old: str, new: str, severity: str, status: str) -> None:
    found_status, findings = differing(tmp_path, {key: old}, {key: new})
    finding = findings[key.replace("__", ".")]
    assert (finding.baseline, finding.new, finding.severity) == (old, new, severity)
    assert found_status == status


def test_what_tells_most_comes_first(tmp_path: Path) -> None:
    """Lists of what differs are cut: the model must not be behind a hundred small settings."""
    keys = (
        "actor_rollout_ref__actor__entropy_coeff",
        "actor_rollout_ref__model__path",
        "critic__shuffle",
        "data__train_batch_size",
        "trainer__nnodes",
    )
    _, findings = differing(tmp_path, dict.fromkeys(keys, "1"), dict.fromkeys(keys, "2"))
    assert [key for key in findings if key.replace(".", "__") in keys] == [
        "actor_rollout_ref.model.path",
        "trainer.nnodes",
        "data.train_batch_size",
        "actor_rollout_ref.actor.entropy_coeff",
        "critic.shuffle",
    ]


def test_levels_are_named_in_the_warning(tmp_path: Path) -> None:
    _, findings = differing(tmp_path, {"profiler__level": "Level0"}, {"profiler__level": "Level1"})
    assert findings["profiler.level"].message.startswith("The profiler levels differ (Level0 against Level1)")


@pytest.mark.parametrize("varied", [("world_size",), ("world*",), ("chip", "world_size")])
def test_a_declared_difference_is_information(tmp_path: Path, varied: tuple[str, ...]) -> None:
    status, findings = differing(tmp_path, {"world_size": "8"}, {"world_size": "16"}, varied=varied)
    assert status == "comparable"
    assert findings["world_size"].severity == "info"
    assert "Declared" in findings["world_size"].message


def test_a_word_before_the_dot_declares_all_that_it_stands_for(tmp_path: Path) -> None:
    status, _ = differing(tmp_path, {"profiler__level": "Level0"}, {"profiler__level": "Level1"}, varied=("profiler",))
    assert status == "comparable"


def test_what_one_side_does_not_tell_is_no_difference(tmp_path: Path) -> None:
    status, findings = differing(tmp_path, {"cann": "8.3"}, {})
    assert status == "comparable"
    assert (findings["cann"].severity, findings["cann"].new) == ("info", None)


def test_many_settings_below_a_name_that_one_side_alone_has_are_one_finding(tmp_path: Path) -> None:
    """A critic; of ``data`` both sides have something, so that only what is below ``data.b`` is one."""
    critic = {f"critic__{key}": "1" for key in ("shuffle", "grad_clip", "optim__lr", "profiler__tool__npu__level")}
    data = {f"data__b__{key}": "1" for key in "wxyz"}
    few = {f"few__{key}": "1" for key in "xyz"}
    old, new = {**data, "data__a": "1"}, {**critic, **few, "data__a": "2"}
    diff = compared(made_with(tmp_path, "old", **old), made_with(tmp_path, "new", **new))
    messages = {finding.key: finding.message for finding in diff.comparability.findings}
    assert messages["critic.*"] == "4 settings critic.* are known for the new side only, so they cannot be compared."
    assert messages["data.b.*"] == "4 settings data.b.* are known for the baseline only, so they cannot be compared."
    assert set(messages) == {"critic.*", "data.b.*", "data.a", "few.x", "few.y", "few.z"}
    told = " · ".join(differs_item(diff).parts)
    assert "critic.optim.lr" not in told and "4 settings critic.*" in told


@pytest.mark.parametrize(
    ("varied", "declared", "others"),
    [("critic", "critic.*", set()), ("critic.*", "critic.*", set()), ("critic.a", "critic.a", {"critic.*"})],
)
def test_a_declared_setting_of_many_is_still_told(tmp_path: Path, varied: str, declared: str, others: set[str]) -> None:
    new = {f"critic__{key}": "1" for key in "abcde"}
    diff = compared(made_with(tmp_path, "old"), made_with(tmp_path, "new", **new), varied=(varied,))
    messages = {finding.key: finding.message for finding in diff.comparability.findings}
    assert set(messages) == {declared, *others}
    assert [key for key, message in messages.items() if message.startswith(DECLARED)] == [declared]
    assert all("critic." in part for part in differs_item(diff).parts[1:])


def test_other_numbers_of_ranks_call_for_caution(tmp_path: Path) -> None:
    old = RollupStore(tmp_path / "old.duckdb").capture(0, 0).step(1).time(1, MS).done()
    new = (
        RollupStore(tmp_path / "new.duckdb")
        .capture(0, 0)
        .step(1)
        .time(1, MS)
        .capture(1, 1)
        .step(1, 1)
        .time(1, MS, 1)
        .done()
    )
    diff = compared(old, new)
    assert diff.comparability.status == "caution"
    assert [(finding.key, finding.baseline, finding.new) for finding in diff.comparability.findings] == [
        ("ranks", "1", "2")
    ]


def with_steps(path: Path, *of_ranks: tuple[int, ...]) -> Path:
    made = RollupStore(path)
    for rank, steps in enumerate(of_ranks):
        made.capture(rank, rank)
        for step in steps:
            made.step(step, rank).time(step, MS, rank)
    return made.done()


@pytest.mark.slow
def test_ranks_that_hold_different_steps_call_for_caution(tmp_path: Path) -> None:
    even = with_steps(tmp_path / "even.duckdb", (1, 2), (1, 2))
    assert compared(even, even).quality == ()
    uneven = with_steps(tmp_path / "uneven.duckdb", (1, 2), (2,))
    (finding,) = compared(even, uneven).quality
    assert (finding.key, finding.severity) == ("uneven_steps", "caution")
    assert finding.message == (
        "New side: the ranks have different steps (rank 0 holds steps 1, 2, rank 1 holds step 2);"
        " each rank is averaged over its own steps."
    )


def test_sides_that_hold_different_numbers_of_steps_call_for_caution(tmp_path: Path) -> None:
    diff = compared(with_steps(tmp_path / "two.duckdb", (1, 2)), with_steps(tmp_path / "one.duckdb", (1,)))
    (finding,) = diff.comparability.findings
    assert (finding.key, finding.baseline, finding.new, finding.severity) == ("steps", "2", "1", "caution")


@pytest.mark.slow
def test_a_role_on_one_side_only_forbids_a_comparison_unless_declared(tmp_path: Path) -> None:
    old = RollupStore(tmp_path / "old.duckdb").capture(0, 0, role="actor", phase="update_actor").step(1).time(1, MS)
    new = RollupStore(tmp_path / "new.duckdb").capture(0, 0, role="actor", phase="update_actor").step(1).time(1, MS)
    new.capture(1, 0, role="ref", phase="ref_log_prob").step(1, 1).time(1, MS, 1)
    diff = compared(old.done(), new.done())
    (finding,) = diff.comparability.findings
    assert (finding.key, finding.severity, diff.comparability.status) == ("captures", "severe", "not_comparable")
    assert "ref ref_log_prob" in finding.message
    declared = compared(old.path, new.path, varied=("captures",)).comparability
    assert (declared.status, declared.findings[0].severity) == ("comparable", "info")


def test_a_lost_role_is_no_improvement(tmp_path: Path) -> None:
    old = RollupStore(tmp_path / "old.duckdb").capture(0, 0, role="ref", phase="ref_log_prob").step(1).time(1, MS)
    old.capture(1, 0, role="actor", phase="update_actor").step(1, 1).time(1, 10 * MS, 1)
    new = RollupStore(tmp_path / "new.duckdb").capture(0, 0, role="ref", phase="ref_log_prob").step(1).time(1, MS)
    diff = compared(old.done(), new.done())
    assert values(diff, "time.device_span") == (11.0, 1.0)
    result = judge(diff, built_in_policy())
    assert result.exit_code == ExitCode.NOT_COMPARABLE
    assert {verdict.status for verdict in result.verdicts} == {"not_comparable"}
    view = build_view(diff)
    assert (view.headline.tone, view.answer.text) == ("caution", "Not comparable")


def test_other_work_calls_for_caution(tmp_path: Path) -> None:
    old = RollupStore(tmp_path / "old.duckdb").capture().step(1).time(1, 10 * MS).kernel(1, "MatMul", 1, 10 * MS).done()
    new = RollupStore(tmp_path / "new.duckdb").capture().step(1).time(1, 10 * MS).kernel(1, "Conv2D", 1, 10 * MS).done()
    (finding,) = compared(old, new).comparability.findings
    assert (finding.key, finding.severity) == ("shapes", "caution")
    assert finding.message.startswith("None of the kernels' time has a match on the other side")


@pytest.mark.parametrize(("share", "text"), [(0.0, "None"), (0.002, "Less than 1 %"), (0.426, "Only 43 %")])
def test_a_part_that_is_too_small_is_named(share: float, text: str) -> None:
    findings = _kernels(KernelMatchSummary(share, None, by_name=False), share, [])
    assert [finding.message.partition(" of the")[0] for finding in findings] == [text]


def test_several_values_of_a_key_are_listed(tmp_path: Path) -> None:
    made = RollupStore(tmp_path / "run.duckdb")
    for rank in range(5):
        made.capture(rank, rank).step(1, rank).time(1, MS, rank)
        made.add("env", capture=rank, key="user.host", value=f"host{rank}").add(
            "env", capture=rank, key="cann", value="8.3"
        )
    diff = compared(path := made.done(), path)
    assert diff.new.env["cann"] == "8.3"
    assert diff.new.env["user.host"] == "host0, host1, host2, … (5 values)"


def test_what_the_sources_said_is_kept_with_its_side_and_run(tmp_path: Path) -> None:
    good = made_with(tmp_path, "good")
    bad = RollupStore(tmp_path / "bad.duckdb").capture().step(1).time(1, 10 * MS)
    for capture in (0, 0):
        bad.add(
            "finding", capture=capture, severity="warning", key="unknown_string", message="7 string ids are unknown."
        )
    bad.add("finding", severity="info", key="db_preferred", message="The database was read.")
    diff = compared(good, side("new", bad.done(), good))
    assert [(finding.key, finding.severity, finding.message) for finding in diff.quality] == [
        ("unknown_string", "caution", "New side: bad: 7 string ids are unknown. (2 times)"),
        ("db_preferred", "info", "New side: bad: The database was read."),
    ]


@pytest.mark.parametrize(("reported", "expected"), [(10 * MS + 900, 0), (10 * MS + 1100, 1), (12 * MS, 1)])
def test_times_that_differ_from_the_profilers_own_are_told(tmp_path: Path, reported: int, expected: int) -> None:
    made = RollupStore(tmp_path / "run.duckdb").capture().step(50).time(50, 10 * MS)
    path = made.add("reported_step_time", capture=0, device_id=0, compute_ns=reported, free_ns=0, comm_ns=None).done()
    diff = compared(made_with(tmp_path, "other"), path)
    texts = [finding.message for finding in diff.quality if finding.key == "reported_differs"]
    assert len(texts) == expected
    assert all(
        text.startswith("New side: the profiler reported") and "computation in step 50" in text for text in texts
    )


@pytest.mark.parametrize(("seconds", "is_told"), [(48_000.0, True), (480.0, False), (None, False)])
def test_times_in_milliseconds(tmp_path: Path, seconds: float | None, is_told: bool) -> None:
    paths = []
    for name, value in (("old", 48.0), ("new", seconds)):
        made = RollupStore(tmp_path / f"{name}.duckdb")
        paths.append(
            made.add("metric", step=1, name="timing_s/step", value=value, source="file", profiled=False).done()
        )
    said = [finding.message for finding in compared(*paths).quality if finding.key == "other_unit"]
    assert len(said) == is_told
    assert all(text.startswith("New side: timing_s/step is 1,000 times that of the other side.") for text in said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("critic/rewards/mean", "actor/grad_norm"), []),
        (("critic/score/mean", "critic/grad_norm"), []),  # other names of the same
        (("actor/grad_norm",), ["New side: it logs no reward or score, the baseline logs critic/rewards/mean: "]),
        ((), []),  # a side without a log
    ],
)
def test_signs_of_health_that_are_no_longer_logged(tmp_path: Path, given: Sequence[str], said: Sequence[str]) -> None:
    paths = []
    for name, metrics in (("old", ("critic/rewards/mean", "actor/grad_norm")), ("new", given)):
        made = RollupStore(tmp_path / f"{name}.duckdb").capture().step(1).time(1, 10 * MS)
        for metric in metrics:
            made.add("metric", step=1, name=metric, value=0.5, source="file", profiled=False)
        paths.append(made.done())
    found = [finding for finding in compared(*paths).quality if finding.key == "health_not_logged"]
    assert [one.message[: len(start)] for one, start in zip(found, said, strict=True)] == said


@pytest.mark.parametrize("alone", ["baseline", "new"])
def test_a_mean_that_other_steps_changed_has_no_cause(tmp_path: Path, alone: str) -> None:
    """Both sides have two steps that take the same time, one side has a third one, which is short."""
    paths = []
    for name in ("baseline", "new"):
        made = RollupStore(tmp_path / f"{name}.duckdb").capture()
        for step, compute in ((1, 60), (2, 60), (3, 10))[: 3 if name == alone else 2]:
            made.step(step).time(step, compute * MS).kernel(step, "MatMul", 10, compute * MS)
        paths.append(made.done())
    diff = compared(*paths)
    assert diff.causes == ()
    (found,) = [finding.message for finding in diff.quality if finding.key == "lone_steps"]
    assert f"because only the {'baseline' if alone == 'baseline' else 'new side'} has step 3: it has no cause." in found


@pytest.mark.parametrize(
    ("baseline", "new", "took"),
    [
        ((300, 10, 10), (200,), "changed by -100.0 ms"),
        ((300, 300, 10, 10), (200, 250), "changed by -75.00 ms on average"),
        ((60, 60, 9), (85, 35), "took about the same time on average"),
    ],
)
def test_how_the_steps_of_both_sides_changed_is_said(
    tmp_path: Path, baseline: tuple[int, ...], new: tuple[int, ...], took: str
) -> None:
    paths = []
    for name, steps in (("baseline", baseline), ("new", new)):
        made = RollupStore(tmp_path / f"{name}.duckdb").capture()
        for step, compute in enumerate(steps, 1):
            made.step(step).time(step, compute * MS).kernel(step, "MatMul", 10, compute * MS)
        paths.append(made.done())
    diff = compared(*paths)
    (found,) = [finding.message for finding in diff.quality if finding.key == "lone_steps"]
    assert found.startswith(f"The steps that both sides have {took}. The mean changed by +")


@pytest.mark.parametrize(
    ("lone", "said"), [((3,), "step 3 of the baseline has"), ((3, 4), "steps 3, 4 of the baseline have")]
)
def test_pairs_of_steps_with_other_numbers_are_not_called_the_same_steps(
    tmp_path: Path, lone: tuple[int, ...], said: str
) -> None:
    """Steps 1 and 2 are paired with 50 and 51, which take longer; the others of the baseline take the longest."""
    paths = []
    for name, steps in (("baseline", {1: 60, 2: 60, **dict.fromkeys(lone, 200)}), ("new", {50: 85, 51: 85})):
        made = RollupStore(tmp_path / f"{name}.duckdb").capture()
        for step, compute in steps.items():
            made.step(step).time(step, compute * MS).kernel(step, "MatMul", 10, compute * MS)
        paths.append(made.done())
    (found,) = [finding.message for finding in compared(*paths).quality if finding.key == "lone_steps"]
    assert found.startswith("Steps are paired by position: paired steps changed by +25.00 ms on average. The mean ch")
    assert found.endswith(f" because {said} no pair: it has no cause. Choose steps with --base-step and --new-step.")


@pytest.mark.parametrize(
    ("baseline", "new", "pairs", "said"),
    [
        ((3, 4, 5), (4, 5), [(3, None), (4, 4), (5, 5)], "only the baseline has step 3"),
        (
            (3, 4, 5, 7),
            (4, 5, 6, 7),
            [(3, None), (4, 4), (5, 5), (None, 6), (7, 7)],
            "only the baseline has step 3 and only the new side has step 6",
        ),
        ((3, 4, 5), (5, 6, 7), [(3, 5), (4, 6), (5, 7)], ""),
        ((1, 2), (101, 102), [(1, 101), (2, 102)], ""),
    ],
)
def test_steps_pair_by_number_where_the_sides_share_most(
    tmp_path: Path,
    baseline: tuple[int, ...],
    new: tuple[int, ...],
    pairs: list[tuple[int | None, int | None]],
    said: str,
) -> None:
    """Each step takes 10 ms more than the one before it, on both sides."""
    paths = []
    for name, steps in (("baseline", baseline), ("new", new)):
        made = RollupStore(tmp_path / f"{name}.duckdb").capture()
        for step in steps:
            made.step(step).time(step, (step % 100) * 10 * MS).kernel(step, "MatMul", 10, (step % 100) * 10 * MS)
        paths.append(made.done())
    diff = compared(*paths)
    assert [(row["baseline_step"], row["new_step"]) for row in diff.sections["steps"].rows] == pairs
    found = [finding.message for finding in diff.quality if finding.key == "lone_steps"]
    assert [said in text for text in found] == ([True] if said else [])


@pytest.mark.parametrize(
    ("baseline", "new", "said"),
    [
        ((60, 100), 60, "took about the same time. The mean changed by -20.00 ms"),
        ((60, 100), 90, "changed by +30.00 ms. The mean changed by +10.00 ms"),
        ((60, 100), 80, "changed by +20.00 ms. The mean hardly changed"),
        ((60, 64), 90, ""),
        ((60, 61), 60, ""),
    ],
)
def test_a_mean_that_other_ranks_changed_has_no_cause(
    tmp_path: Path, baseline: tuple[int, ...], new: int, said: str
) -> None:
    """Rank 1 has no profile on the new side. Rank 0 changed by something else than the mean, or by about as much."""
    paths = []
    for name, times in (("baseline", baseline), ("new", (new,))):
        made = RollupStore(tmp_path / f"{name}.duckdb")
        for rank, compute in enumerate(times):
            made.capture(rank, rank).step(1, rank).time(1, compute * MS, capture=rank)
            made.kernel(1, "MatMul", 10, compute * MS, rank)
        paths.append(made.done())
    diff = compared(*paths)
    found = [finding.message for finding in diff.quality if finding.key == "lone_ranks"]
    because = "because only the baseline has rank 1: it has no cause. Compare the same ranks with --rank."
    assert found == ([f"The ranks that both sides have {said} {because}"] if said else [])
    assert bool(diff.causes) == (not said and new == 90)


def test_a_change_in_the_steps_of_both_sides_has_a_cause(tmp_path: Path) -> None:
    paths = []
    for name, steps in (("baseline", (60, 60)), ("new", (90, 90, 90))):
        made = RollupStore(tmp_path / f"{name}.duckdb").capture()
        for step, compute in enumerate(steps, 1):
            made.step(step).time(step, compute * MS).kernel(step, "MatMul", 10, compute * MS)
        paths.append(made.done())
    diff = compared(*paths)
    assert [cause.row for cause in diff.causes] == ["MatMul"]
    assert not [finding for finding in diff.quality if finding.key == "lone_steps"]


@pytest.mark.slow
@pytest.mark.parametrize(("baseline", "new"), [((1, 2, 3), (2, 3)), ((2, 3), (1, 2, 3)), ((1, 2, 3), (2, 3, 4))])
def test_marked_steps_that_one_side_lacks_are_not_compared(
    tmp_path: Path, baseline: tuple[int, ...], new: tuple[int, ...]
) -> None:
    """Step 1 is warm-up and takes 90 ms more. MatMul takes 20 ms more on the new side, in each step."""
    paths = []
    for name, steps in (("baseline", baseline), ("new", new)):
        made = RollupStore(tmp_path / f"{name}.duckdb").capture()
        for step in steps:
            times = {"MatMul": 60 + (20 if name == "new" else 0), "Sort": 90 if step == 1 else 1}
            whole = sum(times.values()) * MS
            made.step(step, wall=whole).time(step, whole, step_ns=whole)
            for kernel, time in times.items():
                made.kernel(step, kernel, 10, time * MS)
        paths.append(made.done())
    diff = compared(*paths)
    assert values(diff, "time.step") == (61.0, 81.0)
    assert [(cause.row, cause.delta_ms) for cause in diff.causes] == [("MatMul", pytest.approx(20.0))]
    found = [finding.message for finding in diff.quality if finding.key == "lone_steps"]
    lone = [(side, set(steps) - {2, 3}) for side, steps in (("Baseline", baseline), ("New side", new))]
    assert [text.split(" is not compared")[0] for text in found] == [
        f"{side}: step {step}" for side, steps in lone for step in steps
    ]
    # chosen steps are compared, whether or not the other side has them
    chosen = compared(*paths, base_steps=baseline, new_steps=new)
    means = [(61.0 * len(steps) + (89.0 if 1 in steps else 0.0)) / len(steps) for steps in (baseline, new)]
    assert values(chosen, "time.step") == pytest.approx((means[0], means[1] + 20.0))
