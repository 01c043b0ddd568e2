"""``rlcompare gate`` in a CI job: its exit code, what it prints, and where the rules come from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rlcompare.gate import built_in_policy, load_policy, load_preset

from .conftest import Command

STRICT = '[[rule]]\nmetric = "time.compute"\nmax_increase = "1 %"\nmessage = "ask the kernel team"\n'
LENIENT = '[[rule]]\nmetric = "time.compute"\nmax_increase = "500 %"\n'


@pytest.fixture
def document(rlcompare: Command, compared: Path) -> Path:
    """The diff.json of the slower run, in the working folder."""
    return Path(shutil.copytree(compared, "made")) / "diff.json"


class TestExitCodes:
    def test_a_regression(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("gate", "-d", samples / "new", "-bp", samples / "base")
        assert (result.code, result.err) == (1, "")
        assert "time.path" in result.out
        assert "exit code 1: regressed)" in result.out
        assert not Path("rlcompare-out").exists()

    def test_a_profile_against_itself(self, rlcompare: Command, samples: Path) -> None:
        assert rlcompare("gate", "-d", samples / "base", "-bp", samples / "base").code == 0

    def test_an_improvement(self, rlcompare: Command, samples: Path) -> None:
        assert rlcompare("gate", "-d", samples / "base", "-bp", samples / "new").code == 0

    def test_a_missing_metric_fails_its_rule(self, rlcompare: Command, document: Path) -> None:
        Path("rlcompare.toml").write_text('[[rule]]\nmetric = "no/such/metric"\nmax_increase = 0.1\n')
        result = rlcompare("gate", document)
        assert (result.code, "exit code 1: missing)" in result.out) == (1, True)
        assert json.loads(rlcompare("gate", document, "--json").out)["reasons"] == ["missing"]
        assert rlcompare("gate", document, "--bisect").code == 125, "the commit may be good"
        Path("rlcompare.toml").write_text(STRICT + '[[rule]]\nmetric = "no/such/metric"\nmax_increase = 0.1\n')
        assert rlcompare("gate", document, "--bisect").code == 1

    @pytest.mark.parametrize(("more", "code"), [("", 125), (STRICT, 1)])
    def test_a_search_skips_a_commit_at_which_a_metric_is_only_missing(
        self, rlcompare: Command, document: Path, more: str, code: int
    ) -> None:
        Path("rlcompare.toml").write_text('[[rule]]\nmetric = "no/such/metric"\nmax_increase = 0.1\n' + more)
        result = rlcompare("gate", document, "--bisect")
        assert (result.code, "this commit is skipped" in result.err) == (code, code == 125)

    def test_an_input_that_cannot_be_read(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("gate", "-d", "nowhere", "-bp", samples / "base")
        assert (result.code, "nowhere" in result.error) == (4, True)

    @pytest.mark.parametrize(("choice", "code"), [("pass", 0), ("warn", 0), ("fail", 3)])
    def test_inconclusive(self, rlcompare: Command, document: Path, choice: str, code: int) -> None:
        Path("rlcompare.toml").write_text('[[rule]]\nmetric = "time.exposed_comm"\nmax_increase = "1 %"\n')
        result = rlcompare("gate", document, "--on-inconclusive", choice)
        assert (result.code, "runs per side would decide" in result.out) == (code, True)

    def test_evidence_that_cannot_be_had(self, rlcompare: Command, document: Path) -> None:
        Path("rlcompare.toml").write_text('[gate]\nevidence = "runs"\n' + STRICT)
        result = rlcompare("gate", document)
        assert (result.code, result.out) == (2, "")
        assert "1 against 1 runs cannot decide" in result.error
        assert "Make 5 runs per side" in result.error

    def test_not_comparable_until_declared(self, rlcompare: Command, document: Path) -> None:
        diff = json.loads(document.read_text())
        finding = {"key": "chip", "baseline": "A", "new": "B", "severity": "severe", "message": "Chips differ."}
        diff["comparability"] = {"status": "not_comparable", "findings": [finding]}
        document.write_text(json.dumps(diff))
        Path("rlcompare.toml").write_text(LENIENT)

        assert rlcompare("gate", document).code == 5
        assert rlcompare("gate", document, "--varied", "chip").code == 0


class TestPolicy:
    def test_of_the_working_folder(self, rlcompare: Command, document: Path) -> None:
        Path("rlcompare.toml").write_text(LENIENT)
        result = rlcompare("gate", document)
        assert (result.code, "rlcompare.toml" in result.out) == (0, True)

    def test_what_may_differ_is_a_typing_error(self, rlcompare: Command, document: Path) -> None:
        Path("rlcompare.toml").write_text('[gate]\nvaried = ["canm", "torch_npu", "our.own"]\n' + LENIENT)
        (said,) = rlcompare("gate", document).err.splitlines()
        assert said == "rlcompare: warning: rlcompare.toml: varied canm: neither side has it; did you mean cann?"

    def test_of_a_file(self, rlcompare: Command, document: Path) -> None:
        Path("rlcompare.toml").write_text(LENIENT)
        Path("strict.toml").write_text(STRICT)
        result = rlcompare("gate", document, "--policy", "strict.toml")
        assert (result.code, "ask the kernel team" in result.out) == (1, True)

    def test_built_in(self, rlcompare: Command, document: Path) -> None:
        assert "built-in" in rlcompare("gate", document).out

    def test_of_the_repository(self, rlcompare: Command, document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file above the repository is somebody else's."""
        Path("rlcompare.toml").write_text(LENIENT)
        inner = Path("repository/perf/run")
        inner.mkdir(parents=True)
        document = document.absolute()
        monkeypatch.chdir(inner)
        assert "built-in" in rlcompare("gate", document).out
        Path("../../.git").mkdir()
        assert "built-in" in rlcompare("gate", document).out
        Path("../../rlcompare.toml").write_text(STRICT)
        assert "ask the kernel team" in rlcompare("gate", document).out
        Path("../rlcompare.toml").write_text(LENIENT)
        assert rlcompare("gate", document).code == 0

    def test_printed_policy_is_the_built_in_one(self, rlcompare: Command) -> None:
        Path("all.toml").write_text(rlcompare("gate", "--print-policy").out)
        assert load_policy(Path("all.toml")).rules == built_in_policy().rules

    @pytest.mark.parametrize("kept", ["", "timing_s/step", "perf/throughput", "rollout_is", "memory.", "time."])
    def test_printed_policy_gives_the_same_verdicts(self, rlcompare: Command, document: Path, kept: str) -> None:
        """On diffs of a profile, of a log, of memory alone, and of nothing at all."""
        found = json.loads(document.read_text())
        logged = {"timing_s/step": (0.19, 0.29, "s", "lower"), "perf/throughput": (900.0, 600.0, "", "higher"),
                  "memory.peak_allocated": (2**30, 2**31, "bytes", "lower"),
                  "mismatch/rollout_is_eff_sample_size": (0.9, 0.7, "ratio", "higher")}  # fmt: skip
        for metric, (old, new, unit, polarity) in logged.items():
            found["overall"].append({
                "metric": metric, "unit": unit, "polarity": polarity, "baseline": old, "new": new, "delta": new - old,
                "ratio": new / old, "samples": {"baseline": [old], "new": [new]}, "evidence": {},
            })  # fmt: skip
        found["overall"] = [delta for delta in found["overall"] if kept and kept in delta["metric"]]
        document.write_text(json.dumps(found))

        built_in = rlcompare("gate", document, "--json")
        Path("rlcompare.toml").write_text(rlcompare("gate", "--print-policy").out)
        own = rlcompare("gate", document, "--json")

        said = [json.loads(result.out)["verdicts"] for result in (built_in, own)]
        assert said[0] == said[1] != []
        assert own.code == built_in.code == (0 if kept == "memory." else 1)

    def test_of_pyproject_and_of_both(self, rlcompare: Command, document: Path) -> None:
        lenient = LENIENT.replace("[[rule]]", "[[tool.rlcompare.rule]]")
        Path("pyproject.toml").write_text(lenient)
        result = rlcompare("gate", document)
        assert (result.code, result.err, "policy: pyproject.toml" in result.out) == (0, "", True)
        Path("rlcompare.toml").write_text(STRICT)
        result = rlcompare("gate", document)
        assert (result.code, "rlcompare.toml is used, not [tool.rlcompare] of pyproject.toml" in result.err) == (
            1,
            True,
        )

    def test_those_that_hold_are_printed(self, rlcompare: Command) -> None:
        Path("pyproject.toml").write_text(LENIENT.replace("[[rule]]", "[[tool.rlcompare.rule]]"))
        rules = load_policy(Path("pyproject.toml")).rules
        Path("rlcompare.toml").write_text("")  # as the shell makes it before the command runs
        Path("rlcompare.toml").write_text(rlcompare("gate", "--print-policy").out)
        assert load_policy(Path("rlcompare.toml")).rules == rules

    def test_presets(self, rlcompare: Command, document: Path) -> None:
        Path("rlcompare.toml").write_text(LENIENT)
        result = rlcompare("gate", document, "--preset", "strict")
        assert (result.code, "policy: preset strict" in result.out) == (1, True)
        Path("own.toml").write_text(rlcompare("gate", "--preset", "strict", "--print-policy").out)
        assert load_policy(Path("own.toml")).rules == load_preset("strict").rules
        assert rlcompare("gate", document, "--preset", "strict", "--policy", "own.toml").code == 2

    def test_exceptions_that_ended_are_said(self, rlcompare: Command, document: Path) -> None:
        Path("rlcompare.toml").write_text(
            STRICT + STRICT.replace("1 %", "900%") + 'expires = 2001-01-31\nreason = "R"\n'
        )
        result = rlcompare("gate", document)
        assert (result.code, "exception for time.compute ended on 2001-01-31 (R)" in result.out) == (1, True)
        assert "ended on 2001-01-31" in json.loads(rlcompare("gate", document, "--json").out)["policy"]["notes"][0]

    def test_the_schema_is_printed(self, rlcompare: Command) -> None:
        assert "noise" in json.loads(rlcompare("gate", "--print-schema").out)["$defs"]["RuleTable"]["properties"]

    def test_selftest(self, rlcompare: Command, samples: Path, document: Path) -> None:
        """On made-up runs, on those of a baseline and of a diff; and of a rule that cannot fire."""
        for data in ([], ["-bp", samples / "base"], [document]):
            result = rlcompare("gate", "--selftest", *data)
            assert (result.code, "fire when exceeded" in result.out) == (0, True), result.out
        Path("rlcompare.toml").write_text(STRICT + '[[rule]]\nmetric = "perf/throughput"\nmax_decrease = "100%"\n')
        result = rlcompare("gate", "--selftest", "--json")
        problems = {trial["metric"]: trial["problem"] != "" for trial in json.loads(result.out)["trials"]}
        assert (result.code, problems) == (1, {"time.compute": False, "perf/throughput": True})

    @pytest.mark.parametrize("text", ["not toml [", '[[rule]]\nmetrik = "x"\n', "[[rule]]\n"])
    def test_wrong(self, rlcompare: Command, document: Path, text: str) -> None:
        Path("rlcompare.toml").write_text(text)
        result = rlcompare("gate", document)
        assert (result.code, "rlcompare.toml" in result.error) == (2, True)

    def test_missing(self, rlcompare: Command, document: Path) -> None:
        result = rlcompare("gate", document, "--policy", "none.toml")
        assert (result.code, "none.toml" in result.error) == (2, True)


