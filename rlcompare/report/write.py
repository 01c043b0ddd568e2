"""Writes the files of a report into a folder that rlcompare owns.

rlcompare owns a folder that holds the file ``.rlcompare``, which lists the files written. Other files in it are left
alone. Every file is written under a temporary name and then renamed, so that no file is ever half-written, even if the
process is stopped. Files of an earlier report that the new one does not have are removed.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from rlcompare import language, temporary
from rlcompare.errors import UsageError
from rlcompare.model.diff import Diff
from rlcompare.model.verdict import GateResult
from rlcompare.report.columns import tables_of
from rlcompare.report.data_files import cut, write_parquet
from rlcompare.report.document import json_parts, to_document
from rlcompare.report.view import ReportView, build_view

FORMATS = frozenset({"html", "json", "md", "csv", "parquet", "xlsx", "trace"})
"""Formats of a comparison."""

TRACE = "trace.json.gz"

GATE_FILES = {
    "pr": "pull-request.md",
    "junit": "junit.xml",
    "code-quality": "code-quality.json",
    "sarif": "report.sarif",
}
"""Formats of a gate's verdicts, with their files."""

MARKER = ".rlcompare"

_MARKER_HEAD = "A report of rlcompare. The files listed here are replaced by the next one."
_STAGE = ".rlcompare-part-"
_FOLDERS = ("csv", "data")
_PICTURE = "report.svg"
_Writer = Callable[[Path], None]


def write_report(
    diff: Diff, out_dir: Path, formats: set[str], gate: GateResult | None = None, trace: Path | None = None
) -> list[Path]:
    """Writes ``report.html`` and ``diff.json``, and the requested further formats.

    All rows of tables that are too long for ``diff.json`` are written to the folder ``data``.

    Args:
        formats: of ``FORMATS``; ``md`` adds ``report.md`` and its picture ``report.svg``, ``xlsx`` ``tables.xlsx``,
            ``csv`` and ``parquet`` a file per section in the folders ``csv`` and ``data``. With a gate, of
            ``GATE_FILES`` too.
        gate: its verdicts are shown in the report.
        trace: a trace that was made; copied to ``TRACE`` if it exists.

    Returns:
        The files, ``report.html`` first.

    Raises:
        UsageError: the folder holds other files or cannot be written to, or a format is unknown.
    """
    known = FORMATS | (set() if gate is None else set(GATE_FILES))
    if unknown := formats - known:
        raise UsageError(f"--format {', '.join(sorted(unknown))} is unknown; choose from {', '.join(sorted(known))}")
    try:
        with _stage(out_dir) as stage:
            files = _render(diff, gate, stage, formats, out_dir)
            if trace is not None and trace.exists():
                shutil.copyfile(trace, stage / TRACE)
                files.append(PurePosixPath(TRACE))
            return _publish(stage, out_dir, files)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"{out_dir} cannot be written to ({reason}); choose another folder with -o") from error


def _render(diff: Diff, gate: GateResult | None, stage: Path, formats: set[str], out_dir: Path) -> list[PurePosixPath]:
    # Imported here, so that a format that is not requested costs nothing.
    from rlcompare.report.html import render_page

    short = cut(diff)
    document = str(out_dir / "diff.json")
    view = build_view(short, gate, document=document)
    writers: dict[str, _Writer] = {
        "report.html": _of_text(render_page(short, gate, document, view)),
        "diff.json": partial(_write_parts, json_parts(to_document(short))),
    }
    if "md" in formats:
        from rlcompare.report.markdown import render_markdown
        from rlcompare.report.picture import render_picture

        drawn = render_picture(view)
        writers["report.md"] = _of_text(render_markdown(view, _PICTURE if drawn else ""))
        if drawn:
            writers[_PICTURE] = _of_text(drawn)
    if "csv" in formats:
        from rlcompare.report.csv_files import csv_texts

        writers |= {f"csv/{name}": _of_text(text) for name, text in csv_texts(diff).items()}
    if "xlsx" in formats:
        from rlcompare.report.workbook import write_workbook

        writers["tables.xlsx"] = partial(write_workbook, diff, view)
    for name, table in tables_of(diff).items():
        if "parquet" in formats or (name in short.sections and short.sections[name].rest and not table.rest):
            writers[f"data/{name}.parquet"] = partial(write_parquet, table)
    if gate is not None:
        writers |= {GATE_FILES[name]: _of_text(gate_text(name, view, gate)) for name in formats & set(GATE_FILES)}
    for name, write in writers.items():
        path = stage / name
        path.parent.mkdir(exist_ok=True)
        write(path)
    return [PurePosixPath(name) for name in writers]


