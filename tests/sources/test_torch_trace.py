"""What the source makes of the parts of a torch.profiler trace, in each era's words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rlcompare.app.selection import select_runs
from rlcompare.errors import UsageError
from rlcompare.sources.detect import find_runs
from rlcompare.sources.torch.file import steps_of_trace
from rlcompare.store.build import build_store
from tests.sources.torch_traces import BACKWARD, BASE_NS, Event, kernel, launch, mark, op, read, span, trace, write
from tests.stores import rows, store_of

SECRET = "hf_abcdefghijklmnopqrstuvwxyz0123"


def test_an_interrupted_query_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mending the trace would take long, and the next query would run although the user wants to stop."""

    def interrupted(*_: object) -> None:
        raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")

    monkeypatch.setattr("rlcompare.sources.torch.trace._run_events", interrupted)
    path = write(tmp_path / "t.json", json.dumps(trace(op("aten::add", 1, 1))))
    with pytest.raises(duckdb.InterruptException):
        read(path)


class TestTimes:
    @pytest.mark.parametrize(
        ("base", "ts", "dur", "start_ns", "length_ns"),
        [
            (0, 1623142623460111, 25, 1623142623460111000, 25000),  # 2021: whole microseconds since 1970
            (0, "1712345678901234.567", 1.001, 1712345678901234567, 1001),  # 2.3: more digits than a float holds
            (BASE_NS, "4331184921779.214", 25065.228, BASE_NS + 4331184921779214, 25065228),
            (BASE_NS, 0.001, 0, BASE_NS + 1, 0),
        ],
    )
    def test_are_exact(
        self, tmp_path: Path, base: int, ts: float | str, dur: float, start_ns: int, length_ns: int
    ) -> None:
        # GIVEN an operator at a time that is printed as a number
        text = json.dumps(trace(op("aten::add", 111, dur), baseTimeNanoseconds=base)).replace("111", str(ts), 1)
        assert '"ts": "' not in text
        path = write(tmp_path / "t.json", text)
        # WHEN it is read THEN not a nanosecond is lost
        assert read(path).rows("SELECT start_ns, end_ns - start_ns FROM stage_host_op") == [(start_ns, length_ns)]

    def test_of_a_long_trace_are_exact_across_blocks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rlcompare.sources.blocks.BLOCK_BYTES", 997)
        first = 1712345678901234567
        events = [op("aten::add", index, 1.5) for index in range(2000)]
        text = json.dumps(trace(*events, baseTimeNanoseconds=0))
        for index in range(2000):
            now = first + index * 10_001
            text = text.replace(f'"ts": {index},', f'"ts": {now // 1000}.{now % 1000:03},', 1)
        expected = [(first + index * 10_001,) for index in range(2000)]
        path = write(tmp_path / "t.json", text)
        assert read(path).rows("SELECT start_ns FROM stage_host_op ORDER BY 1") == expected

    def test_base_may_stand_behind_the_events(self, tmp_path: Path) -> None:
        content = {"traceEvents": [op("aten::add", 5, 1)], "deviceProperties": [], "baseTimeNanoseconds": BASE_NS}
        reading = read(write(tmp_path / "t.json.gz", content))
        assert reading.rows("SELECT start_ns FROM stage_host_op") == [(BASE_NS + 5000,)]
        assert not reading.said("unknown_epoch")

    def test_without_a_base_is_said(self, tmp_path: Path) -> None:
        reading = read(write(tmp_path / "t.json", trace(op("aten::add", 5, 1), baseTimeNanoseconds=None)))
        assert len(reading.said("unknown_epoch")) == 1


