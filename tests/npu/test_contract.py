"""Every call that we make of torch_npu, against the signatures of the wheels that we promise.

The calls are made by the collector itself, on a stand-in module which refuses what the wheel's own sources refuse. Of
2.13.0 the installed wheel is read; ``make test-npu-all`` fetches the others.
"""

from __future__ import annotations

import ast
import sys
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from tests.npu.signatures import Wheel, checked

pytest.importorskip("torch")

from rlcompare.collect.profiler import CaptureRecord, make_profilers
from rlcompare.collect.reference.config.load import load_config
from rlcompare.errors import UsageError
from tests.collect import fake_torch_npu
from tests.collect.profiled_loop import PROFILER, ROLLOUT, run

NPU = f"{PROFILER}.tool_config.npu"
_PROFILER, _CONFIG = "torch_npu/profiler/profiler.py", "torch_npu/profiler/experimental_config.py"
_SWITCHES = {
    "export_type": "[text,db]", "aic_metrics": "PipeUtilization", "l2_cache": "true", "op_attr": "true",
    "data_simplification": "false", "record_op_args": "true", "gc_detect_threshold": "1.0", "mstx": "true",
    "mstx_domain_include": "[a]", "mstx_domain_exclude": "[a]", "host_sys": "[cpu,mem,disk,network,osrt]",
    "sys_io": "true", "sys_interconnection": "true",
}  # fmt: skip


class _Fake(fake_torch_npu.FakeTorchNPU):
    """The collector's stand-in, with the wheel's signatures and enumerations."""

    def __init__(self, wheel: Wheel) -> None:
        super().__init__()
        npu: Any = self.profiler
        config = wheel.function(_CONFIG, "_ExperimentalConfig.__init__")
        npu._ExperimentalConfig = checked(config, lambda **given: given)
        npu.profile = checked(wheel.function(_PROFILER, "profile.__init__"), self._checked_profile(wheel))
        npu.schedule = checked(
            wheel.function("torch_npu/profiler/scheduler.py", "Schedule.__init__"), fake_torch_npu.schedule
        )
        npu.tensorboard_trace_handler = checked(
            wheel.function(_PROFILER, "tensorboard_trace_handler"), npu.tensorboard_trace_handler
        )
        for name in ("ProfilerLevel", "AiCMetrics", "ExportType", "HostSystem"):
            members = wheel.names(_CONFIG, name)
            if members:
                setattr(npu, name, Enum(name, members))
            else:
                delattr(npu, name)
        mstx = self.module.npu.mstx
        for name in ("range_start", "range_end"):
            setattr(mstx, name, checked(wheel.function("torch_npu/npu/mstx.py", f"mstx.{name}"), getattr(mstx, name)))
        vars(self.module)["__version__"] = wheel.version

    def _checked_profile(self, wheel: Wheel) -> Any:
        make = self._profile

        def made(**given: Any) -> Any:
            profile = make(**given)
            for name in ("start", "stop", "step", "add_metadata_json", "export_stacks", "export_memory_timeline"):
                setattr(profile, name, checked(wheel.function(_PROFILER, f"profile.{name}"), getattr(profile, name)))
            return profile

        return made


@pytest.fixture
def npu(wheel: Wheel, monkeypatch: pytest.MonkeyPatch) -> _Fake:
    fake = _Fake(wheel)
    monkeypatch.setitem(sys.modules, "torch_npu", fake.module)
    monkeypatch.setitem(sys.modules, "torch_npu.profiler", fake.profiler)
    return fake


def captured(out: Path, *overrides: str) -> list[CaptureRecord]:
    config = load_config(["trainer.total_training_steps=2", *overrides])
    return run(make_profilers(config, out, 0, 1, "npu"))


@pytest.mark.parametrize("level", ["level_none", "level0", "level1", "level2"])
def test_the_default_profile_at_every_level(npu: _Fake, tmp_path: Path, level: str) -> None:
    assert len(captured(tmp_path, f"{NPU}.level={level}")) == 1


def test_discrete_captures_and_schedules(npu: _Fake, tmp_path: Path) -> None:
    assert len(captured(tmp_path / "discrete", f"{NPU}.discrete=true")) == 3
    parts = ["granularity=decode_step", "skip_first=2", "wait=1", "warmup=2", "active=3", "repeat=2"]
    alone = [f"{PROFILER}.enable=false", f"{ROLLOUT}.enable=true", *(f"{ROLLOUT}.schedule.{part}" for part in parts)]
    assert [capture.sampled for capture in captured(tmp_path / "windows", *alone)] == [(5, 6, 7), (11, 12, 13)]


@pytest.mark.parametrize("key", _SWITCHES)
def test_a_switch_is_taken_or_refused_by_name(npu: _Fake, wheel: Wheel, tmp_path: Path, key: str) -> None:
    known = key in wheel.function(_CONFIG, "_ExperimentalConfig.__init__").parameters
    settings = [f"{NPU}.{key}={_SWITCHES[key]}", *([f"{NPU}.export_type=[db]"] if key == "op_attr" else [])]
    if known or key == "mstx":  # which goes by its older name where it has to
        assert len(captured(tmp_path, *settings)) == 1
    else:
        with pytest.raises(UsageError, match=rf"tool_config\.npu\.{key}.*torch_npu {wheel.version} does not know it"):
            captured(tmp_path, *settings)


def test_every_metric_of_ours_is_one_of_theirs(npu: _Fake, wheel: Wheel, tmp_path: Path) -> None:
    ours = {
        "PipeUtilization", "ArithmeticUtilization", "Memory", "MemoryL0", "MemoryUB", "ResourceConflictRatio",
        "L2Cache", "MemoryAccess", "AiCoreNone",
    }  # fmt: skip
    assert set(wheel.names(_CONFIG, "AiCMetrics")) == ours
    for name in sorted(ours):
        assert len(captured(tmp_path / name, f"{NPU}.aic_metrics={name}")) == 1


def test_the_exports(npu: _Fake, tmp_path: Path) -> None:
    contents = f"{NPU}.contents=[cpu,npu,shapes,memory,stack]"
    exports = ["export_stacks=self_cpu_time_total", "export_memory_timeline=true", "export_type=[text]"]
    assert len(captured(tmp_path, contents, *(f"{NPU}.{setting}" for setting in exports))) == 1


def test_what_is_exported_with_which_parsers(wheel: Wheel) -> None:
    """Our refusals rest on it: at level_none nothing is exported, and a memory timeline only with the text files."""
    tree = wheel.tree("torch_npu/profiler/analysis/prof_config/_parser_config.py")
    tables = {
        target.id: ast.dump(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert "EXPORT_STACK" in tables["COMMON_CONFIG"]
    assert "EXPORT_MEMORY_TIMELINE" in tables["COMMON_CONFIG"]
    assert "EXPORT" not in tables["LEVEL_NONE_CONFIG"].replace("CANNExport", "")
