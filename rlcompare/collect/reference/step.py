"""The RL training step, phase by phase, in verl's order (docs/design.md §2)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch

from rlcompare.collect.profiler import StepProfiler
from rlcompare.collect.reference.advantage import has_variance
from rlcompare.collect.reference.batch import Batch, concatenated
from rlcompare.collect.reference.config.schema import Config
from rlcompare.collect.reference.distributed import World
from rlcompare.collect.reference.global_batch import GlobalBatch, global_batch
from rlcompare.collect.reference.loss import Totals, agg_loss
from rlcompare.collect.reference.metrics import data_metrics, timing_metrics, workload
from rlcompare.collect.reference.policies import Policies
from rlcompare.collect.reference.rollout import generate
from rlcompare.collect.reference.task import Task
from rlcompare.collect.reference.timing import Timers
from rlcompare.collect.reference.update import update_actor, update_critic
from rlcompare.errors import UsageError


class Trainer:
    """State that one process keeps between steps."""

    def __init__(self, config: Config, world: World, profiler: StepProfiler) -> None:
        self._config = config
        self._world = world
        self._profiler = profiler
        self._policies = Policies(config, world)
        self._task = Task(self._policies.vocab_size, config.data.max_prompt_length, config.data.seed)
        self._sampler = torch.Generator(world.device).manual_seed((config.data.seed * 1_000_003 + world.rank) % 2**63)
        self._timers = Timers(world.device)
        self._counts: dict[str, int] = {}

    def step(self, step: int) -> dict[str, float]:
        """One training step over this rank's part of the batch.

        Returns:
            The step's metrics over all ranks, complete on the first.
        """
        self._timers = Timers(self._world.device)
        self._counts = {"decode_steps": 0}
        metrics: dict[str, float] = {}
        with self._timers.timed("step"):
            batch = self._rewarded(step)
            batch = self._with_old_log_probs(batch, metrics)
            batch = self._with_reference(batch)
            batch = self._with_values(batch)
            batch, whole = self._with_advantages(batch, metrics)
            metrics |= self._update(batch)
        metrics |= data_metrics(whole.batch, whole.rewards, self._config.data.max_response_length)
        metrics |= timing_metrics(self._timers.seconds, whole.batch, self._world)
        self._counts["decode_steps"] = int(self._world.maxima({"steps": float(self._counts["decode_steps"])})["steps"])
        metrics |= workload(whole.batch, self._counts)
        return {"training/global_step": step, **metrics}

    @contextmanager
    def _phase(self, role: str, name: str, timer: str) -> Iterator[None]:
        # The timer is inside, so that opening and writing a capture of the phase is not part of the phase.
        # As in verl's driver, a phase ends on all ranks at once: else a slow rank would delay the next phase instead.
        with self._profiler.phase(role, name), self._timers.timed(timer):
            yield
            self._world.barrier()

    def _rewarded(self, step: int) -> Batch:
        """Responses and their scores; with ``filter_groups``, only prompts whose responses have different scores.

        As in verl, the batch of all ranks is filtered and filled up from further batches. Surplus rows are dropped.
        """
        algorithm, rollout = self._config.algorithm, self._config.actor_rollout_ref.rollout
        if not algorithm.filter_groups.enable:
            return self._generated(step, 0)
        wanted = self._config.data.train_batch_size * rollout.n
        limit = algorithm.filter_groups.max_num_gen_batches
        kept: list[Batch] = []
        self._counts["generated_response_tokens"] = 0
        while not limit or len(kept) < limit:
            whole = self._generated(step, attempt=len(kept)).gathered(self._world)
            kept.append(whole.rows(has_variance(whole.scores, whole.groups)))
            # The workload's tokens are those of the kept rows.
            self._counts["generated_batches"] = len(kept)
            self._counts["generated_response_tokens"] += int(whole.response_lengths.sum())
            if sum(map(len, kept)) >= wanted:
                return concatenated(kept).rows(slice(wanted)).own(self._world)
        raise UsageError(
            f"step {step}: {limit} batches had too few prompts whose responses do not all score the same; raise "
            "algorithm.filter_groups.max_num_gen_batches (0: no limit), or disable algorithm.filter_groups.enable"
        )

    def _generated(self, step: int, attempt: int) -> Batch:
        rollout = self._config.actor_rollout_ref.rollout
        share = self._config.data.train_batch_size // self._world.size
        with self._phase("rollout", "generate_sequences", "gen"):
            model = self._policies.rollout_model(refresh=attempt == 0)
            prompts = self._task.prompts(step, self._config.data.train_batch_size, attempt=attempt)
            own = prompts.map(lambda rows: self._world.own_rows(rows).to(self._world.device))
            made = generate(
                model,
                own,
                n=rollout.n,
                temperature=rollout.temperature,
                top_k=rollout.top_k,
                top_p=rollout.top_p,
                do_sample=rollout.do_sample,
                ignore_eos=rollout.ignore_eos,
                max_response_length=self._config.data.max_response_length,
                generator=self._sampler,
                on_decode_step=lambda _: self._profiler.tick("decode_step"),
            )
        self._counts["decode_steps"] += made.decode_steps
        with self._phase("", "reward", "reward"):
            scores = self._task.reward(own.repeat(rollout.n), made.responses, made.response_mask)
        groups = torch.arange(share, device=scores.device).repeat_interleave(rollout.n)
        return Batch(
            input_ids=made.input_ids,
            attention_mask=made.attention_mask,
            position_ids=made.position_ids,
            responses=made.responses,
            response_mask=made.response_mask,
            rollout_log_probs=made.rollout_log_probs if rollout.calculate_log_probs else None,
            scores=scores,
            groups=groups + share * (self._world.rank + self._world.size * attempt),
        )

    def _with_old_log_probs(self, batch: Batch, metrics: dict[str, float]) -> Batch:
        rollout = self._config.actor_rollout_ref.rollout
        with self._phase("actor", "old_log_prob", "old_log_prob"):
            old, entropy = self._policies.log_probs(
                self._policies.actor.model, batch, rollout.log_prob_micro_batch_size_per_gpu, self._micro_batch
            )
            rows = {"tokens": float(batch.response_mask.sum()), "sequences": float(len(batch))}
            totals = Totals(**self._world.sums(rows))
            mode = self._config.actor_rollout_ref.actor.loss_agg_mode
            own = float(agg_loss(entropy, batch.response_mask, mode, totals))
            metrics["actor/entropy"] = self._world.sums({"entropy": own})["entropy"]
        return replace(batch, old_log_probs=old)

    def _with_reference(self, batch: Batch) -> Batch:
        if self._policies.reference is None:
            return batch
        size = self._config.actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu
        with self._phase("ref", "ref_log_prob", "ref"):
            log_probs, _ = self._policies.log_probs(self._policies.reference, batch, size, self._micro_batch)
        return replace(batch, ref_log_probs=log_probs)

    def _with_values(self, batch: Batch) -> Batch:
        if self._policies.critic is None:
            return batch
        with self._phase("critic", "values", "values"):
            values = self._policies.values(batch, self._micro_batch)
        return replace(batch, values=values)

    def _with_advantages(self, batch: Batch, metrics: dict[str, float]) -> tuple[Batch, GlobalBatch]:
        with self._phase("", "adv", "adv"):
            whole = global_batch(batch, self._world, self._config)
            metrics |= whole.metrics
            return whole.batch.own(self._world), whole

    def _update(self, batch: Batch) -> dict[str, float]:
        metrics: dict[str, float] = {}
        counts = {"mini_batches": 0, "micro_batches": 0}

        def tick(granularity: str) -> None:
            counts["mini_batches" if granularity == "mini_batch" else "micro_batches"] += 1
            self._profiler.tick(granularity)

        if self._policies.critic is not None:
            with self._phase("critic", "update_critic", "update_critic"):
                metrics |= update_critic(self._policies.critic, batch, self._config, self._world, tick)
        with self._phase("actor", "update_actor", "update_actor"):
            metrics |= update_actor(self._policies.actor, batch, self._config, self._world, tick)
        self._counts |= counts
        return metrics

    def _micro_batch(self) -> None:
        self._profiler.tick("micro_batch")
