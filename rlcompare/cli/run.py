"""``rlcompare run``."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from rlcompare.cli.attach import attach_options
from rlcompare.cli.options import common_options, path_type
from rlcompare.errors import UsageError


class _Run(click.Command):
    """Options of a job's command, without -- before it, would be taken for rlcompare's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_launched = "--launcher" in args and "--" not in args
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if is_launched:
                raise UsageError(
                    f"{error.option_name} is no option of rlcompare: put -- before the job's command, as in "
                    "rlcompare run --launcher verl -o DIR -- python3 -m verl.trainer.main_ppo"
                ) from error
            raise


@click.command("run", cls=_Run)
@click.argument("overrides", nargs=-1, metavar="[KEY=VALUE]… | -- COMMAND…")
@click.option(
    "-c",
    "--config",
    "file",
    type=path_type(dir_okay=False),
    metavar="FILE",
    help="Configuration in YAML, in verl's tree.",
)
@click.option(
    "-o", "--output", type=path_type(), metavar="DIR", help="The run directory; a new one under runs/ if not given."
)
@click.option("--seed", type=int, metavar="N", help="Seed of weights, prompts and sampling (data.seed).")
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Run N times, into DIR/run1, DIR/run2, … with seeds (data.seed) that count up.",
)
@click.option("--force", is_flag=True, help="Replace the run that is in DIR.")
@click.option("--print-config", is_flag=True, help="Print the whole configuration as YAML, and do nothing else.")
@click.option(
    "--launcher", type=click.Choice(["verl"]), help="Start a verl job, given after --, instead of rlcompare's own step."
)
@click.option(
    "--tool",
    type=click.Choice(["npu", "torch", "nsys", "torch_memory"]),
    help="--launcher: which of verl's profilers; by default npu where torch_npu is installed, else torch.",
)
@click.option(
    "--probe",
    "probes",
    multiple=True,
    metavar="'PRESET [KEY=VALUE]…'",
    help="--launcher: record a few decode steps, mini or micro batches in place of a step: "
    "'vllm-decode skip_first=30 active=3'.",
)
@click.option("--dry-run", is_flag=True, help="--launcher: print the command that would be run, and do nothing else.")
@attach_options
@common_options
def command(
    overrides: tuple[str, ...],
    file: Path | None,
    output: Path | None,
    seed: int | None,
    repeat: int,
    force: bool,
    print_config: bool,
    launcher: str | None,
    tool: str | None,
    probes: tuple[str, ...],
    dry_run: bool,
    quiet: bool,
) -> int | None:
    """Run a real RL training step (GRPO, DAPO, PPO) under a profiler.

    Makes a few plain steps, whose times count, and profiled ones, which explain them. Leaves a run directory that
    rlcompare diff takes as a side: run.json, metrics.jsonl and profile/. Keys are verl's: see --print-config.

    \b
    rlcompare run -o runs/base
    rlcompare run -o runs/new actor_rollout_ref.actor.ppo_epochs=2
    rlcompare run algorithm.adv_estimator=gae trainer.n_gpus_per_node=2 global_profiler.steps=[6,12]

    With --launcher verl, a verl job is run as it is, under verl's own profilers: rlcompare adds what its version needs
    to be profiled and to log its metrics into DIR. What you set yourself stays. The exit code is the job's.

    \b
    rlcompare run --launcher verl -o runs/base -- python3 -m verl.trainer.main_ppo KEY=VALUE ...

    With --attach, a job that runs already under torch_npu.profiler.dynamic_profile is profiled, and nothing else is
    run. Other settings of its profiler_config.json stay. What the job cannot serve ends with the reason, and exit code
    4, within --timeout.

    \b
    rlcompare run --attach CONFIG_DIR --active 3 -o runs/live
    """
    from rlcompare.cli.run_verl import VerlRequest, check_options, run_verl

    check_options(
        launcher,
        {
            "--tool": tool is not None,
            "--probe": bool(probes),
            "--dry-run": dry_run,
            "-c": file is not None,
            "--print-config": print_config,
        },
    )
    if launcher is not None:
        return run_verl(VerlRequest(overrides, output, tool, probes, seed, repeat, force, dry_run, quiet))
    from rlcompare.collect.reference.config.load import load_config, to_yaml

    given = [*overrides, *([] if seed is None else [f"data.seed={seed}"])]
    config = load_config(given, file)
    if print_config:
        click.echo(to_yaml(config), nl=False)
        return None
    _need_torch()
    from rlcompare.collect.reference.launch import Launch, check, launch
    from rlcompare.collect.reference.launched import is_launched
    from rlcompare.collect.run_directory import prepare_all

    if is_launched() and (output is None or repeat > 1):
        raise UsageError("under torchrun, name the run directory with -o, and run once: every process must know it")
    folder = output or Path("runs") / f"{config.trainer.experiment_name}-{datetime.now():%Y%m%d-%H%M%S}"
    check(config, folder)
    is_first = not is_launched() or os.environ["RANK"] == "0"
    targets = prepare_all(folder, repeat, force) if is_first else [folder]
    for number, target in enumerate(targets):
        seed_of = config.data.seed + number
        seeded = replace(config, data=replace(config.data, seed=seed_of))
        overrides_of = [*given, f"data.seed={seed_of}"] if repeat > 1 else given
        launch(Launch(seeded, overrides_of, target, quiet, fresh=repeat > 1))
    if is_first:
        from rlcompare.text import safe_text

        click.echo(f"run         {safe_text(str(folder), 1000)}", err=quiet)
    return None


def _need_torch() -> None:
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise UsageError("rlcompare run needs PyTorch: pip install 'rlcompare[collect]'")
