"""Makes a Python on Linux refuse what one on Windows would, in all processes that have this folder in PYTHONPATH.

Modules and functions of POSIX are absent. Names that Windows does not allow cannot be opened for writing, a file that
is open in this process cannot be renamed or removed, and ``os.rename`` replaces no file. Links cannot be made. What
DuckDB itself creates is not watched, but the files that it holds open are.
"""

import errno
import os
import re
import signal
import subprocess  # keeps what it needs of os
import sys
from pathlib import PurePath

MODULES = ("fcntl", "grp", "posix_ipc", "pty", "pwd", "readline", "resource", "spwd", "syslog", "termios", "tty")
FUNCTIONS = (
    "chown", "chroot", "fchdir", "fchmod", "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getgroups",
    "getloadavg", "getpgid", "getpgrp", "getsid", "getuid", "killpg", "lchown", "mkfifo", "mknod", "nice",
    "posix_fadvise", "posix_fallocate", "pread", "preadv", "pwrite", "pwritev", "register_at_fork",
    "sched_getaffinity", "sched_setaffinity", "sendfile", "setpgid", "setsid", "statvfs", "fstatvfs", "sync",
    "sysconf", "getxattr", "listxattr", "setxattr", "memfd_create",
    "O_CLOEXEC", "O_DIRECTORY", "O_NOATIME", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH", "O_SYNC", "O_TMPFILE",
)  # fmt: skip
SIGNALS = ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "SIGUSR2", "pthread_sigmask", "setitimer")

_FORBIDDEN = re.compile(r'[<>:"|?*\\\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_rename = os.rename


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event == "os.mkdir" or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING):
        _check_name(arguments[0])
    elif event in ("os.remove", "os.rename"):
        _check_closed(arguments[0])
        if event == "os.rename":
            _check_name(arguments[1])
            _check_closed(arguments[1])
    elif event == "os.symlink":
        raise OSError(errno.EPERM, "a required privilege is not held by the client")


def _check_name(path: object) -> None:
    if isinstance(path, (str, bytes, os.PathLike)):
        name = PurePath(os.fsdecode(path)).name
        if _FORBIDDEN.search(name):
            raise OSError(errno.EINVAL, "not a file name on Windows", name)


def _check_closed(path: object) -> None:
    if isinstance(path, (str, bytes, os.PathLike)):
        real = os.path.realpath(os.fsdecode(path))
        for handle in os.listdir("/proc/self/fd"):
            try:
                opened = os.readlink(f"/proc/self/fd/{handle}")
            except OSError:
                continue
            if opened == real:
                raise PermissionError(errno.EACCES, "it is open in this process", real)


def _rename_to_new(src: str, dst: str, **options: int) -> None:
    if os.path.exists(dst):
        raise FileExistsError(errno.EEXIST, "cannot create a file when that file already exists", dst)
    _rename(src, dst, **options)


for _name in MODULES:
    sys.modules[_name] = None  # type: ignore[assignment]  # importing it raises ModuleNotFoundError
for _name in FUNCTIONS:
    if hasattr(os, _name):
        delattr(os, _name)
for _name in SIGNALS:
    if hasattr(signal, _name) and hasattr(subprocess, "run"):
        delattr(signal, _name)
os.rename = _rename_to_new  # type: ignore[assignment]
sys.addaudithook(_refuse)
