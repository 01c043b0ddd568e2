"""One active probe in one process: follows the calls of its scope, counts ticks, and drives the profiler.

A process has one profiler at a time, and a profiler belongs to the thread that started it. If calls of the scope
overlap, in one thread or several, the first one has the session until it ends. Ticks count on its thread only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from rlcompare.collect.probe.conflict import other_profiler
from rlcompare.collect.probe.presets import Arguments, Variant
from rlcompare.collect.probe.request import Request
from rlcompare.collect.probe.say import say, say_once
from rlcompare.collect.probe.settings import rank_here, schedule_of, start_capture, target_of
from rlcompare.collect.profiler.record import Capture
from rlcompare.errors import UsageError

Given = TypeVar("Given")


class _Busy(threading.local):
    """Whether a hook of a probe runs on this thread."""

    now = False


_busy = _Busy()
_forgotten: list[Any] = []
"""Captures of the process that this one was forked from. They are kept, since deleting them would stop some tools."""


class Session:
    """The state of a probe.

    Attributes:
        is_over: nothing more will be recorded.
        is_forked: the process was forked from the one in which the probe was attached.
        attached: the points at which it is attached.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.is_over = self.is_forked = False
        self.attached: set[str] = set()
        self._lock = threading.Lock()
        self._calls = 0
        self._thread: int | None = None
        self._call: _Call | None = None

    @property
    def was_called(self) -> bool:
        """Whether the scope was called in this process."""
        return self._calls > 0

    def guarded(self, hook: Callable[..., Given], otherwise: Given) -> Callable[..., Given]:
        """Makes a hook safe for use in another program: an error is reported and ends this probe, but is not raised.

        While it runs, calls of scopes and ticks on this thread are the probe's or its tool's own, and are not entered:
        a tick may be any function, and one that a hook calls would recur for ever, or wait for its own lock.
        """

        def call(*arguments: Any) -> Given:
            was_busy, _busy.now = _busy.now, True
            try:
                return hook(*arguments)
            except Exception as error:
                say_once(self.request, f"stopped recording: {type(error).__name__}: {error}")
                dropped, self._call, self.is_over = self._call, None, True
                if dropped is not None:
                    dropped.drop()
                return otherwise
            finally:
                _busy.now = was_busy

        return call

    def entering(self, hook: Callable[..., bool]) -> Callable[..., bool]:
        """A hook that begins a call of the scope or the tick; False for the calls of probes themselves."""
        guarded = self.guarded(hook, False)
        return lambda *arguments: not _busy.now and guarded(*arguments)

    # The scope

    def enter_scope(self, variant: Variant, arguments: Arguments) -> bool:
        """A call of the scope begins. Returns False if it does not belong to this probe, or another call is active."""
        if self.is_over or not self._judged(variant.applies, arguments):
            return False
        if not self._take():
            return False
        self._calls += 1
        if self._calls in self.request.steps and self._is_on_this_rank():
            self._call = _Call(self.request, self._calls, _caller(arguments))
            if variant.edge == "end":
                self._call.open()
        return True

    def leave_scope(self, error: BaseException | None) -> None:
        """The call has ended."""
        call, self._call = self._call, None
        if call is not None:
            call.close(error)
        self.is_over = self.is_over or self._calls >= max(self.request.steps)
        self._thread = None

    def take_back_scope(self) -> None:
        """Undoes ``enter_scope``: the call returned a coroutine or generator, which calls again when it starts."""
        if self._call is not None:
            self._call.drop()
        self._call, self._thread = None, None
        self._calls -= 1

    # The tick

    def enter_tick(self, variant: Variant, arguments: Arguments) -> bool:
        """A call of the tick begins. Returns False if it does not count."""
        if self.is_over or (variant.scope is None and not self._begun_by_tick(variant, arguments)):
            return False
        call = self._call
        if call is None or call.is_closed:
            return False
        if self._thread != threading.get_ident():
            call.elsewhere += 1
            return False
        if call.in_tick:  # a recursive call, or a call of the overridden method
            return False
        if not self._judged(variant.counts, arguments):
            call.pass_by()
            return False
        call.begin_tick(variant.edge, _caller(arguments))
        return True

    def leave_tick(self, error: BaseException | None) -> None:
        """The call has ended. A failed call does not count."""
        call = self._call
        if call is not None:
            call.end_tick(error)
            self._end_with_process_scope(call)

    def take_back_tick(self) -> None:
        """See ``take_back_scope``."""
        if self._call is not None:
            self._call.take_back_tick()

    def _begun_by_tick(self, variant: Variant, arguments: Arguments) -> bool:
        """If the process is the scope: starts the scope at the first tick that counts."""
        if self._call is None:
            if not self._judged(variant.counts, arguments):
                return False
            if not self._take():
                return False
            self._calls = 1
            self.is_over = not self._is_on_this_rank()
            if not self.is_over:
                self._call = _Call(self.request, 1, None)
        return not self.is_over

    def _end_with_process_scope(self, call: _Call) -> None:
        if call.is_closed and all(variant.scope is None for variant in self.request.probe.variants):
            self.is_over, self._call = True, None

    # The process

    def end(self) -> None:
        """The process ends: writes what was recorded so far."""
        call, self._call, self.is_over = self._call, None, True
        if call is not None:
            call.close(None)
        if 0 < self._calls < min(self.request.steps) and self._is_on_this_rank():
            times = "once" if self._calls == 1 else f"{self._calls} times"
            say(self.request, f"recorded nothing: the scope was called {times}, but steps={sorted(self.request.steps)}")

    def forget(self) -> None:
        """Called in a process forked from the one with the active calls: drops them."""
        self._lock = threading.Lock()
        if self._call is not None:
            _forgotten.append(self._call)
        self._call, self._thread, self._calls, self.is_forked = None, None, 0, True

    def _take(self) -> bool:
        """Gives the session to this thread. Returns False if a call has it already."""
        with self._lock:
            if self._thread is not None:
                return False
            self._thread = threading.get_ident()
            return True

    def _is_on_this_rank(self) -> bool:
        if self.request.ranks is None:
            return True
        rank, size = rank_here()
        if rank == 0 and min(self.request.ranks) >= size:
            there = "rank 0" if size == 1 else f"ranks 0 to {size - 1}"
            say_once(self.request, f"records nothing: ranks={sorted(self.request.ranks)}, but there is only {there}")
        return rank in self.request.ranks

    def _judged(self, condition: Callable[[Arguments], bool], arguments: Arguments) -> bool:
        """Evaluates a condition, which must not fail in another program."""
        try:
            return condition(arguments)
        except UsageError as error:
            say_once(self.request, f"records nothing: {error}")
        except Exception as error:
            say_once(self.request, f"cannot classify a call ({type(error).__name__}: {error}) and skips it")
        return False


