"""Which versions and commits of the packages under test are recorded with a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rlcompare.collect.verl.asked import commits, versions
from rlcompare.doctor.machine import _packages
from rlcompare.model.run import RunCommit, RunFile, TrainingInput
from rlcompare.sources.run_directory import environment_of


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(folder: Path, package: str) -> str:
    """A checkout with a package; its commit."""
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text("raise ImportError('must not be imported')\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return git(folder, "rev-parse", "HEAD")


def test_a_repository_of_a_test_is_not_the_developers(tmp_path: Path) -> None:
    """Where the suite runs in a git hook, variables name that one; and its commits may be signed."""
    git(tmp_path, "init", "-q", "theirs")
    signed = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "commit.gpgsign", "GIT_CONFIG_VALUE_0": "true"}
    code = "import sys, tests.conftest; from tests.unit.test_installed import *; repository(Path(sys.argv[1]), 'p')"
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "ours")], check=True, cwd=Path(__file__).parents[2],
        env={**os.environ, **signed, "GIT_DIR": str(tmp_path / "theirs" / ".git")},
    )  # fmt: skip
    assert (tmp_path / "ours" / ".git").is_dir()
    assert git(tmp_path / "theirs", "rev-list", "--all") == ""


def installed(site: Path, name: str, version: str, origin: object = None) -> None:
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if origin is not None:
        (folder / "direct_url.json").write_text(json.dumps(origin))


def test_versions_and_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, verl, vllm = tmp_path / "site", tmp_path / "src verl", tmp_path / "vllm"
    # GIVEN an editable verl with a change, a vLLM that was installed from a commit, one plain package
    commit = repository(verl, "verl")
    (verl / "verl/__init__.py").write_text("changed = True\n")
    installed(site, "verl", "0.7.1", {"url": verl.as_uri(), "dir_info": {"editable": True}})
    origin = {"url": "https://example.com/vllm-ascend.git", "vcs_info": {"vcs": "git", "commit_id": "c" * 40}}
    installed(site, "vllm_ascend", "0.11.0", origin)
    installed(site, "transformers", "4.57.0", {"url": "file:///wheels/transformers.whl", "archive_info": {}})
    # AND a checkout in the search path, before what is installed, and a folder of a repository that is no package
    installed(site, "vllm", "0.11.0", {"url": verl.as_uri(), "dir_info": {"editable": True}})
    used = repository(vllm, "vllm")
    (vllm / "sglang").mkdir()
    # AND CANN
    (tmp_path / "cann").mkdir()
    (tmp_path / "cann/version.cfg").write_text("# version: 1.0\nruntime_running_version=[7.8.0.6.201:8.3.RC1]\n")
    monkeypatch.setenv("ASCEND_TOOLKIT_HOME", str(tmp_path / "cann"))
    monkeypatch.setattr(sys, "path", [str(site), str(vllm)])

    found, sources = versions(), commits()
    sources.pop("rlcompare", None)

    assert (found["verl"], found["vllm_ascend"], found["transformers"]) == ("0.7.1", "0.11.0", "4.57.0")
    assert found["cann"] == "8.3.RC1"
    assert sources == {
        "verl": {"commit": commit, "dirty": True},
        "vllm_ascend": {"commit": "c" * 40, "dirty": False},
        "vllm": {"commit": used, "dirty": False},
    }
    # AND what is recorded is among the settings of the run
    run = RunFile(versions=found, commits={name: RunCommit(**state) for name, state in sources.items()})
    told = environment_of(TrainingInput(tmp_path, run=run))
    assert told["commit.verl"] == f"{commit[:12]} with changes"
    assert (told["commit.vllm"], told["vllm_ascend"], told["cann"]) == (used[:12], "0.11.0", "8.3.RC1")


@pytest.mark.parametrize(("text", "expected"), [("0.9.1\n", "0.9.1"), ("\n", "0.7.1"), (None, "0.7.1")])
def test_the_version_of_a_checkout_of_verl_is_that_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, expected: str
) -> None:
    """Metadata are those of the time of ``pip install -e``, or of a wheel that the checkout hides."""
    (tmp_path / "src/verl/version").mkdir(parents=True)
    (tmp_path / "src/verl/__init__.py").touch()
    if text is not None:
        (tmp_path / "src/verl/version/version").write_text(text)
    installed(tmp_path / "site", "verl", "0.7.1")
    paths = [str(tmp_path / "src"), str(tmp_path / "site")]
    with monkeypatch.context() as patch:
        patch.setattr(sys, "path", paths)
        assert versions()["verl"] == expected
    # AND doctor says the same of an interpreter
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    assert _packages(sys.executable)[1]["verl"] == expected


@pytest.mark.parametrize("text", ["{", "[]", "7", '{"url": 7, "dir_info": 8, "vcs_info": {"commit_id": 9}}', ""])
def test_a_damaged_origin_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    installed(tmp_path, "verl", "0.7.1")
    (tmp_path / "verl-0.7.1.dist-info/direct_url.json").write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert "verl" not in commits()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("version.info", "Version=8.2.RC1\nversion_dir=8.2.RC1\n", "8.2.RC1"),
        ("version.cfg", "toolkit_running_version=[8.1.RC1]\n", "8.1.RC1"),
        ("version.info", "nothing here\n", None),
    ],
)
def test_cann(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, expected: str | None) -> None:
    (tmp_path / name).write_text(text)
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    monkeypatch.setenv("ASCEND_TOOLKIT_HOME", str(tmp_path))
    assert versions().get("cann") == expected
