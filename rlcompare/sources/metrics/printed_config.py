"""The configuration that verl prints when a job starts: a dictionary in pprint's format, over hundreds of lines.

It has the job's settings, including which steps are profiled. It is parsed as a Python literal, never evaluated.
"""

from __future__ import annotations

import ast
import mmap
import re
import threading
import warnings
from collections.abc import Mapping

from rlcompare.sources.metrics.values import whole_step

_START = b"{'actor_rollout_ref': {"
_MOST_BYTES = 2 * 2**20
_PREFIX_BYTES = 400
_MOST_DEPTH = 40
_TOTAL_STEPS = re.compile(rb"Total training steps: (\d{1,18})\b")
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
"""Escape sequences for colours and cursor movement."""
_PREFIX = re.compile(r"^\s*(\([\w.:-]+ pid=\d+[^)]*\))\s?")
_ANOTHER = re.compile(r"(?<!\s)\s*\([\w.: -]*pid=\d+[^)]*\)\s*$")
"""The prefix of another process that wrote into the line."""
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?")  # to the end of the line if it is not closed

_PARSING = threading.Lock()
"""Two logs are read at once, but Python's filters of warnings are those of all threads, and the parser of 3.11 may fail
with "AST constructor recursion depth mismatch" if another thread parses."""


def read_config(
    text: mmap.mmap, begin: int = 0, end: int | None = None, owner: str = "", width: int | None = None
) -> Mapping[str, object]:
    """The last readable configuration in a part of the log of a job, or empty.

    Args:
        begin, end: the part of the log in which it begins.
        owner: the process that printed it (``TaskRunner pid=4035``); empty: any.
        width: the width at which a terminal broke the lines; None: it did not.
    """
    end = len(text) if end is None else end
    while (start := text.rfind(_START, begin, end)) >= 0:
        line = max(text.rfind(b"\n", max(0, start - _PREFIX_BYTES), start), start - _PREFIX_BYTES, -1) + 1
        if owner and owner not in _plain(text[line:start]):
            end = start
            continue
        lines = _unwrapped(_plain(text[line : start + _MOST_BYTES]).splitlines(), width)
        if not owner or owner in _prefix(lines[0]):
            return _with_total_steps(_parsed(_literal(lines)), text, start, end)
        end = start
    return {}


def _plain(printed: bytes) -> str:
    return ANSI.sub("", printed.decode("utf-8", "replace").replace("\0", ""))


def _with_total_steps(config: Mapping[str, object], text: mmap.mmap, begin: int, end: int) -> Mapping[str, object]:
    """The configuration with the number of steps that the trainer prints, if it follows from the number of epochs."""
    trainer = config.get("trainer")
    printed = _TOTAL_STEPS.search(text, begin, end)
    if not isinstance(trainer, dict) or trainer.get("total_training_steps") is not None or printed is None:
        return config
    return {**config, "trainer": {**trainer, "total_training_steps": int(printed[1])}}


def _unwrapped(lines: list[str], width: int | None) -> list[str]:
    """Lines with those that a terminal broke put together."""
    if width is None:
        return lines
    made = [""]
    before = 0
    for line in lines:
        made[-1:] = [made[-1] + line] if before == width else [made[-1], line]
        before = len(line)
    return made[1:]


def _parsed(literal: str) -> Mapping[str, object]:
    try:
        with _PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # caused by the log's content, e.g. a stray backslash
            value = ast.literal_eval(literal) if literal else {}
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _literal(lines: list[str]) -> str:
    """The text of the dictionary that starts in the first line, without prefixes and lines of other processes."""
    owner = _prefix(lines[0])
    found: list[str] = []
    depth = 0
    for line in lines:
        if _prefix(line) != owner:
            continue
        part = _ANOTHER.sub("", _PREFIX.sub("", line))
        part = part if found else part[part.index("{") :]
        found.append(part)
        bare = _QUOTED.sub("", part)
        depth += sum(map(bare.count, "([{")) - sum(map(bare.count, ")]}"))
        if depth <= 0:
            return "\n".join(found)
        if depth > _MOST_DEPTH:
            break
    return ""


def _prefix(line: str) -> str:
    match = _PREFIX.match(line)
    return match.group(1) if match else ""


def profiled_steps(config: Mapping[str, object]) -> list[int] | None:
    """The steps that a configuration profiles; None if it does not say.

    Args:
        config: verl's, as a tree: ``global_profiler.steps`` from 0.6 on, ``trainer.profile_steps`` before.
    """
    profiler, trainer = config.get("global_profiler"), config.get("trainer")
    if isinstance(profiler, dict) and "steps" in profiler:
        steps = profiler["steps"] if profiler.get("tool", "") is not None else None
    elif isinstance(trainer, dict) and "profile_steps" in trainer:
        steps = trainer["profile_steps"]
    else:
        return None
    if not isinstance(steps, (list, tuple)) or not _any_role_enabled(config):
        return []
    return [step for step in steps if isinstance(step, int) and whole_step(step) is not None]


def _any_role_enabled(config: Mapping[str, object]) -> bool:
    """Whether a role has its profiler enabled, or the version (0.5) has no such switch."""
    roles = [config.get("critic"), config.get("reward_model"), config.get("reward"), config.get("actor_rollout_ref")]
    shared = roles[-1]
    roles += [shared.get(name) for name in ("actor", "rollout", "ref")] if isinstance(shared, dict) else []
    profilers = [role.get("profiler") for role in roles if isinstance(role, dict)]
    enabled = [found.get("enable") for found in profilers if isinstance(found, dict) and "enable" in found]
    return not enabled or any(value is True for value in enabled)
