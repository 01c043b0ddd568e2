"""Identifies inputs: keys of runs and of their captures, and the rows of table ``input``.

A file is identified by its path below the input, size, modification time, and a digest of its first and last 64 KiB. A
digest of all bytes of a 224 MB database takes a second, as long as the rest of a cached diff.

The key of a capture covers the capture and not its run. So a part (``store.parts``) is reused when ranks are added, or
when the user names another folder that contains the input.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

import rlcompare
from rlcompare.db import SCHEMA_VERSION
from rlcompare.errors import InputError
from rlcompare.model.run import CaptureInput, RunInput
from rlcompare.resources import resource_root
from rlcompare.sources.content import logs_of

_EDGE_BYTES = 64 * 1024
# SQL that runs after a store is filled. Changing it does not invalidate stores.
_LATER = frozenset({"baselines", "compare", "history", "show", "named"})
_FILLING_CODE = ("sources", "store", "secret.py")


@dataclass(frozen=True)
class InputFile:
    """One file that a store was made from (table ``input``)."""

    path: str
    size_bytes: int
    mtime_ns: int
    digest: str


@dataclass(frozen=True)
class Fingerprint:
    """Identifies a run.

    Attributes:
        files: the files that it was read from, ordered by path, including the logs and journals of databases.
        captures: a key for each capture. It does not depend on the input's location or on the rest of the run.
        sizes: total bytes of each capture's files.
        run: the key of the run. It changes with any file, with the result of detection, and with rlcompare itself.
    """

    files: tuple[InputFile, ...]
    captures: tuple[str, ...]
    sizes: tuple[int, ...]
    run: str


def fingerprint(run: RunInput) -> Fingerprint:
    """The fingerprint of a run, from its files.

    Raises:
        InputError: a file that detection found is missing or cannot be opened.
    """
    looked_at: dict[Path, InputFile] = {}
    by_capture = [[_look(path, run.root, looked_at) for path in _files_of(capture)] for capture in run.captures]
    for path in _training_files(run):
        _look(path, run.root, looked_at)
    files = tuple(sorted(looked_at.values(), key=lambda file: file.path))
    keys = tuple(_capture_key(capture, run, files) for capture, files in zip(run.captures, by_capture, strict=True))
    parts = {
        "versions": _versions(),
        "run": run.name,
        "findings": [[finding.severity, finding.key, finding.message] for finding in run.findings],
        "captures": [
            [os.path.relpath(capture.path, run.root), key] for capture, key in zip(run.captures, keys, strict=True)
        ],
        "is_described": run.training is not None and run.training.run is not None,  # the system may refuse a run.json
        "metrics": [[source.form, source.name, source.part] for source in run.training.metrics] if run.training else [],
        "files": [_identity(file) for file in files],
    }
    sizes = tuple(sum(file.size_bytes for file in files) for files in by_capture)
    return Fingerprint(files, keys, sizes, _digest(parts))


def content_of(run: RunInput, files: Iterable[InputFile]) -> str | None:
    """Identifies what a run measured: the same for a copy of its files, whatever the copies are called.

    What only describes the run does not count: a copy may have another run.json. None: nothing was measured.

    Args:
        files: of the run's fingerprint.
    """
    training = run.training
    about = set() if training is None else {*training.settings, training.description}
    described = {os.path.relpath(path, run.root) for path in about if path is not None}
    measured = sorted((file.size_bytes, file.digest) for file in files if file.path not in described)
    parts = [] if training is None else sorted(source.part for source in training.metrics)
    return _digest([measured, parts, sorted(run.steps or ())]) if measured else None


def _files_of(capture: CaptureInput) -> list[Path]:
    return _with_logs(sorted(set(capture.files.values())))


def _training_files(run: RunInput) -> list[Path]:
    if run.training is None:
        return []
    files = {path for source in run.training.metrics for path in source.files}
    files |= set(run.training.settings)
    files |= {run.training.description} if run.training.description is not None else set()
    return _with_logs(sorted(files))


def _with_logs(files: Iterable[Path]) -> list[Path]:
    """Files, and the logs and journals of those that are databases, which may have any suffix."""
    return [found for path in files for found in (path, *logs_of(path))]


def _look(path: Path, root: Path, looked_at: dict[Path, InputFile]) -> InputFile:
    if path not in looked_at:
        looked_at[path] = _input_file(path, root)
    return looked_at[path]


def _input_file(path: Path, root: Path) -> InputFile:
    if path.exists() and not path.is_file():  # opening a pipe would wait forever
        raise InputError(path, "it is not a regular file", "Pass a file or a folder of files")
    try:
        with path.open("rb") as handle:
            status = os.fstat(handle.fileno())
            digest = blake2b(handle.read(_EDGE_BYTES), digest_size=16)
            if status.st_size > _EDGE_BYTES:
                handle.seek(max(_EDGE_BYTES, status.st_size - _EDGE_BYTES))
                digest.update(handle.read(_EDGE_BYTES))
    except OSError as error:
        raise InputError(path, error.strerror or str(error), "Check that it still exists and is readable") from error
    return InputFile(os.path.relpath(path, root), status.st_size, status.st_mtime_ns, digest.hexdigest())


def _identity(file: InputFile) -> list[object]:
    return [file.path, file.size_bytes, file.mtime_ns, file.digest]


def _capture_key(capture: CaptureInput, run: RunInput, files: list[InputFile]) -> str:
    parts = [
        _versions(),
        None if run.steps is None else sorted(run.steps),
        capture.source,
        capture.path.name,
        sorted((part, path.name) for part, path in capture.files.items()),
        [[Path(file.path).name, *_identity(file)[1:]] for file in files],
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
    return _digest(parts)


def _digest(parts: object) -> str:
    return blake2b(json.dumps(parts, sort_keys=True, default=str).encode(), digest_size=16).hexdigest()


def _versions() -> list[object]:
    return [SCHEMA_VERSION, rlcompare.__version__, _filling_digest()]


@cache
def _filling_digest() -> str:
    """A digest of the SQL and the Python that fill stores, so that changed definitions never mix with old numbers."""
    digest = blake2b(digest_size=16)
    root = resource_root("sql")
    package = Path(__file__).resolve().parent.parent
    folders = [(folder, ".sql") for folder in sorted(root.iterdir()) if folder.name not in _LATER]
    folders += [(package / name, ".py") for name in _FILLING_CODE]
    for folder, suffix in folders:
        for path in sorted(_walk(folder, suffix)):
            digest.update(path.removeprefix(str(folder)).encode() + b"\0")
            # Path.open would take most of the time.
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123
                digest.update(file.read())
    return digest.hexdigest()


def _walk(folder: Path, suffix: str) -> Iterable[str]:
    """The files of a folder; of a file, itself."""
    if folder.is_file():
        yield str(folder)
    for where, _, names in os.walk(folder):
        yield from (f"{where}{os.sep}{name}" for name in names if name.endswith(suffix))
