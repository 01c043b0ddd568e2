"""docs/metrics.md: its tables are those of the code."""

from __future__ import annotations

import re

from rlcompare.compare.names import PHASE_TIMES, TIMES, polarity_of, unit_of
from rlcompare.gate.policy_file import GateTable, RuleTable
from rlcompare.metrics import entries
from rlcompare.model.health import correction_ranges, health_ranges
from rlcompare.model.words import Polarity

from .places import ROOT

TEXT = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")


def test_timers_and_their_phases() -> None:
    documented = re.findall(r"^\| `(timing_s/[\w/]+)` \| `(\w+)` \|", TEXT, re.MULTILINE)
    verls = [one for one in entries() if one.phase and not one.same_as and one.name.startswith("timing_s/")]
    assert documented == [(one.name, one.phase) for one in verls]


def test_every_time_is_defined_in_the_design() -> None:
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    table = page.partition("| time | definition |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE)
    assert sorted(name for cell in cells for name in re.findall(r"`(\w+)`", cell)) == sorted(TIMES)


def test_unit_and_direction_follow_from_the_name() -> None:
    for name, polarity in TIMES.items():
        for metric in (f"time.{name}", f"time.{name}@max", f"time.{name}@spread", f"role.actor.{name}"):
            assert (unit_of(metric), polarity_of(metric)) == ("ms", polarity)
    for name in PHASE_TIMES:
        assert (unit_of(f"phase.(outside).{name}"), polarity_of(f"phase.(outside).{name}")) == ("ms", Polarity.LOWER)
    assert (unit_of("memory.peak_reserved"), polarity_of("memory.peak_reserved")) == ("bytes", Polarity.LOWER)
    assert (unit_of("workload.copy_bytes"), polarity_of("workload.copy_bytes")) == ("bytes", Polarity.NEUTRAL)
    assert (unit_of("of/somebody"), polarity_of("of/somebody")) == ("", Polarity.NEUTRAL)


def test_every_ideal_range_is_listed() -> None:
    listed = set(re.findall(r"`(mismatch/rollout_is_\w+)`", TEXT))
    assert listed == {entry.metric for entry in health_ranges(threshold=2.0)}
    later = set(re.findall(r"^\| `(rollout_corr/\w+|training/rollout_\w+)` \| (.*?)(?:;.*)? \|$", TEXT, re.MULTILINE))
    assert later == {(entry.metric, entry.ideal) for entry in correction_ranges()}


def test_keys_of_a_policy_are_documented() -> None:
    page = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE))))
    assert {*GateTable.__struct_fields__, *RuleTable.__struct_fields__} <= documented
