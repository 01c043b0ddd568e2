"""Reads the text files of an Ascend profile into the store's tables. Any subset of the files works.

SQL over DuckDB's own readers does the work (``sql/sources/ascend_text``). This module binds the files in the order of
their dependencies, and turns damage into findings. A file that is absent or unreadable is replaced by an empty one, so
that every statement works with every subset, and one broken file never stops the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from rlcompare import db, resources, temporary
from rlcompare.errors import NO_ROOM, InputError, may_pass
from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources import text_repair, trace_slice
from rlcompare.sources.ascend.communication_group import load_groups
from rlcompare.sources.ascend.db import read_analysis

Report = Callable[[Finding], None]


@dataclass(frozen=True)
class TextFile:
    """One file of a profile.

    Attributes:
        name: the profiler's file name.
        tells: the data that is lost if it cannot be read.
        needs: columns without which a table is useless.
        multiline: cells may contain line breaks.
        empty: content that replaces a missing file.
    """

    name: str
    tells: str
    needs: tuple[str, ...] = ()
    multiline: bool = False
    empty: str = ""

    @property
    def is_table(self) -> bool:
        """Whether it is a CSV file."""
        return self.name.endswith(".csv")


FILES: Mapping[str, TextFile] = {
    "trace_view": TextFile("trace_view.json", "host operators, launches, copies, step marks and ranges", empty="[]"),
    "kernel_details": TextFile(
        "kernel_details.csv", "types, shapes and counters of kernels", ("Name", "Start Time(us)", "Duration(us)")
    ),
    "communication": TextFile("communication.json", "groups and transfer times of collectives", empty="{}"),
    "communication_matrix": TextFile("communication_matrix.json", "transfers by pair of ranks", empty="{}"),
    "step_trace_time": TextFile("step_trace_time.csv", "the profiler's own step times", ("Computing", "Free")),
    "op_statistic": TextFile("op_statistic.csv", "the profiler's sums by type", ("OP Type", "Total Time(us)")),
    "api_statistic": TextFile("api_statistic.csv", "the profiler's sums by CANN call", ("API Name", "Time(us)")),
    "operator_details": TextFile(
        "operator_details.csv",
        "the profiler's sums by framework operator",
        ("Name", "Host Total Duration(us)"),
        multiline=True,
    ),
    "memory_record": TextFile("memory_record.csv", "memory over time", ("Component", "Timestamp(us)")),
    "npu_module_mem": TextFile("npu_module_mem.csv", "memory of CANN modules", ("Component", "Total Reserved(MB)")),
    "operator_memory": TextFile("operator_memory.csv", "memory by operator", ("Name", "Size(KB)")),
    "l2_cache": TextFile("l2_cache.csv", "hit rates of the L2 cache", ("Op Name",)),
    "data_preprocess": TextFile("data_preprocess.csv", "parts of AI CPU kernels", ("Node",)),
}
"""The files by their keys in ``CaptureInput.files``, in the order in which they are read."""


def fill(con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, report: Report) -> None:
    """Reads one capture into the stage and event tables.

    Never raises for the content of a file: unreadable data becomes a finding, and the caller sees that no rows came.

    Args:
        con: has the schema's tables, the macros of ``sql/sources/macro`` and the variables ``capture`` (equal to
            ``capture_id``) and ``keep_events`` (whether to read rows that only the event tables keep).
        capture: its ``files`` are read by the keys of ``FILES``.
        capture_id: its number in the store.
        report: called for each damage, with the lost data.
    """
    with temporary.folder() as scratch:
        reader = _Reader(con, capture, capture_id, report, Path(scratch))
        reader.prepare()
        for part in FILES:
            reader.read(part)
        for name in resources.sql_order("sources/ascend_text"):
            db.run(con, resources.sql(name))
        reader.read_counters()
        for part in ("trace_view", "kernel_details"):
            if part not in capture.files:
                message = f"{capture.path.name} has no {FILES[part].name}: {FILES[part].tells} are unknown"
                report(Finding("info", "missing_file", message, capture_id))
        for severity, key, message in db.run(con, resources.sql("sources/ascend_text/findings")):
            report(Finding(severity, key, message, capture_id))
        con.execute(resources.sql("sources/ascend_text/clear"))
        if not con.execute(resources.sql("sources/ascend_text/has_analysis")).fetchall()[0][0]:
            read_analysis(con, capture, capture_id, report, Path(scratch))


@dataclass
class _Reader:
    """Reads the files of one capture, one by one."""

    con: duckdb.DuckDBPyConnection
    capture: CaptureInput
    capture_id: int
    report: Report
    scratch: Path
    failed: set[str] = field(default_factory=set)

    def prepare(self) -> None:
        """Creates the macros, DuckDB's tables of rejected rows, and the groups of the metadata."""
        self.con.execute(resources.sql("sources/ascend_text/text_values"))
        self.con.execute("FROM text_table(?)", [db.pattern_of(self._empty("kernel_details"))]).fetchall()
        self._count_rejects()
        load_groups(self.con, {self.capture_id: self.capture.metadata})

    def read(self, part: str) -> None:
        """Reads one file: repaired if it is damaged, or an empty one in its place."""
        path = self.capture.files.get(part)
        if path is not None:
            problem, passes = self._try_to_read(part, path)
            if problem is None:
                return
            self.failed.add(part)
            what = f"{problem}; {FILES[part].tells} are not read from it"
            self._say("unreadable_file", part, what, "copy it again", passes=passes)
        self._run(part, self._empty(part))

    def read_counters(self) -> None:
        """Reads the counters of kernels: a second pass over kernel_details.csv, with the same form as the first."""
        if "kernel_details" in self.capture.files and "kernel_details" not in self.failed:
            db.run(self.con, resources.sql("sources/ascend_text/pmu"))
            self._count_rejects()

    def _try_to_read(self, part: str, path: Path) -> tuple[str | None, bool]:
        """Reads one file. Returns the problem as a clause if it cannot be read, and whether it may pass."""
        try:
            if part == "trace_view":
                self._read_trace(part, path)
            else:
                self._read_document(part, path)
        except db.NOT_THE_INPUT:
            raise
        except InputError as error:
            return error.problem, may_pass(error)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
            return error.strerror or str(error), may_pass(error)
        except duckdb.Error as error:
            return f"it is damaged ({db.first_line(error)})", may_pass(error)
        return None, False

    def _read_trace(self, part: str, path: Path) -> None:
        events = trace_slice.bare_list(path, self.scratch)
        try:
            self._run(part, events.path)
        except db.NOT_THE_INPUT:
            raise
        except duckdb.Error:
            events = trace_slice.complete_events(path, self.scratch)
            self._run(part, events.path)
        if events.damage:
            self._say("damaged_file", part, f"{events.damage}; only the part before that was read", "copy it again")

    def _read_document(self, part: str, path: Path) -> None:
        left_out = 0
        readable = path
        if not self._is_sound(part, path):
            readable, left_out = self._mend(part, path)
        try:
            self._check_columns(part, readable)
            self._run(part, readable)
        except duckdb.Error as error:
            if readable != path or not FILES[part].is_table or isinstance(error, duckdb.InterruptException):
                raise
            self._count_rejects()
            readable, left_out = self._mend(part, path)
            self._check_columns(part, readable)
            self._run(part, readable)
        left_out += self._count_rejects()
        if left_out:
            rows = "1 row was" if left_out == 1 else f"{left_out} rows were"
            self._say(
                "ragged_rows", part, f"{rows} left out (too few or too many cells)", "use it as the profiler wrote it"
            )

    def _is_sound(self, part: str, path: Path) -> bool:
        """Whether a file can be read as it is."""
        file = FILES[part]
        return text_repair.is_clean(path) and (not file.is_table or text_repair.is_even(path, multiline=file.multiline))

    def _mend(self, part: str, path: Path) -> tuple[Path, int]:
        if FILES[part].is_table:
            return text_repair.mended_table(path, self.scratch, multiline=FILES[part].multiline)
        return text_repair.mended_text(path, self.scratch), 0

    def _check_columns(self, part: str, path: Path) -> None:
        if FILES[part].needs:
            columns_found = text_repair.columns_of(path)
            if columns_found > text_repair.MOST_COLUMNS:
                raise InputError(path, f"it has {columns_found:,} columns", "Parse the profile again")
            present = db.run(self.con, "DESCRIBE FROM text_table(?)", [db.pattern_of(path)])
            columns = {str(name).lower() for name, *_ in present}
            missing = [name for name in FILES[part].needs if name.lower() not in columns]
            if missing:
                raise InputError(path, f"it has no column {', '.join(missing)}", "Parse the profile again")

    def _run(self, part: str, path: Path) -> None:
        document = not FILES[part].is_table and part != "trace_view"
        value = path.read_text(encoding="utf-8-sig") if document else db.pattern_of(path)
        # The variable's name comes from this module, never from a profile.
        db.set_variable(self.con, f"text_{part}", value)
        db.run(self.con, resources.sql(f"sources/ascend_text/{part}"))

    def _empty(self, part: str) -> Path:
        """An empty file that replaces a missing one."""
        path = self.scratch / f"no-{FILES[part].name}"
        path.write_text(FILES[part].empty, encoding="utf-8")
        return path

    def _count_rejects(self) -> int:
        """The number of rows that DuckDB rejected since the last call."""
        rejected = self.con.execute(resources.sql("sources/ascend_text/rejected")).fetchall()[0][0]
        self.con.execute(resources.sql("sources/ascend_text/forget_rejected"))
        return int(rejected)

    def _say(self, key: str, part: str, what: str, remedy: str, *, passes: bool = False) -> None:
        message = f"{self.capture.files[part].name}: {what}; {remedy} or parse the profile again"
        self.report(Finding("warning", key, message, self.capture_id, passes))
