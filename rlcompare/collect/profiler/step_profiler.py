"""Drives the profiler through the training steps of one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from rlcompare.collect.profiler.disk import DiskGuard
from rlcompare.collect.profiler.plan import Plan, RolePlan, make_plan
from rlcompare.collect.profiler.record import MARKS, Capture, CaptureRecord, Target
from rlcompare.collect.profiler.tool import Tool
from rlcompare.collect.profiler.tools import find_tool
from rlcompare.collect.reference.config.schema import Config


class StepProfiler:
    """Opens and closes the captures of one process, and marks steps and phases in them.

    Attributes:
        captures: those on disk so far.
        notes: notes for the user on captures that were or were not made.
    """

    def __init__(self, plan: Plan, tools: dict[str, Tool], out: Path) -> None:
        self.captures: list[CaptureRecord] = []
        self.notes = list(plan.notes)
        self._plan = plan
        self._tools = tools
        self._out = out
        self._whole = plan.end_to_end
        self._shared: _Open | None = None
        self._call: _Open | None = None
        self._step = 0
        self._disk = DiskGuard()

    def is_profiled(self, step: int) -> bool:
        """Whether any rank profiles this training step."""
        return step in self._plan.profiled

    @contextmanager
    def step(self, step: int) -> Iterator[None]:
        """Wraps training step ``step``; with end-to-end profiling, this is its capture."""
        self._step = step
        if self._whole is None or step not in self._plan.steps:
            yield
            return
        if self._shared is None:
            self._shared = self._opened(self._whole, self._plan.whole_step(self._whole, step))
        if self._shared is None:
            yield
            return
        self._shared.steps.append(step)
        with self._aborting(), self._shared.tool.mark_step(step):
            yield
        if not (self._plan.continuous and step + 1 in self._plan.steps):
            self.close()

    @contextmanager
    def phase(self, role: str, name: str) -> Iterator[None]:
        """Wraps a phase: marks it in the step's capture, or makes its own capture.

        Args:
            role: ``rollout``, ``actor``, ``ref`` or ``critic``; empty if it belongs to none.
        """
        self._look_for_room()
        if self._shared is not None:
            with self._shared.tool.mark(MARKS[name]):
                yield
            return
        call = self._plan.call(role, name, self._step) if self._whole is None else None
        if call is None:
            yield
            return
        self._call = self._opened(*call)
        if self._call is None:
            yield
            return
        with self._aborting(), self._mark_of(self._call, name):
            yield
        self._look_for_room()
        call_, self._call = self._call, None
        if call_ is not None:
            self._closed(call_)

    def _mark_of(self, opened: _Open, name: str) -> AbstractContextManager[None]:
        """The phase's mark; none if a schedule is used, since its windows open and close inside the phase."""
        return nullcontext() if opened.target.schedule else opened.tool.mark(MARKS[name])

    def tick(self, granularity: str) -> None:
        """A decode step, mini batch or micro batch of the current phase has ended."""
        self._look_for_room()
        schedule = self._call.target.schedule if self._call is not None else None
        if self._call is not None and schedule is not None and schedule.granularity == granularity:
            self._call.ticks += 1
            self._call.capture.tick()

    def close(self) -> None:
        """Ends an open capture of several steps."""
        self._look_for_room()
        opened, self._shared = self._shared, None
        if opened is not None:
            self._closed(opened)

    def _opened(self, plan: RolePlan, target: Target) -> _Open | None:
        """A new capture; None if there is no disk space for it."""
        was_told = bool(self._disk.problem)
        if not self._disk.allows(plan.tool, target.folder, _name(target)):
            self.notes.extend([] if was_told else [self._disk.problem])
            return None
        tool = self._tools[plan.tool]
        return _Open(tool, tool.open(target, plan.options), target, plan)

    def _look_for_room(self) -> None:
        """Drops open captures if the disk is nearly full."""
        opened = self._call or self._shared
        if opened is None or self._disk.still_allows(opened.target.folder, _name(opened.target)):
            return
        self._call = self._shared = None
        opened.capture.abort()
        self.notes.append(self._disk.problem)

    def _closed(self, opened: _Open) -> None:
        target = opened.target
        written = opened.capture.stop()
        for one in written:
            if one.path is None:
                continue
            self._disk.learn(opened.plan.tool, one.path)
            self.captures.append(
                CaptureRecord(
                    path=self._relative(one.path),
                    role=target.role,
                    phase=target.phase,
                    step=target.step,
                    rank=target.rank,
                    tool=opened.plan.tool,
                    sampled=one.sampled if target.schedule else _step_ordinals(opened),
                    steps=tuple(opened.steps) or (target.step,),
                )
            )
        if target.schedule is not None and not written:
            self.notes.append(
                f"step {target.step}: {target.phase} was not recorded: "
                f"it had {opened.ticks} ticks, but the schedule needs {target.schedule.formula}"
            )

    def _relative(self, path: Path) -> str:
        path, out = path.resolve(), self._out.resolve()
        return path.relative_to(out).as_posix() if path.is_relative_to(out) else str(path)

    @contextmanager
    def _aborting(self) -> Iterator[None]:
        """Stops open captures without writing them if the step fails or is interrupted."""
        try:
            yield
        except BaseException:
            for opened in (self._call, self._shared):
                if opened is not None:
                    opened.capture.abort()
            self._call = self._shared = None
            raise


class _Open:
    """A running capture."""

    def __init__(self, tool: Tool, capture: Capture, target: Target, plan: RolePlan) -> None:
        self.tool, self.capture, self.target, self.plan = tool, capture, target, plan
        self.steps: list[int] = []
        self.ticks = 0


def _name(target: Target) -> str:
    return f"{target.phase} of step {target.step}" if target.phase else f"step {target.step}"


def _step_ordinals(opened: _Open) -> tuple[int, ...] | None:
    schedule = opened.plan.schedule
    return (opened.target.step - 1,) if schedule is not None and schedule.granularity == "step" else None


def make_profilers(config: Config, out: Path, rank: int, world_size: int, device: str) -> StepProfiler:
    """The profiler of one process.

    Args:
        out: the run directory.
        device: ``cpu``, ``cuda`` or ``npu``, with or without a number.

    Raises:
        UsageError: the configuration is impossible, or asks for a tool that this machine does not have.
    """
    plan = make_plan(config, out, rank, world_size, device.partition(":")[0])
    captured = [plan.end_to_end] if plan.end_to_end is not None else list(plan.roles.values())
    tools = {
        name: find_tool(name, plan.device, config, [role.options for role in captured if role.tool == name])
        for name in {role.tool: None for role in plan.roles.values()}
    }
    return StepProfiler(plan, tools, out)
