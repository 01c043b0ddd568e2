"""Makes parts on a Ray cluster: one task per batch. The pack of a batch is returned through Ray's object store.

Workers read the captures' files from storage that all nodes share, or fetch them by URL. If a worker or node dies, its
task runs again on another one. If workers keep dying, the captures of the batch are tried one by one.
"""

from __future__ import annotations

import logging
import os
import re
import socket
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rlcompare import __version__, temporary
from rlcompare.errors import InputError, UsageError
from rlcompare.remote import copy
from rlcompare.store.capture_stage import make_batch
from rlcompare.store.engines import Cancelled as IsCancelled
from rlcompare.store.engines import Report
from rlcompare.store.new_file import Cancelled
from rlcompare.store.parts import Batch, BatchResult, Failure, Part

RETRIES = 3
"""How often Ray retries a task after its worker or node died."""

_AHEAD = 2
"""Tasks in flight per core: enough to keep all cores busy, with few packs in memory."""
_POLL_SECONDS = 0.1
_REACH_SECONDS = 10.0
_HOST = re.compile(r"(?:ray://)?(?P<host>[^/]+):(?P<port>\d{1,5})")


@dataclass(frozen=True)
class _Made:
    """The result of a task: results of batches, and the content of their packs in the same order; None: no pack."""

    results: tuple[BatchResult, ...]
    packs: tuple[bytes | None, ...]


class RayEngine:
    """A Ray cluster."""

    def __init__(self, address: str | None = None, urls: Mapping[Path, str] | None = None) -> None:
        """Does not connect yet.

        Args:
            address: address of the cluster, such as ``auto`` or ``ray://host:10001``; None: a new one on this machine.
            urls: by local folder, the URL from which a worker can fetch its files if it cannot see the folder.
        """
        self._address = address
        self._urls = dict(urls or {})
        self._ray: Any = None
        self._is_ours = False

    @property
    def workers(self) -> int:
        """The cores of the cluster."""
        return max(1, int(self._connected().cluster_resources().get("CPU", 1)))

    def make_parts(self, batches: Sequence[Batch], *, report: Report, cancelled: IsCancelled) -> Iterator[BatchResult]:
        """See ``Engine``."""
        ray = self._connected()
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(_make)
        waiting, running = deque(batches), dict[Any, Batch]()
        most = self.workers * _AHEAD
        try:
            while waiting or running:
                while waiting and len(running) < most:
                    batch = waiting.popleft()
                    running[task.remote(batch, self._urls, __version__)] = batch
                done, _ = ray.wait(list(running), timeout=_POLL_SECONDS)
                if cancelled():
                    raise Cancelled
                for reference in done:
                    batch = running.pop(reference)
                    try:
                        made: _Made = ray.get(reference)
                    except ray.exceptions.RayTaskError as error:
                        raise error.cause if isinstance(error.cause, Exception) else error from None
                    except ray.exceptions.RayError as error:
                        if not isinstance(error, _deaths(ray)):
                            raise UsageError(f"Ray cannot run rlcompare on its workers: {_line_of(error)}") from error
                        yield from _blamed(batch, error, waiting, report)
                        continue
                    yield from _written(made, report)
        finally:
            for reference in running:
                ray.cancel(reference, force=True)
            self._disconnect()

    def _connected(self) -> Any:
        """Ray, connected to the cluster.

        Raises:
            UsageError: Ray is not installed, or the cluster cannot be reached.
        """
        if self._ray is not None and self._ray.is_initialized():
            return self._ray
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise UsageError("--engine ray needs Ray: pip install 'rlcompare[ray]'") from error
        self._ray = ray
        if not ray.is_initialized():
            try:
                _reach(self._address)
                ray.init(
                    address=self._address or "local",
                    include_dashboard=None if self._address else False,
                    logging_level=logging.ERROR,
                    log_to_driver=False,
                )
            except (ConnectionError, OSError, RuntimeError, ValueError, TimeoutError) as error:
                raise UsageError(f"--ray-address {self._address}: cannot connect to Ray ({_line_of(error)})") from error
            self._is_ours = True
        return ray

    def _disconnect(self) -> None:
        """Close our own connection, and end a cluster that was started here. A connection of the caller stays open."""
        if self._is_ours:
            self._ray.shutdown()
            self._is_ours = False


def _reach(address: str | None) -> None:
    """Fail at once if nothing listens at the address; Ray itself would try for minutes.

    Raises:
        OSError: the connection is refused, or the host is unknown.
    """
    match = _HOST.fullmatch(address or "")
    if match:
        socket.create_connection((match["host"].strip("[]"), int(match["port"])), timeout=_REACH_SECONDS).close()


