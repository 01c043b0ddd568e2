"""Mutators of SQLite databases: schema, rows, values, and how the file is laid out."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

from tests.fuzz.kind import Mutator, NotApplicableError, content_of, one_file
from tests.fuzz.mutators import values

Change = Callable[[sqlite3.Connection, Random], str]
FileChange = Callable[[Path, Random], str]


def mutators(pattern: str) -> list[Mutator]:
    """Mutators for one of the databases that match a pattern."""

    def of_file(change: FileChange) -> Callable[[Path, Random], str]:
        def apply(folder: Path, random: Random) -> str:
            path = one_file(folder, pattern, random)
            try:
                return f"{path.name}: {change(path, random)}"
            except (sqlite3.Error, UnicodeError) as error:  # another mutator has damaged it before
                raise NotApplicableError from error

        return apply

    def of(change: Change) -> Callable[[Path, Random], str]:
        def edit(path: Path, random: Random) -> str:
            with closing(sqlite3.connect(path, isolation_level=None)) as con:
                con.execute("BEGIN")
                done = change(con, random)
                con.execute("COMMIT")
            return done

        return of_file(edit)

    return [
        *(Mutator(f"sqlite.{name}", of(change)) for name, change in _CHANGES.items()),
        *(Mutator(f"sqlite.{name}", of(change), harmless=True) for name, change in _HARMLESS.items()),
        *(Mutator(f"sqlite.{name}", of_file(change)) for name, change in _FILE_CHANGES.items()),
        *(Mutator(f"sqlite.{name}", of_file(change), harmless=True) for name, change in _HARMLESS_FILES.items()),
    ]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _tables(con: sqlite3.Connection) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    return [name for (name,) in con.execute(query)]


def _table(con: sqlite3.Connection, random: Random) -> str:
    """The name of a table that has rows, quoted."""
    full = [name for name in _tables(con) if con.execute(f"SELECT 1 FROM {_quoted(name)} LIMIT 1").fetchone()]
    if not full:
        raise NotApplicableError
    return _quoted(random.choice(full))


def _columns(con: sqlite3.Connection, table: str) -> list[tuple[str, str]]:
    """Names, quoted, and declared types."""
    return [(_quoted(row[1]), row[2].upper()) for row in con.execute(f"PRAGMA table_info({table})")]


def _column(con: sqlite3.Connection, table: str, random: Random, *, numeric: bool | None = None) -> str:
    found = [name for name, kind in _columns(con, table) if numeric is None or ("TEXT" in kind) != numeric]
    if not found:
        raise NotApplicableError
    return random.choice(found)


def _some(random: Random) -> str:
    """A condition that holds for some rows: one, a few, many or all."""
    every = random.choice((1, 2, 7, 31, 100_000))
    return f"(rowid + {random.randrange(every)}) % {every} = 0"


def _drop_table(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    con.execute(f"DROP TABLE {table}")
    return f"dropped {table}"


def _empty_table(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    con.execute(f"DELETE FROM {table}")
    return f"emptied {table}"


def _rename_table(con: sqlite3.Connection, random: Random) -> str:
    table, name = _table(con, random), random.choice(("x", "a b", "a\nb", "\x1b[31m", "select", "日本"))
    con.execute(f"ALTER TABLE {table} RENAME TO {_quoted(name)}")
    return f"renamed {table} to {name!r}"


def _drop_column(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    column = _column(con, table, random)
    con.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    return f"dropped {table}.{column}"


def _rename_column(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    column = _column(con, table, random)
    con.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO {_quoted(random.choice(('x', 'a b', 'rowid')))}")
    return f"renamed {table}.{column}"


def _retype(con: sqlite3.Connection, random: Random) -> str:
    """The same table with other declared types: the scanner goes by them."""
    table = _table(con, random)
    kind = random.choice(("TEXT", "REAL", "BLOB", "NUMERIC", "INTEGER", "DATETIME", "BOOLEAN", "VARCHAR(3)", ""))
    chosen = _column(con, table, random)
    columns = ", ".join(f"{name} {kind if name == chosen else own}" for name, own in _columns(con, table))
    con.execute(f"CREATE TABLE fuzz_new ({columns})")
    con.execute(f"INSERT INTO fuzz_new SELECT * FROM {table}")
    con.execute(f"DROP TABLE {table}")
    con.execute(f"ALTER TABLE fuzz_new RENAME TO {table}")
    return f"{table}.{chosen} is declared {kind or 'without a type'}"


def _swap_columns(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    a, b = _column(con, table, random), _column(con, table, random)
    con.execute(f"UPDATE {table} SET {a} = {b}, {b} = {a} WHERE {_some(random)}")
    return f"{table}: {a} and {b} swapped"


def _set(con: sqlite3.Connection, random: Random, value: object, *, numeric: bool | None = None) -> str:
    table = _table(con, random)
    column, some = _column(con, table, random, numeric=numeric), _some(random)
    count = con.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {some}", [value]).rowcount
    return f"{table}.{column} = {value!r:.60} in {count} rows"


def _set_null(con: sqlite3.Connection, random: Random) -> str:
    return _set(con, random, None)


def _set_number(con: sqlite3.Connection, random: Random) -> str:
    return _set(con, random, values.number(random), numeric=True)


def _set_text_number(con: sqlite3.Connection, random: Random) -> str:
    return _set(con, random, random.choice(values.NUMBERS_AS_TEXT))


def _set_text(con: sqlite3.Connection, random: Random) -> str:
    return _set(con, random, values.text(random))


def _set_name(con: sqlite3.Connection, random: Random) -> str:
    return _set(con, random, values.text(random), numeric=False)


def _set_blob(con: sqlite3.Connection, random: Random) -> str:
    return _set(con, random, random.choice((*values.INVALID_UTF8, b"", b"\0" * 8)))


def _invalid_text(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    column, some = _column(con, table, random, numeric=False), _some(random)
    raw = random.choice(values.INVALID_UTF8)
    con.execute(f"UPDATE OR IGNORE {table} SET {column} = CAST(? AS TEXT) WHERE {some}", [raw])
    return f"{table}.{column} has the text {raw!r}"


def _set_infinity(con: sqlite3.Connection, random: Random) -> str:
    return _set(con, random, random.choice((float("inf"), float("-inf"))), numeric=True)


def _times(con: sqlite3.Connection, random: Random) -> tuple[str, list[str]]:
    """A table with columns of times, and those."""
    words = ("ns", "start", "end", "time", "dur")
    found = {}
    for name in _tables(con):
        columns = [column for column, _ in _columns(con, _quoted(name)) if any(w in column.lower() for w in words)]
        if columns and con.execute(f"SELECT 1 FROM {_quoted(name)} LIMIT 1").fetchone():
            found[_quoted(name)] = columns
    if not found:
        raise NotApplicableError
    table = random.choice(list(found))
    return table, found[table]


def _shift_times(con: sqlite3.Connection, random: Random) -> str:
    table, columns = _times(con, random)
    column, by = random.choice(columns), values.integer(random)
    con.execute(f"UPDATE {table} SET {column} = CAST({column} AS INTEGER) + ? WHERE {_some(random)}", [by])
    return f"{table}.{column} shifted by {by}"


def _shift_all_times(con: sqlite3.Connection, random: Random) -> str:
    table, columns = _times(con, random)
    by, some = random.choice((-1, 1)) * 10 ** random.randrange(3, 18), _some(random)
    for column in columns:
        con.execute(f"UPDATE {table} SET {column} = CAST({column} AS INTEGER) + ? WHERE {some}", [by])
    return f"all times of {table} shifted by {by}"


def _scale_times(con: sqlite3.Connection, random: Random) -> str:
    table, columns = _times(con, random)
    column, by = random.choice(columns), random.choice((0, -1, 0.001, 0.5, 2, 1000, 10**6))
    con.execute(f"UPDATE {table} SET {column} = CAST({column} * ? AS INTEGER) WHERE {_some(random)}", [by])
    return f"{table}.{column} times {by}"


def _one_time(con: sqlite3.Connection, random: Random) -> str:
    table, columns = _times(con, random)
    for column in columns:
        con.execute(f"UPDATE {table} SET {column} = (SELECT {column} FROM {table} LIMIT 1)")
    return f"all rows of {table} have the times of one"


def _jitter_times(con: sqlite3.Connection, random: Random) -> str:
    """Intervals overlap that do not: each time moves by up to a few milliseconds."""
    table, columns = _times(con, random)
    con.create_function("fuzz_draw", 1, lambda most: random.randrange(-most, most + 1))
    most = 10 ** random.randrange(3, 8)
    column = random.choice(columns)
    con.execute(f"UPDATE {table} SET {column} = CAST({column} AS INTEGER) + fuzz_draw({most}) WHERE {_some(random)}")
    return f"{table}.{column} moved by up to {most} ns"


def _duplicate_rows(con: sqlite3.Connection, random: Random) -> str:
    table, times = _table(con, random), random.choice((1, 1, 2, 5))
    for _ in range(times):
        con.execute(f"INSERT OR IGNORE INTO {table} SELECT * FROM {table} WHERE {_some(random)} LIMIT 20000")
    return f"rows of {table} duplicated"


def _delete_rows(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    count = con.execute(f"DELETE FROM {table} WHERE {_some(random)}").rowcount
    return f"{count} rows of {table} deleted"


def _dangling_ids(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    column = _column(con, table, random, numeric=True)
    by = random.choice((1, 10**6, -(10**6)))
    con.execute(f"UPDATE OR IGNORE {table} SET {column} = {column} + ? WHERE {_some(random)}", [by])
    return f"{table}.{column} refers {by} farther"


def _shuffled_ids(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    column = _column(con, table, random, numeric=True)
    kept = [value for (value,) in con.execute(f"SELECT {column} FROM {table}")]
    con.create_function("fuzz_any", 0, lambda: random.choice(kept))
    con.execute(f"UPDATE OR IGNORE {table} SET {column} = fuzz_any() WHERE {_some(random)}")
    return f"{table}.{column} shuffled"


def _view(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    body = random.choice(
        (
            "SELECT * FROM fuzz_old",
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
            "SELECT zeroblob(1000000000) AS name",
            "SELECT * FROM missing",
        )
    )
    con.execute(f"ALTER TABLE {table} RENAME TO fuzz_old")
    con.execute(f"CREATE VIEW {table} AS {body}")
    return f"{table} is a view: {body}"


def _generated(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    column = _column(con, table, random)
    con.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    con.execute(f"ALTER TABLE {table} ADD COLUMN {column} AS (hex(zeroblob(1000)))")
    return f"{table}.{column} is computed"


def _many_columns(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    for number in range(300):
        con.execute(f"ALTER TABLE {table} ADD COLUMN {_quoted(f'x{number}')}")
    return f"{table} has 300 columns more"


def _many_tables(con: sqlite3.Connection, random: Random) -> str:
    for number in range(1000):
        con.execute(f"CREATE TABLE fuzz_{number} (x)")
    return "1000 tables more"


def _extra_table(con: sqlite3.Connection, random: Random) -> str:
    con.execute(f"CREATE TABLE {_quoted(random.choice(('NEW_TABLE', 'a b', 'select')))} (x, y)")
    return "a table more"


def _extra_column(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    con.execute(f"ALTER TABLE {table} ADD COLUMN {random.choice(('x TEXT', 'x INTEGER DEFAULT 7', 'x BLOB'))}")
    return f"{table} has a column more"


def _reorder_rows(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    rows = con.execute(f"SELECT * FROM {table}").fetchall()
    random.shuffle(rows)
    con.execute(f"DELETE FROM {table}")
    con.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return f"rows of {table} shuffled"


def _index(con: sqlite3.Connection, random: Random) -> str:
    table = _table(con, random)
    column = _column(con, table, random)
    con.execute(f"CREATE INDEX fuzz_index ON {table} ({column})")
    return f"an index on {table}.{column}"


def _cut_page(path: Path, random: Random) -> str:
    content = bytearray(content_of(path))
    size = int.from_bytes(content[16:18], "big")
    size = 65536 if size == 1 else size
    if size < 512 or len(content) < 2 * size:
        raise NotApplicableError
    page = random.randrange(1, len(content) // size)
    filling = random.choice((bytes(size), b"\xff" * size, random.randbytes(size), bytes(content[:size])))
    content[page * size : (page + 1) * size] = filling
    path.write_bytes(content)
    return f"page {page} overwritten"


def _header(path: Path, random: Random) -> str:
    content = bytearray(content_of(path))
    if len(content) < 100:
        raise NotApplicableError
    place = random.choice((16, 18, 19, 20, 21, 24, 28, 32, 36, 44, 47, 56, 59, 92, 96))
    content[place : place + 2] = random.randbytes(2)
    path.write_bytes(content)
    return f"bytes {place} and {place + 1} of the header are {content[place]}, {content[place + 1]}"


def _wal_beside(path: Path, random: Random) -> str:
    """A log of another database, or none of sense, beside it."""
    log = random.choice((b"", b"\0" * 32, random.randbytes(5000), bytes.fromhex("377f0682002de218") + bytes(5000)))
    name = path.name + random.choice(("-wal", "-journal", "-shm"))
    path.with_name(name).write_bytes(log)
    if random.random() < 0.5 and name.endswith("-wal"):
        content = bytearray(content_of(path))
        content[18:20] = b"\x02\x02"
        path.write_bytes(content)
    return f"{name} of {len(log)} bytes"


def _uncommitted_log(path: Path, random: Random) -> str:
    """A database in WAL mode with its last changes in the log alone, as a process that was killed leaves it."""
    copy = path.with_name("fuzz-copy")
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.execute("PRAGMA journal_mode = WAL")
        con.execute("PRAGMA wal_autocheckpoint = 0")
        con.execute("CREATE TABLE fuzz_in_log (x)")
        con.execute("INSERT INTO fuzz_in_log VALUES (1)")
        shutil.copyfile(path, copy)
        log = content_of(path.with_name(path.name + "-wal"))
    copy.replace(path)
    path.with_name(path.name + "-wal").write_bytes(log)
    return "its last changes are in the log"


def _vacuum(path: Path, random: Random) -> str:
    size = random.choice((512, 1024, 8192, 65536))
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.execute(f"PRAGMA page_size = {size}")
        con.execute("VACUUM")
    return f"vacuumed with pages of {size} bytes"


def _utf16(path: Path, random: Random) -> str:
    copy = path.with_name("fuzz-copy")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        target.execute("PRAGMA encoding = 'UTF-16'")
        for statement in source.iterdump():
            target.execute(statement)
        target.commit()
    copy.replace(path)
    return "its texts are UTF-16"


def _wal_mode(path: Path, random: Random) -> str:
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.execute("PRAGMA journal_mode = WAL")
    return "in WAL mode"


_CHANGES: dict[str, Change] = {
    "drop_table": _drop_table, "empty_table": _empty_table, "rename_table": _rename_table,
    "drop_column": _drop_column, "rename_column": _rename_column, "retype": _retype, "swap_columns": _swap_columns,
    "set_null": _set_null, "set_number": _set_number, "set_text_number": _set_text_number, "set_text": _set_text,
    "set_name": _set_name, "set_blob": _set_blob, "invalid_text": _invalid_text, "set_infinity": _set_infinity,
    "shift_times": _shift_times, "shift_all_times": _shift_all_times, "scale_times": _scale_times,
    "one_time": _one_time, "jitter_times": _jitter_times, "duplicate_rows": _duplicate_rows,
    "delete_rows": _delete_rows, "dangling_ids": _dangling_ids, "shuffled_ids": _shuffled_ids, "view": _view,
    "generated": _generated, "many_columns": _many_columns, "many_tables": _many_tables,
}  # fmt: skip
_HARMLESS: dict[str, Change] = {
    "extra_table": _extra_table, "extra_column": _extra_column, "reorder_rows": _reorder_rows, "index": _index,
}  # fmt: skip
_FILE_CHANGES: dict[str, FileChange] = {"page": _cut_page, "header": _header, "wal_beside": _wal_beside}
_HARMLESS_FILES: dict[str, FileChange] = {
    "uncommitted_log": _uncommitted_log, "vacuum": _vacuum, "utf16": _utf16, "wal_mode": _wal_mode,
}  # fmt: skip
