"""Runs the jobs that ``rlcompare ci init`` writes, as far as a machine without their systems can.

The scripts are run by the shells that the systems use, in a git repository, with the variables that the systems set.
``gh``, ``curl`` and ``pip`` are stand-ins, which write down how they were called and keep files in a folder, the store.
Conditions of GitHub's steps are evaluated by a small interpreter of its expressions.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_STAND_IN = """\
#!{python}
import json, os, pathlib, shutil, subprocess, sys

store, name, words = pathlib.Path(os.environ["STORE"]), pathlib.Path(sys.argv[0]).name, sys.argv[1:]
baselines, comment = store / "rlcompare-baseline", store / "comment.md"
with (store / "calls.jsonl").open("a") as calls:
    calls.write(json.dumps([name, *words]) + "\\n")
value = lambda option: words[words.index(option) + 1]
if name == "gh" and words[:2] == ["run", "list"]:
    assert "/" + value("--workflow") + "@" in os.environ["GITHUB_WORKFLOW_REF"], value("--workflow")
    runs = [{{"databaseId": 79, "event": "pull_request"}}, {{"databaseId": 78, "event": "push"}}]
    runs += [{{"databaseId": 77, "event": "push"}}] if baselines.exists() else []
    subprocess.run(["jq", "-r", value("--jq")], input=json.dumps(runs), text=True, check=True)
elif name == "gh" and words[0] == "api" and "/artifacts?" in words[1]:
    run = words[1].split("/")[-2]
    assert run in ("77", "78") and words[1].endswith("?name=rlcompare-baseline")
    found = [{{"expired": "EXPIRED" in os.environ}}] if run == "77" else []
    subprocess.run(["jq", "-r", value("--jq")], input=json.dumps({{"artifacts": found}}), text=True, check=True)
elif name == "gh" and words[:2] == ["run", "download"]:
    assert words[2] == "77" and value("--name") == "rlcompare-baseline"
    shutil.copytree(baselines, value("--dir"), dirs_exist_ok=True)
elif name == "gh" and "--method" in words:
    comment.write_bytes(pathlib.Path(value("-F").removeprefix("body=@")).read_bytes())
elif name == "gh" and "--jq" in words:
    found = [{{"id": 5, "user": {{"type": "Bot"}}, "body": comment.read_text()}}] if comment.exists() else []
    subprocess.run(["jq", "-r", value("--jq")], input=json.dumps(found), text=True, check=True)
elif name == "curl" and "--output" in words and "/jobs/artifacts/" in words[-1]:
    status = os.environ.get("CURL_STATUS", "200" if baselines.exists() else "404")
    print(status)
    if status != "200":
        message = os.environ.get("CURL_MESSAGE", f"{{status}} Not Found")
        pathlib.Path(value("--output")).write_text(json.dumps({{"message": message}}))
        sys.exit(0)
    shutil.copytree(baselines, store / "zip/.rlcompare/baselines", dirs_exist_ok=True)
    pathlib.Path(shutil.make_archive(store / "last", "zip", store / "zip")).rename(value("--output"))
elif name == "curl" and "--form" in words:
    comment.write_bytes(pathlib.Path(value("--form").removeprefix("body=<")).read_bytes())
elif name == "curl":
    print(json.dumps([{{"id": 5, "body": comment.read_text()}}] if comment.exists() else []))
else:
    sys.exit(f"no stand-in for {{name}} {{words}}")
