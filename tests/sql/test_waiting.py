"""Exposed communication divided into waiting and transfer, on runs that can be worked out on paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlcompare.store.new_file import run_all
from rlcompare.store.run_stage import RUN_STAGE
from tests.sql.rollup_stores import RollupStore

Rows = list[tuple[int, str, str, int]]


class Ranks:
    """Ranks of one step, with collectives that nothing hides."""

    def __init__(self, path: Path, hosts: tuple[str | None, ...], world: int | None = None) -> None:
        self._store = RollupStore(path)
        for rank, host in enumerate(hosts):
            self._store.capture(rank, rank, host=host, world_size=world or len(hosts)).step(1, rank)

    def collective(
        self,
        ordinal: int,
        *spans: tuple[int, int] | None,
        kind: str = "all_reduce",
        group: str | None = None,
        **names: Any,
    ) -> Ranks:
        """A collective with its start and end on each rank; None: this rank did not record it."""
        members = group or ",".join(str(rank) for rank in range(len(spans)))
        for rank, span in enumerate(spans):
            if span is not None:
                start, end = span
                self._store.collective(1, kind, ordinal, start, end, rank, group=members, **names)
                self._store.add(
                    "r_exposed",
                    capture=rank,
                    device_id=0,
                    step=1,
                    kind=kind,
                    group_name=names.get("group_name"),
                    start_ns=start,
                    from_ns=start,
                    until_ns=end,
                )
        return self

    def divided(self, times: int = 1) -> Rows:
        """Rank, kind, subject and length of each row, after the division ran so many times."""
        with duckdb.connect(str(self._store.done())) as con:
            for _ in range(times):
                run_all(con, RUN_STAGE)
            return con.execute(
                "SELECT capture, kind, subject, CAST(ns AS BIGINT) FROM r_account ORDER BY ALL"
            ).fetchall()


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "store.duckdb"


@pytest.mark.parametrize("times", [1, 2])
def test_others_wait_until_the_last_rank_has_started(path: Path, times: int) -> None:
    ranks = Ranks(path, ("a", "a", "a")).collective(0, (10, 100), (70, 100), (20, 100))
    assert ranks.divided(times) == [
        (0, "transfer", "all_reduce", 30), (0, "wait", "rank 1", 60),
        (1, "transfer", "all_reduce", 30),
        (2, "transfer", "all_reduce", 30), (2, "wait", "rank 1", 50),
    ]  # fmt: skip


def test_clocks_of_machines_are_aligned_by_the_ends_of_collectives(path: Path) -> None:
    """The clock of machine b is 1,000 ahead: rank 1 starts each of three last, by 5, and not by 1,005."""
    ranks = Ranks(path, ("a", "b"))
    for ordinal in range(3):
        begin = 100 * ordinal
        ranks.collective(ordinal, (begin + 10, begin + 50), (begin + 1015, begin + 1050))
    assert [row for row in ranks.divided() if row[1] == "wait"] == [(0, "wait", "rank 1", 15)]


MACHINES = {
    "tensor parallel inside machines, data parallel across them": ("aabb", ["0,1"] * 4 + ["2,3"] * 4 + ["0,2", "1,3"]),
    "groups in which other machines are the most": ("aaabbb", ["0,1,3", "2,4,5"] * 2 + ["0,2"]),
    "a pipeline": ("abc", ["0,1", "1,2"]),
    "machines that the first one does not meet": ("abcd", ["0,3", "1,2", "2,3"]),
}


@pytest.mark.parametrize("name", MACHINES)
def test_clocks_are_those_of_machines(tmp_path: Path, name: str) -> None:
    """Each machine's clock is another 1,000 ahead. Its collectives with itself do not hide that."""
    hosts, groups = MACHINES[name]

    def waits(ahead: int) -> Rows:
        ranks = Ranks(tmp_path / f"{ahead}.duckdb", tuple(hosts))
        ordinals: Counter[str] = Counter()
        for call, group in enumerate(groups):
            spans: list[tuple[int, int] | None] = [None] * len(hosts)
            for place, rank in enumerate(int(member) for member in group.split(",")):
                shift = 100 * call + ahead * "abcd".index(hosts[rank])
                spans[rank] = (shift + 10 * (place + rank), shift + 90 + rank % 2)
            ranks.collective(ordinals[group], *spans, group=group, group_name=group)
            ordinals[group] += 1
        return ranks.divided()

    assert [row for row in waits(1000) if row[1] == "wait"] == [row for row in waits(0) if row[1] == "wait"] != []


