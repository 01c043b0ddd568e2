"""One type per query of ``sql/compare`` that does not make a section: a row is a named tuple.

``TimeSample`` is a row of ``sql/compare/time_sample.sql``. Its fields are the columns, in the query's order, which
``Rollups.rows`` checks. They are named tuples because a frozen dataclass takes four times as long to create. The query
documents the columns. None: not measured.
"""

from __future__ import annotations

from typing import NamedTuple

from rlcompare.model.words import SideName


class AccountMember(NamedTuple):
    kind: str
    phase: str | None
    name: str
    member: str
    delta_ns: float
    mean_ns: float
    moved_ns: float


class AlignedPair(NamedTuple):
    baseline: int
    new: int
    part: float


class Capture(NamedTuple):
    side: SideName
    run: int
    capture: int
    role: str | None
    phase: str | None
    member: str
    rank: int | None
    replica: int | None
    world_size: int | None
    tool: str | None
    level: str | None
    source: str | None
    path: str | None
    host_start_ns: int | None
    host_end_ns: int | None
    executor: str | None


class CollectiveSize(NamedTuple):
    side: SideName
    name: str
    power: int | None
    calls: float
    bytes: float | None
    ns: float
    transit_ns: float | None


class DeviceCounter(NamedTuple):
    name: str
    member: str
    baseline: float | None
    new: float | None
    baseline_max: float | None
    new_max: float | None


class Divergence(NamedTuple):
    name: str
    first_divergence: int | None
    steps: int


class Env(NamedTuple):
    side: SideName
    key: str
    values: list[str]


class Finding(NamedTuple):
    side: SideName
    run: int
    severity: str
    key: str
    message: str
    times: int


SEVERAL_PROCESSES = "several_processes"
"""What a trace has instead of losses: its processes cannot be told apart."""


class Lost(NamedTuple):
    side: SideName
    what: str


class Frequency(NamedTuple):
    side: SideName
    mhz: float | None


class GroupOfCaptures(NamedTuple):
    role: str
    folder: str
    baseline: float
    new: float
    baseline_timed: float
    new_timed: float
    baseline_lost: float
    new_lost: float
    baseline_each: float | None
    new_each: float | None


class HealthLevel(NamedTuple):
    side: SideName
    run: int
    name: str
    given: str
    what: str
    steps: int
    invalid: int
    invalid_step: int | None
    median: float | None
    start: float | None
    finish: float | None
    shared_finish: float | None
    spread: float | None
    jitter: float | None
    low: float | None
    low_step: int | None
    high: float | None
    high_step: int | None
    shared_low: float | None
    shared_low_step: int | None
    shared_high: float | None
    shared_high_step: int | None
    high_middle: float | None
    high_middle_step: int | None
    peak: float | None
    peak_step: int | None
    fallen_step: int | None
    low_since: int | None
    low_until: int | None
    low_steps: int
    high_since: int | None
    high_until: int | None
    high_steps: int
    risen_since: int | None
    risen_until: int | None
    risen_steps: int


class HostTime(NamedTuple):
    phase: str | None
    whole: bool
    baseline_ns: float
    new_ns: float
    alike_baseline_ns: float | None
    alike_new_ns: float | None
    longer_ns: float
    shorter_ns: float
    largest_ns: float | None


class IdleStep(NamedTuple):
    side: SideName
    run: int
    steps: list[int]
    members: list[str]
    each: bool


class BeyondPeak(NamedTuple):
    side: SideName
    rows: int
    name: str
    part: float


class BeyondRate(NamedTuple):
    side: SideName
    rows: int
    name: str


class KernelFact(NamedTuple):
    name: str
    side: SideName
    input_shapes: str | None
    input_dtypes: str | None
    input_formats: str | None
    gemm: bool
    calls: float
    ns: float | None
    blocks: int | None
    counted_ns: float | None
    cube_ns: float | None
    load_ns: float | None
    l2_counted_ns: float | None
    l2_hit_ns: float | None


