"""Which tests ``make check`` runs for which change."""

from __future__ import annotations

import pytest

from tools.changed_tests import CHECKOUT, CORE, TESTS, chosen


@pytest.mark.parametrize(
    ("changed", "named", "unnamed"),
    [
        ("tests/cli/test_diff.py", "tests/cli/test_diff.py", "tests/cli/test_gate.py"),
        ("rlcompare/gate/rules.py", "tests/unit/test_gate_rules.py", "tests/unit/test_report_html.py"),
        ("sql/sources/nsys/kernel.sql", "tests/sources/test_nsys.py", "tests/sources/test_torch_trace.py"),
        ("rlcompare/collect/probe/wrap.py", "tests/collect/test_probe.py", "tests/collect/test_run.py"),
        ("docs/design.md", "tests/docs", "tests/cli/test_diff.py"),
        ("tests/sql/rollup_stores.py", "tests/sql/test_compare_means.py", "tests/cli/test_diff.py"),
    ],
)
def test_a_change_asks_for_what_asserts_on_it(changed: str, named: str, unnamed: str) -> None:
    tests = chosen([changed])
    assert named in tests
    assert unnamed not in tests


@pytest.mark.parametrize("changed", [[], ["LICENSE"], ["rlcompare/unheard_of.py"], ["tests/cli/test_gone.py"]])
def test_what_asks_for_nothing_of_its_own_gets_the_core(changed: list[str]) -> None:
    assert chosen(changed) == chosen([])
    assert {"tests/sql/test_normalize.py", "tests/unit/test_gate_rules.py"} <= set(chosen([]))


def test_a_folder_that_is_asked_for_holds_its_files() -> None:
    assert chosen(["rlcompare/collect/x.py", "rlcompare/collect/probe/wrap.py"]) == ["tests/collect"]


def test_every_entry_names_tests_and_a_place_that_exist() -> None:
    patterns = {pattern for tests in TESTS.values() for pattern in tests} | set(CORE)
    assert [pattern for pattern in sorted(patterns) if not list(CHECKOUT.glob(pattern))] == []
    if (CHECKOUT / "rlcompare").is_dir():  # not beside a wheel's copy of the tests
        assert [place for place in TESTS if not (CHECKOUT / place).exists()] == []
