"""Writes what a job of verl leaves in its ``save_path``, as each version from 0.5 to 0.9 lays it out.

The names follow verl's own code (``verl/utils/profiler``) and that of the inference engines; what lies in the folders
is simulated as for ``rlcompare sample``. Worker groups: the trainer (actor, and reference), a critic with processes of
its own, and replicas of an inference engine (agent loop), each with ``tensor_parallel`` processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from rlcompare.errors import UsageError
from rlcompare.writer.info import folder_name, host_name
from rlcompare.writer.layout import write_capture
from rlcompare.writer.model import Capture
from rlcompare.writer.simulate import EPOCH_NS, simulate
from rlcompare.writer.spec import PHASE_ROLES, SampleRun
from tests.torch_trace_file import write_torch_trace

VERSIONS = ("0.5.0", "0.6.1", "0.7.0", "0.7.1", "0.8.0", "0.9.0", "0.9.1")
"""The versions of verl between which the layout changes."""

_TRAINING = ("compute_log_prob", "compute_ref_log_prob", "update_actor")
_SECOND_NS = 1_000_000_000
_STEP_SECONDS = 120
_TINY = SampleRun(layers=1, decode_steps=1, level="level0", contents=("npu", "cpu"))


@dataclass(frozen=True)
class VerlJob:
    """One execution of a job, and how it is profiled.

    Attributes:
        version: one of ``VERSIONS``.
        tool: ``npu`` or ``torch``.
        mode: ``e2e`` or ``discrete``.
        steps: the profiled training steps.
        ranks: the trainer's ranks that are profiled.
        replicas, tensor_parallel, engine: of the rollout in agent-loop mode (from 0.7.1), ``vllm`` or ``sglang``;
            without replicas the trainer's own processes generate.
        relocate: ``relocate_results`` of 0.9.1.
        backend: ``fsdp`` or ``megatron``, whose workers name no roles up to 0.6.1.
        critic: a critic is trained, in processes of its own.
        generations: how often each step generates.
        start_ns: when the job begins, since the epoch.
        sample: what is simulated; its ranks, steps, phases, mode and layout do not count.
    """

    version: str
    tool: str = "npu"
    mode: str = "e2e"
    steps: tuple[int, ...] = (2, 3)
    ranks: tuple[int, ...] = (0, 1)
    replicas: int = 0
    tensor_parallel: int = 1
    engine: str = "vllm"
    relocate: bool = False
    backend: str = "fsdp"
    critic: bool = False
    generations: int = 1
    start_ns: int = EPOCH_NS
    sample: SampleRun = field(default_factory=lambda: _TINY)

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise UsageError(f"verl {self.version}: must be one of {', '.join(VERSIONS)}")
        if self.replicas and self.since("0.7.1") is False:
            raise UsageError(f"verl {self.version} does not profile the replicas of an agent loop")

    @property
    def generates(self) -> bool:
        """Whether the trainer's own processes generate: from 0.8 on only engines do."""
        return not self.replicas and not self.since("0.8.0")

    def since(self, version: str) -> bool:
        """Whether the job's verl is of that version or later."""
        return VERSIONS.index(self.version) >= VERSIONS.index(version)


@dataclass(frozen=True)
class Written:
    """A capture that was written: where, of which group (``trainer``, ``critic``, ``rollout``), and what it holds."""

    path: Path
    group: str
    capture: Capture
    replica: int | None = None


def write_verl(job: VerlJob, save_path: Path) -> list[Written]:
    """Writes a job's captures into ``save_path``, beside what lies there already; in the order of time."""
    written = []
    for index, step in enumerate(job.steps):
        start = job.start_ns + index * _STEP_SECONDS * _SECOND_NS
        for part in (_rollout, _trainer, _critic):
            written += list(part(job, step, start, save_path))
    return sorted(written, key=lambda one: one.capture.start_ns)


