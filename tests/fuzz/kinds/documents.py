"""Documents that users write or pass on: ``diff.json``, a policy, the settings of a repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from rlcompare.report.document import to_document, to_json
from tests.fuzz.kind import Kind, Mutator, NotApplicableError, Places
from tests.fuzz.mutators import files, json_text, lines
from tests.unit import diff_examples

DIFF = "diff.json"
POLICY = "rlcompare.toml"


def text_of_diff() -> str:
    """A sound ``diff.json``."""
    return to_json(to_document(diff_examples.regression()))


def _write_diff(home: Path) -> None:
    (home / "input").mkdir()
    (home / "input" / DIFF).write_text(text_of_diff(), encoding="utf-8")


def _readers(places: Places, random: Random) -> list[list[str]]:
    document, page = str(places.mutant / DIFF), str(places.out.with_name("page.html"))
    commands = [
        ["gate", document], ["gate", document, "--json"], ["gate", document, "--preset", "strict", "--print", "pr"],
        ["gate", "--selftest", document],
        ["report", document, "-o", page], ["report", document, "-o", "-", "--format", "md"],
        ["report", document, "-o", page.replace("html", "xlsx")], ["report", document, "-o", page, "--lang", "zh-CN"],
        ["explain", "1", document], ["explain", "unexplained", document], ["explain", "time.step", document],
    ]  # fmt: skip
    return random.sample(commands, 3)


POLICIES = """\
extends = "strict"

[gate]
evidence = "auto"
on_inconclusive = "warn"
varied = ["cann", "torch_*"]
noise = "3%"

[[rule]]
metric = "headline"
max_increase = "5%"
max_increase_abs = "1ms"
message = "The step is slower."

[[rule]]
metric = "phase.*.wall"
max_increase = 0.1
severity = "warn"
optional = true
except_for = ["phase.adv.wall"]

[[rule]]
metric = "memory.peak_allocated"
max_increase_abs = "64MiB"
expires = 2030-12-31
reason = "known"

[[rule]]
metric = "actor/entropy"
min = 0.01
max = 3
optional = true
"""

_VALUES = (
    "9" * 400, "9" * 5000, "-1", "0", "1e999999", "nan", "-inf", "0x" + "f" * 5000, "[" * 3000 + "]" * 3000,
    "{a=" * 900 + "1" + "}" * 900, '""', '"5%"', '"1e9%"', '"9999999999999999%"', '"0.0000001ms"', '"*"', '"[*?"',
    '"headline@p95"', '"phase.*.*@p99"', "true", "[]", '["*"]', '["", "x"]', "2026-02-30", "0001-01-01", "9999-12-31",
    "2026-01-01T00:00:00Z", "1979-05-27", '"strict"', '["strict", "default"]', '"nowhere.toml"', '"rlcompare.toml"',
    "'''\n'''", '"\\u0000"', '"\\u202e<script>alert(1)</script>"', '"' + "x" * 100_000 + '"', "{}", "[[]]", '"٣%"',
)  # fmt: skip


def _key_value(content: bytes, random: Random) -> tuple[bytes, str]:
    """Another value for a key of the policy."""
    all_lines = content.split(b"\n")
    places = [place for place, line in enumerate(all_lines) if b" = " in line]
    if not places:
        raise NotApplicableError
    place, value = random.choice(places), random.choice(_VALUES)
    key = all_lines[place].split(b" = ")[0]
    all_lines[place] = key + b" = " + value.encode("utf-8")
    return b"\n".join(all_lines), f"{key.decode('latin-1')} is {value[:40]}"


def _key_moved(content: bytes, random: Random) -> tuple[bytes, str]:
    """A key of one table in another one."""
    all_lines = content.split(b"\n")
    keys = [line for line in all_lines if b" = " in line]
    if not keys:
        raise NotApplicableError
    line, place = random.choice(keys), random.randrange(len(all_lines))
    return b"\n".join([*all_lines[:place], line, *all_lines[place:]]), f"{line[:40]!r} also in line {place + 1}"


def _of_text(name: str, change: Callable[[bytes, Random], tuple[bytes, str]]) -> Mutator:
    def apply(folder: Path, random: Random) -> str:
        path = folder / POLICY
        if not path.is_file() or path.is_symlink():
            raise NotApplicableError
        content, done = change(path.read_bytes(), random)
        path.write_bytes(content)
        return done

    return Mutator(f"policy.{name}", apply)


def _write_policy(home: Path) -> None:
    _write_diff(home)
    (home / "input" / POLICY).write_text(POLICIES, encoding="utf-8")


def _gates(places: Places, random: Random) -> list[list[str]]:
    document, policy = str(places.home / "input" / DIFF), str(places.mutant / POLICY)
    commands = [
        ["gate", document, "--policy", policy], ["gate", document, "--policy", policy, "--json"],
        ["gate", "--print-policy", "--policy", policy], ["gate", "--selftest", "--policy", policy],
        ["gate", "--selftest", document, "--policy", policy],
    ]  # fmt: skip
    return random.sample(commands, 2)


_CODES = frozenset({0, 1, 3, 4, 5})
"""Usage is right."""

DOCUMENT = Kind("diff_json", _write_diff, [*json_text.mutators(DIFF), *files.mutators(DIFF)], _readers, _CODES)
SETTINGS = Kind(
    "policy",
    _write_policy,
    [
        _of_text("value", _key_value),
        _of_text("moved", _key_moved),
        *lines.mutators(POLICY),
        *files.mutators(POLICY),
    ],
    _gates,
)
