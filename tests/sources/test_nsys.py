"""Exports of Nsight Systems: what is read of each generation, and of which process."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rlcompare.app.selection import select_runs
from rlcompare.errors import InputError, UsageError
from rlcompare.sources.detect import find_runs
from rlcompare.sources.peek import file_kind
from rlcompare.store.build import build_store
from tests.sources.nsys_exports import (
    DOMAIN,
    DTOH,
    EPOCH_NS,
    HTOD,
    MARK,
    PUSH_POP,
    START_END,
    Export,
    read,
    training_step,
)
from tests.stores import rows, store_of

GENERATIONS = pytest.mark.parametrize("generation", ["2020", "2025"])
MS = 1_000_000


def base(generation: str) -> int:
    return 0 if generation == "2020" else EPOCH_NS


@GENERATIONS
class TestEvents:
    def test_kernels(self, tmp_path: Path, generation: str) -> None:
        # GIVEN a kernel, a compiled one, and one that no call launched
        export = Export(generation)
        export.kernel("void gemm<float>(int)", 10_001, 2_003, launch=5_007)
        export.kernel("triton_poi_fused_add_3", 20_000, 100)
        export.write(tmp_path / "any.name.db")
        # WHEN it is read
        reading = read(tmp_path / "any.name.db")
        # THEN times are exact, counted from the session's start where it is known
        zero = base(generation)
        columns = "name, op_type, device_id, stream, start_ns, end_ns, launch_ns, cube"
        assert reading.rows(f"SELECT {columns} FROM stage_kernel ORDER BY start_ns") == [
            ("void gemm<float>(int)", "void gemm<float>(int)", 0, 7, zero + 10_001, zero + 12_004, zero + 5_007, True),
            (
                "triton_poi_fused_add_3",
                "triton_poi_fused_add",
                0,
                7,
                zero + 20_000,
                zero + 20_100,
                zero + 15_000,
                False,
            ),
        ]
        assert (
            reading.rows("SELECT layer, name, end_ns - start_ns FROM host_api")
            == [("runtime", "cudaLaunchKernel", 1000)] * 2
        )

    def test_copies(self, tmp_path: Path, generation: str) -> None:
        export = Export(generation)
        export.copy(HTOD, 10_000, 500, 4096)
        export.copy(DTOH, 20_000, 500, 8192)
        export.copy(99, 25_000, 500, 1)
        export.memset(30_000, 100, 64)
        reading = read(export.write(tmp_path / "x.sqlite"))
        assert reading.rows("SELECT kind, size_bytes, end_ns - start_ns FROM stage_copy ORDER BY start_ns") == [
            ("host_to_device", 4096, 500),
            ("device_to_host", 8192, 500),
            ("memcpy_async", 1, 500),
            ("memset", 64, 100),
        ]

    def test_ranges(self, tmp_path: Path, generation: str) -> None:
        # GIVEN ranges of threads and of the process, a mark, one that stayed open, in and outside of a domain
        export = Export(generation)
        export.nvtx("NCCL", 1, None, kind=DOMAIN, domain=3)
        export.nvtx("actor_update", 1000, 9000, kind=START_END)
        export.nvtx("ncclAllReduce", 2000, 3000, kind=PUSH_POP, domain=3, tid=7)
        export.nvtx("here", 2500, None, kind=MARK)
        export.nvtx("never closed", 4000, None)
        reading = read(export.write(tmp_path / "x.sqlite"))
        zero = base(generation)
        assert reading.rows('SELECT domain, name, kind, start_ns, end_ns FROM "range" ORDER BY start_ns') == [
            (None, "actor_update", "range", zero + 1000, zero + 9000),
            ("NCCL", "ncclAllReduce", "range", zero + 2000, zero + 3000),
            (None, "here", "mark", zero + 2500, zero + 2500),
            (None, "never closed", "mark", zero + 4000, zero + 4000),
        ]
        assert reading.rows("SELECT name FROM stage_phase ORDER BY start_ns") == [("actor_update",), ("ncclAllReduce",)]
        (said,) = reading.said("open_ranges")
        assert "1 ranges were still open" in said

    def test_collectives(self, tmp_path: Path, generation: str) -> None:
        # GIVEN NCCL's kernels: one that says what it does; one that a call around its launch explains; one that is
        # launched after its call, as in a group of one; one of a group of two; one after a call
        # of something else; one without any
        export = Export(generation)
        export.nvtx("NCCL", 1, None, kind=DOMAIN, domain=3)
        export.kernel("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)", 10_000, 100)
        export.nvtx("ncclAllGather", 14_000, 19_000, domain=3)
        export.kernel("ncclKernel_Generic(x)", 20_000, 100, launch=15_000)
        export.nvtx("ncclGroupStart", 30_000, 30_010, domain=3)
        export.nvtx("ncclAllReduce", 31_000, 32_000, domain=3, payload='{"Message size [bytes]": 4096, "Op": 0}')
        export.nvtx("ncclGroupEnd", 33_000, 36_000, domain=3)
        export.kernel("ncclDevKernel_AllReduce_Sum_f32_TREE_LL(x)", 40_000, 100, launch=35_000)
        export.nvtx("ncclSend", 41_000, 42_000, domain=3)
        export.nvtx("ncclRecv", 43_000, 44_000, domain=3)
        export.kernel("ncclDevKernel_SendRecv(x)", 50_000, 100, launch=45_000)
        export.nvtx("ncclReduceScatter", 51_000, 51_100, domain=3, payload='{"Message size [bytes]": 1}')
        export.kernel("ncclDevKernel_AllReduce_Sum_f32_TREE_LL(x)", 51_900, 10, launch=51_500)
        export.nvtx("ncclBroadcast", 52_000, 53_000)  # somebody's own range, outside of NCCL's domain
        export.kernel("ncclKernel_Generic(x)", 60_000, 100, launch=55_000)
        reading = read(export.write(tmp_path / "x.sqlite"))
        assert reading.rows("SELECT op_type, size_bytes FROM stage_collective ORDER BY start_ns") == [
            ("reducescatter", None),
            ("allgather", None),
            ("allreduce", None if generation == "2020" else 4096),
            ("batchsendrecv", None),
            ("allreduce", None),
            (None, None),
        ]
        assert reading.rows("SELECT count(*) FROM stage_kernel") == [(0,)]

    def test_graphs(self, tmp_path: Path, generation: str) -> None:
        export = Export(generation)
        export.graph(10_000, 700)
        export.graph(20_000, 800)
        reading = read(export.write(tmp_path / "x.sqlite"))
        assert reading.rows("SELECT name, sum(end_ns - start_ns) FROM stage_kernel GROUP BY name") == [
            ("CUDA graph", 1500)
        ]
        (said,) = reading.said("whole_graphs")
        assert "--cuda-graph-trace=node" in said

    def test_a_whole_run(self, tmp_path: Path, generation: str) -> None:
        # GIVEN two steps with phases
        path = training_step(generation).write(tmp_path / "run.sqlite")
        # WHEN a store is made of it
        store = store_of(path, tmp_path / "run.duckdb")
        # THEN steps, phases and times are those that were written
        assert rows(store, "SELECT step, end_ns - start_ns FROM step ORDER BY step") == [(0, 9 * MS), (1, 9 * MS)]
        assert rows(store, "SELECT role, name, end_ns - start_ns FROM phase WHERE step = 1 ORDER BY start_ns") == [
            ("rollout", "generate_sequences", 4 * MS),
            ("actor", "update_actor", 5 * MS),
        ]
        assert rows(
            store,
            "SELECT p.name, k.name FROM kernel k JOIN phase p ON p.id = k.phase WHERE k.step = 0 ORDER BY k.start_ns",
        ) == [("generate_sequences", "void attention<bf16>"), ("update_actor", "void gemm<bf16>")]
        assert rows(store, "SELECT kind, step, end_ns - start_ns, exposed_ns FROM collective ORDER BY step") == [
            ("all_reduce", 0, MS, MS),
            ("all_reduce", 1, MS, MS),
        ]
        assert rows(store, "SELECT tool, source, host FROM capture") == [("nsys", "nsys", "gpu-node")]
        assert ("chip", "NVIDIA H100") in rows(store, "SELECT key, value FROM env")


def test_environment_is_not_stored(tmp_path: Path) -> None:
    store = store_of(training_step().write(tmp_path / "run.sqlite"), tmp_path / "run.duckdb")
    assert b"hf_abcdefgh" in (tmp_path / "run.sqlite").read_bytes()
    assert b"hf_abcdefgh" not in store.read_bytes()


class TestProcesses:
    @GENERATIONS
    def test_of_one_file_are_ranks(self, tmp_path: Path, generation: str) -> None:
        # GIVEN three processes, whose ids are not in the order of their GPUs, with kernels of their own
        export = training_step(generation, pids=(300, 100, 200))
        path = export.write(tmp_path / "node.sqlite")
        # WHEN
        (run,) = find_runs(path)
        # THEN each is a rank, by its GPU
        assert [(capture.rank, capture.info["pid"]) for capture in run.captures] == [(0, 300), (1, 100), (2, 200)]
        assert any(finding.key == "ranks_numbered" for finding in run.findings)
        store = store_of(path, tmp_path / "node.duckdb")
        joined = "kernel AS k JOIN capture AS c USING (capture)"
        query = f"SELECT c.rank, k.device_id, count(*) FROM {joined} GROUP BY ALL ORDER BY ALL"
        assert rows(store, query) == [
            (0, 0, 4),
            (1, 1, 4),
            (2, 2, 4),
        ]
        assert rows(store, "SELECT count(*) FROM step") == [(6,)]

    def test_behind_cuda_visible_devices(self, tmp_path: Path) -> None:
        # GIVEN processes that each see one device, device 0
        export = Export()
        for pid, gpu in ((10, 3), (20, 2)):
            export.process(pid, device=0, gpu=gpu)
            export.kernel("gemm", 10_000, 10, pid=pid)
        (run,) = find_runs(export.write(tmp_path / "x.sqlite"))
        assert [(capture.rank, capture.info["pid"]) for capture in run.captures] == [(0, 20), (1, 10)]

    def test_mpi_states_the_ranks(self, tmp_path: Path) -> None:
        export = training_step(pids=(10, 20))
        export.mpi_rank(10, 5)
        export.mpi_rank(20, 4)
        (run,) = find_runs(export.write(tmp_path / "x.sqlite"))
        assert [(capture.rank, capture.info["pid"]) for capture in run.captures] == [(4, 20), (5, 10)]
        assert not any(finding.key == "ranks_numbered" for finding in run.findings)

    @GENERATIONS
    @pytest.mark.parametrize("pids", [(10,), (10, 20)])
    @pytest.mark.parametrize("what", ["ranges", "copies", "ranges and copies"])
    def test_others_are_left_out_aloud(self, tmp_path: Path, generation: str, pids: tuple[int, ...], what: str) -> None:
        # GIVEN a process that only marks ranges, or copies, beside one or two with kernels
        export = training_step(generation, pids=pids)
        if "ranges" in what:
            export.nvtx("driver", 1, 2, pid=99)
        if "copies" in what:
            export.process(99)
            export.copy(HTOD, 10_000, 500, 4096, pid=99)
        (run,) = find_runs(export.write(tmp_path / "x.sqlite"))
        assert [capture.info["pid"] for capture in run.captures] == list(pids)
        (said,) = [finding.message for finding in run.findings if finding.key == "other_processes"]
        assert said == f"x.sqlite: {what} of 1 processes without kernels were left out"

    @GENERATIONS
    def test_where_none_runs_kernels_those_that_copy_count(self, tmp_path: Path, generation: str) -> None:
        export = Export(generation)
        for pid in (10, 20):
            export.calls = 0
            export.copy(HTOD, 1_000_000 * pid, 500, pid, pid=pid)
        path = export.write(tmp_path / "x.sqlite")
        (run,) = find_runs(path)
        assert [capture.info["pid"] for capture in run.captures] == [10, 20]
        reading = read(path, pid=20)
        assert reading.rows("SELECT size_bytes, start_ns - launch_ns FROM stage_copy") == [(20, 5000)]

    @GENERATIONS
    def test_calls_of_a_process_without_kernels_are_no_launches(self, tmp_path: Path, generation: str) -> None:
        # GIVEN one process with kernels, and a launcher whose earlier calls carry the same numbers
        export = training_step(generation)
        export.calls = 0
        for start in range(6):
            export.call(start, pid=99, name="cudaMalloc_v3020")
        store = store_of(export.write(tmp_path / "x.sqlite"), tmp_path / "x.duckdb")
        # THEN each kernel is in the step in which its process launched it
        assert rows(store, "SELECT step, count(*) FROM kernel GROUP BY step ORDER BY step") == [(0, 2), (1, 2)]
        assert rows(store, "SELECT DISTINCT name FROM host_api") == [("cudaLaunchKernel",)]

    @pytest.mark.parametrize("kernels", [0, 1, 2])
    def test_graphs_belong_to_the_process_that_replays_them(self, tmp_path: Path, kernels: int) -> None:
        # GIVEN three processes, of which some run kernels, and the others graphs that were recorded as a whole
        export = training_step(pids=(10, 20, 30)[:kernels])
        for pid in (10, 20, 30)[kernels:]:
            export.graph(10_000, 700, pid=pid)
        path = export.write(tmp_path / "x.sqlite")
        (run,) = find_runs(path)
        assert {capture.info["pid"] for capture in run.captures} == {10, 20, 30}
        query = "SELECT count(*) FILTER (name = 'CUDA graph'), count(*) FROM kernel GROUP BY capture ORDER BY ALL"
        assert rows(store_of(path, tmp_path / "x.duckdb"), query) == [(0, 4)] * kernels + [(1, 1)] * (3 - kernels)

    @pytest.mark.parametrize("own", [True, False])
    def test_a_driver_marks_the_steps_of_its_only_worker(self, tmp_path: Path, own: bool) -> None:
        # GIVEN a driver that marks a step, and a worker that runs a kernel, in NCCL's range or in one of its own
        export = Export()
        export.nvtx("ProfilerStep#3", 1000, 90_000, pid=99)
        export.nvtx("all of it" if own else "ncclAllGather", 2000, 80_000, domain=0 if own else 3)
        export.kernel("gemm", 10_000, 10)
        path = export.write(tmp_path / "x.sqlite")
        # THEN the driver's ranges count if the worker has none
        (run,) = find_runs(path)
        assert any(finding.key == "other_processes" for finding in run.findings) == own
        store = store_of(path, tmp_path / "x.duckdb")
        assert rows(store, "SELECT step FROM kernel") == [(0 if own else 3,)]

    def test_what_names_no_process_is_of_the_only_one(self, tmp_path: Path) -> None:
        export = training_step()
        export.nvtx("driver", 1, 2, pid=99)
        path = export.write(tmp_path / "x.sqlite")
        with closing(sqlite3.connect(path)) as con:
            con.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = NULL WHERE rowid = 6")
            con.execute("UPDATE NVTX_EVENTS SET globalTid = NULL WHERE rowid = 1")
            con.commit()
        store = store_of(path, tmp_path / "x.duckdb")
        assert rows(store, "SELECT step FROM step ORDER BY step") == [(0,), (1,)]
        assert rows(store, "SELECT count(*) FROM collective") == [(2,)]

    def test_same_numbers_of_calls(self, tmp_path: Path) -> None:
        # GIVEN two processes whose calls carry the same numbers, as those of different processes do
        export = Export()
        for pid in (10, 20):
            export.calls = 0
            export.process(pid, device=pid // 10)
            export.kernel("gemm", 10_000 * pid, 10, pid=pid, device=pid // 10, launch=9_000 * pid)
        reading = read(export.write(tmp_path / "x.sqlite"), pid=20)
        assert reading.rows("SELECT launch_ns FROM stage_kernel") == [(EPOCH_NS + 180_000,)]

    def test_rank_in_a_name(self, tmp_path: Path) -> None:
        for rank in (0, 1):
            training_step().write(tmp_path / f"report_rank{rank}.sqlite")
        (run,) = find_runs(tmp_path)
        assert [capture.rank for capture in run.captures] == [0, 1]

    def test_workers_of_ray(self, tmp_path: Path) -> None:
        # GIVEN what verl leaves: a file for each worker and each window
        for pid, gpu in ((31, 1), (47, 0)):
            for window in (1, 2):
                export = Export()
                export.process(pid, gpu=gpu)
                export.kernel("gemm", 10_000 * window, 10, pid=pid)
                export.write(tmp_path / f"worker_process_{pid}.{window}.sqlite")
        (run,) = find_runs(tmp_path)
        assert [(c.rank, c.ordinal, c.path.name) for c in run.captures] == [
            (0, 0, "worker_process_47.1.sqlite"),
            (0, 1, "worker_process_47.2.sqlite"),
            (1, 0, "worker_process_31.1.sqlite"),
            (1, 1, "worker_process_31.2.sqlite"),
        ]
        assert any(finding.key == "ranks_numbered" for finding in run.findings)


class TestClocks:
    """Exports of 2020 do not say when their sessions began: that of rank 1 began 4 ms before that of rank 0."""

    def _write(self, folder: Path, window: int) -> None:
        for rank in (0, 1):
            path = training_step("2020").write(folder / f"worker_process_{rank}.{window}.sqlite")
            with closing(sqlite3.connect(path)) as con:
                for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"):
                    con.execute(f"UPDATE {table} SET start = start + ?1, end = end + ?1", [rank * 4 * MS])
                con.execute(
                    "UPDATE NVTX_EVENTS SET text = 'ProfilerStep#' || (substr(text, 14) + ?) WHERE text LIKE 'Prof%'",
                    [2 * window],
                )
                con.commit()

    def test_collectives_align_files(self, tmp_path: Path) -> None:
        self._write(tmp_path / "run", 0)
        store = store_of(tmp_path / "run", tmp_path / "x.duckdb")
        assert rows(store, "SELECT CAST(sum(ns) AS BIGINT) FROM r_path GROUP BY step") == [(9 * MS,)] * 2

    @pytest.mark.slow
    def test_windows_of_a_rank_are_on_no_path(self, tmp_path: Path) -> None:
        # GIVEN two files of each rank, whose times overlap because both count from the start of their session
        self._write(tmp_path / "run", 0)
        self._write(tmp_path / "run", 1)
        store = store_of(tmp_path / "run", tmp_path / "x.duckdb")
        assert rows(store, "SELECT DISTINCT step FROM step ORDER BY step") == [(0,), (1,), (2,), (3,)]
        assert rows(store, "SELECT count(*) FROM r_path") == [(0,)]


class TestReports:
    @pytest.mark.parametrize("name", ["my run.nsys-rep", "old.qdrep"])
    def test_names_the_command(self, tmp_path: Path, name: str) -> None:
        report = tmp_path / name
        report.write_bytes(b"whatever nsys writes")
        for named in (report, tmp_path):
            with pytest.raises(InputError) as error:
                find_runs(named)
            assert "nsys export --type sqlite -o " in str(error.value)
            quoted = f"'{report}'" if " " in name else str(report)
            assert quoted in str(error.value)
            assert ".sqlite" in str(error.value)

    def test_exported_already(self, tmp_path: Path) -> None:
        (tmp_path / "a.nsys-rep").write_bytes(b"x")
        (tmp_path / "b.nsys-rep").write_bytes(b"x")
        training_step().write(tmp_path / "a.sqlite")
        with pytest.raises(InputError, match=r"Pass its export: .*a\.sqlite"):
            find_runs(tmp_path / "a.nsys-rep")
        (run,) = find_runs(tmp_path)
        assert [f.message.split()[0] for f in run.findings if f.key == "not_exported"] == ["b.nsys-rep"]


class TestDamage:
    def test_truncated(self, tmp_path: Path) -> None:
        path = training_step().write(tmp_path / "x.sqlite")
        path.write_bytes(path.read_bytes()[:9000])
        for named in (path, tmp_path):
            with pytest.raises(InputError, match="truncated"):
                find_runs(named)

    @pytest.mark.parametrize(
        "table", ["StringIds", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "TARGET_INFO_SESSION_START_TIME"]
    )
    def test_a_table_is_absent(self, tmp_path: Path, table: str) -> None:
        if table == "StringIds":
            path = training_step().write(tmp_path / "x.sqlite", without=[table])
            assert file_kind(path).kind == "other_db"
            assert "without its table of strings, StringIds" in str(file_kind(path).problem)
            return
        reading = read(training_step().write(tmp_path / "x.sqlite", without=[table]))
        assert reading.rows("SELECT count(*) FROM stage_kernel") == [(4,)]
        assert reading.rows("SELECT count(*) FROM stage_collective") == [(2,)]
        assert not reading.said("damaged_database")

    def test_columns_are_absent(self, tmp_path: Path) -> None:
        # GIVEN an export that tells neither processes nor launches nor domains
        path = training_step().write(tmp_path / "x.sqlite")
        with sqlite3.connect(path) as con:
            for table, column in (
                ("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid"),
                ("CUPTI_ACTIVITY_KIND_KERNEL", "correlationId"),
                ("NVTX_EVENTS", "globalTid"),
                ("NVTX_EVENTS", "domainId"),
                ("NVTX_EVENTS", "jsonText"),
            ):
                con.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        con.close()
        store = store_of(path, tmp_path / "x.duckdb")
        # THEN all of it is one process; what no launch places belongs to no step, and that is said
        assert rows(store, "SELECT step, count(*) FROM kernel GROUP BY step") == [(None, 4)]
        assert rows(store, "SELECT count(*) FROM phase") == [(4,)]
        assert {("unlinked",), ("outside_steps",)} <= set(rows(store, "SELECT key FROM finding"))

    def test_odd_values(self, tmp_path: Path) -> None:
        # GIVEN times that are no times, texts that are no text, names that are nowhere
        export = Export()
        export.kernel("good", 10_000, 10)
        export.kernel("backwards", 20_000, -10)
        export.kernel("a year long", 30_000, 365 * 86_400 * 1_000_000_000)
        kernels = export.rows["CUPTI_ACTIVITY_KIND_KERNEL"]
        kernels.append(("soon", "later", 0, 1, 7, 1, None, 1, 1, 1))
        kernels.append((40_000, 40_010, 0, 1, 7, 999, kernels[0][6], 777, 777, 1))
        reading = read(export.write(tmp_path / "x.sqlite"))
        assert reading.rows("SELECT name FROM stage_kernel ORDER BY start_ns") == [("good",), (None,)]
        (said,) = reading.said("damaged_time")
        assert said.startswith("x.sqlite: 3 tasks")
        (said,) = reading.said("unlinked")
        assert "1 of 5" in said

    def test_damage_that_leaves_nothing_is_named(self, tmp_path: Path) -> None:
        export = Export()
        export.kernel("good", 10_000, 10)
        path = export.write(tmp_path / "x.sqlite")
        with closing(sqlite3.connect(path)) as con:
            pages = [page for (page,) in con.execute("SELECT rootpage FROM sqlite_master WHERE type = 'table'")]
            ((size,),) = con.execute("PRAGMA page_size")
        content = bytearray(path.read_bytes())
        for page in pages:
            content[(page - 1) * size : page * size] = b"\xff" * size
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"nothing to compare.*x\.sqlite is damaged \(.*malformed"):
            store_of(path, tmp_path / "x.duckdb")

    def test_bytes_in_place_of_a_time_lose_one_kernel(self, tmp_path: Path) -> None:
        path = training_step().write(tmp_path / "x.sqlite")
        with sqlite3.connect(path) as con:
            con.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = X'ff00' WHERE rowid = 1")
        con.close()
        reading = read(path)
        assert reading.rows("SELECT count(*) FROM stage_kernel") == [(3,)]
        (said,) = reading.said("damaged_time")
        assert said.startswith("x.sqlite: 1 task")
        assert not reading.said("damaged_database")

    def test_a_view_is_not_asked(self, tmp_path: Path) -> None:
        # GIVEN a view that never ends in place of the kernels
        path = training_step().write(tmp_path / "x.sqlite", without=["CUPTI_ACTIVITY_KIND_KERNEL"])
        with sqlite3.connect(path) as con:
            con.execute(
                "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE c(start) AS"
                " (SELECT 1 UNION ALL SELECT start + 1 FROM c) SELECT start FROM c"
            )
        con.close()
        reading = read(path)
        assert reading.rows("SELECT count(*) FROM stage_kernel") == [(0,)]
        assert reading.rows("SELECT count(*) > 0 FROM host_api") == [(True,)]

    @pytest.mark.parametrize("value", ["CAST(X'ff41' AS TEXT)", "CAST(X'616263e4' AS TEXT)", "X'616263e4'"])
    def test_a_text_is_no_text(self, tmp_path: Path, value: str) -> None:
        path = training_step().write(tmp_path / "x.sqlite")
        with sqlite3.connect(path) as con:
            con.execute(f"INSERT INTO StringIds VALUES (500, {value})")
        con.close()
        reading = read(path)
        assert reading.rows("SELECT count(*) FROM stage_kernel WHERE name LIKE 'void %'") == [(4,)]
        assert reading.said("undecodable_text")

    def test_a_text_in_a_row_is_cut_within_a_character(self, tmp_path: Path) -> None:
        path = training_step("2020").write(tmp_path / "x.sqlite")
        with sqlite3.connect(path) as con:
            con.execute("UPDATE NVTX_EVENTS SET text = CAST(X'616263e4' AS TEXT) WHERE rowid = 1")
        con.close()
        reading = read(path)
        assert reading.rows("SELECT count(*) FROM stage_kernel") == [(4,)]
        assert reading.rows('SELECT count(*) FROM "range"') == [(5,)]  # of six, all but the one without a name

    def test_nothing_in_it(self, tmp_path: Path) -> None:
        path = Export().write(tmp_path / "x.sqlite")
        with pytest.raises(InputError, match="without CUDA and NVTX"):
            find_runs(path)
        export = Export()
        export.nvtx("a category", 1, None, kind=33)
        path = export.write(tmp_path / "y.sqlite")
        (run,) = find_runs(path)
        with pytest.raises(InputError, match="contains nothing to compare"):
            build_store(run, tmp_path / "y.duckdb", keep_events=True, threads=1)

    def test_nothing_is_written_beside_it(self, tmp_path: Path) -> None:
        # GIVEN an export that somebody left in WAL mode
        path = training_step(pids=(10, 20)).write(tmp_path / "in" / "x.sqlite")
        with sqlite3.connect(path) as con:
            con.execute("PRAGMA journal_mode = WAL")
        con.close()
        before = path.read_bytes()
        store = store_of(path, tmp_path / "x.duckdb")
        assert rows(store, "SELECT count(*) FROM kernel") == [(8,)]
        assert [entry.name for entry in path.parent.iterdir()] == ["x.sqlite"]
        assert path.read_bytes() == before


def test_a_rank_that_is_not_there(tmp_path: Path) -> None:
    path = training_step(pids=(10, 20)).write(tmp_path / "x.sqlite")
    with pytest.raises(UsageError, match="has rank 0-1"):
        find_runs(path, ranks=frozenset({7}))


@GENERATIONS
def test_chosen_steps(tmp_path: Path, generation: str) -> None:
    path = training_step(generation).write(tmp_path / "x.sqlite")
    (run,) = select_runs(path, prefer="db", layout=None, ranks=None, steps=[1])
    build_store(run, tmp_path / "x.duckdb", keep_events=True, threads=1)
    assert rows(tmp_path / "x.duckdb", "SELECT DISTINCT step FROM kernel") == [(1,)]
    with pytest.raises(UsageError, match="has steps 0-1"):
        select_runs(path, prefer="db", layout=None, ranks=None, steps=[2])
