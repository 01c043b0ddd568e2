"""Whether what the machines of a job write can be found here: checked by the file system of the output folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from rlcompare.collect.verl.ask import Installed
from rlcompare.collect.verl.command import VerlCommand
from rlcompare.collect.verl.keys import keys_of, number
from rlcompare.collect.verl.planned import VerlPlan

_MOUNTS = Path("/proc/self/mountinfo")
_LOCAL = frozenset(
    ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "overlay", "aufs", "tmpfs", "ramfs", "squashfs", "vfat")
)
"""Types of file systems that other machines do not see. All others may be shared, and are taken for it."""
_NODES = ("trainer.nnodes", "rollout.nnodes", "actor_rollout_ref.rollout.nnodes")
_OCTAL = re.compile(r"\\([0-7]{3})")


def notes_on_storage(
    command: VerlCommand, installed: Installed, plan: VerlPlan, folder: Path, environment: Mapping[str, str]
) -> list[str]:
    """What the user must know about folders that the job's machines write.

    Args:
        folder: of the run; absolute.
        environment: that of this process.
    """
    elsewhere = command.submission is not None and command.submission.is_elsewhere(environment)
    nodes = max(number(installed.value(key)) or 1 for key in _NODES)
    notes = []
    places = dict.fromkeys([plan.profile, folder if plan.metrics is None else plan.metrics.parent])
    local = [(place, kind) for place in places if (kind := file_system(place)) in _LOCAL]
    if local and (nodes > 1 or elsewhere):
        where = f"on {nodes} nodes" if nodes > 1 else "on another machine"
        place, kind = local[0]
        notes.append(
            f"{place} is on a local file system ({kind}), and the job runs {where}: profiles and metrics that another "
            "machine writes stay there. Choose -o on storage that all of them share"
        )
    key = keys_of(installed).save_path
    save_path = installed.value(key)
    if command.submission and not plan.probes and isinstance(save_path, str) and not save_path.startswith("/"):
        notes.append(
            f"{key}={save_path} is relative to the folder in which Ray runs the job, and is not found here: set an "
            "absolute path, or leave it to rlcompare"
        )
    return notes


def file_system(path: Path, mounts: Path | None = None) -> str | None:
    """The type of the file system on which a path is or would be; None if unknown.

    Args:
        mounts: the kernel's list of mounts; None: of this process.
    """
    try:
        lines = (mounts or _MOUNTS).read_text(encoding="utf-8", errors="replace").splitlines()
        place = path.resolve()
    except (OSError, RuntimeError):
        return None
    found: tuple[int, str | None] = (-1, None)
    for line in lines:
        left, _, right = line.partition(" - ")
        fields, kind = left.split(), right.split()[:1]
        if len(fields) < 5 or not kind:
            continue
        point = Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4]))
        if place.is_relative_to(point) and len(point.parts) >= found[0]:  # a later mount hides an earlier one
            found = (len(point.parts), kind[0])
    return found[1]
