"""The npu tool against torch_npu's signatures: what it is called with, and what is said where it left nothing."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from rlcompare.collect.profiler import StepProfiler, make_profilers  # noqa: E402
from rlcompare.collect.profiler.npu import metadata_pieces  # noqa: E402
from rlcompare.collect.reference.config.load import load_config, to_dict  # noqa: E402
from rlcompare.errors import InputError, UsageError  # noqa: E402
from tests.collect.fake_torch_npu import (  # noqa: E402
    AiCMetrics,
    ExportType,
    FakeTorchNPU,
    HostSystem,
    OldExperimentalConfig,
    ProfilerActivity,
    ProfilerLevel,
    whole_folder,
)
from tests.collect.profiled_loop import PROFILER, ROLLOUT, run  # noqa: E402

NPU = f"{PROFILER}.tool_config.npu"


@pytest.fixture
def npu(monkeypatch: pytest.MonkeyPatch) -> FakeTorchNPU:
    fake = FakeTorchNPU()
    install(fake, monkeypatch)
    return fake


def install(fake: FakeTorchNPU, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_npu", fake.module)
    monkeypatch.setitem(sys.modules, "torch_npu.profiler", fake.profiler)


def profiler(out: Path, *overrides: str) -> StepProfiler:
    config = load_config(["trainer.total_training_steps=2", *overrides])
    return make_profilers(config, out, 0, 1, "npu")


def experimental(npu: FakeTorchNPU) -> dict[str, Any]:
    given = npu.named("profile")[-1]["experimental_config"].given
    assert isinstance(given, dict)
    return given


def test_on_an_npu_it_is_the_tool_by_default_and_takes_one_capture_of_the_step(
    npu: FakeTorchNPU, tmp_path: Path
) -> None:
    (capture,) = run(profiler(tmp_path))
    (call,) = npu.named("profile")
    assert call["activities"] == [ProfilerActivity.CPU, ProfilerActivity.NPU]
    assert call["schedule"] is None
    flags = ("record_shapes", "profile_memory", "with_stack", "with_modules", "with_flops")
    assert [call[flag] for flag in flags] == [False] * 5
    (handler,) = npu.named("tensorboard_trace_handler")
    assert handler == {"dir_name": str(tmp_path / "profile" / "e2e"), "analyse_flag": True}
    assert experimental(npu)["profiler_level"] is ProfilerLevel.Level1
    assert experimental(npu)["export_type"] == [ExportType.Db]
    assert experimental(npu)["mstx"] is True  # the newer name of msprof_tx, which the configuration sets
    assert (capture.tool, capture.step, capture.rank) == ("npu", 2, 0)
    assert capture.path.startswith("profile/e2e/host_")
    assert capture.path.endswith("_ascend_pt")
    assert (tmp_path / capture.path).is_dir()


def test_phases_are_mstx_ranges_inside_of_the_capture(npu: FakeTorchNPU, tmp_path: Path) -> None:
    run(profiler(tmp_path))
    order = [(name, value) for name, value in npu.calls if name in ("start", "range_start", "range_end", "stop")]
    marks = ["generate_sequences", "compute_reward", "compute_log_prob", "compute_advantage", "update_actor"]
    ranges = [pair for mark in marks for pair in (("range_start", mark), ("range_end", 7))]
    assert order == [("start", None), *ranges, ("stop", None)]


def test_every_setting_reaches_torch_npu_under_its_name(npu: FakeTorchNPU, tmp_path: Path) -> None:
    settings = [
        "contents=[npu,cpu,memory,shapes,module,stack]", "level=level2", "analysis=false", "export_type=[text,db]",
        "aic_metrics=L2Cache", "l2_cache=true", "op_attr=true", "data_simplification=false", "record_op_args=true",
        "gc_detect_threshold=1.5", "msprof_tx=false", "mstx=true", "mstx_domain_include=[a,b]", "host_sys=[cpu,osrt]",
        "sys_io=true", "sys_interconnection=true", "with_flops=true", "worker_name=cann83",
    ]  # fmt: skip
    run(profiler(tmp_path, *(f"{NPU}.{setting}" for setting in settings)))
    (call,) = npu.named("profile")
    assert call["activities"] == [ProfilerActivity.CPU, ProfilerActivity.NPU]
    assert [call[flag] for flag in ("record_shapes", "profile_memory", "with_stack", "with_modules")] == [True] * 4
    assert call["with_flops"] is True
    handler = npu.named("tensorboard_trace_handler")[0]
    assert (handler["analyse_flag"], handler["worker_name"]) == (False, "cann83")
    assert experimental(npu) == {
        "profiler_level": ProfilerLevel.Level2,
        "aic_metrics": AiCMetrics.L2Cache,
        "l2_cache": True,
        "msprof_tx": False,
        "mstx": True,
        "data_simplification": False,
        "record_op_args": True,
        "op_attr": True,
        "gc_detect_threshold": 1.5,
        "export_type": [ExportType.Text, ExportType.Db],
        "host_sys": [HostSystem.CPU, HostSystem.OSRT],
        "mstx_domain_include": ["a", "b"],
        "mstx_domain_exclude": None,
        "sys_io": True,
        "sys_interconnection": True,
    }


@pytest.mark.parametrize("level", ["level_none", "level0", "level1", "level2"])
def test_levels_have_verls_names(npu: FakeTorchNPU, tmp_path: Path, level: str) -> None:
    run(profiler(tmp_path, f"{NPU}.level={level}"))
    assert experimental(npu)["profiler_level"].name.lower() == level
    assert (experimental(npu)["aic_metrics"] is AiCMetrics.AiCoreNone) == (level in ("level_none", "level0"))


def test_metrics_need_a_level_that_has_them(npu: FakeTorchNPU, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="aic_metrics=L2Cache: needs level1 or level2, but level is level0"):
        profiler(tmp_path, f"{NPU}.level=level0", f"{NPU}.aic_metrics=L2Cache")


_STACKS, _TIMELINE = "export_stacks=self_npu_time_total", "export_memory_timeline=true"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["level=level_none", "msprof_tx=false"], "level=level_none: records only mstx ranges, which are off"),
        (["mstx_domain_exclude=[a]", "msprof_tx=false"], "mstx_domain_exclude: .* which are off; set mstx=true"),
        (["with_flops=true", "msprof_tx=false"], "with_flops: is recorded as mstx marks, which are off"),
        (["worker_name='a/b'"], "worker_name: is part of a folder's name"),
        (["op_attr=true", "level=level_none"], "op_attr: there are no operators at level_none"),
        (["op_attr=true", "export_type=[text]"], "op_attr: .* add db to export_type"),
        (["contents=[cpu]", "l2_cache=true"], "l2_cache: .* add npu to contents"),
        (["contents=[cpu]", "host_sys=[cpu]"], "host_sys: .* add npu to contents"),
        (["contents=[npu,shapes]"], "contents=shapes: .* add cpu to contents"),
        (["contents=[npu]", "gc_detect_threshold=1"], "gc_detect_threshold: .* add cpu to contents"),
        ([_STACKS], "export_stacks: needs call stacks; add stack to contents"),
        ([_STACKS, "contents=[cpu,stack]"], "export_stacks: needs the NPU's activities"),
        ([_STACKS, "contents=[stack]", "analysis=false"], "export_stacks: .* set analysis=true"),
        ([_STACKS, "contents=[stack]", "level=level_none"], "export_stacks: .* at level_none"),
        ([_TIMELINE], "export_memory_timeline: needs shapes and memory in contents"),
        ([_TIMELINE, "contents=[shapes,memory]"], "export_memory_timeline: .* add stack or module"),
        ([_TIMELINE, "contents=[shapes,memory,module]"], "export_memory_timeline: .* add text to export_type"),
    ],
)
def test_what_torch_npu_would_drop_is_refused(
    npu: FakeTorchNPU, tmp_path: Path, settings: list[str], message: str
) -> None:
    with pytest.raises(UsageError, match=rf"tool_config\.npu\.{message}"):
        profiler(tmp_path, *(f"{NPU}.{setting}" for setting in settings))


def test_stacks_and_the_memory_timeline_lie_in_the_capture(npu: FakeTorchNPU, tmp_path: Path) -> None:
    settings = [_STACKS, _TIMELINE, "contents=[cpu,npu,shapes,memory,stack]", "export_type=[db,text]"]
    overrides = [f"{NPU}.{setting}" for setting in settings]
    (capture,) = run(profiler(tmp_path, *overrides))
    assert npu.named("export_stacks") == ["self_npu_time_total"]
    assert npu.named("export_memory_timeline") == ["npu:0"]
    assert (tmp_path / capture.path / "stacks.log").is_file()
    assert (tmp_path / capture.path / "memory_timeline.json").is_file()


def test_an_export_that_torch_npu_swallowed_is_told(
    npu: FakeTorchNPU, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.collect.fake_torch_npu.Profile.export_stacks", lambda self, output_path, metric: None)
    with pytest.raises(InputError, match=r"stacks\.log is missing or empty"):
        run(profiler(tmp_path, f"{NPU}.{_STACKS}", f"{NPU}.contents=[cpu,npu,stack]"))


def test_an_older_torch_npu_minds_only_what_it_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeTorchNPU(OldExperimentalConfig)
    install(fake, monkeypatch)
    assert len(run(profiler(tmp_path))) == 1
    assert experimental(fake)["msprof_tx"] is True
    with pytest.raises(UsageError, match=r"tool_config\.npu\.host_sys: torch_npu 2\.13\.0 does not support it"):
        profiler(tmp_path, f"{NPU}.host_sys=[cpu]")
    with pytest.raises(UsageError, match=r"tool_config\.npu\.host_sys=numa: torch_npu"):
        install(FakeTorchNPU(), monkeypatch)
        profiler(tmp_path, f"{NPU}.host_sys=[numa]")


def test_discrete_captures_go_to_verls_folders(npu: FakeTorchNPU, tmp_path: Path) -> None:
    captures = run(profiler(tmp_path, f"{NPU}.discrete=true"))
    assert [Path(capture.path).parts[1] for capture in captures] == [
        "rollout_generate",
        "actor_compute_log_prob",
        "actor_update",
    ]
    assert [capture.phase for capture in captures] == ["generate_sequences", "old_log_prob", "update_actor"]


def test_a_schedule_is_torch_npus_own_and_each_window_is_a_folder(npu: FakeTorchNPU, tmp_path: Path) -> None:
    parts = ["granularity=decode_step", "skip_first=2", "wait=1", "warmup=2", "active=3", "repeat=2"]
    alone = [f"{PROFILER}.enable=false", f"{ROLLOUT}.enable=true"]
    captures = run(profiler(tmp_path, *alone, *(f"{ROLLOUT}.schedule.{part}" for part in parts)))
    # the fake's schedule takes its arguments in torch_npu's order, so a positional call would give other windows
    assert [capture.sampled for capture in captures] == [(5, 6, 7), (11, 12, 13)]
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*_ascend_pt")) == [
        capture.path for capture in captures
    ]
    described = [dict(metadata)["rlcompare"] for metadata in npu.profiles[0].dumped]
    assert [json.loads(text)["sampled"] for text in described] == [[5, 6, 7], [11, 12, 13]]


def test_a_window_that_is_not_reached_leaves_no_empty_folder(npu: FakeTorchNPU, tmp_path: Path) -> None:
    # GIVEN a window of tick 11, for which torch_npu makes its folder with tick 10
    alone = [f"{PROFILER}.enable=false", f"{ROLLOUT}.enable=true", f"{ROLLOUT}.schedule.granularity=decode_step"]
    made = profiler(tmp_path, *alone)
    assert run(made, decode_steps=11) == []
    assert not list(tmp_path.rglob("*_ascend_pt"))
    assert "it had 11 ticks" in made.notes[0]
    assert [capture.sampled for capture in run(profiler(tmp_path, *alone), decode_steps=12)] == [(11,)]
    # one that is cut short is kept, with what there was of it
    longer = [*alone, f"{ROLLOUT}.schedule.active=3"]
    assert [capture.sampled for capture in run(profiler(tmp_path, *longer), decode_steps=12)] == [(11,)]


def test_a_dump_that_was_not_called_for_is_told(npu: FakeTorchNPU, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tests.collect.fake_torch_npu.Profile._dump", lambda self: None)
    with pytest.raises(InputError, match="left no"):
        run(profiler(tmp_path))
    with pytest.raises(InputError, match="left no"):
        run(profiler(tmp_path, f"{PROFILER}.schedule.granularity=micro_batch"))


def test_the_configuration_goes_into_the_capture_before_it_closes(npu: FakeTorchNPU, tmp_path: Path) -> None:
    run(profiler(tmp_path, "actor_rollout_ref.actor.clip_ratio=0.3"))
    (metadata,) = npu.profiles[0].dumped
    tree: dict[str, Any] = {}
    for key, text in metadata:
        node = tree
        *parents, last = key.split(".")
        for part in parents:
            node = node.setdefault(part, {})
        node[last] = json.loads(text)
    config = load_config(["trainer.total_training_steps=2", "actor_rollout_ref.actor.clip_ratio=0.3"])
    assert tree["rlcompare"]["config"] == to_dict(config)


def test_metadata_is_cut_into_pieces_that_torch_npu_takes() -> None:
    tree = {"short": [1, 2], "long": {"a": "x" * 3000, "b": ["y" * 3000, '"' * 9000]}}
    pieces = dict(metadata_pieces("root", tree))
    assert set(pieces) == {"root.short", "root.long.a", "root.long.b.0", "root.long.b.1"}
    assert all(len(text) <= 4096 for text in pieces.values())
    assert json.loads(pieces["root.long.a"]) == "x" * 3000
    assert json.loads(pieces["root.long.b.1"]).startswith('"' * 500)


def test_what_torch_npu_swallowed_is_told_by_the_files(npu: FakeTorchNPU, tmp_path: Path) -> None:
    def without(path: str) -> Any:
        def leaves(folder: Path) -> None:
            whole_folder(folder)
            for found in folder.glob(path):
                found.unlink()

        return leaves

    def only_data(folder: Path) -> None:
        (folder / "profiler_info_0.json").write_text("{}")

    cases = {
        "profiler_info is missing": without("profiler_info*"),
        "ascend_pytorch_profiler\\*.db is missing": without("ASCEND_PROFILER_OUTPUT/*.db"),
        "ASCEND_PROFILER_OUTPUT is missing": only_data,
    }
    for number, (message, npu.leaves) in enumerate(cases.items()):
        with pytest.raises(InputError, match=message):
            run(profiler(tmp_path / str(number)))
        # its logs say why, so it stays
        assert len(list((tmp_path / str(number)).rglob("*_ascend_pt"))) == 1
    npu.makes_folders = False
    npu.leaves = lambda folder: None
    with pytest.raises(InputError, match=r"left no \*_ascend_pt folder"):
        run(profiler(tmp_path / "none"))
    npu.makes_folders = True
    # without an analysis there is nothing to look for in its output
    npu.leaves = only_data
    assert len(run(profiler(tmp_path / "raw", f"{NPU}.analysis=false"))) == 1


def test_text_is_looked_for_where_text_was_asked_for(npu: FakeTorchNPU, tmp_path: Path) -> None:
    def only_db(folder: Path) -> None:
        whole_folder(folder)
        (folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").unlink()

    npu.leaves = only_db
    assert len(run(profiler(tmp_path / "db"))) == 1
    with pytest.raises(InputError, match=r"trace_view\.json is missing"):
        run(profiler(tmp_path / "text", f"{NPU}.export_type=[text]"))


def test_folders_of_other_processes_are_not_taken_for_ours(npu: FakeTorchNPU, tmp_path: Path) -> None:
    def another_process(folder: Path) -> None:
        whole_folder(folder.with_name(folder.name.replace(f"_{os.getpid()}_", f"_{os.getpid() + 1}_")))

    npu.makes_folders = False
    npu.leaves = another_process
    with pytest.raises(InputError, match="of this process"):
        run(profiler(tmp_path))


def test_a_machine_that_cannot_is_told_before_the_run(
    npu: FakeTorchNPU, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROFILING_MODE", "dynamic")
    with pytest.raises(UsageError, match="PROFILING_MODE is set"):
        profiler(tmp_path)
    monkeypatch.delenv("PROFILING_MODE")
    npu.module.npu.is_available = lambda: False
    with pytest.raises(UsageError, match="sees no NPU"):
        profiler(tmp_path)
    monkeypatch.setitem(sys.modules, "torch_npu", None)
    with pytest.raises(UsageError, match="torch_npu cannot be imported"):
        profiler(tmp_path, "global_profiler.tool=npu")


def test_an_interrupted_step_dumps_nothing(npu: FakeTorchNPU, tmp_path: Path) -> None:
    made = profiler(tmp_path)
    with pytest.raises(KeyboardInterrupt), made.step(2), made.phase("rollout", "generate_sequences"):
        raise KeyboardInterrupt
    assert ("stop", None) in npu.calls
    assert not list(tmp_path.rglob("*_ascend_pt"))


def test_one_capture_cannot_have_two_levels(npu: FakeTorchNPU, tmp_path: Path) -> None:
    levels = [f"{NPU}.level=level1", f"{ROLLOUT}.tool_config.npu.level=level2"]
    with pytest.raises(UsageError, match=r"differ in tool_config\.npu\.level for one capture"):
        profiler(tmp_path, *levels)
    assert len(run(profiler(tmp_path, *levels, f"{NPU}.discrete=true"))) == 3
