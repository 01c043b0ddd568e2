"""Damaged text files: invalid values, cut rows, traces of any form. Valid data is used, the rest is reported."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlcompare import resources
from rlcompare.model.run import CaptureInput
from rlcompare.sources import text_repair
from tests.sources.text_files import (
    PYTHON,
    names,
    read,
    read_capture,
    span,
    table,
    trace,
)
from tests.stores import rows, store_of

KERNELS = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim"
SOUND = "1,Add,Add,AI_VECTOR_CORE,1.000,1.000,0,1"


@pytest.fixture(scope="module")
def macros() -> duckdb.DuckDBPyConnection:
    """A connection that knows how values are printed."""
    con = duckdb.connect()
    for name in ("sources/macro/sound_values", "sources/ascend_text/text_values"):
        con.execute(resources.sql(name))
    return con


# --- values ---------------------------------------------------------------------------------------------------------


@given(ns=st.integers(0, 2**62), tail=st.sampled_from(["", "\t", "\r"]))
def test_times_keep_every_nanosecond(macros: duckdb.DuckDBPyConnection, ns: int, tail: str) -> None:
    text = f"{ns // 1000}.{ns % 1000:03d}{tail}"
    assert macros.execute("SELECT text_time_ns(?)", [text]).fetchone() == (ns,)


@given(st.decimals(0, Decimal("86400000000"), places=11))
def test_durations_are_rounded_to_the_nanosecond(macros: duckdb.DuckDBPyConnection, us: Decimal) -> None:
    (ns,) = macros.execute("SELECT text_length_ns(?)", [f"{us:f}"]).fetchone() or (None,)
    assert ns is not None
    assert abs(Decimal(ns) - us * 1000) <= Decimal("0.5")


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1736408883688177.930", 1736408883688177930),
        ("1736408883688177.930\t", 1736408883688177930),
        ("1699529622790614.8", 1699529622790614800),
        ("1736408883688177", 1736408883688177000),
        ("1.69512E+15", None),
        ("1.69512e+15", None),
        ("NaN", None),
        ("N/A", None),
        ("", None),
        ("-5.000", None),
        ("99999999999999999999.000", None),
        ("9999999999999999", None),
        ("1,736,408", None),
    ],
)
def test_times_are_read_exactly_or_not_at_all(macros: duckdb.DuckDBPyConnection, text: str, ns: int | None) -> None:
    assert macros.execute("SELECT text_time_ns(?)", [text]).fetchone() == (ns,)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("840.07675", 840077),
        ("0", 0),
        ("1e-05", 0),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("1e300", None),
        ("", None),
    ],
)
def test_durations_are_read_or_not_at_all(macros: duckdb.DuckDBPyConnection, text: str, ns: int | None) -> None:
    assert macros.execute("SELECT text_length_ns(?)", [text]).fetchone() == (ns,)


# --- damage of tables -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "kernels", "keys"),
    [
        pytest.param(table(KERNELS, SOUND, "1,Mul,Mul", SOUND + ",9"), 1, ["ragged_rows"], id="ragged"),
        pytest.param(table(KERNELS), 0, [], id="header only"),
        pytest.param("", 0, ["unreadable_file"], id="empty"),
        pytest.param(bytes(range(256)) * 40, 0, ["unreadable_file"], id="binary"),
        pytest.param("\n\n\n", 0, ["unreadable_file"], id="blank lines"),
        pytest.param(table("Name,Type", "Add,Add"), 0, ["unreadable_file"], id="columns missing"),
        pytest.param(table(KERNELS, SOUND).encode("utf-16"), 1, [], id="utf-16"),
        pytest.param(b"\xef\xbb\xbf" + table(KERNELS, SOUND).encode(), 1, [], id="byte order mark"),
        pytest.param(table(KERNELS, SOUND).encode().replace(b"Add,Add", b"\xc4d\xff,Add"), 1, [], id="no utf-8"),
        pytest.param(table(KERNELS, SOUND, SOUND).encode().replace(b"1.000", b"\x001.000", 1), 2, [], id="NUL"),
        pytest.param(
            table(KERNELS, SOUND, '1,"Mul,Mul,AI_CORE,1.000,1,0,1', SOUND), 2, ["ragged_rows"], id="open quote"
        ),
        pytest.param(table(KERNELS, SOUND, '1,"x"y,Mul,AI_CORE,1.000,1,0,1'), 2, [], id="stray quote"),
        pytest.param(table(KERNELS, SOUND)[:-12], 0, ["ragged_rows"], id="cut"),
        pytest.param(table(KERNELS + ",x" * 993, SOUND + ",1" * 993), 0, ["unreadable_file"], id="wide"),
        pytest.param(table(KERNELS + ",x" * 6000, SOUND + ",1" * 3000), 0, ["unreadable_file"], id="wide, ragged"),
        pytest.param(table(KERNELS + ",x" * 992, SOUND + ",1" * 992), 1, [], id="as wide as it may be"),
        pytest.param(table(KERNELS, SOUND, SOUND + ",9" * 6000, SOUND), 2, ["ragged_rows"], id="one wide row"),
    ],
)
def test_a_damaged_table_gives_what_is_sound(
    tmp_path: Path, content: str | bytes, kernels: int, keys: list[str]
) -> None:
    reading = read(
        tmp_path, {"kernel_details": content, "api_statistic": table("Level,API Name,Time(us),Count", "acl,a,1.5,1")}
    )
    assert reading.rows("SELECT count(*) FROM stage_kernel") == [(kernels,)]
    assert reading.warnings == keys
    # other files are read all the same
    assert reading.rows("SELECT name, total_ns FROM reported_api") == [("a", 1500)]
    for finding in reading.findings:
        assert "\n" not in finding.message
        assert finding.capture == 0


def test_too_many_columns_are_told(tmp_path: Path) -> None:
    reading = read(tmp_path, {"kernel_details": table(KERNELS + ",x" * 6000, SOUND + ",1" * 6000)})
    (message,) = reading.said("unreadable_file")
    assert message.startswith("kernel_details.csv: it has 6,008 columns; types, shapes and counters of kernels are not")


@pytest.mark.parametrize(
    ("lines", "multiline", "even"),
    [
        (["a,b"] + ["1,2"] * 100, False, True),
        (["a,b"], False, True),
        ([], False, True),
        (["a,b"] + ["1,2"] * 5000 + ["1"] * 5000, False, False),  # the second half
        (["a,b"] + ["1,2"] * 5000 + ["1"], False, True),
        (["a,b"] + ["1,2"] * 5000 + ["1" + ",2" * 3000], False, False),
        (["a,b"] + ['"1, in\nlines",2'] * 100, True, True),
        (["a,b"] + ['"1, in\nlines",2'] * 100, False, False),
        (["a,b", '"' + "1" * 5000 + '",2'], False, True),
    ],
)
def test_tables_that_duckdb_reads_slowly_are_found(
    tmp_path: Path, lines: list[str], multiline: bool, even: bool
) -> None:
    """Cells too many or too few are errors that hold the whole line: 30 rows of 6,000 cells took 5 GB and 40 s."""
    path = tmp_path / "t.csv"
    path.write_text("".join(f"{line}\n" for line in lines))
    assert text_repair.is_even(path, multiline=multiline) == even


def test_a_kernel_with_a_negative_duration_is_left_out(tmp_path: Path) -> None:
    negative = "3,Mul,Mul,AI_VECTOR_CORE,3.000,-2.5,0,1"
    reading = read(tmp_path, {"kernel_details": table(KERNELS, SOUND, negative)})

    assert reading.rows("SELECT name FROM stage_kernel") == [("Add",)]
    (message,) = reading.said("damaged_time")
    assert message.startswith("kernel_details.csv: 1 kernels have an invalid duration (Mul in step 3: -2.5 us)")


def test_a_step_with_a_negative_duration_has_no_time(tmp_path: Path) -> None:
    marks = [
        span(PYTHON, 1, f"ProfilerStep#{number}", f"{number}.000", us, "cpu_op") for number, us in ((4, 5), (5, -5))
    ]
    reading = read(tmp_path, {"kernel_details": table(KERNELS, SOUND), "trace_view": trace(names(), marks)})

    assert reading.rows("SELECT step, end_ns - start_ns FROM stage_step WHERE step > 1 ORDER BY step") == [
        (4, 5000),
        (5, None),
    ]
    (message,) = reading.said("damaged_time")
    assert "(ProfilerStep#5: -5 us)" in message


def test_a_step_that_only_the_sums_name_is_no_step_of_the_profile(tmp_path: Path) -> None:
    """Times are divided by the number of steps: with it, all of them would be half as long."""
    sums = table("Step,Computing,Free", "+7,1.000,2.000")
    reading = read(tmp_path, {"kernel_details": table(KERNELS, SOUND), "step_trace_time": sums})
    assert reading.rows("SELECT step FROM stage_step") == [(1,)]
    # AND where nothing else names steps, it does
    kernels = table(KERNELS.removeprefix("Step Id,"), SOUND.removeprefix("1,"))
    (tmp_path / "sums").mkdir()
    reading = read(tmp_path / "sums", {"kernel_details": kernels, "step_trace_time": sums})
    assert reading.rows("SELECT step FROM stage_step") == [(7,)]


def test_an_unreadable_file_is_named_with_what_is_lost_and_the_way_out(tmp_path: Path) -> None:
    reading = read(tmp_path, {"step_trace_time": table("a,b", "1,2")})
    (message,) = reading.said("unreadable_file")
    assert message.startswith("step_trace_time.csv: it has no column Computing, Free; the profiler's own step times")
    assert message.endswith("parse the profile again")


def test_a_file_that_went_away_is_said(tmp_path: Path) -> None:
    reading = read_capture(CaptureInput("ascend_text", tmp_path, {"kernel_details": tmp_path / "kernel_details.csv"}))
    (message,) = reading.said("unreadable_file")
    assert "No such file" in message


HOSTILE = [
    "</script><script>alert(1)</script>",
    "=cmd()|'x'!A1",
    "\x1b[31mred",
    "'; DROP TABLE kernel; --",
    "a\\u0000b",
    "名字",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_names(tmp_path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    files = {
        "kernel_details": table(KERNELS, f"1,{quoted},Add,AI_VECTOR_CORE,1.000,1,0,1"),
        "trace_view": trace(names(), span(PYTHON, 1, name, "1.000", 1, "cpu_op")),
    }
    reading = read(tmp_path, files)
    assert reading.rows("SELECT name FROM stage_kernel") == [(name,)]
    assert reading.rows("SELECT name FROM stage_host_op") == [(name,)]


@pytest.mark.parametrize("length", [1_000_000, 3_000_000])
def test_long_names_are_shortened(tmp_path: Path, length: int) -> None:
    files = {
        "kernel_details": table(KERNELS, f"1,{'x' * length},Add,AI_VECTOR_CORE,1.000,1,0,1"),
        "trace_view": trace(names(), span(PYTHON, 1, "y" * length, "1.000", 1, "cpu_op")),
    }
    reading = read(tmp_path, files)
    assert reading.rows("SELECT length(name) FROM stage_kernel") == [(10_000,)]
    assert reading.rows("SELECT length(name) FROM stage_host_op") == [(10_000,)]
    assert len(reading.said("shortened_text")) == 2


# --- trace_view.json: its form --------------------------------------------------------------------------------------

OPERATORS = [span(PYTHON, 1, f"aten::op{n}", f"{1000 + n}.500", 0.25, "cpu_op") for n in range(50)]
SOUND_TRACE = trace(names(), OPERATORS)


@pytest.mark.parametrize(
    ("content", "operators", "keys"),
    [
        pytest.param(SOUND_TRACE, 50, [], id="sound"),
        pytest.param(" \n" + SOUND_TRACE + "\n ", 50, [], id="white space"),
        pytest.param(b"\xef\xbb\xbf" + SOUND_TRACE.encode(), 50, [], id="byte order mark"),
        pytest.param(json.dumps(json.loads(SOUND_TRACE), indent=2), 50, [], id="indented"),
        pytest.param('{"traceEvents": ' + SOUND_TRACE + "}", 50, [], id="wrapped"),
        pytest.param(
            '{"schemaVersion": 1, "traceEvents":\n' + SOUND_TRACE + ', "displayTimeUnit": "ns", "x": [{"a": [1]}, {}]}',
            50,
            [],
            id="wrapped with keys around it",
        ),
        pytest.param('{"traceEvents": ' + SOUND_TRACE[:-20], 49, ["damaged_file"], id="wrapped and cut"),
        pytest.param(SOUND_TRACE[:-1], 50, ["damaged_file"], id="not closed"),
        pytest.param(SOUND_TRACE[:-2], 49, ["damaged_file"], id="last event not closed"),
        pytest.param(SOUND_TRACE[:-150], 48, ["damaged_file"], id="cut"),
        pytest.param(SOUND_TRACE.replace('op40"', "op40"), 40, ["damaged_file"], id="broken in the middle"),
        pytest.param(SOUND_TRACE.replace('"aten::op40"', "oops"), 40, ["damaged_file"], id="no JSON in the middle"),
        pytest.param(SOUND_TRACE[:-1] + ', true, null, 7, "x", []]', 50, [], id="elements that are no events"),
        pytest.param(SOUND_TRACE.encode("utf-16"), 50, [], id="utf-16"),
        pytest.param(SOUND_TRACE.encode().replace(b"op40", b"\xff\xfe"), 50, [], id="no utf-8"),
        pytest.param(SOUND_TRACE.replace("op40", "\\ud800"), 50, [], id="half a surrogate"),
        pytest.param("[]", 0, [], id="no events"),
        pytest.param("", 0, ["unreadable_file"], id="empty"),
        pytest.param("[", 0, ["unreadable_file"], id="bracket"),
        pytest.param('{"a": 1}', 0, ["unreadable_file"], id="another document"),
        pytest.param("hello", 0, ["unreadable_file"], id="no JSON"),
    ],
)
def test_a_trace_of_any_form_gives_its_complete_events(
    tmp_path: Path, content: str | bytes, operators: int, keys: list[str]
) -> None:
    before = sorted(tmp_path.iterdir())
    reading = read(tmp_path, {"trace_view": content, "kernel_details": table(KERNELS, SOUND)})
    assert reading.rows("SELECT count(*) FROM stage_host_op") == [(operators,)]
    assert reading.warnings == keys
    assert reading.rows("SELECT count(*) FROM stage_kernel") == [(1,)]
    # nothing is written beside the input
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernel_details.csv", "trace_view.json"]
    assert before == []


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(cut=st.integers(1, len(SOUND_TRACE) - 1))
def test_a_trace_cut_anywhere_gives_what_stands_before(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    # GIVEN the events that are complete before the cut, as Python's own decoder finds them
    decoder, position, complete = json.JSONDecoder(), 1, 0
    while True:
        try:
            event, position = decoder.raw_decode(SOUND_TRACE[:cut], position)
        except ValueError:
            break
        complete += event["ph"] == "X"
        position += 2
    reading = read(tmp_path_factory.mktemp("cut"), {"trace_view": SOUND_TRACE[:cut]})
    assert reading.rows("SELECT count(*) FROM stage_host_op") == [(complete,)]
    assert reading.warnings in (["damaged_file"], ["unreadable_file"])


def test_events_without_a_usable_time_are_left_out_and_counted(tmp_path: Path) -> None:
    events = [span(PYTHON, 1, "a", "1.69512E+15", 1, "cpu_op"), span(PYTHON, 1, "b", "5.000", 1, "cpu_op")]
    reading = read(tmp_path, {"trace_view": trace(names(), events)})
    assert reading.rows("SELECT name FROM stage_host_op") == [("b",)]
    assert reading.said("damaged_time")[0].startswith("trace_view.json: 1 event")


@pytest.mark.parametrize("ratio", ["1e300", "-1e300", "1e15", "9" * 400, "1.2"])
def test_a_counter_beyond_any_sense_counts_as_not_measured(tmp_path: Path, ratio: str) -> None:
    """It once made the whole profile unreadable: its product with a time did not fit into a BIGINT."""
    folder = tmp_path / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir()
    header = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),aic_mac_ratio,aic_mte2_ratio"
    lines = [f"1,Mm{n},MatMulV2,AI_CORE,{1000 + 10 * n}.000,5.000,{ratio if n else 0.5},0.25" for n in range(2)]
    (folder / "kernel_details.csv").write_text("\n".join([header, *lines, ""]))
    (folder / "l2_cache.csv").write_text(f"Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n2,1,{ratio},0.1,Mm1\n")
    store = store_of(folder, tmp_path / "run.duckdb")
    assert rows(
        store, "SELECT sum(counted_ns)::BIGINT, sum(cube_ns)::BIGINT, sum(l2_hit_ns)::BIGINT FROM r_kernel"
    ) in (
        [(5000, 2500, None)],
        [(10000, 2500, None)],
    )
