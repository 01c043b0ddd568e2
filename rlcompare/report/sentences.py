"""The English sentences that a diff holds, in the language in use: causes, events, symptoms, findings, verdicts.

``diff.json`` has them in English, made of a few hundred phrases that code puts together. A catalogue lists these
phrases with their fields, so that a sentence is taken apart into phrases, names and numbers, and translated with the
same names and numbers. A sentence of which any part is unknown stays English as a whole: none is half translated, and
nothing is added to what the English one says.

Tables of a catalogue: ``sentences`` are whole ones, ``ends`` follow another phrase, ``words`` are values of fields
whose names begin with ``word``, ``data`` are texts of a diff that are not sentences. A field ``k`` is a name without
blanks, ``n``, ``n1``, … a number, ``t``, ``t1``, … a time with its unit, ``q`` any quantity, ``c`` a phrase itself,
``p`` an operator and its place, of the table ``places`` or a mere name; other fields are names, which stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from rlcompare import language

LIMIT = 1000
"""Longer sentences stay English: none of ours is so long without a name that would not be shown in full."""

_DEPTH = 8
_SENTENCE = re.compile(r"(?<=[.?]) (?=\w)")
_STOP = "。"
_FIELD = re.compile(r"\{(\w+)\}")
_PROSE = "with|and|as|in|at|by|before|called|most|mostly|nearly|both|while|which|so|on|under"
_NAME = rf"(?:(?!; |\. |\): |, (?:{_PROSE}) | of it ).)+?"
"""A name has no end of a clause inside, and no beginning of one, or it would swallow what follows it."""

_PATTERNS = {
    "k": r"\S+?",
    "c": ".+?",
    "n": r"(?:[+\-−±]?\d[\d.,]*(?:[eE][+\-]?\d+)?(?: ?%)?|nan|-?inf|—)",
    "q": r"[+\-−±]?\d[\d.,]*(?:[eE][+\-]?\d+)?(?: ?(?:%|[mun]?s|min|B|[KMGT]iB))?",
    "t": r"[+\-−]?[\d.,]+ (?:ms|s)",
}


class _Rule(NamedTuple):
    """A phrase: its English pattern, and how it is said."""

    pattern: re.Pattern[str]
    said: str


class _Grammar(NamedTuple):
    sentences: tuple[_Rule, ...]
    ends: tuple[_Rule, ...]
    places: tuple[_Rule, ...]
    words: Mapping[str, str]


_JOINTS = (": ", "; ", " → ", "  ")
_MOST_JOINTS = 40
"""Patterns try all ways to divide a text at these. Sentences of ours have a few."""


def said(text: str) -> str:
    """A text of a diff in the language in use; as it is if the language is English, or if a part of it is unknown."""
    spoken = language.current()
    if spoken == language.ENGLISH or not text or len(text) > LIMIT or sum(map(text.count, _JOINTS)) > _MOST_JOINTS:
        return text
    return _said(spoken, text)


def datum(text: str) -> str:
    """A text of a diff that is no sentence, such as the name of a kind; as it is if it is unknown."""
    return language.catalogue(language.current()).get(language.DATA, {}).get(text, text)


def named(text: str) -> str:
    """The name of an operator with its place, or what stands for one, in the language in use."""
    spoken = language.current()
    return text if spoken == language.ENGLISH else _placed(_grammar(spoken), text)


@lru_cache(maxsize=4096)  # sentences hold numbers
def _said(spoken: str, text: str) -> str:
    grammar, failed = _grammar(spoken), dict[str, int]()
    for parts in (_SENTENCE.split(text), [text]):
        found = [_parsed(grammar, part.removesuffix("."), 0, failed) for part in parts]
        if None not in found:
            return _STOP.join(part for part in found if part) + (_STOP if text.endswith(".") else "")
    return text


def _parsed(grammar: _Grammar, text: str, depth: int, failed: dict[str, int]) -> str | None:
    """A phrase as it is said; None if it is unknown.

    Args:
        failed: the least depth at which a text was found to be none; so it is none deeper either.
    """
    if depth > _DEPTH or failed.get(text, depth + 1) <= depth:
        return None
    for rule in grammar.sentences:
        found = rule.pattern.fullmatch(text)
        if found and (made := _filled(grammar, rule, found, depth, failed)) is not None:
            return made
    for rule in grammar.ends:
        found = rule.pattern.search(text)
        if found is None or not found.start():
            continue
        head = _parsed(grammar, text[: found.start()], depth + 1, failed)
        made = None if head is None else _filled(grammar, rule, found, depth, failed)
        if head is not None and made is not None:
            return head + made
    failed[text] = depth
    return None


def _filled(grammar: _Grammar, rule: _Rule, found: re.Match[str], depth: int, failed: dict[str, int]) -> str | None:
    values: dict[str, str] = {}
    for name, value in found.groupdict().items():
        shown: str | None = value
        if name.startswith("word"):
            shown = grammar.words.get(value)
        elif name.rstrip("0123456789") == "c":
            shown = _parsed(grammar, value, depth + 1, failed)
        elif name == "p":
            shown = _placed(grammar, value)
        if shown is None:
            return None
        values[name] = shown
    return _FIELD.sub(lambda field: values[field[1]], rule.said)


def _placed(grammar: _Grammar, text: str) -> str:
    found = ((rule, match) for rule in grammar.places if (match := rule.pattern.fullmatch(text)))
    rule, match = next(found, (None, None))
    return text if rule is None or match is None else _FIELD.sub(lambda field: match[field[1]], rule.said)


@cache
def _grammar(spoken: str) -> _Grammar:
    tables = language.catalogue(spoken)
    words = tables.get(language.WORDS, {})
    sentences, ends, places = (
        tuple(_Rule(re.compile(_pattern(key, words) + end), said) for key, said in tables.get(name, {}).items())
        for name, end in ((language.SENTENCES, ""), (language.ENDS, "$"), (language.PLACES, ""))
    )
    return _Grammar(sentences, ends, places, words)


def _pattern(key: str, words: Mapping[str, str]) -> str:
    """The regular expression of a phrase; a field that stands in it twice has the same value both times."""
    made, seen = "", set()
    for place, piece in enumerate(_FIELD.split(key)):
        if place % 2 == 0:
            made += re.escape(piece)
        elif piece in seen:
            made += f"(?P={piece})"
        else:
            seen.add(piece)
            made += f"(?P<{piece}>{_value(piece, words)})"
    return made


def _value(field: str, words: Mapping[str, str]) -> str:
    if field.startswith("word"):
        return "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))
    return _PATTERNS.get(re.sub(r"\d*$", "", field), _NAME)
