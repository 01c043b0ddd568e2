"""The captures of one folder: an ``*_ascend_pt`` folder, its output folder, or a folder with a profile's files in it.

Decides what each file is used for, whether the database or the text is read, and which rank and start time are known.
"""

from __future__ import annotations

import os
import re
import shlex
from calendar import timegm
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.ascend.peek import TEXT_FILES, rank_of_database
from rlcompare.sources.described import description
from rlcompare.sources.exports import with_exports
from rlcompare.sources.peek import file_kind, file_problem, json_object, quiet_file_kind
from rlcompare.sources.source import RECOVER, Found, Listing, Notes, Problem
from rlcompare.sources.verl.names import PROFILE_SUFFIXES

OUTPUT = "ASCEND_PROFILER_OUTPUT"
_ANALYSIS = ("analysis.db", "communication_analyzer.db")
_DATABASE = re.compile(
    r"(ascend_pytorch_profiler|ascend_mindspore_profiler|msprof|msmonitor|analysis|communication_analyzer).*\.db"
)
_RANK_IN_NAME = re.compile(r"ascend_(?:pytorch|mindspore)_profiler_(\d{1,9})\.db|msmonitor_\d+_\d+_(\d{1,9})\.db")
_TIME_IN_NAME = re.compile(r"_(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{3})_ascend_(?:pt|ms)")


@dataclass(frozen=True)
class _Files:
    """The usable files of one output folder."""

    databases: list[Path]
    analysis: Path | None
    text: Mapping[str, Path]


def is_profile_folder(folder: Path, folders: Sequence[str]) -> bool:
    """Whether the profiler wrote a folder for one process, parsed or not. Its subfolders are not searched."""
    if folder.name.endswith(PROFILE_SUFFIXES) or folder.name == OUTPUT or OUTPUT in folders:
        return True
    return "FRAMEWORK" in folders and any(name.startswith("PROF_") for name in folders)


def unparsed(folder: Path) -> Problem:
    """The problem of a folder with raw data only, with the command that parses it."""
    if folder.name.startswith("PROF_"):
        command = f"msprof --export=on --type=db --output={shlex.quote(str(folder))}"
    elif folder.name.endswith("_ascend_ms"):
        code = f"from mindspore.profiler.profiler import analyse; analyse(profiler_path={str(folder.parent)!r})"
        simple = re.fullmatch(r"[\w@%+=:,./ -]*", str(folder.parent))
        command = f'python3 -c "{code}"' if simple else f"python3 -c {shlex.quote(code)}"
    else:
        command = f"rlcompare analyse {shlex.quote(str(folder.parent))}"
    return Problem(folder, "it was collected but never parsed", f"Parse it: {command}", "not_parsed")


def profile_in(listing: Listing) -> Found | None:
    """The captures of a folder that a profiler wrote for one process; None if it is not such a folder."""
    if is_profile_folder(listing.path, listing.folders):
        return captures_of_folder(listing.path, listing.prefer)
    return _of_msprof(listing) if listing.path.name.startswith("PROF_") else None


def loose_captures(listing: Listing) -> Found:
    """The captures in the files of a folder that is not a profile's own."""
    if any(name in TEXT_FILES or name.endswith(".db") for name in listing.files):
        return captures_of_folder(listing.path, listing.prefer)
    return Found()


def _of_msprof(listing: Listing) -> Found:
    """A ``PROF_*`` folder of msprof itself. Only its newest export counts: each repeats the previous one."""
    exports = sorted(name for name in listing.files if name.startswith("msprof_") and name.endswith(".db"))
    if not exports:
        return Found(problems=[unparsed(listing.path)])
    export = listing.path / exports[-1]
    kind = file_kind(export)
    if kind.kind in ("profile_db", "analysis_db"):
        return capture_of_file(export, kind.kind)
    return Found(problems=[Problem(export, kind.problem or "it is not a profile database", RECOVER)])


