"""Finds the profiles below a path by their content. The user never has to name the format.

``find_runs`` accepts an ``*_ascend_pt`` folder or its output folder, a tree of many ranks or runs, verl's
``save_path``, one database, one text file, a run directory, metrics alone, or a store. It reads the first bytes of
files, the schema of databases, and metrics if several files may belong to one run. It never writes. An unusable file
becomes a finding if something else can be used, else an ``InputError`` that says what to do. Links to places outside
the given folder are not followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path

from rlcompare.errors import InputError, UsageError
from rlcompare.model.run import METRICS, RUN_JSON, CaptureInput, Finding, RunInput, TrainingInput
from rlcompare.sources import hydra, run_directory
from rlcompare.sources.beside import Group
from rlcompare.sources.layout import home_of, layout_sentence, run_names
from rlcompare.sources.metrics import form, jobs
from rlcompare.sources.numbers import list_numbers
from rlcompare.sources.peek import captures_by_content, file_kind
from rlcompare.sources.pickles import pickle_problem
from rlcompare.sources.registry import find, sources
from rlcompare.sources.source import RECOVER, Listing, Problem
from rlcompare.sources.verl.names import replica_of
from rlcompare.sources.verl.run import findings_of, shared_save_paths

_MAX_DEPTH = 12
_SKIPPED_FOLDERS = frozenset({"FRAMEWORK", "__pycache__", ".git", hydra.FOLDER})


@dataclass
class _Found:
    """The result of a walk.

    ``root`` is the named path without symbolic links.
    """

    root: Path
    captures: list[CaptureInput] = field(default_factory=list)
    stores: list[Path] = field(default_factory=list)
    training: list[TrainingInput] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[tuple[Path, Finding]] = field(default_factory=list)
    seen: set[tuple[int, int]] = field(default_factory=set)
    files: int = 0
    pickles: list[Path] = field(default_factory=list)
    settings: list[Path] = field(default_factory=list)

    def add(
        self, captures: Iterable[CaptureInput], notes: Iterable[tuple[Path, Finding]], problems: Iterable[Problem]
    ) -> None:
        self.captures.extend(captures)
        self.notes.extend(notes)
        self.problems.extend(problems)


def find_runs(
    path: Path, *, prefer: str = "db", layout: str | None = None, ranks: frozenset[int] | None = None
) -> list[RunInput]:
    """The runs below a path.

    Args:
        path: a file or folder of any kind listed in the module's docstring.
        prefer: ``"db"`` or ``"text"``: which to read where a capture has both.
        layout: ``"ranks"``: everything below is one run; ``"runs"``: each direct subfolder is one; None: inferred.
        ranks: only captures of these global ranks; None: all.

    Returns:
        At least one run. A store comes as a run with one capture of source ``"store"``.

    Raises:
        InputError: there is nothing usable.
        UsageError: a requested rank does not exist.
    """
    if run_directory.describes_a_run(path):
        path = path.parent
    try:
        path, wanted = jobs.file_and_run(path)
        found = _look(path, prefer, wanted)
    except OSError as error:
        raise InputError(path, error.strerror or str(error), "Check the path and its permissions") from error
    _leave_out_undecodable(found)
    is_empty = not found.captures and not found.stores and not any(entry.metrics for entry in found.training)
    if found.pickles:
        found.problems.append(pickle_problem(found.pickles, path, is_stored=not is_empty))
    if is_empty:
        raise _nothing(path, found)
    chosen = _choose_ranks(path, found.captures, ranks) if found.captures or not found.stores else []
    runs, notes, problems = run_directory.group(path, chosen, found.training, layout, found.settings)
    found.add((), notes, problems)
    if ranks is not None:
        runs = [run for run in runs if run.captures]
    return _with_findings(path, runs, found, layout) + [_store_run(path, store) for store in found.stores]


def _look(path: Path, prefer: str, wanted: str) -> _Found:
    if not path.exists():
        raise InputError(path, "there is no such file or folder", "Check the path")
    found = _Found(Path(os.path.realpath(path)))
    if path.is_file():
        _look_at_file(path, found, wanted)
    elif path.is_dir():
        if path.name.endswith("_op_args"):
            raise InputError(
                path, "it contains dumped operator arguments, not a profile", "Pass the *_ascend_pt folder next to it"
            )
        _walk(path, prefer, found, 0)
    else:
        raise InputError(path, "it is neither a file nor a folder", "Pass a profile folder or file")
    return found


def _look_at_file(path: Path, found: _Found, wanted: str = "") -> None:
    if path.suffix == ".pickle":
        found.pickles.append(path)
        return
    kind = file_kind(path)
    if kind.kind == "store":
        found.stores.append(path)
    elif kind.kind in form.FORMS:
        found.training.append(run_directory.training_of_file(path, kind.kind, wanted))
        if kind.kind != form.PROMETHEUS:
            found.training += jobs.engines_beside(path)
            found.settings += [path.parent] if (path.parent / hydra.FOLDER).is_dir() else []
    elif kind.source:
        found.add(*find(kind.source).captures(path, kind.kind))
    else:
        remedy = RECOVER if path.suffix in (".db", ".sqlite") else "Pass a file or folder written by a profiler"
        found.problems.append(Problem(path, kind.problem or "it is not a profile file", remedy))


def _walk(folder: Path, prefer: str, found: _Found, depth: int) -> None:
    """Walks a tree depth-first in the order of names. Folders that belong to a profile are not entered."""
    try:
        status = folder.stat()
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
        folders = [entry.name for entry in entries if _is_folder(entry)]
        files = [entry.name for entry in entries if not _is_folder(entry)]
    except OSError as error:
        if depth == 0:
            raise
        if isinstance(error, FileNotFoundError):
            return  # it was removed in the meantime
        found.problems.append(Problem(folder, error.strerror or "it cannot be opened", "Check its permissions"))
        return
    if (status.st_dev, status.st_ino) in found.seen:
        return  # a symbolic link to a folder that was already visited
    found.seen.add((status.st_dev, status.st_ino))
    found.files += len(files)
    found.pickles += [folder / name for name in files if name.endswith(".pickle")]
    found.settings += [folder] if hydra.FOLDER in folders else []
    try:
        is_whole = _look_into(Listing(folder, files, folders, prefer), found, depth)
    except OSError as error:
        where = Path(error.filename) if isinstance(error.filename, str) else folder
        found.problems.append(Problem(where, error.strerror or "it cannot be opened", "Check its permissions"))
        return
    if is_whole:
        return
    if depth == _MAX_DEPTH:
        if folders:
            found.problems.append(
                Problem(folder, f"folders nested deeper than {_MAX_DEPTH} are not searched", "Pass one of them")
            )
        return
    for name in folders:
        if name in _SKIPPED_FOLDERS or name.endswith("_op_args"):
            continue
        if _leads_out(folder / name, found.root):
            problem = "it is a symbolic link to a place outside the given folder, and is not followed"
            found.problems.append(Problem(folder / name, problem, "Pass the target of the link", "link"))
            continue
        _walk(folder / name, prefer, found, depth + 1)


def _look_into(listing: Listing, found: _Found, depth: int) -> bool:
    """Inspects the files of one folder. Returns whether its subfolders can be skipped."""
    for source in sources():
        whole = source.whole_folder(listing)
        if whole is not None:
            found.add(*whole)
            return True
    training = run_directory.training_in(listing.path, listing.files)
    if training is not None:
        found.training.append(training)
        listing = replace(listing, files=[name for name in listing.files if name not in (RUN_JSON, METRICS)])
    loose, problems, others = run_directory.loose_metrics(listing.path, listing.files, listing.folders)
    found.training += loose
    found.problems += problems
    if others is None:
        return True
    _look_at_loose_files(replace(listing, files=others), found, depth)
    return False


def _leads_out(path: Path, root: Path) -> bool:
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a symbolic link to itself, or to a place without access
        return False


def _look_at_loose_files(listing: Listing, found: _Found, depth: int) -> None:
    """The files and stores in a folder that is not a profile's own."""
    before = len(found.captures)
    for source in sources():
        others = frozenset().union(*(other.names for other in sources() if other is not source))
        own = replace(listing, files=[name for name in listing.files if name not in others])
        found.add(*(source.loose_files(own) if source.loose_files else captures_by_content(source, own)))
    has_captures = len(found.captures) > before
    stores = [listing.path / name for name in listing.files if name.endswith(".duckdb")]
    training = next((entry for entry in found.training if entry.path == listing.path), None)
    if training is not None and (has_captures or training.metrics or "profile" in listing.folders):
        stores = []  # a run's own store is made from its profile and metrics, which are read instead
    for store in stores:
        problem = _store_problem(store)
        if problem is None:
            found.stores.append(store)
        else:
            found.problems.append(Problem(store, problem, "Rebuild it with rlcompare ingest, or move it elsewhere"))
    if depth == 0 and not has_captures and not stores and not listing.folders:
        for name in listing.files:
            if name.endswith((".csv", ".json")):
                _look_at_file(listing.path / name, found)


