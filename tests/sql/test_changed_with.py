"""What stands beside an operator that became slower: formats, alignment, blocks, clock, AI Core counters, L2 hits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rlcompare.model.diff import Cause, Row
from tests.sql.rollup_stores import MS, RollupStore, compared, found

Kernels = list[dict[str, Any]]
COUNTED = {"core_type": "AI_CORE", "input_dtypes": "DT_BF16;DT_BF16", "input_formats": "ND;ND"}


def cause(tmp_path: Path, old: Kernels, new: Kernels, *, mhz: tuple[float, float] | None = None) -> Cause:
    """The first cause of two stores of 200 ms of other computation, beside the given kernels of type MatMul."""
    paths = []
    for place, (label, kernels) in enumerate((("old", old), ("new", new))):
        total = 200 * MS + sum(kernel["total"] for kernel in kernels)
        store = RollupStore(tmp_path / f"{label}.duckdb").capture().step(1).time(1, total)
        store.kernel(1, "Other", 7, 200 * MS, shapes="7,7")
        for kernel in kernels:
            store.kernel(1, "MatMul", **{"calls": 4, **COUNTED, **kernel})
        if mhz is not None:
            store.add("r_counter", capture=0, device_id=0, name="aicore_freq_mhz", samples=2, mean=mhz[place])
        paths.append(store.done())
    (first, *_) = compared(*paths).causes
    return first


def fact(first: Cause, name: str) -> Row | None:
    return next((row for row in first.facts if row["name"] == name), None)


def counted(total: int, *, load: float = 0.0, cube: float = 0.0, **values: Any) -> dict[str, Any]:
    return {
        "total": total,
        "counted_ns": total,
        "load_ns": round(load * total),
        "cube_ns": round(cube * total),
    } | values


class TestCounters:
    def test_a_kernel_that_loads_for_longer(self, tmp_path: Path) -> None:
        first = cause(tmp_path, [counted(100 * MS, load=0.4)], [counted(180 * MS, load=0.8)])
        assert first.what == "operator_slower"
        assert first.text.endswith("; loading from memory (MTE2) takes 80 % of its time, 40 % before.")
        assert first.facts == ({"name": "load_share", "baseline": 0.4, "new": 0.8},)

    def test_one_that_computes_for_longer(self, tmp_path: Path) -> None:
        first = cause(tmp_path, [counted(100 * MS, load=0.4, cube=0.5)], [counted(200 * MS, load=0.3, cube=0.9)])
        assert first.text.endswith("; its cube unit computes in 90 % of its time, 50 % before.")

    def test_one_that_computes_as_long_as_before(self, tmp_path: Path) -> None:
        """It waits for something that was not counted."""
        first = cause(tmp_path, [counted(100 * MS, cube=0.8)], [counted(200 * MS, cube=0.4)])
        assert first.text.endswith("; its cube unit computes in 40 % of its time, 80 % before.")

    def test_one_that_is_faster_as_it_loads_less(self, tmp_path: Path) -> None:
        first = cause(tmp_path, [counted(180 * MS, load=0.8)], [counted(100 * MS, load=0.4)])
        assert fact(first, "load_share") == {"name": "load_share", "baseline": 0.8, "new": 0.4}

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (0.4, 0.45),  # nearly as before
            (0.1, 0.25),  # for longer, but that is less than half of the longer time
            (0.8, 0.4),  # it loads as long as before, in a longer time
            (0.0, 0.0),
        ],
    )
    def test_what_does_not_fit_is_not_told(self, tmp_path: Path, old: float, new: float) -> None:
        first = cause(tmp_path, [counted(100 * MS, load=old)], [counted(180 * MS, load=new)])
        assert first.what == "operator_slower"
        assert first.facts == ()

    @pytest.mark.slow
    def test_other_inputs_are_not_compared(self, tmp_path: Path) -> None:
        """A mean over other inputs says nothing of a kernel."""
        old = [counted(100 * MS, load=0.2, shapes="8,8"), counted(20 * MS, load=0.9, shapes="9,9")]
        new = [counted(20 * MS, load=0.2, shapes="8,8", calls=1), counted(300 * MS, load=0.9, shapes="10,10")]
        assert fact(cause(tmp_path, old, new), "load_share") is None

    def test_counters_on_one_side_only(self, tmp_path: Path) -> None:
        assert cause(tmp_path, [{"total": 100 * MS}], [counted(180 * MS, load=0.8)]).facts == ()

    def test_hits_of_the_second_level_cache(self, tmp_path: Path) -> None:
        old, new = (
            {"total": t, "l2_counted_ns": t, "l2_hit_ns": h} for t, h in ((100 * MS, 90 * MS), (200 * MS, 60 * MS))
        )
        first = cause(tmp_path, [old], [new])
        assert first.text.endswith("; 30 % of its accesses hit the second-level cache, 90 % before.")

    def test_hits_that_rose_do_not_make_it_slower(self, tmp_path: Path) -> None:
        old = {"total": 100 * MS, "l2_counted_ns": 100 * MS, "l2_hit_ns": 10 * MS}
        new = {"total": 200 * MS, "l2_counted_ns": 200 * MS, "l2_hit_ns": 180 * MS}
        assert cause(tmp_path, [old], [new]).facts == ()


class TestInputs:
    def test_rows_that_are_no_multiple_of_512_bytes_any_more(self, tmp_path: Path) -> None:
        old = [{"total": 100 * MS, "shapes": "64,4096;4096,512", "work": "gemm", "at_most": False, "elements": 9e6}]
        new = [{"total": 180 * MS, "shapes": "64,4097;4097,512", "work": "gemm", "at_most": False, "elements": 9e6}]
        first = cause(tmp_path, old, new)
        assert "; the last axis of input 1 is not a multiple of 512 bytes (8,192 → 8,194)" in first.text
        assert fact(first, "last_axis_bytes") == {"name": "last_axis_bytes", "baseline": 8192, "new": 8194}

    @pytest.mark.parametrize(
        "values",
        [
            {"work": "memory"},  # of matrices only
            {"input_formats": "FRACTAL_NZ;ND"},  # not stored row by row
            {"input_formats": None},  # no Ascend profile
            {"input_dtypes": "COMPLEX64;COMPLEX64"},  # of unknown size
        ],
    )
    def test_of_other_kernels_it_is_not_told(self, tmp_path: Path, values: dict[str, Any]) -> None:
        common = {"work": "gemm", "at_most": False, "elements": 9e6} | values
        old = [{"total": 100 * MS, "shapes": "64,4096;4096,512", **common}]
        new = [{"total": 180 * MS, "shapes": "64,4097;4097,512", **common}]
        assert fact(cause(tmp_path, old, new), "last_axis_bytes") is None

    def test_rows_that_are_a_multiple_of_256_bytes_only(self, tmp_path: Path) -> None:
        common = {"work": "gemm", "at_most": False, "elements": 9e6}
        old = [{"total": 100 * MS, "shapes": "64,4096;4096,512", **common}]
        new = [{"total": 180 * MS, "shapes": "64,4224;4224,512", **common}]
        assert fact(cause(tmp_path, old, new), "last_axis_bytes") is not None

    def test_rows_that_never_were_a_multiple(self, tmp_path: Path) -> None:
        common = {"work": "gemm", "at_most": False, "elements": 9e6}
        old = [{"total": 100 * MS, "shapes": "64,4095;4095,512", **common}]
        new = [{"total": 180 * MS, "shapes": "64,4097;4097,512", **common}]
        assert fact(cause(tmp_path, old, new), "last_axis_bytes") is None

    @pytest.mark.parametrize(("before", "after"), [("FRACTAL_NZ", "ND"), ("ND", "FRACTAL_NZ")])
    def test_another_format(self, tmp_path: Path, before: str, after: str) -> None:
        """The same matrix has other dimensions in another format, and so matches nothing."""
        shapes = {"ND": "64,4096;4096,512", "FRACTAL_NZ": "64,4096;32,256,16,16"}
        old = [{"total": 100 * MS, "shapes": shapes[before], "input_formats": f"ND;{before}"}]
        new = [{"total": 150 * MS, "shapes": shapes[after], "input_formats": f"ND;{after}"}]
        first = cause(tmp_path, old, new)
        assert first.what == "operator_slower"
        assert first.text == f"MatMul now has input 2 in format {after} instead of {before}: 50.00 ms more."
        assert fact(first, "input_formats") == {
            "name": "input_formats",
            "baseline": f"ND;{before}",
            "new": f"ND;{after}",
        }

    def test_larger_inputs_in_another_format_are_larger(self, tmp_path: Path) -> None:
        old = [{"total": 100 * MS, "shapes": "64,4096;4096,512", "input_formats": "ND;ND"}]
        new = [{"total": 200 * MS, "shapes": "512,4096;32,256,16,16", "input_formats": "ND;FRACTAL_NZ"}]
        assert "FRACTAL_NZ instead" not in cause(tmp_path, old, new).text

    @pytest.mark.parametrize(
        ("before", "after"), [("ND", "NCHW"), ("NCHW", "N/A"), ("FRACTAL_NZ", "FORMAT_FRACTAL_NZ")]
    )
    def test_names_of_one_order_are_no_change(self, tmp_path: Path, before: str, after: str) -> None:
        old = [{"total": 100 * MS, "input_formats": f"ND;{before}"}]
        new = [{"total": 150 * MS, "input_formats": f"ND;{after}"}]
        first = cause(tmp_path, old, new)
        assert (first.what, first.facts) == ("operator_slower", ())

    def test_fewer_blocks(self, tmp_path: Path) -> None:
        first = cause(tmp_path, [{"total": 100 * MS, "block_num": 24}], [{"total": 180 * MS, "block_num": 12}])
        assert first.text.endswith("; it runs in 12 blocks, 24 before.")

    def test_more_blocks_do_not_make_it_slower(self, tmp_path: Path) -> None:
        assert (
            cause(tmp_path, [{"total": 100 * MS, "block_num": 12}], [{"total": 180 * MS, "block_num": 24}]).facts == ()
        )


def test_a_clock_that_fits_one_operator(tmp_path: Path) -> None:
    """The other kernels wait for memory, so that the clock is no cause of its own."""
    first = cause(tmp_path, [{"total": 100 * MS}], [{"total": 125 * MS}], mhz=(1800.0, 1440.0))
    assert first.text.endswith("; the AI Core clock fell from 1,800 to 1,440 MHz.")


def test_a_clock_that_does_not_fit(tmp_path: Path) -> None:
    assert cause(tmp_path, [{"total": 100 * MS}], [{"total": 200 * MS}], mhz=(1800.0, 1750.0)).facts == ()


def test_a_sentence_has_two_facts_at_most(tmp_path: Path) -> None:
    values = {"block_num": 24, "l2_counted_ns": 100 * MS, "l2_hit_ns": 90 * MS}
    old = [counted(100 * MS, load=0.4, **values)]
    new = [counted(180 * MS, load=0.8, **values | {"block_num": 12, "l2_hit_ns": 10 * MS})]
    first = cause(tmp_path, old, new)
    assert [row["name"] for row in first.facts] == ["blocks", "load_share", "l2_hit_share"]
    assert first.text.count(";") == 2


def test_the_section_has_the_counters_of_kernels_whose_work_is_unknown(tmp_path: Path) -> None:
    paths = []
    for label, load in (("old", 0.4), ("new", 0.8)):
        store = RollupStore(tmp_path / f"{label}.duckdb").capture().step(1).time(1, 100 * MS)
        paths.append(
            store.kernel(1, "Own", 2, 100 * MS, counted_ns=50 * MS, load_ns=round(load * 50 * MS), cube_ns=0).done()
        )
    row = found(compared(*paths), "efficiency", "Own")
    assert (row["work"], row["baseline_load_share"], row["new_load_share"]) == (None, 0.4, 0.8)
    assert (row["baseline_cube_share"], row["new_tflops"], row["new_l2_hit_share"]) == (0, None, None)
