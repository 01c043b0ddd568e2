"""``rlcompare-probe.pth``, which every start of an interpreter runs: it is cheap, and no variable stops a program."""

from __future__ import annotations

import os
import subprocess
import sys
import timeit
import venv
from pathlib import Path
from sysconfig import get_path

import pytest

from rlcompare.collect.probe.request import LONGEST
from rlcompare.collect.probe.session import Session

ROOT = Path(__file__).resolve().parents[2]
PTH = "rlcompare-probe.pth"
VARIABLE = "RLCOMPARE_PROBE"
MOST_SECONDS = 0.0005
"""Half of what the hook may add to a start."""


def hook_file() -> Path:
    return Path(get_path("purelib"), PTH) if os.environ.get("RLCOMPARE_TEST_INSTALLED") == "1" else ROOT / PTH


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has the hook, and imports what this one imports."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    (site / PTH).write_bytes(hook_file().read_bytes())
    (site / "as_here.pth").write_text("\n".join(path for path in sys.path if Path(path).is_dir()), encoding="utf-8")
    return folder / "bin" / "python"


def start(
    python: Path, folder: Path, value: str | None, *options: str, code: str = "pass"
) -> subprocess.CompletedProcess[str]:
    """Starts a program that says which of our modules came with its interpreter."""
    environment = {key: text for key, text in os.environ.items() if key not in ("PYTHONPATH", VARIABLE)}
    environment |= {} if value is None else {VARIABLE: value}
    script = f"import sys; {code}; print('rlcompare' in {{name.split('.')[0] for name in sys.modules}})"
    command = [python, *options, "-c", script]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("value", [None, "", "  \t\n"])
def test_a_variable_that_says_nothing_costs_nothing(
    python: Path, tmp_path: Path, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN a start without a probe WHEN the program runs THEN nothing of ours was imported
    done = start(python, tmp_path, value)
    assert (done.stdout, done.stderr, done.returncode) == ("False\n", "", 0)
    # AND the line itself takes far less than a millisecond
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    assert min(timeit.repeat(hook_file().read_text(), number=100, repeat=5)) / 100 < MOST_SECONDS


@pytest.mark.parametrize("options", [("-I",), ("-E",), ("-S",)])
def test_isolated_interpreters_ignore_it(python: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    value = f"tick=json:dumps output={tmp_path / 'out'}"
    assert start(python, tmp_path, value).stdout == "True\n"
    done = start(python, tmp_path, value, *options)
    assert (done.stdout, done.stderr, done.returncode) == ("False\n", "", 0)


def hostile(folder: Path) -> dict[str, tuple[str, str]]:
    """Values, each with what is said about it."""
    output = f"output={folder / 'out'}"
    return {
        "longer than any probe": ("x" * 120_000, "has 120000 characters"),
        "many probes": (f"tick=os:getpid {output}; " * (LONGEST // len(output)), "characters; at most"),
        "no preset": ("1", "there is no preset 1"),
        "undecodable, with control characters": ("\udcff\x1b]0,title\x07\x01", r"\udcff\x1b]0,title\x07\x01"),
        "a number of 4,000 digits": (f"tick=a:b active={'9' * 4000} {output}", "99… is not a number of at least 1"),
        "a step of 5,000 digits": (f"tick=a:b steps=[{'9' * 5000}] {output}", "99… is not a list of numbers"),
        "an unclosed quote": ("'" * 9_999, "No closing quotation"),
        "a long name": (f"tick={'a.' * 7000}! {output}", "a.… is not a callable"),
        "another folder": ("tick=a:b output=../elsewhere", "use an absolute path"),
        "its own modules": (f"tick=rlcompare._probe_start:_start {output}", ""),
        # what the probe itself calls, under its own lock; rank 7 does not exist, so nothing is recorded
        "what its lock needs": (f"tick=threading:get_ident ranks=[7] {output}", "there is only rank 0"),
        "every look at a type": (f"tick=builtins:isinstance ranks=[7] {output}", "there is only rank 0"),
        "every message": (f"tick=sys:stderr.write ranks=[7] {output}", ""),
    }


@pytest.mark.parametrize("name", hostile(Path()))
def test_nothing_in_the_variable_stops_a_program(python: Path, tmp_path: Path, name: str) -> None:
    value, said = hostile(tmp_path)[name]
    before = sorted(tmp_path.iterdir())
    done = start(python, tmp_path, value, code="import threading; threading.get_ident()")
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 5_000
    assert sorted(tmp_path.iterdir()) == before


def test_places_that_cannot_be_written_are_told_only(tmp_path: Path) -> None:
    # GIVEN a pipe that nobody reads, a file and a folder of the system as the place for a profile
    torch = pytest.importorskip("torch")
    from rlcompare.collect.probe.attaching import _attach_variant
    from rlcompare.collect.probe.request import requests_in

    assert torch
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("as it was")
    for place in (tmp_path / "pipe", tmp_path / "file", Path("/dev/null"), Path("/proc/self/mem")):
        module = type(sys)("toy_of_hook")
        module.tick = lambda: "ticked"
        sys.modules[module.__name__] = module
        try:
            (request,) = requests_in(f"tick=toy_of_hook:tick warmup=0 tool=torch output={place}")
            session = Session(request)
            _attach_variant(session, request.probe.variants[0])
            # WHEN the program calls the tick THEN it gets its result, and the place is what it was
            assert [module.tick(), module.tick()] == ["ticked", "ticked"]
        finally:
            del sys.modules[module.__name__]
            from rlcompare.collect.probe import hook

            hook._watchers.pop(module.__name__)
    assert (tmp_path / "file").read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "pipe"]
