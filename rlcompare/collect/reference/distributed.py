"""Communication between the processes of a run. With one process there is no process group, and no communication."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from rlcompare.collect.reference.launched import LAUNCHED, is_launched

_BACKENDS = {"cpu": "gloo", "cuda": "nccl", "npu": "hccl"}


@dataclass(frozen=True)
class World:
    """The processes of a run, and which one this is.

    Attributes:
        device: where this process computes: ``cpu``, ``cuda:N`` or ``npu:N``.
    """

    rank: int
    size: int
    device: torch.device

    @property
    def is_first(self) -> bool:
        """Whether this process writes the files that are written once per run."""
        return self.rank == 0

    def gather_rows(self, rows: torch.Tensor) -> torch.Tensor:
        """Rows of all ranks (size x N, …), in the order of the ranks; every rank has as many (N, …)."""
        if self.size == 1:
            return rows
        parts = [torch.empty_like(rows) for _ in range(self.size)]
        dist.all_gather(parts, rows.contiguous())
        return torch.cat(parts)

    def from_first(self, value: torch.Tensor) -> torch.Tensor:
        """The first rank's tensor. The other ranks pass one of the same shape and type."""
        if self.size > 1:
            value = value.contiguous()
            dist.broadcast(value, src=0)
        return value

    def own_rows(self, rows: torch.Tensor) -> torch.Tensor:
        """This rank's part (N, …) of rows of all ranks (size x N, …)."""
        share = rows.shape[0] // self.size
        return rows[self.rank * share : (self.rank + 1) * share]

    def sums(self, values: Mapping[str, float]) -> dict[str, float]:
        """Sums over ranks, by name. All ranks must pass the same names in the same order."""
        return self._reduced(values, dist.ReduceOp.SUM)

    def maxima(self, values: Mapping[str, float]) -> dict[str, float]:
        """Maxima over ranks, by name."""
        return self._reduced(values, dist.ReduceOp.MAX)

    def _reduced(self, values: Mapping[str, float], operation: dist.ReduceOp.RedOpType) -> dict[str, float]:
        if self.size == 1 or not values:
            return dict(values)
        exact = torch.float32 if self.device.type == "npu" else torch.float64
        packed = torch.tensor(list(values.values()), dtype=exact, device=self.device)
        dist.all_reduce(packed, operation)
        return dict(zip(values, packed.tolist(), strict=True))

    def gather_lists(self, own: list[Any]) -> list[Any]:
        """Elements of all ranks' lists, in the order of the ranks."""
        if self.size == 1:
            return own
        lists: list[list[Any]] = [[] for _ in range(self.size)]
        dist.all_gather_object(lists, own)
        return [element for part in lists for element in part]

    def barrier(self) -> None:
        """Waits for all ranks."""
        if self.size > 1:
            dist.barrier()


def join(device_type: str) -> World:
    """Joins the process group that a launcher's environment names; a world of one without it."""
    rank, size, local = (int(os.environ[name]) for name in LAUNCHED) if is_launched() else (0, 1, 0)
    device = torch.device(device_type) if device_type == "cpu" else torch.device(device_type, local)
    if device_type != "cpu":
        getattr(torch, device_type).set_device(device)
    if size > 1:
        dist.init_process_group(_BACKENDS[device_type])
    return World(rank, size, device)


def leave(world: World) -> None:
    """Leaves the process group."""
    if world.size > 1 and dist.is_initialized():
        dist.destroy_process_group()
