"""Parses the command of a verl job: the interpreter, its entry point, and the overrides.

[WRAPPER…] PYTHON [FLAGS] -m MODULE [KEY=VALUE…]
[WRAPPER…] PYTHON [FLAGS] SCRIPT.py [KEY=VALUE…]
[WRAPPER…] torchrun [OPTIONS] -m MODULE [KEY=VALUE…]
[WRAPPER…] ray job submit [OPTIONS] [--] and one of these
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from rlcompare.collect.verl.submission import Submission, find_submission, interpreter_of
from rlcompare.errors import UsageError

_PYTHON = re.compile(r"python(?:\d+(?:\.\d+)?)?")
_TORCHRUN = ("torchrun", "torchrun.exe")
_TORCHRUN_MODULES = ("torch.distributed.run", "torch.distributed.launch")
_SETTING = re.compile(r"-|[A-Za-z_]\w*=")
"""The begin of an option, or of a variable of ``env``."""
_FLAGS_WITH_VALUE = ("-X", "-W")
_ENVIRONMENTS = ("uv", "env", "conda", "mamba", "micromamba", "poetry", "pipenv", "pdm", "hatch", "pixi", "rye")
"""Wrappers that choose an environment for the interpreter."""
_OPTIONS_WITH_VALUE = ("--config-path", "-cp", "--config-name", "-cn", "--config-dir", "-cd", "--package", "-p")
"""Hydra's options whose value is the next token, unless it stands behind =."""
_MODULE = ("-m", "--module")
_TORCHRUN_FLAGS = ("--standalone", "--no-python", "--no_python", "--run-path", "--run_path")
_PLAIN_WITH_DOLLAR = re.compile(r"[A-Za-z_/][\w./-]*\$[\w./$-]*", re.ASCII)
_OF_SHELL = re.compile(r"[;&|()<>*?#~!{}'\\\n]")
"""Characters that a shell acts on outside of quotes. Within a list's brackets there may be more."""
_CHANGED = re.compile(r'[$`]|\\\\(?!\\*")')
"""What a shell acts on inside double quotes. Before a quote, list2cmdline doubles the backslashes itself."""
_OVERRIDE = re.compile(r"(?:\+\+?|~)?([A-Za-z_][\w.@/-]*)(?:=(.*))?", re.DOTALL)


@dataclass(frozen=True)
class VerlCommand:
    """The command of a verl job.

    Attributes:
        tokens: the whole command.
        python: the interpreter.
        entry: the module or the script that it runs.
        is_module: whether the entry is a module.
        arguments: everything after the entry: verl's overrides, and Hydra's options.
        submission: how it is submitted to a Ray cluster; None: it runs here.
        wrapper: the tokens before the interpreter that choose its environment, such as ``uv run``.
    """

    tokens: tuple[str, ...]
    python: str
    entry: str
    is_module: bool
    arguments: tuple[str, ...]
    submission: Submission | None = None
    wrapper: tuple[str, ...] = ()

    @property
    def begin(self) -> int:
        """The place of the first argument among the tokens."""
        return len(self.tokens) - len(self.arguments)

    @property
    def given(self) -> dict[str, str | None]:
        """The keys that the overrides set, with their values as text; None for a deleted key (``~key``)."""
        found = {}
        for argument in self.arguments:
            match = _OVERRIDE.fullmatch(argument)
            if match and ("=" in argument or argument.startswith("~")):
                found[match[1]] = None if argument.startswith("~") else match[2]
        return found

    @property
    def end_of_overrides(self) -> int:
        """How many arguments come before those that are added.

        Hydra takes overrides in one row only, so options may follow them.
        """
        end, is_value = 0, False
        for place, argument in enumerate(self.arguments, 1):
            if not is_value and not argument.startswith("-"):
                end = place
            is_value = argument in _OPTIONS_WITH_VALUE
        return end or len(self.arguments)

    def arguments_with(self, added: Sequence[str]) -> list[str]:
        """The arguments with overrides added."""
        return [*self.arguments[: self.end_of_overrides], *added, *self.arguments[self.end_of_overrides :]]

    def tokens_with(self, added: Sequence[str]) -> list[str]:
        """The command with overrides added."""
        return [*self.tokens[: self.begin], *self.arguments_with(added)]

    def names(self, key: str) -> bool:
        """Whether an override sets a key, a parent of it, or something below it."""
        return any(key == given or key.startswith(f"{given}.") or given.startswith(f"{key}.") for given in self.given)


