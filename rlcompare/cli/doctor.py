"""``rlcompare doctor``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from rlcompare.cli.options import Command, common_options, option

if TYPE_CHECKING:
    from rlcompare.doctor.advice import Row

_TITLES = {
    "collect": "What can be collected here",
    "read": "What can be read",
    "machine": "The machine",
}
_LONGEST = 1000


@click.command("doctor", cls=Command)
@option("--json", "as_json", is_flag=True, help="Print all rows as JSON.")
@option("--python", metavar="PYTHON", help="The interpreter of a job, if it is not rlcompare's own.")
@common_options
def command(as_json: bool, python: str | None, quiet: bool) -> None:
    """Check what this machine can collect, and what is missing.

    Checks the Python interpreter (rlcompare's, or a job's with --python), devices, toolkits, tools and disk space. It
    changes nothing and does not print the environment.
    """
    from rlcompare.doctor.advice import advise
    from rlcompare.doctor.machine import look

    del quiet  # there is nothing to count
    rows = advise(look() if python is None else look(python))
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        click.echo("\n".join(_lines(rows)))


def _lines(rows: list[Row]) -> Iterator[str]:
    from rlcompare.text import pad, safe_text, width_of

    names = [safe_text(row.name) for row in rows]
    width = max(map(width_of, names))
    for section, title in _TITLES.items():
        yield title
        for name, row in zip(names, rows, strict=True):
            if row.section == section:
                yield f"  {pad(name, width, False)}  {row.status:<8} {safe_text(row.found, _LONGEST)}"
                if row.todo:
                    yield f"  {'':{width}}  {'':<8} to do: {safe_text(row.todo, _LONGEST)}"
