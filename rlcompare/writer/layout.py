"""Puts the captures of a run into folders: plainly, or in verl's layout (docs/formats.md#verls-folders)."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from rlcompare.errors import UsageError
from rlcompare.writer.analysis_db import write_analysis_db
from rlcompare.writer.db import write_db
from rlcompare.writer.info import folder_name, profiler_info, profiler_metadata
from rlcompare.writer.model import Capture
from rlcompare.writer.simulate import simulate
from rlcompare.writer.spec import PHASE_ROLES, SampleRun
from rlcompare.writer.text import write_text

MARKER = ".rlcompare-sample"
"""Marker file of folders that this module wrote, and may replace."""


def write_sample(run: SampleRun, out: Path) -> list[Path]:
    """Simulates a run and writes its captures.

    Everything is written beside ``out`` first and moved there at the end, so ``out`` is complete or untouched.

    Args:
        out: a folder that does not exist, is empty, or was written by this function; it is replaced.

    Returns:
        The ``*_ascend_pt`` folders, ordered by time, then by rank.

    Raises:
        UsageError: ``out`` holds other files.
    """
    _check_target(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as scratch:
        root = Path(scratch) / out.name
        root.mkdir()
        folders = [_write_capture(run, capture, root) for capture in simulate(run)]
        (root / MARKER).write_text(f"{run}\n", encoding="utf-8")
        if out.exists():
            shutil.rmtree(out)
        root.rename(out)
    return [out / folder for folder in folders]


def _check_target(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: is a file; name a folder that does not exist yet")
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise UsageError(f"{out}: is not empty and was not made by this command; name another folder or empty it")


def _write_capture(run: SampleRun, capture: Capture, root: Path) -> Path:
    """One ``*_ascend_pt`` folder; returns its path below the root."""
    place = _place(run, capture) / folder_name(capture)
    write_capture(run, capture, root / place)
    return place


def write_capture(run: SampleRun, capture: Capture, folder: Path) -> None:
    """Writes one capture as what torch_npu leaves in ``folder``."""
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    _write_json(folder / f"profiler_info_{capture.rank}.json", profiler_info(run, capture))
    _write_json(folder / "profiler_metadata.json", profiler_metadata(run, capture))
    if run.export in ("db", "both"):
        write_db(run, capture, output / f"ascend_pytorch_profiler_{capture.rank}.db")
        if run.has_device_data:
            write_analysis_db(run, capture, output / "analysis.db")
    if run.export in ("text", "both"):
        write_text(run, capture, output)


def _place(run: SampleRun, capture: Capture) -> Path:
    """The folder of a capture: ``.``, ``SP/{step}/e2e``, ``SP/e2e`` or ``SP/{role}``."""
    if capture.phase is not None:
        return Path(PHASE_ROLES[capture.phase])
    if run.layout == "plain":
        return Path()
    return Path("e2e") if capture.step is None else Path(str(capture.step)) / "e2e"


def _write_json(path: Path, content: dict[str, object]) -> None:
    path.write_text(json.dumps(content, indent=4), encoding="utf-8")