def _caller(arguments: Arguments) -> object:
    return arguments[0][0] if arguments[0] else None


class _Call:
    """One call of the scope to record."""

    def __init__(self, request: Request, number: int, caller: object) -> None:
        self.in_tick = self.is_closed = False
        self.elsewhere = 0
        self._request = request
        self._schedule = schedule_of(request)
        self._number = number
        self._capture: Capture | None = None
        self._ticks = self._between = 0
        self._callers: tuple[object, object] = (caller, None)
        """The objects whose methods scope and tick are."""
        self._until_next = False
        """Whether a tick is active that lasts until the next one begins."""
        self._facts: dict[str, object] = {"probe": request.probe.name}

    def begin_tick(self, edge: str, caller: object) -> None:
        self._callers = (self._callers[0], caller)
        if self._ticks == 0 and not self._until_next:
            if self._capture is None:
                self.open()
        elif self._until_next:
            self._count()
        self.in_tick = True
        self._until_next = edge == "start"

    def end_tick(self, error: BaseException | None) -> None:
        self.in_tick = False
        if error is None and not self._until_next:
            self._count()

    def take_back_tick(self) -> None:
        self.in_tick = self._until_next = False

    def pass_by(self) -> None:
        """A call of the tick that does not count, such as a prefill. If it is recorded anyway, the profile says so."""
        if self._capture is not None and self._schedule.records(self._ticks):
            self._between += 1
            self._facts["between"] = self._between

    def close(self, error: BaseException | None) -> None:
        """The call of the scope has ended."""
        if error is not None:
            self._abort(f"stopped recording: its call failed with {type(error).__name__}")
            return
        if self._until_next:
            self._until_next = False
            self._count()
        if self.is_closed:
            return
        if self._capture is not None:
            self._stop()
        elif self._ticks == 0:
            self._say_none()

    def open(self) -> None:
        """Starts the profiler: the first tick begins."""
        if self._is_taken():
            return
        try:
            target = target_of(self._request, self._number, self._facts)
            self._capture, notes = start_capture(self._request, target)
        except Exception as error:
            self._abort(f"records nothing: {error}")
            return
        for note in notes:
            say(self._request, note)

    def _is_taken(self) -> bool:
        taken = other_profiler(self._callers, self._request.tool)
        if taken:
            self._abort(f"records nothing: {taken}")
        return taken is not None

    def _count(self) -> None:
        """A tick has ended."""
        ended, self._ticks = self._ticks, self._ticks + 1
        if self.is_closed or self._capture is None:
            return
        if self._schedule.works(self._ticks) and not self._schedule.works(ended) and self._is_taken():
            return
        try:
            self._capture.tick()
        except Exception as error:
            self._abort(f"stopped recording: {error}")
            return
        if self._schedule.repeat and self._ticks >= self._schedule.needs:
            self._stop()

    def drop(self) -> None:
        """Discards the capture."""
        capture, self._capture, self.is_closed = self._capture, None, True
        if capture is not None:
            with suppress(Exception):
                capture.abort()

    def _stop(self) -> None:
        capture, self._capture, self.is_closed = self._capture, None, True
        assert capture is not None
        try:
            written = capture.stop()
        except Exception as error:
            say(self._request, f"the recording is lost: {error}")
            return
        for one in written:
            ticks = ", ".join(map(str, one.sampled or ()))
            say(self._request, f"recorded {self._request.probe.granularity} {ticks}: {one.path or 'in the tool'}")
        if not written:
            self._say_none()

    def _say_none(self) -> None:
        where = f" and {self.elsewhere} in threads other than the scope's" if self.elsewhere else ""
        say(
            self._request,
            f"recorded nothing: call {self._number} had {self._ticks} ticks{where}, but the schedule needs"
            f" {self._schedule.formula}",
        )

    def _abort(self, message: str) -> None:
        was_closed = self.is_closed
        self.drop()
        if not was_closed:
            say(self._request, message)