def captures_of_folder(folder: Path, prefer: str) -> Found:
    """The captures of one folder, findings about them, and the files that cannot be used.

    Args:
        folder: an ``*_ascend_pt`` folder, an output folder, or a folder with a profile's files.
        prefer: ``"db"`` or ``"text"``.

    Raises:
        OSError: the folder cannot be listed.
    """
    output = folder / OUTPUT if (folder / OUTPUT).is_dir() else folder
    problems: list[Problem] = []
    files = _usable_files(output, problems)
    if not files.databases and not files.text and (problems or not files.analysis):
        # The analysis alone has no kernels: if the database beside it is damaged, report that.
        if not problems and is_profile_folder(folder, _subfolders(folder)):
            problems.append(_nothing_in(folder))
        return Found(problems=problems)
    notes: Notes = []
    home = folder.parent if folder.name == OUTPUT else folder
    if files.databases and files.text:
        notes.append((output, _preference(output, prefer)))
    if files.databases and (prefer == "db" or not files.text):
        captures = [_database_capture(folder, home, path, files, notes) for path in files.databases]
    else:
        parts = dict(files.text)
        if files.analysis:
            parts["analysis_db"] = files.analysis
        captures = [_capture("ascend_text", folder, home, parts, None, notes)]
    if len(captures) == 1:  # with databases of several ranks in one folder, an export's rank is unknown
        captures = [with_exports(captures[0], dict.fromkeys((home, output)), notes)]
    return Found(captures, notes, problems)


def capture_of_file(path: Path, kind: str) -> Found:
    """The capture of one named file, with rank and versions from its profile's folder."""
    notes: Notes = []
    home = path.parent.parent if path.parent.name == OUTPUT else path.parent
    if kind == "profile_db":
        parts = {"db": path}
        beside = path.with_name(_ANALYSIS[0])
        if path.parent.name == OUTPUT and beside.is_file() and file_kind(beside).kind == "analysis_db":
            parts["analysis_db"] = beside
        return Found([_capture("ascend_db", path, home, parts, path, notes)], notes)
    return Found([_capture("ascend_text", path, home, {kind: path}, None, notes)], notes)


def _usable_files(output: Path, problems: list[Problem]) -> _Files:
    """Sorts the files of one folder by use. Databases are checked here, text files by their source."""
    databases: list[Path] = []
    analysis: Path | None = None
    text: dict[str, Path] = {}
    for path in sorted(output.iterdir()):
        if path.name in TEXT_FILES:
            problem = file_problem(path)
            if problem is None:
                text[TEXT_FILES[path.name]] = path
            elif os.path.lexists(path):  # else it was removed in the meantime
                problems.append(Problem(path, problem, "Parse the profile again"))
        elif path.suffix == ".db":
            kind = _database_kind(path, problems)
            if kind == "profile_db":
                databases.append(path)
            elif kind == "analysis_db":
                analysis = analysis or path
    return _Files(databases, analysis, text)


def _database_kind(path: Path, problems: list[Problem]) -> str:
    kind = quiet_file_kind(path)
    is_ours = kind.kind != "other_db" or _DATABASE.fullmatch(path.name)
    if kind.problem and is_ours and os.path.lexists(path):  # else it was removed in the meantime
        problems.append(Problem(path, kind.problem, RECOVER, "damaged_db"))
    return kind.kind


def _subfolders(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.is_dir()]


def _nothing_in(folder: Path) -> Problem:
    if any(name == "FRAMEWORK" or name.startswith("PROF_") for name in _subfolders(folder)):
        return unparsed(folder)
    return Problem(folder, "it contains no profile files", "Collect it again, or pass another folder", "empty_folder")


def _preference(output: Path, prefer: str) -> Finding:
    both = f"{output.parent.name if output.name == OUTPUT else output.name} contains both a database and text files"
    if prefer == "text":
        return Finding("info", "text_preferred", f"{both}: the text files were read, as requested")
    return Finding("info", "db_preferred", f"{both}: the database was read (--prefer text reads the text files)")


