"""One layer of many that became slower is named; several, or the whole model, are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from rlcompare.compare.causes import find_causes
from rlcompare.compare.evidence import Evidence
from rlcompare.compare.odd_module import in_odd_module
from rlcompare.compare.parts import basis_of
from rlcompare.model.diff import Row
from tests.unit.test_causes import evidence_of

MODEL = {"Model_0": (9.0, 13.0)} | {f"Layer_{number}": (3.0, 3.0) for number in range(3)}


def evidence(modules: Mapping[str, tuple[float, float]], other_time: str = "baseline_host_ms") -> Evidence:
    """Two operators take 2 ms more each, in these modules."""
    found = evidence_of({("compute", None, "a"): (5.0, 7.0), ("compute", None, "b"): (4.0, 6.0)})
    rows: list[Row] = [
        {"name": name, "baseline": old, "new": new, "delta": new - old, other_time: 1.0}
        for name, (old, new) in modules.items()
    ]
    section = replace(found.sections["account"], name="modules", rows=tuple(rows))
    return replace(found, sections={**found.sections, "modules": section})


def clause(found: Evidence, delta: float) -> tuple[str, tuple[Row, ...]]:
    basis = basis_of(found)
    assert basis is not None
    return in_odd_module(found, basis, delta)


def test_one_layer_is_the_cause() -> None:
    causes, unexplained = find_causes(evidence(MODEL | {"Layer_1": (3.0, 7.0)}))
    assert [(cause.what, cause.share, cause.row) for cause in causes] == [("module", 1.0, "Layer_1")]
    assert causes[0].text == (
        "Module Layer_1 takes 4.00 ms more of computation per step (3.00 ms → 7.00 ms), over several operators."
    )
    assert unexplained is not None and unexplained.delta_ms == pytest.approx(0.0)


def test_of_nested_modules_the_inner_one_is_named() -> None:
    modules = MODEL | {"Layer_1": (3.0, 7.0), "Linear_4": (1.0, 5.0), "Linear_5": (1.0, 1.0)}
    assert find_causes(evidence(modules))[0][0].row == "Linear_4"


@pytest.mark.parametrize(
    "modules",
    [
        MODEL,
        MODEL | {"Layer_1": (3.0, 5.0), "Layer_2": (3.0, 5.0)},
        MODEL | {"Layer_0": (3.0, 0.9), "Layer_1": (3.0, 7.0), "Layer_2": (3.0, 4.1)},
        MODEL | {"Layer_1": (3.0, 9.1)},
        MODEL | {"Layer_1": (5.0, 9.0)},
        {},
    ],
    ids=["the model alone", "two layers", "opposite changes", "larger than the change", "most of the model", "none"],
)
def test_otherwise_none_is_named(modules: Mapping[str, tuple[float, float]]) -> None:
    assert all(cause.what != "module" for cause in find_causes(evidence(modules))[0])


def test_times_of_the_host_do_not_count_where_there_is_a_device() -> None:
    found = evidence(MODEL | {"Layer_1": (3.0, 7.0)}, other_time="baseline_device_ms")
    assert clause(found, 4.0) == ("", ())
    assert clause(replace(found, on_device=False), 4.0)[0] == "; module Layer_1 takes 4.00 ms more"


def test_a_cause_names_the_module_that_changed_with_it() -> None:
    found = evidence(MODEL | {"Layer_1": (3.0, 7.0)})
    text, facts = clause(found, 3.9)
    assert text == "; module Layer_1 takes 4.00 ms more"
    assert facts == ({"name": "module Layer_1", "baseline": 3.0, "new": 7.0},)
    assert clause(found, 2.0) == clause(found, -4.0) == clause(found, 0.0) == ("", ())


def test_where_other_computation_changed_too_no_module_is_named_by_its_size() -> None:
    """The layer's kernels may be those of another cause, and these ones run outside of all modules."""
    found = evidence({"Layer_0": (3.0, 3.0), "Layer_1": (3.0, 5.0), "Layer_2": (3.0, 3.0)})
    assert clause(found, 2.0) == ("", ())
    assert clause(found, 4.0) == ("", ())
