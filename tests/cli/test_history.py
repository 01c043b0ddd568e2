"""``rlcompare history`` on run directories."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from rlcompare.history import store
from rlcompare.history.environment import environment_of
from rlcompare.history.place import history_of_policy, place_of
from tests.cli.conftest import Command
from tests.history.examples import HEADLINE, new_run
from tests.run_directories import description, write_run

TOMORROW = (datetime.now(timezone.utc) + timedelta(days=1)).date().isoformat()


@pytest.fixture(autouse=True)
def _no_history_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RLCOMPARE_HISTORY", raising=False)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``good/run1``, ``good/run2``, ``failed``, ``unstable`` (its loss becomes NaN) and ``stopped``."""
    folder = tmp_path_factory.mktemp("history-runs")
    write_run(folder / "good" / "run1", update_actor=0.2)
    write_run(folder / "good" / "run2", update_actor=0.21)
    write_run(folder / "failed", description("failed", error="out of memory"))
    nan = lambda step: float("nan") if step > 6 else 0.5  # noqa: E731
    write_run(folder / "unstable", actor__pg_loss=nan, actor__grad_norm=nan)
    longer = {"trainer": {"total_training_steps": 100}}
    write_run(folder / "stopped", description(config=longer), update_actor=0.3)
    return folder


def document(rlcompare: Command, *arguments: object) -> dict[str, Any]:
    outcome = rlcompare("history", *arguments, "--json")
    assert outcome.err == ""
    found = json.loads(outcome.out)
    assert found["schema"] == "rlcompare.history/1"
    return dict(found)


@pytest.mark.slow
def test_runs_are_added_once_and_shown(rlcompare: Command, runs: Path, tmp_path: Path) -> None:
    """A copy of a run is that run; what failed, broke or stopped is stored and marked."""
    added = document(
        rlcompare, "add", runs / "good", runs / "failed", runs / "unstable", runs / "stopped", "--label", "n\x1b[1m"
    )
    assert [(one["run"], one["added"], one["status"]) for one in added["runs"]] == [
        (1, True, "ok"), (2, True, "ok"), (3, True, "failed"), (4, True, "unstable"), (5, True, "incomplete"),
    ]  # fmt: skip
    assert "out of memory" in added["runs"][2]["reason"]
    assert Path(".rlcompare/history.duckdb").is_file()
    shutil.copytree(runs / "good" / "run2", tmp_path / "copy")
    Path("metrics.jsonl").write_text('{"step": 1, "data": {"timing_s/step": 1.0}}')
    unknown = "its hardware and configuration are unknown"
    assert unknown in rlcompare("history", "add", "metrics.jsonl", "--history", "other.duckdb").out
    assert (
        "(hardware and configuration unknown): 1 run"
        in rlcompare("history", "changes", "--history", "other.duckdb").out
    )
    again = rlcompare("history", "add", tmp_path / "copy")
    assert unknown not in again.out
    assert again.out.startswith("run 2 is already in the history")
    shown = document(rlcompare, "show", "timing_s/*", "workload.total_tokens")
    assert [one["run"] for one in shown["runs"]] == [1, 2, 3, 4, 5]
    # Steps 2 to 11 are neither warm-up nor profiled: 0.1 + 0.05 + 0.2 + 0.01 s each.
    assert shown["runs"][0]["values"][HEADLINE] == pytest.approx(0.36)
    assert shown["runs"][0]["values"]["workload.total_tokens"] == 500
    assert shown["runs"][0]["commit"] == "0123456789ab"
    assert shown["units"][HEADLINE] == "s"
    text = rlcompare("history", "show").out
    assert "\x1b" not in text
    assert "n\\x1b[1m" in text
    assert HEADLINE in text.splitlines()[0]


