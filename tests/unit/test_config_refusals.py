"""The configuration of a run: everything that is refused is refused by name, with a way out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rlcompare.collect.reference.config import load_config
from rlcompare.collect.reference.config.refused import nearest
from rlcompare.collect.reference.config.typed import leaves
from rlcompare.errors import ExitCode, UsageError

ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
NPU = f"{ACTOR}.profiler.tool_config.npu"


def refusal(*overrides: str, file: Path | None = None) -> str:
    with pytest.raises(UsageError) as refused:
        load_config(overrides, file)
    assert refused.value.exit_code == ExitCode.USAGE
    return str(refused.value)


@pytest.mark.parametrize(
    ("override", "meant"),
    [
        (f"{ACTOR}.ppo_epoch=2", f"{ACTOR}.ppo_epochs"),
        ("actor.ppo_epochs=2", f"{ACTOR}.ppo_epochs"),
        ("algorithm.kl_loss_coef=1", f"{ACTOR}.kl_loss_coef"),
        ("data.train_batchsize=8", "data.train_batch_size"),
        ("trainer.n_gpu_per_node=2", "trainer.n_gpus_per_node"),
        ("rollout.n=2", f"{ROLLOUT}.n"),
        ("global_profile.steps=[1]", "global_profiler.steps"),
        (f"{ACTOR}.policy_loss.mode=gspo", f"{ACTOR}.policy_loss.loss_mode"),
        (f"{NPU}.gc_detect_treshold=1", f"{NPU}.gc_detect_threshold"),
        ("+algorithm.rollout_is_treshold=2", "algorithm.rollout_is_threshold"),
    ],
)
def test_an_unknown_key_is_refused_with_the_one_that_was_meant(override: str, meant: str) -> None:
    key = override.lstrip("+").partition("=")[0]
    assert refusal(override).endswith(f"{key}: there is no such key; the nearest is {meant}")


def test_where_nothing_is_near_the_keys_beside_it_are_named() -> None:
    assert "data has train_batch_size, max_prompt_length" in refusal("data.qqqq=1")
    assert "the configuration has data, actor_rollout_ref, critic" in refusal("zzzz.qqqq=1")


@pytest.mark.parametrize(
    ("override", "says"),
    [
        (f"{ACTOR}.use_dynamic_bsz=true", "ppo_micro_batch_size_per_gpu"),
        (f"{ROLLOUT}.log_prob_use_dynamic_bsz=True", "log_prob_micro_batch_size_per_gpu"),
        (f"{ACTOR}.ppo_max_token_len_per_gpu=4096", "only 16384"),
        (f"{ACTOR}.use_torch_compile=true", "the step runs eagerly"),
        (f"{ACTOR}.use_fused_kernels=true", "the step runs eagerly"),
        ("actor_rollout_ref.model.use_fused_kernels=true", "the step runs eagerly"),
        (f"{ACTOR}.checkpoint.save_contents=[model]", "saves and loads no checkpoints"),
        (f"{ACTOR}.checkpoint.async_save=true", "saves and loads no checkpoints"),
        ("trainer.save_freq=20", "saves and loads no checkpoints"),
        ("trainer.test_freq=5", "there is no validation"),
        (f"{ACTOR}.ppo_micro_batch_size=8", "deprecated: set ppo_micro_batch_size_per_gpu"),
        ("critic.ppo_micro_batch_size=8", "deprecated: set ppo_micro_batch_size_per_gpu"),
        (f"{ROLLOUT}.log_prob_micro_batch_size=8", "deprecated: set log_prob_micro_batch_size_per_gpu"),
        (f"{ROLLOUT}.name=vllm", "hf, rlcompare's own generation"),
        (f"{ROLLOUT}.name=sglang", "hf, rlcompare's own generation"),
        (f"{ROLLOUT}.tensor_model_parallel_size=2", "only 1"),
        (f"{ROLLOUT}.gpu_memory_utilization=0.6", "without an engine"),
        ("data.train_files=/data/train.parquet", "built-in task"),
        ("data.truncation=left", "built-in task"),
        (f"{ACTOR}.fsdp_config.param_offload=true", "stay on the device"),
        (f"{ACTOR}.fsdp_config.fsdp_size=2", "only -1"),
        (f"{ACTOR}.megatron.tensor_model_parallel_size=2", "strategy=fsdp2"),
        (f"{ACTOR}.optim.warmup_style=cosine", "constant learning rate after warm-up"),
        ("critic.shuffel=true", "nearest is critic.shuffle"),
        ("reward_model.enable=true", "there is no reward model"),
        ("trainer.total_epochs=15", "set trainer.total_training_steps"),
        ("trainer.resume_mode=resume_path", "saves and loads no checkpoints"),
        ("trainer.critic_warmup=5", "from the first step"),
        ("trainer.profile_steps=[2,4]", "set global_profiler.steps"),
        ("trainer.npu_profile.options.level=level1", f"{NPU}.*"),
        ("actor_rollout_ref.profiler.discrete=true", "npu.discrete"),
        ("actor_rollout_ref.profiler.all_ranks=true", f"{ACTOR}.profiler.*"),
        (f"{NPU}.profiler_level=level0", "profiler.tool_config.npu.level"),
        ("algorithm.rollout_correction.rollout_is=token", "algorithm.rollout_is_threshold"),
        ("global_profiler.global_tool_config.nsys.worker_nsight_options.kill=sigterm", "nsys profile"),
        (f"{ROLLOUT}.multi_turn.enable=true", "without an engine"),
        ("ray_init.num_cpus=4", "Ray is not used"),
    ],
)
def test_a_key_of_verls_that_is_not_offered_is_refused_by_name_and_reason(override: str, says: str) -> None:
    message = refusal(override)
    assert f"{override.partition('=')[0]}: " in message
    assert says in message


@pytest.mark.parametrize("value", ["2.0", "-1", "null", "5"])
def test_the_removed_cap_is_refused_with_the_migration(value: str) -> None:
    message = refusal(f"{ACTOR}.tis_imp_ratio_cap={value}")
    assert f"{ACTOR}.tis_imp_ratio_cap: {value} is not supported" in message
    for part in ("algorithm.rollout_is_threshold", "algorithm.rollout_is=true", f"{ROLLOUT}.calculate_log_probs=true"):
        assert part in message


@pytest.mark.parametrize(
    "override",
    [
        f"{ACTOR}.use_dynamic_bsz=false",
        f"{ACTOR}.use_torch_compile=False",
        f"{ACTOR}.use_fused_kernels=false",
        f"{ACTOR}.ppo_micro_batch_size=null",
        f"{ACTOR}.fsdp_config.param_offload=False",
        f"{ACTOR}.fsdp_config.optimizer_offload=False",
        f"{ACTOR}.ulysses_sequence_parallel_size=1",
        "actor_rollout_ref.model.use_remove_padding=False",
        "actor_rollout_ref.hybrid_engine=True",
        "actor_rollout_ref.ref.fsdp_config.param_offload=False",
        f"{ROLLOUT}.name=hf",
        f"{ROLLOUT}.tensor_model_parallel_size=1",
        f"{ROLLOUT}.response_length=32",
        "critic.strategy=fsdp2",
        "trainer.save_freq=-1",
        "trainer.test_freq=-1",
        "trainer.critic_warmup=0",
        "trainer.val_before_train=False",
        "trainer.profile_steps=null",
        "reward_model.enable=False",
        "reward_model.micro_batch_size_per_gpu=4",
        f"{ROLLOUT}.val_kwargs.temperature=0.6",
        "critic.ppo_epochs=2",
    ],
)
def test_what_is_switched_off_anyway_is_accepted(override: str) -> None:
    load_config([override])


def test_the_keys_of_a_switch_are_refused_only_with_it() -> None:
    load_config(["reward_model.max_length=64"])
    message = refusal("reward_model.enable=true", "reward_model.max_length=64")
    assert "reward_model.enable: true is not supported" in message
    assert "reward_model.max_length: 64 is not supported: there is no reward model" in message


def test_a_key_that_repeats_another_must_agree_with_it() -> None:
    assert "only 32: set data.max_response_length" in refusal(f"{ROLLOUT}.response_length=64")
    load_config(["data.max_response_length=64", f"{ROLLOUT}.response_length=64"])


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("data.train_batch_size=many", 'data.train_batch_size: expected an integer of at least 1, not "many"'),
        ("data.train_batch_size=8.5", "data.train_batch_size: expected an integer of at least 1, not 8.5"),
        ("data.train_batch_size=true", "data.train_batch_size: expected an integer of at least 1, not true"),
        ("data.train_batch_size=0", "data.train_batch_size: expected an integer of at least 1, not 0"),
        ("data.train_batch_size=null", "data.train_batch_size: expected an integer of at least 1, not null"),
        ("data.train_batch_size=[8]", "data.train_batch_size: expected an integer of at least 1, not [8]"),
        ("data.train_batch_size.x=8", "data.train_batch_size: expected an integer of at least 1, not a block"),
        ("data=8", "data: expected a block with the keys train_batch_size,"),
        ("critic=null", "critic: expected a block with the keys ppo_mini_batch_size,"),
        (f"{ACTOR}.use_kl_loss=1", "use_kl_loss: expected true or false, not 1"),
        (f"{ACTOR}.use_kl_loss=ja", 'use_kl_loss: expected true or false, not "ja"'),
        (f"{ACTOR}.grad_clip=0", "grad_clip: expected a number above 0, not 0"),
        (f"{ACTOR}.grad_clip=.nan", "grad_clip: expected a number above 0, not nan"),
        (f"{ACTOR}.grad_clip=.inf", "grad_clip: expected a number above 0, not inf"),
        (f"{ACTOR}.clip_ratio_low=1.5", "clip_ratio_low: expected a number from 0 to 1, not 1.5"),
        (f"{ACTOR}.clip_ratio_c=1", "clip_ratio_c: expected a number above 1, not 1"),
        (f"{ROLLOUT}.top_p=0", "top_p: expected a number above 0 and at most 1, not 0"),
        (f"{ROLLOUT}.temperature=0", "do_sample=false"),
        (f"{ACTOR}.strategy=megatron", 'expected one of fsdp, fsdp2, not "megatron"; megatron is not supported'),
        (f"{ACTOR}.strategy=fdsp2", "nearest: fsdp2"),
        (f"{ACTOR}.kl_loss_type=full", "full, the exact divergence over the vocabulary, is not supported"),
        ("algorithm.kl_penalty=full", "full, the exact divergence over the vocabulary, is not supported"),
        ("algorithm.kl_ctrl.type=adaptive", "expected fixed"),
        ("algorithm.adv_estimator=rloo", 'algorithm.adv_estimator: expected one of grpo, gae, not "rloo"'),
        (f"{ACTOR}.policy_loss.loss_mode=gpso", "nearest: gspo"),
        (f"{ACTOR}.loss_agg_mode=token-sum", "nearest: "),
        ("algorithm.rollout_is_level=row", "expected one of token, sequence, geometric"),
        ("algorithm.rollout_is_mode=tis", "expected one of truncate, clip"),
        ("algorithm.rollout_is_threshold=-1", "expected a number above 0, or null, not -1"),
        (
            "global_profiler.steps=2",
            "global_profiler.steps: expected a list, each item an integer of at least 1, or null",
        ),
        ("global_profiler.steps=[0]", "global_profiler.steps: expected a list, each item an integer of at least 1"),
        ("global_profiler.tool=nvtx", "global_profiler.tool: expected one of torch, npu, torch_memory, nsys, or null"),
        (f"{NPU}.level=Level1", "expected one of level_none, level0, level1, level2"),
        (f"{NPU}.contents=[cuda]", "expected a list out of npu, cpu, memory, shapes, module, stack"),
        (f"{NPU}.contents=npu", "expected a list out of npu"),
        (f"{NPU}.aic_metrics=PipeUtilisation", "nearest: PipeUtilization"),
        (f"{NPU}.export_type=[]", "choose db, text or both"),
        (f"{ACTOR}.profiler.ranks=0", "ranks: expected a list, each item an integer of at least 0"),
        (
            f"{ROLLOUT}.profiler.schedule.granularity=token",
            "expected one of step, decode_step, mini_batch, micro_batch",
        ),
        (f"{ROLLOUT}.profiler.schedule.active=0", "expected an integer of at least 1"),
        ("trainer.logger=[console,wandb]", "expected a list out of console, file"),
        ("trainer.device=gpu", "expected one of npu, cuda, cpu"),
        ("trainer.total_training_steps=null", "the number of steps must be set"),
        ("trainer.experiment_name=${data.sead}", "data.sead"),
        ("trainer.experiment_name=${", "trainer.experiment_name"),
    ],
)
def test_a_wrong_value_is_refused_by_key_with_what_was_expected(override: str, says: str) -> None:
    message = refusal(override)
    assert says in message
    assert override.partition("=")[0].rpartition(".")[2] in message or "data.train_batch_size" in message


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (["data.train_batch_size=6"], "data.train_batch_size=6 prompts cannot be split into mini batches of 4"),
        (
            [f"{ACTOR}.ppo_mini_batch_size=16"],
            "data.train_batch_size=8 prompts cannot be split into mini batches of 16",
        ),
        (
            ["trainer.n_gpus_per_node=8", f"{ACTOR}.ppo_mini_batch_size=2", f"{ROLLOUT}.n=3"],
            f"2 prompts × {ROLLOUT}.n=3 are 6 sequences, which 8 ranks",
        ),
        (["trainer.n_gpus_per_node=16"], "8 prompts cannot be shared evenly by 16 ranks"),
        (
            ["algorithm.adv_estimator=gae", "critic.ppo_mini_batch_size=3"],
            "critic.ppo_mini_batch_size: data.train_batch_size=8 prompts cannot be split into mini batches of 3",
        ),
        ([f"{ROLLOUT}.calculate_log_probs=false"], "algorithm.rollout_is_threshold: 2 needs"),
        (["algorithm.rollout_is_threshold_lower=3"], "rollout_is_threshold_lower: 3 must be less than"),
        (["algorithm.rollout_is_threshold=0.5"], "0.5 must be above 1"),
        ([f"{ACTOR}.policy_loss.clip_cov_lb=6"], "6 is above clip_cov_ub=5"),
        ([f"{ACTOR}.profiler.ranks=[0,2]", "trainer.n_gpus_per_node=2"], f"{ACTOR}.profiler.ranks: there is no rank 2"),
        (["global_profiler.steps=[2,13]"], "there is no step 13; trainer.total_training_steps is 12"),
        (["data.shuffle=false"], "data.shuffle: false is not supported"),
        (["trainer.warmup_steps=13"], "trainer.warmup_steps: 13 is more than trainer.total_training_steps=12"),
        ([f"{ACTOR}.profiler.all_ranks=false"], f"{ACTOR}.profiler.enable: no rank is set"),
        ([f"{ROLLOUT}.n=1", "algorithm.filter_groups.enable=true"], "every prompt would be dropped"),
        ([f"{ROLLOUT}.do_sample=false", "algorithm.adv_estimator=dapo"], "every prompt would be dropped"),
        ([f"{NPU}.mstx_domain_include=[a]", f"{NPU}.mstx_domain_exclude=[b]"], "not both"),
        (
            [f"{ROLLOUT}.profiler.schedule.granularity=decode_step", "global_profiler.steps=null"],
            f"{ROLLOUT}.profiler.schedule.granularity: decode_step never starts",
        ),
        (["data.max_response_length=1" + "0" * 400], "data.max_response_length: it is too large for any run"),
        ([f"{ROLLOUT}.profiler.schedule.active=3"], f"without {ROLLOUT}.profiler.schedule.granularity"),
    ],
)
def test_an_impossible_combination_is_refused_with_its_numbers(overrides: list[str], says: str) -> None:
    assert says in refusal(*overrides)


@pytest.mark.parametrize(
    "overrides",
    [
        ["critic.ppo_mini_batch_size=3"],
        [f"{ROLLOUT}.calculate_log_probs=false", "algorithm.rollout_is_threshold=null"],
        [f"{ACTOR}.profiler.all_ranks=false", "global_profiler.steps=null"],
        ["algorithm.rollout_is_threshold=0.5", "algorithm.rollout_is_threshold_lower=0.1"],
        ["trainer.n_gpus_per_node=2", f"{ROLLOUT}.n=1", f"{ACTOR}.ppo_mini_batch_size=2"],
    ],
)
def test_what_looks_like_one_of_them_and_is_possible_is_accepted(overrides: list[str]) -> None:
    load_config(overrides)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(UsageError, match="for 3 reasons") as refused:
        load_config(["data.sead=1", f"{ACTOR}.use_dynamic_bsz=true", "global_profiler.steps=[40]"])
    assert len(refused.value.reasons) == 3
    assert "there is no step 40" in refused.value.reasons[2]


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("data.seed", "'data.seed' is not KEY=VALUE"),
        ("=3", "is not KEY=VALUE"),
        ("data..seed=3", "is not KEY=VALUE"),
        ("data[seed]=3", "is not KEY=VALUE"),
        ("--seed=3", "there is no such key"),
        ("~data.seed", "cannot be deleted"),
        ("data.seed=[1", "data.seed: the value [1 cannot be read"),
        ("data.seed={a: 1, a: 2}", "data.seed: the value"),
    ],
)
def test_what_is_no_override_is_refused(override: str, says: str) -> None:
    assert says in refusal(override)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"- 1\n- 2\n", "must contain keys and values"),
        (b"data: [\n", "is not valid YAML"),
        (b"data: {seed: 1, seed: 2}\n", "is not valid YAML"),
        (b"data: {\xff\xfe: 1}\n", "is not UTF-8 text"),
        (b"just text", "just text: there is no such key"),
        (b"data.seed: 3\n", "data.seed: a key of a file has no dots"),
        (b"1: 3\n", "1: there is no such key"),
        (b"data: {seed: x}\n", "data.seed: expected an integer"),
        (b"data: ${data}\n", "data"),
        (b"defaults: [ppo_trainer, _self_]\n", "Hydra does not run"),
        (b"actor_rollout_ref: {model: {path: !!python/object:os.system x}}\n", "is not valid YAML"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_name(content: bytes, says: str, tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_bytes(content)
    message = refusal(file=file)
    assert says in message
    assert str(file) in message


def test_an_empty_file_is_no_change_and_an_absent_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    assert "cannot be read: No such file or directory" in refusal(file=file)
    file.write_text("")
    assert load_config(file=file) == load_config()


WORDS = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=12)
# Loading takes 60 ms: to shrink a failure would take minutes, and the text is short as it is.
quickly = settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
KNOWN = [key for key, _ in leaves()]


@quickly
@given(
    st.one_of(st.lists(WORDS, min_size=1, max_size=4).map(".".join), st.sampled_from(KNOWN).map(lambda key: key + "s"))
)
def test_any_unknown_key_is_answered_with_keys_that_exist(key: str) -> None:
    answer = nearest(key)
    head, _, last = answer.partition(" is ") if answer.startswith("the nearest") else answer.partition(" has ")
    if head == "the nearest":
        assert last in KNOWN or any(known.startswith(f"{last}.") for known in KNOWN)
    else:
        parent = "" if head == "the configuration" else f"{head}."
        assert all(any(known.startswith(f"{parent}{name}") for known in KNOWN) for name in last.split(", "))


@pytest.mark.slow
@quickly
@given(key=st.lists(WORDS, min_size=1, max_size=4).map(".".join), value=st.text(max_size=12))
def test_no_override_whatever_ends_in_anything_but_a_refusal(key: str, value: str) -> None:
    override = f"{key}={value}"
    try:
        load_config([override])
    except UsageError as error:
        assert key.partition(".")[0] in str(error)
    else:
        assert key.partition(".")[0] in {known.partition(".")[0] for known in KNOWN} | {"trainer", "hydra"}


@pytest.mark.slow
@quickly
@given(key=st.sampled_from(KNOWN), value=st.text(max_size=10))
def test_no_text_as_a_value_ends_in_anything_but_a_refusal_of_its_key(key: str, value: str) -> None:
    try:
        load_config([f"{key}={value}"])
    except UsageError as error:
        assert key in str(error) or key.rpartition(".")[2] in str(error)
