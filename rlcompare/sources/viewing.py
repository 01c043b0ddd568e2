"""Shared text for viewer hints."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path


def first_of(paths: Sequence[Path]) -> str:
    """The first path, quoted for a shell, and the number of further paths."""
    distinct = list(dict.fromkeys(paths))
    return shlex.quote(str(distinct[0])) + (f", and {len(distinct) - 1} more" if len(distinct) > 1 else "")
