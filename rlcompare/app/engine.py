"""Which engine reads captures: this machine, or a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlcompare.app.remote import Mirrors
from rlcompare.errors import UsageError

if TYPE_CHECKING:
    from rlcompare.store.engines import Engine


def engine_of(name: str, ray_address: str | None, mirrors: Mirrors) -> Engine | None:
    """The engine of this name; None: the default engine.

    Args:
        name: one of ``rlcompare.app.arguments.ENGINES``.
        ray_address: address of the Ray cluster; None: a new one on this machine.
        mirrors: the local copies of inputs that are named by URL.

    Raises:
        UsageError: an address was given, but the engine is not Ray.
    """
    if name != "ray":
        if ray_address is not None:
            raise UsageError("--ray-address needs --engine ray: add it, or leave --ray-address out")
        return None
    from rlcompare.store.engines.ray import RayEngine

    return RayEngine(ray_address, {folder: url for url, folder in mirrors.folders.items()})
