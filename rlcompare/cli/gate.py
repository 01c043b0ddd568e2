"""``rlcompare gate``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlcompare.app.arguments import split_commas
from rlcompare.app.baselines import baselines_in
from rlcompare.app.comparison import warn_of_unknown_keys
from rlcompare.cli.diff import output_options
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

if TYPE_CHECKING:
    from rlcompare.model.diff import Diff

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
@output_options(None)
@option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print the verdicts as JSON instead.")
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
    **options: Any,
) -> int:
    """Check a comparison against a policy; the exit code is for CI.

    Takes two sides like "rlcompare diff", or the diff.json of an earlier diff, which needs no profiles. The rules come
    from rlcompare.toml in your repository; --print-policy prints the built-in rules as a starting point.

    Exit codes: 0 no regression, 1 a rule failed, 2 wrong usage, 3 inconclusive, 4 an input could not be read,
    5 not comparable.

    \b
    rlcompare gate -d new/ -bp base/
    rlcompare gate -d new/ -bp base/ --policy perf/rlcompare.toml -o report
    rlcompare gate rlcompare-out/diff.json --json
    rlcompare gate --print-policy > rlcompare.toml
    """
    from dataclasses import replace

    from rlcompare.gate import built_in_policy, judge, load_policy
    from rlcompare.model.words import OnInconclusive
    from rlcompare.report.gate_text import gate_document, print_gate

    if print_policy:
        from rlcompare.cli.policy_text import policy_text

        click.echo(policy_text(built_in_policy()), nl=False)
        return ExitCode.OK
    policy = load_policy(policy_file or _policy_of_repository())
    policy = replace(
        policy,
        on_inconclusive=OnInconclusive(on_inconclusive or policy.on_inconclusive),
        varied=tuple(dict.fromkeys((*policy.varied, *split_commas(options["varied"])))),
    )
    if policy_file is not None and options["baselines"] is None:
        options["baselines"] = baselines_in(policy_file)
    diff = _from_document(document, options) if document else _from_sides(options, output, policy.varied)
    warn_of_unknown_keys(diff, split_commas(options["varied"]))
    result = judge(diff, policy)
    if output:
        from rlcompare.report.write import write_report

        write_report(diff, output, formats, result)
    if as_json:
        json.dump(gate_document(result, diff), sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        print_gate(result, sys.stdout, diff)
    return result.exit_code


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
