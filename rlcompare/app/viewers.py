"""Which timeline viewer opens the captures of a run, and which path to open there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rlcompare.language import mark
from rlcompare.sources.registry import sources

TITLE = mark("The same data on a timeline")


def viewer_lines(root: Path, captures: Iterable[tuple[str, str]]) -> list[str]:
    """The paths to open, and the tool for each.

    Args:
        root: the path that the user named.
        captures: source and path of each capture; paths are relative to ``root``.

    Returns:
        Lines of text; empty if no tool opens the inputs of the run.
    """
    viewers = {source.name: source.viewer for source in sources()}
    paths: dict[Callable[[Sequence[Path]], list[str]], list[Path]] = {viewer: [] for viewer in viewers.values()}
    for source, relative in sorted(set(captures)):
        if source in viewers:
            paths[viewers[source]].append(Path(os.path.normpath(root / relative)))
    return [line for viewer, found in paths.items() if found for line in viewer(found)]
