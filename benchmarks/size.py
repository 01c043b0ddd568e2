#!/usr/bin/env python3
"""Checks what is claimed about large inputs: memory, time, and the sizes of the page and of diff.json.

    python benchmarks/size.py
    python benchmarks/size.py --only steps --only kernels

Writes each input for a while, runs `rlcompare diff` on it as a whole process without a cache, and prints its figures
beside the limits. Memory is the peak of all processes of the command together (proportional set size, sampled).
Ends with 1 if a limit is missed. Needs Linux; takes about five minutes on two cores and 2 GB of disk space.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

LIMITS = {"memory, GB": 1.0, "time, s": 20.0, "page, MB": 2.0, "diff.json, MB": 40.0}
BOMB_BYTES = 4 * 2**30
SAMPLE_SECONDS = 0.05
SLOWER = 1.1


@dataclass(frozen=True)
class Input:
    """What one side of a comparison consists of.

    Attributes:
        what: in words.
        write: writes a side into a new folder. Its last argument makes times longer.
        is_refused: whether the command must end with exit code 4.
    """

    what: str
    write: Callable[[Path, float], None]
    is_refused: bool = False


@dataclass(frozen=True)
class Figures:
    """What one command took, and what it wrote."""

    code: int
    values: dict[str, float]
    left: float
    said: str


def write_log(folder: Path, slower: float, steps: int, metrics: int) -> None:
    """A file of verl's file logger; every tenth metric is a timer."""
    folder.mkdir(parents=True)
    noise = random.Random(1)
    names = [_metric(number) for number in range(metrics)]
    drawn = [f"{noise.uniform(0.9, 1.1):.5f}" for _ in range(997)]
    with (folder / "metrics.jsonl").open("w", encoding="utf-8") as file:
        for step in range(1, steps + 1):
            data = ", ".join(f'"{name}": {drawn[(step * 31 + at * 7) % 997]}' for at, name in enumerate(names))
            times = f'"timing_s/step": {10 * slower * float(drawn[step % 997]):.5f}, "timing_s/gen": {4 * slower:.5f}'
            file.write(f'{{"step": {step}, "data": {{{times}, {data}}}}}\n')


def _metric(number: int) -> str:
    if number % 10 == 0:
        return f"timing_s/stage_{number}"
    if number % 10 == 1:
        return f"val-core/dataset_{number % 17}/reward/mean@{number}"
    return f"actor/custom_{number}" if number % 2 else f"critic/values_of_a_group/{number}/mean"


def write_runs(folder: Path, slower: float, runs: int) -> None:
    """Many runs of 50 steps and 60 metrics."""
    for run in range(runs):
        write_log(folder / f"run_{run}", slower * (1 + run / 1e4), 50, 60)


def write_kernels(folder: Path, slower: float, kernels: int, length: int, different: int) -> None:
    """A database with many kernels in one step.

    Args:
        length: bytes of the shortest name; the longest is four times as long.
        different: number of different kernels.
    """
    from rlcompare.writer import SampleRun, write_sample

    spec = SampleRun(
        ranks=(0,), phases=("update_actor",), steps=(2,), contents=("npu", "cpu"), layers=1, decode_steps=1
    )
    (capture,) = write_sample(spec, folder)
    (database,) = (capture / "ASCEND_PROFILER_OUTPUT").glob("ascend_pytorch_profiler*.db")
    with closing(sqlite3.connect(database)) as con:
        con.create_function("named", 1, lambda number: _name(number, length))
        con.executescript(
            """
            CREATE TEMP TABLE first AS
            SELECT task.*, info.rowid AS info_row FROM TASK task
            JOIN COMPUTE_TASK_INFO info USING (globalTaskId) ORDER BY startNs LIMIT 1;
            CREATE TEMP TABLE bounds AS SELECT max(id) AS id FROM STRING_IDS;
            CREATE TEMP TABLE span AS SELECT max(globalTaskId) AS id, max(endNs) AS end FROM TASK;
            """
        )
        con.execute(
            "INSERT INTO STRING_IDS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " SELECT bounds.id + i, named(i) FROM n, bounds",
            [different],
        )
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
        columns = [row[1] for row in con.execute("PRAGMA table_info(TASK)")]
        shown = {
            "startNs": "span.end + i * 2000",
            "endNs": "span.end + i * 2000 + CAST((200 + i % 700) * ? AS INTEGER)",
            "globalTaskId": "span.id + i",
        }
        values = ", ".join(shown.get(name, f"first.{name}") for name in columns)
        con.execute(f"INSERT INTO TASK {numbers} SELECT {values} FROM n, first, span", [kernels, slower])  # noqa: S608
        columns = [row[1] for row in con.execute("PRAGMA table_info(COMPUTE_TASK_INFO)")]
        name = f"bounds.id + 1 + (i * 7919) % {int(different)}"
        shown = {"globalTaskId": "span.id + i", "name": name, "opType": name}
        values = ", ".join(shown.get(column, f"info.{column}") for column in columns)
        con.execute(
            f"INSERT INTO COMPUTE_TASK_INFO {numbers} SELECT {values} FROM n, bounds, span, first"  # noqa: S608
            " JOIN COMPUTE_TASK_INFO info ON info.rowid = first.info_row",
            [kernels],
        )
        (end,) = con.execute("SELECT max(endNs) + 1000 FROM TASK").fetchone()
        con.execute("UPDATE STEP_TIME SET endNs = ?", [end])
        con.execute("UPDATE SESSION_TIME_INFO SET endTimeNs = ?", [end])
        con.commit()


