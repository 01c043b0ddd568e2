"""Where operators came or went, from sequences written by hand."""

from __future__ import annotations

import pytest

from rlcompare.compare.operator_tree import MOST_AROUND, Entry, OperatorTree
from rlcompare.compare.places_of_calls import path_of, text_of
from rlcompare.compare.records import AlignedPair, SequenceText
from rlcompare.compare.sequences import MOST_PAIRS, Edits, find_edits

LINEAR = ["aten::linear", " aten::t", " aten::addmm"]
ADDED = ["aten::injected", " aten::empty"]


def text_of_lines(number: int, lines: list[str]) -> SequenceText:
    """A sequence of one thread. A line is an operator, indented by its depth, without a depth (``?aten::view``), the
    start of a module (``Linear_0:``), or its end (``/Linear_0``)."""
    entries: list[tuple[str, str, int | None]] = [("thread", "", None)]
    for line in lines:
        name = line.strip()
        if name.endswith(":") and not name.endswith("::"):
            entries.append(("module", name[:-1], None))
        elif name.startswith("/"):
            entries.append(("end", name[1:], None))
        elif name.startswith("?"):
            entries.append(("operator", name[1:], None))
        else:
            entries.append(("operator", name, len(line) - len(line.lstrip()) + 1))
    known = list(dict.fromkeys(entries))
    kinds, names, depths = zip(*known, strict=True)
    return SequenceText(number, [*kinds], [*names], [*depths], [known.index(entry) for entry in entries])


def edits_of(*sides: tuple[list[str], list[str]]) -> Edits:
    """The edits between the sides of members, each with its baseline and new sequence."""
    texts = [text_of_lines(number, lines) for number, lines in enumerate(line for side in sides for line in side)]
    pairs = [AlignedPair(2 * number, 2 * number + 1, 1 / len(sides)) for number in range(len(sides))]
    return find_edits(pairs, texts)


def said(edits: Edits, operator: str = "aten::injected") -> str | None:
    place = edits.place(operator, edits.calls(operator))
    return f"{place.name} {text_of(place)}" if place else None


def layers(number: int, inside: list[str], changed: frozenset[int], added: list[str]) -> list[str]:
    """Decoder layers of an attention and an MLP with two linear modules, one of which is changed in some of them."""
    found = ["Model_0:"]
    for layer in range(number):
        found += [f"Decoder_{layer}:", f"MLP_{layer}:", f"Linear_{2 * layer}:", *LINEAR, f"/Linear_{2 * layer}"]
        found += ["aten::gelu", f"Linear_{2 * layer + 1}:", *inside, *(added if layer in changed else [])]
        found += [f"/Linear_{2 * layer + 1}", f"/MLP_{layer}", "aten::add", f"/Decoder_{layer}"]
    return [*found, "/Model_0", "aten::sum"]


def test_an_operator_in_each_layer_is_named_with_the_path_of_modules() -> None:
    old, new = (layers(5, LINEAR, frozenset(range(count)), ADDED) for count in (0, 5))
    edits = edits_of((old, new))
    assert said(edits) == "aten::injected after aten::linear in Decoder.*.MLP.Linear_1 (5 places)"
    assert said(edits, "aten::empty") == said(edits)
    assert edits.calls("aten::injected") == 5
    assert edits.calls("aten::linear") == 0
    back = edits_of((new, old))
    assert back.calls("aten::injected") == -5
    assert said(back) == said(edits)


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({3}, "Decoder_3.MLP.Linear_1"),
        ({1, 3}, "Decoder_{1,3}.MLP.Linear_1 (2 places)"),
        ({0, 1, 2, 3}, "Decoder.* (4 of 5).MLP.Linear_1 (4 places)"),
    ],
)
def test_layers_that_alone_changed_are_named(changed: set[int], path: str) -> None:
    old, new = (layers(5, LINEAR, frozenset(of), ADDED) for of in ((), changed))
    assert said(edits_of((old, new))) == f"aten::injected after aten::linear in {path}"


def test_an_operator_that_came_before_its_like_is_whole() -> None:
    """The same tokens match if the call of ``aten::linear`` that came begins with the last operator of another."""
    edits = edits_of(([*LINEAR, "aten::gelu", *LINEAR], [*LINEAR, "aten::gelu", *LINEAR, *LINEAR]))
    (edit,) = edits.all
    assert [(branch.name, branch.operators) for branch in edit.new] == [
        ("aten::linear", ("aten::linear", "aten::t", "aten::addmm"))
    ]
    assert said(edits, "aten::addmm") == "aten::linear after aten::gelu"


def test_a_module_that_came_before_its_like_is_whole() -> None:
    calls = [line for n in range(3) for line in (f"Dropout_{n}:", "aten::dropout", f"/Dropout_{n}")]
    other = ["Dropout_9:", "aten::rand", "/Dropout_9"]
    old, new = ([*other, *calls[: 3 * count]] for count in (2, 3))
    assert said(edits_of((old, new)), "aten::dropout") == "Dropout after Dropout"


def test_inside_an_operator_and_at_its_start() -> None:
    edits = edits_of((LINEAR, [LINEAR[0], " aten::injected", *LINEAR[1:]]))
    assert said(edits) == "aten::injected at the start of aten::linear"
    edits = edits_of((LINEAR, [*LINEAR, " aten::injected"]))
    assert said(edits) == "aten::injected after aten::addmm in aten::linear"
    assert said(edits_of((LINEAR, ["aten::injected", *LINEAR]))) == "aten::injected at the start of its thread"


