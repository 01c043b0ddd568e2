"""Names for a sentence: what says nothing is left out of long ones, and names that look the same are told apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlcompare.compare.operator_changes import OperatorChange
from rlcompare.compare.phrases import short
from tests.unit.test_causes import evidence_of

PREFIX = "void at::native::(anonymous namespace)::"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("aten::mm", "aten::mm"),
        (f"{PREFIX}copy", f"{PREFIX}copy"),  # short enough
        (f"{PREFIX}softmax<float, at::native::Epilogue>(int)", "softmax<float, Epilogue>(int)"),
        (f"{PREFIX}{'k' * 50}", f"{'k' * 39}…"),
        ("sm90_" + "x" * 60, "sm90_" + "x" * 34 + "…"),
    ],
)
def test_what_says_nothing_is_left_out_of_long_names(name: str, shown: str) -> None:
    assert short(name, 44 if name.endswith("copy") else 40) == shown


def test_names_that_look_the_same_are_told_apart() -> None:
    names = [f"{PREFIX}elementwise_kernel<128, {'4, ' * 30}at::native::{which}_kernel>" for which in ("fill", "copy")]
    changes = [OperatorChange(name, 1.0, 2.0, 1.0, 0.0, 0.0, 1.0, 2.0, True) for name in (*names, "aten::mm")]
    evidence = replace(evidence_of({("compute", None, "k"): (1.0, 2.0)}), operators=tuple(changes))
    shown = [evidence.short(name) for name in names]
    assert short(names[0]) == short(names[1]) and len(set(shown)) == 2
    assert "fill_kernel" in shown[0] and "copy_kernel" in shown[1] and max(map(len, shown)) <= 80
    assert evidence.short("aten::mm") == "aten::mm"
