"""Finds the files with metrics and groups them by run.

A job may log to several places at once, and writes another file each time it is restarted. Files with the same values
for the same steps are one run; so is a file that continues where another one in its folder ends, or after the last
checkpoint there, and a file of nothing but validation beside the only run of its folder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rlcompare.errors import InputError
from rlcompare.model.run import Finding, MetricsInput, TrainingInput
from rlcompare.sources.metrics import form, mlflow, prometheus, series, table, trackio
from rlcompare.sources.metrics.read import read_metrics
from rlcompare.sources.peek import file_kind

_TELLING = ("timing_s/step", "timing_s/gen", "timing_s/update_actor", "perf/throughput")
_ROUNDING = 5.1e-4  # the console of old releases has three decimals
_LARGE = 10 * _ROUNDING
_PRECISION = 1e-5  # TensorBoard's has 24 bits
_ENOUGH = 0.9
_SAVED = "timing_s/save_checkpoint"
_BESIDE_TRAINING = ("val", "timing_s/testing")  # how metrics of validation begin
_MOST_REPEATED = 0.25  # of the steps of a log that tells of no checkpoint, by one that continues it
_MOST_ATTEMPTS = 16  # at one step, of which all values may be those of another source
_SHOWN = 8
_NAME_SHOWN = 60
_MOST_STEPS_WITHOUT_TIMES = 3
_HEAD_BYTES = 4096

# Files that are not inspected: another source knows them, or they hold no text. Others are recognised by content.
_NOT_LOOKED_AT = (
    ".json", ".gz", ".duckdb", ".zip", ".tar", ".tgz", ".xz", ".zst", ".whl", ".pt", ".pth", ".bin", ".safetensors",
    ".parquet", ".arrow", ".npy", ".npz", ".pickle", ".pkl", ".so", ".o", ".py", ".pyc", ".yaml", ".yml", ".toml",
    ".sh", ".md", ".html", ".xlsx", ".png", ".jpg", ".svg", ".pdf", ".nsys-rep", ".qdrep", ".model", ".lock",
    "-wal", "-shm",
)  # fmt: skip


def looks_promising(folder: Path, name: str) -> bool:
    """Whether a file in a folder should be inspected."""
    if name.endswith(".json"):
        return is_export(folder / name)
    return not name.endswith(_NOT_LOOKED_AT)


def is_export(path: Path) -> bool:
    """Whether a file is JSON of metrics: an answer of Prometheus, or series. A pipe is none: opening it would wait."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return prometheus.is_answer(head) or series.is_series(head)


def in_file(path: Path, kind: str, wanted: str = "") -> list[TrainingInput]:
    """The runs in a file of metrics.

    Args:
        kind: its format.
        wanted: the part of the path after the file's own path. It selects one of several jobs in a log.

    Raises:
        InputError: it cannot be read, or holds no such job.
    """
    if kind == form.MLFLOW:
        runs = mlflow.runs_in(path)
        names = [run.name for run in runs]
        labels = [run.name if names.count(run.name) == 1 else f"{run.experiment}/{run.name}" for run in runs]
        labels = [run.identifier if labels.count(label) > 1 else label for run, label in zip(runs, labels, strict=True)]
        parts = [(run.identifier, label) for run, label in zip(runs, labels, strict=True)]
    elif kind == form.TRACKIO:
        parts = [(run, run) for run in trackio.runs_in(path)]
    elif kind == form.TABLE:
        parts = [(run, run) for run in table.runs_in(path)]
    elif wanted and kind in form.LOGS:  # the last of several jobs counts if none was named
        read_metrics(MetricsInput(kind, (path,), path.name, wanted))
        return [TrainingInput(path / wanted, (MetricsInput(kind, (path,), f"{path.name}/{wanted}", wanted),))]
    else:
        if kind == form.WANDB:  # wandb writes such a file even if the run logs nothing
            read_metrics(MetricsInput(kind, (path,), path.name))
        parts = [("", "")]
    if len(parts) == 1:
        return [TrainingInput(path, (MetricsInput(kind, (path,), path.name, parts[0][0]),))]
    return [
        TrainingInput(path / _file_name(label), (MetricsInput(kind, (path,), f"{path.name}/{label}", part),))
        for part, label in parts
    ]