class TestLaunches:
    def test_innermost_operator_around_the_launch(self, tmp_path: Path) -> None:
        # GIVEN nested operators, one that has ended, and the same moment on another thread
        path = write(
            tmp_path / "t.json",
            trace(
                op("aten::linear", 0, 100),
                op("aten::t", 5, 5),
                op(
                    "aten::addmm", 20, 30, **{"Input Dims": [[4], [2, 3], []], "Input type": ["float", "c10::Half", ""]}
                ),
                op("MmBackward0", 0, 100, BACKWARD),
                launch(1, 25),
                launch(2, 60),
                launch(3, 25, BACKWARD),
                launch(4, 200),
                *(kernel(number, 1000 * number, 10, f"k{number}") for number in (1, 2, 3, 4, 5)),
            ),
        )
        # WHEN it is read
        reading = read(path)
        # THEN each kernel has its operator, and one without a launch has neither
        assert reading.rows(
            f"SELECT k.name, o.name, (launch_ns - {BASE_NS}) // 1000, k.input_shapes, k.input_dtypes"
            " FROM stage_kernel AS k LEFT JOIN stage_host_op AS o ON o.id = host_op_id ORDER BY 1"
        ) == [
            ("k1", "aten::addmm", 25, "4;2,3;", "float;Half;"),
            ("k2", "aten::linear", 60, None, None),
            ("k3", "MmBackward0", 25, None, None),
            ("k4", None, 200, None, None),
            ("k5", None, None, None, None),
        ]

    @pytest.mark.parametrize(
        ("name", "dims", "types", "expected"),
        [
            ("aten::mm", [[2, 3], [3, 4], [2, 4]], 3, ("2,3;3,4", "a;b")),
            ("aten::bmm", [[9, 2, 3], [9, 3, 4], [9, 2, 4]], 3, ("9,2,3;9,3,4", "a;b")),
            ("aten::addmm", [[4], [2, 3], [3, 4], [], [], [2, 4]], 6, ("4;2,3;3,4;;", "a;b;c;d;e")),
            ("aten::mm", [[2, 3], [3, 4], []], 3, ("2,3;3,4;", "a;b;c")),  # mm.dtype: the third is a data type
            ("aten::add", [[2, 3], [2, 3], [2, 3]], 3, ("2,3;2,3;2,3", "a;b;c")),
            ("aten::mm", [[2, 3], [3, 4]], 2, ("2,3;3,4", "a;b")),
        ],
    )
    def test_the_argument_out_is_no_input(
        self, tmp_path: Path, name: str, dims: list[list[int]], types: int, expected: tuple[str, str]
    ) -> None:
        """torch.compile calls products with `out=`: the same work must have the same inputs."""
        inputs = {"Input Dims": dims, "Input type": list("abcdef"[:types])}
        reading = read(write(tmp_path / "t.json", trace(op(name, 0, 10, **inputs), launch(1, 5), kernel(1, 8, 3))))
        assert reading.rows("SELECT input_shapes, input_dtypes FROM stage_kernel") == [expected]

    def test_operators_that_stick_out_of_their_parents(self, tmp_path: Path) -> None:
        # GIVEN whole microseconds, in which a child ends after its parent, and the next operator begins at its end
        path = write(
            tmp_path / "t.json",
            trace(op("parent", 10, 10), op("child", 12, 9), op("next", 20, 10), launch(1, 25), kernel(1, 50, 1)),
        )
        query = "SELECT o.name FROM stage_kernel JOIN stage_host_op AS o ON o.id = host_op_id"
        assert read(path).rows(query) == [("next",)]

    def test_external_id_helps_only_where_it_is_one(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "t.json",
            trace(
                op("aten::mm", 0, 10, **{"External id": 7}),
                op("aten::add", 20, 10, **{"External id": 8}),
                kernel(70, 100, 1, "named by it", **{"External id": 7}),
                kernel(8, 200, 1, "the correlation once more", **{"External id": 8}),
            ),
        )
        query = "SELECT k.name, o.name FROM stage_kernel AS k LEFT JOIN stage_host_op AS o ON o.id = host_op_id"
        assert sorted(read(path).rows(query)) == [("named by it", "aten::mm"), ("the correlation once more", None)]

    def test_a_graph_launches_many_kernels(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "t.json",
            trace(
                op("replay", 0, 50),
                span("cuda_runtime", "cudaGraphLaunch", 10, 2, correlation=3),
                span("cuda_driver", "cuGraphLaunch", 11, 1, correlation=3),
                *(kernel(3, 100 + index, 1) for index in range(5)),
            ),
        )
        reading = read(path)
        assert reading.rows(f"SELECT DISTINCT launch_ns - {BASE_NS}, count(*) FROM stage_kernel GROUP BY 1") == [
            (10000, 5)
        ]
        assert reading.rows("SELECT layer, count(*) FROM host_api GROUP BY 1") == [("runtime", 2)]


