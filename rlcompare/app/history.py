"""Adds runs, given as the user named them, to a history."""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rlcompare.app.comparison import read_runs
from rlcompare.compare.inputs import RunStore
from rlcompare.errors import InputError, UsageError
from rlcompare.history import store
from rlcompare.history.place import Place
from rlcompare.history.records import INCOMPLETE, OK, UNSTABLE, Added, NewRun
from rlcompare.model.words import RuleSeverity

_COMMIT = re.compile(r"([0-9a-fA-F]{7,64})( with changes)?")
_ENDS_EARLY = "health.ends_early"


@dataclass(frozen=True)
class Reading:
    """The options of how inputs are read, as click gives them."""

    prefer: str
    layout: str | None
    cache_dir: Path | None
    no_cache: bool
    quiet: bool
    engine: str = "local"
    ray_address: str | None = None


def add_runs(
    paths: Sequence[Path],
    place: Place,
    reading: Reading,
    *,
    label: str | None = None,
    commit: str | None = None,
    started_ns: int | None = None,
) -> list[Added]:
    """Reads all runs that the paths hold, then adds them to the history, all or none.

    Args:
        commit: of the code that ran; None: as the run says.
        started_ns: of the only run; None: as the run says.

    Raises:
        UsageError: ``started_ns`` is given for several runs.
        InputError: a path holds no run, or cannot be read; or the history cannot be used.
    """

    def read(given: Sequence[RunStore]) -> list[NewRun]:
        if started_ns is not None and len(given) > 1:
            raise UsageError(f"--started is the start of one run, and {len(given)} were given: add them one by one")
        return [_new_run(run, label, commit, started_ns) for run in given]

    found = read_runs(
        paths,
        read,
        prefer=reading.prefer,
        layout=reading.layout,
        cache_dir=reading.cache_dir,
        no_cache=reading.no_cache,
        quiet=reading.quiet,
        engine=reading.engine,
        ray_address=reading.ray_address,
    )
    return store.add(place, found)


def _new_run(run: RunStore, label: str | None, commit: str | None, started_ns: int | None) -> NewRun:
    from rlcompare.compare.one_run import summary_of

    content, started, status, reason = _facts(run)
    summary = summary_of(run)
    metrics = tuple(row for row in summary.metrics if math.isfinite(row[2]))
    if not metrics:
        raise InputError(run.path, "it has no metrics", "Add a run with a profile or with training's metrics")
    if status == OK:
        status, reason = next(
            (
                (INCOMPLETE if symptom.key == _ENDS_EARLY else UNSTABLE, symptom.text)
                for symptom in summary.symptoms
                if symptom.severity is RuleSeverity.ERROR or symptom.key == _ENDS_EARLY
            ),
            (OK, None),
        )
    recorded = _COMMIT.fullmatch(summary.env.get("commit", ""))
    commit_id = commit or (recorded[1] if recorded else None)
    return NewRun(
        content=content,
        name=run.name,
        started_ns=started if started_ns is None else started_ns,
        label=label,
        commit_id=commit_id,
        author=_author(commit_id),
        dirty=bool(recorded[2]) if recorded and not commit else None,
        status=status,
        reason=reason,
        headline=summary.headline,
        metrics=metrics,
        settings=summary.env,
    )


def _facts(run: RunStore) -> tuple[str, int | None, str, str | None]:
    """Content, start, status, and why the run did not end well."""
    from rlcompare.db import open_read_only, reading
    from rlcompare.resources import sql

    with open_read_only(run.store) as con, reading(run.store):
        ((content, started, status, reason),) = con.execute(sql("history/facts_of_store")).fetchall()
    if content is None:
        raise InputError(run.path, "its store does not record which files it was made from", "Add the run itself")
    return content, started, status, reason


def _author(commit: str | None) -> str | None:
    """The author of a commit, if the working folder's repository has it."""
    return None if commit is None else git("log", "-1", "--format=%an", commit, "--")


def git(*arguments: str) -> str | None:
    """What git prints in the working folder; None: nothing, or it fails."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout.strip() or None
