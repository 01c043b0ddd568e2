"""Noise that depends on its key only, and not on the order of drawing.

So in a run with one more operator, all other operators keep their durations.
"""

from __future__ import annotations

from hashlib import blake2b

from rlcompare.writer.spec import SampleRun


class Noise:
    """Draws from the run's seed; with ``jitter`` also from its changes and work, but not from profiling settings."""

    def __init__(self, run: SampleRun) -> None:
        self._seed = str(run.seed)
        self._jitter = run.jitter
        work = (run.changes, run.phases, run.steps, run.layers, run.decode_steps, run.batch, run.jitter)
        self._run = blake2b(f"{run.seed}/{work}/{run.prompt_length}/{run.response_length}".encode()).hexdigest()

    def scale(self, key: str, spread: float) -> float:
        """A factor within ``1 ± spread``, widened by the jitter."""
        factor = 1 + spread * (2 * _uniform(f"{self._seed}/{key}") - 1)
        if self._jitter:
            factor *= 1 + self._jitter * (2 * _uniform(f"{self._run}/{key}") - 1)
        return factor

    def integer(self, key: str, low: int, high: int) -> int:
        """An integer from ``low`` to ``high`` - 1, without jitter, for identifiers."""
        return low + int(_uniform(f"{self._seed}/{key}") * (high - low))


def _uniform(text: str) -> float:
    """A number in [0, 1) derived from the text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=6).digest(), "big") / 2**48
