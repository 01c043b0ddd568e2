"""Diffs made by hand, as a comparison of two verl runs on Ascend would give them; shared by the tests of reports.

``regression``: 8 ranks, update_actor takes 18 % longer because one operator got slower. ``identical``: the same on both
sides. ``empty``: nothing was measured. ``hostile``: names that attack a terminal, a page, a spreadsheet and a shell.
"""

from __future__ import annotations

import io
from dataclasses import replace

from rlcompare.model.diff import (
    Cause,
    Comparability,
    Delta,
    Diff,
    EventFact,
    Finding,
    Row,
    RunEvent,
    RunInfo,
    Section,
    Side,
    Symptom,
    Unexplained,
    Value,
)
from rlcompare.model.timeline import Timeline, TimelineSide, TimelineTask
from rlcompare.model.verdict import GateResult, Policy, Rule, Verdict
from rlcompare.model.words import Comparable, EventKind, Polarity, RuleSeverity, Severity, Status
from rlcompare.report.gate_text import print_gate

SECTION_NAMES = (
    "categories",
    "steps",
    "ranks",
    "phases",
    "kernels",
    "kernel_types",
    "operators",
    "modules",
    "collectives",
    "groups",
    "links",
    "copies",
    "memory",
    "apis",
    "metrics",
    "workload",
    "env",
    "msprof",
)

HOSTILE_NAMES = (
    "</script><script>alert('kernel')</script>",
    "<img src=x onerror=alert(1)>",
    "=cmd|' /C calc'!A0",
    "+1+cmd",
    "-2+3+cmd",
    "@SUM(A1:A9)",
    "\tTAB first",
    "\rCR first",
    "red \x1b[31m alarm \x1b]0;title\x07",
    "two\nlines\r\nand more",
    "turned \u202e around \u2066 twice",
    "[bold red]rich markup[/bold red] [link=file:///etc]x[/link]",
    "| a | table | `code` **bold** [link](javascript:alert(1)) @everyone #1",
    "{{ 7 * 7 }} {% raw %} ${7*7} %s {0}",
    '" onmouseover="alert(2)',
    "C1 \x9b31m and DEL \x7f and NUL \x00",
    "lone \ud800 surrogate",
    "宽字符的核函数名称",
    "x" * 1_000_000,
)


ONSET = RunEvent(
    EventKind.ONSET, "timing_s/step", "s", "new", 0, 240, None, 61, 34.0, 42.1, elsewhere=False,
    facts=(EventFact("timing_s/gen", 20.0, 28.0),),
    text="New side: timing_s/step takes 8.10 s more since step 240 (34.0 s → 42.1 s), 8.00 s of it timing_s/gen.",
)  # fmt: skip


_MS = 10**6
TIMELINE = Timeline(
    "update_actor",
    TimelineSide(
        0, "rank 3", 3, 2, 3, 1, 100 * _MS, 10 * _MS,
        {"compute": (10 * _MS,) * 5 + (0, 5 * _MS, 0, 0, 0)},
        (TimelineTask("compute", "MatMulV2", -2 * _MS, 30 * _MS),),
    ),
    TimelineSide(
        0, "rank 3", 3, 2, 3, 1, 125 * _MS, 12_500_000,
        {"compute": (12_500_000,) * 5 + (0,) * 5, "comm": (0,) * 9 + (12_500_000,)},
        (TimelineTask("compute", "MatMulV2", 0, 40 * _MS), TimelineTask("comm", "all_reduce", 112_500_000, 12_500_000)),
    ),
)  # fmt: skip
"""The new side lasts a quarter longer; half of its time is computation, on the baseline 55 %."""


def row(name: str | None, baseline: Value, new: Value, **further: Value) -> Row:
    """A row of a section: presence, delta and ratio follow from the two values."""
    presence = "new_only" if baseline is None else "baseline_only" if new is None else "both"
    numbers = isinstance(baseline, (int, float)) and isinstance(new, (int, float))
    delta = round(new - baseline, 6) if numbers else None  # type: ignore[operator]
    ratio = new / baseline if numbers and baseline else None  # type: ignore[operator]
    return {
        "name": name,
        "presence": presence,
        "baseline": baseline,
        "new": new,
        "delta": delta,
        "ratio": ratio,
        **further,
    }


