"""The reference step: every algorithm runs, what it says of itself is true, and it learns."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from rlcompare.errors import UsageError  # noqa: E402
from tests.collect.stepping import is_time, steps_of  # noqa: E402

LOSSES = ["vanilla", "gspo", "gpg", "clip_cov", "kl_cov", "geo_mean", "clip-cov"]


def assert_sound(metrics: dict[str, float]) -> None:
    assert all(math.isfinite(value) for value in metrics.values()), metrics
    assert metrics["actor/grad_norm"] > 0
    assert 0 < metrics["mismatch/rollout_is_eff_sample_size"] <= 1
    parts = sum(metrics[key] for key in metrics if key.startswith("timing_s/") and key != "timing_s/step")
    assert 0.5 * metrics["timing_s/step"] < parts <= metrics["timing_s/step"]


@pytest.mark.parametrize("loss", LOSSES)
def test_every_policy_loss_runs_a_step(tmp_path: Path, loss: str) -> None:
    (metrics,) = steps_of(tmp_path, 1, f"actor_rollout_ref.actor.policy_loss.loss_mode={loss}")
    assert_sound(metrics)


def test_ppo_has_a_critic_that_learns_values(tmp_path: Path) -> None:
    metrics = steps_of(tmp_path, 2, "algorithm.adv_estimator=gae")[-1]
    assert_sound(metrics)
    assert metrics["critic/grad_norm"] > 0 and metrics["critic/vf_loss"] > 0
    assert {"timing_s/values", "timing_s/update_critic"} <= metrics.keys()
    assert metrics["critic/advantages/mean"] == pytest.approx(0, abs=1e-5), "advantages are whitened"


def test_the_critics_loss_is_aggregated_as_the_actors(tmp_path: Path) -> None:
    gae, mode = "algorithm.adv_estimator=gae", "actor_rollout_ref.actor.loss_agg_mode"
    (mean,) = steps_of(tmp_path, 1, gae)
    (total,) = steps_of(tmp_path, 1, gae, f"{mode}=seq-mean-token-sum", "critic.loss_agg_mode=seq-mean-token-sum")
    assert total["critic/vf_loss"] > 2 * mean["critic/vf_loss"], "a sum over several tokens"
    with pytest.raises(UsageError, match=rf"aggregated as the actor's: set {mode}"):
        steps_of(tmp_path, 1, gae, "critic.loss_agg_mode=seq-mean-token-sum")


def test_dapo_trains_only_on_prompts_whose_responses_differ(tmp_path: Path) -> None:
    (metrics,) = steps_of(tmp_path, 1, "algorithm.adv_estimator=dapo", "algorithm.filter_groups.max_num_gen_batches=0")
    assert_sound(metrics)
    assert metrics["workload.sequences"] == 16
    assert metrics["workload.generated_batches"] >= 1
    assert metrics["workload.generated_response_tokens"] >= metrics["workload.response_tokens"]
    assert metrics["workload.decode_steps"] > 0


def test_dapo_says_when_prompts_do_not_suffice(tmp_path: Path) -> None:
    always_alike = ("actor_rollout_ref.rollout.top_k=1", "algorithm.filter_groups.max_num_gen_batches=2")
    with pytest.raises(UsageError, match=r"2 batches .*filter_groups\.max_num_gen_batches"):
        steps_of(tmp_path, 1, "algorithm.adv_estimator=dapo", *always_alike)


def test_a_reference_policy_penalises_once_the_policy_has_moved(tmp_path: Path) -> None:
    options = ("actor_rollout_ref.actor.use_kl_loss=true", "algorithm.use_kl_in_reward=true")
    first, _, last = steps_of(tmp_path, 3, *options)
    assert "timing_s/ref" in first
    assert first["actor/reward_kl_penalty"] == pytest.approx(0, abs=1e-7), "both are still the same policy"
    assert abs(last["actor/reward_kl_penalty"]) > 1e-6
    assert last["actor/kl_loss"] > 0


def test_on_policy_ratios_are_one(tmp_path: Path) -> None:
    (metrics,) = steps_of(tmp_path, 1, "actor_rollout_ref.actor.ppo_mini_batch_size=4")
    assert metrics["workload.mini_batches"] == 1
    assert metrics["actor/ppo_kl"] == 0
    assert metrics["actor/pg_clipfrac"] == 0


def test_workload_counts_what_was_done(tmp_path: Path) -> None:
    options = ("actor_rollout_ref.rollout.ignore_eos=true", "actor_rollout_ref.actor.ppo_epochs=3")
    (metrics,) = steps_of(tmp_path, 1, *options, "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4")
    assert metrics["workload.sequences"] == 4 * 4
    assert metrics["workload.response_tokens"] == 16 * 8
    assert metrics["workload.decode_steps"] == 7, "the first token comes out of the prefill"
    assert metrics["workload.mini_batches"] == 3 * 2
    assert metrics["workload.micro_batches"] == 3 * 2 * 2
    assert metrics["response_length/clip_ratio"] == 1
    tokens = metrics["workload.prompt_tokens"] + metrics["workload.response_tokens"]
    assert metrics["perf/total_num_tokens"] == tokens


def test_micro_batches_do_not_change_the_step(tmp_path: Path) -> None:
    key = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"
    one_update = "actor_rollout_ref.actor.ppo_mini_batch_size=4"
    whole, cut = (steps_of(tmp_path, 1, one_update, f"{key}={rows}")[0] for rows in (16, 3))
    assert (whole["workload.micro_batches"], cut["workload.micro_batches"]) == (1, 6)
    for name in ("actor/pg_loss", "actor/grad_norm"):
        assert cut[name] == pytest.approx(whole[name], rel=1e-4, abs=1e-6), name


def test_gradient_checkpointing_does_not_change_the_step(tmp_path: Path) -> None:
    key = "actor_rollout_ref.model.enable_gradient_checkpointing"
    plain, checkpointed = (steps_of(tmp_path, 2, f"{key}={choice}")[-1] for choice in ("false", "true"))
    assert checkpointed["actor/grad_norm"] == pytest.approx(plain["actor/grad_norm"], rel=1e-5)


def test_one_seed_gives_one_result_and_another_seed_another(tmp_path: Path) -> None:
    runs = [steps_of(tmp_path, 2, f"data.seed={seed}") for seed in (5, 5, 6)]
    first, again, other = ([{k: v for k, v in step.items() if not is_time(k)} for step in run] for run in runs)
    assert first == again
    assert first != other


class TestMismatch:
    """The rollout's own type makes its log-probabilities differ from training's, or not."""

    def test_in_bfloat16_it_is_real(self, tmp_path: Path) -> None:
        (metrics,) = steps_of(tmp_path, 1)
        assert metrics["mismatch/mismatch_k3_kl"] > 1e-6
        assert metrics["mismatch/rollout_is_eff_sample_size"] < 1

    def test_in_float32_there_is_none(self, tmp_path: Path) -> None:
        (metrics,) = steps_of(tmp_path, 1, "actor_rollout_ref.rollout.dtype=float32")
        assert abs(metrics["mismatch/mismatch_kl"]) < 1e-6
        assert metrics["mismatch/rollout_is_eff_sample_size"] == pytest.approx(1, abs=1e-6)

    def test_metrics_only_leaves_the_loss_alone(self, tmp_path: Path) -> None:
        weighted, unweighted = (
            steps_of(tmp_path, 1, f"algorithm.rollout_is={choice}")[0] for choice in ("true", "false")
        )
        off = steps_of(tmp_path, 1, "algorithm.rollout_is_threshold=null")[0]
        mismatch = {key for key in weighted if key.startswith("mismatch/")}
        assert mismatch and {key: weighted[key] for key in mismatch} == {key: unweighted[key] for key in mismatch}
        assert unweighted["actor/pg_loss"] == off["actor/pg_loss"] != weighted["actor/pg_loss"]
        assert not any(key.startswith("mismatch/") for key in off)


@pytest.mark.slow
def test_training_raises_the_reward(tmp_path: Path) -> None:
    longer = ("data.train_batch_size=8", "data.max_prompt_length=16", "data.max_response_length=24")
    rewards = [step["critic/score/mean"] for step in steps_of(tmp_path, 30, *longer)]
    first, last = sum(rewards[:5]) / 5, sum(rewards[-5:]) / 5
    assert last > first + 0.1, rewards
