"""``corpus.toml``: inputs that once broke a rule."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.engine import Recipe

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CORPUS = Path(__file__).with_name("corpus.toml")


def recipes() -> Sequence[Recipe]:
    """All of them, in order."""
    entries = tomllib.loads(CORPUS.read_text(encoding="utf-8"))["finding"]
    return [Recipe(entry["kind"], entry["seed"], tuple(entry["mutators"])) for entry in entries]
