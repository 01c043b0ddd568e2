"""How to open Ascend profiles in MindStudio Insight.

The hints follow its user guide ("Importing Profile Data") and the guide to its JupyterLab plugin, a wheel from
MindStudio's download page.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from rlcompare.sources.ascend.folder import OUTPUT
from rlcompare.sources.verl.names import PROFILE_SUFFIXES


def mindstudio(paths: Sequence[Path]) -> list[str]:
    """The path to import: one capture by its folder, several by their common parent folder."""
    homes = sorted({_profile_folder(path) for path in paths})
    chosen = homes[0] if len(homes) == 1 else Path(os.path.commonpath([home.absolute() for home in homes]))
    return [
        f"MindStudio Insight: Import Data, {shlex.quote(str(chosen))}",
        "  It adds tables to the databases that it opens: import a copy to keep the originals unchanged.",
        "In JupyterLab: its plugin mindstudio_insight_jupyterlab (a wheel from MindStudio's download page, for",
        "  JupyterLab 4): pip install the wheel, start jupyter lab, import the same path there.",
    ]


def _profile_folder(path: Path) -> Path:
    """The ``*_ascend_pt`` folder of a capture; else its own path."""
    for folder in (path, *list(path.parents)[:2]):
        if folder.name.endswith(PROFILE_SUFFIXES):
            return folder
    return path.parent if path.name == OUTPUT else path
