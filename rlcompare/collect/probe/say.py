"""Messages of a probe, on standard error: it runs in another program."""

from __future__ import annotations

import re
import sys
from contextlib import suppress

from rlcompare.collect.probe.request import Request
from rlcompare.text import safe_text

_LONGEST = 2000
_WORDS = (
    (re.compile(r"(?:\w+\.)*tool_config\.\w+\."), ""),
    (re.compile(r"\bglobal_profiler\.tool="), "tool="),
    (re.compile(r"\bsave_path\b"), "output"),
)
"""Names that differ between verl's configuration and a probe."""
_said: set[tuple[str, str]] = set()


def in_own_words(message: str) -> str:
    """Translates a profiler's message about verl's keys to a probe's options."""
    for pattern, word in _WORDS:
        message = pattern.sub(word, message)
    return message


def say(request: Request, message: str) -> None:
    """Writes one line."""
    with suppress(Exception):  # standard error may be closed
        line = f"probe {request.probe.name}: {' '.join(in_own_words(message).split())}"
        sys.stderr.write(f"rlcompare: {safe_text(line, _LONGEST)}\n")
        sys.stderr.flush()


def say_once(request: Request, message: str) -> None:
    """Writes one line, unless it was written before."""
    if (request.probe.name, message) not in _said:
        _said.add((request.probe.name, message))
        say(request, message)