def test_clocks_of_one_machine_are_the_same(path: Path) -> None:
    """Collectives that were not in progress at one time are no members of one: they were paired wrongly."""
    ranks = Ranks(path, ("a", "a")).collective(0, (10, 50), (1015, 1050))
    assert ranks.divided() == [(0, "comm", "all_reduce", 40), (1, "comm", "all_reduce", 35)]


def test_members_that_were_not_profiled_may_have_come_later(path: Path) -> None:
    """Two of four: they wait for each other, and after that for whom is unknown."""
    ranks = Ranks(path, ("a", "a"), world=4).collective(0, (10, 50), (30, 50), group="0,1,2,3")
    assert ranks.divided() == [
        (0, "comm", "all_reduce", 20), (0, "wait", "rank 1", 20), (1, "comm", "all_reduce", 20),
    ]  # fmt: skip


@pytest.mark.parametrize(("world", "kind"), [(2, "transfer"), (4, "comm")])
def test_a_group_without_known_members_is_whole_if_all_ranks_are(path: Path, world: int, kind: str) -> None:
    ranks = Ranks(path, ("a", "a"), world=world).collective(0, (10, 50), (30, 50), group="group 0")
    assert {row[1] for row in ranks.divided()} == {"wait", kind}


def test_groups_that_each_process_numbers_for_itself_do_not_meet(path: Path) -> None:
    """Ranks 0 and 1 have a group, and so have 2 and 3: each is the first of its process."""
    ranks = Ranks(path, ("a",) * 4)
    ranks.collective(
        0, (10, 50), (30, 50), group="group 0", group_name="Group 0 Communication", name="hcom_allReduce__210_0_1"
    )
    ranks.collective(
        0, None, None, (40, 50), (45, 50), group="group 0", group_name="Group 0 Communication",
        name="hcom_allReduce__576_0_1",
    )  # fmt: skip
    assert [row for row in ranks.divided() if row[1] == "wait"] == [(0, "wait", "rank 1", 20), (2, "wait", "rank 3", 5)]


@pytest.mark.parametrize("kind", ["send", "recv"])
def test_two_sends_do_not_meet(path: Path, kind: str) -> None:
    ranks = Ranks(path, ("a", "a")).collective(0, (10, 50), (30, 50), kind=kind)
    assert {row[1] for row in ranks.divided()} == {"comm"}


def test_sends_and_receives_of_two_ranks_meet(path: Path) -> None:
    ranks = Ranks(path, ("a", "a")).collective(0, (10, 50), (30, 50), kind="batch_send_recv")
    assert ranks.divided() == [
        (0, "transfer", "batch_send_recv", 20), (0, "wait", "rank 1", 20), (1, "transfer", "batch_send_recv", 20)
    ]  # fmt: skip


def test_sends_and_receives_of_more_ranks_are_not_divided(path: Path) -> None:
    ranks = Ranks(path, ("a",) * 3).collective(0, (10, 50), (30, 50), (20, 50), kind="batch_send_recv")
    assert {row[1] for row in ranks.divided()} == {"comm"}


def test_a_rank_without_the_collective_waits_for_nobody(path: Path) -> None:
    ranks = Ranks(path, ("a", "a")).collective(0, (10, 50), None)
    assert ranks.divided() == [(0, "comm", "all_reduce", 40)]


starts = st.lists(st.integers(0, 40), min_size=2, max_size=4)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(starts, min_size=1, max_size=3), st.integers(1, 30))
def test_it_sums_to_what_is_exposed(
    tmp_path_factory: pytest.TempPathFactory, calls: list[list[int]], size: int
) -> None:
    ranks = Ranks(tmp_path_factory.mktemp("ranks") / "store.duckdb", ("a",) * 4)
    exposed = dict.fromkeys(range(4), 0)
    for ordinal, members in enumerate(calls):
        end = max(members) + size
        spans = [(100 * ordinal + start, 100 * ordinal + end) for start in members]
        ranks.collective(ordinal, *spans)
        for rank, (start, until) in enumerate(spans):
            exposed[rank] += until - start
    found = dict.fromkeys(range(4), 0)
    for rank, _, _, ns in ranks.divided():
        found[rank] += ns
    assert found == exposed
