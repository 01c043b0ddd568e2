"""Writes docs/cli.md, the reference of the command line, from the commands themselves.

    python tools/cli_reference.py            writes docs/cli.md
    python tools/cli_reference.py --check    ends with 1 if docs/cli.md is not current

The text is that of ``--help``, as Markdown: a subclass of click's formatter receives the same calls and writes tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from rlcompare.cli.main import COMMANDS, cli

TARGET = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
REGENERATE = "python tools/cli_reference.py"

_HEAD = f"""\
# Command line

<!-- Made by `{REGENERATE}`. Do not edit. -->

Exit codes are in [gate.md](gate.md#exit-codes). Every command takes `-h` and `--help`.
"""
VERBATIM = "\b"
"""First line of a docstring paragraph whose lines click keeps unchanged."""


class _Markdown(click.HelpFormatter):
    """Receives the parts of a command's help, and writes Markdown."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self.write(f"```text\n{prog} {args}\n```\n\n")

    def write_heading(self, heading: str) -> None:
        self.write(f"**{heading}**\n\n")

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.write_heading(name)
        yield

    def write_text(self, text: str) -> None:
        for paragraph in text.split("\n\n"):
            lines = [line.strip() for line in paragraph.strip(" \n").splitlines()]
            if lines[:1] != [VERBATIM]:
                self.write(f"{_escaped(' '.join(lines))}\n\n")
            elif all(line.startswith("rlcompare") for line in lines[1:]):
                self.write("\n".join(["```", *lines[1:], "```"]) + "\n\n")
            else:
                self.write("  \n".join(map(_escaped, lines[1:])) + "\n\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        self.write("| | |\n|---|---|\n")
        for term, text in rows:
            self.write(f"| `{_cell(term)}` | {_escaped(_cell(text))} |\n")
        self.write("\n")

    def write_paragraph(self) -> None:
        pass


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _escaped(text: str) -> str:
    """A text with Markdown's special characters escaped."""
    return text.replace("*", "\\*").replace("<", "&lt;")


def contexts() -> Iterator[click.Context]:
    """The context of every command, and after it those of its subcommands."""
    return _below(click.Context(cli, info_name="rlcompare", **cli.context_settings))


def _below(parent: click.Context) -> Iterator[click.Context]:
    group = parent.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
        yield context
        if isinstance(command, click.Group):
            yield from _below(context)


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
