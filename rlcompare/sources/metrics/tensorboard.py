"""Reads TensorBoard's event files without TensorFlow: scalars only, which is what verl logs there.

A file is a list of records: length (uint64), its masked CRC-32C, an ``Event`` as protobuf, and its masked CRC-32C. Of
an ``Event`` this takes the wall time (field 1), the step (2) and the summary (5), whose values (1) have a tag (1) and
either ``simple_value`` (2) or a tensor (8) of one float or double. A restarted job leaves another file in the same
folder.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.sources.metrics import clock
from rlcompare.sources.metrics.jobs_in_log import keep_last_job
from rlcompare.sources.metrics.protobuf import Fixed, double, fields_of
from rlcompare.sources.metrics.values import MOST_LOG_BYTES, Metrics, check_size, whole_step

_HEADER_BYTES = 12
_MOST_BYTES = 256 * 2**20
_VERSION = b"brain.Event:"
# Number format and tensor field, by tensorflow.DataType: float and double.
_FORMS: Mapping[object, tuple[str, int]] = {1: ("<f", 5), 2: ("<d", 6)}


def _crc_table() -> tuple[int, ...]:
    table = []
    for number in range(256):
        crc = number
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


_TABLE = _crc_table()


def masked_crc(data: bytes) -> int:
    """The CRC-32C (Castagnoli) of some bytes, masked as in a TFRecord: rotated by 15 bits, plus a constant."""
    crc, table = 0xFFFFFFFF, _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def is_event_file(head: bytes) -> bool:
    """Whether a file begins with the first record of TensorBoard's files."""
    if len(head) < _HEADER_BYTES or struct.unpack_from("<I", head, 8)[0] != masked_crc(head[:8]):
        return False
    return _VERSION in head[_HEADER_BYTES : _HEADER_BYTES + 64]


def read(paths: Sequence[Path]) -> Metrics:
    """Reads the event files of one run, in the order of their start. Records are numbered across all of them.

    Raises:
        InputError: one cannot be opened, or none holds a scalar.
    """
    metrics = Metrics(unit="record")
    contents = [(path.name, _content(path)) for path in paths]
    number = 0
    for _, data in sorted(contents, key=lambda content: (_began(content[1]), content[0])):
        for record in _records(data, metrics, number):
            number += 1
            if record is not None:
                _add(metrics, number, record)
    if not metrics.steps:
        raise InputError(paths[0], "it contains no readable scalars", "Pass the folder that TENSORBOARD_DIR was set to")
    keep_last_job(metrics, paths[0])
    return metrics


def _content(path: Path) -> bytes:
    try:
        check_size(path, MOST_LOG_BYTES, "Log scalars alone, or pass another form of the metrics")
        return path.read_bytes()
    except OSError as error:
        raise InputError(path, error.strerror or str(error), "Check that it still exists") from error


def _began(data: bytes) -> float:
    """The wall time of a file's first record."""
    for record in _records(data, Metrics(), 0):
        fields = dict(fields_of(record or b""))
        return double(fields.get(1))
    return 0.0


def _records(data: bytes, metrics: Metrics, before: int) -> Iterator[bytes | None]:
    """The records of a file; None for a damaged one. If a length is damaged, later records cannot be found."""
    place, number = 0, before
    while place < len(data):
        number += 1
        header = data[place : place + _HEADER_BYTES]
        end = len(data)
        if len(header) == _HEADER_BYTES:
            length, crc = struct.unpack("<QI", header)
            if crc != masked_crc(header[:8]) or length > _MOST_BYTES:
                metrics.unreadable.append(number)
                return
            end = place + _HEADER_BYTES + length + 4
        if len(header) < _HEADER_BYTES or end > len(data):
            metrics.cut = number
            return
        record = data[place + _HEADER_BYTES : end - 4]
        sound = struct.unpack_from("<I", data, end - 4)[0] == masked_crc(record)
        if not sound:
            metrics.unreadable.append(number)
        yield record if sound else None
        place = end


def _add(metrics: Metrics, record: int, event: bytes) -> None:
    fields = list(fields_of(event))
    step = next((value for number, value in fields if number == 2 and isinstance(value, int)), 0)
    step -= 2**64 if step >= 2**63 else 0
    if whole_step(step) is None:
        metrics.unreadable.append(record)
        return
    wall = next((value for number, value in fields if number == 1 and isinstance(value, Fixed)), None)
    if (logged := clock.of_epoch(double(wall))) is not None:
        metrics.times[record] = logged
    for number, summary in fields:
        if number == 5 and isinstance(summary, bytes):
            for inner, value in fields_of(summary):
                if inner == 1 and isinstance(value, bytes):
                    _add_value(metrics, record, step, value)


def _add_value(metrics: Metrics, record: int, step: int, value: bytes) -> None:
    parts = dict(fields_of(value))
    tag, simple, tensor = parts.get(1), parts.get(2), parts.get(8)
    name = tag.decode("utf-8", "replace") if isinstance(tag, bytes) else ""
    if isinstance(simple, Fixed) and len(simple) == struct.calcsize("<f"):
        metrics.add(record, step, name, struct.unpack("<f", simple)[0])
    elif simple is not None:
        metrics.add(record, step, name, "no number")
    elif isinstance(tensor, bytes):
        scalar = _scalar(tensor)
        if scalar is not None:
            metrics.add(record, step, name, scalar)


def _scalar(tensor: bytes) -> float | None:
    """The number of a ``TensorProto`` that holds one; None for strings, pictures and histograms."""
    parts = dict(fields_of(tensor))
    kind = _FORMS.get(parts.get(1))
    if kind is None:
        return None
    form, field = kind
    for data in (parts.get(4), parts.get(field)):  # tensor_content, or float_val and double_val
        if isinstance(data, bytes) and len(data) == struct.calcsize(form):
            return float(struct.unpack(form, data)[0])
    return None
