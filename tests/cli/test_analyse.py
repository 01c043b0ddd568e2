"""``rlcompare analyse``: raw profiles parsed by torch_npu, replaced by a small package that behaves like it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Command

_TORCH_NPU = '''
"""Parses as torch_npu.profiler.profiler.analyse does: deletes what is there, and swallows its errors."""

import os
import shutil
import time
from pathlib import Path


def analyse(profiler_path, max_process_number=8, export_type=None):
    try:
        _analyse(Path(profiler_path))
    except Exception as error:
        print(f"[2026-11-21 17:33:43] [ERROR] [{os.getpid()}] profiler.py: Call analyse failed. Exception: {error}")


def _analyse(folder):
    output = folder / "ASCEND_PROFILER_OUTPUT"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    behaviour = (folder / "FRAMEWORK" / "behaviour").read_text()
    (folder / "FRAMEWORK" / "half").write_text(str((os.getcwd(), os.listdir("."))))
    (folder / "FRAMEWORK" / "half").rename(folder / "FRAMEWORK" / "seen")
    if behaviour == "fails":
        raise RuntimeError("no \\033[31mroom")
    if behaviour == "dies":
        os._exit(7)
    if behaviour == "hangs":
        time.sleep(600)
    if behaviour == "half":
        print("[ERROR] [1] profiler.py: Failed to export CANN Profiling data. Error msg: 'msprof' command not found!")
    if behaviour == "meets":  # goes on when all others have begun too
        end = time.monotonic() + 120
        while any(not (other / "FRAMEWORK" / "seen").exists() for other in folder.parent.iterdir()):
            if time.monotonic() > end:
                raise RuntimeError("the others did not begin")
            time.sleep(0.01)
    (output / "trace_view.json").write_text("[]")
    (output / "analyse.done").touch()
'''


@pytest.fixture
def torch_npu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the package is found."""
    package = tmp_path / "site" / "torch_npu" / "profiler"
    package.mkdir(parents=True)
    (package / "profiler.py").write_text(_TORCH_NPU)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'site'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return package


def make_raw(root: Path, number: int = 1, behaviour: str = "parses") -> Path:
    """What is on disk where ``analysis`` was off."""
    folder = root / f"host_{number}_20250318093015001_ascend_pt"
    (folder / "FRAMEWORK").mkdir(parents=True)
    (folder / "FRAMEWORK" / "behaviour").write_text(behaviour)
    config = {"config": {"experimental_config": {"_export_type": ["text"]}}, "torch_npu_version": "2.13.0"}
    (folder / "profiler_info_0.json").write_text(json.dumps(config))
    return folder