class KernelMatchSummary(NamedTuple):
    exact_share: float | None
    loose: list[str] | None
    by_name: bool
    by_type: bool = False


class KnownSelection(NamedTuple):
    ranks: list[int] | None
    all_ranks: list[int] | None
    steps: list[int] | None


class Layout(NamedTuple):
    side: SideName
    run: int
    captures: int
    ranks: int
    replicas: int
    steps: int


class LeftOut(NamedTuple):
    side: SideName
    run: int
    steps: int
    counted: int
    warmup: int
    profiled: int
    unshared: int


class Level(NamedTuple):
    side: SideName
    what: str
    component: str | None
    run: int
    member: str
    at_ns: list[int]
    amounts: list[float]


class LoneLaunch(NamedTuple):
    name: str
    phase: str | None
    host_op: str
    calls: float


class LoneMark(NamedTuple):
    side: SideName
    counted: bool
    spanned: bool


class LonePhase(NamedTuple):
    side: SideName
    phases: list[str]


class Measured(NamedTuple):
    side: SideName
    domain: str


class MemoryCategory(NamedTuple):
    side: SideName
    run: int
    category: str
    peak_bytes: int | None
    mean_bytes: float | None


class MemoryPeak(NamedTuple):
    side: SideName
    run: int
    component: str
    allocated_bytes: int | None
    reserved_bytes: int | None
    active_bytes: int | None
    main: bool


class MetricAggregate(NamedTuple):
    side: SideName
    run: int
    name: str
    steps: int
    median: float
    trimmed: float
    p5: float
    p95: float
    highest: float
    lowest: float


class MetricApart(NamedTuple):
    name: str
    baseline: list[str]
    new: list[str]
    baseline_low: int
    baseline_high: int
    new_low: int
    new_high: int


class MetricSample(NamedTuple):
    side: SideName
    run: int
    name: str
    value: float | None
    deviation: float | None
    steps: int | None
    grade: int | None
    invalid: int
    given: str


class PhaseSample(NamedTuple):
    side: SideName
    run: int
    phase: str
    what: str
    ns: float


class ProfiledTimer(NamedTuple):
    side: SideName
    run: int
    phase: str | None
    ns: float


class Rank(NamedTuple):
    side: SideName
    member: str
    step_ns: float | None
    device_span_ns: float | None
    compute_ns: float | None
    comm_ns: float | None
    exposed_comm_ns: float | None
    free_ns: float | None
    late_ns: float | None
    most_late_ns: int | None
    late_per_step_ns: float | None
    times_last: int


class RankPath(NamedTuple):
    side: SideName
    member: str
    phase: str
    ns: float


class RankPhase(NamedTuple):
    side: SideName
    what: str
    phases: list[str]
    members: list[str]
    amounts: list[float | None]


class ReportedGap(NamedTuple):
    side: SideName
    what: str
    times: int
    step: int
    reported_ns: int
    ours_ns: int


class RoleSample(NamedTuple):
    side: SideName
    run: int
    role: str
    metric: str
    ns: float


class RunFact(NamedTuple):
    side: SideName
    run: int
    started_ns: int | None
    status: str | None


class RunSeries(NamedTuple):
    side: SideName
    run: int
    name: str
    phase: str | None
    steps: list[int]
    amounts: list[float]
    left_out: list[int]


class RunSetting(NamedTuple):
    side: SideName
    run: int
    key: str
    value: str


class SelectedSteps(NamedTuple):
    side: SideName
    step: int


class SequenceText(NamedTuple):
    hash: int
    kinds: list[str]
    names: list[str]
    depths: list[int | None]
    tokens: list[int]


class Step(NamedTuple):
    side: SideName
    position: int
    step: int
    step_ns: float | None
    device_span_ns: float | None
    compute_ns: float | None
    comm_ns: float | None
    exposed_comm_ns: float | None
    free_ns: float | None


