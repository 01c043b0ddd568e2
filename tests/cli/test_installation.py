"""A complete installation: the package's resources and the console script, in a checkout and from a wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

import rlcompare
from rlcompare.resources import resource_root, sql_names


def test_resources_are_there() -> None:
    for folder in ("schema/run", "schema/rollup", "schema/events", "normalize", "rollup", "compare", "show", "named"):
        assert sql_names(folder), folder
    assert list(resource_root("report_templates").glob("*.html*"))


def test_version_is_the_distributions() -> None:
    assert version("rlcompare") == rlcompare.__version__


def test_console_script() -> None:
    (script,) = entry_points(group="console_scripts", name="rlcompare")
    assert script.value == "rlcompare.cli.main:main"
    executable = Path(sys.executable).with_name("rlcompare")
    result = subprocess.run([executable, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"rlcompare {rlcompare.__version__}\n"


def test_the_package_under_test_is_the_wheels() -> None:
    """`make test` runs the suite against the wheel; a checkout in the path would be tested in its place unseen."""
    package = Path(rlcompare.__file__).parent
    installed = "site-packages" in package.parts
    assert installed == (os.environ.get("RLCOMPARE_TEST_INSTALLED") == "1")
    assert (package / "_resources").is_dir() == installed


@pytest.mark.parametrize("lost", ["sql", "sql/normalize/is_usable.sql"])
def test_a_broken_installation_is_no_fault_of_the_input(samples: Path, tmp_path: Path, lost: str) -> None:
    package = Path(rlcompare.__file__).parent
    without = shutil.ignore_patterns("__pycache__", "_resources")
    shutil.copytree(package, tmp_path / "rlcompare", ignore=without)
    for kind in ("sql", "report_templates"):
        shutil.copytree(resource_root(kind), tmp_path / kind)
    (shutil.rmtree if (tmp_path / lost).is_dir() else os.remove)(tmp_path / lost)
    command = [sys.executable, "-m", "rlcompare", "show", "--no-cache", str(samples / "base")]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert result.returncode == 70
    last = result.stderr.splitlines()[-1]
    assert lost.rpartition("/")[2] in last and last.endswith("reinstall rlcompare")
    assert "permissions" not in result.stderr
