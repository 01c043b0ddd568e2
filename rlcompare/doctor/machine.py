"""Inspects the machine: packages, devices, toolkits, tools and free disk space.

Frameworks are imported in separate processes with a time limit: torch_npu without CANN may crash the process that
imports it, or hang. Only the environment variables named here are read.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from rlcompare.errors import UsageError

PACKAGES = ("torch", "torch-npu", "verl", "vllm", "vllm-ascend", "sglang", "ray", "omegaconf", "hydra-core", "duckdb")
SILENCERS = ("PROFILING_MODE", "PROFILER_SAMPLECONFIG")
"""If one of these is set, torch_npu's profiler silently does nothing."""
_CANN_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_CANN_FOLDERS = ("/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/cann", "~/Ascend/ascend-toolkit/latest")
_VERSION_FILES = ("version.info", "compiler/version.info", "runtime/version.info", "opp/version.info")
_IMPORT_SECONDS = 60

_TORCH = """
import json, torch
cuda = torch.cuda.is_available()
names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())] if cuda else []
print("rlcompare:" + json.dumps({"devices": names, "cuda": torch.version.cuda}))
"""
_VERSIONS = """
import contextlib, importlib.util, pathlib, sys
from importlib import metadata
print(".".join(map(str, sys.version_info[:3])))
for name in sys.argv[1:]:
    try:
        print(f"{name}={metadata.version(name)}")
    except metadata.PackageNotFoundError:
        pass
with contextlib.suppress(Exception):  # a checkout of verl may have no metadata, or those of an older state
    folder = importlib.util.find_spec("verl").submodule_search_locations[0]
    version = pathlib.Path(folder, "version", "version").read_text().strip()
    if version:
        print(f"verl={version}")
"""
_TORCH_NPU = """
import json, torch, torch_npu
npu = torch.npu.is_available()
names = [torch.npu.get_device_name(index) for index in range(torch.npu.device_count())] if npu else []
print("rlcompare:" + json.dumps({"devices": names}))
"""


@dataclass(frozen=True)
class Imported:
    """Result of importing a framework in a separate process.

    Attributes:
        problem: why it could not be imported; None: it could.
        devices: names of the devices that it reports.
    """

    problem: str | None = None
    devices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Machine:
    """Facts of a machine. None means not present.

    Attributes:
        packages: versions by distribution.
        npu_nodes: device files of NPUs.
        npu_usable: whether these may be opened.
        cann: its folder.
        cann_sourced: whether its set_env.sh was sourced.
        tools: path by name, of ``msprof``, ``nsys``, ``nvidia-smi``, ``gcc``, ``npu-smi``.
        silencers: variables that switch torch_npu's profiler off.
        perf_paranoid: kernel.perf_event_paranoid.
        free_bytes: free space by path: of the working folder, the folder for temporary files and shared memory.
        extension_problem: why SQLite databases cannot be read; None: they can.
        cache_problem: why stores cannot be kept; None: they can.
    """

    python: str
    executable: str
    packages: Mapping[str, str]
    torch: Imported | None = None
    torch_npu: Imported | None = None
    npu_nodes: tuple[str, ...] = ()
    npu_usable: bool = True
    cann: str | None = None
    cann_version: str | None = None
    cann_sourced: bool = False
    tools: Mapping[str, str] = field(default_factory=dict)
    silencers: tuple[str, ...] = ()
    perf_paranoid: int | None = None
    free_bytes: Mapping[str, int] = field(default_factory=dict)
    extension_problem: str | None = None
    cache_problem: str | None = None


def look(python: str = sys.executable) -> Machine:
    """Inspects this machine. Takes as long as importing torch does.

    Args:
        python: the interpreter whose packages are listed.

    Raises:
        UsageError: the interpreter does not answer.
    """
    version, packages = _packages(python)
    with ThreadPoolExecutor(2) as pool:
        torch = pool.submit(imported, _TORCH, python=python) if "torch" in packages else None
        npu = pool.submit(imported, _TORCH_NPU, python=python) if "torch-npu" in packages else None
        cann, sourced = _cann()
        nodes = sorted(str(path) for path in Path("/dev").glob("davinci[0-9]*"))
        extension, cache = _extension_problem(), _cache_problem()
        return Machine(
            python=version,
            executable=python,
            packages=packages,
            torch=torch.result() if torch else None,
            torch_npu=npu.result() if npu else None,
            npu_nodes=tuple(nodes),
            npu_usable=all(os.access(node, os.R_OK | os.W_OK) for node in nodes),
            cann=None if cann is None else str(cann),
            cann_version=None if cann is None else _cann_version(cann),
            cann_sourced=sourced,
            tools=_tools(cann),
            silencers=tuple(name for name in SILENCERS if os.environ.get(name)),
            perf_paranoid=_number_in(Path("/proc/sys/kernel/perf_event_paranoid")),
            free_bytes=_free_bytes(),
            extension_problem=extension,
            cache_problem=cache,
        )


