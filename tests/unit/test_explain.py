"""What ``rlcompare explain`` says of causes: what their times are means over, and the files that they are from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlcompare.model.diff import Cause, Diff, Row, Unexplained
from rlcompare.report.explain import explain
from rlcompare.report.html import render_html
from rlcompare.report.view import build_view

from . import diff_examples


@pytest.mark.parametrize(("kind", "per"), [("timer", "per step"), ("compute", "per step and rank")])
def test_timers_of_a_log_have_no_ranks(kind: str, per: str) -> None:
    diff = diff_examples.regression()
    rows: tuple[Row, ...] = ({"kind": kind, "phase": "reward", "name": "reward", "delta_ms": 239.3},)
    diff = replace(diff, causes=(replace(diff.causes[0], rows=rows), *diff.causes[1:]))
    lines = explain(diff, "1") or []
    assert lines[0].endswith(f"ms {per}")
    assert f"The last column sums to +239.3 ms. Times are in ms {per}." in lines
    left = explain(diff, "unexplained") or []
    assert left[0].endswith(f"ms {per}")


def test_a_row_that_has_only_the_name_of_its_kind_is_told_in_words() -> None:
    diff = diff_examples.regression()
    rows: tuple[Row, ...] = tuple(
        {"kind": kind, "phase": None, "name": name, "delta_ms": 1.0}
        for kind, name in (("python", "python"), ("launch", "launch"), ("operator", "python"))
    )
    diff = replace(diff, causes=(replace(diff.causes[0], rows=rows), *diff.causes[1:]))
    lines = [line.split("  ") for line in explain(diff, "1") or []]
    names = [[part.strip() for part in line if part.strip()][2:3] for line in lines[4:7]]
    assert names == [["Python code between operators"], ["launch of the next task"], ["python"]]


@pytest.mark.parametrize(
    ("capture", "shown"),
    [
        ({"run": 0, "path": "."}, "runs/cann82"),  # the run is one file
        ({"run": 0, "path": "rank_0"}, "rank_0"),
        ({"run": 7, "path": "."}, "."),
        ({"run": None, "path": "."}, "."),
    ],
)
def test_the_files_that_were_read_are_named(capture: Row, shown: str) -> None:
    diff = diff_examples.regression()
    diff = replace(diff, baseline=replace(diff.baseline, captures=(capture,)))
    assert f"baseline  read from {shown}" in (explain(diff, "time.step") or [])


def test_what_training_logged_is_not_from_a_profile() -> None:
    """The timers of a log, of a run that was profiled too."""
    diff = diff_examples.regression()
    diff = replace(diff, baseline=replace(diff.baseline, captures=({"run": 0, "path": "rank_0"},)))
    rows: tuple[Row, ...] = ({"kind": "timer", "phase": "reward", "name": "reward", "delta_ms": 239.3},)
    timed = replace(diff, causes=(replace(diff.causes[0], rows=rows),))
    logged = "baseline  read from what training logged in runs/cann82; the column source names the file"
    assert logged in (explain(timed, "1") or [])
    training = replace(diff, overall=(replace(diff.overall[0], metric="timing_s/step"),))
    assert logged in (explain(training, "timing_s/step") or [])


def _with_phases(*held: tuple[str, float]) -> Diff:
    """Generation grew by 40 ms, updating shrank by 10, the reward grew by 0.01; causes hold parts of these."""
    base = diff_examples.regression()
    changes = {"generate_sequences": (100.0, 140.0), "update_actor": (60.0, 50.0), "reward": (1.0, 1.01)}
    phases: tuple[Row, ...] = tuple(
        {"name": name, "kind": "wall", "presence": "both", "baseline": old, "new": new, "delta": new - old}
        for name, (old, new) in changes.items()
    )
    causes = tuple(
        Cause("phase", delta / 30.01, delta, f"Phase {name}.", "phases", name,
              ({"kind": "timer", "phase": name, "name": name, "delta_ms": delta},))
        for name, delta in held
    )  # fmt: skip
    left = 30.01 - sum(delta for _, delta in held)
    return replace(
        base,
        headline="timing_s/step",
        overall=(diff_examples.metric("timing_s/step", 0.161, 0.19101, unit="s"),),
        sections={**base.sections, "phases": replace(base.sections["phases"], rows=phases)},
        causes=causes,
        unexplained=Unexplained(left / 30.01, left),
    )


@pytest.mark.parametrize(
    ("held", "rows"),
    [
        ((), [("generate_sequences", 40.0), ("update_actor", -10.0), ("others)", 0.01)]),
        ((("generate_sequences", 40.0),), [("update_actor", -10.0), ("others)", 0.01)]),
        (
            (("generate_sequences", 25.0),),
            [("generate_sequences", 15.0), ("update_actor", -10.0), ("others)", 0.01)],
        ),
    ],
)
def test_what_no_cause_holds_is_listed(held: tuple[tuple[str, float], ...], rows: list[tuple[str, float]]) -> None:
    lines = explain(_with_phases(*held), "unexplained") or []
    table = [line.split() for line in lines[4:-2]]
    assert [(line[-5], float(line[-1])) for line in table] == rows
    assert lines[-1] == "All rows: “Phases of the step” in the report."


def test_of_a_cause_that_lists_some_of_its_rows_no_other_row_of_that_size_is_called_unexplained() -> None:
    diff = _with_phases(("generate_sequences", 35.0))
    listed: Row = {"kind": "timer", "phase": "update_actor", "name": "update_actor", "delta_ms": -8.0}
    hidden: Row = {"kind": None, "phase": None, "name": None, "delta_ms": 3.0}
    cause = replace(diff.causes[0], rows=(*diff.causes[0].rows, listed, hidden))
    lines = explain(replace(diff, causes=(cause,)), "unexplained") or []
    assert not any("update_actor" in line or "reward" in line for line in lines[4:])


def test_time_that_nothing_divides_is_said_as_that() -> None:
    diff = replace(_with_phases(), sections={})
    assert (explain(diff, "unexplained") or [])[-1] == "No measurement breaks it down further."


def test_without_a_change_nothing_is_unexplained() -> None:
    assert explain(diff_examples.identical(), "unexplained") == ["There is no change to explain."]


def test_what_was_not_measured_on_both_sides_is_not_called_no_change() -> None:
    one_side = replace(diff_examples.identical(), overall=(diff_examples.metric("time.device_span", 120.6, None),))
    for diff in (diff_examples.empty(), one_side):
        assert explain(diff, "unexplained") == ["No change was measured."]
        page = render_html(build_view(diff))
        assert "No change was measured." in page and "There is no change to explain." not in page
