"""Finds the one run that a path holds, and opens its store; shared by ``show``, ``sql`` and ``ingest``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rlcompare.app.engine import engine_of
from rlcompare.app.progress import progress
from rlcompare.app.remote import mirrored
from rlcompare.app.selection import select_runs
from rlcompare.app.stores import shared_cache, stores_folder, with_sound
from rlcompare.db import reading
from rlcompare.errors import UsageError
from rlcompare.model.run import RunInput
from rlcompare.sources.verl.names import absolute

Result = TypeVar("Result")


def find_one_run(
    path: Path,
    prefer: str,
    layout: str | None,
    *,
    steps: tuple[int, ...] | None = None,
    ranks: tuple[int, ...] | None = None,
) -> RunInput:
    """The run that a path holds, reduced to the chosen steps and ranks.

    Raises:
        UsageError: the path holds several runs, which the message names; or a step or rank does not exist.
        InputError: the path holds no run.
    """
    runs = select_runs(path, prefer=prefer, layout=layout, ranks=None, steps=None)
    if len(runs) > 1:
        names = ", ".join(_below(path, run) for run in runs[:8]) + (" and more" if len(runs) > 8 else "")
        profiles = all(run.captures and not run.is_store for run in runs)
        hint = ", or use --layout ranks if they are ranks of one run" if profiles else ""
        raise UsageError(
            f"{path} contains {len(runs)} runs ({names}): choose one, such as {path / _below(path, runs[0])}{hint}"
        )
    if runs[0].is_store and (steps is not None or ranks is not None):
        raise UsageError(
            f"{path} is a store, whose steps and ranks were fixed when it was created: remove --step and --rank"
        )
    (run,) = select_runs(path, prefer=prefer, layout=layout, ranks=ranks, steps=steps)
    return run


def _below(path: Path, run: RunInput) -> str:
    """The rest of the path that identifies the run: mostly its name, which leaves out what all runs have in common."""
    if "#" in run.name or run.is_store or os.path.lexists(path / run.name):
        return os.path.relpath(run.captures[0].path, path) if run.is_store else run.name
    home = os.path.commonpath([absolute(place) for place in run.paths])
    return os.path.relpath(home, absolute(path))


def read_one_store(
    path: Path,
    read: Callable[[Path], Result],
    *,
    prefer: str,
    layout: str | None,
    cache_dir: Path | None,
    no_cache: bool,
    quiet: bool,
    keep_events: bool,
    steps: tuple[int, ...] | None = None,
    ranks: tuple[int, ...] | None = None,
    engine: str = "local",
    ray_address: str | None = None,
    baselines: str | None = None,
) -> Result:
    """The result of ``read`` for the store of the run in a path, URL or baseline: the file itself, or one in the cache.

    Raises:
        UsageError: the path holds several runs, or a step or rank does not exist.
        InputError: the path holds no run, or cannot be read.
    """
    from rlcompare.store.cache import open_stores

    with mirrored([path], quiet, baselines) as mirrors:
        local = mirrors.local(path)
        run = find_one_run(local, prefer, layout, steps=steps, ranks=ranks)
        directory = stores_folder(cache_dir, no_cache, [local])
        chosen = engine_of(engine, ray_address, mirrors)
        shared = shared_cache(cache_dir, no_cache)

        def read_it() -> Result:
            with (
                progress("Reading", quiet) as report,
                open_stores(
                    [run],
                    directory=directory,
                    keep_events=keep_events,
                    progress=report,
                    engine=chosen,
                    shared=shared,
                ) as (store,),
                reading(store),
            ):
                return read(store)

        return with_sound([run], directory, read_it, shared)
