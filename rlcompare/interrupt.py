"""Lets Ctrl-C, SIGTERM and SIGHUP end the process within about a second, with everything cleaned up on the way out.

Python handles a signal in the main thread, between two of its own instructions; a query of DuckDB takes seconds, and
other threads never hear of it. So a second thread is woken by the signal itself, and interrupts all queries until the
process has ended. The main thread then meets a ``KeyboardInterrupt``, and what is half-written is removed on the way
out. Queries run ``aside``, or where stores are built (``store.cache.build_stores``), and never in the main thread:
there DuckDB would leave its own threads running (closing the connection then waits for them for ever), and the
exception could come in the middle of the clean-up.
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
"""So many signals end the process at once, whatever is left behind."""

_received: list[int] = []


def received() -> int | None:
    """The number of the first signal that came; None: none did."""
    return _received[0] if _received else None


def listen() -> None:
    """Begins to listen; call it once, in the main thread. Signals that are ignored (``nohup``) stay so."""
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _handle)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    threading.Thread(target=_interrupt_queries, args=(reader,), name="interrupt", daemon=True).start()


def aside(work: Callable[[], Result]) -> Result:
    """Does work that queries DuckDB in another thread, and waits for its end, also when interrupted."""
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
    """Also those that begin after the signal: what is under way may need several before it gives up."""
    watched = {int(getattr(signal, name)) for name in _SIGNALS if hasattr(signal, name)}
    while not watched & set(reader.recv(64)):
        pass
    while True:
        db = sys.modules.get("rlcompare.db")
        if db is not None:
            db.interrupt_all()
        time.sleep(_AGAIN_SECONDS)
