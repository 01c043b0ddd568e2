"""What CI systems read: JUnit, SARIF, GitLab code quality, GitHub annotations, and the comment on a pull request."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rlcompare.model.diff import Diff
from rlcompare.model.verdict import GateResult, Policy, Rule, Verdict
from rlcompare.model.words import OnInconclusive, RuleSeverity, Status
from rlcompare.report.checks import Outcome, checks_of, place_of
from rlcompare.report.code_quality import render_code_quality
from rlcompare.report.github import MOST, annotation, annotation_lines, commands_off
from rlcompare.report.html import render_html
from rlcompare.report.junit import render_junit
from rlcompare.report.markdown import prose, render_markdown
from rlcompare.report.pull_request import LIMIT, render_pull_request
from rlcompare.report.sarif import render_sarif
from rlcompare.report.view import build_view
from tests.ci_schemas import check_json, check_junit
from tests.unit import diff_examples

E, W = RuleSeverity.ERROR, RuleSeverity.WARN
NASTY = (
    *diff_examples.HOSTILE_NAMES,
    "not in XML \ufffe \uffff \x0b \x1f",
    "a]]>b",
    "x\n::error::forged\r\n::add-mask::a",
    "##[error]forged",
    "50%25,a:b=c;d]",
    "@octocat #12 !3 ~bug %1 $5 &6 GH-7 org/repo#8 https://example.com www.example.com me@example.com",
)


def gate(
    *found: tuple[str, Status, RuleSeverity], code: int = 0, on_inconclusive: OnInconclusive = OnInconclusive.WARN
) -> GateResult:
    """A result made by hand."""
    verdicts = tuple(
        Verdict(
            Rule(metric, max_relative=0.05, severity=severity), metric, status, "expected less", 1.0, 2.0, "ms", True
        )
        for metric, status, severity in found
    )
    policy = Policy("built-in", tuple(verdict.rule for verdict in verdicts), on_inconclusive=on_inconclusive)
    return GateResult(policy, verdicts, code, "A summary.")


def hostile() -> GateResult:
    """Every text that comes from a profile or a policy holds an attack."""
    found = tuple(
        Verdict(Rule(name, message=name), name, status, name, 1.0, 2.0, "ms", False)
        for name in NASTY
        for status in (Status.REGRESSED, Status.MISSING, Status.INCONCLUSIVE, Status.PASS)
    )
    return GateResult(Policy(NASTY[0], (), on_inconclusive=OnInconclusive.WARN), found, 1, NASTY[12])


ALL = gate(
    ("time.step", Status.REGRESSED, E),
    ("time.step", Status.REGRESSED, W),
    ("health.kl", Status.UNHEALTHY, E),
    ("memory.peak", Status.MISSING, E),
    ("time.free", Status.INCONCLUSIVE, E),
    ("time.comm", Status.NOT_COMPARABLE, W),
    ("perf/mfu", Status.IMPROVED, E),
    ("time.idle", Status.PASS, E),
    code=1,
)
RESULTS = {
    "all": ALL,
    "made by the examples": diff_examples.verdicts(),
    "hostile": hostile(),
    "nothing to judge": gate(),
    "undecided": gate(("time.free", Status.INCONCLUSIVE, E), code=3, on_inconclusive=OnInconclusive.FAIL),
    "barred": gate(("time.free", Status.NOT_COMPARABLE, E), code=5),
    "barred, and all values pass": gate(("time.free", Status.PASS, E), code=5),
    "undecided but let pass": gate(("time.free", Status.INCONCLUSIVE, E), code=0),
    "passed": gate(("time.free", Status.PASS, E), ("time.step", Status.IMPROVED, E)),
}
each = pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS.keys())


@each
def test_a_check_fails_exactly_if_the_gate_does(result: GateResult) -> None:
    assert any(check.fails for check in checks_of(result)) == (result.exit_code != 0)


@pytest.mark.parametrize(
    ("status", "severity", "code", "policy", "outcome"),
    [
        (Status.REGRESSED, E, 1, "warn", Outcome.FAILED),
        (Status.UNHEALTHY, E, 1, "warn", Outcome.FAILED),
        (Status.MISSING, E, 1, "warn", Outcome.MISSING),
        (Status.REGRESSED, W, 0, "warn", Outcome.WARNED),
        (Status.MISSING, W, 0, "warn", Outcome.WARNED),
        (Status.INCONCLUSIVE, E, 0, "pass", Outcome.OPEN),
        (Status.INCONCLUSIVE, E, 0, "warn", Outcome.OPEN),
        (Status.INCONCLUSIVE, E, 3, "fail", Outcome.UNDECIDED),
        (Status.INCONCLUSIVE, W, 3, "fail", Outcome.OPEN),
        (Status.NOT_COMPARABLE, E, 5, "warn", Outcome.UNDECIDED),
        (Status.IMPROVED, E, 0, "warn", Outcome.PASSED),
    ],
)
def test_what_a_verdict_does_to_the_job(
    status: Status, severity: RuleSeverity, code: int, policy: str, outcome: Outcome
) -> None:
    result = gate(("time.step", status, severity), code=code, on_inconclusive=OnInconclusive(policy))
    assert [check.outcome for check in checks_of(result) if check.name == "time.step"] == [outcome]


class TestJunit:
    @each
    def test_is_valid(self, result: GateResult) -> None:
        check_junit(render_junit(result))

    def test_each_outcome_has_its_element(self) -> None:
        suite = ElementTree.fromstring(render_junit(ALL))[0]
        found = {case.get("name"): [element.tag for element in case] for case in suite.iter("testcase")}
        assert found == {
            "time.step (rule 1)": ["failure"],
            "time.step (rule 2)": ["skipped"],
            "health.kl": ["failure"],
            "memory.peak": ["error"],
            "time.free": ["skipped"],
            "time.comm": ["skipped"],
            "perf/mfu": ["system-out"],
            "time.idle": ["system-out"],
        }
        assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
            "tests": "8", "failures": "2", "errors": "1", "skipped": "3",
        }  # fmt: skip

    def test_inconclusive_is_an_error_if_it_fails_the_gate(self) -> None:
        case = next(ElementTree.fromstring(render_junit(RESULTS["undecided"])).iter("testcase"))
        assert [(element.tag, element.get("type")) for element in case] == [("error", "inconclusive")]

    @given(st.text(st.characters(), max_size=60))
    def test_every_name_can_be_parsed(self, name: str) -> None:
        verdict = Verdict(Rule(name, message=name), name, Status.REGRESSED, name, 1.0, 2.0, "", False)
        root = ElementTree.fromstring(render_junit(GateResult(Policy(name, ()), (verdict,), 1, name)).encode("utf-8"))
        assert len(list(root.iter("failure"))) == 1


class TestSarif:
    @each
    def test_is_valid(self, result: GateResult) -> None:
        check_json(json.loads(render_sarif(result, "perf/rlcompare.toml")), "sarif-2.1.0.json")

    def test_passes_are_left_out_and_open_ones_are_no_failures(self) -> None:
        results = json.loads(render_sarif(ALL, "a b/rlcompare.toml"))["runs"][0]["results"]
        assert [(found["ruleId"], found["kind"], found["level"]) for found in results] == [
            ("regressed", "fail", "error"),
            ("regressed", "fail", "warning"),
            ("unhealthy", "fail", "error"),
            ("missing", "fail", "error"),
            ("inconclusive", "open", "none"),
            ("not-comparable", "open", "none"),
        ]
        assert results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b/rlcompare.toml"


class TestCodeQuality:
    @each
    def test_has_what_gitlab_asks_for(self, result: GateResult) -> None:
        """The members and severities of GitLab's documentation; it publishes no schema."""
        found = json.loads(render_code_quality(result, "rlcompare.toml"))
        for issue in found:
            assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
            assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
            assert issue["location"] == {"path": "rlcompare.toml", "lines": {"begin": 1}}
        assert len({issue["fingerprint"] for issue in found}) == len(found)

    def test_a_problem_keeps_its_fingerprint_while_its_values_change(self) -> None:
        def prints(result: GateResult) -> list[str]:
            return [issue["fingerprint"] for issue in json.loads(render_code_quality(result, "rlcompare.toml"))]

        later = replace(ALL, verdicts=tuple(replace(found, text="other", new=3.0) for found in ALL.verdicts))
        assert prints(later) == prints(ALL)
        worse = replace(ALL.verdicts[4], status=Status.REGRESSED)
        assert prints(replace(ALL, verdicts=(*ALL.verdicts[:4], worse, *ALL.verdicts[5:]))) != prints(ALL)

    def test_severities_tell_missing_from_regressed(self) -> None:
        found = json.loads(render_code_quality(ALL, "rlcompare.toml"))
        assert [(issue["check_name"], issue["severity"]) for issue in found] == [
            ("rlcompare/regressed", "critical"),
            ("rlcompare/regressed", "minor"),
            ("rlcompare/unhealthy", "critical"),
            ("rlcompare/missing", "major"),
            ("rlcompare/inconclusive", "info"),
            ("rlcompare/not-comparable", "info"),
        ]

    def test_the_place_is_relative_to_the_repository(self, tmp_path: Path) -> None:
        (tmp_path / ".git").mkdir()
        path = tmp_path / "perf" / "rules.toml"
        path.parent.mkdir()
        path.touch()
        assert place_of(Policy(str(path), ())) == "perf/rules.toml"
        assert place_of(Policy("built-in", ())) == "rlcompare.toml"
        assert str(tmp_path) not in render_junit(replace(ALL, policy=replace(ALL.policy, source=str(path))))


