"""Tables that lost rows of which another table of the profile still tells: their time counts, nothing is explained."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from math import fsum
from pathlib import Path

import pytest

from rlcompare.compare import rows as of_sections
from rlcompare.model.diff import Diff
from tests.sources import torch_traces
from tests.sources.nsys_exports import training_step
from tests.sql.rollup_stores import compared, values
from tests.stores import rows, store_of

INPUTS = Path(__file__).parents[2] / "golden" / "inputs"
DATABASE, TEXT = "verl_default", "text_level1"

TIMES = "SELECT list((compute_ns, comm_ns, exposed_comm_ns, free_ns, device_span_ns) ORDER BY step) FROM r_time"
CALLS = "SELECT sum(calls) FROM r_kernel"


@pytest.fixture
def of(tmp_path: Path) -> Callable[[str], Path]:
    """A private copy of a sample."""
    return lambda name: shutil.copytree(INPUTS / name, tmp_path / name)


@contextmanager
def edited(profile: Path) -> Iterator[sqlite3.Connection]:
    (database,) = profile.rglob("ascend_pytorch_profiler_*.db")
    with closing(sqlite3.connect(database)) as con:
        yield con
        con.commit()


def details_of(profile: Path) -> Path:
    (path,) = profile.rglob("kernel_details.csv")
    return path


def cut(profile: Path) -> None:
    """Leaves the first two thirds of kernel_details.csv."""
    path = details_of(profile)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) * 2 // 3]), encoding="utf-8")


def set_cells(profile: Path, every: int, **values: str) -> None:
    """Sets cells of some kernels, by column."""
    path = details_of(profile)
    with path.open(encoding="utf-8", newline="") as handle:
        header, *lines = csv.reader(handle)
    core = header.index("Accelerator Core")
    for line in [line for line in lines if line[core] not in ("HCCL", "COMMUNICATION")][::every]:
        for column, value in values.items():
            line[header.index(column)] = value
    with path.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows([header, *lines])


def round_starts(profile: Path, every: int) -> None:
    """Start times of some kernels as a spreadsheet saves them."""
    set_cells(profile, every, **{"Start Time(us)": "1.69512E+15"})


def without_trace(profile: Path) -> None:
    for path in profile.rglob("trace_view.json"):
        path.unlink()


def lost(store: Path) -> dict[str, str]:
    return dict(rows(store, "SELECT key, message FROM finding WHERE starts_with(key, 'lost_')"))


def is_unexplained(diff: Diff) -> bool:
    """Whether the change has no cause, since rows are lost."""
    (found,) = [finding for finding in diff.comparability.findings if finding.key == "rows"]
    assert found.severity == "caution"
    assert diff.unexplained is not None and diff.unexplained.share == 1.0
    return not diff.causes


# --- databases ------------------------------------------------------------------------------------------------------


def without_names(con: sqlite3.Connection) -> None:
    con.execute("DELETE FROM COMPUTE_TASK_INFO WHERE rowid % 2 = 0")


@pytest.mark.slow
def test_kernels_that_only_task_has_keep_their_time(of: Callable[[str], Path], tmp_path: Path) -> None:
    # GIVEN a profile, and the same without every second row of COMPUTE_TASK_INFO
    profile = of(f"{DATABASE}_baseline")
    before = store_of(profile, tmp_path / "a.duckdb")
    with edited(profile) as con:
        without_names(con)
        (left,) = con.execute("SELECT count(*) FROM COMPUTE_TASK_INFO").fetchone()
        types = "SELECT id FROM STRING_IDS WHERE value = 'STARS_COMMON'"  # is no kernel's type alone
        con.execute(
            f"DELETE FROM COMPUTE_TASK_INFO WHERE globalTaskId IN"
            f" (SELECT globalTaskId FROM TASK WHERE taskType IN ({types}))"
        )
    # WHEN both are read
    store = store_of(profile, tmp_path / "b.duckdb")
    # THEN all times but of two random numbers are the same, and what is missing is said
    (calls,), (named,) = rows(store, CALLS)[0], rows(store, "SELECT count(name) FROM kernel")[0]
    assert calls == rows(before, CALLS)[0][0] - 2
    assert named in (left, left - 1, left - 2)
    (spans,), (old,) = rows(store, TIMES)[0], rows(before, TIMES)[0]
    assert spans[0][0] == pytest.approx(old[0][0], rel=0.01)
    assert spans[0][1] == old[0][1]
    assert f"{calls - named} of {calls} kernels are in TASK, but not in COMPUTE_TASK_INFO" in lost(store)["lost_names"]


@pytest.mark.slow
@pytest.mark.parametrize("side", ["baseline", "new"])
def test_kernels_without_rows_are_no_other_work(of: Callable[[str], Path], tmp_path: Path, side: str) -> None:
    # GIVEN two runs of which the new one is slower, and one of them lost rows
    profiles = {name: of(f"{DATABASE}_{name}") for name in ("baseline", "new")}
    with edited(profiles[side]) as con:
        without_names(con)
    baseline, new = (store_of(profiles[name], tmp_path / f"{name}.duckdb") for name in ("baseline", "new"))
    # WHEN they are compared
    diff = compared(baseline, new)
    # THEN the change has no cause, and the amounts of work are unknown
    assert is_unexplained(diff)
    assert not [
        delta
        for delta in diff.overall
        if delta.metric in ("workload.kernels", "workload.input_elements") and delta.delta
    ]
    # AND kernels without a name are a row of their own: the table sums to the computation
    for name, column in (("kernels", "new_busy_ms"), ("kernel_types", "new")):
        total = fsum(of_sections.number(row[column]) or 0.0 for row in diff.sections[name].rows)
        assert total == pytest.approx(values(diff, "time.compute")[1], rel=0.01)
    (row,) = [row for row in diff.sections["kernel_types"].rows if row["name"] == "(unknown)"]
    assert of_sections.number(row[f"{side}_calls"])


@pytest.mark.slow
def test_kernels_without_a_task_are_said_to_be_left_out(of: Callable[[str], Path], tmp_path: Path) -> None:
    profiles = {name: of(f"{DATABASE}_{name}") for name in ("baseline", "new")}
    with edited(profiles["baseline"]) as con:
        con.execute(
            "DELETE FROM TASK WHERE globalTaskId IN (SELECT globalTaskId FROM COMPUTE_TASK_INFO WHERE rowid % 2 = 0)"
        )
    baseline, new = (store_of(profiles[name], tmp_path / f"{name}.duckdb") for name in ("baseline", "new"))
    assert "kernels in COMPUTE_TASK_INFO have no usable time in TASK, or no device," in lost(baseline)["lost_kernels"]
    assert is_unexplained(compared(baseline, new))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "key"),
    [
        ("DELETE FROM STRING_IDS WHERE value LIKE '%MatMul%'", "lost_names"),
        ("UPDATE COMPUTE_TASK_INFO SET opType = 987654321 WHERE rowid % 7 = 0", "lost_names"),
        ("UPDATE COMPUTE_TASK_INFO SET inputShapes = 987654321 WHERE rowid % 7 = 0", "lost_names"),
        ("ALTER TABLE STRING_IDS RENAME COLUMN value TO text", "lost_names"),
        ("UPDATE COMMUNICATION_OP SET opName = 987654321 WHERE rowid = 1", "lost_collectives"),
        ("UPDATE COMMUNICATION_OP SET groupName = 987654321 WHERE rowid = 1", "lost_collectives"),
    ],
)
def test_what_lost_its_text_is_no_other_work(of: Callable[[str], Path], tmp_path: Path, damage: str, key: str) -> None:
    profile = of(f"{DATABASE}_new")
    with edited(profile) as con:
        con.execute(damage)
    store = store_of(profile, tmp_path / "new.duckdb")
    assert "refer to a string that is missing in STRING_IDS" in lost(store)[key]
    assert is_unexplained(compared(store_of(INPUTS / f"{DATABASE}_baseline", tmp_path / "baseline.duckdb"), store))


@pytest.mark.slow
def test_a_rare_text_that_is_missing_leaves_the_causes(of: Callable[[str], Path], tmp_path: Path) -> None:
    """1 of 1,000 kernels is no reason to explain nothing."""
    profile = of(f"{DATABASE}_new")
    with edited(profile) as con:
        columns = "name, opType, inputShapes, inputDataTypes, taskType"
        con.execute(
            f"INSERT INTO COMPUTE_TASK_INFO (globalTaskId, {columns})"
            f" WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
            f" SELECT 5000000 + i, {columns} FROM n, (SELECT * FROM COMPUTE_TASK_INFO LIMIT 1)"
        )
        con.execute(
            "INSERT INTO TASK (globalTaskId, startNs, endNs, deviceId, streamId, taskType)"
            " SELECT i.globalTaskId, t.startNs, t.startNs + 1, t.deviceId, 9000, t.taskType"
            " FROM COMPUTE_TASK_INFO AS i, (SELECT * FROM TASK LIMIT 1) AS t WHERE i.globalTaskId > 5000000"
        )
        con.execute("UPDATE COMPUTE_TASK_INFO SET name = 987654321 WHERE globalTaskId = 5000001")
    store = store_of(profile, tmp_path / "new.duckdb")
    assert lost(store) == {}
    assert rows(store, "SELECT count(*) FROM finding WHERE key = 'unknown_string'") == [(1,)]


@pytest.mark.slow
def test_kernels_without_a_device_ran_on_the_only_one(of: Callable[[str], Path], tmp_path: Path) -> None:
    profile = of(f"{DATABASE}_baseline")
    before = rows(store_of(profile, tmp_path / "a.duckdb"), TIMES)
    with edited(profile) as con:
        con.execute("UPDATE TASK SET deviceId = NULL WHERE globalTaskId % 9 = 0")
    store = store_of(profile, tmp_path / "b.duckdb")
    assert (rows(store, TIMES), lost(store)) == (before, {})
    # AND of a process with two devices, nothing tells which one
    with edited(profile) as con:
        con.execute("INSERT INTO NPU_INFO (id, name) VALUES (77, 'Ascend910B')")
    assert "or no device, and were left out" in lost(store_of(profile, tmp_path / "c.duckdb"))["lost_kernels"]


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["DELETE FROM COMMUNICATION_OP", "UPDATE COMMUNICATION_OP SET endNs = 'late'"])
def test_collectives_that_only_have_tasks_keep_their_time(
    of: Callable[[str], Path], tmp_path: Path, damage: str
) -> None:
    profile = of(f"{DATABASE}_baseline")
    before = rows(store_of(profile, tmp_path / "a.duckdb"), TIMES)
    with edited(profile) as con:
        con.execute(damage)
    store = store_of(profile, tmp_path / "b.duckdb")
    assert rows(store, TIMES) == before
    assert "5 of 5 collectives have tasks, but no usable row in COMMUNICATION_OP" in lost(store)["lost_collectives"]
    assert not rows(store, "FROM finding WHERE key = 'damaged_time'")
    assert is_unexplained(compared(store, store_of(INPUTS / f"{DATABASE}_new", tmp_path / "new.duckdb")))


@pytest.mark.slow
def test_no_real_profile_lost_rows(profiles: Path, tmp_path: Path) -> None:
    folders = {
        path.parent for name in ("kernel_details.csv", "ascend_pytorch_profiler_*.db") for path in profiles.rglob(name)
    }
    folders = {folder for folder in folders if folder.name == "ASCEND_PROFILER_OUTPUT"}
    assert len(folders) == 10
    for number, folder in enumerate(sorted(folders)):
        assert lost(store_of(folder.parent, tmp_path / f"{number}.duckdb")) == {}, folder


# --- text files -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("damage", [cut, lambda profile: round_starts(profile, 3)], ids=["cut", "starts"])
def test_kernels_that_only_the_trace_has_keep_their_time(
    of: Callable[[str], Path], tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    # GIVEN a profile whose kernel_details.csv is damaged
    profile = of(f"{TEXT}_baseline")
    before = store_of(profile, tmp_path / "a.duckdb")
    damage(profile)
    # WHEN it is read
    store = store_of(profile, tmp_path / "b.duckdb")
    # THEN the trace tells all times, each in its step, and no cause is named
    assert rows(store, TIMES) == rows(before, TIMES)
    assert rows(store, CALLS) == rows(before, CALLS)
    steps = "SELECT step, count(*) FROM kernel GROUP BY step ORDER BY step"
    assert rows(store, steps) == rows(before, steps)
    assert "kernels of trace_view.json have no usable row" in lost(store)["lost_names"]
    assert is_unexplained(compared(store, store_of(INPUTS / f"{TEXT}_new", tmp_path / "new.duckdb")))


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "is_lost"), [({"Name": "", "Type": ""}, True), ({"Name": ""}, False)])
def test_kernels_of_neither_name_nor_type_are_no_other_work(
    of: Callable[[str], Path], tmp_path: Path, cells: dict[str, str], is_lost: bool
) -> None:
    profile = of(f"{TEXT}_new")
    set_cells(profile, 3, **cells)
    store = store_of(profile, tmp_path / "new.duckdb")
    assert ("have neither a name nor a type" in lost(store).get("lost_names", "")) == is_lost
    diff = compared(store_of(INPUTS / f"{TEXT}_baseline", tmp_path / "baseline.duckdb"), store)
    assert is_unexplained(diff) if is_lost else diff.causes


@pytest.mark.slow
def test_kernels_that_only_the_sums_count_are_said_to_be_missing(of: Callable[[str], Path], tmp_path: Path) -> None:
    profile = of(f"{TEXT}_baseline")
    without_trace(profile)
    whole = store_of(profile, tmp_path / "a.duckdb")
    assert lost(whole) == {}
    cut(profile)
    store = store_of(profile, tmp_path / "b.duckdb")
    assert f"op_statistic.csv counts {rows(whole, CALLS)[0][0]}" in lost(store)["lost_kernels"]


@pytest.mark.slow
def test_a_call_without_a_time_is_not_in_the_time_per_call(of: Callable[[str], Path], tmp_path: Path) -> None:
    # GIVEN a profile without a trace, in which every third kernel has no start
    profile = of(f"{TEXT}_baseline")
    without_trace(profile)
    round_starts(profile, 3)
    # WHEN it is read
    store = store_of(profile, tmp_path / "b.duckdb")
    # THEN the time per call of each kind of kernel is that of the others, and it is said
    mean = "SELECT op_type, sum(sum_ns) / sum(calls) FROM r_kernel GROUP BY op_type ORDER BY op_type"
    assert rows(store, mean) == rows(
        store,
        "SELECT op_type, avg(end_ns - start_ns) FROM kernel WHERE end_ns IS NOT NULL GROUP BY op_type ORDER BY op_type",
    )
    assert "kernels have no usable time and do not count" in lost(store)["lost_kernels"]
    assert is_unexplained(compared(store, store_of(INPUTS / f"{TEXT}_new", tmp_path / "new.duckdb")))


@pytest.mark.slow
def test_where_no_kernel_has_a_time_the_sums_count(of: Callable[[str], Path], tmp_path: Path) -> None:
    profile = of(f"{TEXT}_baseline")
    without_trace(profile)
    whole = store_of(profile, tmp_path / "a.duckdb")
    round_starts(profile, 1)
    store = store_of(profile, tmp_path / "b.duckdb")
    assert rows(store, CALLS) == rows(whole, CALLS)
    assert rows(store, "SELECT DISTINCT compute_ns FROM r_time") == [(None,)]


def kernels_of_a_trace(*, broken: int = 0, wrong: float = -5.0) -> list[torch_traces.Event]:
    """40 kernels of 1 ms, one every 2 ms; of the last ones, a duration or a start is wrong."""
    events = []
    for number in range(40):
        launch = torch_traces.launch(number, 2000.0 * number)
        is_broken = number >= 40 - broken
        length = wrong if is_broken and wrong < 0 else 1000.0
        start = wrong if is_broken and wrong > 0 else 2000.0 * number + 100
        events += [launch, torch_traces.kernel(number, start, length)]
    return events


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [pytest.param(-5.0, id="duration"), pytest.param(9e13, id="start, in 2 years")])
def test_kernels_of_a_torch_trace_without_a_usable_time_are_not_less_work(tmp_path: Path, wrong: float) -> None:
    sides = []
    for name, broken in (("sound", 0), ("broken", 15)):
        path = torch_traces.write(
            tmp_path / name / "a.json", torch_traces.trace(*kernels_of_a_trace(broken=broken, wrong=wrong))
        )
        sides.append(store_of(path.parent, tmp_path / f"{name}.duckdb"))
    assert rows(sides[1], CALLS) == [(25,)]
    assert "no causes are named" in lost(sides[1])["lost_kernels"]
    assert is_unexplained(compared(*sides))
    assert lost(sides[0]) == {}


def test_several_processes_of_one_trace_are_no_loss(tmp_path: Path) -> None:
    operators = [torch_traces.op("aten::mm", 3000.0 * number, 1000) for number in range(3)]
    kernels = kernels_of_a_trace()
    sides = []
    for name, others in (("one", 1), ("several", 2)):
        pids = (1, others, others)
        events = [*kernels, *({**event, "pid": pid} for event, pid in zip(operators, pids, strict=True))]
        path = torch_traces.write(tmp_path / name / "a.json", torch_traces.trace(*events))
        sides.append(store_of(path.parent, tmp_path / f"{name}.duckdb"))
    diff = compared(*sides)
    found = {finding.key: finding for finding in diff.comparability.findings}
    assert "rows" not in found
    assert (found["processes"].baseline, found["processes"].new) == ("one per trace", "several in a trace")
    assert "A trace of the new side holds several processes" in found["processes"].message
    assert not diff.causes
    assert "lost" not in diff.sections["kernels"].note


@pytest.mark.slow
def test_the_rest_of_a_cut_trace_is_not_less_work(tmp_path: Path) -> None:
    whole = json.dumps(torch_traces.trace(*kernels_of_a_trace()))
    sides = []
    for name, text in (("whole", whole), ("cut", whole[: len(whole) * 2 // 3])):
        path = torch_traces.write(tmp_path / name / "a.json", text)
        sides.append(store_of(path.parent, tmp_path / f"{name}.duckdb"))
    assert is_unexplained(compared(*sides))


@pytest.mark.slow
def test_kernels_of_nsys_without_a_usable_time_are_not_less_work(tmp_path: Path) -> None:
    sides = []
    for name, length in (("sound", 400_000), ("broken", -1)):
        export = training_step()
        for number in range(10):
            export.kernel("void gemm<bf16>", 15_000_000 + number * 500_000, length)
        sides.append(store_of(export.write(tmp_path / f"{name}.sqlite"), tmp_path / f"{name}.duckdb"))
    assert "10 of 16 tasks have no usable time" in lost(sides[1])["lost_kernels"]
    assert "rows" in {finding.key for finding in compared(*sides).comparability.findings}
