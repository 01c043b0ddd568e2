"""Which of the runs that a user gives are repetitions of each other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from rlcompare import resources
from rlcompare.compare.replicates import counted
from rlcompare.model.diff import OF_WORK, STEP_FREEDOM, STEP_NOISE
from rlcompare.report.document import from_document
from rlcompare.sql_header import read_header
from tests.run_directories import STEPS, description, lines, write_run
from tests.sources.torch_traces import kernel, launch, op, trace, write

from .conftest import Command


def times(number: int) -> dict[str, Any]:
    """Values by which the runs differ as repetitions do."""
    return {"update_actor": 0.1 + 0.001 * number}


def started(number: int) -> str:
    return f"2026-11-20T{number:02}:00:00.000+00:00"


def compared(rlcompare: Command, new: Path, baseline: Path, *options: object) -> dict[str, Any]:
    outcome = rlcompare("diff", "-d", new, "-bp", baseline, "--json", *options)
    assert outcome.code == 0, outcome.err
    return dict(json.loads(outcome.out))


def messages(document: dict[str, Any]) -> dict[str, list[str]]:
    said: dict[str, list[str]] = {}
    for finding in document["quality"]:
        if finding["key"].startswith("runs."):
            said.setdefault(finding["key"], []).append(finding["message"])
    return said


@pytest.mark.slow
def test_what_is_no_repetition_is_said_and_not_counted(rlcompare: Command, tmp_path: Path) -> None:
    base, new = tmp_path / "base", tmp_path / "new"
    other = {"torch": "2.12.0", "torch_npu": None, "cann": None, "python": "3.11.4"}
    for number in range(3):  # interleaved with those of the other side
        write_run(base / f"run{number + 1}", description(started=started(2 * number)), **times(number))
    differing: list[dict[str, Any]] = [{}, {}, {"status": "failed"}, {"versions": other}, {"seed": 9}]
    for number, differs in enumerate(differing):
        run = description(**{"started": started(2 * number + 1), **differs})
        write_run(new / f"run{number + 1}", run, **times(number))
    write_run(new / "run6", description(started=started(9)), **times(5))
    (new / "run6/metrics.jsonl").write_text("\n".join(lines(steps=8, **times(5))) + "\n")
    # GIVEN a copy under another name, with another run.json
    shutil.copytree(base / "run1", base / "again")
    (base / "again/run.json").write_text(json.dumps(description(started=started(8))))

    document = compared(rlcompare, new, base)

    # THEN the copy is not used, and the others do not count
    assert [(run["name"], run["left_out"]) for run in document["baseline"]["runs"]] == [
        ("again", ""), ("run2", ""), ("run3", ""),
    ]  # fmt: skip
    assert [(run["name"], run["left_out"]) for run in document["new"]["runs"]] == [
        ("run1", ""), ("run2", ""), ("run3", "the run failed"), ("run4", "torch is 2.12.0, not 2.13.0"), ("run5", ""),
        ("run6", f"it has 8 of {STEPS} steps"),
    ]  # fmt: skip
    said = messages(document)
    assert said["runs.copy"] == [
        "Baseline: run1 has the same content as again: it is a copy, not a repetition, and is not used."
    ]
    assert len(said["runs.failed"]) == len(said["runs.settings"]) == len(said["runs.shorter"]) == 1
    assert "do not count run6 as a repetition of the other 3 runs: it has 8 of 12 steps" in said["runs.shorter"][0]
    diff = from_document(document)
    assert (counted(diff, "baseline"), counted(diff, "new")) == ((0, 1, 2), (0, 1, 4))
    # AND all of them keep their samples, and the one that ended early is still a sign of trouble
    speed = diff.metric("timing_s/step")
    assert speed is not None
    assert [len(speed.samples[side]) for side in ("baseline", "new")] == [3, 6]
    assert "run_failed" in {finding["key"] for finding in document["quality"]}


@pytest.mark.slow
def test_a_run_of_both_sides_is_said(rlcompare: Command, tmp_path: Path) -> None:
    """An old artifact, or a wrong path: it would pass without a word."""
    for number in range(3):
        write_run(tmp_path / f"base/run{number}", description(), **times(number))
    write_run(tmp_path / "new/run0", description(), **times(7))
    shutil.copytree(tmp_path / "base/run1", tmp_path / "new/run1")

    document = compared(rlcompare, tmp_path / "new", tmp_path / "base")
    same = rlcompare("gate", "-bp", tmp_path / "base/run0", "-d", tmp_path / "base/run0")

    assert messages(document)["runs.same"] == [
        "New side: run1 has the same content as run1 of the baseline, and cannot show a change: check the paths."
    ]
    assert "has the same content as" in same.out


@pytest.mark.slow
def test_verdicts_do_not_count_them(rlcompare: Command, tmp_path: Path) -> None:
    # GIVEN a new side of which one run failed, and took twice as long until then
    for number in range(3):
        write_run(tmp_path / f"a/run{number}", description(), **times(number))
        write_run(tmp_path / f"b/run{number}", description(), **times(number + 3))
    write_run(tmp_path / "b/run3", description("failed"), update_actor=4.0)

    outcome = rlcompare("gate", "-bp", tmp_path / "a", "-d", tmp_path / "b", "--json")

    (speed,) = [found for found in json.loads(outcome.out)["verdicts"] if found["metric"] == "timing_s/step"]
    assert (outcome.code, speed["status"]) == (0, "pass"), outcome.err
    assert speed["new"] == pytest.approx(0.264), "the mean of the runs that count"


@pytest.mark.slow
@pytest.mark.parametrize("crashed_side", ["base", "new"])
def test_what_steps_tell_is_told_by_the_runs_that_count(rlcompare: Command, tmp_path: Path, crashed_side: str) -> None:
    """A run that crashed while its responses were short changes neither equal work, nor luck, nor a verdict."""
    for side, slower in (("base", 1.0), ("new", 1.09)):
        for number in range(3):
            write_job(tmp_path / side / f"run{number}.jsonl", number + (10 if side == "new" else 0), 100, slower)
    alone = compared(rlcompare, tmp_path / "new", tmp_path / "base")
    passed = rlcompare("gate", "-bp", tmp_path / "base", "-d", tmp_path / "new")

    write_job(tmp_path / crashed_side / "run8.jsonl", 8, 30, 1.0)
    write_job(tmp_path / crashed_side / "run9.jsonl", 9, 2, 1.0)
    document = compared(rlcompare, tmp_path / "new", tmp_path / "base")
    again = rlcompare("gate", "-bp", tmp_path / "base", "-d", tmp_path / "new")

    assert len(messages(document)["runs.shorter"]) == 2
    assert set(of_steps(document)["timing_s/step"]) == {"of_work", "step_noise", "step_freedom"}
    assert of_steps(document) == of_steps(alone)
    assert (passed.code, again.code) == (1, 1), again.out


def write_job(path: Path, seed: int, steps: int, slower: float) -> None:
    """A log of training whose responses get longer, and whose times follow them."""
    random = Random(seed)
    made = []
    for step in range(1, steps + 1):
        length = 450 + 3.0 * step + random.gauss(0, 20)
        gen = slower * (4.0 + 0.01 * length + random.gauss(0, 0.05))
        update = slower * (2.0 + 0.006 * length + random.gauss(0, 0.05))
        tokens = {"response_length/mean": length, "response_length/max": 2 * length, "prompt_length/mean": 200.0}
        times = {"timing_s/gen": gen, "timing_s/update_actor": update, "timing_s/step": gen + update + 0.2}
        made.append({"step": step, "data": times | tokens | {"perf/total_num_tokens": 128 * (length + 200)}})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in made))


def of_steps(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What steps tell about each metric."""
    keys = (OF_WORK, STEP_NOISE, STEP_FREEDOM)
    found = {
        metric["metric"]: {key: metric["evidence"][key] for key in keys if key in metric["evidence"]}
        for metric in document["overall"]
    }
    return {metric: told for metric, told in found.items() if told}


