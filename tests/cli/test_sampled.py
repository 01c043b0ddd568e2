"""Profiles with a few ticks sampled by rlcompare: their phase, and that both sides have the same ticks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.slow
def test_a_sample_is_of_the_phase_that_it_says(rlcompare: Command, tmp_path: Path) -> None:
    base, new = sampled(tmp_path / "a", 30, 31), sampled(tmp_path / "b", 30, 31)
    found = document(rlcompare, new, base)
    assert [(row["name"], row["role"]) for row in found["sections"]["phases"]] == [("generate_sequences", "rollout")]
    assert found["new"]["env"]["sampled.generate_sequences"] == "decode_step 30-31"
    assert findings(found) == {}


def described(folder: Path, *captures: Path) -> Path:
    """The run directory that holds these captures of training step 12."""
    entries = [{"path": path.relative_to(folder).as_posix(), "step": 12} for path in captures]
    (folder / "run.json").write_text(json.dumps({"schema": "rlcompare.run/1", "captures": entries}), encoding="utf-8")
    return folder


def shown(rlcompare: Command, path: Path, *options: object) -> dict[str, Any]:
    outcome = rlcompare("show", path, "--json", *options)
    assert (outcome.code, outcome.err) == (0, "")
    return dict(json.loads(outcome.out))


@pytest.mark.slow
def test_a_tick_is_no_training_step_even_if_it_has_the_number_of_one(rlcompare: Command, tmp_path: Path) -> None:
    # GIVEN training step 12 with decode steps 11 and 12 of its rollout, 10 ms of matrix multiplication each
    decode = [(f"ProfilerStep#{tick}", 20_000 * (tick - 10)) for tick in (11, 12)]
    events = [event for name, at in decode for event in (mark(name, at, 15_000), op("aten::mm", at + 1000, 10_000))]
    rollout, actor = tmp_path / "profile/rollout_generate/a_1.json", tmp_path / "profile/actor_update/b_2.json"
    for path in (rollout, actor):
        path.parent.mkdir(parents=True)
    write(rollout, trace(*events, rlcompare={**DECODE, "step": 12, "sampled": [11, 12]}))
    # and all of its update, 100 ms
    said = {"role": "actor", "phase": "update_actor", "step": 12, "rank": 0}
    write(actor, trace(mark("update_actor", 200_000, 100_000), op("aten::mm", 200_000, 100_000), rlcompare=said))
    # WHEN it is shown, THEN it is one step with both in it, and that a part is a sample is said
    run = described(tmp_path, rollout, actor)
    for options in ((), ("--step", "12")):
        found = shown(rlcompare, run, *options)
        assert [row["step"] for row in found["steps"]] == [12]
        assert found["steps"][0]["compute_ms"] == 120
        (said_of_it,) = [row["message"] for row in found["quality"] if "sample" in row["message"]]
        assert "of generate_sequences only a sample was recorded: its times cover decode_step 11-12" in said_of_it
    assert rlcompare("show", run, "--step", "11").code == 2


@pytest.mark.slow
def test_ticks_of_an_npu_are_no_training_steps(rlcompare: Command, samples: Path, tmp_path: Path) -> None:
    shutil.copytree(samples / "base", tmp_path / "run")
    captures = sorted((tmp_path / "run").rglob("*_ascend_pt"))
    for capture in captures:
        path = capture / "profiler_metadata.json"
        known = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**known, "rlcompare": {**DECODE, "sampled": [30]}}), encoding="utf-8")
    run = described(tmp_path / "run", *captures)
    whole = shown(rlcompare, samples / "base")["steps"]
    assert [row["step"] for row in whole] != [12]
    for prefer in ("db", "text"):
        found = shown(rlcompare, run, "--prefer", prefer)
        assert [row["step"] for row in found["steps"]] == [12]
        assert found["steps"][0]["compute_ms"] > 0


@pytest.mark.slow
def test_the_side_says_that_its_steps_are_parts_of_one(rlcompare: Command, tmp_path: Path) -> None:
    base, new = sampled(tmp_path / "a", 30, 31), side(tmp_path / "b", None)
    lines = {line[:12].strip(): line for line in rlcompare("diff", "-d", new, "-bp", base).out.splitlines()}
    assert "1 step, generate_sequences: decode_step 30-31 only" in lines["baseline"]
    assert "step" in lines["new"] and "alone" not in lines["new"]


@pytest.mark.slow
def test_other_samples_are_not_compared_unless_it_was_meant(rlcompare: Command, tmp_path: Path) -> None:
    base, new = sampled(tmp_path / "a", 30, 31), sampled(tmp_path / "b", 40, 41)
    outcome = rlcompare("gate", "-d", new, "-bp", base)
    assert outcome.code == 5
    assert "decode_step 30-31 against decode_step 40-41" in outcome.out
    declared = document(rlcompare, new, base, "--varied", "sampled")
    assert findings(declared)["sampled.generate_sequences"][0] == "info"


@pytest.mark.slow
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
