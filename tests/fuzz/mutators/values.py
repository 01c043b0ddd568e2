"""Values that no profiler writes, or only a broken one."""

from __future__ import annotations

from random import Random

HUGE = (2**31, 2**32 - 1, 2**53 + 1, 10**15, 10**18, 2**63 - 1)
SMALL = (0, 1, -1, -1000, -(10**9), -(10**15), -(2**63))

TEXTS = (
    "",
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "\x1b[31mred\x1b]0;title\x07",
    "\u202egnp.exe",
    "a\nb\r\nc\u2028d\u2029",
    "nul\0nul",
    '=cmd|"/c calc"!A1',
    "'; DROP TABLE kernel; --",
    "[bold]x[/bold] {{ 7 * 7 }} {% raw %}",
    "%s%n%d {0} ${HOME} `id`",
    "../../../etc/passwd",
    "\ufeff\u200b\u0000\ufffe",
    "\U0001d574\U0001d593\u0301\U0001f600" * 10,
    "N/A",
    "null",
    "-",
    "\x85\x9b31m",
    "https://user:secret@host/?token=abc",
    ",;\t|\"'",
    "[" * 3000,
    "M" * 1_000_000,
)

NUMBERS_AS_TEXT = (
    "nan", "NaN", "inf", "-inf", "Infinity", "1e308", "1e999999", "-1e999999", "1e-400", "9" * 400, "-" + "9" * 5000,
    "0x10", "1,234.5", "\uff11\uff12\uff13", "--1", "1.2.3", " 5 ", "5\t", "1e5", "+7", "-0",
    "0.1.", "1_000", "∞", "4294967295", "18446744073709551616", "9223372036854775807", "-9223372036854775808", "",
    "N/A", "true", "1695120000000000.123456",
)  # fmt: skip

INVALID_UTF8 = (b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\xf0\x28\x8c\xbc", b"abc\x80")


def integer(random: Random) -> int:
    """An integer that makes no sense as a time, a size or an id."""
    return random.choice((*HUGE, *SMALL, random.randrange(-(2**63), 2**63), random.randrange(10**6)))


def number(random: Random) -> int | float:
    """An integer or a finite float."""
    return random.choice((integer(random), 1e300, -1e300, 5e-324, 1e18 + 0.5, random.uniform(-1e9, 1e9)))


def text(random: Random) -> str:
    """A text that harms a careless reader."""
    return random.choice(TEXTS)
