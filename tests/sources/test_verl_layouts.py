"""verl's ``save_path`` as each version leaves it: runs, captures, roles, phases, replicas, steps and ranks.

The trees are made by our writer, whose names follow verl's wheels; each row says how its tree looks.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rlcompare.errors import UsageError
from rlcompare.model.run import RunInput
from rlcompare.sources.detect import find_runs
from tests.verl_profiles import VERSIONS, VerlJob, Written, write_verl

Groups = dict[tuple[str | None, str | None], tuple[str, tuple[int, ...], int]]
"""Per role and phase: its members, its steps, and how many captures each member has of each step."""

HOUR_NS = 3_600_000_000_000
RANKS = "rank 0, rank 1"
ENGINES = "replica 0 rank 0, replica 1 rank 0"
SPLIT_ENGINES = "replica 0 rank 0, replica 0 rank 1, replica 1 rank 0, replica 1 rank 1"
NAMED, COUNTED = (2, 3), (0, 1)


def groups_of(run: RunInput) -> Groups:
    members: dict[tuple[str | None, str | None], Counter[tuple[str, int | None]]] = {}
    for capture in run.captures:
        replica = "" if capture.replica is None else f"replica {capture.replica} "
        key = (f"{replica}rank {capture.rank}", capture.step)
        members.setdefault((capture.role, capture.phase), Counter())[key] += 1
    found = {}
    for group, counts in members.items():
        (calls,) = set(counts.values())  # all members and steps have as many
        assert len(counts) == len({name for name, _ in counts}) * len({step for _, step in counts}), group
        names, steps = sorted({name for name, _ in counts}), sorted({step or 0 for _, step in counts})
        found[group] = (", ".join(names), tuple(steps), calls)
    return found


def tree_of(written: Iterable[Written], root: Path) -> set[str]:
    """The paths of captures, with A for a profile's folder and letters for what differs from run to run."""
    tree = set()
    for one in written:
        path = str(one.path.relative_to(root))
        path = re.sub(r"sample-host_\d{6}_\d{17}_ascend_pt", "A", path)
        path = re.sub(r"(pid|_)\d{6}_", r"\1PID_", path)
        tree.add(re.sub(r"\d{19}|\d{17}|\d{10}\.\d{6}", "TIME", path))
    return tree


def calls(steps: tuple[int, ...], members: str = RANKS, *, generation: bool = False) -> Groups:
    """What the trainer's ranks leave in discrete mode."""
    of_trainer: Groups = {
        ("actor", "old_log_prob"): (members, steps, 1),
        ("ref", "ref_log_prob"): (members, steps, 1),
        ("actor", "update_actor"): (members, steps, 1),
    }
    return of_trainer | ({("rollout", "generate_sequences"): (members, steps, 1)} if generation else {})


def whole(steps: tuple[int, ...]) -> Groups:
    return {(None, None): (RANKS, steps, 1)}


def rollout(members: str, steps: tuple[int, ...], times: int = 1) -> Groups:
    return {("rollout", "generate_sequences"): (members, steps, times)}


@dataclass(frozen=True)
class Row:
    """A job, its tree below the save path, and what must be read from it."""

    job: VerlJob
    tree: set[str]
    groups: Groups

    @property
    def name(self) -> str:
        job = self.job
        words = [job.version, job.tool, job.mode, job.backend if job.backend != "fsdp" else "", "critic" * job.critic]
        words += [f"{job.replicas}x{job.tensor_parallel}-{job.engine}" * bool(job.replicas), "relocated" * job.relocate]
        return "-".join(filter(None, [*words, f"gen{job.generations}" if job.generations > 1 else ""]))


ROLE_FOLDERS = {"actor_compute_log_prob/A", "ref_compute_log_prob/A", "actor_update/A"}
OLD_FOLDERS = ROLE_FOLDERS | {"rollout_generate/A"}
REPLICA_FOLDERS = {"agent_loop_rollout_replica_0/A", "agent_loop_rollout_replica_1/A"}


