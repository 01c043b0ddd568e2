"""A model of RL training jobs: what a step consists of and how long its parts take, from chosen physical numbers.

A job of one seed draws the same lengths, tools and noise whatever its other settings are, so that what a setting costs
is the difference of two jobs of one seed. Logs of them are made by ``training_logs``.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST_STEPS = 64
"""Numbers are drawn for as many steps, so that those of a step do not depend on how many there are."""

Trainer = Literal["main", "dapo", "v1", "v1_async", "one_step_off", "fully_async"]


@dataclass(frozen=True)
class Job:
    """The settings and the machine of a job; times in seconds, lengths in tokens.

    Attributes:
        agent_loop: generation by asynchronous servers, sample by sample; else one call on all ranks.
        prompts, n: prompts of a step, and responses to each. At most 256 and 8.
        length_median, length_sigma: of the log-normal lengths of responses, before ``max_length`` cuts them.
        group_sigma: how much the responses to one prompt are alike in length.
        drift: by which part responses grow from step to step.
        by_length: the prompts of a batch come in the order of the length of their responses.
        tail_share: share of responses that nearly reach ``tail_length``.
        turns: mean number of calls of tools; 0 for single-turn jobs.
        preemptions: mean number per sample, if its KV cache is short; None if the engine does not count them.
        preempted_s: what one preemption adds to its sample: waiting, and computing its cache again.
        score_in_loop: rewards are computed per sample in the agent loop, else by the driver, one after the other.
        accepted: mean number of tokens of a decode step with speculative decoding; None without it.
        decode_s, decode_sample_s: a decode step's fixed cost, and what each running sequence adds.
        wake_s: waking up the engine, loading weights, and sleeping.
        grouped: sequences of a prompt stay on one rank when the batch is balanced.
        micro_tokens, micro_s: tokens of a micro batch, and what each micro batch costs besides.
        gen_batches: how many batches are generated for one batch of training; DAPO takes whole ones, so the next more.
        rollout_rate: tokens per second of the separate rollouter of asynchronous jobs.
        switch_s: to switch replicas between training and generation; None where all stay what they are.
        staleness: batches that an asynchronous rollouter may be ahead.
        local_steps: updates between two synchronisations of weights.
        outside_s: time of a step in none of its timers.
        noise: relative noise of each timer from step to step. run_noise: of a run as a whole.
        cache_share: share of device memory for the engine; only shown, in the configuration.
        shows_config: the log begins with the configuration.
    """

    seed: int
    release: str = "0.6.1"
    trainer: Trainer = "main"
    agent_loop: bool = False
    steps: int = 45
    first_step: int = 1
    prompts: int = 128
    n: int = 4
    prompt_mean: float = 200.0
    length_median: float = 500.0
    length_sigma: float = 0.45
    group_sigma: float = 0.2
    drift: float = 0.001
    by_length: bool = False
    max_length: int = 4096
    tail_share: float = 0.0
    tail_length: int = 4000
    turns: float = 0.0
    tool_s: float = 1.2
    preemptions: float | None = None
    preempted_s: float = 3.0
    score_s: float = 0.02
    score_in_loop: bool = False
    accepted: float | None = None
    decode_s: float = 0.018
    decode_sample_s: float = 4e-5
    wake_s: float = 4.0
    dp: int = 8
    replicas: int = 4
    balanced: bool = True
    grouped: bool = False
    mfu: float = 0.36
    infer_mfu: float = 0.40
    peak: float = 354e12
    parameters: float = 7.6e9
    micro_tokens: int = 24576
    micro_s: float = 0.12
    memory_gb: float = 52.0
    reference: bool = True
    reference_slower: float = 1.0
    old_slower: float = 1.0
    critic: bool = False
    critic_mfu: float = 0.36
    values_slower: float = 1.0
    gen_batches: float = 1.0
    sync_s: float = 2.5
    switch_s: float | None = None
    rollout_rate: float = 30_000.0
    staleness: float = 1.0
    local_steps: int = 4
    save_every: int = 0
    save_s: float = 30.0
    test_every: int = 0
    test_s: float = 40.0
    outside_s: float = 0.4
    compile_s: float = 25.0
    noise: float = 0.015
    run_noise: float = 0.008
    cache_share: float = 0.8
    shows_config: bool = False

    def but(self, **changes: Any) -> Job:
        """The same job with other settings."""
        return replace(self, **changes)

    @property
    def asynchronous(self) -> bool:
        return self.trainer in ("v1_async", "one_step_off", "fully_async")


@dataclass(frozen=True)
class Samples:
    """What a job generated, by step and sample, the samples of a prompt beside each other."""

    prompt: Array
    response: Array
    turns: Array
    preempted: Array
    generate: Array
    tools: Array
    score: Array


@dataclass(frozen=True)
class Work:
    """How the tokens of each step meet the data-parallel ranks: sums by step, ``rank_*`` of the slowest rank."""

    tokens: Array
    flops: Array
    rank_flops: Array
    rank_tokens: Array
    chunk_tokens: Array
    balanced_tokens: Array


@dataclass(frozen=True)
class Course:
    """A job as it ran: seconds by timer and step (``outside`` too), and what was worked on.

    ``beside`` has timers that lie in none of the step's, or overlap with them.
    """

    job: Job
    timers: Mapping[str, Array]
    beside: Mapping[str, Array]
    step: Array
    samples: Samples
    work: Work
    extra: Mapping[str, Array]


def elsewhere(job: Job, luck: int, kept: Collection[str]) -> Job:
    """The same kind of job with another model on other machines, but for the settings in ``kept``; as it is for 0."""
    if not luck:
        return job
    generator = np.random.default_rng([luck, zlib.crc32(repr(job).encode())])
    ranges = {"wake_s": (0.7, 1.3), "outside_s": (0.5, 1.5), "compile_s": (0.2, 2.0), "noise": (0.7, 1.5)}
    if not job.asynchronous:  # in those, what is faster, training or generation, is what the pairs are about
        ranges |= {"length_median": (0.8, 1.3), "prompt_mean": (0.5, 3.0), "decode_s": (0.75, 1.25),
                   "decode_sample_s": (0.5, 2.0), "peak": (0.8, 1.3)}  # fmt: skip
    factors = {name: generator.uniform(*bounds) for name, bounds in ranges.items()}
    return job.but(**{name: getattr(job, name) * by for name, by in factors.items() if name not in kept})


def draws(seed: int, name: str) -> np.random.Generator:
    """Random numbers for one purpose: how many are drawn for others makes no difference."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def noise(job: Job, name: str) -> Array:
    """Factors around 1 by step, a little alike from one step to the next, and of the run as a whole."""
    generator = draws(job.seed, f"noise of {name}")
    whole = 1 + job.run_noise * generator.standard_normal()
    steps = generator.standard_normal(MOST_STEPS)[: job.steps]
    for step in range(1, job.steps):
        steps[step] = 0.3 * steps[step - 1] + 0.954 * steps[step]
    return np.asarray(whole * np.maximum(1 + job.noise * steps, 0.5))


