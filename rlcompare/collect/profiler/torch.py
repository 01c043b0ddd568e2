"""``torch.profiler``: Chrome traces (``.json.gz``) of host operators, and of the GPU's kernels if there is a GPU."""

from __future__ import annotations

import gzip
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from rlcompare.collect.profiler.plan import Options
from rlcompare.collect.profiler.record import Target, Written
from rlcompare.collect.profiler.schedule import Sampler, Schedule
from rlcompare.errors import OutputError

_COMPRESSION = 6
"""gzip's own default 9 takes three times as long for 3 % less."""
_METADATA = "rlcompare"


class TorchCapture:
    """A running ``torch.profiler.profile``."""

    def __init__(self, target: Target, options: Options) -> None:
        """Starts it."""
        self._target = target
        self._written: list[Written] = []
        self._sampler = Sampler(target.schedule) if target.schedule else None
        self._aborted = False
        activities = {ProfilerActivity.CPU: options.cpu, ProfilerActivity.CUDA: options.device}
        self._profile: Any = profile(
            activities=[activity for activity, wanted in activities.items() if wanted],
            schedule=torch_schedule(target.schedule) if target.schedule else None,
            on_trace_ready=self._export,
            record_shapes=options.shapes,
            profile_memory=options.memory,
            with_stack=options.stack,
            with_modules=options.modules,
        )
        synchronize()
        with _expected_warnings():  # torch 2.11 also warns at the first start
            self._profile.start()
        if self._sampler is None:
            self._profile.add_metadata_json(_METADATA, target.description(None))

    def tick(self) -> None:
        assert self._sampler is not None and self._target.schedule is not None
        if recorded := self._sampler.advance():
            self._profile.add_metadata_json(_METADATA, self._target.description(recorded))
        # Only if torch may warn: changing the filters makes Python repeat all warnings of a program.
        with _expected_warnings() if self._target.schedule.works(self._sampler.ticks) else nullcontext():
            self._profile.step()

    def stop(self) -> list[Written]:
        synchronize()
        self._profile.stop()
        return self._written

    def abort(self) -> None:
        self._aborted = True
        with suppress(Exception):
            self._profile.stop()

    def _export(self, ready: profile) -> None:
        sampled = self._sampler.take() if self._sampler else None
        if self._aborted or sampled == ():
            return
        self._written.append(Written(self._save(ready, sampled), sampled))

    def _save(self, ready: profile, sampled: tuple[int, ...] | None) -> Path:
        """Writes the recorded events; ``sampled`` are the numbers of its ticks."""
        return export(ready, self._target.file("prof", ".json.gz"))


def torch_schedule(chosen: Schedule) -> Any:
    """The schedule in torch's form."""
    with _expected_warnings():
        return schedule(
            skip_first=chosen.skip_first,
            wait=chosen.wait,
            warmup=chosen.warmup,
            active=chosen.active,
            repeat=chosen.repeat,
        )


def export(ready: profile, path: Path) -> Path:
    """Writes the trace to a temporary file, compressed, and renames it.

    Raises:
        OutputError: it could not be written, or is incomplete.
    """
    packed = path.with_name(f".{path.name}.part")
    try:
        with whole_trace(ready, path) as raw:
            with raw.open("rb") as source, gzip.open(packed, "wb", compresslevel=_COMPRESSION) as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
            packed.replace(path)
    finally:
        packed.unlink(missing_ok=True)
    return path


@contextmanager
def whole_trace(ready: profile, path: Path) -> Iterator[Path]:
    """The trace as a temporary file, beside the ``path`` that is made from it.

    Raises:
        OutputError: torch could not write it (torch itself does not report this), or ``path`` cannot be written.
    """
    raw = path.with_name(f".{path.name}.json")
    try:
        ready.export_chrome_trace(str(raw))
        if not _is_whole(raw):
            raise OutputError(path, "torch.profiler wrote no complete trace", "free some disk space or record less")
        yield raw
    except (OSError, RuntimeError) as error:
        raise OutputError(path, str(error), "free some disk space or choose another save_path") from error
    finally:
        for unfinished in (raw, raw.with_name(f"{raw.name}.tmp")):  # torch writes into the second and renames it
            unfinished.unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    """Whether a file ends like a JSON object."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 64))
        return file.read().rstrip().endswith(b"}")


@contextmanager
def mark(name: str) -> Iterator[None]:
    """A range of this name in the trace, and in NVTX if there is a GPU."""
    nvtx: Any = torch.cuda.nvtx if torch.cuda.is_available() else None
    if nvtx is not None:
        nvtx.range_push(name)
    try:
        with record_function(name):
            yield
    finally:
        if nvtx is not None:
            nvtx.range_pop()


def synchronize() -> None:
    """Waits for the GPU, so that a capture contains exactly the kernels launched in it."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


@contextmanager
def _expected_warnings() -> Iterator[None]:
    """Suppresses torch's warnings about the user's choices: no warm-up, and events cleared between windows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(won't be using warmup|clears events).*")
        yield
