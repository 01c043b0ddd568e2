"""Lines on standard error show neither secrets nor control characters, whatever they quote."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rlcompare.app import messages

SECRET = "hf_" + "aB3dE5gH7jK9" * 3


@pytest.mark.parametrize(
    ("say", "begin"),
    [(messages.say, ""), (messages.note, "note: "), (messages.warn, "warning: ")],
    ids=["say", "note", "warn"],
)
def test_a_quoted_line(capsys: pytest.CaptureFixture[str], say: Callable[[str], None], begin: str) -> None:
    say(f"token={SECRET} \x1b[31mred\x07 /a/b")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"rlcompare: {begin}token=***")
    assert printed.err.endswith("/a/b\n")
    assert SECRET not in printed.err and "\x1b" not in printed.err and "\x07" not in printed.err


def test_a_limit(capsys: pytest.CaptureFixture[str]) -> None:
    messages.say("x" * 500, limit=400)
    assert len(capsys.readouterr().err.removeprefix("rlcompare: ").rstrip("\n")) == 400
