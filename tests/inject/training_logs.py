"""Logs of modelled jobs (``training_jobs``): the keys that verl's trainer of a release logs, as it prints them.

Which keys, in which order, and what a timer holds is read from the wheels of 0.5.0, 0.6.1, 0.7.1, 0.8.0 and 0.9.1. The
recipe DAPO keeps its timers over the batches that it generates for one batch of training.
"""

from __future__ import annotations

import json
import pprint
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tests.inject.training_jobs import MOST_STEPS, Array, Course, Job, draws

Form = Literal["plain", "ray", "coloured", "file"]
Data = dict[str, Any]

PREFIXES = {"plain": "", "ray": "(TaskRunner pid=4035) ", "coloured": "\x1b[36m(TaskRunner pid=4035)\x1b[0m "}
BAR = "Training Progress:   7%|▋         | {step}/140 [00:49<1:53:43, 49.09s/it]"


def write(course: Course, path: Path, form: Form, *, reordered: bool = False, further: str | None = None) -> Path:
    """Writes the log of a job.

    Args:
        reordered: the keys of a line are in alphabetical order.
        further: one more metric under that name, which no release logs.
    """
    records: list[tuple[int, Data]] = []
    for index in range(course.job.steps):
        step = course.job.first_step + index
        for data in steps_data(course, index):
            if further and "timing_s/step" in data:
                data[further] = 0.5 + 0.01 * index
            records.append((step, dict(sorted(data.items())) if reordered else data))
    if form == "file":
        lines = [json.dumps({"step": step, "data": data}, default=float) for step, data in records]
    else:
        lines = console(course.job, records, PREFIXES[form])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def console(job: Job, records: list[tuple[int, Data]], prefix: str) -> list[str]:
    """The lines on the terminal of a job, among some of other processes."""
    lines = []
    if job.shows_config:
        lines += [prefix + line for line in pprint.pformat(configuration(job)).splitlines()]
    if job.test_every:
        lines.append(f"{prefix}step:{job.first_step - 1} - val-core/openai/gsm8k/reward/mean@1:0.508")
    for step, data in records:
        lines.append(BAR.format(step=step))
        shown = (f"{name}:{pprint.pformat(value)}" for name, value in data.items())
        lines.append(prefix + " - ".join([f"step:{step}", *shown]))
    return lines


def configuration(job: Job) -> dict[str, Any]:
    """The part of the job's configuration that its settings decide."""
    rollout = {"name": "vllm", "n": job.n, "mode": "async" if job.agent_loop else "sync", "temperature": 1.0,
               "gpu_memory_utilization": job.cache_share, "tensor_model_parallel_size": 2}  # fmt: skip
    actor = {"ppo_mini_batch_size": job.prompts, "use_dynamic_bsz": True, "ppo_epochs": 1,
             "ppo_max_token_len_per_gpu": job.micro_tokens, "optim": {"lr": 1e-06}}  # fmt: skip
    made: dict[str, Any] = {
        "actor_rollout_ref": {"actor": actor, "rollout": rollout, "model": {"path": "Qwen/Qwen2.5-7B-Instruct"}},
        "algorithm": {"adv_estimator": "gae" if job.critic else "grpo", "use_kl_in_reward": False},
        "data": {
            "train_batch_size": job.prompts,
            "max_prompt_length": 2048,
            "max_response_length": job.max_length,
        },
        "trainer": {
            "balance_batch": job.balanced,
            "n_gpus_per_node": job.dp,
            "nnodes": 1,
            "save_freq": job.save_every or -1,
            "test_freq": job.test_every or -1,
            "total_epochs": 15,
        },
    }
    if job.trainer.startswith("v1"):
        made["trainer"] |= {
            "use_v1": True,
            "v1": {
                "trainer_mode": "separate_async" if job.asynchronous else "sync",
                "separate_async": {"parameter_sync_step": job.local_steps},
            },
        }
    if job.trainer == "fully_async":
        made["async_training"] = {
            "staleness_threshold": job.staleness,
            "trigger_parameter_sync_step": job.local_steps,
            "partial_rollout": True,
        }
    return made


def steps_data(course: Course, index: int) -> list[Data]:
    """The lines of a step: one, and with ``fully_async`` the rollouter's before it."""
    job = course.job
    data = {**training(course, index), **validation(course, index), **batch(course, index)}
    data |= timing(course, index)
    data |= ending(course, index)
    if job.trainer != "fully_async":
        return [data]
    making, idle = course.extra["making"][index], course.extra["rollouter_idle"][index]
    status = {
        "fully_async/rollouter/active_time": making,
        "fully_async/rollouter/version_time": making + idle,
        "fully_async/rollouter/idle_ratio": idle / (making + idle),
    }
    return [{name: float(value) for name, value in status.items()}, data]


