"""A user's request for a probe: in Python, or as text in RLCOMPARE_PROBE. Cheap to import at interpreter start.

PRESET [KEY=VALUE]…[; …]      vllm-decode skip_first=30 active=3 output=/data/new ranks=[0,1]
scope=PATH tick=PATH …        scope=engine.core:Engine.generate tick=engine.core:Engine.decode output=/data/new
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import get_type_hints

from rlcompare.collect.probe.presets import EDGES, PRESETS, Probe, Variant
from rlcompare.errors import UsageError

VARIABLE = "RLCOMPARE_PROBE"
LONGEST = 16_384
"""Maximum length of the variable, in characters: every process that inherits it parses it at its start."""
TOOLS = ("npu", "torch", "torch_memory", "nsys")

_SCHEDULE = {"skip_first": 0, "wait": 0, "warmup": 1, "active": 1, "repeat": 1}
_OTHERS = ("output", "tool", "steps", "ranks", "ticks")
_POINTS = ("scope", "tick", "edge")
_OF_WHOLE_STEPS = ("discrete", "step_start", "step_end")
"""Settings of tools that only make sense when whole training steps are recorded."""
_AT_LEAST_ONE = ("active", "ticks")
_MOST_DIGITS = 9
_SHOWN = 60
_POINT = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_LIST = re.compile(r"\[?\s*(\d+(?:\s*,\s*\d+)*)?\s*\]?")


@dataclass(frozen=True)
class Request:
    """One probe with its schedule.

    Attributes:
        schedule: the five numbers of ``profiler.schedule.Schedule``.
        steps: calls of the scope to record, from 1.
        ranks: None: all.
        ticks: maximum number of ticks per call; None: unknown.
        tool: None: the tool that fits the machine.
        settings: of the tool, with verl's names, as strings.
    """

    probe: Probe
    output: Path
    schedule: Mapping[str, int]
    steps: frozenset[int]
    ranks: frozenset[int] | None
    ticks: int | None
    tool: str | None
    settings: Mapping[str, str]


def request_of(preset: str | None, options: Mapping[str, object]) -> Request:
    """Checks everything that can be checked without the tools.

    Raises:
        UsageError: a preset or option is unknown, or has a wrong value.
    """
    given = {key: _text(value) for key, value in options.items() if value is not None}
    probe = _preset(preset) if preset is not None else _custom(given)
    if preset is not None and given.keys() & set(_POINTS):
        raise UsageError(f"probe {preset}: it has its own {', '.join(_POINTS)}; remove these, or the preset")
    output = given.pop("output", "")
    if not output.startswith("/"):
        raise UsageError(f"probe {probe.name}: output={output}: use an absolute path, such as output=/data/new")
    tool = given.pop("tool", None)
    if tool is not None and tool not in TOOLS:
        raise UsageError(f"probe {probe.name}: tool={tool} is not one of {', '.join(TOOLS)}")
    schedule = {**_SCHEDULE, **probe.schedule}
    schedule |= {key: _number(probe, key, given.pop(key)) for key in _SCHEDULE if key in given}
    steps = _numbers(probe, "steps", given.pop("steps", "1"))
    if steps != {1} and all(variant.scope is None for variant in probe.variants):
        raise UsageError(
            f"probe {probe.name}: steps={sorted(steps)} are calls of the scope, and this probe has none: remove it, "
            "and choose the first tick by skip_first="
        )
    ranks = _numbers(probe, "ranks", given.pop("ranks")) if "ranks" in given else None
    ticks = _number(probe, "ticks", given.pop("ticks")) if "ticks" in given else None
    settings = {key: value for key, value in given.items() if key not in _POINTS}
    _check_names(probe, tool, settings)
    return Request(probe, Path(output), schedule, steps, ranks, ticks, tool, settings)


def _check_names(probe: Probe, tool: str | None, settings: Mapping[str, str]) -> None:
    """Refuses names that are neither an option of a probe nor a setting of its tool."""
    if not settings:
        return
    from rlcompare.collect.reference.config.schema import ToolConfig

    of_tools = get_type_hints(ToolConfig)
    blocks = of_tools.values() if tool is None else [of_tools[tool]]
    known = [field.name for block in blocks for field in fields(block) if field.name not in _OF_WHOLE_STEPS]
    for key in settings:
        if key not in known:
            options = list(dict.fromkeys([*_SCHEDULE, *_OTHERS, *(() if probe.known else _POINTS), *known]))
            near = [name for name in options if name.startswith(key)] or get_close_matches(key, options, 1)
            of = f" with tool={tool}" if tool else ""
            hint = f"the nearest is {near[0]}" if near else f"choose from {', '.join(options)}"
            raise UsageError(f"probe {probe.name}: {key} is not an option of a probe{of}; {hint}")


def requests_in(text: str) -> list[Request]:
    """The probes of RLCOMPARE_PROBE.

    Raises:
        UsageError: the text cannot be parsed, or is too long.
    """
    if len(text) > LONGEST:
        raise UsageError(f"{VARIABLE} has {len(text)} characters; at most {LONGEST} are read: shorten it")
    words = shlex.shlex(text, posix=True, punctuation_chars=";")
    words.whitespace_split, words.commenters = True, ""
    requests, part = [], list[str]()
    try:
        for word in [*words, ";"]:
            if set(word) != {";"}:
                part.append(word)
            elif part:
                requests.append(_request_in(part))
                part = []
    except ValueError as error:
        raise UsageError(f"{VARIABLE} cannot be parsed ({error}): check its quotes") from error
    return requests


def _request_in(words: Sequence[str]) -> Request:
    presets = [word for word in words if "=" not in word]
    if len(presets) > 1:
        raise UsageError(f"{VARIABLE}: {' and '.join(presets)} in one probe: separate probes by ;")
    options = dict(word.split("=", 1) for word in words if "=" in word)
    return request_of(presets[0] if presets else None, options)


def _preset(name: str) -> Probe:
    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"there is no preset {_short(name)}; choose from {', '.join(PRESETS)}{hint}")
    return PRESETS[name]


def _custom(given: Mapping[str, str]) -> Probe:
    """A user's own probe. Its phase is named after the scope's function."""
    if "tick" not in given:
        raise UsageError(f"a probe needs a preset ({', '.join(PRESETS)}), or tick= and usually scope=")
    scope, tick = given.get("scope"), given["tick"]
    for key, point in (("scope", scope), ("tick", tick)):
        if point is not None and not _POINT.fullmatch(point):
            raise UsageError(f"probe: {key}={_short(point)} is not a callable such as package.module:Class.method")
    phase, granularity = (re.split(r"[.:]", point)[-1] for point in (scope or tick, tick))
    edge = next((edge for edge in EDGES if edge == given.get("edge", "call")), None)
    if edge is None:
        raise UsageError(f"probe: edge={given['edge']} is not one of {', '.join(EDGES)}")
    package = tick.partition(":")[0].partition(".")[0]
    return Probe(phase, "", phase, granularity, (Variant(package, scope, (tick,), edge),))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple, set, frozenset)):
        return f"[{','.join(map(str, value))}]"
    return str(value)


def _short(text: str) -> str:
    """A value for a message."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _number(probe: Probe, key: str, text: str) -> int:
    least = int(key in _AT_LEAST_ONE)
    if not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS or int(text) < least:
        raise UsageError(f"probe {probe.name}: {key}={_short(text)} is not a number of at least {least}")
    return int(text)


def _numbers(probe: Probe, key: str, text: str) -> frozenset[int]:
    match = _LIST.fullmatch(text)
    numbers = [] if match is None or match.group(1) is None else match.group(1).split(",")
    if not numbers or any(len(number.strip()) > _MOST_DIGITS for number in numbers):
        raise UsageError(f"probe {probe.name}: {key}={_short(text)} is not a list of numbers, such as [0,1]")
    return frozenset(map(int, numbers))
