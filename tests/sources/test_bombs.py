"""Inputs that expand: what is small on disk fills neither the memory nor the temporary folder."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from rlcompare.errors import InputError
from rlcompare.sources import blocks, trace_slice
from rlcompare.sources.blocks import Blocks, check_room
from rlcompare.sources.detect import find_runs
from rlcompare.sources.text_repair import mended_text
from rlcompare.sources.torch.file import event_file, read_header
from rlcompare.sources.torch.memory import capture_of_snapshot
from rlcompare.sources.trace_slice import complete_events, end_of_last_event, end_of_list

EVENTS = b'{"traceEvents": [{"ph": "X", "name": "a", "cat": "kernel", "ts": 1, "dur": 1}'


def bomb(path: Path, size: int) -> Path:
    """A trace whose events are followed by very many spaces, as members of a gzip file."""
    spaces = gzip.compress(b" " * 2**20)
    path.write_bytes(gzip.compress(EVENTS) + spaces * (size // 2**20) + gzip.compress(b"]}"))
    return path


@pytest.fixture(autouse=True)
def _smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "ANY_RATIO_BYTES", 8 * 2**20)


def test_a_trace_that_expands_without_sense_is_refused(tmp_path: Path) -> None:
    path = bomb(tmp_path / "trace.json.gz", 64 * 2**20)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    for read in (read_header, lambda trace: event_file(trace, scratch), lambda trace: list(Blocks(trace))):
        with pytest.raises(InputError, match=r"expand to more than 8\.0 MiB.*gunzip"):
            read(path)
    assert sum(file.stat().st_size for file in scratch.iterdir()) <= 9 * 2**20


def test_a_trace_that_compresses_well_is_read(tmp_path: Path) -> None:
    path = bomb(tmp_path / "trace.json.gz", 4 * 2**20)
    assert path.stat().st_size < 4 * 2**20 / 100, "its ratio alone does not refuse it"
    assert b"".join(Blocks(path)) == EVENTS + b" " * 4 * 2**20 + b"]}"


@pytest.mark.slow
def test_gigabytes_of_nul_bytes_count_as_a_few(tmp_path: Path) -> None:
    """What a file system that failed leaves behind a file."""
    path = tmp_path / "trace.json"
    path.write_bytes(EVENTS + b"]}")
    os.truncate(path, 2**30)
    first, *others = Blocks(path)
    assert (first.rstrip(b"\0"), len(first), set(others)) == (EVENTS + b"]}", blocks.BLOCK_BYTES, {b"\0"})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert event_file(path, scratch).path.stat().st_size <= 2 * blocks.BLOCK_BYTES
    assert mended_text(path, scratch).read_bytes() == EVENTS + b"]}"


@pytest.mark.parametrize("padding", [1, 100_000, blocks.BLOCK_BYTES, 3 * blocks.BLOCK_BYTES + 5, 5 << 30])
def test_nul_bytes_behind_a_compressed_file_are_no_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, padding: int
) -> None:
    """Behind a truncated stream they are codes of gzip, which stand for up to a thousand times as many bytes."""
    monkeypatch.setattr(blocks, "ANY_RATIO_BYTES", 2**40)
    text = b"".join(b'{"name": "%d"},\n' % (number * number % 7919) for number in range(50_000))
    path = tmp_path / "trace.json.gz"
    for whole in (True, False):
        stream = gzip.compress(text) if whole else gzip.compress(text)[:50_000]
        path.write_bytes(stream)
        expected = b"".join(Blocks(path))
        os.truncate(path, len(stream) + padding)
        padded = Blocks(path)
        content = b"".join(padded)
        assert content.startswith(expected)
        assert len(content) <= len(expected) + (0 if whole else 32_768)
        assert (padded.damage is None) == whole


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_mended_text_is_what_was_written_without_nul_bytes(tmp_path: Path, encoding: str) -> None:
    text = "Name,\0é\r\n漢字\0\0,1\n" * 200_000 + "\0" * 3_000_001 + "behind,them"
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding) + (b"\xe6" if encoding == "utf-8" else b"\0"))
    mended = mended_text(path, tmp_path).read_bytes().decode()
    assert mended == text.replace("\0", "") + "\ufffd"


def test_copies_leave_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(2**40, 0, blocks.KEPT_FREE_BYTES + 2**20))
    check_room(tmp_path / "copy", 2**20)
    with pytest.raises(OSError, match="257 MiB are free") as raised:
        check_room(tmp_path / "copy", 2**20 + 1)
    assert raised.value.errno == errno.ENOSPC


@pytest.mark.parametrize(("total", "free", "has_room"), [(64, 60, True), (64, 7, False), (0, 0, True)])
def test_copies_fit_into_a_small_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, total: int, free: int, has_room: bool
) -> None:
    """Of 64 MiB, as in a container, or of a file system that does not say its size."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(total * 2**20, 0, free * 2**20))
    if has_room:
        check_room(tmp_path / "copy", 2**20)
        return
    with pytest.raises(OSError, match=r"7\.0 MiB are free"):
        check_room(tmp_path / "copy", 2**20)


