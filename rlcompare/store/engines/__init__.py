"""Engines make parts: an engine takes batches, and yields their results as they are done.

To add one, write a class with the members of ``Engine`` in a module of this folder. Everything that it sends to other
processes (``Batch``, ``BatchResult``) can be pickled, and ``capture_stage.make_batch`` does the work wherever it is
called. A ``Batch`` holds the metadata of the profile, including an environment dump: an engine must not write it to a
file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from rlcompare.store.parts import Batch, BatchResult

Report = Callable[[str], None]
"""Called with the name of each capture that was read; from several threads."""

Cancelled = Callable[[], bool]
"""Returns True if the result is no longer needed."""


class Engine(Protocol):
    """Makes the parts of captures."""

    @property
    def workers(self) -> int:
        """How many batches are made at once; used to choose the size of batches."""

    def make_parts(self, batches: Sequence[Batch], *, report: Report, cancelled: Cancelled) -> Iterator[BatchResult]:
        """Read all batches, in any order.

        A result is yielded when its complete pack is at ``result.batch.target`` on this machine. Together the results
        hold each part of each batch once, as made or as failed; a batch may be split. If a worker dies, its captures
        are tried again one by one, and the capture that kills a worker is a failure. When the iterator is closed, or
        soon after ``cancelled`` returns True, all workers have ended and incomplete files are removed.

        Raises:
            rlcompare.store.new_file.Cancelled: ``cancelled`` returned True.
            OSError, duckdb.Error: a pack cannot be written.
        """
