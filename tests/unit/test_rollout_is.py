"""Importance-sampling weights against verl's recorded outputs, and properties that hold for any batch."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
from torch import Tensor  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from rlcompare import rollout_is  # noqa: E402
from rlcompare.rollout_is import compute_rollout_is  # noqa: E402

Metrics = dict[str, float]


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, dict[str, Any]]:
    text = (shared / "oracle" / "rollout_is_cases.json").read_text()
    return {case["name"]: case for case in json.loads(text)["cases"]}


CASES = (
    *(f"{level}-{mode}-len-n0.1" for level in rollout_is.LEVELS for mode in rollout_is.MODES),
    *(f"{level}-clip-{bounds}" for level in rollout_is.LEVELS for bounds in ("thr1.5-lowNone", "thr10.0-low0.1")),
    *(f"token-truncate-veto{veto}" for veto in ("None", "0.001", "0.9")),
    *(f"extreme-{level}-truncate" for level in rollout_is.LEVELS),
    *(f"all-masked-rows-{level}-clip" for level in rollout_is.LEVELS),
    "neg-inf-training-logprob", "nan-in-padding-token", "nan-in-valid-token", "empty-mask", "single-valid-token",
    "length-one", "mask-bool", "identical-token", "identical-geometric", "lower-zero", "threshold-none", "bad-level",
    "bad-mode", "large-token-truncate",
)  # fmt: skip


def weighted(*tensors: Tensor, **options: Any) -> tuple[Tensor, dict[str, float]]:
    """Weights and metrics, where there must be weights."""
    weights, metrics = compute_rollout_is(*tensors, **options)
    assert weights is not None
    return weights, metrics


def test_every_recorded_case_is_tested(cases: dict[str, dict[str, Any]]) -> None:
    assert sorted(CASES) == sorted(cases)


@pytest.mark.parametrize("lower", [None, 3.0])
def test_bounds_the_wrong_way_round_clip_each_token_once(lower: float | None) -> None:
    """Every weight is outside of one of them, as in verl, whose lower bound is 1/threshold too."""
    log_ratio = torch.log(torch.tensor([[0.4, 1.0, 2.5], [4.0, 1.0, 0.1]]))
    weights, metrics = compute_rollout_is(
        log_ratio, torch.zeros(2, 3), torch.tensor([[1, 1, 1], [1, 1, 0]]),
        level="token", mode="clip", threshold=0.5, threshold_lower=lower,
    )  # fmt: skip
    assert weights is not None and weights.tolist() == [[0.0] * 3] * 2
    assert metrics["mismatch/rollout_is_clipped_fraction"] == 1.0
    assert metrics["mismatch/rollout_is_seq_clipped_fraction"] == 1.0


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("name", CASES)
def test_recorded_case(cases: dict[str, dict[str, Any]], name: str, precision: str) -> None:
    case = cases[name]
    expected = case[f"expected_{precision}"]
    dtype = getattr(torch, precision)
    mask = torch.tensor(case["inputs"]["response_mask"], dtype=getattr(torch, case["mask_dtype"]))
    old, rollout = (tensor(case["inputs"][key], dtype) for key in ("old_log_prob", "rollout_log_prob"))
    options: dict[str, Any] = {"level": "token", "mode": "truncate"}
    options |= {key.removeprefix("rollout_is_"): value for key, value in case["kwargs"].items()}

    if "error" in expected:
        with pytest.raises({"ValueError": ValueError, "AssertionError": AssertionError}[expected["error"]]):
            compute_rollout_is(old, rollout, mask, **options)
        return
    weights, metrics = compute_rollout_is(old, rollout, mask, **options)

    assert set(metrics) == set(expected["metrics"])
    for key, value in expected["metrics"].items():
        near = {"rel": 1e-9, "abs": 1e-12} if precision == "float64" else {"rel": 2e-4, "abs": 1e-6}
        if precision == "float32" and key.endswith("rollout_is_std"):
            near["abs"] = 1e-3
        assert metrics[key] == pytest.approx(float(value), nan_ok=True, **near), key
    if expected["weights"] is None:
        assert weights is None
        return
    assert weights is not None and weights.dtype == dtype
    rtol = 1e-9 if precision == "float64" else 2e-4
    wanted = tensor(expected["weights"], dtype)
    torch.testing.assert_close(weights[mask.bool()], wanted[mask.bool()], rtol=rtol, atol=0, equal_nan=True)
    assert not weights[~mask.bool()].count_nonzero()  # also where verl's own hold NaN in padding


def tensor(rows: list[list[float | str]], dtype: Any) -> Any:
    return torch.tensor([[float(value) for value in row] for row in rows], dtype=dtype)


def batch(seed: int, n: int = 12, length: int = 20, noise: float = 0.2, dtype: Any = None) -> tuple[Any, Any, Any]:
    """Log-probabilities of two near policies, and right-padded responses of any length, some of them empty."""
    generator = torch.Generator().manual_seed(seed)
    dtype = dtype or torch.float64
    rollout = -torch.rand(n, length, generator=generator, dtype=dtype) * 3
    old = rollout + noise * torch.randn(n, length, generator=generator, dtype=dtype)
    lengths = torch.randint(0, length + 1, (n, 1), generator=generator)
    lengths[0] = length
    return old, rollout, (torch.arange(length) < lengths).to(dtype)


SEEDS = st.integers(0, 2**31)
LEVELS = st.sampled_from(rollout_is.LEVELS)
MODES = st.sampled_from(rollout_is.MODES)
FAST = settings(max_examples=25, deadline=None)


@FAST
@given(SEEDS, LEVELS, MODES)
def test_identical_policies_have_weight_one_and_full_sample_size(seed: int, level: str, mode: str) -> None:
    _, rollout, mask = batch(seed)
    weights, metrics = compute_rollout_is(rollout, rollout, mask, level=level, mode=mode, threshold=2.0)
    assert torch.equal(weights, mask)
    assert metrics["mismatch/rollout_is_eff_sample_size"] == pytest.approx(1, abs=3e-8)  # verl adds 1e-8 to a mean
    for name in ("mean", "max", "min", "p25", "p50", "p99"):
        assert metrics[f"mismatch/rollout_is_{name}"] == 1.0
    for name in (
        "rollout_is_std",
        "rollout_is_veto_fraction",
        "mismatch_kl",
        "mismatch_k3_kl",
        "mismatch_log_ppl_diff",
    ):
        assert metrics[f"mismatch/{name}"] == 0.0


@FAST
@given(SEEDS, LEVELS, MODES, st.sampled_from([math.nan, math.inf, -math.inf, 1e30]))
def test_what_padding_holds_changes_nothing(seed: int, level: str, mode: str, filler: float) -> None:
    old, rollout, mask = batch(seed)
    clean = weighted(old, rollout, mask, level=level, mode=mode, threshold=1.5)
    dirty_old, dirty_rollout = (tokens.masked_fill(mask == 0, filler) for tokens in (old, rollout))
    dirty = compute_rollout_is(dirty_old, dirty_rollout, mask, level=level, mode=mode, threshold=1.5)
    assert dirty[1] == clean[1]
    assert torch.equal(dirty[0], clean[0])


@FAST
@given(SEEDS, LEVELS, MODES)
def test_more_padding_changes_nothing(seed: int, level: str, mode: str) -> None:
    old, rollout, mask = batch(seed)
    clean = weighted(old, rollout, mask, level=level, mode=mode, threshold=1.5)
    wider = [torch.cat([tokens, torch.full((len(tokens), 7), value)], 1) for tokens, value in
             ((old, math.nan), (rollout, -1.0), (mask, 0.0))]  # fmt: skip
    weights, metrics = weighted(*wider, level=level, mode=mode, threshold=1.5)
    assert metrics == pytest.approx(clean[1], rel=1e-12)
    torch.testing.assert_close(weights[:, :20], clean[0])


@FAST
@given(SEEDS, LEVELS, st.floats(-0.5, 0.5))
def test_a_shift_of_the_log_ratio_scales_the_weights(seed: int, level: str, shift: float) -> None:
    old, rollout, mask = batch(seed)
    options: dict[str, Any] = {"level": level, "mode": "truncate", "threshold": 1e8, "veto_threshold": None}
    before, metrics = weighted(old, rollout, mask, **options)
    after, shifted = weighted(old + shift, rollout, mask, **options)
    power = mask.sum(-1, keepdim=True) if level == "sequence" else mask.new_ones(len(mask), 1)
    torch.testing.assert_close(after, before * torch.exp(power * shift), rtol=1e-9, atol=1e-12)
    kl = "mismatch/mismatch_kl"
    assert shifted[kl] == pytest.approx(metrics[kl] - shift, abs=1e-9)


@FAST
@given(SEEDS, LEVELS, MODES)
def test_bounds_hold_and_the_metrics_do_not_see_them(seed: int, level: str, mode: str) -> None:
    old, rollout, mask = batch(seed, noise=1.0)
    loose, open_metrics = weighted(old, rollout, mask, level=level, mode="truncate", threshold=1e9)
    weights, metrics = weighted(old, rollout, mask, level=level, mode=mode, threshold=1.25)
    assert weights.max() <= 1.25
    inside = (loose >= 0.8) & (loose <= 1.25)
    assert torch.equal(weights[inside], loose[inside])
    outside = weights[(loose < 0.8) & (mask > 0)]
    assert torch.equal(outside, torch.zeros_like(outside) if mode == "clip" else loose[(loose < 0.8) & (mask > 0)])
    for name in ("mean", "max", "min", "p50", "p99", "seq_mean", "seq_std"):
        key = f"mismatch/rollout_is_{name}"
        assert metrics[key] == open_metrics[key]


@FAST
@given(SEEDS, LEVELS, MODES)
def test_ranks_that_gather_their_rows_get_what_one_process_gets(seed: int, level: str, mode: str) -> None:
    whole = batch(seed, dtype=torch.float32)
    weights, metrics = weighted(*whole, level=level, mode=mode, threshold=1.5)
    # GIVEN rows dealt out to four ranks and gathered in the ranks' order
    order = torch.cat([torch.arange(rank, len(whole[0]), 4) for rank in range(4)])
    gathered, again = weighted(*(t[order] for t in whole), level=level, mode=mode, threshold=1.5)
    assert again == pytest.approx(metrics, rel=1e-6, abs=1e-6)
    assert torch.equal(gathered, weights[order])


def test_metrics_of_ranks_cannot_be_averaged() -> None:
    old, rollout, mask = batch(1, n=64, noise=0.7)
    whole = compute_rollout_is(old, rollout, mask, level="token", mode="truncate", threshold=4.0)[1]
    halves = [
        compute_rollout_is(old[rows], rollout[rows], mask[rows], level="token", mode="truncate", threshold=4.0)[1]
        for rows in (slice(0, 8), slice(8, 64))
    ]
    key = "mismatch/rollout_is_eff_sample_size"
    assert abs(sum(half[key] for half in halves) / 2 - whole[key]) > 1e-4


@pytest.fixture(params=[1, 50, 10**9])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(rollout_is, "CHUNK_ELEMENTS", request.param)
    yield request.param


@pytest.mark.parametrize("level", rollout_is.LEVELS)
def test_the_size_of_chunks_changes_nothing(level: str, chunk: int) -> None:
    old, rollout, mask = batch(7, n=40)
    _, metrics = compute_rollout_is(old, rollout, mask, level=level, mode="clip", threshold=1.5)
    valid = mask > 0
    ratio = torch.exp(old - rollout)
    if level != "token":
        log_sum = ((old - rollout) * mask).sum(-1, keepdim=True)
        length = 1 if level == "sequence" else mask.sum(-1, keepdim=True).clamp(min=1)
        ratio = torch.exp(log_sum / length).expand_as(old)
    wanted = torch.quantile(ratio[valid], torch.tensor([0.25, 0.5, 0.75, 0.95, 0.99], dtype=old.dtype))
    found = [metrics[f"mismatch/rollout_is_p{q}"] for q in rollout_is.PERCENTILES]
    assert found == pytest.approx(wanted.tolist(), rel=1e-12)
    assert metrics["mismatch/rollout_is_mean"] == pytest.approx(ratio[valid].mean().item(), rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_percentiles_of_extreme_weights(dtype: Any) -> None:
    log_ratio = torch.linspace(-30, 30, 1001, dtype=dtype)[torch.randperm(1001)].view(1, -1)
    _, metrics = compute_rollout_is(
        log_ratio, torch.zeros_like(log_ratio), torch.ones_like(log_ratio), level="token", mode="clip", threshold=2.0
    )
    found = [math.log(metrics[f"mismatch/rollout_is_p{q}"]) for q in rollout_is.PERCENTILES]
    assert found == pytest.approx([-15, 0, 15, 20, 20], abs=1e-4)


def test_bfloat16_inputs_are_computed_in_float32() -> None:
    old, rollout, mask = (tokens.bfloat16() for tokens in batch(3))
    weights, metrics = weighted(old, rollout, mask, level="token", mode="truncate", threshold=2.0)
    _, wanted = compute_rollout_is(old.float(), rollout.float(), mask, level="token", mode="truncate", threshold=2.0)
    assert weights.dtype == torch.float32
    assert metrics == wanted


class Operations(TorchDispatchMode):
    """Names of the operations that run, and of those whose shape depends on the data (a bool index)."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(func.overloadpacket.__name__)
        if func.overloadpacket.__name__ == "index" and any(i is not None and i.dtype == torch.bool for i in args[1]):
            self.names.add("bool index")
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("level", rollout_is.LEVELS)
def test_nothing_before_the_transfer_waits_for_the_device(level: str) -> None:
    with Operations() as ran:
        compute_rollout_is(*batch(9), level=level, mode="clip", threshold=2.0)
    assert "stack" in ran.names
    waiting = {
        "_local_scalar_dense",
        "nonzero",
        "masked_select",
        "bool index",
        "_unique2",
        "equal",
        "repeat_interleave",
    }
    assert not waiting & ran.names


