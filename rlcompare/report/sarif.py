"""``report.sarif``: what did not pass, as SARIF 2.1.0.

Passes are left out, since GitHub would show them as alerts. What is not decided has the kind ``open``, which SARIF
defines as: there was not enough information to decide.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from rlcompare import __version__
from rlcompare.model.verdict import GateResult
from rlcompare.report.checks import Check, Outcome, checks_of

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"

_RULES = {
    "regressed": "A metric changed for the worse beyond its limits, or is beyond a limit on its value.",
    "unhealthy": "Training shows a sign of instability.",
    "missing": "A metric that the policy judges has no value.",
    "inconclusive": "The evidence does not decide whether a limit is exceeded.",
    "not comparable": "The values or the sides must not be compared.",
}


def render_sarif(gate: GateResult, place: str, version: str = __version__) -> str:
    """The document.

    Args:
        place: path of the policy file in the repository, where the problems are shown.
    """
    checks = [check for check in checks_of(gate) if check.outcome != Outcome.PASSED]
    driver = {
        "name": "rlcompare",
        "version": version,
        "rules": [{"id": _id(status), "shortDescription": {"text": text}} for status, text in _RULES.items()],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True, "exitCode": gate.exit_code}],
        "results": [_result(check, place) for check in checks],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _result(check: Check, place: str) -> dict[str, Any]:
    is_open = check.outcome in (Outcome.OPEN, Outcome.UNDECIDED)
    level = "none" if is_open else "warning" if check.outcome == Outcome.WARNED else "error"
    return {
        "ruleId": _id(check.status),
        "kind": "open" if is_open else "fail",
        "level": level,
        "message": {"text": f"{check.title}: {check.text}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(place, errors="replace")},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [{"fullyQualifiedName": check.name, "kind": "member"}],
            }
        ],
        "partialFingerprints": {"rlcompare/v1": check.fingerprint},
        "properties": {"metric": check.name, "rule": check.rule, "failsGate": check.fails},
    }


def _id(status: str) -> str:
    return status.replace(" ", "-")
