"""Pages of what compares nothing: ``rlcompare show --html`` and ``rlcompare history plot --html``."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

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
        assert {kind: int(length) for kind, length in bars} == {
            kind: round(1000 * time / longest) for kind, time in sums.items() if round(1000 * time / longest)
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
            ("trace.db", "exists and is no page"),
            (samples / "new" / "page.html", "would be written into the input"),
            ("no/such/page.html", "No such file or directory"),
        ):
            result = rlcompare("show", samples / "new", "--html", target)
            assert (result.code, message in result.error) == (2, True), result.err
        assert Path("trace.db").read_text() == "mine"
