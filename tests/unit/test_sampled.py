"""A profile's description of its own sample, from any tool, and the differences between two."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rlcompare.compare.comparability import assess
from rlcompare.compare.records import Capture, KernelMatchSummary, Training
from rlcompare.model.diff import Finding, Side
from rlcompare.model.words import SIDES, SideName
from rlcompare.sources.described import Description, description, sampled_environment
from tests.unit.diff_examples import side

DECODE = {"role": "rollout", "phase": "generate_sequences", "rank": 3, "granularity": "decode_step"}
KEY = "sampled.generate_sequences"


def test_object_or_text_it_is_the_same() -> None:
    said = {**DECODE, "sampled": [32, 30, 31, 40], "probe": "vllm-decode"}
    expected = Description("rollout", "generate_sequences", 3, "decode_step", (30, 31, 32, 40))
    assert description({"rlcompare": said}) == description({"rlcompare": json.dumps(said)}) == expected
    assert sampled_environment({"rlcompare": said}) == {KEY: "decode_step 30-32 40"}
    own = {"phase": "generate", "granularity": "decode", "sampled": [3, 5]}
    assert sampled_environment({"rlcompare": own}) == {"sampled.generate": "decode 3 5"}


@pytest.mark.parametrize(
    "said",
    [
        None,
        "no JSON {",
        "[" * 100_000,
        [1, 2],
        {"phase": "<script>", "role": "actor"},
        {"phase": 7, "granularity": "x" * 99, "sampled": [1]},
        {"phase": "a'; DROP TABLE env; --", "granularity": "decode", "sampled": [True, 2]},
        {"granularity": "decode", "sampled": [-1]},
        {"granularity": "decode", "sampled": [2.5]},
        {"granularity": "decode", "sampled": []},
        {"rank": True},
    ],
)
def test_what_is_not_sound_is_left_out(said: object) -> None:
    found = description({"rlcompare": said})
    assert (found.role, found.phase, found.rank, found.sampled) == (None, None, None, None)
    assert sampled_environment({"rlcompare": said}) == {}


def differences(baseline: str | None, new: str | None, training: Any = (), phase: str | None = None) -> list[Finding]:
    """What is said of samples; ``phase``: of the new side's only capture."""
    sides: dict[SideName, Side] = {}
    captures = []
    for name, sampled in zip(SIDES, (baseline, new), strict=True):
        sides[name] = replace(side(name, name), env={} if sampled is None else {KEY: sampled})
        known: dict[str, object] = {
            "side": name,
            "member": "rank 0",
            "tool": "torch",
            "executor": "device",
            "phase": phase,
        }
        captures.append(Capture._make(known.get(field) for field in Capture._fields))
    match = KernelMatchSummary(exact_share=None, loose=None, by_name=False)
    found = assess(sides, captures, [], match, None, [], training, [], [], [])
    return [finding for finding in found.findings if finding.key.startswith("sampled")]


@pytest.mark.parametrize("other", ["decode_step 40-42", "decode_step 30-31", "micro_batch 30-32"])
def test_another_sample_is_severe_where_profiles_are_all_there_is(other: str) -> None:
    (found,) = differences("decode_step 30-32", other)
    assert (found.severity, found.baseline, found.new) == ("severe", "decode_step 30-32", other)
    logged = [Training(name, run=0, steps=3, first=1, last=3, shared=3) for name in SIDES]
    (found,) = differences("decode_step 30-32", other, logged)
    assert found.severity == "caution"


def test_a_sample_against_all_of_a_phase_is_severe() -> None:
    assert differences("decode_step 30-32", "decode_step 30-32") == []
    (found,) = differences("decode_step 30-32", None, phase="generate_sequences")
    assert found.severity == "severe"
    assert (
        "The baseline holds only a sample of generate_sequences (decode_step 30-32), the new side all" in found.message
    )
    # where the other side has nothing of the phase, that is what is said of it
    assert differences("decode_step 30-32", None, phase="update_actor") == []
