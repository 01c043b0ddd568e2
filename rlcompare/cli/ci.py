"""``rlcompare ci``."""

from __future__ import annotations

from pathlib import Path

import click

from rlcompare.app.ci_files import COMMAND, SYSTEMS, ci_text, package_for, target_of, write_ci
from rlcompare.cli.groups import Group
from rlcompare.cli.options import common_options, path_type


@click.group("ci", cls=Group)
def command() -> None:
    """Write a CI job: measure, compare with the last baseline, gate."""


@command.command("init")
@click.argument("system", type=click.Choice(list(SYSTEMS)))
@click.option(
    "--command",
    "command_line",
    default=COMMAND,
    show_default=True,
    metavar="SHELL",
    help="What to measure: one line of shell that leaves a run, or a folder of runs, in $NEW.",
)
@click.option(
    "--install",
    "package",
    metavar="PACKAGE",
    help="What pip installs: a requirement, a wheel or a git URL.  [default: this version, from the package index]",
)
@click.option(
    "--branch",
    help="The branch whose passing runs become the next baseline.  [default: main; on GitLab, the default branch]",
)
@click.option("--baseline", default="main", show_default=True, metavar="NAME", help="The name of the baseline.")
@click.option(
    "-o",
    "--output",
    type=path_type(dir_okay=False),
    metavar="FILE",
    help="Write to this file.  [default: where the system looks for it, in the git repository]",
)
@click.option("--print", "printed", is_flag=True, help="Print the job instead of writing it.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@common_options
def init_command(
    system: str,
    command_line: str,
    package: str | None,
    branch: str | None,
    baseline: str,
    output: Path | None,
    printed: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Write the job for one system.

    The file is .github/workflows/rlcompare.yml, .gitlab-ci.yml or Jenkinsfile. The job installs this version of
    rlcompare, fetches the last baseline, runs your command, gates, posts and uploads the report, and promotes the
    baseline on the main branch. Lines to adapt are marked ADAPT.

    \b
    rlcompare ci init github
    rlcompare ci init github --force --command './measure.sh "$NEW"'
    rlcompare ci init gitlab --print
    """
    text = ci_text(system, branch=branch, baseline=baseline, command=command_line, package=package)
    if printed:
        click.echo(text, nl=False)
        return
    path = output or target_of(system, Path.cwd())
    write_ci(text, path, force=force)
    if not quiet:
        click.echo(f"written     {path}")
        if package is None:
            click.echo(f"installs    {package_for(command_line)} from the package index; --install sets another source")
        click.echo("next        adapt the lines marked ADAPT, and commit it")