def test_an_operator_around_others_is_new_alone() -> None:
    """All depths below it grow by one."""
    edits = edits_of((["aten::a", *LINEAR], ["aten::a", "aten::injected", *(f" {line}" for line in LINEAR)]))
    assert said(edits) == "aten::injected after aten::a"
    assert edits.calls("aten::addmm") == 0


def test_of_several_places_the_narrowest_that_holds_most_is_named() -> None:
    old = ["aten::a", " aten::b", " aten::c", " aten::d", "aten::e"] * 6
    new = ["aten::a", " aten::b", " aten::x", " aten::c", " aten::x", " aten::d", "aten::e"] * 6
    assert said(edits_of((old, new))) is None
    assert said(edits_of((old, new)), "aten::x") == "aten::x in aten::a (12 places)"
    new = ["aten::a", " aten::b", " aten::x", " aten::c", " aten::d", "aten::e"] * 5 + ["aten::x", *old[:5]]
    assert said(edits_of((old, new)), "aten::x") == "aten::x mostly after aten::b in aten::a (5 places)"


def test_nothing_is_said_if_other_calls_than_these_came_or_went() -> None:
    edits = edits_of((["aten::a"] * 9, [*["aten::a"] * 9, "aten::x", "aten::x"]))
    assert edits.place("aten::x", 2.0) is not None
    assert edits.place("aten::x", 2.1) is None
    assert edits.place("aten::x", -2.0) is None
    assert edits.place("aten::a", 1.0) is None


def test_nothing_is_said_of_calls_that_both_came_and_went() -> None:
    edits = edits_of((["aten::x", *LINEAR, "aten::a"], [*LINEAR, "aten::a", "aten::x", "aten::x"]))
    assert edits.place("aten::x", 1.0) is None


def test_what_contains_an_operator_without_a_length_is_unknown() -> None:
    assert said(edits_of((LINEAR, [*LINEAR[:2], "?aten::injected", LINEAR[2]]))) is None
    assert (
        said(edits_of(([*LINEAR, "?aten::b", "aten::c"], [*LINEAR, "?aten::b", "aten::injected", "aten::c"]))) is None
    )


def test_nothing_is_said_of_sequences_with_little_in_common() -> None:
    old, new = ([f"aten::{letter}" for letter in letters] for letters in ("abcdefgh", "stuvwxyaz"))
    assert edits_of((old, new)) == Edits()
    assert find_edits([AlignedPair(0, 1, 1.0)], [text_of_lines(0, []), text_of_lines(1, old)]).all != ()


def test_operators_that_came_in_the_place_of_others_are_an_exchange() -> None:
    old = ["aten::a", "npu::fused", "aten::b"] * 7
    new = ["aten::a", "aten::bmm", "aten::softmax", "aten::bmm", "aten::b"] * 7
    (exchange,) = edits_of((old, new)).exchanges
    assert exchange.times == 7
    assert (exchange.calls("npu::fused"), exchange.calls("aten::bmm"), exchange.calls("aten::a")) == (-7, 14, 0)


def test_members_count_by_their_part() -> None:
    """Two stages of a pipeline: one has three layers that changed, the other has one."""
    stages = [tuple(layers(of, LINEAR, frozenset(range(now)), ADDED) for now in (0, of)) for of in (3, 1)]
    edits = edits_of(*((old, new) for old, new in stages))
    assert edits.calls("aten::injected") == pytest.approx(2.0)
    text = text_of_lines(0, LINEAR)
    assert find_edits([AlignedPair(0, 0, 1.0)] * (MOST_PAIRS + 1), [text]) == Edits()


def test_a_tree_knows_what_contains_what() -> None:
    lines = ["A_0:", "x", " y", "B_0:", "  z", "/B_0", " w", "/A_0", "v", "C_0:", "D_0:", "u", "/D_0", "/C_0"]
    text = text_of_lines(0, lines)
    tree = OperatorTree([*map(Entry, text.kinds, text.names, text.depths)], text.tokens)
    names = [tree.at(place).name for place in range(len(tree.tokens))]
    parents = {names[place]: names[tree.parents[place]] for place in range(1, len(names))}
    assert parents == {
        "A_0": "", "x": "A_0", "y": "x", "B_0": "y", "z": "B_0", "w": "x", "v": "", "C_0": "", "D_0": "C_0", "u": "D_0",
    }  # fmt: skip


def test_a_path_without_modules_is_empty() -> None:
    assert path_of([()]) == ""
    assert path_of([]) == ""


@pytest.mark.slow
def test_of_modules_nested_by_the_thousand_the_outermost_count() -> None:
    """A place is compared with each number of the modules around it: all of them would take too long."""
    around = [f"M{number}_0:" for number in range(5000)]
    ends = [f"/{name[:-1]}" for name in reversed(around)]
    old, new = ([*around, *inside, *ends] for inside in (["x"], ["x", *ADDED]))
    (edit,) = edits_of((old, new)).all
    (branch,) = edit.new
    assert (branch.name, branch.where.after) == ("aten::injected", "x")
    assert branch.where.modules == tuple(f"M{number}" for number in range(MOST_AROUND))
