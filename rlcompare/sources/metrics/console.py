"""Reads metrics from the output of a verl job: lines ``step:{N} - key:value - key:value …`` among all other lines.

Such a line may follow Ray's prefix (``(TaskRunner pid=4035) ``, coloured or not), a timestamp, or a progress bar that
a carriage return would overwrite. Values are in pprint's format: ``0.38``, ``1e-06``, ``np.float64(0.23)``, ``nan``.
Keys may contain ``@ / -``. The configuration that verl prints at its start is read too. Lines that were broken
when they were copied are put together (``wrapped``), and several jobs in one log are separated (``jobs_in_log``).
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.sources.metrics import clock
from rlcompare.sources.metrics.jobs_in_log import keep_job
from rlcompare.sources.metrics.printed_config import ANSI, read_config
from rlcompare.sources.metrics.values import LINE_BYTES, MOST_LOG_BYTES, Metrics, check_size
from rlcompare.sources.metrics.wrapped import joined, width_of

SCAN_BYTES = 256 * 2**20
"""A text is not a job log if its first bytes, up to this number, have no metrics."""

_SHORTER = "Keep the lines that have metrics: grep -a 'step:' LOG > metrics.log"

_STEP = re.compile(rb"step:(\d{1,18}) - ([^\r\n]{0,%d})" % LINE_BYTES)
_BEGIN = re.compile(rb"step:\d{1,18} - (?=[\w@.-]+/[\w@./-]+(?:[:\r\n]|\Z))")  # with a metric behind, be it cut
_REST = re.compile(rb"[^\r\n]*")
_AGAIN = re.compile(rb"step:\d{1,18} - (?=([\w@.-]+/[\w@./-]+):)")
_IN_A_VALUE = re.compile(rb"(?::[^\s:/]*|[^\w./@-])\Z")
_NAME = re.compile(rb"[\w@./-]+")
_BEFORE_BYTES = 24
_PREFIX_BYTES = 400
_PROCESS = re.compile(r"\(([\w.: -]*pid=\d+(?:, ip=[\w.:]+)?)\)")
_REPEATED = re.compile(r"(?<!\s)\s*\[repeated \d+x across .*$")  # Ray's, on lines that several processes printed
_FLOAT = r"[-+]?(?:nan|inf(?:inity)?|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)"
_VALUE = rf"(?:np|numpy)\.\w+\([^()]*\)|{_FLOAT}|True|False"
_BAR = r"(?:[A-Z][a-z]+ )*[A-Z][a-z]+:\s"  # Training Progress:  10%|█…, which a terminal would show in its own line
_ITEM = re.compile(rf"(.*?):({_VALUE})(?=\Z|{_BAR}|(?![\w.+:/%-]|,\d))(.*)", re.DOTALL)
_LOST = re.compile(r"[\w@.-]{1,200}/[\w@./-]{1,200}:")
"""A metric behind another one's value, with nothing between them."""
_THREE_DECIMALS = re.compile(r"-?\d+\.\d{3}|-?nan|-?inf")
_LEAST_ROUNDED = 5


