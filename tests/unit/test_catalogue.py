"""The catalogue of metrics: its words, what wins where several lines fit a name, and that SQL finds the same."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from rlcompare import resources
from rlcompare.compare.names import _OURS
from rlcompare.db import literal
from rlcompare.metrics.catalogue import EXPLAINS, UNITS, Kind, as_text, entries, entry, rows
from rlcompare.model.words import Polarity


def test_its_words_are_known_and_its_references_exist() -> None:
    names = {one.name for one in entries()}
    compared = {one.name for one in entries() if one.same_as is None}
    for one in entries():
        assert one.unit in UNITS, one
        assert one.explains is None or one.explains in EXPLAINS, one
        assert one.inside is None or one.inside in names, one
        assert one.same_as is None or one.same_as in compared, one
        assert one.kind is None or one.unit == "s", one
        assert one.phase is None or one.kind is not None, one
        assert not set("?[") & set(one.name), one
    assert {one.explains for one in entries()} - {None} == set(EXPLAINS)


def test_a_name_has_one_line_for_each_trainer() -> None:
    lines = Counter((row["name"], trainer) for row in rows() for trainer in row["trainer"].split() or [""])
    assert [line for line, count in lines.items() if count > 1] == []


@pytest.mark.parametrize(
    ("name", "trainer", "found", "kind"),
    [
        ("timing_s/gen", "main", "timing_s/gen", Kind.PART),
        ("timing_s/gen", "fully_async", "timing_s/gen", Kind.WAIT),
        ("timing_s/gen", "v1", "timing_s/gen", Kind.PART),
        ("timing_s/switch_wait", "main", "timing_s/switch_wait", Kind.WAIT),
        ("critic/score/mean", "main", "critic/score/mean", None),
        ("critic/score/max", "main", "critic/score/*", None),
        ("rollout_corr/rollout_rs_token_k1_mean", "main", "rollout_corr/rollout_rs_*", None),
        ("rollout_corr/rollout_rs_token_k1_masked_fraction", "main", "rollout_corr/rollout_rs_*fraction*", None),
    ],
)
def test_the_closest_line_wins(name: str, trainer: str, found: str, kind: Kind | None) -> None:
    one = entry(name, trainer)
    assert one is not None
    assert (one.name, one.kind) == (found, kind)


def test_another_name_has_the_meaning_of_the_first() -> None:
    first, later = entry("mismatch/rollout_is_eff_sample_size"), entry("rollout_corr/rollout_is_eff_sample_size")
    assert first is not None
    assert later is not None
    assert later.canonical == first.name
    assert (later.unit, later.polarity, later.since) == ("ratio", Polarity.HIGHER, 61)
    assert later.name in first.aliases
    assert entry("timing_s/of_our_own") is None


def test_sql_finds_the_same_entries() -> None:
    """Each name of the catalogue, with a text in place of ``*``, in a run of each trainer."""
    trainers = ["main", "v1", "separate_async", "one_step_off", "fully_async", "mindspeed_rl"]
    every = sorted({one.canonical.replace("*", "x") for one in entries()})
    logged = {t: [name for name in every if (one := entry(name, t)) and one.same_as is None] for t in trainers}
    with duckdb.connect() as con:
        con.execute("SET VARIABLE catalogue = ?", [as_text()])
        con.execute("CREATE TABLE c_logged AS SELECT 1 AS one")
        con.execute(resources.sql("compare/load/catalogue"))
        names = ", ".join(map(literal, every))
        con.execute(f"CREATE TABLE c_metric (side VARCHAR, run INTEGER, name ENUM ({names}))")
        con.execute("CREATE TABLE c_trainer (side VARCHAR, run INTEGER, trainer VARCHAR)")
        for run, trainer in enumerate(trainers):
            con.execute("INSERT INTO c_trainer VALUES ('new', ?, ?)", [run, trainer])
            con.execute("INSERT INTO c_metric SELECT 'new', ?, unnest(CAST(? AS VARCHAR[]))", [run, logged[trainer]])
        con.execute(resources.sql("compare/metric_entry"))
        columns = "run, name, unit, polarity, phase, role, inside, kind, explains"
        found = con.execute(f"SELECT {columns} FROM c_metric_entry ORDER BY run, name").fetchall()
    expected = []
    for run, trainer in enumerate(trainers):
        for name in logged[trainer]:
            one = entry(name, trainer)
            assert one is not None
            kind = None if one.kind is None else str(one.kind)
            expected.append(
                (run, name, one.unit, str(one.polarity), one.phase, one.role, one.inside, kind, one.explains)
            )
    assert found == expected


@pytest.mark.parametrize(
    ("metrics", "settings", "trainer"),
    [
        (["timing_s/gen"], {}, "main"),
        (["timing_s/gen", "fully_async/count/staleness_samples"], {}, "fully_async"),
        (["timing_s/gen", "timing_s/sync_rollout_weights"], {}, "one_step_off"),
        (["timing_s/gen", "timing_s/switch_wait"], {}, "separate_async"),
        (["training/off_policy/trajectory_staleness/mean"], {}, "v1"),
        (["timing/all", "timing/adv"], {}, "mindspeed_rl"),
        (
            ["training/off_policy/trajectory_staleness/mean"],
            {"trainer.v1.trainer_mode": "separate_async"},
            "separate_async",
        ),
        (["timing_s/gen"], {"trainer.use_v1": "False", "trainer.v1.trainer_mode": "sync"}, "main"),
    ],
)
def test_the_trainer_follows_from_its_metrics_and_settings(
    metrics: list[str], settings: dict[str, str], trainer: str
) -> None:
    with duckdb.connect() as con:
        con.execute("ATTACH ':memory:' AS store")
        con.execute("CREATE TABLE store.metric AS SELECT unnest(CAST(? AS VARCHAR[])) AS name", [metrics])
        con.execute("CREATE TABLE store.env (capture INTEGER, key VARCHAR, value VARCHAR)")
        for setting in settings.items():
            con.execute("INSERT INTO store.env VALUES (NULL, ?, ?)", setting)
        con.execute("SET VARIABLE side = 'new'")
        con.execute("SET VARIABLE run = 0")
        con.execute(resources.sql("compare/load/logged"))
        con.execute(resources.sql("compare/load/trainer"))
        assert con.execute("SELECT * FROM c_trainer").fetchall() == [("new", 0, trainer)]


@pytest.mark.parametrize(
    ("name", "compared"),
    [
        ("perf/step_time", "timing_s/step"),  # slime
        ("timing/train/policy_training", "timing_s/update_actor"),  # NeMo-RL
        ("time/step_generate", "timing_s/gen"),  # ROLL
        ("timing/step_total", "timing_s/step"),  # OpenRLHF
        ("timing/old_log_p", "timing_s/old_log_prob"),  # MindSpeed-RL
        ("timing/adv", "timing_s/adv"),  # verl 0.1
        ("actor/perf/max_memory_reserved_gb", "perf/max_memory_reserved_gb"),
        ("timing_s/timing_s/param_sync", "timing_s/param_sync"),
        ("actor/rollout_corr/kl", "actor/rollout_corr/kl"),  # of the policy while it is updated: another thing
    ],
)
def test_what_means_the_same_is_compared_under_one_name(name: str, compared: str) -> None:
    one = entry(name)
    assert one is not None
    assert one.canonical == compared


def test_no_name_begins_as_those_of_our_own_metrics() -> None:
    """``compare.names`` does not look for these in the catalogue."""
    assert [one.name for one in entries() if one.name.startswith(_OURS)] == []
