"""Values on the command line: numbers, names, paths, labels, URLs and queries that make no sense."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.fuzz.kind import Kind, Mutator, Places
from tests.fuzz.kinds import documents, stores
from tests.fuzz.mutators import values

_VALUES = (
    "0", "-1", "1-0", "0-", "-", "--", "1,,2", "9" * 12, "9" * 400, "9" * 5000, "0-999999,1000000-1999999",
    ",".join(f"{n}000000-{n}999999" for n in range(1, 300)), "1e9", "٣", "nan", "inf", "-inf", "1e999", "0x10", "1_000",
    ".", "..", "/", "~", "/dev/null", "/dev/zero", "/dev/stdin", "/proc/self/environ", "/proc/self/fd/0", "x" * 5000,
    "a=b", "=", "==", "a=", "=b", "@", "@x", "@x/y", "@../..", "x@9999999999999", "s3://", "http://",
    "file:///etc/passwd",
    "gs://x/y", "postgresql://", "postgresql://u:p@127.0.0.1:1/x", "postgresql://:99999999/", "http://[::1",
    "://", "%00",
    "NUMBERS", "*", "[", "(?:a+)+$", "a\nb", "\ufeff", "😀" * 100, "1GiB", "-5GiB", "1e400GiB", "9" * 400 + "GiB",
    "SELECT 1; SELECT 2", "SELECT", "--", "SELECT * FROM range(1000) a, range(1000) b LIMIT 3", "ATTACH 'x'",
    "COPY (SELECT 1) TO 'x'", "SELECT repeat('x', 10)", "PRAGMA version", "SELECT 1/0, 0.0/0, NULL, [1], {'a': 1}",
    "SELECT * FROM read_text('/etc/passwd')", "SELECT getenv('HOME')", "INSTALL httpfs", "SELECT " + "(" * 5000,
    "2026-02-30", "9999-12-31", "0001-01-01",
)  # fmt: skip


def _write(home: Path) -> None:
    stores.FOREIGN.write(home)
    (home / "input" / documents.DIFF).write_text(documents.text_of_diff(), encoding="utf-8")


def _nothing(folder: Path, random: Random) -> str:
    return "odd values"


def _value(random: Random) -> str:
    text = random.choice((random.choice(_VALUES), values.text(random), str(values.number(random))))
    return text.replace("\0", "")[:100_000].encode("utf-8", "replace").decode()


def _commands(places: Places, random: Random) -> list[list[str]]:
    run, document, out = str(places.mutant / stores.RUN), str(places.mutant / documents.DIFF), str(places.out)
    value = _value(random)
    diff, add = ["diff", "-q", "-d", run, "-bp", run, "-o", out], ["history", "add", "-q", run, "--history", out]
    commands = [
        [*diff, "--step", value], [*diff, "--rank", value], [*diff, "--varied", value], [*diff, "--baselines", value],
        [*diff, "--format", value], [*diff, "--layout", value], [*diff, "--lang", value],
        ["diff", "-q", "-d", f"{value}={run}", "-bp", run, "-o", out], ["diff", "-q", "-d", value, "-bp", run,
        "-o", out],
        ["explain", value, document], ["report", document, "-o", out, "--format", value], ["show", "-q", value],
        ["show", "-q", run, "--step", value], ["sql", "-q", run, value], ["sql", "-q", run, "--table", value],
        ["gate", document, "--varied", value], ["gate", document, "--policy", value],
        ["gate", document, "--print", value], ["gate", value], ["gate", document, "--history", value], ["cache",
        "prune", "--max-size", value],
        ["baseline", "show", value, "--baselines", out], ["baseline", "list", "--baselines", value],
        ["baseline", "add", value, run, "--reason", value, "--baselines", out], [*add, "--label", value],
        ["history", "show", "--history", value], ["history", "changes", "--last", value, "--history", out], [value],
        [value, value],
    ]  # fmt: skip
    return [random.choice(commands)]


VALUES = Kind("arguments", _write, [Mutator("arguments.nothing", _nothing)], _commands)
