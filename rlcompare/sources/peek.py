"""Classifies one file: the format of a source, metrics, a store, or unusable (and why)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from rlcompare import untrusted
from rlcompare.model.run import CaptureInput
from rlcompare.sources.content import Content, content_of
from rlcompare.sources.metrics import form, mlflow, trackio, wandb_records
from rlcompare.sources.registry import sources
from rlcompare.sources.source import Found, Listing, Notes, Problem, Source

JSON_LIMIT_BYTES = 64 * 1024 * 1024
"""Larger profiler_info.json and profiler_metadata.json files are not parsed: real ones have a few kilobytes."""


@dataclass(frozen=True)
class FileKind:
    """The result of classifying a file.

    Attributes:
        kind: for a source's file, the source's own word; else ``store``, one of ``metrics.form.FORMS``, ``other_db`` (a
            valid database of something else), or ``unknown``.
        problem: why it cannot be used, as a clause without a full stop; None if it can.
        source: the name of the source that reads it; empty if there is none.
    """

    kind: str
    problem: str | None = None
    source: str = ""


def file_problem(path: Path) -> str | None:
    """Why a path is not a non-empty file, as a clause; None if it is one. Pipes are not opened: that would block."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return "it is a broken symbolic link" if path.is_symlink() else "there is no such file"
    except OSError as error:
        return f"it cannot be opened ({error.strerror})"
    if S_ISDIR(status.st_mode):
        return "it is a folder, not a file"
    if not S_ISREG(status.st_mode):
        return "it is a pipe or a device, not a regular file"
    return None if status.st_size else "the file is empty"


def file_kind(path: Path) -> FileKind:
    """Classifies one file by content. Its name only matters if the content is ambiguous.

    Raises:
        OSError: it cannot be opened or read.
    """
    problem = file_problem(path)
    if problem:
        return FileKind("unknown", problem)
    content = content_of(path)
    if content.tables is None and (kind := _by_first_bytes(content)) is not None:
        return kind
    if content.problem:
        return FileKind("unknown", content.problem)
    is_plain = content.tables is None and not content.is_compressed
    if is_plain and (metrics := form.form_of_json(content.text)) is not None:
        return FileKind(metrics)
    for source in sources():
        word = source.recognise(content)
        if word is not None:
            return FileKind(word, source=source.name)
    if content.tables is not None:
        return _other_database(content)
    if content.is_compressed:
        return FileKind("unknown", "it is compressed, but not a torch.profiler trace")
    return _other_text(content)


def quiet_file_kind(path: Path) -> FileKind:
    """Like ``file_kind``, but a file that cannot be read becomes a problem instead of an error."""
    try:
        return file_kind(path)
    except OSError as error:
        return FileKind("unknown", error.strerror or "it cannot be opened")


def captures_by_content(source: Source, listing: Listing) -> Found:
    """The captures in the files of a folder that have a source's suffixes and are recognised as its own.

    Raises:
        OSError: a file cannot be opened or read.
    """
    captures: list[CaptureInput] = []
    notes: Notes = []
    problems: list[Problem] = []
    for name in (name for name in listing.files if source.suffixes and name.endswith(source.suffixes)):
        kind = quiet_file_kind(listing.path / name)
        if kind.source == source.name:
            found = source.captures(listing.path / name, kind.kind)
            captures += found.captures
            notes += found.notes
            problems += found.problems
    return Found(captures, notes, problems)


def _by_first_bytes(content: Content) -> FileKind | None:
    """Files that no source needs to see: a store, and content that no source reads."""
    if content.head[8:12] == b"DUCK":
        return FileKind("store")
    if wandb_records.is_record_file(content.head):
        return FileKind(form.WANDB)
    if content.path.suffix == ".db":
        return FileKind("unknown", "it is not an SQLite database, although it is named like one")
    return None


def _other_database(content: Content) -> FileKind:
    assert content.tables is not None
    if content.tables >= mlflow.TABLES:
        return FileKind(form.MLFLOW)
    if content.tables >= trackio.TABLES:
        return FileKind(form.TRACKIO)
    what = "none of the tables of an Ascend profile" if content.tables else "no tables"
    return FileKind("other_db", _complaint(content) or f"the database has {what}")


def _other_text(content: Content) -> FileKind:
    # A log may begin with any character, including a brace or a bracket.
    metrics = form.form_of_text(content.path, content.head)
    if metrics is not None:
        return FileKind(metrics)
    return FileKind("unknown", form.why_unknown(content.head) or _complaint(content) or _why_no_profile(content))


def _complaint(content: Content) -> str | None:
    return next(filter(None, (source.complaint(content) for source in sources())), None)


def _why_no_profile(content: Content) -> str:
    if content.text[:1] == b"[":
        return "it is a JSON list without trace events"
    if content.text[:1] == b"{":
        return "it is a JSON object of an unknown kind"
    if content.path.suffix in (".csv", ".db", ".json"):
        return "it is not a profile file"
    return "it is not a profile file, and has no line `step:N - key:value` with metrics"


def json_object(path: Path) -> tuple[dict[str, object], str | None]:
    """A small JSON file as a dictionary, and its problem if it has one (then the dictionary is empty)."""
    problem = file_problem(path)
    if problem:
        return {}, problem
    try:
        value = untrusted.parse_json(untrusted.read(path, JSON_LIMIT_BYTES))
    except untrusted.RefusedError as error:
        return {}, error.problem
    if not isinstance(value, dict):
        return {}, "it contains no JSON object"
    return value, None
