"""Each member of a ``diff.json`` with a wrong value: it is refused, naming its place, or every reader copes with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rlcompare.gate import load_preset
from rlcompare.gate.rules import judge
from rlcompare.model.diff import Diff
from rlcompare.report.document import DocumentError, from_document, to_document
from rlcompare.report.explain import explain
from rlcompare.report.html import render_page
from rlcompare.report.markdown import render_markdown
from rlcompare.report.view import build_view

from . import diff_examples

WRONG: tuple[Any, ...] = (
    None,
    "",
    "x\x1b[31m<script>alert(1)</script>",
    -1,
    0,
    2**63,
    -1e300,
    1e300,
    5e-324,
    True,
    [],
    {},
)
Path = tuple[Any, ...]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The place of each member, of lists the first and the last item."""
    keys: list[Any] = list(value) if isinstance(value, dict) else []
    if isinstance(value, list) and value:
        keys = sorted({0, len(value) - 1})
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


def replaced(document: Any, path: Path, wrong: Any) -> Any:
    made = dict(document) if isinstance(document, dict) else list(document)
    made[path[0]] = wrong if len(path) == 1 else replaced(document[path[0]], path[1:], wrong)
    return made


def read_by_all(diff: Diff) -> None:
    view = build_view(diff, document="diff.json")
    for text in (render_page(diff, None, "diff.json", view), render_markdown(view)):
        assert "<script>alert(1)" not in text
        assert "\x1b" not in text
    judge(diff, load_preset("default"))
    for what in ("1", "unexplained", "time.step"):
        explain(diff, what)


DOCUMENT = json.loads(json.dumps(to_document(diff_examples.regression())))
PLACES = sorted(set(places(DOCUMENT)), key=str)


HOSTILE = WRONG[2]
FOUND = (
    (("sections", "phases", 6, "baseline"), ""),  # KeyError in Markdown: two texts that differ
    (("sections", "metrics", 0, "polarity"), HOSTILE),  # an escape sequence in the page
    (("overall", 10, "unit"), HOSTILE),  # likewise
)


@pytest.mark.parametrize("part", range(4))
def test_a_wrong_member_is_refused_or_harmless(part: int) -> None:
    tried = [(path, WRONG[number % len(WRONG)]) for number, path in enumerate(PLACES[part::12])]
    for path, wrong in (*tried, *(FOUND if part == 0 else ())):
        try:
            diff = from_document(replaced(DOCUMENT, path, wrong))
        except DocumentError as error:
            assert len(str(error)) < 500
            continue
        try:
            read_by_all(diff)
        except Exception as error:
            raise AssertionError(f"{path} = {wrong!r}") from error
