"""The summary on a terminal: what stands in it, in which order, and what it says when something is missing."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from rlcompare.gate.summary import summary_of
from rlcompare.model.diff import (
    DAMAGED_FILE,
    TIMERS_OVERLAP,
    Comparability,
    Diff,
    Finding,
    Row,
    RunInfo,
    Samples,
    Section,
    Side,
    Unexplained,
)
from rlcompare.model.verdict import Policy
from rlcompare.model.words import Comparable, Severity
from rlcompare.report.html import render_html
from rlcompare.report.notebook import render_comparison
from rlcompare.report.output import Line, print_lines
from rlcompare.report.summary import COMMAND_LIMIT, SummaryItem
from rlcompare.report.terminal import (
    SCREEN,
    SUMMARY_LINES,
    TERMINAL_ROWS,
    end_lines,
    print_summary,
    summary_lines,
    table_lines,
    warning_lines,
)
from rlcompare.report.view import ReportView, build_view
from rlcompare.text import width_of
from tests.unit import diff_examples
from tests.unit.diff_examples import metric, row

_ORDER = [
    "cause",
    "headline",
    "phases",
    "rest",
    "workload",
    "differs",
    "sampling",
    "ranks",
    "quality",
    "baseline",
    "new",
    "next",
]


def items(diff: Diff) -> dict[str, SummaryItem]:
    return {item.key: item for item in build_view(diff).summary}


def text(diff: Diff, key: str) -> str:
    return " · ".join(items(diff)[key].parts)


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "make", [diff_examples.regression, diff_examples.identical, diff_examples.empty, diff_examples.hostile]
)
def test_the_answer_and_its_cause_come_first_on_one_screen(make: Callable[[], Diff]) -> None:
    diff = make()
    view = build_view(diff, rows=TERMINAL_ROWS)
    lines = summary_lines(view)
    order = [key for key in _ORDER if key != "rest" or make is not diff_examples.identical]  # whose rest is 0
    assert list(items(diff)) == order
    assert len(lines) <= SUMMARY_LINES
    assert max(map(width_of, lines)) <= 100
    labels = [line[:12].strip() for line in lines if line[:12].strip()]
    assert len(labels) == len(order)
    assert labels[:2] == ["answer", "cause"] and labels[-1] == "new"
    stream = io.StringIO()
    print_summary(view, stream)
    assert len(stream.getvalue().splitlines()) <= SCREEN + len(warning_lines(view))


def test_a_symptom_that_has_no_room_is_told_by_its_first_clause() -> None:
    text = "critic/score/mean is 0.135 where the baseline ends at 0.945 (-85.7 %); it ends at 0.129; steps vary by 0.1."
    base = diff_examples.unstable()
    diff = replace(base, symptoms=(replace(base.symptoms[0], key="health.reward_fall", text=text),))
    (line,) = (line for line in summary_lines(build_view(diff)) if line.startswith("stability"))
    assert line.endswith("1 error: critic/score/mean is 0.135 where the baseline ends at 0.945 (-85.7 %)")


def test_runs_that_overlap_are_not_worse() -> None:
    diff = diff_examples.regression()
    runs: Samples = {"baseline": (4400.0, 5105.0), "new": (4900.0, 5135.0)}
    for overlap in (True, False):
        overall = [replace(delta, samples=runs, evidence={"runs_overlap": overlap}) for delta in diff.overall[:1]]
        view = build_view(replace(diff, overall=(*overall, *diff.overall[1:])))
        assert ("overlap" in summary_lines(view)[0], view.headline.tone == "worse") == (overlap, not overlap)


def test_regression_says_what_happened() -> None:
    diff = diff_examples.regression()
    assert text(diff, "headline") == "time.step 4,752.5 → 5,017.5 ms · +265.0 ms (+5.6 %)"
    assert text(diff, "differs") == "with caution · cann 8.2.RC1 → 8.3.RC1"
    assert text(diff, "workload").startswith("the same · perf/total_num_tokens 1,048,576")
    assert text(diff, "cause").startswith("90 % of the change: FlashAttentionScoreGrad in update_actor takes 2.2 times")
    assert text(diff, "phases").startswith("update_actor +255.6 ms (+18.0 %) · generate_sequences +6.6 ms")
    assert text(diff, "sampling").startswith("ESS 0.971 → 0.82 · mean 1 → 1.02 · vetoed 0 → 0.004 · KL")
    assert text(diff, "ranks") == "8 ranks · straggler rank 3, on average 18.27 ms late (new)"
    assert text(diff, "quality").startswith("1 warning, 1 note: Rank 3 of the new side")
    assert text(diff, "rest") == "+0.5 ms of +265.0 ms is not in any phase"
    assert text(diff, "next") == "rlcompare gate rlcompare-out/diff.json"


def test_of_timers_that_overlap_no_rest_is_told() -> None:
    """30 s of timers in a step of 21 s: -9 s outside of all phases would be nonsense."""
    diff = diff_examples.regression()
    overlap = Finding(TIMERS_OVERLAP, None, None, Severity.CAUTION, "Baseline: its timers overlap.")
    assert text(replace(diff, quality=(overlap,)), "rest") == "unknown: training's timers overlap"


def test_shown_phases_sum_to_the_headline() -> None:
    """What is read off the line is what the headline says: 255.6 + 6.6 + 1.4 + 0.7 + 0.5 + 0.2 + 0.0 = 265.0."""
    parts = items(diff_examples.regression())["phases"].parts
    assert parts[-1] == "1 more 0.0 ms"
    shown = [float(part.split(" ms")[0].rsplit(" ", 1)[1].replace(",", "")) for part in parts]
    assert sum(shown) == pytest.approx(265.0, abs=0.05)


def test_parts_of_a_headline_of_seconds_are_in_seconds() -> None:
    base = diff_examples.regression()
    phases = (row("generate_sequences", 30_000.0, 33_958.0), row("reward", 10.0, 20.0), row("(outside)", 1.0, 1.0))
    diff = replace(
        base,
        headline="timing_s/step",
        overall=(metric("timing_s/step", 52.98, 56.96, unit="s"),),
        sections={**base.sections, "phases": replace(base.sections["phases"], rows=phases)},
    )
    assert text(diff, "phases").startswith("generate_sequences +3.96 s (+13.2 %) · reward +0.01 s (×2.00)")
    assert text(diff, "rest") == "+0.01 s of +3.98 s is not in any phase"


def test_one_phase_gives_the_parts_of_the_device() -> None:
    diff = diff_examples.identical()
    assert items(diff)["phases"].label == "parts"
    assert text(diff, "phases") == "compute 0.0 ms (0.0 %) · exposed communication 0.0 ms (0.0 %) · free 0.0 ms (0.0 %)"
    first = summary_lines(build_view(diff))[0]
    assert first == "answer      No change seen: 0.0 %, but one run a side could hide up to 10 %"
    assert text(diff, "cause") == "no change to explain"


@pytest.mark.parametrize(
    ("deltas", "said"),
    [
        ((3.96, -3.9), "generate_sequences +3.96 s (+13.2 %), reward -3.90 s (-39.0 %)"),
        ((0.2, -3.9), ""),  # no more than runs differ by
        ((0.0, 0.0), ""),
    ],
)
def test_parts_that_offset_each_other(deltas: tuple[float, float], said: str) -> None:
    base = diff_examples.identical()
    phases: tuple[Row, ...] = tuple(
        {"name": name, "presence": "both", "baseline": old * 1e3, "new": (old + delta) * 1e3, "delta": delta * 1e3,
         "ratio": 1 + delta / old}
        for name, old, delta in zip(("generate_sequences", "reward"), (30.0, 10.0), deltas, strict=True)
    )  # fmt: skip
    diff = replace(
        base,
        headline="timing_s/step",
        overall=(metric("timing_s/step", 52.98, 53.04, unit="s"),),
        sections={**base.sections, "phases": replace(base.sections["phases"], rows=phases)},
    )
    offset = f" · Parts offset each other: {said}" if said else ""
    assert text(diff, "cause") == f"no change to explain{offset}"


@pytest.mark.parametrize(
    ("compute", "free", "said"),
    [
        (
            30.0,
            -10.0,
            "compute +30.0 ms (+60.0 %), exposed communication -19.0 ms (-23.8 %), the rest -10.0 ms (-14.3 %)",
        ),
        (7.0, -6.5, ""),  # of 200 ms, runs differ by 8
    ],
)
def test_kinds_of_time_that_offset_each_other_in_all_phases(compute: float, free: float, said: str) -> None:
    base = diff_examples.identical()
    exposed = 1.0 - compute - free
    overall = (
        metric("time.step", 200.0, 201.0),
        metric("time.compute", 50.0, 50.0 + compute),
        metric("time.exposed_comm", 80.0, 80.0 + exposed),
        metric("time.step_free", 70.0, 70.0 + free),
        metric("time.preparing", 5.0, 45.0),  # the device works on after the step: what it has less is the tail
        metric("time.tail", 10.0, -30.0),
    )
    phases: tuple[Row, ...] = tuple(
        {"name": name, "presence": "both", "baseline": 100.0, "new": 100.5, "delta": 0.5, "ratio": 1.005}
        for name in ("forward", "backward")
    )
    sections = {**base.sections, "phases": replace(base.sections["phases"], rows=phases)}
    offset = f" · Parts offset each other: {said}" if said else ""
    for made in (sections, base.sections):
        diff = replace(base, headline="time.step", overall=overall, sections=made)
        assert text(diff, "cause") == f"no change to explain{offset}"


def test_parts_of_a_marked_step_include_the_host_before_and_after_the_device() -> None:
    overall = (
        metric("time.step", 100.0, 130.0),
        metric("time.compute", 50.0, 60.0),
        metric("time.exposed_comm", 10.0, 10.0),
        metric("time.free", 20.0, 25.0),
        metric("time.preparing", 5.0, 8.0),
        metric("time.tail", 10.0, 19.0),
    )
    diff = replace(diff_examples.identical(), headline="time.step", overall=overall)
    assert text(diff, "phases").startswith("compute +10.0 ms (+20.0 %) · tail +9.0 ms (+90.0 %) · free +5.0 ms")
    assert text(diff, "rest") == "+3.0 ms of +30.0 ms is not in any part above"


def test_nothing_measured_is_said_line_by_line() -> None:
    diff = diff_examples.empty()
    assert text(diff, "headline") == "no time was measured on either side"
    assert text(diff, "workload").startswith("not recorded")
    assert text(diff, "sampling").startswith("not measured")
    assert text(diff, "phases") == "no device time was recorded"
    assert text(diff, "rest").startswith("unknown")
    assert text(diff, "differs").endswith("no settings were recorded")
    assert text(diff, "quality") == "no data missing or left out"


def test_memory_answers_where_no_time_was_measured() -> None:
    """Two sides of memory snapshots alone."""
    peak = metric("memory.peak_allocated", 2.0**20, 2.0**21, unit="bytes")
    diff = replace(diff_examples.empty(), overall=(peak, metric("memory.peak_reserved", None, 2.0**21, unit="bytes")))
    said = "no time was measured on either side · memory.peak_allocated 1.00 MiB → 2.00 MiB (×2.00)"
    assert text(diff, "headline") == said
    assert f" N{said[1:]}<" in render_html(build_view(diff))
    assert said in render_comparison(build_view(diff))


def test_headline_of_one_side_only() -> None:
    diff = replace(diff_examples.identical(), overall=(metric("time.device_span", None, 5.0),))
    assert text(diff, "headline") == "time.device_span — → 5.00 ms · not measured on the baseline"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ((30.0, 1.0, 0.0), " · mostly in 1 of 3 steps: 7"),
        ((1.0, 40.0, 0.0, 2.0, 30.0), " · mostly in 2 of 5 steps: 8, 11"),
        ((10.0, 10.0, 0.0), ""),
        ((30.0, -15.0, 0.0), ""),
        ((30.0,), ""),
    ],
)
def test_a_change_in_few_of_the_steps_names_them(changes: Sequence[float], said: str) -> None:
    base = diff_examples.regression()
    rows = tuple(row(f"{number}", 100.0, 100.0 + change) for number, change in enumerate(changes, 7))
    diff = replace(base, sections={**base.sections, "steps": Section("steps", "ms", (), None, "", rows)})
    assert text(diff, "headline").partition("%)")[2] == said


def test_a_run_without_the_measurement_is_no_evidence() -> None:
    diff = diff_examples.regression()
    for samples, said in (((1.0, None), "one run a side"), ((1.0, None, 3.0), "2 runs a side")):
        overall = tuple(
            replace(delta, samples={"baseline": samples, "new": samples}) if delta.metric == diff.headline else delta
            for delta in diff.overall
        )
        assert said in " ".join(summary_lines(build_view(replace(diff, overall=overall)))[:2])


def test_more_work_is_told_beside_the_time() -> None:
    base = diff_examples.regression()
    rows = (row("workload.tokens", 1000, 1250, unit="count"), row("workload.sequences", 8, 8, unit="count"))
    diff = replace(base, sections={**base.sections, "workload": replace(base.sections["workload"], rows=rows)})
    assert text(diff, "workload") == "differs · tokens 1,000 → 1,250 (+25.0 %)"


@pytest.mark.parametrize("prefix", ["mismatch/", "rollout_corr/", ""])
def test_sampling_metrics_are_found_under_all_names_of_verl(prefix: str) -> None:
    base = diff_examples.regression()
    rows = (
        row(f"{prefix}rollout_is_eff_sample_size", 0.9, 0.8),
        row("response_length/mean", 1, 1),
        row("actor/kl", 1, 2),
    )
    diff = replace(base, sections={**base.sections, "metrics": replace(base.sections["metrics"], rows=rows)})
    assert text(diff, "sampling") == "ESS 0.9 → 0.8"


def test_other_sampling_metrics_are_not_called_absent() -> None:
    base = diff_examples.regression()
    rows = (row("rollout_is_std", 0.2, 0.3),)
    diff = replace(base, sections={**base.sections, "metrics": replace(base.sections["metrics"], rows=rows)})
    assert text(diff, "sampling") == "std 0.2 → 0.3"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, None, "no straggler"),
        (3, 3, "straggler rank 3, on average 0.44 → 18.27 ms late"),
        (5, 3, "straggler rank 3, on average 18.27 ms late (new) · rank 5, on average 0.462 ms late (baseline)"),
        (2, None, "straggler rank 2, on average 0.432 ms late (baseline)"),
    ],
)
def test_straggler(before: int | None, after: int | None, expected: str) -> None:
    base = diff_examples.regression()
    rows = tuple(
        {**found, "baseline_straggler": rank == before, "new_straggler": rank == after}
        for rank, found in enumerate(base.sections["ranks"].rows)
    )
    diff = replace(base, sections={**base.sections, "ranks": replace(base.sections["ranks"], rows=rows)})
    assert text(diff, "ranks") == f"8 ranks · {expected}"


def test_number_of_ranks_and_runs() -> None:
    run = RunInfo("a", "runs/a", 16, 16, 4)
    new = Side("new", (run, run), (), (1, 2, 3, 4), {})
    diff = replace(diff_examples.regression(), new=new)
    assert text(diff, "new").startswith("new · 2 runs × 16 ranks, 4 steps")
    assert text(diff, "ranks").startswith("8 → 16 ranks")


def test_profiled_steps_are_told_from_those_that_speed_is_judged_by() -> None:
    base = diff_examples.regression()
    speed, step = metric("timing_s/step", 0.25, 0.47, unit="s"), metric("time.step", 285.0, 634.0)
    rows = (row("timing_s/step", 0.25, 0.47, baseline_steps=10, new_steps=9),)
    diff = replace(
        base,
        headline="timing_s/step",
        overall=(speed, step),
        sections={**base.sections, "metrics": replace(base.sections["metrics"], rows=rows)},
    )
    assert items(diff)["baseline"].parts[1] == "1 run × 8 ranks, 2 steps profiled, 10 timed"
    assert items(diff)["new"].parts[1] == "1 run × 8 ranks, 2 steps profiled, 9 timed"
    several = tuple(replace(base.new.runs[0], path=f"ab/new/run{number}") for number in (1, 2))
    of_runs = items(replace(diff, new=replace(base.new, runs=several)))["new"].parts
    assert of_runs[1:] == ("2 runs × 8 ranks, 2 steps profiled, 9 timed in all runs", "ab/new")
    view = build_view(diff, rows=TERMINAL_ROWS)
    assert table_lines(view)[1] == "Overall; time.…: profiled steps, including profiler overhead"
    assert "timing_s/step: unprofiled steps where available." in view.overall.note
    plain = build_view(base, rows=TERMINAL_ROWS)
    assert (items(base)["baseline"].parts[1], table_lines(plain)[1]) == ("1 run × 8 ranks, 2 steps", "Overall")


@pytest.mark.parametrize(
    ("outside", "said"),
    [
        ((2.0, 485.4), "not in the profile: 2.0 → 485.4 ms of the profiled step's 231.9 → 731.1 ms"),
        ((-0.5, -0.3), None),
    ],
)
def test_what_the_profile_lacks_of_its_step(outside: tuple[float, float], said: str | None) -> None:
    """A profile whose marks lie a little outside of the timer lacks nothing."""
    further = (metric("time.profiled_step", 231.9, 731.1), metric("time.outside_profile", *outside))
    base = diff_examples.regression()
    parts = items(replace(base, overall=(*base.overall, *further)))["rest"].parts
    assert parts[1:] == ((said,) if said else ())


def test_next_command_declares_what_was_refused() -> None:
    findings = (Finding("chip", "A2", "A3", Severity.SEVERE, "x"), Finding("cann", "1", "2", Severity.CAUTION, "y"))
    diff = replace(diff_examples.regression(), comparability=Comparability(Comparable.NOT_COMPARABLE, findings))
    assert text(diff, "next") == "rlcompare diff -d runs/cann83 -bp runs/cann82 --varied chip"
    assert text(diff, "differs").startswith("NOT COMPARABLE · chip A2 → A3 · cann 1 → 2")
    long = f"runs/{'a' * 150}"
    command = f"rlcompare diff -d {long} -bp runs/cann82 --varied chip"
    assert text(_with_path(diff, long), "next") == command
    assert end_lines(build_view(_with_path(diff, long))) == ["", f"next        {command}"]


def test_what_a_damaged_file_lacks_is_not_declared() -> None:
    findings = (Finding("executor", "device", "host", Severity.SEVERE, "x"),)
    base = replace(diff_examples.regression(), comparability=Comparability(Comparable.NOT_COMPARABLE, findings))
    for quality, advice in (
        ((), "Declare it with --varied executor."),
        (
            (Finding(DAMAGED_FILE, None, None, Severity.CAUTION, "x"),),
            "A file is damaged: copy it again or export it again.",
        ),
    ):
        diff = replace(base, quality=quality)
        assert ("--varied" in text(diff, "next")) == (not quality)
        assert text(diff, "next").startswith("rlcompare diff -d runs/cann83 -bp runs/cann82")
        said = summary_of((), diff, Policy("", ()), findings)
        assert said == f"The sides must not be compared: executor differs. {advice}"


def test_next_command_looks_at_the_rank_that_is_to_blame() -> None:
    base = diff_examples.regression()
    diff = replace(base, causes=(base.causes[1],))
    assert text(diff, "next") == "rlcompare diff -d runs/cann83 -bp runs/cann82 --rank 3"


def test_next_command_is_short_and_safe_to_paste() -> None:
    base = diff_examples.regression()
    for path in ("a" * 390, "x\nrm -rf y", "$(reboot)", "a b"):
        command = text(_with_path(base, path), "next")
        assert len(command) <= COMMAND_LIMIT
        assert "\n" not in command
        assert "$(" not in command.replace("'$(reboot)'", "")
    long = f"runs/{'a' * 200}"
    assert text(_with_path(base, long), "next") == f"rlcompare diff -d {long} -bp runs/cann82 --rank 3"
    assert text(_with_path(base, "a b"), "next") == "rlcompare diff -d 'a b' -bp runs/cann82 --rank 3"


def _with_path(diff: Diff, path: str) -> Diff:
    """The diff with that path of the new side, and a straggler as its first cause."""
    run = replace(diff.new.runs[0], path=path)
    return replace(diff, new=replace(diff.new, runs=(run,)), causes=(diff.causes[1],))


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_first_cause_is_never_cut(width: int) -> None:
    text = (
        "The others wait for rank 1, which starts collectives up to 4.08 ms late (baseline: 0.083 ms): their exposed"
        " communication grew by 3.99 ms; on rank 1 free time grew by 3.68 ms, most of it before"
        " aclnnFlashAttentionScoreGrad_FlashAttentionScoreGrad_FlashAttentionScoreGrad_x in update_actor, 12 calls."
    )
    base = diff_examples.regression()
    diff = replace(base, causes=(replace(base.causes[0], text=text),))
    lines = summary_lines(build_view(diff), width)
    start = next(number for number, line in enumerate(lines) if line.startswith("cause"))
    end = next(number for number, line in enumerate(lines) if line.startswith("step"))
    shown = "".join(line[12:] for line in lines[start:end]).replace(" ", "")
    assert shown.startswith(f"90 % of the change: {text}".replace(" ", ""))
    if width >= 100:
        assert len(lines) <= SUMMARY_LINES


def test_causes_much_larger_than_the_change_are_told_by_their_times() -> None:
    """312 % of the change says little."""
    base = diff_examples.regression()
    operator, late, _ = base.causes
    causes = (replace(operator, share=3.12, delta_ms=7.2), replace(late, share=-2.08, delta_ms=-4.8))
    diff = replace(base, causes=causes, unexplained=Unexplained(-0.04, -0.09))
    first, second, left = items(diff)["cause"].parts
    assert first.startswith("+7.20 ms of +2.31 ms in all: FlashAttentionScoreGrad")
    assert second.startswith("And -4.80 ms: Rank 3")
    assert left == "Unexplained -0.09 ms."
    view = build_view(diff)
    assert [(cause.share, cause.delta) for cause in view.causes] == [("", "+7.20 ms"), ("", "-4.80 ms")]
    assert view.unexplained == "-0.0900 ms"
    # AND all in the unit of their sentences, whatever that of the headline is
    brief = metric("timing_s/step", 0.1704, 0.189, "s")
    timed = replace(diff, headline=brief.metric, overall=(brief,))
    assert items(timed)["cause"].parts[0].startswith("+7.20 ms of +2.31 ms in all: FlashAttentionScoreGrad")
    step = metric("timing_s/step", 115.0, 120.4, "s")
    slower = replace(base, headline=step.metric, overall=(step,), unexplained=Unexplained(-0.15, -820.0))
    slower = replace(slower, causes=(replace(operator, share=1.15, delta_ms=6_250.0),))
    first, left = items(slower)["cause"].parts
    assert first.startswith("+6.25 s of +5.43 s in all: ")
    assert left == "Unexplained -0.82 s."
    # AND a little more than the change is a share
    near = replace(base, causes=(replace(operator, share=1.05),), unexplained=Unexplained(-0.05, -1.0))
    assert items(near)["cause"].parts[0].startswith("105 % of the change: ")


def test_two_causes_and_what_is_left_are_named() -> None:
    base = diff_examples.regression()
    operator, late, _ = base.causes
    causes = (replace(late, share=0.53), replace(operator, share=0.3), replace(operator, share=0.1))
    diff = replace(base, causes=causes, unexplained=Unexplained(0.07, 1.0))
    first, second, left = items(diff)["cause"].parts
    assert first.startswith("53 % of the change: Rank 3")
    assert second.startswith("And 30 %: FlashAttentionScoreGrad in update_actor")
    assert left == "Other causes 10 %, unexplained 7 %."
    assert items(diff)["cause"].shorter[0] == (first, "Other causes 40 %, unexplained 7 %.")
    long = replace(diff, causes=(replace(causes[0], text="word " * 60), *causes[1:]))
    lines = summary_lines(build_view(long))
    assert len(lines) <= SUMMARY_LINES and not any("And 30 %" in line for line in lines)


def test_phases_without_room_are_summed_up() -> None:
    """Of nine phases six have a line, and the last line sums the others: what is shown still sums to the headline."""
    base = diff_examples.regression()
    rows = (*base.sections["phases"].rows, row("save", 100.0, 90.0), row("test", 10.0, 10.1))
    view = build_view(replace(base, sections={**base.sections, "phases": replace(base.sections["phases"], rows=rows)}))
    lines = block(view)
    assert [line.split()[0] for line in lines[1:]] == [
        "update_actor", "save", "generate_sequences", "old_log_prob", "ref_log_prob", "(outside)", "3",
    ]  # fmt: skip
    assert lines[-1].split()[:6] == ["3", "more", "54.3", "54.6", "+0.3", "+0.6"]
    assert sum(float(re.findall(r"[+-]?[0-9.]+", line)[-2]) for line in lines[1:]) == pytest.approx(265.0 - 10 + 0.1)


def block(view: ReportView, width: int = 100) -> list[str]:
    """The lines of the parts of the step, without the label in front."""
    lines = summary_lines(view, width)
    start = next(number for number, line in enumerate(lines) if line.startswith(("phases", "parts")))
    end = next(number for number, line in enumerate(lines) if line.startswith(("rest", "workload")))
    return [line[12:] for line in lines[start:end]]


@pytest.mark.parametrize("make", [diff_examples.regression, diff_examples.identical, diff_examples.hostile])
@pytest.mark.parametrize("width", [60, 72, 80, 100, 160])
def test_bars_are_to_the_scale_of_their_numbers(make: Callable[[], Diff], width: int) -> None:
    view = build_view(make())
    assert view.parts
    head, *lines = block(view, width)
    drawn = [(line.count("█"), line.count("▓"), line.count("░")) for line in lines]
    values = [[number(text) for text in (part.baseline, part.new)] for part in view.parts.lines]
    cells = max(map(sum, drawn))
    largest = max(max(pair) for pair in values)
    assert cells >= 10 and max(map(width_of, [head, *lines])) <= width - 12
    for (both, more, less), (baseline, new) in zip(drawn, values, strict=True):
        assert both == pytest.approx(min(baseline, new) / largest * cells, abs=0.51)
        assert both + more + less == pytest.approx(max(baseline, new) / largest * cells, abs=0.51)
        assert (more == 0 or new > baseline) and (less == 0 or new < baseline)


def number(text: str) -> float:
    return 0.0 if text == "—" else float(text.replace(",", ""))


def test_the_parts_of_a_narrow_terminal_are_a_list() -> None:
    lines = summary_lines(build_view(diff_examples.regression()), 59)
    assert not set("".join(lines)) & set("█▓░▏")
    assert "phases      update_actor +255.6 ms (+18.0 %)" in lines


def test_a_phase_of_one_side() -> None:
    base = diff_examples.regression()
    came, went = {**row("new", None, 40.0), "delta": 40.0}, {**row("old", 5.0, None), "delta": -5.0}
    rows = (row("gen", 100.0, 50.0), came, went)
    view = build_view(replace(base, sections={**base.sections, "phases": replace(base.sections["phases"], rows=rows)}))
    assert [line.rstrip() for line in block(view)[1:]] == [
        "gen              100.0  50.0  -50.0  -50.0 %  ███████████████░░░░░░░░░░░░░░░",
        "new                  —  40.0  +40.0    added  ▓▓▓▓▓▓▓▓▓▓▓▓",
        "old                5.0     —   -5.0     gone  ░░",
    ]


def test_a_part_that_one_side_did_not_measure_is_not_gone() -> None:
    base = diff_examples.regression()
    rows = (row("compute", 5.0, None), row("free", None, 2.0), row("gen", 100.0, 50.0))
    view = build_view(replace(base, sections={**base.sections, "phases": replace(base.sections["phases"], rows=rows)}))
    assert [line.rstrip() for line in block(view)[2:]] == [
        "compute            5.0     —      —  only baseline",
        "free                 —   2.0      —       only new",
    ]


def test_lists_that_have_no_room_say_how_many_there_are() -> None:
    findings = tuple(
        Finding(
            f"key{number}", None, None, Severity.CAUTION, f"Rank {number} of the new side has no file of operators."
        )
        for number in range(6)
    )
    diff = replace(diff_examples.regression(), quality=(*findings, Finding("k", None, None, Severity.INFO, "A note.")))
    line = next(line for line in summary_lines(build_view(diff)) if line.startswith("quality"))
    assert line == "quality     6 warnings, 1 note: warnings below, full list in report.html"


@pytest.mark.parametrize("width", [60, 100])
def test_warnings_are_never_cut(width: int) -> None:
    """What was left out stands at the end of the sentence, behind a path of any length."""
    message = f"New side: {'folder_with_a_long_name/' * 4}profiler_0.db was left out: the database is truncated."
    findings = tuple(
        Finding(f"key{number}", None, None, Severity.CAUTION, f"{number} {message}") for number in range(10)
    )
    stream = io.StringIO()
    print_summary(build_view(replace(diff_examples.regression(), quality=findings)), stream, width)
    block = stream.getvalue().split("\n\n")[1].splitlines()
    assert block[0] == "Warnings about the data" and block[-1] == "+2 more in report.html"
    assert max(map(width_of, block)) <= width
    # Paths are broken anywhere, so blanks do not count.
    shown = "".join("".join(block[1:-1]).split())
    assert shown == "".join("".join(f"{number}{message}" for number in range(8)).split())


def test_a_warning_that_fits_is_said_once() -> None:
    finding = Finding("key", None, None, Severity.CAUTION, "Rank 3 has no file of operators.")
    stream = io.StringIO()
    print_summary(build_view(replace(diff_examples.regression(), quality=(finding,))), stream, 100)
    assert stream.getvalue().count(finding.message) == 1


def test_findings_of_one_key_are_counted() -> None:
    findings = (
        *(Finding("captures", "2", "0", Severity.CAUTION, f"role {number}") for number in range(5)),
        Finding("chip", "A2", "A3", Severity.SEVERE, "x"),
    )
    diff = replace(diff_examples.regression(), comparability=Comparability(Comparable.NOT_COMPARABLE, findings))
    assert text(diff, "differs") == "NOT COMPARABLE · chip A2 → A3 · captures: 5 roles differ · cann 8.2.RC1 → 8.3.RC1"


def _with_workload(diff: Diff, *rows: Row, level: str = "Level1") -> Diff:
    sections = {**diff.sections, "workload": replace(diff.sections["workload"], rows=rows)}
    env = {**diff.baseline.env, "profiler.level": level}
    return replace(diff, sections=sections, baseline=replace(diff.baseline, env=env))


@pytest.mark.parametrize(
    ("level", "elements", "shown"),
    [
        ("Level0", None, "the same as far as recorded (no shapes at Level0) · kernels 187"),
        ("Level1", None, "the same as far as recorded (no shapes) · kernels 187"),
        ("Level1", 500, "the same · kernels 187 · input_elements 500"),
    ],
)
def test_work_without_shapes_is_known_in_part(level: str, elements: int | None, shown: str) -> None:
    rows = (
        row("workload.kernels", 187, 187, unit="count"),
        row("workload.input_elements", elements, 500, unit="count"),
    )
    assert text(_with_workload(diff_examples.regression(), *rows, level=level), "workload") == shown


def test_work_of_which_only_collectives_are_known() -> None:
    rows = (row("workload.collectives", 14, 14, unit="count"), row("workload.kernels", None, 187, unit="count"))
    shown = "the same as far as recorded (only collectives) · collectives 14"
    assert text(_with_workload(diff_examples.regression(), *rows), "workload") == shown


@pytest.mark.parametrize(("new", "amber"), [(1800, True), (1049, False), (500, True)])
def test_other_work_is_said_beside_comparable_settings(new: int, amber: bool) -> None:
    diff = _with_workload(diff_examples.identical(), row("workload.tokens", 1000, new, unit="count"))
    item = items(diff)["differs"]
    assert (item.tone == "caution") is amber
    assert (item.parts[0] == "comparable settings, but the workload differs") is amber


def test_rounding_is_no_other_work() -> None:
    """30.6 of a console against 30.600001 of TensorBoard; one in a thousand is other work."""
    diff = _with_workload(diff_examples.identical(), row("workload.length", 30.6, 30.600001))
    assert text(diff, "workload").startswith("the same")
    diff = _with_workload(diff_examples.identical(), row("workload.length", 30.6, 30.63))
    assert text(diff, "workload").startswith("differs")


def test_other_work_does_not_stand_beside_nothing_differs() -> None:
    diff = _with_workload(diff_examples.identical(), row("workload.tokens", 1000, 1800, unit="count"))
    assert text(diff, "differs") == "comparable settings, but the workload differs · no recorded setting differs"


def test_a_difference_is_named_before_others_are_counted() -> None:
    sentence = (
        "Only 3 % of the kernels' time has a match on the other side: the others are other kernels, or have other"
        " inputs."
    )
    findings = (
        Finding("shapes", None, None, Severity.CAUTION, sentence),
        *(Finding(f"key{number}", "a" * 20, "b" * 20, Severity.INFO, "x") for number in range(6)),
    )
    diff = replace(diff_examples.regression(), comparability=Comparability(Comparable.CAUTION, findings))
    line = next(line for line in summary_lines(build_view(diff)) if line.startswith("differs"))
    assert line.startswith("differs     with caution · Only 3 % of the kernels' time has a match on the other side")
    assert "…" not in line  # a clause that has no room is left out


def test_the_model_is_told_where_space_is_short() -> None:
    paths = ("Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-7B-Instruct")
    findings = (
        Finding("actor_rollout_ref.model.path", *paths, Severity.CAUTION, "x"),
        *(Finding(f"data.key{number}", "a" * 20, "b" * 20, Severity.INFO, "x") for number in range(60)),
    )
    diff = replace(diff_examples.regression(), comparability=Comparability(Comparable.CAUTION, findings))
    line = next(line for line in summary_lines(build_view(diff)) if line.startswith("differs"))
    assert line.startswith("differs     with caution · model.path Qwen2.5-0.5B-Instru… → Qwen2.5-7B-Instruct")


def test_lines_to_spare_go_to_what_had_to_be_cut() -> None:
    finding = Finding("profiler.aic_metrics", "ACL_AICORE_NONE", "ACL_AICORE_PIPE_UTILIZATION", Severity.CAUTION, "x")
    comparability = Comparability(Comparable.CAUTION, (finding, replace(finding, key="profiler.level")))
    lines = summary_lines(build_view(replace(diff_examples.identical(), comparability=comparability)))
    start = next(number for number, line in enumerate(lines) if line.startswith("differs"))
    assert lines[start + 1].strip().startswith("profiler.level")


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_lines_fit_other_widths(width: int) -> None:
    view = build_view(diff_examples.regression(), rows=TERMINAL_ROWS)
    lines = summary_lines(view, width) + table_lines(view, width)
    assert max(map(width_of, lines)) <= width


def test_tables_show_what_changed_and_hide_noise() -> None:
    lines = table_lines(build_view(diff_examples.regression(), rows=TERMINAL_ROWS))
    kernels = lines[lines.index("Kernels, ms (99 % matched)") :]
    assert kernels[2].startswith("FlashAttentionScoreGrad") and "×2.19" in kernels[2]
    assert not any(line.startswith("SwiGlu") for line in lines)
    assert not any(line.startswith("time.bubble") for line in lines)
    assert lines[-1] == "No notable change: Collectives, Copies"


def test_absent_against_nought_is_not_worth_a_row() -> None:
    base = diff_examples.regression()
    rows = (row("GE peak_active", None, 0), row("PTA", None, 5_000_000), row("GE", 0, 4096))
    diff = replace(
        base,
        sections={**base.sections, "memory": replace(base.sections["memory"], keys=(), rows=rows)},
        overall=(*base.overall, metric("time.tail", None, 0.0)),
    )
    lines = table_lines(build_view(diff, rows=TERMINAL_ROWS))
    assert not any(line.startswith(("GE peak_active", "time.tail")) for line in lines)
    assert any(line.startswith("PTA ") for line in lines) and any(line.startswith("GE ") for line in lines)


def test_piped_output_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    print_summary(build_view(diff_examples.hostile(), rows=TERMINAL_ROWS), stream)
    written = stream.getvalue()
    assert not [character for character in written if character != "\n" and not character.isprintable()]
    assert max(map(width_of, written.splitlines())) <= 100


def test_terminal_is_coloured_and_holds_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    view = build_view(diff_examples.regression(), rows=TERMINAL_ROWS)
    stream = Terminal()
    print_summary(view, stream, width=100)
    assert "\x1b[31m" in stream.getvalue()
    assert _without_escapes(stream.getvalue()).splitlines() == _all_lines(view)


def _all_lines(view: ReportView) -> list[str]:
    stream = io.StringIO()
    print_summary(view, stream)
    return stream.getvalue().splitlines()


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    print_summary(build_view(diff_examples.regression(), rows=TERMINAL_ROWS), stream, width=100)
    assert "[31m" not in stream.getvalue()


def test_names_are_not_read_as_markup_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    print_lines([Line("[bold red]x[/bold red] [link=file:///]y[/link] :smile:")], stream)
    assert stream.getvalue() == "[bold red]x[/bold red] [link=file:///]y[/link] :smile:\n"


def test_terminal_without_unicode_gets_plain_marks() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="")
    print_summary(build_view(diff_examples.regression(), rows=TERMINAL_ROWS), stream)
    stream.seek(0)
    written = stream.read()
    assert "4,752.5 -> 5,017.5 ms" in written
    assert "+18.0 %  ##################+++" in written


def test_rich_is_not_imported_for_a_pipe() -> None:
    code = (
        "import sys\n"
        "from tests.unit import diff_examples\n"
        "from rlcompare.report.terminal import print_summary\n"
        "from rlcompare.report.view import build_view\n"
        "print_summary(build_view(diff_examples.regression()), sys.stdout)\n"
        "assert not {'rich', 'jinja2'} & set(sys.modules), 'a slow import'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("answer      5.6 % slower")


def test_a_section_that_is_not_there_is_no_error() -> None:
    diff = replace(diff_examples.regression(), sections={"odd": Section("odd", "", (), None, "", ({"name": "x"},))})
    assert len(summary_lines(build_view(diff))) <= SUMMARY_LINES


def _without_escapes(written: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", written)
