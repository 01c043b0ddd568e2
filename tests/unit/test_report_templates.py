"""Compiled templates: kept beside their sources like modules, used by later processes, and never trusted if damaged."""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2
import pytest

from rlcompare import resources
from rlcompare.report.templates import environment

NAME = "words.html.j2"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Templates of the test's own, as another process would find them: nothing is in memory."""
    (tmp_path / NAME).write_text("{{ _('one') }} {{ name }}")
    monkeypatch.setattr("rlcompare.report.templates.resource_root", lambda _kind: tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    assert resources.resource_root("report_templates") != tmp_path
    return tmp_path


def rendered(monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """The text, and how many templates were compiled for it, in a new environment."""
    compiled = []
    generate = jinja2.Environment._generate

    def counted(self: jinja2.Environment, *args: object, **options: object) -> object:
        compiled.append(args)
        return generate(self, *args, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(jinja2.Environment, "_generate", counted)
        text = environment.__wrapped__().get_template(NAME).render(name="<b>")
    return text, len(compiled)


def kept(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.name != NAME]


def test_a_template_is_compiled_once_and_again_when_it_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rendered(monkeypatch) == ("one &lt;b&gt;", 1)
    assert rendered(monkeypatch) == ("one &lt;b&gt;", 0)
    (path,) = kept(folder)
    assert path.parent == folder / "__pycache__"
    (folder / NAME).write_text("two {{ name }}")
    assert rendered(monkeypatch) == ("two &lt;b&gt;", 1)
    monkeypatch.setattr(jinja2, "__version__", "99")
    assert rendered(monkeypatch) == ("two &lt;b&gt;", 1)


@pytest.mark.parametrize("damage", [b"", b"\0" * 40, None])
def test_a_damaged_one_is_compiled_again(folder: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | None) -> None:
    rendered(monkeypatch)
    (path,) = kept(folder)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content if damage is None else damage)
    assert rendered(monkeypatch) == ("one &lt;b&gt;", 1)
    assert rendered(monkeypatch) == ("one &lt;b&gt;", 0)


def test_nothing_is_written_where_python_writes_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered(monkeypatch) == ("one &lt;b&gt;", 1)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (folder / "__pycache__").write_text("a file in place of the folder")
    assert rendered(monkeypatch) == ("one &lt;b&gt;", 1)
    assert [path.name for path in kept(folder)] == ["__pycache__"]