def normal(job: Job, name: str) -> Array:
    """Standard normal numbers by step and sample; those of the first responses do not depend on ``n``."""
    made = draws(job.seed, name).standard_normal((job.n, 256, MOST_STEPS))[:, : job.prompts, : job.steps]
    return made.transpose(2, 1, 0).reshape(job.steps, -1)


def by_prompt(job: Job, name: str) -> Array:
    """Standard normal numbers by step and sample, the same for all samples of a prompt."""
    made = draws(job.seed, name).standard_normal((256, MOST_STEPS))[: job.prompts, : job.steps]
    return made.T.repeat(job.n, axis=1)


def by_step(job: Job, name: str) -> Array:
    """Standard normal numbers by step."""
    return draws(job.seed, name).standard_normal(MOST_STEPS)[: job.steps]


def uniform(job: Job, name: str) -> Array:
    """As ``normal``, between 0 and 1."""
    made = draws(job.seed, name).random((job.n, 256, MOST_STEPS))[:, : job.prompts, : job.steps]
    return made.transpose(2, 1, 0).reshape(job.steps, -1)


def poisson(chance: Array, mean: float | Array) -> Array:
    """Poisson numbers of a mean, from numbers between 0 and 1: a larger mean never gives fewer."""
    mean = np.broadcast_to(np.asarray(mean, dtype=float), chance.shape)
    count, term = np.zeros(chance.shape), np.exp(-mean)
    below = term.copy()
    for number in range(1, 40):
        count += chance > below
        term = term * mean / number
        below = below + term
    return count


def lengths(job: Job) -> tuple[Array, Array]:
    """Prompts and responses; responses grow slowly while the policy learns."""
    step = np.arange(job.first_step, job.first_step + job.steps)
    drift = job.drift * step + 0.01 * by_step(job, "drift")
    alike = by_prompt(job, "prompts")
    logs = np.log(job.length_median) + drift[:, None] + job.group_sigma * (np.sort(alike) if job.by_length else alike)
    response = np.exp(logs + job.length_sigma * normal(job, "lengths"))
    chance = uniform(job, "tail")
    long = job.tail_length * (0.9 + 0.1 * chance / max(job.tail_share, 1e-9))
    response = np.where(chance < job.tail_share, np.maximum(long, response), response)
    prompt = job.prompt_mean * np.exp(0.3 * by_prompt(job, "asked"))
    return np.ceil(prompt.clip(20, 2048)), np.ceil(response.clip(5, job.max_length))


