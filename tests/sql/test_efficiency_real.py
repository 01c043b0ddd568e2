"""Efficiency on real profiles, against an evaluation of its own straight from their files, and the chip's counters."""

from __future__ import annotations

import csv
import shutil
import sqlite3
from collections import defaultdict
from math import prod, sqrt
from pathlib import Path

import pytest

from rlcompare.app.sections import sections_of
from rlcompare.db import open_read_only
from tests.sql.rollup_stores import compared
from tests.stores import rows, store_of

pytestmark = pytest.mark.slow

Shapes = list[list[int]]
SIZES = {"DT_BF16": 2, "FLOAT16": 2, "FLOAT": 4}


def shapes_of(text: str) -> Shapes:
    return [[int(size) for size in shape.split(",") if size] for shape in text.strip('"').split(";")]


def operations(inputs: Shapes, outputs: Shapes) -> float:
    """Of a product without batches: its matrices have m·k, k·n and m·n elements, however they are turned."""
    return 2 * sqrt(prod(inputs[0]) * prod(inputs[1]) * prod(outputs[0]))


def size(shapes: Shapes, types: str) -> int:
    return sum(prod(shape) * SIZES[name] for shape, name in zip(shapes, types.split(";"), strict=True) if shape)


class Evaluated:
    """Sums of time, operations and bytes of all matrix products, by type and input shapes."""

    def __init__(self, files: list[Path]) -> None:
        self.sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        for file in files:
            with file.open(newline="") as lines:
                for row in csv.DictReader(lines):
                    if row["Type"] in ("MatMulV2", "MatMulV3"):
                        self._add(row)

    def _add(self, row: dict[str, str]) -> None:
        inputs, outputs = shapes_of(row["Input Shapes"]), shapes_of(row["Output Shapes"])
        sums = self.sums[row["Type"], row["Input Shapes"].strip('"')]
        sums[0] += float(row["Duration(us)"]) * 1e3
        sums[1] += operations(inputs, outputs)
        sums[2] += size(inputs, row["Input Data Types"]) + size(outputs, row["Output Data Types"])

    def values(self) -> dict[tuple[str, str], tuple[float, float]]:
        """TFLOP/s and GB/s."""
        return {key: (flop / ns / 1e3, moved / ns) for key, (ns, flop, moved) in self.sums.items()}


@pytest.fixture(scope="module")
def qwen3(profiles: Path) -> Path:
    return profiles / "ascend-qwen3-pp2-2025q4"


def test_matrix_products_of_qwen3(qwen3: Path, tmp_path: Path) -> None:
    store = store_of(qwen3, tmp_path / "run.duckdb", keep_events=False)
    expected = Evaluated(sorted(qwen3.glob("*/*/kernel_details.csv"))).values()
    assert len(expected) == 14
    gemms = [row for row in compared(store, store).sections["efficiency"].rows if row["work"] == "gemm"]
    for side in ("baseline", "new"):
        found = {(row["name"], row["input_shapes"]): (row[f"{side}_tflops"], row[f"{side}_gb_per_s"]) for row in gemms}
        assert found.keys() == expected.keys()
        for key, values in expected.items():
            assert found[key] == pytest.approx(values, rel=1e-6), key
    with open_read_only(store) as con:
        ((columns, shown),) = [(columns, rows) for name, columns, rows in sections_of(con) if name == "efficiency"]
    printed = [dict(zip(columns, row, strict=True)) for row in shown]
    assert sum(row["work"] == "gemm" for row in printed) > 5
    for row in printed:
        if row["work"] == "gemm":
            values = (row["tflops"], row["gb_per_s"])
            assert values == pytest.approx(expected[row["kernel"], row["input_shapes"]], rel=1e-6)


def test_each_rank_of_qwen3_stands_apart(qwen3: Path, tmp_path: Path) -> None:
    folders = [qwen3 / f"rank_{rank}_ascend_pt" for rank in (0, 2)]
    stores = [store_of(folder, tmp_path / f"{number}.duckdb") for number, folder in enumerate(folders)]
    old, new = (Evaluated(sorted(folder.glob("*/kernel_details.csv"))).values() for folder in folders)
    found = {}
    for row in compared(*stores).sections["efficiency"].rows:
        if row["work"] == "gemm":
            found[row["name"], row["input_shapes"]] = (row["baseline_tflops"], row["new_tflops"])
    assert found.keys() == old.keys() | new.keys()
    for key, (before, after) in found.items():
        assert before == (pytest.approx(old[key][0], rel=1e-6) if key in old else None)
        assert after == (pytest.approx(new[key][0], rel=1e-6) if key in new else None)


