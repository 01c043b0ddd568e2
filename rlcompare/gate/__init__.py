"""Checks a comparison against a policy. Pure: reads a ``model.diff.Diff``, returns a ``model.verdict.GateResult``."""

from rlcompare.gate.policy import built_in_policy, load_policy, load_preset, preset_text, written_policy
from rlcompare.gate.rules import judge

__all__ = ["built_in_policy", "judge", "load_policy", "load_preset", "preset_text", "written_policy"]
