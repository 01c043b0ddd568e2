"""A run directory (docs/design.md §9): reads run.json, and combines the directory's files into one run.

A folder with ``run.json`` declares that everything below it is one execution; ``metrics.jsonl`` beside it has a line
per training step. Metrics in any format of verl's loggers (``sources.metrics``) belong to the nearest profile. Without
a profile they are a run of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rlcompare import db, resources
from rlcompare.errors import InputError, may_pass
from rlcompare.model.run import (
    METRICS,
    RUN_JSON,
    CaptureInput,
    Finding,
    MetricsInput,
    RunCapture,
    RunFile,
    RunInput,
    TrainingInput,
)
from rlcompare.secret import looks_secret
from rlcompare.sources import hydra
from rlcompare.sources.beside import Group, divided, of_no_run, with_engines, with_metrics, with_settings
from rlcompare.sources.env import environment_from_configuration, put
from rlcompare.sources.layout import group_runs
from rlcompare.sources.metrics import clock, form, jobs, mlflow
from rlcompare.sources.metrics.load import Loaded, load_metrics
from rlcompare.sources.peek import file_kind, file_problem, json_object
from rlcompare.sources.source import Problem

if TYPE_CHECKING:
    import duckdb

SCHEMA = re.compile(r"rlcompare\.run/(\d+)")

EMPTY = "the run wrote neither metrics nor a profile"

_SOFTWARE = (
    "verl", "vllm", "vllm_ascend", "sglang", "transformers", "torch", "torch_npu", "cann", "ray", "python", "rlcompare",
)  # fmt: skip
_LOGS = (".log", ".out", ".err", ".txt", ".jsonl")
"""Endings of logs. No other source looks at such files."""
_READABLE = "Let its owner give you read access: rlcompare launch makes job.log readable by its owner only"
_COMMIT_LENGTH = 12
_PATH_LENGTH = 200


def training_in(folder: Path, files: Sequence[str]) -> TrainingInput | None:
    """The training data of a folder that is a run directory; None if it is not one.

    A folder with an unreadable run.json counts too if it has metrics: the run was killed while it wrote the file.

    Args:
        files: names of the files in the folder.
    """
    if RUN_JSON not in files:
        return None
    run, problem = _run_file(folder / RUN_JSON)
    metrics = (_own_metrics(folder / METRICS),) if METRICS in files and file_problem(folder / METRICS) is None else ()
    if problem is not None and not metrics:
        return None
    return TrainingInput(folder, metrics, folder / RUN_JSON, run)


def _run_file(path: Path) -> tuple[RunFile | None, str | None]:
    """A run.json and its problem, if any. Invalid parts are left out."""
    document, problem = json_object(path)
    if not document:
        return None, problem
    from rlcompare.validation import fit_most  # takes 6 ms

    document.pop("misfits", None)
    run, misfits = fit_most(document, RunFile, RunFile())
    return replace(run, misfits=tuple(map(str, misfits))), None


def _own_metrics(path: Path) -> MetricsInput:
    return MetricsInput(form.FILE_LOGGER, (path,), path.name)


def describes_a_run(path: Path) -> bool:
    """Whether a path is the run.json of a run directory. The user then means the directory."""
    if path.name != RUN_JSON or not path.is_file():
        return False
    schema = json_object(path)[0].get("schema")
    return isinstance(schema, str) and SCHEMA.fullmatch(schema) is not None


def training_of_file(path: Path, kind: str, wanted: str = "") -> TrainingInput:
    """The training data in one metrics file, with the run.json beside it if it is a run directory's.

    Args:
        kind: the format of its metrics.
        wanted: which of several runs in it; empty if the user did not say.

    Raises:
        InputError: it holds several runs and none was named, or not the named one.
    """
    description = path.parent / RUN_JSON
    if path.name == METRICS and kind == form.FILE_LOGGER and not wanted and description.is_file():
        run, problem = _run_file(description)
        if problem is None:
            return TrainingInput(path, (_own_metrics(path),), description, run)
    return jobs.the_only_one(path, jobs.in_file(path, kind, wanted), wanted)


def loose_metrics(
    folder: Path, files: Sequence[str], folders: Sequence[str]
) -> tuple[list[TrainingInput], list[Problem], list[str] | None]:
    """The metrics files of a folder, and its files with several runs.

    Args:
        files: names of the files in the folder that are not a run directory's own.
        folders: names of its subfolders.

    Returns:
        The metrics, the problems, and the names of the other files; None: there is nothing else below.
    """
    if mlflow.is_run_folder(folder, files, folders):
        return [jobs.mlflow_folder_run(folder)], [], None
    entries: list[TrainingInput] = []
    problems: list[Problem] = []
    event_files: list[str] = []
    promising = [name for name in files if jobs.looks_promising(folder, name)]
    others = [name for name in files if name not in promising]
    for name in promising:
        try:
            kind = file_kind(folder / name).kind
            if kind == form.TENSORBOARD:
                event_files.append(name)
            elif kind in form.FORMS:
                entries.append(training_of_file(folder / name, kind))
            else:
                others.append(name)
        except InputError as error:
            problems.append(Problem(error.path, error.problem, error.remedy, "metrics_of_no_run"))
        except OSError as error:
            if name.endswith(_LOGS):
                problems.append(Problem(folder / name, error.strerror or "it cannot be opened", _READABLE))
            else:
                others.append(name)  # other sources report why it cannot be read
    if event_files:
        entries.append(jobs.tensorboard_run(folder, event_files))
    return entries, problems, sorted(others)


def group(
    path: Path,
    captures: Sequence[CaptureInput],
    training: Sequence[TrainingInput],
    layout: str | None,
    settings: Sequence[Path] = (),
) -> tuple[list[Group], list[tuple[Path, Finding]], list[Problem]]:
    """Divides captures and metrics into runs.

    Captures and metrics below a run directory are its run. The other captures are grouped by layout and rank. Metrics
    belong to the only run in the nearest parent folder that holds a profile, and are a separate run if there is no
    profile.

    Args:
        settings: folders with a job's configuration (``hydra``); it belongs to the only run in the nearest folder.

    Returns:
        The runs, findings about them, and problems.
    """
    directories = [entry for entry in training if entry.description is not None and entry.path.is_dir()]
    files = [entry for entry in training if entry not in directories]
    directories, files = _with_loose_metrics(directories, files)
    engines, files = divided(files)
    groups: list[Group] = []
    problems: list[Problem] = []
    rest = list(captures)
    for directory in directories:
        inside = [capture for capture in rest if capture.path.is_relative_to(directory.path)]
        rest = [capture for capture in rest if capture not in inside]
        described = [_described(capture, directory) for capture in inside]
        if layout is not None:
            rest += described
        elif described:
            groups += [Group(found, directory) for found in group_runs(directory.path, described, "run")]
        elif directory.metrics:
            groups.append(Group([], directory))
        elif not any(directory.path.glob("*.duckdb")):
            problems.append(Problem(directory.path, EMPTY, "Run it again", "empty_run"))
    others = [Group(found) for found in group_runs(path, rest, layout)] if rest else []
    left = []
    if layout is not None:
        left = [directory for directory in directories if not _is_home(directory, others) and directory.metrics]
    runs, notes = jobs.by_run(files)
    if others:
        joined, lost = with_metrics(path, others, runs)
        notes, problems = notes + joined, problems + lost + [of_no_run(entry) for entry in left]
    else:
        others = [Group([], entry) for entry in (*runs, *left)]
    groups += others
    groups, notes = with_engines(path, groups, engines, notes, problems)
    return groups, notes + with_settings(path, groups, settings), problems


def _with_loose_metrics(
    directories: Sequence[TrainingInput], files: Sequence[TrainingInput]
) -> tuple[list[TrainingInput], list[TrainingInput]]:
    """Run directories with the other metrics inside them, and the metrics outside of all of them."""
    made = []
    for directory in directories:
        inside = [entry for entry in files if entry.path.is_relative_to(directory.path)]
        files = [entry for entry in files if entry not in inside]
        ordered = sorted(inside, key=lambda entry: form.FORMS.index(entry.metrics[0].form))
        further = tuple(source for entry in ordered for source in entry.metrics)
        made.append(replace(directory, metrics=directory.metrics + further))
    return made, list(files)


def _is_home(directory: TrainingInput, groups: Sequence[Group]) -> bool:
    """Assigns a run directory's metrics to the only run whose captures all lie in it, if there is one."""
    inside = [
        found for found in groups if all(capture.path.is_relative_to(directory.path) for capture in found.captures)
    ]
    if len(inside) != 1:
        return False
    inside[0].training = directory
    return True


