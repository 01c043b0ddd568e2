"""The invariants notice documents that contradict themselves. Each case changes one number of a sound one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import duckdb
import pytest

from tests.fuzz.invariants import LONGEST_MS, LONGEST_TIMER_MS, contradictions
from tests.fuzz.numbers import Document
from tests.fuzz.second_look import STEPS, of_times

METRICS = {
    "time.step": 10.0, "time.preparing": 1.5, "time.device_span": 9.0, "time.tail": -0.5, "time.compute": 6.0,
    "time.comm": 1.5, "time.exposed_comm": 1.0, "time.overlapped_comm": 0.5, "time.free": 2.0,
    "time.exposed_copy": 0.5, "time.idle": 1.5, "time.step_free": 3.0, "time.profiled_step": 12.0,
    "time.outside_profile": 3.0, "time.path": 9.5, "time.step@max": 11.0, "time.step@spread": 2.0,
    "phase.update_actor.wall": 7.0, "phase.update_actor.compute": 4.0, "phase.update_actor.free": 2.0,
    "phase.(outside).compute": 2.0, "role.trainer.compute": 5.0, "role.rollout.compute": 1.0,
    "workload.kernels": 3, "workload.collectives": 2, "workload.collective_bytes": 96,
}  # fmt: skip

ROWS: dict[str, list[dict[str, Any]]] = {
    "kernels": [{"": 5.5, "calls": 2, "busy_ms": 5.0}, {"": 1.0, "calls": 1, "busy_ms": 1.0}],
    "kernel_types": [{"": 6.5, "calls": 3}],
    "categories": [{"": 6.5, "calls": 3}],
    "collectives": [
        {"": 1.0, "calls": 1, "bytes": 32, "exposed_ms": 0.5, "wait_ms": 0.75, "transit_ms": 0.25},
        {"": 0.5, "calls": 1, "bytes": 64, "exposed_ms": 0.5, "wait_ms": 0.0, "transit_ms": 0.5},
    ],
    "groups": [{"": 1.5, "calls": 2, "bytes": 96, "exposed_ms": 1.0, "wait_ms": 0.75, "transit_ms": 0.75}],
    "copies": [{"": 0.75, "calls": 1, "exposed_ms": 0.5, "gb_per_s": 2.0}],
    "operators": [{"": 1.0, "calls": 1, "host_self_ms": 1.0, "host_total_ms": 1.5}],
    "efficiency": [{"": 1.0, "calls": 1, "peak_share": 1.04}],
    "counters": [{"": 50.0}],
    "path": [{"": 9.5}],
    "phases": [{"": 7.0, "compute": 4.0, "free": 2.0}],
    "steps": [{"": 9.0, "compute": 5.0}, {"": 11.0, "compute": 7.0}],
    "ranks": [{"": 10.0, "compute": 6.0, "comm": 1.5}],
}
"""By section, the columns of each row; ``""``: the value itself."""


def document() -> Document:
    """A sound comparison of a run of one capture with itself."""
    overall = [
        {"metric": name, "unit": "ms" if "." in name and not name.startswith("workload.") else "", "baseline": value,
         "new": value, "delta": 0.0, "ratio": 1.0, "samples": {"baseline": [value], "new": [value]}}
        for name, value in METRICS.items()
    ]  # fmt: skip
    sections = {name: [_row(name, columns) for columns in rows] for name, rows in ROWS.items()}
    side = {"runs": [{"captures": 1, "ranks": 1, "replicas": 0, "steps": 2}], "captures": [{"executor": "device"}]}
    sizes = [{"side": side, "ms": 1.5, "calls": 2.0, "bytes": 96.0} for side in ("baseline", "new")]
    return {
        "overall": overall, "sections": sections, "causes": [], "quality": [], "unexplained": None, "headline": "",
        "section_info": {name: {"unit": "ms", "matched_share": 1.0, "rest": []} for name in ROWS},
        "baseline": side, "new": side, "pictures": {"collectives": sizes},
    }  # fmt: skip


def _row(section: str, columns: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": "update_actor", "kind": "wall" if section == "phases" else None, "task": None}
    row |= {"delta": 0.0, "ratio": 1.0, "delta_calls_ms": 0.0, "delta_per_call_ms": 0.0}
    for side in ("baseline", "new"):
        row |= {f"{side}_{column}" if column else side: value for column, value in columns.items()}
    return row


def told(changed: Document) -> str:
    return "\n".join(": ".join(found) for found in contradictions(changed))


def test_a_sound_document_has_no_contradiction() -> None:
    assert told(document()) == ""


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("time.step", -1.0, "-1.0 ms is negative"),
        ("time.step", 1e12, "ms is beyond any sense"),
        ("time.profiled_step", 1e12, "ms is beyond any sense"),
        ("time.free", 9.0, "9.0 is not the sum of {'time.exposed_copy'"),
        ("time.step_free", 4.0, "4.0 is not the sum of {'time.preparing'"),
        ("time.outside_profile", 4.0, "12.0 is not the sum of {'time.device_span'"),
        ("time.step@max", 9.0, "10.0 is more than the 9.0 of time.step@max"),
        ("time.step@spread", 12.0, "12.0 is more than the 11.0 of time.step@max"),
        ("time.device_span", 1.0, "1.5 is more than the 1.0 of time.device_span"),
        ("phase.(outside).compute", 3.0, "6.0 is not the sum of {'phase.update_actor.compute'"),
        ("phase.update_actor.free", 1.0, "2.0 is not the sum of {'phase.update_actor.free'"),
        ("role.rollout.compute", 2.0, "6.0 is not the sum of {'role.trainer.compute'"),
        ("phase.update_actor.wall", 8.0, "7.0 ms, and 8.0 ms of phase.update_actor.wall"),
        ("workload.kernels", 4, "3 in all, and 4 of workload.kernels"),
        ("workload.collectives", 3, "2 in all, and 3 of workload.collectives"),
        ("workload.collective_bytes", 95, "96 in all, and 95 of workload.collective_bytes"),
        ("time.compute", 7.0, "sections.kernels.new: 6.5 ms in all, less than the 7.0 ms of time.compute"),
        ("time.compute", 7.0, "sections.kernels.new_busy_ms: 6.0 in all, and 7.0 of time.compute"),
        ("time.compute", 7.0, "sections.steps.new_compute: [5.0, 7.0] ms, and 7.0 ms of time.compute"),
        ("time.comm", 2.0, "sections.collectives.new: 1.5 ms in all, less than the 2.0 ms of time.comm"),
        ("time.comm", 2.0, "sections.ranks.new_comm: [1.5] ms, and 2.0 ms of time.comm"),
        ("time.exposed_comm", 0.5, "sections.groups.new_exposed_ms: 1.0 in all, and 0.5 of time.exposed_comm"),
        ("time.exposed_copy", 1.0, "sections.copies.new_exposed_ms: 0.5 in all, and 1.0 of time.exposed_copy"),
        ("time.path", 9.0, "9.5 in all, and 9.0 of time.path"),
    ],
)
def test_a_metric_contradicts(metric: str, value: float, text: str) -> None:
    assert text in told(with_new(metric, value))


def with_new(metric: str, value: float) -> Document:
    changed = document()
    row = next(row for row in changed["overall"] if row["metric"] == metric)
    row.update({"new": value, "delta": value - row["baseline"], "ratio": None})
    row["samples"] = {"baseline": [row["baseline"]], "new": [value]}
    return changed


@pytest.mark.parametrize(("metric", "longest"), [("time.step", LONGEST_MS), ("time.profiled_step", LONGEST_TIMER_MS)])
def test_how_long_a_time_may_be(metric: str, longest: float) -> None:
    """Training's timers may be longer than a profile."""
    place = f"overall.{metric}.new"
    assert f"{place}: {longest + 1.0} ms is beyond any sense" in told(with_new(metric, longest + 1.0))
    assert f"{place}: {float(longest)} ms is beyond any sense" not in told(with_new(metric, float(longest)))


