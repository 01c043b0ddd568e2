"""The frame around all commands: help, imports, exit codes, errors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from rlcompare.cli import main as main_module
from rlcompare.cli.main import COMMANDS, SECTIONS, cli, run
from rlcompare.errors import ExitCode, InputError

from .conftest import Command

SIGNALLED = {129, 130, 143}
"""SIGHUP, SIGINT and SIGTERM, each after 128."""

HELP = """\
Usage: rlcompare [OPTIONS] COMMAND [ARGS]...

  Find out whether a change made an RL training step slower, by how much, and
  why.

  rlcompare run -o DIR [KEY=VALUE]...     run and profile the reference step
  rlcompare launch -o DIR -- COMMAND...   run and profile a verl job
  rlcompare diff -d NEW -bp BASELINE      compare two profiles
  rlcompare explain 1                     show the rows of the first cause
  rlcompare gate -d NEW -bp BASELINE      check them against a policy, for CI
  rlcompare COMMAND --help                options of a command

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

Collect:
  run         Run the reference RL step (GRPO, DAPO, PPO) under a profiler.
  launch      Run a verl job under verl's own profilers.
  attach      Profile a job that is already running.
  analyse     Parse raw profiles with torch_npu, in place.
  sample      Write a sample profile to try rlcompare on.

Compare:
  diff        Compare two profiles: what got slower, and where.
  explain     Show the rows, query and files behind a cause or a metric.
  report      Write the page of an earlier comparison, without its profiles.
  gate        Check a comparison against a policy; the exit code is for CI.
  ci          Write a CI job: measure, compare with the last baseline, gate.

Look at runs:
  show        Show one run: time by step, rank, phase, kernel and collective.
  sql         Query a run with SQL.
  ingest      Read a profile into a store, one DuckDB file.

Keep runs:
  baseline    Keep runs under a name, to compare with later.
  history     Keep all runs' metrics, and find when they changed.
  cache       List, prune or locate cached stores.

Set up:
  doctor      Check what this machine can collect, and what is missing.
  completion  Print the completion script of bash, zsh or fish.
"""


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command and subcommand, by what the user types after ``rlcompare``."""
    context = click.Context(cli, **cli.context_settings)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {sub}", inner) for sub, inner in command.commands.items())


class TestHelp:
    def test_lists_every_command(self, rlcompare: Command) -> None:
        result = rlcompare("--help")
        assert (result.code, result.out) == (0, HELP)

    def test_short_helps_are_those_of_the_commands(self) -> None:
        for name, command in commands():
            if name in COMMANDS:
                assert command.get_short_help_str(limit=200).rstrip(".") == COMMANDS[name].rstrip(".")

    @pytest.mark.parametrize("name", [name for name, _ in commands()])
    def test_every_command_and_option_is_documented(self, rlcompare: Command, name: str) -> None:
        command = dict(commands())[name]
        assert command.help
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, parameter.name
        assert rlcompare(*name.split(), "--help").code == 0

    @pytest.mark.parametrize("arguments", [[], ["cache"]])
    def test_a_command_is_asked_for(self, rlcompare: Command, arguments: list[str]) -> None:
        result = rlcompare(*arguments)
        assert result.code == 2
        assert "Usage: rlcompare" in result.err

    def test_every_command_is_below_a_heading(self) -> None:
        assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["dif"], "no such command 'dif'; did you mean diff? (see rlcompare --help)"),
            (["compare"], "no such command 'compare'; did you mean diff? (see rlcompare --help)"),
            (["cache", "lst"], "no such command 'lst'; did you mean list? (see rlcompare cache --help)"),
            (["qqq"], "no such command 'qqq' (see rlcompare --help)"),
            (["diff", "--stepp", "3"], "no such option --stepp; did you mean --step"),
            (["diff", "--qqq"], "no such option --qqq (see rlcompare diff --help)"),
        ],
    )
    def test_wrong_words(self, rlcompare: Command, arguments: list[str], said: str) -> None:
        result = rlcompare(*arguments)
        assert (result.code, result.out) == (2, "")
        assert result.error.startswith(f"rlcompare: error: {said}")

    def test_an_odd_word_is_no_terminal_escape(self, rlcompare: Command) -> None:
        assert "\x1b" not in rlcompare("\x1b[31mdiff").error


