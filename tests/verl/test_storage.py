"""What the machines of a job write must be found here: a local file system is told before the job starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlcompare.collect.verl import storage
from rlcompare.collect.verl.ask import Installed
from rlcompare.collect.verl.command import parse_command
from rlcompare.collect.verl.planned import VerlPlan
from rlcompare.collect.verl.storage import file_system, notes_on_storage

MOUNTS = """\
25 1 0:23 / / rw,relatime shared:1 - overlay overlay rw,lowerdir=/a
26 25 8:1 / /data rw - ext4 /dev/sda1 rw
27 25 0:50 / /mnt/with\\040space rw - nfs4 server:/share rw
28 25 0:51 /sub /data/shared rw - lustre mgs:/fs rw
29 25 0:52 / /mnt/over rw - ext4 /dev/sdb1 rw
30 25 0:53 / /mnt/over rw - fuse.juicefs JuiceFS:x rw
31 25 0:54 / /x
"""


@pytest.fixture(autouse=True)
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    monkeypatch.setattr(storage, "_MOUNTS", tmp_path / "mountinfo")
    return tmp_path / "mountinfo"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/runs/new", "ext4"),
        ("/data/shared/runs/absent/yet", "lustre"),
        ("/database", "overlay"),
        ("/mnt/with space/runs", "nfs4"),
        ("/mnt/over/runs", "fuse.juicefs"),
    ],
)
def test_the_file_system_of_a_folder(mounts: Path, path: str, kind: str) -> None:
    assert file_system(Path(path), mounts) == kind
    assert file_system(Path(path), mounts / "absent") is None


@pytest.mark.parametrize(
    ("folder", "submit", "nodes", "said"),
    [
        ("/data/new", "", {"trainer": {"nnodes": 2}}, "local file system (ext4), and the job runs on 2 nodes"),
        ("/data/new", "", {"trainer": {"nnodes": 1}, "rollout": {"nnodes": 3}}, "runs on 3 nodes"),
        ("/data/new", "ray job submit --address http://head:8265 --", {"trainer": {"nnodes": 1}}, "another machine"),
        ("/data/new", "ray job submit --address http://127.0.0.1:8265 --", {"trainer": {"nnodes": 1}}, None),
        ("/data/new", "", {"trainer": {"nnodes": 1}}, None),
        ("/data/shared/new", "", {"trainer": {"nnodes": 2}}, None),
    ],
)
def test_what_is_said_of_it(folder: str, submit: str, nodes: dict[str, dict[str, int]], said: str | None) -> None:
    command = parse_command(f"{submit} python3 -m verl.trainer.main_ppo".split())
    installed = Installed((0, 7, 1), {"verl": "0.7.1"}, True, nodes)
    plan = VerlPlan(profile=Path(folder, "profile"), metrics=Path(folder, "metrics.jsonl"))
    notes = notes_on_storage(command, installed, plan, Path(folder), {})
    assert len(notes) == (said is not None)
    assert said is None or said in notes[0]


def test_a_relative_path_of_a_submitted_job() -> None:
    config = {"trainer": {"nnodes": 1}, "global_profiler": {"save_path": "./prof"}}
    installed = Installed((0, 7, 1), {"verl": "0.7.1"}, True, config)
    for submit, count in (("ray job submit --", 1), ("", 0)):
        command = parse_command(f"{submit} python3 -m verl.trainer.main_ppo".split())
        assert len(notes_on_storage(command, installed, VerlPlan(), Path("/data"), {})) == count
