"""``rlcompare gate``."""

from __future__ import annotations

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from rlcompare.app.arguments import split_commas
from rlcompare.app.comparison import warn_of_unknown_keys
from rlcompare.cli.diff import GATE_FORMATS, output_options
from rlcompare.cli.options import (
    OUTPUT,
    Command,
    cache_options,
    common_options,
    engine_options,
    option,
    path_type,
    selection_options,
    side_options,
)
from rlcompare.errors import ExitCode, UsageError
from rlcompare.text import for_encoding

if TYPE_CHECKING:
    from rlcompare.model.diff import Diff
    from rlcompare.model.verdict import GateResult

DEFAULT_POLICY = Path("rlcompare.toml")
POLICY = "Policy"


@click.command("gate", cls=Command)
@click.argument("document", metavar="[DIFF.json]", required=False, type=path_type())
@side_options
@option(
    "--policy",
    "policy_file",
    type=path_type(),
    metavar="FILE",
    section=POLICY,
    help="The rules.  [default: rlcompare.toml here or further up in the git repository, else the built-in rules]",
)
@option("--print-policy", is_flag=True, section=POLICY, help="Print the built-in rules as a policy file.")
@option(
    "--on-inconclusive",
    type=click.Choice(["pass", "warn", "fail"]),
    section=POLICY,
    help="How to treat an inconclusive rule.  [default: from the policy, else fail]",
)
@output_options(None, GATE_FORMATS)
@option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print the verdicts as JSON instead.")
@option(
    "--print",
    "printed",
    type=click.Choice(["md", *GATE_FORMATS]),
    section=OUTPUT,
    help="Print this format to standard output instead.",
)
@option(
    "--github",
    is_flag=True,
    section=OUTPUT,
    help="In a GitHub job: print annotations, and add to the step's summary ($GITHUB_STEP_SUMMARY).",
)
@selection_options
@engine_options
@cache_options
@common_options
def command(
    document: Path | None,
    policy_file: Path | None,
    print_policy: bool,
    on_inconclusive: str | None,
    output: Path | None,
    formats: set[str],
    as_json: bool,
    printed: str | None,
    github: bool,
    **options: Any,
) -> int:
    """Check a comparison against a policy; the exit code is for CI.

    Takes two sides like "rlcompare diff", or the diff.json of an earlier diff, which needs no profiles. The rules come
    from rlcompare.toml in your repository; --print-policy prints the built-in rules as a starting point.

    Exit codes: 0 no regression, 1 a rule failed, 2 wrong usage, 3 inconclusive, 4 an input could not be read,
    5 not comparable.

    \b
    rlcompare gate -d new/ -bp base/
    rlcompare gate -d new/ -bp base/ --policy perf/rlcompare.toml -o report --format junit,pr
    rlcompare gate rlcompare-out/diff.json --json
    rlcompare gate --print-policy > rlcompare.toml
    """
    from dataclasses import replace

    from rlcompare.gate import built_in_policy, judge, load_policy
    from rlcompare.model.words import OnInconclusive

    if print_policy:
        from rlcompare.cli.policy_text import policy_text

        click.echo(policy_text(built_in_policy()), nl=False)
        return ExitCode.OK
    _check_outputs(output, formats, as_json, printed)
    policy = load_policy(policy_file or _policy_of_repository())
    policy = replace(
        policy,
        on_inconclusive=OnInconclusive(on_inconclusive or policy.on_inconclusive),
        varied=tuple(dict.fromkeys((*policy.varied, *split_commas(options["varied"])))),
    )
    diff = _from_document(document, options) if document else _from_sides(options, output, policy.varied)
    warn_of_unknown_keys(diff, split_commas(options["varied"]))
    result = judge(diff, policy)
    if output:
        from rlcompare.report.write import write_report

        write_report(diff, output, formats, result)
    document_path = str(output / "diff.json") if output else str(document or "rlcompare-out/diff.json")
    _print(result, diff, document_path, as_json, printed, github)
    return result.exit_code


def _check_outputs(output: Path | None, formats: set[str], as_json: bool, printed: str | None) -> None:
    """Refuses outputs that exclude each other.

    Raises:
        UsageError: the options cannot be combined.
    """
    if formats and output is None:
        raise UsageError(f"--format {','.join(sorted(formats))} writes files: add -o DIR, or use --print FORMAT")
    if as_json and printed:
        raise UsageError("use either --json or --print, not both")


def _print(result: GateResult, diff: Diff, document: str, as_json: bool, printed: str | None, github: bool) -> None:
    from rlcompare.report.gate_text import gate_document, print_gate

    if as_json:
        json.dump(gate_document(result, diff), sys.stdout, indent=1)
        sys.stdout.write("\n")
    elif printed:
        sys.stdout.write(_text(result, diff, document, printed))
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
        click.echo("rlcompare: GITHUB_STEP_SUMMARY is not set: no summary was written", err=True)
        return
    try:
        append_summary(_text(result, diff, document, "pr"), Path(path))
    except OSError as error:
        click.echo(f"rlcompare: {path}: {error.strerror}: no summary was written", err=True)


def _policy_of_repository() -> Path | None:
    """rlcompare.toml in the working folder, else in its nearest parent folder within the same repository."""
    if DEFAULT_POLICY.is_file():
        return DEFAULT_POLICY
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    inside = [folder for folder in here.parents if folder.is_relative_to(root)]
    return next((folder / DEFAULT_POLICY for folder in inside if (folder / DEFAULT_POLICY).is_file()), None)


def _from_sides(options: dict[str, Any], output: Path | None, varied: tuple[str, ...]) -> Diff:
    from rlcompare.app.comparison import Request, compare_sides

    return compare_sides(Request(**options), output, varied)


def _from_document(path: Path, options: dict[str, Any]) -> Diff:
    """Reads the diff from a diff.json.

    Raises:
        UsageError: sides or a selection were given too.
        InputError: the file cannot be read.
    """
    if any(options[name] for name in ("new", "baseline", "steps", "base_steps", "new_steps", "ranks")):
        raise UsageError(f"{path} is already a comparison: pass it alone, or use -d and -bp instead")
    from rlcompare.report.document import read_document

    return read_document(path, "Pass the diff.json that rlcompare diff wrote, or -d and -bp")
