"""Jobs that are submitted to a Ray cluster: understood, and on a real cluster followed to their end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rlcompare.collect.verl import followed
from rlcompare.collect.verl.command import parse_command
from rlcompare.collect.verl.submission import interpreter_of
from rlcompare.errors import UsageError

from .conftest import VerlOf

MAIN = "from rlcompare.cli.main import main; main()"
JOB = "python3 -m verl.trainer.main_ppo a.b=1"


class TestUnderstood:
    @pytest.mark.parametrize(
        ("line", "identity"),
        [
            (f"ray job submit {JOB}", None),
            (f"ray job submit --no-wait --runtime-env=a.yaml --working-dir /opt/python -- {JOB}", None),
            (f"nohup /opt/bin/ray job submit -v --submission-id mine -- env A=b {JOB}", "mine"),
            (f"ray job submit --job-id=mine --address http://head:8265 -- {JOB}", "mine"),
        ],
    )
    def test_the_job_is_behind_the_options(self, line: str, identity: str | None) -> None:
        command = parse_command(line.split())
        assert command.submission
        assert (command.python, command.entry, command.arguments) == ("python3", "verl.trainer.main_ppo", ("a.b=1",))
        assert command.submission.identity == identity
        tokens = command.submission.tokens("ours", {})
        assert tokens.count("--no-wait") == 1
        assert ("ours" in tokens) == (identity is None)
        assert [token for token in tokens if token in line.split()] == line.split()[: command.submission.begin]

    @pytest.mark.parametrize("given", [(), ("--runtime-env-json", '{"pip": ["x"], "env_vars": {"A": "1", "B": "0"}}')])
    def test_variables_join_those_of_the_runtime_environment(self, given: tuple[str, ...]) -> None:
        submission = parse_command(["ray", "job", "submit", *given, "--", *JOB.split()]).submission
        assert submission
        tokens = submission.tokens("ours", {"B": "2"})
        whole = json.loads(tokens[tokens.index("--runtime-env-json") + 1])
        assert whole["env_vars"] == ({"A": "1", "B": "2"} if given else {"B": "2"})
        assert whole.get("pip") == (["x"] if given else None)
        assert tokens.count("--runtime-env-json") == 1
        assert tokens[-1] == "--"

    @pytest.mark.parametrize(
        ("options", "environment", "is_elsewhere"),
        [
            ("", {}, False),
            ("--address=http://127.0.0.1:8265", {"RAY_ADDRESS": "http://head:8265"}, False),
            ("", {"RAY_ADDRESS": "auto"}, False),
            ("", {"RAY_ADDRESS": "http://head:8265"}, True),
            ("--address head:8265", {}, True),
            (f"--address http://{socket.gethostname()}:8265", {}, False),
        ],
    )
    def test_where_it_runs(self, options: str, environment: dict[str, str], is_elsewhere: bool) -> None:
        submission = parse_command(f"ray job submit {options} -- {JOB}".split()).submission
        assert submission
        assert submission.is_elsewhere(environment) == is_elsewhere

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("ray job submit --no-wait --", "ray job submit has no command"),
            ("ray job submit -- bash run.sh", "'bash' does not start Python directly"),
            (f"ray job submit --runtime-env-json {{ -- {JOB}", "--runtime-env-json is not valid JSON"),
        ],
    )
    def test_not_understood(self, line: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            assert parse_command(line.split()).submission.variables  # type: ignore[union-attr]

    def test_the_interpreter_of_ray(self, tmp_path: Path) -> None:
        for text in (f"#!{sys.executable} -s\n", f"#!/bin/sh\n'''exec' {sys.executable} \"$0\" \"$@\"\n"):
            (tmp_path / "ray").write_text(text)
            (tmp_path / "ray").chmod(0o755)
            assert interpreter_of(str(tmp_path / "ray")) == sys.executable
        assert interpreter_of(str(tmp_path / "absent")) is None


class _Cluster:
    """Ray's client of a job with a log of three lines; the connection is lost twice."""

    def __init__(self, status: str) -> None:
        self.status, self.lost, self.is_stopped = status, 0, False

    async def tail_job_logs(self, identity: str) -> Any:
        for text in ("one\n", "two\n"):
            yield text
            if self.lost < 2:
                self.lost += 1
                raise RuntimeError("WebSocket connection closed unexpectedly")

    def get_job_logs(self, identity: str) -> str:
        return "one\ntwo\nthree\n"

    def get_job_info(self, identity: str) -> Any:
        message = "Job entrypoint command failed with exit code 7, last available logs (truncated):\ntwo\nthree\n"
        return SimpleNamespace(status=SimpleNamespace(value=self.status), message=message, driver_exit_code=7)

    def stop_job(self, identity: str) -> None:
        self.is_stopped = True


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        ("SUCCEEDED", 0, ""),
        ("FAILED", 7, "Job entrypoint command failed with exit code 7: three\n"),
        ("STOPPED", 143, "the job mine was stopped\n"),
    ],
)
def test_a_lost_connection_is_no_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], status: str, code: int, said: str
) -> None:
    monkeypatch.setattr(followed, "_PAUSE", 0)
    job, cluster = followed.Followed({"identity": "mine"}), _Cluster(status)
    monkeypatch.setattr(job, "_client", cluster)
    assert job.follow() == code
    assert cluster.lost == 2
    assert tuple(capsys.readouterr()) == ("one\ntwo\nthree\n", said)
    job.stop(signal.SIGINT, None)
    assert cluster.is_stopped

    # A cluster that does not come back is left, and the job may still run.
    monkeypatch.setattr(followed, "_PATIENCE", -1)
    monkeypatch.setattr(job, "_client", object())
    assert job.follow() == 1
    assert "the cluster has not answered" in capsys.readouterr().err


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a Ray cluster that takes jobs."""
    cluster_utils = pytest.importorskip("ray.cluster_utils", reason="needs Ray: pip install 'ray[default]'")
    pytest.importorskip("aiohttp_cors", reason="needs Ray's dashboard: pip install 'ray[default]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        head = {"num_cpus": 2, "include_dashboard": True, "dashboard_port": 0, "dashboard_host": "127.0.0.1"}
        made = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
        yield f"http://{made.head_node.webui_url}"
        made.shutdown()


class Launched:
    """``rlcompare launch`` of a job that is submitted, as a process in a folder of its own."""

    def __init__(self, folder: Path, cluster: str, job: Mapping[str, str], *options: str) -> None:
        folder.mkdir()
        self.folder = folder
        variables = {"PYTHONPATH": job["PYTHONPATH"], "STAND_IN": job["STAND_IN"]}
        runtime: tuple[str, ...] = ("--runtime-env-json", json.dumps({"env_vars": variables}))
        if "--file" in options:
            (folder / "env.yaml").write_text(json.dumps({"env_vars": variables}))  # JSON is YAML
            runtime, options = ("--runtime-env=env.yaml",), tuple(option for option in options if option != "--file")
        (folder / "ray").write_text(f"#!{sys.executable}\nfrom ray.scripts.scripts import main\nmain()\n")
        (folder / "ray").chmod(0o755)
        entry = (sys.executable, "-m", "verl.trainer.main_ppo")
        line = (str(folder / "ray"), "job", "submit", *runtime, *options, "--", *entry)
        overrides = ("trainer.total_training_steps=4", f"hydra.run.dir={folder}/hydra")
        self.process = subprocess.Popen(
            [sys.executable, "-c", MAIN, "launch", "--tool", "npu", "-o", "out", "--", *line, *overrides],
            cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "RAY_ADDRESS": cluster, "RAY_USAGE_STATS_ENABLED": "0"},
        )  # fmt: skip

    def result(self) -> tuple[int, str, str, dict[str, Any]]:
        """Exit code, output, errors and ``run.json``."""
        out, err = self.process.communicate(timeout=300)
        return self.process.returncode, out, err, json.loads((self.folder / "out" / "run.json").read_text())


@pytest.mark.slow
def test_followed_to_the_end(installed_verl: VerlOf, tmp_path: Path, cluster: str) -> None:
    environment = installed_verl("0.7.1")

    def launch(name: str, does: str, *options: str) -> Launched:
        return Launched(tmp_path / name, cluster, environment | {"STAND_IN": does}, *options)

    # GIVEN jobs that end well, fail, and wait for a signal
    whole, fails, hangs = launch("no-wait", "", "--no-wait", "--file"), launch("waits", "fail"), launch("hangs", "hang")
    log = hangs.folder / "out" / "job.log"
    while not (log.is_file() and "stand-in: hangs" in log.read_text()):
        assert hangs.process.poll() is None, hangs.process.communicate()
        time.sleep(0.2)
    hangs.process.send_signal(signal.SIGINT)

    # THEN even with --no-wait, everything is gathered
    code, out, err, recorded = whole.result()
    assert (code, recorded["status"], recorded["exit_code"]) == (0, "complete", 0), err
    assert len(recorded["captures"]) == 1
    assert len((whole.folder / "out" / "metrics.jsonl").read_text().splitlines()) == 4
    assert out.count("step:4 - timing_s/step") == 1
    assert (whole.folder / "out" / "job.log").read_text().count("step:4 - timing_s/step") == 1

    # AND the job's end is that of the command
    code, _, err, recorded = fails.result()
    assert (code, recorded["status"]) == (1, "failed")
    assert "failed with exit code 1: " in recorded["error"]
    assert (fails.folder / "out" / "job.log").read_text().count("step:1 - timing_s/step") == 1
    assert "it ended after step 1, and the first step to profile is" in err

    # AND a signal stops it on the cluster
    code, _, err, recorded = hangs.result()
    assert (code, recorded["status"]) == (143, "incomplete"), err
    assert "was stopped" in err
