"""Links between ranks against what the profiles' own files say, read without our store."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import defaultdict
from pathlib import Path

import pytest

from rlcompare.model.diff import Row
from rlcompare.writer import SampleRun, write_sample
from tests.sql.rollup_stores import MS, RollupStore, compared, found, side
from tests.stores import rows, store_of


def reported_bytes(folder: Path) -> dict[tuple[str, str], float]:
    """Bytes by pair of ranks inside the only group, over all steps of analysis.db."""
    total: dict[tuple[str, str], float] = defaultdict(float)
    with sqlite3.connect(f"file:{folder}/ASCEND_PROFILER_OUTPUT/analysis.db?mode=ro", uri=True) as con:
        for source, target, size in con.execute(
            "SELECT src_rank, dst_rank, transit_size FROM CommAnalyzerMatrix WHERE hccl_op_name LIKE '%-total'"
        ):
            total[source, target] += size * 1e6
    return total


@pytest.mark.slow
def test_a_link_moves_what_its_rank_reports_and_is_not_shared_out(tmp_path: Path) -> None:
    # GIVEN two ranks and two steps, each rank with the links that begin at it
    write_sample(SampleRun(ranks=(0, 1), steps=(1, 2), layers=2, decode_steps=2), tmp_path / "both")
    folders = sorted((tmp_path / "both").glob("*_ascend_pt"))
    expected = [reported_bytes(folder) for folder in folders]
    assert [sorted(pairs) for pairs in expected] == [[("0", "0"), ("0", "1")], [("1", "0"), ("1", "1")]]
    # WHEN both are compared with the first rank alone
    shutil.copytree(folders[0], tmp_path / "one" / folders[0].name)
    stores = [store_of(tmp_path / name, tmp_path / f"{name}.duckdb", keep_events=False) for name in ("both", "one")]
    diff = compared(*stores)
    # THEN a link is what one rank reports per step
    for pairs in expected:
        for (source, target), size in pairs.items():
            row = found(diff, "links", f"{source}→{target}")
            assert row["baseline_bytes"] == pytest.approx(size / 2), (source, target)
    # AND links of the rank that is not there are unknown
    row = found(diff, "links", "1→0")
    assert (row["presence"], row["new"], row["delta"], row["new_bytes"]) == ("baseline_only", None, None, None)
    assert found(diff, "links", "0→1")["delta"] == 0


@pytest.mark.slow
def test_groups_of_a_real_rank_are_kept_apart_under_global_ranks(profiles: Path, tmp_path: Path) -> None:
    # GIVEN communication_matrix.json of each rank, whose pairs are places in the group, and its groups' members
    root = profiles / "ascend-qwen3-pp2-2025q4"
    expected: dict[tuple[int, str, int, int], float] = defaultdict(float)
    for rank in range(4):
        folder = root / f"rank_{rank}_ascend_pt"
        members = members_of(folder)
        matrix = json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "communication_matrix.json").read_text())
        for kind in matrix["step13"].values():
            for operator, pairs in kind.items():
                name, group = operator.split("@")
                for pair, transfer in pairs.items() if name.endswith("-total") else ():
                    ends = [members[group][int(place)] for place in pair.split("-")]
                    key = (rank, ",".join(map(str, members[group])), *ends)
                    expected[key] += transfer["Transit Size(MB)"] * 1e6  # type: ignore[index]
    # WHEN
    store = store_of(root, tmp_path / "qwen.duckdb", keep_events=False)
    # THEN
    made = rows(
        store,
        "SELECT c.rank, group_key, src_rank, dst_rank, sum(size_bytes)::DOUBLE"
        " FROM r_link JOIN capture AS c USING (capture) GROUP BY ALL",
    )
    assert {tuple(row[:4]): row[4] for row in made} == pytest.approx(expected, abs=2)
    assert {row["group_key"] for row in compared(store, store).sections["links"].rows} == {key[1] for key in expected}


def members_of(folder: Path) -> dict[str, list[int]]:
    """Global ranks by the hash of a group's name (FACTS: two polynomials modulo 2^32)."""
    groups = json.loads((folder / "profiler_metadata.json").read_text())["parallel_group_info"]
    members = {}
    for name, group in groups.items():
        upper = lower = 0
        for byte in name.encode():
            upper, lower = (upper * 29 + byte) % 2**32, (lower * 131 + byte) % 2**32
        members[str(upper * 2**32 + lower)] = group["global_ranks"]
    return members


