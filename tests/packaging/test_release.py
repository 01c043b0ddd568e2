"""The release workflow and the container file: valid, with the least rights, and their commands do what they say.

There is neither GitHub nor Docker here: commands are run in a plain environment, as far as they need no other machine.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml

from rlcompare import __version__
from rlcompare.cli.main import run
from tests.ci_schemas import check_json
from tools.platforms import PYTHONS

ROOT = Path(__file__).resolve().parent.parent.parent
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
CONTAINER = ROOT / "Containerfile"
ACTIONS = {
    "actions/attest-build-provenance", "actions/attest-sbom", "actions/checkout", "actions/download-artifact",
    "actions/setup-python", "actions/upload-artifact", "pypa/gh-action-pypi-publish",
}  # fmt: skip

pytestmark = pytest.mark.skipif(not WORKFLOW.is_file(), reason="there is no checkout")


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    document = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    return {"on" if key is True else key: value for key, value in document.items()}  # YAML 1.1 reads on as true


def _step(workflow: dict[str, Any], job: str, name: str) -> str:
    (command,) = (step["run"] for step in workflow["jobs"][job]["steps"] if step.get("name") == name)
    return str(command)


def _shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """As GitHub's ``shell: bash``, with this Python as ``python``."""
    tools = folder.parent / "bin"
    tools.mkdir(exist_ok=True)
    python = tools / "python"
    if not python.exists():
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        python.chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PIP_CONSTRAINT")}
    variables = {**kept, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", **environment}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command]
    return subprocess.run(shell, cwd=folder, env=variables, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the checkout in a repository of their own, as the workflow would check them out."""
    if not (ROOT / ".git").exists():
        pytest.skip("the checkout is no git repository")
    folder = tmp_path_factory.mktemp("release") / "checkout"
    folder.mkdir()
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True)
    if listed.returncode:  # git does not trust a checkout of another user, as in a container
        pytest.skip(f"git cannot list the checkout: {listed.stderr.decode()}")
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    for arguments in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--no-verify", "-m", "A release"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True)
    return folder


class TestWorkflow:
    def test_is_valid(self, workflow: dict[str, Any]) -> None:
        check_json(workflow, "github-workflow.json")

    def test_has_the_least_rights(self, workflow: dict[str, Any]) -> None:
        """Only the job that publishes may sign, and it runs no code of the repository."""
        assert workflow["permissions"] == {"contents": "read"}
        assert {name for name, job in workflow["jobs"].items() if "permissions" in job} == {"publish", "page"}
        publish, page = workflow["jobs"]["publish"], workflow["jobs"]["page"]
        assert publish["permissions"] == {"contents": "read", "id-token": "write", "attestations": "write"}
        assert page["permissions"] == {"contents": "write"}
        assert not [step for step in publish["steps"] if "run" in step or "checkout" in step["uses"]]
        assert "secrets." not in WORKFLOW.read_text(encoding="utf-8")
        for job in workflow["jobs"].values():
            assert job["timeout-minutes"] <= 90
            for step in job["steps"]:
                action, _, version = step.get("uses", "actions/checkout@v6").partition("@")
                assert action in ACTIONS and re.fullmatch(r"v\d+|release/v1|[0-9a-f]{40}", version)
                if "actions/checkout" in step.get("uses", ""):
                    assert step["with"]["persist-credentials"] is False
                assert "${{" not in step.get("run", ""), "a value that is pasted into a script can be a command"

    def test_only_what_was_tried_is_published(self, workflow: dict[str, Any]) -> None:
        jobs = workflow["jobs"]
        assert set(jobs["publish"]["needs"]) == {"build", "try", "suite"} and jobs["page"]["needs"] == "publish"
        assert jobs["publish"]["if"] == jobs["page"]["if"] == "github.ref_type == 'tag'"
        assert jobs["try"]["strategy"]["matrix"]["python"] == list(PYTHONS)
        assert {"ubuntu-24.04", "ubuntu-24.04-arm"} < set(jobs["try"]["strategy"]["matrix"]["system"])

    @pytest.mark.slow
    def test_the_build_can_be_repeated(self, workflow: dict[str, Any], checkout: Path) -> None:
        pytest.importorskip("hatchling", reason="hatchling is not installed (extra dev)")
        for name in ("Build", "The source archive gives the same wheel"):
            done = _shell(_step(workflow, "build", name), checkout, PYTHONPATH=_libraries())
            assert done.returncode == 0, done.stderr
        assert len(list((checkout / "dist").iterdir())) == 2 and (checkout / "rlcompare.cdx.json").is_file()

    def test_a_tag_needs_its_version_and_its_changelog(self, workflow: dict[str, Any], checkout: Path) -> None:
        command = _step(workflow, "build", "The tag is the version")
        changelog = checkout / "CHANGELOG.md"
        ours = changelog.read_text(encoding="utf-8")  # in the commit of a release it has the section already
        unreleased = "## [Unreleased]\n\n- next\n"
        released = f"{unreleased}\n## [{__version__}] - 2026-12-01\n"
        codes = []
        for text, tag in ((unreleased, f"v{__version__}"), (released, "v99.0.0"), (released, f"v{__version__}")):
            changelog.write_text(text, encoding="utf-8")
            codes.append(_shell(command, checkout, GITHUB_REF_NAME=tag).returncode)
        changelog.write_text(ours, encoding="utf-8")
        assert codes[0] != 0 and codes[1] != 0 and codes[2] == 0

    def test_the_release_page_has_the_section_of_the_changelog(self, workflow: dict[str, Any], tmp_path: Path) -> None:
        place = tmp_path / "checkout"
        (place / "build" / "files").mkdir(parents=True)
        (place / "build" / "files" / "a.whl").touch()
        text = "## [Unreleased]\n\n- next\n\n## [1.2.3] - 2026-12-01\n\n- ours\n\n## [1.2.2] - 2026-11-01\n\n- old\n"
        (place / "CHANGELOG.md").write_text(text, encoding="utf-8")
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "gh").write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
        (tmp_path / "bin" / "gh").chmod(0o755)
        done = _shell(_step(workflow, "page", "Release page"), place, GITHUB_REF_NAME="v1.2.3")
        assert done.returncode == 0, done.stderr
        assert (place / "build" / "notes.md").read_text(encoding="utf-8").strip() == "- ours"
        assert "release create v1.2.3" in done.stdout and "build/files/a.whl" in done.stdout
        assert _shell(_step(workflow, "page", "Release page"), place, GITHUB_REF_NAME="v1.2.4").returncode != 0


def _libraries() -> str:
    """Where hatchling is, for a Python that has no PYTHONPATH else."""
    import hatchling

    return str(Path(hatchling.__file__).parent.parent)


class TestContainer:
    def test_copies_what_is_not_ignored(self) -> None:
        copied = {name for line in _instructions("COPY") for name in line.split()[:-1]}
        allowed = {
            line.removeprefix("!")
            for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
            if line.startswith("!")
        }
        assert copied == allowed

    def test_does_not_run_as_root(self) -> None:
        assert _instructions("USER") == ["10001"] and not _instructions("ENTRYPOINT")

    @pytest.mark.thorough
    @pytest.mark.slow
    def test_its_commands_install_what_compares(self, workflow: dict[str, Any], checkout: Path, tmp_path: Path) -> None:
        """In a new environment, from the registry, by hashes: the wheel that the workflow builds works in it."""
        pytest.importorskip("hatchling", reason="hatchling is not installed (extra dev)")
        if not list((checkout / "dist").glob("*.whl")):
            assert _shell(_step(workflow, "build", "Build"), checkout, PYTHONPATH=_libraries()).returncode == 0
        root = tmp_path / "root"
        (root / "opt" / "rlcompare").mkdir(parents=True)
        for line in _instructions("COPY"):
            *names, target = line.split()
            for file in (file for name in names for file in checkout.glob(name)):
                (root / target.lstrip("/") / file.name).write_bytes(file.read_bytes())
        venv.create(root / "venv", with_pip=True)
        (command,) = _instructions("RUN")
        path = f"{root / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = _shell(command.replace("/opt/", f"{root}/opt/"), root, PATH=path)
        if done.returncode and _is_no_registry(done.stdout + done.stderr):
            pytest.skip("the package registry cannot be reached")
        assert done.returncode == 0, done.stderr
        assert done.stdout.rstrip().endswith(f"rlcompare {__version__}")
        inputs = ROOT / "golden" / "inputs"
        sides = ["-d", str(inputs / "verl_default_new"), "-bp", str(inputs / "verl_default_baseline")]
        options = [*sides, "-q", "--no-cache"]
        made = _shell(shlex.join(["rlcompare", "diff", *options, "-o", "report"]), root, PATH=path)
        assert made.returncode == 0, made.stderr
        assert run(["diff", *options, "-o", str(tmp_path / "ours")]) == 0
        assert (root / "report" / "diff.json").read_bytes() == (tmp_path / "ours" / "diff.json").read_bytes()


def _instructions(name: str) -> list[str]:
    """The instructions of one kind, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", CONTAINER.read_text(encoding="utf-8"))
    return [line.removeprefix(f"{name} ") for line in text.splitlines() if line.startswith(f"{name} ")]


def _is_no_registry(text: str) -> bool:
    return bool(re.search(r"Connection|resolve host|Name or service|Network is unreachable|timed out", text))