def _described(capture: CaptureInput, training: TrainingInput) -> CaptureInput:
    """The capture with its role, phase, step and rank from run.json."""
    best = RunCapture("")
    length = -1
    for entry in training.run.captures if training.run else ():
        if PurePosixPath(entry.path).is_absolute():
            continue
        place = training.path.joinpath(*PurePosixPath(entry.path).parts)
        if len(place.parts) > length and any(
            path.is_relative_to(place) for path in (capture.path, *capture.files.values())
        ):
            best, length = entry, len(place.parts)
    # If a capture holds several steps, its marks identify them.
    step = None if best.steps is not None and len(best.steps) > 1 else _number(best.step)
    return replace(
        capture,
        role=_text(best.role) or capture.role,
        phase=_text(best.phase) or capture.phase,
        step_hint=_first(step, capture.step_hint),
        rank=_first(_number(best.rank), capture.rank),
    )


def _text(value: str | None) -> str | None:
    return value if value and len(value) <= 60 else None


def _number(value: int | None) -> int | None:
    """A step or rank number that fits into the store's columns; else None."""
    return value if value is not None and 0 <= value < 2**31 else None


def _first(value: int | None, other: int | None) -> int | None:
    return other if value is None else value


def environment_of(training: TrainingInput) -> dict[str, str]:
    """Storable values of run.json, by key of table ``env``: versions, device, seed, commit, and the configuration
    under verl's own keys."""
    run = training.run
    if run is None:
        return {}
    found: dict[str, str] = {}
    for name in _SOFTWARE:
        put(found, name, run.versions.get(name))
    put(found, "device", run.device)
    put(found, "device_name", run.device_name)
    put(found, "world_size", run.world_size)
    put(found, "seed", run.seed)
    for name, commit in {"commit": run.git, **{f"commit.{name}": run.commits.get(name) for name in _SOFTWARE}}.items():
        if commit is not None and commit.commit is not None:
            changed = " with changes" if commit.dirty else ""
            put(found, name, f"{commit.commit[:_COMMIT_LENGTH]}{changed}")
    return found | environment_from_configuration(run.config)


