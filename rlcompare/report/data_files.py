"""Long tables: ``diff.json`` holds their most important rows, and a Parquet file beside it holds all of them.

A comparison of 100,000 kernels is read by programs and sent by mail: its document stays below 40 MB.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rlcompare.errors import InputError
from rlcompare.model.diff import METRICS_LEFT_OUT, Cause, Diff, Finding, Rest, Row, Section, Value
from rlcompare.model.words import Severity
from rlcompare.report.columns import arrow_table, columns_of
from rlcompare.report.notable import chosen, notable

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch
    from pyarrow.parquet import FileMetaData

ROWS = 5_000
SIZE_BYTES = 4 * 2**20
"""Most rows of a table in ``diff.json``, and most bytes, if there are more rows than ``FEW``."""

FEW = 100

METRICS_BYTES = 8 * 2**20
"""Most bytes of the metrics of the whole step in ``diff.json``, with aggregates, if there are more than ``FEW``."""

_OF_METRIC, _OF_RUN = 300, 240
"""About how many bytes of that a metric takes by itself, and for each run."""

MOST_ROWS, MOST_COLUMNS, MOST_BYTES = 1_000_000, 200, 2**30
"""Most rows, columns and uncompressed bytes of a Parquet file that is read: it may come from anybody."""

_SUMS = frozenset(
    {"account", "path", "categories", "kernels", "kernel_types", "efficiency", "operators", "collectives", "copies"}
)
"""Sections whose rows add up: none of them is a part of another, and all have one unit."""

_PARTS = ("kind", "phase")
_PARTS_OF = ("account", "path")
"""Sections whose rows are drawn by kind and phase, so what is left out of them is added up by these."""

_Key = tuple[Value, ...]


def cut(diff: Diff) -> Diff:
    """The diff with the rows that ``diff.json`` has: of a long table those of the largest changes, and the causes'."""
    sections = {name: _cut(section, diff.causes) for name, section in diff.sections.items()}
    short = replace(diff, sections=sections) if any(section.rest for section in sections.values()) else diff
    return _cut_metrics(short)


