"""``rlcompare gate --extend`` and ``--bisect``: real commands, real runs of a written training log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rlcompare.app.extend import Extension
from rlcompare.app.extend import extend as extended
from rlcompare.cli.main import for_bisect
from rlcompare.errors import UsageError
from rlcompare.locking import try_lock
from tests.run_directories import description, write_run

from .conftest import Command

ROOT = Path(__file__).resolve().parents[2]

WRITE = """
import os, random, sys
from pathlib import Path
from tests.run_directories import description, write_run
side, out, number, slower, noise = sys.argv[1:]
rng = random.Random(f"{side}{number}{os.environ.get('LUCK', '')}")
seconds = 0.2 * (float(slower) if side == "new" else 1) * (1 + float(noise) * rng.gauss(0, 1))
assert (os.environ["RLCOMPARE_SIDE"], os.environ["RLCOMPARE_OUT"]) == (side, str(Path(out).absolute()))
if Path("broken").exists():
    Path(out, "part").write_text("begun")
    sys.exit("broken")
clock = Path("clock")
hour = len(clock.read_text()) if clock.exists() else 0
clock.write_text("x" * (hour + 1))
write_run(Path(out), description(started=f"2026-11-20T{hour:02}:00:00Z"), update_actor=seconds)
"""

Extend = Callable[..., tuple[int, str, str]]


@pytest.fixture
def extend(rlcompare: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Extend:
    """Extends two sides by a command that writes runs; the new side is ``slower`` by a factor."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "write.py").write_text(WRITE)

    def call(slower: float, noise: float = 0.01, most: int = 10, *more: str) -> tuple[int, str, str]:
        command = [sys.executable, tmp_path / "write.py", "{side}", "{out}", "{number}", slower, noise]
        found = rlcompare("gate", "--extend", most, "-d", "ab/new", "-bp", "ab/baseline", *more, "--", *command)
        return found.code, found.out, found.err

    return call


def runs(side: str) -> list[str]:
    return sorted(path.name for path in Path("ab", side).glob("run*"))


@pytest.mark.slow
def test_what_is_plain_is_decided_early(extend: Extend) -> None:
    code, out, err = extend(1.5)
    assert code == 1, err
    assert runs("new") == runs("baseline") == ["run1", "run2"]
    assert [line.split()[3] for line in err.splitlines() if " run " in line] == ["baseline", "new", "new", "baseline"]
    assert "look 1 of 5, 2 against 2 runs: " in err
    assert "timing_s/step" in out


@pytest.mark.slow
def test_what_is_open_is_extended_to_its_end_and_continued(extend: Extend) -> None:
    # GIVEN a change at the limit
    code, _, err = extend(1.09, 0.002, 4)
    assert code == 3, err
    assert runs("new") == runs("baseline") == ["run1", "run2", "run3", "run4"]
    assert err.count("look ") == 2
    # THEN the same command makes no more runs, and another plan is refused
    code, _, err = extend(1.09, 0.002, 4)
    assert (code, err.count("look "), err.count(": run ")) == (3, 1, 0)
    code, _, err = extend(1.09, 0.002, 6)
    assert code == 2
    assert "planned with 4 runs a side" in err


@pytest.mark.slow
def test_a_baseline_that_is_kept_is_not_extended(
    rlcompare: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN five runs that were added to a baseline, and a run directory by itself
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "write.py").write_text(WRITE)
    for number in range(5):
        write_run(tmp_path / f"old/run{number}", description(), update_actor=0.2 + 0.001 * number)
    assert rlcompare("baseline", "add", "main", tmp_path / "old", "--reason", "first").code == 0
    command = [sys.executable, tmp_path / "write.py", "{side}", "{out}", "{number}", "1.5", "0.01"]
    for baseline, runs_of_it in (("main", 5), (tmp_path / "old/run0", 1)):
        new = f"new-{runs_of_it}"
        found = rlcompare("gate", "--extend", 4, "-bp", baseline, "-d", new, "--", *command)
        assert found.code == 1, found.err
        assert f"look 1 of 2, {runs_of_it} against 2 runs" in found.err
        assert sorted(path.name for path in Path(new).iterdir()) == ["run1", "run2"]
    assert len(list((tmp_path / "old").iterdir())) == 5


@pytest.mark.slow
def test_a_command_that_fails(extend: Extend) -> None:
    Path("broken").touch()
    code, _, err = extend(1.5, 0.01, 4)
    assert code == 4
    assert "ab/new.extend/baseline-run1.log: the command ended with exit code 1" in err
    assert "ab/new.extend/failed-baseline-run1 has what it wrote" in err
    assert Path("ab/new.extend/baseline-run1.log").read_text() == "broken\n"
    assert Path("ab/new.extend/failed-baseline-run1/part").read_text() == "begun"
    # AND the series goes on where it was; so it does after a run that was killed
    Path("broken").unlink()
    plan = json.loads(Path("ab/new.extend/plan.json").read_text())
    assert (plan["made"], plan["current"]) == ([], None)
    Path("ab/new.extend/plan.json").write_text(json.dumps({**plan, "current": "baseline/run1"}))
    Path("ab/baseline/run1").mkdir()
    Path("ab/baseline/run1/metrics.jsonl").write_text("{")
    code, _, err = extend(1.5, 0.01, 4)
    assert code == 1, err
    assert Path("ab/new.extend/unfinished-baseline-run1/metrics.jsonl").is_file()
    assert runs("baseline") == ["run1", "run2"]


