"""Example scripts of verl, by release: their job composes with what launch adds, or is refused as verl would."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rlcompare.collect.verl import ask as asking
from rlcompare.collect.verl import asked
from rlcompare.collect.verl.command import VerlCommand
from rlcompare.collect.verl.launch import make_job
from rlcompare.errors import UsageError

from .conftest import verl_folder

pytestmark = pytest.mark.slow

tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")
TABLE = tomllib.loads(Path(__file__).with_name("examples.toml").read_text(encoding="utf-8"))
RELEASES = ("0.5.0", "0.6.1", "0.7.1", "0.8.0", "0.9.1")
SHORT = {"A": "actor", "R": "rollout", "F": "ref", "M": "model"}
ANSWERS = """
import copy, functools, json, sys
from omegaconf import OmegaConf

read = functools.cache(OmegaConf.load)
OmegaConf.load = staticmethod(lambda file: copy.deepcopy(read(getattr(file, "name", file))))
Trainers = functools.cache(Trainers)
for line in sys.stdin:
    print(MARK + json.dumps(answer(json.loads(line))), flush=True)
"""
NSYS_ALONE = ("0.5.0", "0.6.1")
"""On a GPU these releases have Nsight Systems alone, which is not on PATH here: launch wants it named."""
REPORTS = ("global_profiler.steps", "trainer.profile_steps", "trainer.profile_interval")


def long_form(word: str) -> str:
    """An override with its whole key."""
    plus = "+" * (len(word) - len(word.lstrip("+")))
    short, colon, rest = word.lstrip("+").partition(":")
    return f"{plus}actor_rollout_ref.{SHORT[short]}.{rest}" if colon and short in SHORT else word


def is_tried(place: int, script: dict[str, Any], release: str) -> bool:
    """Whether a release is the oldest or, for every other script, the newest that composes it, or the oldest that
    refuses it.

    With RLCOMPARE_EXAMPLES=all: whether the table lists it.
    """
    expected = script["expected"]
    if os.environ.get("RLCOMPARE_EXAMPLES") == "all":
        return release in expected
    composed = [name for name in RELEASES if expected.get(name) == "composes"]
    refused = [name for name in RELEASES if expected.get(name, "composes") != "composes"]
    return release in (composed[-1:] if place % 2 else composed[:1]) or release in refused[:1]


def tool_of(script: dict[str, Any], release: str) -> str | None:
    words = command_of(script)
    is_decided = "trainer.device=npu" in words or any(word.startswith("global_profiler.tool=") for word in words)
    return script.get("tool") or ("nsys" if release in NSYS_ALONE and not is_decided else None)


def command_of(script: dict[str, Any]) -> list[str]:
    texts = [*(TABLE["groups"][name] for name in script.get("uses", ())), script["more"]]
    words = [long_form(word) for text in texts for word in text.split()]
    entry = script.get("entry", "verl.trainer.main_ppo")
    entry = [entry] if entry.endswith(".py") else ["-m", entry]
    return [*shlex.split(script.get("submit", "")), sys.executable, *entry, *words]


@contextmanager
def interpreter(source: Path) -> Iterator[Callable[[VerlCommand, Sequence[str]], dict[str, Any]]]:
    """Asks one process for many configurations: starting an interpreter takes longer than composing."""
    script = (
        Path(asked.__file__).read_text(encoding="utf-8").partition('\nif __name__ == "__main__":')[0] + "\n" + ANSWERS
    )
    path = os.pathsep.join([str(source), str(verl_folder() / "hydra")])
    with subprocess.Popen(
        [sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": path}, cwd=source,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout

        def answer(command: VerlCommand, arguments: Sequence[str]) -> dict[str, Any]:
            assert process.stdin
            assert process.stdout
            question = {"entry": command.entry, "is_module": command.is_module, "arguments": list(arguments)}
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            found: dict[str, Any] = json.loads(process.stdout.readline().removeprefix(asked.MARK))
            return found

        yield answer
        process.stdin.close()


@pytest.mark.parametrize("release", RELEASES)
def test_scripts(
    source_of_verl: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, release: str
) -> None:
    outcomes, expected = {}, {}
    with interpreter(source_of_verl(release)) as answer:
        monkeypatch.setattr(asking, "_answer", answer)
        for place, script in enumerate(TABLE["script"]):
            if not is_tried(place, script, release):
                continue
            name = script["name"]
            expected[name] = script["expected"][release]
            try:
                job = make_job(command_of(script), tmp_path, tool_of(script, release), {"PATH": os.environ["PATH"]})
            except UsageError as error:
                outcomes[name] = str(error)
            else:
                outcomes[name] = "composes"
                value = next(filter(None, map(job.installed.value, REPORTS)))
                assert sorted(set(value)) == job.plan.steps, name
    wrong = {name: said for name, said in outcomes.items() if expected[name] not in said}
    assert not wrong, json.dumps(wrong, indent=1)
