"""A kernel that stands twice in a profile of any family counts once."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from tests.stores import rows, store_of

FACTS = "SELECT sum(compute_ns), sum(exposed_comm_ns), sum(free_ns), sum(device_span_ns), sum(kernels) FROM r_time"
SAID = "SELECT count(*) FROM finding WHERE key = 'repeated_rows'"


@pytest.mark.slow
def test_rows_of_kernel_details(ascend_910b: Path, tmp_path: Path) -> None:
    # GIVEN kernel_details.csv with all of its rows twice, as when two files were put together
    profile = tmp_path / "p_ascend_pt"
    shutil.copytree(ascend_910b / "text" / "level1" / "rank0_ascend_pt", profile)
    before = rows(store_of(profile, tmp_path / "a.duckdb", prefer="text"), FACTS)
    path = profile / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    header, *lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([header, *lines, *lines]))
    # THEN the times are those of one
    store = store_of(profile, tmp_path / "b.duckdb", prefer="text")
    assert rows(store, FACTS) == before
    assert rows(store, SAID) == [(1,)]


@pytest.mark.slow
def test_events_of_a_trace(profiles: Path, tmp_path: Path) -> None:
    # GIVEN a trace of a GPU with each kernel twice
    (trace, *_) = sorted((profiles / "gpu-inference-graph-dev").glob("*.json.gz"))
    document = json.loads(gzip.decompress(trace.read_bytes()))
    before = rows(store_of(trace, tmp_path / "a.duckdb"), FACTS)
    document["traceEvents"] += [event for event in document["traceEvents"] if event.get("cat") == "kernel"]
    twice = tmp_path / "twice.json"
    twice.write_text(json.dumps(document))
    store = store_of(twice, tmp_path / "b.duckdb")
    assert rows(store, FACTS) == before
    assert rows(store, SAID) == [(1,)]
