"""Builds stores for tests, and asks them."""

from __future__ import annotations

import hashlib
import shutil
from os import getpid
from pathlib import Path
from typing import Any

import duckdb

from rlcompare import db, resources
from rlcompare.sources.detect import find_runs
from rlcompare.store.build import build_store

FOREVER: list[Path] = []
"""Folders whose files no test changes. The first one, which is of this session, keeps stores of runs in the others."""


def store_of(path: Path, target: Path, *, prefer: str = "db", keep_events: bool = True) -> Path:
    """The store of the only run below a path. It is made once per session if no test changes the run."""
    kept = _kept(path, f"{prefer} {keep_events}")
    if kept is None:
        return _build(path, target, prefer, keep_events)
    if not kept.exists():  # two workers may make the same one at a time
        _build(path, kept.with_name(f"{kept.name}.{getpid()}"), prefer, keep_events).replace(kept)
    target.parent.mkdir(parents=True, exist_ok=True)
    return shutil.copyfile(kept, target)


def _kept(path: Path, options: str) -> Path | None:
    if path.is_symlink() or not any(path.resolve().is_relative_to(folder) for folder in FOREVER[1:]):
        return None
    return FOREVER[0] / hashlib.sha256(f"{path.resolve()} {options}".encode()).hexdigest()


def _build(path: Path, target: Path, prefer: str, keep_events: bool) -> Path:
    (run,) = find_runs(path, prefer=prefer)
    build_store(run, target, keep_events=keep_events, threads=1)
    return target


def rows(store: Path, query: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
    """What a query says about a store."""
    with duckdb.connect(str(store), read_only=True) as con:
        return con.execute(query, parameters or []).fetchall()


def to_fill(*, keep_events: bool = True) -> duckdb.DuckDBPyConnection:
    """A fresh connection with the tables that a source fills, for capture 0."""
    con = db.connect(1, sqlite=True)
    for folder in ("schema/run", "schema/events", "schema/stage", "sources/macro"):
        for name in resources.sql_names(folder):
            con.execute(resources.sql(name))
    con.execute("SET VARIABLE capture = 0")
    con.execute("SET VARIABLE keep_events = ?", [keep_events])
    return con
