"""Databases that are damaged, unusual, or open in other tools: readable data is used, the input stays unchanged."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from rlcompare.errors import InputError
from tests.stores import rows, store_of

FACTS = """
    SELECT (SELECT count(*) FROM kernel), (SELECT count(*) FROM collective), (SELECT count(*) FROM host_op),
           (SELECT list((compute_ns, comm_ns, exposed_comm_ns, free_ns, step_ns) ORDER BY step) FROM r_time)
"""


@pytest.fixture
def profile(ascend_910b: Path, tmp_path: Path) -> Path:
    """A private, writable copy of a real profile's folder."""
    source = ascend_910b / "db" / "level1" / "rank0_ascend_pt"
    target = tmp_path / "rank0_ascend_pt"
    for path in source.rglob("*"):
        if path.is_file():
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    return target


@contextmanager
def edited(profile: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(database_of(profile))) as con:
        yield con
        con.commit()


def database_of(profile: Path) -> Path:
    return profile / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db"


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def findings(store: Path) -> dict[str, str]:
    return dict(rows(store, "SELECT key, message FROM finding"))


@pytest.mark.slow
def test_a_database_that_insight_opened_gives_the_same_numbers(profile: Path, tmp_path: Path) -> None:
    # GIVEN a pristine profile's numbers
    before = rows(store_of(profile, tmp_path / "a.duckdb"), FACTS)
    # WHEN MindStudio Insight has added its columns and tables and left the database in WAL mode
    with edited(profile) as con:
        con.execute("PRAGMA journal_mode = WAL")
        for table in ("TASK", "CANN_API", "PYTORCH_API"):
            con.execute(f"ALTER TABLE {table} ADD COLUMN depth INTEGER")
        con.execute("ALTER TABLE COMPUTE_TASK_INFO ADD COLUMN waitNs INTEGER")
        con.execute("ALTER TABLE COMMUNICATION_OP ADD COLUMN waitNs INTEGER")
        con.execute("CREATE TABLE OVERLAP_ANALYSIS (id INTEGER PRIMARY KEY AUTOINCREMENT, deviceId, startNs, endNs)")
        con.execute("CREATE TABLE connectionCats (connectionId, cat)")
        con.execute("CREATE TABLE status_info (a, b)")
    found = listing(profile)
    # THEN the numbers are the same, and nothing was written beside it
    assert rows(store_of(profile, tmp_path / "b.duckdb"), FACTS) == before
    assert listing(profile) == found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ascend_pytorch_profiler_0.db", "analysis.db"])
@pytest.mark.parametrize("versions", [b"\x03\x02", b"\x01\x02", b"\x02\x01", b"\x00\x00", b"\xff\xff"])
def test_odd_versions_in_the_header_write_nothing(profile: Path, tmp_path: Path, name: str, versions: bytes) -> None:
    """The read version alone decides whether SQLite opens a log beside a database."""
    (path,) = profile.rglob(name)
    content = path.read_bytes()
    path.write_bytes(content[:18] + versions + content[20:])
    found = listing(profile)
    with suppress(InputError):
        store_of(profile, tmp_path / "a.duckdb")
    assert listing(profile) == found


@pytest.mark.slow
def test_rows_that_are_still_in_the_write_ahead_log_count(profile: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(database_of(profile))) as con:
        con.execute("PRAGMA journal_mode = WAL")
        con.execute("PRAGMA wal_autocheckpoint = 0")
        con.execute("INSERT INTO STEP_TIME VALUES (51, 1736410576538298461, 1736410576538298462)")
        con.commit()
        found = listing(profile)
        store = store_of(profile, tmp_path / "a.duckdb")
        assert listing(profile) == found
    assert rows(store, "SELECT step FROM step ORDER BY step") == [(50,), (51,)]


