"""Reads examples.txt: what launch needs to know of the example scripts of verl."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

RELEASES = ("0.5.0", "0.6.1", "0.7.1", "0.8.0", "0.9.1")
SHORT = {
    "A": "actor_rollout_ref.actor",
    "R": "actor_rollout_ref.rollout",
    "F": "actor_rollout_ref.ref",
    "M": "actor_rollout_ref.model",
    "AF": "actor_rollout_ref.actor.fsdp_config",
    "FF": "actor_rollout_ref.ref.fsdp_config",
    "AM": "actor_rollout_ref.actor.megatron",
    "FM": "actor_rollout_ref.ref.megatron",
    "O": "actor_rollout_ref.actor.megatron.override_transformer_config",
    "ARR": "actor_rollout_ref",
    "C": "critic",
    "CM": "critic.megatron",
    "D": "data",
    "G": "algorithm",
    "T": "trainer",
    "W": "reward_model",
}
STARTERS = {
    "python": [sys.executable],
    "faulthandler": [sys.executable, "-X", "faulthandler"],
    "unbuffered": [sys.executable, "-u"],
    "uv": ["uv", "run", "--frozen", "--no-sync", sys.executable],
    "srun": ["srun", "--overlap", "--nodes=1", "--ntasks=1", sys.executable],
    "srunenv": ["srun", "--nodes=1", "env", "-u", "ROCR_VISIBLE_DEVICES", "RAY_ADDRESS=auto", sys.executable],
    "torchrun": ["torchrun", "--standalone", "--nnodes=1", "--nproc_per_node=8"],
    "distributed": [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=8", "--nnodes=1"],
    "ray": ["ray", "job", "submit", "--no-wait", "--working-dir", ".", "--", sys.executable],
}
"""What scripts put before the entry, by the word behind ``run=``."""

_FOLDER = Path(__file__).parent
_SCRIPT = re.compile(r"(?P<path>\S+)(?: (?P<variant>\([^)]*\)))?(?: (?P<commit>[0-9a-f]{7}))?: (?P<words>.*)")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


@dataclass(frozen=True)
class Script:
    """One script at one commit.

    Attributes:
        name: path, variant and commit.
        path: in verl's repository, or in another that is named in the table.
        words: the options and overrides behind its entry.
        reason: why it is not tried; None: it is.
    """

    name: str
    path: str
    words: tuple[str, ...] = ()
    entry: str = "verl.trainer.main_ppo"
    run: str = "python"
    tool: str | None = None
    reason: str | None = None

    @property
    def command(self) -> list[str]:
        entry = [self.entry] if self.entry.endswith(".py") else ["-m", self.entry]
        return [*STARTERS[self.run], *entry, *self.words]


@cache
def scripts() -> tuple[Script, ...]:
    """Every script of the table."""
    table = _Table((_FOLDER / "examples.txt").read_text(encoding="utf-8").splitlines())
    return tuple(map(table.script, table.scripts))


@cache
def said() -> dict[str, dict[str, str]]:
    """What verl and Hydra say of every script, by release: "composes", or a part of the refusal."""
    found: dict[str, dict[str, str]] = {}
    name = ""
    for line in (_FOLDER / "examples_said.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            releases, _, text = line.strip().partition(": ")
            found[name].update(dict.fromkeys(releases.split(), text))
        elif line and not line.startswith("#"):
            name = line
            found[name] = {}
    return found


class _Table:
    """The lines of the table, before groups and references to other scripts are expanded."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.values: dict[str, str] = {}
        self.groups: dict[str, str] = {}
        self.scripts: dict[str, tuple[str, str]] = {}
        """Path and words, by name."""
        folder = ""
        for line in lines:
            if line.startswith("# in "):
                folder = line[5:]
            elif line.startswith("@"):
                name, _, self.groups[name] = line[1:].partition(" ")
            elif match := _SCRIPT.fullmatch(line):
                path = f"{folder}/{match['path']}"
                self.scripts[" ".join(filter(None, (path, match["variant"], match["commit"])))] = path, match["words"]
            elif line and not line.startswith("#"):
                key, _, value = line.partition(" = ")
                self.values.update(dict.fromkeys(map(_long, _braced(key)), value))

    def script(self, name: str) -> Script:
        path, words = self.scripts[name]
        if words.startswith("!"):
            return Script(name, path, reason=words[1:])
        found = self._expanded(name)
        options = {key: found.pop(key).partition("=")[2] for key in ("run", "entry", "tool") if key in found}
        valued = sorted(map(self._valued, found.values()), key=lambda word: not word.startswith("--"))
        return Script(name, path, tuple(valued), **options)

    def _expanded(self, name: str) -> dict[str, str]:
        """The words of a script by their keys."""
        path, words = self.scripts[name]
        found: dict[str, str] = {}
        for word in words.split():
            if word.startswith("%"):
                found |= self._expanded(self._named(word[1:], path))
            elif word.startswith("-") and not word.startswith("--"):
                for gone in self._words(word[1:]):
                    del found[_key(gone)]
            else:
                for one in self._words(word):
                    if _key(one) not in found or one != _key(one):  # a key alone leaves the value that it has
                        found[_key(one)] = one
        return found

    def _words(self, word: str) -> list[str]:
        """The words that a word stands for."""
        if word.startswith("@"):
            return [one for inner in self.groups[word[1:]].split() for one in self._words(inner)]
        return list(map(_long, _braced(word)))

    def _named(self, reference: str, path: str) -> str:
        """The name of a script: of the same folder, or with its whole path; of the first commit if none is said."""
        wanted, _, commit = reference.partition("@")
        places = [wanted, *(f"{parent}/{wanted}" for parent in Path(path).parents)]
        names = [name for place in places for name in self.scripts if name.startswith(f"{place} ") or name == place]
        return next(name for name in names if name.endswith(commit))

    def _valued(self, word: str) -> str:
        """A word with its value, in which ~ stands for a space."""
        if word.startswith("--"):
            return word.replace("--config-path=multiturn", f"--config-path={_FOLDER / 'multiturn'}")
        key, equals, value = word.partition("=")
        return f"{key}={(value if equals else self.values[key.lstrip('+')]).replace('~', ' ')}"


def _key(word: str) -> str:
    return word.split("=", 1)[0].lstrip("+") if not word.startswith("--") else word.split("=", 1)[0]


def _braced(word: str) -> list[str]:
    match = _BRACES.search(word)
    if match is None or "=" in word[: match.start()]:
        return [word]
    return [one for part in match[1].split(",") for one in _braced(word[: match.start()] + part + word[match.end() :])]


def _long(word: str) -> str:
    """A word with its whole key."""
    plus = "+" * (len(word) - len(word.lstrip("+")))
    short, colon, rest = word.lstrip("+").partition(":")
    return f"{plus}{SHORT[short]}.{rest}" if colon and short in SHORT else word
