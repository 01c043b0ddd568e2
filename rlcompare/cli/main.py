"""The entry point: finds the command, runs it, and turns every error into one line and an exit code.

Commands are imported only when they are called, so that ``rlcompare --help`` answers at once. Exit codes are those of
``errors.ExitCode``, and beside them 70 for a fault of rlcompare itself, 130 where the user interrupted, and 141 where
the reader of standard output went away.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from rlcompare import __version__
from rlcompare.errors import ExitCode, RlcompareError

EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

COMMANDS = {
    "diff": "Compare two profiles: what got slower, and where.",
    "gate": "Judge a comparison by a policy; the exit code tells a CI job.",
    "show": "Show one run: its time by step, rank, phase, kernel and collective.",
    "ingest": "Read a profile into a store, one DuckDB file.",
    "sql": "Query a run with SQL.",
    "sample": "Write a sample profile to try rlcompare on.",
    "cache": "List, prune or locate the stores that rlcompare keeps.",
}
"""Every command and its short help, in the order in which a newcomer meets them."""


# click 8.1 shows the help by itself and has no such error.
_NO_ARGUMENTS: tuple[type[Exception], ...] = tuple(
    error for error in (getattr(click.exceptions, "NoArgsIsHelpError", None),) if error
)


class _BrokenPipeError(Exception):
    """Whoever read standard output stopped reading. click would exit with 1, which means a regression here."""


class _Commands(click.Group):
    """A group that imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"rlcompare.cli.{cmd_name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _BrokenPipeError from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="rlcompare", message="%(prog)s %(version)s")
def cli() -> None:
    """Tell whether a change made an RL training step slower, by how much, and which part of the step to blame.

    \b
    rlcompare diff -d NEW -bp BASELINE      compare two profiles
    rlcompare gate -d NEW -bp BASELINE      judge them by a policy, for CI
    rlcompare COMMAND --help                what a command takes
    """


def main() -> None:
    """The console script ``rlcompare``."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns the exit code; everything that goes wrong is said on standard error."""
    debug = "--debug" in arguments
    try:
        result = cli.main(list(arguments), prog_name="rlcompare", standalone_mode=False)
        sys.stdout.flush()
        return int(result) if isinstance(result, int) else ExitCode.OK
    except RlcompareError as error:
        return _fail(str(error), error.exit_code, debug)
    except click.ClickException as error:
        return _wrong_usage(error)
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except (_BrokenPipeError, BrokenPipeError):
        # Python would complain once more when it flushes standard output at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except Exception as error:  # a fault of ours: the user gets one line, and a way to see more
        hint = "" if debug else "; run again with --debug to see where, and please report it"
        return _fail(f"unexpected {type(error).__name__}: {error}{hint}", EXIT_INTERNAL, debug)


def _wrong_usage(error: click.ClickException) -> int:
    """One line like every other error; a command that needs arguments and got none shows its help instead."""
    if isinstance(error, _NO_ARGUMENTS):
        error.show()
        return ExitCode.USAGE
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context else ""
    return _fail(error.format_message().rstrip(".") + hint, ExitCode.USAGE, debug=False)


def _fail(message: str, code: int, debug: bool) -> int:
    from rlcompare.report.text import for_encoding, safe_text

    if debug:
        import traceback

        traceback.print_exc()
    line = for_encoding(safe_text(message, limit=4000), sys.stderr.encoding)
    click.echo(f"rlcompare: error: {line}", err=True)
    return code
