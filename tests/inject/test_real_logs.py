"""Real training logs of public repositories: what is read of them, and what is said of two of them.

Expected numbers come from a pattern over the text, not from a reader of ours.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rlcompare.cli.main import run
from tests.inject.log_pairs import REASONS, WAKE

A, B = "grpo-300steps-a.log", "grpo-300steps-b.log"
NUL = "ppo-verl0.1-nul-bytes.log"
SAVING = "ppo-verl0.4-checkpoints.log"

STEP = re.compile(r"step:(\d+) - \S+?:")
VALUE = re.compile(r" - (\S+?):(?:np\.\w+\()?(-?[\d.]+(?:e[-+]?\d+)?|nan|-?inf)\)?(?= - |\s*$)")

Values = dict[int, dict[str, float]]
Call = Callable[..., Any]


def read(text: str) -> Values:
    """Values by step and key."""
    found: Values = {}
    for line in text.replace("\0", "").splitlines():
        if step := STEP.search(line):
            rest = line[step.start() :]
            found.setdefault(int(step[1]), {}).update({key: float(value) for key, value in VALUE.findall(rest)})
    return found


def mean(values: Values, key: str) -> float:
    """Over all steps but the first; a step without the timer counts as 0."""
    counted = [values[step].get(key, 0.0) for step in sorted(values)][1:]
    return sum(counted) / len(counted)


def scaled(text: str, factors: Mapping[str, float], whole: str | None) -> str:
    """The log of a job in which timers took as many times as long, and the step accordingly."""

    def line(found: re.Match[str]) -> str:
        made, more = found[0], 0.0
        for key, factor in factors.items():
            if at := re.search(rf"{re.escape(key)}:([\d.]+)", made):
                more += float(at[1]) * (factor - 1)
                made = made.replace(at[0], f"{key}:{float(at[1]) * factor!r}")
        if whole and (at := re.search(rf"{re.escape(whole)}:([\d.]+)", made)):
            made = made.replace(at[0], f"{whole}:{float(at[1]) + more!r}")
        return made

    return re.sub(r"^.*step:\d+ - .*$", line, text, flags=re.MULTILINE)


def only(text: str, keep: Callable[[int, str], bool]) -> str:
    """The log with some of its steps: those for which ``keep`` holds of the number and the line."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not (step := STEP.search(line)) or keep(int(step[1]), line))


@pytest.fixture(scope="module")
def logs(shared: Path) -> Path:
    folder = shared / "logs"
    if not folder.is_dir():
        pytest.skip("the real logs are not here")
    return folder


