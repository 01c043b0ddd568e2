"""The profiling tools by name. A tool is imported where it is used, so that none needs another's packages."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from rlcompare.collect.config.schema import Config
from rlcompare.collect.profiler.plan import Plan
from rlcompare.collect.profiler.tool import Tool

_SILENT = "6"
"""Up to 5, torch writes two lines to standard error for each capture. Failures are told by the files."""


def find_tool(name: str, plan: Plan, config: Config) -> Tool:
    """The tool of this name.

    Args:
        plan: what it is to capture on this rank.
        config: of the run, for tools that put it into the profile.

    Raises:
        UsageError: this machine does not have it, or it cannot do what the plan asks of it.
    """
    if name == "npu":
        from rlcompare.collect.profiler.npu import npu_tool

        shared = plan.end_to_end
        captured = [shared] if shared is not None else plan.roles.values()
        return npu_tool(config, {role.options: None for role in captured if role.tool == name})
    if name == "nsys":
        from rlcompare.collect.profiler.nsys import nsys_tool

        return nsys_tool(plan.device)
    os.environ.setdefault("KINETO_LOG_LEVEL", _SILENT)
    from rlcompare.collect.profiler.torch import TorchCapture, mark

    def mark_step(step: int) -> AbstractContextManager[None]:
        return mark(f"ProfilerStep#{step}")

    if name == "torch_memory":
        from rlcompare.collect.profiler.torch_memory import opener

        return Tool(opener(plan.device), mark, mark_step)
    return Tool(TorchCapture, mark, mark_step)
