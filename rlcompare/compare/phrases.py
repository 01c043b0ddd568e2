"""Times, numbers and names in the words of a sentence."""

from __future__ import annotations

from rlcompare.compare.short_names import shortened
from rlcompare.model.diff import Value
from rlcompare.model.digits import grouped

NAME_LENGTH = 80
"""Characters of a name in a sentence."""


def ms(value: float) -> str:
    """A time in ms for a sentence, without its sign; in seconds if it is long."""
    size = abs(value)
    if size >= 1e3:
        return f"{grouped(size / 1e3, 2)} s"
    return f"{size:,.1f} ms" if size >= 100 else f"{size:.2f} ms" if size >= 1 else f"{size:.3f} ms"


def seconds(value: float) -> str:
    """A time of a log in three digits, in s."""
    return f"{grouped(value, 1)} s" if abs(value) >= 100 else f"{value:.2f} s" if abs(value) >= 1 else f"{value:.3f} s"


def signed(delta: float) -> str:
    """``+1.20 ms`` or ``-1.20 ms``."""
    return f"{'+' if delta > 0 else '-'}{ms(delta)}"


def moved(delta: float) -> str:
    """``grew by 1.20 ms`` or ``shrank by 1.20 ms``."""
    return f"{'grew' if delta > 0 else 'shrank'} by {ms(delta)}"


def percent(ratio: float) -> str:
    """A ratio as a change without its sign: ``18 %``."""
    change = abs(ratio - 1) * 100
    return f"{grouped(change)} %" if change >= 10 else f"{change:.1f} %"


def times(ratio: float) -> str:
    """How a time per call changed: ``2.2 times as long``, ``18 % longer``, ``9.0 % less long``."""
    if ratio >= 2:
        return f"{grouped(ratio, 1)} times as long"
    return f"{percent(ratio)} longer" if ratio >= 1 else f"{percent(ratio)} less time"


def count(value: float) -> str:
    """A number of calls for a sentence."""
    return grouped(value, 0 if value >= 100 or float(value).is_integer() else 1)


def short(name: Value, length: int = NAME_LENGTH) -> str:
    """A name from a profile, shortened for use in a sentence."""
    return shortened(str(name) or "(no name)", length)
