"""Lists what docs/stability.md promises: names, options, signatures and members of formats, one a line.

    python -m tools.public_surface           prints the list
    python -m tools.public_surface --write   writes it to docs/public.txt

tests/docs/test_stability.py fails where docs/public.txt is not current. A line that goes is a breaking change; one that
comes is a promise.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module, util
from pathlib import Path
from typing import Any

import click

from rlcompare.cli.main import cli
from rlcompare.errors import ExitCode
from rlcompare.gate.policy_schema import policy_schema
from rlcompare.resources import resource_root, sql_names
from tools.sql_columns import FOLDERS, tables_in

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "public.txt"
PYTHON = {
    "rlcompare.notebook.comparison": ("diff", "Comparison", "Verdict"),
    "rlcompare.notebook.run": ("load", "Run"),
    "rlcompare.notebook.table": ("Table",),
    "rlcompare.probe": ("attach",),
    "rlcompare.rollout_is": ("compute_rollout_is",),
    "rlcompare.errors": ("RlcompareError", "UsageError", "OutputError", "InputError", "DamagedStoreError"),
}
SCHEMAS = {
    "rlcompare.model.diff": "SCHEMA",
    "rlcompare.report.gate_text": "SCHEMA",
    "rlcompare.report.selftest_text": "SCHEMA",
    "rlcompare.history.document": "SCHEMA",
    "rlcompare.baselines.manifest": "_SCHEMA",
    "rlcompare.collect.run_directory": "SCHEMA",
    "rlcompare.collect.profiler.torch_memory": "SCHEMA",
}
"""Where the name and number of each written format of our own stands."""
_DEEPEST = 4


def surface() -> list[str]:
    """All lines, in order."""
    lines = [*_commands(), *_exit_codes(), *_python(), *_formats(), *_diff(), *_gate(), *_policy(), *_tables()]
    return list(dict.fromkeys(lines))


def _commands() -> Iterator[str]:
    for path, command in _walk(cli, "rlcompare"):
        yield path
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                names = " ".join([*parameter.opts, *parameter.secondary_opts])
                choices = f" {'|'.join(parameter.type.choices)}" if isinstance(parameter.type, click.Choice) else ""
                yield f"{path} {names}{choices}{' (required)' if parameter.required else ''}"
            elif isinstance(parameter, click.Argument):
                yield f"{path} {parameter.make_metavar(click.Context(command, **cli.context_settings))}"


def _walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, **cli.context_settings)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                yield from _walk(found, f"{path} {name}")


def _exit_codes() -> Iterator[str]:
    for code in ExitCode:
        yield f"exit code {code.value} {code.name}"


def _python() -> Iterator[str]:
    for module, names in PYTHON.items():
        spec = util.find_spec(module)  # not imported: rollout_is needs torch
        assert spec is not None and spec.origin is not None
        tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
        found = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        for name in names:
            prefix = "rlcompare" if module.startswith("rlcompare.notebook") else module
            yield from _python_lines(found[name], f"{prefix}.{name}")


def _python_lines(node: ast.FunctionDef | ast.ClassDef, name: str) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        attribute = any(ast.unparse(found) in ("property", "cached_property") for found in node.decorator_list)
        yield f"{name}{returned}" if attribute else f"{name}({ast.unparse(node.args)}){returned}"
        return
    bases = ", ".join(map(ast.unparse, node.bases))
    yield f"class {name}({bases})" if bases else f"class {name}"
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            yield from _python_lines(member, f"{name}.{member.name}")
        elif isinstance(member, ast.AnnAssign) and not ast.unparse(member.target).startswith("_"):
            yield f"{name}.{ast.unparse(member.target)}: {ast.unparse(member.annotation)}"


def _formats() -> Iterator[str]:
    for module, name in SCHEMAS.items():
        yield f"format {getattr(import_module(module), name)}"


def _diff() -> Iterator[str]:
    document = json.loads((resource_root("report_templates") / "diff.schema.json").read_text(encoding="utf-8"))
    yield from _members(document, document, "diff.json ", 0)


def _gate() -> Iterator[str]:
    """Of the expected file, which has all members: there is no schema of it."""
    document = json.loads((ROOT / "golden" / "expected" / "gate.json").read_text(encoding="utf-8"))
    yield from _keys(document, "gate.json ")


def _keys(value: object, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _keys(item, f"{path}[]")
    elif isinstance(value, dict):
        for name, member in value.items():
            below = f"{path}{'' if path.endswith(' ') else '.'}{name}"
            yield below
            yield from _keys(member, below)


def _policy() -> Iterator[str]:
    document = policy_schema()
    yield from _members(document, document, "policy ", 0)


def _members(node: Mapping[str, Any], root: Mapping[str, Any], path: str, depth: int) -> Iterator[str]:
    """The members of the objects that a JSON schema describes, and those of their members, as paths."""
    while "$ref" in node:
        node = _at(root, node["$ref"])
    for part in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from _members(part, root, path, depth)
    if isinstance(node.get("items"), Mapping):
        yield from _members(node["items"], root, f"{path}[]", depth)
    for name, member in node.get("properties", {}).items() if depth < _DEEPEST else ():
        below = f"{path}{'' if path.endswith(' ') else '.'}{name}"
        yield below
        yield from _members(member, root, below, depth + 1)


def _at(root: Mapping[str, Any], reference: str) -> Mapping[str, Any]:
    found = root
    for name in reference.removeprefix("#/").split("/"):
        found = found[name]
    return found


def _tables() -> Iterator[str]:
    for folder in FOLDERS:
        for table in tables_in(resource_root("sql"), folder):
            yield f"table {table.name} ({', '.join(column.name for column in table.columns)})"
    for name in sql_names("named"):
        yield f"query {name.rpartition('/')[2]}"


def text() -> str:
    """The content of docs/public.txt."""
    return "\n".join(["# Made by `python -m tools.public_surface --write`: docs/stability.md.", *surface()]) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        TARGET.write_text(text(), encoding="utf-8")
    else:
        sys.stdout.write(text())
