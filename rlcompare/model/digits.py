"""Numbers in digits, for sentences and tables alike."""

from __future__ import annotations

LARGE = 1e15
"""A double holds whole numbers exactly up to about this size, so more digits would be noise."""


def grouped(value: float, decimals: int = 0, sign: str = "") -> str:
    """A number with its thousands grouped: ``1,234.5``; of 16 digits or more, in powers of ten: ``1e+100``.

    ``sign`` is ``+`` where positive numbers have theirs.
    """
    return f"{value:{sign},.{decimals}f}" if abs(value) < LARGE else f"{value:{sign}.4g}"