def test_a_side_of_failed_runs_alone_is_judged_by_them(rlcompare: Command, tmp_path: Path) -> None:
    for number in range(2):
        write_run(tmp_path / f"a/run{number}", description("failed"), **times(number))
        write_run(tmp_path / f"b/run{number}", description(), **times(number + 2))
    document = compared(rlcompare, tmp_path / "b", tmp_path / "a")
    assert [run["left_out"] for run in document["baseline"]["runs"]] == ["", ""]
    assert "runs.failed" not in messages(document)


def test_an_early_end_still_shows(rlcompare: Command, tmp_path: Path) -> None:
    config = {"trainer": {"total_training_steps": STEPS}}
    for number in range(2):
        write_run(tmp_path / f"a/run{number}", description(config=config), **times(number))
        write_run(tmp_path / f"b/run{number}", description(config=config), **times(number + 2))
    (tmp_path / "b/run1/metrics.jsonl").write_text("\n".join(lines(steps=5, **times(4))) + "\n")
    document = compared(rlcompare, tmp_path / "b", tmp_path / "a")
    assert [run["left_out"] for run in document["new"]["runs"]] == ["", f"it has 5 of {STEPS} steps"]
    assert [symptom["key"] for symptom in document["symptoms"]] == ["health.ends_early"]


