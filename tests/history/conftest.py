"""A PostgreSQL server of the test run's own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PASSWORD = "pa:ss/w@rd-4711"
QUOTED = "pa%3Ass%2Fw%40rd-4711"


@dataclass(frozen=True)
class Server:
    """A running server; its user ``team`` needs ``PASSWORD``."""

    port: int

    def url(self, database: str = "postgres", password: str = QUOTED) -> str:
        return f"postgresql://team:{password}@127.0.0.1:{self.port}/{database}"


def _programs() -> Path | None:
    """The folder of initdb and pg_ctl: Debian keeps them out of the path."""
    found = shutil.which("pg_ctl")
    if found and shutil.which("initdb"):
        return Path(found).parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), default=None)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server on this machine only; skips the test where PostgreSQL is not installed."""
    pytest.importorskip(
        "duckdb_extension_postgres_scanner", reason="duckdb-extension-postgres-scanner is not installed"
    )
    programs = _programs()
    if programs is None or not (programs / "initdb").exists():
        pytest.skip("PostgreSQL is not installed (Debian's package postgresql)")
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    if user and shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL does not run as root, and setpriv is not installed")
    # Not in pytest's folder: that of another user cannot be entered. The socket's path must be short.
    folder = Path(tempfile.mkdtemp(prefix="rlc-pg-", dir="/tmp"))
    (folder / "password").write_text(PASSWORD)
    if user:
        try:
            for path in (folder, folder / "password"):
                os.chown(path, 65534, 65534)
        except PermissionError:  # as in a container without capabilities
            shutil.rmtree(folder)
            pytest.skip("PostgreSQL does not run as root, and this root cannot become another user")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = str(folder / "data")

    def call(program: str, *arguments: str) -> None:
        done = subprocess.run(
            [*user, str(programs / program), *arguments], cwd=folder, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr

    options = f"-k {folder} -p {port} -c listen_addresses=127.0.0.1 -c fsync=off"
    try:
        call("initdb", "-D", data, "-A", "scram-sha-256", "-U", "team", f"--pwfile={folder / 'password'}", "--no-sync",
             "-E", "UTF8", "--locale=C")  # fmt: skip
        subprocess.run(
            [*user, str(programs / "pg_ctl"), "-D", data, "-l", str(folder / "log"), "-w", "-o", options, "start"],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=True,
        )  # fmt: skip
        yield Server(port)
        call("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
