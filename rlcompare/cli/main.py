"""The entry point: finds the command, runs it, and turns every error into one line and an exit code.

Commands are imported only when they are called, so that ``rlcompare --help`` answers at once. Exit codes are those of
``errors.ExitCode``, and three more: 70 for an internal error of rlcompare, 141 if the reader of standard output closed
it, and 128 + N after signal N: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.
"""

from __future__ import annotations

import atexit
import errno
import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlcompare import __version__, interrupt
from rlcompare.cli.groups import Group
from rlcompare.errors import NO_MEMORY, ExitCode, InstallationError, RlcompareError, UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

EXIT_INTERNAL = 70
EXIT_BROKEN_PIPE = 141
LEAST_ADDRESS_SPACE = 768 * 2**20
"""Minimum of ``ulimit -v``. Comparing two small profiles fails or crashes with 400 MiB, and works with 800."""
BISECT_SKIP, BISECT_STOP = 125, 128

COMMANDS = {
    "run": "Run the reference RL step (GRPO, DAPO, PPO) under a profiler.",
    "launch": "Run a verl job under verl's own profilers.",
    "attach": "Profile a job that is already running.",
    "diff": "Compare two profiles: what got slower, and where.",
    "explain": "Show the rows, query and files behind a cause or a metric.",
    "report": "Write the page of an earlier comparison, without its profiles.",
    "gate": "Check a comparison against a policy; the exit code is for CI.",
    "baseline": "Keep runs under a name, to compare with later.",
    "history": "Keep all runs' metrics, and find when they changed.",
    "show": "Show one run: time by step, rank, phase, kernel and collective.",
    "ingest": "Read a profile into a store, one DuckDB file.",
    "sql": "Query a run with SQL.",
    "analyse": "Parse raw profiles with torch_npu, in place.",
    "doctor": "Check what this machine can collect, and what is missing.",
    "ci": "Write a CI job: measure, compare with the last baseline, gate.",
    "sample": "Write a sample profile to try rlcompare on.",
    "cache": "List, prune or locate cached stores.",
    "completion": "Print the completion script of bash, zsh or fish.",
}
"""Every command and its short help, in the order in which a newcomer meets them."""

SECTIONS = {
    "Collect": ("run", "launch", "attach", "analyse", "sample"),
    "Compare": ("diff", "explain", "report", "gate", "ci"),
    "Look at runs": ("show", "sql", "ingest"),
    "Keep runs": ("baseline", "history", "cache"),
    "Set up": ("doctor", "completion"),
}
"""The headings under which the help lists the commands."""


# click 8.1 shows the help by itself and has no such error.
_NO_ARGUMENTS: tuple[type[Exception], ...] = tuple(
    error for error in (getattr(click.exceptions, "NoArgsIsHelpError", None),) if error
)


class _BrokenPipeError(Exception):
    """The reader of standard output closed it. click would exit with 1, which means a regression here."""


class _Commands(Group):
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
        width = max(map(len, COMMANDS))
        for section, names in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), COMMANDS[name]) for name in names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # click's own way imports the module of every command.
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]

    def invoke(self, ctx: click.Context) -> object:
        _check_address_space()
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _BrokenPipeError from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="rlcompare", message="%(prog)s %(version)s")
def cli() -> None:
    """Find out whether a change made an RL training step slower, by how much, and why.

    \b
    rlcompare run -o DIR [KEY=VALUE]...     run and profile the reference step
    rlcompare launch -o DIR -- COMMAND...   run and profile a verl job
    rlcompare diff -d NEW -bp BASELINE      compare two profiles
    rlcompare explain 1                     show the rows of the first cause
    rlcompare gate -d NEW -bp BASELINE      check them against a policy, for CI
    rlcompare COMMAND --help                options of a command
    """


def main() -> None:
    """The console script ``rlcompare``."""
    # A command makes many small objects and few reference cycles; garbage collection takes a tenth of a cached diff.
    gc.disable()
    _open_standard_streams()
    ended: list[int] = []
    atexit.register(_leave, ended)  # the first one, which is called last
    interrupt.listen()
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _discard_standard_output()
    ended.append(code)
    sys.exit(code)


def _leave(ended: Sequence[int]) -> None:
    """Ends the process, once its threads and all other exit handlers have ended, if ``ended`` has its exit code.

    To free the memory object by object, as Python does, takes a twentieth of a cached diff. A library that measures may
    still have something to write then.
    """
    if not ended or "torch" in sys.modules:
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(ended[0])


def _open_standard_streams() -> None:
    """Opens closed standard streams (``>&-``) on the null device, so that no file opened later takes their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115, open until the end


def _escape_what_cannot_be_encoded() -> None:
    """Characters that standard output's encoding lacks (cp1252, GBK) become escapes, as on standard error."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns the exit code. Errors are printed to standard error."""
    _escape_what_cannot_be_encoded()
    code = _run(arguments)
    own = list(arguments)[: arguments.index("--")] if "--" in arguments else arguments
    return for_bisect(code) if list(own[:1]) == ["gate"] and "--bisect" in own else code


