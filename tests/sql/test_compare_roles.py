"""Processes of different roles: values are those of each role's own processes, and are never averaged together."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest
from click.testing import CliRunner

from rlcompare.cli.main import cli
from rlcompare.model.diff import Diff
from rlcompare.report.document import from_document, to_document
from rlcompare.report.summary import runs_text
from rlcompare.writer import Change
from rlcompare.writer.model import Capture
from tests.sql.rollup_stores import MS, RollupStore, compared, found, side, values
from tests.stores import store_of
from tests.verl_profiles import VerlJob, Written, write_verl


def two_ranks_and_four_replicas(path: Path) -> Path:
    """Ranks compute 10 and 20 ms, replicas 100 to 400 ms, in one step."""
    made = RollupStore(path)
    for rank, compute in enumerate((10, 20)):
        made.capture(rank, rank).step(1, rank).time(1, compute * MS, rank).kernel(1, "MatMul", 2, compute * MS, rank)
        made.phase(1, "update_actor", compute * MS, rank, role="actor")
    for replica, compute in enumerate((100, 200, 300, 400)):
        number = 2 + replica
        made.capture(number, 0, role="rollout", phase="generate_sequences", replica=replica)
        made.step(1, number).time(1, compute * MS, number).kernel(1, "MatMul", 4, compute * MS, number)
        made.phase(1, "generate_sequences", compute * MS, number, role="rollout")
    return made.done()


Held = tuple[str, str | None, int | None]
"""A capture: its role, its phase, and the ms that it computes; None: unknown."""


def captured(path: Path, *captures: Held) -> Path:
    return holding(path, *captures).done()


def holding(path: Path, *captures: Held) -> RollupStore:
    """Captures of rank 0 in one step."""
    made = RollupStore(path.with_suffix(".duckdb"))
    for number, (role, phase, compute) in enumerate(captures):
        made.capture(number, 0, role=role or None, phase=phase).step(21, number)
        made.time(21, None if compute is None else compute * MS, number, comm=4 * MS, exposed=4 * MS)
        if compute is not None:
            made.kernel(21, "MatMul", 2, compute * MS, number, phase=phase or "update_actor")
    return made


class TestOnPaper:
    def test_a_step_is_the_sum_of_roles_and_not_the_mean_of_six_processes(self, tmp_path: Path) -> None:
        path = two_ranks_and_four_replicas(tmp_path / "run.duckdb")
        diff = compared(path, path)
        assert values(diff, "time.compute") == (265.0, 265.0)  # 15 + 250
        assert values(diff, "role.trainer.compute") == (15.0, 15.0)
        assert values(diff, "role.rollout.compute") == (250.0, 250.0)
        assert values(diff, "phase.update_actor.compute") == (15.0, 15.0)
        assert values(diff, "phase.generate_sequences.compute") == (250.0, 250.0)
        assert values(diff, "workload.kernels") == (6, 6)
        row = found(diff, "kernels", "MatMul")
        assert (row["baseline"], row["baseline_calls"]) == (265.0, 6)
        assert values(diff, "time.device_span@max") == (420.0, 420.0)  # 20 + 400

    def test_replicas_are_counted_beside_ranks(self, tmp_path: Path) -> None:
        path = two_ranks_and_four_replicas(tmp_path / "run.duckdb")
        diff = compared(path, path)
        (run,) = diff.baseline.runs
        assert (run.ranks, run.replicas) == (2, 4)
        assert runs_text(diff.baseline) == "1 run × 2 ranks + 4 replicas, 1 step"
        assert from_document(to_document(diff)).baseline.runs == diff.baseline.runs
        assert to_document(diff)["baseline"]["runs"][0]["replicas"] == 4

    def test_a_chosen_rank_is_no_replicas(self, tmp_path: Path) -> None:
        path = two_ranks_and_four_replicas(tmp_path / "run.duckdb")
        diff = compared(path, path, ranks=(0,))
        assert [row["name"] for row in diff.sections["ranks"].rows] == ["rank 0"]
        assert values(diff, "time.compute") == (10.0, 10.0)

    def test_another_number_of_replicas_is_a_caution(self, tmp_path: Path) -> None:
        four = two_ranks_and_four_replicas(tmp_path / "four.duckdb")
        made = RollupStore(tmp_path / "two.duckdb")
        for rank in (0, 1):
            made.capture(rank, rank).step(1, rank).time(1, 15 * MS, rank)
        for number in (2, 3):
            made.capture(number, 0, role="rollout", phase="generate_sequences", replica=number - 2)
            made.step(1, number).time(1, 250 * MS, number)
        diff = compared(four, made.done())
        (finding,) = [finding for finding in diff.comparability.findings if finding.key == "replicas"]
        assert (finding.baseline, finding.new, finding.severity) == ("4", "2", "caution")
        assert "ranks" not in {finding.key for finding in diff.comparability.findings}
        assert values(diff, "role.rollout.compute") == (250.0, 250.0)

    def test_one_role_alone_has_no_roles(self, tmp_path: Path) -> None:
        path = RollupStore(tmp_path / "run.duckdb").capture().step(1).time(1, 10 * MS).done()
        assert not [delta.metric for delta in compared(path, path).overall if delta.metric.startswith("role.")]

    def test_replicas_do_not_wait_for_each_other(self, tmp_path: Path) -> None:
        """Each replica has a group of its own, though both call its members 0 and 1; the second starts 90 ms later."""
        made = RollupStore(tmp_path / "run.duckdb")
        for number, (replica, rank, start) in enumerate(((0, 0, 0), (0, 1, 1), (1, 0, 90), (1, 1, 97))):
            made.capture(number, rank, role="rollout", phase="generate_sequences", replica=replica).step(1, number)
            made.time(1, 10 * MS, number, comm=10 * MS, exposed=10 * MS)
            made.collective(1, "all_reduce", 0, start * MS, (100) * MS, number)
        path = made.done()
        late = {row["name"]: row["baseline_late_ms"] for row in compared(path, path).sections["ranks"].rows}
        assert late == {
            "replica 0 rank 0": 0.0,
            "replica 0 rank 1": 1.0,
            "replica 1 rank 0": 0.0,
            "replica 1 rank 1": 7.0,
        }

    @pytest.mark.slow
    def test_times_of_one_side_alone_are_no_speed(self, tmp_path: Path) -> None:
        """The captures of one phase hold no times on the device, as where its tasks were lost."""
        whole, cut, too = (
            captured(tmp_path / name, ("actor", "old_log_prob", 10), ("actor", "update_actor", update))
            for name, update in (("whole", 30), ("cut", None), ("cut too", None))
        )
        for baseline, new, counts in ((whole, cut, ("1", "1 untimed")), (cut, whole, ("1 untimed", "1"))):
            diff = compared(baseline, new)
            assert diff.comparability.status == "not_comparable"
            finding = next(one for one in diff.comparability.findings if one.key == "captures")
            assert (finding.baseline, finding.new) == counts
            assert (diff.causes[0].what, diff.causes[0].row) == ("one_side", "update_actor")
            assert [one.key for one in diff.quality if one.key == "partly_measured"]
        diff = compared(cut, too)
        assert diff.comparability.status == "comparable"
        assert "update_actor are unknown" in " ".join(one.message for one in diff.quality)

    @pytest.mark.slow
    def test_a_phase_that_was_not_profiled_on_one_side_is_told_once(self, tmp_path: Path) -> None:
        """It is neither gone nor new."""

        def made(name: str, **phases: int) -> Path:
            store = holding(tmp_path / name, *(("actor", phase, compute) for phase, compute in phases.items()))
            for number, (phase, compute) in enumerate(phases.items()):
                store.phase(21, phase, compute * MS, number, role="actor")
            return store.done()

        more = made("more", ref=10, old_log_prob=20, update_actor=30)
        fewer = made("fewer", old_log_prob=20, update_actor=30)
        for baseline, new in ((more, fewer), (fewer, more)):
            causes = compared(baseline, new, varied=("captures",)).causes
            assert [cause.what for cause in causes if cause.row == "ref"] == ["one_side"]

    @pytest.mark.slow
    @pytest.mark.parametrize("folders", [False, True])
    def test_a_phase_that_not_every_step_has_is_not_called_new(self, tmp_path: Path, folders: bool) -> None:
        """Which steps were profiled may be why the other side has none. A phase of each step is new."""

        def made(name: str, *steps: int, testing: tuple[int, ...]) -> Path:
            store = RollupStore(tmp_path / f"{name}.duckdb")
            for number, phase in enumerate(("update_actor", "ref") if folders else ("",)):
                store.capture(number, role="actor", phase=phase or None)
                for step in steps:
                    of_step = {"ref": 20, "update_actor": 60} | ({"testing": 30} if step in testing else {})
                    own = {name: ms for name, ms in of_step.items() if (name == "ref") == (phase == "ref")}
                    own = own if phase else of_step
                    store.step(step, number).time(step, sum(own.values()) * MS, number)
                    for name, ms in own.items():
                        store.phase(step, name, ms * MS, number).kernel(step, "K", 2, ms * MS, number, phase=name)
            return store.done()

        old, some, each = (
            made(name, *steps, testing=testing)
            for name, steps, testing in (
                ("old", (1, 2, 3, 4), ()),
                ("some", (4, 5, 6), (5,)),
                ("each", (4, 5, 6), (4, 5, 6)),
            )
        )
        texts = [compared(*sides).causes[0].text for sides in ((old, some), (some, old), (old, each), (each, old))]
        assert texts == [
            "Phase testing grew by 10.00 ms per step, in 1 of 3 steps, before in 0 of 4.",
            "Phase testing shrank by 10.00 ms per step, in 0 of 4 steps, before in 1 of 3.",
            "Phase testing is new: 30.00 ms per step.",
            "Phase testing is gone: 30.00 ms per step.",
        ]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            pytest.param([("", None, 10), ("critic", None, 30)], [("", None, 10), ("critic", None, None)], id="a role"),
            pytest.param(
                [("actor", "update_actor", 10), ("actor", "update_actor", 30)],
                [("actor", "update_actor", 10), ("actor", "update_actor", None)],
                id="one of two captures",
            ),
            pytest.param(
                [("actor", "old_log_prob", 5), ("actor", "update_actor", 10), ("critic", "update_actor", 10)],
                [("actor", "old_log_prob", 5), ("actor", "update_actor", None), ("critic", "update_actor", 50)],
                id="a phase of one of two roles",
            ),
        ],
    )
    def test_what_is_missing_in_part_has_no_cause(self, tmp_path: Path, old: list[Held], new: list[Held]) -> None:
        whole, cut = captured(tmp_path / "whole", *old), captured(tmp_path / "cut", *new)
        for sides in ((whole, cut), (cut, whole)):
            diff = compared(*sides)
            assert diff.comparability.status == "not_comparable"
            assert diff.causes == () and diff.unexplained is not None and diff.unexplained.share == 1

    @pytest.mark.slow
    def test_what_one_of_several_runs_lost_is_said(self, tmp_path: Path) -> None:
        """The times of one run are those of a part of its step, and so is the mean over all runs."""
        known: list[Held] = [("actor", "old_log_prob", 10), ("actor", "update_actor", 30)]
        cut: list[Held] = [known[0], ("actor", "update_actor", None)]
        whole = captured(tmp_path / "whole", *known)
        runs = [captured(tmp_path / f"run{number}", *held) for number, held in enumerate((known, known, cut))]
        for sides in ((whole, side("new", *runs)), (side("old", *runs), whole)):
            diff = compared(*sides)
            assert diff.comparability.status == "not_comparable"
            (message,) = [one.message for one in diff.quality if one.key == "partly_measured"]
            assert "captures of actor update_actor are unknown" in message

    @pytest.mark.slow
    def test_of_several_lost_phases_the_longest_comes_first(self, tmp_path: Path) -> None:
        known = {"old_log_prob": 10, "ref_log_prob": 40, "update_actor": 30, "values": 5}
        whole, cut = (
            captured(tmp_path / name, *(("actor", phase, held.get(phase)) for phase in known))
            for name, held in (("whole", known), ("cut", {"old_log_prob": 10}))
        )
        for sides in ((whole, cut), (cut, whole)):
            causes = compared(*sides).causes
            assert [cause.row for cause in causes if cause.what == "one_side"] == [
                "ref_log_prob", "update_actor", "values",
            ]  # fmt: skip

    @pytest.mark.slow
    def test_timers_of_a_phase_whose_tasks_were_lost_explain_the_step(self, tmp_path: Path) -> None:
        """Training timed it on both sides; the profile of one side does not hold it."""
        sides = []
        for name, seconds, update in (("old", 10, 10_000), ("new", 14, None)):
            made = holding(tmp_path / name, ("actor", "generate_sequences", 8000), ("actor", "update_actor", update))
            for step in range(1, 21):
                noise = 1 + step % 5 / 500
                timers = {"timing_s/update_actor": seconds * noise, "timing_s/gen": 8 * noise}
                for metric, value in {**timers, "timing_s/step": sum(timers.values()) + 0.5}.items():
                    made.add("metric", step=step, name=metric, value=value, source="file", profiled=False)
            sides.append(made.done())
        old, new = sides
        for baseline, other, moved in ((old, new, "grew"), (new, old, "shrank")):
            causes = compared(baseline, other).causes
            assert [cause.what for cause in causes] == ["phase"]
            assert f"Phase update_actor {moved} by 4." in causes[0].text

    def test_a_critic_with_processes_of_its_own_has_ranks_of_its_own(self, tmp_path: Path) -> None:
        made = RollupStore(tmp_path / "run.duckdb")
        for number, (role, rank, compute) in enumerate((("", 0, 10), ("", 1, 20), ("critic", 0, 4), ("critic", 1, 6))):
            made.capture(number, rank, role=role or None).step(1, number).time(1, compute * MS, number)
        path = made.done()
        diff = compared(path, path)
        assert {row["name"]: row["baseline"] for row in diff.sections["ranks"].rows} == {
            "rank 0": 10.0, "rank 1": 20.0, "critic rank 0": 4.0, "critic rank 1": 6.0,
        }  # fmt: skip
        assert values(diff, "role.critic.compute") == (5.0, 5.0)
        assert values(diff, "time.compute") == (20.0, 20.0)

    def test_the_time_between_captures_is_the_trainers(self, tmp_path: Path) -> None:
        """Rank 0 rests 5 ms between its two calls; a replica that was called twice rests 500 ms."""
        made = RollupStore(tmp_path / "run.duckdb")
        for number, (start, end) in enumerate(((0, 10), (15, 20))):
            made.capture(number, 0, role="actor", phase=f"p{number}", host_start_ns=start * MS, host_end_ns=end * MS)
        for number, (start, end) in ((2, (0, 10)), (3, (510, 520))):
            made.capture(
                number, 0, role="rollout", phase="generate_sequences", replica=0, ordinal=number - 2,
                host_start_ns=start * MS, host_end_ns=end * MS,
            )  # fmt: skip
        for number in range(4):
            made.step(1, number).time(1, 5 * MS, number)
        path = made.done()
        assert values(compared(path, path), "time.unprofiled") == (5.0, 5.0)


def compute_ms(capture: Capture) -> float:
    """Length of the union of a capture's kernels."""
    total, last = 0, 0
    for kernel in sorted(capture.kernels, key=lambda kernel: kernel.start_ns):
        total += max(kernel.end_ns - max(kernel.start_ns, last), 0)
        last = max(last, kernel.end_ns)
    return total / MS