def imported(code: str, seconds: float = _IMPORT_SECONDS, python: str = sys.executable) -> Imported:
    """Runs code that prints its findings in a separate process."""
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return Imported(f"the import did not finish within {seconds:g} s")
    except OSError as error:
        return Imported(error.strerror or str(error))
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("rlcompare:"):
            return _devices(line.removeprefix("rlcompare:"))
    if done.returncode < 0:
        return Imported(f"the import was killed by signal {-done.returncode}")
    return Imported((done.stderr.strip().splitlines() or ["it printed nothing"])[-1])


def _devices(text: str) -> Imported:
    """Parses the output of ``_TORCH``. It may be anything if a module of the user's own is called json or torch."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    names = found.get("devices") if isinstance(found, dict) else None
    if not isinstance(names, list):
        return Imported("it printed unexpected output")
    return Imported(devices=tuple(map(str, names)))


def _packages(python: str) -> tuple[str, dict[str, str]]:
    """The version of an interpreter, and those of its packages. DuckDB's version is that of rlcompare's interpreter."""
    line = [python, "-c", _VERSIONS, *PACKAGES]
    try:
        done = subprocess.run(line, capture_output=True, text=True, errors="replace", timeout=_IMPORT_SECONDS)
        version, *lines = done.stdout.splitlines()
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise UsageError(f"cannot list the packages of {python}: pass the interpreter of the job") from error
    found = dict(text.split("=", 1) for text in lines if "=" in text)
    return version, found | {"duckdb": metadata.version("duckdb")}


def _cann() -> tuple[Path | None, bool]:
    """CANN's folder, and whether the environment names it."""
    for name in _CANN_VARIABLES:
        value = os.environ.get(name)
        if value and Path(value).is_dir():
            return Path(value), True
    folders = (Path(folder).expanduser() for folder in _CANN_FOLDERS)
    return next((folder for folder in folders if folder.is_dir()), None), False


def _cann_version(folder: Path) -> str | None:
    files = [*(folder / name for name in _VERSION_FILES), *sorted(folder.glob("*/ascend_toolkit_install.info"))]
    for path in files:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        match = re.search(r"^\s*version\s*=\s*\[?([\w.]+)", text, re.IGNORECASE | re.MULTILINE)
        if match:
            return match[1]
    return None


def _tools(cann: Path | None) -> dict[str, str]:
    found = {name: shutil.which(name) for name in ("msprof", "nsys", "nvidia-smi", "gcc", "npu-smi")}
    if found["msprof"] is None and cann is not None:
        inside = cann / "tools" / "profiler" / "bin" / "msprof"
        found["msprof"] = str(inside) if inside.is_file() else None
    return {name: path for name, path in found.items() if path is not None}


def _number_in(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _free_bytes() -> dict[str, int]:
    found = {}
    for path in (str(Path.cwd()), tempfile.gettempdir(), "/dev/shm"):
        try:
            found[path] = shutil.disk_usage(path).free
        except OSError:
            continue
    return found


def _extension_problem() -> str | None:
    """Reads a small SQLite database as profiles are read."""
    import sqlite3
    from contextlib import closing

    if importlib.util.find_spec("duckdb_extension_sqlite_scanner") is None:
        return "duckdb-extension-sqlite-scanner is not installed"
    from rlcompare import db

    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.db"
            with closing(sqlite3.connect(path)) as made:
                made.execute("CREATE TABLE TASK (n INTEGER)")
                made.execute("INSERT INTO TASK VALUES (7)")
                made.commit()
            with db.closed(db.connect(1, sqlite=True)) as con:
                db.attach_sqlite(con, path, "profile")
                return None if db.run(con, "SELECT n FROM profile.TASK") == [(7,)] else "it reads wrong values"
    except Exception as error:  # wrong versions and a full disk raise different errors
        return " ".join(str(error).split())


def _cache_problem() -> str | None:
    from rlcompare.store.cache import cache_directory

    try:
        folder = cache_directory(None)
    except UsageError as error:
        return str(error)
    inside = next(path for path in (folder, *folder.parents) if path.exists())
    return None if inside.is_dir() and os.access(inside, os.W_OK) else f"{inside} cannot be written"
