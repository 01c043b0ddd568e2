"""The state of a job at one moment: the input of ``reasons``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rlcompare.collect.attach.logs import Answer, Line
from rlcompare.collect.attach.processes import Life
from rlcompare.collect.attach.request import Request


@dataclass(frozen=True)
class Worker:
    """One process that may take part.

    Attributes:
        has_begun: its log has lines: ``dynamic_profile.init`` has started.
        has_ended: it is gone, or its log says that it ended.
        steps_done: minimum number of steps that it has finished.
        folder: its ``*_ascend_pt`` folder for this request.
        problem: what is missing in that folder.
        said: messages of torch_npu's profiler on its output since the request, if readable.
        silencers: variables of its environment that disable the profiler.
    """

    pid: int
    rank: int
    life: Life
    answer: Answer
    has_begun: bool = True
    has_ended: bool = False
    steps_done: int = 0
    folder: Path | None = None
    problem: str = ""
    said: tuple[str, ...] = ()
    silencers: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        return self.answer.stopped is not None and self.folder is not None and not self.problem

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"rank {self.rank}" if self.rank >= 0 else f"process {self.pid}"


@dataclass(frozen=True)
class View:
    """The whole job.

    Attributes:
        is_changed: the configuration was changed after the request.
        waited: seconds since the request.
        interval: seconds between two reads by the poller.
        monitor: log lines of the pollers since the request.
        polling_hosts: hosts with a poller that is, or may be, running.
    """

    request: Request
    is_changed: bool
    waited: float
    interval: int
    monitor: tuple[Line, ...]
    polling_hosts: frozenset[str]
    workers: tuple[Worker, ...]

    @property
    def present(self) -> tuple[Worker, ...]:
        """Processes that are running, or may be."""
        return tuple(worker for worker in self.workers if not worker.has_ended)

    @property
    def all_seen(self) -> bool:
        """Whether all processes that may be running are known to be running."""
        return all(worker.life is Life.ALIVE for worker in self.present)

    @property
    def started(self) -> tuple[Worker, ...]:
        return tuple(worker for worker in self.workers if worker.answer.started is not None)

    @property
    def is_over(self) -> bool:
        """Whether every process that started profiling has stopped profiling, or has ended."""
        return bool(self.started) and all(
            worker.answer.stopped is not None or worker.has_ended for worker in self.started
        )

    @property
    def is_done(self) -> bool:
        """Whether every process that started profiling left its profile."""
        return bool(self.started) and all(worker.is_done for worker in self.started)

    @property
    def others(self) -> tuple[Worker, ...]:
        """Processes that could still start."""
        ranks = self.request.ranks
        return tuple(
            worker
            for worker in self.present
            if worker.answer.started is None
            and not worker.answer.left_out
            and (ranks is None or worker.rank in ranks)
            and (worker.life is Life.ALIVE or worker.answer.asked is not None)
        )

    @property
    def is_read(self) -> bool:
        """Whether a poller or a process has read the request."""
        return any("load json success" in line.text for line in self.monitor) or any(
            worker.answer.asked is not None for worker in self.workers
        )

    def state(self) -> str:
        """The progress, in one line."""
        started = [worker.answer.started for worker in self.started if worker.answer.started is not None]
        done = sum(worker.is_done for worker in self.workers)
        if started:
            steps = (
                f"step {min(started)}" if min(started) == max(started) else f"steps {min(started)} to {max(started)}"
            )
            return f"profiling since {steps} of the job on {_ranks(len(started))}, {done} done"
        asked = sum(worker.answer.asked is not None and not worker.answer.left_out for worker in self.workers)
        if asked and self.request.start_step is not None:
            return f"taken by {_ranks(asked)}; waiting for step {self.request.start_step}"
        if asked:
            return f"taken by {_ranks(asked)}"
        return "read by the job; waiting for its next step" if self.is_read else "waiting for the job to read it"


def _ranks(count: int) -> str:
    return "1 rank" if count == 1 else f"{count} ranks"
