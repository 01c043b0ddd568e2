"""Reads protobuf messages without their schema: field numbers and raw values."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types


class Fixed(bytes):
    """The four or eight bytes of a field of fixed size."""


def double(value: object) -> float:
    """The number in a field of eight bytes; 0 if it is no such field."""
    return float(struct.unpack("<d", value)[0]) if isinstance(value, bytes) and len(value) == 8 else 0.0


def fields_of(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values of a protobuf message's fields: integers, or bytes for all other types; stops at damage."""
    place = 0
    while place < len(data):
        key, place = varint(data, place)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, place = varint(data, place)
            yield number, value
            continue
        if wire == _BYTES:
            size, place = varint(data, place)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            return
        if place + size > len(data):
            return
        held = data[place : place + size]
        yield number, held if wire == _BYTES else Fixed(held)
        place += size


def varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(data) and shift < 64:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
    return value, len(data) + (shift >= 64)