@pytest.mark.usefixtures("torch_npu")
class TestParsing:
    def test_several_at_a_time_and_each_once(self, rlcompare: Command, tmp_path: Path) -> None:
        # GIVEN folders whose parsing ends only when that of all has begun
        folders = [make_raw(tmp_path / "raw", number, "meets") for number in range(3)]
        outcome = rlcompare("analyse", tmp_path / "raw", "--jobs", "3")
        assert outcome.code == 0, outcome.err
        assert sorted(outcome.out.splitlines()) == [f"{'parsed':<16}{folder}" for folder in folders]
        assert outcome.err.splitlines()[-1] == "rlcompare: 3 of 3 folders"
        # A second call leaves them alone.
        modified = (folders[0] / "ASCEND_PROFILER_OUTPUT").stat().st_mtime_ns
        again = rlcompare("analyse", folders[0], "--quiet")
        assert (again.code, again.out, again.err) == (0, f"{'already parsed':<16}{folders[0]}\n", "")
        assert (folders[0] / "ASCEND_PROFILER_OUTPUT").stat().st_mtime_ns == modified

    @pytest.mark.parametrize(
        ("behaviour", "state", "reason"),
        [
            ("fails", "failed", "trace_view.json is missing or empty, so the analysis failed: Call analyse failed. "),
            ("fails", "failed", "no \\x1b[31mroom"),
            ("dies", "failed", "so the analysis failed; its process ended with exit code 7"),
            ("half", "incomplete", "'msprof' command not found!"),
        ],
    )
    def test_what_failed_is_named(
        self, rlcompare: Command, tmp_path: Path, behaviour: str, state: str, reason: str
    ) -> None:
        """torch_npu says nothing by its exit code, and writes analyse.done all the same."""
        good, bad = make_raw(tmp_path / "raw", 1), make_raw(tmp_path / "raw", 2, behaviour)
        outcome = rlcompare("analyse", tmp_path / "raw", "--jobs", "2")
        assert outcome.code == 4
        (line,) = (line for line in outcome.out.splitlines() if str(bad) in line)
        assert line.startswith(f"{state:<16}{bad} · ") and reason in line
        assert f"{'parsed':<16}{good}" in outcome.out
        assert outcome.err.splitlines()[-1].startswith(f"rlcompare: error: {tmp_path / 'raw'}: 1 of 2 folders are ")
        assert "See logs/ in each folder" in outcome.err

    def test_recording_that_did_not_end(self, rlcompare: Command, tmp_path: Path) -> None:
        folder = make_raw(tmp_path / "raw")
        (folder / "profiler_info_0.json").unlink()
        outcome = rlcompare("analyse", folder)
        assert outcome.code == 4
        assert "recording did not end properly, or is still running" in outcome.out
        assert "logs/" not in outcome.err and "torch_npu was not started" in outcome.err
        assert not (folder / "FRAMEWORK" / "seen").exists()

    def test_nothing_from_the_profile_is_run(
        self, rlcompare: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # GIVEN a profile that brings modules with it, and is worked in
        folder = make_raw(tmp_path / "raw")
        for place in (folder, folder.parent):
            for name in ("torch_npu.py", "json.py", "sitecustomize.py", "shutil.py", "msprof"):
                (place / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
                (place / name).chmod(0o755)
        monkeypatch.chdir(folder)
        # WHEN it is parsed
        assert rlcompare("analyse", ".").code == 0
        # THEN none of them was imported: the process worked in an empty folder
        assert not (tmp_path / "ran").exists()
        assert ", [])" in (folder / "FRAMEWORK" / "seen").read_text()

    def test_links_are_not_followed(self, rlcompare: Command, tmp_path: Path) -> None:
        folder = make_raw(tmp_path / "elsewhere")
        (tmp_path / "raw").mkdir()
        (tmp_path / "raw" / folder.name).symlink_to(folder)
        outcome = rlcompare("analyse", tmp_path / "raw")
        assert outcome.code == 4
        assert "it contains no *_ascend_pt folder" in outcome.error

    def test_a_signal_ends_what_was_started(self, tmp_path: Path) -> None:
        folder = make_raw(tmp_path / "raw", behaviour="hangs")
        code = "from rlcompare.cli.main import main; main()"
        process = subprocess.Popen([sys.executable, "-c", code, "analyse", str(folder)], stdout=subprocess.DEVNULL)
        seen = folder / "FRAMEWORK" / "seen"
        end = time.monotonic() + 120
        while not seen.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 143
        place = Path(seen.read_text().split("'")[1])
        assert not place.exists()  # its working folder is gone with it


class TestElsewhere:
    def test_without_torch_npu(self, rlcompare: Command, tmp_path: Path) -> None:
        folder = make_raw(tmp_path / "raw")
        outcome = rlcompare("analyse", folder)
        assert outcome.code == 2
        assert f"torch_npu cannot be imported by {sys.executable} (" in outcome.error
        assert "of torch_npu 2.13.0)" in outcome.error
        assert "copy the folders to a machine that has them" in outcome.error

    def test_torch_npu_without_cann(self, rlcompare: Command, torch_npu: Path, tmp_path: Path) -> None:
        (torch_npu / "profiler.py").write_text("raise ImportError('libhccl.so: cannot open shared object file')")
        outcome = rlcompare("analyse", make_raw(tmp_path / "raw"))
        assert outcome.code == 2
        assert "(ImportError: libhccl.so: cannot open shared object file)" in outcome.error

    @pytest.mark.slow
    def test_what_is_parsed_needs_no_torch_npu(self, rlcompare: Command, samples: Path, tmp_path: Path) -> None:
        shutil.copytree(samples / "base", tmp_path / "base")
        outcome = rlcompare("analyse", tmp_path / "base")
        assert outcome.code == 0
        assert [line.split("/")[0].strip() for line in outcome.out.splitlines()] == ["already parsed"] * 2

    def test_no_profile(self, rlcompare: Command, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert rlcompare("analyse", tmp_path / "file").code == 2
        assert rlcompare("analyse", tmp_path / "absent").code == 4
