"""The picture of where a step goes: its bars and labels are the numbers of the diff."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare.compare.waits import WHAT
from rlcompare.model.diff import Delta, Diff, Rest, Row
from rlcompare.report.charts import one_run
from rlcompare.report.charts.account import AccountContent, Line, account_chart
from rlcompare.report.charts.step_account import accounts_of
from rlcompare.report.html import render_html
from rlcompare.report.view import build_view
from tests.unit import diff_examples
from tests.unit.diff_examples import metric, row

_STEP = metric("time.step", 140.0, 120.0)


def with_rows(
    rows: dict[str, tuple[Row, ...]], overall: tuple[Delta, ...] = (_STEP,), headline: str = "time.step"
) -> Diff:
    base = diff_examples.identical()
    of = next(iter(base.sections.values()))
    empty = {name: replace(section, rows=()) for name, section in base.sections.items()}
    made = {name: replace(of, name=name, unit="ms", rows=found) for name, found in rows.items()}
    return replace(base, headline=headline, overall=overall, sections={**empty, **made})


def _content(diff: Diff) -> AccountContent:
    chart = account_chart(diff)
    assert chart is not None and isinstance(chart.content, AccountContent)
    return chart.content


def _account(phase: str | None, kind: str, baseline: float | None, new: float | None, name: str = "x") -> Row:
    return row(name, baseline, new, phase=phase, kind=kind)


def _drawn(line: Line, side: str) -> dict[str, float]:
    (bar,) = (bar for bar in line.bars if bar.side == side)
    return {segment.kind: segment.length for segment in bar.segments}


def test_bars_are_the_rows_of_the_account_in_proportion() -> None:
    rows = (
        _account("update_actor", "compute", 30.0, 50.0),
        _account("update_actor", "compute", 10.0, None, "gone"),
        _account("update_actor", "wait", 20.0, 20.0),
        _account("generate_sequences", "sync", 60.0, 10.0),
        _account("generate_sequences", "python", 10.0, 40.0),
        _account(None, "queue", 10.0, 0.0),
    )
    (panel,) = _content(with_rows({"account": rows})).panels
    assert [line.name for line in panel.lines] == ["generate_sequences", "update_actor", "outside of phases"]
    assert panel.step.pair == "140.00 → 120.00 ms"
    assert _drawn(panel.step, "baseline") == pytest.approx(
        {"host": 50.0, "compute": 200 / 7, "wait": 100 / 7, "queue": 50 / 7}
    )
    first, second, _ = panel.lines  # the longest phase is 70 ms
    assert (_drawn(first, "baseline"), _drawn(first, "new")) == ({"host": 100.0}, {"host": pytest.approx(500 / 7)})
    assert _drawn(second, "new") == pytest.approx({"compute": 500 / 7, "wait": 200 / 7})
    assert [(key.label, key.pair, key.delta) for key in panel.keys][:2] == [
        ("computation", "40.00 → 50.00 ms", "+10.00 ms"),
        ("waiting for a rank", "20.00 → 20.00 ms", "0.00 ms"),
    ]
    band = panel.bands[1]
    assert band.baseline == pytest.approx((50, 650 / 7)) and band.new == pytest.approx((250 / 7, 600 / 7))


def test_small_phases_and_kinds_are_shown_together_with_their_sum() -> None:
    rows = [_account("update_actor", "compute", 1000.0, 1000.0)]
    rows += [_account(f"tiny {number}", kind, 1.0, 2.0) for number, kind in enumerate(("copy", "gc", "launch", "comm"))]
    (account,) = accounts_of(with_rows({"account": tuple(rows)}))
    assert [group.name for group in account.groups] == ["update_actor", "4 small phases"]
    assert account.groups[1].value("new") == 8.0
    assert [(group.name, group.value("baseline")) for group in account.kinds()] == [("compute", 1000.0), ("other", 4.0)]


def test_a_log_and_a_profile_are_two_steps() -> None:
    """Training's timers make the headline; the account of the profiled step stands below, and is no part of it."""
    phases = (
        row("update_actor", 90.0, 110.0, kind="wall", baseline_compute=300.0),
        row("(outside)", 10.0, 10.0, kind="wall"),
    )
    timer = metric("timing_s/step", 0.1, 0.12, "s")
    rows = (_account("update_actor", "compute", 300.0, 320.0), _account(None, "python", 1.0, 5.0))
    plain, profiled = _content(
        with_rows({"phases": phases, "account": rows}, (timer, metric("time.step", 301.0, 325.0)), "timing_s/step")
    ).panels
    assert (plain.step.pair, plain.keys) == ("100.00 → 120.00 ms", ())
    assert {kind for bar in plain.step.bars for kind in {part.kind for part in bar.segments}} == {"whole"}
    assert (profiled.title, profiled.step.pair) == ("The profiled step", "301.00 → 325.00 ms")
    disagreeing = metric("timing_s/step", 0.12, 0.1, "s")
    timers = (row("update_actor", 110.0, 90.0, kind="wall"), row("(outside)", 10.0, 10.0, kind="wall"))
    judged = (disagreeing, metric("time.step", 301.0, 325.0))
    _, unjudged = _content(with_rows({"phases": timers, "account": rows}, judged, "timing_s/step")).panels
    assert unjudged.step.tone == ""


