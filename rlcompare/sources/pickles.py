"""Pickles are never opened, because unpickling runs code. Tells the user how to convert a snapshot to JSON."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rlcompare.sources.source import Problem

TO_JSON = (
    'python3 -c "import gzip,json,pickle,sys;p=sys.argv[1];'
    "json.dump(pickle.load(open(p,'rb')),gzip.open(p+'.json.gz','wt'))\" FILE.pickle"
)
"""Converts torch's snapshot to JSON; only for users who trust the file."""


def pickle_problem(pickles: Sequence[Path], root: Path, *, is_stored: bool) -> Problem:
    """The problem to report for memory snapshots that are pickles (at least one).

    Args:
        is_stored: the problem becomes a finding in a store, where paths of the input must not appear.
    """
    is_below = is_stored and pickles[0] != root and pickles[0].is_relative_to(root)
    first = pickles[0].relative_to(root) if is_below else pickles[0]
    command = TO_JSON.replace("FILE.pickle", shlex.quote(str(first)))
    more = f" (and {len(pickles) - 1} more)" if len(pickles) > 1 else ""
    danger = f"a pickled memory snapshot can run code when it is opened{more}"
    problem = f"{danger}; if you trust it, convert it to JSON with {command}"
    return Problem(pickles[0], problem, "Then pass the JSON file, or another file of the run", "pickle")