def metric(name: str, baseline: float | None, new: float | None, unit: str = "ms", polarity: str = "lower") -> Delta:
    """An overall metric of one run per side."""
    made = row(name, baseline, new)
    delta, ratio = made["delta"], made["ratio"]
    assert not isinstance(delta, str) and not isinstance(ratio, str)
    return Delta(name, unit, Polarity(polarity), baseline, new, delta, ratio, {"baseline": (baseline,), "new": (new,)})


def side(label: str, path: str, ranks: int = 8, **env: str) -> Side:
    """A side of one run: one capture a rank, steps 3 and 4."""
    captures = tuple(
        {
            "role": None,
            "rank": rank,
            "ordinal": 0,
            "tool": "npu",
            "level": "Level1",
            "source": "ascend_db",
            "devices": 1,
        }
        for rank in range(ranks)
    )
    return Side(label, (RunInfo(label, path, ranks, ranks, 2),), captures, (3, 4), env)


def _phase(name: str, role: str | None, walls: tuple[float, float], device: tuple[float, ...]) -> Row:
    keys = ("baseline_compute", "new_compute", "baseline_exposed_comm", "new_exposed_comm", "baseline_free", "new_free")
    return {**row(name, *walls), "role": role, **dict(zip(keys, device, strict=True)), "kind": "wall"}


_PHASES = (
    _phase("update_actor", "actor", (1420.0, 1675.6), (1012.4, 1262.9, 211.3, 214.8, 150.2, 151.6)),
    _phase("generate_sequences", "rollout", (2412.3, 2418.9), (1388.1, 1390.2, 402.7, 404.0, 560.3, 563.1)),
    _phase("old_log_prob", "actor", (412.6, 414.0), (301.5, 302.6, 61.0, 61.2, 38.7, 38.8)),
    _phase("ref_log_prob", "ref", (398.4, 399.1), (298.8, 299.0, 60.2, 60.4, 27.9, 28.1)),
    _phase("(outside)", None, (64.9, 65.4), (3.1, 3.1, 0.0, 0.0, 58.8, 59.2)),
    _phase("reward", "reward", (38.2, 38.4), (0.0, 0.0, 0.0, 0.0, 38.2, 38.4)),
    _phase("adv", None, (6.1, 6.1), (1.9, 1.9, 0.0, 0.0, 4.1, 4.1)),
)

_KERNELS = (
    row(
        "FlashAttentionScoreGrad",
        201.884,
        441.207,
        baseline_calls=224,
        new_calls=224,
        phase="update_actor",
        op_type="FlashAttentionScoreGrad",
        input_shapes="1,4096,28,128;1,4096,4,128;1,4096,4,128",
        core_type="MIX_AIC",
    ),
    row(
        "MatMulV2",
        512.310,
        518.404,
        baseline_calls=1792,
        new_calls=1792,
        phase="update_actor",
        op_type="MatMulV2",
        input_shapes="4096,3584;3584,18944",
        core_type="AI_CORE",
    ),
    row(
        "Cast",
        31.201,
        35.884,
        baseline_calls=962,
        new_calls=1186,
        phase="update_actor",
        op_type="Cast",
        input_shapes="4096,3584",
        core_type="AI_VECTOR_CORE",
    ),
    row(
        "RmsNormGrad",
        0.0,
        2.114,
        presence="new_only",
        baseline_calls=0,
        new_calls=56,
        phase="update_actor",
        op_type="RmsNormGrad",
        input_shapes="4096,3584;3584",
        core_type="AI_VECTOR_CORE",
    ),
    row(
        "RmsNormGradV1",
        2.020,
        None,
        baseline_calls=56,
        new_calls=None,
        phase="update_actor",
        op_type="RmsNormGradV1",
        input_shapes="4096,3584;3584",
        core_type="AI_VECTOR_CORE",
    ),
    row(
        "SwiGlu",
        44.120,
        42.870,
        baseline_calls=448,
        new_calls=448,
        phase="old_log_prob",
        op_type="SwiGlu",
        input_shapes="4096,37888",
        core_type="AI_VECTOR_CORE",
    ),
    row(
        "FlashAttentionScore",
        148.402,
        148.377,
        baseline_calls=448,
        new_calls=448,
        phase="old_log_prob",
        op_type="FlashAttentionScore",
        input_shapes="1,4096,28,128;1,4096,4,128;1,4096,4,128",
        core_type="MIX_AIC",
    ),
)


