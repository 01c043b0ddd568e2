"""The registry: each line is a source, each file is one source's, and nothing else knows a format by name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rlcompare
from rlcompare.sources.content import content_of
from rlcompare.sources.peek import file_kind
from rlcompare.sources.registry import SOURCES, find, load, sources
from tests.sources import test_torch_memory as snapshots
from tests.sources import torch_traces
from tests.sources.nsys_exports import training_step
from tests.sources.profile_folders import make_database

PACKAGE = Path(rlcompare.__file__).parent
FAMILIES = ("ascend", "torch", "nsys")
NAMES = {"ascend_db", "ascend_text", "torch_trace", "torch_memory", "nsys"}


def test_names() -> None:
    assert {source.name for source in sources()} == NAMES
    assert len(SOURCES) == len(NAMES)
    assert all(find(name).name == name for name in NAMES)


@pytest.mark.parametrize("reference", SOURCES)
def test_each_has_its_sql(reference: str) -> None:
    assert list(load(reference).sql.glob("*.sql"))


def test_what_is_no_source_is_refused() -> None:
    with pytest.raises(TypeError, match="SOURCES is not a Source"):
        load("rlcompare.sources.registry:SOURCES")
    with pytest.raises(KeyError):
        find("no such source")


def _owners(path: Path) -> list[str]:
    content = content_of(path)
    return [source.name for source in sources() if source.recognise(content) is not None]


def test_each_file_is_one_sources(tmp_path: Path) -> None:
    """So their order does not matter for sound files."""
    expected = {
        make_database(tmp_path / "profile.db", "TASK"): "ascend_db",
        make_database(tmp_path / "analysis.db", "StepTraceTime"): "ascend_text",
        training_step().write(tmp_path / "export.sqlite"): "nsys",
        torch_traces.write(tmp_path / "a.json", torch_traces.trace(torch_traces.op("aten::mm", 5, 1))): "torch_trace",
        torch_traces.write(tmp_path / "a.json.gz", torch_traces.trace(torch_traces.op("mm", 5, 1))): "torch_trace",
        snapshots.write(tmp_path / "memory.json.gz", snapshots.snapshot()): "torch_memory",
    }
    for name, text in {
        "trace_view.json": '[{"ph": "X", "name": "a"}]',
        "communication.json": '{"step": {"Communication Time Info": {}}}',
        "communication_matrix.json": '{"step": {"0-1": {"Transport Type": "HCCS"}}}',
        "any name.csv": "Name,Accelerator Core,Duration(us)\n",
        "step_trace_time.csv": "Device_id,Step,Computing\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        expected[tmp_path / name] = "ascend_text"
    assert {path.name: _owners(path) for path in expected} == {path.name: [name] for path, name in expected.items()}
    assert {path.name: file_kind(path).source for path in expected} == {
        path.name: name for path, name in expected.items()
    }


def test_real_text_files_are_one_sources(ascend_910b: Path) -> None:
    (output,) = ascend_910b.glob("text/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT")
    files = sorted(output.iterdir())
    assert len(files) > 5
    assert {path.name: _owners(path) for path in files} == {path.name: ["ascend_text"] for path in files}


def test_nothing_else_knows_a_format_by_name() -> None:
    """What handles any source asks the registry. Tools of collection have names of their own, which may be the same."""
    folders = ("sources", "store", "app", "metrics", "compare", "gate", "report", "notebook")
    files = {path for folder in folders for path in (PACKAGE / folder).rglob("*.py")}
    own = {path for family in FAMILIES for path in (PACKAGE / "sources" / family).rglob("*.py")}
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.value}"
        for path in sorted(files - own)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in NAMES
    ]
    assert not found
