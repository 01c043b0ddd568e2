"""What can go wrong around a command: full and read-only disks, inputs that vanish, other processes, clocks, memory.

    python -m tests.faults.checks [NAME]...
    DIFFS_AT_ONCE=50 python -m tests.faults.checks "diffs at once"

Each check says what it did, and fails with what it found. Disks are small file systems in memory, mounted where no
other process sees them; without the right to mount, these checks are skipped.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from tests.faults.kills import Arguments, import_all, make_inputs
from tests.faults.processes import Place, Watch, aside, finish, run, start

_DIFF: Arguments = ("diff", "-q", "-d", "../inputs/new", "-bp", "../inputs/base", "-o", "out/report")
_STORE: Arguments = ("ingest", "-q", "../inputs/new", "-o", "out/run.duckdb")
_BASELINE: Arguments = ("-q", "--baselines", "out/baselines", "--force", "--reason", "because")
_ADD: Arguments = ("baseline", "add", "main", "../inputs/base", *_BASELINE)
_HISTORY: Arguments = ("history", "add", "-q", "--history", "out/history.duckdb")
_NEW_NAMESPACE, _PRIVATE = 0x20000, 0x4000 | 0x40000
_READ_ONLY, _BIND, _REMOUNT = 1, 0x1000, 0x20

Check = Callable[[Path], None]


class SkippedError(Exception):
    """The check cannot be made here."""


def mount(source: str, target: Path, kind: str, flags: int, options: str = "") -> None:
    """Mounts a file system, for this process and its children only."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), os.fsencode(target), kind.encode(), flags, options.encode()):
        raise SkippedError(f"cannot mount: {os.strerror(ctypes.get_errno())}")


def with_mounts(work: Callable[[], object]) -> object:
    """The result of work in a process with mounts of its own."""

    def inside() -> object:
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(_NEW_NAMESPACE):
                raise SkippedError("no right to mount")
            mount("none", Path("/"), "", _PRIVATE)
            return work()
        except SkippedError as error:
            return error

    result = aside(inside)
    if isinstance(result, SkippedError):
        raise result
    return result


def refused(place: Place, arguments: Arguments, code: int, *says: str) -> None:
    """Runs a command that must fail with one line, and leave nothing incomplete."""
    got, said = run(place, arguments)
    *_, line = said.splitlines() or [""]
    assert got == code, (arguments, got, said)
    assert line.startswith("rlcompare: error: ") and "Traceback" not in said, said
    assert all(text in line for text in says), (says, line)
    clean(place)


def succeeds(place: Place, arguments: Arguments) -> str:
    code, said = run(place, arguments)
    assert code == 0, (arguments, code, said)
    return said


def clean(place: Place) -> None:
    """Nothing incomplete or temporary is left."""
    left = {name for name in place.left() if re.search(r"\.partial|\.rlcompare-part|^tmp/|/pack-", name)}
    assert not left, left


def full_disks(folder: Path) -> None:
    cases: Sequence[tuple[str, int, Arguments, tuple[str, ...]]] = (
        ("cache", 200, _DIFF, ("cannot be written", "--cache-dir or --no-cache")),
        ("tmp", 200, (*_DIFF, "--no-cache"), ("a temporary file in", "set TMPDIR to another folder")),
        ("out", 200, _STORE, ("out/run.duckdb cannot be written", "choose another path with -o")),
        ("out", 64, _DIFF, ("out/report cannot be written", "choose another folder with -o")),
        ("out", 4, _ADD, ("cannot be written", "--baselines")),
        ("out", 12, (*_HISTORY, "../inputs/new"), ("out/history.duckdb cannot be written", "--history")),
    )
    for number, (name, kilobytes, arguments, says) in enumerate(cases):

        def work() -> None:
            place = Place(folder / f"full-{number}")  # noqa: B023
            disk = place.folder / name  # noqa: B023
            mount("none", disk, "tmpfs", 0, f"size={kilobytes}k,mode=700")  # noqa: B023
            if name == "cache":  # noqa: B023
                (disk / ".rlcompare-cache").touch()
            refused(place, arguments, 2, *says)  # noqa: B023

        with_mounts(work)


