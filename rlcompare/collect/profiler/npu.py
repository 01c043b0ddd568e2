"""``torch_npu.profiler``: an ``*_ascend_pt`` folder per capture, parsed into databases if ``analysis`` is on.

torch_npu catches the errors of its own profiler, at best logs them, and continues: a capture may leave an empty folder,
or none. So this module checks the files after each capture, and reports what is missing.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from rlcompare.collect.profiler.ascend_pt import is_any_filled, missing
from rlcompare.collect.profiler.npu_settings import check_settings, experimental_config
from rlcompare.collect.profiler.plan import Options
from rlcompare.collect.profiler.record import Target, Written
from rlcompare.collect.profiler.schedule import Sampler
from rlcompare.collect.profiler.tool import Tool
from rlcompare.collect.reference.config.load import to_dict
from rlcompare.collect.reference.config.schema import Config, NPUToolConfig
from rlcompare.errors import InputError, UsageError

_SILENCERS = ("PROFILING_MODE", "PROFILER_SAMPLECONFIG")
"""If one of these is set, torch_npu's profiler silently does nothing (2.13 and later)."""
_LONGEST_VALUE = 4096
"""torch_npu skips longer metadata."""
_METADATA = "rlcompare"
STACKS = "stacks.log"
"""Output of ``export_stacks`` for flame graphs: per operator a line with its frames (outermost first) and its time."""
MEMORY_TIMELINE = "memory_timeline.json"
"""Output of ``export_memory_timeline``: times, and for each time the bytes by category of tensor."""


def npu_tool(config: Config | None, chosen: Iterable[Options]) -> Tool:
    """The tool, if it works on this machine.

    Args:
        config: of the run; it is stored in the profile.
        chosen: options with which captures will be started.

    Raises:
        UsageError: torch_npu is not installed, sees no NPU, would silently do nothing, or does not support a setting;
            or settings contradict each other.
    """
    chosen = list(chosen)
    for options in chosen:
        check_settings(options)
    module = _torch_npu()
    for name in _SILENCERS:
        if os.environ.get(name):
            raise UsageError(f"{name} is set, which disables torch_npu's profiler: unset it")
    for options in chosen:
        experimental_config(module, options.npu)
    metadata = dict(metadata_pieces("rlcompare.config", to_dict(config))) if config else {}

    def start(target: Target, options: Options) -> NPUCapture:
        return NPUCapture(module, target, options, metadata)

    def mark(name: str) -> AbstractContextManager[None]:
        return _mstx_range(module, name)

    return Tool(start, mark, _step_range)


def _torch_npu() -> Any:
    try:
        module = importlib.import_module("torch_npu")
        importlib.import_module("torch_npu.profiler")
    except Exception as error:  # without CANN, its libraries fail in many ways
        raise UsageError(
            f"tool npu: torch_npu cannot be imported ({error}); install it with CANN, or set global_profiler.tool=torch"
        ) from error
    if not module.npu.is_available():
        raise UsageError("tool npu: torch_npu sees no NPU here; set global_profiler.tool=torch")
    return module