@pytest.mark.slow
def test_the_values_are_those_of_a_diff(rlcompare: Command, runs: Path) -> None:
    """GIVEN two runs, the metrics of each are its sample in ``diff --json``, and a gate finds their environment."""
    document(rlcompare, "add", runs / "good")
    shown = document(rlcompare, "show", "*")["runs"]
    diff = json.loads(rlcompare("diff", "-d", runs / "good" / "run2", "-bp", runs / "good" / "run1", "--json").out)
    for side, one in (("baseline", shown[0]), ("new", shown[1])):
        overall = {row["metric"]: row["samples"][side][0] for row in diff["overall"]}
        assert {name: value for name, value in overall.items() if value is not None} == one["values"]
        assert environment_of(diff[side]["env"]) == one["environment"]


def test_a_profile_has_its_times_and_its_commit_an_author(rlcompare: Command, samples: Path) -> None:
    author = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", "a change"], check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    document(rlcompare, "add", samples / "base", "--commit", head, "--started", "2026-11-01T10:00:00Z")
    (shown,) = document(rlcompare, "show", "time.step", "memory.peak_reserved")["runs"]
    assert (shown["commit"], shown["author"]) == (head, "Ann")
    assert (shown["started"], shown["start_known"]) == ("2026-11-01T10:00:00Z", True)
    assert shown["values"]["time.step"] > 0


