"""The result of a comparison, as in ``diff.json`` (docs/design.md §7), as frozen dataclasses.

``report`` renders a ``Diff`` and computes nothing; ``gate`` judges one and reads nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rlcompare.model.pictures import Pictures
from rlcompare.model.timeline import Timeline
from rlcompare.model.words import Comparable, EventKind, Polarity, RuleSeverity, Severity, SideName

SCHEMA = "rlcompare.diff/1"

NOT_COMPARED = "not_compared"
"""Key in a metric's evidence and in a row: why there is no difference although both sides have a value."""

RUNS_OVERLAP = "runs_overlap"
"""Key in a metric's evidence if a side has several runs: whether the order of the runs may be due to chance."""

OF_WORK = "of_work"
"""Key in the evidence of a time: the part of its change that more or less work explains, in its unit, as far as the
steps of the log show how the time follows the work."""

STEP_NOISE, STEP_FREEDOM = "step_noise", "step_freedom"
"""Keys in the evidence of what training logs, or a profile times, in each step: how far the mean of a run may be off by
luck, as its steps show, as one standard error and a fraction of the mean; and the degrees of freedom of that."""

METRICS_LEFT_OUT = "metrics_left_out"
"""Key of the finding that a ``diff.json`` holds only a part of the metrics, since there are too many."""

DAMAGED_FILE = "damaged_file"
"""Key of the finding that only a part of a file could be read."""

TIMERS_OVERLAP = "timers_overlap"
"""Key of the finding that training's timers do not add up to the step."""

Value = float | int | str | bool | None
Row = Mapping[str, Value]
Samples = Mapping[SideName, tuple[float | None, ...]]
"""One value per run, by side; None if a run has no such measurement."""


@dataclass(frozen=True)
class RunInfo:
    """One run of a side.

    Attributes:
        replicas: rollout replicas, which are not ranks.
        started: when it started, else when its profile or its log began; ISO 8601 in UTC. None: unknown.
        left_out: why it is not a repetition of the other runs of its side, so no verdict counts it; empty: it is one.
    """

    name: str
    path: str
    captures: int
    ranks: int
    steps: int
    replicas: int = 0
    started: str | None = None
    left_out: str = ""


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    label: str
    runs: tuple[RunInfo, ...]
    captures: tuple[Row, ...]
    steps: tuple[int, ...]
    env: Mapping[str, str]


@dataclass(frozen=True)
class Finding:
    """A difference between the sides, or a problem with the data of one of them.

    Attributes:
        key: its subject: ``profiler.level``, ``world_size``, ``missing_file``, …
        message: one sentence, with the consequence.
    """

    key: str
    baseline: str | None
    new: str | None
    severity: Severity
    message: str


@dataclass(frozen=True)
class Comparability:
    """Whether the two sides may be compared, and if not, why."""

    status: Comparable
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """A metric on both sides.

    Attributes:
        metric: its id (docs/design.md §7), such as ``time.step``.
        unit: ``ms``, ``s``, ``bytes``, ``ratio``, ``count`` or ``""``.
        baseline, new: None if a side has no such measurement.
        ratio: new / baseline; None if either is None or negative, or if the baseline is 0 or so close to it that the
            ratio says nothing.
        samples: one value per run of each side.
        evidence: statistics over runs if there are several, and what steps tell (``OF_WORK``, ``STEP_NOISE``).
            ``NOT_COMPARED`` says why there is no difference although both values are known: they have different
            meanings.
    """

    metric: str
    unit: str
    polarity: Polarity
    baseline: float | None
    new: float | None
    delta: float | None
    ratio: float | None
    samples: Samples
    evidence: Mapping[str, Value] = field(default_factory=dict)

    def value(self, side: SideName) -> float | None:
        """Its value on a side."""
        return self.baseline if side == "baseline" else self.new


