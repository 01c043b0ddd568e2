"""Runs the command line in the test's process, and provides sample profiles for it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rlcompare.cli.main import run


@dataclass(frozen=True)
class Outcome:
    """The result of one command line."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The only line of standard error; fails if there is none, or more than one."""
        assert "Traceback" not in self.err
        (line,) = self.err.splitlines()
        assert line.startswith("rlcompare: error: ")
        return line


Command = Callable[..., Outcome]


@pytest.fixture
def rlcompare(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs ``rlcompare ARGUMENTS`` in an empty working folder, which receives relative output."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    # A slow machine would otherwise add a line of progress to standard error.
    monkeypatch.setattr("rlcompare.app.progress.LINE_AFTER_SECONDS", 600)

    def call(*arguments: object) -> Outcome:
        code = run([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``base`` and ``new`` (MatMulV2 takes 1.3 times as long): two ranks, steps 2 and 3, database and text."""
    folder = tmp_path_factory.mktemp("samples")
    for name, change in (("base", ()), ("new", ("--change", "slower:MatMulV2:1.3"))):
        options = ("--steps", "2,3", "--layers", "2", "--decode-steps", "2", "--export", "both")
        assert run(["sample", "-o", str(folder / name), *options, *change]) == 0
    return folder


@pytest.fixture(scope="session")
def compared(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of ``new`` against ``base``, for tests that read it and do not ask how it was made."""
    folder = tmp_path_factory.mktemp("compared") / "made"
    sides = ("-d", str(samples / "new"), "-bp", str(samples / "base"))
    cache = tmp_path_factory.getbasetemp() / "cache"
    assert run(["diff", *sides, "-o", str(folder), "--cache-dir", str(cache), "--quiet"]) == 0
    return folder


def ranks_of(profile: Path) -> list[Path]:
    """The ``*_ascend_pt`` folders of a sample, by rank."""
    return sorted(profile.glob("*_ascend_pt"), key=lambda folder: next(iter(folder.glob("profiler_info_*.json"))).name)


@pytest.fixture
def damaged(samples: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A copy of rank 0 of ``new`` that a test may damage: its output folder, with only ``"db"`` or ``"text"`` files."""

    def copy(kind: str) -> Path:
        folder = tmp_path / "damaged" / "host_1_20250318093015001_ascend_pt"
        shutil.copytree(ranks_of(samples / "new")[0], folder)
        output = folder / "ASCEND_PROFILER_OUTPUT"
        for path in output.iterdir():
            if (path.suffix == ".db") != (kind == "db"):
                path.unlink()
        return output

    return copy


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Every path below a folder with its size and modification time."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
    }
