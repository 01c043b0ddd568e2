"""Means over the valid tokens of (N, R) tensors. Other values, NaN included, are ignored."""

from __future__ import annotations

import torch
from torch import Tensor


def masked(values: Tensor, mask: Tensor) -> Tensor:
    """The values, 0 where the mask is; no gradient flows to the others, not even a NaN's."""
    return torch.where(mask.bool(), values, 0.0)


def masked_sum(values: Tensor, mask: Tensor, dim: int | None = None) -> Tensor:
    """The sum of the valid values, of everything or along one dimension."""
    return masked(values, mask).sum() if dim is None else masked(values, mask).sum(dim)


def masked_mean(values: Tensor, mask: Tensor, dim: int | None = None) -> Tensor:
    """The mean of the valid values; 0 where there are none."""
    count = mask.bool().sum() if dim is None else mask.bool().sum(dim)
    return masked_sum(values, mask, dim) / count.clamp(min=1)