@dataclass(frozen=True)
class Cause:
    """A cause of the headline's change: a set of rows of the account, or of training's timers.

    No two causes share a row. Their shares and that of ``Diff.unexplained`` sum to 1.

    Attributes:
        what: a short stable word. A phase that one side alone has times of: ``one_side``. What most parts share:
            ``everything``, ``workload``, ``frequency``, ``compute``, ``host_pace``, ``module``, ``straggler``.
            Operators: ``operator_slower``, ``operator_calls``, ``operator_time``, ``replaced``, ``data_types``.
            Communication: ``waiting``, ``communication``, ``lost_overlap``. What the device waited for: ``data``,
            ``sync``, ``gc``, ``alloc``, ``compile``, ``collective_call``, ``copies``, ``operator``, ``python``,
            ``launch``, ``queue``, ``late_start``, ``between_steps``, ``free``, ``unknown``. Of training's timers:
            ``batches``, ``imbalance``, ``outside``, ``ranks``, ``tail``, ``turns``. Places: ``phase``, ``kind``.
        share: fraction of the change. Negative if it made up for other causes, which then may exceed 1. If the headline
            is measured on plain steps and the cause in the profile, the fraction of the profiled step's change; the
            text then says so.
        delta_ms: its change in ms per step: on the critical path where both sides have one, else per rank.
        text: one sentence for the user.
        section, row: where to find the evidence: a section's name and the row's ``name``.
        rows: what it consists of, the largest part first: ``kind``, ``phase`` and ``name`` of a row of the section
            ``path``, of ``account`` where there is no path (kind ``timer``: of ``phases``), and ``delta_ms``, the part
            of its change. Their sum is the cause's; many small ones are one row without a name.
        member: the member of the runs, such as ``rank 5``, from which nearly all of it comes; None if that is several.
        facts: what changed with it and fits it, what matters most first: ``name``, ``baseline`` and ``new``. Names:
            ``input_formats``, ``last_axis_bytes`` (no multiple of 512 bytes on one side), ``blocks``, ``aicore_mhz``;
            parts of the kernels' time in which a unit works, by AI Core counters: ``load_share``, ``cube_share``;
            ``l2_hit_share``; ``module NAME`` (ms per step of the kernels launched in it). Of waiting for the host, a
            call that synchronises (calls per step).
    """

    what: str
    share: float
    delta_ms: float
    text: str
    section: str
    row: str
    rows: tuple[Row, ...] = ()
    member: str | None = None
    facts: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Unexplained:
    """The part of the change that no cause explains: ``share`` of it, and ``delta_ms`` per step and rank."""

    share: float
    delta_ms: float


SYMPTOMS = {
    "health.non_finite": "loss, gradient norm, entropy or reward is not a finite number",
    "health.failed": "runs that failed, according to their run.json",
    "health.ends_early": "fewer steps than the configuration asks for, or than the baseline",
    "health.entropy_collapse": "entropy falls to a small part of its start and of the baseline's",
    "health.entropy_explosion": "entropy rises far above its start and the baseline's",
    "health.gradient_explosion": "the gradient norm rises far above its usual level and the baseline's",
    "health.no_gradient": "the gradient norm stays 0, the baseline's does not",
    "health.reward_fall": "reward, score or validation ends below the baseline's",
    "health.clipped_responses": "many more responses end at the length limit than on the baseline",
    "health.kl": "KL of old and new policy, of the reference, or of rollout and training",
    "health.chi2": "chi-squared divergence of rollout and training",
    "health.ess": "effective sample size of importance sampling",
    "health.weights": "importance weights: mean, deviation, vetoed and clipped parts",
    "health.staleness": "samples of older weights than the baseline's",
    "health.evictions": "more samples are evicted or dropped than on the baseline",
}
"""The keys of symptoms, as policies name them, with what they are about."""


ADVICE = " To try: "
"""Precedes the advice in the text of a symptom, if there is any."""


@dataclass(frozen=True)
class Symptom:
    """A sign that the training of a side is not stable (docs/metrics.md, "Stability").

    Attributes:
        key: what a policy calls it, such as ``health.entropy_collapse``.
        metric: the metric that shows it; empty for ``health.failed`` and ``health.ends_early``.
        severity: ``error`` for what cannot be healthy, ``warn`` for a change against the baseline, for a value that is
            outside its range on both sides, and for whatever is wrong with the baseline itself.
        baseline, new: what was judged of the metric: a level, the worst mean of five steps, the last step, or a number
            of steps, as the text says; None: not measured or not comparable.
        since_step: where it begins; None: unknown, or not at a certain step.
        text: one sentence for the user.
    """

    key: str
    metric: str
    side: SideName
    severity: RuleSeverity
    baseline: float | None
    new: float | None
    since_step: int | None
    text: str

    @property
    def is_stopped_alike(self) -> bool:
        """Whether both logs end at the same step, before their time."""
        ends = self.baseline, self.new
        return self.key == "health.ends_early" and None not in ends and abs((ends[0] or 0) - (ends[1] or 0)) <= 1


@dataclass(frozen=True)
class Rest:
    """Rows of a section that a document leaves out, added up.

    Attributes:
        rows: their number.
        baseline, new, delta: the sums of their values; None if such rows do not add up.
        kind, phase: what they have in common in the sections ``account`` and ``path``; else None.
    """

    rows: int
    baseline: float | None
    new: float | None
    delta: float | None
    kind: str | None = None
    phase: str | None = None


@dataclass(frozen=True)
class Section:
    """One table of the result.

    Attributes:
        name: its key in ``sections``.
        unit: of ``baseline``, ``new`` and ``delta``.
        keys: the columns that, with ``name``, identify a row.
        matched_share: fraction of the measure, both sides together, in rows that both sides have; None if empty.
        note: how its rows were matched, or other notes for the reader; may be empty.
        rows: each has ``name``, ``presence`` (both, baseline_only, new_only), ``baseline``, ``new``, ``delta``,
            ``ratio``, the keys, ``baseline_calls`` and ``new_calls`` if calls are counted, and further columns of
            the section. Ordered by the absolute change, largest first (``msprof``, ``steps``, ``ranks``, ``env``:
            natural order).
        rest: the rows that are missing here, because a ``diff.json`` leaves out most of a long table.
    """

    name: str
    unit: str
    keys: tuple[str, ...]
    matched_share: float | None
    note: str
    rows: tuple[Row, ...]
    rest: tuple[Rest, ...] = ()

    @property
    def total(self) -> int:
        """The number of all rows."""
        return len(self.rows) + sum(rest.rows for rest in self.rest)

    @property
    def file(self) -> str:
        """The file that holds all rows, beside the ``diff.json`` that leaves some out; else empty."""
        return f"data/{self.name}.parquet" if self.rest else ""


