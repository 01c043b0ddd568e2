"""The capture stage as data: parts, the batches in which they are made, and what came of a batch.

A part is one capture as the run stage needs it: its rows in the run tables and its rollups, and its events where they
are kept. Several small captures are read together, because planning a statement costs more than running it on a few
rows; the parts of such a batch lie together in one DuckDB file, a *pack*. Everything here can be pickled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.model.run import CaptureInput, Finding

BATCH_CAPTURES = 64
BATCH_BYTES = 32 * 2**20
"""Limits of a batch: a larger one saves nothing more, and an interruption loses what was read of it."""

UNPACKED = 8
"""How many times as large a compressed trace may well be."""


@dataclass(frozen=True)
class Part:
    """One capture that is to be read.

    Attributes:
        key: names the part wherever it is kept (``fingerprint``).
        number: the number of the capture in its pack.
        capture: what detection found.
        path: the capture's path below the input, for table ``capture``.
        steps: the only steps to read; None: all.
        size_bytes: of its files.
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
        parts: of one source, and of the same chosen steps; each has a number of its own.
        target: the pack; an existing file is replaced when the new one is complete.
        keep_events: keep the event tables.
    """

    parts: tuple[Part, ...]
    target: Path
    keep_events: bool

    @property
    def size_bytes(self) -> int:
        """Of all files that are read."""
        return sum(part.size_bytes for part in self.parts)

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
        part: what was to be read.
        path, problem, remedy: those of the ``InputError``.
        findings: what was reported about the capture before.
        is_empty: its files were read, and there is nothing in them.
    """

    part: Part
    path: Path
    problem: str
    remedy: str
    findings: tuple[Finding, ...] = ()
    is_empty: bool = False

    @property
    def error(self) -> InputError:
        """As the error that it is where nothing else can be read."""
        return InputError(self.path, self.problem, self.remedy)


@dataclass(frozen=True)
class BatchResult:
    """What came of a batch, or of a piece of one that was split.

    Attributes:
        batch: its pack is there unless every capture failed.
        failures: the captures that are not in the pack.
    """

    batch: Batch
    failures: tuple[Failure, ...] = ()

    @property
    def made(self) -> tuple[Part, ...]:
        """The parts that are in the pack."""
        failed = {failure.part.number for failure in self.failures}
        return tuple(part for part in self.batch.parts if part.number not in failed)


def batches_of(parts: Sequence[Part], folder: Path, name: str, keep_events: bool, workers: int) -> list[Batch]:
    """Put parts into batches: small captures of one source together, large ones alone.

    Args:
        parts: what is to be read; their order and numbers are kept where all fit into one batch.
        folder: where packs belong.
        name: how the packs' names begin.
        keep_events: keep the event tables.
        workers: how many batches can be made at once: each gets some, if there are enough captures. Where each worker
            has one capture at most, batches hold one: what is planned twice is planned at the same time, and a pack
            that holds one whole run becomes its store.
    """
    most = 1 if len(parts) <= workers else min(BATCH_CAPTURES, max(8, -(-len(parts) // max(workers, 1))))
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
    """How many bytes the largest table of a capture may take, by the size of its files."""
    packed = any(path.name.endswith(".gz") for path in part.capture.files.values())
    return part.size_bytes * (UNPACKED if packed else 1)
