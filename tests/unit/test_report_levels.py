"""Memory and clock over time: the lines go through the samples of the diff, and the peak is marked."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rlcompare.model.diff import Diff
from rlcompare.model.pictures import Level, Pictures
from rlcompare.report.charts.levels import BOX, Levels, clock_chart, memory_chart
from rlcompare.report.html import render_html
from rlcompare.report.view import build_view
from tests.unit import diff_examples

GIB = 2**30


def with_levels(*levels: Level) -> Diff:
    return replace(diff_examples.regression(), pictures=Pictures(levels=levels))


def level(side: str, what: str, *samples: tuple[float, float], rank: str = "rank 0") -> Level:
    component = None if what == "clock" else "PTA"
    return Level(side, what, component, 0, rank, tuple(at for at, _ in samples), tuple(v for _, v in samples))  # type: ignore[arg-type]


MEMORY = with_levels(
    level("baseline", "allocated", (0.0, 2 * GIB), (10.0, 6 * GIB), (40.0, 1 * GIB)),
    level("new", "allocated", (0.0, 2 * GIB), (20.0, 7 * GIB), (50.0, 1 * GIB)),
    level("new", "reserved", (0.0, 8 * GIB)),
)


def corners(path: str) -> list[tuple[float, float]]:
    """Where the line is after each sample."""
    numbers = [float(text) for text in re.findall(r"[\d.]+", path)]
    return list(zip(numbers[::2], numbers[1::2], strict=False))


def test_lines_go_through_the_samples() -> None:
    chart = memory_chart(MEMORY)
    assert chart is not None and isinstance(chart.content, Levels)
    drawn = chart.content
    zero, two = (next(tick.at for tick in drawn.y if tick.label == text) for text in ("0", "2 GiB"))
    for line, source in zip(drawn.lines, MEMORY.pictures.levels, strict=True):
        for (x, y), at, value in zip(corners(line.path), source.at_ms, source.values, strict=False):
            assert x == pytest.approx(BOX * at / 50.0, abs=0.1)
            assert y / BOX * 100 == pytest.approx(zero + (two - zero) * value / (2 * GIB), abs=0.1)
    old, new, reserved = drawn.lines
    assert old.mark and (old.mark[0], old.mark[2]) == (20.0, "6.00 GiB")
    assert new.mark and new.mark[1] / 100 * BOX == pytest.approx(corners(new.path)[1][1], abs=0.1)
    assert reserved.mark is None and reserved.path.endswith(f"H{BOX}")  # one sample holds to the end
    assert chart.finding == "Peak of allocated memory: 6.00 GiB → 7.00 GiB, +16.7 %."
    assert chart.note.startswith("PTA on the device that uses most: rank 0. ")


@pytest.mark.parametrize(("tool", "name"), [("torch", "PyTorch"), ("npu", "PTA")])
def test_the_pool_of_pytorch_has_its_other_name_on_ascend_alone(tool: str, name: str) -> None:
    run = replace(diff_examples.regression().new, captures=({"tool": tool},))
    run = replace(run, runs=(replace(run.runs[0], name="one.json", captures=1),))
    diff = replace(with_levels(level("new", "reserved", (0.0, 8 * GIB), rank="capture 0")), baseline=run, new=run)
    chart = memory_chart(diff)
    assert chart is not None
    assert chart.note.startswith(f"{name} on the device that uses most: one.json. ")  # it has no rank
    rows = (diff_examples.row("PTA", 1, 2, what="peak_reserved"),)
    sections = {**diff.sections, "memory": replace(diff.sections["memory"], rows=rows)}
    (table,) = (table for table in build_view(replace(diff, sections=sections)).tables if table.name == "memory")
    assert table.rows[0].cells[0].text == name


def test_a_clock_is_drawn_where_it_changes() -> None:
    steady = level("baseline", "clock", (0.0, 1800.0), (90.0, 1800.0))
    assert clock_chart(with_levels(steady, replace(steady, side="new"))) is None
    chart = clock_chart(with_levels(steady, level("new", "clock", (0.0, 1800.0), (30.0, 1500.0), rank="rank 5")))
    assert chart is not None
    assert chart.finding == "Lowest clock: 1,800 → 1,500 MHz."
    assert "rank 0 (baseline), rank 5 (new)" in chart.note
    assert memory_chart(with_levels(steady)) is None and clock_chart(with_levels()) is None
    assert clock_chart(with_levels(level("new", "clock", (0.0, 0.0), (90.0, 0.0)))) is None


def test_hostile_names_are_text() -> None:
    name = "".join(diff_examples.HOSTILE_NAMES)
    memory = replace(level("new", "allocated", (0.0, 1.0), (0.0, 0.0)), component=name, rank=name)
    clock = replace(level("new", "clock", (-5.0, 100.0), (1e6, 900.0)), rank=name)
    page = render_html(build_view(with_levels(memory, clock)))
    for chart in ("memory", "clock"):
        start = page.index(f'id="c-{chart}"')
        picture = page[start : page.index("</section>", start)]
        assert "<script" not in picture and "<img" not in picture and len(picture) < 20_000


@pytest.mark.parametrize("times", [(1e299, 1e299), (-1e299, 1e299), (1e17, 1e17 + 16), (0.0, 5e-324)])
def test_times_of_any_size_have_few_ticks(times: tuple[float, float]) -> None:
    """A diff.json is untrusted: numbers too large to step by one do not keep the page from being made."""
    chart = memory_chart(with_levels(level("new", "allocated", (times[0], 1e9), (times[1], 2e9))))
    assert chart is not None and isinstance(chart.content, Levels)
    assert len(chart.content.x) < 10