def parse_command(tokens: Sequence[str]) -> VerlCommand:
    """Parses a command.

    Raises:
        UsageError: it names no Python interpreter with a module or a script.
    """
    if not tokens:
        raise UsageError(
            "rlcompare launch needs the job's command: "
            "rlcompare launch -o DIR -- python3 -m verl.trainer.main_ppo KEY=VALUE ..."
        )
    submission = find_submission(tokens)
    begin = submission.begin if submission else 0
    names = [PurePath(token).name for token in tokens]
    place = _interpreter(tokens, begin)
    if place is None:
        raise UsageError(
            f"{tokens[begin]!r} does not start Python directly, and rlcompare cannot add overrides inside a script: "
            "put rlcompare launch -o DIR -- in the script, before its python3 -m verl.trainer.main_ppo"
        )
    python, rest = tokens[place], list(tokens[place + 1 :])
    if names[place] in _TORCHRUN:
        python, is_module, rest = interpreter_of(python) or "python3", *_past_torchrun(rest)
    else:
        is_module, rest = _past_flags(rest)
        if is_module and rest[:1] and rest[0] in _TORCHRUN_MODULES:
            is_module, rest = _past_torchrun(rest[1:])
    if not rest:
        raise UsageError(f"{tokens[place]} has nothing to run: name a module, such as -m verl.trainer.main_ppo")
    chosen = next((index for index in range(begin, place) if names[index] in _ENVIRONMENTS), place)
    wrapper = tuple(tokens[chosen:place])
    return VerlCommand(tuple(tokens), python, rest[0], is_module, tuple(rest[1:]), submission, wrapper)


def _interpreter(tokens: Sequence[str], begin: int) -> int | None:
    """The place of Python or torchrun.

    A name before it may be a value of a wrapper's option, as in ``conda run -n python3.10 python -m MODULE``.
    """
    words = [(index, token) for index, token in enumerate(tokens) if index >= begin and not _SETTING.match(token)]
    places = [
        index for index, word in words if _PYTHON.fullmatch(PurePath(word).name) or PurePath(word).name in _TORCHRUN
    ]
    if not places:
        return None
    modules = [index for index, token in enumerate(tokens) if token in _MODULE]
    scripts = [index for index, word in words if word.endswith(".py")]
    end = min((index for index in modules + scripts if index > places[0]), default=places[0] + 1)
    return max(index for index in places if index < end)


def _past_flags(rest: list[str]) -> tuple[bool, list[str]]:
    """What Python runs: whether it is a module, and the tokens from its name on."""
    while rest and rest[0].startswith("-") and rest[0] != "-m":
        rest = rest[2 if rest[0] in _FLAGS_WITH_VALUE else 1 :]
    return rest[:1] == ["-m"], rest[1:] if rest[:1] == ["-m"] else rest


def _past_torchrun(rest: list[str]) -> tuple[bool, list[str]]:
    """What torchrun runs, whose options take a value behind = or as the next token."""
    is_module = False
    while rest and rest[0].startswith("-"):
        is_module = is_module or rest[0] in _MODULE
        has_value = "=" not in rest[0] and rest[0] not in (*_MODULE, *_TORCHRUN_FLAGS)
        rest = rest[2 if has_value else 1 :]
    return is_module, rest


def written(value: object) -> str:
    """A value in Hydra's override grammar: strings are quoted if needed."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (list, tuple)):
        return f"[{','.join(written(item) for item in value)}]"
    text = str(value)
    if re.fullmatch(r"[A-Za-z_/][\w./-]*", text, re.ASCII) and text.lower() not in (
        "null",
        "true",
        "false",
        "none",
        "nan",
        "inf",
    ):
        return text
    if _PLAIN_WITH_DOLLAR.fullmatch(text):
        return f"'{text}'"  # it is the same text without the quotes, if a shell removes them
    # Hydra treats a backslash as an escape only before a quote, and ${ as an interpolation even inside quotes.
    body = re.sub(r'(\\+)(?="|$)', r"\1\1", text).replace('"', '\\"').replace("${", "\\${")
    return f'"{body}"'


def override(key: str, value: object) -> str:
    """An override in Hydra's grammar.

    Older versions of ``ray job submit`` join the command by ``subprocess.list2cmdline``, and the shell of the cluster
    splits it again. That function escapes double quotes, and puts quotes around a token with a space only: without a
    space, the shell would act on ``;`` and the like.
    """
    text = written(value)
    needs_space = _OF_SHELL.search(text) and " " not in text and not text.startswith("'")
    return f"{key}={' ' if needs_space else ''}{text}"


def is_changed_by_shell(override: str) -> bool:
    """Whether older versions of ``ray job submit`` let the shell of the cluster change an override."""
    _, _, text = override.partition("=")
    return not text.startswith("'") and _CHANGED.search(text) is not None
