"""The work of an RL step of a small transformer, as instructions: generation, log-probabilities, actor update.

The shapes follow from the run: ``batch`` sequences, with responses longer by the token factor. Parameters are sharded.
So each layer's parameters are gathered while the previous layer computes, and its gradients are scattered during the
backward pass of the next one.
"""

from __future__ import annotations

from collections.abc import Callable

from rlcompare.writer import kernels as k
from rlcompare.writer.layers import (
    HIDDEN,
    LAYER_PARAMETERS,
    VOCABULARY,
    backward_layer,
    decode_layer,
    dense_layer,
    grad_matmuls,
    grad_vector,
    norm,
    vector_op,
)
from rlcompare.writer.model import KernelSpec, Tensor
from rlcompare.writer.program import (
    Backward,
    Collective,
    Copy,
    Idle,
    Instruction,
    Late,
    Module,
    Op,
    Release,
    Wait,
    call,
)
from rlcompare.writer.spec import ChangeKind, SampleRun


def phase_program(run: SampleRun, phase: str, late: bool) -> list[Instruction]:
    """The instructions of one phase.

    Args:
        late: the phase at whose start a late rank loses its time.
    """
    programs: dict[str, Callable[[_Work], None]] = {
        "generate_sequences": _generate,
        "compute_log_prob": _log_prob,
        "compute_ref_log_prob": _log_prob,
        "update_actor": _update,
    }
    work = _Work(run, phase)
    if late:
        work.add(Late())
    work.begin()
    programs[phase](work)
    return work.items


