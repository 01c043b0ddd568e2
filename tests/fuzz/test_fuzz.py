"""A short run of the harness: what once failed, and the first seeds of some kinds. The long run is a command."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random

import pytest

from tests.fuzz import corpus, forked, kinds
from tests.fuzz.engine import EXPECTED, Recipe, Result, prepare, run_batch, run_recipe
from tests.fuzz.kind import Kind, Mutator, Outcome, Places
from tests.fuzz.oracles import broken_rules

QUICK = ("ascend_db", "nsys_2020")
"""Kinds whose first seeds are tried beside their findings."""
SEEDS = range(2)

FOREVER = "exec('while True: pass')"

KINDS = sorted({recipe.kind for recipe in corpus.recipes()} | set(QUICK))


@pytest.fixture(scope="module")
def process() -> Iterator[ProcessPoolExecutor]:
    """A process that has done nothing else: after DuckDB none may fork, and a fork starts with its memory."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_no_input_breaks_a_rule(name: str, tmp_path: Path, process: ProcessPoolExecutor) -> None:
    kind = kinds.find(name)
    if kind not in kinds.available():
        pytest.skip(f"the inputs of {name} are not here (set RLCOMPARE_SHARED to the folder of real profiles)")
    assert process.submit(_broken, name, tmp_path).result() == []
    places = Places(tmp_path, tmp_path, tmp_path)
    compares = any(arguments[0] == "diff" for arguments in kind.commands(places, Random(0)))
    assert (tmp_path / "home" / EXPECTED).is_file() or not compares, "the sound input was not compared"


def _broken(name: str, tmp_path: Path) -> list[str]:
    """The rules that the sound input of a kind or its mutants break."""
    forked.import_all()
    kind = kinds.find(name)
    if broken := prepare(kind, tmp_path / "home"):
        return broken
    tried = [recipe for recipe in corpus.recipes() if recipe.kind == name]
    tried += [Recipe(name, seed) for seed in SEEDS if name in QUICK]
    return [str(result) for result in _results(tried, kind, tmp_path) if result.broken]


def _results(tried: list[Recipe], kind: Kind, tmp_path: Path) -> list[Result]:
    if kind.batch is not None:
        return run_batch(tried, kind, tmp_path / "home", tmp_path / "work")
    return [run_recipe(recipe, kind, tmp_path / "home", tmp_path / f"{n}") for n, recipe in enumerate(tried)]


class TestHarness:
    """It must notice what it is made for."""

    def outcome(self, tmp_path: Path, **changed: object) -> Outcome:
        facts = {"arguments": ("diff",), "code": 0, "out": "", "err": "", "seconds": 1.0, "peak_bytes": 0}
        return Outcome(**{**facts, **changed}, places=Places(tmp_path, tmp_path, tmp_path / "out"))  # type: ignore[arg-type]

    KIND = Kind("none", lambda home: None, [])

    @pytest.mark.parametrize(
        "changed",
        [
            {"code": 70, "err": "rlcompare: error: unexpected KeyError"},
            {"code": 4, "err": "rlcompare: error: one\nanother line"},
            {"code": None},
            {"code": -9},
            {"peak_bytes": 2 << 30},
            {"out": "\x1b[31mred"},
            {"out": "x" * 50_000},
            {"err": "Traceback (most recent call last):"},
        ],
        ids=str,
    )
    def test_broken_rules(self, tmp_path: Path, changed: dict[str, object]) -> None:
        assert list(broken_rules(self.KIND, self.outcome(tmp_path))) == []
        assert list(broken_rules(self.KIND, self.outcome(tmp_path, **changed)))

    @pytest.mark.parametrize("text", ['{"overall": NaN}', '{"overall": [', '{"schema": 1, "overall": []}'])
    def test_a_wrong_document(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "diff.json").write_text(text)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tests.fuzz.oracles.contradictions", lambda document: iter(()))
            assert list(broken_rules(self.KIND, self.outcome(tmp_path)))

    def test_mutators_of_a_kind_have_names_of_their_own(self) -> None:
        """A recipe names them."""
        for kind in kinds.available():
            names = [mutator.name for mutator in kind.mutators]
            assert {name for name in names if names.count(name) > 1} == set(), kind.name

    def test_a_process_that_waits_hangs_and_one_without_a_core_does_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(forked, "LIMIT_SECONDS", 1.0)
        (core, *_) = sorted(os.sched_getaffinity(0))
        idle = f"os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)); {FOREVER}"
        start = time.monotonic()
        children = [_started(work, core) for work in (FOREVER, idle, "signal.pause()")]
        busy, starved, waiting = (child.pid for child in children)
        try:
            while not forked._is_over(busy, seconds := time.monotonic() - start):
                time.sleep(0.1)
            assert forked._is_over(waiting, seconds) and not forked._is_over(starved, seconds)
        finally:
            for child in children:
                child.kill()
                child.wait()

    def test_a_seed_gives_the_same_input_again(self, tmp_path: Path) -> None:
        """Tried with two mutators."""
        made = []
        for number in range(2):
            folder = tmp_path / str(number)
            folder.mkdir()
            (folder / "a.csv").write_text("Name,Duration(us)\n" + "x,1.5\n" * 20)
            for mutator in _of_tables():
                mutator.apply(folder, Random(7))
            made.append({path.name: path.read_bytes() for path in sorted(folder.iterdir())})
        assert made[0] == made[1]


def _started(work: str, core: int) -> subprocess.Popen[bytes]:
    """A process on one core."""
    code = f"import os, signal; os.sched_setaffinity(0, {{{core}}}); {work}"
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", code])


def _of_tables() -> list[Mutator]:
    from tests.fuzz.mutators import table

    return [mutator for mutator in table.mutators("*.csv") if mutator.name in ("table.set_text", "table.ragged")]
