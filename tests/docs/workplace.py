"""A folder with everything that commands of documents name, and what runs these commands in it."""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from io import StringIO
from pathlib import Path

import pytest

from rlcompare.cli.main import run
from rlcompare.history import store
from rlcompare.history.place import place_of
from rlcompare.writer.simulate import simulate
from rlcompare.writer.spec import SampleRun
from tests.history.examples import new_run
from tests.run_directories import description, write_run
from tests.torch_trace_file import write_torch_trace

PROFILES = {"base": ("BASELINE", "baseline", "old", "npu"), "new": ("NEW", "RUN")}
"""Sample profiles, and their copies under further names."""

RUNS = {
    "runs/base": (1.000, 0.998, 1.003),
    "runs/new": (1.004, 1.002, 0.999),
    "runs/more": (1.006,),
    "runs/nightly": (1.007,),
}
"""Folders of runs: how long the actor update of each one takes, relative to the first."""

_TRAIN = r"""#!/bin/sh -e
# Leaves a run in the folder that the last argument names: a log of twelve steps, half as long again on the new side.
for out; do :; done
mkdir -p "$out"
case $out in */new | */new/*) step=0.69 ;; *) step=0.46 ;; esac
for number in 1 2 3 4 5 6 7 8 9 10 11 12; do
  echo "{\"step\": $number, \"data\": {\"timing_s/step\": $step$((number % 5))}}"
done >"$out/metrics.jsonl"
"""


def make(folder: Path) -> Path:
    """Fills a folder; what documents show is made from it or by their own commands."""
    for name, copies in PROFILES.items():
        change = ("--change", "slower:MatMulV2:1.3", "--seed", "3") if name == "new" else ()
        size = ("--ranks", "2", "--steps", "50", "--layers", "1", "--decode-steps", "1")
        assert run(["sample", "-q", "-o", str(folder / name), *size, *change]) == 0
        for copy in copies:
            shutil.copytree(folder / name, folder / copy, copy_function=link)
    rank = min((folder / "new").glob("*_ascend_pt"))
    shutil.copytree(rank, folder / "host_17_20250318093015001_ascend_pt", copy_function=link)
    for name, durations in RUNS.items():
        for number, duration in enumerate(durations):
            begun = description(started=f"2026-11-{1 + list(RUNS).index(name):02}T{number:02}:00:00Z")
            write_run(folder / name / f"nightly-{number + 1}", begun, update_actor=0.1 * duration)
    for name, copy in (("runs/base", "runs/cann82"), ("runs/new", "runs/cann83")):
        shutil.copytree(folder / name, folder / copy, copy_function=link)
    for capture in simulate(SampleRun(ranks=(0, 1), steps=(50,), layers=1, decode_steps=1)):
        write_torch_trace(capture, 2, folder / "gpu" / f"rank{capture.rank}.pt.trace.json")
    for name in ("base", "new"):
        log = (folder / "runs" / name / "nightly-1" / "metrics.jsonl").read_text()
        for copy in (f"{name}.log", f"logs/{name}1.log"):
            (folder / copy).parent.mkdir(exist_ok=True)
            (folder / copy).write_text(log)
        (folder / f"logs/{name}2.log").write_text((folder / "runs" / name / "nightly-2" / "metrics.jsonl").read_text())
    return folder


def link(source: str, target: str) -> None:
    """Copies a file, at no cost: commands replace files, and never write into them."""
    os.link(source, target)


def history() -> None:
    """A history of 60 nights: torch_npu changed at run 41, and the actor update became slower; run 8 failed."""
    rng = random.Random(14)
    runs = []
    for number in range(1, 61):
        late = number > 40
        update, rest = 0.3 * (1.09 if late else 1) * rng.gauss(1, 0.01), 0.16 * rng.gauss(1, 0.01)
        values = {"timing_s/step": update + rest, "timing_s/update_actor": update}
        run = new_run(number, values, status="failed" if number == 8 else "ok", torch_npu="2.7.1" if late else "2.5.1")
        started = datetime(2026, 8, 22, 16, tzinfo=timezone.utc) + timedelta(days=number)
        commit = ("4a9c03be11f2" if late else "77e1bd0a93c4").ljust(40, "0")
        runs.append(replace(run, started_ns=int(started.timestamp()) * 10**9, commit_id=commit))
    store.add(place_of(None), runs)


def script(name: str) -> None:
    """``train.sh`` and ``measure.sh``, which leave a run in the folder that their last argument names."""
    Path(name).write_text(_TRAIN)
    Path(name).chmod(0o755)


WRITERS = {
    "a history": history,
    "train.sh": lambda: script("train.sh"),
    "measure.sh": lambda: script("measure.sh"),
}
"""What else may be there before a document's first command."""


class Workplace:
    """Runs commands of documents in the working folder, those of rlcompare in the test's process."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.folder, self._capture, self._patch = folder, capture, patch
        self.code = 0

    def run(self, line: str) -> str:
        """Runs a command, and returns its standard output; ``code`` is its exit code."""
        loop = re.fullmatch(r"for (\w+) in ([\w ]+); do (.*); done", line)
        if loop:
            name, values, body = loop.groups()
            return "".join(self.run(body.replace(f"${name}", value)) for value in values.split())
        if line in WRITERS:
            WRITERS[line]()
            self.code = 0
            return ""
        if line == "echo $?":
            return f"{self.code}\n"
        if line.startswith("export "):
            name, _, value = shlex.split(line)[1].partition("=")
            self._patch.setenv(name, value)
            return ""
        tomorrow = (datetime.now(timezone.utc) + timedelta(days=1)).date().isoformat()
        words, target, mode = redirected(re.sub(r"--expires \S+", f"--expires {tomorrow}", line))
        if words[:1] != ["rlcompare"]:
            return self._shell(line)
        self._capture.readouterr()
        self.code = run(words[1:])
        out, self.err = self._capture.readouterr()
        if target is None:
            return out
        path = Path(target).expanduser()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8") as file:
            file.write(out)
        return ""

    def python(self, text: str) -> str:
        """Runs a block of Python, and returns what it prints. Without ``df()``: pandas may be missing here."""
        with redirect_stdout(StringIO()) as out:
            exec(text.replace(".df()", ".arrow()"), {})  # our own document
        return out.getvalue()

    def _shell(self, line: str) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, timeout=60, env={**os.environ, "PATH": path}
        )
        self.code, self.err = done.returncode, done.stderr
        return done.stdout


def redirected(line: str) -> tuple[list[str], str | None, str]:
    """The words of a command without its redirection, the file that it writes to, and how that is opened."""
    words = shlex.split(line)
    for sign, mode in ((">>", "a"), (">", "w")):
        if sign in words[-2:-1]:
            return words[:-2], words[-1], mode
    return words, None, ""
