"""Writes a store anew in a process of its own, whose memory never held the texts that were removed from the store.

DuckDB writes whole blocks. Their unused parts hold what the memory of the process held before, so a store that is
written where a profile was read can contain a secret that is in none of its tables.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb

from rlcompare import db, temporary

_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from rlcompare.store.clean_copy import main; main()"


def write_again(con: duckdb.DuckDBPyConnection, partial: Path) -> None:
    """Replaces a store with a copy that another process writes.

    Args:
        con: has the file attached as ``store``, which is not its current database; at the end it is detached.
        partial: the file, which is still under a temporary name.

    Raises:
        WriteError: the copy cannot be written, or no process can be started.
    """
    with temporary.folder() as folder, temporary.replacing(partial) as clean:
        exported = Path(folder) / "store"
        db.run(con, "SET preserve_insertion_order = true")
        db.run(con, f"EXPORT DATABASE store TO {db.quoted(exported)} (FORMAT parquet)")
        db.detach(con)
        command = [sys.executable, "-c", _START, json.dumps(sys.path), str(exported), str(clean.absolute())]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        except OSError as error:
            raise db.WriteError(partial, f"a process that writes it cannot be started: {error}") from error
        if done.returncode != 0:
            lines = done.stderr.split("\n")
            reason = next((line for line in reversed(lines) if line.strip()), f"exit status {done.returncode}")
            raise db.WriteError(partial, reason.strip())


def main() -> None:
    """Make a store, the second argument, of an exported one, the first argument."""
    exported, clean = map(Path, sys.argv[2:])
    with db.closed(db.connect(1)) as con:
        db.run(con, "SET preserve_insertion_order = true")
        db.attach(con, clean, read_only=False)
        con.execute("USE store")
        db.run(con, f"IMPORT DATABASE {db.quoted(exported)}")
        con.execute("USE memory")
        db.detach(con)
