"""The schema of a configuration: one frozen dataclass per block of verl's tree, with verl's keys as attribute names.

``defaults.yaml`` beside this file has every key's default and its description. ``typed.py`` checks types:
``Literal`` lists the choices, ``Within`` the range. Lists are tuples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal


@dataclass(frozen=True)
class Within:
    """The range of a number; ``low`` itself is excluded if ``above`` is set."""

    low: float
    high: float = math.inf
    above: bool = False

    def holds(self, value: float) -> bool:
        return (value > self.low if self.above else value >= self.low) and value <= self.high

    def __str__(self) -> str:
        if self.above:
            return f"above {self.low:g}" + (f" and at most {self.high:g}" if self.high < math.inf else "")
        return f"from {self.low:g} to {self.high:g}" if self.high < math.inf else f"of at least {self.low:g}"


Count = Annotated[int, Within(1)]
Ordinal = Annotated[int, Within(0)]
NotNegative = Annotated[float, Within(0)]
Positive = Annotated[float, Within(0, above=True)]
Share = Annotated[float, Within(0, 1)]

Tool = Literal["torch", "npu", "torch_memory", "nsys"]
Granularity = Literal["step", "decode_step", "mini_batch", "micro_batch"]
KLType = Literal["kl", "abs", "mse", "low_var_kl"]
LossAggMode = Literal["token-mean", "seq-mean-token-sum", "seq-mean-token-mean"]
LossMode = Literal["vanilla", "gspo", "gpg", "clip_cov", "kl_cov", "geo_mean"]


@dataclass(frozen=True)
class DataConfig:
    train_batch_size: Count
    max_prompt_length: Annotated[int, Within(3)]
    max_response_length: Count
    seed: Annotated[int, Within(0, 2**53)]
    shuffle: bool


@dataclass(frozen=True)
class ModelConfig:
    path: str
    enable_gradient_checkpointing: bool


@dataclass(frozen=True)
class PolicyLossConfig:
    loss_mode: LossMode
    clip_cov_ratio: Share
    clip_cov_lb: float
    clip_cov_ub: float
    kl_cov_ratio: Share
    ppo_kl_coef: NotNegative


@dataclass(frozen=True)
class OptimConfig:
    lr: NotNegative
    weight_decay: NotNegative
    lr_warmup_steps: Annotated[int, Within(-1)]
    lr_warmup_steps_ratio: Share


@dataclass(frozen=True)
class FSDPConfig:
    model_dtype: Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class NsysToolConfig:
    discrete: bool


@dataclass(frozen=True)
class NPUToolConfig:
    """verl's four keys, then torch_npu's ``_ExperimentalConfig`` by its own names (``level`` is its profiler_level).

    The last four are arguments of its profiler and of its handler, and calls of it.
    """

    contents: tuple[Literal["npu", "cpu", "memory", "shapes", "module", "stack"], ...]
    level: Literal["level_none", "level0", "level1", "level2"]
    analysis: bool
    discrete: bool
    export_type: tuple[Literal["text", "db"], ...]
    aic_metrics: (
        Literal[
            "PipeUtilization",
            "ArithmeticUtilization",
            "Memory",
            "MemoryL0",
            "MemoryUB",
            "ResourceConflictRatio",
            "L2Cache",
            "MemoryAccess",
            "AiCoreNone",
        ]
        | None
    )
    l2_cache: bool
    op_attr: bool
    data_simplification: bool
    record_op_args: bool
    gc_detect_threshold: NotNegative | None
    msprof_tx: bool
    mstx: bool
    mstx_domain_include: tuple[str, ...]
    mstx_domain_exclude: tuple[str, ...]
    host_sys: tuple[Literal["cpu", "mem", "disk", "network", "osrt", "numa"], ...]
    sys_io: bool
    sys_interconnection: bool
    export_stacks: Literal["self_cpu_time_total", "self_npu_time_total"] | None
    export_memory_timeline: bool
    with_flops: bool
    worker_name: str | None


@dataclass(frozen=True)
class TorchToolConfig:
    contents: tuple[Literal["cpu", "cuda", "memory", "shapes", "module", "stack"], ...]
    discrete: bool
    step_start: Ordinal
    step_end: Count | None


@dataclass(frozen=True)
class TorchMemoryToolConfig:
    trace_alloc_max_entries: Count
    stack_depth: Count


@dataclass(frozen=True)
class ToolConfig:
    nsys: NsysToolConfig
    npu: NPUToolConfig
    torch: TorchToolConfig
    torch_memory: TorchMemoryToolConfig


@dataclass(frozen=True)
class ScheduleConfig:
    """Critical path sampling; ``granularity`` None: everything is recorded."""

    granularity: Granularity | None
    skip_first: Ordinal
    wait: Ordinal
    warmup: Ordinal
    active: Count
    repeat: Ordinal


@dataclass(frozen=True)
class ProfilerConfig:
    tool: Tool | None
    enable: bool
    all_ranks: bool
    ranks: tuple[Ordinal, ...]
    save_path: str | None
    tool_config: ToolConfig
    schedule: ScheduleConfig

    def includes(self, rank: int) -> bool:
        """Whether this role is profiled on a rank."""
        return self.enable and (self.all_ranks or rank in self.ranks)


@dataclass(frozen=True)
class ActorConfig:
    strategy: Literal["fsdp", "fsdp2"]
    ppo_mini_batch_size: Count
    ppo_micro_batch_size_per_gpu: Count
    ppo_epochs: Count
    shuffle: bool
    clip_ratio: NotNegative
    clip_ratio_low: Share
    clip_ratio_high: NotNegative
    clip_ratio_c: Annotated[float, Within(1, above=True)]
    loss_agg_mode: LossAggMode
    entropy_coeff: float
    use_kl_loss: bool
    kl_loss_coef: NotNegative
    kl_loss_type: KLType
    grad_clip: Positive
    policy_loss: PolicyLossConfig
    optim: OptimConfig
    fsdp_config: FSDPConfig
    profiler: ProfilerConfig


@dataclass(frozen=True)
class RefConfig:
    log_prob_micro_batch_size_per_gpu: Count
    profiler: ProfilerConfig


@dataclass(frozen=True)
class RolloutConfig:
    n: Count
    temperature: Positive
    top_k: Annotated[int, Within(-1)]
    top_p: Annotated[float, Within(0, 1, above=True)]
    do_sample: bool
    ignore_eos: bool
    dtype: Literal["bfloat16", "float16", "float32"]
    calculate_log_probs: bool
    log_prob_micro_batch_size_per_gpu: Count
    profiler: ProfilerConfig


@dataclass(frozen=True)
class ActorRolloutRefConfig:
    model: ModelConfig
    actor: ActorConfig
    ref: RefConfig
    rollout: RolloutConfig


@dataclass(frozen=True)
class CriticConfig:
    """Has an effect with ``algorithm.adv_estimator=gae`` only."""

    ppo_mini_batch_size: Count
    ppo_micro_batch_size_per_gpu: Count
    ppo_epochs: Count
    shuffle: bool
    cliprange_value: Positive
    grad_clip: Positive
    optim: OptimConfig
    profiler: ProfilerConfig


@dataclass(frozen=True)
class KLControlConfig:
    type: Literal["fixed"]
    kl_coef: NotNegative


@dataclass(frozen=True)
class FilterGroupsConfig:
    enable: bool
    metric: Literal["acc", "score", "seq_reward"]
    max_num_gen_batches: Ordinal


@dataclass(frozen=True)
class AlgorithmConfig:
    adv_estimator: Literal["grpo", "gae"]
    gamma: Share
    lam: Share
    norm_adv_by_std_in_grpo: bool
    use_kl_in_reward: bool
    kl_penalty: KLType
    kl_ctrl: KLControlConfig
    filter_groups: FilterGroupsConfig
    rollout_is_threshold: Positive | None
    rollout_is: bool
    rollout_is_threshold_lower: Positive | None
    rollout_is_level: Literal["token", "sequence", "geometric"]
    rollout_is_mode: Literal["truncate", "clip"]
    rollout_is_veto_threshold: Positive | None


@dataclass(frozen=True)
class TrainerConfig:
    n_gpus_per_node: Count
    nnodes: Count
    device: Literal["npu", "cuda", "cpu"] | None
    total_training_steps: Count
    warmup_steps: Ordinal
    project_name: str
    experiment_name: str
    logger: tuple[Literal["console", "file"], ...]

    @property
    def world_size(self) -> int:
        """The number of ranks that train: one per GPU or NPU of every node."""
        return self.n_gpus_per_node * self.nnodes


@dataclass(frozen=True)
class GlobalToolConfig:
    nsys: NsysToolConfig
    torch_memory: TorchMemoryToolConfig


@dataclass(frozen=True)
class GlobalProfilerConfig:
    tool: Tool | None
    steps: tuple[Count, ...] | None
    profile_continuous_steps: bool
    save_path: str | None
    global_tool_config: GlobalToolConfig


@dataclass(frozen=True)
class Config:
    data: DataConfig
    actor_rollout_ref: ActorRolloutRefConfig
    critic: CriticConfig
    algorithm: AlgorithmConfig
    trainer: TrainerConfig
    global_profiler: GlobalProfilerConfig

    @property
    def profilers(self) -> dict[str, ProfilerConfig]:
        """Each role's profiler, by the role."""
        actor_rollout_ref = self.actor_rollout_ref
        return {
            "actor": actor_rollout_ref.actor.profiler,
            "rollout": actor_rollout_ref.rollout.profiler,
            "ref": actor_rollout_ref.ref.profiler,
            "critic": self.critic.profiler,
        }