"""
_PYTHON = """\
#!/bin/sh
if [ "$1 $2" = "-m pip" ]; then echo "[\\"pip\\", \\"$5$4\\"]" >> "$STORE/calls.jsonl"; exit 0; fi
if [ "$1 $2" = "-m venv" ]; then exit 0; fi
exec {python} "$@"
"""


@dataclass
class Machine:
    """A machine that runs jobs: a repository, stand-ins, and the store of what jobs uploaded.

    Attributes:
        folder: an empty folder; ``folder/repository`` has been committed to git.
        variables: set for each job.
    """

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in (self.store, self.bin):
            path.mkdir(parents=True)
        scripts = {
            "rlcompare": f'#!/bin/sh\nexec {sys.executable} -m rlcompare "$@"\n',
            "python": _PYTHON.format(python=sys.executable),
            "python3": _PYTHON.format(python=sys.executable),
            "gh": _STAND_IN.format(python=sys.executable),
            "curl": _STAND_IN.format(python=sys.executable),
        }
        for name, text in scripts.items():
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)

    @property
    def repository(self) -> Path:
        return self.folder / "repository"

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    def calls(self) -> list[list[str]]:
        """How the stand-ins were called so far."""
        path = self.store / "calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def check_out(self) -> None:
        """Makes the repository what was committed, as a system does before a job."""
        subprocess.run(["git", "clean", "-qffdx"], cwd=self.repository, check=True)

    def shell(self, words: list[str], script: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Runs a script in the repository."""
        path = self.folder / "script"
        path.write_text(script)
        kept = {
            key: os.environ[key]
            for key in ("PATH", "PYTHONPATH", "RLCOMPARE_CACHE_DIR", "HOME", "LANG")
            if key in os.environ
        }
        environment = {**kept, "STORE": str(self.store), **self.variables, **variables}
        environment["PATH"] = f"{self.bin}:{os.environ['PATH']}"
        return subprocess.run(
            [*words, str(path)], cwd=self.repository, env=environment, capture_output=True, text=True, timeout=120
        )

    def upload(self, name: str, path: Path) -> None:
        """Keeps a folder as the artifact of that name."""
        shutil.rmtree(self.store / name, ignore_errors=True)
        shutil.copytree(path, self.store / name)


@dataclass
class Job:
    """What came of a job.

    Attributes:
        code: the exit code of the first script that failed; 0: it is green.
        ran: the names of the steps that ran.
    """

    code: int = 0
    out: str = ""
    ran: list[str] = field(default_factory=list)


def run_github(machine: Machine, path: Path, event: str, ref: str, reason: str = "") -> Job:
    """Runs the steps of the only job of a workflow."""
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    done = Job()
    machine.check_out()
    temporary = machine.folder / "runner"
    temporary.mkdir(exist_ok=True)
    fixed = {
        "GITHUB_ACTIONS": "true", "GITHUB_REF": ref, "GITHUB_REPOSITORY": "owner/name", "GITHUB_SHA": "a" * 40,
        "RUNNER_TEMP": str(temporary), "GITHUB_STEP_SUMMARY": str(temporary / "summary.md"),
        "GITHUB_OUTPUT": str(temporary / "output"),
        "GITHUB_WORKFLOW_REF": f"owner/name/{path.relative_to(machine.repository)}@{ref}",
    }  # fmt: skip
    context: dict[str, Any] = {
        "github.event_name": event, "github.ref": ref, "github.token": "a-token", "inputs.reason": reason,
        "github.event.pull_request.number": 12,
        "secrets.RLCOMPARE_HISTORY": machine.variables.get("RLCOMPARE_HISTORY", ""),
    }  # fmt: skip
    for step in job["steps"]:
        condition = _plain(step.get("if", "success()"))
        if not re.search(r"\b(success|failure|cancelled|always)\(\)", condition):
            condition = f"success() && ({condition})"
        if not _value(condition, {**context, "success()": done.code == 0}, machine.repository):
            continue
        done.ran.append(step.get("name", step.get("uses")))
        (temporary / "output").write_text("")
        code = 0
        if "run" in step:
            given = {key: str(_filled(text, context, machine.repository)) for key, text in step.get("env", {}).items()}
            result = machine.shell(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail"], step["run"], {**workflow["env"], **fixed, **given}
            )
            code, done.out = result.returncode, done.out + result.stdout + result.stderr
        elif step["uses"].startswith("actions/upload-artifact@"):
            code = _upload(machine, step["with"])
        for line in (temporary / "output").read_text().splitlines():
            key, _, text = line.partition("=")
            context[f"steps.{step['id']}.outputs.{key}"] = text
        if "id" in step:
            context[f"steps.{step['id']}.outcome"] = "failure" if code else "success"
        forgiven = _filled(step.get("continue-on-error", False), context, machine.repository)
        done.code = done.code or (0 if forgiven is True else code)
    return done


