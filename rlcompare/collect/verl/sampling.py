"""Probes in a verl job (``rlcompare.collect.probe``): a few decode steps, mini batches or micro batches of a phase.

They replace verl's own profiler, because a process can have only one at a time.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rlcompare.collect.verl.ask import Installed
from rlcompare.collect.verl.keys import keys_of, profiled_steps, roles_of
from rlcompare.errors import UsageError

VARIABLE = "RLCOMPARE_PROBE"
_ENGINE = "actor_rollout_ref.rollout.name"


@dataclass(frozen=True)
class _Need:
    """Requirements of a preset: the backend of its role, or an engine."""

    megatron: bool | None = None
    engine: str | None = None
    instead: str = ""
    role: str | None = None
    strategy: str = "actor_rollout_ref.actor.strategy"


_OF_CRITIC = "critic.strategy"
_MICRO = "megatron-update-mini: Megatron runs the micro batches itself, so only whole mini batches can be sampled"
_PRESETS: Mapping[str, _Need] = {
    "vllm-decode": _Need(engine="vllm", instead="sglang-decode"),
    "sglang-decode": _Need(engine="sglang", instead="vllm-decode"),
    "actor-log-prob": _Need(megatron=False, instead=_MICRO),
    "ref-log-prob": _Need(megatron=False, instead=_MICRO, role="ref"),
    "update-mini": _Need(megatron=False, instead="megatron-update-mini"),
    "update-micro": _Need(megatron=False, instead=_MICRO),
    "megatron-update-mini": _Need(megatron=True, instead="update-mini or update-micro"),
    "critic-values": _Need(megatron=False, instead="critic-update-mini", role="critic", strategy=_OF_CRITIC),
    "critic-update-mini": _Need(role="critic"),
    "critic-update-micro": _Need(megatron=False, instead="critic-update-mini", role="critic", strategy=_OF_CRITIC),
}
_ROLES = {
    "ref": "reference policy (actor.use_kl_loss, algorithm.use_kl_in_reward)",
    "critic": "critic (algorithm.adv_estimator=gae, critic.enable)",
}
_BACKENDS_OF_MEGATRON = ("megatron", "mindspeed")


def refuse_probes(installed: Installed, probes: Sequence[str], tool: str) -> None:
    """Refuses probes that would record nothing in this job.

    Args:
        tool: the tool if a probe names none.

    Raises:
        UsageError: one of them would record nothing; the message suggests alternatives.
    """
    for probe in probes:
        for problem in _problems(installed, probe, tool):
            raise UsageError(f"--probe {probe}: {problem}")


def _problems(installed: Installed, probe: str, tool: str) -> Iterator[str]:
    words = _words(probe)
    name = next((word for word in words if "=" not in word), None)
    if name is not None and name not in _PRESETS:
        yield f"there is no {name}: choose one of {', '.join(_PRESETS)}, or set tick="
    yield from _misunderstood(name, words, tool)
    steps = keys_of(installed).steps
    if profiled_steps(installed):
        yield f"verl's profiler is switched on too ({steps}), and a process can have only one profiler: remove {steps}"
    if "rlcompare" not in installed.versions:
        yield "the job's interpreter does not have rlcompare, which the workers need: pip install rlcompare there"
    need = _PRESETS.get(name or "", _Need())
    strategy, owner = str(installed.value(need.strategy)), "critic" if need.role == "critic" else "actor"
    if need.megatron is not None and need.megatron != strategy.startswith(_BACKENDS_OF_MEGATRON):
        yield f"the {owner}'s backend is {strategy}: use {need.instead}"
    if need.engine is not None:
        yield from _of_engine(installed.value(_ENGINE), need)
    if need.role is not None and need.role not in roles_of(installed):
        yield f"the job has no {_ROLES[need.role]}"


def _misunderstood(name: str | None, words: Sequence[str], tool: str) -> Iterator[str]:
    """Errors that the workers would report about the probe's own options."""
    from rlcompare.collect.probe.request import request_of
    from rlcompare.collect.probe.settings import check

    try:
        check(
            request_of(name, {"output": "/", "tool": tool, **dict(word.split("=", 1) for word in words if "=" in word)})
        )
    except (UsageError, ValueError) as error:  # ValueError: a number too long for Python
        yield str(error)


def _of_engine(engine: object, need: _Need) -> Iterator[str]:
    engines = sorted(preset.engine for preset in _PRESETS.values() if preset.engine is not None)
    if engine is None:
        yield f"{_ENGINE} is not set, so the rollout engine of the job is unknown: set {_ENGINE}={need.engine}"
    elif engine not in engines:
        yield f"the job generates with {engine}, but presets support only {' and '.join(engines)}: set scope= and tick="
    elif engine != need.engine:
        yield f"the job generates with {engine}: use {need.instead}"


def variable_of(probes: Sequence[str], output: Path, tool: str | None) -> str:
    """The value of RLCOMPARE_PROBE: all probes, recording into one folder."""
    texts = []
    for probe in probes:
        words = _words(probe)
        added = {"output": str(output), "tool": tool}
        words += [f"{key}={value}" for key, value in added.items() if value and not _has(words, key)]
        texts.append(shlex.join(words))
    return "; ".join(texts)


def outputs_of(probes: Sequence[str]) -> list[Path]:
    """The folders that probes name themselves."""
    texts = [word.removeprefix("output=") for probe in probes for word in _words(probe) if word.startswith("output=/")]
    return [Path(text) for text in dict.fromkeys(texts)]


def steps_of(probes: Sequence[str]) -> list[int]:
    """The training steps that probes record; the first by default."""
    found: set[int] = set()
    for probe in probes:
        text = next((word.removeprefix("steps=") for word in _words(probe) if word.startswith("steps=")), "1")
        found |= {int(part) for part in text.strip("[]").split(",") if re.fullmatch(r"\s*\d{1,9}\s*", part)}
    return sorted(found) or [1]


def decode_probes(probes: Sequence[str]) -> list[str]:
    """The presets among probes that record decode steps."""
    names = [word for probe in probes for word in _words(probe) if "=" not in word]
    return [name for name in dict.fromkeys(names) if _PRESETS.get(name, _Need()).engine is not None]


def _words(probe: str) -> list[str]:
    try:
        words = shlex.split(probe)
    except ValueError as error:
        raise UsageError(f"--probe {probe}: {error}") from error
    if not words or ";" in probe:
        raise UsageError(
            f"--probe {probe!r}: give one probe, such as 'vllm-decode skip_first=30 active=3'; repeat --probe"
        )
    return words


def _has(words: Sequence[str], key: str) -> bool:
    return any(word.startswith(f"{key}=") for word in words)
