"""Why a request is not served, from the logs, the processes and the folders: the problem and what to do.

torch_npu reports few failures. A reason is reported as soon as it is certain. After the timeout, the most likely
remaining reason is reported.
"""

from __future__ import annotations

from dataclasses import dataclass

from rlcompare.collect.attach.processes import init_failure, memory_advice
from rlcompare.collect.attach.view import View, Worker

_STAYS = "The request stays in profiler_config.json, and is served when the job reaches it"
_TAKEN_SECONDS = {True: 30, False: 120}
"""Seconds that a poller may take beyond its interval: on this machine (True), or over shared storage (False)."""


@dataclass(frozen=True)
class Reason:
    """A reason. ``problem`` and ``remedy`` are clauses without a full stop."""

    problem: str
    remedy: str


def unservable(view: View) -> Reason | None:
    """Why a job cannot serve a request that is not yet written; None: it may be able to."""
    workers = view.present
    if not workers:
        return _ended(view)
    if not view.all_seen:
        return None
    if not any(worker.has_begun for worker in workers):
        return Reason(
            f"dynamic_profile.init failed in process {workers[0].pid}: "
            + (init_failure(workers[0].pid) or "its log is empty; see the beginning of its output"),
            f"Often a killed job has left its shared memory behind. {memory_advice()}. Then start the job again",
        )
    if not view.polling_hosts:
        return _nobody_polls(workers[0])
    return _silenced(workers) or _past(view, workers) or _no_such_rank(view, workers)


def hopeless(view: View) -> Reason | None:
    """Why a request will certainly not be served; None: it may still be."""
    if view.is_changed:
        return Reason(
            "profiler_config.json was changed or removed after the request",
            "Make sure that nobody else edits it, and run attach again",
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
            "the job's torch_npu cannot start immediately: like 2.5.1, it waited for step 0, which is past",
            "Use --start-step with a step that the job has not reached yet",
        )
    if any("config is not effective" in text for worker in asked for text in worker.said):
        return Reason(
            f"the job had passed step {view.request.start_step} when it read the request",
            "Use a later --start-step, or omit it to start immediately",
        )
    if asked and all(worker.answer.left_out for worker in asked) and not view.others:
        return _ranks_left_out(view)
    if not view.is_read and view.waited > _TAKEN_SECONDS[view.all_seen] + 2 * view.interval:
        return _unread(view)
    return None


def out_of_time(view: View, timeout: float) -> Reason:
    """Why the profile is missing or incomplete when the time is over."""
    asked = [worker for worker in view.workers if worker.answer.asked is not None]
    if view.started:
        return _unfinished(view, timeout)
    if not view.is_read:
        return _unread(view)
    if not asked:
        return Reason(
            f"the job read the request, but reached no step within {timeout:g} s",
            "If its steps are long, increase --timeout. Otherwise its steps are not counted: with PROF_CONFIG_PATH "
            "torch_npu counts only the steps of torch.optim.Optimizer, so a job with its own optimizer, or without "
            f"one, must call dynamic_profile.step(). {_STAYS}",
        )
    if all(worker.answer.left_out for worker in asked):
        return _ranks_left_out(view)
    if view.request.start_step is not None:
        return Reason(
            f"the job took the request, but did not start at step {view.request.start_step} within {timeout:g} s: it "
            "has not reached that step, or had passed it already (then the job's output says: not effective)",
            f"Increase --timeout, or omit --start-step to start immediately. {_STAYS}",
        )
    return Reason(
        f"the job took the request, but did not start within {timeout:g} s",
        f"Check the job's output: torch_npu's profiler does not report its errors elsewhere. {_STAYS}",
    )


def _ended(view: View) -> Reason:
    if not view.workers:
        return Reason(
            "no process of a job under torch_npu.profiler.dynamic_profile has left a log/dp_*.log here",
            "Start the job with PROF_CONFIG_PATH or dynamic_profile.init, and pass the same folder here",
        )
    numbers = ", ".join(str(worker.pid) for worker in view.workers[:8])
    return Reason(
        f"the job has ended: the processes that polled here are gone ({numbers})",
        "Start it again, or run this command in its container. Shared memory that a killed job leaves behind blocks "
        f"the next job that starts in the same hour. {memory_advice()}",
    )


