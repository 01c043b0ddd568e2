"""Messages for invalid values, and their location."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec
import pytest

from rlcompare.model.words import Polarity
from rlcompare.validation import MisfitError, dotted, fit, fit_most, nearest, not_finite


@dataclass(frozen=True)
class Inner:
    name: str
    size: float | None = None


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    polarity: Polarity = Polarity.LOWER
    many: tuple[Inner, ...] = ()
    named: Mapping[str, Mapping[str, Inner]] = {}
    scalars: Mapping[str, str | int | float | bool | None] = {}
    part: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0


def test_what_fits_is_made() -> None:
    found = fit({"polarity": "higher", "many": [{"name": "a", "size": 1, "further": []}], "part": 1}, Outer)
    assert (found.polarity, found.many, found.part) == (Polarity.HIGHER, (Inner("a", 1.0),), 1.0)
    assert fit({"scalars": {"a": 2**70, "b": True, "c": None}}, Outer).scalars == {"a": 2**70, "b": True, "c": None}


@pytest.mark.parametrize(
    ("value", "place", "problem", "found"),
    [
        ([], "", "should be an object", []),
        ({"many": {}}, "many", "should be a list", {}),
        ({"many": [{"name": "a"}, {"name": 3}]}, "many[1].name", "should be a string", 3),
        ({"many": [{"name": "a", "size": "9"}]}, "many[0].size", "should be a finite number", "9"),
        ({"many": [{"size": 1}]}, "many[0].name", "is missing", None),
        ({"polarity": "lover"}, "polarity", "should be one of lower, higher, neutral; did you mean lower?", "lover"),
        ({"polarity": [1]}, "polarity", "should be one of lower, higher, neutral", [1]),
        ({"named": {"x": {"y": {"name": "a"}}, "u": {"v": {"name": 1}}}}, "named.u.v.name", "should be a string", 1),
        (
            {"scalars": {"good": 1, "bad": []}},
            "scalars.bad",
            "should be a string, a finite number or true or false",
            [],
        ),
        ({"mny": 1}, "mny", "is not known; did you mean many?", None),
        ({"part": 2}, "part", "should be at most 1", 2),
        ({"part": -0.5}, "part", "should be at least 0", -0.5),
        ({"part": math.nan}, "part", "should be a finite number", math.nan),
    ],
)
def test_the_place_and_what_was_expected(value: object, place: str, problem: str, found: object) -> None:
    with pytest.raises(MisfitError) as caught:
        fit(value, Outer)
    assert (dotted(caught.value.path), caught.value.problem) == (place, problem)
    assert caught.value.value is found or caught.value.value == found


def test_what_does_not_fit_is_left_out() -> None:
    written = {"many": [{"name": "a", "size": "x"}, {"size": 1}, 3, {"name": "b"}], "polarity": "up", "part": 1}
    found, misfits = fit_most(written, Outer, Outer())
    assert (found.many, found.polarity, found.part) == ((Inner("a"), Inner("b")), Polarity.LOWER, 1.0)
    assert [dotted(misfit.path) for misfit in misfits] == ["many[0].size", "many[1].name", "many[1]", "polarity"]
    assert len(written["many"]) == 4  # type: ignore[arg-type]


def test_many_misfits_take_their_member_with_them() -> None:
    found, misfits = fit_most({"many": [{"name": 1}] * 1000, "part": 1}, Outer, Outer())
    assert (found.many, found.part, len(misfits)) == ((), 1.0, 20)
    assert fit_most([1], Outer, Outer())[0].many == ()


def test_a_number_that_json_does_not_know_is_found() -> None:
    assert not_finite({"a": [{"b": 1.5}, {"b": math.inf}]}) == ("a", 1, "b")
    assert not_finite({"a": [1, "NaN", None]}) is None


def test_the_nearest_word_is_named_else_all() -> None:
    assert nearest("max_incraese", ["min", "max_increase"]) == "did you mean max_increase?"
    assert nearest("x", ["min", "max"]) == "choose from min, max"


def test_long_keys_are_cut() -> None:
    assert len(dotted(("k" * 1000,))) == 80
