"""``diff.json``: a ``Diff`` as a JSON document, and back (docs/design.md §7).

``report_templates/diff.schema.json`` describes the document member by member and holds its history of versions. A
document never holds NaN or Infinity: values that were not measured are null. Unknown members are ignored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from rlcompare import untrusted
from rlcompare.errors import InputError
from rlcompare.model.diff import (
    SCHEMA,
    Aggregate,
    Cause,
    Comparability,
    Delta,
    Diff,
    Finding,
    Rest,
    Row,
    RunEvent,
    Section,
    Series,
    Side,
    Symptom,
    Unexplained,
)
from rlcompare.model.pictures import Pictures
from rlcompare.model.timeline import Timeline

Document = dict[str, Any]

_SECTION_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_EXPANDED_DEPTH = 3
_LONGEST_UNIT = 20
_REMEDY = "Recreate it with rlcompare diff"

_OF_AGGREGATE = tuple(column.name for column in fields(Aggregate))


class DocumentError(ValueError):
    """A document is not a diff, or is damaged.

    Attributes:
        problem: the problem, in one sentence without a full stop.
        remedy: what to do, also without a full stop. Both are passed on to ``errors.InputError``.
    """

    def __init__(self, problem: str, remedy: str = _REMEDY) -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}. {remedy}.")


def to_document(diff: Diff) -> Document:
    """The document of a diff; ``json.dumps(…, allow_nan=False)`` accepts it."""
    return {
        "schema": SCHEMA,
        "headline": diff.headline,
        "baseline": _side(diff.baseline),
        "new": _side(diff.new),
        "comparability": {
            "status": diff.comparability.status,
            "findings": [_finding(finding) for finding in diff.comparability.findings],
        },
        "quality": [_finding(finding) for finding in diff.quality],
        "overall": [_delta(delta) for delta in diff.overall],
        "causes": [
            {
                "what": cause.what,
                "share": cause.share,
                "delta_ms": cause.delta_ms,
                "text": cause.text,
                "section": cause.section,
                "row": cause.row,
                "member": cause.member,
                "rows": [_row(row) for row in cause.rows],
                "facts": [_row(row) for row in cause.facts],
            }
            for cause in diff.causes
        ],
        "symptoms": [asdict(symptom) for symptom in diff.symptoms],
        "unexplained": None
        if diff.unexplained is None
        else {"share": diff.unexplained.share, "delta_ms": diff.unexplained.delta_ms},
        "events": [_event(event) for event in diff.events],
        "aggregates": [{name: getattr(aggregate, name) for name in _OF_AGGREGATE} for aggregate in diff.aggregates],
        "series": [
            {**vars(series), **{name: list(getattr(series, name)) for name in ("steps", "values", "left_out")}}
            for series in diff.series
        ],
        "pictures": {
            "phases": list(diff.pictures.phases),
            "ranks": [
                {**vars(times), "ranks": list(times.ranks), "values": [list(values) for values in times.values]}
                for times in diff.pictures.ranks
            ],
            "path": [dict(vars(piece)) for piece in diff.pictures.path],
            "collectives": [dict(vars(sized)) for sized in diff.pictures.collectives],
            "levels": [
                {**vars(level), "at_ms": list(level.at_ms), "values": list(level.values)}
                for level in diff.pictures.levels
            ],
        },
        "timeline": None if diff.timeline is None else _with_lists(asdict(diff.timeline)),
        "sections": {name: [_row(row) for row in section.rows] for name, section in diff.sections.items()},
        "section_info": {
            name: {
                "unit": section.unit,
                "keys": list(section.keys),
                "matched_share": _finite(section.matched_share),
                "note": section.note,
                "rows": section.total,
                "rest": [asdict(rest) for rest in section.rest],
                "file": section.file or None,
            }
            for name, section in diff.sections.items()
        },
    }


def from_document(document: object) -> Diff:
    """Reads a diff from a document.

    Raises:
        DocumentError: (a ``ValueError``) not a diff, an unsupported version, or damaged; the message says where.
    """
    from rlcompare.validation import MisfitError, dotted, fit, not_finite

    schema = document.get("schema") if isinstance(document, Mapping) else None
    if not isinstance(schema, str) or not schema.startswith("rlcompare.diff/"):
        raise DocumentError("it is not a diff of rlcompare (no member schema = rlcompare.diff/…)")
    if schema != SCHEMA:
        raise DocumentError(f"its schema is {schema}, but this rlcompare reads {SCHEMA}")
    try:
        if place := not_finite(document):
            raise DocumentError(f"its member {dotted(place)} should be a finite number")
        found = fit(document, _Document)
    except RecursionError as error:
        raise DocumentError("it is nested too deeply") from error
    except MisfitError as error:
        raise DocumentError(f"its member {dotted(error.path)} {error.problem}") from error
    _check_units(found)
    return Diff(
        baseline=found.baseline,
        new=found.new,
        comparability=found.comparability,
        headline=found.headline,
        overall=found.overall,
        causes=found.causes,
        unexplained=found.unexplained,
        symptoms=found.symptoms,
        pictures=found.pictures,
        timeline=found.timeline,
        quality=found.quality,
        sections={name: _section(name, rows, found.section_info) for name, rows in found.sections.items()},
        events=found.events,
        aggregates=found.aggregates,
        series=found.series,
    )


def read_document(path: Path, remedy: str) -> Diff:
    """Reads a diff.json.

    Args:
        remedy: what to pass instead, for the error.

    Raises:
        InputError: the file cannot be read, or holds no diff.
    """
    try:
        return from_document(untrusted.parse_json(untrusted.read(path, untrusted.MOST_DOCUMENT_BYTES)))
    except untrusted.RefusedError as error:
        raise InputError(path, error.problem, remedy) from error
    except DocumentError as error:
        raise InputError(path, error.problem, error.remedy) from error


@dataclass(frozen=True)
class _SectionInfo:
    unit: str
    keys: tuple[str, ...]
    matched_share: float | None
    note: str
    rest: tuple[Rest, ...] = ()


@dataclass(frozen=True)
class _Document:
    """The members of a document, as ``fit`` reads them."""

    headline: str
    baseline: Side
    new: Side
    comparability: Comparability
    quality: tuple[Finding, ...]
    overall: tuple[Delta, ...]
    causes: tuple[Cause, ...]
    sections: dict[str, tuple[Row, ...]]
    section_info: dict[str, _SectionInfo]
    unexplained: Unexplained | None = None
    events: tuple[RunEvent, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    series: tuple[Series, ...] = ()
    symptoms: tuple[Symptom, ...] = ()
    pictures: Pictures = field(default_factory=Pictures)
    timeline: Timeline | None = None


def _check_units(found: _Document) -> None:
    """Units are shown as they are, so none of them may hold more than a few visible characters."""
    units = [(f"overall[{place}]", delta.unit) for place, delta in enumerate(found.overall)]
    units += [(f"events[{place}]", event.unit) for place, event in enumerate(found.events)]
    units += [(f"section_info.{name[:80]}", info.unit) for name, info in found.section_info.items()]
    for place, unit in units:
        if len(unit) > _LONGEST_UNIT or not unit.isprintable():
            raise DocumentError(f"its member {place}.unit should be a unit, such as ms")


def _section(name: str, rows: tuple[Row, ...], info: Mapping[str, _SectionInfo]) -> Section:
    # The name becomes a file name and an anchor, and the document is untrusted.
    if not _SECTION_NAME.fullmatch(name):
        raise DocumentError("a section name has characters other than lower-case letters, digits and _")
    if name not in info:
        raise DocumentError(f"its member section_info.{name} is missing")
    found = info[name]
    if any("name" not in row for row in rows):
        raise DocumentError(f"its member sections.{name} has a row without a name")
    if any(rest.rows < 1 for rest in found.rest):
        raise DocumentError(f"its member section_info.{name}.rest counts no rows")
    return Section(name, found.unit, found.keys, found.matched_share, found.note, rows, found.rest)


def to_json(document: Document) -> str:
    """The text of a document: ASCII, one row of a section per line, so that it can be searched and compared by line."""
    return "".join(json_parts(document))


def json_parts(document: Document) -> Iterator[str]:
    """The text of ``to_json`` in parts, so that a long one need not be in memory as a whole."""
    yield from _expand(document, 0)
    yield "\n"


def _expand(value: object, depth: int) -> Iterator[str]:
    pad, end = " " * (depth + 1), " " * depth
    if depth < _EXPANDED_DEPTH and isinstance(value, Mapping) and value:
        between = "{\n"
        for key, item in value.items():
            yield f"{between}{pad}{json.dumps(key)}: "
            yield from _expand(item, depth + 1)
            between = ",\n"
        yield f"\n{end}}}"
    elif depth < _EXPANDED_DEPTH and isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        between = "[\n"
        for item in value:
            yield f"{between}{pad}{json.dumps(item, allow_nan=False)}"
            between = ",\n"
        yield f"\n{end}]"
    else:
        yield json.dumps(value, allow_nan=False)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _with_lists(value: Any) -> Any:
    """A value as JSON gives it back: lists instead of tuples."""
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    return [_with_lists(item) for item in value] if isinstance(value, list | tuple) else value


def _row(row: Row) -> Document:
    return {key: _finite(value) for key, value in row.items()}


def _side(side: Side) -> Document:
    return {
        "label": side.label,
        "runs": [
            {
                "name": run.name,
                "path": run.path,
                "captures": run.captures,
                "ranks": run.ranks,
                "replicas": run.replicas,
                "steps": run.steps,
                "started": run.started,
                "left_out": run.left_out,
            }
            for run in side.runs
        ],
        "captures": [_row(capture) for capture in side.captures],
        "steps": list(side.steps),
        "env": dict(side.env),
    }


def _finding(finding: Finding) -> Document:
    return {
        "key": finding.key,
        "baseline": finding.baseline,
        "new": finding.new,
        "severity": finding.severity,
        "message": finding.message,
    }


def _event(event: RunEvent) -> Document:
    return {
        "what": event.what,
        "metric": event.metric,
        "unit": event.unit,
        "side": event.side,
        "run": event.run,
        "step": event.step,
        "last": event.last,
        "steps": event.steps,
        "before": event.before,
        "after": event.after,
        "delta": event.delta,
        "period": event.period,
        "elsewhere": event.elsewhere,
        "facts": [{"name": fact.name, "before": fact.before, "after": fact.after} for fact in event.facts],
        "text": event.text,
    }


def _delta(delta: Delta) -> Document:
    return {
        "metric": delta.metric,
        "unit": delta.unit,
        "polarity": delta.polarity,
        "baseline": _finite(delta.baseline),
        "new": _finite(delta.new),
        "delta": _finite(delta.delta),
        "ratio": _finite(delta.ratio),
        "samples": {side: [_finite(value) for value in values] for side, values in delta.samples.items()},
        "evidence": _row(delta.evidence),
    }
