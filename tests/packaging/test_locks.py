"""The hashed locks agree with what is declared and pinned, and the bill of materials says what they say."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rlcompare import __version__, toml
from tests.ci_schemas import check_json
from tools.platforms import PYTHONS
from tools.sbom import LOCK, Pin, document, read_lock

ROOT = Path(__file__).resolve().parent.parent.parent
LOCKS = ("run.lock", "build.lock")
BUILD_PYTHONS = PYTHONS[2:]

pytestmark = pytest.mark.skipif(not (ROOT / "rlcompare").is_dir(), reason="there is no checkout")


def _pins(name: str) -> list[Pin]:
    return read_lock((LOCK.parent / name).read_text(encoding="utf-8").splitlines())


def _environments(pythons: tuple[str, ...]) -> list[dict[str, str]]:
    systems = [("linux", "posix", "Linux", "x86_64"), ("linux", "posix", "Linux", "aarch64")]
    systems += [("darwin", "posix", "Darwin", "arm64"), ("win32", "nt", "Windows", "AMD64")]
    return [
        {
            "python_version": python, "python_full_version": f"{python}.4", "implementation_name": "cpython",
            "platform_python_implementation": "CPython", "sys_platform": system, "os_name": name,
            "platform_system": kind, "platform_machine": machine,
        }
        for python in pythons
        for system, name, kind, machine in systems
    ]  # fmt: skip


def _chosen(pins: list[Pin], environment: dict[str, str]) -> dict[str, Pin]:
    """What pip installs in an environment; fails if it would find two versions of one package."""
    found: dict[str, Pin] = {}
    for pin in pins:
        if not pin.marker or Marker(pin.marker).evaluate(environment):
            assert pin.name not in found, f"{pin.name} twice for {environment}"
            found[pin.name] = pin
    return found


def test_what_is_declared_is_locked_in_a_version_that_is_allowed() -> None:
    project = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = _pins("run.lock")
    for environment in _environments(PYTHONS):
        chosen = _chosen(pins, environment)
        for requirement in map(Requirement, project["dependencies"]):
            if requirement.marker is None or requirement.marker.evaluate(environment):
                assert requirement.specifier.contains(chosen[canonicalize_name(requirement.name)].version)
        for pin in chosen.values():
            assert pin.needed_by and set(pin.needed_by) & {"rlcompare", *chosen}, f"nothing needs {pin.name}"


@pytest.mark.parametrize(("name", "pythons"), [("run.lock", PYTHONS), ("build.lock", BUILD_PYTHONS)])
def test_versions_are_those_of_the_constraints(name: str, pythons: tuple[str, ...]) -> None:
    """So that CI tests what the container and the release install. What a lock has beyond them is pinned by it."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    constraints = [Requirement(line) for line in lines if line and not line.startswith("#")]
    pins, compared = _pins(name), 0
    for environment in _environments(pythons):
        chosen = _chosen(pins, environment)
        for constraint in constraints:
            pin = chosen.get(canonicalize_name(constraint.name))
            if pin is not None and (constraint.marker is None or constraint.marker.evaluate(environment)):
                assert constraint.specifier.contains(pin.version), f"{pin}: run python -m tools.locks"
                compared += 1
    assert compared > 10


@pytest.mark.parametrize("name", LOCKS)
def test_every_version_has_hashes(name: str) -> None:
    pins = _pins(name)
    assert len(pins) > 10
    for pin in pins:
        assert pin.hashes and len(set(pin.hashes)) == len(pin.hashes), pin.name


def test_a_line_that_is_no_pin_is_refused() -> None:
    """A lock that an editor broke must not become a shorter bill of materials."""
    with pytest.raises(ValueError, match="--extra-index-url"):
        read_lock(["click==8.5.1 \\", "--extra-index-url=x"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="pip judges markers by the system that it runs on")
def test_linux_on_aarch64_finds_every_locked_file(tmp_path: Path) -> None:
    """Most Ascend hosts are aarch64. Resolved by pip, for this Python, with binary packages only, checked by hashes."""
    found = _resolved("aarch64", tmp_path)
    if found is None and _resolved("x86_64", tmp_path) is None:
        pytest.skip("the package registry cannot be reached")
    environment = {"python_full_version": platform.python_version(), "python_version": _PYTHON}
    assert found == set(_chosen(_pins("run.lock"), {**_environments((_PYTHON,))[1], **environment}))


_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def _resolved(machine: str, place: Path) -> set[str] | None:
    """What pip would install of the lock on Linux with glibc 2.28; None: it cannot."""
    platforms = [f"manylinux{glibc}_{machine}" for glibc in ("_2_28", "_2_26", "_2_17", "2014")]
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run",
        "--ignore-installed", "--only-binary", ":all:", "--python-version", _PYTHON, "--target", str(place / "target"),
        *(option for name in platforms for option in ("--platform", name)), "--require-hashes", "-r", str(LOCK),
        "--report", str(place / f"{machine}.json"),
    ]  # fmt: skip
    variables = {key: value for key, value in os.environ.items() if key != "PIP_CONSTRAINT"}
    if subprocess.run(command, env=variables, capture_output=True).returncode:
        return None
    report = json.loads((place / f"{machine}.json").read_text(encoding="utf-8"))
    return {canonicalize_name(item["metadata"]["name"]) for item in report["install"]}


class TestBillOfMaterials:
    def test_is_valid_cyclonedx(self) -> None:
        check_json(document(_pins("run.lock"), __version__, 1_700_000_000), "cyclonedx-1.6.json")

    def test_has_every_package_once_and_who_needs_it(self) -> None:
        made = document(_pins("run.lock"), "1.2.3", None)
        refs = [component["bom-ref"] for component in made["components"]]
        assert len(refs) == len(set(refs)) and len(refs) == len(_pins("run.lock"))
        needs = {row["ref"]: row["dependsOn"] for row in made["dependencies"]}
        assert set(needs) == {*refs, "pkg:pypi/rlcompare@1.2.3"}
        reached, waiting = set(), ["pkg:pypi/rlcompare@1.2.3"]
        while waiting:
            reached.add(ref := waiting.pop())
            waiting += [other for other in needs[ref] if other not in reached]
        assert reached == set(needs), "a package that nothing needs"
        duckdb = next(ref for ref in refs if ref.startswith("pkg:pypi/duckdb@"))
        assert duckdb in next(found for ref, found in needs.items() if "sqlite-scanner" in ref)

    def test_the_command_writes_the_same_bytes_again(self, tmp_path: Path) -> None:
        written = []
        for name in ("one.json", "two.json"):
            command = [sys.executable, "-m", "tools.sbom", "-o", str(tmp_path / name)]
            subprocess.run(command, cwd=ROOT, check=True)
            written.append((tmp_path / name).read_bytes())
        assert written[0] == written[1]
        assert json.loads(written[0])["metadata"]["component"]["version"] == __version__
