"""Starts the processes of a run: one here, several by torch's elastic launcher, or those of an outer ``torchrun``."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
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
    """

    config: Config
    overrides: Sequence[str]
    folder: Path
    quiet: bool


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
    elif trainer.world_size == 1:
        _work(request)
    elif trainer.nnodes > 1:
        raise UsageError("trainer.nnodes > 1: start rlcompare run on every node under torchrun")
    else:
        _launch_here(trainer.world_size, request)


def _launch_here(world_size: int, request: Launch) -> None:
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    # What a process failed of is said once, by us; the launcher would print every traceback as well.
    logging.getLogger("torch").setLevel(logging.CRITICAL)
    launcher = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=world_size,
        run_id=f"rlcompare-{os.getpid()}",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        monitor_interval=0.1,
    )
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        elastic_launch(launcher, _work_of_child)(request)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        said = _said(failure.message)
        blame(request.folder, f"rank {rank}: {said}")
        what = f"rank {rank} ended with {failure.exitcode}: {said.removeprefix('UsageError: ')}"
        raise (UsageError if said.startswith("UsageError: ") else RuntimeError)(what) from error
    except SignalException as error:  # the launcher has handlers of its own, which end the ranks
        raise Interrupted(int(error.sigval)) from error
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _said(message: object) -> str:
    """What a failed process left: a text, or a record with the text inside."""
    while isinstance(message, dict) and "message" in message:
        message = message["message"]
    return str(message)


def _work_of_child(request: Launch) -> None:
    from torch.distributed.elastic.multiprocessing.errors import record

    record(_work)(request)


def _work(request: Launch) -> None:
    from rlcompare.collect.worker import run_worker

    run_worker(request.config, request.overrides, request.folder, request.quiet)