def test_what_cannot_be_extended(rlcompare: Command, tmp_path: Path) -> None:
    assert "needs the command" in rlcompare("gate", "--extend", 4).error
    (tmp_path / "file").touch()
    one = rlcompare("gate", "--extend", 4, "-d", tmp_path / "file", "-bp", "b", "--", "true")
    assert "give one folder of runs with -d" in one.error
    assert "give both sides" in rlcompare("gate", "--extend", 4, "-d", "a", "--", "true").error
    assert (
        "-d and -bp name the same folder" in rlcompare("gate", "--extend", 4, "-d", "a", "-bp", "a", "--", "true").error
    )
    silent = rlcompare("gate", "--extend", 4, "-d", "a", "-bp", "b", "--", "true")
    assert silent.code == 4
    assert "it wrote no run (baseline, run1: true)" in silent.err
    assert "the command has no {out} and no {side}: it must write its run to $RLCOMPARE_OUT and" in silent.err
    assert "The run must be written to b/run1: pass {out}, or read $RLCOMPARE_OUT. The same" in silent.err
    absent = rlcompare("gate", "--extend", 4, "-d", "c", "-bp", "d", "--", "no-such-program")
    assert (absent.code, "No such file" in absent.err) == (2, True)
    assert "use --extend N -- COMMAND" in rlcompare("gate", "a", "b").error


def test_enough_runs_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    request = Extension({"baseline": tmp_path / "base", "new": tmp_path / "new"}, 2, ("true",))
    with pytest.raises(UsageError, match="there are 2 against 2 runs already; leave --extend out"):
        extended(request, lambda side: 2, lambda odds: pytest.fail("not reached"), print)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("code", "expected"), [(0, 0), (1, 1), (3, 125), (4, 125), (5, 125), (2, 130), (70, 198), (130, 130), (141, 141)]
)
def test_exit_codes_for_bisect(code: int, expected: int) -> None:
    assert for_bisect(code) == expected


@pytest.mark.slow
def test_bisect_finds_the_commit(tmp_path: Path) -> None:
    """A real ``git bisect run`` over eight commits, of which one cannot be measured and the sixth is slower."""

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        return done.stdout.strip()

    git("init", "-q")
    commits = []
    for number in range(8):
        (tmp_path / "slower").write_text("broken" if number == 3 else "1.3" if number >= 5 else f"1.00{number}")
        git("add", "slower")
        git("commit", "-qm", f"commit {number}", "--allow-empty")
        commits.append(git("rev-parse", "HEAD"))
    (tmp_path / "try.py").write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from rlcompare.cli.main import run\n"
        "from tests.run_directories import write_run\n"
        "slower = Path('slower').read_text()\n"
        "for number in range(3):\n"
        "    write_run(Path(f'base/run{number}'), update_actor=0.2 + 0.001 * number)\n"
        "    write_run(Path(f'new/run{number}'), update_actor=0.0004 + (0.2 + 0.001 * number) * float(slower))"
        " if slower != 'broken' else Path(f'new/run{number}/metrics.jsonl').unlink(missing_ok=True)\n"
        "sys.exit(run(['gate', '--bisect', '-d', 'new', '-bp', 'base', '--no-cache']))\n"
    )
    git("bisect", "start", commits[-1], commits[0])
    said = git("bisect", "run", sys.executable, "try.py")
    assert f"{commits[5]} is the first bad commit" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [{"current": 5}, {"first": [-5, -5]}, {"first": [10**5, 10**5]}, {"made": ["x"] * 50},
     {"made": ["new/a"] * 10 + ["baseline/a"] * 10}],
    ids=str,
)  # fmt: skip
def test_a_damaged_plan(extend: Extend, change: dict[str, object]) -> None:
    Path("broken").touch()
    assert extend(1.5, 0.01, 4)[0] == 4
    path = Path("ab/new.extend/plan.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    code, _, err = extend(1.5, 0.01, 4)
    assert code == 4
    assert "plan" in err or "baseline-run1.log" in err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_two_processes_make_no_series_together(extend: Extend) -> None:
    records = Path("ab", "new.extend")
    records.mkdir(parents=True)
    with (records / "lock").open("ab") as file:
        assert try_lock(file.fileno())
        code, _, err = extend(1.5)
    assert code == 2
    assert "another process makes the runs of this series" in err
    assert runs("new") == runs("baseline") == []