def _simulated(
    job: VerlJob, step: int, start: int, group: int, ranks: int, phases: tuple[str, ...], mode: str
) -> list[Capture]:
    """Captures of one worker group; each group has processes of its own."""
    seed = job.sample.seed + 1000 * group
    run = replace(job.sample, phases=phases, mode=mode, layout="verl", steps=(step,), start_ns=start, seed=seed)
    return simulate(replace(run, ranks=tuple(range(ranks))))


# the trainer


def _trainer(job: VerlJob, step: int, start: int, save_path: Path) -> Iterator[Written]:
    phases = tuple(PHASE_ROLES) if job.generates else _TRAINING
    ranks = max(job.ranks) + 1
    if job.mode == "e2e":
        captures = _simulated(job, step, start, 0, ranks, phases, "e2e")
        folder = "train" if job.since("0.9.1") else "e2e"
        for capture in _of_ranks(captures, job.ranks):
            yield _write(job, capture, "trainer", step, folder, None, save_path)
        return
    generations = ("generate_sequences",) * (job.generations - 1) if job.generates else ()
    captures = []
    for number, phase in enumerate(generations):
        captures += _simulated(job, step, start + number * 10 * _SECOND_NS, 0, ranks, (phase,), "discrete")
    captures += _simulated(job, step, start + 40 * _SECOND_NS, 0, ranks, phases, "discrete")
    for capture in _of_ranks(captures, job.ranks):
        yield _write(job, capture, "trainer", step, _role(job, capture.phase or ""), capture.phase, save_path)


def _of_ranks(captures: list[Capture], ranks: tuple[int, ...]) -> list[Capture]:
    return [capture for capture in captures if capture.rank in ranks]


def _role(job: VerlJob, phase: str) -> str | None:
    """The role that verl annotates a method with; None: it has none."""
    if job.backend == "megatron" and not job.since("0.7.0"):
        return None
    if phase in PHASE_ROLES:
        return PHASE_ROLES[phase]
    if not job.since("0.7.0"):
        return None
    if job.since("0.8.0"):
        return "train_batch"
    return {"compute_values": "compute_values", "update_critic": "critic_update"}[phase]


# the critic


def _critic(job: VerlJob, step: int, start: int, save_path: Path) -> Iterator[Written]:
    if not job.critic:
        return
    if job.mode == "e2e":
        captures = _simulated(job, step, start, 1, 2, ("update_actor",), "e2e")
        for capture in captures:
            _rename(capture, "update_critic" if not job.since("0.8.0") else "train_batch")
            yield _write(job, capture, "critic", step if job.since("0.6.1") else None, None, None, save_path)
        return
    methods = ("update_critic", "update_critic") if job.since("0.8.0") else ("compute_values", "update_critic")
    for number, method in enumerate(methods):
        begin = start + (44 + 3 * job.generates + number) * _SECOND_NS  # after the reference, before the actor's update
        for capture in _simulated(job, step, begin, 1, 2, ("update_actor",), "discrete"):
            _rename(capture, "train_batch" if job.since("0.8.0") else method)
            yield _write(job, capture, "critic", step, _role(job, method), method, save_path)


def _rename(capture: Capture, message: str) -> None:
    capture.marks = [replace(mark, message=message) for mark in capture.marks]


# names


def _write(
    job: VerlJob, capture: Capture, group: str, step: int | None, role: str | None, phase: str | None, save_path: Path
) -> Written:
    """One capture of a worker group; ``role`` as verl passes it to its profiler."""
    if job.since("0.9.1") and phase is not None and role is not None:
        _rename(capture, role)
    if job.tool == "torch":
        path = save_path / _trace_name(job, capture, group, step, role)
        write_torch_trace(capture, max(job.ranks) + 1, path)
        return Written(path, group, capture)
    folder = save_path
    if phase is None and step is not None and not job.since("0.7.1"):
        folder = folder / str(step)
    path = (folder / role if role else folder) / folder_name(capture)
    write_capture(_as_written(job, capture), capture, path)
    return Written(path, group, capture)


