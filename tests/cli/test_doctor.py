"""``rlcompare doctor``: its advice for given facts of machines, and how it gathers these facts."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rlcompare.doctor.advice import Row, advise
from rlcompare.doctor.machine import Imported, Machine, imported

from .conftest import Command

BARE = Machine(
    python="3.11.4",
    executable="/venv/bin/python",
    packages={"duckdb": "1.5.5"},
    free_bytes={"/work": 500 * 2**30, "/dev/shm": 64 * 2**30},
)
CPU = replace(BARE, packages={**BARE.packages, "torch": "2.13.0+cpu"}, torch=Imported())
GPU = replace(
    CPU, torch=Imported(devices=("H100", "H100")), tools={"nvidia-smi": "/bin/nvidia-smi", "nsys": "/bin/nsys"}
)
NPU = replace(
    CPU,
    packages={**CPU.packages, "torch-npu": "2.13.0", "verl": "0.7.1", "hydra-core": "1.3.2", "vllm-ascend": "0.11.0"},
    torch_npu=Imported(devices=("Ascend910B3",) * 8),
    npu_nodes=("/dev/davinci0", "/dev/davinci1"),
    cann="/usr/local/Ascend/ascend-toolkit/latest",
    cann_version="8.3.RC1",
    cann_sourced=True,
    tools={"msprof": "/usr/local/Ascend/bin/msprof"},
)


def row(machine: Machine, name: str) -> Row:
    (found,) = (row for row in advise(machine) if row.name == name)
    return found


def statuses(machine: Machine) -> dict[str, str]:
    return {row.name.removeprefix("tool "): row.status for row in advise(machine) if row.section == "collect"}


def test_what_each_kind_of_machine_can_collect() -> None:
    names = ("rlcompare run", "npu", "torch", "torch_memory", "nsys", "verl job")
    expected = {
        "bare": (BARE, ("no", "no", "no", "no", "no", "-")),
        "cpu": (CPU, ("ok", "no", "limited", "limited", "no", "-")),
        "gpu": (GPU, ("ok", "no", "ok", "ok", "ok", "-")),
        "npu": (NPU, ("ok", "ok", "limited", "limited", "no", "ok")),
    }
    for kind, (machine, words) in expected.items():
        assert statuses(machine) == dict(zip(names, words, strict=True)), kind


def test_the_versions_that_are_found() -> None:
    assert row(NPU, "tool npu").found == "torch_npu 2.13.0, CANN 8.3.RC1, 8 × Ascend910B3"
    assert row(NPU, "verl job").found == "verl 0.7.1, vllm-ascend 0.11.0"
    assert row(NPU, "tool torch_memory").found == "allocations on 8 × Ascend910B3, in verl jobs only"
    assert row(GPU, "rlcompare run").found == "torch 2.13.0+cpu on 2 × H100"


@pytest.mark.parametrize(
    ("facts", "status", "found", "todo"),
    [
        ({"packages": CPU.packages}, "no", "torch_npu is not installed", "torch-npu==2.13.*"),
        ({"packages": {**NPU.packages, "torch-npu": "2.7.1"}}, "no", "are incompatible", "torch==2.7.*"),
        ({"npu_nodes": ()}, "no", "no NPU (/dev/davinci*)", "into the container"),
        ({"npu_usable": False}, "no", "no permission to open /dev/davinci0", "HwHiAiUser"),
        ({"cann": None}, "no", "CANN is not installed", "install CANN"),
        ({"cann_sourced": False}, "no", "its environment is not set up", "latest/set_env.sh"),
        ({"torch_npu": Imported("libascendcl.so: cannot open")}, "no", "libascendcl.so: cannot open", "set_env.sh"),
        ({"torch_npu": Imported()}, "no", "sees no device", "npu-smi info"),
        ({"silencers": ("PROFILING_MODE",)}, "no", "PROFILING_MODE is set", "unset PROFILING_MODE"),
        ({"tools": {}}, "limited", "msprof is not on PATH", "set_env.sh"),
    ],
)
def test_what_keeps_an_npu_from_being_profiled(facts: dict[str, object], status: str, found: str, todo: str) -> None:
    advice = row(replace(NPU, **facts), "tool npu")  # type: ignore[arg-type]
    assert advice.status == status
    assert found in advice.found
    assert todo in advice.todo


@pytest.mark.parametrize(
    ("packages", "status", "word"),
    [
        ({"verl": "0.4.1", "hydra-core": "1"}, "no", "too old"),
        ({"verl": "0.7.1"}, "no", "no Hydra"),
        ({"verl": "0.7.1", "hydra-core": "1"}, "limited", "no rollout engine"),
        ({"verl": "0.11.0", "hydra-core": "1", "vllm": "0.13"}, "limited", "newer than the tested versions"),
        ({"verl": "0.9.1", "hydra-core": "1", "sglang": "0.5"}, "ok", "verl 0.9.1, sglang 0.5"),
    ],
)
def test_verl(packages: dict[str, str], status: str, word: str) -> None:
    advice = row(replace(CPU, packages={**CPU.packages, **packages}), "verl job")
    assert (advice.status, word in advice.found) == (status, True)


def test_nsys_needs_a_gpu() -> None:
    assert row(replace(CPU, tools={"nsys": "/bin/nsys"}), "tool nsys").status == "no"
    assert row(replace(CPU, tools={"nsys": "/bin/nsys"}), "tool nsys").found == "this machine has no NVIDIA GPU"
    assert row(replace(CPU, tools={}), "tool nsys").found.startswith("nsys is not on PATH, and this machine has no")


def test_room() -> None:
    tight = replace(CPU, free_bytes={"/work": 10 * 2**30, "/dev/shm": 2**26})
    assert row(tight, "free in /work").status == row(tight, "free in /dev/shm").status == "limited"
    assert row(CPU, "free in /work").found == "500.0 GiB"
    assert "--shm-size" in row(tight, "free in /dev/shm").todo


def test_what_cannot_be_read() -> None:
    broken = replace(CPU, extension_problem="built for DuckDB 1.4.0", cache_problem="/ro cannot be written")
    assert row(broken, "databases (.db)").status == "no"
    assert row(broken, "databases (.db)").found == "built for DuckDB 1.4.0"
    assert "RLCOMPARE_CACHE_DIR" in row(broken, "stores").todo


class TestImports:
    """A framework that fails takes only its own process with it."""

    def test_what_it_says(self) -> None:
        assert imported("""print('rlcompare:{"devices": ["a", "b"]}')""") == Imported(None, ("a", "b"))
        assert imported("import no_such_module").problem == "ModuleNotFoundError: No module named 'no_such_module'"
        assert imported("pass").problem == "it printed nothing"

    @pytest.mark.parametrize("answer", ["{", "[]", "{}", '{"devices": 3}', "[" * 90_000], ids=lambda text: text[:9])
    def test_what_makes_no_sense(self, answer: str) -> None:
        code = f"print('rlcompare:' + {answer!r})"
        assert imported(code).problem == "it printed unexpected output"

    def test_a_crash(self) -> None:
        assert imported("import os; os.abort()").problem == "the import was killed by signal 6"

    def test_one_that_never_ends(self) -> None:
        begin = time.monotonic()
        assert imported("import time; time.sleep(900)", seconds=0.5).problem == "the import did not finish within 0.5 s"
        assert time.monotonic() - begin < 600, "it waited for the import to end"


@pytest.mark.slow
def test_on_this_machine(rlcompare: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "do-not-print-this")
    shown = rlcompare("doctor")
    assert shown.code == 0
    assert "What can be collected here" in shown.out
    assert "do-not-print-this" not in shown.out
    assert re.search(r"databases \(\.db\) +ok +DuckDB \d", shown.out)


@pytest.mark.slow
def test_another_interpreter(rlcompare: Command, tmp_path: Path) -> None:
    # GIVEN an interpreter of a job, with a verl that this one does not have
    package = tmp_path / "verl-0.7.1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Name: verl\nVersion: 0.7.1\n", encoding="utf-8")
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    for options, said in (((), "verl is not installed for"), (("--python", python), "verl 0.7.1")):
        rows = json.loads(rlcompare("doctor", "--json", *options).out)
        (found,) = [row["found"] for row in rows if row["name"] == "verl job"]
        assert found.startswith(said)
    wrong = rlcompare("doctor", "--python", tmp_path / "nothing")
    assert (wrong.code, "cannot list the packages of" in wrong.error) == (2, True)


def test_as_json(rlcompare: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rlcompare.doctor.machine.look", lambda: NPU)
    rows = json.loads(rlcompare("doctor", "--json").out)
    assert [Row(**row) for row in rows] == advise(NPU)
    shown = rlcompare("doctor").out
    assert all(row["name"] in shown and row["found"] in shown and row["todo"] in shown for row in rows)
