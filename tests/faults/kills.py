"""Kills commands at random moments, and checks that the next command finds nothing damaged and leaves nothing over.

    python -m tests.faults.kills --seeds 0-199

A seed chooses the command and the moment: after a fraction of its usual time, or after one of its operations on files.
Then the same command runs again. Its results must be those of an undisturbed one, and so must all files that exist.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults.processes import Place, Watch, aside, finish, kill, run, start

Arguments = tuple[object, ...]
_SAMPLE = ("--steps", "2,3", "--layers", "1", "--decode-steps", "1", "--export", "both", "-q")
_RUN = ("actor_rollout_ref.model.path=tiny", "trainer.total_training_steps=3", "trainer.warmup_steps=1")


@dataclass(frozen=True)
class Scenario:
    """A command that is killed.

    Attributes:
        command: its arguments; the inputs are in ``../inputs``.
        facts: what must be the same afterwards, from the folder.
        before: commands that prepare the folder.
        again: the commands after the kill, with the exit codes that they may have; default: the same one, with 0.
    """

    command: Arguments
    facts: Callable[[Path], Any]
    before: tuple[Arguments, ...] = ()
    again: tuple[tuple[Arguments, tuple[int, ...]], ...] = ()

    @property
    def next_commands(self) -> tuple[tuple[Arguments, tuple[int, ...]], ...]:
        return self.again or ((self.command, (0,)),)


@dataclass
class Undisturbed:
    """What a scenario does without a kill."""

    seconds: float
    events: int
    facts: Any
    left: set[str] = field(default_factory=set)


def document(path: str, folder: Path) -> Any:
    """A diff.json."""
    return json.loads((folder / path).read_text())


def rows_of(path: str, folder: Path) -> Any:
    """All rows of a store or history, by table; without when it was made."""
    import duckdb

    def read() -> dict[str, list[str]]:
        with duckdb.connect(str(folder / path), read_only=True) as con:
            tables = con.execute("SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
            columns = "COLUMNS(name -> name <> 'added_ns')"
            found = {}
            for schema, name in tables:
                rows = con.execute(f'SELECT {columns} FROM "{schema}"."{name}"').fetchall()
                found[name] = sorted(map(str, rows))
            return found

    return aside(read)


def run_of(path: str, folder: Path) -> Any:
    """What a run directory tells apart from times."""
    described = json.loads((folder / path / "run.json").read_text())
    lines = (folder / path / "metrics.jsonl").read_text().splitlines()
    return described["status"], described["steps"], [sorted(json.loads(line)["data"]) for line in lines]


_DIFF = ("diff", "-q", "-d", "../inputs/new", "-bp", "../inputs/base")
_BASELINE = ("-q", "--baselines", "out/baselines", "--force", "--reason", "because")
_AGAINST_MAIN = (*_DIFF[:4], "-bp", "@main", "--baselines", "out/baselines", "-o", "out/report")
_ADD = ("baseline", "add", "main", "../inputs/base", *_BASELINE)
_PROMOTE = ("baseline", "promote", "main", "../inputs/new", *_BASELINE)
_HISTORY = ("history", "add", "-q", "--history", "out/history.duckdb")

SCENARIOS = {
    "ingest": Scenario(("ingest", "-q", "../inputs/new", "-o", "out/run.duckdb"), partial(rows_of, "out/run.duckdb")),
    "diff": Scenario((*_DIFF, "-o", "out/report"), partial(document, "out/report/diff.json")),
    "diff of text, without cache": Scenario(
        (*_DIFF, "-o", "out/report", "--no-cache", "--prefer", "text"), partial(document, "out/report/diff.json")
    ),
    "gate": Scenario(
        ("gate", *_DIFF[1:], "-o", "out/report", "--format", "junit,md", "--on-inconclusive", "pass"),
        partial(document, "out/report/diff.json"),
        again=(
            (("gate", *_DIFF[1:], "-o", "out/report", "--format", "junit,md", "--on-inconclusive", "pass"), (0, 1)),
        ),
    ),
    "report": Scenario(
        ("report", "-q", "out/report/diff.json", "-o", "out/page.html"),
        lambda folder: (folder / "out/page.html").read_text(),
        before=((*_DIFF, "-o", "out/report"),),
    ),
    "baseline add": Scenario(
        _ADD,
        partial(document, "out/report/diff.json"),
        again=((_ADD, (0, 2)), (_AGAINST_MAIN, (0,))),  # 2: it was added before the kill
    ),
    "baseline promote": Scenario(
        _PROMOTE,
        partial(document, "out/report/diff.json"),
        before=(_ADD,),
        again=((_PROMOTE, (0, 2)), (_AGAINST_MAIN, (0,))),
    ),
    "history add": Scenario(
        (*_HISTORY, "../inputs/new"),
        partial(rows_of, "out/history.duckdb"),
        before=((*_HISTORY, "../inputs/base"),),
    ),
    "run": Scenario(
        ("run", "-q", "-o", "out/run", *_RUN),
        partial(run_of, "out/run"),
        again=((("run", "-q", "--force", "-o", "out/run", *_RUN), (0,)),),
    ),
}


def make_inputs(folder: Path) -> None:
    """The profiles that all commands read."""
    place = Place(folder / "writer")
    for name, change in (("base", ()), ("new", ("--change", "slower:MatMulV2:1.3"))):
        code, said = run(place, ("sample", "-o", f"../inputs/{name}", *_SAMPLE, *change))
        assert code == 0, said
    shutil.rmtree(place.folder)


def prepared(folder: Path, scenario: Scenario) -> Place:
    """A new folder, as the scenario's command finds it."""
    place = Place(folder)
    for arguments in scenario.before:
        code, said = run(place, arguments)
        assert code == 0, said
    return place


