"""Metrics that are compared in parts, because there are very many values, are compared as all at once."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from rlcompare.compare import rollups
from rlcompare.model.diff import Diff
from tests.sql.rollup_stores import RollupStore, compared

NAMES = [
    "timing_s/step", "timing_s/gen", "timing_s/update_actor", "timing_s/zzz_of_a_user", "critic/rewards/mean",
    "actor/entropy", "actor/grad_norm", "val-core/math/reward/mean@1", "response_length/max", "response_length/mean",
    "custom/of a user", "global_seqlen/mean", "prometheus/vllm:num_preemptions_total",
]  # fmt: skip


def logged(path: Path, seed: int, slower: float) -> Path:
    noise, store = Random(seed), RollupStore(path)
    for step in range(1, 41):
        for name in NAMES:
            value = (10 if name == "timing_s/step" else 3) * noise.uniform(0.95, 1.05)
            value *= slower if name.startswith("timing_s/") else 1
            if name == "timing_s/gen" and step == 30:
                value *= 4  # a step that is long
            given = {"source": "file", "profiled": step % 10 == 0}
            store.add("metric", step=step, name=name, value=value, **given)
    return store.done()


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("stores")
    return logged(folder / "baseline.duckdb", 1, 1.0), logged(folder / "new.duckdb", 2, 1.2)


def of_parts(paths: tuple[Path, Path], most: int) -> Diff:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rollups, "MOST_VALUES", most)
        patched.setattr(rollups, "VALUES_PER_NAME", 0)
        return compared(*paths)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 100, 161, 900])
def test_parts_change_nothing(paths: tuple[Path, Path], most: int) -> None:
    assert of_parts(paths, most) == of_parts(paths, 10**6)


def test_there_are_several_parts(paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[tuple[str, str]]] = []
    divide = rollups.Rollups._divide_metrics

    def divided(self: rollups.Rollups) -> None:
        divide(self)
        found.append(self._parts)

    monkeypatch.setattr(rollups.Rollups, "_divide_metrics", divided)
    of_parts(paths, 161)  # a metric has 40 values on each side
    ((*parts,),) = found
    assert len(parts) > 5
    assert [name for part in parts for name in part] == sorted(name for part in parts for name in part)
    assert {parts[0][0], parts[-1][1]} == {min(NAMES), max(NAMES)}
