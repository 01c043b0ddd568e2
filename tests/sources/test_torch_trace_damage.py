"""Traces that were cut off, emptied or written by another tool: this is reported, and valid data is still read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rlcompare.errors import InputError
from rlcompare.model.run import CaptureInput
from rlcompare.sources.detect import find_runs
from rlcompare.sources.torch.capture import capture_of_trace
from rlcompare.sources.torch.file import event_file
from rlcompare.store.build import build_store
from tests.sources.torch_traces import BASE_NS, kernel, launch, mark, op, read, span, trace, write
from tests.sql.rollup_stores import compared, values
from tests.stores import rows, store_of

SOUND = trace(*(op("aten::add", 10 * index, 5, **{"Input Dims": [[index]]}) for index in range(500)))


def refused(path: Path) -> str:
    """The error that a path ends in, wherever it is found."""
    with pytest.raises(InputError) as error:
        (run,) = find_runs(path)
        build_store(run, path.parent / "s.duckdb", keep_events=True, threads=1)
    return str(error.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b'{"schemaVersion": 1, "deviceProperties": []}', "it contains no list of trace events"),
        (b'{"schemaVersion": 1, "traceEvents": {"a": 1}}', "it contains no list of trace events"),
        (b'{"schemaVersion": 1, "traceEvents": []}', "contains nothing to compare"),
        (b'{"schemaVersion": 1, "traceEvents": [', "it contains no complete trace event"),
        (b'{"schemaVersion": 1, "traceEvents": [{"ph": "X", "na', "it contains no complete trace event"),
        (b'{"schemaVersion": 1, "traceEvents": [1, 2, null, "x"]}', "it contains no complete trace event"),
        (b'{"schemaVersion": 2, "mediaType": "of something else"}', "it is a JSON object of an unknown kind"),
        (b'{"some": "thing", "else": 1}', "it is a JSON object of an unknown kind"),
        (b"\x1f\x8bnot at all", "it is compressed, but not a torch.profiler trace"),
        (gzip.compress(b'{"some": "thing"}', mtime=0), "it is compressed, but not a torch.profiler trace"),
    ],
)
def test_nothing_in_it(tmp_path: Path, content: bytes, said: str) -> None:
    path = write(tmp_path / "rank0.pt.trace.json", content)
    message = refused(path)
    assert said in message
    assert "rank0.pt.trace.json" in message


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kept", [0.9, 0.5])
def test_cut_off(tmp_path: Path, compressed: bool, kept: float) -> None:
    # GIVEN a trace of which the end is missing
    data = json.dumps(SOUND).encode()
    data = gzip.compress(data) if compressed else data
    path = write(tmp_path / ("t.json.gz" if compressed else "t.json"), data[: int(len(data) * kept)])
    # WHEN it is read
    reading = read(path)
    # THEN the events before that are there, and it is said
    ((count, first),) = reading.rows("SELECT count(*), min(start_ns) FROM stage_host_op")
    assert 500 * kept * 0.7 < count < 500
    assert first == BASE_NS
    (said,) = reading.said("damaged_file")
    assert "it is truncated" in said


def test_damaged_in_its_compressed_content(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(json.dumps(SOUND).encode(), 1))
    data[len(data) // 2 : len(data) // 2 + 20] = bytes(20)
    try:
        reading = read(write(tmp_path / "t.json.gz", bytes(data)))
    except InputError as error:
        assert "event" in str(error)
    else:
        assert reading.warnings


def test_broken_in_the_middle(tmp_path: Path) -> None:
    # GIVEN an event that is no JSON (a name with a bare quotation mark, as old profilers wrote them)
    text = (
        json.dumps(SOUND)
        .replace('"name": "aten::add"', '"name": "aten::"add"', 101)
        .replace('"aten::"add"', '"aten::add"', 100)
    )
    reading = read(write(tmp_path / "t.json", text))
    assert reading.rows("SELECT count(*) FROM stage_host_op") == [(100,)]
    assert "not valid JSON after 100 events" in reading.said("damaged_file")[0]


@pytest.mark.parametrize(
    "change",
    [
        {"ts": "yesterday"}, {"ts": None}, {"ts": -5.5}, {"ts": [1]}, {"ts": 1e300}, {"ts": 9999999999999999},
        {"dur": -1}, {"dur": "long"}, {"dur": 1e30}, {"dur": 9e11},
    ],
)  # fmt: skip
def test_times_that_are_none(tmp_path: Path, change: dict[str, Any]) -> None:
    events = [op("aten::add", 5, 1), op("aten::mul", 7, 1) | change]
    reading = read(write(tmp_path / "t.json", trace(*events)))
    assert reading.rows("SELECT name FROM stage_host_op") == [("aten::add",)]
    assert reading.said("damaged_time") == ["t.json: 1 events have no usable time and were left out"]


@pytest.mark.parametrize(
    "change",
    [
        {"args": "text"}, {"args": None}, {"args": [1]}, {"name": {"a": 1}}, {"name": None}, {"tid": "stream 7"},
        {"args": {"device": "x", "stream": -1, "correlation": "many"}}, {"pid": [], "tid": {}}, {"cat": 5},
    ],
)  # fmt: skip
def test_values_of_a_wrong_type_cost_that_value(tmp_path: Path, change: dict[str, Any]) -> None:
    events = [op("aten::add", 5, 1), launch(1, 6), kernel(1, 8, 1), kernel(2, 10, 1) | change]
    reading = read(write(tmp_path / "t.json", trace(*events)))
    assert reading.rows("SELECT count(*) FROM stage_kernel WHERE launch_ns IS NOT NULL") == [(1,)]
    assert reading.rows("SELECT count(*) FROM stage_host_op") == [(1,)]


@pytest.mark.parametrize(
    "header",
    [
        {"distributedInfo": "x"}, {"distributedInfo": {"rank": "0", "pg_config": 5}},
        {"deviceProperties": [1, {}, {"name": 5}]}, {"distributedInfo": {"rank": -1}},
        {"distributedInfo": {"pg_config": [1, {"pg_name": None}, {"pg_name": 0, "ranks": "all"}]}},
        {"baseTimeNanoseconds": "now"}, {"baseTimeNanoseconds": 2**70}, {"host_name": ["a"]},
    ],
)  # fmt: skip
def test_a_header_of_wrong_types(tmp_path: Path, header: dict[str, Any]) -> None:
    (run,) = find_runs(write(tmp_path / "t.json", trace(op("aten::add", 5, 1), **header)))
    assert run.captures[0].rank is None
    assert read(tmp_path / "t.json").rows("SELECT count(*) FROM stage_host_op") == [(1,)]


def test_infinite_and_undefined_numbers(tmp_path: Path) -> None:
    text = json.dumps(trace(kernel(1, 5, 1, **{"memory bandwidth (GB/s)": 1.5, "warps per SM": 2.5})))
    reading = read(write(tmp_path / "t.json", text.replace("1.5", "Infinity").replace("2.5", "NaN")))
    assert reading.rows("SELECT count(*) FROM stage_kernel") == [(1,)]
    assert not reading.warnings


def test_a_broken_trace_beside_sound_ones(tmp_path: Path) -> None:
    # GIVEN two ranks, and two more of which nothing is left
    for rank in (0, 1):
        write(tmp_path / f"rank{rank}.pt.trace.json", trace(op("aten::add", 5, 1)))
    write(tmp_path / "rank2.pt.trace.json", b"")
    write(tmp_path / "rank3.pt.trace.json", b'{"schemaVersion": 1, "traceEvents": [')
    # WHEN they are read
    (run,) = find_runs(tmp_path)
    store = tmp_path / "out" / "s.duckdb"
    build_store(run, store, keep_events=True, threads=1)
    # THEN the sound ones count, and it is said which do not
    assert rows(store, "SELECT rank FROM capture ORDER BY 1") == [(0,), (1,)]
    said = [message for (message,) in rows(store, "SELECT message FROM finding WHERE severity = 'warning'")]
    assert sum("rank2.pt.trace.json" in message for message in said) == 1
    assert sum("rank3.pt.trace.json" in message for message in said) == 1


def test_an_event_of_many_megabytes(tmp_path: Path) -> None:
    events = [op("aten::add", 5, 1), op("aten::cat", 7, 1, **{"Call stack": "x" * (9 << 20)}), op("aten::mul", 9, 1)]
    reading = read(write(tmp_path / "t.json", trace(*events)))
    assert reading.rows("SELECT count(*) FROM stage_host_op") == [(3,)]
    assert not reading.warnings


def test_a_trace_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in (0, 1):
        write(tmp_path / f"rank{rank}.pt.trace.json", trace(op("aten::add", 5, 1)))

    def refuse(path: Path) -> CaptureInput:  # root may read everything, so file modes prove nothing here
        if path.name.startswith("rank0"):
            raise PermissionError(13, "Permission denied")
        return capture_of_trace(path)

    monkeypatch.setattr("rlcompare.sources.torch.source.capture_of_trace", refuse)
    (run,) = find_runs(tmp_path)
    assert [capture.rank for capture in run.captures] == [1]
    assert [finding.message for finding in run.findings] == ["rank0.pt.trace.json was left out: Permission denied"]


@pytest.mark.parametrize("kept", [1, 30, 60])
def test_the_message_names_the_file_and_no_copy_of_it(tmp_path: Path, kept: int) -> None:
    path = write(tmp_path / "cut.json", SOUND)
    text = path.read_bytes()
    path.write_bytes(text[: text.index(b'"traceEvents"') + len(b'"traceEvents": [') + kept])
    (run,) = find_runs(path)
    with pytest.raises(InputError) as caught:
        build_store(run, tmp_path / "s.duckdb", keep_events=False, threads=1)
    assert caught.value.path == path
    assert "rlcompare-" not in str(caught.value).replace(str(tmp_path), "")


@pytest.mark.parametrize(
    ("name", "length", "left", "device"),
    [
        ("aten::mm", 140, 0, False), ("aten::mm", 160, 1, False),
        ("nccl:all_reduce", 160, 0, False), ("nccl:all_reduce", 2_000_000, 1, False),
        ("aten::mm", 160, 0, True), ("aten::mm", 2_000_000, 1, True),
    ],
)  # fmt: skip
def test_an_operator_that_outlasts_its_step_by_far(
    tmp_path: Path, name: str, length: int, left: int, device: bool
) -> None:
    """Steps of 100 µs; the operator starts in the middle of the second one, in a trace of the host alone or not."""
    steps = [mark(f"ProfilerStep#{step}", 100 * step, 100) for step in (1, 2, 3)]
    events = [*steps, op("aten::add", 110, 20), op("aten::add", 310, 20), op(name, 250, length)]
    events += [launch(1, 120), kernel(1, 130, 5)] if device else []
    store = store_of(write(tmp_path / "t.json", trace(*events)), tmp_path / "s.duckdb")
    said = [message for (message,) in rows(store, "SELECT message FROM finding WHERE key = 'damaged_time'")]
    assert [f"(1; the longest is {name}, {length / 1e3:.3f} ms)" in message for message in said] == [True] * left
    assert rows(store, f"SELECT count(*) FROM r_operator WHERE name = '{name}'") == [(1 - left,)]


@pytest.mark.slow
def test_a_step_without_operators_has_no_copies_either_where_none_were_recorded(tmp_path: Path) -> None:
    events = [mark("ProfilerStep#1", 100, 100), op("aten::add", 110, 20), mark("ProfilerStep#2", 200, 100)]
    store = store_of(write(tmp_path / "t.json", trace(*events)), tmp_path / "s.duckdb")
    diff = compared(store, store)
    assert values(diff, "time.compute") == (0.01, 0.01)
    assert diff.metric("time.exposed_copy") is None
    assert diff.metric("time.idle") is None


@pytest.mark.slow
def test_modules_and_operators_without_a_name(tmp_path: Path) -> None:
    """The sides differ in an operator, so their sequences are compared."""
    stores = []
    for side, name in (("old", "aten::mul"), ("new", "aten::div")):
        modules = [span("python_function", f"nn.Module: {which}", 100, 90) for which in ("", "Linear_0")]
        operators = [op("", 110, 20), op(name, 140, 20)]
        content = trace(mark("ProfilerStep#1", 100, 100), *modules, *operators)
        stores.append(store_of(write(tmp_path / side / "t.json", content), tmp_path / f"{side}.duckdb"))
    rows_of = compared(*stores).sections["operators"].rows
    assert {"aten::mul", "aten::div"} <= {row["name"] for row in rows_of}


@pytest.mark.slow
def test_a_sound_trace_is_whole_wherever_the_bytes_that_are_searched_for_its_end_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among them an empty list of an event: that is not the list of events."""
    events = [op("aten::add", 10 * at, 5, **{"Input Dims": [[], [at]], "Input Strides": []}) for at in range(20)]
    path = write(tmp_path / "rank0.pt.trace.json", json.dumps({"traceEvents": events, "schemaVersion": 1}).encode())
    for tail in range(60, path.stat().st_size):
        monkeypatch.setattr("rlcompare.sources.torch.file._TAIL", tail)
        found = event_file(path, tmp_path)
        assert (json.loads(found.path.read_text()), found.damage) == (events, None), tail
