"""Signs of unstable training as texts of the summary."""

from __future__ import annotations

import re

from rlcompare.language import listed, tr
from rlcompare.model.diff import ADVICE, Diff
from rlcompare.model.words import RuleSeverity
from rlcompare.report import quantity
from rlcompare.report.findings import MESSAGE_LIMIT, count
from rlcompare.report.sentences import said
from rlcompare.report.step_parts import number_of, rows_of
from rlcompare.text import safe_text

Parts = tuple[str, ...]
_CLAUSES = re.compile("[;\uff1b] ?")

FEWEST = 5
"""Steps of training from which the absence of a sign says something."""


def symptom_parts(diff: Diff) -> tuple[Parts, tuple[Parts, ...], str]:
    """All symptoms as parts of one entry; the same without advice, their first clauses, their keys; and their tone."""
    errors = sum(symptom.severity == RuleSeverity.ERROR for symptom in diff.symptoms)
    numbers = ((errors, "error"), (len(diff.symptoms) - errors, "warning"))
    counts = listed(count(number, noun) for number, noun in numbers if number)
    texts = [safe_text(said(symptom.text), MESSAGE_LIMIT) for symptom in diff.symptoms]
    brief = [safe_text(said(symptom.text.partition(ADVICE)[0]), MESSAGE_LIMIT) for symptom in diff.symptoms]
    keys = listed(dict.fromkeys(symptom.key.removeprefix("health.") for symptom in diff.symptoms))
    full, short = ((tr("{counts}: {first}", counts=counts, first=shown[0]), *shown[1:]) for shown in (texts, brief))
    named = tr("{counts}: {first}", counts=counts, first=keys)
    first = tuple(_CLAUSES.split(text)[0].rstrip(".。") for text in short)
    return full, (short, first, (named,)), symptoms_tone(diff)


def training_texts(diff: Diff) -> Parts:
    """What training logged of its own health, and whether a symptom was found; empty if it logged nothing of it."""
    rows = {row.get("name"): row for row in rows_of(diff, "metrics")}
    found = [(label, rows[name]) for name, label in _curves() if name in rows]
    known = [(label, row) for label, row in found if quantity.is_number(row.get("new"))]
    if not known:
        return ()
    values = tuple(
        f"{label} {quantity.brief(row.get('baseline'))} → {quantity.brief(row.get('new'))}" for label, row in known
    )
    enough = any(number_of(row.get("new_steps")) >= FEWEST for _, row in known)
    return (tr("no sign of instability"), *values) if enough and not diff.symptoms else values


def _curves() -> tuple[tuple[str, str], ...]:
    return (
        ("actor/entropy", tr("entropy")),
        ("actor/grad_norm", tr("gradient norm")),
        ("critic/score/mean", tr("score")),
        ("critic/rewards/mean", tr("reward")),
        ("actor/ppo_kl", tr("policy KL")),
    )


def symptoms_tone(diff: Diff) -> str:
    """``worse`` if one of the symptoms is an error, else ``caution``; empty if there are none."""
    if not diff.symptoms:
        return ""
    return "worse" if any(found.severity == RuleSeverity.ERROR for found in diff.symptoms) else "caution"
