"""Real numbers on a device whose operators do nothing: after torch_npu has launched one, it is computed on the host.

PyTorch loads this when it is imported, as it loads torch_npu: by the entry point beside this file. $STAND_IN_NUMBERS=0
switches it off; then all results are what was in memory.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

_NOTHING_TO_COMPUTE = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_local_scalar_dense"}
_LEFT_ALONE = {"c10d", "_c10d_functional"}
"""Namespaces whose operators do their work on the device's memory themselves, or have none to do."""

_thread = ThreadPoolExecutor(1)
_generators: dict[int, tuple[torch.Generator, torch.Generator]] = {}


def start() -> None:
    """Switches it on for this process where there is a device."""
    if os.environ.get("STAND_IN_NUMBERS") == "0" or os.environ.get("STAND_IN_DEVICES") == "0":
        return
    import torch_npu  # noqa: F401  # PyTorch may be about to load it after this

    for name in ("__enter__", "__exit__"):
        setattr(torch.profiler.record_function, name, _without_mode(getattr(torch.profiler.record_function, name)))
    _HostNumbers().__enter__()


def _without_mode(method: Callable[..., Any]) -> Callable[..., Any]:
    """Ranges that the user opens are told past the mode, whose own event would enclose a step's beginning."""

    def called(*args: Any) -> Any:
        with _disable_current_modes():
            return method(*args)

    return called


class _HostNumbers(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if any(kind.__name__ == "FakeTensor" for kind in types):
            return func(*args, **kwargs)  # which only pretends to have memory
        if any(kind is not torch.Tensor and not issubclass(kind, torch.nn.Parameter) for kind in types):
            return NotImplemented  # a DTensor and the like: the tensors inside come by in their turn
        if any(found.alias_info and not found.alias_info.is_write for found in func._schema.returns):
            # A view, or an operator such as reshape, which copies where it must.
            with self:
                parts = func.decompose(*args, **kwargs)
            return func(*args, **kwargs) if parts is NotImplemented else parts
        if func.namespace in _LEFT_ALONE or func._opname in _NOTHING_TO_COMPUTE:
            return func(*args, **kwargs)
        if not any(map(_is_ours, tree_leaves((args, kwargs)))):
            return func(*args, **kwargs)
        torch.npu.synchronize()
        host_args, host_kwargs = tree_map(_on_host, (args, kwargs))
        _computed_elsewhere().value = 1
        made = func(*args, **kwargs)
        torch.npu.synchronize()
        _computed_elsewhere().value = 0
        torch._C._autograd._enable_record_function(False)  # what the host does here is no part of the profile
        try:
            return tree_map(_taken_over, made, _computed(func, host_args, host_kwargs))
        finally:
            torch._C._autograd._enable_record_function(True)


@cache
def _computed_elsewhere() -> Any:
    """What tells operators.c to leave the operator to this module."""
    return ctypes.c_int.in_dll(ctypes.CDLL("libopapi.so"), "computed_elsewhere")


def _is_ours(value: object) -> bool:
    device = value if isinstance(value, torch.device) else getattr(value, "device", None)
    return isinstance(device, torch.device) and device.type == "npu"


def _on_host(value: Any) -> Any:
    """The host's counterpart: a tensor over the same memory, a generator of the same seed."""
    if not _is_ours(value):
        return value
    if isinstance(value, torch.device):
        return torch.device("cpu")
    if isinstance(value, torch.Generator):
        if id(value) not in _generators:
            # Both are kept, so that the number stays that generator's.
            _generators[id(value)] = value, torch.Generator().manual_seed(value.initial_seed())
        return _generators[id(value)][1]
    storage = value.untyped_storage()
    if not storage.nbytes():
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
    memory = (ctypes.c_byte * storage.nbytes()).from_address(storage.data_ptr())
    flat = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    return torch.empty(0, dtype=value.dtype).set_(flat, value.storage_offset(), value.shape, value.stride())


def _taken_over(made: Any, computed: Any) -> Any:
    """The device's result with the host's numbers; a result of another size is made anew."""
    if not isinstance(made, torch.Tensor) or not isinstance(computed, torch.Tensor):
        return made
    if made.shape != computed.shape or made.dtype != computed.dtype:
        return computed.to(made.device)
    target = _on_host(made)
    if target.data_ptr() != computed.data_ptr():
        target.copy_(computed)
    return made


def _computed(func: Any, args: Any, kwargs: Any) -> Any:
    """What the operator gives on the host."""
    own = _ON_HOST.get(func._opname)
    if own is None:
        return func(*args, **kwargs)
    names = [argument.name for argument in func._schema.arguments]
    return own(**dict(zip(names, args, strict=False)), **kwargs)


def _gradients(forward: Callable[..., Any], inputs: tuple[Any, ...], grad: Any) -> tuple[Any, ...]:
    """Gradients of the inputs, in a thread of their own: in the operator's, autograd is past."""

    def computed() -> tuple[Any, ...]:
        leaves = [tensor.detach().requires_grad_() for tensor in inputs]
        return torch.autograd.grad(forward(*leaves), leaves, grad)

    return _thread.submit(computed).result()


def _attention(query: Any, key: Any, value: Any, scale: float, atten_mask: Any = None, **_: Any) -> tuple[Any, ...]:
    allowed = None if atten_mask is None else ~atten_mask.bool()
    return (scaled_dot_product_attention(query, key, value, attn_mask=allowed, scale=scale), *[0] * 5)


def _attention_grad(
    query: Any, key: Any, value: Any, dy: Any, scale_value: float, atten_mask: Any = None, **_: Any
) -> tuple[Any, ...]:
    def forward(*inputs: Any) -> Any:
        return _attention(*inputs, scale_value, atten_mask)[0]

    return (*_gradients(forward, (query, key, value), dy), 0, 0)


def _gather_backward(grad: Any, self_size: Any, dim: int, index: Any, sparse_grad: bool) -> Any:
    return grad.new_zeros(self_size).scatter_add(dim, index, grad)


def _matmul_backward(grad: Any, self: Any, other: Any, mask: Any) -> tuple[Any, ...]:
    return _gradients(torch.matmul, (self, other), grad)


def _repeat_backward(grad: Any, input: Any, repeats: Any, dim: int | None = None) -> Any:
    return _gradients(lambda value: value.repeat_interleave(repeats, dim), (input,), grad)[0]


_ON_HOST = {
    "repeat_interleave_backward_int": _repeat_backward,
    "matmul_backward": _matmul_backward,
    "npu_fusion_attention_v3": _attention,
    "npu_fusion_attention_grad_v3": _attention_grad,
    "npu_gather_backward": _gather_backward,
}
"""What torch_npu has operators of its own for; attention with the layout BNSD, which PyTorch's has."""
