"""Reads the console logs of other trainers than verl. Names are kept as their loggers write them.

* slime: ``perf 3: {'perf/train_time': 12.5, …}``, ``rollout 3: {…}``, ``eval 3: {…}``, and for each update ``step 7:
  {'train/loss': …}``. Updates count for the rollout whose training time follows them; several of one are averaged.
* ROLL: ``metrics_tag: {"step": 3, "metrics": {…}}``
* OpenRLHF: ``Global step 3: {'policy_loss': 0.5, …}``
* MindSpeed-RL: ``iteration: 3 / 200 | timing/all : 61.0123 | …``
* NeMo-RL: a block per step below ``===== Step 3/200 =====``, with ``• Total step time: 61.01s`` and further timers.
"""

from __future__ import annotations

import heapq
import mmap
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.sources.metrics import clock
from rlcompare.sources.metrics.file_logger import json_value
from rlcompare.sources.metrics.jobs_in_log import keep_job
from rlcompare.sources.metrics.printed_config import ANSI
from rlcompare.sources.metrics.values import LINE_BYTES, MOST_LOG_BYTES, Metrics, check_size, number, whole_step

SCAN_BYTES = 64 * 2**20

_OF_SLIME = ("perf", "rollout", "eval", "step")
_BEGIN_OF_SLIME = r"{word} (?<![\w./-]{word} )(?<!Global {word} )(\d{{1,18}}): (?=\{{'[\w.-]+/)"
_BEGINS = {
    **{word: _BEGIN_OF_SLIME.format(word=word).encode() for word in _OF_SLIME},
    "openrlhf": rb"Global step (\d{1,18})(?: \[[\w-]+\])?: (?=\{')",
    "roll": rb'metrics_tag: ()(?=\{"step": ?\d)',
    "mindspeed": rb"iteration: (?<![\w./-]iteration: )(\d{1,18}) / \d+ \| (?=[\w./@-]+ : -?[\dn])",
    "nemo": rb"===== Step (\d{1,18})/\d+ ={5,}",
}
"""How lines of metrics begin, with their steps. Each begins with a fixed text, which Python finds a hundred times as
quickly as one of several."""
_BULLET = re.compile(
    "^(?:.*\\) )?[ \t]*• ([\\w /-]{1,100}): (-?\\d+(?:\\.\\d+)?)(s?)(?: \\([\\d.]+%\\))?[ \\t]*\\r?\\n".encode(),
    re.MULTILINE,
)
_TOTAL = b"Total step time: "
_REST = re.compile(rb"[^\r\n]{0,%d}" % LINE_BYTES)
_KEY = re.compile(r"'((?:[^'\\]|\\.){1,300})': ")
_FLOAT = r"-?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|nan|inf)"
_VALUE = re.compile(rf"((?:np|numpy)\.\w+\([^()]*\)|{_FLOAT}|True|False|None)(?=[,}}])")
_PAIR = re.compile(r"([^|]{1,200}?) : (\S{1,100})(?=\s)")
_PREFIX_BYTES = 400
_PROCESS = re.compile(r"\(([\w.: -]*pid=\d+(?:, ip=[\w.:]+)?)\)\s*")
_RESULTS = {
    "Loss": "train/loss",
    "Avg Reward": "train/reward",
    "Mean Generation Length": "train/mean_gen_tokens_per_sample",
}
_TOTAL_NAME = "total_step_time"
_TRAINED = frozenset({"perf/train_time", "perf/actor_train_time"})
_BLOCK_BYTES = 2**20


@dataclass(frozen=True)
class _Found:
    """The metrics in one line or block: the step, names and values as written, and the number of unreadable parts."""

    place: int
    step: int | None
    values: dict[str, object]
    left: int = 0
    is_update: bool = False