def test_share_of_the_peak_of_qwen3(qwen3: Path, tmp_path: Path) -> None:
    """No frequency was sampled: the clock is that by which the profiler turned cycles into times."""
    folder = qwen3 / "rank_0_ascend_pt"
    (file,) = folder.glob("*/kernel_details.csv")
    with file.open(newline="") as lines:
        matrices = [row for row in csv.DictReader(lines) if row["Type"] in ("MatMulV2", "MatMulV3")]
    cores = max(int(row["Block Dim"]) for row in matrices)
    for row in matrices:
        cycles, core_us = float(row["aic_total_cycles"]), float(row["aicore_time(us)"])
        assert cycles / core_us / int(row["Block Dim"]) == pytest.approx(1650, rel=0.001)
    store = store_of(folder, tmp_path / "run.duckdb")
    gemms = [row for row in compared(store, store).sections["efficiency"].rows if row["work"] == "gemm"]
    peak = cores * 1650 * 8192 / 1e6
    for (name, shapes), (tflops, _) in Evaluated([file]).values().items():
        (row_of,) = [row for row in gemms if (row["name"], row["input_shapes"]) == (name, shapes)]
        assert row_of["new_peak_share"] == pytest.approx(tflops / peak, rel=0.001)


def test_share_of_the_peak_of_a_910b(profiles: Path, tmp_path: Path) -> None:
    """The peak is that of 24 cores at the recorded 1,800 MHz; it is for FLOAT16, and all matrices here are FLOAT."""
    folder = profiles / "ascend-910b-2025-level01" / "db" / "level1" / "rank0_ascend_pt"
    store = store_of(folder, tmp_path / "run.duckdb")
    (database,) = folder.glob("*/ascend_pytorch_profiler_*.db")
    with sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True) as con:
        (clock,) = con.execute("SELECT avg(freq) FROM AICORE_FREQ").fetchone()
        (cores,) = con.execute(
            "SELECT max(blockDim) FROM COMPUTE_TASK_INFO AS c JOIN STRING_IDS AS t ON t.id = c.taskType"
            " WHERE t.value = 'AI_CORE'"
        ).fetchone()
    assert (clock, cores) == (1800, 24)
    with open_read_only(store) as con:
        list(sections_of(con))
        peaks = con.execute("FROM peak_of('r_kernel', 'r_counter', 'env')").fetchall()
    assert peaks == [
        (0, pytest.approx(clock * 1e6 * cores * 8192 / 1e9), pytest.approx(clock * 1e6 * cores * 16384 / 1e9))
    ]
    gemms = [row for row in compared(store, store).sections["efficiency"].rows if row["work"] == "gemm"]
    assert gemms
    assert all(row["baseline_tflops"] and row["baseline_peak_share"] is None for row in gemms)


def test_operations_against_the_counters_of_the_cube(profiles: Path, tmp_path: Path) -> None:
    """ArithmeticUtilization counts operations, with the filling of blocks, and cycles in which the cube multiplies."""
    file = profiles / "ascend-2023-advisor-fragments" / "kernel_details_arith_2023.csv"
    store = store_of(file, tmp_path / "run.duckdb")
    ours = dict(rows(store, "SELECT input_shapes, flop / calls FROM r_kernel WHERE contains(op_type, 'MatMul')"))
    checked = 0
    with file.open(newline="") as lines:
        for row in csv.DictReader(lines):
            if "MatMul" not in row["Type"]:
                continue
            flop = ours[row["Input Shapes"].strip('"')]
            assert 1 <= float(row["aic_cube_fops"]) / flop < 1.1
            busy = flop / (float(row["aic_total_cycles"]) * 8192)
            assert busy == pytest.approx(float(row["aic_mac_fp16_ratio"]), rel=0.08)
            checked += 1
    assert checked == 13


def test_products_of_gpus_stay_below_the_published_peak(profiles: Path, tmp_path: Path) -> None:
    """Of the larger ones: the smallest are finished before a clock ticks."""
    folder = profiles / "gpu-h100-vs-mi300-dev"
    (nvidia,), (amd,) = (sorted((folder / chip).glob("Qwen*")) for chip in ("h100", "mi300"))
    stores = [store_of(path, tmp_path / f"{number}.duckdb") for number, path in enumerate((nvidia, amd))]
    for store, peak in zip(stores, (989, 1307), strict=True):
        gemms = [row for row in compared(store, store).sections["efficiency"].rows if row["work"] == "gemm"]
        shares = [row["new_peak_share"] for row in gemms if "BFloat16" in str(row["input_dtypes"])]
        assert len(shares) >= 4
        assert all(isinstance(share, float) and 0.2 < share < 0.8 for share in shares)
        for row in gemms:
            if row["new_peak_share"] is not None:
                assert row["new_tflops"] == pytest.approx(float(str(row["new_peak_share"])) * peak)


