"""``--format trace``: chooses what to draw of both sides, and reads its events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rlcompare import temporary
from rlcompare.app import messages
from rlcompare.model.run import RunInput
from rlcompare.model.words import SIDES, SideName

if TYPE_CHECKING:
    from rlcompare.compare import SideInput
    from rlcompare.compare.trace import Plan, Source
    from rlcompare.model.diff import Diff

FORMAT = "trace"


@dataclass(frozen=True)
class TraceSide:
    """A side of a comparison: its stores without events, and the inputs that these were made of, in the same order."""

    given: SideInput
    runs: Sequence[RunInput]


@contextmanager
def trace_file(wanted: bool) -> Iterator[Path | None]:
    """Where a trace is written until the report takes it; None if it is not wanted."""
    if not wanted:
        yield None
        return
    with temporary.folder() as folder:
        yield Path(folder) / "trace.json.gz"


def make_trace(diff: Diff, sides: Sequence[TraceSide], target: Path, directory: Path | None) -> None:
    """Writes the trace of a comparison, if there is something to draw, and tells what it leaves out.

    Args:
        sides: baseline and new.
        directory: the cache folder; None: nothing is kept.
    """
    from rlcompare.compare.trace import write_trace

    with ExitStack() as stack:
        sources: dict[SideName, Source] = {}
        for name, side in zip(SIDES, sides, strict=True):
            source = _source(diff, name, side, directory, stack)
            if source is not None:
                sources[name] = source
        if not sources:
            return
        for sentence in write_trace(sources, target):
            messages.say(f"trace: {sentence}")


def _source(diff: Diff, name: SideName, side: TraceSide, directory: Path | None, stack: ExitStack) -> Source | None:
    """A side of the trace: the run of the timeline, else the first run of the side that has something to draw."""
    from rlcompare.compare.trace import Source, has_events
    from rlcompare.store.cache import open_stores

    found = _plan(diff, name, side)
    if found is None:
        messages.say(f"trace: the {name} side has no device or communication events")
        return None
    plan, run = found
    if run.is_store:
        if has_events(run.captures[0].path):
            return Source(side.given.label, plan, run.captures[0].path, plan.captures)
        messages.say(f"trace: {run.captures[0].path} was made without events: not drawn")
        return None
    chosen = tuple(run.captures[number] for number in plan.captures)
    part = replace(run, captures=chosen, steps=frozenset({plan.step}), training=None, findings=())
    (store,) = stack.enter_context(open_stores([part], directory=directory, keep_events=True))
    return Source(side.given.label, plan, store, tuple(range(len(chosen))))


def _plan(diff: Diff, name: SideName, side: TraceSide) -> tuple[Plan, RunInput] | None:
    from rlcompare.compare.trace import plan_of

    timeline = None if diff.timeline is None else diff.timeline.side(name)
    runs = list(zip(side.given.stores, side.runs, strict=True))
    if timeline is not None:
        first = (diff.baseline if name == "baseline" else diff.new).runs[timeline.run].name
        runs.sort(key=lambda entry: entry[0].name != first)
    for number, (store, run) in enumerate(runs):
        preferred = timeline if number == 0 else None
        step, member = (None, None) if preferred is None else (preferred.step, preferred.member)
        plan = plan_of(store.store, store.name, step, member) if run.captures else None
        if plan is not None:
            return plan, run
    return None