def role_means(written: Iterable[Written]) -> dict[str, float]:
    """Per worker group and phase the mean over its processes of the mean over steps, from what was simulated."""
    sums: dict[tuple[str, str | None], dict[tuple[int | None, int], dict[int | None, float]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(float))
    )
    for one in written:
        capture = one.capture
        sums[one.group, capture.phase][one.replica, capture.rank][capture.step] += compute_ms(capture)
    means: dict[str, float] = defaultdict(float)
    for (group, _), members in sums.items():
        means[group] += mean(mean(steps.values()) for steps in members.values())
    return dict(means)


def check_roles(diff: Diff, baseline: Iterable[Written], new: Iterable[Written], roles: Iterable[str]) -> None:
    """Each role has the mean of its own processes, and the step their sum.

    Args:
        roles: of the trainer.
    """
    expected = [role_means(baseline), role_means(new)]
    trainer = [sum(values(diff, f"role.{role}.compute")[side] or 0.0 for role in roles) for side in (0, 1)]
    assert trainer == pytest.approx([means["trainer"] for means in expected], abs=1e-5)
    assert values(diff, "role.rollout.compute") == pytest.approx([means["rollout"] for means in expected], abs=1e-5)
    assert values(diff, "time.compute") == pytest.approx([sum(means.values()) for means in expected], abs=1e-5)
    assert values(diff, "phase.generate_sequences.compute") == pytest.approx(values(diff, "role.rollout.compute"))
    phases = {row["name"]: row["role"] for row in diff.sections["phases"].rows if row["name"] != "(outside)"}
    assert phases == {
        "generate_sequences": "rollout", "old_log_prob": "actor", "ref_log_prob": "ref", "update_actor": "actor",
    }  # fmt: skip


