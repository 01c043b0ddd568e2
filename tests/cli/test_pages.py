"""Pages of what compares nothing: ``rlcompare show --html`` and ``rlcompare history plot --html``."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from rlcompare.history import store
from rlcompare.history.page import _ticks
from rlcompare.history.place import place_of
from rlcompare.report.charts.one_run import kind_words
from tests.history.examples import HEADLINE, new_run

from .conftest import Command

_JUDGED = re.compile(r'"(?:worse|better)"|class="[^"]*\b(?:worse|better)\b')


def _body(page: Path) -> str:
    text = page.read_text()
    return text[text.index("<body>") : text.index("<script>")]


def _cells(page: Path, section: str) -> list[list[str]]:
    """The texts of the rows of a table."""
    (found,) = re.findall(rf'<section id="s-{section}".*?</section>', _body(page), re.DOTALL)
    rows = re.findall("<tr.*?</tr>", found[found.index("<tbody>") :], re.DOTALL)
    return [[unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall("<t[hd].*?</t[hd]>", row)] for row in rows]


class TestOneRun:
    def test_its_tables_are_those_of_show(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("show", samples / "new", "--html", "page.html")
        assert (result.code, result.out, result.err) == (0, "", "")
        sections = json.loads(rlcompare("show", samples / "new", "--json").out)
        for name in ("account", "path", "phases", "ranks", "kernels", "collectives", "env"):
            shown = _cells(Path("page.html"), name)
            assert len(shown) == len(sections[name]), name
            for row, cells in zip(sections[name], shown, strict=True):
                texts = [str(value) for value in row.values() if isinstance(value, str)]
                assert [text for text in texts if text not in cells] == [], name
                numbers = {f"{value:,.3f}" for value in row.values() if isinstance(value, float) and abs(value) > 1e-3}
                whole = {f"{value:,.0f}" for value in row.values() if isinstance(value, float) and value.is_integer()}
                assert numbers - set(cells) <= {f"{text}.000" for text in whole}, (name, row)

    def test_its_bars_are_the_numbers_beside_them(self, rlcompare: Command, samples: Path) -> None:
        rlcompare("show", samples / "new", "--html", "page.html")
        path = json.loads(rlcompare("show", samples / "new", "--json").out)["path"]
        sums: dict[str, float] = {}
        for row in path:
            sums[row["kind"]] = sums.get(row["kind"], 0.0) + row["total_ms"]
        (chart,) = re.findall(r'<section id="c-run-account".*?</section>', _body(Path("page.html")), re.DOTALL)
        bars = re.findall(r'<span class="name">(.*?)</span>.*?width="(\d+)".*?<title>', chart, re.DOTALL)
        longest = max(sums.values())
        assert {name: int(length) for name, length in bars} == {
            kind_words(kind): round(1000 * time / longest)
            for kind, time in sums.items()
            if round(1000 * time / longest)
        }

    def test_nothing_is_better_or_worse_and_nothing_is_loaded(self, rlcompare: Command, samples: Path) -> None:
        rlcompare("show", samples / "new", "--html", "page.html")
        page = Path("page.html")
        assert not _JUDGED.search(_body(page))
        assert not re.search(r"\b(worse|better|regress\w*|baseline)\b", re.sub("<[^>]*>", "", _body(page)))
        assert not re.search(r'(?:src|href)="(?!#)', page.read_text())
        assert "default-src 'none'" in unescape(page.read_text())

    def test_a_log_alone_has_its_metrics(self, rlcompare: Command, tmp_path: Path) -> None:
        lines = [json.dumps({"step": n, "data": {"timing_s/step": 30.0 + n, "actor/<b>x</b>": 1.0}}) for n in range(6)]
        (tmp_path / "metrics.jsonl").write_text("\n".join(lines))
        assert rlcompare("show", tmp_path / "metrics.jsonl", "--html", "page.html").code == 0
        body = _body(Path("page.html"))
        assert "c-run-account" not in body
        assert "timing_s/step" in body and "<b>x</b>" not in body and "&lt;b&gt;x" in body

    def test_standard_output_and_what_is_refused(self, rlcompare: Command, samples: Path) -> None:
        assert rlcompare("show", samples / "new", "--html", "-").out.startswith("<!doctype html>")
        Path("trace.db").write_text("mine")
        for target, message in (
            ("trace.db", "exists, and only files named"),
            (samples / "new" / "page.html", "would be written into the input"),
            ("no/such/page.html", "No such file or directory"),
        ):
            result = rlcompare("show", samples / "new", "--html", target)
            assert (result.code, message in result.error) == (2, True), result.err
        assert Path("trace.db").read_text() == "mine"

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            (("show", "x", "--html", "page.html", "--json"), "use either --json or --html, not both"),
            (("history", "plot", "--html", "page.html", "--json"), "use either --json or --html, not both"),
            (("diff", "-d", "x", "-bp", "y", "--json", "--format", "md"), "--format md writes files: add -o DIR"),
        ],
    )
    def test_outputs_that_exclude_each_other(self, rlcompare: Command, command: tuple[str, ...], message: str) -> None:
        result = rlcompare(*command)
        assert (result.code, message in result.error) == (2, True), result.err
        assert not Path("page.html").exists()


class TestHistory:
    @pytest.fixture(autouse=True)
    def _no_history_of_the_developer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("RLCOMPARE_HISTORY", raising=False)

    def test_points_and_levels_stand_where_the_axis_says(self, rlcompare: Command) -> None:
        values = [30 + number % 5 / 10 + (3 if number > 18 else 0) for number in range(1, 31)]
        store.add(place_of(None), [new_run(number, {HEADLINE: value}) for number, value in enumerate(values, 1)])
        result = rlcompare("history", "plot", "--html", "page.html")
        assert (result.code, result.out, result.err) == (0, "", "")
        body = _body(Path("page.html"))
        ticks = [(float(y), float(label)) for y, label in re.findall(r'y="([\d.]+)" dy[^>]*>([\d.]+)</text>', body)]
        (y0, v0), (y1, v1) = ticks[0], ticks[-1]

        def value_at(y: str) -> float:
            return v0 + (float(y) - y0) * (v1 - v0) / (y1 - y0)

        points = re.findall(r'cx="([\d.]+)%" cy="([\d.]+)" r="3.5"><title>(.*?)</title>', body)
        assert [value_at(y) for _, y, _ in points] == pytest.approx(values, abs=0.01)
        assert points[0][2].startswith("run 1, 20") and points[0][2].endswith(f"{values[0]:.3f} s")
        places = [float(x) for x, _, _ in points]
        assert places == sorted(places) and places[0] > 0 and places[-1] < 100
        levels = re.findall(r'class="p-level" x1="([\d.]+)%" x2="([\d.]+)%" y1="([\d.]+)"', body)
        assert [value_at(y) for *_, y in levels] == pytest.approx([30.2, 33.2], abs=0.01)
        assert float(levels[0][1]) == float(levels[1][0]) == pytest.approx((places[17] + places[18]) / 2, abs=0.01)
        assert "Since run 19: 30.200 → 33.200 s (+9.9 %)." in body
        assert [row[0] for row in _cells(Path("page.html"), "runs-1")] == [str(number) for number in range(1, 31)]

    def test_any_metric_and_few_runs(self, rlcompare: Command) -> None:
        name = "actor/<script>alert(1)</script>"
        store.add(place_of(None), [new_run(1, {HEADLINE: 30.0, name: 0.0, "zero": 0.0, "below": -5.0})])
        for metric in (name, "zero", "below"):
            assert rlcompare("history", "plot", metric, "--html", "page.html").code == 0
            assert "<script>" not in _body(Path("page.html"))
            assert len(re.findall("<circle", _body(Path("page.html")))) == 1

    def test_what_is_no_page_is_kept(self, rlcompare: Command) -> None:
        Path("mine.duckdb").write_text("mine")
        result = rlcompare("history", "plot", "--html", "mine.duckdb")
        assert (result.code, "exists, and only files named" in result.error) == (2, True)
        assert Path("mine.duckdb").read_text() == "mine"


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (0.0, 0.0), (-3.0, 7.5), (99_999.0, 100_001.0), (1e-9, 2e-9)])
def test_ticks_enclose_the_values(low: float, high: float) -> None:
    ticks = _ticks(low, high)
    assert ticks[0] <= low and high <= ticks[-1]
    assert 2 <= len(ticks) <= 7 and ticks == sorted(set(ticks))
