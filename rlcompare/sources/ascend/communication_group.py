"""Ranks of each communication group, from profiler_metadata.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rlcompare import db, resources

if TYPE_CHECKING:
    import duckdb

_PRIMES = (29, 131)


def group_hash(name: str) -> str:
    """The number that operators, communication.json and analysis.db use for the group of that name.

    Two polynomial hashes of the name's bytes modulo 2^32, the first one in the upper half. This was derived from pairs
    of profiler_metadata.json and communication.json, and holds for all of them.
    """
    halves = [0, 0]
    for byte in name.encode():
        halves = [(half * prime + byte) & 0xFFFFFFFF for half, prime in zip(halves, _PRIMES, strict=True)]
    return str(halves[0] << 32 | halves[1])


def load_groups(con: duckdb.DuckDBPyConnection, metadata: Mapping[int, Mapping[str, object]]) -> None:
    """Creates the table ``communication_group`` (sql/sources/communication_group) from the metadata of captures."""
    listed = [
        {"capture": capture, "name": name, "group_hash": group_hash(name), "ranks": ",".join(map(str, ranks))}
        for capture, said in metadata.items()
        for name, ranks in group_members(said).items()
    ]
    con.execute("SET VARIABLE communication_groups = ?", db.as_parameter(listed))
    con.execute(resources.sql("sources/communication_group"))


def group_members(metadata: Mapping[str, object]) -> dict[str, tuple[int, ...]]:
    """Global ranks by the group's name; empty if the metadata lists no groups."""
    groups = metadata.get("parallel_group_info")
    if not isinstance(groups, Mapping):
        return {}
    members: dict[str, tuple[int, ...]] = {}
    for name, group in groups.items():
        ranks = group.get("global_ranks") if isinstance(group, Mapping) else None
        if isinstance(name, str) and isinstance(ranks, list) and ranks and all(type(rank) is int for rank in ranks):
            members[name] = tuple(ranks)
    return members
