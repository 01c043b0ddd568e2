"""Checks the settings of ``torch_npu.profiler`` for contradictions, and converts them to torch_npu's.

Settings that torch_npu would only warn about, or silently drop, are refused, with the reason. A run is too long to find
out afterwards that half of the requested data was not recorded.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from rlcompare.collect.profiler.plan import Options
from rlcompare.collect.reference.config.schema import NPUToolConfig
from rlcompare.errors import UsageError

_OURS = (
    "contents", "level", "analysis", "discrete", "export_stacks", "export_memory_timeline", "with_flops", "worker_name",
)  # fmt: skip
"""Keys that are not fields of ``_ExperimentalConfig``."""
_MARKS = ("mstx", "msprof_tx")
_ENUMS = {"aic_metrics": "AiCMetrics", "export_type": "ExportType", "host_sys": "HostSystem"}
_WITHOUT_METRICS = ("level_none", "level0")
_NO_METRICS = "AiCoreNone"
_WORKER_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,224}")
"""torch_npu replaces longer names by the host's, with a warning."""
_OF_THE_DEVICE = ("aic_metrics", "l2_cache", "op_attr", "host_sys", "sys_io", "sys_interconnection")


def check_settings(options: Options) -> None:
    """Refuses settings that contradict each other.

    Raises:
        UsageError: the first such setting, and what to change.
    """
    for key, reason in _conflicts(options):
        raise UsageError(f"tool_config.npu.{key}: {reason}")


def _conflicts(options: Options) -> Iterator[tuple[str, str]]:
    """Settings that torch_npu would drop, each with the reason."""
    npu = options.npu
    if npu.level in _WITHOUT_METRICS and npu.aic_metrics not in (None, _NO_METRICS):
        yield f"aic_metrics={npu.aic_metrics}", f"needs level1 or level2, but level is {npu.level}"
    marks = any(getattr(npu, key) for key in _MARKS)
    if npu.level == "level_none" and not marks:
        yield "level=level_none", "records only mstx ranges, which are off; set mstx=true or another level"
    for key in ("mstx_domain_include", "mstx_domain_exclude"):
        if getattr(npu, key) and not marks:
            yield key, "filters mstx ranges, which are off; set mstx=true"
    if npu.op_attr and npu.level == "level_none":
        yield "op_attr", "there are no operators at level_none; take level0, level1 or level2"
    if npu.op_attr and "db" not in npu.export_type:
        yield "op_attr", "attributes are only written to the database; add db to export_type"
    if not options.device:
        given = [key for key in _OF_THE_DEVICE if getattr(npu, key) not in (None, False, (), _NO_METRICS)]
        for key in given:
            yield key, "needs the device's activities, which contents does not include; add npu to contents"
    if npu.with_flops and not marks:
        yield "with_flops", "is recorded as mstx marks, which are off; set mstx=true"
    if npu.worker_name is not None and not _WORKER_NAME.fullmatch(npu.worker_name):
        yield "worker_name", "is part of a folder's name: use up to 225 letters, digits and . _ -"
    if not options.cpu:
        yield from _conflicts_without_host(options)
    yield from _conflicts_of_exports(options)


def _conflicts_without_host(options: Options) -> Iterator[tuple[str, str]]:
    asked = {"shapes": options.shapes, "module": options.modules, "stack": options.stack}
    for name in (name for name, is_asked in asked.items() if is_asked):
        yield (
            f"contents={name}",
            "needs the host's activities, which contents does not include; add cpu to contents",
        )
    if options.npu.gc_detect_threshold is not None:
        yield "gc_detect_threshold", "needs the host's activities, which contents does not include; add cpu to contents"


def _conflicts_of_exports(options: Options) -> Iterator[tuple[str, str]]:
    npu = options.npu
    exports = {"export_stacks": npu.export_stacks is not None, "export_memory_timeline": npu.export_memory_timeline}
    for key in (key for key, is_asked in exports.items() if is_asked):
        if not npu.analysis:
            yield key, "is part of the analysis; set analysis=true"
        if npu.level == "level_none":
            yield key, "torch_npu makes none at level_none; take level0, level1 or level2"
        if not options.cpu:
            yield key, "needs the host's activities, which contents does not include; add cpu to contents"
    if exports["export_stacks"] and not options.stack:
        yield "export_stacks", "needs call stacks; add stack to contents"
    if npu.export_stacks == "self_npu_time_total" and not options.device:
        yield "export_stacks", "needs the NPU's activities, which contents does not include; add npu to contents"
    if exports["export_memory_timeline"]:
        if lacking := [
            name for name, is_on in {"shapes": options.shapes, "memory": options.memory}.items() if not is_on
        ]:
            yield "export_memory_timeline", f"needs {' and '.join(lacking)} in contents"
        if not (options.stack or options.modules):
            yield (
                "export_memory_timeline",
                "needs stacks to distinguish parameters from activations; add stack or module to contents",
            )
        if "text" not in npu.export_type:
            yield "export_memory_timeline", "torch_npu writes it only with the text files; add text to export_type"


def experimental_config(module: Any, chosen: NPUToolConfig) -> Any:
    """torch_npu's ``_ExperimentalConfig`` of a role.

    Options that are off or empty are not passed on, so that a version without them still works.

    Raises:
        UsageError: an option is set that this version of torch_npu does not support.
    """
    npu = module.profiler
    known = inspect.signature(npu._ExperimentalConfig).parameters
    given = {"profiler_level": _member(module, "ProfilerLevel", "level", chosen.level)}
    for field in fields(chosen):
        value = getattr(chosen, field.name)
        if field.name in _OURS or field.name in _MARKS:
            continue
        if field.name not in known:
            if value:
                raise _unknown(module, f"tool_config.npu.{field.name}")
            continue
        if value is not None and value != ():
            given[field.name] = _native(module, field.name, value)
    if chosen.level in _WITHOUT_METRICS:
        # From 2.13 on, torch_npu warns about its own default.
        given["aic_metrics"] = _member(module, "AiCMetrics", "aic_metrics", _NO_METRICS)
    # Use the newer of a switch's two names if this version has it: the older one then causes a warning.
    given["mstx" if "mstx" in known else "msprof_tx"] = any(getattr(chosen, key) for key in _MARKS)
    return npu._ExperimentalConfig(**given)


def _native(module: Any, key: str, value: object) -> object:
    """A value of the configuration in torch_npu's type."""
    if key not in _ENUMS:
        return list(value) if isinstance(value, tuple) else value
    if isinstance(value, tuple):
        return [_member(module, _ENUMS[key], key, str(item)) for item in value]
    return _member(module, _ENUMS[key], key, str(value))


def _member(module: Any, enum: str, key: str, name: str) -> object:
    """The member of one of torch_npu's enumerations, whose names differ from verl's only in case."""
    members = getattr(module.profiler, enum, None)
    for candidate in dir(members):
        if candidate.lower() == name.lower():
            return getattr(members, candidate)
    raise _unknown(module, f"tool_config.npu.{key}={name}")


def _unknown(module: Any, what: str) -> UsageError:
    version = getattr(module, "__version__", "of this version")
    return UsageError(f"{what}: torch_npu {version} does not support it; remove it or install a later version")
