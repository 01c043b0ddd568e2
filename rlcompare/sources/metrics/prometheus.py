"""Reads the Prometheus metrics of vLLM and SGLang: text from their ``/metrics``, or the JSON of a query.

* Text of one scrape, or of several one after the other (``while sleep 5; do date +%s; curl -s URL/metrics; done``). The
  time of a scrape is a line before it (seconds since the epoch, ISO 8601, ``date``), or stands behind the values.
* The answer of ``/api/v1/query_range`` or ``/api/v1/query``; several documents in one file too.

The answers of a Prometheus server name the engine of each series in its labels. Texts do not: texts that follow one
another in time are of one engine, others each of their own.

Only metrics of the engines are kept. ``prometheus_join`` places them at a job's steps.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from errno import EFBIG
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from rlcompare.errors import InputError
from rlcompare.sources.metrics import clock
from rlcompare.sources.metrics.values import MOST_VALUE
from rlcompare.untrusted import MOST_VALUES

JSON_LIMIT_BYTES = 512 * 2**20
COUNTER, GAUGE, SUM, COUNT = "counter", "gauge", "sum", "count"
_COUNTER_OR_GAUGE = "counter or gauge"
_FALLS = 0.1
"""At most this part of the changes of a counter are falls: where its engine was started again."""

_OWN = rb"(?:ray_)?(?:vllm|sglang)[:_]\w+"
_LABELS = rb'\{(?:[^"\n}]|"(?:[^"\\\n]|\\.)*")*\}'
_ENGINES = (b"vllm", b"sglang", b"ray_vllm", b"ray_sglang")
_TYPE = b"# TYPE "
_COMMENTS = (_TYPE, b"# HELP ", b"# UNIT ", b"# EOF")
_NOT_USED = (b"_bucket", b"_created", b"_info")
_LINE_BYTES = 2**20
_TIME_BYTES = 80
_IS_TEXT = re.compile(
    rb"^(?:# TYPE [\w:]+ (?:counter|gauge|histogram|summary|untyped|unknown|info)[ \t]*\r?$|"
    + _OWN + rb"(?:" + _LABELS + rb")? +[-+\d.])", re.MULTILINE
)  # fmt: skip
_IS_ANSWER = re.compile(rb'\A\s*\{[^\0]{0,400}?"resultType"\s*:\s*"(?:matrix|vector)"')
_NAME = re.compile(r"(?:ray_)?(vllm|sglang)[:_](\w+)")
_LABEL_WORDS = re.compile(r"[A-Za-z][A-Za-z ]*[:=]?\s+")
_COUNTERS = frozenset(
    {
        "num_preemptions", "prompt_tokens", "generation_tokens", "request_success", "prefix_cache_queries",
        "prefix_cache_hits", "spec_decode_num_drafts", "spec_decode_num_draft_tokens",
        "spec_decode_num_accepted_tokens",
    }
)  # fmt: skip
"""Counters of vLLM, some of whose releases, and Ray, write them without ``_total``."""


@dataclass
class Samples:
    """Samples of all series of one or more files, column by column.

    Attributes:
        series, times, values: for each sample the number of its series, its time in nanoseconds since the epoch (None:
            unknown), and its value; samples of a series are in the order in which they were taken.
        names, kinds: by series, the metric's name (``vllm:num_preemptions_total``) and its kind.
        unnamed: series of queries whose result has no name, such as ``rate(…)``.
        unreadable: lines or documents that cannot be read.
        local_times: whether a time has no zone; it is then read as UTC.
    """

    series: list[int] = field(default_factory=list)
    times: list[int | None] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    unnamed: int = 0
    unreadable: int = 0
    local_times: bool = False

    def keep(self, places: Sequence[int]) -> None:
        """Drops all samples but those at these places."""
        self.series = [self.series[place] for place in places]
        self.times = [self.times[place] for place in places]
        self.values = [self.values[place] for place in places]


def is_text(head: bytes) -> bool:
    """Whether a text begins as Prometheus's exposition format does."""
    return _IS_TEXT.search(head) is not None


def is_answer(head: bytes) -> bool:
    """Whether a text begins as the answer to a query does."""
    return _IS_ANSWER.match(head) is not None


def read(paths: Sequence[Path]) -> Samples:
    """Reads the files of one job.

    Raises:
        InputError: one cannot be opened, or none holds a metric of vLLM or SGLang.
    """
    found = _Found()
    for number, path in enumerate(paths, 1):
        try:
            with path.open("rb") as file:
                has_answers = is_answer(file.read(4096))
                file.seek(0)
                if has_answers:
                    _read_answers(file, found)
                else:
                    with found.of_text(number):
                        _read_text(file, found)
        except OSError as error:
            raise InputError(
                path, error.strerror or str(error), "Check that it still exists and is readable"
            ) from error
    samples = found.samples()
    if not samples.values:
        unnamed = "its series have no names, as those of rate(…)" if samples.unnamed else "it holds no vllm: or sglang:"
        remedy = "Save the /metrics of the rollout engine, or query the metric itself: query=vllm:num_preemptions_total"
        raise InputError(paths[0], f"it contains no metrics of vLLM or SGLang: {unnamed}", remedy)
    return samples


