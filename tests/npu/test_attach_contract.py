"""What ``rlcompare attach`` writes for dynamic_profile and reads of its logs, against five wheels' sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rlcompare.collect.attach.request import Request, settings
from tests.npu.signatures import Wheel

_FOLDER = "torch_npu/profiler/_dynamic_profiler/_dynamic_profiler"
_PROFILE = "torch_npu/profiler/dynamic_profile.py"
_CONTEXT = f"{_FOLDER}_config_context.py"
_MEMORY = f"{_FOLDER}_monitor_shm.py"
_POLLER = f"{_FOLDER}_monitor.py"
_UTILITIES = f"{_FOLDER}_utils.py"
_SAID = {
    _CONTEXT: ("Start step will be set to {}.", "Start step is not valid", "not in valid rank_list"),
    _PROFILE: ("Start Dynamic Profiler at {} step.", "Stop Dynamic Profiler at {} step."),
    _MEMORY: ("shared memory is connected", "shared memory is created", "unlink shm", "DynamicProfileNpuShm"),
    _UTILITIES: ("dp_{}_{}_rank_{}.log", "monitor_"),
    _POLLER: (
        "load json success", "load json failed", "Load json failed", "cfg bytes write failed",
        "poll interval time change to {}s", "no need to create process",
    ),
}  # fmt: skip
"""The parts of its messages by which they are known, in the modules that say them."""
_REQUEST = Request(Path("/polled"), Path("/out"), 3, 1, None, (1,), "level1", ("npu", "stack"), analysis=True)


def test_its_words_are_known(wheel: Wheel) -> None:
    for module, fragments in _SAID.items():
        said = list(_texts(wheel.tree(module)))
        missing = [fragment for fragment in fragments if not any(fragment in text for text in said)]
        assert not missing, module


def test_every_key_that_is_written_is_read(wheel: Wheel) -> None:
    written = settings(_REQUEST, {})
    read = {text for module in (_CONTEXT, _MEMORY) for text in _texts(wheel.tree(module))}
    inner = written.pop("experimental_config")
    later = {"mstx", "host_sys", "mstx_domain_include", "mstx_domain_exclude", "sys_io", "sys_interconnection"}
    assert {"experimental_config", *written} <= read
    assert set(inner) - read <= (later if wheel.version == "2.5.1" else set())


def test_where_there_is_no_file_it_is_torch_npus_own(wheel: Wheel) -> None:
    """The defaults that we write, beside what is asked, are those of its template."""
    template = _template(wheel)
    written = settings(_REQUEST, {})
    inner = template.pop("experimental_config")
    assert set(template) <= set(written)
    kept = {key: value for key, value in inner.items() if key != "profiler_level"}
    assert {key: written["experimental_config"][key] for key in kept} == kept


def _template(wheel: Wheel) -> dict[str, Any]:
    for node in ast.walk(wheel.tree(_MEMORY)):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "JSON_DATA":
            return ast.literal_eval(node.value)
    pytest.fail("torch_npu has no template")


def _texts(tree: ast.Module) -> Iterator[str]:
    """Every text in a module; of an f-string, with {} in place of what is put in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)  # type: ignore[misc]