def test_a_change_contradicts_its_values() -> None:
    changed = document()
    changed["overall"][0]["new"] = 12.0
    assert "overall.time.step: delta 0.0 is not 12.0 - 10.0" in told(changed)


@pytest.mark.parametrize(
    ("section", "column", "value", "text"),
    [
        ("kernel_types", "new_calls", 4, "sections.kernels.new_calls: 3 in all, and 4 in kernel_types"),
        ("categories", "new", 7.0, "sections.kernels.new_: 6.5 in all, and 7.0 in categories"),
        ("groups", "new_wait_ms", 0.5, "sections.collectives.new_wait_ms: 0.75 in all, and 0.5 in groups"),
        ("collectives", "new_transit_ms", 0.5, "new: [0.75, 0.5] ms of wait and transit in 1.0 ms"),
        ("collectives", "new_exposed_ms", 1.5, "new: [1.5] ms of exposed in 1.0 ms"),
        ("collectives", "new_bytes", 33, "pictures.collectives: new: 96.0 bytes in all, and 97 in the section"),
        ("kernels", "delta_calls_ms", 1.0, "delta 0.0 is not 1.0 by calls and 0.0 per call"),
        ("phases", "new_free", 1.0, "1.0 ms, and 2.0 ms of phase.update_actor.free"),
        ("operators", "new_host_self_ms", 2.0, "new: host_self_ms 2.0 of host_total_ms 1.5"),
        ("efficiency", "new_peak_share", 1.06, "new_peak_share 1.06 is not within 0 and 1"),
        ("counters", "new", -1.0, "sections.counters[update_actor]: new is -1.0"),
        ("copies", "new_gb_per_s", 1e7, "new_gb_per_s is 10000000.0 GB/s"),
    ],
)
def test_a_section_contradicts(section: str, column: str, value: float, text: str) -> None:
    changed = document()
    changed["sections"][section][0][column] = value
    assert text in told(changed)


