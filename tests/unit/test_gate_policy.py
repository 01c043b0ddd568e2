"""The policy file: its valid content, and the errors for invalid content."""

from __future__ import annotations

import inspect
from pathlib import Path
from textwrap import dedent

import pytest

from rlcompare.errors import ExitCode, UsageError
from rlcompare.gate import built_in_policy, load_policy, policy
from rlcompare.model.verdict import Policy, Rule
from rlcompare.model.words import EvidenceMode, OnInconclusive, RuleSeverity


def load(folder: Path, text: str) -> Policy:
    path = folder / "rlcompare.toml"
    path.write_text(dedent(text), encoding="utf-8")
    return load_policy(path)


def test_a_whole_policy(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """\
        [gate]
        evidence = "runs"
        on_inconclusive = "fail"
        varied = ["cann", "torch_npu"]

        [[rule]]
        metric = "time.*"
        max_increase = "5%"
        max_increase_abs = 1
        message = "Ask us."

        [[rule]]
        metric = "perf/throughput"
        max_decrease = 0.1
        severity = "warn"

        [[rule]]
        metric = "mismatch/rollout_is_eff_sample_size"
        min = 0.8
        max = 1
        optional = true
        """,
    )
    assert loaded == Policy(
        source=str(tmp_path / "rlcompare.toml"),
        rules=(
            Rule("time.*", max_relative=0.05, max_absolute=1.0, message="Ask us."),
            Rule("perf/throughput", max_relative=0.1, severity=RuleSeverity.WARN),
            Rule("mismatch/rollout_is_eff_sample_size", min_value=0.8, max_value=1.0, optional=True),
        ),
        evidence=EvidenceMode.RUNS,
        on_inconclusive=OnInconclusive.FAIL,
        varied=("cann", "torch_npu"),
    )


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    loaded = load(tmp_path, '[[rule]]\nmetric = "headline"\nmax_increase = 0\n')
    assert (loaded.evidence, loaded.on_inconclusive, loaded.varied) == ("auto", "fail", ())
    assert loaded.rules == (Rule("headline", max_relative=0.0),)


def test_the_example_in_the_documentation_is_a_policy(tmp_path: Path) -> None:
    documentation = inspect.getdoc(policy) or ""
    example = "\n".join(line[4:] for line in documentation.splitlines() if line.startswith("    "))
    loaded = load(tmp_path, example)
    assert [rule.metric for rule in loaded.rules] == [
        "headline", "phase.*.wall", "perf/throughput", "mismatch/rollout_is_eff_sample_size", "health.reward_fall",
        "phase.compute_log_prob.wall",
    ]  # fmt: skip


def test_without_a_file_the_built_in_policy_holds() -> None:
    assert load_policy(None) == built_in_policy()
    assert built_in_policy().source == "built-in"


@pytest.mark.parametrize(
    ("written", "part"), [('"5%"', 0.05), ('"0.5 %"', 0.005), ('"300%"', 3.0), ("0.05", 0.05), ("1", 1.0)]
)
def test_parts_of_the_baseline(tmp_path: Path, written: str, part: float) -> None:
    loaded = load(tmp_path, f'[[rule]]\nmetric = "a"\nmax_increase = {written}\n')
    assert loaded.rules[0].max_relative == pytest.approx(part)