def counted_in(database: Path) -> dict[str, tuple[float, float, int]]:
    """By type: time in which the cube unit computes and in which cube cores load, in ns, of kernels that use them."""
    con = sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True)
    kernels: dict[int, dict[str, float]] = defaultdict(dict)
    for task, name, value in con.execute(
        "SELECT p.globalTaskId, s.value, p.value FROM TASK_PMU_INFO AS p JOIN STRING_IDS AS s ON s.id = p.name"
    ):
        kernels[task][name] = value
    found: dict[str, tuple[float, float, int]] = defaultdict(lambda: (0.0, 0.0, 0))
    for task, kind, ns in con.execute(
        "SELECT globalTaskId, s.value, endNs - startNs FROM COMPUTE_TASK_INFO AS c JOIN TASK USING (globalTaskId)"
        " JOIN STRING_IDS AS s ON s.id = c.opType"
    ):
        counters = kernels[task]
        if counters.get("aic_mac_ratio") or counters.get("aic_mte2_ratio"):
            cube, load, time = found[kind]
            found[kind] = (cube + ns * counters["aic_mac_ratio"], load + ns * counters["aic_mte2_ratio"], time + ns)
    return dict(found)


QUERY = (
    "SELECT op_type, sum(cube_ns), sum(load_ns), sum(counted_ns) FROM r_kernel WHERE counted_ns IS NOT NULL GROUP BY 1"
)


@pytest.mark.parametrize("rank", [0, 1])
def test_counters_of_cube_cores_equal_those_of_the_database(ascend_910b: Path, tmp_path: Path, rank: int) -> None:
    folder = ascend_910b / "db" / "level1" / f"rank{rank}_ascend_pt"
    expected = counted_in(folder / "ASCEND_PROFILER_OUTPUT" / f"ascend_pytorch_profiler_{rank}.db")
    store = store_of(folder, tmp_path / "run.duckdb", keep_events=False)
    ours = {name: tuple(map(int, values)) for name, *values in rows(store, QUERY)}
    assert len(expected) > 3
    assert ours == {name: pytest.approx(values, abs=100) for name, values in expected.items()}


