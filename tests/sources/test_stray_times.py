"""Times that lie so far from the rest of a profile that they are damage: the time between is not idle time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sources.nsys_exports import training_step
from tests.stores import rows, store_of

DAY_NS = 86_400_000_000_000
TIMES = "SELECT step, device_span_ns, compute_ns, step_ns FROM r_time ORDER BY step"


@pytest.mark.parametrize("days", [8, 12_000])
def test_a_kernel_and_a_step_weeks_away_are_left_out(tmp_path: Path, days: int) -> None:
    sound = rows(store_of(training_step().write(tmp_path / "sound.sqlite"), tmp_path / "sound.duckdb"), TIMES)
    export = training_step()
    export.kernel("void gemm<bf16>", 15_000_000 + days * DAY_NS, 1_000_000, launch=15_000_000)
    export.nvtx("ProfilerStep#7", days * DAY_NS, days * DAY_NS + 1_000_000)
    store = store_of(export.write(tmp_path / "stray.sqlite"), tmp_path / "stray.duckdb")
    assert rows(store, TIMES) == sound
    assert rows(store, "FROM step WHERE step = 7 OR start_ns IS NULL") == []
    ((message,),) = rows(store, "SELECT message FROM finding WHERE key = 'damaged_time'")
    assert "more than a week from the others were left out (" in message


def test_days_between_steps_are_kept(tmp_path: Path) -> None:
    """A clock of the device that is years off is no damage either: host and device are looked at apart."""
    export = training_step()
    export.nvtx("ProfilerStep#7", 5 * DAY_NS, 5 * DAY_NS + 1_000_000)
    kernels: list[Any] = export.rows["CUPTI_ACTIVITY_KIND_KERNEL"]
    years = 900 * DAY_NS
    export.rows["CUPTI_ACTIVITY_KIND_KERNEL"] = [(row[0] + years, row[1] + years, *row[2:]) for row in kernels]
    store = store_of(export.write(tmp_path / "a.sqlite"), tmp_path / "a.duckdb")
    assert rows(store, "SELECT count(start_ns) FROM step") == [(3,)]
    assert rows(store, "SELECT sum(calls)::BIGINT FROM r_kernel") == [(4,)]
    assert rows(store, "SELECT DISTINCT preparing_ns, tail_ns, step_ns > 0 FROM r_time") == [(None, None, True)]
