"""The part of ``rlcompare gate`` that makes runs until it is decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rlcompare.app.arguments import parse_side
from rlcompare.cli.options import option
from rlcompare.errors import UsageError

if TYPE_CHECKING:
    from rlcompare.compare.estimate import Spread
    from rlcompare.gate.sequential import Odds
    from rlcompare.model.diff import Diff
    from rlcompare.model.verdict import GateResult, Policy
    from rlcompare.model.words import SideName

MORE_RUNS = "More runs"
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def extend_option(function: Decorated) -> Decorated:
    """``--extend``."""
    return option(
        "--extend",
        type=click.IntRange(2, 100),
        metavar="N",
        section=MORE_RUNS,
        help="Repeat COMMAND for both sides in turn until the rules are decided, up to N runs a side. {side}, {out} and"
        " {number} in it stand for the side, the folder of the run and its number. -d and -bp are the folders of the"
        " runs.  [default: new ones in runs/]",
    )(function)


def judge_extended(
    most: int,
    command: tuple[str, ...],
    options: dict[str, Any],
    output: Path | None,
    policy: Policy,
    spreads: Callable[[Diff], Mapping[str, Spread]],
) -> tuple[Diff, GateResult]:
    """The last comparison of a series of growing sides, and its verdicts.

    Args:
        spreads: by metric, how much earlier runs differed.

    Raises:
        UsageError: there is no command, or a side is not one folder.
    """
    from rlcompare.app.comparison import Request, compare_sides
    from rlcompare.app.extend import Extension, extend
    from rlcompare.gate import judge
    from rlcompare.model.words import EvidenceMode
    from rlcompare.text import safe_text

    if not command:
        raise UsageError("--extend needs the command that makes a run: -- COMMAND..., with {out} for its folder")
    folders = _folders(options)
    sides = {"baseline": (str(folders["baseline"]),), "new": (str(folders["new"]),)}
    for side, option_name in (("baseline", "-bp"), ("new", "-d")):
        label = parse_side(option_name, options[side]).label if options[side] else None
        options = {**options, side: tuple(f"{label}={path}" if label else path for path in sides[side])}
    compared: list[Diff] = []

    def judged(odds: Odds) -> GateResult:
        compared.append(compare_sides(Request(**{**options, "quiet": True}), output, policy.varied))
        return judge(compared[-1], policy, spreads(compared[-1]), odds)

    def say(line: str) -> None:
        if not options["quiet"]:
            click.echo(f"rlcompare: {safe_text(line, 2000)}", err=True)

    extension = Extension(folders, most, command, exact=policy.evidence == EvidenceMode.RUNS)
    result = extend(extension, lambda side: _count(folders[side], options), judged, say)
    return compared[-1], result


def _folders(options: dict[str, Any]) -> dict[SideName, Path]:
    """The folders of the sides."""
    if not options["new"] and not options["baseline"]:
        series = Path("runs") / f"gate-{datetime.now():%Y%m%d-%H%M%S}"
        return {"baseline": series / "baseline", "new": series / "new"}
    folders = []
    for name, given in (("-bp", options["baseline"]), ("-d", options["new"])):
        paths = parse_side(name, given).paths
        if len(paths) != 1 or (paths[0].exists() and not paths[0].is_dir()):
            raise UsageError(f"--extend adds runs to the folder of each side: give one folder with {name}")
        folders.append(paths[0])
    if folders[0].absolute() == folders[1].absolute():
        raise UsageError("--extend: the sides need folders of their own")
    return {"baseline": folders[0], "new": folders[1]}


def _count(folder: Path, options: dict[str, Any]) -> int:
    """The number of runs in a folder that may be empty or absent."""
    from rlcompare.app.selection import select_runs

    if not folder.is_dir() or not any(folder.iterdir()):
        return 0
    return len(select_runs(folder, prefer=options["prefer"], layout=options["layout"], ranks=None, steps=None))