@pytest.mark.slow
def test_two_trees_are_compared_role_by_role(tmp_path: Path) -> None:
    # GIVEN what a job left at full clock, and at half
    job = VerlJob("0.7.1", steps=(2,), replicas=3)
    slow = replace(job, sample=replace(job.sample, changes=(Change.frequency(0.5),)))
    written = [write_verl(made, tmp_path / name) for name, made in (("baseline", job), ("new", slow))]

    # WHEN they are compared
    stores = [store_of(tmp_path / name, tmp_path / f"{name}.duckdb", keep_events=False) for name in ("baseline", "new")]
    diff = compared(*stores)

    # THEN each role moved as its own processes did
    check_roles(diff, written[0], written[1], ["trainer"])
    before, after = values(diff, "role.rollout.compute")
    assert before and after and after > 1.9 * before
    assert (diff.new.runs[0].ranks, diff.new.runs[0].replicas) == (2, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("job", "roles"),
    [
        (VerlJob("0.9.1", tool="torch", ranks=(0,), replicas=2, relocate=True), ["trainer"]),
        (VerlJob("0.9.0", mode="discrete", steps=(2,), ranks=(0,), replicas=2, generations=2), ["actor", "ref"]),
    ],
    ids=["torch", "discrete"],
)
def test_calls_of_one_process_and_step_are_summed(tmp_path: Path, job: VerlJob, roles: list[str]) -> None:
    written = write_verl(job, tmp_path / "SP")
    store = store_of(tmp_path / "SP", tmp_path / "run.duckdb", keep_events=False)
    diff = compared(store, store)
    check_roles(diff, written, written, roles)
    (run,) = diff.new.runs
    assert (run.ranks, run.replicas, run.steps) == (1, 2, len(job.steps))


