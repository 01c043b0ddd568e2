"""Mutators of tables in text (CSV): header, rows, cells, and how the file is written."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.fuzz.kind import Mutator, NotApplicableError, content_of, one_file
from tests.fuzz.mutators import values

Rows = list[list[str]]
Change = Callable[[Rows, Random], str]
RawChange = Callable[[bytes, Random], tuple[bytes, str]]


def mutators(pattern: str) -> list[Mutator]:
    """Mutators for one of the tables that match a pattern."""

    def of(change: Change) -> Callable[[Path, Random], str]:
        def edit(content: bytes, random: Random) -> tuple[bytes, str]:
            rows = _parsed(content)
            done = change(rows, random)
            return _written(rows), done

        return of_bytes(edit)

    def of_bytes(change: RawChange) -> Callable[[Path, Random], str]:
        def apply(folder: Path, random: Random) -> str:
            path = one_file(folder, pattern, random)
            content, done = change(content_of(path), random)
            path.write_bytes(content)
            return f"{path.name}: {done}"

        return apply

    return [
        *(Mutator(f"table.{name}", of(change)) for name, change in _CHANGES.items()),
        *(Mutator(f"table.{name}", of(change), harmless=True) for name, change in _HARMLESS.items()),
        *(Mutator(f"table.{name}", of_bytes(change)) for name, change in _RAW.items()),
        *(Mutator(f"table.{name}", of_bytes(change), harmless=True) for name, change in _HARMLESS_RAW.items()),
    ]


def _parsed(content: bytes) -> Rows:
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        raise NotApplicableError from error
    if len(rows) < 2 or not rows[0] or not rows[1]:
        raise NotApplicableError
    return rows


def _written(rows: Rows) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode("utf-8", "surrogateescape")


def _some_rows(rows: Rows, random: Random) -> list[list[str]]:
    every = random.choice((1, 2, 7, 100_000))
    return [random.choice(rows[1:])] if every > len(rows) else [row for row in rows[1:] if random.randrange(every) == 0]


def _set(rows: Rows, random: Random, value: str, *, numeric: bool = False) -> str:
    columns = [n for n in range(len(rows[0])) if not numeric or _is_number(rows[1][n] if n < len(rows[1]) else "")]
    if not columns:
        raise NotApplicableError
    column, some = random.choice(columns), _some_rows(rows, random)
    for row in some:
        if column < len(row):
            row[column] = value
    return f"{rows[0][column]} = {value!r:.60} in {len(some)} rows"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _set_number(rows: Rows, random: Random) -> str:
    return _set(rows, random, str(values.number(random)), numeric=True)


def _set_text_number(rows: Rows, random: Random) -> str:
    return _set(rows, random, random.choice(values.NUMBERS_AS_TEXT), numeric=True)


def _set_text(rows: Rows, random: Random) -> str:
    return _set(rows, random, values.text(random))


def _swap_columns(rows: Rows, random: Random) -> str:
    a, b = (random.randrange(len(rows[0])) for _ in range(2))
    for row in rows[1:]:
        if max(a, b) < len(row):
            row[a], row[b] = row[b], row[a]
    return f"cells of {rows[0][a]} and {rows[0][b]} swapped"


def _drop_column(rows: Rows, random: Random) -> str:
    column = random.randrange(len(rows[0]))
    name = rows[0][column]
    for row in rows:
        del row[column : column + 1]
    return f"without {name}"


def _rename_column(rows: Rows, random: Random) -> str:
    column = random.randrange(len(rows[0]))
    name, rows[0][column] = rows[0][column], random.choice(("", "x", " ", *rows[0], values.text(random)))
    return f"{name} renamed to {rows[0][column]!r:.60}"


def _duplicate_column(rows: Rows, random: Random) -> str:
    column = random.randrange(len(rows[0]))
    for row in rows:
        row[len(row) :] = row[column : column + 1]
    return f"{rows[0][column]} twice"


def _many_columns(rows: Rows, random: Random) -> str:
    for row in rows[:50]:
        row += ["x"] * 5000
    return "5000 columns more in the first rows"


def _header_only(rows: Rows, random: Random) -> str:
    del rows[1:]
    return "nothing but the header"


def _no_header(rows: Rows, random: Random) -> str:
    del rows[0]
    return "without the header"


def _header_again(rows: Rows, random: Random) -> str:
    rows.insert(random.randrange(1, len(rows)), list(rows[0]))
    return "the header again among the rows"


def _delete_rows(rows: Rows, random: Random) -> str:
    rows[1:] = [row for row in rows[1:] if random.random() < 0.5]
    return "half of the rows deleted"


def _duplicate_rows(rows: Rows, random: Random) -> str:
    rows += [list(row) for row in _some_rows(rows, random)]
    return "rows duplicated"


def _ragged(rows: Rows, random: Random) -> str:
    for row in _some_rows(rows, random):
        if random.random() < 0.5:
            row.append("more")
        else:
            del row[random.randrange(len(row) + 1) :]
    return "rows of other lengths"


def _reorder_columns(rows: Rows, random: Random) -> str:
    if len({len(row) for row in rows}) > 1:
        raise NotApplicableError
    order = list(range(len(rows[0])))
    random.shuffle(order)
    rows[:] = [[row[n] for n in order] for row in rows]
    return "columns reordered"


def _extra_column(rows: Rows, random: Random) -> str:
    value = random.choice(("", "7", "N/A", "x,y"))
    for number, row in enumerate(rows):
        row.append(value if number else "Unknown Column")
    return "a column more"


def _reorder_rows(rows: Rows, random: Random) -> str:
    rows[1:] = random.sample(rows[1:], len(rows) - 1)
    return "rows reordered"


def _unclosed_quote(content: bytes, random: Random) -> tuple[bytes, str]:
    place = random.randrange(len(content) + 1)
    return content[:place] + b'"' + content[place:], f"a quote at byte {place}"


def _inserted(content: bytes, random: Random) -> tuple[bytes, str]:
    place, what = (
        random.randrange(len(content) + 1),
        random.choice((*values.INVALID_UTF8, b"\0", b"\r", b"\n", b"\x1a")),
    )
    return content[:place] + what + content[place:], f"{what!r} at byte {place}"


def _other_delimiter(content: bytes, random: Random) -> tuple[bytes, str]:
    what = random.choice((b";", b"\t", b"|"))
    return content.replace(b",", what), f"{what!r} for each comma"


def _utf16(content: bytes, random: Random) -> tuple[bytes, str]:
    return content.decode("utf-8", "replace").encode("utf-16"), "UTF-16"


def _long_cell(content: bytes, random: Random) -> tuple[bytes, str]:
    place, what = random.randrange(len(content) + 1), random.choice((b"x", b"9", b" ", b"[", b'""'))
    return content[:place] + what * 1_000_000 + content[place:], f"a million of {what!r} at byte {place}"


def _byte_order_mark(content: bytes, random: Random) -> tuple[bytes, str]:
    return b"\xef\xbb\xbf" + content, "a byte order mark"


def _other_line_ends(content: bytes, random: Random) -> tuple[bytes, str]:
    plain = content.replace(b"\r\n", b"\n")
    return (plain if b"\r\n" in content else plain.replace(b"\n", b"\r\n")), "other line ends"


def _all_quoted(content: bytes, random: Random) -> tuple[bytes, str]:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(_parsed(content))
    return out.getvalue().encode(), "all cells quoted"


def _no_last_line_end(content: bytes, random: Random) -> tuple[bytes, str]:
    return content.rstrip(b"\r\n"), "without the last line end"


_CHANGES: dict[str, Change] = {
    "set_number": _set_number, "set_text_number": _set_text_number, "set_text": _set_text,
    "swap_columns": _swap_columns, "drop_column": _drop_column, "rename_column": _rename_column,
    "duplicate_column": _duplicate_column, "many_columns": _many_columns, "header_only": _header_only,
    "no_header": _no_header, "header_again": _header_again, "delete_rows": _delete_rows,
    "duplicate_rows": _duplicate_rows, "ragged": _ragged,
}  # fmt: skip
_HARMLESS: dict[str, Change] = {
    "reorder_columns": _reorder_columns, "extra_column": _extra_column, "reorder_rows": _reorder_rows,
}  # fmt: skip
_RAW: dict[str, RawChange] = {
    "unclosed_quote": _unclosed_quote, "inserted": _inserted, "other_delimiter": _other_delimiter, "utf16": _utf16,
    "long_cell": _long_cell,
}  # fmt: skip
_HARMLESS_RAW: dict[str, RawChange] = {
    "byte_order_mark": _byte_order_mark, "other_line_ends": _other_line_ends, "all_quoted": _all_quoted,
    "no_last_line_end": _no_last_line_end,
}  # fmt: skip
