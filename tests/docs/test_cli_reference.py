"""docs/cli.md says what the commands say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rlcompare.cli.main import COMMANDS, cli
from tools.cli_reference import REGENERATE, TARGET, reference

from .places import DOCUMENTS, ROOT

_FENCED = re.compile(r"^```.*?\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHOWN = re.compile(r"^(?:\$ )?rlcompare +([a-z].*?)(?: +#.*)?$", re.MULTILINE)


def test_it_is_current() -> None:
    assert TARGET.read_text(encoding="utf-8") == reference(), f"docs/cli.md is not current: run {REGENERATE}"


def test_it_has_every_command_with_its_options_defaults_and_examples() -> None:
    text = TARGET.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"\n## rlcompare {name}\n" not in text] == []
    assert "\n## rlcompare cache prune\n" in text, "a command within a command"
    gate = text.partition("\n## rlcompare gate\n")[2].partition("\n## ")[0]
    for part in (
        "rlcompare gate [OPTIONS] [DIFF.json | -- COMMAND...]",
        "| `--on-inconclusive [pass\\|warn\\|fail]` |",
        "[default: db]",
    ):
        assert part in gate
    assert "```\nrlcompare gate -d new/ -bp base/\n" in gate


def commands_of(document: Path) -> Iterator[str]:
    """The command lines in a document's blocks of code, without the name of the program and comments."""
    for block in _FENCED.findall(document.read_text(encoding="utf-8")):
        yield from _SHOWN.findall(block)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_that_documents_show_exist_with_their_options(document: Path) -> None:
    context = click.Context(cli)
    for line in commands_of(document):
        name, *words = line.partition(" -- ")[0].split()
        command = cli.get_command(context, name)
        if isinstance(command, click.Group) and words[:1] != ["[OPTIONS]"]:
            name, *words = words
            command = command.get_command(context, name)
        assert command is not None, line
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert used - known == set(), line


def test_the_documents_show_commands() -> None:
    shown = {line.split()[0] for document in DOCUMENTS for line in commands_of(document)}
    assert {"diff", "gate", "launch", "attach", "show", "sql", "ingest", "sample"} <= shown
