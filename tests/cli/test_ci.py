"""``rlcompare ci init``: the files are valid, and the jobs in them do what they should."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from rlcompare import __version__
from rlcompare.baselines import manifest as manifest_module
from tests.ci_schemas import check_json

from .ci_jobs import Job, Machine, run_github, run_gitlab, run_jenkins
from .conftest import Command

PLACES = {"github": ".github/workflows/rlcompare.yml", "gitlab": ".gitlab-ci.yml", "jenkins": "Jenkinsfile"}
MEASURE = 'mkdir -p "$NEW" && cp "$LOGS/$KIND.jsonl" "$NEW/metrics.jsonl"'
"""Stands in for training: leaves a log in $NEW."""

POLICY = """\
[gate]
evidence = "limits"
on_inconclusive = "fail"

[[rule]]
metric = "timing_s/step"
max_increase = "5%"

[[rule]]
metric = "timing_s/save_checkpoint"
max_increase = "5%"
"""
SECONDS = {"base": (10.0, 0.0), "same": (10.01, 0.0), "slow": (19.0, 0.0), "unclear": (10.0, 0.1)}
"""Of a step and of saving. What was 0 has no relative limit, so that it decides nothing."""


class TestFiles:
    @pytest.mark.parametrize("system", PLACES)
    def test_is_written_where_the_system_looks_and_never_over_another(self, rlcompare: Command, system: str) -> None:
        Path(".git").mkdir()
        Path("perf").mkdir()
        assert rlcompare("ci", "init", system).code == 0
        written = Path(PLACES[system]).read_text(encoding="utf-8")
        assert written == rlcompare("ci", "init", system, "--print").out
        assert f"rlcompare[collect]=={__version__}" in written and "@@" not in written and "ADAPT" in written

        Path(PLACES[system]).write_text("mine")
        refused = rlcompare("ci", "init", system)
        assert (refused.code, "--force" in refused.error, Path(PLACES[system]).read_text()) == (2, True, "mine")
        assert rlcompare("ci", "init", system, "-o", "perf/job").code == 0
        assert rlcompare("ci", "init", system, "--force").code == 0
        assert Path(PLACES[system]).read_text(encoding="utf-8") == written

    def test_is_written_at_the_root_of_the_repository(
        self, rlcompare: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path(".git").mkdir()
        inner = Path("perf/deep")
        inner.mkdir(parents=True)
        root = Path.cwd()
        monkeypatch.chdir(inner)
        assert rlcompare("ci", "init", "github").code == 0
        assert (root / PLACES["github"]).is_file()

    @pytest.mark.parametrize(("system", "schema"), [("github", "github-workflow.json"), ("gitlab", "gitlab-ci.json")])
    def test_is_valid(self, rlcompare: Command, system: str, schema: str) -> None:
        hard = ["--command", "bash x.sh: '#' \"@\" ${{ }}", "--branch", "on", "--baseline", "1.0"]
        for options in ([], [*hard, "--install", "rlcompare[collect] @ git+https://host.invalid/x.git@v1#egg=x"]):
            document = yaml.safe_load(rlcompare("ci", "init", system, "--print", *options).out)
            # YAML 1.1 reads the key "on" as true.
            check_json({"on" if key is True else key: value for key, value in document.items()}, schema)

    def test_a_command_is_what_the_shell_gets(self, rlcompare: Command) -> None:
        line = """printf '%s\\n' "$A" | tee \\"x\\" # 'y'"""
        document = yaml.safe_load(rlcompare("ci", "init", "gitlab", "--print", "--command", line).out)
        assert f"{line}\n" in document["rlcompare"]["script"]
        groovy = rlcompare("ci", "init", "jenkins", "--print", "--command", line).out
        assert line in groovy.replace("\\\\", "\\") and line not in groovy

    @pytest.mark.parametrize("system", PLACES)
    def test_says_and_lets_choose_what_is_installed_and_the_branch(self, rlcompare: Command, system: str) -> None:
        assert f"rlcompare[collect]=={__version__} from the package index" in rlcompare("ci", "init", system).out
        chosen = rlcompare("ci", "init", system, "--print", "--install", "./dist/x.whl", "--branch", "trunk").out
        assert "./dist/x.whl" in chosen and f"=={__version__}" not in chosen
        # THEN no other branch is left
        assert "trunk" in chosen and not re.search("CI_DEFAULT_BRANCH|heads/main|== .main", chosen)

    def test_only_the_systems_own_actions_pinned_by_major_version(self, rlcompare: Command) -> None:
        (job,) = yaml.safe_load(rlcompare("ci", "init", "github", "--print").out)["jobs"].values()
        used = {step["uses"] for step in job["steps"] if "uses" in step}
        assert {name.partition("@")[0] for name in used} == {
            "actions/checkout", "actions/setup-python", "actions/upload-artifact",
        }  # fmt: skip
        assert all(name.partition("@v")[2].isdigit() for name in used)

    def test_no_script_holds_what_others_can_write(self, rlcompare: Command) -> None:
        """An expression in a script is pasted into it, titles and names of branches with it."""
        (job,) = yaml.safe_load(rlcompare("ci", "init", "github", "--print").out)["jobs"].values()
        assert not any("${{" in step.get("run", "") for step in job["steps"])

    @pytest.mark.parametrize(
        "options",
        [
            ["--branch", 'main"]\nx'],
            ["--branch", "$(id)"],
            ["--baseline", "a/b"],
            ["--baseline", "a b"],
            ["--command", "two\nlines"],
            ["--command", " "],
            ["--command", "echo '''"],
            ["--install", "x' y"],
            ["--install", "-r x"],
            ["--install", ""],
        ],
    )
    def test_what_would_break_the_file_is_refused(self, rlcompare: Command, options: list[str]) -> None:
        result = rlcompare("ci", "init", "jenkins", *options)
        assert (result.code, options[0] in result.error, Path("Jenkinsfile").exists()) == (2, True, False)


