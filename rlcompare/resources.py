"""Finds ``sql/`` and ``report_templates/``, in an installed wheel and in a checkout.

A wheel carries them as ``rlcompare/_resources/…``. An editable install does not (hatch's force-include is for built
wheels only), so the package's parent folder, the checkout, is looked at next.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
def resource_root(kind: str) -> Path:
    """The folder of one kind of resource.

    Args:
        kind: ``"sql"`` or ``"report_templates"``.

    Raises:
        FileNotFoundError: the installation is broken: neither the wheel's copy nor a checkout is there.
    """
    for candidate in (_PACKAGE / "_resources" / kind, _PACKAGE.parent / kind):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"{kind}/ is missing beside {_PACKAGE}: reinstall rlcompare")


@cache
def sql(name: str) -> str:
    """The text of one SQL file, by its path below ``sql/`` without the suffix, as in ``"rollup/kernel"``."""
    return (resource_root("sql") / f"{name}.sql").read_text(encoding="utf-8")


@cache
def sql_names(folder: str) -> tuple[str, ...]:
    """The names of all SQL files directly in one folder below ``sql/``, in alphabetical order."""
    root = resource_root("sql")
    return tuple(sorted(f"{folder}/{path.stem}" for path in (root / folder).glob("*.sql")))
