"""Each injected change is visible where expected, and nowhere else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rlcompare.errors import UsageError
from rlcompare.writer import Change, SampleRun, parse_change, write_sample
from tests.unit.writer_readers import Database, union_length

_SMALL: dict[str, Any] = {"steps": (2,), "layers": 2, "decode_steps": 2}


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> list[Database]:
    """Both ranks of an unchanged run."""
    return [Database(path) for path in write_sample(SampleRun(**_SMALL), tmp_path_factory.mktemp("base") / "run")]


def _changed(tmp_path: Path, *changes: Change, **fields: Any) -> list[Database]:
    run = SampleRun(**{**_SMALL, **fields}, changes=changes)
    return [Database(path) for path in write_sample(run, tmp_path / "run")]


def _durations(database: Database) -> list[tuple[str, int]]:
    """Kernels in the order of their launches; that of their starts depends on the load of two streams."""
    kernels = sorted(database.kernels(), key=lambda kernel: kernel["connectionId"])
    return [(k["opType"], k["endNs"] - k["startNs"]) for k in kernels]


def _milliseconds(database: Database, column: str) -> float:
    (row,) = database.analysis("StepTraceTime")
    return float(row[column]) / 1000


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    run = SampleRun(ranks=(0,), layers=1, decode_steps=1, export="both", jitter=0.05)
    files = []
    for name in ("first", "second"):
        write_sample(run, tmp_path / name)
        root = tmp_path / name
        files.append({p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()})
    assert files[0] == files[1]


def test_another_seed_gives_other_noise_names_and_times(baseline: list[Database], tmp_path: Path) -> None:
    other = _changed(tmp_path, seed=1)[0]
    assert _durations(other) != _durations(baseline[0])
    assert other.rows("SESSION_TIME_INFO") != baseline[0].rows("SESSION_TIME_INFO")
    assert {row["name"] for row in other.collectives()}.isdisjoint(row["name"] for row in baseline[0].collectives())


def test_jitter_changes_durations_a_little(baseline: list[Database], tmp_path: Path) -> None:
    jittered = _changed(tmp_path, jitter=0.01)[0]
    pairs = list(zip(_durations(baseline[0]), _durations(jittered), strict=True))
    assert pairs and all(a[0] == b[0] and abs(b[1] / a[1] - 1) <= 0.012 for a, b in pairs)
    assert any(a != b for a, b in pairs)


def test_a_slower_operator_slows_only_its_own_kernels(baseline: list[Database], tmp_path: Path) -> None:
    for before, after in zip(baseline, _changed(tmp_path, Change.slower("MatMulV2", 1.3)), strict=True):
        for (kind, old), (same_kind, new) in zip(_durations(before), _durations(after), strict=True):
            assert kind == same_kind
            assert abs(new - old * (1.3 if kind == "MatMulV2" else 1)) <= 1.2  # both are rounded


def test_an_extra_operator_comes_once_per_layer_and_pass(baseline: list[Database], tmp_path: Path) -> None:
    after = _changed(tmp_path, Change.extra("Sort"))[0]
    before = Counter(_durations(baseline[0]))
    added = Counter(_durations(after)) - before
    assert not before - Counter(_durations(after))
    passes = 1 + 2 + 2 + 1  # prefill, decode steps, two log-probabilities, update
    assert {kind for kind, _ in added} == {"Sort"}
    assert added.total() == 2 * passes


def test_a_late_rank_makes_the_others_wait(baseline: list[Database], tmp_path: Path) -> None:
    on_time, late = _changed(tmp_path, Change.late(1, 5_000_000))
    assert _milliseconds(on_time, "computing") == pytest.approx(_milliseconds(baseline[0], "computing"))
    waited = _milliseconds(on_time, "communication") - _milliseconds(baseline[0], "communication")
    assert waited == pytest.approx(5, abs=0.05)
    longer = _milliseconds(late, "communication") - _milliseconds(baseline[1], "communication")
    assert longer == pytest.approx(0, abs=0.05)
    idle = _milliseconds(late, "free") - _milliseconds(baseline[1], "free")
    assert idle == pytest.approx(5, abs=0.05)
    assert max(row["startNs"] for row in late.collectives()) > max(row["startNs"] for row in baseline[1].collectives())


def test_a_late_rank_need_not_be_profiled(tmp_path: Path) -> None:
    (alone,) = _changed(tmp_path / "alone", ranks=(0,), world_size=4)
    (waiting,) = _changed(tmp_path / "waiting", Change.late(3, 5_000_000), ranks=(0,), world_size=4)
    waited = _milliseconds(waiting, "communication") - _milliseconds(alone, "communication")
    assert waited == pytest.approx(5, abs=0.05)


def test_a_lower_frequency_stretches_all_kernels(baseline: list[Database], tmp_path: Path) -> None:
    after = _changed(tmp_path, Change.frequency(0.8))[0]
    assert {row["freq"] for row in after.rows("AICORE_FREQ")} == {1440}
    assert {row["freq"] for row in baseline[0].rows("AICORE_FREQ")} == {1800}
    for (_, old), (_, new) in zip(_durations(baseline[0]), _durations(after), strict=True):
        assert new == pytest.approx(old / 0.8, abs=1)


def test_lost_overlap_leaves_no_collective_under_compute(baseline: list[Database], tmp_path: Path) -> None:
    after = _changed(tmp_path, Change.lost_overlap())[0]
    assert _milliseconds(baseline[0], "overlapped") > 0.5
    assert _milliseconds(after, "overlapped") == 0
    assert _milliseconds(after, "computing") == pytest.approx(_milliseconds(baseline[0], "computing"))


def test_more_tokens_mean_more_decode_steps_and_larger_shapes(baseline: list[Database], tmp_path: Path) -> None:
    after = _changed(tmp_path, Change.tokens(1.5))[0]

    def paged(database: Database) -> int:
        return sum(kind == "PagedAttention" for kind, _ in _durations(database))

    assert (paged(baseline[0]), paged(after)) == (2 * 2, 3 * 2)
    shapes = {k["inputShapes"] for k in after.kernels() if k["opType"] == "FlashAttentionScoreGrad"}
    assert shapes == {'"' + ";".join(["4,704,1024"] * 4) + '"'}  # 128 + 1.5 × 384 tokens
    assert _milliseconds(after, "computing") > 1.3 * _milliseconds(baseline[0], "computing")


def test_a_higher_memory_peak(baseline: list[Database], tmp_path: Path) -> None:
    def peak(database: Database) -> int:
        return int(max(row["totalAllocated"] for row in database.rows("MEMORY_RECORD")))

    after = _changed(tmp_path, Change.memory(1.5))[0]
    assert peak(after) / peak(baseline[0]) == pytest.approx(1.5, rel=1e-3)
    assert _durations(after) == _durations(baseline[0])


def test_compute_and_communication_overlap_only_in_part(baseline: list[Database]) -> None:
    """The baseline has something of everything, so that a change in any part can show."""
    for database in baseline:
        kernels = [(k["startNs"], k["endNs"]) for k in database.kernels()]
        assert union_length(kernels) <= sum(end - start for start, end in kernels)
        for column in ("computing", "overlapped", "communication_not_overlapped", "free", "preparing"):
            assert _milliseconds(database, column) > 0.1


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("slower:MatMulV2:1.3", Change.slower("MatMulV2", 1.3)),
        ("extra:Sort", Change.extra("Sort")),
        ("late:1:5ms", Change.late(1, 5_000_000)),
        ("late:0:2.5us", Change.late(0, 2_500)),
        ("frequency:0.8", Change.frequency(0.8)),
        ("lost-overlap", Change.lost_overlap()),
        ("tokens:1.5", Change.tokens(1.5)),
        ("memory:2", Change.memory(2)),
    ],
)
def test_changes_are_spelled_as_the_command_line_says(text: str, change: Change) -> None:
    assert parse_change(text) == change


@pytest.mark.parametrize(
    "text",
    [
        "",
        "faster:MatMulV2:2",
        "slower:MatMulV2",
        "slower::2",
        "late:1:5",
        "late:x:5ms",
        "frequency:0",
        "lost-overlap:1",
    ],
)
def test_a_misspelled_change_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="change"):
        parse_change(text)


@pytest.mark.parametrize(
    "fields",
    [
        {"level": "level9"},
        {"phases": ("update_actor", "compute_log_prob")},
        {"ranks": ()},
        {"ranks": (0, 0)},
        {"steps": (3, 2)},
        {"ranks": (7,), "world_size": 4},
        {"devices": ((0,),)},
        {"changes": (Change.late(2, 1),)},
        {"contents": ("disk",)},
    ],
)
def test_an_impossible_run_is_a_usage_error(fields: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        SampleRun(**fields)


def test_a_kernel_type_that_is_not_there_cannot_be_slower(tmp_path: Path) -> None:
    run = SampleRun(ranks=(0,), layers=1, decode_steps=1, changes=(Change.slower("Conv2D", 2),))
    with pytest.raises(UsageError, match=r"no Conv2D in the model; choose from .*MatMulV2"):
        write_sample(run, tmp_path / "run")
    assert not list(tmp_path.iterdir())