def steps_of(training: TrainingInput, kind: str) -> list[int] | None:
    """The steps of a kind (``warmup``, ``plain``, ``profiled``); None if run.json does not say."""
    listed = None if training.run is None else training.run.steps.get(kind)
    return None if listed is None else [step for step in listed if _number(step) is not None]


def findings_of(training: TrainingInput, last_step: int | None) -> Iterator[Finding]:
    """Findings from run.json about the run.

    Args:
        last_step: the last step of the metrics; None if there is none.
    """
    if training.description is None:
        return
    run = training.run
    if run is None:
        text = f"{RUN_JSON} cannot be read: the run's settings and its profiled steps are unknown"
        yield Finding("warning", "damaged_run", text)
        return
    match = SCHEMA.fullmatch(run.schema or "")
    if match is not None and int(match.group(1)) > 1:
        text = f"{RUN_JSON} has the newer schema {match.group(1)}: fields that this version does not know were ignored"
        yield Finding("warning", "later_run", text)
    if match is not None and run.misfits:
        more = f", and {len(run.misfits) - 1} more" if len(run.misfits) > 1 else ""
        text = f"invalid fields of {RUN_JSON} were ignored: {run.misfits[0]}{more}"
        yield Finding("warning", "odd_run", text)
    yield from _absent_captures(training, run)
    if last_step is None and run.status == "complete":
        text = f"{METRICS} contains no steps although the run is complete: speed is judged by the profile only"
        yield Finding("warning", "no_metrics", text)
    if run.status in ("incomplete", "failed"):
        yield Finding("warning", f"run_{run.status}", _unfinished(training, run, last_step))


