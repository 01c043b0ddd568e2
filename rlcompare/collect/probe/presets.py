"""The loops of verl, vLLM and SGLang, and which of their calls count.

This module imports none of these libraries. Names are looked up after a library is imported, and conditions inspect
arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rlcompare.errors import UsageError

Edge = Literal["call", "end", "start"]
EDGES: tuple[Edge, ...] = ("call", "end", "start")
Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]
"""Positional and keyword arguments of a call; the first is ``self``."""


def always(arguments: Arguments) -> bool:
    """Every call."""
    return True


@dataclass(frozen=True)
class Variant:
    """Scope and tick of a probe in one generation of a library, as ``package.module:Class.method``.

    Attributes:
        package: the distribution whose version is reported.
        scope: None: the whole process.
        ticks: alternatives; those that are imported are wrapped.
        edge: extent of a tick: its call (``call``), the call and the time before it from the scope's start on
            (``end``), or the call and the time after it until the next one starts (``start``).
        applies: whether a call of the scope belongs to this probe. Raises UsageError if it can never be recorded.
        counts: whether a call of the tick counts.
    """

    package: str
    scope: str | None
    ticks: tuple[str, ...]
    edge: Edge = "call"
    applies: Callable[[Arguments], bool] = always
    counts: Callable[[Arguments], bool] = always


@dataclass(frozen=True)
class Probe:
    """What is recorded, and under which phase.

    Attributes:
        role: empty if the phase is not one of verl's.
        known: the library versions from which the preset was derived.
        schedule: its own defaults.
    """

    name: str
    role: str
    phase: str
    granularity: str
    variants: tuple[Variant, ...]
    known: str = ""
    schedule: Mapping[str, int] = field(default_factory=dict)


def _argument(arguments: Arguments, position: int, name: str) -> Any:
    positional, keywords = arguments
    return keywords[name] if name in keywords else positional[position]


def is_vllm_decode(arguments: Arguments) -> bool:
    """Whether vLLM runs a decode step: no new request, and per request one token plus its drafts at most.

    A step that also prefills, in whole or in part, does not count.
    """
    planned = _argument(arguments, 1, "scheduler_output")
    tokens, drafts = planned.num_scheduled_tokens, planned.scheduled_spec_decode_tokens
    if not tokens or planned.scheduled_new_reqs:
        return False
    return all(count == 1 + len(drafts.get(request, ())) for request, count in tokens.items())


def is_sglang_decode(arguments: Arguments) -> bool:
    """Whether SGLang runs a decode step of the model itself, or verifies drafts instead."""
    runner, mode = arguments[0][0], _argument(arguments, 1, "forward_batch").forward_mode
    return not getattr(runner, "is_draft_worker", False) and (mode.is_decode() or mode.is_target_verify())


def _is_actor(arguments: Arguments) -> bool:
    """verl up to 0.7: actor and reference share a class, and only the actor has an optimizer."""
    return getattr(arguments[0][0], "actor_optimizer", None) is not None


def _is_reference(arguments: Arguments) -> bool:
    return not _is_actor(arguments)


def _backend(arguments: Arguments, worker: str) -> str:
    """The engine's backend of a verl worker, from 0.7 on."""
    return str(getattr(getattr(getattr(arguments[0][0], worker, None), "engine_config", None), "strategy", ""))


def _is_megatron(backend: str) -> bool:
    return backend.startswith(("megatron", "mindspeed"))


def _micro(worker: str) -> Callable[[Arguments], bool]:
    """Counts every call, except under Megatron, whose own scheduler runs the micro batches."""

    def applies(arguments: Arguments) -> bool:
        backend = _backend(arguments, worker)
        if _is_megatron(backend):
            raise UsageError(f"with {backend} there are no micro batches to sample; use megatron-update-mini")
        return True

    return applies


def _on_megatron(arguments: Arguments) -> bool:
    backend = _backend(arguments, "actor")
    if not _is_megatron(backend):
        raise UsageError(f"the actor's backend is {backend or 'unknown'}, and not Megatron; use update-mini")
    return True


def _is_critic(arguments: Arguments) -> bool:
    """Whether an engine's worker holds a value model: workers of the actor and the reference are of the same class."""
    return getattr(getattr(arguments[0][0], "config", None), "model_type", "") == "value_model"


def _micro_of_critic(arguments: Arguments) -> bool:
    if not _is_critic(arguments):
        return False
    backend = str(getattr(getattr(arguments[0][0], "engine_config", None), "strategy", ""))
    if _is_megatron(backend):
        raise UsageError(f"with {backend} there are no micro batches to sample; use critic-update-mini")
    return True