@dataclass(frozen=True)
class EventFact:
    """The levels of another metric before and since an event; ``before`` is None if it has none."""

    name: str
    before: float | None
    after: float

    @property
    def delta(self) -> float:
        """``after`` − ``before``; ``after`` if there is nothing before."""
        return self.after - (self.before or 0.0)


@dataclass(frozen=True)
class RunEvent:
    """What happens to a metric within one run: since when it has another level, a trend, steps that take longer.

    Attributes:
        side, run: the run; runs are numbered from 0.
        step, last: the first and the last step of it; ``last`` is None if it lasts to the end of the log.
        steps: number of these steps that were measured.
        before, after: the level before it and since then; of a trend, the ends of its line; of steps that take longer,
            the level of the other steps and of these.
        period: the number of steps after which such steps recur; None: they do not, or not regularly.
        elsewhere: whether the other side has the same at about the same step; None if it does not log these steps.
        facts: what changed with it: timers that hold much of a change of the step, each before those inside it that
            hold most of its own; then metrics of the work with an onset at the same step. Of steps that test or save,
            the timers of that.
        text: one sentence for the user.
    """

    what: EventKind
    metric: str
    unit: str
    side: SideName
    run: int
    step: int
    last: int | None
    steps: int
    before: float
    after: float
    period: int | None = None
    elsewhere: bool | None = None
    facts: tuple[EventFact, ...] = ()
    text: str = ""

    @property
    def delta(self) -> float:
        """``after`` − ``before``."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A metric of one run over its steps, beside the mean: robust measures, and the worst window.

    Attributes:
        steps: number of steps that count (docs/design.md §4).
        trimmed: the mean of the middle 80 % of the steps.
        p5, p95: percentiles; each is the value of a step.
        highest, lowest: the highest and the lowest mean of ten neighbouring steps; of all, if there are fewer.
    """

    metric: str
    side: SideName
    run: int
    steps: int
    median: float
    trimmed: float
    p5: float
    p95: float
    highest: float
    lowest: float


@dataclass(frozen=True)
class Series:
    """A metric of one run step by step; steps under a profiler and warm-up steps are left out if there are others.

    Attributes:
        logged: number of steps that were logged. If it exceeds the number of ``steps``, the series is thinned: of each
            of several equal parts, the lowest and the highest value are kept.
        steps, values: in order, with six digits.
        left_out: those of the steps that do not count for the mean: a warm-up step, steps that one side alone logged.
    """

    metric: str
    side: SideName
    run: int
    logged: int
    steps: tuple[int, ...]
    values: tuple[float, ...]
    left_out: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.values) != len(self.steps):
            raise ValueError("should have as many values as steps")


@dataclass(frozen=True)
class Diff:
    """The whole result.

    Attributes:
        headline: id of the headline metric: ``timing_s/step`` if training measured it, else ``time.path`` if both sides
            have a critical path over ranks, else ``time.step`` if steps are marked, else ``time.device_span``,
            ``time.comm``, ``time.phases``.
        unexplained: what the causes leave of the change that they explain; None if the headline hardly moved.
        quality: missing, damaged, inferred or omitted data, per side.
        sections: by name, in the order of the report. All names of docs/design.md §7 are present; some may be empty.
        events: what happens within single runs, what matters most first.
        aggregates: of each metric and run of training.
        series: of each timer and metric of the work and of health, by run.
        symptoms: signs of unstable training: those of the new side first, errors before warnings.
        pictures: what pictures show beyond the sections.
        timeline: what a device did in the phase that changed most; None if a side has no device tasks.
    """

    baseline: Side
    new: Side
    comparability: Comparability
    headline: str
    overall: tuple[Delta, ...]
    causes: tuple[Cause, ...]
    quality: tuple[Finding, ...]
    sections: Mapping[str, Section]
    unexplained: Unexplained | None = None
    events: tuple[RunEvent, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    series: tuple[Series, ...] = ()
    symptoms: tuple[Symptom, ...] = ()
    pictures: Pictures = field(default_factory=Pictures)
    timeline: Timeline | None = None

    @property
    def unstable(self) -> bool:
        """Whether the new side has symptoms, so that no change is called better; not if both logs stop at one step."""
        return any(symptom.side == "new" and not symptom.is_stopped_alike for symptom in self.symptoms)

    def metric(self, name: str) -> Delta | None:
        """The overall metric with that id, or None."""
        return next((delta for delta in self.overall if delta.metric == name), None)
