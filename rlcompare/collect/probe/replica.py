"""Finds the rollout replica of this process if only its process group identifies it.

verl starts several engines. Each of them counts its ranks from 0 and does not know about the others. So they number
themselves: the first one that reaches the output folder is replica 0.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from itertools import count
from pathlib import Path
from typing import Any

FOLDER = "agent_loop_rollout_replica_{}"
"""verl's folder of a replica."""


def replica_here(output: Path) -> int | None:
    """The number of this process's engine; None if a launcher gave the process a global rank, or if unknown."""
    if "RANK" in os.environ:
        return None
    try:
        return claimed(output, _group())
    except OSError:
        return None


def claimed(output: Path, group: str) -> int:
    """The number of a group of processes: the same for all of its processes, and different from other groups.

    Raises:
        OSError: the folder cannot be written, or has no hard links, which make this safe on shared disks.
    """
    output.mkdir(parents=True, exist_ok=True)
    own = output / f".replica-of-{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}"
    with own.open("x", encoding="utf-8") as file:  # never through a link that somebody else made there
        file.write(group)
    try:
        for number in count():
            place = output / f".replica-{number}"
            try:
                os.link(own, place)
            except FileExistsError:
                if place.read_text(encoding="utf-8") != group:
                    continue
            return number
    finally:
        own.unlink()
    raise AssertionError("there is always another number")


def _group() -> str:
    """An id shared by all processes of one engine: the address of their rendezvous."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        store = distributed.distributed_c10d._get_default_store()
        while hasattr(store, "underlying_store"):
            store = store.underlying_store
        if distributed.get_world_size() > 1 and hasattr(store, "port"):
            return f"{store.host}:{store.port}"
    return f"{socket.gethostname()}-{os.getpid()}"
