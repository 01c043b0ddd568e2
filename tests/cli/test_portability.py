"""``diff`` and its neighbours where the operating system, the locale or the console are others than on Linux.

There is neither macOS nor Windows here: ``other_system/sitecustomize.py`` takes away what Windows lacks and refuses
what it refuses. docs/platforms.md says what that shows, and what it does not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rlcompare.cli.diff import FORMATS, GATE_FORMATS

from .conftest import Outcome

HERE = Path(__file__).resolve().parent
COMMANDS = """\
import json, sys
from rlcompare.cli.main import run
for arguments in json.loads(sys.argv[1]):
    code = run(arguments)
    sys.stdout.flush()
    if code not in (0, 1, 3):
        sys.exit(f"{arguments} ended with {code}")
"""

pytestmark = pytest.mark.slow


def _run(place: Path, *commands: list[str], **environment: str) -> Outcome:
    """Runs commands one after the other in one process, in a folder."""
    place.mkdir(exist_ok=True)
    variables = {**os.environ, "RLCOMPARE_CACHE_DIR": str(place / "cache"), **environment}
    command = [sys.executable, "-c", COMMANDS, json.dumps(commands, ensure_ascii=False)]
    done = subprocess.run(command, cwd=place, env=variables, capture_output=True, timeout=120)
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    assert "Traceback" not in err
    return Outcome(done.returncode, out, err)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="looks for open files in /proc")
def test_on_something_like_windows(samples: Path, tmp_path: Path) -> None:
    """Everything that compares works without POSIX, with no file name, rename or link that Windows refuses."""
    base, new = str(samples / "base"), str(samples / "new")
    python_path = os.pathsep.join([str(HERE / "other_system"), os.environ.get("PYTHONPATH", str(HERE.parent.parent))])
    diff = ["diff", "-d", new, "-bp", base, "-o", "report", "--format", ",".join(FORMATS)]
    found = _run(
        tmp_path / "there",
        diff,
        [*diff, "--prefer", "text"],  # replaces the first report
        ["gate", "-d", new, "-bp", base, "-o", "gate", "--format", ",".join(GATE_FORMATS)],
        ["report", "report/diff.json", "-o", "page.html"],
        ["explain", "1", "report/diff.json"],
        ["show", base, "--html", "show.html"],
        ["ingest", base, "-o", "base.duckdb"],
        ["sql", "base.duckdb", "select count(*) from kernel"],
        ["baseline", "add", "kept", base, "--baselines", "kept", "--reason", "a: b?"],
        ["baseline", "promote", "kept", new, "--baselines", "kept", "--reason", "again", "--force"],
        ["history", "add", base, "--history", "history.duckdb"],
        ["cache", "list"],
        ["cache", "prune", "--all"],
        PYTHONPATH=python_path,
    )
    assert found.code == 0, found.err
    files = [path.relative_to(tmp_path).as_posix() for path in (tmp_path / "there").rglob("*")]
    assert len(files) > 50
    assert not [name for name, count in Counter(name.casefold() for name in files).items() if count > 1]


REFUSED = """\
import os
from pathlib import Path

def refused(error, act):
    try:
        act()
    except error:
        return
    raise SystemExit(f"{act} should have raised {error}")

def import_fcntl():
    import fcntl

Path("a").write_text("a", encoding="utf-8")
Path("b").write_text("b", encoding="utf-8")
refused(ImportError, import_fcntl)
refused(AttributeError, lambda: os.fork())
refused(FileExistsError, lambda: Path("a").rename("b"))
refused(OSError, lambda: Path("a:b").write_text("", encoding="utf-8"))
refused(OSError, lambda: Path("nul.txt").mkdir())
refused(OSError, lambda: Path("c").symlink_to("a"))
with Path("a").open(encoding="utf-8"):
    refused(PermissionError, lambda: Path("a").unlink())
    refused(PermissionError, lambda: Path("b").replace("a"))
Path("a").replace("b")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks for open files in /proc")
def test_the_stand_in_for_windows_refuses(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(HERE / "other_system")}
    command = [sys.executable, "-c", REFUSED]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_console_that_lacks_characters(samples: Path, tmp_path: Path) -> None:
    """They are escaped; files are UTF-8."""
    base = tmp_path / "基线 é"
    base.symlink_to(samples / "base")
    _check_chinese_report(tmp_path / "there", samples / "new", base, PYTHONIOENCODING="cp1252")


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_locale_without_utf8(samples: Path, tmp_path: Path) -> None:
    """Files are UTF-8 there too. DuckDB takes paths as UTF-8 and Python by the locale: they must mean the same."""
    base = tmp_path / "é"
    base.symlink_to(samples / "base")
    _check_chinese_report(tmp_path / "there", samples / "new", samples / "base", **ASCII)
    found = _run(tmp_path / "there", ["show", str(base)], **ASCII)
    assert "cannot be passed to DuckDB in this locale: set PYTHONUTF8=1" in found.err
    assert "ended with 2" in found.err


def _check_chinese_report(place: Path, new: Path, base: Path, **environment: str) -> None:
    found = _run(
        place,
        ["diff", "-d", f"new={new}", "-bp", str(base), "-o", "report", "--format", "md,csv", "--lang", "zh-CN"],
        ["gate", "report/diff.json"],
        **environment,
    )
    assert found.code == 0, found.err
    assert json.loads((place / "report/diff.json").read_text(encoding="utf-8"))["new"]["label"] == "new"
    assert "基线" in (place / "report/report.md").read_text(encoding="utf-8")
