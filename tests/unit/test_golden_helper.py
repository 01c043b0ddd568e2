"""The helper that compares with golden files is itself right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import UPDATE_VARIABLE, actual_path, assert_golden


@pytest.fixture(autouse=True)
def _no_update(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(UPDATE_VARIABLE, raising=False)


def test_equal_output_passes_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("same\n")
    assert_golden("a.txt", "same\n", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_mismatch_saves_the_actual_output_beside_the_expected_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    with pytest.raises(AssertionError, match=r"(?s)a\.actual\.txt.*-two.*\+three"):
        assert_golden("a.txt", "one\nthree\n", tmp_path)
    assert (tmp_path / "a.actual.txt").read_text() == "one\nthree\n"
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"


def test_what_was_saved_goes_away_once_the_output_is_right(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("right")
    with pytest.raises(AssertionError):
        assert_golden("a.txt", "wrong", tmp_path)
    assert_golden("a.txt", "right", tmp_path)
    assert not actual_path("a.txt", tmp_path).exists()


def test_line_ends_count(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"x\r\n")
    with pytest.raises(AssertionError):
        assert_golden("a.csv", "x\n", tmp_path)


def test_missing_expected_file_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="there is no expected"):
        assert_golden("new.txt", "x", tmp_path)


def test_update_rewrites_the_expected_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UPDATE_VARIABLE, "1")
    assert_golden("sub/new.txt", "x\n", tmp_path)
    assert (tmp_path / "sub" / "new.txt").read_text() == "x\n"
