#!/usr/bin/env python3
"""compute_rollout_is against verl 0.6.0's own function, on the same tensors in the same process.

    pip download verl==0.6.0 --no-deps -d FOLDER
    python benchmarks/rollout_is_speed.py --verl FOLDER/verl-0.6.0-py3-none-any.whl

Prints medians of alternating runs, and the memory that a call needs in addition to its inputs, for each level. Ends
with 1 if verl is faster or needs less. Takes about two minutes on two cores, most of them verl's.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from compare_speed import Checks

from rlcompare.rollout_is import LEVELS, compute_rollout_is

LIMIT_RATIO = 1.0
THRESHOLD = 2.0
NOISE = 0.05

Inputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
Call = Callable[[], tuple[torch.Tensor, dict[str, float]]]


def verl_function(wheel: Path) -> Callable[..., Any]:
    """verl's compute_rollout_importance_weights from its wheel, without the other imports of its packages."""

    def package(name: str, **names: Any) -> None:
        module = ModuleType(name)
        module.__path__ = [str(wheel.joinpath(*name.split(".")))]
        module.__dict__.update(names)
        sys.modules[name] = module

    class DataProto:
        @staticmethod
        def from_dict(tensors: dict[str, torch.Tensor]) -> torch.Tensor:
            return tensors["rollout_is_weights"]

    for name in ("verl", "verl.utils", "verl.trainer", "verl.trainer.ppo"):
        package(name)
    package("verl.protocol", DataProto=DataProto)
    package("verl.utils.device", get_device_name=None, get_torch_device=None)
    package("tensordict", TensorDict=None)
    package("transformers", PreTrainedTokenizer=None)
    from verl.trainer.ppo.mismatch_helper import compute_rollout_importance_weights  # type: ignore[import-not-found]

    function: Callable[..., Any] = compute_rollout_importance_weights
    return function


def batch(rows: int, length: int) -> Inputs:
    """Two similar policies, and responses of any length."""
    generator = torch.Generator().manual_seed(0)
    rollout = -torch.rand(rows, length, generator=generator)
    old = rollout + NOISE * torch.randn(rows, length, generator=generator)
    lengths = torch.randint(length // 4, length + 1, (rows, 1), generator=generator)
    return old, rollout, (torch.arange(length) < lengths).long()


def agree(ours: Call, theirs: Call) -> None:
    """Ends with a message if the two results differ."""
    (weights, metrics), (their_weights, their_metrics) = ours(), theirs()
    torch.testing.assert_close(weights, their_weights, rtol=1e-4, atol=1e-5)
    for name, value in their_metrics.items():
        if abs(metrics[name] - value) > 2e-3 * abs(value) + 1e-3:  # verl's float32 sums of 8 million terms
            sys.exit(f"{name} is {metrics[name]} here and {value} in verl")


def seconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def extra_megabytes(call: Call) -> float:
    """Peak resident memory during a call, including its results, minus that before it (Linux with glibc)."""
    ctypes.CDLL(None).malloc_trim(0)  # else memory that was freed but kept is reused and seems to cost nothing
    Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark to the current resident size
    before = _status("VmHWM")
    call()
    return (_status("VmHWM") - before) / 1024


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verl", type=Path, required=True, help="the wheel of verl 0.6.0, or its unpacked folder")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    theirs_function = verl_function(options.verl)
    inputs = batch(options.rows, options.length)
    print(f"{options.rows} x {options.length} tokens, {torch.get_num_threads()} threads, medians of {options.repeat}")
    checks = Checks()
    for level in LEVELS:

        def ours(level: str = level) -> tuple[torch.Tensor, dict[str, float]]:
            return compute_rollout_is(*inputs, level=level, mode="truncate", threshold=THRESHOLD)  # type: ignore[return-value]

        def theirs(level: str = level) -> tuple[torch.Tensor, dict[str, float]]:
            weights, metrics = theirs_function(*inputs, rollout_is_level=level, rollout_is_threshold=THRESHOLD)
            return weights, metrics

        agree(ours, theirs)
        pairs = [(seconds(ours), seconds(theirs)) for _ in range(options.repeat)]
        mine, other = (statistics.median(times) for times in zip(*pairs, strict=True))
        memory, their_memory = extra_megabytes(ours), extra_megabytes(theirs)
        print(f"{level}: {mine:.2f} s and {memory:.0f} MB, verl {other:.2f} s and {their_memory:.0f} MB", flush=True)
        checks.at_least(f"{level}: times as fast as verl", other / mine, LIMIT_RATIO, "x")
        checks.at_most(f"{level}: memory, of verl's", memory / their_memory, LIMIT_RATIO, "x")
    return 1 if checks.missed else 0


if __name__ == "__main__":
    sys.exit(main())
