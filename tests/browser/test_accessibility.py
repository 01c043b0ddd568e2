"""axe-core finds nothing wrong with the page; skipped where it is absent.

A page with all pictures is checked in ``test_first_screen.py``.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rlcompare.model.diff import Diff
from tests.browser.axe import assert_accessible, axe_path
from tests.browser.conftest import Visit
from tests.browser.test_rank_pictures import example
from tests.unit import diff_examples

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("make", [diff_examples.regression, diff_examples.unstable, diff_examples.empty, example])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(visit: Callable[[Diff], Visit], make: Callable[[], Diff], theme: str) -> None:
    if not axe_path().is_file():
        pytest.skip("axe-core is not here (make axe)")
    assert_accessible(visit(make()).page, theme)
