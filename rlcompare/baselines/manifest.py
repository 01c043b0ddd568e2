"""The manifest of a baseline, ``baseline.json``: its versions, the last of which is the current one.

    {"schema": "rlcompare.baseline/1", "name": "main",
     "versions": [{"number": 1, "action": "add", "reason": "…", "date": "…", "author": "…", "git": {…},
                   "environment": {…}, "runs": [{"name": "run1", "sha256": "…", …}], "digest": "…"}, …]}

Versions are only ever added. Each one has a digest of itself and of the one before, so that a change in any of them is
noticed, also in those that are no longer current. It protects against accidents and unnoticed edits, not against
somebody who computes all digests again: who may do that is a matter of git, or of the folder's permissions.

Keys are sorted and each value has its own line: two branches that replace the same baseline get a conflict in git,
others merge.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rlcompare import untrusted
from rlcompare.baselines.names import Reference, reference_in
from rlcompare.errors import InputError, UsageError

FILE = "baseline.json"
LARGEST_BYTES = 16 * 2**20
"""Larger manifests are not read."""

_SCHEMA = "rlcompare.baseline/1"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SUFFIX = ".duckdb.gz"
_RUN_FILE = re.compile(r"[0-9a-f]{16}\.duckdb\.gz")
_ACTIONS = ("add", "promote", "rm")


@dataclass(frozen=True)
class StoredRun:
    """One run of a version.

    Attributes:
        name: unique in its version.
        sha256: of its file, which is named after it.
        size_bytes: of its file.
        store_bytes: of the DuckDB file in it.
        content: a hash of the files that the run was read from and of what it measured; None: unknown.
        value: of the version's headline metric; None: not measured.
    """

    name: str
    sha256: str
    size_bytes: int
    store_bytes: int
    content: str | None = None
    value: float | None = None

    @property
    def file(self) -> str:
        """The name of its file in the baseline's folder."""
        return f"{self.sha256[:16]}{_SUFFIX}"


def is_run_file(name: str) -> bool:
    """Whether a file is named like that of a run."""
    return _RUN_FILE.fullmatch(name) is not None


@dataclass(frozen=True)
class GitState:
    """The repository in which a version was made."""

    commit: str | None = None
    dirty: bool | None = None


@dataclass(frozen=True)
class Version:
    """One version of a baseline.

    Attributes:
        action: ``add``, ``promote`` (it replaced the one before) or ``rm`` (the baseline was removed; no runs).
        reason: why, in the words of whoever did it.
        date: in UTC, as in ``2026-11-23T07:30:00+00:00``.
        author: the user's name, as git knows it; None: unknown.
        git: None: not in a git repository.
        rlcompare, schema_version: what wrote its files.
        headline, unit: the metric of which ``runs`` have the values.
        environment: versions, chip, world size and the like.
        accepted: what spoke against these runs and was accepted with ``--force``.
        digest: of this version and all before.
    """

    number: int
    action: str
    reason: str
    date: str
    author: str | None = None
    git: GitState | None = None
    rlcompare: str = ""
    schema_version: int = 0
    headline: str | None = None
    unit: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    accepted: tuple[str, ...] = ()
    runs: tuple[StoredRun, ...] = ()
    digest: str = ""


@dataclass(frozen=True)
class Manifest:
    """A baseline: its versions, oldest first; at least one.

    Attributes:
        documents: the versions as they are in the file, with keys that this release may not know.
    """

    name: str
    versions: tuple[Version, ...]
    documents: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    @property
    def current(self) -> Version:
        """The last version. Without runs, the baseline was removed."""
        return self.versions[-1]

    def version(self, reference: Reference) -> Version:
        """The version that a reference means.

        Raises:
            UsageError: there is no such version.
        """
        number = reference.version or self.current.number
        if number > len(self.versions):
            raise UsageError(f"{reference}: baseline {self.name} has versions 1 to {len(self.versions)}")
        return self.versions[number - 1]

    @property
    def is_removed(self) -> bool:
        """Whether there is nothing to compare with."""
        return not self.current.runs


class _Misread(Exception):
    """What is wrong with a manifest, as a clause."""


def with_version(manifest: Manifest | None, name: str, version: Version) -> Manifest:
    """The manifest with one more version, which gets its number and its digest."""
    former = manifest or Manifest(name, ())
    numbered = replace(version, number=len(former.versions) + 1)
    document = asdict(numbered)
    document["digest"] = _digest(document, former.current.digest if former.versions else "")
    sealed = replace(numbered, digest=document["digest"])
    return Manifest(name, (*former.versions, sealed), (*former.documents, document))


def to_bytes(manifest: Manifest) -> bytes:
    """The manifest's file."""
    document = {"schema": _SCHEMA, "name": manifest.name, "versions": manifest.documents}
    text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode("utf-8", "backslashreplace")


def read_manifest(data: bytes, name: str, where: str) -> Manifest:
    """A manifest from its file, which may come from anybody.

    Args:
        name: of the folder that it is in.
        where: its path or URL, for errors.

    Raises:
        InputError: it is damaged, or was modified by something else than rlcompare.
    """
    try:
        return _manifest(data, name)
    except _Misread as error:
        remedy = (
            "Restore it, for example with git checkout; if a merge left it so, keep one side's versions and promote "
            "again. If it is lost: delete the folder of the baseline, and rlcompare baseline add it again"
        )
        raise InputError(where, f"the manifest of baseline {name} {error}", remedy) from error


def _manifest(data: bytes, name: str) -> Manifest:
    from rlcompare.validation import MisfitError, fit

    try:
        document: Any = untrusted.parse_json(data)
    except untrusted.RefusedError as error:
        marks = " (it has git's conflict markers)" if b"<<<<<<<" in data else ""
        raise _Misread(f"is not valid JSON{marks}") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != _SCHEMA:
        raise _Misread(f"should be of schema {_SCHEMA}, which this version of rlcompare reads")
    try:
        manifest = fit({**document, "documents": ()}, Manifest)
    except MisfitError as error:
        raise _Misread(f"is damaged: {str(error)[:200]}") from error
    _check(manifest, document["versions"], name)
    return replace(manifest, documents=tuple(document["versions"]))


def _check(manifest: Manifest, documents: Sequence[Mapping[str, Any]], name: str) -> None:
    if manifest.name != name:
        raise _Misread(f"is that of another baseline, {manifest.name[:64]!r}")
    if not manifest.versions:
        raise _Misread("has no versions")
    before = ""
    for number, (version, document) in enumerate(zip(manifest.versions, documents, strict=True), 1):
        if version.number != number:
            raise _Misread(f"has version {version.number} in place of version {number}")
        if version.digest != _digest(document, before):
            raise _Misread(f"was changed: version {number} does not match its digest")
        before = version.digest
        _check_version(version)


def _check_version(version: Version) -> None:
    names = [run.name for run in version.runs]
    references = [reference_in(f"x/{name}") for name in names]
    sound = (
        version.action in _ACTIONS
        and len(set(names)) == len(names)
        and all(found is not None and found.run == name for found, name in zip(references, names, strict=True))
        and all(_SHA256.fullmatch(run.sha256) and min(run.size_bytes, run.store_bytes) > 0 for run in version.runs)
    )
    if not sound:
        raise _Misread(f"is damaged: version {version.number} is invalid")


def _digest(document: Mapping[str, Any], before: str) -> str:
    """Of a version as it is in the file, with keys that this release may not know, and of the digest before it."""
    content = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps([before, content], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
