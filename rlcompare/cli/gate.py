"""``rlcompare gate``."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlcompare.app import messages
from rlcompare.app.arguments import problem_of_path, split_commas
from rlcompare.app.baselines import baselines_in
from rlcompare.app.comparison import warn_of_mistyped_keys, warn_of_unknown_keys
from rlcompare.app.spreads import spreads_of
from rlcompare.app.trace import FORMAT, trace_file
from rlcompare.cli.diff import GATE_FORMATS, output_options
from rlcompare.cli.extend import extend_option, judge_extended
from rlcompare.cli.gate_output import check_outputs, print_verdicts
from rlcompare.cli.options import (
    OUTPUT,
    Command,
    cache_options,
    common_options,
    engine_options,
    language_option,
    option,
    path_type,
    selection_options,
    side_options,
)
from rlcompare.errors import ExitCode, UsageError
from rlcompare.model.verdict import PRESETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlcompare.compare.estimate import Spread
    from rlcompare.model.diff import Diff
    from rlcompare.model.verdict import GateResult, Policy

POLICY = "Policy"


@click.command("gate", cls=Command)
@click.argument("words", metavar="[DIFF.json | -- COMMAND...]", nargs=-1)
@side_options
@option(
    "--policy",
    "policy_file",
    type=path_type(),
    metavar="FILE",
    section=POLICY,
    help="The rules.  [default: rlcompare.toml, or [tool.rlcompare] in pyproject.toml, here or further up in the git "
    "repository; else the built-in rules]",
)
@option("--preset", type=click.Choice(PRESETS), section=POLICY, help="Rules that come with rlcompare.")
@option(
    "--print-policy",
    is_flag=True,
    section=POLICY,
    help="Print the rules of --preset or --policy as a policy file.  [default: those in effect: of the repository,"
    " else the built-in rules]",
)
@option(
    "--selftest",
    is_flag=True,
    section=POLICY,
    help="Check that each rule can fire: scale the runs of -bp or DIFF.json, else made-up ones, by its limits.",
)
@option("--print-schema", is_flag=True, section=POLICY, help="Print the JSON Schema of policy files, for editors.")
@option(
    "--on-inconclusive",
    type=click.Choice(["pass", "warn", "fail"]),
    section=POLICY,
    help="How to treat an inconclusive rule.  [default: from the policy, else fail]",
)
@option(
    "--history",
    metavar="FILE|URL",
    section=POLICY,
    help="Earlier runs, to estimate the noise where runs are few.  [default: as for rlcompare history, if"
    " there is one]",
)
@option(
    "--bisect",
    is_flag=True,
    section=POLICY,
    help='Use the exit codes of "git bisect run": 0 good, 1 bad, 125 to skip the commit (instead of 3, 4, 5, and if'
    " rules fail only because something was not measured), 128 and more to stop the search.",
)
@extend_option
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
    help="In a GitHub job: print annotations, and append the report to the job summary ($GITHUB_STEP_SUMMARY).",
)
@language_option
@selection_options
@engine_options
@cache_options
@common_options
def command(
    words: tuple[str, ...],
    extend: int | None,
    policy_file: Path | None,
    preset: str | None,
    print_policy: bool,
    print_schema: bool,
    selftest: bool,
    bisect: bool,
    on_inconclusive: str | None,
    output: Path | None,
    formats: set[str],
    as_json: bool,
    printed: str | None,
    github: bool,
    history: str | None,
    **options: Any,
) -> int:
    """Check a comparison against a policy; the exit code is for CI.

    Takes two sides like "rlcompare diff", or the diff.json of an earlier diff, which needs no profiles. The rules come
    from rlcompare.toml or pyproject.toml in your repository; --print-policy prints those in effect, to start from.

    Exit codes: 0 no regression, 1 a rule failed, 2 wrong usage, 3 inconclusive, 4 an input could not be read,
    5 not comparable.

    With --extend, makes the runs itself, alternating the sides, until the rules are decided. All of its checks together
    are as reliable as one verdict. The same command continues an interrupted series.

    \b
    rlcompare gate -d new/ -bp base/
    rlcompare gate -d new/ -bp base/ --policy perf/rlcompare.toml -o report --format junit,pr
    rlcompare gate rlcompare-out/diff.json --json
    rlcompare gate --extend 10 -d ab/new -bp ab/base -- ./train.sh {side} {out}
    rlcompare gate --print-policy > rlcompare.toml
    rlcompare gate --selftest -bp base/
    """
    from dataclasses import replace

    from rlcompare.gate import judge
    from rlcompare.model.words import OnInconclusive

    if preset and policy_file:
        raise UsageError('--preset and --policy exclude each other: write extends = "PRESET" in the policy file')
    if print_policy or print_schema:
        click.echo(_schema_text() if print_schema else _policy_text(policy_file, preset), nl=False)
        return ExitCode.OK
    check_outputs(output, formats, as_json, printed)
    policy = _policy(policy_file, preset)
    policy = replace(
        policy,
        on_inconclusive=OnInconclusive(on_inconclusive or policy.on_inconclusive),
        varied=tuple(dict.fromkeys((*policy.varied, *split_commas(options["varied"])))),
    )
    if policy_file is not None and options["baselines"] is None:
        options["baselines"] = baselines_in(policy_file)
    if selftest:
        diff = _known_data(_document(words), options, policy)
        return _selftest(policy, diff, {} if diff is None else spreads_of(diff, history, policy_file), as_json)
    document = None if extend else _document(words)
    spreads = partial(spreads_of, chosen=history, policy_file=policy_file)
    with trace_file(_has_trace(formats, extend, document)) as trace:
        if extend:
            diff, result = judge_extended(extend, words, options, output, policy, spreads)
        else:
            if document:
                diff = _from_document(document, options, whole=output is not None)
            else:
                diff = _from_sides(options, output, policy.varied, trace)
            result = judge(diff, policy, spreads(diff, quiet=options["quiet"]))
        asked = split_commas(options["varied"])
        warn_of_unknown_keys(diff, asked)
        warn_of_mistyped_keys(diff, [key for key in policy.varied if key not in asked], policy.source)
        if output:
            from rlcompare.report.write import write_report

            write_report(diff, output, formats, result, trace)
    document_path = str(output / "diff.json") if output else str(document or "rlcompare-out/diff.json")
    print_verdicts(result, diff, document_path, as_json, printed, github)
    return _skipping(result) if bisect else result.exit_code


def _has_trace(formats: set[str], extend: int | None, document: Path | None) -> bool:
    """Whether a trace is asked for.

    Raises:
        UsageError: it cannot be made.
    """
    if FORMAT in formats and (extend or document):
        raise UsageError("--format trace reads the profiles of two sides: use it with -d and -bp, without --extend")
    return FORMAT in formats


def _skipping(result: GateResult) -> int:
    """The exit code for ``git bisect``: a commit at which a metric is missing or undecided is neither good nor bad."""
    from rlcompare.gate.summary import OPEN, reasons
    from rlcompare.model.words import RuleSeverity, Status

    errors = [verdict for verdict in result.verdicts if verdict.rule.severity == RuleSeverity.ERROR]
    if result.exit_code == ExitCode.OK and any(verdict.status in OPEN for verdict in errors):
        messages.say("--bisect: the evidence is inconclusive, whatever the policy makes of it: this commit is skipped")
        return ExitCode.INCONCLUSIVE
    if reasons(result) != (Status.MISSING,):
        return result.exit_code
    messages.say("--bisect: the gate failed only because a metric is missing, so this commit is skipped")
    return ExitCode.INCONCLUSIVE


def _policy(file: Path | None, preset: str | None) -> Policy:
    """The policy that was asked for, else that of the repository."""
    from rlcompare.gate import load_policy, load_preset
    from rlcompare.gate.find import find_policy

    if preset:
        return load_preset(preset)
    if file:
        return load_policy(file)
    found = find_policy(Path.cwd())
    if found.ignored:
        messages.warn(f"{found.path} is used, not [tool.rlcompare] of {found.ignored}")
    return load_policy(found.path)


def _policy_text(file: Path | None, preset: str | None) -> str:
    """The rules that were asked for, else those in effect, as a policy file."""
    from rlcompare.cli.policy_text import policy_text, with_symptoms
    from rlcompare.gate import load_policy, preset_text, written_policy
    from rlcompare.gate.find import find_policy

    if file is None and preset is None:
        file = find_policy(Path.cwd(), skip_empty=True).path
    if file is None:
        return with_symptoms(preset_text(preset or "default"))
    load_policy(file)  # refuses what cannot hold, such as an exception without limits
    return policy_text(written_policy(file), file)


def _known_data(document: Path | None, options: dict[str, Any], policy: Policy) -> Diff | None:
    """What the rules are tried on: a diff.json, or a baseline against itself; None: made-up runs."""
    if document:
        return _from_document(document, options)
    if options["baseline"] or options["new"]:
        return _from_sides({**options, "new": options["new"] or options["baseline"]}, None, policy.varied)
    return None


def _selftest(policy: Policy, diff: Diff | None, spreads: Mapping[str, Spread], as_json: bool) -> int:
    from rlcompare.gate.selftest import try_policy
    from rlcompare.report.selftest_text import print_selftest, selftest_document

    trials = try_policy(policy, diff, spreads)
    if as_json:
        json.dump(selftest_document(trials, policy), sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        print_selftest(trials, policy, sys.stdout)
    useful = [trial for trial in trials if not trial.skipped]
    return ExitCode.REGRESSION if any(trial.problem for trial in useful) or not useful else ExitCode.OK


def _schema_text() -> str:
    from rlcompare.gate.policy_schema import policy_schema

    return json.dumps(policy_schema(), indent=1) + "\n"


def _document(words: tuple[str, ...]) -> Path | None:
    """The only argument without --extend: a diff.json."""
    if len(words) > 1:
        raise UsageError(f"{words[1]!r}: gate takes one diff.json; to run a command, use --extend N -- COMMAND")
    problem = problem_of_path(words[0]) if words else None
    if problem:
        raise UsageError(problem)
    return Path(words[0]) if words else None


def _from_sides(
    options: dict[str, Any], output: Path | None, varied: tuple[str, ...], trace: Path | None = None
) -> Diff:
    from rlcompare.app.comparison import Request, compare_sides

    return compare_sides(Request(**options), output, varied, trace)


def _from_document(path: Path, options: dict[str, Any], *, whole: bool = False) -> Diff:
    """Reads the diff from a diff.json. Rules need no rows; for a report, long tables are read in ``whole``.

    Raises:
        UsageError: sides or a selection were given too.
        InputError: the file cannot be read.
    """
    if any(options[name] for name in ("new", "baseline", "steps", "base_steps", "new_steps", "ranks")):
        raise UsageError(f"{path} is already a comparison: pass it alone, or use -d and -bp instead")
    from rlcompare.app.documents import read_whole
    from rlcompare.report.document import read_document

    read = read_whole if whole else read_document
    return read(path, "Pass the diff.json that rlcompare diff wrote, or -d and -bp")
