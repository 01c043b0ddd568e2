"""That what finds contradictions in reports finds them."""

from __future__ import annotations

from tests.agreement import (
    Page,
    Row,
    bar_contradictions,
    differing_rows,
    markdown_rows,
    profile_contradictions,
    row_contradictions,
    sentence_contradictions,
    share_contradictions,
    terminal_rows,
)


def test_rows() -> None:
    assert not list(row_contradictions([Row("overall", "a", ("1.0", "1.5", "+0.5", "+50.0", "lower"), "worse")]))
    for cells, tone in (
        (("1.0", "1.5", "+0.9", "+50.0"), "worse"),
        (("1.0", "1.5", "+0.5", "-50.0"), "worse"),
        (("1.0", "1.5", "+0.5", "+50.0"), "better"),
        (("1.0", "1.5", "+0.5", "+50.0", "higher"), "worse"),
    ):
        assert list(row_contradictions([Row("overall", "a", cells, tone)])), cells


def test_outputs() -> None:
    (shown,) = terminal_rows(
        "summary\n\nOverall; profiled\nmetric  baseline  new  Δ  change\na  1.0 ms  1.5 ms  +0.5 ms  +50.0 %"
    )
    (written,) = markdown_rows("<details><summary>Overall</summary>\n| `a` | 1.0 | 1.5 | +0.5 | +49.0 % | 🔴 worse |")
    assert shown.cells == ("1.0", "1.5", "+0.5", "+50.0")
    assert (written.cells[3], written.tone) == ("+49.0", "worse")
    assert not list(differing_rows([shown], [shown], {}))
    assert list(differing_rows([shown], [written], {}))


def test_cut_names() -> None:
    cells = ("1.0", "1.5", "+0.5", "+50.0")
    whole = [Row("a", "forward_of_cpu", cells), Row("a", "forward_of_cpu_backward", ("2.0", "3.0", "+1.0", "+50.0"))]
    for name in ("forward…", "forward_of_cpu", "forw…_cpu"):
        assert not list(differing_rows([Row("a", name, cells)], whole, {}))
    for name in ("forw…backward", "backward…", "forward"):
        assert list(differing_rows([Row("a", name, cells)], whole, {}))


def test_shares() -> None:
    said = "66 % of the change: a.\n And 45 %: b. Unexplained -11 %."
    assert not list(share_contradictions(said))
    assert list(share_contradictions(said.replace(" And 45 %: b.", "")))


def test_bars() -> None:
    def page(width: float, of_new: float = 9.0) -> Page:
        bar = '<rect width="{}%"><title>{} · update_actor · compute {} ms</title></rect>'
        bars = bar.format(48.0, "baseline", 4.8) + bar.format(width, "new", of_new)
        return Page(f'<svg aria-label="update_actor: 4.8 → 9.0 ms">{bars}</svg>')

    assert not list(bar_contradictions(page(90.0)))
    assert list(bar_contradictions(page(60.0)))
    assert list(bar_contradictions(page(70.0, 7.0)))


def test_bars_of_rounded_numbers() -> None:
    def page(new: str) -> Page:
        bar = '<rect width="{}%"><title>{} · reward · {} {} ms</title></rect>'
        parts = ((44, "baseline", "compute", "0.3"), (12, "baseline", "free", "0.1"), (95, "new", "compute", "0.5"))
        bars = "".join(bar.format(*part) for part in parts)
        return Page(f'<svg aria-label="reward: {new} → 0.5 ms">{bars}</svg>')

    assert not list(bar_contradictions(page("0.3")))
    assert list(bar_contradictions(page("0.2")))


def test_sentences() -> None:
    assert not list(sentence_contradictions([("Phase adv grew by 2.00 ms", 2.0)], {"adv": 1.0}))
    assert list(sentence_contradictions([("Phase adv grew by 2.00 ms", -2.0)], {}))
    assert list(sentence_contradictions([("Phase adv grew by 2.00 ms", 2.0)], {"adv": -1.0}))


def test_profile() -> None:
    def page(wall: tuple[str, str], tone: str) -> Page:
        row = '<tr class="{}"><th>phase.adv.{}</th><td>9.0 ms</td><td>9.0 ms</td><td>{} ms</td><td>1 %</td></tr>'
        rows = row.format(wall[0], "wall", wall[1]) + row.format(tone, "compute", "-3.0")
        return Page(f'<section id="s-overall"><table>{rows}</table></section>')

    assert not list(profile_contradictions(page(("better", "-1.0"), "better")))
    assert not list(profile_contradictions(page(("worse", "+1.0"), "")))
    assert list(profile_contradictions(page(("worse", "+1.0"), "better")))
    assert list(profile_contradictions(page(("noise", "+0.1"), "better")))