class TestOutput:
    def test_the_document_gives_the_verdicts_of_the_profiles(
        self, rlcompare: Command, samples: Path, document: Path
    ) -> None:
        from_profiles = rlcompare("gate", "-d", samples / "new", "-bp", samples / "base", "--json")
        from_document = rlcompare("gate", document, "--json")
        assert json.loads(from_profiles.out) == json.loads(from_document.out)
        assert from_profiles.code == from_document.code == json.loads(from_document.out)["exit_code"] == 1

    def test_report_on_demand(self, rlcompare: Command, samples: Path) -> None:
        result = rlcompare("gate", "-d", samples / "new", "-bp", samples / "base", "-o", "report", "--format", "md")
        assert result.code == 1
        assert {"report.html", "diff.json", "report.md"} <= {path.name for path in Path("report").iterdir()}
        assert "regressed" in Path("report/report.html").read_text(encoding="utf-8")

    def test_help_keeps_to_the_width_of_a_terminal(self, rlcompare: Command) -> None:
        lines = rlcompare("gate", "--help").out.splitlines()
        assert any("Exit codes: 0 no regression" in line for line in lines)
        assert max(map(len, lines)) <= 100


class TestWrongUse:
    @pytest.mark.parametrize(
        "content",
        [b"", b"{", b"[]", b"null", b"\xff", b'{"schema": "rlcompare.diff/99"}', b'{"schema": 7}', b"[" * 100_000],
    )
    def test_a_document_that_is_none(self, rlcompare: Command, content: bytes) -> None:
        Path("diff.json").write_bytes(content)
        result = rlcompare("gate", "diff.json")
        assert (result.code, "diff.json" in result.error) == (4, True)

    @pytest.mark.parametrize("path", ["nowhere.json", "."])
    def test_no_document(self, rlcompare: Command, path: str) -> None:
        assert (rlcompare("gate", path).code, rlcompare("gate", path).error != "") == (4, True)

    def test_both_a_document_and_sides(self, rlcompare: Command, samples: Path, document: Path) -> None:
        for options in (["-d", samples / "new"], ["--step", "2"], ["--rank", "0"]):
            assert rlcompare("gate", document, *options).code == 2

    def test_neither(self, rlcompare: Command) -> None:
        assert (rlcompare("gate").code, "-bp" in rlcompare("gate").error) == (2, True)