@pytest.mark.slow
def test_a_log_counts_for_its_own_database_alone(ascend_910b: Path, tmp_path: Path) -> None:
    # GIVEN the ranks of a run, whose analysis.db were opened in other tools; only that of rank 0 still has a log
    folder = tmp_path / "run"
    shutil.copytree(ascend_910b / "db" / "level1", folder, copy_function=shutil.copyfile)
    analyses = [folder / f"rank{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "analysis.db" for rank in (0, 1)]
    for path in analyses:
        with closing(sqlite3.connect(path)) as con:
            con.execute("PRAGMA journal_mode = WAL")
    with closing(sqlite3.connect(analyses[0])) as con:
        con.execute("PRAGMA wal_autocheckpoint = 0")
        con.execute("UPDATE StepTraceTime SET computing = 12")
        con.commit()
        # WHEN they are read
        store = store_of(folder, tmp_path / "a.duckdb")
    # THEN each has its own times
    with closing(sqlite3.connect(analyses[1])) as con:
        ((computing,),) = con.execute("SELECT computing FROM StepTraceTime").fetchall()
    ours = rows(store, "SELECT capture, compute_ns FROM reported_step_time ORDER BY capture")
    assert ours == [(0, 12_000), (1, round(computing * 1000))]


def test_a_truncated_database_names_the_file(profile: Path, tmp_path: Path) -> None:
    path = database_of(profile)
    path.write_bytes(path.read_bytes()[: 4096 * 3])
    with pytest.raises(InputError, match=path.name) as caught:
        store_of(profile, tmp_path / "a.duckdb")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.glob("*.duckdb*")) == []


@pytest.mark.slow
def test_a_database_with_a_damaged_page_gives_what_is_left(profile: Path, tmp_path: Path) -> None:
    # GIVEN a database in which the pages of one table are overwritten
    path = database_of(profile)
    with closing(sqlite3.connect(path)) as con:
        (page,) = con.execute("SELECT rootpage FROM sqlite_master WHERE name = 'COMMUNICATION_OP'").fetchone()
    content = bytearray(path.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    path.write_bytes(content)
    # WHEN it is read
    store = store_of(profile, tmp_path / "a.duckdb")
    # THEN only that table is lost, and that is said; the collectives' tasks tell their times
    assert "without COMMUNICATION_OP" in findings(store)["damaged_database"]
    assert rows(store, "SELECT (SELECT count(*) FROM kernel), (SELECT count(*) FROM collective)") == [(187, 4)]
    assert rows(store, "SELECT count(name) FROM collective") == [(0,)]


@pytest.mark.parametrize("leaf", [False, True])
def test_damage_in_one_table_while_others_have_no_rows(profile: Path, tmp_path: Path, leaf: bool) -> None:
    """What is skipped because of the one may still name what the other did not give."""
    with edited(profile) as con:
        con.execute("DELETE FROM CONNECTION_IDS")
        (page,) = con.execute("SELECT rootpage FROM sqlite_master WHERE name = 'PYTORCH_API'").fetchone()
        (size,) = con.execute("PRAGMA page_size").fetchone()
    with database_of(profile).open("r+b") as file:
        if leaf:  # the last one, to which the root page points
            file.seek((page - 1) * size + 8)
            page = int.from_bytes(file.read(4), "big")
        file.seek((page - 1) * size)
        file.write(b"\xff" * 64)
    store = store_of(profile, tmp_path / "run.duckdb")
    assert "the readable part is used, without framework" in findings(store)["damaged_database"]
    assert rows(store, "SELECT count(*) > 0 FROM r_api") == [(True,)]
    assert rows(store, "SELECT count(*) FROM kernel") == [(187,)]


def test_a_locked_database_says_so(profile: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(database_of(profile), isolation_level=None)) as con:
        con.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InputError, match="locked"):
            store_of(profile, tmp_path / "a.duckdb")


def test_a_database_without_usable_tables(profile: Path, tmp_path: Path) -> None:
    database_of(profile).unlink()
    with edited(profile) as con:
        con.execute("CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT)")
    (profile / "ASCEND_PROFILER_OUTPUT" / "analysis.db").unlink()
    with pytest.raises(InputError):
        store_of(profile, tmp_path / "a.duckdb")


