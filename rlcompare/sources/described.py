"""Metadata that rlcompare's own collectors put into a profile, under the key ``rlcompare``.

    {"role": "rollout", "phase": "generate_sequences", "step": 3, "rank": 0, "world_size": 8,
     "granularity": "decode_step", "sampled": [30, 31, 32]}

A torch trace has it at its top level, torch_npu's profile in profiler_metadata.json and in META_DATA. With a schedule,
``sampled`` lists the recorded ticks, counted from 0. It is untrusted input: any tool can write this key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.numbers import list_numbers

METADATA = "rlcompare"
SAMPLED = "sampled"
"""Prefix of keys in table ``env``: ``sampled.generate_sequences``, or ``sampled`` outside phases."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.<>-]{0,59}")
_MOST = 1_000_000


@dataclass(frozen=True)
class Description:
    """The valid parts of the description.

    Attributes:
        sampled: which ticks of ``granularity`` were recorded; None if the whole phase was.
    """

    role: str | None = None
    phase: str | None = None
    rank: int | None = None
    granularity: str | None = None
    sampled: tuple[int, ...] | None = None


def description(metadata: Mapping[str, object]) -> Description:
    """Reads the key ``rlcompare`` of a profile's metadata, whose value is an object or its JSON text."""
    value = metadata.get(METADATA)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return Description()
    if not isinstance(value, dict):
        return Description()
    phase, granularity = _name(value.get("phase")), _name(value.get("granularity"))
    sampled = value.get(SAMPLED)
    ticks = sampled if isinstance(sampled, list) and len(sampled) <= _MOST and all(map(_is_ordinal, sampled)) else []
    return Description(
        role=_name(value.get("role")) if phase else None,
        phase=phase,
        rank=value["rank"] if _is_ordinal(value.get("rank")) else None,
        granularity=granularity,
        sampled=tuple(sorted(set(ticks))) if ticks and granularity else None,
    )


def sampled_environment(metadata: Mapping[str, object]) -> dict[str, str]:
    """Sampled ticks for the table ``env``: ``{"sampled.generate_sequences": "decode_step 30-32"}``; else empty."""
    found = description(metadata)
    if found.sampled is None:
        return {}
    key = f"{SAMPLED}.{found.phase}" if found.phase else SAMPLED
    return {key: f"{found.granularity} {list_numbers(found.sampled, separator=' ')}"}


def is_sample(capture: CaptureInput) -> bool:
    """Whether a capture of a known training step has ticks of a schedule, so its marks are not training steps."""
    return capture.step is not None and _sample_of(capture) is not None


def sampled_finding(capture: CaptureInput) -> Finding | None:
    """A finding if a capture's times are those of a sample, else None."""
    found = _sample_of(capture)
    if found is None or found.sampled is None:
        return None
    what = f"of {found.phase} " if found.phase else ""
    ticks = list_numbers(found.sampled, separator=" ")
    return Finding("info", SAMPLED, f"{what}only a sample was recorded: its times cover {found.granularity} {ticks}")


def _sample_of(capture: CaptureInput) -> Description | None:
    said = (description(metadata) for metadata in (capture.info, capture.metadata))
    return next((found for found in said if found.sampled is not None), None)


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None


def _is_ordinal(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
