"""Findings as texts: differences between the sides, and problems with their data.

If there is room for one line only, findings that share a key are shown once with their number. The tables of a
report list them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rlcompare.compare.comparability import DECLARED
from rlcompare.language import mark, tr, trn, with_label
from rlcompare.model.diff import Finding, Value
from rlcompare.model.words import Severity
from rlcompare.report import quantity
from rlcompare.report.sentences import datum, said
from rlcompare.text import fit_names, safe_text

MESSAGE_LIMIT = 600

_SERIOUS = (Severity.SEVERE, Severity.CAUTION)
_TONE = {Severity.SEVERE: "worse", Severity.CAUTION: "caution"}
_VALUE_LIMIT = 20
_SENTENCE_LIMIT = 63
"""Leaves room on the line for the status and the number of further findings."""

_CLAUSE = re.compile("[.:;,] |[。：；，]")  # noqa: RUF001
"""What ends a clause."""

_SEVERAL = {"captures": mark("{n} roles differ")}
"""What is said of several findings of a key."""

_COUNTED = {
    "capture": ("{n} capture", mark("{n} captures")),
    "error": ("{n} error", mark("{n} errors")),
    "note": ("{n} note", mark("{n} notes")),
    "rank": ("{n} rank", mark("{n} ranks")),
    "replica": ("{n} replica", mark("{n} replicas")),
    "run": ("{n} run", mark("{n} runs")),
    "step": ("{n} step", mark("{n} steps")),
    "warning": ("{n} warning", mark("{n} warnings")),
}
_SEVERITY: dict[str, str] = {
    Severity.INFO: mark("info"),
    Severity.CAUTION: mark("caution"),
    Severity.SEVERE: mark("severe"),
    Severity.DECLARED: mark("declared"),
}


class FindingView(NamedTuple):
    """A difference, or a problem with the data."""

    severity: str
    tone: str
    key: str
    sides: str
    message: str

    @property
    def word(self) -> str:
        """The severity for a reader."""
        return tr(_SEVERITY.get(self.severity, self.severity))


def count(number: int, noun: str) -> str:
    """``1 step``, ``2 steps``."""
    return trn(*_COUNTED[noun], number)


def is_serious(finding: Finding) -> bool:
    """Whether it must be shown before the numbers: severity caution or worse."""
    return finding.severity in _SERIOUS


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """The findings by severity, most severe first; the sort is stable."""
    return sorted(findings, key=lambda finding: [*_SERIOUS, finding.severity].index(finding.severity))


def views(findings: Iterable[Finding]) -> tuple[FindingView, ...]:
    """All findings, the worst first."""
    return tuple(map(_view, worst_first(findings)))


def merged_views(findings: Iterable[Finding]) -> tuple[FindingView, ...]:
    """The findings, the worst first; those with the same key are merged and counted."""
    return tuple(
        _view(group[0])._replace(sides=_number(group)) if len(group) > 1 else _view(group[0])
        for group in _groups(findings)
    )


def differences(findings: Iterable[Finding]) -> list[str]:
    """One short text for each key that differs, the worst first."""
    return [
        with_label(safe_text(group[0].key, 40), _number(group)) if len(group) > 1 else _difference(group[0])
        for group in _groups(findings)
    ]


def quality_texts(findings: Sequence[Finding]) -> list[str]:
    """The number of warnings and notes, with the worst finding; then the other findings."""
    first, *others = [safe_text(said(finding.message), 200) for finding in worst_first(findings)]
    return [tr("{counts}: {first}", counts=quality_counts(findings), first=first), *others]


def quality_counts(findings: Sequence[Finding]) -> str:
    """``2 warnings, 3 notes``."""
    serious = sum(map(is_serious, findings))
    counts = [count(serious, "warning")] if serious else []
    counts += [count(len(findings) - serious, "note")] if len(findings) > serious else []
    return tr(", ").join(counts)


def _view(finding: Finding) -> FindingView:
    return FindingView(
        severity=safe_text(finding.severity, 20),
        tone=_TONE.get(finding.severity, ""),
        key=safe_text(datum(finding.key), 80),
        sides=_sides(finding),
        message=safe_text(said(finding.message), MESSAGE_LIMIT),
    )


def _groups(findings: Iterable[Finding]) -> list[list[Finding]]:
    groups: dict[tuple[str, str | None], list[Finding]] = {}
    for finding in worst_first(findings):
        # A finding without values is a sentence of its own and cannot be merged.
        own = finding.message if finding.baseline is None and finding.new is None else None
        groups.setdefault((finding.key, own), []).append(finding)
    return list(groups.values())


def _number(group: Sequence[Finding]) -> str:
    return tr(_SEVERAL.get(group[0].key, mark("{n} values differ")), n=len(group))


def _difference(finding: Finding) -> str:
    if finding.baseline is None and finding.new is None:
        return _first_clauses(said(finding.message.removeprefix(DECLARED)))
    return f"{safe_text(datum(finding.key), 40)} {change_of_text(finding.baseline, finding.new)}"


def change_of_text(baseline: Value, new: Value) -> str:
    """``A2 → A3``, short: of two paths their last names, if these differ."""
    texts = [None if value is None else datum(str(value)) for value in (baseline, new)]
    ends = [None if text is None else text.rpartition("/")[2] for text in texts]
    if all(ends) and ends[0] != ends[1]:
        texts = ends
    return " → ".join(fit_names([quantity.ABSENT if text is None else safe_text(text) for text in texts], _VALUE_LIMIT))


def _sides(finding: Finding) -> str:
    if finding.baseline is None and finding.new is None:
        return ""
    if finding.baseline is None or finding.new is None:
        if finding.baseline is None:
            return tr("new: {text}", text=safe_text(finding.new))
        return tr("baseline: {text}", text=safe_text(finding.baseline))
    return f"{safe_text(datum(str(finding.baseline)))} → {safe_text(datum(str(finding.new)))}"


def _first_clauses(text: str) -> str:
    """A sentence, without the clauses at its end that have no room; cut anywhere only if the first one has none."""
    if len(text) <= _SENTENCE_LIMIT:
        return safe_text(text)
    ends = [found.start() for found in _CLAUSE.finditer(text[: _SENTENCE_LIMIT + 1])]
    return safe_text(text[: ends[-1]] if ends else text, _SENTENCE_LIMIT)