@dataclass
class _Found:
    """Samples while they are read, by name, labels, and the number of the text (0: answers).

    Attributes:
        text: the number of the text that is read; 0: an answer.
        texts: where the samples of each text are.
    """

    numbers: dict[tuple[bytes, bytes, int], int] = field(default_factory=dict)
    text: int = 0
    texts: list[slice] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    made: Samples = field(default_factory=Samples)

    @contextmanager
    def of_text(self, number: int) -> Iterator[None]:
        """What is added is of this text. A copy of another one is not kept."""
        begin, self.text = len(self.made.times), number
        yield
        self.text = 0
        added = slice(begin, len(self.made.times))
        if any(self._are_equal(added, other) for other in self.texts):
            self.made.keep(range(begin))
        elif added.stop > begin:
            self.texts.append(added)

    def _are_equal(self, a: slice, b: slice) -> bool:
        times, values = self.made.times, self.made.values
        return a.stop - a.start == b.stop - b.start and times[a] == times[b] and values[a] == values[b]

    def add(self, name: bytes, labels: bytes, time: int | None, given: object) -> None:
        try:
            value = float(given)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):  # the latter: an integer of 400 digits in JSON
            self.made.unreadable += 1
            return
        if abs(value) > MOST_VALUE:  # sums of such numbers overflow
            self.made.unreadable += 1
        elif not math.isnan(value):
            self.made.series.append(self.numbers.setdefault((name, labels, self.text), len(self.numbers)))
            self.made.times.append(time)
            self.made.values.append(value)

    def samples(self) -> Samples:
        """The samples of counters, gauges and means; buckets, infos and times of creation are left out."""
        if self._follow_one_another():
            self._join_texts()
        raw = [name.decode("utf-8", "replace") for name, _, _ in self.numbers]
        all_names = frozenset(raw)
        kinds = {name: _kind(name, self.types, all_names) for name in all_names}
        kinds |= self._told_by_values([name for name, kind in kinds.items() if kind == _COUNTER_OR_GAUGE])
        self.made.names = [_called(name, kinds[name]) for name in raw]
        self.made.kinds = [kinds[name] or "" for name in raw]
        self.made.keep([place for place, number in enumerate(self.made.series) if self.made.kinds[number]])
        return self.made

    def _told_by_values(self, names: Sequence[str]) -> dict[str, str]:
        """Whether these metrics are counters or gauges."""
        if not names:
            return {}
        name_of = {number: name.decode("utf-8", "replace") for (name, _, _), number in self.numbers.items()}
        taken: dict[str, dict[int, list[tuple[int, float]]]] = {name: {} for name in names}
        for number, time, value in zip(self.made.series, self.made.times, self.made.values, strict=True):
            if (series := taken.get(name_of[number])) is not None:
                series.setdefault(number, []).append((time or 0, value))
        return {name: COUNTER if _is_running_total(series.values()) else GAUGE for name, series in taken.items()}

    def _follow_one_another(self) -> bool:
        """Whether each text ends before the next one begins."""
        spans = []
        for text in self.texts:
            times = [time for time in self.made.times[text] if time is not None]
            if not times:
                return len(self.texts) == 1
            spans.append((min(times), max(times)))
        return all(last <= first for (_, last), (first, _) in pairwise(sorted(spans)))

    def _join_texts(self) -> None:
        """Gives the series of all texts that have one name and labels one number."""
        joined: dict[tuple[bytes, bytes, int], int] = {}
        new = [joined.setdefault((name, labels, min(text, 1)), len(joined)) for name, labels, text in self.numbers]
        self.numbers = joined
        self.made.series = [new[number] for number in self.made.series]


def _kind(name: str, types: Mapping[str, str], names: frozenset[str]) -> str | None:
    """The kind of a metric, from its type if the file has it, else from its name; None: it is not used.

    The count or the sum of a histogram that was queried alone is ``_COUNTER_OR_GAUGE``: a gauge may have such a name.
    """
    stem, _, ending = name.rpartition("_")
    if ending in ("bucket", "created", "info") or types.get(name) in ("info", "stateset"):
        return None
    if ending in (SUM, COUNT) and (types.get(stem) in ("histogram", "summary") or f"{stem}_bucket" in names or (
        name not in types and {f"{stem}_{SUM}", f"{stem}_{COUNT}"} <= names
    )):  # fmt: skip
        return ending
    kind = types.get(name) or types.get(stem if ending == "total" else name)
    if kind in (COUNTER, GAUGE):
        return kind
    if kind in ("histogram", "summary"):  # quantiles
        return None
    match = _NAME.fullmatch(name)
    if ending == "total" or (match is not None and match.group(2) in _COUNTERS):
        return COUNTER
    return _COUNTER_OR_GAUGE if ending in (SUM, COUNT) else GAUGE


