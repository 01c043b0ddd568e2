"""The demonstration of README.md and docs/tour.md, run once."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from rlcompare.cli.main import run

DEMO = (
    "rlcompare sample -o demo/baseline",
    "rlcompare sample -o demo/new --change slower:MatMulV2:1.3 --change late:1:4ms",
    "rlcompare diff -d demo/new -bp demo/baseline -o demo/report",
)
"""The commands that both documents begin with."""


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the commands of ``DEMO`` were run; ``out.txt`` is the output of the last one."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("RLCOMPARE_CACHE_DIR", str(folder / "cache"))
        for command in DEMO:
            with (folder / "out.txt").open("w", encoding="utf-8") as out:
                patch.setattr("sys.stdout", out)
                assert run(shlex.split(command)[1:]) == 0
    return folder


@pytest.fixture
def demo(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Changes to the demonstration's folder; returns the output lines of ``rlcompare diff``."""
    monkeypatch.chdir(demo_folder)
    monkeypatch.setenv("RLCOMPARE_CACHE_DIR", str(demo_folder / "cache"))
    return (demo_folder / "out.txt").read_text(encoding="utf-8").splitlines()
