"""What several ranks compute together is what one computes alone (real gloo processes)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from rlcompare.collect import distributed  # noqa: E402
from rlcompare.collect.batch import Batch  # noqa: E402
from rlcompare.collect.config.load import load_config  # noqa: E402
from rlcompare.collect.distributed import World  # noqa: E402
from rlcompare.collect.global_batch import global_batch  # noqa: E402

ROWS, PROMPT, RESPONSE = 16, 4, 12


def batch() -> Batch:
    """The same tensors in every process: responses of different lengths, and two policies that differ."""
    random = torch.Generator().manual_seed(11)
    lengths = torch.randint(1, RESPONSE + 1, (ROWS, 1), generator=random)
    mask = (torch.arange(RESPONSE) < lengths).float()
    ids = torch.randint(3, 50, (ROWS, PROMPT + RESPONSE), generator=random)
    old = -torch.rand(ROWS, RESPONSE, generator=random) * 3 * mask
    return Batch(
        input_ids=ids,
        attention_mask=torch.cat((torch.ones(ROWS, PROMPT), mask), dim=1).long(),
        position_ids=torch.arange(PROMPT + RESPONSE).expand(ROWS, -1),
        responses=ids[:, PROMPT:],
        response_mask=mask,
        rollout_log_probs=(old + 0.1 * torch.randn(ROWS, RESPONSE, generator=random)) * mask,
        scores=torch.rand(ROWS, generator=random),
        groups=torch.arange(ROWS) // 4,
        old_log_probs=old,
        values=torch.rand(ROWS, RESPONSE, generator=random) * mask,
    )


def compute(world: World, estimator: str) -> dict[str, object]:
    config = load_config([f"algorithm.adv_estimator={estimator}"])
    whole = global_batch(batch().own(world), world, config)
    own = whole.batch.own(world)
    assert own.advantages is not None and own.weights is not None
    return {"metrics": whole.metrics, "advantages": own.advantages.tolist(), "weights": own.weights.tolist()}


def rank_main(rank: int, size: int, port: int, folder: str) -> None:
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    world = distributed.join("cpu")
    for estimator in ("grpo", "gae"):
        Path(folder, f"{estimator}{rank}.json").write_text(json.dumps(compute(world, estimator)))
    distributed.leave(world)


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


def test_two_ranks_agree_with_one(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(rank_main, (2, free_port(), str(tmp_path)), nprocs=2)
    for estimator in ("grpo", "gae"):
        alone = compute(World(0, 1, torch.device("cpu")), estimator)
        ranks = [json.loads((tmp_path / f"{estimator}{rank}.json").read_text()) for rank in range(2)]
        assert ranks[0]["metrics"].keys() == alone["metrics"].keys()
        assert any(key.startswith("mismatch/") for key in alone["metrics"])
        for key, value in alone["metrics"].items():
            assert ranks[0]["metrics"][key] == pytest.approx(value, abs=1e-6), key
        for name in ("advantages", "weights"):
            together = torch.tensor(ranks[0][name] + ranks[1][name])
            torch.testing.assert_close(together, torch.tensor(alone[name]), rtol=0, atol=1e-6)
