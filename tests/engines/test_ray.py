"""Parts that are made on a real Ray cluster are those that this machine makes, also when a worker is killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pytest
from click.testing import CliRunner

from rlcompare import __version__
from rlcompare.cli.main import cli, run
from rlcompare.errors import InputError
from rlcompare.sources.detect import find_runs
from rlcompare.store.build import build_stores
from rlcompare.store.engines import ray as ray_engine
from rlcompare.store.engines.local import LocalEngine
from rlcompare.store.engines.ray import RayEngine
from rlcompare.store.parts import Batch

pytestmark = pytest.mark.slow


def tables(store: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables of a store."""
    with contextlib.closing(duckdb.connect(str(store), read_only=True)) as con:
        names = [name for (name,) in con.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
        return {name: con.execute(f'FROM "{name}" ORDER BY ALL').fetchall() for name in names}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one core each, and a head that works on nothing."""
    cluster_utils = pytest.importorskip("ray.cluster_utils", reason="needs Ray: pip install ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        made.add_node(num_cpus=1)
        made.add_node(num_cpus=1)
        yield made
        made.shutdown()


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """One capture in each, so that there are several on the way whenever a worker is killed."""
    monkeypatch.setattr("rlcompare.store.parts.BATCH_CAPTURES", 1)


def test_the_tables_are_the_same_although_workers_are_killed(
    ranks: Path, tmp_path: Path, cluster: Any, small_batches: None
) -> None:
    (found,) = find_runs(ranks / "new")
    killed: list[int] = []

    def kill(done: int, total: int, name: str) -> None:
        if done == 1 and not killed:
            for process in psutil.process_iter(["cmdline"]):
                # Ray's own agents have such names too, and a driver does not outlive the agent of its node.
                if (process.info["cmdline"] or [""])[0] in ("ray::_make", "ray::IDLE"):
                    os.kill(process.pid, signal.SIGKILL)
                    killed.append(process.pid)

    build_stores({tmp_path / "local.duckdb": found}, keep_events=True, engine=LocalEngine())
    target = tmp_path / "ray.duckdb"
    build_stores({target: found}, keep_events=True, engine=RayEngine(cluster.address), progress=kill)
    assert killed
    assert tables(target) == tables(tmp_path / "local.duckdb")


def test_on_the_command_line(ranks: Path, cluster: Any) -> None:
    def diff(*more: str) -> str:
        sides = ("-bp", str(ranks / "baseline"), "-d", str(ranks / "new"))
        result = CliRunner().invoke(cli, ["diff", "-q", "--json", "--no-cache", *sides, *more])
        assert result.exit_code == 0, result.output
        return result.stdout

    assert json.loads(diff("--engine", "ray", "--ray-address", cluster.address)) == json.loads(diff())


def test_a_cluster_that_is_not_there(ranks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray", reason="needs Ray: pip install ray")
    arguments = ["show", "-q", "--no-cache", str(ranks / "new"), "--engine", "ray"]
    assert run([*arguments, "--ray-address", "127.0.0.1:1"]) == 2
    assert "--ray-address 127.0.0.1:1: cannot connect to Ray" in capsys.readouterr().err


def test_an_address_needs_the_engine(ranks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(ranks / "new"), "--ray-address", "auto"]) == 2
    assert "--ray-address requires --engine ray" in capsys.readouterr().err


class TestNodesThatDoNotSeeTheFiles:
    @pytest.fixture
    def batch(self, ranks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Batch:
        """A batch as the engine gets it, of files that are not on this machine any longer."""
        batches: list[Batch] = []
        engine = LocalEngine(workers=1)
        make_parts = engine.make_parts

        def keep(given: Any, **options: Any) -> Any:
            batches.extend(given)
            return make_parts(given, **options)

        monkeypatch.setattr(engine, "make_parts", keep)
        sides = {}
        for side in ("baseline", "new"):
            (tmp_path / side).symlink_to(ranks / side)
            (sides[tmp_path / f"{side}.duckdb"],) = find_runs(tmp_path / side)
        build_stores(sides, keep_events=False, engine=engine)
        for side in ("baseline", "new"):
            (tmp_path / side).unlink()
        return batches[0]

    def test_by_url(self, batch: Batch, ranks: Path, object_store: str, tmp_path: Path) -> None:
        urls = {tmp_path / side: f"{object_store}/{side}" for side in ("baseline", "new")}
        local = ray_engine._localised(batch, urls, tmp_path / "scratch")
        used = set()
        for asked, part in zip(batch.parts, local.parts, strict=True):
            for name, path in asked.capture.files.items():
                file = path.relative_to(tmp_path)
                assert part.capture.files[name].read_bytes() == (ranks / file).read_bytes()
                used.add(file.parts[0])
        assert used == {"baseline", "new"}
        made = ray_engine._make(replace(batch, parts=batch.parts[:2]), urls, __version__)
        assert [result.failures for result in made.results] == [()]
        assert made.results[0].batch.parts == batch.parts[:2]

    def test_nowhere(self, batch: Batch, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"the Ray worker on .* does not see it"):
            ray_engine._localised(batch, {}, tmp_path / "scratch")
