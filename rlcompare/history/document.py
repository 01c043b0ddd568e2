"""What ``rlcompare history … --json`` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from rlcompare.history.changes import Change, Found
from rlcompare.history.levels import Level
from rlcompare.history.records import Acknowledged, Added, Run, Value

SCHEMA = "rlcompare.history/1"


def added_document(added: Sequence[Added]) -> dict[str, Any]:
    """Of ``add``: the runs in the order in which they were given."""
    return {
        "schema": SCHEMA,
        "runs": [
            {
                "run": one.number,
                "name": one.run.name,
                "added": one.known_since_ns is None,
                "status": one.run.status,
                "reason": one.run.reason,
                "metrics": len(one.run.metrics),
            }
            for one in added
        ],
    }


def runs_document(runs: Sequence[Run], values: Sequence[Value]) -> dict[str, Any]:
    """Of ``show``: the runs in the order of their start, each with the values of the chosen metrics."""
    by_run: dict[int, dict[str, float]] = {}
    for value in values:
        by_run.setdefault(value.number, {})[value.metric] = value.value
    return {
        "schema": SCHEMA,
        "units": {value.metric: value.unit for value in values},
        "runs": [{**run_document(run), "values": by_run.get(run.number, {})} for run in runs],
    }


def run_document(run: Run) -> dict[str, Any]:
    """One run."""
    return {
        "run": run.number,
        "content": run.run,
        "name": run.name,
        "started": iso(run.started_ns),
        "start_known": run.start_known,
        "label": run.label,
        "commit": run.commit_id,
        "author": run.author,
        "dirty": run.dirty,
        "status": run.status,
        "reason": run.reason,
        "environment": run.environment,
        "headline": run.headline,
    }


def series_document(
    environment: str, metric: str, unit: str, numbers: Sequence[int], values: Sequence[float], levels: Sequence[Level]
) -> dict[str, Any]:
    """Of ``plot``: one series, and its levels."""
    return {
        "environment": environment,
        "metric": metric,
        "unit": unit,
        "runs": list(numbers),
        "values": list(values),
        "levels": [
            {
                "since": numbers[level.start],
                "until": numbers[level.stop - 1],
                "value": level.value,
                "gradual": level.gradual,
            }
            for level in levels
        ],
    }


def changes_document(found: Found, last: int) -> dict[str, Any]:
    """Of ``changes``."""
    return {
        "schema": SCHEMA,
        "open": sum(change.is_open and change.age <= last for change in found.changes),
        "searched": [
            {
                "environment": one.environment,
                "headline": one.headline,
                "known": one.known,
                "runs": one.runs,
                "runs_needed": one.needed,
                "enough_runs": one.fewest is not None,
                "fewest_runs_of_a_change": one.fewest,
                "fewest_runs_in_other_metrics": one.fewest_of_others,
            }
            for one in found.searched
        ],
        "changes": [_change(change) for change in found.changes],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "id": change.id,
        "since": run_document(change.run),
        "last_before": run_document(change.before),
        "runs_since": change.age,
        "worse": change.worse,
        "undone": bool(change.worse) and change.undone,
        "open": change.is_open,
        "metrics": [
            {
                "metric": one.metric,
                "unit": one.unit,
                "before": one.before,
                "after": one.after,
                "ratio": one.ratio,
                "worse": one.worse,
                "gradual": one.gradual,
                "undone": one.undone,
            }
            for one in change.metrics
        ],
        "differs": [{"key": one.key, "before": one.before, "after": one.after} for one in change.differs],
        "acknowledged": _acknowledged(change.acknowledged),
        "expired": _acknowledged(change.expired),
    }


def _acknowledged(row: Acknowledged | None) -> Mapping[str, Any] | None:
    return None if row is None else {"reason": row.reason, "author": row.author, "expires": row.expires}


def iso(moment_ns: int) -> str:
    """A moment in UTC, in ISO 8601, to the second."""
    return datetime.fromtimestamp(moment_ns // 10**9, timezone.utc).isoformat().replace("+00:00", "Z")