def test_brackets_beyond_the_stack_are_damage(tmp_path: Path) -> None:
    brackets = b"[" * 5000 + b"]" * 5000
    assert end_of_last_event(b'{"ph": "X"},\n{"ph": "X", "a": ' + brackets + b'},\n{"ph": "X"') is None
    snapshot = tmp_path / "memory.json"
    snapshot.write_bytes(b'{"schema": "torch", "a": ' + brackets + b', "timeline": []}')
    assert capture_of_snapshot(snapshot).info == {"schema": "torch"}


@pytest.mark.parametrize("repeated", [b',"a":[{}]', b',"a":[{}],"b":[[[[', b',"a":[' + b"1" * 5000 + b",{}]"])
def test_text_that_looks_like_the_keys_behind_the_events_is_not_read_again_and_again(repeated: bytes) -> None:
    """Each bracket may be the end of the list, and all that follows is keys, but for the last brace."""
    tail = b'[{"ph":"X"}]' + repeated * (2**21 // len(repeated))
    brackets = [place for place, byte in enumerate(tail) if byte == ord("]")]
    assert end_of_list(tail, brackets) is None
    # The same with the brace is such keys, all of them.
    assert end_of_list(b'[{"ph":"X"}],"a":[{}],"b":[1]} ', [11, 20]) == (11, {"a": [{}], "b": [1]})


@pytest.mark.parametrize("end", [b"\x0c}", b"}\x0c", b"}\xc2\xa0", b', "b": ' + b"[" * 1500 + b"]" * 1500 + b"}"])
def test_what_is_not_json_behind_the_events_is_no_error(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "rank0.pt.trace.json"
    path.write_bytes(EVENTS + b'], "a": 1' + end)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert read_header(path) == {}
    assert event_file(path, scratch).path.read_bytes().count(b'"ph"') == 1
    assert b'"ph"' in trace_slice.bare_list(path, scratch).path.read_bytes()


def test_an_event_that_never_ends_is_not_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.json"
    path.write_text(f'[{{"ph": "X", "name": "{"x" * 100_000}"}}]')
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert complete_events(path, scratch).damage is None
    monkeypatch.setattr(trace_slice, "_BLOCK", 1000)
    monkeypatch.setattr(trace_slice, "LONGEST_EVENT", 10_000)
    with pytest.raises(InputError, match="no complete trace event"):
        complete_events(path, scratch)


def test_a_bomb_takes_no_sound_trace_with_it(tmp_path: Path) -> None:
    bomb(tmp_path / "rank0.pt.trace.json.gz", 64 * 2**20)
    (tmp_path / "rank1.pt.trace.json").write_bytes(EVENTS + b"]}")
    (run,) = find_runs(tmp_path)
    assert [capture.path.name for capture in run.captures] == ["rank1.pt.trace.json"]
    assert any("expand to more than" in finding.message for finding in run.findings)