def undisturbed(folder: Path, name: str) -> Undisturbed:
    """Runs a scenario without a kill."""
    scenario = SCENARIOS[name]
    place = prepared(folder, scenario)
    with watch(place) as events:
        begin = time.monotonic()
        pid = start(place, scenario.command)
        number = events.wait(sys.maxsize, pid)
        code = finish(pid)
        seconds = time.monotonic() - begin
    assert code in (0, 1), (place.folder / "said").read_text()
    repeat(place, scenario)
    return Undisturbed(seconds, number, scenario.facts(place.folder), named(place))


def repeat(place: Place, scenario: Scenario) -> None:
    """Runs the commands after the kill."""
    for arguments, codes in scenario.next_commands:
        code, said = run(place, arguments)
        assert code in codes, (arguments, code, said)
        assert "Traceback" not in said, said


def watch(place: Place) -> Watch:
    return Watch([place.out, place.cache, place.cache / "parts", place.tmp])


def named(place: Place) -> set[str]:
    """The files that exist, without what differs from run to run.

    Lists of the parts of stores do not count: without one, parts are only read again for another run. Nor does the
    empty file of eight random characters by which Python's tempfile finds out whether a folder can be written to.
    """
    ignored = re.compile(r"cache/parts(/[^.].*-[0-9a-f]{32}\.duckdb\.keys)?|tmp/[a-z0-9_]{8}")
    names = {name for name in place.left() if not ignored.fullmatch(name)}
    return {re.sub(r"[0-9a-f]{16}(?=\.duckdb\.gz)|pid\d+_\d+", "#", name) for name in names}


def disturb(folder: Path, seed: int, name: str, usual: Undisturbed) -> str:
    """Kills a scenario's command, and checks what follows; returns when it was killed."""
    scenario, choose = SCENARIOS[name], random.Random(seed)
    place = prepared(folder, scenario)
    with watch(place) as events:
        pid = start(place, scenario.command)
        if choose.random() < 0.6 and usual.events:
            number = choose.randint(1, usual.events)
            events.wait(number, pid)
            when = f"after operation {number} of {usual.events}"
        else:
            share = choose.random()
            time.sleep(share * usual.seconds)
            when = f"after {share:.0%} of {usual.seconds:.2f} s"
        kill(pid)
        code = finish(pid)
    end = time.monotonic() + 20
    while place.orphans():
        assert time.monotonic() < end, f"{when}: still running: {place.orphans()}"
        time.sleep(0.05)
    before = place.left()
    try:
        repeat(place, scenario)
        assert not (other := difference(usual.facts, scenario.facts(place.folder))), f"other results: {other}"
        assert not (over := named(place) - usual.left), f"left over: {over}"
        assert not (missing := usual.left - named(place)), f"missing: {missing}"
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, {name}, {when}, exit {code}, with {sorted(before)}: {error}") from error
    shutil.rmtree(folder)
    return f"{when} (exit {code}, {len(before)} files)"


def difference(expected: Any, found: Any, where: str = "") -> str:
    """Where two results differ first; empty: nowhere."""
    if type(expected) is not type(found) or not isinstance(expected, dict | list):
        return "" if expected == found else f"{where} is {str(found)[:200]}, not {str(expected)[:200]}"
    if isinstance(expected, list):
        expected, found = dict(enumerate(expected)), dict(enumerate(found))
    pairs = ((key, expected.get(key), found.get(key)) for key in sorted({*expected, *found}))
    return next(filter(None, (difference(one, other, f"{where}/{key}") for key, one, other in pairs)), "")


def check(folder: Path, seeds: Sequence[int], names: Sequence[str], say: Callable[[str], None]) -> int:
    """Kills commands with these seeds; returns the number of failures."""
    make_inputs(folder)
    usual: dict[str, Undisturbed] = {}
    failures = 0
    for seed in seeds:
        name = names[seed % len(names)]
        try:
            if name not in usual:
                usual[name] = undisturbed(folder / f"usual-{len(usual)}", name)
            say(f"{seed:4} {name}: {disturb(folder / f'seed-{seed}', seed, name, usual[name])}")
        except AssertionError as error:
            failures += 1
            say(f"FAILED {error}")
    return failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0-9", metavar="FIRST-LAST")
    parser.add_argument("--only", action="append", choices=sorted(SCENARIOS), help="only these commands")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("-")
    import_all()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        seeds = range(int(first), int(last or first) + 1)
        failures = check(Path(folder), seeds, arguments.only or list(SCENARIOS), partial(print, flush=True))
    print(f"{len(seeds)} kills, {failures} failures")
    sys.exit(failures > 0)


def import_all() -> None:
    """Imports what commands import when they are called, so that forks have it."""
    names = ["duckdb", "pyarrow", "rlcompare.compare", "rlcompare.report.html", "rlcompare.report.terminal"]
    names += [
        "rlcompare.store.cache",
        "rlcompare.sources.registry",
        "rlcompare.app.comparison",
        "rlcompare.app.history",
    ]
    names += [f"rlcompare.cli.{name}" for name in ("diff", "gate", "ingest", "report", "baseline", "history", "sample")]
    for name in names:
        importlib.import_module(name)


if __name__ == "__main__":
    main()
