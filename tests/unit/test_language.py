"""Languages: every text of the interface is translated, sentences of a diff are said again with the same numbers."""

# ruff: noqa: RUF001

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from string import Formatter

import pytest

from rlcompare import language
from rlcompare.cli.main import run
from rlcompare.language import listed, of_page, speaking, tr, trn, with_label
from rlcompare.model.diff import Diff, Finding
from rlcompare.model.verdict import GateResult
from rlcompare.model.words import Severity
from rlcompare.report.document import to_document
from rlcompare.report.findings import differences
from rlcompare.report.html import render_html
from rlcompare.report.sentences import LIMIT, said
from rlcompare.report.terminal import print_summary
from rlcompare.report.view import build_view
from tests.unit.diff_examples import regression, verdicts
from tools.texts import texts

TRANSLATED = language.LANGUAGES[1:]


def _fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("name", TRANSLATED)
def test_every_text_is_translated_and_no_translation_is_unused(name: str) -> None:
    known, translated = texts(), language.texts(name)
    assert {text: place for text, place in known.items() if text not in translated} == {}
    assert sorted(set(language.fixed_texts(name)) - set(known)) == []


@pytest.mark.parametrize("name", TRANSLATED)
def test_a_translation_has_the_fields_of_its_text(name: str) -> None:
    for table in language.catalogue(name).values():
        for text, translation in table.items():
            assert _fields(translation) == _fields(text), text
            assert translation.strip(), text


def test_texts_are_looked_up_when_they_are_used() -> None:
    assert tr("from 0") == "from 0"
    with speaking("zh-CN"):
        assert tr("from 0") == "基线为 0"
        assert trn("{n} step", "{n} steps", 1) == "1 步"
        assert tr("no such text {n}", n=1) == "no such text 1"
    assert trn("{n} step", "{n} steps", 1) == "1 step"
    with pytest.raises(ValueError, match="klingon"), speaking("klingon"):
        pass


