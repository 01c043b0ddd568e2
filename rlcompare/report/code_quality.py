"""``code-quality.json``: what did not pass, in the form of GitLab's Code Quality widget.

GitLab compares the fingerprints of two pipelines, so that they hold no values: a metric that is still regressed is the
same problem as before.
"""

from __future__ import annotations

import json

from rlcompare.model.verdict import GateResult
from rlcompare.report.checks import Outcome, checks_of

_SEVERITIES = {
    Outcome.FAILED: "critical",
    Outcome.MISSING: "major",
    Outcome.UNDECIDED: "major",
    Outcome.WARNED: "minor",
    Outcome.OPEN: "info",
}


def render_code_quality(gate: GateResult, place: str) -> str:
    """The document: a list, empty if everything passed.

    Args:
        place: path of the policy file in the repository, where GitLab shows the problems.
    """
    found = [
        {
            "description": f"{check.title}: {check.text}",
            "check_name": f"rlcompare/{check.status.replace(' ', '-')}",
            "fingerprint": check.fingerprint,
            "severity": _SEVERITIES[check.outcome],
            "location": {"path": place, "lines": {"begin": 1}},
        }
        for check in checks_of(gate)
        if check.outcome != Outcome.PASSED
    ]
    return json.dumps(found, indent=1) + "\n"
