"""Why a request is not served: what the logs, the processes and the folders show, as a sentence and what to do.

torch_npu answers most of it with silence. A reason is told as soon as it is certain; what is left when the time is over
is told then, with what can be known.
"""

from __future__ import annotations

from dataclasses import dataclass

from rlcompare.collect.attach.processes import init_failure, memory_advice
from rlcompare.collect.attach.view import View, Worker

_STAYS = "The request stays in profiler_config.json, and is served if the job comes to it"
_TAKEN_SECONDS = {True: 30, False: 120}
"""How long a poller may take beyond its interval: one of this machine, and one that sees the file by shared storage."""


@dataclass(frozen=True)
class Reason:
    """Attributes: problem: what is wrong, without a full stop; remedy: what to do, likewise."""

    problem: str
    remedy: str


def unservable(view: View) -> Reason | None:
    """Why a job cannot serve a request that is not written yet; None: it may."""
    workers = view.present
    if not workers:
        return _ended(view)
    if not view.all_seen:
        return None
    if not any(worker.has_begun for worker in workers):
        return Reason(
            f"dynamic_profile.init failed in process {workers[0].pid}: "
            + (init_failure(workers[0].pid) or "its log is empty, and the beginning of its output says why"),
            f"Often a killed job left its shared memory. {memory_advice()}. Then start the job again",
        )
    if not view.polling_hosts:
        return _nobody_polls(workers[0])
    return _silenced(workers) or _past(view, workers) or _no_such_rank(view, workers)


def hopeless(view: View) -> Reason | None:
    """Why a request will not be served, where that is certain already; None: it may still be."""
    if view.is_changed:
        return Reason(
            "somebody changed profiler_config.json after the request, or removed it",
            "Agree on who asks, and ask again",
        )
    if refused := _refused(view):
        return refused
    if view.is_over and not view.is_done:
        return _incomplete(view)
    if not view.present and not view.is_done:
        return _ended(view)
    if view.started:
        return None
    asked = [worker for worker in view.workers if worker.answer.asked is not None]
    if asked and all(worker.answer.is_reset for worker in asked):
        return Reason(
            "the job's torch_npu cannot begin at once: like 2.5.1, it took step 0, which is past",
            "Name a step that the job has yet to reach, with --start-step",
        )
    if any("config is not effective" in text for worker in asked for text in worker.said):
        return Reason(
            f"the job had passed step {view.request.start_step} when it read the request",
            "Name a later step with --start-step, or leave it out to begin at once",
        )
    if asked and all(worker.answer.left_out for worker in asked) and not view.others:
        return _ranks_left_out(view)
    if not view.is_read and view.waited > _TAKEN_SECONDS[view.all_seen] + 2 * view.interval:
        return _unread(view)
    return None


def out_of_time(view: View, timeout: float) -> Reason:
    """Why there is nothing, or not all, when the time is over."""
    asked = [worker for worker in view.workers if worker.answer.asked is not None]
    if view.started:
        return _unfinished(view, timeout)
    if not view.is_read:
        return _unread(view)
    if not asked:
        return Reason(
            f"the job read the request, but came to no step in {timeout:g} s",
            "Give it longer (--timeout) where its steps are long. Else nothing counts its steps: with PROF_CONFIG_PATH "
            "torch_npu counts those of torch.optim.Optimizer alone, so a job with an optimizer of its own, or without "
            f"one, must call dynamic_profile.step(). {_STAYS}",
        )
    if all(worker.answer.left_out for worker in asked):
        return _ranks_left_out(view)
    if view.request.start_step is not None:
        return Reason(
            f"the job took the request, but did not begin at step {view.request.start_step} in {timeout:g} s: it is "
            "not there yet, or had passed it when it read the request, as its own output then says (not effective)",
            f"Give it longer (--timeout), or leave --start-step out to begin at once. {_STAYS}",
        )
    return Reason(
        f"the job took the request, but did not begin in {timeout:g} s",
        f"Look at what it printed itself: torch_npu's profiler swallows its errors. {_STAYS}",
    )


def _ended(view: View) -> Reason:
    if not view.workers:
        return Reason(
            "no process of a job under torch_npu.profiler.dynamic_profile has left a log/dp_*.log here",
            "Start the job with PROF_CONFIG_PATH or dynamic_profile.init, and name the same folder",
        )
    numbers = ", ".join(str(worker.pid) for worker in view.workers[:8])
    return Reason(
        f"the job has ended: the processes that polled here are gone ({numbers})",
        "Start it again, or run this in the container it runs in. What a killed job leaves is in the way of the "
        f"next one of the hour. {memory_advice()}",
    )


