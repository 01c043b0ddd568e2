"""Locks on open files. The system releases them when the last process that has the file open ends, however it ends."""

from __future__ import annotations

import errno

try:
    import fcntl
except ImportError:  # not a POSIX system: no locks
    fcntl = None  # type: ignore[assignment]


def try_lock(handle: int) -> bool | None:
    """Locks an open file, without waiting.

    Returns:
        Whether it is locked now; False: another process has the lock; None: the file system has no locks.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        return False if error.errno == errno.EACCES else None  # ENOSYS, ENOLCK, ENOTSUP …, by the file system
    return True
