"""Records a few decode steps, mini batches or micro batches of a library's own loop, without editing its files.

A probe has a *scope* (each of its calls is one capture), a *tick* (a callable inside the scope whose calls are counted)
and a schedule of the ticks to record. One line in a script attaches it, also before the library is imported:

    from rlcompare import probe
    probe.attach("vllm-decode", skip_first=30, active=3, output="outputs/new")
    probe.attach(scope="engine.core:Engine.generate", tick="engine.core:Engine.decode", active=3, output="outputs/new")

An environment variable does the same, in every process that inherits it, workers included:

    RLCOMPARE_PROBE="vllm-decode skip_first=30 active=3 output=/data/new; update-mini output=/data/new"

Errors in a probe are reported on standard error, and the program continues without it.
"""

from __future__ import annotations

from pathlib import Path

from rlcompare.collect.probe.attaching import attach_request
from rlcompare.collect.probe.presets import PRESETS
from rlcompare.collect.probe.request import request_of
from rlcompare.collect.probe.settings import check

__all__ = ["PRESETS", "attach"]


def attach(preset: str | None = None, *, output: str | Path, **options: object) -> None:
    """Attaches a probe to modules that are already imported, and to those imported later.

    Args:
        preset: one of ``PRESETS``; without it, name ``scope`` (None: the whole process) and ``tick``.
        output: folder for the profiles; it can then be a side of a comparison.
        options: ``skip_first``, ``wait``, ``warmup``, ``active``, ``repeat`` as in torch.profiler.schedule; ``steps``:
            calls of the scope to record, from 1 (the first); ``ranks``: ranks to record (all); ``ticks``: maximum
            number of ticks per call, if known; ``tool``: npu, torch, torch_memory or nsys (npu if there is one, else
            torch), and its settings with verl's names, such as ``level="level1"``.

    Raises:
        UsageError: an option is unknown or wrong, or the schedule never fires within so many ticks.
    """
    request = request_of(preset, {**options, "output": str(Path(output).absolute())})
    check(request)
    attach_request(request)
