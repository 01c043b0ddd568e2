"""``rlcompare run``."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlcompare.cli.options import OUTPUT, Command, common_options, option, path_type
from rlcompare.errors import UsageError

if TYPE_CHECKING:
    from rlcompare.collect.reference.config.schema import Config

CONFIGURATION = "Configuration"


@click.command("run", cls=Command)
@click.argument("overrides", nargs=-1, metavar="[KEY=VALUE]...")
@option(
    "-c",
    "--config",
    "file",
    type=path_type(dir_okay=False),
    metavar="FILE",
    section=CONFIGURATION,
    help="Configuration in YAML, in verl's tree.",
)
@option(
    "--seed",
    type=int,
    metavar="N",
    section=CONFIGURATION,
    help="Seed of weights, prompts and sampling (data.seed).",
)
@option(
    "--print-config",
    is_flag=True,
    section=CONFIGURATION,
    help="Print the whole configuration as YAML, but do not run it.",
)
@option(
    "-o",
    "--output",
    type=path_type(),
    metavar="DIR",
    section=OUTPUT,
    help="The run directory.  [default: a new one in runs/]",
)
@option(
    "--against",
    type=path_type(),
    metavar="PATH",
    section=CONFIGURATION,
    help="Also run a baseline, in turn with the new runs: the configuration of a run directory, or of a YAML file. "
    "KEY=VALUE changes it for the new side.",
)
@option(
    "-n",
    "--repeat",
    type=click.IntRange(1),
    metavar="N",
    section=OUTPUT,
    help="Run N times, into DIR/run1, DIR/run2, …, with consecutive seeds.  [default: 1, 5 with --against]",
)
@option("--force", is_flag=True, section=OUTPUT, help="Replace an existing run in DIR.")
@common_options
def command(
    overrides: tuple[str, ...],
    file: Path | None,
    output: Path | None,
    seed: int | None,
    against: Path | None,
    repeat: int | None,
    force: bool,
    print_config: bool,
    quiet: bool,
) -> None:
    """Run the reference RL step (GRPO, DAPO, PPO) under a profiler.

    Runs unprofiled steps to measure times, and profiled steps to explain them. Writes run.json, metrics.jsonl and
    profile/ to DIR, which "rlcompare diff" can compare. KEYs are those of verl: see --print-config.

    With --against, makes both sides of a comparison on this machine, in the order A B B A, so that a drift of the
    machine does not count: N runs into DIR/baseline, N into DIR/new. The new side has the baseline's configuration with
    KEY=VALUE, or that of -c FILE. The same command continues an interrupted series.

    \b
    rlcompare run -o runs/base
    rlcompare run -o runs/new actor_rollout_ref.actor.ppo_epochs=2
    rlcompare run --against runs/base -n 5 -o ab actor_rollout_ref.actor.ppo_epochs=2
    rlcompare run algorithm.adv_estimator=gae trainer.n_gpus_per_node=2 global_profiler.steps=[6,12]
    """
    from rlcompare.collect.reference.config.load import load_config, to_yaml

    given = [*overrides, *([] if seed is None else [f"data.seed={seed}"])]
    if against is not None and file is None:
        from rlcompare.collect.reference.against import new_config

        config, given = new_config(against, given)
    else:
        config = load_config(given, file)
    if print_config:
        click.echo(to_yaml(config), nl=False)
        return
    _need_torch()
    from rlcompare.collect.reference.launch import Launch, check, launch
    from rlcompare.collect.reference.launched import is_launched
    from rlcompare.collect.run_directory import prepare_all

    if against is not None:
        _run_both(against, (config, given), output, repeat, force, quiet)
        return
    repeat = repeat or 1
    if is_launched() and (output is None or repeat > 1):
        raise UsageError("under torchrun, set the same run directory on all processes with -o, and do not use --repeat")
    folder = output or _new_folder(config.trainer.experiment_name)
    check(config, folder)
    is_first = not is_launched() or os.environ["RANK"] == "0"
    targets = prepare_all(folder, repeat, force) if is_first else [folder]
    for number, target in enumerate(targets):
        if repeat > 1 and not quiet:
            click.echo(f"{target.name} of {repeat}")
        seed_of = config.data.seed + number
        seeded = replace(config, data=replace(config.data, seed=seed_of))
        overrides_of = [*given, f"data.seed={seed_of}"] if repeat > 1 else given
        launch(Launch(seeded, overrides_of, target, quiet, fresh=repeat > 1))
    if is_first:
        _end(folder, quiet)


def _end(folder: Path, quiet: bool) -> None:
    """Prints where the run is, and the next command."""
    from rlcompare.collect.reference.console import next_command
    from rlcompare.text import safe_text

    click.echo(f"run         {safe_text(str(folder), 1000)}", err=quiet)
    command = next_command(folder)
    if not quiet and safe_text(command, 1000) == command:
        click.echo(f"next        {command}")


def _run_both(
    against: Path, new: tuple[Config, list[str]], output: Path | None, repeat: int | None, force: bool, quiet: bool
) -> None:
    """Makes the runs of both sides, and prints the command that judges them."""
    from rlcompare.collect.reference.against import RUNS, baseline_config, differences_text, make, plan
    from rlcompare.collect.reference.launched import is_launched
    from rlcompare.text import safe_text

    if is_launched():
        raise UsageError("--against starts the processes of its runs itself: do not use it under torchrun")
    folder = output or _new_folder(new[0].trainer.experiment_name)
    baseline = baseline_config(against)
    planned = plan(folder, baseline, new, repeat or RUNS, force)

    def say(line: str) -> None:
        if not quiet:
            click.echo(safe_text(line, 1000))

    say(f"differs     {differences_text(baseline[0], new[0])}")
    make(planned, say)
    sides = [shlex.quote(str(folder / side)) for side in ("new", "baseline")]
    click.echo(f"next        rlcompare gate -d {sides[0]} -bp {sides[1]}", err=quiet)


def _new_folder(experiment: str) -> Path:
    """A folder below ``runs/`` for an experiment. Its name must not lead outside ``runs/``.

    Raises:
        UsageError: the name is not a valid folder name.
    """
    if not experiment.strip(".") or any(sign in experiment for sign in "/\\\0"):
        raise UsageError(
            f"trainer.experiment_name={experiment} cannot name a folder below runs/: use a name without slashes, or"
            " choose the run directory with -o"
        )
    return Path("runs") / f"{experiment}-{datetime.now():%Y%m%d-%H%M%S}"


def _need_torch() -> None:
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise UsageError("rlcompare run needs PyTorch: pip install 'rlcompare[collect]'")
