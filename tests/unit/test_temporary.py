"""Where temporary files go."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from rlcompare import temporary
from rlcompare.errors import OutputError


def test_not_into_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes it where no other folder is writable, and it may be an input."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path)])
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(OutputError, match="no folder for temporary files is writable"):
        temporary.folder()
    assert list(tmp_path.iterdir()) == []


def test_into_the_current_folder_if_it_was_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with temporary.folder() as folder:
        assert Path(folder).parent == tmp_path
