"""MindStudio Insight and other viewers: `show` names the files that they open, and our files do not disturb them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import rlcompare as library
from rlcompare.app.viewers import TITLE
from tests.run_directories import write_run
from tests.sources.nsys_exports import training_step
from tests.sources.torch_traces import kernel, launch, trace, write

from .conftest import Command, ranks_of

# Names of files that MindStudio Insight looks for, and of databases and notebooks, which it may open whatever their
# names: its user guide, "Importing Profile Data" (system, operator and service tuning).
INSIGHT_OPENS = re.compile(
    r"trace_view\.json|msprof.*\.json|operator_details\.csv|kernel_details\.csv|memory_record\.csv|operator_memory\.csv"
    r"|step_trace_time\.csv|communication\.json|communication_matrix\.json|trace\.json|visualize_data\.bin"
    r"|chrome_tracing\.json|profiler\.db|.*\.db|.*\.ipynb|cluster_analysis_output|.*_ascend_(?:pt|ms)|PROF_.*"
)


def last_section(text: str) -> list[str]:
    """The lines below the title."""
    lines = text.splitlines()
    return lines[lines.index(TITLE) + 1 :]


def content(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every path below a folder with its modification time and bytes."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in (folder, *sorted(folder.rglob("*")))
    }


class TestShowEnds:
    def test_with_the_folder_above_all_ranks(self, rlcompare: Command, samples: Path) -> None:
        # WHEN two ranks are shown
        lines = last_section(rlcompare("show", samples / "new").out)
        # THEN MindStudio Insight is told to import the folder that holds both
        assert lines[0] == f"MindStudio Insight: Import Data, {samples / 'new'}"
        assert any("mindstudio_insight_jupyterlab" in line for line in lines)

    @pytest.mark.slow
    @pytest.mark.parametrize("part", ["", "ASCEND_PROFILER_OUTPUT"])
    def test_with_the_folder_of_one(self, rlcompare: Command, samples: Path, part: str) -> None:
        folder = ranks_of(samples / "new")[0]
        assert last_section(rlcompare("show", folder / part).out)[0] == f"MindStudio Insight: Import Data, {folder}"

    @pytest.mark.slow
    def test_with_a_database_alone(self, rlcompare: Command, samples: Path) -> None:
        (database,) = (ranks_of(samples / "new")[0] / "ASCEND_PROFILER_OUTPUT").glob("ascend_pytorch*.db")
        shutil.copy(database, "a copy.db")
        assert last_section(rlcompare("show", "a copy.db").out)[0] == "MindStudio Insight: Import Data, 'a copy.db'"

    def test_with_traces(self, rlcompare: Command) -> None:
        for rank in (0, 1):
            write(Path(f"traces/rank{rank}.json"), trace(launch(1, 10), kernel(1, 20, 5)))
        (line,) = last_section(rlcompare("show", "traces").out)
        assert line == "Perfetto (ui.perfetto.dev) or chrome://tracing: open traces/rank0.json, and 1 more"

    @pytest.mark.slow
    def test_with_the_report_of_an_export(self, rlcompare: Command) -> None:
        training_step(pids=(1, 2)).write(Path("x.sqlite"))
        (line,) = last_section(rlcompare("show", "x.sqlite").out)
        assert line == "Nsight Systems: open the report that x.sqlite was exported from"
        Path("x.nsys-rep").touch()
        assert last_section(rlcompare("show", "x.sqlite").out) == ["Nsight Systems: open x.nsys-rep"]

    @pytest.mark.slow
    def test_with_nothing_where_nothing_opens_it(self, rlcompare: Command) -> None:
        write_run(Path("run"))
        assert TITLE not in rlcompare("show", "run").out
        assert rlcompare("ingest", training_step().write(Path("x.sqlite")), "-o", "s.duckdb").code == 0
        assert TITLE not in rlcompare("show", "s.duckdb").out

    def test_with_a_path_that_is_safe_to_show(self, rlcompare: Command) -> None:
        path = write(Path("a\x1b[31m b.json"), trace(launch(1, 10), kernel(1, 20, 5)))
        (line,) = last_section(rlcompare("show", path).out)
        assert "\x1b" not in line
        assert "31m b.json" in line


class TestMindStudioInsight:
    @pytest.mark.slow
    def test_finds_its_folder_as_it_left_it(self, rlcompare: Command, samples: Path) -> None:
        # GIVEN two profiles in the working folder, with databases and text
        for name in ("base", "new"):
            folder = ranks_of(samples / name)[0]
            shutil.copytree(folder, Path(name) / folder.name)
        before = {name: content(Path(name)) for name in ("base", "new")}
        # WHEN both forms are read, by every way to read them
        for arguments in (
            ("ingest", "new", "-o", "new.duckdb"),
            ("diff", "-d", "new", "-bp", "base"),
            ("show", "new", "--prefer", "text"),
        ):
            assert rlcompare(*arguments).code == 0, arguments
        library.load("new", quiet=True).close()
        # THEN not a byte and no time of modification is another
        assert {name: content(Path(name)) for name in ("base", "new")} == before

    @pytest.mark.slow
    def test_opens_none_of_our_files(self, rlcompare: Command, samples: Path) -> None:
        # GIVEN a run directory with everything that we put beside profile folders, reports included
        run = write_run(Path("run"))
        shutil.copytree(samples / "new", run / "profile")
        theirs = {path.name for path in (run / "profile").rglob("*")}
        assert rlcompare("ingest", training_step().write(Path("x.sqlite")), "-o", "run.duckdb").code == 0
        pair = ("-d", "run.duckdb", "-bp", "run.duckdb")
        assert rlcompare("diff", *pair, "-o", "report", "--format", "md,csv").code == 0
        shutil.move("run.duckdb", run / "run.duckdb")
        ours = {path.name for path in (*run.rglob("*"), *Path("report").rglob("*"))} - theirs
        # THEN no name is one that MindStudio Insight would try to open
        assert {"run.json", "metrics.jsonl", "run.duckdb", "report.html", "diff.json"} <= ours
        assert [name for name in ours if INSIGHT_OPENS.fullmatch(name)] == []
        assert INSIGHT_OPENS.fullmatch("ascend_pytorch_profiler_0.db")