def has_metrics(path: Path) -> bool:
    """Whether a text has such lines in its first ``SCAN_BYTES``.

    Raises:
        OSError: it cannot be opened or read.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        first = next(_begins(text, SCAN_BYTES), None)
        return first is not None and (first[0] != "nemo" or text.find(_TOTAL, first[1].end(), SCAN_BYTES) >= 0)


def read(path: Path, part: str = "") -> Metrics:
    """Reads a log.

    Args:
        part: the number of the job in it, if it holds several; empty: the last one.

    Raises:
        InputError: it cannot be opened, or has no readable metrics, or no such job.
    """
    metrics = Metrics()
    try:
        check_size(path, MOST_LOG_BYTES, "Keep the lines of steps alone")
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            _fill(metrics, text)
            metrics.odd["nul"] = text[:].count(b"\0") if len(text) <= SCAN_BYTES else 0
    except (OSError, ValueError) as error:  # ValueError: an empty file has nothing to map
        problem = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(path, problem, "Check that it still exists and is readable") from error
    if not metrics.steps:
        raise InputError(path, "it contains no metrics: none of its steps can be read", "Pass the whole log of a job")
    metrics.odd.pop("quoted", None)
    keep_job(metrics, path, part)
    return metrics


def _fill(metrics: Metrics, text: mmap.mmap) -> None:
    updates: list[tuple[int, _Found]] = []
    timed = False
    line, place = 1, 0
    for found in _found(text):
        line += text[place : found.place].count(b"\n")
        place = found.place
        if found.step is None:
            metrics.unreadable.append(line)
            continue
        if found.left:
            metrics.odd["text"] += found.left
            metrics.first_text = metrics.first_text or line
        _note_line(metrics, text, line, place)
        if found.is_update:
            updates.append((line, found))
            continue
        if _TRAINED & found.values.keys():
            _add_updates(metrics, updates, found.step)
            updates, timed = [], True
        metrics.add_step(line, found.step, found.values)
    if not timed:  # nothing tells their rollouts
        for line, found in updates:
            _add_updates(metrics, [(line, found)], found.step)


def _add_updates(metrics: Metrics, updates: Sequence[tuple[int, _Found]], step: int | None) -> None:
    """Adds the means over the updates of one rollout."""
    values: dict[str, list[float]] = defaultdict(list)
    for _, found in updates:
        for name, given in found.values.items():
            kind, value = number(given)
            if kind != "text" and value is not None:
                values[name].append(value)
    for name, numbers in values.items():
        metrics.add(updates[0][0], step or 0, name, sum(numbers) / len(numbers))


def _note_line(metrics: Metrics, text: mmap.mmap, line: int, place: int) -> None:
    start = max(0, place - _PREFIX_BYTES)
    begin = max(text.rfind(b"\n", start, place), text.rfind(b"\r", start, place), start - 1) + 1
    before = ANSI.sub("", text[begin:place].decode("utf-8", "replace")).lstrip()
    if process := _PROCESS.search(before):
        metrics.owners[line] = process.group(1)
        before = before[: process.start()] + before[process.end() :]
    if logged := clock.at_start(before):
        metrics.times[line], metrics.local_times = logged[0], not logged[1]


def _begins(text: mmap.mmap, end: int) -> Iterator[tuple[str, re.Match[bytes]]]:
    """The beginnings of lines of metrics before a position, in order, each with its key in ``_BEGINS``."""

    def of(kind: str) -> Iterator[tuple[str, re.Match[bytes]]]:
        return ((kind, match) for match in re.compile(_BEGINS[kind]).finditer(text, 0, min(len(text), end)))

    return heapq.merge(*map(of, _BEGINS), key=lambda begin: begin[1].start())


def _found(text: mmap.mmap) -> Iterator[_Found]:
    begins = list(_begins(text, len(text)))
    for place, (kind, match) in enumerate(begins):
        rest = _REST.match(text, match.end())
        behind = ANSI.sub("", rest.group().decode("utf-8", "replace")) if rest else ""
        if kind in (*_OF_SLIME, "openrlhf"):
            values, left = _of_dict(behind)
            yield _Found(match.start(), int(match[1]), values, left, is_update=kind == "step")
        elif kind == "mindspeed":
            pairs = {pair.group(1).strip(): pair.group(2) for pair in _PAIR.finditer(behind)}
            yield _Found(match.start(), int(match[1]), dict(pairs))
        elif kind == "nemo":
            end = begins[place + 1][1].start() if place + 1 < len(begins) else len(text)
            block = text[match.end() : min(end, match.end() + _BLOCK_BYTES)]
            if values := _of_block(block):
                yield _Found(match.start(), int(match[1]), values)
        else:
            yield _of_json(match.start(), behind)


def _of_dict(text: str) -> tuple[dict[str, object], int]:
    """The numbers of a dictionary as Python prints it, and the number of its other values. It is never evaluated."""
    values: dict[str, object] = {}
    left = 0
    for key in _KEY.finditer(text):
        value = _VALUE.match(text, key.end())
        if value is None:
            left += 1
        else:
            values[key.group(1)] = None if value.group(1) == "None" else value.group(1)
    return values, left


def _of_json(place: int, text: str) -> _Found:
    value = json_value(text[: text.rfind("}") + 1])
    metrics = value.get("metrics") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(metrics, dict):
        return _Found(place, None, {})
    return _Found(place, whole_step(value.get("step")), metrics)


def _of_block(block: bytes) -> dict[str, object]:
    """The timers and results that NeMo-RL prints in a step, under the names that its loggers write."""
    values: dict[str, object] = {}
    for match in _BULLET.finditer(block):
        name, value, unit = (part.decode("utf-8", "replace") for part in match.groups())
        if name == "Total step time":
            values[f"timing/train/{_TOTAL_NAME}"] = value
        elif unit and " " not in name:
            values[f"timing/train/{name}"] = value
        elif name in _RESULTS:
            values[_RESULTS[name]] = value
    return values if f"timing/train/{_TOTAL_NAME}" in values else {}