def _nobody_polls(worker: Worker) -> Reason:
    return Reason(
        f"process {worker.pid} is running but does not poll this folder: when it started, the shared memory of another "
        "job of the same hour, or of a killed one, was in the way",
        f"{memory_advice()}. Then start the job again",
    )


def _silenced(workers: tuple[Worker, ...]) -> Reason | None:
    for worker in workers:
        if worker.silencers:
            names = " and ".join(worker.silencers)
            return Reason(
                f"{names} is set in process {worker.pid}, and with it torch_npu's profiler does nothing",
                f"Unset {names} and start the job again",
            )
    return None


def _past(view: View, workers: tuple[Worker, ...]) -> Reason | None:
    wanted = view.request.start_step
    done = max(worker.steps_done for worker in workers)
    if wanted is None or wanted > done:
        return None
    return Reason(
        f"step {wanted} is past: the job has made {done} steps or more",
        "Name a later one with --start-step, or leave it out to begin at once",
    )


def _no_such_rank(view: View, workers: tuple[Worker, ...]) -> Reason | None:
    wanted, known = view.request.ranks, sorted({worker.rank for worker in workers})
    if wanted is None or set(wanted) & set(known):
        return None
    return Reason(
        f"none of the ranks asked for is here: this job's ranks are {', '.join(map(str, known))}"
        + (" (torch_npu calls a process without RANK -1, which no list can name)" if -1 in known else ""),
        "Name others with --rank, or leave it out to profile all",
    )


def _refused(view: View) -> Reason | None:
    """What the poller said of the file."""
    for line in view.monitor:
        if "oad json failed" in line.text or "cfg bytes write failed" in line.text:
            return Reason(
                f"torch_npu refused profiler_config.json: {line.text}",
                "See to it that the user of the job can read the file, and ask again",
            )
    return None


def _incomplete(view: View) -> Reason:
    """The job ended; at least one worker left no profile."""
    bad = next(worker for worker in view.started if not worker.is_done)
    begun, folder = bad.answer.started, bad.folder
    if bad.answer.stopped is None:
        left = f"; what it left is incomplete: {folder}" if folder else ""
        return Reason(
            f"{bad.name} ended while it was profiled, from step {begun} on{left}",
            "If it was killed, its output says by whom. Else it must make "
            f"{view.request.steps} more steps after a request: ask for fewer, or earlier",
        )
    if folder is None:
        said = next((text for text in bad.said if "failed" in text), "")
        return Reason(
            f"{bad.name} says that it was profiled, but left no *_ascend_pt folder in {view.request.output}"
            + (f": {said}" if said else ""),
            "See to it that the user of the job can write there, and that there is room; torch_npu's profiler swallows "
            "its errors, and prints them at most on the job's output",
        )
    return Reason(
        f"{folder}: {bad.problem}",
        "Look at the job's output: torch_npu's profiler swallows its errors, and says them there",
    )


def _ranks_left_out(view: View) -> Reason:
    known = sorted({worker.rank for worker in view.workers if worker.answer.left_out})
    return Reason(
        f"no process has a rank that was asked for: they are {', '.join(map(str, known))}",
        "Name others with --rank, or leave it out to profile all",
    )


def _unread(view: View) -> Reason:
    seen = "The job lives" if view.all_seen else "Whether the job lives cannot be seen from this machine"
    return Reason(
        f"no poller read the request in {view.waited:.0f} s, though they look every {view.interval} s: "
        "no log/monitor_dp_*.log moved",
        f"{seen}. Look whether it hangs, and whether the folder is the one it was started with and is shared with its "
        f"machine, and for shared memory that a killed job left there. {memory_advice()}. {_STAYS}",
    )


def _unfinished(view: View, timeout: float) -> Reason:
    waiting = [worker for worker in view.started if not worker.is_done and worker.answer.stopped is None]
    late = waiting[0] if waiting else view.started[0]
    begun = late.answer.started or 0
    parsing = view.request.analysis and late.folder is not None and not late.problem
    where = "is being parsed" if parsing else f"ends when it has made step {begun + view.request.steps}"
    return Reason(
        f"{late.name} began at step {begun}, and its profile {where}: not in {timeout:g} s",
        f"Give it longer (--timeout). It goes on by itself, into {view.request.output}",
    )
