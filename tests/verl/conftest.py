"""verl as an interpreter sees it: configuration and metadata of the real wheel, and a stand-in for its trainer."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import rlcompare

__all__ = ["installed_verl", "rlcompare", "source_of_verl"]

_CHECKOUT = Path(__file__).resolve().parents[2]
_STAND_IN = Path(__file__).with_name("stand_in.py")

VerlOf = Callable[[str], dict[str, str]]


def verl_folder() -> Path:
    """Where ``make verl-wheels`` keeps the wheels and Hydra."""
    return Path(os.environ.get("RLCOMPARE_VERL") or _CHECKOUT / "build" / "verl")


@pytest.fixture(scope="session")
def installed_verl(tmp_path_factory: pytest.TempPathFactory) -> VerlOf:
    """The environment of an interpreter with a verl version installed; skips the test if its wheel is not available."""
    made: dict[str, Path] = {}

    def install(version: str) -> dict[str, str]:
        wheels = sorted((verl_folder() / "wheels").glob(f"verl-{version}-*.whl"))
        if not wheels or not (verl_folder() / "hydra").is_dir():
            pytest.skip(f"the wheel of verl {version} or Hydra is not here (make verl-wheels fetches them)")
        if version not in made:
            made[version] = _unpack(wheels[0], tmp_path_factory.mktemp(f"verl-{version}"))
        path = [str(made[version]), str(verl_folder() / "hydra"), *(entry or "." for entry in sys.path)]
        return os.environ | {"PYTHONPATH": os.pathsep.join(path)}

    return install


@pytest.fixture(scope="session")
def source_of_verl(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a verl version's whole wheel; skips the test if it is not available."""
    made: dict[str, Path] = {}

    def unpack(version: str) -> Path:
        wheels = sorted((verl_folder() / "wheels").glob(f"verl-{version}-*.whl"))
        if not wheels or not (verl_folder() / "hydra").is_dir():
            pytest.skip(f"the wheel of verl {version} or Hydra is not here (make verl-wheels fetches them)")
        if version not in made:
            made[version] = unpack_source(wheels[0], tmp_path_factory.mktemp(f"verl-{version}-source"))
        return made[version]

    return unpack


def unpack_source(wheel: Path, folder: Path) -> Path:
    """Puts all of verl that is in a wheel into a folder, and returns that."""
    _extract(wheel, folder, lambda name: name.startswith("verl"))
    return folder


def _extract(wheel: Path, folder: Path, is_wanted: Callable[[str], bool]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if is_wanted(name)])


def _unpack(wheel: Path, folder: Path) -> Path:
    _extract(wheel, folder, lambda name: "/config/" in name or ".dist-info/" in name)
    trainer = folder / "verl" / "trainer"
    shutil.copyfile(_STAND_IN, trainer / "main_ppo.py")
    for package in (trainer.parent, trainer):
        (package / "__init__.py").touch()
    return folder
