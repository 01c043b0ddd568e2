"""Starts the processes of a run: one here, several by torch's elastic launcher, or those of an outer ``torchrun``."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path

from rlcompare.collect.config.schema import Config
from rlcompare.collect.launched import is_launched
from rlcompare.collect.run_directory import blame
from rlcompare.errors import UsageError


class Interrupted(KeyboardInterrupt):
    """A signal ended a run of several processes.

    Attributes:
        number: the signal's.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


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
    from rlcompare.collect.model import PRESETS, model_folder
    from rlcompare.collect.profiler.plan import make_plan
    from rlcompare.collect.worker import device_type

    if config.actor_rollout_ref.model.path not in PRESETS:
        model_folder(config.actor_rollout_ref.model.path)
    make_plan(config, folder, 0, config.trainer.world_size, device_type(config))


def launch(request: Launch) -> None:
    """Runs the training of one run to its end.

    Raises:
        UsageError: the processes cannot be started, or one of them failed; the message says which and why.
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
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    with _scratch() as scratch, _own_signals(), _silence():
        launcher = LaunchConfig(
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
        try:
            elastic_launch(launcher, _work_of_child)(request)
        except ChildFailedError as error:
            rank, failure = error.get_first_failure()
            said = _said(failure.message)
            blame(request.folder, f"rank {rank}: {said}")
            raise _failure(f"rank {rank} ended with {failure.exitcode}: ", said) from error
        except SignalException as error:  # the launcher has handlers of its own, which end the ranks
            raise Interrupted(int(error.sigval)) from error


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
def _own_signals() -> Iterator[None]:
    """The launcher's handlers are taken back afterwards, and the ranks begin with Ctrl-C blocked.

    A terminal sends SIGINT to the ranks as well, and one that is still importing would print a traceback. The main
    thread's mask becomes theirs; in this process, another thread (``cli.interrupt``) takes the signal.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    resource_tracker.ensure_running()  # which unblocks the signal when it starts
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


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
    return UsageError(where + message) if kind == "UsageError" and colon else RuntimeError(where + said)


def _said(message: object) -> str:
    """What a failed process left: a text, or a record with the text inside."""
    while isinstance(message, dict) and "message" in message:
        message = message["message"]
    return str(message)


def _work_of_child(request: Launch) -> None:
    from torch.distributed.elastic.multiprocessing.errors import record

    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # see _own_signals
    record(_work)(request)


def _work(request: Launch) -> None:
    from rlcompare.collect.worker import run_worker

    run_worker(request.config, request.overrides, request.folder, request.quiet)
