"""The data types of the capture stage: parts, the batches in which they are made, and the results of batches.

A part is one capture as the run stage needs it: its rows in the run tables, its rollups, and its events if they are
kept. Several small captures are read together, because planning a statement costs more than running it on a few rows.
The parts of such a batch are in one DuckDB file, a *pack*. Everything here can be pickled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rlcompare.model.run import CaptureInput, Finding

BATCH_CAPTURES = 64
BATCH_BYTES = 32 * 2**20
"""Limits of a batch. A larger one saves no more time, and an interruption loses the unfinished batch."""

UNPACKED = 8
"""Assumed compression ratio of compressed traces."""


@dataclass(frozen=True)
class Part:
    """One capture that is to be read.

    Attributes:
        key: identifies the part wherever it is kept (``fingerprint``).
        number: the number of the capture in its pack.
        capture: what detection found.
        path: the capture's path below the input, for table ``capture``.
        steps: the only steps to read; None: all.
        size_bytes: total size of its files.
    """

    key: str
    number: int
    capture: CaptureInput
    path: str
    steps: frozenset[int] | None
    size_bytes: int


@dataclass(frozen=True)
class Batch:
    """Captures that are read together, and the pack to make of them.

    Attributes:
        parts: all of one source and with the same chosen steps; each has its own number.
        target: the pack; an existing file is replaced when the new one is complete.
        keep_events: keep the event tables.
    """

    parts: tuple[Part, ...]
    target: Path
    keep_events: bool

    def split(self) -> tuple[Batch, Batch]:
        """Two batches of about half the captures each, with packs of their own."""
        middle = (len(self.parts) + 1) // 2
        halves = self.parts[:middle], self.parts[middle:]
        stem = self.target.stem
        names = [f"{stem}.{place}{self.target.suffix}" for place in (0, 1)]
        first, second = (
            replace(self, parts=half, target=self.target.with_name(name))
            for half, name in zip(halves, names, strict=True)
        )
        return first, second


@dataclass(frozen=True)
class Failure:
    """A capture that could not be read.

    Attributes:
        part: the part that could not be made.
        path, problem, remedy: what is told if nothing else of the run can be read.
        findings: what was reported about the capture before the failure.
        is_empty: its files were read, and they are empty.
        may_pass: the system failed, and not the content, so that reading it again may succeed.
    """

    part: Part
    path: Path
    problem: str
    remedy: str
    findings: tuple[Finding, ...] = ()
    is_empty: bool = False
    may_pass: bool = False


@dataclass(frozen=True)
class BatchResult:
    """The result of a batch, or of a piece of a batch that was split.

    Attributes:
        batch: the batch. Its pack exists unless every capture failed.
        failures: the captures that are not in the pack.
        lacking: numbers of captures in the pack that lack a file, because the system refused it. Reading them again may
            succeed, so they serve this command only.
    """

    batch: Batch
    failures: tuple[Failure, ...] = ()
    lacking: frozenset[int] = frozenset()

    @property
    def made(self) -> tuple[Part, ...]:
        """The parts that are in the pack."""
        failed = {failure.part.number for failure in self.failures}
        return tuple(part for part in self.batch.parts if part.number not in failed)


def batches_of(parts: Sequence[Part], folder: Path, name: str, keep_events: bool, workers: int) -> list[Batch]:
    """Put parts into batches: small captures of one source together, large ones alone.

    Args:
        parts: what is to be read. If all fit into one batch, their order and numbers are kept.
        folder: the folder for packs.
        name: prefix of the packs' names.
        keep_events: keep the event tables.
        workers: how many batches can be made at once. With enough captures, each worker gets some. Runs of one capture
            get a batch each if there are workers for all: a pack that holds a whole run becomes its store, uncopied.
    """
    are_runs = all(part.number == 0 for part in parts) and len(parts) <= workers
    most = 1 if are_runs else min(BATCH_CAPTURES, max(8, -(-len(parts) // max(workers, 1))))
    batches: list[Batch] = []
    for group in _groups(parts, most):
        numbered = tuple(replace(part, number=place) for place, part in enumerate(group))
        batches.append(Batch(numbered, folder / f"{name}-{len(batches)}.duckdb", keep_events))
    return batches


def _groups(parts: Sequence[Part], most: int) -> Iterator[list[Part]]:
    open_groups: dict[object, list[Part]] = {}
    for part in parts:
        kind = part.capture.source, part.steps
        group = open_groups.setdefault(kind, [])
        if group and (len(group) >= most or sum(map(memory_weight, [*group, part])) > BATCH_BYTES):
            yield group
            open_groups[kind] = group = []
        group.append(part)
    yield from open_groups.values()


def memory_weight(part: Part) -> int:
    """Estimated bytes of the largest table of a capture, from the size of its files."""
    packed = any(path.name.endswith(".gz") for path in part.capture.files.values())
    return part.size_bytes * (UNPACKED if packed else 1)
