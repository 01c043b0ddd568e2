"""From one path to the store of the one run that it holds: what ``show``, ``sql`` and ``ingest`` have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rlcompare.cli.progress import progress
from rlcompare.errors import UsageError
from rlcompare.model.run import RunInput
from rlcompare.sources.detect import find_runs


def find_one_run(path: Path, prefer: str, layout: str | None) -> RunInput:
    """The run that a path holds.

    Raises:
        UsageError: it holds several; the message names them.
        InputError: it holds none.
    """
    runs = find_runs(path, prefer=prefer, layout=layout)
    if len(runs) > 1:
        names = ", ".join(run.name for run in runs[:8]) + (" and more" if len(runs) > 8 else "")
        raise UsageError(
            f"{path} holds {len(runs)} runs ({names}): name one, or use --layout ranks if they are ranks of one run"
        )
    return runs[0]


@contextmanager
def open_one_store(
    path: Path,
    *,
    prefer: str,
    layout: str | None,
    cache_dir: Path | None,
    no_cache: bool,
    quiet: bool,
    keep_events: bool,
) -> Iterator[Path]:
    """The store of the run that a path holds, while the context lasts: the file itself, or one in the cache."""
    run = find_one_run(path, prefer, layout)
    from rlcompare.store.cache import cache_directory, open_stores

    directory = None if no_cache else cache_directory(cache_dir)
    with (
        progress("Reading", quiet) as report,
        open_stores([run], directory=directory, keep_events=keep_events, progress=report) as stores,
    ):
        yield stores[0]