def between(job: Job, name: str, index: int, mean: float, spread: float = 0.05) -> float:
    """A number of the learning that says nothing of time."""
    return float(mean * (1 + spread * _numbers(job.seed, name)[index]))


@lru_cache(maxsize=128)
def _numbers(seed: int, name: str) -> Array:
    return draws(seed, name).standard_normal(MOST_STEPS)


def training(course: Course, index: int) -> Data:
    """What balancing, log-probs and updates log."""
    job, done = course.job, course.work
    data: Data = {}
    if job.balanced:
        chunks, ranks = done.chunk_tokens[index], done.balanced_tokens[index]
        data |= {
            "global_seqlen/min": int(chunks.min()),
            "global_seqlen/max": int(chunks.max()),
            "global_seqlen/minmax_diff": int(chunks.max() - chunks.min()),
            "global_seqlen/balanced_min": int(ranks.min()),
            "global_seqlen/balanced_max": int(ranks.max()),
            "global_seqlen/mean": float(ranks.mean()),
        }
    worker = float if job.release == "0.5.0" else np.float64
    data["actor/entropy"] = between(job, "entropy", index, 0.31 * 0.998**index)
    possible = job.peak * job.dp
    if job.release in ("0.7.1", "0.8.0", "0.9.1") and not job.trainer.startswith("v1"):
        forward = done.flops[index] / 3 / possible / (course.timers["old_log_prob"][index] - 0.2)
        data["perf/mfu/actor_infer"] = worker(forward)
    if job.release not in ("0.5.0", "0.6.1"):
        data |= {
            "training/rollout_probs_diff_valid": 1,
            "training/rollout_probs_diff_max": between(job, "diff max", index, 0.4),
            "training/rollout_probs_diff_mean": between(job, "diff mean", index, 0.004),
            "training/rollout_probs_diff_std": between(job, "diff std", index, 0.011),
            "training/rollout_actor_probs_pearson_corr": between(job, "corr", index, 0.9991, 1e-4),
            "rollout_corr/rollout_is_mean": between(job, "is mean", index, 1.0, 2e-3),
            "rollout_corr/rollout_is_std": between(job, "is std", index, 0.06),
            "rollout_corr/rollout_is_eff_sample_size": between(job, "ess", index, 0.985, 2e-3),
            "rollout_corr/kl": between(job, "kl", index, 0.0011),
        }
    if job.critic:
        flops = done.flops[index] / possible / (course.timers["update_critic"][index] - 0.2)
        data |= {
            "critic/vf_loss": worker(between(job, "vf", index, 0.05)),
            "critic/vf_clipfrac": worker(0.0),
            "critic/vpred_mean": worker(between(job, "vpred", index, 0.8)),
            "critic/grad_norm": worker(between(job, "critic norm", index, 12.0, 0.2)),
            "perf/mfu/critic": worker(flops),
            "critic/lr": worker(1e-5),
        }
    memory = "actor/perf" if job.release in ("0.8.0", "0.9.1") else "perf"
    update = done.flops[index] / possible / (course.timers["update_actor"][index] - 0.2)
    data |= {
        "actor/kl_loss": worker(between(job, "kl loss", index, 0.0012, 0.1)),
        "actor/pg_loss": worker(between(job, "pg", index, -0.004, 0.4)),
        "actor/pg_clipfrac": worker(between(job, "clip", index, 0.0008, 0.1)),
        "actor/ppo_kl": worker(between(job, "ppo kl", index, 0.0001, 0.5)),
        "actor/pg_clipfrac_lower": worker(0.0),
        "actor/grad_norm": worker(between(job, "norm", index, 0.19, 0.1)),
        "perf/mfu/actor": worker(update),
        f"{memory}/max_memory_allocated_gb": worker(job.memory_gb * 0.93),
        f"{memory}/max_memory_reserved_gb": worker(job.memory_gb),
        f"{memory}/cpu_memory_used_gb": worker(between(job, "cpu", index, 210.0, 0.01)),
        "actor/lr": worker(1e-6),
    }
    return data


def validation(course: Course, index: int) -> Data:
    """The scores of a step that tests."""
    tested = {**course.timers, **course.beside}["testing"][index]
    return {"val-core/openai/gsm8k/reward/mean@1": between(course.job, "val", index, 0.6)} if tested else {}