def decoded(job: Job, response: Array, prompt: Array, machine: Array) -> Array:
    """When each sample of its replica is finished: a step of decoding takes longer the more sequences run."""
    steps = np.ceil(response / (job.accepted or 1.0))
    per = steps.shape[1] // job.replicas
    by = steps.reshape(job.steps, per, job.replicas).transpose(0, 2, 1)
    order = np.argsort(by, axis=2, kind="stable")
    ordered = np.take_along_axis(by, order, axis=2)
    gaps = np.diff(ordered, axis=2, prepend=0)
    slower = 1.25 if job.accepted else 1.0
    finished = np.cumsum(gaps * slower * (job.decode_s + job.decode_sample_s * np.arange(per, 0, -1)), axis=2)
    back = np.empty_like(finished)
    np.put_along_axis(back, order, finished, axis=2)
    prefill = prompt.sum(axis=1) / job.replicas / 40_000
    return (back.transpose(0, 2, 1).reshape(steps.shape) + prefill[:, None]) * machine[:, None]


@lru_cache(maxsize=4)
def generated(job: Job) -> Samples:
    """What is generated in each step, and how long each sample takes."""
    prompt, response = lengths(job)
    machine = noise(job, "rollout")
    calls = poisson(uniform(job, "turns"), job.turns) if job.turns else np.zeros(response.shape)
    preempted = np.zeros(response.shape)
    if job.preemptions is not None:
        share = response / response.mean(axis=1, keepdims=True)
        preempted = poisson(uniform(job, "preempted"), job.preemptions * share)
    generate = decoded(job, response, prompt, machine) + preempted * job.preempted_s + 0.15 * calls
    tools = calls * job.tool_s * np.exp(0.25 * normal(job, "tools"))
    score = job.score_s * np.exp(0.2 * normal(job, "scores")) if job.score_in_loop else np.zeros(response.shape)
    answers = response + 60 * calls
    return Samples(prompt, answers, 2 * calls + 2, preempted, generate, tools, score)


def work(job: Job, samples: Samples) -> Work:
    """The floating-point operations of a forward and a backward pass, and how they are divided among ranks."""
    tokens = samples.prompt + samples.response
    flops = 6 * job.parameters * tokens + 12 * 28 * 3584 * tokens**2
    per = tokens.shape[1] // job.dp
    chunks = tokens.reshape(job.steps, job.dp, per).sum(axis=2)
    place = np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)
    if job.balanced or job.grouped:
        size = job.n if job.grouped else 1
        heavy = flops.reshape(job.steps, -1, size).sum(axis=2)
        order = np.argsort(-heavy, axis=1, kind="stable")
        snake = order.reshape(job.steps, -1, job.dp).copy()
        snake[:, 1::2] = snake[:, 1::2, ::-1]
        groups = snake.transpose(0, 2, 1).reshape(job.steps, -1)
        place = (groups[:, :, None] * size + np.arange(size)).reshape(job.steps, -1)
    by_rank = np.take_along_axis(tokens, place, axis=1).reshape(job.steps, job.dp, per).sum(axis=2)
    rank_flops = np.take_along_axis(flops, place, axis=1).reshape(job.steps, job.dp, per).sum(axis=2)
    slowest = rank_flops.argmax(axis=1)[:, None]
    return Work(
        tokens.sum(axis=1),
        flops.sum(axis=1),
        rank_flops.max(axis=1),
        np.take_along_axis(by_rank, slowest, axis=1)[:, 0],
        chunks,
        by_rank,
    )


def trained(job: Job, done: Work) -> dict[str, Array]:
    """Seconds of the training phases: those of the slowest rank, and of its micro batches."""
    micro = np.ceil(done.rank_tokens / job.micro_tokens) * job.micro_s
    forward = done.rank_flops / 3 / job.peak / job.infer_mfu + micro / 3 + 0.2
    made = {"old_log_prob": forward * job.old_slower * noise(job, "old_log_prob")}
    if job.reference:
        made["ref"] = forward * job.reference_slower * noise(job, "ref")
    if job.critic:
        made["values"] = forward * job.values_slower * noise(job, "values")
    made["adv"] = 0.05 * job.prompts / 128 * noise(job, "adv")
    if job.critic:
        made["update_critic"] = (done.rank_flops / job.peak / job.critic_mfu + micro) * noise(job, "update_critic")
    made["update_actor"] = (done.rank_flops / job.peak / job.mfu + micro) * noise(job, "update_actor") + 0.2
    return made


