"""Starts the processes of a run: one here, several by torch's elastic launcher, or those of an outer ``torchrun``."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from types import FrameType

from rlcompare.collect.reference.config.schema import Config
from rlcompare.collect.reference.launched import is_launched
from rlcompare.collect.run_directory import blame
from rlcompare.errors import ExitCode, InputError, OutputError, RlcompareError, UsageError

_KNOWN_ERRORS = (UsageError, OutputError, InputError)

_RANK = ".rank"
"""The suffix of an empty file named after a rank's process, from when that listens to signals."""


class RankError(RlcompareError):
    """A rank ended with an error that tells the user what to do.

    Args:
        exit_code: of that error.
    """

    def __init__(self, message: str, exit_code: ExitCode) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Launch:
    """What every process of a run is told.

    Attributes:
        overrides: what the user changed of the configuration, for run.json.
        folder: of the run; exists.
        quiet: no line per step.
        fresh: in a process of its own, also where it needs only one: one of several runs, which must not share caches
            or the peak of their memory.
    """

    config: Config
    overrides: Sequence[str]
    folder: Path
    quiet: bool
    fresh: bool = False


def check(config: Config, folder: Path) -> None:
    """Refuses what a run would fail of after it has begun, before anything of an earlier run is replaced.

    Raises:
        UsageError: there is no such model, device or schedule, or profiles cannot be written where they are to go.
    """
    from rlcompare.collect.profiler.plan import make_plan
    from rlcompare.collect.reference.model import PRESETS, model_folder
    from rlcompare.collect.reference.worker import device_type

    if config.actor_rollout_ref.model.path not in PRESETS:
        model_folder(config.actor_rollout_ref.model.path)
    make_plan(config, folder, 0, config.trainer.world_size, device_type(config))


def launch(request: Launch) -> None:
    """Runs the training of one run to its end.

    Raises:
        UsageError: the processes cannot be started.
        RankError: one of several failed; the message says which and why.
    """
    trainer = request.config.trainer
    if is_launched():
        given = int(os.environ["WORLD_SIZE"])
        if given != trainer.world_size:
            raise UsageError(
                f"torchrun started {given} processes, but trainer.n_gpus_per_node x trainer.nnodes is "
                f"{trainer.world_size}: make them equal"
            )
        _work(request)
    elif trainer.world_size == 1 and not request.fresh:
        _work(request)
    elif trainer.nnodes > 1:
        raise UsageError("trainer.nnodes > 1: start rlcompare run on every node under torchrun")
    else:
        _launch_here(trainer.world_size, request)


def _launch_here(world_size: int, request: Launch) -> None:
    """Runs the ranks by torch's launcher, which works in a thread of its own.

    It would raise what a signal tells it wherever it is, also between the start of a rank and the sending of that
    rank's arguments; ranks that are half started print tracebacks, and nobody ends them. Here the signal ends this
    thread's waiting, and the ranks are told once they can hear it.
    """
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    with _scratch() as scratch, _silence(), ThreadPoolExecutor(1, thread_name_prefix="launcher") as launcher:
        try:
            ranks = launcher.submit(_launch_ranks, world_size, request, scratch)
            try:
                ranks.result()
            except KeyboardInterrupt:
                _interrupt_ranks(ranks, Path(scratch))
                raise
        except ChildFailedError as error:
            rank, failure = error.get_first_failure()
            said = _said(failure.message)
            blame(request.folder, f"rank {rank}: {said}")
            raise _failure(f"rank {rank} ended with {failure.exitcode}: ", said) from error


def _launch_ranks(world_size: int, request: Launch, scratch: str) -> None:
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=world_size,
        run_id=f"rlcompare-{os.getpid()}",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        monitor_interval=0.1,
        logs_specs=DefaultLogsSpecs(log_dir=scratch),
    )
    resource_tracker.ensure_running()  # which unblocks the signal when it starts
    # The ranks take over this thread's mask: a terminal sends them SIGINT too, which they cannot hear while importing.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    elastic_launch(config, _work_of_child)(request, scratch)


def _interrupt_ranks(ranks: Future[None], scratch: Path) -> None:
    """Tells each rank once, as soon as it listens, and waits for the launcher; how it ends does not matter then."""
    told: set[int] = set()
    while not ranks.done():
        for pid in {int(file.stem) for file in scratch.glob(f"*{_RANK}")} - told:
            told.add(pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)
        wait([ranks], timeout=0.05)


@contextmanager
def _scratch() -> Iterator[str]:
    """A folder for what torch's launcher writes and leaves: logs, and what a rank failed of."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="rlcompare-") as folder:
        tempfile.tempdir = folder
        try:
            yield folder
        finally:
            tempfile.tempdir = before


@contextmanager
def _silence() -> Iterator[None]:
    """What a rank failed of is said once, by us; the launcher would log every traceback and signal as well."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _failure(where: str, said: str) -> Exception:
    """The error that a rank ended with, as its kind of error here."""
    kind, colon, message = said.partition(": ")
    if kind == "BrokenPipeError":
        return BrokenPipeError(said)
    code = next((known.exit_code for known in _KNOWN_ERRORS if known.__name__ == kind and colon), None)
    return RuntimeError(where + said) if code is None else RankError(where + message, code)


def _said(message: object) -> str:
    """What a failed process left: a text, or a record with the text inside."""
    while isinstance(message, dict) and "message" in message:
        message = message["message"]
    return str(message)


def _work_of_child(request: Launch, scratch: str) -> None:
    from torch.distributed.elastic.multiprocessing.errors import record

    signal.signal(signal.SIGINT, _interrupt_rank)
    (Path(scratch) / f"{os.getpid()}{_RANK}").touch()  # see _interrupt_ranks
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # which raises what came meanwhile
        record(_work)(request)
    except KeyboardInterrupt:
        # torch would end the process with 0, and its launcher wait for the result. At a usual end, it complains of
        # collectives that nobody waits for.
        os._exit(128 + signal.SIGINT)


def _interrupt_rank(number: int, frame: FrameType | None) -> None:
    """Ends a rank; what the launcher does because another rank has ended must not stop the clean-up of this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _work(request: Launch) -> None:
    from rlcompare.collect.reference.worker import run_worker

    run_worker(request.config, request.overrides, request.folder, request.quiet)
