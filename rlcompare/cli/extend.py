"""The part of ``rlcompare gate`` that makes runs until it is decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rlcompare.app import messages
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
        " runs; a baseline that is not such a folder keeps the runs it has.  [default: new ones in runs/]",
    )(function)


def judge_extended(
    most: int,
    command: tuple[str, ...],
    options: dict[str, Any],
    output: Path | None,
    policy: Policy,
    spreads: Callable[..., Mapping[str, Spread]],
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

    if not command:
        raise UsageError("--extend needs the command that makes a run: -- COMMAND..., with {out} for its folder")
    folders, fixed = _folders(options)
    for side, folder in folders.items():
        options = options if options[side] else {**options, side: (str(folder),)}
    compared: list[Diff] = []

    def judged(odds: Odds) -> GateResult:
        compared.append(compare_sides(Request(**{**options, "quiet": True}), output, policy.varied))
        said = options["quiet"] or len(compared) > 1
        return judge(compared[-1], policy, spreads(compared[-1], quiet=said), odds)

    def say(line: str) -> None:
        if not options["quiet"]:
            messages.say(line)

    def count(side: SideName) -> int:
        return _all_runs(options) if fixed and side == "baseline" else _count(folders[side], options)

    extension = Extension(folders, most, command, fixed, exact=policy.evidence == EvidenceMode.RUNS)
    result = extend(extension, count, judged, say)
    return compared[-1], result


def _folders(options: dict[str, Any]) -> tuple[dict[SideName, Path], bool]:
    """The folders of the sides, and whether the baseline is something else, whose runs stay as they are."""
    if not options["new"] and not options["baseline"]:
        series = Path("runs") / f"gate-{datetime.now():%Y%m%d-%H%M%S}"
        return {"baseline": series / "baseline", "new": series / "new"}, False
    if not options["new"] or not options["baseline"]:
        raise UsageError("--extend: give both sides with -d and -bp, or none")
    new, baseline = parse_side("-d", options["new"]).paths, parse_side("-bp", options["baseline"]).paths
    if len(new) != 1 or not _takes_runs(new[0]):
        raise UsageError("--extend adds runs to the folder of the new side: give one folder of runs with -d")
    if new[0].absolute() == baseline[0].absolute():
        raise UsageError("--extend: -d and -bp name the same folder: give each side its own")
    fixed = len(baseline) != 1 or not _takes_runs(baseline[0]) or _is_named(baseline[0], options)
    return {"baseline": baseline[0], "new": new[0]}, fixed


def _takes_runs(path: Path) -> bool:
    """Whether runs can be added to a path: it does not exist, or is a folder of folders, and not of one run."""
    from rlcompare.remote import url_of

    if url_of(path) is not None or (path.exists() and not path.is_dir()):
        return False
    return not path.exists() or all(entry.is_dir() for entry in path.iterdir() if not entry.name.startswith("."))


def _is_named(path: Path, options: dict[str, Any]) -> bool:
    """Whether a path means a baseline that is kept under a name."""
    from rlcompare.app.baselines import referred

    return referred(path, options["baselines"]) is not None


def _all_runs(options: dict[str, Any]) -> int:
    """The number of runs of a baseline that is kept under a name, at a URL, or in several places."""
    from rlcompare.app.comparison import read_runs

    names = ("prefer", "layout", "cache_dir", "no_cache", "engine", "ray_address", "baselines")
    paths = parse_side("-bp", options["baseline"]).paths
    return read_runs(paths, len, quiet=True, **{name: options[name] for name in names})


def _count(folder: Path, options: dict[str, Any]) -> int:
    """The number of runs in a folder that may be empty or absent."""
    from rlcompare.app.selection import select_runs

    if not folder.is_dir() or not any(folder.iterdir()):
        return 0
    return len(select_runs(folder, prefer=options["prefer"], layout=options["layout"], ranks=None, steps=None))
