"""Imports a library's real source where the packages that it needs are not installed: those are stubs."""

from __future__ import annotations

import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any


class _Anything(type):
    """A class whose attributes are classes of its kind, that can be inherited from, called and used as a decorator."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (), {})

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0]
        return _Anything("made", (), {}) if cls.__module__ == __name__ else super().__call__(*args, **kwargs)

    def __getitem__(cls, key: object) -> Any:
        return cls

    def __lt__(cls, other: object) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __iter__(cls) -> Any:
        return iter(())


class StubImports:
    """Finds what a package imports and nobody else finds; goes to the end of ``sys.meta_path``.

    With ``only``, these packages are stubs also where they are installed; it then goes to the start.
    """

    def __init__(self, package: Path, only: set[str] | None = None) -> None:
        text = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
        names = set(re.findall(r"^[ \t]*(?:from|import)[ \t]+(\w+)", text, re.MULTILINE))
        self._names = only or names - sys.stdlib_module_names - {package.name, "torch", "torch_npu"}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self._names else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__path__ = []


class _StubModule(ModuleType):
    __version__ = "99.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (), {})
