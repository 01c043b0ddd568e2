"""``diff.json``: a ``Diff`` as a JSON document, and back (docs/design.md §7).

``report_templates/diff.schema.json`` describes the document member by member and holds its history of versions. A
document never holds NaN or Infinity: what was not measured is null. Members that a reader does not know are ignored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from rlcompare.model.diff import SCHEMA, Cause, Comparability, Delta, Diff, Finding, Row, RunInfo, Section, Side, Value
from rlcompare.model.words import SIDES, Comparable, Polarity, Severity, Word

Document = dict[str, Any]
T = TypeVar("T")
W = TypeVar("W", bound=Word)

_SECTION_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_EXPANDED_DEPTH = 3
_REMEDY = "Make it again with rlcompare diff"


class DocumentError(ValueError):
    """A document is not a diff, or is damaged.

    Attributes:
        problem: what is wrong, in one sentence without a full stop.
        remedy: what to do, likewise; the two are those of ``errors.InputError``.
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
                "share": _finite(cause.share),
                "delta_ms": _finite(cause.delta_ms),
                "text": cause.text,
                "section": cause.section,
                "row": cause.row,
            }
            for cause in diff.causes
        ],
        "sections": {name: [_row(row) for row in section.rows] for name, section in diff.sections.items()},
        "section_info": {
            name: {
                "unit": section.unit,
                "keys": list(section.keys),
                "matched_share": _finite(section.matched_share),
                "note": section.note,
            }
            for name, section in diff.sections.items()
        },
    }


def from_document(document: object) -> Diff:
    """The diff of a document.

    Raises:
        DocumentError: (a ``ValueError``) it is something else, of another version, or damaged; the message says where.
    """
    root = _Reader(document, "")
    schema = root.value.get("schema") if isinstance(root.value, Mapping) else None
    if not isinstance(schema, str) or not schema.startswith("rlcompare.diff/"):
        raise DocumentError("it is not a diff of rlcompare (no member schema = rlcompare.diff/…)")
    if schema != SCHEMA:
        raise DocumentError(f"it follows {schema}, and this rlcompare reads {SCHEMA}")
    comparability = root["comparability"]
    return Diff(
        baseline=_read_side(root["baseline"]),
        new=_read_side(root["new"]),
        comparability=Comparability(
            comparability["status"].word(Comparable),
            comparability["findings"].each(_read_finding),
        ),
        headline=root["headline"].text(),
        overall=root["overall"].each(_read_delta),
        causes=root["causes"].each(_read_cause),
        quality=root["quality"].each(_read_finding),
        sections=_read_sections(root["sections"], root["section_info"]),
    )


def to_json(document: Document) -> str:
    """The text of a document: ASCII, one row of a section per line, so that it can be searched and compared by line."""
    return _expand(document, 0) + "\n"


def _expand(value: object, depth: int) -> str:
    pad, end = " " * (depth + 1), " " * depth
    if depth < _EXPANDED_DEPTH and isinstance(value, Mapping) and value:
        members = ",\n".join(f"{pad}{json.dumps(key)}: {_expand(item, depth + 1)}" for key, item in value.items())
        return f"{{\n{members}\n{end}}}"
    if depth < _EXPANDED_DEPTH and isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        items = ",\n".join(pad + json.dumps(item, allow_nan=False) for item in value)
        return f"[\n{items}\n{end}]"
    return json.dumps(value, allow_nan=False)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


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


