"""Modules that are written for a test, probed in the test's own process, and what their probes left."""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rlcompare import probe

ENGINE = """
    import torch

    STATE = torch.ones(8, 8)

    class Engine:
        steps = 0

        def prefill(self):
            torch.exp(STATE)

        def decode(self) -> "the state":
            "Makes one token."
            self.steps += 1
            return torch.mm(STATE, STATE)

        def generate(self, count: int = 1000, *, fails_after=None):
            "Makes tokens."
            self.prefill()
            for number in range(count):
                self.decode()
                if number == fails_after:
                    raise ValueError("enough")
            return self.steps
"""
_numbers = itertools.count()


class Probed:
    """Writes modules, probes them and reads the traces; each has a name of its own, since attaching is for good."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.output = folder / "traces"
        self._folder = folder
        monkeypatch.syspath_prepend(folder)

    def write(self, source: str = ENGINE) -> str:
        """The name of a new module."""
        name = f"probed{next(_numbers)}"
        (self._folder / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")
        return name

    def attach(
        self, name: str, scope: str | None = "Engine.generate", tick: str = "Engine.decode", **options: Any
    ) -> None:
        """Attaches under a name that no other test has: the scope's own, else the tick's."""
        points = {"scope": f"{name}:{scope}", "tick": f"{name}:{tick}"} if scope else {"tick": f"{name}:{tick}"}
        probe.attach(output=self.output, **{"warmup": 0, **points, **options})

    def engine(self, source: str = ENGINE, **options: Any) -> ModuleType:
        """A probed module."""
        name = self.write(source)
        self.attach(name, **options)
        return importlib.import_module(name)

    def traces(self) -> list[dict[str, Any]]:
        """What was written, in the order of time."""
        paths = sorted(self.output.rglob("*.json.gz"), key=lambda path: path.name.rpartition("_")[2])
        return [json.loads(gzip.decompress(path.read_bytes())) for path in paths]

    def sampled(self) -> list[list[int]]:
        """Ordinals that the traces say they hold."""
        return [trace["rlcompare"]["sampled"] for trace in self.traces()]


def count(trace: dict[str, Any], name: str, category: str = "cpu_op") -> int:
    return sum(event.get("name") == name and event.get("cat") == category for event in trace["traceEvents"])


def steps(trace: dict[str, Any]) -> list[str]:
    """The marks of ticks."""
    marks = [event for event in trace["traceEvents"] if event.get("cat") == "user_annotation"]
    return [event["name"] for event in sorted(marks, key=lambda event: float(event["ts"]))]