def _rank(rank: int) -> Row:
    slow = rank == 3
    return {
        **row(f"rank {rank}", 4752.5 + rank * 0.4, 5017.5 + rank * 0.5),
        "rank": rank,
        "baseline_compute": 3005.8 + rank * 0.1,
        "new_compute": 3259.7 + (22.4 if slow else rank * 0.1),
        "baseline_late_ms": 0.412 + rank * 0.01,
        "new_late_ms": 18.273 if slow else 0.388,
        "baseline_straggler": False,
        "new_straggler": slow,
    }


def _sections() -> dict[str, Section]:
    filled = {
        "categories": Section(
            "categories",
            "ms",
            (),
            1.0,
            "Busy time: categories sum to compute.",
            (
                row("flash_attention_backward_cube", 201.884, 441.207),
                row("matmul_cube", 902.112, 909.300),
                row("vector_trans", 88.310, 93.021),
                row("vector", 611.200, 612.904),
            ),
        ),
        "steps": Section(
            "steps",
            "ms",
            (),
            1.0,
            "Paired by position.",
            (
                row("3 ↔ 3", 4750.1, 5014.9, baseline_compute=3004.2, new_compute=3257.1),
                row("4 ↔ 4", 4754.9, 5020.1, baseline_compute=3007.4, new_compute=3262.3),
            ),
        ),
        "ranks": Section("ranks", "ms", ("rank",), 1.0, "", tuple(_rank(rank) for rank in range(8))),
        "phases": Section("phases", "ms", ("role",), 1.0, "Wall time on the host.", _PHASES),
        "kernels": Section(
            "kernels", "ms", ("op_type", "input_shapes", "phase"), 0.994, "By operator type and input shapes.", _KERNELS
        ),
        "kernel_types": Section(
            "kernel_types",
            "ms",
            ("core_type",),
            0.996,
            "",
            tuple(
                row(name, baseline, new, core_type=core, baseline_calls=calls, new_calls=calls)
                for name, core, baseline, new, calls in (
                    ("FlashAttentionScoreGrad", "MIX_AIC", 201.884, 441.207, 224),
                    ("MatMulV2", "AI_CORE", 902.112, 909.300, 3584),
                    ("FlashAttentionScore", "MIX_AIC", 148.402, 148.377, 448),
                )
            ),
        ),
        "operators": Section(
            "operators",
            "ms",
            ("phase",),
            1.0,
            "Time of the kernels that the operators launched themselves.",
            (
                row(
                    "npu_fusion_attention_backward",
                    203.1,
                    442.6,
                    phase="update_actor",
                    baseline_calls=28,
                    new_calls=28,
                    baseline_host_self_ms=4.120,
                    new_host_self_ms=4.300,
                ),
                row(
                    "aten::linear",
                    514.6,
                    520.7,
                    phase="update_actor",
                    baseline_calls=196,
                    new_calls=196,
                    baseline_host_self_ms=22.871,
                    new_host_self_ms=22.410,
                ),
            ),
        ),
        "collectives": Section(
            "collectives",
            "ms",
            ("kind", "group"),
            1.0,
            "By kind, group and ordinal in the step.",
            (
                row(
                    "all_gather",
                    288.121,
                    291.004,
                    kind="all_gather",
                    group="0,1,2,3,4,5,6,7",
                    baseline_calls=336,
                    new_calls=336,
                    baseline_wait_ms=40.212,
                    new_wait_ms=44.870,
                    baseline_bytes=5_637_144_576,
                    new_bytes=5_637_144_576,
                ),
                row(
                    "reduce_scatter",
                    96.882,
                    97.310,
                    kind="reduce_scatter",
                    group="0,1,2,3,4,5,6,7",
                    baseline_calls=112,
                    new_calls=112,
                    baseline_wait_ms=12.004,
                    new_wait_ms=12.881,
                    baseline_bytes=1_879_048_192,
                    new_bytes=1_879_048_192,
                ),
            ),
        ),
        "groups": Section(
            "groups", "ms", (), 1.0, "", (row("0,1,2,3,4,5,6,7", 385.003, 388.314, baseline_calls=448, new_calls=448),)
        ),
        "links": Section(
            "links",
            "ms",
            ("transport",),
            1.0,
            "",
            tuple(
                row(f"{a} → {b}", 12.2, 12.3, transport="HCCS", baseline_bytes=939_524_096, new_bytes=939_524_096)
                for a in range(2)
                for b in range(2)
                if a != b
            ),
        ),
        "copies": Section(
            "copies",
            "ms",
            (),
            1.0,
            "",
            (
                row(
                    "host_to_device",
                    120.442,
                    121.001,
                    baseline_calls=310,
                    new_calls=310,
                    baseline_bytes=15_032_385_536,
                    new_bytes=15_032_385_536,
                ),
            ),
        ),
        "memory": Section(
            "memory",
            "bytes",
            ("component",),
            1.0,
            "Highest level in a capture.",
            (
                row("PTA", 51_539_607_552, 54_975_581_388, component="PTA"),
                row("APP", 60_129_542_144, 60_129_542_144, component="APP"),
            ),
        ),
        "apis": Section(
            "apis",
            "ms",
            ("layer",),
            1.0,
            "",
            (
                row("aclnnFlashAttentionScoreGrad", 3.120, 3.302, layer="acl", baseline_calls=28, new_calls=28),
                row("aclrtSynchronizeStream", 388.010, 627.224, layer="acl", baseline_calls=64, new_calls=64),
            ),
        ),
        "metrics": Section(
            "metrics",
            "",
            (),
            None,
            "",
            (
                row("mismatch/rollout_is_eff_sample_size", 0.9711, 0.8204, unit="ratio", polarity="higher"),
                row("mismatch/rollout_is_mean", 1.0012, 1.0187, unit="ratio"),
                row("mismatch/rollout_is_veto_fraction", 0.0, 0.004, unit="ratio", polarity="lower"),
                row("mismatch/mismatch_kl", 0.00121, 0.00984, unit=""),
                row("actor/entropy", 0.4127, 0.4119, unit=""),
            ),
        ),
        "workload": Section(
            "workload",
            "",
            (),
            None,
            "",
            (
                row("perf/total_num_tokens", 1_048_576, 1_048_576, unit="count"),
                row("response_length/mean", 812.4, 812.4, unit=""),
            ),
        ),
        "env": Section(
            "env",
            "",
            (),
            None,
            "",
            (
                row("cann", "8.2.RC1", "8.3.RC1"),
                row("torch_npu", "2.5.1.post1", "2.5.1.post1"),
                row("chip", "Ascend910B3", "Ascend910B3"),
                row("world_size", "8", "8"),
                row("profiler.level", "Level1", "Level1"),
            ),
        ),
        "msprof": Section(
            "msprof",
            "ms",
            ("sheet",),
            None,
            "In the definitions of msprof-analyze, totals of a capture.",
            (
                row(
                    "Computing Time",
                    6011.6,
                    6519.4,
                    sheet="OverallMetrics",
                    depth=0,
                    baseline_calls=12_004,
                    new_calls=12_228,
                ),
                row(
                    "Flash Attention",
                    700.6,
                    1179.2,
                    sheet="OverallMetrics",
                    depth=1,
                    baseline_calls=1344,
                    new_calls=1344,
                ),
                row(
                    "Flash Attention (Backward) (Cube)",
                    403.8,
                    882.4,
                    sheet="OverallMetrics",
                    depth=2,
                    baseline_calls=448,
                    new_calls=448,
                ),
                row(
                    "Uncovered Communication Time",
                    1470.4,
                    1480.8,
                    sheet="OverallMetrics",
                    depth=0,
                    baseline_calls=None,
                    new_calls=None,
                ),
            ),
        ),
    }
    return {name: filled.get(name, Section(name, "ms", (), None, "", ())) for name in SECTION_NAMES}


