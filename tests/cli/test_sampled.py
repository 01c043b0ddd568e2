"""Profiles of which rlcompare itself chose a few ticks: their phase, and that both sides hold the same ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.sources.torch_traces import mark, op, trace, write

from .conftest import Command

DECODE = {"role": "rollout", "phase": "generate_sequences", "granularity": "decode_step", "step": 1, "rank": 0}


def side(folder: Path, said: Any) -> Path:
    """A trace of two ticks that says this of itself."""
    events = [
        event
        for tick in (0, 1)
        for event in (mark(f"ProfilerStep#{30 + tick}", 10 + tick * 20, 15), op("aten::mm", 12 + tick * 20, 10))
    ]
    write(folder / "prof_step1_rank0-of-1_pid7_1.json", trace(*events, **({"rlcompare": said} if said else {})))
    return folder


def sampled(folder: Path, *ticks: int, **others: Any) -> Path:
    return side(folder, {**DECODE, "sampled": list(ticks), **others})


def document(rlcompare: Command, new: Path, baseline: Path, *options: object) -> dict[str, Any]:
    outcome = rlcompare("diff", "-d", new, "-bp", baseline, "--json", *options)
    assert (outcome.code, outcome.err) == (0, "")
    return dict(json.loads(outcome.out))


def findings(document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Severity and message of what was said of samples."""
    return {
        finding["key"]: (finding["severity"], finding["message"])
        for finding in document["comparability"]["findings"]
        if finding["key"].startswith("sampled")
    }


def test_a_sample_is_of_the_phase_that_it_says(rlcompare: Command, tmp_path: Path) -> None:
    base, new = sampled(tmp_path / "a", 30, 31), sampled(tmp_path / "b", 30, 31)
    found = document(rlcompare, new, base)
    assert [(row["name"], row["role"]) for row in found["sections"]["phases"]] == [("generate_sequences", "rollout")]
    assert found["new"]["env"]["sampled.generate_sequences"] == "decode_step 30-31"
    assert findings(found) == {}


def test_other_samples_are_not_compared_unless_it_was_meant(rlcompare: Command, tmp_path: Path) -> None:
    base, new = sampled(tmp_path / "a", 30, 31), sampled(tmp_path / "b", 40, 41)
    outcome = rlcompare("gate", "-d", new, "-bp", base)
    assert outcome.code == 5
    assert "decode_step 30-31 against decode_step 40-41" in outcome.out
    declared = document(rlcompare, new, base, "--varied", "sampled")
    assert findings(declared)["sampled.generate_sequences"][0] == "info"


def test_a_profile_of_an_npu_says_it_in_its_metadata(rlcompare: Command, samples: Path, tmp_path: Path) -> None:
    paths = sorted((samples / "base").rglob("profiler_metadata.json"))
    assert paths
    for name, ticks in (("a", [30]), ("b", [31])):
        shutil.copytree(samples / "base", tmp_path / name)
        for path in sorted((tmp_path / name).rglob("profiler_metadata.json")):
            known = json.loads(path.read_text(encoding="utf-8"))
            path.write_text(json.dumps({**known, "rlcompare": {**DECODE, "sampled": ticks}}), encoding="utf-8")
    found = document(rlcompare, tmp_path / "b", tmp_path / "a", "--prefer", "text")
    assert "decode_step 30 against decode_step 31" in findings(found)["sampled.generate_sequences"][1]
    assert {row["name"] for row in found["sections"]["phases"]} == {"generate_sequences", "(outside)"}
