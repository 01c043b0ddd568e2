"""What a torch_npu wheel's Python sources say of its calls. They are read, not run: their PyTorch is not here."""

from __future__ import annotations

import ast
import inspect
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Wheel:
    """A wheel of torch_npu.

    Attributes:
        path: of the ``.whl`` file, or of the folder in which it is installed.
    """

    version: str
    path: Path

    def tree(self, name: str) -> ast.Module:
        """The module of that path below the wheel's root."""
        if self.path.is_dir():
            return ast.parse((self.path / name).read_bytes())
        with zipfile.ZipFile(self.path) as archive:
            return ast.parse(archive.read(name))

    def function(self, module: str, name: str) -> inspect.Signature:
        """A function's parameters, ``self`` left out; ``Class.method`` looks through the bases in the same module."""
        *classes, last = name.split(".")
        scope: ast.Module | ast.ClassDef | None = self.tree(module)
        for parent in classes:
            scope = _class(scope, parent)
        while scope is not None:
            for node in scope.body:
                if isinstance(node, ast.FunctionDef) and node.name == last:
                    return _signature(node.args)
            base = _named_base(scope)
            scope = _class(self.tree(module), base) if base else None
        raise LookupError(f"torch_npu {self.version} has no {name} in {module}")

    def names(self, module: str, name: str) -> list[str]:
        """The attributes that a class is declared with; none where there is no such class."""
        classes = [node for node in self.tree(module).body if isinstance(node, ast.ClassDef) and node.name == name]
        assigned = (node for found in classes for node in found.body if isinstance(node, ast.Assign))
        return [target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)]


def _class(scope: Any, name: str) -> ast.ClassDef:
    return next(node for node in scope.body if isinstance(node, ast.ClassDef) and node.name == name)


def _named_base(scope: ast.AST) -> str | None:
    base = scope.bases[0] if isinstance(scope, ast.ClassDef) and scope.bases else None
    return base.id if isinstance(base, ast.Name) else None


def _signature(arguments: ast.arguments) -> inspect.Signature:
    """Defaults are only there or not: what they are is not asked."""
    kind = inspect.Parameter
    positional = [*arguments.posonlyargs, *arguments.args]
    first = len(positional) - len(arguments.defaults)
    parameters = [
        kind(argument.arg, kind.POSITIONAL_OR_KEYWORD, default=None if number >= first else kind.empty)
        for number, argument in enumerate(positional)
        if argument.arg != "self"
    ]
    parameters += [
        kind(argument.arg, kind.KEYWORD_ONLY, default=kind.empty if default is None else None)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return inspect.Signature(parameters)


def checked(signature: inspect.Signature, call: Callable[..., Any]) -> Callable[..., Any]:
    """The call, refused as the wheel's would be where it does not take the arguments."""

    def bound(*args: Any, **kwargs: Any) -> Any:
        signature.bind(*args, **kwargs)
        return call(*args, **kwargs)

    bound.__signature__ = signature  # type: ignore[attr-defined]
    return bound
