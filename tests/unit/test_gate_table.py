"""What a gate says, as tables: kinds of rules, exit codes of combinations, presets; five runs a side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from rlcompare.gate import judge, load_preset
from rlcompare.model.diff import NOT_COMPARED, Delta, Diff, Finding, Symptom
from rlcompare.model.verdict import Policy, Rule
from rlcompare.model.words import OnInconclusive, RuleSeverity, Severity
from tests.unit.test_gate_rules import delta, diff

OLD = (100.0, 100.4, 99.6, 100.2, 99.8)
WILD = (84.0, 135.0, 108.0, 90.0, 123.0)  # 8 % above, and as often far below


def runs(metric: str, new: float | None, polarity: str = "lower", unit: str = "ms", size: float = 1.0) -> Delta:
    """Five runs around 100, and five around another value, in another order; times a size."""
    old = [value * size for value in OLD]
    fresh = [None if new is None else value * new / 100 for value in (*old[2:], *old[:2])]
    return delta(metric, 100 * size, None if new is None else new * size, polarity, unit, (old, fresh))


VALUES = (60, 97, 100, 103, 112, 140)
WORDS = {"i": "improved", "p": "pass", "r": "regressed"}
KINDS = [
    # rule; direction, unit; the verdicts if 100 becomes each of VALUES
    (Rule("time.step", max_relative=0.05), "lower", "ms", "ippprr"),
    (Rule("time.step", max_absolute=20), "lower", "ms", "ippppr"),
    (Rule("time.step", max_absolute=0.02, absolute_unit="s"), "lower", "ms", "ippppr"),
    (Rule("time.step", max_relative=0.05, max_absolute=20), "lower", "ms", "ippppr"),
    (Rule("time.step", max_relative=0.25, max_absolute=5), "lower", "ms", "ippppr"),
    (Rule("perf/throughput", max_relative=0.05), "higher", "", "rpppii"),
    (Rule("actor/grad_norm", max_relative=0.05), "neutral", "", "rppprr"),
    (Rule("workload.kernels", max_relative=0.0), "neutral", "count", "rrprrr"),
    (Rule("time.*", max_relative=0.05), "lower", "ms", "ippprr"),
    (Rule("headline", max_relative=0.05), "lower", "ms", "ippprr"),
    (Rule("time.step@max", max_relative=0.05), "lower", "ms", "ippprr"),
    (Rule("ess", min_value=98), "higher", "", "rrpppp"),
    (Rule("lag", max_value=105), "neutral", "", "pppprr"),
    (Rule("lag", min_value=98, max_value=105), "neutral", "", "rrpprr"),
    (Rule("time.step", max_relative=0.5, max_value=110), "lower", "ms", "pppprr"),
]
NAMES = {"headline": "time.step", "time.*": "time.step"}


def policy(*rules: Rule, on_inconclusive: str = "fail") -> Policy:
    return Policy("rlcompare.toml", rules, on_inconclusive=OnInconclusive(on_inconclusive))


@pytest.mark.parametrize(("rule", "polarity", "unit", "expected"), KINDS, ids=range(len(KINDS)))
def test_each_kind_of_rule(rule: Rule, polarity: str, unit: str, expected: str) -> None:
    metric = NAMES.get(rule.metric, rule.metric)
    found = []
    for value in VALUES:
        (verdict,) = judge(diff(runs(metric, value, polarity, unit)), policy(rule)).verdicts
        found.append(str(verdict.status))
    assert found == [WORDS[letter] for letter in expected]


def limit(metric: str, severity: str = "error", *, optional: bool = False) -> Rule:
    return Rule(metric, max_relative=0.05, severity=RuleSeverity(severity), optional=optional)


def outcome(name: str, status: str) -> Delta | None:
    """A metric for which a limit of 5 % gives this verdict; None: neither side has it."""
    made: dict[str, Delta | None] = {
        "pass": runs(name, 101),
        "improved": runs(name, 60),
        "regressed": runs(name, 140),
        "inconclusive": delta(name, 100, 108, runs=(OLD, WILD)),
        "missing": runs(name, None),
        "unknown": None,
        "not_comparable": replace(runs(name, 140), evidence={NOT_COMPARED: "another meaning"}),
    }
    return made[status]


STATUSES = ("pass", "improved", "regressed", "inconclusive", "missing", "unknown", "not_comparable")
EXITS = """
                 pass  improved  regressed  inconclusive  missing  unknown  not_comparable
