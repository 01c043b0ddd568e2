"""Run stores (DuckDB) from somebody else: foreign, damaged, of other versions, with values that none of ours has."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from tests.fuzz.kind import Kind, Mutator, NotApplicableError, Places
from tests.fuzz.kinds.logs import STEPS
from tests.fuzz.kinds.samples import STORE, run_or_fail
from tests.fuzz.mutators import files, values
from tests.verl_logs import console_log

RUN = "run.duckdb"

_TABLES = (
    "meta", "env", "capture", "metric", "step", "kernel", "finding", "r_time", "r_kernel", "r_phase", "r_collective",
)  # fmt: skip
_TYPES = ("VARCHAR", "DOUBLE", "BLOB", "INTEGER[]", "DATE", "HUGEINT", "JSON")


def _write(home: Path) -> None:
    log = home / "job.log"
    log.write_text(console_log(STEPS), encoding="utf-8")
    (home / "input").mkdir()
    run_or_fail(home, "ingest", "-q", log, "-o", home / "input" / RUN)
    run_or_fail(home, "ingest", "-q", log, "-o", home / STORE)


def _execute(path: Path, statements: Sequence[str]) -> bool:
    """Whether a process of its own ran these statements on a store: this one never opens DuckDB."""
    child = os.fork()
    if not child:
        try:
            import duckdb

            with duckdb.connect(str(path), config={"threads": 1}) as con:
                for statement in statements:
                    con.execute(statement)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _sql(name: str, draw: Callable[[Random], Sequence[str]]) -> Mutator:
    def apply(folder: Path, random: Random) -> str:
        path = folder / RUN
        statements = draw(random)
        if not path.is_file() or path.is_symlink() or not _execute(path, statements):
            raise NotApplicableError
        return "; ".join(statements)[:200]

    return Mutator(f"store.{name}", apply)


def _drop(random: Random) -> Sequence[str]:
    return [f"DROP TABLE {random.choice(_TABLES)}"]


def _empty(random: Random) -> Sequence[str]:
    return [f"DELETE FROM {random.choice(_TABLES)}"]


def _column(random: Random) -> Sequence[str]:
    table, column = random.choice(_COLUMNS)
    change = random.choice(("DROP COLUMN {}", "RENAME COLUMN {} TO other", "ALTER {} TYPE {} USING NULL"))
    return [f"ALTER TABLE {table} {change.format(column, random.choice(_TYPES))}"]


_COLUMNS = (
    ("meta", "key"), ("meta", "value"), ("metric", "step"), ("metric", "name"), ("metric", "value"),
    ("metric", "profiled"), ("metric", "warmup"), ("metric", "source"), ("env", "key"), ("env", "value"),
    ("env", "capture"), ("finding", "message"), ("finding", "severity"), ("r_time", "compute_ns"),
)  # fmt: skip


def _meta(random: Random) -> Sequence[str]:
    value = random.choice(("999", "1", "-1", "0", "x", "", "9" * 400, "٣", "NULL"))
    key = random.choice(("schema_version", "schema_version", "content", "events", "paths", "fingerprint", "filled"))
    return [f"UPDATE meta SET value = {'NULL' if value == 'NULL' else repr(value)} WHERE key = '{key}'"]


def _metric(random: Random) -> Sequence[str]:
    drawn = random.choice(
        ("1e308 * (CASE WHEN step % 2 = 0 THEN 1 ELSE -1 END)", "1e155", "1e100", "-1e100", "1e12", "'nan'", "'-inf'",
         "NULL", "0", "-0.0", "1e-320", "value * 1e90", str(values.number(random)))
    )  # fmt: skip
    where = random.choice(("TRUE", "name LIKE 'timing_s/%'", "step = 5", "step % 3 = 0", "name = 'timing_s/step'"))
    return [f"UPDATE metric SET value = {drawn} WHERE {where}"]


def _steps(random: Random) -> Sequence[str]:
    drawn = random.choice(
        ("9223372036854775807 - step", "-9223372036854775807 + step", "-step", "0", "NULL", "step * 1000000000000")
    )
    return [f"UPDATE metric SET step = {drawn}"]


def _text(random: Random) -> Sequence[str]:
    text = values.text(random).replace("'", "''").replace("\0", "")
    target = random.choice(
        ("metric SET name = '{}' WHERE name LIKE 'actor/%'", "metric SET source = '{}'", "env SET value = '{}'",
         "finding SET message = '{}'", "finding SET severity = '{}'", "meta SET value = '{}' WHERE key = 'content'")
    )  # fmt: skip
    return ["UPDATE " + target.format(text)]


def _shadow(random: Random) -> Sequence[str]:
    return [
        random.choice(
            (
                "CREATE MACRO sum(x) AS 42",
                "CREATE MACRO abs(x) AS 1",
                "CREATE VIEW c_metric AS SELECT 1 AS x",
                "CREATE TABLE c_metric (x INTEGER)",
                "CREATE SCHEMA other",
                "CREATE TYPE VARCHAR2 AS ENUM ('a')",
                "CREATE SEQUENCE meta_number",
                "CREATE INDEX i ON metric (name)",
                "CREATE TABLE huge AS SELECT range AS i FROM range(1000000)",
            )
        )
    ]


def _many(random: Random) -> Sequence[str]:
    return [
        random.choice(
            (
                "INSERT INTO metric BY NAME SELECT i AS step, 'm/' || i AS name, i AS value, 's' AS source,"
                " FALSE AS profiled FROM range(20000) t(i)",
                "INSERT INTO metric BY NAME FROM metric",
                "INSERT INTO env BY NAME SELECT 'k' || i AS key, 'v' AS value FROM range(20000) t(i)",
                "INSERT INTO meta BY NAME FROM meta",
                "INSERT INTO finding BY NAME SELECT 'warning' AS severity, 'k' || i AS key, 'm' || i AS message"
                " FROM range(20000) t(i)",
            )
        )
    ]


def _other(folder: Path, random: Random) -> str:
    path = folder / RUN
    if path.is_dir():  # another mutator made it one
        raise NotApplicableError
    path.unlink(missing_ok=True)
    _execute(path, random.choice((["CREATE TABLE t AS SELECT 1 AS a"], ["CREATE TABLE meta (key INTEGER)"], [])))
    return "another database"


def _commands(places: Places, random: Random) -> list[list[str]]:
    run, sound, out = str(places.mutant / RUN), str(places.home / STORE), str(places.out)
    shown = [
        ["show", "-q", run], ["show", "-q", run, "--json"], ["sql", "-q", run, "SELECT * FROM metric LIMIT 9"],
        ["gate", "-q", "-d", run, "-bp", sound, "--preset", "strict"],
    ]  # fmt: skip
    sides = random.choice(((run, sound), (run, sound), (sound, run)))
    return [random.choice(shown), ["diff", "-q", "-d", sides[0], "-bp", sides[1], "-o", out]]


_SQL = {
    "drop": _drop, "empty": _empty, "column": _column, "meta": _meta, "metric": _metric, "steps": _steps,
    "text": _text, "shadow": _shadow, "many": _many,
}  # fmt: skip

FOREIGN = Kind(
    "store",
    _write,
    [*(_sql(name, draw) for name, draw in _SQL.items()), Mutator("store.other", _other), *files.mutators(RUN)],
    _commands,
)