class _Work:
    """Collects the instructions of one phase, and knows its sizes."""

    def __init__(self, run: SampleRun, phase: str) -> None:
        tokens = run.factor(ChangeKind.TOKENS)
        self.run = run
        self.phase = phase
        self.items: list[Instruction] = []
        self.decode_steps = max(1, round(run.decode_steps * tokens))
        self.length = run.prompt_length + max(1, round(run.response_length * tokens))
        self.rows = run.batch * self.length
        self.transforms = 0
        self.serial = run.has(ChangeKind.LOST_OVERLAP)

    def add(self, *items: Instruction) -> None:
        self.items += items

    def begin(self) -> None:
        """Positions are created, then the batch is copied from the host."""
        ids = Tensor((self.rows,), "INT64")
        arange = k.vector("aclnnArange", "Range", (), (ids,))
        self.add(
            call("aten::arange", f"{self.phase}.arange", "aclnnArange", (arange,)),
            self.copy("host_to_device", f"{self.phase}.batch", self.rows * 24),
        )

    def copy(self, kind: str, key: str, size_bytes: int, *, blocking: bool = False) -> Op:
        """A tensor moves between host and device."""
        inner = Op("aten::copy_", f"{key}.copy_", (Copy(kind, size_bytes, blocking),))
        return Op("aten::to", key, (Op("aten::_to_copy", f"{key}._to_copy", (inner,)),))

    def item(self, key: str) -> Op:
        """The host reads one number, and therefore waits for the device."""
        inner = Op("aten::_local_scalar_dense", f"{key}.dense", (Copy("device_to_host", 4, True),))
        return Op("aten::item", key, (inner,))

    def collective(self, kind: str, count: int, key: str, dtype: str = "BFP16", thread: str = "main") -> None:
        self.add(Collective(kind, count, dtype, key, thread))
        if self.serial:
            self.add(Wait(key))

    def wait(self, key: str) -> None:
        if not self.serial:
            self.add(Wait(key))

    def gather(self, at: str, layer: int) -> None:
        """Ask for the parameters of a layer."""
        if layer < self.run.layers:
            self.collective("allGather", LAYER_PARAMETERS // self.run.world, f"{at}.l{layer}.gather")

    def layer(self, at: str, saved: str | None) -> None:
        """A layer over whole sequences, with the operators that changes insert."""
        self.add(*dense_layer(at, self.run.batch, self.length, saved))
        self.extra(at, self.rows)

    def extra(self, at: str, rows: int) -> None:
        """The operators that a change inserts into every layer."""
        for op_type in self.run.extra_types():
            tensor = Tensor((rows, HIDDEN))
            spec = k.vector(f"aclnn{op_type}", op_type, (tensor,), (tensor,))
            self.add(call(f"aten::{op_type.lower()}", f"{at}.extra.{op_type}", f"aclnn{op_type}", (spec,)))


def _embed(work: _Work, at: str, rows: int, saved: str | None) -> None:
    ids, table = Tensor((rows,), "INT64"), Tensor((VOCABULARY, HIDDEN))
    hidden = Tensor((rows, HIDDEN))
    lookup = KernelSpec(
        "aclnnEmbedding_GatherV2AiCore_GatherV2", "GatherV2", "AI_VECTOR_CORE",
        1_300 + 2 * hidden.size_bytes // k.VECTOR_BYTES_PER_NS, (table, ids), (hidden,), k.VECTOR_CORES,
    )  # fmt: skip
    cast = k.vector("aclnnCast", "Cast", (Tensor((rows, HIDDEN), "FLOAT"),), (hidden,))
    work.add(
        vector_op("aten::embedding", at, "embedding", "aclnnEmbedding", lookup, saved),
        vector_op("npu::npu_dtype_cast", at, "cast", "aclnnCast", cast, None),
    )


def _head(work: _Work, at: str, rows: int, saved: str | None) -> None:
    """Logits, with a change of format as graph-mode operators have it."""
    hidden = Tensor((rows, HIDDEN))
    change = k.transform(work.transforms, hidden)
    work.transforms += 1
    spec = k.matmul("aclnnMm", rows, HIDDEN, VOCABULARY)
    label = f"{at}.head" if saved else None
    op = call(
        "aten::mm", f"{at}.head", "aclnnMm", (change, spec), outer="aten::linear", forward=label, saved=saved
    )  # fmt: skip
    work.add(norm(at, "norm", rows, saved), op)


def _sample(work: _Work, at: str) -> None:
    """Draws the next token of each sequence; the host checks whether to stop."""
    batch = work.run.batch
    logits, token = Tensor((batch, VOCABULARY), "FLOAT"), Tensor((batch,), "INT64")
    softmax = k.vector("aclnnSoftmax", "SoftmaxV2", (logits,), (logits,))
    noise = k.random_uniform(batch * VOCABULARY)
    divide = k.vector("aclnnDiv", "RealDiv", (logits, logits), (logits,))
    argmax = k.vector("aclnnArgMax", "ArgMaxV2", (logits,), (token,))
    draw = call("aten::exponential_", f"{at}.noise", "aclnnMultinomial", (noise,), side=True)
    work.add(
        call("aten::_softmax", f"{at}.softmax", "aclnnSoftmax", (softmax,), outer="aten::softmax"),
        draw,
        call("aten::div_", f"{at}.div", "aclnnDiv", (divide,)),
        call("aten::argmax", f"{at}.argmax", "aclnnArgMax", (argmax,)),
        work.item(f"{at}.stop"),
        Idle(f"{at}.schedule", 60_000),
    )


def _generate(work: _Work) -> None:
    prompt = work.run.batch * work.run.prompt_length
    at = "generate.prefill"
    dense = _Work(work.run, work.phase)
    dense.rows, dense.length = prompt, work.run.prompt_length
    dense.add(Module("Qwen3ForCausalLM"))
    _embed(dense, at, prompt, None)
    for layer in range(work.run.layers):
        dense.layer(f"{at}.l{layer}", None)
    _head(dense, at, work.run.batch, None)
    _sample(dense, at)
    dense.add(Module("Qwen3ForCausalLM", end=True))
    work.add(*dense.items)
    work.transforms = dense.transforms
    for step in range(work.decode_steps):
        at = f"generate.decode{step}"
        work.add(Module("Qwen3ForCausalLM"))
        _embed(work, at, work.run.batch, None)
        for layer in range(work.run.layers):
            work.add(*decode_layer(f"{at}.l{layer}", work.run.batch, work.run.prompt_length + step))
            work.extra(f"{at}.l{layer}", work.run.batch)
        _head(work, at, work.run.batch, None)
        _sample(work, at)
        work.add(Module("Qwen3ForCausalLM", end=True))
    _deliver(work, "generate")


def _forward(work: _Work, at: str, grad: bool) -> None:
    """All layers, each gathered while the previous one computes."""
    work.gather(at, 0)
    work.add(Module("Qwen3ForCausalLM"))
    _embed(work, at, work.rows, f"{at}.head" if grad else None)
    for layer in range(work.run.layers):
        work.gather(at, layer + 1)
        work.wait(f"{at}.l{layer}.gather")
        work.add(Module(f"Qwen3DecoderLayer_{layer}"))
        work.layer(f"{at}.l{layer}", f"{at}.l{layer}" if grad else None)
        work.add(Module(f"Qwen3DecoderLayer_{layer}", end=True))
    _head(work, at, work.rows, f"{at}.head" if grad else None)
    work.add(Module("Qwen3ForCausalLM", end=True))


def _log_softmax(work: _Work, at: str, saved: str | None) -> None:
    logits, rows = Tensor((work.rows, VOCABULARY)), Tensor((work.rows,), "FLOAT")
    softmax = k.vector("aclnnLogSoftmax", "LogSoftmaxV2", (logits,), (logits,))
    ids = Tensor((work.rows, 1), "INT64")
    gather = k.vector("aclnnGather", "GatherElements", (rows, ids), (rows,))
    work.add(
        call("aten::_log_softmax", f"{at}.softmax", "aclnnLogSoftmax", (softmax,), outer="aten::log_softmax",
             forward=f"{at}.softmax" if saved else None, saved=saved),
        vector_op("aten::gather", at, "pick", "aclnnGather", gather, saved),
    )  # fmt: skip


def _deliver(work: _Work, at: str) -> None:
    """Copies the result to the host. A kernel comes last, so that the device's span ends with one."""
    result = Tensor((work.rows,), "FLOAT")
    clear = k.vector("aclnnInplaceZero", "ZerosLike", (result,), (result,))
    work.add(
        work.copy("device_to_host", f"{at}.result", result.size_bytes, blocking=True),
        call("aten::zero_", f"{at}.clear", "aclnnInplaceZero", (clear,)),
        Release(at),
    )


def _log_prob(work: _Work) -> None:
    at = work.phase
    _forward(work, at, grad=False)
    _log_softmax(work, at, None)
    _deliver(work, at)


def _update(work: _Work) -> None:
    at = "update_actor"
    work.add(work.copy("host_to_device", f"{at}.optimizer_state", 4 << 20))
    _forward(work, at, grad=True)
    _loss(work, at)
    _backward(work, at)
    _optimizer(work, at)


def _loss(work: _Work, at: str) -> None:
    rows, ratio, scalar = Tensor((work.rows,), "FLOAT"), f"{at}.loss", Tensor((1,), "FLOAT")
    _log_softmax(work, at, f"{at}.head")
    plain = (("sub", "Sub"), ("exp", "Exp"), ("clamp", "ClipByValueV2"), ("mul", "Mul"), ("minimum", "Minimum"))
    for short, op_type in plain:
        api = f"aclnn{op_type}"
        spec = k.vector(api, op_type, (rows, rows), (rows,))
        work.add(vector_op(f"aten::{short}", ratio, short, api, spec, f"{at}.head"))
    mean = k.vector("aclnnMean", "ReduceMean", (rows,), (scalar,), core_type="MIX_AIV")
    work.add(vector_op("aten::mean", ratio, "mean", "aclnnMean", mean, f"{at}.head"))


def _backward(work: _Work, at: str) -> None:
    """All layers in reverse; the gradients of each are scattered during the backward pass of the next."""
    logits = Tensor((work.rows, VOCABULARY))
    softmax = k.vector("aclnnLogSoftmaxBackward", "LogSoftmaxGrad", (logits, logits), (logits,))
    back = f"{at}.bwd"
    work.add(
        Backward(),
        grad_vector(back, "softmax", "LogSoftmaxBackward0", "aten::_log_softmax_backward_data",
                     "aclnnLogSoftmaxBackward", softmax),
        grad_matmuls(back, "head", work.rows, HIDDEN, VOCABULARY),
        Release(f"{at}.head"),
    )  # fmt: skip
    shard = LAYER_PARAMETERS // work.run.world
    for layer in reversed(range(work.run.layers)):
        work.add(*backward_layer(f"{back}.l{layer}", work.run.batch, work.length), Release(f"{at}.l{layer}"))
        work.collective("reduceScatter", shard, f"{back}.l{layer}.scatter", thread="autograd")
    work.add(Backward(end=True))
    for layer in reversed(range(work.run.layers)):
        work.wait(f"{back}.l{layer}.scatter")


def _optimizer(work: _Work, at: str) -> None:
    """The norm over all ranks, read by the host, then one fused update per layer without waiting."""
    shard = Tensor((LAYER_PARAMETERS // work.run.world,), "FLOAT")
    scalar = Tensor((1,), "FLOAT")
    norm = k.vector("aclnnForeachNorm", "ForeachNorm", (shard,), (scalar,), inner="ForeachNorm")
    clip = k.vector("aclnnForeachMulScalarV2", "ForeachMulScalar", (shard,), (shard,), inner="ForeachMulScalarV2")
    step = k.vector("aclnnApplyAdamWV2", "ApplyAdamWV2", (shard,) * 4, (shard,) * 3)
    work.add(call("aten::_foreach_norm", f"{at}.norm", "aclnnForeachNorm", (norm,)))
    work.collective("allReduce", 1, f"{at}.norm.reduce", "FP32")
    work.wait(f"{at}.norm.reduce")
    work.add(
        call("aten::_foreach_mul_", f"{at}.clip", "aclnnForeachMulScalarV2", (clip,)),
        work.item(f"{at}.norm.item"),
    )
    for layer in range(work.run.layers):
        name = "npu::npu_apply_adam_w"
        inner = call(name, f"{at}.adam{layer}", "aclnnApplyAdamWV2", (step,))
        work.add(Op("Optimizer.step#AdamW.step", f"{at}.optimizer{layer}", (inner,)))
    work.add(Release(at))