def read_only_disks(folder: Path) -> None:
    cases: Sequence[tuple[str, Arguments, tuple[str, ...]]] = (
        ("../inputs", _DIFF, ()),
        ("cache", _DIFF, ("cannot be written", "--cache-dir or --no-cache")),
        ("out", _DIFF, ("out/report cannot be written", "-o")),
        ("out", _ADD, ("out/baselines cannot be written", "--baselines")),
        ("out", (*_HISTORY, "../inputs/new"), ("out/history.duckdb cannot be written", "--history")),
        ("tmp", (*_DIFF, "--no-cache"), ()),  # temporary files go where they can
    )
    for number, (name, arguments, says) in enumerate(cases):

        def work() -> None:
            place = Place(folder / f"read-only-{number}")  # noqa: B023
            disk = (place.folder / name).resolve()  # noqa: B023
            mount(str(disk), disk, "", _BIND)
            mount(str(disk), disk, "", _BIND | _REMOUNT | _READ_ONLY)
            if says:  # noqa: B023
                refused(place, arguments, 2, *says)  # noqa: B023
            else:
                succeeds(place, arguments)  # noqa: B023

        with_mounts(work)


def vanishing_inputs(folder: Path) -> None:
    """An input that is removed after some operations: read before, or one line that names it."""
    for moment in (1, 5, 15):
        place = Place(folder / f"vanish-{moment}")
        shutil.copytree(folder / "inputs" / "new", place.folder / "gone")
        with watched(place) as events:
            pid = start(place, ("diff", "-q", "-d", "gone", "-bp", "../inputs/base", "-o", "out/report"))
            events.wait(moment, pid)
            (place.folder / "gone").rename(place.folder / "elsewhere")
            code = finish(pid)
        said = (place.folder / "said").read_text()
        assert code in (0, 4) and "Traceback" not in said, (moment, code, said)
        assert code == 0 or "gone" in said.splitlines()[-1], said
        succeeds(place, _DIFF)
        clean(place)


def watched(place: Place) -> Watch:
    return Watch([place.out, place.cache, place.cache / "parts", place.tmp])


def sharing(place: Place, other: Path) -> Place:
    """A place of its own with another one's cache."""
    beside = Place(other)
    shutil.rmtree(beside.cache)
    beside.cache = place.cache
    return beside


def pruning_during_a_diff(folder: Path) -> None:
    """Also when the stores are complete, but not yet read."""
    whole = document(Place(folder / "unpruned"))
    for moment in (12, 30, 36):
        place = Place(folder / f"prune-{moment}")
        other = sharing(place, folder / f"prune-{moment}-other")
        with watched(place) as events:
            pid = start(place, _DIFF)
            events.wait(moment, pid)
            succeeds(other, ("cache", "prune", "--all"))
            code = finish(pid)
        said = (place.folder / "said").read_text()
        assert code == 0, (moment, said)
        assert (place.out / "report" / "diff.json").read_text() == whole, moment
        clean(place)


def document(place: Place) -> str:
    succeeds(place, _DIFF)
    return (place.out / "report" / "diff.json").read_text()


def diffs_at_once(folder: Path) -> None:
    """On one cache, which is empty at first."""
    number = int(os.environ.get("DIFFS_AT_ONCE", "4"))
    first = Place(folder / "at-once")
    places = [sharing(first, folder / f"at-once-{index}") for index in range(number)]
    pids = [start(place, _DIFF) for place in places]
    codes = [finish(pid) for pid in pids]
    said = [(place.folder / "said").read_text() for place in places]
    assert not any(codes), list(zip(codes, said, strict=True))
    documents = {(place.out / "report" / "diff.json").read_text() for place in places}
    assert len(documents) == 1, "they differ"
    for place in (first, *places):
        clean(place)


