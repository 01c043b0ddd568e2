"""The profiling tools by name. A tool is imported only when used, so that none needs another's packages."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager

from rlcompare.collect.profiler.plan import Options
from rlcompare.collect.profiler.tool import Tool
from rlcompare.collect.reference.config.schema import Config

_SILENT = "6"
"""Up to level 5, torch writes two lines to standard error per capture. Failures are detected from the files."""


def find_tool(name: str, device: str, config: Config | None, captured: Iterable[Options]) -> Tool:
    """The tool of this name.

    Args:
        device: ``cpu``, ``cuda`` or ``npu``.
        config: of the run, for tools that store it in the profile.
        captured: options with which its captures will be started.

    Raises:
        UsageError: this machine does not have the tool, or the tool does not support the request.
    """
    if name == "npu":
        from rlcompare.collect.profiler.npu import npu_tool

        return npu_tool(config, captured)
    if name == "nsys":
        from rlcompare.collect.profiler.nsys import nsys_tool

        return nsys_tool(device)
    os.environ.setdefault("KINETO_LOG_LEVEL", _SILENT)
    from rlcompare.collect.profiler.torch import TorchCapture, mark

    def mark_step(step: int) -> AbstractContextManager[None]:
        return mark(f"ProfilerStep#{step}")

    if name == "torch_memory":
        from rlcompare.collect.profiler.torch_memory import opener

        return Tool(opener(device), mark, mark_step)
    return Tool(TorchCapture, mark, mark_step)
