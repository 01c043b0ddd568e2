"""Losses against loops over single tokens in float64, and micro batches against the mini batch that they make up."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from rlcompare.collect.reference.loss import (  # noqa: E402
    LOSS_AGG_MODES,
    Totals,
    agg_loss,
    aggregation_of,
    kl_loss,
    kl_penalty,
    policy_loss,
    value_loss,
)

LOSS_MODES = ("vanilla", "gspo", "gpg", "clip_cov", "kl_cov", "geo_mean")
CONFIG: Any = SimpleNamespace(
    clip_ratio_low=0.15,
    clip_ratio_high=0.28,
    clip_ratio_c=1.4,
    policy_loss=SimpleNamespace(
        clip_cov_ratio=0.9, clip_cov_lb=0.1, clip_cov_ub=2.0, kl_cov_ratio=0.2, ppo_kl_coef=0.7
    ),
)
FAST = settings(max_examples=20, deadline=None)


def batch(seed: int, n: int = 8, length: int = 7) -> dict[str, Any]:
    """Two policies far enough apart that every clip acts; the second row is empty."""
    random = np.random.default_rng(seed)
    mask = (np.arange(length) < random.integers(1, length + 1, (n, 1))).astype(float)
    mask[0], mask[1] = 1, 0
    old = -random.exponential(size=(n, length))
    return {
        "old": old,
        "new": old + 0.4 * random.normal(size=(n, length)),
        "advantages": random.normal(size=(n, 1)) * np.ones((n, length)),
        "mask": mask,
        "weights": random.uniform(0.5, 2.0, (n, length)) * mask,
    }


def called(name: str, data: dict[str, Any], mode: str, weighted: bool = True, totals: Totals | None = None) -> Any:
    tensors = {key: value if torch.is_tensor(value) else torch.tensor(value) for key, value in data.items()}
    return policy_loss(name)(
        tensors["old"],
        tensors["new"],
        tensors["advantages"],
        tensors["mask"],
        mode,
        CONFIG,
        rollout_is_weights=tensors["weights"] if weighted else None,
        totals=totals,
    )


def aggregated(loss: Any, mask: Any, mode: str) -> float:
    """verl's three means, token by token."""
    n, length = mask.shape
    total, tokens, by_row = 0.0, 0, []
    for row in range(n):
        row_sum, row_tokens = 0.0, 0
        for token in range(length):
            if mask[row, token]:
                row_sum += loss[row][token]
                row_tokens += 1
        total, tokens = total + row_sum, tokens + row_tokens
        mean = row_sum / row_tokens if row_tokens else 0.0
        by_row.append(row_sum if mode == "seq-mean-token-sum" else mean)
    return total / tokens if mode == "token-mean" else sum(by_row) / n


def in_loops(name: str, data: dict[str, Any], weighted: bool) -> tuple[Any, Any, Any, Any]:
    """Per token: loss, clipped from above, clipped from below, KL, of the losses that look at one row at a time."""
    n, length = data["mask"].shape
    loss, high, low, kl = ([[0.0] * length for _ in range(n)] for _ in range(4))
    c, bottom, top = CONFIG.clip_ratio_c, 1 - CONFIG.clip_ratio_low, 1 + CONFIG.clip_ratio_high
    for row in range(n):
        tokens = [token for token in range(length) if data["mask"][row, token]]
        logs = {token: data["new"][row, token] - data["old"][row, token] for token in tokens}
        for token in tokens:
            a = data["advantages"][row, token]
            ratio = math.exp(logs[token])
            if name == "gspo":
                ratio = math.exp(sum(logs.values()) / len(logs))
            held = min(max(ratio, bottom), top)
            value = max(-a * ratio, -a * held)
            high[row][token] = float(-a * held > -a * ratio)
            kl[row][token] = -logs[token]
            if name == "vanilla" and a < 0:
                low[row][token] = float(value > -a * c)
                value = min(value, -a * c)
            if name == "gpg":
                value, high[row][token], kl[row][token] = -a * data["new"][row, token], 0.0, 0.0
            loss[row][token] = value * (data["weights"][row, token] if weighted else 1.0)
    return loss, high, low, kl


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("mode", LOSS_AGG_MODES)
@pytest.mark.parametrize("name", ["vanilla", "gspo", "gpg"])
def test_policy_loss_against_a_loop_over_tokens(name: str, mode: str, weighted: bool) -> None:
    data = batch(1)
    found, metrics = called(name, data, mode, weighted)
    loss, high, low, kl = in_loops(name, data, weighted)
    mode = "seq-mean-token-mean" if name == "gspo" else mode
    assert float(found) == pytest.approx(aggregated(loss, data["mask"], mode), rel=1e-12)
    wanted = {"actor/pg_clipfrac": high, "actor/ppo_kl": kl, "actor/pg_clipfrac_lower": low}
    for key, values in wanted.items():
        assert metrics[key] == pytest.approx(aggregated(values, data["mask"], "token-mean"), abs=1e-12), key
    if name == "vanilla":
        assert metrics["actor/pg_clipfrac"] > 0
        assert metrics["actor/pg_clipfrac_lower"] > 0


