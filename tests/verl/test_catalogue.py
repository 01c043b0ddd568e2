"""The catalogue of metrics against the sources of verl: every key that a release can log has an entry, and no other."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rlcompare.compare.log_tells import SETTINGS
from rlcompare.metrics.catalogue import ELSEWHERE, Entry, entries, entry
from tests.verl.conftest import verl_folder
from tools.metric_keys import keys, unplaced

RELEASES = {50: "0.5.0", 61: "0.6.1", 71: "0.7.1", 80: "0.8.0", 91: "0.9.1"}


def wheel(release: int) -> Path:
    found = sorted((verl_folder() / "wheels").glob(f"verl-{RELEASES[release]}-*.whl"))
    if not found:
        pytest.skip(f"the wheel of verl {RELEASES[release]} is not here (make verl-wheels fetches it)")
    return found[0]


@cache
def logged(release: int) -> frozenset[str]:
    """The keys that a release can log, with a text in place of what is only known at run time."""
    found = keys(wheel(release))
    assert unplaced(found) == []
    return frozenset(key.name.replace("*", "x") for key in found)


def is_in(release: int, one: Entry) -> bool:
    return (one.since or 0) <= release <= (one.until or 999)


def matches(one: Entry, name: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, one.name.split("*"))), name) is not None


def unknown(release: int, names: Iterator[str] | frozenset[str]) -> list[str]:
    """Names without an entry in that release."""
    known = {name: found for name in names if (found := entry(name)) is not None}
    return sorted(
        name
        for name in names
        if name not in known or not any(is_in(release, one) for one in entries() if one.name == known[name].name)
    )


@pytest.mark.parametrize("release", RELEASES)
def test_each_key_has_an_entry(release: int) -> None:
    assert unknown(release, logged(release)) == []


@pytest.mark.parametrize("release", RELEASES)
def test_each_entry_is_logged_in_its_releases(release: int) -> None:
    for one in entries():
        if is_in(release, one) and not set(one.trainers) & set(ELSEWHERE):
            assert any(matches(one, name) for name in logged(release)), f"{one.name} in verl {RELEASES[release]}"


def test_keys_without_an_entry_are_found() -> None:
    """Keys that were checked by eye in the sources, and two that no release has."""
    assert {
        "timing_s/gen",
        "timing_s/timing_s/param_sync",
        "fully_async/count/staleness_samples",
        "rollout_corr/chi2_token",
        "actor/rollout_corr/rollout_is_eff_sample_size",
        "actor/perf/max_memory_allocated_gb",
        "timing_s/switch_wait",
        "training/off_policy/trajectory_staleness/mean",
        "global_seqlen/minmax_diff",
        "val-core/x/x/x",
        "rollout/spec_accept_rate",
        "critic/vf_clipfrac",
    } <= logged(91)
    assert unknown(91, frozenset({"timing_s/gen_max", "timing_s/gen", "actor/pg_losses"})) == [
        "actor/pg_losses",
        "timing_s/gen_max",
    ]


def test_settings_that_causes_name_are_keys_of_the_configuration() -> None:
    known = set().union(*(settings(each) for each in RELEASES))
    begins = {begin for phase in SETTINGS.values() for begin in phase}
    assert {begin for begin in begins if not any(key.startswith(begin) for key in known)} == set()


@cache
def settings(release: int) -> frozenset[str]:
    """The keys of the trainers' composed configurations, and of the asynchronous trainers' own."""
    found: set[str] = set()
    with zipfile.ZipFile(wheel(release)) as archive:
        for name in archive.namelist():
            if re.search(r"config/(_generated_.*|.*async.*trainer|algorithm)\.yaml$", name):
                path: list[tuple[int, str]] = []
                for indent, key in re.findall(r"^( *)'?(\w+)'?:", archive.read(name).decode(), re.MULTILINE):
                    path = [*((depth, part) for depth, part in path if depth < len(indent)), (len(indent), key)]
                    found.add(".".join(part for _, part in path))
    return frozenset(found)