def regression() -> Diff:
    """CANN 8.3 against 8.2: the step takes 5.6 % longer, all of it in update_actor's attention backward."""
    return Diff(
        baseline=side("cann82", "runs/cann82", cann="8.2.RC1", torch_npu="2.5.1.post1", chip="Ascend910B3"),
        new=side("cann83", "runs/cann83", cann="8.3.RC1", torch_npu="2.5.1.post1", chip="Ascend910B3"),
        comparability=Comparability(
            Comparable.CAUTION,
            (
                Finding(
                    "cann",
                    "8.2.RC1",
                    "8.3.RC1",
                    Severity.CAUTION,
                    "CANN differs and was not declared with --varied cann.",
                ),
            ),
        ),
        headline="time.step",
        overall=(
            metric("time.step", 4752.5, 5017.5),
            metric("time.device_span", 4690.2, 4954.6),
            metric("time.compute", 3005.8, 3259.7),
            metric("time.comm", 792.4, 798.1),
            metric("time.exposed_comm", 735.2, 740.4),
            metric("time.overlapped_comm", 57.2, 57.7, polarity="neutral"),
            metric("time.free", 949.2, 954.5),
            metric("time.preparing", 31.1, 31.3),
            metric("time.bubble", None, None),
            metric("memory.peak_allocated", 51_539_607_552, 54_975_581_388, "bytes"),
            metric("perf/throughput", 27_580.1, 26_123.4, "", "higher"),
        ),
        causes=(
            Cause(
                "operator_slower",
                0.903,
                239.3,
                "FlashAttentionScoreGrad in update_actor takes 2.2 times as long per call, in as many calls.",
                "kernels",
                "FlashAttentionScoreGrad",
            ),
            Cause(
                "straggler",
                0.084,
                22.3,
                "Rank 3 starts collectives 18.3 ms later than the others; it was not late before.",
                "ranks",
                "rank 3",
            ),
            Cause("operator_calls", 0.018, 4.7, "Cast is called 224 times more often per step.", "kernels", "Cast"),
        ),
        unexplained=Unexplained(-0.005, -1.3),
        quality=(
            Finding(
                "db_preferred",
                None,
                "rank 5",
                Severity.INFO,
                "Rank 5 has a database and text files: the database was read.",
            ),
            Finding(
                "missing_file",
                None,
                "rank 3",
                Severity.CAUTION,
                "Rank 3 of the new side has no memory_record.csv: no memory of it.",
            ),
        ),
        sections=_sections(),
    )