@pytest.mark.slow
def test_a_kernel_whose_text_is_unknown_still_counts(profile: Path, tmp_path: Path) -> None:
    with edited(profile) as con:
        first = "rowid = (SELECT min(rowid) FROM COMPUTE_TASK_INFO)"
        con.execute(f"UPDATE COMPUTE_TASK_INFO SET name = 99999999, opType = 99999999 WHERE {first}")
    store = store_of(profile, tmp_path / "a.duckdb")
    assert rows(store, "SELECT count(*), count(name) FROM kernel") == [(187, 186)]
    assert "1 of 187 kernels refer to a string" in findings(store)["lost_names"]


@pytest.mark.slow
@pytest.mark.parametrize("value", ["CAST(x'ff00fe' AS TEXT)", "x'ff00fe'", "CAST(x'616263e4' AS TEXT)", "x'616263e4'"])
def test_a_text_that_is_no_utf8_costs_that_text_alone(profile: Path, tmp_path: Path, value: str) -> None:
    with edited(profile) as con:
        con.execute(f"UPDATE STRING_IDS SET value = {value} WHERE id = (SELECT min(opType) FROM COMPUTE_TASK_INFO)")
    store = store_of(profile, tmp_path / "a.duckdb")
    assert rows(store, "SELECT count(*) FROM kernel") == [(187,)]
    assert rows(store, "SELECT count(DISTINCT op_type) > 5 FROM kernel") == [(True,)]
    assert "not valid UTF-8" in findings(store)["undecodable_text"]


def test_an_empty_table_leaves_the_rest(profile: Path, tmp_path: Path) -> None:
    with edited(profile) as con:
        con.execute("DELETE FROM COMMUNICATION_OP")
        con.execute("DELETE FROM STRING_IDS")
    store = store_of(profile, tmp_path / "a.duckdb")
    assert rows(store, "SELECT count(*) FROM kernel") == [(187,)]
    assert rows(store, "SELECT comm_ns, compute_ns FROM r_time") == [(102108100, 8903431)]


@pytest.mark.slow
def test_a_value_of_the_wrong_type_is_absent_and_its_neighbours_stay(profile: Path, tmp_path: Path) -> None:
    with edited(profile) as con:
        first = "globalTaskId = (SELECT min(globalTaskId) FROM COMPUTE_TASK_INFO)"
        con.execute(f"UPDATE TASK SET startNs = 'soon' WHERE {first}")
        con.execute("UPDATE MEMORY_RECORD SET totalReserved = 'NaN' WHERE rowid = 1")
    store = store_of(profile, tmp_path / "a.duckdb")
    assert rows(store, "SELECT count(*) FROM kernel") == [(186,)]
    assert "1 device tasks have no usable time" in findings(store)["damaged_time"]
    assert rows(store, "SELECT peak_reserved_bytes FROM r_memory WHERE component = 'PTA'") == [(1522532352,)]


@pytest.mark.slow
def test_hostile_and_huge_names_are_only_data(profile: Path, tmp_path: Path) -> None:
    hostile = "'; DROP TABLE kernel; --</script>\x1b[31m\n=cmd()"
    with edited(profile) as con:
        rename = "UPDATE STRING_IDS SET value = ? WHERE id = "
        con.execute(f"{rename} (SELECT name FROM COMPUTE_TASK_INFO LIMIT 1)", [hostile])
        con.execute(f"{rename} (SELECT max(opType) FROM COMPUTE_TASK_INFO)", ["x" * 1_000_000])
    store = store_of(profile, tmp_path / "a.duckdb")
    assert rows(store, "SELECT count(*) > 0 FROM kernel WHERE name = ?", [hostile]) == [(True,)]
    assert rows(store, "SELECT max(length(op_type)) FROM kernel") == [(10_000,)]
    assert "10,000 characters" in findings(store)["shortened_text"]


