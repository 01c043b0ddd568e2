"""rlcompare from Python: ``load`` one run, or ``diff`` two sides, and work on their tables in a notebook.

The numbers are those of the command line, from the same cache of stores. Importing it has no side effects: no signal
handler is installed, the working folder does not change, and only stores in the cache are written. Errors are the
exceptions of ``rlcompare.errors``.
"""

from __future__ import annotations

from rlcompare.notebook.comparison import Comparison, Verdict, diff
from rlcompare.notebook.run import Run, load
from rlcompare.notebook.table import Table

__all__ = ["Comparison", "Run", "Table", "Verdict", "diff", "load"]
