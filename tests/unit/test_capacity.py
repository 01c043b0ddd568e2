"""Limits of a container, from files such as the kernel writes. The limits of this machine apply too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rlcompare import capacity

V1 = "5:memory:/docker/c0ffee\n2:cpu,cpuacct:/docker/c0ffee\n1:cpuset:/\n"
UNLIMITED_V1 = "9223372036854771712"


@pytest.fixture(autouse=True)
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)), raising=False)
    monkeypatch.setattr(os, "sysconf", lambda name: 2**20 if name == "SC_PHYS_PAGES" else 4096)


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(capacity, "_ROOT", tmp_path / "cgroup")
    monkeypatch.setattr(capacity, "_OWN_GROUPS", tmp_path / "own")
    return tmp_path


def write(groups: Path, own: str, files: dict[str, str]) -> None:
    (groups / "own").write_text(own)
    for name, content in files.items():
        path = groups / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")


@pytest.mark.parametrize(
    ("own", "files", "cores", "gigabytes"),
    [
        ("0::/\n", {"cpu.max": "200000 100000", "memory.max": "1073741824"}, 2, 1),
        ("0::/\n", {"cpu.max": "150000 100000"}, 2, 4),
        ("0::/\n", {"cpu.max": "5000 100000"}, 1, 4),
        ("0::/\n", {"cpu.max": "max 100000", "memory.max": "max"}, 64, 4),
        # The group around this one allows less.
        ("0::/pod/job\n", {"pod/job/cpu.max": "max 100000", "pod/cpu.max": "400000 100000"}, 4, 4),
        ("0::/pod/job\n", {"pod/job/memory.max": "max", "pod/memory.max": "2147483648"}, 64, 2),
        # In a container, its group is the root, and its path is that outside.
        (
            V1,
            {
                "cpu/cpu.cfs_quota_us": "300000",
                "cpu/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": "1073741824",
            },
            3,
            1,
        ),
        (
            V1,
            {
                "cpu/docker/c0ffee/cpu.cfs_quota_us": "-1",
                "cpu/docker/c0ffee/cpu.cfs_period_us": "100000",
                "memory/docker/c0ffee/memory.limit_in_bytes": UNLIMITED_V1,
            },
            64,
            4,
        ),
        (
            "4:cpu,cpuacct:/a\n",
            {"cpu,cpuacct/cpu.cfs_quota_us": "150000", "cpu,cpuacct/cpu.cfs_period_us": "100000"},
            2,
            4,
        ),
        ("1:name=odd:/a\u2028b\x0bc\n0::/job\n", {"job/cpu.max": "100000 100000"}, 1, 4),
        ("0::/../job\n", {"job/cpu.max": "100000 100000"}, 1, 4),
        ("0::/\n", {"cpu.max": "broken", "memory.max": ""}, 64, 4),
    ],
)
def test_limits(groups: Path, own: str, files: dict[str, str], cores: int, gigabytes: int) -> None:
    write(groups, own, files)
    assert (capacity.cores(), capacity.memory_bytes()) == (cores, gigabytes * 2**30)


def test_a_machine_without_control_groups(groups: Path) -> None:
    assert (capacity.cores(), capacity.memory_bytes()) == (64, 4 * 2**30)
