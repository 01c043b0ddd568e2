"""The configuration of a run: the result of verl's overrides and files."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from omegaconf import OmegaConf

from rlcompare.collect.reference.config import Config, load_config, to_dict, to_yaml
from rlcompare.collect.reference.config.typed import convert, leaves
from rlcompare.errors import UsageError

ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
NPU = f"{ACTOR}.profiler.tool_config.npu"


def value_at(config: Config, key: str) -> Any:
    value: Any = config
    for name in key.split("."):
        value = getattr(value, name)
    return value


def leaf_keys(tree: dict[str, Any], prefix: str = "") -> list[str]:
    keys = []
    for name, value in tree.items():
        keys += leaf_keys(value, f"{prefix}{name}.") if isinstance(value, dict) else [f"{prefix}{name}"]
    return keys


def written(folder: Path, text: str) -> Path:
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def defaults_text() -> str:
    return resources.files("rlcompare.collect.reference.config").joinpath("defaults.yaml").read_text(encoding="utf-8")


def test_defaults_and_dataclasses_have_the_same_keys_in_the_same_order() -> None:
    defaults: Any = OmegaConf.to_container(OmegaConf.create(defaults_text()))
    in_dataclasses = [key for key, _ in leaves()]
    assert sorted(leaf_keys(defaults)) == sorted(in_dataclasses)
    assert len(in_dataclasses) > 150
    # to_yaml follows the dataclasses, and so documents the order of defaults.yaml within a block.
    assert list(defaults) == [field.name for field in dataclasses.fields(Config)]


def test_every_default_has_a_comment_above_it() -> None:
    lines = defaults_text().splitlines()
    bare = [line for above, line in pairwise(lines) if ":" in line and line.lstrip()[0] != "#"
            and not above.lstrip().startswith("#")]  # fmt: skip
    assert bare == []


def test_the_defaults_that_other_parts_rely_on() -> None:
    config = load_config()
    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    assert (config.data.train_batch_size, rollout.n, actor.ppo_mini_batch_size) == (8, 4, 4)
    assert (config.trainer.total_training_steps, config.trainer.warmup_steps) == (12, 1)
    assert config.global_profiler.steps == (12,)
    assert config.trainer.device is config.global_profiler.tool is actor.profiler.tool is None
    assert (actor.fsdp_config.model_dtype, rollout.dtype) == ("float32", "bfloat16")
    assert (config.algorithm.rollout_is_threshold, config.algorithm.rollout_is_veto_threshold) == (2.0, 1e-4)
    assert {role: profiler.enable for role, profiler in config.profilers.items()} == {
        "actor": True, "rollout": True, "ref": True, "critic": False,
    }  # fmt: skip
    assert actor.profiler.tool_config.npu.level == "level1"
    assert config.trainer.world_size == 1


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("global_profiler.steps=[2,4]", "global_profiler.steps", (2, 4)),
        ("global_profiler.steps=[4, 2, 4]", "global_profiler.steps", (2, 4)),
        ("global_profiler.steps=null", "global_profiler.steps", None),
        ("global_profiler.steps=[]", "global_profiler.steps", ()),
        (f"{ACTOR}.use_kl_loss=True", f"{ACTOR}.use_kl_loss", True),
        (f"{ACTOR}.use_kl_loss=true", f"{ACTOR}.use_kl_loss", True),
        (f"{ACTOR}.optim.lr=1e-6", f"{ACTOR}.optim.lr", 1e-6),
        (f"{ACTOR}.optim.lr_warmup_steps=null", f"{ACTOR}.optim.lr_warmup_steps", -1),
        (f"{ACTOR}.entropy_coeff=0", f"{ACTOR}.entropy_coeff", 0.0),
        (f"+{ACTOR}.ppo_epochs=2", f"{ACTOR}.ppo_epochs", 2),
        (f"++{ACTOR}.ppo_epochs=2", f"{ACTOR}.ppo_epochs", 2),
        ('trainer.logger=["console","file"]', "trainer.logger", ("console", "file")),
        ("trainer.logger=['console']", "trainer.logger", ("console",)),
        ("trainer.logger=console", "trainer.logger", ("console",)),
        ("trainer.logger=[]", "trainer.logger", ()),
        ("trainer.experiment_name='a=b: c'", "trainer.experiment_name", "a=b: c"),
        ('trainer.experiment_name="quoted"', "trainer.experiment_name", "quoted"),
        ("trainer.experiment_name=2026", "trainer.experiment_name", "2026"),
        ("actor_rollout_ref.model.path=0.5b", "actor_rollout_ref.model.path", "0.5b"),
        (f"{ACTOR}.policy_loss.loss_mode=clip-cov", f"{ACTOR}.policy_loss.loss_mode", "clip_cov"),
        (f"{ACTOR}.policy_loss.loss_mode=kl-cov", f"{ACTOR}.policy_loss.loss_mode", "kl_cov"),
        (f"{ACTOR}.policy_loss.loss_mode=geo-mean", f"{ACTOR}.policy_loss.loss_mode", "geo_mean"),
        (f"{ACTOR}.kl_loss_type=k3", f"{ACTOR}.kl_loss_type", "low_var_kl"),
        ("algorithm.kl_penalty=k2", "algorithm.kl_penalty", "mse"),
        (f"{ACTOR}.fsdp_config.model_dtype=bf16", f"{ACTOR}.fsdp_config.model_dtype", "bfloat16"),
        (f"{ROLLOUT}.dtype=fp32", f"{ROLLOUT}.dtype", "float32"),
        (f"{ROLLOUT}.top_k=0", f"{ROLLOUT}.top_k", -1),
        ("algorithm.rollout_is_threshold=null", "algorithm.rollout_is_threshold", None),
        ("algorithm.rollout_is_veto_threshold=1e-4", "algorithm.rollout_is_veto_threshold", 1e-4),
        ("critic.ppo_epochs=3", "critic.ppo_epochs", 3),
        (f"{NPU}.contents=[npu,cpu]", f"{NPU}.contents", ("npu", "cpu")),
        (f"{NPU}.export_type=text", f"{NPU}.export_type", ("text",)),
    ],
)  # fmt: skip
def test_an_override_as_a_verl_user_writes_it(override: str, key: str, value: object) -> None:
    found = value_at(load_config([override]), key)
    assert found == value
    assert type(found) is type(value)


def test_the_last_override_wins_and_a_file_loses_to_it(tmp_path: Path) -> None:
    file = written(tmp_path, "data: {seed: 3, train_batch_size: 16}\n")
    assert load_config(file=file).data.seed == 3
    config = load_config(["data.seed=4", "data.seed=5"], file)
    assert (config.data.seed, config.data.train_batch_size) == (5, 16)


def test_interpolation_in_a_file_means_what_it_means_in_verl(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """\
        trainer:
          total_training_steps: 6
          experiment_name: run-${data.seed}
        global_profiler: {tool: torch, save_path: out}
        actor_rollout_ref:
          actor:
            ppo_mini_batch_size: ${data.train_batch_size}
            use_fused_kernels: ${oc.select:actor_rollout_ref.model.use_fused_kernels,false}
            profiler:
              tool: ${oc.select:global_profiler.tool,null}
              tool_config:
                torch_memory:
                  stack_depth: ${oc.select:global_profiler.global_tool_config.torch_memory.depth,16}
        """,
    )
    config = load_config(["data.seed=9"], file)
    assert config.trainer.experiment_name == "run-9"
    assert config.actor_rollout_ref.actor.ppo_mini_batch_size == 8
    assert config.global_profiler.steps == (6,)
    # AND what is not set follows: a role the global profiler, rollout and ref the actor
    for role in ("actor", "rollout", "ref"):
        profiler = config.profilers[role]
        assert (profiler.tool, profiler.save_path) == ("torch", "out")
        assert profiler.tool_config.torch_memory.stack_depth == 16
    assert config.critic.profiler.tool_config.torch_memory.stack_depth == 32


def test_rollout_and_ref_follow_the_actor_where_they_are_not_set() -> None:
    config = load_config(
        [
            f"{ACTOR}.profiler.tool_config.torch.discrete=true",
            f"{ACTOR}.profiler.tool_config.npu.level=level0",
            f"{ROLLOUT}.profiler.tool_config.npu.level=level2",
            "actor_rollout_ref.ref.profiler.enable=false",
        ]
    )
    levels = {role: profiler.tool_config.npu.level for role, profiler in config.profilers.items()}
    assert levels == {"actor": "level0", "rollout": "level2", "ref": "level0", "critic": "level1"}
    assert {role for role, profiler in config.profilers.items() if profiler.tool_config.torch.discrete} == {
        "actor", "rollout", "ref",
    }  # fmt: skip
    assert {role for role, profiler in config.profilers.items() if profiler.enable} == {"actor", "rollout"}


def test_naming_ranks_means_not_all_ranks() -> None:
    two = "trainer.n_gpus_per_node=2"
    named = load_config([two, f"{ACTOR}.profiler.ranks=[1]"])
    for role in ("actor", "rollout", "ref"):
        profiler = named.profilers[role]
        assert [rank for rank in range(2) if profiler.includes(rank)] == [1]
    of_rollout = load_config([two, f"{ROLLOUT}.profiler.ranks=[0]"])
    assert of_rollout.profilers["actor"].includes(1)
    assert not of_rollout.profilers["rollout"].includes(1)
    both = load_config([two, f"{ACTOR}.profiler.ranks=[0]", f"{ACTOR}.profiler.all_ranks=true"])
    assert both.profilers["actor"].includes(1)


def test_clip_ratio_is_followed_by_its_bounds_where_they_are_not_set() -> None:
    def bounds(*overrides: str) -> tuple[float, float]:
        actor = load_config(overrides).actor_rollout_ref.actor
        return actor.clip_ratio_low, actor.clip_ratio_high

    assert bounds(f"{ACTOR}.clip_ratio=0.1") == (0.1, 0.1)
    assert bounds(f"{ACTOR}.clip_ratio=0.1", f"{ACTOR}.clip_ratio_high=0.3") == (0.1, 0.3)
    assert bounds(f"{ACTOR}.clip_ratio=0.1", f"{ACTOR}.clip_ratio_low=null") == (0.1, 0.1)


def test_dapo_is_a_preset_that_explicit_keys_win_over(tmp_path: Path) -> None:
    dapo = load_config(["algorithm.adv_estimator=dapo"])
    actor = dapo.actor_rollout_ref.actor
    assert dapo.algorithm.adv_estimator == "grpo"
    assert dapo.algorithm.filter_groups.enable
    assert (actor.clip_ratio_low, actor.clip_ratio_high, actor.clip_ratio_c) == (0.2, 0.28, 10.0)
    assert actor.loss_agg_mode == "token-mean"

    file = written(tmp_path, "algorithm: {adv_estimator: dapo, filter_groups: {enable: false}}\n")
    mine = load_config([f"{ACTOR}.clip_ratio_high=0.4", f"{ACTOR}.loss_agg_mode=seq-mean-token-sum"], file)
    assert not mine.algorithm.filter_groups.enable
    assert mine.actor_rollout_ref.actor.clip_ratio_high == 0.4
    assert mine.actor_rollout_ref.actor.clip_ratio_c == 10.0
    assert mine.actor_rollout_ref.actor.loss_agg_mode == "seq-mean-token-sum"

    back = load_config(["algorithm.adv_estimator=grpo"], file)
    assert back.actor_rollout_ref.actor.clip_ratio_c == 3.0


def test_decode_steps_are_skipped_by_default() -> None:
    key = f"{ROLLOUT}.profiler.schedule"
    schedule = load_config([f"{key}.granularity=decode_step"]).profilers["rollout"].schedule
    assert (schedule.skip_first, schedule.warmup, schedule.active, schedule.repeat) == (10, 1, 1, 1)
    assert (
        load_config([f"{key}.granularity=decode_step", f"{key}.skip_first=2"]).profilers["rollout"].schedule.skip_first
        == 2
    )
    of_actor = load_config([f"{ACTOR}.profiler.schedule.granularity=micro_batch"])
    assert of_actor.profilers["actor"].schedule.skip_first == 0
    assert of_actor.profilers["ref"].schedule.granularity is None


CHANGED = [
    "algorithm.adv_estimator=dapo",
    "trainer.experiment_name='1e-3'",
    "trainer.project_name='\\${data.seed} null # \"x\"'",
    "trainer.n_gpus_per_node=2",
    f"{ACTOR}.profiler.ranks=[1]",
    f"{ROLLOUT}.profiler.schedule.granularity=decode_step",
    f"{ACTOR}.optim.lr=1e-7",
    "global_profiler.steps=[2,4]",
    "global_profiler.save_path=/tmp/with space/é",
]


@pytest.mark.parametrize(
    "overrides", [[], CHANGED, ["global_profiler.steps=null", "algorithm.rollout_is_threshold=null"]]
)
def test_what_is_written_is_read_back_equal(overrides: list[str], tmp_path: Path) -> None:
    config = load_config(overrides)
    text = to_yaml(config)
    assert load_config(file=written(tmp_path, text)) == config
    assert to_yaml(load_config(file=tmp_path / "run.yaml")) == text


def test_a_text_that_looks_like_an_interpolation_is_kept(tmp_path: Path) -> None:
    config = load_config(CHANGED)
    assert config.trainer.project_name == '${data.seed} null # "x"'
    assert config.trainer.experiment_name == "1e-3"


def test_to_dict_holds_plain_values_for_json() -> None:
    def kinds(value: object) -> set[type]:
        if isinstance(value, dict):
            return set().union(*map(kinds, value.values()))
        return set().union(*map(kinds, value)) if isinstance(value, list) else {type(value)}

    tree = to_dict(load_config(CHANGED))
    assert tree["global_profiler"]["steps"] == [2, 4]
    assert kinds(tree) <= {str, int, float, bool, type(None)}


def test_every_key_takes_an_override_of_its_own_value() -> None:
    config = load_config()
    tree = OmegaConf.create(to_dict(config))
    for key, hint in leaves():
        plain: Any = OmegaConf.to_container(OmegaConf.create({"value": OmegaConf.select(tree, key)}))
        again = convert(hint, plain["value"])
        assert again == value_at(config, key)
        if not get_args(hint):
            assert type(again) is hint


# What a file of verl's actor configuration (seed 004) says, with the values under which nothing is switched on.
ACTOR_FILE = """\
actor_rollout_ref:
  actor:
    _target_: verl.workers.config.ActorConfig
    strategy: ???
    ppo_mini_batch_size: 8
    ppo_micro_batch_size: null
    ppo_micro_batch_size_per_gpu: 2
    use_dynamic_bsz: false
    ppo_max_token_len_per_gpu: 16384
    clip_ratio: 0.2
    clip_ratio_low: 0.2
    clip_ratio_high: 0.2
    freeze_vision_tower: false
    policy_loss: {_target_: verl.workers.config.PolicyLossConfig, loss_mode: vanilla, ppo_kl_coef: 0.1}
    use_torch_compile: false
    checkpoint:
      _target_: verl.trainer.config.CheckpointConfig
      save_contents: ['model', 'optimizer', 'extra']
      load_contents: ${.save_contents}
      async_save: False
    optim: {lr: 1e-6, lr_warmup_steps_ratio: 0.0, total_training_steps: -1, weight_decay: 0.01, lr_warmup_steps: -1}
    use_fused_kernels: ${oc.select:actor_rollout_ref.model.use_fused_kernels,false}
    profiler:
      _target_: verl.utils.profiler.ProfilerConfig
      tool: ${oc.select:global_profiler.tool,null}
      enable: False
      all_ranks: False
      ranks: []
      save_path: ${oc.select:global_profiler.save_path,null}
      tool_config:
        nsys: {discrete: "${oc.select:global_profiler.global_tool_config.nsys.discrete}"}
        npu: {contents: [], level: level1, analysis: True, discrete: False}
        torch: {step_start: 0, step_end: null}
        torch_memory:
          stack_depth: ${oc.select:global_profiler.global_tool_config.torch_memory.stack_depth,32}
