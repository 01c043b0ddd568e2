"""The torch tool on the host: what is on disk is what the configuration asked for."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from rlcompare.collect.profiler.torch import export  # noqa: E402
from rlcompare.errors import OutputError, UsageError  # noqa: E402
from tests.collect.profiled_loop import PROFILER, ROLLOUT, names, one_step, operators, profiler, run, trace  # noqa: E402

TORCH = f"{PROFILER}.tool_config.torch"
ALL_OPERATORS = {"aten::mm", "aten::sin", "aten::exp", "aten::std", "aten::tanh"}


def files(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())


def test_end_to_end_is_one_capture_with_the_step_and_its_phases_marked(tmp_path: Path) -> None:
    (capture,) = run(profiler(tmp_path))
    assert files(tmp_path) == [capture.path]
    assert re.fullmatch(r"profile/e2e/prof_step2_rank0-of-1_pid\d+_\d{17}\.json\.gz", capture.path)
    assert (capture.step, capture.steps, capture.rank, capture.tool, capture.sampled) == (2, (2,), 0, "torch", None)
    found = trace(tmp_path, capture)
    assert names(found, "user_annotation") == [
        "ProfilerStep#2",
        "generate_sequences",
        "compute_reward",
        "compute_log_prob",
        "compute_advantage",
        "update_actor",
    ]
    assert operators(found) == ALL_OPERATORS
    assert found["rlcompare"] == {"step": 2, "rank": 0, "world_size": 1}


def test_what_torch_says_of_cycles_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # torch 2.11 says it at the first start, although there is one cycle only.
    start = torch.profiler.profile.start

    def warned(self: object) -> None:
        warnings.warn("Warning: Profiler clears events at the end of each cycle.", stacklevel=1)
        start(self)

    monkeypatch.setattr(torch.profiler.profile, "start", warned)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(run(profiler(tmp_path))) == 1


def test_phases_lie_in_their_step_and_operators_in_their_phase(tmp_path: Path) -> None:
    (capture,) = run(profiler(tmp_path))
    spans = {
        event["name"]: (event["ts"], event["ts"] + event["dur"])
        for event in trace(tmp_path, capture)["traceEvents"]
        if event.get("cat") in ("user_annotation", "cpu_op")
    }

    def within(inner: str, outer: str) -> bool:
        return spans[outer][0] <= spans[inner][0] and spans[inner][1] <= spans[outer][1]

    assert all(within(name, "ProfilerStep#2") for name in ("generate_sequences", "compute_advantage", "update_actor"))
    assert within("aten::tanh", "update_actor")
    assert within("aten::exp", "compute_log_prob")


def test_discrete_leaves_a_capture_per_role_call_in_verls_folders(tmp_path: Path) -> None:
    captures = run(profiler(tmp_path, f"{TORCH}.discrete=true"))
    assert [(capture.role, capture.phase, Path(capture.path).parent.as_posix()) for capture in captures] == [
        ("rollout", "generate_sequences", "profile/rollout_generate"),
        ("actor", "old_log_prob", "profile/actor_compute_log_prob"),
        ("actor", "update_actor", "profile/actor_update"),
    ]
    assert len(files(tmp_path)) == 3
    found = [trace(tmp_path, capture) for capture in captures]
    assert [operators(one) for one in found] == [{"aten::mm"}, {"aten::exp"}, {"aten::tanh"}]
    assert [names(one, "user_annotation") for one in found] == [
        ["generate_sequences"],
        ["compute_log_prob"],
        ["update_actor"],
    ]
    assert found[2]["rlcompare"] == {"step": 2, "rank": 0, "world_size": 1, "role": "actor", "phase": "update_actor"}


def test_a_role_that_is_called_twice_in_a_step_leaves_two_captures(tmp_path: Path) -> None:
    made = profiler(tmp_path, f"{TORCH}.discrete=true")
    with made.step(2):
        for _ in range(2):
            with made.phase("rollout", "generate_sequences"):
                torch.ones(2)
    assert len({capture.path for capture in made.captures}) == 2


def test_only_the_enabled_roles_are_captured(tmp_path: Path) -> None:
    captures = run(profiler(tmp_path, f"{TORCH}.discrete=true", f"{ROLLOUT}.enable=false"))
    assert [capture.phase for capture in captures] == ["old_log_prob", "update_actor"]

    # one enabled role is enough for a capture of the step
    (whole,) = run(profiler(tmp_path / "e2e", f"{PROFILER}.enable=false", f"{ROLLOUT}.enable=true"))
    assert operators(trace(tmp_path / "e2e", whole)) == ALL_OPERATORS

    nobody = profiler(tmp_path / "none", f"{PROFILER}.enable=false")
    assert run(nobody) == []
    assert not nobody.is_profiled(2)
    assert files(tmp_path / "none") == []


@pytest.mark.parametrize(("rank", "count"), [(0, 0), (1, 1), (2, 0)])
def test_ranks_are_chosen(tmp_path: Path, rank: int, count: int) -> None:
    sizes = ["data.train_batch_size=12", "actor_rollout_ref.actor.ppo_mini_batch_size=6"]
    made = profiler(tmp_path, f"{PROFILER}.all_ranks=false", f"{PROFILER}.ranks=[1]", *sizes, rank=rank, world_size=3)
    captures = run(made)
    assert [capture.rank for capture in captures] == [rank] * count
    assert all("_rank1-of-3_" in capture.path for capture in captures)
    # the step is slower on all ranks, so it counts as profiled on all
    assert made.is_profiled(2)
    assert not made.is_profiled(1)


def test_end_to_end_opens_where_any_role_asks_for_the_rank(tmp_path: Path) -> None:
    choice = [f"{PROFILER}.all_ranks=false", f"{PROFILER}.ranks=[0]", f"{ROLLOUT}.ranks=[1]"]
    (capture,) = run(profiler(tmp_path, *choice, rank=1, world_size=2))
    assert capture.rank == 1


def test_steps_are_chosen(tmp_path: Path) -> None:
    made = profiler(tmp_path, "global_profiler.steps=[1,3]", steps=4)
    assert [capture.step for capture in run(made, steps=4)] == [1, 3]
    assert [step for step in range(1, 5) if made.is_profiled(step)] == [1, 3]
    assert run(profiler(tmp_path / "none", "global_profiler.steps=null")) == []


def test_consecutive_steps_share_a_capture_on_request(tmp_path: Path) -> None:
    steps = ["global_profiler.steps=[1,2,4]", "global_profiler.profile_continuous_steps=true"]
    captures = run(profiler(tmp_path, *steps, steps=4), steps=4)
    assert [capture.steps for capture in captures] == [(1, 2), (4,)]
    marks = [name for name in names(trace(tmp_path, captures[0]), "user_annotation") if name.startswith("ProfilerStep")]
    assert marks == ["ProfilerStep#1", "ProfilerStep#2"]
    assert "_step1_" in captures[0].path


def test_a_capture_that_is_open_at_the_end_is_closed(tmp_path: Path) -> None:
    steps = ["global_profiler.steps=[1,2,3]", "global_profiler.profile_continuous_steps=true"]
    made = profiler(tmp_path, *steps, steps=3)
    with made.step(1):
        one_step(made, torch.ones(2, 2))
    made.close()
    assert [capture.steps for capture in made.captures] == [(1,)]
    assert files(tmp_path) == [made.captures[0].path]


def test_save_paths(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (capture,) = run(profiler(tmp_path / "out", f"global_profiler.save_path={elsewhere}"))
    assert Path(capture.path).parent == elsewhere / "e2e"
    own = [f"{TORCH}.discrete=true", f"{ROLLOUT}.save_path={tmp_path / 'out' / 'mine'}"]
    captures = run(profiler(tmp_path / "out", *own))
    assert Path(captures[0].path).parts[:2] == ("mine", "rollout_generate")
    assert Path(captures[1].path).parts[:2] == ("profile", "actor_compute_log_prob")


@pytest.mark.parametrize("contents", ["[]", "[cpu]", "[cpu,shapes]", "[cpu,memory]", "[cpu,stack]", "[cpu,module]"])
def test_contents_are_recorded_and_nothing_else(tmp_path: Path, contents: str) -> None:
    (capture,) = run(profiler(tmp_path, f"{TORCH}.contents={contents}"))
    found = trace(tmp_path, capture)
    events = found["traceEvents"]
    assert "aten::mm" in operators(found)
    assert any("Input Dims" in event.get("args", {}) for event in events) == ("shapes" in contents)
    assert any(event["name"] == "[memory]" for event in events) == ("memory" in contents)
    assert any(event.get("cat") == "python_function" for event in events) == ("stack" in contents)
    assert bool(found.get("with_modules")) == ("module" in contents)


def test_contents_of_roles_that_share_a_capture_are_united(tmp_path: Path) -> None:
    each = [f"{TORCH}.contents=[cpu,memory]", f"{ROLLOUT}.tool_config.torch.contents=[cpu,shapes]"]
    (capture,) = run(profiler(tmp_path, *each))
    found = trace(tmp_path, capture)
    assert found["profile_memory"] == 1
    assert found["record_shapes"] == 1


def test_a_gpu_alone_cannot_be_recorded_without_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contents asks for cuda only, but this run is on cpu: add cpu"):
        profiler(tmp_path, f"{TORCH}.contents=[cuda]")


def test_a_process_group_is_named_in_the_trace(tmp_path: Path) -> None:
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        (capture,) = run(profiler(tmp_path / "out"))
    finally:
        torch.distributed.destroy_process_group()
    about = trace(tmp_path / "out", capture)["distributedInfo"]
    assert (about["rank"], about["world_size"], about["backend"]) == (0, 1, "gloo")


def test_an_interrupted_step_leaves_nothing_half_written(tmp_path: Path) -> None:
    made = profiler(tmp_path, f"{TORCH}.discrete=true", "global_profiler.steps=[1,2]")
    with pytest.raises(KeyboardInterrupt), made.step(1), made.phase("rollout", "generate_sequences"):
        raise KeyboardInterrupt
    whole = profiler(tmp_path, "global_profiler.steps=[1,2]")
    with pytest.raises(KeyboardInterrupt), whole.step(1), whole.phase("rollout", "generate_sequences"):
        raise KeyboardInterrupt
    whole.close()
    assert files(tmp_path) == []
    # and the process can profile again
    assert len(run(profiler(tmp_path))) == 1


def test_a_folder_that_cannot_be_made_is_told_before_the_run_and_in_it(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    made = profiler(tmp_path, f"global_profiler.save_path={blocked}")
    blocked.write_text("in the way")
    with pytest.raises(OutputError, match=r"blocked/e2e cannot be written .*: choose another save_path"):
        run(made)
    with pytest.raises(UsageError, match=r"actor\.profiler\.save_path: .*blocked cannot be created"):
        profiler(tmp_path, f"global_profiler.save_path={blocked}")


def test_a_cut_trace_is_told_and_not_kept(tmp_path: Path) -> None:
    class Cut:
        def export_chrome_trace(self, path: str) -> None:
            Path(path).write_text('{"traceEvents": [')

    with pytest.raises(OutputError, match="wrote no complete trace"):
        export(Cut(), tmp_path / "prof.json.gz")  # type: ignore[arg-type]
    assert files(tmp_path) == []
