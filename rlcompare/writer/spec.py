"""The specification of a sample profile: the run, and the changes injected into it. Frozen, self-checking dataclasses.

A ``SampleRun`` alone determines every byte that is written: equal values give equal files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from rlcompare.errors import UsageError

LEVELS = ("level_none", "level0", "level1", "level2")
MODES = ("e2e", "discrete")
EXPORTS = ("db", "text", "both")
SCHEMAS = ("1.0", "1.2")
LAYOUTS = ("plain", "verl")
CONTENTS = ("npu", "cpu", "memory", "shapes", "module", "stack")

PHASE_ROLES = {
    "generate_sequences": "rollout_generate",
    "compute_log_prob": "actor_compute_log_prob",
    "compute_ref_log_prob": "ref_compute_log_prob",
    "update_actor": "actor_update",
}
"""The annotated methods of an RL step, in order, with their folders in verl's discrete mode."""


class ChangeKind(Enum):
    """The kinds of changes; the values are those of the command line."""

    SLOWER = "slower"
    EXTRA = "extra"
    LATE = "late"
    FREQUENCY = "frequency"
    LOST_OVERLAP = "lost-overlap"
    TOKENS = "tokens"
    MEMORY = "memory"


@dataclass(frozen=True)
class Change:
    """One injected change. Use the constructors below, which have the parameters of each kind.

    Attributes:
        kind: what changes.
        op_type: kernel type (SLOWER, EXTRA).
        factor: of duration (SLOWER), frequency (FREQUENCY), workload (TOKENS), allocated bytes (MEMORY).
        rank, delay_ns: the late rank, and its host delay in each step (LATE).
    """

    kind: ChangeKind
    op_type: str = ""
    factor: float = 1.0
    rank: int = 0
    delay_ns: int = 0

    def __post_init__(self) -> None:
        if self.factor <= 0:
            raise UsageError(f"change {self.kind.value}: the factor must be above 0, not {self.factor}")
        if self.delay_ns < 0 or self.rank < 0:
            raise UsageError("change late: rank and delay must not be negative")
        if self.kind in (ChangeKind.SLOWER, ChangeKind.EXTRA) and not self.op_type:
            raise UsageError(f"change {self.kind.value}: name a kernel type, such as MatMulV2")

    @classmethod
    def slower(cls, op_type: str, factor: float) -> Change:
        """Kernels of one type take ``factor`` times as long."""
        return cls(ChangeKind.SLOWER, op_type=op_type, factor=factor)

    @classmethod
    def extra(cls, op_type: str) -> Change:
        """Every layer of every forward pass launches one more kernel, of that type."""
        return cls(ChangeKind.EXTRA, op_type=op_type)

    @classmethod
    def late(cls, rank: int, delay_ns: int) -> Change:
        """One rank's host comes later to ``update_actor`` (else to the last phase) of each step; the others wait."""
        return cls(ChangeKind.LATE, rank=rank, delay_ns=delay_ns)

    @classmethod
    def frequency(cls, factor: float) -> Change:
        """The AI Cores run at ``factor`` times 1800 MHz, and all kernels take 1 / ``factor`` as long."""
        return cls(ChangeKind.FREQUENCY, factor=factor)

    @classmethod
    def lost_overlap(cls) -> Change:
        """The compute stream waits for each collective at once, so that none runs under compute."""
        return cls(ChangeKind.LOST_OVERLAP)

    @classmethod
    def tokens(cls, factor: float) -> Change:
        """Responses are ``factor`` times as long: more decode steps, larger log-prob and update passes."""
        return cls(ChangeKind.TOKENS, factor=factor)

    @classmethod
    def memory(cls, factor: float) -> Change:
        """Every tensor, including resident ones, takes ``factor`` times the bytes."""
        return cls(ChangeKind.MEMORY, factor=factor)


_NS_PER_UNIT = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def parse_change(text: str) -> Change:
    """Parses a change in the syntax of the command line.

    ``slower:MatMulV2:1.3``, ``extra:Sort``, ``late:1:5ms``, ``frequency:0.8``, ``lost-overlap``, ``tokens:1.5``,
    ``memory:1.5``.

    Raises:
        UsageError: the text is none of these.
    """
    word, *rest = text.split(":")
    try:
        kind = ChangeKind(word)
        if kind is ChangeKind.SLOWER:
            op_type, factor = rest
            return Change.slower(op_type, float(factor))
        if kind is ChangeKind.LATE:
            rank, delay = rest
            return Change.late(int(rank), _parse_duration(delay))
        if kind is ChangeKind.LOST_OVERLAP:
            () = rest
            return Change.lost_overlap()
        (value,) = rest
        return Change.extra(value) if kind is ChangeKind.EXTRA else Change(kind, factor=float(value))
    except ValueError:
        known = "slower:TYPE:FACTOR, extra:TYPE, late:RANK:5ms, frequency:0.8, lost-overlap, tokens:1.5, memory:1.5"
        raise UsageError(f"--change {text}: not a change; write one of {known}") from None