_FSDP = "verl.workers.actor.dp_actor:DataParallelPPOActor"
_MEGATRON = "verl.workers.actor.megatron_actor:MegatronPPOActor"
_WORKER = "verl.workers.engine_workers:ActorRolloutRefWorker"
_CRITIC = "verl.workers.critic.dp_critic:DataParallelPPOCritic"
_ON_MEGATRON = "verl.workers.critic.megatron_critic:MegatronPPOCritic"
_TRAINING = "verl.workers.engine_workers:TrainingWorker"
_TRAIN_BATCH = (f"{_TRAINING}.train_batch",)
_FORWARDS = (
    "verl.workers.engine.fsdp.transformer_impl:FSDPEngineWithLMHead.forward_step",
    "verl.workers.engine.torchtitan.transformer_impl:TorchTitanEngineWithLMHead.forward_step",
    "verl.workers.engine.automodel.transformer_impl:AutomodelEngineWithLMHead.forward_step",
)
_KNOWN = "verl 0.5 to 0.9"


def _log_prob(name: str, role: str, phase: str, is_its: Callable[[Arguments], bool], method: str) -> Probe:
    return Probe(
        name, role, phase, "micro_batch",
        (
            Variant("verl", f"{_FSDP}.compute_log_prob", (f"{_FSDP}._forward_micro_batch",), applies=is_its),
            Variant("verl", f"{_WORKER}.{method}", _FORWARDS, applies=_micro(role)),
        ),
        _KNOWN, {"warmup": 0},
    )  # fmt: skip


PRESETS: Mapping[str, Probe] = {
    probe.name: probe
    for probe in (
        Probe(
            "vllm-decode", "rollout", "generate_sequences", "decode_step",
            (
                Variant(
                    "vllm", None,
                    (
                        "vllm.v1.worker.gpu_worker:Worker.execute_model",
                        "vllm_ascend.worker.worker:NPUWorker.execute_model",
                        "vllm_ascend.worker.worker_v1:NPUWorker.execute_model",
                    ),
                    counts=is_vllm_decode,
                ),
            ),
            "vLLM's V1 engine, vllm-ascend from 0.8",
        ),
        Probe(
            "sglang-decode", "rollout", "generate_sequences", "decode_step",
            (
                Variant(
                    "sglang", None, ("sglang.srt.model_executor.model_runner:ModelRunner.forward",),
                    counts=is_sglang_decode,
                ),
            ),
            "SGLang 0.4 and 0.5",
        ),
        _log_prob("actor-log-prob", "actor", "old_log_prob", _is_actor, "compute_log_prob"),
        _log_prob("ref-log-prob", "ref", "ref_log_prob", _is_reference, "compute_ref_log_prob"),
        Probe(
            "update-mini", "actor", "update_actor", "mini_batch",
            (
                Variant("verl", f"{_FSDP}.update_policy", (f"{_FSDP}._optimizer_step",), "end"),
                Variant("verl", f"{_WORKER}.update_actor", _TRAIN_BATCH),
            ),
            _KNOWN, {"warmup": 0},
        ),
        Probe(
            # The optimizer step counts as part of the last micro batch before it.
            "update-micro", "actor", "update_actor", "micro_batch",
            (
                Variant("verl", f"{_FSDP}.update_policy", (f"{_FSDP}._forward_micro_batch",), "start"),
                Variant("verl", f"{_WORKER}.update_actor", _FORWARDS, "start", applies=_micro("actor")),
            ),
            _KNOWN, {"warmup": 0},
        ),
        Probe(
            "megatron-update-mini", "actor", "update_actor", "mini_batch",
            (
                Variant("verl", f"{_MEGATRON}.update_policy", (f"{_MEGATRON}.forward_backward_batch",), "start"),
                Variant("verl", f"{_WORKER}.update_actor", _TRAIN_BATCH, applies=_on_megatron),
            ),
            _KNOWN, {"warmup": 0},
        ),
        Probe(
            "critic-values", "critic", "values", "micro_batch",
            (
                Variant("verl", f"{_CRITIC}.compute_values", (f"{_CRITIC}._forward_micro_batch",)),
                Variant("verl", f"{_TRAINING}.infer_batch", _FORWARDS, applies=_micro_of_critic),
            ),
            _KNOWN, {"warmup": 0},
        ),
        Probe(
            "critic-update-mini", "critic", "update_critic", "mini_batch",
            (
                Variant("verl", f"{_CRITIC}.update_critic", (f"{_CRITIC}._optimizer_step",), "end"),
                Variant("verl", f"{_ON_MEGATRON}.update_critic", (f"{_ON_MEGATRON}.forward_backward_batch",), "start"),
                Variant("verl", f"{_TRAINING}.train_mini_batch", _TRAIN_BATCH, applies=_is_critic),
            ),
            _KNOWN, {"warmup": 0},
        ),
        Probe(
            "critic-update-micro", "critic", "update_critic", "micro_batch",
            (
                Variant("verl", f"{_CRITIC}.update_critic", (f"{_CRITIC}._forward_micro_batch",), "start"),
                Variant("verl", f"{_TRAINING}.train_mini_batch", _FORWARDS, "start", applies=_micro_of_critic),
            ),
            _KNOWN, {"warmup": 0},
        ),
    )
}  # fmt: skip
