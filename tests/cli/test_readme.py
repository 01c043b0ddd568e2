"""The tour in README.md is what ``make demo`` prints: the same lines with the same headline numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path

from .conftest import Command

README = Path(__file__).parents[2] / "README.md"
ELIDED = "…"


def printed(command: str) -> list[str]:
    """The lines that README shows below a command."""
    block = re.search(rf"```\n\$ {re.escape(command)}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert block, command
    return block[1].splitlines()


def labels(lines: list[str]) -> list[str]:
    """The words at the beginning of lines, without those of lines that go on."""
    return [line[:12].strip() for line in lines if line[:12].strip() and line != ELIDED]


def numbers(lines: list[str], label: str) -> list[str]:
    """The numbers of the first line with a label."""
    line = next(line for line in lines if line.startswith(f"{label} "))
    return re.findall(r"\d+(?:\.\d+)?", line)


def test_the_policy_lets_no_step_pass_that_takes_half_as_long_again(rlcompare: Command) -> None:
    """Training's own times are in seconds, those of a profile in ms."""
    block = re.search(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert block
    Path("rlcompare.toml").write_text(block[1])
    for name, step in (("base", 0.193), ("slow", 0.288), ("same", 0.1935)):
        timers = {"timing_s/step": step, "timing_s/update_actor": step / 2}
        lines = [json.dumps({"step": number, "data": timers}) for number in range(1, 6)]
        Path(f"{name}.jsonl").write_text("\n".join(lines))

    slow = rlcompare("gate", "-d", "slow.jsonl", "-bp", "base.jsonl")
    assert (slow.code, "timing_s/step: expected at most +5.0 % or +1 ms, found +49.2 %" in slow.out) == (1, True)
    assert rlcompare("gate", "-d", "same.jsonl", "-bp", "base.jsonl").code == 0


def test_tour(rlcompare: Command) -> None:
    assert rlcompare("sample", "-o", "demo/baseline").code == 0
    changes = ("--change", "slower:MatMulV2:1.3", "--change", "late:1:4ms")
    assert rlcompare("sample", "-o", "demo/new", *changes).code == 0

    diff = "diff -d demo/new -bp demo/baseline -o demo/report"
    shown, real = printed(f"rlcompare {diff}"), rlcompare(*diff.split()).out.splitlines()
    end = shown.index(ELIDED)
    assert labels(shown[:end]) == labels(real[: real.index("")])
    assert shown[end + 1 :] == real[-1:]
    for label in ("step", "workload", "rest"):
        assert numbers(shown, label) == numbers(real, label)
    assert numbers(shown, "cause")[0] == numbers(real, "cause")[0], "the share of the change"

    gate = "gate demo/report/diff.json"
    shown, real = printed(f"rlcompare {gate}"), rlcompare(*gate.split()).out.splitlines()
    assert labels(shown) == labels(real)
    for label in ("regressed", "gate"):
        assert numbers(shown, label) == numbers(real, label)