def for_bisect(code: int) -> int:
    """The exit code for ``git bisect run``: 0 good, 1 bad, 125 skip this commit, 128 and more stop the search."""
    if code in (ExitCode.INCONCLUSIVE, ExitCode.INPUT, ExitCode.NOT_COMPARABLE):
        return BISECT_SKIP
    return code if code in (ExitCode.OK, ExitCode.REGRESSION) or code >= BISECT_STOP else BISECT_STOP + code


def _run(arguments: Sequence[str]) -> int:
    debug = "--debug" in arguments
    try:
        result = cli.main(list(arguments), prog_name="rlcompare", standalone_mode=False)
        sys.stdout.flush()
        return int(result) if isinstance(result, int) else ExitCode.OK
    except (click.Abort, KeyboardInterrupt):
        return 128 + (interrupt.received() or signal.SIGINT)
    except (_BrokenPipeError, BrokenPipeError):
        _discard_standard_output()
        return EXIT_BROKEN_PIPE
    except Exception as error:
        number = interrupt.received()
        if number is not None:  # DuckDB raises its own error for the interruption
            return 128 + number
        return _failed(error, debug)


def _failed(error: Exception, debug: bool) -> int:
    if isinstance(error, UsageError) and error.reasons:
        return _fail(f"{error.message}:", error.exit_code, debug, error.reasons)
    if isinstance(error, RlcompareError):
        return _fail(str(error), EXIT_INTERNAL if isinstance(error, InstallationError) else error.exit_code, debug)
    if isinstance(error, click.ClickException):
        return _wrong_usage(error)
    if (lacking := _lacking(error)) is not None:
        return _fail(lacking, ExitCode.USAGE, debug)
    if isinstance(error, OSError) and error.errno is not None:
        return _fail(_os_message(error), ExitCode.USAGE, debug)
    # A fault of ours: the user gets one line, and a way to see more.
    hint = "" if debug else "; run again with --debug to see where, and please report it"
    return _fail(f"unexpected {type(error).__name__}: {error}{hint}", EXIT_INTERNAL, debug)


def _lacking(error: Exception) -> str | None:
    """The message if an error says that the system gave this process too little."""
    no_memory = isinstance(error, OSError) and error.errno == errno.ENOMEM
    if no_memory or isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":  # DuckDB's
        return NO_MEMORY
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return "cannot start another thread: raise the limits of this user or container (ulimit -u, ulimit -v)"
    return None


def _check_address_space() -> None:
    """Refuses to work with too little address space: libraries crash where they get none.

    Raises:
        UsageError: it is limited to less than what any comparison needs.
    """
    with suppress(ImportError):  # not a POSIX system
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_SPACE:
            raise UsageError(
                f"this process may use {limit >> 20:,} MiB of address space, and needs at least "
                f"{LEAST_ADDRESS_SPACE >> 20:,} MiB: raise the limit (ulimit -v)"
            )


def _os_message(error: OSError) -> str:
    """The message of an operating system error. Errors of files that we write by name are handled where we write."""
    reason = error.strerror or type(error).__name__
    if isinstance(error.filename, str):
        return f"{error.filename}: {reason}; choose another path, or fix the problem"
    _discard_standard_output()
    return f"cannot write to standard output ({reason}): redirect it elsewhere, or free some disk space"


def _discard_standard_output() -> None:
    """Prevents a second error when Python flushes standard output at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _wrong_usage(error: click.ClickException) -> int:
    """Prints one line, like every other error. A command that needs arguments but got none shows its help."""
    if isinstance(error, _NO_ARGUMENTS):
        error.show()
        return ExitCode.USAGE
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context else ""
    if isinstance(error, click.NoSuchOption):
        near = " or ".join((error.possibilities or ())[:3])
        message = f"no such option {error.option_name}{f'; did you mean {near}?' if near else ''}"
    else:
        message = error.format_message().rstrip(".")
    return _fail(message + hint, ExitCode.USAGE, debug=False)


def _fail(message: str, code: int, debug: bool, reasons: Sequence[str] = ()) -> int:
    from rlcompare.secret import redacted
    from rlcompare.text import for_encoding, safe_text

    def shown(lines: Sequence[str]) -> str:
        return "\n".join(for_encoding(safe_text(redacted(line), limit=4000), sys.stderr.encoding) for line in lines)

    text = shown([message, *(f"  - {reason}" for reason in reasons)])
    with suppress(OSError):  # if standard error cannot be written, only the exit code is left
        if debug:
            import traceback

            click.echo(shown(redacted(traceback.format_exc()).rstrip("\n").split("\n")), err=True)
        click.echo(f"rlcompare: error: {text}", err=True)
    return code