def test_a_crashed_run_of_the_baseline_excuses_no_early_end(rlcompare: Command, tmp_path: Path) -> None:
    config = {"trainer": {"total_training_steps": STEPS}}
    for side, lengths in (("a", (STEPS, STEPS, 3)), ("b", (7, 7))):
        for number, steps in enumerate(lengths):
            write_run(tmp_path / f"{side}/run{number}", description(config=config), **times(number + len(lengths)))
            path = tmp_path / f"{side}/run{number}/metrics.jsonl"
            path.write_text("\n".join(lines(steps=steps, **times(number + len(lengths)))) + "\n")
    document = compared(rlcompare, tmp_path / "b", tmp_path / "a")
    assert [bool(run["left_out"]) for run in document["baseline"]["runs"]] == [False, False, True]
    (early,) = [symptom for symptom in document["symptoms"] if symptom["side"] == "new"]
    assert (early["key"], early["severity"], early["baseline"]) == ("health.ends_early", "error", STEPS)


def test_runs_know_when_they_started(rlcompare: Command, tmp_path: Path) -> None:
    """From run.json, else from times in the log that have a zone."""
    write_run(tmp_path / "a/run1", description(started="2026-11-20T09:00:00+08:00"), **times(0))
    write_run(tmp_path / "a/run2", description(started="2026-11-20T09:00:00"), **times(1))
    log = tmp_path / "b/job.log"
    log.parent.mkdir()
    printed = [f"2026-11-20T0{step}:30:00Z step:{step} - timing_s/step:1.0{step} - timing_s/gen:0.5" for step in (1, 2)]
    log.write_text("\n".join(printed) + "\n")
    document = compared(rlcompare, log, tmp_path / "a")
    assert [run["started"] for run in document["baseline"]["runs"]] == ["2026-11-20T01:00:00.000+00:00", None]
    assert [run["started"] for run in document["new"]["runs"]] == ["2026-11-20T01:30:00.000+00:00"]


def test_other_commits_are_named(rlcompare: Command, tmp_path: Path) -> None:
    for side, commit in (("a", "1" * 40), ("b", "2" * 40)):
        verl = {"commit": commit, "dirty": side == "b"}
        versions = {"vllm": "0.11.0" if side == "a" else "0.12.0", "verl": "0.7.1"}
        write_run(tmp_path / side, description(versions=versions, commits={"verl": verl}), **times(0))
    document = compared(rlcompare, tmp_path / "b", tmp_path / "a")
    found = {finding["key"]: finding for finding in document["comparability"]["findings"]}
    assert found["commit.verl"]["message"] == f"commit.verl differs: {'1' * 12} against {'2' * 12} with changes."
    assert {found[key]["severity"] for key in ("commit.verl", "vllm")} == {"info"}
    assert {row["name"] for row in document["sections"]["env"]} >= {"commit.verl", "vllm", "verl"}