def _upload(machine: Machine, given: dict[str, Any]) -> int:
    """As actions/upload-artifact: what is hidden is left out unless it is asked for."""
    path = machine.repository / given["path"]
    is_hidden = any(part.startswith(".") for part in Path(given["path"]).parts)
    if not path.exists() or (is_hidden and not given.get("include-hidden-files")):
        return int(given["if-no-files-found"] == "error")
    machine.upload(given["name"], path)
    return 0


def _plain(condition: str) -> str:
    return condition.strip().removeprefix("${{").removesuffix("}}").strip()


def _filled(text: object, context: dict[str, Any], folder: Path) -> object:
    """A value with its expression evaluated."""
    if not isinstance(text, str) or "${{" not in text:
        return text
    return _value(_plain(text), context, folder)


def _value(expression: str, context: dict[str, Any], folder: Path) -> object:
    """Evaluates an expression of names, strings, ``==``, ``!=``, ``&&``, ``||``, ``!`` and functions."""
    names = {**context, "cancelled()": False}
    python = []
    for token in re.findall(r"'[^']*'|hashFiles\('[^']*'\)|[\w.]+\(\)|[\w.-]+|&&|\|\||==|!=|!|[()]|\S", expression):
        if token.startswith("hashFiles("):
            python.append(repr("hash" if (folder / token[11:-2]).is_file() else ""))
        elif token in ("&&", "||", "!"):
            python.append({"&&": " and ", "||": " or ", "!": " not "}[token])
        elif token.startswith("'") or token in ("==", "!=", "(", ")"):
            python.append(token)
        else:
            python.append(repr(names.get(token, "")))
    return eval("".join(python), {"__builtins__": {}})


def run_gitlab(machine: Machine, path: Path, **variables: str) -> Job:
    """Runs ``script`` in one shell, then ``after_script`` in another, and keeps the artifacts."""
    job = yaml.safe_load(path.read_text(encoding="utf-8"))["rlcompare"]
    machine.check_out()
    fixed = {
        "CI_DEFAULT_BRANCH": "main", "CI_API_V4_URL": "https://gitlab.invalid/api/v4", "CI_PROJECT_ID": "7",
        "CI_JOB_TOKEN": "job-token", "CI_COMMIT_SHA": "a" * 40, **job["variables"], **variables,
    }  # fmt: skip
    done = Job()
    for name in ("script", "after_script"):
        result = machine.shell(["bash", "-eo", "pipefail"], "\n".join(job[name]), fixed)
        done.code = done.code or (result.returncode if name == "script" else 0)
        done.out += result.stdout + result.stderr
    _keep(machine, green_on_main=done.code == 0 and variables.get("CI_COMMIT_BRANCH") == "main")
    return done


def run_jenkins(machine: Machine, path: Path, *, on_main: bool, reason: str = "") -> Job:
    """Runs the ``sh`` steps in order; ``copyArtifacts`` is done between the first and the second."""
    text = path.read_text(encoding="utf-8")
    machine.check_out()
    variables = dict(re.findall(r"^ +(RLCOMPARE|BASELINE|NEW) = '([^']*)'", text, re.MULTILINE))
    variables |= {"ON_MAIN": str(on_main).lower(), "REASON": reason, "GIT_COMMIT": "a" * 40}
    done = Job()
    for number, script in enumerate(re.findall(r"sh '''\n(.*?)'''", text, re.DOTALL)):
        if number == 1 and (machine.store / "rlcompare-baseline").exists():
            shutil.copytree(
                machine.store / "rlcompare-baseline", machine.repository / "build/last/.rlcompare/baselines"
            )
        if done.code == 0:
            result = machine.shell(["sh", "-xe"], script.replace("\\\\", "\\"), variables)
            done.code, done.out = result.returncode, done.out + result.stdout + result.stderr
    _keep(machine, green_on_main=done.code == 0 and on_main)
    return done


def _keep(machine: Machine, *, green_on_main: bool) -> None:
    """Keeps the artifacts of a job; those of baselines are only looked for in green jobs of the main branch."""
    if (machine.repository / "rlcompare-out").exists():
        machine.upload("rlcompare-report", machine.repository / "rlcompare-out")
    if green_on_main:
        machine.upload("rlcompare-baseline", machine.repository / ".rlcompare/baselines")