def test_phases_that_overlap_leave_less_than_nothing() -> None:
    rows = (
        row("gen", 80.0, 80.0, kind="wall"),
        row("train", 60.0, 60.0, kind="wall"),
        row("(outside)", -20.0, -20.0, kind="wall"),
    )
    (panel,) = _content(
        with_rows({"phases": rows}, (metric("timing_s/step", 0.12, 0.12, "s"),), "timing_s/step")
    ).panels
    assert panel.step.bars[0].total == "120.00 ms"
    assert [(part.start, part.negative) for part in panel.step.bars[0].segments] == [
        (0.0, False), (pytest.approx(400 / 7), False), (pytest.approx(600 / 7), True),
    ]  # fmt: skip
    assert (panel.step.bars[0].segments[0].start, panel.step.bars[0].segments[0].length) == (
        0.0,
        pytest.approx(400 / 7),
    )
    outside = panel.lines[-1]
    assert outside.pair == "-20.00 → -20.00 ms"
    assert [part.negative for part in outside.bars[0].segments] == [True]


def test_parts_of_a_step_without_phases_and_an_account() -> None:
    names = ("step", "preparing", "compute", "exposed_comm", "free", "tail")
    values = ((140.0, 120.0), (20.0, 20.0), (30.0, 40.0), (60.0, 60.0), (10.0, 10.0), (20.0, -10.0))
    overall = tuple(metric(f"time.{name}", *pair) for name, pair in zip(names, values, strict=True))
    (panel,) = _content(with_rows({}, overall)).panels
    assert [(line.name, line.pair) for line in panel.lines] == [
        ("computation", "30.00 → 40.00 ms"),
        ("communication", "60.00 → 60.00 ms"),
        ("host", "40.00 → 10.00 ms"),
        ("free", "10.00 → 10.00 ms"),
    ]
    tail = (metric("time.step", 90.0, 90.0), *overall[2:5], metric("time.tail", -10.0, -10.0))
    starts = {part.kind: part.start for part in _content(with_rows({}, tail)).panels[0].step.bars[0].segments}
    assert starts == pytest.approx({"compute": 0, "comm": 300 / 11, "host": 900 / 11, "free": 900 / 11})
    unmarked = _content(with_rows({}, overall[2:5], "time.device_span")).panels[0]
    assert unmarked.title == "The device's part of the step" and len(unmarked.lines) == 3
    assert account_chart(with_rows({}, ())) is None
    assert account_chart(diff_examples.empty()) is None


def test_a_side_without_data_has_no_bar() -> None:
    rows = (_account("update_actor", "compute", None, 50.0), _account(None, "python", None, 5.0))
    (panel,) = _content(with_rows({"account": rows})).panels
    assert [bar.side for bar in panel.step.bars] == ["new"]
    assert panel.step.pair == "— → 55.000 ms"
    assert render_html(build_view(with_rows({"account": rows}))).count("<svg") > 2


_TIMES = st.one_of(st.none(), st.floats(1e-6, 1e9), st.integers(0, 10).map(float))
_NAMES = st.sampled_from([*diff_examples.HOSTILE_NAMES, "update_actor", "(outside)", "", None])
_KINDS = st.sampled_from(
    ["compute", "wait", "transfer", "comm", "queue", "gc", "a kind of tomorrow", "late start", "unknown"]
)


