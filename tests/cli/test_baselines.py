"""Baselines: kept, cloned, replaced with a reason, and named as a side; damage and unfit runs are refused."""

from __future__ import annotations

import dataclasses
import errno
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import rlcompare as library
from rlcompare.baselines import library as library_module
from rlcompare.baselines import manifest as manifest_module
from rlcompare.baselines import places
from rlcompare.cli import main as command_line
from rlcompare.errors import UsageError
from tests.run_directories import description, write_run
from tests.stores import store_of

from .conftest import Command

STORE = Path(".rlcompare") / "baselines"
REASON = ("--reason", "the release of November")


def git(*arguments: object, folder: Path | None = None) -> str:
    command = ["git", "-c", "user.name=A. Tester", "-c", "user.email=a@example.com", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rlcompare: Command) -> Path:
    """The working folder: a git repository."""
    for name, value in (("GIT_CONFIG_GLOBAL", os.devnull), ("GIT_CONFIG_SYSTEM", os.devnull)):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RLCOMPARE_BASELINES", raising=False)
    git("init", "-q", ".")
    git("config", "user.name", "A. Tester")
    git("config", "user.email", "a@example.com")
    return Path.cwd()


def run_of(folder: Path, gen: float = 0.1, **further: Any) -> Path:
    """A run directory without a profile, quick to read."""
    return write_run(folder, description(**further), gen=gen)


