"""The two sources of Ascend profiles: databases, and text files if there is no database or the user prefers text."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rlcompare.model.run import CaptureInput
from rlcompare.resources import resource_root
from rlcompare.sources.ascend import db, text
from rlcompare.sources.ascend.folder import capture_of_file, loose_captures, profile_in
from rlcompare.sources.ascend.peek import (
    TEXT_FILES,
    marks_of_database,
    recognise_database,
    recognise_text,
    steps_of_database,
    steps_of_step_trace_time,
)
from rlcompare.sources.ascend.viewer import mindstudio
from rlcompare.sources.env import environment_of_profile
from rlcompare.sources.source import Source
from rlcompare.sources.trace_slice import names_in_trace


def _steps_of_database(capture: CaptureInput) -> frozenset[int] | None:
    return steps_of_database(capture.files["db"])


def _steps_of_text(capture: CaptureInput) -> frozenset[int] | None:
    table = capture.files.get("step_trace_time")
    return None if table is None else steps_of_step_trace_time(table)


def _ranges_of_database(capture: CaptureInput, names: Collection[str]) -> frozenset[str]:
    return marks_of_database(capture.files["db"]) & frozenset(names)


def _ranges_of_text(capture: CaptureInput, names: Collection[str]) -> frozenset[str]:
    trace = capture.files.get("trace_view")
    return frozenset() if trace is None else names_in_trace(trace, names)


def _environment(capture: CaptureInput) -> Mapping[str, str]:
    return environment_of_profile(capture.info, capture.metadata)


# The choice between the two is made per folder, so only one of them inspects folders, for both.
DATABASE = Source(
    name="ascend_db",
    tool="npu",
    sql=resource_root("sql") / "sources" / "ascend_db",
    recognise=recognise_database,
    captures=capture_of_file,
    fill=db.fill,
    fill_together=db.fill_together,
    names=frozenset(TEXT_FILES),
    loose_files=loose_captures,
    whole_folder=profile_in,
    steps=_steps_of_database,
    ranges=_ranges_of_database,
    environment=_environment,
    viewer=mindstudio,
)

TEXT = Source(
    name="ascend_text",
    tool="npu",
    sql=resource_root("sql") / "sources" / "ascend_text",
    recognise=recognise_text,
    captures=capture_of_file,
    fill=text.fill,
    steps=_steps_of_text,
    ranges=_ranges_of_text,
    environment=_environment,
    viewer=mindstudio,
)