def _store_problem(path: Path) -> str | None:
    """Why a file that is named like a store cannot be used; None if it can."""
    kind = file_kind(path)
    if kind.kind != "store":
        return kind.problem or "it is not a DuckDB database, although it is named like a store"
    from rlcompare.db import SCHEMA_VERSION, store_schema_version

    try:
        version = store_schema_version(path)
    except InputError as error:
        return error.problem
    if version is None:
        return "it is a database, but not an rlcompare store"
    return None if version == SCHEMA_VERSION else f"its schema is {version}, and this version reads {SCHEMA_VERSION}"


def _leave_out_undecodable(found: _Found) -> None:
    """DuckDB accepts only UTF-8: a file with any other path becomes a problem."""
    problem, remedy = "its path is not valid UTF-8, so DuckDB cannot open it", "Rename it"
    usable = []
    for capture in found.captures:
        if all(_is_text(path) for path in (capture.path, *capture.files.values())):
            usable.append(capture)
        else:
            found.problems.append(Problem(capture.path, problem, remedy))
    found.captures = usable
    logged = [entry for entry in found.training if all(map(_is_text, jobs.files_of(entry)))]
    found.problems += [Problem(entry.path, problem, remedy) for entry in found.training if entry not in logged]
    found.training = logged
    found.problems += [Problem(store, problem, remedy) for store in found.stores if not _is_text(store)]
    found.stores = [store for store in found.stores if _is_text(store)]