def batch(course: Course, index: int) -> Data:
    """What is logged of the batch: scores, lengths and turns."""
    job, samples = course.job, course.samples
    data: Data = {"training/global_step": job.first_step + index, "training/epoch": 0}
    for name, mean in (("score", 0.55), ("rewards", 0.55), ("advantages", -0.004), ("returns", -0.004)):
        data |= {
            f"critic/{name}/mean": between(job, name, index, mean, 0.04),
            f"critic/{name}/max": 1.0,
            f"critic/{name}/min": 0.0 if mean > 0 else -1.7,
        }
    if job.critic:
        data |= {"critic/values/mean": between(job, "values", index, 0.5), "critic/vf_explained_var": 0.3}
    response, prompt = samples.response[index], samples.prompt[index]
    clipped = float((response >= job.max_length).mean())
    names = ["response_length"] if job.release == "0.5.0" else ["response_length", "response_length_non_aborted"]
    for name in names:
        data |= spread(name, response, float) | {f"{name}/clip_ratio": clipped}
    if job.release != "0.5.0":
        data["response/aborted_ratio"] = 0.0
    data |= spread("prompt_length", prompt, float) | {"prompt_length/clip_ratio": 0.0}
    turns = samples.turns[index]
    if job.agent_loop or job.trainer.startswith("v1"):
        data |= {"num_turns/min": np.int32(turns.min()), "num_turns/max": np.int32(turns.max()),
                 "num_turns/mean": np.float64(turns.mean())}  # fmt: skip
    return data


def spread(name: str, values: Any, kind: Any) -> Data:
    """The mean, the largest and the smallest."""
    return {f"{name}/mean": kind(values.mean()), f"{name}/max": kind(values.max()), f"{name}/min": kind(values.min())}


def agent_loop(course: Course, index: int) -> Data:
    """Times of samples, and of the one that took longest."""
    job, samples = course.job, course.samples
    later = job.release in ("0.8.0", "0.9.1")
    generate, tools, score = samples.generate[index], samples.tools[index], samples.score[index]
    preempted = samples.preempted[index] if job.preemptions is not None else np.full(generate.shape, -1.0)
    name = "timing_s/agent_loop"
    data: Data = {}
    if job.release not in ("0.5.0", "0.6.1"):
        data |= {f"{name}/num_preempted/{what}": kind(value) for what, kind, value in (
            ("min", np.int64, preempted.min()), ("max", np.int64, preempted.max()),
            ("mean", np.float64, preempted.mean()))}  # fmt: skip
    data |= spread(f"{name}/generate_sequences", generate, np.float64)
    data |= spread(f"{name}/tool_calls", tools, np.float64)
    if later:
        data |= spread(f"{name}/compute_score", score, np.float64)
    slowest = int(np.argmax(generate + tools + (score if later else 0)))
    data |= {
        f"{name}/slowest/generate_sequences": np.float64(generate[slowest]),
        f"{name}/slowest/tool_calls": np.float64(tools[slowest]),
    }
    if later:
        data[f"{name}/slowest/compute_score"] = np.float64(score[slowest])
    if job.release not in ("0.5.0", "0.6.1"):
        data[f"{name}/slowest/num_preempted"] = np.int64(preempted[slowest])
    data |= {
        f"{name}/slowest/prompt_length": int(samples.prompt[index][slowest]),
        f"{name}/slowest/response_length": int(samples.response[index][slowest]),
    }
    return data


def timing(course: Course, index: int) -> Data:
    """The timers, and what each takes per token."""
    job, samples = course.job, course.samples
    response, prompt = samples.response[index], samples.prompt[index]
    data: Data = {"timing_s/start_profile": 0.0002}
    if job.trainer == "fully_async":
        tools = samples.tools[index]
        data |= spread("timing_s/agent_loop/tool_calls", tools, np.float64)
    elif job.agent_loop and not job.trainer.startswith("v1"):
        data |= agent_loop(course, index)
    elif not job.asynchronous and not job.trainer.startswith("v1"):
        by_replica = samples.generate[index].reshape(-1, job.replicas).max(axis=0)
        data["timing_s/generate_sequences"] = float(by_replica.mean())
        if job.release != "0.5.0":
            data |= {"timing_s/generation_timing/max": float(by_replica.max()),
                     "timing_s/generation_timing/min": float(by_replica.min()),
                     "timing_s/generation_timing/topk_ratio": 0.25}  # fmt: skip
    timers = {name: seconds[index] for name, seconds in {**course.timers, **course.beside}.items()}
    tokens = {"gen": response.sum(), **dict.fromkeys(
        ("ref", "values", "adv", "update_critic", "update_actor"), response.sum() + prompt.sum())}  # fmt: skip
    for name, seconds in timers.items():
        occasional = name in ("save_checkpoint", "testing") and not seconds
        if name == "outside" or occasional or (name == "param_sync" and not index):
            continue
        data["timing_s/timing_s/param_sync" if name == "param_sync" else f"timing_s/{name}"] = float(seconds)
    data["timing_s/step"] = float(course.step[index])
    data["timing_s/stop_profile"] = 0.0001
    for name in sorted(tokens.keys() & timers.keys()):
        data[f"timing_per_token_ms/{name}"] = float(1e3 * timers[name] / tokens[name])
    return data


