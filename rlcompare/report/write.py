"""Writes the files of a report into a folder that rlcompare owns (``report.folder``)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path, PurePosixPath

from rlcompare import language
from rlcompare.errors import UsageError
from rlcompare.model.diff import Diff
from rlcompare.model.verdict import GateResult
from rlcompare.report.columns import tables_of
from rlcompare.report.data_files import cut, write_parquet
from rlcompare.report.document import json_parts, to_document
from rlcompare.report.folder import published, staged
from rlcompare.report.view import ReportView, build_view

TRACE = "trace.json.gz"

GATE_FILES = {
    "pr": "pull-request.md",
    "junit": "junit.xml",
    "code-quality": "code-quality.json",
    "sarif": "report.sarif",
}
"""Formats of a gate's verdicts, with their files."""

_PICTURE = "report.svg"
_Writer = Callable[[Path], None]


def _markdown(diff: Diff, view: ReportView) -> dict[str, _Writer]:
    from rlcompare.report.markdown import render_markdown
    from rlcompare.report.picture import render_picture

    drawn = render_picture(view)
    text = _of_text(render_markdown(view, _PICTURE if drawn else ""))
    return {"report.md": text, _PICTURE: _of_text(drawn)} if drawn else {"report.md": text}


def _csv(diff: Diff, view: ReportView) -> dict[str, _Writer]:
    from rlcompare.report.csv_files import csv_texts

    return {f"csv/{name}": _of_text(text) for name, text in csv_texts(diff).items()}


def _workbook(diff: Diff, view: ReportView) -> dict[str, _Writer]:
    from rlcompare.report.workbook import write_workbook

    return {"tables.xlsx": partial(write_workbook, diff, view)}


_FURTHER: Mapping[str, Callable[[Diff, ReportView], dict[str, _Writer]]] = {
    "md": _markdown,
    "csv": _csv,
    "xlsx": _workbook,
}
"""By format, its files. Each function imports its own renderer: a format that is not requested costs nothing."""

FORMATS = frozenset({"html", "json", "parquet", "trace", *_FURTHER})
"""Formats of a comparison."""


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
        with staged(out_dir) as stage:
            files = _render(diff, gate, stage, formats, out_dir)
            if trace is not None and trace.exists():
                shutil.copyfile(trace, stage / TRACE)
                files.append(PurePosixPath(TRACE))
            return published(stage, out_dir, files, _is_ours)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"{out_dir} cannot be written to ({reason}); choose another folder with -o") from error


def _render(diff: Diff, gate: GateResult | None, stage: Path, formats: set[str], out_dir: Path) -> list[PurePosixPath]:
    from rlcompare.report.html import render_page

    short = cut(diff)
    document = str(out_dir / "diff.json")
    view = build_view(short, gate, document=document)
    writers: dict[str, _Writer] = {
        "report.html": _of_text(render_page(short, gate, document, view)),
        "diff.json": partial(_write_parts, json_parts(to_document(short))),
    }
    for form, files_of in _FURTHER.items():
        if form in formats:
            writers |= files_of(diff, view)
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
        return _MACHINE_TEXTS[name](gate)


def _junit(gate: GateResult) -> str:
    from rlcompare.report.junit import render_junit

    return render_junit(gate)


def _code_quality(gate: GateResult) -> str:
    from rlcompare.report.checks import place_of
    from rlcompare.report.code_quality import render_code_quality

    return render_code_quality(gate, place_of(gate.policy))


def _sarif(gate: GateResult) -> str:
    from rlcompare.report.checks import place_of
    from rlcompare.report.sarif import render_sarif

    return render_sarif(gate, place_of(gate.policy))


_MACHINE_TEXTS: Mapping[str, Callable[[GateResult], str]] = {
    "junit": _junit,
    "code-quality": _code_quality,
    "sarif": _sarif,
}
"""By format of ``GATE_FILES``, all but ``pr``: its text."""


def _is_ours(name: PurePosixPath) -> bool:
    return name.suffix.removeprefix(".") in FORMATS or name.name in (TRACE, _PICTURE, *GATE_FILES.values())