def test_where_the_history_is(rlcompare: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--history``, else the variable, else the policy, else the root of the repository."""
    subprocess.run(["git", "init", "-q"], check=True)
    Path("below").mkdir()
    for name in (".rlcompare/history.duckdb", "perf/runs.duckdb", "toml.duckdb", "variable.duckdb", "option.duckdb"):
        store.add(place_of(name), [new_run(1, {HEADLINE: 1.0, name: 1.0})])
    root = Path.cwd()
    monkeypatch.chdir("below")

    def used(*options: str) -> str:
        (one,) = document(rlcompare, "show", "*.duckdb", *options)["runs"]
        return next(iter(one["values"]))

    assert used() == ".rlcompare/history.duckdb"
    (root / "perf" / "base.toml").write_text('[gate]\nhistory = "runs.duckdb"\n')
    (root / "pyproject.toml").write_text('[tool.rlcompare]\nextends = ["default", "perf/base.toml"]\n')
    assert used() == "perf/runs.duckdb"
    (root / "rlcompare.toml").write_text('[gate]\nhistory = "toml.duckdb"\n')
    assert used() == "toml.duckdb"
    (root / "rlcompare.toml").rename(root / "other.toml")
    assert used() == "perf/runs.duckdb"
    assert history_of_policy(root / "other.toml") == str(root / "toml.duckdb")
    monkeypatch.setenv("RLCOMPARE_HISTORY", str(root / "variable.duckdb"))
    assert used() == "variable.duckdb"
    assert used("--history", "../option.duckdb") == "option.duckdb"


def test_changes_fail_until_they_are_acknowledged(rlcompare: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """30 runs, the last 12 of them slower; the acknowledgement expires after its day."""
    values = [30 + number % 5 / 10 + (3 if number > 18 else 0) for number in range(1, 31)]
    store.add(
        place_of(None),
        [
            new_run(number, {HEADLINE: value}, torch_npu="2.7.1" if number > 18 else "2.5.1")
            for number, value in enumerate(values, 1)
        ],
    )
    outcome = rlcompare("history", "changes")
    assert outcome.code == 1
    first, second, third, *_, last = outcome.out.splitlines()
    assert "slower since run 19 (2025-10-10 03:53, commit 001300000000)" in first
    assert second.strip() == "timing_s/step 30.200 -> 33.200 s (+9.9 %)"
    assert "torch_npu 2.5.1 -> 2.7.1" in third
    assert last.startswith("1 change for the worse in the last 30 runs")
    assert rlcompare("history", "changes", "--last", 11).code == 0
    assert rlcompare("history", "changes", "--last", 12).code == 1
    identity = first.split()[0]
    assert rlcompare("history", "ack", identity, "--reason", "needed\x07", "--expires", TOMORROW).code == 0
    outcome = rlcompare("history", "changes")
    assert outcome.code == 0
    assert f"acknowledged until {TOMORROW}" in outcome.out
    assert "needed\\x07" in outcome.out
    monkeypatch.setattr("rlcompare.cli.history._today", lambda: datetime.now(timezone.utc).date() + timedelta(days=2))
    outcome = rlcompare("history", "changes")
    assert outcome.code == 1
    assert f"the acknowledgement expired on {TOMORROW}" in outcome.out


def test_a_plot_has_a_point_for_each_run(rlcompare: Command) -> None:
    values = [30 + number % 5 / 10 + (3 if number > 18 else 0) for number in range(1, 31)]
    store.add(place_of(None), [new_run(number, {HEADLINE: value}) for number, value in enumerate(values, 1)])
    title, *rows, _, legend = rlcompare("history", "plot").out.splitlines()
    assert title.startswith("timing_s/step [s], environment ")
    assert sum(row.count("*") for row in rows) == 30
    assert legend == "* a run   - level   | change"
    columns = {column for row in rows[:-1] for column, mark in enumerate(row) if mark == "|"}
    assert len(columns) == 1
    (found,) = document(rlcompare, "plot", HEADLINE)["series"]
    assert [(level["since"], level["until"]) for level in found["levels"]] == [(1, 18), (19, 30)]
    assert found["values"] == values


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show",), "there is no history yet"),
        (("changes", "--history", "mysql://host/db"), "takes a file or postgresql://"),
        (("changes", "--history", "."), "is a folder"),
        (("changes", "--history", "postgresql://team:secret@[::1/db"), "the URL is not valid"),
        (("ack", "12345678", "--reason", "x", "--expires", "2020-01-01"), "is past"),
        (("ack", "12345678", "--reason", "x", "--expires", "tomorrow"), "is not a day"),
        (("ack", "12345678", "--reason", " ", "--expires", TOMORROW), "--reason is empty"),
        (("add", "nothing-here"), "nothing-here"),
        (("add", "nothing-here", "--commit", "HEAD"), "is not a commit"),
        (("add", "nothing-here", "--started", "yesterday"), "is not a time"),
    ],
)
def test_wrong_use(rlcompare: Command, arguments: tuple[str, ...], said: str) -> None:
    outcome = rlcompare("history", *arguments)
    assert outcome.code in (2, 4)
    assert said in outcome.error
    assert "secret" not in outcome.err
    assert not Path(".rlcompare").exists()


def test_unknown_names_are_said(rlcompare: Command) -> None:
    store.add(place_of(None), [new_run(1)])
    assert "has the metric timing_s/other" in rlcompare("history", "show", "timing_s/other").error
    assert "has the metric timing_s/other" in rlcompare("history", "plot", "timing_s/other").error
    for command in ("show", "plot"):
        assert "did you mean timing_s/step?" in rlcompare("history", command, "timing_s/stp").error
    assert (
        "is not a change in the history; its changes: none"
        in rlcompare("history", "ack", "12345678", "--reason", "x", "--expires", TOMORROW).error
    )


def test_too_few_runs_are_not_no_change(rlcompare: Command) -> None:
    """A jump of 16 % that no search can be sure of: it says so, and from how many runs on it can."""
    values = [0.99 + number % 3 / 100 for number in range(8)] + [1.15 + number % 3 / 100 for number in range(9)]
    for count, code, said in ((16, 0, "too few runs to search for changes"), (17, 1, "1 change for the worse")):
        store.add(place_of(None), [new_run(number, {HEADLINE: values[number - 1]}) for number in range(1, count + 1)])
        outcome = rlcompare("history", "changes")
        *_, searched, last = outcome.out.splitlines()
        assert (outcome.code, said in last) == (code, True)
        assert ("16 runs, headline timing_s/step; not searched, a change can be found from 17 runs on" in searched) == (
            count == 16
        )
        (one,) = document(rlcompare, "changes")["searched"]
        assert (one["enough_runs"], one["runs_needed"]) == (count == 17, 17)
