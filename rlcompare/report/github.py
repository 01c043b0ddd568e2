"""What a step of a GitHub job shows beside its log: annotations, and the step's summary.

Annotations are workflow commands in the output of the step. While text with names from a profile is printed, commands
are switched off: GitHub reads ``##[error]`` anywhere in a line.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from rlcompare.model.verdict import GateResult
from rlcompare.report.checks import Check, Outcome, checks_of
from rlcompare.report.findings import MESSAGE_LIMIT
from rlcompare.text import safe_text

MOST = 10
"""Annotations of one level that GitHub keeps per step."""


@contextlib.contextmanager
def commands_off(stream: TextIO) -> Iterator[None]:
    """Lines written meanwhile are no workflow commands."""
    token = secrets.token_hex(16)
    stream.write(f"::stop-commands::{token}\n")
    try:
        yield
    finally:
        stream.write(f"::{token}::\n")


def annotation_lines(gate: GateResult) -> list[str]:
    """Errors for what fails the gate, warnings for what does not and for the policy's notes; passes have none."""
    checks = checks_of(gate)
    errors = [_texts(check) for check in checks if check.fails]
    warnings = [_texts(check) for check in checks if check.outcome in (Outcome.WARNED, Outcome.OPEN)]
    warnings += [("rlcompare: policy", safe_text(note, MESSAGE_LIMIT)) for note in gate.policy.notes]
    return [*_annotations("error", errors), *_annotations("warning", warnings)]


def _texts(check: Check) -> tuple[str, str]:
    return f"rlcompare: {check.title}", check.text


def annotation(level: str, title: str, text: str) -> str:
    """One workflow command, in which neither text ends it or the line."""
    return f"::{level} title={_property(title)}::{_data(text)}"


def append_summary(markdown: str, path: Path) -> None:
    """Adds to the summary of the step.

    Raises:
        OSError: the file cannot be written.
    """
    with path.open("a", encoding="utf-8", errors="replace", newline="") as file:
        file.write(markdown + "\n")


def _annotations(level: str, texts: list[tuple[str, str]]) -> Iterator[str]:
    shown = texts if len(texts) <= MOST else texts[: MOST - 1]
    for title, text in shown:
        yield annotation(level, title, text)
    if left := len(texts) - len(shown):
        yield annotation(level, "rlcompare", f"{left} more: see the summary of this step, or the report")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
