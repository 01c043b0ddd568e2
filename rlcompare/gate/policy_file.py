"""The tables of a policy file, validated by msgspec; editors get the same as a JSON Schema (``policy_schema``).

Everything but a rule's metric may be left out. It is None then: a file that extends another changes only what it says.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated

import msgspec
from msgspec import Meta

from rlcompare.model.words import EvidenceMode, OnInconclusive, RuleSeverity

_LARGEST = 1e100
"""No value of a metric is larger, and a multiple of it is still a number."""
_SHARE = {"pattern": r"^\s*\d+(\.\d+)?\s*%\s*$"}
_AMOUNT = {"pattern": r"^\s*\d+(\.\d+)?\s*(ns|us|ms|s|B|KiB|MiB|GiB|TiB)\s*$"}

# The patterns are for editors: the reader refuses the same texts, with a better message.
Text = Annotated[str, Meta(min_length=1, max_length=1000)]
Number = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]
Size = Annotated[float, Meta(ge=0, le=_LARGEST)]
Spread = Annotated[float, Meta(ge=0, le=_LARGEST, extra_json_schema={"exclusiveMinimum": 0, "exclusiveMaximum": 1})]
ShareText = Annotated[str, Meta(extra_json_schema=_SHARE)]
AmountText = Annotated[str, Meta(extra_json_schema=_AMOUNT)]

_NOISE = "How much runs of one setting are assumed to differ where this was not measured (one standard deviation)."
_RELATIVE = 'The largest tolerated change for the worse, as a part of the baseline: "5%" or 0.05.'
_ABSOLUTE = (
    'The same as an amount: "1ms", "64MiB", or a number in the metric\'s own unit. With both, both must be exceeded.'
)


class GateTable(msgspec.Struct, forbid_unknown_fields=True):
    """``[gate]``."""

    evidence: Annotated[
        EvidenceMode | None,
        Meta(description='"auto": by runs where they decide; "runs": by runs only; "limits": means against limits.'),
    ] = None
    on_inconclusive: Annotated[
        OnInconclusive | None, Meta(description="How an inconclusive verdict is treated; fail: exit code 3.")
    ] = None
    varied: Annotated[
        tuple[Text, ...] | None, Meta(description="Settings that are meant to differ: keys of env, or globs over them.")
    ] = None
    noise: Annotated[Spread | ShareText | None, Meta(description=_NOISE)] = None
    baselines: Annotated[Text | None, Meta(description="Folder or URL of the baselines that -bp NAME means.")] = None
    history: Annotated[Text | None, Meta(description="File or postgresql:// URL of the history of runs.")] = None


class RuleTable(msgspec.Struct, forbid_unknown_fields=True):
    """``[[rule]]``. Limits on a change may be strings with a unit."""

    metric: Annotated[Text, Meta(description='A metric, a glob such as "phase.*.wall", "headline", or a symptom.')]
    max_increase: Annotated[Size | ShareText | None, Meta(description=_RELATIVE)] = None
    max_increase_abs: Annotated[Size | AmountText | None, Meta(description=_ABSOLUTE)] = None
    max_decrease: Annotated[Size | ShareText | None, Meta(description=_RELATIVE)] = None
    max_decrease_abs: Annotated[Size | AmountText | None, Meta(description=_ABSOLUTE)] = None
    min: Annotated[Number | None, Meta(description="The smallest tolerated value of the new side.")] = None
    max: Annotated[Number | None, Meta(description="The largest tolerated value of the new side.")] = None
    severity: Annotated[
        RuleSeverity, Meta(description='"error" fails the gate, "warn" is only reported, "off": not applied.')
    ] = RuleSeverity.ERROR
    message: Annotated[str, Meta(description="Printed when the rule fails.")] = ""
    optional: Annotated[bool, Meta(description="Skip the rule where there is nothing to judge.")] = False
    noise: Annotated[Spread | ShareText | None, Meta(description=_NOISE)] = None
    except_for: Annotated[
        tuple[Text, ...] | None, Meta(description="Metrics, or globs over them, that this rule does not judge.")
    ] = None
    expires: Annotated[
        date | None, Meta(description="The last day of an exception: until then this rule alone judges its metrics.")
    ] = None
    reason: Annotated[str, Meta(description="Why there is an exception; needed with expires.")] = ""


class PolicyFile(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file, or ``[tool.rlcompare]`` of a pyproject.toml."""

    extends: Annotated[
        Text | tuple[Text, ...] | None,
        Meta(description="Presets, or files relative to this one, whose rules hold where this file says nothing else."),
    ] = None
    gate: GateTable = msgspec.field(default_factory=GateTable)
    rule: tuple[RuleTable, ...] = ()
