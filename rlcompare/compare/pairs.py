"""One type per record of a section: the values of both sides under one key.

As in ``records``, a class is named after its query in ``sql/compare`` and has the query's columns; ``StepPair``,
``RankPair`` and ``TimerPair`` are made in Python. Columns come in pairs (``baseline_ns``, ``new_ns``): means per rank
and step, None if a side has no such row. ``rows.SectionMaker`` turns records into the rows of a section.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Pair(Protocol):
    """The fields that all records of a section have."""

    @property
    def name(self) -> str | None: ...
    @property
    def in_baseline(self) -> bool: ...
    @property
    def in_new(self) -> bool: ...
    @property
    def _fields(self) -> tuple[str, ...]: ...


class Allocation(NamedTuple):
    name: str | None
    what: str
    in_baseline: bool
    in_new: bool
    baseline_amount: float | None
    new_amount: float | None
    baseline_calls: float | None
    new_calls: float | None
    baseline_max_bytes: int | None
    new_max_bytes: int | None
    baseline_unreleased_bytes: float | None
    new_unreleased_bytes: float | None


class Account(NamedTuple):
    name: str
    kind: str
    phase: str | None
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_pieces: float | None
    new_pieces: float | None
    baseline_host_op: str | None
    new_host_op: str | None
    baseline_core_type: str | None
    new_core_type: str | None
    baseline_input_dtypes: str | None
    new_input_dtypes: str | None


class CriticalPath(Account):
    """The same columns, for the section ``path``."""


class Api(NamedTuple):
    name: str | None
    layer: str
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_calls: float | None
    new_calls: float | None


class Category(NamedTuple):
    name: str | None
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_calls: float | None
    new_calls: float | None


class Collective(NamedTuple):
    name: str | None
    group_key: str | None
    task: str | None
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_calls: float | None
    new_calls: float | None
    baseline_wait_ns: float | None
    new_wait_ns: float | None
    baseline_transit_ns: float | None
    new_transit_ns: float | None
    baseline_exposed_ns: float | None
    new_exposed_ns: float | None
    baseline_bytes: float | None
    new_bytes: float | None


class CollectiveTask(NamedTuple):
    name: str | None
    group_key: str | None
    task: str | None
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_calls: float | None
    new_calls: float | None
    baseline_bytes: float | None
    new_bytes: float | None


class Copy(NamedTuple):
    name: str | None
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_calls: float | None
    new_calls: float | None
    baseline_exposed_ns: float | None
    new_exposed_ns: float | None
    baseline_bytes: float | None
    new_bytes: float | None
    baseline_gb_per_s: float | None
    new_gb_per_s: float | None


class Efficiency(NamedTuple):
    name: str | None
    work: str | None
    input_shapes: str | None
    input_dtypes: str | None
    at_most: bool
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_calls: float | None
    new_calls: float | None
    baseline_tflops: float | None
    new_tflops: float | None
    baseline_peak_share: float | None
    new_peak_share: float | None
    baseline_gb_per_s: float | None
    new_gb_per_s: float | None
    baseline_cube_share: float | None
    new_cube_share: float | None
    baseline_load_share: float | None
    new_load_share: float | None
    baseline_l2_hit_share: float | None
    new_l2_hit_share: float | None


class Group(NamedTuple):
    name: str | None
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_calls: float | None
    new_calls: float | None
    baseline_wait_ns: float | None
    new_wait_ns: float | None
    baseline_transit_ns: float | None
    new_transit_ns: float | None
    baseline_exposed_ns: float | None
    new_exposed_ns: float | None
    baseline_bytes: float | None
    new_bytes: float | None


class Kernel(NamedTuple):
    name: str | None
    input_shapes: str | None
    input_dtypes: str | None
    phase: str | None
    host_op: str | None
    category: str | None
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_calls: float | None
    new_calls: float | None
    baseline_max_ns: int | None
    new_max_ns: int | None
    baseline_busy_ns: float | None
    new_busy_ns: float | None
    baseline_gap_ns: float | None
    new_gap_ns: float | None
    baseline_elements: float | None
    new_elements: float | None
    baseline_ns_per_element: float | None
    new_ns_per_element: float | None


class KernelPlace(NamedTuple):
    name: str | None
    input_shapes: str | None
    input_dtypes: str | None
    phase: str | None
    host_op: str | None
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_calls: float | None
    new_calls: float | None
    baseline_busy_ns: float | None
    new_busy_ns: float | None
    baseline_elements: float | None
    new_elements: float | None
    baseline_flop: float | None
    new_flop: float | None


class KernelType(NamedTuple):
    name: str | None
    core_type: str | None
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_calls: float | None
    new_calls: float | None
    baseline_max_ns: int | None
    new_max_ns: int | None


class Link(NamedTuple):
    name: str | None
    transport: str | None
    group_key: str | None
    domain: str
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_bytes: float | None
    new_bytes: float | None
    baseline_gb_per_s: float | None
    new_gb_per_s: float | None


class Module(NamedTuple):
    name: str | None
    in_baseline: bool
    in_new: bool
    baseline_calls: float | None
    new_calls: float | None
    baseline_host_ns: float | None
    new_host_ns: float | None
    baseline_device_ns: float | None
    new_device_ns: float | None


class Msprof(NamedTuple):
    name: str | None
    sheet: str
    depth: int | None
    input_shapes: str | None
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_calls: float | None
    new_calls: float | None


class Operator(NamedTuple):
    name: str | None
    in_baseline: bool
    in_new: bool
    baseline_calls: float | None
    new_calls: float | None
    baseline_host_self_ns: float | None
    new_host_self_ns: float | None
    baseline_host_total_ns: float | None
    new_host_total_ns: float | None
    baseline_device_self_ns: float | None
    new_device_self_ns: float | None
    baseline_device_total_ns: float | None
    new_device_total_ns: float | None
    baseline_elements: float | None
    new_elements: float | None
    baseline_flop: float | None
    new_flop: float | None


class Phase(NamedTuple):
    name: str | None
    role: str | None
    in_baseline: bool
    in_new: bool
    baseline_calls: float | None
    new_calls: float | None
    baseline_wall_ns: float | None
    new_wall_ns: float | None
    baseline_device_ns: float | None
    new_device_ns: float | None
    baseline_compute_ns: float | None
    new_compute_ns: float | None
    baseline_exposed_comm_ns: float | None
    new_exposed_comm_ns: float | None
    baseline_free_ns: float | None
    new_free_ns: float | None


class Stack(NamedTuple):
    name: str | None
    callers: str | None
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_calls: float | None
    new_calls: float | None


class StepPair(NamedTuple):
    """A step of both sides; ``ns``: the time used as the step's time."""

    name: str
    position: int
    in_baseline: bool
    in_new: bool
    baseline_step: int | None
    new_step: int | None
    baseline_ns: float | None
    new_ns: float | None
    baseline_compute_ns: float | None
    new_compute_ns: float | None
    baseline_exposed_comm_ns: float | None
    new_exposed_comm_ns: float | None
    baseline_free_ns: float | None
    new_free_ns: float | None


