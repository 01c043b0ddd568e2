"""Sequences of operators in stores, and what a comparison says about them."""

from __future__ import annotations

import gzip
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rlcompare.compare import CompareOptions, records
from rlcompare.compare.rollups import Rollups
from rlcompare.compare.sequences import find_edits
from tests.sources.torch_traces import BACKWARD, Event, kernel, launch, mark, op, span, trace, write
from tests.sql.rollup_stores import compared, side
from tests.stores import rows, store_of

LAYERS, OPERATORS = 40, 115


def sequence(store: Path) -> list[tuple[str, str, int | None]]:
    """The only sequence of a store: kind, name and depth of each token."""
    ((kinds, names, depths, tokens),) = rows(store, "SELECT kinds, names, depths, tokens FROM r_sequence")
    found = [*zip(kinds, names, depths, strict=True)]
    return [found[token] for token in tokens]


def store(path: Path, *events: Event) -> Path:
    return store_of(write(path.with_suffix(".json"), trace(*events)), path.with_suffix(".duckdb"), keep_events=False)


def module(name: str, start: float, length: float) -> Event:
    return span("python_function", f"nn.Module: {name}", start, length)


def test_threads_modules_and_operators_in_their_order(tmp_path: Path) -> None:
    """The thread that runs the steps comes first, though autograd's has more operators. One has no length."""
    made = store(
        tmp_path / "a",
        mark("ProfilerStep#3", 0, 100), op("b", 60, 5, BACKWARD), op("b", 70, 5, BACKWARD), op("c", 71, 2, BACKWARD),
        op("d", 80, 2, BACKWARD), op("d", 90, 2, BACKWARD),
        op("outer", 1, 50), op("inner", 1, 10), module("Linear_0", 20, 10), op("mm", 20, 10), op("none", 30, 0),
        op("late", 200, 5), launch(1, 2), kernel(1, 10, 50),
    )  # fmt: skip
    assert sequence(made) == [
        ("thread", "", None), ("operator", "outer", 1), ("operator", "inner", 2), ("module", "Linear_0", None),
        ("operator", "mm", 2), ("end", "Linear_0", None), ("operator", "none", None),
        ("thread", "", None), ("operator", "b", 1), ("operator", "b", 1), ("operator", "c", 2),
        ("operator", "d", 1), ("operator", "d", 1),
    ]  # fmt: skip


def test_a_typical_step_stands_for_those_that_call_the_same_operators(tmp_path: Path) -> None:
    steps = [mark(f"ProfilerStep#{step}", 100 * step, 100) for step in range(1, 6)]
    calls = {1: "abc", 2: "ab", 3: "ba", 4: "ab", 5: "abb"}
    operators = [
        op(name, 100 * step + 10 * place, 5) for step, names in calls.items() for place, name in enumerate(names, 1)
    ]
    made = store(tmp_path / "a", *steps, *operators, launch(1, 101), kernel(1, 110, 5))
    assert rows(made, "SELECT steps FROM r_sequence") == [([2, 3, 4],)]
    assert [name for _, name, _ in sequence(made)] == ["", "a", "b"]


def of_trace(path: Path) -> list[tuple[str, int]]:
    """Names and depths of the operators of a trace of one thread and step, by a stack."""
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    calls = [event for event in events if event.get("cat") == "cpu_op"]
    assert len({event["tid"] for event in calls}) == 1
    spans = [(round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000), event["name"]) for event in calls]
    found: list[tuple[str, int]] = []
    ends: list[int] = []
    for start, end, name in sorted(spans, key=lambda one: (one[0], -one[1])):
        ends = [other for other in ends if other > start]
        ends.append(end)
        found.append((name, len(ends)))
    return found


@pytest.mark.parametrize("vendor", ["h100", "mi300"])
def test_the_sequence_of_a_real_trace(shared: Path, tmp_path: Path, vendor: str) -> None:
    (path,) = (shared / "profiles" / "gpu-h100-vs-mi300-dev" / vendor).glob("*bert*")
    made = sequence(store_of(path, tmp_path / "store.duckdb", keep_events=False))
    assert [(name, depth) for kind, name, depth in made if kind == "operator"] == of_trace(path)
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    modules = Counter(event["name"] for event in events if str(event.get("name")).startswith("nn.Module: "))
    for wanted in ("module", "end"):
        assert Counter(f"nn.Module: {name}" for kind, name, _ in made if kind == wanted) == modules


def test_text_and_database_of_one_run_have_the_same_sequence(ascend_910b: Path, tmp_path: Path) -> None:
    found = [
        rows(
            store_of(ascend_910b / kind / "level1" / "rank0_ascend_pt", tmp_path / f"{kind}.duckdb"), "FROM r_sequence"
        )
        for kind in ("db", "text")
    ]
    assert found[0] == found[1]
    assert len(found[0][0][5]) > 800


