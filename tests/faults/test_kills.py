"""Killed commands: what they leave is found and removed, and the numbers are those of undisturbed ones."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rlcompare import temporary
from tests.faults.processes import IS_LINUX

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not IS_LINUX, reason="needs inotify and /proc")
def test_killed_commands_do_no_harm(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults.kills", "--seeds", "0-3", "--only", "diff", "--only", "ingest"]
    path = os.pathsep.join(entry or "." for entry in sys.path)
    environment = os.environ | {"PYTHONPATH": path, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class TestOwners:
    """Which temporary files are removed, and which may be in use."""

    def left_by(self, folder: Path, owner: str, age: float = 0) -> Path:
        path = folder / f".run.duckdb.{owner}-1f.partial"
        path.touch()
        os.utime(path, (time.time() - age, time.time() - age))
        temporary.sweep(folder)
        return path

    def test_the_own_ones_stay(self, tmp_path: Path) -> None:
        assert self.left_by(tmp_path, temporary.owner(), age=10**7).exists()

    @pytest.mark.skipif(not IS_LINUX, reason="nobody knows whether a process runs")
    def test_those_of_an_ended_process_go_at_once_whatever_the_clock_says(self, tmp_path: Path) -> None:
        code = "from rlcompare import temporary; print(temporary.owner())"
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        assert re.fullmatch(temporary.OWNER, ended)
        assert not self.left_by(tmp_path, ended).exists()
        assert not self.left_by(tmp_path, ended, age=-(10**7)).exists()

    @pytest.mark.skipif(not IS_LINUX, reason="nobody knows whether a process runs")
    def test_those_of_a_former_process_with_the_number_of_a_running_one_go(self, tmp_path: Path) -> None:
        pid, start, here = temporary.owner().split("-")
        assert not self.left_by(tmp_path, f"{pid}-{int(start) - 1}-{here}").exists()

    @pytest.mark.parametrize(("age", "stays"), [(60, True), (-(10**7), True), (2 * 24 * 3600, False)])
    def test_those_of_another_host_go_when_they_are_old(self, tmp_path: Path, age: float, stays: bool) -> None:
        assert self.left_by(tmp_path, f"{os.getpid()}-1-{'5' * 12}", age).exists() == stays

    @pytest.mark.parametrize(("age", "stays"), [(10 * 24 * 3600, True), (30 * 24 * 3600, False)])
    def test_a_folder_of_another_host_may_be_in_use_for_days(self, tmp_path: Path, age: float, stays: bool) -> None:
        path = tmp_path / f"rlcompare-{os.getpid()}-1-{'5' * 12}-x"
        path.mkdir()
        os.utime(path, (time.time() - age, time.time() - age))
        temporary.sweep(tmp_path)
        assert path.exists() == stays

    @pytest.mark.parametrize("name", ["n" * 255, "名" * 85, "\U0001f600" * 63])
    def test_the_longest_name_has_a_temporary_one(self, tmp_path: Path, name: str) -> None:
        path = temporary.partial_of(tmp_path / name)
        path.touch()
        path.rename(tmp_path / name)

    @pytest.mark.skipif(not IS_LINUX, reason="needs /proc")
    def test_what_another_user_or_container_left_is_not_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # GIVEN the same host and process ids, where /proc may hide the processes of others
        here, uid, readlink = temporary._here.__wrapped__(), os.getuid(), Path.readlink
        with monkeypatch.context() as patch:
            patch.setattr(os, "getuid", lambda: uid + 1)
            assert temporary._here.__wrapped__() != here
        monkeypatch.setattr(Path, "readlink", lambda path: Path("x") if path.name == "user" else readlink(path))
        assert temporary._here.__wrapped__() != here

    def test_other_files_and_links_stay(self, tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        dead = f"1-1-{temporary.owner().rpartition('-')[2]}"
        (tmp_path / f".link.{dead}-1f.partial").symlink_to(tmp_path / "mine")
        others = [f"run.{dead}-1f.partial", f".run.{dead}-1f.duckdb", ".run.duckdb.17.1f.partial", "rlcompare-results"]
        for name in others:
            (tmp_path / name).touch()
        temporary.sweep(tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == {"mine", f".link.{dead}-1f.partial", *others}
