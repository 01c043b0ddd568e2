"""For which Pythons and platforms there are binary packages of everything that rlcompare needs: docs/platforms.md.

Each target is resolved as an installer there would do it: its markers, its wheels, nothing that has to be compiled.
That shows that ``pip install`` finds its files; not that they run. Needs uv (``pip install uv``), which can resolve for
other platforms than its own; pip would judge the markers of requirements by the Python that it runs on.

    python -m tools.platforms            print the tables
    python -m tools.platforms --write    also put them into docs/platforms.md
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = Path("docs/platforms.md")
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux aarch64": "aarch64-manylinux_2_28",
    "Alpine x86-64": "x86_64-unknown-linux-musl",
    "macOS arm64": "aarch64-apple-darwin",
    "macOS x86-64": "x86_64-apple-darwin",
    "Windows x86-64": "x86_64-pc-windows-msvc",
    "Windows arm64": "aarch64-pc-windows-msvc",
}
EXTRAS = ("collect", "hf", "notebook", "postgres", "ray", "s3")
EXTRAS_PYTHON = "3.11"
_BEGIN, _END = "<!-- python -m tools.platforms --write -->", "<!-- end -->"
_MISSING = re.compile(r"[Bb]ecause (?:all versions of )?([a-z][a-z0-9_-]*)")


@dataclass(frozen=True)
class Target:
    """One environment to resolve for."""

    python: str
    platform: str
    extra: str = ""


@dataclass(frozen=True)
class Resolved:
    """What an installer would install there, or why it cannot.

    Attributes:
        versions: ``name==version`` of every package; empty if there is no solution.
        problem: the resolver's explanation; empty if there is a solution.
    """

    versions: tuple[str, ...]
    problem: str = ""

    @property
    def cell(self) -> str:
        """For a table: yes, or the package that is missing."""
        if not self.problem:
            return "yes"
        found = _MISSING.search(self.problem)
        return f"no ({found[1]})" if found else "no"


def find_uv() -> str | None:
    """The command uv: beside this Python, else in the path."""
    return shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")


def resolve(uv: str, target: Target, *, pinned: bool = False) -> Resolved:
    """Resolves the dependencies in pyproject.toml for a target, with binary packages only.

    Args:
        pinned: with the versions of constraints.txt, else the newest.
    """
    command = [
        uv, "pip", "compile", "pyproject.toml", "--quiet", "--only-binary", ":all:", "--no-header", "--no-annotate",
        "--color", "never", "--python-version", target.python, "--python-platform", PLATFORMS[target.platform],
    ]  # fmt: skip
    command += ["--extra", target.extra] if target.extra else []
    command += ["--constraint", "constraints.txt"] if pinned else []
    environment = {key: value for key, value in os.environ.items() if key != "UV_CONSTRAINT"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        return Resolved((), " ".join(done.stderr.split()) or "no reason given")
    return Resolved(tuple(done.stdout.split("\n")[:-1]))


def tables(uv: str) -> str:
    """Both tables as Markdown: Pythons by platforms, extras by platforms."""
    base = [[platform, *(resolve(uv, Target(python, platform)).cell for python in PYTHONS)] for platform in PLATFORMS]
    extras = [
        [platform, *(resolve(uv, Target(EXTRAS_PYTHON, platform, extra)).cell for extra in EXTRAS)]
        for platform in PLATFORMS
    ]
    return "\n".join([
        f"Resolved on {datetime.date.today().isoformat()}, newest versions, binary packages only:",
        "",
        *_table(["", *(f"Python {version}" for version in PYTHONS)], base),
        "",
        f"Extras, with Python {EXTRAS_PYTHON}:",
        "",
        *_table(["", *(f"`{extra}`" for extra in EXTRAS)], extras),
    ])  # fmt: skip


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.platforms", description="Resolve for other platforms.")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE}")
    options = parser.parse_args(arguments)
    uv = find_uv()
    if uv is None:
        parser.error("uv is not here: pip install uv")
    text = tables(uv)
    print(text)
    if options.write:
        page = ROOT / PAGE
        before, _, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
        page.write_text(f"{before}{_BEGIN}\n{text}\n{_END}{rest.partition(_END)[2]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
