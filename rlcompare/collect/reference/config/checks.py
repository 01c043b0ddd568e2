"""Checks for invalid combinations of values, and explains them with their numbers."""

from __future__ import annotations

from collections.abc import Iterator

from rlcompare.collect.reference.config.same import ROLE_PROFILERS
from rlcompare.collect.reference.config.schema import ActorConfig, Config, CriticConfig, ProfilerConfig, ScheduleConfig

_ACTOR = "actor_rollout_ref.actor"
_ROLLOUT = "actor_rollout_ref.rollout"


def impossible(config: Config) -> Iterator[str]:
    """The problems of a configuration whose values each have the right type and range, one line each."""
    yield from _batches(config, _ACTOR, config.actor_rollout_ref.actor)
    if config.algorithm.adv_estimator == "gae":
        yield from _batches(config, "critic", config.critic)
    yield from _prompts(config)
    yield from _importance_sampling(config)
    yield from _losses(config)
    yield from _steps(config)
    for key in ROLE_PROFILERS:
        yield from _profiler(config, key, config.profilers[key.split(".")[-2]])


def _batches(config: Config, key: str, trained: ActorConfig | CriticConfig) -> Iterator[str]:
    prompts, mini, n = config.data.train_batch_size, trained.ppo_mini_batch_size, config.actor_rollout_ref.rollout.n
    if prompts % mini:
        yield (
            f"{key}.ppo_mini_batch_size: data.train_batch_size={prompts} prompts cannot be split into mini batches of "
            f"{mini}; take a divisor of {prompts}"
        )
    ranks = config.trainer.world_size
    if mini * n % ranks:
        yield (
            f"{key}.ppo_mini_batch_size: {mini} prompts × {_ROLLOUT}.n={n} are {mini * n} sequences, which "
            f"{ranks} ranks (trainer.n_gpus_per_node × nnodes) cannot share evenly"
        )


def _prompts(config: Config) -> Iterator[str]:
    if not config.data.shuffle:
        yield "data.shuffle: false is not supported: the built-in task has no order, prompts are drawn from data.seed"
    prompts, ranks = config.data.train_batch_size, config.trainer.world_size
    if prompts % ranks:
        yield (
            f"data.train_batch_size: {prompts} prompts cannot be shared evenly by {ranks} ranks "
            "(trainer.n_gpus_per_node × nnodes)"
        )
    rollout = config.actor_rollout_ref.rollout
    if config.algorithm.filter_groups.enable and (rollout.n == 1 or not rollout.do_sample):
        what = f"{_ROLLOUT}.n=1" if rollout.n == 1 else f"{_ROLLOUT}.do_sample=false"
        yield (
            f"algorithm.filter_groups.enable: with {what} the responses to a prompt always score the same, so every "
            "prompt would be dropped"
        )


def _importance_sampling(config: Config) -> Iterator[str]:
    algorithm = config.algorithm
    upper, lower = algorithm.rollout_is_threshold, algorithm.rollout_is_threshold_lower
    if upper is None:
        return
    if not config.actor_rollout_ref.rollout.calculate_log_probs:
        yield (
            f"algorithm.rollout_is_threshold: {upper:g} needs {_ROLLOUT}.calculate_log_probs=true; set "
            "algorithm.rollout_is_threshold=null for no importance sampling"
        )
    if lower is not None and lower >= upper:
        yield (
            f"algorithm.rollout_is_threshold_lower: {lower:g} must be less than "
            f"algorithm.rollout_is_threshold={upper:g}; null means 1/{upper:g}"
        )
    if lower is None and upper <= 1:
        yield f"algorithm.rollout_is_threshold: {upper:g} must be above 1, because the lower bound is 1/{upper:g}"


def _losses(config: Config) -> Iterator[str]:
    loss = config.actor_rollout_ref.actor.policy_loss
    if loss.clip_cov_lb > loss.clip_cov_ub:
        key = f"{_ACTOR}.policy_loss.clip_cov_lb"
        yield f"{key}: {loss.clip_cov_lb:g} is above clip_cov_ub={loss.clip_cov_ub:g}"


def _steps(config: Config) -> Iterator[str]:
    total = config.trainer.total_training_steps
    late = [step for step in config.global_profiler.steps or () if step > total]
    if late:
        yield f"global_profiler.steps: there is no step {late[0]}; trainer.total_training_steps is {total}"
    if config.trainer.warmup_steps > total:
        yield f"trainer.warmup_steps: {config.trainer.warmup_steps} is more than trainer.total_training_steps={total}"


def _profiler(config: Config, key: str, profiler: ProfilerConfig) -> Iterator[str]:
    ranks = config.trainer.world_size
    beyond = [rank for rank in profiler.ranks if rank >= ranks]
    if beyond:
        yield f"{key}.ranks: there is no rank {beyond[0]}, the {ranks} of trainer.n_gpus_per_node × nnodes count from 0"
    if profiler.enable and config.global_profiler.steps and not profiler.all_ranks and not profiler.ranks:
        yield f"{key}.enable: no rank is set, so nothing would be collected; set {key}.all_ranks=true or ranks=[0]"
    npu = profiler.tool_config.npu
    if not npu.export_type:
        yield f"{key}.tool_config.npu.export_type: choose db, text or both"
    if npu.mstx_domain_include and npu.mstx_domain_exclude:
        yield f"{key}.tool_config.npu.mstx_domain_include: use either it or mstx_domain_exclude, not both"
    granularity, steps = profiler.schedule.granularity, config.global_profiler.steps
    if profiler.enable and granularity is not None and (steps is None or (not steps and granularity != "step")):
        yield (
            f"{key}.schedule.granularity: {granularity} never starts if global_profiler.steps is empty; set "
            f"global_profiler.steps=[{config.trainer.total_training_steps}], or {key}.schedule.granularity=null"
        )
    yield from _schedule(f"{key}.schedule", profiler.schedule)


def _schedule(key: str, schedule: ScheduleConfig) -> Iterator[str]:
    if schedule.granularity is not None:
        return
    for name, idle in {"skip_first": 0, "wait": 0, "warmup": 1, "active": 1, "repeat": 1}.items():
        value = getattr(schedule, name)
        if value != idle:
            yield (
                f"{key}.{name}: {value} does nothing without {key}.granularity; set that to step, decode_step, "
                "mini_batch or micro_batch"
            )
