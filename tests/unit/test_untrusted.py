"""Policies and documents beyond any sense: refused in one line, soon, and in little memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rlcompare import untrusted
from rlcompare.cli.main import run
from rlcompare.report.document import to_document, to_json

from . import diff_examples

RULE = '[[rule]]\nmetric = "time.step"\nmax_increase = "5%"\n'

Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Runs a command; gives its exit code and what it printed to standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RLCOMPARE_CACHE_DIR", str(tmp_path / "cache"))

    def command(*words: object) -> tuple[int, str]:
        code = run([str(word) for word in words])
        return code, capfd.readouterr().err

    return command


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "diff.json"
    path.write_text(to_json(to_document(diff_examples.regression())))
    return path


def refused(outcome: tuple[int, str], code: int, *words: str) -> None:
    assert outcome[0] == code, outcome
    (line,) = outcome[1].splitlines()
    assert line.startswith("rlcompare: error: ")
    assert all(word in line for word in words), line
    assert len(line) < 1000


NUMBERS = {
    "400 digits": ("9" * 400, "more than 300 digits"),
    "5,000 digits": ("-" + "9" * 5000, "more than 300 digits"),
    "5,000 hexadecimal digits": ("0x" + "f" * 5000, "more than 300 digits"),
    "3,000 brackets": ("[" * 3000 + "]" * 3000, "nested too deeply"),
    "3,000 tables": ("{a = " * 3000 + "1" + "}" * 3000, "nested too deeply"),
    "a date that is none": ("2026-02-30", "Invalid date"),
}


class TestPolicy:
    @pytest.mark.parametrize("which", NUMBERS)
    @pytest.mark.parametrize("key", ["max_increase", "noise", "expires", "zzz"])
    def test_a_value_beyond_any_sense(self, call: Call, document: Path, tmp_path: Path, which: str, key: str) -> None:
        value, problem = NUMBERS[which]
        line = f"{key} = {value}\n"
        text = RULE.replace('max_increase = "5%"\n', line) if key == "max_increase" else RULE + line
        (tmp_path / "policy.toml").write_text(text)
        refused(call("gate", document, "--policy", "policy.toml"), 2, "policy.toml", problem)

    @pytest.mark.parametrize("key", ["max_increase", "zzz"])
    def test_a_key_of_very_many_parts(self, call: Call, document: Path, tmp_path: Path, key: str) -> None:
        """The reader takes it without recursion, but Python cannot print it."""
        line = f"{key}{'.a' * 5000} = 1\n"
        (tmp_path / "policy.toml").write_text(RULE.replace('max_increase = "5%"\n', line))
        refused(call("gate", document, "--policy", "policy.toml"), 2, "policy.toml", "nested too deeply")

    @pytest.mark.parametrize("which", ["5,000 digits", "3,000 brackets"])
    def test_somewhere_else_in_a_pyproject(self, call: Call, document: Path, tmp_path: Path, which: str) -> None:
        (tmp_path / "pyproject.toml").write_text(f"# rlcompare\n[tool.other]\nx = {NUMBERS[which][0]}\n")
        refused(call("gate", document), 2, "pyproject.toml", NUMBERS[which][1])

    @pytest.mark.parametrize("text", ["9" * 400 + "%", "9" * 400 + "ms"])
    def test_a_limit_that_is_infinite(self, call: Call, document: Path, tmp_path: Path, text: str) -> None:
        key = "max_increase" if text.endswith("%") else "max_increase_abs"
        (tmp_path / "policy.toml").write_text(RULE.replace('max_increase = "5%"', f'{key} = "{text}"'))
        refused(call("gate", document, "--policy", "policy.toml"), 2, "policy.toml:3", key)

    @pytest.mark.slow
    def test_too_many_rules_files_or_letters(self, call: Call, document: Path, tmp_path: Path) -> None:
        cases = {
            "more than 2,000 rules": RULE * 2001,
            "more than 100 files": f"extends = {json.dumps(['default'] * 500)}\n{RULE}",
            "at most 1000 characters": RULE.replace("time.step", "x" * 1001),
            "larger than 1 MiB": "#" * (2**20 + 1),
            "is not a policy key": f'"{"k" * 900_000}" = 1\n{RULE}',
        }
        for problem, text in cases.items():
            (tmp_path / "policy.toml").write_text(text)
            refused(call("gate", document, "--policy", "policy.toml"), 2, "policy.toml", problem)

    def test_2000_rules_are_read_in_time(self, call: Call, tmp_path: Path) -> None:
        rules = "".join(RULE.replace("time.step", f"metric/{number}.*x") for number in range(2000))
        (tmp_path / "policy.toml").write_text(rules)
        assert call("gate", "--print-policy", "--policy", "policy.toml") == (0, "")

    def test_a_place_with_a_nul_character(self, call: Call, tmp_path: Path) -> None:
        (tmp_path / "rlcompare.toml").write_text(f'[gate]\nbaselines = "a\\u0000b"\nhistory = "a\\u0000b"\n{RULE}')
        assert call("baseline", "list")[0] == 0  # what is wrong with a policy, the gate says
        refused(call("history", "show"), 2, "rlcompare.toml", "history contains a NUL character")
        (tmp_path / "rlcompare.toml").write_text(f'extends = "a\\u0000b.toml"\n{RULE}')
        refused(call("gate", "--print-policy"), 2, "rlcompare.toml", "there is no file")

    def test_harmless_encodings(self, call: Call, document: Path, tmp_path: Path) -> None:
        expected = None
        for text in (RULE.encode(), b"\xef\xbb\xbf" + RULE.encode(), RULE.replace("\n", "\r\n").encode()):
            (tmp_path / "policy.toml").write_bytes(text)
            outcome = call("gate", document, "--policy", "policy.toml")
            expected = expected or outcome
            assert outcome == expected


VALUES = {
    "5,000 digits": ("9" * 5000, "more than 300 digits"),
    "400 digits": ("9" * 400, "finite number"),
    "1e999999": ("1e999999", "finite number"),
    "NaN": ("NaN", "finite number"),
    "3,000 brackets": ("[" * 3000 + "]" * 3000, "nested too deeply"),
    "100,000 objects": ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
}


class TestDocument:
    @pytest.mark.parametrize("which", VALUES)
    def test_a_value_beyond_any_sense(self, call: Call, document: Path, which: str) -> None:
        value, problem = VALUES[which]
        document.write_text(f'{{"unknown": {value}, {document.read_text()[1:]}')
        for command in (("gate", document), ("report", document, "-o", "page.html"), ("explain", "1", document)):
            refused(call(*command), 4, "diff.json", problem)
        assert not Path("page.html").exists()

    def test_more_values_than_memory_holds(self, call: Call, document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(untrusted, "MOST_VALUES", 1000)
        document.write_text(f'{{"unknown": [{"[]," * 1000}[]], {document.read_text()[1:]}')
        refused(call("gate", document), 4, "more than 1,000 values")


@pytest.fixture
def odd(tmp_path: Path) -> dict[str, Path]:
    """Paths that are no small regular files, by what is to be said of them."""
    paths = {name: tmp_path / name for name in ("fifo", "folder", "loop", "zeros")}
    os.mkfifo(paths["fifo"])
    paths["folder"].mkdir()
    paths["loop"].symlink_to("loop")
    with paths["zeros"].open("wb") as file:
        file.truncate(5 * 2**30)
    return {
        "a pipe or a device": paths["fifo"],
        "a pipe or a device ": Path("/dev/zero"),
        "a folder": paths["folder"],
        "symbolic links": paths["loop"],
        "larger than": paths["zeros"],
    }


def test_what_is_no_regular_file_is_not_waited_for(call: Call, document: Path, odd: dict[str, Path]) -> None:
    for problem, path in odd.items():
        said = problem.strip()
        refused(call("gate", path), 4, str(path), said)
        refused(call("gate", document, "--policy", path), 2, str(path), said)
        if said != "a folder":  # click refuses it
            refused(call("report", path, "-o", "page.html"), 4, str(path), said)
            refused(call("explain", "1", path), 4, str(path), said)


def test_a_pipe_that_the_user_made_is_read(call: Call, document: Path) -> None:
    expected = call("gate", document)
    reader, writer = os.pipe()
    content = document.read_bytes()
    assert len(content) < 65_536  # what a pipe holds
    os.write(writer, content)
    os.close(writer)
    try:
        assert call("gate", f"/dev/fd/{reader}") == expected
    finally:
        os.close(reader)
