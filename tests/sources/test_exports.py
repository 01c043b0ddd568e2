"""Files of export_stacks and export_memory_timeline beside a profile: torch's own, torch_npu's form, damaged ones."""

from __future__ import annotations

import gzip
import json
import os
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest

from rlcompare.model.diff import Diff
from rlcompare.sources import exports
from rlcompare.sources.detect import find_runs
from rlcompare.writer import SampleRun, write_sample
from tests.sql.rollup_stores import compared, found
from tests.stores import rows, store_of, to_fill

CATEGORIES = [
    "parameter", "optimizer_state", "input", "temporary", "activation", "gradient", "autograd_detail", "unknown",
]  # fmt: skip


@pytest.fixture(scope="module")
def torchs_own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What torch.profiler exports of a step of a small model on the CPU, once per form."""
    import torch
    from torch._C._profiler import _ExperimentalConfig
    from torch.profiler import ProfilerActivity, profile

    folder = tmp_path_factory.mktemp("torch")
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64))
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        model(torch.randn(16, 64)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    step()
    with profile(
        activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True, with_stack=True,
        experimental_config=_ExperimentalConfig(verbose=True),
    ) as made:  # fmt: skip
        step()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch will drop it one day
        for form in ("json", "json.gz", "raw.json.gz"):
            made.export_memory_timeline(str(folder / f"memory_timeline.{form}"), device="cpu")
    made.export_chrome_trace(str(folder / "step.pt.trace.json"))
    made.export_stacks(str(folder / "stacks.txt"), "self_cpu_time_total")
    return folder


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture's folder; tests fill copies of it."""
    (folder, _) = write_sample(SampleRun(steps=(1,), layers=1, decode_steps=1), tmp_path_factory.mktemp("s"))
    return folder


def beside(sample: Path, target: Path, files: dict[str, bytes]) -> Path:
    """A capture with further files: the folder, by links to the sample's own."""
    target.mkdir(parents=True)
    for path in sample.iterdir():
        if path.is_file():
            (target / path.name).symlink_to(path)
    (target / "ASCEND_PROFILER_OUTPUT").mkdir()
    for path in (sample / "ASCEND_PROFILER_OUTPUT").iterdir():
        (target / "ASCEND_PROFILER_OUTPUT" / path.name).symlink_to(path)
    for name, content in files.items():
        (target / name).write_bytes(content)
    return target


def read(sample: Path, tmp_path: Path, files: dict[str, bytes], name: str = "run") -> Path:
    return store_of(beside(sample, tmp_path / f"{name}_ascend_pt", files), tmp_path / f"{name}.duckdb")


def categories(store: Path) -> dict[str, tuple[int, int]]:
    """Peak and mean by category."""
    return {
        name: (peak, mean)
        for name, peak, mean in rows(store, "SELECT category, peak_bytes, mean_bytes FROM memory_category")
    }


def said(store: Path) -> list[str]:
    return [text for (text,) in rows(store, "SELECT message FROM finding WHERE key LIKE '%export'")]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "json.gz", "raw.json.gz"])
def test_torchs_timeline_tells_the_bytes_of_parameters_and_optimizer(
    sample: Path, torchs_own: Path, tmp_path: Path, form: str
) -> None:
    name = f"memory_timeline.{form}"
    made = categories(read(sample, tmp_path, {name: (torchs_own / name).read_bytes()}))
    weights = 4 * (64 * 128 + 128 + 128 * 64 + 64)
    assert list(made) == CATEGORIES
    assert made["parameter"] == (weights, weights)
    assert made["optimizer_state"][0] == 2 * weights + 4 * 4  # two moments, and a step count per parameter
    assert made["gradient"][0] == weights and 0 < made["gradient"][1] < weights
    assert made["input"][0] == 4 * 16 * 64
    # AND the peaks are those of torch's own list, whatever the form
    _, sizes = json.loads((torchs_own / "memory_timeline.json").read_text())
    assert [peak for peak, _ in made.values()] == [max(point[1 + place] for point in sizes) for place in range(8)]


@pytest.mark.slow
def test_a_mean_is_over_time(sample: Path, tmp_path: Path) -> None:
    """100 bytes all the time; 50 bytes for one of three microseconds; the last size holds for no time."""
    size = [0, 100, 0, 0, 0, 0, 0, 0, 0]
    more = [0, 100, 0, 50, 0, 0, 0, 0, 0]
    plotted = json.dumps([[1, 2, 3, 4], [size, more, size, more]]).encode()
    raw = json.dumps([[-1, 0, 100, 0], [1000, 1, 0, 2], [2000, 1, 50, 2], [3000, 3, -50, 2], [4000, 1, 50, 2]]).encode()
    for number, file in enumerate(
        [{"memory_timeline.json": plotted}, {"mem_timeline.raw.json.gz": gzip.compress(raw)}]
    ):
        made = categories(read(sample, tmp_path, file, f"run{number}"))
        assert (made["parameter"], made["input"], made["unknown"]) == ((100, 100), (50, 17), (0, 0))


