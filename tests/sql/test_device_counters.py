"""Sampled counters of devices, links and network ports: read, compared, and beside a slower collective."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from rlcompare.model.diff import Diff
from tests.sql.rollup_stores import MS, RollupStore, compared, found
from tests.stores import rows, store_of

START = 1736408883688177930

TABLES = {
    "HCCS": "deviceId INTEGER, timestampNs INTEGER, txThroughput NUMERIC, rxThroughput NUMERIC",
    "PCIE": "deviceId INTEGER, timestampNs INTEGER, txPostMin NUMERIC, txPostMax NUMERIC, txPostAvg NUMERIC",
    "ROCE": (
        "deviceId INTEGER, timestampNs INTEGER, bandwidth INTEGER, rxByteRate NUMERIC, rxErrors INTEGER,"
        " rxDropped INTEGER, txByteRate NUMERIC, txErrors INTEGER, txDropped INTEGER, funcId INTEGER"
    ),
    "NETDEV_STATS": "deviceId INTEGER, timestampNs INTEGER, macTxPfcPkt INTEGER, roceNewPktRty INTEGER",
}


def with_counters(profile: Path, target: Path, hccs: tuple[int, ...], dropped: tuple[int, ...]) -> Path:
    """A copy of a profile whose database has samples of these tables, one a millisecond."""
    shutil.copytree(profile, target)
    database = next(target.glob("*/ascend_pytorch_profiler_*.db"))
    for path in (target, database.parent, database):
        path.chmod(0o755)
    with sqlite3.connect(database) as con:
        (device,) = con.execute("SELECT deviceId FROM TASK LIMIT 1").fetchone()
        for table, columns in TABLES.items():
            con.execute(f"CREATE TABLE {table} ({columns})")
        for place, rate in enumerate(hccs):
            con.execute("INSERT INTO HCCS VALUES (?, ?, ?, ?)", [device, START + place * MS, rate, 2 * rate])
        con.execute("INSERT INTO PCIE VALUES (?, ?, 1, 9, 5)", [device, START])
        con.execute("INSERT INTO PCIE VALUES (?, ?, 'x', NULL, 'x')", [device, START + 1])
        for place, packets in enumerate(dropped):
            for port in (0, 1):
                values = [device, START + place * MS, 10, 1e9, 0, packets * port, 2e9, 3, 4, port]
                con.execute("INSERT INTO ROCE VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            con.execute("INSERT INTO NETDEV_STATS VALUES (?, ?, 0, ?)", [device, START + place * MS, 100 + place])
    return target


@pytest.fixture(scope="module")
def stores(ascend_910b: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder, made = tmp_path_factory.mktemp("counters"), []
    profile = ascend_910b / "db" / "level1" / "rank0_ascend_pt"
    for label, hccs, dropped in (("old", (3, 5), (7, 7)), ("new", (1, 3, 2), (7, 9, 12))):
        hccs_rates = tuple(rate * 10**9 for rate in hccs)
        path = with_counters(profile, folder / label / profile.name, hccs_rates, dropped)
        made.append(store_of(path, folder / f"{label}.duckdb"))
    return made


@pytest.mark.slow
def test_samples_are_read(stores: list[Path]) -> None:
    query = (
        "SELECT name, samples, mean, min, max FROM r_counter WHERE name SIMILAR TO '(hccs|pcie|roce).*' ORDER BY name"
    )
    read = {name: values for name, *values in rows(stores[1], query)}
    assert read["hccs_tx_bytes_per_s"] == [3, 2e9, 1e9, 3e9]
    assert read["hccs_rx_bytes_per_s"] == [3, 4e9, 2e9, 6e9]
    assert read["pcie_tx_post_bytes_per_s"] == [1, 5, 5, 5]
    assert read["roce_1_rx_dropped_packets"] == [3, pytest.approx(28 / 3), 7, 12]
    assert read["roce_0_tx_bytes_per_s"] == [3, 2e9, 2e9, 2e9]
    assert read["roce_retried_packets"] == [3, 101, 100, 102]
    assert "pcie_rx_post_bytes_per_s" not in read
    (first,) = rows(stores[1], "SELECT min(ts_ns) FROM counter WHERE name = 'hccs_tx_bytes_per_s'")
    assert first == (START,)


def test_they_are_compared(stores: list[Path]) -> None:
    diff = compared(*stores)
    row = found(diff, "counters", "hccs_tx")
    assert (row["member"], row["unit"], row["presence"], row["polarity"]) == ("rank 0", "GB/s", "both", "neutral")
    assert [row[key] for key in ("baseline", "new", "baseline_max", "new_max")] == pytest.approx([4, 2, 5, 3])
    row = found(diff, "counters", "roce_1_rx_dropped_packets")
    assert [row[key] for key in ("unit", "baseline", "new", "delta", "ratio")] == ["packets", 0, 5, 5, None]
    row = found(diff, "counters", "roce_0_rx_dropped_packets")
    assert (row["baseline"], row["new"]) == (0, 0)
    # AND so are those that were only stored
    assert found(diff, "counters", "aicore_freq")["unit"] == "MHz"
    assert found(diff, "counters", "hbm_read")["unit"] == "GB/s"


def slower_transfer(
    tmp_path: Path, *, dropped: tuple[float, float], transport: str = "RDMA", links: bool = True
) -> Diff:
    """Ranks 0 and 1 whose all-reduce takes 10 ms, then 30; packets that rank 1 dropped while profiled."""
    paths = []
    for label, ns, packets in (("old", 10 * MS, dropped[0]), ("new", 30 * MS, dropped[1])):
        store = RollupStore(tmp_path / f"{label}.duckdb")
        for rank in (0, 1):
            store.capture(rank, rank).step(1, rank).time(1, 50 * MS, rank, comm=ns, exposed=ns)
            store.collective(1, "all_reduce", 0, 0, ns, rank, size_bytes=1000)
            counted = packets if rank == 1 else 0
            for name, most in (("roce_0_rx_dropped_packets", counted), ("roce_0_rx_bytes_per_s", 5e9)):
                store.add("r_counter", capture=rank, device_id=0, name=name, samples=2, mean=most / 2, min=0, max=most)
            if links:
                for source, target in ((0, 1), (1, 0)):
                    slow = ns if (source, target) == (0, 1) else 10 * MS
                    store.add("r_link", capture=rank, step=1, kind="total", group_key="0,1", src_rank=source,
                              dst_rank=target, transport=transport, size_bytes=10**8, transit_ns=slow)  # fmt: skip
        paths.append(store.done())
    return compared(*paths)


PACKETS = "; rank 1 dropped 35 packets while it was profiled, none before"


def test_packets_that_the_end_of_a_slow_link_dropped(tmp_path: Path) -> None:
    (first, *_) = slower_transfer(tmp_path, dropped=(0, 35)).causes
    assert f"; link 0→1 moves 10.0 → 3.3 GB/s{PACKETS}." in first.text
    assert first.facts == ({"name": "roce_0_rx_dropped_packets rank 1", "baseline": 0, "new": 35},)


def test_packets_are_told_without_a_link(tmp_path: Path) -> None:
    (first, *_) = slower_transfer(tmp_path, dropped=(0, 35), links=False).causes
    assert PACKETS in first.text


@pytest.mark.parametrize(
    ("dropped", "transport"),
    [((20, 35), "RDMA"), ((35, 0), "RDMA"), ((0, 0), "RDMA"), ((0, 35), "SDMA")],
    ids=["before, too", "only before", "none", "no network"],
)
def test_packets_that_do_not_fit_are_not_told(tmp_path: Path, dropped: tuple[float, float], transport: str) -> None:
    (first, *_) = slower_transfer(tmp_path, dropped=dropped, transport=transport).causes
    assert first.what == "communication"
    assert "packets" not in first.text
    assert first.facts == ()


def test_a_number_is_not_said_twice(tmp_path: Path) -> None:
    """All of the collective's time is exposed."""
    (first, *_) = slower_transfer(tmp_path, dropped=(0, 0), links=False).causes
    assert first.text.count("20.00 ms") == 1
    assert "(all of it exposed)" in first.text
