"""AI Core counters of a kernel, as with ``aic_metrics=PipeUtilization``."""

from __future__ import annotations

from hashlib import blake2b

from rlcompare.writer.model import KernelTask

CUBE_CORES = 24
_AIC = ("mac", "scalar", "mte1", "mte2", "fixpipe")
_AIV = ("vec", "mac", "scalar", "mte1", "mte2", "mte3")
_SHARES = {"mac": 0.61, "vec": 0.34, "scalar": 0.22, "mte1": 0.48, "mte2": 0.57, "mte3": 0.29, "fixpipe": 0.09}

Counters = dict[str, float]


def counters(task: KernelTask, mhz: int) -> Counters | None:
    """Times in ns, ratios from 0 to 1, cycles over all cores; None for a kernel that does not run on an AI Core."""
    core = task.spec.core_type
    if core == "DSA_SQE":
        return None
    values = _unit("aic", _AIC, task, mhz, task.spec.block_num if core in ("AI_CORE", "MIX_AIC") else 0)
    blocks = {"AI_VECTOR_CORE": task.spec.block_num, "MIX_AIC": task.spec.mix_block_num}.get(core, 0)
    return values | _unit("aiv", _AIV, task, mhz, task.spec.block_num if core == "MIX_AIV" else blocks)


def _unit(unit: str, pipes: tuple[str, ...], task: KernelTask, mhz: int, blocks: int) -> Counters:
    """Counters of one unit; zeros if the kernel does not use it."""
    total = (task.end_ns - task.start_ns) * 0.97 if blocks else 0
    values: Counters = {f"{unit}_total_time": total, f"{unit}_total_cycles": round(total * mhz / 1_000 * blocks)}
    for pipe in pipes:
        used = bool(blocks) and not (unit == "aiv" and pipe in ("mac", "mte1"))
        ratio = _SHARES[pipe] * _wobble(task.spec.name, pipe) if used else 0
        values |= {f"{unit}_{pipe}_time": total * ratio, f"{unit}_{pipe}_ratio": ratio}
    return values | {f"{unit}_icache_miss_rate": 0.004 * _wobble(task.spec.name, "icache") if blocks else 0}


def cube_utilization(values: Counters, duration_ns: int, mhz: int) -> float:
    """Percent of the cycles that all cube cores had during the kernel."""
    return 100 * values["aic_total_cycles"] / (duration_ns * mhz / 1_000 * CUBE_CORES)


def _wobble(*key: str) -> float:
    """A factor from 0.8 to 1.2 derived from the key."""
    return 0.8 + 0.4 * blake2b("/".join(key).encode(), digest_size=1).digest()[0] / 255
