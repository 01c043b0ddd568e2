"""Writes one file atomically, or to standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from rlcompare import temporary
from rlcompare.errors import UsageError

STDOUT = Path("-")

REPLACED = (".html", ".htm", ".md", ".xlsx")
"""Endings of files that are replaced: those of pages and their like, which can be made again."""

_NAMED = ", ".join(f"*{ending}" for ending in REPLACED)


def check_page(page: Path | None, inputs: Sequence[Path], *, as_json: bool) -> None:
    """Refuses a page (``--html``) beside ``--json``, or where it must not be written.

    Raises:
        UsageError: leave out an option, or choose another name.
    """
    if page is not None and as_json:
        raise UsageError("use either --json or --html, not both")
    if page is not None:
        check_output(page, inputs, "--html")


def check_output(output: Path, inputs: Sequence[Path], option: str) -> None:
    """Refuses to write into an input, or over a file that is no page.

    Args:
        option: the option that named the output.

    Raises:
        UsageError: choose another name.
    """
    from rlcompare.app.stores import refuse_within

    if output == STDOUT:
        return
    if output.is_dir():
        raise UsageError(f"{output} is a folder: name a file with {option}, such as {output / 'report.html'}")
    if os.path.lexists(output) and (not output.is_file() or output.suffix.lower() not in REPLACED):
        raise UsageError(
            f"{output} exists, and only files named {_NAMED} are replaced: choose another name with {option}"
        )
    refuse_within(output, inputs, "the page", option)


def into_file(output: Path, write: Callable[[BinaryIO], object]) -> None:
    """Writes a file beside the target, and renames it when it is complete.

    Raises:
        UsageError: the file cannot be written.
    """
    temporary.sweep(output.parent)
    try:
        with temporary.replacing(output) as partial, partial.open("xb") as stream:
            write(stream)
    except OSError as error:
        raise UsageError(f"{output} cannot be written ({error.strerror})") from error


def write_text(text: str, output: Path) -> None:
    """Writes a text as UTF-8 to a file, or to standard output if that is ``-``.

    Raises:
        UsageError: the file cannot be written.
    """
    # A lone surrogate cannot be written as UTF-8. Views replace surrogates; this handles any that remain.
    encoded = text.encode("utf-8", "replace")
    if output == STDOUT:
        sys.stdout.buffer.write(encoded)
        sys.stdout.buffer.flush()
    else:
        into_file(output, lambda stream: stream.write(encoded))
