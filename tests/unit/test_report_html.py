"""report.html as a text: complete, self-contained, and nothing in it comes from a profile as markup."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from rlcompare.model.diff import Comparability, Diff, Finding
from rlcompare.model.words import Comparable, Severity
from rlcompare.report.findings import change_of_text
from rlcompare.report.html import render_html
from rlcompare.report.templates import environment
from rlcompare.report.view import build_view
from tests.unit import diff_examples


class Page(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.inside[-1] if self.inside else "", []).append(data)

    @property
    def text(self) -> str:
        return " ".join(text for tag, texts in self.texts.items() if tag not in ("style", "script") for text in texts)


def page_of(diff: Diff) -> str:
    return render_html(build_view(diff, diff_examples.verdicts()))


@pytest.fixture(scope="module")
def regression() -> str:
    return page_of(diff_examples.regression())


@pytest.fixture(scope="module")
def hostile() -> str:
    return page_of(diff_examples.hostile())


def test_policy_allows_exactly_the_inlined_style_and_script(regression: str) -> None:
    page = Page(regression)
    (policy,) = [attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None and policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        (inlined,) = page.texts[tag]
        digest = base64.b64encode(hashlib.sha256(inlined.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("make", [diff_examples.regression, diff_examples.hostile, diff_examples.empty])
def test_nothing_is_fetched_and_nothing_runs_from_an_attribute(make: Callable[[], Diff]) -> None:
    for tag, attrs in Page(page_of(make())).tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form", "use", "image")
        assert not [name for name in attrs if name.startswith("on") or name in ("src", "style", "srcset", "action")]
        assert (attrs.get("href") or "#").startswith("#")


def test_assets_fetch_nothing(regression: str) -> None:
    page = Page(regression)
    assert not re.search(r"url\((?!#)|@import|https?://", page.texts["style"][0])
    assert not re.search(
        r"innerHTML|outerHTML|eval|Function\(|document\.write|fetch|import\(|https?://", page.texts["script"][0]
    )


def test_hostile_names_are_texts(hostile: str) -> None:
    """The page has the same elements as one whose names are harmless, and shows the names."""
    page = Page(hostile)
    assert len([tag for tag, _ in page.tags if tag == "script"]) == 1
    for shown in (
        "</script><script>alert('kernel')</script>",
        '" onmouseover="alert(2)',
        "{{ 7 * 7 }}",
        r"red \x1b[31m alarm",
    ):
        assert shown in page.text
    assert "\x1b" not in hostile and "\u202e" not in hostile
    assert len(hostile) < 500_000


def test_every_section_shows_all_its_rows(regression: str) -> None:
    diff = diff_examples.regression()
    for section in diff.sections.values():
        found = re.search(rf'<section id="s-{section.name}".*?</section>', regression, re.DOTALL)
        assert bool(found) == bool(section.rows)
        if found:
            body = found[0].split("<tbody>")[1].split("</tbody>")[0]
            assert body.count('<th scope="row">') == len(section.rows)
            assert section.matched_share is None or f"{section.matched_share * 100:.0f} % matched" in found[0]
            assert section.note in found[0]
    assert "Nothing was recorded for: Modules." in regression


def test_what_the_reader_needs_is_there(regression: str) -> None:
    text = Page(regression).text
    for wanted in (
        "CANN differs and was not declared", "4,752.5 ms → 5,017.5 ms", "+265.0 ms", "FlashAttentionScoreGrad in",
        "90 % of the change", "memory_record.csv", "2 of 6 rules failed.", "unverified", "Ask the performance team.",
        "rlcompare gate", "How times are defined", "time.overlapped_comm", "8.2.RC1",
    ):  # fmt: skip
        assert wanted in text, wanted


def test_findings_stand_above_the_numbers(regression: str) -> None:
    """Above all where the sides must not be compared; else below the answer."""
    barred = replace(diff_examples.regression(), comparability=Comparability(Comparable.NOT_COMPARABLE, ()))
    for page, order in (
        (regression, ("summary", "causes", "comparability")),
        (page_of(barred), ("summary", "comparability", "causes")),
    ):
        places = [page.index(f'id="s-{name}"') for name in (*order, "overall", "kernels")]
        assert places == sorted(places)


def test_only_what_is_serious_stands_open_above_the_numbers() -> None:
    base = diff_examples.regression()
    notes = tuple(
        Finding(f"metric{n}", None, None, Severity.INFO, f"metric{n} is of one side only.") for n in range(27)
    )
    findings = (*notes, *base.comparability.findings)
    page = render_html(build_view(replace(base, comparability=replace(base.comparability, findings=findings))))
    banner = page.split('id="s-comparability"')[1].split("</section>")[0]
    opened, folded = banner.split("<details>")
    assert "CANN differs" in opened and "metric3" not in opened
    assert "27 notes" in folded and "metric26 is of one side only." in folded


def test_a_side_without_a_profile_has_no_captures() -> None:
    captures = render_html(build_view(diff_examples.empty())).split('id="s-captures"')[1].split("</section>")[0]
    assert captures.count("no profile, so no captures") == 2 and "0 captures" not in captures


def test_no_gate_no_section_of_it() -> None:
    assert 'id="s-gate"' not in render_html(build_view(diff_examples.regression()))


def test_long_tables_are_cut_and_say_so() -> None:
    page = page_of(diff_examples.large(700))
    assert "200 more rows are in diff.json; none of them changed by more than 0.100 ms." in page
    assert page.count("aclnnKernel_") == 500
    assert len(page) < 1_000_000


def test_a_page_of_many_long_tables_stays_small() -> None:
    """The rows that it leaves out are counted; those of causes are there."""
    base = diff_examples.large(5000)
    kernels = base.sections["kernels"]
    names = ("account", "kernels", "kernel_types", "operators", "modules", "stacks", "apis", "msprof", "efficiency")
    sections = {name: replace(kernels, name=name) for name in names}
    page = page_of(replace(base, sections={**base.sections, **sections}))
    assert len(page.encode()) < 2_000_000
    assert page.count("4,700 more rows are in diff.json") == len(names)


def test_nothing_measured_still_makes_a_page() -> None:
    text = Page(page_of(diff_examples.empty())).text
    assert "No time was measured" in text
    assert "No data was missing" in text


def test_every_link_has_its_target(regression: str) -> None:
    tags = Page(regression).tags
    targets = {attrs["id"] for _, attrs in tags if "id" in attrs}
    assert {(attrs["href"] or "")[1:] for tag, attrs in tags if tag == "a"} <= targets


def test_every_time_has_a_definition(regression: str) -> None:
    """A name of a time that stands in a table is found under "How times are defined"."""
    from rlcompare.compare.names import TIMES
    from rlcompare.compare.overall import HEADLINES, OUTSIDE_PROFILE, PROFILED_STEP

    defined = {
        word.strip()
        for terms in re.findall(r"<dt>(.*?)</dt>", regression.split('id="s-glossary"')[1])
        for word in terms.split(",")
    }
    shown = {metric.removeprefix("time.") for metric in (*HEADLINES, PROFILED_STEP, OUTSIDE_PROFILE)} | set(TIMES)
    # exposed_copy and idle are defined with what they are parts of.
    assert shown - {"exposed_copy", "idle"} <= defined


def test_long_names_break_at_their_parts_and_stay_text() -> None:
    template = environment().from_string("{{ name|breakable }}")
    assert template.render(name="mismatch/rollout_is_mean") == "mismatch/<wbr>rollout_<wbr>is_<wbr>mean"
    assert template.render(name='</b><img src="x">/_a') == "&lt;/b&gt;&lt;img src=&#34;x&#34;&gt;/_a"


def test_each_side_of_a_difference_keeps_its_place_and_its_end() -> None:
    old, new = "שלום עולם ראשון", "שלום עולם שני"
    base = diff_examples.regression()
    finding = Finding("model", old, new, Severity.CAUTION, "They differ.")
    page = render_html(build_view(replace(base, comparability=Comparability(Comparable.CAUTION, (finding,)))))
    assert f"<b><bdi>{old}</bdi> → <bdi>{new}</bdi></b>" in page
    long = change_of_text("a-long-name-of-a-model-1", "a-long-name-of-a-model-2")
    first, second = long.split(" → ")
    assert first != second
