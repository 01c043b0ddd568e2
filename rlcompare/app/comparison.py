"""Compares two sides, given as the user named them, into a ``Diff``; shared by ``diff`` and ``gate``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from rlcompare.app import messages
from rlcompare.app.arguments import SidePaths, parse_side, split_commas
from rlcompare.app.engine import engine_of
from rlcompare.app.progress import progress
from rlcompare.app.remote import Mirrors, mirrored
from rlcompare.app.selection import select_runs
from rlcompare.app.stores import blamed, real_path, refuse_within, shared_cache, stores_folder, with_sound
from rlcompare.app.trace import TraceSide, make_trace
from rlcompare.errors import UsageError
from rlcompare.interrupt import aside
from rlcompare.model.run import RunInput
from rlcompare.secret import redacted
from rlcompare.sources.beside import joined_engines

if TYPE_CHECKING:
    from rlcompare.compare import RunStore
    from rlcompare.model.diff import Diff

Result = TypeVar("Result")

_OTHER_KEYS = frozenset(
    {"cann", "torch", "torch_npu", "mindspore", "chip", "world_size", "tool", "executor", "profiler.level"}
)
"""Keys that may be declared even if a profile does not contain them."""

_MOST_WARNINGS = 5
"""Of unknown keys: a list of numbers may be given by mistake."""


@dataclass(frozen=True)
class Request:
    """The options of a comparison, as click gives them."""

    baseline: tuple[str, ...]
    new: tuple[str, ...]
    steps: tuple[int, ...] | None
    base_steps: tuple[int, ...] | None
    new_steps: tuple[int, ...] | None
    ranks: tuple[int, ...] | None
    layout: str | None
    prefer: str
    varied: tuple[str, ...]
    cache_dir: Path | None
    no_cache: bool
    quiet: bool
    engine: str = "local"
    ray_address: str | None = None
    baselines: str | None = None


def compare_sides(request: Request, output: Path | None, varied: Sequence[str] = (), trace: Path | None = None) -> Diff:
    """Finds, reads and compares both sides.

    Args:
        request: the options.
        output: the folder for the report; checked before anything is read.
        varied: keys that differ on purpose, in addition to those of the request.
        trace: where to write a trace of both sides (``app.trace``).

    Raises:
        UsageError: a side is missing, or a step, a rank or the output folder is invalid.
        InputError: a side cannot be read.
    """
    steps = _steps(request)
    baseline, new = _sides(request)
    if output is not None:  # before anything is downloaded
        _check_output(output, (*baseline.paths, *new.paths))
    with mirrored((*baseline.paths, *new.paths), request.quiet, request.baselines) as mirrors:
        named = baseline.paths != new.paths
        sides = _local(baseline, mirrors, named), _local(new, mirrors, named)
        return _compare(request, steps, sides, mirrors, varied, trace, with_report=output is not None)


def _local(side: SidePaths, mirrors: Mirrors, named: bool) -> SidePaths:
    """A side with local paths. ``named``: whether the name of a baseline is its label."""
    name = mirrors.names.get(side.paths[0], "")
    label = name + _more(side) if named and name.startswith("@") else None
    return SidePaths(side.label or label, tuple(mirrors.local(path) for path in side.paths))


def _compare(
    request: Request,
    steps: tuple[tuple[int, ...] | None, tuple[int, ...] | None],
    sides: tuple[SidePaths, SidePaths],
    mirrors: Mirrors,
    varied: Sequence[str],
    trace: Path | None,
    *,
    with_report: bool,
) -> Diff:
    base_steps, new_steps = steps
    baseline, new = sides
    paths = (*baseline.paths, *new.paths)
    directory = stores_folder(request.cache_dir, request.no_cache, paths)
    shared = shared_cache(request.cache_dir, request.no_cache)
    engine = engine_of(request.engine, request.ray_address, mirrors)
    baseline_runs, new_runs = (
        _find(side, request.prefer, request.layout, request.ranks, steps_of_side, option)
        for side, steps_of_side, option in zip(sides, steps, _step_options(request), strict=True)
    )
    labels = [redacted(label) for label in _labels(baseline, new)]

    from rlcompare.compare import CompareOptions, SideInput, compare_runs
    from rlcompare.store.cache import open_stores

    runs = baseline_runs + new_runs
    middle = len(baseline_runs)
    options = CompareOptions(
        base_steps=base_steps,
        new_steps=new_steps,
        ranks=request.ranks,
        varied=tuple(dict.fromkeys((*split_commas(request.varied), *varied))),
    )

    def compare() -> Diff:
        with (
            progress("Reading", request.quiet) as report,
            open_stores(runs, directory=directory, progress=report, engine=engine, shared=shared) as stores,
        ):
            inputs = (
                SideInput(labels[0], run_stores(baseline_runs, stores[:middle], mirrors)),
                SideInput(labels[1], run_stores(new_runs, stores[middle:], mirrors)),
            )
            with blamed([store for run, store in zip(runs, stores, strict=True) if run.is_store]):
                diff = aside(lambda: compare_runs(*inputs, options))
                if trace is not None:
                    made = TraceSide(inputs[0], baseline_runs), TraceSide(inputs[1], new_runs)
                    aside(lambda: make_trace(diff, made, trace, directory))
                return diff

    if with_report:
        Thread(target=_load_report).start()
    return with_sound(runs, directory, compare, shared)


def _load_report() -> None:
    """Imports what writes the report, while Python would wait for DuckDB: a tenth of a diff of small profiles."""
    with suppress(ImportError):  # told where the report is written
        import rlcompare.report.write  # noqa: F401


def read_runs(
    paths: Sequence[Path],
    read: Callable[[tuple[RunStore, ...]], Result],
    *,
    prefer: str,
    layout: str | None,
    cache_dir: Path | None,
    no_cache: bool,
    quiet: bool,
    engine: str = "local",
    ray_address: str | None = None,
    baselines: str | None = None,
) -> Result:
    """The result of ``read`` for the stores of all runs that paths, URLs and baselines hold.

    Raises:
        UsageError: there is no such baseline.
        InputError: a path holds no run, or cannot be read.
    """
    from rlcompare.store.cache import open_stores

    with mirrored(paths, quiet, baselines) as mirrors:
        local = tuple(map(mirrors.local, paths))
        runs = _find(SidePaths(None, local), prefer, layout)
        directory = stores_folder(cache_dir, no_cache, local)
        chosen = engine_of(engine, ray_address, mirrors)
        shared = shared_cache(cache_dir, no_cache)

        def read_it() -> Result:
            with (
                progress("Reading", quiet) as report,
                open_stores(runs, directory=directory, progress=report, engine=chosen, shared=shared) as stores,
            ):
                return aside(lambda: read(run_stores(runs, stores, mirrors)))

        return with_sound(runs, directory, read_it, shared)


def _steps(request: Request) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    if request.steps is not None and (request.base_steps is not None or request.new_steps is not None):
        raise UsageError("--step applies to both sides: use either --step, or --base-step and --new-step")
    return request.base_steps or request.steps, request.new_steps or request.steps


def _step_options(request: Request) -> tuple[str, str]:
    """The options with which the steps of the sides were chosen."""
    return (
        "--step" if request.base_steps is None else "--base-step",
        "--step" if request.new_steps is None else "--new-step",
    )


def _sides(request: Request) -> tuple[SidePaths, SidePaths]:
    missing = [name for name, given in (("-d NEW", request.new), ("-bp BASELINE", request.baseline)) if not given]
    if missing:
        raise UsageError(f"{' and '.join(missing)} must be given: two sides are compared")
    return parse_side("-bp", request.baseline), parse_side("-d", request.new)


def _check_output(output: Path, inputs: Sequence[Path]) -> None:
    """Refuses output inside an input folder, or over files that are not ours."""
    from rlcompare.report.folder import check_folder

    refuse_within(output, inputs, "the report", "-o")
    with suppress(OSError):  # the folder cannot be read: writing the report will report it
        check_folder(output)


def _find(
    side: SidePaths,
    prefer: str,
    layout: str | None,
    ranks: tuple[int, ...] | None = None,
    steps: tuple[int, ...] | None = None,
    option: str = "--step",
) -> list[RunInput]:
    """The runs of a side. A run that several paths contain is used once, because it is not a repetition."""
    runs: dict[object, RunInput] = {}
    for path in side.paths:
        for run in select_runs(path, prefer=prefer, layout=layout, ranks=ranks, steps=steps, option=option):
            files = frozenset(real_path(file) for capture in run.captures for file in capture.files.values())
            key = files or (*map(real_path, run.paths), run.name)
            if key in runs:
                messages.warn(f"{path}: run {run.name} was given twice and is used once")
            else:
                runs[key] = run
    return joined_engines(list(runs.values()))


def _labels(baseline: SidePaths, new: SidePaths) -> tuple[str, str]:
    """Labels of the sides: the user's labels, else the shortest ends of their paths that differ."""
    parts = [_parts(side) for side in (baseline, new)]
    if parts[0] == parts[1]:
        return baseline.label or f"{parts[0][-1]} (baseline)", new.label or f"{parts[1][-1]} (new)"
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if names[0] != names[1]:
            break
    return baseline.label or names[0] + _more(baseline), new.label or names[1] + _more(new)


