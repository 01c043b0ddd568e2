"""Lets Ctrl-C, SIGTERM and SIGHUP end the process within about a second, after cleaning up.

Python handles a signal in the main thread, between two of its own instructions. A query of DuckDB takes seconds, and
other threads do not receive the signal. So the signal wakes a second thread, which interrupts all queries until the
process has ended. The main thread then raises ``KeyboardInterrupt``, and incomplete files are removed.

Queries run ``aside``, or where stores are built (``store.cache.build_stores``), but never in the main thread. There
DuckDB would leave its own threads running, and closing the connection would wait for them forever. Also, the exception
could be raised in the middle of the clean-up.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

Result = TypeVar("Result")

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_AGAIN_SECONDS = 0.05
_PATIENCE = 3
"""After this many signals, the process ends at once, without cleaning up."""

_received: list[int] = []


def received() -> int | None:
    """The number of the first signal that was received; None: no signal."""
    return _received[0] if _received else None


def listen() -> None:
    """Starts to handle signals; call it once, in the main thread. Ignored signals (``nohup``) stay ignored."""
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _handle)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    threading.Thread(target=_interrupt_queries, args=(reader,), name="interrupt", daemon=True).start()


def aside(work: Callable[[], Result]) -> Result:
    """Runs work that queries DuckDB in another thread, and waits until it ends, even if interrupted."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, thread_name_prefix="query") as pool:
        return pool.submit(work).result()


def _handle(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    if len(_received) == 1:
        raise KeyboardInterrupt
    if len(_received) >= _PATIENCE:
        os._exit(128 + number)


def _interrupt_queries(reader: socket.socket) -> None:
    """Interrupts all queries, again and again: work in progress may start further queries before it stops."""
    watched = {int(getattr(signal, name)) for name in _SIGNALS if hasattr(signal, name)}
    while not watched & set(reader.recv(64)):
        pass
    while True:
        db = sys.modules.get("rlcompare.db")
        if db is not None:
            db.interrupt_all()
        time.sleep(_AGAIN_SECONDS)