@pytest.mark.slow
def test_a_run_has_no_edits_against_itself(ascend_910b: Path, tmp_path: Path) -> None:
    path = store_of(ascend_910b / "db" / "level1" / "rank0_ascend_pt", tmp_path / "a.duckdb", keep_events=False)
    with Rollups(side("a", path), side("b", path), CompareOptions()) as rollups:
        assert rollups.rows(records.AlignedPair) == []
    assert not any("place" in row for row in compared(path, path).sections["operators"].rows)


def decoder(path: Path, *, added: bool) -> Path:
    """40 layers of 115 operators, of which two launch a kernel; and one more in each layer, with a kernel of 200 µs."""
    events: list[Event] = []
    at, number = 10.0, 0

    def call(name: str, length: float, inner: int = 0) -> None:
        nonlocal at, number
        number += 1
        events.extend(
            [op(name, at, 4.0 + 4 * inner), launch(number, at + 1), kernel(number, device, length, f"{name}_kernel")]
        )
        events.extend(op("aten::view", at + 2 + 2 * place, 1) for place in range(inner))
        at += 8 + 4 * inner

    device = 20.0
    for layer in range(LAYERS):
        start = at
        for place in range(OPERATORS - 1 - 12):
            events.append(op(f"aten::small_{place % 7}", at, 1))
            at += 2
        device = max(device, at)
        call("aten::mm", 30, inner=12)
        device += 60
        if added:
            call("aten::clamp", 200)
            device += 260
        events.append(module(f"Decoder_{layer}", start - 1, at - start))
    steps = [mark("ProfilerStep#1", 0, max(at, device) + 100)]
    return store(path, *steps, *events)


@pytest.mark.slow
def test_forty_layers_with_an_operator_more_in_each(tmp_path: Path) -> None:
    old, new = decoder(tmp_path / "old", added=False), decoder(tmp_path / "new", added=True)
    with Rollups(side("old", old), side("new", new), CompareOptions()) as rollups:
        pairs, texts = rollups.rows(records.AlignedPair), rollups.rows(records.SequenceText)
    assert [sum(text.kinds[token] == "operator" for token in text.tokens) for text in texts].count(
        LAYERS * OPERATORS
    ) == 1
    started = time.perf_counter()
    edits = find_edits(pairs, texts)
    assert time.perf_counter() - started < 1
    (edit,) = edits.all
    assert (edit.gone, [branch.operators for branch in edit.new], edit.times) == ((), [("aten::clamp",)], LAYERS)
    diff = compared(old, new)
    place = "after aten::mm in Decoder.* (40 places)"
    assert f"aten::clamp was added {place}" in diff.causes[0].text
    by_name: dict[Any, Any] = {row["name"]: row for row in diff.sections["operators"].rows}
    assert {name: row["place"] for name, row in by_name.items() if row["place"]} == {"aten::clamp": place}
    assert all(row["presence"] == "both" for name, row in by_name.items() if name != "aten::clamp")
    back = compared(new, old)
    assert f"aten::clamp was removed {place}" in back.causes[0].text


@pytest.mark.slow
def test_kernels_of_operators_in_one_place_are_netted(tmp_path: Path) -> None:
    """A fused operator becomes three, launched by other operators; other operators come elsewhere at the same time."""

    def made(name: str, calls: list[tuple[str, str, float]]) -> Path:
        events, at, device = [], 10.0, 20.0
        for number, (operator, kind, length) in enumerate(calls * 12):
            events += [op(operator, at, 4), launch(number, at + 1), kernel(number, device, length, kind)]
            at, device = at + 5, max(device + length, at + 5) + 1
        return store(tmp_path / name, mark("ProfilerStep#1", 0, max(at, device) + 10), *events)

    around = [("aten::mm", "gemm", 50.0), ("aten::add", "add", 20.0)]
    old = made("old", [around[0], ("npu::fused", "flash", 60.0), around[1]])
    elsewhere = ("aten::dropout", "dropout", 40.0)
    came = [("aten::bmm", "bmm", 70.0), ("aten::softmax", "softmax", 90.0), ("aten::bmm", "bmm", 70.0)]
    new = made("new", [around[0], *came, around[1], elsewhere])
    first, second = compared(old, new).causes
    assert (first.what, first.share) == ("replaced", pytest.approx(170 / 210, abs=0.05))
    assert first.text.startswith("flash → bmm + softmax: ")
    assert "dropout is new: 12 calls" in second.text
    assert "as aten::dropout was added after aten::add (12 places)" in second.text
