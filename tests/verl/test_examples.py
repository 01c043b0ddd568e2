"""Example scripts of verl, by release: their job composes with what launch adds, or is refused as verl would."""

from __future__ import annotations

import json
import os
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
from tests.conftest import ALL

from .conftest import verl_folder
from .examples import RELEASES, Script, said, scripts

pytestmark = pytest.mark.slow

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


def is_tried(place: int, expected: dict[str, str], release: str) -> bool:
    """Whether a script is tried in a release: every twentieth, in the oldest or the newest that composes it, in turn;
    and every fortieth in the oldest that refuses it.

    With RLCOMPARE_TESTS=all: every one in every release.
    """
    if ALL:
        return True
    if place % 20:
        return False
    composed = [name for name in RELEASES if expected[name] == "composes"]
    refused = [name for name in RELEASES if expected[name] != "composes"]
    chosen = [*(composed[:1] if place % 40 else composed[-1:]), *([] if place % 40 else refused[:1])]
    return release in chosen


def tool_of(script: Script, release: str) -> str | None:
    is_decided = "trainer.device=npu" in script.words or any(
        word.startswith("global_profiler.tool=") for word in script.words
    )
    return script.tool or ("nsys" if release in NSYS_ALONE and not is_decided else None)


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
        for place, script in enumerate(tried()):
            if not is_tried(place, said()[script.name], release):
                continue
            expected[script.name] = said()[script.name][release]
            try:
                job = make_job(script.command, tmp_path, tool_of(script, release), {"PATH": os.environ["PATH"]})
            except UsageError as error:
                outcomes[script.name] = str(error)
            else:
                outcomes[script.name] = "composes"
                value = next(filter(None, map(job.installed.value, REPORTS)))
                assert sorted(set(value)) == job.plan.steps, script.name
    wrong = {name: [expected[name], text] for name, text in outcomes.items() if expected[name] not in text}
    assert not wrong, json.dumps(wrong, indent=1)


def tried() -> list[Script]:
    return [script for script in scripts() if script.reason is None]


def test_table_is_complete() -> None:
    assert {script.name for script in tried()} == said().keys()
    assert all(list(answers) and set(answers) == set(RELEASES) for answers in said().values())
