"""Where the parts of the project are that documents and tests name: in a checkout, or beside an installed wheel."""

from __future__ import annotations

from pathlib import Path

import rlcompare
from rlcompare.resources import resource_root

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "golden").rglob("*.md")])
_PACKAGE = Path(rlcompare.__file__).resolve().parent


def place_of(path: str) -> Path:
    """The file or folder that a path below the project's root names."""
    first, _, rest = path.partition("/")
    if first in ("sql", "report_templates"):
        return resource_root(first) / rest
    return _PACKAGE / rest if first == "rlcompare" else ROOT / path


def sources() -> list[Path]:
    """Every file of code and SQL, tests included."""
    folders = [_PACKAGE, resource_root("sql"), resource_root("report_templates"), ROOT / "tests", ROOT / "benchmarks"]
    found = {path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".sql", ".j2", ".js")}
    return sorted(found)
