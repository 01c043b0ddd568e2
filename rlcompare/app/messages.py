"""Lines on standard error, which may quote paths, names and logs of others: without control characters and secrets."""

from __future__ import annotations

import click

from rlcompare.secret import redacted
from rlcompare.text import safe_text

_LIMIT = 4000


def say(text: str, limit: int = _LIMIT) -> None:
    """Prints one line, of at most ``limit`` characters, about what the command does or found."""
    click.echo(f"rlcompare: {safe_text(redacted(text), limit)}", err=True)


def note(text: str) -> None:
    """Prints a line that only explains."""
    say(f"note: {text}")


def warn(text: str) -> None:
    """Prints a line about what may make the result wrong."""
    say(f"warning: {text}")