def test_counters_of_text_equal_those_of_the_file(shared: Path, tmp_path: Path) -> None:
    folder = shared / "profiles" / "ascend-qwen3-pp2-2025q4" / "rank_0_ascend_pt"
    expected: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    with (folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(newline="") as lines:
        for row in csv.DictReader(lines):
            ratios = [row[name] for name in ("aic_mac_ratio", "aic_mte2_ratio")]
            if "N/A" not in ratios and any(map(float, ratios)):
                ns = float(row["Duration(us)"]) * 1e3
                for place, part in enumerate((*map(float, ratios), 1.0)):
                    expected[row["Type"]][place] += ns * part
    store = store_of(folder, tmp_path / "run.duckdb", keep_events=False)
    ours = {name: list(map(int, values)) for name, *values in rows(store, QUERY)}
    assert len(expected) > 1
    assert ours == {name: pytest.approx(values, abs=1000) for name, values in expected.items()}


def test_ranks_that_are_read_together_keep_their_counters(ascend_910b: Path, tmp_path: Path) -> None:
    """Small databases are merged, with the ids of their texts."""
    folder = ascend_910b / "db" / "level1"
    query = QUERY.replace("SELECT", "SELECT capture,").replace("GROUP BY 1", "GROUP BY ALL ORDER BY ALL")
    together = rows(store_of(folder, tmp_path / "run.duckdb", keep_events=False), query)
    for rank in (0, 1):
        alone = store_of(folder / f"rank{rank}_ascend_pt", tmp_path / f"{rank}.duckdb", keep_events=False)
        assert [row[1:] for row in together if row[0] == rank] == [row[1:] for row in rows(alone, query)]


def test_ranks_that_are_read_together_keep_that_none_used_the_cube_unit(ascend_910b: Path, tmp_path: Path) -> None:
    """Without events, only counters that we know are merged. Here there are only others: those of vector units."""
    folder = tmp_path / "run"
    for rank in (0, 1):
        edited = edited_copy(ascend_910b / "db" / "level1" / f"rank{rank}_ascend_pt", folder)
        with sqlite3.connect(edited / "ASCEND_PROFILER_OUTPUT" / f"ascend_pytorch_profiler_{rank}.db") as con:
            con.execute(
                "UPDATE STRING_IDS SET value = 'aiv_vec_' || id WHERE id IN (SELECT DISTINCT name FROM TASK_PMU_INFO)"
            )
    query = "SELECT capture, category, sum(calls) FROM r_kernel GROUP BY ALL ORDER BY ALL"
    together = rows(store_of(folder, tmp_path / "run.duckdb", keep_events=False), query)
    assert len(together) > 2
    for rank in (0, 1):
        alone = store_of(folder / f"rank{rank}_ascend_pt", tmp_path / f"{rank}.duckdb", keep_events=False)
        assert [row[1:] for row in together if row[0] == rank] == [row[1:] for row in rows(alone, query)]


def test_hits_of_the_second_level_cache_by_aic_metrics(ascend_910b: Path, tmp_path: Path) -> None:
    """A database whose counters are renamed to those of L2Cache: times as hits and misses."""
    names = {"aic_mac_time": "aic_r0_read_cache_hit", "aic_mte2_time": "aic_r1_read_cache_miss_allocate"}
    edited = edited_copy(ascend_910b / "db" / "level1" / "rank0_ascend_pt", tmp_path)
    database = edited / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db"
    with sqlite3.connect(database) as con:
        for old, new in names.items():
            con.execute("UPDATE STRING_IDS SET value = ? WHERE value = ?", [new, old])
        expected = con.execute(
            "SELECT sum(ns * hits / (hits + misses)), sum(ns) FROM (SELECT t.endNs - t.startNs AS ns,"
            " sum(p.value) FILTER (WHERE s.value LIKE '%_hit') AS hits,"
            " sum(p.value) FILTER (WHERE s.value LIKE '%_allocate') AS misses"
            " FROM TASK_PMU_INFO AS p JOIN STRING_IDS AS s ON s.id = p.name JOIN TASK AS t USING (globalTaskId)"
            " GROUP BY globalTaskId) WHERE hits + misses > 0"
        ).fetchone()
    store = store_of(edited, tmp_path / "run.duckdb", keep_events=False)
    (ours,) = rows(store, "SELECT sum(l2_hit_ns), sum(l2_counted_ns) FROM r_kernel")
    assert ours[1] == expected[1] > 0
    assert ours[0] == pytest.approx(expected[0], abs=100)


def edited_copy(profile: Path, folder: Path) -> Path:
    """A copy of a profile with a database that can be written."""
    edited = folder / profile.name
    shutil.copytree(profile, edited)
    for path in (edited, *edited.rglob("*")):
        path.chmod(0o755)
    return edited


def test_a_product_that_waits_for_memory_says_so(ascend_910b: Path, tmp_path: Path) -> None:
    """Its longest product takes three times as long, all of which its cube cores load."""
    folder = ascend_910b / "db" / "level1" / "rank0_ascend_pt"
    edited = edited_copy(folder, tmp_path)
    database = edited / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db"
    with sqlite3.connect(database) as con:
        kernels = con.execute(
            "SELECT globalTaskId, startNs, endNs, s.value, l.value FROM TASK"
            " JOIN COMPUTE_TASK_INFO AS c USING (globalTaskId)"
            " JOIN STRING_IDS AS s ON s.id = c.opType JOIN TASK_PMU_INFO AS l USING (globalTaskId)"
            " JOIN STRING_IDS AS n ON n.id = l.name AND n.value = 'aic_mte2_ratio' AND l.value BETWEEN 0.1 AND 0.8"
        ).fetchall()
        task, start, end, kind, load = max(kernels, key=lambda row: (row[2] - row[1]) * (1 - row[4]))
        added = 50 * (end - start)
        for table, columns in TIMED.items():
            for column in columns:
                con.execute(
                    f"UPDATE {table} SET {column} = {column} + ? WHERE CAST({column} AS INTEGER) >= ?", [added, end]
                )
        con.execute(
            "UPDATE TASK_PMU_INFO SET value = ? WHERE globalTaskId = ?"
            " AND name = (SELECT id FROM STRING_IDS WHERE value = 'aic_mte2_ratio')",
            [(load + 50) / 51, task],
        )
    paths = [
        store_of(path, tmp_path / f"{label}.duckdb", keep_events=False)
        for label, path in (("o", folder), ("n", edited))
    ]
    first = compared(*paths).causes[0]
    assert (first.what, first.row) == ("operator_slower", kind)
    assert "loading from memory (MTE2) takes" in first.text
    assert first.facts[0]["name"] == "load_share"


TIMED = {"TASK": ("startNs", "endNs"), "COMMUNICATION_OP": ("startNs", "endNs"), "CANN_API": ("startNs", "endNs"),
         "PYTORCH_API": ("startNs", "endNs"), "STEP_TIME": ("startNs", "endNs")}  # fmt: skip
