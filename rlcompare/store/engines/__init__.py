"""Who makes parts: an engine takes batches, and gives what came of them as they are done.

To add one, write a class with the method ``make_parts`` of ``Engine`` in a module of this folder. Everything that it
needs to send elsewhere (``Batch``, ``BatchResult``) can be pickled, and ``capture_stage.make_batch`` does the work
wherever it is called. A ``Batch`` holds what the profile says of itself, an environment dump included: an engine keeps
it in no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from rlcompare.store.parts import Batch, BatchResult

Report = Callable[[str], None]
"""Called with the name of each capture that was read; from several threads."""

Cancelled = Callable[[], bool]
"""Whether nobody waits for the result any longer."""


class Engine(Protocol):
    """Makes the parts of captures."""

    @property
    def workers(self) -> int:
        """How many batches are made at once, for the choice of their size."""

    def make_parts(self, batches: Sequence[Batch], *, report: Report, cancelled: Cancelled) -> Iterator[BatchResult]:
        """Read all batches, in any order.

        A result is given when its pack lies at ``result.batch.target`` on this machine, complete. Together the results
        hold each part of each batch once, as made or as failed; a batch may be split. Where a worker dies, its captures
        are tried again one by one, and the one that kills it is a failure. When the iterator is closed, or soon after
        ``cancelled`` says so, everything that was started has ended and incomplete files are removed.

        Raises:
            rlcompare.store.new_file.Cancelled: ``cancelled`` said so.
            OSError, duckdb.Error: a pack cannot be written.
        """
