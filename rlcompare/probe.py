"""Records a few decode steps, mini batches or micro batches of a library's own loop, without editing its files.

A probe has a *scope*, the callable that a capture is of, a *tick*, the callable inside it that counts, and a schedule
that says which ticks are recorded. One line in a script attaches it, also before the library is imported:

    from rlcompare import probe
    probe.attach("vllm-decode", skip_first=30, active=3, output="outputs/new")
    probe.attach(scope="engine.core:Engine.generate", tick="engine.core:Engine.decode", active=3, output="outputs/new")

and so does an environment variable, in every process that starts with it, workers included:

    RLCOMPARE_PROBE="vllm-decode skip_first=30 active=3 output=/data/new; update-mini output=/data/new"

Whatever goes wrong in a probe is said on standard error, and the program goes on as if there were none.
"""

from __future__ import annotations

from pathlib import Path

from rlcompare.collect.probe.attaching import attach_request
from rlcompare.collect.probe.presets import PRESETS
from rlcompare.collect.probe.request import request_of
from rlcompare.collect.probe.settings import check

__all__ = ["PRESETS", "attach"]


def attach(preset: str | None = None, *, output: str | Path, **options: object) -> None:
    """Attaches a probe to what is imported already, and to what is imported later.

    Args:
        preset: one of ``PRESETS``; else ``scope`` (None: the whole process) and ``tick`` are named.
        output: where profiles go, which is then a side of a comparison.
        options: ``skip_first``, ``wait``, ``warmup``, ``active``, ``repeat`` as in torch.profiler.schedule; ``steps``:
            which calls of the scope are recorded, from 1 (the first); ``ranks``: on which ranks (all); ``ticks``: how
            many there are at most in a call, where that is known; ``tool``: npu, torch, torch_memory or nsys (npu where
            there is one, else torch), and its settings in verl's words, such as ``level="level1"``.

    Raises:
        UsageError: an option is unknown or wrong, or the schedule cannot fire in so many ticks.
    """
    request = request_of(preset, {**options, "output": str(Path(output).absolute())})
    check(request)
    attach_request(request)