@pytest.mark.slow
def test_a_hash_meets_the_group_of_operators_with_its_last_digits(ascend_910b: Path, tmp_path: Path) -> None:
    """analysis.db calls the only group 17148521525495523210, its operators are hcom_allReduce__210_…"""
    folder = ascend_910b / "db" / "level1" / "rank0_ascend_pt"
    store = store_of(folder, tmp_path / "s.duckdb", keep_events=False)
    assert rows(store, "SELECT DISTINCT group_key FROM r_link") == rows(
        store, "SELECT DISTINCT group_key FROM r_collective"
    )


def link(made: RollupStore, capture: int, source: int, target: int, size: int, **values: object) -> None:
    given = {"kind": "total", "group_key": "0,1", "transport": "HCCS", "size_bytes": size, "transit_ns": MS}
    made.add("r_link", capture=capture, step=1, src_rank=source, dst_rank=target, **{**given, **values})


def run_of_two(path: Path, *links: tuple[int, int, int, int]) -> Path:
    """Ranks 0 and 1 with one step; links as (rank that reports it, from, to, bytes)."""
    made = RollupStore(path)
    for rank in (0, 1):
        made.capture(rank, rank).step(1, rank).time(1, MS, rank)
    for entry in links:
        link(made, *entry)
    return made.done()


def test_a_link_that_its_rank_no_longer_uses_moves_nothing(tmp_path: Path) -> None:
    """Run a: 0→1 moves 8 by rank 0's and 4 by rank 1's report, mean 6; run b: rank 0 reports 2, rank 1 nothing: 1.
    The side: 3.5. On the new side rank 0 reports another link only, and rank 1 nothing at all."""
    runs = [run_of_two(tmp_path / "a.duckdb", (0, 0, 1, 8), (1, 0, 1, 4), (1, 1, 0, 6)),
            run_of_two(tmp_path / "b.duckdb", (0, 0, 1, 2), (1, 1, 0, 6))]  # fmt: skip
    new = run_of_two(tmp_path / "new.duckdb", (0, 0, 0, 5))
    diff = compared(side("old", *runs), new)
    row = found(diff, "links", "0→1")
    assert (row["baseline_bytes"], row["new_bytes"], row["presence"]) == (3.5, 0, "baseline_only")
    row = found(diff, "links", "1→0")
    assert (row["baseline_bytes"], row["new_bytes"]) == (6, None)


def test_groups_without_known_members_are_not_added_up(tmp_path: Path) -> None:
    stores: list[Path] = []
    for name, groups in (("old", ("0,1", "0,2")), ("new", ("group 0", "group 1"))):
        made = RollupStore(tmp_path / f"{name}.duckdb").capture().step(1).time(1, MS)
        for group in groups:
            link(made, 0, 0, 1, 7, group_key=group)
        stores.append(made.done())
    made_rows: tuple[Row, ...] = compared(*stores).sections["links"].rows
    assert [(row["group_key"], row["baseline_bytes"], row["new_bytes"]) for row in made_rows] == [
        ("0,1", 7, None), ("0,2", 7, None), ("group 0", None, 7), ("group 1", None, 7),
    ]  # fmt: skip


def test_one_group_on_each_side_is_the_same_one(tmp_path: Path) -> None:
    stores = []
    for name, group in (("old", "0,1"), ("new", "group 0")):
        made = RollupStore(tmp_path / f"{name}.duckdb").capture().step(1).time(1, MS)
        link(made, 0, 0, 1, 7, group_key=group)
        stores.append(made.done())
    row = found(compared(*stores), "links", "0→1")
    assert (row["group_key"], row["presence"], row["delta"]) == (None, "both", 0)