def job(version: str, **settings: object) -> VerlJob:
    return replace(VerlJob(version), **settings)  # type: ignore[arg-type]


def in_text(made: VerlJob) -> VerlJob:
    """As up to 0.6.1, which exported text."""
    return replace(made, sample=replace(made.sample, export="text"))


END_TO_END = [
    *(Row(job(version), {"2/e2e/A", "3/e2e/A"}, whole(NAMED)) for version in ("0.5.0", "0.6.1", "0.7.0")),
    *(Row(job(version), {"e2e/A"}, whole(COUNTED)) for version in ("0.7.1", "0.8.0", "0.9.0")),
    Row(job("0.9.1"), {"train/A"}, whole(COUNTED)),
]
DISCRETE = [
    *(
        Row(job(version, mode="discrete"), OLD_FOLDERS, calls(COUNTED, generation=True))
        for version in ("0.5.0", "0.6.1", "0.7.0", "0.7.1")
    ),
    *(Row(job(version, mode="discrete"), ROLE_FOLDERS, calls(COUNTED)) for version in ("0.8.0", "0.9.0", "0.9.1")),
    # Megatron's workers named no role before 0.7.0: the ranges inside tell them apart.
    Row(in_text(job("0.5.0", mode="discrete", backend="megatron")), {"A"}, calls(COUNTED, generation=True)),
    Row(job("0.6.1", mode="discrete", backend="megatron"), {"A"}, calls(COUNTED, generation=True)),
    # Generation repeated within a step, as by dynamic sampling.
    Row(
        job("0.7.0", mode="discrete", generations=3),
        OLD_FOLDERS,
        calls(COUNTED) | rollout(RANKS, COUNTED, 3),
    ),
]
CRITIC = [
    Row(
        job("0.6.1", critic=True),
        {"2/e2e/A", "3/e2e/A", "2/A", "3/A"},
        whole(NAMED) | {("critic", None): (RANKS, NAMED, 1)},
    ),
    Row(job("0.7.1", critic=True), {"e2e/A", "A"}, whole(COUNTED) | {("critic", None): (RANKS, COUNTED, 1)}),
    Row(
        job("0.6.1", mode="discrete", critic=True),
        OLD_FOLDERS | {"A"},
        calls(COUNTED, generation=True)
        | {("critic", "values"): (RANKS, COUNTED, 1), ("critic", "update_critic"): (RANKS, COUNTED, 1)},
    ),
    Row(
        job("0.7.1", mode="discrete", critic=True),
        OLD_FOLDERS | {"compute_values/A", "critic_update/A"},
        calls(COUNTED, generation=True)
        | {("critic", "values"): (RANKS, COUNTED, 1), ("critic", "update_critic"): (RANKS, COUNTED, 1)},
    ),
    # From 0.8 on a call per mini-batch, by the general worker.
    Row(
        job("0.9.0", mode="discrete", critic=True),
        ROLE_FOLDERS | {"train_batch/A"},
        calls(COUNTED) | {("critic", "update_critic"): (RANKS, COUNTED, 2)},
    ),
]
AGENT_LOOP = [
    Row(job("0.7.1", replicas=2), {"e2e/A"} | REPLICA_FOLDERS, whole(COUNTED) | rollout(ENGINES, COUNTED)),
    Row(
        job("0.8.0", mode="discrete", replicas=2, tensor_parallel=2),
        ROLE_FOLDERS | REPLICA_FOLDERS,
        calls(COUNTED) | rollout(SPLIT_ENGINES, COUNTED),
    ),
    Row(
        job("0.9.0", mode="discrete", replicas=2, generations=2),
        ROLE_FOLDERS | REPLICA_FOLDERS,
        calls(COUNTED) | rollout(ENGINES, COUNTED, 2),
    ),
    Row(
        job("0.9.1", replicas=2, tensor_parallel=2, relocate=True),
        {"train/A", "rollout-replica0_A", "rollout-replica1_A"},
        whole(COUNTED) | rollout(SPLIT_ENGINES, COUNTED),
    ),
]
VLLM = "dp0_pp0_tp{0}_dcp0_ep0_rank{0}.TIME.pt.trace.json.gz"
TORCH = [
    Row(
        job("0.6.1", tool="torch", backend="megatron", steps=(2,)),
        {"prof_start_0_end_2_rank_0.json", "prof_start_0_end_2_rank_1.json"},
        {("actor", "update_actor"): (RANKS, (0,), 1)},
    ),
    Row(
        job("0.7.0", tool="torch", backend="megatron", steps=(2,)),
        {"prof_rank-0.json.gz", "prof_rank-1.json.gz"},
        whole((0,)),
    ),
    Row(
        job("0.7.1", tool="torch", critic=True),
        {f"{folder}prof_rank-{rank}_PID_TIME.json.gz" for folder in ("e2e/", "") for rank in (0, 1)},
        whole(COUNTED) | {("critic", None): (RANKS, COUNTED, 1)},
    ),
    Row(
        job("0.8.0", tool="torch", mode="discrete"),
        {f"{folder[:-1]}prof_rank-{rank}_PID_TIME.json.gz" for folder in ROLE_FOLDERS for rank in (0, 1)},
        calls(COUNTED),
    ),
    Row(
        job("0.9.0", tool="torch"),
        {f"e2e/actor-rollout-ref_e2e_rank{rank}-of-2_pidPID_TIME.json.gz" for rank in (0, 1)},
        whole(COUNTED),
    ),
    Row(
        job("0.9.1", tool="torch", critic=True),
        {f"actor-rollout-ref_train_step{s}_rank{r}-of-2_pidPID_TIME.json.gz" for s in NAMED for r in (0, 1)}
        | {f"value-model_step{s}_rank{r}-of-2_pidPID_TIME.json.gz" for s in NAMED for r in (0, 1)},
        whole(NAMED) | {("critic", None): (RANKS, NAMED, 1)},
    ),
    Row(
        job("0.9.1", tool="torch", mode="discrete", ranks=(0,), replicas=2, steps=(7, 9)),
        {
            f"actor-rollout-ref_{role.replace('_', '-')[:-2]}_step{step}_rank0-of-1_pidPID_TIME.json.gz"
            for role in ROLE_FOLDERS
            for step in (7, 9)
        }
        | {f"agent_loop_rollout_replica_{replica}/{VLLM.format(0)}" for replica in (0, 1)},
        calls((7, 9), "rank 0") | rollout(ENGINES, (7, 9)),
    ),
    Row(
        job("0.9.1", tool="torch", ranks=(0,), replicas=2, tensor_parallel=2, relocate=True, steps=(7,)),
        {"actor-rollout-ref_train_step7_rank0-of-1_pidPID_TIME.json.gz"}
        | {f"rollout-replica{r}-globalrank{2 * r + t}_{VLLM.format(t)}" for r in (0, 1) for t in (0, 1)},
        {(None, None): ("rank 0", (7,), 1)} | rollout(SPLIT_ENGINES, (7,)),
    ),
    Row(
        job("0.8.0", tool="torch", ranks=(0,), replicas=2, tensor_parallel=2, engine="sglang"),
        {"e2e/prof_rank-0_PID_TIME.json.gz"}
        | {f"agent_loop_rollout_replica_{r}/TIME-TP-{t}.trace.json.gz" for r in (0, 1) for t in (0, 1)},
        {(None, None): ("rank 0", COUNTED, 1)} | rollout(SPLIT_ENGINES, COUNTED),
    ),
]
ROWS = [*END_TO_END, *DISCRETE, *CRITIC, *AGENT_LOOP, *TORCH]