pass             0     0         1          3             1        1        3
improved         0     0         1          3             1        1        3
regressed        1     1         1          1             1        1        1
inconclusive     3     3         1          3             1        1        3
missing          1     1         1          1             1        1        1
unknown          1     1         1          1             1        1        1
not_comparable   3     3         1          3             1        1        3
"""


def two(first: str, second: str) -> Diff:
    return diff(*(found for found in (outcome("first", first), outcome("second", second)) if found))


def exits() -> Iterator[tuple[str, str, int]]:
    head, *rows = EXITS.strip().splitlines()
    for row in rows:
        name, *codes = row.split()
        yield from ((name, other, int(code)) for other, code in zip(head.split(), codes, strict=True))


def test_the_exit_code_of_two_rules() -> None:
    wrong = []
    for first, second, code in exits():
        result = judge(two(first, second), policy(limit("first"), limit("second")))
        statuses = ["missing" if status == "unknown" else status for status in (first, second)]
        if ([str(one.status) for one in result.verdicts], result.exit_code) != (statuses, code):
            wrong.append((first, second, result))
    assert wrong == []
    assert {first for first, _, _ in exits()} == set(STATUSES)


@pytest.mark.parametrize(
    ("severity", "on_inconclusive", "codes"),
    [
        #                     pass improved regressed inconclusive missing unknown not_comparable
        ("error", "fail", "0    0        1         3            1       1       3"),
        ("error", "warn", "0    0        1         0            1       1       0"),
        ("error", "pass", "0    0        1         0            1       1       0"),
        ("warn",  "fail", "0    0        0         0            0       0       0"),
        ("off",   "fail", "0    0        0         0            0       0       0"),
    ],
)  # fmt: skip
def test_severity_and_what_inconclusive_leads_to(severity: str, on_inconclusive: str, codes: str) -> None:
    """Of one rule beside another that passes; and of one that may be absent."""
    for status, code in zip(STATUSES, codes.split(), strict=True):
        for optional in (False, True):
            rule = limit("second", severity, optional=optional)
            given = policy(limit("first"), rule, on_inconclusive=on_inconclusive)
            result = judge(two("pass", status), given)
            skipped = severity == "off" or (optional and status == "unknown")
            assert (result.exit_code, len(result.verdicts)) == (
                0 if skipped else int(code), 1 if skipped else 2,
            ), (status, optional)  # fmt: skip


SEVERE = Finding("chip", "A", "B", Severity.SEVERE, "Chips differ.")


@pytest.mark.parametrize(("status", "severity"), list(product(STATUSES, ("error", "warn", "off"))))
def test_sides_that_must_not_be_compared_end_with_5_whatever_the_verdicts(status: str, severity: str) -> None:
    found = replace(two("pass", status), comparability=diff(findings=[SEVERE]).comparability)
    result = judge(found, policy(limit("second", severity)))
    assert result.exit_code == 5
    assert "regressed" not in {str(verdict.status) for verdict in result.verdicts}


@pytest.mark.parametrize(
    ("symptom", "rule", "speed", "code"),
    [
        # own severity, the rule's ("": none), the verdict of a step that became faster
        ("error", "", "pass", 1), ("error", "warn", "pass", 0), ("error", "off", "improved", 0),
        ("warn", "", "pass", 0), ("warn", "error", "pass", 1), ("warn", "off", "improved", 0),
    ],
)  # fmt: skip
def test_symptoms(symptom: str, rule: str, speed: str, code: int) -> None:
    sign = Symptom("health.kl", "kl", "new", RuleSeverity(symptom), None, None, None, "too far")
    rules = [limit("time.step"), *([Rule("health.*", severity=RuleSeverity(rule))] if rule else [])]
    result = judge(replace(diff(runs("time.step", 60)), symptoms=(sign,)), policy(*rules))
    (step,) = (verdict for verdict in result.verdicts if verdict.metric == "time.step")
    assert (step.status, result.exit_code) == (speed, code)


def job(**changed: float | None) -> Diff:
    """A job in which all that the presets judge was measured; ``step=110`` changes the step from 100 to 110."""
    gib = 2.0**30 / 10
    metrics = [
        runs("timing_s/step", changed.get("step", 100), unit="s"),
        runs("perf/throughput", changed.get("throughput", 100), "higher", ""),
        runs("phase.update_actor.wall", changed.get("phase", 100)),
        runs("memory.peak_allocated", changed.get("memory", 100), unit="bytes", size=gib),
        runs("actor/grad_norm", changed.get("grad_norm", 100), "neutral", "", 0.01),
        runs("response_length/clip_ratio", changed.get("clipped", 100), "neutral", "ratio", 0.004),
    ]
    return diff(*metrics, headline="timing_s/step")


def sign(severity: str) -> Diff:
    symptom = Symptom("health.kl", "kl", "new", RuleSeverity(severity), None, None, None, "too far")
    return replace(job(), symptoms=(symptom,))


def wild_step() -> Diff:
    found = job()
    step = delta("timing_s/step", 100, 108, unit="s", runs=(OLD, WILD))
    return replace(found, overall=(step, *found.overall[1:]))


JOBS = [
    # data                                                      default strict health
    ("the same", job(),                                         (0, 0, 0)),
    ("step +3 %", job(step=103),                                (0, 1, 0)),
    ("step +8 %", job(step=108),                                (1, 1, 0)),
    ("step -20 %", job(step=80),                                (0, 0, 0)),
    ("step not decided", wild_step(),                           (3, 3, 0)),
    ("step not measured", job(step=None),                       (1, 1, 0)),
    ("throughput -12 %", job(throughput=88),                    (1, 1, 0)),
    ("phase +9 %", job(phase=109),                              (0, 1, 0)),
    ("phase +30 %", job(phase=130),                             (0, 1, 0)),
    ("memory +4 %", job(memory=104),                            (0, 1, 0)),
    ("memory +20 %", job(memory=120),                           (0, 1, 0)),
    ("gradient norm gone", job(grad_norm=None),                 (0, 0, 1)),
    ("more responses cut off", job(clipped=140),                (0, 0, 0)),  # a warning of health
    ("a sign that warns", sign("warn"),                         (0, 1, 0)),
    ("a sign that fails", sign("error"),                        (1, 1, 1)),
    ("another chip", replace(job(), comparability=diff(findings=[SEVERE]).comparability), (5, 5, 5)),
    ("nothing measured", diff(),                                (1, 1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("found", "codes"), [row[1:] for row in JOBS], ids=[row[0] for row in JOBS])
def test_presets(found: Diff, codes: tuple[int, int, int]) -> None:
    results = [judge(found, load_preset(name)) for name in ("default", "strict", "health")]
    assert tuple(result.exit_code for result in results) == codes, [result.summary for result in results]


@pytest.mark.parametrize(
    ("statuses", "severities", "said"),
    [
        ("regressed pass", "error error", "1 of 2 rules failed: first regressed."),
        ("regressed missing", "error error", "2 of 2 rules failed: first regressed; second missing."),
        ("unknown pass", "error error", "1 of 2 rules failed: first missing."),
        ("regressed missing", "error warn", "1 of 2 rules failed: first regressed. 1 warning: second missing."),
        ("pass improved", "error error", "Nothing failed (2 rules)."),
        ("inconclusive pass", "error error", "The evidence is inconclusive (2 rules). 1 inconclusive: first."),
        (
            "inconclusive pass",
            "warn error",
            "Nothing failed (2 rules). 1 inconclusive, of rules that only warn: first.",
        ),
        (
            "inconclusive inconclusive",
            "error warn",
            "The evidence is inconclusive (2 rules). 1 inconclusive: first."
            " 1 inconclusive, of rules that only warn: second.",
        ),
    ],
)
def test_the_summary_tells_missing_and_regressed_apart(statuses: str, severities: str, said: str) -> None:
    names, kinds = ("first", "second"), severities.split()
    rules = [limit(name, kind) for name, kind in zip(names, kinds, strict=True)]
    first, second = statuses.split()
    assert judge(two(first, second), policy(*rules)).summary == said


def test_the_summary_says_why_what_is_not_decided_passes() -> None:
    rules = [limit(name) for name in ("first", "second")]
    result = judge(two("inconclusive", "pass"), replace(policy(*rules), on_inconclusive=OnInconclusive.WARN))
    assert result.exit_code == 0
    assert result.summary == (
        "Nothing failed (2 rules). 1 inconclusive: first."
        ' Inconclusive verdicts do not fail, by the policy: on_inconclusive = "warn".'
    )


def test_rules_and_verdicts_are_counted_apart() -> None:
    found = diff(runs("time.step", 140), runs("time.free", 140), runs("time.comm", 100), runs("memory.peak", 100))
    rules = limit("time.*"), limit("memory.peak")
    summary = judge(found, policy(*rules)).summary
    assert summary == "1 of 2 rules failed (4 verdicts): time.step, time.free regressed."


TYPING = [
    # a rule's metric, and what is meant if that is a typing error; measured: time.step, timing_s/agent_a, my/score_1
    ("perf/troughput", "perf/throughput"), ("perf/thruoghptu", "perf/throughput"), ("time.setp", "time.step"),
    ("time.stepp", "time.step"), ("timing_s.step", "timing_s/step"), ("timing_sstep", "timing_s/step"),
    ("Actor/Grad_norm", "actor/grad_norm"), ("memory.peek_*", "memory.peak_allocated"), ("phase.*.wal", "phase.*.wall"),
    ("phase.update_actr.wall", "phase.update_actor.wall"),
    ("headlin", "headline"), ("phases.*.wall", "phase.*.wall"),
    ("timing_s/setp@p95", "timing_s/step"), ("timing_s/step@p95", None),
    # metrics that exist and were not logged, others of one's own, and patterns over them
    ("perf/throughput", None), ("perf/throughput_x", None), ("actor/entropy", None), ("phase.my_phase.wall", None),
    ("timing_s/agent_b", None), ("my/score_2", None), ("my/*", None), ("time.*@max", None), ("phase.*.wall", None),
    ("*perf/max_memory_*", None), ("val-core/gsm8k/reward/mean@8", None), ("role.actor.step", None), ("ess", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("timing_s/step@max", "but timing_s/step has no measure max: choose from median, "),
        ("time.step@p95", "but time.step has no measure p95: choose from max, spread"),
        ("time.bubble@p95", "but time.bubble has no measure p95: choose from max, spread"),  # was not measured
        ("phase.*.wall@p95", "but phase.*.wall has no measure p95: it has none"),
        ("time.step@max", ""),
        ("headline@p95", ""),  # which measures there are depends on what the headline is
    ],
)
def test_an_optional_rule_does_not_excuse_a_measure_that_a_metric_never_has(metric: str, said: str) -> None:
    result = judge(diff(runs("time.step", 100)), policy(limit("time.step"), limit(metric, optional=True)))
    missing = [verdict.text for verdict in result.verdicts if verdict.status == "missing"]
    assert [said in text for text in missing] == ([True] if said else [])


@pytest.mark.parametrize(("metric", "meant"), TYPING)
def test_an_optional_rule_does_not_excuse_a_typing_error(metric: str, meant: str | None) -> None:
    measured = ("time.step", "timing_s/agent_a", "my/score_1")
    found = diff(*(runs(name, 100, "neutral" if "/" in name else "lower") for name in measured))
    result = judge(found, policy(limit("time.step"), limit(metric, optional=True)))
    said = [verdict.text for verdict in result.verdicts if verdict.status == "missing"]
    assert (result.exit_code, said) == (
        (0, []) if meant is None
        else (1, [f"expected a value, found no such metric on either side; did you mean {meant}?"])
    )  # fmt: skip