def ending(course: Course, index: int) -> Data:
    """Throughput, speculation, and what single trainers log."""
    job, samples = course.job, course.samples
    total = int(samples.response[index].sum() + samples.prompt[index].sum())
    step = float(course.step[index])
    gpus = job.dp * (2 if job.asynchronous else 1)
    data: Data = {
        "perf/total_num_tokens": total,
        "perf/time_per_step": step,
        "perf/throughput": total / (step * gpus),
    }
    if job.accepted:
        accepted = between(job, "accepted", index, job.accepted, 0.01)
        data |= {"rollout/spec_accept_rate": (accepted - 1) / 3, "rollout/spec_accept_length": accepted}
    if job.trainer == "dapo":
        data["train/num_gen_batches"] = int(course.extra["batches"][index])
    if job.trainer.startswith("v1"):
        data |= v1(course, index)
    if job.trainer == "fully_async":
        data |= fully_async(course, index)
    return data


def v1(course: Course, index: int) -> Data:
    """What the trainer that is the default of 0.9 logs besides."""
    job, turns = course.job, course.samples.turns[index]
    late = job.staleness if job.asynchronous else 0.0
    data: Data = {
        "training/num_turns/mean": np.float64(turns.mean()),
        "training/num_turns/max": np.int64(turns.max()),
        "training/num_turns/min": np.int64(turns.min()),
    }
    for name, extra in (("trajectory_spans", 1.0), ("trajectory_staleness", 0.0), ("trajectory_staleness_worst", 0.2)):
        mean = extra + late * (1 + between(job, name, index, 0.05))
        data |= {f"training/off_policy/{name}/mean": np.float64(mean),
                 f"training/off_policy/{name}/max": np.int64(np.ceil(extra + late)),
                 f"training/off_policy/{name}/min": np.int64(extra)}  # fmt: skip
    surplus = round(float(course.extra["batches"][index] - 1) * job.prompts)
    if surplus:
        data["training/filter_groups/evicted_samples"] = surplus
    if job.switch_s is not None:
        data |= {
            "separate_async/switch/threshold_ratio": 1.0,
            "separate_async/switch/wait_samples": float(job.prompts // 4),
            "separate_async/switch/idle": 1.0,
            "separate_async/decision/sampleable_count": 12.0,
            "separate_async/decision/remaining": float(job.prompts - 12),
            "separate_async/decision/should_switch_to_rollout": 1.0,
            "separate_async/decision/effective_switch_cost_seconds": float(job.switch_s),
        }
    return data


def fully_async(course: Course, index: int) -> Data:
    """What the fully asynchronous trainer and the samples' queue log besides."""
    job, samples = course.job, course.samples
    each = samples.generate[index] + samples.tools[index]
    timers = course.timers
    required = job.prompts // job.local_steps
    most = round(required * job.local_steps * (1 + job.staleness))
    return {
        "fully_async/count/stale_trajectory_processed": int(40 * job.staleness * (index + 1)),
        "fully_async/count/current_param_version": index,
        "fully_async/processing_time/avg": float(each.mean()),
        "fully_async/processing_time/max": float(each.max()),
        "fully_async/processing_time/min": float(each.min()),
        "fully_async/processing_time/tp50": float(np.percentile(each, 50)),
        "fully_async/processing_time/tp99": float(np.percentile(each, 99)),
        "fully_async/processing_time/tp95": float(np.percentile(each, 95)),
        "fully_async/monitor/active_tasks_size": 64.0,
        "fully_async/monitor/queue/pending_queue_size": 128.0,
        "fully_async/monitor/queue/mq_queue_size": 0.0 if timers["gen"][index] > 1 else float(job.prompts // 2),
        "fully_async/count/total_generated_samples": (index + 1) * job.prompts,
        "fully_async/count/staleness_samples": float(round(job.prompts * job.staleness * 0.6)),
        "fully_async/count/dropped_stale_samples": 0,
        "fully_async/static/max_required_samples": most,
        "fully_async/static/required_samples": float(required),
        "fully_async/static/staleness_threshold": job.staleness,
        "fully_async/static/max_queue_size": most,
        "fully_async/static/max_concurrent_samples": 64,
        "fully_async/total_wait_time": float(timers["gen"][index]),
        "fully_async/partial/total_partial_num": 30,
        "fully_async/partial/partial_ratio": between(job, "partial", index, 0.06, 0.1),
        "fully_async/partial/max_partial_span": 1,
        "fully_async/trainer/idle_ratio": float(timers["gen"][index] / course.step[index]),
    }
