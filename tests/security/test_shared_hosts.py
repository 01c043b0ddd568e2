"""Other users of the same machine: what they may read, and that nothing is written through what they planted."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlcompare.cli.one_file import into_file
from rlcompare.collect.probe.replica import claimed
from rlcompare.collect.run_directory import write_run
from rlcompare.collect.verl.job import run_job
from rlcompare.db import SCHEMA_VERSION, store_schema_version
from rlcompare.errors import UsageError
from rlcompare.report.folder import MARKER
from rlcompare.store.cache import cache_entries, prepare
from tests.cli.conftest import Command, ranks_of

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="POSIX permissions")
ANOTHER = 12345


def give_away(folder: Path, patch: pytest.MonkeyPatch) -> int:
    """Makes a folder another user's, or this process another user's; returns whose the folder is."""
    owner = os.geteuid()
    if owner:
        patch.setattr(os, "geteuid", lambda: ANOTHER)
        return owner
    try:
        os.chown(folder, ANOTHER, ANOTHER)
    except PermissionError:  # as in a container without capabilities
        pytest.skip("this root cannot give folders away")
    return ANOTHER


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _generous_umask() -> Iterator[None]:
    """As generous as a machine may be, so that nothing is private by luck."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file that somebody else wants us to overwrite."""
    path = tmp_path / "victim"
    path.write_text("as it was")
    return path


def test_the_cache_is_the_users_alone(rlcompare: Command, samples: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    base = ranks_of(samples / "base")[0]
    assert rlcompare("show", base, "--cache-dir", cache).code == 0
    assert cache_entries(cache)
    assert {mode(folder) for folder in (cache, *(path for path in cache.iterdir() if path.is_dir()))} == {0o700}


def test_a_cache_of_another_user_is_refused(
    rlcompare: Command,
    samples: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = tmp_path / "cache"
    prepare(cache)
    owner = give_away(cache, monkeypatch)
    base = ranks_of(samples / "base")[0]
    outcome = rlcompare("show", base, "--cache-dir", cache)
    assert outcome.code == 2
    assert f"belongs to another user (uid {owner})" in outcome.error
    assert [path.name for path in cache.iterdir()] == [".rlcompare-cache"]
    # the default folder is not used either, and the command goes on without it
    monkeypatch.delenv("RLCOMPARE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache.rename(tmp_path / "rlcompare")
    outcome = rlcompare("show", base)
    assert outcome.code == 0
    assert "nothing is cached" in outcome.err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give folders away")
def test_a_cache_on_a_file_system_with_one_owner_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(tmp_path, ANOTHER, ANOTHER)
    monkeypatch.setattr("rlcompare.store.cache.os.fstat", lambda _: tmp_path.stat())
    prepare(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".rlcompare-cache"]


@pytest.mark.parametrize("permissions", [0o777, 0o1777])
def test_a_cache_that_everybody_can_change_is_refused(tmp_path: Path, permissions: int) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(permissions)
    with pytest.raises(UsageError, match="can be changed by every user"):
        prepare(cache)
    assert list(cache.iterdir()) == []


def test_the_log_of_a_job_is_the_users_alone(tmp_path: Path, victim: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "job.log"
    for is_link in (False, True):
        if is_link:
            log.unlink()
            log.symlink_to(victim)
        else:
            log.write_text("old")
        ended = run_job([sys.executable, "-c", "print('api_key: abc')"], dict(os.environ), log)
        assert ended.code == 0
        assert mode(log) == 0o600
        assert not log.is_symlink()
        assert log.read_text() == "api_key: abc\n"
    assert victim.read_text() == "as it was"
    assert capfd.readouterr().out.count("api_key") == 2


def test_nothing_is_written_through_a_planted_link(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN links under the names that our processes use next, if somebody could guess them
    here = tmp_path / "run"
    here.mkdir()
    monkeypatch.setattr("rlcompare.temporary.partial_of", lambda target: target.with_name(f".{target.name}.guessed"))
    for name in ("run.json", "page.html"):
        (here / f".{name}.guessed").symlink_to(victim)
    (here / "page.html").symlink_to(victim)
    # WHEN they write
    write_run(here, {"schema": "x"})
    into_file(here / "page.html", lambda stream: stream.write(b"page"))
    # THEN the files are there, and what the links name is not changed
    assert (here / "page.html").read_bytes() == b"page"
    assert victim.read_text() == "as it was"
    assert sorted(path.name for path in here.iterdir()) == ["page.html", "run.json"]


def test_a_probes_place_may_hold_a_link(tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rlcompare.collect.probe.replica.threading.get_ident", lambda: 1)
    monkeypatch.setattr("rlcompare.collect.probe.replica.socket.gethostname", lambda: "host")
    (tmp_path / f".replica-of-host-{os.getpid()}-1").symlink_to(victim)
    with pytest.raises(FileExistsError):
        claimed(tmp_path, "group")
    assert victim.read_text() == "as it was"


def test_a_reports_folder_may_hold_links(rlcompare: Command, samples: Path, tmp_path: Path) -> None:
    base = ranks_of(samples / "base")[0]
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (out / MARKER).write_text("")
    (out / "diff.json").symlink_to(elsewhere / "diff.json")
    (out / "csv").symlink_to(elsewhere)
    outcome = rlcompare("diff", "-d", base, "-bp", base, "-o", out, "--format", "csv")
    assert outcome.code == 2
    assert "symbolic link" in outcome.err
    assert sorted(path.name for path in out.iterdir()) == [MARKER, "csv", "diff.json"], "no part of a report"
    (out / "csv").unlink()
    assert rlcompare("diff", "-d", base, "-bp", base, "-o", out, "--format", "csv").code == 0
    assert (out / "diff.json").is_file() and not (out / "diff.json").is_symlink()
    assert list(elsewhere.iterdir()) == []


def test_temporary_folders_have_no_names_to_guess(
    rlcompare: Command,
    samples: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # GIVEN a TMPDIR in which every folder that is made is recorded
    import tempfile

    made: list[tuple[str, int]] = []
    mkdtemp = tempfile.mkdtemp

    def recorded(*arguments: object, **options: object) -> str:
        path = mkdtemp(*arguments, **options)  # type: ignore[call-overload]
        made.append((Path(path).name, mode(Path(path))))
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", recorded)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    for _ in range(2):
        assert rlcompare("show", ranks_of(samples / "base")[0], "--no-cache").code == 0
    # THEN they are the user's alone, are named by chance, and are gone; nothing else was there
    assert made and {permissions for _, permissions in made} == {0o700}
    assert len({name for name, _ in made}) == len(made)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_store_is_not_made_in_a_shared_place_under_a_planted_name(
    rlcompare: Command,
    samples: Path,
    tmp_path: Path,
    victim: Path,
) -> None:
    # GIVEN a link where ingest writes
    target = tmp_path / "run.duckdb"
    target.symlink_to(victim)
    outcome = rlcompare("ingest", ranks_of(samples / "base")[0], "-o", target)
    assert outcome.code == 2 and victim.read_text() == "as it was"
    assert rlcompare("ingest", ranks_of(samples / "base")[0], "-o", target, "--force").code in (0, 2)
    assert victim.read_text() == "as it was"
    assert target.is_symlink() or store_schema_version(target) == SCHEMA_VERSION
