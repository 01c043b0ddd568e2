"""What the generators of docs/cli.md and docs/rlcompare.1 share: all commands, and a formatter of their help."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from rlcompare.cli.main import cli

_VERBATIM = "\b"
"""First line of a docstring paragraph whose lines click keeps unchanged."""


class HelpPage(click.HelpFormatter):
    """Receives the parts of a command's help. A subclass writes them in its own format."""

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.write_heading(name)
        yield

    def write_text(self, text: str) -> None:
        for paragraph in text.split("\n\n"):
            lines = [line.strip() for line in paragraph.strip(" \n").splitlines()]
            if lines[:1] == [_VERBATIM]:
                self.write_verbatim(lines[1:])
            else:
                self.write_prose(" ".join(lines))

    def write_prose(self, text: str) -> None:
        """Writes a paragraph whose lines may be broken anywhere."""
        raise NotImplementedError

    def write_verbatim(self, lines: list[str]) -> None:
        """Writes lines that stay as they are."""
        raise NotImplementedError

    def write_paragraph(self) -> None:
        pass


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