@given(st.lists(st.tuples(_NAMES, _KINDS, _TIMES, _TIMES), max_size=12))
def test_bars_stay_inside_and_sum_to_the_step(rows: list[tuple[str | None, str, float | None, float | None]]) -> None:
    diff = with_rows({"account": tuple(_account(*values) for values in rows)})
    chart = account_chart(diff)
    sums = {
        "baseline": math.fsum(baseline or 0.0 for *_, baseline, _ in rows),
        "new": math.fsum(new or 0.0 for *_, new in rows),
    }
    if chart is None:
        assert max(sums.values()) == 0
        return
    assert isinstance(chart.content, AccountContent)
    longest = max(sums.values())
    for line in (chart.content.panels[0].step, *chart.content.panels[0].lines):
        for bar in line.bars:
            ends = [segment.start + segment.length for segment in bar.segments]
            assert all(end <= 100.0001 for end in ends)
            assert line is not chart.content.panels[0].step or ends[-1] == pytest.approx(100 * sums[bar.side] / longest)
    assert all(len(cell) < 300 for cells in chart.table.rows for cell in cells)


def test_the_account_of_the_example_is_that_of_its_document() -> None:
    document = json.loads((Path(__file__).parents[2] / "golden/expected/diff.json").read_text(encoding="utf-8"))
    (panel,) = _content(diff_examples.regression()).panels
    by_name = {line.name: line for line in panel.lines}
    for found in document["sections"]["phases"]:
        name = "outside of phases" if found["name"] == "(outside)" else found["name"]
        if name not in by_name:
            continue
        assert by_name[name].pair == f"{found['baseline']:,.1f} → {found['new']:,.1f} ms"
        lengths = [math.fsum(part.length for part in bar.segments) for bar in by_name[name].bars]
        assert lengths == pytest.approx([100 * found[side] / 2418.9 for side in ("baseline", "new")])
    assert panel.step.pair == "4,752.5 → 5,017.5 ms"
    assert {"update_actor", "generate_sequences", "old_log_prob"} < set(by_name)


def test_rows_that_a_document_leaves_out_count_with_their_sums() -> None:
    rows = [_account("update_actor", "compute", 1.0 + n, 2.0 + n, f"op {n}") for n in range(40)]
    rows += [_account("generate_sequences", "python", 30.0, 30.0), _account(None, "wait", 20.0, 25.0)]
    diff = with_rows({"account": tuple(rows)})
    section = diff.sections["account"]
    left = (
        Rest(39, math.fsum(range(2, 41)), math.fsum(range(3, 42)), 39.0, "compute", "update_actor"),
        Rest(1, 20.0, 25.0, 5.0, "wait", None),
    )
    short = replace(section, rows=(rows[0], rows[40]), rest=left)
    assert _content(replace(diff, sections={**diff.sections, "account": short})) == _content(diff)


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("compute", "computation"), ("transfer", "transfer"), ("wait", "waiting for a rank"), ("comm", "communication"),
        ("copy", "copies"), ("queue", "queued"), ("launch", "launch"), ("late start", "late start, between steps"),
        ("between steps", "late start, between steps"), ("unknown", "not recorded"), ("gc", "host"), ("sync", "host"),
        ("a kind of tomorrow", "host"),
    ],
)  # fmt: skip
def test_kinds_of_the_account_have_their_names(kind: str, label: str) -> None:
    (panel,) = _content(with_rows({"account": (_account("update_actor", kind, 30.0, 50.0),)})).panels
    assert [line.name for line in panel.lines] == [label]


def test_of_one_run_copies_and_what_was_not_recorded_are_not_called_idle() -> None:
    rows = [{"kind": kind, "total_ms": 10.0} for kind in ("compute", "copy", "unknown", "gc")]
    chart = one_run.account_chart(rows)
    assert chart is not None and isinstance(chart.content, one_run.Meters)
    words = dict(chart.content.key)
    found = {meter.name: words[meter.parts[0].group] for meter in chart.content.meters}
    assert found == {
        "computation": "compute",
        "copies": "copies",
        "time that the profile does not explain": "not recorded",
        "garbage collection": "device idle",
    }


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("operator", "operators on the host"),
        ("late start", "late start of a rank"),
        ("queue", "time between launched tasks"),
    ],
)
def test_of_one_run_kinds_are_told_in_words(kind: str, said: str) -> None:
    chart = one_run.account_chart([{"kind": kind, "total_ms": 3.0}, {"kind": "compute", "total_ms": 1.0}])
    assert chart is not None and chart.finding == f"The largest part is {said}: 75 %."


@pytest.mark.parametrize("kind", [*WHAT, "compute", "wait", "comm"])
def test_of_one_run_every_kind_of_the_account_has_words(kind: str) -> None:
    assert one_run.kind_words(kind) != kind
