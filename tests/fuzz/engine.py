"""Draws mutators by seed, makes the input, runs the commands of its kind, and asks the oracles."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import oracles, second_look
from tests.fuzz.forked import run_forked
from tests.fuzz.kind import Kind, Mutator, NotApplicableError, Outcome, Places

_HARMLESS_SHARE = 0.15
_AGAIN_SHARE = 0.2
_TRIES = 20
_REMOVALS = 20
EXPECTED = "expected.json"


@dataclass(frozen=True)
class Recipe:
    """One input: a kind, a seed, and the mutators in order; None: the seed draws them."""

    kind: str
    seed: int
    mutators: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Result:
    """What became of one input.

    Attributes:
        recipe: the input, with its mutators.
        done: what the mutators did.
        codes: the exit codes of its commands.
        broken: the rules that it broke.
        seconds: how long the commands took.
    """

    recipe: Recipe
    done: tuple[str, ...]
    codes: tuple[int | None, ...]
    broken: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        names = ", ".join(self.recipe.mutators or ())
        lines = [f"{self.recipe.kind} seed {self.recipe.seed} [{names}] exit {self.codes} in {self.seconds:.1f} s"]
        lines += [f"    did: {text}" for text in self.done]
        return "\n".join([*lines, *(f"    BROKEN: {text}" for text in self.broken)])


def prepare(kind: Kind, home: Path) -> list[str]:
    """Write the sound input of a kind and compare it with itself; returns the rules that this breaks."""
    home.mkdir(parents=True)
    kind.write(home)
    scratch = home / "scratch"
    scratch.mkdir()
    places = Places(home, home / "input", scratch / "out")
    broken = []
    for arguments in kind.commands(places, Random(0)):
        outcome = run_forked(arguments, places, scratch)
        broken += list(oracles.broken_rules(kind, outcome))
        if outcome.document is not None and kind.is_profile:
            broken += second_look.differences(outcome.document, places.sound, places, scratch)
        if outcome.document is not None:
            expected = json.dumps(oracles.numbers_of(outcome.document))
            (home / EXPECTED).write_text(expected, encoding="utf-8")
    shutil.rmtree(scratch)
    return broken


def run_recipe(recipe: Recipe, kind: Kind, home: Path, scratch: Path, *, keep: bool = False) -> Result:
    """Make one input and run its commands.

    Args:
        home: what ``prepare`` made.
        scratch: a folder that does not exist; removed at the end, unless ``keep``.
    """
    with _scratch(scratch, keep) as places:
        places = replace(places, home=home)
        shutil.copytree(places.sound, places.mutant, symlinks=True)
        used, done = _mutate(recipe, kind, places.mutant)
        commands = kind.commands(places, Random(f"{recipe.seed}:commands"))
        again = [places.mutant] if _is_looked_at_again(recipe, kind) else []
        outcomes, broken = _run(kind, commands, places, scratch, all(mutator.harmless for mutator in used), again)
    recipe = replace(recipe, mutators=tuple(mutator.name for mutator in used))
    codes = tuple(outcome.code for outcome in outcomes)
    return Result(recipe, tuple(done), codes, tuple(broken), sum(outcome.seconds for outcome in outcomes))


def run_batch(recipes: Sequence[Recipe], kind: Kind, home: Path, scratch: Path, *, keep: bool = False) -> list[Result]:
    """Make several inputs and read them with one command; if that breaks a rule, each alone.

    Args:
        recipes: at least one. Numbers are compared only if all of them are harmless (``draws_harmless``).
    """
    assert kind.batch is not None
    results: list[Result] = []
    is_harmless = True
    again = []
    with _scratch(scratch, keep) as places:
        places = replace(places, home=home)
        for number, recipe in enumerate(recipes):
            folder = places.mutant / f"m{number}"
            shutil.copytree(places.sound, folder, symlinks=True)
            used, done = _mutate(recipe, kind, folder)
            is_harmless &= all(mutator.harmless for mutator in used)
            again += [folder] if _is_looked_at_again(recipe, kind) else []
            recipe = replace(recipe, mutators=tuple(mutator.name for mutator in used))
            results.append(Result(recipe, tuple(done), (0,), (), 0))
        outcomes, broken = _run(kind, [kind.batch(places)], places, scratch, is_harmless, again)
    if not broken and outcomes[0].code == 0:
        return [replace(result, seconds=outcomes[0].seconds / len(results)) for result in results]
    alone = []
    for number, recipe in enumerate(recipes):
        alone.append(run_recipe(recipe, kind, home, scratch.with_name(f"{scratch.name}-{number}"), keep=keep))
    broken = [text for text in broken if oracles.TOO_LONG not in text]  # the limit is that of one input
    if broken and not any(result.broken for result in alone):
        seeds = ", ".join(str(recipe.seed) for recipe in recipes)
        alone[0] = replace(alone[0], broken=(f"only in a batch of seeds {seeds}: {'; '.join(broken)}",))
    return alone


def draws_harmless(recipe: Recipe, kind: Kind) -> bool:
    """Whether the seed of an input draws harmless mutators alone."""
    return any(mutator.harmless for mutator in kind.mutators) and _random(recipe).random() < _HARMLESS_SHARE


def _is_looked_at_again(recipe: Recipe, kind: Kind) -> bool:
    """Some inputs, and all whose mutators are named: what once failed."""
    if recipe.mutators is not None:
        return kind.is_profile
    return kind.is_profile and Random(f"{recipe.kind}:{recipe.seed}:again").random() < _AGAIN_SHARE


def _random(recipe: Recipe) -> Random:
    return Random(f"{recipe.kind}:{recipe.seed}")


@contextmanager
def _scratch(folder: Path, keep: bool) -> Iterator[Places]:
    (folder / "inputs").mkdir(parents=True)
    try:
        yield Places(Path(), folder / "inputs" / "input", folder / "out")
    finally:
        if not keep:
            _remove(folder)


def _run(
    kind: Kind,
    commands: Sequence[Sequence[str]],
    places: Places,
    scratch: Path,
    harmless: bool,
    again: Sequence[Path],
) -> tuple[list[Outcome], list[str]]:
    """Run commands on what ``places.mutant`` holds; returns what came of them and the rules that they broke.

    Args:
        again: mutants that are looked at once more, if the first command could read them.
    """
    before = oracles.tree(places.mutant.parent)
    outcomes = []
    broken: list[str] = []
    for arguments in commands:
        outcome = run_forked(arguments, places, scratch)
        outcomes.append(outcome)
        broken += [f"{arguments[0]}: {text}" for text in _broken(kind, places.home, harmless, outcome)]
    document = _document(outcomes[0]) if again and outcomes[0].code == 0 else None
    if document is not None:
        for mutant in again:
            broken += second_look.differences(document, mutant, places, scratch)
    left = sorted(str(path.relative_to(scratch)) for path in (scratch / "tmp").rglob("*"))
    if left and all(outcome.code is not None for outcome in outcomes):
        broken.append(f"temporary files were left: {left[:5]}")
    if oracles.tree(places.mutant.parent) != before:
        broken.append("something was written in the input's folder, or beside it")
    if any((scratch / "cwd").iterdir()):
        broken.append("something was written in the working folder")
    return outcomes, broken


def _document(outcome: Outcome) -> dict[str, Any] | None:
    try:
        return outcome.document
    except ValueError:  # an oracle tells this
        return None


def _broken(kind: Kind, home: Path, harmless: bool, outcome: Outcome) -> Iterator[str]:
    yield from oracles.broken_rules(kind, outcome)
    expected = home / EXPECTED
    if harmless and expected.exists():
        if outcome.document is None:
            yield f"a harmless change ended with {outcome.code}: {outcome.err.strip()[-300:]}"
        else:
            sound = json.loads(expected.read_text(encoding="utf-8"))
            differences = list(oracles.altered(sound, oracles.numbers_of(outcome.document)))
            if differences:
                yield f"a harmless change altered {len(differences)} numbers: {'; '.join(differences[:3])}"


def _mutate(recipe: Recipe, kind: Kind, folder: Path) -> tuple[list[Mutator], list[str]]:
    if recipe.mutators is not None:
        used = [kind.mutator(name) for name in recipe.mutators]
        return used, [_apply(mutator, recipe.seed, number, folder) for number, mutator in enumerate(used)]
    random = _random(recipe)
    is_harmless = draws_harmless(recipe, kind)
    choice = [mutator for mutator in kind.mutators if mutator.harmless or not is_harmless]
    random.random()  # told whether they are harmless
    wanted = random.choices((1, 2, 3, 4), (60, 25, 10, 5))[0]
    used, done = [], []
    for _ in range(_TRIES):
        if len(used) == wanted:
            break
        mutator = random.choice(choice)
        try:
            done.append(_apply(mutator, recipe.seed, len(used), folder))
        except NotApplicableError:
            continue
        used.append(mutator)
    return used, done


def _apply(mutator: Mutator, seed: int, number: int, folder: Path) -> str:
    """The draws of a mutator depend on its place and name alone, so a recipe holds when others are added."""
    return f"{mutator.name}: {mutator.apply(folder, Random(f'{seed}:{number}:{mutator.name}'))}"


def _remove(folder: Path) -> None:
    for attempt in range(_REMOVALS):
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        try:
            shutil.rmtree(folder)
            return
        except OSError:  # what a command that was killed had started still writes
            if attempt == _REMOVALS - 1:
                raise
            time.sleep(0.5)
