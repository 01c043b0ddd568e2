"""The other formats, and the folder that holds them: Markdown, CSV, the gate's text, and what may be overwritten."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare.errors import UsageError
from rlcompare.model.diff import Comparability, Diff, Finding, Value
from rlcompare.model.words import Comparable, EvidenceMode, Severity, Status
from rlcompare.report import write
from rlcompare.report.csv_files import cell, csv_texts
from rlcompare.report.document import from_document
from rlcompare.report.folder import MARKER
from rlcompare.report.gate_text import gate_document
from rlcompare.report.markdown import code, prose, render_markdown
from rlcompare.report.view import build_view
from rlcompare.report.write import write_report
from tests.unit import diff_examples

REGRESSION = diff_examples.regression()

_UNLIKE = replace(
    REGRESSION,
    comparability=Comparability(
        Comparable.CAUTION,
        (
            Finding("profiler.level", "Level0", "Level1", Severity.CAUTION, "Higher levels slow the step."),
            Finding("captures", "2", "0", Severity.CAUTION, "Only the baseline has captures of actor."),
            Finding("captures", "0", "4", Severity.CAUTION, "Only the new side has captures of rollout."),
            Finding("profiler.export_type", "db", "text", Severity.INFO, "It is written in another way."),
        ),
    ),
    quality=(
        Finding("notes", None, "x", Severity.INFO, "A note."),
        Finding("missing_file", None, "rank 3", Severity.CAUTION, "Rank 3 has no memory."),
        Finding("missing_file", None, "rank 4", Severity.CAUTION, "Rank 4 has no memory."),
    ),
)
"""The regression with profiler levels and roles that differ, and two warnings about its data."""


class TestMarkdown:
    def test_it_opens_with_the_answer(self) -> None:
        text = render_markdown(build_view(REGRESSION, diff_examples.verdicts()))
        first, _, answer, *_ = text.splitlines()
        assert first == "### 🔴 cann83 against cann82: 5.6 % slower"
        assert answer.startswith("**5.6 % slower**, by the gate: expected at most +5.0 %, found +5.6 %")
        # AND above the fold stand the causes and the verdicts; every table of rows is folded
        shown, folds = text.partition("<details>")[0], text.count("<details>")
        assert "1. FlashAttentionScoreGrad in update_actor takes 2.2 times as long" in shown
        assert "| `update_actor`" not in shown and folds == text.count("</details>") >= 5
        assert "| `update_actor` `actor` | 1,420.00 | 1,675.60 | +255.60 | +18.0 % | 🔴 worse |" in text
        assert "| regressed | `time.step` |" in text
        assert len(text) < 10_000

    def test_rows_of_a_table_have_as_many_cells_as_its_head(self) -> None:
        for diff in (REGRESSION, diff_examples.hostile()):
            lines = render_markdown(build_view(diff, diff_examples.verdicts())).splitlines()
            for number, line in enumerate(lines):
                if re.fullmatch(r"\|(-+:?\|)+", line):
                    cells = line.count("|")
                    for other in [lines[number - 1], *_until_blank(lines[number + 1 :])]:
                        assert other.count("|") == cells, other

    @given(st.text(max_size=40))
    def test_no_name_leaves_its_code(self, name: str) -> None:
        shown = code(name)
        if shown.startswith("`"):
            assert not set(shown[1:-1]) & set("`|&*_[]~\\") - {"_"}
        elif shown:
            inner = shown.removeprefix("<code>").removesuffix("</code>")
            assert not re.search(r"[^\w &#;]|_", re.sub(r"&#\d+;", "", inner))

    @pytest.mark.parametrize("name", diff_examples.HOSTILE_NAMES)
    def test_no_sentence_holds_markup(self, name: str) -> None:
        shown = prose(build_view(REGRESSION).title + name[:300].replace("\n", " "))
        assert not re.search(r"<|>|\||`|\[|\]|\*|@(?!&#8203;)|://", shown)


def _until_blank(lines: list[str]) -> list[str]:
    return lines[: lines.index("")] if "" in lines else lines


class TestCsv:
    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            ("=1+1", "'=1+1"),
            ("+cmd", "'+cmd"),
            ("-cmd", "'-cmd"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", r"'\t=1"),
            ("\r=1", r"'\r=1"),
            ("-5", "-5"),
            ("+1.5e-3", "+1.5e-3"),
            ("-5\n=1", r"'-5\n=1"),
            ("-", "'-"),
            (-5, "-5"),
            (-0.25, "-0.25"),
            (1e-7, "1e-07"),
            (None, ""),
            (True, "true"),
            ("two\nlines", r"two\nlines"),
            ("MatMulV2", "MatMulV2"),
        ],
    )
    def test_cell(self, value: Value, shown: str) -> None:
        assert cell(value) == shown

    @given(st.text(max_size=30))
    def test_no_text_is_a_formula(self, text: str) -> None:
        shown = cell(text)
        assert not shown.startswith(("=", "@", "\t", "\r"))
        if shown.startswith(("+", "-")):
            float(shown)

    def test_rows_are_those_of_the_diff(self) -> None:
        rows = list(csv.DictReader(io.StringIO(csv_texts(REGRESSION)["kernels.csv"])))
        assert [found["name"] for found in rows] == [found["name"] for found in REGRESSION.sections["kernels"].rows]
        assert float(rows[0]["delta"]) == REGRESSION.sections["kernels"].rows[0]["delta"]
        assert rows[4]["new"] == "" and rows[4]["presence"] == "baseline_only"

    def test_there_is_a_file_per_section_with_rows(self) -> None:
        names = {f"{name}.csv" for name, section in REGRESSION.sections.items() if section.rows}
        assert set(csv_texts(REGRESSION)) == names | {"overall.csv"}

    def test_hostile_rows_keep_to_their_cells(self) -> None:
        rows = list(csv.reader(io.StringIO(csv_texts(diff_examples.hostile())["kernels.csv"])))
        assert {len(found) for found in rows} == {len(rows[0])}
        assert len(rows) == 1 + len(diff_examples.HOSTILE_NAMES)


class TestGate:
    def test_one_line_per_failing_rule_and_one_for_the_rest(self) -> None:
        lines = diff_examples.gate_lines(diff_examples.verdicts())
        assert len(lines) == 7
        assert lines[0] == (
            "regressed       time.step: expected at most +5.0 %, found +5.6 % (4,752.5 → 5,017.5 ms)"
            " [unverified] · Ask the performance team."
        )
        assert lines[1].endswith("found 0.8204 [warn]")
        assert lines[-3:] == [
            "passed          1 improved, 1 within limits",
            "gate            2 of 6 rules failed. (policy: rlcompare.toml, exit code 1: regressed and missing)",
            "[unverified]    too few runs to rule out chance: the verdict also relies on the spread given in its"
            " interval.",
        ]

    def test_what_speaks_against_comparing_stands_above_the_verdicts(self) -> None:
        lines = diff_examples.gate_lines(diff_examples.verdicts(), _UNLIKE)
        assert lines[:4] == [
            "sides           The two sides may be compared with caution: something besides the change under test"
            " differs.",
            "caution         profiler.level: Level0 → Level1. Higher levels slow the step.",
            "caution         captures: 2 roles differ. Only the baseline has captures of actor.",
            "data quality    2 warnings: Rank 3 has no memory. +1 more",
        ]
        assert lines[4].startswith("regressed")
        assert not any("export_type" in line for line in lines)

    def test_which_steps_the_means_cover_is_said_where_a_side_has_others(self) -> None:
        """Else the gate's values contradict those of the runs for no reason that it tells."""
        message = "12 training steps against 2: means cover at most the 2 that both sides have."
        finding = Finding("training_steps", "12", "2", Severity.INFO, message)
        diff = replace(_UNLIKE, comparability=Comparability(Comparable.COMPARABLE, (finding,)))
        lines = diff_examples.gate_lines(diff_examples.verdicts(), diff)
        assert lines[:2] == ["sides           The two sides are comparable.", f"steps           {message}"]

    def test_what_the_policy_declares_does_not_stand_in_the_way(self) -> None:
        verdicts = diff_examples.verdicts()
        result = replace(verdicts, policy=replace(verdicts.policy, varied=("profiler", "captures")))
        lines = diff_examples.gate_lines(result, _UNLIKE)
        assert lines[0] == "sides           The two sides are comparable."
        assert lines[1] == "declared        profiler.level: Level0 → Level1"
        assert gate_document(result, _UNLIKE)["comparability"]["status"] == "comparable"

    def test_document_holds_what_speaks_against_comparing(self) -> None:
        document = json.loads(json.dumps(gate_document(diff_examples.verdicts(), _UNLIKE)))
        assert document["comparability"]["status"] == "caution"
        assert [finding["key"] for finding in document["comparability"]["findings"]] == [
            "profiler.level",
            "captures",
            "captures",
        ]
        assert [finding["severity"] for finding in document["quality"]] == ["caution", "caution"]

    def test_markdown_says_it_above_the_verdicts_too(self) -> None:
        text = render_markdown(build_view(_UNLIKE, diff_examples.verdicts()))
        gate = text[text.index("**Gate: ") : text.index("| verdict |")]
        assert "- caution: `profiler.level` Level0 → Level1" in gate
        assert "- data quality: 2 warnings: Rank 3 has no memory. +1 more" in gate
        assert "unverified: too few runs to rule out chance" in text

    def test_verdicts_that_are_verified_need_no_explanation(self) -> None:
        result = diff_examples.verdicts()
        verified = tuple(replace(verdict, verified=True) for verdict in result.verdicts)
        assert not any("unverified" in line for line in diff_examples.gate_lines(replace(result, verdicts=verified)))

    def test_what_unverified_means_is_what_happened(self) -> None:
        result = diff_examples.verdicts()
        asked = replace(result, policy=replace(result.policy, evidence=EvidenceMode.LIMITS))
        assert 'as the policy asks (evidence = "limits")' in diff_examples.gate_lines(asked)[-1]
        # a sign of unstable training rests on no spread between runs
        signs = tuple(replace(verdict, status=Status.UNHEALTHY, verified=False) for verdict in result.verdicts)
        last = diff_examples.gate_lines(replace(result, verdicts=signs))[-1]
        assert last.endswith("]    too few runs to tell a sign of unstable training from a single odd run.")
        # what was not judged was not judged by limits either
        open_ones = [verdict for verdict in result.verdicts if verdict.status != "regressed"]
        assert {verdict.verified for verdict in open_ones} == {False}
        assert not any(
            "unverified" in line for line in diff_examples.gate_lines(replace(result, verdicts=tuple(open_ones)))
        )

    def test_a_status_of_two_words_stands_apart(self) -> None:
        result = diff_examples.verdicts()
        barred = tuple(replace(verdict, status=Status.NOT_COMPARABLE) for verdict in result.verdicts)
        assert diff_examples.gate_lines(replace(result, verdicts=barred))[0].startswith("not comparable  time.step: ")

    def test_document(self) -> None:
        document = json.loads(json.dumps(gate_document(diff_examples.verdicts())))
        assert document["schema"] == "rlcompare.gate/1"
        assert document["exit_code"] == 1
        assert document["verdicts"][0]["status"] == "regressed"
        assert document["verdicts"][0]["rule"]["max_relative"] == 0.05

    def test_piped_text_is_plain(self) -> None:
        assert not any("\x1b" in line for line in diff_examples.gate_lines(diff_examples.verdicts()))


