"""Profiles training steps with the tool that the machine has, as verl's configuration says.

profiler = make_profilers(config, out, rank, world_size, device)
with profiler.step(3):
    with profiler.phase("rollout", "generate_sequences"):
        ...
        profiler.tick("decode_step")  # after each
"""

from __future__ import annotations

from rlcompare.collect.profiler.record import CaptureRecord
from rlcompare.collect.profiler.step_profiler import StepProfiler, make_profilers

__all__ = ["CaptureRecord", "StepProfiler", "make_profilers"]
