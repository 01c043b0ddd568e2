"""Units that an absolute limit may carry: ``"1ms"`` is the same limit for a metric in ms and for one in s."""

from __future__ import annotations

import re

_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
_BYTES = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
_OF_METRICS = {
    "ms": ("ms", 1.0), "s": ("ms", 1e3), "bytes": ("bytes", 1.0), "MiB": ("bytes", 2.0**20), "GiB": ("bytes", 2.0**30),
}  # fmt: skip
"""By the unit of a metric (``model.diff``): the base unit of its kind, and how many base units it is."""

KNOWN = (*_MS, *_BYTES)


def parse(text: str) -> tuple[float, str] | None:
    """Number and unit of ``"1ms"`` or ``"64 MiB"``; None for any other text."""
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d+)?)\s*([A-Za-z]{1,3})\s*", text)
    return (float(match[1]), match[2]) if match and match[2] in KNOWN else None


def kind(unit: str) -> str:
    """The kind of a limit's unit: ``time`` or ``size``."""
    return "time" if unit in _MS else "size"


def fits(unit: str, metric_unit: str) -> bool:
    """Whether a limit in ``unit`` can be applied to a metric in ``metric_unit``. A bare number always can."""
    return not unit or _OF_METRICS.get(metric_unit, ("", 0.0))[0] == ("ms" if unit in _MS else "bytes")


def converted(value: float, unit: str, metric_unit: str) -> float:
    """A limit converted to the unit of the metric. The units must fit."""
    return value * (_MS | _BYTES)[unit] / _OF_METRICS[metric_unit][1] if unit else value
