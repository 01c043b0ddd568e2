"""Makes more runs of both sides until the gate decides (``rlcompare gate --extend``).

The sides take turns (A B B A …), and the gate looks after every second pair of runs, with odds that were divided over
all planned looks beforehand (``gate.sequential``). The plan and the runs that were made are kept in a folder beside the
new side's, so that an interrupted series is continued, with the same plan.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlcompare import interrupt, temporary, untrusted
from rlcompare.errors import ExitCode, InputError, OutputError, UsageError
from rlcompare.gate.sequential import Look, Odds, looks
from rlcompare.locking import try_lock
from rlcompare.model.verdict import GateResult
from rlcompare.model.words import SIDES, RuleSeverity, SideName, Status

PLAN = "plan.json"
LOCK = "lock"
_PATIENCE_SECONDS = 30
_MOST_RUNS = 10_000
_RUN = re.compile(r"run\d{1,6}")


@dataclass(frozen=True)
class Extension:
    """What to run, and how often.

    Attributes:
        folders: of the sides; a run is a folder below. They need not exist.
        most: runs a side.
        command: ``{side}``, ``{out}`` and ``{number}`` in it stand for the side, the folder of the run, and the number
            of the pair of runs, from 1.
        fixed: whether the baseline keeps the runs that it has; its folder is then never used.
        exact: whether to look only where no spread between runs must be assumed.
    """

    folders: Mapping[SideName, Path]
    most: int
    command: tuple[str, ...]
    fixed: bool = False
    exact: bool = False

    def ends(self, first: tuple[int, int]) -> tuple[int, int]:
        """How many runs of each side there may be."""
        return first[0] if self.fixed else self.most, self.most

    @property
    def records(self) -> Path:
        """The folder of the plan and the logs."""
        new = self.folders["new"]
        return new.with_name(f"{new.name}.extend")


@dataclass
class _Series:
    """The state of a series, kept in ``plan.json``."""

    first: tuple[int, int]
    most: int
    made: list[str] = field(default_factory=list)
    current: str | None = None

    def write(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            temporary.sweep(folder)
            with temporary.replacing(folder / PLAN) as partial:
                partial.write_text(json.dumps(vars(self), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise OutputError(folder / PLAN, error.strerror or type(error).__name__, "free some disk space") from error

    def runs(self, side: SideName) -> int:
        """The runs of a side."""
        return self.first[SIDES.index(side)] + sum(name.startswith(f"{side}/") for name in self.made)


def extend(
    request: Extension,
    count: Callable[[SideName], int],
    judge: Callable[[Odds], GateResult],
    say: Callable[[str], None],
) -> GateResult:
    """The first verdict that is decided, else the last one.

    Args:
        count: the number of runs that a side has before the series.
        judge: compares the runs that there are, and judges them with these odds.
        say: receives a line for each run and each look.

    Raises:
        UsageError: the series was begun with another number of runs, or another process makes it.
        InputError: the command failed, or wrote nothing.
    """
    if not (request.records / PLAN).is_file():
        _first(request, count)  # refuses before anything is written
    with _alone(request.records):
        return _extended(request, count, judge, say)


@contextmanager
def _alone(records: Path) -> Iterator[None]:
    """Keeps other processes from the series: they would take a run that is being made for an unfinished one.

    A finished series can be judged again where nothing can be written.
    """
    try:
        records.mkdir(parents=True, exist_ok=True)
        file = (records / LOCK).open("ab")
    except OSError as error:
        if (records / PLAN).is_file():
            yield
            return
        raise OutputError(records / LOCK, error.strerror or type(error).__name__, "check its permissions") from error
    with file:
        if try_lock(file.fileno()) is False:
            raise UsageError(f"{records}: another process makes the runs of this series; wait until it has ended")
        yield


def _extended(
    request: Extension,
    count: Callable[[SideName], int],
    judge: Callable[[Odds], GateResult],
    say: Callable[[str], None],
) -> GateResult:
    series = _opened(request, count)
    ends = request.ends(series.first)
    turns = _turns(series.first, ends)
    planned = looks(series.first, ends, exact=request.exact)
    if hint := _hint(request):
        say(hint)
    result = None
    for number, look in enumerate(planned):
        while not _reached(series, look):
            _make(request, series, *turns[len(series.made)], say)
        if [series.runs(side) for side in SIDES] != [*look.runs]:
            continue  # the series was continued, and had passed this look
        result = judge(look.odds)
        say(f"look {number + 1} of {len(planned)}, {look.runs[0]} against {look.runs[1]} runs: {result.summary}")
        if not _is_open(result):
            break
    assert result is not None
    return result


def _hint(request: Extension) -> str:
    """What the command must heed by itself; empty if its words say all that there is to know."""
    words = {"{out}": "write its run to $RLCOMPARE_OUT", "{side}": "run what $RLCOMPARE_SIDE names"}
    needed = ("{out}",) if request.fixed else ("{out}", "{side}")
    absent = [word for word in needed if not any(word in token for token in request.command)]
    duties = " and ".join(words[word] for word in absent)
    return f"the command has no {' and no '.join(absent)}: it must {duties} itself" if absent else ""


def _is_open(result: GateResult) -> bool:
    """Whether more runs may decide."""
    if result.exit_code not in (ExitCode.OK, ExitCode.INCONCLUSIVE):
        return False
    errors = [verdict for verdict in result.verdicts if verdict.rule.severity == RuleSeverity.ERROR]
    return any(verdict.status == Status.INCONCLUSIVE for verdict in errors)


def _turns(first: tuple[int, int], ends: tuple[int, int]) -> list[tuple[SideName, int]]:
    """Which side each run is of, and the number of its pair, in the order of time."""
    missing = {side: end - count for side, count, end in zip(SIDES, first, ends, strict=True)}
    turns: list[tuple[SideName, int]] = []
    for number in range(1, max(missing.values()) + 1):
        pair = SIDES if number % 2 else tuple(reversed(SIDES))
        turns += [(side, number) for side in pair if number <= missing[side]]
    return turns


def _reached(series: _Series, look: Look) -> bool:
    return all(series.runs(side) >= runs for side, runs in zip(SIDES, look.runs, strict=True))


def _first(request: Extension, count: Callable[[SideName], int]) -> tuple[int, int]:
    """The runs of both sides before a new series.

    Raises:
        UsageError: there are enough.
    """
    first = (count("baseline"), count("new"))
    if all(have >= end for have, end in zip(first, request.ends(first), strict=True)):
        raise UsageError(
            f"--extend {request.most}: there are {first[0]} against {first[1]} runs already; leave --extend out"
        )
    return first


def _opened(request: Extension, count: Callable[[SideName], int]) -> _Series:
    """The series that was begun in these folders, else a new one."""
    plan = request.records / PLAN
    if not plan.is_file():
        series = _Series(_first(request, count), request.most)
        series.write(request.records)
        return series
    try:
        found: Any = untrusted.parse_json(untrusted.read(plan, untrusted.MOST_SETTINGS_BYTES))
        first = (int(found["first"][0]), int(found["first"][1]))
        current = None if found["current"] is None else str(found["current"])
        series = _Series(first, int(found["most"]), list(map(str, found["made"])), current)
        if not _is_sound(series, request):
            raise ValueError(PLAN)
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        raise InputError(plan, "the plan of the series is damaged", "Start a new one in other folders") from error
    if series.most != request.most:
        raise UsageError(
            f"--extend {request.most}: this series was planned with {series.most} runs a side, and its error rate holds"
            f" for that plan only: use --extend {series.most}, or begin a new series in other folders"
        )
    if request.fixed and count("baseline") != first[0]:
        raise UsageError(
            f"this series was begun against {first[0]} runs of the baseline, and now there are {count('baseline')}:"
            " begin a new series in another folder"
        )
    if series.current is not None:
        _put_aside(request, series, "unfinished")
    return series


def _is_sound(series: _Series, request: Extension) -> bool:
    """Whether the runs that a plan lists are among those that it plans."""
    if not 0 <= min(series.first) <= max(series.first) <= _MOST_RUNS or series.most > _MOST_RUNS:
        return False
    turns = _turns(series.first, request.ends(series.first))
    made = [name.partition("/")[0] for name in series.made]
    return series.most != request.most or made == [side for side, _ in turns[: len(made)]]


def _make(request: Extension, series: _Series, side: SideName, number: int, say: Callable[[str], None]) -> None:
    """Makes one run."""
    target = _free(request.folders[side])
    series.current = f"{side}/{target.name}"
    series.write(request.records)
    log = request.records / f"{side}-{target.name}.log"
    words = {"{side}": side, "{out}": str(target), "{number}": str(number)}
    command = [_filled(token, words) for token in request.command]
    try:
        target.mkdir(parents=True)
        code = _run(command, {"RLCOMPARE_SIDE": side, "RLCOMPARE_OUT": str(target.absolute())}, log)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        hint = "check that it exists and may be executed"
        raise UsageError(f"the command cannot be started ({reason}), {hint}: {shlex.join(command)}") from error
    problem = (
        f"the command ended with exit code {code}" if code else None if any(target.iterdir()) else "it wrote no run"
    )
    if problem is not None:
        kept = _put_aside(request, series, "failed")
        wrote = f"; {kept} has what it wrote" if kept else ""
        hint = "" if code else f". The run must be written to {target}: pass {{out}}, or read $RLCOMPARE_OUT"
        raise InputError(
            log, f"{problem} ({side}, {target.name}: {shlex.join(command)})",
            f"Its output is in this file{wrote}{hint}. The same command continues the series",
        )  # fmt: skip
    series.made.append(series.current)
    series.current = None
    series.write(request.records)
    say(f"run {len(series.made)}: {side} {target}")


def _filled(token: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        token = token.replace(word, value)
    return token


def _free(folder: Path) -> Path:
    """The first folder ``runN`` below a folder that does not exist."""
    number = 1
    while os.path.lexists(folder / f"run{number}"):
        number += 1
    return folder / f"run{number}"


def _put_aside(request: Extension, series: _Series, why: str) -> Path | None:
    """Moves what the current run wrote away from its side, so that it is no sample. None: it wrote nothing."""
    side, _, name = (series.current or "").partition("/")
    series.current = None
    series.write(request.records)
    folder = next((request.folders[known] / name for known in SIDES if known == side and _RUN.fullmatch(name)), None)
    if folder is None or not folder.is_dir():
        return None
    if not any(folder.iterdir()):
        folder.rmdir()
        return None
    kept = request.records / f"{why}-{side}-{name}"
    number = 1
    while os.path.lexists(kept):
        number += 1
        kept = request.records / f"{why}-{side}-{name}-{number}"
    shutil.move(folder, kept)
    return kept


def _run(command: Sequence[str], variables: Mapping[str, str], log: Path) -> int:
    """Runs the command to its end; 128 + N if signal N ended it. It is told when we are interrupted."""
    with (
        log.open("wb") as sink,
        subprocess.Popen(
            command, env=os.environ | variables, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink,
            start_new_session=True,
        ) as process,
    ):  # fmt: skip
        try:
            code = process.wait()
        except KeyboardInterrupt:
            _tell(process, interrupt.received() or signal.SIGINT)
            try:
                process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                _tell(process, signal.SIGKILL)
            raise
    return 128 - code if code < 0 else code


def _tell(process: subprocess.Popen[bytes], number: int) -> None:
    """Signals the command and all of its processes."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        process.send_signal(number)
