"""Windows of a schedule for tools that can only be switched on and off."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from rlcompare.collect.profiler.record import Target, Written
from rlcompare.collect.profiler.schedule import Sampler


class Windows:
    """A capture made of one recording, or of one per active window of a schedule. Warm-up ticks record nothing."""

    def __init__(
        self, target: Target, start: Callable[[], None], stop: Callable[[tuple[int, ...] | None], list[Written]],
        discard: Callable[[], None],
    ) -> None:  # fmt: skip
        """Starts the first recording, if it is due.

        Args:
            start: starts a recording.
            stop: stops and writes a recording, given the numbers of its ticks.
            discard: stops a recording without writing it.
        """
        self._start, self._stop, self._discard = start, stop, discard
        self._schedule = target.schedule
        self._sampler = Sampler(target.schedule) if target.schedule else None
        self._written: list[Written] = []
        self._is_on = False
        if self._schedule is None or self._schedule.records(0):
            self._turn_on()

    def tick(self) -> None:
        """Advances to the next tick. A recording ends with the last active tick of its cycle."""
        assert self._sampler is not None and self._schedule is not None
        ended = self._sampler.ticks
        self._sampler.advance()
        if self._is_on and self._schedule.closes(ended):
            self._turn_off()
        if not self._is_on and self._schedule.records(ended + 1):
            self._turn_on()

    def stop(self) -> list[Written]:
        """Stops the active recording; see ``Capture.stop``."""
        if self._is_on:
            self._turn_off()
        return self._written

    def abort(self) -> None:
        """Stops the active recording without writing it."""
        if self._is_on:
            self._is_on = False
            with suppress(Exception):
                self._discard()

    def _turn_on(self) -> None:
        self._start()
        self._is_on = True

    def _turn_off(self) -> None:
        self._is_on = False
        sampled = self._sampler.take() if self._sampler else None
        if sampled == ():
            self._discard()
        else:
            self._written += self._stop(sampled)