@pytest.mark.parametrize(
    ("written", "limit"),
    [('"1ms"', (1.0, "ms")), ('"0.5 s"', (0.5, "s")), ('"64MiB"', (64.0, "MiB")), ("2", (2.0, "")), ("0.5", (0.5, ""))],
)
def test_absolute_limits_may_carry_a_unit(tmp_path: Path, written: str, limit: tuple[float, str]) -> None:
    for key in ("max_increase_abs", "max_decrease_abs"):
        (rule,) = load(tmp_path, f'[[rule]]\nmetric = "a"\n{key} = {written}\n').rules
        assert (rule.max_absolute, rule.absolute_unit) == limit


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[rule]]\nmetric = "a"\nmax_incraese = "5%"\n', r":3: \[\[rule\]\] 1: max_incraese .*mean max_increase\?"),
        ('[gate]\n\nevidense = "runs"\n[[rule]]\nmetric = "a"\nmax = 1\n', r":3: \[gate\]: evidense .*mean evidence\?"),
        ('[[rules]]\nmetric = "a"\nmax = 1\n', r":1: rules .*did you mean rule\?"),
        ('[[rule]]\nmetric = "a"\nmax = 1\n[[rule]]\nmetric = "b"\nmax = "much"\n', r":6: \[\[rule\]\] 2: .*'much'"),
        ('[[rule]]\nmetric = "a"\nmax = true\n', ":3: .*must be a number, not True"),
        ('[[rule]]\nmetric = "a"\nmax = "25ms"\n', ":3: .*max must be a number in the metric's own unit, without the"),
        ('[gate]\nextends = "strict"\n', ":2: .*extends belongs to the whole file: write it above the first table"),
        ('[[rule]]\nmetric = "a"\nmin = nan\n', ":3: .*must be a number, not nan"),
        ('[[rule]]\nmetric = "a"\nmax_increase = "5"\n', r':3: .*such as "5%" or 0.05, not "5"'),
        ('[[rule]]\nmetric = "a"\nmax_increase = 5\n', r':3: .*write "5%" if you mean 5 percent'),
        ('[[rule]]\nmetric = "a"\nmax_increase_abs = -1\n', ":3: .*max_increase_abs must be at least 0, not -1"),
        ('[[rule]]\nmetric = "a"\nmax_increase_abs = "1 min"\n', ':3: .*such as "1ms" or "64MiB" .*, not "1 min"'),
        ('[[rule]]\nmetric = "a"\nmax_decrease_abs = "5%"\n', ':3: .*max_decrease_abs .*, not "5%"'),
        ('[[rule]]\nmetric = "a"\nmax_increase_abs = "-1ms"\n', ":3: .*a number with a unit"),
        ('[[rule]]\nmetric = "a"\nmax_increase = 0.1\nmax_decrease = 0.1\n', ":4: .*same limit as max_increase"),
        ('[[rule]]\nmax = 1\n', r":1: \[\[rule\]\] 1: metric must name a metric"),
        ('[[rule]]\nmetric = "a"\n', ":1: .*has no limit"),
        ('[[rule]]\nmetric = "a"\nmin = 2\nmax = 1\n', ":3: .*min is larger than max"),
        ('[[rule]]\nmetric = "a"\nmax = 1\nseverity = "warning"\n', r":4: .*of error, warn, off; did you mean warn\?"),
        ('[[rule]]\nmetric = "a"\nmax = 1\noptional = "yes"\n', ":4: .*optional must be true or false, not 'yes'"),
        ('[[rule]]\nmetric = "a"\nmax = 1\nmessage = 3\n', ":4: .*message must be a string"),
        ('[gate]\nvaried = "cann"\n[[rule]]\nmetric = "a"\nmax = 1\n', r":2: \[gate\]: varied must be a list"),
        ('[gate]\non_inconclusive = "ignore"\n[[rule]]\nmetric = "a"\nmax = 1\n', ":2: .*one of pass, warn, fail"),
        ('gate = 3\n[[rule]]\nmetric = "a"\nmax = 1\n', r"must be a table: write \[gate\]"),
        ('[rule]\nmetric = "a"\n', r"write \[\[rule\]\] before each rule"),
        ('[gate]\nevidence = "limits"\n', "so every diff would pass"),
        ('[[rule]]\nmetric = "a"\nseverity = "off"\n', "every rule is off, so nothing would be judged"),
        ('[[rule]\nmetric = "a"\n', r"not valid TOML \(.*line 1"),
    ],
)  # fmt: skip
def test_what_a_policy_cannot_say_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        load(tmp_path, text)
    assert "rlcompare.toml" in str(error.value)
    assert error.value.exit_code == ExitCode.USAGE


def test_a_file_that_cannot_be_read_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.toml cannot be read: No such file"):
        load_policy(tmp_path / "nowhere.toml")
    (tmp_path / "latin.toml").write_bytes(b'[[rule]]\nmetric = "\xe9"\n')
    with pytest.raises(UsageError, match="not UTF-8"):
        load_policy(tmp_path / "latin.toml")
