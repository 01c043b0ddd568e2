"""What ``rlcompare gate`` prints: text, JSON or one of the formats for CI; annotations and a summary for GitHub."""

from __future__ import annotations

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rlcompare.app import messages
from rlcompare.cli.one_file import STDOUT, write_text
from rlcompare.errors import UsageError
from rlcompare.text import for_encoding

if TYPE_CHECKING:
    from rlcompare.model.diff import Diff
    from rlcompare.model.verdict import GateResult


def check_outputs(output: Path | None, formats: set[str], as_json: bool, printed: str | None) -> None:
    """Refuses outputs that exclude each other.

    Raises:
        UsageError: the options cannot be combined.
    """
    if formats and output is None:
        raise UsageError(f"--format {','.join(sorted(formats))} writes files: add -o DIR, or use --print FORMAT")
    if as_json and printed:
        raise UsageError("use either --json or --print, not both")


def print_verdicts(
    result: GateResult, diff: Diff, document: str, as_json: bool, printed: str | None, github: bool
) -> None:
    """Prints verdicts in the form that was asked for, and tells GitHub of them.

    Args:
        document: path of the diff.json that goes with them.
    """
    from rlcompare.report.gate_text import gate_document, print_gate

    if as_json:
        json.dump(gate_document(result, diff), sys.stdout, indent=1)
        sys.stdout.write("\n")
    elif printed:
        sys.stdout.flush()
        write_text(_text(result, diff, document, printed), STDOUT)  # UTF-8, as the XML declares
    else:
        from rlcompare.report.github import commands_off

        with commands_off(sys.stdout) if github else nullcontext():
            print_gate(result, sys.stdout, diff)
    if github:
        _tell_github(result, diff, document, sys.stderr if as_json or printed else sys.stdout)


def _text(result: GateResult, diff: Diff, document: str, name: str) -> str:
    """The verdicts in a format of ``--print``."""
    from rlcompare.report.markdown import render_markdown
    from rlcompare.report.view import build_view
    from rlcompare.report.write import gate_text

    view = build_view(diff, result, document=document)
    return render_markdown(view) if name == "md" else gate_text(name, view, result)


def _tell_github(result: GateResult, diff: Diff, document: str, stream: TextIO) -> None:
    """Prints annotations, and adds to the step's summary. A summary that cannot be written leaves the exit code."""
    from rlcompare.report.github import annotation_lines, append_summary

    stream.writelines(f"{for_encoding(line, stream.encoding)}\n" for line in annotation_lines(result))
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        messages.say("GITHUB_STEP_SUMMARY is not set: no summary was written")
        return
    try:
        append_summary(_text(result, diff, document, "pr"), Path(path))
    except OSError as error:
        messages.say(f"{path}: {error.strerror}: no summary was written")