class RankPair(NamedTuple):
    """A rank of both sides; ``ns``: the time used as the step's time."""

    name: str
    in_baseline: bool
    in_new: bool
    baseline_ns: float | None
    new_ns: float | None
    baseline_compute_ns: float | None
    new_compute_ns: float | None
    baseline_comm_ns: float | None
    new_comm_ns: float | None
    baseline_exposed_comm_ns: float | None
    new_exposed_comm_ns: float | None
    baseline_free_ns: float | None
    new_free_ns: float | None
    baseline_late_ns: float | None
    new_late_ns: float | None
    baseline_most_late_ns: int | None
    new_most_late_ns: int | None
    baseline_straggler: bool | None
    new_straggler: bool | None


class TimerPair(NamedTuple):
    """A phase's time by training's timers, and its parts by the profile."""

    name: str
    role: str | None
    in_baseline: bool
    in_new: bool
    baseline_wall_ns: float | None
    new_wall_ns: float | None
    baseline_ms_per_token: float | None
    new_ms_per_token: float | None
    baseline_compute_ns: float | None
    new_compute_ns: float | None
    baseline_exposed_comm_ns: float | None
    new_exposed_comm_ns: float | None
    baseline_free_ns: float | None
    new_free_ns: float | None
    baseline_outside_profile_ns: float | None
    new_outside_profile_ns: float | None
