"""Which release of verl a run is of, and which metrics of two releases do not mean the same."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from rlcompare import resources

ESS, FRACTION = "mismatch/rollout_is_eff_sample_size", "mismatch/rollout_is_seq_fraction_high"
LOSS, RATIO = "actor/pg_loss", "mismatch/rollout_is_ratio_fraction_high"


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with an empty store, and the tables of both sides."""
    with duckdb.connect() as con:
        con.execute("ATTACH ':memory:' AS store")
        con.execute("CREATE TABLE store.metric (name VARCHAR)")
        con.execute("CREATE TABLE store.env (capture INTEGER, key VARCHAR, value VARCHAR)")
        con.execute("CREATE TABLE store.finding (key VARCHAR)")
        con.execute("CREATE TABLE c_metric (side VARCHAR, name VARCHAR)")
        con.execute("CREATE TABLE c_env (side VARCHAR, key VARCHAR, value VARCHAR)")
        yield con


def release_of(con: duckdb.DuckDBPyConnection, metrics: list[str], settings: dict[str, str]) -> tuple[int, int]:
    con.executemany("INSERT INTO store.metric VALUES (?)", [[name] for name in ["timing_s/step", *metrics]])
    for key, value in settings.items():
        con.execute("INSERT INTO store.env VALUES (NULL, ?, ?)", [key, value])
    con.execute("SET VARIABLE side = 'new'")
    con.execute("SET VARIABLE run = 0")
    con.execute(resources.sql("compare/load/logged"))
    con.execute(resources.sql("compare/load/release"))
    ((low, high),) = con.execute("SELECT low, high FROM c_release").fetchall()
    return low, high


@pytest.mark.parametrize(
    ("metrics", "settings", "release"),
    [
        ([], {}, (0, 999)),
        ([], {"verl": "0.7.1"}, (71, 71)),
        ([], {"verl": "0.10.2.dev"}, (102, 102)),
        (["mismatch/mismatch_kl"], {}, (60, 60)),
        (["rollout_corr/kl"], {}, (61, 999)),
        (["rollout_corr/kl", "rollout_corr/rollout_is_mean", "rollout_corr/rollout_is_veto_fraction"], {}, (61, 70)),
        (["rollout_corr/rollout_is_mean"], {}, (71, 999)),
        (["timing_s/agent_loop/generate_sequences/min"], {}, (0, 70)),
        (["timing_s/agent_loop/generate_sequences/min", "timing_s/agent_loop/num_preempted/min"], {}, (71, 71)),
        (["timing_s/agent_loop/compute_score/min"], {}, (80, 999)),
        ([], {"actor_rollout_ref.profiler.discrete": "false"}, (0, 50)),
        ([], {"algorithm.rollout_correction.rollout_rs": "null", "data.sampler.class_path": "null"}, (61, 71)),
        ([], {"actor_rollout_ref.rollout.seed": "0"}, (90, 999)),
        (["mismatch/mismatch_kl", "timing_s/agent_loop/compute_score/min"], {}, (0, 999)),
    ],
)
def test_release(
    con: duckdb.DuckDBPyConnection, metrics: list[str], settings: dict[str, str], release: tuple[int, int]
) -> None:
    assert release_of(con, metrics, settings) == release


def test_a_console_that_rounds_is_of_an_early_release(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("INSERT INTO store.finding VALUES ('rounded_metrics')")

    assert release_of(con, [], {}) == (0, 49)


def apart(con: duckdb.DuckDBPyConnection, baseline: tuple[int, int], new: tuple[int, int]) -> set[str]:
    """Of the four metrics those that are not compared."""
    con.execute("CREATE OR REPLACE TABLE c_release (side VARCHAR, run INTEGER, low INTEGER, high INTEGER)")
    con.executemany("INSERT INTO c_release VALUES (?, 0, ?, ?)", [["baseline", *baseline], ["new", *new]])
    for side in ("baseline", "new"):
        con.executemany("INSERT INTO c_metric VALUES (?, ?)", [[side, name] for name in (ESS, FRACTION, LOSS, RATIO)])
    con.execute(resources.sql("compare/load/metric_meaning"))
    con.execute(resources.sql("compare/apart"))
    return {name for (name, *_) in con.execute(resources.sql("compare/metric_apart")).fetchall()}


@pytest.mark.parametrize(
    ("baseline", "new", "expected"),
    [
        ((50, 50), (60, 60), {LOSS}),
        ((60, 60), (61, 61), set()),
        ((61, 61), (71, 71), {LOSS}),
        ((70, 70), (71, 71), set()),
        ((71, 71), (80, 80), {LOSS, ESS, FRACTION}),
        ((91, 91), (61, 61), {LOSS, ESS}),
        ((80, 80), (91, 91), {FRACTION}),
        ((90, 90), (91, 91), set()),
        # Of a release that is known in part: not compared where it surely is another, and may mean another thing.
        ((60, 60), (71, 999), {LOSS, ESS, FRACTION}),
        ((71, 999), (80, 999), set()),
        ((0, 999), (80, 80), set()),
        ((60, 60), (61, 70), {LOSS}),
    ],
)
def test_meaning(
    con: duckdb.DuckDBPyConnection, baseline: tuple[int, int], new: tuple[int, int], expected: set[str]
) -> None:
    assert apart(con, baseline, new) == expected


def test_a_fraction_of_a_geometric_mean_was_counted_otherwise(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("INSERT INTO c_env VALUES ('new', 'algorithm.rollout_is_level', 'geometric')")

    assert apart(con, (60, 60), (61, 61)) == {RATIO}
