"""Runs as a script under the interpreter of Ray: submits a job, copies its log, and ends as the job does.

Standard output is the job's log, each line once, however often the connection is lost. What ``ray job submit`` prints
goes to standard error. A signal stops the job; a second one too. The exit code is that of the job's command; 143: Ray
stopped the job. Does not depend on rlcompare.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from types import FrameType
from typing import Any

_ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
_STOPPED = 143
_PAUSE = 2.0
_PATIENCE = 600.0
"""Seconds for which the cluster may not answer."""
_TELLING = 300


class Followed:
    """A submitted job.

    Attributes:
        is_stopped: whether a signal has asked to stop it.
    """

    def __init__(self, question: dict[str, Any]) -> None:
        self._question, self._identity = question, question["identity"]
        self._client: Any = None
        self._shown = 0
        self.is_stopped = False

    def submit(self) -> int:
        """Submits the job; returns the exit code of that."""
        return subprocess.run(self._question["submit"], stdout=sys.stderr, check=False).returncode

    def connect(self) -> None:
        """Connects to the cluster. The client reads RAY_ADDRESS and the like, as ``ray job submit`` does."""
        if self._client is not None:
            return
        from ray.job_submission import JobSubmissionClient

        headers = self._question["headers"] or os.environ.get("RAY_JOB_HEADERS")
        verify = {"true": True, "false": False}.get(str(self._question["verify"] or True).lower())
        self._client = JobSubmissionClient(
            self._question["address"],
            headers=json.loads(headers) if headers else None,
            verify=self._question["verify"] if verify is None else verify,
        )
        if self.is_stopped:
            self._stop()

    def stop(self, number: int, frame: FrameType | None) -> None:
        """Handles a signal."""
        self.is_stopped = True
        if self._client is not None:
            self._stop()

    def _stop(self) -> None:
        try:
            self._client.stop_job(self._identity)
        except Exception as error:  # the cluster may be gone, or the job was never submitted
            _tell(f"the job {self._identity} could not be stopped: {error}")

    def follow(self) -> int:
        """Copies the log until the job has ended; returns its exit code."""
        since = time.monotonic()
        while True:
            try:
                self.connect()
                asyncio.run(self._copy())
                found = self._client.get_job_info(self._identity)
                since = time.monotonic()
                if str(getattr(found.status, "value", found.status)) in _ENDED:
                    self._show(self._client.get_job_logs(self._identity))
                    return self._ended(found)
            except ImportError as error:
                _tell(f"{sys.executable} has no Ray that can follow jobs ({error}): pip install 'ray[default]'")
                return 1
            except Exception as error:  # Ray, aiohttp and requests raise many kinds of errors
                if time.monotonic() - since > _PATIENCE:
                    _tell(f"the cluster has not answered for {_PATIENCE:.0f} s ({error}): the job may still run")
                    return 1
            time.sleep(_PAUSE)

    async def _copy(self) -> None:
        seen = 0
        async for text in self._client.tail_job_logs(self._identity):
            new = max(self._shown - seen, 0)  # after a lost connection, the log comes from its start
            seen += len(text)
            self._write(text[new:])

    def _show(self, log: str) -> None:
        self._write(log[self._shown :])

    def _write(self, text: str) -> None:
        self._shown += len(text)
        sys.stdout.write(text)
        sys.stdout.flush()

    def _ended(self, found: Any) -> int:
        status = str(getattr(found.status, "value", found.status))
        if status == "SUCCEEDED":
            return 0
        lines = [line.strip() for line in str(found.message or "").splitlines() if line.strip()]
        if status == "STOPPED":
            _tell(f"the job {self._identity} was stopped")
            return _STOPPED
        reason = lines[0].partition(", last available logs")[0] if lines else "Ray gives no reason"
        _tell(f"{reason[:_TELLING]}: {lines[-1][:_TELLING]}" if len(lines) > 1 else reason[:_TELLING])
        code = getattr(found, "driver_exit_code", None)
        return code if isinstance(code, int) and 0 < code < 256 else 1


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def main(question: dict[str, Any]) -> int:
    job = Followed(question)
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), job.stop)
    code = job.submit()
    if code and job.is_stopped:  # the signal reached the submission too, maybe after the job had begun
        with contextlib.suppress(Exception):
            job.connect()
    if code:
        return 128 - code if code < 0 else code
    return job.follow()


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
