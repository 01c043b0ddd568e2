"""Reads a memory snapshot into ``memory`` and ``allocation``: one that ``rlcompare run`` wrote, or torch's own as JSON.

``collect/profiler/torch_memory.py`` describes the form of our file. Its metadata comes before the long lists, so
detection reads only the beginning of the file. torch (and verl's tool torch_memory) writes snapshots as pickles.
Unpickling runs code, so pickles are left out, with a finding that has the command to convert one to JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import duckdb

from rlcompare import db, resources
from rlcompare.errors import InputError
from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.blocks import head_of

_HEAD_BYTES = 16 * 1024
_KEY = re.compile(r'\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*')
_FAMILY = "rlcompare.memory/"
_SCHEMA = f"{_FAMILY}1"
_TORCH_SCHEMA = "torch.cuda.memory"
_REMEDY = "Copy it again, or run it again"
_TORCHS_OWN = re.compile(rb'\{\s*"(?:segments|device_traces)"\s*:\s*\[')
_RANK_IN_NAME = re.compile(r"(?:^|_)rank(\d{1,9})(?=[_.])")
_DEVICE = re.compile(r"cuda:(\d{1,4})")
_MOST_BYTES, _USUAL_BYTES = 2**30, 2**28
"""Maximum bytes of a snapshot, and of one whose end does not show that it is complete. DuckDB reads it as one object,
and takes twice this size in memory."""
_MOST_RATIO = 200
"""Maximum compression ratio of a large snapshot."""
_TAIL_BYTES = 4096


def capture_of_snapshot(path: Path) -> CaptureInput:
    """The capture of one snapshot.

    Raises:
        OSError: it cannot be read.
    """
    text = head_of(path, _HEAD_BYTES)
    head = metadata_of(text)
    if "schema" not in head and _TORCHS_OWN.match(text.lstrip()):
        rank = _RANK_IN_NAME.search(path.name)
        head = {"schema": _TORCH_SCHEMA, "rank": int(rank.group(1)) if rank else None}
    return CaptureInput(
        "torch_memory",
        path,
        {"memory": path},
        role=_text(head.get("role")),
        phase=_text(head.get("phase")),
        rank=_number(head.get("rank")),
        step_hint=_number(head.get("step")),
        started_ns=_number(head.get("start_ns")),
        info=head,
    )


def fill(
    con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, report: Callable[[Finding], None]
) -> None:
    """Reads one snapshot.

    Args:
        con: has the schema's tables and the variable ``capture``, equal to ``capture_id``.
        capture: its file ``memory`` is read.
        capture_id: its number in the store.
        report: called if the oldest events are missing.

    Raises:
        InputError: it cannot be read, or is of a later schema.
    """
    path = capture.files["memory"]
    schema = capture.info.get("schema")
    if schema not in (_SCHEMA, _TORCH_SCHEMA):
        raise InputError(path, f"its schema is {schema}, and this version reads {_SCHEMA}", "Upgrade rlcompare")
    device = _DEVICE.fullmatch(str(capture.info.get("device")))
    db.set_variable(con, "memory_file", db.pattern_of(path))
    db.set_variable(con, "memory_device", int(device.group(1)) if device else None, "INTEGER")
    try:
        most = _most_bytes(path)
        db.set_variable(con, "snapshot_bytes", most)
        form = "memory" if schema == _SCHEMA else "snapshot"
        db.run(con, resources.sql(f"sources/torch_memory/{form}"))
    except db.NOT_THE_INPUT:
        raise
    except (duckdb.Error, OSError) as error:
        problem = f"it cannot be read ({db.first_line(error)})"
        if "maximum_object_size" in problem:
            problem = f"it is cut or damaged, or its JSON is larger than {most >> 20} MiB"
        raise InputError(path, problem, _REMEDY) from error
    if capture.info.get("is_complete") is False:
        message = (
            f"{path.name}: its oldest events were dropped; raise tool_config.torch_memory.trace_alloc_max_entries "
            "to keep them"
        )
        report(Finding("warning", "memory_cut", message, capture_id))


def _most_bytes(path: Path) -> int:
    """Maximum bytes of the JSON text; the real size of a large one, if its end is as it should be.

    Raises:
        OSError: it cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - _TAIL_BYTES, 0))
        tail = file.read(_TAIL_BYTES)
    if path.suffix == ".gz":
        whole = int.from_bytes(tail[-4:], "little")  # RFC 1952: ISIZE
        is_complete = size <= whole <= _MOST_RATIO * size
    else:
        whole, is_complete = size, tail.rstrip().endswith(b"}")
    return min(max(whole, _USUAL_BYTES), _MOST_BYTES) if is_complete else _USUAL_BYTES


def is_snapshot(text: bytes) -> bool:
    """Whether a file that begins with this text is a snapshot, of either form."""
    if _TORCHS_OWN.match(text):
        return True
    # Most files have no schema, and need not be parsed.
    return b'"schema"' in text and str(metadata_of(text).get("schema")).startswith(_FAMILY)


def metadata_of(text: bytes) -> dict[str, object]:
    """The members of the JSON object that a text begins with, up to the first one that is not complete. No lists or
    objects are among them."""
    head = text.decode("utf-8", "replace")
    decoder, found, place = json.JSONDecoder(), dict[str, object](), 0
    while key := _KEY.match(head, place):
        try:
            name = json.loads(key[1])
            value, place = decoder.raw_decode(head, key.end())
        except (ValueError, RecursionError):
            break
        if place == len(head):  # a number may go on
            break
        if not isinstance(value, (dict, list)):
            found[name] = value
    return found


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= 60 else None
