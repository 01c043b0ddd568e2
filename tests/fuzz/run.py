"""Tries many inputs: ``python -m tests.fuzz.run --seeds 0-1999 [--kind KIND]... [--jobs N]``.

One input per seed and kind, in the order of seeds. Prints each input that breaks a rule, and a summary. Ends with 1 if
there was one. Interrupted, it sums up what it tried. ``--recipe "KIND SEED MUTATOR..."`` replays one input,
``--corpus`` those of ``corpus.toml``. ``--keep DIR`` keeps their files.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from tests.fuzz import corpus, forked, kinds
from tests.fuzz.engine import Recipe, Result, draws_harmless, prepare, run_batch, run_recipe
from tests.fuzz.kind import Kind


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    options = _options(arguments)
    chosen = [kind for kind in kinds.available() if not options.kind or kind.name in options.kind]
    recipes = list(_recipes(options, chosen))
    start = time.monotonic()
    with _folder(options.keep) as root:
        used = {recipe.kind for recipe in recipes}
        broken = list(_prepare_all([kind for kind in chosen if kind.name in used], Path(root), options.jobs))
        for text in broken:
            print(text, flush=True)
        results: list[Result] = []
        log = options.log.open("w", encoding="utf-8") if options.log else nullcontext()
        with log as out, suppress(KeyboardInterrupt):
            for result in [] if broken else _run_all(recipes, Path(root), options):
                results.append(result)
                if out:
                    out.write(_line(result))
    seconds = time.monotonic() - start
    _summary(results, seconds)
    return int(bool(broken) or any(result.broken for result in results))


def _folder(keep: Path | None) -> AbstractContextManager[str]:
    if keep is None:
        return tempfile.TemporaryDirectory(prefix="rlcompare-fuzz-")
    keep.mkdir(parents=True)
    return nullcontext(str(keep.resolve()))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0-99", help="first-last")
    parser.add_argument("--kind", action="append", help="only this kind; repeat for several")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=8, help="inputs that one command reads, where the kind can")
    parser.add_argument("--minutes", type=float, help="stop after this time")
    parser.add_argument("--recipe", action="append", help='replay "KIND SEED [MUTATOR...]"')
    parser.add_argument("--corpus", action="store_true", help="replay corpus.toml")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep all files in this new folder")
    parser.add_argument("--log", type=Path, help="write one line of JSON per input")
    parser.add_argument("--verbose", action="store_true", help="print every input")
    return parser.parse_args(arguments)


def _recipes(options: argparse.Namespace, chosen: Sequence[Kind]) -> Iterator[Recipe]:
    if options.recipe:
        for text in options.recipe:
            kind, seed, *mutators = text.split()
            yield Recipe(kind, int(seed), tuple(mutators) or None)
        return
    if options.corpus:
        names = {kind.name for kind in chosen}
        yield from (recipe for recipe in corpus.recipes() if recipe.kind in names)
        return
    first, _, last = options.seeds.partition("-")
    for seed in range(int(first), int(last or first) + 1):
        for kind in chosen:
            yield Recipe(kind.name, seed)


def _prepare_all(chosen: Sequence[Kind], root: Path, jobs: int) -> Iterator[str]:
    with get_context("fork").Pool(jobs, forked.import_all) as pool:
        for name, broken in pool.imap(_prepare, [(kind.name, root / kind.name) for kind in chosen]):
            yield from (f"the sound input of {name}: {text}" for text in broken)


def _prepare(task: tuple[str, Path]) -> tuple[str, list[str]]:
    name, home = task
    return name, prepare(kinds.find(name), home)


def _run_all(recipes: Sequence[Recipe], root: Path, options: argparse.Namespace) -> Iterator[Result]:
    keep = options.keep is not None
    batches = _batches(recipes, 1 if options.recipe or options.corpus else options.batch)
    end = time.monotonic() + options.minutes * 60 if options.minutes else None
    tasks = [(batch, root / batch[0].kind, root / f"work-{number}", keep, end) for number, batch in enumerate(batches)]
    started = get_context("fork").Value("i", 0)
    with get_context("fork").Pool(options.jobs, _start, (started,)) as pool:
        for results in pool.imap_unordered(_run, tasks):
            for result in results:
                if result.broken or options.verbose or options.recipe:
                    print(result, flush=True)
                yield result


def _batches(recipes: Sequence[Recipe], most: int) -> Iterator[list[Recipe]]:
    """Inputs that one command may read together: of one kind, and all or none of them harmless."""
    waiting: dict[tuple[str, bool], list[Recipe]] = {}
    for recipe in recipes:
        kind = kinds.find(recipe.kind)
        if kind.batch is None or most == 1:
            yield [recipe]
            continue
        batch = waiting.setdefault((kind.name, draws_harmless(recipe, kind)), [])
        batch.append(recipe)
        if len(batch) == most:
            yield list(batch)
            batch.clear()
    yield from filter(None, waiting.values())


def _start(started: Synchronized[int]) -> None:
    forked.import_all()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the pool, which sends SIGTERM
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    cores = sorted(os.sched_getaffinity(0))
    with started.get_lock():
        core = cores[started.value % len(cores)]
        started.value += 1
    os.sched_setaffinity(0, {core})  # an input uses one core, so that jobs share nothing


def _run(task: tuple[list[Recipe], Path, Path, bool, float | None]) -> list[Result]:
    """Nothing once the time is over: to end the pool instead may block, while a process waits for its next task."""
    recipes, home, scratch, keep, end = task
    if end is not None and time.monotonic() > end:
        return []
    kind = kinds.find(recipes[0].kind)
    try:
        if len(recipes) == 1:
            return [run_recipe(recipes[0], kind, home, scratch, keep=keep)]
        return run_batch(recipes, kind, home, scratch, keep=keep)
    except Exception:  # a fault of the harness must not end a long run
        seeds = ", ".join(str(recipe.seed) for recipe in recipes)
        return [Result(recipes[0], (), (), (f"the harness failed at seeds {seeds}: {traceback.format_exc()}",), 0)]


def _summary(results: Sequence[Result], seconds: float) -> None:
    for name in sorted({result.recipe.kind for result in results}):
        own = [result for result in results if result.recipe.kind == name]
        codes = Counter(code for result in own for code in result.codes)
        told = ", ".join(f"{count}× exit {code}" for code, count in sorted(codes.items(), key=str))
        broken = sum(bool(result.broken) for result in own)
        mean = sum(result.seconds for result in own) / len(own)
        print(f"{name:20} {len(own):6} inputs, {broken:4} broke a rule; {told}; {mean:.2f} s each")
    broken = sum(bool(result.broken) for result in results)
    print(f"{len(results)} inputs in {seconds:.0f} s, {broken} broke a rule")


def _line(result: Result) -> str:
    """A line of the log."""
    recipe = {"kind": result.recipe.kind, "seed": result.recipe.seed, "mutators": result.recipe.mutators}
    line = recipe | {"did": result.done, "codes": result.codes, "broken": result.broken}
    return json.dumps(line | {"seconds": round(result.seconds, 2)}) + "\n"


if __name__ == "__main__":
    sys.exit(main())
