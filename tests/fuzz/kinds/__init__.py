"""Every kind of input. To add one, write its module here and name it in ``KINDS``."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from tests.conftest import shared_folder
from tests.fuzz.kind import Kind

KINDS = (
    "ascend_db:SAMPLE", "ascend_db:RANKS", "ascend_db:REAL", "ascend_text:SAMPLE", "ascend_text:REAL",
    "torch:TRACE", "torch:CPU", "torch:GPU", "torch:MEMORY", "torch:EXPORTS", "nsys:EXPORT", "nsys:OLD",
    "verl_folders:FOLDERS", "documents:DOCUMENT", "documents:SETTINGS",
    "logs:CONSOLE", "logs:FILE_LOGGER", "logs:TENSORBOARD", "logs:MLFLOW", "logs:TABLE", "logs:SERIES",
    "logs:RUN", "logs:JOB", "metric_runs:RUNS_OF_METRICS", "stores:FOREIGN", "arguments:VALUES",
)  # fmt: skip
"""``module:attribute``."""


@cache
def _all() -> dict[str, Kind]:
    found = {}
    for reference in KINDS:
        module, _, attribute = reference.partition(":")
        kind = getattr(import_module(f"tests.fuzz.kinds.{module}"), attribute)
        assert isinstance(kind, Kind)
        assert kind.name not in found
        found[kind.name] = kind
    return found


def available() -> list[Kind]:
    """The kinds that this machine can try."""
    present = {"shared"} if shared_folder() else set()
    return [kind for kind in _all().values() if kind.needs <= present]


def find(name: str) -> Kind:
    """The kind of a name.

    Raises:
        KeyError: there is none.
    """
    return _all()[name]
