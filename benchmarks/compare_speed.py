#!/usr/bin/env python3
"""Checks the claims about speed and memory against msprof-analyze, on the same pair of profiles in the same run.

    python benchmarks/compare_speed.py --msprof path/to/msprof-analyze

Makes two databases of 224 MB and two trace_view.json of 330 MB by repeating a real step (with the tools of the shared
folder, see CONTRIBUTING), times `rlcompare diff` and `msprof-analyze compare` as whole processes, and ends with 1 if a
limit is missed. Memory is that of all processes of a command together, sampled in a separate run, because sampling
slows the command: the proportional set size if the system provides it, else the resident set size. Takes about ten
minutes on two cores, most of them msprof-analyze's.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

COPIES_DB = 500
COPIES_TEXT = 150
SLOWER = "1.05"
SAMPLE_SECONDS = 0.05
PEER_SAMPLE_SECONDS = 2.0

LIMIT_RATIO_DB = 45.0
LIMIT_MEMORY_GB = 0.7
LIMIT_SECOND_SECONDS = 0.9
LIMIT_SMALL_SECONDS = 1.2
LIMIT_RATIO_TEXT = 12.0
LIMIT_HELP_SECONDS = 0.2

REFERENCE = "ascend-910b-2025-level01"
DATABASE = "ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_{}.db"


@dataclass(frozen=True)
class Run:
    """One command: its duration, and the peak memory of it and its children together."""

    seconds: float
    peak_bytes: int


class Checks:
    """The limits. Each is printed as soon as its result is known."""

    def __init__(self) -> None:
        self.missed = 0

    def at_least(self, what: str, value: float, limit: float, unit: str) -> None:
        self._line(what, value, f">= {limit:g}", unit, value >= limit)

    def at_most(self, what: str, value: float, limit: float, unit: str) -> None:
        self._line(what, value, f"<= {limit:g}", unit, value <= limit)

    def _line(self, what: str, value: float, limit: str, unit: str, kept: bool) -> None:
        self.missed += not kept
        print(f"  {'ok    ' if kept else 'MISSED'}  {what:<44}{value:>9.2f} {unit:<3} (limit {limit})", flush=True)


def measure(command: list[str], sample_every: float | None = None) -> Run:
    """Runs a command to its end; it must succeed.

    Args:
        sample_every: seconds between samples of its memory; None: no sampling, because that slows the command
            (proportional sizes walk all pages, and finding children walks all processes).
    """
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = psutil.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        peak = 0
        while sample_every is not None and process.poll() is None:
            peak = max(peak, sum(map(memory, [process, *children(process)])))
            time.sleep(sample_every)
        process.wait()
        seconds = time.perf_counter() - start
        if process.returncode:
            output.seek(0)
            sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{output.read().decode(errors='replace')}")
    return Run(seconds, peak)


def children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return list(process.children(recursive=True))
    except psutil.Error:
        return []


def memory(process: psutil.Process) -> int:
    try:
        full = process.memory_full_info()
        return int(getattr(full, "pss", full.rss))
    except psutil.Error:
        return 0


def median(runs: list[Run]) -> Run:
    """The median time and the highest peak."""
    return Run(statistics.median(run.seconds for run in runs), max(run.peak_bytes for run in runs))


def make_databases(shared: Path, work: Path) -> tuple[Path, Path]:
    """Two *_ascend_pt folders with a database each; every kernel of the second one is slower."""
    sides = []
    for rank, slower in ((0, "1.0"), (1, SLOWER)):
        source = shared / "profiles" / REFERENCE / "db" / "level1" / f"rank{rank}_ascend_pt"
        side = work / f"db{rank}" / f"rank{rank}_ascend_pt"
        (side / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
        shutil.copy(source / f"profiler_info_{rank}.json", side)
        database = DATABASE.format(rank)
        tool = shared / "tools" / "scale_ascend_db.py"
        arguments = [str(source / database), str(side / database), str(COPIES_DB), slower]
        subprocess.run([sys.executable, str(tool), *arguments], check=True)
        print(f"  {database}: {(side / database).stat().st_size / 1e6:.0f} MB", flush=True)
        sides.append(side)
    return sides[0], sides[1]


def make_text(shared: Path, work: Path) -> tuple[Path, Path]:
    """Two *_ascend_pt folders with text files."""
    sides = []
    for rank in (0, 1):
        source = shared / "profiles" / REFERENCE / "text" / "level1" / f"rank{rank}_ascend_pt"
        side = work / f"text{rank}" / f"rank{rank}_ascend_pt"
        side.parent.mkdir(parents=True)
        tool = shared / "tools" / "scale_trace_view.py"
        subprocess.run([sys.executable, str(tool), str(source), str(side), str(COPIES_TEXT)], check=True)
        trace = side / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
        print(f"  trace_view.json: {trace.stat().st_size / 1e6:.0f} MB", flush=True)
        sides.append(side)
    return sides[0], sides[1]


def ours(options: argparse.Namespace, baseline: Path, new: Path, work: Path) -> tuple[list[Run], list[Run], Run]:
    """Cold diffs, which read everything; second diffs, which start from the cache; and a cold one with its memory."""
    cold, second = [], []
    cache = work / "cache"
    command = [options.rlcompare, "diff", "-d", str(new), "-bp", str(baseline)]
    command += ["-o", str(work / "out"), "--cache-dir", str(cache)]
    for _ in range(options.repeat):
        cold.append(measure(command))
        second.append(measure(command))
        shutil.rmtree(cache)
    watched = measure(command, SAMPLE_SECONDS)
    shutil.rmtree(cache)
    return cold, second, watched


def theirs(options: argparse.Namespace, baseline: Path, new: Path, work: Path) -> Run | None:
    """msprof-analyze on the same pair, once: it takes minutes."""
    if options.msprof is None:
        print("  msprof-analyze is not here (--msprof): its ratio is not checked", flush=True)
        return None
    output = work / "msprof-out"
    run = measure(
        [options.msprof, "compare", "-d", str(new), "-bp", str(baseline), "-o", str(output)], PEER_SAMPLE_SECONDS
    )
    if not list(output.glob("*.xlsx")):  # its exit code is always 0
        sys.exit("msprof-analyze wrote no table: run it by hand to see why")
    return run


def show(name: str, run: Run) -> None:
    memory_used = f"{run.peak_bytes / 1e9:>9.2f} GB" if run.peak_bytes else ""
    print(f"  {name:<28}{run.seconds:>9.2f} s {memory_used}", flush=True)


def shown(colds: list[Run], seconds: list[Run], watched: Run) -> tuple[Run, Run]:
    """The medians of cold and of second diffs, printed."""
    cold, second = replace(median(colds), peak_bytes=watched.peak_bytes), median(seconds)
    show("rlcompare diff", cold)
    show("rlcompare diff, again", second)
    return cold, second


def bench_pair(
    options: argparse.Namespace,
    checks: Checks,
    work: Path,
    make: Callable[[Path, Path], tuple[Path, Path]],
    ratio: float,
) -> tuple[Run, Run]:
    baseline, new = make(options.shared, work)
    # A machine's speed drifts during the minutes that msprof-analyze takes, so ours is timed before and after it.
    colds, seconds, watched = ours(options, baseline, new, work)
    peer = theirs(options, baseline, new, work)
    if peer:
        later = ours(options, baseline, new, work)
        colds, seconds = colds + later[0], seconds + later[1]
    cold, second = shown(colds, seconds, watched)
    if peer:
        show("msprof-analyze compare", peer)
        checks.at_least("times as fast as msprof-analyze", peer.seconds / cold.seconds, ratio, "x")
    return cold, second


def bench_db(options: argparse.Namespace, checks: Checks, work: Path) -> None:
    print("two databases")
    cold, second = bench_pair(options, checks, work, make_databases, LIMIT_RATIO_DB)
    checks.at_most("memory of all processes", cold.peak_bytes / 1e9, LIMIT_MEMORY_GB, "GB")
    checks.at_most("second diff of the same inputs", second.seconds, LIMIT_SECOND_SECONDS, "s")


def bench_small(options: argparse.Namespace, checks: Checks, work: Path) -> None:
    print("two databases of 0.5 MB")
    level0 = options.shared / "profiles" / REFERENCE / "db" / "level0"
    cold, _ = shown(*ours(options, level0 / "rank0_ascend_pt", level0 / "rank1_ascend_pt", work))
    checks.at_most("first diff", cold.seconds, LIMIT_SMALL_SECONDS, "s")


def bench_text(options: argparse.Namespace, checks: Checks, work: Path) -> None:
    print("two text profiles")
    bench_pair(options, checks, work, make_text, LIMIT_RATIO_TEXT)


def bench_help(options: argparse.Namespace, checks: Checks, work: Path) -> None:
    print("start-up")
    seconds = []
    for _ in range(max(5, options.repeat)):
        start = time.perf_counter()
        subprocess.run([options.rlcompare, "--help"], stdout=subprocess.DEVNULL, check=True, cwd=work)
        seconds.append(time.perf_counter() - start)
    checks.at_most("rlcompare --help", statistics.median(seconds), LIMIT_HELP_SECONDS, "s")


BENCHMARKS = {"help": bench_help, "small": bench_small, "db": bench_db, "text": bench_text}


@contextmanager
def work_folder(chosen: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rlcompare-bench-", dir=chosen) as folder:
        yield Path(folder)


def parse(arguments: list[str]) -> argparse.Namespace:
    beside = Path(__file__).resolve().parents[2] / "shared"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--msprof", default=shutil.which("msprof-analyze"), help="msprof-analyze's executable")
    parser.add_argument("--rlcompare", default=str(Path(sys.executable).with_name("rlcompare")), help="rlcompare's")
    parser.add_argument("--repeat", type=int, default=3, help="how often rlcompare runs; the median counts")
    parser.add_argument("--only", choices=sorted(BENCHMARKS), help="one part of it")
    parser.add_argument("--work", type=Path, help="where the 2 GB of inputs are made for a while")
    parser.add_argument("--shared", type=Path, default=Path(os.environ.get("RLCOMPARE_SHARED") or beside))
    options = parser.parse_args(arguments)
    if not (options.shared / "profiles").is_dir():
        parser.error(f"the real profiles are not in {options.shared}: use --shared, or set RLCOMPARE_SHARED")
    if shutil.which(options.rlcompare) is None:
        parser.error(f"{options.rlcompare} is no executable: use --rlcompare")
    return options


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    checks = Checks()
    for name, bench in BENCHMARKS.items():
        if options.only in (None, name):
            with work_folder(options.work) as work:
                bench(options, checks, work)
    return 1 if checks.missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
