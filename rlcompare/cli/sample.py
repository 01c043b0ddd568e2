"""``rlcompare sample``."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlcompare.app.arguments import split_commas
from rlcompare.cli.options import Command, common_options, option, parse_numbers, path_type
from rlcompare.errors import OutputError, UsageError

if TYPE_CHECKING:
    from rlcompare.writer.spec import Change


FACTOR_BOUNDS = (0.01, 100)
MOST_DELAY_SECONDS = 3600
MOST_RANKS = 100_000


class _Finite(click.FloatRange):
    """A range that refuses nan."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number from {self.min} to {self.max}", param, ctx)
        return number


def _parse_devices(text: str) -> tuple[tuple[int, ...], ...]:
    """``4,5`` is one device per rank, ``0+1,2+3`` two."""
    try:
        return tuple(tuple(int(device) for device in part.split("+")) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--devices {text}: write one entry per rank, such as 4,5 or 0+1,2+3") from None


def _check_bounds(change: Change) -> None:
    """Refuses nan, and values that would take hours to write or overflow a column.

    Raises:
        UsageError: a factor or a delay is out of its bounds.
    """
    least, most = FACTOR_BOUNDS
    if not least <= change.factor <= most:  # also refuses nan
        raise UsageError(
            f"--change {change.kind.value}: the factor must be from {least:g} to {most:g}, not {change.factor}"
        )
    if change.delay_ns > MOST_DELAY_SECONDS * 10**9:
        raise UsageError(f"--change {change.kind.value}: the delay must be at most {MOST_DELAY_SECONDS} s")


@click.command("sample", cls=Command)
@option(
    "-o",
    "--output",
    type=path_type(file_okay=False),
    required=True,
    metavar="DIR",
    help="Directory for the profile; replaced only if this command created it.",
)
@option("--ranks", type=click.IntRange(1, MOST_RANKS), default=2, show_default=True, help="Number of profiled ranks.")
@option("--devices", metavar="LIST", help="Devices of each rank's process: 4,5, or 0+1,2+3 for two each.")
@option("--world-size", type=click.IntRange(1, MOST_RANKS), help="Ranks of the job.  [default: --ranks, at least 2]")
@option(
    "--steps", callback=parse_numbers, default="2", show_default=True, help="Numbers of the profiled steps: 2,3 or 2-5."
)
@option("--no-steps", is_flag=True, help="Record one window without step marks.")
@option(
    "--level",
    type=click.Choice(["level_none", "level0", "level1", "level2"]),
    default="level1",
    show_default=True,
    help="Level of the profiler.",
)
@option(
    "--mode",
    type=click.Choice(["e2e", "discrete"]),
    default="e2e",
    show_default=True,
    help="One window for all phases, or one per phase.",
)
@option(
    "--layout",
    type=click.Choice(["plain", "verl"]),
    default="plain",
    show_default=True,
    help="plain: captures side by side, with step marks; verl: in verl's folders, without step marks.",
)
@option(
    "--export",
    type=click.Choice(["db", "text", "both"]),
    default="db",
    show_default=True,
    help="Database, text files, or both in the same folders.",
)
@option(
    "--schema",
    type=click.Choice(["1.0", "1.2"]),
    default="1.0",
    show_default=True,
    help="Database schema: of early 2025, or of 2026.",
)
@option(
    "--phases",
    default="generate_sequences,compute_log_prob,compute_ref_log_prob,update_actor",
    metavar="LIST",
    show_default=True,
    help="Phases of a step.",
)
@option(
    "--contents",
    default="npu,cpu,memory,shapes,module",
    show_default=True,
    metavar="LIST",
    help="What to record, in verl's terms; stack can be added.",
)
@option("--layers", type=click.IntRange(1, 1000), default=4, show_default=True, help="Number of layers of the model.")
@option(
    "--decode-steps", type=click.IntRange(1, 10_000), default=4, show_default=True, help="Number of generated tokens."
)
@option(
    "--change",
    "changes",
    multiple=True,
    metavar="CHANGE",
    help="slower:TYPE:FACTOR, extra:TYPE, late:RANK:5ms, frequency:0.8, lost-overlap, tokens:1.5 or memory:1.5; "
    "factors from 0.01 to 100. Repeat for several.",
)
@option("--jitter", type=_Finite(0, 0.5), default=0.0, show_default=True, help="Relative noise between runs.")
@option("--seed", type=int, default=0, show_default=True, help="Seed of all noise, names and times.")
@common_options
def command(
    output: Path,
    ranks: int,
    devices: str | None,
    steps: tuple[int, ...],
    no_steps: bool,
    phases: str,
    contents: str,
    changes: tuple[str, ...],
    quiet: bool,
    **settings: Any,
) -> None:
    """Write a sample profile to try rlcompare on.

    Simulates an RL step of a small transformer (generation, log-probabilities, actor update) on Ascend NPUs and
    writes the files that torch_npu would write: one *_ascend_pt folder per rank. The same options give the same files;
    --change changes only what it names.

    \b
    rlcompare sample -o baseline
    rlcompare sample -o new --change slower:MatMulV2:1.3
    rlcompare diff -d new -bp baseline
    """
    from rlcompare.writer import SampleRun, parse_change, write_sample

    del quiet  # a rank takes a fraction of a second
    for change in map(parse_change, changes):
        _check_bounds(change)
    run = SampleRun(
        ranks=tuple(range(ranks)),
        devices=None if devices is None else _parse_devices(devices),
        steps=() if no_steps else steps,
        phases=split_commas([phases]),
        contents=split_commas([contents]),
        changes=tuple(parse_change(change) for change in changes),
        **settings,
    )
    try:
        folders = write_sample(run, output)
    except (OSError, sqlite3.OperationalError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise OutputError(output, str(reason), "free some disk space, or choose another path with -o") from error
    click.echo("\n".join(map(str, folders)))