"""


def test_verls_own_actor_file_is_accepted(tmp_path: Path) -> None:
    config = load_config(file=written(tmp_path, ACTOR_FILE))
    actor = config.actor_rollout_ref.actor
    assert (actor.strategy, actor.ppo_mini_batch_size, actor.ppo_micro_batch_size_per_gpu) == ("fsdp2", 8, 2)
    assert actor.optim.lr == 1e-6
    assert not any(profiler.enable for profiler in config.profilers.values())


def test_verls_own_actor_file_is_refused_where_it_switches_something_on(tmp_path: Path) -> None:
    text = ACTOR_FILE.replace("use_torch_compile: false", "use_torch_compile: true").replace("'extra']", "'hf_model']")
    with pytest.raises(UsageError) as refused:
        load_config(file=written(tmp_path, text))
    assert f"{ACTOR}.use_torch_compile: true is not supported, only false" in str(refused.value)
    assert f"{ACTOR}.checkpoint.save_contents" in str(refused.value)
    assert f"{ACTOR}.checkpoint.load_contents" in str(refused.value)
    assert "3 reasons" in str(refused.value)


def test_reading_the_schema_needs_no_omegaconf() -> None:
    code = (
        "import sys, rlcompare.collect.reference.config; "
        "print([name for name in ('torch', 'omegaconf', 'yaml') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