def _nobody_polls(worker: Worker) -> Reason:
    return Reason(
        f"process {worker.pid} is running but does not poll this folder: its start was blocked by the shared memory of "
        "another job that started in the same hour, or of a killed job",
        f"{memory_advice()}. Then start the job again",
    )


def _silenced(workers: tuple[Worker, ...]) -> Reason | None:
    for worker in workers:
        if worker.silencers:
            names = " and ".join(worker.silencers)
            return Reason(
                f"{names} is set in process {worker.pid}, which disables torch_npu's profiler",
                f"Unset {names} and start the job again",
            )
    return None


def _past(view: View, workers: tuple[Worker, ...]) -> Reason | None:
    wanted = view.request.start_step
    done = max(worker.steps_done for worker in workers)
    if wanted is None or wanted > done:
        return None
    return Reason(
        f"step {wanted} is past: the job has completed at least {done} steps",
        "Use a later --start-step, or omit it to start immediately",
    )


def _no_such_rank(view: View, workers: tuple[Worker, ...]) -> Reason | None:
    wanted, known = view.request.ranks, sorted({worker.rank for worker in workers})
    if wanted is None or set(wanted) & set(known):
        return None
    return Reason(
        f"none of the requested ranks is in this job: its ranks are {', '.join(map(str, known))}"
        + (" (-1 is a process without RANK, which --rank cannot select)" if -1 in known else ""),
        "Choose other ranks with --rank, or omit it to profile all",
    )


def _refused(view: View) -> Reason | None:
    """The poller's error message about the file."""
    for line in view.monitor:
        if "oad json failed" in line.text or "cfg bytes write failed" in line.text:
            return Reason(
                f"torch_npu refused profiler_config.json: {line.text}",
                "Make sure that the user of the job can read the file, and run attach again",
            )
    return None


def _incomplete(view: View) -> Reason:
    """The job ended; at least one worker left no profile."""
    bad = next(worker for worker in view.started if not worker.is_done)
    begun, folder = bad.answer.started, bad.folder
    if bad.answer.stopped is None:
        left = f"; its profile is incomplete: {folder}" if folder else ""
        return Reason(
            f"{bad.name} ended while it was profiled, from step {begun} on{left}",
            "If it was killed, see its output. Otherwise it must run at least "
            f"{view.request.steps} more steps after a request: request fewer steps, or start earlier",
        )
    if folder is None:
        said = next((text for text in bad.said if "failed" in text), "")
        return Reason(
            f"{bad.name} says that it was profiled, but left no *_ascend_pt folder in {view.request.output}"
            + (f": {said}" if said else ""),
            "Make sure that the user of the job can write there and that the disk is not full; torch_npu's profiler "
            "reports its errors only on the job's output, if at all",
        )
    return Reason(
        f"{folder}: {bad.problem}",
        "Check the job's output: torch_npu's profiler reports its errors only there",
    )


def _ranks_left_out(view: View) -> Reason:
    known = sorted({worker.rank for worker in view.workers if worker.answer.left_out})
    return Reason(
        f"no process has a requested rank: the ranks are {', '.join(map(str, known))}",
        "Choose other ranks with --rank, or omit it to profile all",
    )


def _unread(view: View) -> Reason:
    seen = "The job is running" if view.all_seen else "This machine cannot see whether the job is running"
    return Reason(
        f"no process read the request within {view.waited:.0f} s, though each polls every {view.interval} s: "
        "no log/monitor_dp_*.log changed",
        f"{seen}. Check that it does not hang, that it was started with this folder, that the folder is shared with "
        f"its machine, and that no killed job left shared memory there. {memory_advice()}. {_STAYS}",
    )


def _unfinished(view: View, timeout: float) -> Reason:
    waiting = [worker for worker in view.started if not worker.is_done and worker.answer.stopped is None]
    late = waiting[0] if waiting else view.started[0]
    begun = late.answer.started or 0
    parsing = view.request.analysis and late.folder is not None and not late.problem
    where = "is complete once parsed" if parsing else f"ends after step {begun + view.request.steps}"
    return Reason(
        f"{late.name} started at step {begun}; its profile {where}, which did not happen within {timeout:g} s",
        f"Increase --timeout. The profile continues by itself, into {view.request.output}",
    )