def _is_running_total(series: Iterable[Sequence[tuple[int, float]]]) -> bool:
    """Whether times and values are those of a counter: at least 0, and falling only as at a new start of the engine."""
    rises = falls = 0
    for taken in series:
        values = [value for _, value in sorted(taken, key=lambda sample: sample[0])]
        if min(values) < 0:
            return False
        rises += sum(a < b for a, b in pairwise(values))
        falls += sum(a > b for a, b in pairwise(values))
    return falls <= _FALLS * (rises + falls)


def _called(name: str, kind: str | None) -> str:
    """The engine's own name: Ray writes ``ray_vllm_`` for ``vllm:``, and some counters lack ``_total``."""
    match = _NAME.fullmatch(name)
    if match is None:
        return name
    engine, rest = match.groups()
    rest = f"{rest}_total" if kind == COUNTER and rest in _COUNTERS else rest
    return f"{engine}:{rest.rpartition('_')[0] if kind in (SUM, COUNT) else rest}"


def _read_text(file: BinaryIO, found: _Found) -> None:
    time: int | None = None
    while line := file.readline(_LINE_BYTES):
        if line.startswith(_ENGINES):
            _read_sample(line, time, found)
        elif line.startswith(_TYPE):
            words = line.decode("utf-8", "replace").split()
            if len(words) == 4:
                found.types[words[2]] = words[3]
        elif 9 < len(line) < _TIME_BYTES and not line.startswith(_COMMENTS):
            logged = _time_in(line.decode("utf-8", "replace").lstrip("# \t"))
            if logged is not None:
                time = logged[0]
                found.made.local_times |= not logged[1]


def _read_sample(line: bytes, time: int | None, found: _Found) -> None:
    """Reads a line such as ``name{label="text"} 1.5 1700000000000 # {…} …``: the last parts may be absent."""
    brace = line.find(b"{")
    name = line.split(None, 1)[0] if brace < 0 else line[:brace]
    if name.endswith(_NOT_USED):
        return
    if b" # {" in line:  # an exemplar
        line = line[: line.rfind(b" # {")]
    behind = line.rfind(b"}") + 1 if brace >= 0 else len(name)
    labels, parts = line[len(name) : behind], line[behind:].split()
    if not behind or not 1 <= len(parts) <= 2:
        found.made.unreadable += 1
        return
    at = clock.of_epoch(parts[1].decode("utf-8", "replace")) if len(parts) == 2 else time
    found.add(name, labels, at, parts[0])


def _time_in(text: str) -> tuple[int, bool] | None:
    """The time that a line consists of, be it behind words such as ``scraped at``."""
    found = clock.alone(text)
    if found is None and (words := _LABEL_WORDS.match(text)):
        found = clock.alone(text[words.end() :])
    return found


def _read_answers(file: BinaryIO, found: _Found) -> None:
    text = file.read(JSON_LIMIT_BYTES + 1)
    if len(text) > JSON_LIMIT_BYTES:
        raise OSError(EFBIG, f"it is larger than {JSON_LIMIT_BYTES // 2**20} MiB: query fewer metrics or a larger step")
    if sum(map(text.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise OSError(EFBIG, f"it has more than {MOST_VALUES:,} values: query fewer metrics or a larger step")
    for document in _documents(text.decode("utf-8-sig", "replace"), found):
        data = document.get("data")
        result = data.get("result") if isinstance(data, dict) else None
        for series in result if isinstance(result, list) else ():
            _add_series(series, found)


def _documents(text: str, found: _Found) -> Iterator[dict[str, object]]:
    """The JSON objects in a text, one behind the other."""
    decoder = json.JSONDecoder()
    place = 0
    while (begin := text.find("{", place)) >= 0:
        try:
            document, place = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):  # cut, or no JSON
            found.made.unreadable += 1
            return
        if isinstance(document, dict):
            yield document


def _add_series(series: object, found: _Found) -> None:
    labels = series.get("metric") if isinstance(series, dict) else None
    if not isinstance(series, dict) or not isinstance(labels, dict):
        found.made.unreadable += 1
        return
    name = labels.get("__name__")
    if not isinstance(name, str):
        found.made.unnamed += 1
        return
    if _NAME.fullmatch(name) is None:
        return
    text = json.dumps(sorted((str(key), str(value)) for key, value in labels.items()))
    values = series.get("values")
    for pair in values if isinstance(values, list) else [series.get("value")]:
        time = clock.of_epoch(pair[0]) if isinstance(pair, list) and len(pair) == 2 else None
        if isinstance(pair, list) and time is not None:
            found.add(name.encode(), text.encode(), time, pair[1])
        else:
            found.made.unreadable += 1
