"""The finding that the device works longer for a step than the step lasts on the host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rlcompare.compare.findings import finding_of
from rlcompare.compare.overall import PERIOD, outlasts
from rlcompare.model.diff import Delta, Finding
from rlcompare.model.digits import grouped
from rlcompare.model.words import SIDES, Severity


def outlasting_found(overall: Mapping[str, Delta]) -> Iterator[Finding]:
    """A caution for each side whose steps on the host are too short for the work of the device: they do not hold it.

    Args:
        overall: the overall metrics, by id.
    """
    compared = PERIOD if PERIOD in overall else "time.device_span"
    for side in SIDES:
        if outlasts(overall, side):
            times = (overall[metric].value(side) or 0.0 for metric in ("time.step", "time.device_span"))
            host, span = (f"{grouped(time, 3)} ms" for time in times)
            text = (
                f"the device goes on after the host's steps: it takes {span} for a step that lasts {host} on the host,"
                f" so {compared} is compared. Wait for the device at the end of each step, or record more steps."
            )
            yield finding_of("outlasting", side, Severity.CAUTION, text)
