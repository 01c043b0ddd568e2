"""Console logs of other trainers, in the forms in which their own sources print them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rlcompare.errors import InputError
from rlcompare.sources.detect import find_runs
from rlcompare.sources.metrics import form, other_logs
from rlcompare.sources.peek import file_kind
from tests.stores import rows, store_of

RAY = "\x1b[36m(MegatronTrainRayActor pid=77, ip=10.0.0.7)\x1b[0m "
Values = dict[tuple[int, str], float]


def slime() -> tuple[str, Values]:
    """Three rollouts with two updates each; the rollout of the next step is logged while one is trained."""
    lines: list[str] = []
    values: Values = {}
    for rollout in range(3):
        made: dict[str, Any] = {"rollout/response_len/mean": 512.5 + rollout, "perf/rollout_time": 20.25}
        train = {"perf/train_wait_time": 21.0, "perf/actor_train_time": 9.5, "perf/train_time": 12.5 + rollout,
                 "perf/step_time": 33.5 + rollout}  # fmt: skip
        lines.append(f"[2026-11-23 03:36:4{rollout}] rollout.py:812 - perf {rollout}: {made}")
        lines += ["  warning: no metrics {'a/b': 1}"]
        for update in (0, 1):
            loss = {"train/loss": 0.5 + update, "train/grad_norm": 1e-06, "train/lr-pg_0": "x"}
            lines.append(f"{RAY}[2026-11-23 03:36:5{rollout}] model.py:655 - step {2 * rollout + update}: {loss}")
        lines.append(f"{RAY}[2026-11-23 03:36:5{rollout}] train_metric_utils.py:44 - perf {rollout}: {train}")
        values |= {(rollout, name): value for name, value in (made | train).items()}
        values |= {(rollout, "train/loss"): 1.0, (rollout, "train/grad_norm"): 1e-06}
    lines[0], lines[5] = lines[5], lines[0]  # asynchronous
    return "\n".join(lines) + "\n", values


def roll() -> tuple[str, Values]:
    data: list[dict[str, Any]] = [
        {"time/step_total": 61.5 + step, "critic/kl": 0.25, "actor/none": None, "x": {"y": 1}} for step in range(3)
    ]
    lines = [f"[2026-11-23 03:36:40] [tracking.py (132)] [INFO] metrics_tag: {json.dumps({'step': s, 'metrics': d})}"
             for s, d in enumerate(data)]  # fmt: skip
    names = ("time/step_total", "critic/kl")
    return "\n".join(lines) + "\n", {(step, name): made[name] for step, made in enumerate(data) for name in names}


def openrlhf() -> tuple[str, Values]:
    lines = [
        f"(PPOTrainer pid=5) INFO 11-23 03:36:40 ppo_trainer.py:410] ✨ Global step {step}: "
        f"{{'timing/generation': 12.5, 'policy_loss': {0.5 * step}, 'kl': tensor(0.1), 'lr': np.float64(1e-06)}}"
        for step in (1, 2, 3)
    ]
    values = {(step, "policy_loss"): 0.5 * step for step in (1, 2, 3)}
    return "\n".join(lines) + "\n", values | {
        (s, n): v for s in (1, 2, 3) for n, v in (("timing/generation", 12.5), ("lr", 1e-06))
    }


def mindspeed() -> tuple[str, Values]:
    lines = [
        f"[2026-11-23 03:36:40] iteration: {step} / 200 | timing/all : 61.{step}000 | actor/pg_loss : -0.0125"
        " | e2e_tps : 350.2500 "
        for step in (1, 2, 3)
    ]
    values = {(step, "timing/all"): 61 + step / 10 for step in (1, 2, 3)}
    return "\n".join(lines) + "\n", values | {
        (s, n): v for s in (1, 2, 3) for n, v in (("actor/pg_loss", -0.0125), ("e2e_tps", 350.25))
    }


def nemo() -> tuple[str, Values]:
    block = """
{0} Step {1}/100 {0}
▶ Preparing batch...

📊 Training Results:
  • Loss: 0.0125
  • Avg Reward: 0.5000
  • Mean Generation Length: 512.2500

⏱️  Timing:
  • Total step time: 6{1}.50s
  • generation: 30.25s (49.2%)
  • prepare_for_generation/total: 1.75s (2.8%)

🔍 Performance Metrics:
  • Throughputs (per GPU):
    - E2E (Samples/sec/gpu): 1.50
"""
    values: Values = {}
    for step in (1, 2, 3):
        values |= {
            (step, "train/loss"): 0.0125, (step, "train/reward"): 0.5, (step, "timing/train/generation"): 30.25,
            (step, "train/mean_gen_tokens_per_sample"): 512.25, (step, "timing/train/total_step_time"): 60.5 + step,
            (step, "timing/train/prepare_for_generation/total"): 1.75,
        }  # fmt: skip
    return "".join(block.format("=" * 25, step) for step in (1, 2, 3)), values


LOGS = {"slime": slime, "ROLL": roll, "OpenRLHF": openrlhf, "MindSpeed-RL": mindspeed, "NeMo-RL": nemo}


@pytest.mark.parametrize("trainer", LOGS)
def test_each_number_is_read(tmp_path: Path, trainer: str) -> None:
    text, values = LOGS[trainer]()
    path = tmp_path / "job.log"
    path.write_text(f"Loading\n{text}Done\n")

    (run,) = find_runs(path)
    store = store_of(path, tmp_path / "s.duckdb")

    assert file_kind(path).kind == form.OTHER_LOG and run.training is not None
    found = {
        (step, name): value
        for step, name, value in rows(store, "SELECT step, name, value FROM metric WHERE value IS NOT NULL")
    }
    assert found == pytest.approx(values)
    assert not {"earlier_job", "repeated_steps"} & set(dict(rows(store, "SELECT key, message FROM finding")))


@pytest.mark.parametrize("trainer", LOGS)
def test_several_jobs_and_a_cut_end(tmp_path: Path, trainer: str) -> None:
    text, values = LOGS[trainer]()
    path = tmp_path / "job.log"
    path.write_text(text + text.rstrip()[: -len(text) // 6])

    first, last = other_logs.read(path, "1"), other_logs.read(path)

    read = {(step, name): value for _, step, name, value in first.rows() if value is not None}
    assert read == pytest.approx(values)
    assert 0 < len(last.steps) < len(first.steps)
    kept = {(step, name): value for _, step, name, value in last.rows() if value is not None}
    assert kept == pytest.approx({key: values[key] for key in kept})


@pytest.mark.parametrize(
    "text",
    [
        "perf 0: {'a': 1}\n", "step 1: {'x/y': __import__('os')}\n", "metrics_tag: {\"step\": 1, \"metrics\": [1]}\n",
        "metrics_tag: {\"step\": " + "[" * 100_000 + "\n", "===== Step 1/3 =====\n  • Total step time: s\n",
        "iteration: 1 / 2 | a : nothing |\n", "Global step 1: {'a': '" + "x" * 100_000 + "'}\n",
    ],
)  # fmt: skip
def test_logs_without_numbers(tmp_path: Path, text: str) -> None:
    path = tmp_path / "job.log"
    path.write_text(text)

    with pytest.raises(InputError):
        store_of(path, tmp_path / "s.duckdb")