def test_the_table_has_each_version_in_each_mode() -> None:
    assert {(row.job.version, row.job.mode) for row in ROWS if row.job.tool == "npu"} == {
        (version, mode) for version in VERSIONS for mode in ("e2e", "discrete")
    }
    assert {row.job.version for row in ROWS if row.job.tool == "torch"} == set(VERSIONS) - {"0.5.0"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_save_path_is_one_run(tmp_path: Path, row: Row) -> None:
    written = write_verl(row.job, tmp_path / "SP")
    assert tree_of(written, tmp_path / "SP") == row.tree

    (run,) = find_runs(tmp_path / "SP")

    assert run.name == "SP"
    assert groups_of(run) == row.groups
    assert len(run.captures) == len(written)
    assert [finding.key for finding in run.findings if finding.severity == "warning"] == []
    # A step that no name tells is said to be inferred, and one that is named is not.
    inferred = any(capture.step_hint is None for capture in run.captures)
    assert ("steps_by_order" in {finding.key for finding in run.findings}) == inferred
    check_order(run, {one.path: one.capture.start_ns for one in written})


def check_order(run: RunInput, starts: dict[Path, int]) -> None:
    """Captures of one member and phase are numbered, and their steps rise, in the order of time."""
    seen: dict[tuple[object, ...], list[tuple[int, int, int]]] = {}
    for capture in run.captures:
        key = (capture.role, capture.phase, capture.replica, capture.rank)
        seen.setdefault(key, []).append((capture.ordinal, capture.step or 0, starts[capture.path]))
    for of_member in seen.values():
        ordinals, steps, times = zip(*sorted(of_member), strict=True)
        assert ordinals == tuple(range(len(ordinals)))
        assert list(steps) == sorted(steps)
        assert list(times) == sorted(times)


def test_the_layout_is_told_with_replicas_beside_ranks(tmp_path: Path) -> None:
    write_verl(job("0.9.1", replicas=4, steps=(2,)), tmp_path / "SP")

    (run,) = find_runs(tmp_path / "SP")

    (told,) = [finding.message for finding in run.findings if finding.key == "layout"]
    assert told == "read as 2 ranks and 4 rollout replicas × 1 run (use --layout to change this)"


def test_choosing_ranks_leaves_replicas_out(tmp_path: Path) -> None:
    write_verl(job("0.9.1", replicas=2, tensor_parallel=4, steps=(2,)), tmp_path / "SP")

    (run,) = find_runs(tmp_path / "SP", ranks=frozenset({1}))

    assert groups_of(run) == {(None, None): ("rank 1", (0,), 1)}
    with pytest.raises(UsageError, match="has rank 0-1"):
        find_runs(tmp_path / "SP", ranks=frozenset({3}))


class TestSeveralSavePaths:
    def test_one_per_role_is_one_run(self, tmp_path: Path) -> None:
        write_verl(job("0.9.0", mode="discrete", replicas=2), tmp_path / "SP")
        for folder, role in (
            ("actor_compute_log_prob", "actor"),
            ("actor_update", "actor"),
            ("ref_compute_log_prob", "ref"),
            ("agent_loop_rollout_replica_0", "rollout"),
            ("agent_loop_rollout_replica_1", "rollout"),
        ):
            target = tmp_path / "profiles" / f"{role}_profile" / folder
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(tmp_path / "SP" / folder, target)

        (run,) = find_runs(tmp_path / "profiles")

        assert groups_of(run) == calls(COUNTED) | rollout(ENGINES, COUNTED)
        assert run.name == "profiles"

    def test_a_role_of_its_own_is_the_folders(self, tmp_path: Path) -> None:
        write_verl(job("0.7.1", critic=True), tmp_path / "SP")
        (tmp_path / "out" / "actor").mkdir(parents=True)
        shutil.move(tmp_path / "SP" / "e2e", tmp_path / "out" / "actor" / "e2e")
        shutil.move(tmp_path / "SP", tmp_path / "out" / "critic")

        (run,) = find_runs(tmp_path / "out")

        assert groups_of(run) == whole(COUNTED) | {("critic", None): (RANKS, COUNTED, 1)}

    def test_one_per_node_is_one_run(self, tmp_path: Path) -> None:
        # GIVEN what two nodes of a job left on their own disks, each with two ranks and a replica
        for one in write_verl(job("0.9.1", ranks=(0, 1, 2, 3), replicas=2), tmp_path / "SP"):
            node = one.replica if one.replica is not None else one.capture.rank // 2
            target = tmp_path / "gathered" / f"node{node}" / one.path.relative_to(tmp_path / "SP")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(one.path, target)

        (run,) = find_runs(tmp_path / "gathered")

        assert groups_of(run) == {(None, None): ("rank 0, rank 1, rank 2, rank 3", COUNTED, 1)} | rollout(
            ENGINES, COUNTED
        )

    def test_other_ranks_of_another_day_are_another_run(self, tmp_path: Path) -> None:
        for number, rank in enumerate((0, 1)):
            made = job("0.9.1", ranks=(rank,), steps=(2,), start_ns=VerlJob("0.9.1").start_ns + number * 24 * HOUR_NS)
            write_verl(made, tmp_path / f"day{number}")

        assert [run.name for run in find_runs(tmp_path)] == ["day0", "day1"]

    def test_folders_of_several_runs_are_runs(self, tmp_path: Path) -> None:
        for number, name in enumerate(("exp1_actor", "exp2_actor", "seed-1", "seed-2")):
            write_verl(job("0.9.1", steps=(2,), start_ns=VerlJob("0.9.1").start_ns + number * HOUR_NS), tmp_path / name)

        runs = find_runs(tmp_path)

        assert [run.name for run in runs] == ["exp1_actor", "exp2_actor", "seed-1", "seed-2"]
        assert [groups_of(run) for run in runs] == [whole((0,))] * 4


def restarted(made: VerlJob, **settings: object) -> VerlJob:
    """The same job an hour later, in other processes."""
    sample = replace(made.sample, seed=made.sample.seed + 1)
    return replace(made, start_ns=made.start_ns + HOUR_NS, sample=sample, **settings)  # type: ignore[arg-type]


class TestRestarts:
    @pytest.mark.parametrize("version", ["0.7.0", "0.9.1"])
    def test_the_same_steps_again_are_another_run(self, tmp_path: Path, version: str) -> None:
        first = job(version)
        write_verl(first, tmp_path / "SP")
        again = {one.path for one in write_verl(restarted(first), tmp_path / "SP")}

        runs = find_runs(tmp_path / "SP")

        assert [groups_of(run) for run in runs] == [whole(NAMED if version == "0.7.0" else COUNTED)] * 2
        (said,) = [finding.message for run in runs for finding in run.findings if finding.key == "executions"]
        assert said == "the job was started 2 times with save path SP: each start is a separate run"
        assert [{capture.path in again for capture in run.captures} for run in runs] in (
            [{False}, {True}],
            [{True}, {False}],
        )

    def test_replicas_and_what_is_missing_go_with_their_execution(self, tmp_path: Path) -> None:
        # GIVEN an execution that lost what rank 1 recorded, and a whole one with engines an hour later
        first = job("0.9.0", mode="discrete", replicas=2)
        for one in write_verl(first, tmp_path / "SP"):
            if one.group == "trainer" and one.capture.rank == 1:
                shutil.rmtree(one.path)
        again = {one.path for one in write_verl(restarted(first), tmp_path / "SP")}

        # WHEN both are read
        runs = find_runs(tmp_path / "SP")

        # THEN each has its own captures
        (early,), (late,) = (
            [run for run in runs if (run.captures[0].path in again) is is_late] for is_late in (False, True)
        )
        assert groups_of(early) == calls(COUNTED, "rank 0") | rollout(ENGINES, COUNTED)
        assert groups_of(late) == calls(COUNTED) | rollout(ENGINES, COUNTED)
        assert {capture.path for capture in late.captures} == again

    def test_the_user_may_call_them_one_run(self, tmp_path: Path) -> None:
        first = job("0.9.1", replicas=2)
        write_verl(first, tmp_path / "SP")
        write_verl(restarted(first), tmp_path / "SP")

        (run,) = find_runs(tmp_path / "SP", layout="ranks")

        assert groups_of(run) == whole((0, 1, 2, 3)) | rollout(ENGINES, (0, 1, 2, 3))

    def test_other_steps_are_the_same_run_that_went_on(self, tmp_path: Path) -> None:
        first = job("0.7.0")
        write_verl(first, tmp_path / "SP")
        write_verl(restarted(first, steps=(5,)), tmp_path / "SP")

        (run,) = find_runs(tmp_path / "SP")

        assert groups_of(run) == whole((2, 3, 5))
        assert "restarted" in {finding.key for finding in run.findings}

    @pytest.mark.parametrize("version", ["0.7.1", "0.9.1"])
    @pytest.mark.parametrize("mode", ["e2e", "discrete"])
    def test_numbered_save_paths_are_runs_and_no_steps(self, tmp_path: Path, version: str, mode: str) -> None:
        first = job(version, mode=mode, ranks=(0,))
        write_verl(first, tmp_path / "seeds" / "1")
        write_verl(restarted(first), tmp_path / "seeds" / "2")

        runs = find_runs(tmp_path / "seeds")

        assert [run.name for run in runs] == ["1", "2"]
        assert "executions" not in {finding.key for run in runs for finding in run.findings}
        steps = [sorted({capture.step for capture in run.captures}) for run in runs]  # type: ignore[type-var]
        assert steps == [[0, 1], [0, 1]]


class TestDamage:
    def test_a_missing_rank_of_one_role_is_said(self, tmp_path: Path) -> None:
        for one in write_verl(job("0.8.0", mode="discrete"), tmp_path / "SP"):
            if one.capture.rank == 1 and "actor_update" in one.path.parts:
                shutil.rmtree(one.path)

        (run,) = find_runs(tmp_path / "SP")

        assert groups_of(run) == calls(COUNTED) | {("actor", "update_actor"): ("rank 0", COUNTED, 1)}
        (said,) = [finding.message for finding in run.findings if finding.key == "missing_capture"]
        assert said == "no capture of actor update_actor on rank 1: its time is the mean over the other ranks"

    def test_steps_of_a_rank_that_lost_a_step_stay_in_place(self, tmp_path: Path) -> None:
        # GIVEN three steps, the first of which rank 1 lost altogether, and replica 0 its second
        written = write_verl(job("0.9.0", mode="discrete", steps=(1, 2, 3), replicas=2), tmp_path / "SP")
        steps = {one.path: one.capture.step for one in written}
        for one in written:
            lost_first = one.group == "trainer" and one.capture.rank == 1 and one.capture.step == 1
            if lost_first or (one.replica == 0 and one.capture.step == 2):
                shutil.rmtree(one.path)

        (run,) = find_runs(tmp_path / "SP")

        # THEN every capture that is left has the position of its own step
        assert [capture.step for capture in run.captures] == [(steps[c.path] or 0) - 1 for c in run.captures]

    def test_an_unfinished_capture_is_named(self, tmp_path: Path) -> None:
        written = write_verl(job("0.9.1"), tmp_path / "SP")
        unfinished = next(one for one in written if one.capture.rank == 1 and one.capture.step == 2).path
        shutil.rmtree(unfinished / "ASCEND_PROFILER_OUTPUT")
        (unfinished / "PROF_000001_1").mkdir()
        (unfinished / "FRAMEWORK").mkdir()

        (run,) = find_runs(tmp_path / "SP")

        assert [(c.rank, c.step) for c in run.captures] == [(0, 0), (0, 1), (1, 1)]
        (said,) = [finding.message for finding in run.findings if finding.key == "not_parsed"]
        assert said == f"train/{unfinished.name} was left out: it was collected but never parsed"

    def test_empty_folders_do_no_harm(self, tmp_path: Path) -> None:
        write_verl(job("0.7.0"), tmp_path / "SP")
        for name in (
            "4/e2e",
            "actor_update",
            "agent_loop_rollout_replica_0",
            "5/e2e/host_1_20250318093015001_ascend_pt",
        ):
            (tmp_path / "SP" / name).mkdir(parents=True)

        (run,) = find_runs(tmp_path / "SP")

        assert groups_of(run) == whole(NAMED)
        assert [finding.key for finding in run.findings if finding.severity == "warning"] == ["empty_folder"]


def test_the_front_end_of_vllm_is_left_out_and_said(tmp_path: Path) -> None:
    write_verl(job("0.9.1", tool="torch", replicas=2, steps=(2,)), tmp_path / "SP")
    assert len(list((tmp_path / "SP").rglob("*.async_llm.*"))) == 2

    (run,) = find_runs(tmp_path / "SP")

    assert not [capture for capture in run.captures if "async_llm" in capture.path.name]
    assert "front_end" in {finding.key for finding in run.findings}


def test_mini_batches_alone_are_nobodys(tmp_path: Path) -> None:
    """Supervised fine-tuning and a critic profiled alone leave the same folder."""
    for one in write_verl(job("0.9.0", mode="discrete", critic=True), tmp_path / "SP"):
        if one.group != "critic":
            shutil.rmtree(one.path)

    (run,) = find_runs(tmp_path / "SP")

    assert groups_of(run) == {(None, "train_batch"): (RANKS, (0, 1, 2, 3), 1)}


def test_captures_that_say_nothing_of_their_role_are_kept_apart(tmp_path: Path) -> None:
    """Calls of an early critic, recorded without ranges: a role of their own, and the steps are the trainer's."""
    for one in write_verl(job("0.6.1", mode="discrete", critic=True), tmp_path / "SP"):
        if one.group == "critic":
            with closing(sqlite3.connect(next(one.path.rglob("ascend_pytorch_profiler_*.db")))) as con:
                con.execute("DELETE FROM MSTX_EVENTS")
                con.commit()

    (run,) = find_runs(tmp_path / "SP")

    assert groups_of(run) == calls(COUNTED, generation=True) | {("other", None): (RANKS, COUNTED, 2)}


def test_several_files_of_one_window_are_of_one_step(tmp_path: Path) -> None:
    """A schedule of mini-batches leaves a file per cycle (0.9.0); their marks count mini-batches, and not steps."""
    for one in write_verl(job("0.9.0", tool="torch"), tmp_path / "SP"):
        second = one.path.with_name(one.path.name.replace(".json", "_cycle1.json"))
        shutil.copy(one.path, second)

    (run,) = find_runs(tmp_path / "SP")

    assert groups_of(run) == {(None, None): (RANKS, COUNTED, 2)}


def test_calls_of_one_phase_alone_are_said_to_be_taken_as_steps(tmp_path: Path) -> None:
    for one in write_verl(job("0.9.1", mode="discrete"), tmp_path / "SP"):
        if "actor_update" not in one.path.parts:
            shutil.rmtree(one.path)

    (run,) = find_runs(tmp_path / "SP")

    assert groups_of(run) == {("actor", "update_actor"): (RANKS, COUNTED, 1)}
    (said,) = [finding.message for finding in run.findings if finding.key == "steps_by_order"]
    assert said.endswith("2 steps counted in order of time, each call of update_actor as one step")
