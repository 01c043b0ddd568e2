#!/usr/bin/env python3
"""Checks the claims about many captures: cost of each, two cores, memory, interruptions and one more rank.

    python benchmarks/scale.py

Writes two runs of 256 ranks, and two of 5,000 tiny captures, and compares them with `rlcompare diff` as a whole
process, cold. Time per capture is processor time (user and system, all processes of the command), so that other
work on the machine does not count. Two cores against one are compared by wall time. Ends with 1 if a limit is missed.
Memory is the proportional set size of all processes together, sampled in runs whose time does not count. Takes about
fifteen minutes on two cores, and up to 4 GB of disk space.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psutil

RANKS = 256
TINY = 5_000
SLOWER = "MatMulV2"

LIMIT_CAPTURE_SECONDS = 0.12
LIMIT_TWO_CORES = 0.6
LIMIT_MEMORY_GB = 1.0
LIMIT_RESUMED = 0.75
LIMIT_ONE_MORE = 1

SAMPLE_SECONDS = 0.5
INTERRUPT_AT = 0.5
"""The fraction of the captures after which a diff is interrupted."""


@dataclass(frozen=True)
class Run:
    """One command: its wall time, its processor time, and the peak memory of its processes together."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int


class Checks:
    """The limits. Each is printed as soon as its result is known."""

    def __init__(self) -> None:
        self.missed = 0

    def at_most(self, what: str, value: float, limit: float, unit: str) -> None:
        kept = value <= limit
        self.missed += not kept
        mark = "ok    " if kept else "MISSED"
        print(f"  {mark}  {what:<44}{value:>9.3f} {unit:<3} (limit <= {limit:g})", flush=True)


def measure(command: Sequence[str], *, cores: Sequence[int] | None = None, watch: bool = False) -> Run:
    """Runs a command to its end; it must succeed.

    Args:
        cores: the only ones that it may use.
        watch: sample its memory, which slows it.
    """
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = start_on(command, output.fileno(), cores)
        peak = 0
        while watch and process.poll() is None:
            peak = max(peak, sum(map(memory, family(process))))
            time.sleep(SAMPLE_SECONDS)
        # Usage of the process and of the workers that it waited for.
        _, status, usage = (0, process.returncode, None) if watch else os.wait4(process.pid, 0)
        if status:
            output.seek(0)
            sys.exit(f"{' '.join(command)} ended with {status}:\n{output.read().decode(errors='replace')}")
    cpu = usage.ru_utime + usage.ru_stime if usage else 0.0
    return Run(time.perf_counter() - start, cpu, peak)


def start_on(command: Sequence[str], output: int, cores: Sequence[int] | None) -> subprocess.Popen[bytes]:
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or everywhere)
    try:
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    finally:
        os.sched_setaffinity(0, everywhere)


