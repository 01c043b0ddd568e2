"""Finds the git repository around a folder."""

from __future__ import annotations

from pathlib import Path


def root_of(folder: Path) -> Path:
    """The root of the git repository that holds a folder, else the folder itself."""
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)