def regularly(job: Job, every: int) -> NDArray[np.bool_]:
    """The steps in which something is due; the last one too."""
    number = np.arange(job.first_step, job.first_step + job.steps)
    return (number % every == 0) | (number == number[-1]) if every else np.zeros(job.steps, dtype=bool)


@lru_cache(maxsize=8)
def course(job: Job) -> Course:
    """The job from its first step to its last."""
    samples = generated(job)
    done = work(job, samples)
    timers = trained(job, done)
    extra: dict[str, Array] = {}
    whole = (samples.generate + samples.tools + samples.score).max(axis=1)
    batches = np.ones(job.steps)
    if job.trainer == "dapo":
        batches = np.maximum(np.ceil(job.gen_batches + 0.15 * by_step(job, "batches")), 1.0)
    elif job.trainer == "v1":
        batches += (job.gen_batches - 1) * np.exp(0.2 * by_step(job, "batches"))
    extra["batches"] = batches
    reward = np.full(job.steps, 0.03) if job.score_in_loop else job.score_s * samples.prompt.shape[1] / 8 * batches
    if not (job.trainer.startswith("v1") and job.score_in_loop):
        timers = {"reward": reward * noise(job, "reward"), **timers}
    wake = job.wake_s * noise(job, "wake")
    timers = {"gen": (whole + wake) * batches, **timers}
    extra["wake"] = wake
    saved = np.where(regularly(job, job.save_every), job.save_s * noise(job, "save"), 0.0)
    tested = np.where(regularly(job, job.test_every), job.test_s * noise(job, "test"), 0.0)
    beside: dict[str, Array] = {}
    if job.release == "0.5.0" and not job.agent_loop:
        beside["reshard"] = 0.9 * wake
    saves_inside = job.release != "0.6.1" and job.trainer not in ("one_step_off", "fully_async")
    (timers if saves_inside else beside)["save_checkpoint"] = saved
    (timers if job.release == "0.5.0" else beside)["testing"] = tested
    if job.release not in ("0.5.0", "0.6.1"):
        timers["update_weights"] = job.sync_s * noise(job, "sync")
    timers["outside"] = job.outside_s * noise(job, "outside")
    timers["gen"][0] += job.compile_s
    timers["update_actor"][0] *= 1.4
    if job.switch_s is not None and job.trainer == "v1_async":
        timers["switch_to_trainer"] = 0.4 * job.switch_s * noise(job, "to trainer")
        timers["switch_to_rollout"] = 0.6 * job.switch_s * noise(job, "to rollout")
    if job.asynchronous:
        _overlap(job, samples, timers, beside, extra)
    step = np.sum(list(timers.values()), axis=0)
    return Course(job, timers, beside, step, samples, done, extra)


def _overlap(
    job: Job, samples: Samples, timers: dict[str, Array], beside: dict[str, Array], extra: dict[str, Array]
) -> None:
    """Generation runs beside training: ``gen`` becomes the time that the trainer waits for samples."""
    if job.trainer == "one_step_off":
        making, ahead = timers["gen"].copy(), 1.0
        timers["sync_rollout_weights"] = timers.pop("update_weights")
        beside["generate_async"] = making
    else:
        making = samples.response.sum(axis=1) / job.rollout_rate * noise(job, "rollouter")
        making = making + (samples.tools + samples.score).mean(axis=1) / 4
        ahead = job.staleness
    busy = np.sum([seconds for name, seconds in timers.items() if name != "gen"], axis=0)
    if job.trainer == "fully_async":
        timers["param_sync"] = timers.pop("update_weights")
    ready, end = np.zeros(job.steps), 0.0
    ends, idle, wait = np.zeros(job.steps), np.zeros(job.steps), np.zeros(job.steps)
    for step in range(job.steps):
        before = ready[step - 1] if step else 0.0
        # A rollouter that is far enough ahead pauses until the trainer has taken a batch.
        back = step - 1 - round(ahead * (1 if job.trainer == "one_step_off" else 2))
        begin = max(before, ends[back] if back >= 0 else 0.0)
        idle[step] = begin - before
        ready[step] = begin + making[step]
        wait[step] = max(0.0, ready[step] - end)
        end = end + wait[step] + busy[step]
        ends[step] = end
    timers["gen"] = wait + 0.05
    if job.switch_s is not None:
        # Hybrid replicas are lent to generation until nearly enough samples are there.
        lent = "switch_wait" if job.trainer == "v1_async" else "wait_for_enough_samples"
        timers[lent], timers["gen"] = 0.8 * wait, 0.2 * wait + 0.05
    extra |= {"making": making, "rollouter_idle": idle}
