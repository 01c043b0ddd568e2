"""Finds the policy of a repository: ``rlcompare.toml``, or the tables ``[tool.rlcompare]`` of its pyproject.toml."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rlcompare import untrusted
from rlcompare.errors import UsageError
from rlcompare.gate.policy_reader import PYPROJECT, read_table, read_text
from rlcompare.repository import root_of

POLICY_FILE = "rlcompare.toml"


@dataclass(frozen=True)
class Found:
    """The policy file of a folder.

    Attributes:
        path: the file; None if there is none.
        ignored: a pyproject.toml beside it that has a policy, too.
    """

    path: Path | None = None
    ignored: Path | None = None


def find_policy(here: Path, *, skip_empty: bool = False) -> Found:
    """The policy of a folder, else of its nearest parent within the same git repository.

    Args:
        skip_empty: whether an empty rlcompare.toml counts as none: the shell made it for ``> rlcompare.toml``.

    Raises:
        UsageError: a pyproject.toml that mentions rlcompare cannot be read.
    """
    root = root_of(here)
    for folder in (here, *(parent for parent in here.parents if parent.is_relative_to(root))):
        own = Path(POLICY_FILE) if folder == here else folder / POLICY_FILE
        project = Path(PYPROJECT) if folder == here else folder / PYPROJECT
        inside = project.is_file() and _has_policy(project)
        if own.is_file() and not (skip_empty and own.stat().st_size == 0):
            return Found(own, project if inside else None)
        if inside:
            return Found(project)
    return Found()


def place_setting(policy: Path, key: str) -> str | None:
    """A path or URL in the table [gate] of a policy file, or of those that it extends; None where they say nothing.

    A relative path counts from the folder of its file. What else may be wrong with the files is left to the gate.

    Raises:
        UsageError: a file cannot be read, or is not TOML.
    """
    return _place_setting(policy, key, set())


def _place_setting(policy: Path, key: str, seen: set[Path]) -> str | None:
    table = read_table(policy, read_text(policy))
    gate, extends = (table.get(name) if isinstance(table, dict) else None for name in ("gate", "extends"))
    named = gate.get(key) if isinstance(gate, dict) else None
    if isinstance(named, str) and named:
        if "\0" in named:
            raise UsageError(f"the policy {policy} cannot be used: {key} contains a NUL character")
        return named if "://" in named else str(policy.absolute().parent / named)
    seen.add(policy.resolve())
    files = [extends] if isinstance(extends, str) else extends if isinstance(extends, list) else []
    for name in reversed(files):  # the last one counts
        file = policy.parent / str(name).replace("\0", "\ufffd")
        if file.resolve() not in seen and file.is_file():
            found = _place_setting(file, key, seen)
            if found is not None:
                return found
    return None


def _has_policy(path: Path) -> bool:
    # Files of others that are not TOML, or not even text, are none of ours as long as they do not mention us.
    try:
        with path.open("rb") as file:
            mentioned = b"rlcompare" in file.read(untrusted.MOST_SETTINGS_BYTES + 1)
    except OSError:
        return False
    if not mentioned:
        return False
    return bool(read_table(path, read_text(path)))
