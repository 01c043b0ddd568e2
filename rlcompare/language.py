"""The language of what a user reads: English, or one that has a catalogue in ``report_templates/languages/``.

``tr`` looks a text up in the language in use. English texts are the keys, so that code reads like its output; a text
without a translation is shown in English. Names and numbers are put in after the look-up, as ``{name}``.

The language is that of ``--lang``, else of ``RLCOMPARE_LANG``, else English. Only the page follows the locale of the
machine: it is read by people, while a terminal's output and Markdown are also searched, quoted and compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from string import Formatter
from typing import Any

from rlcompare.resources import resource_root

ENGLISH = "en"
LANGUAGES = (ENGLISH, "zh-CN")
VARIABLE = "RLCOMPARE_LANG"

SENTENCES, ENDS, PLACES, WORDS, DATA = "sentences", "ends", "places", "words", "data"
"""Tables of a catalogue for texts that a diff holds, which ``report.sentences`` reads; the others are for ``tr``."""

COLUMNS = "columns"
"""The table for headings that follow from the names of columns: the only texts for ``tr`` that are no literals."""

_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
_asked: ContextVar[str | None] = ContextVar("language", default=None)


def current() -> str:
    """The language in use, of ``LANGUAGES``."""
    return _asked.get() or _named(os.environ.get(VARIABLE)) or ENGLISH


def of_page() -> str:
    """The language of a page: the one that was asked for, else that of the locale."""
    locale = next((value for name in _LOCALE if (value := os.environ.get(name))), None)
    return _asked.get() or _named(os.environ.get(VARIABLE)) or _named(locale) or ENGLISH


@lru_cache(maxsize=64)
def _named(name: str | None) -> str | None:
    """The language that a variable names, such as ``zh_CN.UTF-8``; None if there is no such catalogue."""
    tag = (name or "").partition(".")[0].partition("@")[0].replace("_", "-").lower()
    if tag.startswith("zh") and not tag.startswith(("zh-tw", "zh-hk", "zh-mo", "zh-hant")):
        return "zh-CN"
    return ENGLISH if tag.partition("-")[0] == ENGLISH else None


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Uses a language of ``LANGUAGES`` inside a ``with`` block."""
    if language not in LANGUAGES:
        raise ValueError(f"unknown language {language}")
    token = _asked.set(language)
    try:
        yield
    finally:
        _asked.reset(token)


def tr(text: str, /, **values: Any) -> str:
    """A text in the language in use, with ``{name}`` replaced by values.

    Args:
        text: the English text; a literal, or one that stands in ``mark``, so that ``tests/unit/test_language.py``
            finds it.
    """
    language = current()
    if language == ENGLISH:
        return text.format(**values) if values else text
    found = texts(language).get(text, text)
    return _spaced(found, values) if values else found


def _spaced(text: str, values: Mapping[str, Any]) -> str:
    """A text with its values; a blank stands between Chinese and Latin characters, and not between two Chinese."""
    made = ""
    for literal, field, form, _ in _pieces(text):
        made = _joined(made, literal)
        if field is not None:
            made = _joined(made, format(values[field], form or ""))
    return made


@lru_cache(maxsize=4096)
def _pieces(text: str) -> tuple[tuple[str, str | None, str | None, str | None], ...]:
    return tuple(Formatter().parse(text))


def _joined(start: str, end: str) -> str:
    if start[-1:].isascii() and start[-1:].isalnum() and _is_chinese(end[:1]):
        return f"{start} {end}"
    if _is_chinese(start[-1:]) and end[:1].isascii() and end[:1].isalnum():
        return f"{start} {end}"
    if start.endswith(" ") and _is_chinese(start[-2:-1]) and _is_chinese(end[:1]):
        return start[:-1] + end
    return start + end


def _is_chinese(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fff"


def mark(text: str) -> str:
    """A literal of a constant, which ``tr`` translates when it is used."""
    return text


def trn(one: str, many: str, number: int, /, **values: Any) -> str:
    """A text that depends on a number, which is put in as ``{n}``; Chinese has one form, under the key ``many``."""
    text = one if number == 1 and current() == ENGLISH else many
    return tr(text, n=f"{number:,}", **values)


def listed(parts: Iterable[str]) -> str:
    """Parts with commas between them."""
    return tr(", ").join(parts)


def with_label(label: str, text: str) -> str:
    """``label: text``."""
    return tr("{label}: {text}", label=label, text=text)


def sentences(parts: Iterable[str]) -> str:
    """Sentences, one after the other; Chinese ones have no space between them."""
    return " ".join(parts).replace("。 ", "。")


@cache
def texts(language: str) -> Mapping[str, str]:
    """The translations of a language for ``tr``: English text → text."""
    return {**catalogue(language).get(COLUMNS, {}), **fixed_texts(language)}


def fixed_texts(language: str) -> Mapping[str, str]:
    """The translations of literals."""
    held = (SENTENCES, ENDS, PLACES, WORDS, DATA, COLUMNS)
    tables = (table for name, table in catalogue(language).items() if name not in held)
    return {key: value for table in tables for key, value in table.items()}


@cache
def catalogue(language: str) -> Mapping[str, Mapping[str, str]]:
    """The tables of a language by their names; none for English."""
    if language == ENGLISH:
        return {}
    from rlcompare import toml

    path = resource_root("report_templates") / "languages" / f"{language}.toml"
    return toml.loads(path.read_text(encoding="utf-8"))
