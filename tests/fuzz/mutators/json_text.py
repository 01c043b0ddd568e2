"""Mutators of JSON documents (also gzipped): values at any place, members, and how the text is written.

A value that Python's ``json`` cannot write, such as an integer of 5,000 digits, is planted as a marker and put in its
place in the text.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.kind import Mutator, NotApplicableError, content_of, one_file
from tests.fuzz.mutators import values

Change = Callable[[Any, Random], str]
RawChange = Callable[[bytes, Random], tuple[bytes, str]]
Place = tuple[Any, Any]
"""A dictionary or list, and a key or index in it."""

_MARKER = "fuzz-marker-9c1f"

LITERALS = {
    "an integer of 400 digits": "9" * 400,
    "an integer of 5,000 digits": "-" + "9" * 5000,
    "an exponent of 999,999": "1e999999",
    "NaN": "NaN",
    "an infinity": "-Infinity",
    "3,000 brackets": "[" * 3000 + "]" * 3000,
    "3,000 braces": '{"a":' * 3000 + "1" + "}" * 3000,
    "100,000 brackets": "[" * 100_000 + "]" * 100_000,
    "a lone surrogate": '"\\ud800"',
    "an escaped NUL": '"a\\u0000b"',
    "a wrong escape": '"\\x"',
    "nothing": "",
    "a fraction of 400 digits": "0." + "1" * 400,
    "a number with leading zeros": "007",
    "true": "true",
}


def mutators(pattern: str, *, events: bool = False, prefix: str = "json") -> list[Mutator]:
    """Mutators for one of the documents that match a pattern.

    Args:
        events: the documents are Chrome traces; mutators of events are added.
        prefix: what names begin with.
    """

    def of(change: Change) -> Callable[[Path, Random], str]:
        def edit(content: bytes, random: Random) -> tuple[bytes, str]:
            document = _parsed(content)
            done = change(document, random)
            return _written(document), done

        return of_bytes(edit)

    def of_bytes(change: RawChange) -> Callable[[Path, Random], str]:
        def apply(folder: Path, random: Random) -> str:
            path = one_file(folder, pattern, random)
            given = content_of(path)
            is_compressed = given[:2] == b"\x1f\x8b"
            try:
                content, done = change(gzip.decompress(given) if is_compressed else given, random)
            except (OSError, EOFError, zlib.error) as error:
                raise NotApplicableError from error
            path.write_bytes(gzip.compress(content, 1, mtime=0) if is_compressed else content)
            return f"{path.name}: {done}"

        return apply

    changes, harmless = dict(_CHANGES), dict(_HARMLESS)
    if events:
        changes |= _EVENTS
        harmless |= _HARMLESS_EVENTS
    return [
        *(Mutator(f"{prefix}.{name}", of(change)) for name, change in changes.items()),
        *(Mutator(f"{prefix}.{name}", of(change), harmless=True) for name, change in harmless.items()),
        *(Mutator(f"{prefix}.{name}", of_bytes(change)) for name, change in _RAW.items()),
        *(Mutator(f"{prefix}.{name}", of_bytes(change), harmless=True) for name, change in _HARMLESS_RAW.items()),
    ]


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise NotApplicableError from error


def _written(document: Any) -> bytes:
    return json.dumps(document).encode()


def _places(document: Any) -> Iterator[Place]:
    waiting = [document]
    while waiting:
        node = waiting.pop()
        keys: Any = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            yield node, key
            if isinstance(node[key], dict | list):
                waiting.append(node[key])


def _place(document: Any, random: Random, *, deep: bool = True) -> Place:
    """Any place. Half of the time one near the root, of which large documents have few."""
    node = document
    for _ in range(random.randrange(1, 5) if deep else 1):
        if not isinstance(node, dict | list) or not node:
            break
        key = random.choice(list(node)) if isinstance(node, dict) else random.randrange(len(node))
        holder, node = node, node[key]
    else:
        return holder, key
    if node is document:
        raise NotApplicableError
    return holder, key


def _wrong_value(document: Any, random: Random) -> str:
    holder, key = _place(document, random)
    old = holder[key]
    new = random.choice(
        (None, True, [], {}, "", [old], {"x": old}, str(old)[:100], values.number(random), values.text(random))
    )
    holder[key] = new
    return f"{key!r:.40}: {old!r:.40} is {new!r:.60}"


def _remove(document: Any, random: Random) -> str:
    holder, key = _place(document, random)
    del holder[key]
    return f"without {key!r:.40}"


def _rename_key(document: Any, random: Random) -> str:
    holder, key = _place(document, random)
    if not isinstance(holder, dict):
        raise NotApplicableError
    new = values.text(random)
    holder[new] = holder.pop(key)
    return f"{key!r:.40} renamed to {new!r:.60}"


def _literal(content: bytes, random: Random) -> tuple[bytes, str]:
    document = _parsed(content)
    holder, key = _place(document, random)
    name = random.choice(list(LITERALS))
    holder[key] = _MARKER
    return _written(document).replace(f'"{_MARKER}"'.encode(), LITERALS[name].encode()), f"{key!r:.40} is {name}"


def _key_twice(content: bytes, random: Random) -> tuple[bytes, str]:
    document = _parsed(content)
    holder, key = _place(document, random)
    if not isinstance(holder, dict):
        raise NotApplicableError
    holder[_MARKER] = values.number(random)
    text = _written(document).replace(f'"{_MARKER}"'.encode(), json.dumps(key).encode())
    return text, f"{key!r:.40} twice"


def _replaced(content: bytes, random: Random) -> tuple[bytes, str]:
    what = random.choice((b"{}", b"[]", b"null", b"0", b'"x"', b"[" * 3000, b"[{}]", b'{"traceEvents": 5}', b"[[[]]]"))
    return what, f"the document is {what[:20]!r}"


def _inserted(content: bytes, random: Random) -> tuple[bytes, str]:
    what = random.choice((b",", b"}", b"]", b"{", b"[", b'"', b"\0", b"\n", b"/**/", *values.INVALID_UTF8))
    place = random.randrange(len(content) + 1)
    return content[:place] + what + content[place:], f"{what!r} at byte {place}"


def _cut(content: bytes, random: Random) -> tuple[bytes, str]:
    place = random.choice((random.randrange(len(content) + 1), len(content) - 1, len(content) // 2))
    return content[:place], f"cut to {place} of {len(content)} bytes"


def _trailing(content: bytes, random: Random) -> tuple[bytes, str]:
    what = random.choice((b"x", b"]", b"\0" * 100, content[:1000], b"," * 10))
    return content + what, f"{what[:10]!r} behind it"


def _utf16(content: bytes, random: Random) -> tuple[bytes, str]:
    return content.decode("utf-8", "replace").encode("utf-16"), "UTF-16"


def _spaced(document: Any, random: Random) -> str:
    return "written anew"


def _indented(content: bytes, random: Random) -> tuple[bytes, str]:
    document = _parsed(content)
    return json.dumps(document, indent=1, ensure_ascii=False).encode("utf-8", "replace"), "indented"


def _reorder_keys(document: Any, random: Random) -> str:
    """Members in another order, in all dictionaries."""
    waiting = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            items = list(node.items())
            random.shuffle(items)
            node.clear()
            node.update(items)
        inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        waiting += [x for x in inside if isinstance(x, dict | list)]
    return "keys reordered"


def _events(document: Any) -> list[Any]:
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list) or not events:
        raise NotApplicableError
    return events


def _some_events(document: Any, random: Random) -> list[dict[str, Any]]:
    events = [event for event in _events(document) if isinstance(event, dict) and event]
    chosen = random.choice(events or [{}])
    alike = [e for e in events if e.get("ph") == chosen.get("ph") and e.get("cat") == chosen.get("cat")]
    every = random.choice((1, 2, 7, 100_000))
    some = [event for event in alike if random.randrange(every) == 0] or alike[:1]
    if not some:
        raise NotApplicableError
    return some


def _field(document: Any, random: Random) -> str:
    """One member of some events of a kind."""
    some = _some_events(document, random)
    holder = random.choice(some)
    inner = holder.get("args")
    path = [random.choice(sorted(holder))]
    if isinstance(inner, dict) and inner and random.random() < 0.5:
        path = ["args", random.choice(sorted(inner))]
    drawn = values.number(random), values.text(random), random.choice(values.NUMBERS_AS_TEXT)
    value: Any = random.choice((*drawn, None, [], {}))
    for event in some:
        node: Any = event
        for key in path[:-1]:
            node = node.get(key) if isinstance(node.get(key), dict) else {}
        if path[-1] in node:
            node[path[-1]] = value
    return f"{'.'.join(path)} of {len(some)} events ({some[0].get('cat')}) is {value!r:.60}"


def _event_times(document: Any, random: Random) -> str:
    some = _some_events(document, random)
    key = random.choice(("ts", "dur"))
    scale, by = random.choice((0, 1, 1, -1, 1000, 1e6)), random.choice((0, 1, -1)) * 10.0 ** random.randrange(0, 16)
    for event in some:
        value = event.get(key)
        if isinstance(value, int | float):
            event[key] = value * scale + by
        elif isinstance(value, str):
            event[key] = str(values.integer(random))
    return f"{key} of {len(some)} events ({some[0].get('cat')}) times {scale} plus {by}"


def _event_jitter(document: Any, random: Random) -> str:
    some = _some_events(document, random)
    most = 10 ** random.randrange(0, 6)
    key = random.choice(("ts", "dur"))
    for event in some:
        if isinstance(event.get(key), int | float):
            event[key] += random.uniform(-most, most)
        elif isinstance(event.get(key), str):
            event[key] = str(float(event[key]) + random.uniform(-most, most)) if event[key].strip() else event[key]
    return f"{key} of {len(some)} events ({some[0].get('cat')}) moved by up to {most} us"


def _duplicate_events(document: Any, random: Random) -> str:
    some = _some_events(document, random)
    _events(document).extend(dict(event) for event in some[:20_000])
    return f"{len(some)} events twice"


def _delete_events(document: Any, random: Random) -> str:
    some = {id(event) for event in _some_events(document, random)}
    events = _events(document)
    events[:] = [event for event in events if id(event) not in some]
    return f"{len(some)} events deleted"


def _odd_events(document: Any, random: Random) -> str:
    odd: tuple[Any, ...] = (
        None,
        5,
        "x",
        [],
        {},
        [1, 2],
        {"ph": "X"},
        {"ph": 7, "name": 5},
        {"ph": "X", "ts": None, "dur": {}, "name": []},
    )
    events = _events(document)
    for _ in range(random.choice((1, 5, 50))):
        events.insert(random.randrange(len(events) + 1), random.choice(odd))
    return "odd events among them"


def _reorder_events(document: Any, random: Random) -> str:
    random.shuffle(_events(document))
    return "events reordered"


def _extra_keys(document: Any, random: Random) -> str:
    for event in _events(document):
        if isinstance(event, dict):
            event["fuzzUnknown"] = {"x": 1}
    return "a member more in every event"


_CHANGES: dict[str, Change] = {"wrong_value": _wrong_value, "remove": _remove, "rename_key": _rename_key}
_HARMLESS: dict[str, Change] = {"rewritten": _spaced, "reorder_keys": _reorder_keys}
_RAW: dict[str, RawChange] = {
    "literal": _literal, "key_twice": _key_twice, "replaced": _replaced, "inserted": _inserted, "cut": _cut,
    "trailing": _trailing, "utf16": _utf16,
}  # fmt: skip
_HARMLESS_RAW: dict[str, RawChange] = {"indented": _indented}
_EVENTS: dict[str, Change] = {
    "field": _field, "event_times": _event_times, "event_jitter": _event_jitter,
    "duplicate_events": _duplicate_events, "delete_events": _delete_events, "odd_events": _odd_events,
}  # fmt: skip
_HARMLESS_EVENTS: dict[str, Change] = {"reorder_events": _reorder_events, "extra_keys": _extra_keys}