@pytest.fixture
def machine(tmp_path: Path, rlcompare: Command) -> Machine:
    """A machine whose repository has the jobs of all systems and a policy."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for kind, (step, saving) in SECONDS.items():
        timers = {"timing_s/step": step, "timing_s/save_checkpoint": saving}
        lines = [json.dumps({"step": number, "data": timers}) for number in range(1, 6)]
        (logs / f"{kind}.jsonl").write_text("\n".join(lines))
    made = Machine(tmp_path / "machine", {"LOGS": str(logs)})
    made.repository.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=made.repository, check=True)
    (made.repository / "rlcompare.toml").write_text(POLICY)
    for system, place in PLACES.items():
        options = ["-o", made.repository / place, "--command", MEASURE]
        assert rlcompare("ci", "init", system, *options).code == 0
    commit(made)
    return made


def commit(machine: Machine, what: str = ".") -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.com"]
    subprocess.run(["git", "add", "-f", what], cwd=machine.repository, check=True)
    subprocess.run(["git", *identity, "commit", "-qm", "x"], cwd=machine.repository, check=True)


def reasons(machine: Machine) -> list[str]:
    """The reasons in the log of the baseline that was uploaded last."""
    manifest = (machine.store / "rlcompare-baseline/main/baseline.json").read_text(encoding="utf-8")
    return [version["reason"] for version in json.loads(manifest)["versions"]]


def make_older(machine: Machine) -> None:
    """Makes the baseline one of an older schema, as after an upgrade of rlcompare."""
    path = machine.store / "rlcompare-baseline/main/baseline.json"
    version = manifest_module.read_manifest(path.read_bytes(), "main", "").current
    older = dataclasses.replace(version, schema_version=version.schema_version - 1)
    path.write_bytes(manifest_module.to_bytes(manifest_module.with_version(None, "main", older)))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("jq") is None, reason="the stand-in for gh needs jq")
def test_github(machine: Machine) -> None:
    workflow = (machine.repository / PLACES["github"]).rename(machine.repository / ".github/workflows/perf.yml")
    commit(machine)

    def run(kind: str, event: str = "pull_request", ref: str = "refs/pull/12/merge", reason: str = "") -> Job:
        machine.variables["KIND"] = kind
        shutil.rmtree(machine.store / "rlcompare-report", ignore_errors=True)
        return run_github(machine, workflow, event, ref, reason)

    def report() -> str:
        return (machine.store / "rlcompare-report/pull-request.md").read_text(encoding="utf-8").splitlines()[0]

    without = run("same")
    assert (without.code, "There is no baseline main. The next run on main" in without.out) == (4, True), without.out
    assert "Train and profile" not in without.ran

    first = run("base", "push", "refs/heads/main")
    assert (first.code, "Gate" in first.ran, len(reasons(machine))) == (0, False, 1), first.out
    assert ["pip", f"rlcompare=={__version__}"] in machine.calls()

    slow = run("slow")
    assert (slow.code, report()) == (1, "### 🔴 rlcompare: failed (1 regressed)"), slow.out
    assert "::error title=rlcompare%3A timing_s/step%3A regressed::" in slow.out
    assert "### 🔴" in (machine.folder / "runner/summary.md").read_text(encoding="utf-8")
    assert "run this workflow by hand on main with a reason" in slow.out
    assert "Promote the baseline" not in slow.ran
    assert (machine.store / "comment.md").read_text(encoding="utf-8").startswith("<!-- rlcompare main -->\n### 🔴")

    unclear = run("unclear")
    assert (unclear.code, report()) == (3, "### 🟡 rlcompare: not decided (1 inconclusive)"), unclear.out
    same = run("same")
    assert (same.code, report()) == (0, "### 🟢 rlcompare: passed"), same.out
    assert ["gh", "api", "--method", "PATCH", "repos/owner/name/issues/comments/5"] in [
        call[:5] for call in machine.calls()
    ]

    assert (run("slow", "push", "refs/heads/main").code, len(reasons(machine))) == (1, 1)
    accepted = run("slow", "workflow_dispatch", "refs/heads/main", reason='it\'s "$(meant)"')
    assert (accepted.code, reasons(machine)[-1]) == (0, 'it\'s "$(meant)"'), accepted.out

    # An upgrade of rlcompare: the baseline cannot be read. The message tells the way out, which works.
    make_older(machine)
    upgraded = run("slow", "push", "refs/heads/main")
    assert (upgraded.code, "run it on the main branch with a reason" in upgraded.out) == (4, True), upgraded.out
    assert run("slow", "workflow_dispatch", "refs/heads/main", reason="upgrade").code == 0
    assert reasons(machine)[-1] == "upgrade"

    # The artifact expired: the next run on main makes a new baseline, and says so. There is a history by now.
    machine.variables |= {"EXPIRED": "1", "RLCOMPARE_HISTORY": str(machine.folder / "history.duckdb")}
    anew = run("base", "push", "refs/heads/main")
    assert (anew.code, "these runs are not judged" in anew.out, len(reasons(machine))) == (0, True, 1), anew.out
    assert "environment" in anew.out and (machine.folder / "history.duckdb").exists()


@pytest.mark.slow
@pytest.mark.thorough
def test_gitlab(machine: Machine) -> None:
    path = machine.repository / PLACES["gitlab"]
    request = {"CI_MERGE_REQUEST_IID": "3", "RLCOMPARE_GITLAB_TOKEN": "a-token"}

    def run(kind: str, **variables: str) -> Job:
        machine.variables["KIND"] = kind
        return run_gitlab(machine, path, **variables)

    assert run("same", **request).code == 4
    # No permission is not the same as no baseline: the main branch would make a new one each time, and judge nothing.
    for status, message in (("401", "Unauthorized"), ("404", "404 Project Not Found")):
        refused = run("base", CI_COMMIT_BRANCH="main", CURL_STATUS=status, CURL_MESSAGE=message)
        assert (refused.code, f"status {status}" in refused.out, message in refused.out) == (4, True, True), refused.out
    first = run("base", CI_COMMIT_BRANCH="main")
    assert (first.code, len(reasons(machine))) == (0, 1), first.out
    slow = run("slow", **request)
    assert slow.code == 1, slow.out
    assert {path.name for path in (machine.store / "rlcompare-report").iterdir()} >= {"junit.xml", "code-quality.json"}
    assert (machine.store / "comment.md").read_text(encoding="utf-8").startswith("<!-- rlcompare main -->\n### 🔴")
    assert run("unclear", **request).code == 3
    assert [call[-1] for call in machine.calls() if "--form" in call][-1].endswith("/merge_requests/3/notes/5")
    refused = run("slow", CI_COMMIT_BRANCH="main")
    assert (refused.code, "version 2" in refused.out) == (1, False), refused.out
    accepted = run("slow", CI_COMMIT_BRANCH="main", REASON="meant")
    assert (accepted.code, reasons(machine)[-1]) == (0, "meant"), accepted.out

    # A baseline that is damaged is made anew with a reason only.
    (machine.store / "rlcompare-baseline/main/baseline.json").write_text("{")
    damaged = run("slow", CI_COMMIT_BRANCH="main")
    assert (damaged.code, "run a pipeline by hand on main with the variable REASON" in damaged.out) == (4, True)
    history = str(machine.folder / "history.duckdb")
    accepted = run("slow", CI_COMMIT_BRANCH="main", REASON="damaged", RLCOMPARE_HISTORY=history)
    assert (accepted.code, reasons(machine), Path(history).exists()) == (0, ["damaged"], True), accepted.out


@pytest.mark.slow
@pytest.mark.thorough
def test_jenkins(machine: Machine) -> None:
    path = machine.repository / PLACES["jenkins"]

    def run(kind: str, *, on_main: bool = False, reason: str = "") -> Job:
        machine.variables["KIND"] = kind
        return run_jenkins(machine, path, on_main=on_main, reason=reason)

    assert run("same").code == 4
    first = run("base", on_main=True)
    assert (first.code, len(reasons(machine))) == (0, 1), first.out
    slow = run("slow", on_main=True)
    assert (slow.code, "version 2" in slow.out) == (1, False), slow.out
    assert (machine.store / "rlcompare-report/junit.xml").is_file()
    assert "build main with the parameter REASON" in slow.out
    machine.variables["RLCOMPARE_HISTORY"] = str(machine.folder / "history.duckdb")
    make_older(machine)
    accepted = run("slow", on_main=True, reason="meant")
    assert (accepted.code, reasons(machine)[-1]) == (0, "meant"), accepted.out
    assert (machine.folder / "history.duckdb").exists()


@pytest.mark.slow
def test_a_committed_baseline_goes_first_and_is_only_replaced_by_a_commit(machine: Machine) -> None:
    machine.variables["KIND"] = "base"
    assert run_gitlab(machine, machine.repository / PLACES["gitlab"], CI_COMMIT_BRANCH="main").code == 0
    commit(machine, ".rlcompare")
    shutil.rmtree(machine.store / "rlcompare-baseline")

    machine.variables["KIND"] = "same"
    found = run_github(machine, machine.repository / PLACES["github"], "push", "refs/heads/main")
    assert (found.code, "Gate" in found.ran, "Promote the baseline" in found.ran) == (0, True, False), found.out
    assert "comes from: repository" in found.out
    found = run_jenkins(machine, machine.repository / PLACES["jenkins"], on_main=True)
    assert (found.code, "comes from: repository" in found.out, len(reasons(machine))) == (0, True, 1), found.out
