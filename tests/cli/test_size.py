"""The inputs of benchmarks/size.py in a small form: they are read, and what they write stays within the limits."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def size() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "size.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_size", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("name", ["values", "kernels"])
def test_a_small_form_of_a_large_input_stays_within_the_limits(size: ModuleType, name: str, tmp_path: Path) -> None:
    given = size.inputs(small=True)[name]
    found = size.bench(given, [sys.executable, "-m", "rlcompare"], tmp_path)
    assert found.code == 0, found.said
    assert found.values["memory, GB"] < size.LIMITS["memory, GB"] / 2
    assert found.values["page, MB"] <= size.LIMITS["page, MB"]
    assert found.values["diff.json, MB"] <= size.LIMITS["diff.json, MB"]
    assert not any((tmp_path / "tmp").iterdir()), "nothing is left in the temporary folder"
