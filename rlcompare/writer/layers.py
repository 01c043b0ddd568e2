"""Operators of one transformer layer, forward and backward, with the kernels that they launch."""

from __future__ import annotations

from rlcompare.writer import kernels as k
from rlcompare.writer.model import KernelSpec, Tensor
from rlcompare.writer.program import Op, backward, call

HIDDEN = 1024
HEADS = 16
FFN = 2816
VOCABULARY = 32_000
LAYER_PARAMETERS = HIDDEN * (3 * HIDDEN + HIDDEN + 2 * FFN) + FFN * HIDDEN


def linear(at: str, short: str, rows: int, inner: int, columns: int, saved: str | None) -> Op:
    """A linear layer; if its output is saved, it has a backward operator."""
    spec = k.matmul("aclnnMm", rows, inner, columns)
    label = f"{at}.{short}" if saved else None
    return call("aten::mm", f"{at}.{short}", "aclnnMm", (spec,), outer="aten::linear", forward=label, saved=saved)


def vector_op(name: str, at: str, short: str, api: str, spec: KernelSpec, saved: str | None) -> Op:
    """An operator of one kernel."""
    return call(name, f"{at}.{short}", api, (spec,), forward=f"{at}.{short}" if saved else None, saved=saved)


def norm(at: str, short: str, rows: int, saved: str | None) -> Op:
    """RmsNorm over the hidden size."""
    hidden = Tensor((rows, HIDDEN))
    spec = k.vector("aclnnRmsNorm", "RmsNorm", (hidden, Tensor((HIDDEN,))), (hidden,), inner="RmsNorm")
    return vector_op("npu::npu_rms_norm", at, short, "aclnnRmsNorm", spec, saved)


def residual(at: str, short: str, rows: int, saved: str | None) -> Op:
    """The addition around a block."""
    hidden = Tensor((rows, HIDDEN))
    spec = k.vector("aclnnAdd", "Add", (hidden, hidden), (hidden,))
    return vector_op("aten::add", at, short, "aclnnAdd", spec, saved)


def swiglu(at: str, rows: int, saved: str | None) -> Op:
    """The gated activation of the feed-forward block."""
    gates, ffn = Tensor((rows, 2 * FFN)), Tensor((rows, FFN))
    spec = k.vector("aclnnSwiGlu", "SwiGlu", (gates,), (ffn,), inner="SwiGlu")
    return vector_op("npu::npu_swiglu", at, "swiglu", "aclnnSwiGlu", spec, saved)


