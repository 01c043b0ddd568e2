"""Writes docs/cli.md, the reference of the command line, from the commands themselves.

    python tools/cli_reference.py            writes docs/cli.md
    python tools/cli_reference.py --check    ends with 1 if docs/cli.md is not current

The text is that of ``--help``, as Markdown: a subclass of click's formatter receives the same calls and writes tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from rlcompare.cli.main import COMMANDS
from tools.help_pages import HelpPage, contexts

TARGET = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
REGENERATE = "python tools/cli_reference.py"

_HEAD = f"""\
# Command line

<!-- Made by `{REGENERATE}`. Do not edit. -->

Exit codes are in [gate.md](gate.md#exit-codes). Every command takes `-h` and `--help`.
"""


class _Markdown(HelpPage):
    """Writes Markdown."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self.write(f"```text\n{prog} {args}\n```\n\n")

    def write_heading(self, heading: str) -> None:
        self.write(f"**{heading}**\n\n")

    def write_prose(self, text: str) -> None:
        self.write(f"{_escaped(text)}\n\n")

    def write_verbatim(self, lines: list[str]) -> None:
        if all(line.startswith("rlcompare") for line in lines):
            self.write("\n".join(["```", *lines, "```"]) + "\n\n")
        else:
            self.write("  \n".join(map(_escaped, lines)) + "\n\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        self.write("| | |\n|---|---|\n")
        for term, text in rows:
            self.write(f"| `{_cell(term)}` | {_escaped(_cell(text))} |\n")
        self.write("\n")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _escaped(text: str) -> str:
    """A text with Markdown's special characters escaped."""
    return text.replace("*", "\\*").replace("<", "&lt;")


def reference() -> str:
    """The text of docs/cli.md."""
    rows = "\n".join(f"| [`{name}`](#rlcompare-{name}) | {_cell(text)} |" for name, text in COMMANDS.items())
    return "\n".join([_HEAD, f"| command | |\n|---|---|\n{rows}\n", *map(_page, contexts())])


def _page(context: click.Context) -> str:
    formatter = _Markdown()
    context.command.format_help(context, formatter)
    return f"## {context.command_path}\n\n{formatter.getvalue().rstrip()}\n"


def main() -> int:
    """Writes or checks the file; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write docs/cli.md from the commands.")
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 if the file is not current")
    if parser.parse_args().check:
        current = TARGET.read_text(encoding="utf-8") == reference()
        if not current:
            sys.stderr.write(f"{TARGET} is not current: run {REGENERATE}\n")
        return 0 if current else 1
    TARGET.write_text(reference(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