def _of_text(text: str) -> _Writer:
    return partial(_write_parts, (text,))


def _write_parts(parts: Iterable[str], path: Path) -> None:
    # A lone surrogate cannot be written as UTF-8. Views replace surrogates; this handles any that remain.
    with path.open("w", encoding="utf-8", errors="replace", newline="") as stream:
        stream.writelines(parts)


def gate_text(name: str, view: ReportView, gate: GateResult) -> str:
    """One format of ``GATE_FILES`` as text."""
    if name == "pr":
        from rlcompare.report.pull_request import render_pull_request

        return render_pull_request(view, gate)
    with language.speaking(language.ENGLISH):  # machines read the others
        return _machine_text(name, gate)


def _machine_text(name: str, gate: GateResult) -> str:
    from rlcompare.report.checks import place_of

    if name == "junit":
        from rlcompare.report.junit import render_junit

        return render_junit(gate)
    if name == "code-quality":
        from rlcompare.report.code_quality import render_code_quality

        return render_code_quality(gate, place_of(gate.policy))
    from rlcompare.report.sarif import render_sarif

    return render_sarif(gate, place_of(gate.policy))


@contextlib.contextmanager
def _stage(out_dir: Path) -> Iterator[Path]:
    """A temporary folder in ``out_dir``. It is removed at the end, and so is ``out_dir`` if it is empty."""
    check_folder(out_dir)
    made = not out_dir.exists()
    out_dir.mkdir(parents=True, exist_ok=True)
    try:
        with temporary.folder(_STAGE, out_dir) as stage:
            yield Path(stage)
    finally:
        if made:
            with contextlib.suppress(OSError):  # it holds files
                out_dir.rmdir()


def check_folder(out_dir: Path) -> None:
    """Refuses a folder that holds other files. Called before a comparison, so that it fails early.

    Raises:
        UsageError: the folder is not owned by rlcompare, or is a file.
    """
    if not out_dir.exists() or (out_dir / MARKER).is_file():
        return
    if not out_dir.is_dir():
        raise UsageError(f"{out_dir} is a file; choose a folder with -o")
    if any(not entry.name.startswith(_STAGE) for entry in out_dir.iterdir()):
        raise UsageError(f"{out_dir} holds files that rlcompare did not write; choose an empty or a new folder with -o")


def _publish(stage: Path, out_dir: Path, files: list[PurePosixPath]) -> list[Path]:
    """Moves finished files into place. The marker comes first, so that the folder stays ours if a later step fails."""
    for place in sorted({(out_dir / name).parent for name in files} - {out_dir}):
        if place.is_symlink():
            raise UsageError(f"{place} is a symbolic link, and nothing is written through it: remove it")
    before = _listed(out_dir)
    listing = "\n".join([_MARKER_HEAD, *dict.fromkeys(str(name) for name in [*files, *before])])
    marker = stage / MARKER
    marker.write_text(listing + "\n", encoding="utf-8")
    marker.replace(out_dir / MARKER)
    for name in files:
        (out_dir / name).parent.mkdir(exist_ok=True)
        (stage / name).replace(out_dir / name)
    for name in before:
        if name not in files:
            (out_dir / name).unlink(missing_ok=True)
    for folder in _FOLDERS:
        with contextlib.suppress(OSError):
            (out_dir / folder).rmdir()  # Only if it is empty.
    marker.write_text("\n".join([_MARKER_HEAD, *map(str, files)]) + "\n", encoding="utf-8")
    marker.replace(out_dir / MARKER)
    return [out_dir / name for name in files]


def _listed(out_dir: Path) -> list[PurePosixPath]:
    """Files of an earlier report. Only names of report files are returned: the list may have been edited."""
    try:
        lines = (out_dir / MARKER).read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    except FileNotFoundError:
        return []
    names = [PurePosixPath(line) for line in lines]
    return [name for name in names if str(name.parent) in (".", *_FOLDERS) and _is_ours(name)]


def _is_ours(name: PurePosixPath) -> bool:
    return name.suffix.removeprefix(".") in FORMATS or name.name in (TRACE, _PICTURE, *GATE_FILES.values())
