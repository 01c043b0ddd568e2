"""``rlcompare completion``."""

from __future__ import annotations

import click

from rlcompare.cli.options import Command, common_options

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(SHELLS))
@common_options
def command(shell: str, quiet: bool) -> None:
    """Print the completion script of bash, zsh or fish.

    It completes commands, options, their values and paths. It asks rlcompare for them, so it need not be regenerated
    after an upgrade.

    \b
    rlcompare completion bash >> ~/.bashrc
    rlcompare completion zsh >> ~/.zshrc
    rlcompare completion fish > ~/.config/fish/completions/rlcompare.fish
    """
    from click.shell_completion import get_completion_class

    from rlcompare.cli.main import cli

    found = get_completion_class(shell)
    assert found is not None
    # Only the text: click's bash also starts a bash to ask for its version.
    made = found(cli, {}, "rlcompare", "_RLCOMPARE_COMPLETE")
    click.echo((made.source_template % made.source_vars()).strip())
