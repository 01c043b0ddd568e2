"""Writes docs/rlcompare.1, the manual page, from the commands themselves.

    python -m tools.man_page

The wheel installs it as ``share/man/man1/rlcompare.1``, where ``man rlcompare`` finds it. The text is that of
``--help``: a subclass of click's formatter receives the same calls and writes roff for groff and mandoc.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rlcompare import __version__
from rlcompare.cli.main import COMMANDS, EXIT_BROKEN_PIPE, EXIT_INTERNAL, SECTIONS, cli
from rlcompare.errors import ExitCode
from tools.help_pages import HelpPage, contexts

TARGET = Path(__file__).resolve().parent.parent / "docs" / "rlcompare.1"

EXIT_CODES = {
    ExitCode.OK: "No regression, or the comparison was made.",
    ExitCode.REGRESSION: "At least one rule of the policy failed.",
    ExitCode.USAGE: "Wrong usage.",
    ExitCode.INCONCLUSIVE: "The evidence does not decide.",
    ExitCode.INPUT: "An input could not be read.",
    ExitCode.NOT_COMPARABLE: "The two sides must not be compared.",
    EXIT_INTERNAL: "An internal error of rlcompare.",
    128: "With N added: ended by signal N.",
    EXIT_BROKEN_PIPE: "The reader of standard output closed it.",
}
VARIABLES = {
    "RLCOMPARE_CACHE_DIR": "The folder, or the URL, where stores are cached.",
    "RLCOMPARE_BASELINES": "The folder, or the URL, where baselines are kept.",
    "RLCOMPARE_HISTORY": "The file, or the PostgreSQL database, of the history.",
    "NO_COLOR": "If set, no colours on a terminal.",
}
FILES = {
    "rlcompare.toml": "The policy of the gate, in your repository.",
    "rlcompare-out/": "What rlcompare diff writes by default: report.html and diff.json.",
}


class _Roff(HelpPage):
    """Writes roff."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self.write(f".PP\n.B {_escaped(prog)}\n{_escaped(args)}\n")

    def write_heading(self, heading: str) -> None:
        self.write(f".PP\n.I {_escaped(heading)}\n")

    def write_prose(self, text: str) -> None:
        self.write(f".PP\n{_escaped(text)}\n")

    def write_verbatim(self, lines: list[str]) -> None:
        self.write("\n".join([".PP", ".nf", *map(_escaped, lines), ".fi"]) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        for term, text in rows:
            self.write(_entry(term, text))


def page() -> str:
    """The text of docs/rlcompare.1."""
    head = [
        '.\\" Made by `python -m tools.man_page`. Do not edit.',
        f'.TH RLCOMPARE 1 "" "rlcompare {__version__}" "User Commands"',
        ".SH NAME",
        "rlcompare \\- compare profiles of RL training steps",
        ".SH SYNOPSIS",
        ".B rlcompare\n.I COMMAND\n[OPTIONS] [ARGUMENTS]",
        ".SH DESCRIPTION",
    ]
    body = _Roff()
    body.write_text(str(cli.help))
    body.write(".SH COMMANDS\n")
    for heading, names in SECTIONS.items():
        body.write_heading(heading)
        body.write_dl([(name, COMMANDS[name]) for name in names])
    for context in contexts():
        body.write(f".SH {_escaped(context.command_path.upper())}\n")
        context.command.format_help(context, body)
    ends = {
        "EXIT STATUS": {str(int(code)): text for code, text in EXIT_CODES.items()},
        "ENVIRONMENT": VARIABLES,
        "FILES": FILES,
    }
    for heading, entries in ends.items():
        body.write(f".SH {heading}\n")
        body.write_dl(entries.items())
    return "\n".join(head) + "\n" + body.getvalue()


def _entry(term: str, text: str) -> str:
    return f".TP\n.B {_escaped(term)}\n{_escaped(' '.join(text.split()))}\n"


def _escaped(text: str) -> str:
    """A line of text with the characters escaped that mean something to roff."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    safe = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in safe)
    return "\\&" + safe if safe[:1] in (".", "'") else safe


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
