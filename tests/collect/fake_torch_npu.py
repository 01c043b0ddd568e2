"""A stand-in for torch_npu with the signatures of its wheels which notes each call."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

ProfilerActivity = Enum("ProfilerActivity", ["CPU", "NPU"])
ProfilerLevel = Enum("ProfilerLevel", ["Level_none", "Level0", "Level1", "Level2"])
ExportType = Enum("ExportType", ["Text", "Db"])
AiCMetrics = Enum("AiCMetrics", ["PipeUtilization", "ArithmeticUtilization", "Memory", "L2Cache", "AiCoreNone"])
HostSystem = Enum("HostSystem", ["CPU", "MEM", "DISK", "NETWORK", "OSRT"])


class ExperimentalConfig:
    """That of 2.13.0."""

    def __init__(
        self, profiler_level="Level0", aic_metrics="PipeUtilization", l2_cache=False, msprof_tx=False, mstx=False,
        data_simplification=True, record_op_args=False, op_attr=False, gc_detect_threshold=None, export_type="text",
        host_sys=None, mstx_domain_include=None, mstx_domain_exclude=None, sys_io=False, sys_interconnection=False,
    ) -> None:  # fmt: skip
        self.given = {name: value for name, value in locals().items() if name != "self"}


class OldExperimentalConfig:
    """That of 2.5.1."""

    def __init__(
        self, profiler_level="Level0", aic_metrics="ACL_AICORE_NONE", l2_cache=False, msprof_tx=False,
        data_simplification=True, record_op_args=False, op_attr=False, gc_detect_threshold=None, export_type=None,
    ) -> None:  # fmt: skip
        self.given = {name: value for name, value in locals().items() if name != "self"}


class FakeTorchNPU:
    """The module, its calls, and what its dumps leave on disk.

    Attributes:
        leaves: makes what a dump leaves, given the folder of the capture.
    """

    def __init__(self, experimental_config: type = ExperimentalConfig) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.profiles: list[Profile] = []
        self.leaves: Callable[[Path], None] = whole_folder
        self.makes_folders = True
        self.folder = Path()
        self.profiler = ModuleType("torch_npu.profiler")
        for name, value in {
            "profile": self._profile,
            "schedule": schedule,
            "tensorboard_trace_handler": self._handler,
            "_ExperimentalConfig": experimental_config,
            "ProfilerActivity": ProfilerActivity,
            "ProfilerLevel": ProfilerLevel,
            "ExportType": ExportType,
            "AiCMetrics": AiCMetrics,
            "HostSystem": HostSystem,
        }.items():
            setattr(self.profiler, name, value)
        self.module = ModuleType("torch_npu")
        mstx = SimpleNamespace(
            range_start=lambda message, stream=None, domain="default": self._note("range_start", message, 7),
            range_end=lambda range_id, domain="default": self._note("range_end", range_id, None),
        )
        npu = SimpleNamespace(is_available=lambda: True, synchronize=lambda: None, current_device=lambda: 0, mstx=mstx)
        for name, value in {"profiler": self.profiler, "npu": npu, "__version__": "2.13.0"}.items():
            setattr(self.module, name, value)

    def named(self, name: str) -> list[Any]:
        """Arguments of all calls of this name."""
        return [arguments for called, arguments in self.calls if called == name]

    def _note(self, name: str, arguments: Any, answer: Any) -> Any:
        self.calls.append((name, arguments))
        return answer

    def _profile(
        self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False,
        with_stack=False, with_flops=False, with_modules=False, experimental_config=None,
        execution_trace_observer=None, custom_trace_id_callback=None, use_cuda=None,
    ):  # fmt: skip
        given = {name: value for name, value in locals().items() if name != "self"}
        self.calls.append(("profile", given))
        made = Profile(self, schedule, on_trace_ready)
        self.profiles.append(made)
        return made

    def _handler(self, dir_name=None, worker_name=None, analyse_flag=True, async_mode=False):
        named = {} if worker_name is None else {"worker_name": worker_name}
        self.calls.append(("tensorboard_trace_handler", {"dir_name": dir_name, "analyse_flag": analyse_flag} | named))
        self.folder, self.worker = Path(dir_name), worker_name or "host"
        return lambda profile: self.leaves(profile.folder)

    def begun(self) -> Path:
        """The folder of a window that begins; made, but for a torch_npu that fails to."""
        folder = self.folder / f"{self.worker}_{os.getpid()}_{time.time_ns() // 1_000}_ascend_pt"
        if self.makes_folders:
            folder.mkdir(parents=True)
        return folder


def schedule(wait, active, warmup=0, repeat=0, skip_first=0, skip_first_wait=0):
    """torch_npu's: its second place is active."""
    cycle = wait + warmup + active

    def action(step: int) -> str:
        place = step - skip_first
        if place < 0 or (repeat and place >= cycle * repeat) or place % cycle < wait + warmup:
            return "none"
        return "save" if place % cycle == cycle - 1 else "record"

    def begins(step: int) -> bool:
        place = step - skip_first
        return place >= 0 and not (repeat and place >= cycle * repeat) and place % cycle == wait

    vars(action)["begins"] = begins
    return action


class Profile:
    """Swallows all exceptions, as torch_npu's does."""

    def __init__(self, npu: FakeTorchNPU, schedule: Any, on_trace_ready: Any) -> None:
        self.npu, self.schedule, self.on_trace_ready = npu, schedule, on_trace_ready
        self.metadata: list[tuple[str, str]] = []
        self.dumped: list[list[tuple[str, str]]] = []
        self.steps = 0

    def add_metadata_json(self, key: str, value: str) -> None:
        assert len(value) <= 4096, "torch_npu skips it"
        self.metadata.append((key, value))

    def export_stacks(self, output_path: str, metric: str = "self_cpu_time_total") -> None:
        self.npu.calls.append(("export_stacks", metric))
        Path(output_path).write_text("frame 1")

    def export_memory_timeline(self, output_path: str, device: str | None = None) -> None:
        self.npu.calls.append(("export_memory_timeline", device))
        Path(output_path).write_text("[[], []]")

    def start(self) -> None:
        self.npu.calls.append(("start", None))
        self._begin()

    def step(self) -> None:
        if self.schedule(self.steps) == "save":
            self._dump()
        self.steps += 1
        self._begin()

    def _begin(self) -> None:
        """Makes the folder of a window when that begins to warm up, as torch_npu does."""
        if self.schedule is None or self.schedule.begins(self.steps):
            self.folder = self.npu.begun()

    def stop(self) -> None:
        self.npu.calls.append(("stop", None))
        if self.schedule is None or self.schedule(self.steps) != "none":
            self._dump()

    def _dump(self) -> None:
        self.dumped.append(self.metadata)
        self.metadata = []
        with suppress(Exception):
            self.on_trace_ready(self)


def whole_folder(folder: Path, rank: int = 0) -> None:
    """A capture as a working torch_npu leaves it."""
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (folder / f"profiler_info_{rank}.json").write_text("{}")
    (output / f"ascend_pytorch_profiler_{rank}.db").write_bytes(b"SQLite format 3\0")
    (output / "trace_view.json").write_text("[]")
