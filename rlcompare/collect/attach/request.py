"""The request: a ``profiler_config.json`` for torch_npu's ``dynamic_profile``, versions 2.5.1 to 2.14."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlcompare import temporary
from rlcompare.errors import InputError, UsageError

CONFIG = "profiler_config.json"
START_CONFIG = "start_config.json"
"""Our name for a configuration that a job passes to ``dynamic_profile.start``. torch_npu does not watch it."""
AT_ONCE = -1
"""torch_npu's ``start_step`` for the next step; 2.5.1 does not support it."""

_LARGEST = 1024 * 1024 - 4
"""torch_npu copies the file into a shared memory of 1 MiB, after four bytes for the time."""
_LEVELS = {"level_none": "Level_none", "level0": "Level0", "level1": "Level1", "level2": "Level2"}
_PATH = re.compile(r"[./_\-\s~0-9a-zA-Z\u4e00-\u9fa5]+")
"""torch_npu before 2.13 refuses other paths; later versions warn."""
_EXPERIMENTAL: Mapping[str, Any] = {
    "aic_metrics": "AiCoreNone",
    "l2_cache": False,
    "op_attr": False,
    "gc_detect_threshold": None,
    "data_simplification": True,
    "record_op_args": False,
    "export_type": ["text"],
    "msprof_tx": False,
    "mstx": False,
    "host_sys": [],
    "mstx_domain_include": [],
    "mstx_domain_exclude": [],
    "sys_io": False,
    "sys_interconnection": False,
}
"""The remaining keys that torch_npu writes if there is no file."""


@dataclass(frozen=True)
class Request:
    """A request to a running job.

    Attributes:
        folder: the folder that the job polls.
        output: folder for its profile: absolute, without links, and empty.
        start_step: number of steps that the job must have finished; None: the next one that it finishes.
        ranks: the only ranks to profile; None: all.
        contents: verl's names: npu, cpu, memory, shapes, module, stack; npu and cpu if neither is named.
        analysis: whether the job parses its profile, which pauses it. If ranks are named, torch_npu never parses,
            whatever this says.
        with_flops: whether to estimate floating-point operations, which torch_npu records as mstx marks; if not, the
            file's own setting stays.
    """

    folder: Path
    output: Path
    active: int
    warmup: int
    start_step: int | None
    ranks: tuple[int, ...] | None
    level: str
    contents: tuple[str, ...]
    analysis: bool
    with_flops: bool = False

    @property
    def steps(self) -> int:
        return self.warmup + self.active


def check_path(path: Path, what: str) -> None:
    """Refuses a path that torch_npu does not accept.

    Raises:
        UsageError: it contains other characters.
    """
    if not _PATH.fullmatch(str(path)):
        raise UsageError(
            f"{what} {path}: torch_npu only accepts paths of letters, digits, Chinese characters, spaces and "
            ". _ - ~; choose another path"
        )


def settings(request: Request, present: Mapping[str, Any]) -> dict[str, Any]:
    """The whole configuration: the existing file with the request's settings merged in.

    Args:
        present: content of the file; empty if there is none.
    """
    contents = request.contents
    both = "cpu" not in contents and "npu" not in contents
    kept = present.get("experimental_config")
    experimental = dict(kept) if isinstance(kept, dict) else dict(_EXPERIMENTAL)
    if not isinstance(experimental.get("aic_metrics", ""), str):
        raise InputError(
            request.folder / CONFIG,
            "experimental_config.aic_metrics is not a string, so torch_npu would ignore the request",
            'Set it to a name such as "PipeUtilization", or remove the file',
        )
    return {
        **(present or {"with_flops": False}),
        **({"with_flops": True} if request.with_flops else {}),
        "activities": [name for name in ("CPU", "NPU") if both or name.lower() in contents],
        "prof_dir": str(request.output),
        "analyse": request.analysis,
        "async_mode": False,  # if True, the log reports the end of profiling before the analysis has ended
        "record_shapes": "shapes" in contents,
        "profile_memory": "memory" in contents,
        "with_stack": "stack" in contents,
        "with_modules": "module" in contents,
        "active": request.active,
        "warmup": request.warmup,
        "start_step": AT_ONCE if request.start_step is None else request.start_step,
        "is_rank": request.ranks is not None,
        "rank_list": list(request.ranks or ()),
        "experimental_config": {
            **experimental,
            **({"msprof_tx": True} if request.with_flops else {}),
            "profiler_level": _LEVELS[request.level],
        },
    }


def read_config(file: Path) -> dict[str, Any]:
    """The content of ``profiler_config.json``; empty if there is none.

    Raises:
        InputError: it is a link, not a file, or not a JSON object.
    """
    try:
        if file.exists() and not (file.is_file() or file.is_symlink()):
            raise InputError(file, "it is not a file", "Move it away: rlcompare then writes a new one")
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
            content = json.loads(opened.read(_LARGEST + 1))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise InputError(
            file, f"it is not valid JSON ({error})", "Fix or remove it: rlcompare then writes a new one"
        ) from error
    except OSError as error:
        if file.is_symlink():
            raise InputError(file, "it is a link, which torch_npu does not accept", "Replace it with a file") from error
        remedy = "Run this as the user of the job"
        raise InputError(file, f"it cannot be read ({error.strerror})", remedy) from error
    if not isinstance(content, dict):
        raise InputError(file, "expected a JSON object", "Fix or remove it: rlcompare then writes a new one")
    return content


def write_config(file: Path, config: Mapping[str, Any], newer_than: int) -> bytes:
    """Replaces the file atomically, with a modification time that the job sees as new; returns its content.

    Args:
        newer_than: seconds since the epoch. torch_npu compares whole seconds with its start time and with the last file
            that it read, and would miss a file that is not newer.

    Raises:
        UsageError: the folder cannot be written.
        InputError: the configuration is larger than torch_npu accepts.
    """
    content = json.dumps(config, indent=4).encode()
    if len(json.dumps({**config, "is_valid": True}).encode()) > _LARGEST:
        raise InputError(file, "it is larger than 1 MiB, which torch_npu refuses", "Make it smaller")
    try:
        _replace(file, content, newer_than)
    except OSError as error:
        raise UsageError(f"{file} cannot be written ({error.strerror}); run this as the job's user") from error
    return content


def _replace(file: Path, content: bytes, newer_than: int) -> None:
    earlier = file.stat() if file.exists() else None
    temporary.sweep(file.parent)
    with temporary.replacing(file) as draft:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as written:
            written.write(content)
            os.fchmod(descriptor, _mode(earlier))
            if earlier is not None and earlier.st_uid != os.geteuid():
                with suppress(PermissionError):  # the job can read it anyway
                    os.fchown(descriptor, earlier.st_uid, earlier.st_gid)
        modified = int(draft.stat().st_mtime)
        oldest = max(newer_than, int(earlier.st_mtime) if earlier else 0) + 1
        if modified < oldest:
            os.utime(draft, (oldest, oldest))


def _mode(earlier: os.stat_result | None) -> int:
    """The permissions of the previous file, made readable for a job of another user."""
    return (stat.S_IMODE(earlier.st_mode) if earlier else 0o640) | (
        0o044 if earlier is None or earlier.st_uid != os.geteuid() else 0
    )
