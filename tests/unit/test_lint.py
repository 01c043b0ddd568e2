"""``make lint`` fails where the structure is broken: each test puts one fault into a copy of the project."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import rlcompare
from rlcompare.resources import resource_root
from tools import check_sql

ROOT = Path(__file__).resolve().parent.parent.parent

Change = Callable[[str, str, str], None]


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of sql/ in which nothing is wrong."""
    copy = tmp_path_factory.mktemp("lint") / "sql"
    shutil.copytree(resource_root("sql"), copy)
    assert check_sql.problems_of(copy) == []
    return copy


@pytest.fixture
def faulty(intact: Path) -> object:
    """Replaces a text in one file of the copy, for one test."""
    changed: dict[Path, str] = {}

    def change(name: str, old: str, new: str) -> None:
        path = intact / name
        text = changed.setdefault(path, path.read_text("utf-8"))
        assert text.count(old) == 1, f"{name} does not hold {old!r} once"
        path.write_text(text.replace(old, new), "utf-8")

    yield change
    for path, text in changed.items():
        path.write_text(text, "utf-8")


def said(root: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the command prints; it must fail."""
    assert check_sql.main(["--root", str(root)]) == 1
    return capsys.readouterr().err.splitlines()


@pytest.mark.slow
def test_the_command_says_nothing_of_our_own_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_sql.main([]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_the_example_of_a_source_follows_the_rules(intact: Path) -> None:
    place = intact / "sources" / "kernel_log"
    shutil.copytree(ROOT / "tests" / "sources" / "kernel_log" / "sql", place)
    try:
        assert check_sql.problems_of(intact) == []
    finally:
        shutil.rmtree(place)


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("file", "old", "new", "line", "words"),
    [
        (
            "normalize/placed.sql",
            "same_key(r.device_id, t.device_id)",
            "r.step IS NOT DISTINCT FROM t.id",
            14,
            "NULL may not match",
        ),
        ("rollup/r_copy.sql", "-- Depends on copy, phase.", "-- Depends on copy.", 6, "reads phase"),
        ("rollup/r_copy.sql", "-- Depends on copy, phase.", "-- Depends on copy, kernel, phase.", 2, "names kernel"),
        ("rollup/r_copy.sql", "-- Depends on copy, phase.", "-- Depends on copy and phase.", 2, "separated by commas"),
        ("normalize/chosen_step.sql", "-- Variables: ", "-- ", 6, "reads steps"),
        ("sources/macro/in_window.sql", "-- Variables: from_ns, holes, until_ns.\n", "", 4, "reads from_ns"),
        ("schema/events/kernel.sql", "  -- start, in ns since the epoch", "", 13, "column start_ns has no comment"),
        ("schema/views/busy.sql", "  -- start, in ns since the epoch", "", 10, "column start_ns has no comment"),
        ("compare/copy.sql", "FROM c_copy", "FROM c_copies", 6, "c_copies, which no SQL file makes"),
        ("compare/copy.sql", "-- Nothing without c_copy, ", "-- Nothing without c_api, ", 3, "statements say: c_copy"),
        ("compare/copy.sql", "GROUP BY kind;", "GROUP BY kind (;", 1, "sqlglot cannot parse"),
    ],
)
def test_a_fault_is_said_with_its_file_and_line(
    intact: Path,
    faulty: Change,
    capsys: pytest.CaptureFixture[str],
    file: str,
    old: str,
    new: str,
    line: int,
    words: str,
) -> None:
    faulty(file, old, new)
    found = [message for message in said(intact, capsys) if message.startswith(f"sql/{file}:")]
    assert any(message.startswith(f"sql/{file}:{line}: ") and words in message for message in found), found


@pytest.mark.slow
def test_an_order_left_to_the_alphabet_is_said(
    intact: Path, faulty: Change, capsys: pytest.CaptureFixture[str]
) -> None:
    """launches reads the kernels that too_long deletes."""
    faulty("normalize/launches.sql", "-- Runs after too_long.\n", "")
    found = [message for message in said(intact, capsys) if "too_long" in message]
    assert [message.startswith("sql/normalize/") and "'Runs after'" in message for message in found] == [True]


@pytest.mark.slow
def test_fix_writes_the_clauses_and_keeps_remarks(intact: Path, faulty: Change) -> None:
    steps = intact / "compare/load/step.sql"
    copies = intact / "rollup/r_copy.sql"
    before = steps.read_text("utf-8"), copies.read_text("utf-8")
    faulty("compare/load/step.sql", "-- Variables: run, ", "-- Variables: ")
    faulty("rollup/r_copy.sql", "-- Depends on copy, phase.\n", "-- Depends on nothing.\n")
    assert check_sql.main(["--root", str(intact), "--fix"]) == 0
    assert (steps.read_text("utf-8"), copies.read_text("utf-8")) == before
    assert "steps (empty: all)" in before[0]


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs import-linter on a copy of the package."""
    package = folder / "rlcompare"
    if not package.exists():
        shutil.copytree(
            Path(rlcompare.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "_resources")
        )
        shutil.copy(ROOT / "pyproject.toml", folder)
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, env={"PYTHONPATH": str(folder)}
    )


def test_parts_import_one_way(tmp_path: Path) -> None:
    result = lint_imports(tmp_path)
    assert result.returncode == 0, result.stdout
    with (tmp_path / "rlcompare/compare/rows.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef page() -> None:\n    import rlcompare.report.output\n")
    result = lint_imports(tmp_path)
    assert result.returncode == 1
    assert "rlcompare.compare is not allowed to import rlcompare.report" in result.stdout
