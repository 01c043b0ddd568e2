"""Installs the wheel in a new environment of each Python and compares what ``diff`` gives there: docs/platforms.md.

    python -m tools.interpreters WHEEL PYTHON...              with the versions of constraints.txt
    python -m tools.interpreters --oldest WHEEL PYTHON...     with the oldest versions that the wheel admits

WHEEL comes from ``python -m hatchling build -t wheel``. Each PYTHON is an interpreter (``python3.12``, a path). Fails
if one cannot install or run it, or if two of them give another ``diff.json`` for the same profiles (``golden/inputs``)
or for the same databases of MLflow, which Python's own SQLite reads.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.verl_logs import mlflow_database

ROOT = Path(__file__).resolve().parent.parent
INPUTS = ("text_level1", "verl_default")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.interpreters")
    parser.add_argument("--oldest", action="store_true", help="the oldest versions that the wheel admits")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    options = parser.parse_args(arguments)
    results = set()
    with tempfile.TemporaryDirectory() as scratch:
        versions = _oldest(Path(scratch)) if options.oldest else ROOT / "constraints.txt"
        pairs = [*((f"{name}_new", f"{name}_baseline") for name in INPUTS), _databases(Path(scratch))]
        for number, python in enumerate(options.pythons):
            place = Path(scratch) / str(number)
            found = installed_and_run(python, options.wheel.resolve(), versions, place, pairs)
            print(f"{_version(place)}: {' '.join(found)}", flush=True)
            results.add(found)
    if len(results) > 1:
        print("They differ.")
    return 0 if len(results) == 1 else 1


def installed_and_run(
    python: str, wheel: Path, versions: Path, place: Path, pairs: Sequence[tuple[str, str]]
) -> tuple[str, ...]:
    """The digests of the ``diff.json`` of each pair of inputs, from a new environment in a folder.

    Raises:
        subprocess.CalledProcessError: it cannot be installed, or ended with an error.
    """
    subprocess.run([python, "-m", "venv", "--without-pip", str(place)], check=True)
    own = place / ("Scripts" if os.name == "nt" else "bin")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PIP_CONSTRAINT"))}
    pip = [sys.executable, "-m", "pip", "--python", str(place), "install", "--quiet"]
    flags = ["--disable-pip-version-check", "--no-compile", "--constraint", str(versions)]
    subprocess.run([*pip, *flags, str(wheel)], check=True, env=environment)
    found = []
    for new, baseline in pairs:
        sides = ["-d", new, "-bp", baseline]
        done = subprocess.run(
            [str(own / "rlcompare"), "diff", *sides, "--json", "--no-cache", "-q", "-o", str(place / "report")],
            cwd=ROOT / "golden" / "inputs", env=environment, check=True, stdout=subprocess.PIPE,
        )  # fmt: skip
        found.append(hashlib.sha256(done.stdout).hexdigest()[:16])
    return tuple(found)


def _databases(folder: Path) -> tuple[str, str]:
    """A new run and a baseline in MLflow's databases."""
    steps = range(1, 6)
    new = mlflow_database(folder / "new.db", {"grpo": [(step, "timing_s/step", 2.0, False) for step in steps]})
    old = mlflow_database(folder / "baseline.db", {"grpo": [(step, "timing_s/step", 1.0, False) for step in steps]})
    return str(new), str(old)


def _oldest(folder: Path) -> Path:
    """Constraints of the lower bounds in pyproject.toml."""
    from rlcompare import toml  # needs tomli on Python 3.10

    project = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    path = folder / "oldest.txt"
    path.write_text("\n".join(line.replace(">=", "==") for line in project["dependencies"]) + "\n", encoding="utf-8")
    return path


def _version(place: Path) -> str:
    lines = (place / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    return "Python " + next(line.partition("=")[2].strip() for line in lines if line.startswith("version"))


if __name__ == "__main__":
    raise SystemExit(main())
