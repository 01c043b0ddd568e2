"""Words shared by the hints at viewers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path


def first_of(paths: Sequence[Path]) -> str:
    """The first of some paths, quoted for a shell, and how many more there are."""
    distinct = list(dict.fromkeys(paths))
    return shlex.quote(str(distinct[0])) + (f", and {len(distinct) - 1} more" if len(distinct) > 1 else "")
