"""Signs of unstable training as texts of the summary."""

from __future__ import annotations

from rlcompare.language import tr
from rlcompare.model.diff import ADVICE, Diff
from rlcompare.model.words import RuleSeverity
from rlcompare.report.findings import MESSAGE_LIMIT, count
from rlcompare.report.sentences import said
from rlcompare.text import safe_text

Parts = tuple[str, ...]


def symptom_parts(diff: Diff) -> tuple[Parts, tuple[Parts, ...], str]:
    """All symptoms as parts of one entry; the same without advice, and the keys alone; and their tone."""
    errors = sum(symptom.severity == RuleSeverity.ERROR for symptom in diff.symptoms)
    numbers = ((errors, "error"), (len(diff.symptoms) - errors, "warning"))
    counts = ", ".join(count(number, noun) for number, noun in numbers if number)
    texts = [safe_text(said(symptom.text), MESSAGE_LIMIT) for symptom in diff.symptoms]
    brief = [safe_text(said(symptom.text.partition(ADVICE)[0]), MESSAGE_LIMIT) for symptom in diff.symptoms]
    keys = ", ".join(dict.fromkeys(symptom.key.removeprefix("health.") for symptom in diff.symptoms))
    full, short = ((tr("{counts}: {first}", counts=counts, first=shown[0]), *shown[1:]) for shown in (texts, brief))
    named = tr("{counts}: {first}", counts=counts, first=keys)
    return full, (short, (named,)), symptoms_tone(diff)


def symptoms_tone(diff: Diff) -> str:
    """``worse`` if one of the symptoms is an error, else ``caution``; empty if there are none."""
    if not diff.symptoms:
        return ""
    return "worse" if any(found.severity == RuleSeverity.ERROR for found in diff.symptoms) else "caution"