def unstable() -> Diff:
    """The regression, with gradients that are not finite."""
    text = "actor/grad_norm is not a finite number in 3 of 60 steps, first in step 41."
    symptom = Symptom("health.non_finite", "actor/grad_norm", "new", RuleSeverity.ERROR, 0, 3, 41, text)
    return replace(regression(), symptoms=(symptom,))


def identical() -> Diff:
    """A run against itself: two steps of one rank, nothing differs, no phases but one."""
    base = regression()
    one = side("runs/a", "runs/a", 1, cann="8.2.RC1")
    times = (("time.device_span", 120.6), ("time.compute", 8.84), ("time.exposed_comm", 101.2), ("time.free", 10.56))
    rows = (
        row(
            "Conv2D", 1.122722, 1.122722, op_type="Conv2D", input_shapes="32,3,224,224", baseline_calls=20, new_calls=20
        ),
    )
    sections = {name: replace(section, rows=()) for name, section in base.sections.items()}
    sections["kernels"] = Section("kernels", "ms", ("op_type", "input_shapes"), 1.0, "", rows)
    sections["phases"] = Section("phases", "ms", ("role",), 1.0, "", (row("(outside)", 120.6, 120.6, kind="device"),))
    return replace(
        base,
        baseline=one,
        new=one,
        comparability=Comparability(Comparable.COMPARABLE, ()),
        headline="time.device_span",
        overall=tuple(metric(name, value, value) for name, value in times),
        causes=(),
        unexplained=None,
        quality=(),
        sections=sections,
    )


