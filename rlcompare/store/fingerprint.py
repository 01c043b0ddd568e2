"""What a run's input is, in a few bytes: the key under which its store is kept, and the rows of table ``input``.

A file counts by its path below the input, size, modification time, and a digest of its first and last 64 KiB: a whole
digest of a 224 MB database takes a second, which is as long as the rest of a cached diff.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

import rlcompare
from rlcompare.errors import InputError
from rlcompare.model.run import CaptureInput, RunInput
from rlcompare.resources import resource_root

_EDGE_BYTES = 64 * 1024
# The SQL that runs after a store is filled; changing it does not outdate stores.
_LATER = frozenset({"compare", "show", "named"})


@dataclass(frozen=True)
class InputFile:
    """One file that a store was made from (table ``input``)."""

    path: str
    size_bytes: int
    mtime_ns: int
    digest: str


def input_files(run: RunInput) -> tuple[InputFile, ...]:
    """The files of a run, ordered by path, write-ahead logs of databases included.

    Raises:
        InputError: a file that detection found is gone or cannot be opened.
    """
    files = {path for capture in run.captures for path in capture.files.values()}
    if run.training is not None:
        files |= {path for source in run.training.metrics for path in source.files}
        files |= {run.training.description} if run.training.description is not None else set()
    logs = {path.with_name(path.name + "-wal") for path in files if path.suffix in (".db", ".sqlite")}
    present = files | {log for log in logs if log.is_file()}
    return tuple(sorted((_input_file(path, run.root) for path in present), key=lambda file: file.path))


def _input_file(path: Path, root: Path) -> InputFile:
    if path.exists() and not path.is_file():  # to open a pipe would wait for ever
        raise InputError(path, "is no regular file", "Name a file or a folder of files")
    try:
        with path.open("rb") as handle:
            status = os.fstat(handle.fileno())
            digest = blake2b(handle.read(_EDGE_BYTES), digest_size=16)
            if status.st_size > _EDGE_BYTES:
                handle.seek(max(_EDGE_BYTES, status.st_size - _EDGE_BYTES))
                digest.update(handle.read(_EDGE_BYTES))
    except OSError as error:
        raise InputError(path, error.strerror or str(error), "Check that it is still there and may be read") from error
    return InputFile(os.path.relpath(path, root), status.st_size, status.st_mtime_ns, digest.hexdigest())


def run_key(run: RunInput, schema_version: int) -> str:
    """The key of a run's store: 32 hexadecimal digits, the same wherever the input lies, other after any change.

    It covers what was read, what detection made of it, and the versions of the schema, of rlcompare and of its SQL.
    """
    parts = {
        "versions": [schema_version, rlcompare.__version__, _filling_sql_digest()],
        "run": run.name,
        "steps": None if run.steps is None else sorted(run.steps),
        "findings": [[finding.severity, finding.key, finding.message] for finding in run.findings],
        "captures": [_capture_parts(capture, run.root) for capture in run.captures],
        "metrics": [[source.form, source.name, source.part] for source in run.training.metrics] if run.training else [],
        "files": [[file.path, file.size_bytes, file.mtime_ns, file.digest] for file in input_files(run)],
    }
    return blake2b(json.dumps(parts, sort_keys=True, default=str).encode(), digest_size=16).hexdigest()


def _capture_parts(capture: CaptureInput, root: Path) -> list[object]:
    return [
        capture.source,
        os.path.relpath(capture.path, root),
        sorted(capture.files),
        capture.role,
        capture.phase,
        capture.replica,
        capture.rank,
        capture.ordinal,
        capture.step_hint,
        capture.step_place,
        capture.started_ns,
        capture.info,
        capture.metadata,
    ]


@cache
def _filling_sql_digest() -> str:
    """A digest of the SQL that fills stores, so that a changed definition never meets numbers of an older one."""
    root = resource_root("sql")
    digest = blake2b(digest_size=16)
    for path in sorted(root.rglob("*.sql")):
        name = path.relative_to(root)
        if name.parts[0] not in _LATER:
            digest.update(name.as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
