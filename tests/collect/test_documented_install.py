"""``rlcompare run`` with what ``pip install 'rlcompare[collect]'`` brings, and nothing that only developers have."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytest.importorskip("torch")

from tests.collect.stepping import SMALL

pytestmark = pytest.mark.slow

_HIDE = """
from importlib.machinery import PathFinder
whole = PathFinder.find_spec
def find_spec(cls, name, path=None, target=None):
    return None if name.partition(".")[0] in {hidden!r} else whole(name, path, target)
PathFinder.find_spec = classmethod(find_spec)
"""


def installed_with(distribution: str, extra: str, found: set[str]) -> set[str]:
    """The names of all distributions that pip installs for one."""
    name = canonicalize_name(distribution)
    if f"{name}[{extra}]" in found:
        return found
    found |= {name, f"{name}[{extra}]"}
    try:
        wanted = [Requirement(text) for text in requires(distribution) or ()]
    except PackageNotFoundError:
        return found
    for one in wanted:
        if one.marker is None or one.marker.evaluate({"extra": extra}):
            for of_it in one.extras or {""}:
                installed_with(one.name, of_it, found)
    return found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_needs_no_more(tmp_path: Path, ranks: int) -> None:
    closure = installed_with("rlcompare", "collect", set())
    if "torch" not in closure:
        pytest.skip("rlcompare is not installed here, so nothing tells what it needs")
    hidden = {
        module
        for module, owners in packages_distributions().items()
        if not {canonicalize_name(owner) for owner in owners} & closure and not module.startswith("_")
    }
    assert {"pytest", "hypothesis", "psutil"} <= hidden and "torch" not in hidden
    (tmp_path / "sitecustomize.py").write_text(_HIDE.format(hidden=hidden))
    command = [
        sys.executable, "-m", "rlcompare", "run", "-q", "-o", "run", *SMALL, "trainer.total_training_steps=3",
        "trainer.warmup_steps=1", f"trainer.n_gpus_per_node={ranks}",
    ]  # fmt: skip
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.stderr == "run         run\n", "and no warning of torch's"
    assert done.returncode == 0
