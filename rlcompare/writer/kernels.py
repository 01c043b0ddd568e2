"""Kernels of a small transformer, with plausible durations.

The cost model is rough on purpose: a kernel takes a fixed time plus the larger of its arithmetic at 180 TFLOP/s and its
memory traffic at 0.9 to 1.6 TB/s. What matters is that durations follow the shapes.
"""

from __future__ import annotations

from rlcompare.writer.model import KernelSpec, Tensor

FLOPS_PER_NS = 180_000
WEIGHT_BYTES_PER_NS = 1_600
VECTOR_BYTES_PER_NS = 900
CUBE_CORES = 24
VECTOR_CORES = 48


def matmul(api: str, rows: int, inner: int, columns: int) -> KernelSpec:
    """``rows × inner`` times ``inner × columns``; ``api`` is the aclnn call that launches it."""
    cost = 4_000 + max(2 * rows * inner * columns // FLOPS_PER_NS, 2 * inner * columns // WEIGHT_BYTES_PER_NS)
    return KernelSpec(
        f"{api}_MatMulCommon_MatMulV2",
        "MatMulV2",
        "AI_CORE",
        cost,
        (Tensor((rows, inner)), Tensor((columns, inner))),
        (Tensor((rows, columns)),),
        CUBE_CORES,
    )


def vector(
    api: str,
    op_type: str,
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    core_type: str = "AI_VECTOR_CORE",
    inner: str | None = None,
) -> KernelSpec:
    """A kernel that reads its inputs and writes its outputs once. ``inner`` is the middle part of its name."""
    traffic = sum(t.size_bytes for t in inputs) + sum(t.size_bytes for t in outputs)
    blocks = max(1, min(VECTOR_CORES, traffic // 2_048))
    name = f"{api}_{inner or f'{op_type}AiCore'}_{op_type}"
    return KernelSpec(
        name,
        op_type,
        core_type,
        1_300 + traffic // VECTOR_BYTES_PER_NS,
        inputs,
        outputs,
        blocks,
        2 * blocks if core_type == "MIX_AIV" else 0,
    )


def flash_attention(batch: int, heads: int, length: int, head_size: int, *, backward: bool) -> KernelSpec:
    """Fused attention over full sequences; its gradient takes 2.5 times as long."""
    op_type = "FlashAttentionScoreGrad" if backward else "FlashAttentionScore"
    flops = 4 * batch * heads * length * length * head_size
    cost = 8_000 + flops * (5 if backward else 2) // (2 * 120_000)
    hidden = Tensor((batch, length, heads * head_size))
    count = 4 if backward else 3
    return KernelSpec(
        f"aclnn{op_type}_{op_type}_{op_type}",
        op_type,
        "MIX_AIC",
        cost,
        (hidden,) * count,
        (hidden,) * (3 if backward else 1),
        CUBE_CORES,
        2 * CUBE_CORES,
    )


def paged_attention(batch: int, context: int, heads: int, head_size: int) -> KernelSpec:
    """Attention of one new token per sequence over a paged cache: bound by reading the cache."""
    hidden = heads * head_size
    query = Tensor((batch, heads, head_size))
    cache = Tensor((batch * ((context + 127) // 128), 128, heads, head_size))
    cost = 9_000 + 4 * batch * context * hidden // VECTOR_BYTES_PER_NS
    return KernelSpec(
        "PagedAttentionOperation_PagedAttentionMaskNdKernel",
        "PagedAttention",
        "MIX_AIC",
        cost,
        (query, cache, cache),
        (query,),
        CUBE_CORES,
        2 * CUBE_CORES,
    )


def random_uniform(elements: int) -> KernelSpec:
    """Random numbers from the DSA unit, which has no AI Core and so no counters."""
    return KernelSpec(
        "aclnnMultinomial_DSARandomUniform_DSARandomUniform",
        "DSARandomUniform",
        "DSA_SQE",
        2_100 + elements // 400,
        (),
        (Tensor((elements,), "FLOAT"),),
    )


def transform(ordinal: int, tensor: Tensor) -> KernelSpec:
    """A change of format, named with a running number as the graph engine does."""
    blocked = Tensor((*tensor.shape[:-1], tensor.shape[-1] // 16, 16), tensor.dtype, "FRACTAL_NZ")
    return KernelSpec(
        f"trans_TransData_{ordinal}",
        "TransData",
        "AI_VECTOR_CORE",
        1_300 + 2 * tensor.size_bytes // VECTOR_BYTES_PER_NS,
        (tensor,),
        (blocked,),
        32,
    )
