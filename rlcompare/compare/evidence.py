"""Input of the search for causes: the aggregated rows of both sides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum, sqrt
from statistics import variance

from rlcompare.compare.operator_changes import OperatorChange, changes_by_phase, device_changes, host_changes
from rlcompare.compare.phrases import NAME_LENGTH, short
from rlcompare.compare.records import (
    AccountMember,
    Frequency,
    HostTime,
    KernelFact,
    LoneLaunch,
    OddCalls,
    OperatorPlace,
    OtherTypes,
    PhaseKernels,
    PhaseSteps,
    Retyped,
)
from rlcompare.compare.rows import NS_PER_MS, by_name, number
from rlcompare.compare.sequences import Edits
from rlcompare.compare.short_names import alike_up_to, from_difference
from rlcompare.compare.timers import TrainingLog
from rlcompare.compare.training import RarePhase
from rlcompare.model.diff import Delta, Row, Section
from rlcompare.model.words import SIDES, SideName

LEAST_RELATIVE, LEAST_MS = 0.01, 0.05
"""A headline change below either of these has no causes."""

RUN_NOISE = 0.04
"""How much the step times of two runs of one setting differ, if it was not measured: as those of public jobs do."""

LARGE_MODULE = 0.5
"""Part of the largest module's time above which most of the step is in a module, so that it is not odd."""

ODD_MODULE = 0.8
"""Part of what its class changed by, without regard to sign, that an odd module holds."""


