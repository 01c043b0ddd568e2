"""Names of baselines, and how a command refers to one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rlcompare.errors import UsageError

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_REFERENCE = re.compile(rf"(@?)({_NAME})(?::([1-9]\d{{0,5}}))?(?:/({_NAME})(?:\.duckdb)?)?/?")
_MOST_SHOWN = 60


@dataclass(frozen=True)
class Reference:
    """``@NAME``, ``@NAME:VERSION``, ``@NAME/RUN`` or ``@NAME:VERSION/RUN``.

    Attributes:
        version: None: the current one.
        run: None: all runs.
        explicit: whether it was written with ``@``, so that it cannot be a path.
    """

    name: str
    version: int | None = None
    run: str | None = None
    explicit: bool = True

    def __str__(self) -> str:
        version = "" if self.version is None else f":{self.version}"
        return f"@{self.name}{version}" + ("" if self.run is None else f"/{self.run}")


def reference_in(text: str) -> Reference | None:
    """The reference that a text is, or could be if it is no path; None: it cannot be one.

    Raises:
        UsageError: it begins with ``@``, but is not a valid reference.
    """
    match = _REFERENCE.fullmatch(text)
    if match is None:
        if text.startswith("@"):
            raise UsageError(
                f"{text[:_MOST_SHOWN]!r} is not a baseline: write @NAME, @NAME:VERSION or @NAME/RUN, or ./@… for a path"
            )
        return None
    at, name, version, run = match.groups()
    return Reference(name, int(version) if version else None, run, explicit=bool(at))


def plain_name(text: str) -> str:
    """The name of the baseline that a command changes, from ``NAME`` or ``@NAME``.

    Raises:
        UsageError: it is no name, or that of a version or a run.
    """
    match = _REFERENCE.fullmatch(text)
    if match is not None and (match[3] or match[4]):
        what = "a run" if match[4] else "a version"
        raise UsageError(f"{text[:_MOST_SHOWN]} names {what}, but a baseline is changed as a whole: write {match[2]}")
    return check_name(text.removeprefix("@"))


def check_name(name: str) -> str:
    """The name, if a baseline may have it.

    Names become folder names on every system, so they are short and plain.

    Raises:
        UsageError: it may not.
    """
    if re.fullmatch(_NAME, name) is None or name.endswith("."):
        raise UsageError(
            f"{name[:_MOST_SHOWN]!r} cannot be the name of a baseline: use up to 64 letters, digits, '.', '_' and '-', "
            "the first a letter or digit"
        )
    return name


def slug_of(name: str, taken: set[str]) -> str:
    """A valid name for a run, unlike those that are taken; made of the run's own name."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:48].strip("-._") or "run"
    slug, number = plain, 1
    while slug.lower() in {other.lower() for other in taken}:
        number += 1
        slug = f"{plain}-{number}"
    return slug
