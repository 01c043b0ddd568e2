"""Events within runs: logs of which one thing is known to change, compared in full, and real logs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from rlcompare.app.comparison import Request, compare_sides
from rlcompare.compare import quality
from rlcompare.language import speaking
from rlcompare.model.diff import Diff, EventFact, RunEvent
from rlcompare.report.document import from_document, to_document
from rlcompare.report.html import render_html
from rlcompare.report.markdown import render_markdown
from rlcompare.report.sentences import said
from rlcompare.report.terminal import SUMMARY_LINES, summary_lines
from rlcompare.report.view import build_view
from tests.sql.rollup_stores import RollupStore, compared
from tests.unit.test_report_document import schema  # noqa: F401  (a fixture)

Extra = Callable[[int], float]
Further = Callable[[int], float | None]
"""None: the metric is not logged in this step."""


def logged(
    path: Path,
    *,
    gen: Extra = lambda step: 0.0,
    reward: Extra = lambda step: 0.0,
    steps: int = 300,
    tests: int = 0,
    saves: int = 0,
    **further: Further,
) -> Path:
    """Steps of 34 s: generation 20 s (18 s of it in the engine), an update of 13 s; noise as in real logs.

    ``gen`` is what a step's generation takes more, in the engine; ``tests``, ``saves``: validation of 12 s, and
    a checkpoint of 18 s, in each step that this number divides. ``further``: other metrics, ``__`` for ``/``.
    """
    rng = random.Random(path.stem)
    rows: list[tuple[int, str, float]] = []
    for step in range(1, steps + 1):
        first = 30 if step == 1 else 0
        engine = 18 * rng.gauss(1, 0.04) + gen(step) + first
        parts = {"gen": engine + 2, "update_actor": 13 * rng.gauss(1, 0.02), "reward": 0.5 + reward(step)}
        timers = {**parts, "generate_sequences": engine}
        timers |= {"testing": 12.0} if tests and step % tests == 0 else {}
        timers |= {"save_checkpoint": 18.0} if saves and step % saves == 0 else {}
        timers["step"] = sum(parts.values()) + timers.get("testing", 0.0) + timers.get("save_checkpoint", 0.0) + 0.5
        rows += [(step, f"timing_s/{name}", value) for name, value in timers.items()]
        rows.append((step, "response_length/max", 1024.0 + rng.choice([0, 8])))
        made = {name.replace("__", "/"): extra(step) for name, extra in further.items()}
        rows += [(step, name, value) for name, value in made.items() if value is not None]
    store = RollupStore(path)
    store.add_many("metric", [{"step": step, "name": name, "value": value, "source": "file", "profiled": False}
                              for step, name, value in rows])  # fmt: skip
    return store.done()


def told(diff: Diff, **wanted: object) -> list[RunEvent]:
    return [event for event in diff.events if all(getattr(event, name) == value for name, value in wanted.items())]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return logged(tmp_path_factory.mktemp("plain") / "plain.duckdb")


def test_since_a_step_of_the_new_side(plain: Path, tmp_path: Path, schema: dict[str, object]) -> None:  # noqa: F811
    diff = compared(plain, logged(tmp_path / "new.duckdb", gen=lambda step: 8.1 if step >= 240 else 0.0))
    event = diff.events[0]
    assert (event.what, event.metric, event.side) == ("onset", "timing_s/step", "new")
    assert (event.step, event.last) == (240, None)
    assert event.elsewhere is False and event.steps == 61
    assert event.delta == pytest.approx(8.1, abs=0.4)
    assert [fact.name for fact in event.facts] == ["timing_s/gen", "timing_s/generate_sequences"]
    assert event.facts[0].delta == pytest.approx(8.1, abs=0.4)
    assert "since step 240" in event.text and "the baseline has no such change" in event.text
    assert {other.step for other in told(diff, what="onset")} == {240}

    document = to_document(diff)
    jsonschema.validate(document, schema, jsonschema.Draft202012Validator)
    assert from_document(document).events == diff.events
    view = build_view(diff)
    lines = summary_lines(view)
    assert len(lines) <= SUMMARY_LINES
    text = " ".join(" ".join(lines).split())
    assert "within run since step 240 timing_s/step +8." in text
    assert "not in the baseline" in text and "s of it timing_s/gen" in text
    assert "since step 240" in render_markdown(view) and "since step 240" in render_html(view)


def test_a_change_of_both_sides_is_no_news(tmp_path: Path) -> None:
    sides = [logged(tmp_path / f"{name}.duckdb", gen=lambda step: 8.0 if step >= 120 else 0.0) for name in "ab"]
    diff = compared(*sides)
    assert {event.elsewhere for event in told(diff, what="onset")} == {True}
    assert not any(line.startswith("within run") for line in summary_lines(build_view(diff)))


def test_alike_runs_have_no_onset(plain: Path, tmp_path: Path) -> None:
    """And a run that becomes slower all the time has a trend, not an onset."""
    growing = logged(tmp_path / "new.duckdb", gen=lambda step: 12 * step / 300)
    diff = compared(plain, growing)
    assert told(diff, what="onset") == []
    assert told(diff, side="baseline", what="trend") == []
    (trend,) = told(diff, metric="timing_s/step", what="trend")
    assert (trend.before, trend.after) == (pytest.approx(34, abs=0.7), pytest.approx(46, abs=0.7))
    assert "within run  over steps 2–300 timing_s/step +" in "\n".join(summary_lines(build_view(diff)))


def test_what_takes_longer_for_a_known_reason_is_told_as_that(plain: Path, tmp_path: Path) -> None:
    """The first step, tests in each tenth step, an unknown reason in each 25th; and no onset."""
    new = logged(tmp_path / "new.duckdb", tests=10, reward=lambda step: 15.0 if step % 25 == 7 else 0.0)
    diff = compared(plain, new)
    assert told(diff, what="onset") == []
    (first,) = told(diff, what="first_steps", side="new")
    assert (first.step, first.last, first.delta) == (1, 1, pytest.approx(30, abs=2.5))
    (test,) = told(diff, what="test_or_save")
    assert (test.period, test.steps, test.delta) == (10, 30, pytest.approx(12, abs=0.7))
    assert test.facts == (EventFact("timing_s/testing", None, 12.0),)
    (spikes,) = told(diff, what="spikes")
    assert (spikes.period, spikes.step, spikes.delta) == (25, 7, pytest.approx(15, abs=1.5))
    assert not any(line.startswith("within run") for line in summary_lines(build_view(diff)))


@pytest.mark.parametrize(("slow", "last"), [(2, [2]), (6, [])])
def test_first_steps_end_by_themselves(tmp_path: Path, slow: int, last: list[int]) -> None:
    """Of ten steps the first two, or the first six, take 0.1 s more: six are no warm-up."""
    rows = [(step, name, 0.3 if step <= slow else 0.2) for step in range(1, 11) for name in ("step", "gen")]
    made = RollupStore(tmp_path / "new.duckdb")
    made.add_many("metric", [{"step": step, "name": f"timing_s/{name}", "value": value, "source": "file",
                              "profiled": False} for step, name, value in rows])  # fmt: skip
    path = made.done()
    assert [event.last for event in told(compared(path, path), what="first_steps", side="new")] == last


def test_steps_that_test_are_told_apart_from_those_that_also_save(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "VARIES", 0.15)
    diff = compared(plain, logged(tmp_path / "new.duckdb", tests=10, saves=20))
    both, tested = told(diff, what="test_or_save")
    assert (both.steps, both.step, both.period) == (15, 20, 20)
    assert (tested.steps, tested.step, tested.period) == (15, 10, 20)
    for event, names in ((tested, ["testing"]), (both, ["testing", "save_checkpoint"])):
        assert [fact.name for fact in event.facts] == [f"timing_s/{name}" for name in names]
        assert event.delta == pytest.approx(sum(fact.after or 0.0 for fact in event.facts), abs=1.0)
    (uneven,) = (finding for finding in diff.quality if finding.key == "uneven_times")
    assert uneven.severity == "info"
    assert re.search(r": 15 steps test or save .* take [23]\d\.\d s more, 15 others 1\d\.\d s more\.", uneven.message)
    with speaking("zh-CN"):
        assert said(uneven.message) != uneven.message


def test_tests_after_the_step_are_no_reason(plain: Path, tmp_path: Path) -> None:
    """Each tenth step is long for another reason; the test in each twentieth is no part of it."""
    new = logged(tmp_path / "new.duckdb", reward=lambda step: 15.0 if step % 10 == 0 else 0.0,
                 timing_s__testing=lambda step: 90.0 if step % 20 == 0 else None)  # fmt: skip
    diff = compared(plain, new)
    assert told(diff, what="test_or_save") == []
    (spikes,) = told(diff, what="spikes")
    assert (spikes.period, spikes.steps, spikes.delta) == (10, 30, pytest.approx(15, abs=1.5))


def test_steps_of_one_of_two_times(plain: Path, tmp_path: Path) -> None:
    chosen = random.Random(2)
    slow = {step for step in range(1, 301) if chosen.random() < 0.35}
    new = logged(tmp_path / "new.duckdb", gen=lambda step: 9.0 if step in slow else 0.0)
    (event,) = told(compared(plain, new), what="two_levels")
    assert (event.side, event.steps, event.elsewhere) == ("new", len(slow), False)
    assert (event.before, event.after) == (pytest.approx(34, abs=0.5), pytest.approx(43, abs=0.5))
    assert f" s in {len(slow)} steps and " in event.text and event.text.endswith("the baseline has no such change.")


def test_every_third_step_is_an_order(plain: Path, tmp_path: Path) -> None:
    new = logged(tmp_path / "new.duckdb", gen=lambda step: 9.0 if step % 3 == 0 else 0.0)
    diff = compared(plain, new)
    assert told(diff, what="two_levels") == []
    (event,) = told(diff, what="spikes")
    assert (event.period, event.steps, event.delta) == (3, 100, pytest.approx(9, abs=0.5))


def test_an_episode_and_the_work_of_a_step(plain: Path, tmp_path: Path) -> None:
    new = logged(tmp_path / "new.duckdb", gen=lambda step: 9.0 if 100 <= step < 150 else 0.0,
                 response_length__mean=lambda step: 401.0 + (200 if 100 <= step < 150 else 0))  # fmt: skip
    (event,) = told(compared(plain, new), metric="timing_s/step", what="onset")
    assert (event.step, event.last, event.steps) == (100, 149, 50)
    assert event.facts[-1] == EventFact("response_length/mean", 401.0, 601.0)
    assert "from step 100 to 149" in event.text and "response_length/mean from 401 to 601" in event.text


def test_health_changes_and_short_logs(plain: Path, tmp_path: Path) -> None:
    """A metric that the baseline does not log: whether it has the same is not known. Twelve steps have no level."""
    kl = replace_noise(lambda step: 0.001 if step < 200 else 0.3)
    diff = compared(plain, logged(tmp_path / "new.duckdb", rollout_corr__kl=kl))
    (event,) = told(diff, what="onset")
    assert (event.metric, event.step, event.elsewhere) == ("mismatch/mismatch_kl", 200, None)
    short = logged(tmp_path / "short.duckdb", steps=12, gen=lambda step: 20.0 if step > 6 else 0.0)
    assert told(compared(short, short), what="onset") == []


def replace_noise(of: Extra) -> Extra:
    rng = random.Random(1)
    return lambda step: of(step) * rng.gauss(1, 0.1)


def test_texts_from_a_document_are_untrusted(plain: Path) -> None:
    diff = compared(plain, plain)
    (event, *_) = diff.events
    hostile = replace(event, what=type(event.what)("onset"), metric="</script>\x1b[31m", text="</script>\x1b[31m|`x`")
    view = build_view(replace(diff, events=(replace(hostile, elsewhere=False),)))
    assert "\x1b" not in "".join(summary_lines(view)) + render_markdown(view) + render_html(view)
    assert "</script>\\" not in render_html(view) and "|`x`" not in render_markdown(view)


def real(baseline: Path, new: Path) -> Diff:
    request = Request(
        baseline=(str(baseline),), new=(str(new),), steps=None, base_steps=None, new_steps=None, ranks=None,
        layout=None, prefer="db", varied=(), cache_dir=None, no_cache=True, quiet=True,
    )  # fmt: skip
    return compare_sides(request, None)


@pytest.mark.slow
def test_real_logs(shared: Path) -> None:
    """Two alike runs; a run that tests and saves in each tenth step, and is slower since its first checkpoint."""
    logs = shared / "logs"
    diff = real(logs / "grpo-300steps-a.log", logs / "grpo-300steps-b.log")
    assert [event for event in told(diff, unit="s") if event.what != "first_steps"] == []
    assert [(event.step, event.last) for event in told(diff, what="first_steps")] == [(1, 1), (1, 1)]
    diff = real(logs / "ppo-verl0.1-nul-bytes.log", logs / "ppo-verl0.4-checkpoints.log")
    (tested,) = told(diff, what="test_or_save", side="baseline")
    assert (tested.period, tested.steps, [fact.name for fact in tested.facts]) == (10, 43, ["timing_s/testing"])
    (longer,) = told(diff, what="test_or_save", side="new")
    assert (longer.period, longer.steps) == (10, 34)
    assert [fact.name for fact in longer.facts] == ["timing_s/testing", "timing_s/save_checkpoint"]
    assert [event.step for event in told(diff, unit="s", what="onset")] == [111]
    (uneven,) = (finding for finding in diff.quality if finding.key == "uneven_times")
    assert uneven.severity == "info" and "34 of all 335 steps test or save a checkpoint" in uneven.message


def test_levels_that_move_on_are_one_event_of_the_summary(tmp_path: Path) -> None:
    """Generation takes 10 s more since step 101, and 20 s more since step 201."""
    old = logged(tmp_path / "old.duckdb")
    new = logged(tmp_path / "new.duckdb", gen=lambda step: 10.0 * (step > 100) + 10.0 * (step > 200))
    (line,) = [line for line in summary_lines(build_view(compared(old, new))) if line.startswith("within run")]
    assert "since step 101 timing_s/step +" in line and "in 2 jumps" in line
