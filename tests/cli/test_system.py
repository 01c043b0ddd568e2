"""Operating system errors and invalid paths: one line that names the file, and no internal error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Command

MAIN = "from rlcompare.cli.main import main; main()"


def shell(script: str, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs a script in which ``"$@"`` is rlcompare with these arguments."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}
    command = ["bash", "-c", script, "bash", sys.executable, "-c", MAIN, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, text=True, capture_output=True, check=False)


class TestPaths:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["diff", "-d", "", "-bp", "base"],
            ["diff", "-d", "base", "-bp", "base", "-o", ""],
            ["diff", "-d", "base", "-bp", "base", "--cache-dir", ""],
            ["show", ""],
            ["ingest", ""],
            ["ingest", "base", "-o", ""],
            ["sql", "", "SELECT 1"],
            ["sample", "-o", ""],
            ["gate", ""],
        ],
    )
    def test_empty(self, rlcompare: Command, arguments: list[str]) -> None:
        result = rlcompare(*arguments)
        assert result.code == 2
        assert "the path is empty" in result.error
        assert list(Path().iterdir()) == []

    @pytest.mark.parametrize("path", ["x" * 300, "a\0b", "a\udcffb"], ids=["long", "nul", "bytes"])
    def test_impossible(self, rlcompare: Command, samples: Path, path: str) -> None:
        for arguments in (
            ["diff", "-d", path, "-bp", samples / "base"],
            ["diff", "-d", f"label={path}", "-bp", samples / "base"],
            ["diff", "-d", samples / "base", "-bp", samples / "base", "-o", path],
            ["diff", "-d", samples / "base", "-bp", samples / "base", "--cache-dir", path],
            ["show", path],
            ["ingest", samples / "base", "-o", path],
            ["sql", samples / "base", "SELECT 1", "-o", path],
            ["sample", "-o", path],
            ["gate", path],
        ):
            result = rlcompare(*arguments)
            assert result.code in (2, 4)
            assert result.error

    @pytest.mark.slow
    def test_links_that_loop(self, rlcompare: Command, samples: Path) -> None:
        Path("loop").symlink_to("loop")
        base = samples / "base"
        for code, arguments in (
            (4, ["diff", "-d", "loop", "-bp", base]),
            (2, ["diff", "-d", base, "-bp", base, "-o", "loop"]),
            (2, ["ingest", base, "-o", "loop"]),
            (2, ["show", base, "--cache-dir", "loop"]),
            (2, ["sample", "-o", "loop"]),
        ):
            result = rlcompare(*arguments)
            assert result.code == code, arguments
            assert "loop" in result.error

    def test_names_that_are_no_text(self, rlcompare: Command, samples: Path) -> None:
        folder = Path(os.fsdecode(b"in\xff"))
        Path("runs").mkdir()
        (Path("runs") / folder).symlink_to(samples / "base")
        result = rlcompare("show", "runs")
        assert result.code == 4


class TestRefusals:
    @pytest.mark.parametrize(
        ("kilobytes", "command", "file", "remedy"),
        [
            # before the store is begun, and when the finished store is written out
            (1, "ingest", "run.duckdb", "choose another path with -o"),
            (300, "ingest", "run.duckdb", "choose another path with -o"),
            (300, "diff", "cache", "use --cache-dir or --no-cache"),
            (300, "no-cache", "a temporary file in ", "set TMPDIR to another folder"),
            (60, "sample", "sample", "free some disk space"),
        ],
    )
    def test_no_room_for_files(
        self, samples: Path, tmp_path: Path, kilobytes: int, command: str, file: str, remedy: str
    ) -> None:
        new = samples / "new"
        arguments = {
            "ingest": ("ingest", new, "-o", "run.duckdb"),
            "diff": ("diff", "-d", new, "-bp", new, "--cache-dir", "cache"),
            "no-cache": ("show", new, "--no-cache"),
            "sample": ("sample", "-o", "sample"),
        }
        result = shell(f'ulimit -f {kilobytes}; "$@"', *arguments[command], cwd=tmp_path)
        assert result.returncode == 2, result.stderr
        line = result.stderr.splitlines()[-1]  # on a slow machine, lines of progress come before
        assert line.startswith(f"rlcompare: error: {file}")
        assert "cannot be written" in line and remedy in line
        assert not list(tmp_path.rglob("*.partial*"))

    def test_no_room_for_temporary_files_is_not_blamed_on_the_trace(self, profiles: Path, tmp_path: Path) -> None:
        trace = profiles / "gpu-dlrm-8rank"
        result = shell('ulimit -f 300; "$@"', "ingest", trace, "-o", "run.duckdb", cwd=tmp_path)
        assert result.returncode == 2
        line = result.stderr.splitlines()[-1]
        assert "cannot be written (File too large)" in line and ".trace.json" not in line

    @pytest.mark.slow
    def test_standard_output_is_full(self, samples: Path, tmp_path: Path) -> None:
        for arguments in (
            ("show", samples / "new"),
            ("diff", "-d", samples / "new", "-bp", samples / "base", "--json"),
            ("sql", samples / "new", "SELECT * FROM kernel"),
            ("--help",),
        ):
            result = shell('"$@" > /dev/full', *arguments, cwd=tmp_path)
            assert result.returncode == 2, arguments
            assert "cannot write to standard output (No space left" in result.stderr.splitlines()[-1]

    @pytest.mark.slow
    def test_standard_output_is_closed(self, samples: Path, tmp_path: Path) -> None:
        pair = ("-d", samples / "new", "-bp", samples / "base")
        assert shell('"$@" >&-', "diff", *pair, cwd=tmp_path).returncode == 0
        assert (tmp_path / "rlcompare-out" / "report.html").is_file()
        assert shell('"$@" >&- <&-', "gate", "rlcompare-out/diff.json", cwd=tmp_path).returncode == 1

    @pytest.mark.parametrize("how", ["2>&-", "2>/dev/full", "2>&- >&- <&-"])
    def test_standard_error_is_closed(self, tmp_path: Path, how: str) -> None:
        assert shell(f'"$@" {how}', "show", "nowhere", cwd=tmp_path).returncode == 4
        assert shell(f'"$@" {how}', "show", "--nonsense", cwd=tmp_path).returncode == 2

    def test_standard_input_is_closed(self, samples: Path, tmp_path: Path) -> None:
        result = shell('"$@" <&-', "sql", samples / "new", "-", cwd=tmp_path)
        assert (result.returncode, "contains no query" in result.stderr) == (2, True)


class TestSampleBounds:
    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (["--change", "memory:nan"], "from 0.01 to 100"),
            (["--change", "slower:MatMulV2:inf"], "from 0.01 to 100"),
            (["--change", "tokens:1e9"], "from 0.01 to 100"),
            (["--change", "frequency:1e-300"], "from 0.01 to 100"),
            (["--change", "late:1:99999s"], "at most 3600 s"),
            (["--jitter", "nan"], "from 0 to 0.5"),
            (["--world-size", "99999999999"], "1<=x<=100000"),
        ],
    )
    def test_out_of_bounds(self, rlcompare: Command, options: list[str], says: str) -> None:
        result = rlcompare("sample", "-o", "sample", *options)
        assert result.code == 2
        assert says in result.error
        assert not Path("sample").exists()