def _file_name(label: str) -> str:
    """A run's name as the last part of a path. Names are untrusted, so the result contains no path separators."""
    return re.sub(r"[/\\\0]", "_", label).strip(".") or "run"


def file_and_run(path: Path) -> tuple[Path, str]:
    """Splits a path below a metrics file, such as ``mlflow.db/grpo``, into the file and the name of a run in it.

    Raises:
        OSError: a path on the way cannot be looked at.
    """
    if not path.exists():
        for parent in path.parents:
            if parent.is_file() and file_kind(parent).kind in form.FORMS:
                return parent, path.relative_to(parent).as_posix()
    return path, ""


def the_only_one(path: Path, entries: Sequence[TrainingInput], wanted: str) -> TrainingInput:
    """The run of a metrics file that the user means.

    Args:
        wanted: the part of the path after the file's own path, or empty.

    Raises:
        InputError: the file holds several runs, or none of that name.
    """
    known = {entry.metrics[0].name.removeprefix(f"{path.name}/"): entry for entry in entries}
    by_id = {entry.metrics[0].part: entry for entry in entries}
    if wanted and (wanted in known or wanted in by_id):
        return known.get(wanted) or by_id[wanted]
    if not wanted and len(entries) == 1:
        return entries[0]
    if not entries:
        raise InputError(path, "it contains no run with metrics", "Pass another file")
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    names = ", ".join(name[:_NAME_SHOWN] for name in list(known)[:_SHOWN]) + more
    what = f"it holds no run {wanted}: it has {names}" if wanted else f"it holds {len(entries)} runs: {names}"
    raise InputError(path, what, f"Pass one of them: {path}/{next(iter(known))}")


def tensorboard_run(folder: Path, names: Sequence[str]) -> TrainingInput:
    """TensorBoard's files in one folder: one run, even if it was restarted."""
    files = tuple(folder / name for name in names)
    return TrainingInput(folder, (MetricsInput(form.TENSORBOARD, files, folder.name),))


def mlflow_folder_run(folder: Path) -> TrainingInput:
    """A run in MLflow's file store."""
    name = mlflow.name_of_folder(folder)
    return TrainingInput(folder, (MetricsInput(form.MLFLOW_FOLDER, mlflow.metric_files(folder), name),))


def engines_beside(path: Path) -> list[TrainingInput]:
    """Metrics of rollout engines in the folder of a job's file, if that is the only file of a job there.

    Raises:
        OSError: the folder or a file cannot be read.
    """
    others = [other for other in sorted(path.parent.iterdir()) if other != path and other.is_file()]
    others = [other for other in others if looks_promising(path.parent, other.name)]
    if not any(_tells_of_engines(other) for other in others):  # logs may be long, and need not be searched
        return []
    kinds = [(other, file_kind(other).kind) for other in others]
    if any(kind in form.FORMS and kind != form.PROMETHEUS for _, kind in kinds):
        return []
    found = [(other, MetricsInput(kind, (other,), other.name)) for other, kind in kinds if kind == form.PROMETHEUS]
    return [TrainingInput(other, (source,)) for other, source in found]


