"""``rlcompare completion``: what a shell offers after Tab."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rlcompare.cli.main import COMMANDS

from .conftest import Command
from .test_main import modules_after

_PROGRAM = """#!{python}
import sys
sys.path[:0] = {path!r}
from rlcompare.cli.main import main
main()
"""
# Asks the function that the script defines, as bash does after Tab.
_BASH = """
eval "$(rlcompare completion bash)"
complete -p rlcompare
ask() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _rlcompare_completion rlcompare
    echo "${COMPREPLY[@]}"
}
ask rlcompare ""
ask rlcompare history p
ask rlcompare diff --prefer ""
ask rlcompare gate --on-inc
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_of_the_shell(rlcompare: Command, shell: str, tmp_path: Path) -> None:
    result = rlcompare("completion", shell)
    assert (result.code, result.err) == (0, "")
    assert f"_RLCOMPARE_COMPLETE={shell}_complete" in result.out
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} on this machine to read the script")
    script = tmp_path / "script"
    script.write_text(result.out)
    done = subprocess.run([program, "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
def test_bash_offers_commands_options_and_values(tmp_path: Path) -> None:
    program = tmp_path / "rlcompare"
    program.write_text(_PROGRAM.format(python=sys.executable, path=[path or str(Path.cwd()) for path in sys.path]))
    program.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "--norc", "-c", _BASH], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "complete -o nosort -F _rlcompare_completion rlcompare",
        " ".join(COMMANDS),
        "plot",
        "db text",
        "--on-inconclusive",
    ]


def test_another_shell_is_refused(rlcompare: Command) -> None:
    result = rlcompare("completion", "tcsh")
    assert result.code == 2
    assert "'bash', 'zsh', 'fish'" in result.error


def test_it_imports_nothing_heavy() -> None:
    assert not modules_after("completion", "zsh") & {"duckdb", "rich", "jinja2", "rlcompare.cli.diff"}
