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

from rlcompare import temporary
from rlcompare.collect.reference.config.schema import Config
from rlcompare.collect.reference.launched import is_launched
from rlcompare.collect.run_directory import blame
from rlcompare.errors import ExitCode, InputError, OutputError, RlcompareError, UsageError

_KNOWN_ERRORS = (UsageError, OutputError, InputError)

_RANK = ".rank"
"""The suffix of an empty file that a rank's process creates once it handles signals."""


class RankError(RlcompareError):
    """A rank failed with an error that tells the user what to do.

    Args:
        exit_code: of that error.
    """

    def __init__(self, message: str, exit_code: ExitCode) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Launch:
    """The arguments of every process of a run.

    Attributes:
        overrides: the user's configuration changes, for run.json.
        folder: of the run; exists.
        quiet: print no line per step.
        fresh: use a separate process even if one is enough: several runs must not share caches or the peak of their
            memory.
    """

    config: Config
    overrides: Sequence[str]
    folder: Path
    quiet: bool
    fresh: bool = False


def check(config: Config, folder: Path) -> None:
    """Refuses requests that would fail only after the start, before anything of an earlier run is replaced.

    Raises:
        UsageError: the model, device or schedule does not exist, or profiles cannot be written to their folder.
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
    """Runs the ranks with torch's launcher in a separate thread.

    The launcher raises an exception on a signal wherever it is, also between starting a rank and sending that rank's
    arguments. Half-started ranks then print tracebacks, and nobody ends them. Here a signal ends only the waiting of
    the main thread, and the ranks are signalled as soon as they can handle it.
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
    resource_tracker.ensure_running()  # starting it unblocks the signal
    # The ranks inherit this thread's mask: a terminal sends them SIGINT too, which they cannot handle while importing.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    elastic_launch(config, _work_of_child)(request, scratch)


def _interrupt_ranks(ranks: Future[None], scratch: Path) -> None:
    """Signals each rank once, as soon as it handles signals, and waits for the launcher, whose result is ignored."""
    told: set[int] = set()
    while not ranks.done():
        for pid in {int(file.stem) for file in scratch.glob(f"*{_RANK}")} - told:
            told.add(pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)
        wait([ranks], timeout=0.05)


@contextmanager
def _scratch() -> Iterator[str]:
    """A folder for files of torch's launcher: logs, and the errors of ranks."""
    before = tempfile.tempdir
    with temporary.folder() as folder:
        tempfile.tempdir = folder
        try:
            yield folder
        finally:
            tempfile.tempdir = before


@contextmanager
def _silence() -> Iterator[None]:
    """Silences the launcher, which would log every traceback and signal. We report a rank's error once."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _failure(where: str, said: str) -> Exception:
    """Converts a rank's error to an error of this process."""
    kind, colon, message = said.partition(": ")
    if kind == "BrokenPipeError":
        return BrokenPipeError(said)
    code = next((known.exit_code for known in _KNOWN_ERRORS if known.__name__ == kind and colon), None)
    return RuntimeError(where + said) if code is None else RankError(where + message, code)


def _said(message: object) -> str:
    """The error message of a failed process: a string, or a record that contains one."""
    while isinstance(message, dict) and "message" in message:
        message = message["message"]
    return str(message)


def _work_of_child(request: Launch, scratch: str) -> None:
    from torch.distributed.elastic.multiprocessing.errors import record

    signal.signal(signal.SIGINT, _interrupt_rank)
    (Path(scratch) / f"{os.getpid()}{_RANK}").touch()  # see _interrupt_ranks
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # raises a signal that arrived meanwhile
        record(_work)(request)
    except KeyboardInterrupt:
        # torch would end the process with 0, and its launcher would wait for the result. On a normal exit it warns
        # about pending collectives.
        os._exit(128 + signal.SIGINT)


def _interrupt_rank(number: int, frame: FrameType | None) -> None:
    """Ends a rank. Further signals of the launcher, sent when another rank ended, must not stop the clean-up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _work(request: Launch) -> None:
    from rlcompare.collect.reference.worker import run_worker

    run_worker(request.config, request.overrides, request.folder, request.quiet)