def _tells_of_engines(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return prometheus.is_answer(head) or prometheus.is_text(head)


@dataclass(frozen=True)
class _Told:
    """Data of a source for matching: values of some metrics by step and name, and its training steps.

    Attributes:
        values: several, in their order, for a step that was measured again after a restart.
        saved: the last step that saved a checkpoint; None if it tells of none.
        trains: whether it has metrics of training, not of validation alone.
    """

    entry: TrainingInput
    values: Mapping[tuple[int, str], tuple[float, ...]]
    first: int
    last: int
    saved: int | None
    trains: bool


def by_run(entries: Sequence[TrainingInput]) -> tuple[list[TrainingInput], list[tuple[Path, Finding]]]:
    """Merges sources of one run; the first of its metrics is the most exact one.

    Returns:
        One entry per run, in the order of the sources, and findings about merged sources.
    """
    notes: list[tuple[Path, Finding]] = []
    entries = _each_once(entries)
    if len(entries) < 2:
        return list(entries), notes
    runs: list[list[_Told]] = []
    alone: list[TrainingInput] = []
    for entry in entries:
        told = _told(entry)
        if told is None:  # the error is reported when the store is filled
            alone.append(entry)
            continue
        same = [run for run in runs if any(_tell_the_same(told, other) for other in run)]
        if not same:
            runs.append([told])
            continue
        first, *more = same
        first.append(told)
        for run in more:  # the logs of several attempts
            if _are_logs(first[:-1] + run):
                first[-1:-1] = run
                runs = [other for other in runs if other is not run]
    merged = [_merged(run, notes) for run in runs]
    notes += _copies(merged)
    return [run.entry for run in _with_validation(_continued(merged, notes), notes)] + alone, notes


def _each_once(entries: Sequence[TrainingInput]) -> list[TrainingInput]:
    """Drops entries that are the same file under another name, such as a link ``latest.csv``."""
    found: dict[object, TrainingInput] = {}
    for entry in sorted(entries, key=lambda entry: entry.path.is_symlink()):
        found.setdefault(tuple(map(_identity, entry.metrics[0].files)), entry)
    return [entry for entry in entries if any(entry is kept for kept in found.values())]


def _identity(path: Path) -> tuple[int, int] | Path:
    try:
        status = path.stat()
    except OSError:
        return path
    return status.st_dev, status.st_ino


def _copies(runs: Sequence[_Told]) -> Iterator[tuple[Path, Finding]]:
    """Warns about runs whose times are exactly equal, which does not happen with two jobs."""
    seen: dict[frozenset[tuple[tuple[int, str], tuple[float, ...]]], _Told] = {}
    for told in runs:
        times = frozenset((key, values) for key, values in told.values.items() if key[1] in _TELLING)
        first = seen.setdefault(times, told)
        if times and first is not told:
            name, other = told.entry.metrics[0].name, first.entry.metrics[0].name
            text = f"{name} has exactly the same times as {other} and counts as another run: remove it if it is a copy"
            yield told.entry.path, Finding("warning", "same_metrics", text)


def _told(entry: TrainingInput) -> _Told | None:
    try:
        metrics = read_metrics(entry.metrics[0])
    except InputError:
        return None
    trained = {number for number, name in enumerate(metrics.names) if not name.startswith(_BESIDE_TRAINING)}
    saver = {number for number, name in enumerate(metrics.names) if name == _SAVED}
    trains, saved = (
        {step for step, metric in zip(metrics.steps, metrics.metrics, strict=True) if metric in wanted}
        for wanted in (trained, saver)
    )
    steps = sorted(trains or set(metrics.steps))
    timed = any(metrics.names[metric] in _TELLING for metric in set(metrics.metrics))
    some = set(steps[:_MOST_STEPS_WITHOUT_TIMES])
    values: dict[tuple[int, str], list[float]] = {}
    for _, step, name, value in metrics.rows():
        if value is not None and math.isfinite(value) and (name in _TELLING if timed else step in some):
            of_step = values.setdefault((step, name), [])
            if len(of_step) == _MOST_ATTEMPTS:
                of_step.pop()
            of_step.append(value)
    several = sum(len(of_step) > 1 for of_step in values.values())
    if 2 * several > len(values):  # several processes print their steps: any two of their values may be alike
        values = {key: of_step[-1:] for key, of_step in values.items()}
    told = {key: tuple(of_step) for key, of_step in values.items()}
    return _Told(entry, told, steps[0], steps[-1], max(saved, default=None), bool(trains))


def _are_logs(run: Sequence[_Told]) -> bool:
    return all(told.entry.metrics[0].form == form.CONSOLE for told in run)


def _tell_the_same(a: _Told, b: _Told) -> bool:
    """Whether two sources have steps in common and agree on them. Two files of one format are two runs, except logs:
    a job's output may have been saved twice."""
    kinds = a.entry.metrics[0].form, b.entry.metrics[0].form
    if kinds[0] == kinds[1] != form.CONSOLE:
        return False
    common = [(a.values[key], b.values[key]) for key in a.values.keys() & b.values.keys()]
    # Rounding may make any two learning rates equal.
    large = [pair for pair in common if max(map(abs, pair[0] + pair[1])) >= _LARGE]
    judged, rounding = (large, _ROUNDING) if large else (common, 0.0)
    alike = sum(any(_agree(one, other, rounding) for one in ones for other in others) for ones, others in judged)
    return bool(judged) and alike >= _ENOUGH * len(judged)


def _agree(a: float, b: float, rounding: float) -> bool:
    return abs(a - b) <= max(rounding, _PRECISION * max(abs(a), abs(b)))


def _merged(run: Sequence[_Told], notes: list[tuple[Path, Finding]]) -> _Told:
    if len(run) == 1:
        return run[0]
    ordered = sorted(run, key=lambda told: _place(told, run))
    first = ordered[0].entry
    sources = tuple(source for told in ordered for source in told.entry.metrics)
    text = (
        f"{_listed([source.name for source in sources])} belong to one run: if several have a value, the first is used"
    )
    notes.append((first.path, Finding("info", "metrics_merged", text)))
    entry = replace(first, metrics=sources)
    trained = [told for told in run if told.trains] or run
    begun, last = min(told.first for told in trained), max(told.last for told in trained)
    return _Told(entry, ordered[0].values, begun, last, _saved(run), any(told.trains for told in run))


def _place(told: _Told, run: Sequence[_Told]) -> tuple[bool, int, bool, int, int]:
    """The place of a source in its run: what was measured again counts, then the exacter format, then the later log."""
    is_old = any(_is_older(told, other) for other in run)
    return is_old, form.FORMS.index(told.entry.metrics[0].form), not told.trains, -told.first, -told.last


def _is_older(told: _Told, other: _Told) -> bool:
    """Whether the last values of a source are those of an earlier attempt in the other one."""
    for key in told.values.keys() & other.values.keys():
        *earlier, last = other.values[key]
        own = told.values[key][-1]
        if any(_agree(own, value, _ROUNDING) for value in earlier) and not _agree(own, last, _ROUNDING):
            return True
    return False


def _saved(run: Sequence[_Told]) -> int | None:
    return max((told.saved for told in run if told.saved is not None), default=None)


def _continued(runs: Sequence[_Told], notes: list[tuple[Path, Finding]]) -> list[_Told]:
    """Joins a run that starts after the first step to the one in its folder that it continues, if there is only one."""
    left = sorted(runs, key=lambda told: told.first)
    for told in [told for told in left if told.first > 1]:
        before = [
            other for other in left
            if other is not told and _continues(told, other) and _folder(other) == _folder(told)
        ]  # fmt: skip
        if len(before) != 1:
            continue
        (other,) = before
        names = [source.name for run in (other, told) for source in run.entry.metrics[:1]]
        text = f"{names[1]} continues at step {told.first} where {names[0]} ends: read as one run"
        if told.first <= other.last:
            text = f"{names[1]} restarts {names[0]}, which ends at step {other.last}, at step {told.first}"
            until = "on" if told.last > other.last else f"to {told.last}"
            text += f": read as one run, whose steps from {told.first} {until} are those of {names[1]}"
        notes.append((other.entry.path, Finding("warning", "resumed", text)))
        entry = replace(other.entry, metrics=told.entry.metrics + other.entry.metrics)
        last, saved = max(other.last, told.last), _saved((other, told))
        joined = _Told(entry, other.values, other.first, last, saved, other.trains or told.trains)
        left = [joined if run is other else run for run in left if run is not told]
    order = [told.entry.path for told in runs]
    return sorted(left, key=lambda told: order.index(told.entry.path))


def _with_validation(runs: Sequence[_Told], notes: list[tuple[Path, Finding]]) -> list[_Told]:
    """Adds files of nothing but validation to the run of training in their folder, if there is only one."""
    left = list(runs)
    for told in [told for told in runs if not told.trains]:
        beside = [run for run in left if run.trains and _folder(run) == _folder(told)]
        if len(beside) == 1 and told.first <= beside[0].last:
            joined = _merged([beside[0], told], notes)
            left = [joined if run is beside[0] else run for run in left if run is not told]
    return left


def _continues(told: _Told, other: _Told) -> bool:
    """Whether a log may be of another one's job after a restart, which repeats the steps since its last checkpoint.

    A log that begins at an earlier checkpoint, or that has nothing new, is that of another job.
    """
    repeated = other.last + 1 - told.first
    if not 0 <= repeated <= other.last - other.first or told.trains != other.trains:
        return False
    if repeated and other.saved is not None:
        return told.first > other.saved and (told.last > other.last or told.first == other.saved + 1)
    return told.last > other.last and repeated <= _MOST_REPEATED * (other.last + 1 - other.first)


def _folder(told: _Told) -> Path:
    return told.entry.path.parent


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}"


def files_of(training: TrainingInput) -> Iterator[Path]:
    """All files of metrics of a run."""
    for source in training.metrics:
        yield from source.files
