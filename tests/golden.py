"""Compares an output with the one that is kept in ``golden/expected``.

On a mismatch the actual output is saved beside the expected one (``report.html`` → ``report.actual.html``), so that the
two can be compared with any tool. To accept a change, look at it, then run the tests with
``RLCOMPARE_UPDATE_GOLDEN=1``, which rewrites the expected files (golden/README.md).
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

EXPECTED = Path(__file__).resolve().parent.parent / "golden" / "expected"
UPDATE_VARIABLE = "RLCOMPARE_UPDATE_GOLDEN"


def actual_path(name: str, folder: Path = EXPECTED) -> Path:
    """Where the actual output goes when it is not as expected."""
    expected = folder / name
    return expected.with_name(f"{expected.stem}.actual{expected.suffix}")


def assert_golden(name: str, actual: str, folder: Path = EXPECTED) -> None:
    """Fails if an output is not as kept.

    Args:
        name: of the expected file, below ``folder``.
        actual: the output's text.
    """
    expected = folder / name
    if os.environ.get(UPDATE_VARIABLE):
        expected.parent.mkdir(parents=True, exist_ok=True)
        expected.write_text(actual, encoding="utf-8", newline="")
    kept = expected.read_bytes().decode("utf-8") if expected.is_file() else None
    saved = actual_path(name, folder)
    if kept == actual:
        saved.unlink(missing_ok=True)
        return
    saved.parent.mkdir(parents=True, exist_ok=True)
    saved.write_text(actual, encoding="utf-8", newline="")
    how = f"compare {expected} with {saved}; if the new one is right, run again with {UPDATE_VARIABLE}=1"
    if kept is None:
        raise AssertionError(f"there is no expected {name}: {how}")
    lines = list(difflib.unified_diff(kept.splitlines(), actual.splitlines(), "expected", "actual", lineterm="", n=1))
    raise AssertionError("\n".join([f"{name} is not as expected: {how}", *(line[:200] for line in lines[:40])]))
