"""The CI job that ``rlcompare ci init`` writes: a template of ``report_templates/ci``, filled for one repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rlcompare import __version__
from rlcompare.errors import OutputError, UsageError
from rlcompare.repository import root_of
from rlcompare.resources import resource_root

COMMAND = 'rlcompare run -q -o "$NEW" --repeat 5'
"""What is measured by default: the reference step."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_PACKAGE = re.compile(r"[A-Za-z0-9./][A-Za-z0-9 ._~:/@+#=<>!,;&?%()\[\]-]{0,499}")


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


def package_for(command: str) -> str:
    """What a job installs by default: this version, with what its command needs."""
    return f"rlcompare{'[collect]' if command.strip().startswith('rlcompare run ') else ''}=={__version__}"


def ci_text(
    system: str,
    *,
    branch: str | None = None,
    baseline: str = "main",
    command: str = COMMAND,
    package: str | None = None,
) -> str:
    """The file for one of ``SYSTEMS``.

    Args:
        branch: its runs that pass make the next baseline; None: ``main``, and the project's default branch on GitLab.
        baseline: the baseline's name.
        command: one line of shell that leaves a run, or a folder of runs, in ``$NEW``.
        package: what pip installs; None: ``package_for(command)``.

    Raises:
        UsageError: a value would break the file.
    """
    package = package_for(command) if package is None else package
    _check("--branch", branch or "main", _BRANCH, "use letters, digits and . _ / -")
    _check("--baseline", baseline, _NAME, "use letters, digits and . _ -")
    _check("--install", package, _PACKAGE, "use one requirement, path or URL without quotes, $ and \\")
    if not command.strip() or not command.isprintable():
        raise UsageError("--command must be one line; put several into a script, and run that")
    if system == "jenkins":
        if "'''" in command:
            raise UsageError("--command holds ''', which ends the script in a Jenkinsfile; put it into a script")
        command = command.replace("\\", "\\\\")
    by_default = "$CI_DEFAULT_BRANCH" if system == "gitlab" else "main"
    values = {
        "version": __version__,
        "package": package,
        "branch": branch or by_default,
        "rule": f'"{branch}"' if branch else by_default,
        "baseline": baseline,
        "command": command.strip(),
    }
    text = (resource_root("report_templates") / "ci" / SYSTEMS[system].template).read_text(encoding="utf-8")
    return re.sub("@@([a-z]+)@@", lambda found: values[found[1]], text)


def _check(option: str, value: str, pattern: re.Pattern[str], hint: str) -> None:
    if not pattern.fullmatch(value):
        raise UsageError(f"{option} {value!r}: {hint}")


def target_of(system: str, folder: Path) -> Path:
    """Where the file belongs: at the root of the git repository around a folder, else in the folder itself."""
    return root_of(folder) / SYSTEMS[system].path


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
