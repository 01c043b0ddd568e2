"""docs/metrics.md: its tables are those of the code."""

from __future__ import annotations

import re

from rlcompare import resources
from rlcompare.gate.policy_file import GateTable, RuleTable
from rlcompare.model.health import health_ranges

from .places import ROOT

TEXT = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")


def test_timers_and_their_phases() -> None:
    documented = re.findall(r"^\| `(timing_s/\w+)` \| `(\w+)` \|$", TEXT, re.MULTILINE)
    known = re.findall(r"\('(timing_s/\w+)', (?:'\w+'|NULL), '(\w+)'\)", resources.sql("compare/timer"))
    assert documented == known


def test_every_ideal_range_is_listed() -> None:
    listed = set(re.findall(r"`(mismatch/rollout_is_\w+)`", TEXT))
    assert listed == {entry.metric for entry in health_ranges(threshold=2.0)}


def test_keys_of_a_policy_are_documented() -> None:
    page = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE))))
    assert {*GateTable.__struct_fields__, *RuleTable.__struct_fields__} <= documented
