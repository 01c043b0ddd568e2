"""``rlcompare run --against``: both sides of a comparison, in turn, on one machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from rlcompare.collect.reference import against
from rlcompare.collect.reference.config.load import load_config, to_dict
from rlcompare.collect.reference.launch import Launch
from rlcompare.errors import UsageError
from tests.collect.stepping import SMALL

RLCOMPARE = (sys.executable, "-c", "from rlcompare.cli.main import main; main()")
FAST = (*SMALL, "trainer.total_training_steps=2", "trainer.warmup_steps=1", "global_profiler.steps=null")


def written(request: Launch, status: str = "complete") -> None:
    """What a run leaves, without running it."""
    run = {"status": status, "config": to_dict(request.config), "steps": {"plain": [2]}, "started": 1}
    (request.folder / "run.json").write_text(json.dumps(run))
    lines = [json.dumps({"step": step, "data": {"timing_s/step": 0.5 * step}}) for step in (1, 2)]
    (request.folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Launch]:
    """The runs that were launched: each leaves its files at once."""
    launched: list[Launch] = []

    def launch(request: Launch) -> None:
        launched.append(request)
        written(request)

    monkeypatch.setattr(against, "launch", launch)
    return launched


Series = Callable[..., list[str]]


@pytest.fixture
def series(tmp_path: Path, made: list[Launch]) -> Series:
    """Makes a series of two runs a side, and returns its lines."""

    def call(*overrides: str, runs: int = 2, force: bool = False) -> list[str]:
        said: list[str] = []
        config = load_config([*FAST, *overrides])
        base = load_config([*FAST, "data.seed=77"])
        planned = against.plan(tmp_path / "ab", (base, ()), (config, overrides), runs, force)
        against.make(planned, said.append)
        return said

    return call


def test_the_sides_take_turns_with_the_same_seeds(series: Series, made: list[Launch], tmp_path: Path) -> None:
    said = series("algorithm.adv_estimator=grpo")
    assert [str(request.folder.relative_to(tmp_path)) for request in made] == [
        "ab/baseline/run1", "ab/new/run1", "ab/new/run2", "ab/baseline/run2",
    ]  # fmt: skip
    assert [request.config.data.seed for request in made] == [1, 1, 2, 2]
    assert all(request.fresh for request in made)
    assert said[0] == "1 of 4: baseline run1 · timing_s/step 1 s (1 step)"


def test_an_interrupted_series_is_continued(series: Series, made: list[Launch], tmp_path: Path) -> None:
    series()
    # GIVEN one run that was killed, and one that never began
    written(made[1], status="incomplete")
    for file in made[3].folder.iterdir():
        file.unlink()
    first = [*made]
    made.clear()

    said = series()

    assert [request.folder for request in made] == [first[1].folder, first[3].folder]
    assert [line.endswith("kept") for line in said] == [True, False, True, False]
    # AND more runs a side may be asked for, fewer may not, nor may the configuration change
    made.clear()
    series(runs=3)
    assert [request.folder.name for request in made] == ["run3", "run3"]
    with pytest.raises(UsageError, match="already contains a run, which would count"):
        series(runs=2)
    with pytest.raises(UsageError, match=r"new/run1 holds a run of another configuration"):
        series("data.train_batch_size=8", runs=3)
    made.clear()
    series("data.train_batch_size=8", runs=3, force=True)
    assert len(made) == 6


def test_what_a_baseline_may_be(tmp_path: Path) -> None:
    config = load_config([*FAST, "data.train_batch_size=8", "trainer.experiment_name=a\\${b}"])
    folder = tmp_path / "base"
    (folder / "run1").mkdir(parents=True)
    run = {"config": to_dict(config), "config_overrides": ["data.train_batch_size=8"]}
    (folder / "run1/run.json").write_text(json.dumps(run))
    for path in (folder, folder / "run1", folder / "run1/run.json"):
        assert against.baseline_config(path) == (config, ("data.train_batch_size=8",))
    (tmp_path / "small.yaml").write_text("data: {train_batch_size: 4}\n")
    assert against.baseline_config(tmp_path / "small.yaml")[0].data.train_batch_size == 4
    for odd in ({**run, "launcher": "verl"}, {"config": 7}, {"config": {"data": {"no_such_key": 1}}}):
        (folder / "run1/run.json").write_text(json.dumps(odd))
        with pytest.raises(UsageError):
            against.baseline_config(folder)


def test_the_new_side_has_the_configuration_of_the_baseline(tmp_path: Path) -> None:
    """Except for the user's keys, and what follows from them."""
    own = [*FAST, "actor_rollout_ref.actor.clip_ratio=0.3", "actor_rollout_ref.actor.clip_ratio_high=0.3"]
    base = load_config([*own, "data.train_batch_size=8"])
    # GIVEN a run that had a batch size from a file, and the rest from the command line
    recorded = tmp_path / "run.json"
    recorded.write_text(json.dumps({"config": to_dict(base), "config_overrides": own}))

    assert against.new_config(tmp_path, [])[0] == base
    new, overrides = against.new_config(tmp_path, [changed := "actor_rollout_ref.actor.clip_ratio=0.25"])

    # THEN the lower bound follows, and the upper one stays as it was asked for
    assert new == load_config([*own, "data.train_batch_size=8", changed])
    assert against.differences_text(base, new) == (
        "actor_rollout_ref.actor.clip_ratio 0.3 → 0.25, actor_rollout_ref.actor.clip_ratio_low 0.3 → 0.25"
    )
    assert overrides == [*own, changed]
    (tmp_path / "base.yaml").write_text("data: {train_batch_size: 4}\n")
    assert against.new_config(tmp_path / "base.yaml", [changed])[0] == load_config(["data.train_batch_size=4", changed])
    assert against.differences_text(base, base) == "nothing: both sides have the same configuration"


@pytest.mark.thorough
@pytest.mark.slow
def test_a_real_series(tmp_path: Path) -> None:
    """Both sides are real runs, each in a process of its own, and what is printed at the end judges them."""
    (tmp_path / "base.yaml").write_text("actor_rollout_ref: {actor: {ppo_epochs: 1}}\n")
    changed = "actor_rollout_ref.actor.ppo_epochs=2"
    command = [*RLCOMPARE, "run", "--against", "base.yaml", "-n", "1", "-o", "a b", *FAST, changed]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    first, *lines, last = done.stdout.splitlines()
    assert first.startswith("differs     ")
    assert "actor_rollout_ref.actor.ppo_epochs 1 → 2" in first
    assert [line.split(" · ")[0] for line in lines] == ["1 of 2: baseline run1", "2 of 2: new run1"]
    assert last == "next        rlcompare gate -d 'a b/new' -bp 'a b/baseline'"
    runs = [json.loads((tmp_path / "a b" / side / "run1/run.json").read_text()) for side in ("baseline", "new")]
    assert [run["config"]["actor_rollout_ref"]["actor"]["ppo_epochs"] for run in runs] == [1, 2]
    assert runs[0]["started"] < runs[0]["ended"] <= runs[1]["started"]