@pytest.mark.slow
def test_the_environment_dump_is_not_stored(profile: Path, tmp_path: Path) -> None:
    with edited(profile) as con:
        dump = '{"WANDB_API_KEY": "local-0123456789abcdef", "ASCEND_GLOBAL_LOG_LEVEL": "3"}'
        con.execute("UPDATE META_DATA SET value = ? WHERE name = 'ENV_VARIABLES'", [dump])
    store = store_of(profile, tmp_path / "a.duckdb")
    assert b"0123456789abcdef" not in store.read_bytes()
    assert rows(store, "SELECT value FROM env WHERE key = 'env.ASCEND_GLOBAL_LOG_LEVEL'") == [("3",)]


@pytest.mark.slow
def test_only_what_a_diff_reads_is_kept_without_events(profile: Path, tmp_path: Path) -> None:
    kept = store_of(profile, tmp_path / "a.duckdb", keep_events=True)
    slim = store_of(profile, tmp_path / "b.duckdb", keep_events=False)
    tables = [name for (name,) in rows(slim, "SELECT table_name FROM duckdb_tables() ORDER BY ALL")]
    assert "kernel" not in tables
    for table in (name for name in tables if name.startswith("r_")):
        query = f"SELECT * FROM {table} ORDER BY ALL"
        assert rows(slim, query) == rows(kept, query)


ODD_VALUES = {
    "a time near the least number": "UPDATE TASK SET startNs = -9223372036854775807, endNs = -9223372036854775806",
    "a time near the largest number": "UPDATE TASK SET startNs = 9223372036854775806, endNs = 9223372036854775807",
    "a device of 2^31": "UPDATE TASK SET deviceId = 2147483648",
    "a step near the least number": "UPDATE STEP_TIME SET startNs = -9223372036854775807",
    "an event near the least number": "UPDATE PYTORCH_API SET startNs = '-9223372036854775807'",
    "a call near the least number": "UPDATE CANN_API SET endNs = -9223372036854775807",
    "a count of elements that overflows": "UPDATE COMMUNICATION_OP SET count = 9223372036854775807",
    "a chip of 2^31": "UPDATE NPU_INFO SET id = 2147483648",
    "a host that is no UTF-8": "UPDATE HOST_INFO SET hostName = CAST(x'616263e4' AS TEXT)",
    "a setting that is no UTF-8": "UPDATE META_DATA SET value = CAST(x'616263e4' AS TEXT)",
    "an enumeration that is no UTF-8": "UPDATE ENUM_HCCL_DATA_TYPE SET name = CAST(x'616263e4' AS TEXT)",
}


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize("edit", ODD_VALUES.values(), ids=ODD_VALUES)
def test_an_odd_value_costs_itself_alone(profile: Path, tmp_path: Path, edit: str) -> None:
    # GIVEN one odd value in one row
    table = edit.split()[1]
    with edited(profile) as con:
        changed = con.execute(f"{edit} WHERE rowid = (SELECT max(rowid) FROM {table})").rowcount
        assert changed == 1
    # WHEN it is read, THEN all that does not depend on that row is there
    store = store_of(profile, tmp_path / "a.duckdb")
    assert rows(store, "SELECT count(*) >= 186 FROM kernel") == [(True,)]
    assert "damaged_database" not in findings(store)


@pytest.mark.slow
@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE StepTraceTime SET computing = 1e155, free = -1e300",
        "UPDATE StepTraceTime SET step = CAST(x'616263e4' AS TEXT)",
        "UPDATE CommAnalyzerMatrix SET transit_size = 1e155, group_name = CAST(x'616263e4' AS TEXT)",
    ],
)
def test_an_odd_value_in_what_was_reported(profile: Path, tmp_path: Path, edit: str) -> None:
    with closing(sqlite3.connect(profile / "ASCEND_PROFILER_OUTPUT" / "analysis.db")) as con:
        assert con.execute(edit).rowcount
        con.commit()
    store = store_of(profile, tmp_path / "a.duckdb")
    assert rows(store, "SELECT count(*) FROM kernel") == [(187,)]
    assert rows(store, "SELECT count(*) FROM reported_step_time") == [(1,)]