@dataclass(frozen=True)
class Evidence:
    """All data that a candidate cause may use.

    Attributes:
        headline: the headline time in ms; None where a side lacks it.
        profile: the step time in the profile (ms). It differs from the headline if training timed its plain steps. The
            parts of a profiled step sum to this time, not to the headline.
        metrics: overall metrics by id.
        operators: kernels by operator, largest change first.
        frequency: mean AI Core frequency by side, in MHz.
        on_device: whether device data was recorded; else times are those of host operators.
        same_executor: whether both sides recorded the same: devices, or the host alone.
        steps_known: whether the number of steps is known on both sides.
        timed_phases: whether training timed the phases, as it did the headline, and not the profile.
        members: the member of a run with the largest part in the change of each row of the account, by kind, phase and
            name; this part of the mean in ms; and the sum of the sizes of all parts. Empty if the sides have different
            members, or one each.
        mean_changes: the change of the mean over members for each of these rows, in ms. Kinds that only the critical
            path has are in it by what each member itself has of them.
        rare_phases: for each phase that training did not time in every step, in how many steps it did.
        lone_phases: the phases whose times on the device are known on one side alone, and this side.
        times_whole: whether no other times on the device are missing on one side alone, and no rows of any profile.
        same_host: whether nothing else is known to differ that changes the host's time for the same calls.
        same_members: whether the change is not due to steps or ranks that one side alone has.
        edits: where operators came or went in a typical step.
        kernel_facts: formats, blocks and AI Core counters of kernels, by operator, inputs and side.
        other_types: operators whose inputs of these shapes are not known to have the same data types, and these types.
        kernel_places: rows like those of the section ``kernels``, of operators that several places launch, by place.
        lone_launches: calls of operators that one side alone runs, by the place that launches them.
        phase_kernels: the number of kernels of each phase.
        phase_steps: for each phase that not every profiled step has, in how many it ran.
        host_times: the host's time in operators, in each phase and as a whole.
        host_places: without a device, how each operator changed in each phase.
        odd_calls: the calls of each operator that take far longer than the others of their kind in the same step.
        retyped: kernels whose calls have inputs of other data types, by what launches them.
        log: what training logged of its timers and its work.
    """

    headline: Delta | None
    profile: Delta | None
    metrics: Mapping[str, Delta]
    sections: Mapping[str, Section]
    operators: tuple[OperatorChange, ...]
    frequency: Mapping[SideName, float]
    on_device: bool
    timed_phases: bool
    rare_phases: Mapping[str, RarePhase]
    members: Mapping[tuple[str, str | None, str], tuple[str, float, float]] = field(default_factory=dict)
    mean_changes: Mapping[tuple[str, str | None, str], float] = field(default_factory=dict)
    same_executor: bool = True
    steps_known: bool = True
    edits: Edits = field(default_factory=Edits)
    kernel_facts: Sequence[KernelFact] = ()
    other_types: Mapping[tuple[str, str], OtherTypes] = field(default_factory=dict)
    kernel_places: Sequence[Row] = ()
    lone_launches: Sequence[LoneLaunch] = ()
    retyped: Sequence[Retyped] = ()
    phase_kernels: Mapping[str, PhaseKernels] = field(default_factory=dict)
    phase_steps: Mapping[str, RarePhase] = field(default_factory=dict)
    host_times: Sequence[HostTime] = ()
    host_places: Mapping[tuple[str, str | None], OperatorChange] = field(default_factory=dict)
    odd_calls: Mapping[str, OddCalls] = field(default_factory=dict)
    log: TrainingLog = field(default_factory=TrainingLog)
    lone_phases: Mapping[str, SideName] = field(default_factory=dict)
    times_whole: bool = True
    same_members: bool = True
    same_host: bool = True

    @classmethod
    def of(
        cls,
        headline: str,
        profile: str,
        overall: Sequence[Delta],
        sections: Mapping[str, Section],
        frequency: Sequence[Frequency],
        members: Sequence[AccountMember],
        edits: Edits,
        kernel_facts: Sequence[KernelFact],
        other_types: Sequence[OtherTypes],
        kernel_places: Sequence[Row],
        lone_launches: Sequence[LoneLaunch],
        retyped: Sequence[Retyped],
        phase_kernels: Sequence[PhaseKernels],
        phase_steps: Sequence[PhaseSteps],
        host_times: Sequence[HostTime],
        operator_places: Sequence[OperatorPlace],
        odd_calls: Sequence[OddCalls],
        log: TrainingLog,
        *,
        on_device: bool,
        timed_phases: bool,
        rare_phases: Mapping[str, RarePhase],
        same_executor: bool,
        steps_known: bool,
        lone_phases: Mapping[str, SideName],
        times_whole: bool,
        same_members: bool,
        same_host: bool,
    ) -> Evidence:
        """Gathers the evidence.

        Args:
            headline: id of the headline metric.
            profile: id of the profile's step time.
        """
        metrics = {delta.metric: delta for delta in overall}
        host_places = {} if on_device else changes_by_phase(sections["account"].rows, operator_places)
        return cls(
            headline=in_ms(metrics.get(headline)),
            profile=metrics.get(profile),
            metrics=metrics,
            sections=sections,
            operators=device_changes(sections, kernel_places) if on_device else host_changes(sections, host_places),
            frequency={clock.side: clock.mhz for clock in frequency if clock.mhz},
            on_device=on_device,
            timed_phases=timed_phases,
            rare_phases=rare_phases,
            same_executor=same_executor,
            steps_known=steps_known,
            lone_phases=lone_phases,
            times_whole=times_whole,
            same_members=same_members,
            same_host=same_host,
            edits=edits,
            kernel_facts=kernel_facts,
            other_types={(row.name, row.input_shapes): row for row in other_types},
            kernel_places=kernel_places,
            lone_launches=lone_launches,
            retyped=retyped,
            phase_kernels={row.name: row for row in phase_kernels},
            phase_steps={
                row.name: RarePhase(
                    {"baseline": row.baseline_had, "new": row.new_had},
                    {"baseline": row.baseline_steps, "new": row.new_steps},
                )
                for row in phase_steps
            },
            host_times=host_times,
            host_places=host_places,
            odd_calls={row.name: row for row in odd_calls},
            log=log,
            members={
                (row.kind, row.phase, row.name): (row.member, row.delta_ns / NS_PER_MS, row.moved_ns / NS_PER_MS)
                for row in members
            },
            mean_changes={(row.kind, row.phase, row.name): row.mean_ns / NS_PER_MS for row in members},
        )

    @cached_property
    def odd_modules(self) -> Sequence[Row]:
        """The modules, by the time that computes, that changed while the others of their class hardly did.

        Without those that hold most of the step.
        """
        other_time = "baseline_host_ms" if self.on_device else "baseline_device_ms"
        rows = [row for row in self.sections["modules"].rows if other_time in row]
        largest = max((number(row["baseline"]) or 0.0 for row in rows), default=0.0)
        in_class: dict[str, float] = defaultdict(float)
        for row in rows:
            in_class[_class(row)] += abs(number(row["delta"]) or 0.0)
        return [
            row
            for row in rows
            if 0 < (number(row["baseline"]) or 0.0) <= LARGE_MODULE * largest
            and abs(number(row["delta"]) or 0.0) >= ODD_MODULE * in_class[_class(row)]
        ]

    @cached_property
    def facts_by_name(self) -> Mapping[str, Sequence[KernelFact]]:
        found: dict[str, list[KernelFact]] = {}
        for record in self.kernel_facts:
            found.setdefault(record.name, []).append(record)
        return found

    @cached_property
    def _by_name(self) -> Mapping[str, OperatorChange]:
        return {change.name: change for change in self.operators}

    @cached_property
    def kernels(self) -> Mapping[str, Sequence[Row]]:
        """The rows of the section ``kernels`` by name."""
        return by_name(self.sections["kernels"].rows)

    @cached_property
    def host_operators(self) -> Mapping[str, Row]:
        """The rows of the section ``operators`` by name."""
        return {str(row["name"]): row for row in self.sections["operators"].rows}

    @cached_property
    def _places(self) -> Mapping[str, Sequence[Row]]:
        return by_name(self.kernel_places)

    def kernels_in(self, name: str, phase: str | None) -> Sequence[Row]:
        """The rows of an operator in one of several phases; none if they are unknown."""
        return [row for row in self._places.get(name, ()) if row["phase"] == phase]

    @property
    def profile_change(self) -> float:
        """The change of the profile's step time in ms; 0 if unknown or too small."""
        return self.profile.delta or 0.0 if self.profile and has_moved(self.profile) else 0.0

    @property
    def run_noise(self) -> float:
        """By how many ms the headline differs between runs of one setting.

        Twice the standard error that follows from the spread of the runs. Of one run a side the spread is unknown, and
        ``RUN_NOISE`` counts.
        """
        headline = self.headline
        if headline is None or not headline.baseline:
            return 0.0
        level = faster_side(headline)
        runs = [[value for value in values if value is not None] for values in headline.samples.values()]
        if len(runs) < len(SIDES) or any(len(values) < 2 for values in runs):
            return RUN_NOISE * level
        scale = abs(headline.baseline) / (abs(fsum(runs[0]) / len(runs[0])) or 1.0)
        return 2 * scale * sqrt(fsum(variance(values) / len(values) for values in runs))

    @cached_property
    def _alike(self) -> Mapping[str, int]:
        """For each short name that several operators would have, where their names begin to differ."""
        names: dict[str, list[str]] = defaultdict(list)
        for change in self.operators:
            names[short(change.name)].append(change.name)
        return {shown: alike_up_to(of, NAME_LENGTH) for shown, of in names.items() if len(of) > 1}

    def short(self, name: str) -> str:
        """The name of an operator for a sentence, told apart from those that would look the same."""
        shown = short(name)
        place = self._alike.get(shown)
        return shown if place is None else from_difference(name, place, NAME_LENGTH)

    def operator(self, name: str) -> OperatorChange | None:
        """The change of the kernels of that name; None if there are none."""
        return self._by_name.get(name)


def has_moved(headline: Delta) -> bool:
    """Whether a time in ms changed by enough to look for causes."""
    if not headline.baseline or headline.delta is None:
        return False
    return abs(headline.delta) >= max(LEAST_MS, LEAST_RELATIVE * faster_side(headline))


def faster_side(time: Delta) -> float:
    """The shorter time of both sides: what counts as little is a part of it, the same with the sides exchanged."""
    return min((abs(value) for value in (time.baseline, time.new) if value is not None), default=0.0)


def in_ms(delta: Delta | None) -> Delta | None:
    """Converts training's own times, which are in seconds."""
    if delta is None or delta.unit != "s":
        return delta
    values = (None if value is None else value * 1e3 for value in (delta.baseline, delta.new, delta.delta))
    baseline, new, change = values
    return replace(delta, unit="ms", baseline=baseline, new=new, delta=change)


def _class(row: Row) -> str:
    """The class of a module: ``Conv2d`` for ``Conv2d_3``."""
    return str(row["name"]).rpartition("_")[0]