def _name(number: int, length: int) -> str:
    """The name of a kernel as C++ templates have them; no two are alike."""
    noise = random.Random(number)
    wanted = length * (1 + number % 4)
    text = f"void kernel_{number}<"
    while len(text) < wanted:
        text += f"Tensor<Layout<tuple<C<{noise.randrange(10**6)}>, C<{noise.randrange(10**6)}>>>>, "
    return text[:wanted] + ">"


def write_trace(folder: Path, slower: float, kernels: int, length: int) -> None:
    """A trace of torch.profiler with many kernels, each with an own name."""
    folder.mkdir(parents=True)
    with (folder / "trace.json").open("w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [\n')
        span = kernels * 2.0 + 10
        step = '{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 1, "dur": %f}'
        file.write(step % span)
        for number in range(kernels):
            name, took = json.dumps(_name(number, length)), (0.2 + number % 700 / 1000) * slower
            file.write(
                f',\n{{"ph": "X", "cat": "kernel", "name": {name}, "pid": 0, "tid": 7, "ts": {10 + number * 2},'
                f' "dur": {took:.3f}, "args": {{"device": 0, "stream": 7, "correlation": {number}}}}}'
            )
        file.write("\n]}\n")


def write_ranks(folder: Path, slower: float, ranks: int) -> None:
    """Many ranks of a small job."""
    from rlcompare.writer import SampleRun, parse_change, write_sample

    spec = SampleRun(
        ranks=tuple(range(ranks)), phases=("update_actor",), steps=(2,), contents=("npu",), layers=1, decode_steps=1,
        changes=() if slower == 1 else (parse_change(f"slower:MatMulV2:{slower}"),),
    )  # fmt: skip
    write_sample(spec, folder)


def write_bomb(folder: Path, slower: float, size: int) -> None:
    """A small compressed trace that is all spaces when it is unpacked."""
    folder.mkdir(parents=True)
    head = b'{"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "a", "cat": "kernel", "ts": 1, "dur": 1}'
    part = min(size, 2**26)
    with (folder / "trace.json.gz").open("wb") as file:
        spaces = gzip.compress(b" " * part, 9)
        file.writelines([gzip.compress(head), *[spaces] * (size // part), gzip.compress(b"]}")])


def inputs(small: bool = False) -> dict[str, Input]:
    """The inputs by name; the small ones are a thousandth to a tenth of the size."""
    part = 100 if small else 1

    def log(steps: int, metrics: int) -> Callable[[Path, float], None]:
        return lambda folder, slower: write_log(folder, slower, steps, metrics)

    def kernels(number: int, length: int, different: int) -> Callable[[Path, float], None]:
        return lambda folder, slower: write_kernels(folder, slower, number, length, different)

    return {
        "steps": Input("10,000 steps of 300 metrics", log(10_000 // part, 300)),
        "values": Input("10 steps of 100,000 metrics", log(10, 100_000 // part)),
        "wide": Input("100 steps of 10,000 metrics", log(100, 10_000 // part)),
        "kernels": Input("100,000 kernels, names of 1 to 4 kB", kernels(100_000 // part, 1000, 100_000 // part)),
        "short": Input("100,000 kernels, names of 40 to 160 bytes", kernels(100_000 // part, 40, 100_000 // part)),
        "calls": Input("1,000,000 calls of 1,000 kernels", kernels(1_000_000 // part, 40, 1000)),
        "trace": Input(
            "a trace of 100,000 kernels, names of 1 to 4 kB",
            lambda folder, slower: write_trace(folder, slower, 100_000 // part, 1000),
        ),
        "runs": Input("200 runs", lambda folder, slower: write_runs(folder, slower, 200 // (20 if small else 1))),
        "ranks": Input(
            "1,024 ranks", lambda folder, slower: write_ranks(folder, slower, 1024 // (256 if small else 1))
        ),
        "bomb": Input(
            "4 MB that unpack to 4 GB", lambda folder, slower: write_bomb(folder, slower, BOMB_BYTES // part), True
        ),
    }


def measure(command: Sequence[str], out: Path, scratch: Path) -> Figures:
    """Runs a command and follows the memory of its processes, and what it has in the temporary folder."""
    scratch.mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(scratch)}
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
        peak = written = 0
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            peak = max(peak, sum(map(memory_of, family(process.pid))))
            written = max(written, size_below(scratch))
            time.sleep(SAMPLE_SECONDS)
        seconds = time.perf_counter() - start
        output.seek(0)
        said = output.read().decode(errors="replace")
    _, status, usage = ended
    process.returncode = os.waitstatus_to_exitcode(status)  # it is waited for here
    found = {"memory, GB": peak / 1e9, "time, s": seconds, "processor, s": usage.ru_utime + usage.ru_stime}
    if out.exists():
        found["page, MB"] = size_of(out / "report.html") / 1e6
        found["diff.json, MB"] = size_of(out / "diff.json") / 1e6
    return Figures(process.returncode, found, written / 1e9, said)


def family(pid: int) -> Iterator[int]:
    """A process and its descendants."""
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from family(int(child))


def memory_of(pid: int) -> int:
    """The proportional set size of a process in bytes; 0 if it has ended."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("Pss:")).split()[1])
    return 0


def size_of(path: Path) -> int:
    """The size of a file; 0 for a folder, and for what has gone."""
    with suppress(OSError):
        return path.stat().st_size if path.is_file() else 0
    return 0


def size_below(folder: Path) -> int:
    """The size of all files below a folder that others write to: what has gone meanwhile does not count."""
    return sum(size_of(Path(parent, name)) for parent, _, names in os.walk(folder) for name in names)


def bench(given: Input, rlcompare: Sequence[str], work: Path, *, cache: Path | None = None) -> Figures:
    """Writes both sides and compares them."""
    sides = {"base": 1.0, "new": SLOWER}
    for name, slower in sides.items():
        given.write(work / name, slower)
    kept = ["--no-cache"] if cache is None else ["--cache-dir", str(cache)]
    out = work / "out"
    command = [*rlcompare, "diff", "-q", "-d", str(work / "new"), "-bp", str(work / "base"), "-o", str(out), *kept]
    return measure(command, out, work / "tmp")


def main(arguments: list[str]) -> int:
    known = inputs()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rlcompare", default=str(Path(sys.executable).with_name("rlcompare")), help="rlcompare's")
    parser.add_argument("--only", action="append", choices=sorted(known), help="only this input; may be repeated")
    parser.add_argument("--work", type=Path, help="where the inputs are made for a while")
    options = parser.parse_args(arguments)
    missed = 0
    for name in options.only or known:
        folder = Path(tempfile.mkdtemp(prefix="rlcompare-size-", dir=options.work))
        try:
            found = bench(known[name], [options.rlcompare], folder)
        finally:
            shutil.rmtree(folder)
        missed += report(known[name], found)
    return int(missed > 0)


def report(given: Input, found: Figures) -> int:
    """Prints the figures of an input, and returns how many limits it misses."""
    print(f"{given.what}: exit code {found.code}, at most {found.left:.2f} GB in the temporary folder")
    missed = int(found.code != (4 if given.is_refused else 0))
    if missed:
        print(f"  MISSED  {found.said[-500:]}")
    for name, value in found.values.items():
        limit = LIMITS.get(name)
        is_missed = limit is not None and value > limit
        missed += is_missed
        of = "" if limit is None else f"   limit {limit:g}"
        print(f"  {'MISSED' if is_missed else 'ok    '}  {name:<16}{value:>9.2f}{of}", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
