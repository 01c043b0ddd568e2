"""Runs one verl job, from its command to a run directory."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlcompare.collect.run_directory import LOG, PROFILE, SCHEMA, now, software, write_run
from rlcompare.collect.verl.ask import Installed, ask, confirm
from rlcompare.collect.verl.command import VerlCommand, parse_command
from rlcompare.collect.verl.gather import (
    captures_in,
    fetch_metrics,
    find_captures,
    steps_that_ran,
    take_over,
    why_no_profile,
    without_output,
)
from rlcompare.collect.verl.job import Ended, run_job
from rlcompare.collect.verl.keys import keys_of, number, world_size_of
from rlcompare.collect.verl.plan import make_plan
from rlcompare.collect.verl.planned import VerlPlan
from rlcompare.collect.verl.refused import refuse, refuse_trainer
from rlcompare.collect.verl.storage import notes_on_storage
from rlcompare.collect.verl.submission import new_identity
from rlcompare.errors import OutputError
from rlcompare.model.run import METRICS
from rlcompare.secret import looks_secret, redacted_command
from rlcompare.text import safe_text

_FIRST_SEED = 1
"""The default seed of early verl versions, whose configuration has no seed."""
_ROOTS = ("data", "actor_rollout_ref", "critic", "algorithm")
_OF_TRAINER = ("device", "n_gpus_per_node", "nnodes", "total_training_steps")


@dataclass(frozen=True)
class VerlJob:
    """A verl job that can be started.

    Attributes:
        folder: of the run; absolute.
        installed: the answer about the whole command, our overrides included.
        identity: that of a job that is submitted to a Ray cluster, unless the user gave one.
    """

    command: VerlCommand
    installed: Installed
    plan: VerlPlan
    folder: Path
    identity: str

    @property
    def line(self) -> list[str]:
        """The whole command."""
        tokens, submission = self.command.tokens_with(self.plan.overrides), self.command.submission
        if submission is None:
            return tokens
        return [*submission.tokens(self.identity, self.plan.runtime_env), *tokens[submission.begin :]]

    @property
    def process(self) -> list[str]:
        """The command of the process that lasts as long as the job."""
        submission = self.command.submission
        return submission.followed(self.line, self.identity, self.command.python) if submission else self.line

    @property
    def summary(self) -> str:
        """A one-line description."""
        steps = f"step {', '.join(map(str, self.plan.steps))}" if not self.plan.probes else "; ".join(self.plan.probes)
        added = f"{len(self.plan.overrides)} overrides added (see --dry-run)"
        return f"{self.installed.verl} · {self.plan.tool} · {steps} · {added}"

    @property
    def shown(self) -> str:
        """The whole command for a shell, with the environment that it needs; values that could be secrets are removed.

        One variable or override per line. Ours come behind theirs and are indented further.
        """
        given = {} if self.command.submission else self.plan.environment  # a submitted job does not inherit them
        variables = [f"{name}={shlex.quote(value)}" for name, value in given.items()]
        tokens = [shlex.quote(token) for token in redacted_command(self.line)]
        begin = len(tokens) - len(self.command.arguments) - len(self.plan.overrides)
        first = begin + self.command.end_of_overrides
        ours = range(first, first + len(self.plan.overrides))
        arguments = [f"{'    ' if place in ours else '  '}{tokens[place]}" for place in range(begin, len(tokens))]
        return " \\\n".join([*variables, " ".join(tokens[:begin]), *arguments])

    @property
    def seed(self) -> int:
        """The seed of the first of several runs."""
        seed = number(self.installed.value("data.seed"))
        return _FIRST_SEED if seed is None else seed


def make_job(
    tokens: Sequence[str], folder: Path, tool: str | None, environment: Mapping[str, str], probes: Sequence[str] = ()
) -> VerlJob:
    """Decides how to start a job; writes nothing.

    Raises:
        UsageError: the job cannot be started, or would collect nothing.
    """
    command = parse_command(tokens)
    asked = ask(command)
    inherited = environment
    if command.submission:
        inherited = {"PATH": environment.get("PATH", ""), **asked.variables}
    if not probes:
        refuse_trainer(asked)
    plan = make_plan(command, asked, folder.absolute(), tool, inherited, probes)
    installed = confirm(command, plan.overrides, asked)
    refuse(installed, plan, inherited)
    plan.notes += notes_on_storage(command, installed, plan, folder.absolute(), environment)
    return VerlJob(command, installed, plan, folder.absolute(), new_identity(folder))


@dataclass(frozen=True)
class Result:
    """The result of a job.

    Attributes:
        code: its exit code.
        interrupted: whether a signal was forwarded to it.
        captures: number of captures.
        steps: number of steps for which it logged metrics.
        notes: missing data, and why it is missing.
    """

    code: int
    interrupted: bool
    captures: int
    steps: int
    notes: list[str]


def run(job: VerlJob, environment: Mapping[str, str]) -> Result:
    """Runs a job to its end, and collects its output in its folder, which exists.

    Raises:
        UsageError: it cannot be started.
    """
    record = _record(job)
    write_run(job.folder, record)
    job.plan.profile.mkdir(parents=True, exist_ok=True)
    before = {place: set(captures_in(place)) for place in job.plan.elsewhere}
    added = {"PYTHONUNBUFFERED": "1"} | dict(environment) | job.plan.environment
    try:
        ended = run_job(job.process, added, job.folder / LOG)
    except BaseException as problem:
        write_run(job.folder, record | {"status": "failed", "error": str(problem), "ended": now()})
        raise
    fetch_metrics(job.plan, job.folder / METRICS)
    profile = job.folder / PROFILE if job.plan.elsewhere else job.plan.profile
    lost = [said for place in before if (said := take_over(place, profile, before[place]))]
    captures = find_captures(profile, job.folder, job.plan.steps)
    ran = steps_that_ran(job.folder)
    status, error = _status(ended)
    record |= {"status": status, "ended": now(), "exit_code": ended.code, "captures": captures}
    try:
        write_run(job.folder, record | ({} if error is None else {"error": error}))
    except OutputError as problem:  # the exit code stays that of the job
        lost.append(str(problem))
    if not captures:
        with suppress(OSError):
            job.plan.profile.rmdir()
    notes = lost + _notes(job, captures, ran, ended)
    return Result(ended.code, ended.received is not None, len(captures), len(ran), notes)


def _status(ended: Ended) -> tuple[str, str | None]:
    if ended.code == 0:  # even if it received a signal: it had ended before, or handled it
        return "complete", None
    if ended.received is not None:
        return "incomplete", f"it was killed by signal {ended.received}"
    last = ended.last_error[:200]
    said = f": {safe_text(last)}" if last and not looks_secret("", last) else ""
    return "failed", f"the job ended with exit code {ended.code}{said}"


def _notes(job: VerlJob, captures: Sequence[dict[str, Any]], ran: Sequence[int], ended: Ended) -> list[str]:
    notes = []
    if not captures:
        causes = why_no_profile(job.installed, job.plan, ran, ended)
        word = "because" if len(causes) == 1 else "possible causes:"
        notes.append(f"the job wrote no profile, {word} {'; or '.join(causes)}")
    unparsed = without_output(captures, job.folder)
    if unparsed:
        notes.append(
            f"{len(unparsed)} of {len(captures)} profiles were not parsed ({unparsed[0]}): "
            "rlcompare analyse does it, where torch_npu is installed"
        )
    if not ran:
        notes.append(f"the job logged no step; {LOG} holds what it printed")
    return notes


def _record(job: VerlJob) -> dict[str, Any]:
    """The content of run.json before the job starts."""
    installed, plan = job.installed, job.plan
    last = number(installed.value("trainer.total_training_steps"))
    steps = {"warmup": [step for step in (1,) if step not in plan.steps], "profiled": plan.steps}
    if last is not None:
        taken = {*plan.steps, 1}
        steps["plain"] = [step for step in range(1, min(last, 1_000_000) + 1) if step not in taken]
    return {
        "schema": SCHEMA,
        "status": "incomplete",
        "launcher": "verl",
        "started": now(),
        "ended": None,
        "command": redacted_command(job.command.tokens),
        "overrides": plan.overrides,
        "environment": plan.environment,
        **software(installed.versions, installed.commits),
        "seed": number(installed.value("data.seed")),
        "world_size": world_size_of(installed),
        "device": "npu" if plan.tool == "npu" else installed.value("trainer.device"),
        "steps": steps,
        "config": _configuration(installed),
        "captures": [],
    }


def _configuration(installed: Installed) -> dict[str, Any]:
    """The part of the configuration that distinguishes runs. The rest may be confidential and is not stored."""
    keys = keys_of(installed)
    kept: dict[str, Any] = {root: _plain(installed.value(root)) for root in _ROOTS}
    kept["trainer"] = {name: installed.value(f"trainer.{name}") for name in _OF_TRAINER}
    if keys.tool is not None:
        names = ("tool", "steps", "profile_continuous_steps")
        kept["global_profiler"] = {name: installed.value(f"global_profiler.{name}") for name in names}
    return kept


def _plain(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(item, key) for item in value]
    return None if isinstance(value, str) and looks_secret(key, value) else value
