"""Groups of commands, which suggest the nearest command for one that does not exist."""

from __future__ import annotations

import click

OTHER_NAMES = {"compare": "diff", "check": "gate", "analyze": "analyse", "profile": "run"}
"""What other tools call a command of ours."""


class Group(click.Group):
    """A group of commands. An unknown one ends with exit code 2 and the nearest that exists."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        known = self.list_commands(ctx)
        if ctx.resilient_parsing or name in known or name.startswith("-"):
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches

        other = OTHER_NAMES.get(name)
        near = [other] if other in known else get_close_matches(name, known, n=2)
        hint = f"; did you mean {' or '.join(map(str, near))}?" if near else ""
        raise click.UsageError(f"no such command {name!r}{hint}", ctx)
