"""Reads a torch.profiler trace as bytes: its metadata, and its events as a plain JSON list that DuckDB can stream.

A trace is ``{…, "traceEvents": [events], …}``, compressed or not, a gigabyte or more, and is read in blocks. The keys
before and after the events are small and are parsed. Only an allowlist of them is kept: a trace may contain a dump of
the process's environment.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.sources.blocks import CUT, Blocks, check_room, head_of
from rlcompare.sources.trace_slice import LONGEST_EVENT, end_of_last_event, end_of_list

_HEAD_OF_EVENTS = 64 << 10
_HEAD_LIMIT = 64 << 20
_TAIL = 4 << 20
_PEEK = 1 << 20
_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_LAST_EVENT = re.compile(rb"\}\s*(?=\])")
_EXACT_TIME = re.compile(rb'"ts"\s*:\s*\d{15,}\.\d*[1-9]')
_TIME = re.compile(rb'("ts"\s*:\s*)(\d+\.\d+)')
_STEP = re.compile(rb'"ProfilerStep#(\d{1,18})"')
_KEPT = (
    "schemaVersion", "distributedInfo", "record_shapes", "with_stack", "profile_memory", "with_flops", "with_modules",
    "cuda_runtime_version", "cuda_driver_version", "hip_runtime_version", "hip_driver_version", "baseTimeNanoseconds",
    "host_name", "rlcompare",
)  # fmt: skip


@dataclass(frozen=True)
class EventFile:
    """The events of a trace.

    Attributes:
        path: a private file with a bare list of them.
        header: the trace's own metadata, limited to ``_KEPT``, and the names of its devices as ``devices``.
        damage: the damage of the trace, as a clause; None if nothing was left out.
    """

    path: Path
    header: Mapping[str, object]
    damage: str | None = None


def read_header(path: Path) -> dict[str, object]:
    """The metadata of a trace: from its beginning, or from its end if the beginning has none.

    Raises:
        OSError: it cannot be read.
    """
    head = head_of(path, _PEEK)
    key = _KEY.search(head)
    if key is None:
        return _kept(_parsed(head.rstrip() if b'"traceEvents"' not in head else b""))
    before = _before_events(head[: key.start()])
    if before.keys() & {"deviceProperties", "distributedInfo"}:
        return _kept(before)
    tail = b""
    for block in Blocks(path):
        tail = (tail + block)[-_TAIL:]
    after = _after_events(tail, is_whole=False)
    return _kept({**before, **(after[1] if after else {})})


def first_time(path: Path) -> int | None:
    """The first time stamp of a trace, in nanoseconds from its own base; None if its beginning has none."""
    match = re.search(rb'"ts"\s*:\s*"?(\d{1,16})(?:\.(\d{1,3}))?', head_of(path, _PEEK))
    if match is None:
        return None
    return int(match.group(1)) * 1000 + int((match.group(2) or b"").ljust(3, b"0"))


def steps_of_trace(path: Path) -> frozenset[int] | None:
    """The numbers of the steps that a trace marks, by one pass over its bytes; None if there are none.

    Raises:
        OSError: it cannot be read.
    """
    steps: set[int] = set()
    rest = b""
    for block in Blocks(path):
        text = rest + block
        steps |= {int(number) for number in _STEP.findall(text)}
        rest = text[-64:]
    return frozenset(steps) or None


def event_file(path: Path, scratch: Path) -> EventFile:
    """Copies the events of a trace into a bare, closed list, and parses the keys around them.

    Times with more digits than a float holds (2.3: microseconds since 1970 with decimals) are converted to strings,
    because DuckDB would read them as floats.

    Raises:
        InputError: it holds no list of events.
        OSError: it cannot be read or copied.
    """
    blocks = Blocks(path)
    stream = iter(blocks)
    head, start = _head(path, stream)
    copy = scratch / f"list-of-{path.stem}.json"
    quoting = bool(_EXACT_TIME.search(head, start))
    with copy.open("wb+") as out:
        rest = b""
        for block in _with(head[start:], stream):
            check_room(copy, len(block))
            if quoting:
                end = (rest + block).rfind(b"}") + 1
                whole, rest = (rest + block)[:end], (rest + block)[end:]
                out.write(_TIME.sub(rb'\1"\2"', whole))
                if len(rest) > LONGEST_EVENT:  # damaged
                    out.write(rest)
                    rest = b""
            else:
                out.write(block)
        out.write(rest)
        size = out.tell()
        out.seek(max(size - _TAIL, 0))
        tail = out.read()
        is_wrapped = start > 0 and head[:start].rstrip().endswith(b":")
        before = _before_events(head[: _key_start(head, start)]) if is_wrapped else {}
        after = _after_events(tail, is_whole=size == len(tail)) if is_wrapped else None
        damage, end_at = blocks.damage, None
        if after is not None:
            end_at, header = after
            before = {**before, **header}
        elif is_wrapped or not tail.rstrip().endswith(b"]"):
            damage, end_at = damage or CUT, end_of_last_event(tail)
        if end_at is not None:
            out.seek(size - len(tail) + end_at)
            out.truncate()
            out.write(b"]")
    return EventFile(copy, _kept(before), damage)


def _with(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _head(path: Path, stream: Iterator[bytes]) -> tuple[bytes, int]:
    """The first blocks, up to the list's opening bracket, and the position of the bracket."""
    head = b""
    for block in stream:
        searched = max(len(head) - 64, 0)
        head += block
        body = head.removeprefix(codecs.BOM_UTF8).lstrip()
        if body[:1] == b"[":
            return _with_events(head, stream), len(head) - len(body)
        match = _KEY.search(head, searched)
        if match:
            return _with_events(head, stream), match.end() - 1
        if len(head) > _HEAD_LIMIT:
            break
    raise InputError(path, "it contains no list of trace events", "Copy it again, or export the trace again")


def _with_events(head: bytes, stream: Iterator[bytes]) -> bytes:
    """The head plus enough of the following text to show how the first events print their times."""
    enough = len(head) + _HEAD_OF_EVENTS
    for block in stream:
        head += block
        if len(head) >= enough:
            break
    return head


def _key_start(head: bytes, start: int) -> int:
    return head.rindex(b'"traceEvents"', 0, start)


def _before_events(text: bytes) -> dict[str, object]:
    """The keys before the events, from a text that ends where the events' key begins."""
    return _parsed(text.removeprefix(codecs.BOM_UTF8) + b'"traceEvents": []}')


def _after_events(tail: bytes, *, is_whole: bool) -> tuple[int, dict[str, object]] | None:
    """The end of the list of events, and the keys after it: at the first bracket that only such keys follow.

    Args:
        is_whole: whether the tail begins with the list; else with any byte in it, such as an empty list of an event.
    """
    if is_whole and re.match(rb"\[\s*\]", tail):
        return 1, _parsed(b'{"traceEvents": []' + tail[tail.index(b"]") + 1 :])
    return end_of_list(tail, (event.end() for event in _LAST_EVENT.finditer(tail)))


def _parsed(text: bytes) -> dict[str, object]:
    try:
        value = json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _kept(keys: Mapping[str, object]) -> dict[str, object]:
    """The keys of the allowlist. Devices are reduced to their names, which are usually all the same."""
    kept = {key: keys[key] for key in _KEPT if key in keys}
    devices = keys.get("deviceProperties")
    if isinstance(devices, list):
        names = [device.get("name") for device in devices if isinstance(device, dict)]
        kept["devices"] = sorted({name for name in names if isinstance(name, str) and name})
    return kept
