"""The tables of a policy file, validated by msgspec. ``policy`` imports this only if there is a file."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec

from rlcompare.model.words import EvidenceMode, OnInconclusive, RuleSeverity

_LARGEST = sys.float_info.max

Text = Annotated[str, msgspec.Meta(min_length=1)]
Number = Annotated[float, msgspec.Meta(ge=-_LARGEST, le=_LARGEST)]
Size = Annotated[float, msgspec.Meta(ge=0, le=_LARGEST)]


class GateTable(msgspec.Struct, forbid_unknown_fields=True):
    """``[gate]``."""

    evidence: EvidenceMode = EvidenceMode.AUTO
    on_inconclusive: OnInconclusive = OnInconclusive.WARN
    varied: tuple[Text, ...] = ()
    baselines: Text | None = None


class RuleTable(msgspec.Struct, forbid_unknown_fields=True):
    """``[[rule]]``. Limits on a change may be strings with a unit."""

    metric: Text
    max_increase: Size | str | None = None
    max_increase_abs: Size | str | None = None
    max_decrease: Size | str | None = None
    max_decrease_abs: Size | str | None = None
    min: Number | None = None
    max: Number | None = None
    severity: RuleSeverity = RuleSeverity.ERROR
    message: str = ""
    optional: bool = False


class PolicyFile(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file."""

    gate: GateTable = msgspec.field(default_factory=GateTable)
    rule: tuple[RuleTable, ...] = ()