class _Reader:
    """A place in a document: gives typed values, or an error that names the place."""

    def __init__(self, value: Any, where: str) -> None:
        self.value = value
        self.where = where

    def __getitem__(self, key: str) -> _Reader:
        if not isinstance(self.value, Mapping):
            raise self._wrong("an object")
        if key not in self.value:
            raise DocumentError(f"its member {self._at(key)} is missing")
        return _Reader(self.value[key], self._at(key))

    def get(self, key: str, default: object) -> _Reader:
        """A member that may be absent."""
        return self[key] if isinstance(self.value, Mapping) and key in self.value else _Reader(default, self._at(key))

    def _at(self, key: str) -> str:
        return f"{self.where}.{key[:80]}" if self.where else key[:80]

    def _wrong(self, wanted: str) -> DocumentError:
        return DocumentError(f"its member {self.where or '(top)'} should be {wanted}")

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self._wrong("a string")
        return self.value

    def optional_text(self) -> str | None:
        return None if self.value is None else self.text()

    def word(self, words: type[W]) -> W:
        try:
            return words(self.value)
        except ValueError:
            raise self._wrong(f"one of {', '.join(words)}") from None

    def integer(self) -> int:
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return self.value
        raise self._wrong("an integer")

    def number(self) -> float:
        if isinstance(self.value, (int, float)) and not isinstance(self.value, bool) and math.isfinite(self.value):
            return self.value
        raise self._wrong("a finite number")

    def optional_number(self) -> float | None:
        return None if self.value is None else self.number()

    def scalar(self) -> Value:
        if self.value is None or isinstance(self.value, (str, bool)):
            return self.value
        if isinstance(self.value, (int, float)):
            return self.number()
        raise self._wrong("a string, a number, a boolean or null")

    def each(self, read: Callable[[_Reader], T]) -> tuple[T, ...]:
        if not isinstance(self.value, Sequence) or isinstance(self.value, (str, bytes)):
            raise self._wrong("a list")
        return tuple(read(_Reader(item, f"{self.where}[{index}]")) for index, item in enumerate(self.value))

    def members(self, read: Callable[[_Reader], T]) -> dict[str, T]:
        if not isinstance(self.value, Mapping):
            raise self._wrong("an object")
        return {key: read(_Reader(item, self._at(key))) for key, item in self.value.items()}

    def row(self) -> Row:
        return self.members(_Reader.scalar)


def _read_side(place: _Reader) -> Side:
    return Side(
        label=place["label"].text(),
        runs=place["runs"].each(
            lambda run: RunInfo(
                name=run["name"].text(),
                path=run["path"].text(),
                captures=run["captures"].integer(),
                ranks=run["ranks"].integer(),
                steps=run["steps"].integer(),
                replicas=run.get("replicas", 0).integer(),
            )
        ),
        captures=place["captures"].each(_Reader.row),
        steps=place["steps"].each(_Reader.integer),
        env=place["env"].members(_Reader.text),
    )


def _read_finding(place: _Reader) -> Finding:
    return Finding(
        key=place["key"].text(),
        baseline=place["baseline"].optional_text(),
        new=place["new"].optional_text(),
        severity=place["severity"].word(Severity),
        message=place["message"].text(),
    )


def _read_delta(place: _Reader) -> Delta:
    return Delta(
        metric=place["metric"].text(),
        unit=place["unit"].text(),
        polarity=place["polarity"].word(Polarity),
        baseline=place["baseline"].optional_number(),
        new=place["new"].optional_number(),
        delta=place["delta"].optional_number(),
        ratio=place["ratio"].optional_number(),
        samples={side: place["samples"][side].each(_Reader.optional_number) for side in SIDES},
        evidence=place["evidence"].row(),
    )


def _read_cause(place: _Reader) -> Cause:
    return Cause(
        what=place["what"].text(),
        share=place["share"].optional_number(),
        delta_ms=place["delta_ms"].number(),
        text=place["text"].text(),
        section=place["section"].text(),
        row=place["row"].text(),
    )


def _read_sections(rows: _Reader, info: _Reader) -> dict[str, Section]:
    sections = {}
    for name, section_rows in rows.members(lambda place: place.each(_Reader.row)).items():
        # The name becomes a file name and an anchor, and the document may come from anybody.
        if not _SECTION_NAME.fullmatch(name):
            raise DocumentError("a section has a name other than lower-case letters, digits and _")
        about = info[name]
        sections[name] = Section(
            name=name,
            unit=about["unit"].text(),
            keys=about["keys"].each(_Reader.text),
            matched_share=about["matched_share"].optional_number(),
            note=about["note"].text(),
            rows=section_rows,
        )
    return sections
