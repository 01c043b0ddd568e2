"""The format of shapes, dtypes, formats and framework arguments in both exports."""

from __future__ import annotations

from rlcompare.writer.model import HostOp, Tensor

NOT_AVAILABLE = "N/A"


def time_us(ns: int) -> str:
    """A time or duration in microseconds with all its digits: ``1736408883688177.930``."""
    return f"{ns // 1_000}.{ns % 1_000:03d}"


def shapes(tensors: tuple[Tensor, ...]) -> str:
    """Shapes with the quotes that the profiler puts around them: ``"2048,1024;1024"``."""
    if not tensors:
        return NOT_AVAILABLE
    return '"' + ";".join(",".join(map(str, tensor.shape)) for tensor in tensors) + '"'


def dtypes(tensors: tuple[Tensor, ...]) -> str:
    """Dtypes of kernel arguments."""
    return ";".join(tensor.dtype for tensor in tensors) or NOT_AVAILABLE


def formats(tensors: tuple[Tensor, ...], newer: bool) -> str:
    """Formats of kernel arguments; the older generation says FORMAT_ND."""
    names = [tensor.format if newer or tensor.format != "ND" else "FORMAT_ND" for tensor in tensors]
    return ";".join(names) or NOT_AVAILABLE


def host_shapes(op: HostOp) -> str:
    """Shapes of an operator's arguments as the framework records them."""
    return ";\r\n".join(",".join(map(str, shape)) for shape, _ in op.inputs)


def host_dtypes(op: HostOp) -> str:
    """Dtypes of an operator's arguments as the framework records them."""
    return ";\r\n".join(dtype for _, dtype in op.inputs)
