"""The first cause of two training logs is what was changed in a modelled job; where nothing changed, there is none.

``RLCOMPARE_LUCK=7`` tries other luck, and other models on other machines: any number but 0 gives others.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rlcompare.cli.main import run
from tests.conftest import ALL
from tests.inject.log_pairs import NULLS, PAIRS, Null, Pair
from tests.inject.training_jobs import Course, Job, course, elsewhere
from tests.inject.training_logs import Form, write

LUCK = int(os.environ.get("RLCOMPARE_LUCK", "0"))

LEAST = 0.04
"""A change that costs a smaller part of the step is not asked for: like jobs differ by as much."""

NEAR = 0.1
"""How far the seconds of a cause may be from what the change costs, as a part of it."""


def seconds(of: Course, parts: Sequence[str]) -> float:
    """The mean over steps, but for the first, which compiles."""
    timers = {**of.timers, **of.beside, "step": of.step}
    return float(sum(timers[name][1:].mean() for name in parts if name in timers))


@dataclass(frozen=True)
class Expected:
    """What the change costs a step, and what the two logs differ by, which luck has a part in."""

    cost: float
    differ: float

    def near(self, found: float) -> bool:
        room = NEAR * abs(self.cost)
        return min(self.cost, self.differ) - room <= found <= max(self.cost, self.differ) + room


@dataclass(frozen=True)
class Answer:
    """What was said of a pair; ``share``: the part of the step that the change costs, or that the logs differ by."""

    pair: Pair
    share: float
    expected: Sequence[Expected]
    causes: Sequence[dict[str, Any]]

    @property
    def fault(self) -> str | None:
        """Why it is wrong; None if it is right."""
        if not self.causes:
            return "no cause"
        first, pair = self.causes[0], self.pair
        text, places = first["text"], json.dumps([first["text"], first["row"], first["rows"]])
        if not re.search(pair.words, text, re.IGNORECASE):
            return "not the reason"
        if not re.search(pair.phase, places, re.IGNORECASE):
            return "not the phase"
        if pair.never and re.search(pair.never, text, re.IGNORECASE):
            return "an invented reason"
        if not any(one.near(first["delta_ms"] / 1e3) for one in self.expected):
            return "not the seconds"
        return None

    def line(self) -> str:
        """A row of the table."""
        expected = " or ".join(f"{one.cost:+.1f} ({one.differ:+.1f})" for one in self.expected)
        first: dict[str, Any] = self.causes[0] if self.causes else {"delta_ms": 0.0, "text": "–"}
        job = self.pair.job
        return (
            f"{self.fault or 'right':18} {self.pair.kind:24} {job.release} {job.trainer:12} {expected:>32} s"
            f"  found {first['delta_ms'] / 1e3:+6.1f} s  {first['text']}"
        )


class Comparing:
    """Compares logs by the command line, in this process. Pairs of one baseline share its log."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self._folder, self._capture = folder, capture
        self._baselines: dict[tuple[Job, Form], tuple[Course, Path]] = {}

    def causes(self, new: Path, baseline: Path) -> list[dict[str, Any]]:
        code = run(["diff", "-d", str(new), "-bp", str(baseline), "--json"])
        captured = self._capture.readouterr()
        assert code == 0, captured.err
        return list(json.loads(captured.out)["causes"])

    def baseline(self, job: Job, form: Form) -> tuple[Course, Path]:
        """The job with other luck than any new side has."""
        if (job, form) not in self._baselines:
            number = len(self._baselines) + 1
            base = course(job.but(seed=10_000 * LUCK + number))
            self._baselines[job, form] = base, write(base, self._path(f"base-{number}", form), form)
        return self._baselines[job, form]

    def _path(self, name: str, form: Form) -> Path:
        return self._folder / f"{name}{'.jsonl' if form == 'file' else '.log'}"

    def answer(self, number: int, pair: Pair) -> Answer:
        """The sides have other luck; what the change costs is the difference to the same luck without it."""
        job = elsewhere(pair.job, LUCK, pair.changes)
        base, baseline = self.baseline(job, pair.form)
        without = job.but(seed=10_000 * LUCK + 1000 + number)
        new, same = course(without.but(**pair.changes)), course(without)
        found = self.causes(write(new, self._path(f"new-{number}", pair.form), pair.form), baseline)
        expected = [
            Expected(seconds(new, part) - seconds(same, part), seconds(new, part) - seconds(base, part))
            for part in pair.parts
        ]
        step = seconds(new, ["step"])
        share = min(abs(step / seconds(other, ["step"]) - 1) for other in (same, base))
        return Answer(pair, share, expected, found)

    def unchanged(self, number: int, pair: Null) -> tuple[str, list[dict[str, Any]]]:
        """How the headlines of two like jobs differ by luck, and the causes that are named."""
        job = elsewhere(pair.job, LUCK, pair.changes)
        base, baseline = self.baseline(job, pair.form)
        new = course(job.but(seed=10_000 * LUCK + 2000 + number, **pair.changes))
        form = pair.new_form or pair.form
        path = self._path(f"null-{number}", form)
        write(new, path, form, reordered=pair.reordered, further=pair.further)
        luck = new.step[1:].mean() / base.step[1:].mean() - 1
        return f"{pair.kind:30} {pair.job.release} {pair.job.trainer:12} {luck:+6.1%}", self.causes(path, baseline)


@pytest.fixture
def comparing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Comparing]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rlcompare.app.progress.LINE_AFTER_SECONDS", 600)
    yield Comparing(tmp_path, capfd)


@pytest.mark.slow
def test_the_first_cause_is_what_was_changed(comparing: Comparing) -> None:
    tried = PAIRS if ALL else PAIRS[::3]
    answers = [comparing.answer(number, pair) for number, pair in enumerate(tried)]
    answers = [answer for answer in answers if answer.share > LEAST]
    assert len(answers) >= (40 if ALL else 15)
    wrong = [answer for answer in answers if answer.fault]
    table = "\n".join(answer.line() for answer in sorted(answers, key=lambda one: one.fault is None))
    score = f"{len(answers) - len(wrong)} of {len(answers)} right\n{table}"
    if len(wrong) > 0.05 * len(answers):
        pytest.fail(score, pytrace=False)


@pytest.mark.slow
def test_what_differs_by_luck_has_no_cause(comparing: Comparing) -> None:
    answers = [comparing.unchanged(number, pair) for number, pair in enumerate(NULLS if ALL else NULLS[::3])]
    wrong = [
        f"{line}  {causes[0]['delta_ms'] / 1e3:+6.1f} s  {causes[0]['text']}" for line, causes in answers if causes
    ]
    if wrong:
        pytest.fail("\n".join([f"{len(wrong)} of {len(answers)} have a cause", *wrong]), pytrace=False)
