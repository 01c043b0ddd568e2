"""What a probe has to tell, on standard error: it runs in a program that is not ours."""

from __future__ import annotations

import sys
from contextlib import suppress

from rlcompare.collect.probe.request import Request
from rlcompare.report.text import safe_text

_LONGEST = 2000
_said: set[tuple[str, str]] = set()


def say(request: Request, message: str) -> None:
    """One line."""
    with suppress(Exception):  # standard error may be closed
        line = f"probe {request.probe.name}: {' '.join(message.split())}"
        sys.stderr.write(f"rlcompare: {safe_text(line, _LONGEST)}\n")
        sys.stderr.flush()


def say_once(request: Request, message: str) -> None:
    """One line, the first time."""
    if (request.probe.name, message) not in _said:
        _said.add((request.probe.name, message))
        say(request, message)
