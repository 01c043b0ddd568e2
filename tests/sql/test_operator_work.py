"""Without a device: what operators compute, from the shapes of their inputs, and what more of that explains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rlcompare.model.diff import Diff
from tests.sources.torch_traces import Event, kernel, launch, mark, op, trace, write
from tests.sql.rollup_stores import compared
from tests.stores import rows, store_of

MS = 1000
Call = tuple[str, Sequence[Sequence[int]], float]
"""An operator, the dimensions of its inputs, and its time in ms."""


def called(name: str, dims: Sequence[Sequence[int]], start: float, length: float) -> Event:
    return op(name, start, length, **{"Input Dims": dims, "Input type": ["float"] * len(dims)})


def step(folder: Path, *phases: tuple[str, Sequence[Call]], more: Sequence[Event] = ()) -> Path:
    """The store of a run of one step with these phases, each with these calls one after the other, and a rest."""
    events: list[Event] = []
    at = 0.0
    for name, calls in phases:
        start = at
        for operator, dims, ms in calls:
            events.append(called(operator, dims, at + 1, ms * MS))
            at += ms * MS + 2
        events.append(mark(name, start, at - start))
    events.append(mark("ProfilerStep#1", 0, at + 10 * MS))
    write(folder / "host_1.1.pt.trace.json", trace(*events, *more, record_shapes=1))
    return store_of(folder, folder.with_suffix(".duckdb"), keep_events=False)


@pytest.mark.parametrize(
    ("name", "dims", "elements", "flop"),
    [
        ("aten::mm", [[4, 8], [8, 2]], 48, 128),
        ("aten::bmm", [[3, 4, 8], [3, 8, 2]], 144, 384),
        ("aten::addmm", [[2], [4, 8], [8, 2], [], []], 50, 128),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", [[1, 4, 8, 16], *[[1, 4, 32, 16]] * 2], 4608, 65_536),
        ("aten::gelu", [[4, 8]], 32, None),
        ("aten::mm", [[4, 8]], None, None),
        ("aten::convolution", [[1, 3, 8, 8], [4, 3, 3, 3]], None, None),
        ("aten::sort", [[64]], None, None),
        ("aten::transpose", [[4, 8], [], []], None, None),
        ("aten::_softmax", [[4, 8], [], []], 32, None),
        ("aten::mul_", [[4, 8], []], 32, None),
        ("aten::gelu", [[0, 8]], 0, None),
        ("aten::mm", [[4, 8], [4, 2]], None, None),
        ("autograd::engine::evaluate_function: MmBackward0", [[4, 8]], None, None),
        ("aten::ones", [[], []], None, None),
    ],
)  # fmt: skip
def test_of_one_call(tmp_path: Path, name: str, dims: list[list[int]], elements: int | None, flop: int | None) -> None:
    store = step(tmp_path / "run", ("forward", [(name, dims, 1.0)] * 2))

    ((found, counted),) = rows(store, "SELECT elements, flop FROM r_operator WHERE name = $1", [name])

    assert (found, counted) == (None if elements is None else 2 * elements, flop and 2 * flop)


def test_calls_without_shapes_leave_the_sum_unknown(tmp_path: Path) -> None:
    plain = op("aten::mm", 5 * MS, 10)
    store = step(tmp_path / "run", ("forward", [("aten::mm", [[4, 8], [8, 2]], 1.0)]), more=[plain])

    assert rows(store, "SELECT sum(elements) FROM r_operator WHERE phase IS NULL") == [(None,)]


def test_with_a_device_the_kernels_tell(tmp_path: Path) -> None:
    on_device = [launch(1, 500), kernel(1, 600, 50)]
    store = step(tmp_path / "run", ("forward", [("aten::mm", [[4, 8], [8, 2]], 1.0)]), more=on_device)

    assert rows(store, "SELECT count(elements), count(flop) FROM r_operator") == [(0, 0)]


def causes(*sides: Path) -> tuple[Diff, list[tuple[str, str]]]:
    diff = compared(*sides)
    return diff, [(cause.what, cause.text) for cause in diff.causes]


@pytest.mark.slow
def test_larger_inputs_are_named_and_the_workload_differs(tmp_path: Path) -> None:
    """The matrix product takes twice as long for twice the rows, and attention four times for twice the sequence."""
    sides = []
    for name, rows_, factors in (("old", 512, (1, 1, 1)), ("new", 1024, (2, 2, 4))):
        q = [2, 4, rows_, 16]
        calls = [
            ("aten::mm", [[rows_, 256], [256, 256]], 20.0 * factors[0]),
            ("aten::gelu", [[rows_, 256]], 5.0 * factors[1]),
            ("aten::_scaled_dot_product_flash_attention_for_cpu", [q, q, q], 10.0 * factors[2]),
        ]
        sides.append(step(tmp_path / name, ("forward", calls)))

    diff, ((what, text),) = causes(*sides)

    assert what == "workload"
    assert text == "The work itself grew: 3 operators had larger inputs per step, which accounts for 55.00 ms."
    delta = diff.metric("workload.input_elements")
    assert delta is not None and delta.ratio is not None and delta.ratio > 1.5


@pytest.mark.slow
def test_calls_of_another_phase_make_no_operator_slower(tmp_path: Path) -> None:
    """fill_ is called three times more, in another phase and on far larger tensors: no call takes longer."""
    large = [("aten::fill_", [[4_000_000]], 7.0)] * 3
    small = [("aten::fill_", [[64]], 0.15)] * 44
    others = [("aten::mm", [[512, 256], [256, 256]], 100.0)]
    old = step(tmp_path / "old", ("backward", small), ("metrics", others))
    new = step(tmp_path / "new", ("backward", small), ("metrics", [*others, *large]))

    _, ((what, text),) = causes(old, new)

    assert what == "operator_calls"
    assert text == "aten::fill_ is called more often: 44 → 47 times per step, 21.00 ms more, added after aten::mm."


@pytest.mark.slow
def test_more_calls_in_one_phase_take_no_time_of_another(tmp_path: Path) -> None:
    """The forward pass runs again in backward, and forward itself is slower: each is told with its own time."""
    forward = [("aten::addmm", [[256], [512, 256], [256, 256]], 10.0)] * 4
    slower = [(name, dims, 1.5 * ms) for name, dims, ms in forward]
    rest = [("aten::mm", [[512, 256], [256, 256]], 30.0)]
    old = step(tmp_path / "old", ("forward", forward), ("backward", rest))
    new = step(tmp_path / "new", ("forward", slower), ("backward", [*rest, *forward]))

    _, ((what, text),) = causes(old, new)

    assert what == "operator_calls"
    assert text == (
        "aten::addmm takes 60.00 ms more: +40.00 ms for calls (4 → 8), +20.00 ms for the time per call (25 % longer)."
    )


@pytest.mark.slow
def test_small_calls_that_come_to_large_ones_do_not_divide_the_work(tmp_path: Path) -> None:
    """A hundred small products in one phase: the other phase has as many calls, as large, as before."""
    large = [("aten::mm", [[512, 256], [256, 256]], 20.0), ("aten::mul", [[512, 256]], 5.0)]
    small = [("aten::mm", [[16, 16], [16, 16]], 0.2), ("aten::mul", [[16, 16]], 0.1)] * 100
    old = step(tmp_path / "old", ("forward", large), ("backward", large * 5))
    new = step(tmp_path / "new", ("forward", [*large, *small]), ("backward", large * 5))

    _, ((what, text), *_) = causes(old, new)

    assert what == "workload"
    assert text.startswith("The work itself grew: 2 operators had more calls, 12 → 212 per step")


@pytest.mark.slow
@pytest.mark.parametrize("shaped", [True, False])
@pytest.mark.parametrize("more", [4, 3])
def test_calls_that_moved_to_where_they_take_longer_are_no_larger_inputs(
    tmp_path: Path, shaped: bool, more: int
) -> None:
    """Ten calls in forward and one in backward, where each takes twenty times as long; then seven and four."""
    dims = {"aten::mm": [[512, 256], [256, 256]], "aten::gelu": [[512, 256]]}

    def calls(number: int, ms: float) -> Sequence[Call]:
        return [(name, dims[name] if shaped else [], ms) for name in dims] * number

    old = step(tmp_path / "old", ("forward", calls(10, 1.0)), ("backward", calls(1, 20.0)))
    new = step(tmp_path / "new", ("forward", calls(10 - more, 1.0)), ("backward", calls(1 + more, 20.0)))

    _, found = causes(old, new)

    assert found and not any("inputs per step" in text or "The work" in text for _, text in found), found


@pytest.mark.slow
def test_a_view_of_a_larger_tensor_is_no_more_work(tmp_path: Path) -> None:
    sides = [
        step(tmp_path / name, ("forward", [("aten::transpose", [[size, 256], [], []], ms)] * 3))
        for name, size, ms in (("old", 512, 5.0), ("new", 1024, 9.0))
    ]

    _, ((what, _),) = causes(*sides)

    assert what == "operator_slower"
