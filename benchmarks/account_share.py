#!/usr/bin/env python3
"""Checks what the account of each step adds to a cold diff, in one process and one run.

    python benchmarks/account_share.py

Makes two databases of 224 MB (see compare_speed.py) and compares them with an empty cache. Adds up the CPU time of the
statements that make the account and what builds on it (``sql/account/``, waiting and the path in ``sql/store/``, and
the queries of ``sql/compare/`` that read them), and divides it by the CPU time of everything else. CPU time, because
other work on the machine changes it little. Ends with 1 if the median exceeds the limit. Takes about a minute.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from compare_speed import make_databases

from rlcompare import resources
from rlcompare.cli.main import run
from rlcompare.compare import rollups
from rlcompare.store import capture_stage, run_stage

LIMIT_SHARE = 0.20
"""Of the CPU time of the rest."""

ACCOUNT = ("r_account", "r_block", "r_exposed", "r_window", "r_sequence", "r_timeline", "r_path")
"""Tables that exist for the account. The timeline of the page is cut by the same windows."""


class Stopwatch:
    """CPU time of the threads that run SQL files of the account. DuckDB has one thread here, the caller's."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = Lock()

    @contextlib.contextmanager
    def measured(self, name: str) -> Iterator[None]:
        start = time.thread_time()
        try:
            yield
        finally:
            if of_account(name):
                with self._lock:
                    self.seconds += time.thread_time() - start


def of_account(name: str) -> bool:
    """Whether an SQL file makes the account, or reads one of its tables."""
    folder, _, file = name.partition("/")
    if folder == "account" or name == "normalize/account" or (folder == "store" and file in ("waiting", "path_piece")):
        return True
    return any(table in resources.sql(name) for table in ACCOUNT)


def watch(stopwatch: Stopwatch) -> None:
    """Measure the SQL files that a diff runs."""

    def wrapped(call: Callable[..., Any], place: int) -> Callable[..., Any]:
        def measured(*arguments: Any, **named: Any) -> Any:
            with stopwatch.measured(arguments[place]):
                return call(*arguments, **named)

        return measured

    for module in (capture_stage, run_stage):
        module.run_file = wrapped(module.run_file, 1)  # type: ignore[attr-defined]
    rollups.Rollups._run_file = wrapped(rollups.Rollups._run_file, 1)  # type: ignore[method-assign]


def cold_diff(baseline: Path, new: Path, work: Path, stopwatch: Stopwatch) -> float:
    """The share of one diff."""
    before, stopwatch.seconds = time.process_time(), 0.0
    with tempfile.TemporaryDirectory(dir=work) as folder, contextlib.redirect_stdout(io.StringIO()):
        places = ["-o", f"{folder}/out", "--cache-dir", f"{folder}/cache"]
        code = run(["diff", "-q", "-d", str(new), "-bp", str(baseline), *places])
    if code:
        sys.exit(f"the diff ended with {code}")
    total = time.process_time() - before
    share = stopwatch.seconds / (total - stopwatch.seconds)
    print(f"  {total:6.2f} s of CPU time, {stopwatch.seconds:5.2f} s of it the account: +{share:.1%}", flush=True)
    return share


def main() -> int:
    beside = Path(__file__).resolve().parents[2] / "shared"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="number of diffs; the median counts")
    parser.add_argument("--shared", type=Path, default=Path(os.environ.get("RLCOMPARE_SHARED") or beside))
    options = parser.parse_args()
    stopwatch = Stopwatch()
    watch(stopwatch)
    with tempfile.TemporaryDirectory(prefix="rlcompare-bench-") as work:
        baseline, new = make_databases(options.shared, Path(work))
        share = statistics.median(cold_diff(baseline, new, Path(work), stopwatch) for _ in range(options.repeat))
    kept = share <= LIMIT_SHARE
    print(f"  {'ok    ' if kept else 'MISSED'}  the account adds {share:.1%} to a cold diff (limit {LIMIT_SHARE:.0%})")
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
