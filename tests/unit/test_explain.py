"""What ``rlcompare explain`` says of causes: what their times are means over, and the files that they are from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlcompare.model.diff import Row
from rlcompare.report.explain import explain

from . import diff_examples


@pytest.mark.parametrize(
    ("kind", "per", "section"), [("timer", "per step", "phases"), ("compute", "per step and rank", "account")]
)
def test_timers_of_a_log_have_no_ranks(kind: str, per: str, section: str) -> None:
    diff = diff_examples.regression()
    rows: tuple[Row, ...] = ({"kind": kind, "phase": "reward", "name": "reward", "delta_ms": 239.3},)
    diff = replace(diff, causes=(replace(diff.causes[0], rows=rows), *diff.causes[1:]))
    lines = explain(diff, "1") or []
    assert lines[0].endswith(f"ms {per}")
    assert f"The last column sums to +239.3 ms. Times are in ms {per}." in lines
    left = explain(diff, "unexplained") or []
    assert left[0].endswith(f"ms {per}")
    assert f"the section {section} of" in left[-1]


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