def _absent_captures(training: TrainingInput, run: RunFile) -> Iterator[Finding]:
    """Captures that run.json lists but the folder does not hold."""
    paths = [PurePosixPath(entry.path) for entry in run.captures]
    folder = training.path if training.path.is_dir() else training.path.parent
    elsewhere = [path for path in paths if path.is_absolute() or ".." in path.parts]
    gone = [path for path in paths if path not in elsewhere and not _is_there(folder.joinpath(*path.parts))]
    if elsewhere:
        where = str(elsewhere[0].parent)[:_PATH_LENGTH]
        text = (
            f"{len(elsewhere)} of {len(paths)} profiles are outside the run directory, in {where}, and were not "
            "read; pass that folder as a side to read them"
        )
        yield Finding("warning", "profile_elsewhere", text)
    if gone:
        text = f"{len(gone)} of {len(paths)} profiles listed in {RUN_JSON} are missing: {gone[0].name[:_PATH_LENGTH]}"
        yield Finding("warning", "missing_profile", f"{text}{' and more' if len(gone) > 1 else ''}")


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long for a file
        return False


def _unfinished(training: TrainingInput, run: RunFile, last_step: int | None) -> str:
    planned = [step for kind in ("warmup", "plain", "profiled") for step in steps_of(training, kind) or ()]
    done = "before its first step ended" if last_step is None else f"after step {last_step}"
    of = f" of {max(planned)}" if planned and last_step is not None else ""
    reason = f": {run.error[:200]}" if run.error and not looks_secret("error", run.error) else ""
    word = "failed" if run.status == "failed" else "did not finish: it ended"
    return f"the run {word} {done}{of}{reason}; means cover the finished steps only"


def fill_training(
    con: duckdb.DuckDBPyConnection, run: RunInput, training: TrainingInput, report: Callable[[Finding], None]
) -> int | None:
    """Fills the tables ``env`` and ``metric`` from training data.

    Returns:
        When the run started as run.json says, else when its first metric was logged, in ns since the epoch; None:
        unknown.

    Raises:
        InputError: its metrics cannot be read.
    """
    config = _settings(training, report)
    loaded = Loaded(config=config)
    try:
        if training.metrics:
            captured = sorted({capture.step_hint for capture in run.captures if capture.step_hint is not None})
            profiled, warmup = steps_of(training, "profiled"), steps_of(training, "warmup")
            loaded = load_metrics(con, training.metrics, profiled, captured, warmup, report, config)
            if run.captures and loaded.profiled is None:
                report(Finding("warning", "profiled_unknown", _PROFILED_UNKNOWN))
    finally:
        known = environment_from_configuration(loaded.config) | environment_of(training)
        rows = [{"capture": None, "key": key, "value": value} for key, value in known.items()]
        con.execute(resources.sql("store/env"), db.as_parameter(rows))
        for finding in findings_of(training, loaded.last_step):
            report(finding)
    started = _started(training)
    return loaded.first_ns if started is None else started


def _started(training: TrainingInput) -> int | None:
    """When the run started according to run.json, if that has a time zone."""
    text = None if training.run is None else training.run.started
    moment = None if text is None else clock.alone(text)
    return moment[0] if moment is not None and moment[1] else None


def _settings(training: TrainingInput, report: Callable[[Finding], None]) -> Mapping[str, object]:
    """The configuration that Hydra wrote beside a job, or empty."""
    try:
        return hydra.read(training.settings) if training.settings else {}
    except InputError as error:
        message = f"{error.path.name}: {error.problem}; {error.remedy}"
        report(Finding("warning", "unreadable_settings", message, may_pass=may_pass(error)))
        return {}


_PROFILED_UNKNOWN = (
    "it is unknown which training steps were profiled, so their times count like those of the others: put the job's"
    " console log, in which verl prints global_profiler.steps, next to the profile"
)