@pytest.fixture(scope="module")
def runs_of_main(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of one setting."""
    folder = tmp_path_factory.mktemp("base")
    return [run_of(folder / f"run{number}", gen=0.1 + number / 1000) for number in (1, 2)]


@pytest.fixture(scope="module")
def main_once(runs_of_main: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    arguments = ["baseline", "add", "main", *map(str, runs_of_main), *REASON, "--store", str(folder)]
    assert command_line.run(arguments) == 0
    return folder / "main"


@pytest.fixture
def kept(repository: Path, main_once: Path) -> Path:
    """The folder of a baseline ``main`` of two runs, in the repository."""
    return Path(shutil.copytree(main_once, repository / STORE / "main"))


def manifest_of(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "baseline.json").read_text(encoding="utf-8"))
    return document


def without_names(document: dict[str, Any]) -> dict[str, Any]:
    """A diff.json without what depends on how the baseline was named on the command line."""
    side = document["baseline"]
    del side["label"]
    for run in side["runs"]:
        del run["path"]
    return document


PAIRS = {
    "Ascend, database against text": ("ascend-910b-2025-level01/db/level1", "ascend-910b-2025-level01/text/level1"),
    "CPU, two ranks": ("cpu-torch213-2rank/base", "cpu-torch213-2rank/changed"),
}


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
def test_the_same_diff_as_with_the_runs(repository: Path, rlcompare: Command, profiles: Path, pair: str) -> None:
    # GIVEN a baseline of a real profile
    base, new = (profiles / path for path in PAIRS[pair])
    added = rlcompare("baseline", "add", "main", base, *REASON, "--force")
    assert added.code == 0, added.err
    # THEN each run is below 1 MB, and the diff is the same, but for the names of the runs
    sizes = [path.stat().st_size for path in (STORE / "main").glob("*.duckdb.gz")]
    assert sizes and max(sizes) < 1_000_000
    documents = [
        json.loads(rlcompare("diff", "--json", "-bp", f"old={side}", "-d", f"new={new}").out) for side in (base, "main")
    ]
    assert without_names(documents[1]) == without_names(documents[0])


@pytest.mark.slow
def test_it_survives_a_clone(repository: Path, rlcompare: Command, samples: Path, tmp_path: Path) -> None:
    # GIVEN a baseline that is committed
    assert rlcompare("baseline", "add", "main", samples / "base", *REASON).code == 0
    git("add", ".")
    git("commit", "-qm", "A baseline")
    # WHEN another clone compares with it, from a folder inside
    git("clone", "-q", repository, tmp_path / "clone")
    (tmp_path / "clone" / "perf").mkdir()
    os.chdir(tmp_path / "clone" / "perf")
    with_name = rlcompare("diff", "--json", "-bp", "main", "-d", samples / "new")
    with_runs = rlcompare("diff", "--json", "-bp", samples / "base", "-d", samples / "new")
    # THEN nothing is lost, and names and commands lead back to the baseline
    document, expected = json.loads(with_name.out), json.loads(with_runs.out)
    assert (document["baseline"]["label"], document["baseline"]["runs"][0]["path"]) == ("@main", "@main")
    assert without_names(document) == without_names(expected)
    assert with_name.err == ""
    assert rlcompare("gate", "-bp", "cann82=@main", "-d", samples / "new").code == 1
    assert "MatMulV2" in rlcompare("show", "@main/base").out
    count = rlcompare("sql", "@main", "SELECT count(*) AS n FROM r_kernel", "--format", "json")
    assert json.loads(count.out)[0]["n"] > 10
    assert "made without events" in rlcompare("sql", "@main", "FROM kernel").err
    shown = rlcompare("baseline", "show", "main")
    assert shown.code == 0
    assert "the release of November" in shown.out and "by A. Tester" in shown.out
    # AND in Python
    with library.load("@main/base", quiet=True) as loaded:
        assert (loaded.name, len(loaded["kernels"]) > 0) == ("base", True)
        compared = library.diff(new=samples / "new", baseline=loaded, quiet=True)
    assert compared.headline is not None and compared.headline.new == expected["overall"][0]["new"]


def flip(path: Path, place: int = -20) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def conflict(path: Path) -> None:
    path.write_text("{\n<<<<<<< HEAD\n=======\n>>>>>>> other\n}")


def linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def hash_of(folder: Path) -> str:
    return str(manifest_of(folder)["versions"][0]["runs"][0]["sha256"])


def other_hash(folder: Path) -> None:
    old = hash_of(folder)
    replaced(folder / "baseline.json", old, old[:-1] + ("0" if old[-1] != "0" else "1"))


def first_run(folder: Path) -> Path:
    return folder / f"{hash_of(folder)[:16]}.duckdb.gz"


def without_version(folder: Path) -> None:
    document = manifest_of(folder)
    document["versions"] = []
    (folder / "baseline.json").write_text(json.dumps(document))


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a byte of a run": (lambda folder: flip(first_run(folder)), "does not match its hash"),
    "a hash": (other_hash, "version 1 does not match its digest"),
    "the reason": (
        lambda folder: replaced(folder / "baseline.json", "November", "May"),
        "does not match its digest",
    ),
    "a value": (lambda folder: replaced(folder / "baseline.json", '"value": 0', '"value": 1'), "not match its digest"),
    "a run is gone": (lambda folder: first_run(folder).unlink(), "its file is missing"),
    "a run is a link": (lambda folder: linked(first_run(folder)), "symbolic link"),
    "the manifest is a link": (lambda folder: linked(folder / "baseline.json"), "symbolic link"),
    "a merge went wrong": (lambda folder: conflict(folder / "baseline.json"), "conflict markers"),
    "half a manifest": (lambda folder: (folder / "baseline.json").write_bytes(b'{"schema": '), "not valid JSON"),
    "not text": (lambda folder: (folder / "baseline.json").write_bytes(b"\xff\xfe\x00"), "not valid JSON"),
    "deep": (lambda folder: (folder / "baseline.json").write_text("[" * 200_000), "not valid JSON"),
    "another document": (lambda folder: (folder / "baseline.json").write_text("[]"), "schema rlcompare.baseline/1"),
    "no versions": (without_version, "has no versions"),
    "another name": (lambda folder: replaced(folder / "baseline.json", '"name": "main"', '"name": "x"'), "another"),
}


@pytest.mark.slow
def test_damage_is_found(kept: Path, rlcompare: Command, tmp_path: Path) -> None:
    new = run_of(tmp_path / "new")
    files = {path.name: path.read_bytes() for path in kept.iterdir()}
    for name, (damage, said) in DAMAGE.items():
        damage(kept)
        for command in (("diff", "-bp", "main", "-d", new), ("show", "@main/run1"), ("baseline", "show", "main")):
            result = rlcompare(*command)
            assert (result.code, said in result.err) == (4, True), (name, command, result.err)
            assert "rlcompare baseline promote" in result.err or "promote again" in result.err or "link" in result.err
        for path in kept.iterdir():
            path.unlink()
        for file, data in files.items():
            (kept / file).write_bytes(data)
    assert rlcompare("diff", "-bp", "main", "-d", new).code == 0


@pytest.mark.slow
def test_a_manifest_of_somebody_who_computed_all_hashes_again(kept: Path, rlcompare: Command, tmp_path: Path) -> None:
    """Hashes that match are no reason for trust: what is unpacked and opened is still checked."""
    with duckdb.connect(str(tmp_path / "evil.duckdb")) as con:
        con.execute("CREATE VIEW meta AS SELECT 'schema_version' AS key, content AS value FROM read_text('/etc/hosts')")
    evil = (tmp_path / "evil.duckdb").read_bytes()
    bomb = gzip.compress(b"\0" * 50_000_000)
    cases = {
        "a view": (gzip.compress(evil), len(evil), "not an rlcompare store"),
        "a bomb": (bomb, 1000, "its size differs from the manifest"),
        "no gzip": (b"nothing", 1000, "cannot be decompressed"),
        "cut": (gzip.compress(evil)[:-30], len(evil), "its size differs"),
        "a claim": (bomb, 2**50, "exceeds the limit for unpacking"),
    }
    original = manifest_module.read_manifest((kept / "baseline.json").read_bytes(), "main", "")
    for name, (data, store_bytes, said) in cases.items():
        run = manifest_module.StoredRun("run1", hashlib.sha256(data).hexdigest(), len(data), store_bytes)
        fields = {**vars(original.current), "runs": (run,)}
        forged = manifest_module.with_version(None, "main", manifest_module.Version(**fields))
        (kept / run.file).write_bytes(data)
        (kept / "baseline.json").write_bytes(manifest_module.to_bytes(forged))
        result = rlcompare("diff", "-bp", "main", "-d", run_of(tmp_path / "new"))
        assert (result.code, said in result.err) == (4, True), (name, result.err)
        assert "root:" not in result.err
    (run,) = original.current.runs[:1]
    climbing = manifest_module.StoredRun("../../escaped", run.sha256, run.size_bytes, run.store_bytes)
    forged = manifest_module.with_version(
        None, "main", manifest_module.Version(**{**vars(original.current), "runs": (climbing,)})
    )
    (kept / "baseline.json").write_bytes(manifest_module.to_bytes(forged))
    assert "is invalid" in rlcompare("show", "@main").error


def test_keys_of_a_later_release_are_kept(kept: Path, rlcompare: Command, tmp_path: Path) -> None:
    document = manifest_of(kept)
    version = {**document["versions"][0], "later": {"than": "this"}}
    version["digest"] = manifest_module._digest(version, "")
    (kept / "baseline.json").write_text(json.dumps({**document, "versions": [version]}))
    assert rlcompare("baseline", "promote", "main", run_of(tmp_path / "new"), *REASON).code == 0
    assert manifest_of(kept)["versions"][0]["later"] == {"than": "this"}
    # AND line ends do not matter, which git may convert
    manifest = kept / "baseline.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"\n", b"\r\n"))
    assert rlcompare("baseline", "show", "main").code == 0


@pytest.mark.slow
def test_it_is_replaced_with_a_reason_only_and_the_older_version_stays(
    kept: Path, rlcompare: Command, tmp_path: Path
) -> None:
    new = run_of(tmp_path / "new", gen=0.2)
    # WHEN it is replaced silently, THEN nothing happens
    for command in (
        ("add", "main", new, *REASON),
        ("promote", "main", new),
        ("promote", "main", new, "--reason", "  \n"),
        ("promote", "other", new, *REASON),
        ("rm", "main"),
        ("promote", "main", new, "--reason", "x" * 1001),
    ):
        assert rlcompare("baseline", *command).code == 2, command
    assert "promote" in rlcompare("baseline", "add", "main", new, *REASON).error
    assert len(manifest_of(kept)["versions"]) == 1
    # WHEN it is replaced with a reason
    replaced_it = rlcompare("baseline", "promote", "main", new, "--reason", "longer answers\non purpose")
    assert replaced_it.code == 0
    # THEN both versions can be named, and the log says why
    first, second = (
        json.loads(rlcompare("diff", "--json", "-bp", name, "-d", new).out)["baseline"] for name in ("@main:1", "main")
    )
    assert (len(first["runs"]), len(second["runs"])) == (2, 1)
    assert [run["path"] for run in first["runs"]] == ["@main:1/run1", "@main:1/run2"]
    shown = rlcompare("baseline", "show", "main").out
    assert "longer answers on purpose" in shown and "the release of November" in shown
    assert "run2" in rlcompare("baseline", "show", "main:1").out and "run2" not in shown
    # AND it can be put back, with one run more
    back = rlcompare("baseline", "promote", "main", "@main:1", new, "--reason", "back")
    assert back.code == 0
    versions = manifest_of(kept)["versions"]
    assert [version["action"] for version in versions] == ["add", "promote", "promote"]
    assert [run["name"] for run in versions[2]["runs"]] == ["run1", "run2", "new"]
    # AND a run that is kept again takes no further file
    assert [run["sha256"] for run in versions[2]["runs"]] == [
        run["sha256"] for version in versions[:2] for run in version["runs"]
    ]
    assert len(list(kept.glob("*.gz"))) == 3
    assert "versions 1 to 3" in rlcompare("show", "@main:9").error
    # AND only as many versions keep their runs as were asked for; the log stays
    only = rlcompare("baseline", "promote", "main", new, *REASON, "--keep", "1")
    assert (only.code, len(list(kept.glob("*.gz"))), len(manifest_of(kept)["versions"])) == (0, 1, 4)
    gone = rlcompare("show", "@main:1/run1")
    assert (gone.code, "--keep limits" in gone.error) == (4, True)
    assert rlcompare("baseline", "show", "main").code == 0


def test_removed(kept: Path, rlcompare: Command, tmp_path: Path) -> None:
    assert rlcompare("baseline", "rm", "main", "--reason", "not needed").code == 0
    assert [path.name for path in kept.iterdir()] == ["baseline.json"]
    assert "was removed" in rlcompare("diff", "-bp", "@main", "-d", run_of(tmp_path / "new")).error
    assert "not needed" in rlcompare("baseline", "show", "main").out
    assert rlcompare("baseline", "list").out == ""
    assert rlcompare("baseline", "add", "main", run_of(tmp_path / "new"), *REASON).code == 0
    assert len(manifest_of(kept)["versions"]) == 3


@pytest.mark.slow
def test_a_path_goes_first(kept: Path, rlcompare: Command, tmp_path: Path) -> None:
    new = run_of(tmp_path / "new")
    here = run_of(Path("main"), gen=0.5)
    both = rlcompare("diff", "--json", "-bp", "main", "-d", new)
    assert "@main" in both.err
    assert json.loads(both.out)["baseline"]["runs"][0]["path"] == str(here)
    named = rlcompare("diff", "--json", "-bp", "@main", "-d", new)
    assert len(json.loads(named.out)["baseline"]["runs"]) == 2
    absent = rlcompare("diff", "-bp", "mian", "-d", new)
    assert absent.code == 4
    assert "no such file or folder, and no baseline of this name" in absent.error
    assert "the baselines are main" in absent.error
    several = rlcompare("show", "@main")
    assert "choose one, such as @main/run1" in several.error
    assert "/tmp/" not in several.err


def test_a_name_that_is_none(repository: Path, rlcompare: Command, tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    before = sorted(tmp_path.rglob("*"))
    for name in ("../x", "a/b", "", ".", "..", ".hidden", "基线", "x" * 300, "a\nb", "a b", "-x", "x."):
        for command in (("add", "--", name, run), ("rm", "--", name)):
            result = rlcompare("baseline", command[0], *REASON, *command[1:])
            assert result.code == 2, (name, result.err)
        assert rlcompare("diff", "-bp", f"@{name}", "-d", run).code == 2
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_unfit_runs_are_refused(repository: Path, rlcompare: Command, tmp_path: Path) -> None:
    # GIVEN a sound run, and others of which something is wrong
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "failed": ({"status": "failed", "error": "no memory"}, "the run failed after step 12 of 12: no memory"),
        "other": ({"device_name": "one", "versions": {"torch": "2.14.0"}}, "unlike sound, device_name is one"),
        "short": ({"config": {"trainer": {"total_training_steps": 50}}}, "the log ends early, at step 12"),
    }
    runs = [run_of(tmp_path / "sound")]
    runs += [run_of(tmp_path / name, gen=0.1 + len(name) / 1000, **changes) for name, (changes, _) in cases.items()]
    broken: Any = {"actor__pg_loss": lambda step: float("nan") if step > 5 else 1.0}
    runs.append(write_run(tmp_path / "broken", description(), **broken))
    # WHEN they are added
    refused = rlcompare("baseline", "add", "main", *runs, *REASON)
    # THEN each is named, nothing is written, and only --force accepts them, which is recorded
    assert (refused.code, STORE.exists()) == (2, False)
    for name, (_, said) in cases.items():
        (line,) = [line for line in refused.err.splitlines() if said in line]
        assert line.startswith(f"  - {name}")
    assert "other: unlike sound, torch is 2.14.0, not 2.13.0" in refused.err
    assert "broken: actor/pg_loss is not a finite number, first in step 6" in refused.err
    assert "- sound" not in refused.err
    forced = rlcompare("baseline", "add", "main", *runs, *REASON, "--force")
    assert forced.code == 0
    accepted = manifest_of(STORE / "main")["versions"][0]["accepted"]
    assert [text in refused.err and text in forced.err for text in accepted] == [True] * 5
    assert "no memory" in rlcompare("baseline", "show", "main").out


def test_the_same_run_twice(kept: Path, rlcompare: Command, tmp_path: Path, runs_of_main: list[Path]) -> None:
    run, copy = run_of(tmp_path / "run"), run_of(tmp_path / "copy")
    result = rlcompare("baseline", "add", "other", run, copy, *REASON, "--force")
    assert (result.code, "are the same run" in result.err) == (2, True)
    again = rlcompare("baseline", "promote", "main", "@main", runs_of_main[0], *REASON, "--force")
    assert (again.code, "are the same run" in again.err) == (2, True)


@pytest.mark.slow
def test_runs_whose_files_differ_in_the_middle_are_two(kept: Path, rlcompare: Command, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=1000)
    other = shutil.copytree(run, tmp_path / "other")
    text = (other / "metrics.jsonl").read_text()
    middle = text.index('"timing_s/gen": 0.1', len(text) // 2)
    (other / "metrics.jsonl").write_text(text[:middle] + text[middle:].replace("0.1", "7.1", 1))
    assert len(text) > 3 * 64 * 1024
    result = rlcompare("baseline", "add", "other", run, other, *REASON, "--force")
    assert result.code == 0, result.err


@pytest.mark.slow
def test_what_changes_nothing_and_what_is_far_apart(
    kept: Path, rlcompare: Command, tmp_path: Path, runs_of_main: list[Path]
) -> None:
    # GIVEN the runs of the current version, in another order
    again = rlcompare("baseline", "promote", "@main", *reversed(runs_of_main), *REASON)
    assert (again.code, "are version 1 of baseline main already" in again.err) == (2, True)
    assert rlcompare("baseline", "promote", "main", "@main", *REASON).code == 2
    assert len(manifest_of(kept)["versions"]) == 1
    # AND the same runs make a version of an older schema anew
    version = manifest_module.read_manifest((kept / "baseline.json").read_bytes(), "main", "").current
    older = manifest_module.with_version(None, "main", dataclasses.replace(version, schema_version=1))
    (kept / "baseline.json").write_bytes(manifest_module.to_bytes(older))
    assert "run it on the main branch with a reason" in rlcompare("show", "@main/run1").error
    assert rlcompare("baseline", "promote", "main", *runs_of_main, *REASON).code == 0
    # AND a command that changes a baseline takes the whole of it
    for name, said in (("main:1", "names a version"), ("@main/run1", "names a run")):
        refused = rlcompare("baseline", "rm", name, *REASON)
        assert (refused.code, said in refused.err, "write main" in refused.err) == (2, True, True)
    assert "rlcompare show @main/run1" in rlcompare("baseline", "show", "main/run1").err
    # AND runs that are far apart are said to be
    far = rlcompare("baseline", "promote", "main", runs_of_main[0], run_of(tmp_path / "far", gen=0.9), *REASON)
    assert (far.code, "the runs differ by" in far.err) == (0, True), far.err
    assert "the runs differ by" not in rlcompare("baseline", "add", "other", *runs_of_main, *REASON).err


def with_clocks(store: Path, *clocks: float) -> None:
    """Sets the mean clock of each rank, and makes the store one of another run."""
    with duckdb.connect(str(store)) as con:
        con.execute("DELETE FROM r_counter WHERE name = 'aicore_freq_mhz'")
        con.execute("UPDATE input SET digest = digest || ?", [store.stem])
        for rank, mhz in enumerate(clocks):
            row = [0, "aicore_freq_mhz", 2, mhz, mhz, mhz, rank]
            con.execute("INSERT INTO r_counter SELECT capture, ?, ?, ?, ?, ?, ? FROM capture WHERE rank = ?", row)


@pytest.mark.slow
def test_throttled(repository: Path, rlcompare: Command, samples: Path, tmp_path: Path) -> None:
    # GIVEN runs with both ranks at 1,800 MHz, with rank 1 at 1,500 MHz, and with both at 1,500 MHz
    cool, hot, hotter = (tmp_path / f"{name}.duckdb" for name in ("cool", "hot", "hotter"))
    store_of(samples / "base", cool, keep_events=False)
    for store, clocks in ((hot, (1800, 1500)), (hotter, (1500, 1500)), (cool, (1800, 1800))):
        with_clocks(Path(shutil.copy(cool, store)) if store != cool else cool, *clocks)
    # THEN a run is compared with the others, and with those that it replaces
    error = rlcompare("baseline", "add", "main", cool, hot, *REASON).err
    assert "hot: the AI Core clock of rank 1 averaged 1,500 MHz, 1,800 MHz in another run" in error
    assert "cool:" not in error
    assert rlcompare("baseline", "add", "main", cool, *REASON).code == 0
    assert (
        "rank 0 averaged 1,500 MHz (likewise 1 more)" in rlcompare("baseline", "promote", "main", hotter, *REASON).err
    )


def test_another_schema(kept: Path, rlcompare: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_module, "SCHEMA_VERSION", 9999)
    result = rlcompare("diff", "-bp", "main", "-d", run_of(tmp_path / "new"))
    assert (result.code, "rlcompare baseline promote main RUN" in result.error) == (4, True)


@pytest.mark.slow
def test_where_baselines_are(kept: Path, rlcompare: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(tmp_path / "run", gen=0.3)

    def name_of_only(*options: object) -> str:
        (found,) = json.loads(rlcompare("baseline", "list", "--json", *options).out)
        return str(found["name"])

    Path("rlcompare.toml").write_text(
        '[gate]\nbaselines = "shared"\n[[rule]]\nmetric = "headline"\nmax_increase = "5%"\n'
    )
    assert rlcompare("baseline", "add", "of-policy", run, *REASON).code == 0
    assert Path("shared/of-policy/baseline.json").is_file()
    assert rlcompare("gate", "-bp", "of-policy", "-d", run).code in (0, 3)
    monkeypatch.setenv("RLCOMPARE_BASELINES", str(tmp_path / "everybody"))
    assert rlcompare("baseline", "add", "of-variable", run, *REASON).code == 0
    assert (name_of_only(), name_of_only("--baselines", "shared")) == ("of-variable", "of-policy")
    assert rlcompare("diff", "--store", kept.parent, "-bp", "main", "-d", run).code == 0
    # AND a URL works alike
    url = f"memory://team/{tmp_path.name}"
    assert rlcompare("baseline", "add", "remote", run, *REASON, "--store", url).code == 0
    more = run_of(tmp_path / "more", gen=0.301)
    assert rlcompare("baseline", "promote", "remote", "@remote", more, *REASON, "--store", url).code == 0
    assert rlcompare("baseline", "show", "remote", "--store", url).code == 0
    assert rlcompare("diff", "--store", url, "-bp", "remote", "-d", run).code == 0
    assert rlcompare("baseline", "rm", "remote", *REASON, "--store", url).code == 0
    assert rlcompare("baseline", "list", "--store", url).out == ""


@pytest.mark.slow
def test_a_place_that_cannot_be_written(repository: Path, rlcompare: Command, tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    Path("file").write_text("")
    Path("link").mkdir()
    (Path("link") / "main").symlink_to(tmp_path)
    for place in ("/proc/rlcompare", "file", "file/below"):
        result = rlcompare("baseline", "add", "main", run, *REASON, "--baselines", place)
        assert (result.code, "cannot be written" in result.err) == (2, True), result.err
    assert rlcompare("baseline", "add", "main", run, *REASON, "--baselines", "link").code == 4
    assert not list(tmp_path.glob("*.gz"))


@pytest.mark.slow
def test_git_ignores_it(repository: Path, rlcompare: Command, tmp_path: Path) -> None:
    Path(".gitignore").write_text("*.gz\n")
    result = rlcompare("baseline", "add", "main", run_of(tmp_path / "run"), *REASON)
    assert (result.code, "git ignores 1 of its files" in result.err, "git add -f" in result.err) == (0, True, True)


def test_a_lock_is_waited_for_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_PATIENCE_SECONDS", 0.1)
    first, second = (places.Folder(tmp_path / "kept") for _ in range(2))
    with first.changing():
        with pytest.raises(UsageError, match="another process is changing"), second.changing():
            pass
        with places.Folder(tmp_path / "other").changing():
            pass
    with second.changing():
        pass
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.slow
def test_files_of_no_version_stay_where_nothing_can_be_locked(
    kept: Path, rlcompare: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    # GIVEN a file of a version that another process may be adding
    other = kept / f"{'0' * 16}.duckdb.gz"
    other.touch()

    def no_lock(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    def nfs_lock(handle: int, how: int) -> None:
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")

    # WHEN the file system has no locks THEN it stays; WHEN it locks what can be written, as NFS does, THEN it goes
    for number, (flock, stays) in enumerate(((no_lock, True), (nfs_lock, False))):
        monkeypatch.setattr(fcntl, "flock", flock)
        run = run_of(tmp_path / f"new{number}", gen=0.31 + number / 1000)
        assert rlcompare("baseline", "promote", "main", run, *REASON).code == 0
        assert other.exists() == stays


@pytest.mark.slow
def test_two_writers_lose_nothing(kept: Path, tmp_path: Path) -> None:
    # GIVEN processes that change the same place at once: new baselines, and new versions of one
    runs = [run_of(tmp_path / f"run{number}", gen=0.3 + number / 1000) for number in range(3)]
    changes = [("add", f"new{number}", run) for number, run in enumerate(runs)]
    changes += [("promote", "main", run) for run in runs]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "rlcompare", "baseline", action, name, str(run), *REASON],
            stderr=subprocess.PIPE,
            text=True,
        )
        for action, name, run in changes
    ]
    ended = [(process.communicate()[1], process.returncode) for process in processes]
    # THEN each has either done it or said why not, and everything that was done is there and sound
    assert [code for _, code in ended[:3]] == [0, 0, 0]
    done = sum(code == 0 for _, code in ended[3:])
    assert done >= 1
    assert all("changed by somebody else" in error for error, code in ended[3:] if code)
    assert len(manifest_of(kept)["versions"]) == 1 + done
    assert sorted(path.name for path in kept.parent.iterdir()) == ["main", "new0", "new1", "new2"]
    assert not list(kept.parent.rglob("*.partial"))
    for name in ("main", "new0", "new1", "new2"):
        command = [sys.executable, "-m", "rlcompare", "baseline", "show", name]
        assert subprocess.run(command, capture_output=True).returncode == 0