@pytest.mark.parametrize(
    ("variables", "text", "page"),
    [
        ({}, "en", "en"),
        ({"LANG": "zh_CN.UTF-8"}, "en", "zh-CN"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en", "en"),
        ({"LANG": "C", "LC_MESSAGES": "zh_SG@x"}, "en", "zh-CN"),
        ({"LANG": "zh_TW.UTF-8"}, "en", "en"),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": ""}, "en", "en"),
        ({"RLCOMPARE_LANG": "zh-CN"}, "zh-CN", "zh-CN"),
        ({"RLCOMPARE_LANG": "en", "LC_ALL": "zh_CN.UTF-8"}, "en", "en"),
        ({"RLCOMPARE_LANG": "klingon", "LC_ALL": "zh_CN.UTF-8"}, "en", "zh-CN"),
    ],
)
def test_only_the_page_follows_the_locale(
    variables: dict[str, str], text: str, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RLCOMPARE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (language.current(), of_page()) == (text, page)
    with speaking("zh-CN"):
        assert (language.current(), of_page()) == ("zh-CN", "zh-CN")


_SENTENCES = {
    "MatMulV2 takes 30 % longer per call for the same inputs, called 170 times per step as before"
    " (162 → 124 TFLOP/s).": ("MatMulV2 在输入相同的情况下单次耗时增加 30 %，每步仍调用 170 次（162 → 124 TFLOP/s）。"),
    "MatMulV2 takes 50 % longer per call for inputs of the same shapes, called 2 times per step as before.": (
        "MatMulV2 在输入形状相同的情况下单次耗时增加 50 %，每步仍调用 2 次。"
    ),
    "The others wait for rank 5, which starts collectives up to 4.00 ms late (baseline: 0.100 ms): their exposed"
    " communication grew by 3.90 ms; on rank 5 computation grew by 4.00 ms.": (
        "其他 rank 在等待 rank 5，它发起集合通信最多晚 4.00 ms（此前 0.100 ms）：其他 rank 的未掩盖通信增加 3.90 ms；"
        "rank 5 的计算增加 4.00 ms。"
    ),
    "New side: timing_s/step takes 8.10 s more since step 240 (34.0 s → 42.1 s), 8.00 s of it timing_s/gen; the"
    " baseline has no such change.": (
        "新的一侧：自第 240 步起，timing_s/step 多 8.10 s（34.0 s → 42.1 s），其中 timing_s/gen 占 8.00 s；"
        "基线没有这一变化。"
    ),
    "New side: timing_s/step takes 8.84 s more from step 100 to 149 (33.95 s → 42.79 s), 8.92 s of it timing_s/gen,"
    " 8.92 s of it timing_s/a, with response_length/mean from 401 to 601 at that step; the baseline"
    " has no such change.": (
        "新的一侧：第 100 至 149 步，timing_s/step 多 8.84 s（33.95 s → 42.79 s），其中 timing_s/gen 占 8.92 s、"
        "timing_s/a 占 8.92 s；同一步 response_length/mean 从 401 变为 601；基线没有这一变化。"
    ),
    "actor/entropy collapsed from 0.393 to 0.0061 since step 41; the baseline has 0.293 at the same steps.": (
        "actor/entropy 从 0.393 骤降到 0.0061，自第 41 步起；基线在相同的步为 0.293。"
    ),
    "kl is 0.4 at worst (mean of 5 steps from step 21 on), higher in 26 steps from 22 to 59; the baseline has 0.1.": (
        "kl 最差为 0.4（自第 21 步起 5 步的均值），第 22 至 59 步中有 26 步偏高；基线为 0.1。"
    ),
    "Phases a and b grew by 5.36 s per step, as a step has 14 % more tokens (mean response 503 → 599): the work"
    " changed, not its speed; per token nothing is slower.": (
        "阶段 a、b 每步增加 5.36 s，因为每步的 token 多 14 %（平均回答长度 503 → 599）：变的是工作量，而不是速度；"
        "每 token 没有变慢。"
    ),
    "expected at most the larger of +5.0 % and +1 ms, found +94.4 % per token, the median of all pairs of runs"
    " (12 → 22.4 ms; the means: +77.8 % per token; workload.total_tokens +5.0 %; interval -97.6 … +3,203.9 % if runs"
    " differ by 46 %, measured on these runs; runs 7, 17 against 20, 24.8); about 10 runs per side would decide": (
        "预期至多 +5.0 % 与 +1 ms 中较大者，实测 +94.4 %（每 token）（所有运行两两比较的中位数）"
        "（12 → 22.4 ms；均值： +77.8 %（每 token）；workload.total_tokens +5.0 %；区间 -97.6 … +3,203.9 %"
        "（按各次运行相差 46 % 计，依据：本次的运行）；各次运行 7, 17 对 20, 24.8）；每侧约 10 次运行可以判定"
    ),
    "expected at most +10.0 %, found +0.0 % per response token (100 → 150 ms; response tokens +50.0 %)": (
        "预期至多 +10.0 %，实测 +0.0 %（每个回答 token）（100 → 150 ms；回答 token +50.0 %）"
    ),
    "Sort takes 20 % longer per call for the same inputs, called 8 times per step instead of 2, on average, most of it"
    " on rank 2.": "Sort 在输入相同的情况下单次耗时增加 20 %，每步调用 8 次，此前 2 次，取平均，主要在 rank 2 上。",
    "Add takes 0.633 ms less of the step, as less of it runs while the host is in the step.": (
        "Add 在训练步中的耗时少 0.633 ms，因为在主机侧的训练步之内执行的部分变少。"
    ),
    "Add takes 4.35 ms less of the step, 2.33 ms of it as less of it runs while the host is in the step.": (
        "Add 在训练步中的耗时少 4.35 ms，其中 2.33 ms 是因为在主机侧的训练步之内执行的部分变少。"
    ),
    "The work itself grew: 11 operators had more calls, 60 → 120 per step, which accounts for 4.20 ms with the time"
    " between them.": ("工作量本身增加：11 个算子每步的调用次数变多（60 → 120），连同其间的时间造成 4.20 ms 的变化。"),
    "Computation grew by 2.00 ms per step, over 50 kernels, and most of it is for more calls of the same operators;"
    " the largest is Add (+1.13 ms).": (
        "计算每步增加 2.00 ms，涉及 50 个 Kernel，主要因为同样的算子调用次数变多；最大的是 Add（+1.13 ms）。"
    ),
    "Time without kernels shrank by 30.43 ms per step, over 188 operators and calls; the largest is Python code"
    " between operators (-5.52 ms); the host calls syncStream 1 → 9 times per step.": (
        "没有 Kernel 运行的时间每步减少 30.43 ms，涉及 188 个算子与调用；最大的是 算子之间的 Python 代码（-5.52 ms）"
        "；主机每步调用 syncStream 的次数：1 → 9。"
    ),
    "cann differs: 8.2 against 8.3; kernels and their names may differ between CANN releases.": (
        "cann 不同：8.2 对 8.3；不同 CANN 版本的 Kernel 及其名称可能不同。"
    ),
}


@pytest.mark.parametrize("text", _SENTENCES)
def test_a_sentence_of_a_diff_is_said_in_chinese(text: str) -> None:
    with speaking("zh-CN"):
        assert said(text) == _SENTENCES[text]
    assert said(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Something that nobody wrote.",
        "MatMulV2 takes 30 % longer per call for reasons unknown.",
        "cann differs: 8.2 against 8.3; kernels and their names may differ. Something else.",
        "expected at most +5.0 %, found values that cannot be compared (1 → 2 ms): verl changed what it means (else)",
        "Phase reward grew by 1.00 s per step, with something else, 1.00 s of it elsewhere.",
        "x" * 100_000,
        ": " * 120 + " → " * 60,  # can be divided in many ways, as the next one
        "Host time; " * 3 + "x" * 400 + ", and 3 more" * 3,
    ],
)
def test_a_sentence_that_is_partly_unknown_stays_as_it_is(text: str) -> None:
    with speaking("zh-CN"):
        assert said(text) == text


def test_hostile_names_in_sentences_cost_little_time() -> None:
    parts = (" takes 1.00 ms more", " (1 → 2)", ", most of it on ", "; the baseline has 1", ": ", ", ", " in ", " → ")
    began = time.process_time()
    with speaking("zh-CN"):
        for part in parts:
            text = f"MatMul{part * (LIMIT // len(part))}"[:LIMIT]
            assert said(text) == text
    assert time.process_time() - began < 5


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@pytest.mark.parametrize("name", TRANSLATED)
def test_no_phrase_states_a_number_of_its_own(name: str) -> None:
    """A translation has the numbers of its text, so that it cannot say another one."""
    for table in (language.SENTENCES, language.ENDS):
        for text, translation in language.catalogue(name)[table].items():
            plain = [_FIELD_OF.sub("", one) for one in (text, translation)]
            assert sorted(_NUMBER.findall(plain[0])) == sorted(_NUMBER.findall(plain[1])), text


_FIELD_OF = re.compile(r"\{\w+\}|L2|second-level|p95|第 95|95th")


class _Text(HTMLParser):
    """The words that a reader of a page meets, apart from code and keys."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = 0
        self.broken = False  # the last tag was <wbr>: a place to break a line, within a word
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in _CODE
        self.broken = tag == "wbr"
        self.texts += [value for name, value in attrs if value and name in _SHOWN_ATTRIBUTES]

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in _CODE
        self.broken = False

    def handle_data(self, data: str) -> None:
        if self.hidden:
            return
        if self.broken:
            self.texts[-1] += data
        else:
            self.texts.append(data)


_CODE = ("style", "script", "code", "kbd", "dt")
_SHOWN_ATTRIBUTES = ("aria-label", "title", "placeholder", "alt")
_WORD = re.compile(r"[A-Za-z][A-Za-z_]{2,}")
_TERMS = frozenset(
    """
    API CANN CPU CSV CUDA Core Cube ESS FLOP GPU HBM HCCL Kernel MFU MHz MTE NPU Python TFLOP GiB KiB MiB TiB UTC
    block batch checkpoint diff dtype json layout micro mini msprof analyze compare profile rank rlcompare rollout shape
    send receive step timing token trace verl
    """.split()  # noqa: SIM905
)
"""Words of the field, and of files, that Chinese texts use as they are."""
_METRICS = frozenset("exposed_copy gen idle path stage tail timing_s toml".split())  # noqa: SIM905
"""Names of metrics and files in sentences and in the glossary."""


def test_a_chinese_page_has_no_english_text_of_the_interface() -> None:
    diff = _with_real_sentences(regression())
    names = {word for text in _strings(to_document(diff)) for word in _WORD.findall(text)}
    with speaking("zh-CN"):
        page = _Text()
        page.feed(render_html(build_view(diff, _with_real_texts(verdicts()))))
    words = {word for text in page.texts for word in _WORD.findall(text)}
    assert " ".join(sorted(words - names - _TERMS - _METRICS)) == ""


def _with_real_sentences(diff: Diff) -> Diff:
    """The diff with sentences as a comparison makes them: those of the example are shorter."""
    texts = list(_SENTENCES)
    finding = replace(diff.comparability.findings[0], message=texts[-1])
    sections = {name: replace(section, note="Kernel time by kind of work.") for name, section in diff.sections.items()}
    return replace(
        diff,
        causes=tuple(replace(cause, text=text) for cause, text in zip(diff.causes, texts, strict=False)),
        comparability=replace(diff.comparability, findings=(finding,)),
        quality=(replace(finding, message="New side: read as 8 ranks × 2 runs (use --layout to change this)"),),
        sections=sections,
    )


def _with_real_texts(gate: GateResult) -> GateResult:
    text = "expected at most the larger of +5.0 % and +1 ms, found +30.1 % (23.1771 → 30.1531 ms)"
    verdicts = tuple(replace(one, text=text, rule=replace(one.rule, message="")) for one in gate.verdicts)
    return replace(gate, verdicts=verdicts, summary="1 of 3 rules failed (8 verdicts): time.path regressed.")


def _strings(value: object, key: str = "") -> Iterator[str]:
    """The names in a document, without its sentences and its keys."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _strings(member, name)
    elif isinstance(value, list):
        for member in value:
            yield from _strings(member)
    elif isinstance(value, str) and key not in ("text", "message", "note", "severity", "status", "polarity"):
        yield value


_DIFF = str(Path(__file__).resolve().parents[2] / "golden" / "expected" / "diff.json")


@pytest.mark.parametrize(
    ("text", "chinese"),
    [
        ("reduce_scatter grew by 9.44 ms per step.", "reduce_scatter 每步增加 9.44 ms。"),
        (
            "Baseline: only some ranks or runs recorded the sizes of collectives: this is not compared.",
            "基线：只有部分 rank 或运行记录了集合通信的大小：不比较这一项。",
        ),
    ],
)
def test_sentences_without_a_clause_are_translated(text: str, chinese: str) -> None:
    with speaking("zh-CN"):
        assert said(text) == chinese


def test_what_only_one_side_has_is_named() -> None:
    finding = Finding("calls of the runtime", "yes", "no", Severity.CAUTION, "x")
    with speaking("zh-CN"):
        assert differences([finding]) == ["运行时调用 是 → 否"]


def test_lists_and_sentences_have_chinese_marks_between_them() -> None:
    with speaking("zh-CN"):
        out = io.StringIO()
        view = build_view(regression())
        print_summary(view, out)
        assert "Kernel，ms（匹配 " in out.getvalue()
        assert "。 " not in out.getvalue()
        still = view._replace(
            tables=tuple(t._replace(rows=tuple(r._replace(tone="noise") for r in t.rows)) for t in view.tables)
        )
        out = io.StringIO()
        print_summary(still, out)
        assert "没有明显变化：Kernel、框架算子、" in out.getvalue()


def test_blanks_stand_between_chinese_and_latin_characters_alone() -> None:
    with speaking("zh-CN"):
        assert tr("On the device shown, {what} lasts {times}.", what="update_actor", times="1 ms") == (
            "在所示设备上，update_actor 的时长为 1 ms。"
        )
        assert tr("On the device shown, {what} lasts {times}.", what="一个训练步", times="1 ms").startswith(
            "在所示设备上，一个训练步的时长"
        )
        assert listed(("计算", with_label("基线", "1 ms"))) == "计算，基线：1 ms"
    assert listed(("compute", with_label("baseline", "1 ms"))) == "compute, baseline: 1 ms"


def test_an_option_chooses_the_language_of_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "1", _DIFF, "--lang", "zh-CN"]) == 0
    assert capsys.readouterr().out.startswith("原因 1（共 3 个）")
    assert run(["explain", "1", _DIFF]) == 0
    assert capsys.readouterr().out.startswith("cause 1 of 3")
    assert run(["explain", "1", _DIFF, "--lang", "fr"]) == 2
    assert "zh-CN" in capsys.readouterr().err


def test_the_formats_of_machines_stay_english(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gate", _DIFF, "-o", str(tmp_path / "report"), "--format", "junit,sarif,pr", "--lang", "zh-CN"]) == 3
    assert "门禁" in capsys.readouterr().out
    texts_of = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "report").iterdir()}
    chinese = {name for name, text in texts_of.items() if re.search("[\u4e00-\u9fff]", text)}
    assert chinese == {"report.html", "pull-request.md"}
    assert 'lang="zh-CN"' in texts_of["report.html"]
