"""Reads a diff.json together with the files that hold the rest of its long tables."""

from __future__ import annotations

from pathlib import Path

from rlcompare.app import messages
from rlcompare.model.diff import Diff


def read_whole(path: Path, remedy: str) -> Diff:
    """The diff of a diff.json with all rows. If a file with rows is not beside it, says so on standard error.

    Args:
        remedy: what to pass instead, for the error.

    Raises:
        InputError: the document or a file with rows cannot be read, or they do not belong together.
    """
    from rlcompare.report.data_files import completed, missing_files
    from rlcompare.report.document import read_document

    diff = read_document(path, remedy)
    missing = missing_files(diff, path.parent)
    warn_of_missing_rows(diff, path)
    return diff if missing else completed(diff, path.parent)


def warn_of_missing_rows(diff: Diff, path: Path) -> None:
    """Warns about each file of rows that is not beside the diff.json."""
    from rlcompare.report.data_files import missing_files

    missing = missing_files(diff, path.parent)
    for section in diff.sections.values():
        if section.file in missing:
            rows = f"only {len(section.rows):,} of {section.total:,} rows of {section.name} are known"
            messages.warn(f"{section.file} is not beside {path}: {rows}")