def _cut_metrics(diff: Diff) -> Diff:
    """The diff with the metrics that matter most, if there are too many; a finding says so."""
    runs = len(diff.baseline.runs) + len(diff.new.runs)
    most = max(FEW, METRICS_BYTES // (_OF_METRIC + _OF_RUN * runs))
    if len(diff.overall) <= most:
        return diff
    kept = chosen(diff.overall, notable(diff.overall, diff.headline)[:most])
    names = {delta.metric for delta in kept}
    message = (
        f"diff.json holds {len(kept):,} of {len(diff.overall):,} metrics: known ones first, then those that changed"
        " most; rlcompare gate -d NEW -bp BASELINE judges all of them"
    )
    found = Finding(METRICS_LEFT_OUT, None, None, Severity.CAUTION, message)
    aggregates = tuple(one for one in diff.aggregates if one.metric in names)
    return replace(diff, overall=kept, aggregates=aggregates, quality=(found, *diff.quality))


def _cut(section: Section, causes: Sequence[Cause]) -> Section:
    rows = section.rows
    if section.rest or (len(rows) <= ROWS and (len(rows) <= FEW or sum(map(_length, rows)) <= SIZE_BYTES // 2)):
        return section
    kept = _named(section, causes)
    left = SIZE_BYTES - sum(_size(rows[place]) for place in kept)
    for place in sorted(range(len(rows)), key=lambda place: _rank(rows[place])):
        if place not in kept:
            left -= _size(rows[place])
            if len(kept) >= ROWS or (left < 0 and len(kept) >= FEW):
                break
            kept.add(place)
    if len(kept) == len(rows):
        return section
    out = [row for place, row in enumerate(rows) if place not in kept]
    return replace(section, rows=tuple(rows[place] for place in sorted(kept)), rest=tuple(_rests(section.name, out)))


def _rank(row: Row) -> tuple[float, float]:
    """Parts of a tree from its top, then the others, each by absolute change."""
    depth, delta = row.get("depth"), row.get("delta")
    return (
        depth if isinstance(depth, int) else math.inf,
        -abs(delta) if isinstance(delta, (int, float)) else math.inf,
    )


def _named(section: Section, causes: Sequence[Cause]) -> set[int]:
    """The places of the rows that causes consist of or point at; of several with the name, the first."""
    names = {cause.row for cause in causes if cause.section == section.name}
    keys: set[_Key] = {_key(row) for cause in causes for row in cause.rows} if section.name in _PARTS_OF else set()
    found: set[int] = set()
    for place, row in enumerate(section.rows):
        if row["name"] in names:
            names.remove(str(row["name"]))
            found.add(place)
        if keys and _key(row) in keys:
            found.add(place)
    return found


def _key(row: Row) -> _Key:
    return row.get("kind"), row.get("phase"), row.get("name")


def _length(row: Row) -> int:
    """About how long a row is; quick."""
    return 24 * len(row) + sum(len(value) for value in row.values() if isinstance(value, str))


def _size(row: Row) -> int:
    return len(json.dumps(row))


def _rests(name: str, rows: Sequence[Row]) -> Iterator[Rest]:
    """The sums of rows that are left out, in the order of their first row."""
    groups: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in _PARTS) if name in _PARTS_OF else (None, None), []).append(row)
    for (kind, phase), found in groups.items():
        parts = [row for row in found if row.get("task") is None]  # a task is a part of a row that is counted
        baseline, new, delta = (
            _sum(row.get(column) for row in parts) if name in _SUMS else None for column in ("baseline", "new", "delta")
        )
        kind, phase = (None if value is None else str(value) for value in (kind, phase))
        yield Rest(len(found), baseline, new, delta, kind, phase)


def _sum(values: Iterable[Value]) -> float | None:
    numbers = [value for value in values if isinstance(value, (int, float)) and math.isfinite(value)]
    return math.fsum(numbers) if numbers else None


def write_parquet(table: Section, path: Path) -> None:
    """Writes a table as Parquet, with its unit and its note as metadata of the file."""
    from pyarrow import parquet

    data = arrow_table(table.rows, columns_of(table.rows, table.keys))
    about = {"table": table.name, "unit": table.unit, "note": table.note.encode("utf-8", "replace")}
    parquet.write_table(data.replace_schema_metadata(about), path, compression="zstd")


def completed(diff: Diff, folder: Path) -> Diff:
    """The diff of a document with all its rows.

    Args:
        folder: that of the document.

    Raises:
        InputError: a file with rows is missing, damaged, or belongs to another document.
    """
    sections = {name: _completed(section, folder) for name, section in diff.sections.items()}
    return replace(diff, sections=sections)


def missing_files(diff: Diff, folder: Path) -> list[str]:
    """The files of rows that a document names and that are not beside it."""
    files = (section.file for section in diff.sections.values() if section.rest)
    return [file for file in files if not (folder / file).is_file()]


def _completed(section: Section, folder: Path) -> Section:
    if not section.rest:
        return section
    import pyarrow
    from pyarrow import parquet

    path = folder / section.file
    remedy = "Copy the folder data together with diff.json, or recreate both with rlcompare diff"
    if path.is_symlink() or path.parent.is_symlink() or (path.exists() and not path.is_file()):
        raise InputError(path, "it is a link, or not a plain file", remedy)
    try:
        with parquet.ParquetFile(path) as file:
            _check_size(path, file.metadata, remedy)
            if file.metadata.num_rows != section.total or "name" not in file.schema_arrow.names:
                raise InputError(path, f"it does not hold the {section.total:,} rows of {section.name}", remedy)
            if not all(map(_is_plain, file.schema_arrow.types)):
                raise InputError(path, "it has columns that are neither numbers nor texts", remedy)
            texts = [column.name for column in file.schema_arrow if not _is_number(column.type)]
        # As dictionaries, each text is in memory once, however often it occurs.
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            rows = [row for batch in file.iter_batches() for row in _rows_of(batch)]
    except FileNotFoundError as error:
        problem = f"it is missing; diff.json has {len(section.rows):,} of {section.total:,} rows of {section.name}"
        raise InputError(path, problem, remedy) from error
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(path, f"it cannot be read ({str(error).splitlines()[0][:200]})", remedy) from error
    return replace(section, rows=tuple(rows), rest=())


def _check_size(path: Path, about: FileMetaData, remedy: str) -> None:
    size = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
    if about.num_rows > MOST_ROWS or about.num_columns > MOST_COLUMNS or size > MOST_BYTES:
        most = f"{MOST_ROWS:,} rows, {MOST_COLUMNS} columns or {MOST_BYTES >> 30} GiB"
        raise InputError(path, f"it has more than {most}, which is never read", remedy)


def _rows_of(batch: RecordBatch) -> Iterator[Row]:
    columns = [_values(column) for column in batch.columns]
    for values in zip(*columns, strict=True):
        yield dict(zip(batch.schema.names, values, strict=True))


def _values(column: Array) -> list[Value]:
    from pyarrow import types

    if not types.is_dictionary(column.type):
        values: list[Value] = column.to_pylist()
        return values
    texts = column.dictionary.to_pylist()
    return [None if place is None else texts[place] for place in column.indices.to_pylist()]


def _is_plain(kind: object) -> bool:
    from pyarrow import types

    return _is_number(kind) or types.is_string(kind) or types.is_large_string(kind)


def _is_number(kind: object) -> bool:
    from pyarrow import types

    return any(check(kind) for check in (types.is_integer, types.is_floating, types.is_boolean))
