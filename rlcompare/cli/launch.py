"""``rlcompare launch``."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlcompare.app import messages
from rlcompare.cli.options import OUTPUT, Command, common_options, option, path_type

if TYPE_CHECKING:
    from rlcompare.collect.verl.launch import VerlJob

PROFILING = "Profiling"


@click.command("launch", cls=Command, context_settings={"allow_interspersed_args": False})
@click.argument("job", nargs=-1, metavar="-- COMMAND...")
@option(
    "--tool",
    type=click.Choice(["npu", "torch", "nsys", "torch_memory"]),
    section=PROFILING,
    help="The verl profiler to use.  [default: npu where torch_npu is installed, else torch]",
)
@option(
    "--probe",
    "probes",
    multiple=True,
    metavar="'PRESET [KEY=VALUE]...'",
    section=PROFILING,
    help="Record a few decode steps, mini or micro batches instead of whole steps: "
    "'vllm-decode skip_first=30 active=3'.",
)
@option(
    "-o",
    "--output",
    type=path_type(),
    metavar="DIR",
    section=OUTPUT,
    help="The run directory.  [default: a new one in runs/]",
)
@option("--seed", type=int, metavar="N", section=OUTPUT, help="Seed of the job (data.seed).")
@option(
    "--repeat",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    section=OUTPUT,
    help="Run the job N times, into DIR/run1, DIR/run2, …, with consecutive seeds.",
)
@option("--force", is_flag=True, section=OUTPUT, help="Replace an existing run in DIR.")
@option("--dry-run", is_flag=True, section=OUTPUT, help="Print the command, but do not run it.")
@common_options
def command(
    job: tuple[str, ...],
    tool: str | None,
    probes: tuple[str, ...],
    output: Path | None,
    seed: int | None,
    repeat: int,
    force: bool,
    dry_run: bool,
    quiet: bool,
) -> int:
    """Run a verl job under verl's own profilers.

    Adds the settings that the job's verl version needs for profiling and for logging metrics to DIR. Your own settings
    are kept, but loggers are added to trainer.logger, and profiling is switched on if you had switched it off.
    "rlcompare diff" can then compare DIR. The exit code is that of the job. A job that is submitted
    to a Ray cluster is followed to its end, even with --no-wait.

    \b
    rlcompare launch -o runs/base -- python3 -m verl.trainer.main_ppo KEY=VALUE ...
    rlcompare launch -o runs/base -- ray job submit --working-dir . -- python3 -m verl.trainer.main_ppo KEY=VALUE ...
    """
    from rlcompare.collect.run_directory import LOG, prepare_all
    from rlcompare.collect.verl.command import parse_command
    from rlcompare.collect.verl.launch import make_job, run
    from rlcompare.errors import UsageError
    from rlcompare.text import safe_text

    folder = output or Path("runs") / f"verl-{datetime.now():%Y%m%d-%H%M%S}"
    repeated = repeat > 1
    targets = [folder / f"run{number + 1}" for number in range(repeat)] if repeated else [folder]
    environment = dict(os.environ)

    def job_of(target: Path, *more: str) -> VerlJob:
        return make_job(parse_command(job).tokens_with(more), target, tool, environment, probes)

    if seed is None and repeated:
        seed = job_of(targets[0]).seed
    jobs = [
        job_of(target, *([] if seed is None else [f"++data.seed={seed + number}"]))
        for number, target in enumerate(targets)
    ]
    submission = jobs[0].command.submission
    if repeated and submission and submission.identity:
        raise UsageError(
            f"--repeat {repeat} submits several jobs, and each needs its own id: remove that of ray job submit"
        )
    if not quiet or dry_run:
        _tell(jobs[0].plan.notes)
    if dry_run:
        _tell([f"rlcompare adds the {len(jobs[0].plan.overrides)} overrides that are indented furthest"])
        if submission:
            _tell(["ray job submit gets an identifier and --no-wait, because rlcompare follows the job itself"])
        click.echo("\n\n".join(planned.shown for planned in jobs))
        return 0
    prepare_all(folder, repeat, force)
    code = 0
    for planned in jobs:
        if not quiet:
            _tell([planned.summary])
        result = run(planned, environment)
        _tell(result.notes)
        code = result.code
        if code or result.interrupted:
            break
    if not quiet:
        _tell([f"{targets[0] / LOG} holds everything that the job printed, secrets included; only you can read it"])
    click.echo(f"run         {safe_text(str(folder), 1000)}", err=quiet)
    return code


def _tell(notes: list[str]) -> None:
    for note in notes:
        messages.say(note)
