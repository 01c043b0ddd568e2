"""Decides from the facts of a machine what it can collect and read, why not, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rlcompare.doctor.machine import Imported, Machine

OK, LIMITED, NO, NOTE = "ok", "limited", "no", "-"

_GIB = 2**30
_LITTLE_ROOM = 20 * _GIB
_LITTLE_SHARED_MEMORY = 1 * _GIB
_VERL = ((0, 5), (0, 10))
"""The oldest supported verl version, and the first untested one."""
_MOST_PARANOID = 2


@dataclass(frozen=True)
class Row:
    """One line of advice.

    Attributes:
        section: ``collect``, ``read`` or ``machine``.
        status: ``ok``, ``limited``, ``no``, or ``-`` if nothing depends on it.
        found: what was found.
        todo: what to do; empty if nothing.
    """

    section: str
    name: str
    status: str
    found: str
    todo: str = ""


def advise(machine: Machine) -> list[Row]:
    """All rows, starting with those on collecting."""
    return [
        _step(machine),
        _npu(machine),
        _torch(machine),
        _torch_memory(machine),
        _nsys(machine),
        _verl(machine),
        *_read(machine),
        *_machine(machine),
    ]


def _step(machine: Machine) -> Row:
    name = "rlcompare run"
    if machine.torch is None:
        return Row("collect", name, NO, "PyTorch is not installed", "pip install 'rlcompare[collect]'")
    if machine.torch.problem:
        return Row("collect", name, NO, _problem("torch", machine), "reinstall torch")
    devices = _npus(machine) or machine.torch.devices
    found = f"torch {machine.packages['torch']} on {_several(devices) if devices else 'the CPU'}"
    return Row("collect", name, OK, found)


def _npu(machine: Machine) -> Row:
    """The first missing prerequisite for an NPU profile. Later ones depend on it and are not checked."""
    for status, found, todo in _npu_obstacles(machine):
        return Row("collect", "tool npu", status, found, todo)
    found = f"torch_npu {machine.packages['torch-npu']}, CANN {machine.cann_version or 'of unknown version'}, "
    return Row("collect", "tool npu", OK, found + _several(_npus(machine)))


def _npu_obstacles(machine: Machine) -> Iterator[tuple[str, str, str]]:
    torch, npu = machine.packages.get("torch", ""), machine.packages.get("torch-npu")
    set_env = f"source {machine.cann}/set_env.sh" if machine.cann else "install CANN, and source its set_env.sh"
    if npu is None:
        where = "" if machine.npu_nodes else ", and this machine has no NPU (/dev/davinci*)"
        fitting = re.match(r"\d+\.\d+", torch)
        package = f"torch-npu=={fitting[0]}.*" if fitting else "torch torch-npu"
        yield NO, f"torch_npu is not installed{where}", f"on a machine with an NPU: pip install '{package}'"
        return
    if torch.split(".")[:2] != npu.split(".")[:2]:
        yield NO, f"torch {torch} and torch_npu {npu} are incompatible", f"pip install 'torch=={_minor(npu)}.*'"
    if not machine.npu_nodes:
        yield (
            NO,
            "this machine has no NPU (/dev/davinci*)",
            "pass the devices into the container, or use another machine",
        )
    if not machine.npu_usable:
        yield NO, f"no permission to open {machine.npu_nodes[0]}", "add the user to the group HwHiAiUser"
    if machine.cann is None:
        yield NO, "CANN is not installed", set_env
    if not machine.cann_sourced:
        yield NO, f"CANN is installed in {machine.cann}, but its environment is not set up", set_env
    if machine.torch_npu is not None and machine.torch_npu.problem:
        yield NO, f"torch_npu cannot be imported: {machine.torch_npu.problem}", set_env
    if not _npus(machine):
        yield NO, "torch_npu sees no device", "check npu-smi info and ASCEND_RT_VISIBLE_DEVICES"
    if machine.silencers:
        yield (
            NO,
            f"{machine.silencers[0]} is set, which disables torch_npu's profiler",
            f"unset {machine.silencers[0]}",
        )
    if "msprof" not in machine.tools:
        yield LIMITED, "msprof is not on PATH; profiles cannot be parsed without it", set_env


def _torch(machine: Machine) -> Row:
    if machine.torch is None or machine.torch.problem:
        return Row("collect", "tool torch", NO, _problem("torch", machine), "pip install 'rlcompare[collect]'")
    if not machine.torch.devices:
        todo = "install a CUDA build of torch" if "nvidia-smi" in machine.tools else ""
        return Row("collect", "tool torch", LIMITED, "host only: torch sees no GPU", todo)
    return Row("collect", "tool torch", OK, f"host and {_several(machine.torch.devices)}")


def _torch_memory(machine: Machine) -> Row:
    if npus := _npus(machine):
        found = f"allocations on {_several(npus)}, in verl jobs only"
        todo = "for rlcompare run and probes: tool npu with contents=[npu,cpu,memory]"
        return Row("collect", "tool torch_memory", LIMITED, found, todo)
    devices = machine.torch.devices if machine.torch else ()
    if devices:
        return Row("collect", "tool torch_memory", OK, f"allocations on {_several(devices)}")
    if machine.torch is None or machine.torch.problem:
        return Row("collect", "tool torch_memory", NO, _problem("torch", machine), "pip install 'rlcompare[collect]'")
    return Row("collect", "tool torch_memory", LIMITED, "host memory only: no GPU or NPU")


def _nsys(machine: Machine) -> Row:
    name = "tool nsys"
    has_gpu = "nvidia-smi" in machine.tools or (machine.torch is not None and bool(machine.torch.devices))
    if not has_gpu:
        without = "" if "nsys" in machine.tools else "nsys is not on PATH, and "
        return Row("collect", name, NO, f"{without}this machine has no NVIDIA GPU")
    if "nsys" not in machine.tools:
        return Row("collect", name, NO, "nsys is not on PATH", "install Nsight Systems")
    if machine.perf_paranoid is not None and machine.perf_paranoid > _MOST_PARANOID:
        found = f"no CPU samples: kernel.perf_event_paranoid is {machine.perf_paranoid}"
        return Row("collect", name, LIMITED, found, f"sysctl kernel.perf_event_paranoid={_MOST_PARANOID}")
    return Row("collect", name, OK, machine.tools["nsys"])


def _verl(machine: Machine) -> Row:
    name = "verl job"
    verl = machine.packages.get("verl")
    if verl is None:
        todo = "pass the interpreter that has verl: rlcompare doctor --python /path/to/python3"
        return Row("collect", name, NOTE, f"verl is not installed for {machine.executable}", todo)
    numbers = tuple(int(part) for part in re.findall(r"\d+", verl)[:2])
    engines = [
        f"{name} {machine.packages[name]}" for name in ("vllm", "vllm-ascend", "sglang") if name in machine.packages
    ]
    found = ", ".join([f"verl {verl}", *engines])
    if numbers < _VERL[0]:
        return Row("collect", name, NO, f"{found}: too old", "pip install -U verl (0.5 or later)")
    if "hydra-core" not in machine.packages:
        return Row("collect", name, NO, f"{found}, but no Hydra", "pip install hydra-core")
    if numbers >= _VERL[1]:
        return Row(
            "collect", name, LIMITED, f"{found}: newer than the tested versions", "try rlcompare launch --dry-run"
        )
    if not engines:
        return Row("collect", name, LIMITED, f"{found}, but no rollout engine", "install vllm or sglang")
    return Row("collect", name, OK, found)


def _read(machine: Machine) -> Iterator[Row]:
    duckdb = f"DuckDB {machine.packages.get('duckdb', '')}"
    yield Row("read", "text files, traces", OK, duckdb)
    if machine.extension_problem:
        todo = "pip install --force-reinstall rlcompare, which installs the matching DuckDB extension"
        yield Row("read", "databases (.db)", NO, machine.extension_problem, todo)
    else:
        yield Row("read", "databases (.db)", OK, f"{duckdb} with its sqlite extension")
    if machine.cache_problem:
        yield Row(
            "read", "stores", LIMITED, machine.cache_problem, "set another with --cache-dir or RLCOMPARE_CACHE_DIR"
        )


def _machine(machine: Machine) -> Iterator[Row]:
    yield Row("machine", "python", OK, f"{machine.python}, {machine.executable}")
    for path, free in machine.free_bytes.items():
        shared = path == "/dev/shm"
        little = free < (_LITTLE_SHARED_MEMORY if shared else _LITTLE_ROOM)
        todo = (
            "docker run --shm-size=16g: Ray and the engines need it"
            if shared
            else "free some disk space: profiles take gigabytes"
        )
        yield Row(
            "machine", f"free in {path}", LIMITED if little else OK, f"{free / _GIB:.1f} GiB", todo if little else ""
        )
    if "gcc" in machine.tools:
        yield Row("machine", "gcc", OK, f"{machine.tools['gcc']}; needed only by rlcompare's own tests without an NPU")
    else:
        yield Row("machine", "gcc", NOTE, "not on PATH; needed only by rlcompare's own tests without an NPU")


def _npus(machine: Machine) -> tuple[str, ...]:
    return machine.torch_npu.devices if machine.torch_npu else ()


def _problem(package: str, machine: Machine) -> str:
    imported: Imported | None = machine.torch
    if imported is None:
        return f"{package} is not installed"
    return f"{package} cannot be imported: {imported.problem}"


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _several(devices: tuple[str, ...]) -> str:
    names = list(dict.fromkeys(devices))
    return ", ".join(f"{devices.count(name)} × {name}" for name in names)