@pytest.mark.slow
def test_a_negative_size_is_left_out(sample: Path, tmp_path: Path) -> None:
    size = [0, 100, 0, 0, 0, 0, 0, 0, 0]
    damaged = [0, 100, 0, -50, 0, 0, 0, 0, 0]
    file = {"memory_timeline.json": json.dumps([[1, 2, 3], [size, damaged, size]]).encode()}
    store = read(sample, tmp_path, file)
    assert (categories(store)["parameter"], categories(store)["input"]) == ((100, 100), (0, 0))
    (message,) = said(store)
    assert "1 of 24 sizes were left out: they are negative" in message


def test_beside_torchs_one_trace_they_are_its(torchs_own: Path, tmp_path: Path) -> None:
    (run,) = find_runs(torchs_own)
    assert sorted(run.captures[0].files) == ["memory_timeline", "stacks", "trace"]
    assert len(categories(store_of(torchs_own, tmp_path / "run.duckdb"))) == 8
    # AND of two traces, none says which they are of
    for name in ("step.pt.trace.json", "stacks.txt"):
        (tmp_path / "two").mkdir(exist_ok=True)
        (tmp_path / "two" / name).write_bytes((torchs_own / name).read_bytes())
    (tmp_path / "two" / "next.pt.trace.json").write_bytes((torchs_own / "step.pt.trace.json").read_bytes())
    captures = [capture for run in find_runs(tmp_path / "two") for capture in run.captures]
    assert [sorted(capture.files) for capture in captures] == [["trace"], ["trace"]]


@pytest.mark.slow
def test_torchs_stacks_are_summed_by_stack(sample: Path, torchs_own: Path, tmp_path: Path) -> None:
    lines = (torchs_own / "stacks.txt").read_text().splitlines()
    store = read(sample, tmp_path, {"stacks.txt": (torchs_own / "stacks.txt").read_bytes()})
    ((stacks, operators, time_ns),) = rows(store, "SELECT count(*), sum(operators), sum(self_ns) FROM exported_stack")
    assert 1 < stacks < operators == len(lines)
    assert time_ns == 1000 * sum(int(line.rsplit(" ", 1)[1]) for line in lines)
    assert said(store) == []
    linear = rows(store, "SELECT frame, callers FROM r_stack WHERE frame LIKE '%built-in%linear%'")
    assert linear and all(
        "torch/nn/modules/linear.py" in callers and " at 0x" not in frame for frame, callers in linear
    )


@pytest.mark.slow
def test_torch_npus_stacks_lose_what_is_of_one_machine(sample: Path, tmp_path: Path) -> None:
    """torch_npu leaves blanks in frames, and no line end behind the last (_stack_view_parser.py)."""
    packages = "/usr/lib/python3.11/site-packages"
    lines = [
        f"/root/train.py(1): <module>;/home/somebody/work/verl/workers/actor/dp_actor.py(12): update;"
        f"{packages}/torch/nn/modules/linear.py(125): forward;<built-in method add of type object at 0x7f12ab> 12",
        "/home/other/train.py(1): <module>;/data/verl/workers/actor/dp_actor.py(12): update;"
        "/opt/dist-packages/torch/nn/modules/linear.py(125): forward;<built-in method add of type object at 0x99> 30",
        "/home/other/train.py(1): <module> 7",
    ]
    store = read(sample, tmp_path, {"stacks.log": "\n".join(lines).encode()})
    add = "<built-in method add of type object>"
    whole = (
        f"train.py(1): <module>;workers/actor/dp_actor.py(12): update;torch/nn/modules/linear.py(125): forward;{add}"
    )
    assert rows(store, "SELECT frames, operators, self_ns FROM exported_stack ORDER BY self_ns") == [
        ("train.py(1): <module>", 1, 7_000),
        (whole, 2, 42_000),
    ]
    assert rows(store, "SELECT frame, callers, self_ns FROM r_stack ORDER BY self_ns DESC") == [
        (add, "torch/nn/modules/linear.py(125): forward < workers/actor/dp_actor.py(12): update", 42_000),
        ("train.py(1): <module>", "", 7_000),
    ]


