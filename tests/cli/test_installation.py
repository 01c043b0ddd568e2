"""A complete installation: the package's resources and the console script, in a checkout and from a wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

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
