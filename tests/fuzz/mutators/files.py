"""Mutators of files as a whole: what lies at a path, its name, its bytes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.fuzz.kind import Mutator, NotApplicableError, content_of, one_file

Change = Callable[[Path, Random], str]


def mutators(pattern: str, prefix: str = "file") -> list[Mutator]:
    """Mutators for one of the files that match a pattern."""

    def of(change: Change) -> Callable[[Path, Random], str]:
        def apply(folder: Path, random: Random) -> str:
            path = one_file(folder, pattern, random)
            return f"{path.name}: {change(path, random)}"

        return apply

    return [Mutator(f"{prefix}.{name}", of(change)) for name, change in _CHANGES.items()]


def _empty(path: Path, random: Random) -> str:
    path.write_bytes(b"")
    return "emptied"


def _remove(path: Path, random: Random) -> str:
    path.unlink()
    return "removed"


def _folder(path: Path, random: Random) -> str:
    path.unlink()
    path.mkdir()
    return "a folder in its place"


def _fifo(path: Path, random: Random) -> str:
    path.unlink()
    os.mkfifo(path)
    return "a FIFO in its place"


def _link_to_itself(path: Path, random: Random) -> str:
    path.unlink()
    path.symlink_to(path.name)
    return "a link to itself"


def _link_to_device(path: Path, random: Random) -> str:
    target = random.choice(("/dev/zero", "/dev/null", "/dev/full", "/proc/self/mem", "/proc/self/fd/0"))
    path.unlink()
    path.symlink_to(target)
    return f"a link to {target}"


def _link_loop(path: Path, random: Random) -> str:
    if os.path.lexists(path.parent / "loop"):
        raise NotApplicableError
    (path.parent / "loop").symlink_to(path.parent, target_is_directory=True)
    return "a link to its own folder beside it"


def _truncated(path: Path, random: Random) -> str:
    size = path.stat().st_size
    kept = random.choice((1, 15, 16, 99, 100, size // 3, size // 2, size - 1, random.randrange(size + 1)))
    kept = max(min(kept, size), 0)
    os.truncate(path, kept)
    return f"cut to {kept} of {size} bytes"


def _flipped(path: Path, random: Random) -> str:
    content = bytearray(content_of(path))
    count = random.choice((1, 3, 30, 300))
    for _ in range(count if content else 0):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    path.write_bytes(content)
    return f"{count} bits flipped"


def _overwritten(path: Path, random: Random) -> str:
    content = bytearray(content_of(path))
    length = random.choice((1, 64, 4096, 65536))
    start = random.randrange(max(len(content), 1))
    filling = random.choice((b"\0", b"\xff", b"\xa5", b"[", b'"', b"\n"))
    part = content[start : start + length]
    content[start : start + length] = filling * len(part)
    path.write_bytes(content)
    return f"{len(part)} bytes from {start} are {filling!r}"


def _zeros_behind(path: Path, random: Random) -> str:
    size = path.stat().st_size + random.choice((1, 4096, 1 << 20, 5 << 30))
    os.truncate(path, size)
    return f"zeros up to {size} bytes"


def _twice(path: Path, random: Random) -> str:
    path.write_bytes(content_of(path) * 2)
    return "its content twice"


def _zero_bytes(path: Path, random: Random) -> str:
    path.write_bytes(b"\0" * random.choice((1, 100, 70_000)))
    return "nothing but zeros"


def _noise(path: Path, random: Random) -> str:
    path.write_bytes(random.randbytes(random.choice((1, 100, 70_000))))
    return "random bytes"


def _odd_name(path: Path, random: Random) -> str:
    name = random.choice(("a\nb", "\x1b[31mred", "\u202egnp", "-o", "a*b?[c]", "x" * 200, "<script>alert(1)"))
    target = path.with_name(name + path.suffix)
    path.rename(target)
    return f"renamed to {target.name!r}"


def _odd_folder(path: Path, random: Random) -> str:
    name = random.choice(("a\nb", "\x1b[31mred", "lr=0.1", "a*b?[c]", "'; DROP TABLE kernel; --", "{x}", "%s%n"))
    target = path.parent / name
    target.mkdir(exist_ok=True)
    path.rename(target / path.name)
    return f"moved to {name!r}"


def _copy_beside(path: Path, random: Random) -> str:
    try:
        shutil.copy2(path, path.with_name(f"copy-{path.name}"))
    except OSError as error:  # another mutator made it a link to a device
        raise NotApplicableError from error
    return "a copy beside it"


_CHANGES: dict[str, Change] = {
    "empty": _empty, "remove": _remove, "folder": _folder, "fifo": _fifo, "link_to_itself": _link_to_itself,
    "link_to_device": _link_to_device, "link_loop": _link_loop, "truncated": _truncated, "flipped": _flipped,
    "overwritten": _overwritten, "zeros_behind": _zeros_behind, "twice": _twice, "zero_bytes": _zero_bytes,
    "noise": _noise, "odd_name": _odd_name, "odd_folder": _odd_folder, "copy_beside": _copy_beside,
}  # fmt: skip