def _more(side: SidePaths) -> str:
    return f" and {len(side.paths) - 1} more" if len(side.paths) > 1 else ""


def _parts(side: SidePaths) -> tuple[str, ...]:
    path = Path(os.path.normpath(side.paths[0].absolute()))
    return (path.parent if path.name == "ASCEND_PROFILER_OUTPUT" else path).parts[1:] or (str(path),)


def run_stores(runs: Sequence[RunInput], stores: Sequence[Path], mirrors: Mirrors) -> tuple[RunStore, ...]:
    """The stores of a side's runs. Equal names are numbered, because several paths may hold runs of the same name."""
    from rlcompare.compare import RunStore

    names = [run.name for run in runs]
    alone = {run.root for run in runs if sum(other.root == run.root for other in runs) == 1}
    result = []
    for index, (run, store) in enumerate(zip(runs, stores, strict=True)):
        number = f" ({names[: index + 1].count(run.name)})" if names.count(run.name) > 1 else ""
        path = mirrors.shown(_path_of(run, run.root in alone))
        result.append(RunStore(redacted(run.name) + number, redacted(path), store))
    return tuple(result)


def _path_of(run: RunInput, is_alone: bool) -> Path:
    """The path that identifies a run."""
    if "#" in run.name and not (run.root / run.name).exists():
        return run.root / run.name
    return run.root if is_alone else Path(os.path.commonpath([str(path) for path in run.paths]))


