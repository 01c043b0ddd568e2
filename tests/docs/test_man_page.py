"""docs/rlcompare.1 says what the commands say, in roff that formatters accept."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from rlcompare.cli.main import COMMANDS
from rlcompare.errors import ExitCode
from tools.man_page import EXIT_CODES, TARGET, page


def test_it_is_current() -> None:
    assert TARGET.read_text(encoding="utf-8") == page(), "docs/rlcompare.1 is not current: run python -m tools.man_page"


def test_every_exit_code_is_in_it() -> None:
    assert set(ExitCode) <= set(EXIT_CODES)


@pytest.mark.parametrize(
    "command", [("groff", "-man", "-Tutf8", "-ww", "-P-c"), ("mandoc", "-Tutf8", "-W", "warning", "-O", "width=80")]
)
def test_formatters_accept_it_and_show_every_command_and_option(command: tuple[str, ...]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} on this machine")
    done = subprocess.run([*command, TARGET], capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout)
    for name in COMMANDS:
        assert f"\nRLCOMPARE {name.upper()}\n" in shown
    for text in ("--on-inconclusive [pass|warn|fail]", "rlcompare gate -d new/ -bp base/\n", "DIR/run1, DIR/run2, …"):
        assert text in re.sub(r" +", " ", shown)
