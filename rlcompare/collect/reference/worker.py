"""One process of a run: creates the models, runs the training steps, and writes the results."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from rlcompare.capacity import cores
from rlcompare.collect.profiler import StepProfiler, make_profilers
from rlcompare.collect.reference import distributed
from rlcompare.collect.reference.config.load import to_dict
from rlcompare.collect.reference.config.schema import Config
from rlcompare.collect.reference.console import step_line
from rlcompare.collect.reference.distributed import World
from rlcompare.collect.reference.step import Trainer
from rlcompare.collect.run_directory import RunDirectory, software
from rlcompare.collect.verl.asked import commits, versions
from rlcompare.errors import UsageError

_SHORTAGE = re.compile("can't allocate memory|size calculation overflow|size.*too large")


def run_worker(config: Config, overrides: Sequence[str], folder: Path, quiet: bool) -> None:
    """Runs all steps of one process.

    Args:
        overrides: the user's configuration changes, for run.json.
        folder: of the run; the first rank writes it, all ranks write profiles.
        quiet: print no line per step on standard output.
    """
    gc.enable()
    world = distributed.join(device_type(config))
    _be_deterministic(config.data.seed, world)
    _share_cores(config, world)
    profiler = make_profilers(config, folder, world.rank, world.size, world.device.type)
    directory = RunDirectory(folder, _facts(config, overrides, world, profiler)) if world.is_first else None
    _say(profiler.notes, world)
    known = len(profiler.notes)
    status, problem = "incomplete", None
    captures = _captures(profiler)
    try:
        trainer = Trainer(config, world, profiler)
        _train(config, trainer, profiler, directory, world, quiet)
        profiler.close()
        captures = world.gather_lists(_captures(profiler))
        _say(world.gather_lists(profiler.notes[known:]), world)
        status = "complete"
        # Not after a failure: the others may wait in a collective forever, and so would this process.
        distributed.leave(world)
    except Exception as error:
        shortage = _memory_shortage(error)
        status, problem = "failed", f"{type(error).__name__}: {error}"
        if shortage is None:
            raise
        raise UsageError(shortage) from error
    finally:
        if directory is not None:
            # After an error, that error must be the one that the user sees.
            with nullcontext() if status == "complete" else suppress(UsageError):
                directory.end(status, captures or _captures(profiler), problem)


def _memory_shortage(error: Exception) -> str | None:
    """The message for lack of memory; None for other errors."""
    text = re.sub(r"^\[enforce fail[^]]*\] *(err == 0\. *)?", "", str(error))
    # The CPU's allocator has no error type of its own.
    lacking = isinstance(error, (torch.OutOfMemoryError, MemoryError)) or (
        isinstance(error, RuntimeError) and _SHORTAGE.search(text)
    )
    if not lacking:
        return None
    what = text.splitlines()[0] if text else type(error).__name__
    return (
        f"out of memory ({what}); reduce data.train_batch_size, actor_rollout_ref.rollout.n, "
        "data.max_response_length or the micro batch sizes, or use a smaller actor_rollout_ref.model.path"
    )


def _train(
    config: Config, trainer: Trainer, profiler: StepProfiler, directory: RunDirectory | None, world: World, quiet: bool
) -> None:
    for step in range(1, config.trainer.total_training_steps + 1):
        with profiler.step(step):
            metrics = trainer.step(step)
        if directory is not None:
            directory.step(step, metrics, _captures(profiler))
            if not quiet and "console" in config.trainer.logger:
                line = step_line(step, config.trainer.total_training_steps, metrics, _kind(config, profiler, step))
                sys.stdout.write(line + "\n")
                sys.stdout.flush()


def _kind(config: Config, profiler: StepProfiler, step: int) -> str:
    """What a step is for, if speed is not judged by it."""
    return "profiled" if profiler.is_profiled(step) else "warm-up" if step <= config.trainer.warmup_steps else ""


def _say(notes: Sequence[str], world: World) -> None:
    """Prints the profilers' notes, each once."""
    if world.is_first:
        for note in dict.fromkeys(notes):
            sys.stderr.write(f"rlcompare: {note}\n")


def device_type(config: Config) -> str:
    """The device type of the run: the configuration's choice, else the best that this machine has.

    Raises:
        UsageError: the machine does not have the chosen device.
    """
    available = [name for name in ("npu", "cuda") if hasattr(torch, name) and getattr(torch, name).is_available()]
    chosen = config.trainer.device
    if chosen is not None and chosen not in (*available, "cpu"):
        has = ", ".join((*available, "cpu"))
        raise UsageError(f"trainer.device={chosen}: PyTorch does not find it here, only {has}: choose one of these")
    return chosen or (*available, "cpu")[0]


def _be_deterministic(seed: int, world: World) -> None:
    torch.manual_seed(seed)
    if world.device.type == "cpu":
        torch.use_deterministic_algorithms(True)


def _share_cores(config: Config, world: World) -> None:
    """Sets the number of CPU threads, unless $OMP_NUM_THREADS is set: a share of the cores, or one for ``tiny``.

    The operations of ``tiny`` are too small to gain from a second thread. If another process interrupts one thread,
    all of them wait for it, and steps take ten times as long.
    """
    if world.device.type == "cpu" and "OMP_NUM_THREADS" not in os.environ:
        tiny = config.actor_rollout_ref.model.path == "tiny"
        here = min(world.size, config.trainer.n_gpus_per_node)
        torch.set_num_threads(1 if tiny else max(1, cores() // here))


def _captures(profiler: StepProfiler) -> list[dict[str, Any]]:
    return [asdict(capture) for capture in profiler.captures]


def _facts(config: Config, overrides: Sequence[str], world: World, profiler: StepProfiler) -> dict[str, Any]:
    steps = range(1, config.trainer.total_training_steps + 1)
    profiled = [step for step in steps if profiler.is_profiled(step)]
    warmup = [step for step in steps if step <= config.trainer.warmup_steps and step not in profiled]
    return {
        "config": to_dict(config),
        "config_overrides": list(overrides),
        **software(versions(), commits()),
        "seed": config.data.seed,
        "world_size": world.size,
        "device": world.device.type,
        "device_name": _device_name(world),
        "threads": torch.get_num_threads(),
        "steps": {
            "warmup": warmup,
            "plain": [step for step in steps if step not in profiled and step not in warmup],
            "profiled": profiled,
        },
        "captures": [],
    }


def _device_name(world: World) -> str:
    if world.device.type == "cpu":
        return "cpu"
    return str(getattr(torch, world.device.type).get_device_name(world.device))
