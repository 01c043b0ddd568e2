"""A simulated machine with NPUs: the unmodified torch_npu wheel on our stand-in for CANN."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.npu.signatures import Wheel
from tests.npu.stand_in.build import build, environment

_CHECKOUT = Path(__file__).resolve().parents[2]
VERSIONS = ("2.5.1", "2.7.1", "2.9.0", "2.13.0", "2.14.0")
_CLI = "from rlcompare.cli.main import main; main()"
SMALL = (
    "trainer.device=npu", "trainer.total_training_steps=1", "trainer.warmup_steps=0", "data.train_batch_size=2",
    "data.max_response_length=3", "actor_rollout_ref.rollout.n=2", "actor_rollout_ref.actor.ppo_mini_batch_size=2",
)  # fmt: skip
"""A run that takes seconds, in which every operator is computed."""


@dataclass(frozen=True)
class Machine:
    """Runs Python where torch_npu finds NPUs.

    Attributes:
        python: the interpreter that has torch_npu.
        home: of the stand-in.
    """

    python: str
    home: Path

    def start(self, *command: str, devices: int = 1, computes: bool = True, **more: str) -> subprocess.Popen[str]:
        """Starts a process.

        Args:
            command: arguments of the interpreter.
            computes: whether operators have results, which takes ten times as long.
            more: of the environment.
        """
        paths = [str(self.home / "python"), str(_CHECKOUT)]
        variables = os.environ | environment(self.home, devices)
        variables |= {"PYTHONPATH": os.pathsep.join(paths), "STAND_IN_NUMBERS": str(int(computes)), **more}
        return subprocess.Popen(
            [self.python, *command],
            env=variables,
            cwd=self.home,  # torch_npu keeps some of its files in the working folder
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def python_runs(self, *command: str, devices: int = 1, computes: bool = True, **more: str) -> str:
        """Standard output of a process that must succeed."""
        process = self.start(*command, devices=devices, computes=computes, **more)
        try:
            out, err = process.communicate(timeout=300)
        finally:
            process.kill()
        assert process.returncode == 0, out[-3000:] + err[-5000:]
        return out

    def rlcompare(self, *arguments: str, devices: int = 1) -> str:
        """Standard output of a command that must succeed."""
        return self.python_runs("-c", _CLI, *arguments, devices=devices)


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Skips the test if the wheel or the stand-in is not available."""
    python = os.environ.get("RLCOMPARE_NPU_PYTHON")
    if not python:
        pytest.skip("no interpreter with torch_npu (make test makes one, and sets RLCOMPARE_NPU_PYTHON to it)")
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        pytest.skip("the stand-in for CANN is for x86-64 Linux")
    if missing := [tool for tool in ("gcc", "nm", "strings") if shutil.which(tool) is None]:
        pytest.skip(f"the stand-in for CANN cannot be built without {', '.join(missing)}")
    home = tmp_path_factory.mktemp("cann")
    build(wheel_of(python).parent, home)
    return Machine(python, home)


def wheel_of(python: str) -> Path:
    """The folder of torch_npu in that interpreter."""
    query = "import importlib.util as u; print(u.find_spec('torch_npu').submodule_search_locations[0])"
    found = subprocess.run([python, "-c", query], capture_output=True, text=True, check=True)
    return Path(found.stdout.strip())


@pytest.fixture(params=VERSIONS)
def wheel(request: pytest.FixtureRequest) -> Wheel:
    """Each wheel that is here."""
    version = request.param
    folder = os.environ.get("RLCOMPARE_NPU_WHEELS")
    if folder and (fetched := list(Path(folder, version).glob("*.whl"))):
        return Wheel(version, fetched[0])
    python = os.environ.get("RLCOMPARE_NPU_PYTHON")
    if python:
        root = wheel_of(python).parent
        if list(root.glob(f"torch_npu-{version}*.dist-info")):
            return Wheel(version, root)
    pytest.skip(f"torch_npu {version} is not here (make test-npu-all fetches it)")