@pytest.mark.slow
def test_earlier_runs_tell_how_much_runs_differ(rlcompare: Command) -> None:
    """+8 % of one run against one may be luck at the noise that is assumed; 14 quiet runs tell that it is not."""

    def log(name: str, step: float) -> str:
        lines = [json.dumps({"step": number, "data": {"timing_s/step": step}}) for number in range(1, 6)]
        Path(name).write_text("\n".join(lines))
        return name

    sides = ("-d", log("new.jsonl", 32.4), "-bp", log("base.jsonl", 30.0))
    assert rlcompare("gate", *sides).code == 3
    for number in range(14):
        log(f"run{number}.jsonl", 30.0 * (1 + 0.005 * (-1) ** number + 0.0001 * number))
    added = rlcompare("history", "add", *(f"run{number}.jsonl" for number in range(14)), "--history", "all.duckdb")
    assert added.code == 0

    result = rlcompare("gate", *sides, "--history", "all.duckdb")

    assert result.code == 1
    assert "if runs differ by 0.52 %, the history of 14 runs" in result.out
    assert result.err == "rlcompare: note: noise is taken from the history all.duckdb: 14 runs like the baseline\n"
    rlcompare("history", "add", "run0.jsonl", "--history", "few.duckdb")
    result = rlcompare("gate", *sides, "--history", "few.duckdb")
    assert "few.duckdb has 1 run like the baseline, of 5 needed" in result.err
    assert rlcompare("gate", *sides, "--history", "absent.duckdb").code == 4
    # AND so does a policy that names the history, wherever it is
    Path("perf").mkdir()
    rule = 'metric = "headline"\nmax_increase = "5%"\n'
    Path("perf/rules.toml").write_text(f'[gate]\nhistory = "../all.duckdb"\n[[rule]]\n{rule}')
    assert rlcompare("gate", *sides, "--policy", "perf/rules.toml").code == 1
    Path("pyproject.toml").write_text(f'[tool.rlcompare.gate]\nhistory = "all.duckdb"\n[[tool.rlcompare.rule]]\n{rule}')
    assert rlcompare("gate", *sides).code == 1
