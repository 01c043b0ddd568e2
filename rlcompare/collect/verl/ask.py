"""Asks the interpreter of a verl job for its verl version, and for the job's configuration."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rlcompare.collect.verl import asked
from rlcompare.collect.verl.command import VerlCommand
from rlcompare.errors import UsageError

OLDEST = (0, 5, 0)
NEWEST = (0, 9, 1)
"""The oldest and the newest verl version whose configuration is known."""
_SECONDS = 120
_UNKNOWN = re.compile(r"Could not override '([^']+)'")
_RELEASE = re.compile(r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?")


@dataclass(frozen=True)
class Installed:
    """The answer of a job's interpreter.

    Attributes:
        version: verl's, as three numbers.
        versions: by package; packages that are not installed are absent.
        npu: whether torch_npu is installed.
        config: the composed configuration, with the overrides of the command.
        variables: those of the runtime environment of a job that is submitted to a Ray cluster.
        entry: the module or script that it runs.
        commits: by package, for those that were installed from a repository: ``commit`` and ``dirty``.
        profiles: whether its trainer ever starts a profiler; None: its source does not tell.
    """

    version: tuple[int, int, int]
    versions: Mapping[str, str]
    npu: bool
    config: Mapping[str, Any]
    variables: Mapping[str, str] = field(default_factory=dict)
    entry: str = ""
    profiles: bool | None = None
    commits: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verl(self) -> str:
        """verl and its version, for messages."""
        return f"verl {self.versions['verl']}"

    def value(self, key: str) -> Any:
        """The value of a dotted key; None if it is absent, missing or null."""
        node: Any = self.config
        for part in key.split("."):
            node = node.get(part) if isinstance(node, dict) else None
        return node

    def has(self, key: str) -> bool:
        """Whether the configuration has a key."""
        parent, _, name = key.rpartition(".")
        node = self.value(parent) if parent else self.config
        return isinstance(node, dict) and name in node


def ask(command: VerlCommand) -> Installed:
    """Asks about the command as the user gave it.

    Raises:
        UsageError: the interpreter does not answer, has no verl or a version that is too old, or verl's configuration
            does not accept the command's overrides.
    """
    found = _answer(command, command.arguments)
    versions = found["versions"]
    if "unread" in found:
        raise UsageError(f"--runtime-env cannot be read: {_flat(found['unread'])}")
    if "verl" not in versions:
        where = " of this machine" if command.submission else ""
        raise UsageError(
            f"verl is not installed for {command.python}{where} (Python {versions['python']}): use the interpreter "
            "that has it, or activate its environment first"
        )
    match = _RELEASE.match(versions["verl"])
    release = tuple(int(part or 0) for part in match.groups()) if match else NEWEST
    version = (release[0], release[1], release[2])
    if version < OLDEST:
        raise UsageError(
            f"verl {versions['verl']} is older than 0.5.0, the oldest version that rlcompare supports: install another"
        )
    if found["config"] is None:
        hint = _nearest(command, str(found["problem"]))
        raise UsageError(f"verl {versions['verl']} rejects this configuration: {_flat(found['problem'])}{hint}")
    mine = command.submission.variables if command.submission else {}
    variables = {**found["variables"], **mine}
    return Installed(
        version,
        versions,
        found["npu"],
        found["config"],
        variables,
        command.entry,
        found["profiles"],
        found["commits"],
    )


def confirm(command: VerlCommand, added: Sequence[str], installed: Installed) -> Installed:
    """Composes the configuration with our overrides added.

    Raises:
        UsageError: this verl does not accept one of them.
    """
    found = _answer(command, command.arguments_with(added))
    if found["config"] is None:
        raise UsageError(
            f"{installed.verl} rejects the settings that rlcompare adds: {_flat(found['problem'])}; "
            "please report it, with verl's version"
        )
    return replace(installed, config=found["config"])


def _nearest(command: VerlCommand, problem: str) -> str:
    """The key that a mistyped one most likely means, as an ending for Hydra's message; else empty."""
    match = _UNKNOWN.search(problem)
    others = [argument for argument in command.arguments if match and argument.partition("=")[0] != match[1]]
    if match is None or len(others) == len(command.arguments):
        return ""
    keys = list(_keys(_answer(command, others)["config"]))
    last = match[1].rpartition(".")[2]
    alike = [key for key in keys if key.rpartition(".")[2] == last]
    found = get_close_matches(match[1], alike, 1, 0.0) or get_close_matches(match[1], keys, 1)
    return f"; the nearest key is {found[0]}" if found else ""


def _keys(config: Any, branch: str = "") -> Iterator[str]:
    """The dotted keys of a configuration, including branches."""
    for name, value in config.items() if isinstance(config, dict) else ():
        yield f"{branch}{name}"
        yield from _keys(value, f"{branch}{name}.")


def _answer(command: VerlCommand, arguments: Sequence[str]) -> dict[str, Any]:
    question: dict[str, Any] = {
        "entry": command.entry,
        "is_module": command.is_module,
        "arguments": list(arguments),
    }
    if command.submission is not None:
        question |= {
            "runtime_env": command.submission.runtime_env_file,
            "variables": command.submission.variables,
            "working_dir": command.submission.working_dir,
        }
    # With -c, the working folder is searched first, as it is with the job's own -m.
    script = Path(asked.__file__).read_text(encoding="utf-8")
    line = [*command.wrapper, command.python, "-c", script, json.dumps(question)]
    try:
        done = subprocess.run(line, capture_output=True, text=True, errors="replace", timeout=_SECONDS)
    except OSError as error:
        raise UsageError(
            f"{command.python} cannot be started ({error.strerror or error}): check that it is installed"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"the version of verl is unknown: {command.python} did not answer within {_SECONDS} s. Import verl there by"
            " hand once, and try again"
        ) from error
    marked = [text.removeprefix(asked.MARK) for text in done.stdout.splitlines() if text.startswith(asked.MARK)]
    answer = _understood(marked[-1]) if marked else None
    if answer is not None:
        return answer
    last = (
        "it printed unexpected output" if marked else (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
    )
    raise UsageError(f"Cannot determine the verl version of {command.python} (exit code {done.returncode}): {last}")


def _understood(text: str) -> dict[str, Any] | None:
    """An answer; None if it does not have the format of ``asked``."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    versions = found.get("versions")
    is_whole = (
        isinstance(versions, dict)
        and all(isinstance(version, str) for version in versions.values())
        and "python" in versions
        and isinstance(found.get("npu"), bool)
        and isinstance(found.get("config"), dict | None)
        and isinstance(found.setdefault("variables", {}), dict)
        and isinstance(found.setdefault("profiles", None), bool | None)
        and isinstance(found.setdefault("commits", {}), dict)
        and "problem" in found
    )
    return found if is_whole else None


def _flat(text: object) -> str:
    return " ".join(str(text).split())
