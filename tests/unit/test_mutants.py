"""The faults of the list that the tests must notice are there to be made: one that no longer applies tests nothing."""

from __future__ import annotations

import pytest

from tests.mutants.run import CHECKOUT, LIST, applies, listed


@pytest.mark.skipif(not (CHECKOUT / "rlcompare").is_dir(), reason="there is no checkout")
def test_every_mutant_applies() -> None:
    mutants = listed(LIST.read_text(encoding="utf-8"))
    assert len(mutants) > 200
    assert [str(mutant) for mutant in mutants if not applies(mutant, CHECKOUT)] == []