def test_calls_that_overlap_may_be_longer_than_a_profile() -> None:
    changed = document()
    changed["sections"] = {"kernels": [{**_row("kernels", {"": 1e9, "calls": 1}), "delta": 0.0}]}
    assert "1000000000.0 ms is beyond any sense" in told(changed)
    changed["sections"] = {"kernels": [{**_row("kernels", {"": 1e9, "calls": 20}), "delta": 0.0}]}
    assert "beyond any sense" not in told(changed)


def test_what_a_finding_names_is_no_contradiction() -> None:
    """Computation is unknown on a rank: times are means over others. Counts are not, and the baseline's are whole."""
    changed = document()
    for metric, value in (("time.compute", 7.0), ("workload.kernels", 4)):
        row = next(row for row in changed["overall"] if row["metric"] == metric)
        row["samples"] = {"baseline": [value], "new": [value]}
        row.update({"baseline": value, "new": value})
    message = "New side: computation is unknown on 1 of 2 ranks; its mean leaves them out."
    changed["quality"] = [{"key": "partly_measured", "message": message}]
    text = told(changed)
    assert "baseline_busy_ms" in text
    assert "new_busy_ms" not in text
    assert "new_calls: 3 in all, and 4 of workload.kernels" in text


def test_several_captures() -> None:
    """A rank may have no phases, and ranks other steps."""
    changed = document()
    changed["overall"] = [row for row in changed["overall"] if row["metric"] != "phase.(outside).compute"]
    changed["sections"]["steps"].pop()
    assert "phase.update_actor.compute" in told(changed)
    assert "sections.steps.new_compute" in told(changed)
    of_ranks = {"runs": [{"captures": 2}], "captures": [{"executor": "device"}] * 2}
    assert told({**changed, "baseline": of_ranks, "new": of_ranks}) == ""


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ([(0, 1, 0, 10), (0, 2, 10, 20)], []),
        ([(0, 1, 0, 10), (1, 1, 0, 10)], []),
        ([(0, 1, None, None)], []),
        ([(0, 2, 9_000, 20_000), (0, 1, 0, 10_000)], []),  # rounding
        ([(0, 2, 8_000, 20_000), (0, 1, 0, 10_000)], [(2, 1)]),
        ([(0, 1, 0, 10), (0, 1, 10, 20)], [(1, 1)]),
    ],
)
def test_steps_of_a_capture_that_overlap(steps: list[tuple[Any, ...]], found: list[tuple[int, int]]) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE step (capture INTEGER, step BIGINT, start_ns BIGINT, end_ns BIGINT)")
        con.executemany("INSERT INTO step VALUES (?, ?, ?, ?)", steps)
        assert [row[1:3] for row in con.execute(STEPS).fetchall()] == found


class TestShow:
    """``show`` and ``diff`` of one run."""

    STEPS = (
        {"ranks": 1, "compute_ms": 5.0, "device_span_ms": 8.0, "step_ms": 9.0, "free_ms": 1.0},
        {"ranks": 1, "compute_ms": 7.0, "device_span_ms": 10.0, "step_ms": 11.0, "free_ms": 3.0},
    )

    def steps(self, **changed: float) -> list[dict[str, Any]]:
        unknown = dict.fromkeys(("exposed_comm_ms", "overlapped_comm_ms", "exposed_copy_ms", "bubble_ms", "stage_ms"))
        steps = [{**unknown, "p2p_ms": None, "preparing_ms": None, **step} for step in deepcopy(self.STEPS)]
        return [{**steps[0], **changed}, steps[1]]

    def test_alike(self) -> None:
        assert list(of_times(self.steps(), document(), 0)) == []

    @pytest.mark.parametrize("column", ["compute_ms", "step_ms"])
    def test_another_mean(self, column: str) -> None:
        (text,) = of_times(self.steps(**{column: 5.5}), document(), 0)
        assert f"ms of {column.removesuffix('_ms')} (2 steps: [5.5" in text

    def test_an_idle_step_is_not_shown(self) -> None:
        """It counts 0 on the device, and its length on the host is unknown here."""
        texts = list(of_times(self.steps()[:1], document(), 0))
        assert "show has 2.5 ms of compute (2 steps: [5.0]), and diff 6.0 ms" in texts
        assert not any(" of step " in text for text in texts)

    def test_a_step_that_is_not_compared(self) -> None:
        chosen = document()
        chosen["quality"].append({"key": "lone_steps"})
        assert list(of_times(self.steps(compute_ms=5.5), chosen, 0)) == []

    def test_ranks_that_lack_a_step(self) -> None:
        assert list(of_times(self.steps(ranks=2), document(), 0)) == []

    def test_phases_that_may_lack_a_step(self) -> None:
        finding = {"key": "steps_by_order", "message": "New side: verl does not name the training step here"}
        by_order = {**document(), "quality": [finding]}
        assert list(of_times(self.steps(compute_ms=5.5), by_order, 0)) == []
