"""The next command to type, and the one that was typed."""

from __future__ import annotations

import shlex

from rlcompare.model.diff import DAMAGED_FILE, Diff
from rlcompare.model.words import Comparable, Severity
from rlcompare.text import safe_text

COMMAND_LIMIT = 400
"""Longest command to suggest. It may exceed the line width: a shortened command could not be pasted."""


def next_command(diff: Diff, document: str) -> str:
    """The suggested next command: compare again, declare differences, look at one rank, or judge the diff.

    Of files that are damaged nothing is declared: the warnings say that they must be copied or exported again.
    """
    severe = [finding.key for finding in diff.comparability.findings if finding.severity == Severity.SEVERE]
    sides = _side_options(diff)
    candidates = []
    damaged = any(finding.key == DAMAGED_FILE for finding in diff.quality)
    if diff.comparability.status == Comparable.NOT_COMPARABLE and damaged:
        candidates.append(f"rlcompare diff {sides}")
    elif diff.comparability.status == Comparable.NOT_COMPARABLE and severe:
        candidates.append(f"rlcompare diff {sides} --varied {shlex.quote(','.join(dict.fromkeys(severe)))}")
        candidates.append(f"rlcompare diff -d NEW -bp BASELINE --varied {shlex.quote(','.join(dict.fromkeys(severe)))}")
    rank = _cause_rank(diff)
    if rank is not None:
        candidates.append(f"rlcompare diff {sides} --rank {rank}")
    candidates.append(f"rlcompare gate {shlex.quote(document)}")
    return next(filter(_can_be_pasted, candidates), "rlcompare gate DIFF.json")


def command_of(diff: Diff) -> str:
    """The command that compares the same runs; empty if it is too long, or cannot be pasted."""
    command = f"rlcompare diff {_side_options(diff)}"
    return command if _can_be_pasted(command) and diff.new.runs and diff.baseline.runs else ""


def _can_be_pasted(command: str) -> bool:
    return len(command) <= COMMAND_LIMIT and safe_text(command, COMMAND_LIMIT) == command


def _side_options(diff: Diff) -> str:
    sides = (("-d", diff.new), ("-bp", diff.baseline))
    return " ".join(f"{flag} {shlex.quote(run.path)}" for flag, side in sides for run in side.runs)


def _cause_rank(diff: Diff) -> str | None:
    if not diff.causes:
        return None
    first = diff.causes[0]
    number = (first.row if first.section == "ranks" else first.member or "").removeprefix("rank ")
    return number if number.isascii() and number.isdigit() else None
