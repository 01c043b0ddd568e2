"""Checks the ``*_ascend_pt`` folder that torch_npu's profiler writes per process and window.

torch_npu swallows the errors of its profiler and of its analysis, and writes ``analyse.done`` even if every parser
failed (2.13). Only the files show whether it worked.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

OUTPUT = "ASCEND_PROFILER_OUTPUT"
NO_INFO = "profiler_info is missing, so recording did not end properly"

_LARGEST_INFO = 16 * 1024 * 1024
_MAIN_FILES = {"db": "ascend_pytorch_profiler*.db", "text": "trace_view.json"}


def missing(folder: Path, analysis: bool, export_type: Collection[str]) -> str:
    """What is missing in a capture's folder; empty if it is complete.

    Args:
        analysis: whether it should be parsed already.
        export_type: output of the analysis: ``"db"``, ``"text"`` or both.
    """
    if not any(folder.glob("profiler_info*.json")):
        return NO_INFO
    if not analysis:
        return ""
    output = folder / OUTPUT
    if not output.is_dir():
        return f"{OUTPUT} is missing, so the analysis failed"
    for kind, pattern in _MAIN_FILES.items():
        if kind in export_type and not is_any_filled(output, pattern):
            return f"{pattern} is missing or empty, so the analysis failed"
    return ""


def unparsed(folder: Path) -> str:
    """What is missing for the parsing that its own ``profiler_info`` asks for; empty if nothing is missing."""
    return missing(folder, True, export_type_of(folder))


def export_type_of(folder: Path) -> tuple[str, ...]:
    """The export types of a folder, from ``profiler_info``; text if not given, as in torch_npu."""
    config = profiler_info(folder).get("config")
    experimental = config.get("experimental_config") if isinstance(config, dict) else None
    given = experimental.get("_export_type") if isinstance(experimental, dict) else None
    chosen = [given] if isinstance(given, str) else given
    known = [kind for kind in chosen if kind in ("text", "db")] if isinstance(chosen, list) else []
    return tuple(known) or ("text",)


def profiler_info(folder: Path) -> dict[str, object]:
    """``profiler_info[_RANK].json``; empty if it is missing or damaged."""
    for path in sorted(folder.glob("profiler_info*.json")):
        try:
            if path.stat().st_size <= _LARGEST_INFO:
                content = json.loads(path.read_text(encoding="utf-8", errors="replace"))
                return content if isinstance(content, dict) else {}
        except (OSError, ValueError, RecursionError):
            continue
    return {}


def is_any_filled(folder: Path, pattern: str) -> bool:
    """Whether a file with such a name exists and is not empty."""
    return any(path.stat().st_size > 0 for path in folder.glob(pattern))