@pytest.mark.parametrize("weighted", [True, False])
def test_geo_mean_against_a_loop_over_rows(weighted: bool) -> None:
    data = batch(2)
    total, clipped = 0.0, 0
    for row in range(len(data["mask"])):
        tokens = [token for token in range(data["mask"].shape[1]) if data["mask"][row, token]]
        if not tokens:
            continue
        a = data["advantages"][row, 0]
        logs = [data["new"][row, token] - data["old"][row, token] for token in tokens]
        bounded = [min(log, CONFIG.clip_ratio_high) if a > 0 else max(log, -CONFIG.clip_ratio_low) for log in logs]
        clipped += sum((a > 0) & (log > CONFIG.clip_ratio_high or log < -CONFIG.clip_ratio_low) for log in logs)
        ratio = math.prod(math.exp(log) for log in bounded) ** (1 / len(tokens))
        weight = math.prod(data["weights"][row, token] for token in tokens) ** (1 / len(tokens)) if weighted else 1.0
        total += -a * ratio * weight
    found, metrics = called("geo_mean", data, "token-mean", weighted)
    assert float(found) == pytest.approx(total / len(data["mask"]), rel=1e-8)  # verl adds 1e-10 to each weight
    assert metrics["actor/pg_clipfrac"] == pytest.approx(clipped / data["mask"].sum())


def covariances(data: dict[str, Any]) -> dict[tuple[int, int], float]:
    valid = [(row, token) for row, token in np.ndindex(*data["mask"].shape) if data["mask"][row, token]]
    mean_a = math.fsum(data["advantages"][place] for place in valid) / len(valid)
    mean_p = math.fsum(data["new"][place] for place in valid) / len(valid)
    return {place: (data["advantages"][place] - mean_a) * (data["new"][place] - mean_p) for place in valid}


def test_kl_cov_penalizes_the_largest_covariances() -> None:
    data = batch(3)
    covariance = covariances(data)
    chosen = sorted(covariance, key=covariance.__getitem__)[-int(0.2 * len(covariance)) :]
    loss, distance = np.zeros_like(data["mask"]), np.zeros_like(data["mask"])
    for place in covariance:
        log = data["new"][place] - data["old"][place]
        distance[place] = abs(log)
        loss[place] = -data["advantages"][place] * math.exp(log) + (0.7 * abs(log) if place in chosen else 0.0)
        loss[place] *= data["weights"][place]
    found, metrics = called("kl_cov", data, "token-mean")
    assert float(found) == pytest.approx(aggregated(loss, data["mask"], "token-mean"), rel=1e-12)
    assert metrics["actor/ppo_kl"] == pytest.approx(aggregated(distance, data["mask"], "token-mean"), rel=1e-12)


def test_clip_cov_drops_tokens_of_large_covariance_that_were_not_clipped() -> None:
    # GIVEN a share of tokens to drop so high that all candidates go
    data = batch(4)
    loss, clipped, _, _ = in_loops("clip_cov", data, weighted=True)
    covariance = covariances(data)
    dropped = [place for place, value in covariance.items() if 0.1 < value < 2.0 and not clipped[place[0]][place[1]]]
    for row, token in dropped:
        loss[row][token] = 0.0
    found, metrics = called("clip_cov", data, "token-mean")
    assert dropped
    assert float(found) == pytest.approx(aggregated(loss, data["mask"], "token-mean"), rel=1e-12)
    assert metrics["actor/pg_clipfrac"] == pytest.approx(len(dropped) / len(covariance))


def test_clip_cov_draws_as_many_tokens_as_configured_and_the_same_for_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = batch(5, n=32)
    monkeypatch.setattr(CONFIG.policy_loss, "clip_cov_ratio", 0.05)
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(called("clip_cov", data, "token-mean"))
    tokens = int(data["mask"].sum())
    assert results[0][1]["actor/pg_clipfrac"] == pytest.approx(int(0.05 * tokens) / tokens)
    assert float(results[0][0]) == float(results[1][0])
    assert float(results[0][0]) != float(results[2][0])


