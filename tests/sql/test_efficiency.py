"""What one call of a kernel computes and moves, from its tensors, and the share of the chip's peak."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare import resources
from rlcompare.app.sections import sections_of
from rlcompare.db import open_read_only
from tests.sql.rollup_stores import MS, RollupStore, compared, found

HALF = "DT_BF16;DT_BF16"
ND = "ND;ND"


class Work(NamedTuple):
    work: str
    at_most: bool
    flop: float | None
    size_bytes: float | None
    precision: str | None


def work_of(con: duckdb.DuckDBPyConnection, *kernels: dict[str, Any]) -> Sequence[Work | None]:
    """What the rollup says of one call of each kernel; None if it says nothing."""
    con.execute("DELETE FROM kernel; DELETE FROM host_op;")
    for number, kernel in enumerate(kernels):
        host_op = kernel.pop("host_op", None)
        if host_op is not None:
            kernel.setdefault("host_op_id", number)
            con.execute(
                "INSERT INTO host_op BY NAME SELECT 0 AS capture, ? AS id, ? AS name, 1 AS thread, 0 AS start_ns,"
                " 1 AS end_ns WHERE ? NOT IN (SELECT id FROM host_op)",
                [kernel["host_op_id"], host_op, kernel["host_op_id"]],
            )
        row = {"id": number, "capture": 0, "name": f"k{chr(97 + number)}", "category": "cube", **kernel}
        row |= {"start_ns": 0, "end_ns": 1, "msprof_category": "other"}
        columns = ", ".join(f"? AS {column}" for column in row)
        con.execute(f"INSERT INTO kernel BY NAME SELECT {columns}", list(row.values()))
    for name in ("rollup/kernel_key", "rollup/kernel_work"):
        con.execute(resources.sql(name))
    rows = con.execute(
        "SELECT k.id, w.work, w.at_most, w.flop, w.bytes, w.precision FROM kernel_work AS w"
        " JOIN kernel_key AS k USING (key)"
    ).fetchall()
    by_id = {row[0]: Work(*row[1:]) for row in rows}
    assert len(rows) == len(by_id)
    return [by_id.get(number) for number in range(len(kernels))]


def one(con: duckdb.DuckDBPyConnection, op_type: str | None, ins: str, outs: str | None, **values: Any) -> Work | None:
    """The work of a kernel with BFLOAT16 tensors of format ND."""
    given_ = {
        "op_type": op_type, "core_type": "AI_CORE", "input_shapes": ins, "output_shapes": outs,
        "input_dtypes": ";".join(["DT_BF16"] * (ins.count(";") + 1)),
        "input_formats": ";".join(["ND"] * (ins.count(";") + 1)),
        "output_dtypes": None if outs is None else ";".join(["DT_BF16"] * (outs.count(";") + 1)),
        "output_formats": None if outs is None else ";".join(["ND"] * (outs.count(";") + 1)),
    }  # fmt: skip
    return work_of(con, {**given_, **values})[0]


class TestMatrixProducts:
    @pytest.mark.parametrize(
        ("ins", "outs", "flop"),
        [
            ("64,32;32,16", "64,16", 2 * 64 * 16 * 32),
            ("64,32;16,32", "64,16", 2 * 64 * 16 * 32),
            ("32,64;16,32", "64,16", 2 * 64 * 16 * 32),
            ("32,64;32,16", "64,16", 2 * 64 * 16 * 32),
            ("64,32;16,32;16", "64,16", 2 * 64 * 16 * 32),  # a bias
            ("64,32;64,32", "64,64", 2 * 64 * 64 * 32),  # the inputs alone do not tell these two apart
            ("64,32;64,32", "32,32", 2 * 32 * 32 * 64),
            ("8,64,32;8,32,16", "8,64,16", 2 * 8 * 64 * 16 * 32),
            ("8,64,32;32,16", "8,64,16", 2 * 8 * 64 * 16 * 32),
            ("2,3,64,32;2,3,16,32", "2,3,64,16", 2 * 6 * 64 * 16 * 32),
        ],
    )
    def test_transposed_and_batched(self, con: duckdb.DuckDBPyConnection, ins: str, outs: str, flop: int) -> None:
        found_ = one(con, "MatMulV2", ins, outs)
        assert found_ is not None
        assert (found_.work, found_.at_most, found_.flop, found_.precision) == ("gemm", False, flop, "half")

    @pytest.mark.parametrize(
        ("ins", "outs"),
        [
            ("8192,15365;8192,4096", "1536,4096"),  # dimensions that do not meet
            ("8,64,32;4,32,16", "8,64,16"),
            ("64;32,16", "64,16"),
            ("64,32;32,16", None),
            ("64,32;32,16", "64,x"),
            ("64,32", "64,16"),
            ("64,0;0,16", "64,16"),
            ("999999999999999,999999999999999;1", "5"),
            ("99999999999999,99999999999999;99999999999999,99999999999999", "99999999999999,99999999999999"),
        ],
    )
    def test_nothing_where_shapes_do_not_tell(self, con: duckdb.DuckDBPyConnection, ins: str, outs: str | None) -> None:
        assert one(con, "MatMulV2", ins, outs) is None

    def test_bytes_count_each_input_and_output_once(self, con: duckdb.DuckDBPyConnection) -> None:
        types = {"input_dtypes": "DT_BF16;DT_BF16;FLOAT", "output_dtypes": "FLOAT"}
        found_ = one(con, "MatMulV2", "64,32;16,32;16", "64,16", **types)
        assert found_ is not None
        assert found_.size_bytes == 2 * (64 * 32 + 16 * 32) + 4 * (16 + 64 * 16)
        unknown = one(con, "MatMulV2", "64,32;16,32", "64,16", output_dtypes="HIF3")
        assert unknown is not None
        assert (unknown.size_bytes, unknown.flop) == (None, 2 * 64 * 16 * 32)

    @pytest.mark.parametrize(
        ("types", "precision"),
        [("FLOAT16;FLOAT16", "half"), ("INT8;INT8", "int8"), ("DT_BF16;INT8", "half"), ("FLOAT;FLOAT", None)],
    )
    def test_the_type_decides_which_peak_counts(
        self, con: duckdb.DuckDBPyConnection, types: str, precision: str | None
    ) -> None:
        found_ = one(con, "MatMulV3", "64,32;32,16", "64,16", input_dtypes=types)
        assert found_ is not None
        assert found_.precision == precision

    def test_blocks_of_nz_count_from_512_on_or_where_another_tensor_tells(self, con: duckdb.DuckDBPyConnection) -> None:
        nz = {"input_formats": "FRACTAL_NZ;FRACTAL_NZ", "output_formats": "FRACTAL_NZ"}
        large = one(con, "MatMulV2", "9496,256,16,16;64,256,16,16", "64,9496,16,16", **nz)
        assert large is not None
        assert large.flop == 2 * 151_936 * 1_024 * 4_096
        assert one(con, "MatMulV2", "9496,1,16,16;64,1,16,16", "64,9496,16,16", **nz) is None
        told = one(con, "MatMulV2", "1,1000;4,63,16,16", "1,60", input_formats="ND;FRACTAL_NZ")
        assert told is not None
        assert told.flop == 2 * 1 * 60 * 1000
        # 512 × 502 by 502 × 512, or 502 × 512 by 512 × 502: both would be filled up to 512 × 512.
        either = one(con, "MatMulV2", "512,502;512,502", "32,32,16,16", output_formats="FRACTAL_NZ")
        assert either is None
        unknown = one(con, "MatMulV2", "8,64,32,16;8,32,16,16", "8,64,16,16", input_formats="NC1HWC0;FRACTAL_Z")
        assert unknown is None

    def test_groups_are_an_upper_limit(self, con: duckdb.DuckDBPyConnection) -> None:
        forward = one(con, "GroupedMatmul", "4096,2048;8,2048,768;;8", "4096,768")
        turned = one(con, "GroupedMatmul", "4096,2048;8,768,2048;;8", "4096,768")
        weights = one(con, "GroupedMatmul", "2048,4096;4096,768;;8", "8,2048,768")
        for found_ in (forward, turned, weights):
            assert found_ is not None
            assert (found_.work, found_.at_most, found_.flop) == ("grouped gemm", True, 2 * 4096 * 2048 * 768)

    @pytest.mark.parametrize("op", ["MatmulAllReduce", "TransposeBatchMatMul", "Add", None])
    def test_other_operators_have_no_product(self, con: duckdb.DuckDBPyConnection, op: str | None) -> None:
        assert one(con, op, "64,32;32,16", "64,16") is None


dimensions = st.integers(1, 3000)


@pytest.mark.slow
@given(
    dimensions,
    dimensions,
    dimensions,
    st.integers(1, 5),
    st.booleans(),
    st.booleans(),
    st.lists(st.booleans(), min_size=3, max_size=3),
)
def test_a_product_is_counted_as_it_was_made_or_not_at_all(
    con: duckdb.DuckDBPyConnection, m: int, n: int, k: int, batch: int, turn_a: bool, turn_b: bool, nz: list[bool]
) -> None:
    """Whatever is transposed and blocked: the number is that of the matrices multiplied, blocks within 3 %."""
    matrices = [(k, m) if turn_a else (m, k), (n, k) if turn_b else (k, n), (m, n)]
    lead = [batch] if batch > 1 else []
    shapes = [
        [*lead, ceil(columns / 16), ceil(rows / 16), 16, 16] if blocked else [*lead, rows, columns]
        for (rows, columns), blocked in zip(matrices, nz, strict=True)
    ]
    a, b, c = (",".join(map(str, shape)) for shape in shapes)
    formats = ["FRACTAL_NZ" if blocked else "ND" for blocked in nz]
    found_ = one(con, "BatchMatMulV2", f"{a};{b}", c, input_formats=";".join(formats[:2]), output_formats=formats[2])
    made = 2 * batch * m * n * k
    if not any(nz):
        assert found_ is not None
        assert found_.flop == made
    elif found_ is not None and found_.flop is not None:
        assert made <= found_.flop <= made * 1.03**3


class TestAttention:
    Q, K = "4096,2,2048", "1024,2,512"  # SBH: s, b, heads × d; 16 and 4 heads of 128
    MAXIMA = "2,16,4096,8;2,16,4096,8;;4096,2,2048"

    def score(self, con: duckdb.DuckDBPyConnection, ins: str, outs: str, types: str | None = None) -> Work | None:
        values = {} if types is None else {"input_dtypes": types}
        return one(con, "FlashAttentionScore", ins, outs, **values)

    def test_forward(self, con: duckdb.DuckDBPyConnection) -> None:
        dense = self.score(con, f"{self.Q};{self.K};{self.K}", self.MAXIMA)
        assert dense is not None
        assert (dense.work, dense.at_most, dense.flop) == ("attention", False, 4 * 2 * 16 * 4096 * 1024 * 128)

    def test_a_mask_makes_it_an_upper_limit(self, con: duckdb.DuckDBPyConnection) -> None:
        types = "DT_BF16;DT_BF16;DT_BF16;DT_BF16;UINT8;DT_BF16;BOOL"
        masked = self.score(con, f"{self.Q};{self.K};{self.K};;;;2048,2048", self.MAXIMA, types)
        assert masked is not None
        assert (masked.at_most, masked.flop) == (True, 4 * 2 * 16 * 4096 * 1024 * 128)

    def test_backward_is_two_and_a_half_times_as_much(self, con: duckdb.DuckDBPyConnection) -> None:
        ins = f"{self.Q};{self.K};{self.K};{self.Q};;2,16,4096,8;2,16,4096,8;;{self.Q}"
        found_ = one(con, "FlashAttentionScoreGrad", ins, f"{self.Q};{self.K};{self.K};;")
        assert found_ is not None
        assert found_.flop == 10 * 2 * 16 * 4096 * 1024 * 128

    @pytest.mark.parametrize(
        ("q", "k", "v"),
        [
            ("2,4096,2048", "2,1024,512", "2,1024,512"),  # BSH
            ("2,4096,16,128", "2,1024,4,128", "2,1024,4,128"),  # BSND
            ("2,16,4096,128", "2,4,1024,128", "2,4,1024,128"),  # BNSD
        ],
    )
    def test_layouts(self, con: duckdb.DuckDBPyConnection, q: str, k: str, v: str) -> None:
        found_ = self.score(con, f"{q};{k};{v}", f"2,16,4096,8;2,16,4096,8;;{q}")
        assert found_ is not None
        assert found_.flop == 4 * 2 * 16 * 4096 * 1024 * 128

    def test_values_of_another_width(self, con: duckdb.DuckDBPyConnection) -> None:
        found_ = self.score(con, "1,64,16,192;1,32,16,192;1,32,16,128", "1,16,64,8;1,16,64,8;;1,64,16,128")
        assert found_ is not None
        assert found_.flop == 2 * 16 * 64 * 32 * (192 + 128)

    @pytest.mark.parametrize(
        ("ins", "outs"),
        [
            ("4096,16,128;4096,16,128;4096,16,128", "4096,16,8;4096,16,8;;4096,16,128"),  # TND: lengths are values
            ("4096,2,511;1024,2,512;1024,2,512", "2,3,4096,8;2,3,4096,8;;4096,2,511"),
            ("1,16,16,64;1,8,32,64;1,8,32,64", "1,16,16,8;1,16,16,8;;1,16,16,64"),  # 16 heads of 16: BSND or BNSD
            ("4096,2,2048;1024,2,512", "2,16,4096,8"),
        ],
    )
    def test_nothing_where_shapes_do_not_tell(self, con: duckdb.DuckDBPyConnection, ins: str, outs: str) -> None:
        assert self.score(con, ins, outs) is None


class TestGpuKernels:
    """Their shapes are those of the operator that launched them."""

    def kernel(self, host_op: str, ins: str, types: str = "c10::BFloat16", **values: Any) -> dict[str, Any]:
        dtypes = ";".join([types] * (ins.count(";") + 1))
        return {
            "op_type": "sm90_xmma_gemm", "category": "matmul_cube", "host_op": host_op, "input_shapes": ins,
            "input_dtypes": dtypes, **values,
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("host_op", "ins", "flop"),
        [
            ("aten::mm", "64,32;32,16", 2 * 64 * 32 * 16),
            ("aten::mm", "64,64;64,64", 2 * 64 * 64 * 64),
            ("aten::addmm", "16;64,32;32,16;;", 2 * 64 * 32 * 16),
            ("aten::bmm", "8,64,32;8,32,16", 2 * 8 * 64 * 32 * 16),
        ],
    )
    def test_products(self, con: duckdb.DuckDBPyConnection, host_op: str, ins: str, flop: int) -> None:
        (found_,) = work_of(con, self.kernel(host_op, ins))
        assert found_ is not None
        assert (found_.work, found_.at_most, found_.flop, found_.precision) == ("gemm", False, flop, "half")

    def test_bytes_include_the_product(self, con: duckdb.DuckDBPyConnection) -> None:
        (found_,) = work_of(con, self.kernel("aten::mm", "64,32;32,16", "float"))
        assert found_ is not None
        assert (found_.size_bytes, found_.precision) == (4 * (64 * 32 + 32 * 16 + 64 * 16), None)

    def test_several_kernels_of_one_operator_share_its_shapes(self, con: duckdb.DuckDBPyConnection) -> None:
        halves = [self.kernel("aten::mm", "64,32;32,16", host_op_id=7) for _ in range(2)]
        other = self.kernel("aten::mm", "64,32;32,8", host_op_id=8)
        beside = self.kernel("aten::mm", "64,32;32,8", host_op_id=8, op_type="fill", category="matmul_vector")
        first, second, third, fourth = work_of(con, *halves, other, beside)
        assert (first, second, fourth) == (None, None, None)
        assert third is not None

    def test_attention_is_an_upper_limit(self, con: duckdb.DuckDBPyConnection) -> None:
        ins = "16,559,16,64;16,300,16,64;16,300,16,64;;;"
        (found_,) = work_of(con, self.kernel("aten::_flash_attention_forward", ins))
        assert found_ is not None
        assert (found_.work, found_.at_most) == ("attention", True)
        assert found_.flop == 4 * 16 * 16 * 559 * 300 * 64

    @pytest.mark.parametrize(("host_op", "ins"), [("aten::mm", "64,32;16,32"), ("aten::linear", "64,32;32,16")])
    def test_nothing_elsewhere(self, con: duckdb.DuckDBPyConnection, host_op: str, ins: str) -> None:
        assert work_of(con, self.kernel(host_op, ins)) == [None]


class TestMemory:
    def vector(self, con: duckdb.DuckDBPyConnection, op: str, ins: str, outs: str | None, **values: Any) -> Work | None:
        return one(con, op, ins, outs, **{"core_type": "AI_VECTOR_CORE", **values})

    def test_bytes_of_all_inputs_and_outputs(self, con: duckdb.DuckDBPyConnection) -> None:
        added = self.vector(con, "Add", "4096,1024;4096,1024", "4096,1024", input_dtypes="FLOAT;DT_BF16")
        assert added == Work("memory", False, None, 4096 * 1024 * (4 + 2 + 2), None)
        scaled = self.vector(con, "Mul", "220;", "220")
        assert scaled is not None
        assert scaled.size_bytes == 2 * 220 * 2

    def test_reductions_read_all_of_a_larger_input(self, con: duckdb.DuckDBPyConnection) -> None:
        found_ = self.vector(con, "ReduceSum", "4096,1024;1", "4096")
        assert found_ is not None
        assert found_.size_bytes == 2 * (4096 * 1024 + 1 + 4096)

    @pytest.mark.parametrize(
        ("op", "ins", "outs"),
        [
            ("GatherV2", "151936,1024;4096", "4096,1024"),
            ("Slice", "4096,8,512;3;3", "4096,8,128"),
            ("ScatterUpdate", "9999,1024;4;4,1024", "9999,1024"),
            ("Select", "4096,1024", "16"),  # larger than the output, and no known reduction
            ("ApplyAdamWV2", "99;99", None),
            ("ZerosLike", "4096", "4096"),
        ],
    )
    def test_nothing_where_a_part_may_be_left_out(
        self, con: duckdb.DuckDBPyConnection, op: str, ins: str, outs: str | None
    ) -> None:
        assert self.vector(con, op, ins, outs) is None


def profile(folder: Path, name: str, total: int, *, mhz: float | None = 1_800.0, blocks: int | None = 20,
            chip: str | None = None, **values: Any) -> Path:  # fmt: skip
    """A store with ten equal matrix products that take ``total`` ns in all."""
    store = RollupStore(folder / f"{name}.duckdb").capture().step(1).time(1, 10 * MS)
    given_ = {"work": "gemm", "at_most": False, "precision": "half", "flop": 1e12, "bytes": 4e8, "block_num": blocks}
    store.kernel(1, "MatMulV3", 10, total, shapes="8,8;8,8", **{**given_, **values})
    if mhz is not None:
        store.add("r_counter", capture=0, device_id=0, name="aicore_freq_mhz", samples=2, mean=mhz, min=mhz, max=mhz)
    if chip is not None:
        store.add("env", capture=0, key="chip", value=chip)
    return store.done()


class TestSection:
    def test_both_sides(self, tmp_path: Path) -> None:
        """10^12 operations and 4 × 10^8 bytes in 5 ms and 8 ms; 20 cores × 8,192 × 1.8 GHz = 294.9 TFLOP/s."""
        diff = compared(profile(tmp_path, "old", 5 * MS), profile(tmp_path, "new", 8 * MS, mhz=1_500.0))
        row = found(diff, "efficiency", "MatMulV3")
        assert (row["work"], row["input_shapes"], row["at_most"]) == ("gemm", "8,8;8,8", False)
        assert (row["baseline"], row["new"], row["baseline_calls"]) == (5.0, 8.0, 10)
        assert (row["baseline_tflops"], row["new_tflops"]) == (pytest.approx(200), pytest.approx(125))
        assert (row["baseline_gb_per_s"], row["new_gb_per_s"]) == (pytest.approx(80), pytest.approx(50))
        assert row["baseline_peak_share"] == pytest.approx(200 / 294.912)
        assert row["new_peak_share"] == pytest.approx(125 / 245.76)

    def test_more_than_the_chip_can_do_has_no_share(self, tmp_path: Path) -> None:
        """10^12 operations in 3.3 ms are 103 % of 294.9 TFLOP/s, which an inexact clock explains; 5 µs are damage."""
        diff = compared(profile(tmp_path, "old", 3_300_000), profile(tmp_path, "new", 5_000))
        row = found(diff, "efficiency", "MatMulV3")
        assert row["baseline_peak_share"] == pytest.approx(1e12 / 3.3e6 / 294_912)
        assert (row["new_peak_share"], row["baseline_tflops"], row["new_tflops"]) == (
            None,
            pytest.approx(1e12 / 3.3e9),
            None,
        )
        (finding,) = [finding for finding in diff.quality if finding.key == "beyond_peak"]
        assert finding.severity == "caution"
        assert finding.message == (
            "New side: kernels exceed the peak of the chip (kinds and shapes: 1; MatMulV3 678.2 times as much):"
            " their times, shapes or clock frequency are wrong, so their share of the peak is not shown."
        )

    def test_show_has_no_share_beyond_the_peak_either(self, tmp_path: Path) -> None:
        for name, total, percent in (("sound", 5 * MS, pytest.approx(67.817, abs=0.001)), ("damaged", 5_000, None)):
            with open_read_only(profile(tmp_path, name, total)) as con:
                shown = {section: rows for section, _, rows in sections_of(con)}
            (efficiency,) = shown["efficiency"]
            assert efficiency[6] == percent
            said = [message for severity, message, _ in shown["quality"] if severity == "warning"]
            assert [text.partition(":")[0] for text in said] == [
                "kernels exceed the peak of the chip (kinds and shapes",
                "rates above 100,000 GB/s or TFLOP/s, which no chip reaches, are not shown (rows",
            ] * (percent is None)
            assert (efficiency[5] is None) == (percent is None)

    def test_rates_that_no_chip_reaches_are_not_shown(self, tmp_path: Path) -> None:
        """4 × 10^8 bytes in 4,001 ns are 99,975 GB/s, and in 3,999 ns 100,025."""
        old, new = (profile(tmp_path, str(total), total, flop=None, precision=None) for total in (4_001, 3_999))
        diff = compared(old, new)
        row = found(diff, "efficiency", "MatMulV3")
        assert (row["baseline_gb_per_s"], row["new_gb_per_s"]) == (pytest.approx(4e8 / 4_001), None)
        (finding,) = [finding for finding in diff.quality if finding.key == "beyond_rate"]
        assert finding.message == (
            "New side: rates above 100,000 GB/s or TFLOP/s, which no chip reaches, are not shown (rows: 1; the largest:"
            " MatMulV3): times, sizes or shapes are wrong, or a kernel uses only a part of its inputs."
        )

    def test_nor_those_of_copies_and_links(self, tmp_path: Path) -> None:
        store = RollupStore(tmp_path / "copies.duckdb").capture().step(1).time(1, 10 * MS)
        store.add("r_copy", capture=0, device_id=0, step=1, kind="H2D", calls=1, sum_ns=10, size_bytes=10**7)
        store.add(
            "r_link", capture=0, kind="total", src_rank=0, dst_rank=1, transport="HCCS", size_bytes=10**9, transit_ns=10
        )
        path = store.done()
        diff = compared(path, path)
        assert found(diff, "copies", "H2D")["new_gb_per_s"] is None
        assert found(diff, "links", "0→1")["new_gb_per_s"] is None
        said = [finding.message for finding in diff.quality if finding.key == "beyond_rate"]
        assert ["(rows: 2; the largest: 0→1)" in text for text in said] == [True, True]

    @pytest.mark.parametrize(
        "values",
        [
            {"mhz": None},
            {"mhz": 1e19},
            {"blocks": None},
            {"blocks": 19},
            {"blocks": 33},
            {"precision": None},
            {"at_most": True},
            {"chip": "Ascend310P"},
            {"chip": "NVIDIA A100-SXM4-40GB MIG 1g.5gb"},
            {"op_type": "Add"},  # the largest number of blocks must be of a matrix kernel
        ],
    )
    def test_no_share_of_an_unknown_peak(self, tmp_path: Path, values: dict[str, Any]) -> None:
        path = profile(tmp_path, "run", 5 * MS, **values)
        (row,) = compared(path, path).sections["efficiency"].rows
        assert row["baseline_tflops"] == pytest.approx(200)
        assert row["baseline_peak_share"] is None

    @pytest.mark.parametrize(
        ("chip", "tflops"),
        [
            ("NVIDIA H100 80GB HBM3", 989), ("NVIDIA A100-SXM4-80GB", 312), ("NVIDIA H20", 148), ("NVIDIA H200", 989),
            ("NVIDIA H100 PCIe", 756), ("AMD Instinct MI300X", 1307), ("NVIDIA B200", 2250), ("NVIDIA H100 NVL", None),
            ("NVIDIA H20,NVIDIA H200", None), ("Ascend910B3", 294.912), ("", None),
        ],
    )  # fmt: skip
    def test_chips(self, tmp_path: Path, chip: str, tflops: float | None) -> None:
        path = profile(tmp_path, "run", 10 * MS, chip=chip)
        (row,) = compared(path, path).sections["efficiency"].rows
        assert row["new_peak_share"] == (None if tflops is None else pytest.approx(100 / tflops))

    @pytest.mark.slow
    def test_the_clock_of_the_cycles_serves_where_none_was_sampled(self, tmp_path: Path) -> None:
        shares = []
        for name, sampled in (("sampled", 1_500.0), ("not_sampled", None)):
            store = RollupStore(tmp_path / f"{name}.duckdb").capture().step(1).time(1, 10 * MS)
            work: dict[str, Any] = {"work": "gemm", "at_most": False, "precision": "half", "flop": 1e12}
            store.kernel(1, "MatMulV3", 10, 5 * MS, block_num=20, **work)
            clocks = {"aicore_clock_mhz": 1_800.0} | ({} if sampled is None else {"aicore_freq_mhz": sampled})
            for counter, mhz in clocks.items():
                store.add("r_counter", capture=0, device_id=0, name=counter, samples=1, mean=mhz, min=mhz, max=mhz)
            path = store.done()
            (row,) = compared(path, path).sections["efficiency"].rows
            shares.append(row["new_peak_share"])
        assert shares == [pytest.approx(200 / 245.76), pytest.approx(200 / 294.912)]

    def test_int8_counts_twice(self, tmp_path: Path) -> None:
        path = profile(tmp_path, "run", 5 * MS, precision="int8")
        (row,) = compared(path, path).sections["efficiency"].rows
        assert row["baseline_peak_share"] == pytest.approx(200 / 589.824)

    def test_a_row_that_a_side_lacks_is_unknown_there(self, tmp_path: Path) -> None:
        without = profile(tmp_path, "old", 5 * MS, work=None, at_most=None, flop=None, bytes=None, precision=None)
        row = found(compared(without, profile(tmp_path, "new", 5 * MS)), "efficiency", "MatMulV3")
        assert (row["presence"], row["baseline"], row["delta"]) == ("new_only", None, None)

    def test_shapes_of_a_loosely_matched_operator_stay_apart(self, tmp_path: Path) -> None:
        """Most of its time has other shapes on the new side, but one shape is on both."""
        paths = []
        for name, other in (("old", "9,9;9,9"), ("new", "7,7;7,7")):
            store = RollupStore(tmp_path / f"{name}.duckdb").capture().step(1).time(1, 10 * MS)
            work: dict[str, Any] = {"work": "gemm", "at_most": False, "flop": 1e12}
            store.kernel(1, "MatMulV3", 1, 2 * MS, shapes="8,8;8,8", **work)
            store.kernel(1, "MatMulV3", 1, 8 * MS, shapes=other, **work)
            paths.append(store.done())
        diff = compared(*paths)
        assert [row["input_shapes"] for row in diff.sections["kernels"].rows] == ["*,*;*,*"]
        shapes = {row["input_shapes"]: row["presence"] for row in diff.sections["efficiency"].rows}
        assert shapes == {"8,8;8,8": "both", "9,9;9,9": "baseline_only", "7,7;7,7": "new_only"}


class TestCause:
    """MatMul with one of two shapes takes 15 instead of 10 ms for the same work."""

    def text(self, tmp_path: Path, **values: Any) -> str:
        paths = []
        for name, slow in (("old", 10), ("new", 15)):
            store = RollupStore(tmp_path / f"{name}.duckdb").capture().step(1).time(1, (30 + slow) * MS)
            work: dict[str, Any] = {"work": "gemm", "at_most": False, "precision": "half", "flop": 1.5e12, **values}
            store.kernel(1, "MatMul", 2, 30 * MS, shapes="64,64", **work)
            store.kernel(1, "MatMul", 2, slow * MS, shapes="512,64", **work)
            paths.append(store.done())
        (cause,) = compared(*paths).causes
        assert cause.text.startswith("MatMul with inputs 512,64 takes 50 % longer per call for the same inputs")
        return cause.text.partition("as before")[2]

    def test_it_tells_what_the_slower_shape_achieved(self, tmp_path: Path) -> None:
        assert self.text(tmp_path) == " (150 → 100 TFLOP/s)."

    def test_or_how_much_it_moved(self, tmp_path: Path) -> None:
        assert self.text(tmp_path, work="memory", flop=None, bytes=6e8) == " (60.0 → 40.0 GB/s)."

    @pytest.mark.parametrize("values", [{"at_most": True}, {"work": None}, {"flop": None}])
    def test_nothing_where_it_is_not_known(self, tmp_path: Path, values: dict[str, Any]) -> None:
        assert self.text(tmp_path, **values) == "."
