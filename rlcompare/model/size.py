"""Human-readable sizes of memory, for verdicts and reports alike."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def in_binary_unit(size: float) -> tuple[float, str]:
    """A number of bytes in the largest unit (a power of 1024) in which it is at least 1."""
    power = 0
    while abs(size) >= 1024 and power < len(_UNITS) - 1:
        size, power = size / 1024, power + 1
    return size, _UNITS[power]