@pytest.mark.slow
def test_a_critics_own_processes(tmp_path: Path) -> None:
    written = write_verl(VerlJob("0.9.0", tool="torch", steps=(2,), critic=True), tmp_path / "SP")
    store = store_of(tmp_path / "SP", tmp_path / "run.duckdb", keep_events=False)
    diff = compared(store, store)
    expected = role_means(written)
    for role in ("trainer", "critic"):
        assert values(diff, f"role.{role}.compute")[0] == pytest.approx(expected[role], abs=1e-5)
    assert values(diff, "phase.update_critic.compute")[0] == pytest.approx(expected["critic"], abs=1e-5)
    assert {row["name"] for row in diff.sections["ranks"].rows} == {
        "rank 0", "rank 1", "critic rank 0", "critic rank 1",
    }  # fmt: skip


@pytest.mark.slow
def test_show_gives_the_sum_of_roles(tmp_path: Path) -> None:
    written = write_verl(VerlJob("0.9.1", tool="torch", steps=(2,), replicas=3), tmp_path / "SP")
    means = role_means(written)

    result = CliRunner().invoke(cli, ["show", str(tmp_path / "SP"), "--json", "--no-cache"])

    sections = json.loads(result.stdout)
    assert [(row["ranks"], row["replicas"]) for row in sections["overview"]] == [(2, 3)]
    assert [row["compute_ms"] for row in sections["steps"]] == pytest.approx([sum(means.values())])
    assert sum(row["total_ms"] for row in sections["kernels"]) == pytest.approx(sum(means.values()), rel=0.02)
    phases = {row["phase"]: row["compute_ms"] for row in sections["phases"]}
    assert phases["generate_sequences"] == pytest.approx(means["rollout"])
