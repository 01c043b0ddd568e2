"""Paths and names in documents lead nowhere, and SECURITY.md names tests that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from tests.cli.conftest import Command, ranks_of
from tests.run_directories import description, write_run

ROOT = Path(__file__).resolve().parents[2]
SECRET = "a line of somebody's private file"


@pytest.fixture(scope="module")
def document(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    from rlcompare.cli.main import run

    out = tmp_path_factory.mktemp("document") / "out"
    base, new = (str(ranks_of(samples / name)[0]) for name in ("base", "new"))
    assert run(["diff", "-d", new, "-bp", base, "-o", str(out), "-q"]) == 0
    return (out / "diff.json").read_text()


@pytest.mark.parametrize("is_link", [False, True])
@pytest.mark.parametrize("name", ["../../../private", "/private", "kernels/../../../private", "kernels"])
def test_paths_in_a_document_lead_nowhere(
    rlcompare: Command, document: str, tmp_path: Path, name: str, is_link: bool
) -> None:
    # GIVEN a diff.json that names another file as the rest of a section, and that file, which has the right form
    place = tmp_path / "in" / "side"
    (place / "data").mkdir(parents=True)
    found = json.loads(document)
    row = found["sections"]["kernels"][0]
    private = tmp_path / "private.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{**row, "name": SECRET}] * 2), private)
    rest = {"rows": 1, "baseline": 1.0, "new": 2.0, "delta": 1.0, "kind": None, "phase": None}
    found["sections"][name] = [row]
    found["section_info"][name] = {**found["section_info"]["kernels"], "rows": 2, "rest": [rest], "file": str(private)}
    (place / "diff.json").write_text(json.dumps(found))
    if is_link:
        (place / "data" / "kernels.parquet").symlink_to(private)
    # WHEN it is used THEN nothing of the file is told
    page = tmp_path / "page.html"
    for command in (("report", place / "diff.json", "-o", page), ("explain", "time.step", place / "diff.json")):
        outcome = rlcompare(*command)
        is_refused = name != "kernels" or (is_link and command[0] == "report")  # explain needs no other rows
        assert outcome.code == (4 if is_refused else 0), outcome.err
        assert SECRET not in outcome.out + outcome.err
    assert not page.exists() or SECRET not in page.read_text()


def test_a_run_lists_captures_elsewhere(rlcompare: Command, samples: Path, tmp_path: Path) -> None:
    # GIVEN a run.json that names a profile above its folder, by a path of each kind
    other = ranks_of(samples / "base")[0]
    for path in (str(other), f"../{other.name}", "profile/../../x", "~/x", "\x00", "a" * 5000):
        folder = write_run(tmp_path / "run", description() | {"captures": [{"path": path, "rank": 0}]})
        outcome = rlcompare("show", folder)
        # THEN the run is read without it
        assert outcome.code == 0, outcome.err
        assert "MatMul" not in outcome.out


def test_the_tests_that_the_policy_names_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/.]+)((?:::\w+)*)`", text)
    shared = [("tests/security/test_shared_hosts.py", f"::{name}") for name in re.findall(r"`(test_\w+)`", text)]
    assert len(named) > 20 and shared
    for path, parts in [*named, *shared]:
        assert (ROOT / path).exists(), path
        for part in parts.split("::")[1:]:
            assert re.search(rf"(def|class) {part}\b", (ROOT / path).read_text(encoding="utf-8")), (path, part)


def test_the_policy_names_no_person_and_no_machine() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "@" not in text.replace("`@", "")
    assert not re.search(r"/(home|root|work)/", text)
