"""verl's keys and values that `rlcompare run` does not support, and the alternatives.

Such a key is accepted if its value has no effect in verl either. If it belongs to a component that does not exist here
(an inference engine, a data loader), verl's default is accepted too, so that a file written for verl works without
changes. Key names and these values: verl 0.5 to 0.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Same:
    """The value of another key."""

    key: str


@dataclass(frozen=True)
class Off:
    """Any value, as long as a switch is off."""

    switch: str


_IS_DYNAMIC = (
    "a micro batch has a fixed number of sequences: set ppo_micro_batch_size_per_gpu, log_prob_micro_batch_size_per_gpu"
)
_NO_CHECKPOINT = "a run saves and loads no checkpoints"
_NO_VALIDATION = "there is no validation"
_OWN_DATA = "prompts and rewards come from a small built-in task: set data.train_batch_size and data.max_*_length"

_TABLE: tuple[tuple[str, dict[str, tuple[object, ...]]], ...] = (
    # Keys of other versions.
    (
        "verl removed it: set algorithm.rollout_is_threshold to the same number, algorithm.rollout_is=true and "
        "actor_rollout_ref.rollout.calculate_log_probs=true",
        {"actor_rollout_ref.actor.tis_imp_ratio_cap": ()},
    ),
    (
        "set algorithm.rollout_is_threshold, rollout_is_level, rollout_is_mode and rollout_is_veto_threshold",
        {"algorithm.rollout_correction.*": (None, False)},
    ),
    ("verl 0.6 renamed it: set global_profiler.steps", {"trainer.profile_steps": (None,)}),
    (
        "verl 0.6 replaced it: set actor_rollout_ref.actor.profiler.tool_config.npu.*, which rollout and ref follow",
        {"trainer.npu_profile.*": (None,)},
    ),
    (
        "it is a setting of the tool: set profiler.tool_config.torch.discrete, npu.discrete or nsys.discrete",
        {"*.profiler.discrete": ()},
    ),
    (
        "verl 0.6 replaced it: set actor_rollout_ref.actor.profiler.*, which rollout and ref follow",
        {"actor_rollout_ref.profiler.*": ()},
    ),
    ("verl's name for it is profiler.tool_config.npu.level", {"*.tool_config.npu.profiler_level": ()}),
    ("Hydra does not run: put the values themselves into the file", {"defaults": (), "hydra": (), "hydra.*": ()}),
    # These come before patterns shared by many blocks.
    (
        "there is no reward model: the built-in task scores by rule",
        {
            "reward_model.enable": (False,),
            "reward_model.*": (Off("reward_model.enable"),),
            "reward.*": (None,),
            "custom_reward_function.path": (None,),
            "custom_reward_function.*": (Off("custom_reward_function.path"),),
        },
    ),
    # Batches.
    (
        "deprecated: set ppo_micro_batch_size_per_gpu instead",
        {"actor_rollout_ref.actor.ppo_micro_batch_size": (None,), "critic.ppo_micro_batch_size": (None,)},
    ),
    ("deprecated: set log_prob_micro_batch_size_per_gpu instead", {"*.log_prob_micro_batch_size": (None,)}),
    ("values are computed by critic.ppo_micro_batch_size_per_gpu", {"critic.forward_micro_batch_size*": (None,)}),
    (
        _IS_DYNAMIC,
        {
            "*.use_dynamic_bsz": (False,),
            "*.log_prob_use_dynamic_bsz": (False,),
            "critic.*_max_token_len_per_gpu": (32768,),
            "*_max_token_len_per_gpu": (16384,),
        },
    ),
    ("sequences are padded to one length", {"*.use_remove_padding": (False,)}),
    ("rows stay on their rank", {"trainer.balance_batch": (False,)}),
    (
        "batches of data.train_batch_size are generated until enough prompts are kept",
        {"data.gen_batch_size": (Same("data.train_batch_size"), None)},
    ),
    ("set actor_rollout_ref.rollout.n", {"critic.rollout_n": (Same("actor_rollout_ref.rollout.n"),)}),
    # Computation of the models.
    (
        "the step runs eagerly and on torch's own operators, so that a profile shows them by name",
        {
            "*.use_torch_compile": (False,),
            "*.use_fused_kernels": (False,),
            "*.use_liger": (False,),
            "*.fused_kernel_options.impl_backend": ("torch", None),
        },
    ),
    ("a sequence stays on one rank", {"*.ulysses_sequence_parallel_size": (1,)}),
    (
        "the entropy is computed in one piece",
        {"*.entropy_from_logits_with_chunking": (False,), "*.entropy_checkpointing": (False,)},
    ),
    ("weights and optimizer stay on the device", {"*_offload": (False,), "*.offload_policy": (False,)}),
    (
        "set actor_rollout_ref.actor.strategy",
        {
            "*.fsdp_config.strategy": (Same("actor_rollout_ref.actor.strategy"),),
            "*.ref.strategy": (Same("actor_rollout_ref.actor.strategy"),),
            "critic.strategy": (Same("actor_rollout_ref.actor.strategy"),),
        },
    ),
    (
        "set actor_rollout_ref.actor.fsdp_config.model_dtype",
        {
            "*.fsdp_config.model_dtype": (Same("actor_rollout_ref.actor.fsdp_config.model_dtype"), "fp32"),
            "*.fsdp_config.mixed_precision*": (None,),
        },
    ),
    (
        "models are sharded block by block over all ranks",
        {
            "*.fsdp_config.wrap_policy.*": (0, None),
            "*.fsdp_config.fsdp_size": (-1,),
            "*.fsdp_config.reshard_after_forward": (True,),
            "*.fsdp_config.*": (False,),
        },
    ),
    ("megatron is not supported: set actor_rollout_ref.actor.strategy=fsdp2", {"*.megatron*": ()}),
    # Optimizer and critic.
    ("set trainer.total_training_steps", {"*.optim.total_training_steps": (-1, None)}),
    ("set grad_clip of the actor or the critic", {"*.optim.clip_grad": (1.0,)}),
    (
        "the optimizer is AdamW with torch's defaults and a constant learning rate after warm-up: set lr, "
        "weight_decay, lr_warmup_steps or lr_warmup_steps_ratio",
        {
            "*.optim.betas": ([0.9, 0.999],),
            "*.optim.lr_scheduler_type": ("constant", None),
            "*.optim.warmup_style": ("constant", None),
            "*.optim.min_lr_ratio": (0.0, None),
            "*.optim.num_cycles": (0.5,),
            "*.optim.optimizer": ("AdamW",),
            "*.optim.optimizer_impl": ("torch.optim",),
        },
    ),
    ("there is a critic if and only if algorithm.adv_estimator=gae", {"critic.enable": (None,)}),
    (
        "the critic's loss is aggregated as the actor's: set actor_rollout_ref.actor.loss_agg_mode",
        {"critic.loss_agg_mode": (Same("actor_rollout_ref.actor.loss_agg_mode"),)},
    ),
    ("actor and critic are trained from the first step", {"trainer.critic_warmup": (0,)}),
    (
        "set actor_rollout_ref.model.enable_gradient_checkpointing",
        {
            "critic.model.enable_gradient_checkpointing": (
                Same("actor_rollout_ref.model.enable_gradient_checkpointing"),
            )
        },
    ),
    # Models.
    (
        "there is no LoRA",
        {"*.model.lora_rank": (0,), "*.model.lora_alpha": (16,), "*.model.target_modules": ("all-linear",)},
    ),
    (
        "the models are rlcompare's own decoder: set actor_rollout_ref.model.path",
        {
            "*.model.override_config*": ({},),
            "*.model.use_shm": (False,),
            "*.model.trust_remote_code": (False,),
            "*.freeze_vision_tower": (False,),
            "*.ref.model": (None,),
            "actor_rollout_ref.model.*": (None,),
            "critic.model.*": (None,),
        },
    ),
    # Rollout.
    (
        "vLLM and SGLang are not supported; use hf, rlcompare's own generation with a KV cache",
        {"*.rollout.name": ("hf",)},
    ),
    (
        "each rank generates for its own prompts: set trainer.n_gpus_per_node",
        {"*.rollout.*_parallel_size": (1,)},
    ),
    ("set data.max_prompt_length", {"*.rollout.prompt_length": (Same("data.max_prompt_length"),)}),
    ("set data.max_response_length", {"*.rollout.response_length": (Same("data.max_response_length"),)}),
    (
        "generation runs in the trainer's processes, without an engine",
        {
            "*.rollout.mode": ("sync",),
            "*.rollout.multi_turn.enable": (False,),
            "*.rollout.skip_rollout": (False,),
            "*.rollout.layered_summon": (False,),
            "*.rollout.multi_stage_wake_up": (False,),
            "*.rollout.over_sample_rate": (0,),
            "*.rollout.engine_kwargs*": ({},),
            "*.rollout.gpu_memory_utilization": (0.5,),
            "*.rollout.enforce_eager": (True, False),
            "*.rollout.cudagraph_capture_sizes": (None,),
            "*.rollout.free_cache_engine": (True,),
            "*.rollout.enable_chunked_prefill": (False, True),
            "*.rollout.enable_prefix_caching": (False, True),
            "*.rollout.max_num_batched_tokens": (8192,),
            "*.rollout.max_num_seqs": (1024,),
            "*.rollout.max_model_len": (None,),
            "*.rollout.load_format": ("dummy",),
            "*.rollout.disable_log_stats": (True,),
            "*.rollout.multi_turn.*": (Off("actor_rollout_ref.rollout.multi_turn.enable"),),
            "*.rollout.agent.*": (None, 8, "single_turn_agent"),
            "*.rollout.trace.*": (None, False),
            "*.rollout.skip_dump_dir": (Off("actor_rollout_ref.rollout.skip_rollout"),),
            "*.rollout.skip_tokenizer_init": (True,),
            "*.rollout.update_weights_bucket_megabytes": (512,),
        },
    ),
    # Data.
    (
        _NO_VALIDATION,
        {
            "data.val_*": (None,),
            "data.validation_shuffle": (False,),
            "*.rollout.val_kwargs.*": (Off("trainer.val_before_train"),),
            "trainer.val_before_train": (False,),
            "trainer.val_only": (False,),
            "trainer.test_freq": (-1,),
            "trainer.log_val_generations": (0,),
            "trainer.validation_data_dir": (None,),
        },
    ),
    (
        _OWN_DATA,
        {
            "data.train_files": (None,),
            "data.filter_overlong_prompts": (False,),
            "data.return_multi_modal_inputs": (False, True),
            "data.return_*": (False,),
            "data.use_shm": (False,),
            "data.trust_remote_code": (False,),
            "data.truncation": ("error",),
            "data.tokenizer": (None,),
            "data.*_key": (None, "prompt", "data_source", "images", "videos"),
            "data.custom_cls.*": (None,),
            "data.sampler.*": (None,),
            "data.datagen.*": (None,),
            "data.dataloader_num_workers": (0, 8),
            "data.filter_overlong_prompts_workers": (None, 1),
            "data.apply_chat_template_kwargs*": ({},),
            "data.*_max_samples": (-1,),
        },
    ),
    # Algorithm.
    (
        "it belongs to algorithm.kl_ctrl.type=adaptive, which is not supported",
        {"algorithm.kl_ctrl.horizon": (10000,), "algorithm.kl_ctrl.target_kl": (0.1,)},
    ),
    (
        "samples are not weighted by their reward",
        {"algorithm.use_pf_ppo": (False,), "algorithm.pf_ppo.reweight_method": ("pow",), "algorithm.pf_ppo.*": (2.0,)},
    ),
    # Trainer.
    (
        _NO_CHECKPOINT,
        {
            "*.checkpoint.save_contents": (["model", "optimizer", "extra"],),
            "*.checkpoint.load_contents": (["model", "optimizer", "extra"],),
            "*.checkpoint.*": (False,),
            "trainer.del_local_ckpt_after_load": (False,),
            "trainer.save_freq": (-1,),
            "trainer.esi_redundant_time": (0,),
            "trainer.resume_mode": ("disable", "auto"),
            "trainer.resume_from_path": (None, False),
            "trainer.max_*_ckpt_to_keep": (None,),
            "trainer.default_hdfs_dir": (None,),
        },
    ),
    ("name the run directory with -o", {"trainer.default_local_dir": (None,)}),
    ("responses are not kept", {"trainer.rollout_data_dir": (None,)}),
    ("the built-in task never ends: set trainer.total_training_steps", {"trainer.total_epochs": (None,)}),
    (
        "Ray is not used: rlcompare, or an outer torchrun, starts the processes with torch's launcher",
        {
            "trainer.use_legacy_worker_impl": ("auto",),
            "trainer.ray_*": (300,),
            "ray_init.*": (None,),
            "ray_kwargs.*": (None,),
        },
    ),
    ("actor and rollout share their processes", {"actor_rollout_ref.hybrid_engine": (True,)}),
    ("the process group has torch's own time limit", {"actor_rollout_ref.nccl_timeout": (600,)}),
    # Profiling.
    (
        "Nsight Systems has options of its own and is started around rlcompare: nsys profile rlcompare run …",
        {"*nsight_options*": ("cuda,nvtx,cublas,ucx", "true", "graph", "cudaProfilerApi", "none", None)},
    ),
    (
        "all frames of every allocation are recorded",
        {"*.torch_memory.context": ("all",), "*.torch_memory.stacks": ("all",), "*.torch_memory.kw_args*": ({},)},
    ),
)

_NO_FULL_KL = "full, the exact divergence over the vocabulary, is not supported"

NOT_OFFERED_VALUES: dict[tuple[str, object], str] = {
    ("actor_rollout_ref.actor.strategy", "megatron"): "megatron is not supported",
    ("actor_rollout_ref.actor.kl_loss_type", "full"): _NO_FULL_KL,
    ("algorithm.kl_penalty", "full"): _NO_FULL_KL,
    ("algorithm.kl_ctrl.type", "adaptive"): "adaptive is not supported",
    ("trainer.total_training_steps", None): "the built-in task never ends, so the number of steps must be set",
    ("actor_rollout_ref.rollout.temperature", 0): "for greedy decoding set actor_rollout_ref.rollout.do_sample=false",
}
"""Messages for unsupported values of supported keys."""


def not_offered(key: str) -> tuple[str, tuple[object, ...]] | None:
    """The entry for an unsupported key of verl; None if there is none.

    Returns:
        Why it is not supported and what to do, and the values that have no effect.
    """
    for reason, keys in _TABLE:
        for pattern, idle in keys.items():
            if fnmatchcase(key, pattern):
                return reason, idle
    return None