def _is_text(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _choose_ranks(path: Path, captures: Sequence[CaptureInput], ranks: frozenset[int] | None) -> list[CaptureInput]:
    if ranks is None:
        return list(captures)
    captures = [capture for capture in captures if replica_of(capture.path) is None]  # replica ranks are local
    present = {capture.rank for capture in captures if capture.rank is not None}
    missing = sorted(ranks - present)
    if missing:
        has = f"has rank {list_numbers(present)}" if present else "states no rank"
        raise UsageError(f"--rank {list_numbers(missing)}: {path} {has}")
    return [capture for capture in captures if capture.rank in ranks]


def _with_findings(path: Path, runs: list[Group], found: _Found, layout: str | None) -> list[RunInput]:
    """Sets the name and the findings of each run."""
    if not runs:
        return []
    findings: list[list[Finding]] = [[] for _ in runs]
    for where, finding in found.notes:
        findings[_nearest(where, runs)].append(replace(finding, message=_storable(finding.message)))
    for problem in found.problems:
        message = f"{_relative(problem.path, path)} was left out: {problem.problem}"
        findings[_nearest(problem.path, runs)].append(Finding("warning", problem.key, _storable(message)))
    captures = [run.captures for run in runs if run.captures]
    if sum(map(len, captures)) > 1:
        findings[0].append(Finding("info", "layout", layout_sentence(captures, layout)))
    findings[0] += shared_save_paths(captures)
    for run, said in zip(runs, findings, strict=True):
        said += findings_of(run.captures)
    names = run_names(path, [_home(run) for run in runs])
    if len(runs) == 1 and (training := runs[0].training) is not None and training.path.parent == path:
        first = training.metrics[0]  # one of several runs in a file
        names = [first.name if first.form in form.LOGS else training.path.name]
    return [
        RunInput(name, path, tuple(run.captures), tuple(said), training=run.training)
        for name, run, said in zip(names, runs, findings, strict=True)
    ]


def _home(run: Group) -> Path:
    """The folder that holds a run, or its metrics file."""
    directory = None if run.training is None or not run.training.path.is_dir() else run.training.path
    return home_of([directory] if directory else run.paths)


def _storable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _nearest(where: Path, runs: Sequence[Group]) -> int:
    """The run whose files share the longest path with ``where``; the first one if there are several."""
    shares = [max(_shared_parts(where, path) for path in run.paths) for run in runs]
    return shares.index(max(shares))


def _shared_parts(a: Path, b: Path) -> int:
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(a.parts, b.parts, strict=False))))


def _relative(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path != root and path.is_relative_to(root) else path.name


def _store_run(path: Path, store: Path) -> RunInput:
    capture = CaptureInput(source="store", path=store, files={"store": store})
    name = store.parent.name if store.name == "run.duckdb" and store != path else store.stem
    return RunInput(name or store.stem, path, (capture,))


def _nothing(path: Path, found: _Found) -> InputError:
    """Why a path has no run: the first problem, or that it is empty, or that it holds something else."""
    if found.problems:
        first = found.problems[0]
        more = len(found.problems) - 1
        problem = first.problem + (f" ({more} more below {path} cannot be used either)" if more else "")
        return InputError(first.path, problem, first.remedy)
    if found.training:
        remedy = "Run it again; its run.json says what went wrong"
        return InputError(path, run_directory.EMPTY, remedy)
    what = "it contains no profile and no metrics" if found.files or not path.is_dir() else "it contains no files"
    remedy = (
        "Name an *_ascend_pt folder, its ASCEND_PROFILER_OUTPUT, a trace of torch.profiler, a run directory, "
        "or several in one"
    )
    return InputError(path, what, remedy)
