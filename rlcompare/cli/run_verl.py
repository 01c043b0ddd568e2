"""``rlcompare run --launcher verl``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlcompare.errors import UsageError

if TYPE_CHECKING:
    from rlcompare.collect.verl.launch import VerlJob


@dataclass(frozen=True)
class VerlRequest:
    """What the command line asks for.

    Attributes:
        tokens: the job's command.
        output: the run directory; None: a new one.
        tool: a profiler of verl's; None: by the machine.
        probes: what is sampled in place of profiled steps.
    """

    tokens: tuple[str, ...]
    output: Path | None
    tool: str | None
    probes: tuple[str, ...]
    seed: int | None
    repeat: int
    force: bool
    dry_run: bool
    quiet: bool


def run_verl(request: VerlRequest) -> int:
    """Starts a verl job, several times if asked, and tells what came of it; the exit code is the job's."""
    from rlcompare.collect.run_directory import prepare_all
    from rlcompare.collect.verl.launch import make_job, run
    from rlcompare.text import safe_text

    folder = request.output or Path("runs") / f"verl-{datetime.now():%Y%m%d-%H%M%S}"
    repeated = request.repeat > 1
    targets = [folder / f"run{number + 1}" for number in range(request.repeat)] if repeated else [folder]
    environment = dict(os.environ)

    def job_of(target: Path, *more: str) -> VerlJob:
        return make_job([*request.tokens, *more], target, request.tool, environment, request.probes)

    seed = request.seed
    if seed is None and repeated:
        seed = job_of(targets[0]).seed
    jobs = [
        job_of(target, *([] if seed is None else [f"++data.seed={seed + number}"]))
        for number, target in enumerate(targets)
    ]
    if not request.quiet or request.dry_run:
        _tell(jobs[0].plan.notes)
    if request.dry_run:
        _tell([f"the last {len(jobs[0].plan.overrides)} lines of the command are what rlcompare adds"])
        click.echo("\n\n".join(job.shown for job in jobs))
        return 0
    prepare_all(folder, request.repeat, request.force)
    code = 0
    for job in jobs:
        if not request.quiet:
            click.echo(f"rlcompare: {safe_text(job.summary, 4000)}", err=True)
        result = run(job, environment)
        _tell(result.notes)
        code = result.code
        if code or result.interrupted:
            break
    click.echo(f"run         {safe_text(str(folder), 1000)}", err=request.quiet)
    return code


def _tell(notes: list[str]) -> None:
    from rlcompare.text import safe_text

    for note in notes:
        click.echo(f"rlcompare: {safe_text(note, 4000)}", err=True)


def check_options(launcher: str | None, given: dict[str, bool]) -> None:
    """Refuses options of the one kind of run with the other.

    Args:
        given: by option, whether it was given; those of a launcher begin with ``--launcher``.
    """
    for option, is_given in given.items():
        if not is_given:
            continue
        if launcher is None and option in ("--tool", "--probe", "--dry-run"):
            raise UsageError(f"{option} goes with --launcher verl")
        if launcher is not None and option in ("-c", "--print-config"):
            raise UsageError(f"{option} configures rlcompare's own step; verl's job has its own --config-name")
