"""A verl job that is submitted to a Ray cluster: ``ray job submit [OPTIONS] [--] COMMAND…``.

The command runs on a machine of the cluster. It inherits nothing of the environment here, only the variables of its
runtime environment. rlcompare submits it under an identifier of its own and without waiting, and then follows it by
this identifier (``followed``). So a job submitted with ``--no-wait`` is followed too, and one whose connection is lost.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import urlsplit

from rlcompare.collect.verl import followed
from rlcompare.errors import UsageError

_WORDS = ("job", "submit")
_FLAGS = ("--no-wait", "-v", "--verbose")
_IDENTITIES = ("--submission-id", "--job-id")
_HERE = ("", "localhost", "127.0.0.1", "::1", "0.0.0.0", "auto", "local")
_SHEBANG = re.compile(r"(?:#!|exec'?\s)\s*(/\S*python\S*)")


@dataclass(frozen=True)
class Submission:
    """The part of a command that submits the rest.

    Attributes:
        submit: the tokens up to ``submit``.
        options: the tokens of its options, and ``--`` if there is one.
        values: by name, the options that take a value.
    """

    submit: tuple[str, ...]
    options: tuple[str, ...]
    values: Mapping[str, str]

    @property
    def begin(self) -> int:
        """The number of tokens before the submitted command."""
        return len(self.submit) + len(self.options)

    @property
    def identity(self) -> str | None:
        """The user's own identifier of the job."""
        return next((self.values[name] for name in _IDENTITIES if name in self.values), None)

    @property
    def variables(self) -> dict[str, str]:
        """The variables of the runtime environment, if it is given as JSON.

        Raises:
            UsageError: it is not a JSON object.
        """
        found = self._runtime_env().get("env_vars")
        return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}

    @property
    def runtime_env_file(self) -> str | None:
        """The YAML file of the runtime environment."""
        return self.values.get("--runtime-env")

    @property
    def working_dir(self) -> str | None:
        """The folder that Ray copies to the cluster for the job to run in; None: not given here."""
        return self.values.get("--working-dir") or self._runtime_env().get("working_dir")

    def is_elsewhere(self, environment: Mapping[str, str]) -> bool:
        """Whether the address names another machine."""
        names = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")
        address = self.values.get("--address") or next(filter(None, map(environment.get, names)), "")
        host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
        return host not in _HERE and host not in _own_names()

    def tokens(self, identity: str, variables: Mapping[str, str]) -> list[str]:
        """The tokens before the submitted command.

        Args:
            variables: to be added to the runtime environment, which is not in a file.
        """
        mine = [] if self.identity else ["--submission-id", identity]
        mine += [] if "--no-wait" in self.options else ["--no-wait"]
        if not variables:
            return [*self.submit, *mine, *self.options]
        whole = json.dumps({**self._runtime_env(), "env_vars": {**self.variables, **variables}})
        return [*self.submit, *mine, "--runtime-env-json", whole, *self._without("--runtime-env-json")]

    def _without(self, name: str) -> list[str]:
        kept, rest = [], list(self.options)
        while rest:
            token = rest.pop(0)
            if token == name:
                rest.pop(0)
            elif not token.startswith(f"{name}="):
                kept.append(token)
        return kept

    def _runtime_env(self) -> dict[str, Any]:
        text = self.values.get("--runtime-env-json")
        try:
            found = json.loads(text) if text else {}
        except (ValueError, RecursionError) as error:
            raise UsageError(f"--runtime-env-json is not valid JSON ({error})") from error
        if not isinstance(found, dict):
            raise UsageError('--runtime-env-json is not a JSON object, such as {"working_dir": "."}')
        return found

    def followed(self, tokens: Sequence[str], identity: str, python: str) -> list[str]:
        """The command that submits and follows a job, under the interpreter of ``ray``.

        Args:
            tokens: the whole command that submits it.
            python: the interpreter of the job, if that of ``ray`` cannot be found.
        """
        question = {
            "submit": list(tokens),
            "identity": self.identity or identity,
            "address": self.values.get("--address"),
            "headers": self.values.get("--headers"),
            "verify": self.values.get("--verify"),
        }
        script = Path(followed.__file__).read_text(encoding="utf-8")
        return [interpreter_of(self.submit[-len(_WORDS) - 1]) or python, "-c", script, json.dumps(question)]


def _own_names() -> set[str]:
    """The names and addresses of this machine, as far as it knows them itself."""
    name = socket.gethostname()
    try:
        _, aliases, addresses = socket.gethostbyname_ex(name)
    except OSError:
        return {name}
    return {name, *aliases, *addresses}


def new_identity(folder: Path) -> str:
    """An identifier for the job of a run directory."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", folder.name)[:40]
    return f"rlcompare-{name}-{secrets.token_hex(4)}"


def find_submission(tokens: Sequence[str]) -> Submission | None:
    """The submission that a command begins with; None if there is none.

    Raises:
        UsageError: it submits nothing.
    """
    rays = (index for index, token in enumerate(tokens) if PurePath(token).name == "ray")
    place = next((index for index in rays if tuple(tokens[index + 1 : index + 3]) == _WORDS), None)
    if place is None:
        return None
    begin = end = place + 3
    values = {}
    while end < len(tokens) and tokens[end].startswith("-"):
        name, separator, value = tokens[end].partition("=")
        end += 1
        if name == "--":
            break
        if separator:
            values[name] = value
        elif name not in _FLAGS:
            values[name] = tokens[end] if end < len(tokens) else ""
            end += 1
    if end >= len(tokens):
        raise UsageError("ray job submit has no command: put python3 -m verl.trainer.main_ppo after its --")
    return Submission(tuple(tokens[:begin]), tuple(tokens[begin:end]), values)


def interpreter_of(script: str) -> str | None:
    """The interpreter that runs an installed command such as ``ray``, from its first lines; None if unknown."""
    found = shutil.which(script)
    try:
        head = Path(found).read_bytes()[:1000].decode("utf-8", "replace") if found else ""
    except OSError:
        return None
    match = _SHEBANG.search("\n".join(head.splitlines()[:2]))
    return match[1] if match and Path(match[1]).exists() else None