def test_jobs_of_one_log_are_no_copies(rlcompare: Command, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    steps = [(job, step) for job in (0, 1) for step in range(1, 9)]
    log.write_text("".join(f"step:{step} - timing_s/step:{1 + step / 10 + job}\n" for job, step in steps))
    write_run(tmp_path / "a", **times(0))
    outcome = rlcompare("diff", "-bp", tmp_path / "a", "-d", f"{log}/1", "-d", f"{log}/2", "--json")
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    assert len(document["new"]["runs"]) == 2
    assert "runs.copy" not in messages(document)


@pytest.mark.slow
def test_a_copied_folder_of_one_rank_is_no_second_run(rlcompare: Command, tmp_path: Path) -> None:
    side = tmp_path / "side"
    assert rlcompare("sample", "-o", side).code == 0
    (rank, *_) = sorted(side.glob("*_ascend_pt"))
    shutil.copytree(rank, side / f"a copy of {rank.name}")
    outcome = rlcompare("diff", "-bp", side, "-d", side, "--json")
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    assert [run["ranks"] for run in document["new"]["runs"]] == [2]
    assert "has the same content as a part of" in " ".join(messages(document)["runs.copy"])


def middle_changed(path: Path, old: str, new: str) -> None:
    """Changes one value in the middle of a file, of which the first and last 64 KiB and the size stay the same."""
    text = path.read_text()
    place = text.index(old, len(text) // 2)
    assert 64 * 1024 < place < len(text) - 64 * 1024 - len(old)
    assert len(old) == len(new)
    path.write_text(text[:place] + new + text[place + len(old) :])


@pytest.fixture
def long_run(tmp_path: Path) -> Path:
    """A run with a log of 400 KiB."""
    return write_run(tmp_path / "long", description(), steps=1000, gen=lambda step: 0.1 + step / 1e6)


@pytest.mark.slow
@pytest.mark.parametrize("as_stores", [False, True])
def test_files_that_differ_in_the_middle_are_no_copies(
    rlcompare: Command, tmp_path: Path, long_run: Path, as_stores: bool
) -> None:
    # GIVEN a run, its copy, and one with another value in one step
    runs = [long_run, tmp_path / "again", tmp_path / "other"]
    for folder in runs[1:]:
        shutil.copytree(long_run, folder)
    middle_changed(runs[2] / "metrics.jsonl", '"timing_s/gen": 0.100', '"timing_s/gen": 7.100')
    if as_stores:  # the runs themselves are gone
        for number, folder in enumerate(runs):
            runs[number] = folder.with_suffix(".duckdb")
            assert rlcompare("ingest", folder, "-o", runs[number]).code == 0
            shutil.rmtree(folder)

    between = compared(rlcompare, runs[2], runs[0])
    of_copy = compared(rlcompare, runs[1], runs[0])
    one_side = compared(rlcompare, runs[0], runs[0], "-bp", runs[2], "-bp", runs[1])

    assert "runs.same" not in messages(between)
    assert len(messages(of_copy)["runs.same"]) == 1
    assert [run["name"] for run in one_side["baseline"]["runs"]] == ["long", "other"]
    assert messages(one_side)["runs.copy"] == [
        "Baseline: again has the same content as long: it is a copy, not a repetition, and is not used."
    ]


@pytest.mark.slow
def test_a_rank_that_differs_in_the_middle_is_no_part(rlcompare: Command, tmp_path: Path) -> None:
    for rank in (0, 1):
        events = [
            event
            for number, start in enumerate(range(0, 200_000, 100), 1)
            for event in (op("aten::mm", start, 20), launch(number, start + 2), kernel(number, start + 10, 25 + rank))
        ]
        write(tmp_path / f"whole/{rank}.json", trace(*events, distributedInfo={"rank": rank, "world_size": 2}))
    for folder in ("part", "other"):
        (tmp_path / folder).mkdir()
        shutil.copy(tmp_path / "whole/1.json", tmp_path / folder)
    middle_changed(tmp_path / "other/1.json", '"dur": 26', '"dur": 66')
    whole = tmp_path / "whole"

    part = compared(rlcompare, whole, whole, "-d", tmp_path / "part", "-d", tmp_path / "other")

    assert messages(part)["runs.copy"] == [
        "New side: part has the same content as a part of whole: it is a copy, not a repetition, and is not used."
    ]
    assert [run["name"] for run in part["new"]["runs"]] == ["whole", "other"]


def test_all_that_a_comparison_reads_tells_copies_from_others() -> None:
    described = {"capture", "env", "finding", "meta"}
    tables = {path.rpartition("/")[2] for name in ("run", "rollup") for path in resources.sql_names(f"schema/{name}")}
    queries = [path for folder in ("compare/load", "compare") for path in resources.sql_names(folder)]
    read = {name for path in queries for name in read_header(resources.sql(path)).depends_on}
    told = read_header(resources.sql("compare/setup/measured")).depends_on
    assert set(told) == (read & tables) - described
