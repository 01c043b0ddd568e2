"""The instructions of a phase's work. Every rank of a run executes the same ones."""

from __future__ import annotations

from dataclasses import dataclass

from rlcompare.writer.model import KernelSpec, Tensor

HostInput = tuple[tuple[int, ...], str]
"""Shape and framework dtype of an operator's argument."""

_HOST_DTYPES = {"DT_BF16": "c10::BFloat16", "FLOAT": "float", "INT64": "long int", "INT32": "int", "BOOL": "bool"}


def host_input(tensor: Tensor) -> HostInput:
    """The framework's description of a tensor argument."""
    return tensor.shape, _HOST_DTYPES[tensor.dtype]


@dataclass(frozen=True)
class Launch:
    """A call of ``api`` through the task queue that starts kernels, on the compute stream or the side stream."""

    api: str
    kernels: tuple[KernelSpec, ...]
    side: bool = False


@dataclass(frozen=True)
class Copy:
    """A copy on the compute stream; a blocking one makes the host wait for it."""

    kind: str
    size_bytes: int
    blocking: bool = False


@dataclass(frozen=True)
class Op:
    """A framework operator with its inner work, in order.

    Attributes:
        key: the key of its noise; it stays the same when other operators are added or removed.
        thread: main or autograd.
        forward: label by which its backward operator finds it.
        backward: label of its forward operator.
        saved: label under which its output is kept until a ``Release``; None: freed soon after.
    """

    name: str
    key: str
    inside: tuple[Op | Launch | Copy, ...] = ()
    inputs: tuple[HostInput, ...] = ()
    thread: str = "main"
    forward: str | None = None
    backward: str | None = None
    saved: str | None = None


@dataclass(frozen=True)
class Collective:
    """A communication operator on the communication stream; ``count`` elements of ``dtype`` per rank."""

    kind: str
    count: int
    dtype: str
    key: str
    thread: str = "main"


@dataclass(frozen=True)
class Wait:
    """The compute stream waits for the collective of that key."""

    key: str


@dataclass(frozen=True)
class Release:
    """Tensors kept under the label are freed."""

    label: str


@dataclass(frozen=True)
class Module:
    """An ``nn.Module`` call begins (``end`` False) or ends on the main thread."""

    name: str
    end: bool = False


@dataclass(frozen=True)
class Backward:
    """The main thread hands over to autograd's thread (``end`` False), or continues after it."""

    end: bool = False


@dataclass(frozen=True)
class Late:
    """The point at which a late rank loses time."""


@dataclass(frozen=True)
class Idle:
    """The host does work that is not shown by any operator."""

    key: str
    cost_ns: int


Instruction = Op | Collective | Wait | Release | Module | Backward | Late | Idle


def call(
    name: str,
    key: str,
    api: str,
    kernels: tuple[KernelSpec, ...],
    *,
    outer: str | None = None,
    thread: str = "main",
    forward: str | None = None,
    saved: str | None = None,
    side: bool = False,
) -> Op:
    """An operator that launches kernels, inside an ``outer`` operator if one is named."""
    inputs = tuple(host_input(t) for t in kernels[-1].inputs)
    inner = Op(name, key, (Launch(api, kernels, side),), inputs, thread, None if outer else forward, None, saved)
    if outer is None:
        return inner
    return Op(outer, f"{key}.outer", (inner,), inputs, thread, forward)


def backward(node: str, key: str, forward: str, inside: tuple[Op, ...]) -> Op:
    """The operators on autograd's thread for one node of the graph."""
    node_op = Op(node, f"{key}.node", inside, inside[0].inputs[:1], "autograd", None, forward)
    return Op(f"autograd::engine::evaluate_function: {node}", f"{key}.engine", (node_op,), (), "autograd")
