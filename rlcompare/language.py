"""The language of what a user reads: English, or one that has a catalogue in ``report_templates/languages/``.

``tr`` looks a text up in the language in use. English texts are the keys, so that code reads like its output; a text
without a translation is shown in English. Names and numbers are put in after the look-up, as ``{name}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from rlcompare.resources import resource_root

ENGLISH = "en"
LANGUAGES = (ENGLISH, "zh-CN")

_language: ContextVar[str] = ContextVar("language", default=ENGLISH)


def current() -> str:
    """The language in use, of ``LANGUAGES``."""
    return _language.get()


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Uses a language of ``LANGUAGES`` inside a ``with`` block."""
    if language not in LANGUAGES:
        raise ValueError(f"unknown language {language}")
    token = _language.set(language)
    try:
        yield
    finally:
        _language.reset(token)


def tr(text: str, /, **values: Any) -> str:
    """A text in the language in use, with ``{name}`` replaced by values.

    Args:
        text: the English text; a literal, so that ``tests/unit/test_language.py`` finds it.
    """
    found = catalogue(_language.get()).get(text, text)
    return found.format(**values) if values else found


def trn(one: str, many: str, number: int, /, **values: Any) -> str:
    """A text that depends on a number, which is put in as ``{n}``; Chinese has one form, under the key ``many``."""
    text = one if number == 1 and _language.get() == ENGLISH else many
    return tr(text, n=f"{number:,}", **values)


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """The translations of a language: English text → text. Empty for English."""
    if language == ENGLISH:
        return {}
    from rlcompare import toml

    text = (resource_root("report_templates") / "languages" / f"{language}.toml").read_text(encoding="utf-8")
    return {key: value for table in toml.loads(text).values() for key, value in table.items()}
