"""docs/tour.md: every number in it is what its commands print. The names in it are checked in test_references."""

from __future__ import annotations

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO

import pytest

from rlcompare.cli.main import run

from .conftest import DEMO
from .places import ROOT

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_stop_shows_what_is_there(demo: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    blocks = _BLOCK.findall((ROOT / "docs" / "tour.md").read_text(encoding="utf-8"))
    assert blocks[0][1].splitlines() == list(DEMO)
    stops = 0
    for number, (language, text) in enumerate(blocks):
        if language == "python":
            with redirect_stdout(StringIO()) as out:
                exec(text, {})  # our own document
            assert out.getvalue() == blocks[number + 1][1]
            stops += 1
        elif text.startswith("$ "):
            command, _, shown = text.partition("\n")
            assert run([*shlex.split(command)[2:], "-q"]) == 0
            assert capfd.readouterr().out == shown
            stops += 1
    assert stops == 4
    assert blocks[-1][1] in "\n".join(demo), "the terminal's table"
