"""Reads points in time from logs: ISO 8601 with or without a zone, ``date``'s default form, seconds since the epoch.

All are integer nanoseconds since the epoch. A time without a zone is read as UTC, and marked as local.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation

SECOND = 1_000_000_000

_ISO = r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?:\s?(Z|UTC|GMT|[+-]\d\d:?\d\d))?"
_LEADING = re.compile(rf"^[\s\[(]*{_ISO}(?![\d:])")
_ALONE = re.compile(rf"\[?{_ISO}\]?")
_DATE = re.compile(  # Mon Nov 23 03:39:28 UTC 2026
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?\s+(\w{3})\s+(\d\d?)\s+(\d\d):(\d\d):(\d\d)\s+(?:(AM|PM)\s+)?(?:(\w+)\s+)?(\d{4})"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_EPOCH = re.compile(r"\d{9,19}(?:\.\d{1,9})?")
_FIRST, _LAST = 946_684_800, 4_102_444_800  # the years 2000 to 2099
_UTC = ("Z", "UTC", "GMT")
_SCALES = (1, 1_000, 1_000_000, 1_000_000_000)


def at_start(text: str) -> tuple[int, bool] | None:
    """The time at the beginning of a line, and whether its zone is known; None if there is none."""
    match = _LEADING.match(text)
    return _of_iso(match) if match else None


def alone(text: str) -> tuple[int, bool] | None:
    """The time that a text consists of, and whether its zone is known; None if it is something else."""
    text = text.strip()
    if match := _ALONE.fullmatch(text):
        return _of_iso(match)
    if match := _DATE.fullmatch(text):
        return _of_date(match)
    nanoseconds = of_epoch(text) if _EPOCH.fullmatch(text) else None
    return None if nanoseconds is None else (nanoseconds, True)


def of_epoch(given: object) -> int | None:
    """Seconds, milliseconds, microseconds or nanoseconds since the epoch as nanoseconds; None if it is no such number.

    The unit follows from the size: only years from 2000 to 2099 are accepted.
    """
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        number = Decimal(str(given))
    except InvalidOperation:
        return None
    if not number.is_finite():
        return None
    scale = next((scale for scale in _SCALES if _FIRST * scale <= number < _LAST * scale), None)
    return None if scale is None else int(number * (SECOND // scale))


def _of_iso(match: re.Match[str]) -> tuple[int, bool] | None:
    *parts, fraction, zone = match.groups()
    offset = timedelta()
    if zone and zone not in _UTC:
        digits = zone[1:].replace(":", "")
        offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:])) * (-1 if zone[0] == "-" else 1)
    nanoseconds = _nanoseconds([int(part) for part in parts], offset)
    return None if nanoseconds is None else (nanoseconds + int((fraction or "0").ljust(9, "0")), bool(zone))


def _of_date(match: re.Match[str]) -> tuple[int, bool] | None:
    month, day, hour, minute, second, half, zone, year = match.groups()
    if month not in _MONTHS:
        return None
    hours = int(hour) % 12 + 12 * (half == "PM") if half else int(hour)
    parts = [int(year), _MONTHS.index(month) + 1, int(day), hours, int(minute), int(second)]
    nanoseconds = _nanoseconds(parts, timedelta())
    return None if nanoseconds is None else (nanoseconds, zone in _UTC)


def _nanoseconds(parts: list[int], offset: timedelta) -> int | None:
    try:
        moment = datetime(*parts[:6], tzinfo=timezone.utc) - offset  # type: ignore[misc,arg-type]
    except (ValueError, OverflowError):
        return None
    since = moment - datetime(1970, 1, 1, tzinfo=timezone.utc)
    seconds = since.days * 86_400 + since.seconds
    return seconds * SECOND if 0 <= seconds < _LAST else None