class TestSteps:
    def test_of_2021(self, tmp_path: Path) -> None:
        # GIVEN a trace in the words of 1.8: other categories, threads as text, steps among the operators
        events: list[Event] = [
            span("Operator", "ProfilerStep#5", 1623142623460000, 1000, "25738"),
            span("Operator", "aten::conv2d", 1623142623460010, 100, "25738"),
            span("Runtime", "cudaLaunchKernel", 1623142623460020, 5, "25738", correlation=9, **{"external id": 2}),
            span("Kernel", "dgrad_engine", 1623142623460400, 7, "stream 7", device=0, stream=7, correlation=9),
            span("Memcpy", "Memcpy HtoD (Pageable -> Device)", 1623142623460300, 9, "stream 7", stream=7, bytes=64),
            span("Memset", "Memset (Device)", 1623142623460350, 1, "stream 7", stream=7, bytes=8),
        ]
        store = store_of(write(tmp_path / "t.json", trace(*events, baseTimeNanoseconds=0)), tmp_path / "s.duckdb")
        # THEN everything is where it is today
        assert rows(store, "SELECT step, end_ns - start_ns FROM step") == [(5, 1_000_000)]
        assert rows(store, "SELECT name, stream, step FROM kernel") == [("dgrad_engine", 7, 5)]
        assert rows(store, "SELECT kind, size_bytes FROM copy ORDER BY 1") == [("host_to_device", 64), ("memset", 8)]
        assert rows(store, "SELECT name, device_ns FROM host_op") == [("aten::conv2d", 7000)]

    def test_the_copy_on_the_device_is_no_step(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "t.json",
            trace(
                mark("ProfilerStep#3", 100, 100),
                span("gpu_user_annotation", "ProfilerStep#3", 150, 500, 7),
                launch(1, 110),
                kernel(1, 160, 10),
                kernel(2, 90, 10, "warm-up"),
            ),
        )
        store = store_of(path, tmp_path / "s.duckdb")
        assert rows(store, f"SELECT step, start_ns - {BASE_NS}, end_ns - start_ns FROM step") == [(3, 100_000, 100_000)]
        assert rows(store, "SELECT name, step FROM kernel ORDER BY start_ns") == [("warm-up", None), ("gemm", 3)]
        (finding,) = rows(store, "SELECT message FROM finding WHERE key = 'outside_steps'")
        assert "1 device tasks" in finding[0]

    def test_a_late_kernel_without_a_launch_belongs_to_none(self, tmp_path: Path) -> None:
        # GIVEN one after the step's first kernel, which on Ascend would count by its time
        path = write(
            tmp_path / "t.json",
            trace(mark("ProfilerStep#3", 100, 100), launch(1, 110), kernel(1, 120, 10), kernel(2, 140, 10, "stray")),
        )
        store = store_of(path, tmp_path / "s.duckdb")
        assert rows(store, "SELECT step FROM kernel WHERE name = 'stray'") == [(None,)]

    def test_are_known_before_the_trace_is_read(self, tmp_path: Path) -> None:
        marks = [mark(f"ProfilerStep#{number}", 10 * number, 9) for number in (3, 4, 12)]
        path = write(tmp_path / "t.json.gz", trace(*marks))
        assert steps_of_trace(path) == frozenset({3, 4, 12})
        with pytest.raises(UsageError, match=r"--step 5: .* has steps 3-4,12"):
            select_runs(path, prefer="db", layout=None, ranks=None, steps=[4, 5])
        other = write(tmp_path / "prof_step7_rank0-of-1_pid1_20260101000000000.json.gz", trace(*marks))
        (run,) = select_runs(other, prefer="db", layout=None, ranks=None, steps=[7])
        assert run.steps == frozenset({7})

    def test_marks_of_mini_batches_in_a_capture_of_one_training_step(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.json", trace(mark("ProfilerStep#0", 0, 9), mark("ProfilerStep#1", 10, 9)))
        assert read(path, step_hint=12).rows("SELECT count(*) FROM stage_step") == [(0,)]
        assert read(path, step_hint=1).rows("SELECT count(*) FROM stage_step") == [(2,)]
        assert read(path).rows("SELECT count(*) FROM stage_step") == [(2,)]


class TestSettings:
    """Torch's header names the settings of the profiler that are on, and none that is off."""

    def off(self, tmp_path: Path, *events: Event, **header: Any) -> list[str]:
        reading = read(write(tmp_path / "t.json", trace(op("aten::add", 0, 9), *events, **header)))
        return [key for (key,) in reading.rows("SELECT key FROM env WHERE value = 'false' ORDER BY key")]

    def test_that_are_not_named_are_off(self, tmp_path: Path) -> None:
        names = ("profile_memory", "record_shapes", "with_flops", "with_modules", "with_stack")
        assert self.off(tmp_path, with_stack=1) == [f"profiler.{name}" for name in names[:-1]]

    def test_are_unknown_where_the_header_names_none(self, tmp_path: Path) -> None:
        assert self.off(tmp_path, deviceProperties=[], baseTimeNanoseconds=None) == []  # torch before 1.10
        assert self.off(tmp_path) == []  # not torch's own header

    def test_that_no_event_shows_are_unknown_where_the_header_names_none(self, tmp_path: Path) -> None:
        shown = ("profile_memory", "record_shapes", "with_stack")
        assert self.off(tmp_path, deviceProperties=[]) == [f"profiler.{name}" for name in shown]

    def test_are_not_off_where_events_have_what_they_record(self, tmp_path: Path) -> None:
        """The profiler of torch.autograd names no settings."""
        shaped = op("aten::mm", 10, 9, **{"Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"]})
        module = span("python_function", "nn.Module: Linear_0", 0, 9)
        assert self.off(tmp_path, shaped, module, deviceProperties=[]) == ["profiler.profile_memory"]