class TestWrite:
    def test_a_new_folder_gets_page_and_document(self, tmp_path: Path) -> None:
        out = tmp_path / "deep" / "out"
        assert write_report(REGRESSION, out, set()) == [out / "report.html", out / "diff.json"]
        assert sorted(path.name for path in out.iterdir()) == [MARKER, "diff.json", "report.html"]
        assert from_document(json.loads((out / "diff.json").read_text())) == REGRESSION

    def test_formats_add_files(self, tmp_path: Path) -> None:
        files = write_report(REGRESSION, tmp_path / "out", {"md", "csv", "html", "json"}, diff_examples.verdicts())
        assert all(path.is_file() for path in files)
        assert tmp_path / "out" / "report.md" in files
        assert tmp_path / "out" / "csv" / "phases.csv" in files

    def test_our_own_folder_is_replaced_and_what_is_not_ours_stays(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        write_report(REGRESSION, out, {"md", "csv"})
        (out / "notes.txt").write_text("mine")
        (out / "csv" / "mine.txt").write_text("mine")
        write_report(diff_examples.identical(), out, set())
        assert sorted(path.name for path in out.iterdir()) == [MARKER, "csv", "diff.json", "notes.txt", "report.html"]
        assert [path.name for path in (out / "csv").iterdir()] == ["mine.txt"]
        assert from_document(json.loads((out / "diff.json").read_text())) == diff_examples.identical()

    def test_an_empty_folder_may_be_used(self, tmp_path: Path) -> None:
        assert write_report(REGRESSION, tmp_path, set())[0].is_file()

    @pytest.mark.parametrize("name", ["notes.txt", "report.html", ".hidden"])
    def test_a_folder_with_other_things_is_refused(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_text("mine")
        with pytest.raises(UsageError, match=r"-o"):
            write_report(REGRESSION, tmp_path, set())
        assert [path.name for path in tmp_path.iterdir()] == [name]
        assert (tmp_path / name).read_text() == "mine"

    def test_a_file_is_no_folder(self, tmp_path: Path) -> None:
        (tmp_path / "out").write_text("x")
        with pytest.raises(UsageError, match="is a file; choose a folder with -o"):
            write_report(REGRESSION, tmp_path / "out", set())

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_that_cannot_be_written_is_named(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o500)
        with pytest.raises(UsageError, match=r"cannot be written to .* -o"):
            write_report(REGRESSION, tmp_path / "out", set())

    def test_a_path_below_a_file_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(UsageError, match=r"cannot be written to .* -o"):
            write_report(REGRESSION, tmp_path / "file" / "out", set())

    def test_unknown_format_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"--format pdf is unknown"):
            write_report(REGRESSION, tmp_path / "out", {"pdf", "md"})
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
    def test_interrupted_while_rendering_leaves_what_was_there(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
    ) -> None:
        old, new = tmp_path / "old", tmp_path / "new"
        write_report(REGRESSION, old, {"md"})
        before = {path.name: path.read_bytes() for path in old.iterdir()}

        def fail(diff: Diff) -> None:
            raise error

        monkeypatch.setattr(write, "to_document", fail)
        for out in (old, new):
            with pytest.raises(error):
                write_report(diff_examples.identical(), out, set())
        assert {path.name: path.read_bytes() for path in old.iterdir()} == before
        assert not new.exists()

    def test_interrupted_while_moving_leaves_whole_files_and_the_folder_ours(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out = tmp_path / "out"
        write_report(REGRESSION, out, {"md"})
        replace = Path.replace

        def stop(self: Path, target: Path) -> Path:
            if self.name == "diff.json":
                raise KeyboardInterrupt
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            write_report(diff_examples.identical(), out, {"csv"})
        monkeypatch.undo()
        assert from_document(json.loads((out / "diff.json").read_text())) == REGRESSION
        write_report(diff_examples.identical(), out, set())
        assert sorted(path.name for path in out.iterdir()) == [MARKER, "diff.json", "report.html"]

    def test_rests_of_a_killed_run_are_swept(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        elsewhere = out / f".rlcompare-part-1-1-{'5' * 12}-x"
        elsewhere.mkdir(parents=True)
        (elsewhere / "report.html").write_text("half")
        os.utime(elsewhere, (1, 1))
        write_report(REGRESSION, out, set())
        assert sorted(path.name for path in out.iterdir()) == [MARKER, "diff.json", "report.html"]

    def test_an_edited_marker_cannot_point_elsewhere(self, tmp_path: Path) -> None:
        out, precious = tmp_path / "out", tmp_path / "precious.html"
        write_report(REGRESSION, out, set())
        precious.write_text("mine")
        (out / "keep.txt").write_text("mine")
        (out / MARKER).write_text(f"head\n../precious.html\n{precious}\nkeep.txt\ncsv/../../precious.html\n\n..\n")
        write_report(REGRESSION, out, set())
        assert precious.read_text() == "mine"
        assert (out / "keep.txt").read_text() == "mine"

    def test_hostile_names_reach_the_disk(self, tmp_path: Path) -> None:
        files = write_report(diff_examples.hostile(), tmp_path / "out", {"md", "csv"}, diff_examples.verdicts())
        for path in files:
            path.read_text(encoding="utf-8")

    def test_the_page_names_the_document_beside_it(self, tmp_path: Path) -> None:
        out = tmp_path / "o"
        page = write_report(REGRESSION, out, set())[0].read_text(encoding="utf-8")
        assert f"rlcompare gate {out / 'diff.json'}" in page or "rlcompare gate DIFF.json" in page
