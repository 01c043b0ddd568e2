"""The wheel and the source archive: what they hold, that they can be built again byte by byte, and their metadata.

They are built without network, from the checkout. The suite itself runs against an installed wheel (``make wheel``).
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
RESOURCES = "rlcompare/_resources"
EPOCH = "1700000000"

pytestmark = pytest.mark.skipif(not (ROOT / "rlcompare").is_dir(), reason="there is no checkout to build from")


@dataclass(frozen=True)
class Built:
    """What was built of the checkout, and both again of the source archive, elsewhere."""

    wheel: Path
    sdist: Path
    wheel_again: Path
    sdist_again: Path

    def wheel_files(self) -> dict[str, bytes]:
        with zipfile.ZipFile(self.wheel) as archive:
            return {info.filename: archive.read(info) for info in archive.infolist()}

    def sdist_files(self) -> dict[str, bytes]:
        """Contents by path below the archive's only folder."""
        found = {}
        with tarfile.open(self.sdist) as archive:
            for member in archive:
                file = archive.extractfile(member)
                assert file is not None, f"{member.name} is no plain file"
                found[member.name.partition("/")[2]] = file.read()
        return found

    def metadata(self) -> bytes:
        (content,) = (data for name, data in self.wheel_files().items() if name.endswith(".dist-info/METADATA"))
        return content


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    pytest.importorskip("hatchling", reason="hatchling is not installed (extra dev)")
    here, there = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("there")
    _build(ROOT, here, umask=0o022)
    (sdist,), (wheel,) = here.glob("*.tar.gz"), here.glob("*.whl")
    with tarfile.open(sdist) as archive:
        archive.extractall(there, filter="data")
    (unpacked,) = there.iterdir()
    other = {"USER": "somebody", "LOGNAME": "somebody", "HOSTNAME": "somewhere", "TZ": "UTC-8"}
    _build(unpacked, there, umask=0o077, **other)  # elsewhere, at another time, as another user would
    return Built(wheel, sdist, there / wheel.name, there / sdist.name)


def _build(source: Path, target: Path, *, umask: int, **variables: str) -> None:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, **variables}
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, umask=umask)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_source_archive_builds_the_same_files(built: Built) -> None:
    """Byte by byte: so nothing in them tells where, when or by whom they were built, and the archive lacks nothing."""
    assert built.wheel.read_bytes() == built.wheel_again.read_bytes()
    assert built.sdist.read_bytes() == built.sdist_again.read_bytes()


def test_the_wheel_holds_the_package_and_nothing_else(built: Built) -> None:
    package = {path.as_posix() for path in _sources("rlcompare")}
    resources = {f"{RESOURCES}/{path.as_posix()}" for name in ("sql", "report_templates") for path in _sources(name)}
    info = {name for name in built.wheel_files() if name.split("/")[0].endswith((".dist-info", ".data"))}
    assert set(built.wheel_files()) - info == package | resources | {"rlcompare-probe.pth"}
    assert {name.partition("/")[2] for name in info} == {
        "METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE", "data/share/man/man1/rlcompare.1",
    }  # fmt: skip


def test_the_wheel_holds_code_and_what_it_reads(built: Built) -> None:
    """No profile, store, log or picture that somebody left in the package."""
    code = {".py", ".pth", ".sql", ".j2", ".css", ".js", ".csv", ".toml", ".yaml", ".yml", ".json", ".groovy", ".md"}
    for name, content in built.wheel_files().items():
        path = PurePosixPath(name)
        if ".dist-info" not in path.parts[0] and ".data" not in path.parts[0]:
            assert path.suffix in code or path.name == "py.typed", name
            assert len(content) < 500_000, name
            assert not path.name.startswith((".", "test_")) and "tests" not in path.parts, name


def _sources(folder: str) -> Iterator[Path]:
    for path in (ROOT / folder).rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(ROOT)


def test_the_source_archive_holds_what_make_test_needs(built: Built) -> None:
    names = set(built.sdist_files())
    folders = {PurePosixPath(name).parts[0] for name in names if "/" in name}
    assert folders >= {"rlcompare", "sql", "report_templates", "tests", "golden", "benchmarks", "docs", "tools", ".ci"}
    assert names >= {"Makefile", "constraints.txt", "pyproject.toml", "LICENSE", "CHANGELOG.md", "PKG-INFO"}
    for name in names:
        path = PurePosixPath(name)
        assert not path.is_absolute() and ".." not in path.parts
        assert path.parts[0] not in ("build", "shared", "mutants", "rlcompare-out"), name
        assert not {"__pycache__", ".venv", ".git"} & set(path.parts), name
        assert ".actual" not in path.suffixes and path.suffix not in (".pyc", ".duckdb", ".whl", ".log"), name


def test_the_record_is_right(built: Built) -> None:
    files = built.wheel_files()
    (record,) = (name for name in files if name.endswith("/RECORD"))
    rows = {name: (digest, size) for name, digest, size in csv.reader(files[record].decode().splitlines())}
    assert set(rows) == set(files)
    for name, content in files.items():
        if name != record:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert rows[name] == (f"sha256={digest}", str(len(content)))


def test_times_and_owners_are_the_builds(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        assert {(member.mtime, member.uid, member.gid, member.uname) for member in archive} == {(int(EPOCH), 0, 0, "")}
        assert {member.mode for member in archive} <= {0o644, 0o755}
    with zipfile.ZipFile(built.wheel) as wheel:
        assert len({info.date_time for info in wheel.infolist()}) == 1
        assert {info.external_attr >> 16 & 0o777 for info in wheel.infolist()} <= {0o644, 0o755}


def test_metadata(built: Built) -> None:
    """By the validator that the package index uses."""
    packaging = pytest.importorskip("packaging.metadata")
    metadata = packaging.Metadata.from_email(built.metadata(), validate=True)
    assert (metadata.name, str(metadata.requires_python)) == ("rlcompare", ">=3.10")
    assert str(metadata.license_expression) == "Apache-2.0" and metadata.license_files == ["LICENSE"]
    assert metadata.description_content_type == "text/markdown" and metadata.description.startswith("# ")
    assert not any(requirement.url for requirement in metadata.requires_dist)
    known = pytest.importorskip("trove_classifiers").classifiers
    assert not set(metadata.classifiers) - set(known)
    from tools.platforms import PYTHONS

    prefix = "Programming Language :: Python :: "
    versions = [name.removeprefix(prefix) for name in metadata.classifiers if re.match(f"{prefix}3\\.", name)]
    assert versions == list(PYTHONS)


def test_the_wheel_is_for_every_platform(built: Built) -> None:
    (content,) = (data for name, data in built.wheel_files().items() if name.endswith(".dist-info/WHEEL"))
    wheel = BytesParser().parsebytes(content)
    assert (wheel["Tag"], wheel["Root-Is-Purelib"]) == ("py3-none-any", "true")
