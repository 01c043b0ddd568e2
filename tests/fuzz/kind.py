"""The interface of the harness: a kind of input, and what damages it.

To add a kind, write a module in ``tests/fuzz/kinds/`` with a ``Kind`` and name it in ``kinds/__init__.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

MOST_CONTENT_BYTES = 2**28


class NotApplicableError(Exception):
    """A mutator found nothing to change; another one is drawn."""


@dataclass(frozen=True)
class Mutator:
    """One way to change an input.

    Attributes:
        name: unique within its kind. Recipes in ``corpus.toml`` name it, so a mutator keeps its name and its meaning.
        apply: changes the files in a folder that holds a copy of the sound input. All that it draws comes from the
            given generator. Returns what it did, in a few words. Raises ``NotApplicableError``.
        harmless: the numbers of the comparison must stay the same.
    """

    name: str
    apply: Callable[[Path, Random], str]
    harmless: bool = False


@dataclass(frozen=True)
class Places:
    """The folders of one input.

    Attributes:
        home: what ``Kind.write`` wrote, shared by all inputs of a run: never changed.
        mutant: the changed copy of ``home/input``.
        out: where commands write; it does not exist yet.
    """

    home: Path
    mutant: Path
    out: Path

    @property
    def sound(self) -> Path:
        """The sound input."""
        return self.home / "input"


@dataclass(frozen=True)
class Outcome:
    """What one command line did.

    Attributes:
        arguments: the command line.
        code: its exit code; negative: the signal that ended it; None: it was stopped at the limit of time.
        out, err: what it printed.
        seconds: how long it took.
        peak_bytes: its largest resident memory.
        places: the folders of the input.
    """

    arguments: Sequence[str]
    code: int | None
    out: str
    err: str
    seconds: float
    peak_bytes: int
    places: Places

    @cached_property
    def document(self) -> dict[str, Any] | None:
        """The ``diff.json`` that the command wrote to ``Places.out``; None: it wrote none.

        Raises:
            ValueError: it is not JSON, or holds NaN or an infinity.
        """
        path = self.places.out / "diff.json"
        if not path.is_file():
            return None
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
        assert isinstance(document, dict)
        return document


def _no_number(text: str) -> float:
    raise ValueError(f"diff.json holds {text}")


def _diff(places: Places, random: Random) -> list[list[str]]:
    return [["diff", "-q", "-d", str(places.mutant), "-bp", str(places.sound), "-o", str(places.out)]]


def _no_more(outcome: Outcome) -> Iterator[str]:
    yield from ()


@dataclass(frozen=True)
class Kind:
    """A kind of input.

    Attributes:
        name: unique.
        write: writes the sound input to ``home/input`` (a folder), and what the commands need besides it to ``home``.
        mutators: what may be drawn.
        commands: command lines of rlcompare that read ``places.mutant``, in order; each is one process. May draw
            which from the given generator. Default: ``diff`` with the sound input as baseline, its report in
            ``places.out``.
        codes: the exit codes that are right for this kind of input.
        check: what else must hold for each outcome, as sentences about what does not.
        batch: a command line that reads many mutants at once: those in the folders of ``places.mutant``. Then it
            starts once for several inputs, and each is read alone only if the batch breaks a rule. None: no batches.
        needs: names of what the machine must have, for example ``"shared"``: the real profiles.
        is_profile: the mutant is a profile and the new side; some are looked at once more (``second_look.py``).
    """

    name: str
    write: Callable[[Path], None]
    mutators: Sequence[Mutator]
    commands: Callable[[Places, Random], Sequence[Sequence[str]]] = _diff
    codes: frozenset[int] = frozenset({0, 1, 2, 3, 4, 5})
    check: Callable[[Outcome], Iterator[str]] = _no_more
    batch: Callable[[Places], Sequence[str]] | None = None
    needs: frozenset[str] = field(default_factory=frozenset)
    is_profile: bool = False

    def mutator(self, name: str) -> Mutator:
        """The mutator of a name.

        Raises:
            KeyError: there is none.
        """
        return {mutator.name: mutator for mutator in self.mutators}[name]


def files(folder: Path, pattern: str) -> list[Path]:
    """The regular files below a folder that match a pattern, in a fixed order.

    Raises:
        NotApplicableError: there is none.
    """
    found = sorted(path for path in folder.rglob(pattern) if path.is_file() and not path.is_symlink())
    if not found:
        raise NotApplicableError
    return found


def one_file(folder: Path, pattern: str, random: Random) -> Path:
    """One of the regular files below a folder that match a pattern.

    Raises:
        NotApplicableError: there is none.
    """
    return random.choice(files(folder, pattern))


def content_of(path: Path) -> bytes:
    """The content of a file.

    Raises:
        NotApplicableError: another mutator made it too large to be read and written again.
    """
    if path.stat().st_size > MOST_CONTENT_BYTES:
        raise NotApplicableError
    return path.read_bytes()