def _database_capture(folder: Path, home: Path, path: Path, files: _Files, notes: Notes) -> CaptureInput:
    alone = len(files.databases) == 1
    parts = {"db": path}
    if files.analysis and alone:
        parts["analysis_db"] = files.analysis
    return _capture("ascend_db", folder if alone else path, home, parts, path, notes)


def _capture(
    source: str, path: Path, home: Path, files: Mapping[str, Path], database: Path | None, notes: Notes
) -> CaptureInput:
    info = _profiler_info(home, database, notes)
    metadata = _json(home / "profiler_metadata.json", notes)
    rank = _rank(info, database)
    started = _started_ns(info, path)
    said = description(metadata)
    return CaptureInput(
        source,
        path,
        dict(files),
        role=said.role,
        phase=said.phase,
        rank=rank,
        started_ns=started,
        info=info,
        metadata=metadata,
    )


def _profiler_info(home: Path, database: Path | None, notes: Notes) -> dict[str, object]:
    """profiler_info.json of a capture. One with the number of another rank than the database's is not used."""
    candidates = sorted(home.glob("profiler_info*.json"), key=lambda path: (len(path.name), path.name))
    rank = _rank_in_name(database) if database is not None else None
    if rank is not None:
        candidates = [path for path in candidates if _number_in_name(path) in (None, rank)]
    if len(candidates) > 1 and database is not None:
        candidates = [path for path in candidates if path.name == f"profiler_info_{rank}.json"]
    info = _json(candidates[0], notes) if candidates else {}
    if info and "rank_id" not in info:
        number = _number_in_name(candidates[0])
        if number is not None:
            info["rank_id"] = number
    return info


def _number_in_name(info: Path) -> int | None:
    match = re.fullmatch(r"profiler_info_(\d{1,9})\.json", info.name)
    return int(match.group(1)) if match else None


def _json(path: Path, notes: Notes) -> dict[str, object]:
    if not path.is_file():
        return {}
    value, problem = json_object(path)
    if problem:
        notes.append((path, Finding("warning", "damaged_json", f"{path.name} was left out: {problem}")))
    return value


def _rank(info: Mapping[str, object], database: Path | None) -> int | None:
    stated = info.get("rank_id")
    if isinstance(stated, str) and stated.isascii() and stated.isdecimal() and len(stated) <= 9:
        stated = int(stated)
    if isinstance(stated, int) and not isinstance(stated, bool) and 0 <= stated < 2**31:
        return stated
    if database is None:
        return None
    in_name = _rank_in_name(database)
    return rank_of_database(database) if in_name is None else in_name


def _rank_in_name(database: Path) -> int | None:
    match = _RANK_IN_NAME.fullmatch(database.name)
    return int(match.group(1) or match.group(2)) if match else None


def _started_ns(info: Mapping[str, object], path: Path) -> int | None:
    """Start time of the capture: the profiler's clocks, else the local time in the folder's name."""
    start, end = info.get("start_info"), info.get("end_info")
    if isinstance(start, dict) and isinstance(end, dict):
        ended, monotonic_end = _clock(end.get("collectionTimeEnd")), _clock(end.get("MonotonicTimeEnd"))
        monotonic_start = _clock(start.get("start_monotonic"))
        if ended and monotonic_end and monotonic_start:
            return ended - (monotonic_end - monotonic_start)
    match = _TIME_IN_NAME.search(path.name) or _TIME_IN_NAME.search(path.parent.name)
    if match is None:
        return None
    year, month, day, hour, minute, second, milli = (int(part) for part in match.groups())
    if year < 1970 or not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    return timegm((year, month, day, hour, minute, second, 0, 1, 0)) * 1_000_000_000 + milli * 1_000_000


def _clock(value: object) -> int | None:
    """A clock value in nanoseconds; None if it is not valid."""
    return value if isinstance(value, int) and 0 < value < 2**62 else None
