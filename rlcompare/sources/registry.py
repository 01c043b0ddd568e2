"""The list of sources. To add one, write its module and add it here (CONTRIBUTING, "To add a source")."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from rlcompare.sources.source import Source

SOURCES: tuple[str, ...] = (
    "rlcompare.sources.torch.source:MEMORY",
    "rlcompare.sources.torch.source:TRACE",
    "rlcompare.sources.ascend.source:DATABASE",
    "rlcompare.sources.ascend.source:TEXT",
    "rlcompare.sources.nsys.source:EXPORT",
)
"""Sources as ``module:attribute``, in the order in which they inspect a file."""


def sources() -> tuple[Source, ...]:
    """All sources, in order."""
    return tuple(load(reference) for reference in SOURCES)


def find(name: str) -> Source:
    """The source of a given name, as in ``CaptureInput.source``.

    Raises:
        KeyError: no such source.
    """
    return {source.name: source for source in sources()}[name]


@cache
def load(reference: str) -> Source:
    """The source that ``module:attribute`` names.

    Raises:
        ImportError: there is no such module.
        TypeError: it is not a ``Source``.
    """
    module, _, attribute = reference.partition(":")
    source = getattr(import_module(module), attribute, None)
    if not isinstance(source, Source):
        raise TypeError(f"{reference} is not a Source")
    return source
