"""Every command that a document shows is run as it stands, and prints what stands below it; ``commands.toml`` says
which ones cannot be run here, and why."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click
import pytest

from rlcompare import toml
from rlcompare.cli.main import cli

from . import workplace
from .blocks import Block, commands_of, documents
from .places import DOCUMENTS as ALL
from .places import ROOT
from .workplace import Workplace

NOTES: dict[str, dict[str, Any]] = toml.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
NOT_RUN = {line: reason for reason, lines in NOTES["not_run"].items() for line in lines}
DOCUMENTS = {str(path.relative_to(ROOT)): blocks for path, blocks in documents().items()}
COMMANDS = {name: [command for block in blocks for command in commands_of(block)] for name, blocks in DOCUMENTS.items()}
SAME = {"README.zh-CN.md": "README.md"}
"""Documents whose commands are those of another one (``test_readme``), which runs them."""
ELIDED = "…"
CODE = "echo $?"


def shows(printed: list[str], shown: tuple[str, ...]) -> bool:
    """Whether the lines shown are those printed: ``…`` alone stands for any lines, in a line for any text."""
    if not shown:
        return not printed
    if shown[0] == ELIDED:
        return any(shows(printed[start:], shown[1:]) for start in range(len(printed) + 1))
    pattern = ".*".join(map(re.escape, shown[0].split(ELIDED)))
    return bool(printed) and re.fullmatch(pattern, printed[0]) is not None and shows(printed[1:], shown[1:])


@pytest.fixture(scope="session")
def fixtures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workplace.make(tmp_path_factory.mktemp("named-in-documents"))


@pytest.fixture
def place(
    fixtures: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Workplace:
    folder = tmp_path / "work"
    shutil.copytree(fixtures, folder, copy_function=workplace.link)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RLCOMPARE_HISTORY", "RLCOMPARE_BASELINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("rlcompare.app.progress.LINE_AFTER_SECONDS", 600)
    return Workplace(folder, capfd, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("document", sorted(set(DOCUMENTS) - set(SAME)))
def test_commands_run_and_print_what_is_shown(document: str, place: Workplace) -> None:
    for line in NOTES["before"].get(document, ()):
        place.run(line)
        assert place.code == 0, (line, place.err)
    wrong = []
    blocks = DOCUMENTS[document]
    for block, following in zip_longest(blocks, blocks[1:]):
        if block.language == "python":
            printed = place.python(block.text)
            if following is not None and following.language == "text" and printed != following.text:
                wrong.append(f"{block.text}\nprints\n{printed}")
        else:
            wrong += differences(block, place)
    assert not wrong, "\n\n".join(wrong)


def differences(block: Block, place: Workplace) -> Iterator[str]:
    """Runs the commands of a block; what they do otherwise than it shows."""
    commands = commands_of(block)
    for command, following in zip_longest(commands, commands[1:]):
        if command.line in NOT_RUN:
            continue
        printed = place.run(command.line).splitlines()
        code_is_shown = CODE in (command.line, following and following.line)
        if not code_is_shown and place.code != NOTES["exit_code"].get(command.line, 0):
            yield f"$ {command.line}\nended with {place.code}: {place.err}"
        elif command.shown is not None and not shows(printed, command.shown):
            yield "\n".join([f"$ {command.line}", *printed])


@pytest.mark.parametrize("document", COMMANDS)
def test_the_command_line_accepts_what_documents_show(document: str) -> None:
    """Also of commands that are not run: options, their values, the number of arguments."""
    for command in COMMANDS[document]:
        words = workplace.redirected(command.line)[0]
        if words[0] == "rlcompare":
            parse(words[1:])


def parse(words: list[str]) -> None:
    """Parses a command line as rlcompare does, without running it; files need not exist."""
    # click keeps a command's --help as it was first asked for.
    context = click.Context(cli, info_name="rlcompare", **cli.context_settings)
    command: click.Command = cli
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, words
        command, words = found, words[1:]
        context = click.Context(command, parent=context, info_name=command.name, **command.context_settings)
    values, rest, _ = command.make_parser(context).parse_args(list(words))
    assert not rest, (command.name, rest)
    for parameter in command.params:
        if isinstance(parameter, click.Option) and values.get(parameter.name) is not None and not is_file(parameter):
            parameter.type_cast_value(context, values[parameter.name])


def is_file(option: click.Option) -> bool:
    return isinstance(option.type, click.Path | click.File)


def test_each_note_is_of_a_command_and_most_commands_run() -> None:
    """A note about a command that no document shows any more is removed; a reason is no way around a broken command."""
    shown = [command.line for commands in COMMANDS.values() for command in commands]
    assert [line for line in [*NOT_RUN, *NOTES["exit_code"]] if line not in shown] == []
    assert sorted(set(NOTES["before"]) - set(DOCUMENTS)) == []
    assert len(NOTES["not_run"]) <= 9, "reasons"
    assert sum(line in NOT_RUN for line in shown) < len(shown) / 5


def test_commands_stand_in_fenced_blocks() -> None:
    for document in (path for path in ALL if "golden" not in path.parts):
        for line in document.read_text(encoding="utf-8").splitlines():
            assert not re.match(r"(?: {4}|\t)(?:\$ )?(?:rlcompare|pip|git) ", line), (document, line)
