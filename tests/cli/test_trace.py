"""``--format trace``: a file that Perfetto and MindStudio Insight can show, with what the profiles hold."""

from __future__ import annotations

import gzip
import json
import random
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rlcompare import db, resources
from rlcompare.compare import trace

from .conftest import Command

Event = dict[str, Any]


def document_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress((folder / "trace.json.gz").read_bytes()))
    return found


def spans_of(document: dict[str, Any]) -> list[Event]:
    """The spans, after a check of what the format asks of all events."""
    events: list[Event] = document["traceEvents"]
    named = {(event["name"], event["pid"], event["tid"]) for event in events if event["ph"] == "M"}
    assert len(named) == sum(event["ph"] == "M" for event in events)
    spans = [event for event in events if event["ph"] == "X"]
    assert len(events) == len(named) + len(spans)
    assert [event["ts"] for event in events] == sorted(event["ts"] for event in events)
    for event in spans:
        assert event["ts"] >= 0 <= event["dur"] and isinstance(event["name"], str) and isinstance(event["args"], dict)
        assert ("process_name", event["pid"], 0) in named
        assert ("thread_name", event["pid"], event["tid"]) in named
    assert overlaps(spans) == []
    return spans


def overlaps(spans: list[Event]) -> list[tuple[Event, Event]]:
    """Neighbours of one lane of which the second begins before the first ends, in whole nanoseconds."""
    lanes: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in spans:
        lanes[event["pid"], event["tid"]].append(event)
    return [
        (one, two)
        for lane in lanes.values()
        for one, two in pairwise(lane)
        if round(two["ts"] * 1000) < round(one["ts"] * 1000) + round(one["dur"] * 1000)
    ]


def names(document: dict[str, Any], what: str) -> list[str]:
    return [event["args"]["name"] for event in document["traceEvents"] if event["name"] == what]


@pytest.mark.slow
def test_both_sides_side_by_side(rlcompare: Command, samples: Path) -> None:
    result = rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", "--step", 3, "--format", "trace")

    assert (result.code, result.err) == (0, "")
    document = document_of(Path("rlcompare-out"))
    spans = spans_of(document)
    assert names(document, "process_name") == ["baseline rank 0", "new rank 0", "baseline rank 1", "new rank 1"]
    assert document["otherData"]["new"] == {"label": "new", "run": "new", "step": "3", "ranks": "2 of 2"}
    assert {event["cat"] for event in spans} >= {"phase", "compute", "comm", "launch"}
    starts = defaultdict(list)
    for event in spans:
        starts[event["pid"] % 2000].append(event["ts"])
    assert min(starts[0]) == min(starts[1000])
    # The new side was written with MatMulV2 taking 1.3 times as long, on both ranks, as often.
    durations: dict[int, list[float]] = defaultdict(list)
    for event in spans:
        if event["name"] == "MatMulV2" and event["cat"] == "compute":
            durations[event["pid"]].append(event["dur"])
            assert event["args"]["phase"] and event["args"]["step"] == 3 and event["args"]["input_shapes"]
    assert len({len(found) for found in durations.values()}) == 1
    for baseline, new in ((1000, 2000), (3000, 4000)):
        assert sum(durations[new]) / sum(durations[baseline]) == pytest.approx(1.3, rel=0.02)


@pytest.mark.slow
def test_it_holds_every_kernel_of_a_real_trace(rlcompare: Command, profiles: Path) -> None:
    """GIVEN the DLRM trace of rank 1: all kernels launched in its step start and last as its JSON says."""
    file = next((profiles / "gpu-dlrm-8rank").glob("worker1_*.json"))
    result = rlcompare("diff", "-d", file, "-bp", file, "--format", "trace", "-o", "out")

    assert result.code == 0
    spans = spans_of(document_of(Path("out")))
    events = [event for event in json.loads(file.read_bytes())["traceEvents"] if event.get("ph") == "X"]
    (step,) = [event for event in events if event["name"].startswith("ProfilerStep#")]
    end = step["ts"] + step["dur"]
    calls = (event for event in events if event.get("cat") == "cuda_runtime" and step["ts"] <= event["ts"] < end)
    launched = {event["args"].get("correlation") for event in calls}
    kernels = [e for e in events if e.get("cat") == "kernel" and e["args"]["correlation"] in launched]
    expected = sorted((round(event["ts"] - step["ts"]), event["dur"]) for event in kernels)
    for pid in (1000, 2000):
        shift = next(event["ts"] for event in spans if event["pid"] == pid and event["cat"] == "step")
        own = [event for event in spans if event["pid"] == pid and event["cat"] in ("compute", "comm")]
        assert sorted((round(event["ts"] - shift), event["dur"]) for event in own) == expected


