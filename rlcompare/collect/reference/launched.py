"""Whether a launcher such as torchrun started this process; without torch, which takes seconds to import."""

from __future__ import annotations

import os

LAUNCHED = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
"""Variables that a launcher sets for each of its processes."""


def is_launched() -> bool:
    """Whether this process is one of several that a launcher started."""
    return all(name in os.environ for name in LAUNCHED)