class NPUCapture:
    """A running ``torch_npu.profiler.profile``."""

    def __init__(self, module: Any, target: Target, options: Options, metadata: Mapping[str, str]) -> None:
        """Starts it."""
        self._module, self._target, self._options, self._metadata = module, target, options, metadata
        self._sampler = Sampler(target.schedule) if target.schedule else None
        self._written: list[Written] = []
        self._recorded: tuple[int, ...] = ()
        self._was_called = False
        self._aborted = self._has_failed = False
        target.folder.mkdir(parents=True, exist_ok=True)
        self._known = set(_folders(target.folder))
        module.npu.synchronize()
        # Built right before its start: torch_npu stops a profiler that is deleted even if it was never started.
        self._profile = self._built(experimental_config(module, options.npu))
        self._profile.start()
        if self._sampler is None:
            self._describe(None)

    def _built(self, experimental: Any) -> Any:
        npu, target, options = self._module.profiler, self._target, self._options
        named = {} if options.npu.worker_name is None else {"worker_name": options.npu.worker_name}
        self._handler = npu.tensorboard_trace_handler(
            dir_name=str(target.folder), analyse_flag=options.npu.analysis, **named
        )
        chosen = target.schedule
        activities = {"CPU": options.cpu, "NPU": options.device}
        return npu.profile(
            activities=[getattr(npu.ProfilerActivity, name) for name, wanted in activities.items() if wanted],
            # Keywords, because its second parameter is active, while torch has warmup there.
            schedule=npu.schedule(
                wait=chosen.wait,
                warmup=chosen.warmup,
                active=chosen.active,
                repeat=chosen.repeat,
                skip_first=chosen.skip_first,
            )
            if chosen
            else None,
            on_trace_ready=self._dump,
            record_shapes=options.shapes,
            profile_memory=options.memory,
            with_stack=options.stack,
            with_modules=options.modules,
            with_flops=options.npu.with_flops,
            experimental_config=experimental,
        )

    def tick(self) -> None:
        assert self._sampler is not None and self._target.schedule is not None
        is_last = self._target.schedule.closes(self._sampler.ticks)
        self._recorded = self._sampler.advance()
        if is_last:
            self._describe(self._recorded)
        self._profile.step()
        if is_last:
            self._collect()

    def stop(self) -> list[Written]:
        self._module.npu.synchronize()
        if self._recorded:
            self._describe(self._recorded)
        self._profile.stop()
        if self._sampler is None or self._recorded:
            self._collect()
        self._remove_rest()
        return self._written

    def abort(self) -> None:
        self._aborted = True
        with suppress(Exception):
            self._profile.stop()
            self._remove_rest()

    def _describe(self, sampled: tuple[int, ...] | None) -> None:
        """Adds the run's configuration to the capture. Needed for each dump, since a dump clears it."""
        self._profile.add_metadata_json(_METADATA, self._target.description(sampled))
        for key, value in self._metadata.items():
            self._profile.add_metadata_json(key, value)

    def _dump(self, ready: Any) -> None:
        """Callback of torch_npu, which would swallow any exception."""
        if not self._aborted:
            self._was_called = True
            self._handler(ready)
            self._export(ready)

    def _export(self, ready: Any) -> None:
        """Writes torch_npu's additional exports into the capture's folder, where a later analysis keeps them."""
        new = self._new_folders()
        if not new:
            return
        chosen = self._options.npu
        if chosen.export_stacks is not None:
            ready.export_stacks(str(new[0] / STACKS), metric=chosen.export_stacks)
        if chosen.export_memory_timeline:
            device = f"npu:{self._module.npu.current_device()}"
            ready.export_memory_timeline(str(new[0] / MEMORY_TIMELINE), device=device)

    def _collect(self) -> None:
        """Finds and checks the files of a window after its dump."""
        sampled = self._sampler.take() if self._sampler else None
        self._recorded = ()
        new = self._new_folders()
        if not self._was_called or not new:
            raise self._failure("torch_npu left no *_ascend_pt folder of this process")
        # Later folders may belong to the next window: torch_npu creates its folder when it starts to warm up.
        folder = new[0]
        chosen = self._options.npu
        if problem := missing(folder, chosen.analysis, chosen.export_type) or _lost_export(folder, chosen):
            raise self._failure(f"{folder.name}: {problem}")
        self._was_called = False
        self._known.add(folder)
        self._written.append(Written(folder, sampled))

    def _new_folders(self) -> list[Path]:
        return [folder for folder in _folders(self._target.folder) if folder not in self._known]

    def _remove_rest(self) -> None:
        """Removes torch_npu's files of a window that was not reached, or was interrupted.

        After a failure they are kept, because their logs say why.
        """
        for folder in () if self._has_failed else self._new_folders():
            shutil.rmtree(folder, ignore_errors=True)

    def _failure(self, problem: str) -> InputError:
        self._has_failed = True
        return InputError(
            self._target.folder,
            problem,
            "Check torch_npu's messages above and the plog of CANN: its profiler raises no errors",
        )


def metadata_pieces(key: str, tree: object) -> Iterator[tuple[str, str]]:
    """A tree of settings as (dotted key, JSON), in pieces that are short enough for torch_npu."""
    text = json.dumps(tree)
    if len(text) <= _LONGEST_VALUE:
        yield key, text
    elif isinstance(tree, dict):
        for name, value in tree.items():
            yield from metadata_pieces(f"{key}.{name}", value)
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from metadata_pieces(f"{key}.{index}", value)
    else:
        # This is short enough even if every character has to be escaped.
        yield key, json.dumps(str(tree)[: _LONGEST_VALUE // 8] + " …")


def _folders(parent: Path) -> Iterator[Path]:
    """The capture folders of this process, in the order of time."""
    own = re.compile(rf".*_{os.getpid()}_\d+_ascend_pt")
    if parent.is_dir():
        yield from sorted(path for path in parent.iterdir() if path.is_dir() and own.fullmatch(path.name))


def _lost_export(folder: Path, chosen: NPUToolConfig) -> str:
    """The requested exports that are missing; empty if none is."""
    if not chosen.analysis:
        return ""
    exports = {STACKS: chosen.export_stacks is not None, MEMORY_TIMELINE: chosen.export_memory_timeline}
    lost = [name for name, is_asked in exports.items() if is_asked and not is_any_filled(folder, name)]
    return f"{lost[0]} is missing or empty, so torch_npu could not export it" if lost else ""


@contextmanager
def _mstx_range(module: Any, name: str) -> Iterator[None]:
    """An mstx range of this name. mstx returns None instead of a range id if it is off."""
    number = module.npu.mstx.range_start(name)
    try:
        yield
    finally:
        if number is not None:
            module.npu.mstx.range_end(number)


def _step_range(step: int) -> AbstractContextManager[None]:
    """A step mark for torch_npu's parser, which recognizes steps by the names of operators."""
    import torch

    return torch.profiler.record_function(f"ProfilerStep#{step}")
