"""The committed golden inputs are what the writer writes today, and what the commands in their README say."""

from __future__ import annotations

import shlex
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from rlcompare.cli.main import cli

_INPUTS = Path(__file__).resolve().parents[2] / "golden" / "inputs"


def _commands() -> dict[str, list[str]]:
    """Options by folder, as the README's shell lines give them."""
    variables: dict[str, list[str]] = {}
    found = {}
    for line in (_INPUTS / "README.md").read_text(encoding="utf-8").splitlines():
        words = shlex.split(line) if line.startswith("    ") else []
        if len(words) == 1 and "=" in words[0]:
            name, _, value = words[0].partition("=")
            variables[f"${name}"] = value.split()
        elif words[:3] == ["rlcompare", "sample", "-o"]:
            found[words[3]] = [option for word in words[4:] for option in variables[word]]
    return found


def _contents(root: Path) -> dict[str, object]:
    """Files by path; of databases the statements that make them."""
    contents: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        if path.suffix == ".db":
            con = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            contents[str(path.relative_to(root))] = list(con.iterdump())
            con.close()
        elif path.is_file():
            contents[str(path.relative_to(root))] = path.read_bytes()
    return contents


@pytest.mark.parametrize("name", sorted(path.name for path in _INPUTS.iterdir() if path.is_dir()))
def test_a_golden_input_is_what_its_command_writes(name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["sample", "-o", str(tmp_path / name), *_commands()[name]])
    assert result.exit_code == 0, result.output
    assert _contents(tmp_path / name) == _contents(_INPUTS / name)