def _as_written(job: VerlJob, capture: Capture) -> SampleRun:
    """The run that a capture's own files tell of: verl gives no schedule."""
    return replace(
        job.sample, ranks=(capture.rank,), devices=(capture.devices,), layout="verl", steps=(), world_size=None
    )


def _trace_name(job: VerlJob, capture: Capture, group: str, step: int | None, role: str | None) -> str:
    rank, time = capture.rank, _time(capture)
    if not job.since("0.7.0"):
        return f"prof_start_0_end_2_rank_{rank}.json"
    if not job.since("0.7.1"):
        return f"prof_rank-{rank}.json.gz"
    folder = f"{role}/" if role and not job.since("0.9.1") else ""
    if not job.since("0.9.0"):
        return f"{folder}prof_rank-{rank}_{capture.pid}_{time}.json.gz"
    words = ["actor-rollout-ref" if group == "trainer" else "value-model"]
    words += [role.replace("_", "-")] if role else []
    words += [f"step{step}"] if job.since("0.9.1") else []
    return f"{folder}{'_'.join(words)}_rank{rank}-of-{max(job.ranks) + 1}_pid{capture.pid}_{time}.json.gz"


def _time(capture: Capture) -> str:
    moment = datetime.fromtimestamp(capture.start_ns // _SECOND_NS, timezone.utc)
    return f"{moment:%Y%m%d%H%M%S}{capture.start_ns // 1_000_000 % 1_000:03d}"


# the rollout


def _rollout(job: VerlJob, step: int, start: int, save_path: Path) -> Iterator[Written]:
    for number in range(job.generations if job.replicas else 0):
        begin = start + (1 + number * 10) * _SECOND_NS
        for replica in range(job.replicas):
            captures = _simulated(
                job, step, begin, 2 + replica, job.tensor_parallel, ("generate_sequences",), "discrete"
            )
            for capture in captures:
                path = _replica_path(job, capture, replica, save_path)
                if job.tool == "torch":
                    write_torch_trace(capture, job.tensor_parallel, path)
                else:
                    write_capture(_as_written(job, capture), capture, path)
                yield Written(path, "rollout", capture, replica)
            if job.tool == "torch" and job.engine == "vllm":
                _write_front_end(job, captures[0], replica, save_path)


def _replica_path(job: VerlJob, capture: Capture, replica: int, save_path: Path) -> Path:
    """Where an engine's process leaves its capture; engines know their own ranks only."""
    rank = capture.rank
    if job.tool == "npu":
        name = folder_name(capture)
    elif job.engine == "sglang":
        name = f"{capture.start_ns / 1e9:.6f}-TP-{rank}.trace.json.gz"
    else:
        name = f"dp0_pp0_tp{rank}_dcp0_ep0_rank{rank}.{capture.start_ns}.pt.trace.json.gz"
    return _in_replica(job, name, replica, rank if job.tool == "torch" else None, save_path)


def _in_replica(job: VerlJob, name: str, replica: int, rank: int | None, save_path: Path) -> Path:
    if not job.relocate:
        return save_path / f"agent_loop_rollout_replica_{replica}" / name
    known = rank is not None and job.tensor_parallel > 1
    place = f"-globalrank{replica * job.tensor_parallel + (rank or 0)}" if known else ""
    return save_path / f"rollout-replica{replica}{place}_{name}"


def _write_front_end(job: VerlJob, worker: Capture, replica: int, save_path: Path) -> None:
    """The trace of the process that schedules vLLM's requests: calls on the host, no kernel."""
    front = replace(worker, pid=worker.pid + 1, kernels=[], calls=[])
    name = f"{host_name()}_{front.pid}.async_llm.{front.start_ns}.pt.trace.json.gz"
    write_torch_trace(front, 1, _in_replica(job, name, replica, None, save_path))