def family(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        parent = psutil.Process(process.pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.Error:
        return []


def memory(process: psutil.Process) -> int:
    try:
        full = process.memory_full_info()
        return int(getattr(full, "pss", full.rss))
    except psutil.Error:
        return 0


def write_ranks(folder: Path, ranks: int, *, change: str | None = None) -> Path:
    from rlcompare.writer import SampleRun, parse_change, write_sample

    changes = () if change is None else (parse_change(change),)
    write_sample(SampleRun(ranks=tuple(range(ranks)), changes=changes), folder)
    return folder


def write_tiny(folder: Path, captures: int, *, longer_ns: int = 0) -> Path:
    """Copies of one written capture, each with its own rank, times and session."""
    from rlcompare.writer import SampleRun, write_sample

    with tempfile.TemporaryDirectory() as scratch:
        (original,) = write_sample(
            SampleRun(
                ranks=(0,), phases=("compute_log_prob",), level="level0", contents=("npu",), layers=1, decode_steps=1
            ),
            Path(scratch) / "one",
        )
        for rank in range(captures):
            copy = folder / f"host_{rank}_20250815041547005_ascend_pt"
            shutil.copytree(original, copy)
            info = json.loads((copy / "profiler_info_0.json").read_text())
            (copy / "profiler_info_0.json").unlink()
            (copy / f"profiler_info_{rank}.json").write_text(json.dumps({**info, "rank_id": rank}))
            output = copy / "ASCEND_PROFILER_OUTPUT"
            database = output / "ascend_pytorch_profiler_0.db"
            with closing(sqlite3.connect(database)) as con:
                con.execute("UPDATE RANK_DEVICE_MAP SET rankId = ?", [rank])
                con.execute("UPDATE TASK SET endNs = endNs + ?", [longer_ns + rank % 7])
                con.commit()
            database.rename(output / f"ascend_pytorch_profiler_{rank}.db")
    return folder


def diff(options: argparse.Namespace, baseline: Path, new: Path, cache: Path) -> list[str]:
    command = [options.rlcompare, "diff", "-d", str(new), "-bp", str(baseline), "-q"]
    return [*command, "-o", str(cache.parent / "out"), "--cache-dir", str(cache)]


def parts_in(cache: Path) -> int:
    """The number of captures in a cache folder."""
    return sum(len(path.read_text().splitlines()) for path in (cache / "parts").glob("*.keys"))


def bench_ranks(options: argparse.Namespace, checks: Checks, work: Path) -> None:
    print(f"2 x {options.ranks} ranks")
    baseline = write_ranks(work / "base", options.ranks)
    new = write_ranks(work / "new", options.ranks, change=f"slower:{SLOWER}:1.3")
    cache = work / "cache"
    command = diff(options, baseline, new, cache)
    cores = sorted(os.sched_getaffinity(0))
    whole = measure(command, cores=cores[:2])
    show("rlcompare diff, cold", whole)
    checks.at_most("processor time per capture", whole.cpu_seconds / (2 * options.ranks), LIMIT_CAPTURE_SECONDS, "s")
    again = measure(command)
    show("rlcompare diff, again", again)
    bench_one_more(options, checks, work, baseline, new)
    shutil.rmtree(cache)
    if len(cores) > 1:
        one = measure(command, cores=cores[:1])
        show("on one core", one)
        checks.at_most("two cores to one, by the clock", whole.seconds / one.seconds, LIMIT_TWO_CORES, "x")
        shutil.rmtree(cache)
    bench_interrupted(checks, command, cache, 2 * options.ranks, whole)
    shutil.rmtree(cache)
    checks.at_most("memory of all processes", measure(command, watch=True).peak_bytes / 1e9, LIMIT_MEMORY_GB, "GB")
    shutil.rmtree(cache)


def bench_one_more(options: argparse.Namespace, checks: Checks, work: Path, baseline: Path, new: Path) -> None:
    """Adds a rank to one side."""
    extra = write_ranks(work / "more", options.ranks + 1, change=f"slower:{SLOWER}:1.3")
    known = {path.name for path in new.iterdir()}
    (added,) = [path for path in extra.iterdir() if path.is_dir() and path.name not in known]
    shutil.move(added, new / added.name)
    before = set(keys_in(work / "cache"))
    run = measure(diff(options, baseline, new, work / "cache"))
    show("one more rank", run)
    checks.at_most("parts made for one more rank", len(set(keys_in(work / "cache")) - before), LIMIT_ONE_MORE, "")
    shutil.rmtree(new / added.name)
    shutil.rmtree(extra)


def keys_in(cache: Path) -> list[str]:
    lists = [path.read_text() for path in (cache / "parts").glob("*.keys")]
    return [line.split()[0] for text in lists for line in text.splitlines()]


def bench_interrupted(checks: Checks, command: Sequence[str], cache: Path, captures: int, whole: Run) -> None:
    """Ctrl-C halfway, and the same command again."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and parts_in(cache) < captures * INTERRUPT_AT:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.wait()
    kept = parts_in(cache)
    run = measure(command)
    show(f"after an interruption, {kept} kept", run)
    checks.at_most("of a cold diff, after an interruption", run.cpu_seconds / whole.cpu_seconds, LIMIT_RESUMED, "x")


def bench_tiny(options: argparse.Namespace, checks: Checks, work: Path) -> None:
    print(f"2 x {options.tiny} tiny captures")
    baseline = write_tiny(work / "base", options.tiny)
    new = write_tiny(work / "new", options.tiny, longer_ns=1000)
    command = diff(options, baseline, new, work / "cache")
    run = measure(command)
    show("rlcompare diff, cold", run)
    checks.at_most("processor time per capture", run.cpu_seconds / (2 * options.tiny), LIMIT_CAPTURE_SECONDS, "s")
    show("rlcompare diff, again", measure(command))
    shutil.rmtree(work / "cache")
    checks.at_most("memory of all processes", measure(command, watch=True).peak_bytes / 1e9, LIMIT_MEMORY_GB, "GB")


def show(name: str, run: Run) -> None:
    print(f"  {name:<36}{run.seconds:>9.2f} s, of the processor {run.cpu_seconds:>9.2f} s", flush=True)


BENCHMARKS = {"ranks": bench_ranks, "tiny": bench_tiny}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rlcompare", default=str(Path(sys.executable).with_name("rlcompare")), help="rlcompare's")
    parser.add_argument("--only", choices=sorted(BENCHMARKS), help="one part of it")
    parser.add_argument("--ranks", type=int, default=RANKS, help="ranks a side")
    parser.add_argument("--tiny", type=int, default=TINY, help="tiny captures a side")
    parser.add_argument("--work", type=Path, help="where the inputs are made for a while")
    options = parser.parse_args(arguments)
    checks = Checks()
    for name, bench in BENCHMARKS.items():
        if options.only in (None, name):
            with tempfile.TemporaryDirectory(prefix="rlcompare-bench-", dir=options.work) as folder:
                bench(options, checks, Path(folder))
    return 1 if checks.missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
