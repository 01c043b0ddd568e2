"""The CI job that ``rlcompare ci init`` writes: a template of ``report_templates/ci``, filled for one repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rlcompare import __version__
from rlcompare.errors import OutputError, UsageError
from rlcompare.resources import resource_root

COMMAND = 'rlcompare run -q -o "$NEW" --repeat 5'
"""What is measured by default: the reference step."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")


@dataclass(frozen=True)
class System:
    """A CI system.

    Attributes:
        template: below ``report_templates/ci``.
        path: where the system looks for the file, from the root of the repository.
    """

    template: str
    path: str


SYSTEMS = {
    "github": System("github.yml", ".github/workflows/rlcompare.yml"),
    "gitlab": System("gitlab.yml", ".gitlab-ci.yml"),
    "jenkins": System("jenkins.groovy", "Jenkinsfile"),
}


def ci_text(system: str, *, branch: str = "main", baseline: str = "main", command: str = COMMAND) -> str:
    """The file for one of ``SYSTEMS``.

    Args:
        branch: its runs that pass make the next baseline.
        baseline: the baseline's name.
        command: one line of shell that leaves a run, or a folder of runs, in ``$NEW``.

    Raises:
        UsageError: a value would break the file.
    """
    for option, value, pattern in (("--branch", branch, _BRANCH), ("--baseline", baseline, _NAME)):
        if not pattern.fullmatch(value):
            raise UsageError(f"{option} {value!r}: use letters, digits and . _ -")
    if not command.strip() or not command.isprintable():
        raise UsageError("--command must be one line; put several into a script, and name that")
    if system == "jenkins":
        if "'''" in command:
            raise UsageError("--command holds ''', which ends the script in a Jenkinsfile; put it into a script")
        command = command.replace("\\", "\\\\")
    runs_here = command.strip().startswith("rlcompare run ")
    values = {
        "version": __version__,
        "package": f"rlcompare{'[collect]' if runs_here else ''}=={__version__}",
        "branch": branch,
        "baseline": baseline,
        "command": command.strip(),
    }
    text = (resource_root("report_templates") / "ci" / SYSTEMS[system].template).read_text(encoding="utf-8")
    return re.sub("@@([a-z]+)@@", lambda found: values[found[1]], text)


def target_of(system: str, folder: Path) -> Path:
    """Where the file belongs: at the root of the git repository around a folder, else in the folder itself."""
    root = next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)
    return root / SYSTEMS[system].path


def write_ci(text: str, path: Path, *, force: bool) -> None:
    """Writes the file.

    Raises:
        UsageError: the file exists, and ``force`` is not set.
        OutputError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(
            f"{path} exists and was not changed: add to it what --print shows, choose another file with -o, or replace"
            " it with --force"
        ) from error
    except OSError as error:
        raise OutputError(path, error.strerror or type(error).__name__, "choose another file with -o") from error
