"""The blocks of code in documents, and the commands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from .places import DOCUMENTS

_FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
PROGRAMS = (
    "cp",
    "curl",
    "duckdb",
    "echo",
    "export",
    "for",
    "git",
    "make",
    "man",
    "pip",
    "python",
    "python3",
    "rlcompare",
)
"""A block without a language that begins with one of these is a block of commands."""
PROMPT = "$ "
RUN = ("bash", "console", "python")


@dataclass(frozen=True)
class Block:
    """A block of code: ``bash`` (commands), ``console`` (commands behind ``$``, and what they print), or another."""

    language: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command of a document, and the lines that the document shows below it; None if it shows none."""

    line: str
    shown: tuple[str, ...] | None = None


def blocks_of(document: Path) -> list[Block]:
    """The fenced blocks of a document, each with its language; where it names none, what the text looks like."""
    found = _FENCED.findall(document.read_text("utf-8"))
    return [Block(name or _language(dedent(text)), dedent(text)) for _, name, text in found]


def _language(text: str) -> str:
    if text.startswith(PROMPT):
        return "console"
    return "bash" if text.partition(" ")[0] in PROGRAMS else "text"


def commands_of(block: Block) -> list[Command]:
    """The commands of a block, without comments; a line with an open quote or a backslash at its end goes on."""
    if block.language == "bash":
        return [Command(line) for line in _joined(block.text.splitlines()) if line]
    if block.language != "console":
        return []
    found = []
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        command = next(_joined(lines))
        found.append(Command(command, tuple(lines[command.count("\n") + 1 :]) or None))
    return found


def _joined(lines: list[str]) -> Iterator[str]:
    """Logical lines."""
    open_line = ""
    for line in lines:
        open_line += line
        try:
            whole = not line.endswith("\\") and shlex.split(open_line, comments=True) is not None
        except ValueError:  # an open quote
            whole = False
        if whole:
            yield _without_comment(open_line)
        open_line = "" if whole else f"{open_line}\n"
    assert not open_line, f"this command has no end: {open_line}"


def _without_comment(line: str) -> str:
    """A command without the comment at its end; a ``#`` inside quotes is none."""
    for match in re.finditer(r"(?:^| +)#", line):
        before = line[: match.start()]
        if before.count("'") % 2 == 0 and before.count('"') % 2 == 0:
            return before
    return line.rstrip()


def documents() -> dict[Path, list[Block]]:
    """The blocks of each document that has commands or Python."""
    found = {path: blocks_of(path) for path in DOCUMENTS}
    return {path: blocks for path, blocks in found.items() if any(block.language in RUN for block in blocks)}