def _deaths(ray: Any) -> tuple[type[Exception], ...]:
    """The errors that Ray raises if a worker, its node or its result is lost."""
    errors = ray.exceptions
    return errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError, errors.ObjectLostError


def _line_of(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1][:300]


def _make(batch: Batch, urls: Mapping[Path, str], version: str) -> _Made:
    """The task: read a batch on this node."""
    if version != __version__:
        raise UsageError(
            f"the Ray worker on {socket.gethostname()} has rlcompare {__version__}, and this is {version}: "
            "install the same version on all nodes"
        )
    with temporary.folder() as folder:
        scratch = Path(folder)
        local = replace(_localised(batch, urls, scratch / "input"), target=scratch / "packs" / batch.target.name)
        results, packs = [], []
        for result in make_batch(local, threads=1, done=lambda part: None):
            pack = result.batch.target
            packs.append(pack.read_bytes() if pack.exists() else None)
            pack.unlink(missing_ok=True)
            results.append(_as_asked(result, batch))
        return _Made(tuple(results), tuple(packs))


def _localised(batch: Batch, urls: Mapping[Path, str], scratch: Path) -> Batch:
    """The batch with files that are on this node, fetched if necessary.

    Raises:
        InputError: a file is not on this node, and there is no URL to fetch it from.
    """
    return replace(batch, parts=tuple(_localised_part(part, urls, scratch) for part in batch.parts))


def _localised_part(part: Part, urls: Mapping[Path, str], scratch: Path) -> Part:
    files = part.capture.files
    absent = [path for path in files.values() if not path.exists()]
    if not absent:
        return part
    root = next((root for root in urls if all(path.is_relative_to(root) for path in files.values())), None)
    if root is None:
        problem = f"the Ray worker on {socket.gethostname()} does not see it"
        remedy = "Put it on storage that all nodes share, or pass it as a URL"
        raise InputError(absent[0], problem, remedy)
    folder = scratch / str(list(urls).index(root))  # files of both sides may have the same path below their roots
    moved = {}
    for name, path in files.items():
        moved[name] = folder / path.relative_to(root) if path != root else folder / path.name
        if not moved[name].exists():
            url = urls[root] if path == root else f"{urls[root]}/{path.relative_to(root).as_posix()}"
            copy(url, moved[name])
    place = part.capture.path
    capture = replace(part.capture, files=moved, path=folder / place.relative_to(root) if place != root else folder)
    return replace(part, capture=capture)


def _as_asked(result: BatchResult, batch: Batch) -> BatchResult:
    """A result with the caller's files and folders instead of the worker's."""
    parts = {part.number: part for part in batch.parts}
    target = batch.target.with_name(result.batch.target.name)
    asked = replace(result.batch, parts=tuple(parts[part.number] for part in result.batch.parts), target=target)
    failures = tuple(
        replace(failure, part=parts[failure.part.number], path=_path_asked(failure, parts[failure.part.number]))
        for failure in result.failures
    )
    return BatchResult(asked, failures, result.lacking)


def _path_asked(failure: Failure, part: Part) -> Path:
    """The user's file that a failure is about; the worker may have read a copy of it."""
    copies = failure.part.capture
    for name, path in copies.files.items():
        if failure.path == path:
            return part.capture.files[name]
    return part.capture.path if failure.path == copies.path else failure.path


def _written(made: _Made, report: Report) -> Iterator[BatchResult]:
    for result, pack in zip(made.results, made.packs, strict=True):
        if pack is not None:
            _write(result.batch.target, pack)
        for part in result.batch.parts:
            report(part.capture.path.name)
        yield result


def _write(target: Path, content: bytes) -> None:
    """Write a pack atomically."""
    with temporary.replacing(target) as partial:
        partial.write_bytes(content)


def _blamed(batch: Batch, error: Exception, waiting: deque[Batch], report: Report) -> Iterator[BatchResult]:
    """Workers kept dying on a batch: its captures are read one by one, to find the one that kills them."""
    if len(batch.parts) > 1:
        for part in batch.parts:
            name = f"{batch.target.stem}.{part.number}{batch.target.suffix}"
            waiting.append(replace(batch, parts=(part,), target=batch.target.with_name(name)))
        return
    (part,) = batch.parts
    report(part.capture.path.name)
    problem = f"Ray's workers died over it {RETRIES + 1} times ({type(error).__name__})"
    failure = Failure(part, part.capture.path, problem, "See Ray's logs for the reason", may_pass=True)
    yield BatchResult(batch, (failure,))