def warn_of_unknown_keys(diff: Diff, varied: Sequence[str]) -> None:
    """Warns on standard error about keys of ``--varied`` that neither side has; they are most likely typing errors."""
    known = _known_keys(diff)
    unknown = _unknown_keys(varied, known)
    for key in unknown[:_MOST_WARNINGS]:
        close = _most_similar(key, known)
        hint = f"did you mean {close}?" if close else "the env section of a report lists all keys"
        messages.warn(f"--varied {key}: neither side has it; {hint}")
    if len(unknown) > _MOST_WARNINGS:
        messages.warn(f"--varied: neither side has {len(unknown) - _MOST_WARNINGS} more of these keys")


def warn_of_mistyped_keys(diff: Diff, varied: Sequence[str], source: str) -> None:
    """Warns about keys of a policy's ``varied`` that look like typing errors. Others may be for other comparisons."""
    known = _known_keys(diff)
    similar = ((key, close) for key in _unknown_keys(varied, known) if (close := _most_similar(key, known)))
    for key, close in islice(similar, _MOST_WARNINGS):
        messages.warn(f"{source}: varied {key}: neither side has it; did you mean {close}?")


def _unknown_keys(varied: Sequence[str], known: Sequence[str]) -> list[str]:
    from rlcompare.compare.comparability import is_declared

    return [key for key in varied if not any(is_declared(name, [key]) for name in known)]


def _most_similar(key: str, known: Sequence[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(key, known, n=1)), None)


def _known_keys(diff: Diff) -> list[str]:
    """The keys of settings that a comparison may declare."""
    found = {finding.key for finding in diff.comparability.findings}
    return sorted({*diff.baseline.env, *diff.new.env, *found, *_OTHER_KEYS})
