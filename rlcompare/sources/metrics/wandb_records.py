"""Reads wandb's own run files, ``run-ID.wandb``, which a run writes online and offline.

The file is a log in the form of LevelDB: blocks of 32 KiB with records that a checksum guards, each a protobuf message.
Of these, the history and the configuration are read; all others are skipped.
"""

from __future__ import annotations

import re
import shlex
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.sources.metrics import clock
from rlcompare.sources.metrics.file_logger import json_value
from rlcompare.sources.metrics.history import OWN
from rlcompare.sources.metrics.protobuf import Fixed, double, fields_of
from rlcompare.sources.metrics.values import MOST_LOG_BYTES, Metrics, check_size, whole_step

MAGIC = b":W&B"

_BLOCK = 32 * 1024
_HEADER = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_HISTORY, _CONFIG, _RUN, _RUN_CONFIG = 2, 5, 17, 4
_KEY, _NESTED, _NONE, _BOOLEAN, _INTEGER, _NUMBER, _TEXT, _JSON, _VALUE_JSON = 1, 2, 3, 4, 5, 6, 7, 8, 16
_MOST_RECORD = 64 * 2**20
_NAME = re.compile(r"run-(.+)\.wandb")
_EXPORT = (
    'python3 -c "import json, wandb; [print(json.dumps(row)) for row in '
    "wandb.Api().run('ENTITY/PROJECT/{run}').scan_history()]\" > {run}.jsonl"
)


def is_record_file(head: bytes) -> bool:
    """Whether a file begins as wandb's run files do."""
    return head.startswith(MAGIC) and len(head) > len(MAGIC) + 3


def read(path: Path) -> Metrics:
    """Reads the history and the configuration of a run.

    Raises:
        InputError: it cannot be opened, or holds no history.
    """
    metrics = Metrics(unit="record")
    config: dict[str, object] = {}
    try:
        check_size(path, MOST_LOG_BYTES, export_remedy(path))
        data = path.read_bytes()
    except OSError as error:
        raise InputError(path, error.strerror or str(error), "Check that it still exists") from error
    if not is_record_file(data[:16]):
        raise InputError(path, "it is not a wandb run file", export_remedy(path))
    for number, record in _records(data, metrics):
        for field, value in fields_of(record):
            if field == _HISTORY and isinstance(value, bytes):
                _add_history(metrics, number, value)
            elif field == _CONFIG and isinstance(value, bytes):
                config |= _config(value)
            elif field == _RUN and isinstance(value, bytes):
                for inner, part in fields_of(value):
                    config |= _config(part) if inner == _RUN_CONFIG and isinstance(part, bytes) else {}
    metrics.config = config
    if not metrics.steps:
        raise InputError(path, "it contains no history", export_remedy(path))
    return metrics


def export_remedy(path: Path) -> str:
    """The command that exports the history of a run whose file cannot be read."""
    match = _NAME.fullmatch(path.name)
    run = match.group(1) if match and re.fullmatch(r"[\w-]+", match.group(1)) else "RUN_ID"
    offline = path.parent.name.startswith("offline-")
    upload = f"upload it first with: wandb sync {shlex.quote(str(path.parent))}; then " if offline else ""
    return f"Export the run's history: {upload}{_EXPORT.format(run=run)} (ENTITY/PROJECT as in the run's URL)"


def _records(data: bytes, metrics: Metrics) -> Iterator[tuple[int, bytes]]:
    """The records of a file, numbered from 1. Behind damage, reading goes on in the next block."""
    place, number, parts = len(MAGIC) + 3, 0, b""
    while place < len(data):
        left = _BLOCK - place % _BLOCK
        if left < _HEADER.size:
            place += left
            continue
        if place + _HEADER.size > len(data):
            metrics.cut = number + 1
            return
        checksum, size, kind = _HEADER.unpack_from(data, place)
        if checksum == size == kind == 0:  # the rest of the block is empty
            place += left
            continue
        body = data[place + _HEADER.size : place + _HEADER.size + size]
        if len(body) < size <= left - _HEADER.size:
            metrics.cut = number + 1
            return
        if size > left - _HEADER.size or zlib.crc32(body, zlib.crc32(bytes([kind]))) != checksum:
            metrics.unreadable.append(number + 1)
            place, parts = place + left, b""
            continue
        place += _HEADER.size + size
        parts = body if kind in (_FULL, _FIRST) else parts + body if parts else b""
        if len(parts) > _MOST_RECORD:
            parts = b""
        if kind in (_FULL, _LAST):
            number += 1
            if parts:
                yield number, parts
            parts = b""
    if parts:
        metrics.cut = number + 1


def _add_history(metrics: Metrics, record: int, history: bytes) -> None:
    values: dict[str, object] = {}
    step: object = None
    for field, value in fields_of(history):
        if field == 1 and isinstance(value, bytes):
            name, given = _item(value)
            values[name] = given
        elif field == 2 and isinstance(value, bytes):
            step = dict(fields_of(value)).get(1, 0)
    number = whole_step(values.get("_step", step))
    if number is None:
        metrics.unreadable.append(record)
        return
    logged = clock.of_epoch(values.get("_timestamp"))
    if logged is not None:
        metrics.times[record] = logged
    metrics.add_step(record, number, {name: given for name, given in values.items() if name not in OWN})


def _item(item: bytes) -> tuple[str, object]:
    """The name and value of an item of the history or the configuration."""
    names: list[str] = []
    found: object = ""
    for field, value in fields_of(item):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) and not isinstance(value, Fixed) else ""
        if field in (_KEY, _NESTED) and text:
            names.append(text)
        elif field == _NONE:
            found = None
        elif field == _BOOLEAN:
            found = bool(value)
        elif field == _INTEGER and isinstance(value, int):
            found = value >> 1 ^ -(value & 1)
        elif field == _NUMBER:
            found = double(value)
        elif field == _TEXT:
            found = text
        elif field in (_JSON, _VALUE_JSON):
            found = json_value(text)
    return ".".join(names), found


def _config(record: bytes) -> dict[str, object]:
    """The settings in a record of the configuration, as a tree."""
    found = [_item(value) for field, value in fields_of(record) if field == 1 and isinstance(value, bytes)]
    return {name: value for name, value in found if name}
