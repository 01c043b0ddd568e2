"""``rlcompare cache``."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import click

from rlcompare.cli.groups import Group
from rlcompare.cli.options import Decorated, common_options, path_type
from rlcompare.errors import UsageError

_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_FACTORS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A click callback: a number of bytes, such as ``500M`` or ``2GiB``; the units are powers of 1024."""
    if value is None:
        return None
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise click.BadParameter(f"{value!r} is not a size such as 500M or 2G", ctx, param)
    return int(float(match.group(1)) * _FACTORS[match.group(2).upper()])


def _directory_option(function: Decorated) -> Decorated:
    return click.option(
        "--cache-dir",
        type=path_type(file_okay=False),
        help="The cache folder.  [default: $RLCOMPARE_CACHE_DIR, else the user's cache folder]",
    )(function)


@click.group("cache", cls=Group)
def command() -> None:
    """List, prune or locate cached stores.

    rlcompare caches each profile that it reads as a store, and reuses the store until the profile changes. It is safe
    to delete the cache folder at any time.
    """


@command.command("path")
@_directory_option
@common_options
def path_command(cache_dir: Path | None, quiet: bool) -> None:
    """Print the path of the cache folder."""
    from rlcompare.store.cache import cache_directory

    click.echo(str(cache_directory(cache_dir)))


@command.command("list")
@_directory_option
@common_options
def list_command(cache_dir: Path | None, quiet: bool) -> None:
    """List the stores, most recently used first."""
    from rlcompare.store.cache import DEFAULT_MAX_BYTES, cache_directory, cache_entries

    directory = cache_directory(cache_dir)
    entries = cache_entries(directory)
    for entry in entries:
        used = datetime.fromtimestamp(entry.used_ns / 1e9).strftime("%Y-%m-%d %H:%M")
        click.echo(f"{_mebibytes(entry.size_bytes):>12}  {used}  {entry.path.name}")
    total = sum(entry.size_bytes for entry in entries)
    click.echo(f"{_mebibytes(total):>12}  of {_mebibytes(DEFAULT_MAX_BYTES)} in {directory}")


@command.command("prune")
@click.option(
    "--max-size",
    callback=parse_size,
    metavar="SIZE",
    help="Maximum cache size, such as 2G.  [default: 10G]",
)
@click.option("--all", "everything", is_flag=True, help="Remove all stores.")
@_directory_option
@common_options
def prune_command(max_size: int | None, everything: bool, cache_dir: Path | None, quiet: bool) -> None:
    """Remove the least recently used stores until the cache fits the limit.

    Only files written by rlcompare are removed.
    """
    from rlcompare.store.cache import DEFAULT_MAX_BYTES, MARKER, cache_directory, is_our_folder, prune_cache

    if everything and max_size is not None:
        raise UsageError("use either --all or --max-size, not both")
    directory = cache_directory(cache_dir)
    if directory.exists() and not is_our_folder(directory):
        raise UsageError(f"{directory} was not created by rlcompare (it contains no {MARKER}): nothing was removed")
    limit = 0 if everything else DEFAULT_MAX_BYTES if max_size is None else max_size
    removed = prune_cache(directory, limit)
    stores = "1 store" if len(removed) == 1 else f"{len(removed)} stores"
    click.echo(f"removed {stores}, {_mebibytes(sum(entry.size_bytes for entry in removed))}")


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"
