"""Comparisons with very many names: those with the least time are added up, and every sum stays what it was."""

from __future__ import annotations

from math import fsum
from pathlib import Path

import pytest

from rlcompare.compare import rollups
from rlcompare.model.diff import Diff
from tests.sql.rollup_stores import RollupStore, compared

NAMES, HEADS = 300, 100
"""Estimated within some percent; how many keep rows of their own."""


def store(path: Path, *, grown: int = 0) -> Path:
    """Kernel number n takes n µs; the smallest ones take ``grown`` ns more."""
    times = {f"kernel_{number}": number * 1_000 + (grown if number <= 10 else 0) for number in range(1, NAMES + 1)}
    made = RollupStore(path).capture().step(1).time(1, sum(times.values()))
    for name, took in times.items():
        made.kernel(1, name, 2, took)
        made.add("r_operator", capture=0, step=1, name=f"aten::{name}", calls=2, host_self_ns=took, host_total_ns=took)
        made.add("r_msprof", capture=0, sheet="KernelCompare", ord=1, depth=0, name=name, input_shapes="8,8",
                 total_ns=took, calls=2)  # fmt: skip
    return made.done()


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("stores")
    return store(folder / "baseline.duckdb"), store(folder / "new.duckdb", grown=9_000)


@pytest.fixture(scope="module")
def diffs(paths: tuple[Path, Path]) -> tuple[Diff, Diff]:
    """The comparison with others added up, and the one with all names."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rollups, "MOST_NAMES", 2 * HEADS)
        patched.setattr(rollups, "_LARGE_BYTES", 0)
        short = compared(*paths)
        patched.setattr(rollups, "_LARGE_BYTES", 2**40)
        return short, compared(*paths)


@pytest.mark.slow
def test_those_with_the_least_time_are_one_row(diffs: tuple[Diff, Diff]) -> None:
    short, whole = diffs
    for name in ("kernels", "kernel_types", "operators", "account", "msprof"):
        rows = short.sections[name].rows
        assert len(whole.sections[name].rows) >= NAMES
        assert len(rows) <= HEADS + 2
        own = {row["name"] for row in rows} - {"(others)"}
        assert f"kernel_{NAMES}" in own or f"aten::kernel_{NAMES}" in own
        assert "kernel_1" not in own and "aten::kernel_1" not in own
    assert [found.key for found in short.quality if found.key == "many_names"] == ["many_names"]
    assert not [found for found in whole.quality if found.key == "many_names"]


@pytest.mark.parametrize("section", ["kernels", "kernel_types", "operators", "account", "categories"])
@pytest.mark.parametrize("column", ["baseline", "new", "delta"])
def test_sums_are_those_of_all_names(diffs: tuple[Diff, Diff], section: str, column: str) -> None:
    sums = [fsum(float(row[column] or 0) for row in diff.sections[section].rows) for diff in diffs]
    assert sums[0] == pytest.approx(sums[1], rel=1e-12)
    assert sums[0]


def test_rows_that_are_left_are_as_they_were(diffs: tuple[Diff, Diff]) -> None:
    short, whole = diffs
    for name, section in short.sections.items():
        keys = ("name", *section.keys)
        known = {tuple(row[key] for key in keys): row for row in whole.sections[name].rows}
        for row in section.rows:
            if row["name"] != "(others)":
                assert row == known[tuple(row[key] for key in keys)]
    assert short.overall == whole.overall


def test_what_the_others_changed_by_is_told(diffs: tuple[Diff, Diff]) -> None:
    short, _ = diffs
    (row,) = (row for row in short.sections["kernels"].rows if row["name"] == "(others)")
    assert row["delta"] == pytest.approx(10 * 0.009)
    assert row["baseline_calls"] == row["new_calls"] == 2 * (NAMES - HEADS)
    (row,) = (row for row in short.sections["msprof"].rows if row["name"] == "(others)")
    assert row["delta"] == pytest.approx(10 * 0.009)


def test_what_others_call_is_no_reason(tmp_path: Path) -> None:
    """The new side calls the larger ones of them: none of them became slower."""
    paths = []
    for name, calls in (("baseline", (3, 1)), ("new", (1, 3))):
        times = {f"kernel_{number}": ((2_000, 9_000)[number % 2], calls[number % 2]) for number in range(NAMES)}
        made = RollupStore(tmp_path / f"{name}.duckdb").capture().step(1)
        made.time(1, sum(took * calls_of for took, calls_of in times.values()))
        for kernel, (took, calls_of) in times.items():
            made.kernel(1, kernel, calls_of, took * calls_of)
        paths.append(made.done())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rollups, "MOST_NAMES", 2 * HEADS)
        patched.setattr(rollups, "_LARGE_BYTES", 0)
        diff = compared(*paths)
    (row,) = (row for row in diff.sections["kernels"].rows if row["name"] == "(others)")
    assert isinstance(row["delta"], float)
    assert row["delta"] > 0
    assert "delta_per_call_ms" not in row
    assert "delta_calls_ms" not in row
    told = " ".join(cause.text for cause in diff.causes)
    assert "(others)" in told
    assert "per call" not in told
    assert "slower" not in told


def test_a_side_with_few_names_is_added_up_by_the_same_names(paths: tuple[Path, Path], tmp_path: Path) -> None:
    few = RollupStore(tmp_path / "few.duckdb").capture().step(1).time(1, 3_000)
    few.kernel(1, "kernel_1", 1, 1_000).kernel(1, f"kernel_{NAMES}", 1, 2_000)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rollups, "MOST_NAMES", 2 * HEADS)
        patched.setattr(rollups, "_LARGE_BYTES", 0)
        diff = compared(few.done(), paths[0])
    rows = {row["name"]: row for row in diff.sections["kernels"].rows}
    assert rows["(others)"]["baseline"] == 0.001
    assert rows[f"kernel_{NAMES}"]["baseline"] == 0.002