@pytest.mark.parametrize("mode", LOSS_AGG_MODES)
@pytest.mark.parametrize("name", [name for name in LOSS_MODES if not name.endswith("cov")])
def test_unequal_micro_batches_sum_to_the_mini_batch(name: str, mode: str) -> None:
    # GIVEN one mini batch, and the same cut unevenly, as over ranks and micro batches
    data = batch(6)
    whole = dict(data, new=torch.tensor(data["new"], requires_grad=True))
    loss, metrics = called(name, whole, mode)
    loss.backward()
    totals = Totals(tokens=float(data["mask"].sum()), sequences=float(len(data["mask"])))

    new = torch.tensor(data["new"], requires_grad=True)
    total, sums = 0.0, dict.fromkeys(metrics, 0.0)
    for rows in (slice(0, 1), slice(1, 2), slice(2, 7), slice(7, 8)):
        part = {key: value[rows] for key, value in dict(data, new=new).items()}
        micro, found = called(name, part, mode, totals=totals)
        micro.backward()
        total += micro.item()
        sums = {key: sums[key] + found[key] for key in sums}

    assert total == pytest.approx(loss.item(), rel=1e-12)
    assert sums == pytest.approx(metrics, rel=1e-12)
    torch.testing.assert_close(new.grad, whole["new"].grad, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", LOSS_MODES)
@pytest.mark.parametrize("far", [0.4, 60.0])
def test_gradients_are_finite_and_none_reaches_padding(name: str, far: float) -> None:
    # GIVEN padding that holds NaN, and policies up to hopelessly far apart
    data = batch(7)
    hole = data["mask"] == 0
    data = {key: np.where(hole & (key != "mask"), np.nan, value) for key, value in data.items()}
    new = torch.tensor(data["old"] + far * (data["new"] - data["old"]), dtype=torch.float32, requires_grad=True)
    loss, metrics = called(name, dict(data, new=new), "token-mean")
    loss.backward()
    assert math.isfinite(loss.item())
    assert all(math.isfinite(value) for value in metrics.values())
    assert new.grad.isfinite().all()
    assert not new.grad[torch.tensor(hole)].count_nonzero()
    assert new.grad.count_nonzero() or far > 1


@pytest.mark.parametrize("name", LOSS_MODES)
def test_on_policy_the_gradient_is_that_of_the_policy_gradient(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # At ratio 1 every loss but the two cov ones has the gradient of -A log p, aggregated in its own way
    monkeypatch.setattr(CONFIG.policy_loss, "clip_cov_ratio", 0.0)
    monkeypatch.setattr(CONFIG.policy_loss, "kl_cov_ratio", 0.0)
    data = batch(8)
    new = torch.tensor(data["old"], requires_grad=True)
    loss, metrics = called(name, dict(data, new=new), "token-mean", weighted=False)
    loss.backward()
    plain = torch.tensor(data["old"], requires_grad=True)
    mode = aggregation_of(name, "token-mean")
    agg_loss(-torch.tensor(data["advantages"]) * plain, torch.tensor(data["mask"]), mode).backward()
    torch.testing.assert_close(new.grad, plain.grad, rtol=1e-12, atol=1e-15)
    assert set(metrics.values()) == {0.0}


@FAST
@given(st.integers(0, 2**31), st.sampled_from(LOSS_MODES), st.sampled_from(LOSS_AGG_MODES), st.floats(0.1, 10))
def test_importance_weights_scale_the_loss(seed: int, name: str, mode: str, factor: float) -> None:
    data = batch(seed)
    torch.manual_seed(0)
    ones, _ = called(name, dict(data, weights=data["mask"]), mode)
    torch.manual_seed(0)
    scaled, _ = called(name, dict(data, weights=data["mask"] * factor), mode)
    assert float(scaled) == pytest.approx(factor * float(ones), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("mode", LOSS_AGG_MODES)
def test_aggregation_against_a_loop(mode: str) -> None:
    data = batch(9)
    found = agg_loss(torch.tensor(data["new"]), torch.tensor(data["mask"]), mode)
    assert float(found) == pytest.approx(aggregated(data["new"], data["mask"], mode), rel=1e-12)


@pytest.mark.parametrize(
    ("names", "estimate"),
    [
        (("kl", "k1"), lambda d: d),
        (("abs",), abs),
        (("mse", "k2"), lambda d: d * d / 2),
        (("low_var_kl", "k3"), lambda d: max(-10, min(10, math.exp(min(-d, 20)) + max(d, -20) - 1))),
    ],
)
def test_kl_penalty_of_single_tokens(names: tuple[str, ...], estimate: Any) -> None:
    differences = [-90.0, -3.0, -2.0, -0.5, 0.0, 1e-3, 0.7, 3.0, 10.5, 19.0]
    ref = torch.full((1, len(differences)), -100.0, dtype=torch.float64)
    policy = ref + torch.tensor([differences], dtype=torch.float64)
    for name in names:
        found = kl_penalty(policy, ref, name)[0].tolist()
        assert found == pytest.approx([estimate(d) for d in differences], rel=1e-9, abs=1e-12)


def test_low_var_kl_is_bounded_with_a_finite_gradient() -> None:
    policy = torch.tensor([[-200.0, -1.0]], requires_grad=True)
    penalty = kl_penalty(policy, torch.tensor([[-1.0, -200.0]]), "low_var_kl")
    penalty.sum().backward()
    assert penalty.tolist() == [[10.0, 10.0]]
    assert policy.grad is not None
    assert policy.grad.isfinite().all()


def test_kl_loss_is_the_aggregated_penalty() -> None:
    data = batch(10)
    differences = [
        [new - old for new, old in zip(*pair, strict=True)] for pair in zip(data["new"], data["old"], strict=True)
    ]
    squares = [[d * d / 2 for d in row] for row in differences]
    new, old, mask = (torch.tensor(data[key]) for key in ("new", "old", "mask"))
    dirty = new.masked_fill(mask == 0, math.nan)
    found = kl_loss(dirty, old, mask, "mse", "seq-mean-token-sum")
    assert float(found) == pytest.approx(aggregated(squares, data["mask"], "seq-mean-token-sum"), rel=1e-12)


@pytest.mark.parametrize("mode", LOSS_AGG_MODES)
def test_value_loss_against_a_loop(mode: str) -> None:
    random = np.random.default_rng(11)
    mask = batch(11)["mask"]
    vpreds, returns, values = (random.normal(size=mask.shape) for _ in range(3))
    loss, clipped = np.zeros_like(mask), np.zeros_like(mask)
    for place in np.ndindex(*mask.shape):
        held = min(max(vpreds[place], values[place] - 0.5), values[place] + 0.5)
        free = (vpreds[place] - returns[place]) ** 2
        loss[place] = max(free, (held - returns[place]) ** 2) / 2
        clipped[place] = (held - returns[place]) ** 2 > free
    predictions = torch.tensor(vpreds, requires_grad=True)
    found, metrics = value_loss(
        predictions, torch.tensor(returns), torch.tensor(values), torch.tensor(mask),
        cliprange_value=0.5, loss_agg_mode=mode,
    )  # fmt: skip
    assert found.item() == pytest.approx(aggregated(loss, mask, mode), rel=1e-12)
    assert metrics["critic/vf_clipfrac"] == pytest.approx(aggregated(clipped, mask, "token-mean"))
    assert metrics["critic/vpred_mean"] == pytest.approx(aggregated(vpreds, mask, "token-mean"), rel=1e-12)
    found.backward()
    assert predictions.grad is not None
    assert predictions.grad.isfinite().all()
    assert predictions.grad.count_nonzero()


def test_names_of_losses() -> None:
    data = batch(12)
    assert float(called("geo-mean", data, "token-mean")[0]) == float(called("geo_mean", data, "token-mean")[0])
    with pytest.raises(ValueError, match="vanilla, gspo, gpg, clip_cov, kl_cov, geo_mean"):
        policy_loss("reinforce")
    with pytest.raises(ValueError, match="token-mean"):
        agg_loss(torch.ones(1, 1), torch.ones(1, 1), "mean")
    with pytest.raises(ValueError, match="low_var_kl"):
        kl_penalty(torch.zeros(1), torch.zeros(1), "full")


@pytest.mark.parametrize("name", LOSS_MODES)
def test_rows_without_a_valid_token_have_no_loss(name: str) -> None:
    data = {key: value[1:2] for key, value in batch(13).items()}
    loss, metrics = called(name, data, "seq-mean-token-mean")
    assert float(loss) == 0.0
    assert set(metrics.values()) == {0.0}
