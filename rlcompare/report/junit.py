"""``junit.xml``: one test case per verdict, for Jenkins, GitLab and others.

A regressed or unhealthy metric is a failure. What could not be judged but fails the gate (missing, inconclusive, not
comparable) is an error. What is not decided and lets the gate pass, and a failed rule that only warns, is skipped: it
is not a pass.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from rlcompare.model.verdict import GateResult
from rlcompare.report.checks import Check, Outcome, checks_of, source_of

_ELEMENTS = {
    Outcome.FAILED: "failure",
    Outcome.MISSING: "error",
    Outcome.UNDECIDED: "error",
    Outcome.OPEN: "skipped",
    Outcome.WARNED: "skipped",
}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(gate: GateResult) -> str:
    """The document, in the dialect of Jenkins' junit-10.xsd."""
    checks = checks_of(gate)
    made = [_ELEMENTS.get(check.outcome) for check in checks]
    counts = {
        "tests": str(len(checks)),
        "failures": str(made.count("failure")),
        "errors": str(made.count("error")),
    }
    suites = ElementTree.Element("testsuites", {"name": "rlcompare", **counts})
    suite = ElementTree.SubElement(
        suites, "testsuite", {"name": "rlcompare gate", **counts, "skipped": str(made.count("skipped"))}
    )
    for check in checks:
        _add(suite, check)
    out = ElementTree.SubElement(suite, "system-out")
    out.text = _xml(f"{gate.summary}\npolicy: {source_of(gate.policy)}\nexit code: {gate.exit_code}")
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _add(suite: ElementTree.Element, check: Check) -> None:
    case = ElementTree.SubElement(suite, "testcase", {"classname": "rlcompare.gate", "name": _xml(check.name)})
    element = _ELEMENTS.get(check.outcome)
    text = _xml(f"{check.title}: {check.text}")
    if element is None:
        ElementTree.SubElement(case, "system-out").text = text
        return
    found = ElementTree.SubElement(case, element, {"type": check.status, "message": text})
    if element != "skipped":
        found.text = text


def _xml(text: str) -> str:
    """The text with characters that XML forbids written as in source code."""
    return _NOT_XML.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