@pytest.mark.slow
def test_a_transfer_faster_than_any_link_has_no_size(profile: Path, tmp_path: Path) -> None:
    """Found by fuzzing: 1,000,000 MB more in a transfer of microseconds were 6,895,880 GB/s."""
    with closing(sqlite3.connect(profile / "ASCEND_PROFILER_OUTPUT" / "analysis.db")) as con:
        con.execute("UPDATE CommAnalyzerMatrix SET transit_size = transit_size + 1e6 WHERE transit_time > 0")
        con.commit()
    store = store_of(profile, tmp_path / "a.duckdb")
    assert rows(store, "SELECT count(*) FROM r_link WHERE size_bytes / transit_ns > 1e6") == [(0,)]
    assert "damaged_value" in findings(store)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ascend_pytorch_profiler_0.db", "analysis.db"])
def test_a_column_whose_name_is_no_utf8_costs_that_table_at_most(profile: Path, tmp_path: Path, name: str) -> None:
    table = "NPU_MEM" if name != "analysis.db" else "StepTraceTime"
    path = profile / "ASCEND_PROFILER_OUTPUT" / name
    with closing(sqlite3.connect(path)) as con:
        con.execute(f"ALTER TABLE {table} ADD COLUMN markmark INTEGER")
        con.commit()
    path.write_bytes(path.read_bytes().replace(b"markmark", b"mark\xe4\xff\xfe\xe4"))
    store = store_of(profile, tmp_path / "a.duckdb")
    assert rows(store, "SELECT count(*) FROM kernel") == [(187,)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "tables", [["TASK"], ["TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "COMMUNICATION_TASK_INFO"]]
)
def test_rows_that_stand_several_times_count_once(profile: Path, tmp_path: Path, tables: list[str]) -> None:
    # GIVEN a profile, and the same with each row of some tables four times
    facts = f"""
        SELECT *, (SELECT list(sum_ns ORDER BY kind, name) FROM r_collective_task),
               (SELECT list(transit_ns ORDER BY start_ns) FROM collective), (SELECT sum(device_span_ns) FROM r_time)
        FROM ({FACTS})"""
    before = rows(store_of(profile, tmp_path / "a.duckdb"), facts)
    with edited(profile) as con:
        for table in tables * 2:
            con.execute(f"CREATE TABLE copied AS SELECT * FROM {table}")
            con.execute(f"DROP TABLE {table}")
            con.execute(f"CREATE TABLE {table} AS SELECT * FROM copied UNION ALL SELECT * FROM copied")
            con.execute("DROP TABLE copied")
    # THEN all numbers are the same, and it is said
    store = store_of(profile, tmp_path / "b.duckdb")
    assert rows(store, facts) == before
    assert "repeated_rows" in findings(store)


def test_a_step_that_ends_before_it_begins_is_not_measured(profile: Path, tmp_path: Path) -> None:
    with edited(profile) as con:
        (step,) = con.execute("SELECT min(id) FROM STEP_TIME").fetchone()
        con.execute("UPDATE STEP_TIME SET startNs = endNs, endNs = endNs - 12370000 WHERE id = ?", [step])
        con.execute(
            "UPDATE COMMUNICATION_OP SET endNs = startNs - 1 WHERE opId = (SELECT min(opId) FROM COMMUNICATION_OP)"
        )

    store = store_of(profile, tmp_path / "s.duckdb")

    assert rows(store, f"SELECT start_ns, end_ns FROM step WHERE step = {step}") == [(None, None)]
    assert rows(store, f"SELECT step_ns FROM r_time WHERE step = {step} AND step_ns IS NOT NULL") == []
    assert rows(store, "SELECT count(*) FROM r_time WHERE step_ns < 0 OR comm_ns < 0") == [(0,)]
    messages = [message for (message,) in rows(store, "SELECT message FROM finding WHERE key = 'damaged_time'")]
    assert any(f"time.step is not measured in step {step} (-12.370 ms by its marks)" in text for text in messages)
    assert any("1 collectives have no usable time" in text for text in messages)


def test_two_peaks_at_one_time_count_both(profile: Path, tmp_path: Path) -> None:
    """GIVEN two records of one time, the one with most memory allocated and the other with most reserved."""
    with edited(profile) as con:
        con.execute("CREATE TEMP TABLE found AS SELECT * FROM MEMORY_RECORD WHERE totalAllocated > 0 LIMIT 1")
        for column in ("totalAllocated", "totalReserved"):
            con.execute("INSERT INTO MEMORY_RECORD SELECT * FROM found")
            con.execute(f"UPDATE MEMORY_RECORD SET {column} = 1 << 40 WHERE rowid = last_insert_rowid()")

    peaks = "SELECT max(peak_allocated_bytes), max(peak_reserved_bytes) FROM r_memory WHERE component <> 'APP'"

    for keep_events in (True, False):
        store = store_of(profile, tmp_path / f"{keep_events}.duckdb", keep_events=keep_events)
        assert rows(store, peaks) == [(1 << 40, 1 << 40)]


def test_memory_below_0_is_not_measured(profile: Path, tmp_path: Path) -> None:
    with edited(profile) as con:
        con.execute("UPDATE MEMORY_RECORD SET totalAllocated = -1 - totalAllocated")

    store = store_of(profile, tmp_path / "s.duckdb")

    assert rows(store, "SELECT count(peak_allocated_bytes) FROM r_memory WHERE component <> 'APP'") == [(0,)]
    assert rows(store, "SELECT count(*) > 0 FROM r_memory WHERE peak_reserved_bytes > 0") == [(True,)]
    assert "below 0" in findings(store)["negative_memory"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("UPDATE AICORE_FREQ SET freq = 1.7e308", "aicore_freq_mhz"),
        ("UPDATE AICORE_FREQ SET freq = -1800", "aicore_freq_mhz"),
        ("UPDATE HBM SET bandwidth = 1.7e308", "hbm_read_bytes_per_s, hbm_write_bytes_per_s"),
        ("UPDATE LLC SET hitRate = 500", "llc_hit_percent"),
        ("UPDATE OP_MEMORY SET size = -size", "sizes of allocations"),
        ("UPDATE MEMORY_RECORD SET totalAllocated = 9000000000000000 WHERE rowid = 2", "levels of memory"),
    ],
)
def test_values_that_no_machine_can_have_are_left_out(profile: Path, tmp_path: Path, change: str, name: str) -> None:
    with edited(profile) as con:
        con.execute(change)
    store = store_of(profile, tmp_path / "s.duckdb")
    assert findings(store)["damaged_value"].endswith(f"because no machine can have them: {name}")
    ((odd,),) = rows(
        store,
        """
        SELECT (SELECT count(*) FROM r_counter WHERE mean NOT BETWEEN 0 AND 1e13 OR name LIKE '%percent' AND max > 100)
             + (SELECT count(*) FROM r_allocation WHERE size_bytes < 0 OR max_bytes < 0)
             + (SELECT count(*) FROM r_memory WHERE peak_allocated_bytes > 1e12)
        """,
    )
    assert odd == 0


def test_a_task_of_a_collective_of_minus_one_bytes_has_no_size(profile: Path, tmp_path: Path) -> None:
    with edited(profile) as con:
        con.execute("UPDATE COMMUNICATION_TASK_INFO SET size = -1")
    store = store_of(profile, tmp_path / "s.duckdb")
    assert rows(store, "SELECT count(size_bytes), count(*) > 0 FROM r_collective_task") == [(0, True)]