def _parse_duration(text: str) -> int:
    """Nanoseconds of a text such as ``5ms``; raises ValueError for any other text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s)", text)
    if match is None:
        raise ValueError(text)
    return round(float(match[1]) * _NS_PER_UNIT[match[2]])


@dataclass(frozen=True)
class SampleRun:
    """One simulated run and its profiling.

    Attributes:
        ranks: global ranks that are profiled.
        devices: for each rank the devices that its process drives; None: device n for the n-th rank.
        world_size: ranks of the job, profiled or not; None: just enough, and at least 2.
        steps: numbers of the profiled RL steps; empty: one step without a number.
        phases: annotated methods that run in a step, a subset of ``PHASE_ROLES`` in its order.
        level: profiler level, as verl spells it.
        mode: ``e2e`` (one window for all phases, which are mstx ranges) or ``discrete`` (one window per phase).
        layout: ``plain`` (a capture per rank straight under the output folder, ``ProfilerStep`` marks for the steps) or
            ``verl`` (verl's folders, no step marks, a capture per step). Discrete mode is always laid out as verl does.
        export: ``db``, ``text`` or ``both`` in the same capture folders.
        schema: ``1.0`` (CANN of early 2025) or ``1.2`` (``blockNum``, ``communication``, native overlap analysis).
        contents: verl's names: npu, cpu, memory, shapes, module, stack.
        gc: the interpreter collects garbage in each phase, and the profiler records it (databases only).
        comm_marks: record ``comm:…`` ranges of domain ``communication``; None: at level_none only.
        layers, decode_steps, batch, prompt_length, response_length: size of the model and of the work.
        changes: differences from the baseline.
        start_ns: start of the first window, since the epoch; None: from the seed, as for every sample of the command.
        jitter: relative size of further noise. Two runs with one seed share it only if everything else is equal.
        seed: of all noise, identifiers and times.
    """

    ranks: tuple[int, ...] = (0, 1)
    devices: tuple[tuple[int, ...], ...] | None = None
    world_size: int | None = None
    steps: tuple[int, ...] = ()
    phases: tuple[str, ...] = tuple(PHASE_ROLES)
    level: str = "level1"
    mode: str = "e2e"
    layout: str = "plain"
    export: str = "db"
    schema: str = "1.0"
    contents: tuple[str, ...] = ("npu", "cpu", "memory", "shapes", "module")
    comm_marks: bool | None = None
    gc: bool = False
    layers: int = 4
    decode_steps: int = 4
    batch: int = 4
    prompt_length: int = 128
    response_length: int = 384
    changes: tuple[Change, ...] = ()
    start_ns: int | None = field(default=None, repr=False)
    jitter: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        _one_of("level", self.level, LEVELS)
        _one_of("mode", self.mode, MODES)
        _one_of("layout", self.layout, LAYOUTS)
        _one_of("export", self.export, EXPORTS)
        _one_of("schema", self.schema, SCHEMAS)
        for word in self.contents:
            _one_of("contents", word, CONTENTS)
        if not self.phases or list(self.phases) != [name for name in PHASE_ROLES if name in self.phases]:
            raise UsageError(f"phases must be some of {', '.join(PHASE_ROLES)}, in this order")
        if not self.ranks or len(set(self.ranks)) != len(self.ranks) or min(self.ranks) < 0:
            raise UsageError("ranks must be distinct numbers of at least 0, and at least one")
        if list(self.steps) != sorted(set(self.steps)):
            raise UsageError("steps must be in increasing order")
        if self.devices is not None and len(self.devices) != len(self.ranks):
            raise UsageError("devices must have one entry for each rank")
        if min(self.layers, self.decode_steps, self.batch, self.prompt_length, self.response_length) < 1:
            raise UsageError("layers, decode steps, batch and lengths must be at least 1")
        late = [change.rank for change in self.changes if change.kind is ChangeKind.LATE]
        if self.world <= max(self.ranks):
            raise UsageError(f"world size {self.world} is too small for rank {max(self.ranks)}")
        if late and max(late) >= self.world:
            raise UsageError(f"change late: rank {max(late)} is not one of {self.world} ranks")

    @property
    def world(self) -> int:
        """Number of ranks of the job."""
        return self.world_size or max(max(self.ranks) + 1, 2)

    @property
    def has_device_data(self) -> bool:
        """Whether device data such as kernels is recorded (not at level_none, nor without content npu)."""
        return self.level != "level_none" and "npu" in self.contents

    @property
    def has_types(self) -> bool:
        """Whether kernels carry types, shapes and counters (from Level1 on)."""
        return self.has_device_data and self.level != "level0"

    @property
    def has_comm_marks(self) -> bool:
        """Whether ranges ``comm:…`` are recorded."""
        return self.level == "level_none" if self.comm_marks is None else self.comm_marks

    @property
    def marks_steps(self) -> bool:
        """Whether steps are marked (``ProfilerStep#N``). verl does not mark them."""
        return bool(self.steps) and self.mode == "e2e" and self.layout == "plain"

    @property
    def newer(self) -> bool:
        """Whether the files belong to the generation of schema 1.2."""
        return self.schema == "1.2"

    @property
    def names_devices(self) -> bool:
        """Whether files have a device column: they do since one process can drive several devices."""
        return self.newer or any(len(self.devices_of(rank)) > 1 for rank in self.ranks)

    def devices_of(self, rank: int) -> tuple[int, ...]:
        """The devices that the process of a profiled rank drives."""
        position = self.ranks.index(rank)
        return (position,) if self.devices is None else self.devices[position]

    def factor(self, kind: ChangeKind, op_type: str = "") -> float:
        """Product of the factors of all changes of a kind (and kernel type)."""
        product = 1.0
        for change in self.changes:
            if change.kind is kind and change.op_type == op_type:
                product *= change.factor
        return product

    def has(self, kind: ChangeKind) -> bool:
        """Whether there is a change of that kind."""
        return any(change.kind is kind for change in self.changes)

    def delay_ns(self, rank: int) -> int:
        """Host time by which a rank comes late in each step."""
        return sum(c.delay_ns for c in self.changes if c.kind is ChangeKind.LATE and c.rank == rank)

    def extra_types(self) -> tuple[str, ...]:
        """Types of the additional kernels that every layer launches."""
        return tuple(c.op_type for c in self.changes if c.kind is ChangeKind.EXTRA)


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"{name} {value}: must be one of {', '.join(choices)}")
