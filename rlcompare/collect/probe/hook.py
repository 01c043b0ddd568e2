"""Runs a callback right after a module is imported, before other code sees it.

A finder at the head of ``sys.meta_path`` watches a few names only. It lets the other finders find the module, and wraps
its loader for the one call that executes it. Nothing of it stays on the module.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Watcher = Callable[[ModuleType], None]

_watchers: dict[str, list[Watcher]] = defaultdict(list)
_busy = threading.local()


def when_imported(name: str, watcher: Watcher) -> None:
    """Calls the watcher with the module of this name: now if it is already imported, and whenever it is executed.

    Args:
        watcher: must not raise.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    _watchers[name].append(watcher)
    if name in sys.builtin_module_names:  # their loader is a class, which is not watched; importing them runs no code
        with suppress(ImportError):
            importlib.import_module(name)
    module = sys.modules.get(name)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        watcher(module)


class _Finder:
    """Finds watched modules with the help of all other finders."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _watchers or name in _finding():
            return None
        _finding().add(name)  # prevents recursion through another hook of this kind
        try:
            spec = _found(name, path, target)
        finally:
            _finding().discard(name)
        if spec is not None and hasattr(spec.loader, "exec_module") and not isinstance(spec.loader, type):
            with suppress(Exception):  # a loader may have no attributes of its own; the program goes on
                _watch(spec.loader, name)
        return spec


def _finding() -> set[str]:
    if not hasattr(_busy, "names"):
        _busy.names = set()
    names: set[str] = _busy.names
    return names


def _found(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    for finder in list(sys.meta_path):
        find: Any = getattr(finder, "find_spec", None)
        if find is None or isinstance(finder, _Finder):
            continue
        spec: ModuleSpec | None = find(name, path, target)
        if spec is not None:
            return spec
    return None


def _watch(loader: Any, name: str) -> None:
    if getattr(vars(loader).get("exec_module"), "is_probes", False):  # found before, but not yet executed
        del loader.exec_module
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        loader.__dict__.pop("exec_module", None)
        execute(module)
        if module.__name__ == name:
            for watcher in _watchers[name]:
                watcher(module)

    exec_module.is_probes = True  # type: ignore[attr-defined]
    loader.exec_module = exec_module
