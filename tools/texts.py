"""The texts that a language translates, and those that its catalogue lacks: ``python -m tools.texts``.

Texts are the literals of ``tr``, ``trn`` and ``mark`` in the package, and of ``_`` and ``_n`` in its templates. Of
``trn`` and ``_n`` only the second text counts, which stands for all numbers but one.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment, nodes

from rlcompare import language
from rlcompare.resources import resource_root

PACKAGE = Path(language.__file__).resolve().parent
"""The package that is imported, which may be an installed one."""

_PLACES = {"tr": 0, "mark": 0, "trn": 1, "_": 0, "_n": 1}
"""The position of the text among the arguments of each function."""


def texts() -> dict[str, str]:
    """Each English text, with the file where it stands."""
    found: dict[str, str] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "rlcompare.language" in source or path == PACKAGE / "language.py":
            found |= dict.fromkeys(_of_python(source), str(path.relative_to(PACKAGE.parent)))
    templates = resource_root("report_templates")
    for path in sorted(templates.rglob("*.j2")):
        found |= dict.fromkeys(_of_template(path.read_text(encoding="utf-8")), str(path.relative_to(templates.parent)))
    return found


def _of_python(source: str) -> Iterator[str]:
    for call in ast.walk(ast.parse(source)):
        place = _PLACES.get(_function(call))
        if place is None or not isinstance(call, ast.Call) or len(call.args) <= place:
            continue
        argument = call.args[place]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield argument.value


def _function(node: ast.AST) -> str:
    called = node.func if isinstance(node, ast.Call) else None
    return called.id if isinstance(called, ast.Name) else ""


def _of_template(source: str) -> Iterator[str]:
    for call in Environment().parse(source).find_all(nodes.Call):
        name = call.node.name if isinstance(call.node, nodes.Name) else ""
        argument = call.args[_PLACES[name]] if name in _PLACES and len(call.args) > _PLACES[name] else None
        if isinstance(argument, nodes.Const) and isinstance(argument.value, str):
            yield argument.value


def main() -> int:
    """Prints what each catalogue lacks, and what it has in vain."""
    known, problems = texts(), 0
    for name in language.LANGUAGES[1:]:
        translated = language.texts(name)
        for text in sorted(set(known) - set(translated), key=lambda text: (known[text], text)):
            print(f"{name} lacks {text!r} ({known[text]})")
            problems += 1
        for text in sorted(set(language.fixed_texts(name)) - set(known)):
            print(f"{name} translates {text!r}, which is not used")
            problems += 1
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