def dense_layer(at: str, batch: int, length: int, saved: str | None) -> list[Op]:
    """A layer over whole sequences."""
    rows = batch * length
    heads = Tensor((batch, length, HEADS, HIDDEN // HEADS))
    rotary = k.vector("aclnnRotaryPositionEmbedding", "RotaryPositionEmbedding", (heads, heads), (heads,))
    attention = k.flash_attention(batch, HEADS, length, HIDDEN // HEADS, backward=False)
    return [
        norm(at, "norm1", rows, saved),
        linear(at, "qkv", rows, HIDDEN, 3 * HIDDEN, saved),
        vector_op("npu::npu_rotary_mul", at, "rotary", "aclnnRotaryPositionEmbedding", rotary, saved),
        vector_op("npu::npu_fusion_attention", at, "attention", "aclnnFlashAttentionScore", attention, saved),
        linear(at, "out", rows, HIDDEN, HIDDEN, saved),
        residual(at, "add1", rows, saved),
        norm(at, "norm2", rows, saved),
        linear(at, "gate_up", rows, HIDDEN, 2 * FFN, saved),
        swiglu(at, rows, saved),
        linear(at, "down", rows, FFN, HIDDEN, saved),
        residual(at, "add2", rows, saved),
    ]


def decode_layer(at: str, batch: int, context: int) -> list[Op]:
    """A layer over one new token per sequence."""
    attention = k.paged_attention(batch, context, HEADS, HIDDEN // HEADS)
    return [
        norm(at, "norm1", batch, None),
        linear(at, "qkv", batch, HIDDEN, 3 * HIDDEN, None),
        vector_op("atb::_npu_paged_attention", at, "attention", "PagedAttentionOperation", attention, None),
        linear(at, "out", batch, HIDDEN, HIDDEN, None),
        residual(at, "add1", batch, None),
        norm(at, "norm2", batch, None),
        linear(at, "gate_up", batch, HIDDEN, 2 * FFN, None),
        swiglu(at, batch, None),
        linear(at, "down", batch, FFN, HIDDEN, None),
    ]


def grad_matmuls(at: str, short: str, rows: int, inner: int, columns: int) -> Op:
    """Gradients of a linear layer: of its input and of its weight."""
    key = f"{at}.{short}"
    inner_op = "aten::mm"
    data = call(inner_op, f"{key}.data", "aclnnMm", (k.matmul("aclnnMm", rows, columns, inner),), thread="autograd")
    weight = call(inner_op, f"{key}.weight", "aclnnMm", (k.matmul("aclnnMm", columns, rows, inner),), thread="autograd")
    return backward("MmBackward0", key, _forward_label(key), (data, weight))


def grad_vector(at: str, short: str, node: str, name: str, api: str, spec: KernelSpec) -> Op:
    """The backward operator of an operator of one kernel."""
    key = f"{at}.{short}"
    return backward(node, key, _forward_label(key), (call(name, key, api, (spec,), thread="autograd"),))


def _forward_label(key: str) -> str:
    """The key of the forward operator: backward keys are the same with ``.bwd`` inserted."""
    return key.replace(".bwd.", ".", 1)


def backward_layer(at: str, batch: int, length: int) -> list[Op]:
    """Gradients of a layer over whole sequences."""
    rows = batch * length
    hidden, gates, ffn = Tensor((rows, HIDDEN)), Tensor((rows, 2 * FFN)), Tensor((rows, FFN))
    heads = Tensor((batch, length, HEADS, HIDDEN // HEADS))
    norm_grad = k.vector("aclnnRmsNormGrad", "RmsNormGrad", (hidden, hidden), (hidden,), "MIX_AIV")
    swiglu_grad = k.vector("aclnnSwiGluGrad", "SwiGluGrad", (ffn, gates), (gates,))
    attention = k.flash_attention(batch, HEADS, length, HIDDEN // HEADS, backward=True)
    rotary = k.vector("aclnnRotaryPositionEmbeddingGrad", "RotaryPositionEmbeddingGrad", (heads, heads), (heads,))
    add = k.vector("aclnnInplaceAdd", "Add", (hidden, hidden), (hidden,))
    rms = ("NpuRmsNormBackward0", "npu::npu_rms_norm_backward", "aclnnRmsNormGrad", norm_grad)
    return [
        grad_matmuls(at, "down", rows, FFN, HIDDEN),
        grad_vector(at, "swiglu", "NpuSwigluBackward0", "npu::npu_swiglu_backward", "aclnnSwiGluGrad", swiglu_grad),
        grad_matmuls(at, "gate_up", rows, HIDDEN, 2 * FFN),
        grad_vector(at, "norm2", *rms),
        grad_vector(at, "add2", "AddBackward0", "aten::add_", "aclnnInplaceAdd", add),
        grad_matmuls(at, "out", rows, HIDDEN, HIDDEN),
        grad_vector(at, "attention", "NpuFusionAttentionBackward0", "npu::npu_fusion_attention_grad",
                    "aclnnFlashAttentionScoreGrad", attention),
        grad_vector(at, "rotary", "NpuRotaryMulBackward0", "npu::npu_rotary_mul_backward",
                    "aclnnRotaryPositionEmbeddingGrad", rotary),
        grad_matmuls(at, "qkv", rows, HIDDEN, 3 * HIDDEN),
        grad_vector(at, "norm1", *rms),
    ]  # fmt: skip
