"""Where to look at the same data on a timeline: which tool opens a run's captures, and what to name there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rlcompare.sources.registry import sources

TITLE = "The same data on a timeline"


def viewer_lines(root: Path, captures: Iterable[tuple[str, str]]) -> list[str]:
    """What to open, and with which tool.

    Args:
        root: the path that the user named.
        captures: of each capture its source, and its path relative to ``root``.

    Returns:
        Lines of text; none where no tool opens what the run was read from.
    """
    viewers = {source.name: source.viewer for source in sources()}
    paths: dict[Callable[[Sequence[Path]], list[str]], list[Path]] = {viewer: [] for viewer in viewers.values()}
    for source, relative in sorted(set(captures)):
        if source in viewers:
            paths[viewers[source]].append(Path(os.path.normpath(root / relative)))
    return [line for viewer, found in paths.items() if found for line in viewer(found)]
