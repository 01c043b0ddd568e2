"""``rlcompare baseline``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlcompare.app import messages
from rlcompare.app.baselines import VERSIONS_KEPT
from rlcompare.cli.groups import Group
from rlcompare.cli.options import (
    OUTPUT,
    Command,
    Decorated,
    baselines_option,
    cache_options,
    common_options,
    engine_options,
    layout_option,
    option,
    path_type,
    prefer_option,
)
from rlcompare.errors import RlcompareError, UsageError
from rlcompare.text import safe_text

if TYPE_CHECKING:
    from rlcompare.baselines.library import Library
    from rlcompare.baselines.manifest import Manifest, Version

_PLACE = "Place"
_LABEL = 13
_SHORT = 12
_FAR_APART = 1.1
"""Runs whose headline differs by more get a warning. By the noise that a gate assumes, 3 %, ten runs seldom do."""


def _reason_option(function: Decorated) -> Decorated:
    return option("--reason", required=True, metavar="TEXT", help="Why; kept in the baseline's log.")(function)


def _force_option(function: Decorated) -> Decorated:
    text = "Accept runs that are not fit for a baseline; the objections are recorded."
    return option("--force", is_flag=True, help=text)(function)


def _json_option(function: Decorated) -> Decorated:
    return option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print JSON instead.")(function)


def _reading_options(function: Decorated) -> Decorated:
    """How the runs are found and read."""
    function = cache_options(common_options(function))
    return layout_option(prefer_option(baselines_option(_PLACE)(engine_options(function))))


@click.group("baseline", cls=Group)
def command() -> None:
    """Keep runs under a name, to compare with later.

    A baseline is small enough for a git repository: sums only, one file per run. Use its name wherever a
    side is expected: "rlcompare diff -d new/ -bp main". It is never replaced silently: each version has a reason, and
    the older ones stay.
    """


@command.command("add", cls=Command)
@click.argument("name", metavar="NAME")
@click.argument("paths", metavar="RUN...", nargs=-1, required=True, type=path_type())
@_reason_option
@_force_option
@_reading_options
def add_command(**options: Any) -> None:
    """Keep runs as a new baseline.

    RUN is whatever "rlcompare diff" takes as a side; a folder of several runs gives several. Failed or throttled runs,
    runs that ended early or with non-finite losses, and runs of different settings are refused.

    \b
    rlcompare baseline add main runs/base --reason "CANN 8.3.RC1, before the upgrade of vLLM-Ascend"
    """
    _keep("add", **options)


@command.command("promote", cls=Command)
@click.argument("name", metavar="NAME")
@click.argument("paths", metavar="RUN...|@OTHER", nargs=-1, required=True, type=path_type())
@_reason_option
@_force_option
@option(
    "--keep",
    type=click.IntRange(1, 1000),
    default=VERSIONS_KEPT,
    show_default=True,
    metavar="N",
    help="Keep the files of the last N versions; older ones keep only their log.",
)
@_reading_options
def promote_command(**options: Any) -> None:
    """Replace a baseline with other runs; the older version stays, as @NAME:1 and so on.

    RUN may also be a baseline: @OTHER, an older version (@NAME:1), or the current one, to add runs to it.

    \b
    rlcompare baseline promote main runs/new --reason "vLLM-Ascend 0.11 is faster"
    rlcompare baseline promote main @main runs/more --reason "two more runs"
    rlcompare baseline promote main @main:1 --reason "back to version 1: 2 had run on a busy host"
    """
    _keep("promote", **options)


def _keep(
    action: str,
    name: str,
    paths: Sequence[Path],
    reason: str,
    force: bool,
    keep: int = VERSIONS_KEPT,
    **options: Any,
) -> None:
    from rlcompare.app.baselines import add_version, ignored_by_git, library, prepare
    from rlcompare.app.comparison import read_runs
    from rlcompare.baselines.names import plain_name

    name = plain_name(name)
    baselines = library(options["baselines"])
    addition = prepare(baselines, name, action, reason, force=force, keep=keep)
    made = read_runs(paths, lambda runs: add_version(baselines, addition, runs), **options)
    _print_problems(made.current)
    _print_spread(made.current)
    where = baselines.place.path_of(name)
    click.echo(f"baseline {name}, version {made.current.number}: {_size(made.current)} in {where}")
    ignored = ignored_by_git(baselines, made)
    if ignored:
        messages.warn(f"git ignores {len(ignored)} of its files, such as {ignored[0]}: use git add -f")


def _print_problems(version: Version) -> None:
    for problem in version.accepted:
        messages.warn(f"accepted: {problem}")


def _print_spread(version: Version) -> None:
    """Warns about runs that are far apart: what is compared with them has to differ by more."""
    values = [run.value for run in version.runs if run.value is not None]
    if values and min(values) > 0 and max(values) > _FAR_APART * min(values):
        apart = max(values) / min(values) - 1
        messages.warn(
            f"the runs differ by {apart:.0%} ({_headline(version)}): a gate may not see a change of that size. "
            "Was the machine busy, or is one of them another setting?"
        )


@command.command("list", cls=Command)
@_json_option
@baselines_option(_PLACE)
@common_options
def list_command(as_json: bool, baselines: str | None, quiet: bool) -> None:
    """List the baselines."""
    from rlcompare.app.baselines import library, names_in
    from rlcompare.baselines.manifest import Manifest
    from rlcompare.report.table import table_lines

    found = library(baselines)
    entries = list(names_in(found))
    manifests = [manifest for _, manifest in entries if isinstance(manifest, Manifest)]
    if as_json:
        _print_json([_document(manifest) for manifest in manifests])
    elif not entries:
        where = safe_text(found.place.shown, 400)
        click.echo(f"no baselines in {where}: rlcompare baseline add NAME RUN... --reason TEXT", err=True)
    else:
        columns = ("baseline", "version", "runs", "headline", "date", "by", "reason")
        rows = [(manifest.name, *_row(manifest.current)) for manifest in manifests]
        click.echo("\n".join(table_lines(columns, rows)))
    for _, error in entries:
        if isinstance(error, RlcompareError):
            raise error


def _row(version: Version) -> tuple[object, ...]:
    return (
        version.number,
        len(version.runs),
        _headline(version),
        version.date[:10],
        version.author,
        version.reason,
    )


@command.command("show", cls=Command)
@click.argument("name", metavar="NAME[:VERSION]")
@_json_option
@baselines_option(_PLACE)
@common_options
def show_command(name: str, as_json: bool, baselines: str | None, quiet: bool) -> None:
    """Show a baseline: its runs, where they come from, and its log.

    Every file is checked against its hash. For the times of a run use "rlcompare show @NAME/RUN".
    """
    from rlcompare.app.baselines import library
    from rlcompare.baselines.names import reference_in

    found = library(baselines)
    reference = reference_in(name if name.startswith("@") else f"@{name}")
    assert reference is not None
    if reference.run is not None:
        raise UsageError(f"{reference} is a run: rlcompare show {reference}")
    manifest = found.find(reference.name) or found.get(reference.name)
    version = manifest.version(reference)
    if as_json:
        _print_json(_document(manifest))
    else:
        _print(found, manifest, version)
    found.check(manifest)


@command.command("rm", cls=Command)
@click.argument("name", metavar="NAME")
@_reason_option
@baselines_option(_PLACE)
@common_options
def rm_command(name: str, reason: str, baselines: str | None, quiet: bool) -> None:
    """Remove a baseline: the files of all its runs. Its log stays.

    \b
    rlcompare baseline rm cann82 --reason "no host has CANN 8.2 any more"
    """
    from rlcompare.app.baselines import library, prepare, remove
    from rlcompare.baselines.names import plain_name

    found = library(baselines)
    made = remove(found, prepare(found, plain_name(name), "rm", reason))
    click.echo(f"baseline {made.name} removed; its log stays in {found.place.path_of(made.name)}")


def _print(baselines: Library, manifest: Manifest, version: Version) -> None:
    from rlcompare.report.table import table_lines

    lines = [
        ("baseline", f"{manifest.name}, version {version.number}, in {baselines.place.path_of(manifest.name)}"),
        ("reason" if version.runs else "removed", version.reason),
        ("date", f"{version.date[:16].replace('T', ' ')} UTC" + (f" by {version.author}" if version.author else "")),
        ("made in", _made_in(version)),
        ("runs", _size(version) if version.runs else "none"),
        ("headline", _headline(version)),
        ("environment", ", ".join(f"{key} {value}" for key, value in version.environment.items())),
        *(("accepted", problem) for problem in version.accepted),
    ]
    text = [f"{label:<{_LABEL}}{_safe(value)}" for label, value in lines if value]
    if version.runs:
        columns = ("run", f"{version.headline or 'headline'}, {version.unit or '-'}", "KiB", "sha256")
        rows = [(run.name, run.value, run.size_bytes / 1024, run.sha256[:_SHORT]) for run in version.runs]
        text += ["", *table_lines(columns, rows, thousands=True)]
    if len(manifest.versions) > 1:
        log = [
            (other.number, other.date[:10], other.action, len(other.runs), _headline(other), other.author, other.reason)
            for other in reversed(manifest.versions)
        ]
        text += ["", *table_lines(("version", "date", "action", "runs", "headline", "by", "reason"), log)]
    click.echo("\n".join(text))


def _made_in(version: Version) -> str:
    if version.git is None or version.git.commit is None:
        return f"rlcompare {version.rlcompare}".strip()
    changed = " with changes" if version.git.dirty else ""
    by = f", rlcompare {version.rlcompare}" if version.rlcompare else ""
    return f"git commit {version.git.commit[:_SHORT]}{changed}{by}"


def _headline(version: Version) -> str | None:
    """The headline metric over the runs: the mean, and the range of several."""
    from rlcompare.report.quantity import quantity

    values = [run.value for run in version.runs if run.value is not None]
    if version.headline is None or not values:
        return None
    low, high = (quantity(value, version.unit) for value in (min(values), max(values)))
    return f"{version.headline} {low}" if low == high else f"{version.headline} {low} to {high}"


def _size(version: Version) -> str:
    number = "1 run" if len(version.runs) == 1 else f"{len(version.runs)} runs"
    return f"{number}, {sum(run.size_bytes for run in version.runs) / 1024:,.0f} KiB"


def _safe(text: object) -> str:
    from rlcompare.text import safe_text

    return safe_text(text, limit=2000)


def _document(manifest: Manifest) -> dict[str, object]:
    return {"name": manifest.name, "versions": list(manifest.documents)}


def _print_json(document: object) -> None:
    json.dump(document, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")
