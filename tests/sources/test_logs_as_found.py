"""Logs as users have them: several jobs in one file, lines that a terminal or an issue tracker broke, NUL bytes."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from rlcompare.errors import InputError
from rlcompare.sources.detect import find_runs
from rlcompare.sources.metrics import clock, console, file_logger, form
from rlcompare.sources.metrics.printed_config import ANSI
from rlcompare.sources.metrics.values import Metrics
from tests.stores import rows, store_of
from tests.verl_logs import console_log, step_line, training_step

Values = dict[tuple[int, str], float | None]
Wrap = Callable[[str], list[str]]


def values(metrics: Metrics) -> Values:
    return {(step, name): value for _, step, name, value in metrics.rows()}


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def job(process: str, slower: float, steps: int = 4, profiled: int = 1) -> list[str]:
    config = {"actor_rollout_ref": {"actor": {"x": slower}}, "trainer": {"profile_steps": [profiled]}}
    made = {step: training_step(step, slower=slower) for step in range(1, steps + 1)}
    return console_log(made, config, prefix=f"({process}) ", validation=False).splitlines()


class TestSeveralJobs:
    def test_each_can_be_read(self, tmp_path: Path) -> None:
        # GIVEN three jobs one after the other, each with its own configuration
        jobs = [job(f"TaskRunner pid={number}", float(number), steps=3 + number) for number in (1, 2, 3)]
        path = write(tmp_path / "job.log", "\n".join(line for lines in jobs for line in lines) + "\n")

        for number, lines in enumerate(jobs, 1):
            alone = console.read(write(tmp_path / "alone.log", "\n".join(lines) + "\n"))
            (run,) = find_runs(path / str(number))
            found = console.read(path, str(number))
            assert (values(found), found.config) == (values(alone), alone.config)
            assert run.name == f"job.log/{number}"
        assert values(console.read(path)) == values(console.read(path, "3"))
        store = store_of(path / "1", tmp_path / "s.duckdb")
        assert rows(store, "SELECT DISTINCT source FROM metric") == [("job.log/1",)]
        assert rows(store, "SELECT value FROM env WHERE key LIKE '%actor.x'") == [("1",)]
        assert rows(store, "SELECT key FROM finding") == []
        with pytest.raises(InputError, match="it holds no job 4: it holds 3 jobs: 1, 2, 3"):
            find_runs(path / "4")

    def test_that_printed_in_turn(self, tmp_path: Path) -> None:
        one, two = job("TaskRunner pid=1", 1.0), job("TaskRunner pid=2", 2.0)
        mixed = [line for pair in zip(one, two, strict=True) for line in pair]

        metrics = console.read(write(tmp_path / "job.log", "\n".join(mixed) + "\n"), "1")

        assert values(metrics) == values(console.read(write(tmp_path / "one.log", "\n".join(one) + "\n")))
        assert metrics.config["actor_rollout_ref"] == {"actor": {"x": 1.0}}

    def test_processes_of_one_job_are_one_job(self, tmp_path: Path) -> None:
        # GIVEN a trainer and a rollouter that log other metrics, as in verl's asynchronous trainers
        lines = [
            f"({process}) {step_line(step, {f'{name}/x': step, f'{name}/y': 1.5})}"
            for step in (1, 2, 3)
            for process, name in (("Rollouter pid=1", "rollout"), ("Trainer pid=2", "actor"))
        ]

        metrics = console.read(write(tmp_path / "job.log", "\n".join(lines) + "\n"))

        assert (len(metrics.values), metrics.jobs) == (12, ())


def by_characters(width: int, line: str) -> list[str]:
    return [line[place : place + width] for place in range(0, len(line), width)] or [""]


def by_words(width: int, line: str) -> list[str]:
    return textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]


WRAPS: dict[str, Wrap] = {
    **{f"{width}": lambda line, width=width: by_characters(width, line) for width in (80, 120, 200)},  # type: ignore[misc]
    "80 without spaces at ends": lambda line: [part.rstrip() for part in by_characters(80, line)],
    "100 words": lambda line: by_words(100, line),
}


class TestWrapped:
    @pytest.mark.parametrize("how", WRAPS)
    def test_a_real_log(self, shared: Path, tmp_path: Path, how: str) -> None:
        # GIVEN a real log, as a terminal of some width shows it
        path = shared / "logs" / "grpo-300steps-a.log"
        shown = [line.rpartition("\r")[2] for line in ANSI.sub("", path.read_text()).splitlines()[:900]]
        whole = values(console.read(write(tmp_path / "whole.log", "\n".join(shown) + "\n")))

        broken = [part for line in shown for part in WRAPS[how](line)]
        metrics = console.read(write(tmp_path / "broken.log", "\n".join(broken) + "\n"))

        # THEN no number is wrong, and of some 4,000 at most those are missing that may be cut
        found = values(metrics)
        assert len(whole) > 4_000
        assert not {key: value for key, value in found.items() if repr(value) != repr(whole[key])}
        assert len(whole.keys() - found.keys()) == metrics.odd["wrapped"] < 20

    def test_a_number_that_may_be_cut_is_not_taken(self, tmp_path: Path) -> None:
        # GIVEN lines of which another process parted the second half
        line = step_line(1, training_step(1))
        first, *rest = by_characters(80, line)
        _, *other = by_characters(80, step_line(2, training_step(2)))
        text = "\n".join(
            [first, *rest, by_characters(80, step_line(2, training_step(2)))[0], "(W pid=1) hello", *other]
        )

        store = store_of(write(tmp_path / "job.log", f"{text}\n"), tmp_path / "s.duckdb")

        expected = {(1, name): float(value) for name, value in training_step(1).items()} | {
            (2, name): float(value) for name, value in training_step(2).items()
        }
        found = {(step, name): value for step, name, value in rows(store, "SELECT step, name, value FROM metric")}
        assert found.items() <= expected.items() and {step for step, _ in found} == {1, 2}
        assert rows(store, "SELECT severity FROM finding WHERE key = 'wrapped_lines'") == [("warning",)]

    @pytest.mark.parametrize("behind", ["- see notes/a.txt", "ok - a", "- a/b: c", "x" * 30])
    def test_another_line_behind_is_no_continuation(self, tmp_path: Path, behind: str) -> None:
        metrics = console.read(write(tmp_path / "j.log", f"step:1 - a/x:0.5 - a/y:0.25\n{behind}\nstep:2 - a/x:1.5\n"))

        assert values(metrics) == {(1, "a/x"): 0.5, (1, "a/y"): 0.25, (2, "a/x"): 1.5}
        assert metrics.odd["wrapped"] == 0


class TestFileLogger:
    @pytest.mark.parametrize("line", ['{"data": {"a/x": %s}, "step": %s}', '{"step": "%s", "data": {"a/x": %s}}'])
    def test_lines_that_another_program_wrote_again(self, tmp_path: Path, line: str) -> None:
        """With sorted keys, or with all values as text."""
        path = write(tmp_path / "job.jsonl", "".join(f"{line % (step, step)}\n" for step in (1, 2)))

        (run,) = find_runs(path)

        assert run.training is not None
        assert [source.form for source in run.training.metrics] == [form.FILE_LOGGER]
        assert values(file_logger.read(path)) == {(1, "a/x"): 1.0, (2, "a/x"): 2.0}


class TestNulBytes:
    def test_around_lines_of_the_file_logger(self, tmp_path: Path) -> None:
        # GIVEN a file whose end a machine that failed left as NUL bytes, and the restarted job behind them
        lines = [json.dumps({"step": step, "data": {"a/x": step + 0.5}}) for step in (1, 2)]
        path = write(tmp_path / "job.jsonl", "\0" * 70 + lines[0] + "\n" + "\0" * 5000 + lines[1] + "\n")

        (run,) = find_runs(path)

        assert run.training is not None
        assert values(file_logger.read(path)) == {(1, "a/x"): 1.5, (2, "a/x"): 2.5}

    def test_in_the_configuration(self, tmp_path: Path) -> None:
        lines = job("TaskRunner pid=1", 1.0)
        lines[1] += "\0"
        lines[3] += "(pid=77) "

        metrics = console.read(write(tmp_path / "job.log", "\n".join(lines) + "\n"))

        assert metrics.config["actor_rollout_ref"] == {"actor": {"x": 1.0}}


@pytest.mark.parametrize(("set_to", "total"), [(None, 435), (300, 300)])
def test_the_number_of_steps_that_the_trainer_prints(tmp_path: Path, set_to: int | None, total: int) -> None:
    """It counts where the configuration leaves the number open, so that it follows from the epochs."""
    config = {"actor_rollout_ref": {"actor": {"x": 1.0}}, "trainer": {"nnodes": 1, "total_training_steps": set_to}}
    head, _, rest = console_log({1: {"a/x": 1.0}}, config).partition("step:0")
    printed = f"{head}Total training steps: 435\n(TaskRunner pid=4035) step:0{rest}"

    read = console.read(write(tmp_path / "job.log", printed))

    assert read.config["trainer"] == {"nnodes": 1, "total_training_steps": total}


@pytest.mark.parametrize(
    ("text", "nanoseconds", "has_zone"),
    [
        ("2026-11-23T03:39:28.5Z", 1_795_405_168_500_000_000, True),
        ("2026-11-23 11:39:28,123456789+08:00", 1_795_405_168_123_456_789, True),
        ("2026-11-23 03:39:28", 1_795_405_168_000_000_000, False),
        ("Mon Nov 23 03:39:28 UTC 2026", 1_795_405_168_000_000_000, True),
        ("Mon Nov 23 03:39:28 AM CST 2026", 1_795_405_168_000_000_000, False),
        ("1795405168", 1_795_405_168_000_000_000, True),
        ("1795405168.25", 1_795_405_168_250_000_000, True),
        ("1795405168250", 1_795_405_168_250_000_000, True),
    ],
)
def test_times(text: str, nanoseconds: int, has_zone: bool) -> None:
    assert clock.alone(text) == (nanoseconds, has_zone)


@pytest.mark.parametrize("text", ["", "17", "2026-13-40 99:00:00", "1e400", "nan", "9" * 30, "0000-00-00 00:00:00"])
def test_no_times(text: str) -> None:
    assert clock.alone(text) is None
