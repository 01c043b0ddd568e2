"""Shows progress on standard error for operations that take longer than a second.

On a terminal it is a bar. Elsewhere it is one plain line, and only after two seconds, so that logs stay clean.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

Report = Callable[[int, int, str], None]
"""Takes the number of items done, their total, and the current item; may be called from several threads."""

BAR_AFTER_SECONDS = 1.0
LINE_AFTER_SECONDS = 2.0


@contextmanager
def progress(what: str, quiet: bool = False, stream: TextIO | None = None) -> Iterator[Report]:
    """Shows the progress of an operation, once it has taken long enough.

    Args:
        what: a verb in its -ing form, such as ``"Reading"``.
        quiet: show nothing.
        stream: where to write; default: standard error.
    """
    display = _Display(what, stream or sys.stderr)
    timer = threading.Timer(display.patience, display.show)
    timer.daemon = True
    if not quiet:
        timer.start()
    try:
        yield display.update
    finally:
        timer.cancel()
        display.close()


class _Display:
    """A bar or a line that appears when a timer calls ``show``."""

    def __init__(self, what: str, stream: TextIO) -> None:
        self.terminal = stream.isatty()
        self.patience = BAR_AFTER_SECONDS if self.terminal else LINE_AFTER_SECONDS
        self._what = what
        self._stream = stream
        self._state = (0, 0, "")
        self._bar: Bar | None = None
        self._closed = False
        self._lock = threading.Lock()

    def update(self, done: int, total: int, now: str) -> None:
        with self._lock:
            self._state = (done, total, now)
            self._refresh()

    def show(self) -> None:
        with self._lock:
            if self._closed:
                return
            _, total, now = self._state
            if self.terminal:
                self._start_bar()
            else:
                subject = f"{total} captures" if total > 1 else _shown(now) or "the input"
                self._stream.write(f"rlcompare: {self._what.lower()} {subject} ...\n")
                self._stream.flush()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._bar:
                self._bar.stop()

    def _start_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(file=self._stream, stderr=True),
            transient=True,
        )
        self._bar.add_task(self._what, total=None)
        self._refresh()
        self._bar.start()

    def _refresh(self) -> None:
        if self._bar:
            done, total, now = self._state
            description = f"{self._what} {_shown(now)}"
            self._bar.update(self._bar.task_ids[0], completed=done, total=total or None, description=description)


def _shown(name: str) -> str:
    from rlcompare.text import safe_text

    return safe_text(name, 60)