class TestCollectives:
    def test_told_by_the_kernels_own_arguments(self, tmp_path: Path) -> None:
        told = {
            "Collective name": "_allgather_base", "In msg nelems": 1024, "dtype": "BFloat16", "Group size": 4,
            "Process Group Name": "3", "Process Group Ranks": "[0, 2, 4, 6]",
        }  # fmt: skip
        path = write(tmp_path / "t.json", trace(kernel(1, 5, 100, "ncclDevKernel_AllGather_RING_LL", **told)))
        assert read(path).rows(
            "SELECT name, collective_kind(op_type, name), group_name, group_ranks, size_bytes, dtype, device_id"
            " FROM stage_collective"
        ) == [("ncclDevKernel_AllGather_RING_LL", "all_gather", "3", "0,2,4,6", 2048, "BFP16", 0)]

    def test_members_of_a_shortened_list(self, tmp_path: Path) -> None:
        info = {"rank": 0, "world_size": 8, "pg_config": [{"pg_name": "a", "ranks": list(range(8))}]}
        stride = {"Group size": 4, "Global rank start": 0, "Global rank stride": 2}

        def of_group(number: int, name: str, **more: object) -> Event:
            told = {"Process Group Name": name, "Process Group Ranks": "[0, ..., 7]", **more}
            return kernel(number, 5 * number, 1, "ncclDevKernel_X", **told)

        path = write(
            tmp_path / "t.json",
            trace(
                of_group(1, "a"), of_group(2, "b", **stride), of_group(3, "c"),
                of_group(4, "of many", **{**stride, "Group size": 100_000}), distributedInfo=info,
            ),
        )  # fmt: skip
        assert read(path).rows("SELECT group_name, group_ranks FROM stage_collective ORDER BY start_ns") == [
            ("a", "0,1,2,3,4,5,6,7"),
            ("b", "0,2,4,6"),
            ("c", None),
            ("of many", None),
        ]

    def test_copies_of_both_directions_share_a_stream(self, tmp_path: Path) -> None:
        """As on AMD's devices: one to the device may last as long as two to the host."""
        copies = [
            {**kernel(number, start, length, f"Memcpy {way}", stream=0), "cat": "gpu_memcpy"}
            for number, (start, length, way) in enumerate([(10, 3000, "HtoD"), (100, 20, "DtoH"), (500, 20, "DtoH")], 1)
        ]
        path = write(tmp_path / "t.json", trace(kernel(9, 4000, 20), *copies))
        assert rows(store_of(path, tmp_path / "s.duckdb"), "SELECT sum(calls) FROM r_copy") == [(3,)]

    def test_a_trace_of_several_processes_names_no_causes(self, tmp_path: Path) -> None:
        operators = [op("aten::mm", 0, 10), op("aten::mm", 20, 30)]
        for processes, count in (((1, 1), 0), ((1, 2), 1)):
            events = [{**one, "pid": pid} for one, pid in zip(operators, processes, strict=True)]
            reading = read(write(tmp_path / f"{count}.json", trace(*events)))
            assert sum("operators of 2 processes" in finding.message for finding in reading.findings) == count

    def test_the_host_is_in_the_name_that_torch_gives_a_trace(self, tmp_path: Path) -> None:
        for name, host in (("node-1_77.1700000000.pt.trace.json", "node-1"), ("rank_1.17.pt.trace.json", None)):
            path = write(tmp_path / name, trace({**op("aten::mm", 0, 10), "pid": 77}))
            assert read(path).rows("SELECT host FROM capture") == [(host,)]

    def test_the_only_group_is_that_of_what_names_none(self, tmp_path: Path) -> None:
        info = {"rank": 0, "world_size": 2, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]}
        path = write(tmp_path / "t.json", trace(kernel(1, 5, 1, "ncclKernel_X"), distributedInfo=info))
        assert read(path).rows("SELECT group_name, group_ranks FROM stage_collective") == [("0", "0,1")]

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", "all_reduce"),
            ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevComm*)", "reduce_scatter"),
            ("ncclDevKernel_SendRecv(ncclDevComm*)", "batch_send_recv"),
            ("ncclKernel_Broadcast_RING_LL", "broadcast"),
            ("void rccl::AllGather()", "all_gather"),
            ("void vllm::cross_device_reduce_1stage<float, 2>()", "all_reduce"),
            ("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>()", "all_reduce"),
            ("void (anonymous namespace)::multimem_all_gather_kernel<16>()", "all_gather"),
            ("two_shot_all_reduce_kernel", "all_reduce"),
            ("void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8>()", "all_reduce"),
            ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<>()", "all_reduce"),
            ("void deep_ep::internode_ll::dispatch<true, 7168>()", "all_to_all"),
            ("void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<half>>()", "all_reduce"),
        ],
    )
    def test_told_by_the_kernels_name(self, tmp_path: Path, name: str, kind: str) -> None:
        path = write(tmp_path / "t.json", trace(kernel(1, 5, 100, name)))
        reading = read(path)
        assert reading.rows("SELECT collective_kind(op_type, name) FROM stage_collective") == [(kind,)]
        assert reading.rows("SELECT count(*) FROM stage_kernel") == [(0,)]

    @pytest.mark.parametrize(
        ("name", "category"),
        [
            ("void vllm::reshape_and_cache_flash_kernel<half>()", "vector"),
            ("void vllm::convert_fp8_kernel<half>()", "vector"),
            ("void implicit_convolve_sgemm<float>()", "cube"),
            ("ampere_conv_fprop", "cube"),
            ("void flash_fwd_kernel<>()", "cube"),
        ],
    )
    def test_the_category_of_a_kernel(self, tmp_path: Path, name: str, category: str) -> None:
        path = write(tmp_path / "t.json", trace(kernel(1, 5, 100, name)))
        assert read(path).rows("SELECT gpu_kernel_cube(name) FROM stage_kernel") == [(category == "cube",)]

    def test_layout_and_reduction_kernels_are_computation(self, tmp_path: Path) -> None:
        names = ("void deep_ep::layout::get_dispatch_layout<256>()", "void at::native::reduce_kernel<512, 1>()")
        path = write(tmp_path / "t.json", trace(*(kernel(n, 5 + 20 * n, 10, name) for n, name in enumerate(names))))
        assert read(path).rows("SELECT name FROM stage_kernel ORDER BY start_ns") == [(name,) for name in names]

    def test_told_by_what_stands_around_the_launch(self, tmp_path: Path) -> None:
        # GIVEN a send-and-receive kernel of an all-to-all, as before 2024
        path = write(
            tmp_path / "t.json",
            trace(
                op("record_param_comms", 10, 50, **{"Collective name": "", "Rank": 0}),
                mark("nccl:all_to_all", 20, 30, **{"Input Dims": [[16, 8]], "Input type": ["long int"]}),
                launch(1, 30),
                kernel(1, 100, 100, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t"),
            ),
        )
        query = "SELECT collective_kind(op_type, name), size_bytes, dtype FROM stage_collective"
        assert read(path).rows(query) == [("all_to_all", 1024, "INT64")]

    def test_gloo_counts_only_without_a_device(self, tmp_path: Path) -> None:
        gloo = mark("gloo:all_reduce", 20, 30, BACKWARD, **{"Input Dims": [[100]], "Input type": ["float"]})
        alone = read(write(tmp_path / "a.json", trace(op("aten::add", 0, 10), gloo)))
        assert alone.rows("SELECT name, op_type, size_bytes FROM stage_collective") == [
            ("gloo:all_reduce", "allreduce", 400)
        ]
        assert alone.rows("SELECT executor FROM capture") == [("host",)]
        beside = read(write(tmp_path / "b.json", trace(launch(1, 5), kernel(1, 8, 3), gloo)))
        assert beside.rows("SELECT count(*) FROM stage_collective") == [(0,)]
        assert beside.rows("SELECT executor FROM capture") == [("device",)]


class TestMemory:
    def test_allocations_end_where_their_address_is_freed(self, tmp_path: Path) -> None:
        def change(at: float, size: int, address: int, level: int) -> Event:
            more = {
                "Device Type": 1,
                "Device Id": 0,
                "Bytes": size,
                "Addr": address,
                "Total Allocated": level,
                "Total Reserved": 900,
            }
            return {
                "ph": "i",
                "cat": "cpu_instant_event",
                "name": "[memory]",
                "pid": 1,
                "tid": 100,
                "ts": at,
                "args": more,
            }

        path = write(
            tmp_path / "t.json",
            trace(op("aten::empty", 0, 10), change(5, 64, 18446744073709551615, 64), change(20, 32, 2, 96),
                  change(30, -64, 18446744073709551615, 32)),
        )  # fmt: skip
        reading = read(path)
        assert reading.rows("SELECT name, size_bytes, duration_ns FROM allocation ORDER BY alloc_ns") == [
            ("aten::empty", 64, 25_000), (None, 32, None)
        ]  # fmt: skip
        assert reading.rows("SELECT component, max(allocated_bytes), max(reserved_bytes) FROM memory GROUP BY 1") == [
            ("PTA", 96, 900)
        ]

    def test_of_2021_state_no_levels(self, tmp_path: Path) -> None:
        event = {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 5,
                 "args": {"Device Type": 0, "Device Id": -1, "Bytes": 4}}  # fmt: skip
        reading = read(write(tmp_path / "t.json", trace(op("aten::add", 0, 9), event)))
        assert reading.rows("SELECT count(*) FROM memory UNION ALL SELECT count(*) FROM allocation") == [(0,), (0,)]


class TestFolders:
    def test_ranks_are_one_run_and_the_same_rank_is_another(self, tmp_path: Path) -> None:
        for rank in (0, 1):
            write(
                tmp_path / "a" / f"any name {rank}.json", trace(op("aten::add", 0, 9), distributedInfo={"rank": rank})
            )
        write(tmp_path / "b" / "rank0.1795188212545523414.pt.trace.json.gz", trace(op("aten::add", 0, 9)))
        write(tmp_path / "b" / "rank0.1795188212545523999.pt.trace.json.gz", trace(op("aten::add", 0, 9)))
        (run,) = find_runs(tmp_path / "a")
        assert [capture.rank for capture in run.captures] == [0, 1]
        runs = find_runs(tmp_path / "b")
        assert [[capture.rank for capture in run.captures] for run in runs] == [[0], [0]]
        assert runs[0].captures[0].started_ns == 1795188212545523414

    def test_rank_behind_the_events_of_a_compressed_trace(self, tmp_path: Path) -> None:
        content = {"traceEvents": [op("aten::add", 5, 1)] * 5000, "distributedInfo": {"rank": 3, "world_size": 4}}
        (run,) = find_runs(write(tmp_path / "host_1.json.gz", content))
        assert run.captures[0].rank == 3

    @pytest.mark.slow
    def test_verls_tree(self, tmp_path: Path) -> None:
        # GIVEN what verl's torch profiler leaves: one file per role, step and rank, and of the whole step
        for folder in ("rollout_generate", "actor_compute_log_prob", "e2e"):
            for step in (3, 7):
                for rank in (0, 1):
                    name = f"prof_step{step}_rank{rank}-of-2_pid{rank}_20260101000000000.json.gz"
                    write(tmp_path / "profile" / folder / name, trace(op("aten::add", 0, 9)))
        # WHEN it is looked at
        (run,) = find_runs(tmp_path / "profile")
        # THEN it is one run, and each file knows what it is of
        places = [(c.role, c.phase, c.step_hint, c.rank, c.ordinal) for c in run.captures]
        assert len(places) == 12
        assert ("actor", "old_log_prob", 7, 1, 1) in places
        assert ("rollout", "generate_sequences", 3, 0, 0) in places
        assert (None, None, 7, 0, 1) in places
        assert all(c.info["distributedInfo"] == {"world_size": 2} for c in run.captures)
        # AND a capture without marks is that step, and that phase
        (run,) = find_runs(tmp_path / "profile", ranks=frozenset({0}))
        build_store(run, tmp_path / "s.duckdb", keep_events=True, threads=1)
        assert rows(tmp_path / "s.duckdb", "SELECT DISTINCT step FROM step ORDER BY 1") == [(3,), (7,)]
        assert rows(
            tmp_path / "s.duckdb",
            "SELECT p.name, count(*) FROM host_op AS o JOIN phase AS p ON p.capture = o.capture AND p.id = o.phase"
            " GROUP BY 1 ORDER BY 1",
        ) == [("generate_sequences", 2), ("old_log_prob", 2)]

    @pytest.mark.slow
    def test_an_environment_dump_is_not_stored(self, tmp_path: Path) -> None:
        dump = {"HF_TOKEN": SECRET, "PATH": "/usr/bin", "HOME": "/home/somebody"}
        for name, before, after in (("a", {"metadata": dump}, {}), ("b", {}, {"metadata": dump})):
            content = trace(op("aten::add", 0, 9), after=after, deviceProperties=[{"id": 0, "name": "GPU X"}], **before)
            path = write(tmp_path / f"{name}.json", content)
            store = store_of(path, tmp_path / f"{name}.duckdb")
            assert rows(store, "SELECT key, value FROM env WHERE key NOT LIKE 'profiler.%'") == [("chip", "GPU X")]
            assert SECRET.encode() not in store.read_bytes()
            assert b"somebody" not in store.read_bytes()


def test_phases_by_annotation(tmp_path: Path) -> None:
    # GIVEN a step of two phases, whose backward operators run on another thread
    path = write(
        tmp_path / "t.json",
        trace(
            mark("ProfilerStep#1", 0, 1000),
            mark("generate_sequences", 10, 400),
            mark("update_actor", 500, 400),
            op("aten::mm", 20, 10),
            launch(1, 25),
            op("MmBackward0", 600, 10, BACKWARD),
            launch(2, 605, BACKWARD),
            kernel(1, 450, 10, "forward"),
            kernel(2, 950, 10, "backward"),
        ),
    )
    store = store_of(path, tmp_path / "s.duckdb")
    assert rows(
        store, "SELECT k.name, p.name FROM kernel AS k JOIN phase AS p ON p.id = k.phase ORDER BY k.start_ns"
    ) == [("forward", "generate_sequences"), ("backward", "update_actor")]
    assert rows(store, "SELECT phase, wall_ns // 1000 FROM r_phase ORDER BY 1") == [
        ("(outside)", 200), ("generate_sequences", 400), ("update_actor", 400)
    ]  # fmt: skip