class TimelineBusy(NamedTuple):
    kind: str
    busy_ns: list[int]


class TimelinePhase(NamedTuple):
    phase: str | None


class TimelineShown(NamedTuple):
    side: SideName
    run: int
    capture: int
    member: str
    device_id: int | None
    step: int
    steps: int
    calls: int | None
    span_ns: int
    bucket_ns: int


class TimelineTask(NamedTuple):
    kind: str
    name: str
    start_ns: int
    ns: int


class TimerDriver(NamedTuple):
    side: SideName
    run: int
    place: int
    timer: str
    first: str
    second: str | None
    steps: int
    timer_mean: float
    first_mean: float
    second_mean: float | None
    timer_variance: float | None
    first_variance: float | None
    second_variance: float | None
    with_first: float | None
    with_second: float | None
    of_both: float | None


class TimerNoise(NamedTuple):
    side: SideName
    run: int
    name: str
    error: float


class StepTimer(NamedTuple):
    side: SideName
    name: str


class StepNoise(NamedTuple):
    name: str
    alone: float
    alone_freedom: int
    paired: float
    paired_freedom: int


class ProfileNoise(NamedTuple):
    name: str
    alone: float
    alone_freedom: int
    paired: float
    paired_freedom: int


class LongStep(NamedTuple):
    side: SideName
    run: int
    name: str
    first: int
    last: int
    of_steps: int
    steps: list[int] | None
    amounts: list[float] | None
    mean: float
    other_mean: float
    error: float


class TimerPart(NamedTuple):
    side: SideName
    run: int
    way: int
    phase: str
    part: str
    name: str
    ns: float


class TimeSample(NamedTuple):
    side: SideName
    run: int
    metric: str
    mean_ns: float
    max_ns: float
    spread_ns: float | None
    missing: int
    members: int


class OperatorPlace(NamedTuple):
    name: str
    phase: str | None
    baseline_calls: float
    new_calls: float
    baseline_elements: float | None
    new_elements: float | None
    baseline_flop: float | None
    new_flop: float | None


class OtherTypes(NamedTuple):
    name: str
    input_shapes: str
    baseline_types: str | None
    new_types: str | None


class PhaseKernels(NamedTuple):
    name: str
    baseline: float | None
    new: float | None


class PhaseSteps(NamedTuple):
    name: str
    baseline_had: int
    baseline_steps: int
    new_had: int
    new_steps: int


class OddCalls(NamedTuple):
    name: str
    baseline_calls: float
    new_calls: float
    baseline_ns: float
    new_ns: float


class Retyped(NamedTuple):
    name: str
    launcher: str
    baseline_types: str
    new_types: str
    baseline_part: float
    new_part: float
    as_often: bool


class PathSample(NamedTuple):
    side: SideName
    run: int
    ns: float


class Training(NamedTuple):
    side: SideName
    run: int
    steps: int
    first: int
    last: int
    shared: int


class TrainingPhase(NamedTuple):
    side: SideName
    run: int
    role: str | None
    phase: str
    timer: str | None
    ns: float
    beyond_ns: float
    step_ns: float
    steps: int
    of_steps: int


class PartlyKnown(NamedTuple):
    side: SideName
    what: str


class UnevenSteps(NamedTuple):
    side: SideName
    run: int
    most: str
    most_steps: list[int]
    fewest: str
    fewest_steps: list[int]


class UnmarkedRank(NamedTuple):
    side: SideName
    run: int
    members: list[str]


class UnmarkedStep(NamedTuple):
    side: SideName
    run: int
    steps: list[int]
    members: list[str]
    each: bool


class Unprofiled(NamedTuple):
    side: SideName
    run: int
    mean_ns: float


class UnselectedStep(NamedTuple):
    side: SideName
    step: int


class WorkloadSample(NamedTuple):
    side: SideName
    run: int
    metric: str
    value: float