def test_no_gradient_passes_through_the_weights() -> None:
    old, rollout, mask = batch(4)
    weights, _ = weighted(old.requires_grad_(), rollout, mask, level="token", mode="clip", threshold=2.0)
    assert not weights.requires_grad


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"threshold": 0.0}, "rollout_is_threshold"),
        ({"threshold": math.nan}, "rollout_is_threshold"),
        ({"threshold_lower": -0.1}, "rollout_is_threshold_lower"),
        ({"veto_threshold": -1.0}, "rollout_is_veto_threshold"),
        ({"level": "batch"}, "sequence"),
        ({"mode": "mask"}, "clip"),
    ],
)
def test_impossible_options_are_named(options: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        compute_rollout_is(*batch(5), **{"level": "token", "mode": "truncate", "threshold": 2.0, **options})


def test_the_number_of_threads_is_as_before() -> None:
    threads = torch.get_num_threads()
    compute_rollout_is(*batch(8), level="token", mode="truncate", threshold=2.0)
    assert torch.get_num_threads() == threads
    torch.set_num_threads(threads + 1)
    try:
        with pytest.raises(AssertionError):
            old, rollout, mask = batch(8)
            compute_rollout_is(old, rollout, torch.zeros_like(mask), level="token", mode="truncate", threshold=2.0)
        assert torch.get_num_threads() == threads + 1
    finally:
        torch.set_num_threads(threads)


def test_shapes_must_agree() -> None:
    old, rollout, mask = batch(6)
    with pytest.raises(ValueError, match="shape"):
        compute_rollout_is(old, rollout[:, :-1], mask, level="token", mode="truncate", threshold=2.0)
    with pytest.raises(AssertionError):
        compute_rollout_is(old[:0], rollout[:0], mask[:0], level="token", mode="truncate", threshold=2.0)
