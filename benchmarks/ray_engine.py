#!/usr/bin/env python3
"""Checks that a Ray cluster gives the same stores and the same diff as this machine, even if workers are killed, and
that a side on an object store gives the same diff.

    python benchmarks/ray_engine.py

Writes two sides of 64 ranks, starts a cluster of two nodes on this machine, and a local object store (moto). Ends with
1 if anything differs. Needs the extras `ray` and `dev`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import psutil

WORKERS = ("ray::_make", "ray::IDLE")


def rlcompare(*arguments: object) -> str:
    """The output of a command, which must succeed."""
    command = [sys.executable, "-m", "rlcompare", *map(str, arguments), "-q"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def differing_tables(one: Path, other: Path) -> list[str]:
    """Names of the tables whose rows differ."""
    with contextlib.closing(duckdb.connect()) as con:
        con.execute(f"ATTACH '{one}' AS one (READ_ONLY)")
        con.execute(f"ATTACH '{other}' AS other (READ_ONLY)")
        query = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'one' ORDER BY 1"
        names = [name for (name,) in con.execute(query).fetchall()]
        found = []
        for name in names:
            rows = [f'SELECT * FROM {side}.main."{name}"' for side in ("one", "other")]  # noqa: S608
            a, b = rows
            if con.execute(f"({a} EXCEPT ALL {b}) UNION ALL ({b} EXCEPT ALL {a}) LIMIT 1").fetchall():
                found.append(name)
        return found


@contextlib.contextmanager
def killed_workers(killed: list[int]) -> Iterator[None]:
    """Kills all of Ray's workers once, as soon as one is active."""
    end = threading.Event()

    def kill() -> None:
        while not end.is_set() and not killed:
            lines = {process: (process.info["cmdline"] or [""])[0] for process in psutil.process_iter(["cmdline"])}
            if WORKERS[0] in lines.values():
                time.sleep(1)
                for process, line in lines.items():
                    if line in WORKERS:
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(process.pid, signal.SIGKILL)
                            killed.append(process.pid)
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


@contextlib.contextmanager
def object_store(folder: Path) -> Iterator[str]:
    """The URL of a bucket that holds a folder."""
    import s3fs
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    storage = s3fs.S3FileSystem()
    storage.mkdir("profiles")
    storage.put(str(folder), "profiles/", recursive=True)
    yield f"s3://profiles/{folder.name}"
    server.stop()


def without_paths(text: str) -> Any:
    document = json.loads(text)
    for side in ("baseline", "new"):
        for run in document[side]["runs"]:
            del run["path"]
    return document


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=64)
    ranks = parser.parse_args().ranks
    failed = 0

    def check(what: str, is_kept: bool, detail: str = "") -> None:
        nonlocal failed
        failed += not is_kept
        print(f"  {'ok    ' if is_kept else 'FAILED'}  {what} {detail}", flush=True)

    from ray.cluster_utils import Cluster

    with tempfile.TemporaryDirectory(prefix="rlcompare-benchmark-") as scratch:
        folder = Path(scratch) / "sides"
        for side, more in (("baseline", ()), ("new", ("--change", "slower:MatMulV2:1.3"))):
            rlcompare("sample", "-o", folder / side, "--ranks", ranks, "--world-size", ranks, *more)
        sides = ("-bp", folder / "baseline", "-d", folder / "new", "--json", "--no-cache")
        cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        on_ray = ("--engine", "ray", "--ray-address", cluster.address)
        print(f"2 x {ranks} ranks, a cluster of two nodes")
        local = rlcompare("diff", *sides)
        check("the same diff on Ray", rlcompare("diff", *sides, *on_ray) == local)
        store, other = (Path(scratch) / f"{name}.duckdb" for name in ("local", "ray"))
        rlcompare("ingest", folder / "new", "-o", store)
        killed: list[int] = []
        with killed_workers(killed):
            rlcompare("ingest", folder / "new", "-o", other, *on_ray)
        tables = differing_tables(store, other)
        check("the same tables, with workers killed", bool(killed) and not tables, f"({len(killed)} killed) {tables}")
        cluster.shutdown()
        with object_store(folder) as url:
            there = ("-bp", f"{url}/baseline", "-d", f"{url}/new", "--json", "--no-cache")
            check("the same diff by s3://", without_paths(rlcompare("diff", *there)) == without_paths(local))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