@pytest.fixture
def call(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    """Runs a command whose output is JSON."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rlcompare.app.progress.LINE_AFTER_SECONDS", 600)

    def document(*arguments: object) -> Any:
        code = run([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        assert code == 0, captured.err
        return json.loads(captured.out)

    yield document


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def diff(call: Call, folder: Path, new: str, baseline: str) -> dict[str, Any]:
    """The comparison of two texts."""
    (folder / "new.log").write_text(new)
    (folder / "base.log").write_text(baseline)
    return dict(call("diff", "-d", folder / "new.log", "-bp", folder / "base.log", "--json"))


def said(document: dict[str, Any]) -> list[str]:
    return [f"{cause['row']} {cause['delta_ms']:.1f} {cause['text']}" for cause in document["causes"]]


def assert_first(document: dict[str, Any], phase: str, seconds: float) -> None:
    first = document["causes"][0]
    assert phase in f"{first['row']} {first['text']}", said(document)
    assert first["delta_ms"] / 1e3 == pytest.approx(seconds, rel=0.01), said(document)


@pytest.mark.parametrize("name", [A, B, NUL, SAVING])
def test_each_value_is_read(logs: Path, call: Call, name: str) -> None:
    values = read(text_of(logs / name))
    expected = sorted((step, value) for step, data in values.items() for value in data.values())
    found = call("sql", logs / name, "select step, value from metric", "--format", "json")
    assert len(found) == len(expected)
    read_as = sorted((row["step"], row["value"]) for row in found)
    assert all(a[0] == b[0] and math.isclose(a[1], b[1], rel_tol=1e-12) for a, b in zip(read_as, expected, strict=True))


def test_no_reason_is_invented_for_like_jobs(logs: Path, call: Call) -> None:
    # The jobs differ in the code of the reward, which takes 2 ms, and by 2.9 % in the step: as much as like jobs do.
    document = call("diff", "-d", logs / A, "-bp", logs / B, "--json")
    values = read(text_of(logs / A)), read(text_of(logs / B))
    (headline,) = [one for one in document["overall"] if one["metric"] == document["headline"]]
    assert headline["new"] == pytest.approx(mean(values[0], "timing_s/step"))
    assert headline["baseline"] == pytest.approx(mean(values[1], "timing_s/step"))
    # Weights and waking up are where the time is: generation itself takes the same 0.82 s.
    invented = rf"{REASONS}|longest|tokens|asked for|reward".replace("|wake", "")
    assert not [text for text in said(document) if re.search(invented, text, re.IGNORECASE)], said(document)


def test_what_like_jobs_differ_by_has_no_cause(logs: Path, call: Call) -> None:
    assert said(call("diff", "-d", logs / A, "-bp", logs / B, "--json")) == []


@pytest.mark.parametrize(
    ("name", "first", "half"),
    [(A, 1, 150), (SAVING, 101, 160)],
)
def test_halves_of_a_job_differ_by_luck(
    logs: Path, call: Call, tmp_path: Path, name: str, first: int, half: int
) -> None:
    # The steps of A take 3.7 % less in its second half, those of the other log 1.2 %.
    text = text_of(logs / name)
    later = only(text, lambda step, _: first + half <= step < first + 2 * half)
    later = re.sub(r"step:(\d+) - ", lambda found: f"step:{int(found[1]) - half} - ", later)
    document = diff(call, tmp_path, later, only(text, lambda step, _: step < first + half))
    assert document["causes"] == []


@pytest.mark.parametrize(
    ("name", "timer", "factor", "whole", "phase"),
    [
        (A, "timing_s/update_actor", 1.4, "timing_s/step", "update_actor"),
        (B, "timing_s/old_log_prob", 1.5, "timing_s/step", "old_log_prob"),
        (SAVING, "timing_s/update_critic", 1.4, "timing_s/step", "update_critic"),
        (NUL, "timing/update_actor", 1.3, None, "update_actor"),
    ],
)
def test_a_slower_phase_of_a_real_job(
    logs: Path, call: Call, tmp_path: Path, name: str, timer: str, factor: float, whole: str | None, phase: str
) -> None:
    text = text_of(logs / name)
    document = diff(call, tmp_path, scaled(text, {timer: factor}, whole), text)
    assert_first(document, phase, (factor - 1) * mean(read(text), timer))
    assert len(document["causes"]) == 1, said(document)


def test_waking_up_is_not_generation(logs: Path, call: Call, tmp_path: Path) -> None:
    # Of 27 s of gen, 0.82 s are generation.
    text = text_of(logs / A)
    document = diff(call, tmp_path, scaled(text, {"timing_s/gen": 1.2}, "timing_s/step"), text)
    assert_first(document, "gen", 0.2 * mean(read(text), "timing_s/gen"))
    assert re.search(WAKE, document["causes"][0]["text"], re.IGNORECASE), said(document)


def test_checkpoints_and_tests_are_told_from_other_steps(logs: Path, call: Call, tmp_path: Path) -> None:
    text = text_of(logs / SAVING)
    plain = scaled(text, {"timing_s/save_checkpoint": 0.0, "timing_s/testing": 0.0}, "timing_s/step")
    plain = re.sub(r" - timing_s/(save_checkpoint|testing):0\.0(?= )", "", plain)
    document = diff(call, tmp_path, text, plain)
    values = read(text)
    assert_first(document, "save_checkpoint", mean(values, "timing_s/save_checkpoint"))
    second = document["causes"][1]
    assert "testing" in second["text"], said(document)
    assert second["delta_ms"] / 1e3 == pytest.approx(mean(values, "timing_s/testing"), rel=0.01)
    assert len(document["causes"]) == 2, said(document)


def test_checkpoints_do_not_make_a_machine_busy(logs: Path, call: Call) -> None:
    # Without the 34 steps that test and save, the step varies by 5.5 %.
    document = call("diff", "-d", logs / SAVING, "-bp", logs / SAVING, "--json")
    assert document["causes"] == []
    assert not [one["message"] for one in document["quality"] if "busy" in one["message"]]


@pytest.mark.parametrize("name", [A, SAVING])
def test_the_first_step_of_a_job_is_left_out(logs: Path, call: Call, tmp_path: Path, name: str) -> None:
    text = text_of(logs / name)
    values = read(text)
    first = min(values)
    slow = scaled(only(text, lambda step, _: step == first), {"timing_s/gen": 9.0}, "timing_s/step")
    document = diff(call, tmp_path, slow + only(text, lambda step, _: step > first), text)
    assert document["causes"] == []
    (headline,) = [one for one in document["overall"] if one["metric"] == document["headline"]]
    assert headline["new"] == headline["baseline"] == pytest.approx(mean(values, "timing_s/step"))
