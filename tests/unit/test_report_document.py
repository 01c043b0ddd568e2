"""diff.json: the schema describes it, and it contains everything in a diff."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args, get_type_hints

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlcompare.model.diff import (
    SCHEMA,
    Aggregate,
    Cause,
    Comparability,
    Delta,
    Diff,
    Finding,
    RunInfo,
    Section,
    Series,
    Side,
)
from rlcompare.model.pictures import Level, PathTime, Pictures, RankTimes, SizedCollectives
from rlcompare.model.words import Polarity, Severity, Word
from rlcompare.report.document import DocumentError, from_document, to_document, to_json
from rlcompare.resources import resource_root
from tests.unit import diff_examples

_SERIES = (Series("timing_s/step", "new", 0, 3, (1, 2, 3), (1.0, 2.0, 3.0)),)
_PICTURES = Pictures(
    phases=("update_actor",),
    ranks=(RankTimes("new", "compute", ("rank 0", "rank 1"), ((1.0,), (2.0,))),),
    path=(PathTime("new", "rank 1", "update_actor", 2.5),),
    collectives=(SizedCollectives("new", "all_reduce", 4, 2.0, 40.0, 1.5, None),),
    levels=(Level("new", "allocated", "PTA", 0, "rank 1", (0.0, 2.5), (1e9, 2e9)),),
)
_EXAMPLES = [diff_examples.regression, diff_examples.identical, diff_examples.empty]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    text = (resource_root("report_templates") / "diff.schema.json").read_text(encoding="utf-8")
    parsed: dict[str, Any] = json.loads(text)
    return parsed


_numbers = st.floats(-1e150, 1e150) | st.integers(-(2**53), 2**53)
_maybe = st.none() | _numbers
_values = st.none() | st.booleans() | _numbers | st.text(max_size=8)
_rows = st.fixed_dictionaries(
    {"name": st.none() | st.text(max_size=8), "presence": st.sampled_from(["both", "baseline_only", "new_only"])},
    optional={"baseline": _values, "new": _values, "delta": _maybe, "ratio": _maybe, "phase": _values, "x y": _values},
)
_texts = st.text(max_size=12)
_sides = st.builds(
    Side,
    _texts,
    st.lists(st.builds(RunInfo, _texts, _texts, st.integers(0), st.integers(0), st.integers(0)), max_size=2).map(tuple),
    st.lists(_rows, max_size=2).map(tuple),
    st.lists(st.integers(), max_size=3).map(tuple),
    st.dictionaries(_texts, _texts, max_size=2),
)
_findings = st.lists(
    st.builds(Finding, _texts, st.none() | _texts, st.none() | _texts, st.sampled_from(["info", "caution"]), _texts),
    max_size=2,
).map(tuple)
_samples = st.fixed_dictionaries({side: st.lists(_maybe, max_size=2).map(tuple) for side in ("baseline", "new")})
_deltas = st.builds(
    Delta,
    _texts,
    st.sampled_from(["ms", "bytes", ""]),
    st.sampled_from(["lower", "higher", "neutral"]),
    _maybe,
    _maybe,
    _maybe,
    _maybe,
    _samples,
    st.dictionaries(_texts, _values, max_size=2),
)
_causes = st.builds(Cause, _texts, _numbers, _numbers, _texts, _texts, _texts)


def _section(name: str) -> st.SearchStrategy[Section]:
    keys = st.lists(_texts, max_size=2).map(tuple)
    return st.builds(
        Section, st.just(name), st.just("ms"), keys, _maybe, _texts, st.lists(_rows, max_size=2).map(tuple)
    )


_sections = st.fixed_dictionaries({name: _section(name) for name in ("kernels", "phases", "kernel_types")})
_diffs = st.builds(
    Diff,
    _sides,
    _sides,
    st.builds(Comparability, st.sampled_from(["comparable", "caution", "not_comparable"]), _findings),
    _texts,
    st.lists(_deltas, max_size=2).map(tuple),
    st.lists(_causes, max_size=2).map(tuple),
    _findings,
    _sections,
)


@given(_diffs)
@settings(max_examples=60, deadline=None)
def test_round_trip_through_text(diff: Diff) -> None:
    assert from_document(json.loads(to_json(to_document(diff)))) == diff


@pytest.mark.slow
@given(_diffs)
@settings(max_examples=30, deadline=None)
def test_any_document_is_valid(schema: dict[str, Any], diff: Diff) -> None:
    jsonschema.validate(to_document(diff), schema, jsonschema.Draft202012Validator)


@pytest.mark.parametrize("make", _EXAMPLES)
def test_examples_survive_and_are_valid(schema: dict[str, Any], make: Callable[[], Diff]) -> None:
    document = to_document(make())
    jsonschema.validate(document, schema, jsonschema.Draft202012Validator)
    assert from_document(document) == make()


def test_schema_is_itself_valid_and_says_its_history(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    assert SCHEMA in schema["$comment"]
    assert schema["properties"]["schema"]["const"] == SCHEMA


def test_schema_describes_every_member(schema: dict[str, Any]) -> None:
    """Each member that is written has a property in the schema, and each property says what it is."""
    diff = replace(
        diff_examples.unstable(),
        events=(diff_examples.ONSET,),
        aggregates=(Aggregate("timing_s/step", "new", 0, 3, 2.0, 2.0, 1.0, 3.0, 2.0, 2.0),),
        series=_SERIES,
        pictures=_PICTURES,
        timeline=diff_examples.TIMELINE,
    )
    document, definitions = to_document(diff), schema["$defs"]
    written = {
        "": (document, schema),
        "side": (document["new"], definitions["side"]),
        "run": (document["new"]["runs"][0], definitions["side"]["properties"]["runs"]["items"]),
        "finding": (document["quality"][0], definitions["finding"]),
        "comparability": (document["comparability"], schema["properties"]["comparability"]),
        "delta": (document["overall"][0], definitions["delta"]),
        "cause": (document["causes"][0], definitions["cause"]),
        "event": (document["events"][0], definitions["event"]),
        "fact": (document["events"][0]["facts"][0], definitions["event"]["properties"]["facts"]["items"]),
        "aggregate": (document["aggregates"][0], definitions["aggregate"]),
        "series": (document["series"][0], definitions["series"]),
        "symptom": (document["symptoms"][0], definitions["symptom"]),
        "pictures": (document["pictures"], definitions["pictures"]),
        "rank_times": (document["pictures"]["ranks"][0], definitions["rank_times"]),
        "path_time": (document["pictures"]["path"][0], definitions["path_time"]),
        "level": (document["pictures"]["levels"][0], definitions["level"]),
        "sized": (document["pictures"]["collectives"][0], definitions["sized_collectives"]),
        "timeline": (document["timeline"], definitions["timeline"]),
        "timeline_side": (document["timeline"]["new"], definitions["timeline_side"]),
        "task": (
            document["timeline"]["new"]["tasks"][0],
            definitions["timeline_side"]["properties"]["tasks"]["items"],
        ),
        "info": (document["section_info"]["kernels"], schema["properties"]["section_info"]["additionalProperties"]),
    }
    for place, (value, definition) in written.items():
        assert set(value) == set(definition["properties"]) == set(definition["required"]), place
        for name, described in definition["properties"].items():
            assert "$ref" in described or described["description"], f"{place}.{name}"


def test_document_has_the_members_of_the_design() -> None:
    document = to_document(diff_examples.regression())
    assert {"schema", "baseline", "new", "comparability", "overall", "causes", "sections"} <= set(document)
    assert set(document["sections"]) == set(diff_examples.SECTION_NAMES)
    assert set(document["baseline"]) == {"label", "runs", "captures", "steps", "env"}


def test_what_is_not_finite_is_null() -> None:
    delta = Delta(
        "time.step",
        "ms",
        Polarity.LOWER,
        math.nan,
        math.inf,
        -math.inf,
        math.nan,
        {"new": (math.nan, 1.0)},
        {"p": math.nan},
    )
    section = Section("kernels", "ms", (), math.nan, "", ({"name": "a", "new": math.inf},))
    diff = replace(diff_examples.regression(), overall=(delta,), sections={"kernels": section})
    document = json.loads(to_json(to_document(diff)))
    written = document["overall"][0]
    assert [written[key] for key in ("baseline", "new", "delta", "ratio")] == [None] * 4
    assert written["samples"] == {"new": [None, 1.0]}
    assert document["sections"]["kernels"][0]["new"] is None
    assert document["section_info"]["kernels"]["matched_share"] is None


def test_text_has_one_line_per_row_and_is_ascii() -> None:
    diff = diff_examples.regression()
    text = to_json(to_document(diff))
    assert text.isascii()
    (line,) = [line for line in text.splitlines() if '"name": "SwiGlu"' in line]
    assert json.loads(line.strip().removesuffix(","))["new"] == 42.87


def test_hostile_names_are_kept_in_full() -> None:
    document = json.loads(to_json(to_document(diff_examples.hostile())))
    assert [row["name"] for row in document["sections"]["kernels"]] == list(diff_examples.HOSTILE_NAMES)


@pytest.mark.parametrize(
    "foreign", [None, 3, "text", [], {}, {"schema": "rlcompare.gate/1"}, {"schema": 7}, {"traceEvents": []}]
)
def test_foreign_document_is_refused(foreign: object) -> None:
    with pytest.raises(DocumentError, match="not a diff of rlcompare"):
        from_document(foreign)


def test_other_version_is_refused_by_name() -> None:
    with pytest.raises(DocumentError, match=r"rlcompare\.diff/9.*reads rlcompare\.diff/1") as caught:
        from_document({"schema": "rlcompare.diff/9"})
    assert isinstance(caught.value, ValueError)
    assert caught.value.problem and caught.value.remedy


_DAMAGE: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("new is missing", lambda doc: doc.pop("new")),
    ("baseline should be an object", lambda doc: doc.update(baseline=[])),
    ("overall should be a list", lambda doc: doc.update(overall={})),
    (r"overall\[0\].baseline should be a finite number", lambda doc: doc["overall"][0].update(baseline="12")),
    (r"overall\[0\].new should be a finite number", lambda doc: doc["overall"][0].update(new=math.nan)),
    (r"overall\[1\].ratio should be a finite number", lambda doc: doc["overall"][1].update(ratio=True)),
    (r"sections.kernels\[0\].new should be a finite", lambda doc: doc["sections"]["kernels"][0].update(new=10**400)),
    (r"half a character", lambda doc: doc["comparability"].update(status="\ud800")),
    (r"series\[0\] should have as many values", lambda doc: doc["series"][0].update(steps=[])),
    (r"levels\[0\] should have as many values", lambda doc: doc["pictures"]["levels"][0].update(at_ms=[])),
    (r"ranks\[0\] should have values for each", lambda doc: doc["pictures"]["ranks"][0].update(values=[])),
    (r"pictures should have a value for each of its phases", lambda doc: doc["pictures"].update(phases=["a", "b"])),
    (r"overall\[0\].polarity should be one of", lambda doc: doc["overall"][0].update(polarity="up")),
    ("comparability.status should be one of", lambda doc: doc["comparability"].update(status=["comparable"])),
    (r"new.steps\[0\] should be an integer", lambda doc: doc["new"].update(steps=[1.5])),
    (r"new.env.cann should be a string", lambda doc: doc["new"]["env"].update(cann=8)),
    (r"sections.kernels\[0\].name should be", lambda doc: doc["sections"]["kernels"][0].update(name=[1])),
    (r"section_info.kernels is missing", lambda doc: doc["section_info"].pop("kernels")),
    ("lower-case letters", lambda doc: doc["sections"].update({"../../etc/passwd": []})),
    (r"causes\[0\].delta_ms", lambda doc: doc["causes"][0].update(delta_ms=None)),
]


@pytest.mark.parametrize(("message", "damage"), _DAMAGE, ids=[message for message, _ in _DAMAGE])
def test_damaged_document_names_the_place(message: str, damage: Callable[[dict[str, Any]], object]) -> None:
    diff = replace(diff_examples.regression(), series=_SERIES, pictures=_PICTURES)
    document = json.loads(json.dumps(to_document(diff)))
    damage(document)
    with pytest.raises(DocumentError, match=message):
        from_document(document)


def test_unknown_members_are_ignored() -> None:
    document = to_document(diff_examples.regression())
    document["later"] = {"x": 1}
    document["new"]["later"] = 2
    assert from_document(document) == diff_examples.regression()


def test_the_schema_has_the_members_and_types_of_the_classes(schema: dict[str, Any]) -> None:
    """What ``from_document`` reads by the classes is what the schema tells everybody else."""
    of_side = schema["$defs"]["side"]
    described: dict[type, dict[str, Any]] = {
        Side: of_side,
        RunInfo: of_side["properties"]["runs"]["items"],
        Comparability: schema["properties"]["comparability"],
        Finding: schema["$defs"]["finding"],
        Delta: schema["$defs"]["delta"],
        Cause: schema["$defs"]["cause"],
    }
    for kind, found in described.items():
        hints = get_type_hints(kind)
        assert set(found["properties"]) == set(found["required"]) == set(hints), kind
        for name, hint in hints.items():
            member = found["properties"][name]
            if isinstance(hint, type) and issubclass(hint, Word):
                assert member["enum"] == [word for word in hint if word is not Severity.DECLARED], name
            elif scalars := _json_types(hint):
                assert member["type"] in (scalars, scalars[0]), name


def _json_types(hint: Any) -> list[str]:
    """The JSON types of a scalar; none for lists and objects."""
    names = {str: "string", int: "integer", float: "number", type(None): "null"}
    kinds = get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return [names[kind] for kind in kinds if kind in names]