def _command(line: str) -> tuple[str, dict[str, str], str]:
    """Reads a workflow command as GitHub's runner documents it: ``::name key=value,key=value::data``."""
    found = re.fullmatch(r"::([a-z-]+)(?: (.*?))?::(.*)", line)
    assert found, line

    def plain(text: str, *codes: tuple[str, str]) -> str:
        for coded, character in (*codes, ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            text = text.replace(coded, character)
        return text

    pairs = [pair.split("=", 1) for pair in (found[2] or "").split(",") if pair]
    properties = {key: plain(value, ("%3A", ":"), ("%2C", ",")) for key, value in pairs}
    return found[1], properties, plain(found[3])


class TestAnnotations:
    def test_errors_for_what_fails_and_warnings_for_the_rest(self) -> None:
        found = [_command(line) for line in annotation_lines(ALL)]
        assert [(level, properties["title"]) for level, properties, _ in found] == [
            ("error", "rlcompare: time.step (rule 1): regressed"),
            ("error", "rlcompare: health.kl: unhealthy"),
            ("error", "rlcompare: memory.peak: missing"),
            ("warning", "rlcompare: time.step (rule 2): regressed (warning)"),
            ("warning", "rlcompare: time.free: inconclusive"),
            ("warning", "rlcompare: time.comm: not comparable (warning)"),
        ]

    @pytest.mark.parametrize("name", NASTY)
    def test_no_name_is_a_command_or_ends_one(self, name: str) -> None:
        verdict = Verdict(Rule(name, message=name), name, Status.REGRESSED, name[:200], 1.0, 2.0, "", True)
        (line,) = annotation_lines(GateResult(Policy("built-in", ()), (verdict,), 1, ""))
        level, properties, text = _command(line)
        (check,) = checks_of(GateResult(Policy("built-in", ()), (verdict,), 1, ""))
        assert (level, properties, text) == ("error", {"title": f"rlcompare: {check.title}"}, check.text)
        assert len(line.splitlines()) == 1

    @given(st.text(max_size=40), st.text(max_size=40))
    def test_any_text_is_read_back(self, title: str, text: str) -> None:
        assert _command(annotation("error", title, text)) == ("error", {"title": title}, text)

    def test_not_more_than_github_keeps(self) -> None:
        lines = annotation_lines(hostile())
        assert Counter(_command(line)[0] for line in lines) == {"error": MOST, "warning": MOST}
        assert f"{2 * len(NASTY) - MOST + 1} more: " in lines[MOST - 1]

    def test_exceptions_of_the_policy_that_end_are_warnings(self) -> None:
        result = replace(ALL, policy=replace(ALL.policy, notes=("The exception for time.step ends in 3 days.",)))
        assert annotation_lines(result)[-1] == (
            "::warning title=rlcompare%3A policy::The exception for time.step ends in 3 days."
        )
        assert "- policy: The exception for time.step ends in 3 days." in comment(result)

    def test_commands_are_off_while_names_are_printed(self) -> None:
        stream = io.StringIO()
        with commands_off(stream):
            stream.write("##[error]forged\n")
        first, _, last = stream.getvalue().splitlines()
        token = first.removeprefix("::stop-commands::")
        assert len(token) == 32 and last == f"::{token}::"


def comment(result: GateResult, diff: Diff | None = None) -> str:
    return render_pull_request(build_view(diff or diff_examples.regression(), result, version="0.0"), result)


class TestPullRequest:
    @pytest.mark.parametrize(
        ("name", "title"),
        [
            ("all", "🔴 rlcompare: failed (1 regressed, 1 unhealthy, 1 missing)"),
            ("undecided", "🟡 rlcompare: not decided (1 inconclusive)"),
            ("barred", "🔴 rlcompare: not comparable"),
            ("undecided but let pass", "🟡 rlcompare: passed (1 not decided)"),
            ("passed", "🟢 rlcompare: passed (1 improved)"),
        ],
    )
    def test_the_title_is_the_verdict(self, name: str, title: str) -> None:
        assert comment(RESULTS[name]).splitlines()[0] == f"### {title}"

    @each
    def test_never_better_where_the_gate_fails(self, result: GateResult) -> None:
        faster = replace(
            diff_examples.regression(),
            overall=tuple(
                replace(
                    delta,
                    new=4000.0,
                    delta=-752.5,
                    ratio=0.8417,
                    samples={"baseline": (4752.5,), "new": (4000.0,)},
                )
                if delta.metric == "time.step"
                else delta
                for delta in diff_examples.regression().overall
            ),
        )
        assert render_markdown(build_view(faster)).startswith("### 🟢 ")
        page = re.search(
            r'<section id="s-summary" class="answer (\w+)".*?</section>',
            render_html(build_view(faster, result)),
            re.DOTALL,
        )
        assert page and (page[1] == "better") == ("better" in page[0]) == (result.exit_code == 0)
        assert render_markdown(build_view(faster, result)).startswith("### 🟢 ") == (result.exit_code == 0)
        assert result.exit_code == 0 or not re.search("🟢|improved", comment(result, faster).splitlines()[0])

    def test_rows_are_what_did_not_pass_and_failing_ones_come_first(self) -> None:
        head = comment(ALL).partition("<details>")[0]
        rows = [line.split("|")[1:3] for line in head.splitlines() if re.match(r"\| [🔴🟡]", line)]
        assert [f"{status.strip()} {metric.strip()}" for status, metric in rows] == [
            "🔴 regressed `time.step (rule 1)`",
            "🔴 unhealthy `health.kl`",
            "🔴 missing `memory.peak`",
            "🟡 regressed (warning) `time.step (rule 2)`",
            "🟡 inconclusive `time.free`",
            "🟡 not comparable (warning) `time.comm`",
        ]
        assert "\n1. " in head and "\n2. " in head and "\n3. " not in head
        assert "<sub>1 other cause: +4.7 ms, 2 % · unexplained: -1.3 ms, 0 % of the change</sub>" in head

    def test_nothing_in_a_name_takes_effect(self) -> None:
        """As a CommonMark parser sees it; references are looked for in the text, as GitHub and GitLab do."""
        text = comment(hostile(), diff_examples.hostile())
        blocks = MarkdownIt("commonmark").enable("table").parse(text)
        tokens = [inline for token in blocks for inline in (token.children or [token])]
        html = "".join(token.content for token in tokens if token.type in ("html_block", "html_inline"))
        assert set(re.findall(r"<(/?\w.*?)>", html)) == {
            "details", "/details", "summary", "/summary", "code", "/code", "sub", "/sub",
        }  # fmt: skip
        assert not {token.type for token in tokens} & {"link_open", "image", "strikethrough_open", "em_open"}
        plain, is_code = "", False
        for token in tokens:
            is_code = token.content == "<code>" or (is_code and token.content != "</code>")
            plain += f"{token.content}\n" if token.type == "text" and not is_code else ""
        assert not re.search(r"@\w|#\d|[!$%&~^](?=[\w\"'])|GH-\d|://|www\.\w", plain)

    def test_a_comment_fits(self) -> None:
        many = replace(hostile(), verdicts=hostile().verdicts * 20)
        for result in (hostile(), many):
            text = comment(result, diff_examples.hostile())
            assert len(text.encode()) <= LIMIT and text.endswith("</sub>\n")
            assert text.count("<details>") == text.count("</details>")
        assert re.search(r"\| \| \| \d+ more in report.html \|", comment(many))


@given(st.text(max_size=60))
def test_prose_says_what_it_was_given(text: str) -> None:
    shown = unescape(prose(text.replace("\u200b", "")))
    assert shown.replace("\u200b", "") == text.replace("\u200b", "")


def test_the_next_command_is_written_in_full() -> None:
    document = f"{'folder/' * 20}diff.json"
    text = render_markdown(build_view(diff_examples.identical(), document=document))
    assert f"`rlcompare gate {document}`" in text
