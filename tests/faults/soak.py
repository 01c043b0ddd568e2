"""Many diffs in one process, as notebooks and services make them: memory must not grow.

    python -m tests.faults.soak --diffs 1000

Each diff takes two runs from the cache, and makes its page and tables. Every tenth reads the profiles again, without
the cache. Fails if the process has grown by more than a tenth since the first hundred diffs, or a tenth of all.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import sys
import tempfile
from pathlib import Path

ALLOWED = 1.10


def resident_bytes() -> int:
    """The memory of this process, without what C's allocator only keeps for later."""
    gc.collect()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def soak(folder: Path, diffs: int) -> tuple[int, int]:
    """Makes diffs; the memory after the first ones and at the end."""
    import rlcompare
    from rlcompare.cli.main import run

    os.environ |= {"RLCOMPARE_CACHE_DIR": str(folder / "cache")}
    for name in ("base", "new"):
        options = ("--steps", "2", "--layers", "1", "--decode-steps", "1", "--ranks", "1", "--export", "db", "-q")
        assert run(["sample", "-o", str(folder / name), *options]) == 0
    warm, before = min(100, max(diffs // 10, 10)), 0
    for number in range(diffs):
        found = rlcompare.diff(
            new=folder / "new", baseline=folder / "base", quiet=True, cache=bool(number % 10), layout="ranks"
        )
        assert found._repr_html_()
        assert all(len(found[section]) >= 0 for section in found)
        with rlcompare.load(folder / "new", quiet=True) as loaded:
            assert len(loaded.sql("FROM kernel"))
        if number + 1 == warm:
            before = resident_bytes()
        if (number + 1) % warm == 0:
            print(f"{number + 1:6} diffs: {resident_bytes() / 2**20:7.1f} MiB", flush=True)
    return before, resident_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--diffs", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        before, after = soak(Path(folder), arguments.diffs)
    print(f"{before / 2**20:.1f} MiB, then {after / 2**20:.1f} MiB: {after / before:.3f}")
    sys.exit(after > before * ALLOWED)


if __name__ == "__main__":
    main()
