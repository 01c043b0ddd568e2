"""What a report shows, as data: columns, texts, tones and order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlcompare.model.diff import Comparability, Delta, Finding, Row, Section
from rlcompare.model.words import Comparable, Polarity, Severity
from rlcompare.report.tables import Table, overall_table, section_table, title_of
from rlcompare.report.tone import floor_of, tone
from rlcompare.report.view import build_view
from tests.unit import diff_examples
from tests.unit.diff_examples import metric, row


def table(*rows: Row, unit: str = "ms", keys: tuple[str, ...] = (), name: str = "kernels", limit: int = 500) -> Table:
    return section_table(Section(name, unit, keys, None, "", rows), floor=0.0, limit=limit)


def texts(made: Table, number: int = 0) -> dict[str, str]:
    cells = made.rows[number].cells
    return {column.key: cell.text for column, cell in zip(made.columns, cells, strict=True)}


def test_a_table_of_long_times_is_in_seconds() -> None:
    """One unit a table, so that a reader can add; where rows carry their units, each has its own."""
    made = table(row("step", 52_980.5, 63_179.6), row("short", 12.5, 13.0, new_wait_ms=0.5))
    assert {column.unit for column in made.columns if column.key in ("baseline", "new", "delta", "new_wait_ms")} == {
        "s"
    }
    assert [texts(made, number)["new"] for number in (0, 1)] == ["63.1796", "0.0130"]
    assert (texts(made)["delta"], texts(made, 1)["new_wait_ms"]) == ("+10.1991", "0.0005")
    overall = (diff_examples.metric("time.step", 52_980.5, 63_179.6), diff_examples.metric("time.free", 12.5, 13.0))
    shown = overall_table(overall, 0.0, "time.step")
    assert [texts(shown, number)["new"] for number in (0, 1)] == ["63.180 s", "13.000 ms"]
    assert texts(shown)["delta"] == "+10.199 s"


@pytest.mark.parametrize(
    ("baseline", "new", "expected"),
    [(0.053981, 0.052093, ("0.0540 s", "0.0521 s", "-0.0019 s")), (1.2345, 0.98765, ("1.23 s", "0.99 s", "-0.25 s"))],
)
def test_a_time_in_seconds_has_the_same_digits_everywhere(
    baseline: float, new: float, expected: tuple[str, str, str]
) -> None:
    step = diff_examples.metric("timing_s/step", baseline, new, unit="s")
    row = overall_table((step,), 0.0, "timing_s/step").rows[0]
    assert tuple(cell.text for cell in row.cells[1:4]) == expected
    diff = replace(diff_examples.regression(), headline="timing_s/step", overall=(step,))
    view = build_view(diff)
    assert (view.headline.baseline, view.headline.new, view.headline.delta) == expected
    line = next(item for item in view.summary if item.key == "headline").parts
    numbers = [text.removesuffix(" s") for text in expected]
    assert f"{numbers[0]} → {numbers[1]} s" in line[0] and line[1].startswith(expected[2])


def test_columns_keep_their_order_and_empty_ones_are_left_out() -> None:
    made = table(row("a", 1.0, 2.0, odd=None, baseline_calls=1, new_calls=2, new_wait_ms=0.5, extra="x", empty=""))
    assert [column.label for column in made.columns] == [
        "name", "baseline", "new", "Δ", "change", "calls baseline", "calls new", "wait new", "extra",
    ]  # fmt: skip
    assert [column.unit for column in made.columns] == ["", "ms", "ms", "ms", "", "", "", "ms", ""]


def test_a_column_missing_in_one_row_is_shown_as_absent() -> None:
    made = table({"name": "a", "baseline": 1.0, "new": 1.0, "new_calls": 3}, {"name": "b"})
    assert texts(made, 1) == {"name": "b", "baseline": "—", "new": "—", "delta": "—", "ratio": "—", "new_calls": "—"}


def test_times_of_a_table_share_their_decimals() -> None:
    made = table(row("a", 2000.0, 2000.5), row("b", 1.0, 1.25))
    assert texts(made)["new"] == "2,000.50"
    assert texts(made, 1)["delta"] == "+0.25"


def test_a_key_that_the_name_contains_is_not_said_again() -> None:
    made = table(
        row("all_reduce / Notify_Wait", 1.0, 2.0, task="Notify_Wait", kind="all_reduce"),
        row("update_actor", 1.0, 2.0, task="actor", kind="actor"),
        keys=("task", "kind"),
    )
    assert [found.detail for found in made.rows] == ["", "actor"]


def test_a_negative_tail_is_explained() -> None:
    for tail, said in ((-1.5, True), (1.5, False)):
        overall = (diff_examples.metric("time.step", 10.0, 11.0), diff_examples.metric("time.tail", 2.0, tail))
        assert ("the device finished after the host's step" in overall_table(overall, 0.0, "time.step").note) is said


def test_other_work_turns_the_banner_amber() -> None:
    base = diff_examples.identical()
    rows = (row("workload.tokens", 1000, 1800, unit="count"),)
    view = build_view(
        replace(base, sections={**base.sections, "workload": Section("workload", "", (), None, "", rows)})
    )
    assert view.status == "caution"
    assert view.status_text == "Comparable settings, but the workload differs: tokens 1,000 → 1,800 (+80.0 %)."


def test_keys_that_are_texts_stand_beside_the_name() -> None:
    made = table(
        row("MatMulV2", 1.0, 2.0, op_type="MatMulV2", shapes="4;8", rank=3), keys=("op_type", "shapes", "rank")
    )
    assert made.rows[0].detail == "4;8"
    assert "shapes" not in texts(made)
    assert texts(made)["rank"] == "3"


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (row("a", 1.0, 1.18), "+18.0 %"),
        (row("a", None, 2.0), "only new"),
        (row("a", 2.0, None), "only baseline"),
        ({**row("a", 0.0, 2.0), "presence": "new_only"}, "added"),
        ({**row("a", 2.0, 0.0), "presence": "baseline_only"}, "gone"),
        (row("a", 0.0, 2.0), "from 0"),
        (row("a", 0.0, 0.0), "0.0 %"),
        ({"name": "a", "new": 1.0}, "—"),
    ],
)
def test_change(found: Row, shown: str) -> None:
    assert texts(table(found))["ratio"] == shown


def test_rows_with_a_unit_of_their_own() -> None:
    made = table(row("peak", 1024, 2048, unit="bytes"), row("ess", 0.9, 0.8, unit="ratio"), unit="", name="metrics")
    assert texts(made)["new"] == "2.00 KiB"
    assert texts(made, 1)["delta"] == "-0.1"


def test_texts_that_differ_are_marked_and_have_no_difference() -> None:
    made = table(row("cann", "8.2", "8.3"), row("chip", "910B", "910B"), unit="", name="env")
    assert [column.key for column in made.columns] == ["name", "baseline", "new"]
    assert [found.tone for found in made.rows] == ["differs", ""]


def test_limit_keeps_the_count() -> None:
    made = table(*(row(str(number), 1.0, 1.0) for number in range(7)), limit=5)
    assert (len(made.rows), made.total, made.hidden) == (5, 7, 2)


@pytest.mark.parametrize(
    ("delta", "ratio", "polarity", "floor", "expected"),
    [
        (5.0, 1.05, "lower", 0.0, "worse"),
        (-5.0, 0.95, "lower", 0.0, "better"),
        (5.0, 1.05, "higher", 0.0, "better"),
        (-5.0, 0.95, "higher", 0.0, "worse"),
        (5.0, 1.05, "neutral", 0.0, ""),
        (5.0, 1.005, "lower", 0.0, "noise"),
        (5.0, 1.5, "lower", 6.0, "noise"),
        (0.0, None, "lower", 0.0, "noise"),
        (5.0, None, "lower", 0.0, "worse"),
        (None, None, "lower", 0.0, ""),
    ],
)
def test_tone(delta: float | None, ratio: float | None, polarity: str, floor: float, expected: str) -> None:
    assert tone(delta, ratio, polarity, floor) == expected


def test_a_change_of_what_is_negative_is_measured_by_its_size() -> None:
    """Without a ratio, as a KL of -0.01 has none."""
    assert tone(0.00005, None, "lower", 0.0, -0.01) == "noise"
    assert tone(0.005, None, "lower", 0.0, -0.01) == "worse"


def test_a_headline_in_seconds_has_a_floor_too() -> None:
    """A thousandth of 39 s is 39 ms."""
    assert floor_of(metric("timing_s/step", 39.0, 40.0, "s")) == pytest.approx(39.0)


@pytest.mark.parametrize(
    ("name", "unit", "expected"),
    [("kernels", "ms", "worse"), ("memory", "bytes", "worse"), ("workload", "", ""), ("links", "bytes", "")],
)
def test_more_is_worse_only_for_times_and_memory(name: str, unit: str, expected: str) -> None:
    assert table(row("a", 1.0, 2.0), name=name, unit=unit).rows[0].tone == expected


def test_a_floor_in_ms_holds_for_times_in_seconds() -> None:
    """A tiny phase that became 0.4 ms shorter is none the better for a step of 0.6 s; one that gained 2 ms is."""
    step = diff_examples.metric("timing_s/step", 0.6, 0.7, unit="s")
    assert floor_of(step) == pytest.approx(0.6)
    tiny = diff_examples.metric("timing_s/reward", 0.0030, 0.0026, unit="s")
    large = diff_examples.metric("timing_s/adv", 0.005, 0.003, unit="s")
    shown = overall_table((step, tiny, large), floor_of(step), "timing_s/step")
    assert [found.tone for found in shown.rows] == ["worse", "noise", "better"]
    rows = (
        row("timing_s/reward", 0.0030, 0.0026, unit="s", polarity="lower"),
        row("critic/score", 0.0030, 0.0026, unit="", polarity="higher"),
    )
    made = section_table(Section("metrics", "", (), None, "", rows), floor_of(step), 10)
    assert [found.tone for found in made.rows] == ["noise", "worse"]


@pytest.mark.parametrize(
    ("timed", "profiled", "tone"),
    [(24.5, 70.0, ""), (24.5, 92.5, "noise"), (30.0, 70.0, ""), (20.0, 70.0, "better"), (30.0, 110.0, "worse")],
)
def test_parts_of_a_phase_are_judged_as_far_as_its_timer_agrees(timed: float, profiled: float, tone: str) -> None:
    """Training's timer of the phase was at 24.4 ms before, the profile's computation in it at 92.3 ms."""
    step = diff_examples.metric("timing_s/step", 0.10, 0.15, unit="s")
    wall = diff_examples.metric("phase.old_log_prob.wall", 24.4, timed)
    compute = diff_examples.metric("phase.old_log_prob.compute", 92.3, profiled)
    base = diff_examples.regression()
    diff = replace(base, headline="timing_s/step", overall=(step, wall, compute))
    shown = build_view(diff).overall
    assert shown.rows[2].tone == tone
    assert ("old_log_prob" in shown.note) is not bool(tone)


def test_no_part_of_a_phase_is_judged_where_the_profile_disagrees() -> None:
    step = diff_examples.metric("timing_s/step", 0.10, 0.15, unit="s")
    others = [
        diff_examples.metric("time.step", 400.0, 300.0),
        diff_examples.metric("phase.update_actor.wall", 70.0, 110.0),
        diff_examples.metric("phase.update_actor.compute", 70.0, 110.0),
    ]
    diff = replace(diff_examples.regression(), headline="timing_s/step", overall=(step, *others))
    assert [found.tone for found in build_view(diff).overall.rows] == ["worse", "", "worse", ""]


def test_values_of_runs_are_shown_where_there_are_several() -> None:
    several = Delta(
        "time.step", "ms", Polarity.LOWER, 1.5, 3.0, 1.5, 2.0, {"baseline": (1.0, 2.0), "new": (3.0,)}, {"p": 0.25}
    )
    made = overall_table((several,), 0.0, "time.step")
    assert texts(made)["samples"] == "1.00, 2.00 ms against 3.00 ms"
    assert texts(made)["evidence"] == "p 0.25"
    many = replace(several, samples={"baseline": (1.0,) * 12, "new": (3.0,)})
    shown = texts(overall_table((many,), 0.0, "time.step"))["samples"]
    assert shown == f"{', '.join(['1.00'] * 10)} ms and 2 more against 3.00 ms"
    assert "samples" not in texts(overall_table(diff_examples.regression().overall, 0.0, "time.step"))


def test_a_key_that_the_name_ends_with_is_not_repeated() -> None:
    made = table(row("all_reduce / Memcpy", 1.0, 2.0, task="Memcpy", role="actor"), keys=("task", "role"))
    assert made.rows[0].detail == "actor"


def test_a_cause_without_a_table_links_nowhere() -> None:
    base = diff_examples.regression()
    causes = tuple(replace(base.causes[0], section=name) for name in ("modules", "nowhere", "kernels"))
    view = build_view(replace(base, causes=causes))
    assert [cause.section for cause in view.causes] == ["", "", "kernels"]


def test_view_of_the_regression() -> None:
    view = build_view(diff_examples.regression(), diff_examples.verdicts())
    assert view.title == "cann83 against cann82"
    assert (view.headline.baseline, view.headline.new) == ("4,752.5 ms", "5,017.5 ms")
    assert (view.headline.delta, view.headline.change, view.headline.tone) == ("+265.0 ms", "+5.6 %", "worse")
    assert [found.name for found in view.tables] == list(diff_examples.SECTION_NAMES)
    assert view.causes[0].section_title == "Kernels"
    assert view.thresholds == "Changes below 1 %, or below 4.75 ms (0.1 % of the headline), are grey."
    assert view.gate is not None
    assert [verdict.failing for verdict in view.gate.verdicts] == [True] * 4 + [False] * 2


def test_findings_are_ordered_by_severity_and_name_their_side() -> None:
    findings = (
        Finding("a", None, None, Severity.INFO, "x"),
        Finding("b", None, "8", Severity.CAUTION, "x"),
        Finding("c", "7", None, Severity.SEVERE, "x"),
        Finding("d", "7", "8", Severity.CAUTION, "x"),
    )
    view = build_view(replace(diff_examples.regression(), comparability=Comparability(Comparable.CAUTION, findings)))
    assert [(found.key, found.sides, found.tone) for found in view.comparability] == [
        ("c", "baseline: 7", "worse"),
        ("b", "new: 8", "caution"),
        ("d", "7 → 8", "caution"),
        ("a", "", ""),
    ]


@pytest.mark.parametrize(("timer", "judged"), [(5.1, True), (4.6, False), (4.752, True)])
def test_a_profile_that_disagrees_with_training_is_not_judged(timer: float, judged: bool) -> None:
    """The profiled step of the example takes 5.6 % longer."""
    base = diff_examples.regression()
    measured = diff_examples.metric("timing_s/step", 4.752, timer, "s")
    view = build_view(replace(base, headline="timing_s/step", overall=(measured, *base.overall)))
    tones = {row.cells[0].text: row.tone for row in view.overall.rows}
    kernels = next(table for table in view.tables if table.name == "kernels")
    assert (tones["time.step"] == "worse") == judged
    assert tones["timing_s/step"] == {5.1: "worse", 4.6: "better", 4.752: "noise"}[timer]
    assert any(row.tone in ("worse", "better") for row in kernels.rows) == judged
    assert ("no row of the profile is judged" in kernels.note) != judged


def test_the_values_of_a_verdict_are_folded() -> None:
    view = build_view(diff_examples.regression(), diff_examples.verdicts())
    assert view.gate is not None and view.gate.outcome == "failed"
    first = view.gate.verdicts[0]
    assert (first.brief, first.rest) == ("expected at most +5.0 %, found +5.6 %", "(4,752.5 → 5,017.5 ms)")
    assert all(f"{found.brief} {found.rest}".strip() == found.text for found in view.gate.verdicts)


def test_health_of_training_is_told_only_as_far_as_it_was_logged() -> None:
    base = diff_examples.regression()
    assert build_view(base).training == ("entropy 0.413 → 0.412",)  # of how many steps is unknown
    rows = tuple({**row, "new_steps": 60} for row in base.sections["metrics"].rows)
    logged = {**base.sections, "metrics": replace(base.sections["metrics"], rows=rows)}
    assert build_view(replace(base, sections=logged)).training == ("no sign of instability", "entropy 0.413 → 0.412")
    unstable = replace(diff_examples.unstable(), sections=logged)
    assert build_view(unstable).training == ("entropy 0.413 → 0.412",)
    assert build_view(diff_examples.empty()).training == ()


def test_a_side_tells_when_it_ran_and_of_which_commit() -> None:
    base = diff_examples.regression()
    run = replace(base.new.runs[0], started="2026-11-22T23:40:00.000+00:00")
    later = replace(run, started="2026-11-23T01:10:00.000+00:00")
    side = replace(base.new, runs=(later, run), env={**base.new.env, "commit.rlcompare": "46ce83b7301c"})
    shown = build_view(replace(base, new=side)).new
    assert (shown.started, shown.commits) == ("2026-11-22 – 2026-11-23 UTC", ("46ce83b7301c",))
    assert build_view(base).baseline.started == ""


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (("shapes",), "much of the kernels' time has no match on the other side."),
        (("shapes", "profiler.level"), "something besides the change under test differs."),
    ],
)
def test_kernels_without_a_match_are_no_other_change(keys: tuple[str, ...], said: str) -> None:
    """The change under test may be why they have none."""
    findings = (
        *(Finding(key, None, None, Severity.CAUTION, "x") for key in keys),
        Finding("other", None, None, Severity.INFO, "x"),
    )
    diff = replace(diff_examples.identical(), comparability=Comparability(Comparable.CAUTION, findings))
    assert build_view(diff).status_text == f"The two sides may be compared with caution: {said}"


def test_headings_hold_for_every_kind_of_device() -> None:
    titles = [title_of(name) for name in diff_examples.regression().sections]
    assert "Calls of the framework and the runtime" in titles and not any("CANN" in title for title in titles)
