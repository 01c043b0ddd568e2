"""Reads a file of any size in blocks, compressed or not."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

from rlcompare.db import interruption

GZIP = b"\x1f\x8b"
"""The first bytes of a gzip file."""

BLOCK_BYTES = 4 << 20

CUT = "it is truncated (cut off while it was written or copied)"


class Blocks:
    """The uncompressed content of a file in blocks. Afterwards ``damage`` tells whether the file was complete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: str | None = None

    def __iter__(self) -> Iterator[bytes]:
        check = interruption()
        for block in self._blocks():
            check()
            yield block

    def _blocks(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            first = file.read(BLOCK_BYTES)
            if not first.startswith(GZIP):
                while first:
                    yield first
                    first = file.read(BLOCK_BYTES)
                return
            inflater = zlib.decompressobj(31)
            while first:
                try:
                    data = inflater.decompress(first, BLOCK_BYTES)
                except zlib.error:
                    self.damage = "its compressed data is damaged"
                    return
                if data:
                    yield data
                first = inflater.unconsumed_tail
                if inflater.eof:  # a file may consist of several gzip members
                    first = inflater.unused_data or file.read(BLOCK_BYTES)
                    if not first.startswith(GZIP):
                        return
                    inflater = zlib.decompressobj(31)
                elif not first:
                    first = file.read(BLOCK_BYTES)
            self.damage = CUT


def head_of(path: Path, size: int) -> bytes:
    """The first bytes of a file's content, uncompressed.

    Raises:
        OSError: it cannot be read.
    """
    head = b""
    for block in Blocks(path):
        head += block[: size - len(head)]
        if len(head) >= size:
            break
    return head
