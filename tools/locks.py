"""Writes the hashed locks in requirements/, which the container and the release workflow install from.

    run.lock     what rlcompare needs at run time, on Python 3.10 and newer
    build.lock   what builds and checks the distributions, on the Python of the release workflow and newer

Each is for all platforms at once (markers choose), with the versions of constraints.txt, and with the SHA-256
of every file of each version: ``pip install --require-hashes -r requirements/run.lock`` accepts nothing else. There is
none for development: ``make`` takes constraints.txt, so that a local build of PyTorch may stand in for the published.

    python -m tools.locks            needs uv and the package registry

``constraints.txt`` is changed first; tests/packaging/test_locks.py fails where a lock differs from it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.platforms import PYTHONS, ROOT, find_uv

FOLDER = Path("requirements")
BUILD_PYTHON = "3.12"
LOCKS = {"run.lock": ("pyproject.toml", PYTHONS[0]), "build.lock": ("requirements/build.in", BUILD_PYTHON)}
"""Their source, and the oldest Python that each is for."""


def main() -> int:
    uv = find_uv()
    if uv is None:
        raise SystemExit("uv is not here: pip install uv")
    for name, (source, python) in LOCKS.items():
        subprocess.run(
            [
                uv, "pip", "compile", source, "--quiet", "--universal", "--generate-hashes", "--no-emit-index-url",
                "--python-version", python, "--constraint", "constraints.txt",
                "--custom-compile-command", "python -m tools.locks", "--output-file", str(FOLDER / name),
            ],
            cwd=ROOT, check=True,
        )  # fmt: skip
        print(FOLDER / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
