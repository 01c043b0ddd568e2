"""Chosen steps (--step): their numbers are those that they have among all steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from rlcompare import resources

from .timelines import load, normalise, reset

ACCOUNT = "SELECT device_id, step, phase, kind, subject, ns FROM r_account WHERE step = 2 ORDER BY ALL"
TIMES = "FROM r_time WHERE step = 2"


@pytest.fixture
def chosen(con: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    yield con
    con.execute("SET VARIABLE steps = NULL::BIGINT[]")


def results(con: duckdb.DuckDBPyConnection, steps: list[int] | None) -> list[Any]:
    """Of a trace of torch with two steps: its account, its times, its findings, and the steps of its kernels.

    Step 1 lasts from 0 to 100, step 2 from 100 to 200. A kernel of step 1, launched in update_actor, runs until 130;
    two have no launch, the second after the steps; one belongs to step 2.
    """
    reset(con)
    con.execute("SET VARIABLE steps = ?::BIGINT[]", [steps])
    con.execute("UPDATE capture SET tool = 'torch'")
    con.execute("INSERT INTO step VALUES (0, 1, 0, 100, FALSE), (0, 2, 100, 200, FALSE)")
    con.execute("INSERT INTO stage_phase (name, thread, start_ns, end_ns) VALUES ('update_actor', 1, 60, 95)")
    load(con, "stage_kernel", [(10, 20), (90, 130), (160, 170)], [5, 80, 150])
    load(con, "stage_kernel", [(140, 150), (210, 220)])
    normalise(con)
    queries = (ACCOUNT, TIMES, resources.sql("normalize/findings"), "SELECT start_ns, step FROM kernel ORDER BY ALL")
    return [con.execute(query).fetchall() for query in queries]


@pytest.mark.slow
def test_the_account_of_a_chosen_step_holds_all_that_runs_in_its_time(chosen: duckdb.DuckDBPyConnection) -> None:
    account, times, ((_, _, key, message),), kernels = results(chosen, None)
    assert {(phase, kind): ns for _, _, phase, kind, _, ns in account if kind == "compute"} == {
        ("update_actor", "compute"): 30,
        (None, "compute"): 20,
    }
    assert (key, message.partition(" (")[0]) == ("outside_steps", "2 device tasks")
    assert kernels == [(10, 1), (90, 1), (140, None), (160, 2), (210, None)]
    # WHEN step 2 alone is read
    of_one, times_of_one, ((_, _, key, message),), kernels = results(chosen, [2])
    # THEN it has the same account and times, and what is outside all steps is said of its time
    assert of_one == account
    assert sum(row[-1] for row in of_one) == 100
    assert times_of_one == times
    assert (key, message.partition(" (")[0]) == ("outside_steps", "1 device tasks")
    assert kernels == [(90, None), (140, None), (160, 2)]


def test_nothing_of_steps_that_were_not_chosen_is_left(chosen: duckdb.DuckDBPyConnection) -> None:
    *_, findings, kernels = results(chosen, [1])
    assert (findings, kernels) == ([], [(10, 1), (90, 1)])
    assert chosen.execute("FROM step").fetchall() == [(0, 1, 0, 100, False)]
    assert {
        step for (step,) in chosen.execute("SELECT step FROM r_phase UNION SELECT step FROM r_account").fetchall()
    } == {1}