@pytest.mark.slow
def test_lines_that_are_no_stacks_are_counted(sample: Path, tmp_path: Path) -> None:
    content = b"a;b 5\nno number\nbad \xff;x 5\n" + b"y" * 3_000_000 + b" 5\na;\"c', d 4\r\na;b 99999999999999\na;b 6"
    store = read(sample, tmp_path, {"stacks.log": content})
    assert rows(store, "SELECT frames, self_ns FROM exported_stack ORDER BY frames") == [
        ("a;\"c', d", 4000),
        ("a;b", 11_000),
    ]
    (message,) = said(store)
    assert message.startswith("stacks.log: 4 of 7 lines were left out")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("stacks.log", b"\x00\x01\x02", "no line has a call stack and its time"),
        ("stacks.log", b"", "the file is empty"),
        ("memory_timeline.json", b"", "the file is empty"),
        ("memory_timeline.json", b"[[1, 2], [[0, 0, 0,", "Malformed JSON"),
        ("memory_timeline.json", b"[" * 100_000, "Malformed JSON"),
        ("memory_timeline.json", b'{"a": 1}', "Expected ARRAY"),
        ("memory_timeline.json", b"[[], []]", "no memory of the requested device"),
        ("memory_timeline.json", b"[[1, 2], [[0, 0, 0, 0, 0, 0, 0, 0, 0]]]", "2 times and 1 sizes"),
        ("memory_timeline.json", b"[[1], [[0, 7]]]", "2 sizes at a time, not 9"),
        ("memory_timeline.json", b'[[1], [[0, 0, 0, 0, 0, 0, 0, 0, "x"]]]', "Failed to cast"),
        ("memory_timeline.raw.json.gz", gzip.compress(b"[[1, 1, 5, 8]]", mtime=0), "it has an invalid event"),
        ("memory_timeline.json.gz", b"\x1f\x8b123", "GZIP"),
        ("memory_timeline.html", b"<html>", "it is an image; export it as .json"),
    ],
)
def test_what_is_damaged_is_said_and_left_out(
    sample: Path, tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    (run,) = find_runs(beside(sample, tmp_path / "run_ascend_pt", {name: content}))
    findings = [finding for finding in run.findings if finding.key.endswith("export")]
    with to_fill() as con:
        exports.fill(con, run.captures[0], 0, findings.append)
        assert con.execute("SELECT count(*) FROM memory_category").fetchall() == [(0,)]
        assert con.execute("SELECT count(*) FROM exported_stack").fetchall() == [(0,)]
    (finding,) = findings
    assert name in finding.message and problem in finding.message and str(tmp_path) not in finding.message


def test_damaged_files_leave_the_profile(sample: Path, tmp_path: Path) -> None:
    store = read(sample, tmp_path, {"stacks.log": b"", "memory_timeline.json": b"[[1, 2], [[0, 0, 0,"})
    timeline, stacks = sorted(said(store))
    assert "Malformed JSON" in timeline and "the file is empty" in stacks
    assert rows(store, "SELECT count(*) > 0 FROM kernel") == [(True,)]


def test_stacks_larger_than_a_gibibyte_are_left_out(sample: Path, tmp_path: Path) -> None:
    folder = beside(sample, tmp_path / "run_ascend_pt", {"stacks.log": b"a;b 9"})
    os.truncate(folder / "stacks.log", 2**30 + 1)
    (message,) = said(store_of(folder, tmp_path / "run.duckdb"))
    assert message.startswith("stacks.log: it was left out: it is larger than 1 GiB")


@pytest.mark.slow
def test_of_several_the_readable_one_counts(sample: Path, tmp_path: Path) -> None:
    folder = beside(
        sample,
        tmp_path / "run_ascend_pt",
        {
            "memory_timeline.html": b"<html>",
            "memory_timeline.json": b"[[1], [[0, 7, 0, 0, 0, 0, 0, 0, 0]]]",
            "ASCEND_PROFILER_OUTPUT/npu_stacks.txt": b"a;b 5",
            "ASCEND_PROFILER_OUTPUT/stacks.log": b"a;b 9",
        },
    )
    (run,) = find_runs(folder)
    files = run.captures[0].files
    assert (files["memory_timeline"].name, files["stacks"].name) == ("memory_timeline.json", "npu_stacks.txt")
    store = store_of(folder, tmp_path / "run.duckdb")
    assert [message.split(" was left out: ")[0] for message in said(store)] == ["stacks.log", "memory_timeline.html"]
    assert categories(store)["parameter"] == (7, 7)
    assert rows(store, "SELECT self_ns FROM r_stack") == [(5000,)]


def timeline(*levels: Sequence[int]) -> bytes:
    return json.dumps([list(range(len(levels))), [[0, *level] for level in levels]]).encode()


@pytest.fixture
def known(sample: Path, tmp_path: Path) -> Diff:
    """Two captures of one step: in the new one activations doubled, one stack is slower, one gone and one added."""
    old = {
        "memory_timeline.json": timeline([1000, 0, 0, 0, 10, 0, 0, 0], [1000, 0, 0, 0, 500, 40, 0, 0]),
        "stacks.log": b"m;f;g;h 100\nm;f;g;h 20\nm;x 30",
    }
    new = {
        "memory_timeline.json": timeline([1000, 0, 0, 0, 10, 0, 0, 0], [1000, 0, 0, 0, 1000, 0, 0, 0]),
        "stacks.log": b"m;f;g;h 400\nq;f;g;h 50\nm;\x1b[31m<script>alert(1)</script> 25",
    }
    return compared(read(sample, tmp_path, old, "old"), read(sample, tmp_path, new, "new"))


@pytest.mark.slow
def test_a_diff_says_which_stacks_and_categories_grew(known: Diff) -> None:
    grown = found(known, "stacks", "h", callers="g < f")
    assert (grown["baseline"], grown["new"], grown["delta"]) == (0.12, 0.45, pytest.approx(0.33))
    assert (grown["baseline_calls"], grown["new_calls"]) == (2, 2)
    assert known.sections["stacks"].rows[0] == grown
    gone = found(known, "stacks", "x", callers="m")
    assert (gone["presence"], gone["baseline"], gone["new"]) == ("baseline_only", 0.03, 0.0)
    # AND categories that neither side uses are not listed
    listed = [
        (row["name"], row["baseline"], row["new"], row["delta"]) for row in known.sections["memory_categories"].rows
    ]
    assert listed == [
        ("activation", 500.0, 1000.0, 500.0),
        ("gradient", 40.0, 0.0, -40.0),
        ("parameter", 1000.0, 1000.0, 0.0),
    ]
    assert found(known, "memory_categories", "activation")["new_mean_bytes"] == 10.0


@pytest.mark.slow
def test_every_renderer_shows_them_and_frames_stay_text(known: Diff) -> None:
    from rlcompare.report.csv_files import csv_texts
    from rlcompare.report.html import render_html
    from rlcompare.report.markdown import render_markdown
    from rlcompare.report.terminal import table_lines
    from rlcompare.report.view import build_view

    view = build_view(known, None, version="0.0")
    shown = {"html": render_html(view), "markdown": render_markdown(view), "terminal": "\n".join(table_lines(view))}
    for form, text in shown.items():
        assert "Memory by category of tensor" in text and "Call stacks" in text, form
        assert "activation" in text and "\x1b" not in text, form
        assert form == "terminal" or "<script>alert" not in text, form
    assert {"stacks.csv", "memory_categories.csv"} <= csv_texts(known).keys()


@pytest.mark.slow
def test_a_side_without_exports_is_unknown_and_not_nought(sample: Path, tmp_path: Path) -> None:
    new = {"memory_timeline.json": timeline([5, 0, 0, 0, 0, 0, 0, 0]), "stacks.log": b"a;b 5"}
    diff = compared(read(sample, tmp_path, {}, "old"), read(sample, tmp_path, new, "new"))
    for section, name in (("stacks", "b"), ("memory_categories", "parameter")):
        row = found(diff, section, name)
        assert (row["baseline"], row["delta"], row["presence"]) == (None, None, "new_only")


@pytest.mark.slow
def test_show_lists_what_takes_most(sample: Path, tmp_path: Path) -> None:
    import duckdb

    from rlcompare.app.sections import sections_of

    levels = timeline([9 << 20, 0, 0, 0, 0, 0, 0, 0], [1 << 20, 0, 0, 0, 0, 0, 0, 2 << 20])
    store = read(sample, tmp_path, {"memory_timeline.json": levels, "stacks.log": b"m;f;g;h 100\nm;f;g;h 20\nm;x 300"})
    with duckdb.connect(str(store), read_only=True) as con:
        shown = {name: rows for name, _, rows in sections_of(con)}
    assert shown["stacks"] == [("x", "m", 1.0, 0.3), ("h", "g < f", 2.0, pytest.approx(0.12))]
    assert [row[:2] for row in shown["memory_categories"]] == [("parameter", 9.0), ("unknown", 2.0)]
