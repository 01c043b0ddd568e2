"""What the store of a run holds of its measurements: runs that are the same in it cannot show a change.

The digests of a run's files cover only their first and last 64 KiB (``store.fingerprint``). They say which runs may be
copies of each other; this says which are.
"""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from rlcompare import resources


class Measured(NamedTuple):
    """What a run measured, as sums of hashes.

    Attributes:
        of_captures: of each capture, what does not depend on the other ones.
        of_run: metrics, and what depends on all captures; None: there is nothing of this kind.
    """

    of_captures: frozenset[int]
    of_run: int | None


def measured(con: duckdb.DuckDBPyConnection) -> Measured:
    """What the run of a store measured.

    Args:
        con: has the store attached as ``store``.
    """
    rows = con.execute(resources.sql("compare/setup/measured")).fetchall()
    of_captures = frozenset(number for capture, number in rows if capture is not None)
    return Measured(of_captures, next((number for capture, number in rows if capture is None), None))