@pytest.mark.parametrize("seed", range(3))
def test_spans_of_a_lane_never_overlap(tmp_path: Path, seed: int) -> None:
    """GIVEN spans that overlap in every way, with hostile names: as few lanes as can be, and all names kept."""
    draw = random.Random(seed)
    hostile = ["</script>", '"\\', "\x00\x1b\n\u2028", "\u202eabc", "'; DROP TABLE kernel; --", "名" * 400]
    items = [(draw.randrange(400), draw.choice((0, 1, 5, 60)), draw.choice(hostile)) for _ in range(300)]
    items += [(number * 5, 10, "stairs") for number in range(80)]
    con = db.connect(1)
    for name in ("trace_event", "trace_args"):
        con.execute(resources.sql(f"trace/{name}"))
    con.executemany(
        "INSERT INTO trace_event VALUES ('new', 'rank 0', 1, 'compute', 'compute', 0, ?, ?, ?, '')",
        [(name, start, start + length) for start, length, name in items],
    )
    con.execute("INSERT INTO trace_start VALUES ('new', 5)")
    trace._lanes(con, {})
    trace._write(con, tmp_path / "trace.json.gz", '{"traceEvents":[\n')

    spans = spans_of(document_of(tmp_path))
    found = sorted((round(event["ts"] * 1000), round(event["dur"] * 1000), event["name"]) for event in spans)
    first = min(start for start, _, _ in items)
    assert found == sorted((start - min(first, 5), length, name) for start, length, name in items)
    most = max(sum(start <= at < start + max(length, 1) for start, length, _ in items) for at in range(800))
    assert len({event["tid"] for event in spans}) == most


@pytest.mark.slow
def test_what_is_left_out_is_said(rlcompare: Command, samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "MOST_SPANS", 50)
    result = rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", "--format", "trace")

    document = document_of(Path("rlcompare-out"))
    left_out = document["otherData"]["left out"]
    assert result.err.splitlines() == [f"rlcompare: trace: {sentence}" for sentence in left_out]
    assert [sentence.split(":")[0] for sentence in left_out] == ["baseline", "new", "baseline", "new"]
    assert "1 of 2 ranks" in left_out[0] and "spans: the shortest" in left_out[2]
    assert len(spans_of(document)) == 100
    assert document["otherData"]["baseline"]["step"].endswith("the typical one of 2")


@pytest.mark.slow
def test_a_rank_of_several_captures_is_one_process(rlcompare: Command, tmp_path: Path) -> None:
    """GIVEN verl's folders, one a phase."""
    options = ("--mode", "discrete", "--layout", "verl", "--layers", "1", "--decode-steps", "2")
    phases = ("--phases", "compute_log_prob,update_actor")
    assert rlcompare("sample", "-o", tmp_path / "base", *options, *phases).code == 0
    result = rlcompare("diff", "-d", tmp_path / "base", "-bp", tmp_path / "base", "--format", "trace")

    assert result.code == 0
    document = document_of(Path("rlcompare-out"))
    assert names(document, "process_name") == ["baseline rank 0", "new rank 0", "baseline rank 1", "new rank 1"]
    phase_of = {event["args"]["phase"] for event in spans_of(document) if event["cat"] == "compute"}
    assert phase_of == {"old_log_prob", "update_actor"}


@pytest.mark.slow
def test_stores_without_events_are_not_drawn(rlcompare: Command, samples: Path) -> None:
    assert rlcompare("diff", "-d", samples / "new", "-bp", samples / "base", "--cache-dir", "cache").code == 0
    store = next(Path("cache").glob("base*.duckdb"))
    result = rlcompare("diff", "-d", samples / "new", "-bp", store, "--format", "trace", "-o", "out")

    assert "was made without events" in result.err
    assert names(document_of(Path("out")), "process_name") == ["new rank 0", "new rank 1"]


@pytest.mark.slow
def test_the_next_report_removes_it(rlcompare: Command, samples: Path) -> None:
    sides = ("-d", samples / "new", "-bp", samples / "base", "--step", 2)
    assert rlcompare("gate", *sides, "-o", "out", "--format", "trace").code in (0, 1, 3)
    assert Path("out/trace.json.gz").is_file()
    refused = rlcompare("gate", "out/diff.json", "-o", "out", "--format", "trace")
    assert (refused.code, "use it with -d and -bp" in refused.error) == (2, True)
    assert rlcompare("diff", *sides, "-o", "out").code == 0
    assert not Path("out/trace.json.gz").exists()


def test_logs_alone_make_none(rlcompare: Command, tmp_path: Path) -> None:
    for side in ("base", "new"):
        lines = [json.dumps({"step": step, "data": {"timing_s/step": 10 + step / 10}}) for step in range(1, 9)]
        (tmp_path / f"{side}.jsonl").write_text("\n".join(lines))
    result = rlcompare("diff", "-d", tmp_path / "new.jsonl", "-bp", tmp_path / "base.jsonl", "--format", "trace")

    assert result.code == 0
    assert result.err.count("has no device or communication events") == 2
    assert not Path("rlcompare-out/trace.json.gz").exists()
    assert json.loads(Path("rlcompare-out/diff.json").read_bytes())["timeline"] is None