def in_a_fresh_interpreter(code: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs Python code that finds the same packages as this process."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, text=True, env=environment, check=False, **options)


def modules_after(*arguments: str) -> set[str]:
    """The modules that a fresh interpreter has loaded when a command line has run."""
    code = (
        "import sys, contextlib, io\nfrom rlcompare.cli.main import run\n"
        "with contextlib.redirect_stdout(io.StringIO()): code = run(sys.argv[1:])\n"
        "print(code, *sorted(sys.modules))"
    )
    result = in_a_fresh_interpreter(code, *arguments, capture_output=True)
    code, *modules = result.stdout.split()
    assert code == "0", result.stderr
    return set(modules)


class TestImports:
    def test_help_imports_nothing_heavy(self) -> None:
        loaded = modules_after("--help")
        assert not loaded & {"duckdb", "pyarrow", "jinja2", "rich", "numpy", "torch", "sqlite3", "hypothesis"}
        ours = {name.split(".")[1] for name in loaded if name.startswith("rlcompare.")}
        assert ours <= {"cli", "errors", "interrupt"}

    def test_help_of_a_command_imports_nothing_heavy(self) -> None:
        heavy = {"duckdb", "pyarrow", "jinja2", "rich", "numpy", "torch", "msgspec", "platformdirs"}
        assert not modules_after("diff", "--help") & heavy

    @pytest.mark.slow
    def test_diff_never_imports_torch(self, samples: Path, tmp_path: Path) -> None:
        loaded = modules_after(
            *("diff", "-d", str(samples / "new"), "-bp", str(samples / "base")),
            *("-o", str(tmp_path / "out"), "--cache-dir", str(tmp_path / "cache")),
        )
        assert "duckdb" in loaded
        assert not loaded & {"torch", "torch_npu", "numpy", "pandas", "pyarrow", "scipy", "msgspec"}


class TestErrors:
    def test_codes_of_the_error_tree(self, rlcompare: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise InputError("a.db", "it is damaged\nand more \x1b[31m", "Copy it again")

        monkeypatch.setattr(cli, "main", refuse)
        result = rlcompare("diff")
        assert result.code == ExitCode.INPUT
        assert "a.db: it is damaged" in result.error
        assert "\x1b" not in result.err

    def test_a_fault_of_ours_is_one_line(self, rlcompare: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cli, "main", lambda *_, **__: 1 / 0)
        result = rlcompare("diff")
        assert result.code == 70
        assert "ZeroDivisionError" in result.error
        assert "--debug" in result.error

    def test_debug_shows_where(self, rlcompare: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cli, "main", lambda *_, **__: 1 / 0)
        result = rlcompare("diff", "--debug")
        assert result.code == 70
        assert "Traceback" in result.err
        assert result.err.splitlines()[-1].startswith("rlcompare: error: ")

    def test_debug_shows_no_control_characters(self, rlcompare: Command) -> None:
        result = rlcompare("diff", "-d", "nowhere", "-bp", "a\x1b]0;title\x07", "--debug")
        assert "Traceback" in result.err
        assert "\\x1b]0;title\\x07" in result.err
        assert "\x1b" not in result.err

    def test_debug_shows_where_an_input_was_refused(self, rlcompare: Command) -> None:
        result = rlcompare("diff", "-d", "nowhere", "-bp", "nowhere", "--debug")
        assert result.code == 4
        assert "Traceback" in result.err

    @pytest.mark.parametrize("interruption", [KeyboardInterrupt, click.Abort])
    def test_interrupted(
        self, rlcompare: Command, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
    ) -> None:
        def interrupt(*_: object, **__: object) -> None:
            raise interruption

        monkeypatch.setattr(cli, "main", interrupt)
        assert rlcompare("diff").code == 130

    @pytest.mark.slow
    def test_a_closed_pipe_is_no_regression(self, samples: Path, tmp_path: Path) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        result = in_a_fresh_interpreter(
            "from rlcompare.cli.main import main; main()",
            *("diff", "-d", samples / "new", "-bp", samples / "base", "--json", "-q"),
            stdout=writer,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
        )
        os.close(writer)
        assert (result.returncode, result.stderr) == (141, "")

    def test_exit_codes_beside_those_of_verdicts(self) -> None:
        own = {main_module.EXIT_INTERNAL, main_module.EXIT_BROKEN_PIPE, *SIGNALLED}
        assert not own & {code.value for code in ExitCode}

    def test_every_exit_code_is_documented(self) -> None:
        page = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
        rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| ")]
        documented = {int(number) for row in rows for number in row.replace(",", " ").split() if number.isdecimal()}
        own = {main_module.EXIT_INTERNAL, main_module.EXIT_BROKEN_PIPE, *SIGNALLED}
        assert documented == own | {code.value for code in ExitCode}

    def test_version(self, rlcompare: Command) -> None:
        assert rlcompare("--version").out.startswith("rlcompare ")
        assert run(["--version"]) == 0