def has_metrics(path: Path) -> bool:
    """Whether a text has a line of metrics in its first ``SCAN_BYTES``.

    Raises:
        OSError: it cannot be opened or read.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return next(_matches(text, SCAN_BYTES), None) is not None


def read(path: Path, part: str = "") -> Metrics:
    """Reads the log of a job.

    Args:
        part: the number of the job in it, if it holds several; empty: the last one.

    Raises:
        InputError: it cannot be opened, or has no readable line of metrics, or no such job.
    """
    metrics = Metrics()
    written: list[str] = []
    places: dict[int, int] = {}
    try:
        check_size(path, MOST_LOG_BYTES, _SHORTER)
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            ends = ((_begin(text, match.start()), match.end()) for match in _matches(text, len(text)))
            width = width_of(text, ends, _items)
            line, place, end = 1, 0, 0
            for match in _matches(text, len(text)):
                if match.start() < end:  # global_step, broken in two
                    continue
                line += _count(text, b"\n", place, match.start())
                places[line] = place = match.start()
                end = _add_line(metrics, line, match, width, written)
            if metrics.steps:
                keep_job(metrics, path, part)
            metrics.config = _config(text, metrics, places, width)
            metrics.odd["nul"] = _count(text, b"\0", 0, len(text))
    except (OSError, ValueError) as error:  # ValueError: an empty file has nothing to map
        problem = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(path, problem, "Check that it still exists and is readable") from error
    if not metrics.steps:
        remedy = "Pass the log of a job whose trainer.logger includes console"
        raise InputError(path, "it contains no metrics: no readable line such as step:1 - timing_s/step:1.5", remedy)
    numbers = sum(value[-1:].isdigit() for value in written)
    metrics.rounded = numbers >= _LEAST_ROUNDED and all(map(_THREE_DECIMALS.fullmatch, written))
    return metrics


def _matches(text: mmap.mmap, limit: int) -> Iterator[re.Match[bytes]]:
    """The lines of metrics, starting at ``step:``."""
    place, limit = 0, min(limit, len(text))
    while begin := _BEGIN.search(text, place, limit):
        before = ANSI.sub("", text[max(0, begin.start() - _BEFORE_BYTES) : begin.start()].decode("latin-1"))
        inside_a_word = re.search(r"[\w./-]\Z", before) is not None  # global_step:3
        place = begin.end()
        if not inside_a_word and (match := _STEP.match(text, begin.start(), limit)):
            yield match
            rest = _REST.match(text, match.end())
            place = rest.end() if rest else match.end()


def _count(text: mmap.mmap, byte: bytes, start: int, end: int) -> int:
    """Counts a byte in a part of a text, in blocks no longer than a line may be."""
    parts = range(start, end, LINE_BYTES)
    return sum(text[place : min(place + LINE_BYTES, end)].count(byte) for place in parts)


def _parts(match: re.Match[bytes]) -> list[re.Match[bytes]]:
    """The steps in a line. Several if a killed job's last line has no end and the next job's follows."""
    text = match.group()
    name = _NAME.match(match.group(2))
    first = name.group() if name else b""
    # A metric's name may itself end in "step". It is a new step if the cut is in a value, or if it begins the same way.
    places = [0] + [
        again.start()
        for again in _AGAIN.finditer(text, len(b"step:"))
        if again.group(1) == first or _IN_A_VALUE.search(text[max(0, again.start() - _BEFORE_BYTES) : again.start()])
    ]
    ends = [*places[1:], len(text)]
    found = (_STEP.match(text, place, end) for place, end in zip(places, ends, strict=True))
    return [part for part in found if part]


def _begin(text: mmap.mmap, place: int) -> int:
    """Where the line that a terminal shows begins: behind a line end, or a carriage return after a progress bar."""
    start = max(0, place - _PREFIX_BYTES)
    return max(text.rfind(b"\n", start, place), text.rfind(b"\r", start, place), start - 1) + 1


def _config(text: mmap.mmap, metrics: Metrics, places: Mapping[int, int], width: int | None) -> Mapping[str, object]:
    """The configuration of the job that is read: of several jobs in a log, the one printed before its metrics."""
    if not metrics.jobs:
        return read_config(text, 0, len(text), "", width)
    job = metrics.jobs[metrics.job - 1]
    end, owner = places[job.first_line], metrics.owners.get(job.first_line, "")
    ended = [other.last_line for other in metrics.jobs if other.last_line < job.first_line]
    return read_config(text, places[max(ended)] if ended else 0, end, owner, width)


def _add_line(metrics: Metrics, line: int, match: re.Match[bytes], width: int | None, written: list[str]) -> int:
    """Adds the steps of a line, with the lines that continue it. Returns where these end."""
    if len(match.group(2)) == LINE_BYTES:
        metrics.unreadable.append(line)
        return match.end()
    text: mmap.mmap = match.string  # type: ignore[assignment]
    begin = _begin(text, match.start())
    before = ANSI.sub("", text[begin : match.start()].decode("utf-8", "replace")).lstrip()
    *first, last = _parts(match)
    for part in first:
        _add(metrics, line, int(part.group(1)), _shown(part), "another", written)
    whole = joined(text, begin, _shown(last), match.end(), width, _items)
    metrics.odd["wrapped"] += whole.lost
    end = "end" if whole.end == len(text) else "lost" if whole.lost else ""
    _add(metrics, line, int(last.group(1)), whole.text, end, written)
    if process := _PROCESS.search(before):
        metrics.owners[line] = process.group(1)
    if logged := clock.at_start(before):
        metrics.times[line], metrics.local_times = logged[0], not logged[1]
    return whole.end


def _shown(match: re.Match[bytes]) -> str:
    return ANSI.sub("", match.group(2).decode("utf-8", "replace"))


def _add(metrics: Metrics, line: int, step: int, text: str, cut_by: str, written: list[str]) -> None:
    """Adds the metrics of a step.

    Args:
        cut_by: why the text may be incomplete: ``another`` step follows, the log has its ``end`` there, or lines that
            continue it are ``lost``; empty: it is complete.
    """
    items, left = _items(_REPEATED.sub("", text))
    if cut_by == "another":
        metrics.odd["cut"] += 1
        metrics.first_cut = line if metrics.first_cut is None else metrics.first_cut
        items = items if left else items[:-1]  # the last value may lack digits
    elif cut_by == "lost":
        items = items if left else items[:-1]
    elif cut_by == "end" and (left or _lacks_names(metrics, {name for name, _ in items})):
        items = items if left else items[:-1]
        metrics.cut, metrics.cut_in_part = line, bool(items)
    elif cut_by == "end" and metrics.lines:
        metrics.odd["open"] += 1
        items = items[:-1]
    elif left and not items:
        metrics.unreadable.append(line)
    elif left:
        metrics.odd["text"] += left
        metrics.first_text = line if metrics.first_text is None else metrics.first_text
    for name, value in items:
        written.append(value)
        metrics.add(line, step, name, value)


def _lacks_names(metrics: Metrics, names: set[str]) -> bool:
    """Whether a line has fewer metrics than the previous one, all of which the previous one has too."""
    if not metrics.lines:
        return False
    last = metrics.lines[-1]
    before = {
        metrics.names[metric] for metric, line in zip(metrics.metrics, metrics.lines, strict=True) if line == last
    }
    return names < before


def _items(text: str) -> tuple[list[tuple[str, str]], int]:
    """The names and values of a line, as written, and the number of parts whose value is not a number."""
    items: list[tuple[str, str]] = []
    left = 0
    name = ""
    for part in text.split(" - "):
        match = _ITEM.fullmatch(part)
        if "\0" in part:  # digits may be missing here
            left += 1
            name = ""
        elif match:
            items.append((name + match.group(1), match.group(2)))
            left += len(_LOST.findall(match.group(3)))
            name = ""
        elif ":" in part:
            left += 1
            name = ""
        else:  # the name itself contains " - "
            name += f"{part} - "
    return items, left + bool(name)
