"""Whether a trainer ever starts verl's profiler is read from its source, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rlcompare.collect.verl.asked import Trainers, source_of

TRAINER, EXPERIMENTAL = "verl.trainer", "verl.experimental"
ENTRIES: dict[str, dict[str, bool | None]] = {
    "0.5.0": {f"{TRAINER}.main_ppo": True, f"{TRAINER}.fsdp_sft_trainer": False, f"{TRAINER}.main_generation": None},
    "0.6.1": {f"{TRAINER}.main_ppo": True, f"{TRAINER}.fsdp_sft_trainer": False, f"{TRAINER}.sft_trainer": False,
              f"{TRAINER}.main_generation_server": None},
    "0.7.1": {f"{TRAINER}.main_ppo": True, f"{TRAINER}.sft_trainer": True, f"{TRAINER}.sft_trainer_ray": True,
              f"{TRAINER}.main_eval": None},
    "0.8.0": {f"{TRAINER}.main_ppo": True, f"{TRAINER}.main_ppo_sync": True, f"{TRAINER}.sft_trainer": True,
              f"{EXPERIMENTAL}.fully_async_policy.fully_async_main": True,
              f"{EXPERIMENTAL}.one_step_off_policy.main_ppo": True},
    "0.9.1": {f"{TRAINER}.main_ppo": True, f"{TRAINER}.sft_trainer": True,
              f"{EXPERIMENTAL}.fully_async_policy.fully_async_main": True,
              f"{EXPERIMENTAL}.one_step_off_policy.main_ppo": True},
}  # fmt: skip


@pytest.mark.parametrize("version", ENTRIES)
def test_entry_points_of_verl(
    source_of_verl: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.syspath_prepend(str(source_of_verl(version)))
    for name, starts in ENTRIES[version].items():
        source = source_of(name, True)
        assert source is not None
        assert Trainers(source).start_profiler() is starts, name
    assert "verl" not in sys.modules


BASE = """
class PPOTrainer:
    def fit(self):
        self._start_profiling(True)
    def _start_profiling(self, do): self.wg.start_profile()
    def _step(self): self._start_profiling(False)
"""
RECIPES = {
    "a loop of its own": ("class Mine(PPOTrainer):\n    async def fit(self): self.train()", False),
    "the loop of its base": ("class Mine(PPOTrainer):\n    def train(self): pass", True),
    "calls the loop of its base": ("class Mine(PPOTrainer):\n    def fit(self): super().fit()", True),
    "calls a method of its base": ("class Mine(PPOTrainer):\n    def fit(self): self._step()", True),
    "through an actor": ("class Mine(PPOTrainer):\n    def fit(self): self.other._start_profiling.remote()", True),
    "through a function": ("def loop(t): t.start_profile()\nclass Mine:\n    def fit(self): loop(self)", True),
    "no class with a loop": ("def main(): pass", None),
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As recipes build on verl: the entry imports its trainer inside of a function, which inherits another's."""
    text, starts = RECIPES[name]
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / f"recipe_{list(RECIPES).index(name)}"
    package.mkdir()
    imports = f"from {package.name}.ppo_trainer import PPOTrainer\n" if "PPOTrainer" in text else ""
    (package / "ppo_trainer.py").write_text(BASE)
    (package / "my_trainer.py").write_text(imports + text)
    (package / "main.py").write_text("def run():\n    from .my_trainer import Mine\n    Mine().fit()\n")
    assert Trainers(package / "main.py").start_profiler() is starts
