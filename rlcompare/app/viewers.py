"""Where to look at the same data on a timeline: which tool opens a run's captures, and what to name there.

What is said about MindStudio Insight stands in its user guide ("Importing Profile Data") and in the guide to its plugin
for JupyterLab, which comes as a wheel from MindStudio's download page.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from rlcompare.sources.nsys.capture import REPORTS
from rlcompare.sources.verl.names import PROFILE_SUFFIXES

TITLE = "The same data on a timeline"
_ASCEND = ("ascend_db", "ascend_text")
_OUTPUT = "ASCEND_PROFILER_OUTPUT"


def viewer_lines(root: Path, captures: Iterable[tuple[str, str]]) -> list[str]:
    """What to open, and with which tool.

    Args:
        root: the path that the user named.
        captures: of each capture its source, and its path relative to ``root``.

    Returns:
        Lines of text; none where no tool opens what the run was read from.
    """
    paths: dict[str, list[Path]] = {}
    for source, relative in sorted(set(captures)):
        path = Path(os.path.normpath(root / relative))
        paths.setdefault("ascend" if source in _ASCEND else source, []).append(path)
    return [
        *(_mindstudio(paths["ascend"]) if "ascend" in paths else []),
        *(_perfetto(paths["torch_trace"]) if "torch_trace" in paths else []),
        *(_nsight(paths["nsys"]) if "nsys" in paths else []),
    ]


def _mindstudio(paths: Sequence[Path]) -> list[str]:
    """One capture is imported by its folder, several by the folder above them all."""
    homes = sorted({_profile_folder(path) for path in paths})
    chosen = homes[0] if len(homes) == 1 else Path(os.path.commonpath([home.absolute() for home in homes]))
    return [
        f"MindStudio Insight: Import Data, {shlex.quote(str(chosen))}",
        "  It adds tables to databases that it opens: import a copy where they must stay as they are.",
        "In JupyterLab: its plugin mindstudio_insight_jupyterlab (a wheel from MindStudio's download page, for",
        "  JupyterLab 4): pip install the wheel, start jupyter lab, import the same path there.",
    ]


def _profile_folder(path: Path) -> Path:
    """The ``*_ascend_pt`` folder that a capture is or lies in; else what was read."""
    for folder in (path, *list(path.parents)[:2]):
        if folder.name.endswith(PROFILE_SUFFIXES):
            return folder
    return path.parent if path.name == _OUTPUT else path


def _perfetto(paths: Sequence[Path]) -> list[str]:
    return [f"Perfetto (ui.perfetto.dev) or chrome://tracing: open {_first(paths)}"]


def _nsight(paths: Sequence[Path]) -> list[str]:
    reports = [report for path in paths for end in REPORTS if (report := path.with_suffix(end)).is_file()]
    if reports:
        return [f"Nsight Systems: open {_first(reports)}"]
    return [f"Nsight Systems: open the report that {_first(paths)} was exported from"]


def _first(paths: Sequence[Path]) -> str:
    distinct = list(dict.fromkeys(paths))
    return shlex.quote(str(distinct[0])) + (f", and {len(distinct) - 1} more" if len(distinct) > 1 else "")