def one_store_for_all(folder: Path) -> None:
    """Several processes add to the same baselines, and to the same history."""
    place = Place(folder / "one-store")
    for beside in "abcd":
        shutil.copytree(folder / "inputs" / "new", place.folder / beside)
        for path in (place.folder / beside).rglob("*.db"):
            os.utime(path, (path.stat().st_mtime + ord(beside),) * 2)
    names = "abcd"
    succeeds(place, ("diff", "-q", "-d", "a", "-bp", "b", "-o", "out/report"))
    pids = [start(place, ("baseline", "add", name, name, *_BASELINE)) for name in names]
    pids += [start(place, (*_HISTORY, name)) for name in names]
    codes = [finish(pid) for pid in pids]
    assert not any(codes), (codes, (place.folder / "said").read_text())
    listed = succeeds(place, ("baseline", "list", "-q", "--baselines", "out/baselines"))
    assert all(re.search(rf"^\s*@?{name}\b", listed, re.MULTILINE) for name in names), listed
    clean(place)


def limited_file_sizes(folder: Path) -> None:
    """As a quota: writing fails although the disk has room."""
    cases: Sequence[tuple[str, int, Arguments, tuple[str, ...]]] = (
        ("cache", 100, _DIFF, ("cache cannot be written", "use --cache-dir or --no-cache")),
        ("temporary", 100, (*_DIFF, "--no-cache"), ("a temporary file in", "set TMPDIR to another folder")),
        ("out", 300, _STORE, ("out/run.duckdb cannot be written", "choose another path with -o")),
    )
    for name, kilobytes, arguments, says in cases:

        def work() -> None:
            place = Place(folder / f"limit-{name}")  # noqa: B023
            resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes << 10,) * 2)  # noqa: B023
            refused(place, arguments, 2, *says)  # noqa: B023

        aside(work)


def jumping_clocks(folder: Path) -> None:
    """The clock goes back by a day and forth by three whenever it is asked; files come from the future."""
    usual = document(Place(folder / "clock-usual"))
    place = Place(folder / "clock")
    commands: Sequence[Arguments] = (_DIFF, _DIFF, _ADD, (*_HISTORY, "../inputs/new"), (*_HISTORY, "../inputs/base"))

    def work() -> None:
        jumps = itertools.cycle((-86_400, 2 * 86_400))
        clock, clock_ns = time.time, time.time_ns
        time.time = lambda: clock() + next(jumps)
        time.time_ns = lambda: clock_ns() + next(jumps) * 10**9
        for number, arguments in enumerate(commands):
            for path in place.folder.rglob("*") if number else ():
                os.utime(path, (clock() + next(jumps),) * 2)
            succeeds(place, arguments)

    aside(work)
    assert (place.out / "report" / "diff.json").read_text() == usual
    listed = succeeds(place, ("history", "show", "-q", "--history", "out/history.duckdb"))
    assert len(listed.splitlines()) > 2, listed
    clean(place)


def missing_folders(folder: Path) -> None:
    """TMPDIR names no folder; the cache's folder does not exist yet, or was removed."""
    place = Place(folder / "missing")
    shutil.rmtree(place.tmp)
    shutil.rmtree(place.cache)
    succeeds(place, _DIFF)
    shutil.rmtree(place.cache)
    succeeds(place, (*_DIFF, "--no-cache"))
    succeeds(place, _DIFF)
    assert not place.tmp.exists()


def too_little_address_space(folder: Path) -> None:
    place = Place(folder / "memory")

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (500 << 20,) * 2)
        refused(place, _DIFF, 2, "500 MiB of address space", "ulimit -v")

    aside(work)


CHECKS: dict[str, Check] = {
    check.__name__.replace("_", " "): check
    for check in (
        full_disks, read_only_disks, vanishing_inputs, pruning_during_a_diff, diffs_at_once, one_store_for_all,
        limited_file_sizes, jumping_clocks, missing_folders, too_little_address_space,
    )
}  # fmt: skip


def main() -> None:
    names = sys.argv[1:] or list(CHECKS)
    import_all()
    failures = 0
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    try:
        make_inputs(folder)
        for name in names:
            try:
                CHECKS[name](folder)
                print(f"ok      {name}", flush=True)
            except SkippedError as error:
                print(f"skipped {name}: {error}", flush=True)
            except AssertionError as error:
                failures += 1
                print(f"FAILED  {name}: {error}", flush=True)
    finally:
        with suppress(OSError):
            shutil.rmtree(folder)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
