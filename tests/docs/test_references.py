"""What documents, comments and docstrings refer to exists: sections, files, functions, links."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from .places import DOCUMENTS, ROOT, place_of, sources

_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SECTION = re.compile(r"docs/([\w-]+\.md)(?: §(\d+)|#([\w-]+))?")
_PATH = re.compile(r"`((?:rlcompare|sql|report_templates|tests|tools|docs|benchmarks|golden)/[\w./-]*)(?:::([\w.]+))?`")
_OWN = Path(__file__).resolve()


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    titles = _HEADING.findall(_FENCED.sub("", document.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@cache
def names_in(module: Path) -> frozenset[str]:
    """Functions, classes and constants of a module, and ``Class.member``."""
    found = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(found)


def test_sections_that_code_cites_exist() -> None:
    cited = [
        (path, *match.groups())
        for path in sources()
        if path.resolve() != _OWN
        for match in _SECTION.finditer(path.read_text(encoding="utf-8"))
    ]
    assert any(number for _, _, number, _ in cited), "the pattern finds nothing"
    for path, name, number, anchor in cited:
        document = ROOT / "docs" / name
        assert document.is_file(), (path, name)
        if number:
            assert re.search(rf"^## {number}\. ", document.read_text(encoding="utf-8"), re.MULTILINE), (path, number)
        if anchor:
            assert anchor in anchors(document), (path, name, anchor)


def test_no_document_is_cited_that_only_its_authors_have() -> None:
    for path in sources():
        if path.resolve() != _OWN:
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"\bDESIGN §|facts page|STYLE\.md", text), path


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_names_in_a_document_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in _LINK.findall(_FENCED.sub("", text)):
        if re.match(r"https?://", target):
            continue
        name, _, anchor = target.partition("#")
        linked = place_of(str((document.parent / name).resolve().relative_to(ROOT))) if name else document
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target
    assert_paths_exist(text, document)


def test_paths_that_code_cites_exist() -> None:
    cited = [path for path in sources() if assert_paths_exist(path.read_text(encoding="utf-8"), path)]
    assert cited, "the pattern finds nothing"


def assert_paths_exist(text: str, where: Path) -> int:
    """Every `path` and `path::name` in a text exists; returns how many there are."""
    found = _PATH.findall(text)
    for name, member in found:
        place = place_of(name)
        assert place.exists(), (where, name)
        assert not member or member in names_in(place), (where, f"{name}::{member}")
    return len(found)


def test_every_document_of_docs_can_be_reached_from_the_front_page() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        document = waiting.pop()
        if document not in seen:
            seen.add(document)
            links = (target.partition("#")[0] for target in _LINK.findall(document.read_text(encoding="utf-8")))
            waiting += [
                (document.parent / link).resolve() for link in links if link.endswith(".md") and "//" not in link
            ]
    assert set((ROOT / "docs").rglob("*.md")) - seen == set()
