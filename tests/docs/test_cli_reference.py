"""docs/cli.md says what the commands say."""

from __future__ import annotations

from rlcompare.cli.main import COMMANDS
from tools.cli_reference import REGENERATE, TARGET, reference


def test_it_is_current() -> None:
    assert TARGET.read_text(encoding="utf-8") == reference(), f"docs/cli.md is not current: run {REGENERATE}"


def test_it_has_every_command_with_its_options_defaults_and_examples() -> None:
    text = TARGET.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"\n## rlcompare {name}\n" not in text] == []
    assert "\n## rlcompare cache prune\n" in text, "a command within a command"
    gate = text.partition("\n## rlcompare gate\n")[2].partition("\n## ")[0]
    for part in (
        "rlcompare gate [OPTIONS] [DIFF.json | -- COMMAND...]",
        "| `--on-inconclusive [pass\\|warn\\|fail]` |",
        "[default: db]",
    ):
        assert part in gate
    assert "```\nrlcompare gate -d new/ -bp base/\n" in gate
