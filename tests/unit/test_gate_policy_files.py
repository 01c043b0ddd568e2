"""Where rules come from: presets, files that extend others, pyproject.toml, exceptions; and their schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from textwrap import dedent
from typing import Any

import click
import jsonschema
import pytest

import rlcompare.gate
from rlcompare.cli.gate import command
from rlcompare.cli.policy_text import policy_text, with_symptoms
from rlcompare.errors import UsageError
from rlcompare.gate import built_in_policy, judge, load_policy, load_preset, preset_text, written_policy
from rlcompare.gate.find import find_policy
from rlcompare.gate.policy_reader import PYPROJECT, read_table
from rlcompare.gate.policy_schema import policy_schema
from rlcompare.model.diff import Symptom
from rlcompare.model.verdict import PRESETS, Policy
from rlcompare.model.words import RuleSeverity
from rlcompare.text import is_invisible
from tests.unit.test_gate_rules import delta, diff

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 6, 15)


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Writes policy files and returns the first."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text), encoding="utf-8")
    return folder / next(iter(files))


def rule(metric: str, *lines: str, limit: str = 'max_increase = "5%"') -> str:
    return "\n".join(["[[rule]]", f'metric = "{metric}"', limit, *lines, ""])


def statuses(policy: Policy, **changed: float) -> dict[str, tuple[str, str]]:
    """Status and severity by metric, where each metric changes from 100 to the given value."""
    found = diff(*(delta(metric.replace("__", "."), 100.0, new) for metric, new in changed.items()))
    return {
        verdict.metric: (str(verdict.status), str(verdict.rule.severity))
        for verdict in judge(found, policy).verdicts
    }  # fmt: skip


class TestPresets:
    def test_they_are_those_that_are_offered(self) -> None:
        files = {path.stem for path in (Path(rlcompare.gate.__file__).parent / "presets").iterdir()}
        (offered,) = (option.type for option in command.params if option.name == "preset")
        assert isinstance(offered, click.Choice)
        assert files == set(PRESETS) == set(offered.choices)

    @pytest.mark.parametrize("name", PRESETS)
    def test_the_printed_policy_is_the_one_that_holds(self, tmp_path: Path, name: str) -> None:
        policy = load_preset(name)
        for text in (with_symptoms(preset_text(name)), policy_text(policy)):
            again = load_policy(write(tmp_path, {"p.toml": text}))
            assert (again.rules, again.evidence, again.on_inconclusive, again.noise, again.varied) == (
                policy.rules, policy.evidence, policy.on_inconclusive, policy.noise, policy.varied,
            )  # fmt: skip

    def test_the_default_one_is_built_in(self) -> None:
        assert built_in_policy().rules == load_preset("default").rules

    def test_strict_fails_what_the_default_only_warns_of(self) -> None:
        for name, severity in (("default", "warn"), ("strict", "error")):
            found = statuses(load_preset(name), time__step=100, phase__update_actor__wall=200)
            assert found["phase.update_actor.wall"] == ("regressed", severity)

    def test_health_judges_no_time(self) -> None:
        policy = load_preset("health")
        slower = diff(delta("time.step", 100, 900), delta("actor/grad_norm", 1, 1, "neutral", ""))
        assert judge(slower, policy).exit_code == 0
        assert judge(diff(delta("time.step", 100, 100)), policy).exit_code == 1  # a profile proves no health


class TestExtends:
    def test_own_settings_and_rules_go_before_those_of_the_preset(self, tmp_path: Path) -> None:
        own = 'extends = "default"\n[gate]\nnoise = "1%"\n' + rule("headline", limit='max_increase = "20%"') + rule("x")
        policy, base = load_policy(write(tmp_path, {"p.toml": own})), load_preset("default")
        assert (policy.noise, policy.on_inconclusive) == (0.01, base.on_inconclusive)
        assert [one.metric for one in policy.rules] == [*(one.metric for one in base.rules), "x"]
        assert (policy.rules[0].max_relative, policy.rules[0].optional) == (0.2, False)  # replaced as a whole
        assert policy.rules[1:5] == base.rules[1:]

    def test_files_are_relative_to_the_one_that_says_so_and_the_last_wins(self, tmp_path: Path) -> None:
        path = write(tmp_path, {
            "perf/own.toml": 'extends = ["../a.toml", "b.toml", "strict"]\n[gate]\nvaried = ["cann"]\n',
            "a.toml": '[gate]\nnoise = 0.1\nvaried = ["x"]\n' + rule("time.step") + rule("only.a"),
            "perf/b.toml": '[gate]\nnoise = 0.2\nevidence = "limits"\n' + rule("time.step", limit="max = 7"),
        })  # fmt: skip
        policy = load_policy(path)
        assert [(one.metric, one.max_value) for one in policy.rules[:2]] == [("time.step", 7.0), ("only.a", None)]
        assert [one.metric for one in policy.rules[2:]] == [one.metric for one in load_preset("strict").rules]
        assert (policy.noise, policy.evidence, policy.varied) == (0.03, "auto", ("cann",))  # strict is the last

    def test_what_holds_is_printed(self, tmp_path: Path) -> None:
        """With what rules leave to others, exceptions, paths and any characters. It gives the same rules on any day."""
        own = (
            'extends = "base/base.toml"\n[gate]\nbaselines = "b"\n'
            + rule("phase.gen.wall", r'message = "🚀 \" \\ \u007f \n \u202e \u0085 \U000e0001"', "noise = 0.015")
            + rule("phase.x.*", "expires = 2026-06-15", 'reason = "r"', limit='severity = "off"')
            + rule("health.kl", limit='severity = "error"')
        )
        base = (
            '[gate]\nhistory = "postgresql://me:secret@server/db"\n'
            + rule("phase.*.wall", 'except_for = ["phase.a.*"]', 'max_increase_abs = "0.000001s"')
            + rule("memory.peak_*")
        )
        path = write(tmp_path, {"p.toml": own, "base/base.toml": base})
        text = policy_text(written_policy(path), path)
        again = write(tmp_path, {"again.toml": text})
        for day in (TODAY, date(2026, 6, 16)):  # after the exception, the rule for the other phases counts again
            assert load_policy(again, today=day).rules == load_policy(path, today=day).rules
        assert 'baselines = "b"\n# history' in text
        assert "secret" not in text
        assert not any(map(is_invisible, text.replace("\n", ""))), "escaped, as TOML does it"
        assert 'metric = "health.kl"\nseverity = "error"' in text
        policy = load_policy(path, today=TODAY)
        assert policy.rules[0].except_for == ("phase.a.*", "phase.gen.wall")
        found = statuses(policy, phase__a__wall=200, phase__b__wall=200)
        assert {metric for metric, (status, _) in found.items() if status == "regressed"} == {"phase.b.wall"}

    def test_what_a_rule_leaves_out_it_does_not_judge_after_an_exception(self, tmp_path: Path) -> None:
        text = rule("phase.*.wall", 'except_for = ["phase.gen.wall"]')
        text += rule("phase.gen.wall", 'severity = "warn"', "expires = 2026-06-14", 'reason = "r"')
        policy = load_policy(write(tmp_path, {"p.toml": text}), today=TODAY)
        assert statuses(policy, phase__gen__wall=130) == {"phase.gen.wall": ("regressed", "error")}

    def test_a_name_takes_its_metric_from_a_glob_and_a_glob_takes_nothing(self, tmp_path: Path) -> None:
        base = rule("phase.*.wall") + rule("time.step")
        own = (
            'extends = "base.toml"\n'
            + rule("phase.gen.wall", limit='max_increase = "50%"')
            + rule("time.*", 'severity = "warn"')
        )
        policy = load_policy(write(tmp_path, {"p.toml": own, "base.toml": base}))
        found = statuses(policy, phase__gen__wall=130, phase__actor__wall=130, time__step=130)
        assert (found["phase.gen.wall"], found["phase.actor.wall"]) == (("pass", "error"), ("regressed", "error"))
        result = judge(diff(delta("time.step", 100, 130)), policy)
        assert {str(one.rule.severity) for one in result.verdicts if one.metric == "time.step"} == {"error", "warn"}

    def test_off_without_a_limit_takes_metrics_from_all_rules(self, tmp_path: Path) -> None:
        text = rule("phase.*.wall") + rule("phase.gen.*", limit='severity = "off"')
        policy = load_policy(write(tmp_path, {"p.toml": text}))
        assert statuses(policy, phase__gen__wall=200, phase__actor__wall=100) == {"phase.actor.wall": ("pass", "error")}
        result = judge(diff(delta("phase.gen.wall", 100, 200)), policy)  # nothing is left to judge
        assert (result.exit_code, "turns off or leaves out" in result.verdicts[0].text) == (1, True)
        # only one of two rules is turned off where it has a limit
        text = rule("time.step") + rule("time.step", 'severity = "off"', limit="max = 1")
        assert statuses(load_policy(write(tmp_path, {"p.toml": text})), time__step=200)["time.step"][0] == "regressed"

    @pytest.mark.parametrize(
        ("files", "message"),
        [
            ({"p.toml": 'extends = "p.toml"\n'}, r'p\.toml:1: extends "p\.toml", which extends p\.toml again'),
            (
                {"p.toml": '\nextends = ["a.toml"]\n', "a.toml": 'extends = "sub/../p.toml"\n', "sub/x.toml": ""},
                r'a\.toml:1: extends "sub/\.\./p\.toml", which extends a\.toml again',
            ),
            ({f"{i}.toml": f'extends = "{i + 1}.toml"\n' for i in range(12)}, "more than 10 files"),
            ({"p.toml": 'extends = "strickt"\n'}, 'neither a preset nor a file: did you mean "strict"'),
            ({"p.toml": 'extends = "other.toml"\n'}, r"there is no file .*other\.toml"),
            ({"p.toml": "extends = 3\n"}, r"p\.toml:1: extends must be a preset or a file"),
            ({"p.toml": 'extends = ["default", ""]\n'}, r"p\.toml:1: extends must be a preset or a file"),
            ({"p.toml": 'extends = "a.toml"\n', "a.toml": '[[rule]]\nmetric = "x"\n'}, r"a\.toml:1: .*has no limit"),
        ],
    )
    def test_what_cannot_be_extended(self, tmp_path: Path, files: Mapping[str, str], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            load_policy(write(tmp_path, files))


class TestRepeatedRules:
    def test_a_rule_that_says_the_same_is_used_once_and_one_with_another_limit_is_told(self, tmp_path: Path) -> None:
        other, value = rule("time.step", limit='max_increase = "9%"'), rule("time.step", limit="max = 900")
        text = rule("time.step") + rule("time.step", 'message = "m"') + other + value
        policy = load_policy(write(tmp_path, {"p.toml": text + rule("time.step", 'severity = "warn"')}))
        assert [one.max_relative for one in policy.rules] == [0.05, 0.09, None, 0.05]
        assert [note.partition("p.toml:")[2] for note in policy.notes] == [
            f"4: says the same about time.step as {tmp_path}/p.toml:1 and is not used; remove one",
            f"8: limits time.step like {tmp_path}/p.toml:1, so the stricter limit decides",
        ]


class TestPyproject:
    TEXT = """\
        [project]
        name = "x"
        [tool.ruff]
        extends = "y"
        [tool.rlcompare]
        extends = "strict"
        [tool.rlcompare.gate]
        noise = "2%"
        [[tool.rlcompare.rule]]
        metric = "headline"
        max_increase = "9%"
        """

    def test_its_tables_are_a_policy(self, tmp_path: Path) -> None:
        policy = load_policy(write(tmp_path, {PYPROJECT: self.TEXT}))
        assert (policy.noise, policy.rules[0].max_relative, len(policy.rules)) == (0.02, 0.09, 6)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ('"9%"', '"9"', r"pyproject\.toml:11: \[\[rule\]\] 1: max_increase must be"),
            ('"2%"', "2", r'pyproject\.toml:8: \[gate\]: noise must be more than 0 .*write "2%"'),
            ('"strict"', '"strikt"', r"pyproject\.toml:6: extends"),
            ("rlcompare.gate", "rlcompare.gates", r"pyproject\.toml:7: gates is not a policy key"),
            ("[[tool.rlcompare.rule]]", "[[tool.rlcompare.rules]]", r"pyproject\.toml:9: rules is not a policy key"),
        ],
    )
    def test_messages_have_its_lines(self, tmp_path: Path, old: str, new: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            load_policy(write(tmp_path, {PYPROJECT: self.TEXT.replace(old, new)}))

    def test_it_is_found_like_a_file_of_its_own_which_goes_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here = tmp_path / "perf" / "run"
        (tmp_path / ".git").mkdir()
        write(tmp_path, {PYPROJECT: self.TEXT, "perf/run/pyproject.toml": "[project]\n[tool.rlcompare-x]\n"})
        monkeypatch.chdir(here)
        assert find_policy(here).path == tmp_path / PYPROJECT
        write(here, {PYPROJECT: self.TEXT})
        assert find_policy(here).path == Path(PYPROJECT)
        write(here, {"rlcompare.toml": rule("x")})
        found = find_policy(here)
        assert (found.path, found.ignored) == (Path("rlcompare.toml"), Path(PYPROJECT))
        write(here, {PYPROJECT: "[tool.other]\nbroken = "})  # is none of ours
        assert find_policy(here).ignored is None
        write(here, {PYPROJECT: "[tool.rlcompare]\nbroken = "})
        with pytest.raises(UsageError, match="not valid TOML"):
            find_policy(here)


def excepted(last: str, *lines: str, metric: str = "phase.gen.wall", base: str = "") -> str:
    return (base or rule("phase.*.wall")) + rule(metric, *lines, f"expires = {last}", 'reason = "vLLM 0.12"')


class TestExceptions:
    """An exception holds until the end of its day, and takes its metrics from all other rules."""

    @pytest.mark.parametrize(
        ("last", "status", "note"),
        [
            ("2026-12-31", ("pass", "error"), ""),
            ("2026-06-30", ("pass", "error"), ""),  # 15 days
            ("2026-06-29", ("pass", "error"), "ends in 14 days, after 2026-06-29 (vLLM 0.12)"),
            ("2026-06-16", ("pass", "error"), "ends tomorrow"),
            ("2026-06-15", ("pass", "error"), "ends today"),
            ("2026-06-14", ("regressed", "error"), "ended on 2026-06-14 (vLLM 0.12): it no longer applies"),
        ],
    )
    def test_a_wider_limit(self, tmp_path: Path, last: str, status: tuple[str, str], note: str) -> None:
        text = rule("phase.*.wall") + rule(
            "phase.gen.wall", f"expires = {last}", 'reason = "vLLM 0.12"', limit='max_increase = "50%"'
        )
        policy = load_policy(write(tmp_path, {"p.toml": text}), today=TODAY)
        found = statuses(policy, phase__gen__wall=130, phase__actor__wall=100)
        assert found == {"phase.gen.wall": status, "phase.actor.wall": ("pass", "error")}
        assert [note in said and "p.toml:4: the exception for phase.gen.wall" in said for said in policy.notes] == (
            [True] if note else []
        )

    @pytest.mark.parametrize(("last", "severity"), [("2026-06-15", "warn"), ("2026-06-14", "error")])
    def test_without_another_rule_it_becomes_an_error(self, tmp_path: Path, last: str, severity: str) -> None:
        text = rule("time.step", 'severity = "warn"', f"expires = {last}", 'reason = "r"')
        policy = load_policy(write(tmp_path, {"p.toml": text}), today=TODAY)
        assert statuses(policy, time__step=130) == {"time.step": ("regressed", severity)}

    @pytest.mark.parametrize(("last", "found"), [("2026-06-15", {}), ("2026-06-14", {"time.step": "error"})])
    def test_the_headline_by_its_own_name(self, tmp_path: Path, last: str, found: dict[str, str]) -> None:
        base, off = rule("headline"), 'severity = "off"\n'
        text = base + f'[[rule]]\nmetric = "time.step"\n{off}expires = {last}\nreason = "r"\n'
        policy = load_policy(write(tmp_path, {"p.toml": text}), today=TODAY)
        assert {metric: severity for metric, (_, severity) in statuses(policy, time__step=130).items()} == found

    def test_it_does_not_replace_what_it_is_an_exception_from(self, tmp_path: Path) -> None:
        base = write(tmp_path, {"base.toml": rule("time.step", limit="max = 110")})
        own = rule("time.step", "expires = 2026-06-15", 'reason = "r"', limit="max = 150")
        path = write(base.parent, {"p.toml": 'extends = "base.toml"\n' + own})
        for day, status in ((15, "pass"), (16, "regressed")):
            policy = load_policy(path, today=date(2026, 6, day))
            assert statuses(policy, time__step=130)["time.step"][0] == status

    @pytest.mark.parametrize(("last", "severity"), [("2026-06-15", "warn"), ("2026-06-14", "error")])
    def test_of_a_symptom(self, tmp_path: Path, last: str, severity: str) -> None:
        text = rule("x", "optional = true") + '[[rule]]\nmetric = "health.kl"\nseverity = "error"\n'
        text += f'[[rule]]\nmetric = "health.*"\nseverity = "warn"\nexpires = {last}\nreason = "r"\n'
        policy = load_policy(write(tmp_path, {"p.toml": text}), today=TODAY)
        symptom = Symptom("health.kl", "kl", "new", RuleSeverity.WARN, None, None, None, "too far")
        found = replace(diff(delta("time.step", 1, 1)), symptoms=(symptom,))
        result = judge(found, policy)
        assert {str(one.rule.severity) for one in result.verdicts if one.metric == "health.kl"} == {severity}

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (rule("a", "expires = 2026-12-31"), ":4: .*expires needs a reason"),
            (
                rule("a", 'expires = "soon"', 'reason = "r"'),
                ":4: .*expires must be a day such as 2026-12-31, not 'soon'",
            ),
            (rule("a", "expires = 2026", 'reason = "r"'), ":4: .*must be a day"),
            (
                rule("a", "expires = 2099-12-31", 'reason = "r"', limit='severity = "off"') + rule("b"),
                ":1: nothing judges a when this exception ends",
            ),
        ],
    )
    def test_what_is_no_exception(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            load_policy(write(tmp_path, {"p.toml": text}), today=TODAY)


class TestNoise:
    @pytest.mark.parametrize(("written", "noise"), [('"3%"', 0.03), ("0.5", 0.5), ('"0.1 %"', 0.001)])
    def test_of_the_gate_and_of_a_rule(self, tmp_path: Path, written: str, noise: float) -> None:
        text = f"[gate]\nnoise = {written}\n" + rule("a", f"noise = {written}") + rule("b")
        policy = load_policy(write(tmp_path, {"p.toml": text}))
        assert [policy.noise, *(one.noise for one in policy.rules)] == [pytest.approx(noise)] * 2 + [None]

    @pytest.mark.parametrize("written", ["0", "1", '"0%"', '"100%"', '"3"', "3", "-0.1", "nan", "true"])
    def test_what_is_none(self, tmp_path: Path, written: str) -> None:
        for text in (f"[gate]\nnoise = {written}\n" + rule("a"), rule("a", f"noise = {written}")):
            with pytest.raises(UsageError, match="noise must be"):
                load_policy(write(tmp_path, {"p.toml": text}))


class TestSchema:
    """jsonschema and the reader agree on what a policy is."""

    VALIDATOR = jsonschema.Draft202012Validator(policy_schema(), format_checker=jsonschema.FormatChecker())

    def errors(self, text: str) -> list[str]:
        document: Any = json.loads(json.dumps(read_table(Path("p.toml"), text), default=lambda day: day.isoformat()))
        return [error.message for error in self.VALIDATOR.iter_errors(document)]

    def test_it_is_a_schema(self) -> None:
        jsonschema.Draft202012Validator.check_schema(policy_schema())

    @pytest.mark.parametrize("name", PRESETS)
    def test_presets(self, name: str) -> None:
        assert self.errors(preset_text(name)) == []

    def test_examples_in_the_documents(self, tmp_path: Path) -> None:
        texts = [
            text
            for document in ("gate.md", "user-guide.md", "ci.md")
            if (ROOT / "docs" / document).exists()
            for text in re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / document).read_text("utf-8"), re.DOTALL)
            if "[[rule]]" in text
        ]
        assert texts
        for text in texts:
            assert self.errors(text) == []
            load_policy(write(tmp_path, {"p.toml": text, "perf/base.toml": rule("time.step")}), today=TODAY)

    @pytest.mark.parametrize(
        "text",
        [
            rule("a", "max_incraese = 1"),
            rule("a", limit=""),
            rule("", limit="max = 1"),
            rule("a", limit='max_increase = "5"'),
            rule("a", limit="max_increase = 5"),
            rule("a", limit='max_increase_abs = "5 min"'),
            rule("a", 'severity = "warning"'),
            rule("a", "expires = 2026-12-31"),
            rule("a", 'expires = "soon"', 'reason = "r"'),
            rule("a", "max_decrease = 0.1"),
            rule("a", 'noise = "3"'),
            rule("a", "noise = 1.0"),
            '[gate]\nnoise = 0\n' + rule("a"),
            '[gate]\non_inconclusive = "ignore"\n' + rule("a"),
            "[gate]\n",
            '[[rules]]\nmetric = "a"\nmax = 1\n',
            "extends = 3\n",
        ],
    )  # fmt: skip
    def test_what_both_refuse(self, tmp_path: Path, text: str) -> None:
        assert self.errors(text) != []
        with pytest.raises(UsageError):
            load_policy(write(tmp_path, {"p.toml": text}))