def empty() -> Diff:
    """Two sides in which nothing was measured."""
    nothing = Side("", (), (), (), {})
    return Diff(
        baseline=nothing,
        new=nothing,
        comparability=Comparability(Comparable.COMPARABLE, ()),
        headline="time.device_span",
        overall=(),
        causes=(),
        quality=(),
        sections={name: Section(name, "ms", (), None, "", ()) for name in SECTION_NAMES},
    )


def hostile() -> Diff:
    """Every text that can come from a profile holds every attack."""
    base = regression()
    names = HOSTILE_NAMES
    rows = tuple(row(name, 1.5, 2.5, op_type=name, phase=name, baseline_calls=1, new_calls=2) for name in names)
    findings = tuple(Finding(name, name, name, Severity.CAUTION, name) for name in names)
    label = names[0] + names[8] + names[9]
    poisoned = Side(
        label,
        (RunInfo(label, "\n".join(names[:12]), 1, 2, 1),),
        ({"role": label, "rank": 0},),
        (1,),
        {n[:90]: n for n in names},
    )
    sections = {name: replace(section, rows=rows, note=names[0] + names[8]) for name, section in base.sections.items()}
    return replace(
        base,
        baseline=poisoned,
        new=poisoned,
        comparability=Comparability(Comparable.CAUTION, findings),
        overall=(*base.overall, *(metric(name, 1.0, 2.0) for name in names)),
        causes=tuple(Cause("phase", 0.5, 1.0, name, "kernels", name) for name in names),
        quality=findings,
        sections=sections,
    )


def large(rows: int) -> Diff:
    """The regression with so many kernels, of which most changed little."""
    base = regression()
    many = tuple(
        row(
            f"aclnnKernel_{index}_MatMulV2",
            10.0 + index / 7,
            10.1 + index / 7,
            op_type="MatMulV2",
            input_shapes=f"4096,{index};{index},128",
            phase="update_actor",
            baseline_calls=index,
            new_calls=index,
        )
        for index in range(rows)
    )
    return replace(base, sections={**base.sections, "kernels": replace(base.sections["kernels"], rows=many)})


def verdicts() -> GateResult:
    """A gate's result with one verdict of each kind."""

    def verdict(
        metric: str, status: str, text: str, verified: bool = False, severity: str = "error", message: str = ""
    ) -> Verdict:
        rule = Rule(metric, max_relative=0.05, severity=RuleSeverity(severity), message=message)
        return Verdict(rule, metric, Status(status), text, 4752.5, 5017.5, "ms", verified)

    found = (
        verdict(
            "time.step",
            "regressed",
            "expected at most +5.0 %, found +5.6 % (4,752.5 → 5,017.5 ms)",
            message="Ask the performance team.",
        ),
        verdict("phase.reward.wall", "pass", "expected at most +5.0 %, found +0.5 %"),
        verdict("time.free", "improved", "expected at most +5.0 %, found -1.2 %"),
        verdict(
            "mismatch/rollout_is_eff_sample_size", "regressed", "expected at least 0.85, found 0.8204", True, "warn"
        ),
        verdict("actor/grad_norm", "missing", "expected a value, found none on the new side"),
        verdict(
            "time.bubble", "inconclusive", "expected at most +5.0 %, found +6.1 %; 3 more runs per side would decide"
        ),
    )
    return GateResult(Policy("rlcompare.toml", tuple(item.rule for item in found)), found, 1, "2 of 6 rules failed.")


def gate_lines(result: GateResult, diff: Diff | None = None) -> list[str]:
    """What ``rlcompare gate`` prints to a file."""
    stream = io.StringIO()
    print_gate(result, stream, diff)
    return stream.getvalue().splitlines()
