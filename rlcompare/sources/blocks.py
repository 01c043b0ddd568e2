"""Reads a file of any size in blocks, compressed or not."""

from __future__ import annotations

import errno
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from rlcompare.db import interruption
from rlcompare.errors import InputError

GZIP = b"\x1f\x8b"
"""The first bytes of a gzip file."""

BLOCK_BYTES = 4 << 20
_NUL_BYTES = bytes(BLOCK_BYTES)
_LAST_NUL_BYTES = 16
"""At most so many NUL bytes at its end belong to a gzip stream: those of its length and its checksum."""

MOST_RATIO = 100
"""Compressed files that expand by more are refused, beyond ``ANY_RATIO_BYTES``: traces expand by up to 30."""

ANY_RATIO_BYTES = 256 * 2**20

KEPT_FREE_BYTES = 256 * 2**20
"""What copies leave free in the temporary folder, since other programs need it too. Of a small one, a tenth is kept: in
containers, it may have 64 MiB in all."""

CUT = "it is truncated (cut off while it was written or copied)"


class Blocks:
    """The uncompressed content of a file in blocks. Afterwards ``damage`` tells whether the file was complete.

    A block of NUL bytes counts as one of them: a file system that failed may leave gigabytes, which are no content.

    Raises:
        InputError: the file expands beyond any sense, so that it is not what it says.
    """

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
                    yield b"\0" if _is_nul(first) else first
                    first = file.read(BLOCK_BYTES)
                return
            most = most_expanded(self.path.stat().st_size)
            given = 0
            inflater = zlib.decompressobj(31)
            compressed = _without_padding(first, file)
            first = next(compressed, b"")
            while first:
                try:
                    data = inflater.decompress(first, BLOCK_BYTES)
                except zlib.error:
                    self.damage = "its compressed data is damaged"
                    return
                given += len(data)
                if given > most:
                    raise self._bomb(most)
                if data:
                    yield data
                first = inflater.unconsumed_tail
                if inflater.eof:  # a file may consist of several gzip members
                    first = inflater.unused_data or next(compressed, b"")
                    if not first.startswith(GZIP):
                        return
                    inflater = zlib.decompressobj(31)
                elif not first:
                    first = next(compressed, b"")
            self.damage = CUT

    def _bomb(self, most: int) -> InputError:
        size = self.path.stat().st_size
        problem = f"its {_mib(size)} expand to more than {_mib(most)}, which no profile does"
        return InputError(self.path, problem, "If you trust it, unpack it with gunzip and pass the result")


def _is_nul(block: bytes) -> bool:
    return block == _NUL_BYTES[: len(block)]


def _without_padding(block: bytes, file: BinaryIO) -> Iterator[bytes]:
    """The blocks of a compressed file up to NUL bytes at its end, or to a whole block of them.

    gzip may be followed by NUL bytes. Behind a truncated stream, they would be read as gigabytes of content.
    """
    while block:
        following = file.read(BLOCK_BYTES)
        if _is_nul(following):
            yield block[: len(block.rstrip(b"\0")) + _LAST_NUL_BYTES]
            return
        yield block
        block = following


def most_expanded(size: int) -> int:
    """The most bytes that a compressed file of this size may hold."""
    return max(ANY_RATIO_BYTES, MOST_RATIO * size)


def check_room(copy: Path, size: int) -> None:
    """Refuses to fill the disk with a private copy.

    Args:
        copy: the file, in a folder that exists.
        size: the number of bytes that are written next.

    Raises:
        OSError: they would leave less than ``KEPT_FREE_BYTES``.
    """
    disk = shutil.disk_usage(copy.parent)
    is_known = disk.total > 0  # some network file systems do not say
    if is_known and disk.free - size < min(KEPT_FREE_BYTES, disk.total // 10):
        raise OSError(errno.ENOSPC, f"no room: {_mib(disk.free)} are free", str(copy))


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB" if size < 10 * 2**20 else f"{size / 2**20:,.0f} MiB"


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
